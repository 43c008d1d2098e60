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
fn a_look_in_another_folder_is_one_at_a_file_there() {
    let index = indexed(&[
        Action::command("cd sub && cat x.rs"),
        Action::on(ActionKind::Change, ["sub/x.rs"]),
    ]);
    assert!(is_stale(&index, "sub/x.rs"));
}
