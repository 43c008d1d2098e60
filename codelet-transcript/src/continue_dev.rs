//! Sessions of Continue: a history of messages in OpenAI's format, with attached context and the state of each call.

use crate::ReadError;
use crate::format::{Form, Format};
use crate::gather::{self, Gather};
use crate::lines;
use crate::recording::Recording;
use crate::skim::{Seen, Skim};
use crate::take::{self, Fields};
use codelet_context::message::{Origin, Part, Role};
use std::collections::HashSet;

pub(crate) const FORM: Form = Form {
    shows: Some(shows),
    lists: &["history"],
    ..Form::new("continue", "a session of Continue (JSON)", read)
};

fn shows(first: &Seen) -> bool {
    let item = first.get("history").and_then(|items| items.items().next());
    let is_item = |item: Skim| item.get("message").is_some_and(|message| message.get("role").is_some());
    first.has("sessionId") && item.is_some_and(is_item)
}

fn read(bytes: &[u8]) -> Result<Recording, ReadError> {
    let (mut file, warnings) = lines::whole(bytes, "a session: an object with a history")?;
    let mut gather = Gather::of(warnings);
    // Newer versions also store results as messages.
    let mut answered: HashSet<String> = HashSet::new();
    for mut item in take::objects(&mut file, "history") {
        let mut message = take::object(&mut item, "message").unwrap_or_default();
        let role = take::string(&mut message, "role").unwrap_or_default();
        let said = gather::content(take::value(&mut message, "content"), Origin::Own);
        match role.as_str() {
            "system" => gather.system(gather::words(&said)),
            "user" => {
                let beside = take::objects(&mut item, "contextItems")
                    .filter_map(|mut beside| gather::text_in(&mut beside, "content", Origin::Injected));
                let parts: Vec<Part> = beside.chain(said).collect();
                gather.message(Role::User, parts);
            }
            "thinking" => gather.reply(gather::unsigned(gather::words(&said))),
            "assistant" => {
                gather.reply(said);
                gather.reply(take::objects(&mut message, "toolCalls").map(gather::function_call));
                for state in take::objects(&mut item, "toolCallStates") {
                    result(&mut gather, &mut answered, state);
                }
                gather.close();
            }
            "tool" => {
                let id = take::string(&mut message, "toolCallId").unwrap_or_default();
                if answered.insert(id.clone()) {
                    gather.result(gather::result(id, None, said));
                }
            }
            other => gather.unknown(other),
        }
    }
    Ok(gather.finish(Format::Continue))
}

/// Adds the result of a call, if the call is over.
fn result(gather: &mut Gather, answered: &mut HashSet<String>, mut state: Fields) {
    let success = match take::str(&state, "status") {
        "done" => None,
        "errored" | "canceled" => Some(false),
        _ => return,
    };
    let id = take::string(&mut state, "toolCallId").unwrap_or_default();
    let texts: Vec<String> = take::objects(&mut state, "output")
        .filter_map(|mut item| take::string(&mut item, "content"))
        .collect();
    if answered.insert(id.clone()) {
        gather.result(gather::result(
            id,
            success,
            gather::text(Origin::Own, texts.join("\n\n")),
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sketch::check;
    use serde_json::json;

    #[test]
    fn a_call_has_the_answer_that_its_state_or_a_message_holds() {
        let call = |id: &str| json!({"id": id, "type": "function", "function": {"name": "run_terminal_command", "arguments": "{\"command\":\"make\"}"}});
        let file = json!({"sessionId": "s", "title": "x", "workspaceDirectory": "/w", "history": [
            {"message": {"role": "user", "content": "Build it."}, "contextItems": [{"name": "a.rs", "content": "fn a() {}"}]},
            {"message": {"role": "thinking", "content": "hm"}, "contextItems": []},
            {"message": {"role": "assistant", "content": "I try.", "toolCalls": [call("a"), call("b"), call("c")]}, "contextItems": [],
             "toolCallStates": [{"toolCallId": "a", "status": "errored", "output": [{"content": "no rule"}]}, {"toolCallId": "b", "status": "done", "output": [{"content": "ok"}]},
                {"toolCallId": "c", "status": "calling"}]},
            {"message": {"role": "tool", "content": "ok", "toolCallId": "b"}, "contextItems": []},
            {"message": {"role": "tool", "content": "late", "toolCallId": "c"}, "contextItems": []},
            {"message": {"role": "assistant", "content": "It fails."}, "contextItems": []}]})
        .to_string();
        assert_eq!(crate::detect(file.as_bytes()), Some(Format::Continue));
        check(
            read,
            &file,
            r#"user (injected): fn a() {}
            user: Build it.
            thinking: hm
            assistant: I try.
            call a: run_terminal_command {"command":"make"}
            call b: run_terminal_command {"command":"make"}
            call c: run_terminal_command {"command":"make"}
            result a failed: no rule
            result b unknown: ok
            -
            result c unknown: late
            assistant: It fails."#,
        );
    }
}
