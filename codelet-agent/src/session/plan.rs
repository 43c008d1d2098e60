//! Plan mode: a session only reads, and its answer is a plan that the user accepts, edits first, or leaves.

use crate::session::Session;
use codelet_context::message::{Part, Role};
use codelet_context::pin::Pin;

/// Tells the user what to do once there may be a plan.
pub const ANSWERED: &str = "Plan mode: /plan accept carries out this plan, /plan edit lets you change it first, /plan off leaves plan mode; or type what to change.";
/// The usage of `/plan`.
pub const USAGE: &str = "Usage: /plan, /plan accept, /plan edit or /plan off. Nothing was done.";
/// The reply to accepting or leaving outside plan mode.
pub const NOT_NOW: &str = "Not in plan mode; /plan enters it.";
/// The reply to accepting a plan that does not exist.
pub const NONE_YET: &str = "There is no plan yet: the last message is not an answer.";
/// The prompt that accepts the last answer; the user's remark follows it.
const ACCEPTED: &str = "I accept this plan. Carry it out.";
/// The start of the prompt that accepts a plan written by the user, which follows it.
const CHANGED: &str = "Carry out this plan:";

/// The actions of `/plan`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wanted<'a> {
    /// Enter plan mode.
    Enter,
    /// Carry out the last answer, with this remark, which may be empty.
    Accept(&'a str),
    /// Carry out this plan instead of the last answer.
    Replace(&'a str),
    /// Let the user edit the last answer.
    Edit,
    /// Leave plan mode.
    Leave,
    /// Anything else: show the [usage](USAGE).
    Unknown,
}

/// Parses the arguments of `/plan`.
pub fn wanted(arguments: &str) -> Wanted<'_> {
    let word = arguments.split_whitespace().next().unwrap_or_default();
    let rest = arguments.trim_start().strip_prefix(word).unwrap_or_default();
    // `/plan edit` puts the plan on the lines after the command.
    let is_below = rest.trim_start_matches([' ', '\t', '\r']).starts_with('\n');
    match (word.to_lowercase().as_str(), rest.trim()) {
        ("", "") => Wanted::Enter,
        ("accept", plan) if is_below && !plan.is_empty() => Wanted::Replace(plan),
        ("accept", remark) => Wanted::Accept(remark),
        ("edit", "") => Wanted::Edit,
        ("off", "") => Wanted::Leave,
        _ => Wanted::Unknown,
    }
}

/// Returns the index and the text of the last answer, if nothing followed it.
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

/// Returns the pin that keeps a plan through every compaction, and the prompt that carries it out: that of the last
/// answer, or the one that replaces it. `hide` redacts what the user has written.
pub fn accepted(answer: usize, wanted: Wanted<'_>, hide: impl Fn(&str) -> String) -> (Pin, String) {
    match wanted {
        Wanted::Replace(plan) => {
            let plan = hide(plan);
            let prompt = format!("{CHANGED}\n\n{plan}");
            (Pin::Text(plan), prompt)
        }
        Wanted::Accept(remark) if !remark.is_empty() => {
            (Pin::Message(answer), format!("{ACCEPTED}\n\n{}", hide(remark)))
        }
        _ => (Pin::Message(answer), ACCEPTED.to_owned()),
    }
}

/// Returns the command that carries out this plan, for the user to edit.
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
            ("accept\n1. One\n2. Two", Wanted::Replace("1. One\n2. Two")),
            ("accept  \n\n1. One", Wanted::Replace("1. One")),
            ("accept\n", Wanted::Accept("")),
            ("accept but skip step 2", Wanted::Accept("but skip step 2")),
            ("accept with this:\nno tests", Wanted::Accept("with this:\nno tests")),
            ("edit", Wanted::Edit),
            ("off", Wanted::Leave),
            ("edit the tests", Wanted::Unknown),
            ("how to test", Wanted::Unknown),
        ] {
            assert_eq!(wanted(arguments), expected, "{arguments}");
        }
    }
}
