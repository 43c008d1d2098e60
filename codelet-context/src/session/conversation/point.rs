//! Places in a conversation to go back to, as many as there are prompts.

use super::Conversation;
use crate::budget::occupancy::Occupancy;
use crate::budget::tracker::TokenTracker;
use std::sync::Arc;

/// A place in a conversation to go [back](Conversation::go_back) to.
///
/// A session keeps one for every prompt. Between two edits a history and its view only grow, so that a number of messages says how both were:
/// all places there share one copy of what that does not tell.
#[derive(Clone, Debug)]
pub struct Point {
    /// Messages of the history.
    said: usize,
    /// What had filled the window, and the bill.
    occupancy: Occupancy,
    tracker: TokenTracker,
    base: Arc<Base>,
}

/// A conversation as it was at the first place after an edit.
#[derive(Debug)]
struct Base {
    said: usize,
    revision: u64,
    /// All but the history.
    rest: Conversation,
}

impl Point {
    /// How many messages had been said.
    pub fn said(&self) -> usize {
        self.said
    }
}

impl Conversation {
    /// This place. `before` is the one before it in this conversation: where nothing was edited since, it takes time and room for a few words,
    /// else in proportion to the number of messages that are shown.
    pub fn point(&self, before: Option<&Point>) -> Point {
        let said = self.history.messages().len();
        let shared = before.map(|before| &before.base);
        let shared = shared.filter(|base| base.revision == self.revision && base.said <= said);
        let base = shared.cloned().unwrap_or_else(|| {
            Arc::new(Base {
                said,
                revision: self.revision,
                rest: *self.earlier().rest,
            })
        });
        Point {
            said,
            occupancy: self.occupancy,
            tracker: self.tracker,
            base,
        }
    }

    /// Goes back to a place of this conversation, as [`restore`](Self::restore) does: what a compaction has taken out of the view since stands in
    /// it again. Says no to a place of another conversation, which has more messages. Takes time in proportion to the bytes of
    /// what was said until then.
    pub fn go_back(&mut self, point: &Point) -> bool {
        let Some(messages) = self.history.messages().get(..point.said) else {
            return false;
        };
        let messages = messages.to_vec();
        let later = std::mem::replace(self, point.base.rest.clone());
        let (before, since) = messages.split_at(point.base.said.min(messages.len()));
        self.say_again(before);
        for message in since {
            self.append(message.clone());
        }
        (self.occupancy, self.tracker) = (point.occupancy, point.tracker);
        self.settle_as(later);
        true
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::super::Due;
    use super::*;
    use crate::budget::policy::{CompactionConfig, Reason};
    use crate::message::{Message, Part, Role};

    #[test]
    fn places_between_two_edits_share_what_they_do_not_tell_themselves() {
        let mut conversation = Conversation::new(CompactionConfig::new(200_000), 0);
        let mut points: Vec<Point> = Vec::new();
        for number in 0..200 {
            points.push(conversation.point(points.last()));
            conversation.append(Message::user(format!("Prompt {number}. {}", "word ".repeat(300))));
            conversation.append(Message::new(Role::Assistant, vec![Part::text("Done.")]));
            if number == 120 {
                conversation.compact(Due::whole(Reason::Asked)).unwrap();
            }
        }
        let bases = points.chunk_by(|one, next| Arc::ptr_eq(&one.base, &next.base));
        assert_eq!(bases.count(), 2);
    }
}
