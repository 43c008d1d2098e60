//! The environment of a session as the loop describes it to the model: instruction files, the machine, the repository.

mod commit;
mod uncommitted;

use crate::Reach;
use crate::files;
use crate::git::{Answer, Git};
use crate::ignored::Ignored;
use crate::repository::{Repository, is_gits};
use crate::run_blocking::watched;
use crate::secrets::SecretSource;
use crate::text;
use codelet_agent::commit::{Committable, Made};
use codelet_agent::environment::{Listing, Places, Surroundings, Uncommitted};
use codelet_agent::interrupt::Interrupt;
use codelet_agent::spelling;
use codelet_text::short::on_one_line;
use codelet_text::unseen::hides;
use futures_util::future::BoxFuture;
use rustix::fs::Dir;
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::io::{PipeReader, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};
use time::OffsetDateTime;

/// Changed files, and commits, that are listed.
const CHANGED: usize = 50;
const COMMITS: usize = 5;
/// Bytes of a line that are shown.
const LINE: usize = 200;

/// The session's view of its environment.
#[derive(Clone)]
pub struct World {
    /// The session's directory.
    pub directory: PathBuf,
    /// The root of the project, where its instructions are looked for.
    pub root: PathBuf,
    /// Folders that were added to the workspace.
    pub added: Vec<PathBuf>,
    /// The user's home.
    pub home: Option<PathBuf>,
    /// Folders with the user's own instructions.
    pub own: Vec<PathBuf>,
    /// The shell's name for the model.
    pub shell: String,
    /// The environment for git, without keys.
    pub env: Vec<(OsString, OsString)>,
    /// The permission of the tools; git's scratch files are put where no command can change them.
    pub reach: Reach,
    /// Time limit for all git commands of a state together; later answers are omitted.
    pub git_time: Duration,
    /// Values that are hidden from the model wherever they occur: in instructions, file names, commit subjects.
    pub secrets: SecretSource,
    /// Returns the current date, as `2026-11-22`. It is called each time, since sessions outlast days.
    pub today: Arc<dyn Fn() -> String + Send + Sync>,
    /// The state of the repository, where it was [asked for ahead](World::ask_ahead).
    pub ahead: Ahead,
}

/// The next answer about the repository's state.
pub type Ahead = Arc<Mutex<Option<BoxFuture<'static, Option<String>>>>>;

/// Formats the date in UTC, as `2026-11-22`.
pub fn date_utc(time: SystemTime) -> String {
    let seconds = time
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default()
        .as_secs();
    let now = i64::try_from(seconds)
        .ok()
        .and_then(|seconds| OffsetDateTime::from_unix_timestamp(seconds).ok());
    now.unwrap_or(OffsetDateTime::UNIX_EPOCH).date().to_string()
}

impl Surroundings for World {
    fn resolve(&self, path: &Path) -> Option<PathBuf> {
        path.canonicalize().ok()
    }

    fn is_folder(&self, path: &Path) -> bool {
        path.is_dir()
    }

    fn is_gits(&self, path: &Path) -> bool {
        // Working trees may be inside a bare repository's folder; otherwise all their files would be hidden.
        is_gits(path) && !is_gits(&self.root.join("AGENTS.md"))
    }

    fn is_ignored(&self, folder: &Path) -> bool {
        let root = self.places().root;
        let mut way = folder
            .ancestors()
            .take_while(|above| above.starts_with(&root) && **above != *root);
        way.any(|above| Ignored::above(above).names(above, true))
    }

    fn text(&self, path: &Path, limit: usize) -> Option<(String, u64)> {
        // Instructions may be a link to a file kept elsewhere.
        let path = path.canonicalize().ok()?;
        let (file, metadata) = files::open(&path).ok()?;
        let mut bytes = Vec::new();
        file.take((limit as u64).saturating_add(4))
            .read_to_end(&mut bytes)
            .ok()?;
        if text::is_binary(&bytes) {
            return None;
        }
        let size = metadata.len().max(bytes.len() as u64);
        let text = text::decode(&bytes).text;
        let is_whole = size == bytes.len() as u64;
        let mut text = self.without_secrets(&text, is_whole);
        if text.len() > limit {
            text.truncate(text.floor_char_boundary(limit));
        }
        Some((text, size))
    }

    fn list(&self, folder: &Path, most: usize) -> Option<Listing> {
        // Opened without following links; fails for devices.
        let held = files::open_folder(folder).ok()?;
        let entries = Dir::new(held).ok()?.filter_map(Result::ok);
        let names = entries.filter_map(|entry| String::from_utf8(entry.file_name().to_bytes().to_vec()).ok());
        // The first by name, whatever the order in which the file system gives them.
        let (mut first, mut is_whole) = (BTreeSet::new(), true);
        for name in names.filter(|name| name != "." && name != "..") {
            first.insert(name);
            if first.len() > most {
                first.pop_last();
                is_whole = false;
            }
        }
        Some(Listing {
            names: first.into_iter().collect(),
            is_whole,
        })
    }

    fn hide(&self, text: &str) -> String {
        self.secrets.now().hide(text).into_owned()
    }

    fn places(&self) -> Places {
        let directory = self.directory.canonicalize().unwrap_or_else(|_| self.directory.clone());
        Places {
            root: self.root.canonicalize().unwrap_or_else(|_| self.root.clone()),
            directory,
            own: self.own.clone(),
            home: self.home.clone(),
        }
    }

    fn environment(&self) -> String {
        let is_git = root(&self.places().directory).is_some();
        let added: Vec<String> = self
            .added
            .iter()
            .map(|folder| spelling::spell(folder.as_os_str()))
            .collect();
        let added = match added.is_empty() {
            true => String::new(),
            false => format!("additional directories, used like this one: {}\n", added.join(", ")),
        };
        let facts = format!(
            "directory: {}\n{added}platform: {}\narchitecture: {}\nshell: {}\ndate: {}\ngit repository: {}\n",
            self.places().directory.display(),
            std::env::consts::OS,
            std::env::consts::ARCH,
            self.shell,
            (self.today)(),
            if is_git { "yes" } else { "no" },
        );
        self.without_secrets(&facts, true)
    }

    fn git_status(&self, interrupt: Interrupt) -> BoxFuture<'static, Option<String>> {
        let begun = self.ahead.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(begun) = begun else {
            let world = self.clone();
            return asked_of_git(&interrupt, move |stop| world.repository(stop));
        };
        Box::pin(async move {
            tokio::select! {
                status = begun => status,
                () = interrupt.thrown() => None,
            }
        })
    }

    fn git_diff(&self, path: Option<&str>, interrupt: Interrupt) -> BoxFuture<'static, Result<Uncommitted, String>> {
        let (world, path) = (self.clone(), path.map(str::to_owned));
        let asked = asked_of_git(&interrupt, move |stop| Some(world.uncommitted(path.as_deref(), stop)));
        Box::pin(async move { asked.await.unwrap_or_else(|| Err("Interrupted.".to_owned())) })
    }

    fn git_committable(
        &self,
        made: Vec<PathBuf>,
        interrupt: Interrupt,
    ) -> BoxFuture<'static, Result<Committable, String>> {
        self.asked_what_to_commit(made, interrupt)
    }

    fn git_commit(
        &self,
        commit: Committable,
        made: Vec<PathBuf>,
        message: String,
        interrupt: Interrupt,
    ) -> BoxFuture<'static, Result<Made, String>> {
        self.asked_to_commit(commit, made, message, interrupt)
    }
}

/// Queries git on a separate thread, at once; git ends when the answer is no longer needed.
fn asked_of_git<T: Send + 'static>(
    interrupt: &Interrupt,
    ask: impl FnOnce(Option<PipeReader>) -> Option<T> + Send + 'static,
) -> BoxFuture<'static, Option<T>> {
    let asked = watched("git", interrupt, |stopped| ask(Some(stopped)));
    Box::pin(async move { asked.ok()?.await? })
}

impl World {
    /// Asks for the repository's state before the prompt that needs it, which has to follow at once.
    pub fn ask_ahead(&self) {
        let asked = self.git_status(Interrupt::new());
        *self.ahead.lock().unwrap_or_else(PoisonError::into_inner) = Some(asked);
    }

    /// Removes secrets from a text; if it is not complete, also a secret's first part at its end.
    fn without_secrets(&self, text: &str, is_whole: bool) -> String {
        if is_whole {
            self.secrets.now().hide(text).into_owned()
        } else {
            self.secrets.now().hide_in_beginning(text)
        }
    }

    /// The branch, changed files and last commits; `None` outside a repository, or if the repository belongs to another
    /// folder. It ends when the other end of `stop` is closed.
    fn repository(&self, stop: Option<PipeReader>) -> Option<String> {
        let directory = self.places().directory;
        let repository = Repository::of(&directory).filter(Repository::is_of_its_tree)?;
        let git = Git::new(&repository, &directory, &self.env, &self.reach.0, self.git_time, stop);
        let count = format!("-{COMMITS}");
        // Before lines are shortened, which could split a secret.
        let hidden = |(answer, is_whole): Answer| (self.without_secrets(&answer, is_whole), is_whole);
        // Git would run another git in a submodule, which obeys the submodule's settings.
        let status = [
            "status", "--porcelain=v1", "--branch", "--untracked-files=normal", "--ignore-submodules=all", "-z",
        ]
        .map(OsStr::new);
        let log = ["log", "--no-show-signature", "--format=%h %s", &count].map(OsStr::new);
        let answers = git.map(|git| git.ask_both(&status, &log)).unwrap_or_default();
        let [status, log] = answers.map(|answer| answer.map(hidden));
        let mut out = match status {
            Some((answer, is_whole)) => state(&answer, is_whole),
            // The repository may be too large to scan in time, or git is missing; the branch is known without it.
            None => format!(
                "branch: {}\nchanged files: not known, git gave no answer\n",
                one_line(&self.without_secrets(&repository.branch()?, true))
            ),
        };
        if let Some((log, _)) = log
            && !log.trim().is_empty()
        {
            out.push_str("last commits:\n");
            for line in log.lines().take(COMMITS) {
                out.push_str(&format!("  {}\n", one_line(line)));
            }
        }
        Some(out)
    }
}

/// The root of the repository that a folder belongs to.
pub fn root(directory: &Path) -> Option<PathBuf> {
    crate::repository::root(directory)
}

/// Formats the branch and changed files from the output of `git status --porcelain=v1 --branch -z`.
fn state(answer: &str, is_whole: bool) -> String {
    let mut entries = answer.split('\0').filter(|entry| !entry.is_empty());
    let mut out = String::new();
    let mut changed: Vec<String> = Vec::new();
    let mut count = 0;
    while let Some(mut entry) = entries.next() {
        if let Some(branch) = entry.strip_prefix("## ") {
            // If git cannot name HEAD, the first file follows at once; no branch name contains a space.
            let is_file = |text: &str| matches!(text.as_bytes(), [b' '..=b'Z', b' '..=b'Z', b' ', ..]);
            if !is_file(branch) {
                out.push_str(&format!("branch: {}\n", one_line(branch)));
                continue;
            }
            out.push_str("branch: not known\n");
            entry = branch;
        }
        let Some((signs, path)) = entry.split_at_checked(3) else {
            continue;
        };
        // The old name of a renamed or copied file is a separate entry.
        let from = signs.contains(['R', 'C']).then(|| entries.next()).flatten();
        count += 1;
        if changed.len() < CHANGED {
            let from = from.map(|from| format!("{from} -> ")).unwrap_or_default();
            changed.push(one_line(&format!("{signs}{from}{path}")));
        }
    }
    match count {
        0 => out.push_str("changed files: none\n"),
        _ => out.push_str("changed files:\n"),
    }
    for line in &changed {
        out.push_str(&format!("  {line}\n"));
    }
    if count > changed.len() || !is_whole {
        let more = if is_whole {
            (count - changed.len()).to_string()
        } else {
            "many".to_owned()
        };
        out.push_str(&format!("  and {more} more\n"));
    }
    out
}

/// Reduces a name or commit subject, which may contain anything, to one line without invisible characters.
fn one_line(text: &str) -> String {
    let line: String = on_one_line(text).filter(|c| !hides(*c)).collect();
    text::shorten(&line, LINE).into_owned()
}

#[cfg(test)]
pub(crate) mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use proptest::prelude::*;
    use std::process::Command;

    pub(super) fn world(directory: &Path) -> World {
        let mut options = crate::Options::new(directory);
        options.temporary = "/nonexistent/tmp".into();
        options.private = vec![std::env::temp_dir().join("codelet-tests-of-surroundings")];
        World {
            directory: directory.to_owned(),
            root: root(directory).unwrap_or_else(|| directory.to_owned()),
            added: Vec::new(),
            home: None,
            own: Vec::new(),
            shell: "bash".to_owned(),
            env: vec![("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())],
            reach: crate::all_with_reach(&options).1,
            // Machines that run tests are busy.
            git_time: Duration::from_secs(60),
            secrets: SecretSource::default(),
            today: Arc::new(|| "2026-11-22".to_owned()),
            ahead: Ahead::default(),
        }
    }

    /// Ignores the settings of the user who runs the tests.
    const ALONE: [(&str, &str); 2] = [("GIT_CONFIG_GLOBAL", "/dev/null"), ("GIT_CONFIG_NOSYSTEM", "1")];

    pub(crate) fn git(folder: &Path, arguments: &[&str]) {
        let identity = [
            "-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "init.defaultBranch=main",
        ];
        let done = Command::new("git")
            .args(identity)
            .args(arguments)
            .envs(ALONE)
            .current_dir(folder)
            .output()
            .unwrap();
        assert!(done.status.success(), "{done:?}");
    }

    /// Sets up a repository to fetch missing objects by a program that creates this file.
    pub(crate) fn fetching(repository: &Path, mark: &Path) {
        let program = repository.join(".git/program");
        std::fs::write(&program, format!("#!/bin/sh\ntouch {}\nfalse\n", mark.display())).unwrap();
        std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        for (name, value) in [
            ("core.repositoryFormatVersion", "1"),
            ("extensions.partialClone", "origin"),
            ("remote.origin.promisor", "true"),
            ("protocol.ext.allow", "always"),
            ("remote.origin.url", &format!("ext::{} x", program.display())),
        ] {
            git(repository, &["config", name, value]);
        }
    }

    #[test]
    fn what_is_in_a_repositorys_folder_is_gits_under_any_name_of_that() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        git(&base, &["init", "-q", "--separate-git-dir=kept", "work"]);
        git(&base, &["init", "-q", "--bare", "trees"]);
        std::fs::create_dir(base.join("trees/main")).unwrap();
        let whole = world(&base);
        assert!(whole.is_gits(&base.join("kept/config")));
        assert!(!whole.is_gits(&base.join("work/config")));
        // Instructions of a working tree in a bare repository's folder are read like any others.
        let tree = world(&base.join("trees/main"));
        assert!(!tree.is_gits(&base.join("trees/main/docs/a.md")));
    }

    #[test]
    fn a_repository_is_told_in_a_few_lines() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        assert_eq!(world(&base).repository(None), None);
        git(&base, &["init", "-q"]);
        std::fs::write(base.join("a b"), "x").unwrap();
        std::fs::create_dir(base.join("sub")).unwrap();
        assert!(
            world(&base)
                .repository(None)
                .unwrap()
                .contains("No commits yet on main")
        );
        git(&base, &["add", "."]);
        git(&base, &["commit", "-qm", "The\u{202e} first\n\nbody"]);
        git(&base, &["mv", "a b", "c"]);
        std::fs::write(base.join("new\n## line"), "x").unwrap();
        let status = world(&base.join("sub")).repository(None).unwrap();
        let (state, commits) = status.split_once("last commits:\n").unwrap();
        assert_eq!(state, "branch: main\nchanged files:\n  R  a b -> c\n  ?? new ## line\n");
        assert!(
            commits.ends_with(" The first\n") && commits.lines().count() == 1,
            "{commits}"
        );
        assert_eq!(world(&base.join("sub")).places().root, base);
    }

    #[test]
    fn of_a_repository_elsewhere_only_one_that_names_the_tree_is_told_of() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        let own = base.join("own");
        std::fs::create_dir(&own).unwrap();
        git(&own, &["init", "-q"]);
        std::fs::write(own.join("secret-plan"), "x").unwrap();
        git(&own, &["add", "."]);
        git(&own, &["commit", "-qm", "An offer"]);
        git(&own, &["worktree", "add", "-q", "../tree"]);
        assert!(world(&base.join("tree")).repository(None).unwrap().contains("An offer"));
        // Folders from a stranger.
        let sent = |name: &str| {
            let sent = base.join(name);
            std::fs::create_dir(&sent).unwrap();
            sent
        };
        let by_file = sent("file");
        std::fs::write(by_file.join(".git"), "gitdir: ../own/.git\n").unwrap();
        let by_link = sent("link");
        std::os::unix::fs::symlink("../own/.git", by_link.join(".git")).unwrap();
        let by_data = sent("data");
        git(&by_data, &["init", "-q"]);
        for name in ["objects", "refs"] {
            std::fs::remove_dir_all(by_data.join(".git").join(name)).unwrap();
            std::os::unix::fs::symlink(format!("../../own/.git/{name}"), by_data.join(".git").join(name)).unwrap();
        }
        // As for a submodule: its folder names the tree, and it shares another repository's data.
        let shared = sent("shared");
        let (tree, module) = (shared.join("tree"), shared.join("store/.git/modules/x"));
        std::fs::create_dir_all(&tree).unwrap();
        std::fs::create_dir_all(&module).unwrap();
        std::fs::write(tree.join(".git"), "gitdir: ../store/.git/modules/x\n").unwrap();
        std::fs::write(module.join("HEAD"), "ref: refs/heads/master\n").unwrap();
        std::fs::write(module.join("config"), "[core]\n\tworktree = ../../../../tree\n").unwrap();
        std::fs::write(module.join("commondir"), "../../../../../own/.git\n").unwrap();
        for sent in [by_file, by_link, by_data, tree] {
            assert_eq!(world(&sent).repository(None), None, "{}", sent.display());
        }
    }

    /// All programs that a repository can name and git would start. Each creates a file when it runs.
    #[test]
    fn a_look_at_a_repository_starts_nothing_that_it_names() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        let (repo, mark) = (base.join("repo"), base.join("ran"));
        let inner = repo.join("inner");
        std::fs::create_dir_all(&inner).unwrap();
        let run = format!("touch {}; cat", mark.display());
        for place in [&inner, &repo] {
            git(place, &["init", "-q"]);
            std::fs::write(place.join("f.txt"), "one\n").unwrap();
            git(place, &["add", "."]);
            git(place, &["commit", "-qm", "first"]);
        }
        std::fs::create_dir_all(base.join("hooks")).unwrap();
        for hook in ["post-index-change", "fsmonitor-watchman", "reference-transaction"] {
            let path = base.join("hooks").join(hook);
            std::fs::write(&path, format!("#!/bin/sh\n{run}\n")).unwrap();
            std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        }
        std::fs::write(
            base.join("more"),
            format!("[filter \"y\"]\n\tclean = {run}\n\trequired = true\n"),
        )
        .unwrap();
        let hooks = base.join("hooks").display().to_string();
        let more = base.join("more").display().to_string();
        for place in [&inner, &repo] {
            for (name, value) in [
                ("filter.x.clean", run.as_str()),
                ("filter.x.smudge", &run),
                ("filter.z.process", &run),
                ("filter.z.required", "true"),
                ("diff.x.textconv", &run),
                ("diff.x.command", &run),
                ("diff.external", &run),
                ("core.fsmonitor", &run),
                ("core.sshCommand", &run),
                ("core.pager", &run),
                ("core.askPass", &run),
                ("core.alternateRefsCommand", &run),
                ("core.hooksPath", &hooks),
                ("include.path", &more),
                ("alias.status", &format!("!{run}")),
                ("log.showSignature", "true"),
                ("gpg.program", &run),
                ("credential.helper", &format!("!{run}")),
                ("extensions.partialClone", "origin"),
                ("remote.origin.url", &format!("ext::{run}")),
                ("remote.origin.promisor", "true"),
                ("remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*"),
                ("branch.main.remote", "origin"),
                ("branch.main.merge", "refs/heads/main"),
                ("status.submoduleSummary", "true"),
            ] {
                git(place, &["config", name, value]);
            }
            std::fs::write(
                place.join(".gitattributes"),
                "f.txt filter=x diff=x\ng.txt filter=y\nh.txt filter=z\n",
            )
            .unwrap();
            std::fs::write(place.join(".git/info/attributes"), "* filter=x diff=x\n").unwrap();
            // The same size, so that git has to read it.
            std::fs::write(place.join("f.txt"), "two\n").unwrap();
        }
        let told = world(&repo).repository(None).unwrap();
        assert!(
            told.contains("branch: main") && told.contains("   M f.txt\n") && told.contains(" first\n"),
            "{told}"
        );
        assert!(!mark.exists(), "{told}");
        assert!(world(&inner).repository(None).unwrap().contains("   M f.txt\n"));
        assert!(!mark.exists());
        // A plain `git status` does start one, so the trap works.
        let look = Command::new("git")
            .arg("status")
            .envs(ALONE)
            .current_dir(&repo)
            .output();
        assert!(look.is_ok());
        assert!(mark.exists());
    }

    #[test]
    fn what_git_complains_of_is_no_part_of_what_it_answers() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        let (repo, kept) = (base.join("repo"), base.join(".netrc"));
        std::fs::create_dir(&repo).unwrap();
        std::fs::write(&kept, "login me password hunter2\n").unwrap();
        git(&repo, &["init", "-q"]);
        std::fs::write(repo.join("f.txt"), "one\n").unwrap();
        git(&repo, &["add", "."]);
        git(&repo, &["commit", "-qm", "first"]);
        std::os::unix::fs::symlink(&kept, repo.join(".git/objects/info/alternates")).unwrap();
        std::fs::write(repo.join("f.txt"), "two\n").unwrap();
        let told = world(&repo).repository(None).unwrap();
        assert!(told.contains("   M f.txt\nlast commits:\n"), "{told}");
        assert!(!told.contains("hunter2"), "{told}");
        let shown = world(&repo).uncommitted(None, None).unwrap();
        assert!(!format!("{shown:?}").contains("hunter2"));
    }

    #[test]
    fn a_branch_is_compared_with_its_upstream_and_ignored_files_are_not_told() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        let (first, second) = (base.join("first"), base.join("second"));
        std::fs::create_dir(&first).unwrap();
        git(&first, &["init", "-q"]);
        git(&first, &["commit", "-qm", "one", "--allow-empty"]);
        git(&base, &["clone", "-q", "first", "second"]);
        git(&second, &["commit", "-qm", "two", "--allow-empty"]);
        std::fs::write(second.join(".git/info/exclude"), "ignored\n").unwrap();
        for name in ["ignored", "new"] {
            std::fs::write(second.join(name), "").unwrap();
        }
        git(&second, &["pack-refs", "--all"]);
        let told = world(&second).repository(None).unwrap();
        assert!(
            told.starts_with("branch: main...origin/main [ahead 1]\nchanged files:\n  ?? new\nlast commits:\n"),
            "{told}"
        );
    }

    #[test]
    fn other_working_trees_shallow_clones_and_other_formats_are_told_alike() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        let first = base.join("first");
        std::fs::create_dir(&first).unwrap();
        git(&first, &["init", "-q", "--object-format=sha256"]);
        std::fs::write(first.join("a"), "x").unwrap();
        git(&first, &["add", "."]);
        git(&first, &["commit", "-qm", "one"]);
        git(&first, &["commit", "-qm", "two", "--allow-empty"]);
        git(&first, &["worktree", "add", "-q", "../tree", "-b", "other"]);
        let url = format!("file://{}", first.display());
        git(&base, &["clone", "-q", "--depth=1", &url, "shallow"]);
        git(&base, &["init", "-q", "--separate-git-dir=elsewhere", "apart"]);
        for (name, branch, commits) in [
            ("first", "main", 2),
            ("tree", "other", 2),
            ("shallow", "main...origin/main", 1),
        ] {
            let place = base.join(name);
            std::fs::write(place.join("a"), "y").unwrap();
            let told = world(&place).repository(None).unwrap();
            assert!(
                told.starts_with(&format!("branch: {branch}\nchanged files:\n   M a\n")),
                "{name}: {told}"
            );
            assert_eq!(told.lines().count(), 4 + commits, "{name}: {told}");
        }
        // This one names no tree, so it might be anyone's.
        assert_eq!(world(&base.join("apart")).repository(None), None);
    }

    #[test]
    fn where_references_are_in_tables_the_branch_and_its_upstream_are_told() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        let (first, second) = (base.join("first"), base.join("second"));
        std::fs::create_dir(&first).unwrap();
        let init = Command::new("git")
            .args(["init", "-q", "-b", "main", "--ref-format=reftable"])
            .envs(ALONE)
            .current_dir(&first)
            .output();
        // Supported since git 2.45.
        if !init.unwrap().status.success() {
            return;
        }
        git(&first, &["commit", "-qm", "one", "--allow-empty"]);
        git(&base, &["clone", "-q", "--ref-format=reftable", "first", "second"]);
        git(&second, &["commit", "-qm", "two", "--allow-empty"]);
        let told = world(&second).repository(None).unwrap();
        assert!(told.starts_with("branch: main...origin/main [ahead 1]\n"), "{told}");
        let mut world = world(&second);
        world.env = vec![("PATH".into(), "/nowhere".into())];
        assert_eq!(world.repository(None), None);
    }

    #[test]
    fn what_was_asked_ahead_is_the_next_answer_and_no_later_one() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        git(&base, &["init", "-q"]);
        let world = world(&base);
        world.ask_ahead();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let told = || runtime.block_on(world.git_status(Interrupt::new())).unwrap();
        assert!(told().contains("changed files: none"));
        std::fs::write(base.join("new.txt"), "new").unwrap();
        assert!(told().contains("new.txt"));
    }

    /// Returns whether a process with this argument is running.
    #[cfg(target_os = "linux")]
    fn runs(argument: &str) -> bool {
        let processes = std::fs::read_dir("/proc").unwrap().flatten();
        let mut lines = processes.filter_map(|process| std::fs::read(process.path().join("cmdline")).ok());
        lines.any(|line| line.split(|byte| *byte == 0).any(|word| word == argument.as_bytes()))
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_look_that_is_given_up_or_interrupted_ends_at_once_and_leaves_no_git() {
        use codelet_testkit::MachineClock;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap();
        for (is_given_up, is_ahead) in [(false, false), (true, false), (false, true), (true, true)] {
            let folder = tempfile::tempdir().unwrap();
            let base = folder.path().canonicalize().unwrap();
            let (repo, bin) = (base.join("repo"), base.join("bin"));
            std::fs::create_dir_all(&repo).unwrap();
            std::fs::create_dir_all(&bin).unwrap();
            git(&repo, &["init", "-q"]);
            // A git that prints nothing. It cannot write files either, so it is identified by its argument.
            let name = format!(
                "600.{}{}{}",
                u8::from(is_given_up),
                u8::from(is_ahead),
                std::process::id()
            );
            std::fs::write(bin.join("git"), format!("#!/bin/sh\nexec sleep {name}\n")).unwrap();
            std::fs::set_permissions(bin.join("git"), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
            let mut world = world(&repo);
            world.env = vec![("PATH".into(), format!("{}:/usr/bin:/bin", bin.display()).into())];
            let interrupt = Interrupt::new();
            if is_ahead {
                world.ask_ahead();
            }
            let clock = runtime.block_on(async {
                let look = world.git_status(interrupt.clone());
                let asked = async {
                    while !runs(&name) {
                        tokio::time::sleep(Duration::from_millis(5)).await;
                    }
                    MachineClock::start()
                };
                if is_given_up {
                    tokio::select! {
                        _ = look => panic!("git says nothing"),
                        clock = asked => clock,
                    }
                } else {
                    let throw = async {
                        let clock = asked.await;
                        interrupt.throw();
                        clock
                    };
                    futures_util::future::join(look, throw).await.1
                }
            });
            assert!(clock.elapsed() < Duration::from_secs(1), "{:?}", clock.elapsed());
            while runs(&name) && clock.elapsed() < Duration::from_millis(1_500) {
                codelet_testkit::wait_a_moment();
            }
            assert!(!runs(&name), "git goes on");
        }
    }

    #[test]
    fn without_git_the_branch_is_told_all_the_same() {
        let folder = tempfile::tempdir().unwrap();
        git(folder.path(), &["init", "-q"]);
        let mut world = world(folder.path());
        world.env = vec![("PATH".into(), "/nowhere".into())];
        let told = world.repository(None).unwrap();
        assert_eq!(told, "branch: main\nchanged files: not known, git gave no answer\n");
    }

    #[test]
    fn many_changes_are_counted() {
        let folder = tempfile::tempdir().unwrap();
        git(folder.path(), &["init", "-q"]);
        for number in 0..80 {
            std::fs::write(folder.path().join(format!("file{number}")), "").unwrap();
        }
        let status = world(folder.path()).repository(None).unwrap();
        assert!(status.contains("  and 30 more\n"), "{status}");
    }

    #[test]
    fn the_environment_is_one_fact_a_line() {
        let folder = tempfile::tempdir().unwrap();
        let told = world(folder.path()).environment();
        assert!(
            told.contains("shell: bash\ndate: 2026-11-22\ngit repository: no\n"),
            "{told}"
        );
        assert!(told.lines().all(|line| line.contains(": ")));
    }

    #[test]
    fn instructions_are_text_of_bounded_length() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("AGENTS.md");
        std::fs::write(&path, "ä".repeat(100)).unwrap();
        let world = world(folder.path());
        assert_eq!(world.text(&path, 5), Some(("ää".to_owned(), 200)));
        std::os::unix::fs::symlink("AGENTS.md", folder.path().join("CLAUDE.md")).unwrap();
        assert_eq!(world.text(&folder.path().join("CLAUDE.md"), 1000).unwrap().0.len(), 200);
        std::fs::write(&path, "a\0b").unwrap();
        assert_eq!(world.text(&path, 100), None);
        assert_eq!(world.text(folder.path(), 100), None);
        assert_eq!(world.text(Path::new("/dev/zero"), 100), None);
    }

    #[test]
    fn a_folder_is_listed_in_order_up_to_a_bound_and_only_a_folder() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for number in (0..30).rev() {
            std::fs::write(root.join(format!("f{number:02}")), "").unwrap();
        }
        let world = world(&root);
        let all = world.list(&root, 30).unwrap();
        assert!(all.is_whole && all.names.len() == 30 && all.names.is_sorted());
        // The first names, in whatever order the file system has them.
        let part = world.list(&root, 3).unwrap();
        assert!(!part.is_whole);
        assert_eq!(part.names, ["f00", "f01", "f02"]);
        std::os::unix::fs::symlink(&root, root.join("link")).unwrap();
        for name in ["link", "f00", "missing"] {
            assert_eq!(world.list(&root.join(name), 9), None, "{name}");
        }
        assert_eq!(world.list(Path::new("/dev/zero"), 9), None);
    }

    #[test]
    fn folders_that_the_project_ignores_are_known() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for name in ["node_modules/a/src", "sub/gen/deep", "sub/kept", "own"] {
            std::fs::create_dir_all(root.join(name)).unwrap();
        }
        std::fs::write(root.join(".gitignore"), "node_modules/\n").unwrap();
        std::fs::write(root.join("sub/.gitignore"), "gen\n").unwrap();
        std::fs::write(root.join("own/.gitignore"), "*\n").unwrap();
        let world = world(&root);
        for (name, is_ignored) in [
            ("node_modules", true),
            ("node_modules/a/src", true),
            ("sub/gen/deep", true),
            ("sub/kept", false),
            ("own", false),
            ("", false),
        ] {
            assert_eq!(world.is_ignored(&root.join(name)), is_ignored, "{name}");
        }
    }

    #[test]
    fn no_secret_stands_in_what_the_model_is_told_of_the_world() {
        const SECRET: &str = "tok-9f8e7d6c5b4a39281706aa";
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("CLAUDE.md");
        std::fs::write(&path, format!("Deploy with {SECRET}.\n")).unwrap();
        git(folder.path(), &["init", "-q"]);
        git(folder.path(), &["add", "."]);
        // Long enough to be cut inside the value.
        let subject = format!("{}{SECRET}", "x".repeat(LINE - 10));
        git(folder.path(), &["commit", "-qm", &subject]);
        git(folder.path(), &["checkout", "-qb", &format!("with/{SECRET}")]);
        std::fs::write(folder.path().join(SECRET), "x").unwrap();
        let mut world = world(folder.path());
        world.secrets = crate::secrets::Secrets::new(&[SECRET.to_owned()]).into();
        assert_eq!(world.text(&path, 1_000).unwrap().0, "Deploy with [secret].\n");
        assert_eq!(world.text(&path, 20).unwrap().0, "Deploy with ");
        let status = world.repository(None).unwrap();
        assert!(
            status.contains("branch: with/[secret]\n") && status.contains("?? [secret]\n"),
            "{status}"
        );
        assert!(!status.contains("tok-9f"), "{status}");
        world.env = vec![("PATH".into(), "/nowhere".into())];
        assert!(world.repository(None).unwrap().starts_with("branch: with/[secret]\n"));
        world.directory = folder.path().join(SECRET);
        assert!(!world.environment().contains(SECRET));
    }

    #[test]
    fn days_are_counted_as_the_calendar_does() {
        for (seconds, expected) in [
            (0, "1970-01-01"),
            (951_782_399, "2000-02-28"),
            (951_782_400, "2000-02-29"),
            (951_868_800, "2000-03-01"),
            (1_795_305_600, "2026-11-22"),
            (4_107_542_400, "2100-03-01"),
        ] {
            assert_eq!(
                date_utc(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)),
                expected
            );
        }
    }

    #[test]
    fn a_file_is_no_branch() {
        let told = state("## A  README\0?? new\0", true);
        assert_eq!(told, "branch: not known\nchanged files:\n  A  README\n  ?? new\n");
        for branch in ["No commits yet on main", "HEAD (no branch)", "AB...origin/AB [gone]"] {
            assert_eq!(
                state(&format!("## {branch}\0"), true),
                format!("branch: {branch}\nchanged files: none\n")
            );
        }
    }

    proptest! {
        #[test]
        fn any_answer_of_git_becomes_a_few_lines(answer in "(?s)[#a-zRC? \0\n]{0,200}.{0,20}", is_whole: bool) {
            let told = state(&answer, is_whole);
            prop_assert!(told.lines().count() <= answer.len() + 3);
            prop_assert!(!told.contains('\0'));
        }
    }
}
