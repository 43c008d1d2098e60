//! Which result answers which call.

use crate::message::ToolResult;
use crate::text::hash::QuickMap;
use std::borrow::Borrow;
use std::hash::Hash;

/// The calls of a list of messages that is read from its beginning, each with what is known of it.
///
/// One rule holds wherever the order alone decides: a result answers the newest call of its id that stands before it. So
/// an id that is used again means the newest call from there on, and a result without a call before it answers none,
/// whatever follows. Whether a call has one answer or every one that bears its id is for who asks to say, by
/// [`answered`](Self::answered) or [`of`](Self::of).
///
/// Other rules are others on purpose: what is sent must have each answer directly behind its call
/// ([`strategy`](crate::strategy)'s pairing, [`validate`](mod@crate::validate)), what is put into another form has as many
/// answers as calls, and what is shown to a person ([`inspect`](mod@crate::inspect)) gives a result before its call to that.
#[derive(Clone, Debug)]
pub struct Calls<Id, T>(QuickMap<Id, T>);

impl<Id, T> Default for Calls<Id, T> {
    fn default() -> Self {
        Calls(QuickMap::default())
    }
}

impl<Id: Borrow<str> + Eq + Hash, T> Calls<Id, T> {
    /// A call stands here.
    pub fn called(&mut self, id: Id, it: T) {
        self.0.insert(id, it);
    }

    /// The call that a result answers. Further results of its id answer it too.
    pub fn of(&self, result: &ToolResult) -> Option<&T> {
        self.0.get(&*result.call_id)
    }

    /// The call that a result answers, which has its answer then: another result of its id belongs to nothing.
    pub fn answered(&mut self, result: &ToolResult) -> Option<T> {
        self.0.remove(&*result.call_id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::ToolCall;
    use serde_json::Map;

    /// Of results among calls, both by their ids, the number of the call that each answers: any number of times, and once.
    fn answers(line: &str) -> Vec<(Option<usize>, Option<usize>)> {
        let (mut calls, mut open) = (Calls::default(), Calls::default());
        let mut found = Vec::new();
        for (number, word) in line.split(' ').enumerate() {
            match word.strip_prefix('=') {
                Some(id) => {
                    let result = ToolResult::new(id, Some(true), "");
                    found.push((calls.of(&result).copied(), open.answered(&result)));
                }
                None => {
                    let call = ToolCall::new(word, "Look", Map::new());
                    calls.called(call.id.clone(), number);
                    open.called(call.id, number);
                }
            }
        }
        found
    }

    #[test]
    fn a_result_answers_the_newest_call_of_its_id_before_it() {
        let both = |number| (Some(number), Some(number));
        assert_eq!(answers("a b =b =a"), [both(1), both(0)]);
        assert_eq!(answers("a =a a =a"), [both(0), both(2)], "an id is used again");
        assert_eq!(answers("a a =a"), [both(1)], "the first was never answered");
        assert_eq!(answers("=a a =a"), [(None, None), both(1)], "it came before its call");
        assert_eq!(answers("a =b"), [(None, None)], "an orphan");
        assert_eq!(answers("a =a =a"), [both(0), (Some(0), None)], "a second answer");
    }
}
