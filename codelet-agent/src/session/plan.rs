//! Plan mode: a session only looks, and its answer is a plan that the user accepts, changes first, or leaves.

use crate::session::Session;
use codelet_context::message::{Part, Role};
use codelet_context::pin::Pin;

/// The sentence for the user once there may be a plan.
pub const ANSWERED: &str = "Plan mode: /plan accept carries it out, /plan edit lets you change it first, /plan off leaves; or say what to change.";
/// The sentence for words behind `/plan` that mean nothing.
pub const USAGE: &str = "Usage: /plan, /plan accept, /plan edit or /plan off. Nothing was done.";
/// The sentence for who accepts or leaves where no plan is made.
pub const NOT_NOW: &str = "This is not plan mode; /plan enters it.";
/// The sentence for who accepts what is not there.
pub const NONE_YET: &str = "There is no plan yet: the last thing that was said is not an answer.";
/// The prompt with which the last answer is accepted.
const ACCEPTED: &str = "I accept this plan. Carry it out.";
/// The same of a plan that the user has written, which stands behind it.
const CHANGED: &str = "Carry out this plan:";

/// The deeds of `/plan`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wanted<'a> {
    /// To enter plan mode.
    Enter,
    /// To carry out the last answer, or what the user has written in its place.
    Accept(&'a str),
    /// To have the last answer before the user, to be changed.
    Edit,
    /// To leave plan mode.
    Leave,
    /// Something else: the user is told the [usage](USAGE).
    Unknown,
}

/// Reads what stands behind `/plan`.
pub fn wanted(arguments: &str) -> Wanted<'_> {
    let (word, rest) = arguments.split_once(char::is_whitespace).unwrap_or((arguments, ""));
    match (word.to_lowercase().as_str(), rest.trim()) {
        ("", "") => Wanted::Enter,
        ("accept", plan) => Wanted::Accept(plan),
        ("edit", "") => Wanted::Edit,
        ("off", "") => Wanted::Leave,
        _ => Wanted::Unknown,
    }
}

/// The last answer, if nothing was said since: which message it is, and its words.
pub fn proposed(session: &Session) -> Option<(usize, String)> {
    let messages = session.conversation().history().messages();
    let (at, last) = messages.iter().enumerate().next_back()?;
    if last.role != Role::Assistant || last.calls().next().is_some() {
        return None;
    }
    let words = last.parts.iter().filter_map(|part| match part {
        Part::Text(text) => Some(text.body.as_str()),
        _ => None,
    });
    let words = words.collect::<Vec<_>>().join("\n");
    (!words.trim().is_empty()).then(|| (at, words.trim().to_owned()))
}

/// What keeps a plan through every compaction, and the prompt that has it carried out: the last answer, unless the user has written
/// another.
pub fn accepted(answer: usize, written: &str) -> (Pin, String) {
    match written {
        "" => (Pin::Message(answer), ACCEPTED.to_owned()),
        written => (Pin::Text(written.to_owned()), format!("{CHANGED}\n\n{written}")),
    }
}

/// What is written to have this plan carried out once it is changed.
pub fn to_be_changed(plan: &str) -> String {
    format!("/plan accept\n{plan}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wanted_is_read_from_the_words_behind_the_command() {
        for (arguments, expected) in [
            ("", Wanted::Enter),
            ("accept", Wanted::Accept("")),
            ("Accept", Wanted::Accept("")),
            ("accept\n1. One\n2. Two", Wanted::Accept("1. One\n2. Two")),
            ("edit", Wanted::Edit),
            ("off", Wanted::Leave),
            ("edit the tests", Wanted::Unknown),
            ("how to test", Wanted::Unknown),
        ] {
            assert_eq!(wanted(arguments), expected, "{arguments}");
        }
    }
}
