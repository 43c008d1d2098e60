//! A prefix cache by the vendors' rules, from which the usage in replies is reported.

use super::script::Billed;
use super::segment::{Place, Segment, Ttl};
use super::window::tokens;
use super::wire::{Wire, hash};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The figures in the vendors' rules.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CacheRules {
    /// The shortest prefix that is cached, in tokens.
    pub minimum: u64,
    /// On a wire with marks: how many blocks are tried for each, the marked one among them.
    pub look_back: usize,
    /// On a wire without marks: reads are multiples of so many tokens.
    pub grain: u64,
    /// On a wire without marks: how long an unused prefix lives.
    pub idle: Duration,
}

impl Default for CacheRules {
    /// As the vendors document them: 1,024 tokens, 20 blocks, 128 tokens; OpenAI names 5 to 10 minutes.
    fn default() -> Self {
        CacheRules {
            minimum: 1_024,
            look_back: 20,
            grain: 128,
            idle: Duration::from_secs(600),
        }
    }
}

/// The cache's time. It stands still until a test moves it; a clone is the same clock.
#[derive(Clone, Debug, Default)]
pub struct Clock(Arc<AtomicU64>);

impl Clock {
    /// A clock at zero.
    pub fn new() -> Self {
        Clock::default()
    }

    /// Lets time pass.
    pub fn advance(&self, by: Duration) {
        let millis = u64::try_from(by.as_millis()).unwrap_or(u64::MAX);
        self.0.fetch_add(millis, Ordering::SeqCst);
    }

    /// The time since the clock's start.
    pub fn now(&self) -> Duration {
        Duration::from_millis(self.0.load(Ordering::SeqCst))
    }
}

/// What was sent before, by the hashes of its prefixes.
#[derive(Debug, Default)]
pub(super) struct Cache {
    entries: HashMap<u64, Entry>,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    used: Duration,
    lives: Duration,
}

/// What a request finds in the cache and would leave there.
#[derive(Debug)]
pub(super) struct Look {
    /// The prompt's side of the bill.
    pub usage: Billed,
    leaves: Vec<(u64, Duration)>,
}

/// A request as the cache sees it.
pub(super) struct Asked<'a> {
    pub wire: Wire,
    pub model: &'a str,
    /// A hash of the settings with which cached messages, but neither tools nor system, stand and fall.
    pub settings: u64,
    pub segments: &'a [Segment],
    /// The hashes of the segments' prefixes.
    pub chain: &'a [u64],
    /// Tokens of four bytes.
    pub factor: f64,
}

impl Cache {
    /// Looks a request up. Nothing changes until [`Cache::keep`].
    pub fn look(&self, rules: &CacheRules, asked: &Asked, now: Duration) -> Look {
        match asked.wire {
            Wire::Anthropic => self.by_marks(rules, asked, now),
            Wire::Chat | Wire::Responses | Wire::Gemini => self.by_prefix(rules, asked, now),
        }
    }

    /// Enters what an accepted request leaves. Entries that were used are fresh again.
    pub fn keep(&mut self, look: &Look, now: Duration) {
        for &(key, lives) in &look.leaves {
            let entry = self.entries.entry(key).or_insert(Entry { used: now, lives });
            if now.saturating_sub(entry.used) > entry.lives {
                entry.lives = lives;
            }
            entry.used = now;
        }
    }

    fn holds(&self, key: u64, now: Duration) -> bool {
        let entry = self.entries.get(&key);
        entry.is_some_and(|entry| now.saturating_sub(entry.used) <= entry.lives)
    }

    /// Anthropic: entries exist at marks; each mark looks back over the blocks before it.
    fn by_marks(&self, rules: &CacheRules, asked: &Asked, now: Duration) -> Look {
        let sizes = sizes(asked);
        let key = |index: usize| {
            let settings = match asked.segments[index].place {
                Place::Message(_) => asked.settings,
                Place::Tools | Place::System => 0,
            };
            hash(&(asked.model, settings, asked.chain[index]))
        };
        let marks: Vec<(usize, Ttl)> = asked
            .segments
            .iter()
            .enumerate()
            .filter_map(|(index, segment)| {
                let mark = segment.mark?;
                (sizes[index] >= rules.minimum).then_some((index, mark))
            })
            .collect();
        let found = |&(mark, _): &(usize, Ttl)| {
            let first = (mark + 1).saturating_sub(rules.look_back);
            (first..=mark).rev().find(|&index| self.holds(key(index), now))
        };
        let hit = marks.iter().filter_map(found).max();
        let read = hit.map_or(0, |index| sizes[index]);
        let edge = |wanted: Option<Ttl>| {
            let of_kind = marks
                .iter()
                .filter(|(_, ttl)| wanted.is_none_or(|wanted| *ttl == wanted));
            of_kind.map(|&(index, _)| sizes[index]).max().unwrap_or(0)
        };
        let (hour, last) = (edge(Some(Ttl::Hour)).max(read), edge(None).max(read));
        let mut leaves: Vec<(u64, Duration)> = marks.iter().map(|&(index, ttl)| (key(index), lives(ttl))).collect();
        leaves.extend(hit.map(|index| (key(index), Duration::ZERO)));
        Look {
            usage: Billed {
                fresh: sizes.last().copied().unwrap_or(0) - last,
                cache_read: read,
                write_5m: last - hour,
                write_1h: hour - read,
                ..Billed::default()
            },
            leaves,
        }
    }

    /// The others: the longest prefix that was ever sent, in whole grains.
    fn by_prefix(&self, rules: &CacheRules, asked: &Asked, now: Duration) -> Look {
        let sizes = sizes(asked);
        let prompt = sizes.last().copied().unwrap_or(0);
        let mut leaves = Vec::new();
        let mut common = 0.0;
        let mut broken = false;
        let mut link = hash(asked.model);
        let mut chunk: Vec<u8> = Vec::with_capacity(CHUNK);
        let mut before = 0_u64;
        for segment in asked.segments {
            for (start, piece) in (0..).step_by(STEP).zip(segment.bytes.chunks(STEP)) {
                chunk.extend_from_slice(piece);
                if chunk.len() < CHUNK {
                    continue;
                }
                link = hash(&(link, &chunk));
                chunk.clear();
                leaves.push((link, rules.idle));
                broken |= !self.holds(link, now);
                if !broken {
                    let share = (start + piece.len()) as f64 / segment.bytes.len() as f64;
                    common = before as f64 + share * segment.weight as f64;
                }
            }
            before += segment.weight;
        }
        let common = tokens(common as u64, asked.factor) / rules.grain.max(1) * rules.grain.max(1);
        let read = if common >= rules.minimum { common.min(prompt) } else { 0 };
        if prompt < rules.minimum {
            leaves.clear();
        }
        Look {
            usage: Billed {
                fresh: prompt - read,
                cache_read: read,
                ..Billed::default()
            },
            leaves,
        }
    }
}

/// Bytes that are compared at once on wires without marks: finer than any grain of tokens.
const CHUNK: usize = 256;
/// Bytes that are taken at once from a segment. Chunks then end at the same bytes wherever segments do.
const STEP: usize = 32;

fn lives(ttl: Ttl) -> Duration {
    match ttl {
        Ttl::Minutes5 => Duration::from_secs(300),
        Ttl::Hour => Duration::from_secs(3_600),
    }
}

/// The tokens up to and with each segment.
fn sizes(asked: &Asked) -> Vec<u64> {
    let mut bytes = 0;
    let size = |segment: &Segment| {
        bytes += segment.weight;
        tokens(bytes, asked.factor)
    };
    asked.segments.iter().map(size).collect()
}
