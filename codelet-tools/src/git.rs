//! Queries a git repository without obeying its settings.
//!
//! A repository can name programs in many places: filters, diff drivers, hooks, a file system monitor, an editor, a
//! pager, commands for remotes, and whatever its submodules' settings say. A list of exclusions would miss the next
//! one. So git never sees the repository's settings: it gets a scratch repository folder with our own settings, in
//! which only plain data (objects, references, the index, ignore patterns) is linked to the real one. A few real
//! settings whose values cannot name a program are copied. Git also runs in the [sandbox](crate::sandbox::Sandbox),
//! where it can write nothing and has no network access.

use crate::committed::Committed;
use crate::files;
use crate::gitlinks;
use crate::obeyed::Obeyed;
use crate::process::{self, End, Program};
use crate::sandbox::Sandbox;
use crate::scratch::Scratch;
use crate::tool_context::{ToolContext, program_folders};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, PipeReader, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Bytes of a git output that are read.
const ANSWER: usize = 256 * 1024;
/// Longest file that points to another one, in bytes.
const POINTER: u64 = 8192;
/// Limits on the entries examined in one of git's folders, on the folders searched for submodules, and on the settings
/// that are copied.
pub(crate) const ENTRIES: usize = 1024;
const FOLDERS: usize = 1024;
const VALUES: usize = 64;
/// Repository settings that are copied if their values are harmless: the comparison of files, and the upstreams of
/// branches.
const TAKEN: &str = r"^(core\.(filemode|ignorecase|symlinks|autocrlf|eol|precomposeunicode)|extensions\.(objectformat|refstorage)|branch\..*\.(remote|merge)|remote\..*\.fetch)$";
/// The user's own settings that are copied.
const OWN: &str = r"^core\.(autocrlf|eol|excludesfile)$";

/// Plain data in the folder shared by all working trees of a repository.
const DATA: [&str; 7] = [
    "objects",
    "refs",
    "packed-refs",
    "reftable",
    "shallow",
    "info/exclude",
    "info/sparse-checkout",
];

/// The file that leads from a git folder to the one with its settings and hooks, which git uses even if the first has
/// some too.
pub(crate) const COMMON: &str = "commondir";

/// The root of the repository that contains a folder.
pub(crate) fn root(directory: &Path) -> Option<PathBuf> {
    directory
        .ancestors()
        .find(|folder| folder.join(".git").symlink_metadata().is_ok())
        .map(Path::to_owned)
}

/// Returns whether a resolved path is git's own: a file or folder named `.git` or anything below it, or in a folder
/// that git would take for a repository by its contents, with or without this path.
pub(crate) fn is_gits(path: &Path) -> bool {
    // Some file systems ignore case.
    let is_named = |name: &OsStr| name.eq_ignore_ascii_case(".git");
    let is_repository = |folder: &Path| {
        // Otherwise a repository could be assembled file by file, starting with its settings.
        let own = path.strip_prefix(folder).ok().and_then(|below| below.iter().next());
        let is_own = |name: &str| own.is_some_and(|own| own.eq_ignore_ascii_case(name));
        let has = |name: &str| is_own(name) || folder.join(name).symlink_metadata().is_ok();
        let is_begun = (is_own("HEAD") || is_own("commondir")) && has("config");
        // The target of another folder's `commondir` needs no `HEAD`.
        is_begun || has("HEAD") && has("commondir") || has("objects") && has("refs")
    };
    path.iter().any(is_named) || path.ancestors().skip(1).any(is_repository)
}

/// A repository on disk.
pub(crate) struct Repository {
    root: PathBuf,
    /// The folder of this working tree: `HEAD`, the index.
    own: PathBuf,
    /// The folder shared by all working trees.
    common: PathBuf,
}

impl Repository {
    /// Finds the repository that a folder belongs to.
    pub(crate) fn of(directory: &Path) -> Option<Repository> {
        let root = root(directory)?;
        let dot = root.join(".git");
        let own = match dot.is_dir() {
            true => dot,
            false => root.join(text(&dot)?.strip_prefix("gitdir:")?.trim()),
        };
        let common = text(&own.join(COMMON)).map_or_else(
            || own.clone(),
            |common| {
                let led = own.join(common.trim());
                // Resolved, as it is shown to people.
                led.canonicalize().unwrap_or(led)
            },
        );
        Some(Repository { root, own, common })
    }

    /// The root of its working tree.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// The folder shared by all its working trees.
    pub(crate) fn common(&self) -> &Path {
        &self.common
    }

    /// Returns whether this working tree's own folder contains this name.
    pub(crate) fn has_of_its_own(&self, name: &str) -> bool {
        self.own.join(name).symlink_metadata().is_ok()
    }

    /// The file with this repository's uncommitted ignore patterns.
    pub(crate) fn excludes(&self) -> Option<PathBuf> {
        // The repository may be reached through a link; the file itself may not.
        Some(self.common.join("info").canonicalize().ok()?.join("exclude"))
    }

    /// Returns whether its contents may be shown: it is in its working tree, or it refers back to that tree. Files that
    /// come with a folder may name any place, and so another repository of the user.
    pub(crate) fn is_of_its_tree(&self) -> bool {
        let real = |path: &Path| path.canonicalize().ok();
        let all = (real(&self.root), real(&self.own), real(&self.common));
        let (Some(root), Some(own), Some(common)) = all else {
            return false;
        };
        // Only a further working tree shares another repository's data, and its folder is in that one's `worktrees`.
        if own != common && own.parent() != Some(&common.join("worktrees")) {
            return false;
        }
        let is_within = own.starts_with(&root) && common.starts_with(&root);
        let holds = |path: &Path| path.starts_with(&own) || path.starts_with(&common);
        // Ignore patterns are not shown.
        let told = DATA.iter().filter(|name| !name.starts_with("info/"));
        let data = told.map(|name| self.common.join(name));
        let mut data = data
            .chain([self.own.join("index"), self.own.join("HEAD")])
            .filter_map(|path| real(&path));
        (is_within || !Committed::of(&root, None).writable.is_empty()) && data.all(|path| holds(&path))
    }

    /// The branch in `HEAD`, or the commit if there is none; `None` if `HEAD` does not say.
    pub(crate) fn branch(&self) -> Option<String> {
        let head = text(&self.own.join("HEAD"))?;
        let head = head.trim();
        match head.strip_prefix("ref:") {
            // With reftable, `HEAD` is in a table; the file only satisfies older versions of git.
            Some(name) if name.trim() == "refs/heads/.invalid" => None,
            Some(name) => Some(name.trim().trim_start_matches("refs/heads/").to_owned()),
            None => (head.len() >= 40 && head.bytes().all(|byte| byte.is_ascii_hexdigit()))
                .then(|| format!("HEAD (no branch) at {}", &head[..12])),
        }
    }

    /// Records the files that make git start programs: settings and hooks, including those of submodules and other
    /// working trees.
    pub(crate) fn note_obeyed(&self, obeyed: &mut Obeyed) {
        obeyed.note_repository(&self.own);
        obeyed.note_repository(&self.common);
        obeyed.note(self.own.join(COMMON));
        let mut waiting = vec![self.own.join("modules"), self.common.join("modules")];
        waiting.extend(obeyed.note_trees(&self.common));
        let mut count = 0;
        // A submodule's name, and so its folder, may have several components.
        while let Some(folder) = waiting.pop() {
            let inner = if folder.join("HEAD").symlink_metadata().is_ok() {
                obeyed.note_repository(&folder);
                obeyed.note_submodule(&folder);
                let trees = obeyed.note_trees(&folder);
                [vec![folder.join("modules")], trees].concat()
            } else {
                obeyed.within(&folder, |path| path.is_dir())
            };
            count += inner.len();
            if count > FOLDERS {
                // Recording the folder reports at least that there are now too many.
                obeyed.note(folder);
                break;
            }
            waiting.extend(inner);
        }
        let pointer = self.root.join(".git");
        if !pointer.is_dir() {
            obeyed.note(pointer);
        }
        self.note_inner(obeyed);
    }

    /// Records the same for submodules whose repository is inside their tree, and for their submodules: git enters each
    /// of them on any status of the whole repository.
    fn note_inner(&self, obeyed: &mut Obeyed) {
        let mut waiting = vec![(self.root.clone(), self.own.clone())];
        let mut count = 0;
        while let Some((root, own)) = waiting.pop() {
            for tree in gitlinks::of(&own.join("index")).map(|path| root.join(path)) {
                let inner = tree.join(".git");
                if !inner.is_dir() {
                    continue;
                }
                count += 1;
                if count > FOLDERS {
                    // Recording the tree reports at least that there are now too many.
                    return obeyed.note(root);
                }
                obeyed.note_repository(&inner);
                obeyed.note(inner.join(COMMON));
                waiting.push((tree, inner));
            }
        }
    }
}

/// The output of git, and whether it is complete.
pub(crate) type Answer = (String, bool);

/// Git, prepared for queries about one repository.
pub(crate) struct Git {
    program: PathBuf,
    directory: PathBuf,
    environment: Vec<(OsString, OsString)>,
    deadline: Instant,
    /// The pipe whose other end is closed when the output is no longer needed.
    stop: Option<PipeReader>,
    is_stopped: AtomicBool,
    /// The repository folder that git sees.
    scratch: Scratch,
}

impl Git {
    /// Prepares git; `environment` is the user's own. All queries together take at most `time`, and end when the other
    /// end of `stop` is closed. `None` if there is no git, or no folder that commands cannot change.
    pub(crate) fn new(
        repository: &Repository,
        directory: &Path,
        environment: &[(OsString, OsString)],
        context: &ToolContext,
        time: Duration,
        stop: Option<PipeReader>,
    ) -> Option<Git> {
        let sandbox = context.widest();
        let folders = search(environment, &repository.root, &sandbox);
        let program = program(folders.iter().cloned(), &repository.root, &sandbox)?;
        let scratch = scratch(repository, context)?;
        let mut git = Git {
            program,
            directory: directory.to_owned(),
            environment: around(repository, environment, &folders, scratch.path()),
            deadline: Instant::now() + time,
            stop,
            is_stopped: AtomicBool::new(false),
            scratch,
        };
        git.take_over(repository).ok()?;
        Some(git)
    }

    /// Runs two queries in parallel, since each waits for the disk and for a program to start.
    pub(crate) fn ask_both(&self, one: &[&OsStr], other: &[&OsStr]) -> [Option<Answer>; 2] {
        std::thread::scope(|scope| {
            let beside = std::thread::Builder::new().name("git".to_owned());
            let first = beside.spawn_scoped(scope, || self.ask(one));
            let second = self.ask(other);
            let first = match first {
                Ok(first) => first.join().unwrap_or_default(),
                Err(_) => self.ask(one),
            };
            [first, second]
        })
    }

    /// Runs a query and returns its output; `None` if git fails or takes too long.
    pub(crate) fn ask(&self, arguments: &[&OsStr]) -> Option<Answer> {
        let (answer, is_whole) = self.bytes(arguments)?;
        Some((String::from_utf8_lossy(&answer).into_owned(), is_whole))
    }

    /// Runs a query and returns its output as bytes, since file names need not be UTF-8.
    pub(crate) fn bytes(&self, arguments: &[&OsStr]) -> Option<(Vec<u8>, bool)> {
        if self.is_stopped.load(Ordering::Relaxed) {
            return None;
        }
        // A query changes nothing, not even git's index.
        let quiet = ["--no-optional-locks", "--no-pager"].map(OsStr::new);
        let nowhere = File::options().write(true).open("/dev/null").ok()?.into();
        let program = Program {
            program: self.program.clone().into(),
            arguments: quiet.iter().chain(arguments).map(OsString::from).collect(),
            directory: self.directory.clone(),
            held: None,
            input: None,
            // Error messages quote the repository, possibly lines of any file, and are no part of the answer.
            errors: Some(nowhere),
            environment: self.environment.clone(),
            handed: Vec::new(),
            sandbox: Some(Sandbox::new([])),
            timeout: self.deadline.saturating_duration_since(Instant::now()),
        };
        let mut answer = Vec::new();
        let mut is_whole = true;
        let ended = process::run(program, self.stop.as_ref(), &mut |bytes| {
            let room = ANSWER - answer.len();
            is_whole &= bytes.len() <= room;
            answer.extend_from_slice(&bytes[..bytes.len().min(room)]);
        });
        let end = ended.map(|ended| ended.end);
        if matches!(end, Ok(End::Interrupted)) {
            self.is_stopped.store(true, Ordering::Relaxed);
        }
        let is_done = matches!(end, Ok(End::Exited(0)));
        is_done.then_some((answer, is_whole))
    }

    /// Returns whether the user has a settings file where git looks for one.
    fn has_own_settings(&self) -> bool {
        let path = |name: &str| {
            let mut set = self.environment.iter().filter(|(_, value)| !value.is_empty());
            let (_, value) = set.find(|(key, _)| key == name)?;
            Some(self.directory.join(value))
        };
        if let Some(file) = path(GLOBAL) {
            return file.exists();
        }
        let home = path("HOME");
        let beside = path("XDG_CONFIG_HOME").or_else(|| Some(home.as_ref()?.join(".config")));
        let usual = home.map(|home| home.join(".gitconfig"));
        let newer = beside.map(|folder| folder.join("git/config"));
        [usual, newer].iter().flatten().any(|file| file.exists())
    }

    /// Copies the settings of the user and the repository that are plain data. From here on, git reads no others.
    fn take_over(&mut self, repository: &Repository) -> io::Result<()> {
        fn words(words: &[&'static str]) -> Vec<&'static OsStr> {
            words.iter().map(|word| OsStr::new(*word)).collect()
        }
        let of_user = words(&[
            "config",
            "--global",
            "--includes",
            "--type=path",
            "-z",
            "--get-regexp",
            OWN,
        ]);
        let file = repository.common.join("config");
        let mut of_repository: Vec<&OsStr> = words(&["config", "--no-includes", "-z", "--file"]);
        of_repository.extend([file.as_os_str(), OsStr::new("--get-regexp"), OsStr::new(TAKEN)]);
        let answers = match (self.has_own_settings(), file.is_file()) {
            (true, true) => self.ask_both(&of_user, &of_repository),
            (true, false) => [self.ask(&of_user), None],
            (false, true) => [None, self.ask(&of_repository)],
            (false, false) => [None, None],
        };
        let mut values: Vec<(String, String)> = answers
            .iter()
            .flatten()
            .flat_map(|(answer, _)| values(answer))
            .collect();
        // Only the current branch's settings are copied; there may be thousands of others.
        let branch = repository.branch();
        let of_branch = branch.map(|branch| ["remote", "merge"].map(|what| format!("branch.{branch}.{what}")));
        let rank = |name: &str| match &of_branch {
            _ if name.starts_with("remote.") => Some(1),
            _ if !name.starts_with("branch.") => Some(0),
            Some(names) => names.iter().any(|own| own == name).then_some(0),
            // Only git knows the current branch.
            None => Some(2),
        };
        values.retain(|(name, _)| rank(name).is_some());
        // The number of settings is limited.
        values.sort_by_key(|(name, _)| rank(name));
        let format: Vec<String> = values
            .extract_if(.., |(name, _)| name.starts_with("extensions."))
            .filter(|(_, value)| ["sha1", "sha256", "files", "reftable"].contains(&value.as_str()))
            .filter_map(|(name, value)| Some(format!("\t{} = {value}\n", name.strip_prefix("extensions.")?)))
            .collect();
        self.scratch.write("config", &settings(&format.concat()))?;
        values.truncate(VALUES);
        let count = values.len();
        self.environment.retain(|(name, _)| name != GLOBAL);
        self.environment.push((GLOBAL.into(), "/dev/null".into()));
        self.environment
            .push(("GIT_CONFIG_COUNT".into(), count.to_string().into()));
        for (number, (name, value)) in values.into_iter().enumerate() {
            self.environment
                .push((format!("GIT_CONFIG_KEY_{number}").into(), name.into()));
            self.environment
                .push((format!("GIT_CONFIG_VALUE_{number}").into(), value.into()));
        }
        Ok(())
    }
}

/// The variable for the user's settings file, if it is not in the usual place.
const GLOBAL: &str = "GIT_CONFIG_GLOBAL";

/// The search path for git if the environment has none.
pub(crate) const USUAL: &str = "/usr/local/bin:/usr/bin:/bin";

/// Finds git in the first of these folders that has it, excluding the repository and places where commands can write.
pub(crate) fn program(folders: impl IntoIterator<Item = PathBuf>, root: &Path, sandbox: &Sandbox) -> Option<PathBuf> {
    let found = folders
        .into_iter()
        .filter_map(|folder| folder.join("git").canonicalize().ok());
    let mut usable = found.filter(|git| git.is_file() && !git.starts_with(root) && !sandbox.writes(git));
    usable.next()
}

/// The folders to search for git: none in the repository or where commands can write, and none relative to the working
/// directory.
fn search(environment: &[(OsString, OsString)], root: &Path, sandbox: &Sandbox) -> Vec<PathBuf> {
    // Both the root and these folders have links resolved.
    program_folders(environment, USUAL, sandbox)
        .filter(|folder| !folder.starts_with(root))
        .collect()
}

/// Creates a scratch repository folder that links to the data of the real one. It has no settings yet.
fn scratch(repository: &Repository, context: &ToolContext) -> Option<Scratch> {
    let head = text(&repository.own.join("HEAD"))?;
    let scratch = context.scratch().ok()?;
    fill(&scratch, repository, &head).ok()?;
    Some(scratch)
}

fn fill(scratch: &Scratch, repository: &Repository, head: &str) -> io::Result<()> {
    scratch.write("HEAD", head)?;
    scratch.make_folder("info")?;
    let mut linked: Vec<(PathBuf, PathBuf)> = DATA
        .iter()
        .map(|name| (repository.common.join(name), PathBuf::from(name)))
        .collect();
    // An index may be split in two files.
    let own = entries(&repository.own).filter_map(|path| Some((path.clone(), path.file_name()?.to_owned())));
    linked.extend(
        own.filter(|(_, name)| name.as_encoded_bytes().starts_with(b"sharedindex."))
            .map(|(path, name)| (path, PathBuf::from(name))),
    );
    for (target, name) in linked {
        // Link targets are absolute: a relative one would start at the scratch folder.
        if let Ok(target) = target.canonicalize() {
            scratch.link(&target, &name)?;
        }
    }
    Ok(())
}

/// The settings of the scratch repository.
fn settings(extensions: &str) -> String {
    format!("[core]\n\trepositoryformatversion = 1\n\tbare = false\n[extensions]\n{extensions}")
}

/// The environment for git: without the user's `GIT_*` variables, and without a way out.
fn around(
    repository: &Repository,
    environment: &[(OsString, OsString)],
    folders: &[PathBuf],
    scratch: &Path,
) -> Vec<(OsString, OsString)> {
    let is_kept = |name: &OsStr| name == GLOBAL || !name.as_encoded_bytes().starts_with(b"GIT_") && name != "PATH";
    let mut around: Vec<(OsString, OsString)> = environment.iter().filter(|(name, _)| is_kept(name)).cloned().collect();
    let index = repository.own.join("index");
    let fixed: [(&str, &OsStr); 13] = [
        ("GIT_DIR", scratch.as_os_str()),
        ("GIT_WORK_TREE", repository.root.as_os_str()),
        ("GIT_INDEX_FILE", index.as_os_str()),
        ("GIT_CONFIG_NOSYSTEM", OsStr::new("1")),
        ("GIT_ATTR_NOSYSTEM", OsStr::new("1")),
        ("GIT_OPTIONAL_LOCKS", OsStr::new("0")),
        ("GIT_NO_LAZY_FETCH", OsStr::new("1")),
        ("GIT_NO_REPLACE_OBJECTS", OsStr::new("1")),
        ("GIT_ALLOW_PROTOCOL", OsStr::new("none")),
        ("GIT_TERMINAL_PROMPT", OsStr::new("0")),
        ("GIT_PAGER", OsStr::new("cat")),
        ("GIT_EDITOR", OsStr::new("true")),
        ("LC_ALL", OsStr::new("C")),
    ];
    around.extend(fixed.map(|(name, value)| (name.into(), value.to_owned())));
    // These folders come from a path list, so joining them cannot fail.
    around.extend(std::env::join_paths(folders).ok().map(|path| ("PATH".into(), path)));
    around
}

/// Parses the output of `git config -z`.
fn values(answer: &str) -> Vec<(String, String)> {
    answer
        .split('\0')
        .filter_map(|entry| entry.split_once('\n'))
        // Git would refuse a name with a line break, and with it all settings.
        .filter(|(name, value)| name.len() + value.len() < POINTER as usize && !name.contains('\n'))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

/// Reads a small file of git.
pub(crate) fn text(path: &Path) -> Option<String> {
    let (file, _) = files::open(&path.canonicalize().ok()?).ok()?;
    let mut text = String::new();
    file.take(POINTER).read_to_string(&mut text).ok()?;
    Some(text)
}

/// Lists a folder, up to [`ENTRIES`] entries.
pub(crate) fn entries(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    entries.take(ENTRIES).filter_map(|entry| Some(entry.ok()?.path()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn what_is_gits_own_is_known_by_its_name_and_by_what_is_in_it() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        for name in [
            ".git/config",
            ".git",
            "sub/.GIT/hooks/pre-commit",
            ".git/worktrees/x/config.worktree",
        ] {
            assert!(is_gits(&base.join(name)), "{name}");
        }
        for name in [".gitignore", ".github/x.yml", "a.git/config", "HEAD", "config"] {
            assert!(!is_gits(&base.join(name)), "{name}");
        }
        std::fs::create_dir_all(base.join("bare/objects")).unwrap();
        std::fs::write(base.join("bare/HEAD"), "").unwrap();
        assert!(!is_gits(&base.join("bare/config")));
        std::fs::create_dir_all(base.join("bare/refs")).unwrap();
        assert!(is_gits(&base.join("bare/config")) && is_gits(&base.join("bare/hooks/update")));
        // The target of a `commondir`.
        for inner in ["common/objects", "common/refs"] {
            std::fs::create_dir_all(base.join(inner)).unwrap();
        }
        assert!(is_gits(&base.join("common/config")) && is_gits(&base.join("common/hooks/update")));
    }

    #[test]
    fn no_order_of_files_puts_a_repository_together() {
        fn orders(names: &[&'static str]) -> Vec<Vec<&'static str>> {
            if names.is_empty() {
                return vec![Vec::new()];
            }
            let with = |first: &'static str| {
                let others: Vec<_> = names.iter().copied().filter(|name| *name != first).collect();
                orders(&others)
                    .into_iter()
                    .map(move |order| [vec![first], order].concat())
            };
            names.iter().flat_map(|first| with(first)).collect()
        }
        for names in [
            ["HEAD", "config", "objects/a", "refs/a"].as_slice(),
            &["HEAD", "config", "commondir"],
        ] {
            for order in orders(names) {
                let folder = tempfile::tempdir().unwrap();
                let base = folder.path().canonicalize().unwrap();
                let is_refused = order.iter().any(|name| {
                    let path = base.join(name);
                    if is_gits(&path) {
                        return true;
                    }
                    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                    std::fs::write(path, "").unwrap();
                    false
                });
                assert!(is_refused, "{order:?}");
            }
        }
    }

    #[test]
    fn no_git_of_the_repository_itself_is_started() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        let (root, bin, way) = (base.join("repo"), base.join("bin"), base.join("way"));
        for made in [&root.join("bin"), &bin, &base.join("tmp/bin"), &base.join("work/bin")] {
            std::fs::create_dir_all(made).unwrap();
        }
        std::os::unix::fs::symlink(&root, &way).unwrap();
        let folders = [root.join("bin"), way.join("bin"), root.join("../repo/bin"), bin.clone()]
            .map(|path| path.display().to_string());
        let [plain, linked, around, other] = &folders;
        let commands = ["tmp/bin", "work/bin", "tmp"].map(|name| base.join(name).display().to_string());
        let commands = commands.join(":");
        let path = format!("bin:.:{plain}:{linked}:{around}:{commands}:/nowhere:{other}:");
        assert_eq!(
            search(&[("PATH".into(), path.into())], &root, &context(&base).widest()),
            [bin]
        );
    }

    /// A tool context for this folder, with a private folder in it.
    fn context(base: &Path) -> ToolContext {
        let mut options = crate::Options::new(base.join("work"));
        options.temporary = base.join("tmp");
        options.private = vec![base.join("private")];
        ToolContext::new(options)
    }

    #[test]
    fn the_settings_of_files_and_of_the_branch_are_taken_over_before_all_others() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        let git = base.join(".git");
        std::fs::create_dir(&git).unwrap();
        let remotes = (0..2 * VALUES).map(|number| format!("[remote \"r{number}\"]\n\tfetch = x\n"));
        let others = (0..2 * VALUES).map(|number| format!("[branch \"b{number}\"]\n\tremote = x\n"));
        let settings: String = remotes.chain(others).collect();
        let last = "[branch \"main\"]\n\tremote = up\n[core]\n\tprecomposeUnicode = true\n";
        std::fs::write(git.join("config"), settings + last).unwrap();
        let environment = [("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())];
        let taken = |head: &str| -> Vec<OsString> {
            std::fs::write(git.join("HEAD"), head).unwrap();
            let repository = Repository::of(&base).unwrap();
            let time = Duration::from_secs(30);
            let git = Git::new(&repository, &base, &environment, &context(&base), time, None).unwrap();
            let is_key = |name: &OsStr| name.as_encoded_bytes().starts_with(b"GIT_CONFIG_KEY_");
            let keys = git.environment.iter().filter(|(name, _)| is_key(name));
            keys.map(|(_, key)| key.clone()).collect()
        };
        let of_main = taken("ref: refs/heads/main\n");
        assert_eq!(of_main.len(), VALUES);
        assert_eq!(of_main[..2], ["branch.main.remote", "core.precomposeunicode"]);
        assert!(!of_main.contains(&"branch.b0.remote".into()));
        let of_unknown = taken("ref: refs/heads/.invalid\n");
        assert_eq!(of_unknown.len(), VALUES);
        assert_eq!(of_unknown[0], "core.precomposeunicode");
    }

    #[test]
    fn the_users_own_settings_are_taken_over_wherever_git_looks_for_them() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        std::fs::create_dir(base.join(".git")).unwrap();
        std::fs::write(base.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
        let taken = |further: &[(&str, &str)]| -> Vec<OsString> {
            let path = |value: &str| base.join(value).into_os_string();
            let mut environment = vec![("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())];
            environment.push(("HOME".into(), path("home")));
            environment.extend(further.iter().map(|(name, value)| ((*name).into(), path(value))));
            let repository = Repository::of(&base).unwrap();
            let time = Duration::from_secs(30);
            let git = Git::new(&repository, &base, &environment, &context(&base), time, None).unwrap();
            let values = git.environment.iter().filter(|(name, _)| name == "GIT_CONFIG_VALUE_0");
            values.map(|(_, value)| value.clone()).collect()
        };
        let cases: [(&str, &[(&str, &str)]); 4] = [
            ("home/.gitconfig", &[]),
            ("home/.config/git/config", &[]),
            ("other/git/config", &[("XDG_CONFIG_HOME", "other")]),
            ("named", &[(GLOBAL, "named")]),
        ];
        for (file, environment) in cases {
            assert_eq!(taken(environment), [] as [OsString; 0], "{file}");
            let file = base.join(file);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(&file, "[core]\n\tautocrlf = input\n").unwrap();
            assert_eq!(taken(environment), ["input"], "{}", file.display());
            std::fs::remove_file(file).unwrap();
        }
    }

    #[test]
    fn a_head_that_says_anything_else_is_no_branch() {
        let folder = tempfile::tempdir().unwrap();
        let git = folder.path().join(".git");
        std::fs::create_dir(&git).unwrap();
        let branch = |head: &str| {
            std::fs::write(git.join("HEAD"), head).unwrap();
            Repository::of(folder.path()).unwrap().branch()
        };
        assert_eq!(branch("ref: refs/heads/a/b\n").as_deref(), Some("a/b"));
        assert_eq!(
            branch(&"0a".repeat(20)).as_deref(),
            Some("HEAD (no branch) at 0a0a0a0a0a0a")
        );
        for head in ["", "ä", "zzz", "0a0a", "ref: refs/heads/.invalid\n"] {
            assert_eq!(branch(head), None, "{head}");
        }
    }
}
