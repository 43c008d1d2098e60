//! Child processes that end after a timeout, or when their handle is dropped.

use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// Polling interval for the end of a process.
pub const LOOK: Duration = Duration::from_millis(10);
/// Maximum bytes kept of a process's output.
const KEPT: u64 = 16 << 20;

/// A process that is killed on drop.
pub struct Held(pub Child);

impl Drop for Held {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Held {
    /// Waits for the exit status; `None` if the process was killed by a signal.
    ///
    /// # Errors
    /// If the process is still running at the deadline.
    pub fn ended_by(&mut self, deadline: Instant) -> Result<Option<i32>, String> {
        loop {
            if let Some(status) = self.0.try_wait().map_err(|error| error.to_string())? {
                return Ok(status.code());
            }
            if Instant::now() >= deadline {
                return Err("the time is over".to_owned());
            }
            thread::sleep(LOOK);
        }
    }
}

/// The outcome of a process.
pub struct Outcome {
    /// Its exit status.
    pub status: Option<i32>,
    /// Its standard output.
    pub output: String,
    /// Its standard error.
    pub errors: String,
}

impl Outcome {
    /// Returns whether the exit status is 0.
    pub fn is_success(&self) -> bool {
        self.status == Some(0)
    }

    /// The last line of standard error.
    pub fn last_words(&self) -> String {
        let line = self.errors.lines().rev().find(|line| !line.trim().is_empty());
        line.unwrap_or("no reason given").trim().to_owned()
    }
}

/// Runs a process to its end.
///
/// # Errors
/// If it cannot be started, or exceeds the time limit.
pub fn run(mut command: Command, limit: Duration) -> Result<Outcome, String> {
    let deadline = Instant::now() + limit;
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut held = Held(command.spawn().map_err(|error| error.to_string())?);
    let output = gather(held.0.stdout.take());
    let errors = gather(held.0.stderr.take());
    let status = held.ended_by(deadline)?;
    let rest = |from: mpsc::Receiver<String>| from.recv_timeout(Duration::from_secs(5)).unwrap_or_default();
    Ok(Outcome {
        status,
        output: rest(output),
        errors: rest(errors),
    })
}

/// Reads a pipe to its end on another thread.
pub fn gather(pipe: Option<impl Read + Send + 'static>) -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(pipe) = pipe {
            let _ = pipe.take(KEPT).read_to_end(&mut bytes);
        }
        let _ = sender.send(String::from_utf8_lossy(&bytes).into_owned());
    });
    receiver
}
