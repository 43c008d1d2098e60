//! The reply that the user's newest prompt answers: `yes` or `do 1 and 2` mean nothing without it.

use super::{Work, room};
use crate::compact::draft::{self, Draft, PartClass};
use crate::message::tokens::{self, Tokens};
use crate::message::turn::Turn;
use crate::message::{Message, Part, Role};
use std::sync::Arc;

/// The maximum length of a prompt that may depend on a reply, in bytes of the user's own words; a longer one states by
/// itself what to do.
const SHORT: usize = 400;
/// The maximum length of a prompt, in bytes, that accepts a list as a whole: hardly more than a word or two.
const WORDS: usize = 40;
/// The characters that end a question, in several scripts.
const QUESTION_MARKS: [char; 3] = ['?', '？', '؟'];
/// The share of a budget that the reply may take; a longer one keeps its start and end. It is part of the kept steps'
/// share: taken from the quoted lines, it would cost more than it is worth.
const SHARE: f64 = 0.05;

/// The assistant messages that the newest prompt answers, ascending.
pub(super) fn offered(messages: &[Arc<Message>], turns: &[Turn]) -> Vec<usize> {
    let Some(newest) = turns.last() else {
        return Vec::new();
    };
    let mut reply: Vec<usize> = reply_before(messages, newest.0.start).collect();
    reply.reverse();
    let asked = messages[newest.0.clone()]
        .iter()
        .take_while(|message| message.role != Role::Assistant);
    let prompt = texts(asked, Part::is_own_words);
    match is_answer(&prompt, &texts(reply.iter().map(|&at| &messages[at]), |_| true)) {
        true => reply,
        false => Vec::new(),
    }
}

/// The messages of the reply before a prompt, last first, with only notes of the user's side between them and it. A
/// reply with calls was interrupted and asked for no answer.
fn reply_before(messages: &[Arc<Message>], prompt: usize) -> impl Iterator<Item = usize> {
    let is_note = |message: &Message| message.role != Role::Assistant && message.tool_results().next().is_none();
    let is_said = |message: &Message| message.role == Role::Assistant && message.calls().next().is_none();
    let before = (0..prompt).rev().skip_while(move |&at| is_note(&messages[at]));
    before.take_while(move |&at| is_said(&messages[at]))
}

/// The texts of these messages for which `is_wanted` holds, on separate lines.
fn texts<'a>(messages: impl Iterator<Item = &'a Arc<Message>>, is_wanted: impl Fn(&Part) -> bool) -> String {
    let parts = messages
        .flat_map(|message| &message.parts)
        .filter(|part| is_wanted(part));
    let texts = parts.filter_map(|part| match part {
        Part::Text(text) => Some(text.body.as_str()),
        _ => None,
    });
    texts.collect::<Vec<&str>>().join("\n")
}

/// Returns whether a prompt depends on this reply: it is short, and the reply ends with a question, or has numbered
/// items and the prompt names one or is hardly more than a word.
fn is_answer(prompt: &str, reply: &str) -> bool {
    if !(1..=SHORT).contains(&prompt.len()) {
        return false;
    }
    let items: Vec<u32> = reply.lines().filter_map(number_of).collect();
    let mut words = prompt.split(|c: char| !c.is_alphanumeric());
    let mut names_item = || words.any(|word| word.parse().is_ok_and(|number| items.contains(&number)));
    asks(reply) || items.len() > 1 && (prompt.len() <= WORDS || names_item())
}

/// Returns whether a text ends with a question, in any of several scripts.
fn asks(text: &str) -> bool {
    let is_around = |c: char| c.is_whitespace() || matches!(c, '*' | '_' | ')' | '"' | '”' | '»');
    text.trim_end_matches(is_around).ends_with(QUESTION_MARKS)
}

/// Parses the number of the item that a line begins with, such as `2.`, `**3)**` or `### Option 1`.
fn number_of(line: &str) -> Option<u32> {
    let line = line.trim_start_matches(|c: char| c.is_whitespace() || "*#->|(".contains(c));
    let word = line.bytes().take_while(u8::is_ascii_alphabetic).count();
    let rest = match word {
        0 => line,
        _ => line[word..].strip_prefix(' ')?,
    };
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let is_end = matches!(
        rest.as_bytes().get(digits),
        None | Some(b'.' | b')' | b':' | b'*' | b' ')
    );
    ((1..=2).contains(&digits) && is_end).then(|| rest[..digits].parse().ok())?
}

impl Work<'_> {
    /// Returns whether a message belongs to that reply.
    fn is_of_offer(&self, message: usize) -> bool {
        self.offered.binary_search(&message).is_ok()
    }

    /// Returns whether a part of this message is text of that reply, and so stays.
    pub(super) fn is_offered(&self, message: usize, part: &Part) -> bool {
        matches!(part, Part::Text(text) if !text.body.is_blank()) && self.is_of_offer(message)
    }

    /// The tokens of the reply within this budget.
    pub(super) fn offered_tokens(&self, budget: Tokens) -> Tokens {
        let messages = self.offered.iter().map(|&at| &self.history.messages()[at]);
        let parts = messages.flat_map(|message| &message.parts);
        let texts = parts.filter(|part| matches!(part, Part::Text(_)));
        texts
            .map(tokens::estimate_part)
            .sum::<Tokens>()
            .min(room::share(budget, SHARE))
    }

    /// Shortens the reply before `start` to its share of a budget.
    pub(super) fn shorten_offers(&mut self, drafts: &mut [Draft], start: usize, budget: Tokens) {
        let is_offer = |draft: &&mut Draft| {
            self.is_of_offer(draft.source) && draft.source < start && !draft.pinned && !draft.spared
        };
        let offers: Vec<&mut Draft> = drafts.iter_mut().filter(is_offer).collect();
        let weights = draft::weights(offers.iter().map(|draft| &**draft), PartClass::Answers);
        let cap = draft::fair_cap(weights, room::share(budget, SHARE));
        draft::shorten(offers, PartClass::Answers, (cap, cap, 0), &mut self.archive);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_answers_a_question_or_a_list() {
        let list = "I would\n\n1. **round** half to even\n2) drop the cache\n### Option 3: rename";
        for (prompt, reply, expected) in [
            ("yes", "Shall I go on?", true),
            ("the first, but with two digits", "Which one do **you** prefer?**", true),
            ("はい", "続けますか？", true),
            ("do 1 and 2", list, true),
            ("let's fix 3 too, and please mind the names of the files", list, true),
            ("go ahead", list, true),
            ("commit", "Done. All tests pass.", false),
            ("now have a look at the tests, there is one that fails", list, false),
            ("and what about issue 17, is that one done already?", list, false),
            ("yes", "It costs 3 ms;\n", false),
            ("yes", "", false),
            ("", "Shall I go on?", false),
        ] {
            assert_eq!(is_answer(prompt, reply), expected, "{prompt:?} to {reply:?}");
        }
        assert!(!is_answer(&"word ".repeat(90), "Shall I go on?"));
    }

    #[test]
    fn an_item_is_known_by_its_number() {
        for (line, number) in [
            ("1. round", Some(1)),
            ("  - **2)** drop", Some(2)),
            ("| 3 | rename |", Some(3)),
            ("## Option 4: wait", Some(4)),
            ("Step 12", Some(12)),
            ("1999. A year", None),
            ("5ms are enough", None),
            ("in all 5", None),
            ("", None),
        ] {
            assert_eq!(number_of(line), number, "{line:?}");
        }
    }
}
