//! The request rules of Anthropic Messages.

use super::{Broken, Sent, is_name, twice, word};
use crate::server::script::{Reply, Said};
use crate::server::segment::{Segment, Ttl};
use crate::server::view::list;
use crate::server::wire::{Envelope, UNSEEN, Wire, anthropic_block, is_sealed};
use serde_json::Value;

pub(super) fn note(sent: &mut Sent, reply: &Reply, envelope: &Envelope, head: u64) {
    let blocks = reply.parts.iter().enumerate();
    let thinking = blocks.filter(|(_, said)| matches!(said, Said::Thinking(_) | Said::Redacted));
    let thinking: Vec<Value> = thinking
        .map(|(index, said)| anthropic_block(said, index, envelope))
        .collect();
    for block in &thinking {
        sent.heads.insert(seal(block).to_owned(), head);
    }
    for (index, said) in reply.parts.iter().enumerate() {
        if matches!(said, Said::Call { .. }) {
            let id = envelope.call_id(Wire::Anthropic, index, said);
            sent.thinking.insert(id, thinking.clone().into());
        }
    }
}

pub(super) fn check(body: &Value, segments: &[Segment], sent: &Sent, bound: Option<u64>, broken: &mut Broken) {
    settings(body, broken);
    tools(body, broken);
    marks(body, segments, broken);
    let messages = list(&body["messages"]);
    if messages.is_empty() {
        return broken.add("messages: at least one message is required");
    }
    roles(messages, broken);
    for (index, message) in messages.iter().enumerate() {
        contents(index, message, broken);
        answers(index, message, messages, broken);
        own(index, messages, broken);
    }
    ids(messages, broken);
    thinking(body, messages, sent, bound, broken);
}

fn settings(body: &Value, broken: &mut Broken) {
    broken.unless(!word(body, "model").is_empty(), || "model: Field required".to_owned());
    let most = body["max_tokens"].as_u64().unwrap_or(0);
    broken.unless(most > 0, || "max_tokens: Field required".to_owned());
    if body["thinking"]["type"] == "enabled" {
        let budget = body["thinking"]["budget_tokens"].as_u64().unwrap_or(0);
        broken.unless(budget >= 1_024, || {
            "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024".to_owned()
        });
        broken.unless(budget < most, || {
            "`max_tokens` must be greater than `thinking.budget_tokens`.".to_owned()
        });
    }
    for block in list(&body["system"]) {
        broken.unless(
            block["type"] != "text" || !word(block, "text").trim().is_empty(),
            || "system: text content blocks must be non-empty".to_owned(),
        );
    }
}

fn tools(body: &Value, broken: &mut Broken) {
    let tools = list(&body["tools"]);
    broken.unless(twice(tools.iter().map(|tool| word(tool, "name"))).is_none(), || {
        "tools: Tool names must be unique.".to_owned()
    });
    for (index, tool) in tools.iter().enumerate() {
        broken.unless(is_name(word(tool, "name"), 128), || {
            format!("tools.{index}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'")
        });
        // A tool of the vendor has a type and no schema.
        let own = !matches!(tool["type"].as_str(), None | Some("custom"));
        broken.unless(own || tool["input_schema"]["type"] == "object", || {
            format!("tools.{index}.custom.input_schema.type: Input should be 'object'")
        });
    }
}

fn marks(body: &Value, segments: &[Segment], broken: &mut Broken) {
    let found = segments.iter().filter(|segment| segment.mark.is_some()).count();
    broken.unless(found <= 4, || {
        format!("A maximum of 4 blocks with cache_control may be provided. Found {found}.")
    });
    let ttls: Vec<Ttl> = segments.iter().filter_map(|segment| segment.mark).collect();
    let falls = ttls.windows(2).any(|pair| pair == [Ttl::Minutes5, Ttl::Hour]);
    broken.unless(!falls, || {
        "cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block. Note that blocks are processed in the following order: `tools`, `system`, `messages`.".to_owned()
    });
    for (index, message) in list(&body["messages"]).iter().enumerate() {
        for (at, block) in list(&message["content"]).iter().enumerate() {
            let thinks = matches!(block["type"].as_str(), Some("thinking" | "redacted_thinking"));
            broken.unless(!thinks || block["cache_control"].is_null(), || {
                format!("messages.{index}.content.{at}: cache_control cannot be set for thinking blocks")
            });
        }
    }
}

fn roles(messages: &[Value], broken: &mut Broken) {
    broken.unless(messages[0]["role"] == "user", || {
        "messages: first message must use the \"user\" role".to_owned()
    });
    for message in messages {
        let role = word(message, "role");
        broken.unless(matches!(role, "user" | "assistant"), || {
            format!("messages: Unexpected role \"{role}\". The Messages API accepts a top-level `system` parameter, not \"system\" as an input message role.")
        });
    }
    for pair in messages.windows(2) {
        let role = word(&pair[0], "role");
        broken.unless(role != word(&pair[1], "role"), || {
            format!("messages: roles must alternate between \"user\" and \"assistant\", but found multiple \"{role}\" roles in a row")
        });
    }
    let last = &messages[messages.len() - 1];
    broken.unless(last["role"] != "assistant" || !begun(last).is_empty(), || {
        "This model does not support assistant message prefill. The conversation must end with a user message."
            .to_owned()
    });
}

fn contents(index: usize, message: &Value, broken: &mut Broken) {
    let content = &message["content"];
    let empty = match content {
        Value::String(text) => text.trim().is_empty(),
        _ => list(content).is_empty(),
    };
    let role = word(message, "role");
    broken.unless(!empty, || {
        format!("messages.{index}: {role} messages must have non-empty content")
    });
    for (at, block) in list(content).iter().enumerate() {
        let kind = word(block, "type");
        match kind {
            "text" => text(block, broken),
            "tool_use" => {
                broken.unless(block["input"].is_object(), || {
                    format!("messages.{index}.content.{at}.tool_use.input: Input should be a valid dictionary")
                });
                broken.unless(is_name(word(block, "id"), usize::MAX), || {
                    format!("messages.{index}.content.{at}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'")
                });
                broken.unless(is_name(word(block, "name"), 128), || {
                    format!("messages.{index}.content.{at}.tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'")
                });
            }
            "tool_result" => {
                let inner = list(&block["content"]);
                inner
                    .iter()
                    .filter(|block| block["type"] == "text")
                    .for_each(|block| text(block, broken));
                let silent = inner.is_empty() && word(block, "content").is_empty();
                broken.unless(block["is_error"] != true || !silent, || {
                    format!("messages.{index}.content.{at}.tool_result: content cannot be empty if `is_error` is true")
                });
            }
            _ => {}
        }
        let owner = match kind {
            "tool_use" | "thinking" | "redacted_thinking" | "server_tool_use" | "web_search_tool_result" => "assistant",
            "tool_result" | "image" | "document" => "user",
            "text" => role,
            _ => {
                broken.add(format!("messages.{index}.content.{at}: Input tag '{kind}' found using 'type' does not match any of the expected tags"));
                role
            }
        };
        broken.unless(owner == role, || {
            format!("messages.{index}: `{kind}` blocks can only be in `{owner}` messages")
        });
    }
}

fn text(block: &Value, broken: &mut Broken) {
    let text = word(block, "text");
    broken.unless(!text.is_empty(), || {
        "messages: text content blocks must be non-empty".to_owned()
    });
    broken.unless(text.is_empty() || !text.trim().is_empty(), || {
        "messages: text content blocks must contain non-whitespace text".to_owned()
    });
}

/// Calls and results of one message: each call is answered at the beginning of the next message, and there are no other
/// results.
fn answers(index: usize, message: &Value, messages: &[Value], broken: &mut Broken) {
    let calls = of_kind(message, "tool_use", "id");
    let next = messages
        .get(index + 1)
        .map(|next| list(&next["content"]))
        .unwrap_or_default();
    let at_head = next.iter().take_while(|block| block["type"] == "tool_result");
    let answered: Vec<&str> = at_head.map(|block| word(block, "tool_use_id")).collect();
    let open: Vec<&str> = calls.into_iter().filter(|id| !answered.contains(id)).collect();
    broken.unless(open.is_empty(), || {
        format!(
            "messages.{index}: `tool_use` ids were found without `tool_result` blocks immediately after: {}. Each `tool_use` block must have a corresponding `tool_result` block in the next message.",
            open.join(", ")
        )
    });
    let results = of_kind(message, "tool_result", "tool_use_id");
    let asked = match index.checked_sub(1) {
        Some(before) => of_kind(&messages[before], "tool_use", "id"),
        None => Vec::new(),
    };
    for id in results.iter().filter(|id| !asked.contains(id)) {
        broken.add(format!("messages.{index}: unexpected `tool_use_id` found in `tool_result` blocks: {id}. Each `tool_result` block must have a corresponding `tool_use` block in the previous message."));
    }
    if let Some(id) = twice(results) {
        broken.add(format!("messages.{index}: each tool_use must have a single result. Found multiple `tool_result` blocks with id: {id}"));
    }
}

/// Calls of the vendor's own tools must be completed: in the same reply, or where the vendor continued after the
/// results of the other calls. Only a reply followed by nothing but results may leave one open, since it will be
/// continued.
fn own(index: usize, messages: &[Value], broken: &mut Broken) {
    let is_answers = |message: &&Value| {
        message["role"] == "user"
            && list(&message["content"])
                .iter()
                .all(|block| block["type"] == "tool_result")
    };
    let behind = messages[index + 1..].iter().find(|message| !is_answers(message));
    let Some(behind) = behind else { return };
    let found = of_kind(behind, "web_search_tool_result", "tool_use_id");
    for id in begun(&messages[index]).into_iter().filter(|id| !found.contains(id)) {
        broken.add(format!("messages.{index}: `web_search` tool use with id `{id}` was found without a corresponding `web_search_tool_result` block"));
    }
}

/// The calls of the vendor's own tools that a message begins without completing.
fn begun(message: &Value) -> Vec<&str> {
    let found = of_kind(message, "web_search_tool_result", "tool_use_id");
    let mut begun = of_kind(message, "server_tool_use", "id");
    begun.retain(|id| !found.contains(id));
    begun
}

fn of_kind<'a>(message: &'a Value, kind: &str, key: &str) -> Vec<&'a str> {
    let blocks = list(&message["content"]).iter();
    blocks
        .filter(|block| block["type"] == kind)
        .map(|block| word(block, key))
        .collect()
}

fn ids(messages: &[Value], broken: &mut Broken) {
    let ids = messages.iter().flat_map(|message| of_kind(message, "tool_use", "id"));
    if twice(ids).is_some() {
        broken.add("messages: `tool_use` ids must be unique");
    }
}

/// Thinking is returned unchanged: signed everywhere, and complete in the message whose calls are being answered.
fn thinking(body: &Value, messages: &[Value], sent: &Sent, bound: Option<u64>, broken: &mut Broken) {
    for (index, message) in messages.iter().enumerate() {
        for (at, block) in list(&message["content"]).iter().enumerate() {
            let genuine = match block["type"].as_str() {
                Some("thinking") => is_sealed(word(block, "signature"), word(block, "thinking")),
                Some("redacted_thinking") => is_sealed(word(block, "data"), UNSEEN),
                _ => continue,
            };
            let kind = word(block, "type");
            broken.unless(genuine, || {
                let field = if kind == "thinking" { "signature" } else { "data" };
                format!("messages.{index}.content.{at}: Invalid `{field}` in `{kind}` block")
            });
            let head = sent.heads.get(seal(block));
            broken.unless(bound.is_none() || head.is_none() || head == bound.as_ref(), || {
                format!("messages.{index}.content.{at}: `{kind}` block was generated with a different system prompt or tools and cannot be used with this request")
            });
        }
    }
    let on = matches!(body["thinking"]["type"].as_str(), Some("enabled" | "adaptive"));
    let Some(index) = messages.len().checked_sub(2) else {
        return;
    };
    let message = &messages[index];
    let known = of_kind(message, "tool_use", "id")
        .into_iter()
        .find_map(|id| sent.thinking.get(id));
    let (true, Some(known)) = (on, known) else { return };
    let blocks = list(&message["content"]);
    let is_thinking = |block: &&Value| matches!(block["type"].as_str(), Some("thinking" | "redacted_thinking"));
    let returned: Vec<&Value> = blocks.iter().filter(is_thinking).collect();
    if returned.is_empty() && !known.is_empty() {
        let found = blocks.first().map_or("", |block| word(block, "type"));
        return broken.add(format!("messages.{index}.content.0.type: Expected `thinking` or `redacted_thinking`, but found `{found}`. When `thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks)."));
    }
    broken.unless(returned.iter().copied().eq(known.iter()), || {
        format!("messages.{index}.content: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response.")
    });
}

/// The signature of a thinking block.
fn seal(block: &Value) -> &str {
    match block["type"].as_str() {
        Some("thinking") => word(block, "signature"),
        _ => word(block, "data"),
    }
}
