//! Parsing of streamed replies, frame by frame: each wire reassembles the vendor's own message as it would have arrived
//! in one piece, so that it can be sent back unchanged.

pub(crate) mod anthropic;
pub(crate) mod chat;
pub(crate) mod gemini;
mod reason;
pub(crate) mod responses;
mod tagged;

use codelet_agent::model::{Billed, Delta, Stop};
use codelet_text::json::{has_more_values, replace_halves};
use codelet_text::short::clip;
use serde_json::{Map, Value};
use std::borrow::Cow;

/// The maximum number of JSON values built from one frame, or from a call's parameters: each takes some hundred bytes
/// of memory, however short its text.
const MOST_VALUES: usize = 500_000;

/// The reason why no more frames are read.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Trouble {
    /// The vendor reports an error; the raw frame.
    Reported(String),
    /// The vendor aborted the answer, for this reason.
    Failed(String),
    /// A frame is invalid.
    Garbled(String),
}

/// The deltas of a frame, shown while the message is assembled.
pub(crate) type Deltas = Vec<Delta>;

/// An assembler of one reply.
pub(crate) trait Frames: Send {
    /// Takes the data of one frame; returns true once the reply is complete.
    fn take(&mut self, frame: &str, deltas: &mut Deltas) -> Result<bool, Trouble>;

    /// Returns the usage reported so far.
    fn billed(&self) -> Billed;

    /// Returns the stop reason so far; always `None` on a wire whose servers all send the final event.
    fn stop(&self) -> Option<&Stop> {
        None
    }

    /// Returns the whole reply; `None` while its end is missing.
    fn finish(&mut self) -> Option<Whole>;
}

/// A reply in the vendor's own format.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Whole {
    /// The messages or items of the reply, as in a request.
    pub list: Vec<Value>,
    /// The indices of its calls whose parameters were not a complete JSON object.
    pub broken: Vec<usize>,
    /// The stop reason.
    pub stop: Option<Stop>,
}

/// Parses a frame as JSON. Some servers cut a text in the middle of a character and escape each half (`\ud83d`), which
/// is not valid JSON; a half becomes U+FFFD.
pub(crate) fn parse(frame: &str) -> Result<Value, Trouble> {
    if has_more_values(frame.as_bytes(), MOST_VALUES) {
        return Err(Trouble::Garbled(format!("an event has more than {MOST_VALUES} values")));
    }
    serde_json::from_str(frame).or_else(|error| {
        let mended = replace_halves(frame, |_, mended| mended.push_str("\\ufffd"));
        let value = mended.and_then(|(mended, _)| serde_json::from_str(&mended).ok());
        value.ok_or_else(|| {
            let beginning = clip(frame, 80);
            Trouble::Garbled(format!("an event is not valid JSON ({error}): {beginning}"))
        })
    })
}

/// Returns a string field that is not empty.
pub(crate) fn str<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    value.get(name)?.as_str().filter(|text| !text.is_empty())
}

/// Returns the stop reason, if there is one; a value that is not a string is returned as JSON.
pub(crate) fn reason_in<'a>(value: &'a Value, name: &str) -> Option<Cow<'a, str>> {
    match value.get(name)? {
        Value::Null => None,
        // Some servers send an empty one with every chunk.
        Value::String(reason) if reason.is_empty() => None,
        Value::String(reason) => Some(Cow::Borrowed(reason)),
        other => Some(Cow::Owned(other.to_string())),
    }
}

/// Records a stop reason. Of two reasons, the one for an incomplete answer takes precedence.
pub(crate) fn note(stop: &mut Option<Stop>, reason: Stop) {
    if reason != Stop::Finished || stop.is_none() {
        *stop = Some(reason);
    }
}

/// Appends to a string field, creating it if missing.
pub(crate) fn append(fields: &mut Map<String, Value>, name: &str, more: &str) {
    match fields.get_mut(name) {
        Some(Value::String(text)) => text.push_str(more),
        _ => {
            fields.insert(name.to_owned(), Value::from(more));
        }
    }
}

/// Parses the parameters of a call into an object; `None` if it is incomplete. An empty text is an empty object.
pub(crate) fn parameters(text: &str) -> Option<Map<String, Value>> {
    if matches!(text.trim(), "" | "null") {
        return Some(Map::new());
    }
    if has_more_values(text.as_bytes(), MOST_VALUES) {
        return None;
    }
    match serde_json::from_str(text) {
        Ok(Value::Object(map)) => Some(map),
        _ => None,
    }
}

/// Returns whether an answer was cut off before its last call had parameters: it is unknown whether none were intended.
pub(crate) fn is_cut_before(parameters: &str, stop: &Stop) -> bool {
    matches!(stop, Stop::OutputLimit | Stop::WindowFull) && matches!(parameters.trim(), "" | "null")
}

/// Emits the usage when it changes.
#[derive(Default)]
pub(crate) struct UsageReporter(Option<Billed>);

impl UsageReporter {
    pub(crate) fn tell(&mut self, billed: Billed, deltas: &mut Deltas) {
        if self.0 != Some(billed) {
            self.0 = Some(billed);
            deltas.push(Delta::Billed(billed));
        }
    }
}

/// Creates the stop reason of a vendor that refused to answer.
pub(crate) fn declined(reason: &str, words: Option<&str>) -> Stop {
    Stop::Declined(reasoned(reason, words))
}

/// Creates the stop reason of a vendor that aborted the answer.
pub(crate) fn broken_off(reason: &str, words: Option<&str>) -> Stop {
    Stop::BrokenOff(reasoned(reason, words))
}

/// The maximum length of a quoted vendor message, in characters: some repeat a whole call that they could not parse.
const MOST_WORDS: usize = 400;

pub(crate) fn reasoned(reason: &str, words: Option<&str>) -> String {
    match words {
        Some(words) => format!("{} ({reason})", clip(words, MOST_WORDS)),
        None => reason.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider::new;
    use crate::wire::Wire;
    use codelet_context::message::Part;
    use codelet_testkit::server;
    use codelet_transcript::Maker;
    use proptest::prelude::*;
    use serde_json::json;

    const WIRES: [(Wire, server::Wire); 4] = [
        (Wire::Anthropic, server::Wire::Anthropic),
        (Wire::Chat, server::Wire::Chat),
        (Wire::Responses, server::Wire::Responses),
        (Wire::Gemini, server::Wire::Gemini),
    ];

    #[test]
    fn what_holds_too_many_values_is_not_built() {
        let holding = |values: usize| format!("{{\"a\": [{}]}}", vec!["[]"; values / 2].join(","));
        assert!(parameters(&holding(MOST_VALUES - 10)).is_some());
        assert!(parameters(&holding(MOST_VALUES + 10)).is_none());
        assert!(matches!(parse(&holding(MOST_VALUES + 10)), Err(Trouble::Garbled(why)) if why.contains("values")));
    }

    #[test]
    fn half_a_character_is_a_replacement_character_and_a_whole_one_stays() {
        let frame = r#"{"a": "\ud83d b \ude00", "b": "\ud83d\ude00 \\ud83d"}"#;
        let read = json!({"a": "\u{fffd} b \u{fffd}", "b": "\u{1f600} \\ud83d"});
        assert_eq!(parse(frame).unwrap_or_default(), read);
        assert!(matches!(parse(r#"{"a": "\ud83d"#), Err(Trouble::Garbled(_))));
    }

    /// Reads frames, whatever their outcome.
    fn read<S: AsRef<str>>(wire: Wire, frames: &[S]) -> (Deltas, Option<codelet_agent::model::Reply>) {
        let mut reader = new(wire);
        let mut deltas = Vec::new();
        for frame in frames {
            match reader.take(frame.as_ref(), &mut deltas) {
                Ok(false) => {}
                Ok(true) => break,
                Err(_) => return (deltas, None),
            }
        }
        let whole = reader.finish();
        let maker = Maker {
            form: crate::body::format(wire),
            model: "test/model".to_owned(),
        };
        let reply = whole.and_then(|whole| crate::answer::reply(whole, &maker, &[], reader.billed()).ok());
        (deltas, reply)
    }

    fn values(wire: Wire, frames: &[Value]) -> codelet_agent::model::Reply {
        let frames: Vec<String> = frames.iter().map(Value::to_string).collect();
        read(wire, &frames).1.unwrap()
    }

    #[test]
    fn a_local_server_that_leaves_things_out_is_understood() {
        let reply = values(
            Wire::Anthropic,
            &[
                json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hi"}}),
                json!({"type": "content_block_start", "index": 1, "content_block": {"type": "tool_use", "id": "a", "name": "Read"}}),
                json!({"type": "message_stop"}),
            ],
        );
        assert_eq!(reply.message.parts.len(), 2);
        assert!(reply.broken.is_empty());
        let reply = values(
            Wire::Responses,
            &[
                json!({"type": "response.output_item.added", "item": {"type": "function_call", "call_id": "c", "name": "Read", "arguments": ""}}),
                json!({"type": "response.function_call_arguments.delta", "delta": "{\"path\":\"a\"}"}),
                json!({"type": "response.completed", "response": {}}),
            ],
        );
        assert_eq!(reply.message.calls().next().unwrap().parameters.str("path"), Some("a"));
    }

    #[test]
    fn half_an_answer_is_never_whole_whatever_says_so() {
        let chat = |reasons: &[Value]| -> Vec<String> {
            let ends = reasons
                .iter()
                .map(|reason| json!({"choices": [{"delta": {}, "finish_reason": reason}]}));
            let begins = json!({"choices": [{"delta": {"content": "half"}}]});
            let frames = std::iter::once(begins).chain(ends).map(|frame| frame.to_string());
            frames.chain(["[DONE]".to_owned()]).collect()
        };
        let responses = |response: Value| {
            let item = json!({"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": [{"type": "output_text", "text": "half", "annotations": []}]});
            let frames = [
                json!({"type": "response.output_item.done", "output_index": 0, "item": item}),
                json!({"type": "response.completed", "response": response}),
            ];
            frames.map(|frame| frame.to_string())
        };
        let stop = |wire: Wire, frames: Vec<String>| read(wire, &frames).1.map(|reply| reply.stop);
        for reasons in [
            vec![json!(2)],
            vec![json!(["length"])],
            vec![json!("length"), json!("stop")],
        ] {
            let stop = stop(Wire::Chat, chat(&reasons));
            assert!(!matches!(stop, Some(Stop::Finished)), "{reasons:?}: {stop:?}");
        }
        // Some servers send an empty one with every chunk before the end.
        assert_eq!(
            stop(Wire::Chat, chat(&[json!(""), json!("stop")])),
            Some(Stop::Finished)
        );
        for (response, expected) in [
            (
                json!({"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}),
                Some(Stop::OutputLimit),
            ),
            (json!({"status": "failed", "error": {"code": "server_error"}}), None),
            (json!({"status": "cancelled"}), None),
            (json!({"status": "completed"}), Some(Stop::Finished)),
            (json!({}), Some(Stop::Finished)),
        ] {
            assert_eq!(
                stop(Wire::Responses, responses(response.clone()).to_vec()),
                expected,
                "{response}"
            );
        }
    }

    #[test]
    fn a_thought_that_was_cut_before_its_proof_is_not_taken_back() {
        let think = |index: u64, signature: Option<&str>| {
            let block = json!({"type": "thinking", "thinking": "", "signature": ""});
            let mut frames = vec![
                json!({"type": "content_block_start", "index": index, "content_block": block}),
                json!({"type": "content_block_delta", "index": index, "delta": {"type": "thinking_delta", "thinking": "so"}}),
            ];
            frames.extend(signature.map(|signature| {
                json!({"type": "content_block_delta", "index": index, "delta": {"type": "signature_delta", "signature": signature}})
            }));
            frames
        };
        let thoughts = |reason: &str| {
            let mut frames = think(0, Some("proof"));
            frames.push(
                json!({"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": "Well,"}}),
            );
            frames.extend(think(2, None));
            frames.push(json!({"type": "message_delta", "delta": {"stop_reason": reason}}));
            frames.push(json!({"type": "message_stop"}));
            let parts = values(Wire::Anthropic, &frames).message.parts;
            let is_thought = |part: &&Part| matches!(part, Part::Thinking(_));
            (parts.iter().filter(is_thought).count(), parts.len())
        };
        assert_eq!(thoughts("max_tokens"), (1, 2));
        assert_eq!(thoughts("model_context_window_exceeded"), (1, 2));
        // Servers without signatures end a complete answer like this.
        assert_eq!(thoughts("end_turn"), (2, 3));
    }

    #[test]
    fn calls_in_a_chat_are_told_apart_however_they_are_numbered() {
        let call = |index: Option<u64>, id: &str, name: &str, arguments: &str| {
            let mut call = json!({"id": id, "function": {"name": name, "arguments": arguments}});
            if let Some(index) = index {
                call["index"] = index.into();
            }
            json!({"choices": [{"delta": {"tool_calls": [call]}}]})
        };
        let end = || json!({"choices": [{"delta": {}, "finish_reason": "tool_calls"}]});
        for frames in [
            vec![
                call(Some(0), "a", "Read", "{"),
                call(Some(1), "b", "Bash", "{}"),
                call(Some(0), "", "", "}"),
                end(),
            ],
            vec![
                call(Some(0), "a", "Read", "{}"),
                call(Some(0), "b", "Bash", "{"),
                call(Some(0), "", "", "}"),
                end(),
            ],
            vec![
                call(None, "a", "Read", "{"),
                call(None, "", "", "}"),
                call(None, "b", "Bash", "{}"),
                end(),
            ],
            vec![call(None, "", "Read", "{}"), call(None, "", "Bash", ""), end()],
        ] {
            let reply = values(Wire::Chat, &frames);
            let tools: Vec<&str> = reply.message.calls().map(|call| &*call.tool).collect();
            assert_eq!(tools, ["Read", "Bash"], "{frames:?}");
            assert!(reply.broken.is_empty(), "{frames:?}");
            let ids: Vec<&str> = reply.message.calls().map(|call| &*call.id).collect();
            assert!(ids[0] != ids[1] && !ids[0].is_empty(), "{ids:?}");
        }
    }

    #[test]
    fn thinking_of_gateways_and_signatures_in_calls_go_back_as_they_came() {
        let piece = |delta: Value| json!({"choices": [{"delta": delta}]});
        let reply = values(
            Wire::Chat,
            &[
                piece(
                    json!({"reasoning": "I th", "reasoning_details": [{"type": "reasoning.text", "index": 0, "text": "I th"}]}),
                ),
                piece(
                    json!({"reasoning": "ink", "reasoning_details": [{"type": "reasoning.text", "index": 0, "text": "ink", "signature": "S"}]}),
                ),
                piece(
                    json!({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "Read", "arguments": "{}"}, "extra_content": {"google": {"thought_signature": "T"}}}]}),
                ),
                json!({"choices": [{"delta": {}, "finish_reason": "tool_calls"}]}),
            ],
        );
        let document = codelet_transcript::Document {
            format: codelet_transcript::Format::Openai,
            messages: vec![reply.message],
            envelope: Map::new(),
            warnings: Vec::new(),
        };
        let written: Value =
            serde_json::from_str(&codelet_transcript::write(&document, document.format).unwrap()).unwrap();
        let message = &written["messages"][0];
        assert_eq!(message["reasoning"], "I think");
        let detail = json!([{"type": "reasoning.text", "index": 0, "text": "I think", "signature": "S"}]);
        assert_eq!(message["reasoning_details"], detail);
        assert_eq!(
            message["tool_calls"][0]["extra_content"]["google"]["thought_signature"],
            "T"
        );
    }

    #[test]
    fn gemini_keeps_each_signature_on_its_own_part() {
        let chunk = |parts: Value| json!({"candidates": [{"content": {"role": "model", "parts": parts}}]});
        let reply = values(
            Wire::Gemini,
            &[
                chunk(json!([{"text": "Let ", "thought": true}])),
                chunk(json!([{"text": "me see.", "thought": true}])),
                chunk(json!([{"text": "Now: "}])),
                chunk(
                    json!([{"functionCall": {"name": "Read", "args": {"path": "a"}}, "thoughtSignature": "A"}, {"functionCall": {"name": "Read", "args": {}}}]),
                ),
                json!({"candidates": [{"content": {"parts": [{"text": "", "thoughtSignature": "B"}]}, "finishReason": "STOP"}]}),
            ],
        );
        let document = codelet_transcript::Document {
            format: codelet_transcript::Format::Gemini,
            messages: vec![reply.message],
            envelope: Map::new(),
            warnings: Vec::new(),
        };
        let written: Value =
            serde_json::from_str(&codelet_transcript::write(&document, document.format).unwrap()).unwrap();
        assert_eq!(
            written["contents"][0]["parts"],
            json!([
                {"text": "Let me see.", "thought": true},
                {"text": "Now: "},
                {"functionCall": {"name": "Read", "args": {"path": "a"}}, "thoughtSignature": "A"},
                {"functionCall": {"name": "Read", "args": {}}},
                {"text": "", "thoughtSignature": "B"},
            ])
        );
    }

    #[test]
    fn a_prompt_that_gemini_blocks_is_declined_in_its_words() {
        let reply = values(Wire::Gemini, &[json!({"promptFeedback": {"blockReason": "SAFETY"}})]);
        assert_eq!(reply.stop, Stop::Declined("SAFETY".to_owned()));
    }

    #[test]
    fn what_breaks_a_gemini_answer_off_is_told_in_its_words() {
        let end = |reason: &str, words: Option<&str>, parts: Value| {
            let mut candidate = json!({"content": {"role": "model", "parts": parts}, "finishReason": reason});
            if let Some(words) = words {
                candidate["finishMessage"] = words.into();
            }
            values(Wire::Gemini, &[json!({"candidates": [candidate]})]).stop
        };
        let said = "Malformed function call: print(default_api.Read())";
        let broken = |words: &str| Stop::BrokenOff(words.to_owned());
        assert_eq!(
            end("MALFORMED_FUNCTION_CALL", Some(said), json!([])),
            broken("Malformed function call: print(default_api.Read()) (MALFORMED_FUNCTION_CALL)")
        );
        for reason in [
            "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS", "MISSING_THOUGHT_SIGNATURE", "OTHER",
        ] {
            assert_eq!(end(reason, None, json!([{"text": "So far"}])), broken(reason));
        }
        for reason in [
            "SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "LANGUAGE", "IMAGE_SAFETY",
            "IMAGE_OTHER",
        ] {
            assert_eq!(end(reason, None, json!([])), Stop::Declined(reason.to_owned()));
        }
        // An unknown reason is not an end, however much of the answer there is.
        for parts in [json!([{"text": "All of it"}]), json!([])] {
            assert_eq!(
                end("DONE_EARLY", None, parts),
                broken("it ended for an unknown reason: DONE_EARLY")
            );
        }
        assert_eq!(end("STOP", None, json!([])), Stop::Finished);
        let long = end("MALFORMED_FUNCTION_CALL", Some(&"x".repeat(9_000)), json!([]));
        assert!(matches!(long, Stop::BrokenOff(words) if words.len() < 500));
    }

    #[test]
    fn a_gateway_that_speaks_for_gemini_tells_of_a_broken_call_too() {
        let reason = "function_call_filter: MALFORMED_FUNCTION_CALL";
        let reply = values(
            Wire::Chat,
            &[json!({"choices": [{"delta": {}, "finish_reason": reason}]})],
        );
        assert_eq!(reply.stop, Stop::BrokenOff(reason.to_owned()));
    }

    /// A kind of damage to valid frames.
    #[derive(Clone, Debug)]
    enum Damage {
        Drop(usize),
        Repeat(usize),
        Swap(usize, usize),
        Cut(usize, usize),
        Replace(usize, String),
    }

    fn damage() -> impl Strategy<Value = Damage> {
        let at = || 0..40usize;
        prop_oneof![
            at().prop_map(Damage::Drop),
            at().prop_map(Damage::Repeat),
            (at(), at()).prop_map(|(a, b)| Damage::Swap(a, b)),
            (at(), 0..200usize).prop_map(|(at, length)| Damage::Cut(at, length)),
            (at(), "(null|true|-1|1e400|\\[\\]|\\{\\}|\"\"|\"x\"|[0-9]{1,25})")
                .prop_map(|(at, value)| Damage::Replace(at, value)),
        ]
    }

    fn harm(frames: &mut Vec<String>, damage: &Damage) {
        let length = frames.len().max(1);
        match damage {
            Damage::Drop(at) if *at < frames.len() => drop(frames.remove(*at)),
            Damage::Repeat(at) if *at < frames.len() => frames.insert(*at, frames[*at].clone()),
            Damage::Swap(a, b) if !frames.is_empty() => frames.swap(a % length, b % length),
            Damage::Cut(at, end) if *at < frames.len() => {
                let end = (0..=(*end).min(frames[*at].len()))
                    .rev()
                    .find(|end| frames[*at].is_char_boundary(*end));
                frames[*at].truncate(end.unwrap_or(0));
            }
            // Replaces a value after a colon.
            Damage::Replace(at, value) if !frames.is_empty() => {
                let frame = &mut frames[at % length];
                let Some(from) = frame.match_indices(':').nth(at % 7).map(|(from, _)| from + 1) else {
                    return;
                };
                let to = frame[from..].find([',', '}']).map_or(frame.len(), |to| from + to);
                frame.replace_range(from..to, value);
            }
            _ => {}
        }
    }

    proptest! {
        #[test]
        fn damaged_frames_end_in_a_reply_or_an_error(harms in proptest::collection::vec(damage(), 0..6), which in 0..4usize) {
            let (wire, of) = WIRES[which];
            let reply = server::Reply::new().thinks("hm").says("Hello, größe").thinks_unseen()
                .calls("Read", json!({"path": "a"})).calls_raw("Bash", "{\"x\":");
            let mut frames: Vec<String> = of.frames(&reply).into_iter().map(|frame| frame.data).collect();
            harms.iter().for_each(|damage| harm(&mut frames, damage));
            let (_, reply) = read(wire, &frames);
            if let Some(reply) = reply {
                // Every broken call is in the message and has no parameters.
                for id in &reply.broken {
                    let call = reply.message.calls().find(|call| call.id == *id).unwrap();
                    prop_assert!(call.parameters.as_map().is_empty());
                }
            }
        }

        #[test]
        fn bytes_of_any_kind_end_in_a_reply_or_an_error(
            bytes in proptest::collection::vec(any::<u8>(), 0..300), json in "(data: |event: x|\\{|\\}|\\[|\\]|\"type\"|\"choices\"|\"delta\"|:|,|\n|\"a\"|1){0,60}",
        ) {
            for (wire, _) in WIRES {
                for bytes in [bytes.as_slice(), json.as_bytes()] {
                    let mut framer = rig_core::http_client::framing::SseFramer::new();
                    let frames: Vec<String> = framer.push(bytes).map(|event| event.data).collect();
                    let _ = read(wire, &frames);
                }
            }
        }
    }
}
