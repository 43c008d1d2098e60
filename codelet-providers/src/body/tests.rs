use super::*;
use crate::cache_control::Lifetime;
use crate::settings::ModelId;
use codelet_context::message::{Image, ToolCall, ToolResult};
use proptest::prelude::*;

pub(crate) fn settings(wire: Wire) -> Settings {
    Settings {
        wire,
        host: None,
        asked: ModelId {
            vendor: "compatible",
            model: "m".to_owned(),
        },
        model: "m".to_owned(),
        vendor: "compatible",
        max_output: 1_000,
        sees_images: true,
        is_listed: false,
        thinks: Thinks::Never,
        thinking: Thinking::Usual,
        shows_thinking: false,
        lifetime: Lifetime::FiveMinutes,
        ways: Arc::default(),
    }
}

fn request(messages: Vec<Message>) -> Request {
    Request {
        messages: messages.into_iter().map(Arc::new).collect(),
        tools: Arc::from([]),
        max_output: None,
        edge: None,
        next_edit: None,
        session: "s".into(),
    }
}

fn written(settings: &Settings, messages: Vec<Message>) -> Value {
    serde_json::from_str(&settings.body(&request(messages))).unwrap()
}

fn picture() -> Vec<Message> {
    let image = Part::Image(Image {
        media_type: "image/png".into(),
        data: "AAAA".into(),
        is_url: false,
        extra: Default::default(),
    });
    let mut result = ToolResult::new("a", Some(true), "a.png:");
    result.output.push(image);
    result.bare = false;
    let call = Part::ToolCall(ToolCall::new("a", "Read", Map::new()));
    vec![
        Message::user("look"),
        Message::new(Role::Assistant, vec![call]),
        Message::results(vec![result]),
    ]
}

#[test]
fn a_picture_in_an_answer_is_shown_where_the_vendor_takes_it() {
    let chat = written(&settings(Wire::Chat), picture());
    assert_eq!(chat["messages"][2]["role"], "tool");
    assert_eq!(chat["messages"][2]["content"][1]["text"], "[an image, shown below]");
    assert_eq!(chat["messages"][3]["role"], "user");
    assert_eq!(chat["messages"][3]["content"][0]["type"], "image_url");
    let anthropic = written(&settings(Wire::Anthropic), picture());
    assert_eq!(anthropic["messages"][2]["content"][0]["content"][1]["type"], "image");
}

#[test]
fn an_id_that_another_vendor_gave_is_spelled_for_one_that_refuses_it() {
    let mut messages = picture();
    for message in &mut messages {
        for part in &mut message.parts {
            match part {
                Part::ToolCall(call) => call.id = "functions.Read:0".into(),
                Part::ToolResult(result) => result.call_id = "functions.Read:0".into(),
                _ => {}
            }
        }
    }
    let chat = written(&settings(Wire::Chat), messages.clone());
    assert_eq!(chat["messages"][1]["tool_calls"][0]["id"], "functions.Read:0");
    assert_eq!(chat["messages"][2]["tool_call_id"], "functions.Read:0");
    let anthropic = written(&settings(Wire::Anthropic), messages);
    let id = anthropic["messages"][1]["content"][0]["id"].as_str().unwrap();
    assert!(id.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'), "{id}");
    assert_eq!(anthropic["messages"][2]["content"][0]["tool_use_id"], id);
}

#[test]
fn a_model_that_sees_no_pictures_is_told_so() {
    for wire in [Wire::Anthropic, Wire::Chat, Wire::Responses, Wire::Gemini] {
        let blind = Settings {
            sees_images: false,
            ..settings(wire)
        };
        let body = written(&blind, picture()).to_string();
        assert!(!body.contains("AAAA") && body.contains(UNSEEN), "{wire:?}");
    }
}

#[test]
fn system_prompts_stand_where_the_wire_has_a_place() {
    let messages = || vec![Message::system("one"), Message::system("two"), Message::user("hi")];
    let anthropic = written(&settings(Wire::Anthropic), messages());
    assert_eq!(anthropic["system"].as_array().unwrap().len(), 2);
    assert_eq!(
        written(&settings(Wire::Responses), messages())["instructions"],
        "one\n\ntwo"
    );
    let mut bare = messages();
    bare.truncate(1);
    bare[0].bare = true;
    bare.push(Message::user("hi"));
    let gemini = written(&settings(Wire::Gemini), bare);
    assert_eq!(gemini["systemInstruction"]["parts"][0]["text"], "one");
}

#[test]
fn a_model_that_wants_its_thinking_back_finds_the_field_on_every_reply_that_calls() {
    let asked = |model: &str, thinking| {
        let settings = Settings {
            model: model.to_owned(),
            thinks: Thinks::Effort,
            thinking,
            ..settings(Wire::Chat)
        };
        written(&settings, picture())["messages"][1]["reasoning_content"].clone()
    };
    for model in [
        "deepseek-v4-pro", "deepseek/deepseek-v4-flash", "moonshotai/kimi-k2.5", "kimi-k2-thinking",
    ] {
        assert_eq!(asked(model, Thinking::Usual), "", "{model}");
    }
    for model in ["deepseek-chat", "deepseek-v3", "kimi-k2", "gpt-5.4"] {
        assert_eq!(asked(model, Thinking::Usual), Value::Null, "{model}");
    }
    assert_eq!(asked("deepseek-v4-pro", Thinking::Off), Value::Null);
    let learned = settings(Wire::Chat);
    let body = learned.body(&request(picture()));
    let said = "The `reasoning_content` in the thinking mode must be passed back to the API.";
    assert_eq!(learned.learn(said, &body), Some(Way::WithReasoning));
    assert_eq!(written(&learned, picture())["messages"][1]["reasoning_content"], "");
}

#[test]
fn only_a_model_that_binds_its_thinking_is_asked_to_drop_what_a_compaction_has_made_invalid() {
    let asked = |vendor, model: &str| {
        let settings = Settings {
            vendor,
            model: model.to_owned(),
            thinks: Thinks::Adaptive,
            ..settings(Wire::Anthropic)
        };
        written(&settings, vec![Message::user("hi")])["thinking"]["block_binding"].clone()
    };
    let drop = json!({"prefix_mismatch_behavior": "drop_block"});
    assert_eq!(asked("anthropic", "claude-opus-5-5"), drop);
    assert_eq!(asked("anthropic", "claude-opus-4-8"), Value::Null);
    assert_eq!(asked("compatible", "claude-opus-5-5"), Value::Null);
}

#[test]
fn thinking_leaves_room_for_an_answer() {
    for (budget, max_output, expected) in [
        (4_000, 32_000, 4_000),
        (31_999, 32_000, 30_976),
        (16_000, 3_000, 1_976),
        (16_000, 1_500, 1_024),
        (10, 32_000, 1_024),
    ] {
        let thinker = Settings {
            thinks: Thinks::Budget,
            thinking: Thinking::Budget(budget),
            max_output,
            ..settings(Wire::Anthropic)
        };
        let body = written(&thinker, vec![Message::user("hi")]);
        assert_eq!(body["thinking"]["budget_tokens"], expected, "{budget} of {max_output}");
    }
}

#[test]
fn a_model_may_think_unless_it_cannot_or_is_told_not_to() {
    let lets = |wire, thinks, thinking| {
        let settings = Settings {
            thinks,
            thinking,
            ..settings(wire)
        };
        settings.lets_think()
    };
    for (wire, thinks) in [
        (Wire::Anthropic, Thinks::Adaptive),
        (Wire::Responses, Thinks::Effort),
        (Wire::Chat, Thinks::Effort),
        (Wire::Gemini, Thinks::Level),
        (Wire::Gemini, Thinks::Budget),
    ] {
        assert!(lets(wire, thinks, Thinking::Usual), "{wire:?}, {thinks:?}");
        assert_eq!(lets(wire, thinks, Thinking::Off), thinks == Thinks::Level);
    }
    assert!(!lets(Wire::Anthropic, Thinks::Budget, Thinking::Usual));
    assert!(lets(Wire::Anthropic, Thinks::Budget, Thinking::Budget(2_000)));
    assert!(!lets(Wire::Chat, Thinks::Never, Thinking::Usual));
}

#[test]
fn a_gateway_to_anthropic_gets_marks_on_words() {
    let gateway = Settings {
        vendor: "openrouter",
        model: "anthropic/claude-opus-5.5".to_owned(),
        ..settings(Wire::Chat)
    };
    let mut messages = vec![Message::system("one")];
    messages.extend(picture());
    messages[3] = Message::results(vec![ToolResult::new("a", Some(true), "text")]);
    let body = written(&gateway, messages);
    assert_eq!(body["messages"][0]["content"][0]["cache_control"]["type"], "ephemeral");
    assert_eq!(body["messages"][3]["content"][0]["cache_control"]["type"], "ephemeral");
}

#[test]
#[ignore = "a measurement: run it alone, with --nocapture"]
#[allow(clippy::print_stderr, reason = "what it measures is for whoever runs it")]
fn how_long_a_long_history_takes_to_be_written() {
    let mut messages = vec![Message::system("one"), Message::user("go")];
    let line = "    let value = map.get(\"key\").unwrap_or(&0); // a \"quoted\" line\n";
    for step in 0..200 {
        let call = Part::ToolCall(ToolCall::new(format!("toolu_{step}"), "Bash", Map::new()));
        messages.push(Message::new(Role::Assistant, vec![Part::text("Next."), call]));
        let output = line.repeat(22_500 / line.len());
        messages.push(Message::results(vec![ToolResult::new(
            format!("toolu_{step}"),
            Some(true),
            output,
        )]));
    }
    let request = request(messages);
    for wire in [Wire::Anthropic, Wire::Chat, Wire::Responses, Wire::Gemini] {
        let settings = settings(wire);
        let mut sent = SentSteps::default();
        let mut times = Vec::new();
        let mut bytes = 0;
        for _ in 0..9 {
            let start = std::time::Instant::now();
            let slices = settings.slices(&request, &mut sent);
            times.push(start.elapsed());
            bytes = slices.iter().map(Bytes::len).sum();
        }
        let again = times[1..].iter().min();
        eprintln!("{wire:?}: {bytes} bytes in {:?}, and once more in {again:?}", times[0]);
    }
}

/// Returns a message of a kind, one of a conversation that was continued in every way: by another model, with calls as
/// text, pictures, long outputs, and an answer to a call that is elsewhere.
fn message_of(kind: usize, number: usize) -> Message {
    let id = format!("call.{number}");
    let before = format!("call.{}", number.saturating_sub(1));
    let call = |id: &str| Part::ToolCall(ToolCall::new(id, "Read", Map::new()));
    let long = format!("{number}: a \"quoted\" line\n").repeat(100);
    let signed = |parts: Vec<Part>, form: Format, model: &str| {
        let mut other = Message::new(Role::Assistant, parts);
        let model = model.to_owned();
        Maker { form, model }.sign(&mut other);
        other
    };
    match kind {
        0 => Message::new(Role::Assistant, vec![call(&id)]),
        1 => Message::results(vec![ToolResult::new(before.as_str(), Some(true), long)]),
        2 => Message::user(long),
        3 => Message::system(format!("rule {number}")),
        4 => signed(vec![Part::text("So."), call(&id)], Format::Openai, "moonshot/kimi"),
        // Nothing of it is left for another model.
        5 => signed(vec![Part::text(" ")], Format::Gemini, "google/g"),
        6 => {
            let mut spoken = ToolCall::new(
                id.as_str(),
                "Bash",
                Map::from_iter([("command".to_owned(), json!("ls"))]),
            );
            spoken.is_spoken = true;
            Message::new(Role::Assistant, vec![Part::ToolCall(spoken)])
        }
        7 => Message::results(vec![ToolResult::new("call.0", Some(true), "late")]),
        _ => Message::assistant(long),
    }
}

proptest! {
    #[test]
    fn slices_are_the_text_whatever_was_sent_before(
        kinds in proptest::collection::vec(0..9usize, 1..16),
        edits in proptest::collection::vec((0..16usize, 0..9usize, any::<bool>(), 0..18usize), 1..8),
    ) {
        let mut messages: Vec<Arc<Message>> =
            kinds.iter().enumerate().map(|(number, &kind)| Arc::new(message_of(kind, number))).collect();
        for wire in [Wire::Anthropic, Wire::Chat, Wire::Responses, Wire::Gemini] {
            let settings = settings(wire);
            let mut sent = SentSteps::default();
            for (number, &(at, kind, appends, edge)) in edits.iter().enumerate() {
                let made = Arc::new(message_of(kind, 20 + number));
                match messages.get_mut(at).filter(|_| !appends) {
                    Some(message) => *message = made,
                    None => messages.push(made),
                }
                let request = Request {
                    messages: messages.clone(),
                    edge: Some(edge).filter(|edge| edge % 3 > 0),
                    next_edit: Some(at).filter(|at| at % 2 > 0),
                    ..request(Vec::new())
                };
                let text = settings.body(&request);
                for _ in 0..2 {
                    let joined = String::from_utf8(settings.slices(&request, &mut sent).concat()).unwrap();
                    prop_assert_eq!(&joined, &text, "{:?}", wire);
                }
            }
        }
    }
}

#[test]
fn a_step_that_was_sent_shares_its_bytes_with_the_next_request() {
    let mut messages: Vec<Arc<Message>> = Vec::new();
    for step in 0..6 {
        messages.extend([2, 0, 1].map(|kind| Arc::new(message_of(kind, 2 * step + usize::from(kind == 1)))));
    }
    let request = |held: usize| Request {
        messages: messages[..held].to_vec(),
        edge: Some(held - 3),
        ..request(Vec::new())
    };
    for wire in [Wire::Anthropic, Wire::Chat, Wire::Responses, Wire::Gemini] {
        let settings = settings(wire);
        let mut sent = SentSteps::default();
        let first = settings.slices(&request(15), &mut sent);
        let second = settings.slices(&request(18), &mut sent);
        let shared = |slice: &Bytes| {
            first
                .iter()
                .any(|old| old.as_ptr() == slice.as_ptr() && old.len() == slice.len())
        };
        let bytes: usize = second.iter().filter(|slice| shared(slice)).map(Bytes::len).sum();
        let all: usize = second.iter().map(Bytes::len).sum();
        assert!(bytes * 2 > all, "{wire:?}: {bytes} of {all}");
    }
}
