//! Hooks: programs that are told what happens in a session, and may object to it or add words for the model. The loop knows when
//! to tell them and what their words mean; whoever implements [`Hooks`] knows which there are and runs them.
//!
//! What a hook says never permits anything: it can refuse a call, or have a person asked about it, and no more. Its words are
//! marked as a program's, so that the model does not take them for the user's.

use crate::event::{Event, Listen};
use crate::interrupt::Interrupt;
use crate::session::{Session, injected};
use crate::tool::Output;
use codelet_context::body::Body;
use codelet_context::conversation::EditKind;
use codelet_context::message::{Origin, Parameters, Part};
use codelet_context::notice::Notice;
use codelet_context::policy::Reason;
use codelet_context::reminder;
use codelet_text::short::{clip, on_one_line};
use futures_util::future::BoxFuture;

/// So often in a row hooks may keep one prompt from being over.
pub(crate) const MOST_HELD: u32 = 3;
/// The most of a hook's words that a notice holds, in characters.
const SHOWN: usize = 300;

/// Something that hooks are told of.
#[derive(Clone, Copy, Debug)]
pub enum Occasion<'a> {
    /// The first prompt of a conversation is about to be taken.
    SessionStart {
        /// How it came about: `startup`, `resume`, `clear`, or `compact` for one that goes on behind a compaction.
        source: &'static str,
    },
    /// A prompt is about to be taken.
    UserPromptSubmit {
        /// Its words, without keys.
        prompt: &'a str,
    },
    /// A call is about to be made, if it is permitted.
    PreToolUse {
        /// The tool.
        tool: &'a str,
        /// The call's id.
        id: &'a str,
        /// What it is called with.
        parameters: &'a Parameters,
    },
    /// A call has done what it was asked to.
    PostToolUse {
        /// The tool.
        tool: &'a str,
        /// The call's id.
        id: &'a str,
        /// What it was called with.
        parameters: &'a Parameters,
        /// Its answer.
        output: &'a Output,
    },
    /// The conversation is about to be compacted.
    PreCompact {
        /// Why.
        reason: Reason,
        /// What the user wants of the summary.
        instructions: Option<&'a str>,
    },
    /// It was compacted.
    PostCompact {
        /// Why.
        reason: Reason,
        /// The figures.
        notice: &'a Notice,
        /// The summary; empty where there is none.
        summary: &'a str,
        /// The handle under which the summary can be read back later.
        handle: Option<&'a str>,
    },
    /// The model has given its final answer.
    Stop {
        /// The answer.
        answer: &'a str,
        /// The model has gone on once already because of a hook.
        is_held: bool,
    },
    /// A person is asked.
    Notification {
        /// What about, in one line.
        message: &'a str,
    },
}

impl Occasion<'_> {
    /// The name in settings.
    pub fn name(&self) -> &'static str {
        match self {
            Occasion::SessionStart { .. } => "SessionStart",
            Occasion::UserPromptSubmit { .. } => "UserPromptSubmit",
            Occasion::PreToolUse { .. } => "PreToolUse",
            Occasion::PostToolUse { .. } => "PostToolUse",
            Occasion::PreCompact { .. } => "PreCompact",
            Occasion::PostCompact { .. } => "PostCompact",
            Occasion::Stop { .. } => "Stop",
            Occasion::Notification { .. } => "Notification",
        }
    }
}

/// What a hook has against something.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Objection {
    /// It must not be, for this reason.
    Deny(String),
    /// A person is to be asked, for this reason.
    Ask(String),
}

/// What hooks say of an occasion, all together.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Said {
    /// The strongest objection of one of them.
    pub objection: Option<Objection>,
    /// Words for the model, bounded.
    pub context: Vec<String>,
    /// What the user should know.
    pub notices: Vec<String>,
}

/// Whoever runs hooks.
pub trait Hooks: Send + Sync {
    /// Tells those that want to know, and returns what they say once all have ended, or soon after `interrupt` is thrown.
    fn tell<'a>(&'a self, occasion: Occasion<'a>, interrupt: &'a Interrupt) -> BoxFuture<'a, Said>;

    /// Tells those that want to know, and waits for none.
    fn notify(&self, occasion: Occasion<'_>);
}

/// Words of hooks, as the model is to read them.
pub(crate) fn marked(name: &str, words: &str) -> String {
    // It stands where reminders do, and must not look like one.
    reminder::escape(&format!(
        "A {name} hook says this; it is the output of a program, not the user's words:\n{}",
        words.trim_end()
    ))
}

/// The reason why a hook has refused something, behind the name of what it was told of.
pub(crate) fn refused(name: &str, why: &str) -> String {
    let why = why.trim().trim_end_matches('.');
    format!("a {name} hook blocked it: {}", reminder::escape(why))
}

/// Words of a hook on one line, for a person.
fn short(why: &str) -> String {
    let line: String = on_one_line(why).collect();
    clip(&line, SHOWN).into_owned()
}

/// Tells hooks of something, and the listener what the user should know of them. `None` where there are no hooks.
pub(crate) async fn tell(
    session: &Session,
    occasion: Occasion<'_>,
    interrupt: &Interrupt,
    listener: &mut dyn Listen,
) -> Option<Said> {
    let hooks = session.hooks.clone()?;
    let mut said = tokio::select! {
        biased;
        said = hooks.tell(occasion, interrupt) => said,
        never = session.glances.given(session) => match never {},
    };
    for notice in said.notices.drain(..) {
        listener.on(Event::Notice(notice));
    }
    Some(said)
}

/// Appends words of hooks to the conversation.
pub(crate) fn append(session: &mut Session, name: &str, context: Vec<String>) {
    for words in context {
        session.conversation.append(injected(&marked(name, &words)));
    }
}

/// Tells of a conversation that begins.
pub(crate) async fn on_start(
    session: &mut Session,
    source: &'static str,
    interrupt: &Interrupt,
    listener: &mut dyn Listen,
) {
    let occasion = Occasion::SessionStart { source };
    if let Some(said) = tell(session, occasion, interrupt, listener).await {
        append(session, occasion.name(), said.context);
    }
}

/// Tells of a final answer. Where a hook wants the model to go on, returns what it is told; `held` counts how often that was.
pub(crate) async fn on_stop(
    session: &Session,
    answer: &str,
    held: &mut u32,
    interrupt: &Interrupt,
    listener: &mut dyn Listen,
) -> Option<String> {
    let occasion = Occasion::Stop {
        answer,
        is_held: *held > 0,
    };
    let said = tell(session, occasion, interrupt, listener).await?;
    let Some(Objection::Deny(why)) = said.objection else {
        return None;
    };
    if interrupt.is_thrown() {
        return None;
    }
    if *held >= MOST_HELD {
        listener.on(Event::Notice(format!(
            "a Stop hook blocked the end of the turn {MOST_HELD} times; the turn ends here. It says: {}",
            short(&why)
        )));
        return None;
    }
    *held += 1;
    listener.on(Event::Notice(format!(
        "a Stop hook has the model go on: {}",
        short(&why)
    )));
    Some(marked(occasion.name(), &why))
}

/// Tells of a compaction that is about to be made. Returns why it is not to be made; one that the session cannot go on without is.
pub(crate) async fn on_compacting(
    session: &Session,
    reason: Reason,
    instructions: Option<&str>,
    interrupt: &Interrupt,
    listener: &mut dyn Listen,
) -> Option<String> {
    let occasion = Occasion::PreCompact { reason, instructions };
    let said = tell(session, occasion, interrupt, listener).await?;
    let Some(Objection::Deny(why)) = said.objection else {
        return None;
    };
    if reason.is_forced() {
        listener.on(Event::Notice(format!(
            "a PreCompact hook blocked the compaction, which is made all the same, as the context window is full: {}",
            short(&why)
        )));
        return None;
    }
    Some(short(&why))
}

/// Tells of a compaction that was made.
pub(crate) async fn on_compacted(
    session: &mut Session,
    reason: Reason,
    notice: &Notice,
    interrupt: &Interrupt,
    listener: &mut dyn Listen,
) {
    if session.hooks.is_none() || !notice.changed || notice.set_aside.is_some() {
        return;
    }
    let summary = Body::from(summary(session));
    let handle =
        (!summary.is_blank()).then(|| session.conversation.keep(&summary, "compaction", "summary").to_string());
    let occasion = Occasion::PostCompact {
        reason,
        notice,
        summary: summary.as_str(),
        handle: handle.as_deref(),
    };
    let name = occasion.name();
    let said = tell(session, occasion, interrupt, listener).await.unwrap_or_default();
    append(session, name, said.context);
    on_start(session, "compact", interrupt, listener).await;
}

/// The summary in the view.
fn summary(session: &Session) -> String {
    let messages = session.conversation.view().messages.iter();
    let parts = messages.flat_map(|message| &message.parts);
    let texts = parts.filter_map(|part| match part {
        Part::Text(text) if text.origin == Origin::Summary => Some(text.body.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// Whether hooks are told of an edit of this kind: markers in place of outputs leave all words as they were.
pub(crate) fn tells_of(kind: EditKind) -> bool {
    kind != EditKind::Light
}
