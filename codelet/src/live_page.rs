//! The report of a session that is under way: sees each request, and makes the page when it is asked for.

use codelet_agent::event::Witness;
use codelet_agent::session::Session;
use codelet_context::conversation::Conversation;
use codelet_context::tokens::Tokens;
use codelet_context::usage::Usage;
use codelet_replay::report::{Live, Told, page};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

/// The figures of a session's requests. A clone has the same ones.
#[derive(Clone, Debug)]
pub struct Page(Arc<Mutex<Sent>>);

#[derive(Debug)]
struct Sent {
    live: Live,
    /// What stands in every request beside the messages.
    fixed: Tokens,
}

impl Page {
    /// Nothing sent. `tools` is what the tools' definitions weigh, in tokens.
    pub fn new(tools: Tokens) -> Self {
        Page(Arc::new(Mutex::new(Sent {
            live: Live::new(tools),
            fixed: tools,
        })))
    }

    /// The page as things stand.
    pub fn html(&self, session: &Session, title: &str) -> String {
        let profile = session.model().profile();
        let told = Told {
            title,
            model: &profile.name,
            card: profile.price.as_ref(),
        };
        page(&self.lock().live.report(session.conversation(), &told))
    }

    /// Whether a text is such a page, of whatever session and version.
    pub fn is_one(text: &str) -> bool {
        let head = &text[..text.floor_char_boundary(16_000)];
        let begins = "<!DOCTYPE html>\n<html lang=\"en\"><head>";
        head.starts_with(begins) && head.contains(" – Codelet report</title>")
    }

    fn lock(&self) -> MutexGuard<'_, Sent> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Witness for Page {
    fn sending(&mut self, conversation: &Conversation) {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).ok();
        let now = now.and_then(|since| u64::try_from(since.as_millis()).ok());
        self.lock().live.sending(conversation, now);
    }

    fn billed(&mut self, usage: Usage) {
        self.lock().live.billed(usage);
    }

    fn cleared(&mut self) {
        let mut sent = self.lock();
        sent.live = Live::new(sent.fixed);
    }
}
