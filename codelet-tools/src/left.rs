//! State that outlives a command: its jobs, and the last snapshot of the files that instruct other programs.

use crate::obeyed::Obeyed;
use crate::process::PATIENCE;
use crate::tool_context::ToolContext;
use codelet_process::{Member, ProcessTree};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// State that outlives a command.
#[derive(Default)]
pub(crate) struct Left {
    /// Families that may still run.
    families: Mutex<Vec<Arc<ProcessTree>>>,
    /// The last snapshot of files that instruct other programs; `None` before the first sandboxed command.
    obeyed: Mutex<Option<Obeyed>>,
}

impl Left {
    pub(crate) fn families(&self) -> MutexGuard<'_, Vec<Arc<ProcessTree>>> {
        self.families.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The running jobs of earlier commands, except those of this one. Families that have ended are dropped.
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

    /// Ends what the earlier command that started this process has left running, and returns what that was; nothing if
    /// the process is not such a job.
    pub(crate) fn stop(&self, pid: u64) -> Vec<Member> {
        let is_it = |member: &Member| u64::try_from(member.pid) == Ok(pid);
        let found = self.families().iter().find_map(|family| {
            let members = family.members();
            members.iter().any(is_it).then(|| (Arc::clone(family), members))
        });
        found.map_or_else(Vec::new, |(family, members)| {
            family.end(PATIENCE, || {});
            // It was this process's own child by now, and seems to run until it is waited for.
            family.left();
            members
        })
    }

    /// Files that instruct other programs and have changed since the last snapshot, other than by the tools that write
    /// files. Without a sandbox nothing needs checking, unless an earlier sandboxed command may still be running.
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
