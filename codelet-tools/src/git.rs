//! Git, asked about a repository without obeying it.
//!
//! A repository can name programs in many places: filters, diff drivers, hooks, a monitor of files, an editor, a pager,
//! commands for remotes, and whatever its submodules' settings say. Leaving each of them out by name would miss the next one.
//! So git never sees the repository's settings: it is given a scratch repository folder with settings of our own, in which
//! only what is plain data is linked to the real one (objects, references, the index, what is ignored). Of the real settings a few
//! values that cannot name a program are taken over. It runs in the [sandbox](crate::sandbox::Sandbox) besides, where
//! it can write nothing and reaches no network.

use crate::files::{self, Stamp};
use crate::process::{self, End, Program};
use crate::sandbox::Sandbox;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Bytes of one answer of git that are looked at.
const ANSWER: usize = 256 * 1024;
/// Longest file that points to another one, in bytes.
const POINTER: u64 = 8192;
/// Entries of a folder of git's that are looked at, and values of its settings that are taken over.
const ENTRIES: usize = 256;
const VALUES: usize = 64;
/// The repository's settings that are taken over where their values are harmless: how its files are compared, and where a
/// branch's upstream is.
const TAKEN: &str = r"^(core\.(filemode|ignorecase|symlinks|autocrlf|eol)|extensions\.(objectformat|refstorage)|branch\..*\.(remote|merge)|remote\..*\.fetch)$";
/// The user's own settings that are taken over.
const OWN: &str = r"^core\.(autocrlf|eol|excludesfile)$";

/// The folder that a folder's repository begins at.
pub(crate) fn root(directory: &Path) -> Option<PathBuf> {
    directory
        .ancestors()
        .find(|folder| folder.join(".git").symlink_metadata().is_ok())
        .map(Path::to_owned)
}

/// Whether a resolved path is git's own: below a folder, or a file, named `.git`, or in a folder that git would take for a
/// repository by what is in it.
pub(crate) fn is_gits(path: &Path) -> bool {
    // Some file systems do not tell letters' cases apart.
    let is_named = |name: &OsStr| name.eq_ignore_ascii_case(".git");
    let is_repository = |folder: &Path| {
        let has = |name: &str| folder.join(name).symlink_metadata().is_ok();
        has("HEAD") && (has("commondir") || (has("objects") && has("refs")))
    };
    path.iter().any(is_named) || path.ancestors().skip(1).any(is_repository)
}

/// A repository on disk.
pub(crate) struct Repository {
    root: PathBuf,
    /// What belongs to this working tree: `HEAD`, the index.
    own: PathBuf,
    /// What belongs to all working trees of it.
    common: PathBuf,
}

impl Repository {
    /// The one that a folder belongs to.
    pub(crate) fn of(directory: &Path) -> Option<Repository> {
        let root = root(directory)?;
        let dot = root.join(".git");
        let own = match dot.is_dir() {
            true => dot,
            false => root.join(text(&dot)?.strip_prefix("gitdir:")?.trim()),
        };
        let common = text(&own.join("commondir")).map_or_else(|| own.clone(), |common| own.join(common.trim()));
        Some(Repository { root, own, common })
    }

    /// The branch that is checked out, as `HEAD` says; the commit where there is none.
    pub(crate) fn branch(&self) -> Option<String> {
        let head = text(&self.own.join("HEAD"))?;
        let head = head.trim();
        match head.strip_prefix("ref:") {
            Some(name) => Some(name.trim().trim_start_matches("refs/heads/").to_owned()),
            None => (head.len() >= 40 && head.bytes().all(|byte| byte.is_ascii_hexdigit()))
                .then(|| format!("HEAD (no branch) at {}", &head[..12])),
        }
    }

    /// The files that make git start programs, as they stand: its settings and hooks, also those of submodules.
    pub(crate) fn obeyed(&self) -> Obeyed {
        let mut files = BTreeMap::new();
        let modules = entries(&self.common.join("modules"));
        for folder in [self.own.clone(), self.common.clone()].into_iter().chain(modules) {
            // A template's samples are not run.
            let hooks = entries(&folder.join("hooks"));
            let hooks = hooks
                .into_iter()
                .filter(|path| path.extension() != Some(OsStr::new("sample")));
            let settings = ["config", "config.worktree"].map(|name| folder.join(name));
            for path in settings.into_iter().chain(hooks) {
                if let Ok(metadata) = path.symlink_metadata() {
                    files.insert(path, Stamp::of(&metadata));
                }
            }
        }
        let pointer = self.root.join(".git");
        if let Ok(metadata) = pointer.symlink_metadata()
            && !metadata.is_dir()
        {
            files.insert(pointer, Stamp::of(&metadata));
        }
        Obeyed(files)
    }
}

/// Files that git obeys, as they stood.
#[derive(Default)]
pub(crate) struct Obeyed(BTreeMap<PathBuf, Stamp>);

impl Obeyed {
    /// Those that were put there or changed since.
    pub(crate) fn changed(&self, since: &Obeyed) -> Vec<PathBuf> {
        let is_new = |(path, stamp): &(&PathBuf, &Stamp)| since.0.get(*path) != Some(*stamp);
        self.0.iter().filter(is_new).map(|(path, _)| path.clone()).collect()
    }
}

/// Git, ready to be asked about one repository.
pub(crate) struct Git {
    program: PathBuf,
    directory: PathBuf,
    environment: Vec<(OsString, OsString)>,
    deadline: Instant,
    /// The repository folder that git sees.
    scratch: TempDir,
}

impl Git {
    /// Gets ready; `environment` is the user's own, `temporary` a folder for the scratch one, and all answers together
    /// take at most `time`. Nothing where there is no git, or no room.
    pub(crate) fn new(
        repository: &Repository,
        directory: &Path,
        environment: &[(OsString, OsString)],
        temporary: &Path,
        time: Duration,
    ) -> Option<Git> {
        let folders = search(environment, &repository.root);
        let program = folders
            .iter()
            .map(|folder| folder.join("git"))
            .find(|git| git.is_file())?;
        let scratch = scratch(repository, temporary).ok()?;
        let mut git = Git {
            program,
            directory: directory.to_owned(),
            environment: around(repository, environment, &folders, scratch.path()),
            deadline: Instant::now() + time,
            scratch,
        };
        git.take_over(repository).ok()?;
        Some(git)
    }

    /// What git answers, and whether that is all; nothing where it fails or takes too long.
    pub(crate) fn ask(&self, arguments: &[&OsStr]) -> Option<(String, bool)> {
        // A look changes nothing, not even git's own notes.
        let quiet = ["--no-optional-locks", "--no-pager"].map(OsStr::new);
        let program = Program {
            program: self.program.clone().into(),
            arguments: quiet.iter().chain(arguments).map(OsString::from).collect(),
            directory: self.directory.clone(),
            environment: self.environment.clone(),
            sandbox: Some(Sandbox::new([])),
            timeout: self.deadline.saturating_duration_since(Instant::now()),
        };
        let mut answer = Vec::new();
        let mut is_whole = true;
        let ended = process::run(program, None, &mut |bytes| {
            let room = ANSWER - answer.len();
            is_whole &= bytes.len() <= room;
            answer.extend_from_slice(&bytes[..bytes.len().min(room)]);
        });
        let is_done = ended.is_ok_and(|ended| ended.end == End::Exited(0));
        is_done.then(|| (String::from_utf8_lossy(&answer).into_owned(), is_whole))
    }

    /// Takes over those settings of the user and of the repository that are data. From here on no other ones are read.
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
        let mut values = values(&self.ask(&of_user).unwrap_or_default().0);
        let file = repository.common.join("config");
        if file.is_file() {
            let mut of_repository: Vec<&OsStr> = words(&["config", "--no-includes", "-z", "--file"]);
            of_repository.extend([file.as_os_str(), OsStr::new("--get-regexp"), OsStr::new(TAKEN)]);
            values.extend(self::values(&self.ask(&of_repository).unwrap_or_default().0));
        }
        // A branch's settings are those of the one that is checked out; there may be thousands of others.
        let branch = repository.branch().unwrap_or_default();
        let [remote, merge] = ["remote", "merge"].map(|what| format!("branch.{branch}.{what}"));
        values.retain(|(name, _)| !name.starts_with("branch.") || *name == remote || *name == merge);
        let format: Vec<String> = values
            .extract_if(.., |(name, _)| name.starts_with("extensions."))
            .filter(|(_, value)| ["sha1", "sha256", "files", "reftable"].contains(&value.as_str()))
            .filter_map(|(name, value)| Some(format!("\t{} = {value}\n", name.strip_prefix("extensions.")?)))
            .collect();
        std::fs::write(self.scratch.path().join("config"), settings(&format.concat()))?;
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

/// Where the user's own settings are, if not at the usual place.
const GLOBAL: &str = "GIT_CONFIG_GLOBAL";

/// The folders in which git may be: none in the repository, none that depends on where one stands.
fn search(environment: &[(OsString, OsString)], root: &Path) -> Vec<PathBuf> {
    let path = environment.iter().find(|(name, _)| name == "PATH");
    let path = path.map_or(OsStr::new("/usr/local/bin:/usr/bin:/bin"), |(_, value)| value);
    std::env::split_paths(path)
        .filter(|folder| folder.is_absolute() && !folder.starts_with(root))
        .collect()
}

/// A repository folder of our own, in which the data of the real one is linked.
fn scratch(repository: &Repository, temporary: &Path) -> io::Result<TempDir> {
    let scratch = tempfile::Builder::new().prefix("codelet-git-").tempdir_in(temporary)?;
    let folder = scratch.path();
    let head = text(&repository.own.join("HEAD")).ok_or(io::ErrorKind::InvalidData)?;
    std::fs::write(folder.join("HEAD"), head)?;
    std::fs::write(folder.join("config"), settings(""))?;
    std::fs::create_dir(folder.join("info"))?;
    let common = [
        "objects",
        "refs",
        "packed-refs",
        "reftable",
        "shallow",
        "info/exclude",
        "info/sparse-checkout",
    ];
    let mut linked: Vec<(PathBuf, &Path)> = common
        .iter()
        .map(|name| (repository.common.join(name), Path::new(*name)))
        .collect();
    // An index may be split in two.
    let own = entries(&repository.own);
    let shared = own.iter().filter_map(|path| Some((path, path.file_name()?)));
    linked.extend(
        shared
            .filter(|(_, name)| name.as_encoded_bytes().starts_with(b"sharedindex."))
            .map(|(path, name)| (path.clone(), Path::new(name))),
    );
    for (target, name) in linked {
        // What is linked is canonical: a relative path would begin at the scratch folder.
        if let Ok(target) = target.canonicalize() {
            std::os::unix::fs::symlink(target, folder.join(name))?;
        }
    }
    Ok(scratch)
}

/// The settings of the scratch repository.
fn settings(extensions: &str) -> String {
    format!("[core]\n\trepositoryformatversion = 1\n\tbare = false\n[extensions]\n{extensions}")
}

/// The environment of git: nothing of the user's that is about git, and nowhere to go.
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
    // Folders came from a path, so they can be one again.
    around.extend(std::env::join_paths(folders).ok().map(|path| ("PATH".into(), path)));
    around
}

/// What `git config -z` lists.
fn values(answer: &str) -> Vec<(String, String)> {
    answer
        .split('\0')
        .filter_map(|entry| entry.split_once('\n'))
        // A name with a line break would be refused, and everything with it.
        .filter(|(name, value)| name.len() + value.len() < POINTER as usize && !name.contains('\n'))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

/// A small file of git's.
fn text(path: &Path) -> Option<String> {
    let (file, _) = files::open(&path.canonicalize().ok()?).ok()?;
    let mut text = String::new();
    file.take(POINTER).read_to_string(&mut text).ok()?;
    Some(text)
}

/// What is in a folder, as far as it is looked at.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    entries
        .take(ENTRIES)
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect()
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
    }

    #[test]
    fn no_git_of_the_repository_itself_is_started() {
        let environment = [("PATH".into(), "bin:.:/repo/bin:/usr/bin:".into())];
        assert_eq!(search(&environment, Path::new("/repo")), [Path::new("/usr/bin")]);
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
        for head in ["", "ä", "zzz", "0a0a"] {
            assert_eq!(branch(head), None, "{head}");
        }
    }
}
