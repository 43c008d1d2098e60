//! The engine's own presets, run by the engine: it decides, compacts and edits as in a live session.

use crate::editor::{Editor, Moment};
use crate::policy::Settings;
use crate::session::Session;
use codelet_context::anchor;
use codelet_context::conversation::{Conversation, Due, Report, Signals};
use codelet_context::economics::{Economics, Preset};
use codelet_context::message::{Message, Role};
use codelet_context::policy::{CompactionConfig, Reason};
use codelet_context::turn;
use std::collections::HashSet;
use std::sync::Arc;

/// A conversation under a preset.
pub struct Engine {
    conversation: Conversation,
    /// The number of messages in the last request, as long as no edit followed it.
    same: usize,
    edge: Option<usize>,
    /// The numbers of messages after which the model asks for a compaction.
    wishes: HashSet<usize>,
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
            wishes: HashSet::new(),
        }
    }

    /// Makes the model ask for a compaction whenever a piece of work is done: when the tests pass after a change, and
    /// before the last text of each turn, whether or not another turn follows.
    pub fn wishing(mut self, session: &Session) -> Self {
        let messages = &session.messages;
        let turns = turn::turns(messages);
        let anchors = anchor::find(messages, &turns, &[], 0);
        let last_words = turns.iter().filter_map(|turn| {
            let mut replies = turn.0.clone().filter(|&at| messages[at].role == Role::Assistant);
            let first = replies.next()?;
            replies.next_back().filter(|&last| last > first)
        });
        self.wishes = anchors
            .iter()
            .map(|anchor| anchor.range.end)
            .chain(last_words)
            .collect();
        self
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
            is_wished: self.wishes.contains(&self.conversation.history().messages().len())
                && self.conversation.wished().is_ok(),
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
