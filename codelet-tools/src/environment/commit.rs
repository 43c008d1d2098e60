//! Previews and makes a commit.
//!
//! The preview works like every query: git on a scratch repository, which obeys no settings of the real one. The
//! location of its hooks and the author's name are known only to git itself, so it is asked for them with the
//! repository's settings, by commands that start no program, and in a sandbox in which nothing can be written. The
//! commit itself is made by git with all settings and runs like a command of the model: in its sandbox, unless
//! everything is permitted.

use super::{World, asked_of_git, one_line};
use crate::bash;
use crate::files;
use crate::git::Git;
use crate::left::Left;
use crate::process::End;
use crate::real_git::RealGit;
use crate::repository::Repository;
use codelet_agent::commit::{Change, Changed, Committable, Made};
use codelet_agent::environment::Surroundings as _;
use codelet_agent::interrupt::Interrupt;
use codelet_agent::permission::Permission;
use codelet_text::unified;
use futures_util::future::BoxFuture;
use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::io::{PipeReader, Read as _};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Time limit for all queries together: the user waits for them.
const TIME: Duration = Duration::from_secs(20);
/// Bytes of the diff for the model, and the minimum per file while there is room.
const DIFF: usize = 48 * 1024;
const OF_A_FILE: usize = 2 * 1024;
/// Counts the changed lines of each file.
const COUNTED: [&str; 6] = [
    "diff", "--numstat", "-z", "--no-renames", "--no-ext-diff", "--no-textconv",
];
/// Number of commit subjects that the model sees.
const SUBJECTS: &str = "-8";

/// Bytes of a hook that are compared.
const HOOK: u64 = 1024 * 1024;

/// Hooks that git runs for a commit.
const HOOKS: [&str; 6] = [
    "pre-commit", "prepare-commit-msg", "commit-msg", "post-commit", "reference-transaction", "post-index-change",
];
/// Settings that are examined: those that name programs started by a commit, and whether it is signed.
const SETTINGS: &str = r"^(filter\..*\.(clean|process)|gpg\.(program|.*\.program|ssh\.defaultkeycommand)|hook\..*\.command|commit\.gpgsign)$";
/// Files that exist while an operation with its own commit message is in progress.
const UNDER_WAY: [(&str, &str, &str); 5] = [
    ("rebase-merge", "rebase", "git rebase --continue"),
    ("rebase-apply", "rebase", "git rebase --continue"),
    ("MERGE_HEAD", "merge", "git commit --no-edit"),
    ("CHERRY_PICK_HEAD", "cherry-pick", "git cherry-pick --continue"),
    ("REVERT_HEAD", "revert", "git revert --continue"),
];

/// The reasons why git cannot tell anything.
pub(super) const NO_REPOSITORY: &str = "This is not a git repository.";
pub(super) const ELSEWHERE: &str = "The repository of this folder is elsewhere and does not list it as a working tree.";
pub(super) const NO_GIT: &str = "Git is not installed, or there is no sandbox to run it in.";
pub(super) const SILENT: &str = "Git did not answer, or took too long.";

impl World {
    pub(super) fn asked_what_to_commit(
        &self,
        made: Vec<PathBuf>,
        interrupt: Interrupt,
    ) -> BoxFuture<'static, Result<Committable, String>> {
        let world = self.clone();
        let asked = asked_of_git(&interrupt, move |stop| Some(world.committable(&made, stop.as_ref())));
        Box::pin(async move { asked.await.unwrap_or_else(|| Err("Interrupted.".to_owned())) })
    }

    pub(super) fn asked_to_commit(
        &self,
        commit: Committable,
        made: Vec<PathBuf>,
        message: String,
        interrupt: Interrupt,
    ) -> BoxFuture<'static, Result<Made, String>> {
        let world = self.clone();
        let asked = asked_of_git(&interrupt, move |stop| {
            Some(world.commit(&commit, &made, &message, stop.as_ref()))
        });
        Box::pin(async move { asked.await.unwrap_or_else(|| Err("Interrupted.".to_owned())) })
    }

    /// A preview of a commit, including those untracked files that are listed here.
    fn committable(&self, made: &[PathBuf], stop: Option<&PipeReader>) -> Result<Committable, String> {
        let directory = self.places().directory;
        let repository = Repository::of(&directory).ok_or(NO_REPOSITORY)?;
        if !repository.is_of_its_tree() {
            return Err(format!("{ELSEWHERE} `! git commit` commits there."));
        }
        let under_way = UNDER_WAY.iter().find(|(name, ..)| repository.has_of_its_own(name));
        if let Some((_, what, ends)) = under_way {
            return Err(format!(
                "A {what} is in progress and has its own message; `! {ends}` finishes it."
            ));
        }
        let stop_too = |stop: Option<&PipeReader>| stop.and_then(|stop| stop.try_clone().ok());
        let git = Git::new(
            &repository,
            &repository.root,
            &self.env,
            &self.reach.0,
            TIME,
            stop_too(stop),
        );
        let git = git.ok_or(NO_GIT)?;
        let root = repository.root.clone();
        let mut commit = self.changes(&git, &root, made)?;
        let real = RealGit {
            context: &self.reach.0,
            root: &root,
            fetches: false,
            stop,
        };
        self.tell(&real, &mut commit)?;
        Ok(commit)
    }

    /// The changes, from a git that obeys no settings of the repository.
    fn changes(&self, git: &Git, root: &Path, made: &[PathBuf]) -> Result<Committable, String> {
        let named = |more: &[&'static str]| {
            let all = [
                "diff", "--raw", "--no-abbrev", "-z", "--no-renames", "--no-ext-diff", "--no-textconv",
            ];
            let all: Vec<&OsStr> = all.iter().chain(more).map(|word| OsStr::new(*word)).collect();
            git.bytes(&all)
        };
        let (staged, knows_staged) = named(&["--cached", "--ignore-submodules=dirty"]).ok_or(SILENT)?;
        let (changed, knows_changed) = named(&["--ignore-submodules=all"]).ok_or(SILENT)?;
        let (staged, changed) = (self.statuses(git, root, &staged), self.statuses(git, root, &changed));
        let conflicts = changed.iter().chain(&staged).find(|(letter, _)| *letter == b'U');
        if let Some((_, file)) = conflicts {
            return Err(format!(
                "{} has conflicts; resolve them and `git add` it first.",
                file.name
            ));
        }
        let others = ["ls-files", "--others", "--exclude-standard", "-z"].map(OsStr::new);
        let (others, _) = git.bytes(&others).ok_or(SILENT)?;
        let is_staged = !staged.is_empty();
        let (is_ours, others): (Vec<Changed>, Vec<Changed>) = paths(&others)
            .map(|path| Changed {
                mode: self.mode_of_new(root, &path),
                ..self.changed(Change::Added, path)
            })
            .partition(|file| !is_staged && made.contains(&root.join(&file.path)));
        let names = |files: Vec<Changed>| files.into_iter().map(|file| file.name).collect();
        let files = |told: Vec<(u8, Changed)>| told.into_iter().map(|(_, file)| file).collect::<Vec<_>>();
        let mut commit = Committable {
            is_staged,
            untracked: names(others),
            ..Committable::default()
        };
        match is_staged {
            true => {
                commit.files = files(staged);
                commit.is_cut = !knows_staged;
                commit.left_out = names(files(changed));
            }
            false if !knows_changed => {
                return Err("Too many files have changed to list; `git add` the ones to commit.".to_owned());
            }
            false => commit.files = [files(changed), is_ours.clone()].concat(),
        }
        if commit.files.is_empty() {
            return Err(match commit.untracked.is_empty() {
                true => "Nothing has changed since the last commit.".to_owned(),
                false => format!(
                    "Nothing to commit: no tracked file has changed. Untracked: {}; `! git add` adds them.",
                    commit.untracked.iter().take(5).cloned().collect::<Vec<_>>().join(", ")
                ),
            });
        }
        let diff = [
            "diff", "--no-ext-diff", "--no-textconv", "--no-color", "--src-prefix=a/", "--dst-prefix=b/",
        ];
        let which = match is_staged {
            true => ["--cached", "--ignore-submodules=dirty"].as_slice(),
            false => &["--ignore-submodules=all"],
        };
        let diff: Vec<&OsStr> = diff.iter().chain(which).map(|word| OsStr::new(*word)).collect();
        let (mut diff, is_whole) = git.ask(&diff).unwrap_or_default();
        let counted: Vec<&OsStr> = COUNTED.iter().chain(which).map(|word| OsStr::new(*word)).collect();
        let (counted, _) = git.bytes(&counted).unwrap_or_default();
        let counted: HashMap<PathBuf, LineCounts> = counts(&counted).collect();
        for file in &mut commit.files {
            file.is_written_here = made.contains(&root.join(&file.path));
            file.lines = counted.get(&file.path).copied();
            if is_ours.iter().any(|ours| ours.path == file.path)
                && let Some(text) = self.new_file(root, file)
            {
                file.lines = Some((text.lines().filter(|line| line.starts_with('+')).count() as u64, 0));
                diff.push_str(&text);
            }
        }
        commit.diff = bounded(&self.without_secrets(&diff, is_whole), is_whole);
        let log = ["log", "--no-show-signature", "--format=%s", SUBJECTS].map(OsStr::new);
        if let Some((log, is_whole)) = git.ask(&log) {
            commit.subjects = self.without_secrets(&log, is_whole).lines().map(one_line).collect();
        }
        Ok(commit)
    }

    /// An untracked file as part of a diff; `None` if it is not plain text.
    fn new_file(&self, root: &Path, file: &Changed) -> Option<String> {
        let path = root.join(&file.path);
        // The target of a link is not committed.
        path.symlink_metadata().ok().filter(|metadata| metadata.is_file())?;
        let (text, _) = self.text(&path, DIFF)?;
        let lines: String = text.lines().map(|line| format!("+{line}\n")).collect();
        let mode = file.mode.as_deref().unwrap_or("new file");
        Some(format!("diff --git a/{0} b/{0}\n{mode}\n{lines}", file.name))
    }

    fn changed(&self, change: Change, path: PathBuf) -> Changed {
        let name = one_line(&self.without_secrets(&path.to_string_lossy(), true));
        Changed {
            change,
            name,
            path,
            lines: None,
            mode: None,
            is_written_here: false,
        }
    }

    /// Parses the output of `git diff --raw --no-abbrev -z`: `:OLD-MODE NEW-MODE OLD-ID NEW-ID LETTER`, then the path.
    fn statuses(&self, git: &Git, root: &Path, answer: &[u8]) -> Vec<(u8, Changed)> {
        let mut entries = answer.split(|&byte| byte == 0);
        let mut all = Vec::new();
        while let (Some(entry), Some(path)) = (entries.next(), entries.next()) {
            let entry = String::from_utf8_lossy(entry);
            let fields: Vec<&str> = entry.trim_start_matches(':').split(' ').collect();
            let [before, after, _, id, letter] = fields[..] else {
                continue;
            };
            let change = match letter {
                "A" => Change::Added,
                "D" => Change::Deleted,
                "T" => Change::Retyped,
                _ => Change::Modified,
            };
            let path = PathBuf::from(OsStr::from_bytes(path));
            let target = || match id.bytes().all(|byte| byte == b'0') {
                true => self.target(&root.join(&path)),
                false => {
                    let (target, is_whole) = git.ask(&["cat-file", "blob", id].map(OsStr::new))?;
                    Some(one_line(&self.without_secrets(&target, is_whole)))
                }
            };
            let mode = mode(before, after, target);
            let file = self.changed(change, path);
            all.push((letter.bytes().next().unwrap_or_default(), Changed { mode, ..file }));
        }
        all
    }

    /// The target of a link.
    fn target(&self, link: &Path) -> Option<String> {
        let target = link.read_link().ok()?;
        Some(one_line(&self.without_secrets(&target.to_string_lossy(), true)))
    }

    /// Git's future mode line for an untracked file.
    fn mode_of_new(&self, root: &Path, path: &Path) -> Option<String> {
        let path = root.join(path);
        let metadata = path.symlink_metadata().ok()?;
        let after = match (metadata.is_symlink(), metadata.permissions().mode() & 0o100) {
            (true, _) => LINK,
            (false, 0) => PLAIN,
            (false, _) => EXECUTABLE,
        };
        mode(ABSENT, after, || self.target(&path))
    }

    fn commit(
        &self,
        commit: &Committable,
        made: &[PathBuf],
        message: &str,
        stop: Option<&PipeReader>,
    ) -> Result<Made, String> {
        let context = &self.reach.0;
        let permission = context.permission();
        if permission <= Permission::Read {
            return Err("This permission does not allow commits.".to_owned());
        }
        if self.committable(made, stop)? != *commit {
            return Err(CHANGED_MEANWHILE.to_owned());
        }
        let root = Repository::of(&self.places().directory)
            .map(|repository| repository.root.clone())
            .ok_or(CHANGED_MEANWHILE)?;
        let real = RealGit {
            context,
            root: &root,
            // The user wants hooks to run here.
            fetches: true,
            stop,
        };
        let watched = Left::default();
        let is_shut_in = permission != Permission::All;
        watched.look(context, is_shut_in);
        let new = commit
            .files
            .iter()
            .filter(|file| !commit.is_staged && file.change == Change::Added);
        let new: Vec<&Changed> = new.collect();
        if !new.is_empty() {
            let listed = pathspecs(&new);
            let added = real.run(
                &["add", "--intent-to-add"],
                None,
                Some(&listed),
                context.sandbox(permission),
            )?;
            added.succeeded("Nothing was committed: git could not add the new files")?;
        }
        let mut arguments = vec!["commit", "--quiet", "--cleanup=whitespace", "--file=-"];
        let all: Vec<&Changed> = commit.files.iter().collect();
        let listed = (!commit.is_staged).then(|| pathspecs(&all));
        if listed.is_some() {
            arguments.push("--only");
        }
        let done = real.run(
            &arguments,
            Some(message.as_bytes()),
            listed.as_deref(),
            context.sandbox(permission),
        );
        let output = match done.and_then(|done| done.succeeded("Nothing was committed: git refused")) {
            Ok(output) => output,
            Err(why) => {
                // Files that were untracked before become untracked again.
                if !new.is_empty() {
                    let names: Vec<u8> = new.iter().flat_map(|file| terminated(file.path.as_os_str())).collect();
                    let arguments = ["update-index", "-z", "--force-remove", "--stdin"];
                    // If that fails too, git shows it in the next preview.
                    let _ = real.run(&arguments, Some(&names), None, context.sandbox(permission));
                }
                return Err(match commit.is_signed && is_shut_in {
                    true => format!("{why}\n{UNSIGNED}"),
                    false => why,
                });
            }
        };
        let changed = bash::named(context, &watched.look(context, is_shut_in));
        // Hooks may have added or removed files, changed the message, or made a different commit.
        let asked = |arguments: &[&str]| {
            let answer = real.ask(arguments)?;
            Ok::<String, String>(self.without_secrets(&answer.output, true))
        };
        let files = asked(&[
            "diff-tree", "--no-commit-id", "--name-only", "--no-renames", "-r", "-z", "--root", "HEAD",
        ])?;
        Ok(Made {
            id: one_line(asked(&["rev-parse", "--short", "HEAD"])?.trim()),
            subject: one_line(asked(&["log", "-1", "--no-show-signature", "--format=%s", "HEAD"])?.trim()),
            files: files.split_terminator('\0').map(one_line).collect(),
            output,
            changed: changed.map(|(what, does)| format!("changed {what}, which {does}: please check it")),
        })
    }
}

/// The reason why a commit that was shown is not made.
const CHANGED_MEANWHILE: &str = "Nothing was committed: files, hooks or the branch have changed since they were shown.";
/// A possible cause of a failure if commits are signed.
const UNSIGNED: &str = "(Git's settings sign commits. A signature may need an agent that commands in the sandbox cannot reach: `! git commit` \
runs outside of it, and so does /commit under /permission all.)";

impl World {
    /// Adds git's view of the commit: the author, the hooks and other programs that it starts.
    fn tell(&self, real: &RealGit<'_>, commit: &mut Committable) -> Result<(), String> {
        let hooks = real.ask(&["rev-parse", "--git-path", "hooks"])?;
        let hooks = hooks.succeeded("Git does not recognize this repository")?;
        let author = real.ask(&["var", "GIT_AUTHOR_IDENT"])?;
        if author.end != End::Exited(0) {
            return Err(
                "Git does not know who you are: set it with `! git config --global user.name \"Your Name\"` and `! git config --global user.email you@example.com`."
                    .to_owned(),
            );
        }
        // The address is followed by a timestamp and a time zone.
        let author = author.output.rsplit_once('>').map_or("", |(author, _)| author);
        commit.author = format!("{}>", one_line(author.trim()));
        let branch = real.ask(&["symbolic-ref", "--quiet", "--short", "HEAD"])?;
        commit.branch = (branch.end == End::Exited(0)).then(|| one_line(branch.output.trim()));
        let head = real.ask(&["rev-parse", "--verify", "--quiet", "HEAD"])?;
        commit.head = (head.end == End::Exited(0)).then(|| head.output.trim().to_owned());
        let folder = real.root.join(hooks.trim_end_matches('\n'));
        let runs = |path: &Path| {
            let metadata = path.metadata().ok();
            metadata.is_some_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
        };
        let found: Vec<PathBuf> = HOOKS
            .iter()
            .map(|name| folder.join(name))
            .filter(|path| runs(path))
            .collect();
        let shown = |path: &PathBuf| path.strip_prefix(real.root).map_or(path.clone(), Path::to_owned);
        commit.hooks = found
            .iter()
            .map(|path| one_line(&shown(path).to_string_lossy()))
            .collect();
        commit.hook_contents = found.iter().map(|path| beginning(path)).collect();
        let settings = real.ask(&["config", "--show-scope", "-z", "--get-regexp", SETTINGS])?;
        for (scope, name, value) in settings_of(&settings.output) {
            if name == "commit.gpgsign" {
                commit.is_signed = !matches!(value.to_lowercase().as_str(), "false" | "no" | "off" | "0");
            } else if matches!(scope, "local" | "worktree") || name.starts_with("hook.") {
                // Programs in the user's own settings are the user's choice.
                commit.programs.push(one_line(&format!("{name} = {value}")));
            }
        }
        Ok(())
    }
}

/// File modes as git writes them.
const ABSENT: &str = "000000";
const PLAIN: &str = "100644";
const EXECUTABLE: &str = "100755";
const LINK: &str = "120000";
const SUBMODULE: &str = "160000";

/// Git's description of a change of mode; `None` for a plain file that stays one, is new or is deleted.
fn mode(before: &str, after: &str, target: impl FnOnce() -> Option<String>) -> Option<String> {
    let words = match (before, after) {
        (_, ABSENT) | (ABSENT | PLAIN, PLAIN) | (EXECUTABLE, EXECUTABLE) | (SUBMODULE, SUBMODULE) => return None,
        (ABSENT, after) => format!("new file mode {after}"),
        (before, after) if before == after => format!("mode {after}"),
        (before, after) => format!("old mode {before}, new mode {after}"),
    };
    let target = (after == LINK).then(target).flatten();
    Some(target.map_or(words.clone(), |target| format!("{words} -> {target}")))
}

/// The beginning of a file and its length; empty if it cannot be read.
fn beginning(path: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    // A hook may be a link; a pipe in its place must not block.
    let opened = path.canonicalize().ok().and_then(|path| files::open(&path).ok());
    let Some((file, metadata)) = opened else { return bytes };
    // Bytes read before a failure are compared, too.
    let _ = file.take(HOOK).read_to_end(&mut bytes);
    bytes.extend(metadata.len().to_le_bytes());
    bytes
}

/// Parses the output of `git config --show-scope -z --get-regexp`: scope, name and value.
fn settings_of(answer: &str) -> impl Iterator<Item = (&str, &str, &str)> {
    let mut entries = answer.split('\0');
    std::iter::from_fn(move || {
        let scope = entries.next().filter(|scope| !scope.is_empty())?;
        let entry = entries.next()?;
        // A setting without a value is true.
        let (name, value) = entry.split_once('\n').unwrap_or((entry, "true"));
        Some((scope, name, value))
    })
}

/// Lines added and removed.
type LineCounts = (u64, u64);

/// Parses the output of `git diff --numstat -z`; binary files are left out.
fn counts(answer: &[u8]) -> impl Iterator<Item = (PathBuf, LineCounts)> {
    answer.split(|&byte| byte == 0).filter_map(|entry| {
        let mut parts = entry.splitn(3, |&byte| byte == b'\t');
        let mut number = || std::str::from_utf8(parts.next()?).ok()?.parse().ok();
        let lines = (number()?, number()?);
        Some((PathBuf::from(OsStr::from_bytes(parts.next()?)), lines))
    })
}

fn paths(answer: &[u8]) -> impl Iterator<Item = PathBuf> {
    let names = answer.split(|&byte| byte == 0).filter(|name| !name.is_empty());
    names.map(|name| PathBuf::from(OsString::from_vec(name.to_vec())))
}

/// Pathspecs that match exactly these files, whatever characters are in their names.
fn pathspecs(files: &[&Changed]) -> Vec<u8> {
    let spec = |file: &&Changed| {
        let mut spec = OsString::from(":(top,literal)");
        spec.push(&file.path);
        terminated(&spec)
    };
    files.iter().flat_map(spec).collect()
}

fn terminated(name: &OsStr) -> Vec<u8> {
    [name.as_bytes(), b"\0"].concat()
}

/// Shortens a diff so that each file gets its share of the room.
fn bounded(diff: &str, is_whole: bool) -> String {
    let files = unified::files(diff);
    let share = (DIFF / files.len().max(1)).max(OF_A_FILE);
    let mut out = String::new();
    let mut left_out = 0;
    for part in files {
        if out.len() + part.len().min(share) > DIFF {
            left_out += 1;
            continue;
        }
        if part.len() <= share {
            out.push_str(part);
            continue;
        }
        let cut = part[..part.floor_char_boundary(share)].rfind('\n').unwrap_or(0);
        out.push_str(&part[..cut]);
        out.push_str(&format!(
            "\n[… {} more lines of this file]\n",
            part[cut + 1..].lines().count()
        ));
    }
    match (left_out, is_whole) {
        (0, true) => {}
        (0, false) => out.push_str("[… and more changes]\n"),
        (more, _) => out.push_str(&format!("[… and {more} more files]\n")),
    }
    out
}

#[cfg(test)]
mod tests;
