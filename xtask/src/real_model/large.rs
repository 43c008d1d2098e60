//! Checks that need a model of 1.5 billion parameters: tools, compaction and the loop guard with a model's own calls.

use super::agent::{Agent, CHAT, Ran};
use super::fetch::LARGE_MODEL;
use super::server::Server;
use super::{Check, Report, Verdict};
use std::fs;
use std::path::Path;
use std::time::Duration;

/// A template for calls as JSON blocks: with its own template the model makes none.
const TEMPLATE: &str = include_str!("../../real-model/fence.jinja");
/// Timeout of a task; a step takes a minute on two slow cores.
const LIMIT: Duration = Duration::from_secs(600);
/// Sufficient for every task here.
const STEPS: [&str; 2] = ["--max-steps", "8"];

/// Runs all checks of the tier.
pub fn run(folder: &Path, agent: &Agent, report: &mut Report) {
    let template = folder.join("fence.jinja");
    let server = fs::write(&template, TEMPLATE)
        .map_err(|error| error.to_string())
        .and_then(|()| {
            let template = template.to_string_lossy();
            let arguments = ["-c", "16384", "--jinja", "--chat-template-file", &template];
            Ok(Server::start(folder, LARGE_MODEL, &arguments)?.loaded()?)
        });
    let server = match server {
        Ok(server) => server,
        Err(error) => return report.add(Check::new("the server", false, error)),
    };
    report.add_all("reads a file and answers", reads(agent, &server));
    report.add_all("writes a file", writes(agent, &server));
    report.add_all("goes on after a compaction", goes_on(agent, &server));
    report.add_all("the loop guard ends a repeated failing edit", loops(agent, &server));
}

fn reads(agent: &Agent, server: &Server) -> Result<Vec<Check>, String> {
    put(agent, "boat.txt", "The colour of the boat is vermilion.\n")?;
    let prompt = "Which colour is the boat? Read the file boat.txt with the tool Read, then answer.";
    let ran = agent.run(server, CHAT, prompt, &STEPS, None, LIMIT)?;
    let answer = ran.result()["answer"].as_str().unwrap_or_default().to_lowercase();
    let is_met = calls(&ran, "Read") > 0 && answer.contains("vermilion");
    Ok(vec![judged("reads a file and answers", &ran, is_met)])
}

fn writes(agent: &Agent, server: &Server) -> Result<Vec<Check>, String> {
    let prompt = "Create the file greeting.txt with the text `good morning`, with the tool Write.";
    let ran = agent.run(server, CHAT, prompt, &STEPS, None, LIMIT)?;
    let written = fs::read_to_string(agent.work.join("greeting.txt")).unwrap_or_default();
    Ok(vec![judged("writes a file", &ran, written.trim() == "good morning")])
}

/// Reads more than fits into the configured window, and then writes a file.
fn goes_on(agent: &Agent, server: &Server) -> Result<Vec<Check>, String> {
    // A single output is limited to a share of the window, so several are needed to fill it.
    for boat in ["red", "green", "blue"] {
        let text: String = (1..=60)
            .map(|line| format!("line {line}: the {boat} boat left the harbour at {line} o'clock\n"))
            .collect();
        put(agent, &format!("{boat}.txt"), &text)?;
    }
    let prompt = "First read the files red.txt, green.txt and blue.txt with the tool Read, one after the other. \
                  Then create the file done.txt with the text `done`, with the tool Write.";
    let further = ["--window", "5000", STEPS[0], STEPS[1]];
    let ran = agent.run(server, CHAT, prompt, &further, None, LIMIT)?;
    let mut is_compacted = false;
    let mut went_on = false;
    for line in &ran.lines {
        is_compacted |= line["type"] == "compacted" && line["changed"] == true;
        went_on |= is_compacted && (line["type"] == "tool_finished" && line["success"] == true);
    }
    let is_met = is_compacted && (went_on || ran.has_answered());
    Ok(vec![judged("goes on after a compaction", &ran, is_met)])
}

/// Repeats an edit whose text does not exist.
fn loops(agent: &Agent, server: &Server) -> Result<Vec<Check>, String> {
    put(agent, "sum.py", "def add(a, b):\n    return a - b\n")?;
    let prompt = "Call the tool Edit with file_path sum.py, old_string `return a * b` and new_string `return a + b`. \
                  If it fails, call it again with the same arguments until it succeeds.";
    let further = ["--max-steps", "16"];
    let ran = agent.run(server, CHAT, prompt, &further, None, LIMIT)?;
    let is_met = calls(&ran, "Edit") > 1
        && ran
            .of("over")
            .any(|line| said(line).contains("the same call of Edit failed"));
    Ok(vec![judged(
        "the loop guard ends a repeated failing edit",
        &ran,
        is_met,
    )])
}

/// Judges a run: if the model did not do its part, the claim is not met; if the agent got no answer or crashed, the
/// check has failed.
fn judged(claim: &str, ran: &Ran, is_met: bool) -> Check {
    let has_ended = matches!(ran.status, Some(0 | 1)) && ran.of("result").count() == 1;
    let tools = &ran.result()["tools"];
    let figure = format!(
        "{} steps, tools {tools}, {} compactions, {:.0} s, {}",
        ran.result()["steps"],
        ran.of("compacted").count(),
        ran.took.as_secs_f64(),
        ran.ending()
    );
    let verdict = match (has_ended, is_met) {
        (false, _) => Verdict::Failed,
        (true, true) => Verdict::Met,
        (true, false) => Verdict::NotMet,
    };
    Check {
        claim: claim.to_owned(),
        verdict,
        figure,
    }
}

fn calls(ran: &Ran, tool: &str) -> u64 {
    ran.result()["tools"][tool]["calls"].as_u64().unwrap_or(0)
}

fn said(line: &serde_json::Value) -> &str {
    line["ending"].as_str().unwrap_or_default()
}

fn put(agent: &Agent, name: &str, text: &str) -> Result<(), String> {
    fs::write(agent.work.join(name), text).map_err(|error| error.to_string())
}
