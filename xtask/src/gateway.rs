//! What conversations cost through the gateway, beside being passed through: recorded sessions, request by request, as their agents
//! would have sent them.

use bytes::Bytes;
use codelet_context::economics::Preset;
use codelet_context::message::{Message, Role};
use codelet_context::price::{self, PriceCard};
use codelet_context::tokens::{self, Tokens};
use codelet_context::usage::Usage;
use codelet_gateway::Api;
use codelet_gateway::edit::{Editor, Settings};
use codelet_transcript::{Listed, write_items};
use std::path::Path;
use std::time::{Duration, Instant};

/// What stands beside the messages of a request, in tokens: system prompt and tools of common agents weigh 900 to 28,900.
const FIXED: Tokens = 12_000;
/// Tokens for each estimated one, as in `replay`.
const RATIO: f64 = 1.35;
/// Requests that a session has at least, to say anything.
const LEAST: usize = 20;

/// Plays the recorded sessions.
pub fn run(_root: &Path) -> Result<String, Vec<String>> {
    let Some(folder) = codelet_testkit::corpus() else {
        return Ok("skipped: no recorded conversations".to_owned());
    };
    let mut sessions: Vec<(String, Vec<Message>)> = Vec::new();
    read_all(&folder.join("neutral"), &mut sessions)?;
    sessions.sort_by(|a, b| a.0.cmp(&b.0));
    let mut lines = vec![format!(
        "{:<8} {:<24} {:>8} {:>8} {:>8} {:>8} {:>9} {:>9}",
        "window", "prices", "sessions", "mean", "highest", "above", "edits", "ms a request (median, 99 %)"
    )];
    for window in [200_000, 1_000_000] {
        for (name, api) in [
            ("5m", Api::Anthropic),
            ("1h", Api::Anthropic),
            ("openai/gpt-5.4", Api::Openai),
        ] {
            let card = price::find(name).cloned().unwrap_or_else(price::usual);
            let played: Vec<Played> = sessions
                .iter()
                .filter_map(|(_, messages)| play(messages, api, &card, window))
                .collect();
            lines.push(sum_up(window, name, &played));
        }
    }
    Ok(lines.join("\n"))
}

fn sum_up(window: Tokens, name: &str, played: &[Played]) -> String {
    let ratios: Vec<f64> = played.iter().map(|it| it.through / it.passed).collect();
    let mean = ratios.iter().sum::<f64>() / ratios.len().max(1) as f64;
    let highest = ratios.iter().copied().fold(0.0, f64::max);
    let above = ratios.iter().filter(|ratio| **ratio > 1.01).count();
    let edits: usize = played.iter().map(|it| it.edits).sum();
    let mut times: Vec<Duration> = played.iter().flat_map(|it| it.times.iter().copied()).collect();
    times.sort_unstable();
    let at = |share: f64| {
        times
            .get((times.len() as f64 * share) as usize)
            .map_or(0.0, |time| time.as_secs_f64() * 1e3)
    };
    format!(
        "{window:<8} {name:<24} {:>8} {mean:>8.3} {highest:>8.3} {above:>8} {edits:>9} {:>9.2} {:>9.2}",
        played.len(),
        at(0.5),
        at(0.99)
    )
}

fn read_all(folder: &Path, sessions: &mut Vec<(String, Vec<Message>)>) -> Result<(), Vec<String>> {
    let told = |error: std::io::Error| vec![format!("{}: {error}", folder.display())];
    for entry in std::fs::read_dir(folder).map_err(told)? {
        let path = entry.map_err(told)?.path();
        if path.is_dir() {
            read_all(&path, sessions)?;
        } else if path.extension().is_some_and(|extension| extension == "json") {
            let bytes = std::fs::read(&path).map_err(told)?;
            let document =
                codelet_transcript::read(&bytes, None).map_err(|error| vec![format!("{}: {error}", path.display())])?;
            sessions.push((path.display().to_string(), document.messages));
        }
    }
    Ok(())
}

/// What a session came to.
struct Played {
    /// Dollars, passed through and through the gateway.
    passed: f64,
    through: f64,
    edits: usize,
    times: Vec<Duration>,
}

/// Plays a session up to the first request that its window does not hold when it is passed through. None where that is too few.
fn play(messages: &[Message], api: Api, card: &PriceCard, window: Tokens) -> Option<Played> {
    let editor = Editor::new(Settings {
        preset: Preset::Faithful,
        window: Some(window),
        windows: |_| None,
        offers_recall: true,
    });
    let messages: Vec<Message> = messages.iter().filter(|it| it.role != Role::System).cloned().collect();
    let items = write_items(&messages, api.format());
    let list = codelet_transcript::vendor::list_of(api.format());
    let system = "x".repeat(FIXED as usize * 4 * 100 / 135);
    let mut text = format!(
        "{{\"model\":\"{}\",\"system\":\"{system}\",\"max_tokens\":16000,\"{list}\":[",
        card.name
    );
    let (mut passed, mut through) = (Bill::new(card), Bill::new(card));
    let (mut edits, mut times) = (0, Vec::new());
    for (number, (message, items)) in messages.iter().zip(&items).enumerate() {
        if message.role == Role::Assistant && number > 0 && messages[number - 1].role == Role::User {
            let body = Bytes::from(format!("{}]}}", text.trim_end_matches(',')));
            let output = weigh_bytes(items.iter().map(String::len).sum());
            if !passed.request(&body, api, output, window) {
                break;
            }
            let began = Instant::now();
            let edited = editor.edit(&api.into(), &body);
            times.push(began.elapsed());
            edits += usize::from(edited.facts.edit.is_some());
            let body = edited.body.map_or(body, |slices| slices.concat().into());
            through.request(&body, api, output, Tokens::MAX);
        }
        for item in items {
            text.push_str(item);
            text.push(',');
        }
    }
    (times.len() >= LEAST).then_some(Played {
        passed: passed.dollars,
        through: through.dollars,
        edits,
        times,
    })
}

fn weigh_bytes(bytes: usize) -> Tokens {
    (tokens::estimate_bytes(bytes) as f64 * RATIO) as Tokens
}

/// What requests one after the other cost, by the rules of the provider's cache, which stays warm.
struct Bill<'a> {
    card: &'a PriceCard,
    /// The items of the last request, and what all of it weighed.
    last: (Vec<Bytes>, Tokens),
    dollars: f64,
}

impl<'a> Bill<'a> {
    fn new(card: &'a PriceCard) -> Self {
        Bill {
            card,
            last: (Vec::new(), 0),
            dollars: 0.0,
        }
    }

    /// Adds a request; says no where it does not fit.
    fn request(&mut self, body: &Bytes, api: Api, output: Tokens, window: Tokens) -> bool {
        let Some(listed) = Listed::of(body, api.format()) else {
            return false;
        };
        let items: Vec<Bytes> = listed.items.iter().map(|range| body.slice(range.clone())).collect();
        let weigh = |items: &[Bytes]| weigh_bytes(items.iter().map(Bytes::len).sum());
        let prompt = FIXED + weigh(&items);
        if prompt + output > window {
            return false;
        }
        let same = self
            .last
            .0
            .iter()
            .zip(&items)
            .take_while(|(one, other)| one == other)
            .count();
        let read = if same == self.last.0.len() {
            self.last.1
        } else if self.card.marks.is_some() {
            // The client marks what stands before the conversation, and its end; what lies between is found by nobody.
            FIXED
        } else {
            FIXED + weigh(&items[..same])
        };
        let read = read.min(prompt);
        let usage = Usage {
            fresh: 0,
            cache_read: read,
            cache_write: prompt - read,
            output,
        };
        self.dollars += self.card.cost(usage, 0);
        self.last = (items, prompt);
        true
    }
}
