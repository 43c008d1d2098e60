//! Where fixtures and the recorded corpus lie.

use std::path::{Path, PathBuf};

/// The workspace's folder.
pub fn workspace() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here)
}

/// The folder of the recorded conversations: `CODELET_CORPUS`, or `../shared/corpus` from the workspace. It is no part of
/// the repository; a test that needs it says so in one line and passes when it is missing.
#[expect(clippy::print_stderr, reason = "for whoever runs the tests")]
pub fn corpus() -> Option<PathBuf> {
    let folder = match std::env::var_os("CODELET_CORPUS") {
        Some(folder) => PathBuf::from(folder),
        None => workspace().join("../shared/corpus"),
    };
    if folder.is_dir() {
        return Some(folder);
    }
    eprintln!(
        "skipped: no recorded conversations at {} (set CODELET_CORPUS)",
        folder.display()
    );
    None
}

/// The bytes of a file in `fixtures/`.
///
/// # Panics
/// When there is no such fixture.
pub fn fixture(name: &str) -> Vec<u8> {
    let path = workspace().join("fixtures").join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
