//! What outlasts a command: its jobs, and how what is obeyed stood after it.

use crate::desk::Desk;
use crate::family::{Family, Member};
use crate::obeyed::Obeyed;
use codelet_agent::tool::{Lack, Need};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What outlasts a command.
#[derive(Default)]
pub(crate) struct Left {
    /// What may still run.
    families: Mutex<Vec<Arc<Family>>>,
    /// What is obeyed, as it stood when it was last looked at; nothing before the first command in the sandbox.
    obeyed: Mutex<Option<Obeyed>>,
    /// Folders that the user has let commands write to besides.
    permitted: Mutex<BTreeSet<PathBuf>>,
}

impl Left {
    pub(crate) fn families(&self) -> MutexGuard<'_, Vec<Arc<Family>>> {
        self.families.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn permitted(&self) -> MutexGuard<'_, BTreeSet<PathBuf>> {
        self.permitted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks at the folders, too, that a command may write to by these permissions.
    pub(crate) fn watch(&self, permitted: &[Need]) {
        let folders = permitted.iter().filter_map(|need| match need {
            Need::RunWith {
                lack: Lack::Write(folder),
                ..
            } => Some(folder.clone()),
            _ => None,
        });
        self.permitted().extend(folders);
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
    pub(crate) fn look(&self, desk: &Desk, is_shut_in: bool) -> Vec<PathBuf> {
        let mut last = self.obeyed.lock().unwrap_or_else(PoisonError::into_inner);
        if last.is_none() && !is_shut_in {
            return Vec::new();
        }
        let permitted = self.permitted().clone();
        let now = Obeyed::of_all(desk.paths.roots().chain(&permitted));
        let mut changed = last.as_ref().map(|last| now.changed(last)).unwrap_or_default();
        changed.retain(|path| !desk.seen.is_last(path));
        *last = Some(now);
        changed
    }
}
