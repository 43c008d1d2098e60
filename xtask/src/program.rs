//! The program that the chores try.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Where cargo puts what it builds.
pub fn target(root: &Path) -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from)
}

/// `codelet` as the tests have built it, so that nothing is built twice; the addon for JavaScript is then there, too.
///
/// # Errors
/// When it cannot be built.
pub fn as_tested(root: &Path) -> Result<PathBuf, String> {
    let built = Command::new("cargo")
        // A build by itself has fewer features of what it stands on, and would build most of it once more. One of these tests brings the
        // program with it, the other the addon for JavaScript.
        .args([
            "test",
            "--quiet",
            "--workspace",
            "--no-run",
            "--test",
            "readme",
            "--test",
            "job",
        ])
        .current_dir(root)
        .status()
        .map_err(|error| error.to_string())?;
    match built.success() {
        true => Ok(target(root).join("debug/codelet")),
        false => Err("the build failed".to_owned()),
    }
}
