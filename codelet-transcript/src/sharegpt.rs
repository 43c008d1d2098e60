//! Conversations of training data in ShareGPT's format: a list of texts with their speakers.

use crate::ReadError;
use crate::format::{Form, Format};
use crate::gather::{self, Gather};
use crate::lines;
use crate::recording::Recording;
use crate::skim::Seen;
use crate::take::{self, Fields};
use codelet_context::message::{Origin, Role};
use serde_json::Value;
use std::collections::VecDeque;

pub(crate) const FORM: Form = Form {
    shows: Some(shows),
    lists: &["conversations", "conversation"],
    ..Form::new(
        "sharegpt",
        "a conversation of training data in ShareGPT's words (JSON)",
        read,
    )
};

const LISTS: [&str; 2] = ["conversations", "conversation"];

fn shows(first: &Seen) -> bool {
    let list = LISTS.iter().find_map(|name| first.get(name));
    let turn = list.and_then(|list| list.items().next()).map(Seen::new);
    turn.is_some_and(|turn| turn.has("from") && turn.has("value"))
}

fn read(bytes: &[u8]) -> Result<Recording, ReadError> {
    let (mut file, warnings) = lines::whole(bytes, "an object with conversations")?;
    let mut gather = Gather::of(warnings);
    if let Some(text) = take::string(&mut file, "system") {
        gather.system(text);
    }
    let mut open: VecDeque<String> = VecDeque::new();
    let mut made = 0;
    let mut calls_before = false;
    for name in LISTS {
        for mut turn in take::objects(&mut file, name) {
            let by = take::string(&mut turn, "from").unwrap_or_default();
            let text = take::string(&mut turn, "value").unwrap_or_default();
            let is_call = matches!(by.as_str(), "function_call" | "tool_call");
            // Calls that have no observation when the next ones are made were interrupted.
            if is_call && !calls_before {
                open.clear();
            }
            calls_before = is_call;
            match by.as_str() {
                "system" => gather.system(text),
                "human" | "user" => gather.message(Role::User, gather::text(Origin::Own, text)),
                "gpt" | "assistant" | "chatgpt" | "bard" | "bing" | "model" => {
                    gather.message(Role::Assistant, gather::text(Origin::Own, text));
                }
                "function_call" | "tool_call" => match calls(&text) {
                    Some(calls) => {
                        let parts = calls.into_iter().map(|(tool, parameters)| {
                            made += 1;
                            open.push_back(format!("call_{made}"));
                            gather::call(format!("call_{made}"), tool, parameters)
                        });
                        gather.message(Role::Assistant, parts);
                    }
                    None => gather.message(Role::Assistant, gather::text(Origin::Own, text)),
                },
                "observation" | "tool" | "function_response" | "tool_response" => match open.pop_front() {
                    Some(id) => gather.result(gather::result(id, None, gather::text(Origin::Own, text))),
                    // The result of an action in text.
                    None => gather.message(Role::User, gather::text(Origin::Injected, text)),
                },
                other => gather.unknown(other),
            }
        }
    }
    Ok(gather.finish(Format::Sharegpt))
}

/// Parses calls written as JSON in a text: one, or a list of them.
fn calls(text: &str) -> Option<Vec<(String, Fields)>> {
    let list = match crate::source::parse(text).ok()?.0 {
        Value::Array(list) => list,
        one => vec![one],
    };
    let call = |value: Value| {
        let Value::Object(mut fields) = value else { return None };
        let tool = take::string(&mut fields, "name")?;
        let given = ["arguments", "parameters"]
            .iter()
            .find(|name| fields.contains_key(**name));
        let parameters = given.map(|name| take::value(&mut fields, name)).unwrap_or_default();
        Some((tool, take::parameters(parameters)))
    };
    let calls: Option<Vec<_>> = list.into_iter().map(call).collect();
    calls.filter(|calls| !calls.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sketch::check;

    #[test]
    fn an_observation_belongs_to_the_newest_call_even_if_an_earlier_one_has_none() {
        let file = r#"{"conversations":[
            {"from":"function_call","value":"{\"name\":\"read\",\"arguments\":{\"path\":\"a\"}}"},
            {"from":"human","value":"No, b."},
            {"from":"function_call","value":"{\"name\":\"read\",\"arguments\":{\"path\":\"b\"}}"},
            {"from":"observation","value":"fn b() {}"},
            {"from":"observation","value":"told"}]}"#;
        check(
            read,
            file,
            r#"call call_1: read {"path":"a"}
            user: No, b.
            call call_2: read {"path":"b"}
            result call_2 unknown: fn b() {}
            -
            user (injected): told"#,
        );
    }

    #[test]
    fn turns_are_messages_and_a_function_call_is_a_call_with_its_observation() {
        let file = r#"{"system":"Be brief.","conversations":[
            {"from":"human","value":"What is there?"},
            {"from":"function_call","value":"{\"name\":\"ls\",\"arguments\":{\"path\":\".\"}}"},
            {"from":"observation","value":"a.rs"},
            {"from":"gpt","value":"One file."},
            {"from":"tool","value":"told"}]}"#;
        check(
            read,
            file,
            r#"system: Be brief.
            user: What is there?
            call call_1: ls {"path":"."}
            result call_1 unknown: a.rs
            assistant: One file.
            user (injected): told"#,
        );
    }
}
