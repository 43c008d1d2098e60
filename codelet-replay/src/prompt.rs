//! A request's prompt as a cache sees it: a sequence of positions, each identified by the hash of everything up to it.

use codelet_context::inspect::Kind;
use codelet_context::message::{Message, Part, Role};
use codelet_context::tokens::Tokens;
use std::sync::Arc;

/// Tokens of a context window by kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Occupancy {
    /// Outside the messages: tools, and a system prompt that was not recorded.
    pub(crate) fixed: Tokens,
    kinds: [Tokens; Kind::ALL.len()],
}

impl Occupancy {
    pub(crate) fn of(&self, kind: Kind) -> Tokens {
        self.kinds[kind as usize]
    }

    /// The total.
    pub fn total(&self) -> Tokens {
        self.kinds
            .iter()
            .fold(self.fixed, |sum, tokens| sum.saturating_add(*tokens))
    }

    /// Returns the same shares of `tokens`. The rounding difference is added to the largest.
    pub(crate) fn scaled_to(&self, tokens: Tokens) -> Occupancy {
        let total = u128::from(self.total());
        if total == 0 {
            return Occupancy { fixed: tokens, ..*self };
        }
        // No part exceeds the total, so no share exceeds `tokens`.
        let scale = |part: Tokens| (u128::from(part) * u128::from(tokens) / total) as Tokens;
        let mut scaled = Occupancy {
            fixed: scale(self.fixed),
            kinds: self.kinds.map(scale),
        };
        let missing = tokens - scaled.total();
        let parts = std::iter::once(&mut scaled.fixed).chain(&mut scaled.kinds);
        if let Some(largest) = parts.max_by_key(|part| **part) {
            *largest += missing;
        }
        scaled
    }
}

/// A position: a part of a message, or everything before all messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Place {
    /// The hash of everything up to and including it.
    chain: u64,
    /// Tokens up to and including it.
    end: Tokens,
    kind: Option<Kind>,
}

/// A prompt. It is updated by its changes, so the cost of a step is proportional to what is new.
#[derive(Clone, Debug)]
pub struct Prompt {
    places: Vec<Place>,
    /// For each message, the number of positions up to and including it.
    ends: Vec<usize>,
    messages: Vec<Arc<Message>>,
    /// The number of system messages at the front.
    system: usize,
    occupancy: Occupancy,
}

/// The changes to a prompt's messages in an update.
#[derive(Clone, Debug, Default)]
pub struct Change {
    /// The number of unchanged messages at the front.
    pub kept: usize,
    /// The messages that followed them before.
    pub(crate) gone: Vec<Arc<Message>>,
}

impl Prompt {
    /// Returns a prompt with only the fixed content of every request.
    pub fn new(fixed: Tokens) -> Self {
        let place = Place {
            chain: mix(0, fixed),
            end: fixed,
            kind: None,
        };
        Prompt {
            places: vec![place],
            ends: Vec::new(),
            messages: Vec::new(),
            system: 0,
            occupancy: Occupancy {
                fixed,
                ..Occupancy::default()
            },
        }
    }

    /// Updates the messages to what would be sent now. The first `same` of them are known to be unchanged; `weigh`
    /// returns the size of a part, in tokens.
    pub fn update(&mut self, shown: &[Arc<Message>], same: usize, weigh: impl Fn(&Part) -> Tokens) -> Change {
        let most = shown.len().min(self.messages.len());
        let mut kept = same.min(most);
        while kept < most && is_same(&shown[kept], &self.messages[kept]) {
            kept += 1;
        }
        let gone = self.truncate(kept);
        for message in &shown[kept..] {
            self.push(message.clone(), &weigh);
        }
        Change { kept, gone }
    }

    fn truncate(&mut self, messages: usize) -> Vec<Arc<Message>> {
        let places = self.places_before(messages);
        while self.places.len() > places {
            let Some(place) = self.places.pop() else { break };
            if let Some(kind) = place.kind {
                self.occupancy.kinds[kind as usize] -= place.end - self.tokens();
            }
        }
        self.ends.truncate(messages);
        self.system = self.system.min(messages);
        self.messages.split_off(messages)
    }

    fn push(&mut self, message: Arc<Message>, weigh: &impl Fn(&Part) -> Tokens) {
        for part in &message.parts {
            let tokens = weigh(part);
            let kind = Kind::of(message.role, part);
            let chain = self.places.last().map_or(0, |last| last.chain);
            self.occupancy.kinds[kind as usize] += tokens;
            self.places.push(Place {
                chain: mix(chain, identity(message.role, part)),
                end: self.tokens() + tokens,
                kind: Some(kind),
            });
        }
        self.ends.push(self.places.len());
        if message.role == Role::System && self.system == self.messages.len() {
            self.system += 1;
        }
        self.messages.push(message);
    }

    /// Returns the number of positions before the message at this index.
    pub fn places_before(&self, message: usize) -> usize {
        match message.checked_sub(1) {
            Some(last) => self.ends.get(last).copied().unwrap_or(self.places.len()),
            None => 1,
        }
    }

    /// The messages.
    pub fn messages(&self) -> &[Arc<Message>] {
        &self.messages
    }

    /// Returns the number of positions up to the end of the system prompt.
    pub(crate) fn system_places(&self) -> usize {
        self.places_before(self.system)
    }

    /// The number of positions.
    pub fn places(&self) -> usize {
        self.places.len()
    }

    /// The total number of tokens.
    pub fn tokens(&self) -> Tokens {
        self.places.last().map_or(0, |place| place.end)
    }

    /// Returns the tokens up to and including the position at this index.
    pub(crate) fn tokens_to(&self, place: usize) -> Tokens {
        self.places.get(place).map_or_else(|| self.tokens(), |place| place.end)
    }

    /// Returns the hash of everything up to and including the position at this index.
    pub fn chain(&self, place: usize) -> Option<u64> {
        self.places.get(place).map(|place| place.chain)
    }

    /// Returns the tokens by kind.
    pub fn occupancy(&self) -> Occupancy {
        self.occupancy
    }
}

/// Returns whether two messages are sent as the same bytes. A shared allocation cannot have changed.
fn is_same(a: &Arc<Message>, b: &Arc<Message>) -> bool {
    Arc::ptr_eq(a, b) || a == b
}

fn identity(role: Role, part: &Part) -> u64 {
    let text = |bytes: &[u8]| {
        let fold = |hash: u64, eight: &[u8]| {
            let mut word = [0; 8];
            word[..eight.len()].copy_from_slice(eight);
            mix(hash, u64::from_le_bytes(word))
        };
        bytes.chunks(8).fold(bytes.len() as u64, fold)
    };
    let own = match part {
        Part::Text(words) => mix(1, words.body.hash()),
        Part::Thinking(thinking) => {
            let proof = |proof: &Option<Arc<str>>| proof.as_ref().map_or(0, |proof| text(proof.as_bytes()));
            [proof(&thinking.signature), proof(&thinking.redacted)]
                .into_iter()
                .fold(mix(2, thinking.body.hash()), mix)
        }
        Part::Image(image) => mix(3, image.data.hash()),
        Part::ToolCall(call) => [
            text(call.id.as_bytes()),
            text(call.tool.as_bytes()),
            call.parameters.json().hash(),
        ]
        .into_iter()
        .fold(4, mix),
        Part::ToolResult(result) => {
            let error = result.error.as_ref().map_or(0, |error| error.hash());
            let head = [text(result.call_id.as_bytes()), error].into_iter().fold(5, mix);
            result
                .output
                .iter()
                .fold(head, |hash, part| mix(hash, identity(role, part)))
        }
        Part::Opaque(opaque) => mix(6, text(opaque.value.to_string().as_bytes())),
    };
    mix(own, role as u64)
}

/// Mixes two numbers into one that depends on both (the finalizer of SplitMix64).
fn mix(a: u64, b: u64) -> u64 {
    let mut x = a.rotate_left(27).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ b.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}
