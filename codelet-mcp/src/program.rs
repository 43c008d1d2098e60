//! A server that is a program: started in a session of its own, and ended with everything that it started.

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

/// Time between two looks at whether it has ended.
const LOOK: Duration = Duration::from_millis(2);
/// How long a program that nobody ends in order may take to end by itself.
const IMPATIENCE: Duration = Duration::from_millis(30);

/// The programs that run, for the end of the process.
static LIVE: Mutex<Vec<Family>> = Mutex::new(Vec::new());

/// Ends the programs of all servers at once, without asking. For a process that is about to end without dropping what it
/// holds.
pub fn end_all() {
    for family in LIVE.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
        family.signal(Signal::KILL);
    }
}

/// What is started.
pub(crate) struct Start<'a> {
    pub command: &'a str,
    pub arguments: &'a [String],
    pub environment: &'a [(OsString, OsString)],
    pub directory: &'a Path,
    /// The variable that marks what it starts.
    pub mark: Option<&'a OsString>,
}

/// A running program. Dropping it ends it.
pub(crate) struct Program {
    family: Family,
    /// Whether its standard error was read to the end.
    is_read: Arc<AtomicBool>,
}

/// The ends of its pipes.
pub(crate) struct Ends {
    pub input: pipe::Sender,
    pub output: pipe::Receiver,
}

impl Program {
    /// Starts it. What it prints on standard error goes to `told`.
    ///
    /// # Errors
    /// When there is no such program, or it may not be started.
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
        // Without a terminal, it neither asks for a password there nor hears the user's Ctrl-C.
        command.wrap(ProcessSession);
        let mut child = command.spawn()?;
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        // A process has a number above 0.
        let pid = pid.ok_or(ErrorKind::Other)?;
        let family = Family {
            pid,
            mark: mark.map(|(name, value)| format!("{}={value}", name.to_string_lossy()).into_bytes()),
        };
        LIVE.lock().unwrap_or_else(PoisonError::into_inner).push(family.clone());
        // From here on it is ended whatever fails.
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

    /// How it ended, in words; `None` while it runs.
    pub(crate) fn ended(&self) -> Option<String> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let status = waitid(WaitId::Pid(self.family.pid), options).ok()??;
        Some(match (status.exit_status(), status.terminating_signal()) {
            (_, Some(signal)) => format!("signal {signal} ended it"),
            (status, None) => format!("it ended with status {}", status.unwrap_or(-1)),
        })
    }

    /// Waits a moment for it to end by itself, as it should when its input is closed.
    pub(crate) async fn wait(&self, most: Duration) {
        let until = Instant::now() + most;
        while self.ended().is_none() && Instant::now() < until {
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Waits a moment for its last words, when the end of its output has come: its status and the rest of what it prints
    /// follow.
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

/// A program and what it has started.
#[derive(Clone)]
struct Family {
    /// Leader of a session of its own.
    pid: Pid,
    /// The variable and its value that all of them have in their environment.
    mark: Option<Vec<u8>>,
}

impl Family {
    fn end(&self, patience: Duration) {
        let until = Instant::now() + patience;
        self.signal(Signal::TERM);
        // Who is stopped cannot hear the question.
        self.signal(Signal::CONT);
        while self.is_there() && Instant::now() < until {
            std::thread::sleep(LOOK);
        }
        // Nobody is left, mostly; whoever is may have hidden.
        for _ in 0..10 {
            if self.signal(Signal::KILL) == 0 {
                break;
            }
            std::thread::sleep(LOOK);
        }
        self.bury();
    }

    /// Sends a signal to all who are there. Says how many it found.
    fn signal(&self, signal: Signal) -> usize {
        self.bury();
        // The number belongs to the group as long as anybody is in it, so it cannot come to mean another.
        let group = rustix::process::kill_process_group(self.pid, signal);
        usize::from(group.is_ok()) + self.signal_marked(signal)
    }

    fn is_there(&self) -> bool {
        self.bury();
        rustix::process::test_kill_process_group(self.pid).is_ok()
    }

    /// Forgets the leader if it has ended: it is this process's to bury.
    fn bury(&self) {
        let _ = waitid(WaitId::Pid(self.pid), WaitIdOptions::EXITED | WaitIdOptions::NOHANG);
    }

    /// Sends a signal to those who have left the group; they still carry the mark.
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
            // Held by a descriptor, the number cannot come to mean another process.
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

/// Whether a process has this variable. One of somebody else cannot be looked at, and is none of ours.
#[cfg(target_os = "linux")]
fn has_mark(pid: Pid, mark: &[u8]) -> bool {
    use std::io::Read;
    /// Longest environment that is searched, in bytes.
    const ENVIRONMENT: u64 = 256 * 1024;
    let mut environment = Vec::new();
    let Ok(file) = std::fs::File::open(format!("/proc/{}/environ", pid.as_raw_nonzero())) else {
        return false;
    };
    let _ = file.take(ENVIRONMENT).read_to_end(&mut environment);
    environment.split(|&byte| byte == 0).any(|variable| variable == mark)
}

/// Reads what comes, so that nobody has to wait for it to be read, and keeps the end of it.
async fn keep_tail(mut errors: pipe::Receiver, told: Tail, is_read: Arc<AtomicBool>) {
    let mut piece = vec![0; 8192];
    while let Ok(read @ 1..) = errors.read(&mut piece).await {
        told.push(&piece[..read]);
    }
    is_read.store(true, Ordering::Release);
}
