//! Archiving of removed parts.

use super::Work;
use crate::compact::draft::{self, Draft};
use crate::message::{Message, Part, Role};
use std::sync::Arc;

impl Work<'_> {
    /// Archives everything that no draft shows. What is in the archive already keeps its handle.
    pub(super) fn archive_rest(&mut self, drafts: &[Draft]) {
        let messages = self.history.messages();
        let mut shown = drafts.iter().peekable();
        for (index, message) in messages.iter().enumerate() {
            let draft = shown.next_if(|draft| draft.source == index);
            for (number, part) in message.parts.iter().enumerate() {
                if draft.is_none_or(|draft| draft.parts.binary_search(&(number as u32)).is_err()) {
                    draft::archive_part(part, tool_of(messages, index, part), &mut self.archive);
                }
            }
        }
    }
}

/// The tool that produced a result in the message at `index`. In a valid history, its call is in the last reply.
fn tool_of<'a>(messages: &'a [Arc<Message>], index: usize, part: &Part) -> &'a str {
    let Part::ToolResult(result) = part else { return "" };
    let reply = messages[..index]
        .iter()
        .rfind(|message| message.role == Role::Assistant);
    let mut calls = reply.into_iter().flat_map(|reply| reply.calls());
    let call = calls.find(|call| call.id == result.call_id);
    call.map_or("tool", |call| &call.tool)
}
