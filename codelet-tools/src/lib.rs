//! The tools of a coding agent: `Read Write Edit Bash Grep Glob LS Todo Note Recall`.
//!
//! The loop knows tools only by its traits; this crate is the edge that opens files and starts programs. All input is
//! bounded where it is read: a file of 10 GB, a device, or a program that never stops printing costs no memory. The
//! loop bounds each tool's output again and keeps the whole under a handle.
//!
//! Paths are resolved through all symbolic links before they are judged, and the path that was judged is the one that
//! is opened. Commands run in their own session, without keys, and, unless everything is permitted, inside a
//! [sandbox](sandbox::Sandbox). Nothing here reads the process's environment, its arguments, or the wall clock: they
//! come in as [`Options`].
//!
//! Start with [`all`]; [`environment::World`] covers the rest of what a session needs from its machine.
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
pub mod draft;
mod edit;
mod ending;
pub mod environment;
mod files;
mod git;
mod git_settings;
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
mod near;
mod note;
mod notebook;
mod obeyed;
pub mod outside;
mod owned;
mod path;
pub mod pdf;
pub mod pictures;
mod process;
mod read;
mod real_git;
mod recall;
mod removed;
mod replace;
mod repository;
mod run_blocking;
pub mod sandbox;
pub mod scratch;
pub mod secrets;
mod seen;
mod spawn;
mod starter;
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
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tool_context::ToolContext;

/// Temporary folders shared by all users; an earlier command may have put anything there.
pub const TEMPORARY: [&str; 3] = ["/tmp", "/var/tmp", "/dev/shm"];

/// The tools' settings for a session.
#[derive(Clone, Debug)]
pub struct Options {
    /// The folder that may be changed under [`Permission::Edit`].
    pub workspace: PathBuf,
    /// Further folders that the user added to the session; they may be read and changed like the workspace.
    pub added: Vec<PathBuf>,
    /// The folder, in the workspace, that relative paths are resolved against and commands start in.
    pub directory: PathBuf,
    /// The folder that `~` expands to.
    pub home: Option<PathBuf>,
    /// Files and folders that decide what a session may do; wherever they are, they do not count as the workspace's.
    pub settings: Vec<PathBuf>,
    /// The session's permission; commands run in a sandbox unless it is [`Permission::All`].
    pub permission: Permission,
    /// Secret values, such as keys, that are never shown nor passed to a command.
    pub secrets: secrets::SecretSource,
    /// The environment of commands, from which variables with a [secret](secrets::is_secret) name or value are removed.
    pub env: Vec<(OsString, OsString)>,
    /// Names of variables that are passed to commands although they look like a secret.
    pub env_allowed: Vec<String>,
    /// The folder for temporary files; sandboxed commands may write there.
    pub temporary: PathBuf,
    /// Folders of the user, in order of preference, for short-lived named files that no command may change. The first
    /// one that commands cannot write to is used.
    pub private: Vec<PathBuf>,
    /// More folders that sandboxed commands may write to, such as a package manager's cache.
    pub writable: Vec<PathBuf>,
    /// A folder of the user for the caches of build tools and package managers that run in the sandbox, separate from
    /// their usual caches; each workspace has its own subfolder. Sandboxed commands have their temporary files there,
    /// too, if something in `temporary` is protected from them.
    pub caches: Option<PathBuf>,
    /// True if commands under [`Permission::Edit`] have network access.
    pub has_network: bool,
    /// True if the user may be asked to grant network access to a command that failed without it.
    pub offers_network: bool,
    /// True if the model accepts images.
    pub sees_images: bool,
    /// The timeout of a command whose call sets none.
    pub bash_timeout: Duration,
    /// The longest timeout of a command.
    pub bash_longest: Duration,
    /// The command that passes further arguments to [`pdf::serve`]. If it is empty,
    /// PDFs are not read.
    pub pdf_command: Vec<OsString>,
}

impl Options {
    /// The defaults for this workspace: commands get an empty environment, a timeout of two minutes, and at most half
    /// an hour.
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
            pdf_command: Vec::new(),
        }
    }
}

/// Returns the environment for a program of the user: the session's own, without variables that hold a secret by name
/// or value, unless their name is allowed.
pub fn environment(options: &Options) -> Vec<(OsString, OsString)> {
    let secrets = options.secrets.now();
    let kept = secrets.environment(&options.env, &options.env_allowed);
    kept.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// Returns all tools of a session in the order in which the model sees them. They share the record of files seen and
/// the shell's working directory; dropping the last of them ends the processes that they started.
pub fn all(options: &Options) -> Vec<Arc<dyn Tool>> {
    all_with_reach(options).0
}

/// The permission of a session's tools and the model that they work for; both can change while the tools are in use.
#[derive(Clone)]
pub struct Reach(Arc<ToolContext>);

impl Reach {
    /// Sets the permission; it decides whether commands started from now on run in a sandbox.
    pub fn permit(&self, permission: Permission) {
        self.0.permit(permission);
    }

    /// The current permission.
    pub fn permission(&self) -> Permission {
        self.0.permission()
    }

    /// Sets whether the model that is asked from now on accepts images.
    pub fn show_images(&self, sees_images: bool) {
        self.0.show_images(sees_images);
    }

    /// Returns whether the current model accepts images.
    pub fn sees_images(&self) -> bool {
        self.0.sees_images()
    }

    /// Wraps a tool of another crate so that it follows the rules of these tools: it reveals no secret, bounds its
    /// output, and reports parameters that the tool does not read.
    pub fn guarded(&self, tool: Box<dyn Tool>) -> Arc<dyn Tool> {
        Arc::new(tool_context::Discreet::new(tool, &self.0))
    }

    /// Returns `PATH` without the folders into which sandboxed commands can write programs.
    pub fn search_path(&self) -> OsString {
        self.0.safe_path()
    }

    /// Creates another set of the session's tools, for a model that does or does not accept images. They share the
    /// session's permission, now and when it changes; their record of files seen and their shell's working directory
    /// are separate.
    pub fn tools_anew(&self, sees_images: bool) -> Vec<Arc<dyn Tool>> {
        tools_at(&Arc::new(self.0.another(sees_images)))
    }

    /// Starts recording the changes that the tools, including those from [`tools_anew`](Self::tools_anew), make to
    /// files. Copies of the earlier contents are kept in memory, up to 64 MiB in all; files larger than 10 MiB are
    /// never copied.
    pub fn journal(&self) -> Arc<dyn journal::Journal> {
        self.0.copies.keep();
        Arc::new(self.clone())
    }

    /// Creates a folder for short-lived named files that no sandboxed command can change.
    ///
    /// # Errors
    /// Says why none can be created.
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
        self.0.copies.changed(from, to, &self.0.paths)
    }

    fn restores(&self, to: journal::Mark) -> BoxFuture<'static, Vec<journal::Restore>> {
        let context = Arc::clone(&self.0);
        Box::pin(run_blocking::blocking(move || {
            context.copies.restores(to, &context.paths, &context.secrets())
        }))
    }

    fn restore(&self, to: journal::Mark, overwrite: bool) -> BoxFuture<'static, Vec<journal::Restored>> {
        let context = Arc::clone(&self.0);
        Box::pin(run_blocking::blocking(move || {
            context.copies.restore(to, overwrite, &context.paths, &context.seen)
        }))
    }

    fn forget_looks(&self) {
        self.0.seen.forget();
    }
}

/// Returns the tools of [`all`] together with the [`Reach`] that controls their permission.
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
pub use path::follow_links;

/// Lists the files below a folder by their relative paths, at most `most` of them, skipping those that ignore files
/// name.
pub fn files(root: &Path, most: usize) -> Vec<String> {
    let mut found = Vec::new();
    walk::files(root, &Interrupt::new(), &mut walk::Unread::default(), |path, _| {
        let path = path.strip_prefix(root).unwrap_or(path);
        // As the tools spell them: a name that would break a line is quoted.
        found.push(spelling::spell(path.as_os_str()));
        found.len() < most
    });
    found
}
