//! Paths of the fixtures and of the recorded corpus.

use std::path::{Path, PathBuf};

/// The workspace's root directory.
pub fn workspace() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here)
}

/// The directory of the recorded conversations: `CODELET_CORPUS`, or `../shared/corpus` from the workspace. It is not
/// part of the repository; a test that needs it prints one line and passes if it is missing.
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

/// Reads a file in `fixtures/`.
///
/// # Panics
/// If there is no such fixture.
pub fn fixture(name: &str) -> Vec<u8> {
    let path = workspace().join("fixtures").join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
