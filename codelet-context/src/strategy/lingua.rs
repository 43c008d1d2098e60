//! Strategy `lingua`: shortens low-entropy text in tool outputs without losing information.
//!
//! Exactly three things count as low entropy: terminal codes, states of a progress line that a carriage return has
//! overwritten, and runs of lines that report success or progress or are identical. Everything else stays unchanged, so
//! prose, code, tables and indentation are never touched. A line that reports a failure is folded only with identical ones.

use super::status::{self, LineClass};
use super::{Replacement, StrategyCount, StrategyLimits, answers, make};
use crate::message::cut;
use crate::message::view::View;
use crate::message::{ActionKind, Part};
use crate::text::body::Body;
use codelet_text::codes;
use std::borrow::Cow;

/// The name in reports.
pub(crate) const NAME: &str = "lingua";

/// The minimum bytes saved that are worth a marker.
const LEAST_SAVING: usize = 128;
/// The minimum run of alike lines that is folded.
const RUN: usize = 4;
/// The minimum run of identical lines of no known class that is folded.
const SAME_RUN: usize = 8;

const WHY: &str = "terminal codes and alike lines left out";

/// Squeezes outputs, with a marker at the end. Reads of files stay unchanged, since edits have to match the file's
/// text.
pub(crate) fn count_alike_lines(view: &mut View, _: &StrategyLimits) -> StrategyCount {
    let View { messages, archive } = view;
    let mut edits = Vec::new();
    for answer in answers(messages) {
        if answer.call.is_some_and(|call| call.action.kind == ActionKind::Read) {
            continue;
        }
        for (block, piece) in answer.result.output.iter().enumerate() {
            let Part::Text(text) = piece else { continue };
            if text.cut.is_some() {
                continue;
            }
            let Some(squeezed) = text.body.squeezed(squeeze) else {
                continue;
            };
            let what = answer.what("output");
            if squeezed.len() + 1 + cut::marker_bound(&what, text.body.len(), WHY) >= text.body.len() {
                continue;
            }
            let handle = archive.keep(&text.body, answer.call.map_or("tool", |call| &call.tool), NAME);
            let marker = cut::marker(&what, text.body.len(), WHY, &handle);
            let body = Body::new([squeezed.as_str(), "\n", &marker].concat());
            edits.push(Replacement {
                message: answer.message,
                part: answer.part,
                block,
                with: Part::Text(text.cut_to((body, handle))),
            });
        }
    }
    make(view, edits)
}

/// Returns whether `shown` is the squeezed form of `original`.
pub(super) fn is_shown_as(original: &Body, shown: &Body) -> bool {
    // Cheap check first: a pointer to or an excerpt of something long has no room for the squeezed text.
    shown.len() < original.len()
        && original.squeezed(squeeze).is_some_and(|squeezed| {
            shown
                .as_str()
                .strip_prefix(squeezed.as_str())
                .is_some_and(|rest| rest.starts_with("\n["))
        })
}

/// The text with escape codes, progress bars and runs of alike lines squeezed, or `None` if little is saved.
pub(crate) fn squeeze(text: &str) -> Option<String> {
    if text.len() < LEAST_SAVING {
        return None;
    }
    let plain = codes::without(text);
    let settled = last_states(&plain);
    let folded = fold(&settled);
    (folded.len() + LEAST_SAVING <= text.len()).then(|| folded.into_owned())
}

/// The lines of a text, each with its line break.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let end = memchr::memchr(b'\n', rest.as_bytes()).map_or(rest.len(), |at| at + 1);
        let line;
        (line, rest) = rest.split_at(end);
        (end > 0).then_some(line)
    })
}

/// Each line in its final state on a terminal, if only earlier states of the same progress were overwritten. Carriage
/// returns in line ends stay.
fn last_states(text: &str) -> Cow<'_, str> {
    if memchr::memchr(b'\r', text.as_bytes()).is_none() {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut changed = false;
    for line in text.split_inclusive('\n') {
        let (states, end) = match line.strip_suffix('\n') {
            Some(line) => match line.strip_suffix('\r') {
                Some(line) => (line, "\r\n"),
                None => (line, "\n"),
            },
            None => (line, ""),
        };
        match settled(states) {
            Some(last) => {
                changed = true;
                out.push_str(&last);
                out.push_str(end);
            }
            None => out.push_str(line),
        }
    }
    if changed { Cow::Owned(out) } else { Cow::Borrowed(text) }
}

/// A line without its overwritten states, or `None` if it has none.
fn settled(line: &str) -> Option<String> {
    if !line.as_bytes().contains(&b'\r') {
        return None;
    }
    let mut kept: Vec<&str> = Vec::new();
    let mut dropped = false;
    for state in line.split('\r').filter(|state| !state.trim().is_empty()) {
        match kept.last_mut() {
            Some(last) if status::is_later_state(last, state) => {
                *last = state;
                dropped = true;
            }
            _ => kept.push(state),
        }
    }
    dropped.then(|| kept.join("\r"))
}

/// Counts runs of alike lines. A diff is left alone: its lines belong to other texts.
fn fold(text: &str) -> Cow<'_, str> {
    let mut folder = Folder {
        text,
        out: String::new(),
        written: 0,
        run: None,
    };
    let mut start = 0;
    for line in lines(text) {
        if line.starts_with("@@ -") || line.starts_with("diff --git ") {
            return Cow::Borrowed(text);
        }
        folder.line(start, line);
        start += line.len();
    }
    folder.end_run();
    if folder.written == 0 {
        return Cow::Borrowed(text);
    }
    folder.out.push_str(&text[folder.written..]);
    Cow::Owned(folder.out)
}

/// Processes lines one by one; whatever is not in a long enough run is copied unchanged.
struct Folder<'a> {
    text: &'a str,
    out: String,
    /// The bytes of `text` that are accounted for in `out`.
    written: usize,
    run: Option<Run<'a>>,
}

struct Run<'a> {
    class: Option<LineClass>,
    /// The newest line, for comparison with the next one.
    line: &'a str,
    start: usize,
    end: usize,
    count: usize,
}

impl<'a> Folder<'a> {
    fn line(&mut self, start: usize, line: &'a str) {
        let bare = line.trim_end_matches(['\n', '\r']);
        let class = status::class(bare);
        let continues = self.run.as_ref().is_some_and(|run| match class {
            _ if run.class != class => false,
            Some(LineClass::Passed(_)) => true,
            Some(LineClass::Progress) => status::differ_by_numbers(run.line, bare),
            None => run.line == bare && !bare.is_empty(),
        });
        if !continues {
            self.end_run();
        }
        let run = self.run.get_or_insert(Run {
            class,
            line: bare,
            start,
            end: start,
            count: 0,
        });
        run.line = bare;
        run.end = start + line.len();
        run.count += 1;
    }

    fn end_run(&mut self) {
        let Some(run) = self.run.take() else { return };
        let [before, behind] = status::COUNTED;
        let note = match run.class {
            Some(LineClass::Passed(label)) if run.count >= RUN => format!("{label}{before}{}{behind}", run.count),
            Some(LineClass::Progress) if run.count >= RUN => format!("{}{before}{}{behind}", run.line, run.count),
            None if run.count >= SAME_RUN && status::may_repeat(run.line) => {
                format!("{} (× {} identical lines)", run.line, run.count)
            }
            _ => return,
        };
        let folded = &self.text[run.start..run.end];
        if note.len() >= folded.len() {
            return;
        }
        self.out.push_str(&self.text[self.written..run.start]);
        self.out.push_str(&note);
        if folded.ends_with('\n') {
            self.out.push('\n');
        }
        self.written = run.end;
    }
}

#[cfg(test)]
mod tests;
