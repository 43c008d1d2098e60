//! What happens in a session, as lines: finished ones come out once, and what still changes is asked for at each frame.

use crate::answers;
use crate::front::{Doing, Standing};
use crate::render::clean::clean;
use crate::render::figures::{bytes, clock, dollars, short, took};
use crate::render::look::{Look, Role};
use crate::render::markdown::Markdown;
use crate::render::wrap::{Breaking, Wrap, clip_left, clip_line};
use codelet_agent::asking::Question;
use codelet_agent::event::Event;
use codelet_agent::tool::Need;
use ratatui::text::{Line, Span};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Lines of a prompt that are shown again when it is sent.
const ECHOED: usize = 12;
/// Lines of a diff or a command that are shown with a question.
const ASKED: usize = 60;
/// The last lines of what a tool prints that are shown while it runs.
const GLIMPSE: usize = 3;
/// Lines of an output that stay.
const OUTPUT: usize = 5;

const SPINNER: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/// A tool that runs.
#[derive(Clone, Debug)]
struct Running {
    id: Arc<str>,
    tool: String,
    description: String,
    printed: String,
    since: Instant,
}

/// Turns events into lines.
#[derive(Debug)]
pub(crate) struct Shows {
    look: Look,
    answer: Markdown,
    has_answer: bool,
    thinking: String,
    thought: Option<Instant>,
    folds_thinking: bool,
    running: Vec<Running>,
    /// What is waited for, and until when.
    waiting: Option<(String, Instant, u32)>,
    calling: Option<String>,
    since: Instant,
    since_asked: Option<Instant>,
}

impl Shows {
    pub(crate) fn new(look: Look) -> Self {
        Shows {
            look,
            answer: Markdown::new(look.at_width(look.width.saturating_sub(1))),
            has_answer: false,
            thinking: String::new(),
            thought: None,
            folds_thinking: true,
            running: Vec::new(),
            waiting: None,
            calling: None,
            since: Instant::now(),
            since_asked: None,
        }
    }

    /// The terminal has another width: what comes from now on is laid out for it.
    pub(crate) fn resize(&mut self, look: Look) {
        self.look = look;
        if !self.has_answer {
            self.answer = Markdown::new(look.at_width(look.width.saturating_sub(1)));
        }
    }

    pub(crate) fn fold_thinking(&mut self) {
        self.folds_thinking = !self.folds_thinking;
    }

    pub(crate) fn begin(&mut self, now: Instant) {
        self.since = now;
    }

    /// Nothing goes on any more: what was open is finished.
    pub(crate) fn end(&mut self) -> Vec<Line<'static>> {
        let mut lines = self.finish();
        for tool in std::mem::take(&mut self.running) {
            lines.push(self.tool_line("✗", Role::Error, &tool, "interrupted"));
        }
        self.waiting = None;
        self.calling = None;
        self.since_asked = None;
        lines
    }

    /// The words so far are all there are.
    fn finish(&mut self) -> Vec<Line<'static>> {
        let mut lines = self.finish_thinking();
        lines.extend(self.answer.finish());
        if std::mem::take(&mut self.has_answer) {
            self.answer = Markdown::new(self.look.at_width(self.look.width.saturating_sub(1)));
        }
        lines
    }

    fn finish_thinking(&mut self) -> Vec<Line<'static>> {
        let Some(thought) = self.thought.take() else { return Vec::new() };
        let text = std::mem::take(&mut self.thinking);
        if self.folds_thinking {
            let line = format!("thought for {} · {} words", clock(thought.elapsed()), text.split_whitespace().count());
            return answers::say(&self.look, Role::Dim, &line);
        }
        answers::say(&self.look, Role::Dim, text.trim())
    }

    /// Takes an event; returns the lines that it finishes.
    pub(crate) fn on(&mut self, event: Event, now: Instant) -> Vec<Line<'static>> {
        match event {
            Event::Asking { .. } => {
                self.waiting = None;
                self.since_asked = Some(now);
                self.finish()
            }
            Event::Thinking(text) => {
                self.thought.get_or_insert(now);
                self.thinking.push_str(&text);
                Vec::new()
            }
            Event::Text(text) => {
                let mut lines = self.finish_thinking();
                self.has_answer = true;
                lines.extend(self.answer.push(&text));
                lines
            }
            Event::Calling { tool } => {
                self.calling = Some(tool);
                Vec::new()
            }
            Event::Void => {
                let lines = self.finish();
                self.calling = None;
                lines
            }
            Event::Billed { .. } => {
                self.since_asked = None;
                self.calling = None;
                self.finish()
            }
            Event::Waiting { cause, left, next_try } => {
                self.since_asked = None;
                let is_new = self.waiting.as_ref().is_none_or(|(_, _, before)| *before != next_try);
                let mut lines = Vec::new();
                if is_new {
                    lines = answers::say(&self.look, Role::Warning, &format!("{cause}; try {next_try} follows"));
                }
                self.waiting = Some((cause, now + left, next_try));
                lines
            }
            Event::ToolStarted { id, tool, description } => {
                let lines = self.finish();
                self.calling = None;
                self.running.push(Running {
                    id,
                    tool: tool.to_string(),
                    description,
                    printed: String::new(),
                    since: now,
                });
                lines
            }
            Event::ToolPrinted { id, text } => {
                if let Some(running) = self.running.iter_mut().find(|running| running.id == id) {
                    running.printed.push_str(&text);
                    let from = running.printed.len().saturating_sub(4096);
                    let from = running.printed.ceil_char_boundary(from);
                    running.printed.drain(..from);
                }
                Vec::new()
            }
            Event::ToolFinished {
                id,
                success,
                bytes: size,
                elapsed,
                printed,
                ..
            } => {
                let Some(at) = self.running.iter().position(|running| running.id == id) else {
                    return Vec::new();
                };
                let tool = self.running.remove(at);
                let (mark, role) = if success { ("✓", Role::Good) } else { ("✗", Role::Error) };
                let figures = format!("{} · {}", bytes(size), took(elapsed));
                let mut lines = vec![self.tool_line(mark, role, &tool, &figures)];
                if !success || tool.tool == "Bash" {
                    lines.extend(self.output(printed.as_str()));
                }
                lines
            }
            Event::Compacted { notice, .. } => {
                let mut lines = self.finish();
                let mut told = notice.to_string().lines().map(str::to_owned).collect::<Vec<_>>().into_iter();
                if let Some(first) = told.next() {
                    lines.extend(answers::say(&self.look, Role::Accent, &first));
                }
                for warning in told {
                    lines.extend(answers::say(&self.look, Role::Warning, &warning));
                }
                lines
            }
            Event::Notice(text) => {
                let mut lines = self.finish();
                lines.extend(answers::say(&self.look, Role::Warning, &text));
                lines
            }
            Event::Over(_) => self.finish(),
        }
    }

    fn tool_line(&self, mark: &str, role: Role, tool: &Running, figures: &str) -> Line<'static> {
        let look = self.look;
        let mark = look.pick(mark, if role == Role::Good { "ok" } else { "failed" }).to_owned();
        let width = look.width.saturating_sub(1);
        let figures = format!(" · {figures}");
        let room = width.saturating_sub(crate::render::wrap::columns(&figures));
        let line = Line::from(vec![
            Span::styled(format!("{mark} "), look.style(role)),
            Span::styled(format!("{} ", clean(&tool.tool, 1)), look.style(Role::Strong)),
            Span::raw(clean(&tool.description, 1).into_owned()),
        ]);
        let mut line = clip_line(line, room);
        line.spans.push(Span::styled(figures, look.style(Role::Dim)));
        line
    }

    /// The last lines of an output, which tell how it ended.
    fn output(&self, text: &str) -> Vec<Line<'static>> {
        let total = text.lines().count();
        let mut lines = Vec::new();
        if total > OUTPUT {
            let more = answers::count(total - OUTPUT, "line");
            lines.extend(answers::say(&self.look, Role::Dim, &format!("  … {more} before")));
        }
        let tail: Vec<&str> = text.lines().rev().take(OUTPUT).collect();
        lines.extend(tail.into_iter().rev().map(|line| self.dim(line)));
        lines
    }

    fn dim(&self, line: &str) -> Line<'static> {
        let line: String = line.chars().take(self.look.width * 2).collect();
        let line = format!("  {}", clean(&line, 8));
        clip_line(
            Line::from(Span::styled(line, self.look.style(Role::Dim))),
            self.look.width.saturating_sub(1),
        )
    }

    /// What still changes.
    pub(crate) fn tail(&self, now: Instant) -> Vec<Line<'static>> {
        let mut lines = Vec::new();
        if self.thought.is_some() {
            let words: String = self.thinking.chars().rev().take(self.look.width * 4).collect::<Vec<_>>().into_iter().rev().collect();
            let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
            let room = self.look.width.saturating_sub(2);
            lines.push(Line::from(Span::styled(clip_left(&clean(&words, 1), room), self.look.style(Role::Dim))));
        }
        lines.extend(self.answer.pending());
        for tool in &self.running {
            let elapsed = clock(now.saturating_duration_since(tool.since));
            lines.push(self.tool_line(self.spin(now), Role::Accent, tool, &elapsed));
            let tail: Vec<&str> = tool.printed.lines().rev().take(GLIMPSE).collect();
            lines.extend(tail.into_iter().rev().map(|line| self.dim(line)));
        }
        lines
    }

    fn spin(&self, now: Instant) -> &'static str {
        let position = now.saturating_duration_since(self.since).as_millis() / 100;
        SPINNER[(position % SPINNER.len() as u128) as usize]
    }

    /// The status line.
    pub(crate) fn status(&self, standing: &Standing, doing: Doing, waiting: usize, now: Instant) -> Line<'static> {
        let look = self.look;
        let mut pieces: Vec<String> = Vec::new();
        let what = if waiting > 0 {
            Some("waiting for your answer".to_owned())
        } else {
            self.activity(doing, now)
        };
        pieces.extend(what);
        pieces.push(standing.model.clone());
        let share = standing.occupancy * 100 / standing.limit.max(1);
        pieces.push(format!("{} of {} ({share} %)", short(standing.occupancy), short(standing.limit)));
        pieces.extend(standing.dollars.map(dollars));
        pieces.extend(standing.hit_share.map(|share| format!("{:.0} % cached", share * 100.0)));
        Line::from(Span::styled(pieces.join(" · "), look.style(Role::Dim)))
    }

    fn activity(&self, doing: Doing, now: Instant) -> Option<String> {
        let what = match doing {
            Doing::Nothing => return None,
            Doing::Compaction => "compacting".to_owned(),
            Doing::Shell => "running".to_owned(),
            Doing::Connection => "connecting".to_owned(),
            Doing::Run => {
                if let Some((cause, until, next_try)) = &self.waiting {
                    let left = until.saturating_duration_since(now);
                    let seconds = left.as_secs() + u64::from(left > Duration::ZERO);
                    return Some(format!("{} · try {next_try} in {seconds} s", clean(cause, 1)));
                }
                match (&self.calling, self.running.is_empty(), self.thought, self.has_answer) {
                    (_, false, ..) => "working".to_owned(),
                    (Some(tool), ..) => format!("calling {}", clean(tool, 1)),
                    (_, _, Some(_), _) => "thinking".to_owned(),
                    (_, _, _, true) => "answering".to_owned(),
                    _ => "asking".to_owned(),
                }
            }
        };
        let since = self.since_asked.unwrap_or(self.since);
        Some(format!("{} {what} {}", self.spin(now), clock(now.saturating_duration_since(since))))
    }
}

/// What was said, as it stays on the screen.
pub(crate) fn echo(look: &Look, said: &str) -> Vec<Line<'static>> {
    let mut lines = vec![Line::default()];
    let total = said.lines().count();
    for (at, text) in said.lines().take(ECHOED).enumerate() {
        let text: String = text.chars().take(look.width * 8).collect();
        let label = if at == 0 { "> " } else { "  " };
        let first = vec![Span::styled(label, look.style(Role::Prompt))];
        let mut wrap = Wrap::new(look.width, Breaking::Exact, first, vec![Span::raw("  ")]);
        wrap.push(look.style(Role::Prompt), &clean(&text, 4), &mut lines);
        wrap.finish(&mut lines);
    }
    if total > ECHOED {
        let more = answers::count(total - ECHOED, "more line");
        lines.extend(answers::say(look, Role::Dim, &format!("  … {more}")));
    }
    lines
}

/// What exactly would be done: printed in full, once.
pub(crate) fn question_body(look: &Look, question: &Question) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    for need in &question.needs {
        let (head, text) = match need {
            Need::Read { path, .. } => (format!("{} wants to look at {}", question.tool, path.display()), ""),
            Need::Change { path, diff, .. } => (format!("{} wants to change {}", question.tool, path.display()), diff.as_str()),
            Need::Run { command } => (format!("{} wants to run", question.tool), command.as_str()),
        };
        lines.extend(answers::say(look, Role::Warning, &head));
        let total = text.lines().count();
        for line in text.lines().take(ASKED) {
            let role = match (need, line.as_bytes().first()) {
                (Need::Change { .. }, Some(b'+')) => Role::Added,
                (Need::Change { .. }, Some(b'-')) => Role::Removed,
                _ => Role::Text,
            };
            let mut wrap = Wrap::new(look.width, Breaking::Exact, vec![Span::raw("  ")], vec![Span::raw("  ")]);
            wrap.push(look.style(role), &clean(line, 4), &mut lines);
            wrap.finish(&mut lines);
        }
        if total > ASKED {
            let more = answers::count(total - ASKED, "more line");
            lines.extend(answers::say(look, Role::Warning, &format!("  … {more}")));
        }
    }
    lines
}

/// What may be answered.
pub(crate) fn question(
    look: &Look,
    question: &Question,
    is_answerable: bool,
    waiting: usize,
    refusing: Option<&str>,
    is_writing: bool,
) -> Vec<Line<'static>> {
    let mut lines = answers::say(
        look,
        Role::Warning,
        &format!("Permit {} {}?", question.tool, clean(&question.description, 1)),
    );
    if let Some(reason) = refusing {
        lines.extend(answers::say(look, Role::Text, &format!("  no, because: {reason}_")));
        lines.extend(answers::say(look, Role::Dim, "  Enter tells the model; Esc goes back"));
        return lines;
    }
    if is_writing {
        lines.extend(answers::say(look, Role::Dim, "  (send or clear what you write to answer)"));
        return lines;
    }
    if !is_answerable {
        return lines;
    }
    let grants: Vec<String> = question.grants.iter().map(|grant| answers::grant(grant).0).collect();
    let options = format!(
        "  y once · a always in this session: {} · n no · r no, with a reason · Esc interrupts",
        grants.join(", ")
    );
    lines.extend(answers::say(look, Role::Text, &options));
    if waiting > 0 {
        let more = answers::count(waiting, "more question");
        lines.extend(answers::say(look, Role::Dim, &format!("  {more} after this one")));
    }
    lines
}
