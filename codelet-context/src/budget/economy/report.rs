//! Usage reports: corrects message weights, settles the actual cost of breaks, and accumulates rent.

use super::Economy;
use crate::budget::breaks::{Break, Cause};
use crate::budget::economics::Edges;
use crate::budget::occupancy::{AT_FIRST, FAR_OFF, PLAUSIBLE};
use crate::budget::usage::Usage;
use crate::message::Message;
use crate::message::tokens::Tokens;
use std::sync::Arc;

/// The breakpoints of this many requests are assumed to be still readable.
const MARKS: usize = 3;
/// A shortfall of more than this many tokens plus `SLACK_SHARE` of the expected ones means that the cached prefix was
/// lost; less is within the cache's granularity.
const SLACK: f64 = 2_048.0;
const SLACK_SHARE: f64 = 0.1;
/// The maximum correction per report of the tokens around a marker; a larger difference has another cause.
const FRAME_STEP: f64 = 24.0;
/// The weight of the newest step in the moving average of the growth per step.
const GROWTH_SHARE: f64 = 0.1;

impl Economy {
    /// Records that a request with the current view is about to be sent. Returns the points up to which it should be
    /// readable from the cache.
    pub fn sending(&mut self, is_cold: bool) -> Edges {
        let edges = self.edges();
        self.sending = Some(is_cold);
        if is_cold {
            self.expired();
            self.marks.clear();
        }
        if self.marks.len() >= MARKS {
            self.marks.remove(0);
        }
        self.marks.extend(edges.next);
        edges
    }

    /// The end of the unchanged part of the last request, and the place of the next expected edit.
    pub fn edges(&self) -> Edges {
        Edges {
            last: (self.sent > 0).then_some(self.sent),
            next: self.next.filter(|&next| next > 0 && next < self.weights.len()),
        }
    }

    /// Records the usage report of a request that held these messages of the view.
    pub fn reported(&mut self, usage: Usage, held: &[Arc<Message>]) {
        let prompt = usage.prompt() as f64;
        if prompt <= 0.0 {
            return;
        }
        let announced = self.sending.take();
        if announced.is_none() {
            // Without an extra breakpoint, an edit can only keep the part of it before the first message.
            self.marks = vec![0];
        }
        let is_cold = announced.unwrap_or(false) || self.requests == 0;
        self.requests += 1;
        self.account.reported(&self.economics.card, usage);
        self.seen.truncate(self.sent);
        self.seen.extend_from_slice(&held[self.sent.min(held.len())..]);
        let unsent = std::mem::take(&mut self.unsent);
        let held = held.len().min(self.weights.len());
        let old = self.weighed.min(held);
        let fresh = self.weights[old..held].iter().sum::<f64>();
        let known = self.weigh_trimmed(prompt - fresh, old);
        let new: f64 = if unsent.is_whole {
            0.0
        } else {
            self.weights[self.weighed.max(self.sent).min(held)..held].iter().sum()
        };
        let read = usage.cache_read as f64;
        self.has_read |= read > 0.0;
        self.has_cache |= read > 0.0 || usage.cache_write > 0;
        self.settle(prompt, read, new, is_cold);
        // This determines the weight of the messages since the last report.
        let factor = (prompt - known) / fresh;
        let most = match self.requests {
            1 => AT_FIRST,
            _ => FAR_OFF * PLAUSIBLE.end(),
        };
        if fresh > 0.0 && (*PLAUSIBLE.start()..=most).contains(&factor) {
            let factor = factor.min(*PLAUSIBLE.end());
            self.weights[old..held].iter_mut().for_each(|weight| *weight *= factor);
            if self.weighed > 0 {
                self.growth += GROWTH_SHARE * ((prompt - self.prompt).max(0.0) - self.growth);
            }
        }
        let factor = self.economics.card.factor(usage.prompt());
        let paid = if read >= prompt / 2.0 || !self.has_read {
            self.read()
        } else {
            self.write()
        };
        self.clock += paid * factor;
        self.bound += paid * factor * self.bulk.removable as f64 * 3.0;
        self.weighed = held;
        self.sent = held;
        self.prompt = prompt;
    }

    /// Records the usage report of a keep-alive request, which repeats the last request only so that the cache does not
    /// expire. Changes made since then are still unsent.
    pub fn kept_alive(&mut self, usage: Usage) {
        if usage.prompt() == 0 {
            return;
        }
        for it in &mut self.breaks {
            it.request += u64::from(it.request > self.requests);
        }
        self.requests += 1;
        self.account.reported(&self.economics.card, usage);
    }

    /// The weight of the first `messages` messages plus the overhead. If some of them were edited since the last
    /// report, a report of `expected` tokens reveals the tokens around their markers.
    fn weigh_trimmed(&mut self, expected: f64, messages: usize) -> f64 {
        let known = self.weight_of(messages);
        let trimmed = std::mem::take(&mut self.trimmed);
        let outputs: f64 = trimmed.iter().map(|(_, outputs)| outputs).sum();
        let off = (expected - known) / outputs.max(1.0);
        if outputs < 1.0 || off.abs() > FRAME_STEP {
            return known;
        }
        for (at, outputs) in trimmed {
            if let Some(weight) = self.weights.get_mut(at) {
                *weight = (*weight + off * outputs).max(0.0);
            }
        }
        self.frame = (self.frame + off).max(0.0);
        self.weight_of(messages)
    }

    fn weight_of(&self, messages: usize) -> f64 {
        self.overhead + self.weights[..messages].iter().sum::<f64>()
    }

    /// Compares the tokens read from the cache with those that could have been read.
    fn settle(&mut self, prompt: f64, read: f64, new: f64, is_cold: bool) {
        let factor = self.economics.card.factor(prompt as Tokens);
        let price = (self.write() - self.read()).max(0.0) * factor / 1e6;
        let rewritten = (prompt - read - new).max(0.0);
        let is_planned = self.put_down(price * rewritten);
        if is_planned {
            return;
        }
        if self.sent == 0 || !self.has_cache {
            return;
        }
        let expected = self.prompt.min(prompt);
        let lost = expected - read;
        if expected < self.economics.card.minimum as f64 || lost <= SLACK + expected * SLACK_SHARE {
            return;
        }
        let cause = if is_cold { Cause::Expired } else { Cause::Unplanned };
        self.breaks.push(Break {
            rewritten: lost as Tokens,
            predicted: if is_cold { price * expected } else { 0.0 },
            actual: Some(price * rewritten),
            is_cold,
            request: self.requests,
            cause,
            ..Break::default()
        });
    }

    /// Attributes a request's cost to the open break before it, and none to the other changes of that time. Returns
    /// false if there was no open break.
    fn put_down(&mut self, cost: f64) -> bool {
        let open = self.open.take();
        let request = self.requests;
        for (at, it) in self.breaks.iter_mut().enumerate().rev() {
            if it.request < request {
                break;
            }
            if it.cause != Cause::Cleared {
                it.actual = Some(if open == Some(at) { cost } else { 0.0 });
            }
        }
        open.is_some()
    }
}
