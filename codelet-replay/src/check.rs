//! The cache model against what was billed.
//!
//! Of each billed request the model is given its time, the size of its prompt, how long its writes were to be kept, and
//! whether the recording agent had compacted. It predicts what was read from the cache and what was written; the billed
//! reads are only compared with. Two things happened that no recording tells: other sessions of the same user had left
//! the head (tools and system prompt) in the cache or not, and a vendor or a harness lost the prefix between two requests
//! although nothing had expired. Hence two predictions: one that assumes that neither happens, and one that is told when
//! it did, though not how much was then read.

use crate::cache::{Cache, Rules};
use crate::prompt::Prompt;
use crate::run::Dollars;
use crate::session::Session;
use codelet_context::message::{Message, Part};
use codelet_context::price::{self, Lifetime, PriceCard};
use codelet_context::tokens::Tokens;
use codelet_context::usage::Usage;
use codelet_transcript::Billed;
use std::sync::Arc;
use std::time::Duration;

/// Predicted and billed input cost of one session, in dollars.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Check {
    /// Billed requests.
    pub requests: usize,
    /// What the prompts cost by their bills.
    pub billed: f64,
    /// What the model says, knowing nothing of what no recording tells.
    pub blind: f64,
    /// What the model says, told of the events below.
    pub told: f64,
    /// Whether the first request found a head in the cache that an earlier session had left, and after how many other
    /// expiries one did.
    pub warm_heads: usize,
    /// Requests at which a living prefix was lost for a reason that was not recorded.
    pub lost: usize,
}

impl Check {
    /// How far the blind prediction is from the bill, as a share of it.
    pub fn blind_error(&self) -> f64 {
        self.blind / self.billed - 1.0
    }

    /// How far the other one is.
    pub fn told_error(&self) -> f64 {
        self.told / self.billed - 1.0
    }
}

/// A billed request, as the model is given it.
struct Asked {
    began: u64,
    billed: Billed,
    /// The prompt is another one from the head on.
    is_anew: bool,
}

/// A prompt that is this much shorter than the one before it was cut, and not only freed of old thinking: a share.
const CUT: f64 = 0.5;
/// Fewer tokens than this are not worth calling a loss: a mark stood a few messages earlier than the model has it.
const NOISE: Tokens = 2_000;

/// Compares. `None` where nothing was billed, where times are missing, or where the price of the model is unknown and
/// `card` is none either.
pub fn check(session: &Session, card: Option<&PriceCard>) -> Option<Check> {
    let mut asked: Vec<Asked> = Vec::new();
    let mut is_anew = false;
    for request in &session.requests {
        is_anew |= request.after_compaction;
        if let Some(billed) = request.billed {
            asked.push(Asked {
                began: request.began?,
                billed,
                is_anew: std::mem::take(&mut is_anew),
            });
        }
    }
    let model = session.requests.iter().find_map(|request| request.model.as_deref());
    let card = model.and_then(price::find).or(card)?;
    let hours = asked.iter().filter(|asked| asked.billed.hour > 0).count();
    // The lifetime is a setting of the agent, so the session has one.
    let lifetime = if hours * 2 > asked.len() {
        Lifetime::Hour
    } else {
        Lifetime::FiveMinutes
    };
    let card = card.clone().living(lifetime);
    let billed = asked
        .iter()
        .map(|asked| cost(&card, asked.billed.usage, Some(asked.billed.hour)));
    let events = Events::of(&asked, card.expires_after());
    Some(Check {
        requests: asked.len(),
        billed: billed.sum(),
        blind: predict(&asked, &card, None),
        told: predict(&asked, &card, Some(&events)),
        warm_heads: events.warm.iter().filter(|warm| **warm).count(),
        lost: events.lost.iter().filter(|lost| **lost).count(),
    })
    .filter(|check| check.billed > 0.0)
}

fn cost(card: &PriceCard, usage: Usage, hour: Option<Tokens>) -> f64 {
    let usage = Usage { output: 0, ..usage };
    match hour {
        Some(hour) => card.cost(usage, hour),
        None => Dollars::of(card, usage).total(),
    }
}

/// What happened that no recording tells.
struct Events {
    /// What the head weighs; the smallest amount that was ever read alone.
    head: Tokens,
    /// The head was in the cache though nothing of this session was.
    warm: Vec<bool>,
    /// The messages were not, though they should have been.
    lost: Vec<bool>,
}

impl Events {
    fn of(asked: &[Asked], lives: Duration) -> Self {
        let lives = u64::try_from(lives.as_millis()).unwrap_or(u64::MAX);
        let mut events = Events {
            head: 0,
            warm: vec![false; asked.len()],
            lost: vec![false; asked.len()],
        };
        let mut heads: Vec<Tokens> = Vec::new();
        for (index, now) in asked.iter().enumerate() {
            let read = now.billed.usage.cache_read;
            let before = index.checked_sub(1).map(|before| &asked[before]);
            let is_cold = before.is_none_or(|before| now.began.saturating_sub(before.began) > lives);
            let left = before.map_or(0, |before| before.billed.usage.prompt() - before.billed.usage.fresh);
            if is_cold {
                events.warm[index] = read > 0;
            } else if !now.is_anew {
                events.lost[index] =
                    read + NOISE < left.min(now.billed.usage.prompt()) && read as f64 <= left as f64 * CUT;
            }
            if (is_cold || now.is_anew || events.lost[index]) && read > 0 {
                heads.push(read);
            }
        }
        heads.sort_unstable();
        events.head = heads.first().copied().unwrap_or(0);
        events
    }
}

/// What the prompts cost by the model, in dollars.
fn predict(asked: &[Asked], card: &PriceCard, events: Option<&Events>) -> f64 {
    let smallest = asked.iter().map(|asked| asked.billed.usage.prompt()).min().unwrap_or(0);
    // Without a sign of how large the head is, half of the smallest prompt: what is left after a compaction is that.
    let head = events.map_or(smallest / 2, |events| events.head).min(smallest);
    let rules = Rules {
        // The vendor caches less at a time than any agent's head weighs.
        minimum: card.minimum.min(head),
        ..Rules::of(card)
    };
    let mut cache = Cache::new(rules);
    let mut prompt = Prompt::new(head);
    let mut messages: Vec<Arc<Message>> = Vec::new();
    let mut sizes: Vec<Tokens> = Vec::new();
    let mut sum = 0.0;
    for (number, now) in asked.iter().enumerate() {
        let warm = events.is_some_and(|events| events.warm[number]);
        if warm {
            // Another session has used the head a moment ago.
            cache.send(&Prompt::new(head), &[1], 1, now.began);
        } else if events.is_some() && cache.is_cold(now.began) {
            cache = Cache::new(rules);
        }
        let is_lost = events.is_some_and(|events| events.lost[number]);
        let whole = now.billed.usage.prompt();
        let room = whole.saturating_sub(head);
        let mut kept = if now.is_anew || is_lost { 0 } else { sizes.len() };
        // A prompt that became shorter lost something near its end: old thinking, an attachment.
        let mut total: Tokens = sizes[..kept].iter().sum();
        while kept > 0 && total > room {
            kept -= 1;
            total -= sizes[kept];
        }
        sizes.truncate(kept);
        messages.truncate(kept);
        sizes.push(room - total);
        messages.push(Arc::new(Message::user(format!("{number}"))));
        let known = kept.min(prompt.messages().len());
        let grown = room - total;
        let change = prompt.update(&messages, known, |_: &Part| grown);
        let places = prompt.places_before(change.kept);
        let bill = cache.send(&prompt, &[1, prompt.len(), places], places, now.began);
        sum += cost(card, bill.usage, None);
    }
    sum
}
