//! Finds what the assistant repeats later: the references that show whether content was needed.
//!
//! An item is a name in the engine's sense (a file, an identifier, a number, a hyphenated term). A step refers to it if
//! the reply contains it, an earlier message contains it, and the system prompt does not. An item that occurs in more
//! than 30 % of the messages of a conversation is part of its vocabulary, and nobody has to remember it. A reference in
//! the parameters of a call counts three times, one in text or thinking once.

use crate::names;
use codelet_context::message::{Message, Part, Role};
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

/// Items in a larger share of the messages are vocabulary.
const COMMON: f64 = 0.3;
/// Conversations with fewer messages have no vocabulary yet.
const FEW: usize = 10;
/// The weight of a reference in the parameters of a call: acting on something wrong is worse than saying it.
const IN_CALL: u32 = 3;

/// An item that a reply refers to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reference {
    pub(crate) item: u32,
    /// Its weight.
    pub(crate) weight: u32,
    /// The last place where it occurred before: message and part.
    pub(crate) source: (u32, u32),
}

/// The references of a conversation, and the messages that hold what they refer to.
#[derive(Clone, Debug, Default)]
pub struct References {
    /// The references of each request.
    pub(crate) by_request: Vec<Vec<Reference>>,
    /// The items of each message, only those that are ever referred to.
    by_message: Vec<Vec<u32>>,
    /// The message's index, by its address in memory.
    by_place: HashMap<usize, u32>,
    numbers: HashMap<u64, u32>,
}

/// Names in one message, each with its part and whether that is a call.
type Said = Vec<(u64, u32, bool)>;

impl References {
    /// Finds the references of a conversation, given the messages of each reply.
    pub(crate) fn of(messages: &[Arc<Message>], replies: impl Iterator<Item = Range<usize>>) -> Self {
        let said: Vec<Said> = messages.iter().map(|message| names_of(message)).collect();
        let mut in_messages: HashMap<u64, u32> = HashMap::new();
        let mut in_system: HashSet<u64> = HashSet::new();
        for (message, said) in messages.iter().zip(&said) {
            let distinct: HashSet<u64> = said.iter().map(|&(name, ..)| name).collect();
            if message.role == Role::System {
                in_system.extend(&distinct);
            }
            distinct
                .into_iter()
                .for_each(|name| *in_messages.entry(name).or_default() += 1);
        }
        let limit = match messages.len() {
            count if count < FEW => u32::MAX,
            count => (count as f64 * COMMON) as u32,
        };
        let is_vocabulary = |name: &u64| in_system.contains(name) || in_messages.get(name).is_some_and(|&n| n > limit);

        let mut found = References::default();
        let mut last: HashMap<u64, (u32, u32)> = HashMap::new();
        let mut known = 0;
        for reply in replies {
            for (index, said) in said.iter().enumerate().take(reply.start).skip(known) {
                last.extend(said.iter().map(|&(name, part, _)| (name, (index as u32, part))));
            }
            known = reply.start;
            let mut weights: HashMap<u64, u32> = HashMap::new();
            let mut order = Vec::new();
            for &(name, _, in_call) in said[reply].iter().flatten() {
                if !last.contains_key(&name) || is_vocabulary(&name) {
                    continue;
                }
                let weight = if in_call { IN_CALL } else { 1 };
                let known = weights.entry(name).or_insert_with(|| {
                    order.push(name);
                    0
                });
                *known = (*known).max(weight);
            }
            let references = order.into_iter().map(|name| {
                let next = found.numbers.len() as u32;
                let (message, part) = last[&name];
                Reference {
                    item: *found.numbers.entry(name).or_insert(next),
                    weight: weights[&name],
                    source: (message, part),
                }
            });
            let references = references.collect();
            found.by_request.push(references);
        }
        for (index, (message, said)) in messages.iter().zip(&said).enumerate() {
            found.by_place.insert(Arc::as_ptr(message) as usize, index as u32);
            found.by_message.push(found.numbered(said));
        }
        found
    }

    fn numbered(&self, said: &Said) -> Vec<u32> {
        let mut items: Vec<u32> = said
            .iter()
            .filter_map(|(name, ..)| self.numbers.get(name).copied())
            .collect();
        items.sort_unstable();
        items.dedup();
        items
    }

    /// Calls `each` with every item in a message that is ever referred to.
    pub(crate) fn for_each(&self, message: &Arc<Message>, mut each: impl FnMut(u32)) {
        match self.by_place.get(&(Arc::as_ptr(message) as usize)) {
            Some(&index) => self.by_message[index as usize].iter().copied().for_each(each),
            None => self.numbered(&names_of(message)).into_iter().for_each(&mut each),
        }
    }

    /// The number of items that are ever referred to.
    pub(crate) fn item_count(&self) -> usize {
        self.numbers.len()
    }
}

fn names_of(message: &Message) -> Said {
    let mut said = Vec::new();
    for (number, part) in message.parts.iter().enumerate() {
        part_names(part, &mut |name, in_call| said.push((name, number as u32, in_call)));
    }
    said.sort_unstable();
    said.dedup_by_key(|&mut (name, part, in_call)| (name, part, in_call));
    said
}

fn part_names(part: &Part, each: &mut impl FnMut(u64, bool)) {
    match part {
        Part::Text(text) => text_names(text.body.as_str(), &mut |name| each(name, false)),
        Part::Thinking(thinking) => text_names(thinking.body.as_str(), &mut |name| each(name, false)),
        Part::ToolCall(call) => {
            for value in call.parameters.as_map().values() {
                strings(value, &mut |text| text_names(text, &mut |name| each(name, true)));
            }
        }
        Part::ToolResult(result) => {
            result.output.iter().for_each(|part| part_names(part, each));
            if let Some(error) = &result.error {
                text_names(error.as_str(), &mut |name| each(name, false));
            }
        }
        Part::Image(_) | Part::Opaque(_) => {}
    }
}

fn text_names(text: &str, each: &mut impl FnMut(u64)) {
    let mut found = Vec::new();
    for line in text.lines() {
        names::scan(line.as_bytes(), &mut found);
    }
    found.into_iter().for_each(each);
}

/// Calls `each` with the strings and numbers in a value. The reader has bounded its depth.
fn strings(value: &Value, each: &mut impl FnMut(&str)) {
    match value {
        Value::String(text) => each(text),
        Value::Number(number) => each(&number.to_string()),
        Value::Array(items) => items.iter().for_each(|item| strings(item, each)),
        Value::Object(fields) => fields.values().for_each(|item| strings(item, each)),
        Value::Null | Value::Bool(_) => {}
    }
}
