//! The gateway between clients and a provider, all on loopback.
#![allow(clippy::unwrap_used)]

mod faults;
mod server;

use codelet_gateway::edit::Edit;
use codelet_gateway::{Gateway, Ledger, Options, Upstream};
use codelet_network::Network;
use serde_json::Value;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

/// How long a test waits for what must come.
const PATIENCE: Duration = Duration::from_secs(30);

/// A gateway whose providers all are at this address, which writes no ledger and asks for no token.
fn options(provider: SocketAddr, editor: Arc<dyn Edit>) -> Options {
    let upstream = || Upstream::new(&format!("http://{provider}"), &Network::default()).unwrap();
    Options {
        anthropic: upstream(),
        openai: upstream(),
        gemini: upstream(),
        editor,
        is_dry_run: false,
        ledger: Ledger::new(None),
        token: None,
    }
}

/// Starts a gateway: where it listens, and where what it removes is read back.
async fn start(options: Options) -> (SocketAddr, String) {
    let gateway = Gateway::bind("127.0.0.1:0".parse().unwrap(), options).await.unwrap();
    let started = (gateway.address(), gateway.recalls_at());
    tokio::spawn(gateway.serve(std::future::pending()));
    started
}

fn client() -> reqwest::Client {
    let url = reqwest::Url::parse("http://127.0.0.1").unwrap();
    Network::default().client(&url).unwrap().0.build().unwrap()
}

/// The figures of the gateway at `http://…`, once there are so many requests in them.
async fn figures(gateway: &str, requests: u64) -> Value {
    let client = client();
    let told = async {
        loop {
            let told = client.get(format!("{gateway}/codelet/figures")).send().await.unwrap();
            let told: Value = serde_json::from_str(&told.text().await.unwrap()).unwrap();
            if told["requests"].as_u64() >= Some(requests) {
                return told;
            }
        }
    };
    tokio::time::timeout(PATIENCE, told).await.unwrap()
}
