//! Renders a session: every event produces finished lines or changes the rows below them.

mod happened;
mod notices;

use super::clean::clean;
use super::figures::{bytes, clock, count, took};
use super::look::{Look, Role};
use super::markdown::Markdown;
use super::permission;
use super::status::Status;
use super::tool::{Running, Unfolding};
use super::wrap::{Breaking, Wrap, clip, clip_line, rows};
use codelet_agent::bill::Bill;
use codelet_agent::event::Event;
use codelet_agent::permission::Permission;
use codelet_agent::run::Ending;
use codelet_agent::tool::Need;
use codelet_context::body::Body;
use codelet_context::tracker::TokenState;
use ratatui::text::{Line, Span};
use std::collections::VecDeque;
use std::time::Duration;

/// Maximum bytes of thinking kept to be unfolded.
const THOUGHT: usize = 256 * 1024;
/// Lines of thinking shown while it streams.
const THINKING_LINES: usize = 3;
/// Folded texts that can be unfolded.
const FOLDED: usize = 8;
/// Rows at the beginning and at the end of a long prompt that are shown: a pasted one may have thousands, with the
/// question before or after it.
const PROMPT_HEAD: usize = 9;
const PROMPT_END: usize = 3;
/// Maximum bytes of a prompt's line that are laid out at once.
const PIECE: usize = 4 * super::markdown::MOST;
/// Minimum time between two steps of the spinner, however many events arrive.
const BEAT: Duration = Duration::from_millis(80);

/// The current phase of the session.
#[derive(Clone, PartialEq, Debug)]
enum Phase {
    Nothing,
    Asking,
    Thinking,
    Writing,
    Calling(String),
    Tools,
    Waiting {
        cause: String,
        left: Duration,
        next_try: Option<u32>,
        first_token: Option<Duration>,
        paused: Option<Duration>,
    },
    /// An activity that emits no events.
    Busy(&'static str),
}

/// The topic of a block of lines; different topics are separated by a blank line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Topic {
    Prompt,
    Answer,
    Tools,
    Notices,
}

/// Statistics since the last prompt.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Done {
    began: Duration,
    calls: u64,
    /// The size of the current answer, in bytes.
    said: usize,
}

/// An answer that is requested again. It is printed once it ends, since it may be cut off again; until then its end is
/// shown above the input.
#[derive(Clone, Debug, Default)]
struct Retried {
    /// The size of the part that was printed before the retries, in bytes.
    shown: usize,
    /// The finished lines.
    lines: Vec<Line<'static>>,
}

/// Turns the events of a session into lines. Times are those of the caller's clock, relative to the session's start.
#[derive(Clone, Debug)]
pub struct Renderer {
    look: Look,
    answer: Markdown,
    thought: String,
    thought_bytes: u64,
    thought_began: Duration,
    running: Vec<Running>,
    folded: VecDeque<(String, Body, Role)>,
    /// The number of folded texts that were expanded since the newest was added.
    expanded: usize,
    doing: Phase,
    since: Duration,
    is_asked: bool,
    /// The session ends with the current activity.
    is_leaving: bool,
    last: Option<Topic>,
    /// Lines to be printed at the end of the streaming block.
    held: Vec<Vec<Line<'static>>>,
    /// Part of the current answer was shown.
    has_said: bool,
    /// The answer that is requested again after a part of it was printed.
    retried: Option<Retried>,
    done: Done,
    told_cause: String,
    /// The time waited before the current request, and why.
    waited: Option<(Duration, String)>,
    beats: u64,
    beat_at: Duration,
    status: Status,
    /// The hook that is waited for, and for how long.
    hook: Option<(String, Duration)>,
}

impl Renderer {
    /// A new session.
    pub fn new(look: Look) -> Self {
        Renderer {
            look,
            answer: Markdown::new(look),
            thought: String::new(),
            thought_bytes: 0,
            thought_began: Duration::ZERO,
            running: Vec::new(),
            folded: VecDeque::new(),
            expanded: 0,
            doing: Phase::Nothing,
            since: Duration::ZERO,
            is_asked: false,
            is_leaving: false,
            last: None,
            held: Vec::new(),
            has_said: false,
            retried: None,
            done: Done::default(),
            told_cause: String::new(),
            waited: None,
            beats: 0,
            beat_at: Duration::ZERO,
            status: Status::default(),
            hook: None,
        }
    }

    /// The look in use.
    pub fn look(&self) -> &Look {
        &self.look
    }

    /// Sets the look, for example after a resize. Finished lines stay; open ones are laid out anew, and the rows that
    /// this completes are returned.
    pub fn set_look(&mut self, look: Look) -> Vec<Line<'static>> {
        self.look = look;
        let lines = self.answer.set_look(look);
        let lines = self.said(lines);
        match &mut self.retried {
            Some(retried) => {
                retried.lines.extend(lines);
                Vec::new()
            }
            None => lines,
        }
    }

    /// Sets the model for the status line.
    pub fn set_model(&mut self, name: &str) {
        name.clone_into(&mut self.status.model);
    }

    /// Sets the permission for the status line, which shows it unless it is the default.
    pub fn set_permission(&mut self, permission: Permission) {
        self.status.permission = permission;
    }

    /// Sets the occupancy of the context window; events keep it up to date during a run.
    pub fn set_tokens(&mut self, state: &TokenState, is_estimate: bool) {
        self.status.tokens = Some((state.current, state.capacity));
        self.status.is_estimate = is_estimate;
    }

    /// Sets the cost of the session; events keep it up to date during a run.
    pub fn set_bill(&mut self, bill: &Bill) {
        self.status.dollars = (bill.requests > bill.unpriced).then_some(bill.cost.total());
        self.status.is_partly_unpriced = bill.unpriced > 0;
        self.status.cached = Some((bill.usage.cache_read, bill.usage.prompt()));
    }

    /// Sets the number of queued prompts.
    pub fn set_queued(&mut self, queued: usize) {
        self.status.queued = queued;
    }

    /// Sets the hook that is waited for, in words, and for how long: the status line names it in place of the activity.
    pub fn set_hook(&mut self, hook: Option<(String, Duration)>) {
        self.hook = hook;
    }

    /// Notes that the question for these needs of a call was shown, so that its changes are not shown once more.
    pub fn asked_for(&mut self, call: &str, needs: &[Need]) {
        if let Some(running) = self.running.iter_mut().find(|running| *running.id == *call) {
            running.asked = permission::shown_whole(needs, &self.look);
        }
    }

    /// Sets whether a permission question is open, which the status line shows.
    pub fn set_asked(&mut self, is_asked: bool, now: Duration) {
        if self.is_asked == is_asked {
            return;
        }
        if !is_asked {
            // Calls that waited for the answer have not run in the meantime.
            for running in &mut self.running {
                running.began += now.saturating_sub(self.since.max(running.began));
            }
        }
        self.is_asked = is_asked;
        self.since = now;
    }

    /// Announces that the session ends with the current activity: no further input is accepted.
    pub fn leave(&mut self) {
        self.is_leaving = true;
    }

    /// Ends the session; returns the rows that were not finished yet.
    pub fn close(&mut self, now: Duration) -> Vec<Line<'static>> {
        let mut out = self.end_thinking(now);
        out.extend(self.flush());
        out
    }

    /// Sets an activity that emits no events, in words for the status line, or clears it.
    pub fn set_busy(&mut self, words: Option<&'static str>, now: Duration) {
        self.set_doing(words.map_or(Phase::Nothing, Phase::Busy), now);
    }

    /// Shows the user's input: a prompt for the model, or something handled locally. Of a long one, both ends.
    pub fn prompt(&mut self, text: &str, now: Duration) -> Vec<Line<'static>> {
        let mut out = self.begin_prompt(now);
        let text = text.trim_end();
        let mut rows = Vec::new();
        let mut is_cut = false;
        for (at, line) in text.split('\n').enumerate() {
            // One line of a paste may be as long as a file.
            let begun = &line[..line.floor_char_boundary(PIECE)];
            self.line_of_prompt(at, &[begun], &mut rows);
            is_cut = begun.len() < line.len() || rows.len() > PROMPT_HEAD + PROMPT_END;
            if is_cut {
                break;
            }
        }
        if !is_cut {
            out.extend(rows);
            return out;
        }
        rows.truncate(PROMPT_HEAD);
        out.extend(rows);
        let lines = match text.split('\n').count() as u64 {
            1 => String::new(),
            lines => format!("{}, ", count(lines, "line")),
        };
        let size = bytes(text.len() as u64);
        let words = format!("  {} {lines}{size} in all", self.look.pick("…", "..."));
        out.push(self.one_line(&words, Role::Dim));
        out.extend(self.end_of_prompt(text));
        self.fold("prompt", Body::new(text), Role::Prompt);
        out
    }

    /// The last rows of a long prompt.
    fn end_of_prompt(&self, text: &str) -> Vec<Line<'static>> {
        let mut end: Vec<Line<'static>> = Vec::new();
        for line in text.rsplit('\n') {
            let mut rows = Vec::new();
            let from = line.ceil_char_boundary(line.len().saturating_sub(PIECE));
            self.line_of_prompt(1, &[&line[from..]], &mut rows);
            rows.append(&mut end);
            end = rows;
            if end.len() >= PROMPT_END {
                break;
            }
        }
        end.split_off(end.len().saturating_sub(PROMPT_END))
    }

    /// Shows a text by somebody else that is sent as the user's prompt: in full, as nobody has seen it before.
    pub fn quote(&mut self, text: &str, now: Duration) -> Vec<Line<'static>> {
        let mut out = self.begin_prompt(now);
        for (at, line) in text.trim_end().split('\n').enumerate() {
            let mut rest = line;
            let mut pieces = Vec::new();
            while !rest.is_empty() {
                let (piece, behind) = rest.split_at(rest.floor_char_boundary(PIECE));
                pieces.push(piece);
                rest = behind;
            }
            self.line_of_prompt(at, &pieces, &mut out);
        }
        out
    }

    fn begin_prompt(&mut self, now: Duration) -> Vec<Line<'static>> {
        self.done = Done {
            began: now,
            ..Done::default()
        };
        self.topic(Topic::Prompt)
    }

    /// Shows one line of a prompt.
    fn line_of_prompt(&self, at: usize, pieces: &[&str], out: &mut Vec<Line<'static>>) {
        let first = match at {
            0 => Span::styled(self.look.pick("› ", "> "), self.look.style(Role::Accent)),
            _ => Span::raw("  "),
        };
        let mut wrap = Wrap::new(self.look.prose(), Breaking::Prose, vec![first], vec![Span::raw("  ")]);
        for piece in pieces {
            wrap.push(self.look.style(Role::Prompt), &clean(piece, 4), out);
        }
        wrap.finish(out);
    }

    /// Prints a message of the program, such as the output of a command.
    pub fn say(&mut self, lines: Vec<Line<'static>>) -> Vec<Line<'static>> {
        let mut out = self.flush();
        out.extend(self.topic(Topic::Notices));
        out.extend(lines);
        // Long messages are separated from whatever follows.
        self.last = Some(Topic::Prompt);
        out
    }

    /// The same while an answer may be streaming: the lines are held until its current sentence or code block ends, and
    /// are shown below it until then.
    pub fn aside(&mut self, lines: Vec<Line<'static>>) -> Vec<Line<'static>> {
        self.held.push(lines);
        match self.is_within_block() {
            true => Vec::new(),
            false => self.release(),
        }
    }

    /// Releases the held lines where they may be printed.
    fn release(&mut self) -> Vec<Line<'static>> {
        let mut out = Vec::new();
        for lines in std::mem::take(&mut self.held) {
            out.extend(self.topic(Topic::Notices));
            out.extend(lines);
            self.last = Some(Topic::Prompt);
        }
        out
    }

    /// Prints a notice of one line.
    pub fn notice(&mut self, text: &str) -> Vec<Line<'static>> {
        self.labelled(Role::Warning, "note:", text)
    }

    /// Handles an event; returns the lines that it finishes.
    pub fn on(&mut self, event: &Event, now: Duration) -> Vec<Line<'static>> {
        self.beat(now);
        let retried = self.retried.take();
        let mut out = self.after_a_wait(event, now);
        let Some(mut retried) = retried else {
            out.extend(self.happened(event, now));
            return out;
        };
        if matches!(event, Event::Void) {
            self.void_retried(&mut retried);
            self.retried = Some(retried);
            return out;
        }
        if matches!(event, Event::Over(Ending::Provider(_))) && self.done.said <= retried.shown {
            // The last try got no further than the first.
            self.void_retried(&mut retried);
        }
        out.extend(self.happened(event, now));
        match event {
            Event::Waiting { .. } => self.retried = Some(retried),
            Event::Asking { .. }
            | Event::Thinking(_)
            | Event::Text(_)
            | Event::Calling { .. }
            | Event::Billed { .. } => {
                retried.lines.append(&mut out);
                self.retried = Some(retried);
            }
            _ => out.splice(..0, retried.lines).for_each(drop),
        }
        out
    }

    /// The rows above the input: the unfinished part of the answer, the thinking, the running tools, the wait. At most
    /// `height`, the newest.
    pub fn live(&self, height: usize, now: Duration) -> Vec<Line<'static>> {
        let look = &self.look;
        let dim = look.style(Role::Dim);
        let mut out = Vec::new();
        if self.doing == Phase::Thinking && self.thought_bytes > 0 {
            out.push(Line::from(Span::styled(look.pick("Thinking …", "Thinking ..."), dim)));
            let from = self
                .thought
                .ceil_char_boundary(self.thought.len().saturating_sub(2_000));
            let mut lines = Vec::new();
            for line in self.thought[from..].lines().filter(|line| !line.trim().is_empty()) {
                Wrap::indented(look.prose(), Breaking::Prose).all(dim, &clean(line, 4), &mut lines);
            }
            out.extend(lines.split_off(lines.len().saturating_sub(THINKING_LINES)));
        }
        if let Some(retried) = &self.retried {
            let newest = retried.lines.len().saturating_sub(height);
            let newest = retried.lines[newest..].iter().cloned();
            out.extend(newest.flat_map(|line| rows(line, look.width)));
        }
        let pending = self.answer.pending();
        if !pending.is_empty() {
            if self.last.is_some_and(|last| last != Topic::Answer) && !begins_blank(&pending) {
                out.push(Line::default());
            }
            out.extend(pending.into_iter().flat_map(|line| rows(line, look.width)));
        }
        out.extend(self.held_rows(height / 2));
        // A call that has not started is shown by its question, and the clocks of the others stop while the user is
        // asked.
        let is_told = |running: &&Running| !self.is_asked || running.has_printed;
        let time = if self.is_asked { self.since } else { now };
        let mut running = self.running.iter().filter(is_told).peekable();
        if running.peek().is_some() && self.last.is_some_and(|last| last != Topic::Tools) {
            out.push(Line::default());
        }
        out.extend(running.flat_map(|running| running.live(look, time)));
        match &self.doing {
            Phase::Calling(tool) => {
                let words = format!("{}{}{}", look.pick("→ ", "> "), clean(tool, 1), look.pick(" …", " ..."));
                out.push(Line::from(Span::styled(words, dim)));
            }
            Phase::Waiting {
                cause,
                left,
                next_try,
                first_token,
                paused: None,
            } => {
                let dot = look.pick("·", "-");
                let cause = match first_token {
                    Some(waited) => format!("waiting for the first token, {} {dot} Esc interrupts", clock(*waited)),
                    None => clean(cause, 1).into_owned(),
                };
                out.extend(self.waiting(&cause, *left, *next_try));
            }
            Phase::Waiting {
                left,
                next_try,
                paused: Some(paused),
                ..
            } => out.push(self.one_line(&paused_for(*paused, *left, *next_try), Role::Warning)),
            _ => {}
        }
        let out = out.split_off(out.len().saturating_sub(height));
        out.into_iter().map(|line| clip_line(line, look.width)).collect()
    }

    /// The newest of the held lines, at most `room` rows.
    fn held_rows(&self, room: usize) -> Vec<Line<'static>> {
        let Some(newest) = self.held.last() else {
            return Vec::new();
        };
        let all: usize = self.held.iter().map(Vec::len).sum();
        let shown = if all < room { all } else { room.saturating_sub(2) };
        let mut out = vec![Line::default()];
        out.extend(newest.iter().take(shown).cloned());
        let more = all - shown.min(newest.len());
        if more > 0 {
            let words = format!(
                "{} {}, when this paragraph ends",
                self.look.pick("…", "..."),
                count(more as u64, "more row")
            );
            out.push(self.one_line(&words, Role::Dim));
        }
        out
    }

    /// The status line. `now` is relative to the session's start.
    pub fn status(&self, now: Duration) -> Line<'static> {
        self.status_told(now).line(&self.look)
    }

    /// The contents of the status line.
    pub fn status_told(&self, now: Duration) -> Status {
        let waited = match self.doing {
            Phase::Waiting {
                first_token, paused, ..
            } if !self.is_asked => first_token.or(paused),
            _ => None,
        };
        let is_countdown = matches!(self.doing, Phase::Waiting { .. }) && waited.is_none() && !self.is_asked;
        let what = match (&self.doing, self.is_asked) {
            (_, true) => Some("asking you".to_owned()),
            (Phase::Nothing, _) => None,
            (Phase::Asking, _) => Some("waiting for the model".to_owned()),
            (Phase::Thinking, _) => Some("thinking".to_owned()),
            (Phase::Writing, _) => Some("writing".to_owned()),
            (Phase::Calling(tool), _) => Some(format!("writing a call of {tool}")),
            (
                Phase::Waiting {
                    first_token: Some(_), ..
                },
                _,
            ) => Some("waiting for the first token".to_owned()),
            (Phase::Waiting { paused: Some(_), .. }, _) => Some("no data".to_owned()),
            (Phase::Waiting { next_try, left, .. }, _) => Some(then_in(*next_try, *left)),
            (Phase::Busy(words), _) => Some((*words).to_owned()),
            (Phase::Tools, _) => match self.running.as_slice() {
                [] => Some("waiting for the model".to_owned()),
                [one] => Some(one.label()),
                more => Some(format!("{} tools", more.len())),
            },
        };
        let doing = what.map(|what| {
            let elapsed = waited.unwrap_or_else(|| now.saturating_sub(self.since));
            // Next to a countdown, another time would only confuse.
            (what, (!is_countdown).then_some(elapsed))
        });
        let hook = self.hook.clone().filter(|_| doing.is_some() && !self.is_asked);
        Status {
            doing: hook.map(|(hook, ran)| (hook, Some(ran))).or(doing),
            beats: self.beats,
            elapsed: Some(now),
            ..self.status.clone()
        }
    }

    /// The newest folded text: a tool's output, thinking, a long prompt. Each further call returns the one before. A long
    /// one is shortened to both ends.
    pub fn expand(&mut self) -> Option<Vec<Line<'static>>> {
        let lines = self.unfolding(self.expanded)?.ends(&self.look);
        self.expanded += 1;
        Some(lines)
    }

    /// The text that was expanded last, in full.
    pub fn unfold(&self) -> Option<Unfolding> {
        self.unfolding(self.expanded.saturating_sub(1))
    }

    fn unfolding(&self, back: usize) -> Option<Unfolding> {
        let (name, text, role) = self.folded.iter().rev().nth(back)?;
        let head = format!("{name} {} {}", self.look.pick("·", "-"), bytes(text.len() as u64));
        Some(Unfolding::new(&head, text.clone(), *role))
    }

    /// Returns whether lines printed now would split a streaming block.
    pub fn is_within_block(&self) -> bool {
        !self.answer.is_between_blocks()
    }

    /// Advances the spinner on real progress.
    fn beat(&mut self, now: Duration) {
        if now.saturating_sub(self.beat_at) >= BEAT || self.beats == 0 {
            self.beats += 1;
            self.beat_at = now;
        }
    }

    fn set_doing(&mut self, doing: Phase, now: Duration) {
        // A countdown continues; it does not restart each second.
        let is_same = std::mem::discriminant(&doing) == std::mem::discriminant(&self.doing);
        if !is_same {
            self.since = now;
        }
        self.doing = doing;
    }

    fn fold(&mut self, name: &str, text: Body, role: Role) {
        if self.folded.len() == FOLDED {
            self.folded.pop_front();
        }
        self.folded.push_back((name.to_owned(), text, role));
        self.expanded = 0;
    }

    /// A blank line where the topic changes. Consecutive tool calls have none.
    fn topic(&mut self, topic: Topic) -> Vec<Line<'static>> {
        let before = self.last.replace(topic);
        let is_parted = before.is_some_and(|before| before != topic || topic == Topic::Prompt);
        if is_parted { vec![Line::default()] } else { Vec::new() }
    }

    /// Ends the answer's current text; it may continue after other output.
    fn flush(&mut self) -> Vec<Line<'static>> {
        let lines = self.answer.finish();
        let mut out = self.retried.take().map_or_else(Vec::new, |retried| retried.lines);
        out.extend(self.said(lines));
        out.extend(self.release());
        out
    }

    /// Lines of the answer, separated from earlier output.
    fn said(&mut self, lines: Vec<Line<'static>>) -> Vec<Line<'static>> {
        if lines.is_empty() {
            return lines;
        }
        let mut out = self.topic(Topic::Answer);
        if begins_blank(&lines) {
            out.clear();
        }
        out.extend(lines);
        self.has_said = true;
        out
    }

    /// A text of the program, cut to the width.
    fn one_line(&self, words: &str, role: Role) -> Line<'static> {
        Line::from(Span::styled(clip(words, self.look.width), self.look.style(role)))
    }

    fn think(&mut self, text: &str) {
        self.thought_bytes += text.len() as u64;
        self.thought.push_str(text);
        // The end stays visible during streaming; the beginning of endless thinking is dropped.
        if self.thought.len() > 2 * THOUGHT {
            let from = self.thought.ceil_char_boundary(self.thought.len() - THOUGHT);
            self.thought.drain(..from);
        }
    }

    fn end_thinking(&mut self, now: Duration) -> Vec<Line<'static>> {
        if self.thought_bytes == 0 {
            return Vec::new();
        }
        let size = bytes(std::mem::take(&mut self.thought_bytes));
        let time = took(now.saturating_sub(self.thought_began));
        let mut out = self.flush();
        out.extend(self.topic(Topic::Answer));
        let words = format!("Thought for {time} {} {size}", self.look.pick("·", "-"));
        out.push(self.one_line(&words, Role::Dim));
        // The model's next text is separated from it as from anything else.
        self.last = Some(Topic::Tools);
        let thought = std::mem::take(&mut self.thought);
        self.fold("Thinking", Body::new(thought), Role::Dim);
        out
    }
}

/// Returns whether these lines begin with a blank one.
fn begins_blank(lines: &[Line<'_>]) -> bool {
    lines.first().is_some_and(|line| line.spans.is_empty())
}

/// The description of a wait with its remaining time.
fn countdown(cause: &str, left: Duration, next_try: Option<u32>) -> String {
    format!("{cause}; {}", then_in(next_try, left))
}

/// The description of a pause in an answer, which may go on: what happens if it does not.
fn paused_for(paused: Duration, left: Duration, next_try: Option<u32>) -> String {
    let then = next_try.map_or("giving up", |_| "retry");
    let seconds = Duration::from_secs(left.as_secs_f64().ceil() as u64);
    format!(
        "no data for {}; if none comes, {then} in {}",
        clock(paused),
        clock(seconds)
    )
}

/// The action after the wait, and the remaining time, rounded up to seconds.
fn then_in(next_try: Option<u32>, left: Duration) -> String {
    let then = then(next_try);
    match left.as_secs_f64().ceil() as u64 {
        0 => then,
        seconds => format!("{then} in {}", clock(Duration::from_secs(seconds))),
    }
}

/// The action after the wait.
fn then(next_try: Option<u32>) -> String {
    next_try.map_or("giving up".to_owned(), |next_try| format!("try {next_try}"))
}
