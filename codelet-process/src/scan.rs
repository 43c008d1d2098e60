//! Processes as the kernel lists them.

use codelet_text::unseen;
use rustix::process;
use std::fs::File;
use std::io::Read;

/// Bytes of an environment that are searched for the mark (Linux allows larger ones, but the mark comes first).
const ENVIRONMENT: u64 = 256 * 1024;

/// The PID of this process.
pub(crate) fn own() -> i32 {
    process::getpid().as_raw_nonzero().get()
}

/// A process as listed, alive or a zombie.
#[derive(Clone, Debug)]
pub(crate) struct Process {
    pub pid: i32,
    pub name: String,
    pub is_alive: bool,
    pub parent: i32,
    pub group: i32,
    pub session: i32,
    /// In clock ticks since boot.
    pub started: u64,
}

/// The children of this process, including adopted ones; `None` if the list is not reliable.
pub(crate) fn children() -> Option<Vec<i32>> {
    // A thread that exits hands its children to another one, which may have been read already.
    let once = children_listed()?;
    children_listed().filter(|again| *again == once)
}

/// The children as listed, thread by thread; `None` if the kernel provides no list.
pub(crate) fn children_listed() -> Option<Vec<i32>> {
    let mut children = Vec::new();
    for thread in std::fs::read_dir("/proc/self/task").ok()? {
        let listed = std::fs::read_to_string(thread.ok()?.path().join("children")).ok()?;
        for pid in listed.split_whitespace() {
            children.push(pid.parse().ok()?);
        }
    }
    children.sort_unstable();
    Some(children)
}

/// All processes.
pub(crate) fn processes() -> Vec<Process> {
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter_map(read_process)
        .collect()
}

/// Reads the process with this PID, if it exists.
pub(crate) fn read_process(pid: i32) -> Option<Process> {
    // The name is in parentheses and may contain anything, including parentheses and invalid UTF-8.
    let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    let stat = String::from_utf8_lossy(&stat);
    let (head, tail) = stat.rsplit_once(')')?;
    let name = seen(head.split_once('(')?.1);
    let fields: Vec<&str> = tail.split_whitespace().collect();
    let number = |index: usize| fields.get(index)?.parse().ok();
    Some(Process {
        pid,
        name,
        // Its first thread may have ended before the others.
        is_alive: !matches!(*fields.first()?, "Z" | "X") || number(17)? > 1,
        parent: number(1)?,
        group: number(2)?,
        session: number(3)?,
        started: fields.get(19)?.parse().ok()?,
    })
}

/// Replaces control and invisible characters in a name, so that it stays on one line.
fn seen(name: &str) -> String {
    let plain = |c: char| {
        if c.is_control() || unseen::hides(c) {
            '\u{fffd}'
        } else {
            c
        }
    };
    name.chars().map(plain).collect()
}

/// Returns whether it runs this very program: a child that has not called exec yet.
pub(crate) fn is_copy_of_self(pid: i32) -> bool {
    let program = |pid: i32| std::fs::read_link(format!("/proc/{pid}/exe")).ok();
    program(pid).is_some_and(|other| program(own()) == Some(other))
}

/// The environment with which it was started, as far as it is readable.
pub(crate) fn environment(pid: i32) -> Vec<u8> {
    let mut environment = Vec::new();
    if let Ok(file) = File::open(format!("/proc/{pid}/environ")) {
        // A process of another user is not a descendant.
        let _ = file.take(ENVIRONMENT).read_to_end(&mut environment);
    }
    environment
}
