//! State shared by the tools of one session.

use crate::Options;
use crate::arguments;
use crate::caches::CommandFolders;
use crate::copies::Copies;
use crate::cwd::Shell;
use crate::files;
use crate::owned::{Owned, as_it_would_be};
use crate::path::{Paths, Place};
use crate::run_blocking::run_blocking;
use crate::sandbox::{Sandbox, is_open_to_all};
use crate::scratch::{self, Scratch};
use crate::secrets::Secrets;
use crate::seen::Seen;
use codelet_agent::interrupt::Interrupt;
use codelet_agent::model::ToolSpec;
use codelet_agent::permission::Permission;
use codelet_agent::tool::{Call, MOST, Need, Output, Tool};
use codelet_context::message::{Action, Parameters};
use codelet_text::short::{clip, on_one_line};
use futures_util::future::BoxFuture;
use serde_json::Value;
use std::borrow::Cow;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// The search path if the environment has no `PATH`.
pub(crate) const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Returns the folders of the environment's `PATH`, or of `usual` if it has none, with links resolved, leaving out
/// those into which a command in this sandbox can write programs.
pub(crate) fn program_folders(
    environment: &[(OsString, OsString)],
    usual: &str,
    sandbox: &Sandbox,
) -> impl Iterator<Item = PathBuf> {
    let path = search_path(environment).unwrap_or_else(|| usual.into());
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let absolute = folders.into_iter().filter(|folder| folder.is_absolute());
    // Resolved now: commands may be able to change a link on the way.
    absolute
        .filter_map(|folder| folder.canonicalize().ok())
        .filter(|folder| !sandbox.writes(folder))
}

fn search_path(environment: &[(OsString, OsString)]) -> Option<OsString> {
    let path = environment.iter().find(|(name, _)| name == "PATH");
    path.map(|(_, value)| value.clone())
}

/// Path resolution, the record of files seen, and settings.
pub(crate) struct ToolContext {
    pub paths: Paths,
    pub owned: Arc<Owned>,
    pub seen: Seen,
    /// Copies for all tools of the session and its tasks.
    pub copies: Arc<Copies>,
    pub options: Options,
    permission: Arc<Mutex<Permission>>,
    sees_images: AtomicBool,
    shell: Mutex<Shell>,
    /// Created for the first command in the sandbox.
    folders: Arc<OnceLock<Option<CommandFolders>>>,
}

impl ToolContext {
    pub(crate) fn new(mut options: Options) -> Self {
        let is_free = options.permission == Permission::All;
        // Resolved now, so that a link that a command puts in their place later is not followed.
        for folder in options
            .writable
            .iter_mut()
            .chain(&mut options.added)
            .chain([&mut options.temporary])
        {
            if let Ok(real) = folder.canonicalize() {
                *folder = real;
            }
        }
        let paths = Paths::new(&options.workspace, &options.directory, options.home.as_deref());
        let paths = paths.with(&options.added);
        let owned = Owned::new(paths.root(), options.home.as_deref(), &options.settings)
            .with(&options.added)
            .keeping_programs(&search_path(&options.env).unwrap_or_default());
        ToolContext {
            shell: Mutex::new(Shell::new(paths.directory(), !is_free)),
            seen: Seen::default(),
            copies: Arc::default(),
            permission: Arc::new(Mutex::new(options.permission)),
            sees_images: AtomicBool::new(options.sees_images),
            owned: Arc::new(keep_private(&mut options, owned)),
            paths,
            options,
            folders: Arc::default(),
        }
    }

    /// Creates another one for the same session. It shares the permission, now and when it changes, and the paths
    /// resolved at the start of the session; its record of files seen and its shell's working directory are separate.
    pub(crate) fn another(&self, sees_images: bool) -> Self {
        let paths = self.paths.clone();
        let is_free = self.permission() == Permission::All;
        ToolContext {
            shell: Mutex::new(Shell::new(paths.directory(), !is_free)),
            seen: Seen::default(),
            copies: Arc::clone(&self.copies),
            permission: Arc::clone(&self.permission),
            sees_images: AtomicBool::new(sees_images),
            owned: Arc::clone(&self.owned),
            paths,
            options: self.options.clone(),
            folders: Arc::clone(&self.folders),
        }
    }

    /// The folders that only sandboxed commands use, if they can be created.
    fn folders(&self) -> Option<&CommandFolders> {
        let made = self.folders.get_or_init(|| {
            let all = self.options.caches.as_deref()?;
            let narrowest = Sandbox::new(self.beside(&self.owned.without_workspace()));
            let has_temporary = !narrowest.writes(&self.options.temporary);
            CommandFolders::create(all, self.paths.root(), &self.widest(), has_temporary)
        });
        made.as_ref()
    }

    /// The cache folder for build tools in the sandbox, if one can be created.
    pub(crate) fn caches(&self) -> Option<&Path> {
        Some(&self.folders()?.caches)
    }

    /// The folder for temporary files in this sandbox: the session's or, if something in that is protected from
    /// commands, one of their own.
    pub(crate) fn temporary(&self, sandbox: &Sandbox) -> PathBuf {
        let shared = &self.options.temporary;
        let own = || self.folders.get()?.as_ref()?.temporary();
        let own = (!sandbox.writes(shared)).then(own).flatten();
        own.unwrap_or_else(|| shared.clone())
    }

    /// The current secrets.
    pub(crate) fn secrets(&self) -> Secrets {
        self.options.secrets.now()
    }

    /// The current permission.
    pub(crate) fn permission(&self) -> Permission {
        *self.permission.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the permission from now on.
    pub(crate) fn permit(&self, permission: Permission) {
        *self.permission.lock().unwrap_or_else(PoisonError::into_inner) = permission;
    }

    /// Returns whether the current model accepts images.
    pub(crate) fn sees_images(&self) -> bool {
        self.sees_images.load(Ordering::Relaxed)
    }

    /// Sets whether the model accepts images from now on.
    pub(crate) fn show_images(&self, sees_images: bool) {
        self.sees_images.store(sees_images, Ordering::Relaxed);
    }

    /// The permissions needed to look at a path.
    ///
    /// # Errors
    /// If the name cannot be a path.
    pub(crate) fn to_look_at(&self, name: &str) -> Result<Vec<Need>, String> {
        let Place { path, is_inside } = self.paths.resolve(name)?;
        let is_of_home = self.owned.is_of_home(&path);
        // Permission for a dot file does not extend to the home folder that contains it.
        let is_file =
            path.is_file() && !(is_of_home && path.parent().is_some_and(|folder| !self.owned.is_of_home(folder)));
        let is_inside = is_inside && !is_of_home;
        Ok(vec![Need::Read {
            path,
            is_inside,
            is_file,
        }])
    }

    /// The permissions needed to change a path; the diff shows the change.
    pub(crate) fn to_change(&self, Place { path, is_inside }: Place, diff: String) -> Vec<Need> {
        vec![Need::Change {
            owner: self.owned.owner(&path),
            path,
            is_inside,
            diff,
        }]
    }

    /// The sandbox for commands under this permission; `None` if they run without one.
    pub(crate) fn sandbox(&self, permission: Permission) -> Option<Sandbox> {
        if permission != Permission::All {
            // Creates them first, since they are among the writable ones.
            self.folders();
        }
        match permission {
            Permission::All => None,
            Permission::Edit => Some(self.widest().with_network(self.options.has_network)),
            Permission::Plan | Permission::Read => Some(Sandbox::new(self.beside(&self.owned.without_workspace()))),
        }
    }

    /// The sandbox for read-only commands: they see the workspace, except what is kept from commands there.
    pub(crate) fn looking(&self) -> Sandbox {
        let files = self.paths.roots().flat_map(|root| self.owned.writable_of(root));
        Sandbox::looking_at(self.paths.roots().cloned().collect(), files.collect())
    }

    /// Returns whether that sandbox shows nothing of the user's but the workspace, that is, neither the workspace nor
    /// the home folder is among the system's files.
    pub(crate) fn looks_stay_inside(&self) -> bool {
        let home = self.options.home.as_ref().and_then(|home| home.canonicalize().ok());
        !self.paths.roots().chain(&home).any(|place| is_open_to_all(place))
    }

    /// The sandbox with the most writable folders.
    pub(crate) fn widest(&self) -> Sandbox {
        Sandbox::new(self.owned.writable().into_iter().chain(self.beside(&self.owned)))
    }

    /// The folders outside the workspace that any command may write to, as far as these rules protect nothing in them.
    fn beside(&self, owned: &Owned) -> impl Iterator<Item = PathBuf> {
        let folders = self.options.writable.iter().chain([&self.options.temporary]);
        let own = self.folders.get().and_then(Option::as_ref);
        let own = own.into_iter().flat_map(CommandFolders::writable);
        folders.flat_map(|folder| owned.writable_of(folder)).chain(own)
    }

    /// The folders of `PATH`, with links resolved, into which no command in this sandbox can write programs.
    pub(crate) fn program_folders(&self, sandbox: &Sandbox) -> impl Iterator<Item = PathBuf> {
        program_folders(&self.options.env, PATH, sandbox)
    }

    /// Returns `PATH` without the folders into which sandboxed commands can write programs.
    pub(crate) fn safe_path(&self) -> OsString {
        let sandbox = self.widest();
        // These folders come from such a list, so joining them cannot fail.
        std::env::join_paths(self.program_folders(&sandbox)).unwrap_or_default()
    }

    /// Creates a folder for files that no sandboxed command can find or change.
    ///
    /// # Errors
    /// Says why there is none.
    pub(crate) fn scratch(&self) -> Result<Scratch, String> {
        self.within_private(|private| {
            scratch::clear(private);
            Scratch::new(private)
        })
    }

    /// Calls `make` in the first of the user's private folders that no sandboxed command can change.
    ///
    /// # Errors
    /// Says why there is no such folder, or why `make` failed there.
    pub(crate) fn within_private<T>(&self, make: impl Fn(&Path) -> std::io::Result<T>) -> Result<T, String> {
        let sandbox = self.widest();
        let mut why =
            "neither XDG_RUNTIME_DIR, XDG_CACHE_HOME nor HOME names a folder of yours that commands cannot change"
                .to_owned();
        for folder in &self.options.private {
            match scratch::private(folder, &sandbox).map(|private| make(&private)) {
                Some(Ok(made)) => return Ok(made),
                Some(Err(error)) => why = format!("{}: {}", folder.display(), files::reason(&error)),
                None => {}
            }
        }
        Err(why)
    }

    /// The working directory of the next command.
    pub(crate) fn shell(&self) -> PathBuf {
        let is_shut_in = self.permission() != Permission::All;
        self.shells().at(is_shut_in).to_owned()
    }

    /// The working directories of sandboxed and unsandboxed commands.
    pub(crate) fn shells(&self) -> MutexGuard<'_, Shell> {
        self.shell.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does a tool's work for a call on a thread where it may block. If the call asks for something invalid, the error is
    /// the answer.
    pub(crate) async fn work<T: Send + 'static>(
        self: &Arc<Self>,
        interrupt: Interrupt,
        asked: impl FnOnce() -> Result<T, String>,
        work: impl FnOnce(&ToolContext, T, &Interrupt) -> Output + Send + 'static,
    ) -> Output {
        match asked() {
            Ok(asked) => {
                let context = Arc::clone(self);
                run_blocking(interrupt, move |interrupt| work(&context, asked, interrupt)).await
            }
            Err(error) => Output::failure(error),
        }
    }

    /// An error about a file, with a hint at the file that may have been meant.
    pub(crate) fn fail(&self, name: &str, path: &Path, why: &str) -> Output {
        let mut text = format!("{}: {why}", self.paths.show(path));
        let shell = self.shell();
        if shell != self.paths.directory() && !Path::new(name).is_absolute() {
            let meant = shell.join(name);
            if meant.exists() && !path.exists() {
                let directory = self.paths.directory().display();
                text.push_str(&format!(
                    ". Relative paths begin at {directory}; for the file beside the shell, say {}",
                    self.paths.show(&meant)
                ));
            }
        }
        Output::failure(text)
    }

    /// The same error, as text, for a call that needs no permission because it could not be made.
    pub(crate) fn unmade(&self, name: &str, path: &Path, why: &str) -> String {
        let text = self.fail(name, path, why).text.as_str().to_owned();
        match twin(self, name) {
            Some(note) => noted(text, &[note]),
            None => text,
        }
    }
}

/// Keeps commands out of Codelet's own folders. A folder that does not exist yet, below one that commands may write to,
/// is theirs as soon as it exists. So it is not used, but for those in the user's home if there is no other (a home
/// below `/tmp`), which are protected like the settings.
fn keep_private(options: &mut Options, owned: Owned) -> Owned {
    let open: Vec<&PathBuf> = [&options.workspace, &options.temporary]
        .into_iter()
        .chain(&options.added)
        .chain(&options.writable)
        .collect();
    let is_open = |folder: &PathBuf| {
        as_it_would_be(folder)
            .is_none_or(|real| !owned.is_of_home(&real) && open.iter().any(|open| real.starts_with(open)))
    };
    let home = options
        .home
        .as_deref()
        .filter(|home| as_it_would_be(home).is_some_and(|real| !real.starts_with(&options.workspace)));
    let is_of_home = |folder: &PathBuf| home.is_some_and(|home| folder.starts_with(home));
    let has_other = options.private.iter().any(|folder| !is_open(folder));
    let private = options
        .private
        .iter()
        .filter(|folder| !is_open(folder) || !has_other && is_of_home(folder));
    let caches = options
        .caches
        .iter()
        .filter(|folder| !is_open(folder) || is_of_home(folder));
    let used: Vec<PathBuf> = private.chain(caches).cloned().collect();
    let kept: Vec<PathBuf> = used.iter().filter(|folder| is_open(folder)).cloned().collect();
    options.private.retain(|folder| used.contains(folder));
    options.caches.take_if(|folder| !used.contains(folder));
    owned.keeping(&kept)
}

/// If a relative name means one file in the shell's working directory and another one here, says which one was used.
fn twin(context: &ToolContext, name: &str) -> Option<String> {
    let shell = context.shell();
    if shell == context.paths.directory() || name.is_empty() || name.starts_with(['/', '~', '"']) {
        return None;
    }
    let taken = context.paths.resolve(name).ok()?.path.canonicalize().ok()?;
    let other = shell.join(name).canonicalize().ok()?;
    (taken != other).then(|| {
        format!(
            "this is {}; beside the shell there is {}, too",
            taken.display(),
            context.paths.show(&other)
        )
    })
}

/// The path among the permitted needs of a call. It is used as it was judged: a link that has changed since makes no
/// difference.
///
/// # Errors
/// If none was.
pub(crate) fn judged(permitted: &[Need]) -> Result<PathBuf, String> {
    let mut paths = permitted.iter().filter_map(|need| match need {
        Need::Read { path, .. } | Need::Change { path, .. } => Some(path),
        _ => None,
    });
    let path = paths.next().cloned();
    path.ok_or_else(|| "this call was not judged, so it was not made".to_owned())
}

/// Builds the description of a tool for the model.
pub(crate) fn spec(name: &str, description: &str, parameters: Value) -> ToolSpec {
    ToolSpec {
        name: Arc::from(name),
        description: Arc::from(description.trim_end()),
        parameters,
    }
}

/// A wrapper that removes secrets from a tool's output and bounds it.
pub(crate) struct Discreet {
    tool: Box<dyn Tool>,
    context: Arc<ToolContext>,
}

impl Discreet {
    pub(crate) fn new(tool: Box<dyn Tool>, context: &Arc<ToolContext>) -> Self {
        let context = Arc::clone(context);
        Discreet { tool, context }
    }

    /// Notes on a call: parameters that the tool does not read and, if the call was made, which of two files was used.
    fn notes(&self, parameters: &Parameters, is_made: bool) -> Vec<String> {
        let spec = self.spec();
        let mut notes: Vec<String> = arguments::unknown(parameters, spec, is_made).into_iter().collect();
        let named = ["file_path", "path"].map(|name| parameters.str(name));
        let takes_places = ["file_path", "path"]
            .iter()
            .any(|name| !spec.parameters["properties"][name].is_null());
        if let Some(name) = named.into_iter().flatten().next().filter(|_| is_made && takes_places) {
            notes.extend(twin(&self.context, name));
            let alike = self.context.paths.alike(name);
            notes.extend(
                alike.map(|alike| format!("taken for {alike}, whose name differs in spaces, quotes or accents")),
            );
        }
        notes
    }
}

/// Appends notes to a text, each in brackets on its own line.
fn noted(mut text: String, notes: &[String]) -> String {
    for note in notes {
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(&format!("[{note}]\n"));
    }
    text
}

impl Tool for Discreet {
    fn spec(&self) -> &ToolSpec {
        self.tool.spec()
    }

    fn action(&self, parameters: &Parameters) -> Action {
        self.tool.action(parameters)
    }

    fn is_read_only(&self) -> bool {
        self.tool.is_read_only()
    }

    fn needs(&self, parameters: &Parameters) -> Result<Vec<Need>, String> {
        let hide = |text: &str| self.context.secrets().hide(text).into_owned();
        let mut needs = self
            .tool
            .needs(parameters)
            .map_err(|error| hide(&noted(error, &self.notes(parameters, false))))?;
        for need in &mut needs {
            if let Need::Change { diff, .. } = need {
                *diff = hide(diff);
            }
        }
        Ok(needs)
    }

    fn describe(&self, parameters: &Parameters) -> String {
        one_line(&self.context.secrets().hide(&self.tool.describe(parameters)))
    }

    fn call<'a>(&'a self, call: Call<'a>) -> BoxFuture<'a, Output> {
        Box::pin(async move {
            let parameters = call.parameters;
            let mut output = self.tool.call(call).await;
            let notes = self.notes(parameters, true);
            if !notes.is_empty() {
                output.text = noted(output.text.as_str().to_owned(), &notes).into();
            }
            if let Cow::Owned(hidden) = self.context.secrets().hide_with_parts(output.text.as_str()) {
                output.text = hidden.into();
            }
            if output.text.len() > MOST {
                let mut bounded = crate::bounded::Bounded::default();
                bounded.push(output.text.as_str());
                let (text, lost) = bounded.finish();
                output.text = text.into();
                output.lost += lost;
            }
            output
        })
    }
}

/// Longest description of a call, in characters.
const DESCRIPTION: usize = 200;

fn one_line(text: &str) -> String {
    let line: String = on_one_line(text).take(DESCRIPTION + 1).collect();
    clip(&line, DESCRIPTION).into_owned()
}
