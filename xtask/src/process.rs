//! Processes that end when they should: after a time, or with whoever holds them.

use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// How often a process is asked whether it has ended.
pub const LOOK: Duration = Duration::from_millis(10);
/// No more of what a process says is kept, in bytes.
const KEPT: u64 = 16 << 20;

/// A process that is killed when nobody holds it any more.
pub struct Held(pub Child);

impl Drop for Held {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Held {
    /// The exit status, once it has ended; none when killed by a signal, an error when it goes on past the deadline.
    ///
    /// # Errors
    /// When the time is over.
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

/// What a process said.
pub struct Outcome {
    /// Its exit status.
    pub status: Option<i32>,
    /// Its standard output.
    pub output: String,
    /// Its standard error.
    pub errors: String,
}

impl Outcome {
    /// Whether it says that it did what it should.
    pub fn is_success(&self) -> bool {
        self.status == Some(0)
    }

    /// The last line of its complaint.
    pub fn last_words(&self) -> String {
        let line = self.errors.lines().rev().find(|line| !line.trim().is_empty());
        line.unwrap_or("no reason given").trim().to_owned()
    }
}

/// Runs a process to its end.
///
/// # Errors
/// When it cannot be started, or takes longer than the limit.
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

/// Reads a pipe to its end beside everything else.
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
