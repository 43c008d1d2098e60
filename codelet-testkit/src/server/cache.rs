//! A prefix cache that follows the vendors' rules and provides the reported usage.

use super::script::Billed;
use super::segment::{Place, Segment, Ttl};
use super::window::tokens;
use super::wire::{Wire, hash};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The parameters of the vendors' rules.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CacheRules {
    /// Minimum length of a cached prefix, in tokens.
    pub minimum: u64,
    /// On a wire with cache marks: the number of blocks tried for each mark, including the marked one.
    pub look_back: usize,
    /// On a wire without marks: reads are multiples of this many tokens.
    pub grain: u64,
    /// On a wire without marks: the lifetime of an unused prefix.
    pub idle: Duration,
}

impl Default for CacheRules {
    /// The vendors' documented values: 1,024 tokens, 20 blocks, 128 tokens; OpenAI documents 5 to 10 minutes.
    fn default() -> Self {
        CacheRules {
            minimum: 1_024,
            look_back: 20,
            grain: 128,
            idle: Duration::from_secs(600),
        }
    }
}

/// The cache's clock. It only advances when a test moves it; clones share the time.
#[derive(Clone, Debug, Default)]
pub struct Clock(Arc<AtomicU64>);

impl Clock {
    /// A clock at zero.
    pub fn new() -> Self {
        Clock::default()
    }

    /// Advances the time.
    pub fn advance(&self, by: Duration) {
        let millis = u64::try_from(by.as_millis()).unwrap_or(u64::MAX);
        self.0.fetch_add(millis, Ordering::SeqCst);
    }

    /// The time since the clock's start.
    pub fn now(&self) -> Duration {
        Duration::from_millis(self.0.load(Ordering::SeqCst))
    }
}

/// The prefixes sent before, by their hashes.
#[derive(Debug, Default)]
pub(super) struct Cache {
    entries: HashMap<u64, Entry>,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    used: Duration,
    lives: Duration,
}

/// The result of looking a request up: its cache hits, and the entries that it would create.
#[derive(Debug)]
pub(super) struct Look {
    /// The prompt's part of the bill.
    pub usage: Billed,
    leaves: Vec<(u64, Duration)>,
}

/// A request as the cache sees it.
pub(super) struct Asked<'a> {
    pub wire: Wire,
    pub model: &'a str,
    /// A hash of the settings that invalidate cached messages, but not tools or the system prompt.
    pub settings: u64,
    pub segments: &'a [Segment],
    /// The hashes of the segments' prefixes.
    pub chain: &'a [u64],
    /// Tokens per four bytes.
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

    /// Stores the entries of an accepted request, and refreshes those that it used.
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

    /// Anthropic: entries exist at marks; each mark looks back over the preceding blocks.
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

    /// The others: the longest prefix that was ever sent, rounded down to whole grains.
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

/// Bytes compared at once on wires without marks: finer than any grain of tokens.
const CHUNK: usize = 256;
/// Bytes taken at once from a segment, so that chunks end at the same bytes regardless of segment boundaries.
const STEP: usize = 32;

fn lives(ttl: Ttl) -> Duration {
    match ttl {
        Ttl::Minutes5 => Duration::from_secs(300),
        Ttl::Hour => Duration::from_secs(3_600),
    }
}

/// The cumulative tokens including each segment.
fn sizes(asked: &Asked) -> Vec<u64> {
    let mut bytes = 0;
    let size = |segment: &Segment| {
        bytes += segment.weight;
        tokens(bytes, asked.factor)
    };
    asked.segments.iter().map(size).collect()
}
