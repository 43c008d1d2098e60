//! The course of a conversation, recorded as its messages are appended: its turns and steps, its standing messages, and
//! whether it is in order. Otherwise, every compaction would have to walk over the whole history for these.

use crate::message::tokens::{self, Tokens};
use crate::message::turn::{Course, Step, Turn};
use crate::message::validate::Order;
use crate::message::{Message, Nature, Origin, Part, Role};
use crate::ranking::earlier;
use crate::strategy;
use std::sync::Arc;

/// The course of a conversation; see the module documentation. Takes a few machine words per message.
#[derive(Clone, Default)]
pub(crate) struct TurnIndex {
    /// The size of the conversation.
    pub size: Size,
    /// Whether the conversation is valid.
    pub order: Order,
    course: Course,
    /// The messages of which something [stays](stands) however old they are, assuming that they are at the head;
    /// ascending.
    pub standing: Vec<usize>,
    /// The messages with reminders, ascending.
    pub reminding: Vec<usize>,
    was_compacted: bool,
}

impl TurnIndex {
    /// Adds the next message, with its estimate in tokens.
    pub fn append(&mut self, message: &Message, weight: Tokens) {
        let at = self.size.messages;
        self.size.messages += 1;
        self.size.tokens += weight;
        self.size.bytes += strategy::bytes(message) as u64;
        self.order.append(message);
        self.course.append(at, message);
        let has = |is_it: &dyn Fn(&Part) -> bool| message.parts.iter().any(is_it);
        if has(&|part| stands(message.role, part, true)) {
            self.standing.push(at);
        }
        if has(&|part| matches!(part, Part::Text(text) if matches!(text.origin, Origin::Reminder(_)))) {
            self.reminding.push(at);
        }
        // Prompts before a summary have lost everything between them.
        self.was_compacted |= has(&|part| earlier::summary(part).is_some());
    }

    /// The turns, see [`crate::message::turn::turns`]; in a previously compacted conversation, where nothing may be
    /// left between two prompts, each prompt begins a turn.
    pub fn turns(&self) -> &[Turn] {
        match self.was_compacted {
            true => &self.course.apart,
            false => &self.course.turns,
        }
    }

    /// The steps, see [`crate::message::turn::steps`].
    pub fn steps(&self) -> &[Step] {
        &self.course.steps
    }
}

/// The size of a conversation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Size {
    /// The number of messages.
    pub messages: usize,
    /// Estimated tokens.
    pub tokens: Tokens,
    /// Bytes of text, names and parameters.
    pub bytes: u64,
}

impl Size {
    /// The same with another message in place of one of them.
    pub(crate) fn with(self, old: &Message, new: &Message) -> Self {
        let change = |all: u64, of: &dyn Fn(&Message) -> u64| (all + of(new)).saturating_sub(of(old));
        Size {
            messages: self.messages,
            tokens: change(self.tokens, &tokens::estimate_message),
            bytes: change(self.bytes, &|message| strategy::bytes(message) as u64),
        }
    }

    /// Measures these messages, with estimated tokens.
    pub fn of(messages: &[Arc<Message>]) -> Self {
        Size {
            messages: messages.len(),
            tokens: messages.iter().map(|message| tokens::estimate_message(message)).sum(),
            bytes: messages.iter().map(|message| strategy::bytes(message) as u64).sum(),
        }
    }
}

/// Returns whether a part always stays: the system prompt, reminders, the user's words and files, harness text at the
/// head, and parts that refer to content kept by the vendor.
pub(crate) fn stands(role: Role, part: &Part, head: bool) -> bool {
    match (role, part) {
        (Role::System, _) => true,
        (Role::User, Part::Text(text)) => match text.origin {
            Origin::Own => !text.body.is_blank(),
            Origin::Reminder(_) => true,
            Origin::Injected | Origin::Summary => head,
            Origin::Notice => false,
        },
        (Role::User, Part::Image(_) | Part::Opaque(_)) => true,
        // Dependencies on content that the vendor keeps are unknown here.
        (Role::User, Part::ToolResult(result)) => result.is_apart,
        (_, Part::Opaque(opaque)) => opaque.nature == Nature::Reference,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compact::reminder;
    use crate::message::tokens;
    use crate::message::turn::{self, tests::conversation};
    use crate::message::view::View;
    use proptest::prelude::*;

    fn course(messages: &[Arc<Message>]) -> TurnIndex {
        let mut course = TurnIndex::default();
        for message in messages {
            course.append(message, tokens::estimate_message(message));
        }
        course
    }

    #[test]
    fn in_a_conversation_that_was_compacted_each_prompt_begins_a_turn() {
        let mut messages = conversation("sppacrpppa");
        let spans = |course: &TurnIndex| course.turns().iter().map(|turn| turn.0.clone()).collect::<Vec<_>>();
        assert_eq!(spans(&course(&messages)), [1..6, 6..10]);
        let summary = crate::ranking::labels::SUMMARY.to_owned() + "Goal: \"x\"";
        messages.push(Arc::new(Message::new(
            Role::User,
            vec![Part::text_from(Origin::Summary, summary)],
        )));
        assert_eq!(spans(&course(&messages)), [1..2, 2..6, 6..7, 7..8, 8..11]);
    }

    proptest! {
        #[test]
        fn what_is_noted_is_what_a_walk_over_everything_finds(letters in "[spirmMISNbac]{0,40}") {
            let messages = conversation(&letters);
            let course = course(&messages);
            prop_assert_eq!(course.size, Size::of(&messages));
            prop_assert_eq!(course.turns(), turn::turns(&messages));
            prop_assert_eq!(course.steps(), turn::steps(&messages, 0..messages.len()));
            let all: Vec<usize> = (0..messages.len()).collect();
            let (some, every) = (reminder::settlement(&messages, &course.reminding), reminder::settlement(&messages, &all));
            prop_assert_eq!((some.gone, some.replaced), (every.gone, every.replaced));
        }

        #[test]
        fn a_conversation_is_in_order_if_nothing_is_mended(letters in "s?M?(p|i|a)?(cr|cm|c|a|p|M|N|b|I){0,6}[pa]?") {
            let messages = conversation(&letters);
            let course = course(&messages);
            let mut view = View {
                messages: messages.clone(),
                ..View::default()
            };
            let before = messages.clone();
            let count = strategy::pair(&mut view);
            prop_assert_eq!(course.order.is_kept(), count.hits == 0);
            if course.order.is_kept_but_for_its_end() {
                let kept = before.iter().zip(&view.messages).filter(|(old, new)| Arc::ptr_eq(old, new)).count();
                prop_assert_eq!(kept, before.len());
                prop_assert!(view.messages.len() <= before.len() + 1);
            }
        }
    }
}
