//! Tool calls: one line while they run, one line when they have finished, and a little of their output.

use super::answers::todo_item;
use super::clean::clean;
use super::diff::Diff;
use super::figures::{bytes, count, dollars, short, took};
use super::look::{Look, Role};
use super::wrap::{Breaking, Wrap, clip, clip_line, columns};
use codelet_agent::event::{Progress, Stopped};
use codelet_context::body::Body;
use codelet_context::pipe::{self, FailedInPipe};
use codelet_context::refusal;
use codelet_context::todo::TodoItem;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

/// Columns of a task's name beside its activity.
const NAME: usize = 40;
/// Lines of a running command's output that are shown.
const TAIL: usize = 4;
/// Bytes of its output that are kept to show them.
const TAIL_BYTES: usize = 8 * 1024;
/// Lines of a finished command's output that are shown.
const LAST: usize = 3;
/// Lines of output shown for a command that the user typed in order to read it.
const OWN: usize = 24;
/// The id of the call of such a command.
pub(crate) const OWN_ID: &str = "!";
/// Bytes that a tool appends to output that was streamed, such as its status.
const ENDING: u64 = 200;
/// The tool that writes notes; the size of its result is of no interest.
const NOTE: &str = "Note";
/// The to-do tool, and items of a long list that are shown.
const TODO: &str = "Todo";
const LISTED: usize = 12;
/// Lines streamed where there are no rows below them; endless output is not read.
const COMING: usize = 400;
/// Changed lines shown with an edit.
const CHANGED: usize = 40;
/// Descriptions are cut to this many bytes before any processing.
const DESCRIPTION: usize = 2_000;
/// Bytes of a line that are processed: no terminal shows more.
const LINE: usize = 2_000;

/// A running call.
#[derive(Clone, Debug)]
pub struct Running {
    pub(super) id: Arc<str>,
    tool: Arc<str>,
    description: String,
    pub(super) began: Duration,
    /// The end of its output so far.
    tail: String,
    pub(super) has_printed: bool,
    /// The progress of a task.
    pub(super) progress: Option<Progress>,
    /// The changes that its permission question showed in full.
    pub(super) asked: Vec<Diff>,
    /// The unfinished line, where lines are streamed.
    begun: String,
    /// The number of lines streamed.
    came: usize,
    /// Bytes streamed; output that was not seen in time is missing.
    shown: u64,
}

/// A finished call.
#[derive(Clone, Copy, Debug)]
pub struct Answered<'a> {
    /// True if it succeeded.
    pub success: bool,
    /// The commands that failed in its last pipeline before the last one, which alone decides `success`.
    pub failed_in_pipe: &'a [FailedInPipe],
    /// The size of its output, in bytes.
    pub bytes: u64,
    /// Its duration.
    pub elapsed: Duration,
    /// Its output.
    pub printed: &'a Body,
    /// Bytes at the end of the output that the tool appended, such as a status.
    pub remarks: usize,
    /// Its changes, as a unified diff, or empty.
    pub diff: &'a str,
    /// The effect of an interrupt on it.
    pub stopped: Option<Stopped>,
}

/// A task's progress, in figures.
fn how_far(progress: &Progress, look: &Look) -> String {
    let dot = look.pick(" · ", " - ");
    let mut told = String::new();
    if progress.steps > 0 {
        told.push_str(&format!("{dot}{}", count(u64::from(progress.steps), "step")));
    }
    let bill = &progress.bill;
    if bill.requests > 0 {
        told.push_str(&format!("{dot}{} tokens", short(bill.usage.total())));
    }
    if bill.requests > bill.unpriced {
        told.push_str(&format!("{dot}{}", dollars(bill.cost.total())));
    }
    told
}

impl Running {
    /// A call that begins at `began` by the session's clock.
    pub fn new(id: Arc<str>, tool: Arc<str>, description: &str, began: Duration) -> Self {
        Running {
            id,
            tool,
            description: description[..description.floor_char_boundary(DESCRIPTION)].to_owned(),
            began,
            tail: String::new(),
            has_printed: false,
            progress: None,
            asked: Vec::new(),
            begun: String::new(),
            came: 0,
            shown: 0,
        }
    }

    /// Takes more output where lines are streamed; returns the lines that are complete.
    pub(super) fn come(&mut self, text: &str, look: &Look) -> Vec<Line<'static>> {
        let mut out = Vec::new();
        for part in text.split_inclusive('\n') {
            if self.came == COMING {
                break;
            }
            self.shown += part.len() as u64;
            self.begun.push_str(part);
            if part.ends_with('\n') || self.begun.len() >= LINE {
                self.come_to_its_end(look, &mut out);
            }
        }
        if self.came == COMING {
            self.came += 1;
            let words = "  ... more output, shown when it ends";
            out.push(Line::styled(clip(words, look.width), look.style(Role::Dim)));
        }
        out
    }

    fn come_to_its_end(&mut self, look: &Look, out: &mut Vec<Line<'static>>) {
        let line = std::mem::take(&mut self.begun);
        let line = line.trim_end_matches(['\n', '\r']);
        // Text that was overwritten after a carriage return is not part of the line.
        let line = line.rsplit('\r').next().unwrap_or(line);
        whole(line, look.style(Role::Dim), look, out);
        self.came += 1;
    }

    /// A short name for the status line.
    pub fn label(&self) -> String {
        let first = self.description.lines().next().unwrap_or_default();
        format!("{} {first}", self.tool).trim_end().to_owned()
    }

    /// Takes more output.
    pub fn print(&mut self, text: &str) {
        self.has_printed = true;
        self.tail.push_str(text);
        if self.tail.len() > 2 * TAIL_BYTES {
            let from = self.tail.ceil_char_boundary(self.tail.len() - TAIL_BYTES);
            self.tail.drain(..from);
        }
    }

    /// The rows of a running call: its line, and the end of its output.
    pub fn live(&self, look: &Look, now: Duration) -> Vec<Line<'static>> {
        let mark = Span::styled(look.pick("→ ", "> "), look.style(Role::Accent));
        let time = now.saturating_sub(self.began);
        let time = match time.as_secs() {
            0 => String::new(),
            _ => format!("{}{}", look.pick(" · ", " - "), super::figures::clock(time)),
        };
        let dim = look.style(Role::Dim);
        let mut tail = self
            .progress
            .as_ref()
            .map_or(String::new(), |progress| how_far(progress, look));
        tail.push_str(&time);
        if let Some(progress) = self.progress.as_ref().filter(|progress| !progress.doing.is_empty()) {
            // The name has precedence.
            let name = columns(&self.description).min(NAME);
            let room = look
                .width
                .saturating_sub(columns(&tail) + name + columns(&self.tool) + 6);
            let doing = clip(&clean(&progress.doing, 1), room);
            tail.push_str(&format!("{}{doing}", look.pick(" · ", " - ")));
        }
        let mut out = vec![self.line(mark, vec![Span::styled(tail, dim)], look)];
        for line in last_lines(&self.tail, TAIL) {
            out.push(indented(line, look.style(Role::Dim), look));
        }
        out
    }

    /// The lines of a finished call, and the text that can be unfolded if not everything is shown.
    pub fn answered(&self, answer: Answered<'_>, look: &Look) -> (Vec<Line<'static>>, Option<Body>) {
        let folded = |is_whole: bool| (!is_whole && !answer.printed.is_blank()).then(|| answer.printed.clone());
        if answer.stopped == Some(Stopped::NotRun) {
            return (vec![self.stopped(Stopped::NotRun, None, look)], None);
        }
        let (printed, said) = answer.apart();
        if answer.success
            && &*self.tool == TODO
            && let Some(lines) = self.todo(printed, look)
        {
            return (lines, None);
        }
        // A tool's output never begins like this: the runner always prefixes it.
        if let Some(why) = printed.strip_prefix(refusal::PREFACE).filter(|_| !answer.success) {
            return (self.refused(printed, why, look), None);
        }
        let text = told(printed, said, answer.success);
        let text = &*text;
        let said = told("", said, answer.success);
        let dim = look.style(Role::Dim);
        let dot = look.pick(" · ", " - ");
        let diff = Diff::parse(answer.diff);
        let failed_in_pipe = pipe::told(answer.failed_in_pipe);
        let has_failed_in_pipe = answer.success && !failed_in_pipe.is_empty();
        let mark = match answer.success {
            // Neither: `pytest | tail` has failed, `grep … | wc -l` has not.
            true if has_failed_in_pipe => Span::styled("! ", look.style(Role::Warning)),
            true => Span::styled(look.pick("✓ ", "* "), look.style(Role::Good)),
            false => Span::styled(look.pick("✗ ", "! "), look.style(Role::Error)),
        };
        let mut tail = Vec::new();
        if !answer.success {
            tail.push(Span::styled(dot, dim));
            let how = answer.stopped.map_or("failed", Stopped::name);
            tail.push(Span::styled(how, look.style(Role::Error)));
        }
        if has_failed_in_pipe {
            tail.push(Span::styled(dot, dim));
            tail.push(Span::styled(failed_in_pipe, look.style(Role::Warning)));
        }
        if let Some(progress) = &self.progress {
            tail.push(Span::styled(how_far(progress, look), dim));
            if !progress.files.is_empty() {
                let changed = clean(&progress.changed(), 1).replace('−', look.pick("−", "-"));
                tail.push(Span::styled(format!("{dot}{changed}"), dim));
            }
        } else if !diff.is_empty() {
            tail.push(Span::raw(" "));
            tail.extend(diff.summary(look));
        } else if answer.success && answer.bytes > 0 && &*self.tool != NOTE {
            let bytes = answer.bytes.saturating_sub(answer.remarks as u64);
            tail.push(Span::styled(format!("{dot}{}", size(printed, bytes)), dim));
        }
        tail.push(Span::styled(format!("{dot}{}", took(answer.elapsed)), dim));
        let mut out = Vec::new();
        let has_come = self.came <= COMING && self.shown > 0 && answer.bytes.abs_diff(self.shown) <= ENDING;
        if has_come {
            let rest = text.get(self.shown as usize..).unwrap_or_default();
            let mut end = self.clone();
            for part in rest.split_inclusive('\n').chain([""]) {
                end.begun.push_str(part);
                if part.ends_with('\n') || (part.is_empty() && !end.begun.trim().is_empty()) {
                    end.come_to_its_end(look, &mut out);
                }
            }
        }
        out.push(self.line(mark, tail, look));
        if has_come {
            return (out, folded(self.shown.abs_diff(printed.len() as u64) <= 1));
        }
        let (mut shown, mut end): (Vec<(&str, Role)>, Vec<&str>) = (Vec::new(), Vec::new());
        if &*self.id == OWN_ID {
            shown = own(text, look, &mut out);
        } else if answer.stopped.is_some() {
            shown = last(text, LAST);
        } else if !answer.success {
            end = said.lines().filter(|line| !line.trim().is_empty()).collect();
            // A program ends with its result; a tool's own answer begins with its reason.
            shown = match self.has_printed {
                true => last(printed, LAST),
                false => printed
                    .lines()
                    .find(|line| !line.trim().is_empty())
                    .map(|line| (line, Role::Error))
                    .into_iter()
                    .collect(),
            };
        } else if self.asked.iter().any(|asked| asked.has_rows_of(&diff)) {
            // Whoever permitted it has just read it.
        } else if !diff.is_empty() {
            out.extend(
                diff.lines(&look.at_width(look.width.saturating_sub(2)), CHANGED)
                    .into_iter()
                    .map(|line| shifted(line, look)),
            );
            if diff.rows() > CHANGED {
                return (out, Some(Body::new(answer.diff)));
            }
        } else if self.has_printed {
            shown = last(text, LAST);
        }
        out.extend(shown.iter().map(|(line, role)| indented(line, look.style(*role), look)));
        // The tool's status follows everything, and may take a sentence.
        for line in end {
            Wrap::indented(look.prose(), Breaking::Prose).all(dim, &clean(line, 4), &mut out);
            shown.push((line, Role::Dim));
        }
        let is_whole = answer.bytes <= answer.printed.len() as u64 && is_all(&shown, text, look);
        (out, folded(is_whole))
    }

    /// The to-do list below a line with its progress; if it is long, finished items are left out.
    fn todo(&self, printed: &str, look: &Look) -> Option<Vec<Line<'static>>> {
        let mut items: Vec<TodoItem> = Vec::new();
        for line in printed.lines() {
            match (TodoItem::of_line(line), items.last_mut()) {
                (Some(item), _) => items.push(item),
                (None, Some(last)) => last.text = format!("{} {line}", last.text),
                (None, None) => return None,
            }
        }
        let done = items.iter().filter(|item| !item.state.is_open()).count();
        let dim = look.style(Role::Dim);
        let told = format!("{}{done} of {} done", look.pick(" · ", " - "), items.len());
        let mark = Span::styled(look.pick("✓ ", "* "), look.style(Role::Good));
        let mut out = vec![Line::from(vec![
            mark,
            Span::styled(TODO, look.style(Role::Strong)),
            Span::styled(told, dim),
        ])];
        let left_out = |number: usize, what: &str, out: &mut Vec<Line<'static>>| {
            if number > 0 {
                let words = format!("  {} {number} {what}", look.pick("…", "..."));
                out.push(Line::styled(clip(&words, look.width), dim));
            }
        };
        let before = items.iter().take_while(|item| !item.state.is_open()).count();
        let before = before.min(items.len().saturating_sub(LISTED));
        left_out(before, "done", &mut out);
        let shown = items.len().min(before + LISTED);
        items[before..shown]
            .iter()
            .for_each(|item| todo_item(item, look, &mut out));
        left_out(items.len() - shown, "more; /todo shows all", &mut out);
        Some(out)
    }

    /// The lines of a call that was not permitted, with the reason given.
    fn refused(&self, answer: &str, why: &str, look: &Look) -> Vec<Line<'static>> {
        let mark = Span::styled(look.pick("✗ ", "! "), look.style(Role::Warning));
        let dot = Span::styled(look.pick(" · ", " - "), look.style(Role::Dim));
        let mut out = vec![self.line(
            mark,
            vec![dot, Span::styled("refused", look.style(Role::Warning))],
            look,
        )];
        let why = match refusal::words_in(answer) {
            Some("") => return out,
            Some(words) => format!("No, because: {words}"),
            None => why.to_owned(),
        };
        for line in why.trim_end().lines() {
            Wrap::indented(look.prose(), Breaking::Prose).all(look.style(Role::Dim), &clean(line, 4), &mut out);
        }
        out
    }

    /// The line of an interrupted call, with its running time if it had begun.
    pub fn stopped(&self, how: Stopped, elapsed: Option<Duration>, look: &Look) -> Line<'static> {
        let mark = Span::styled(look.pick("✗ ", "! "), look.style(Role::Error));
        let dot = look.pick(" · ", " - ");
        let mut tail = vec![
            Span::styled(dot, look.style(Role::Dim)),
            Span::styled(how.name(), look.style(Role::Error)),
        ];
        if let Some(elapsed) = elapsed {
            tail.push(Span::styled(format!("{dot}{}", took(elapsed)), look.style(Role::Dim)));
        }
        self.line(mark, tail, look)
    }

    /// A line of the mark, the tool, as much of its description as fits, and the tail, which is always shown in full.
    fn line(&self, mark: Span<'static>, tail: Vec<Span<'static>>, look: &Look) -> Line<'static> {
        let taken = |spans: &[Span<'static>]| spans.iter().map(|span| columns(&span.content)).sum::<usize>();
        let room = look.width.saturating_sub(columns(&mark.content) + taken(&tail));
        let tool = clip(&clean(&self.tool, 1), room);
        let room = room.saturating_sub(columns(&tool) + 1);
        let mut spans = vec![mark, Span::styled(tool, look.style(Role::Strong))];
        let mut lines = self.description.lines();
        let mut description = clean(lines.next().unwrap_or_default(), 1).into_owned();
        if lines.next().is_some() {
            description.push_str(look.pick(" …", " ..."));
        }
        if !description.is_empty() && room > 1 {
            spans.push(Span::raw(format!(" {}", clip(&description, room))));
        }
        spans.extend(tail);
        clip_line(Line::from(spans), look.width)
    }
}

impl<'a> Answered<'a> {
    /// The output proper, and the part that the tool appended.
    fn apart(&self) -> (&'a str, &'a str) {
        let text = self.printed.as_str();
        text.split_at(text.floor_char_boundary(text.len().saturating_sub(self.remarks)))
    }
}

/// The output with the tool's appended lines, except what the call's own line shows: that it succeeded, what failed in
/// its pipe, and its time.
fn told<'a>(printed: &'a str, said: &str, success: bool) -> Cow<'a, str> {
    let is_shown = |line: &str| line.starts_with("[exit 0") || line.starts_with("[exit statuses in the pipe: ");
    let news = said.lines().filter(|line| !(success && is_shown(line)));
    let mut told = Cow::Borrowed(printed);
    for line in news {
        let untimed = line.strip_suffix(" s]").and_then(|rest| rest.rsplit_once(", "));
        let untimed = untimed.filter(|(_, time)| time.bytes().all(|byte| byte.is_ascii_digit()));
        let text = told.to_mut();
        text.push_str(untimed.map_or(line, |(rest, _)| rest));
        text.push_str(if untimed.is_some() { "]\n" } else { "\n" });
    }
    told
}

/// Returns whether these lines, as shown, contain the whole text.
fn is_all(shown: &[(&str, Role)], text: &str, look: &Look) -> bool {
    let says = |line: &&str| !line.trim().is_empty();
    let all = text.lines().filter(says).take(shown.len() + 1).count();
    let fits = |line: &str| line.len() <= LINE && columns(clean(line, 8).trim_end()) + 2 <= look.width;
    all == shown.iter().filter(|(line, _)| says(line)).count() && shown.iter().all(|(line, _)| fits(line))
}

/// The size of the output, as far as it is known.
fn size(text: &str, bytes_of_all: u64) -> String {
    if bytes_of_all == 0 {
        return "no output".to_owned();
    }
    let lines =
        text.bytes().filter(|&byte| byte == b'\n').count() + usize::from(!text.ends_with('\n') && !text.is_empty());
    match bytes_of_all > text.len() as u64 {
        // Some output was not kept, so the number of lines is unknown.
        true => bytes(bytes_of_all),
        false => format!("{}, {}", count(lines as u64, "line"), bytes(bytes_of_all)),
    }
}

/// The lines of an output that are shown.
fn last(text: &str, most: usize) -> Vec<(&str, Role)> {
    let lines = last_lines(text, most).into_iter();
    lines.map(|line| (line, Role::Dim)).collect()
}

/// The last lines of a text that are not blank.
fn last_lines(text: &str, most: usize) -> Vec<&str> {
    let from = text.ceil_char_boundary(text.len().saturating_sub(TAIL_BYTES));
    let mut lines: Vec<&str> = text[from..]
        .lines()
        .rev()
        .filter(|line| !line.trim().is_empty())
        .take(most)
        .collect();
    lines.reverse();
    lines
}

/// The output of the user's own command, as far as it fits a window.
fn own<'a>(text: &'a str, look: &Look, out: &mut Vec<Line<'static>>) -> Vec<(&'a str, Role)> {
    let text = text.trim_end();
    if text.is_empty() {
        return Vec::new();
    }
    let all = text.bytes().filter(|&byte| byte == b'\n').count() + 1;
    if let Some(before) = all.checked_sub(OWN).filter(|before| *before > 0) {
        let how = if look.is_plain() { "/more" } else { "Ctrl-O" };
        let words = format!(
            "{} {} before; {how} shows more",
            look.pick("…", "..."),
            count(before as u64, "line")
        );
        out.push(indented(&words, look.style(Role::Dim), look));
    }
    let lines = text.lines().skip(all.saturating_sub(OWN));
    lines.map(|line| (line, Role::Text)).collect()
}

/// A line of output in full, on as many rows as it needs.
fn whole(line: &str, style: Style, look: &Look, out: &mut Vec<Line<'static>>) {
    let mut wrap = Wrap::indented(look.width, Breaking::Exact);
    wrap.push(style, &clean(line, 8), out);
    wrap.break_row(out);
}

/// A line below a call, cut to the width.
fn indented(line: &str, style: Style, look: &Look) -> Line<'static> {
    let line = clean(&line[..line.floor_char_boundary(LINE)], 8);
    Line::from(vec![
        Span::raw("  "),
        Span::styled(clip(line.trim_end(), look.width.saturating_sub(2)), style),
    ])
}

fn shifted(mut line: Line<'static>, look: &Look) -> Line<'static> {
    line.spans.insert(0, Span::raw("  "));
    clip_line(line, look.width)
}

/// A whole output as lines, one part at a time, so that a long one never delays keys.
#[derive(Clone, Debug)]
pub struct Unfolding {
    head: Option<String>,
    text: Body,
    at: usize,
    role: Role,
}

/// Bytes of an output that are laid out at once.
const PART: usize = 64 * 1024;
/// Lines at the beginning and the end of a long output that are shown if not everything is requested, and bytes of
/// each.
const HEAD_LINES: usize = 40;
const TAIL_LINES: usize = 80;
const END_BYTES: usize = 12 * 1024;

impl Unfolding {
    /// The full text below this heading.
    pub fn new(head: &str, text: Body, role: Role) -> Self {
        Unfolding {
            head: Some(head.to_owned()),
            text,
            at: 0,
            role,
        }
    }

    /// Everything, or both ends of a text longer than a few screens.
    pub fn ends(mut self, look: &Look) -> Vec<Line<'static>> {
        let text = self.text.clone();
        let text = text.as_str();
        let begin = text
            .match_indices('\n')
            .nth(HEAD_LINES - 1)
            .map_or(text.len(), |(at, _)| at + 1);
        let begin = begin.min(text.floor_char_boundary(END_BYTES));
        let end = text
            .trim_end_matches('\n')
            .rmatch_indices('\n')
            .nth(TAIL_LINES - 1)
            .map_or(0, |(at, _)| at + 1);
        let end = end.max(text.ceil_char_boundary(text.len().saturating_sub(END_BYTES)));
        let mut out = Vec::new();
        if begin < end {
            let between = &text[begin..end];
            let left_out = match between.bytes().filter(|&byte| byte == b'\n').count() as u64 {
                0 => format!("{} more", bytes(between.len() as u64)),
                lines => count(lines, "more line"),
            };
            self.text = Body::new(&text[..begin]);
            out.extend(std::iter::from_fn(|| self.next_lines(look)).flatten());
            let told = format!("{} {left_out}; /more all shows all of it", look.pick("…", "..."));
            out.push(indented(&told, look.style(Role::Warning), look));
            (self.text, self.at) = (Body::new(&text[end..]), 0);
        }
        out.extend(std::iter::from_fn(|| self.next_lines(look)).flatten());
        out
    }

    /// The next lines; `None` after the last.
    pub fn next_lines(&mut self, look: &Look) -> Option<Vec<Line<'static>>> {
        let mut out = Vec::new();
        if let Some(head) = self.head.take() {
            out.push(Line::from(Span::styled(
                clip(&clean(&head, 1), look.width),
                look.style(Role::Dim),
            )));
        }
        let rest = &self.text.as_str()[self.at..];
        if rest.is_empty() {
            return (!out.is_empty()).then_some(out);
        }
        let mut part = &rest[..rest.floor_char_boundary(PART)];
        if part.len() < rest.len()
            && let Some(end) = part.rfind('\n')
        {
            part = &part[..=end];
        }
        self.at += part.len();
        let style = look.style(self.role);
        let mut wrap = Wrap::indented(look.width, Breaking::Exact);
        for line in part.split_terminator('\n') {
            let line = line.strip_suffix('\r').unwrap_or(line);
            wrap.push(style, &clean(line, 8), &mut out);
            wrap.break_row(&mut out);
        }
        Some(out)
    }
}
