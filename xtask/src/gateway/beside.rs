//! Other programs that edit requests, beside the gateway: libraries of Python, each in a process of its own.

use bytes::Bytes;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Mutex;

const GLUE: &str = include_str!("beside.py");

/// The names of those that are tried.
pub const NAMES: [&str; 4] = ["cliffcompaction", "cliffcompaction-100k", "headroom", "headroom-agent"];

/// One of them under way, for one session.
pub struct Beside(Mutex<Pipes>);

struct Pipes {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Beside {
    /// Starts it with the Python that has its library. None where that cannot be had.
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

    /// Begins a session.
    pub fn begin(&self) {
        if let Ok(mut pipes) = self.0.lock() {
            // Where it has ended, the next request says so.
            let _ = pipes.input.write_all(b"\n");
        }
    }

    /// The request as it would send it on; none where it fails.
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
