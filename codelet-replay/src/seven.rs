//! The policy that runs the strategies before every request.

use crate::editor::{Editor, Full, Moment, Unedited};
use codelet_context::conversation::Report;
use codelet_context::message::Message;
use codelet_context::strategy;
use codelet_context::view::View;
use std::sync::Arc;

/// The strategies examine every message, so running them before every request takes quadratic time. Once they have
/// examined this many messages, far more than in any real user's session, they run only when what is sent has grown by
/// one in [`GROWTH`].
const LOOKS: usize = 10_000_000;
const GROWTH: usize = 50;

/// Runs all strategies over the rest of the last request and everything since, and compacts when full.
pub struct Seven<'a> {
    full: Full<'a>,
    view: View,
    /// The number of messages that the strategies have examined so far, and the number the last time.
    looks: usize,
    last: usize,
    /// The number of messages in the last request, as long as no edit followed it.
    same: usize,
    left_out: u64,
}

impl<'a> Seven<'a> {
    pub fn new(unedited: &'a Unedited<'a>) -> Self {
        Seven {
            full: Full::new(unedited),
            view: View::default(),
            looks: 0,
            last: 0,
            same: 0,
            left_out: 0,
        }
    }
}

impl Editor for Seven<'_> {
    fn append(&mut self, message: &Arc<Message>) {
        self.full.append();
        self.view.messages.push(message.clone());
    }

    fn replied(&mut self, reply: &[Arc<Message>], _: Report) {
        self.same = self.view.messages.len();
        reply.iter().for_each(|message| self.append(message));
    }

    fn edit(&mut self, _: &Moment) -> Option<&'static str> {
        let messages = self.view.messages.len();
        if self.looks > LOOKS && messages.saturating_sub(self.last) < messages / GROWTH {
            self.left_out += 1;
            return None;
        }
        self.looks += messages;
        self.same = 0;
        strategy::apply_all(&mut self.view);
        self.last = self.view.messages.len();
        Some("strategies")
    }

    fn compact(&mut self, _: &Moment) -> bool {
        let Some(view) = self.full.compact() else {
            return false;
        };
        self.view.messages = view.to_vec();
        (self.same, self.last) = (0, 0);
        true
    }

    fn shown(&self) -> &[Arc<Message>] {
        &self.view.messages
    }

    fn same(&self) -> usize {
        self.same
    }

    fn edge(&self) -> Option<usize> {
        None
    }

    fn left_out(&self) -> u64 {
        self.left_out
    }
}
