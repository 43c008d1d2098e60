//! The front end without cursor control: lines in, lines out. For pipes, logs, screen readers and dumb terminals.

use crate::answers;
use crate::chat::only_looks;
use crate::command::{self, Name, Said};
use crate::front::{Activity, Front, Left, Standing, Wish};
use crate::lines::{LONGEST, Lines, ROOM, Read, weight};
use crate::questions;
use crate::render::Renderer;
use crate::render::clean::clean;
use crate::render::look::{Look, Role};
use crate::render::wrap::{clip, line_text};
use crate::signals::{EndSignals, status};
use codelet_agent::asking::{Question, Word};
use codelet_agent::event::Event;
use codelet_agent::permission::Permission;
use codelet_agent::run::Ending;
use ratatui::text::Line;
use std::collections::VecDeque;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tokio::signal::unix::SignalKind;

/// Window within which a second Ctrl-C on an idle line counts as the second of two.
const TWICE: Duration = Duration::from_secs(2);
/// Maximum time to wait for an input that never pauses, idle and while something is being interrupted.
const ENDLESS: Duration = Duration::from_secs(1);
const SOON: Duration = Duration::from_millis(30);
/// Maximum number of skipped lines that are listed, and characters of each.
const NAMED: usize = 20;
const NAME: usize = 120;

/// A line-based session.
pub(crate) struct Plain {
    look: Look,
    lines: Lines,
    /// Standard input has ended.
    is_over: bool,
    /// Lines that end in a backslash and so continue.
    begun: String,
    queue: VecDeque<String>,
    /// Weight of the queue; reading ahead stops when it exceeds the room.
    waiting: usize,
    /// Number of further lines that were written beforehand and dropped; there may be others not read yet.
    unread: usize,
    is_flooded: bool,
    /// Input typed ahead for an answer that did not come; an empty line sends it.
    offered: VecDeque<String>,
    /// The start of the current or last run.
    run: Option<Instant>,
    /// The input that is being handled.
    said: String,
    questions: VecDeque<(Question, PathBuf)>,
    is_asked: bool,
    doing: Activity,
    renderer: Renderer,
    began: Instant,
    signals: EndSignals,
    parting: Option<Instant>,
    is_prompted: bool,
    /// The error after which output can no longer be written.
    closed: Option<io::ErrorKind>,
    /// A person types and wants to see when the next input is expected.
    is_typed: bool,
}

impl Plain {
    /// Starts to read standard input.
    pub(crate) fn open(is_typed: bool, width: usize) -> io::Result<Self> {
        let look = Look::plain(width);
        Ok(Plain {
            look,
            lines: Lines::read()?,
            is_over: false,
            begun: String::new(),
            queue: VecDeque::new(),
            waiting: 0,
            unread: 0,
            is_flooded: false,
            offered: VecDeque::new(),
            run: None,
            said: String::new(),
            questions: VecDeque::new(),
            is_asked: false,
            doing: Activity::Nothing,
            renderer: Renderer::new(look),
            began: Instant::now(),
            signals: EndSignals::listen()?,
            parting: None,
            is_prompted: false,
            closed: None,
            is_typed,
        })
    }

    fn write(&mut self, text: &str) {
        let mut out = io::stdout().lock();
        if let Err(error) = out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
            self.closed = Some(error.kind());
        }
    }

    fn line(&mut self, text: &str) {
        // The prompt keeps its own line, whatever is printed after it.
        let begin = if std::mem::take(&mut self.is_prompted) {
            "\n"
        } else {
            ""
        };
        self.write(&format!("{begin}{text}\n"));
    }

    fn show(&mut self, lines: Vec<Line<'static>>) {
        for line in lines {
            self.line(line_text(&line).trim_end());
        }
    }

    fn say(&mut self, text: &str) {
        for line in text.lines() {
            self.line(&clean(line, 8));
        }
    }

    /// Prints a message for the caller. If it cannot be printed, there is nobody to inform.
    fn tell(&mut self, text: &str) {
        if self.is_typed {
            self.say(text);
        } else {
            let _ = writeln!(io::stderr(), "{text}");
        }
    }

    /// Returns the input of this line; `None` if it continues on the next line.
    fn hear(&mut self, line: &Read) -> Option<String> {
        if let Some(number) = line.mended {
            self.tell(&format!(
                "line {number} of the input is not valid UTF-8; the model sees � instead (convert it with `iconv -f NAME -t UTF-8`, \
                 where NAME is its encoding)"
            ));
        }
        let line = line.text.as_str();
        // A line without an end is at most as long as allowed.
        if let Some(begun) = line.strip_suffix('\\').filter(|_| self.begun.len() < LONGEST) {
            self.begun.push_str(begun);
            self.begun.push('\n');
            return None;
        }
        Some(std::mem::take(&mut self.begun) + line)
    }

    /// Queues everything written until now as input that was not a response to what comes next, such as a question.
    fn take_what_is_written(&mut self, patience: Duration) {
        let written = self.lines.written(patience);
        for line in written.lines {
            if let Some(said) = self.hear(&line).filter(|said| !said.trim().is_empty()) {
                self.keep(said);
            }
        }
        self.unread += written.more;
        self.is_flooded = !written.is_all;
    }

    fn keep(&mut self, said: String) {
        self.waiting += weight(&said);
        self.queue.push_back(said);
    }

    /// Shows the pending question, and answers those that cannot be asked.
    fn put_question(&mut self) {
        loop {
            while self.questions.front().is_some_and(|(question, _)| question.is_moot()) {
                if let Some((moot, _)) = self.questions.pop_front() {
                    moot.answer(Word::Once);
                }
                self.is_asked = false;
            }
            if self.questions.is_empty() {
                return;
            }
            if !std::mem::replace(&mut self.is_asked, true) {
                self.show_question();
            }
            let why = if self.is_over {
                "nobody can answer"
            } else if self.waiting >= ROOM {
                // The next line was written before the question could be known.
                "cannot ask while more than a megabyte of input is waiting"
            } else {
                return;
            };
            self.answer(Word::Unasked(why.to_owned()));
        }
    }

    fn show_question(&mut self) {
        let Some((question, directory)) = self.questions.front() else {
            return;
        };
        self.renderer.asked_for(&question.call, &question.needs);
        let mut lines = questions::body(&self.look, question, directory);
        let always = match question.grants.is_empty() {
            true => String::new(),
            false if questions::is_shortened(question) => {
                lines.extend(questions::extent(&self.look, question));
                " a: always in this session.".to_owned()
            }
            false => format!(
                " a: always in this session ({}).",
                questions::permitted(question, str::to_owned)
            ),
        };
        let project = match question.proposal.as_deref() {
            None => String::new(),
            Some(proposal) if questions::is_long(proposal) => {
                lines.extend(answers::say(
                    &self.look,
                    Role::Text,
                    "p would always allow in this project:",
                ));
                lines.extend(questions::framed(&self.look, Role::Text, proposal));
                " p: always in this project. p PATTERN: the same, with that pattern instead.".to_owned()
            }
            Some(proposal) => {
                format!(" p: always in this project ({proposal}). p PATTERN: the same, with that pattern instead.")
            }
        };
        let answers = format!("Allow it? y: once.{always}{project} n: no. n REASON: no, and tell the model why.");
        lines.extend(answers::say(&self.look, Role::Text, &answers));
        self.show(lines);
    }

    fn answer(&mut self, word: Word) {
        self.is_asked = false;
        if let Some((question, _)) = self.questions.pop_front() {
            let told = answers::answered(&question, &word);
            question.answer(word);
            if let Some(told) = told {
                self.say(&told);
            }
        }
    }

    /// Handles a line while a question is pending.
    fn answer_line(&mut self, line: &str) -> Option<Wish> {
        let line = line.trim();
        let (word, reason) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        match word.to_ascii_lowercase().as_str() {
            "y" | "yes" if reason.is_empty() => self.answer(Word::Once),
            "a" | "always" if reason.is_empty() => self.answer(Word::Always),
            "n" | "no" => {
                let reason = Some(reason.trim().to_owned()).filter(|reason| !reason.is_empty());
                self.answer(Word::No(reason));
            }
            "p" | "project" if self.may_keep() => self.keep_pattern(reason.trim()),
            _ if matches!(command::read(line), Said::Command(..) | Said::Refused(_)) => {
                return Some(Wish::Say(line.to_owned()));
            }
            _ => {
                let project = if self.may_keep() { " p, p with a pattern," } else { "" };
                self.line(&format!("Please answer y, a,{project} n, or n with a reason."));
            }
        }
        None
    }

    fn may_keep(&self) -> bool {
        let first = self.questions.front();
        first.is_some_and(|(question, _)| question.proposal.is_some())
    }

    /// Saves this pattern for the project, or the proposed one. The question stays if the pattern does not permit the
    /// call.
    fn keep_pattern(&mut self, pattern: &str) {
        let Some((question, _)) = self.questions.front() else {
            return;
        };
        let proposal = question.proposal.as_deref().unwrap_or_default();
        match question.patterns(if pattern.is_empty() { proposal } else { pattern }) {
            Ok(patterns) => {
                self.is_asked = false;
                if let Some((question, _)) = self.questions.pop_front() {
                    let told = question.keep(patterns);
                    self.say(&told);
                }
            }
            Err(why) => self.line(&format!("Not saved: {why}. Please answer again.")),
        }
    }
}

enum LineEvent {
    Line(Option<Read>),
    Signal(SignalKind),
}

impl Front for Plain {
    async fn next(&mut self) -> Wish {
        loop {
            self.put_question();
            match self.closed {
                // A reader that closed the pipe has seen enough.
                Some(io::ErrorKind::BrokenPipe) => return Wish::Leave(Left::Left),
                Some(why) => return Wish::Leave(Left::Unwritable(why)),
                None => {}
            }
            if self.is_over && self.doing == Activity::Nothing {
                return Wish::Leave(Left::Left);
            }
            if self.is_typed && self.doing == Activity::Nothing && !std::mem::replace(&mut self.is_prompted, true) {
                self.write("> ");
            }
            let may_read = self.waiting < ROOM;
            let came = tokio::select! {
                biased;
                kind = self.signals.next() => LineEvent::Signal(kind),
                line = self.lines.next(), if !self.is_over && may_read => LineEvent::Line(line),
            };
            match came {
                LineEvent::Signal(kind) if kind != SignalKind::interrupt() => {
                    return Wish::Leave(Left::Gone(status(kind)));
                }
                LineEvent::Signal(interrupt) => {
                    // Nobody who pipes a session in wants it to start without its servers.
                    if self.doing == Activity::Servers && !self.is_typed {
                        return Wish::Leave(Left::Gone(status(interrupt)));
                    }
                    if self.doing != Activity::Nothing {
                        self.take_what_is_written(SOON);
                        return Wish::Interrupt;
                    }
                    // Nobody is there to repeat the interrupt.
                    if !self.is_typed {
                        return Wish::Leave(Left::Gone(status(interrupt)));
                    }
                    self.begun.clear();
                    let now = Instant::now();
                    // Only a Ctrl-C on an idle line counts as the first of two.
                    if self.parting.is_some_and(|first| now.duration_since(first) < TWICE) {
                        return Wish::Leave(Left::Left);
                    }
                    self.parting = Some(now);
                    self.line("Press Ctrl-C again to quit.");
                }
                LineEvent::Line(None) => self.is_over = true,
                LineEvent::Line(Some(line)) => {
                    self.is_prompted = false;
                    let Some(said) = self.hear(&line) else {
                        self.is_prompted = true;
                        continue;
                    };
                    if self.is_asked && !self.questions.is_empty() {
                        if let Some(wish) = self.answer_line(&said) {
                            return wish;
                        }
                        continue;
                    }
                    if said.trim().is_empty() {
                        // An empty line in answer to a question was meant for the question.
                        if self.doing == Activity::Nothing
                            && let Some(first) = self.offered.pop_front()
                        {
                            for said in std::mem::take(&mut self.offered) {
                                self.keep(said);
                            }
                            return Wish::Say(first);
                        }
                        continue;
                    }
                    if matches!(command::read(&said), Said::Prompt(_)) {
                        self.offered.clear();
                    }
                    return Wish::Say(said);
                }
            }
        }
    }

    fn on(&mut self, event: Event) {
        if let Event::Over(ending) = &event
            && !matches!(ending, Ending::Answered(_))
        {
            self.take_what_is_written(ENDLESS);
            if !self.is_typed {
                let told = format!("not answered: {} ({ending})", named(&self.said));
                self.tell(&clean(&told, 1));
            }
        }
        let mut lines = Vec::new();
        if let Event::ToolStarted { tool, description, .. } = &event {
            // There is no status line below these lines to show what runs.
            let mut started = format!("... {tool} {description}");
            // A person who is asked for permission reads all of it then; a log has it nowhere else.
            if self.is_typed {
                started = clip(&started, self.look.width);
            }
            lines.extend(answers::say(&self.look, Role::Text, &started));
        }
        let now = self.began.elapsed();
        let finished = self.renderer.on(&event, now);
        // The line of a started tool follows what finished before it.
        let at = if lines.is_empty() { 0 } else { finished.len() };
        let mut all = finished;
        all.splice(at..at, lines);
        self.show(all);
    }

    fn ask(&mut self, question: Question, directory: &Path) {
        self.questions.push_back((question, directory.to_owned()));
        self.put_question();
    }

    fn print(&mut self, lines: Vec<Line<'static>>) {
        let lines = match self.renderer.is_within_block() {
            true => self.renderer.aside(lines),
            false => lines,
        };
        self.show(lines);
    }

    fn echo(&mut self, said: &str) {
        self.said = said.to_owned();
        // A pipe does not show its own input, and a log is unreadable without it. A terminal has echoed it already.
        let now = self.began.elapsed();
        let lines = self.renderer.prompt(said, now);
        if !self.is_typed {
            self.show(lines);
        }
    }

    fn quote(&mut self, said: &str) {
        let now = self.began.elapsed();
        let lines = self.renderer.quote(said, now);
        self.show(lines);
    }

    fn doing(&mut self, doing: Activity) {
        self.doing = doing;
        self.parting = None;
        if doing == Activity::Run {
            self.run = Some(Instant::now());
        }
    }

    fn leaving(&mut self) {
        self.renderer.leave();
    }

    fn permits(&mut self, permission: Permission) {
        self.renderer.set_permission(permission);
    }

    fn stands(&mut self, standing: Standing) {
        self.renderer.set_model(&standing.model);
        self.renderer.set_tokens(&standing.tokens, standing.is_estimate);
        self.renderer.set_bill(&standing.bill);
        // A pipe's output is also read by programs.
        if let Some(began) = self.run.take().filter(|_| self.is_typed) {
            let status = self.renderer.status_told(self.began.elapsed());
            let lines = answers::say(&self.look, Role::Dim, &status.words(began.elapsed()));
            self.show(lines);
        }
    }

    fn copy(&mut self, _: &str) -> bool {
        false
    }

    fn unfold(&mut self, is_all: bool) {
        if is_all && let Some(mut unfolding) = self.renderer.unfold() {
            while let Some(lines) = unfolding.next_lines(&self.look) {
                self.show(lines);
            }
        } else if !is_all && let Some(lines) = self.renderer.expand() {
            self.print(lines);
        } else {
            self.line("Nothing more to expand.");
        }
    }

    fn look(&self) -> Look {
        self.look
    }

    fn keeps_order(&self) -> bool {
        !self.is_typed
    }

    fn queue(&mut self, said: String) {
        let first: String = said.lines().next().unwrap_or_default().chars().take(60).collect();
        if self.is_typed {
            self.say(&format!("queued: {first}{}", answers::queued(&said, self.doing)));
        }
        self.keep(said);
    }

    async fn unqueue(&mut self) -> Option<String> {
        let said = self.queue.pop_front()?;
        self.waiting = self.waiting.saturating_sub(weight(&said));
        Some(said)
    }

    fn give_back(&mut self, hide: &dyn Fn(&str) -> String) {
        if self.is_flooded {
            self.take_what_is_written(ENDLESS);
        }
        // A line that was read cannot be put back into the input. Commands that only look, and leaving, can still be
        // done.
        let may_stay = |said: &String| match command::read(said) {
            Said::Command(Name::Exit | Name::Help, _) => true,
            Said::Command(name, arguments) => only_looks(name, &arguments),
            _ => false,
        };
        let (stay, lost): (VecDeque<_>, VecDeque<_>) = std::mem::take(&mut self.queue).into_iter().partition(may_stay);
        self.waiting = stay.iter().map(|said| weight(said)).sum();
        self.queue = stay;
        let unread = std::mem::take(&mut self.unread);
        if self.is_typed && !lost.is_empty() {
            for said in &lost {
                self.say(&format!("kept: {}", named(&hide(said))));
            }
            if unread > 0 {
                self.say(&format!("not kept: {unread} more prompts"));
            }
            self.say("Press Enter on an empty line to run them anyway.");
            self.offered.extend(lost);
            return;
        }
        let more = lost.len().saturating_sub(NAMED) + unread;
        for said in lost.into_iter().take(NAMED) {
            self.tell(&clean(&format!("not done: {}", named(&hide(&said))), 1));
        }
        if more > 0 {
            self.tell(&format!("not done: {more} more"));
        }
    }

    fn close(&mut self) {
        if std::mem::take(&mut self.is_prompted) {
            self.write("\n");
        }
    }
}

/// An input, shortened to one line.
fn named(said: &str) -> String {
    let said = said.trim();
    let first = said.lines().next().unwrap_or_default().trim_end();
    let is_all = first.len() == said.len();
    match first.char_indices().nth(NAME) {
        Some((end, _)) => format!("{}...", &first[..end]),
        None if is_all => first.to_owned(),
        None => format!("{first} ..."),
    }
}
