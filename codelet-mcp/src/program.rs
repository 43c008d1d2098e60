//! A server that is a program: started in its own session, and ended with all its descendants.

use crate::text::Tail;
use process_wrap::std::{CommandWrap, ProcessSession};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, waitid};
use std::ffi::OsString;
use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe;

/// Interval between checks whether it has exited.
const LOOK: Duration = Duration::from_millis(2);
/// Grace period for a program that is dropped without an orderly shutdown.
const IMPATIENCE: Duration = Duration::from_millis(30);

/// The running programs, for the end of the process.
static LIVE: Mutex<Vec<ProcessTree>> = Mutex::new(Vec::new());

/// Kills the programs of all servers, without a grace period. For a process that is about to exit without dropping its
/// values.
pub fn end_all() {
    for family in LIVE.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
        family.signal(Signal::KILL);
    }
}

/// The command to start.
pub(crate) struct Start<'a> {
    pub command: &'a str,
    pub arguments: &'a [String],
    pub environment: &'a [(OsString, OsString)],
    pub directory: &'a Path,
    /// The variable that marks its descendants.
    pub mark: Option<&'a OsString>,
}

/// A running program. Dropping it ends it.
pub(crate) struct Program {
    family: ProcessTree,
    /// True once its stderr was read to the end.
    is_read: Arc<AtomicBool>,
}

/// Our ends of its pipes.
pub(crate) struct Ends {
    pub input: pipe::Sender,
    pub output: pipe::Receiver,
}

impl Program {
    /// Starts the program. Its stderr goes to `told`.
    ///
    /// # Errors
    /// If there is no such program, or it may not be started.
    pub(crate) fn start(start: &Start<'_>, told: &Tail) -> io::Result<(Program, Ends)> {
        let mark = start
            .mark
            .map(|name| (name.clone(), format!("mcp-{:016x}", fastrand::u64(..))));
        let mut command = Command::new(start.command);
        command
            .args(start.arguments)
            .current_dir(start.directory)
            .env_clear()
            .envs(start.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        if let Some((name, value)) = &mark {
            command.env(name, value);
        }
        let mut command = CommandWrap::from(command);
        // Without a controlling terminal, it cannot prompt for a password there and does not receive the user's Ctrl-C.
        command.wrap(ProcessSession);
        let mut child = command.spawn()?;
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        // A PID is above 0.
        let pid = pid.ok_or(ErrorKind::Other)?;
        let family = ProcessTree {
            pid,
            mark: mark.map(|(name, value)| format!("{}={value}", name.to_string_lossy()).into_bytes()),
        };
        LIVE.lock().unwrap_or_else(PoisonError::into_inner).push(family.clone());
        // From here on, dropping ends the program if anything fails.
        let is_read = Arc::new(AtomicBool::new(false));
        let program = Program {
            family,
            is_read: is_read.clone(),
        };
        let input: OwnedFd = child.stdin().take().ok_or(ErrorKind::BrokenPipe)?.into();
        let output: OwnedFd = child.stdout().take().ok_or(ErrorKind::BrokenPipe)?.into();
        let errors: OwnedFd = child.stderr().take().ok_or(ErrorKind::BrokenPipe)?.into();
        let ends = Ends {
            input: pipe::Sender::from_owned_fd(input)?,
            output: pipe::Receiver::from_owned_fd(output)?,
        };
        tokio::spawn(keep_tail(pipe::Receiver::from_owned_fd(errors)?, told.clone(), is_read));
        Ok((program, ends))
    }

    /// Describes its exit; `None` while it runs.
    pub(crate) fn ended(&self) -> Option<String> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let status = waitid(WaitId::Pid(self.family.pid), options).ok()??;
        Some(match (status.exit_status(), status.terminating_signal()) {
            (_, Some(signal)) => format!("signal {signal} ended it"),
            (status, None) => format!("it ended with status {}", status.unwrap_or(-1)),
        })
    }

    /// Waits a moment for it to exit, as it should when its stdin is closed.
    pub(crate) async fn wait(&self, most: Duration) {
        let until = Instant::now() + most;
        while self.ended().is_none() && Instant::now() < until {
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Waits a moment after the end of its stdout for its exit status and the rest of its stderr.
    pub(crate) async fn last_words(&self, most: Duration) {
        let until = Instant::now() + most;
        self.wait(most).await;
        while self.ended().is_some() && !self.is_read.load(Ordering::Acquire) && Instant::now() < until {
            tokio::time::sleep(LOOK).await;
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let mut live = LIVE.lock().unwrap_or_else(PoisonError::into_inner);
        live.retain(|family| family.pid != self.family.pid);
        drop(live);
        self.family.end(IMPATIENCE);
    }
}

/// A program and its descendants.
#[derive(Clone)]
struct ProcessTree {
    /// Leader of its own session.
    pid: Pid,
    /// The variable and value in the environment of all of them.
    mark: Option<Vec<u8>>,
}

impl ProcessTree {
    fn end(&self, patience: Duration) {
        let until = Instant::now() + patience;
        self.signal(Signal::TERM);
        // A stopped process does not handle SIGTERM.
        self.signal(Signal::CONT);
        while self.is_there() && Instant::now() < until {
            std::thread::sleep(LOOK);
        }
        // Usually none is left; one that is may have hidden.
        for _ in 0..10 {
            if self.signal(Signal::KILL) == 0 {
                break;
            }
            std::thread::sleep(LOOK);
        }
        self.bury();
    }

    /// Sends a signal to all of them. Returns how many it found.
    fn signal(&self, signal: Signal) -> usize {
        self.bury();
        // The group keeps its number while any process is in it, so it cannot come to mean another.
        let group = rustix::process::kill_process_group(self.pid, signal);
        usize::from(group.is_ok()) + self.signal_marked(signal)
    }

    fn is_there(&self) -> bool {
        self.bury();
        rustix::process::test_kill_process_group(self.pid).is_ok()
    }

    /// Reaps the leader if it has exited.
    fn bury(&self) {
        let _ = waitid(WaitId::Pid(self.pid), WaitIdOptions::EXITED | WaitIdOptions::NOHANG);
    }

    /// Sends a signal to processes that left the group; they still carry the mark.
    #[cfg(target_os = "linux")]
    fn signal_marked(&self, signal: Signal) -> usize {
        use rustix::process::{PidfdFlags, pidfd_open, pidfd_send_signal};
        let Some(mark) = &self.mark else { return 0 };
        let processes = std::fs::read_dir("/proc").into_iter().flatten().filter_map(|entry| {
            let name = entry.ok()?.file_name();
            Pid::from_raw(name.to_str()?.parse().ok()?)
        });
        let mut found = 0;
        for pid in processes {
            // A pidfd, so that the PID cannot come to mean another process.
            let Ok(held) = pidfd_open(pid, PidfdFlags::empty()) else {
                continue;
            };
            if has_mark(pid, mark) && pidfd_send_signal(held, signal).is_ok() {
                found += 1;
            }
        }
        found
    }

    #[cfg(not(target_os = "linux"))]
    fn signal_marked(&self, _: Signal) -> usize {
        0
    }
}

/// Returns whether a process has this variable. Another user's process is unreadable and does not count.
#[cfg(target_os = "linux")]
fn has_mark(pid: Pid, mark: &[u8]) -> bool {
    use std::io::Read;
    /// Bytes of an environment that are searched.
    const ENVIRONMENT: u64 = 256 * 1024;
    let mut environment = Vec::new();
    let Ok(file) = std::fs::File::open(format!("/proc/{}/environ", pid.as_raw_nonzero())) else {
        return false;
    };
    let _ = file.take(ENVIRONMENT).read_to_end(&mut environment);
    environment.split(|&byte| byte == 0).any(|variable| variable == mark)
}

/// Reads stderr, so that the program never blocks on it, and keeps its end.
async fn keep_tail(mut errors: pipe::Receiver, told: Tail, is_read: Arc<AtomicBool>) {
    let mut piece = vec![0; 8192];
    while let Ok(read @ 1..) = errors.read(&mut piece).await {
        told.push(&piece[..read]);
    }
    is_read.store(true, Ordering::Release);
}
