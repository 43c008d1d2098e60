//! Turns and steps: ranges of the history, never copies of it.

use crate::message::{Message, Role};
use std::ops::Range;
use std::sync::Arc;

/// A user prompt and everything up to the next one, as a range of messages.
#[derive(Clone, PartialEq, Eq, Debug, Hash)]
pub struct Turn(pub Range<usize>);

/// A reply of the model and the results of its tool calls, as a range of messages like that of a turn.
pub(crate) type Step = Turn;

/// The turns and steps of the messages so far; see [`turns`] and [`steps`].
#[derive(Clone, Default)]
pub(crate) struct Course {
    pub turns: Vec<Turn>,
    /// The turns if each prompt begins one.
    pub apart: Vec<Turn>,
    pub steps: Vec<Step>,
    /// True while the last turn has no reply.
    is_unanswered: bool,
    was_reply: bool,
    was_prompt: bool,
}

impl Course {
    /// Adds the next message, whose index is `at`.
    pub fn append(&mut self, at: usize, message: &Message) {
        let (is_reply, is_prompt) = (message.role == Role::Assistant, message.is_prompt());
        let begins = (is_reply && self.turns.is_empty()) || (!self.is_unanswered && is_prompt);
        let begins_apart = begins || !self.turns.is_empty() && is_prompt && self.was_prompt;
        self.is_unanswered = !is_reply && (self.is_unanswered || begins);
        lengthen(&mut self.turns, begins, at);
        lengthen(&mut self.apart, begins_apart, at);
        lengthen(&mut self.steps, is_reply && !self.was_reply, at);
        (self.was_reply, self.was_prompt) = (is_reply, is_prompt);
    }
}

/// Extends the last of these with the message at `at`, or begins another one with it.
fn lengthen(spans: &mut Vec<Turn>, begins: bool, at: usize) {
    if begins {
        spans.push(Turn(at..at + 1));
    } else if let Some(last) = spans.last_mut() {
        last.0.end = at + 1;
    }
}

/// The turns of a conversation, oldest first, without gaps between them.
///
/// A turn begins at a user prompt. Consecutive prompts without a reply between them form one turn; results, reminders,
/// summaries and injected text begin none. Messages before both the first prompt and the first reply (the system
/// prompt, reminders) belong to no turn; a reply without an earlier prompt, in a transcript that starts in the middle,
/// begins a turn, so that every reply belongs to one.
pub fn turns(messages: &[Arc<Message>]) -> Vec<Turn> {
    course(messages, 0..messages.len()).turns
}

/// The steps within a range of messages, oldest first, without gaps between them; the range is clamped to the end.
///
/// A step begins at a reply. Consecutive assistant messages are one reply, since there was nothing between them for the
/// model to reply to: some sources write each part of a reply as a message. Anything between them, even a reminder, was
/// sent with a separate request and starts a new step. Messages before the first reply belong to no step.
pub(crate) fn steps(messages: &[Arc<Message>], range: Range<usize>) -> Vec<Step> {
    course(messages, range).steps
}

fn course(messages: &[Arc<Message>], range: Range<usize>) -> Course {
    let mut course = Course::default();
    for (at, message) in messages.iter().enumerate().take(range.end).skip(range.start) {
        course.append(at, message);
    }
    course
}

/// The index from which messages have not been in any request: the last reply and everything after it.
pub(crate) fn unsent_from(messages: &[Arc<Message>]) -> usize {
    let reply = messages.iter().rposition(|message| message.role == Role::Assistant);
    reply.unwrap_or(0)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::message::{Image, Origin, Part, ReminderKind, ToolCall, ToolResult};
    use proptest::prelude::*;
    use serde_json::Map;

    /// Builds a conversation with one letter per message: `s`ystem, user `p`rompt, `i`mage prompt, `r`esults, results
    /// `m`erged with a prompt, re`M`inder, `I`njected, `S`ummary, `N`otice, `b`lank prompt, `a`ssistant, assistant with
    /// a `c`all.
    pub(crate) fn conversation(letters: &str) -> Vec<Arc<Message>> {
        letters.chars().map(|letter| Arc::new(message(letter))).collect()
    }

    fn message(letter: char) -> Message {
        let from = |origin| Message::new(Role::User, vec![Part::text_from(origin, "words")]);
        let result = || Part::ToolResult(ToolResult::new("1", Some(true), "out"));
        match letter {
            's' => Message::system("be good"),
            'p' => Message::user("do it"),
            'i' => Message::new(
                Role::User,
                vec![Part::Image(Image {
                    media_type: "image/png".into(),
                    data: "AAAA".into(),
                    is_url: false,
                    extra: Default::default(),
                })],
            ),
            'r' => Message::new(Role::User, vec![result()]),
            'm' => Message::new(Role::User, vec![result(), Part::text("stop"), result()]),
            'M' => from(Origin::Reminder(ReminderKind::GitStatus)),
            'I' => from(Origin::Injected),
            'S' => from(Origin::Summary),
            'N' => from(Origin::Notice),
            'b' => Message::user(" \n"),
            'a' => Message::assistant("done"),
            _ => Message::new(
                Role::Assistant,
                vec![Part::ToolCall(ToolCall::new("1", "t", Map::new()))],
            ),
        }
    }

    fn spans(letters: &str) -> Vec<&str> {
        turns(&conversation(letters))
            .iter()
            .map(|turn| &letters[turn.0.clone()])
            .collect()
    }

    #[test]
    fn a_turn_runs_from_a_prompt_to_the_next() {
        let table: &[(&str, &[&str])] = &[
            ("", &[]),
            ("sMI", &[]),
            ("spcrcrapa", &["pcrcra", "pa"]),
            ("pppa", &["pppa"]),
            ("pIpcrIcrMa", &["pIpcrIcrMa"]),
            ("papcr", &["pa", "pcr"]),
            ("pap", &["pa", "p"]),
            ("ia", &["ia"]),
        ];
        for (letters, expected) in table {
            assert_eq!(spans(letters), *expected, "{letters}");
        }
    }

    #[test]
    fn results_reminders_summaries_and_notices_are_no_prompts() {
        assert_eq!(spans("pcrcMcIcScNcbca"), ["pcrcMcIcScNcbca"]);
    }

    #[test]
    fn a_transcript_that_begins_with_a_reply_has_a_turn_without_a_prompt() {
        assert_eq!(spans("acrpa"), ["acr", "pa"]);
        assert_eq!(spans("sScrcrapa"), ["crcra", "pa"]);
    }

    #[test]
    fn a_prompt_among_results_begins_a_turn() {
        assert_eq!(spans("pcmcrapa"), ["pc", "mcra", "pa"]);
    }

    #[test]
    fn a_step_is_a_reply_and_the_results_of_its_calls() {
        let table: &[(&str, &[&str])] = &[
            ("", &[]),
            ("p", &[]),
            ("pa", &["a"]),
            ("pcrcra", &["cr", "cr", "a"]),
            ("pcrrra", &["crrr", "a"]),
            ("paaccra", &["aaccr", "a"]),
            ("pcrMa", &["crM", "a"]),
            ("paIa", &["aI", "a"]),
            ("pc", &["c"]),
        ];
        for (letters, expected) in table {
            let messages = conversation(letters);
            let found = steps(&messages, 0..messages.len());
            let found: Vec<_> = found.iter().map(|step| &letters[step.0.clone()]).collect();
            assert_eq!(found, *expected, "{letters}");
        }
    }

    #[test]
    fn a_range_beyond_the_end_is_shortened() {
        let messages = conversation("pcra");
        assert_eq!(steps(&messages, 1..99), [Turn(1..3), Turn(3..4)]);
        assert_eq!(steps(&messages, 50..99), []);
    }

    proptest! {
        #[test]
        fn every_reply_belongs_to_one_step_of_one_turn(letters in "[spirmMISNbac]{0,60}") {
            let messages = conversation(&letters);
            let found = turns(&messages);
            for pair in found.windows(2) {
                prop_assert_eq!(pair[0].0.end, pair[1].0.start);
            }
            if let Some(last) = found.last() {
                prop_assert_eq!(last.0.end, messages.len());
            }
            let mut replies = 0;
            for (number, turn) in found.iter().enumerate() {
                let first = &messages[turn.0.start];
                prop_assert!(first.is_prompt() || (number == 0 && first.role == Role::Assistant));
                for step in steps(&messages, turn.0.clone()) {
                    prop_assert!(step.0.start >= turn.0.start && step.0.end <= turn.0.end && !step.0.is_empty());
                    prop_assert_eq!(messages[step.0.start].role, Role::Assistant);
                    replies += messages[step.0.clone()].iter().filter(|m| m.role == Role::Assistant).count();
                }
            }
            prop_assert_eq!(replies, messages.iter().filter(|m| m.role == Role::Assistant).count());
        }

        #[test]
        fn appending_only_lengthens_the_last_turn_or_begins_another(letters in "[spirmMISNbac]{1,60}") {
            let messages = conversation(&letters);
            let before = turns(&messages[..messages.len() - 1]);
            let after = turns(&messages);
            prop_assert!(after.len() == before.len() || after.len() == before.len() + 1);
            for (old, new) in before.iter().zip(&after) {
                prop_assert_eq!(old.0.start, new.0.start);
            }
        }
    }
}
