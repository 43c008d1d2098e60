//! Runs `codelet compact` under the compaction-conformance-kit, which plants rules, facts and wishes in a conversation
//! of many short prompts, has it compacted five times in a row, and checks which of them survive.

use crate::program;
use crate::venv::{self, Missing, Packages, output};
use serde_json::Value;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The kit, for `pip`.
const KIT: Packages = Packages {
    name: "the kit",
    pins: include_str!("../conformance/kit.txt"),
    has_hashes: true,
};
/// Budgets as shares of the conversation's characters, and the minimum share of planted items that must survive each.
const MARKS: [(f64, f64); 2] = [(0.1, 0.4), (0.3, 1.0)];
const ROUNDS: &str = "5";

/// Runs the kit and reports what survives.
///
/// # Errors
/// If too little survives, a budget is exceeded, or the installed packages are not the pinned ones. If the kit is
/// unavailable, returns a message and no error.
pub fn run(root: &Path) -> Result<String, Vec<String>> {
    let target = program::target(root);
    let bin = match install(&target) {
        Ok(bin) => bin,
        Err(missing) => return missing.told(),
    };
    let codelet = program::as_tested(root).map_err(|error| vec![error])?;
    let adapter = format!("{}:Codelet", root.join("xtask/conformance/adapter.py").display());
    let budgets = MARKS.map(|(budget, _)| budget.to_string()).join(",");
    let measure = [
        "benchmark", "--spec", &adapter, "--budgets", &budgets, "--rounds", ROUNDS, "--format", "json",
    ];
    let measured = output(
        Command::new(bin.join("compaction-kit"))
            .args(measure)
            .env("CODELET", codelet)
            .env("PYTHONDONTWRITEBYTECODE", "1"),
    );
    let measured = measured.map_err(|error| vec![error])?;
    judged(&measured.stdout)
}

/// Installs the kit under the target directory and returns the directory of its programs.
///
/// # Errors
/// Those of [`venv::install`].
pub fn install(target: &Path) -> Result<PathBuf, Missing> {
    venv::install(&target.join("conformance"), &KIT)
}

/// Checks the kit's report against the requirements.
fn judged(report: &[u8]) -> Result<String, Vec<String>> {
    let report: Value = serde_json::from_slice(report).map_err(|error| vec![error.to_string()])?;
    let mut told = String::new();
    let mut faults = Vec::new();
    for (budget, least) in MARKS {
        let entries = report["entries"].as_array().into_iter().flatten();
        let mut entries = entries.filter(|entry| entry["budget_fraction"].as_f64() == Some(budget));
        let entry = entries.next().unwrap_or(&Value::Null);
        let survived = entry["randomized"]["overall_final_survival"].as_f64().unwrap_or(0.0);
        let is_kept = entry["budget_compliant"] == Value::Bool(true);
        let fullest = entry["max_output_to_budget"].as_f64().unwrap_or(0.0);
        let line = format!(
            "{:.0} % of the characters, {ROUNDS} rounds: {:.1} % of what was planted is there ({:.0} % has to be), \
             the budget is filled to {:.1} %",
            budget * 100.0,
            survived * 100.0,
            least * 100.0,
            fullest * 100.0
        );
        if survived < least || !is_kept {
            faults.push(line);
        } else {
            let _ = writeln!(told, "{line}");
        }
    }
    match faults.is_empty() {
        true => Ok(told.trim_end().to_owned()),
        false => Err(faults),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn report(tenth: f64, third: f64, is_kept: bool) -> Vec<u8> {
        let entry = |budget: f64, survived: f64| {
            json!({
                "budget_fraction": budget,
                "budget_compliant": is_kept,
                "max_output_to_budget": 0.98,
                "randomized": {"overall_final_survival": survived},
            })
        };
        json!({"entries": [entry(0.1, tenth), entry(0.3, third)]})
            .to_string()
            .into_bytes()
    }

    #[test]
    fn what_survives_is_measured_against_the_marks() {
        let told = judged(&report(0.45, 1.0, true)).map_err(|faults| faults.join("\n"));
        assert!(told.is_ok_and(|told| told.contains("45.0 %") && told.contains("100.0 %")));
        for (tenth, third, is_kept, faults) in [(0.39, 1.0, true, 1), (0.4, 0.95, true, 1), (0.5, 1.0, false, 2)] {
            assert_eq!(
                judged(&report(tenth, third, is_kept)).map_err(|found| found.len()),
                Err(faults)
            );
        }
        assert!(judged(b"{}").is_err() && judged(b"").is_err());
    }
}
