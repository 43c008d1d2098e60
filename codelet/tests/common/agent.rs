//! Runs `codelet -p` against a provider on loopback, in a folder of its own.

use super::pty::signal;
use super::{codelet, piped, stderr};
use codelet_testkit::server::{Billed, End, Gate, Server, Wire, block_on};
use serde_json::Value;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

/// The key that every run has; nothing may ever show it.
pub const KEY: &str = "sk-test-0123456789abcdefghijklmnop";

/// What is said after an interruption.
pub const NEXT_WORDS: &str = "And now?";

/// A wire, and the vendor whose name asks for it.
pub const WIRES: [(Wire, &str, &str); 4] = [
    (Wire::Anthropic, "anthropic", "ANTHROPIC_API_KEY"),
    (Wire::Chat, "openai-chat", "OPENAI_API_KEY"),
    (Wire::Responses, "openai", "OPENAI_API_KEY"),
    (Wire::Gemini, "gemini", "GEMINI_API_KEY"),
];

/// What a provider bills for a prompt of so many tokens, half of which it has in its cache.
pub fn usage(prompt: u64) -> Billed {
    Billed {
        fresh: 20,
        cache_read: prompt / 2,
        write_5m: prompt - prompt / 2 - 20,
        write_1h: 0,
        output: 40,
        reasoning: 0,
    }
}

/// The name of a wire for people.
pub fn name(wire: Wire) -> &'static str {
    WIRES
        .iter()
        .find(|(other, ..)| *other == wire)
        .map_or("?", |(_, vendor, _)| vendor)
}

/// A scratch home and a workspace in it.
pub struct Bench {
    pub home: PathBuf,
    pub work: PathBuf,
    _scratch: tempfile::TempDir,
}

impl Bench {
    pub fn new() -> Self {
        let scratch = tempfile::tempdir().unwrap();
        let home = scratch.path().canonicalize().unwrap().join("home");
        let work = scratch.path().canonicalize().unwrap().join("work");
        std::fs::create_dir_all(home.join(".config/codelet")).unwrap();
        std::fs::create_dir_all(&work).unwrap();
        // Apart from home and workspace: commands may write all over it.
        std::fs::create_dir_all(scratch.path().join("tmp")).unwrap();
        // A provider that is busy is not waited for much longer than a test takes. One that says nothing is no sooner given up:
        // the servers of the tests say nothing while the machine stands still.
        let bench = Bench {
            home,
            work,
            _scratch: scratch,
        };
        bench.settings("patience = 8\n");
        bench
    }

    /// The folder for temporary files.
    pub fn tmp(&self) -> PathBuf {
        self.home.with_file_name("tmp")
    }

    /// The user's settings.
    pub fn settings(&self, text: &str) {
        std::fs::write(self.home.join(".config/codelet/settings.toml"), text).unwrap();
    }

    pub fn file(&self, name: &str, text: &str) {
        let path = self.work.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.work.join(name)).unwrap()
    }

    /// The command, with nothing of this machine's environment but the path.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = codelet(args);
        command.env_clear().env("HOME", &self.home).current_dir(&self.work);
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("TMPDIR", self.tmp());
        command
    }

    /// The command that asks a server.
    pub fn asking(&self, server: &Server, wire: Wire, args: &[&str]) -> Command {
        let (_, vendor, variable) = WIRES.into_iter().find(|(other, ..)| *other == wire).unwrap();
        let mut all = vec![
            "--model".to_owned(),
            format!("{vendor}/test-model"),
            "--base-url".to_owned(),
            server.base(),
        ];
        all.extend(args.iter().map(|&arg| arg.to_owned()));
        let all: Vec<&str> = all.iter().map(String::as_str).collect();
        let mut command = self.command(&all);
        command.env(variable, KEY);
        command
    }

    /// Asks, and waits for the end. The key is nowhere in what was printed.
    pub fn ask(&self, server: &Server, wire: Wire, args: &[&str]) -> Output {
        let output = self.asking(server, wire, args).output().unwrap();
        let all = [&output.stdout[..], &output.stderr[..]].concat();
        assert!(!String::from_utf8_lossy(&all).contains(KEY));
        output
    }

    /// Asks for the JSON of the end.
    pub fn result(&self, server: &Server, wire: Wire, args: &[&str]) -> (Value, Output) {
        let args = [&["--output", "json"], args].concat();
        let output = self.ask(server, wire, &args);
        let text = std::str::from_utf8(&output.stdout).unwrap();
        let value = serde_json::from_str(text);
        (
            value.unwrap_or_else(|_| panic!("{text}\n{}", String::from_utf8_lossy(&output.stderr))),
            output,
        )
    }

    /// Asks and goes on.
    pub fn start(&self, server: &Server, wire: Wire, args: &[&str]) -> Child {
        let mut command = self.asking(server, wire, args);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// A session in lines that says `words`, is interrupted once the first answer stands at the gate and its connection
    /// is closed, says [`NEXT_WORDS`], and ends well; returns what it printed.
    pub fn interrupted(&self, server: &Server, wire: Wire, gate: &Gate, words: &str) -> Output {
        let mut child = piped(&mut self.asking(server, wire, &["--plain"]));
        let mut said = child.stdin.take().unwrap();
        writeln!(said, "{words}").unwrap();
        block_on(gate.reached());
        signal(child.id(), "-INT");
        server.wait_until(|record| matches!(record.exchanges[0].end, End::ClientLeft(_)));
        writeln!(said, "{NEXT_WORDS}").unwrap();
        drop(said);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}: {}", name(wire), stderr(&output));
        assert_eq!(server.record().faults(), "", "{}", name(wire));
        output
    }
}

/// The last line that tells of a failure or a notice, without the folder of this run.
pub fn told(output: &Output, server: &Server, work: &Path) -> Vec<String> {
    let text = String::from_utf8_lossy(&output.stderr)
        .replace(&server.url(), "URL")
        .replace(server.url().trim_start_matches("http://"), "HOST")
        .replace(&*work.to_string_lossy(), "WORK");
    text.lines().map(str::to_owned).collect()
}
