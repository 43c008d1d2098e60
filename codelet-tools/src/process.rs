//! Runs a program in its own session until it exits, times out, or is interrupted. All of its output comes through one
//! pipe, in the order in which it was written.

use crate::sandbox::{Sandbox, Sandboxing, hand_on_nothing};
use crate::spawn::{Program, Start, Unstarted};
use crate::starter;
use codelet_process::{Adoption, Member, ProcessTree, reap};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use std::io::{self, ErrorKind, PipeReader, PipeWriter, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Bytes read from the pipe at once.
const PIECE: usize = 64 * 1024;
/// Interval between checks while the program runs, for displaying output so far and reaping orphans that a command
/// waits for.
const TICK: Duration = Duration::from_millis(50);
/// After the program exits, its background jobs may be about to print: the output is read until it has been silent for
/// `SILENCE`, for `AFTERWARDS` at most.
const SILENCE: Duration = Duration::from_millis(30);
const AFTERWARDS: Duration = Duration::from_millis(300);
/// Grace period between SIGTERM and SIGKILL after a timeout or on request, and after the user interrupts.
pub(crate) const PATIENCE: Duration = Duration::from_secs(2);
const IMPATIENCE: Duration = Duration::from_millis(25);

/// The way a program ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// It exited with this status.
    Exited(i32),
    /// It was killed by this signal.
    Killed(i32),
    /// This process ignores SIGCHLD (inherited from its parent), so the status is lost.
    Unknown,
    /// It timed out and was ended.
    TimedOut,
    /// The user interrupted, and it was ended.
    Interrupted,
}

/// A program that has ended.
pub(crate) struct FinishedProcess {
    pub end: End,
    pub elapsed: Duration,
    /// Processes that it left running.
    pub left: Vec<Member>,
    pub family: Arc<ProcessTree>,
    /// The isolation that the sandbox achieved.
    pub sandboxing: Option<Sandboxing>,
    /// The pipe, if another process still holds the other end.
    pub open: Option<PipeReader>,
}

/// Runs a program. Its output goes to `sink`, which is also called with no bytes from time to time. Closing the other
/// end of `stop` interrupts the program.
///
/// # Errors
/// If it cannot be started.
pub(crate) fn run(
    program: Program,
    stop: Option<&PipeReader>,
    sink: &mut dyn FnMut(&[u8]),
) -> Result<FinishedProcess, Unstarted> {
    let began = Instant::now();
    let adoption = Adoption::begin();
    // Jobs of earlier programs may have ended meanwhile.
    reap();
    let (mut output, ours) = io::pipe()?;
    let flags = fcntl_getfl(&output).map_err(io::Error::from)? | OFlags::NONBLOCK;
    fcntl_setfl(&output, flags).map_err(io::Error::from)?;
    let deadline = began + program.timeout;
    let (family, sandboxing) = ProcessTree::begin(Some(&adoption), |mark| start(program, mark, ours))?;
    let pid = family.leader();
    let mut buffer = vec![0; PIECE];
    let mut is_open = true;
    let pipe = (&mut output, &mut is_open, &mut buffer[..]);
    let watched = watch(pid, deadline, pipe, stop, sink);
    // A command that cannot be watched is ended.
    let end = watched.unwrap_or(Some(End::Interrupted));
    if let Some(end) = end {
        let patience = match end {
            End::TimedOut => PATIENCE,
            _ => IMPATIENCE,
        };
        let mut drain = || {
            reap();
            is_open = is_open && drained(&mut output, &mut buffer, sink);
        };
        family.end(patience, &mut drain);
        drain();
    }
    let status = waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOHANG)
        .ok()
        .flatten();
    let left = family.left();
    let end = end.unwrap_or_else(|| {
        let status = status.as_ref();
        let killed = status.and_then(|status| status.terminating_signal()).map(End::Killed);
        let exited = || status.and_then(|status| status.exit_status()).map(End::Exited);
        killed.or_else(exited).unwrap_or(End::Unknown)
    });
    Ok(FinishedProcess {
        end,
        elapsed: began.elapsed(),
        left,
        family,
        sandboxing,
        open: is_open.then_some(output),
    })
}

/// Passes the output on until the program has exited and been silent for a moment, and reaps from time to time. Returns
/// a reason to end the program, if there is one.
fn watch(
    pid: Pid,
    deadline: Instant,
    (output, is_open, buffer): (&mut PipeReader, &mut bool, &mut [u8]),
    stop: Option<&PipeReader>,
    sink: &mut dyn FnMut(&[u8]),
) -> io::Result<Option<End>> {
    let exit = exit_of(pid)?;
    let mut ended = None::<Instant>;
    let mut last = Instant::now();
    let mut looked = last;
    loop {
        let now = Instant::now();
        if now - looked >= TICK {
            reap();
            looked = now;
        }
        let until = match ended {
            Some(at) => (last + SILENCE).min(at + AFTERWARDS),
            None => deadline,
        };
        if until <= now || (ended.is_some() && !*is_open) {
            return Ok(ended.is_none().then_some(End::TimedOut));
        }
        let wait = (until - now).min(TICK);
        let ready = wait_for(
            is_open.then_some(&*output),
            stop,
            ended.is_none().then_some(&exit),
            wait,
        )?;
        if ready.stop {
            return Ok(Some(End::Interrupted));
        }
        if ready.output {
            last = Instant::now();
            match output.read(buffer) {
                Ok(0) => *is_open = false,
                Ok(read) => sink(&buffer[..read]),
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
                Err(_) => *is_open = false,
            }
        } else {
            sink(&[]);
        }
        if ready.exit {
            ended = Some(Instant::now());
            last = Instant::now();
        }
    }
}

/// Starts the program, in its sandbox if it has one.
fn start(
    mut program: Program,
    mark: (&'static str, String),
    output: PipeWriter,
) -> Result<(Pid, Option<Sandboxing>), Unstarted> {
    hand_on_nothing();
    let sandbox = program.sandbox.take();
    let calls = sandbox.as_ref().map(Sandbox::calls);
    starter::run(calls, move |is_apart| {
        let start = Start::new(program, mark, output, is_apart)?;
        let sandboxing = sandbox.map(|sandbox| sandbox.enter_files());
        if let Some(Sandboxing::None(missing)) = sandboxing {
            return Err(Unstarted::NoSandbox(missing));
        }
        Ok((start.spawn()?, sandboxing))
    })
}

/// Returns a descriptor that becomes readable when the process exits. The process still has to be waited for.
#[cfg(target_os = "linux")]
fn exit_of(pid: Pid) -> io::Result<OwnedFd> {
    match rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()) {
        Ok(held) => Ok(held),
        Err(_) => exit_by_waiting(pid),
    }
}

#[cfg(not(target_os = "linux"))]
fn exit_of(pid: Pid) -> io::Result<OwnedFd> {
    exit_by_waiting(pid)
}

fn exit_by_waiting(pid: Pid) -> io::Result<OwnedFd> {
    let (reader, writer) = io::pipe()?;
    std::thread::Builder::new().name("waiter".to_owned()).spawn(move || {
        let _ = waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT);
        drop(writer);
    })?;
    Ok(reader.into())
}

#[derive(Default)]
struct Ready {
    output: bool,
    stop: bool,
    exit: bool,
}

fn wait_for(
    output: Option<&PipeReader>,
    stop: Option<&PipeReader>,
    exit: Option<&OwnedFd>,
    most: Duration,
) -> io::Result<Ready> {
    let watched = [output.map(AsFd::as_fd), stop.map(AsFd::as_fd), exit.map(AsFd::as_fd)];
    let mut polled: Vec<PollFd<'_>> = watched
        .iter()
        .flatten()
        .map(|watched| PollFd::from_borrowed_fd(*watched, PollFlags::IN))
        .collect();
    let most = Timespec {
        tv_sec: most.as_secs() as _,
        tv_nsec: most.subsec_nanos() as _,
    };
    match poll(&mut polled, Some(&most)) {
        Ok(_) => {}
        Err(rustix::io::Errno::INTR) => return Ok(Ready::default()),
        Err(error) => return Err(error.into()),
    }
    let mut results = polled.iter().map(|polled| !polled.revents().is_empty());
    let mut result = |is_watched: bool| is_watched && results.next().unwrap_or(false);
    Ok(Ready {
        output: result(watched[0].is_some()),
        stop: result(watched[1].is_some()),
        exit: result(watched[2].is_some()),
    })
}

/// Reads what is in the pipe, up to a limit; returns whether more may come.
fn drained(output: &mut PipeReader, buffer: &mut [u8], sink: &mut dyn FnMut(&[u8])) -> bool {
    for _ in 0..64 {
        match output.read(buffer) {
            Ok(0) => return false,
            Ok(read) => sink(&buffer[..read]),
            Err(error) => return error.kind() == ErrorKind::WouldBlock,
        }
    }
    true
}
