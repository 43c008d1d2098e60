//! Orphans that this process has [adopted](crate::tree::Adoption). Once they exit, this process must reap them: a zombie
//! looks alive to a program that waits for it to be gone.
//!
//! Children that this process started directly (a server, an editor) are waited for by their owner and not touched.

use crate::tree::{Member, ProcessTree};

#[cfg(target_os = "linux")]
use linux::bury;
#[cfg(target_os = "linux")]
pub use linux::reap;

impl ProcessTree {
    /// Returns the remaining processes after the leader has been waited for, and reaps those that have ended.
    pub fn left(&self) -> Vec<Member> {
        if self.is_gone() {
            return Vec::new();
        }
        bury();
        // Another program may have ended during the first look.
        match self.is_gone() {
            true => Vec::new(),
            false => self.members(),
        }
    }
}

/// This system has no adoption.
#[cfg(not(target_os = "linux"))]
pub fn reap() {}

#[cfg(not(target_os = "linux"))]
fn bury() {}

#[cfg(target_os = "linux")]
mod linux {
    use crate::limit::is_marked;
    use crate::scan::{self, Process, own, read_process};
    use crate::tree;
    use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
    use std::sync::Mutex;

    /// Held while reaping: until then, the PID of a zombie cannot be reused.
    static BURIES: Mutex<()> = Mutex::new(());

    /// Reaps dead orphans where finding them is cheap; meant to be called often.
    pub fn reap() {
        bury_of(scan::children_listed, 1);
    }

    /// Reaps dead orphans.
    pub(crate) fn bury() {
        let all = || scan::processes().into_iter().map(|process| process.pid).collect();
        bury_of(|| Some(scan::children_listed().unwrap_or_else(all)), 20);
    }

    fn bury_of(children: impl FnOnce() -> Option<Vec<i32>>, looks: usize) {
        let Ok(_buries) = BURIES.try_lock() else { return };
        // One call says whether any child has exited; finding the orphans among them takes dozens.
        let dead = waitid(
            WaitId::All,
            WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT,
        );
        if !matches!(dead, Ok(Some(_))) {
            return;
        }
        let Some(Process { pid: own, session, .. }) = read_process(own()) else {
            return;
        };
        let children = children().unwrap_or_default().into_iter().filter_map(read_process);
        let dead: Vec<Process> = children
            .filter(|process| process.parent == own && !process.is_alive && is_adopted(process, session))
            .collect();
        if dead.is_empty() {
            return;
        }
        // After that: a program that is among the dead is held by now, or was waited for.
        let Some(leaders) = tree::leaders(looks) else {
            return;
        };
        for process in dead {
            let is_leader = leaders.iter().any(|(leader, _)| *leader == process.pid);
            if let Some(pid) = Pid::from_raw(process.pid).filter(|_| !is_leader) {
                let _ = waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOHANG);
            }
        }
    }

    /// Returns whether a child of this process is an orphan or the leader of a family, so that no other part of this
    /// process started it. A direct child is in this process's session or leads its own; only a descendant is in
    /// another one, and only families have the mark.
    fn is_adopted(child: &Process, session: i32) -> bool {
        child.session != session && (child.session != child.pid || is_marked(child.pid))
    }
}
