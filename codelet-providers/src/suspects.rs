//! The parts of a conversation that a vendor rejects, found by the path in its error: `messages.1.content.0.image`,
//! `messages[3].content[1].image_url`, `input[4]`, `contents[2].parts[0]`.
//!
//! The path is followed through the request as it was sent, and the content found there is looked up in the
//! conversation, so no knowledge of the wire's message numbering is needed.

use codelet_agent::model::Suspects;
use codelet_context::conversation::PartPosition;
use codelet_context::message::{Message, Part, Role};
use serde_json::Value;
use std::sync::Arc;

/// The wires' fields for the conversation.
const ROOTS: [&str; 3] = ["messages", "input", "contents"];
/// Words for images in vendors' messages.
const PICTURES: [&str; 3] = ["image", "picture", "pixel"];
/// Words for a complete lack of image support.
const NONE_TAKEN: [&str; 6] = [
    "not support", "unsupported content", "not multimodal", "text only", "text-only", "no endpoints found",
];

/// Returns whether an error is about images.
pub(crate) fn is_about_pictures(lower: &str) -> bool {
    PICTURES.iter().any(|word| lower.contains(word))
}

/// Returns the suspects of an error message, for a request with these messages that was sent as `body`.
pub(crate) fn find(said: &str, body: &str, messages: &[Arc<Message>]) -> Suspects {
    let lower = said.to_ascii_lowercase();
    let is_about_pictures = is_about_pictures(&lower);
    if is_about_pictures && let Some(side) = longest_side(&lower) {
        return Suspects::PicturesAbove(side);
    }
    let sent: Value = serde_json::from_str(body).unwrap_or_default();
    let named = named(said, &sent)
        .map(|node| places(node, messages))
        .unwrap_or_default();
    let is_picture = |place: &PartPosition| matches!(at(messages, *place), Some(Part::Image(_)));
    if !is_about_pictures {
        return match named.is_empty() {
            true => Suspects::Unknown,
            false => Suspects::Parts(named),
        };
    }
    let pictures: Vec<PartPosition> = named.into_iter().filter(is_picture).collect();
    if !pictures.is_empty() {
        return Suspects::Parts(pictures);
    }
    match NONE_TAKEN.iter().any(|words| lower.contains(words)) {
        true => Suspects::AllPictures,
        false => Suspects::NewestPictures,
    }
}

/// Returns the maximum side length in pixels that an error names:
/// `… exceed max allowed size for many-image requests: 2000 pixels`.
fn longest_side(lower: &str) -> Option<u32> {
    if !["dimension", "resolution", "pixels", "width"]
        .iter()
        .any(|word| lower.contains(word))
    {
        return None;
    }
    let before = lower
        .split("pixel")
        .next()
        .filter(|before| before.len() < lower.len())?;
    let digits = before
        .trim_end()
        .trim_end_matches(|c: char| !c.is_ascii_digit() && c != ' ');
    let number = digits.rsplit(|c: char| !c.is_ascii_digit() && c != ',').next()?;
    number
        .replace(',', "")
        .parse()
        .ok()
        .filter(|side| (64..100_000).contains(side))
}

/// Returns the block or message at the first path that an error names.
fn named<'a>(said: &str, sent: &'a Value) -> Option<&'a Value> {
    ROOTS.iter().find_map(|root| {
        let list = sent.get(*root)?;
        said.match_indices(root).find_map(|(from, _)| {
            let path = &said[from + root.len()..];
            let end = path
                .find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '.' | '[' | ']' | '_')))
                .unwrap_or(path.len());
            follow(list, path[..end].split(['.', '[', ']']).filter(|step| !step.is_empty()))
        })
    })
}

fn follow<'a, 'b>(list: &'a Value, steps: impl Iterator<Item = &'b str>) -> Option<&'a Value> {
    let mut node = list;
    let mut block = None;
    for step in steps {
        let next = match (node, step.parse::<usize>()) {
            (Value::Array(items), Ok(at)) => items.get(at),
            (Value::Object(fields), _) => fields.get(step),
            _ => None,
        };
        match next {
            Some(next) => node = next,
            // Anthropic appends the kind of a block to its index.
            None if node.get("type").is_some_and(|kind| kind == step) => continue,
            None => break,
        }
        let is_block = ["type", "role", "text", "inlineData", "inline_data", "fileData"];
        if node.is_object() && is_block.iter().any(|name| node.get(*name).is_some()) {
            block = Some(node);
        }
    }
    block
}

/// Returns the parts of the conversation that are in a block or message as it was sent. Tool calls are excluded, since
/// they cannot be removed without their results.
fn places(node: &Value, messages: &[Arc<Message>]) -> Vec<PartPosition> {
    let mut leaves = Vec::new();
    collect(node, &mut leaves);
    let holds = |text: &str| !text.trim().is_empty() && leaves.contains(&text);
    let is_there = |part: &Part| match part {
        // A data URL begins with the media type.
        Part::Image(image) => leaves.iter().any(|leaf| leaf.ends_with(image.data.as_str())),
        Part::Text(text) => holds(text.body.as_str()),
        Part::Thinking(thinking) => {
            holds(thinking.body.as_str()) || thinking.signature.as_ref().is_some_and(|signature| holds(signature))
        }
        Part::Opaque(opaque) => opaque.is_file() && *opaque.value == *node,
        Part::ToolCall(_) | Part::ToolResult(_) => false,
    };
    let mut places = Vec::new();
    for (message, said) in messages
        .iter()
        .enumerate()
        .filter(|(_, said)| said.role != Role::System)
    {
        for (part, it) in said.parts.iter().enumerate() {
            match it {
                Part::ToolResult(result) => {
                    let blocks = result.output.iter().enumerate().filter(|(_, block)| is_there(block));
                    places.extend(blocks.map(|(within, _)| PartPosition {
                        message,
                        part,
                        within: Some(within),
                    }));
                }
                it if is_there(it) => places.push(PartPosition {
                    message,
                    part,
                    within: None,
                }),
                _ => {}
            }
        }
    }
    // The same text may occur in earlier messages: the newest is meant.
    if let Some(newest) = places.last().map(|place| place.message) {
        let is_picture = |place: &PartPosition| matches!(at(messages, *place), Some(Part::Image(_)));
        places.retain(|place| place.message == newest || is_picture(place));
    }
    places
}

fn at(messages: &[Arc<Message>], place: PartPosition) -> Option<&Part> {
    let part = messages.get(place.message)?.parts.get(place.part)?;
    match (part, place.within) {
        (Part::ToolResult(result), Some(within)) => result.output.get(within),
        (part, _) => Some(part),
    }
}

fn collect<'a>(node: &'a Value, leaves: &mut Vec<&'a str>) {
    match node {
        Value::String(text) => leaves.push(text),
        Value::Array(items) => items.iter().for_each(|item| collect(item, leaves)),
        Value::Object(fields) => fields.values().for_each(|value| collect(value, leaves)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use codelet_context::message::{Image, ToolCall, ToolResult};
    use serde_json::{Map, json};

    fn picture(data: &str) -> Part {
        Part::Image(Image {
            media_type: "image/png".into(),
            data: data.into(),
            is_url: false,
            extra: Default::default(),
        })
    }

    fn conversation() -> Vec<Arc<Message>> {
        let mut result = ToolResult::new("a", Some(true), "a.png:");
        result.output.push(picture("QUFB"));
        let call = Part::ToolCall(ToolCall::new("a", "Read", Map::new()));
        let messages = [
            Message::system("Be brief."),
            Message::new(Role::User, vec![Part::text("look"), picture("QkJC")]),
            Message::new(Role::Assistant, vec![call]),
            Message::results(vec![result]),
        ];
        messages.into_iter().map(Arc::new).collect()
    }

    fn image(data: &str) -> Value {
        json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}})
    }

    fn anthropic() -> Value {
        json!({"system": "Be brief.", "messages": [
            {"role": "user", "content": [{"type": "text", "text": "look"}, image("QkJC")]},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "Read", "input": {}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a",
                "content": [{"type": "text", "text": "a.png:"}, image("QUFB")]}]},
        ]})
    }

    fn place(message: usize, part: usize, within: impl Into<Option<usize>>) -> Suspects {
        Suspects::Parts(vec![PartPosition {
            message,
            part,
            within: within.into(),
        }])
    }

    #[test]
    fn a_path_leads_to_the_part_that_it_names_on_each_wire() {
        let chat = json!({"messages": [{"role": "system", "content": "Be brief."},
            {"role": "user", "content": [{"type": "text", "text": "look"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,QkJC"}}]}]});
        let responses = json!({"input": [{"role": "user", "content": [{"type": "input_text", "text": "look"},
            {"type": "input_image", "image_url": "data:image/png;base64,QkJC"}]}]});
        let gemini = json!({"contents": [{"role": "user", "parts": [{"text": "look"},
            {"inlineData": {"mimeType": "image/png", "data": "QkJC"}}]}]});
        for (said, sent, expected) in [
            (
                "messages.0.content.1.image: Could not process image",
                anthropic(),
                place(1, 1, None),
            ),
            (
                "messages.2.content.0.tool_result.content.1.image.source.base64: The image was damaged",
                anthropic(),
                place(3, 0, 1),
            ),
            ("messages.0.content.0.text: flagged", anthropic(), place(1, 0, None)),
            (
                "Invalid 'messages[1].content[1].image_url'. Invalid image.",
                chat,
                place(1, 1, None),
            ),
            (
                "Invalid 'input[0].content[1].image_url': not an image",
                responses,
                place(1, 1, None),
            ),
            (
                "* GenerateContentRequest.contents[0].parts[1].inline_data: image is invalid",
                gemini,
                place(1, 1, None),
            ),
        ] {
            assert_eq!(find(said, &sent.to_string(), &conversation()), expected, "{said}");
        }
    }

    #[test]
    fn an_error_about_pictures_that_leads_to_none_means_the_newest() {
        for said in [
            "messages.1.content.0.image: Could not process image",
            "Could not process image",
            "Provided image is not valid.",
        ] {
            let found = find(said, &anthropic().to_string(), &conversation());
            assert_eq!(found, Suspects::NewestPictures, "{said}");
        }
        let blind = "No endpoints found that support image input";
        let found = find(blind, "{}", &conversation());
        assert_eq!(found, Suspects::AllPictures);
    }

    #[test]
    fn a_longest_side_that_is_named_means_every_picture_above_it() {
        for (said, side) in [
            (
                "messages.3.content.0.image.source.base64.data: At least one of the image dimensions exceed max allowed size for \
                 many-image requests: 2000 pixels",
                2_000,
            ),
            (
                "At least one of the image dimensions exceed max allowed size: 8,000 pixels",
                8_000,
            ),
        ] {
            assert_eq!(find(said, "{}", &[]), Suspects::PicturesAbove(side), "{said}");
        }
    }

    #[test]
    fn a_path_to_a_call_or_to_nothing_names_no_part() {
        for said in [
            "messages.1.content.0.tool_use.name: too long",
            "messages.77: bad",
            "invalid request",
        ] {
            let found = find(said, &anthropic().to_string(), &conversation());
            assert_eq!(found, Suspects::Unknown, "{said}");
        }
    }
}
