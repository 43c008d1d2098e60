//! Conversations decoded from bytes, for fuzzers: any byte string is a conversation.

use crate::plan::{self, Fault, Lead, Op, Seal, Use};
use crate::words::{Kind, Words};
use codelet_context::message::Message;

/// Maximum bytes of text in one conversation: enough for every threshold, and small enough for a fast fuzzer.
const MOST_TEXT: usize = 256 << 10;
/// Maximum operations in one conversation.
const MOST_OPS: usize = 400;

/// Decodes a conversation. Never fails, and its size is bounded.
pub fn conversation_from_bytes(bytes: &[u8]) -> Vec<Message> {
    let mut reader = Reader { bytes, text: MOST_TEXT };
    let mut plan = Vec::new();
    while !reader.bytes.is_empty() && plan.len() < MOST_OPS {
        plan.push(reader.op());
    }
    plan::build(&plan)
}

struct Reader<'a> {
    bytes: &'a [u8],
    text: usize,
}

impl Reader<'_> {
    /// The next byte; zero at the end.
    fn byte(&mut self) -> u8 {
        let (first, rest) = self.bytes.split_first().unwrap_or((&0, &[]));
        self.bytes = rest;
        *first
    }

    fn words(&mut self) -> Words {
        let kind = Kind::ALL[usize::from(self.byte()) % Kind::ALL.len()];
        let size = usize::from(self.byte());
        // Small sizes are linear, larger ones squared: up to 16 KB.
        let size = if size < 128 { size } else { (size - 127) * (size - 127) };
        let size = size.min(self.text);
        self.text -= size;
        Words {
            kind,
            size,
            seed: self.byte(),
        }
    }

    fn seal(&mut self) -> Seal {
        match self.byte() % 3 {
            0 => Seal::Open,
            1 => Seal::Signed,
            _ => Seal::Redacted,
        }
    }

    fn one(&mut self) -> Use {
        Use {
            tool: self.byte(),
            target: self.byte(),
            status: self.byte(),
            form: self.byte(),
            output: self.words(),
        }
    }

    fn uses(&mut self) -> Vec<Use> {
        (0..1 + self.byte() % 24).map(|_| self.one()).collect()
    }

    fn op(&mut self) -> Op {
        match self.byte() % 16 {
            0 | 1 => Op::Prompt(self.words()),
            2 => Op::RichPrompt {
                reminder: Some(self.byte()).filter(|kind| kind.is_multiple_of(2)),
                image: self.byte().is_multiple_of(2),
                words: self.words(),
            },
            3 => Op::System(self.words()),
            4 => Op::Reminder(self.byte(), self.words()),
            5 => Op::Injected(self.words()),
            6 => Op::Summary(self.words()),
            7 => Op::Notice(self.words()),
            8 => Op::Say(self.words()),
            9 => Op::Think(self.seal(), self.words()),
            10 => Op::Strange(self.words()),
            11 => Op::Unanswered(self.uses()),
            12 => Op::Fault(Fault::ALL[usize::from(self.byte()) % Fault::ALL.len()], self.one()),
            13 => Op::Step(Lead::Says(self.words()), self.uses()),
            14 => Op::Step(Lead::Thinks(self.seal(), self.words()), self.uses()),
            _ => Op::Step(Lead::Nothing, self.uses()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_bytes_are_a_bounded_conversation(bytes in proptest::collection::vec(any::<u8>(), 0..2_000)) {
            let messages = conversation_from_bytes(&bytes);
            let text: usize = messages.iter().map(|m| format!("{m:?}").len()).sum();
            // Calls to `Write` contain their text twice, and debug output escapes it.
            prop_assert!(text < 64 * MOST_TEXT, "{}", text);
        }
    }

    #[test]
    fn no_bytes_are_no_messages() {
        assert!(conversation_from_bytes(&[]).is_empty());
    }
}
