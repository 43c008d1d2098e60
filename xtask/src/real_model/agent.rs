//! Runs the real `codelet` like a user, and parses the lines that it prints.

use super::server::Server;
use crate::process::{Held, gather};
use serde_json::Value;
use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// A wire protocol, with the vendor that uses it and the path after the address.
#[derive(Clone, Copy)]
pub struct Wire {
    /// Its name in the report.
    pub name: &'static str,
    vendor: &'static str,
    path: &'static str,
}

/// OpenAI Chat Completions, as provided by local servers.
pub const CHAT: Wire = Wire {
    name: "chat",
    vendor: "local",
    path: "/v1",
};
/// OpenAI Responses.
pub const RESPONSES: Wire = Wire {
    name: "responses",
    vendor: "openai",
    path: "/v1",
};
/// Anthropic Messages.
pub const ANTHROPIC: Wire = Wire {
    name: "anthropic",
    vendor: "anthropic",
    path: "",
};

/// The program and its directories.
pub struct Agent {
    /// The built `codelet`.
    pub program: PathBuf,
    /// A home directory without settings.
    pub home: PathBuf,
    /// The working directory.
    pub work: PathBuf,
}

/// A running process.
pub struct Running {
    held: Held,
    lines: mpsc::Receiver<Value>,
    errors: mpsc::Receiver<String>,
    seen: Vec<Value>,
    began: Instant,
    deadline: Instant,
}

/// A finished run.
pub struct Ran {
    /// The printed lines, in order.
    pub lines: Vec<Value>,
    /// The exit status.
    pub status: Option<i32>,
    /// Standard error.
    pub errors: String,
    /// The duration.
    pub took: Duration,
}

impl Agent {
    /// Starts a run; the text of the file `stdin` is appended to the prompt.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn start(
        &self,
        server: &Server,
        wire: Wire,
        prompt: &str,
        further: &[&str],
        stdin: Option<&Path>,
        limit: Duration,
    ) -> Result<Running, String> {
        let stdin = match stdin {
            Some(path) => File::open(path).map_err(|error| error.to_string())?.into(),
            None => Stdio::null(),
        };
        let mut child = Command::new(&self.program)
            .args(["-p", prompt, "--output", "stream-json"])
            .args(["--model", &format!("{}/{}", wire.vendor, super::MODEL)])
            .args(["--base-url", &server.base(wire.path)])
            .args(further)
            .current_dir(&self.work)
            .env_clear()
            .env("HOME", &self.home)
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            // The server needs no key, but the clients do.
            .env("OPENAI_API_KEY", "none")
            .env("ANTHROPIC_API_KEY", "none")
            .stdin(stdin)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| format!("{}: {error}", self.program.display()))?;
        let (sender, lines) = mpsc::channel();
        let output = child.stdout.take();
        thread::spawn(move || {
            let parsed = output.into_iter().flat_map(|pipe| BufReader::new(pipe).lines());
            for line in parsed.map_while(Result::ok) {
                let value = serde_json::from_str(&line).unwrap_or(Value::String(line));
                if sender.send(value).is_err() {
                    break;
                }
            }
        });
        let errors = gather(child.stderr.take());
        let began = Instant::now();
        Ok(Running {
            held: Held(child),
            lines,
            errors,
            seen: Vec::new(),
            began,
            deadline: began + limit,
        })
    }

    /// Runs to the end.
    ///
    /// # Errors
    /// If it cannot be started, or exceeds the time limit.
    pub fn run(
        &self,
        server: &Server,
        wire: Wire,
        prompt: &str,
        further: &[&str],
        stdin: Option<&Path>,
        limit: Duration,
    ) -> Result<Ran, String> {
        self.start(server, wire, prompt, further, stdin, limit)?.finish()
    }
}

impl Running {
    /// Waits for a line of this type.
    ///
    /// # Errors
    /// If the run ends or the time limit is exceeded before.
    pub fn until(&mut self, kind: &str) -> Result<(), String> {
        loop {
            let left = self.deadline.saturating_duration_since(Instant::now());
            let line = self
                .lines
                .recv_timeout(left)
                .map_err(|_| format!("no line of type `{kind}` came"))?;
            let found = line["type"] == kind;
            self.seen.push(line);
            if found {
                return Ok(());
            }
        }
    }

    /// Interrupts the run. Does not use SIGINT, which the parent may have set to be ignored, as for background jobs of
    /// a script: codelet respects that.
    ///
    /// # Errors
    /// If no signal can be sent.
    pub fn interrupt(&self) -> Result<(), String> {
        let sent = Command::new("kill")
            .args(["-TERM", &self.held.0.id().to_string()])
            .status();
        sent.map_err(|error| error.to_string()).map(|_| ())
    }

    /// Waits for the end.
    ///
    /// # Errors
    /// If the time limit is exceeded; the process is then killed.
    pub fn finish(mut self) -> Result<Ran, String> {
        let status = self.held.ended_by(self.deadline).map_err(|_| {
            format!(
                "codelet did not end within {} s",
                (self.deadline - self.began).as_secs()
            )
        })?;
        let took = self.began.elapsed();
        let mut lines = self.seen;
        while let Ok(line) = self.lines.recv_timeout(Duration::from_secs(5)) {
            lines.push(line);
        }
        let errors = self.errors.recv_timeout(Duration::from_secs(5)).unwrap_or_default();
        Ok(Ran {
            lines,
            status,
            errors,
            took,
        })
    }
}

impl Ran {
    /// The lines of a type.
    pub fn of<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a Value> {
        self.lines.iter().filter(move |line| line["type"] == kind)
    }

    /// The last line, with the totals of the run.
    pub fn result(&self) -> &Value {
        self.of("result").last().unwrap_or(&Value::Null)
    }

    /// Tokens of the run's first answered request, by kind. Further requests are made if the model says nothing.
    pub fn usage(&self, kind: &str) -> u64 {
        let first = self.of("billed").next().unwrap_or(&Value::Null);
        first["usage"][kind].as_u64().unwrap_or(0)
    }

    /// Returns whether everything went well on our side: there is an answer, or only the model failed to give one.
    pub fn is_models_own(&self) -> bool {
        let error = self.result()["error"].as_str().unwrap_or_default();
        self.status == Some(0) || (self.status == Some(3) && error.starts_with("the model gave no answer"))
    }

    /// Returns whether the model gave its final answer.
    pub fn has_answered(&self) -> bool {
        self.status == Some(0)
            && self.result()["answer"]
                .as_str()
                .is_some_and(|answer| !answer.trim().is_empty())
    }

    /// The end of the run, in a few words.
    pub fn ending(&self) -> String {
        let status = self
            .status
            .map_or("a signal".to_owned(), |status| format!("status {status}"));
        let error = self.result()["error"].as_str().map(str::to_owned);
        let error = error.or_else(|| self.errors.lines().last().map(str::to_owned));
        error.map_or(status.clone(), |error| format!("{status}: {error}"))
    }
}
