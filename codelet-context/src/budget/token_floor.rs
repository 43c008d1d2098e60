//! The least and the most that a prompt can come to, whoever counts it: a report of less or of more tells of something else.
//!
//! An estimate of four bytes a token is right for code and prose. Tokenizers do better on long runs of one character
//! (blanks that pad a table, rules of dashes), and on scripts whose characters take several bytes; pictures, files and
//! what a model has thought weigh what each vendor pleases. So only characters count here, and of a run only its beginning.

use crate::budget::occupancy::PLAUSIBLE;
use crate::message::tokens::{Tokens, estimate_bytes};
use crate::message::{Message, Part};
use std::sync::Arc;

/// The share of what is counted here that a report must come to. It is ten characters a token: prose in long words comes to
/// six or seven, and so does deeply indented code.
const LEAST_SHARE: f64 = 0.4;
/// So much of a run of one character counts.
const RUN: u32 = 3;

/// Whether a prompt with these messages, which are estimated at `estimate`, cannot have been as short as it was reported to be.
pub(crate) fn is_too_little(reported: Tokens, messages: &[Arc<Message>], estimate: Tokens) -> bool {
    // Nothing here counts more than its estimate, so the texts are looked at only where there is reason to.
    let is_below = |whole: Tokens| (reported as f64) < whole as f64 * LEAST_SHARE;
    let mut counted = 0;
    let mut is_enough = |message: &Arc<Message>| {
        counted += characters(message);
        is_below(estimate_bytes(counted))
    };
    is_below(estimate) && messages.iter().any(&mut is_enough)
}

/// So much may stand in a request beside what is known of it, in tokens: what a vendor or a gateway puts before it.
const UNKNOWN: Tokens = 100_000;

/// Whether a whole request that is estimated at `estimate` cannot have been as long as it was reported to be: a gateway that
/// counts another thing, or in another unit.
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

/// The characters of a text, of each run of one character only the first few.
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
        // A table padded with blanks, of which each run is a token; rules of dashes; a script of three bytes a character.
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
