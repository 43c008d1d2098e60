//! What all requests of a gateway share.

use crate::edit::Edit;
use crate::ledger::Ledger;
use crate::provider::Provider;
use crate::threads::Threads;
use crate::upstream::Upstream;
use std::collections::HashSet;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Semaphore;

/// The parts of a gateway.
pub struct Options {
    /// The address for requests of Anthropic's interface.
    pub anthropic: Upstream,
    /// The address for OpenAI's interfaces, and for all requests that nothing tells apart.
    pub openai: Upstream,
    /// The address for Gemini's interface.
    pub gemini: Upstream,
    /// The editor, which makes requests smaller.
    pub editor: Arc<dyn Edit>,
    /// Edits are made and told, and what the agent has sent goes on.
    pub is_dry_run: bool,
    /// The books.
    pub ledger: Ledger,
    /// The token that clients must show; required if other machines can connect.
    pub token: Option<String>,
}

/// State shared by all connections.
pub(crate) struct Shared {
    pub options: Options,
    pub address: SocketAddr,
    /// Tells it from other gateways that a request may come through.
    pub number: String,
    /// A secret that other users of this machine do not know; removed text is read back only with it.
    pub secret: String,
    /// Room for bodies until they are answered, in [`ROOM_STEP`](crate::body::ROOM_STEP)s.
    pub room: Semaphore,
    /// Turns to edit: as many at once as there are cores, since what waits for a core would seem to take long.
    pub turns: Arc<Semaphore>,
    /// The threads that edit.
    pub threads: Threads,
    /// Conversations of which the provider has refused a request as it was edited and as it came.
    pub tried: Tried,
}

/// The most conversations that are remembered in [`Tried`].
const MOST_TRIED: usize = 10_000;

/// Conversations whose original need not be tried when the next edited request is refused, until one is taken.
#[derive(Default)]
pub(crate) struct Tried(Mutex<HashSet<Option<u64>>>);

impl Tried {
    fn lock(&self) -> MutexGuard<'_, HashSet<Option<u64>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether this conversation is among them.
    pub fn has(&self, conversation: Option<u64>) -> bool {
        self.lock().contains(&conversation)
    }

    /// Adds it.
    pub fn add(&self, conversation: Option<u64>) {
        let mut all = self.lock();
        if all.len() >= MOST_TRIED {
            all.clear();
        }
        all.insert(conversation);
    }

    /// Takes it out again.
    pub fn remove(&self, conversation: Option<u64>) {
        self.lock().remove(&conversation);
    }
}

impl Shared {
    /// The provider that a request is for.
    pub fn upstream(&self, provider: Provider) -> &Upstream {
        match provider {
            Provider::Anthropic => &self.options.anthropic,
            Provider::Openai => &self.options.openai,
            Provider::Gemini => &self.options.gemini,
        }
    }
}
