//! `/diff`: what is not committed, shown to the user alone.

use crate::common::agent::usage;
use crate::{everywhere, leave};
use codelet_testkit::server::Reply;
use serde_json::json;
use std::process::Command;

#[test]
fn what_is_not_committed_is_shown_and_the_model_is_told_nothing_of_it() {
    let replies = || {
        vec![
            Reply::call("Write", json!({"file_path": "b.txt", "content": "three\n"})).billed(usage(2_000)),
            Reply::text("Written.").billed(usage(2_100)),
            Reply::text("Seen.").billed(usage(2_200)),
        ]
    };
    everywhere(replies, &[], |bench, server, session| {
        let git = |arguments: &[&str]| {
            let mut git = Command::new("git");
            git.args(["-c", "user.name=A", "-c", "user.email=a@b"]).args(arguments);
            let done = git.current_dir(&bench.work).env_remove("GIT_DIR").output().unwrap();
            assert!(done.status.success(), "{done:?}");
        };
        bench.file("a.txt", "one\ntwo\n");
        session.say("/diff");
        session.wait("This is not a git repository.");
        git(&["init", "-q"]);
        git(&["add", "."]);
        git(&["commit", "-q", "-m", "first"]);
        session.say("/diff");
        session.wait("Nothing has changed since the last commit.");
        session.say("/diff nofile");
        session.wait("No such file: nofile.");
        session.say("/diff a.txt");
        session.wait("a.txt has no changes since the last commit.");
        bench.file("a.txt", "one\n2\n");
        session.say("Write b.");
        session.wait("Written.");
        session.say("/diff");
        session.wait("Untracked files:");
        assert!(session.text().contains("a.txt +1 "), "{}", session.text());
        session.say("/diff b.txt");
        session.wait_for("Untracked files:", 2);
        session.say("Go on.");
        session.wait("Seen.");
        leave(session, server);
        let record = server.record();
        let said = record.exchanges[2].request.json()["messages"].to_string();
        assert!(!said.contains("Untracked files"), "{said}");
    });
}
