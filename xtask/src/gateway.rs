//! Compares the cost of conversations with and without the gateway: recorded sessions, request by request, as their
//! agents would have sent them.

mod agent;
mod beside;
mod bill;
mod paced;
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

/// Prices by name, with the lifetime of what is cached.
const PRICES: [(&str, Api, Lifetime); 3] = [
    ("5m", Api::Anthropic, Lifetime::FiveMinutes),
    ("5m", Api::Anthropic, Lifetime::Hour),
    ("openai/gpt-5.4", Api::Openai, Lifetime::FiveMinutes),
];
const WINDOWS: [Tokens; 2] = [200_000, 1_000_000];

/// Replays the recorded sessions: `--each` adds a line for each session, `--policy NAME` edits by another preset, and
/// `--beside PYTHON` compares with other programs.
///
/// # Errors
/// If the recordings cannot be read, or the arguments are wrong.
pub fn run(arguments: &[&str]) -> Result<String, Vec<String>> {
    let (mut preset, mut each) = (Preset::Faithful, false);
    let mut rest = arguments;
    while !rest.is_empty() {
        rest = match rest {
            ["--each", rest @ ..] => {
                each = true;
                rest
            }
            ["--policy", name, rest @ ..] => {
                preset = Preset::from_name(name).ok_or_else(|| vec![format!("no policy {name}")])?;
                rest
            }
            ["--beside", python] => return beside(Path::new(python), each),
            other => return Err(vec![format!("no such measurement: {}", other.join(" "))]),
        };
    }
    let Some(sessions) = recorded()? else { return skipped() };
    let mut lines = vec![head()];
    let mut details = Vec::new();
    for window in WINDOWS {
        for (name, api, lifetime) in PRICES {
            let card = card(name, lifetime);
            let trial = Trial {
                api,
                card: &card,
                window,
                preset,
                is_sent: false,
            };
            let played = play_all(&sessions, trial, || None);
            let name = if lifetime == Lifetime::Hour { "1h" } else { name };
            lines.extend(sum_up(window, name, &played, 0));
            if each {
                details.extend(played.iter().map(|it| it.line(window, name)));
            }
        }
    }
    lines.extend(details);
    Ok(lines.join("\n"))
}

fn recorded() -> Result<Option<Vec<Session>>, Vec<String>> {
    let folder = codelet_testkit::corpus();
    folder.map(|folder| sessions::all(&folder, LEAST)).transpose()
}

fn skipped() -> Result<String, Vec<String>> {
    Ok("skipped: no recorded conversations".to_owned())
}

fn card(name: &str, lifetime: Lifetime) -> PriceCard {
    price::find(name).cloned().unwrap_or_else(price::usual).living(lifetime)
}

fn head() -> String {
    format!(
        "{:<8} {:<20} {:<6} {:>8} {:>6} {:>6} {:>7} {:>5} {:>6} {:>5} {:>7}",
        "window", "prices", "", "sessions", "mean", "share", "highest", "above", "edits", "own", "refused"
    )
}

/// The gateway and other programs, by the computed bill and by that of a provider which every request is sent to: with
/// a window of 200k and a cache lifetime of five minutes, and the gateway alone with the others. `python` is an
/// interpreter with their libraries.
fn beside(python: &Path, each: bool) -> Result<String, Vec<String>> {
    let Some(sessions) = recorded()? else { return skipped() };
    crate::say(&head());
    let tell = |window, name: &str, played: &[Played]| {
        for (bill, kind) in [(0, ""), (1, ", sent")] {
            let lines = sum_up(window, &format!("{name}{kind}"), played, bill);
            lines.iter().for_each(|line| crate::say(line));
        }
        for it in played.iter().filter(|_| each) {
            crate::say(&it.line(window, name));
        }
    };
    for (window, lifetime) in [
        (200_000, Lifetime::FiveMinutes),
        (200_000, Lifetime::Hour),
        (1_000_000, Lifetime::FiveMinutes),
        (1_000_000, Lifetime::Hour),
    ] {
        let card = card(price::USUAL, lifetime);
        let trial = Trial::sent(&card, window);
        let name = if lifetime == Lifetime::Hour {
            "gateway 1h"
        } else {
            "gateway 5m"
        };
        tell(window, name, &play_all(&sessions, trial, || None));
    }
    let card = price::usual();
    for name in beside::NAMES {
        if Beside::start(name, python).is_none() {
            crate::say(&format!("skipped: {} has no {name}", python.display()));
            continue;
        }
        let trial = Trial::sent(&card, 200_000);
        tell(
            200_000,
            name,
            &play_all(&sessions, trial, || Beside::start(name, python)),
        );
    }
    Ok("sent: billed by a provider on loopback that every request was sent to".to_owned())
}

/// The rules by which sessions are played.
#[derive(Clone, Copy)]
struct Trial<'a> {
    api: Api,
    card: &'a PriceCard,
    window: Tokens,
    preset: Preset,
    /// True if the requests are really sent.
    is_sent: bool,
}

impl<'a> Trial<'a> {
    fn sent(card: &'a PriceCard, window: Tokens) -> Self {
        Trial {
            api: Api::Anthropic,
            card,
            window,
            preset: Preset::Faithful,
            is_sent: true,
        }
    }
}

fn play_all(sessions: &[Session], trial: Trial<'_>, start: impl Fn() -> Option<Beside> + Sync) -> Vec<Played> {
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
                    let one = play(session, trial, other.as_ref());
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

/// Two lines: the sessions up to where their agents would have compacted by themselves, and whole ones. `bill` is 0 for
/// the computed bill, 1 for that of the provider.
fn sum_up(window: Tokens, name: &str, played: &[Played], bill: usize) -> [String; 2] {
    [
        sum_up_part(window, name, "before", played, |it| {
            (it.fitting.0[bill], it.fitting.1[bill])
        }),
        sum_up_part(window, name, "whole", played, |it| (it.whole.0[bill], it.whole.1[bill])),
    ]
}

fn sum_up_part(
    window: Tokens,
    name: &str,
    part: &str,
    played: &[Played],
    of: impl Fn(&Played) -> (f64, f64) + Copy,
) -> String {
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

/// The result of a session: costs in dollars without the gateway and with it, by both bills.
struct Played {
    name: String,
    requests: usize,
    /// Up to the point where the agent would have compacted by itself.
    fitting: ([f64; 2], [f64; 2]),
    whole: ([f64; 2], [f64; 2]),
    edits: usize,
    /// The agent's own compactions, without the gateway and with it.
    own: (usize, usize),
    refused: usize,
    /// Tokens of all prompts.
    prompts: (Tokens, Tokens),
}

impl Played {
    fn line(&self, window: Tokens, name: &str) -> String {
        let ((fitting, edited), (passed, through)) = (self.fitting, self.whole);
        let (passed, through) = (passed[0], through[0]);
        format!(
            "{window}\t{name}\t{:.4}\t{:.4}\t{:.4}\t{passed:.3}\t{through:.3}\t{}\t{}\t{}/{}\t{}\t{}\t{}",
            edited[0] / fitting[0],
            edited[1] / fitting[1],
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
fn play(session: &Session, trial: Trial<'_>, other: Option<&Beside>) -> Option<Played> {
    let Trial { api, card, window, .. } = trial;
    let editor = Editor::new(Settings {
        preset: trial.preset,
        window: Some(window),
        windows: |_| None,
        offers_recall: true,
    });
    let between = other.map_or(Between::Gateway(&editor), Between::Other);
    let written = Written::new(session, api, card, window);
    let agent = |between| {
        let agent = Agent::new(&written, between);
        if trial.is_sent {
            agent.sending().ok()
        } else {
            Some(agent)
        }
    };
    let (mut passed, mut through) = (agent(Between::Nothing)?, agent(between)?);
    let mut fitting = None;
    let mut requests = 0;
    let mut whole = (passed.dollars(), through.dollars());
    for request in 0..session.requests.len() {
        if passed.is_full(request) && fitting.is_none() {
            fitting = Some(whole);
        }
        if !passed.request(request) || !through.request(request) {
            break;
        }
        whole = (passed.dollars(), through.dollars());
        requests += 1;
    }
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
