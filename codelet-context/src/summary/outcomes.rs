//! The section *Key outcomes*: a line for each summarised turn, and the steps of long ones.

use super::deeds::{Deeds, GOES_ON};
use super::earlier::Earlier;
use super::gist::prompt;
use super::page::{Page, Place, Topic};
use super::quotation::{harmless, quoted};
use super::{PROMPT, Story};
use crate::anchor::Anchor;
use crate::labels;
use std::ops::Range;

/// Bytes of what was said at the end of a turn.
const SAID: usize = 160;
/// Bytes of a prompt in the line of its turn, where there is little room and where there is more.
const SHORT: usize = 48;
/// … and in the shortest form of that line, with the bytes of what was done.
const SHORTEST: usize = 28;
const SHORTEST_DONE: usize = 52;
/// The most bytes of that form, with its line break.
const SHORTEST_LINE: usize = SHORTEST + SHORTEST_DONE + 14;
const LONGER: usize = PROMPT * 2 / 3;
/// What stands for the outcomes that have no room, and the most bytes that it takes, with a heading.
const NOT_TOLD: &str = "earlier turns not told of: ";
pub(super) const NOT_TOLD_BYTES: usize = 64;
/// A turn of more messages than this is told of by its steps, too.
const LONG: usize = 40;

/// How a line begins that tells what has come of a turn since it was told of.
const THEN: &str = "  - then ";

/// The long form of a line that stands in its short one.
pub(super) struct Longer {
    place: Place,
    line: String,
}

/// What the summarised turns that came to something take in their shortest form, in bytes, or `most` where it is more.
pub(crate) fn shortest_bytes(story: &Story<'_>, most: usize) -> usize {
    let summarised = story.turns.partition_point(|turn| turn.0.start < story.until);
    let turns = (0..summarised).rev();
    let turns = turns.filter(|&number| deeds(story, number).has_come_to_something());
    let counted = turns.take(most / SHORTEST_LINE + 1).count();
    (counted * SHORTEST_LINE).min(most)
}

/// What of a turn is summarised, and what was done in it.
fn range(story: &Story<'_>, number: usize) -> Range<usize> {
    let turn = &story.turns[number].0;
    turn.start.min(story.messages.len())..turn.end.min(story.until).min(story.messages.len())
}

fn deeds(story: &Story<'_>, number: usize) -> Deeds {
    let range = range(story, number);
    let done = story.ledger.deeds(&range);
    Deeds::of(&story.messages[range.clone()], range.start, done)
}

/// The turns that came to something in their shortest form, newest first as long as there is room.
fn add_shortest(page: &mut Page, story: &Story<'_>, summarised: usize) {
    for number in (0..summarised).rev() {
        let (range, deeds) = (range(story, number), deeds(story, number));
        if !deeds.has_come_to_something() {
            continue;
        }
        let line = format!(
            "{}{}: {}",
            labels::ITEM,
            about(story, &range, SHORTEST),
            harmless(&deeds.in_short(), SHORTEST_DONE)
        );
        if !page.add((Topic::Outcome, number, 0), line) {
            break;
        }
    }
}

/// The outcomes of the summarised turns in their short form, newest first as long as there is room.
pub(super) fn add_outcomes(page: &mut Page, story: &Story<'_>, earlier: &mut Earlier<'_>) -> Vec<Longer> {
    let mut longer = Vec::new();
    let summarised = story.turns.partition_point(|turn| turn.0.start < story.until);
    // Of turns that are kept, steps may have gone before.
    for number in (summarised..story.turns.len()).rev() {
        let turn = &story.turns[number].0;
        let abouts = [SHORT, LONGER].map(|width| about(story, turn, width));
        for (at, line) in earlier.take(&abouts).unwrap_or_default().into_iter().enumerate() {
            page.add((Topic::Outcome, number, at), line.to_owned());
        }
    }
    // Room to say that older turns are missing is kept until the oldest one is reached.
    let mut reserve = if summarised > 1 {
        page.room.min(NOT_TOLD.len() + 12)
    } else {
        0
    };
    page.room -= reserve;
    let is_first = earlier.has_no_outcomes();
    if is_first {
        add_shortest(page, story, summarised);
    }
    for number in (0..summarised).rev() {
        if number == 0 {
            page.room += std::mem::take(&mut reserve);
        }
        let (range, deeds) = (range(story, number), deeds(story, number));
        let place = (Topic::Outcome, number, 0);
        let abouts = [SHORT, LONGER].map(|width| about(story, &range, width));
        if let Some(told) = earlier.take(&abouts) {
            if !page.add(place, without_rest(told[0]).to_owned()) {
                break;
            }
            add_to_earlier(page, story, number, range, &deeds, &told[1..]);
            continue;
        }
        let line = outcome_line(story, number, &range, &deeds, SHORT, None);
        if !page.put(place, line) {
            break;
        }
        if let Some(said) = &deeds.said {
            let line = outcome_line(story, number, &range, &deeds, LONGER, Some(said));
            longer.push(Longer { place, line });
        }
        add_steps(page, story, number, range, &deeds, 0);
    }
    page.room += reserve;
    let is_told = |number: &usize| page.lines.contains_key(&(Topic::Outcome, *number, 0));
    let missing = summarised - (0..summarised).filter(is_told).count();
    // What became of a single turn stands in its goal and the state of things.
    if missing > 0 && summarised > 1 {
        page.add(
            (Topic::Outcome, 0, usize::MAX),
            format!("{}({NOT_TOLD}{missing})", labels::ITEM),
        );
    }
    longer
}

/// A turn's prompt, what was done, what was said at the end if it is to be told, and what it finished.
fn outcome_line(
    story: &Story<'_>,
    number: usize,
    range: &Range<usize>,
    deeds: &Deeds,
    width: usize,
    said: Option<&str>,
) -> String {
    let turn = &story.turns[number].0;
    let about = about(story, range, width);
    let what = Some(deeds.what(range.end < turn.end)).filter(|what| !what.is_empty());
    let said = said.map(|said| format!("said {}", quoted(said, SAID)));
    let told: Vec<String> = what.into_iter().chain(said).collect();
    let colon = if told.is_empty() { "" } else { ": " };
    let is_finished = |anchor: &&Anchor| anchor.turn == number && anchor.range == *turn && turn.end <= story.until;
    let marks = story.anchors.iter().filter(is_finished);
    let marks: String = marks.map(|anchor| format!(" [{}]", anchor.kind.name())).collect();
    format!("{}{about}{colon}{}{marks}", labels::ITEM, told.join("; "))
}

/// A turn by its prompt.
fn about(story: &Story<'_>, range: &Range<usize>, width: usize) -> String {
    match prompt(story.messages, range.clone()) {
        Some(words) => quoted(&words, width),
        None => "(no words)".to_owned(),
    }
}

/// A line of an earlier summary that does not say any more that the turn goes on below: where it does, a new one says so.
fn without_rest(line: &str) -> &str {
    match line.strip_suffix(GOES_ON) {
        Some(line) => line.trim_end_matches([' ', ';', ':']),
        None => line,
    }
}

/// What an earlier summary told of the steps of a turn, and what has come of it since.
fn add_to_earlier(
    page: &mut Page,
    story: &Story<'_>,
    number: usize,
    range: Range<usize>,
    deeds: &Deeds,
    told: &[&str],
) {
    for (at, line) in told.iter().enumerate() {
        let line = without_rest(line);
        if line != THEN.trim_end() {
            page.add((Topic::Outcome, number, at + 1), line.to_owned());
        }
    }
    let what = deeds.what(range.end < story.turns[number].0.end);
    if !what.is_empty() {
        page.add((Topic::Outcome, number, told.len() + 1), format!("{THEN}{what}"));
    }
    add_steps(page, story, number, range, deeds, told.len() + 1);
}

/// What the steps of a long turn have come to, newest first.
fn add_steps(page: &mut Page, story: &Story<'_>, number: usize, range: Range<usize>, deeds: &Deeds, before: usize) {
    let turn = &story.turns[number].0;
    let is_step = |anchor: &&Anchor| anchor.turn == number && anchor.range != *turn && anchor.range.start < range.end;
    let mut anchors: Vec<&Anchor> = story.anchors.iter().filter(is_step).collect();
    let mut lines: Vec<(usize, String)> = Vec::new();
    // A single test run stands in the line of the turn.
    let is_long = range.end < turn.end || range.len() > LONG;
    let is_long = !anchors.is_empty() || is_long && deeds.checked.len() > 1;
    for (at, what) in deeds.checked.iter().filter(|_| is_long) {
        let at = range.start + at;
        let mut line = format!("  - {what}");
        anchors.retain(|anchor| {
            let is_it = anchor.range.contains(&at);
            if is_it {
                line.push_str(&format!(" [{}]", anchor.kind.name()));
            }
            !is_it
        });
        lines.push((at, line));
    }
    lines.extend(anchors.into_iter().map(|anchor| {
        let words = harmless(&anchor.description, SAID);
        (anchor.range.start, format!("  - {words} [{}]", anchor.kind.name()))
    }));
    lines.extend(
        deeds
            .commits
            .iter()
            .map(|(at, words)| (range.start + at, format!("  - {words}"))),
    );
    lines.sort_by_key(|(at, _)| *at);
    for (at, (_, line)) in lines.into_iter().enumerate().rev() {
        if !page.add((Topic::Outcome, number, before + at + 1), line) {
            break;
        }
    }
}

pub(super) fn lengthen_outcomes(page: &mut Page, longer: Vec<Longer>) {
    for Longer { place, line } in longer {
        page.replace(place, line);
    }
}
