//! Idle requests that keep the provider's cache from expiring while the user thinks: opt-in, and limited in number.

use crate::interrupt::Interrupt;
use crate::model::{Billed, Delta, Request};
use crate::session::Session;
use crate::tool::event::Listen;
use crate::turn::account::account_part;
use codelet_context::message::Role;
use codelet_context::tokens::Tokens;
use futures_util::StreamExt as _;
use std::time::Duration;
use tokio::time::Instant;

/// The share of the cache's lifetime after which an idle request is due: late enough to be rare, early enough to
/// arrive.
const SHARE: f64 = 0.9;
/// The number of deltas of an unneeded answer after which its usage is no longer awaited: a server that honours a short
/// output limit would have ended by then.
const MOST_PIECES: Tokens = 64;

impl Session {
    /// Returns the time until an idle request is due that keeps the cache from expiring. `None` if the user has not
    /// enabled them, if the configured number has been made since the last answer, or if one would save nothing:
    /// nothing was sent, the cache has expired, writing to it costs no more than reading, or the cost of the session
    /// has reached its [limit](crate::run::Limits::max_cost).
    ///
    /// An idle request reads the whole prompt, and saves the difference between writing and reading it later; it pays
    /// off if the user continues within the next lifetime more often than once in `write / read - 1` times.
    pub fn keep_alive_after(&self) -> Option<Duration> {
        let card = &self.conversation().economics().card;
        let due = card.expires_after().mul_f64(SHARE);
        let is_wanted = self.kept_alive < self.settings.keep_alive && self.idle_messages().is_some();
        let saves = card.write() > card.rates.cache_read;
        let asked = self
            .asked
            .filter(|_| is_wanted && saves && !self.is_spent() && !self.is_cold())?;
        Some(due.saturating_sub(asked.elapsed()))
    }

    /// Makes an idle request: repeats the last one, reading the answer only until the prompt's cost is known. It is
    /// billed like any other, by an estimate if the provider reports no usage, and leaves nothing in the conversation.
    /// Returns false if none is [due](Self::keep_alive_after), or it failed.
    pub async fn keep_alive(&mut self, interrupt: &Interrupt, listener: &mut dyn Listen) -> bool {
        let Some(held) = self.keep_alive_after().and_then(|_| self.idle_messages()) else {
            return false;
        };
        self.kept_alive += 1;
        let began = Instant::now();
        let request = Request {
            messages: self.conversation.view().messages[..held].to_vec(),
            tools: self.specs.clone(),
            max_output: Some(self.parts.model.idle_output().unwrap_or(self.most_output())),
            edge: Some(held),
            next_edit: self.conversation.readable_edges().next,
            session: self.settings.id.as_str().into(),
        };
        if let Some(witness) = &mut self.witness {
            witness.sending_beside(&self.conversation);
        }
        let mut stream = self.parts.model.stream(request);
        let mut billed: Option<Billed> = None;
        // The first delta shows that the prompt was read.
        let mut pieces = 0;
        let was_interrupted = loop {
            let next = tokio::select! {
                biased;
                () = interrupt.thrown() => break true,
                next = stream.next() => next,
            };
            match next {
                Some(Ok(Delta::Billed(counts))) => billed = Some(counts),
                Some(Ok(Delta::Done(reply))) => {
                    billed = Some(reply.billed);
                    pieces += 1;
                    break false;
                }
                Some(Ok(Delta::Alive)) => {}
                Some(Ok(_)) => pieces += 1,
                Some(Err(_)) | None => break false,
            }
            // Most wires report usage only at the end; closing the stream earlier would lose the cost of the request.
            let is_counted = billed.is_some_and(|billed| billed.usage.prompt() > 0);
            if pieces >= MOST_PIECES || (pieces > 0 && is_counted) {
                break false;
            }
        };
        drop(stream);
        let was_read = pieces > 0;
        account_part(self, billed, was_read.then_some(pieces), listener);
        self.conversation.kept_alive(billed.unwrap_or_default().usage);
        let has_answered = was_read && !was_interrupted;
        if has_answered {
            self.asked = Some(began);
        }
        has_answered
    }

    /// Returns the number of messages in the last request, if they are unchanged and end with the user's side.
    fn idle_messages(&self) -> Option<usize> {
        let messages = &self.conversation.view().messages;
        let held = self.conversation.readable_edges().last?;
        let last = messages.get(held.checked_sub(1)?)?;
        (self.sent == Some(held) && last.role == Role::User).then_some(held)
    }
}
