//! Detection of the end of an answer if the server neither ends the stream nor closes the connection.

use crate::frames::Missing;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::time::Instant;

/// The wait for further frames after a stop reason: longer than any ordinary pause between two frames, since many
/// gateways send the reason before the end of the answer, and some in every frame.
const REST: Duration = Duration::from_secs(12);
/// The same for a provider known to leave its streams open.
const KNOWN: Duration = Duration::from_secs(1);

/// Observations about the ends of one provider's answers.
#[derive(Default)]
pub(crate) struct Habits {
    /// True if an answer was complete and its stream was left open.
    stays_open: AtomicBool,
    /// The same for an answer without usage.
    leaves_counts_out: AtomicBool,
    /// True if an answer continued after a stop reason.
    goes_on: AtomicBool,
}

impl Habits {
    fn wait(&self, missing: Missing) -> Option<Duration> {
        let has = |habit: &AtomicBool| habit.load(Ordering::Relaxed);
        let is_known = match missing {
            Missing::End => return None,
            Missing::Counts => has(&self.leaves_counts_out),
            Missing::Nothing => has(&self.stays_open) || has(&self.leaves_counts_out),
        };
        Some(if is_known && !has(&self.goes_on) { KNOWN } else { REST })
    }
}

/// The deadline for further frames of one answer.
pub(crate) struct StreamEnds {
    habits: Arc<Habits>,
    /// The general limit on silence.
    most: Duration,
    /// The missing part when the wait was decided, and its deadline.
    settled: Option<(Missing, Instant)>,
    /// The amount of content when a stop reason had arrived.
    stopped_at: Option<usize>,
    /// True if the answer continued after a stop reason, so further ones are ignored.
    goes_on: bool,
}

impl StreamEnds {
    pub(crate) fn new(habits: Arc<Habits>, most: Duration) -> Self {
        StreamEnds {
            habits,
            most,
            settled: None,
            stopped_at: None,
            goes_on: false,
        }
    }

    /// Returns the deadline, if nothing else arrives.
    pub(crate) fn at(&self) -> Option<Instant> {
        self.settled.map(|(_, at)| at)
    }

    /// Decides the wait for the rest, from what is missing after a frame and the amount of content so far.
    pub(crate) fn settle(&mut self, missing: Missing, content: usize, now: Instant) {
        if self.goes_on || missing == Missing::End {
            return;
        }
        if self.stopped_at.is_some_and(|before| content > before) {
            self.goes_on = true;
            self.settled = None;
            self.habits.goes_on.store(true, Ordering::Relaxed);
            return;
        }
        self.stopped_at = Some(content);
        // Some servers send a reason before any content.
        if content == 0 {
            return;
        }
        let Some(wait) = self.habits.wait(missing) else { return };
        if self.settled.is_none_or(|(before, _)| before != missing) {
            let at = now + wait.min(self.most);
            self.settled = Some((missing, self.at().map_or(at, |before| before.min(at))));
        }
    }

    /// Records the end of the stream. If the deadline ended it, the next answer need not wait as long.
    pub(crate) fn over(&self, now: Instant) {
        match self.settled {
            Some((Missing::Counts, at)) if now >= at => self.habits.leaves_counts_out.store(true, Ordering::Relaxed),
            Some((_, at)) if now >= at => self.habits.stays_open.store(true, Ordering::Relaxed),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frames::Frames;
    use crate::provider::new;
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

    fn play(wire: Wire, habits: &Arc<Habits>, frames: &[(u64, Value)]) -> Played {
        let began = Instant::now();
        let mut ends = StreamEnds::new(habits.clone(), Duration::from_secs(300));
        let mut reader: Box<dyn Frames> = new(wire);
        let mut deltas = Vec::new();
        for (at, frame) in frames {
            let now = began + Duration::from_millis(*at);
            if ends.at().is_some_and(|ends| ends <= now) {
                break;
            }
            reader.take(&frame.to_string(), &mut deltas).unwrap();
            ends.settle(reader.missing(), reader.content(), now);
        }
        if let Some(at) = ends.at() {
            ends.over(at);
        }
        let took = ends.at().map(|at| (at - began).as_millis() as u64);
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
        for gap in [300, 2_000, 11_000] {
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
                let played = play(wire, &Arc::default(), &frames);
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
        assert!(
            play(Wire::Gemini, &Arc::default(), &frames)
                .said
                .contains("One two three.")
        );
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
            let played = play(wire, &Arc::default(), &frames);
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
            (18_000, chat(piece(":\"a.rs\"}"), Some("tool_calls"), None)),
        ];
        assert!(play(Wire::Chat, &Arc::default(), &frames).said.contains("a.rs"));
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
            let played = play(wire, &Arc::default(), &frames);
            assert!(played.said.contains("At last."), "{wire:?}: {}", played.said);
            assert_eq!(played.output, 4, "{wire:?}");
        }
    }

    #[test]
    fn counts_that_come_seconds_after_the_reason_are_taken() {
        for late in [1_600, 5_000, 11_900] {
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
                assert_eq!(play(wire, &Arc::default(), &frames).output, 7, "{wire:?} {late}");
            }
        }
    }

    #[test]
    fn a_provider_that_leaves_its_streams_open_costs_twelve_seconds_once() {
        let counted = [(0, chat(json!({"content": "Done."}), Some("stop"), Some(2)))];
        let uncounted = [(0, chat(json!({"content": "Done."}), Some("stop"), None))];
        let habits = Arc::default();
        assert_eq!(play(Wire::Chat, &habits, &counted).took, Some(12_000));
        assert_eq!(play(Wire::Chat, &habits, &counted).took, Some(1_000));
        // Its usage may still arrive late.
        assert_eq!(play(Wire::Chat, &habits, &uncounted).took, Some(12_000));
        assert_eq!(play(Wire::Chat, &habits, &uncounted).took, Some(1_000));
        // Another provider has its own record.
        assert_eq!(play(Wire::Chat, &Arc::default(), &counted).took, Some(12_000));
    }

    #[test]
    fn a_provider_whose_answer_went_on_once_is_given_its_time_from_then_on() {
        let whole = [(0, gemini(json!([{"text": "Done."}]), STOP, Some(2)))];
        let goes_on = [
            (0, gemini(json!([{"text": "One "}]), STOP, Some(1))),
            (500, gemini(json!([{"text": "two."}]), STOP, Some(2))),
        ];
        let habits = Arc::default();
        assert_eq!(play(Wire::Gemini, &habits, &whole).took, Some(12_000));
        assert_eq!(play(Wire::Gemini, &habits, &goes_on).took, None);
        assert_eq!(play(Wire::Gemini, &habits, &whole).took, Some(12_000));
        assert_eq!(play(Wire::Gemini, &habits, &whole).took, Some(12_000));
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
            let played = play(wire, &Arc::default(), &[(0, frame)]);
            assert_eq!(played.took, Some(12_000), "{wire:?}");
        }
    }

    #[test]
    fn a_frame_without_anything_new_neither_lengthens_the_wait_nor_ends_it() {
        let frames = [
            (0, chat(json!({"reasoning_content": "hm"}), None, None)),
            (0, chat(json!({"content": "Done."}), Some("stop"), Some(2))),
            (5_000, chat(json!({"content": ""}), Some("stop"), Some(2))),
            (
                10_000,
                json!({"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 3}}),
            ),
        ];
        let played = play(Wire::Chat, &Arc::default(), &frames);
        assert_eq!((played.took, played.output), (Some(12_000), 3));
    }

    proptest! {
        #[test]
        fn no_text_is_lost_wherever_the_reasons_stand(pieces in proptest::collection::vec((0..11_000u64, any::<bool>(), any::<bool>(), 0..3usize), 1..12)) {
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
                    let said = play(wire, &Arc::default(), &frames).said;
                    prop_assert!(said.contains(&format!("\"{expected}\"")), "{said}");
                }
            }
        }
    }
}
