//! Compares the cost of conversations with and without the gateway: recorded sessions, request by request, as their
//! agents would have sent them.

mod agent;
mod beside;
mod bill;
mod sessions;

use agent::{Agent, Between, Written};
use beside::Beside;
use codelet_context::economics::Preset;
use codelet_context::price::{self, Lifetime, PriceCard};
use codelet_context::tokens::Tokens;
use codelet_gateway::Api;
use codelet_gateway::edit::{Editor, Settings};
use codelet_replay::session::Session;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Minimum requests of a meaningful session.
const LEAST: usize = 20;

/// Replays the recorded sessions. With `each`, adds a line for each session.
///
/// # Errors
/// If the recordings cannot be read.
pub fn run(_root: &Path, each: bool) -> Result<String, Vec<String>> {
    let Some(folder) = codelet_testkit::corpus() else {
        return Ok("skipped: no recorded conversations".to_owned());
    };
    let sessions = sessions::all(&folder, LEAST)?;
    let mut lines = vec![head()];
    let mut details = Vec::new();
    for window in [200_000, 1_000_000] {
        for (name, api, lifetime) in [
            ("5m", Api::Anthropic, Lifetime::FiveMinutes),
            ("5m", Api::Anthropic, Lifetime::Hour),
            ("openai/gpt-5.4", Api::Openai, Lifetime::FiveMinutes),
        ] {
            let card = price::find(name).cloned().unwrap_or_else(price::usual).living(lifetime);
            let played = play_all(&sessions, api, &card, window, || None);
            let name = if lifetime == Lifetime::Hour { "1h" } else { name };
            lines.push(sum_up(window, name, "before", &played, |it| it.fitting));
            lines.push(sum_up(window, name, "whole", &played, |it| it.whole));
            if each {
                details.extend(played.iter().map(|it| it.line(window, name)));
            }
        }
    }
    lines.extend(details);
    Ok(lines.join("\n"))
}

fn head() -> String {
    format!(
        "{:<8} {:<20} {:<6} {:>8} {:>6} {:>6} {:>7} {:>5} {:>6} {:>5} {:>7}",
        "window", "prices", "", "sessions", "mean", "share", "highest", "above", "edits", "own", "refused"
    )
}

/// The same for other programs, with a window of 200k and a cache lifetime of five minutes; `python` is an interpreter
/// with their libraries.
///
/// # Errors
/// If the recordings cannot be read.
pub fn beside(python: &Path) -> Result<String, Vec<String>> {
    let Some(folder) = codelet_testkit::corpus() else {
        return Ok("skipped: no recorded conversations".to_owned());
    };
    let sessions = sessions::all(&folder, LEAST)?;
    let card = price::usual();
    let mut lines = vec![head()];
    for name in beside::NAMES {
        if Beside::start(name, python).is_none() {
            lines.push(format!("skipped: {} has no {name}", python.display()));
            continue;
        }
        let played = play_all(&sessions, Api::Anthropic, &card, 200_000, || {
            Beside::start(name, python)
        });
        lines.push(sum_up(200_000, name, "before", &played, |it| it.fitting));
        lines.push(sum_up(200_000, name, "whole", &played, |it| it.whole));
    }
    Ok(lines.join("\n"))
}

fn play_all(
    sessions: &[Session],
    api: Api,
    card: &PriceCard,
    window: Tokens,
    start: impl Fn() -> Option<Beside> + Sync,
) -> Vec<Played> {
    let next = AtomicUsize::new(0);
    let played = Mutex::new(Vec::new());
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let other = start();
                while let Some(session) = sessions.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Some(other) = &other {
                        other.begin();
                    }
                    let one = play(session, api, card, window, other.as_ref());
                    if let Ok(mut played) = played.lock() {
                        played.extend(one);
                    }
                }
            });
        }
    });
    let mut played = played.into_inner().unwrap_or_default();
    played.sort_by(|one, other| one.name.cmp(&other.name));
    played
}

fn sum_up(window: Tokens, name: &str, part: &str, played: &[Played], of: fn(&Played) -> (f64, f64)) -> String {
    let ratios: Vec<f64> = played
        .iter()
        .map(of)
        .map(|(passed, through)| through / passed)
        .collect();
    let mean = ratios.iter().sum::<f64>() / ratios.len().max(1) as f64;
    let (passed, through) = played
        .iter()
        .map(of)
        .fold((0.0, 0.0), |sum, it| (sum.0 + it.0, sum.1 + it.1));
    let highest = ratios.iter().copied().fold(0.0, f64::max);
    let above = ratios.iter().filter(|ratio| **ratio > 1.01).count();
    let edits: usize = played.iter().map(|it| it.edits).sum();
    let own: (usize, usize) = played
        .iter()
        .fold((0, 0), |sum, it| (sum.0 + it.own.0, sum.1 + it.own.1));
    let refused: usize = played.iter().map(|it| it.refused).sum();
    format!(
        "{window:<8} {name:<20} {part:<6} {:>8} {mean:>6.3} {:>6.3} {highest:>7.3} {above:>5} {edits:>6} {:>2}/{:<2} {refused:>7}",
        played.len(),
        through / passed,
        own.0,
        own.1
    )
}

/// The result of a session: costs in dollars without the gateway and with it.
struct Played {
    name: String,
    requests: usize,
    /// Up to the point where the agent would have compacted by itself.
    fitting: (f64, f64),
    whole: (f64, f64),
    edits: usize,
    /// The agent's own compactions, without the gateway and with it.
    own: (usize, usize),
    refused: usize,
    /// Tokens of all prompts.
    prompts: (Tokens, Tokens),
}

impl Played {
    fn line(&self, window: Tokens, name: &str) -> String {
        let (passed, through) = self.whole;
        format!(
            "{window}\t{name}\t{:.4}\t{:.4}\t{passed:.3}\t{through:.3}\t{}\t{}\t{}/{}\t{}\t{}\t{}",
            self.fitting.1 / self.fitting.0,
            through / passed,
            self.requests,
            self.edits,
            self.own.0,
            self.own.1,
            self.prompts.0,
            self.prompts.1,
            self.name
        )
    }
}

/// Replays a session. `None` if too little of it fits.
fn play(session: &Session, api: Api, card: &PriceCard, window: Tokens, other: Option<&Beside>) -> Option<Played> {
    let editor = Editor::new(Settings {
        preset: Preset::Faithful,
        window: Some(window),
        windows: |_| None,
        offers_recall: true,
    });
    let between = other.map_or(Between::Gateway(&editor), Between::Other);
    let written = Written::new(session, api, card, window);
    let (mut passed, mut through) = (Agent::new(&written, Between::Nothing), Agent::new(&written, between));
    let mut fitting = None;
    let mut requests = 0;
    for request in 0..session.requests.len() {
        if passed.is_full(request) && fitting.is_none() {
            fitting = Some((passed.bill.dollars, through.bill.dollars));
        }
        let before = passed.bill.dollars;
        if !passed.request(request) {
            break;
        }
        if !through.request(request) {
            passed.bill.dollars = before;
            break;
        }
        requests += 1;
    }
    let whole = (passed.bill.dollars, through.bill.dollars);
    (requests >= LEAST).then(|| Played {
        name: session.name.clone(),
        requests,
        fitting: fitting.unwrap_or(whole),
        whole,
        edits: through.edits,
        own: (passed.compactions, through.compactions),
        refused: through.refused,
        prompts: (passed.bill.prompts.0, through.bill.prompts.0),
    })
}
