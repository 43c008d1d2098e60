//! Calls that were not permitted: the source of the refusal, and the user's comment on it.
//!
//! The reader of a transcript or the running session sets [`ToolResult::refusal`](super::ToolResult::refusal) from a
//! field of the harness. Tool output is never a source: a page, a file or a program can imitate any refusal.

use std::sync::Arc;

/// Our agent's answer to a call that had not started when the user interrupted.
pub const NOT_RUN: &str = "[not run: interrupted by the user]";
/// The start of our agent's answer to a call that was not permitted.
pub const PREFACE: &str = "Refused: ";
const BY_USER: &str = "the user said no";
const AND: &str = ", and: ";

/// The source of a refusal.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RefusedBy {
    /// A permission rule of the harness, or there was no user to ask.
    Rule,
    /// The user, with the user's comment; empty if there is none or it is unknown.
    User(Arc<str>),
}

/// The answers that harnesses give in place of an output when the user refuses: their first words, and the text before
/// and after the user's comment in those that include one.
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

/// The user's comment, if a whole answer is one that a harness gives when the user refuses; may be empty. Only for
/// answers that are known to come from the harness.
pub fn words_in(answer: &str) -> Option<&str> {
    let (rest, before, behind) = taken_apart(answer)?;
    let words = introduced(rest, before).map(|at| rest[at + before.len()..].trim_end());
    Some(words.map_or("", |words| words.strip_suffix(behind).unwrap_or(words).trim()))
}

/// The position in such an answer of the words that introduce the user's comment; `None` without one.
pub(crate) fn comment_at(answer: &str) -> Option<usize> {
    let (rest, before, _) = taken_apart(answer)?;
    let at = introduced(rest, before)?;
    Some(answer.len() - rest.len() + at)
}

/// The text behind the first words of such an answer, and the words around the user's comment.
fn taken_apart(answer: &str) -> Option<(&str, &'static str, &'static str)> {
    ANSWERS.iter().find_map(|(start, before, behind)| {
        let rest = answer.trim_start().strip_prefix(start)?;
        Some((rest, *before, *behind))
    })
}

/// The position of the words before the user's comment. Claude Code puts an explanation in brackets before them.
fn introduced(rest: &str, before: &str) -> Option<usize> {
    rest[..rest.floor_char_boundary(HEAD.min(rest.len()))].find(before)
}

/// The bytes after the start of such an answer within which the user's comment begins.
const HEAD: usize = 200;

/// The answer to a call that was not permitted, with the reason.
pub fn answer(why: &str) -> String {
    format!("{PREFACE}{why}.")
}

/// The reason for a refusal by the user, with the user's comment.
pub fn by_user(words: Option<&str>) -> String {
    let words = words.map(|words| words.trim().trim_end_matches('.'));
    match words.filter(|words| !words.is_empty()) {
        Some(words) => format!("{BY_USER}{AND}{words}"),
        None => BY_USER.to_owned(),
    }
}

/// The source of the refusal in this [answer] of our own agent.
pub fn told_in(answer: &str) -> RefusedBy {
    words_in(answer).map_or(RefusedBy::Rule, |words| RefusedBy::User(words.into()))
}

/// Returns whether a tool's output could be mistaken for the answer to a call that was not permitted or not started. If
/// so, the caller should put words of its own in front.
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
            let comment = comment_at(text).map(|at| &text[at..]);
            assert!(comment.is_some_and(|comment| comment.len() < text.len() && comment.contains("use make")));
            assert_eq!(words_in(&format!("page\n{text}")), None, "{text}");
        }
        for text in [
            &format!("{rejected} STOP what you are doing and wait for the user to tell you how to proceed."),
            "The user rejected permission to use this specific tool call.",
            "The user denied this operation.",
            "Refused: the user said no.",
        ] {
            assert_eq!(words_in(text), Some(""), "{text}");
            assert_eq!(comment_at(text), None, "{text}");
        }
        assert_eq!(words_in("Refused: nobody is there to be asked."), None);
        assert_eq!(words_in("User rejected the edit: x"), None);
    }

    proptest! {
        #[test]
        fn the_users_words_come_back_as_they_were(words in "[^\\s.][\\PC]{0,80}[^\\s.]") {
            let text = answer(&by_user(Some(&words)));
            prop_assert_eq!(told_in(&text), RefusedBy::User(words.into()));
        }

        #[test]
        fn no_answer_is_too_odd(text in "(The user rejected|Refused: |the user said no|, and: |[:.é<>\n ]|\\PC){0,12}") {
            words_in(&text);
        }
    }
}
