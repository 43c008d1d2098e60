//! The schema of settings files: bounded parsing, with errors in plain words and with their place.

use super::servers::ServerFile;
use super::{HooksFrom, Key, LONGEST_WAIT, NotifyBy, SMALLEST_WINDOW};
use crate::exit::Failure;
use crate::input;
use crate::paint::clean;
use crate::place::variable;
use codelet_agent::effort::Effort;
use codelet_agent::permission::{Permission, read_pattern};
use codelet_agent::session::SummaryBy;
use codelet_context::economics::Preset;
use codelet_context::policy::CompactAt;
use codelet_context::price;
use codelet_providers::vendor;
use codelet_terminal::render::Background;
use codelet_text::near;
use serde::Deserialize;
use serde::de::{Deserializer, Error, IgnoredAny};
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use toml::Spanned;

/// The size limit of a settings file, in bytes.
pub(super) const MOST: u64 = 1024 * 1024;
/// A parsed settings file.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct SettingsFile {
    #[serde(deserialize_with = "filled")]
    pub model: Option<String>,
    #[serde(deserialize_with = "filled")]
    pub fallback: Option<String>,
    #[serde(deserialize_with = "filled")]
    pub base_url: Option<String>,
    #[serde(deserialize_with = "effort")]
    pub effort: Option<Effort>,
    #[serde(deserialize_with = "permission")]
    pub permission: Option<Permission>,
    #[serde(deserialize_with = "patterns")]
    pub allow: Option<Vec<String>>,
    #[serde(deserialize_with = "folders")]
    pub add_dirs: Option<Vec<PathBuf>>,
    #[serde(deserialize_with = "folders")]
    pub write: Option<Vec<PathBuf>>,
    #[serde(deserialize_with = "network")]
    pub network: Option<bool>,
    pub web: Option<bool>,
    #[serde(deserialize_with = "web_private")]
    pub web_private: Option<Vec<String>>,
    #[serde(deserialize_with = "patterns")]
    pub deny: Option<Vec<String>>,
    #[serde(deserialize_with = "whole::<_, _, 1>")]
    pub max_steps: Option<u32>,
    #[serde(deserialize_with = "max_cost")]
    pub max_cost: Option<f64>,
    #[serde(deserialize_with = "window")]
    pub window: Option<u64>,
    #[serde(deserialize_with = "summary")]
    pub summary: Option<SummaryBy>,
    #[serde(deserialize_with = "policy")]
    pub policy: Option<Preset>,
    #[serde(deserialize_with = "compact_at")]
    pub compact_at: Option<CompactAt>,
    #[serde(deserialize_with = "prices")]
    pub prices: Option<PathBuf>,
    #[serde(deserialize_with = "whole::<_, _, 0>")]
    pub keep_alive: Option<u32>,
    #[serde(deserialize_with = "transcripts")]
    pub transcripts: Option<PathBuf>,
    pub append_system: Option<String>,
    #[serde(deserialize_with = "seconds")]
    pub patience: Option<u64>,
    #[serde(deserialize_with = "seconds")]
    pub idle_timeout: Option<u64>,
    #[serde(deserialize_with = "background")]
    pub background: Option<Background>,
    #[serde(deserialize_with = "notify")]
    pub notify: Option<NotifyBy>,
    #[serde(deserialize_with = "co_author")]
    pub co_author: Option<Option<String>>,
    pub hooks: Option<serde_json::Value>,
    #[serde(deserialize_with = "hooks_from")]
    pub hooks_from: Option<HooksFrom>,
    #[serde(deserialize_with = "keys")]
    pub keys: BTreeMap<String, Key>,
    pub models: BTreeMap<String, ModelFile>,
    pub mcp: BTreeMap<String, Spanned<ServerFile>>,
    #[serde(deserialize_with = "projects")]
    pub projects: BTreeMap<PathBuf, ProjectFile>,
    /// The place and description of an inconsistent MCP server entry.
    #[serde(skip)]
    pub nonsense: Option<String>,
    /// The names of all settings in the file.
    #[serde(skip)]
    pub names: Vec<String>,
}

impl SettingsFile {
    /// Returns the patterns stored for the project with this root.
    pub(super) fn allowed_in(&self, root: &Path) -> Vec<String> {
        let project = self.project(root);
        project.and_then(|project| project.allow.clone()).unwrap_or_default()
    }

    /// Returns the digest of the permitted hooks of the project with this root.
    pub(super) fn consent_in(&self, root: &Path) -> Option<String> {
        self.project(root)?.hooks.clone()
    }

    /// Returns the entry of the project with this root, which has no links; the home in a name may be one.
    fn project(&self, root: &Path) -> Option<&ProjectFile> {
        let is_named = |name: &Path| name.canonicalize().is_ok_and(|real| real == root);
        let named = || self.projects.iter().find(|(name, _)| is_named(name));
        self.projects.get(root).or_else(|| named().map(|(_, project)| project))
    }
}

/// A project's entry in a settings file.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ProjectFile {
    /// Additional permission rules for commands and calls in the project.
    #[serde(deserialize_with = "patterns")]
    pub allow: Option<Vec<String>>,
    /// The digest of the project's permitted hooks.
    pub hooks: Option<String>,
}

/// A model's entry in a settings file.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ModelFile {
    /// The context window, in tokens.
    #[serde(deserialize_with = "window")]
    pub window: Option<u64>,
    /// The maximum output, in tokens.
    #[serde(deserialize_with = "whole::<_, _, 1>")]
    pub max_output: Option<u64>,
    /// True if it accepts images.
    pub sees_images: Option<bool>,
    /// US dollars per million tokens: input.
    #[serde(deserialize_with = "rate")]
    pub input: Option<f64>,
    /// Output.
    #[serde(deserialize_with = "rate")]
    pub output: Option<f64>,
    /// Cache reads.
    #[serde(deserialize_with = "rate")]
    pub cache_read: Option<f64>,
    /// Cache writes, five minutes.
    #[serde(deserialize_with = "rate")]
    pub cache_write: Option<f64>,
    /// Cache writes, one hour.
    #[serde(deserialize_with = "rate")]
    pub cache_write_1h: Option<f64>,
}

impl ModelFile {
    /// Returns the prices, set or not.
    pub fn rates(&self) -> impl Iterator<Item = Option<f64>> {
        [
            self.input, self.output, self.cache_read, self.cache_write, self.cache_write_1h,
        ]
        .into_iter()
    }
}

impl SettingsFile {
    /// Returns the error of the first inconsistent MCP server, with its place as `:line:column`.
    fn nonsense(&self, text: &str) -> Option<String> {
        self.mcp.iter().find_map(|(name, server)| {
            let problem = server.get_ref().check(name).err()?;
            Some(format!("{}: mcp.{name}: {problem}", place(text, server.span().start)))
        })
    }
}

/// Reads the file at this path; `None` if there is none.
///
/// # Errors
/// If it cannot be read or is invalid; the message names the place.
pub(super) fn read(path: &Path) -> Result<Option<SettingsFile>, Failure> {
    let bytes = match input::regular(path, MOST) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        // A file in place of a folder.
        Err(error) if error.kind() == std::io::ErrorKind::NotADirectory => return Ok(None),
        Err(error) => return Err(Failure::io(path, &error)),
    };
    let Ok(text) = String::from_utf8(bytes) else {
        return Err(Failure::at(path.display(), "not UTF-8 text"));
    };
    parse(path, &text).map(Some)
}

/// Parses the text of a settings file.
///
/// # Errors
/// If it is invalid; the message names the place.
pub(super) fn parse(path: &Path, text: &str) -> Result<SettingsFile, Failure> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut written: SettingsFile = toml::from_str(text).map_err(|error| {
        let start = error.span().map(|span| span.start);
        let at = start.map_or(String::new(), |start| place(text, start));
        let name = start
            .and_then(|start| set_at(text, start))
            .map_or(String::new(), |name| format!("{name}: "));
        Failure::Told(format!(
            "{}{at}: {name}{}",
            path.display(),
            clean(&plain(error.message()))
        ))
    })?;
    written.nonsense = written.nonsense(text);
    let all: BTreeMap<String, IgnoredAny> = toml::from_str(text).unwrap_or_default();
    written.names = all.into_keys().collect();
    Ok(written)
}

/// Returns the name of the setting whose value starts at this offset.
fn set_at(text: &str, start: usize) -> Option<&str> {
    let before = text.get(..start)?.trim_end().strip_suffix('=')?.trim_end();
    let name = before.rsplit([' ', '\t', '\n', '.', '{', ',']).next()?;
    is_word(name).then_some(name)
}

/// Returns whether this may be the name of a setting; a misplaced key has more digits, or dashes.
fn is_word(name: &str) -> bool {
    let digits = name.bytes().filter(u8::is_ascii_digit).count();
    let letters = name.bytes().filter(|byte| byte.is_ascii_lowercase() || *byte == b'_');
    digits <= 1 && !name.is_empty() && letters.count() + digits == name.len()
}

/// Formats an offset as `:line:column`, both counted from 1, the column in characters.
fn place(text: &str, offset: usize) -> String {
    let before = &text[..text.floor_char_boundary(offset)];
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    format!(":{line}:{column}")
}

/// Rewrites a parser's message on one line in users' terms: `invalid type: X, expected Y` becomes `expected Y, not X`.
fn plain(message: &str) -> String {
    /// The parser's terms and their replacements.
    const WORDS: [(&str, &str); 8] = [
        ("a sequence", "a list"),
        ("a map", "a table"),
        ("map", "a table"),
        ("sequence", "a list"),
        ("a string", "a string in quotes"),
        ("path string", "a path in quotes"),
        ("a boolean", "true or false"),
        ("struct ", "a table"),
    ];
    let line = codelet_text::short::words(message);
    if let Some((unknown, known)) = line
        .strip_prefix("unknown field ")
        .and_then(|it| it.split_once(", expected "))
    {
        let name = unknown.trim_matches('`');
        let meant = near::hint(name, known.split('`').skip(1).step_by(2));
        let named = if is_word(name) {
            format!(" {unknown}")
        } else {
            String::new()
        };
        return match meant.is_empty() {
            true => format!("unknown setting{named}, expected {known}"),
            false => format!("unknown setting{named}{meant}"),
        };
    }
    let unexpected = line
        .strip_prefix("invalid type: ")
        .or(line.strip_prefix("invalid value: "));
    let Some((what, expected)) = unexpected.and_then(|rest| rest.rsplit_once(", expected ")) else {
        return line;
    };
    let plain = |words: &str| {
        let known = WORDS
            .iter()
            .find(|(word, _)| words == *word || (word.ends_with(' ') && words.starts_with(word)));
        known.map_or(words.to_owned(), |(_, plain)| (*plain).to_owned())
    };
    let what = match what.split_once(' ') {
        // It may be a misplaced key.
        Some(("string", _)) => "a string".to_owned(),
        Some(("integer" | "float" | "floating", number)) => {
            let number = number
                .trim_start_matches("point ")
                .split(" as ")
                .next()
                .unwrap_or_default();
            format!("the number {number}{}", if number.ends_with('`') { "" } else { "`" })
        }
        Some(("boolean", value)) => value.to_owned(),
        _ => plain(what),
    };
    format!("expected {}, not {what}", plain(expected))
}

/// Parses a number within bounds; `expected` describes it.
fn number<'de, D: Deserializer<'de>, T>(
    from: D,
    expected: &dyn fmt::Display,
    take: impl Fn(&toml::Value) -> Option<T>,
) -> Result<Option<T>, D::Error> {
    let number = take(&toml::Value::deserialize(from)?);
    number
        .map(Some)
        .ok_or_else(|| D::Error::custom(format!("expected {expected}")))
}

/// Parses a whole number from `LEAST` on.
fn whole<'de, D: Deserializer<'de>, T: TryFrom<u64>, const LEAST: u64>(from: D) -> Result<Option<T>, D::Error> {
    let most = match size_of::<T>() {
        4 => format!(", and at most {}", u32::MAX),
        _ => String::new(),
    };
    number(from, &format!("a whole number, {LEAST} or more{most}"), |value| {
        let number = u64::try_from(value.as_integer()?).ok()?;
        T::try_from(number).ok().filter(|_| number >= LEAST)
    })
}

/// Parses the size of a context window: a whole number, or a text such as `100k`, as on the command line.
fn window<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
    let expected = format!("a whole number, {SMALLEST_WINDOW} or more");
    number(from, &expected, |value| {
        let tokens = match value.as_str() {
            Some(text) => crate::args::tokens(text).ok()?,
            None => u64::try_from(value.as_integer()?).ok()?,
        };
        Some(tokens).filter(|tokens| *tokens >= SMALLEST_WINDOW)
    })
}

/// Parses a time in seconds. Zero is rejected: without any wait there is no response.
fn seconds<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
    number(from, &"seconds, a whole number from 1 to 86400 (a day)", |value| {
        let seconds = u64::try_from(value.as_integer()?).ok()?;
        (1..=LONGEST_WAIT).contains(&seconds).then_some(seconds)
    })
}

fn real(value: &toml::Value) -> Option<f64> {
    value.as_float().or(value.as_integer().map(|number| number as f64))
}

fn max_cost<'de, D: Deserializer<'de>>(from: D) -> Result<Option<f64>, D::Error> {
    // A limit of `nan` dollars would never be reached.
    number(from, &"an amount in US dollars above 0, such as 0.50", |value| {
        real(value).filter(|sum| sum.is_finite() && *sum > 0.0)
    })
}

/// Parses a price.
fn rate<'de, D: Deserializer<'de>>(from: D) -> Result<Option<f64>, D::Error> {
    number(from, &"US dollars per million tokens, 0 to 1,000,000", |value| {
        real(value).filter(|price| (0.0..=price::MOST_DOLLARS).contains(price))
    })
}

/// A non-empty text: an empty one would silently have no effect.
struct Filled(String);

impl<'de> Deserialize<'de> for Filled {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        match text.trim().is_empty() {
            true => Err(D::Error::custom("expected text that is not empty")),
            false => Ok(Filled(text)),
        }
    }
}

fn filled<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    Filled::deserialize(from).map(|Filled(text)| Some(text))
}

fn prices<'de, D: Deserializer<'de>>(from: D) -> Result<Option<PathBuf>, D::Error> {
    Filled::deserialize(from).map(|Filled(path)| Some(path.into()))
}

/// Expands `~/` to the home folder.
fn from_home(name: &str) -> Option<PathBuf> {
    match name.strip_prefix("~/") {
        Some(rest) => variable("HOME").map(|home| PathBuf::from(home).join(rest)),
        None => Some(PathBuf::from(name)),
    }
}

/// Parses projects, named by absolute paths or paths that begin with `~/`.
fn projects<'de, D: Deserializer<'de>>(from: D) -> Result<BTreeMap<PathBuf, ProjectFile>, D::Error> {
    let written = BTreeMap::<String, ProjectFile>::deserialize(from)?;
    let whole = |(name, project): (String, ProjectFile)| {
        let folder = from_home(&name).filter(|folder| folder.is_absolute());
        let folder = folder.ok_or_else(|| D::Error::custom("expected folders that begin with `/` or `~/`"))?;
        Ok((folder, project))
    };
    written.into_iter().map(whole).collect()
}

fn transcripts<'de, D: Deserializer<'de>>(from: D) -> Result<Option<PathBuf>, D::Error> {
    folder("expected", &String::deserialize(from)?).map(Some)
}

/// Parses folders, given as absolute paths or paths that begin with `~/`.
fn folders<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Vec<PathBuf>>, D::Error> {
    let names = Vec::<String>::deserialize(from)?;
    let folders = names
        .iter()
        .zip(1..)
        .map(|(name, number)| folder(&format!("entry {number} is not"), name));
    folders.collect::<Result<_, _>>().map(Some)
}

/// Parses a folder; `wrong` begins the error, which does not repeat the text.
fn folder<E: Error>(wrong: &str, name: &str) -> Result<PathBuf, E> {
    let home = || variable("HOME").map(PathBuf::from);
    let is_wide = |folder: &PathBuf| folder.parent().is_none() || home().is_some_and(|home| home.starts_with(folder));
    let folder = from_home(name).filter(|folder| folder.is_absolute() && !is_wide(folder));
    folder.ok_or_else(|| {
        E::custom(format!(
            "{wrong} a path that begins with `/` or `~/` and is neither your home directory nor one above it"
        ))
    })
}

fn web_private<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Vec<String>>, D::Error> {
    let hosts = Vec::<String>::deserialize(from)?;
    let is_host = |host: &String| !host.trim().is_empty() && !host.contains(['/', '@', ' ']);
    match hosts.iter().position(|host| !is_host(host)) {
        Some(wrong) => Err(D::Error::custom(format!(
            "entry {} is not a host such as \"localhost:3000\" or \"*.corp.example\"",
            wrong + 1
        ))),
        None => Ok(Some(hosts.iter().map(|host| host.to_ascii_lowercase()).collect())),
    }
}

fn patterns<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Vec<String>>, D::Error> {
    let written = Vec::<String>::deserialize(from)?.into_iter().zip(1..);
    let read = |(text, number): (String, usize)| {
        read_pattern(&text).map_err(|problem| D::Error::custom(format!("entry {number}: {problem}")))
    };
    written.map(read).collect::<Result<_, _>>().map(Some)
}

/// The name of a vendor, normalized from its aliases.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct VendorName(&'static str);

impl<'de> Deserialize<'de> for VendorName {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let name = String::deserialize(from)?;
        vendor::find(&name)
            .map(|vendor| VendorName(vendor.name))
            .ok_or_else(|| {
                let known: Vec<&str> = vendor::vendors().map(|vendor| vendor.name).collect();
                // The name is not repeated: it may be a misplaced key.
                D::Error::custom(format!("unknown provider, expected one of {}", known.join(", ")))
            })
    }
}

/// Rejects a key of an unknown vendor, since it would never be used.
fn keys<'de, D: Deserializer<'de>>(from: D) -> Result<BTreeMap<String, Key>, D::Error> {
    let keys = BTreeMap::<VendorName, Filled>::deserialize(from)?.into_iter();
    Ok(keys
        .map(|(VendorName(vendor), Filled(key))| (vendor.to_owned(), Key::new(key)))
        .collect())
}

/// Parses a share of the context window, or a word.
fn compact_at<'de, D: Deserializer<'de>>(from: D) -> Result<Option<CompactAt>, D::Error> {
    #[derive(Deserialize)]
    #[serde(
        untagged,
        expecting = "expected a share of the context window from 0.1 to 0.95, or off"
    )]
    enum Value {
        Share(f64),
        Word(String),
    }
    let text = match Value::deserialize(from)? {
        Value::Share(share) => share.to_string(),
        Value::Word(word) => word,
    };
    super::compact_at(&text).map(Some).map_err(D::Error::custom)
}

/// Parsers of named values.
macro_rules! names {
    ($($name:ident: $type:ty;)*) => {$(
        fn $name<'de, D: Deserializer<'de>>(from: D) -> Result<Option<$type>, D::Error> {
            super::$name(&String::deserialize(from)?).map(Some).map_err(D::Error::custom)
        }
    )*};
}

names! {
    effort: Effort;
    permission: Permission;
    network: bool;
    summary: SummaryBy;
    policy: Preset;
    background: Background;
    notify: NotifyBy;
    co_author: Option<String>;
    hooks_from: HooksFrom;
}
