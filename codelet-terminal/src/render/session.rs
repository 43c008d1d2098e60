//! A session as it is seen: every event becomes lines that are finished, or changes what stands below them.

mod happened;
mod notices;

use super::clean::clean;
use super::figures::{bytes, clock, count, took};
use super::look::{Look, Role};
use super::markdown::Markdown;
use super::status::{Status, spinner};
use super::tool::{Running, Unfolding};
use super::wrap::{Breaking, Wrap, clip, clip_line, rows};
use codelet_agent::bill::Bill;
use codelet_agent::event::Event;
use codelet_agent::permission::Permission;
use codelet_context::body::Body;
use codelet_context::tracker::TokenState;
use ratatui::text::{Line, Span};
use std::collections::VecDeque;
use std::time::Duration;

/// Thinking that is kept to be unfolded, in bytes.
const THOUGHT: usize = 256 * 1024;
/// Lines of thinking that are seen while it goes on.
const THINKING_LINES: usize = 3;
/// Folded things that can be unfolded.
const FOLDED: usize = 8;
/// Lines of a prompt that are shown; a pasted one may have thousands.
const PROMPT_LINES: usize = 12;
/// Bytes of a line of a prompt that are laid out at once.
const PIECE: usize = 4 * super::markdown::MOST;
/// The spinner moves at most this often, however much happens.
const BEAT: Duration = Duration::from_millis(80);

/// What is happening.
#[derive(Clone, PartialEq, Debug)]
enum Doing {
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
    },
    /// Something that no event tells of.
    Busy(&'static str),
}

/// What a block of lines is about: unlike ones are parted by a blank line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Topic {
    Prompt,
    Answer,
    Tools,
    Notices,
}

/// What was done since the last prompt.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Done {
    began: Duration,
    calls: u64,
    /// Calls that the user's interruption has stopped, and those that it has kept from being begun.
    interrupted: u64,
    not_run: u64,
    /// Words of the answer under way, in bytes.
    said: usize,
    words: u64,
}

/// Turns the events of a session into lines. Times are those of the caller's clock, counted from the session's beginning.
#[derive(Clone, Debug)]
pub struct Renderer {
    look: Look,
    answer: Markdown,
    thought: String,
    thought_bytes: u64,
    thought_began: Duration,
    running: Vec<Running>,
    folded: VecDeque<(String, Body, Role)>,
    doing: Doing,
    since: Duration,
    is_asked: bool,
    /// The session ends with what goes on.
    is_leaving: bool,
    last: Option<Topic>,
    /// What is to stand at the end of the block that streams.
    held: Vec<Vec<Line<'static>>>,
    /// Something of the answer under way was shown.
    has_said: bool,
    done: Done,
    told_cause: String,
    /// How long was waited before the request that is under way, and why.
    waited: Option<(Duration, String)>,
    beats: u64,
    beat_at: Duration,
    status: Status,
}

impl Renderer {
    /// A session that begins.
    pub fn new(look: Look) -> Self {
        Renderer {
            look,
            answer: Markdown::new(look),
            thought: String::new(),
            thought_bytes: 0,
            thought_began: Duration::ZERO,
            running: Vec::new(),
            folded: VecDeque::new(),
            doing: Doing::Nothing,
            since: Duration::ZERO,
            is_asked: false,
            is_leaving: false,
            last: None,
            held: Vec::new(),
            has_said: false,
            done: Done::default(),
            told_cause: String::new(),
            waited: None,
            beats: 0,
            beat_at: Duration::ZERO,
            status: Status::default(),
        }
    }

    /// The look in use.
    pub fn look(&self) -> &Look {
        &self.look
    }

    /// Another look, for example after a resize. Finished lines stay as they are; what is open is laid out anew, and the
    /// rows of it that this fills are returned.
    pub fn set_look(&mut self, look: Look) -> Vec<Line<'static>> {
        self.look = look;
        let lines = self.answer.set_look(look);
        self.said(lines)
    }

    /// The model that is asked, for the status line.
    pub fn set_model(&mut self, name: &str) {
        name.clone_into(&mut self.status.model);
    }

    /// How far the tools may go, for the status line, which says what is not usual.
    pub fn set_permission(&mut self, permission: Permission) {
        self.status.permission = permission;
    }

    /// How full the window is, as the conversation says; events keep it up to date during a run.
    pub fn set_tokens(&mut self, state: &TokenState, is_estimate: bool) {
        self.status.tokens = Some((state.current, state.capacity));
        self.status.is_estimate = is_estimate;
    }

    /// What the session has cost, as its bill says; events keep it up to date during a run.
    pub fn set_bill(&mut self, bill: &Bill) {
        self.status.dollars = (bill.requests > bill.unpriced).then_some(bill.dollars);
        self.status.is_partly_unpriced = bill.unpriced > 0;
        self.status.cached = Some((bill.usage.cache_read, bill.usage.prompt()));
    }

    /// How many prompts wait for their turn.
    pub fn set_queued(&mut self, queued: usize) {
        self.status.queued = queued;
    }

    /// Whether a permission prompt is open, so that the status says what is waited for.
    pub fn set_asked(&mut self, is_asked: bool, now: Duration) {
        if self.is_asked == is_asked {
            return;
        }
        if !is_asked {
            // What waited for the answer has not run meanwhile.
            for running in &mut self.running {
                running.began += now.saturating_sub(self.since.max(running.began));
            }
        }
        self.is_asked = is_asked;
        self.since = now;
    }

    /// The session ends with what goes on now: nothing can be said behind it.
    pub fn leave(&mut self) {
        self.is_leaving = true;
    }

    /// The session ends here, whatever is open: the rows of it that were not finished yet.
    pub fn close(&mut self, now: Duration) -> Vec<Line<'static>> {
        let mut out = self.end_thinking(now);
        out.extend(self.flush());
        out
    }

    /// Something begins that no event tells of, in words for the status line; or it ends.
    pub fn set_busy(&mut self, words: Option<&'static str>, now: Duration) {
        self.set_doing(words.map_or(Doing::Nothing, Doing::Busy), now);
    }

    /// What the user said: a prompt, as it goes to the model, or something that is done here. Of a long one, the beginning.
    pub fn prompt(&mut self, text: &str, now: Duration) -> Vec<Line<'static>> {
        let mut out = self.begin_prompt(now);
        let mut lines = text.trim_end().split('\n');
        for (at, line) in lines.by_ref().take(PROMPT_LINES).enumerate() {
            // One line of a paste may be as long as a file.
            let (begun, rest) = line.split_at(line.floor_char_boundary(PIECE));
            self.line_of_prompt(at, &[begun], rest.len(), &mut out);
        }
        let more = lines.count();
        if more > 0 {
            let words = format!(
                "  {} {}, {}",
                self.look.pick("…", "..."),
                count(more as u64, "more line"),
                bytes(text.len() as u64)
            );
            out.push(self.one_line(&words, Role::Dim));
            self.fold("prompt", Body::new(text), Role::Prompt);
        }
        out
    }

    /// What somebody else has written and goes to the model as a prompt of the user's: all of it, as nobody has seen it before.
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
            self.line_of_prompt(at, &pieces, 0, &mut out);
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

    /// One line of a prompt, of which so many bytes are not shown.
    fn line_of_prompt(&self, at: usize, pieces: &[&str], left_out: usize, out: &mut Vec<Line<'static>>) {
        let first = match at {
            0 => Span::styled(self.look.pick("› ", "> "), self.look.style(Role::Accent)),
            _ => Span::raw("  "),
        };
        let mut wrap = Wrap::new(self.look.prose(), Breaking::Prose, vec![first], vec![Span::raw("  ")]);
        for piece in pieces {
            wrap.push(self.look.style(Role::Prompt), &clean(piece, 4), out);
        }
        if left_out > 0 {
            let more = format!(" {} {} more", self.look.pick("…", "..."), bytes(left_out as u64));
            wrap.push(self.look.style(Role::Dim), &more, out);
        }
        wrap.finish(out);
    }

    /// Something that the program itself says, such as the answer to a command.
    pub fn say(&mut self, lines: Vec<Line<'static>>) -> Vec<Line<'static>> {
        let mut out = self.flush();
        out.extend(self.topic(Topic::Notices));
        out.extend(lines);
        // What the program says at length stands apart from whatever follows.
        self.last = Some(Topic::Prompt);
        out
    }

    /// The same while an answer may stream: it never tears a sentence or a block of code, but is held until that ends. Until then it
    /// is seen below what streams.
    pub fn aside(&mut self, lines: Vec<Line<'static>>) -> Vec<Line<'static>> {
        self.held.push(lines);
        match self.is_within_block() {
            true => Vec::new(),
            false => self.release(),
        }
    }

    /// What was held, at a place where it may stand.
    fn release(&mut self) -> Vec<Line<'static>> {
        let mut out = Vec::new();
        for lines in std::mem::take(&mut self.held) {
            out.extend(self.topic(Topic::Notices));
            out.extend(lines);
            self.last = Some(Topic::Prompt);
        }
        out
    }

    /// One line for the user: something to know.
    pub fn notice(&mut self, text: &str) -> Vec<Line<'static>> {
        self.labelled(Role::Warning, "note:", text)
    }

    /// Takes an event; returns the lines that it finishes.
    pub fn on(&mut self, event: &Event, now: Duration) -> Vec<Line<'static>> {
        self.beat(now);
        let mut out = self.after_a_wait(event, now);
        out.extend(self.happened(event, now));
        out
    }

    /// What stands above the input now: the answer as far as it is not finished, the thinking, the running tools, the wait. At most
    /// `height` lines, the newest.
    pub fn live(&self, height: usize, now: Duration) -> Vec<Line<'static>> {
        let look = &self.look;
        let dim = look.style(Role::Dim);
        let mut out = Vec::new();
        if self.doing == Doing::Thinking && self.thought_bytes > 0 {
            out.push(Line::from(Span::styled(look.pick("Thinking …", "Thinking ..."), dim)));
            let from = self
                .thought
                .ceil_char_boundary(self.thought.len().saturating_sub(2_000));
            let mut lines = Vec::new();
            for line in self.thought[from..].lines().filter(|line| !line.trim().is_empty()) {
                let mut wrap = Wrap::new(
                    look.prose(),
                    Breaking::Prose,
                    vec![Span::raw("  ")],
                    vec![Span::raw("  ")],
                );
                wrap.push(dim, &clean(line, 4), &mut lines);
                wrap.finish(&mut lines);
            }
            out.extend(lines.split_off(lines.len().saturating_sub(THINKING_LINES)));
        }
        let pending = self.answer.pending();
        if !pending.is_empty() {
            if self.last.is_some_and(|last| last != Topic::Answer) && !begins_blank(&pending) {
                out.push(Line::default());
            }
            out.extend(pending.into_iter().flat_map(|line| rows(line, look.width)));
        }
        out.extend(self.held_rows(height / 2));
        // A call that has not begun is told of by its question, and the clocks of the others stand still while somebody is asked.
        let is_told = |running: &&Running| !self.is_asked || running.has_printed;
        let time = if self.is_asked { self.since } else { now };
        let mut running = self.running.iter().filter(is_told).peekable();
        if running.peek().is_some() && self.last.is_some_and(|last| last != Topic::Tools) {
            out.push(Line::default());
        }
        out.extend(running.flat_map(|running| running.live(look, time)));
        match &self.doing {
            Doing::Calling(tool) => {
                let words = format!("{}{}{}", look.pick("→ ", "> "), clean(tool, 1), look.pick(" …", " ..."));
                out.push(Line::from(Span::styled(words, dim)));
            }
            Doing::Waiting {
                cause,
                left,
                next_try,
                first_token,
            } => {
                let dot = look.pick("·", "-");
                let cause = match first_token {
                    Some(waited) => format!("waiting for the first token, {} {dot} Esc interrupts", clock(*waited)),
                    None => clean(cause, 1).into_owned(),
                };
                out.extend(self.waiting(&cause, *left, *next_try));
            }
            _ => {}
        }
        let out = out.split_off(out.len().saturating_sub(height));
        out.into_iter().map(|line| clip_line(line, look.width)).collect()
    }

    /// The newest of what is held, in so many rows at most.
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

    /// Whether something is happening, so that [`live`](Self::live) and the status may change without an event: the times in them.
    pub fn is_busy(&self) -> bool {
        self.doing != Doing::Nothing || self.is_asked
    }

    /// The status line. `elapsed` counts from the session's beginning.
    pub fn status(&self, now: Duration) -> Line<'static> {
        self.status_told(now).line(&self.look)
    }

    /// What the status line tells.
    pub fn status_told(&self, now: Duration) -> Status {
        let is_countdown = matches!(self.doing, Doing::Waiting { first_token: None, .. }) && !self.is_asked;
        let waited = match self.doing {
            Doing::Waiting { first_token, .. } if !self.is_asked => first_token,
            _ => None,
        };
        let what = match (&self.doing, self.is_asked) {
            (_, true) => Some("asking you".to_owned()),
            (Doing::Nothing, _) => None,
            (Doing::Asking, _) => Some("waiting for the model".to_owned()),
            (Doing::Thinking, _) => Some("thinking".to_owned()),
            (Doing::Writing, _) => Some("writing".to_owned()),
            (Doing::Calling(tool), _) => Some(format!("writing a call of {tool}")),
            (
                Doing::Waiting {
                    first_token: Some(_), ..
                },
                _,
            ) => Some("waiting for the first token".to_owned()),
            (Doing::Waiting { next_try, left, .. }, _) => Some(then_in(*next_try, *left)),
            (Doing::Busy(words), _) => Some((*words).to_owned()),
            (Doing::Tools, _) => match self.running.as_slice() {
                [] => Some("waiting for the model".to_owned()),
                [one] => Some(one.label()),
                more => Some(format!("{} tools", more.len())),
            },
        };
        Status {
            // Beside a time that runs down, another one would only be a riddle.
            doing: what.map(|what| {
                let elapsed = waited.unwrap_or_else(|| now.saturating_sub(self.since));
                (what, (!is_countdown).then_some(elapsed))
            }),
            beats: self.beats,
            elapsed: Some(now),
            ..self.status.clone()
        }
    }

    /// The spinner's frame, for whoever shows it elsewhere.
    pub fn spinner(&self) -> &'static str {
        spinner(self.beats, &self.look)
    }

    /// The last thing that was folded, counted back from 0: a tool's output, thinking, a long prompt. Of a long one both ends.
    pub fn expand(&self, back: usize) -> Option<Vec<Line<'static>>> {
        self.unfold(back).map(|unfolding| unfolding.ends(&self.look))
    }

    /// The same, whole.
    pub fn unfold(&self, back: usize) -> Option<Unfolding> {
        let (name, text, role) = self.folded.iter().rev().nth(back)?;
        let head = format!("{name} {} {}", self.look.pick("·", "-"), bytes(text.len() as u64));
        Some(Unfolding::new(&head, text.clone(), *role))
    }

    /// Whether what is printed now would tear a block that streams.
    pub fn is_within_block(&self) -> bool {
        !self.answer.is_between_blocks()
    }

    /// Something has really moved.
    fn beat(&mut self, now: Duration) {
        if now.saturating_sub(self.beat_at) >= BEAT || self.beats == 0 {
            self.beats += 1;
            self.beat_at = now;
        }
    }

    fn set_doing(&mut self, doing: Doing, now: Duration) {
        // A countdown goes on; it does not begin anew each second.
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
    }

    /// A blank line where the topic changes. Tool calls follow one another without.
    fn topic(&mut self, topic: Topic) -> Vec<Line<'static>> {
        let before = self.last.replace(topic);
        let is_parted = before.is_some_and(|before| before != topic || topic == Topic::Prompt);
        if is_parted { vec![Line::default()] } else { Vec::new() }
    }

    /// Ends the answer's text, which goes on after something else if it does.
    fn flush(&mut self) -> Vec<Line<'static>> {
        let lines = self.answer.finish();
        let mut out = self.said(lines);
        out.extend(self.release());
        out
    }

    /// Lines of the answer, behind whatever was shown before.
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

    /// Words of the program's own, cut to the width.
    fn one_line(&self, words: &str, role: Role) -> Line<'static> {
        Line::from(Span::styled(clip(words, self.look.width), self.look.style(role)))
    }

    fn think(&mut self, text: &str) {
        self.thought_bytes += text.len() as u64;
        self.thought.push_str(text);
        // The end is seen while it goes on; the beginning of a thought without end is let go.
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
        // What the model says next is parted from it like from anything else.
        self.last = Some(Topic::Tools);
        let thought = std::mem::take(&mut self.thought);
        self.fold("Thinking", Body::new(thought), Role::Dim);
        out
    }
}

/// Whether these lines bring their own distance from what stands before them.
fn begins_blank(lines: &[Line<'_>]) -> bool {
    lines.first().is_some_and(|line| line.spans.is_empty())
}

/// How many words there are in a text.
fn count_words(text: &str) -> u64 {
    if !text.is_ascii() {
        return text.split_whitespace().count() as u64;
    }
    let is_space = |byte: &u8| matches!(byte, b'\t'..=b'\r' | b' ');
    let bytes = text.as_bytes();
    let first = u64::from(bytes.first().is_some_and(|byte| !is_space(byte)));
    let begins = bytes
        .windows(2)
        .filter(|pair| is_space(&pair[0]) && !is_space(&pair[1]));
    first + begins.count() as u64
}

/// How long a wait still takes.
fn countdown(cause: &str, left: Duration, next_try: Option<u32>) -> String {
    format!("{cause}; {}", then_in(next_try, left))
}

/// What comes when the wait is over, and when that is: a second that has begun is counted.
fn then_in(next_try: Option<u32>, left: Duration) -> String {
    let then = then(next_try);
    match left.as_secs_f64().ceil() as u64 {
        0 => then,
        seconds => format!("{then} in {}", clock(Duration::from_secs(seconds))),
    }
}

/// What comes when the wait is over.
fn then(next_try: Option<u32>) -> String {
    next_try.map_or("giving up".to_owned(), |next_try| format!("try {next_try}"))
}
