//! Options of the commands that run a gateway between another agent and its provider.

use super::values::{listen, named, upstream, window};
use clap::{Args, ValueEnum};
use codelet_context::economics::Preset;
use codelet_gateway::Provider;
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;

const GATEWAY_HELP: &str = "\
Examples:
  codelet gateway
  codelet gateway --upstream openai=https://openrouter.ai/api/v1
  ANTHROPIC_BASE_URL=http://127.0.0.1:4114 claude

To listen on an address that other machines can reach, set a secret in CODELET_GATEWAY_TOKEN; agents send it in the \
header x-codelet-token or in their base URL: http://HOST:PORT/t/TOKEN";

const RUN_HELP: &str = "\
Examples:
  codelet run -- claude
  codelet run --window 150k -- codex exec \"fix the tests\"
  codelet run --policy off -- opencode";

/// Options of a gateway between an agent and its provider.
#[derive(Args, Debug)]
pub struct Behind {
    /// Address of a provider (anthropic, openai or gemini), such as `openai=https://openrouter.ai/api/v1`. Can be repeated [default: from OPENAI_BASE_URL and the like, else the vendor's]
    #[arg(long = "upstream", value_name = "NAME=URL", value_parser = upstream)]
    pub upstreams: Vec<(Provider, String)>,

    /// How eagerly to trim old tool outputs to save money: keep a tenth (faithful), a twentieth (balanced) or a fiftieth
    /// (thrifty) of them; off: trim only when the context window is full
    #[arg(long, value_name = "POLICY", default_value = "faithful", value_parser = named(Preset::ALL.map(Preset::name), crate::settings::policy), hide_possible_values = true)]
    pub policy: Preset,

    /// Context window in tokens (200000, 200k, 1M) [default: the model's]
    #[arg(long, value_name = "TOKENS", value_parser = window)]
    pub window: Option<u64>,

    /// Tell the model how to read removed texts back, with `codelet recall`
    #[arg(long, value_name = "ON|OFF", default_value = "on")]
    pub recall: Switch,

    /// Append the figures of each request (tokens, cost, time) to this file, as JSON lines; no text of the conversation
    #[arg(long, value_name = "FILE")]
    pub ledger: Option<PathBuf>,

    /// Only show which edits there would be; send the original requests
    #[arg(long)]
    pub dry_run: bool,
}

impl Behind {
    /// Returns the address that was named for a provider; of several, the last.
    pub fn upstream(&self, provider: Provider) -> Option<&str> {
        let named = self.upstreams.iter().rev().find(|(named, _)| *named == provider);
        named.map(|(_, address)| address.as_str())
    }
}

/// An on/off switch.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Switch {
    On,
    Off,
}

impl Switch {
    /// Returns whether it is on.
    pub fn is_on(self) -> bool {
        self == Switch::On
    }
}

#[derive(Args, Debug)]
#[command(after_help = GATEWAY_HELP)]
pub struct Gateway {
    /// Address and port to listen on
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:4114", value_parser = listen)]
    pub listen: SocketAddr,

    #[command(flatten)]
    pub behind: Behind,
}

#[derive(Args, Debug)]
#[command(after_help = RUN_HELP)]
pub struct Run {
    #[command(flatten)]
    pub behind: Behind,

    /// The agent and its arguments
    #[arg(value_name = "COMMAND", last = true, required = true)]
    pub command: Vec<OsString>,
}

#[derive(Args, Debug)]
pub struct Recall {
    /// Handle from a marker in the conversation
    #[arg(value_name = "HANDLE")]
    pub handle: String,
}
