//! Repairs an invalid history, and maps its messages to the repaired one.

use super::{Fate, FateKind};
use crate::history::History;
use crate::message::recall::Archive;
use crate::message::view::{View, alike};
use crate::message::{Message, Origin, Part};
use crate::strategy::{StrategyCount, pairing};
use std::borrow::Cow;
use std::sync::Arc;

/// A valid history, with the changes that made it so.
pub struct Mended<'a> {
    pub history: Cow<'a, History>,
    /// Everything removed before and by the repair.
    pub archive: Archive,
    pub count: StrategyCount,
    /// For each message of the invalid history, its index in the valid one, if any.
    went: Vec<Option<usize>>,
}

impl<'a> Mended<'a> {
    /// Repairs a history if it is invalid.
    pub fn of(history: &'a History, archive: Option<&Archive>) -> Self {
        let old = history.messages();
        let archive = archive.cloned().unwrap_or_default();
        let untouched = |archive| Mended {
            history: Cow::Borrowed(history),
            archive,
            count: StrategyCount::default(),
            went: Vec::new(),
        };
        // Only a notice might be added at the end, and it is omitted if the conversation is left unchanged.
        if history.course().order.is_kept_but_for_its_end() {
            return untouched(archive);
        }
        let mut view = View {
            messages: old.to_vec(),
            archive,
        };
        let (count, went) = pairing::mend(&mut view);
        // Each repair creates its messages again, with equal content.
        let same = alike(&view.messages, old) == old.len();
        if same && view.messages[old.len()..].iter().all(|message| is_notice(message)) {
            return untouched(view.archive);
        }
        // What is known of messages holds if others only follow them, as after an unanswered call.
        let mut mended = if same { history.clone() } else { History::new() };
        let known = mended.messages().len();
        view.messages.drain(known..).for_each(|message| mended.append(message));
        Mended {
            history: Cow::Owned(mended),
            archive: view.archive,
            count,
            went: went.unwrap_or_default(),
        }
    }

    /// Maps indices of the original history to the repaired one, ascending.
    pub fn places(&self, old: &[usize]) -> Vec<usize> {
        if let Cow::Borrowed(_) = self.history {
            return old.to_vec();
        }
        let places = old.iter().filter_map(|&at| self.went.get(at).copied().flatten());
        let mut places: Vec<usize> = places.collect();
        places.sort_unstable();
        places.dedup();
        places
    }

    /// Maps fates of the repaired messages to the original ones.
    pub fn fates(&self, history: &History, fates: Vec<Fate>) -> Vec<Fate> {
        let Cow::Owned(valid) = &self.history else { return fates };
        let mended = || Fate::new(FateKind::Shortened, "repaired: it was not valid");
        let fate = |(old, went): (&Arc<Message>, &Option<usize>)| {
            let fate = went.and_then(|at| Some((at, fates.get(at)?)));
            match fate {
                // A message that was changed in the repair is not kept as it was.
                Some((at, fate)) if fate.kind != FateKind::Kept || Arc::ptr_eq(old, &valid.messages()[at]) => {
                    fate.clone()
                }
                _ => mended(),
            }
        };
        history.messages().iter().zip(&self.went).map(fate).collect()
    }
}

fn is_notice(message: &Message) -> bool {
    message
        .parts
        .iter()
        .all(|part| matches!(part, Part::Text(text) if text.origin == Origin::Notice))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::message::{Role, ToolCall, ToolResult};
    use proptest::prelude::*;

    /// Messages that are valid only by chance: ids used twice, missing or early results, replies in a row.
    fn message(kind: usize, id: usize, number: usize) -> Message {
        let id = format!("c{id}");
        let call = |id: &str| Part::ToolCall(ToolCall::new(id, "look", Default::default()));
        match kind {
            0 => Message::user(format!("prompt {number}")),
            1 => Message::assistant(format!("answer {number}")),
            2 => Message::new(Role::Assistant, vec![Part::text(format!("I look {number}")), call(&id)]),
            3 => Message::results(vec![ToolResult::new(id, Some(true), format!("output {number}"))]),
            4 => Message::new(Role::User, Vec::new()),
            5 => Message::new(Role::System, vec![Part::text(format!("system {number}"))]),
            _ => {
                let results = ["c0", "c1"].map(|id| ToolResult::new(id, Some(true), format!("outputs {number}")));
                Message::results(results.to_vec())
            }
        }
    }

    #[test]
    fn a_message_is_found_again_where_it_went() {
        let [hello, go, looks, result] = [(1, 0), (0, 0), (2, 0), (3, 0)].map(|(kind, id)| message(kind, id, 7));
        let history: History = [hello, go, looks.clone(), looks, result.clone(), result]
            .into_iter()
            .collect();
        let mended = Mended::of(&history, None);
        // A notice is first now; the two replies are merged, and so are their two results.
        assert_eq!(mended.history.messages().len(), 5);
        assert_eq!(mended.places(&[0, 1, 2]), [1, 2, 3]);
        assert_eq!(mended.places(&[3, 2]), [3]);
        assert_eq!(mended.places(&[4, 9]), [4]);
    }

    proptest! {
        #[test]
        fn every_text_is_where_its_message_went(kinds in proptest::collection::vec((0usize..7, 0usize..3), 1..30)) {
            let all = kinds.iter().enumerate().map(|(number, &(kind, id))| message(kind, id, number));
            let history: History = all.collect();
            let mended = Mended::of(&history, None);
            for (at, message) in history.messages().iter().enumerate() {
                let texts = message.parts.iter().filter_map(|part| match part {
                    Part::Text(text) => Some(text.body.as_str()),
                    _ => None,
                });
                for text in texts {
                    let places = mended.places(&[at]);
                    prop_assert_eq!(places.len(), 1);
                    let new = &mended.history.messages()[places[0]];
                    let stands = |part: &Part| matches!(part, Part::Text(it) if it.body.as_str() == text);
                    prop_assert!(new.parts.iter().any(stands), "{text:?} in {new:?}");
                }
            }
            let fate = Fate::new(FateKind::Kept, "");
            let fates = vec![fate; mended.history.messages().len()];
            prop_assert_eq!(mended.fates(&history, fates).len(), history.messages().len());
        }
    }
}
