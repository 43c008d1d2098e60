//! What a vendor itself has begun within a reply and not finished. It goes on with it when the conversation comes back so;
//! once something else is said behind the reply, the reply is over, and what it left open is refused. Then a marker stands
//! there instead.

use crate::message::cut;
use crate::message::recall::Archive;
use crate::message::{Message, Nature, Opaque, Origin, Part, Role, Text};
use std::sync::Arc;

/// Why the marker stands there.
const WHY: &str = "not finished";
const REASON: &str = "pending";

/// Whether the vendor has something to finish in this message: it has begun it, and nothing of its own stands behind.
pub(crate) fn is_open(message: &Message) -> bool {
    let own = message.parts.iter().rev().find(|part| matches!(part, Part::Opaque(_)));
    message.role == Role::Assistant && own.is_some_and(|part| pending(part).is_some())
}

/// Whether the reply before this message is still open behind it: this answers calls of that reply and says nothing else,
/// or the vendor goes on, which begins with what came of it.
pub(crate) fn goes_on(message: &Message) -> bool {
    match message.role {
        Role::User => message.parts.iter().all(|part| matches!(part, Part::ToolResult(_))),
        Role::Assistant => matches!(message.parts.first(), Some(Part::Opaque(_))),
        Role::System => false,
    }
}

/// Where the reply begins that the vendor goes on with, or the end where there is none.
pub(crate) fn waiting(messages: &[Arc<Message>]) -> usize {
    let reply = messages.iter().rposition(|message| message.role == Role::Assistant);
    let open = reply.filter(|&at| is_open(&messages[at]) && messages[at + 1..].iter().all(|it| goes_on(it)));
    open.unwrap_or(messages.len())
}

/// The messages that are open although something else was said behind them.
pub(crate) fn left_open(messages: &[Arc<Message>]) -> impl Iterator<Item = usize> {
    (0..messages.len()).filter(|&at| is_open(&messages[at]) && !is_rightly_open(&messages[at + 1..]))
}

fn is_rightly_open(after: &[Arc<Message>]) -> bool {
    for message in after {
        if !goes_on(message) {
            return false;
        }
        if message.role == Role::Assistant {
            return true;
        }
    }
    true
}

/// Puts a marker in place of what was not finished; each can be read back.
pub(crate) fn close(message: &Message, archive: &mut Archive) -> Message {
    let mut closed = message.clone();
    for part in &mut closed.parts {
        if let Some(opaque) = pending(part) {
            let handle = archive.keep(opaque.json(), &opaque.kind, REASON);
            let bytes = opaque.json().len();
            let mut text = Text::new(cut::marker(&opaque.label(), bytes, WHY, &handle), Origin::Notice);
            text.cut = Some(handle);
            *part = Part::Text(text);
        }
    }
    closed
}

/// Closes every message that is open although something else was said behind it. Says how many there were.
pub(crate) fn close_all(messages: &mut [Arc<Message>], archive: &mut Archive) -> u64 {
    let mut closed = 0;
    // From the end: a reply that is closed goes on with nothing before it.
    for at in (0..messages.len()).rev() {
        if is_open(&messages[at]) && !is_rightly_open(&messages[at + 1..]) {
            messages[at] = Arc::new(close(&messages[at], archive));
            closed += 1;
        }
    }
    closed
}

fn pending(part: &Part) -> Option<&Opaque> {
    match part {
        Part::Opaque(opaque) if opaque.nature == Nature::Pending => Some(opaque),
        _ => None,
    }
}
