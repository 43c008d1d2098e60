//! Settings: from the user's file, the project's file and the command line, each value with where it comes from.

use crate::exit::{Failure, words};
use codelet_agent::permission::Permission;
use codelet_agent::retry::Patience;
use codelet_agent::session::SummaryBy;
use codelet_context::economics::Preset;
use codelet_context::price::{self, PriceCard};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

/// The largest settings file that is read, in bytes.
const MOST: u64 = 1024 * 1024;
/// The model that is asked where nobody says which.
pub const MODEL: &str = "anthropic/claude-sonnet-4-5";

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
    /// Another address than the vendor's own.
    pub base_url: Set<Option<String>>,
    /// What the tools may do.
    pub permission: Set<Permission>,
    /// Commands that may be run under `edit`.
    pub allow: Set<Vec<String>>,
    /// The most steps of a run.
    pub max_steps: Set<Option<u32>>,
    /// The most dollars of a run.
    pub max_cost: Set<Option<f64>>,
    /// Another window than the catalogue's, in tokens.
    pub window: Set<Option<u64>>,
    /// Who writes summaries.
    pub summary: Set<SummaryBy>,
    /// How readily history that was sent is edited to save money.
    pub economics: Set<Preset>,
    /// Price cards over those that are built in.
    pub prices: Set<Vec<PriceCard>>,
    /// The most idle requests in a row that keep the cache from expiring.
    pub keep_alive: Set<u32>,
    /// Text behind the system prompt.
    pub append_system: Set<Option<String>>,
    /// Seconds that a provider is waited for, all retries of one request together.
    pub patience: Set<u64>,
    /// Seconds without a byte after which a connection counts as cut; none leaves it to the kind of provider.
    pub idle_timeout: Set<Option<u64>>,
    /// Keys by vendor, from the user's own file.
    pub keys: BTreeMap<String, Key>,
    /// What is known of models that no catalogue lists, or better than it.
    pub models: BTreeMap<String, ModelFile>,
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

/// A settings file, as it is written.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    model: Option<String>,
    base_url: Option<String>,
    permission: Option<String>,
    allow: Option<Vec<String>>,
    max_steps: Option<u32>,
    max_cost: Option<f64>,
    window: Option<u64>,
    summary: Option<String>,
    economics: Option<String>,
    prices: Option<PathBuf>,
    keep_alive: Option<u32>,
    append_system: Option<String>,
    patience: Option<u64>,
    idle_timeout: Option<u64>,
    #[serde(default)]
    keys: BTreeMap<String, Key>,
    #[serde(default)]
    models: BTreeMap<String, ModelFile>,
}

impl Written {
    /// Numbers that are written well and mean nothing: a limit of `nan` dollars is never reached.
    fn check(&self) -> Result<(), String> {
        if self.max_cost.is_some_and(|sum| !sum.is_finite() || sum <= 0.0) {
            return Err("max_cost: expected a sum in US dollars such as 0.50".to_owned());
        }
        for (name, value) in [("max_steps", self.max_steps.map(u64::from)), ("window", self.window)] {
            if value == Some(0) {
                return Err(format!("{name}: expected at least 1"));
            }
        }
        for (name, seconds) in [("patience", self.patience), ("idle_timeout", self.idle_timeout)] {
            if seconds.is_some_and(|seconds| seconds > LONGEST_WAIT) {
                return Err(format!("{name}: expected at most {LONGEST_WAIT} seconds (a day)"));
            }
        }
        for (name, model) in &self.models {
            let prices = [
                ("input", model.input),
                ("output", model.output),
                ("cache_read", model.cache_read),
                ("cache_write", model.cache_write),
                ("cache_write_1h", model.cache_write_1h),
            ];
            let is_none = |price: f64| !price.is_finite() || price < 0.0;
            if let Some((what, _)) = prices.iter().find(|(_, price)| price.is_some_and(is_none)) {
                return Err(format!(
                    "models.{name:?}.{what}: expected US dollars per million tokens, 0 or more"
                ));
            }
            for (what, tokens) in [("window", model.window), ("max_output", model.max_output)] {
                if tokens == Some(0) {
                    return Err(format!("models.{name:?}.{what}: expected at least 1"));
                }
            }
        }
        Ok(())
    }
}

/// The longest time that a setting may name, in seconds; clocks do not count much further than anybody waits.
const LONGEST_WAIT: u64 = 24 * 3600;

/// What a settings file says of a model.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelFile {
    /// Its limit, in tokens.
    pub window: Option<u64>,
    /// The longest answer, in tokens.
    pub max_output: Option<u64>,
    /// Whether it takes pictures.
    pub sees_images: Option<bool>,
    /// US dollars per million tokens: input.
    pub input: Option<f64>,
    /// Output.
    pub output: Option<f64>,
    /// Cache reads.
    pub cache_read: Option<f64>,
    /// Cache writes, five minutes.
    pub cache_write: Option<f64>,
    /// Cache writes, one hour.
    pub cache_write_1h: Option<f64>,
}

impl ModelFile {
    /// The prices, given or not.
    pub fn rates(&self) -> impl Iterator<Item = Option<f64>> {
        [
            self.input,
            self.output,
            self.cache_read,
            self.cache_write,
            self.cache_write_1h,
        ]
        .into_iter()
    }
}

/// Where settings files are looked for.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Places {
    /// The user's file.
    pub user: Option<PathBuf>,
    /// The project's file.
    pub project: PathBuf,
}

impl Places {
    /// For a repository with this root; `config` is the user's folder of settings.
    pub fn new(config: Option<&Path>, root: &Path) -> Self {
        Places {
            user: config.map(|folder| folder.join("codelet").join("settings.toml")),
            project: root.join(".codelet").join("settings.toml"),
        }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            model: Set::default(MODEL.to_owned()),
            base_url: Set::default(None),
            permission: Set::default(Permission::default()),
            allow: Set::default(Vec::new()),
            max_steps: Set::default(None),
            max_cost: Set::default(None),
            window: Set::default(None),
            summary: Set::default(SummaryBy::default()),
            economics: Set::default(Preset::default()),
            prices: Set::default(Vec::new()),
            keep_alive: Set::default(0),
            append_system: Set::default(None),
            patience: Set::default(Patience::default().total.as_secs()),
            idle_timeout: Set::default(None),
            keys: BTreeMap::new(),
            models: BTreeMap::new(),
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
    /// read by others is refused as well.
    pub fn read(places: &Places) -> Result<Self, Failure> {
        let mut settings = Settings {
            user_file: places.user.clone(),
            ..Settings::default()
        };
        if let Some(path) = &places.user
            && let Some(written) = read(path)?
        {
            if !written.keys.is_empty() && !is_private(path) {
                let path_shown = path.display();
                let problem = format!("it holds keys and others may read it; run `chmod 600 {path_shown}`");
                return Err(Failure::at(path_shown, problem));
            }
            settings.take(written, path)?;
        }
        // A home that is a repository of its own has one file for both.
        if places.user.as_ref() != Some(&places.project)
            && let Some(written) = read(&places.project)?
        {
            let narrowed = settings.narrow(written, &places.project);
            settings.take(narrowed, &places.project)?;
        }
        Ok(settings)
    }

    fn take(&mut self, written: Written, path: &Path) -> Result<(), Failure> {
        let from = &From::File(path.to_owned());
        let wrong = |problem: String| Failure::at(path.display(), problem);
        written.check().map_err(wrong)?;
        self.model.take(written.model, from);
        self.base_url.take(written.base_url.map(Some), from);
        let permission = written
            .permission
            .map(|name| permission(&name))
            .transpose()
            .map_err(wrong)?;
        self.permission.take(permission, from);
        self.allow.take(written.allow, from);
        self.max_steps.take(written.max_steps.map(Some), from);
        self.max_cost.take(written.max_cost.map(Some), from);
        self.window.take(written.window.map(Some), from);
        let summary = written.summary.map(|name| summary(&name)).transpose().map_err(wrong)?;
        self.summary.take(summary, from);
        let economics = written
            .economics
            .map(|name| economics(&name))
            .transpose()
            .map_err(wrong)?;
        self.economics.take(economics, from);
        let prices = written.prices.map(|file| prices(path, &file)).transpose()?;
        self.prices.take(prices, from);
        self.keep_alive.take(written.keep_alive, from);
        self.append_system.take(written.append_system.map(Some), from);
        self.patience.take(written.patience, from);
        self.idle_timeout.take(written.idle_timeout.map(Some), from);
        self.keys.extend(written.keys);
        self.models.extend(written.models);
        Ok(())
    }

    /// What a project may decide: it comes from whoever wrote the repository. It can make permissions and limits
    /// narrower, and nothing may make the user's keys go elsewhere.
    fn narrow(&mut self, mut written: Written, path: &Path) -> Written {
        let mut refused: Vec<&str> = Vec::new();
        if written.base_url.take().is_some() {
            refused.push("base_url");
        }
        if !std::mem::take(&mut written.keys).is_empty() {
            refused.push("keys");
        }
        if !std::mem::take(&mut written.models).is_empty() {
            refused.push("models");
        }
        if written.allow.take().is_some() {
            refused.push("allow");
        }
        if written.prices.take().is_some() {
            refused.push("prices");
        }
        if written.keep_alive.is_some_and(|most| most > self.keep_alive.value) {
            written.keep_alive = None;
            refused.push("keep_alive");
        }
        let wider = |name: &String| Permission::from_name(name).is_some_and(|wanted| wanted > self.permission.value);
        if written.permission.as_ref().is_some_and(wider) {
            written.permission = None;
            refused.push("permission");
        }
        if let (Some(wanted), Some(own)) = (written.max_steps, self.max_steps.value) {
            written.max_steps = Some(wanted.min(own));
        }
        if let (Some(wanted), Some(own)) = (written.max_cost, self.max_cost.value) {
            written.max_cost = Some(wanted.min(own));
        }
        if !refused.is_empty() {
            let (path, names) = (path.display(), refused.join(", "));
            self.notices.push(format!(
                "{path}: a project may not set {names} (it could widen what you permit); put that into your own settings"
            ));
        }
        written
    }
}

/// The permission of that name.
///
/// # Errors
/// When there is none; the words list what there is.
pub fn permission(name: &str) -> Result<Permission, String> {
    Permission::from_name(name).ok_or_else(|| format!("permission {name:?} is not known, expected read, edit or all"))
}

/// Who writes summaries, by name.
///
/// # Errors
/// When nobody has that name; the words list who does.
pub fn summary(name: &str) -> Result<SummaryBy, String> {
    match name {
        "template" => Ok(SummaryBy::Template),
        "model" => Ok(SummaryBy::Model),
        _ => Err(format!("summary {name:?} is not known, expected template or model")),
    }
}

/// How readily history is edited, by name.
///
/// # Errors
/// When there is no such preset; the words list what there is.
pub fn economics(name: &str) -> Result<Preset, String> {
    Preset::from_name(name)
        .ok_or_else(|| format!("economics {name:?} is not known, expected faithful, balanced, thrifty or off"))
}

/// The price cards in a file; a path that is not absolute begins beside the settings file.
fn prices(settings: &Path, file: &Path) -> Result<Vec<PriceCard>, Failure> {
    let path = settings.parent().unwrap_or(Path::new("")).join(file);
    let length = std::fs::metadata(&path)
        .map_err(|error| Failure::io(&path, &error))?
        .len();
    if length > MOST {
        return Err(Failure::at(path.display(), "too large for price cards"));
    }
    let text = std::fs::read_to_string(&path).map_err(|error| Failure::io(&path, &error))?;
    price::parse(&text, &path.display().to_string()).map_err(|bad| Failure::Told(bad.to_string()))
}

fn read(path: &Path) -> Result<Option<Written>, Failure> {
    let found = match std::fs::metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        // A file where a folder should be.
        Err(error) if error.kind() == std::io::ErrorKind::NotADirectory => return Ok(None),
        Err(error) => return Err(Failure::io(path, &error)),
    };
    if !found.is_file() {
        return Err(Failure::at(path.display(), "expected a file"));
    }
    if found.len() > MOST {
        return Err(Failure::at(path.display(), "too large for settings"));
    }
    let bytes = std::fs::read(path).map_err(|error| Failure::at(path.display(), words(&error)))?;
    let Ok(text) = String::from_utf8(bytes) else {
        return Err(Failure::at(path.display(), "not UTF-8 text"));
    };
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    toml::from_str(text).map(Some).map_err(|error| {
        let at = error.span().map_or(String::new(), |span| place(text, span.start));
        Failure::Told(format!("{}{at}: {}", path.display(), one_line(error.message())))
    })
}

/// `:line:column` of an offset, both counted from 1, the column in characters.
fn place(text: &str, offset: usize) -> String {
    let before = &text[..text.floor_char_boundary(offset)];
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    format!(":{line}:{column}")
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
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
        Settings::read(&places)
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
            settings.notices[0].contains("may not set base_url, allow, permission"),
            "{:?}",
            settings.notices
        );
        let settings = of("permission = \"all\"", "permission = \"read\"").unwrap();
        assert_eq!(settings.permission.value, Permission::Read);
    }

    #[test]
    fn what_is_wrong_in_a_file_is_told_with_line_and_column() {
        assert_eq!(
            told(of("model = \"a/b\"\nmodle = 1", "")).split(',').next().unwrap(),
            "settings.toml:2:1: unknown field `modle`"
        );
        assert!(
            told(of("model = ", "")).starts_with("settings.toml:1:"),
            "{}",
            told(of("model = ", ""))
        );
        assert!(told(of("", "max_steps = \"many\"")).starts_with("settings.toml:1:13: invalid type"));
        assert!(told(of("permission = \"root\"", "")).contains("expected read, edit or all"));
    }

    #[cfg(unix)]
    #[test]
    fn keys_are_read_only_from_a_file_that_nobody_else_may_read() {
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
        assert!(!format!("{settings:?}").contains("sk-secret"));
    }
}
