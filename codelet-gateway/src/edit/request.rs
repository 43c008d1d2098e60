//! A request taken apart: its conversation, what stands beside it, and the terms under which it is edited.

use super::fold::{Fold, Terms};
use super::mark::{self, Marks};
use super::memory::Place;
use super::{Asked, Edited, Editor, Facts, Identity};
use crate::Api;
use bytes::Bytes;
use codelet_context::policy::CompactionConfig;
use codelet_context::tokens::{self, Tokens};
use codelet_text::unseen;
use codelet_transcript::{Listed, is_reply_item, vendor};
use serde_json::Value;
use std::borrow::Cow;
use std::hash::BuildHasher;
use std::ops::Range;

/// A model's name is told up to so many characters.
const LONGEST_NAME: usize = 100;
/// The window of an unknown model, in tokens.
const USUAL_WINDOW: Tokens = 200_000;
/// The maximum length of a reply if the request does not say it, in tokens.
const USUAL_REPLY: Tokens = 16_000;
/// Room for the reply is counted in steps: so many tokens, or four times as many, and so on. A client that asks for a shorter reply now and then,
/// where it falls back to an answer without a stream for example, would have the conversation edited anew for that.
const REPLY_STEP: Tokens = 8_192;
const REPLY_STEPS: Tokens = 4;
/// What stands beside the conversation (tools, a system prompt) is counted in steps of so many estimated tokens, so that a date in it
/// does not make another conversation of this one.
const OVERHEAD_STEP: Tokens = 2_048;

/// A request as it was taken apart.
pub(super) struct Request<'a> {
    pub body: &'a Bytes,
    pub listed: &'a Listed<'a>,
    /// The items without what clients move from one to the next.
    pub items: Vec<Cow<'a, [u8]>>,
    /// By item: a hash of all up to it.
    pub hashes: Vec<u64>,
    /// The same as places of what the provider has said about the conversation, which holds for this model alone.
    pub heard: Vec<Place>,
    pub conversation: Identity,
    pub window: Tokens,
    /// The client's marks for the cache, where it marks the conversation.
    pub marks: Option<Marks>,
    pub terms: Terms,
}

impl<'a> Request<'a> {
    /// Takes a request apart.
    pub fn new(editor: &Editor, asked: &Asked, body: &'a Bytes, listed: &'a Listed<'a>) -> Self {
        let mut marks = Vec::new();
        let slice = |range: &Range<usize>| mark::without(&body[range.clone()], &mut marks);
        let items: Vec<Cow<[u8]>> = listed.items.iter().map(slice).collect();
        let mut hash = editor.hasher.hash_one(asked.api);
        let empty = hash;
        let hashes: Vec<u64> = items
            .iter()
            .map(|item| {
                hash = editor.hasher.hash_one((hash, &**item));
                hash
            })
            .collect();
        let first_reply = items.iter().position(|item| is_reply_item(item, asked.api.format()));
        let upto = |count: usize| count.checked_sub(1).map_or(empty, |last| hashes[last]);
        let conversation = Identity {
            opening: upto(first_reply.unwrap_or(items.len())),
            first_reply: upto(first_reply.map_or(items.len(), |at| at + 1)),
        };
        let model = model(asked, listed);
        let identity = editor.hasher.hash_one(&model);
        let settings = editor.settings;
        let window = settings.window.or(asked.window).or_else(|| (settings.windows)(&model));
        let window = window.unwrap_or(USUAL_WINDOW);
        let beside: usize = listed.fields.iter().map(|(_, value)| value.len()).sum();
        let overhead = tokens::estimate_bytes(beside).next_multiple_of(OVERHEAD_STEP);
        let marks = Marks::of(listed, &marks).filter(|_| asked.api == Api::Anthropic);
        Request {
            body,
            listed,
            items,
            conversation,
            heard: hashes.iter().map(|&hash| Place { identity, hash }).collect(),
            hashes,
            window,
            terms: Terms {
                marks_edits: marks.as_ref().is_some_and(|marks| marks.free > 0),
                is_hour: marks.as_ref().is_some_and(|marks| marks.is_hour),
                api: asked.api,
                preset: settings.preset,
                window,
                reserved: CompactionConfig::new(window).reserving(reserved(listed)).reserved(),
                overhead,
                offers_recall: settings.offers_recall,
                drops_thinking: vendor::wants_unbound(&model, listed.json("thinking").as_ref()),
                model,
            },
            marks,
        }
    }

    /// What is known of the request before it is edited.
    pub fn facts(&self) -> Facts {
        Facts {
            conversation: Some(self.conversation),
            model: shortened(&self.terms.model),
            window: self.window,
            ..Facts::default()
        }
    }

    /// The reason why the request must not be changed, if there is one.
    pub fn stays(&self) -> Option<&'static str> {
        let kept = self.listed.kept_by_vendor(self.body);
        kept.map(|_| "the provider stores a part of the conversation")
    }

    /// The request as the edits before it have left the conversation; none where that leaves no room for the reply in this window.
    pub fn kept(&self, whole: &Fold, facts: &Facts, window: Tokens) -> Option<Edited> {
        let facts = Facts {
            edit: None,
            edit_dollars: None,
            ..whole.facts(facts)
        };
        let fits = facts.after.saturating_add(self.terms.reserved) <= window;
        fits.then(|| match facts.edits {
            0 => facts.pass("the agent is compacting"),
            _ => self.edited(whole, facts),
        })
    }

    /// The request with what is shown of the conversation.
    pub fn edited(&self, whole: &Fold, facts: Facts) -> Edited {
        // Whatever is edited drops an output without its call, and only the provider knows whether it has one.
        if whole.lacks_call() {
            return self.facts().pass("a tool output has no call before it");
        }
        let body = whole.body(self.body, self.listed, self.marks.as_ref());
        Edited { body, facts }
    }

    /// The number of items before the last reply that was followed by others.
    pub fn last_step(&self) -> usize {
        let is_reply = |at: &usize| is_reply_item(&self.items[*at], self.terms.api.format());
        let last = (0..self.last_boundary()).rev().find(is_reply);
        last.map_or(0, |last| {
            (0..last).rev().find(|at| !is_reply(at)).map_or(0, |at| at + 1)
        })
    }

    /// The place of all up to the last reply, which a request that goes on otherwise from there has, too; of all where
    /// there is no reply yet, since other conversations may have the same beginning.
    pub fn last_reply(&self) -> Option<Place> {
        let is_reply = |item: &Cow<[u8]>| is_reply_item(item, self.terms.api.format());
        let last = self.items.iter().rposition(is_reply);
        last.map_or(self.heard.last(), |at| self.heard.get(at)).copied()
    }

    /// The number of items before the reply that the request ends with, for the model to continue; all if it ends with none.
    pub fn last_boundary(&self) -> usize {
        let format = self.terms.api.format();
        let is_said = |item: &Cow<[u8]>| !is_reply_item(item, format);
        self.items.iter().rposition(is_said).map_or(0, |at| at + 1)
    }
}

/// The model that a request asks.
pub(super) fn model(asked: &Asked, listed: &Listed<'_>) -> String {
    let named = listed.json("model");
    let named = named.as_ref().and_then(Value::as_str).or(asked.model.as_deref());
    named.unwrap_or_default().to_owned()
}

/// A model's name as it is told: without signs that change how what stands beside it is read.
pub(super) fn shortened(name: &str) -> String {
    unseen::plain(name).chars().take(LONGEST_NAME).collect()
}

/// The most that the reply may have, in tokens, as the request says it, about.
fn reserved(listed: &Listed<'_>) -> Tokens {
    let names = ["max_tokens", "max_completion_tokens", "max_output_tokens"];
    let nested = || {
        let config = listed.json("generationConfig")?;
        config.get("maxOutputTokens")?.as_u64()
    };
    let said = names.into_iter().find_map(|name| listed.json(name)?.as_u64());
    let said = said.or_else(nested);
    said.map_or(USUAL_REPLY, |said| {
        let mut step = REPLY_STEP;
        while step < said {
            step = step.saturating_mul(REPLY_STEPS);
        }
        step
    })
}
