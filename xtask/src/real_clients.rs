//! Real, unmodified agents through the gateway: each does the same task against a scripted server, with the gateway and
//! without.

mod client;
mod install;
mod script;
mod trial;

use crate::program;
use client::{CLIENTS, Client};
use std::path::Path;
use trial::{Place, Seen};

/// Files read by default.
const STEPS: usize = 150;
/// Maximum rate of edits: one in this many steps.
const STEPS_PER_EDIT: usize = 8;

/// Tests the clients of these names, or all, with this many steps each.
pub fn run(root: &Path, arguments: &[&str]) -> Result<String, Vec<String>> {
    let broken = |error: String| vec![error];
    let (steps, names) = read(arguments).map_err(broken)?;
    let target = program::target(root);
    let codelet = program::as_tested(root).map_err(broken)?;
    crate::say(&heading());
    let (mut tried, mut failed) = (0, Vec::new());
    for client in CLIENTS
        .iter()
        .filter(|client| names.is_empty() || names.contains(&client.name))
    {
        let installed = match install::install(client, &target.join("real-clients")) {
            Ok(installed) => installed,
            Err(why) => {
                crate::say(&format!(
                    "skipped: {} {} cannot be installed: {why}",
                    client.name, client.version
                ));
                continue;
            }
        };
        tried += 1;
        failed.extend(attempt(client, &codelet, &installed, steps));
    }
    match failed.is_empty() {
        true => Ok(format!("{tried} clients, {steps} steps each")),
        false => Err(failed),
    }
}

fn read<'a>(arguments: &[&'a str]) -> Result<(usize, Vec<&'a str>), String> {
    match arguments {
        ["--steps", number, names @ ..] => match number.parse() {
            Ok(steps @ 1..=250) => Ok((steps, names.to_vec())),
            _ => Err(format!("{number} is no number of steps from 1 to 250")),
        },
        names => Ok((STEPS, names.to_vec())),
    }
}

fn heading() -> String {
    format!(
        "{:<21} {:<8} {:<8} {:>8} {:>6} {:>6} {:>8} {:>8} {:>6} {:>8} {:>6} {:>13} {:>7}  last answer",
        "client",
        "version",
        "",
        "requests",
        "asked",
        "edits",
        "refused",
        "invalid",
        "breaks",
        "longest",
        "fail",
        "added ms 50/99",
        "seconds"
    )
}

/// Tests one client without the gateway and with it; prints the results and returns the complaints.
fn attempt(client: &Client, codelet: &Path, installed: &Path, steps: usize) -> Vec<String> {
    let scratch = std::env::temp_dir().join(format!("codelet-real-clients-{}", std::process::id()));
    let mut outcomes = Vec::new();
    for (name, is_through) in [("without", false), ("gateway", true)] {
        let place = Place {
            codelet,
            installed,
            scratch: scratch.join(format!("{}-{name}", client.name.replace(' ', "-"))),
        };
        match trial::run(client, &place, steps, is_through) {
            Ok(outcome) => {
                crate::say(&line(client, name, &outcome));
                if !is_through {
                    let own = outcome.faults.iter();
                    own.for_each(|fault| {
                        crate::say(&format!("  {}'s own requests break a rule: {fault}", client.name))
                    });
                }
                outcomes.push(outcome);
            }
            Err(why) => return vec![format!("{}: {why}", client.name)],
        }
    }
    let _ = std::fs::remove_dir_all(&scratch);
    let told = complaints(&outcomes[0], &outcomes[1], steps).into_iter();
    told.map(|complaint| format!("{}: {complaint}", client.name)).collect()
}

fn line(client: &Client, name: &str, outcome: &Seen) -> String {
    let added = &outcome.ledger.added;
    let at = |share: f64| added.get((added.len() as f64 * share) as usize).copied().unwrap_or(0.0);
    let answer = match outcome.is_answered {
        true => "as asked".to_owned(),
        false => outcome.words.clone(),
    };
    format!(
        "{:<21} {:<8} {name:<8} {:>8} {:>6} {:>6} {:>8} {:>8} {:>6} {:>8} {:>6} {:>6.1}/{:>6.1} {:>7.0}  {answer}",
        client.name,
        client.version,
        outcome.requests,
        outcome.asked,
        outcome.ledger.edits,
        outcome.refused,
        outcome.faults.len(),
        outcome.breaks,
        outcome.longest,
        outcome.ledger.fail_opens.len(),
        at(0.5),
        at(0.99),
        outcome.took.as_secs_f64()
    )
}

/// The complaints about a client's run through the gateway, compared with the one without.
fn complaints(without: &Seen, through: &Seen, steps: usize) -> Vec<String> {
    let mut told = Vec::new();
    if !without.is_answered {
        told.push(format!("does not finish without the gateway: {}", without.words));
    }
    if !through.is_answered {
        told.push(format!("another last answer than without: {}", through.words));
    }
    let own = through.faults.difference(&without.faults);
    told.extend(own.map(|fault| format!("an invalid request: {fault}")));
    if through.refused > 0 {
        told.push(format!("{} requests were refused", through.refused));
    }
    if through.asked < steps {
        told.push(format!("only {} of {steps} files were asked for", through.asked));
    }
    if through.lost > without.lost {
        told.push(format!("the text of {} files never came", through.lost));
    }
    if through.breaks > through.ledger.edits + without.breaks {
        let (breaks, edits) = (through.breaks, through.ledger.edits);
        told.push(format!("the prefix broke {breaks} times, with {edits} edits"));
    }
    if through.ledger.edits * STEPS_PER_EDIT > through.steps {
        told.push(format!("{} edits in {} steps", through.ledger.edits, through.steps));
    }
    let fails = &through.ledger.fail_opens;
    told.extend(fails.iter().map(|why| format!("passed unedited: {why}")));
    told
}
