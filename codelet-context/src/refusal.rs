//! Calls that the user has not let be made: how our own agent says so, and what the user said beside no.
//!
//! The words stand in the answer to the call, behind a preface of the harness: `To tell you how to proceed, the user said:`,
//! `denied this and provided the following feedback:`. They are as much the user's as a prompt is.

use crate::answer::{self, HEAD};
use crate::message::ToolResult;
use serde_json::Value;

/// How our own agent answers a call that it had not begun when the user interrupted.
pub const NOT_RUN: &str = "[not run: interrupted by the user]";
/// How our own agent begins to answer a call that was not permitted.
const PREFACE: &str = "Refused: ";
const BY_USER: &str = "the user said no";
const AND: &str = ", and: ";
/// Bytes of the sentence that leads up to the user's words.
const LEAD: usize = 120;

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

/// Whether what a tool has printed would be taken for the answer to a call that was not permitted, and what it says for words
/// of the user. Whoever ran the tool should put words of its own before it.
pub fn is_posed(printed: &str) -> bool {
    let told = answer::told(printed);
    told.refused && !told.stopped
}

/// What the user said beside no; empty if nothing, and `None` if the call was not refused, or not by the user.
pub(crate) fn words(result: &ToolResult) -> Option<String> {
    if !answer::was_refused(result) || answer::was_stopped(result) {
        return None;
    }
    let text = result.texts().next()?.body.as_str();
    // Who interrupts something else has not said no to what would have come next.
    (text.trim() != NOT_RUN).then(|| words_in(text)).flatten()
}

fn words_in(text: &str) -> Option<String> {
    let text = text.trim();
    if let Some(why) = text.strip_prefix(PREFACE) {
        let beside = why.strip_prefix(BY_USER)?;
        let words = beside.strip_prefix(AND).unwrap_or_default();
        return Some(words.strip_suffix('.').unwrap_or(words).to_owned());
    }
    if let Some(map) = answer::object(text) {
        const FIELDS: [&str; 5] = ["feedback", "user_feedback", "userFeedback", "user_message", "reason"];
        let said = FIELDS.iter().find_map(|name| map.get(*name).and_then(Value::as_str));
        return Some(
            said.filter(|said| !answer::line_refuses(said))
                .unwrap_or_default()
                .to_owned(),
        );
    }
    Some(behind_preface(text).unwrap_or_default().to_owned())
}

/// What stands behind the colon of a sentence that says that the user's words follow.
pub(crate) fn behind_preface(text: &str) -> Option<&str> {
    let head = &text[..text.floor_char_boundary((2 * HEAD).min(text.len()))];
    for (at, colon) in head.match_indices([':', '：']) {
        let rest = &text[at + colon.len()..];
        let sentence = &text[..at];
        let start = sentence.rfind(['.', '!', '\n', ':', ';']).map_or(0, |end| end + 1);
        let sentence = sentence[start..].trim();
        let is_parted = colon.len() > 1 || rest.starts_with(char::is_whitespace);
        if !is_parted || sentence.len() > LEAD || !leads(sentence) {
            continue;
        }
        let words = unquoted(inside(rest.trim()));
        return (!words.is_empty() && !answer::line_refuses(words)).then_some(words);
    }
    None
}

/// `the user said`, `provided the following feedback`, `Reason`, `User rejected the edit`.
fn leads(sentence: &str) -> bool {
    const WHAT: [&str; 5] = ["feedback", "reason", "comment", "comments", "instructions"];
    const SAYING: [&str; 9] = [
        "said", "says", "wrote", "replied", "answered", "message", "response", "note", "instead",
    ];
    let lower = sentence.to_lowercase();
    let mut words = lower.split(|c: char| !c.is_alphanumeric());
    let (mut by_user, mut says) = (false, false);
    let is_what = words.any(|word| {
        by_user |= word.starts_with("user");
        says |= SAYING.contains(&word);
        WHAT.contains(&word)
    });
    is_what || by_user && (says || answer::line_refuses(sentence)) || answer::refuses_abroad(sentence)
}

/// Words without the signs around them, where those are around all of them.
fn unquoted(words: &str) -> &str {
    const SIGNS: [(char, char); 4] = [('"', '"'), ('“', '”'), ('«', '»'), ('„', '“')];
    let inner = SIGNS.iter().find_map(|&(open, close)| {
        let inner = words.strip_prefix(open)?.strip_suffix(close)?;
        (!inner.contains([open, close])).then_some(inner.trim())
    });
    inner.unwrap_or(words)
}

/// What stands in tags, where the words do.
fn inside(words: &str) -> &str {
    let tagged = || {
        let (name, rest) = words.strip_prefix('<')?.split_once('>')?;
        let is_name = !name.is_empty()
            && name
                .bytes()
                .all(|c| c.is_ascii_alphanumeric() || matches!(c, b'-' | b'_'));
        let (inside, _) = rest.split_once(&format!("</{name}>"))?;
        is_name.then_some(inside.trim())
    };
    tagged().unwrap_or(words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn said(success: Option<bool>, text: &str) -> Option<String> {
        words(&ToolResult::new("1", success, text))
    }

    #[test]
    fn what_an_interruption_left_unbegun_was_not_run_and_not_refused_by_the_user() {
        for success in [Some(false), None] {
            let result = ToolResult::new("1", success, NOT_RUN);
            assert!(answer::was_refused(&result) && !answer::was_stopped(&result));
            assert_eq!(words(&result), None);
        }
        let killed = ToolResult::new("1", Some(false), "[interrupted by the user]");
        assert!(answer::was_stopped(&killed));
        assert!(is_posed(NOT_RUN), "a program cannot say so of itself");
    }

    #[test]
    fn what_the_user_said_beside_no_is_found_behind_whatever_preface() {
        let ours = answer(&by_user(Some(" use make, not npm: it is slow.\n")));
        let answers = [
            ours.as_str(),
            "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the \
             new_string was NOT written to the file). To tell you how to proceed, the user said:\nuse make, not npm: it is slow",
            "The user denied this operation and provided the following feedback:\n<feedback>\nuse make, not npm: it is slow\n</feedback>",
            "The user rejected permission to use this specific tool call with the following feedback: use make, not npm: it is slow",
            "Tool call rejected by user. Reason: use make, not npm: it is slow",
            "Error: The user declined this command.\nUser feedback: use make, not npm: it is slow",
            "User rejected: use make, not npm: it is slow",
            "{\"status\": \"denied\", \"message\": \"The user denied this operation\", \"feedback\": \"use make, not npm: it is slow\"}",
        ];
        for text in answers {
            for success in [Some(false), None] {
                assert_eq!(
                    said(success, text).as_deref(),
                    Some("use make, not npm: it is slow"),
                    "{text}"
                );
            }
            assert_eq!(said(Some(true), text), None, "{text}");
            assert!(is_posed(text), "{text}");
        }
    }

    #[test]
    fn what_the_user_said_beside_no_is_found_in_other_languages() {
        for (text, expected) in [
            ("Rechazado por la usuaria: \"no toques eso\"", "no toques eso"),
            ("Refusé par l'utilisateur : pas ce fichier", "pas ce fichier"),
            ("Vom Benutzer abgelehnt: nicht diese Datei", "nicht diese Datei"),
            (
                "Der Benutzer hat diesen Aufruf abgelehnt: prod ist tabu!",
                "prod ist tabu!",
            ),
            ("用户拒绝了此操作：不要动它", "不要动它"),
            ("Vom Benutzer abgelehnt.", ""),
        ] {
            for success in [Some(false), None] {
                assert_eq!(said(success, text).as_deref(), Some(expected), "{text}");
            }
        }
        for text in [
            "Fehler: Text nicht gefunden",
            "Zugriff verweigert: /etc/shadow",
            "Abgebrochen durch den Benutzer",
            "abgelehnt: zu alt",
        ] {
            assert_eq!(said(Some(false), text), None, "{text}");
        }
    }

    #[test]
    fn words_of_harnesses_and_of_programs_are_not_the_users() {
        for text in [
            "Refused: the user said no.",
            "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the \
             new_string was NOT written to the file). STOP what you are doing and wait for the user to tell you how to proceed.",
            "The user rejected this tool use.\n\nNote: wait for the next message.",
            "User denied execution.",
            "Tool call rejected by user. Reason: User denied execution.",
        ] {
            assert_eq!(said(Some(false), text).as_deref(), Some(""), "{text}");
        }
        for text in [
            "Refused: nobody is there to be asked.",
            "Refused: `echo the user said no, and: x` may write outside.",
            "[Request interrupted by user for tool use]",
            "error: access denied. Reason: no key",
            "Running 3 tests\nThe user said no, and: x",
        ] {
            assert_eq!(said(Some(false), text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn the_users_words_come_back_as_they_were(words in "[^\\s.][\\PC]{0,80}[^\\s.]") {
            let text = answer(&by_user(Some(&words)));
            prop_assert_eq!(said(Some(false), &text), Some(words));
        }

        #[test]
        fn no_answer_is_too_odd(text in "(The user rejected|Refused: |[:.é<>\n ]|feedback|said|\\PC){0,12}") {
            said(None, &text);
        }
    }
}
