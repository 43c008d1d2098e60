//! Orphans of commands, which this process [adopts](crate::process_tree::Adoption) while a command runs. Once they are dead it is
//! this process's to bury them: who is dead and not buried looks alive to a command that waits for it to be gone.
//!
//! Whom this process has started itself (a server, an editor) is waited for by whoever started it, and is not touched.

#[cfg(not(target_os = "linux"))]
use rustix::process::Pid;

#[cfg(target_os = "linux")]
pub(crate) use linux::{bury, look, mark};

/// Nobody is adopted on this system.
#[cfg(not(target_os = "linux"))]
pub(crate) fn mark(_leader: Pid) {}

#[cfg(not(target_os = "linux"))]
pub(crate) fn look() {}

#[cfg(not(target_os = "linux"))]
pub(crate) fn bury() {}

#[cfg(target_os = "linux")]
mod linux {
    use crate::proc_scan::{self, Process, own, read_process};
    use crate::process_tree;
    use rustix::process::{Pid, Resource, Rlimit, WaitId, WaitIdOptions, getrlimit, prlimit, waitid};
    use std::sync::{LazyLock, Mutex};

    /// The limit that commands of this process have, and whatever they start. It says who descends from them also of the
    /// dead, of whom nothing else does, and the kernel has had no use for it since Linux 2.4.
    const MARK: Resource = Resource::Locks;
    /// Its line among the limits of a process.
    const LINE: &str = "Max file locks";
    /// A number that nobody else thinks of.
    static NUMBER: LazyLock<u64> = LazyLock::new(|| fastrand::u64(1 << 40..1 << 60));
    /// Held by who buries: until then, the number of a dead one cannot come to mean another.
    static BURIES: Mutex<()> = Mutex::new(());

    /// Marks a command that was just started.
    pub(crate) fn mark(leader: Pid) {
        if getrlimit(MARK).maximum.is_none() {
            let limit = Rlimit {
                current: Some(*NUMBER),
                maximum: None,
            };
            // Without it, those that have left the session and lost their parent stay until this process ends.
            let _ = prlimit(Some(leader), MARK, limit);
        }
    }

    /// Buries who is dead, where it is cheap to see who is; to be called often.
    pub(crate) fn look() {
        bury_of(proc_scan::children_listed, 1);
    }

    /// Buries who is dead.
    pub(crate) fn bury() {
        let all = || proc_scan::processes().into_iter().map(|process| process.pid).collect();
        bury_of(|| Some(proc_scan::children_listed().unwrap_or_else(all)), 20);
    }

    fn bury_of(children: impl FnOnce() -> Option<Vec<i32>>, looks: usize) {
        let Ok(_buries) = BURIES.try_lock() else { return };
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

    /// Whether a child of this process cannot have been started by it, or is one of its commands. Whom it has started is in
    /// its session, or leads one; only a descendant has another's, and only commands have the mark.
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
