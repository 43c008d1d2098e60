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
                Change::Rewrote(behind) => others.push(format!("↻ {}", behind.unwrap_or_default())),
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
        ("git revert --no-edit HEAD", &["one", "two", "Revert \"two\""]),
        ("git revert -n HEAD", &["one", "two"]),
        ("git revert --no-edit HEAD && git reset --hard HEAD~1", &["one", "two"]),
        ("git revert --no-edit 1a2b3c4", &["one", "two"]),
        ("GIT_DIR=/elsewhere/.git git reset --hard HEAD~1", &["one", "two"]),
        ("env -C /elsewhere git reset --hard HEAD~1", &["one", "two"]),
        ("git --namespace x reset --soft HEAD~1", &["one"]),
        ("git rebase -i HEAD~2", &["one", "two", "↻ HEAD~2"]),
        ("git rebase --interactive --autosquash \"$BASE\"", &["one", "two", "↻ "]),
        ("git rebase main", &["one", "two"]),
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

/// What is told of as committed by a line whose success is this.
fn by(line: &str, printed: &str, success: Option<bool>) -> Vec<String> {
    told_by(&[(line, printed)], success)
}

#[test]
fn a_commit_whose_end_is_hidden_is_told_where_it_is_seen() {
    const HOOK: &str = "husky - pre-commit hook exited with code 1 (error)";
    const RUFF: &str = "ruff....Failed\n- hook id: ruff\n- exit code: 1\n\na.py:3:1: F821 Undefined name";
    const NOTHING: &str = "On branch main\nYour branch is up to date.\n\nnothing to commit, working tree clean";
    for (line, printed) in [
        ("git commit -m one 2>&1 | tail -5", HOOK),
        ("git add -A && git commit -m one 2>&1 | tail -20", RUFF),
        ("git commit -qm one 2>&1 | tail -20", RUFF),
        (
            "git commit -m one 2>&1 | cat",
            "error: gpg failed to sign the data\nfatal: failed to write commit object",
        ),
        ("git commit -q -m one | cat", "error: gpg failed to sign the data"),
        ("git commit -m one; git status", NOTHING),
        ("git commit -m one || true", NOTHING),
        (
            "git commit -m one | cat",
            "Changes not staged for commit:\n\nno changes added to commit",
        ),
        ("git commit -m one\ngit log --oneline -1", "1a2b3c4 zero"),
        (
            "git commit -m one | tail -1; git diff --stat",
            " 2 files changed, 1 insertion(+)",
        ),
        ("if git commit -m one; then echo yes; else echo no; fi", "no"),
        ("bash -c 'git commit -m one | cat'", HOOK),
        ("git commit -m one & wait", HOOK),
    ] {
        for success in [Some(true), None] {
            assert_eq!(by(line, printed, success), [""; 0], "{line}");
        }
    }
    for (line, printed) in [
        (
            "git commit -m one 2>&1 | tail -5",
            "[main 1a2b3c4] one\n 1 file changed, 1 insertion(+)",
        ),
        ("git commit -m one 2>&1 | tail -1", " 1 file changed, 1 insertion(+)"),
        (
            "git add . && git commit -m one | tail -2",
            " 2 files changed\n create mode 100644 a.rs",
        ),
        ("git commit -m one || true", "Output: [fix/a 1a2b3c4] one"),
        (
            "git commit -m one 2>&1 | tail -1; git log --oneline -2",
            "1a2b3c4 (HEAD -> main) one\n2a2b3c4 zero",
        ),
        ("git commit -m one | grep -q main", ""),
        ("git commit -qm one; git log --oneline -1", "1a2b3c4 one"),
        ("git commit -m one > /dev/null; git status", NOTHING),
        ("git commit -m \"$M\" | cat", "[main 1a2b3c4] one"),
        ("git commit -F msg.txt | cat", "[main 1a2b3c4] one"),
        ("git commit -m 'one\nmore' | cat", "[main 1a2b3c4] one more"),
    ] {
        for success in [Some(true), None] {
            assert_eq!(by(line, printed, success), ["one"], "{line}");
        }
    }
    // Of what has surely succeeded nothing more is asked.
    assert_eq!(by("git commit -m one", HOOK, Some(true)), ["one"]);
    assert_eq!(
        by("git commit -m one && git push 2>&1", "Everything is fine", Some(true)),
        ["one"]
    );
    assert_eq!(by("git commit -m one", HOOK, None), [""; 0]);
    assert_eq!(by("git commit -F msg.txt", "[main 1a2b3c4] one", Some(true)), ["one"]);
}

#[test]
fn of_several_commits_of_a_line_those_are_told_that_are_seen() {
    let line = "git commit -m one; git commit -m two";
    let printed = "nothing to commit, working tree clean\n[main 1a2b3c4] two";
    assert_eq!(by(line, printed, Some(true)), ["two"]);
    assert_eq!(
        by(line, "[main 1a2b3c4] one\n[main 1a2b3c5] two", Some(true)),
        ["one", "two"]
    );
}

#[test]
fn what_was_committed_before_the_line_has_failed_is_told() {
    let rejected = "[main 5d6e7f8] two\n ! [rejected] main -> main (fetch first)\nerror: failed to push some refs";
    assert_eq!(by("git commit -am two && git push", rejected, Some(false)), ["two"]);
    assert_eq!(by("git commit -am two && git push", "error: x", Some(false)), [""; 0]);
    assert_eq!(by("git commit -qam two && git push", "error: x", Some(false)), [""; 0]);
    let after = |line, printed, success| {
        let mut commits = Commits::default();
        let mut changes = Vec::new();
        for (line, printed, success) in [
            ("git commit -m one", "[main 1a2b3c4] one", Some(true)),
            (line, printed, success),
        ] {
            let result = ToolResult::new("1", success, printed);
            changes.extend(commits.take(&steps(&Script::read(line)), &result));
        }
        changes.split_off(1)
    };
    let line = "git reset --soft HEAD~1 && git commit -m two && git push";
    for success in [Some(false), None] {
        assert_eq!(
            after(line, rejected, success),
            [Change::Undone(0), Change::Made("two".to_owned())]
        );
    }
    assert_eq!(
        after("git commit -m x && git reset --hard HEAD~1", "fatal: x", Some(false)),
        []
    );
    assert_eq!(
        after("git commit --amend -m two && git push", rejected, Some(false)),
        [Change::Undone(0), Change::Made("two".to_owned())]
    );
}

#[test]
fn what_stood_on_a_branch_that_was_deleted_is_not_told_as_committed() {
    let try_it = (
        "git checkout -b try && git commit -am one",
        "[try 1a2b3c4] one\n 1 file changed",
    );
    let deleted = "Deleted branch try (was 1a2b3c4).";
    let after = |lines: &[(&str, &str)]| told(&[&[try_it], lines].concat());
    assert_eq!(after(&[("git checkout main && git branch -D try", deleted)]), [""; 0]);
    assert_eq!(
        after(&[("git switch main", ""), ("git branch -D try other", deleted)]),
        [""; 0]
    );
    for lines in [
        // It is on another branch, or in another repository.
        &[("git checkout main && git merge try && git branch -D try", deleted)][..],
        &[
            ("git checkout main && git cherry-pick try", ""),
            ("git branch -D try", deleted),
        ],
        &[
            ("git push -u origin try", ""),
            ("git checkout main && git branch -D try", deleted),
        ],
        &[
            ("gh pr merge --squash", ""),
            ("git checkout main && git branch -D try", deleted),
        ],
        &[
            ("git checkout -b more", ""),
            ("git checkout main && git branch -D try", deleted),
        ],
        &[
            ("git branch keep", ""),
            ("git checkout main && git branch -D try", deleted),
        ],
        &[
            ("git tag keep", ""),
            ("git checkout main && git branch -D try", deleted),
        ],
        // Git deletes only what was merged.
        &[("git checkout main && git branch -d try", deleted)],
        // It was not, or is another one.
        &[(
            "git checkout main && git branch -D try",
            "error: branch 'try' not found",
        )],
        &[(
            "git checkout main && git branch -D try",
            "Deleted branch try (was 9a9b9c9).",
        )],
        &[(
            "git checkout main && git branch -D tr",
            "Deleted branch tr (was 1a2b3c4).",
        )],
    ] {
        assert_eq!(after(lines), ["one"], "{lines:?}");
    }
}

#[test]
fn a_revert_is_a_commit_of_its_own() {
    let one = ("git commit -m one", "[main 1a2b3c4] one");
    let revert = (
        "git revert --no-edit 1a2b3c4 | cat",
        "[main 5d6e7f8] Revert \"one\"\n 1 file changed",
    );
    assert_eq!(told(&[one, revert]), ["one", "Revert \"one\""]);
    assert_eq!(told(&[one, revert, ("git reset --hard HEAD~1", "")]), ["one"]);
    let failed = (
        "git revert --no-edit HEAD; git status",
        "error: could not revert 1a2b3c4",
    );
    assert_eq!(told(&[one, failed]), ["one"]);
}

proptest! {
    #[test]
    fn no_line_is_too_odd_and_nothing_is_undone_twice(
        lines in proptest::collection::vec(
            "(git |commit |reset |revert |rebase -i |branch -D |--amend |-m |--hard |HEAD|~|\\^|2|é|&& |; |-C a |cd b;|checkout x|1a2b3c4 ){0,12}", 0..8),
        printed in "(\\[main 1a2b3c4\\] |x\n|Revert \"x\"\n|Deleted branch main \\(was 1a2b3c4\\)|fatal: |é|\n){0,4}",
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
                    Change::WentTo(_) | Change::Rewrote(_) => {}
                }
            }
        }
    }
}
