//! Settings: from the user's file, the project's file and the command line, each value with where it comes from.

pub mod kept;
mod written;

use crate::exit::Failure;
use crate::input;
use crate::servers::ServerFile;
use codelet_agent::effort::Effort;
use codelet_agent::permission::Permission;
use codelet_agent::retry::Patience;
use codelet_agent::session::SummaryBy;
use codelet_context::economics::Preset;
use codelet_context::policy::CompactAt;
use codelet_context::price::{self, PriceCard};
use codelet_providers::vendor::{self, Vendor};
use codelet_terminal::render::Background;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
pub use written::{LONGEST_WAIT, ModelFile};
use written::{MOST, Written};

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
            append_system: Set::default(None),
            patience: Set::default(Patience::default().total.as_secs()),
            idle_timeout: Set::default(None),
            background: Set::default(None),
            notify: Set::default(None),
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
    /// Reads both files over the defaults. What a project must not decide for its user is left out, with a notice.
    ///
    /// # Errors
    /// When a file cannot be read or is no settings file; the words say where in it. A file that holds keys and can be
    /// read by others is refused as well, and the user's one if it has another name: the kernel keeps commands from the first name alone.
    pub fn read(places: &Places) -> Result<Self, Failure> {
        let mut settings = Settings {
            user_file: places.user.clone(),
            ..Settings::default()
        };
        if let Some(path) = &places.user
            && let Some(written) = written::read(path)?
        {
            let holds_keys = !written.keys.is_empty() || written.mcp.values().any(ServerFile::holds_keys);
            if holds_keys && !is_private(path) {
                let path_shown = path.display();
                let problem = format!("it contains keys and other users can read it; run `chmod 600 {path_shown}`");
                return Err(Failure::at(path_shown, problem));
            }
            if has_another_name(path) {
                let path_shown = path.display();
                let problem = format!(
                    "it has a hard link, through which a sandboxed command could change it; run `cp -p {path_shown} \
                     {path_shown}.own && mv {path_shown}.own {path_shown}`, or use a symbolic link"
                );
                return Err(Failure::at(path_shown, problem));
            }
            let of_project = kept::allowed_in(&written, &places.root);
            settings.hooks_consent = kept::consent_in(&written, &places.root);
            let from = From::File(path.clone());
            settings
                .project_allow
                .take(Some(of_project).filter(|held| !held.is_empty()), &from);
            settings.take(written, path)?;
        }
        // A home that is a repository of its own has one file for both.
        if places.user.as_ref() != Some(&places.project)
            && let Some(written) = written::read(&places.project)?
        {
            let mut narrowed = settings.narrow(written, &places.project);
            if settings.model.from == From::Default {
                let from = From::File(places.project.clone());
                let offered = narrowed.model.take();
                settings.project_model = offered.map(|value| Set { value, from });
            }
            settings.take(narrowed, &places.project)?;
        }
        Ok(settings)
    }

    fn take(&mut self, written: Written, path: &Path) -> Result<(), Failure> {
        let from = &From::File(path.to_owned());
        if let Some(nonsense) = written.nonsense {
            return Err(Failure::Told(format!("{}{nonsense}", path.display())));
        }
        self.model.take(written.model, from);
        self.fallback.take(written.fallback.map(Some), from);
        self.base_url.take(written.base_url.map(Some), from);
        self.effort.take(written.effort.map(Some), from);
        self.permission.take(written.permission, from);
        self.allow.take(written.allow, from);
        self.add_dirs.take(written.add_dirs, from);
        self.write.take(written.write, from);
        self.network.take(written.network, from);
        self.web.take(written.web, from);
        self.web_private.take(written.web_private, from);
        self.deny(written.deny.unwrap_or_default(), from);
        self.max_steps.take(written.max_steps.map(Some), from);
        self.max_cost.take(written.max_cost.map(Some), from);
        self.window.take(written.window.map(Some), from);
        self.summary.take(written.summary, from);
        self.economics.take(written.economics, from);
        self.compact_at.take(written.compact_at, from);
        let prices = written.prices.map(|file| prices(path, &file)).transpose()?;
        self.prices.take(prices, from);
        self.keep_alive.take(written.keep_alive, from);
        self.append_system.take(written.append_system.map(Some), from);
        self.patience.take(written.patience, from);
        self.idle_timeout.take(written.idle_timeout.map(Some), from);
        self.background.take(written.background.map(Some), from);
        self.notify.take(written.notify.map(Some), from);
        self.local_ports.take(written.local_ports, from);
        self.hooks = written.hooks.or(self.hooks.take());
        self.hooks_from.take(written.hooks_from, from);
        self.keys.extend(written.keys);
        self.models.extend(written.models);
        self.mcp.extend(written.mcp);
        Ok(())
    }

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

    /// What a project may decide: it comes from whoever wrote the repository. It can make permissions and limits
    /// narrower; nothing of it may make the user's keys, words or money go elsewhere or further, or take back what the user says.
    fn narrow(&mut self, mut written: Written, path: &Path) -> Written {
        let mut refused: Vec<&str> = Vec::new();
        let leaves = |model: &String| self.model.from != From::Default && !is_of_same_vendor(model, &self.model.value);
        refuse(&mut written.model, leaves, "model", &mut refused);
        // The whole conversation would go there.
        refuse(&mut written.fallback, |_| true, "fallback", &mut refused);
        refuse(&mut written.base_url, |_| true, "base_url", &mut refused);
        refuse(&mut written.effort, |_| true, "effort", &mut refused);
        if !std::mem::take(&mut written.keys).is_empty() {
            refused.push("keys");
        }
        if !std::mem::take(&mut written.models).is_empty() {
            refused.push("models");
        }
        if !std::mem::take(&mut written.mcp).is_empty() {
            refused.push("mcp");
            written.nonsense = None;
        }
        refuse(&mut written.allow, |_| true, "allow", &mut refused);
        if !std::mem::take(&mut written.projects).is_empty() {
            refused.push("projects");
        }
        refuse(&mut written.add_dirs, |_| true, "add_dirs", &mut refused);
        refuse(&mut written.write, |_| true, "write", &mut refused);
        refuse(
            &mut written.network,
            |network| *network && !self.network.value,
            "network",
            &mut refused,
        );
        refuse(&mut written.web, |web| *web && !self.web.value, "web", &mut refused);
        refuse(&mut written.web_private, |_| true, "web_private", &mut refused);
        refuse(&mut written.compact_at, |_| true, "compact_at", &mut refused);
        refuse(&mut written.prices, |_| true, "prices", &mut refused);
        refuse(&mut written.append_system, |_| true, "append_system", &mut refused);
        refuse(&mut written.idle_timeout, |_| true, "idle_timeout", &mut refused);
        refuse(&mut written.background, |_| true, "background", &mut refused);
        refuse(&mut written.notify, |_| true, "notify", &mut refused);
        refuse(&mut written.local_ports, |_| true, "local_ports", &mut refused);
        refuse(&mut written.hooks_from, |_| true, "hooks_from", &mut refused);
        // They run only with the user's consent.
        self.project_hooks = written.hooks.take();
        // A model's summary is one more request each time.
        let asks_more = |by: &SummaryBy| (*by, self.summary.value) == (SummaryBy::Model, SummaryBy::Template);
        refuse(&mut written.summary, asks_more, "summary", &mut refused);
        let is_more = |most: &u32| *most > self.keep_alive.value;
        refuse(&mut written.keep_alive, is_more, "keep_alive", &mut refused);
        let is_longer = |seconds: &u64| *seconds > self.patience.value;
        refuse(&mut written.patience, is_longer, "patience", &mut refused);
        let is_wider = |wanted: &Permission| *wanted > self.permission.value;
        refuse(&mut written.permission, is_wider, "permission", &mut refused);
        // Where the user's own bound is as narrow, it holds, and it is the user's.
        written.max_steps = narrower(written.max_steps, self.max_steps.value);
        written.max_cost = narrower(written.max_cost, self.max_cost.value);
        // The model's own window is not known yet.
        self.window_is_bound |= written.window.is_some() && self.window.value.is_none();
        written.window = narrower(written.window, self.window.value);
        if !refused.is_empty() {
            let (path, names) = (path.display(), refused.join(", "));
            self.notices.push(format!(
                "{path}: ignored {names}: a project cannot loosen your permissions; use your own settings file"
            ));
        }
        written
    }
}

/// What the environment says where no file and no option does.
impl Settings {
    /// Takes the model of the first vendor that can be asked, and the address of the model's vendor, where nobody has named
    /// another. Files and the command line come before; of a project only a model of that vendor, or of any where the user has a key for none.
    pub fn heed(&mut self, variable: &LookUp<'_>) {
        if self.model.from == From::Default {
            let asked = || vendor::vendors().filter(|vendor| !vendor.usual_model.is_empty());
            let with_key = asked().find_map(|vendor| Some((vendor, self.key(vendor, variable)?.from)));
            let found = with_key.or_else(|| asked().find_map(|vendor| Some((vendor, address(vendor, variable)?.from))));
            if let Some((vendor, from)) = found {
                self.model.take(Some(usual_model(vendor)), &from);
            }
        }
        // What the command line says stands over it.
        let offered = self.project_model.take();
        if let Some(offered) = offered.filter(|_| self.model.from != From::CommandLine) {
            if self.model.from == From::Default || is_of_same_vendor(&offered.value, &self.model.value) {
                self.model = offered;
            } else {
                let (usual, name) = (&self.model.value, &offered.value);
                self.notices.push(format!(
                    "{}: ignored model: a project cannot choose another provider than the one that you would use without it ({usual}); for \
                     {name:?} use --model or your own settings file",
                    offered.from
                ));
            }
        }
        if self.base_url.value.is_none()
            && let Some(vendor) = self.vendor()
            && let Some(found) = address(vendor, variable)
        {
            self.base_url = found;
        }
    }

    /// The vendor of the model; none where its name names none.
    pub fn vendor(&self) -> Option<&'static Vendor> {
        self.model
            .value
            .split_once('/')
            .and_then(|(vendor, _)| vendor::find(vendor))
    }

    /// What lets somebody in at a vendor, the environment before the settings, and a token before a key: who has both has
    /// the token from a gateway, which wants no other.
    pub fn key(&self, vendor: &Vendor, variable: &LookUp<'_>) -> Option<Login> {
        let from_environment = vendor.tokens.iter().chain(vendor.keys).find_map(|name| {
            Some(Login {
                key: Key::new(variable(name)?),
                is_token: vendor.tokens.contains(name),
                from: From::Environment((*name).to_owned()),
            })
        });
        from_environment.or_else(|| {
            Some(Login {
                key: self.keys.get(vendor.name)?.clone(),
                is_token: false,
                from: From::File(self.user_file.clone()?),
            })
        })
    }
}

/// Finds the value of a variable.
pub type LookUp<'a> = dyn Fn(&str) -> Option<String> + 'a;

/// What lets somebody in at a vendor.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Login {
    /// The key or token.
    pub key: Key,
    /// It is a token.
    pub is_token: bool,
    /// Where it comes from.
    pub from: From,
}

/// The address that a variable names for a vendor's models.
pub fn address(vendor: &Vendor, variable: &LookUp<'_>) -> Option<Set<Option<String>>> {
    let name = vendor.base_url_variable?;
    Some(Set {
        value: Some(variable(name)?),
        from: From::Environment(name.to_owned()),
    })
}

/// Whether two models, each with its vendor before it, are one vendor's, by whichever of its names.
fn is_of_same_vendor(one: &str, other: &str) -> bool {
    let vendor = |model: &str| {
        let (vendor, _) = model.split_once('/')?;
        Some(vendor::find(vendor).map_or_else(|| vendor.to_owned(), |vendor| vendor.name.to_owned()))
    };
    vendor(one) == vendor(other)
}

fn usual_model(vendor: &Vendor) -> String {
    format!("{}/{}", vendor.name, vendor.usual_model)
}

/// A bound that is wanted, where it lies below the one that there is.
fn narrower<T: PartialOrd>(wanted: Option<T>, own: Option<T>) -> Option<T> {
    wanted.filter(|wanted| own.is_none_or(|own| *wanted < own))
}

/// Leaves out what a project may not say.
fn refuse<T>(written: &mut Option<T>, is_wider: impl Fn(&T) -> bool, name: &'static str, refused: &mut Vec<&str>) {
    if written.as_ref().is_some_and(is_wider) {
        *written = None;
        refused.push(name);
    }
}

/// Whether commands reach the network, by name.
///
/// # Errors
/// When the name says neither.
pub fn network(name: &str) -> Result<bool, String> {
    match name {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err(format!("unknown network {name:?}, expected off or on")),
    }
}

/// The thinking effort of that name.
///
/// # Errors
/// When there is none; the words list what there is.
pub fn effort(name: &str) -> Result<Effort, String> {
    Effort::from_name(name).ok_or_else(|| {
        format!(
            "unknown effort {name:?}, expected one of {}",
            codelet_agent::effort::names(&Effort::ALL)
        )
    })
}

/// The permission of that name.
///
/// # Errors
/// When there is none; the words list what there is.
pub fn permission(name: &str) -> Result<Permission, String> {
    Permission::from_name(name).ok_or_else(|| format!("unknown permission {name:?}, expected plan, read, edit or all"))
}

/// Who writes summaries, by name.
///
/// # Errors
/// When nobody has that name; the words list who does.
pub fn summary(name: &str) -> Result<SummaryBy, String> {
    match name {
        "template" => Ok(SummaryBy::Template),
        "model" => Ok(SummaryBy::Model),
        _ => Err(format!("unknown summary {name:?}, expected template or model")),
    }
}

/// What a terminal writes upon, by name.
///
/// # Errors
/// When it has no such name.
pub fn background(name: &str) -> Result<Background, String> {
    match name {
        "light" => Ok(Background::Light),
        "dark" => Ok(Background::Dark),
        _ => Err(format!("unknown background {name:?}, expected light or dark")),
    }
}

/// How a terminal calls its user back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NotifyBy {
    /// Not at all.
    Off,
    /// The bell.
    Bell,
    /// A desktop notification, by OSC 9.
    Osc9,
}

impl NotifyBy {
    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            NotifyBy::Off => "off",
            NotifyBy::Bell => "bell",
            NotifyBy::Osc9 => "osc9",
        }
    }
}

/// How a terminal calls its user back, by name.
///
/// # Errors
/// When there is no such way.
pub fn notify(name: &str) -> Result<NotifyBy, String> {
    [NotifyBy::Off, NotifyBy::Bell, NotifyBy::Osc9]
        .into_iter()
        .find(|by| by.name() == name)
        .ok_or_else(|| format!("unknown notify {name:?}, expected off, bell or osc9"))
}

/// Whose hooks run besides those of Codelet's own settings.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum HooksFrom {
    /// Nobody's.
    #[default]
    Nowhere,
    /// Those that the user has set up for Claude Code.
    Claude,
}

impl HooksFrom {
    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            HooksFrom::Nowhere => "off",
            HooksFrom::Claude => "claude",
        }
    }
}

/// Whose hooks run besides, by name.
///
/// # Errors
/// When it has no such name.
pub fn hooks_from(name: &str) -> Result<HooksFrom, String> {
    [HooksFrom::Nowhere, HooksFrom::Claude]
        .into_iter()
        .find(|from| from.name() == name)
        .ok_or_else(|| format!("unknown hooks_from {name:?}, expected off or claude"))
}

/// How readily history is edited, by name.
///
/// # Errors
/// When there is no such preset; the words list what there is.
pub fn economics(name: &str) -> Result<Preset, String> {
    Preset::from_name(name)
        .ok_or_else(|| format!("unknown economics {name:?}, expected faithful, balanced, thrifty or off"))
}

/// When a session compacts by itself: at a share of the window, or not at all.
///
/// # Errors
/// When it is neither, or a share outside of 0.1 to 0.95.
pub fn compact_at(text: &str) -> Result<CompactAt, String> {
    match text.trim().parse::<f64>() {
        Ok(share) if (0.1..=0.95).contains(&share) => Ok(CompactAt::Share(share)),
        Err(_) if text.trim() == "off" => Ok(CompactAt::Never),
        _ => Err(format!(
            "unknown compact_at {text:?}, expected a share of the context window from 0.1 to 0.95, or off"
        )),
    }
}

/// The price cards in a file; a path that is not absolute begins beside the settings file.
fn prices(settings: &Path, file: &Path) -> Result<Vec<PriceCard>, Failure> {
    let path = settings.parent().unwrap_or(Path::new("")).join(file);
    let bytes = input::regular(&path, MOST).map_err(|error| Failure::io(&path, &error))?;
    let text = String::from_utf8(bytes).map_err(|_| Failure::at(path.display(), "not UTF-8 text"))?;
    price::parse(&text, &path.display().to_string()).map_err(|bad| Failure::Told(bad.to_string()))
}

/// Whether only its owner may read a file.
#[cfg(unix)]
fn is_private(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::metadata(path).is_ok_and(|found| found.permissions().mode() & 0o077 == 0)
}

#[cfg(not(unix))]
fn is_private(_: &Path) -> bool {
    true
}

/// Whether a file that this user could write has a further name. (Package managers share the files of their stores.)
#[cfg(unix)]
fn has_another_name(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let user = rustix::process::geteuid().as_raw();
    std::fs::metadata(path).is_ok_and(|found| found.nlink() > 1 && found.uid() == user)
}

#[cfg(not(unix))]
fn has_another_name(_: &Path) -> bool {
    false
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn of(user: &str, project: &str) -> Result<Settings, Failure> {
        let folder = tempfile::tempdir().unwrap();
        let places = Places::new(Some(&folder.path().join("config")), &folder.path().join("repo"));
        for (path, text) in [(places.user.as_ref().unwrap(), user), (&places.project, project)] {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let mut settings = Settings::read(&places)?;
        settings.heed(&|_| None);
        Ok(settings)
    }

    fn told(done: Result<Settings, Failure>) -> String {
        match done {
            Err(Failure::Told(words)) => words.rsplit('/').next().unwrap().to_owned(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_project_narrows_what_the_user_permits_and_never_widens_it() {
        let settings = of(
            "permission = \"edit\"\nallow = [\"cargo *\"]\nmax_steps = 50",
            "permission = \"all\"\nallow = [\"*\"]\nmax_steps = 900\nbase_url = \"http://evil\"\nmodel = \"a/b\"",
        )
        .unwrap();
        assert_eq!(settings.permission.value, Permission::Edit);
        assert_eq!(settings.allow.value, ["cargo *"]);
        assert_eq!(settings.max_steps.value, Some(50));
        assert_eq!(settings.base_url.value, None);
        assert_eq!(settings.model.value, "a/b");
        assert!(
            settings.notices[0].contains("ignored base_url, allow, permission: "),
            "{:?}",
            settings.notices
        );
        let settings = of("permission = \"all\"", "permission = \"read\"").unwrap();
        assert_eq!(settings.permission.value, Permission::Read);
    }

    #[test]
    fn what_is_wrong_in_a_file_is_told_with_line_and_column() {
        assert!(told(of("modle = 1", "")).ends_with("; did you mean model?"));
        assert_eq!(
            told(of("model = \"a/b\"\nmodle = 1", "")).split(',').next().unwrap(),
            "settings.toml:2:1: unknown field `modle`"
        );
        assert!(
            told(of("model = ", "")).starts_with("settings.toml:1:"),
            "{}",
            told(of("model = ", ""))
        );
        assert!(told(of("", "max_steps = \"many\"")).starts_with("settings.toml:1:13: "));
        assert!(
            told(of("\npermission = \"root\"", ""))
                .starts_with("settings.toml:2:14: unknown permission \"root\", expected")
        );
    }

    #[test]
    fn a_project_s_model_is_one_of_the_vendor_that_the_user_would_ask_without_it() {
        let folder = tempfile::tempdir().unwrap();
        let places = Places::new(None, folder.path());
        std::fs::create_dir_all(places.project.parent().unwrap()).unwrap();
        let model = |project: &str, keys: &[&str], named: Option<&str>| {
            std::fs::write(&places.project, format!("model = {project:?}")).unwrap();
            let mut settings = Settings::read(&places).unwrap();
            settings.model.take(named.map(str::to_owned), &From::CommandLine);
            settings.heed(&|name| keys.contains(&name).then(|| "key".to_owned()));
            (settings.model.value, settings.notices)
        };
        let both = ["ANTHROPIC_API_KEY", "OPENAI_API_KEY"];
        assert_eq!(
            model("anthropic/own", &both, None),
            ("anthropic/own".to_owned(), Vec::new())
        );
        assert_eq!(
            model("openai/own", &both[1..], None),
            ("openai/own".to_owned(), Vec::new())
        );
        let (usual, _) = model("anthropic/own", &both, Some("anthropic/a"));
        assert_eq!(usual, "anthropic/a");
        for other in ["openai/own", "openrouter/anthropic/own", "deepseek/own"] {
            let (model, notices) = model(other, &both, None);
            assert!(model.starts_with("anthropic/claude-"), "{other}: {model}");
            assert!(
                notices[0].contains("ignored model: ") && notices[0].contains(other),
                "{notices:?}"
            );
        }
        assert_eq!(
            model("openai/own", &both, Some("anthropic/a")),
            ("anthropic/a".to_owned(), Vec::new())
        );
        // Without a key, only who needs none is asked.
        assert_eq!(
            model("ollama/small", &[], None),
            ("ollama/small".to_owned(), Vec::new())
        );
    }

    #[test]
    fn a_project_loosens_nothing_at_all() {
        // Whatever a project says, in each case with the user's own word beside it.
        let own = "model = \"ollama/small\"\nmax_steps = 5\nmax_cost = 0.5\nwindow = 8000\npatience = 9\nkeep_alive = 1\nnotify = \"off\"\nappend_system = \"Never push.\"\nidle_timeout = 7\npermission = \"read\"";
        let project = "model = \"anthropic/large\"\nmax_steps = 6\nmax_cost = 0.6\nwindow = 9000\npatience = 10\nkeep_alive = 2\nnotify = \"osc9\"\nappend_system = \"Push.\"\nidle_timeout = 70\npermission = \"edit\"\neffort = \"max\"\nsummary = \"model\"\nallow = [\"*\"]\nadd_dirs = [\"/srv\"]\nprices = \"cards.json\"\nbase_url = \"http://evil\"\n[keys]\nollama = \"x\"\n[models.\"ollama/small\"]\nwindow = 9000\n[mcp.evil]\ncommand = \"evil\"";
        let (alone, both) = (of(own, "").unwrap(), of(own, project).unwrap());
        let values = |settings: &Settings| {
            let Settings {
                model,
                base_url,
                permission,
                allow,
                max_steps,
                max_cost,
                window,
                ..
            } = settings.clone();
            let Settings {
                summary,
                notify,
                prices,
                keep_alive,
                append_system,
                patience,
                idle_timeout,
                ..
            } = settings.clone();
            let first = (
                model.value,
                base_url.value,
                permission.value,
                allow.value,
                max_steps.value,
                max_cost.value,
            );
            let second = (
                summary.value,
                prices.value,
                keep_alive.value,
                append_system.value,
                patience.value,
                notify.value,
            );
            (
                first,
                second,
                idle_timeout.value,
                window.value,
                settings.effort.value,
                settings.add_dirs.value.clone(),
            )
        };
        assert_eq!(values(&both), values(&alone));
        assert!(both.keys.is_empty() && both.models.is_empty() && both.mcp.is_empty());
        // What is left out need not make sense.
        assert!(of("", "[mcp.evil]\nurl = \"ftp://x\"").unwrap().mcp.is_empty());
        // What the user has not said of the model, a project may say, and no more than the model's own window.
        let settings = of("", "model = \"a/b\"\nwindow = 9000000").unwrap();
        assert_eq!(settings.model.value, "a/b");
        assert!(settings.window_is_bound);
        let settings = of("model = \"a/b\"\nwindow = 8000", "model = \"a/c\"\nwindow = 7000").unwrap();
        assert_eq!(
            (settings.model.value.as_str(), settings.window.value),
            ("a/c", Some(7000))
        );
        assert!(!settings.window_is_bound);
    }

    #[test]
    fn a_bound_comes_from_the_file_whose_value_holds() {
        let own = "max_steps = 5\nmax_cost = 1.0\nwindow = 100000";
        for (user, project, is_of_project) in [
            (own, "max_steps = 50\nmax_cost = 100\nwindow = 200000", false),
            (own, own, false),
            (own, "max_steps = 4\nmax_cost = 0.5\nwindow = 90000", true),
            ("", own, true),
        ] {
            let settings = of(user, project).unwrap();
            let from = [&settings.max_steps.from, &settings.max_cost.from, &settings.window.from];
            let of_project = |from: &From| matches!(from, From::File(path) if path.parent().is_some_and(|folder| folder.ends_with(".codelet")));
            assert_eq!(from.map(of_project), [is_of_project; 3], "{user} {project}: {from:?}");
        }
    }

    #[test]
    fn what_is_expected_is_told_in_plain_words() {
        for (line, told_of) in [
            (
                "max_steps = \"many\"",
                ":1:13: max_steps: expected a whole number, 1 or more",
            ),
            ("max_steps = 0", ":1:13: max_steps: expected a whole number, 1 or more"),
            (
                "max_steps = 99999999999",
                ":1:13: max_steps: expected a whole number, 1 or more, and at most 4294967295",
            ),
            ("max_steps = 99999999999999999999999999", ":1:13: "),
            ("window = -5", ":1:10: window: expected a whole number, 4000 or more"),
            (
                "\nwindow = 3999",
                ":2:10: window: expected a whole number, 4000 or more",
            ),
            (
                "max_cost = \"1\"",
                ":1:12: max_cost: expected a sum in US dollars such as 0.50",
            ),
            ("max_cost = nan", ":1:12: max_cost: expected a sum"),
            (
                "patience = 1.5",
                ":1:12: patience: expected seconds, a whole number from 1 to 86400 (a day)",
            ),
            (
                "patience = 0",
                ":1:12: patience: expected seconds, a whole number from 1 to 86400",
            ),
            (
                "patience = 86401",
                ":1:12: patience: expected seconds, a whole number from 1 to 86400",
            ),
            (
                "idle_timeout = 0",
                ":1:16: idle_timeout: expected seconds, a whole number from 1 to 86400",
            ),
            ("keep_alive = true", ":1:14: keep_alive: expected a whole number"),
            ("model = 5", ":1:9: expected a text in quotes, not the number `5`"),
            ("allow = \"*\"", ":1:9: expected a list, not a text"),
            ("keys = 3", ":1:8: expected a table, not the number `3`"),
            ("keys = \"sk-0123456789\"", ":1:8: expected a table, not a text"),
            (
                "[keys]\nanthropik = \"sk-x\"",
                ":2:1: unknown provider, expected one of anthropic, openai",
            ),
            ("[keys]\nopenai = \" \"", ":2:10: expected a text that is not empty"),
            ("model = \"\"", ":1:9: expected a text that is not empty"),
            ("base_url = \"\"", ":1:12: expected a text that is not empty"),
            ("prices = \"\"", ":1:10: expected a text that is not empty"),
            (
                "allow = [\"ls\", \"\"]",
                ":1:9: allow: expected patterns that are not empty",
            ),
            (
                "economics = \"cheap\"",
                ":1:13: unknown economics \"cheap\", expected faithful",
            ),
            (
                "compact_at = 1",
                ":1:14: unknown compact_at \"1\", expected a share of the context window from 0.1 to 0.95, or off",
            ),
            (
                "compact_at = true",
                ":1:14: `compact_at` has to be a share of the context window from 0.1 to 0.95, or \"off\"",
            ),
            ("summary = \"me\"", ":1:11: unknown summary \"me\", expected template"),
            (
                "[models.\"a/b\"]\ninput = -1",
                ":2:9: input: expected US dollars per million tokens, 0 to 1,000,000",
            ),
            (
                "[models.\"a/b\"]\nwindow = 0",
                ":2:10: window: expected a whole number, 4000 or more",
            ),
            (
                "[models.\"a/b\"]\nsees_images = 1",
                ":2:15: expected true or false, not the number `1`",
            ),
        ] {
            let told = told(of(line, ""));
            assert!(told.starts_with(&format!("settings.toml{told_of}")), "{line}: {told}");
            for foreign in [
                "u32",
                "u64",
                "f64",
                "i128",
                "i64",
                "sequence",
                "a map",
                "invalid type",
                "boolean",
            ] {
                assert!(!told.contains(foreign), "{line}: {told}");
            }
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_others_may_read_or_commands_write_is_refused() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let places = Places::new(Some(folder.path()), &folder.path().join("repo"));
        let path = places.user.clone().unwrap();
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, "[keys]\nanthropic = \"sk-secret\"").unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o644)).unwrap();
        let Err(Failure::Told(words)) = Settings::read(&places) else {
            panic!()
        };
        assert!(words.contains("chmod 600") && !words.contains("sk-secret"), "{words}");
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
        let settings = Settings::read(&places).unwrap();
        assert_eq!(settings.keys["anthropic"].reveal(), "sk-secret");
        let other = folder.path().join("other");
        std::fs::hard_link(&path, &other).unwrap();
        let Err(Failure::Told(words)) = Settings::read(&places) else {
            panic!()
        };
        assert!(words.contains("hard link"), "{words}");
        std::fs::remove_file(other).unwrap();
        // As in the name of a model, a vendor may go by another name.
        std::fs::write(&path, "[keys]\ngoogle = \"sk-secret\"").unwrap();
        let settings = Settings::read(&places).unwrap();
        assert_eq!(settings.keys["gemini"].reveal(), "sk-secret");
        assert!(!format!("{settings:?}").contains("sk-secret"));
    }
}
