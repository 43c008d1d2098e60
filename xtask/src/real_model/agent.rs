//! The real `codelet`, run as a user would, and the lines it prints.

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

/// A wire, with the vendor that speaks it and the path that stands behind the address.
#[derive(Clone, Copy)]
pub struct Wire {
    /// What it is called in the report.
    pub name: &'static str,
    vendor: &'static str,
    path: &'static str,
}

/// OpenAI's chat completions, as local servers speak them.
pub const CHAT: Wire = Wire {
    name: "chat",
    vendor: "local",
    path: "/v1",
};
/// OpenAI's responses.
pub const RESPONSES: Wire = Wire {
    name: "responses",
    vendor: "openai",
    path: "/v1",
};
/// Anthropic's messages.
pub const ANTHROPIC: Wire = Wire {
    name: "anthropic",
    vendor: "anthropic",
    path: "",
};

/// The program, and where it runs.
pub struct Agent {
    /// The `codelet` that was built.
    pub program: PathBuf,
    /// A home without settings.
    pub home: PathBuf,
    /// The folder it works in.
    pub work: PathBuf,
}

/// A run that has begun.
pub struct Running {
    held: Held,
    lines: mpsc::Receiver<Value>,
    errors: mpsc::Receiver<String>,
    seen: Vec<Value>,
    began: Instant,
    deadline: Instant,
}

/// Runs until the model had words.
pub struct Worded {
    /// The first of them: what does not depend on the words holds here or not at all.
    pub first: Ran,
    /// The words of the last of them are as wanted.
    pub has_words: bool,
    /// How that one ended.
    last: String,
    runs: u32,
}

/// So often is a model asked that says nothing.
const RUNS_FOR_WORDS: u32 = 3;

/// A run that is over.
pub struct Ran {
    /// The lines, in their order.
    pub lines: Vec<Value>,
    /// The exit status.
    pub status: Option<i32>,
    /// What it complained of.
    pub errors: String,
    /// From start to end.
    pub took: Duration,
}

impl Agent {
    /// Starts a run; `stdin` is a file whose text is put behind the prompt.
    ///
    /// # Errors
    /// When it cannot be started.
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
            // The server wants no key, the vendors' clients do.
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
    /// When it cannot be started, or takes longer than the limit.
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

    /// Runs to the end, once more and a third time where the model's words are not as wanted and all else went well: a
    /// small one may end before it begins. What is checked beside the words is that of the first run.
    ///
    /// # Errors
    /// As for [`run`](Self::run).
    pub fn run_for_words(
        &self,
        server: &Server,
        wire: Wire,
        further: &[&str],
        stdin: Option<&Path>,
        wanted: fn(&Ran) -> bool,
    ) -> Result<Worded, String> {
        let run = || self.run(server, wire, super::small::PROMPT, further, stdin, super::small::LIMIT);
        let first = run()?;
        let mut worded = Worded {
            has_words: wanted(&first),
            last: first.ending(),
            runs: 1,
            first,
        };
        let mut is_models_own = worded.first.is_models_own();
        while !worded.has_words && is_models_own && worded.runs < RUNS_FOR_WORDS {
            let again = run()?;
            worded.runs += 1;
            worded.has_words = wanted(&again);
            worded.last = again.ending();
            is_models_own = again.is_models_own();
        }
        Ok(worded)
    }
}

impl Worded {
    /// How often the model was asked until it had words, and how that ended.
    pub fn figure(&self) -> String {
        match self.runs {
            1 => self.last.clone(),
            runs => format!("{} (in run {runs})", self.last),
        }
    }
}

impl Running {
    /// Waits for a line of this type.
    ///
    /// # Errors
    /// When the run or the time is over before it.
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

    /// Interrupts it. Not by the signal of Ctrl-C, which whoever started this may want ignored, as the background jobs of a
    /// script do: codelet heeds that.
    ///
    /// # Errors
    /// When no signal can be sent.
    pub fn interrupt(&self) -> Result<(), String> {
        let sent = Command::new("kill")
            .args(["-TERM", &self.held.0.id().to_string()])
            .status();
        sent.map_err(|error| error.to_string()).map(|_| ())
    }

    /// Waits for the end.
    ///
    /// # Errors
    /// When the time is over before; the process is then killed.
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

    /// The last line, with the figures of the whole run.
    pub fn result(&self) -> &Value {
        self.of("result").last().unwrap_or(&Value::Null)
    }

    /// Tokens of the run's first request that was answered, by kind. Later ones are made where the model says nothing.
    pub fn usage(&self, kind: &str) -> u64 {
        let first = self.of("billed").next().unwrap_or(&Value::Null);
        first["usage"][kind].as_u64().unwrap_or(0)
    }

    /// Whether all went well on our side: there is an answer, or the model alone has said nothing, or come to no end.
    fn is_models_own(&self) -> bool {
        let error = self.result()["error"].as_str().unwrap_or_default();
        self.status == Some(0) || (self.status == Some(3) && error.starts_with("the model gave no answer"))
    }

    /// Whether the model gave its final answer.
    pub fn has_answered(&self) -> bool {
        self.status == Some(0)
            && self.result()["answer"]
                .as_str()
                .is_some_and(|answer| !answer.trim().is_empty())
    }

    /// How it ended, in a few words.
    pub fn ending(&self) -> String {
        let status = self
            .status
            .map_or("a signal".to_owned(), |status| format!("status {status}"));
        let error = self.result()["error"].as_str().map(str::to_owned);
        let error = error.or_else(|| self.errors.lines().last().map(str::to_owned));
        error.map_or(status.clone(), |error| format!("{status}: {error}"))
    }
}
