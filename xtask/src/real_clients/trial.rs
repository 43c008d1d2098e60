//! One run of a client against the scripted server, with the gateway or without.

use super::client::{Client, Task, file};
use super::script::{self, Progress};
use crate::process;
use codelet_testkit::server::{Record, Server, Wire};
use codelet_testkit::words::{Kind, Words};
use codelet_transcript::{Format, vendor};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The context window enforced by the server, in tokens.
pub const WINDOW: u64 = 200_000;
/// Bytes of a file.
const FILE: usize = 20_000;
/// The word that only the first prompt contains.
const WORD: &str = "marsh-heron-4711";
/// Timeout of a client per step, and for its start.
const PER_STEP: Duration = Duration::from_secs(8);
const START: Duration = Duration::from_secs(60);

/// A rule of the scripted server that the vendor has dropped: it now merges consecutive messages of one role.
const ALTERNATE: &str = "roles must alternate";

/// The results of a run.
#[derive(Default)]
pub struct Seen {
    /// Requests to the model that reached the server.
    pub requests: usize,
    /// Those that are steps of the task.
    pub steps: usize,
    /// Files requested.
    pub asked: usize,
    /// Files whose text did not come back.
    pub lost: usize,
    /// Requests that the server refused.
    pub refused: usize,
    /// Vendor rules that requests broke, without duplicates.
    pub faults: BTreeSet<String>,
    /// Steps that do not extend the previous one.
    pub breaks: usize,
    /// The longest request, in the server's tokens.
    pub longest: u64,
    /// The client's final output contains the word.
    pub is_answered: bool,
    /// The client's output in case of an error.
    pub words: String,
    /// The duration.
    pub took: Duration,
    /// Figures from the gateway's ledger.
    pub ledger: Ledger,
}

/// Figures from the gateway's ledger.
#[derive(Default)]
pub struct Ledger {
    /// Edits.
    pub edits: usize,
    /// Requests forwarded unedited after a failure, and the reasons.
    pub fail_opens: Vec<String>,
    /// The gateway's added latency per request in milliseconds, in ascending order: the edit and the wait for a core, without
    /// the network. The gateway is built like the tests, unoptimised, and the bodies have up to 3.5 MB.
    pub added: Vec<f64>,
}

/// The directories of a run.
pub struct Place<'a> {
    /// The program of this project.
    pub codelet: &'a Path,
    /// The client's installation directory.
    pub installed: &'a Path,
    /// A temporary directory for this run.
    pub scratch: PathBuf,
}

/// Runs a client on its task.
///
/// # Errors
/// If it cannot be started.
pub fn run(client: &Client, place: &Place<'_>, steps: usize, is_through: bool) -> Result<Seen, String> {
    let task = Task {
        prompt: script::prompt(WORD, steps),
        steps,
        home: place.scratch.join("home"),
        work: place.scratch.join("work"),
    };
    lay_out(client, &task).map_err(|error| error.to_string())?;
    let progress = Arc::new(Mutex::new(Progress::default()));
    let window = is_through.then_some(WINDOW);
    let server = Server::start(client.wire, script::behaviour(window, steps, &task.work, &progress));
    let ledger = place.scratch.join("ledger.jsonl");
    let command = command(client, place, &task, &server.url(), is_through.then_some(&*ledger));
    let began = Instant::now();
    let limit = START + PER_STEP * u32::try_from(steps).unwrap_or(u32::MAX);
    let ended = process::run(command, limit);
    let took = began.elapsed();
    let record = server.record();
    drop(server);
    let progress = progress.lock().unwrap_or_else(PoisonError::into_inner);
    let mut outcome = look(client.wire, &record, &progress);
    outcome.took = took;
    match ended {
        Ok(said) => {
            outcome.is_answered = progress.is_finished && said.output.contains(&script::answer(WORD));
            let last = said.output.lines().rev().find(|line| !line.trim().is_empty());
            outcome.words = format!(
                "status {:?}, {:?}; {}",
                said.status,
                last.unwrap_or_default(),
                said.last_words()
            );
        }
        Err(error) => outcome.words = error,
    }
    outcome.ledger = read_ledger(&ledger);
    Ok(outcome)
}

/// Writes the files to be read, and the client's configuration.
fn lay_out(client: &Client, task: &Task) -> std::io::Result<()> {
    std::fs::create_dir_all(&task.work)?;
    for number in 0..task.steps {
        let kinds = [Kind::Code, Kind::Log, Kind::Trace, Kind::Diff];
        let words = Words {
            kind: kinds[number % kinds.len()],
            size: FILE,
            seed: u8::try_from(number % 256).unwrap_or_default(),
        };
        let text = format!("{}\n{}", script::first_line(number), words.text());
        std::fs::write(task.work.join(file(number)), text)?;
    }
    for (name, text) in (client.files)(task) {
        let path = task.home.join(name);
        std::fs::create_dir_all(path.parent().unwrap_or(&task.home))?;
        std::fs::write(path, text)?;
    }
    std::fs::create_dir_all(task.home.join("tmp"))
}

fn command(client: &Client, place: &Place<'_>, task: &Task, server: &str, ledger: Option<&Path>) -> Command {
    let (program, before) = client.program(place.installed);
    let mut command = match ledger {
        Some(ledger) => {
            let mut command = Command::new(place.codelet);
            command.args(["run", "--window", &WINDOW.to_string()]);
            for provider in ["anthropic", "openai", "gemini"] {
                command.args(["--upstream", &format!("{provider}={server}")]);
            }
            command.arg("--ledger").arg(ledger).arg("--").arg(program);
            command
        }
        None => Command::new(program),
    };
    command.env_clear().current_dir(&task.work).args(before);
    // Only loopback is reachable: requests to any other address go to a proxy that does not exist.
    let nowhere = "http://127.0.0.1:9";
    command
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", &task.home)
        .env("TMPDIR", task.home.join("tmp"))
        .env("LANG", "C.UTF-8")
        .envs([
            ("HTTPS_PROXY", nowhere),
            ("HTTP_PROXY", nowhere),
            ("NO_PROXY", "127.0.0.1,localhost"),
        ])
        .envs((client.variables)(task));
    if ledger.is_none() {
        let (arguments, variables) = (client.direct)(task, server);
        command.args(arguments).envs(variables);
    }
    command.args((client.arguments)(task));
    command
}

fn look(wire: Wire, record: &Record, progress: &Progress) -> Seen {
    let format = match wire {
        Wire::Anthropic => Format::Anthropic,
        Wire::Chat => Format::Openai,
        Wire::Responses => Format::Responses,
        Wire::Gemini => Format::Gemini,
    };
    let mut faults: BTreeSet<String> = BTreeSet::new();
    for exchange in &record.exchanges {
        let own = vendor::check(exchange.request.json(), format);
        faults.extend(own.into_iter().map(|fault| fault.sentence));
        let rules = exchange.broken.iter().filter(|rule| !rule.contains(ALTERNATE));
        faults.extend(rules.map(|rule| numberless(rule)));
    }
    let extends = |pair: &&[usize]| {
        record.exchanges[pair[1]]
            .extends
            .is_some_and(|extended| extended >= pair[0])
    };
    let steps = &progress.steps;
    let breaks = steps.windows(2).filter(|pair| !extends(pair)).count();
    Seen {
        requests: record.exchanges.len(),
        steps: steps.len(),
        asked: progress.asked,
        lost: progress.lost.len(),
        refused: record.exchanges.len() - record.accepted().count(),
        faults,
        breaks,
        longest: record.accepted().map(|exchange| exchange.tokens).max().unwrap_or(0),
        ..Seen::default()
    }
}

/// A rule without its numbers, for deduplication.
fn numberless(rule: &str) -> String {
    rule.chars().filter(|c| !c.is_ascii_digit()).collect()
}

fn read_ledger(file: &Path) -> Ledger {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let rows: Vec<Value> = text
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect();
    let mut added: Vec<f64> = rows.iter().filter_map(|row| row["added_ms"].as_f64()).collect();
    added.sort_by(f64::total_cmp);
    Ledger {
        edits: rows.iter().filter(|row| row["edit"].is_string()).count(),
        fail_opens: rows
            .iter()
            .filter_map(|row| Some(row["fail_open"].as_str()?.to_owned()))
            .collect(),
        added,
    }
}
