//! rig's messages through the engine's and back.
#![allow(clippy::unwrap_used)]

mod made;

use codelet_context::message::{ActionKind, Part};
use codelet_context::tokens::estimate_message;
use codelet_rig::{Actions, read, write};
use proptest::prelude::*;
use rig_core::message::*;
use serde_json::{Value, json};

proptest! {
    #[test]
    fn a_message_that_nobody_edits_is_the_same_message(message in made::message()) {
        let back = write(&[read(&message, &Actions::default())]);
        prop_assert_eq!(&back[..], std::slice::from_ref(&message));
        prop_assert_eq!(serde_json::to_string(&back[0]).unwrap(), serde_json::to_string(&message).unwrap());
    }
}

#[test]
fn the_engine_sees_what_a_call_does_and_how_it_went() {
    let call = ToolCall::from_wire(
        "c",
        ToolFunction::new(ToolName::new("bash").unwrap(), json!({"command": "cargo test"})),
    );
    let failed = call.error_result(vec![ToolResultContent::json(json!({"exit": 1}))]);
    let reply = read(&AssistantContent::ToolCall(call).into(), &Actions::default());
    assert_eq!(reply.calls().next().unwrap().action.kind, ActionKind::Command);
    let results = read(&failed.into(), &Actions::default());
    let result = results.tool_results().next().unwrap();
    assert_eq!(result.success, Some(false));
    assert!(matches!(&result.output[..], [Part::Text(text)] if text.body.as_str() == r#"{"exit":1}"#));
    let own = Actions::new(|_, _| codelet_context::message::Action::on(ActionKind::Read, ["a.rs"]));
    let other = AssistantContent::tool_call("d", ToolName::new("bash").unwrap(), json!({}));
    let reply = read(&other.into(), &own);
    assert_eq!(reply.calls().next().unwrap().action.kind, ActionKind::Read);
}

#[test]
fn reasoning_is_bound_as_its_provider_binds_it_and_no_longer_once_it_was_altered() {
    let read = |item: Value, altered: bool| {
        let mut block = AssistantContent::reasoning("so").with_native(item);
        if altered && let AssistantContent::Reasoning(reasoning) = &mut block {
            reasoning.text.push('!');
        }
        match &read(&block.into(), &Actions::default()).parts[0] {
            Part::Thinking(thinking) => (thinking.is_bound(), thinking.is_wanted_back),
            other => panic!("{other:?}"),
        }
    };
    let signed = json!({"type": "thinking", "thinking": "so", "signature": "c2ln"});
    assert_eq!(read(signed.clone(), false), (true, false));
    assert_eq!(read(signed, true), (false, false));
    assert_eq!(
        read(json!({"type": "redacted_thinking", "data": "x"}), false),
        (true, false)
    );
    assert_eq!(
        read(json!({"type": "reasoning", "encrypted_content": "x"}), false),
        (true, false)
    );
    assert_eq!(read(json!({"reasoning_content": "so"}), false), (false, true));
}

#[test]
fn what_a_reply_says_weighs_once_although_the_providers_item_stands_beside_it() {
    let weight = |block: AssistantContent| estimate_message(&read(&block.into(), &Actions::default()));
    let words = "word ".repeat(2_000);
    let text = AssistantContent::text(words.as_str());
    let arguments = json!({ "text": words });
    let call = AssistantContent::tool_call("c", ToolName::new("write").unwrap(), arguments.clone());
    let thought = AssistantContent::reasoning(words.as_str());
    let item = json!({"type": "text", "text": words, "name": "write", "arguments": "", "id": "msg_1"});
    for block in [text, call, thought] {
        let (alone, beside) = (weight(block.clone()), weight(block.with_native(item.clone())));
        assert!((alone..alone + 60).contains(&beside), "{alone} {beside}");
    }
    // What the item has more of goes with the request.
    let more = weight(AssistantContent::text("so").with_native(item));
    assert!(more > 2_400, "{more}");
}
