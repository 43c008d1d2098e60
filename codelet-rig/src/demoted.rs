//! Messages that other policies remove from a history: kept for recall, and summarised.

use crate::convert::read;
use crate::recall::Recall;
use crate::settings::Settings;
use codelet_context::body::Body;
use codelet_context::compact::{Options, Target, compact_with};
use codelet_context::history::History;
use codelet_context::message::{Message, Part, Role};
use codelet_context::recall::Archive;
use codelet_context::tokens::Tokens;
use rig_core::id::ConversationId;
use rig_core::memory::{Compactor, DemotionHook, MemoryError};
use rig_core::message as rig;
use rig_core::wasm_compat::WasmBoxedFuture;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Keeps and summarises the messages that any policy removes from conversations: a [`DemotionHook`] and a [`Compactor`] for
/// `rig-memory`.
///
/// As a hook it keeps all removed texts, so that [`recall`](Self::recall) finds them by their words. As a compactor it writes
/// the engine's summary of everything removed so far, without a model: quotes, the current state, and handles for shortened texts.
/// A summary is made from the messages, never from an earlier summary.
#[derive(Clone)]
pub struct Demoted {
    settings: Settings,
    budget: Tokens,
    archives: Arc<Mutex<HashMap<ConversationId, Archive>>>,
}

impl Demoted {
    /// Keeps removed messages, and summarises them in about `budget` tokens at most.
    pub fn new(settings: Settings, budget: Tokens) -> Self {
        Demoted {
            settings,
            budget,
            archives: Arc::default(),
        }
    }

    /// The tool that reads back what was removed from this conversation.
    pub fn recall(&self, conversation: &ConversationId) -> Recall {
        let (demoted, conversation) = (self.clone(), conversation.clone());
        Recall::new(move |_| demoted.lock().get(&conversation).cloned().into_iter().collect())
    }

    /// Forgets what was removed from this conversation.
    pub fn forget(&self, conversation: &ConversationId) {
        self.lock().remove(conversation);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ConversationId, Archive>> {
        // Whoever panicked held it between two complete changes.
        self.archives.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read<'a>(&'a self, messages: &'a [rig::Message]) -> impl Iterator<Item = Message> + 'a {
        messages.iter().map(|message| read(message, &self.settings.actions))
    }

    fn summary(&self, conversation: &ConversationId, evicted: &[rig::Message], before: Option<&Summary>) -> Summary {
        let earlier = before.map(|summary| summary.left.as_slice()).unwrap_or_default();
        let left: Vec<Arc<Message>> = earlier
            .iter()
            .cloned()
            .chain(self.read(evicted).map(Arc::new))
            .collect();
        let history: History = left.iter().map(|message| Message::clone(message)).collect();
        let estimate = (self.budget as f64 / self.settings.density) as Tokens;
        let mut archive = self.lock().get(conversation).cloned().unwrap_or_default();
        let options = Options {
            archive: Some(&archive),
            ..Options::new(Target::Budget(estimate))
        };
        let done = compact_with(&history, &options);
        archive.merge(&done.view.archive);
        self.lock().insert(conversation.clone(), archive);
        let text = done
            .view
            .messages
            .iter()
            .map(|message| told(message))
            .collect::<Vec<_>>()
            .join("\n\n");
        Summary {
            left: Arc::new(left),
            text,
        }
    }
}

/// A message as text within another message.
fn told(message: &Message) -> String {
    let who = match message.role {
        Role::System => "System",
        Role::User => "User",
        Role::Assistant => "Assistant",
    };
    let part = |part: &Part| match part {
        Part::Text(text) if text.origin == codelet_context::message::Origin::Own => {
            Some(format!("{who}: {}", text.body))
        }
        Part::Text(text) => Some(text.body.to_string()),
        Part::ToolCall(call) => Some(format!("> {} {}", call.tool, call.parameters.json())),
        Part::ToolResult(result) => {
            let texts: Vec<&str> = result.texts().map(|text| text.body.as_str()).collect();
            Some(format!("= {}", texts.join("\n")))
        }
        Part::Image(_) => Some(format!("{who}: [image]")),
        Part::Opaque(opaque) => Some(format!("{who}: [{}]", opaque.label())),
        Part::Thinking(_) => None,
    };
    message.parts.iter().filter_map(part).collect::<Vec<_>>().join("\n")
}

/// The texts of a part, each with its source.
fn texts(part: &Part) -> Vec<(&Body, &str)> {
    match part {
        Part::Text(text) => vec![(&text.body, "text")],
        Part::Thinking(thinking) => vec![(&thinking.body, "thinking")],
        Part::ToolCall(call) => vec![(call.parameters.json(), &*call.tool)],
        Part::ToolResult(result) => result.texts().map(|text| (&text.body, "output")).collect(),
        Part::Opaque(opaque) => vec![(opaque.json(), &*opaque.kind)],
        Part::Image(_) => Vec::new(),
    }
}

impl DemotionHook for Demoted {
    fn on_demote<'a>(
        &'a self,
        conversation: &'a ConversationId,
        messages: Vec<rig::Message>,
    ) -> WasmBoxedFuture<'a, Result<(), MemoryError>> {
        Box::pin(async move {
            let messages: Vec<Message> = self.read(&messages).collect();
            let mut all = self.lock();
            let archive = all.entry(conversation.clone()).or_default();
            // A text that is delivered several times is kept once.
            for (body, from) in messages.iter().flat_map(|message| &message.parts).flat_map(texts) {
                if !body.is_blank() {
                    archive.keep(body, from, "demoted");
                }
            }
            Ok(())
        })
    }
}

/// A summary of everything removed from a conversation so far; as a message, it has the user's role.
#[derive(Clone, Debug)]
pub struct Summary {
    left: Arc<Vec<Arc<Message>>>,
    text: String,
}

impl Summary {
    /// The text of the summary.
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl From<Summary> for rig::Message {
    fn from(summary: Summary) -> Self {
        rig::Message::user(summary.text)
    }
}

impl Compactor for Demoted {
    type Artifact = Summary;

    fn compact<'a>(
        &'a self,
        conversation: &'a ConversationId,
        evicted: &'a [rig::Message],
        carry_over: Option<&'a Summary>,
    ) -> WasmBoxedFuture<'a, Result<Summary, MemoryError>> {
        Box::pin(async move { Ok(self.summary(conversation, evicted, carry_over)) })
    }
}
