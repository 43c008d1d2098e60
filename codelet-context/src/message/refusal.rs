//! Calls that were not permitted: who has refused them, and what the user said beside no.
//!
//! Whoever reads a recording, or runs a session, sets [`ToolResult::refusal`](super::ToolResult::refusal) from a field of the harness. What a tool prints
//! decides nothing: a page, a file or a program can be worded like any refusal.

use std::sync::Arc;

/// How our own agent answers a call that it had not begun when the user interrupted.
pub const NOT_RUN: &str = "[not run: interrupted by the user]";
/// How our own agent begins to answer a call that was not permitted.
pub const PREFACE: &str = "Refused: ";
const BY_USER: &str = "the user said no";
const AND: &str = ", and: ";

/// Who has refused a call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// A rule of the harness, or nobody was there to be asked.
    Rule,
    /// The user, with what the user said beside; empty if that is nothing, or not known.
    User(Arc<str>),
}

/// The answers that harnesses give in place of an output when the user says no: how they begin, and what stands before and
/// behind the user's words in those that hold some.
const ANSWERS: &[(&str, &str, &str)] = &[
    // Claude Code
    (
        "The user doesn't want to proceed with this tool use.",
        " To tell you how to proceed, the user said:\n",
        "",
    ),
    // OpenCode
    (
        "The user rejected permission to use this specific tool call",
        " with the following feedback: ",
        "",
    ),
    // Cline and Roo
    (
        "The user denied this operation",
        " and provided the following feedback:\n<feedback>\n",
        "\n</feedback>",
    ),
    // Codelet
    ("Refused: the user said no", AND, "."),
];

/// What the user said beside no, if a whole answer is one that a harness gives when the user says no; may be empty. Only for
/// answers that are known to be the harness's.
pub fn words_in(answer: &str) -> Option<&str> {
    let answer = answer.trim();
    ANSWERS.iter().find_map(|(start, before, behind)| {
        let rest = answer.strip_prefix(start)?;
        // Claude Code puts an explanation in brackets between the two.
        let head = &rest[..rest.floor_char_boundary(HEAD.min(rest.len()))];
        let words = head.find(before).map(|at| &rest[at + before.len()..]);
        Some(words.map_or("", |words| words.strip_suffix(behind).unwrap_or(words).trim()))
    })
}

/// Bytes behind the beginning of such an answer in which the user's words begin.
const HEAD: usize = 200;

/// The answer to a call that was not permitted, and why not.
pub fn answer(why: &str) -> String {
    format!("{PREFACE}{why}.")
}

/// Why a call was not permitted of which the user says no, and what the user says beside.
pub fn by_user(words: Option<&str>) -> String {
    let words = words.map(|words| words.trim().trim_end_matches('.'));
    match words.filter(|words| !words.is_empty()) {
        Some(words) => format!("{BY_USER}{AND}{words}"),
        None => BY_USER.to_owned(),
    }
}

/// Who has refused a call that got this [answer] from our own agent.
pub fn told_in(answer: &str) -> Refusal {
    words_in(answer).map_or(Refusal::Rule, |words| Refusal::User(words.into()))
}

/// Whether what a tool has printed would be taken for the answer to a call that was not permitted, or not begun. Whoever ran the
/// tool should put words of its own before it.
pub fn is_posed(printed: &str) -> bool {
    let printed = printed.trim();
    printed.starts_with(PREFACE) || printed == NOT_RUN || words_in(printed).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_answers_of_known_harnesses_are_taken_apart() {
        let rejected = "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file \
                        edit, the new_string was NOT written to the file).";
        for text in [
            &format!("{rejected} To tell you how to proceed, the user said:\nuse make"),
            "The user rejected permission to use this specific tool call with the following feedback: use make",
            "The user denied this operation and provided the following feedback:\n<feedback>\nuse make\n</feedback>",
            "Refused: the user said no, and: use make.",
        ] {
            assert_eq!(words_in(text), Some("use make"), "{text}");
            assert!(is_posed(text), "{text}");
            assert_eq!(words_in(&format!("page\n{text}")), None, "{text}");
        }
        for text in [
            &format!("{rejected} STOP what you are doing and wait for the user to tell you how to proceed."),
            "The user rejected permission to use this specific tool call.",
            "The user denied this operation.",
            "Refused: the user said no.",
        ] {
            assert_eq!(words_in(text), Some(""), "{text}");
        }
        assert_eq!(words_in("Refused: nobody is there to be asked."), None);
        assert_eq!(words_in("User rejected the edit: x"), None);
    }

    proptest! {
        #[test]
        fn the_users_words_come_back_as_they_were(words in "[^\\s.][\\PC]{0,80}[^\\s.]") {
            let text = answer(&by_user(Some(&words)));
            prop_assert_eq!(told_in(&text), Refusal::User(words.into()));
        }

        #[test]
        fn no_answer_is_too_odd(text in "(The user rejected|Refused: |the user said no|, and: |[:.é<>\n ]|\\PC){0,12}") {
            words_in(&text);
        }
    }
}
