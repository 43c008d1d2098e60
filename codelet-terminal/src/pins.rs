//! Pinned files: which ones a pin keeps, and under which name it is listed.

use codelet_agent::session::Session;
use codelet_context::message::{ActionKind, ToolCall};
use codelet_context::pin::Pin;

const BEGINS: &str = "The file ";
const ENDS: &str = " at the time of pinning:\n";

/// The text that keeps a file which nobody has read, as it is now.
pub fn text_of(file: &str, content: &str) -> String {
    format!("{BEGINS}{file}{ENDS}{content}")
}

/// Whether two names may be of one file: one of them may begin further up.
fn is_same(path: &str, file: &str) -> bool {
    path == file || path.ends_with(&format!("/{file}")) || file.ends_with(&format!("/{path}"))
}

fn reads(call: &ToolCall) -> bool {
    call.action.kind == ActionKind::Read
}

/// The newest message with the result of a call that read this file.
pub fn newest_look_at(session: &Session, file: &str) -> Option<usize> {
    let messages = session.conversation().history().messages();
    let (call_at, id) = messages.iter().enumerate().rev().find_map(|(at, message)| {
        let call = message
            .calls()
            .find(|call| reads(call) && call.action.paths.iter().any(|path| is_same(path, file)))?;
        Some((at, call.id.clone()))
    })?;
    let answered = messages[call_at..].iter().position(|message| {
        message
            .tool_results()
            .any(|result| result.call_id == id && result.success != Some(false))
    })?;
    Some(call_at + answered)
}

/// The file that a pin keeps and nothing else, if it keeps one.
pub fn file_of(session: &Session, pin: &Pin) -> Option<String> {
    let at = match pin {
        Pin::Text(text) => {
            let (file, _) = text.strip_prefix(BEGINS)?.split_once(ENDS)?;
            return Some(file.to_owned());
        }
        Pin::Message(at) => *at,
    };
    let messages = session.conversation().history().messages();
    let mut results = messages.get(at)?.tool_results();
    let (Some(result), None) = (results.next(), results.next()) else {
        return None;
    };
    // The newest call before it: some agents use an id again.
    let calls = messages[..at].iter().rev().flat_map(|message| message.calls());
    let call = calls.into_iter().find(|call| call.id == result.call_id)?;
    match (reads(call), &call.action.paths[..]) {
        (true, [path]) => Some(path.to_string()),
        _ => None,
    }
}

/// The pins that keep this file and nothing else.
pub fn of_file(session: &Session, file: &str) -> Vec<Pin> {
    let keeps = |pin: &&Pin| file_of(session, pin).is_some_and(|path| is_same(&path, file));
    session.conversation().pins().iter().filter(keeps).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use codelet_agent::environment::Nowhere;
    use codelet_agent::model::Profile;
    use codelet_agent::permission::Rules;
    use codelet_agent::scripted::Scripted;
    use codelet_agent::session::{Parts, Settings};
    use codelet_context::message::{Action, Message, Part, Role, ToolResult};
    use std::sync::Arc;

    fn session() -> Session {
        let parts = Parts {
            model: Arc::new(Scripted::new(Profile::unknown("a-vendor/a-model"), [])),
            tools: Vec::new(),
            gate: Arc::new(Rules::default()),
            world: Arc::new(Nowhere),
        };
        let mut session = Session::new(parts, Settings::default());
        let conversation = session.conversation_mut();
        conversation.append(Message::user("Read it, twice."));
        for id in ["one", "two"] {
            let call = ToolCall {
                action: Action::on(ActionKind::Read, ["src/big.txt"]),
                ..ToolCall::new(id, "Read", serde_json::Map::new())
            };
            conversation.append(Message::new(Role::Assistant, vec![Part::ToolCall(call)]));
            conversation.append(Message::results(vec![ToolResult::new(id, Some(true), "1 line 1")]));
        }
        session
    }

    #[test]
    fn a_pin_is_known_by_the_file_that_it_keeps_however_it_keeps_it() {
        let mut session = session();
        assert_eq!(
            newest_look_at(&session, "big.txt"),
            session.conversation().history().messages().len().checked_sub(1)
        );
        let text = text_of("notes/my plan.md", "as it is");
        for pin in [
            Pin::Message(3),
            Pin::Text(text),
            Pin::Message(0),
            Pin::Text("never use tabs".into()),
        ] {
            assert!(session.conversation_mut().pin(pin));
        }
        let files: Vec<Option<String>> = session
            .conversation()
            .pins()
            .iter()
            .map(|pin| file_of(&session, pin))
            .collect();
        let files: Vec<Option<&str>> = files.iter().map(Option::as_deref).collect();
        assert_eq!(files, [Some("src/big.txt"), Some("notes/my plan.md"), None, None]);
        assert_eq!(of_file(&session, "big.txt"), [Pin::Message(3)]);
        assert_eq!(of_file(&session, "/home/u/notes/my plan.md").len(), 1);
        assert_eq!(of_file(&session, "g.txt"), []);
    }
}
