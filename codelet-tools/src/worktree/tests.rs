//! Working trees of real repositories.

#![allow(clippy::unwrap_used)]

use super::*;
use crate::environment::tests::{fetching, git};
use std::fs;
use std::process::Command;

struct Scene {
    folder: tempfile::TempDir,
}

impl Scene {
    /// A repository `app` with one commit.
    fn new() -> Scene {
        let folder = tempfile::tempdir().unwrap();
        let scene = Scene { folder };
        let app = scene.path("app");
        fs::create_dir_all(app.join("src")).unwrap();
        fs::write(app.join("src/a.txt"), "one\n").unwrap();
        git(&app, &["init", "-q", "-b", "main"]);
        git(&app, &["add", "."]);
        git(&app, &["commit", "-q", "-m", "first"]);
        scene
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    fn options(&self, directory: &Path) -> Options {
        let root = crate::repository::root(directory).unwrap_or_else(|| directory.to_owned());
        let mut options = Options::new(&root);
        options.directory = directory.to_owned();
        options.temporary = "/nonexistent/tmp".into();
        options.private = vec![self.path("private")];
        options.env = vec![("PATH".into(), std::env::var_os("PATH").unwrap())];
        options
    }

    fn enter(&self, from: &str, name: &str) -> Result<Worktree, String> {
        Worktree::enter(&self.options(&self.path(from)), name)
    }
}

fn says(path: &Path, arguments: &[&str]) -> String {
    let said = Command::new("git")
        .arg("-C")
        .arg(path)
        .args(arguments)
        .output()
        .unwrap();
    String::from_utf8_lossy(&said.stdout).into_owned()
}

#[test]
fn a_tree_is_made_beside_the_repository_and_found_again() {
    let scene = Scene::new();
    fs::write(scene.path("app/dirty"), "").unwrap();
    let tree = scene.enter("app/src", "ada/fix").unwrap();
    assert_eq!(tree.path, scene.path("app.worktrees/ada/fix"));
    assert_eq!(tree.directory, scene.path("app.worktrees/ada/fix/src"));
    assert!(!tree.is_reused);
    assert_eq!(says(&tree.path, &["branch", "--show-current"]), "ada/fix\n");
    assert_eq!(tree.notices.len(), 2, "{:?}", tree.notices);
    assert!(
        tree.notices[1].starts_with("uncommitted changes of 1 file in "),
        "{:?}",
        tree.notices
    );
    let options = scene.options(&tree.path);
    assert_eq!(tree.holds(&options), Some(Holds::default()));
    fs::write(tree.path.join("new"), "").unwrap();
    git(&tree.path, &["commit", "-q", "--allow-empty", "-m", "second"]);
    assert_eq!(tree.holds(&options), Some(Holds { commits: 1, files: 1 }));
    // Also from the tree itself, and never one inside another.
    for from in ["app", "app.worktrees/ada/fix/src"] {
        let again = scene.enter(from, "ada/fix").unwrap();
        assert_eq!((again.path, again.is_reused), (tree.path.clone(), true));
    }
    let other = scene.enter("app.worktrees/ada/fix", "other").unwrap();
    assert_eq!(other.path, scene.path("app.worktrees/other"));
    // It starts at the commit of the tree from which it was requested.
    assert_eq!(says(&other.path, &["log", "-1", "--format=%s"]), "second\n");
    // A tree whose folder was deleted is created again, with its commits.
    fs::remove_dir_all(&tree.path).unwrap();
    let again = scene.enter("app", "ada/fix").unwrap();
    assert!(!again.is_reused);
    assert_eq!(says(&again.path, &["log", "-1", "--format=%s"]), "second\n");
}

#[test]
fn a_link_in_the_branch_leads_the_session_nowhere() {
    let scene = Scene::new();
    let app = scene.path("app");
    git(&app, &["checkout", "-q", "-b", "other"]);
    fs::remove_dir_all(app.join("src")).unwrap();
    std::os::unix::fs::symlink("../../app", app.join("src")).unwrap();
    git(&app, &["add", "-A"]);
    git(&app, &["commit", "-q", "-m", "link"]);
    git(&app, &["checkout", "-q", "main"]);
    let tree = scene.enter("app/src", "other").unwrap();
    assert_eq!(
        (&tree.directory, &tree.path),
        (&scene.path("app.worktrees/other"), &tree.directory)
    );
    // The tree itself must not be a link either.
    fs::rename(&tree.path, scene.path("moved")).unwrap();
    std::os::unix::fs::symlink(scene.path("moved"), &tree.path).unwrap();
    let why = scene.enter("app", "other").unwrap_err();
    assert!(why.ends_with("app.worktrees/other is a link"), "{why}");
}

#[test]
fn why_there_can_be_none_is_told() {
    let scene = Scene::new();
    let refused = |from: &str, name: &str| scene.enter(from, name).unwrap_err();
    for name in [
        "", "-x", "a b", "../out", "a..b", "/abs", "a//b", "x.lock", ".hidden", "@{-1}", "HEAD", "a\u{202e}b", "a/../b",
    ] {
        assert!(refused("app", name).contains("is not a valid branch name"), "{name:?}");
    }
    assert!(refused("app", "main").starts_with("branch main is checked out at "));
    fs::create_dir_all(scene.path("plain")).unwrap();
    assert_eq!(refused("plain", "x"), "this is not a git repository");
    fs::create_dir_all(scene.path("app.worktrees/taken")).unwrap();
    assert!(refused("app", "taken").ends_with("exists and is not a working tree of this repository"));
    fs::create_dir_all(scene.path("empty")).unwrap();
    git(&scene.path("empty"), &["init", "-q"]);
    assert!(refused("empty", "x").starts_with("this repository has no commits yet"));
    assert!(!scene.path("empty.worktrees").exists());
    // An existing branch that is checked out nowhere is used.
    git(&scene.path("app"), &["branch", "free"]);
    assert_eq!(scene.enter("app", "free").unwrap().branch, "free");
    // A branch that is checked out elsewhere is reported.
    git(&scene.path("app"), &["worktree", "add", "-q", "../mine", "-b", "mine"]);
    assert!(refused("app", "mine").ends_with(&format!("codelet -C {}`", scene.path("mine").display())));
    // For a bare repository, the request comes from one of its trees.
    git(&scene.path("app"), &["clone", "-q", "--bare", ".", "../bare.git"]);
    assert!(refused("bare.git", "x").contains("not a git repository"));
    git(
        &scene.path("bare.git"),
        &["worktree", "add", "-q", "../first", "-b", "first"],
    );
    assert_eq!(
        scene.enter("first", "x").unwrap().path,
        scene.path("bare.git.worktrees/x")
    );
}

#[test]
fn nothing_that_a_repository_names_is_started() {
    let scene = Scene::new();
    let (app, ran) = (scene.path("app"), scene.path("app/ran"));
    let touch = format!("touch {};cat", ran.display());
    fs::write(app.join(".gitattributes"), "*.txt filter=evil diff=evil\n").unwrap();
    git(&app, &["add", "."]);
    git(&app, &["commit", "-q", "-m", "second"]);
    for (name, value) in [
        ("core.fsmonitor", touch.as_str()),
        ("filter.evil.smudge", &touch),
        ("filter.evil.clean", &touch),
        ("filter.evil.process", &touch),
        ("filter.evil.required", "true"),
        ("diff.external", &touch),
        ("alias.worktree", &format!("!{touch}")),
        ("core.hooksPath", ".hooks"),
        ("core.editor", &touch),
    ] {
        git(&app, &["config", name, value]);
    }
    for hooks in [".hooks", ".git/hooks"] {
        use std::os::unix::fs::PermissionsExt as _;
        let hook = app.join(hooks).join("post-checkout");
        fs::create_dir_all(hook.parent().unwrap()).unwrap();
        fs::write(&hook, format!("#!/bin/sh\n{touch}\n")).unwrap();
        fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let tree = scene.enter("app", "x").unwrap();
    assert_eq!(fs::read_to_string(tree.path.join("src/a.txt")).unwrap(), "one\n");
    assert!(tree.holds(&scene.options(&tree.path)).is_some());
    assert!(!ran.exists());
    git(&app, &["config", "filter.a=b.smudge", &touch]);
    assert!(
        scene
            .enter("app", "y")
            .unwrap_err()
            .contains("a filter with an odd name")
    );
    assert!(!ran.exists());
    // Nothing of it is left.
    assert!(!scene.path("app.worktrees/y").exists());
    assert!(!says(&app, &["branch"]).contains('y') && !says(&app, &["worktree", "list"]).contains("/y"));
}

#[test]
fn settings_that_hold_in_the_new_tree_alone_start_nothing_either() {
    for condition in ["onbranch:x", "gitdir:**/worktrees/**"] {
        let scene = Scene::new();
        let (app, ran) = (scene.path("app"), scene.path("ran"));
        let touch = format!("touch {};cat", ran.display());
        let filter = format!("[filter \"evil\"]\nsmudge = \"{touch}\"\n");
        fs::write(app.join(".git/more"), filter).unwrap();
        git(&app, &["config", &format!("includeIf.{condition}.path"), "more"]);
        fs::write(app.join(".git/info/attributes"), "*.txt filter=evil\n").unwrap();
        let tree = scene.enter("app", "x").unwrap();
        assert_eq!(fs::read_to_string(tree.path.join("src/a.txt")).unwrap(), "one\n");
        assert!(!ran.exists(), "{condition}");
        // A plain `git reset` does start the filter.
        fs::remove_file(tree.path.join("src/a.txt")).unwrap();
        says(&tree.path, &["reset", "--hard"]);
        assert!(ran.exists(), "{condition}");
    }
}

#[test]
fn what_a_repository_lacks_is_not_fetched_for_a_tree() {
    let scene = Scene::new();
    let (app, ran) = (scene.path("app"), scene.path("app/ran"));
    let blob = says(&app, &["rev-parse", "HEAD:src/a.txt"]);
    let (folder, rest) = blob.trim().split_at(2);
    fs::remove_file(app.join(".git/objects").join(folder).join(rest)).unwrap();
    fetching(&app, &ran);
    assert!(scene.enter("app", "x").is_err());
    assert!(!ran.exists() && !scene.path("app.worktrees/x").exists());
    says(&app, &["cat-file", "-p", blob.trim()]);
    assert!(ran.exists());
}
