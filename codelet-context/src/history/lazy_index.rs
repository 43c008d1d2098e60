//! The ranking index of a history, brought up to date when it is asked for: a session far from an edit asks nothing of
//! it, and one that is near asks while a provider answers.

use crate::message::Message;
use crate::ranking::RankingIndex;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// The index; see the module documentation.
#[derive(Default)]
pub(crate) struct LazyIndex {
    /// The index of all messages; unset while some are pending.
    current: OnceLock<RankingIndex>,
    pending: Mutex<Pending>,
}

/// The index as it was last asked for, and the messages appended since.
#[derive(Default)]
struct Pending {
    index: RankingIndex,
    messages: Vec<Arc<Message>>,
}

impl LazyIndex {
    /// Appends a message.
    pub fn append(&mut self, message: Arc<Message>) {
        let pending = self.pending.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(index) = self.current.take() {
            pending.index = index;
        }
        pending.messages.push(message);
    }

    /// The index of all messages. Takes time proportional to the bytes appended since it was last asked for.
    pub fn get(&self) -> &RankingIndex {
        self.current.get_or_init(|| {
            let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
            let Pending { mut index, messages } = std::mem::take(&mut *pending);
            messages.iter().for_each(|message| index.append(message));
            index
        })
    }

    pub fn get_mut(&mut self) -> &mut RankingIndex {
        self.get();
        self.current.get_mut().expect("it was just asked for")
    }
}

impl Clone for LazyIndex {
    fn clone(&self) -> Self {
        LazyIndex {
            current: OnceLock::from(self.get().clone()),
            pending: Mutex::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{Part, Role, ToolCall, ToolResult};

    #[test]
    fn an_index_that_is_asked_for_once_is_the_one_that_is_asked_for_after_each_message() {
        let call = Part::ToolCall(ToolCall::new("a", "Bash", Default::default()));
        let result = ToolResult::new("a", Some(true), "walnut_crate at line 7\nchestnut_crate at line 9");
        let messages = [
            Message::user("Where is the walnut crate?"),
            Message::new(Role::Assistant, vec![call]),
            Message::results(vec![result]),
            Message::assistant("chestnut_crate is at line 9."),
        ];
        let (mut at_once, mut at_last) = (LazyIndex::default(), LazyIndex::default());
        for message in messages.map(Arc::new) {
            at_once.append(message.clone());
            at_once.get();
            at_last.append(message);
        }
        let copy = at_last.clone();
        let shown = |index: &RankingIndex| {
            let lines: Vec<_> = (0..index.messages)
                .flat_map(|message| index.lines_of(message, 0))
                .collect();
            let scores: Vec<f32> = index.segments.iter().map(|segment| segment.score).collect();
            (lines, scores)
        };
        assert_eq!(shown(at_last.get()), shown(at_once.get()));
        assert_eq!(shown(copy.get()), shown(at_once.get()));
        assert_eq!(at_once.get().messages, 4);
    }
}
