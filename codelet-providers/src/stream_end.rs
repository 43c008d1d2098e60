//! Detection of the end of an answer if the server neither ends the stream nor closes the connection.

use codelet_agent::model::Stop;
use std::time::Duration;
use tokio::time::Instant;

/// The wait for further frames after a stop reason: many servers send it before the usage, and some before the end of
/// the text.
const REST: Duration = Duration::from_secs(5);

/// The deadline for further frames of one answer.
#[derive(Default)]
pub(crate) struct StreamEnd {
    /// The deadline, if nothing else arrives.
    pub(crate) at: Option<Instant>,
    /// True if the answer continued after a stop reason, so it may pause again.
    goes_on: bool,
}

impl StreamEnd {
    /// Decides the wait after a frame. `has_begun` is whether anything of the answer has arrived, `is_more` whether this
    /// frame added to it, `stop` the stop reason so far.
    pub(crate) fn settle(&mut self, has_begun: bool, is_more: bool, stop: Option<&Stop>, now: Instant) {
        self.goes_on |= is_more && self.at.is_some();
        // Some servers send a reason before any content. An answer that was refused or cut off may have none.
        let is_answer = stop.is_some_and(|stop| has_begun || *stop != Stop::Finished);
        self.at = (is_answer && !self.goes_on).then(|| now + REST);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frames::Frames;
    use crate::provider::{adds, new};
    use crate::wire::Wire;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    /// The outcome of a stream whose frames arrive at these times, in milliseconds, and that is never closed.
    struct Played {
        /// The time at which the answer ended; `None` if only the limit on silence or a final event ends it.
        took: Option<u64>,
        said: String,
        calls: usize,
        output: u64,
    }

    fn play(wire: Wire, frames: &[(u64, Value)]) -> Played {
        let began = Instant::now();
        let mut end = StreamEnd::default();
        let mut reader: Box<dyn Frames> = new(wire);
        let mut has_begun = false;
        for (at, frame) in frames {
            let now = began + Duration::from_millis(*at);
            if end.at.is_some_and(|end| end <= now) {
                break;
            }
            let mut deltas = Vec::new();
            reader.take(&frame.to_string(), &mut deltas).unwrap();
            let is_more = adds(&deltas);
            has_begun |= is_more;
            end.settle(has_begun, is_more, reader.stop(), now);
        }
        let took = end.at.map(|at| (at - began).as_millis() as u64);
        let output = reader.billed().usage.output;
        let whole = reader.finish().unwrap().list.remove(0).to_string();
        Played {
            took,
            calls: whole.matches("\"name\"").count(),
            said: whole,
            output,
        }
    }

    fn chat(delta: Value, reason: Option<&str>, output: Option<u64>) -> Value {
        let mut chunk = json!({"choices": [{"delta": delta, "finish_reason": reason}]});
        if let Some(output) = output {
            chunk["usage"] = json!({"prompt_tokens": 9, "completion_tokens": output});
        }
        chunk
    }

    fn gemini(parts: Value, reason: Option<&str>, output: Option<u64>) -> Value {
        let mut chunk = json!({"candidates": [{"content": {"role": "model", "parts": parts}}]});
        if let Some(reason) = reason {
            chunk["candidates"][0]["finishReason"] = reason.into();
        }
        if let Some(output) = output {
            chunk["usageMetadata"] = json!({"promptTokenCount": 9, "candidatesTokenCount": output});
        }
        chunk
    }

    const STOP: Option<&str> = Some("STOP");

    #[test]
    fn a_reason_to_stop_in_every_chunk_cuts_nothing_off() {
        for gap in [300, 2_000, 4_900] {
            let texts = ["One ", "two ", "three ", "four."];
            let at = |number: usize| number as u64 * gap;
            let of_gemini = |(number, text): (usize, &&str)| {
                let output = Some(number as u64 + 1);
                (at(number), gemini(json!([{"text": text}]), STOP, output))
            };
            let of_chat = |(number, text): (usize, &&str)| {
                let output = Some(number as u64 + 1);
                (at(number), chat(json!({"content": text}), Some("stop"), output))
            };
            let of_gemini: Vec<_> = texts.iter().enumerate().map(of_gemini).collect();
            let of_chat: Vec<_> = texts.iter().enumerate().map(of_chat).collect();
            for (wire, frames) in [(Wire::Gemini, of_gemini), (Wire::Chat, of_chat)] {
                let played = play(wire, &frames);
                assert!(
                    played.said.contains("One two three four."),
                    "{wire:?} {gap}: {}",
                    played.said
                );
                assert_eq!((played.took, played.output), (None, 4), "{wire:?} {gap}");
            }
        }
    }

    #[test]
    fn after_one_that_went_on_a_long_pause_cuts_nothing_off() {
        let frames = [
            (0, gemini(json!([{"text": "One "}]), STOP, Some(1))),
            (1_000, gemini(json!([{"text": "two "}]), STOP, Some(2))),
            (60_000, gemini(json!([{"text": "three."}]), STOP, Some(3))),
        ];
        assert!(play(Wire::Gemini, &frames).said.contains("One two three."));
    }

    #[test]
    fn a_call_after_a_reason_to_stop_is_part_of_the_answer() {
        let call = json!([{"functionCall": {"name": "Read", "args": {"path": "a"}}}]);
        let of_gemini = vec![
            (0, gemini(json!([{"text": "Let me look."}]), STOP, Some(3))),
            (2_000, gemini(call, STOP, Some(9))),
        ];
        let piece = |function: Value| json!({"tool_calls": [{"index": 0, "id": "c", "function": function}]});
        let of_chat = vec![
            (0, chat(json!({"content": "Let me look."}), Some("stop"), Some(3))),
            (
                2_000,
                chat(
                    piece(json!({"name": "Read", "arguments": "{\"pa"})),
                    Some("tool_calls"),
                    Some(5),
                ),
            ),
            (
                20_000,
                chat(piece(json!({"arguments": "th\":\"a\"}"})), Some("tool_calls"), Some(9)),
            ),
        ];
        let block =
            |index: u64, block: Value| json!({"type": "content_block_start", "index": index, "content_block": block});
        let reason = |reason: &str, output: u64| json!({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": output}});
        let of_anthropic = vec![
            (0, block(0, json!({"type": "text", "text": "Let me look."}))),
            (10, reason("end_turn", 3)),
            (
                2_000,
                block(
                    1,
                    json!({"type": "tool_use", "id": "c", "name": "Read", "input": {"path": "a"}}),
                ),
            ),
            (2_010, reason("tool_use", 9)),
        ];
        for (wire, frames) in [
            (Wire::Gemini, of_gemini),
            (Wire::Chat, of_chat),
            (Wire::Anthropic, of_anthropic),
        ] {
            let played = play(wire, &frames);
            assert_eq!((played.calls, played.output), (1, 9), "{wire:?}: {}", played.said);
            assert!(
                played.said.contains("Let me look.") && played.said.contains("path"),
                "{wire:?}: {}",
                played.said
            );
        }
    }

    #[test]
    fn arguments_that_come_with_a_reason_in_every_piece_are_whole() {
        let piece = |more: &str| json!({"tool_calls": [{"index": 0, "function": {"arguments": more}}]});
        let begun = json!({"tool_calls": [{"index": 0, "id": "c", "function": {"name": "Read", "arguments": ""}}]});
        let frames = [
            (0, chat(begun, Some("tool_calls"), None)),
            (4_000, chat(piece("{\"path\""), Some("tool_calls"), None)),
            (8_000, chat(piece(":\"a.rs\"}"), Some("tool_calls"), None)),
        ];
        assert!(play(Wire::Chat, &frames).said.contains("a.rs"));
    }

    #[test]
    fn an_empty_reason_before_the_text_begins_no_wait() {
        let of_gemini = vec![
            (0, gemini(json!([{"text": ""}]), STOP, Some(0))),
            (30_000, gemini(json!([]), STOP, Some(0))),
            (60_000, gemini(json!([{"text": "At last."}]), STOP, Some(4))),
        ];
        let empty = || json!({"role": "assistant", "content": ""});
        let of_chat = vec![
            (0, chat(empty(), Some("stop"), Some(0))),
            (60_000, chat(json!({"content": "At last."}), Some("stop"), Some(4))),
        ];
        for (wire, frames) in [(Wire::Gemini, of_gemini), (Wire::Chat, of_chat)] {
            let played = play(wire, &frames);
            assert!(played.said.contains("At last."), "{wire:?}: {}", played.said);
            assert_eq!(played.output, 4, "{wire:?}");
        }
    }

    #[test]
    fn counts_that_come_seconds_after_the_reason_are_taken() {
        for late in [1_600, 4_900] {
            let of_chat = vec![
                (0, chat(json!({"content": "Done."}), None, None)),
                (10, chat(json!({}), Some("stop"), None)),
                (
                    10 + late,
                    json!({"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 7}}),
                ),
            ];
            let of_gemini = vec![
                (0, gemini(json!([{"text": "Done."}]), STOP, None)),
                (late, gemini(json!([]), None, Some(7))),
            ];
            for (wire, frames) in [(Wire::Chat, of_chat), (Wire::Gemini, of_gemini)] {
                assert_eq!(play(wire, &frames).output, 7, "{wire:?} {late}");
            }
        }
    }

    #[test]
    fn an_answer_whose_stream_stays_open_is_over_after_five_seconds_of_silence() {
        for output in [Some(2), None] {
            let frames = [(0, chat(json!({"content": "Done."}), Some("stop"), output))];
            assert_eq!(play(Wire::Chat, &frames).took, Some(5_000));
        }
    }

    #[test]
    fn an_answer_that_is_declined_without_a_word_is_over() {
        let blocked = json!({"promptFeedback": {"blockReason": "SAFETY"}});
        for (wire, frame) in [
            (Wire::Gemini, blocked),
            (Wire::Gemini, gemini(json!([]), Some("SAFETY"), Some(0))),
            (Wire::Chat, chat(json!({}), Some("content_filter"), Some(0))),
            (Wire::Chat, chat(json!({}), Some("length"), Some(9))),
        ] {
            let played = play(wire, &[(0, frame)]);
            assert_eq!(played.took, Some(5_000), "{wire:?}");
        }
    }

    proptest! {
        #[test]
        fn no_text_is_lost_wherever_the_reasons_stand(pieces in proptest::collection::vec((0..4_900u64, any::<bool>(), any::<bool>(), 0..3usize), 1..12)) {
            for wire in [Wire::Chat, Wire::Gemini] {
                let (mut at, mut expected) = (0, String::new());
                let frames: Vec<(u64, Value)> = pieces.iter().map(|(gap, has_reason, has_counts, length)| {
                    at += gap;
                    let text = "x".repeat(*length);
                    expected.push_str(&text);
                    let output = has_counts.then_some(1);
                    let frame = match wire {
                        Wire::Gemini => gemini(json!([{"text": text}]), has_reason.then_some("STOP"), output),
                        _ => chat(json!({"content": text}), has_reason.then_some("stop"), output),
                    };
                    (at, frame)
                }).collect();
                // A pause of several empty frames, longer than the wait, may end the answer.
                let is_spread = pieces.iter().any(|(.., length)| *length == 0);
                let has_end = pieces.iter().any(|(_, has_reason, ..)| *has_reason);
                if has_end && !is_spread {
                    let said = play(wire, &frames).said;
                    prop_assert!(said.contains(&format!("\"{expected}\"")), "{said}");
                }
            }
        }
    }
}
