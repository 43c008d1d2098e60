//! The occupancy estimate, replayed on recorded sessions that include the billed usage of each request.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use super::Occupancy;
use crate::budget::usage::Usage;
use crate::message::IMAGE_TOKENS;
use crate::message::tokens::{PART_TOKENS, Tokens, estimate_bytes};
use serde_json::Value;
use std::path::PathBuf;

/// The relative prediction errors in ascending order.
struct Errors(Vec<f64>);

impl Errors {
    fn percentile(&self, share: f64) -> f64 {
        let index = (self.0.len() as f64 * share).ceil() as usize;
        self.0[index.clamp(1, self.0.len()) - 1]
    }
}

#[test]
fn occupancy_is_within_five_percent_at_the_95th_percentile_after_five_reports() {
    let corpus = std::env::var_os("CODELET_CORPUS").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/corpus")),
        PathBuf::from,
    );
    let Ok(folder) = std::fs::read_dir(corpus.join("raw/claude-code")) else {
        println!("the recorded corpus is missing: nothing was checked");
        return;
    };
    let mut files: Vec<_> = folder.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let (mut all, mut unscaled) = (Vec::new(), Vec::new());
    for file in files
        .iter()
        .filter(|file| file.extension().is_some_and(|e| e == "jsonl"))
    {
        let mut session = Session::default();
        session.replay(&std::fs::read_to_string(file).unwrap());
        all.extend(session.errors);
        unscaled.extend(session.unscaled);
    }
    let report = |name: &str, mut errors: Vec<f64>| {
        errors.sort_by(f64::total_cmp);
        let errors = Errors(errors);
        let [p50, p95, p99] = [0.5, 0.95, 0.99].map(|share| 100.0 * errors.percentile(share));
        println!(
            "{name}: {} requests, error {p50:.2} % at the median, {p95:.2} % at p95, {p99:.2} % at p99",
            errors.0.len()
        );
        p95
    };
    report("without calibration", unscaled);
    assert!(report("calibrated", all) <= 5.0);
}

/// One recorded session, replayed line by line.
#[derive(Default)]
struct Session {
    occupancy: Occupancy,
    /// The request in flight: its id, its usage, and the estimate of the reply lines so far.
    reply: Option<(String, Usage, Tokens)>,
    /// The estimate of tool results that arrived while the reply was still being written to the file.
    results: Tokens,
    reports: usize,
    /// True after the agent has compacted: what it sends then is not in the file.
    is_unknown: bool,
    last: Tokens,
    since: Tokens,
    errors: Vec<f64>,
    unscaled: Vec<f64>,
}

impl Session {
    fn replay(&mut self, text: &str) {
        for line in text.lines() {
            let Ok(entry) = serde_json::from_str::<Value>(line) else {
                continue;
            };
            // A sub-agent's conversation has its own window.
            if entry["isSidechain"] == true {
                continue;
            }
            let message = &entry["message"];
            match entry["type"].as_str() {
                Some("system") if entry["subtype"] == "compact_boundary" => {
                    self.finish_reply();
                    self.is_unknown = true;
                }
                Some("assistant") => {
                    let id = message["id"].as_str().unwrap_or_default();
                    if self.reply.as_ref().is_none_or(|(open, ..)| open != id) {
                        self.finish_reply();
                        self.begin_reply(id, &message["usage"]);
                    }
                    if let Some((_, _, estimate)) = &mut self.reply {
                        *estimate += estimate_content(&message["content"]);
                    }
                }
                Some("user") => self.results += estimate_content(&message["content"]),
                _ => {}
            }
        }
        self.finish_reply();
    }

    fn begin_reply(&mut self, id: &str, usage: &Value) {
        let count = |name: &str| usage[name].as_u64().unwrap_or(0);
        let usage = Usage::from_exclusive(
            count("input_tokens"),
            count("cache_creation_input_tokens"),
            count("cache_read_input_tokens"),
            count("output_tokens"),
        );
        if usage.prompt() > 0 {
            let actual = usage.prompt() as f64;
            if self.reports >= 5 && !self.is_unknown {
                self.errors
                    .push((self.occupancy.next_request() as f64 - actual).abs() / actual);
                self.unscaled
                    .push(((self.last + self.since) as f64 - actual).abs() / actual);
            }
            self.is_unknown = false;
            self.reports += 1;
            self.last = usage.prompt();
            self.since = 0;
        }
        self.reply = Some((id.to_owned(), usage, 0));
    }

    fn finish_reply(&mut self) {
        if let Some((_, usage, estimate)) = self.reply.take() {
            // The files hold the first report of each stream, which does not count the whole output.
            self.occupancy.replied(usage, estimate, false);
            self.since += estimate;
        }
        let results = std::mem::take(&mut self.results);
        self.occupancy.appended(results);
        self.since += results;
    }
}

fn estimate_content(content: &Value) -> Tokens {
    match content {
        Value::String(text) => estimate_bytes(text.len()) + PART_TOKENS,
        Value::Array(blocks) => blocks.iter().map(estimate_block).sum(),
        _ => 0,
    }
}

fn estimate_block(block: &Value) -> Tokens {
    let bytes = |name: &str| block[name].as_str().map_or(0, str::len);
    match block["type"].as_str() {
        Some("text") => estimate_bytes(bytes("text")) + PART_TOKENS,
        Some("thinking") => estimate_bytes(bytes("thinking")) + PART_TOKENS,
        Some("image") => IMAGE_TOKENS + PART_TOKENS,
        Some("tool_use") => estimate_bytes(bytes("name") + block["input"].to_string().len()) + PART_TOKENS,
        Some("tool_result") => estimate_content(&block["content"]),
        _ => estimate_bytes(block.to_string().len()) + PART_TOKENS,
    }
}
