//! Settings from the user's file, the project's file and the command line, each value with its source.

mod files;
mod folders;
pub mod kept;
mod project;
pub mod servers;
mod values;
mod vendors;
mod written;

use crate::place::Place;
use codelet_agent::effort::Effort;
use codelet_agent::permission::Permission;
use codelet_agent::retry::Patience;
use codelet_agent::session::SummaryBy;
use codelet_context::economics::Preset;
use codelet_context::policy::CompactAt;
use codelet_context::price::PriceCard;
use codelet_providers::vendor;
use codelet_terminal::render::Background;
pub use files::{secrets_in, transcripts_in, user_file};
use serde::Deserialize;
use servers::ServerFile;
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
pub use values::{
    HooksFrom, NotifyBy, background, co_author, compact_at, effort, hooks_from, network, notify, permission, policy,
    summary,
};
use vendors::usual_model;
pub use vendors::{Login, LookUp};
pub use written::ModelFile;

/// The smallest context window that can be set, in tokens: the system prompt and the tool definitions fill a third of
/// it.
pub const SMALLEST_WINDOW: u64 = 4_000;

/// The longest time that a setting may specify, in seconds, which stays within the range of clocks.
pub const LONGEST_WAIT: u64 = 24 * 3600;

/// The source of a value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum From {
    /// The built-in default.
    Default,
    /// A settings file.
    File(PathBuf),
    /// The environment variable with this name.
    Environment(String),
    /// The command line.
    CommandLine,
}

impl fmt::Display for From {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            From::Default => f.write_str("default"),
            From::File(path) => path.display().fmt(f),
            From::Environment(name) => write!(f, "${name}"),
            From::CommandLine => f.write_str("command line"),
        }
    }
}

/// A value with its source.
#[derive(Clone, PartialEq, Debug)]
pub struct Set<T> {
    /// The value.
    pub value: T,
    /// The source.
    pub from: From,
}

impl<T> Set<T> {
    fn default(value: T) -> Self {
        let from = From::Default;
        Set { value, from }
    }

    /// Overrides the value if a new one is given.
    pub fn take(&mut self, value: Option<T>, from: &From) {
        if let Some(value) = value {
            self.value = value;
            self.from = from.clone();
        }
    }
}

/// The settings of a session.
#[derive(Clone, PartialEq, Debug)]
pub struct Settings {
    /// `vendor/name`.
    pub model: Set<String>,
    /// The project's model, used if the user's own file names none, once it is known which model would be used without
    /// it.
    pub project_model: Option<Set<String>>,
    /// The fallback model for an overloaded provider, as `vendor/name`.
    pub fallback: Set<Option<String>>,
    /// The API base URL, if it is not the vendor's.
    pub base_url: Set<Option<String>>,
    /// The thinking effort; `None` leaves it to the provider.
    pub effort: Set<Option<Effort>>,
    /// The permission level of the tools.
    pub permission: Set<Permission>,
    /// Permission rules for commands allowed under `edit`.
    pub allow: Set<Vec<String>>,
    /// Additional permission rules for this project, from the user's own file.
    pub project_allow: Set<Vec<String>>,
    /// Folders that the tools may use like the workspace.
    pub add_dirs: Set<Vec<PathBuf>>,
    /// Folders that commands may write to besides the workspace.
    pub write: Set<Vec<PathBuf>>,
    /// True if commands have network access.
    pub network: Set<bool>,
    /// True if web pages can be fetched.
    pub web: Set<bool>,
    /// Hosts that may resolve to private addresses.
    pub web_private: Set<Vec<String>>,
    /// Patterns of commands, MCP tools and hosts that are never run, called or fetched; every source adds its own.
    pub deny: Set<Vec<String>>,
    /// The maximum steps of a run.
    pub max_steps: Set<Option<u32>>,
    /// The maximum cost of a run, in US dollars.
    pub max_cost: Set<Option<f64>>,
    /// The context window in tokens, if it differs from the catalogue's.
    pub window: Set<Option<u64>>,
    /// True if [`window`](Self::window) comes from a project, which may only reduce the model's own window.
    pub window_is_bound: bool,
    /// The method of writing summaries.
    pub summary: Set<SummaryBy>,
    /// The policy of trimming old outputs to save money.
    pub policy: Set<Preset>,
    /// The condition for automatic compaction.
    pub compact_at: Set<CompactAt>,
    /// Price cards that override the built-in ones.
    pub prices: Set<Vec<PriceCard>>,
    /// The maximum consecutive keep-alive requests that prevent the cache from expiring.
    pub keep_alive: Set<u32>,
    /// The folder in which each session is saved, if the user names one.
    pub transcripts: Set<Option<PathBuf>>,
    /// Text appended to the system prompt.
    pub append_system: Set<Option<String>>,
    /// The maximum wait for a provider in seconds, all retries of one request together.
    pub patience: Set<u64>,
    /// Seconds without data after which a connection counts as lost; `None` leaves it to the kind of provider.
    pub idle_timeout: Set<Option<u64>>,
    /// The terminal's background; `None` uses what the terminal reports.
    pub background: Set<Option<Background>>,
    /// The way of notifying the user; `None` uses what suits the terminal.
    pub notify: Set<Option<NotifyBy>>,
    /// The co-author in the session's commits, as `Name <address>`.
    pub co_author: Set<Option<String>>,
    /// Hooks of the user's own file, unparsed.
    pub hooks: Option<serde_json::Value>,
    /// The other agent whose hooks also run, if the user enables that.
    pub hooks_from: Set<HooksFrom>,
    /// Hooks of the project's file, unparsed.
    pub project_hooks: Option<serde_json::Value>,
    /// The digest of the project's hooks that the user permitted.
    pub hooks_consent: Option<String>,
    /// Keys by vendor, from the user's own file.
    pub keys: BTreeMap<String, Key>,
    /// Properties of models that the catalogue does not list, or corrections to it.
    pub models: BTreeMap<String, ModelFile>,
    /// MCP servers by name, from the user's own file.
    pub mcp: BTreeMap<String, ServerFile>,
    /// The path of the user's own file, which may not exist.
    pub user_file: Option<PathBuf>,
    /// Notices for the user.
    pub notices: Vec<String>,
}

/// A key. Its debug output is redacted.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Key(String);

impl Key {
    /// Returns the key, for use with the provider only.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Wraps a key from another source.
    pub fn new(key: String) -> Self {
        Key(key)
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(…)")
    }
}

/// The paths of settings files.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Places {
    /// The user's file.
    pub user: Option<PathBuf>,
    /// The project's file.
    pub project: PathBuf,
    /// The project's folder.
    pub root: PathBuf,
}

impl Places {
    /// Returns the paths for a session at this place.
    pub fn of(place: &Place) -> Self {
        Places::new(place.config.as_deref(), &place.root)
    }

    /// Returns the paths for a repository with this root; `config` is the user's configuration folder.
    pub fn new(config: Option<&Path>, root: &Path) -> Self {
        Places {
            user: config.map(|folder| folder.join("codelet").join("settings.toml")),
            project: root.join(".codelet").join("settings.toml"),
            root: root.to_owned(),
        }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            model: Set::default(vendor::vendors().next().map_or(String::new(), usual_model)),
            project_model: None,
            fallback: Set::default(None),
            base_url: Set::default(None),
            effort: Set::default(None),
            permission: Set::default(Permission::default()),
            allow: Set::default(Vec::new()),
            project_allow: Set::default(Vec::new()),
            deny: Set::default(Vec::new()),
            add_dirs: Set::default(Vec::new()),
            write: Set::default(Vec::new()),
            network: Set::default(false),
            web: Set::default(true),
            web_private: Set::default(Vec::new()),
            max_steps: Set::default(None),
            max_cost: Set::default(None),
            window: Set::default(None),
            window_is_bound: false,
            summary: Set::default(SummaryBy::default()),
            policy: Set::default(Preset::default()),
            compact_at: Set::default(CompactAt::default()),
            prices: Set::default(Vec::new()),
            keep_alive: Set::default(0),
            transcripts: Set::default(None),
            append_system: Set::default(None),
            patience: Set::default(Patience::default().total.as_secs()),
            idle_timeout: Set::default(None),
            background: Set::default(None),
            notify: Set::default(None),
            co_author: Set::default(None),
            hooks: None,
            hooks_from: Set::default(HooksFrom::default()),
            project_hooks: None,
            hooks_consent: None,
            keys: BTreeMap::new(),
            models: BTreeMap::new(),
            mcp: BTreeMap::new(),
            user_file: None,
            notices: Vec::new(),
        }
    }
}

impl Settings {
    /// Returns the patterns allowed in this project.
    pub fn allowed(&self) -> Vec<String> {
        [self.allow.value.clone(), self.project_allow.value.clone()].concat()
    }

    /// Adds deny patterns: no source can remove those of another.
    pub fn deny(&mut self, patterns: Vec<String>, from: &From) {
        if !patterns.is_empty() {
            let all = [self.deny.value.clone(), patterns].concat();
            self.deny.take(Some(all), from);
        }
    }
}

#[cfg(test)]
mod tests;
