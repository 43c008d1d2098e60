//! Lends a session's resources to its tasks, and takes back their bills and transcripts.

use crate::session::Session;
use crate::tool::{Lent, tasks};
use codelet_context::body::Body;
use std::sync::PoisonError;

impl Session {
    /// Returns the cost limit of each of this many tasks: equal parts of what is left, with one part reserved for the
    /// answer to the user. `None` without a limit.
    pub(crate) fn share(&self, tasks: usize) -> Option<f64> {
        let left = (self.settings.limits.max_cost? - self.bill.spent()).max(0.0);
        Some(left / (tasks + 1) as f64)
    }

    /// Returns the resources for a task with this cost limit.
    pub(crate) fn lend(&self, share: Option<f64>) -> Lent<'_> {
        let tools = &self.parts.tools;
        let (own, served) = tools.split_at(self.own_tools.min(tools.len()));
        Lent {
            model: &self.parts.model,
            own,
            served,
            gate: &self.parts.gate,
            world: &self.parts.world,
            settings: &self.settings,
            share,
            tasks: &self.tasks,
            hooks: self.hooks.as_ref(),
            journal: self.journal.as_ref(),
            narrowed: [&self.inherited, &self.narrowed],
        }
    }

    /// Publishes the bill to the parent session.
    pub(crate) fn put_on_tab(&self) {
        if let Some(seat) = &self.seat {
            *seat.lock().unwrap_or_else(PoisonError::into_inner) = self.bill;
        }
    }

    /// Adds the cost of finished tasks to the bill, however they ended.
    pub(crate) fn settle_tasks(&mut self) {
        for spent in self.tasks.settle() {
            self.bill = self.bill.plus(&spent);
        }
    }

    /// Keeps the transcript of a task. Returns the line that says where it is if the answer does not contain it:
    /// something else may have taken its handle meanwhile.
    pub(crate) fn keep_transcript(&mut self, transcript: &Body, answer: &str) -> Option<String> {
        let told = tasks::kept(&self.conversation.keep(transcript, tasks::TOOL, "kept"));
        (!answer.contains(&told)).then_some(told)
    }
}
