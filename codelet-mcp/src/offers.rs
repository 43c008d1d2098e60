//! The tools and prompts of a session's servers, and their updates when a server announces that a list has changed.

use crate::connection::{Kind, List, defined};
use crate::define::Defined;
use crate::prompts::{self, RemotePrompt};
use crate::remote::Remote;
use crate::tool::RemoteTool;
use codelet_agent::interrupt::Interrupt;
use codelet_agent::prompts::{PromptSource, PromptSpec, PromptText, Values};
use codelet_agent::tool::{Refreshed, Tool, ToolSource};
use futures_util::future::{BoxFuture, join_all};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Tools of all servers at most: some providers accept 128 in a request, and the session has its own.
const MOST_TOOLS: usize = 112;
/// Changes of one server's list at most in a session: after each, the provider's cache misses for the whole
/// conversation.
const MOST_CHANGES: usize = 50;

/// The tools and prompts of all servers, in the order of the servers, then by name. The servers' programs end when this
/// and the tools are dropped.
#[derive(Default)]
pub struct Offers(Mutex<Vec<Offer>>);

/// The tools and prompts of one server.
pub(crate) struct Offer {
    remote: Arc<Remote>,
    defined: Listed<Defined>,
    tools: Vec<Arc<dyn Tool>>,
    prompts: Listed<RemotePrompt>,
}

/// A list of a server, and the number of times that it has changed.
struct Listed<T> {
    entries: Vec<T>,
    changes: usize,
}

impl Offers {
    /// Collects the tools of these servers, with notices for the user.
    pub(crate) fn new(offers: Vec<Offer>) -> (Self, Vec<String>) {
        let (_, notices) = bounded(&offers);
        (Offers(Mutex::new(offers)), notices)
    }

    /// Shuts the servers down: closes their input and gives each this long to exit.
    pub async fn end(&self, patience: Duration) {
        let remotes: Vec<Arc<Remote>> = self.lock().iter().map(|offer| offer.remote.clone()).collect();
        join_all(remotes.iter().map(|remote| remote.end(patience))).await;
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Offer>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads lists again that may have changed, except those that have changed too often. Returns notices for the user,
    /// and whether any list is different.
    async fn read_again(&self, kind: Kind) -> (Vec<String>, bool) {
        let heeded = |offer: &Offer| (offer.changes(kind) < MOST_CHANGES).then(|| offer.remote.clone());
        let remotes: Vec<Option<Arc<Remote>>> = self.lock().iter().map(heeded).collect();
        let lists = join_all(
            remotes
                .iter()
                .map(async |remote| remote.as_ref()?.list_again(kind).await),
        )
        .await;
        let mut notices = Vec::new();
        let mut is_changed = false;
        for (offer, list) in self.lock().iter_mut().zip(lists) {
            let told = match list {
                None => continue,
                Some(Err(why)) => vec![format!(
                    "its {} have changed, but the new list cannot be read: {why}; the old list stays",
                    kind.name()
                )],
                Some(Ok(list)) => {
                    let Some(told) = offer.take(kind, list) else { continue };
                    is_changed = true;
                    told
                }
            };
            notices.extend(told.into_iter().map(|what| offer.remote.tell(&what)));
        }
        (notices, is_changed)
    }
}

impl ToolSource for Offers {
    fn tools(&self) -> Vec<Arc<dyn Tool>> {
        bounded(&self.lock()).0
    }

    fn refresh(&self) -> BoxFuture<'_, Refreshed> {
        Box::pin(async move {
            let (mut notices, is_changed) = self.read_again(Kind::Tools).await;
            if !is_changed {
                return Refreshed { tools: None, notices };
            }
            let (tools, over) = bounded(&self.lock());
            notices.extend(over);
            Refreshed {
                tools: Some(tools),
                notices,
            }
        })
    }
}

impl PromptSource for Offers {
    fn prompts(&self) -> Vec<PromptSpec> {
        let offers = self.lock();
        let prompts = offers.iter().flat_map(|offer| &offer.prompts.entries);
        prompts.map(|prompt| prompt.spec.clone()).collect()
    }

    fn refresh_prompts(&self) -> BoxFuture<'_, Vec<String>> {
        Box::pin(async move { self.read_again(Kind::Prompts).await.0 })
    }

    fn prompt<'a>(
        &'a self,
        command: &'a str,
        values: &'a Values,
        interrupt: &'a Interrupt,
    ) -> BoxFuture<'a, Result<PromptText, String>> {
        Box::pin(async move {
            let found = self.lock().iter().find_map(|offer| {
                let mut prompts = offer.prompts.entries.iter();
                let prompt = prompts.find(|prompt| prompt.spec.command == command)?;
                Some((offer.remote.clone(), prompt.clone()))
            });
            match found {
                Some((remote, prompt)) => prompts::get(&remote, &prompt, values, interrupt).await,
                None => Err(format!("The prompt /{command} is no longer offered. Nothing was sent.")),
            }
        })
    }
}

impl Offer {
    pub(crate) fn new(remote: Arc<Remote>, defined: Vec<Defined>, prompts: Vec<RemotePrompt>) -> Self {
        Offer {
            tools: tools(&remote, &defined),
            remote,
            defined: Listed::new(defined),
            prompts: Listed::new(prompts),
        }
    }

    fn changes(&self, kind: Kind) -> usize {
        match kind {
            Kind::Tools => self.defined.changes,
            Kind::Prompts => self.prompts.changes,
        }
    }

    /// Takes a new list. Returns notices for the user; `None` if the list is the same.
    fn take(&mut self, kind: Kind, list: List) -> Option<Vec<String>> {
        let (server, secrets) = (&self.remote.server, &self.remote.secrets);
        match kind {
            Kind::Tools => {
                let (defined, notices) = defined(server, list);
                let told = self.defined.take(kind, defined, notices)?;
                self.tools = tools(&self.remote, &self.defined.entries);
                Some(told)
            }
            Kind::Prompts => {
                let (prompts, notices) = prompts::all(&server.name, list, secrets);
                self.prompts.take(kind, prompts, notices)
            }
        }
    }
}

impl<T: PartialEq> Listed<T> {
    fn new(entries: Vec<T>) -> Self {
        Listed { entries, changes: 0 }
    }

    /// Takes a new list with its notices. Returns these with one of the change; `None` if the list is the same.
    fn take(&mut self, kind: Kind, entries: Vec<T>, notices: Vec<String>) -> Option<Vec<String>> {
        if self.entries == entries {
            return None;
        }
        let kind = kind.name();
        let mut told = vec![format!("its {kind} have changed ({} now)", entries.len())];
        told.extend(notices);
        self.changes += 1;
        if self.changes == MOST_CHANGES {
            told.push(format!(
                "its {kind} have changed {MOST_CHANGES} times; further changes are ignored"
            ));
        }
        self.entries = entries;
        Some(told)
    }
}

fn tools(remote: &Arc<Remote>, defined: &[Defined]) -> Vec<Arc<dyn Tool>> {
    let tools = defined.iter().cloned();
    tools
        .map(|tool| Arc::new(RemoteTool::new(tool, remote.clone())) as Arc<dyn Tool>)
        .collect()
}

/// The first tools of all servers, up to the limit, with notices about the others.
fn bounded(offers: &[Offer]) -> (Vec<Arc<dyn Tool>>, Vec<String>) {
    let (mut tools, mut notices) = (Vec::new(), Vec::new());
    for offer in offers {
        let room = MOST_TOOLS - tools.len();
        if let Some(left) = offer.tools.len().checked_sub(room).filter(|&left| left > 0) {
            notices.push(offer.remote.tell(&format!(
                "{left} of its tools are left out: the limit is {MOST_TOOLS} for all servers together"
            )));
        }
        tools.extend(offer.tools.iter().take(room).cloned());
    }
    (tools, notices)
}
