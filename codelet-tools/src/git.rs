//! Queries a git repository without obeying its settings.
//!
//! A repository can name programs in many places: filters, diff drivers, hooks, a file system monitor, an editor, a
//! pager, commands for remotes, and whatever its submodules' settings say. A list of exclusions would miss the next
//! one. So git never sees the repository's settings: it gets a scratch repository folder with our own settings, in
//! which only plain data (objects, references, the index, ignore patterns) is linked to the real one. A few real
//! settings whose values cannot name a program are copied. Git also runs in the [sandbox](crate::sandbox::Sandbox),
//! where it can write nothing and has no network access.

use crate::committed::Committed;
use crate::git_settings;
use crate::process::{self, End};
use crate::repository::{POINTER, Repository, entries, text};
use crate::sandbox::Sandbox;
use crate::scratch::Scratch;
use crate::spawn::Program;
use crate::tool_context::{ToolContext, program_folders};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, PipeReader};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Bytes of a git output that are read.
const ANSWER: usize = 256 * 1024;
/// The maximum number of settings that are copied.
const VALUES: usize = 64;
/// The user's own settings that are copied.
const OWN: [&str; 3] = ["core.autocrlf", "core.eol", "core.excludesfile"];
/// The sections of a repository's settings that are copied, as git matches names.
const TAKEN: &str = r"^(core|extensions|branch|remote)\.";

/// Returns whether a setting of a repository is copied, since its values are harmless: the comparison of files, and the
/// upstreams of branches.
fn is_taken(name: &str) -> bool {
    match name.split_once('.') {
        Some(("core", what)) => matches!(
            what,
            "filemode" | "ignorecase" | "symlinks" | "autocrlf" | "eol" | "precomposeunicode"
        ),
        Some(("extensions", what)) => matches!(what, "objectformat" | "refstorage"),
        Some(("branch", what)) => what.ends_with(".remote") || what.ends_with(".merge"),
        Some(("remote", what)) => what.ends_with(".fetch"),
        _ => false,
    }
}

/// Plain data in the folder shared by all working trees of a repository.
const DATA: [&str; 7] = [
    "objects", "refs", "packed-refs", "reftable", "shallow", "info/exclude", "info/sparse-checkout",
];

impl Repository {
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

    /// Runs two queries in parallel, since each waits for the disk and for a program to start; the first one, which should
    /// be the longer, starts first.
    pub(crate) fn ask_both(&self, one: &[&OsStr], other: &[&OsStr]) -> [Option<Answer>; 2] {
        std::thread::scope(|scope| {
            let beside = std::thread::Builder::new().name("git".to_owned());
            let second = beside.spawn_scoped(scope, || self.ask(other));
            let first = self.ask(one);
            let second = match second {
                Ok(second) => second.join().unwrap_or_default(),
                Err(_) => self.ask(other),
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

    /// The user's settings files that exist where git looks for them.
    fn own_settings(&self) -> Vec<PathBuf> {
        let path = |name: &str| self.variable(name).map(|value| self.directory.join(value));
        let mut files = match path(GLOBAL) {
            Some(file) => vec![file],
            None => {
                let home = path("HOME");
                let beside = path("XDG_CONFIG_HOME").or_else(|| Some(home.as_ref()?.join(".config")));
                let newer = beside.map(|folder| folder.join("git/config"));
                let usual = home.map(|home| home.join(".gitconfig"));
                newer.into_iter().chain(usual).collect()
            }
        };
        files.retain(|file| file.exists());
        files
    }

    /// The value of a variable that is set and not empty.
    fn variable(&self, name: &str) -> Option<&OsStr> {
        let mut set = self.environment.iter().filter(|(_, value)| !value.is_empty());
        set.find(|(key, _)| key == name).map(|(_, value)| &**value)
    }

    /// The user's settings that are copied, if git is not needed to read them.
    fn plain_own(&self, files: &[PathBuf]) -> Option<Vec<(String, String)>> {
        let [file] = files else {
            return files.is_empty().then(Vec::new);
        };
        let includes = |name: &str| name.starts_with("include.") || name.starts_with("includeif.");
        let mut settings = plain_settings(file, |name| includes(name) || OWN.contains(&name))?;
        for (name, value) in &mut settings {
            if includes(name) {
                return None;
            }
            if let Some(below) = value.strip_prefix("~/") {
                *value = format!("{}/{below}", self.variable("HOME")?.to_str()?);
            } else if value.starts_with(['~', ':', '%']) {
                // Another user's home, and what newer versions of git read into a path.
                return None;
            }
        }
        Some(settings)
    }

    /// Reads the settings of the user and the repository that are harmless.
    fn harmless(&self, repository: &Repository) -> Vec<(String, String)> {
        let ask = |which: &[&OsStr], pattern: &str| {
            let arguments = [
                &["config", "-z"].map(OsStr::new),
                which,
                &["--get-regexp", pattern].map(OsStr::new),
            ];
            let answer = self.ask(&arguments.concat());
            answer.map(|(answer, _)| values(&answer)).unwrap_or_default()
        };
        let mut settings = self.plain_own(&self.own_settings()).unwrap_or_else(|| {
            let of_user = ["--global", "--includes", "--type=path"].map(OsStr::new);
            ask(&of_user, &format!("^({})$", OWN.join("|")))
        });
        let file = repository.common.join("config");
        if file.is_file() {
            let of_repository = [OsStr::new("--no-includes"), OsStr::new("--file"), file.as_os_str()];
            let found = plain_settings(&file, is_taken).unwrap_or_else(|| ask(&of_repository, TAKEN));
            settings.extend(found.into_iter().filter(|(name, _)| is_taken(name)));
        }
        settings
    }

    /// Copies the settings of the user and the repository that are harmless. From here on, git reads no others.
    fn take_over(&mut self, repository: &Repository) -> io::Result<()> {
        let mut values = self.harmless(repository);
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

/// Reads the wanted settings of a file, unless git is needed for that.
fn plain_settings(file: &Path, is_wanted: impl Fn(&str) -> bool) -> Option<Vec<(String, String)>> {
    let text = text(file).filter(|text| text.len() < POINTER as usize)?;
    git_settings::plain(&text, is_wanted)
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

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
}
