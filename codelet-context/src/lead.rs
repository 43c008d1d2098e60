//! The lines of a call that stand before any output of it: what was run, or what was asked for.

use crate::codes;
use crate::command::entered;
use crate::failing::{as_printed, failing, most_telling, within_frame};
use crate::index::{Block, Came, Line, NONE};
use crate::message::{Action, ActionKind, ToolCall, ToolResult};
use crate::verdict::is_silent;
use std::ops::Range;

/// An answer of at most so many bytes is quoted whole with the command …
const SHORT_ANSWER: usize = 40;
/// … or of so many, if it tells where something is found, such as what was made: it is asked for there …
const ADDRESS_ANSWER: usize = 160;
const ADDRESS: &str = "://";
/// … in at most so many lines; …
const FEW_LINES: usize = 3;
/// … and of a command that failed, the line that says most of why, if it is no longer than this.
const REASON_BYTES: usize = 160;

/// The lines of a command, or else what a call says first and nothing that could be listed among commands. `lines` are those
/// of the call's block, which names no file in its header. From [`NONE`] on if there are none.
pub(crate) fn of(call: &ToolCall, block: &Block, lines: &[Line]) -> Range<u32> {
    if block.lines.is_empty() {
        return NONE..NONE;
    }
    let Some(bytes) = command_in(block.text.as_str(), call) else {
        return block.lines.start..block.lines.start;
    };
    let before = |byte: usize| lines.partition_point(|line| (line.start as usize) < byte);
    let (start, end) = (before(bytes.start), before(bytes.end));
    // Of what looks like a line number and nothing else, there is no line.
    if start >= lines.len() {
        return block.lines.start..block.lines.start;
    }
    // A remark above a command is not what was run.
    let is_remark = |line: &&Line| block.text.as_str()[line.start as usize..].trim_start().starts_with('#');
    let remarks = lines[start..end].iter().take_while(is_remark).count();
    let start = if start + remarks < end { start + remarks } else { start };
    block.lines.start + start as u32..block.lines.start + end as u32
}

/// The lines that are quoted with a command, or with a call without a file, of what came of it, among those of its answer: all,
/// if they are few and short, or else the one that says most of why it failed. What was not run to its end is told of
/// otherwise.
pub(crate) fn answer<'a>(
    action: &Action,
    came: Came,
    result: &ToolResult,
    lines: impl Iterator<Item = (u32, &'a str)> + Clone,
) -> Option<Range<u32>> {
    if matches!(came, Came::Refused | Came::Stopped) {
        return None;
    }
    let has_words = |text: &str| within_frame(text).is_some_and(|text| !text.trim().is_empty());
    let own = lines.clone().filter(|(_, text)| has_words(text));
    // That nothing was found is what a search says; that nothing was printed says nothing of other commands.
    let is_question = action.command.as_ref().is_some_and(|line| line.said().is_question);
    let short = match short(own) {
        None if is_question => short(lines.clone()),
        found => found.filter(|_| is_question || !is_silent(result)),
    };
    short.or_else(|| (came == Came::Failed).then(|| reason(result, lines))?)
}

/// All of these lines, if they are few and short and stand together.
fn short<'a>(lines: impl Iterator<Item = (u32, &'a str)>) -> Option<Range<u32>> {
    let few: Vec<(u32, &str)> = lines.take(FEW_LINES + 1).collect();
    let range = few.first()?.0..few.last()?.0 + 1;
    let bytes: usize = few.iter().map(|(_, text)| text.len()).sum();
    let most = match few.iter().any(|(_, text)| codes::shown(text).contains(ADDRESS)) {
        true => ADDRESS_ANSWER,
        false => SHORT_ANSWER,
    };
    (few.len() <= FEW_LINES && range.len() == few.len() && bytes <= most).then_some(range)
}

/// The line of an answer that says most of why the call failed, among those that are not too long; with the name of the file
/// above it, if it stands below that.
fn reason<'a>(result: &ToolResult, lines: impl Iterator<Item = (u32, &'a str)> + Clone) -> Option<Range<u32>> {
    let telling = failing(result).0;
    let best = most_telling(&telling, telling.len()).into_iter();
    let best = best.map(|at| telling[at].trim()).filter(|telling| !telling.is_empty());
    let short = lines.filter(|(_, text)| text.len() <= REASON_BYTES);
    let mut found = best.filter_map(|telling| {
        let printed = as_printed(telling);
        let mut above = None;
        for (line, text) in short.clone() {
            if text.contains(printed) {
                let is_file =
                    |above: &&str| !above.is_empty() && telling[..telling.len() - printed.len()].contains(above);
                let is_below = above
                    .filter(|(_, text)| is_file(text))
                    .is_some_and(|(above, _)| above + 1 == line);
                return Some(line - u32::from(is_below)..line + 1);
            }
            above = Some((line, text.trim()));
        }
        None
    });
    found.next()
}

/// Where a call's command line stands among its parameters, as lines of its own.
fn command_in(text: &str, call: &ToolCall) -> Option<Range<usize>> {
    let command = call.action.command.as_deref().filter(|line| !line.trim().is_empty())?;
    if call.action.kind != ActionKind::Command {
        return None;
    }
    // The folder may be another parameter.
    place_of(text, command).or_else(|| place_of(text, entered(command)?.1))
}

/// Where something stands in a text as lines of its own.
fn place_of(text: &str, command: &str) -> Option<Range<usize>> {
    let is_edge = |byte: Option<&u8>| byte.is_none_or(|&byte| byte == b'\n');
    let mut places = text.match_indices(command).map(|(at, _)| at..at + command.len());
    places.find(|place| {
        let before = place.start.checked_sub(1).and_then(|at| text.as_bytes().get(at));
        is_edge(before) && is_edge(text.as_bytes().get(place.end))
    })
}
