//! npm packages under `target`, pinned by a lock file, and npm itself.

use crate::venv::{Missing, output};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Packages to be installed into a directory.
pub struct Packages {
    /// The name in messages.
    pub name: &'static str,
    /// The manifest.
    pub manifest: &'static str,
    /// The lock file with all hashes; without one, the manifest pins only direct dependencies.
    pub lock: Option<&'static str>,
}

/// Installs packages into their own directory, unless they are already there, and returns its path.
///
/// # Errors
/// If there is no Node 20 or later or no registry, or the installed packages are not the locked ones.
pub fn install(folder: &Path, packages: &Packages) -> Result<PathBuf, Missing> {
    let Packages { name, manifest, lock } = packages;
    let (modules, list) = (folder.join("node_modules"), folder.join("installed.json"));
    let wanted = lock.unwrap_or(manifest);
    if !is_new_enough() {
        return Err(Missing::Skipped(format!("{name} needs Node 20 and npm")));
    }
    if std::fs::read_to_string(&list).is_ok_and(|list| list == wanted) && modules.is_dir() {
        return Ok(modules);
    }
    let wrong = |error: std::io::Error| Missing::Wrong(format!("{}: {error}", folder.display()));
    let _ = std::fs::remove_dir_all(folder);
    std::fs::create_dir_all(folder).map_err(wrong)?;
    std::fs::write(folder.join("package.json"), manifest).map_err(wrong)?;
    let command = match lock {
        Some(lock) => {
            std::fs::write(folder.join("package-lock.json"), lock).map_err(wrong)?;
            "ci"
        }
        None => "install",
    };
    // Tests need none of the packages' install scripts.
    match output(npm(command, folder).args(["--ignore-scripts", "--fetch-retries=1", "--fetch-timeout=60000"])) {
        Ok(_) => {}
        Err(said) if said.contains("EINTEGRITY") || said.contains("EUSAGE") => return Err(Missing::Wrong(said)),
        Err(_) => return Err(Missing::Skipped(format!("{name} cannot be had: there is no registry"))),
    }
    // Written last: it marks the installation as complete.
    std::fs::write(&list, wanted).map_err(wrong)?;
    Ok(modules)
}

fn is_new_enough() -> bool {
    let version = output(Command::new("node").arg("--version"));
    let is_new = |said: &[u8]| {
        let said = String::from_utf8_lossy(said);
        let major = said.trim().strip_prefix('v').and_then(|said| said.split('.').next());
        major
            .and_then(|major| major.parse().ok())
            .is_some_and(|major: u32| major >= 20)
    };
    version.is_ok_and(|done| is_new(&done.stdout)) && output(Command::new("npm").arg("--version")).is_ok()
}

/// An npm command in a directory, without its notices and audits.
pub fn npm(command: &str, folder: &Path) -> Command {
    let mut npm = Command::new("npm");
    npm.arg(command)
        .args(["--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error"])
        .current_dir(folder);
    npm
}
