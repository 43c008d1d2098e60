//! The bill for a sequence of requests under a vendor's prompt cache, computed from their bytes.
//!
//! Anthropic stores a prefix up to each mark, and a mark finds entries that end at its own block or one of the 19
//! before it; an entry expires if it is not used for its lifetime, counted from its last use; prefixes shorter than the
//! model's minimum are not stored. OpenAI finds the longest common prefix with the previous request, in grains of 128
//! tokens.

use super::sessions::Weigher;
use bytes::Bytes;
use codelet_context::price::PriceCard;
use codelet_context::tokens::Tokens;
use codelet_context::usage::Usage;
use codelet_gateway::Api;
use codelet_transcript::Listed;
use codelet_transcript::vendor::list_of;
use serde_json::Value;
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::ops::Range;
use std::rc::Rc;

const LOOK_BACK: usize = 20;
const GRAIN: Tokens = 128;
const MARK: &str = "cache_control";

/// A block of a request.
#[derive(Clone, Copy)]
struct Block {
    id: u64,
    tokens: f64,
    is_marked: bool,
}

/// The bill so far.
pub struct Bill<'a> {
    card: &'a PriceCard,
    api: Api,
    weigher: Weigher,
    /// Tokens before the conversation.
    fixed: Tokens,
    hasher: RandomState,
    known: HashMap<Box<[u8]>, Rc<[Block]>>,
    /// The last request, and the positions of its items.
    body: Bytes,
    items: Vec<(Range<usize>, Rc<[Block]>)>,
    /// The time of the last use of each stored prefix, by the hash of its last block and all before it.
    kept: HashMap<u64, u64>,
    /// The block chain of the last request, and its time.
    last: (Vec<u64>, u64),
    /// The cost in dollars.
    pub dollars: f64,
    /// The tokens of the last prompt and its reply.
    pub context: Tokens,
    /// The tokens of all prompts, and those read from the cache.
    pub prompts: (Tokens, Tokens),
}

impl<'a> Bill<'a> {
    pub fn new(card: &'a PriceCard, api: Api, weigher: Weigher, fixed: Tokens) -> Self {
        Bill {
            card,
            api,
            weigher,
            fixed,
            hasher: RandomState::new(),
            known: HashMap::new(),
            body: Bytes::new(),
            items: Vec::new(),
            kept: HashMap::new(),
            last: (Vec::new(), 0),
            dollars: 0.0,
            context: 0,
            prompts: (0, 0),
        }
    }

    /// The tokens of a request's prompt.
    pub fn weigh(&mut self, body: &Bytes) -> Tokens {
        let blocks = self.blocks(body);
        self.fixed + blocks.iter().map(|block| block.tokens).sum::<f64>() as Tokens
    }

    /// Adds a request at `now` in milliseconds with a reply of `output` tokens. Returns false if they do not fit into
    /// the window.
    pub fn request(&mut self, body: &Bytes, output: Tokens, now: u64, window: Tokens) -> bool {
        let blocks = self.blocks(body);
        let mut chain = self.hasher.hash_one("what stands before the conversation");
        let mut tokens = self.fixed as f64;
        // By position: the chain up to there, its tokens, and whether it is marked. The client marks everything before
        // the conversation.
        let mut places = vec![(chain, tokens, true)];
        for block in &blocks {
            chain = self.hasher.hash_one((chain, block.id));
            tokens += block.tokens;
            places.push((chain, tokens, block.is_marked));
        }
        let prompt = tokens as Tokens;
        if prompt + output > window {
            return false;
        }
        let (read, kept) = match self.card.marks {
            Some(_) => self.by_marks(&places, now),
            None => (self.by_prefix(&places, now), prompt),
        };
        let (read, kept) = (read.min(prompt), kept.min(prompt).max(read));
        let usage = Usage {
            fresh: prompt - kept,
            cache_read: read,
            cache_write: kept - read,
            output,
        };
        let written_for_an_hour = match self.card.expires_after().as_secs() {
            3_600 => usage.cache_write,
            _ => 0,
        };
        self.dollars += self.card.cost(usage, written_for_an_hour);
        self.context = prompt + output;
        self.prompts = (self.prompts.0 + prompt, self.prompts.1 + read);
        self.last = (places.into_iter().map(|(chain, ..)| chain).collect(), now);
        true
    }

    fn by_marks(&mut self, places: &[(u64, f64, bool)], now: u64) -> (Tokens, Tokens) {
        let lives = self.card.expires_after().as_millis() as u64;
        let least = self.card.minimum as f64;
        let marked = || (0..places.len()).filter(|&place| places[place].2 && places[place].1 >= least);
        let is_alive = |place: &usize| {
            let used = self.kept.get(&places[*place].0);
            used.is_some_and(|&used| now.saturating_sub(used) <= lives)
        };
        let found = |mark: usize| {
            let first = (mark + 1).saturating_sub(LOOK_BACK);
            (first..=mark).rev().find(is_alive)
        };
        let hit = marked().filter_map(found).max();
        let used: Vec<usize> = marked().chain(hit).collect();
        for place in &used {
            self.kept.insert(places[*place].0, now);
        }
        let tokens = |place: usize| places[place].1 as Tokens;
        (hit.map_or(0, tokens), marked().next_back().map_or(0, tokens))
    }

    fn by_prefix(&self, places: &[(u64, f64, bool)], now: u64) -> Tokens {
        let (last, then) = &self.last;
        if now.saturating_sub(*then) > self.card.expires_after().as_millis() as u64 {
            return 0;
        }
        let same = last.iter().zip(places).take_while(|(last, place)| **last == place.0);
        let common = same.last().map_or(0, |(_, place)| place.1 as Tokens) / GRAIN * GRAIN;
        if common >= self.card.minimum { common } else { 0 }
    }

    /// The blocks of a request. A beginning shared with the previous request is not parsed again.
    fn blocks(&mut self, body: &Bytes) -> Vec<Block> {
        let last = std::mem::take(&mut self.body);
        let is_same = |(range, _): &&(Range<usize>, Rc<[Block]>)| {
            let next = body.get(range.end).is_some_and(|byte| matches!(byte, b',' | b']'));
            next && body[range.clone()] == last[range.clone()]
        };
        let same = self.items.iter().take_while(is_same).count();
        let is_same_head = |(range, _): &(Range<usize>, _)| last[..range.start] == body[..range.start];
        let same = if self.items.first().is_some_and(is_same_head) {
            same
        } else {
            0
        };
        self.items.truncate(same);
        let list = list_of(self.api.format());
        let (head, from) = match self.items.last() {
            // The bracket or comma after the known part precedes the rest.
            Some((known, _)) => (format!("{{\"{list}\":["), known.end + 1),
            None => (String::new(), 0),
        };
        let rest = [head.as_bytes(), &body[from.min(body.len())..]].concat();
        if let Some(listed) = Listed::of(&rest, self.api.format()) {
            for range in listed.items {
                let item = &rest[range.clone()];
                let known = match self.known.get(item) {
                    Some(known) => known.clone(),
                    None => {
                        let read: Rc<[Block]> = self.read(item).into();
                        self.known.insert(item.into(), read.clone());
                        read
                    }
                };
                let place = |at: usize| at + from - head.len();
                self.items.push((place(range.start)..place(range.end), known));
            }
        }
        self.body = body.clone();
        self.items
            .iter()
            .flat_map(|(_, blocks)| blocks.iter().copied())
            .collect()
    }

    /// The blocks of an item; a content that is a string is one block.
    fn read(&self, item: &[u8]) -> Vec<Block> {
        let tokens = self.weigher.item(item, self.api);
        let whole = |is_marked| Block {
            id: self.hasher.hash_one(item),
            tokens,
            is_marked,
        };
        let Ok(mut value) = serde_json::from_slice::<Value>(item) else {
            return vec![whole(false)];
        };
        if self.card.marks.is_none() {
            return vec![whole(false)];
        }
        let role = value["role"].to_string();
        let blocks = match value["content"].take() {
            Value::Array(blocks) => blocks,
            text => vec![serde_json::json!({"type": "text", "text": text})],
        };
        let mut read = Vec::new();
        let mut bytes = Vec::new();
        for mut block in blocks {
            let is_marked = block
                .as_object_mut()
                .is_some_and(|fields| fields.shift_remove(MARK).is_some());
            let json = block.to_string();
            read.push((self.hasher.hash_one((&role, &json)), is_marked));
            bytes.push(json.len() as f64);
        }
        let all: f64 = bytes.iter().sum();
        let blocks = read.into_iter().zip(bytes);
        blocks
            .map(|((id, is_marked), bytes)| Block {
                id,
                tokens: tokens * bytes / all.max(1.0),
                is_marked,
            })
            .collect()
    }
}
