//! Matches results with the calls that they answer.

use crate::message::ToolResult;
use crate::text::hash::QuickMap;
use std::borrow::Borrow;
use std::hash::Hash;

/// The calls in a list of messages that is read from the start, each with a value.
///
/// Wherever order alone decides, one rule holds: a result answers the newest call before it with the same id. So a
/// reused id refers to the newest call from there on, and a result without an earlier call answers none, whatever
/// follows. The caller chooses whether a call has one answer, with [`answered`](Self::answered), or every result with
/// its id, with [`of`](Self::of).
///
/// Other rules differ on purpose: a request must have each answer directly after its call
/// ([`strategy`](crate::strategy)'s pairing, [`validate`](mod@crate::validate)), converted transcripts have as many
/// answers as calls, and the display for people ([`inspect`](mod@crate::inspect)) assigns a result to its call even if
/// the result comes first.
#[derive(Clone, Debug)]
pub struct Calls<Id, T>(QuickMap<Id, T>);

impl<Id, T> Default for Calls<Id, T> {
    fn default() -> Self {
        Calls(QuickMap::default())
    }
}

impl<Id: Borrow<str> + Eq + Hash, T> Calls<Id, T> {
    /// Records a call at this point.
    pub fn called(&mut self, id: Id, it: T) {
        self.0.insert(id, it);
    }

    /// The call that a result answers. Further results with its id answer it too.
    pub fn of(&self, result: &ToolResult) -> Option<&T> {
        self.0.get(&*result.call_id)
    }

    /// The call that a result answers, which is then answered: further results with its id answer nothing.
    pub fn answered(&mut self, result: &ToolResult) -> Option<T> {
        self.0.remove(&*result.call_id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::ToolCall;
    use serde_json::Map;

    /// For results among calls, each given by its id: the index of the call that each answers, with repeated and with
    /// single answers.
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
