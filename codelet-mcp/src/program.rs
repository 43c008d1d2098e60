//! A server that is a program: started in its own session, and ended with all its descendants.

use crate::text::Tail;
use codelet_process::ProcessTree;
use process_wrap::std::{CommandWrap, ProcessSession};
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use std::ffi::OsString;
use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe;

/// Interval between checks whether it has exited.
const LOOK: Duration = Duration::from_millis(2);
/// Grace period for a program that is dropped without an orderly shutdown.
const IMPATIENCE: Duration = Duration::from_millis(30);

/// The command to start.
pub(crate) struct Start<'a> {
    pub command: &'a str,
    pub arguments: &'a [String],
    pub environment: &'a [(OsString, OsString)],
    pub directory: &'a Path,
}

/// A running program. Dropping it ends it.
pub(crate) struct Program {
    family: Arc<ProcessTree>,
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
        let mut command = Command::new(start.command);
        command
            .args(start.arguments)
            .current_dir(start.directory)
            .env_clear()
            .envs(start.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let (family, mut child) = ProcessTree::begin(None, |(name, value)| {
            command.env(name, value);
            let mut command = CommandWrap::from(command);
            // Without a controlling terminal, it cannot prompt for a password there and does not receive the user's
            // Ctrl-C.
            command.wrap(ProcessSession);
            let child = command.spawn()?;
            let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
            // A PID is above 0.
            io::Result::Ok((pid.ok_or(ErrorKind::Other)?, child))
        })?;
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
        let status = waitid(WaitId::Pid(self.family.leader()), options).ok()??;
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
        self.family.end(IMPATIENCE, || {});
        // It is a child of this process, whichever way it ended.
        let leader = WaitId::Pid(self.family.leader());
        let _ = waitid(leader, WaitIdOptions::EXITED | WaitIdOptions::NOHANG);
    }
}

/// Reads stderr, so that the program never blocks on it, and keeps its end.
async fn keep_tail(mut errors: pipe::Receiver, told: Tail, is_read: Arc<AtomicBool>) {
    let mut piece = vec![0; 8192];
    while let Ok(read @ 1..) = errors.read(&mut piece).await {
        told.push(&piece[..read]);
    }
    is_read.store(true, Ordering::Release);
}
