//! The section *Context*: the goal, what is pinned, how checks stand, what is broken, decided and left to do.

use super::Story;
use super::asks::asks;
use super::gist::prompt;
use super::page::{Page, Topic};
use super::quotation::{harmless, quoted, shown_command};
use crate::failing::{most_telling, other_sides};
use crate::labels;
use crate::outcome::{CheckFact, Decision, Facts, OpenError};
use crate::testrun::CheckKind;
use crate::todo::TodoState;
use crate::turn::Turn;
use crate::verdict::Verdict;
use std::ops::Range;

/// What stands around an item of the list, at most.
pub(super) const TODO_FRAME: usize = labels::UNDER_WAY.len() + 1;

/// Pins take half of the room, shared equally; a pin that needs less leaves its rest to the next.
pub(super) fn add_pins(page: &mut Page, pins: &[&str], bytes: usize) {
    let mut room = bytes / 2;
    for (number, pin) in pins.iter().enumerate() {
        let share = room / (pins.len() - number);
        let prefix = labels::PINNED.len() + 1;
        let line = pin_line(pin, share.saturating_sub(prefix).max(24));
        let taken = line.len() + 1;
        if page.add((Topic::Pin, number, 0), line) {
            room = room.saturating_sub(taken);
        }
    }
}

pub(super) fn lengthen_pins(page: &mut Page, pins: &[&str]) {
    for (number, pin) in pins.iter().enumerate() {
        let place = (Topic::Pin, number, 0);
        let is_cut = |line: &&String| line.ends_with('…') && **line != pin_line(pin, pin.len());
        let now = page.lines.get(&place).filter(is_cut).map_or(0, String::len);
        if now > 0 {
            let most = (now + page.room).saturating_sub(labels::PINNED.len() + "…".len());
            page.replace(place, pin_line(pin, most));
        }
    }
}

fn pin_line(pin: &str, most: usize) -> String {
    format!("{}{}", labels::PINNED, harmless(pin, most))
}

/// How many of the open items of the list go before other facts: as many as take half of the room, and three at least.
pub(super) fn urgent(facts: &Facts, bytes: usize, width: usize) -> usize {
    let mut room = bytes / 2;
    let open = facts.todo.items().filter(|item| item.state.is_open());
    let fitting = open.take_while(|item| {
        let taken = TODO_FRAME + item.text.len().min(width);
        let fits = taken <= room;
        room = room.saturating_sub(taken);
        fits
    });
    fitting.count().max(3)
}

/// Says how many open items of the list found no room so far. Called early, so that there is room for it, and again at the
/// end, when the number is known.
pub(super) fn count_todo(page: &mut Page, facts: &Facts) {
    let place = (Topic::Todo, usize::MAX - 1, 0);
    // What an earlier summary has counted stands there where no newer list is known.
    if facts.todo.items().next().is_none() {
        return;
    }
    page.remove(place);
    let open = facts.todo.items().filter(|item| item.state.is_open()).count();
    let told = page
        .lines
        .keys()
        .filter(|(topic, number, _)| *topic == Topic::Todo && *number < open);
    let left = open - told.count();
    if left > 0 {
        page.add(place, format!("{}{left} more", labels::UNLISTED));
    }
}

pub(super) fn add_todo(page: &mut Page, facts: &Facts, which: Range<usize>, width: usize) {
    let open = facts.todo.items().filter(|item| item.state.is_open());
    // What is under way goes first; a stable sort keeps the list's own order.
    let mut open: Vec<_> = open.enumerate().collect();
    open.sort_by_key(|(_, item)| item.state != TodoState::Active);
    let is_first = which.start == 0;
    for (number, item) in open.iter().skip(which.start).take(which.len()) {
        let mark = if item.state == TodoState::Active {
            labels::UNDER_WAY
        } else {
            labels::TO_DO
        };
        page.add(
            (Topic::Todo, *number, 0),
            format!("{mark}{}", harmless(&item.text, width)),
        );
    }
    let all = facts.todo.items().count();
    if all > 0 && !is_first {
        let done = facts.todo.items().filter(|item| item.state == TodoState::Done).count();
        page.add((Topic::Todo, usize::MAX, 0), format!("{}{done} of {all}", labels::DONE));
    }
}

/// The newest errors, at most so many, with at most so many of the lines that say why: checks that are broken, or else
/// other commands, which were often given up.
pub(super) fn add_errors(page: &mut Page, facts: &Facts, checks: bool, most: usize, lines: usize, width: usize) {
    let errors = facts.errors.iter().enumerate().rev();
    let wanted = errors.filter(|(_, error): &(usize, &OpenError)| error.is_check() == checks && !error.is_past);
    let topic = if checks { Topic::Error } else { Topic::Failed };
    for (number, error) in wanted.take(most) {
        // The newest stands first.
        let number = facts.errors.len() - number;
        let name = match (error.is_rerun, checks) {
            (true, _) => labels::RERUN,
            (false, true) => labels::FAILING,
            (false, false) => labels::FAILED,
        };
        let command = shown_command(&error.command, width);
        if page.add((topic, number, 0), format!("{name}{command}")) {
            add_lines(page, (topic, number), &error.lines, lines, width);
        }
    }
}

/// What failed long ago, the newest first, without a word on why.
pub(super) fn add_past(page: &mut Page, facts: &Facts, width: usize) {
    let errors = facts.errors.iter().enumerate().rev();
    for (number, error) in errors.filter(|(_, error)| error.is_past) {
        let name = if error.is_rerun { labels::RERUN } else { labels::PAST };
        let line = format!("{name}{}", shown_command(&error.command, width));
        page.add((Topic::Past, facts.errors.len() - number, 0), line);
    }
}

/// The lines under an error that say most of it, at most so many; they stand in their own order.
pub(super) fn add_lines(
    page: &mut Page,
    (topic, number): (Topic, usize),
    lines: &[impl AsRef<str>],
    most: usize,
    width: usize,
) {
    let place = |at: usize| (topic, number, at + 1);
    // Most errors are told in full long before the last time that they are asked for.
    if (0..lines.len()).all(|at| page.lines.contains_key(&place(at))) {
        return;
    }
    let other = other_sides(lines);
    for at in most_telling(lines, most.min(lines.len())) {
        let line = format!("  | {}", harmless(lines[at].as_ref(), width));
        if !page.add(place(at), line) {
            // Half of a comparison says less than nothing.
            if let Some(other) = other[at] {
                page.remove(place(other));
            }
            return;
        }
    }
}

/// The last test run, build and lint; one line for those that one command did. What has passed or is unclear is told as that
/// only where no other check of its kind fails; `fails` tells whether one does that the facts do not know.
pub(super) fn add_status(page: &mut Page, facts: &Facts, fails: impl Fn(CheckKind) -> bool, width: usize) {
    let kinds = [CheckKind::Test, CheckKind::Build, CheckKind::Lint];
    let checks = labels::CHECKS
        .into_iter()
        .zip(kinds)
        .zip([&facts.tests, &facts.build, &facts.lint]);
    let mut told: Vec<(String, &str, &CheckFact)> = Vec::new();
    for ((name, kind), check) in checks {
        let Some(check) = check else { continue };
        let is_open = |error: &OpenError| error.kind() == Some(kind) && !error.is_past && !error.is_rerun;
        let is_beside = || facts.errors.iter().any(is_open) || fails(kind);
        let verdict = match check.verdict {
            Verdict::Failed => "FAILED",
            Verdict::Passed if is_beside() => labels::PASSED_BESIDE,
            Verdict::Unknown if is_beside() => labels::UNCLEAR_BESIDE,
            Verdict::Passed => "passed",
            Verdict::Unknown => labels::UNCLEAR,
        };
        match told
            .iter_mut()
            .find(|(_, other, known)| *known == check && *other == verdict)
        {
            Some((names, ..)) => {
                names.push_str(", ");
                names.push_str(&name.to_lowercase());
            }
            None => told.push((name.to_owned(), verdict, check)),
        }
    }
    for (number, (names, verdict, check)) in told.into_iter().enumerate() {
        let stale = if check.is_stale { labels::STALE } else { "" };
        let is_shown = facts
            .errors
            .iter()
            .any(|error| !error.is_past && error.command == check.command);
        let command = if is_shown {
            String::new()
        } else {
            format!(" ({})", shown_command(&check.command, width))
        };
        page.add(
            (Topic::Status, number, 0),
            format!("{names}: {verdict}{stale}{command}"),
        );
    }
}

/// The newest decisions of the user, at most so many.
pub(super) fn add_decisions(page: &mut Page, facts: &Facts, most: usize, width: usize) {
    for (number, decision) in facts.decisions.iter().enumerate().rev().take(most) {
        page.add((Topic::Decision, number, 0), decision_line(decision, width));
    }
}

/// What the user said beside no is told as it was said, as prompts are, where there is room.
pub(super) fn lengthen_refusals(page: &mut Page, facts: &Facts) {
    for (number, decision) in facts.decisions.iter().enumerate().rev() {
        let place = (Topic::Decision, number, 0);
        if decision.is_refusal && page.lines.contains_key(&place) {
            page.replace(place, decision_line(decision, usize::MAX / 2));
        }
    }
}

fn decision_line(decision: &Decision, width: usize) -> String {
    let Decision {
        question,
        answer,
        is_refusal,
    } = decision;
    if *is_refusal {
        let call = harmless(question, width);
        return match answer.is_empty() {
            true => format!("{}{call}", labels::REFUSED),
            false => format!("{}{call} → {}", labels::REFUSED, quoted(answer, 2 * width)),
        };
    }
    let each = answers(question, answer);
    let pairs = each.iter().map(|(question, answer)| {
        let width = width / each.len();
        format!("{} → {}", harmless(question, width), harmless(answer, width))
    });
    format!("{}{}", labels::DECIDED, pairs.collect::<Vec<_>>().join(" | "))
}

/// Each question with what was answered to it. Some tools repeat every question in the answer, as `"question"="answer"`;
/// where one does not, all of the questions have all of the answer.
fn answers<'a>(questions: &'a str, answer: &'a str) -> Vec<(&'a str, &'a str)> {
    let mut found = Vec::new();
    let mut rest = answer;
    for question in questions.split(" / ").map(str::trim) {
        let value = rest
            .split_once(question)
            .and_then(|(_, behind)| behind.strip_prefix("\"=\""));
        let Some(value) = value else {
            return vec![(questions, answer)];
        };
        let end = ["\",", "\".", "\" "].iter().filter_map(|sign| value.find(sign)).min();
        let end = end.or_else(|| value.rfind('"')).unwrap_or(value.len());
        found.push((question, &value[..end]));
        rest = &value[end..];
    }
    found
}

pub(super) fn add_goal(page: &mut Page, story: &Story<'_>, width: usize) {
    let words = |turn: &Turn| prompt(story.messages, turn.0.clone());
    // A command such as `/model` sets no goal, nor does a greeting, if anything else was said.
    let is_goal = |words: &String| asks(words);
    let first = story
        .turns
        .iter()
        .position(|turn| words(turn).as_ref().is_some_and(is_goal))
        .or_else(|| story.turns.iter().position(|turn| words(turn).is_some()));
    let newest = |is_it: &dyn Fn(&String) -> bool| {
        story
            .turns
            .iter()
            .rposition(|turn| words(turn).as_ref().is_some_and(is_it))
    };
    let last = newest(&is_goal).or_else(|| newest(&|_| true));
    for (at, (label, turn)) in [(labels::GOAL, first), (labels::LATEST, last.filter(|_| last != first))]
        .into_iter()
        .enumerate()
    {
        if let Some(words) = turn.and_then(|turn| words(&story.turns[turn])) {
            page.add((Topic::Goal, at, 0), format!("{label}{}", quoted(&words, width)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_question_has_its_own_answer() {
        let said = "User has answered: \"Which base?\"=\"sqlite\", \"Port?\"=\"80\". Go on.";
        assert_eq!(
            answers("Which base? / Port?", said),
            [("Which base?", "sqlite"), ("Port?", "80")]
        );
        assert_eq!(answers("Which base?", "sqlite"), [("Which base?", "sqlite")]);
        assert_eq!(answers("a / b", "a"), [("a / b", "a")]);
    }
}
