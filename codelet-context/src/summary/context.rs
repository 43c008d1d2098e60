//! The section *Context*: the goal, what is pinned, how checks stand, what is broken, decided and left to do.

use super::Story;
use super::asks::asks;
use super::earlier::Earlier;
use super::gist::prompt;
use super::page::{Page, Place, Topic};
use super::place::placed_command;
use super::quotation::{harmless, quoted, shown_command};
use crate::failing::{most_telling, other_sides};
use crate::labels;
use crate::outcome::{CheckFact, Decision, Facts, OpenError};
use crate::said::QUESTION_MARKS;
use crate::testrun::CheckKind;
use crate::todo::{self, TodoState};
use crate::turn::Turn;
use crate::verdict::Verdict;
use std::borrow::Cow;
use std::ops::Range;

/// Bytes of a call that the user has said something about, and of a plan that was approved.
const CALL: usize = 60;
/// Bytes of the goal where there is next to no room.
const LEAST_GOAL: usize = 24;
/// Where the number of items stands that are not told of.
const UNLISTED: Place = (Topic::Todo, usize::MAX - 1, 0);
/// Bytes of an item under way where there is next to no room.
const LEAST_ITEM: usize = 12;
/// What the number of those takes that are not told of, at most.
const LEFT: usize = labels::UNLISTED.len() + "200 more\n".len();
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
    let fitting = facts.todo.open().take_while(|(_, item)| {
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
    page.remove(UNLISTED);
    let open = facts.todo.open().count();
    let told = page
        .lines
        .keys()
        .filter(|(topic, number, _)| *topic == Topic::Todo && *number < open);
    let left = open - told.count() + facts.todo.untold();
    if left > 0 {
        page.add(UNLISTED, format!("{}{left} more", labels::UNLISTED));
    }
}

pub(super) fn add_todo(page: &mut Page, facts: &Facts, which: Range<usize>, width: usize) {
    // What is under way goes first; a stable sort keeps the list's own order.
    let mut open: Vec<_> = facts.todo.open().enumerate().collect();
    open.sort_by_key(|(_, (_, item))| item.state != TodoState::Active);
    let is_first = which.start == 0;
    for (number, (id, item)) in open.iter().skip(which.start).take(which.len()) {
        let mark = if item.state == TodoState::Active {
            labels::UNDER_WAY
        } else {
            labels::TO_DO
        };
        let text = todo::named(*id, &item.text);
        let place = (Topic::Todo, *number, 0);
        // What is under way is cut to what fits, before what comes behind it is told of.
        let is_told = page.add(place, format!("{mark}{}", harmless(&text, width)));
        if !is_told && item.state == TodoState::Active {
            let room = page.room.saturating_sub(mark.len() + "…\n".len());
            // That there are others is told, too, where that leaves enough of this one.
            let others = if open.len() > 1 && room >= LEFT + 2 * LEAST_ITEM {
                LEFT
            } else {
                0
            };
            let most = room - others;
            if most < LEAST_ITEM || !page.add(place, format!("{mark}{}", harmless(&text, most))) {
                break;
            }
        }
    }
    let all = facts.todo.all();
    if all > 0 && !is_first {
        let done = facts.todo.done();
        page.add((Topic::Todo, usize::MAX, 0), format!("{}{done} of {all}", labels::DONE));
    }
}

/// The items that found no room before others were told, which may have left some; what is under way as long as it fits now.
pub(super) fn add_left_todo(page: &mut Page, facts: &Facts, width: usize) {
    add_todo(page, facts, 0..12, width);
    add_todo(page, facts, 12..usize::MAX, width);
    for (number, (id, item)) in facts
        .todo
        .open()
        .filter(|(_, item)| item.state == TodoState::Active)
        .enumerate()
    {
        let place = (Topic::Todo, number, 0);
        if page.lines.contains_key(&place) {
            let text = harmless(&todo::named(id, &item.text), width);
            page.replace(place, format!("{}{text}", labels::UNDER_WAY));
        }
    }
    count_todo(page, facts);
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
        let command = placed_command(facts, &error.command, width);
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
        let line = format!("{name}{}", placed_command(facts, &error.command, width));
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
        let line = format!("{}{}", labels::UNDER, harmless(lines[at].as_ref(), width));
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
        let is_beside = || facts.errors.iter().any(|error| error.stands(kind)) || fails(kind);
        let verdict = match check.verdict {
            Verdict::Failed => "FAILED",
            Verdict::Passed if is_beside() => labels::PASSED_BESIDE,
            Verdict::Unknown if is_beside() => labels::UNCLEAR_BESIDE,
            Verdict::Passed => labels::PASSED,
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
        // Beside one that fails, which of both is named.
        let which = match verdict {
            labels::PASSED_BESIDE => labels::WHICH_PASSED,
            labels::UNCLEAR_BESIDE => labels::WHICH_UNCLEAR,
            _ => "",
        };
        let command = if is_shown {
            String::new()
        } else {
            format!(" ({which}{})", placed_command(facts, &check.command, width))
        };
        let (place, said) = ((Topic::Status, number, 0), format!("{names}: {verdict}{stale}"));
        // How it stands says more than what was run.
        let _ = page.add(place, format!("{said}{command}")) || page.add(place, said);
    }
}

/// The newest decisions of the user, at most so many.
pub(super) fn add_decisions(page: &mut Page, facts: &Facts, most: usize, width: usize) {
    for (number, decision) in facts.decisions.iter().enumerate().rev().take(most) {
        if decision.is_refusal {
            let line = refusal_line(&without_text_told_later(facts, number), width);
            page.add((Topic::Decision, number, 0), line);
            continue;
        }
        for (at, line) in answer_lines(decision, width).enumerate() {
            page.add((Topic::Decision, number, at), line);
        }
    }
}

/// A refusal, with the beginning of what was refused where a newer one tells the rest.
fn without_text_told_later(facts: &Facts, number: usize) -> Cow<'_, Decision> {
    /// Bytes of that beginning.
    const HEAD: usize = 40;
    let decision = &facts.decisions[number];
    let mut newer = facts.decisions[number + 1..].iter();
    if !newer.any(|later| is_refused_again(decision, later)) {
        return Cow::Borrowed(decision);
    }
    let head = &decision.question[..decision.question.floor_char_boundary(HEAD)];
    let close = if head.starts_with('`') { "`" } else { "" };
    Cow::Owned(Decision {
        question: format!("{}…{close}", head.trim_end()),
        ..decision.clone()
    })
}

/// What the user said beside no is told as it was said, as prompts are, where there is room.
pub(super) fn lengthen_refusals(page: &mut Page, facts: &Facts) {
    for (number, decision) in facts.decisions.iter().enumerate().rev() {
        let place = (Topic::Decision, number, 0);
        if decision.is_refusal && page.lines.contains_key(&place) {
            let decision = without_text_told_later(facts, number);
            page.replace(place, refusal_line(&decision, usize::MAX / 2));
        }
    }
}

/// A call that the user has not let be made, with what the user said: those words are what matters of it.
fn refusal_line(decision: &Decision, width: usize) -> String {
    let Decision { question, answer, .. } = decision;
    match answer.is_empty() {
        // Without a word, what was not to be run says all that is known.
        true if question.starts_with('`') => format!("{}{}", labels::REFUSED, harmless(question, width)),
        true => format!("{}{}", labels::REFUSED, in_short(question)),
        false => format!(
            "{}{} → {}",
            labels::REFUSED,
            in_short(question),
            quoted(answer, 2 * width)
        ),
    }
}

/// A call, or a plan, in a few words. What differs in commands, and in paths, stands at their ends.
fn in_short(call: &str) -> String {
    if call.len() <= CALL {
        return harmless(call, CALL);
    }
    if let Some(command) = call.strip_prefix('`') {
        return shown_command(command.strip_suffix('`').unwrap_or(command), CALL);
    }
    let (tool, about) = call.split_once(' ').unwrap_or(("", call));
    let is_path = about.contains(['/', '\\']) && !about.contains(char::is_whitespace);
    if !is_path || tool.len() > CALL / 2 {
        return harmless(call, CALL);
    }
    let end = &about[about.ceil_char_boundary(about.len() - (CALL - tool.len()))..];
    let end = &end[end.find(['/', '\\']).unwrap_or(0)..];
    harmless(&format!("{tool} …{end}"), call.len())
}

/// What was decided, and what the user has answered with a question or not at all, which decides nothing.
fn answer_lines(decision: &Decision, width: usize) -> impl Iterator<Item = String> {
    let is_approval = decision.is_approval();
    let each = match is_approval {
        true => vec![(&*decision.question, &*decision.answer)],
        false => answers(&decision.question, &decision.answer),
    };
    let width = width / each.len();
    let is_open = |answer: &str| !is_approval && !decision.offers_questions && is_question(answer);
    let asked_back = |answer: &str| answer.trim().is_empty() || is_open(answer);
    let (asked, decided): (Vec<_>, Vec<_>) = each.into_iter().partition(|(_, answer)| asked_back(answer));
    let line = move |label: &str, pairs: Vec<(&str, &str)>| {
        let pairs = pairs.into_iter().map(|(question, answer)| {
            let answer = if answer.trim().is_empty() {
                labels::NO_ANSWER
            } else {
                answer
            };
            let question = harmless(question, if is_approval { width.min(CALL) } else { width });
            format!("{question} → {}", harmless(answer, width))
        });
        let pairs = pairs.collect::<Vec<_>>().join(" | ");
        (!pairs.is_empty()).then(|| format!("{label}{pairs}"))
    };
    [line(labels::DECIDED, decided), line(labels::ASKED, asked)]
        .into_iter()
        .flatten()
}

/// Whether an answer is a question; whoever is in a hurry writes one without its sign.
fn is_question(answer: &str) -> bool {
    const WHAT: [&str; 7] = ["how", "what", "when", "where", "which", "who", "why"];
    const VERBS: [&str; 14] = [
        "are", "can", "could", "did", "do", "does", "has", "have", "is", "should", "was", "were", "will", "would",
    ];
    /// What is said in no answer but such a one.
    const WHY: [&str; 6] = ["warum", "wieso", "pourquoi", "perché", "почему", "为什么"];
    let said = answer.trim_end_matches(|c: char| c.is_whitespace() || "\"'”’»)!.".contains(c));
    let is_word =
        |word: Option<&str>, all: &[&str]| word.is_some_and(|word| all.iter().any(|one| word.to_lowercase() == *one));
    let mut words = said.split_whitespace();
    let first = words.next();
    said.ends_with(QUESTION_MARKS)
        || is_word(first, &WHY)
        || is_word(first, &WHAT) && is_word(words.next(), &VERBS) && !said.contains(['.', ','])
}

/// Whether a plan, or another long text, was refused again that begins alike: it is told once.
fn is_refused_again(one: &Decision, later: &Decision) -> bool {
    /// Bytes of a text that is worth it, and in which two of them are alike.
    const LONG: usize = 120;
    const ALIKE: usize = 60;
    let (one, other) = (&one.question, &later.question);
    let is_text = |question: &str| question.len() >= LONG && !question.starts_with('`');
    let alike = one.bytes().zip(other.bytes()).take_while(|(a, b)| a == b).count();
    later.is_refusal && one.len() > ALIKE && (one == other || is_text(one) && is_text(other) && alike >= ALIKE)
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

/// What the session is for, and what was asked last. A summary of before says what both were up to it, as what stands before
/// it may have lost its origin on the way.
pub(super) fn add_goal(page: &mut Page, story: &Story<'_>, earlier: &Earlier<'_>, width: usize) {
    let words = |turn: &Turn| prompt(story.messages, turn.0.clone());
    let all = || story.turns.iter().filter_map(words);
    // A command such as `/model` sets no goal, nor does a greeting, if anything else was said.
    let is_goal = |words: &String| asks(words);
    // What was quoted there in a few words may still stand in full.
    let of_before = |said: &str| {
        let is_it = |words: &String| {
            let whole = quoted(words, usize::MAX / 2);
            let whole = whole.trim_matches('"');
            said.strip_suffix('…')
                .map_or(whole == said, |head| whole.starts_with(head))
        };
        all().find(is_it).unwrap_or_else(|| said.to_owned())
    };
    let first = || all().find(is_goal).or_else(|| all().next());
    let goal = earlier.goal.map(of_before).or_else(first);
    let newer = story.turns.iter().rev().filter(|turn| turn.0.start >= earlier.since);
    let asked = newer.filter_map(words).find(is_goal);
    let latest = asked.or_else(|| match earlier.goal {
        Some(_) => earlier.latest.map(of_before),
        None => all().rfind(is_goal).or_else(|| all().next_back()),
    });
    let lines = [(labels::GOAL, goal), (labels::LATEST, latest)];
    let lines = lines.map(|(label, words)| words.map(|words| (label, words)));
    let is_one = matches!(&lines, [Some((_, goal)), Some((_, latest))] if quoted(goal, width) == quoted(latest, width));
    for (at, (label, words)) in lines.into_iter().flatten().enumerate().take(if is_one { 1 } else { 2 }) {
        let mut add = |width| page.add((Topic::Goal, at, 0), format!("{label}{}", quoted(&words, width)));
        let _ = add(width) || add(LEAST_GOAL);
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

    fn answered(question: &str, answer: &str) -> Decision {
        Decision {
            question: question.to_owned(),
            answer: answer.to_owned(),
            is_refusal: false,
            offers_questions: false,
        }
    }

    fn lines(decision: &Decision) -> Vec<String> {
        answer_lines(decision, 200).collect()
    }

    #[test]
    fn an_answer_that_is_a_question_decides_nothing() {
        for (answer, label) in [
            ("sqlite", "Decided: "),
            ("what are the states?", "Asked: "),
            ("¿y en Windows?", "Asked: "),
            ("有哪些状态？", "Asked: "),
            ("is it \"fast\" (or not?)", "Asked: "),
            ("use `a?b:c`", "Decided: "),
            ("Why not? Do it", "Decided: "),
        ] {
            assert_eq!(
                lines(&answered("Which?", answer)),
                [format!("{label}Which? → {answer}")]
            );
        }
        let both = "User has answered: \"Which base?\"=\"sqlite\", \"Port?\"=\"is 80 free?\". Go on.";
        assert_eq!(
            lines(&answered("Which base? / Port?", both)),
            ["Decided: Which base? → sqlite", "Asked: Port? → is 80 free?"]
        );
        let chosen = Decision {
            offers_questions: true,
            ..answered("Which heading?", "What is new?")
        };
        assert_eq!(lines(&chosen), ["Decided: Which heading? → What is new?"]);
    }

    #[test]
    fn of_a_call_that_the_user_said_something_about_little_is_told_and_of_a_plan_that_was_approved() {
        let plan = format!(
            "ExitPlanMode # Plan: keep unknown hooks {}",
            "and what they hold ".repeat(9)
        );
        let words = "Let's fetch a real hook type from their docs and use that as the test case, rest is fine";
        let command = format!(
            "`cd /w && npm run docs -- {} --port 80`",
            "--every-option ".repeat(9).trim()
        );
        for (call, begins, ends) in [
            (plan.as_str(), "ExitPlanMode # Plan: keep", "…"),
            (&command, "`npm run docs", "--port 80`"),
            (
                "Edit /Users/somebody/workspace/of/the/company/cli/strategy/manual_commit_git.go",
                "Edit …/",
                "/strategy/manual_commit_git.go",
            ),
            ("Edit src/a.rs", "Edit src/a.rs", "a.rs"),
        ] {
            let line = refusal_line(
                &Decision {
                    is_refusal: true,
                    ..answered(call, words)
                },
                60,
            );
            let told = line
                .strip_prefix("Refused: ")
                .and_then(|line| line.strip_suffix(&format!(" → \"{words}\"")));
            let told = told.unwrap_or_else(|| panic!("{line}"));
            assert!(
                told.starts_with(begins) && told.ends_with(ends) && told.len() <= 70,
                "{told}"
            );
        }
        for answer in ["approved", "approved, and: is it tested?"] {
            let line = lines(&answered(&plan, answer)).join("|");
            assert!(
                line.starts_with("Decided: ExitPlanMode") && line.ends_with(&format!("… → {answer}")),
                "{line}"
            );
            assert!(line.len() < 130, "{line}");
        }
    }

    #[test]
    fn a_plan_that_was_refused_again_is_told_once_with_all_that_the_user_said() {
        let refused = |call: &str, answer: &str| Decision {
            is_refusal: true,
            ..answered(call, answer)
        };
        let plan = |end: &str| {
            format!(
                "ExitPlanMode # The state machine of the session{} {end}",
                " and what it does".repeat(6)
            )
        };
        let told = |decisions: Vec<Decision>| {
            let facts = Facts {
                decisions,
                ..Facts::default()
            };
            let all = 0..facts.decisions.len();
            all.map(|number| refusal_line(&without_text_told_later(&facts, number), 500))
                .collect::<Vec<_>>()
        };
        let again = told(vec![
            refused(&plan("one"), "no"),
            refused(&plan("two"), "shorter"),
            refused("`rm x`", ""),
        ]);
        assert_eq!(again[0], "Refused: ExitPlanMode # The state machine of the… → \"no\"");
        assert_eq!(
            again[1],
            "Refused: ExitPlanMode # The state machine of the session and what it… → \"shorter\""
        );
        // What differs in commands, and in paths, stands at their ends.
        let long = "cd /home/somebody/projects/of/a/company/with/a/long/name/and/more/of/it/in/the/folder/of/the/application && rm";
        let commands = told(vec![
            refused(&format!("`{long} a`"), ""),
            refused(&format!("`{long} b`"), ""),
        ]);
        assert!(commands[0].ends_with("rm a`"), "{commands:?}");
        let edits = told(vec![refused("Edit src/a.rs", "no"), refused("Edit src/a.rs", "no!")]);
        assert_eq!(edits[0], "Refused: Edit src/a.rs → \"no\"");
    }
}
