//! Fetches everything that other chores need from a package index in advance.

use crate::venv::Missing;
use crate::{conformance, deny, program, python, real_model};
use std::path::Path;

/// Fetches whatever is missing.
///
/// # Errors
/// If a package is not the pinned one. An unavailable package is reported without an error: the chore that needs it
/// reports it again.
pub fn run(root: &Path) -> Result<String, Vec<String>> {
    let target = program::target(root);
    let told = |brought: Result<(), Missing>| match brought {
        Ok(()) => Ok("there".to_owned()),
        Err(missing) => missing.told(),
    };
    let deny = told(deny::install(&target).map(drop))?;
    let kit = told(conformance::install(&target).map(drop))?;
    let tests = told(python::install(&target).map(drop))?;
    let model = told(real_model::fetch(&target))?;
    Ok(format!(
        "deny: {deny}\nconformance: {kit}\npython: {tests}\nreal-model: {model}"
    ))
}
