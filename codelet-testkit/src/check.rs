//! Tests in shape notation: a conversation before, a change, the conversation after.

use crate::shape;
use codelet_context::message::Message;
use codelet_context::view::View;

/// Checks that `change` makes the conversation `before` into `after`, both in shape notation.
///
/// ```
/// codelet_testkit::check(
///     "user: run the tests
///      call a: cargo test",
///     |view| {
///         view.messages.pop();
///     },
///     "user: run the tests",
/// );
/// ```
///
/// # Panics
/// If it does not, or a shape cannot be parsed; the message shows both conversations.
#[track_caller]
pub fn check(before: &str, change: impl FnOnce(&mut View), after: &str) {
    let mut view = View::new(messages(before));
    change(&mut view);
    assert_shape(view.messages.iter().map(|message| &**message), after);
}

/// Parses a conversation in shape notation.
///
/// # Panics
/// If the shape cannot be parsed.
#[track_caller]
pub fn messages(text: &str) -> Vec<Message> {
    match shape::parse(text) {
        Ok(messages) => messages,
        Err(error) => panic!("{error}\n{text}"),
    }
}

/// Checks that messages have this shape.
///
/// # Panics
/// If they do not; the message shows both, and the first line that differs.
#[track_caller]
pub fn assert_shape<'a>(found: impl IntoIterator<Item = &'a Message>, expected: &str) {
    let found = shape::exact(found);
    let expected = shape::exact(&messages(expected));
    if found != expected {
        let same = found.lines().zip(expected.lines()).take_while(|(a, b)| a == b).count();
        panic!(
            "differs from line {}\n--- expected\n{expected}\n--- found\n{found}",
            same + 1
        );
    }
}
