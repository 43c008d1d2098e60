//! The editor as a session sees it: the receiver of updates, and its capabilities.

use agent_client_protocol::Client;
use agent_client_protocol::v1::ConnectionTo;
use agent_client_protocol::v1::schema::{
    ClientCapabilities, ContentBlock, ContentChunk, Notice, NoticeSeverity, SessionId, SessionNotification,
    SessionUpdate, TextContent,
};
use codelet_text::short::clip;
use codelet_text::unseen::is_harmful;

/// The editor's display capabilities.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct EditorCapabilities {
    /// Supports notices.
    pub notices: bool,
}

impl EditorCapabilities {
    pub fn of(capabilities: &ClientCapabilities) -> Self {
        let session = capabilities.session.as_ref();
        EditorCapabilities {
            notices: session.is_some_and(|session| session.notices.is_some()),
        }
    }
}

/// The receiver of a session's updates.
#[derive(Clone)]
pub(crate) struct Editor {
    pub connection: ConnectionTo<Client>,
    pub id: SessionId,
    pub shows: EditorCapabilities,
}

impl Editor {
    /// Sends an update. An editor that is gone is noticed where its messages are awaited.
    pub fn update(&self, update: SessionUpdate) {
        let _ = self
            .connection
            .send_notification(SessionNotification::new(self.id.clone(), update));
    }

    /// Sends a message of Codelet itself as part of the conversation.
    pub fn say(&self, text: &str) {
        self.update(SessionUpdate::AgentMessageChunk(ContentChunk::new(text_block(text))));
    }

    /// Sends a notice.
    pub fn notice(&self, severity: NoticeSeverity, text: &str) {
        let text = clean(text);
        let (title, more) = text
            .split_once('\n')
            .map_or((text.trim(), ""), |(title, more)| (title.trim(), more.trim()));
        if title.is_empty() {
            return;
        }
        if self.shows.notices {
            let notice = Notice::new(severity, title);
            self.update(SessionUpdate::Notice(match more.is_empty() {
                true => notice,
                false => notice.description(more.to_owned()),
            }));
            return;
        }
        // A Markdown quotation distinguishes it from the model's text.
        let lines: Vec<String> = text.trim().lines().map(|line| format!("> {line}")).collect();
        self.say(&format!("\n\n{}\n\n", lines.join("\n")));
    }
}

/// A text as a content block.
pub(crate) fn text_block(text: impl Into<String>) -> ContentBlock {
    ContentBlock::Text(TextContent::new(text))
}

/// Sanitizes a text for an editor: terminal control characters and invisible or bidirectional characters are spelt out.
/// Nothing is left out, since the user may be asked about the text.
pub(crate) fn clean(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let (mut before, mut chars) = (None, text.chars().peekable());
    while let Some(c) = chars.next() {
        match c {
            '\n' | '\t' => shown.push(c),
            // It ends a line together with the next character.
            '\r' if chars.peek() == Some(&'\n') => {}
            c if is_harmful(before, c, chars.peek().copied()) => {
                shown.push_str(&format!("<U+{:04X}>", u32::from(c)));
                // A character that was spelt out no longer joins the next one.
                before = None;
                continue;
            }
            c => shown.push(c),
        }
        before = Some(c);
    }
    shown
}

/// The same on one line of at most `most` characters.
pub(crate) fn clean_line(text: &str, most: usize) -> String {
    let text = clean(text).replace(['\n', '\t'], " ");
    clip(&text, most).into_owned()
}

/// A Markdown code fence longer than any in the text.
pub(crate) fn fenced(text: &str, language: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}{language}\n{}\n{fence}", text.trim_end_matches('\n'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_command_is_left_out_when_it_is_shown() {
        let command = "echo a\x1bP; touch x; echo \x1b\\ b\x1b]8& y\x07 c\x1b[;>z\rrm\r\nd";
        let shown = clean(command);
        for part in ["; touch x; echo ", "& y", ";>z", "rm\nd"] {
            assert!(shown.contains(part), "{part}: {shown}");
        }
        assert!(!shown.contains(['\x1b', '\x07', '\r']), "{shown}");
        assert_eq!(clean("pass\u{200d}word 👩\u{200d}💻"), "pass<U+200D>word 👩\u{200d}💻");
    }
}
