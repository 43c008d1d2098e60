//! Orphans of commands, which this process [adopts](crate::process_tree::Adoption) while a command runs. Once they exit, this
//! process must reap them: a zombie looks alive to a command that waits for it to be gone.
//!
//! Children that this process started directly (a server, an editor) are waited for by their owner and not touched.

use crate::process_tree::{Member, ProcessTree};
#[cfg(not(target_os = "linux"))]
use rustix::process::Pid;

#[cfg(target_os = "linux")]
use linux::bury;
#[cfg(target_os = "linux")]
pub(crate) use linux::{look, mark};

/// Returns the remaining processes of a command after its leader has been waited for, and reaps those that have ended.
pub(crate) fn left(family: &ProcessTree) -> Vec<Member> {
    if family.is_gone() {
        return Vec::new();
    }
    bury();
    family.members()
}

/// This system has no adoption.
#[cfg(not(target_os = "linux"))]
pub(crate) fn mark(_leader: Pid) {}

#[cfg(not(target_os = "linux"))]
pub(crate) fn look() {}

#[cfg(not(target_os = "linux"))]
fn bury() {}

#[cfg(target_os = "linux")]
mod linux {
    use crate::proc_scan::{self, Process, own, read_process};
    use crate::process_tree;
    use rustix::process::{Pid, Resource, Rlimit, WaitId, WaitIdOptions, getrlimit, prlimit, waitid};
    use std::sync::{LazyLock, Mutex};

    /// The resource limit that marks this process's commands and all their descendants. Unlike anything else it can
    /// still be read from zombies, and the kernel has not used it since Linux 2.4.
    const MARK: Resource = Resource::Locks;
    /// Its line in `/proc/PID/limits`.
    const LINE: &str = "Max file locks";
    /// A random value that no other program would set.
    static NUMBER: LazyLock<u64> = LazyLock::new(|| fastrand::u64(1 << 40..1 << 60));
    /// Held while reaping: until then, the PID of a zombie cannot be reused.
    static BURIES: Mutex<()> = Mutex::new(());

    /// Marks a command that was just started.
    pub(crate) fn mark(leader: Pid) {
        if getrlimit(MARK).maximum.is_none() {
            let limit = Rlimit {
                current: Some(*NUMBER),
                maximum: None,
            };
            // Without it, those that left the session and lost their parent stay zombies until this process ends.
            let _ = prlimit(Some(leader), MARK, limit);
        }
    }

    /// Reaps dead orphans where finding them is cheap; meant to be called often.
    pub(crate) fn look() {
        bury_of(proc_scan::children_listed, 1);
    }

    /// Reaps dead orphans.
    pub(crate) fn bury() {
        let all = || proc_scan::processes().into_iter().map(|process| process.pid).collect();
        bury_of(|| Some(proc_scan::children_listed().unwrap_or_else(all)), 20);
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
        // After that: a command that is among the dead is held by now, or was waited for.
        let Some(leaders) = process_tree::leaders(looks) else {
            return;
        };
        for process in dead {
            let is_leader = leaders.iter().any(|(leader, _)| *leader == process.pid);
            if let Some(pid) = Pid::from_raw(process.pid).filter(|_| !is_leader) {
                let _ = waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOHANG);
            }
        }
    }

    /// Returns whether a child of this process is an orphan or one of its commands, so that no other part of this
    /// process started it. A direct child is in this process's session or leads its own; only a descendant is in
    /// another one, and only commands have the mark.
    fn is_adopted(child: &Process, session: i32) -> bool {
        child.session != session && (child.session != child.pid || is_marked(child.pid))
    }

    fn is_marked(pid: i32) -> bool {
        let limits = std::fs::read_to_string(format!("/proc/{pid}/limits")).unwrap_or_default();
        let limit = limits.lines().find_map(|line| line.strip_prefix(LINE));
        let soft = limit.and_then(|limit| limit.split_whitespace().next());
        soft.and_then(|soft| soft.parse().ok()) == Some(*NUMBER)
    }
}
