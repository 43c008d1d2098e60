//! Other programs that edit requests, for comparison with the gateway: Python libraries, each in its own process.

use bytes::Bytes;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Mutex;

const GLUE: &str = include_str!("beside.py");

/// The names of the programs.
pub const NAMES: [&str; 4] = ["cliffcompaction", "cliffcompaction-100k", "headroom", "headroom-agent"];

/// A running program, for one session.
pub struct Beside(Mutex<Pipes>);

struct Pipes {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Beside {
    /// Starts a program with the Python that has its library. `None` if that is unavailable.
    pub fn start(name: &str, python: &Path) -> Option<Self> {
        let mut command = Command::new(python);
        command
            .args(["-c", GLUE, name])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = command.spawn().ok()?;
        let (input, mut output) = (child.stdin.take()?, BufReader::new(child.stdout.take()?));
        let mut ready = String::new();
        output.read_line(&mut ready).ok().filter(|&read| read > 0)?;
        Some(Beside(Mutex::new(Pipes { child, input, output })))
    }

    /// Starts a session.
    pub fn begin(&self) {
        if let Ok(mut pipes) = self.0.lock() {
            // If the process has ended, the next request reports it.
            let _ = pipes.input.write_all(b"\n");
        }
    }

    /// Returns the edited request; `None` on failure.
    pub fn edit(&self, body: &Bytes) -> Option<Bytes> {
        let mut pipes = self.0.lock().ok()?;
        pipes.input.write_all(&[body, &b"\n"[..]].concat()).ok()?;
        pipes.input.flush().ok()?;
        let mut line = String::new();
        pipes.output.read_line(&mut line).ok().filter(|&read| read > 0)?;
        Some(Bytes::from(line.trim_end().to_owned()))
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        if let Ok(pipes) = self.0.get_mut() {
            // It may have ended by itself.
            let _ = pipes.child.kill();
            let _ = pipes.child.wait();
        }
    }
}
