//! Tests the real `codelet` with a real server and a real model, all on this machine.

mod agent;
mod fetch;
mod large;
mod server;
mod small;

use crate::program;
use crate::venv::Missing;
use agent::Agent;
use server::{Fault, Server};
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// The name of the served model.
const MODEL: &str = "codelet-test";

/// The result of a check.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Verdict {
    /// The claim holds.
    Met,
    /// The model did not do its part, so the check says nothing about codelet.
    NotMet,
    /// The claim does not hold.
    Failed,
}

/// A claim, its result, and the supporting figure.
struct Check {
    claim: String,
    verdict: Verdict,
    figure: String,
}

impl Check {
    fn new(claim: impl Into<String>, holds: bool, figure: impl Into<String>) -> Self {
        let verdict = if holds { Verdict::Met } else { Verdict::Failed };
        Check {
            claim: claim.into(),
            verdict,
            figure: figure.into(),
        }
    }
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = match self.verdict {
            Verdict::Met => "met    ",
            Verdict::NotMet => "not met",
            Verdict::Failed => "FAILED ",
        };
        write!(f, "{verdict}  {}: {}", self.claim, self.figure)
    }
}

/// Prints each check when it is done, and finally their counts.
struct Report {
    checks: Vec<Check>,
}

impl Report {
    fn add(&mut self, check: Check) {
        crate::say(&check.to_string());
        self.checks.push(check);
    }

    /// Adds the checks of a group; an aborted group counts as a failure.
    fn add_all(&mut self, group: &str, checks: Result<Vec<Check>, String>) {
        match checks {
            Ok(checks) => checks.into_iter().for_each(|check| self.add(check)),
            Err(error) => self.add(Check::new(group, false, error)),
        }
    }

    fn count(&self, verdict: Verdict) -> usize {
        self.checks.iter().filter(|check| check.verdict == verdict).count()
    }
}

/// Downloads the server and the model of the small tier into the target directory.
///
/// # Errors
/// Those of [`fetch::fetch`].
pub fn fetch(target: &Path) -> Result<(), Missing> {
    fetch::fetch(&target.join("real-model"), false)
}

/// Runs the small or the large tier and returns a report.
pub fn run(root: &Path, is_large: bool) -> Result<String, Vec<String>> {
    let broken = |error: String| vec![error];
    let began = Instant::now();
    let target = program::target(root);
    let folder = target.join("real-model");
    if let Err(missing) = fetch::fetch(&folder, is_large) {
        return missing.told();
    }
    // The server is packaged for one type of processor: a crash on another says nothing about the agent.
    match Server::start(&folder, fetch::SMALL_MODEL, &[]).and_then(Server::loaded) {
        Err(fault @ Fault::Instruction) => return Ok(format!("skipped: {fault}")),
        Err(fault @ Fault::Other(_)) => return Err(broken(fault.to_string())),
        Ok(_) => {}
    }
    let fetched = began.elapsed();
    let program = program::as_tested(root).map_err(broken)?;
    let scratch = Scratch::new().map_err(|error| broken(error.to_string()))?;
    let agent = Agent {
        program,
        home: scratch.0.join("home"),
        work: scratch.0.join("work"),
    };
    let began = Instant::now();
    let mut report = Report { checks: Vec::new() };
    if is_large {
        large::run(&folder, &agent, &mut report);
    } else {
        small::run(&folder, &agent, &mut report);
    }
    let summary = format!(
        "{} met, {} not met by the model, {} failed, in {:.0} s (and {:.0} s for the files)",
        report.count(Verdict::Met),
        report.count(Verdict::NotMet),
        report.count(Verdict::Failed),
        began.elapsed().as_secs_f64(),
        fetched.as_secs_f64()
    );
    match report.count(Verdict::Failed) {
        0 => Ok(summary),
        _ => Err(broken(summary)),
    }
}

/// A temporary directory for this run.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> std::io::Result<Self> {
        let scratch = Scratch(std::env::temp_dir().join(format!("codelet-real-model-{}", std::process::id())));
        std::fs::create_dir_all(scratch.0.join("home"))?;
        std::fs::create_dir_all(scratch.0.join("work"))?;
        Ok(scratch)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
