//! The record of cache-prefix breaks: each request has one entry for all edits before it, and an edit is not charged
//! for tokens that would have had to be written again without it.

use super::{Economy, Unsent};
use crate::budget::breaks::{Break, Cause};
use crate::budget::economics;
use crate::message::Message;
use crate::message::tokens::Tokens;
use crate::message::view::alike;
use std::sync::Arc;

impl Economy {
    /// Keeps the record of a later state of the same session, except for edits that no request has followed: those were
    /// never made. `messages` is the view now.
    pub fn keep_breaks(&mut self, later: &Economy, messages: &[Arc<Message>]) {
        self.breaks.clone_from(&later.breaks);
        self.breaks.retain(|it| !it.is_edit() || it.request <= later.requests);
        self.account.keep(&later.account, later.unsent.charged.1);
        self.requests = later.requests;
        self.has_read |= later.has_read;
        self.has_cache |= later.has_cache;
        self.seen.clone_from(&later.seen);
        self.sent = self.sent.min(alike(&self.seen, messages));
        self.unsent = Unsent::default();
        // Another model or other tools are still in use.
        self.open = self.unsent_break(|it| it.cause.is_whole());
    }

    /// Starts the record of a session's next conversation: keeps the earlier record and adds that its messages are not
    /// sent again.
    pub fn begin_behind(&mut self, earlier: &Economy) {
        self.breaks.clone_from(&earlier.breaks);
        (self.requests, self.has_read) = (earlier.requests, earlier.has_read);
        self.has_cache = earlier.has_cache;
        // An edit without a following request is never sent and has cost nothing. An earlier clearing is merged into
        // this one.
        let is_gone = |it: &Break| it.request > earlier.requests && it.cause != Cause::Cleared;
        while self.breaks.last().is_some_and(is_gone) {
            self.breaks.pop();
        }
        if earlier.requests == 0 || self.breaks.last().is_some_and(|it| it.request > earlier.requests) {
            return;
        }
        // The system prompt and the tool definitions can still be read; nothing else is needed again.
        let removed = earlier.prompt - earlier.overhead - self.weights.iter().sum::<f64>();
        self.breaks.push(Break {
            removed: removed.max(0.0) as Tokens,
            saving: self.read() * removed.max(0.0) / 1e6,
            request: self.requests + 1,
            cause: Cause::Cleared,
            ..Break::default()
        });
    }

    /// Records that the next request goes to another model or holds other tools, so that nothing can be read from the
    /// cache.
    pub fn goes_elsewhere(&mut self, cause: Cause) {
        if self.seen.is_empty() {
            return;
        }
        // Of two changes without a request between them, the first has cost nothing.
        if let Some(at) = self.unsent_break(|it| it.cause.is_whole()) {
            self.breaks.remove(at);
        }
        // Neither has an edit: its tail would have to be written there anyway.
        if let Some(at) = self.unsent_break(Break::is_edit) {
            (self.breaks[at].rewritten, self.breaks[at].predicted) = (0, 0.0);
            self.refund();
        }
        self.open = Some(self.breaks.len());
        let again = self.sent_again();
        self.breaks.push(Break {
            rewritten: again as Tokens,
            predicted: self.cost_of(again),
            request: self.requests + 1,
            cause,
            ..Break::default()
        });
    }

    /// Sets the tokens of each request besides the messages.
    pub fn weighs_beside(&mut self, overhead: Tokens) {
        self.overhead = overhead as f64;
    }

    /// The index of the newest matching break that no request has followed.
    fn unsent_break(&self, is_one: impl Fn(&Break) -> bool) -> Option<usize> {
        let is_one = |it: &Break| it.request > self.requests && is_one(it);
        self.breaks.iter().rposition(is_one)
    }

    /// Refunds the account for edits that no request has followed.
    fn refund(&mut self) {
        let cost = std::mem::take(&mut self.unsent.charged.1);
        self.account.taken_back(0.0, cost);
    }

    /// The cost of writing `tail` tokens instead of reading them, in dollars.
    fn cost_of(&self, tail: f64) -> f64 {
        let factor = self.economics.card.factor(self.prompt as Tokens);
        let (read, write) = (self.read() * factor, self.write() * factor);
        economics::break_cost(read, write, tail) / 1e6
    }

    /// The tokens of the next request that were sent before, however edited since, including the overhead.
    pub(super) fn sent_again(&self) -> f64 {
        let held = match self.unsent.is_whole {
            true => self.weights.len(),
            false => self.weighed.max(self.sent).min(self.weights.len()),
        };
        self.overhead + self.weights[..held].iter().sum::<f64>()
    }

    /// Records a break with all changes since the last request; returns its expected cost in dollars.
    pub(super) fn broken(&mut self, cause: Cause, tail: f64, is_cold: bool) -> f64 {
        let elsewhere = self.unsent_break(|it| it.cause.is_whole());
        // If nothing was sent yet, or another model or other tools are in use, nothing could be read without the edit
        // either.
        let is_free = elsewhere.is_some() || self.seen.is_empty();
        let tail = if is_free { 0.0 } else { tail };
        let cost = self.cost_of(tail);
        if let Some(model) = elsewhere {
            let again = self.sent_again();
            (self.breaks[model].rewritten, self.breaks[model].predicted) = (again as Tokens, self.cost_of(again));
        }
        self.open = if is_free { elsewhere } else { Some(self.breaks.len()) };
        let removed = self.unsent.removed;
        self.breaks.push(Break {
            removed: removed.max(0).unsigned_abs(),
            restored: removed.min(0).unsigned_abs(),
            rewritten: tail as Tokens,
            predicted: cost,
            saving: self.read() * self.economics.card.factor(self.prompt as Tokens) * removed as f64 / 1e6,
            is_cold,
            request: self.requests + 1,
            cause,
            ..Break::default()
        });
        self.edited = Some((self.bulk.steps, self.bulk.position));
        self.plan_anew();
        cost
    }

    /// Records that the cache has expired before the next request, so that an edit before it has cost nothing.
    pub(super) fn expired(&mut self) {
        if self.unsent_break(|it| it.cause.is_whole()).is_some() || self.seen.is_empty() {
            return;
        }
        let Some(at) = self.unsent_break(Break::is_edit) else {
            return;
        };
        if self.breaks[at].is_cold {
            return;
        }
        let again = self.sent_again();
        let (rewritten, predicted) = (again as Tokens, self.cost_of(again));
        self.breaks[at] = Break {
            rewritten,
            predicted,
            is_cold: true,
            ..self.breaks[at]
        };
        self.refund();
    }

    /// Removes the newest edit from the record if no request has been made since: all changes before a request make one
    /// break.
    pub(super) fn take_unsent(&mut self) {
        let Some(at) = self.unsent_break(Break::is_edit) else {
            return;
        };
        // Tokens that must be sent to another model stay attributed to that change.
        self.open = self.open.filter(|&open| open != at);
        self.open = self.open.map(|open| open - usize::from(open > at));
        self.breaks.remove(at);
    }
}
