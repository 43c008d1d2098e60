//! Everything that other chores need from a package index, at once, while there is other work to do.

use crate::venv::Missing;
use crate::{conformance, deny, program, python, real_model};
use std::path::Path;

/// Brings what is not there yet.
///
/// # Errors
/// Where what comes is not what was pinned. What cannot be had is said, and no error: the chore that needs it says so again.
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
