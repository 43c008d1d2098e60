//! A request's prompt as a cache sees it: places in a row, each known by the hash of everything up to it.

use codelet_context::inspect::Kind;
use codelet_context::message::{Message, Part, Role};
use codelet_context::tokens::Tokens;
use std::sync::Arc;

/// Tokens of a window by what they are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Occupancy {
    /// Beside the messages: tools, and a system prompt that was not recorded.
    pub(crate) fixed: Tokens,
    kinds: [Tokens; Kind::ALL.len()],
}

impl Occupancy {
    /// The tokens of one kind.
    pub(crate) fn of(&self, kind: Kind) -> Tokens {
        self.kinds[kind as usize]
    }

    /// All of them.
    pub fn total(&self) -> Tokens {
        self.kinds
            .iter()
            .fold(self.fixed, |sum, tokens| sum.saturating_add(*tokens))
    }

    /// The same shares of so many tokens. What is lost by rounding is counted to the largest.
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

/// One place: a part of a message, or what stands before all messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Place {
    /// The hash of everything up to and with it.
    chain: u64,
    /// Tokens up to and with it.
    end: Tokens,
    kind: Option<Kind>,
}

/// A prompt. It is brought up to date by what changed, so a step costs what is new in it.
#[derive(Clone, Debug)]
pub struct Prompt {
    places: Vec<Place>,
    /// How many places there are up to and with each message.
    ends: Vec<usize>,
    messages: Vec<Arc<Message>>,
    /// How many messages at the front are the system's.
    system: usize,
    occupancy: Occupancy,
}

/// What became of a prompt's messages when it was brought up to date.
#[derive(Clone, Debug, Default)]
pub struct Change {
    /// How many messages at the front are the same.
    pub kept: usize,
    /// Those that stood behind them.
    pub(crate) gone: Vec<Arc<Message>>,
}

impl Prompt {
    /// Nothing but what stands in every request.
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

    /// Takes over the messages as they would be sent now. The first `same` of them are known to be what they were; `weigh`
    /// says what a part weighs, in tokens.
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

    /// How many places stand before the message of this index.
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

    /// How many places stand up to the end of the system prompt.
    pub(crate) fn system_places(&self) -> usize {
        self.places_before(self.system)
    }

    /// How many places there are.
    pub fn places(&self) -> usize {
        self.places.len()
    }

    /// The tokens of all of it.
    pub fn tokens(&self) -> Tokens {
        self.places.last().map_or(0, |place| place.end)
    }

    /// The tokens up to and with the place of this index.
    pub(crate) fn tokens_to(&self, place: usize) -> Tokens {
        self.places.get(place).map_or_else(|| self.tokens(), |place| place.end)
    }

    /// The hash of everything up to and with the place of this index.
    pub fn chain(&self, place: usize) -> Option<u64> {
        self.places.get(place).map(|place| place.chain)
    }

    /// What fills it.
    pub fn occupancy(&self) -> Occupancy {
        self.occupancy
    }
}

/// Whether two messages are sent as the same bytes. The same allocation cannot have changed, since the prompt holds it.
fn is_same(a: &Arc<Message>, b: &Arc<Message>) -> bool {
    Arc::ptr_eq(a, b) || a == b
}

/// A hash that a part has for the cache: what is sent of it.
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

/// Two numbers as one that either of them changes (the finaliser of SplitMix64).
fn mix(a: u64, b: u64) -> u64 {
    let mut x = a.rotate_left(27).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ b.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}
