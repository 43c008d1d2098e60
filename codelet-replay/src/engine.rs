//! The engine's own presets, run by the engine: it decides, compacts and edits as in a live session.

use crate::editor::{Editor, Moment};
use crate::session::Session;
use crate::settings::Settings;
use codelet_context::conversation::{Conversation, Due, Report, Signals};
use codelet_context::economics::{Economics, Preset};
use codelet_context::message::Message;
use codelet_context::policy::{CompactionConfig, Reason};
use std::sync::Arc;

/// A conversation under a preset.
pub struct Engine {
    conversation: Conversation,
    /// The number of messages in the last request, as long as no edit followed it.
    same: usize,
    edge: Option<usize>,
}

impl Engine {
    pub fn new(session: &Session, settings: &Settings, preset: Preset) -> Self {
        let config = CompactionConfig::new(settings.window).reserving(settings.reserved);
        let economics = Economics::new(settings.card.clone()).preset(preset);
        // The engine expects estimates, and calibrates them from its reports.
        let overhead = session.estimate(session.fixed);
        Engine {
            conversation: Conversation::new(config, overhead).under(economics),
            same: 0,
            edge: None,
        }
    }
}

impl Editor for Engine {
    fn append(&mut self, message: &Arc<Message>) {
        self.conversation.append(message.clone());
    }

    fn replied(&mut self, reply: &[Arc<Message>], report: Report) {
        self.same = self.conversation.view().messages.len();
        match reply {
            [] => self.conversation.reported(report),
            [first, rest @ ..] => {
                self.conversation.replied(first.clone(), report);
                rest.iter()
                    .for_each(|message| self.conversation.append(message.clone()));
            }
        }
    }

    fn edit(&mut self, moment: &Moment) -> Option<&'static str> {
        let signals = Signals {
            is_cold: moment.is_cold,
            ..Signals::default()
        };
        let due = self.conversation.decide(signals)?;
        let edits = self.conversation.edits().len();
        let done = self.conversation.compact(due);
        let is_changed = done.is_ok() && self.conversation.edits().len() > edits;
        if is_changed {
            self.same = 0;
        }
        is_changed.then(|| due.reason().name())
    }

    fn compact(&mut self, _: &Moment) -> bool {
        // A provider would refuse the request and name its limit; the engine compacts for that.
        self.conversation
            .refused(Some(self.conversation.config().window()), None);
        let is_changed = self
            .conversation
            .compact(Due::whole(Reason::Refused))
            .is_ok_and(|notice| notice.changed);
        if is_changed {
            self.same = 0;
        }
        is_changed
    }

    fn sending(&mut self, is_cold: bool) {
        self.edge = self.conversation.sending(is_cold).next;
    }

    fn shown(&self) -> &[Arc<Message>] {
        &self.conversation.view().messages
    }

    fn same(&self) -> usize {
        self.same
    }

    fn edge(&self) -> Option<usize> {
        self.edge
    }
}
