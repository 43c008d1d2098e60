//! A request made smaller: a pure function of the conversation that it brings.
//!
//! A request brings everything that was said. So earlier edits are not kept, they are made again: the engine is told the conversation
//! reply by reply, decides before each as it would have then, by what the conversation weighs and never by a clock or a bill, and so
//! comes to the view that it has come to before (`fold`). What is kept of a conversation (`memory`) saves that work and
//! nothing else.

mod fold;
mod handles;
mod mark;
mod memory;
mod own;
mod request;

use crate::Api;
use bytes::Bytes;
use codelet_context::economics::Preset;
use codelet_context::tokens::Tokens;
use codelet_transcript::{Listed, ReadError, is_reply_item};
use fold::{Fold, Terms};
use memory::{Memory, Place};
use request::{Request, model, shortened};
use std::borrow::Cow;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;

/// Why a conversation stays as it is that is not as its interface has it. What exactly is wrong would be told in words of the conversation.
const UNREAD: &str = "the conversation does not have the format of its API";
/// A refused conversation is edited for a window this much smaller, or for the same again until it fits.
const SHRINK: f64 = 0.9;

/// Settings for edits.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The preset; `Off` edits nothing before the window is full.
    pub preset: Preset,
    /// The window in tokens; without it, the model's own.
    pub window: Option<Tokens>,
    /// The window of a model, where it is known, in tokens.
    pub windows: fn(&str) -> Option<Tokens>,
    /// The model is told that `codelet recall HANDLE` in a shell reads back what was removed.
    pub offers_recall: bool,
}

/// Edits requests. What it remembers of conversations makes the next request quick, and may be lost at any time: the same
/// request is edited to the same bytes by every editor with the same settings.
pub struct Editor {
    settings: Settings,
    hasher: RandomState,
    memory: Memory,
}

/// The parts of a request that matter for an edit, except its body.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Asked {
    /// The interface.
    pub api: Api,
    /// The model, where the interface has its name in the path.
    pub model: Option<String>,
    /// The window that a header asks for, in tokens.
    pub window: Option<Tokens>,
}

impl Asked {
    /// The model that a request with this body asks, as far as names are told.
    pub(crate) fn model_of(&self, body: &Bytes) -> String {
        let listed = Listed::of(body, self.api.format());
        shortened(&listed.map_or_else(String::new, |listed| model(self, &listed)))
    }
}

impl From<Api> for Asked {
    /// A request of which only the interface is known.
    fn from(api: Api) -> Self {
        Asked {
            api,
            model: None,
            window: None,
        }
    }
}

/// The outcome for a request.
#[derive(Clone, PartialEq, Debug)]
pub struct Edited {
    /// The body to send, in slices that together are its bytes; `None` where the request goes on as it came.
    pub body: Option<Vec<Bytes>>,
    /// Facts for the ledger and the page.
    pub facts: Facts,
}

/// Tells conversations apart, by hashes that mean something in this process only. Many begin with the same words: the instructions of an agent, a
/// prompt that is tried several times. The first reply, with the names of its calls, is of one alone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Identity {
    /// Of everything before the first reply.
    pub opening: u64,
    /// Of the same and that reply; as `opening` where there is no reply yet.
    pub first_reply: u64,
}

/// Facts about a request.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Facts {
    /// The conversation. None where the body is none.
    pub conversation: Option<Identity>,
    /// The model that is asked.
    pub model: String,
    /// The model's window, or the one that was set, in tokens.
    pub window: Tokens,
    /// The number of replies that the request holds, plus 1; 0 if it was not read.
    pub step: usize,
    /// The weight of the request as the agent sent it, in tokens, estimated from bytes.
    pub before: Tokens,
    /// The weight of the request as it is sent on, by the same estimate.
    pub after: Tokens,
    /// Edits that were made in this conversation so far.
    pub edits: usize,
    /// The reason why this request changes content of the one before it, if it does.
    pub edit: Option<&'static str>,
    /// The expected cost of that edit in US dollars: of writing to the cache again what it would have read.
    pub edit_dollars: Option<f64>,
    /// Why the request goes on as it came although it is a conversation, where that is so: words of this program, and none of the
    /// conversation.
    pub passed: Option<&'static str>,
}

impl Facts {
    fn pass(self, why: &'static str) -> Edited {
        let passed = Some(why);
        Edited {
            body: None,
            facts: Facts { passed, ..self },
        }
    }
}

/// Makes requests smaller. [`Editor`] does; whatever goes wrong in it, the request goes on as it came.
pub trait Edit: Send + Sync + 'static {
    /// Makes a request smaller, if that is due.
    fn edit(&self, asked: &Asked, body: &Bytes) -> Edited;

    /// The same for a request that the provider has refused as too long, with the limit that it names and the tokens that it has counted,
    /// where it does. As long as this is remembered, the conversation is edited for that much less. None where the
    /// request cannot be made smaller than it was.
    fn edit_refused(
        &self,
        asked: &Asked,
        body: &Bytes,
        limit: Option<Tokens>,
        counted: Option<Tokens>,
    ) -> Option<Edited>;

    /// Leaves a conversation as it is from now on: the provider has refused this request as it was edited, and taken it
    /// as it came. One that is refused as too long is edited still.
    fn leave(&self, _asked: &Asked, _body: &Bytes) {}

    /// The text that was removed from a conversation under this handle, as long as that is remembered; two if conversations
    /// have different ones under it.
    fn recall(&self, handle: &str) -> Vec<String>;
}

impl Edit for Editor {
    fn edit(&self, asked: &Asked, body: &Bytes) -> Edited {
        let Some(listed) = Listed::of(body, asked.api.format()) else {
            return Facts::default().pass("it is not a conversation");
        };
        let request = Request::new(self, asked, body, &listed);
        let shrinks = self.memory.shrinks(&request.heard);
        // One that is too long as it is has to be edited.
        if shrinks == 0 && self.memory.is_left(&request.heard) {
            let why = "the provider refused an earlier edit of the conversation";
            return request.facts().pass(why);
        }
        self.edit_for(&request, shrinks)
    }

    fn edit_refused(
        &self,
        asked: &Asked,
        body: &Bytes,
        limit: Option<Tokens>,
        counted: Option<Tokens>,
    ) -> Option<Edited> {
        let listed = Listed::of(body, asked.api.format())?;
        let request = Request::new(self, asked, body, &listed);
        let before = self.memory.shrinks(&request.heard);
        let mut refused = self.edit_for(&request, before);
        if before == 0 && self.memory.is_left(&request.heard) {
            refused.facts.after = refused.facts.before;
        }
        let window = request.window as f64;
        // What the provider counts in a window, this editor counts so in it.
        let sent = refused.facts.after as f64;
        let least = match (limit, counted) {
            (Some(limit), Some(counted)) if counted > 0 => (limit as f64 * sent / counted as f64).min(window),
            (Some(limit), None) => (limit as f64).min(sent),
            _ => window.min(sent),
        };
        let shrinks = (before + 1..MOST_SHRINKS).find(|&times| window * SHRINK.powi(times) <= least)?;
        let edited = self.edit_for(&request, shrinks);
        let is_smaller = edited.facts.after < refused.facts.after && edited.body.is_some();
        is_smaller.then(|| {
            if let Some(place) = request.last_reply() {
                self.memory.shrink(place, shrinks);
            }
            edited
        })
    }

    fn leave(&self, asked: &Asked, body: &Bytes) {
        if let Some(listed) = Listed::of(body, asked.api.format())
            && let Some(place) = Request::new(self, asked, body, &listed).last_reply()
        {
            self.memory.leave(place);
        }
    }

    fn recall(&self, handle: &str) -> Vec<String> {
        self.memory.recall(handle)
    }
}

impl Editor {
    /// Remembers nothing yet.
    pub fn new(settings: Settings) -> Self {
        Editor {
            settings,
            hasher: RandomState::new(),
            memory: Memory::default(),
        }
    }

    /// Sets the memory for conversations, in bytes, by estimate.
    pub fn remembering(mut self, bytes: usize) -> Self {
        self.memory = Memory::of(bytes);
        self
    }

    fn edit_for(&self, request: &Request<'_>, shrinks: i32) -> Edited {
        let facts = request.facts();
        if let Some(why) = request.stays() {
            return facts.pass(why);
        }
        let terms = Terms {
            window: (request.window as f64 * SHRINK.powi(shrinks)) as Tokens,
            ..request.terms.clone()
        };
        // The agent compacts by itself: nothing is edited for that. It asks about what the model has seen, which the provider has in its cache.
        let summary = Some(request.last_step())
            .filter(|&end| end > 0 && own::asks_for_summary(&request.items[request.items.len() - 1]));
        let kept = summary.and_then(|end| {
            self.told(request, &terms, end, |whole| request.kept(whole, &facts, terms.window))
                .ok()?
        });
        kept.unwrap_or_else(|| {
            let edited = |whole: &Fold| request.edited(whole, whole.facts(&facts));
            let edited = self.told(request, &terms, request.last_boundary(), edited);
            edited.unwrap_or_else(|_| facts.pass(UNREAD))
        })
    }

    /// Brings the conversation up to the end of the request, with every edit that was due up to item `end`, and passes it to `of`.
    fn told<T>(
        &self,
        request: &Request<'_>,
        terms: &Terms,
        end: usize,
        of: impl FnOnce(&Fold) -> T,
    ) -> Result<T, ReadError> {
        let identity = self.hasher.hash_one(terms);
        let places: Vec<Place> = request.hashes.iter().map(|&hash| Place { identity, hash }).collect();
        // What came of a reply is told at once: where more of it has come since, what was remembered did not know that.
        let ends = |count: &usize| *count == end || is_reply_item(&request.items[*count], terms.api.format());
        let mut counts = (1..=end).rev().filter(ends);
        let known = counts.find_map(|count| self.memory.take(places[count - 1]));
        let mut fold = known.unwrap_or_else(|| Fold::new(terms.clone()));
        let items: Vec<&[u8]> = request.items.iter().map(|item| &**item).collect();
        if !fold.advance(&items[..end])? {
            fold = fold.anew();
            fold.advance(&items[..end])?;
        }
        let mut whole = Cow::Borrowed(&fold);
        if end < items.len() {
            whole.to_mut().end_with(&items)?;
        }
        let known = of(&whole);
        if end > 0 {
            self.memory.put(places[end - 1], fold);
        }
        Ok(known)
    }
}

/// A window is taken to be less at most so many times: a five-hundredth of it is left then.
const MOST_SHRINKS: i32 = 60;
