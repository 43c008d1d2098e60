//! Adapts an edited conversation so that the provider accepts the request again.

use super::binds_thinking;
use super::blocks::{is_server_call, is_server_result};
use crate::format::Format;
use crate::request::is_inline;
use codelet_context::body::Body;
use codelet_context::cut;
use codelet_context::message::{BlockText, Message, Nature, Origin, Part, Role};
use codelet_context::recall::Archive;
use codelet_context::view::View;
use serde_json::{Map, Value};
use std::collections::HashSet;
use std::sync::Arc;

/// The maximum length of an orphaned result's text that is kept inline, in bytes.
const MOST_TOLD: usize = 2_000;
/// The reason for the removal of thinking.
const REASON: &str = "bound thinking";

/// Adapts the view of an edited conversation for this format's provider: `before` is what the provider has seen,
/// `envelope` the request's other fields. Removed content goes to the view's archive. Returns whether anything changed.
pub fn settle(format: Format, envelope: &Map<String, Value>, before: &[Arc<Message>], view: &mut View) -> bool {
    if format != Format::Anthropic || is_same(before, &view.messages) {
        return false;
    }
    let tells = tell_orphans(view);
    let moved = place_system_messages(&mut view.messages);
    let model = envelope.get("model").and_then(Value::as_str).unwrap_or_default();
    let drops = wants_unbound(model, envelope.get("thinking")) && drop_bound_thinking(before, view);
    tells || moved || drops
}

fn is_same(before: &[Arc<Message>], after: &[Arc<Message>]) -> bool {
    before.len() == after.len() && before.iter().zip(after).all(|(one, other)| stands(one, other))
}

fn stands(one: &Arc<Message>, other: &Arc<Message>) -> bool {
    Arc::ptr_eq(one, other) || one == other
}

/// Returns whether a request to this model, with this `thinking` field, is refused for thinking after changed messages.
/// An unnamed model is taken for an older one; with `drop_block` the provider itself drops invalid blocks ("Fix a
/// thinking block bound to a different conversation", platform.claude.com, November 2026).
pub fn wants_unbound(model: &str, thinking: Option<&Value>) -> bool {
    let choice = thinking.and_then(|it| it.get("block_binding")?.get("prefix_mismatch_behavior")?.as_str());
    binds_thinking(model) && choice != Some("drop_block")
}

/// Drops thinking from the first changed message on: a change invalidates all thinking after it, and none before it.
fn drop_bound_thinking(before: &[Arc<Message>], view: &mut View) -> bool {
    let same = before
        .iter()
        .zip(&view.messages)
        .take_while(|(one, other)| stands(one, other));
    let first = same.count();
    let mut dropped = false;
    for message in &mut view.messages[first..] {
        let is_bound = |part: &Part| matches!(part, Part::Thinking(thinking) if thinking.is_bound());
        if message.parts.iter().any(is_bound) {
            dropped = true;
            let (bound, left) = message.parts.iter().cloned().partition(is_bound);
            archive(&bound, &mut view.archive);
            *message = Arc::new(Message {
                parts: left,
                ..Message::clone(message)
            });
        }
    }
    view.messages.retain(|message| !message.parts.is_empty());
    dropped
}

fn archive(parts: &Vec<Part>, archive: &mut Archive) {
    for part in parts {
        if let Part::Thinking(thinking) = part
            && !thinking.body.is_empty()
        {
            archive.keep(&Body::new(thinking.body.as_str()), "thinking", REASON);
        }
    }
}

/// Replaces server tool results whose call was removed: the call of a program, for example, may be in an earlier
/// message than its result. A short result stays as text in the reply, and the whole is in the archive.
fn tell_orphans(view: &mut View) -> bool {
    let mut calls: HashSet<String> = HashSet::new();
    let mut told = false;
    for message in &mut view.messages {
        let mut orphans = Vec::new();
        for (at, part) in message.parts.iter().enumerate() {
            let Part::Opaque(opaque) = part else { continue };
            let id = |name: &str| opaque.value.get(name).and_then(Value::as_str);
            if is_server_call(&opaque.kind) {
                calls.extend(id("id").map(str::to_owned));
            } else if is_server_result(&opaque.kind) && id("tool_use_id").is_some_and(|id| !calls.contains(id)) {
                orphans.push(at);
            }
        }
        if orphans.is_empty() {
            continue;
        }
        told = true;
        let mut parts = message.parts.clone();
        for at in orphans.into_iter().rev() {
            let Part::Opaque(opaque) = &parts[at] else { continue };
            let handle = view.archive.keep(opaque.json(), &opaque.kind, "its call was removed");
            let words = match &opaque.words {
                Some(BlockText::Output(words)) if words.len() < MOST_TOLD => format!("\n{words}"),
                _ => String::new(),
            };
            let text = format!(
                "[{} · recall {}]{words}",
                cut::plain_name(&opaque.kind),
                handle.as_str()
            );
            parts[at] = Part::text_from(Origin::Notice, text);
        }
        *message = Arc::new(Message {
            parts,
            ..Message::clone(message)
        });
    }
    told
}

/// Moves system messages to where Anthropic accepts them. An inline system message must follow a user message, and
/// precede a reply or the end; one that only sets the effort may be anywhere, unless next to one with text.
/// ("Mid-conversation system messages", "Per-message effort", platform.claude.com, November 2026.) Any other moves to
/// after the next user message.
fn place_system_messages(messages: &mut Vec<Arc<Message>>) -> bool {
    let mut out: Vec<Arc<Message>> = Vec::with_capacity(messages.len());
    let mut waiting: Vec<Arc<Message>> = Vec::new();
    for message in messages.iter() {
        let is_among = message.role == Role::System && is_inline(message);
        match message.role {
            Role::System if is_among && (!waiting.is_empty() || !sets_effort_only(message)) => {
                waiting.push(message.clone());
                continue;
            }
            Role::Assistant if may_follow(&out) => out.append(&mut waiting),
            _ => {}
        }
        out.push(message.clone());
    }
    if !waiting.is_empty() {
        // A paused reply stays last.
        let user = out.iter().rposition(|message| message.role == Role::User);
        let at = user.map_or(out.len(), |user| user + 1);
        out.splice(at..at, waiting);
    }
    let moved = out
        .iter()
        .zip(messages.iter())
        .any(|(one, other)| !Arc::ptr_eq(one, other));
    if moved {
        *messages = out;
    }
    moved
}

/// Returns whether a system message may follow these messages.
fn may_follow(messages: &[Arc<Message>]) -> bool {
    let last = messages.iter().rfind(|message| message.role != Role::System);
    last.is_some_and(|last| last.role == Role::User)
}

/// Returns whether a system message has no text.
fn sets_effort_only(message: &Message) -> bool {
    let is_setting = |part: &Part| matches!(part, Part::Opaque(it) if it.nature == Nature::Reference && &*it.kind == crate::anthropic::SETTING);
    message.parts.iter().all(is_setting)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::{Document, read, write};
    use serde_json::json;

    /// Reads a request, edits its messages, and writes the result.
    fn edited(request: &Value, edit: impl FnOnce(&mut Vec<Arc<Message>>)) -> (Value, Archive) {
        let mut document = read(request.to_string().as_bytes(), Some(Format::Anthropic)).unwrap();
        let before: Vec<Arc<Message>> = std::mem::take(&mut document.messages)
            .into_iter()
            .map(Arc::new)
            .collect();
        let mut view = View {
            messages: before.clone(),
            archive: Archive::default(),
        };
        edit(&mut view.messages);
        settle(Format::Anthropic, &document.envelope, &before, &mut view);
        let messages = view.messages.iter().map(|message| Message::clone(message)).collect();
        let text = write(&Document { messages, ..document }, Format::Anthropic).unwrap();
        (serde_json::from_str(&text).unwrap(), view.archive)
    }

    fn thinks(model: &str) -> Value {
        let step = |n: usize| {
            [
                json!({"role": "assistant", "content": [
                    {"type": "thinking", "thinking": format!("I look at {n}."), "signature": "sig"},
                    {"type": "tool_use", "id": format!("t{n}"), "name": "bash", "input": {}}]}),
                json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": format!("t{n}"), "content": "seen"}]}),
            ]
        };
        let mut messages = vec![json!({"role": "user", "content": "Count."})];
        messages.extend((0..4).flat_map(step));
        json!({"model": model, "messages": messages})
    }

    fn thoughts(request: &Value) -> Vec<usize> {
        let messages = request["messages"].as_array().unwrap();
        let thinks = |message: &Value| message["content"][0]["type"] == "thinking";
        (0..messages.len()).filter(|&at| thinks(&messages[at])).collect()
    }

    fn change_the_third(messages: &mut [Arc<Message>]) {
        messages[4] = Arc::new(Message::user("changed"));
    }

    #[test]
    fn of_bound_thinking_only_what_stands_before_a_change_stays_and_the_rest_can_be_read_back() {
        let (after, archive) = edited(&thinks("claude-fable-5-1"), |messages| change_the_third(messages));
        assert_eq!(thoughts(&after), [1, 3]);
        let mut kept: Vec<&str> = archive.iter().map(|(_, removed)| removed.body.as_str()).collect();
        kept.sort_unstable();
        assert_eq!(kept, ["I look at 2.", "I look at 3."]);
    }

    #[test]
    fn thinking_stays_where_the_model_is_older_or_the_vendor_is_to_drop_it() {
        let (after, _) = edited(&thinks("claude-opus-5"), |messages| change_the_third(messages));
        assert_eq!(thoughts(&after), [1, 3, 5, 7]);
        let mut asks = thinks("claude-opus-5-5");
        asks["thinking"] = json!({"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}});
        assert_eq!(
            thoughts(&edited(&asks, |messages| change_the_third(messages)).0),
            [1, 3, 5, 7]
        );
    }

    #[test]
    fn a_reply_of_nothing_but_bound_thinking_goes_with_it() {
        let mut request = thinks("claude-opus-5-5");
        request["messages"].as_array_mut().unwrap().extend([
            json!({"role": "assistant", "content": [{"type": "redacted_thinking", "data": "x"}]}),
            json!({"role": "user", "content": "And?"}),
        ]);
        let (after, _) = edited(&request, |messages| drop(messages.remove(0)));
        assert_eq!(thoughts(&after), [0_usize; 0]);
        assert!(!after.to_string().contains("redacted"), "{after}");
    }

    #[test]
    fn system_messages_stand_behind_the_user_and_before_a_reply_whatever_was_left_out_between() {
        let system = |text: &str| json!({"role": "system", "content": text});
        let effort = json!({"role": "system", "content": [], "output_config": {"effort": "low"}});
        let said = |role: &str, text: &str| json!({"role": role, "content": text});
        let request = json!({"model": "claude-opus-4-8", "system": "Mend.", "messages": [
            said("user", "one"), system("first"), said("assistant", "1"),
            effort, said("user", "two"), system("second"), said("assistant", "2"),
            said("user", "three")]});
        let without_replies = |messages: &mut Vec<Arc<Message>>| {
            messages.retain(|message| message.role != Role::Assistant);
        };
        let (after, _) = edited(&request, without_replies);
        let roles: Vec<&str> = after["messages"]
            .as_array()
            .unwrap()
            .iter()
            .map(|it| it["role"].as_str().unwrap())
            .collect();
        // The three prompts are one user message, or several in a row.
        let first = roles.iter().position(|role| *role == "system").unwrap();
        assert!(roles[..first].iter().all(|role| *role == "user"), "{roles:?}");
        assert_eq!(roles[first..], ["system", "system", "system"], "{roles:?}");
        let (untouched, _) = edited(&request, |messages| drop(messages.pop()));
        let kept: Vec<Value> = request["messages"].as_array().unwrap()[..7].to_vec();
        assert_eq!(untouched["messages"], Value::from(kept));
    }

    #[test]
    fn what_a_program_gave_is_told_in_words_where_its_call_has_gone_and_can_be_read_back() {
        let program = json!([
            {"type": "server_tool_use", "id": "s", "name": "code_execution", "input": {}},
            {"type": "tool_use", "id": "t", "name": "sales", "input": {}, "caller": {"type": "code_execution_20260120", "tool_id": "s"}}]);
        let ended = json!([
            {"type": "code_execution_tool_result", "tool_use_id": "s", "content": {"type": "code_execution_result", "stdout": "total 7"}}]);
        let request = json!({"model": "claude-opus-5", "messages": [
            {"role": "user", "content": "Sum."}, {"role": "assistant", "content": program},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "7"}]},
            {"role": "assistant", "content": ended}, {"role": "user", "content": "Thanks."}]});
        let (after, archive) = edited(&request, |messages| drop(messages.drain(1..3)));
        let text = after["messages"][1]["content"][0]["text"].as_str().unwrap();
        assert!(text.contains("total 7"), "{text}");
        let (handle, whole) = archive.iter().next().unwrap();
        assert!(text.contains(handle.as_str()) && whole.body.as_str().contains("tool_use_id"));
        assert_eq!(crate::vendor::check(&after, Format::Anthropic), []);
        let (kept, _) = edited(&request, |messages| drop(messages.pop()));
        assert_eq!(kept["messages"][3], request["messages"][3]);
    }
}
