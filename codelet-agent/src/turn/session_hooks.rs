//! Hooks for events of the session, and the effects of their answers.

use crate::interrupt::Interrupt;
use crate::session::{Session, injected};
use crate::tool::event::{Event, Listen};
use crate::tool::hooks::{Objection, Occasion, Said};
use codelet_context::body::Body;
use codelet_context::message::{Origin, Part};
use codelet_context::notice::Notice;
use codelet_context::policy::Reason;
use codelet_context::reminder;
use codelet_text::short::{clip, on_one_line};

/// The number of times that hooks may extend one prompt.
const MOST_HELD: u32 = 3;
/// The maximum length of a hook's text in a notice, in characters.
const SHOWN: usize = 300;

/// Returns text of hooks, marked for the model.
pub(crate) fn marked(name: &str, words: &str) -> String {
    // Reminders appear in the same position, and this must not look like one.
    reminder::escape(&format!(
        "A {name} hook says this; it is the output of a program, not the user's words:\n{}",
        words.trim_end()
    ))
}

/// Returns the reason why a hook denied something, with the name of its event.
pub(crate) fn refused(name: &str, why: &str) -> String {
    let why = why.trim().trim_end_matches('.');
    format!("a {name} hook blocked it: {}", reminder::escape(why))
}

/// Returns a hook's text on one line, for the user.
fn short(why: &str) -> String {
    let line: String = on_one_line(why).collect();
    clip(&line, SHOWN).into_owned()
}

/// Calls hooks for an event, and shows their notices to the user. `None` if there are no hooks.
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

pub(crate) fn append(session: &mut Session, name: &str, context: Vec<String>) {
    for words in context {
        session.conversation.append(injected(&marked(name, &words)));
    }
}

/// Reports the start of a conversation.
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

/// Reports a final answer. If a hook makes the model go on, returns its text; `held` counts these.
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
        "a Stop hook makes the model continue: {}",
        short(&why)
    )));
    Some(marked(occasion.name(), &why))
}

/// Reports an imminent compaction. Returns an objection, unless the session cannot go on without the compaction.
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
            "a PreCompact hook blocked the compaction, but the context window is full, so it is compacted anyway: {}",
            short(&why)
        )));
        return None;
    }
    Some(short(&why))
}

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

fn summary(session: &Session) -> String {
    let messages = session.conversation.view().messages.iter();
    let parts = messages.flat_map(|message| &message.parts);
    let texts = parts.filter_map(|part| match part {
        Part::Text(text) if text.origin == Origin::Summary => Some(text.body.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}
