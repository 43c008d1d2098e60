//! An agent of rig that reads a hundred files in a context window of 32,000 tokens. `cargo run -p codelet-rig --example agent`.
#![allow(clippy::print_stdout)]

use codelet_rig::{CompactionHook, Settings};
use codelet_testkit::server::Server;
use rig_agent::prelude::*;
use rig_core::operation::Completion;
use rig_core::tool::PortableTool;
use serde_json::{Value, json};
use std::convert::Infallible;

struct ReadFile;

#[derive(serde::Deserialize)]
struct File {
    path: String,
}

impl PortableTool for ReadFile {
    const NAME: &'static str = "read_file";
    type Args = File;
    type Output = String;
    type Error = Infallible;

    fn description(&self) -> String {
        "Reads a file.".to_owned()
    }

    fn parameters(&self) -> Value {
        json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]})
    }

    async fn call(&self, File { path }: File) -> Result<String, Infallible> {
        let line = |number: usize| format!("{number:3} // line {number} of {path}\n");
        Ok((1..120).map(line).collect())
    }
}

/// The agent: two lines of it are what keeps it within the window.
fn agent(model: impl Into<DynModel<Completion>>) -> Agent {
    let compaction = CompactionHook::new(Settings::window(32_000));
    AgentBuilder::new(model)
        .preamble("You find out how files differ.")
        .tool(ReadFile)
        .tool(compaction.recall())
        .add_hook(compaction)
        .default_max_turns(200)
        .build()
}

/// Stands in for a provider with a window of 32,000 tokens: its model asks for a hundred files, reads the first again as it was, and
/// ends with a sentence.
mod provider {
    use codelet_testkit::server::{Behaviour, Reply, Request, Server, Window, Wire};
    use rig_core::driver::Model;
    use rig_core::providers::openai::OpenAIConfig;
    use serde_json::json;

    pub const STEPS: usize = 100;

    fn reply(request: &Request) -> Reply {
        match request.answered {
            step if step < STEPS => Reply::call("read_file", json!({"path": format!("src/part_{step}.rs")})),
            STEPS => Reply::call("Recall", json!({"search": "line 1 of src/part_0.rs", "run": 77})),
            _ => Reply::text("All parts are alike."),
        }
    }

    pub fn start() -> Server {
        Server::start(Wire::Chat, Behaviour::answering(reply).window(Window::of(32_000)))
    }

    pub fn model(server: &Server) -> Model<rig_core::providers::openai::wire::Chat> {
        // A second one of the same process finds it installed.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder()
            .tls_certs_only([])
            .build()
            .expect("nothing is loaded");
        let config = OpenAIConfig {
            base_url: server.base(),
            ..OpenAIConfig::new("key")
        };
        config.connect(rig_reqwest::ReqwestClient::from(client)).chat("model")
    }
}

fn run(server: &Server) -> Result<String, Box<dyn std::error::Error>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let asked = async { agent(provider::model(server)).prompt("Are all parts alike?").await };
    Ok(runtime.block_on(asked)?.output())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = provider::start();
    let answer = run(&server)?;
    let record = server.record();
    let largest = record.exchanges.iter().map(|exchange| exchange.tokens).max();
    let refused = record.exchanges.len() - record.accepted().count();
    println!(
        "{answer} {} requests, {refused} refused, {} tokens at most",
        record.exchanges.len(),
        largest.unwrap_or(0)
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use codelet_testkit::server::Growth;

    #[test]
    fn a_run_of_a_hundred_steps_stays_within_a_window_of_32_000_tokens() -> Result<(), Box<dyn std::error::Error>> {
        let server = provider::start();
        assert_eq!(run(&server)?, "All parts are alike.");
        let record = server.record();
        assert_eq!(record.faults(), "");
        assert_eq!(record.exchanges.len(), provider::STEPS + 2);
        assert_eq!(
            record.accepted().count(),
            record.exchanges.len(),
            "a request was refused"
        );
        assert!(record.exchanges.iter().any(|exchange| exchange.tokens > 20_000));
        // Between edits each request extends the one before it.
        let breaks = record
            .exchanges
            .iter()
            .filter(|exchange| matches!(exchange.growth, Growth::Breaks(_)));
        let breaks = breaks.count();
        assert!((2..provider::STEPS / 8).contains(&breaks), "{breaks}");
        // What left is found again, and the run has kept all of it.
        let last = record.exchanges.last().ok_or("no request")?;
        let (_, found) = *last.request.results().last().ok_or("no result")?;
        assert!(found.contains("line 1 of src/part_0.rs"), "{found}");
        Ok(())
    }
}
