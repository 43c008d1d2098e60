//! The search for changes that a test run has finished, over the effects of calls in order.

use super::AnchorKind;
use super::describe::describe;
use super::event::{Event, RunKind};
use std::sync::Arc;

/// The state of the search.
#[derive(Clone, Debug, Default)]
pub(super) struct Search {
    /// The number of events read.
    events: usize,
    /// The last unresolved failure of a step or turn. Passing tests resolve any failure; a passing build or another
    /// success resolves a failure of its own kind only.
    broken: Option<RunKind>,
    /// Files changed in this turn since its last success.
    changed: Vec<Arc<str>>,
    /// The failure that was unresolved when one of them was changed.
    repaired: Option<RunKind>,
    /// True if a test run followed the last change.
    is_tested: bool,
    /// Untested changes of earlier turns, and the failure that was unresolved at the time.
    waiting: (Vec<Arc<str>>, Option<RunKind>),
    /// The newest success that nothing has invalidated.
    success: Option<(AnchorKind, String)>,
}

impl Search {
    /// Begins a turn: the changes of the previous turn are finished by now or wait for the next test run.
    pub(super) fn begin_turn(&mut self) {
        let changed = std::mem::take(&mut self.changed);
        let repaired = self.repaired.take();
        if !changed.is_empty() && !self.is_tested {
            self.waiting = (changed, repaired);
        }
        self.is_tested = false;
        self.success = None;
    }

    pub(super) fn read_to(&mut self, events: &[(usize, Event)], end: usize) {
        while let Some((index, event)) = events.get(self.events)
            && *index < end
        {
            self.read(event);
            self.events += 1;
        }
    }

    /// The achievement in the messages read since the last call. The next success needs new changes.
    pub(super) fn finished(&mut self) -> Option<(AnchorKind, String)> {
        let success = self.success.take()?;
        self.changed.clear();
        self.repaired = None;
        Some(success)
    }

    fn read(&mut self, event: &Event) {
        match event {
            Event::Changed(paths) => self.change(paths),
            Event::Ran {
                kind: RunKind::Tests,
                success,
            } => {
                let (waiting, repaired) = std::mem::take(&mut self.waiting);
                self.is_tested = true;
                self.broken = (!success).then_some(RunKind::Tests);
                if !success {
                    self.success = None;
                } else if !self.changed.is_empty() {
                    self.success = Some(describe(self.repaired, &self.changed));
                } else if !waiting.is_empty() {
                    self.success = Some(describe(repaired, &waiting));
                }
            }
            Event::Ran { kind, success: true } if self.broken == Some(*kind) => self.broken = None,
            Event::Ran { success: true, .. } => {}
            // Whatever else fails says less than a check that failed before.
            Event::Ran {
                kind: RunKind::Other, ..
            } => self.broken = self.broken.or(Some(RunKind::Other)),
            Event::Ran { kind, .. } => self.broken = Some(*kind),
        }
    }

    fn change(&mut self, paths: &[Arc<str>]) {
        self.is_tested = false;
        self.repaired = self.broken.or(self.repaired);
        for path in paths {
            if !self.changed.contains(path) && self.changed.len() < 1_000 {
                self.changed.push(path.clone());
            }
        }
        // Some changes name no file but count all the same.
        if self.changed.is_empty() {
            self.changed.push(Arc::from(""));
        }
    }
}
