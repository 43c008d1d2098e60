//! Commits from the sandbox if the workspace's repository is elsewhere.
#![cfg(target_os = "linux")]

use crate::sandbox::is_there;
use crate::trial::Trial;
use codelet_agent::permission::Permission;
use serde_json::json;
use std::path::{Path, PathBuf};

fn git(folder: &Path, arguments: &[&str]) {
    let mut git = std::process::Command::new("git");
    git.args([
        "-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "protocol.file.allow=always",
    ])
    .args(arguments);
    git.envs([("GIT_CONFIG_GLOBAL", "/dev/null"), ("GIT_CONFIG_NOSYSTEM", "1")]);
    let done = git.current_dir(folder).output().unwrap();
    assert!(done.status.success(), "{done:?}");
}

/// Disables git's background maintenance, whose processes would be reported with the output of a command.
fn leave_untidy(folder: &Path) {
    git(folder, &["config", "maintenance.auto", "false"]);
    git(folder, &["config", "gc.auto", "0"]);
}

/// A repository with a branch `topic` that has other commits.
fn repository(folder: &Path) {
    git(folder, &["init", "-q", "-b", "main"]);
    leave_untidy(folder);
    for (branch, name) in [("main", "f"), ("topic", "t"), ("main", "m")] {
        if branch == "topic" {
            git(folder, &["checkout", "-qb", branch]);
        } else if name == "m" {
            git(folder, &["checkout", "-q", branch]);
        }
        std::fs::write(folder.join(name), "1\n").unwrap();
        git(folder, &["add", "."]);
        git(
            folder,
            &[
                "commit", "-qm", name, "--author=Other <o@x>", "--date=2001-01-01T00:00:00Z",
            ],
        );
    }
}

/// The tools in the workspace that `make` creates, given a folder `outside` and one beside it.
fn trial(make: impl FnOnce(&Path, &Path) -> PathBuf) -> Trial {
    Trial::with(Permission::Edit, |options| {
        options.workspace = make(&options.workspace.with_file_name("outside"), &options.workspace);
        options.directory = options.workspace.clone();
        let fixed = [
            ("PATH", "/usr/local/bin:/usr/bin:/bin"),
            ("GIT_CONFIG_GLOBAL", "/dev/null"),
            ("GIT_AUTHOR_NAME", "me"),
            ("GIT_AUTHOR_EMAIL", "me@x"),
            ("GIT_COMMITTER_NAME", "me"),
            ("GIT_COMMITTER_EMAIL", "me@x"),
        ];
        options.env = fixed.map(|(name, value)| (name.into(), value.into())).to_vec();
    })
}

/// The tools in a linked tree of the repository that `make` creates in `outside` (it returns the path).
fn linked(make: impl FnOnce(&Path) -> String) -> Trial {
    trial(|outside, work| {
        let common = make(outside);
        git(
            &outside.join(common),
            &[
                "worktree",
                "add",
                "-q",
                "-b",
                "side",
                &work.display().to_string(),
                "main",
            ],
        );
        work.to_owned()
    })
}

const COMMIT: &str = "echo x > new; git add new && git commit -qm two && git log -1 --format='%an %s'";

#[test]
fn in_a_linked_tree_git_does_all_that_it_does_in_a_plain_one() {
    if !is_there() {
        return;
    }
    let plain = trial(|_, work| {
        repository(work);
        git(work, &["checkout", "-qb", "side"]);
        work.to_owned()
    });
    let of_main = linked(|outside| {
        repository(outside);
        ".".to_owned()
    });
    // A bare one has no logs yet.
    let of_bare = linked(|outside| {
        let source = outside.join("source");
        std::fs::create_dir(&source).unwrap();
        repository(&source);
        git(outside, &["clone", "-q", "--bare", "source", ".bare"]);
        ".bare".to_owned()
    });
    for trial in [plain, of_main, of_bare] {
        for (command, told) in [
            (COMMIT, "me two\n"),
            (
                "git cherry-pick topic > /dev/null && git status -s && echo y > y && git add y && git commit -qm own && git log -1 --format='%an %s'",
                "me own\n",
            ),
            (
                "git revert --no-edit HEAD > /dev/null && git log -1 --format=%s",
                "Revert \"own\"\n",
            ),
            (
                "git reset -q --hard HEAD~3 && git rebase -q topic && git status -s && git log -3 --format=%s",
                "two\nm\nt\n",
            ),
            (
                "git merge -q --no-edit main && git status -s && git log -1 --format=%s",
                "Merge branch 'main' into side\n",
            ),
            (
                "git branch old && git branch -m old new && git branch -qd new && git tag v && git tag -d v > /dev/null && git stash list",
                "[exit 0, no output]\n",
            ),
            (
                "git pack-refs --all && git branch -qD topic && git for-each-ref --format='%(refname)'",
                "refs/heads/main\nrefs/heads/side\n",
            ),
        ] {
            let text = trial.done("Bash", json!({ "command": command }));
            // Renaming a branch changes the settings, which is always reported.
            assert!(text.starts_with(told), "{command}: {text}");
        }
    }
}

#[test]
fn what_git_obeys_in_another_trees_repository_is_watched_and_all_beside_it_is_closed() {
    if !is_there() {
        return;
    }
    let trial = linked(|outside| {
        repository(outside);
        git(outside, &["worktree", "add", "-q", "-b", "third", "../third", "main"]);
        ".".to_owned()
    });
    trial.done("Bash", json!({"command": "git status"}));
    let common = trial.outside.join(".git").display().to_string();
    for name in [
        "config",
        "hooks/pre-commit",
        "worktrees/third/config.worktree",
        "worktrees/work/config.worktree",
    ] {
        let output = trial.call(
            "Bash",
            json!({"command": format!("file={common}/{name}; echo '# x' >> $file")}),
        );
        assert!(
            output.notices.iter().any(|notice| notice.contains(name)),
            "{name}: {:?}",
            output.notices
        );
    }
    // Leading another tree to other settings counts as a change; a new tree does not.
    let output = trial.call(
        "Bash",
        json!({"command": format!("file={common}/worktrees/third/commondir; echo /elsewhere > $file")}),
    );
    assert!(
        output.notices.iter().any(|notice| notice.contains("commondir")),
        "{:?}",
        output.notices
    );
    let output = trial.call(
        "Bash",
        json!({"command": "git worktree add -q -b fourth fourth main && echo done"}),
    );
    assert!(
        output.success && output.notices.is_empty(),
        "{} {:?}",
        output.text,
        output.notices
    );
    for name in ["new", "f", "../third/f"] {
        let command = format!("echo evil >> {}/{name}", trial.outside.display());
        let told = trial.failed("Bash", json!({ "command": command }));
        assert!(told.contains("ermission denied"), "{name}: {told}");
    }
}

#[test]
fn a_tree_that_its_repository_does_not_know_cannot_be_committed_to() {
    if !is_there() {
        return;
    }
    let trial = trial(|outside, work| {
        repository(outside);
        git(
            outside,
            &[
                "worktree",
                "add",
                "-q",
                "-b",
                "side",
                &work.display().to_string(),
                "main",
            ],
        );
        std::fs::write(outside.join(".git/worktrees/work/gitdir"), "/elsewhere/.git\n").unwrap();
        work.to_owned()
    });
    trial.fails("Bash", json!({ "command": COMMIT }), "ermission denied");
}

#[test]
fn where_other_trees_lie_in_the_repository_commits_are_made_and_nothing_stays_half_done() {
    if !is_there() {
        return;
    }
    let trial = linked(|outside| {
        let source = outside.join("source");
        std::fs::create_dir(&source).unwrap();
        repository(&source);
        git(outside, &["clone", "-q", "--bare", "source", "bare"]);
        let bare = outside.join("bare");
        git(&bare, &["worktree", "add", "-q", "main"]);
        std::fs::create_dir_all(bare.join("logs")).unwrap();
        "bare".to_owned()
    });
    trial.tells("Bash", json!({ "command": COMMIT }), "me two\n");
    let told = trial.failed("Bash", json!({"command": "git cherry-pick topic"}));
    assert!(
        told.contains("nothing was run: `git cherry-pick` would stay half done"),
        "{told}"
    );
    let told = trial.failed(
        "Bash",
        json!({"command": format!("echo evil >> {}/bare/main/f", trial.outside.display())}),
    );
    assert!(told.contains("ermission denied"), "{told}");
}

#[test]
fn a_submodule_that_is_the_workspace_can_be_committed_to() {
    if !is_there() {
        return;
    }
    let trial = trial(|outside, work| {
        let (source, sub) = (outside.join("source"), work.join("libs/sub"));
        std::fs::create_dir(&source).unwrap();
        repository(&source);
        git(work, &["init", "-q", "-b", "main"]);
        git(
            work,
            &["submodule", "--quiet", "add", &source.display().to_string(), "libs/sub"],
        );
        git(work, &["commit", "-qm", "one"]);
        assert!(sub.join(".git").is_file());
        leave_untidy(&sub);
        sub
    });
    let told = trial.done("Bash", json!({ "command": COMMIT }));
    assert_eq!(told, "me two\n");
    let told = trial.done(
        "Bash",
        json!({"command": "git cherry-pick origin/topic > /dev/null && git status -s && git log -1 --format=%s"}),
    );
    assert_eq!(told, "t\n");
    let output = trial.call("Bash", json!({"command": "git config core.fsmonitor evil"}));
    assert!(
        output.notices.iter().any(|notice| notice.contains("config")),
        "{:?}",
        output.notices
    );
    for name in ["../../.git/config", "../../.gitmodules", "../../.git/HEAD"] {
        let told = trial.failed("Bash", json!({"command": format!("file={name}; echo evil >> $file")}));
        assert!(told.contains("ermission denied"), "{told}");
    }
}
