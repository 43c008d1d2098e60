//! A second set of the session's tools, for a task.
#![allow(clippy::unwrap_used)]

use crate::trial::{Trial, to_read, to_write};
use codelet_agent::permission::Permission;
use codelet_agent::tool::Need;
use codelet_tools::{Options, all_with_reach};
use serde_json::json;
use std::os::unix::fs::symlink;

#[test]
fn what_they_have_seen_is_their_own_and_how_far_they_go_is_the_sessions() {
    let mut first = Trial::new(Permission::Edit);
    let (tools, reach) = all_with_reach(&Options::new(&first.workspace));
    first.tools = tools;
    let path = first.write("a.txt", "one\n");
    first.done("Read", to_read("a.txt"));
    let mut second = Trial::new(Permission::Edit);
    second.workspace.clone_from(&first.workspace);
    second.tools = reach.tools_anew(false);
    let text = |to: &str| to_write("a.txt", to);
    // Without reading the file itself, a set of tools cannot replace it.
    assert!(!second.call("Write", text("blind\n")).success);
    second.done("Read", to_read("a.txt"));
    second.done("Write", text("two\n"));
    assert!(
        first
            .call("Write", text("three\n"))
            .text
            .as_str()
            .contains("changed since it was read")
    );
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "two\n");
    // The workspace is not resolved again, even if something else has taken its name.
    let moved = first.workspace.with_file_name("moved");
    std::fs::rename(&first.workspace, &moved).unwrap();
    symlink(&second.outside, &first.workspace).unwrap();
    std::fs::write(second.outside.join("secret.txt"), "not the project's").unwrap();
    second.tools = reach.tools_anew(false);
    let read = second.call("Read", to_read("secret.txt"));
    assert!(!read.success, "{}", read.text);
    std::fs::remove_file(&first.workspace).unwrap();
    std::fs::rename(&moved, &first.workspace).unwrap();
    // A change of permission also applies to sets created earlier.
    let look = json!({"command": "cat a.txt"});
    let parameters = codelet_context::message::Parameters::new(look.as_object().unwrap().clone());
    // Only in the sandbox is a command known to read and do nothing else.
    let only_reads = |trial: &Trial| {
        let needs = trial.tool("Bash").needs(&parameters).unwrap();
        needs.iter().all(Need::only_looks)
    };
    assert!(only_reads(&second));
    reach.permit(Permission::All);
    assert!(!only_reads(&second));
    reach.permit(Permission::Edit);
    assert!(only_reads(&second));
}
