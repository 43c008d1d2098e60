//! Idle requests that keep the provider's cache from expiring while the user thinks: only if wanted, and only so many.

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

/// The share of the cache's lifetime after which an idle request is due: late enough to be rare, early enough to arrive.
const SHARE: f64 = 0.9;
/// After so many pieces of an answer that nobody reads, its counts are waited for no longer: a server that was asked for
/// a short one would have ended it.
const MOST_PIECES: Tokens = 64;

impl Session {
    /// How long from now until an idle request is due that keeps the cache from expiring. None where the user does not
    /// want any, where so many as were wanted have been made since the last answer, and where one would save nothing:
    /// nothing was sent, the cache has expired, writing to it costs no more than reading, or what the last run and the idle
    /// requests behind it have cost has reached the [limit](crate::run::Limits::max_cost) of a run.
    ///
    /// An idle request reads the whole prompt, and saves a writing of it in place of a reading; it pays where the user goes
    /// on within the next lifetime more often than once in `write / read - 1` times.
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

    /// Makes an idle request: the last one again, whose answer is read only until it is known what the prompt has cost. It is
    /// billed like any other, by an estimate where the provider counts nothing, and leaves nothing in the conversation. Says
    /// no where none is [wanted](Self::keep_alive_after), or it failed.
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
        // The first word shows that the prompt was read.
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
            // Most wires count at the end only; closing the stream before would lose what the request has cost.
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

    /// How many messages the last request held, if they still stand as they were and end with the user's side.
    fn idle_messages(&self) -> Option<usize> {
        let messages = &self.conversation.view().messages;
        let held = self.conversation.readable_edges().last?;
        let last = messages.get(held.checked_sub(1)?)?;
        (self.sent == Some(held) && last.role == Role::User).then_some(held)
    }
}
