//! Checks that a model of 135 million parameters suffices for: wires, context window, loading and interrupts. Its text
//! is meaningless.

use super::agent::{ANTHROPIC, Agent, CHAT, RESPONSES, Ran, Wire};
use super::fetch::SMALL_MODEL;
use super::server::Server;
use super::{Check, Report};
use crate::process::LOOK;
use serde_json::json;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

/// Timeout of a run of the agent.
const LIMIT: Duration = Duration::from_secs(120);
/// Maximum time that a slot may be busy after its client has disconnected.
const FREED: Duration = Duration::from_secs(5);
/// The server's context window: the system prompt and tools fit into a fifth of it, as required for compacting a
/// refused request.
const WINDOW: &str = "8192";
/// Shortens answers: the end token is made more likely, and recent tokens less likely. Otherwise such a small model
/// repeats one sentence up to the output limit, in every continuation of an answer.
const BRIEF: [&str; 6] = [
    "--logit-bias", "2+6", "--repeat-penalty", "1.2", "--repeat-last-n", "256",
];
/// Maximum number of starts in order to catch a server while it loads.
const STARTS: u32 = 4;
/// The prompt.
const PROMPT: &str = "Say hello.";
/// Maximum runs of a model that produces no text.
const RUNS_FOR_WORDS: u32 = 3;

/// Runs all checks of the tier.
pub fn run(folder: &Path, agent: &Agent, report: &mut Report) {
    let arguments = [["-c", WINDOW].as_slice(), &BRIEF].concat();
    let loaded = match loading(folder, agent, &arguments) {
        Ok((check, server)) => {
            report.add(check);
            Ok(server)
        }
        Err(error) => {
            report.add(Check::new("a server that loads is waited for", false, error));
            Server::start(folder, SMALL_MODEL, &arguments)
        }
    };
    match loaded.and_then(Server::loaded) {
        Err(error) => report.add(Check::new("the server", false, error)),
        Ok(server) => {
            for wire in [CHAT, RESPONSES, ANTHROPIC] {
                report.add_all(wire.name, streams(agent, &server, wire));
            }
            for wire in [CHAT, RESPONSES, ANTHROPIC] {
                report.add_all(wire.name, too_long(agent, &server, wire));
            }
        }
    }
    let endless = Server::start(folder, SMALL_MODEL, &["-c", WINDOW, "--ignore-eos"]).and_then(Server::loaded);
    match endless {
        Err(error) => report.add(Check::new("the server", false, error)),
        Ok(server) => {
            for wire in [CHAT, RESPONSES, ANTHROPIC] {
                report.add_all(wire.name, interrupted(agent, &server, wire));
            }
        }
    }
}

/// Checks a run that begins while the server still responds with 503.
fn loading(folder: &Path, agent: &Agent, arguments: &[&str]) -> Result<(Check, Server), String> {
    for _ in 0..STARTS {
        let server = Server::start(folder, SMALL_MODEL, arguments)?;
        if server.health() == Some(200) {
            continue;
        }
        // With a given window, nothing is requested from the server before the prompt.
        let ran = agent.run(&server, CHAT, PROMPT, &["--window", WINDOW], None, LIMIT)?;
        let causes = ran.of("waiting").filter_map(|line| line["cause"].as_str());
        let was_busy = causes.filter(|cause| cause.contains("503")).count() > 0;
        // Whatever the model then says: a request was answered.
        let was_served = ran.of("billed").count() > 0;
        if !was_busy && was_served {
            // It had loaded before the request arrived.
            continue;
        }
        let tries = ran.of("asking").count();
        let figure = format!("{} requests, {:.1} s, {}", tries, ran.took.as_secs_f64(), ran.ending());
        return Ok((
            Check::new(
                "a server that loads (503) is waited for",
                was_busy && was_served,
                figure,
            ),
            server,
        ));
    }
    Err(format!("{STARTS} servers had all loaded before the first request"))
}

/// Checks two runs with the same beginning: the second is served from the slot's cache.
fn streams(agent: &Agent, server: &Server, wire: Wire) -> Result<Vec<Check>, String> {
    let streamed = |ran: &Ran| ran.of("text").count() > 1 && ran.has_answered();
    let worded = run_for_words(agent, server, wire, &[], streamed)?;
    let first = &worded.first;
    let second = agent.run(server, wire, PROMPT, &[], None, LIMIT)?;
    let claim = |what: &str| format!("{}: {what}", wire.name);
    let streams = Check::new(claim("the answer streams"), worded.has_words, worded.figure());
    let input = first.usage("fresh") + first.usage("cache_read");
    let figure = format!("{input} tokens in, {} out", first.usage("output"));
    let billed = Check::new(
        claim("usage is reported"),
        input > 0 && first.usage("output") > 0,
        figure,
    );
    let (cached, fresh) = (second.usage("cache_read"), second.usage("fresh"));
    let figure = format!("{cached} tokens from the cache, {fresh} fresh");
    // The total input is the same in both runs, regardless of how the wire counts cached tokens.
    let holds = cached > 0 && cached + fresh == input;
    Ok(vec![
        streams,
        billed,
        Check::new(claim("the second request is cached"), holds, figure),
    ])
}

/// Checks a window that is set far too large: the server's refusal reveals the real one.
fn too_long(agent: &Agent, server: &Server, wire: Wire) -> Result<Vec<Check>, String> {
    // An earlier conversation; a prompt that exceeds the window on its own is never sent.
    let said = (0..60).map(|module| {
        let note = |line: usize| format!("Note {line}: the build of module {module} took a while.\n");
        let words: String = (0..15).map(note).collect();
        json!({"role": "user", "content": words})
    });
    let before = agent.work.join("before.json");
    let text = json!({"messages": said.collect::<Vec<_>>()}).to_string();
    std::fs::write(&before, text).map_err(|error| error.to_string())?;
    let before = before.display().to_string();
    let further = ["--window", "128k", "--from", &before];
    let worded = run_for_words(agent, server, wire, &further, Ran::has_answered)?;
    let ran = &worded.first;
    let limits: Vec<u64> = ran.of("asking").filter_map(|line| line["limit"].as_u64()).collect();
    let real: u64 = WINDOW.parse().map_err(|_| "the window is no number".to_owned())?;
    let (asked, learned) = (
        limits.first().copied().unwrap_or(0),
        limits.last().copied().unwrap_or(0),
    );
    let mut sizes = String::from("no compaction");
    let mut is_compacted = false;
    if let Some(line) = ran.of("compacted").find(|line| line["reason"] == "refused") {
        sizes = format!("{} to {} tokens", line["before"], line["after"]);
        is_compacted = line["after"].as_u64().is_some_and(|after| after < learned);
    }
    let is_served = ran.of("billed").count() > 0;
    // The learned window is divided like a configured one: at most a quarter is reserved for the answer.
    let is_divided = (real - real / 4..=real).contains(&learned);
    let holds = asked > real && is_divided && is_compacted && is_served;
    let figure = format!("limit {asked}, then {learned} of {real}; {sizes}; {}", ran.ending());
    let claim = |what: &str| format!("{}: {what}", wire.name);
    Ok(vec![
        Check::new(
            claim("too long, the window is learned, compacted, taken"),
            holds,
            figure,
        ),
        Check::new(
            claim("the model answers the compacted request"),
            worded.has_words,
            worded.figure(),
        ),
    ])
}

/// Interrupts an endless answer: the run ends at once, and the server's slot becomes free.
fn interrupted(agent: &Agent, server: &Server, wire: Wire) -> Result<Vec<Check>, String> {
    let mut running = agent.start(server, wire, PROMPT, &[], None, LIMIT)?;
    running.until("text")?;
    let was_busy = server.is_busy() == Some(true);
    let sent = Instant::now();
    running.interrupt()?;
    let ran = running.finish()?;
    let ended = sent.elapsed();
    while server.is_busy() != Some(false) && sent.elapsed() < FREED {
        thread::sleep(LOOK);
    }
    let is_free = server.is_busy() == Some(false);
    let figure = format!(
        "{}, ended after {} ms, the slot was {} after {} ms",
        ran.ending(),
        ended.as_millis(),
        if is_free { "free" } else { "still busy" },
        sent.elapsed().as_millis()
    );
    let claim = format!("{}: an interrupted request frees the slot", wire.name);
    Ok(vec![Check::new(
        claim,
        was_busy && is_free && ran.status == Some(130),
        figure,
    )])
}

/// Runs repeated until the model has produced the wanted text.
struct Worded {
    /// The first run, for checks that do not depend on the text.
    first: Ran,
    /// The text of the last run is as wanted.
    has_words: bool,
    /// The end of the last run.
    last: String,
    runs: u32,
}

impl Worded {
    /// The number of runs needed for the text, and the end of the last.
    fn figure(&self) -> String {
        match self.runs {
            1 => self.last.clone(),
            runs => format!("{} (in run {runs})", self.last),
        }
    }
}

/// Runs to the end, in up to three attempts if the model's text is not as wanted but everything else went well:
/// a small model may end before it begins. All other checks use the first run.
///
/// # Errors
/// Same as for [`Agent::run`].
fn run_for_words(
    agent: &Agent,
    server: &Server,
    wire: Wire,
    further: &[&str],
    wanted: fn(&Ran) -> bool,
) -> Result<Worded, String> {
    let run = || agent.run(server, wire, PROMPT, further, None, LIMIT);
    let first = run()?;
    let mut worded = Worded {
        has_words: wanted(&first),
        last: first.ending(),
        runs: 1,
        first,
    };
    let mut is_models_own = worded.first.is_models_own();
    while !worded.has_words && is_models_own && worded.runs < RUNS_FOR_WORDS {
        let again = run()?;
        worded.runs += 1;
        worded.has_words = wanted(&again);
        worded.last = again.ending();
        is_models_own = again.is_models_own();
    }
    Ok(worded)
}
