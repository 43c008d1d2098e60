//! A resource limit that marks the programs that this process starts, and all their descendants. Unlike anything else it
//! can still be read from zombies, and the kernel has not used it since Linux 2.4.

use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit};
use std::sync::LazyLock;

const MARK: Resource = Resource::Locks;
/// Its line in `/proc/PID/limits`.
const LINE: &str = "Max file locks";
/// A random value that no other program would set.
static NUMBER: LazyLock<u64> = LazyLock::new(|| fastrand::u64(1 << 40..1 << 60));

/// Marks a program that was just started.
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

/// Returns whether a process, which may be a zombie, is marked.
pub(crate) fn is_marked(pid: i32) -> bool {
    let limits = std::fs::read_to_string(format!("/proc/{pid}/limits")).unwrap_or_default();
    let limit = limits.lines().find_map(|line| line.strip_prefix(LINE));
    let soft = limit.and_then(|limit| limit.split_whitespace().next());
    soft.and_then(|soft| soft.parse().ok()) == Some(*NUMBER)
}
