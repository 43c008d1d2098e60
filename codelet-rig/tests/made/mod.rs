//! Messages of rig that nobody has said.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use rig_core::message::*;
use serde_json::{Value, json};

fn text() -> impl Strategy<Value = String> {
    prop_oneof![3 => "[a-z .\n]{0,40}", 1 => "\\PC{0,12}", 1 => Just(String::new()), 1 => "[a-z ]{1200,1500}"]
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(|number| json!(number)),
        text().prop_map(Value::from),
        Just(serde_json::from_str("1.50e400").unwrap()),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            vec(("[a-z_]{1,8}", inner), 0..4).prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

fn object() -> impl Strategy<Value = Value> {
    vec(("[a-z_]{1,8}", value()), 0..4).prop_map(|fields| Value::Object(fields.into_iter().collect()))
}

/// Items as providers have them, and others.
fn item() -> impl Strategy<Value = Value> {
    prop_oneof![
        object(),
        Just(json!({"type": "thinking", "thinking": "so", "signature": "c2ln"})),
        Just(json!({"type": "redacted_thinking", "data": "ZGF0YQ=="})),
        Just(json!({"type": "reasoning", "id": "rs_1", "encrypted_content": "abc", "summary": []})),
        Just(json!({"reasoning_content": "so"})),
        Just(json!({"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {}})),
        Just(json!({"type": "image", "data": "aGVsbG8="})),
    ]
}

fn citation() -> impl Strategy<Value = Citation> {
    (option::of(0.0f32..1.0), option::of(text()), any::<bool>(), 0usize..3).prop_map(
        |(confidence, title, is_url, end)| {
            let location = match is_url {
                true => json!({"type": "url", "url": "https://example.com"}),
                false => json!({"type": "document", "index": end, "within": null}),
            };
            let mut source = Source::new(serde_json::from_value(location).unwrap());
            source.title = title;
            source.confidence = confidence;
            Citation::new([source])
        },
    )
}

fn call_id() -> impl Strategy<Value = CallId> {
    let local = any::<u128>().prop_map(|bits| {
        let hex = format!("{bits:032x}");
        let uuid = [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-");
        serde_json::from_value(json!({ "local": uuid })).unwrap()
    });
    prop_oneof!["[a-z_0-9 ]{1,12}".prop_map(CallId::from_wire), local]
}

fn name() -> impl Strategy<Value = ToolName> {
    prop_oneof!["[a-z_]{1,12}", Just("read_file".to_owned()), "\\PC{1,4}"].prop_map(|name| ToolName::new(name).unwrap())
}

fn data() -> impl Strategy<Value = DocumentSourceKind> {
    prop_oneof![
        text().prop_map(DocumentSourceKind::Url),
        text().prop_map(DocumentSourceKind::Base64),
        text().prop_map(DocumentSourceKind::FileId),
        vec(any::<u8>(), 0..40).prop_map(DocumentSourceKind::Raw),
        text().prop_map(DocumentSourceKind::String),
        Just(DocumentSourceKind::Unknown),
    ]
}

/// A value of an enum of rig by its name in JSON, or none.
fn named<T: serde::de::DeserializeOwned + std::fmt::Debug>(
    names: &'static [&'static str],
) -> impl Strategy<Value = Option<T>> {
    option::of(proptest::sample::select(names))
        .prop_map(|name| name.map(|name| serde_json::from_value(json!(name)).unwrap()))
}

/// An image that is not a reply's, or of which the provider's item is yet to be put beside.
fn image() -> impl Strategy<Value = Image> {
    let kinds = named(&["jpeg", "png", "gif", "webp", "heic", "heif", "svg"]);
    (data(), kinds, named(&["low", "high", "auto"])).prop_map(|(data, media_type, detail)| Image {
        data,
        media_type,
        detail,
        native: None,
    })
}

fn result() -> impl Strategy<Value = ToolResult> {
    let content = prop_oneof![
        text().prop_map(ToolResultContent::text),
        value().prop_map(ToolResultContent::json),
        image().prop_map(ToolResultContent::Image),
    ];
    (call_id(), name(), vec(content, 0..4), any::<bool>()).prop_map(|(call, name, content, is_error)| ToolResult {
        call,
        name,
        content,
        is_error,
    })
}

fn said() -> impl Strategy<Value = UserContent> {
    let audio = (
        data(),
        named(&["wav", "mp3", "aiff", "aac", "ogg", "flac", "m4a", "pcm16", "pcm24"]),
    );
    let video = (
        data(),
        named(&["avi", "mp4", "mpeg", "mov", "webm"]),
        option::of(object()),
    );
    let kinds = [
        "pdf", "txt", "rtf", "html", "css", "markdown", "csv", "xml", "javascript", "python",
    ]
    .as_slice();
    let document = (
        data(),
        named(kinds),
        option::of(prop_oneof![object(), Just(json!({"title": "a\nreport.pdf"}))]),
    );
    prop_oneof![
        text().prop_map(UserContent::text),
        result().prop_map(UserContent::ToolResult),
        image().prop_map(UserContent::Image),
        audio.prop_map(|(data, media_type)| UserContent::Audio(Audio { data, media_type })),
        video.prop_map(|(data, media_type, additional_params)| {
            UserContent::Video(Video {
                data,
                media_type,
                additional_params,
            })
        }),
        document.prop_map(|(data, media_type, additional_params)| {
            UserContent::Document(Document {
                data,
                media_type,
                additional_params,
            })
        }),
    ]
}

/// A block of a reply; `stale` alters it after the provider's item was put beside it.
fn replied() -> impl Strategy<Value = AssistantContent> {
    let arguments = prop_oneof![object(), value(), Just(json!("{\"q\": \"ab"))];
    let block = prop_oneof![
        (text(), vec(citation(), 0..3))
            .prop_map(|(text, citations)| AssistantContent::Text(Text::new(text).with_citations(citations))),
        (call_id(), name(), arguments).prop_map(|(id, name, arguments)| AssistantContent::ToolCall(ToolCall::new(
            id,
            ToolFunction::new(name, arguments)
        ))),
        (text(), any::<bool>()).prop_map(|(text, redacted)| AssistantContent::Reasoning(Reasoning {
            text,
            redacted,
            native: None
        })),
        image().prop_map(AssistantContent::Image),
        (item(), any::<bool>()).prop_map(|(item, replay)| AssistantContent::Opaque(Opaque { item, replay })),
    ];
    (block, option::of(item()), any::<bool>()).prop_map(|(mut block, item, stale)| {
        let is_file = matches!(&block, AssistantContent::Image(Image { data, .. })
            if matches!(data, DocumentSourceKind::FileId(_) | DocumentSourceKind::String(_) | DocumentSourceKind::Unknown));
        if let Some(item) = item.filter(|_| !is_file || !stale) {
            block = block.with_native(item);
        }
        if stale && let AssistantContent::Reasoning(reasoning) = &mut block {
            reasoning.text.push('!');
        }
        block
    })
}

fn turn() -> impl Strategy<Value = AssistantMessage> {
    let origin =
        (text(), option::of(text()), option::of(text()), any::<bool>()).prop_map(|(model, response, id, bound)| {
            let mut origin = Origin::new("anthropic.messages", "anthropic", model);
            (origin.response_model, origin.response_id) = (response, id);
            origin.context = bound.then(|| Fingerprint::of(&"tools"));
            origin
        });
    let stop = prop_oneof![
        Just(StopReason::Stop),
        Just(StopReason::Length),
        Just(StopReason::ToolUse),
        text().prop_map(StopReason::Error),
        text().prop_map(StopReason::Aborted),
    ];
    (vec(replied(), 0..6), option::of(origin), option::of(stop))
        .prop_map(|(content, origin, stop)| AssistantMessage::new(content).with_origin(origin).with_stop(stop))
}

/// Any message, however unlikely.
pub fn message() -> impl Strategy<Value = Message> {
    prop_oneof![
        1 => text().prop_map(|content| Message::System { content }),
        4 => vec(said(), 0..5).prop_map(|content| Message::User { content }),
        6 => turn().prop_map(Message::Assistant),
    ]
}
