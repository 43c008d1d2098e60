#![allow(clippy::unwrap_used)]

use super::*;
use proptest::prelude::*;

/// What is told of as committed after these lines, each with what it printed.
fn told(lines: &[(&str, &str)]) -> Vec<String> {
    told_by(lines, Some(true))
}

fn told_by(lines: &[(&str, &str)], success: Option<bool>) -> Vec<String> {
    let mut commits = Commits::default();
    let mut told: Vec<Option<String>> = Vec::new();
    let mut others = Vec::new();
    for (line, printed) in lines {
        let result = ToolResult::new("1", success, *printed);
        for change in commits.take(&steps(&Script::read(line)), &result) {
            match change {
                Change::Made(words) => told.push(Some(words)),
                Change::Undone(number) => told[number] = None,
                Change::WentTo(name) => others.push(format!("→ {name}")),
            }
        }
    }
    told.into_iter().flatten().chain(others).collect()
}

fn quietly(lines: &[&str]) -> Vec<String> {
    told(&lines.iter().map(|line| (*line, "")).collect::<Vec<_>>())
}

#[test]
fn a_commit_is_known_by_its_message() {
    let table = [
        ("git commit -m 'one\ntwo'", "one"),
        ("git add -A && git -C x commit -am one", "one"),
        ("git commit -m \"$(cat <<'EOF'\none\n\ntwo\nEOF\n)\"", "one"),
        ("git commit -qsm one -m more", "one"),
        ("git commit --message=one", "one"),
        ("git commit -mone", "one"),
        ("bash -c 'git commit -m one'", "one"),
    ];
    for (line, expected) in table {
        assert_eq!(quietly(&[line]), [expected], "{line}");
    }
    for line in [
        "echo git commit -m one",
        "git log",
        "git commit --dry-run -m one",
        "docker exec x git commit -m one",
        "git commit",
    ] {
        assert_eq!(quietly(&[line]), [""; 0], "{line}");
    }
    assert_eq!(quietly(&["git commit -m a && git commit -m b"]), ["a", "b"]);
}

#[test]
fn an_amended_commit_is_told_once_and_as_it_is_now() {
    let one = "git commit -am one";
    for (line, expected) in [
        ("git commit --amend -m two", &["two"][..]),
        ("cd app && git add . && git commit --amend -qm two", &["two"]),
        ("git commit --amend --no-edit", &["one"]),
        ("git commit --amend -C HEAD", &["one"]),
        // Nobody knows what it says now.
        ("git commit --amend -F msg.txt", &[]),
        // Another repository, or another branch.
        ("git -C ../other commit --amend -m two", &["one", "two"]),
        ("git checkout topic && git commit --amend -m two", &["one", "two"]),
        ("git switch - && git commit --amend -m two", &["one", "two"]),
        ("git merge topic && git commit --amend -m two", &["one", "two"]),
        // The same branch under another name, and no branch at all.
        ("git switch -c topic && git commit --amend -m two", &["two"]),
        ("git checkout -- a.rs && git commit --amend -m two", &["two"]),
        ("git checkout a.rs && git commit --amend -m two", &["two"]),
        // Not run for sure.
        ("git diff --quiet || git commit --amend -m two", &["one"]),
    ] {
        assert_eq!(quietly(&[one, line]), expected, "{line}");
    }
    assert_eq!(quietly(&["git commit --amend -m two"]), ["two"]);
}

#[test]
fn what_a_reset_takes_back_is_not_told_as_committed() {
    let both = ["git commit -m one", "git commit -m two"];
    for (line, expected) in [
        ("git reset --soft HEAD~1", &["one"][..]),
        ("git reset HEAD^", &["one"]),
        ("git reset --hard @~", &["one"]),
        ("git reset --soft HEAD~2 && git commit -m all", &["all"]),
        ("git reset --soft HEAD^^", &[]),
        ("git reset --soft HEAD~9", &[]),
        ("git reset", &["one", "two"]),
        ("git reset --hard", &["one", "two"]),
        ("git reset --hard HEAD", &["one", "two"]),
        ("git reset HEAD a.rs", &["one", "two"]),
        ("git reset HEAD~1 -- a.rs", &["one", "two"]),
        ("git reset a.rs", &["one", "two"]),
        ("git reset --hard HEAD^2", &["one", "two", "→ HEAD^2"]),
        ("git reset --hard origin/main", &["one", "two", "→ origin/main"]),
        ("git reset --hard $BASE", &["one", "two", "→ another commit"]),
        ("git revert --no-edit HEAD", &["one", "two"]),
        ("git -C /elsewhere/app reset --hard HEAD~1", &["one"]),
        ("cd ../other && git reset --hard HEAD~1", &["one", "two"]),
        ("git checkout main; git reset --hard HEAD~1", &["one", "two"]),
        ("git status || git reset --hard HEAD~1", &["one", "two"]),
    ] {
        assert_eq!(quietly(&[both[0], both[1], line]), expected, "{line}");
    }
    assert_eq!(quietly(&["git reset --hard origin/main"]), [""; 0]);
}

#[test]
fn a_commit_whose_hash_was_printed_is_gone_back_to() {
    let lines = [
        ("git commit -m one", "[main (root-commit) 1a2b3c4] one\n 1 file changed"),
        ("git commit -m two", "[main 5d6e7f8] two"),
        ("git commit -m three", "[main 9a9b9c9] three"),
    ];
    let after = |line| told(&[&lines[..], &[(line, "")]].concat());
    assert_eq!(after("git reset --hard 1a2b3c4d5e"), ["one"]);
    assert_eq!(after("git reset 5d6e7f8"), ["one", "two"]);
    assert_eq!(after("git reset --hard 7777777"), ["one", "two", "three", "→ 7777777"]);
}

#[test]
fn without_a_status_a_complaint_is_believed_and_a_commit_that_was_printed_too() {
    let none = |line, printed| told_by(&[("git commit -m one", "[main 1a2b3c4] one"), (line, printed)], None);
    assert_eq!(none("git reset --soft HEAD~1", ""), [""; 0]);
    assert_eq!(none("git reset --soft HEAD~1", "fatal: ambiguous argument"), ["one"]);
    assert_eq!(
        none("git commit --amend -m two", "fatal: You have nothing to amend."),
        ["one"]
    );
    assert_eq!(
        none(
            "git commit -m two",
            "On branch main\nnothing to commit, working tree clean"
        ),
        ["one"]
    );
    let printed = "[main 5d6e7f8] two\nOn branch main\nnothing to commit, working tree clean";
    assert_eq!(none("git commit -m two && git status", printed), ["one", "two"]);
    assert_eq!(
        none(
            "git commit -qm two && git status",
            "nothing to commit, working tree clean"
        ),
        ["one", "two"]
    );
}

proptest! {
    #[test]
    fn no_line_is_too_odd_and_nothing_is_undone_twice(
        lines in proptest::collection::vec(
            "(git |commit |reset |--amend |-m |--hard |HEAD|~|\\^|2|é|&& |-C a |cd b;|checkout x|1a2b3c4 ){0,12}", 0..8),
        printed in "(\\[main 1a2b3c4\\] x\n|fatal: |é|\n){0,4}",
        success in any::<Option<bool>>(),
    ) {
        let mut commits = Commits::default();
        let (mut made, mut undone) = (0, Vec::new());
        for line in lines {
            let result = ToolResult::new("1", success, &*printed);
            for change in commits.take(&steps(&Script::read(&line)), &result) {
                match change {
                    Change::Made(_) => made += 1,
                    Change::Undone(number) => {
                        prop_assert!(number < made && !undone.contains(&number));
                        undone.push(number);
                    }
                    Change::WentTo(_) => {}
                }
            }
        }
    }
}
