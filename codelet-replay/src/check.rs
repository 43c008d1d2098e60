//! Compares the cache model with recorded usage.
//!
//! For each billed request, the model is given its time, the size of its prompt, the cache lifetime of its writes, and
//! whether the recording agent had compacted. It predicts cache reads and writes; the billed reads are only compared
//! with, except for the very first, which gives the cache's content before the recording began. Two later events are not
//! recorded: other sessions of the same user left the head (tools and system prompt) in the cache though this session's
//! entries had expired, and a provider or a harness lost the prefix between two requests although nothing had expired.
//! Hence two predictions: one assumes that neither happens, and one is given when they happened, though not how much was
//! then read.

use crate::cache::{Cache, Rules};
use crate::prompt::Prompt;
use crate::session::Session;
use crate::settings::Settings;
use codelet_context::message::{Message, Part, Role};
use codelet_context::price::{self, Lifetime, PriceCard, Rates};
use codelet_context::tokens::Tokens;
use codelet_context::usage::Usage;
use codelet_transcript::Billed;
use std::cell::Cell;
use std::collections::HashMap;
use std::sync::Arc;

/// Predicted and billed input cost of one session, in dollars.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Check {
    /// Billed requests with a known price.
    pub requests: usize,
    /// Billed requests of models without a known price; they are in no sum.
    pub unpriced: usize,
    /// The billed cost of the prompts.
    pub billed: f64,
    /// The prediction, given what the cache held at the start, without the unrecorded events.
    pub blind: f64,
    /// The prediction, given the events below.
    pub told: f64,
    /// The number of times that the first request, or one after an expiry, found a head left by another session.
    pub warm_heads: usize,
    /// Requests at which an unexpired prefix was lost for an unrecorded reason.
    pub lost: usize,
}

impl Check {
    /// Returns the error of the blind prediction, as a share of the bill.
    pub fn blind_error(&self) -> f64 {
        self.blind / self.billed - 1.0
    }

    /// Returns the error of the informed prediction.
    pub fn told_error(&self) -> f64 {
        self.told / self.billed - 1.0
    }
}

/// The input of the model for a billed request.
struct BilledRequest {
    began: u64,
    billed: Billed,
    /// The index of the model; each has a separate cache.
    model: usize,
    /// True if the prompt differs from the head on from the last one sent to this model.
    is_anew: bool,
    /// The number of positions in the prompt that are newer than the request before.
    places: usize,
}

/// A model, and its price, if known.
struct Model {
    card: Option<PriceCard>,
    /// The number of compactions at its last request.
    compactions: usize,
}

/// A prompt that is shorter than the one before it by this share was compacted, not only stripped of old thinking.
const CUT: f64 = 0.5;
/// Smaller differences, in tokens, do not count as a loss: a mark was a few messages earlier than the model assumes.
const NOISE: Tokens = 2_000;

/// Compares the model with the bills. Each request is priced by the model that it names. `None` if nothing was billed,
/// if times are missing, or if no model's price is known.
pub fn check(session: &Session, settings: &Settings) -> Option<Check> {
    let times = session.times()?;
    let mut models: Vec<Model> = Vec::new();
    let mut named: HashMap<Option<&str>, usize> = HashMap::new();
    let mut asked: Vec<BilledRequest> = Vec::new();
    let (mut known, mut compactions) = (0, 0);
    for (request, began) in session.requests.iter().zip(times) {
        let before = compactions;
        compactions += usize::from(request.after_compaction);
        let Some(billed) = request.billed else { continue };
        let name = request.model.as_deref();
        let model = *named.entry(name).or_insert_with(|| {
            models.push(Model {
                card: settings.price_of(name).cloned(),
                compactions: before,
            });
            models.len() - 1
        });
        let since = &session.messages[known..request.reply.start];
        asked.push(BilledRequest {
            began,
            billed,
            model,
            is_anew: std::mem::replace(&mut models[model].compactions, compactions) < compactions,
            places: since.iter().map(|message| message.parts.len()).sum(),
        });
        known = request.reply.start;
    }
    let hours = asked.iter().filter(|asked| asked.billed.hour > 0).count();
    // The lifetime is a setting of the agent, so each session has one.
    let lifetime = if hours * 2 > asked.len() {
        Lifetime::Hour
    } else {
        Lifetime::FiveMinutes
    };
    // Models without a card use the usual rules, so that the others find the right cache; they cost nothing here.
    let unknown = || PriceCard {
        rates: Rates::default(),
        ..price::usual()
    };
    let is_priced: Vec<bool> = models.iter().map(|model| model.card.is_some()).collect();
    let cards: Vec<PriceCard> = models
        .into_iter()
        .map(|model| model.card.unwrap_or_else(unknown).living(lifetime))
        .collect();
    let billed = asked
        .iter()
        .map(|asked| cost(&cards[asked.model], asked.billed.usage, Some(asked.billed.hour)));
    let events = Events::of(&asked, &cards);
    let requests = asked.iter().filter(|asked| is_priced[asked.model]).count();
    Some(Check {
        requests,
        unpriced: asked.len() - requests,
        billed: billed.sum(),
        blind: predict(&asked, &cards, None),
        told: predict(&asked, &cards, Some(&events)),
        warm_heads: events.warm.iter().filter(|warm| **warm).count(),
        lost: events.lost.iter().filter(|lost| **lost).count(),
    })
    .filter(|check| check.billed > 0.0)
}

fn cost(card: &PriceCard, usage: Usage, hour: Option<Tokens>) -> f64 {
    let usage = Usage { output: 0, ..usage };
    card.cost(usage, hour.unwrap_or_else(|| card.write_1h(usage)))
}

/// Unrecorded events.
struct Events {
    /// The size of the head: the smallest amount that was ever read alone.
    head: Tokens,
    /// True if the head was in the cache although this session's entries were not.
    warm: Vec<bool>,
    /// True if the messages were not in the cache, although they should have been.
    lost: Vec<bool>,
}

impl Events {
    fn of(asked: &[BilledRequest], cards: &[PriceCard]) -> Self {
        let lives = |model: usize| u64::try_from(cards[model].expires_after().as_millis()).unwrap_or(u64::MAX);
        let mut last: Vec<Option<usize>> = vec![None; cards.len()];
        let mut events = Events {
            head: 0,
            warm: vec![false; asked.len()],
            lost: vec![false; asked.len()],
        };
        let mut heads: Vec<Tokens> = Vec::new();
        for (index, now) in asked.iter().enumerate() {
            let read = now.billed.usage.cache_read;
            let before = last[now.model].replace(index).map(|before| &asked[before]);
            let is_cold = before.is_none_or(|before| now.began.saturating_sub(before.began) > lives(now.model));
            let left = before.map_or(0, |before| {
                before.billed.usage.prompt().saturating_sub(before.billed.usage.fresh)
            });
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

/// Predicts the cost of the prompts, in dollars.
fn predict(asked: &[BilledRequest], cards: &[PriceCard], events: Option<&Events>) -> f64 {
    let smallest = asked.iter().map(|asked| asked.billed.usage.prompt()).min().unwrap_or(0);
    // What earlier sessions had left when the recording began is the model's starting point, not its prediction.
    let found = asked.first().map_or(0, |first| first.billed.usage.cache_read);
    let head = match events {
        Some(events) => events.head,
        None if found > 0 => found,
        // Without evidence for the size of the head, half of the smallest prompt: that much remains after a compaction.
        None => smallest / 2,
    }
    .min(smallest);
    let rules = |model: usize| Rules {
        // The provider's minimum is smaller than any agent's head.
        minimum: cards[model].minimum.min(head),
        ..Rules::of(&cards[model])
    };
    // Each model's cache, and the number of its last request.
    let mut caches: Vec<(Cache, usize)> = (0..cards.len()).map(|model| (Cache::new(rules(model)), 0)).collect();
    let mut same = Lowest::default();
    let mut prompt = Prompt::new(head);
    let mut messages: Vec<Arc<Message>> = Vec::new();
    let mut steps: Vec<Growth> = Vec::new();
    // Their total size.
    let mut held: Tokens = 0;
    let mut sum = 0.0;
    for (number, now) in asked.iter().enumerate() {
        let model = now.model;
        let cache = &mut caches[model].0;
        let warm = events.map_or(number == 0 && found > 0, |events| events.warm[number]);
        if warm {
            // Another session has just used the head.
            cache.send(&Prompt::new(head), &[1], 1, now.began);
        } else if events.is_some() && cache.is_cold(now.began) {
            *cache = Cache::new(rules(model));
        }
        let is_lost = events.is_some_and(|events| events.lost[number]);
        let whole = now.billed.usage.prompt();
        let room = whole.saturating_sub(head);
        let mut kept = if now.is_anew || is_lost { 0 } else { steps.len() };
        // A prompt that became shorter lost something near its end: old thinking, an attachment.
        let mut total = if kept > 0 { held } else { 0 };
        while kept > 0 && total > room {
            kept -= 1;
            total -= steps[kept].tokens;
        }
        steps.truncate(kept);
        steps.push(Growth {
            number,
            tokens: room - total,
            places: now.places,
        });
        held = room;
        messages.truncate(kept);
        messages.extend(steps[kept..].iter().map(Growth::message));
        let next = Cell::new(kept);
        let change = prompt.update(&messages, kept, |part| match part {
            Part::Text(text) if text.body.is_empty() => 0,
            _ => steps[next.replace(next.get() + 1)].tokens,
        });
        let kept = change.kept;
        let places = prompt.places_before(kept);
        same.push(number, places);
        let (cache, last) = &mut caches[model];
        // The head is always the same.
        let known = if *last > 0 { same.since(*last) } else { 1 };
        let bill = cache.send(&prompt, &[1, prompt.places(), places], known, now.began);
        *last = number + 1;
        sum += cost(&cards[model], bill.usage, None);
    }
    sum
}

/// Finds the minimum of the newest numbers: only those are kept that are lower than all after them.
#[derive(Default)]
struct Lowest(Vec<(usize, usize)>);

impl Lowest {
    /// Adds a number with its position; positions only grow.
    fn push(&mut self, place: usize, number: usize) {
        while self.0.pop_if(|(_, last)| *last >= number).is_some() {}
        self.0.push((place, number));
    }

    /// Returns the minimum from this position on.
    fn since(&self, place: usize) -> usize {
        let first = self.0.partition_point(|(at, _)| *at < place);
        self.0.get(first).map_or(usize::MAX, |(_, number)| *number)
    }
}

/// The growth of a prompt since the request before.
struct Growth {
    /// The number of the request, which makes the step unique.
    number: usize,
    tokens: Tokens,
    places: usize,
}

impl Growth {
    /// Returns a message with a part per position; the first part stands for all tokens, the others are empty.
    fn message(&self) -> Arc<Message> {
        let rest = std::iter::repeat_n(Part::text(""), self.places.saturating_sub(1));
        let parts = std::iter::once(Part::text(self.number.to_string())).chain(rest);
        Arc::new(Message::new(Role::User, parts.collect()))
    }
}
