//! Sessions of Continue: a history of messages in OpenAI's format, with attached context and the state of each call.

use crate::format::{Form, Format, plain};
use crate::gather::{self, Gather};
use crate::lines;
use crate::notes::note_unknown;
use crate::skim::{Seen, Skim};
use crate::take::{self, Fields};
use crate::{Document, ReadError};
use codelet_context::message::{Origin, Part, Role};
use serde_json::Value;
use std::collections::HashSet;

pub(crate) const FORM: Form = Form {
    shows: Some(shows),
    lists: &["history"],
    ..Form::new("continue", "a session of Continue (JSON)", |bytes| plain(read(bytes)))
};

fn shows(first: &Seen) -> bool {
    let item = first.get("history").and_then(|items| items.items().next());
    let is_item = |item: Skim| item.get("message").is_some_and(|message| message.get("role").is_some());
    first.has("sessionId") && item.is_some_and(is_item)
}

fn read(bytes: &[u8]) -> Result<Document, ReadError> {
    let (mut file, mut warnings) = lines::whole(bytes, "a session: an object with a history")?;
    let mut gather = Gather::default();
    // Newer versions also store results as messages.
    let mut answered: HashSet<String> = HashSet::new();
    for mut item in take::objects(&mut file, "history") {
        let mut message = take::object(&mut item, "message").unwrap_or_default();
        let role = take::string(&mut message, "role").unwrap_or_default();
        let said = content(take::value(&mut message, "content"), Origin::Own);
        match role.as_str() {
            "system" => {
                let texts = said.iter().filter_map(|part| match part {
                    Part::Text(text) => Some(text.body.as_str()),
                    _ => None,
                });
                gather.system(texts.collect::<Vec<_>>().join("\n"));
            }
            "user" => {
                let beside = take::objects(&mut item, "contextItems")
                    .filter_map(|mut beside| gather::text(Origin::Injected, take::string(&mut beside, "content")?));
                let parts: Vec<Part> = beside.chain(said).collect();
                gather.message(Role::User, parts);
            }
            "thinking" => {
                for part in said {
                    if let Part::Text(text) = part {
                        gather.reply(
                            gather::thinking(text.body.as_str().to_owned(), None, None, None)
                                .into_iter()
                                .collect(),
                        );
                    }
                }
            }
            "assistant" => {
                gather.reply(said);
                let states: Vec<Fields> = take::objects(&mut item, "toolCallStates").collect();
                let calls: Vec<Fields> = take::objects(&mut message, "toolCalls").collect();
                gather.reply(calls.into_iter().map(call).collect());
                for state in states {
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
            other => note_unknown(&mut warnings, 1, other),
        }
    }
    Ok(gather.finish(Format::Continue, warnings))
}

fn call(mut call: Fields) -> Part {
    let id = take::string(&mut call, "id").unwrap_or_default();
    let mut function = take::object(&mut call, "function").unwrap_or_default();
    let tool = take::string(&mut function, "name").unwrap_or_default();
    gather::call(id, tool, take::parameters(take::value(&mut function, "arguments")))
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
        let output = gather::text(Origin::Own, texts.join("\n\n")).into_iter().collect();
        gather.result(gather::result(id, success, output));
    }
}

fn content(value: Value, origin: Origin) -> Vec<Part> {
    let part = |value: Value| {
        let Value::Object(mut fields) = value else { return None };
        match take::str(&fields, "type") {
            "text" => gather::text(origin, take::string(&mut fields, "text")?),
            "imageUrl" => {
                let mut image = take::object(&mut fields, "imageUrl")?;
                Some(gather::image_at(take::string(&mut image, "url")?))
            }
            _ => None,
        }
    };
    gather::content(value, origin, part)
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
