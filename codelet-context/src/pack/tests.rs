use super::factors::CALL_FACTOR;
use super::*;
use crate::digest::tests::{call, quoted, run, with_task};
use crate::history::History;
use crate::index::BlockKind;
use crate::items::ItemKind;
use crate::message::{Action, ActionKind, Message};
use proptest::prelude::*;
use serde_json::json;

const FAILED: (Option<bool>, &str) = (Some(false), "old text not found");
const DONE: (Option<bool>, &str) = (Some(true), "done");

fn edit(history: &mut History, file: &str, text: &str, answer: (Option<bool>, &str)) {
    let parameters = json!({"file_path": file, "new_string": text});
    call(
        history,
        "Edit",
        Action::on(ActionKind::Change, [file]),
        parameters,
        answer,
    );
}

fn read(history: &mut History, file: &str, text: &str) {
    let action = Action::on(ActionKind::Read, [file]);
    call(history, "Read", action, json!({"file_path": file}), (Some(true), text));
}

/// Whether of two changes that say as much the older is quoted, and not the newer, in room for one.
fn is_older_quoted(answer: (Option<bool>, &str), later: Option<&str>) -> bool {
    let mut history = History::new();
    edit(
        &mut history,
        "src/one.rs",
        "let walnut_count = almond_count(7);",
        answer,
    );
    edit(&mut history, "src/two.rs", "let cherry_count = damson_count(7);", DONE);
    if let Some(file) = later {
        edit(&mut history, file, "}", DONE);
    }
    // What failed comes with the reason.
    let reason = if answer.0 == Some(false) { answer.1.len() + 6 } else { 0 };
    let text = quoted(&history, &[], 72 + reason);
    let (older, newer) = (text.contains("walnut"), text.contains("cherry"));
    assert!(older != newer, "{text}");
    older
}

#[test]
fn a_change_that_was_stopped_gives_way_to_one_that_was_made() {
    const STOPPED: (Option<bool>, &str) = (Some(false), "[Request interrupted by user for tool use]");
    let mut history = History::new();
    edit(&mut history, "src/one.rs", "let walnut_count = almond_count(7);", DONE);
    edit(
        &mut history,
        "src/two.rs",
        "let cherry_count = damson_count(7);",
        STOPPED,
    );
    let text = quoted(&history, &[], 84);
    assert!(text.contains("walnut") && !text.contains("cherry"), "{text}");
    let text = quoted(&history, &[], 400);
    assert!(
        text.contains("[Edit src/two.rs (stopped)]\nlet cherry_count"),
        "what it was is told once: {text}"
    );
}

/// The same choice without a schedule: in each pass every line is weighed.
fn fill_plainly(packer: &mut Packer<'_>) {
    packer.weigh_lines();
    let top = packer.bounds.iter().copied().fold(0.0, f32::max);
    packer.passes = Passes::new(&packer.bounds, top, FALL, LOWEST);
    let mut schedule = Passes::new(&packer.bounds, top, FALL, LOWEST);
    packer.passes.next_pass();
    packer.take_changed();
    while packer.left > i64::from(GAP_BYTES)
        && let Some(threshold) = schedule.next_pass()
    {
        for line in (0..packer.taken.len()).rev() {
            if packer.taken[line] || packer.factors[line] <= 0.0 || packer.bounds[line] <= 0.0 {
                continue;
            }
            let (density, bytes) = packer.density(line, packer.gain(line));
            if density >= threshold && i64::from(bytes) <= packer.left {
                packer.take(line, bytes);
            }
        }
    }
}

proptest! {
    #[test]
    fn the_schedule_chooses_what_weighing_every_line_in_every_pass_chooses(
        steps in proptest::collection::vec(
            (0usize..4, proptest::collection::vec("(let|use|fn) [a-d]{1,2}_[a-e]{1,3}( = [0-9]{1,4};)?", 0..14)),
            1..16,
        ),
        room in 0usize..1_500,
    ) {
        let mut history = History::new();
        for (number, (kind, lines)) in steps.iter().enumerate() {
            let text = lines.join("\n");
            match kind {
                0 => run(&mut history, &format!("./look {number}\necho {text}"), &text),
                1 => edit(&mut history, &format!("src/{}.rs", number % 3), &text, DONE),
                2 => edit(&mut history, &format!("src/{}.rs", number % 3), &text, FAILED),
                _ => {
                    let file = format!("src/{}.rs", number % 3);
                    read(&mut history, &file, &text);
                }
            }
        }
        let (scheduled, plain) = with_task(&history, room, |task, _| {
            let mut scheduled = Packer::new(&task);
            scheduled.fill();
            let mut plain = Packer::new(&task);
            fill_plainly(&mut plain);
            (scheduled.taken, plain.taken)
        });
        prop_assert_eq!(scheduled, plain);
    }
}

#[test]
fn a_failed_change_is_worth_more_until_its_file_is_changed() {
    assert!(is_older_quoted(FAILED, None));
    assert!(is_older_quoted(FAILED, Some("src/else.rs")));
    assert!(!is_older_quoted(FAILED, Some("src/one.rs")));
    assert!(!is_older_quoted(DONE, None));
}

#[test]
fn what_was_read_for_work_that_is_done_gives_way_to_what_was_read_since() {
    // What was printed twice is worth more than what was printed once, as long as both are of the same work.
    let is_older_quoted = |is_done: bool| {
        let mut history = History::new();
        history.append(Message::user("begin"));
        for file in ["a.rs", "b.rs"] {
            read(&mut history, file, "let walnut_count = almond_count(7);");
        }
        if is_done {
            history.append(Message::user("go on"));
        }
        read(&mut history, "c.rs", "let cherry_count = damson_count(7);");
        let text = quoted(&history, &[], 76);
        let (older, newer) = (text.contains("walnut"), text.contains("cherry"));
        assert!(older != newer, "{text}");
        older
    };
    assert!(is_older_quoted(false));
    assert!(!is_older_quoted(true));
}

#[test]
fn what_a_change_has_taken_away_is_not_quoted_unless_the_change_failed() {
    let (old, new) = ("let walnut_count = 7;", "let cherry_count = 8;");
    let blocks = format!("<<<<<<< SEARCH\n{old}\n=======\n{new}\n>>>>>>> REPLACE");
    for (replaced, parameters) in [
        ("old_string", json!({"old_string": old, "new_string": new})),
        (
            "TargetContent",
            json!({"TargetContent": old, "ReplacementContent": new}),
        ),
        ("find", json!({"edits": [{"find": old, "replace": new}]})),
        ("", json!({"diff": blocks})),
    ] {
        for (answer, has_old) in [(DONE, false), (FAILED, true)] {
            let mut history = History::new();
            let action = Action::on(ActionKind::Change, ["src/one.rs"]).replacing([replaced]);
            call(&mut history, "Edit", action, parameters.clone(), answer);
            let text = quoted(&history, &[], 1_000);
            assert_eq!(
                (
                    text.contains("walnut"),
                    text.contains("(failed)"),
                    text.contains("cherry")
                ),
                (has_old, has_old, true),
                "{text}"
            );
        }
    }
}

#[test]
fn a_change_that_failed_is_quoted_with_the_reason() {
    let patch = "*** Begin Patch\n*** Update File: src/one.rs\n-let walnut = 1;\n+let almond = 2;\n*** End Patch";
    let reason = "apply_patch verification failed: Failed to find expected lines in src/one.rs";
    for (action, parameters, answer) in [
        (
            Action::on(ActionKind::Change, ["src/one.rs"]),
            json!({"input": patch}),
            format!("Exit code: 1\nWall time: 0.4 seconds\nOutput:\n{reason}\n"),
        ),
        (
            Action::on(ActionKind::Change, ["src/one.rs"]),
            json!({"path": "src/one.rs", "old": "let walnut = 1;", "new": "let almond = 2;"}),
            format!("<tool_use_error>{reason}</tool_use_error>"),
        ),
    ] {
        let mut history = History::new();
        call(&mut history, "Edit", action, parameters, (Some(false), &answer));
        for bytes in 0..600 {
            let text = quoted(&history, &[], bytes);
            assert!(text.len() <= bytes, "{} of {bytes}: {text}", text.len());
            assert!(
                !text.contains("almond") || text.contains("Failed to find"),
                "{bytes}: {text}"
            );
        }
        let text = quoted(&history, &[], 600);
        assert!(text.contains("almond") && text.contains(reason), "{text}");
    }
}

#[test]
fn what_a_change_has_taken_away_is_not_quoted_from_what_showed_it_before() {
    let (old, new, other) = (
        "const PREFIX: &str = \"walnut/base\";",
        "const PREFIX: &str = \"almond/top\";",
        "const SUFFIX: &str = \"hazel/tail\";",
    );
    let change = |history: &mut History, file: &str, from: &str, to: &str, answer| {
        let action = Action::on(ActionKind::Change, [file]).replacing(["old_string"]);
        let parameters = json!({"file_path": file, "old_string": from, "new_string": to});
        call(history, "Edit", action, parameters, answer);
    };
    let after = |then: &dyn Fn(&mut History)| {
        let mut history = History::new();
        let shown = format!("{old}\n{other}\n");
        for file in ["src/one.rs", "src/two.rs"] {
            let action = Action::on(ActionKind::Read, [file]);
            call(
                &mut history,
                "Read",
                action,
                json!({"file_path": file}),
                (Some(true), &shown),
            );
        }
        then(&mut history);
        quoted(&history, &[], 4_000)
    };
    let count = |text: &str, line: &str| text.lines().filter(|shown| *shown == line).count();
    let text = after(&|_| ());
    assert_eq!(count(&text, old), 2, "{text}");
    let text = after(&|history| {
        change(history, "src/one.rs", old, new, DONE);
        change(history, "src/two.rs", old, new, DONE);
    });
    assert_eq!((count(&text, old), count(&text, new)), (0, 2), "{text}");
    assert_eq!(count(&text, other), 2, "{text}");
    let text = after(&|history| change(history, "src/one.rs", old, new, DONE));
    assert_eq!(count(&text, old), 1, "it stands in the other file: {text}");
    let text = after(&|history| {
        change(history, "src/one.rs", old, new, FAILED);
        change(history, "src/two.rs", old, new, FAILED);
    });
    assert_ne!(count(&text, old), 0, "nothing was changed: {text}");
    let text = after(&|history| {
        for file in ["src/one.rs", "src/two.rs"] {
            change(history, file, old, &format!("{old}\n{new}"), DONE);
        }
    });
    assert_ne!(count(&text, old), 0, "it was put there again: {text}");
}

#[test]
fn what_is_named_old_is_quoted_where_nothing_is_taken_away() {
    let parameters = json!({"older_than": "cherry_release_42", "oldest_first": "quince_sort_3"});
    let mut history = History::new();
    call(&mut history, "list_issues", Action::default(), parameters, DONE);
    let text = quoted(&history, &[], 1_000);
    assert!(
        text.contains("cherry_release_42") && text.contains("quince_sort_3"),
        "{text}"
    );
}

#[test]
fn among_lines_that_are_alike_the_one_that_is_not_is_quoted() {
    let log = |odd: usize| {
        let lines = (0..200).map(|line| match line == odd {
            true => String::from("14:02:07 ERROR checkout pool exhausted: 40/40 connections to ledger-db-2"),
            false => format!(
                "14:02:{:02} INFO request req_{:x} served by node-{} in {} ms",
                line % 60,
                line * 7_919,
                line % 7,
                line * 37 % 400
            ),
        });
        lines.collect::<Vec<_>>().join("\n")
    };
    let mut history = History::new();
    run(&mut history, "kubectl logs checkout", &log(93));
    run(&mut history, "kubectl logs ledger", &log(usize::MAX));
    let text = quoted(&history, &[], 600);
    assert!(text.contains("pool exhausted"), "{text}");
}

#[test]
fn a_long_line_of_numbers_says_little() {
    let mut history = History::new();
    let numbers: Vec<String> = (0..60)
        .map(|n| format!("{}.{}", n * 37 % 100, n * 91 % 1_000))
        .collect();
    let drawing = format!("<path d=\"M{}Z\"/>", numbers.join(" "));
    let dump = (0..20).map(|n| format!("{:08x} ", n * 0x9e37)).collect::<String>();
    let words = "The walnut is put beside the almond, since whoever looks for one of them wants to see the other one, too, at once.";
    let chinese = "核桃放在杏仁旁边因为谁要找其中之一也想马上看到另一个所以它们总是在一起出现而且从不分开";
    for (line, says_little) in [
        (drawing.as_str(), true),
        (dump.as_str(), true),
        (words, false),
        (chinese, false),
    ] {
        run(&mut history, &format!("cat {}", line.len()), line);
        let index = history.index();
        let block = index.blocks.last().unwrap();
        assert_eq!(
            index.lines[block.lines.start as usize].says_little(),
            says_little,
            "{line}"
        );
    }
}

#[test]
fn of_the_lists_of_what_is_to_be_done_only_the_newest_is_quoted() {
    let mut history = History::new();
    for state in ["pending", "completed"] {
        let list = json!({"todos": [{"content": format!("count the {state} walnuts"), "status": state}]});
        let action = Action::on(ActionKind::Todo, []);
        call(&mut history, "TodoWrite", action, list, (Some(true), "ok"));
    }
    let text = quoted(&history, &[], 1_000);
    assert!(
        text.contains("completed walnuts") && !text.contains("pending"),
        "{text}"
    );
}

#[test]
fn that_an_answer_begins_with_the_path_it_was_asked_for_is_not_quoted() {
    let mut history = History::new();
    let file = "/w/src/walnut_press.rs";
    read(
        &mut history,
        file,
        &format!("<path>{file}</path>\n<type>file</type>\nlet walnut_count = almond_count(7);"),
    );
    // Below, it is what stands in the file.
    read(
        &mut history,
        "/w/src/paths.rs",
        "let a = 1;\nlet b = 2;\nlet c = 3;\n// /w/src/paths.rs",
    );
    let text = quoted(&history, &[], 4_000);
    assert!(!text.contains("<path>") && text.contains("walnut_count"), "{text}");
    assert!(text.contains("// /w/src/paths.rs"), "{text}");
}

#[test]
fn the_newest_changes_count_twice() {
    let mut history = History::new();
    for number in 0..5 {
        run(&mut history, "./look", "nothing");
        let text = format!("let walnut_count = {number};");
        edit(&mut history, &format!("src/{number}.rs"), &text, DONE);
    }
    let index = history.index();
    let factors_of = with_task(&history, 100, |task, _| Packer::new(&task).factors);
    let changes = index.blocks.iter().filter(|block| block.change);
    let factors: Vec<f32> = changes
        .map(|block| factors_of[block.lines.end as usize - 1] / CALL_FACTOR)
        .collect();
    assert_eq!(factors, [1.0, 1.0, 2.0, 2.0, 2.0]);
    let command = index.blocks.iter().rev().find(|block| block.text.as_str() == "./look");
    let factor = command.map(|block| factors_of[block.lines.start as usize]);
    assert_eq!(factor, Some(CALL_FACTOR), "a command is no change");
}

#[test]
fn what_was_cut_and_is_shown_is_not_quoted_again() {
    let output = "walnut_count is 7 or more\nalmond_count is 8 or more\ncherry_count is 9 or more";
    let mut history = History::new();
    run(&mut history, "./count", output);
    // The whole output once more, where nothing of it was shown.
    run(&mut history, "./count again", output);
    let index = history.index();
    let first = index.blocks.iter().find(|block| block.kind == BlockKind::Command);
    let start = first.map_or(0, |block| block.lines.start);
    // Room for all of it, and for both headers.
    let text = quoted(&history, &[start, start + 1], 85);
    assert!(text.contains("cherry") && !text.contains("walnut"), "{text}");
    let text = quoted(&history, &[start, start + 1, start + 2], 10_000);
    assert_eq!(
        text.matches("walnut").count(),
        1,
        "only the output that was not shown: {text}"
    );
    assert_eq!(quoted(&history, &[], 10_000).matches("walnut").count(), 2);
}

#[test]
fn short_commands_are_things_of_their_own() {
    let mut history = History::new();
    run(&mut history, "make", "make");
    run(&mut history, "ls", "");
    let index = history.index();
    let has_line = |number: usize| {
        let line = index.blocks[number].lines.start as usize;
        let mut items = index.items_of(line).iter();
        items.any(|&item| index.items[item as usize].kind == ItemKind::Line)
    };
    assert!(has_line(0), "the call");
    assert!(!has_line(1), "the same word in its output");
    assert!(!has_line(2), "shorter still");
}

#[test]
fn a_look_with_a_command_counts_less_where_the_agent_has_a_reading_tool() {
    let factor = |has_reader: bool| {
        let mut history = History::new();
        if has_reader {
            let path = json!({"file_path": "src/two.rs"});
            let action = Action::on(ActionKind::Read, ["src/two.rs"]);
            call(
                &mut history,
                "Read",
                action,
                path,
                (Some(true), "let cherry_count = 7;"),
            );
        } else {
            run(&mut history, "cat src/two.rs", "let cherry_count = 7;");
        }
        run(&mut history, "cat src/one.rs", "let walnut_count = 7;");
        let index = history.index();
        let look = index.blocks.iter().rev().find(|block| block.look);
        let line = look.map_or(0, |block| block.lines.start);
        assert!(line > 0, "the command is a look");
        with_task(&history, 100, |task, _| Packer::new(&task).factors[line as usize])
    };
    assert!(factor(true) < factor(false));
}
