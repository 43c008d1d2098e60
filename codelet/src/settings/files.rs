//! Reading of the settings files, the project's over the user's.

use super::written::{self, MOST, SettingsFile};
use super::{From, LookUp, Places, Set, Settings};
use crate::exit::Failure;
use crate::input;
use codelet_context::price::{self, PriceCard};
use codelet_providers::address;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

impl Settings {
    /// Reads both files over the defaults. Settings that a project must not decide for its user are skipped with a
    /// notice.
    ///
    /// # Errors
    /// If a file cannot be read or is invalid; the message names the place. Also if a file with keys is readable by
    /// others, or the user's file has another hard link: the sandbox denies commands access only to the first name.
    pub fn read(places: &Places) -> Result<Self, Failure> {
        let mut settings = Settings {
            user_file: places.user.clone(),
            ..Settings::default()
        };
        if let Some(path) = &places.user
            && let Some(written) = written::read(path)?
        {
            let holds_keys =
                !written.keys.is_empty() || written.mcp.values().any(|server| server.get_ref().holds_keys());
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
            let of_project = written.allowed_in(&places.root);
            settings.hooks_consent = written.consent_in(&places.root);
            let from = From::File(path.clone());
            settings
                .project_allow
                .take(Some(of_project).filter(|held| !held.is_empty()), &from);
            settings.take(written, path)?;
        }
        // If the home folder is itself a repository, one file serves as both.
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

    fn take(&mut self, written: SettingsFile, path: &Path) -> Result<(), Failure> {
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
        self.policy.take(written.policy, from);
        self.compact_at.take(written.compact_at, from);
        let prices = written.prices.map(|file| prices(path, &file)).transpose()?;
        self.prices.take(prices, from);
        self.keep_alive.take(written.keep_alive, from);
        self.transcripts.take(written.transcripts.map(Some), from);
        self.append_system.take(written.append_system.map(Some), from);
        self.patience.take(written.patience, from);
        self.idle_timeout.take(written.idle_timeout.map(Some), from);
        self.background.take(written.background.map(Some), from);
        self.notify.take(written.notify.map(Some), from);
        self.co_author.take(written.co_author, from);
        self.hooks = written.hooks.or(self.hooks.take());
        self.hooks_from.take(written.hooks_from, from);
        self.keys.extend(written.keys);
        self.models.extend(written.models);
        let servers = written.mcp.into_iter();
        self.mcp
            .extend(servers.map(|(name, server)| (name, server.into_inner())));
        Ok(())
    }
}

/// Returns the keys in the user's current settings file, of providers and of MCP servers; empty if the file is invalid.
pub fn secrets_in(path: &Path, variable: &LookUp<'_>) -> Vec<String> {
    let Ok(Some(written)) = written::read(path) else {
        return Vec::new();
    };
    let keys = written.keys.values().map(|key| key.reveal().to_owned());
    let of_servers = written
        .mcp
        .values()
        .flat_map(|server| server.get_ref().secrets(variable));
    let of_address = written.base_url.iter().flat_map(|url| address::secrets(url));
    keys.chain(of_servers).chain(of_address).collect()
}

/// Returns the path of the user's settings file from these variables.
pub fn user_file(variable: &impl Fn(&str) -> Option<PathBuf>) -> Option<PathBuf> {
    let absolute = |name| variable(name).filter(|path| path.is_absolute());
    let config = absolute("XDG_CONFIG_HOME").or_else(|| Some(absolute("HOME")?.join(".config")));
    Places::new(config.as_deref(), Path::new("")).user
}

/// Returns the folder in which the user's settings file has sessions saved, if it names one.
///
/// # Errors
/// If the settings file is invalid.
pub fn transcripts_in(path: &Path) -> Result<Option<PathBuf>, Failure> {
    Ok(written::read(path)?.and_then(|written| written.transcripts))
}

/// Reads the price cards of a file; a relative path starts at the settings file's folder.
fn prices(settings: &Path, file: &Path) -> Result<Vec<PriceCard>, Failure> {
    let path = settings.parent().unwrap_or(Path::new("")).join(file);
    let bytes = input::regular(&path, MOST).map_err(|error| Failure::io(&path, &error))?;
    let text = String::from_utf8(bytes).map_err(|_| Failure::at(path.display(), "not UTF-8 text"))?;
    price::parse(&text, &path.display().to_string()).map_err(|bad| Failure::Told(bad.to_string()))
}

/// Returns whether only its owner may read a file.
fn is_private(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|found| found.mode() & 0o077 == 0)
}

/// Returns whether a file that this user could write has another hard link. (Package managers link the files of their
/// stores.)
pub(super) fn has_another_name(path: &Path) -> bool {
    let user = rustix::process::geteuid().as_raw();
    std::fs::metadata(path).is_ok_and(|found| found.nlink() > 1 && found.uid() == user)
}
