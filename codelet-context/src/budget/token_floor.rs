//! The bounds of a plausible prompt size, whichever tokenizer counts it: a report outside them counts something else.
//!
//! An estimate of four bytes per token fits code and prose. Tokenizers do better on long runs of one character (spaces
//! that pad a table, lines of dashes) and on scripts with several bytes per character; each vendor counts images, files
//! and thinking in its own way. So only characters count here, and only the start of each run.

use crate::budget::occupancy::PLAUSIBLE;
use crate::message::tokens::{Tokens, estimate_bytes};
use crate::message::{Message, Part};
use std::sync::Arc;

/// The share of the count here that a report must reach. It corresponds to ten characters per token; prose in long
/// words reaches six or seven, and so does deeply indented code.
const LEAST_SHARE: f64 = 0.4;
/// The number of characters of a run of one character that count.
const RUN: u32 = 3;

/// Returns whether a prompt with these messages, estimated at `estimate` tokens, cannot be as short as reported.
pub(crate) fn is_too_little(reported: Tokens, messages: &[Arc<Message>], estimate: Tokens) -> bool {
    // The count never exceeds the estimate, so the texts are examined only if the estimate gives reason to.
    let is_below = |whole: Tokens| (reported as f64) < whole as f64 * LEAST_SHARE;
    let mut counted = 0;
    let mut is_enough = |message: &Arc<Message>| {
        counted += characters(message);
        is_below(estimate_bytes(counted))
    };
    is_below(estimate) && messages.iter().any(&mut is_enough)
}

/// The tokens that a vendor or gateway may add to a request beyond its known content.
const UNKNOWN: Tokens = 100_000;

/// Returns whether a whole request estimated at `estimate` tokens cannot be as long as reported, as with a gateway that
/// counts something else, or in another unit.
pub(crate) fn is_too_much(reported: Tokens, estimate: Tokens) -> bool {
    reported.saturating_sub(UNKNOWN) as f64 > estimate as f64 * PLAUSIBLE.end()
}

fn characters(message: &Message) -> usize {
    message.parts.iter().map(part).sum()
}

fn part(part: &Part) -> usize {
    match part {
        Part::Text(text) => apart_from_runs(text.body.as_str()),
        Part::ToolCall(call) => apart_from_runs(call.parameters.json().as_str()),
        Part::ToolResult(result) => result.output.iter().map(self::part).sum(),
        Part::Thinking(_) | Part::Image(_) | Part::Opaque(_) => 0,
    }
}

/// The number of characters of a text, counting only the first few of each run of one character.
fn apart_from_runs(text: &str) -> usize {
    let (mut last, mut run, mut count) = ('\0', 0, 0);
    for character in text.chars() {
        run = if character == last { run + 1 } else { 1 };
        last = character;
        count += usize::from(run <= RUN);
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::tokens::estimate_message;
    use crate::message::{Message, Part, Role};
    use proptest::prelude::*;

    fn is_doubted(text: &str, reported: Tokens) -> bool {
        let message = Arc::new(Message::new(Role::User, vec![Part::text(text)]));
        let estimate = estimate_message(&message);
        is_too_little(reported, &[message], estimate)
    }

    #[test]
    fn what_no_tokenizer_comes_to_is_doubted() {
        let log = "12:00:07 GET /orders/17 200 in 34 ms\n".repeat(400);
        let honest = log.len() as Tokens / 3;
        for (reported, expected) in [
            (12, true),
            (900, true),
            (honest, false),
            (honest / 2, false),
            (honest * 9, false),
        ] {
            assert_eq!(is_doubted(&log, reported), expected, "{reported}");
        }
    }

    #[test]
    fn dense_texts_are_believed() {
        // A table padded with spaces, where each run is one token; lines of dashes; a script with three bytes per
        // character.
        let table = format!("{}|{}|\n", "name".to_owned() + &" ".repeat(200), " ".repeat(300)).repeat(50);
        assert!(!is_doubted(&table, 50 * 5));
        let rules = format!("{}\n", "-".repeat(400)).repeat(50);
        assert!(!is_doubted(&rules, 50 * 4));
        let hindi =
            "\u{928}\u{92e}\u{938}\u{94d}\u{924}\u{947} \u{926}\u{941}\u{928}\u{93f}\u{92f}\u{93e} ".repeat(300);
        assert!(!is_doubted(&hindi, hindi.len() as Tokens / 12));
    }

    proptest! {
        #[test]
        fn a_report_as_high_as_the_estimate_is_never_doubted(text in "\\PC{0,400}") {
            let message = Arc::new(Message::new(Role::User, vec![Part::text(text.as_str())]));
            let estimate = estimate_message(&message);
            prop_assert!(!is_too_little(estimate, &[message], estimate));
        }
    }
}
