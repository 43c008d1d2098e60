//! The policy that runs the strategies before every request.

use crate::editor::{Editor, Full, Moment};
use crate::policy::Settings;
use crate::session::Session;
use codelet_context::conversation::Report;
use codelet_context::message::Message;
use codelet_context::strategy;
use codelet_context::view::View;
use std::sync::Arc;

/// Runs all strategies over what was left of the last request and what came since, and compacts when full.
pub struct Seven<'a> {
    full: Full<'a>,
    view: View,
}

impl<'a> Seven<'a> {
    pub fn new(session: &'a Session, settings: &Settings) -> Self {
        Seven {
            full: Full::new(session, settings),
            view: View::default(),
        }
    }
}

impl Editor for Seven<'_> {
    fn append(&mut self, message: &Arc<Message>) {
        self.full.append(message);
        self.view.messages.push(message.clone());
    }

    fn replied(&mut self, reply: &[Arc<Message>], _: Report) {
        reply.iter().for_each(|message| self.append(message));
    }

    fn edit(&mut self, _: &Moment) -> Option<&'static str> {
        strategy::apply_all(&mut self.view);
        Some("strategies")
    }

    fn compact(&mut self, _: &Moment) -> bool {
        let Some(view) = self.full.compact() else {
            return false;
        };
        self.view.messages = view.to_vec();
        true
    }

    fn shown(&self) -> &[Arc<Message>] {
        &self.view.messages
    }

    fn same(&self) -> usize {
        0
    }

    fn edge(&self) -> Option<usize> {
        None
    }
}
