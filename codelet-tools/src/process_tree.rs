//! All processes that a command has started, including those that left its session, and how to end them.
//!
//! Only this process can end them: if it is killed itself, they go on. The kernel's parent-death signal is sent when
//! the *thread* that started a program ends, which here happens at once (the [sandbox](crate::sandbox) applies to a
//! thread), and the program's own children do not inherit it.

use crate::sandbox::Sandboxing;
use crate::spawn::Unstarted;
use rustix::process::{Pid, Signal};
#[cfg(not(target_os = "linux"))]
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError, Weak};
use std::time::Duration;

/// The environment variable that marks a command's descendants; its value is different for each call. Set it, to any
/// value, for a program that is started in its own session while a command runs, and the program survives the end of
/// the command.
pub const MARK: &str = "CODELET_CALL";

/// Interval between checks for remaining processes.
const LOOK: Duration = Duration::from_millis(5);

/// The families that are still referenced, for the end of the process.
static LIVE: Mutex<Vec<Weak<ProcessTree>>> = Mutex::new(Vec::new());

/// True once all families are being ended: their list stays locked, and no command can start.
static ENDING: AtomicBool = AtomicBool::new(false);

/// Kills everything that all commands have started, without a grace period, even if a caller still waits for a command.
/// Call it only just before the process exits: nothing can be started afterwards, and a thread that tries to blocks
/// forever.
pub fn end_all() {
    let live = live(40, LOOK);
    let Some(live) = live else { return };
    ENDING.store(true, Ordering::Relaxed);
    for family in live.iter().filter_map(Weak::upgrade) {
        family.kill(&mut || {});
    }
    // Never unlocked, or a thread that still runs could start the next command.
    std::mem::forget(live);
}

/// Locks the list of families once no command is being started, and gives up after `looks` attempts: a start that takes
/// longer hangs in the kernel and would block the caller too.
fn live(looks: usize, pause: Duration) -> Option<MutexGuard<'static, Vec<Weak<ProcessTree>>>> {
    (0..looks).find_map(|_| match LIVE.try_lock() {
        Ok(live) => Some(live),
        Err(TryLockError::Poisoned(live)) => Some(live.into_inner()),
        Err(TryLockError::WouldBlock) => {
            std::thread::sleep(pause);
            None
        }
    })
}

/// Returns the leaders of all commands that are still referenced, with their start times. `None` if a command is still
/// being started after `looks` attempts, a millisecond apart, or if all are being ended.
#[cfg(target_os = "linux")]
pub(crate) fn leaders(looks: usize) -> Option<Vec<(i32, u64)>> {
    let live = match ENDING.load(Ordering::Relaxed) {
        true => return None,
        false => live(looks, Duration::from_millis(1))?,
    };
    let held = live.iter().filter_map(Weak::upgrade);
    Some(
        held.map(|family| (family.leader.as_raw_nonzero().get(), family.since))
            .collect(),
    )
}

/// A command and its descendants.
#[derive(Debug)]
pub(crate) struct ProcessTree {
    /// The shell, which leads its own session.
    pub(crate) leader: Pid,
    #[cfg(target_os = "linux")]
    mark: Vec<u8>,
    /// The leader's start time; no member is older.
    #[cfg(target_os = "linux")]
    since: u64,
}

/// A process that still exists.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Member {
    pub pid: i32,
    pub name: String,
    #[cfg(target_os = "linux")]
    started: u64,
}

impl ProcessTree {
    /// Starts a command's leader with this mark and registers the family from its first moment.
    ///
    /// # Errors
    /// If it cannot be started.
    pub(crate) fn begin(
        mark: &str,
        start: impl FnOnce() -> Result<(Pid, Option<Sandboxing>), Unstarted>,
    ) -> Result<(Arc<ProcessTree>, Option<Sandboxing>), Unstarted> {
        // Locked during the start: `end_all` either finds the command or comes before it.
        let mut live = LIVE.lock().unwrap_or_else(PoisonError::into_inner);
        let (leader, sandboxing) = start()?;
        let family = Arc::new(ProcessTree::of(leader, mark));
        live.retain(|family| family.strong_count() > 0);
        live.push(Arc::downgrade(&family));
        Ok((family, sandboxing))
    }

    /// Sends a signal to all members. Returns how many it found besides the leader's group.
    fn signal(&self, signal: Signal) -> usize {
        // The whole group at once, so that none of it can start another process in between.
        let _ = rustix::process::kill_process_group(self.leader, signal);
        let members = self.members();
        for member in &members {
            member.signal(signal);
        }
        members.len()
    }

    /// Ends all members: sends SIGTERM, waits up to `patience`, then sends SIGKILL. Calls `meanwhile` throughout, so
    /// that no process is blocked by output that is not read.
    pub(crate) fn end(&self, patience: Duration, mut meanwhile: impl FnMut()) {
        let asked = std::time::Instant::now();
        let mut there = self.signal(Signal::TERM);
        // A stopped process does not handle SIGTERM.
        self.signal(Signal::CONT);
        while there > 0 && asked.elapsed() < patience {
            meanwhile();
            std::thread::sleep(LOOK);
            there = self.members().len();
        }
        self.kill(&mut meanwhile);
    }

    /// Kills all members and whatever they start meanwhile.
    fn kill(&self, meanwhile: &mut dyn FnMut()) {
        /// Attempts, after which a process that is still there hangs in the kernel.
        const LOOKS: usize = 12;
        for _ in 0..LOOKS {
            if self.signal(Signal::KILL) == 0 {
                break;
            }
            meanwhile();
            std::thread::sleep(LOOK);
        }
    }
}

#[cfg(not(target_os = "linux"))]
impl ProcessTree {
    /// The family of a leader that was just started.
    fn of(leader: Pid, _mark: &str) -> ProcessTree {
        ProcessTree { leader }
    }

    /// Not available on this system.
    pub(crate) fn directory(&self) -> Option<PathBuf> {
        None
    }

    /// Checking the group is cheap, so there is no shortcut.
    pub(crate) fn is_gone(&self) -> bool {
        false
    }

    /// The leader, as long as its group exists.
    pub(crate) fn members(&self) -> Vec<Member> {
        match rustix::process::test_kill_process_group(self.leader) {
            Ok(()) => vec![Member {
                pid: self.leader.as_raw_nonzero().get(),
                name: "a job".to_owned(),
            }],
            Err(_) => Vec::new(),
        }
    }
}

#[cfg(not(target_os = "linux"))]
impl Member {
    fn signal(&self, _signal: Signal) {}
}

/// This system has no child subreaper.
#[cfg(not(target_os = "linux"))]
pub(crate) struct Adoption;

#[cfg(not(target_os = "linux"))]
impl Adoption {
    pub(crate) fn begin() -> Self {
        Adoption
    }
}

#[cfg(target_os = "linux")]
pub(crate) use linux::Adoption;

#[cfg(target_os = "linux")]
mod linux {
    use super::{MARK, Member, ProcessTree};
    use crate::proc_scan::{Process, children, environment, is_copy_of_self, own, processes, read_process};
    use rustix::io::Errno;
    use rustix::process::{self, Pid, PidfdFlags, Signal, WaitId, WaitIdOptions};
    use std::collections::{HashMap, HashSet};
    use std::path::PathBuf;
    use std::sync::{Mutex, PoisonError};
    use std::time::Duration;

    /// Retries for a process without an environment, and the pause between them.
    const LOOKS_AGAIN: usize = 3;
    /// Milliseconds that starting a command may take on an overloaded machine.
    const STARTING: usize = 1_000;
    const PAUSE: Duration = Duration::from_millis(3);

    impl ProcessTree {
        /// The family of a leader that was just started with this mark and not waited for.
        pub(super) fn of(leader: Pid, mark: &str) -> ProcessTree {
            let process = read_process(leader.as_raw_nonzero().get());
            ProcessTree {
                leader,
                mark: format!("{MARK}={mark}").into_bytes(),
                since: process.map_or(0, |process| process.started),
            }
        }

        /// The leader's current working directory.
        pub(crate) fn directory(&self) -> Option<PathBuf> {
            std::fs::read_link(format!("/proc/{}/cwd", self.leader.as_raw_nonzero())).ok()
        }

        /// Returns whether certainly no member is left, which is cheaper than listing them (that reads every process of
        /// the machine). While this process is a subreaper, a process that loses its parent becomes its child, so every
        /// remaining member is a child started since, or descends from one.
        pub(crate) fn is_gone(&self) -> bool {
            if !matches!(process::child_subreaper(), Ok(Some(_))) {
                return false;
            }
            let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
            if process::waitid(WaitId::All, look).is_err_and(|error| error == Errno::CHILD) {
                return true;
            }
            // In this order: a command whose leader is listed as a child is registered, or being started.
            let (Some(children), Some(leaders)) = (children(), super::leaders(20)) else {
                return false;
            };
            children.into_iter().all(|pid| {
                let is_others = |process: &Process| {
                    let leader = leaders.iter().find(|(leader, _)| *leader == process.pid);
                    let is_leader = leader.is_some_and(|(_, since)| *since == process.started);
                    process.started < self.since || (is_leader && pid != self.leader.as_raw_nonzero().get())
                };
                // Another server, an earlier command's job, or a concurrent command. A process that has exited
                // meanwhile may have left children.
                read_process(pid).as_ref().is_some_and(is_others)
            })
        }

        /// All remaining processes: those in the session, those with the mark, their children, and orphans reparented
        /// to this process since.
        pub(crate) fn members(&self) -> Vec<Member> {
            let leader = self.leader.as_raw_nonzero().get();
            let all = processes();
            let myself = all.iter().find(|process| process.pid == own());
            let own = myself.map_or((own(), 0), |process| (process.pid, process.session));
            // The leader of a concurrent command is not an orphan, though its environment may be empty for longer than
            // the retries: any leader among the processes is registered as soon as it has started.
            let others: HashSet<(i32, u64)> = super::leaders(STARTING).unwrap_or_default().into_iter().collect();
            let mut found: HashSet<i32> = HashSet::new();
            let mut children: HashMap<i32, Vec<i32>> = HashMap::new();
            for process in &all {
                if process.started < self.since {
                    continue;
                }
                children.entry(process.parent).or_default().push(process.pid);
                let is_near = process.session == leader || process.group == leader || process.pid == leader;
                let leads_another = !is_near && others.contains(&(process.pid, process.started));
                if is_near || (process.is_alive && !leads_another && self.has_mark(process, own)) {
                    found.insert(process.pid);
                }
            }
            found.remove(&own.0);
            let mut open: Vec<i32> = found.iter().copied().collect();
            while let Some(pid) = open.pop() {
                for &child in children.get(&pid).into_iter().flatten() {
                    if found.insert(child) {
                        open.push(child);
                    }
                }
            }
            all.into_iter()
                .filter(|process| process.is_alive && found.contains(&process.pid))
                .map(|process| Member {
                    pid: process.pid,
                    name: process.name,
                    started: process.started,
                })
                .collect()
        }

        fn has_mark(&self, process: &Process, (own, session): (i32, i32)) -> bool {
            let may_be_orphan = process.parent == own && process.session != session;
            let mut environment = environment(process.pid);
            // A process has no environment for a moment during exec and when it exits.
            for _ in 0..LOOKS_AGAIN {
                if !may_be_orphan || !environment.is_empty() {
                    break;
                }
                std::thread::sleep(PAUSE);
                match read_process(process.pid) {
                    Some(now) if now.is_alive && now.started == process.started => {
                        environment = crate::proc_scan::environment(process.pid);
                    }
                    _ => return false,
                }
            }
            let mut marks = environment
                .split(|&byte| byte == 0)
                .filter(|variable| {
                    variable
                        .strip_prefix(MARK.as_bytes())
                        .is_some_and(|rest| rest.first() == Some(&b'='))
                })
                .peekable();
            if marks.peek().is_some() {
                return marks.any(|mark| mark == self.mark);
            }
            // A process that dropped the mark, left the session and lost its parent was reparented to this one.
            may_be_orphan && !is_copy_of_self(process.pid)
        }
    }

    impl Member {
        pub(super) fn signal(&self, signal: Signal) {
            let Some(pid) = Pid::from_raw(self.pid) else { return };
            // A pidfd, so that the PID cannot come to mean another process.
            let Ok(held) = process::pidfd_open(pid, PidfdFlags::empty()) else {
                return;
            };
            if read_process(self.pid).is_some_and(|now| now.started == self.started) {
                // It may have exited, which is what is wanted.
                let _ = process::pidfd_send_signal(held, signal);
            }
        }
    }

    /// While it is held, processes that lose their parent become children of this one (child subreaper), so that they
    /// are found.
    pub(crate) struct Adoption(());

    static HELD: Mutex<usize> = Mutex::new(0);

    impl Adoption {
        pub(crate) fn begin() -> Self {
            let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
            if *held == 0 {
                // Without it, only processes that dropped the mark are missed.
                let _ = process::set_child_subreaper(Some(process::getpid()));
            }
            *held += 1;
            Adoption(())
        }
    }

    impl Drop for Adoption {
        fn drop(&mut self) {
            let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
            *held -= 1;
            if *held == 0 {
                let _ = process::set_child_subreaper(None);
            }
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::process::{FinishedProcess, run};
    use crate::spawn::Program;
    use std::process::Command;
    use std::time::Instant;

    fn ended(command: &str) -> FinishedProcess {
        let program = Program {
            program: "/bin/sh".into(),
            arguments: vec!["-c".into(), command.into()],
            directory: "/".into(),
            held: None,
            input: None,
            errors: None,
            handed: Vec::new(),
            environment: vec![("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())],
            sandbox: None,
            timeout: Duration::from_secs(20),
        };
        run(program, None, &mut |_| {}).unwrap()
    }

    #[test]
    fn that_nobody_is_left_is_certain_beside_older_children_and_not_beside_a_job() {
        let _adoption = Adoption::begin();
        let mut older = Command::new("sleep").arg("1000").spawn().unwrap();
        // The clock of process start times is coarse, and other tests have children too.
        let began = Instant::now();
        while !ended("true").family.is_gone() {
            assert!(began.elapsed() < Duration::from_secs(60), "it is never certain");
        }
        for job in [
            "sleep 1000 > /dev/null 2>&1 &",
            "(env -i setsid sleep 1000 > /dev/null 2>&1 &)",
        ] {
            let ended = ended(job);
            assert!(!ended.family.is_gone(), "{job}");
            ended.family.end(Duration::ZERO, || {});
        }
        older.kill().unwrap();
        older.wait().unwrap();
    }
}
