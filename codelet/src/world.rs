//! Construction of a session's tools and surroundings from the settings.

use crate::network;
use crate::place::{Place, shown, variable};
use crate::secrets;
use crate::settings::servers::{self, Named, ServerFile};
use crate::settings::{From, Settings};
use crate::tasks::Outfit;
use codelet_agent::commands::Commands;
use codelet_agent::definitions;
use codelet_agent::environment::Surroundings;
use codelet_agent::interrupt::Interrupt;
use codelet_agent::model::Model;
use codelet_agent::permission::{Permission, is_of_calls};
use codelet_agent::prompts::{PromptSource, Several};
use codelet_agent::task::{AGENTS, Task};
use codelet_agent::tool::Tool;
use codelet_agent::wish::Compact;
use codelet_context::economics::Preset;
use codelet_context::policy::CompactAt;
use codelet_mcp::Connected;
use codelet_tools::environment::{Ahead, World};
use codelet_tools::outside::Outside;
use codelet_tools::pdf::COMMAND;
use codelet_tools::sandbox::{Sandbox, Sandboxing};
use codelet_tools::{Reach, TEMPORARY};
use rustix::fs::Access;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

/// The equipment of a session.
pub struct Equipment {
    /// The tools.
    pub tools: Vec<Arc<dyn Tool>>,
    /// The surroundings.
    pub surroundings: Arc<World>,
    /// The permissions of the tools.
    pub reach: Reach,
    /// Notices for the user.
    pub notices: Vec<String>,
}

/// Returns the tools' options for a session.
pub fn options(settings: &Settings, place: &Place, sees_images: bool) -> codelet_tools::Options {
    let mut options = codelet_tools::Options::new(&place.root);
    options.directory.clone_from(&place.directory);
    options.home.clone_from(&place.home);
    options.added.clone_from(&place.added);
    options.settings = settings_files(settings, place);
    options.permission = settings.permission.value;
    options.secrets = secrets::source(settings, place);
    options.env = std::env::vars_os().collect();
    let (temporary, is_refused) = temporary(place);
    if is_refused.is_some() {
        // Commands would use the same folder.
        options.env.retain(|(name, _)| name != TMPDIR);
    }
    options.temporary = temporary;
    options.writable.clone_from(&place.write);
    options.has_network = settings.network.value;
    // A user who set it explicitly does not want to be asked.
    options.offers_network = settings.network.from == From::Default;
    options.private = private(place, &variable);
    options.caches = caches(place, &variable);
    options.sees_images = sees_images;
    options.pdf_command = pdf_command();
    options
}

/// Returns the command that extracts the text of a PDF: this program.
fn pdf_command() -> Vec<OsString> {
    // On Linux it starts the running program even after an update has replaced its file.
    let own = match cfg!(target_os = "linux") {
        true => Some("/proc/self/exe".into()),
        false => std::env::current_exe().ok(),
    };
    own.map_or_else(Vec::new, |own: PathBuf| vec![own.into(), COMMAND.into()])
}

/// Returns the folders that commands can write to, in this session or an earlier one.
pub fn written_by_commands(place: &Place) -> Vec<PathBuf> {
    let folders = [place.root.clone(), temporary(place).0];
    let real = |folder: PathBuf| folder.canonicalize().unwrap_or(folder);
    folders
        .into_iter()
        .chain(TEMPORARY.map(PathBuf::from))
        .chain(place.added.iter().chain(&place.write).cloned())
        .map(real)
        .collect()
}

/// Returns the user's settings and saved sessions, which no call changes without asking, and no sandboxed command at
/// all.
fn settings_files(settings: &Settings, place: &Place) -> Vec<PathBuf> {
    let folder = place.config.as_ref().map(|folder| folder.join("codelet"));
    let own = [settings.user_file.clone(), settings.transcripts.value.clone()];
    folder.into_iter().chain(own.into_iter().flatten()).collect()
}

/// Returns private folders for temporary named files: the system's runtime folder, or cache folders.
fn private(place: &Place, variable: &dyn Fn(&str) -> Option<String>) -> Vec<PathBuf> {
    let named = |name: &str| variable(name).map(PathBuf::from);
    let cache = place.home.as_ref().map(|home| home.join(".cache"));
    let folders = [named("XDG_RUNTIME_DIR"), named("XDG_CACHE_HOME"), cache];
    let folders = folders.into_iter().flatten().filter(|folder| folder.is_absolute());
    folders.map(|folder| folder.join("codelet")).collect()
}

/// Returns the cache folder for sandboxed commands, next to Codelet's own cache, which no command writes to.
fn caches(place: &Place, variable: &dyn Fn(&str) -> Option<String>) -> Option<PathBuf> {
    let named = variable("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .filter(|folder| folder.is_absolute());
    let folder = named.or_else(|| Some(place.home.as_ref()?.join(".cache")))?;
    Some(folder.join("codelet-commands"))
}

/// The variable for the temporary folder.
const TMPDIR: &str = "TMPDIR";

/// Returns the temporary folder: the one from the environment or, with a notice, the default if that is unsuitable.
fn temporary(place: &Place) -> (PathBuf, Option<String>) {
    let usual = PathBuf::from("/tmp");
    let named = std::env::var_os(TMPDIR).filter(|named| !named.is_empty());
    let whole = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let named = named.map(PathBuf::from).filter(|named| whole(named) != whole(&usual));
    let Some(named) = named else {
        return (usual, None);
    };
    let why = if !named.is_absolute() {
        "which is not an absolute path"
    } else if !named.is_dir() {
        "which is not a directory"
    } else if rustix::fs::access(&named, Access::WRITE_OK | Access::EXEC_OK).is_err() {
        "which is not writable"
    } else if let Some(why) = holds_more(&named, place) {
        why
    } else {
        return (named, None);
    };
    let notice = format!(
        "ignored {TMPDIR}={}, {why}; using {} instead",
        named.display(),
        usual.display()
    );
    (usual, Some(notice))
}

/// Describes what else a temporary folder contains: commands can write anywhere in it, so it must not contain the
/// user's own files.
fn holds_more(named: &Path, place: &Place) -> Option<&'static str> {
    let whole = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let named = whole(named);
    if named.parent().is_none() {
        return Some("which is the root directory");
    }
    let holds = |path: &Path| whole(path).starts_with(&named);
    if place.home.as_deref().is_some_and(holds) {
        Some("which contains your home directory")
    } else if place.config.as_deref().is_some_and(holds) {
        Some("which contains your settings")
    } else if holds(&place.root) || holds(&place.directory) {
        Some("which contains the workspace")
    } else {
        None
    }
}

/// Returns the tools of the configured servers, once each server is ready or has timed out.
pub async fn servers(settings: &Settings, place: &Place, model: &dyn Model, interrupt: &Interrupt) -> Connected {
    if settings.mcp.is_empty() {
        return Connected::default();
    }
    let (named, options) = named_servers(settings, &settings.mcp, place, model.profile().sees_images);
    let told = named.told();
    let mut connected = codelet_mcp::connect(named.servers, options, interrupt).await;
    connected.notices.splice(0..0, told);
    connected
}

/// Resolves some servers of the settings, with their common options.
pub fn named_servers(
    settings: &Settings,
    files: &BTreeMap<String, ServerFile>,
    place: &Place,
    sees_images: bool,
) -> (Named, codelet_mcp::Options) {
    let options = options(settings, place, sees_images);
    let named = servers::named(files, &place.directory, &Outside::new(&options), &variable);
    let options = codelet_mcp::Options {
        secrets: named.secrets.clone(),
        session_secrets: Some(Arc::new(move || options.secrets.now().reveal())),
        sees_images,
        network: network::network(&variable),
        logins: place.logins(),
    };
    (named, options)
}

/// Creates the tool that fetches web pages.
fn web(settings: &Settings, options: &codelet_tools::Options, reach: &Reach) -> Arc<dyn Tool> {
    let secrets = options.secrets.clone();
    let seeing = reach.clone();
    let mut web = codelet_web::Options::new(network::network(&variable));
    web.private.clone_from(&settings.web_private.value);
    web.holds_secret = Arc::new(move |text| matches!(secrets.now().hide(text), Cow::Owned(_)));
    web.sees_images = Arc::new(move || seeing.sees_images());
    reach.guarded(codelet_web::tool(web))
}

/// Begins to try the sandbox, beside a session's other set-up: it takes the start of some threads.
pub fn begin() {
    // Without a thread for it, it is tried when it is needed.
    let _ = std::thread::Builder::new().name("probe".to_owned()).spawn(sandboxing);
}

/// The isolation that this machine supports, tried once.
fn sandboxing() -> &'static Sandboxing {
    static TRIED: OnceLock<Sandboxing> = OnceLock::new();
    TRIED.get_or_init(Sandbox::probe)
}

/// Creates the tools and surroundings according to the settings.
pub fn equipment(settings: &Settings, place: &Place, model: &dyn Model) -> Equipment {
    let options = options(settings, place, model.profile().sees_images);
    let is_of_commands = |pattern: &String| !is_of_calls(pattern);
    let runs_commands = settings.permission.value == Permission::Edit && settings.allowed().iter().any(is_of_commands);
    let mut notices: Vec<String> = temporary(place).1.into_iter().collect();
    if place.holds_home() && settings.permission.value == Permission::Edit {
        notices.push(
            "the workspace is your home directory: reading or changing its dot files needs your approval, and commands \
             cannot create files directly in it; start codelet in a project directory instead"
                .to_owned(),
        );
    }
    let user_file = settings.user_file.as_ref();
    let user_file = user_file.map_or("your settings".to_owned(), |file| shown(file, place.home.as_deref()));
    notices.extend(servers::unread(&place.root, &settings.mcp, &user_file));
    let (mut tools, reach) = codelet_tools::all_with_reach(&options);
    let shared: Vec<Arc<dyn Tool>> = settings
        .web
        .value
        .then(|| web(settings, &options, &reach))
        .into_iter()
        .collect();
    tools.extend(shared.iter().cloned());
    let world = around(place, &options, reach.clone());
    let agents = definitions::find(&world, &AGENTS);
    notices.extend(agents.notices);
    let outfit = Outfit::new(settings, reach.clone(), shared);
    // Tasks lack these tools: a task is short, and its conversation ends with it.
    if settings.compact_at.value != CompactAt::Never && settings.policy.value != Preset::Off {
        tools.push(Arc::new(Compact::new()));
    }
    tools.push(Arc::new(Task::new(Arc::new(outfit), agents.definitions)));
    if settings.permission.value != Permission::All {
        match sandboxing() {
            Sandboxing::Partial(what) if runs_commands => {
                notices.push(format!("commands run in an incomplete sandbox: {what}"));
            }
            Sandboxing::None(why) => notices.push(format!(
                "commands cannot run, because there is no sandbox here: {why}; `--permission all` runs them without one"
            )),
            Sandboxing::Full | Sandboxing::Partial(_) => {}
        }
    }
    Equipment {
        tools,
        reach,
        surroundings: Arc::new(world),
        notices,
    }
}

/// Creates the tool that runs command lines that the user types, with the same access as the user's own shell.
pub fn shell(settings: &Settings, place: &Place) -> Option<Arc<dyn Tool>> {
    let mut options = options(settings, place, false);
    options.permission = Permission::All;
    let mut tools = codelet_tools::all(&options).into_iter();
    tools.find(|tool| &*tool.spec().name == "Bash")
}

/// Creates the surroundings for callers that need no tools.
pub fn surroundings(settings: &Settings, place: &Place) -> World {
    let options = options(settings, place, false);
    let (_, reach) = codelet_tools::all_with_reach(&options);
    around(place, &options, reach)
}

fn around(place: &Place, options: &codelet_tools::Options, reach: Reach) -> World {
    World {
        directory: place.directory.clone(),
        root: place.root.clone(),
        added: place.added.clone(),
        home: place.home.clone(),
        own: own_folders(place),
        shell: "bash".to_owned(),
        env: codelet_tools::environment(options),
        reach,
        git_time: std::time::Duration::from_secs(2),
        secrets: options.secrets.clone(),
        today: Arc::new(|| codelet_tools::environment::date_utc(SystemTime::now())),
        ahead: Ahead::default(),
    }
}

/// Returns the source of prompt commands, from servers and files, and notices about the files. No prompt can have the
/// name of a session command, unless that command yields to the user's own.
pub fn prompts(
    surroundings: &Arc<dyn Surroundings>,
    servers: Arc<dyn PromptSource>,
) -> (Arc<dyn PromptSource>, Vec<String>) {
    let own = codelet_terminal::command::COMMANDS
        .iter()
        .map(|entry| (entry.word, entry.yields()));
    let files = Commands::new(Arc::clone(surroundings), own.chain([("quit", false)]));
    let notices = files.refresh();
    (Arc::new(Several(vec![servers, Arc::new(files)])), notices)
}

/// Returns the folders of the user's own instructions: Codelet's, and the one that other agents read.
fn own_folders(place: &Place) -> Vec<PathBuf> {
    let codelet = place.config.as_ref().map(|folder| folder.join("codelet"));
    let shared = place.home.as_ref().map(|home| home.join(".claude"));
    codelet.into_iter().chain(shared).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_our_own_go_to_folders_that_are_named_as_a_whole() {
        let place = Place {
            directory: "/srv".into(),
            root: "/srv".into(),
            home: Some("/home/ada".into()),
            config: None,
            added: Vec::new(),
            write: Vec::new(),
        };
        let named = |name: &str| match name {
            "XDG_RUNTIME_DIR" => Some("run/1000".to_owned()),
            "XDG_CACHE_HOME" => Some("/var/cache/ada".to_owned()),
            _ => None,
        };
        let folders = private(&place, &named);
        assert_eq!(
            folders,
            ["/var/cache/ada/codelet", "/home/ada/.cache/codelet"].map(PathBuf::from)
        );
    }

    #[test]
    fn a_folder_for_temporary_files_holds_neither_the_home_nor_the_workspace() {
        let at = |root: &str, directory: &str, home: Option<&str>| Place {
            directory: directory.into(),
            root: root.into(),
            home: home.map(PathBuf::from),
            config: None,
            added: Vec::new(),
            write: Vec::new(),
        };
        let place = at("/srv/none/work/app", "/srv/none/work/app/src", Some("/home-of/none"));
        for (named, is_refused) in [
            ("/", true),
            ("/.", true),
            ("/srv", true),
            ("/srv/none/work/app", true),
            ("/srv/none/work/app/src", true),
            ("/home-of", true),
            ("/home-of/none", true),
            ("/srv/none/work/app/tmp", false),
            ("/srv/none/work/ap", false),
            ("/home-of/none/tmp", false),
            ("/tmp", false),
            ("/var/tmp", false),
        ] {
            assert_eq!(holds_more(Path::new(named), &place).is_some(), is_refused, "{named}");
        }
        // Without a home folder there is nothing in it.
        assert_eq!(holds_more(Path::new("/home-of"), &at("/srv/a", "/srv/a", None)), None);
    }
}
