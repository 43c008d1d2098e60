//! Servers and their tools for the tests.

use codelet_agent::interrupt::Interrupt;
use codelet_agent::tool::{Call, Live, Output, Tool, ToolSource};
use codelet_context::conversation::Conversation;
use codelet_context::message::Parameters;
use codelet_context::policy::CompactionConfig;
use codelet_mcp::{Connected, Options, Reach, Server, connect};
use codelet_testkit::mcp::{Http, Manner, program};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Time limit, which is reached only if something hangs.
pub const HARD: Duration = Duration::from_secs(20);

/// A folder for the servers' logs.
pub struct Bench {
    folder: tempfile::TempDir,
}

impl Bench {
    pub fn new() -> Self {
        Bench {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    pub fn log_path(&self, name: &str) -> PathBuf {
        self.folder.path().join(format!("{name}.log"))
    }

    /// A server that is a program.
    pub fn server(&self, name: &str, manner: Manner) -> Server {
        let (command, arguments, environment) = program(manner, &self.log_path(name));
        let mut environment: Vec<_> = environment
            .into_iter()
            .map(|(name, value)| (name.into(), value.into()))
            .collect();
        environment.push(("PATH".into(), std::env::var_os("PATH").unwrap_or_default()));
        Server {
            name: name.to_owned(),
            reach: Reach::Program {
                command,
                arguments,
                environment,
                directory: self.folder.path().to_owned(),
            },
            tools: None,
            start: HARD,
            timeout: HARD,
        }
    }

    pub fn log(&self, name: &str) -> Vec<String> {
        let text = std::fs::read_to_string(self.log_path(name)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// Waits until a server has received something.
    pub async fn heard(&self, name: &str, what: &str) {
        self.wait(|| self.log(name).iter().any(|line| line == what), what).await;
    }

    pub async fn wait(&self, wanted: impl Fn() -> bool, what: &str) {
        let began = Instant::now();
        while !wanted() {
            assert!(began.elapsed() < HARD, "waiting for: {what}");
            tokio::task::yield_now().await;
            codelet_testkit::wait_a_moment();
        }
    }

    /// The numbers after a word in a server's log.
    pub fn numbers(&self, name: &str, word: &str) -> Vec<u32> {
        let log = self.log(name);
        let behind = log
            .iter()
            .filter_map(|line| line.strip_prefix(word)?.trim().parse().ok());
        behind.collect()
    }
}

/// A server on loopback.
pub fn web(name: &str, http: &Http) -> Server {
    Server {
        name: name.to_owned(),
        reach: Reach::Http {
            url: http.url(),
            headers: vec![("Authorization".to_owned(), "Bearer hush-123456".to_owned())],
            authorities: String::new(),
            client_id: None,
        },
        tools: None,
        start: HARD,
        timeout: HARD,
    }
}

pub fn options() -> Options {
    Options {
        secrets: vec!["sk-secret-0123456789".to_owned()],
        sees_images: true,
        ..Options::default()
    }
}

pub async fn connected(servers: Vec<Server>) -> Connected {
    connected_with(servers, options()).await
}

pub async fn connected_with(servers: Vec<Server>, options: Options) -> Connected {
    connect(servers, options, &Interrupt::new()).await
}

pub fn names(connected: &Connected) -> Vec<String> {
    let tools = connected.offers.tools();
    tools.iter().map(|tool| tool.spec().name.to_string()).collect()
}

pub fn find(connected: &Connected, name: &str) -> Arc<dyn Tool> {
    let tools = connected.offers.tools();
    let found = tools.iter().find(|tool| &*tool.spec().name == name);
    found
        .unwrap_or_else(|| panic!("no {name} in {:?}", names(connected)))
        .clone()
}

pub fn parameters(value: Value) -> Parameters {
    let Value::Object(map) = value else { panic!("no object") };
    Parameters::new(map)
}

/// Calls a tool with a text.
pub async fn call(connected: &Connected, name: &str, text: &str) -> Output {
    call_until(connected, name, text, Interrupt::new()).await
}

pub async fn call_until(connected: &Connected, name: &str, text: &str, interrupt: Interrupt) -> Output {
    make(connected, name, json!({"text": text}), interrupt).await
}

/// Calls a tool with these parameters.
pub async fn call_with(connected: &Connected, name: &str, asked: Value) -> Output {
    make(connected, name, asked, Interrupt::new()).await
}

async fn make(connected: &Connected, name: &str, asked: Value, interrupt: Interrupt) -> Output {
    let conversation = Conversation::new(CompactionConfig::new(100_000), 0);
    let call = Call {
        parameters: &parameters(asked),
        permitted: &[],
        conversation: &conversation,
        live: Live::none(),
        interrupt,
        lent: None,
    };
    find(connected, name).call(call).await
}

pub fn run<F: Future>(test: F) -> F::Output {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let done = runtime.block_on(async { tokio::time::timeout(3 * HARD, test).await });
    runtime.shutdown_background();
    done.expect("it hangs")
}

/// Returns whether a process is gone, or is a zombie.
pub fn is_gone(pid: u32) -> bool {
    let state = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    state.is_empty() || state.contains(") Z ")
}
