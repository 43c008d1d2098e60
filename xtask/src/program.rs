//! The program under test.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Cargo's target directory.
pub fn target(root: &Path) -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from)
}

/// Builds `codelet` like the tests, so that nothing is built twice; this includes the JavaScript addon.
///
/// # Errors
/// If the build fails.
pub fn as_tested(root: &Path) -> Result<PathBuf, String> {
    let built = Command::new("cargo")
        // A separate build has fewer features of the dependencies and would rebuild most of them. One of these tests
        // builds the program, the other the JavaScript addon.
        .args([
            "test", "--quiet", "--workspace", "--no-run", "--test", "readme", "--test", "job",
        ])
        .current_dir(root)
        .status()
        .map_err(|error| error.to_string())?;
    match built.success() {
        true => Ok(target(root).join("debug/codelet")),
        false => Err("the build failed".to_owned()),
    }
}
