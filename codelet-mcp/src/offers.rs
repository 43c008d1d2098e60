//! The tools and prompts of a session's servers, and their updates when a server announces that a list has changed.

use crate::connection::{List, defined};
use crate::define::{Defined, names};
use crate::prompts::{self, RemotePrompt};
use crate::remote::Remote;
use crate::tool::RemoteTool;
use codelet_agent::interrupt::Interrupt;
use codelet_agent::prompts::{PromptSource, PromptSpec, PromptText, Values};
use codelet_agent::tool::{Refreshed, Tool, ToolSource};
use futures_util::future::{BoxFuture, join_all};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Tools of all servers at most: some providers accept 128 in a request, and the session has its own.
const MOST_TOOLS: usize = 112;
/// Changes of one server's list at most in a session: after each, the provider's cache misses for the whole
/// conversation.
const MOST_CHANGES: usize = 50;

/// The tools and prompts of all servers, in the order of the servers, then by name.
#[derive(Default)]
pub struct Offers(Mutex<Vec<Offer>>);

/// The tools and prompts of one server.
pub(crate) struct Offer {
    remote: Arc<Remote>,
    defined: Vec<Defined>,
    tools: Vec<Arc<dyn Tool>>,
    prompts: Vec<RemotePrompt>,
    /// The number of times that its tools, and its prompts, have changed.
    changes: usize,
    prompt_changes: usize,
}

impl Offers {
    /// Collects the tools of these servers, with notices for the user.
    pub(crate) fn new(offers: Vec<Offer>) -> (Self, Vec<String>) {
        let (_, notices) = bounded(&offers);
        (Offers(Mutex::new(offers)), notices)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Offer>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ToolSource for Offers {
    fn tools(&self) -> Vec<Arc<dyn Tool>> {
        bounded(&self.lock()).0
    }

    fn refresh(&self) -> BoxFuture<'_, Refreshed> {
        Box::pin(async move {
            let remotes: Vec<Option<Arc<Remote>>> = self.lock().iter().map(Offer::heeded).collect();
            let lists = join_all(remotes.iter().map(async |remote| remote.as_ref()?.list_again().await)).await;
            let mut offers = self.lock();
            let mut notices = Vec::new();
            let mut is_changed = false;
            for (offer, list) in offers.iter_mut().zip(lists) {
                let told = match list {
                    None => continue,
                    Some(Err(why)) => vec![format!(
                        "its tools have changed, but the new list cannot be read: {why}; the old list stays"
                    )],
                    Some(Ok(list)) => {
                        let Some(told) = offer.take(list) else { continue };
                        is_changed = true;
                        told
                    }
                };
                notices.extend(told.into_iter().map(|what| offer.remote.tell(&what)));
            }
            if !is_changed {
                return Refreshed { tools: None, notices };
            }
            let (tools, over) = bounded(&offers);
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
        let prompts = offers.iter().flat_map(|offer| &offer.prompts);
        prompts.map(|prompt| prompt.spec.clone()).collect()
    }

    fn refresh_prompts(&self) -> BoxFuture<'_, Vec<String>> {
        Box::pin(async move {
            let heeded = |offer: &Offer| (offer.prompt_changes < MOST_CHANGES).then(|| offer.remote.clone());
            let remotes: Vec<Option<Arc<Remote>>> = self.lock().iter().map(heeded).collect();
            let lists = join_all(
                remotes
                    .iter()
                    .map(async |remote| remote.as_ref()?.prompts_again().await),
            )
            .await;
            let mut notices = Vec::new();
            for (offer, list) in self.lock().iter_mut().zip(lists) {
                let told = match list {
                    None => continue,
                    Some(Ok(list)) => offer.take_prompts(list),
                    Some(Err(why)) => vec![format!(
                        "its prompts have changed, but the new list cannot be read: {why}; the old list stays"
                    )],
                };
                notices.extend(told.into_iter().map(|what| offer.remote.tell(&what)));
            }
            notices
        })
    }

    fn prompt<'a>(
        &'a self,
        command: &'a str,
        values: &'a Values,
        interrupt: &'a Interrupt,
    ) -> BoxFuture<'a, Result<PromptText, String>> {
        Box::pin(async move {
            let found = self.lock().iter().find_map(|offer| {
                let prompt = offer.prompts.iter().find(|prompt| prompt.spec.command == command)?;
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
            defined,
            prompts,
            changes: 0,
            prompt_changes: 0,
        }
    }

    /// Takes a new list of prompts. Returns notices for the user.
    fn take_prompts(&mut self, list: List) -> Vec<String> {
        let (prompts, mut told) = prompts::all(&self.remote.server.name, list, &self.remote.secrets);
        let Some(difference) = prompts::difference(&self.prompts, &prompts) else {
            return Vec::new();
        };
        told.insert(0, difference);
        self.prompt_changes += 1;
        if self.prompt_changes == MOST_CHANGES {
            told.push(format!(
                "its prompts have changed {MOST_CHANGES} times; further changes are ignored"
            ));
        }
        self.prompts = prompts;
        told
    }

    /// The server, unless its list has changed so often that it is no longer read.
    fn heeded(&self) -> Option<Arc<Remote>> {
        (self.changes < MOST_CHANGES).then(|| self.remote.clone())
    }

    /// Takes a new list of tools. Returns notices for the user; `None` if the list is the same.
    fn take(&mut self, list: List) -> Option<Vec<String>> {
        let (defined, notices) = defined(&self.remote.server, list, &self.remote.secrets);
        if defined == self.defined {
            return None;
        }
        let mut told = vec![difference(&self.defined, &defined)];
        told.extend(notices);
        self.changes += 1;
        if self.changes == MOST_CHANGES {
            told.push(format!(
                "its tools have changed {MOST_CHANGES} times; further changes are ignored"
            ));
        }
        self.tools = tools(&self.remote, &defined);
        self.defined = defined;
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

/// Describes the changes between two lists for a person.
fn difference(before: &[Defined], after: &[Defined]) -> String {
    let find = |list: &[Defined], tool: &str| list.iter().find(|other| other.tool == tool).cloned();
    let (mut new, mut others) = (Vec::new(), Vec::new());
    for tool in after {
        match find(before, &tool.tool) {
            None => new.push(tool.shown()),
            Some(known) if known != *tool => others.push(tool.shown()),
            Some(_) => {}
        }
    }
    let gone = before.iter().filter(|tool| find(after, &tool.tool).is_none());
    let gone: Vec<String> = gone.map(Defined::shown).collect();
    let parts = [("new", new), ("gone", gone), ("different", others)];
    let parts = parts.iter().filter(|(_, tools)| !tools.is_empty());
    let parts: Vec<String> = parts.map(|(what, tools)| format!("{what}: {}", names(tools))).collect();
    format!("its tools have changed ({})", parts.join("; "))
}
