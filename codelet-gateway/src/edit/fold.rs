//! A conversation told to the engine reply by reply, and what is sent of it.

use super::Facts;
use super::handles;
use super::mark::{self, Marks};
use crate::Api;
use bytes::Bytes;
use codelet_context::conversation::{Conversation, Signals, Texts};
use codelet_context::economics::{Economics, Edges, Preset};
use codelet_context::message::{Message, Role, ToolResult};
use codelet_context::policy::CompactionConfig;
use codelet_context::price::{self, Lifetime};
use codelet_context::recall::Archive;
use codelet_context::tokens::{self, Tokens};
use codelet_context::usage::Usage;
use codelet_offline::fold::{self, Shown};
use codelet_transcript::{Listed, ReadError, mark_last_block, read_items, vendor, write_items};
use serde_json::{Map, Value};
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

/// The number of blocks before a mark in which the provider looks for a cached prefix, including the marked one (as Anthropic documents).
const LOOK_BACK: usize = 20;

/// The memory that a conversation takes, in bytes, as measured on sources: so many for each byte of the texts that it still has, for each message,
/// and, where it has those that are shown, for each byte of all (a hash for each line, and what is known of each word).
const WHOLE: usize = 4;
const BARE_MESSAGE: usize = 900;
const LINES: f64 = 0.9;

/// The settings under which a conversation is edited.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Terms {
    pub api: Api,
    pub model: String,
    pub preset: Preset,
    /// In tokens, as are the others.
    pub window: Tokens,
    /// Kept free for the reply.
    pub reserved: Tokens,
    /// An estimate of what stands beside the conversation.
    pub overhead: Tokens,
    /// The model refuses thinking behind changed messages.
    pub drops_thinking: bool,
    /// The model is told how to read back what was removed.
    pub offers_recall: bool,
    /// The client leaves a mark over, for the place of the next edit.
    pub marks_edits: bool,
    /// The client's marks ask for a cache of an hour.
    pub is_hour: bool,
}

impl Terms {
    /// Tokens for each estimated one. Bills cannot be asked, since the next server to get the conversation would not know them.
    fn ratio(&self) -> f64 {
        vendor::usual_density(self.api.format())
    }

    fn scale(&self, estimate: Tokens) -> Tokens {
        (estimate as f64 * self.ratio()).round() as Tokens
    }

    /// The fields of a request that say what its model takes.
    fn envelope(&self) -> Map<String, Value> {
        let model = if self.drops_thinking { self.model.as_str() } else { "" };
        Map::from_iter([("model".to_owned(), Value::from(model))])
    }
}

/// A conversation as far as it was told, ready for the next reply.
#[derive(Clone)]
pub(super) struct Fold {
    terms: Terms,
    /// The engine's conversation. Messages that the engine made are JSON: items with commas between them.
    told: fold::Fold<Bytes>,
    /// Items of the request that were told.
    items: usize,
    /// By message: its items.
    spans: Vec<Range<usize>>,
    /// Tokens of the last request that the next one finds in the provider's cache.
    cached: Tokens,
    last_edit: Option<&'static str>,
    /// The number of items in the request before the first one that this was told of; if that is not known, all but the last step.
    before: usize,
    /// Of what is shown, so many come up to where the request bears a mark of the gateway's own, the most needed first.
    marks: Vec<usize>,
    bytes: usize,
    /// The ids of the calls.
    calls: HashSet<Arc<str>>,
    /// An output answers none of them.
    lacks_call: bool,
}

impl Fold {
    /// Creates an empty one.
    pub fn new(terms: Terms) -> Self {
        let config = CompactionConfig::new(terms.window).reserving(terms.reserved);
        let mut card = price::find(&terms.model).cloned().unwrap_or_else(price::usual);
        if terms.is_hour {
            card = card.living(Lifetime::Hour);
        }
        let economics = Economics::new(card).preset(terms.preset);
        let conversation = Conversation::new(config, terms.overhead)
            .under(economics)
            .reading_back(if terms.offers_recall { handles::COMMAND } else { "" });
        Fold {
            told: fold::Fold::new(conversation),
            terms,
            items: 0,
            spans: Vec::new(),
            cached: 0,
            last_edit: None,
            before: usize::MAX,
            marks: Vec::new(),
            bytes: 0,
            calls: HashSet::new(),
            lacks_call: false,
        }
    }

    /// Creates an empty one for the same conversation.
    pub fn anew(&self) -> Self {
        Fold {
            before: self.before,
            ..Fold::new(self.terms.clone())
        }
    }

    /// Tells the rest of these items, whose first ones were told before; the last is none of a reply. What belongs together, a reply and what
    /// came of it, is read by itself, however many requests bring it: so the same is read of it each time. Says no where an edit is due that needs
    /// texts which were dropped: then all is to be told again from the beginning.
    pub fn advance(&mut self, items: &[&[u8]]) -> Result<bool, ReadError> {
        self.last_edit = None;
        let is_anew = self.items == 0;
        if !is_anew {
            self.before = self.items;
        }
        while self.items < items.len() {
            if is_anew && self.items < self.before {
                self.last_edit = None;
            }
            let rest = &items[self.items..];
            let (_, all) = fold::step(rest, self.terms.api.format());
            self.tell(&rest[..all])?;
            let conversation = self.told.conversation();
            let is_short_of = |due| !conversation.can_make(due);
            if self.texts() < Texts::All && conversation.decide(Signals::default()).is_some_and(is_short_of) {
                return Ok(false);
            }
            let edited = self.told.edit(Signals::default());
            if let Some(reason) = edited {
                self.last_edit = Some(reason.name());
                self.draw();
            }
            self.mark(edited.is_some());
        }
        Ok(true)
    }

    /// Drops texts, as far as that is possible.
    pub fn drop_texts(&mut self, left: Texts) {
        self.told.drop_texts(left);
    }

    /// The texts that are left.
    pub fn texts(&self) -> Texts {
        self.told.conversation().texts()
    }

    /// Tells a reply that the request ends with, which the model is to go on with: nothing is edited in between.
    pub fn end_with(&mut self, items: &[&[u8]]) -> Result<(), ReadError> {
        self.tell(&items[self.items..])
    }

    fn tell(&mut self, items: &[&[u8]]) -> Result<(), ReadError> {
        let messages = read_items(items, self.items, self.terms.api.format())?;
        let prompt = self.weight();
        let mut is_reported = false;
        for (message, count) in messages {
            self.calls.extend(message.calls().map(|call| call.id.clone()));
            let is_known = |result: &ToolResult| self.calls.contains(&result.call_id);
            self.lacks_call |= !message.tool_results().all(is_known);
            let is_reply = message.role == Role::Assistant;
            let is_billed = is_reply && !std::mem::replace(&mut is_reported, true);
            let usage = is_billed.then(|| self.billed(&message, prompt));
            self.told.tell(self.spans.len(), message, usage);
            self.spans.push(self.items..self.items + count);
            self.items += count;
        }
        self.bytes += items.iter().map(|item| item.len()).sum::<usize>();
        self.told.conversation().prepare_edit();
        self.draw();
        Ok(())
    }

    /// The usage of a reply to a request of this weight, by the rules of the cache.
    fn billed(&mut self, reply: &Message, prompt: Tokens) -> Usage {
        let read = self.cached.min(prompt);
        self.cached = prompt;
        Usage {
            fresh: 0,
            cache_read: read,
            cache_write: prompt - read,
            output: self.terms.scale(tokens::estimate_message(reply)),
        }
    }

    /// Says where the request is to be readable from the cache beside its end, which the client marks: behind an edit, and after a step of more
    /// blocks than the provider looks back, up to where it is as the one before; always, where the next edit is expected.
    fn mark(&mut self, is_edited: bool) {
        if !self.terms.marks_edits {
            return;
        }
        let Edges { last, next } = self.told.conversation_mut().sending(false);
        let view = &self.told.conversation().view().messages;
        let blocks = |from: usize| view[from..].iter().map(|message| message.parts.len()).sum::<usize>();
        let last = last.filter(|&last| is_edited || blocks(last.min(view.len())) >= LOOK_BACK);
        let places = last.into_iter().chain(next);
        self.marks = places.filter_map(|edge| self.told.place(edge)).collect();
    }

    /// Brings what is sent up to what the engine shows.
    fn draw(&mut self) {
        let form = self.terms.api.format();
        let written = |messages: &[Message]| write_items(messages, form);
        let made = |items: Vec<String>, archive: &Archive| {
            let told = || handles::told(&items.join(","), archive, self.terms.offers_recall).into();
            (!items.is_empty()).then(told)
        };
        let Some(same) = self.told.draw(form, || self.terms.envelope(), written, made) else {
            return;
        };
        let conversation = self.told.conversation();
        let has_marks = conversation.economics().card.marks.is_some();
        // A client marks what stands before the conversation, and its end.
        let kept = match (has_marks, self.terms.marks_edits) {
            (false, _) => same,
            (true, true) => conversation.readable_edges().last.unwrap_or(0).min(same),
            (true, false) => 0,
        };
        let kept = conversation.view().messages[..kept].iter();
        let kept: Tokens = kept.map(|message| tokens::estimate_message(message)).sum();
        self.cached = self.cached.min(self.terms.scale(self.terms.overhead + kept));
    }

    /// The request with what is shown in place of its list, and with `marks` of the gateway's own as far as there are any to put; none where
    /// that is all it brings.
    pub fn body(&self, body: &Bytes, listed: &Listed<'_>, marks: Option<&Marks>) -> Option<Vec<Bytes>> {
        let marked: HashMap<usize, Bytes> = marks.map_or_else(HashMap::new, |marks| self.marked(body, listed, marks));
        let is_as_said = self.edits() == 0 && self.told.shown().iter().all(|shown| matches!(shown, Shown::AsSaid(_)));
        if is_as_said && marked.is_empty() {
            return None;
        }
        let comma = Bytes::from_static(b",");
        let mut slices = vec![body.slice(..listed.list.start)];
        let mut shown = self.told.shown().iter().enumerate().peekable();
        while let Some((at, next)) = shown.next() {
            if slices.len() > 1 {
                slices.push(comma.clone());
            }
            match (marked.get(&at), next) {
                (Some(json), _) | (None, Shown::Made(json)) => slices.push(json.clone()),
                (None, Shown::AsSaid(first)) => {
                    // What follows one another in the request goes on in one piece.
                    let mut last = *first;
                    while shown
                        .next_if(|(at, next)| {
                            !marked.contains_key(at) && matches!(next, Shown::AsSaid(number) if *number == last + 1)
                        })
                        .is_some()
                    {
                        last += 1;
                    }
                    slices.push(self.said(*first..last + 1, body, listed));
                }
            }
        }
        slices.push(body.slice(listed.list.end..));
        Some(slices)
    }

    /// The bytes of messages that were said, as the request has them.
    fn said(&self, numbers: Range<usize>, body: &Bytes, listed: &Listed<'_>) -> Bytes {
        let (start, end) = (self.spans[numbers.start].start, self.spans[numbers.end - 1].end);
        body.slice(listed.items[start].start..listed.items[end - 1].end)
    }

    /// The items with a mark of the gateway's own, by their place.
    fn marked(&self, body: &Bytes, listed: &Listed<'_>, marks: &Marks) -> HashMap<usize, Bytes> {
        let mut marked = HashMap::new();
        for &place in self.marks.iter().take(marks.free) {
            // Where the vendor takes no mark, the next place before that will do.
            for at in (0..place).rev().take(LOOK_BACK) {
                let json = match &self.told.shown()[at] {
                    Shown::Made(json) => json.clone(),
                    Shown::AsSaid(number) => self.said(*number..number + 1, body, listed),
                };
                if mark::is_in(&json) {
                    break;
                }
                if let Some(json) = mark_last_block(&json, marks.json()) {
                    marked.insert(at, json.into());
                    break;
                }
            }
        }
        marked
    }

    /// Returns whether there is an output of a call that is not in the conversation.
    pub fn lacks_call(&self) -> bool {
        self.lacks_call
    }

    /// The text that was removed under this handle; an empty one where texts were dropped.
    pub fn recall(&self, handle: &str) -> Option<&str> {
        self.told.conversation().recall(handle, None)
    }

    /// The weight of the request as it is shown, in tokens.
    pub fn weight(&self) -> Tokens {
        self.terms
            .scale(self.terms.overhead + self.told.conversation().shown().tokens)
    }

    /// The weight of the request with everything that was said, in tokens.
    fn weight_of_history(&self) -> Tokens {
        let estimates: Tokens = self.told.conversation().history().estimates().iter().sum();
        self.terms.scale(self.terms.overhead + estimates)
    }

    /// The facts about the request that ends with this.
    pub fn facts(&self, facts: &Facts) -> Facts {
        let conversation = self.told.conversation();
        let newest = conversation.breaks().last();
        let newest = newest.filter(|newest| self.last_edit.is_some() && newest.request > conversation.requests());
        Facts {
            edit_dollars: newest.map(|newest| newest.predicted),
            step: self.replies() + 1,
            before: self.weight_of_history(),
            after: self.weight(),
            edits: self.edits(),
            edit: self.last_edit,
            ..facts.clone()
        }
    }

    /// Edits so far.
    pub fn edits(&self) -> usize {
        self.told.conversation().edits().len()
    }

    /// Replies so far.
    fn replies(&self) -> usize {
        self.told.conversation().requests() as usize
    }

    /// About how much memory this takes, in bytes.
    pub fn bytes(&self) -> usize {
        let texts = match self.texts() {
            Texts::All => return self.bytes * WHOLE,
            Texts::Shown => {
                self.told.conversation().shown().bytes as usize * WHOLE + (self.bytes as f64 * LINES) as usize
            }
            Texts::Newest => 0,
        };
        let made = self.told.shown().iter().map(|shown| match shown {
            Shown::Made(json) => json.len(),
            Shown::AsSaid(_) => 0,
        });
        texts + made.sum::<usize>() + self.spans.len() * BARE_MESSAGE
    }
}
