//! The lines of an output that say what failed, without the frame that harnesses put around what a program has printed.

mod headed;
mod named;
mod noise;
mod passing;
mod signs;

use crate::answer::{PRINTED, object};
use crate::message::ToolResult;
use crate::said::is_pass;
use headed::Heading;
pub(crate) use headed::as_printed;
pub(crate) use named::{ENTRIES, Entry, Named};
use noise::{is_elision, is_listed, is_source, is_tag, points};
pub(crate) use passing::Passing;
use signs::{Said, Signs, is_drawn, is_foreign, is_in_tests, is_only_placed, said, side};
use std::borrow::Cow;
use std::collections::{HashSet, VecDeque};

/// Lines of an error, and bytes of a line, that are kept.
const LINES: usize = 24;
const WIDTH: usize = 240;
/// The last lines of an output, which are taken where no line says what failed.
const LAST: usize = 6;
/// Lines that follow the one that says what failed, sides of comparisons aside, and those sides.
const BLOCK: usize = 8;
const SIDES: usize = 16;
/// Places of the project in the stack of one failure.
const PLACES: usize = 2;
/// How far apart the two sides of a comparison are, in lines.
const APART: usize = 3;
/// Bytes of an output that are looked at: from its beginning and to its end.
const LOOKED_AT: usize = 32 * 1024;

#[cfg(test)]
pub(crate) fn failing_lines(result: &ToolResult) -> Vec<String> {
    failing(result).0
}

/// The lines of an output that say what failed, each with those that belong to it: what was expected and found, and where; and
/// what they name. Where no line does, the last ones.
pub(crate) fn failing(result: &ToolResult) -> (Vec<String>, Named) {
    let texts = result.error.iter().chain(result.texts().map(|text| &text.body));
    let texts: Vec<_> = texts.map(|text| printed(text.as_str())).collect();
    let mut reader = Reader::default();
    for text in &texts {
        let (head, tail) = if text.len() <= 2 * LOOKED_AT {
            (&**text, "")
        } else {
            let tail = &text[text.ceil_char_boundary(text.len() - LOOKED_AT)..];
            (
                &text[..text.floor_char_boundary(LOOKED_AT)],
                tail.split_once('\n').map_or(tail, |(_, whole)| whole),
            )
        };
        let signs = Signs::of([head, tail]);
        let mut lines = head.lines().chain(tail.lines()).peekable();
        while let Some(line) = lines.next() {
            reader.is_pointed_at = lines.peek().is_some_and(|next| points(next));
            reader.take(line, &signs);
        }
        reader.block = None;
        if reader.last.is_empty() {
            // Nothing but the frame: that the program has ended, and how.
            let all = text.lines().filter(|line| !line.trim().is_empty());
            reader.last.extend(all.take(LAST).map(|line| (usize::MAX, line.into())));
        }
    }
    let found = reader.end();
    let mut chosen = most_telling(&found, LINES);
    chosen.sort_unstable();
    let lines = chosen.into_iter().map(|at| shorten(&found[at], WIDTH)).collect();
    (lines, Named::of(&found, &texts))
}

/// The places of the lines that say most of what failed, at most so many, the best first. Of a comparison both sides are among
/// them or none.
pub(crate) fn most_telling(lines: &[impl AsRef<str>], most: usize) -> Vec<usize> {
    let line = |at: usize| lines[at].as_ref();
    let mut before = ("", false);
    let is_listed: Vec<bool> = lines
        .iter()
        .map(|line| {
            before = (line.as_ref(), is_listed(before, line.as_ref()));
            before.1
        })
        .collect();
    let all: Vec<Said> = (0..lines.len()).map(|at| said(line(at))).collect();
    let speaks = |at: usize| all[at] == Said::Cause && is_only_placed(line(at));
    let from_tests = (0..lines.len()).any(|at| speaks(at) && is_in_tests(line(at)));
    let rank = |at: usize| match all[at] {
        // Where tests speak with their places, what speaks so from elsewhere is a log.
        Said::Cause if from_tests && speaks(at) && !is_in_tests(line(at)) => 3,
        Said::Side if is_listed[at] => 3,
        Said::Cause | Said::End | Said::Name | Said::Side => 4,
        Said::Place => 3,
        // What a line with a colon at its end announces says more than the line.
        _ if at > 0 && line(at - 1).trim_end().ends_with(':') => 4,
        Said::Count => 2,
        Said::Closing => 1,
        Said::Nothing | Said::Label => 0,
    };
    let mut order: Vec<usize> = (0..lines.len()).collect();
    if order.iter().all(|&at| rank(at) == 0) {
        // What is wrong is said last where nothing says it.
        order.reverse();
    } else {
        order.sort_by_key(|&at| std::cmp::Reverse(rank(at)));
    }
    // However many have failed, the last count says how many.
    let is_count = |at: &usize| all[*at] == Said::Count;
    let count = order.iter().copied().filter(is_count).max();
    if let Some(count) = count.filter(|_| most >= LAST) {
        order.retain(|&at| at != count);
        order.insert((most - 1).min(order.len()), count);
    }
    let other = other_sides(lines);
    let mut is_chosen = vec![false; lines.len()];
    let mut chosen = Vec::new();
    for at in order {
        let both = [Some(at), other[at]];
        let new = both.into_iter().flatten().filter(|&at| !is_chosen[at]);
        let mut new: Vec<usize> = new.collect();
        if chosen.len() + new.len() <= most {
            new.sort_unstable();
            for at in new {
                is_chosen[at] = true;
                chosen.push(at);
            }
        }
    }
    chosen
}

/// For each line that is a side of a comparison, where the other side is.
pub(crate) fn other_sides(lines: &[impl AsRef<str>]) -> Vec<Option<usize>> {
    let sides: Vec<Option<bool>> = lines.iter().map(|line| side(line.as_ref())).collect();
    let mut other = vec![None; lines.len()];
    for (at, &this) in sides.iter().enumerate().filter(|(_, side)| side.is_some()) {
        let mut near = at + 1..(at + 1 + APART).min(lines.len());
        if other[at].is_none()
            && let Some(found) = near.find(|&near| other[near].is_none() && sides[near] == this.map(|is| !is))
        {
            other[at] = Some(found);
            other[found] = Some(at);
        }
    }
    other
}

/// Reads an output line by line, and keeps those that say what failed.
#[derive(Default)]
struct Reader<'a> {
    /// Each with its number, and the file that it stands below, if it names none.
    found: Vec<(usize, Cow<'a, str>)>,
    seen: HashSet<Cow<'a, str>>,
    heading: Heading<'a>,
    /// A line says it, and not only that a tool gives up.
    says_why: bool,
    last: VecDeque<(usize, Cow<'a, str>)>,
    block: Option<Block>,
    is_behind_blank: bool,
    /// The line below points at something in this one: it is source.
    is_pointed_at: bool,
    /// How deep a place stands (`File "a.py", line 3`) below which nothing but source came so far.
    frame: Option<usize>,
    /// The line before, and whether it is one of a list.
    before: (&'a str, bool),
    number: usize,
}

/// The lines that belong to one that says what failed.
struct Block {
    indent: usize,
    lines: usize,
    sides: usize,
    places: usize,
    /// The line before was a place: what follows is source.
    is_at_place: bool,
}

impl<'a> Reader<'a> {
    fn take(&mut self, line: &'a str, signs: &Signs) {
        if line.trim().is_empty() {
            self.is_behind_blank = true;
            return;
        }
        let Some(line) = within_frame(line).filter(|line| !is_tag(line)) else {
            self.heading.end();
            return;
        };
        self.number += 1;
        if self.last.len() == LAST {
            self.last.pop_front();
        }
        let is_behind_blank = std::mem::take(&mut self.is_behind_blank);
        let whole = self.heading.take(line, is_behind_blank);
        self.last.push_back((self.number, whole.clone()));
        let indent = line.len() - line.trim_start().len();
        if self.frame.is_some_and(|frame| indent > frame) {
            return;
        }
        self.frame = line.trim_start().starts_with("File \"").then_some(indent);
        let is_listed = is_listed(self.before, line);
        self.before = (line, is_listed);
        let said = match signs.said(line) {
            Said::Nothing if is_elision(line) => {
                // What follows may belong to anything.
                self.block = None;
                return;
            }
            Said::Side if is_listed => Said::Nothing,
            said if self.is_pointed_at && is_source(line) && said != Said::Place => Said::Nothing,
            said => said,
        };
        let mut block = self.block.take().filter(|block| {
            let is_at_once = !is_behind_blank || block.lines == 0 || indent > block.indent;
            !is_pass(line) && (is_at_once || matches!(said, Said::Side | Said::Place))
        });
        match (said, &mut block) {
            (Said::Label, _) => block = Some(Block::new(indent)),
            (Said::Name | Said::Cause, _) => {
                self.says_why = true;
                self.keep(whole);
                // What else is said of a test is indented as deep as that of its first line.
                let outer = block.map_or(indent, |block| block.indent.min(indent));
                block = Some(Block {
                    lines: 1,
                    ..Block::new(outer)
                });
            }
            (Said::Count | Said::Closing | Said::End, _) => {
                self.says_why |= said == Said::End;
                self.keep(whole);
                block = None;
            }
            (Said::Side, Some(block)) if block.sides < SIDES => {
                (block.sides, block.is_at_place) = (block.sides + 1, false);
                self.found.push((self.number, whole));
            }
            (Said::Place, Some(block)) => {
                block.is_at_place = true;
                if is_foreign(line) {
                } else if line.trim_start().starts_with("File \"") && block.places == PLACES {
                    // Of these the last one is where it was.
                    self.replace_place(line);
                } else if block.places < PLACES {
                    block.places += 1;
                    self.found.push((self.number, whole));
                }
            }
            (_, Some(block)) if block.lines < BLOCK && !block.is_at_place && !is_drawn(line) => {
                block.lines += 1;
                self.keep(whole);
            }
            _ => {}
        }
        self.block = block;
    }

    /// Keeps a line, once.
    fn keep(&mut self, line: Cow<'a, str>) {
        let bare = match &line {
            Cow::Borrowed(line) => Cow::Borrowed(line.trim()),
            Cow::Owned(line) => Cow::Owned(line.clone()),
        };
        if self.seen.insert(bare) {
            self.found.push((self.number, line));
        }
    }

    fn replace_place(&mut self, line: &'a str) {
        let last = self
            .found
            .iter_mut()
            .rfind(|(_, line)| line.trim_start().starts_with("File \""));
        if let Some(last) = last {
            *last = (self.number, line.into());
        }
    }

    /// What was found; with the last lines, where nothing says why.
    fn end(mut self) -> Vec<Cow<'a, str>> {
        if !self.says_why {
            let known: HashSet<usize> = self.found.iter().map(|(number, _)| *number).collect();
            let others = self.last.into_iter().filter(|(number, _)| !known.contains(number));
            self.found.extend(others);
            self.found.sort_by_key(|(number, _)| *number);
        }
        self.found.into_iter().map(|(_, line)| line).collect()
    }
}

impl Block {
    fn new(indent: usize) -> Block {
        Block {
            indent,
            lines: 0,
            sides: 0,
            places: 0,
            is_at_place: false,
        }
    }
}

/// What a program has printed, where the answer is an object that holds it.
pub(crate) fn printed(text: &str) -> Cow<'_, str> {
    let Some(map) = object(text) else {
        return text.into();
    };
    // What a harness says of it in a message of its own comes last.
    let names = ["error"].iter().chain(PRINTED).chain(&["message"]);
    let fields = names.filter_map(|name| map.get(*name)?.as_str());
    let printed: Vec<&str> = fields.filter(|text| !text.trim().is_empty()).collect();
    if printed.is_empty() {
        return text.into();
    }
    printed.join("\n").into()
}

/// A line of a program: without the label of its stream, and none where the harness speaks.
pub(crate) fn within_frame(line: &str) -> Option<&str> {
    const STREAMS: &[&str] = &[
        "Stdout:",
        "Stderr:",
        "Output:",
        "STDOUT:",
        "STDERR:",
        "OUTPUT:",
        "Command output:",
    ];
    const FRAME: &[&str] = &[
        "<shellid:",
        "<command with shellid:",
        "exit code",
        "signal:",
        "command:",
        "directory:",
        "background pids:",
        "process group pgid:",
        "wall time:",
        "command completed",
        "command executed",
        "command execution was",
        "command finished",
        "command exited",
        "the command completed",
        "the command exited",
        "process exited with",
        "process completed with",
        "current working directory:",
        "current directory:",
        "open file:",
        "bash-$",
        "chunk id:",
        "original token count:",
        "python interpreter:",
        "shell state (",
        "{\"metadata\":",
        "```",
    ];
    const TAGS: &[&str] = &["returncode", "exit_code", "output", "stdout", "stderr", "cwd"];
    let stream = STREAMS.iter().find_map(|label| line.strip_prefix(label));
    let line = stream.unwrap_or(line);
    let trimmed = line.trim();
    let bare = trimmed.trim_start_matches(['[', '(']);
    let is_frame = |words: &&str| {
        bare.get(..words.len())
            .is_some_and(|head| head.eq_ignore_ascii_case(words))
    };
    let is_tag = |tag: &&str| {
        let behind = trimmed.trim_start_matches(['<', '/']).strip_prefix(*tag);
        let is_closed = |rest: &str| rest == ">" || rest.ends_with(&format!("</{tag}>"));
        trimmed.starts_with('<') && behind.is_some_and(|rest| rest.starts_with('>') && is_closed(rest))
    };
    let value = trimmed.rsplit_once(": ").map_or(trimmed, |(_, value)| value);
    let is_empty = trimmed.is_empty() || matches!(value, "(none)" | "(empty)");
    let is_own = !is_empty && !FRAME.iter().any(is_frame) && !TAGS.iter().any(is_tag);
    let shown = if stream.is_some() { trimmed } else { line };
    is_own.then_some(shown)
}

/// The beginning of a text, with a sign where it goes on.
pub(crate) fn shorten(text: &str, bytes: usize) -> String {
    let text = text.trim_end();
    if text.len() <= bytes {
        return text.to_owned();
    }
    format!("{}…", &text[..text.floor_char_boundary(bytes)])
}

#[cfg(test)]
mod tests;
