//! A provider with a cache, and conversations that are worth editing.
#![allow(dead_code)]

use crate::common::{answers, result, run, says};
use codelet_context::conversation::Conversation;
use codelet_context::economics::{Economics, Edges};
use codelet_context::message::Message;
use codelet_context::policy::CompactionConfig;
use codelet_context::price::{self, PriceCard};
use codelet_context::tokens::{Tokens, estimate_message};
use codelet_context::usage::Usage;
use std::collections::HashMap;
use std::sync::Arc;

/// What each request holds beside the messages, in tokens.
pub const OVERHEAD: Tokens = 1_500;

/// A provider with a prefix cache: entries where marks were put, or the longest prefix.
pub struct Provider {
    marks: bool,
    /// Prefixes by their messages; the memory keeps a message's address from being used again.
    entries: HashMap<Vec<usize>, ()>,
    seen: Vec<Arc<Message>>,
    last: Vec<usize>,
}

impl Provider {
    pub fn new(card: &PriceCard) -> Self {
        Provider {
            marks: card.marks.is_some(),
            entries: HashMap::new(),
            seen: Vec::new(),
            last: Vec::new(),
        }
    }

    pub fn expire(&mut self) {
        self.entries.clear();
        self.last.clear();
    }

    pub fn bill(&mut self, view: &[Arc<Message>], edges: Edges) -> Usage {
        self.seen.extend(view.iter().cloned());
        let ids: Vec<usize> = view.iter().map(|message| Arc::as_ptr(message) as usize).collect();
        let mut sums = vec![OVERHEAD];
        for message in view {
            // Ids and names of fields stand around an output.
            let frames = 16 * message.tool_results().count() as Tokens;
            sums.push(sums[sums.len() - 1] + estimate_message(message) + frames);
        }
        let whole = sums[view.len()];
        if !self.marks {
            let common = ids.iter().zip(&self.last).take_while(|(a, b)| a == b).count();
            let read = if common == 0 { 0 } else { sums[common] };
            self.last = ids;
            return Usage::from_inclusive(whole, read, 0);
        }
        let marks: Vec<usize> = [Some(1), edges.next, edges.last, Some(view.len())]
            .into_iter()
            .flatten()
            .collect();
        // Two messages a step, few blocks each: a mark looks back over about nine of them.
        let near = |mark: usize| (mark.saturating_sub(8)..=mark).rev();
        let hit = marks
            .iter()
            .flat_map(|&mark| near(mark).find(|&at| self.entries.contains_key(&ids[..at])))
            .max();
        for mark in marks {
            self.entries.insert(ids[..mark].to_vec(), ());
        }
        let read = hit.map_or(0, |at| sums[at]);
        Usage::from_exclusive(0, whole - read, read, 0)
    }
}

/// Four letters that tell a number from others.
fn word(number: u64) -> String {
    (0..4)
        .map(|at| char::from(b'a' + (number >> (5 * at)) as u8 % 26))
        .collect()
}

/// Text unlike any other, of so many bytes.
pub fn output(seed: usize, bytes: usize) -> String {
    let mut text = String::with_capacity(bytes + 40);
    let mut number = seed as u64 + 1;
    while text.len() < bytes {
        number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(99);
        text.push_str(&format!(
            "{}_{} = {};\n",
            word(number >> 24),
            word(number >> 44),
            number % 911
        ));
    }
    text.truncate(bytes);
    text
}

/// The usual economics with this price card.
pub fn under(card: &str) -> Economics {
    Economics::new(price::find(card).unwrap().clone())
}

/// A conversation with old outputs in it that nothing referred to, sent once as it stands.
pub fn stale(steps: usize) -> Conversation {
    let mut conversation = Conversation::new(CompactionConfig::new(400_000), 0);
    conversation.append(Message::system("Be brief."));
    conversation.append(Message::user("Look at everything."));
    for number in 0..steps {
        let id = format!("call_{number}");
        conversation.append(says(vec![run(&id, &format!("./look {number}"))]));
        conversation.append(answers(vec![result(&id, output(number, 4_000))]));
    }
    conversation
}
