//! Installs a pinned version of a client from its registry into a directory under `target`.

use super::client::{Client, Registry};
use crate::process::{self, Outcome};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Timeout for a registry.
const DOWNLOAD: Duration = Duration::from_secs(600);

/// Installs a client, unless it is already there; returns its directory.
///
/// # Errors
/// The reason why it is unavailable.
pub fn install(client: &Client, cache: &Path) -> Result<PathBuf, String> {
    let (package, folder) = match client.registry {
        Registry::Npm(package) => (package, client.name),
        Registry::Pip(package) | Registry::Script(package, ..) => (package, package),
    };
    let folder = cache.join(format!("{folder}-{}", client.version));
    let done = folder.join("installed");
    if !done.exists() {
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
        match client.registry {
            Registry::Npm(_) => npm(package, client.version, &folder)?,
            Registry::Pip(_) | Registry::Script(..) => pip(package, client.version, &folder)?,
        }
        std::fs::write(&done, client.version).map_err(|error| error.to_string())?;
    }
    if let Registry::Script(_, script, _) = client.registry {
        std::fs::write(folder.join("script.py"), script).map_err(|error| error.to_string())?;
    }
    Ok(folder)
}

fn npm(package: &str, version: &str, folder: &Path) -> Result<(), String> {
    let mut command = Command::new("npm");
    command
        .args([
            "install", "--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error", "--prefix",
        ])
        .arg(folder)
        .arg(format!("{package}@{version}"));
    step("npm", command)
}

fn pip(package: &str, version: &str, folder: &Path) -> Result<(), String> {
    let mut venv = Command::new("python3");
    venv.args(["-m", "venv"]).arg(folder);
    step("python3 -m venv", venv)?;
    let mut command = Command::new(folder.join("bin/python"));
    command
        .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"])
        .arg(format!("{package}=={version}"));
    step("pip", command)
}

fn step(name: &str, command: Command) -> Result<(), String> {
    let outcome = process::run(command, DOWNLOAD).map_err(|error| format!("{name}: {error}"))?;
    match outcome {
        outcome if outcome.is_success() => Ok(()),
        outcome => Err(format!("{name}: {}", Outcome::last_words(&outcome))),
    }
}
