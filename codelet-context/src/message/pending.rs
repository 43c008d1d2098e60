//! Operations that a provider has started within a reply and not finished. It continues them when the conversation is
//! sent back unchanged; once something else follows the reply, the reply is over, and the provider refuses unfinished
//! operations. A marker then replaces them.

use crate::message::recall::Archive;
use crate::message::{Message, Nature, Opaque, Origin, Part, Role, Text};
use std::sync::Arc;

/// The reason given in the marker.
const WHY: &str = "not finished";
const REASON: &str = "pending";

/// Returns whether this message has an unfinished operation: its last opaque block is pending.
pub(crate) fn is_open(message: &Message) -> bool {
    let own = message.parts.iter().rev().find(|part| matches!(part, Part::Opaque(_)));
    message.role == Role::Assistant && own.is_some_and(|part| pending(part).is_some())
}

/// Returns whether the reply before this message is still open after it: the message only answers calls of that reply,
/// or the provider continues it, beginning with an opaque block.
pub(crate) fn goes_on(message: &Message) -> bool {
    match message.role {
        Role::User => message.parts.iter().all(|part| matches!(part, Part::ToolResult(_))),
        Role::Assistant => matches!(message.parts.first(), Some(Part::Opaque(_))),
        Role::System => false,
    }
}

/// The index of the reply that the provider will continue, or the end if there is none.
pub(crate) fn waiting(messages: &[Arc<Message>]) -> usize {
    let reply = messages.iter().rposition(|message| message.role == Role::Assistant);
    let open = reply.filter(|&at| is_open(&messages[at]) && messages[at + 1..].iter().all(|it| goes_on(it)));
    open.unwrap_or(messages.len())
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

/// Replaces unfinished operations with markers; each can be read back.
pub(crate) fn close(message: &Message, archive: &mut Archive) -> Message {
    let mut closed = message.clone();
    for part in &mut closed.parts {
        if let Some(opaque) = pending(part) {
            let handle = archive.keep(opaque.json(), &opaque.kind, REASON);
            let (what, bytes) = (opaque.label(), opaque.json().len());
            *part = Part::Text(Text::marker(Origin::Notice, &what, bytes, WHY, handle));
        }
    }
    closed
}

/// Closes every message with unfinished operations that something else follows. Returns their number.
pub(crate) fn close_all(messages: &mut [Arc<Message>], archive: &mut Archive) -> u64 {
    let mut closed = 0;
    // From the end, since a closed reply no longer continues an earlier one.
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
