//! Reading what calls came to, one after the other, for changes that a test run has finished.

use super::AnchorKind;
use super::came::{Event, Failure};
use super::describe::describe;
use std::sync::Arc;

/// What is known while a conversation is read.
#[derive(Clone, Debug, Default)]
pub(super) struct Search {
    /// How many events were read.
    events: usize,
    /// How the last step or turn that says so has ended, unless well. A check is broken until one succeeds; any other
    /// failure is over with the next success.
    broken: Option<Failure>,
    /// Files changed in this turn since its last success.
    changed: Vec<Arc<str>>,
    /// What was broken when one of them was changed.
    repaired: Option<Failure>,
    /// A test run has come after the last change.
    is_tested: bool,
    /// What earlier turns have changed and not tested, and what was broken when they did.
    waiting: (Vec<Arc<str>>, Option<Failure>),
    /// The newest success that nothing has undone.
    success: Option<(AnchorKind, String)>,
}

impl Search {
    /// What was changed in the turn before is finished by now, or waits for the next test run.
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

    /// What the messages read since the last time have finished. The next success needs changes of its own.
    pub(super) fn finished(&mut self) -> Option<(AnchorKind, String)> {
        let success = self.success.take()?;
        self.changed.clear();
        self.repaired = None;
        Some(success)
    }

    fn read(&mut self, event: &Event) {
        match event {
            Event::Changed(paths) => self.change(paths),
            Event::CheckFailed { is_test, failure } => {
                self.broken = Some(*failure);
                if *is_test {
                    self.success = None;
                    self.test();
                }
            }
            Event::TestsPassed => {
                self.broken = None;
                let (waiting, repaired) = self.test();
                if !self.changed.is_empty() {
                    self.success = Some(describe(self.repaired, &self.changed));
                } else if !waiting.is_empty() {
                    self.success = Some(describe(repaired, &waiting));
                }
            }
            Event::BuildPassed if self.broken == Some(Failure::Build) => self.broken = None,
            Event::Other { success: true } if self.broken == Some(Failure::Other) => self.broken = None,
            Event::Other { success: false } => self.broken = self.broken.or(Some(Failure::Other)),
            Event::BuildPassed | Event::Other { .. } => {}
        }
    }

    /// A test run ends the wait of what earlier turns have changed.
    fn test(&mut self) -> (Vec<Arc<str>>, Option<Failure>) {
        self.is_tested = true;
        std::mem::take(&mut self.waiting)
    }

    fn change(&mut self, paths: &[Arc<str>]) {
        self.is_tested = false;
        self.repaired = self.broken.or(self.repaired);
        for path in paths {
            if !self.changed.contains(path) && self.changed.len() < 1_000 {
                self.changed.push(path.clone());
            }
        }
        // Some changes name no file; they are changes all the same.
        if self.changed.is_empty() {
            self.changed.push(Arc::from(""));
        }
    }
}
