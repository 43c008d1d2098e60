//! Everything that other chores need from a package index, at once, while there is other work to do.

use crate::{conformance, deny, program, python, real_model, venv};
use std::path::Path;

/// Brings what is not there yet.
///
/// # Errors
/// Where what comes is not what was pinned. What cannot be had is said, and no error: the chore that needs it says so again.
pub fn run(root: &Path) -> Result<String, Vec<String>> {
    let target = program::target(root);
    let installed = |installed: Result<_, venv::Missing>| match installed {
        Ok(_) => Ok("there".to_owned()),
        Err(venv::Missing::Skipped(why)) => Ok(format!("skipped: {why}")),
        Err(venv::Missing::Wrong(why)) => Err(vec![why]),
    };
    let deny = installed(deny::install(&target))?;
    let kit = installed(conformance::install(&target))?;
    let tests = installed(python::install(&target))?;
    let model = match real_model::fetch(&target) {
        Ok(()) => "there".to_owned(),
        Err(real_model::Missing::Skipped(why)) => format!("skipped: {why}"),
        Err(real_model::Missing::Wrong(why)) => return Err(vec![why]),
    };
    Ok(format!(
        "deny: {deny}\nconformance: {kit}\npython: {tests}\nreal-model: {model}"
    ))
}
