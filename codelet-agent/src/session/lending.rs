//! What a session lends to the tasks that it hands on, and what comes back of them: their bills and their conversations.

use crate::session::Session;
use crate::tool::Lent;
use codelet_context::body::Body;
use std::sync::PoisonError;

impl Session {
    /// What each of so many tasks may cost: the same part of what is left, and one part stays for the answer to the user. None where
    /// nothing bounds it.
    pub(crate) fn share(&self, tasks: usize) -> Option<f64> {
        let spent = self.bill.since(&self.bill_before).dollars;
        let left = (self.settings.limits.max_cost? - spent).max(0.0);
        Some(left / (tasks + 1) as f64)
    }

    /// What a task works with that may cost so much.
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

    /// Shows the bill to the session that has handed this one its work.
    pub(crate) fn put_on_tab(&self) {
        if let Some(seat) = &self.seat {
            *seat.lock().unwrap_or_else(PoisonError::into_inner) = self.bill;
        }
    }

    /// Puts on the bill what tasks have cost that are over, however they ended.
    pub(crate) fn settle_tasks(&mut self) {
        for spent in self.tasks.settle() {
            self.bill = self.bill.plus(&spent);
        }
    }

    /// Keeps the conversation of a task. Returns where it is if the answer does not say so: something else may have taken its handle
    /// meanwhile.
    pub(crate) fn keep_transcript(&mut self, transcript: &Body, answer: &str) -> Option<String> {
        let told = self.tasks.keep(transcript, &mut self.conversation);
        (!answer.contains(&told)).then_some(told)
    }
}
