//! What outlasts a command: its jobs, and how what is obeyed stood after it.

use crate::obeyed::Obeyed;
use crate::process_tree::{Member, ProcessTree};
use crate::tool_context::ToolContext;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What outlasts a command.
#[derive(Default)]
pub(crate) struct Left {
    /// What may still run.
    families: Mutex<Vec<Arc<ProcessTree>>>,
    /// What is obeyed, as it stood when it was last looked at; nothing before the first command in the sandbox.
    obeyed: Mutex<Option<Obeyed>>,
}

impl Left {
    pub(crate) fn families(&self) -> MutexGuard<'_, Vec<Arc<ProcessTree>>> {
        self.families.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The jobs of earlier commands that still run, besides those of this one. Families that are gone are forgotten.
    pub(crate) fn earlier(&self, own: &[Member]) -> Vec<Member> {
        let mut earlier = Vec::new();
        self.families().retain(|family| {
            let members = family.members();
            let is_there = !members.is_empty();
            earlier.extend(members.into_iter().filter(|member| !own.contains(member)));
            is_there
        });
        earlier
    }

    /// What is obeyed and has changed since the last look, other than by the tools that write files. Without a sandbox nothing is
    /// new to anybody; one who was shut in before may still be at work.
    pub(crate) fn look(&self, context: &ToolContext, is_shut_in: bool) -> Vec<PathBuf> {
        let mut last = self.obeyed.lock().unwrap_or_else(PoisonError::into_inner);
        if last.is_none() && !is_shut_in {
            return Vec::new();
        }
        let now = Obeyed::of_all(context.paths.roots());
        let mut changed = last.as_ref().map(|last| now.changed(last)).unwrap_or_default();
        changed.retain(|path| !context.seen.is_last(path));
        *last = Some(now);
        changed
    }
}
