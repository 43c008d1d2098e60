//! Commits in real repositories, including hostile ones.

#![allow(clippy::unwrap_used)]

use super::super::tests::{fetching, git, world};
use super::*;
use std::fs;
use std::process::Command;

/// A repository with `a.txt` and `b.txt` committed.
fn repository() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().canonicalize().unwrap().join("work");
    fs::create_dir(&path).unwrap();
    git(&path, &["init", "-q", "-b", "main"]);
    git(&path, &["config", "user.name", "Ada"]);
    git(&path, &["config", "user.email", "ada@example.com"]);
    for name in ["a.txt", "b.txt"] {
        fs::write(path.join(name), "one\n").unwrap();
    }
    git(&path, &["add", "."]);
    git(&path, &["commit", "-q", "-m", "first"]);
    (folder, path)
}

/// The output of git there.
fn says(path: &Path, arguments: &[&str]) -> String {
    let mut git = Command::new("git");
    let said = git.arg("-C").arg(path).args(arguments).output().unwrap();
    String::from_utf8_lossy(&said.stdout).into_owned()
}

fn look(path: &Path, made: &[PathBuf]) -> Result<Committable, String> {
    world(path).committable(made, None)
}

fn commit(path: &Path, made: &[PathBuf], message: &str) -> Result<Made, String> {
    let world = world(path);
    let shown = world.committable(made, None)?;
    world.commit(&shown, made, message, None)
}

fn names(commit: &Committable) -> Vec<String> {
    let named = |file: &Changed| format!("{} {}", file.change.letter(), file.name);
    commit.files.iter().map(named).collect()
}

fn executable(path: &Path, script: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn what_is_staged_goes_in_and_nothing_else() {
    let (_folder, path) = repository();
    fs::write(path.join("a.txt"), "staged\n").unwrap();
    git(&path, &["add", "a.txt"]);
    fs::write(path.join("a.txt"), "staged\nand later\n").unwrap();
    fs::write(path.join("b.txt"), "two\n").unwrap();
    fs::write(path.join("new"), "").unwrap();
    let shown = look(&path, &[path.join("new")]).unwrap();
    assert!(shown.is_staged);
    assert_eq!(names(&shown), ["M a.txt"]);
    assert_eq!(shown.files[0].lines, Some((1, 1)));
    assert_eq!(shown.left_out, ["a.txt", "b.txt"]);
    assert_eq!(shown.untracked, ["new"]);
    assert_eq!(
        (shown.branch.as_deref(), shown.author.as_str()),
        (Some("main"), "Ada <ada@example.com>")
    );
    assert_eq!(shown.subjects, ["first"]);
    assert!(
        shown.diff.contains("+staged") && !shown.diff.contains("later"),
        "{}",
        shown.diff
    );
    let made = commit(&path, &[path.join("new")], "Stage\n\n# No comment\nBody.\n").unwrap();
    assert_eq!(
        says(&path, &["log", "-1", "--format=%h %B"]).trim(),
        format!("{} Stage\n\n# No comment\nBody.", made.id)
    );
    assert_eq!(says(&path, &["show", "HEAD:a.txt"]), "staged\n");
    assert_eq!(says(&path, &["status", "--porcelain"]), " M a.txt\n M b.txt\n?? new\n");
}

#[test]
fn where_nothing_is_staged_changed_files_go_in_and_new_ones_that_tools_made_whatever_their_names() {
    let (_folder, path) = repository();
    let odd = [
        "a b", "*", ":(top)x", "-f", "tab\tand\nline", "é", "\"q\"", "src/deep.rs",
    ];
    fs::create_dir(path.join("src")).unwrap();
    let mut made: Vec<PathBuf> = odd.iter().map(|name| path.join(name)).collect();
    made.push(path.join(OsStr::from_bytes(b"not\xfftext")));
    for file in &made {
        fs::write(file, "new\n").unwrap();
    }
    fs::write(path.join("somebody's"), "").unwrap();
    fs::write(path.join("a.txt"), "two\n").unwrap();
    fs::remove_file(path.join("b.txt")).unwrap();
    let shown = look(&path, &made).unwrap();
    assert!(!shown.is_staged);
    assert_eq!(shown.files.len(), made.len() + 2, "{:?}", names(&shown));
    assert_eq!(names(&shown)[..2], ["M a.txt", "D b.txt"]);
    assert!(names(&shown).iter().all(|name| !name.contains(['\n', '\t'])));
    assert_eq!(shown.files[1].lines, Some((0, 1)));
    assert!(shown.files[2..].iter().all(|file| file.lines == Some((1, 0))));
    assert_eq!(shown.untracked, ["somebody's"]);
    assert!(
        shown.diff.contains("+++ b/a.txt") && shown.diff.contains("src/deep.rs\nnew file\n+new\n"),
        "{}",
        shown.diff
    );
    commit(&path, &made, "All").unwrap();
    assert_eq!(says(&path, &["status", "--porcelain"]), "?? somebody's\n");
    assert_eq!(
        says(&path, &["ls-files", "-z"]).split_terminator('\0').count(),
        made.len() + 1
    );
}

#[test]
fn a_hostile_repository_starts_nothing_before_the_user_has_agreed_and_then_in_the_sandbox() {
    let (folder, path) = repository();
    let (ran, outside) = (path.join("ran"), folder.path().join("outside"));
    let touch = format!("touch {}", ran.display());
    for (name, value) in [
        ("core.fsmonitor", touch.as_str()),
        ("diff.external", &touch),
        ("diff.evil.textconv", &touch),
        ("diff.evil.command", &touch),
        ("filter.evil.clean", &format!("{touch};cat")),
        ("core.pager", &touch),
        ("core.editor", &touch),
        ("pager.config", &touch),
        ("alias.commit", &format!("!{touch}")),
        ("alias.rev-parse", &format!("!{touch}")),
        ("gpg.ssh.defaultKeyCommand", &touch),
        ("core.hooksPath", "tools/hooks"),
        ("core.sshCommand", &touch),
    ] {
        git(&path, &["config", name, value]);
    }
    fs::write(path.join(".git/info/attributes"), "*.txt filter=evil diff=evil\n").unwrap();
    executable(
        &path.join("tools/hooks/pre-commit"),
        &format!(
            "touch {} {}; echo checked",
            path.join("hooked").display(),
            outside.display()
        ),
    );
    fs::write(path.join("tools/hooks/commit-msg"), "not executable").unwrap();
    fs::write(path.join("a.txt"), "two\n").unwrap();
    let shown = look(&path, &[]).unwrap();
    assert!(!ran.exists() && !path.join("hooked").exists());
    assert_eq!(shown.hooks, ["tools/hooks/pre-commit"]);
    assert!(
        shown.programs.len() == 2
            && shown.programs[0].starts_with("filter.evil.clean = touch")
            && shown.programs[1].starts_with("gpg.ssh.defaultkeycommand = touch"),
        "{:?}",
        shown.programs
    );
    let made = world(&path).commit(&shown, &[], "Two", None).unwrap();
    // The hook ran, as announced, and could do what a command can.
    assert!(path.join("hooked").exists() && !outside.exists());
    assert!(made.output.contains("checked"), "{made:?}");
    assert_eq!(says(&path, &["log", "-1", "--format=%s"]), "Two\n");
}

#[test]
fn what_a_repository_lacks_is_not_fetched_for_a_commit() {
    for lacking in ["HEAD:sub", "HEAD:sub/c.txt", "HEAD:b.txt"] {
        let (folder, path) = repository();
        let ran = folder.path().join("ran");
        fs::create_dir(path.join("sub")).unwrap();
        fs::write(path.join("sub/c.txt"), "c\n").unwrap();
        git(&path, &["add", "."]);
        git(&path, &["commit", "-q", "-m", "second"]);
        let object = says(&path, &["rev-parse", lacking]);
        let (directory, rest) = object.trim().split_at(2);
        fs::remove_file(path.join(".git/objects").join(directory).join(rest)).unwrap();
        fetching(&path, &ran);
        fs::write(path.join("a.txt"), "two\n").unwrap();
        let _ = commit(&path, &[], "Third");
        assert!(!ran.exists(), "{lacking}");
        says(&path, &["cat-file", "-p", object.trim()]);
        assert!(ran.exists(), "{lacking}");
    }
}

#[test]
fn a_hook_that_refuses_leaves_everything_as_it_was() {
    let (_folder, path) = repository();
    executable(&path.join(".git/hooks/pre-commit"), "echo line too long; exit 1");
    fs::write(path.join("a.txt"), "two\n").unwrap();
    fs::write(path.join("new"), "new\n").unwrap();
    let before = says(&path, &["status", "--porcelain"]);
    let why = commit(&path, &[path.join("new")], "Two").unwrap_err();
    assert_eq!(why, "Nothing was committed: git refused:\nline too long");
    assert_eq!(says(&path, &["status", "--porcelain"]), before);
    assert_eq!(says(&path, &["log", "--format=%s"]), "first\n");
    // Changes that a hook makes to git's own files are reported.
    executable(&path.join(".git/hooks/pre-commit"), "echo true > .git/hooks/post-merge");
    let made = commit(&path, &[path.join("new")], "Two").unwrap();
    assert!(made.changed.unwrap().contains(".git/hooks/post-merge"));
}

#[test]
fn what_hooks_make_of_a_commit_is_what_is_told_of_it() {
    let (_folder, path) = repository();
    fs::write(path.join("a.txt"), "two\n").unwrap();
    fs::write(path.join("more.txt"), "more\n").unwrap();
    git(&path, &["add", "a.txt"]);
    executable(&path.join(".git/hooks/pre-commit"), "git add more.txt");
    executable(&path.join(".git/hooks/commit-msg"), "echo Other words > \"$1\"");
    let made = commit(&path, &[], "Two").unwrap();
    assert_eq!(
        (made.subject.as_str(), made.files),
        ("Other words", vec!["a.txt".to_owned(), "more.txt".to_owned()])
    );
}

#[test]
fn what_has_changed_since_it_was_shown_is_not_committed() {
    let (_folder, path) = repository();
    let world = world(&path);
    let after = |change: &dyn Fn()| {
        let shown = world.committable(&[], None).unwrap();
        change();
        world.commit(&shown, &[], "Two", None).unwrap_err()
    };
    fs::write(path.join("a.txt"), "two\n").unwrap();
    for change in [
        &(|| fs::write(path.join("a.txt"), "three\n").unwrap()) as &dyn Fn(),
        &|| fs::write(path.join("b.txt"), "two\n").unwrap(),
        &|| executable(&path.join(".git/hooks/pre-commit"), "true"),
        // A hook of the same name that does something else.
        &|| executable(&path.join(".git/hooks/pre-commit"), "exit"),
        &|| git(&path, &["checkout", "-q", "-b", "other"]),
        &|| git(&path, &["config", "filter.x.clean", "cat"]),
    ] {
        assert_eq!(after(change), CHANGED_MEANWHILE);
    }
    assert_eq!(says(&path, &["log", "--format=%s"]), "first\n");
}

#[test]
fn why_nothing_can_be_committed_is_told() {
    let plain = tempfile::tempdir().unwrap();
    assert_eq!(look(plain.path(), &[]).unwrap_err(), "This is not a git repository.");
    let (_folder, path) = repository();
    assert_eq!(
        look(&path, &[]).unwrap_err(),
        "Nothing has changed since the last commit."
    );
    fs::write(path.join("new"), "").unwrap();
    assert!(
        look(&path, &[])
            .unwrap_err()
            .starts_with("Nothing to commit: no tracked file has changed. Untracked: new;")
    );
    fs::write(path.join("a.txt"), "two\n").unwrap();
    git(&path, &["config", "--unset", "user.email"]);
    git(&path, &["config", "user.useConfigOnly", "true"]);
    assert!(
        look(&path, &[])
            .unwrap_err()
            .starts_with("Git does not know who you are")
    );
    git(&path, &["config", "user.email", "a@b"]);
    git(&path, &["checkout", "-q", "--detach"]);
    assert_eq!(look(&path, &[]).unwrap().branch, None);
    git(&path, &["checkout", "-q", "-b", "side"]);
    git(&path, &["commit", "-q", "-a", "-m", "side"]);
    git(&path, &["checkout", "-q", "main"]);
    fs::write(path.join("a.txt"), "other\n").unwrap();
    git(&path, &["commit", "-q", "-a", "-m", "main"]);
    let merged = Command::new("git")
        .arg("-C")
        .arg(&path)
        .args(["merge", "-q", "side"])
        .output()
        .unwrap();
    assert!(!merged.status.success());
    assert!(look(&path, &[]).unwrap_err().starts_with("A merge is in progress"));
    let world = world(&path);
    world.reach.permit(Permission::Read);
    let refused = world.commit(&Committable::default(), &[], "x", None);
    assert_eq!(refused.unwrap_err(), "This permission does not allow commits.");
}

#[test]
fn a_first_commit_and_one_from_a_folder_below_are_made() {
    let (_folder, path) = repository();
    let below = path.join("below");
    fs::create_dir(&below).unwrap();
    fs::write(path.join("a.txt"), "two\n").unwrap();
    let from_below = World {
        directory: below,
        ..world(&path)
    };
    let shown = from_below.committable(&[], None).unwrap();
    from_below.commit(&shown, &[], "From below", None).unwrap();
    assert_eq!(says(&path, &["log", "-1", "--format=%s"]), "From below\n");
    let new = path.join("new");
    fs::create_dir(&new).unwrap();
    git(&new, &["init", "-q", "-b", "trunk"]);
    git(&new, &["config", "user.name", "Ada"]);
    git(&new, &["config", "user.email", "a@b"]);
    fs::write(new.join("x"), "").unwrap();
    git(&new, &["add", "x"]);
    let shown = look(&new, &[]).unwrap();
    assert_eq!((shown.branch.as_deref(), shown.head.as_deref()), (Some("trunk"), None));
    commit(&new, &[], "First").unwrap();
    assert_eq!(says(&new, &["log", "--format=%s"]), "First\n");
}

#[test]
fn many_changes_are_bounded_for_the_model_and_each_file_has_its_share() {
    let part = |name: &str, lines: usize| format!("diff --git a/{name} b/{name}\n{}", "+line\n".repeat(lines));
    let told = bounded(&format!("{}{}", part("large", 50_000), part("small", 3)), true);
    assert!(
        told.len() < DIFF && told.contains("more lines of this file]\n"),
        "{}",
        told.len()
    );
    assert!(told.ends_with(&part("small", 3)));
    let many: String = (0..500).map(|number| part(&number.to_string(), 400)).collect();
    let told = bounded(&many, true);
    assert!(
        told.len() <= DIFF + 64 && told.ends_with(" more files]\n"),
        "{}",
        told.len()
    );
    assert_eq!(bounded("", false), "[… and more changes]\n");
}

#[test]
fn a_file_that_becomes_a_link_or_executable_is_told_as_git_tells_it() {
    let (_folder, path) = repository();
    fs::write(path.join("a.txt"), "one\ntwo\n").unwrap();
    git(&path, &["commit", "-q", "-a", "-m", "second"]);
    let executable = |name: &str| fs::set_permissions(path.join(name), fs::Permissions::from_mode(0o755)).unwrap();
    let link = |target: &str, name: &str| {
        let _ = fs::remove_file(path.join(name));
        std::os::unix::fs::symlink(target, path.join(name)).unwrap();
    };
    link("/etc/passwd", "a.txt");
    executable("b.txt");
    fs::write(path.join("run"), "echo\n").unwrap();
    executable("run");
    link("b.txt", "new");
    let modes = |commit: &Committable| -> Vec<String> {
        let told = commit.files.iter().map(|file| {
            let mode = file.mode.as_deref().unwrap_or("-");
            format!("{} {}: {mode}", file.change.letter(), file.name)
        });
        told.collect()
    };
    let expected = [
        "T a.txt: old mode 100644, new mode 120000 -> /etc/passwd",
        "M b.txt: old mode 100644, new mode 100755",
        "A new: new file mode 120000 -> b.txt",
        "A run: new file mode 100755",
    ];
    let made = ["run", "new"].map(|name| path.join(name));
    let shown = look(&path, &made).unwrap();
    assert_eq!(modes(&shown), expected);
    assert!(shown.diff.contains("new file mode 100755\n+echo"), "{}", shown.diff);
    // The target of a link is shown when staged, and another target means another commit.
    git(&path, &["add", "."]);
    link("/etc/shadow", "a.txt");
    let staged = look(&path, &[]).unwrap();
    assert_eq!(modes(&staged), expected);
    git(&path, &["commit", "-q", "-m", "third"]);
    let shown = look(&path, &[]).unwrap();
    assert_eq!(modes(&shown), ["M a.txt: mode 120000 -> /etc/shadow"]);
    link("/etc/group", "a.txt");
    let world = world(&path);
    let refused = world.commit(&shown, &[], "Link", None).unwrap_err();
    assert!(refused.starts_with(CHANGED_MEANWHILE), "{refused}");
}
