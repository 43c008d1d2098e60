//! The tools of a coding agent: `Read Write Edit Bash Grep Glob LS Todo Note Recall`.
//!
//! The loop knows tools only by its traits; this crate is the edge that opens files and starts programs. Everything is
//! bounded where it comes in: a file of 10 GB, a device, or a program that never stops printing costs no memory. What a
//! tool answers is bounded again by the loop, which keeps the whole behind a handle.
//!
//! Paths are resolved through every link before they are judged, and what was judged is what is opened. Commands run in
//! a session of their own, without keys, and, unless everything is permitted, inside a [sandbox](sandbox::Sandbox).
//! Nothing here reads the environment of the process, its arguments, or the clock of the wall: they come in as
//! [`Options`].
//!
//! Start with [`all`]; [`environment::World`] is the other half of what a session asks of its machine.
//!
//! ```
//! use codelet_tools::{Options, all};
//!
//! let tools = all(&Options::new("/tmp"));
//! let names: Vec<&str> = tools.iter().map(|tool| &*tool.spec().name).collect();
//! assert_eq!(names, ["Read", "Write", "Edit", "Bash", "Grep", "Glob", "LS", "Todo", "Note", "Recall"]);
//! ```

mod arguments;
mod bash;
mod bounded;
mod caches;
mod committed;
mod copies;
mod cwd;
mod diff;
mod edit;
mod ending;
pub mod environment;
mod files;
mod git;
mod gitlinks;
mod glob;
mod grep;
mod handed;
pub mod hook;
mod ignored;
#[cfg(target_os = "linux")]
mod lack;
mod left;
mod ls;
mod masked;
mod mounts;
mod near;
mod note;
mod notebook;
mod obeyed;
pub mod outside;
mod owned;
mod path;
pub mod pictures;
mod proc_scan;
mod process;
mod process_tree;
mod read;
mod real_git;
mod reaper;
mod recall;
mod removed;
mod replace;
mod run_blocking;
pub mod sandbox;
pub mod scratch;
pub mod secrets;
mod seen;
mod spawn;
mod text;
mod todo;
mod tool_context;
mod walk;
pub mod worktree;
mod write;

use codelet_agent::interrupt::Interrupt;
use codelet_agent::journal;
use codelet_agent::permission::Permission;
use codelet_agent::spelling;
use codelet_agent::tool::Tool;
use futures_util::future::BoxFuture;
pub use process_tree::{MARK, end_all};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tool_context::ToolContext;

/// Folders for temporary files of all users, in which an earlier command may have put anything.
pub const TEMPORARY: [&str; 3] = ["/tmp", "/var/tmp", "/dev/shm"];

/// What the tools are to know of their session.
#[derive(Clone, Debug)]
pub struct Options {
    /// The folder that may be changed under [`Permission::Edit`].
    pub workspace: PathBuf,
    /// Further folders that the user has given to the session: they may be read and changed as the workspace is.
    pub added: Vec<PathBuf>,
    /// Where relative paths and commands begin; in the workspace.
    pub directory: PathBuf,
    /// What `~` stands for.
    pub home: Option<PathBuf>,
    /// Files and folders that say what a session may do: not the workspace's, wherever they lie.
    pub settings: Vec<PathBuf>,
    /// How far the tools may go: commands run in a sandbox unless it is [`Permission::All`].
    pub permission: Permission,
    /// Values that are shown nowhere and given to no command: keys.
    pub secrets: secrets::SecretSource,
    /// The environment that commands get, less what holds a [secret](secrets::is_secret) by its name or its value.
    pub env: Vec<(OsString, OsString)>,
    /// Names of variables that commands get although they look like a secret.
    pub env_allowed: Vec<String>,
    /// Where temporary files go; commands in a sandbox may write there.
    pub temporary: PathBuf,
    /// Folders of the user's, the best one first, for files that need a name for a while and that no command is to change. The
    /// first is taken in which none can.
    pub private: Vec<PathBuf>,
    /// More folders that commands in a sandbox may write to, such as a package manager's cache.
    pub writable: Vec<PathBuf>,
    /// A folder of the user's for what build tools and package managers keep while they run in the sandbox, apart from what they keep
    /// elsewhere; each workspace has its own in it.
    pub caches: Option<PathBuf>,
    /// Whether commands under [`Permission::Edit`] reach the network.
    pub has_network: bool,
    /// Whether somebody may be asked to give it to a command that has failed without.
    pub offers_network: bool,
    /// Whether the model takes pictures.
    pub sees_images: bool,
    /// How long a command may take where the call does not say.
    pub bash_timeout: Duration,
    /// How long a command may take at most.
    pub bash_longest: Duration,
}

impl Options {
    /// The usual ones for this workspace: commands get no environment at all, two minutes, and at most half an hour.
    pub fn new(workspace: impl Into<PathBuf>) -> Self {
        let workspace = workspace.into();
        Options {
            directory: workspace.clone(),
            workspace,
            added: Vec::new(),
            home: None,
            settings: Vec::new(),
            permission: Permission::default(),
            secrets: secrets::SecretSource::default(),
            env: Vec::new(),
            env_allowed: Vec::new(),
            temporary: PathBuf::from("/tmp"),
            private: Vec::new(),
            writable: Vec::new(),
            caches: None,
            has_network: false,
            offers_network: true,
            sees_images: false,
            bash_timeout: Duration::from_secs(120),
            bash_longest: Duration::from_secs(30 * 60),
        }
    }
}

/// The environment that a program of the user's may have: what the session was started with, less what holds a secret by
/// its name or its value, and is not allowed by its name.
pub fn environment(options: &Options) -> Vec<(OsString, OsString)> {
    let secrets = options.secrets.now();
    let kept = secrets.environment(&options.env, &options.env_allowed);
    kept.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// All tools of a session, in the order in which the model is told of them. They share what they have seen of files and
/// where the shell stands; what they start is ended when the last of them is dropped.
pub fn all(options: &Options) -> Vec<Arc<dyn Tool>> {
    all_with_reach(options).0
}

/// How far the tools of a session may go, and for whom they work; both can change while they are used.
#[derive(Clone)]
pub struct Reach(Arc<ToolContext>);

impl Reach {
    /// They may go as far as this from now on: commands that begin afterwards run in a sandbox, or without one.
    pub fn permit(&self, permission: Permission) {
        self.0.permit(permission);
    }

    /// How far they may go now.
    pub fn permission(&self) -> Permission {
        self.0.permission()
    }

    /// Another model is asked from now on, which takes pictures or does not.
    pub fn show_images(&self, sees_images: bool) {
        self.0.show_images(sees_images);
    }

    /// Whether the model that is asked now takes pictures.
    pub fn sees_images(&self) -> bool {
        self.0.sees_images()
    }

    /// A tool of another crate that keeps to what these do: it shows no secret, answers within bounds, and says which parameters nobody
    /// reads.
    pub fn guarded(&self, tool: Box<dyn Tool>) -> Arc<dyn Tool> {
        Arc::new(tool_context::Discreet::new(tool, &self.0))
    }

    /// `PATH` without the folders that commands in the sandbox can put programs into.
    pub fn search_path(&self) -> OsString {
        self.0.safe_path()
    }

    /// The session's tools anew, for a model that takes pictures or does not. They may go exactly as far as the session's, now and
    /// whenever that changes; what they have seen of files and where their shell stands is their own.
    pub fn tools_anew(&self, sees_images: bool) -> Vec<Arc<dyn Tool>> {
        tools_at(&Arc::new(self.0.another(sees_images)))
    }

    /// What the tools, also those that are made [anew](Self::tools_anew), change in files from here on. Copies of what was there before are
    /// kept in memory, up to 64 MiB of them; those of files of more than 10 MiB never.
    pub fn journal(&self) -> Arc<dyn journal::Journal> {
        self.0.copies.keep();
        Arc::new(self.clone())
    }

    /// A folder for files that need a name for a while and that no command in the sandbox can change.
    ///
    /// # Errors
    /// Says why there is no place for it.
    pub fn scratch(&self) -> Result<scratch::Scratch, String> {
        self.0.scratch()
    }
}

impl journal::Journal for Reach {
    fn mark(&self) -> journal::Mark {
        self.0.copies.mark()
    }

    fn note_command(&self, command: &str) {
        self.0.copies.note_command(&self.0.secrets().hide(command));
    }

    fn commands(&self, from: journal::Mark, to: journal::Mark) -> Vec<String> {
        self.0.copies.commands(from, to)
    }

    fn changed(&self, from: journal::Mark, to: journal::Mark) -> Vec<journal::ChangedFile> {
        self.0.changed(from, to)
    }

    fn restores(&self, to: journal::Mark) -> BoxFuture<'static, Vec<journal::Restore>> {
        let context = Arc::clone(&self.0);
        Box::pin(run_blocking::blocking(move || context.restores(to)))
    }

    fn restore(&self, to: journal::Mark, overwrite: bool) -> BoxFuture<'static, Vec<journal::Restored>> {
        let context = Arc::clone(&self.0);
        Box::pin(run_blocking::blocking(move || context.restore(to, overwrite)))
    }

    fn forget_looks(&self) {
        self.0.seen.forget();
    }
}

/// [`all`], and what says how far they may go.
pub fn all_with_reach(options: &Options) -> (Vec<Arc<dyn Tool>>, Reach) {
    let context = Arc::new(ToolContext::new(options.clone()));
    (tools_at(&context), Reach(context))
}

fn tools_at(context: &Arc<ToolContext>) -> Vec<Arc<dyn Tool>> {
    let tools: [Box<dyn Tool>; 10] = [
        Box::new(read::Read::new(context)),
        Box::new(write::Write::new(context)),
        Box::new(edit::Edit::new(context)),
        Box::new(bash::Bash::new(context)),
        Box::new(grep::Grep::new(context)),
        Box::new(glob::Glob::new(context)),
        Box::new(ls::Ls::new(context)),
        Box::new(todo::Todo::new()),
        Box::new(note::Note::new()),
        Box::new(recall::Recall::new()),
    ];
    let tools = tools.into_iter();
    tools
        .map(|tool| Arc::new(tool_context::Discreet::new(tool, context)) as Arc<dyn Tool>)
        .collect()
}

pub use files::open_plainly;

/// The files below a folder by their paths from there, at most so many, past what ignore files name.
pub fn files(root: &Path, most: usize) -> Vec<String> {
    let mut found = Vec::new();
    walk::files(root, &Interrupt::new(), &mut walk::Unread::default(), |path, _| {
        let path = path.strip_prefix(root).unwrap_or(path);
        // As the tools read them: a name that would break a line stands in quotes.
        found.push(spelling::spell(path.as_os_str()));
        found.len() < most
    });
    found
}
