//! The report of a running session: observes each request, and builds the page on demand.

use crate::side_by_side::{cores, side_by_side};
use codelet_agent::event::Witness;
use codelet_agent::model::Billed;
use codelet_agent::session::Session;
use codelet_context::conversation::Conversation;
use codelet_context::message::{Origin, Part};
use codelet_context::price::PriceCard;
use codelet_context::tokens::Tokens;
use codelet_replay::play::play;
use codelet_replay::policy::Policy;
use codelet_replay::report::{Live, Told, page};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

/// The figures of a session's requests. Clones share them.
#[derive(Clone, Debug)]
pub struct Page(Arc<Mutex<Sent>>);

#[derive(Debug)]
struct Sent {
    live: Live,
    /// The tokens of every request apart from the messages.
    fixed: Tokens,
}

impl Page {
    /// Creates an empty page. `tools` is the size of the tool definitions, in tokens.
    pub fn new(tools: Tokens) -> Self {
        Page(Arc::new(Mutex::new(Sent {
            live: Live::new(tools),
            fixed: tools,
        })))
    }

    /// Returns the page for the current state.
    pub fn html(&self, session: &Session) -> String {
        let profile = session.model().profile();
        let conversation = session.conversation();
        let told = Told {
            title: title(conversation),
            model: &profile.name,
            card: profile.price.as_ref(),
        };
        // A copy, so that the next request need not wait for the simulation.
        let live = self.lock().live.clone();
        let runs = live.session(conversation, &told);
        let runs = runs.map_or_else(Vec::new, |(played, settings)| {
            let policies = Policy::USUAL;
            // On all cores, since the user is waiting.
            side_by_side(policies.len(), cores(), |at| play(&played, policies[at], &settings))
        });
        page(&live.report(conversation, &told, runs))
    }

    fn lock(&self) -> MutexGuard<'_, Sent> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the first line of the first prompt.
fn title(conversation: &Conversation) -> &str {
    let prompts = conversation
        .history()
        .messages()
        .iter()
        .filter(|message| message.is_prompt());
    let texts = prompts
        .flat_map(|message| &message.parts)
        .filter_map(|part| match part {
            Part::Text(text) if text.origin == Origin::Own => Some(text.body.as_str()),
            _ => None,
        });
    let mut lines = texts.flat_map(str::lines).map(str::trim);
    lines.find(|line| !line.is_empty()).unwrap_or("A session")
}

impl Witness for Page {
    fn sending(&mut self, conversation: &Conversation) {
        self.lock().live.sending(conversation, now());
    }

    fn sending_beside(&mut self, conversation: &Conversation) {
        self.lock().live.sending_beside(conversation, now());
    }

    fn billed(&mut self, billed: &Billed, price: Option<&PriceCard>) {
        self.lock().live.billed(billed.usage, billed.write_1h, price);
    }

    fn cleared(&mut self) {
        let mut sent = self.lock();
        sent.live = Live::new(sent.fixed);
    }
}

/// Returns the milliseconds since 1970-01-01 UTC.
fn now() -> Option<u64> {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).ok();
    now.and_then(|since| u64::try_from(since.as_millis()).ok())
}
