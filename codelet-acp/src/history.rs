//! The earlier conversation of a session, as updates.

use crate::editor::{Editor, text_block};
use crate::updates::{call, output};
use agent_client_protocol::v1::schema::{
    ContentBlock, ContentChunk, ImageContent, SessionUpdate, ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields,
};
use codelet_agent::session::Session;
use codelet_context::message::{Message, Origin, Part, Role, ToolCall, ToolResult};
use std::path::Path;
use std::sync::Arc;

/// Sends the whole conversation to the editor, in order, without additions such as reminders.
pub(crate) fn replay(session: &Session, editor: &Editor, base: &Path) {
    for (number, message) in (0u64..).zip(session.said()) {
        for update in updates(&message, number, base) {
            editor.update(update);
        }
    }
}

fn updates(message: &Arc<Message>, number: u64, base: &Path) -> Vec<SessionUpdate> {
    let chunk = |content: ContentBlock, what: &str| {
        ContentChunk::new(content).message_id(format!("{what}-of-{number}").as_str())
    };
    let said = |content: ContentBlock| match message.role {
        Role::User => Some(SessionUpdate::UserMessageChunk(chunk(content, "prompt"))),
        Role::Assistant => Some(SessionUpdate::AgentMessageChunk(chunk(content, "answer"))),
        Role::System => None,
    };
    let update = |part: &Part| match part {
        Part::Text(text) if text.origin == Origin::Own && !text.body.is_blank() => said(text_block(text.body.as_str())),
        Part::Thinking(thinking) if !thinking.body.is_blank() => Some(SessionUpdate::AgentThoughtChunk(chunk(
            text_block(thinking.body.as_str()),
            "thought",
        ))),
        Part::Image(image) if !image.is_url => said(ContentBlock::Image(ImageContent::new(
            image.data.as_str(),
            &*image.media_type,
        ))),
        Part::ToolCall(made) => Some(SessionUpdate::ToolCall(earlier(made, base))),
        Part::ToolResult(result) => Some(answered(result)),
        _ => None,
    };
    message.parts.iter().filter_map(update).collect()
}

/// A call of an earlier turn. Its tool need not exist here.
fn earlier(made: &ToolCall, base: &Path) -> agent_client_protocol::v1::schema::ToolCall {
    let about = match (&made.action.command, &made.action.paths[..]) {
        (Some(line), _) => line.to_string(),
        (None, paths) => paths.iter().map(|path| &**path).collect::<Vec<_>>().join(", "),
    };
    call(&made.id, &made.tool, &about, &made.action, base)
}

fn answered(result: &ToolResult) -> SessionUpdate {
    let texts: Vec<&str> = result.texts().map(|text| text.body.as_str()).collect();
    let text = texts.join("\n");
    let fields = ToolCallUpdateFields::new().status(match result.success {
        Some(false) => ToolCallStatus::Failed,
        _ => ToolCallStatus::Completed,
    });
    let content = match text.trim().is_empty() {
        true => Vec::new(),
        false => vec![output(&text)],
    };
    SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(result.call_id.clone(), fields.content(content)))
}
