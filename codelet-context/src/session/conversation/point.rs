//! Points in a conversation to go back to, one per prompt.

use super::{Conversation, Earlier};
use crate::budget::occupancy::Occupancy;
use crate::budget::tracker::TokenTracker;
use std::sync::Arc;

/// A point in a conversation to go [back](Conversation::go_back) to.
///
/// A session keeps one for every prompt. Between two edits, the history and its view only grow, so a message count
/// identifies their state: all points in between share one copy of everything else.
#[derive(Clone, Debug)]
pub struct Point {
    /// The number of messages in the history.
    said: usize,
    /// The occupancy and the usage at this point.
    occupancy: Occupancy,
    tracker: TokenTracker,
    /// The state at the first point after an edit.
    base: Arc<Earlier>,
}

impl Point {
    /// The number of messages in the history at this point.
    pub fn said(&self) -> usize {
        self.said
    }
}

impl Conversation {
    /// The current point. `before` is the previous one of this conversation: without an edit since, this takes constant
    /// time and space, otherwise time and space linear in the number of messages in the view.
    pub fn point(&self, before: Option<&Point>) -> Point {
        let said = self.history.messages().len();
        let shared = before.map(|before| &before.base);
        let shared = shared.filter(|base| base.rest.revision == self.revision && base.messages.len() <= said);
        let base = shared.cloned().unwrap_or_else(|| Arc::new(self.earlier()));
        Point {
            said,
            occupancy: self.occupancy,
            tracker: self.tracker,
            base,
        }
    }

    /// Goes back to a point of this conversation, as [`restore`](Self::restore) does: the view again includes what
    /// compactions removed since. Returns false for a point of another conversation with more messages. Takes time
    /// linear in the size of the history up to the point.
    pub fn go_back(&mut self, point: &Point) -> bool {
        let Some(messages) = self.history.messages().get(..point.said) else {
            return false;
        };
        let messages = messages.to_vec();
        let Earlier { messages: known, rest } = &*point.base;
        let later = std::mem::replace(self, (**rest).clone());
        let (before, since) = messages.split_at(known.len().min(messages.len()));
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
