use super::*;
use crate::message::{ToolCall, ToolResult};
use serde_json::Map;

/// The index of these calls, each answered by a line of its own.
fn indexed(actions: &[Action]) -> Index {
    let mut index = Index::default();
    for (number, action) in actions.iter().enumerate() {
        let id = number.to_string();
        let call = ToolCall::new(id.as_str(), "t", Map::new()).doing(action.clone());
        index.append(&Message::new(Role::Assistant, vec![Part::ToolCall(call)]));
        let said = format!("let value_{number} = {number};\n");
        index.append(&Message::results(vec![ToolResult::new(id.as_str(), Some(true), said)]));
    }
    index
}

/// What a command has printed, indexed.
fn printed(output: &str) -> Index {
    let mut index = Index::default();
    let call = ToolCall::new("1", "t", Map::new()).doing(Action::command("make"));
    index.append(&Message::new(Role::Assistant, vec![Part::ToolCall(call)]));
    index.append(&Message::results(vec![ToolResult::new("1", Some(true), output)]));
    index
}

#[test]
fn a_coloured_line_is_the_same_thing_as_its_twin_without_colours() {
    let coloured = "\u{1b}[32m✓\u{1b}[39m src/walnut_jar.rs \u{1b}[2m(33 tests)\u{1b}[22m\n\u{1b}[2m\u{1b}[22m\n\u{1b}[1m[note]\u{1b}[0m almond_shelf is full\n";
    let plain = "✓ src/walnut_jar.rs (33 tests)\n[note] almond_shelf is full\n";
    let (coloured, plain) = (printed(coloured), printed(plain));
    let things = |index: &Index| -> Vec<(usize, usize, bool)> {
        let lines = index.lines.iter().enumerate();
        lines
            .map(|(at, line)| (index.items_of(at).len(), index.names_of(at).len(), line.poses()))
            .collect()
    };
    assert_eq!(things(&coloured), things(&plain));
    let mut both = printed("");
    for index in [&coloured, &plain] {
        let output = index.blocks.last().expect("what was printed").text.as_str();
        both.append(&Message::results(vec![ToolResult::new("1", Some(true), output)]));
    }
    let items = |at: usize| both.items_of(at);
    let count = both.lines.len();
    assert_eq!(items(count - 4), items(count - 2));
    assert_eq!(items(count - 3), items(count - 1));
}

/// Whether what was read of this file first is no longer so.
fn is_stale(index: &Index, path: &str) -> bool {
    let file = index.file(path);
    let is_read = |block: &Block| block.kind == BlockKind::Read && Some(block.path) == file;
    index
        .blocks
        .iter()
        .position(is_read)
        .is_some_and(|block| index.is_stale(block))
}

#[test]
fn what_was_read_of_files_in_a_folder_that_was_taken_away_stands_no_more() {
    let read = |path| Action::on(ActionKind::Read, [path]);
    for (line, a, b) in [
        ("rm -rf src", true, false),
        ("cd /w && rm -rf ./src", true, false),
        ("cd /w/src && rm a.rs", true, false),
        ("cd /w; mv src/ lib", true, false),
        ("git checkout -- src/a.rs", true, false),
        ("cd /w/lib && sed -i s/a/b/ ../src/a.rs", true, false),
        ("(cd /w/src; ls) && rm b.rs", false, true),
        ("cd /elsewhere && rm -rf src", false, false),
    ] {
        let index = indexed(&[read("/w/src/a.rs"), read("/w/b.rs"), Action::command(line)]);
        let stale = ["/w/src/a.rs", "/w/b.rs"].map(|path| is_stale(&index, path));
        assert_eq!(stale, [a, b], "{line}");
    }
}

#[test]
fn what_a_line_has_changed_before_it_failed_stands_no_more_as_it_was_read() {
    let after = |line: &str, says: &str| {
        let mut index = indexed(&[Action::on(ActionKind::Read, ["/w/src/a.rs"])]);
        let call = ToolCall::new("x", "t", Map::new()).doing(Action::command(line));
        index.append(&Message::new(Role::Assistant, vec![Part::ToolCall(call)]));
        index.append(&Message::results(vec![ToolResult::new("x", Some(false), says)]));
        is_stale(&index, "/w/src/a.rs")
    };
    let red = "test a ... FAILED\ntest result: FAILED. 2 passed; 1 failed";
    assert!(after("cd /w && sed -i s/a/b/ src/a.rs && cargo test", red));
    assert!(after("cd /w; rm -r src; cargo test", red));
    assert!(!after(
        "sed -i s/a/b/ src/a.rs && cargo test",
        "sed: can't read src/a.rs"
    ));
    assert!(!after("cargo test && sed -i s/a/b/ src/a.rs", red));
}

#[test]
fn a_look_in_another_folder_is_one_at_a_file_there() {
    let index = indexed(&[
        Action::command("cd sub && cat x.rs"),
        Action::on(ActionKind::Change, ["sub/x.rs"]),
    ]);
    assert!(is_stale(&index, "sub/x.rs"));
}

#[test]
fn what_a_script_writes_stands_no_more_as_it_was_read() {
    let read = || Action::on(ActionKind::Read, ["/w/src/del.py"]);
    let edit = "p = 'src/del.py'\ns = open(p).read()\nopen(p, 'w').write(s)";
    let line = format!("python3 - <<'E'\n{edit}\nE");
    assert!(is_stale(&indexed(&[read(), Action::command(&line)]), "/w/src/del.py"));
    let lines = [format!("cat > fix.py <<'E'\n{edit}\nE"), String::from("python3 fix.py")];
    let actions = [read(), Action::command(&lines[0]), Action::command(&lines[1])];
    assert!(!is_stale(&indexed(&actions[..2]), "/w/src/del.py"));
    assert!(is_stale(&indexed(&actions), "/w/src/del.py"));
}

#[test]
fn what_others_have_changed_stands_no_more_as_it_was_read() {
    let after = |line: &str, says: &str| {
        let mut index = indexed(&[Action::on(ActionKind::Read, ["/w/src/del.py"])]);
        let call = ToolCall::new("x", "t", Map::new()).doing(Action::command(line));
        index.append(&Message::new(Role::Assistant, vec![Part::ToolCall(call)]));
        index.append(&Message::results(vec![ToolResult::new("x", Some(true), says)]));
        is_stale(&index, "/w/src/del.py")
    };
    let stat = " src/del.py | 12 ++++---\n src/logo.png | Bin 12 -> 20 bytes\n 2 files changed";
    assert!(after("git pull", &format!("Updating 1a2b..3c4d\nFast-forward\n{stat}")));
    assert!(after("black .", "reformatted /w/src/del.py"));
    assert!(after("curl -o src/del.py https://x/y", ""));
    assert!(after("sed -i s/a/b/ src/*.py", ""));
    assert!(after("grep -rl a . | xargs sed -i s/a/b/", ""));
    assert!(after("cp -r /bak/src/. src/", ""));
    assert!(after("git stash pop", "\tmodified:   src/del.py"));
    assert!(!after("sed -i s/a/b/ lib/*.py", ""));
    assert!(!after("sed -n 1p src/*.py", ""));
    assert!(!after("git diff --stat", stat));
    assert!(!after(
        "git pull",
        "Updating 1a2b..3c4d\nFast-forward\n src/other.py | 2 +-"
    ));
}

/// Encoded bytes, the same ones each time.
fn encoded(bytes: usize) -> String {
    const SIGNS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let sign = |at: u64| SIGNS[(hash::pair(at, 7) % 64) as usize];
    (0..bytes as u64).map(|at| char::from(sign(at))).collect()
}

#[test]
fn pieces_of_one_long_line_stand_together_unless_something_else_stands_between_them() {
    let words = |word: &str| format!("{word} of the table that is described here, ").repeat(12);
    for (line, expected) in [
        (words("part"), vec![None, Some(" ")]),
        (
            format!("{}{}{}", words("head"), encoded(2_000), words("tail")),
            vec![None, Some(" "), None, Some(" ")],
        ),
    ] {
        let mut index = Index::default();
        let call = ToolCall::new("a", "t", Map::new()).doing(Action::on(ActionKind::Read, ["table.json"]));
        index.append(&Message::new(Role::Assistant, vec![Part::ToolCall(call)]));
        index.append(&Message::results(vec![ToolResult::new("a", Some(true), line)]));
        let read = index.blocks.iter().find(|block| block.kind == BlockKind::Read).unwrap();
        let between: Vec<Option<&str>> = read.lines.clone().map(|line| index.between(read, line)).collect();
        assert_eq!(between, expected);
    }
}
