#![allow(clippy::unwrap_used)]

use super::*;
use crate::message::{Action, ActionKind, Message, Part, Role, ToolCall, ToolResult};
use proptest::prelude::*;
use serde_json::{Value, json};

const PLAN: &str = "/w/plan.md";
const ONE: &str = "# The first plan of this\nPut a cache before the database.\nshort\nAsk before it is deployed.\n";
const TWO: &str = "# The second plan of this\nMake the slow query faster.\nAsk before it is deployed.\n";

#[derive(Default)]
struct Talk(Index, usize);

impl Talk {
    fn call(self, tool: &str, action: Action, parameters: Value, says: &str) -> Talk {
        self.came(tool, action, parameters, says, true)
    }

    fn came(mut self, tool: &str, action: Action, parameters: Value, says: &str, success: bool) -> Talk {
        self.1 += 1;
        let id = self.1.to_string();
        let call = ToolCall::new(id.as_str(), tool, parameters.as_object().unwrap().clone()).doing(action);
        self.0
            .append(&Message::new(Role::Assistant, vec![Part::ToolCall(call)]));
        let result = ToolResult::new(id.as_str(), Some(success), says);
        self.0.append(&Message::results(vec![result]));
        self
    }

    fn write(self, content: &str) -> Talk {
        let action = Action::on(ActionKind::Change, [PLAN]);
        self.call(
            "Write",
            action,
            json!({ "file_path": PLAN, "content": content }),
            "Written.",
        )
    }

    fn edit(self, old: &str, new: &str) -> Talk {
        let action = Action::on(ActionKind::Change, [PLAN]).replacing(["old"]);
        self.call(
            "Edit",
            action,
            json!({ "path": PLAN, "old": old, "new": new }),
            "Updated.",
        )
    }

    fn edit_everywhere(self, old: &str, new: &str) -> Talk {
        let action = Action::on(ActionKind::Change, [PLAN]).replacing(["old"]);
        let parameters = json!({ "path": PLAN, "old": old, "new": new, "replace_all": true });
        self.call("Edit", action, parameters, "Updated.")
    }

    fn read(self, shown: &str) -> Talk {
        let action = Action::on(ActionKind::Read, [PLAN]);
        self.call("Read", action, json!({ "file_path": PLAN }), shown)
    }

    fn run(self, line: &str, shown: &str) -> Talk {
        self.call("Bash", Action::command(line), json!({ "command": line }), shown)
    }

    /// How many lines are this one and may be quoted as if they stood there.
    fn quoted(&self, text: &str) -> usize {
        let index = &self.0;
        let blocks = index.blocks.iter().filter(|block| block.came == Came::Done);
        let lines = blocks.flat_map(|block| block.lines.clone().map(move |line| (block, line as usize)));
        lines
            .filter(|&(block, line)| index.text_of(block, line).trim() == text && !index.lines[line].is_removed())
            .count()
    }
}

#[test]
fn what_a_file_said_before_it_was_written_whole_again_stands_no_more() {
    let numbered = ONE
        .lines()
        .enumerate()
        .map(|(at, line)| format!("{}\t{line}\n", at + 1));
    let numbered: String = numbered.collect();
    for talk in [
        Talk::default().write(ONE),
        Talk::default().read(ONE),
        Talk::default().read(&numbered),
        Talk::default().run("cat /w/plan.md", ONE),
        Talk::default().edit("nothing of it that is left", ONE),
        Talk::default().write(ONE).write(ONE),
    ] {
        assert!(talk.quoted("short") > 0);
        let talk = talk.write(TWO);
        for gone in ["# The first plan of this", "Put a cache before the database.", "short"] {
            assert_eq!(talk.quoted(gone), 0, "{gone}");
        }
        assert!(talk.quoted("Ask before it is deployed.") >= 2);
        assert_eq!(talk.quoted("Make the slow query faster."), 1);
        assert!(talk.quoted(PLAN) >= 1);
        // And back.
        let talk = talk.write(ONE);
        assert_eq!(talk.quoted("Make the slow query faster."), 0);
        assert_eq!(talk.quoted("Put a cache before the database."), 1);
    }
}

#[test]
fn what_is_not_certain_to_be_of_the_file_stands() {
    let line = "Put a cache before the database.";
    let other = |talk: Talk, parameters: Value, tool: &str| {
        let action = Action::on(ActionKind::Change, [PLAN]);
        talk.call(tool, action, parameters, "Done.")
    };
    let whole = |tool: &str, parameters: Value| other(Talk::default().write(ONE), parameters, tool);
    for talk in [
        // Other files beside it.
        Talk::default().run("cat /w/plan.md /w/other.md", ONE).write(TWO),
        Talk::default().run("cat /w/plan.md; cat /w/other.md", ONE).write(TWO),
        Talk::default().run("git show HEAD:/w/plan.md", ONE).write(TWO),
        // What only adds.
        whole("append_file", json!({ "path": PLAN, "content": TWO })),
        whole("write_file", json!({ "path": PLAN, "content": TWO, "mode": "append" })),
        whole("write_file", json!({ "path": PLAN, "content": TWO, "append": true })),
        whole("insert_content", json!({ "path": PLAN, "content": TWO, "line": 4 })),
        whole("edit_file", json!({ "path": PLAN, "content": TWO })),
        whole(
            "write",
            json!({ "path": PLAN, "content": format!("{TWO}// ... existing code ...") }),
        ),
        whole("write", json!({ "path": PLAN, "content": TWO, "anchor": "a\nb" })),
        // What was not done.
        Talk::default().write(ONE).came(
            "Write",
            Action::on(ActionKind::Change, [PLAN]),
            json!({ "file_path": PLAN, "content": TWO }),
            "Error: it is read-only",
            false,
        ),
    ] {
        assert_eq!(talk.quoted(line), 1);
    }
    for talk in [
        whole(
            "write_to_file",
            json!({ "path": PLAN, "content": TWO, "line_count": 3 }),
        ),
        whole("write_file", json!({ "path": PLAN, "content": TWO, "mode": "rewrite" })),
        whole(
            "str_replace_editor",
            json!({ "command": "create", "path": PLAN, "file_text": TWO }),
        ),
    ] {
        assert_eq!(talk.quoted(line), 0);
    }
}

#[test]
fn a_line_that_was_replaced_stands_no_more_however_often_the_file_was_changed_since() {
    let line = |number: usize, what: &str| format!("the colour of number {number} is {what}");
    let all: String = (0..200).map(|number| line(number, "grey") + "\n").collect();
    let mut talk = Talk::default().write(&all).read(&all);
    for number in 0..200 {
        talk = talk.edit(&line(number, "grey"), &line(number, "green"));
    }
    for number in 0..200 {
        let left = [talk.quoted(&line(number, "grey")), talk.quoted(&line(number, "green"))];
        assert_eq!(left, [0, 1], "{number}");
    }
}

#[test]
fn a_line_stands_as_long_as_it_is_there_once_more() {
    let text = "fn one() {\n    return the_same_result;\n}\nfn two() {\n    return the_same_result;\n}\n";
    let line = "return the_same_result;";
    let old = "fn one() {\n    return the_same_result;";
    let talk = Talk::default()
        .read(text)
        .edit(old, "fn one() {\n    return another_result;");
    assert_eq!(talk.quoted(line), 2);
    let talk = talk.edit("fn two() {\n    return the_same_result;", "fn two() {\n    nothing;");
    assert_eq!(talk.quoted(line), 0);
    let talk = Talk::default()
        .read(text)
        .edit_everywhere(line, "return another_result;");
    assert_eq!(talk.quoted(line), 0);
    // What is moved is written where it goes before it is taken from where it was.
    let talk = Talk::default()
        .read("first_line_of_it\na_line_that_is_moved\nlast_line_of_all")
        .edit("last_line_of_all", "last_line_of_all\na_line_that_is_moved")
        .edit("first_line_of_it\na_line_that_is_moved", "first_line_of_it");
    assert_eq!(talk.quoted("a_line_that_is_moved"), 2);
    let talk = talk.edit("a_line_that_is_moved", "a_line_that_took_its_place");
    assert_eq!(talk.quoted("a_line_that_is_moved"), 0);
}

/// Were each change to look at what was shown before, this would not end in minutes.
#[test]
fn many_changes_of_a_large_file_take_time_in_proportion_to_what_they_say() {
    let line = |number: usize| format!("a line of the table with number {number}");
    let all: String = (0..100_000).map(|number| line(number) + "\n").collect();
    let mut talk = Talk::default().read(&all);
    for number in 0..20_000 {
        talk = talk.edit(&line(number), "another");
    }
    assert_eq!(talk.quoted(&line(19_999)), 0);
    for _ in 0..20_000 {
        talk = talk.write(TWO);
    }
    assert_eq!(talk.quoted(&line(20_001)), 0);
}

proptest! {
    #[test]
    fn what_a_file_says_is_quoted_and_nothing_else_of_it(
        steps in proptest::collection::vec((0..3_u8, 0..12_usize, 0..1_000_usize), 1..40),
    ) {
        let line = |number: usize| format!("line number {number} of the file here");
        let mut file: Vec<String> = (0..12).map(line).collect();
        let mut every = file.clone();
        let mut talk = Talk::default().write(&file.join("\n"));
        for (kind, at, number) in steps {
            let new = line(number + 12);
            let before = file.join("\n");
            every.push(new.clone());
            talk = match kind {
                0 => {
                    let old = std::mem::replace(&mut file[at], new);
                    talk.edit(&old, &file[at])
                }
                1 => {
                    file[at] = new;
                    talk.write(&file.join("\n"))
                }
                _ => talk.read(&before),
            };
        }
        for text in every {
            prop_assert_eq!(talk.quoted(&text) > 0, file.contains(&text), "{}", text);
        }
    }
}
