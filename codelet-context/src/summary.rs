//! The template summary: what a model needs to know to go on with a conversation whose older part is no longer shown.
//!
//! It is told from facts, never from an earlier summary, so it says the same however often a conversation is compacted.
//! What does not fit is left out by need: what the user pinned, what is left to do and what is broken come first, what was
//! achieved long ago comes last.
//!
//! Words of the conversation are quoted on one line each and made harmless (`quotation.rs`): every line of the summary
//! begins with words of its own, so no quoted text can pose as a heading, and no quoted text holds a tag of a harness, a
//! marker of something cut, or a character that is not seen.

mod asks;
mod context;
mod deeds;
mod earlier;
mod gist;
mod outcomes;
mod page;
mod place;
mod quotation;

use crate::anchor::Anchor;
use crate::ledger::Ledger;
use crate::message::Message;
use crate::outcome::Facts;
use crate::turn::Turn;
use context::{
    TODO_FRAME, add_decisions, add_errors, add_goal, add_left_todo, add_past, add_pins, add_status, add_todo,
    count_todo, lengthen_pins, lengthen_refusals, urgent,
};
use earlier::Earlier;
pub(crate) use outcomes::shortest_bytes as outcome_bytes;
use outcomes::{NOT_TOLD_BYTES, add_outcomes, lengthen_outcomes, shortest_bytes};
use page::Page;
use std::sync::Arc;

/// Bytes of a prompt that are quoted; prompts stand in the view themselves.
const PROMPT: usize = 100;
/// Bytes of a command, and of an item of the list.
const COMMAND: usize = 160;
const ITEM: usize = 200;

/// What the summary tells of.
pub struct Story<'a> {
    /// The conversation.
    pub messages: &'a [Arc<Message>],
    /// Those of its messages that hold summaries of earlier compactions, ascending.
    pub summarising: &'a [usize],
    /// Its turns.
    pub turns: &'a [Turn],
    /// Messages before this one are no longer shown as they were (their prompts are).
    pub until: usize,
    /// What its calls have done.
    pub ledger: &'a Ledger,
    /// What has come of the conversation.
    pub facts: &'a Facts,
    /// What was finished in it.
    pub anchors: &'a [Anchor],
    /// Texts that the user pinned.
    pub pins: &'a [&'a str],
}

/// The sections *Context* and *Key outcomes*, at most `bytes` bytes long, without a line break at the end; less is fine,
/// and empty where there is nothing to tell. The same story and bound give the same text.
pub fn tell(story: &Story<'_>, bytes: usize) -> String {
    let mut page = Page::new(bytes);
    let width = |most: usize| most.min(bytes / 5).max(40);
    // However little room there is: that turns are not told of is told.
    let reserve = if bytes >= 8 * NOT_TOLD_BYTES {
        // What turns came to is told of in half of the room before what is broken is told in full.
        NOT_TOLD_BYTES + shortest_bytes(story, bytes / 2 - NOT_TOLD_BYTES)
    } else {
        0
    };
    let mut earlier = Earlier::of(story.messages, story.summarising, story.facts);
    let facts = &*earlier.unsettled(story.facts);
    // However little room there is, what the user wants and how the last checks stand go first, and then what is broken.
    add_pins(&mut page, story.pins, bytes);
    earlier.add_pins(&mut page);
    add_goal(&mut page, story, &earlier, width(PROMPT));
    add_status(&mut page, facts, |kind| earlier.fails(kind), width(COMMAND));
    earlier.add_status(&mut page, true);
    add_errors(&mut page, facts, true, 1, 0, width(COMMAND));
    earlier.add_errors(&mut page, true, 1, 0, width(COMMAND));
    let reserve = reserve.min(page.room);
    page.room -= reserve;
    let first = urgent(facts, bytes, width(ITEM));
    add_todo(&mut page, facts, 0..first, width(ITEM));
    count_todo(&mut page, facts);
    add_errors(&mut page, facts, true, 1, 2, width(COMMAND));
    earlier.add_errors(&mut page, true, 1, 2, width(COMMAND));
    add_decisions(&mut page, facts, 2, width(ITEM));
    add_todo(&mut page, facts, 3..12, width(ITEM));
    earlier.add_status(&mut page, false);
    // What is broken now is told in full before what was broken earlier is told of at all.
    let lines = (bytes / 100).clamp(2, 12);
    add_errors(&mut page, facts, true, 1, lines, width(COMMAND));
    let lines = (bytes / 400).clamp(2, 6);
    add_errors(&mut page, facts, true, 3, lines, width(COMMAND));
    earlier.add_errors(&mut page, true, 3, lines, width(COMMAND));
    add_decisions(&mut page, facts, 6, width(ITEM));
    earlier.add_decisions(&mut page);
    // Of commands that are no checks only the newest is told of before the outcomes: many are given up.
    add_errors(&mut page, facts, false, 1, 1, width(COMMAND));
    earlier.add_errors(&mut page, false, 1, 1, width(COMMAND));
    // Of long lists only the beginning goes before the outcomes; the rest still goes before their longer form.
    page.room += reserve;
    let longer = add_outcomes(&mut page, story, &mut earlier);
    add_decisions(&mut page, facts, usize::MAX, width(2 * ITEM));
    for (checks, most, lines) in [(true, usize::MAX, usize::MAX), (false, 3, 2)] {
        add_errors(&mut page, facts, checks, most, lines, width(COMMAND));
        earlier.add_errors(&mut page, checks, most, lines, width(COMMAND));
    }
    add_past(&mut page, facts, width(COMMAND));
    earlier.add_past(&mut page);
    add_left_todo(&mut page, facts, width(ITEM));
    lengthen_refusals(&mut page, facts);
    lengthen_outcomes(&mut page, longer);
    lengthen_pins(&mut page, story.pins);
    page.write()
}

/// What goes with a summary that a model has written, which was told none of it or may have left it out: what the user
/// pinned, what is left to do, and how the checks stand. At most `bytes` bytes.
pub(crate) fn tell_what_stands(pins: &[&str], facts: &Facts, bytes: usize) -> String {
    let mut page = Page::new(bytes);
    add_pins(&mut page, pins, bytes);
    count_todo(&mut page, facts);
    add_todo(&mut page, facts, 0..usize::MAX, ITEM.min(bytes / 5).max(40));
    count_todo(&mut page, facts);
    add_errors(&mut page, facts, true, 3, 2, COMMAND);
    add_status(&mut page, facts, |_| false, COMMAND);
    lengthen_pins(&mut page, pins);
    page.write()
}

/// What the open items of the list take in a summary, in bytes, and what the user decided, of which no more than the newest
/// counts.
pub(crate) fn standing_bytes(facts: &Facts) -> usize {
    /// Bytes of decisions.
    const DECIDED: usize = 1_000;
    let open = facts.todo.open();
    let open: usize = open.map(|(_, item)| TODO_FRAME + item.text.len().min(ITEM)).sum();
    let decided = facts.decisions.iter().rev();
    let decided =
        decided.map(|decision| TODO_FRAME + decision.question.len().min(ITEM) + decision.answer.len().min(ITEM));
    open + decided.sum::<usize>().min(DECIDED)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::anchor;
    use crate::message::{Action, ActionKind, ChangeKind, Parameters, Part, Role, ToolCall, ToolResult};
    use crate::refusal::{Refusal, words_in};
    use crate::turn::turns;
    use proptest::prelude::*;
    use serde_json::json;

    /// One line a message: `user: words` · `edit FILE…` · `undo FILE` · `delete FILE` · `run COMMAND => STATUS OUTPUT`, where STATUS is `ok` or `bad` ·
    /// `todo a|>b|xc` · `ask QUESTION => ANSWER` · anything else the model says. `⏎` is a line break.
    fn conversation(lines: &str) -> Vec<Arc<Message>> {
        let mut messages = Vec::new();
        for (number, line) in lines.lines().map(str::trim).enumerate() {
            let id = format!("c{number}");
            let line = line.replace('⏎', "\n");
            let mut parameters = json!({});
            let (action, success, output) = if let Some(words) = line.strip_prefix("user: ") {
                messages.push(Arc::new(Message::user(words)));
                continue;
            } else if let Some(files) = line.strip_prefix("edit ") {
                (Action::on(ActionKind::Change, files.split(' ')), true, "done")
            } else if let Some(file) = line.strip_prefix("undo ") {
                let undo = Action::on(ActionKind::Change, [file]).changing(ChangeKind::Undoes);
                (undo, true, "done")
            } else if let Some(file) = line.strip_prefix("delete ") {
                let delete = Action::on(ActionKind::Change, [file]).changing(ChangeKind::Removes);
                (delete, true, "done")
            } else if let Some((command, answer)) = line.strip_prefix("run ").and_then(|rest| rest.split_once(" => ")) {
                let (status, output) = answer.split_once(' ').unwrap_or((answer, ""));
                (Action::command(command), status == "ok", output)
            } else if let Some(items) = line.strip_prefix("todo ") {
                let items = items
                    .split('|')
                    .map(|item| match (item.strip_prefix('>'), item.strip_prefix('x')) {
                        (Some(item), _) => json!({"content": item, "status": "in_progress"}),
                        (_, Some(item)) => json!({"content": item, "status": "completed"}),
                        _ => json!({"content": item}),
                    });
                parameters = json!({"todos": items.collect::<Vec<_>>()});
                (Action::on(ActionKind::Todo, []), true, "ok")
            } else if let Some((question, answer)) = line.strip_prefix("ask ").and_then(|rest| rest.split_once(" => "))
            {
                parameters = json!({"question": question});
                (Action::on(ActionKind::Ask, []), true, answer)
            } else {
                messages.push(Arc::new(Message::assistant(line)));
                continue;
            };
            let mut call = ToolCall::new(id.as_str(), "tool", Default::default()).doing(action);
            call.parameters = Parameters::new(parameters.as_object().unwrap().clone());
            messages.push(Arc::new(Message::new(Role::Assistant, vec![Part::ToolCall(call)])));
            let mut result = ToolResult::new(id.as_str(), Some(success), output);
            result.refusal = words_in(output).map(|words| Refusal::User(words.into()));
            messages.push(Arc::new(Message::results(vec![result])));
        }
        messages
    }

    fn told(lines: &str, until: usize, pins: &[&str], long: u64, bytes: usize) -> String {
        let messages = conversation(lines);
        let turns = turns(&messages);
        let story = Story {
            messages: &messages,
            summarising: &(0..messages.len()).collect::<Vec<_>>(),
            turns: &turns,
            until: until.min(messages.len()),
            ledger: &messages.iter().cloned().collect(),
            facts: &Facts::gather(&messages),
            anchors: &anchor::find(&messages, &turns, &[], long),
            pins,
        };
        tell(&story, bytes)
    }

    fn check(lines: &str, expected: &str) {
        let expected: Vec<&str> = expected
            .lines()
            .map(|line| line.strip_prefix("            ").unwrap_or(line))
            .collect();
        assert_eq!(
            told(lines, usize::MAX, &[], anchor::LONG_TURN, 10_000),
            expected.join("\n"),
            "{lines}"
        );
    }

    const WORK: &str = "user: Fix this:⏎the parser loses comments
        run cargo test => bad test a ... FAILED
        edit src/parser.rs src/lexer.rs
        run cargo test => ok
        run git commit -am 'Comments survive' => ok
        The parser keeps comments now, and all tests pass.
        user: now the printer
        ask Which width? => 80
        todo xwrite it|>test it|document it
        edit src/printer.rs
        run cargo test -p printer => bad test wide ... FAILED⏎left: 1
        run ./deploy.sh => bad no such host";

    #[test]
    fn the_whole_story_is_told_where_there_is_room() {
        check(
            WORK,
            "## Context
            Goal: \"Fix this: the parser loses comments\"
            Latest prompt: \"now the printer\"
            Tests: FAILED
            Failing: `cargo test -p printer`
              | test wide ... FAILED
              | left: 1
            Decided: Which width? → 80
            To do, under way: test it
            To do: document it
            Done of the to-do list: 1 of 3
            Failed command: `./deploy.sh`
              | no such host
            ## Key outcomes
            - \"Fix this: the parser loses comments\": edited parser.rs, lexer.rs; tests passed; said \"The parser keeps comments now, and all tests pass.\" [error resolution]
              - committed \"Comments survive\"
            - \"now the printer\": edited printer.rs; tests failed",
        );
    }

    #[test]
    fn what_is_under_way_is_told_before_what_is_not_begun_however_little_room_there_is() {
        let lines = "user: the totals are wrong by a cent
            todo xfind the call|run it|>use the minor units of the currency in line 77 of the quote
            run cargo test -p printer => bad test wide ... FAILED⏎left: 1⏎right: 2";
        for bytes in 0..600 {
            let text = told(lines, usize::MAX, &[], anchor::LONG_TURN, bytes);
            assert!(text.len() <= bytes, "{bytes}: {text}");
            let is_told = text.contains("To do, under way: use the mi");
            assert!(is_told || !text.contains("To do: "), "{bytes}: {text}");
            // Room that the others have left is not wasted.
            assert!(is_told || bytes - text.len() < 70, "{bytes}: {text}");
        }
    }

    #[test]
    fn checks_of_the_same_words_in_two_folders_are_told_with_them_and_those_of_one_folder_without() {
        let two = told(
            "user: fix it
            run cd /w/packages/api && npm test => bad Tests: 1 failed, 2 passed
            run cd /w/packages/web && npm test => ok Tests: 3 passed",
            usize::MAX,
            &[],
            anchor::LONG_TURN,
            10_000,
        );
        for line in [
            "(passed: `npm test` in packages/web)\n",
            "\nFailing: `npm test` in packages/api\n",
        ] {
            assert!(two.contains(line), "{line}: {two}");
        }
        let one = told(
            "user: fix it
            run cd /w && ls => ok a
            run cd /w && npm test => bad Tests: 1 failed, 2 passed
            run npm run build => ok",
            usize::MAX,
            &[],
            anchor::LONG_TURN,
            10_000,
        );
        assert!(
            one.contains("\nFailing: `npm test`\n") && !one.contains(" in "),
            "{one}"
        );
    }

    #[test]
    fn a_commit_is_told_as_it_is_now_whenever_it_was_changed() {
        let lines = "user: commit it\nedit a.rs\nrun git commit -am one => ok\nuser: shorter\nrun git commit --amend -m two => ok\nuser: and b\nedit b.rs\nrun git commit -am three => ok\nuser: not that\nrun git reset --soft HEAD~1 => ok";
        let text = told(lines, 14, &[], 0, 2_000);
        let commits: Vec<&str> = text.lines().filter(|line| line.contains("committed")).collect();
        assert_eq!(commits, ["  - committed \"two\""], "{text}");
    }

    #[test]
    fn what_was_put_back_or_taken_away_is_not_told_as_edited() {
        let outcome = |work: &str| {
            let lines = format!("user: try it\n{work}\nThat is how it stands.\nuser: go on");
            let told = told(&lines, usize::MAX, &[], anchor::LONG_TURN, 10_000);
            let line = told.lines().find_map(|line| line.strip_prefix("- \"try it\": "));
            line.and_then(|line| line.strip_suffix("said \"That is how it stands.\""))
                .map(str::to_owned)
        };
        for (work, expected) in [
            ("edit a.py\nrun git checkout -- a.py => ok", "reverted a.py; "),
            (
                "edit a.py b.py\nrun git restore a.py => ok",
                "edited b.py; reverted a.py; ",
            ),
            (
                "edit a.py\nrun git stash => ok\nrun git stash pop => ok",
                "edited a.py; ",
            ),
            ("edit a.py\nrun rm a.py => ok", "deleted a.py; "),
            ("edit a.py\nrun rm a.py => bad rm: no", "edited a.py; "),
            ("edit a.py\nrun git mv a.py b.py => ok", "edited b.py; deleted a.py; "),
            ("edit a.py\nrun git checkout a.py => ok\nedit a.py", "edited a.py; "),
            ("run sed -i s/a/b/ a.py => ok", "edited a.py; "),
            (
                "run echo a > /tmp/a.log => ok\nrun echo b > b.py => ok",
                "edited b.py, a.log; ",
            ),
            ("run cd $W && echo a > a.py => ok\nedit b.py", "edited b.py; "),
            // What was done to it may have been before all that is known.
            ("run git checkout -- a.py => ok", "reverted a.py; "),
            ("run git restore src/a.py src/b.py => ok", "reverted a.py, b.py; "),
            (
                "run git checkout HEAD -- a.py => bad error: pathspec",
                "ran 1 command; ",
            ),
            ("run git checkout fix/a.py => ok", "ran 1 command; "),
            ("edit a.py\nundo a.py", "reverted a.py; "),
            ("edit a.py b.py\nundo a.py", "edited b.py; reverted a.py; "),
            ("edit a.py\nedit a.py\nundo a.py", "edited a.py; "),
            ("edit a.py\nundo a.py\nedit a.py", "edited a.py; "),
            // Nobody knows what that has done.
            ("undo a.py", "edited a.py; "),
            ("delete a.py\nedit b.py", "edited b.py; deleted a.py; "),
            ("run git checkout -- src => ok", "ran 1 command; "),
            (
                "edit a.py\nrun git commit -am x => ok\nrun git checkout -- a.py => ok",
                "edited a.py; ",
            ),
        ] {
            assert_eq!(outcome(work).as_deref(), Some(expected), "{work}");
        }
        let later = told(
            "user: one\nedit a.py\nuser: two\nrun git checkout -- a.py => ok\nuser: go on",
            usize::MAX,
            &[],
            anchor::LONG_TURN,
            10_000,
        );
        assert!(
            later.contains("- \"one\": edited a.py\n- \"two\": reverted a.py\n"),
            "{later}"
        );
        let undone = told(
            "user: one\nedit a.py\nuser: two\nedit a.py\nundo a.py\nuser: go on",
            usize::MAX,
            &[],
            anchor::LONG_TURN,
            10_000,
        );
        assert!(
            undone.contains("- \"one\": edited a.py\n- \"two\": reverted a.py\n"),
            "{undone}"
        );
    }

    #[test]
    fn what_the_user_said_beside_no_is_told_in_any_room() {
        let filler: String = (0..30).map(|n| format!("run ./try{n} => bad no such host\n")).collect();
        let lines = format!(
            "user: make the docs\nrun npm run docs => bad Refused: the user said no, and: use make docs-html, never npm here.\n\
             edit docs/p1.md\n{filler}"
        );
        let expected = "Refused: `npm run docs` → \"use make docs-html, never npm here\"";
        for bytes in [200, 600, 3_000] {
            let told = told(&lines, usize::MAX, &[], anchor::LONG_TURN, bytes);
            assert!(told.lines().any(|line| line == expected), "{told}");
        }
    }

    #[test]
    fn no_quotation_can_begin_like_a_line_of_the_summary() {
        let pins = ["never touch the API"];
        let checked = format!("{WORK}\nrun make && cargo clippy => bad error: 3\nrun cargo build => ok x\nuser: go on");
        let told = told(&checked, usize::MAX, &pins, anchor::LONG_TURN, 10_000);
        assert!(told.contains("\nBuild: ") && told.contains("\nLint: "), "{told}");
        for line in told.lines().filter(|line| !line.starts_with(' ')) {
            assert!(crate::posing::poses(line.as_bytes()), "{line}");
        }
    }

    #[test]
    fn the_goal_is_what_the_user_said_and_not_what_a_harness_put_before_it() {
        let goal = |prompt: &str| {
            let told = told(&format!("user: {prompt}"), usize::MAX, &[], anchor::LONG_TURN, 10_000);
            told.lines().nth(1).map(str::to_owned)
        };
        let expected = Some(String::from("Goal: \"mend the parser\""));
        assert_eq!(
            goal("<system-reminder>⏎# Be brief⏎</system-reminder>⏎mend the parser"),
            expected
        );
        assert_eq!(goal("<note>a</note><date>b</date>mend the parser"), expected);
        assert_eq!(goal("<task>⏎mend the parser⏎</task>"), expected);
        assert_eq!(goal("<task>⏎mend the parser"), expected);
        assert_eq!(
            goal("/model\n        The model is set.\n        user: mend the parser"),
            expected
        );
        assert_eq!(goal("/model"), Some(String::from("Goal: \"/model\"")));
    }

    #[test]
    fn in_little_room_what_is_needed_most_is_told() {
        let text = told(
            WORK,
            usize::MAX,
            &["never touch the API", "tabs"],
            anchor::LONG_TURN,
            300,
        );
        assert!(text.len() <= 300);
        for line in [
            "Pinned: never touch the API",
            "Pinned: tabs",
            "To do, under way: test it",
            "Failing: `cargo test -p printer`",
            "Tests: FAILED",
        ] {
            assert!(text.lines().any(|other| other == line), "{line} in\n{text}");
        }
        assert!(!text.contains("## Key outcomes"), "{text}");
        assert_eq!(told(WORK, usize::MAX, &[], 0, 20), "");
    }

    #[test]
    fn what_the_user_wants_and_the_last_checks_give_way_last() {
        let turns: String = (0..9)
            .map(|n| format!("user: tidy part {n}\nedit f{n}.rs\nIt is tidy.\n"))
            .collect();
        let work = format!("user: Keep the comments\n{turns}run cargo test => ok\nrun ./deploy.sh => bad no such host");
        for bytes in [90, 160, 400, 1_200] {
            let text = told(&work, usize::MAX, &[], anchor::LONG_TURN, bytes);
            for beginning in [
                "Goal: \"Keep the comments\"",
                "Latest prompt: \"tidy part 8\"",
                "Tests: passed",
            ] {
                assert!(
                    text.lines().any(|line| line.starts_with(beginning)),
                    "{bytes}: {beginning} in\n{text}"
                );
            }
        }
    }

    #[test]
    fn every_bound_is_kept() {
        let turns: Vec<String> = (0..12)
            .map(|n| format!("user: do thing number {n}\nedit f{n}.rs\nIt is done, and nothing else was touched."))
            .collect();
        for lines in [WORK, &turns.join("\n")] {
            for bytes in 0..1_600 {
                let text = told(
                    lines,
                    usize::MAX,
                    &["tabs, and never a blank"],
                    anchor::LONG_TURN,
                    bytes,
                );
                assert!(text.len() <= bytes, "{} of {bytes}:\n{text}", text.len());
            }
        }
    }

    #[test]
    fn only_summarised_turns_have_an_outcome_and_the_newest_go_first() {
        let turns: Vec<String> = (0..50)
            .map(|n| format!("user: do thing number {n}\nedit f{n}.rs"))
            .collect();
        let text = told(&turns.join("\n"), 40 * 3, &[], anchor::LONG_TURN, 600);
        assert!(
            text.contains("- \"do thing number 39\": edited f39.rs") && !text.contains("number 40"),
            "{text}"
        );
        let outcomes: Vec<&str> = text.lines().filter(|line| line.starts_with("- \"")).collect();
        assert!(
            text.contains(&format!("- (earlier turns not told of: {})", 40 - outcomes.len())),
            "{text}"
        );
        assert!(outcomes.is_sorted());
        assert!(text.contains("Latest prompt: \"do thing number 49\""));
    }

    #[test]
    fn turns_that_nothing_is_told_of_are_counted_where_the_rest_takes_all_room() {
        let mut lines: String = (0..9)
            .map(|n| format!("user: do thing number {n}\nedit f{n}.rs\n"))
            .collect();
        for n in 0..9 {
            lines.push_str(&format!(
                "run ./try{n} => bad no\nask Which of {n}? => the {n}th of them all\n"
            ));
        }
        let pins = ["never touch the interface", "tabs and no blanks", "ask before you push"];
        let text = told(&lines, 9 * 3, &pins, anchor::LONG_TURN, 8 * NOT_TOLD_BYTES);
        let outcomes = text.lines().filter(|line| line.starts_with("- \"")).count();
        assert!(
            text.contains(&format!("- (earlier turns not told of: {})", 9 - outcomes)),
            "{text}"
        );
    }

    #[test]
    fn a_long_turn_is_told_by_its_steps() {
        let lines = "user: build it\nedit a.rs\nrun cargo test => ok\nedit b.rs\nrun cargo test => bad 1 failed\nedit c.rs\nrun cargo test => ok\nedit d.rs";
        let text = told(lines, 14, &[], 0, 2_000);
        let outcomes: Vec<&str> = text
            .lines()
            .skip_while(|line| *line != "## Key outcomes")
            .skip(1)
            .collect();
        assert_eq!(
            outcomes,
            [
                "- \"build it\": edited a.rs, b.rs, c.rs; tests passed; goes on below",
                "  - edited a.rs; tests passed [task completion]",
                "  - edited b.rs; tests failed",
                "  - edited c.rs; tests passed [error resolution]",
            ]
        );
    }

    #[test]
    fn a_lint_is_told_as_one_in_the_outcomes_too() {
        let outcome = |runs: &str| {
            let text = told(
                &format!("user: tidy up\nedit a.py\n{runs}\nuser: next"),
                8,
                &[],
                0,
                2_000,
            );
            text.lines()
                .find_map(|line| line.strip_prefix("- \"tidy up\": edited a.py; "))
                .unwrap_or_default()
                .to_owned()
        };
        for line in [
            "ruff check src",
            "npm run check",
            "mise run lint",
            "bun run lint",
            "cargo clippy",
        ] {
            assert_eq!(outcome(&format!("run {line} => ok")), "lint passed", "{line}");
        }
        assert_eq!(outcome("run cargo clippy => bad error: x"), "lint failed");
        assert_eq!(outcome("run npm run build => ok"), "build passed");
        assert_eq!(
            outcome("run npm run build => ok\nrun npm run lint => bad 1 error"),
            "build passed; lint failed"
        );
        assert_eq!(outcome("run npm run lint => ok\nrun npm test => ok"), "tests passed");
    }

    proptest! {
        #[test]
        fn no_story_is_longer_than_it_may_be(
            lines in proptest::collection::vec((0usize..9, "[a-c<>/·é\u{1b}⏎# -]{0,30}(</?system-reminder>)?"), 0..40),
            pins in proptest::collection::vec("[a-zé⏎ ]{0,80}", 0..4),
            until in 0usize..90,
            long in 0u64..60,
            bytes in 0usize..1_500,
        ) {
            let text: Vec<String> = lines.iter().map(|(kind, words)| match kind {
                0 => format!("user: {words}"),
                1 => format!("edit {words}"),
                2 => format!("run cargo test {words} => ok"),
                3 => format!("run cargo test => bad FAILED {words}"),
                4 => format!("todo {words}|>b"),
                5 => format!("ask {words} => {words}"),
                6 => format!("run ./x => bad {words}"),
                7 => format!("run git commit -m '{words}' => ok"),
                _ => words.clone(),
            }).collect();
            let pins: Vec<&str> = pins.iter().map(String::as_str).collect();
            let told_once = told(&text.join("\n"), until, &pins, long, bytes);
            prop_assert!(told_once.len() <= bytes, "{} of {bytes}: {told_once}", told_once.len());
            prop_assert_eq!(&told(&text.join("\n"), until, &pins, long, bytes), &told_once);
            prop_assert!(!told_once.contains("<system") && !told_once.contains("</system") && !told_once.contains("· recall"));
            prop_assert!(told_once.chars().all(|c| c == '\n' || !c.is_control()));
            let headings: Vec<&str> = told_once.lines().filter(|line| line.starts_with('#')).collect();
            let all = ["## Context", "## Key outcomes"];
            prop_assert!(headings == all || headings == all[..1] || headings == all[1..] || headings.is_empty(), "{told_once}");
        }
    }
}
