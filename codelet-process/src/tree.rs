//! All processes that a program has started, including those that left its session, and how to end them.
//!
//! Only this process can end them: if it is killed itself, they go on. The kernel's parent-death signal is sent when
//! the *thread* that started a program ends, which may be at once (a sandbox applies to a thread), and the program's
//! own children do not inherit it.

use rustix::process::{Pid, Signal};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError, Weak};
use std::time::Duration;

/// The environment variable that marks a program's descendants; its value is different for each program.
pub const MARK: &str = "CODELET_CALL";

/// Interval between checks for remaining processes.
const LOOK: Duration = Duration::from_millis(5);

/// The families that are still referenced, for the end of the process.
static LIVE: Mutex<Vec<Weak<ProcessTree>>> = Mutex::new(Vec::new());

/// True once all families are being ended: their list stays locked, and no program can start.
static ENDING: AtomicBool = AtomicBool::new(false);

/// Kills everything that all programs have started, without a grace period, even if a caller still waits for one.
/// Call it only just before the process exits: nothing can be started afterwards, and a thread that tries to blocks
/// forever.
pub fn end_all() {
    let live = live(40, LOOK);
    let Some(live) = live else { return };
    ENDING.store(true, Ordering::Relaxed);
    for family in live.iter().filter_map(Weak::upgrade) {
        family.kill(&mut || {});
    }
    // Never unlocked, or a thread that still runs could start the next program.
    std::mem::forget(live);
}

/// Locks the list of families once no program is being started, and gives up after `looks` attempts: a start that takes
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

/// Returns the leaders of all programs that are still referenced, with their start times. `None` if one is still being
/// started after `looks` attempts, a millisecond apart, or if all are being ended.
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

/// A program and its descendants. They keep running if it is dropped.
#[derive(Debug)]
pub struct ProcessTree {
    /// The program, which leads its own session.
    leader: Pid,
    #[cfg(target_os = "linux")]
    mark: Vec<u8>,
    /// The leader's start time; no member is older.
    #[cfg(target_os = "linux")]
    since: u64,
    /// True if orphans in other sessions that this process adopted since, and that carry no mark, are members.
    #[cfg(target_os = "linux")]
    adopts: bool,
}

/// A process that still exists.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Member {
    /// Its PID.
    pub pid: i32,
    /// The name that the kernel has for it, on one line and without invisible characters.
    pub name: String,
    #[cfg(target_os = "linux")]
    started: u64,
}

impl ProcessTree {
    /// Registers a program and its descendants from the program's first moment. `start` gets the variable and the value
    /// that it must put into the program's environment, and returns the program, which leads its own session and was not
    /// waited for, with anything else that the caller wants back. Descendants that dropped the variable, left the
    /// session and lost their parent are found only with an adoption, and may be those of another program.
    ///
    /// # Errors
    /// Those of `start`.
    pub fn begin<T, E>(
        adoption: Option<&Adoption>,
        start: impl FnOnce((&'static str, String)) -> Result<(Pid, T), E>,
    ) -> Result<(Arc<ProcessTree>, T), E> {
        let mark = format!("{:016x}", fastrand::u64(..));
        // Locked during the start: `end_all` either finds the program or comes before it.
        let mut live = LIVE.lock().unwrap_or_else(PoisonError::into_inner);
        let (leader, other) = start((MARK, mark.clone()))?;
        let family = Arc::new(ProcessTree::of(leader, &mark, adoption));
        live.retain(|family| family.strong_count() > 0);
        live.push(Arc::downgrade(&family));
        Ok((family, other))
    }

    /// The program itself. It has to be waited for by the caller.
    pub fn leader(&self) -> Pid {
        self.leader
    }

    /// Sends these signals to all members. Returns how many it found besides the leader's group.
    fn signal(&self, signals: &[Signal]) -> usize {
        // The whole group at once, so that none of it can start another process in between.
        for &signal in signals {
            let _ = rustix::process::kill_process_group(self.leader, signal);
        }
        let members = self.members();
        for member in &members {
            member.signal(signals);
        }
        members.len()
    }

    /// Ends all members: sends SIGTERM, waits up to `patience`, then sends SIGKILL. Calls `meanwhile` throughout, so
    /// that no process is blocked by output that is not read.
    pub fn end(&self, patience: Duration, mut meanwhile: impl FnMut()) {
        let asked = std::time::Instant::now();
        // A stopped process does not handle SIGTERM.
        let mut there = self.signal(&[Signal::TERM, Signal::CONT]);
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
            if self.signal(&[Signal::KILL]) == 0 {
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
    fn of(leader: Pid, _mark: &str, _adoption: Option<&Adoption>) -> ProcessTree {
        ProcessTree { leader }
    }

    /// Checking the group is cheap, so there is no shortcut.
    pub(crate) fn is_gone(&self) -> bool {
        false
    }

    /// The leader, as long as its group exists.
    pub fn members(&self) -> Vec<Member> {
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
    fn signal(&self, _signals: &[Signal]) {}
}

/// This system has no child subreaper.
#[cfg(not(target_os = "linux"))]
#[derive(Debug)]
pub struct Adoption;

#[cfg(not(target_os = "linux"))]
impl Adoption {
    /// Does nothing.
    pub fn begin() -> Self {
        Adoption
    }
}

#[cfg(target_os = "linux")]
pub use linux::Adoption;

#[cfg(target_os = "linux")]
mod linux {
    use super::{MARK, Member, ProcessTree};
    use crate::limit;
    use crate::scan::{Process, children, environment, is_copy_of_self, own, processes, read_process};
    use rustix::io::Errno;
    use rustix::process::{self, Pid, PidfdFlags, Signal, WaitId, WaitIdOptions};
    use std::collections::{HashMap, HashSet};
    use std::sync::{Mutex, PoisonError};
    use std::time::Duration;

    /// Retries for a process without an environment, and the pause between them.
    const LOOKS_AGAIN: usize = 3;
    /// Milliseconds that starting a program may take on an overloaded machine.
    const STARTING: usize = 1_000;
    const PAUSE: Duration = Duration::from_millis(3);

    impl ProcessTree {
        /// The family of a leader that was just started with this mark and not waited for.
        pub(super) fn of(leader: Pid, mark: &str, adoption: Option<&Adoption>) -> ProcessTree {
            limit::mark(leader);
            let process = read_process(leader.as_raw_nonzero().get());
            ProcessTree {
                leader,
                mark: format!("{MARK}={mark}").into_bytes(),
                since: process.map_or(0, |process| process.started),
                adopts: adoption.is_some(),
            }
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
            // In this order: a program whose leader is listed as a child is registered, or being started.
            let (Some(children), Some(leaders)) = (children(), super::leaders(20)) else {
                return false;
            };
            children.into_iter().all(|pid| {
                let is_others = |process: &Process| {
                    let leader = leaders.iter().find(|(leader, _)| *leader == process.pid);
                    let is_leader = leader.is_some_and(|(_, since)| *since == process.started);
                    process.started < self.since || (is_leader && pid != self.leader.as_raw_nonzero().get())
                };
                // An earlier program, its job, or a concurrent program. A process that has exited
                // meanwhile may have left children.
                read_process(pid).as_ref().is_some_and(is_others)
            })
        }

        /// All remaining processes: those in the session, those with the mark, their children, and orphans reparented
        /// to this process since.
        pub fn members(&self) -> Vec<Member> {
            let all = processes();
            let myself = all.iter().find(|process| process.pid == own());
            let own = myself.map_or((own(), 0), |process| (process.pid, process.session));
            // The leader of a concurrent program is not an orphan, though its environment may be empty for longer than
            // the retries: any leader among the processes is registered as soon as it has started.
            let others: HashSet<(i32, u64)> = super::leaders(STARTING).unwrap_or_default().into_iter().collect();
            let has_mark = |process: &Process| match others.contains(&(process.pid, process.started)) {
                true => Some(false),
                false => self.has_mark(process, own),
            };
            let found = self.among(&all, own.0, has_mark);
            all.into_iter()
                .filter(|process| process.is_alive && found.contains(&process.pid))
                .map(|process| Member {
                    pid: process.pid,
                    name: process.name,
                    started: process.started,
                })
                .collect()
        }

        /// The members among all processes, and zombies of theirs. `has_mark` returns `None` for a process that has no
        /// environment (any more). It is called as seldom as possible: it reads memory of the process, and waits for one
        /// that is busy with its own on a busy machine.
        pub(super) fn among(
            &self,
            all: &[Process],
            own: i32,
            has_mark: impl Fn(&Process) -> Option<bool>,
        ) -> HashSet<i32> {
            let leader = self.leader.as_raw_nonzero().get();
            let parents: HashMap<i32, i32> = all.iter().map(|process| (process.pid, process.parent)).collect();
            // Orphans go to the nearest living ancestor that asked for them, or to the first process. Anybody else has
            // started its children itself, which are members if it is one.
            let mut reapers = HashSet::from([0, 1]);
            let mut ancestor = Some(&own);
            while let Some(&pid) = ancestor.filter(|&&pid| reapers.insert(pid)) {
                ancestor = parents.get(&pid);
            }
            let mut children: HashMap<i32, Vec<&Process>> = HashMap::new();
            let (mut asked, mut open) = (Vec::new(), Vec::new());
            for process in all.iter().filter(|process| process.started >= self.since) {
                children.entry(process.parent).or_default().push(process);
                if process.session == leader || process.group == leader || process.pid == leader {
                    open.push(process);
                } else if reapers.contains(&process.parent) || !parents.contains_key(&process.parent) {
                    // A parent that is not listed has ended since, or is hidden.
                    asked.push(process);
                }
            }
            let below = |process: &Process| children.get(&process.pid).into_iter().flatten().copied();
            let mut known = HashSet::new();
            while let Some(process) = asked.pop() {
                match process.is_alive.then(|| has_mark(process)).flatten() {
                    Some(true) => open.push(process),
                    Some(false) => {}
                    // It ended meanwhile, and its children are orphans by now.
                    None if known.insert(process.pid) => asked.extend(below(process)),
                    None => {}
                }
            }
            let mut found = HashSet::new();
            while let Some(process) = open.pop() {
                if process.pid != own && found.insert(process.pid) {
                    open.extend(below(process));
                }
            }
            found
        }

        fn has_mark(&self, process: &Process, (own, session): (i32, i32)) -> Option<bool> {
            let may_be_adopted = self.adopts && process.parent == own && process.session != session;
            let mut environment = environment(process.pid);
            // A process has no environment for a moment during exec and when it exits.
            for _ in 0..LOOKS_AGAIN {
                if !may_be_adopted || !environment.is_empty() {
                    break;
                }
                std::thread::sleep(PAUSE);
                match read_process(process.pid) {
                    Some(now) if now.is_alive && now.started == process.started => {
                        environment = crate::scan::environment(process.pid);
                    }
                    _ => return None,
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
                return Some(marks.any(|mark| mark == self.mark));
            }
            // A process that dropped the mark, left the session and lost its parent was reparented to this one.
            let is_adopted = may_be_adopted && !is_copy_of_self(process.pid);
            (is_adopted || !environment.is_empty()).then_some(is_adopted)
        }
    }

    impl Member {
        pub(super) fn signal(&self, signals: &[Signal]) {
            let Some(pid) = Pid::from_raw(self.pid) else { return };
            // A pidfd, so that the PID cannot come to mean another process.
            let Ok(held) = process::pidfd_open(pid, PidfdFlags::empty()) else {
                return;
            };
            if read_process(self.pid).is_some_and(|now| now.started == self.started) {
                for &signal in signals {
                    // It may have exited, which is what is wanted.
                    let _ = process::pidfd_send_signal(&held, signal);
                }
            }
        }
    }

    /// While it is held, processes that lose their parent become children of this one (child subreaper), so that they
    /// are found.
    #[derive(Debug)]
    pub struct Adoption(());

    static HELD: Mutex<usize> = Mutex::new(0);

    impl Adoption {
        /// Makes this process a child subreaper, until the last of these values is dropped.
        pub fn begin() -> Self {
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
    use crate::scan::Process;
    use proptest::prelude::*;
    use std::cell::RefCell;
    use std::collections::HashSet;
    use std::process::Command;
    use std::time::Instant;

    /// The family of a command, after the command has ended.
    fn ended(command: &str) -> Arc<ProcessTree> {
        let adoption = Adoption::begin();
        let start = |(name, value)| {
            // A child leads no group, so it is the program itself that gets its own session.
            let mut shell = Command::new("setsid");
            let shell = shell.args(["/bin/sh", "-c", command]).env(name, value).spawn()?;
            let pid = Pid::from_raw(shell.id().try_into().unwrap()).unwrap();
            std::io::Result::Ok((pid, shell))
        };
        let (family, mut shell) = ProcessTree::begin(Some(&adoption), start).unwrap();
        shell.wait().unwrap();
        family
    }

    #[test]
    fn that_nobody_is_left_is_certain_beside_older_children_and_not_beside_a_job() {
        let _adoption = Adoption::begin();
        let mut older = Command::new("sleep").arg("1000").spawn().unwrap();
        // The clock of process start times is coarse, and other tests have children too.
        let began = Instant::now();
        while !ended("true").is_gone() {
            assert!(began.elapsed() < Duration::from_secs(60), "it is never certain");
        }
        for job in [
            "sleep 1000 > /dev/null 2>&1 &",
            "(env -i setsid sleep 1000 > /dev/null 2>&1 &)",
        ] {
            let family = ended(job);
            assert!(!family.is_gone(), "{job}");
            family.end(Duration::ZERO, || {});
        }
        older.kill().unwrap();
        older.wait().unwrap();
    }

    /// This process in the made-up tables: a child of an ancestor, which is a child of the first process.
    const OWN: i32 = 3;
    const LEADER: i32 = 4;

    /// A machine as it came about: each process is started by an earlier one, and some end; their children go to the
    /// nearest ancestor that adopts.
    #[derive(Clone, Debug)]
    struct Machine {
        all: Vec<Process>,
        /// Who descends from the leader.
        ours: HashSet<i32>,
        adopting: HashSet<i32>,
    }

    impl Machine {
        fn new() -> Self {
            let mut machine = Machine {
                all: Vec::new(),
                ours: HashSet::new(),
                adopting: HashSet::from([1, 2]),
            };
            for pid in 1..=LEADER {
                machine.start(pid, pid - 1, false);
            }
            machine.ours.insert(LEADER);
            machine
        }

        fn get(&self, pid: i32) -> &Process {
            self.all.iter().find(|process| process.pid == pid).unwrap()
        }

        fn start(&mut self, pid: i32, parent: i32, leaves: bool) {
            let session = match leaves || pid <= LEADER {
                true => pid,
                false => self.get(parent).session,
            };
            let process = Process {
                pid,
                name: String::new(),
                is_alive: true,
                parent,
                group: session,
                session,
                started: pid.try_into().unwrap(),
            };
            self.all.push(process);
            if self.ours.contains(&parent) {
                self.ours.insert(pid);
            }
        }

        fn end(&mut self, pid: i32) {
            let mut heir = self.get(pid).parent;
            self.all.retain(|process| process.pid != pid);
            while !self.adopting.contains(&heir) {
                heir = self.get(heir).parent;
            }
            for child in self.all.iter_mut().filter(|process| process.parent == pid) {
                child.parent = heir;
            }
        }
    }

    /// What happens next: who of those that run starts another one or ends.
    #[derive(Clone, Debug)]
    enum Step {
        Start { by: prop::sample::Index, leaves: bool },
        End(prop::sample::Index),
        Adopt(prop::sample::Index),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            4 => (any::<prop::sample::Index>(), any::<bool>()).prop_map(|(by, leaves)| Step::Start { by, leaves }),
            2 => any::<prop::sample::Index>().prop_map(Step::End),
            1 => any::<prop::sample::Index>().prop_map(Step::Adopt),
        ]
    }

    #[test]
    fn the_child_of_an_orphan_that_ends_meanwhile_is_found() {
        let mut machine = Machine::new();
        machine.start(5, LEADER, true);
        machine.start(6, 5, true);
        machine.start(7, 1, true);
        machine.start(8, 7, true);
        machine.end(LEADER);
        for is_zombie in [true, false] {
            machine
                .all
                .iter_mut()
                .for_each(|process| process.is_alive = process.pid != 5 || !is_zombie);
            let found = family().among(&machine.all, OWN, |process| {
                (process.pid != 5).then(|| machine.ours.contains(&process.pid))
            });
            assert_eq!(found, HashSet::from([6]));
        }
    }

    fn family() -> ProcessTree {
        ProcessTree {
            leader: Pid::from_raw(LEADER).unwrap(),
            mark: Vec::new(),
            since: LEADER.try_into().unwrap(),
            adopts: true,
        }
    }

    proptest! {
        #[test]
        fn all_descendants_are_found_and_only_possible_orphans_are_read(steps in prop::collection::vec(step(), 1..60)) {
            let mut machine = Machine::new();
            for (step, pid) in steps.into_iter().zip(LEADER + 1..) {
                let running: Vec<i32> = machine.all.iter().map(|process| process.pid).collect();
                match step {
                    Step::Start { by, leaves } => machine.start(pid, *by.get(&running), leaves),
                    Step::End(who) if *who.get(&running) > OWN => machine.end(*who.get(&running)),
                    Step::End(_) => {}
                    Step::Adopt(who) => drop(machine.adopting.insert(*who.get(&running))),
                }
            }
            let read = RefCell::new(Vec::new());
            let found = family().among(&machine.all, OWN, |process| {
                read.borrow_mut().push(process.pid);
                Some(machine.ours.contains(&process.pid))
            });
            let running = machine.all.iter().map(|process| process.pid);
            let ours: HashSet<i32> = running.filter(|pid| machine.ours.contains(pid)).collect();
            prop_assert_eq!(found, ours);
            for pid in read.into_inner() {
                prop_assert!(pid > LEADER && machine.get(pid).parent <= OWN, "{} was read: {:?}", pid, machine);
            }
        }
    }
}
