//! Idle requests that keep the provider's cache from expiring while the user thinks: only if wanted, and only so many.

use crate::driver::account;
use crate::event::Listen;
use crate::interrupt::Interrupt;
use crate::model::{Billed, Delta, Request};
use crate::session::Session;
use codelet_context::message::Role;
use futures_util::StreamExt as _;
use std::time::Duration;
use tokio::time::Instant;

/// The share of the cache's lifetime after which an idle request is due: late enough to be rare, early enough to arrive.
const SHARE: f64 = 0.9;

impl Session {
    /// How long from now until an idle request is due that keeps the cache from expiring. None where the user does not
    /// want any, where so many as were wanted have been made since the last answer, and where one would save nothing:
    /// nothing was sent, the cache has expired, or writing to it costs no more than reading.
    ///
    /// An idle request reads the whole prompt; it pays where the user goes on within the next lifetime more often than
    /// once in `write / read` times.
    pub fn keep_alive_after(&self) -> Option<Duration> {
        let card = &self.conversation().economics().card;
        let due = card.expires_after().mul_f64(SHARE);
        let is_wanted = self.kept_alive < self.settings.keep_alive && self.idle_messages().is_some();
        let saves = card.write() > card.rates.cache_read;
        let asked = self.asked.filter(|_| is_wanted && saves && !self.is_cold())?;
        Some(due.saturating_sub(asked.elapsed()))
    }

    /// Makes an idle request: the last one again, whose answer is not waited for. It is billed like any other and leaves
    /// nothing in the conversation. Says no where none is [wanted](Self::keep_alive_after), or it failed.
    pub async fn keep_alive(&mut self, interrupt: &Interrupt, listener: &mut dyn Listen) -> bool {
        let Some(held) = self.keep_alive_after().and_then(|_| self.idle_messages()) else {
            return false;
        };
        self.kept_alive += 1;
        let began = Instant::now();
        let request = Request {
            messages: self.conversation.view().messages[..held].to_vec(),
            tools: self.specs.clone(),
            max_output: Some(self.most_output()),
            edge: Some(held),
            next_edit: self.conversation.readable_edges().next,
            session: self.settings.id.as_str().into(),
        };
        let mut stream = self.parts.model.stream(request);
        let mut billed: Option<Billed> = None;
        let has_answered = loop {
            let next = tokio::select! {
                biased;
                () = interrupt.thrown() => break false,
                next = stream.next() => next,
            };
            match next {
                Some(Ok(Delta::Billed(counts))) => billed = Some(counts),
                Some(Ok(Delta::Done(reply))) => {
                    billed = Some(reply.billed);
                    break true;
                }
                Some(Ok(Delta::Alive)) => {}
                // The first word shows that the prompt was read; closing the stream keeps the rest from being written.
                Some(Ok(_)) => break true,
                Some(Err(_)) | None => break false,
            }
        };
        drop(stream);
        if let Some(billed) = billed {
            account(self, &billed, listener);
        }
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
