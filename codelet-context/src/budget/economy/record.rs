//! The record of broken prefixes: each request has one entry for all that was edited before it, and nothing is put down to an
//! edit that would have had to be written again without it.

use super::{Economy, Unsent, alike};
use crate::budget::breaks::{Break, Cause};
use crate::budget::economics;
use crate::message::Message;
use crate::message::tokens::Tokens;
use std::sync::Arc;

impl Economy {
    /// What was recorded of a later state of the same session stays on record, but for edits that no request has followed:
    /// those were never made.
    /// `messages` is the view now.
    pub fn keep_breaks(&mut self, later: &Economy, messages: &[Arc<Message>]) {
        self.breaks.clone_from(&later.breaks);
        self.breaks.retain(|it| !it.is_edit() || it.request <= later.requests);
        self.account.keep(&later.account, later.unsent.charged.1);
        self.requests = later.requests;
        self.has_read |= later.has_read;
        self.seen.clone_from(&later.seen);
        self.sent = self.sent.min(alike(&self.seen, messages));
        self.unsent = Unsent::default();
        // Another model is asked still, or with other tools.
        self.open = self.unsent_break(|it| it.cause.is_whole());
    }

    /// This is a session's next conversation: what was recorded of the one before stays on record, and that its messages are
    /// not sent again.
    pub fn begin_behind(&mut self, earlier: &Economy) {
        self.breaks.clone_from(&earlier.breaks);
        (self.requests, self.has_read) = (earlier.requests, earlier.has_read);
        // What no request has followed will not be sent: it has cost nothing. An earlier clearing is the same one.
        let is_gone = |it: &Break| it.request > earlier.requests && it.cause != Cause::Cleared;
        while self.breaks.last().is_some_and(is_gone) {
            self.breaks.pop();
        }
        if earlier.requests == 0 || self.breaks.last().is_some_and(|it| it.request > earlier.requests) {
            return;
        }
        // The system prompt and the definitions can still be read; of the rest, nothing is missed.
        let removed = earlier.prompt - earlier.overhead - self.weights.iter().sum::<f64>();
        self.breaks.push(Break {
            request: self.requests + 1,
            cause: Cause::Cleared,
            removed: removed.max(0.0) as Tokens,
            restored: 0,
            rewritten: 0,
            predicted: 0.0,
            saving: self.read() * removed.max(0.0) / 1e6,
            actual: None,
            is_cold: false,
        });
    }

    /// The next request goes to another model than the last one, or holds other tools: nothing of it can be read again.
    pub fn goes_elsewhere(&mut self, cause: Cause) {
        if self.seen.is_empty() {
            return;
        }
        // Of two changes with no answer between them, the first has cost nothing.
        if let Some(at) = self.unsent_break(|it| it.cause.is_whole()) {
            self.breaks.remove(at);
        }
        // Nor has an edit: what it left would have to be written there without it too.
        if let Some(at) = self.unsent_break(Break::is_edit) {
            (self.breaks[at].rewritten, self.breaks[at].predicted) = (0, 0.0);
            self.refund();
        }
        self.open = Some(self.breaks.len());
        let again = self.sent_again();
        self.breaks.push(Break {
            request: self.requests + 1,
            cause,
            removed: 0,
            restored: 0,
            rewritten: again as Tokens,
            predicted: self.cost_of(again),
            saving: 0.0,
            actual: None,
            is_cold: false,
        });
    }

    /// What each request holds beside the messages weighs so much from here on.
    pub fn weighs_beside(&mut self, overhead: Tokens) {
        self.overhead = overhead as f64;
    }

    /// The place of the newest break of a kind that no request has followed.
    fn unsent_break(&self, is_one: impl Fn(&Break) -> bool) -> Option<usize> {
        let is_one = |it: &Break| it.request > self.requests && is_one(it);
        self.breaks.iter().rposition(is_one)
    }

    /// What the account was charged for edits that no request has followed was not theirs.
    fn refund(&mut self) {
        let cost = std::mem::take(&mut self.unsent.charged.1);
        self.account.taken_back(0.0, cost);
    }

    /// What writing so many tokens costs more than reading them, in dollars.
    fn cost_of(&self, tail: f64) -> f64 {
        let factor = self.economics.card.factor(self.prompt as Tokens);
        let (read, write) = (self.read() * factor, self.write() * factor);
        economics::break_cost(read, write, tail) / 1e6
    }

    /// What the next request holds of what was sent before, however it was edited since, with what stands beside it, in tokens.
    pub(super) fn sent_again(&self) -> f64 {
        let held = match self.unsent.is_whole {
            true => self.weights.len(),
            false => self.weighed.max(self.sent).min(self.weights.len()),
        };
        self.overhead + self.weights[..held].iter().sum::<f64>()
    }

    /// Puts a break on record, with all that was changed since the last request; what it is expected to cost, in dollars.
    pub(super) fn broken(&mut self, cause: Cause, tail: f64, is_cold: bool) -> f64 {
        let elsewhere = self.unsent_break(|it| it.cause.is_whole());
        // Of what was never sent, and of what another model is sent or goes with other tools, nothing could be read without the edit either.
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
            request: self.requests + 1,
            cause,
            removed: removed.max(0).unsigned_abs(),
            restored: removed.min(0).unsigned_abs(),
            rewritten: tail as Tokens,
            predicted: cost,
            saving: self.read() * self.economics.card.factor(self.prompt as Tokens) * removed as f64 / 1e6,
            actual: None,
            is_cold,
        });
        self.edited = Some((self.bulk.steps(), self.bulk.position()));
        self.plan_anew();
        cost
    }

    /// The next request finds the cache expired: what was edited before it has cost nothing.
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

    /// Takes the newest edit off the record, if no request has been made since: all that is changed before a request makes one
    /// break.
    pub(super) fn take_unsent(&mut self) -> Option<Break> {
        let at = self.unsent_break(Break::is_edit)?;
        // What another model has to be sent is put down to that.
        self.open = self.open.filter(|&open| open != at);
        self.open = self.open.map(|open| open - usize::from(open > at));
        Some(self.breaks.remove(at))
    }
}
