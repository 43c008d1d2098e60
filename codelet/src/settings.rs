//! Settings: from the user's file, the project's file and the command line, each value with where it comes from.

mod files;
pub mod kept;
mod project;
mod values;
mod vendors;
mod written;

use crate::servers::ServerFile;
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
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
pub use values::{
    HooksFrom, NotifyBy, background, co_author, compact_at, economics, effort, hooks_from, network, notify, permission,
    summary,
};
use vendors::usual_model;
pub use vendors::{Login, LookUp, address};
pub use written::{LONGEST_WAIT, ModelFile};

/// The smallest window that a user may name, in tokens: the system prompt and the definitions of tools fill a third of it.
pub const SMALLEST_WINDOW: u64 = 4_000;

/// Where a value comes from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum From {
    /// Nobody has set it.
    Default,
    /// A settings file.
    File(PathBuf),
    /// An environment variable of this name.
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

/// A value, and where it comes from.
#[derive(Clone, PartialEq, Debug)]
pub struct Set<T> {
    /// The value.
    pub value: T,
    /// Where it comes from.
    pub from: From,
}

impl<T> Set<T> {
    fn default(value: T) -> Self {
        let from = From::Default;
        Set { value, from }
    }

    /// Takes a value over the one there is.
    pub fn take(&mut self, value: Option<T>, from: &From) {
        if let Some(value) = value {
            self.value = value;
            self.from = from.clone();
        }
    }
}

/// What a session is set to.
#[derive(Clone, PartialEq, Debug)]
pub struct Settings {
    /// `vendor/name`.
    pub model: Set<String>,
    /// The model that the project names where the user's own file names none: it holds once it is known whom the user would ask without it.
    pub project_model: Option<Set<String>>,
    /// Who is asked where the provider stays overloaded, by `vendor/name`.
    pub fallback: Set<Option<String>>,
    /// Another address than the vendor's own.
    pub base_url: Set<Option<String>>,
    /// How much the model is to think; none leaves it to the provider.
    pub effort: Set<Option<Effort>>,
    /// What the tools may do.
    pub permission: Set<Permission>,
    /// Commands that may be run under `edit`.
    pub allow: Set<Vec<String>>,
    /// What may be run and called in this project besides, by the user's own file.
    pub project_allow: Set<Vec<String>>,
    /// Folders that the tools may use as they do the workspace.
    pub add_dirs: Set<Vec<PathBuf>>,
    /// Folders that commands may write to besides the workspace.
    pub write: Set<Vec<PathBuf>>,
    /// Whether commands reach the network.
    pub network: Set<bool>,
    /// Whether pages of the web can be fetched.
    pub web: Set<bool>,
    /// Hosts that may lead to private addresses.
    pub web_private: Set<Vec<String>>,
    /// Patterns of commands, servers' tools and hosts that are never run, called or fetched from; each place adds its own.
    pub deny: Set<Vec<String>>,
    /// The most steps of a run.
    pub max_steps: Set<Option<u32>>,
    /// The most dollars of a run.
    pub max_cost: Set<Option<f64>>,
    /// Another window than the catalogue's, in tokens.
    pub window: Set<Option<u64>>,
    /// Whether [`window`](Self::window) comes from a project, which may make the model's own one smaller and no larger.
    pub window_is_bound: bool,
    /// Who writes summaries.
    pub summary: Set<SummaryBy>,
    /// How readily history that was sent is edited to save money.
    pub economics: Set<Preset>,
    /// When a session compacts by itself.
    pub compact_at: Set<CompactAt>,
    /// Price cards over those that are built in.
    pub prices: Set<Vec<PriceCard>>,
    /// The most keep-alive requests in a row that keep the cache from expiring.
    pub keep_alive: Set<u32>,
    /// The folder in which each session is saved; none where the user names none.
    pub transcripts: Set<Option<PathBuf>>,
    /// Text appended to the system prompt.
    pub append_system: Set<Option<String>>,
    /// Seconds that a provider is waited for, all retries of one request together.
    pub patience: Set<u64>,
    /// Seconds without a byte after which a connection counts as cut; none leaves it to the kind of provider.
    pub idle_timeout: Set<Option<u64>>,
    /// What the terminal writes upon; none leaves it to what the terminal says of itself.
    pub background: Set<Option<Background>>,
    /// How the user is called back to the terminal; none leaves it to what suits the terminal.
    pub notify: Set<Option<NotifyBy>>,
    /// Who stands beside the user in commits that the session makes, as `Name <address>`.
    pub co_author: Set<Option<String>>,
    /// The ports at which servers of models are looked for on this machine.
    pub local_ports: Set<Vec<u16>>,
    /// Hooks of the user's own file, as they are written.
    pub hooks: Option<serde_json::Value>,
    /// Whose hooks run besides, where the user says so.
    pub hooks_from: Set<HooksFrom>,
    /// Hooks of the project's file, as they are written.
    pub project_hooks: Option<serde_json::Value>,
    /// The name of what the project's hooks said when the user permitted them.
    pub hooks_consent: Option<String>,
    /// Keys by vendor, from the user's own file.
    pub keys: BTreeMap<String, Key>,
    /// What is known of models that no catalogue lists, or better than it.
    pub models: BTreeMap<String, ModelFile>,
    /// Servers whose tools are used, by name, from the user's own file.
    pub mcp: BTreeMap<String, ServerFile>,
    /// The user's own file, there or not.
    pub user_file: Option<PathBuf>,
    /// What the user should know.
    pub notices: Vec<String>,
}

/// A key. It shows itself to nobody.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Key(String);

impl Key {
    /// The key, for the provider alone.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// A key from elsewhere.
    pub fn new(key: String) -> Self {
        Key(key)
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(…)")
    }
}

/// Where settings files are looked for.
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
    /// For a repository with this root; `config` is the user's folder of settings.
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
            economics: Set::default(Preset::default()),
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
            local_ports: Set::default(crate::local::USUAL.iter().map(|(port, ..)| *port).collect()),
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
    /// The patterns that permit something in this project.
    pub fn allowed(&self) -> Vec<String> {
        [self.allow.value.clone(), self.project_allow.value.clone()].concat()
    }

    /// Denies this, too: nobody takes back what another place denies.
    pub fn deny(&mut self, patterns: Vec<String>, from: &From) {
        if !patterns.is_empty() {
            let all = [self.deny.value.clone(), patterns].concat();
            self.deny.take(Some(all), from);
        }
    }
}

#[cfg(test)]
mod tests;
