//! Models a provider's prompt cache: which tokens of a prompt are read from it, and which are written.
//!
//! With cache marks, entries exist where marks were set; a mark finds an entry at its own position or at one of the
//! positions before it that are tried. Without marks, the longest common prefix with the last request is found. An
//! entry lives for a time counted from the start of the last request that wrote or used it.

use crate::prompt::Prompt;
use codelet_context::price::PriceCard;
use codelet_context::tokens::Tokens;
use codelet_context::usage::Usage;
use std::collections::HashMap;

/// The number of positions tried for each mark, including the marked one (Anthropic documents 20).
pub const LOOK_BACK: usize = 20;

/// The rules of a cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rules {
    /// The maximum number of marks in a request; `None` if the longest prefix is found without marks.
    pub marks: Option<usize>,
    /// The minimum length of a cached prefix, in tokens.
    pub minimum: Tokens,
    /// The lifetime of an entry, in milliseconds.
    pub lives: u64,
    /// True if writing costs more than uncached input, and is billed separately.
    pub bills_writes: bool,
}

impl Rules {
    /// Returns the rules of a price card, for the lifetime that it is used with.
    pub(crate) fn of(card: &PriceCard) -> Self {
        Rules {
            marks: card.marks.map(|marks| marks as usize),
            minimum: card.minimum,
            lives: u64::try_from(card.expires_after().as_millis()).unwrap_or(u64::MAX),
            bills_writes: card.marks.is_some() || card.write() > card.rates.input,
        }
    }
}

/// The entries that earlier requests left.
#[derive(Clone, Debug)]
pub struct Cache {
    rules: Rules,
    /// The last use of the entry that ends with this chain.
    entries: HashMap<u64, u64>,
    /// The start of the last request.
    last: Option<u64>,
}

/// The cache reads and writes of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Bill {
    /// The prompt's three counts; no output.
    pub usage: Usage,
    /// Tokens of the prompt that a later request may find.
    pub(crate) kept: Tokens,
    /// True if the time since the last request exceeds the lifetime of entries.
    pub(crate) is_cold: bool,
}

impl Cache {
    /// Returns an empty cache.
    pub fn new(rules: Rules) -> Self {
        Cache {
            rules,
            entries: HashMap::new(),
            last: None,
        }
    }

    /// Returns whether the last request's entries have expired at this time.
    pub(crate) fn is_cold(&self, now: u64) -> bool {
        self.last
            .is_some_and(|last| now.saturating_sub(last) > self.rules.lives)
    }

    /// Sends a prompt. `marks` are counts of positions, each for a mark after the last of them; the last ones in the
    /// list are dropped if there are too many. `same` is the number of positions in common with the request before.
    /// `now` is the start of the request, in milliseconds; time never runs backwards.
    pub fn send(&mut self, prompt: &Prompt, marks: &[usize], same: usize, now: u64) -> Bill {
        let now = now.max(self.last.unwrap_or(0));
        let is_cold = self.is_cold(now);
        let (read, kept) = match self.rules.marks {
            Some(most) => self.by_marks(prompt, &marks[..marks.len().min(most)], now),
            None => self.by_prefix(prompt, same, is_cold),
        };
        self.last = Some(now);
        let whole = prompt.tokens();
        let written = kept.max(read) - read;
        let usage = if self.rules.bills_writes {
            Usage {
                fresh: whole - read - written,
                cache_read: read,
                cache_write: written,
                output: 0,
            }
        } else {
            Usage::from_inclusive(whole, read, 0)
        };
        Bill {
            usage,
            kept: kept.max(read),
            is_cold,
        }
    }

    fn by_marks(&mut self, prompt: &Prompt, marks: &[usize], now: u64) -> (Tokens, Tokens) {
        let marked = || {
            let places = marks.iter().filter_map(|count| count.checked_sub(1));
            places.filter(|&place| place < prompt.places() && prompt.tokens_to(place) >= self.rules.minimum)
        };
        let is_alive = |place: usize| {
            let used = prompt.chain(place).and_then(|chain| self.entries.get(&chain));
            used.is_some_and(|&used| now.saturating_sub(used) <= self.rules.lives)
        };
        let found = |mark: usize| {
            let first = (mark + 1).saturating_sub(LOOK_BACK);
            (first..=mark).rev().find(|&place| is_alive(place))
        };
        let hit = marked().filter_map(found).max();
        let read = hit.map_or(0, |place| prompt.tokens_to(place));
        let kept = marked().map(|place| prompt.tokens_to(place)).max().unwrap_or(0);
        let used: Vec<u64> = marked().chain(hit).filter_map(|place| prompt.chain(place)).collect();
        for chain in used {
            self.entries.insert(chain, now);
        }
        (read, kept)
    }

    fn by_prefix(&self, prompt: &Prompt, same: usize, is_cold: bool) -> (Tokens, Tokens) {
        let least = |tokens: Tokens| if tokens >= self.rules.minimum { tokens } else { 0 };
        let common = match (self.last, same.min(prompt.places()).checked_sub(1)) {
            (Some(_), Some(place)) if !is_cold => least(prompt.tokens_to(place)),
            _ => 0,
        };
        (common, least(prompt.tokens()))
    }
}
