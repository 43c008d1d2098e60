//! Whether the answer to a question holds one: harnesses say in words of their own that the user gave none.

use crate::answer;
use serde_json::{Map, Value};

/// Bytes of a text that says so.
const MOST: usize = 400;
/// Fields that hold nothing but what was answered.
const ANSWERS: [&str; 4] = ["answer", "answers", "response", "responses"];

/// What was answered, without what a harness puts around it; empty where nothing was.
pub(super) fn answer_in(text: &str) -> String {
    let text = untagged(text);
    if is_unanswered(text) {
        return String::new();
    }
    if let Some(listed) = listed(text) {
        let pairs = listed
            .iter()
            .map(|(question, answer)| format!("\"{question}\"=\"{answer}\""));
        return pairs.collect::<Vec<_>>().join(", ");
    }
    let Some(object) = answer::object(text) else {
        return text.to_owned();
    };
    let mut said = Vec::new();
    leaves(object.values(), &mut said);
    let texts: Vec<&str> = said.iter().filter_map(|value| value.as_str()).collect();
    let is_all = object.len() == 1 && object.keys().all(|name| ANSWERS.contains(&name.as_str()));
    match texts.as_slice() {
        [only] => (*only).to_owned(),
        [_, ..] if is_all => texts.join("; "),
        _ => text.to_owned(),
    }
}

/// Each question with what was answered to it, of a list that harnesses give when not all of them were: `- "Which?"`, and on
/// the next line `Answer: this one` or `(No answer provided)`.
pub(super) fn listed(text: &str) -> Option<Vec<(&str, &str)>> {
    let mut found = Vec::new();
    let mut lines = text.lines().map(str::trim).peekable();
    while let Some(line) = lines.next() {
        let question = line.strip_prefix("- \"").and_then(|line| line.strip_suffix('"'));
        let (Some(question), Some(next)) = (question, lines.peek()) else {
            continue;
        };
        if let Some(answer) = next.strip_prefix("Answer:") {
            found.push((question, answer.trim()));
        } else if next.starts_with("(No answer") {
            found.push((question, ""));
        }
    }
    (!found.is_empty()).then_some(found)
}

/// A text without the one tag that all of it stands in: `<answer>…</answer>`.
fn untagged(text: &str) -> &str {
    let text = text.trim();
    let inside = || {
        let (name, rest) = text.strip_prefix('<')?.split_once('>')?;
        let is_name = !name.is_empty()
            && name
                .bytes()
                .all(|c| c.is_ascii_alphanumeric() || c == b'_' || c == b'-');
        let inside = rest.strip_suffix('>')?.strip_suffix(name)?.strip_suffix("</")?;
        (is_name && !inside.contains(&format!("</{name}>"))).then(|| inside.trim())
    };
    inside().unwrap_or(text)
}

/// Whether a text says that nobody has answered, or is an object or a tag without an answer.
pub(super) fn is_unanswered(text: &str) -> bool {
    let text = untagged(text);
    if let Some(object) = answer::object(text) {
        let mut said = Vec::new();
        leaves(object.values(), &mut said);
        return said.is_empty() || of_reason(&object).is_some_and(says_no_answer);
    }
    text.is_empty() || says_no_answer(text)
}

/// What the fields of an object say, however deep they lie.
fn leaves<'a>(values: impl IntoIterator<Item = &'a Value>, said: &mut Vec<&'a Value>) {
    let mut values: Vec<&Value> = values.into_iter().collect();
    values.reverse();
    while let Some(value) = values.pop() {
        match value {
            Value::Object(map) => values.extend(map.values().rev()),
            Value::Array(all) => values.extend(all.iter().rev()),
            Value::String(text) if text.trim().is_empty() => {}
            Value::Null => {}
            value => said.push(value),
        }
    }
}

/// What an object says where it holds no answer.
fn of_reason(object: &Map<String, Value>) -> Option<&str> {
    let mut answers = Vec::new();
    let fields = object.iter().filter(|(name, _)| ANSWERS.contains(&name.as_str()));
    fields.for_each(|(_, value)| leaves([value], &mut answers));
    let names = ["error", "message", "reason", "status", "output", "result"];
    let mut said = names.iter().filter_map(|name| object.get(*name)?.as_str());
    said.next().filter(|_| answers.is_empty())
}

/// Whether a sentence of a harness says so. What users say themselves does not begin with `User`, and is seldom about an
/// answer.
fn says_no_answer(text: &str) -> bool {
    let text = text.trim();
    if let Some(listed) = listed(text) {
        return listed.iter().all(|(_, answer)| answer.is_empty());
    }
    if text.len() > MOST {
        return false;
    }
    let lower = text.to_lowercase().replace(['\'', '’'], "");
    let words: Vec<&str> = lower
        .split(|c: char| !(c.is_alphanumeric() || c == '_'))
        .filter(|word| !word.is_empty())
        .collect();
    let words = match words.as_slice() {
        ["error", rest @ ..] | ["the", rest @ ..] => rest,
        all => all,
    };
    let words = match words {
        ["the", rest @ ..] => rest,
        all => all,
    };
    match words {
        ["user" | "human" | "operator", rest @ ..] => user_gives_none(rest),
        ["no", "response" | "answer" | "reply" | "input" | "selection", rest @ ..] => {
            rest.is_empty()
                || has_any(
                    &rest[..1],
                    &[
                        "after", "from", "given", "has", "in", "made", "provided", "received", "was", "within",
                    ],
                )
        }
        ["question" | "questions" | "dialog" | "prompt" | "request", rest @ ..] => {
            let rest = rest
                .iter()
                .position(|word| !PASSIVE.contains(word))
                .map_or(&[][..], |at| &rest[at..]);
            has_any(&rest[..rest.len().min(1)], &LEFT) || matches!(rest, ["timed", "out", ..] | ["not", "answered", ..])
        }
        ["cannot" | "cant" | "unable" | "could", rest @ ..] => {
            rest.contains(&"ask")
                && has_any(
                    rest,
                    &["user", "question", "questions", "interactive", "noninteractive"],
                )
        }
        ["timed", "out"] | ["timed", "out", "waiting", ..] | ["timeout", "waiting", ..] => true,
        [only] => *only == "unanswered" || *only == "timeout" || LEFT.contains(only),
        _ => lower.ends_with("without answering") || lower.ends_with("without answering."),
    }
}

const PASSIVE: [&str; 6] = ["been", "dialog", "has", "have", "was", "were"];
/// What becomes of a question that is not answered.
#[rustfmt::skip]
const LEFT: [&str; 9] = [
    "canceled", "cancelled", "closed", "dismissed", "ignored", "skipped", "timeout", "unanswered", "expired",
];

/// Whether what the user did, or where the user is, gives no answer.
fn user_gives_none(words: &[&str]) -> bool {
    /// Words within which it is said.
    const NEAR: usize = 5;
    const NOT: [&str; 11] = [
        "not", "didnt", "doesnt", "hasnt", "havent", "isnt", "wasnt", "never", "cannot", "cant", "couldnt",
    ];
    #[rustfmt::skip]
    const ANSWERING: [&str; 12] = [
        "answer", "answered", "available", "choose", "present", "provide", "provided", "reached", "reply", "replied",
        "respond", "responded",
    ];
    const AWAY: [&str; 5] = ["absent", "afk", "away", "offline", "unavailable"];
    let near = &words[..words.len().min(NEAR)];
    let is_away = matches!(near, ["is" | "was" | "appears" | "seems", .., _]) && has_any(near, &AWAY);
    let is_left = near
        .iter()
        .find(|word| !PASSIVE.contains(word))
        .is_some_and(|word| LEFT.contains(word));
    let not = near.iter().position(|word| NOT.contains(word));
    is_away
        || is_left
        || not.is_some_and(|not| has_any(&near[not..], &ANSWERING))
        || matches!(
            words,
            ["declined" | "refused", "to", "answer", ..] | ["wants", "to", "clarify", ..]
        )
        || words.ends_with(&["without", "answering"])
}

fn has_any(words: &[&str], of: &[&str]) -> bool {
    words.iter().any(|word| of.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_answer_that_says_that_there_is_none_is_none() {
        for text in [
            "User dismissed ask_user dialog without answering.",
            "The user did not answer the questions.",
            "User didn't respond in time",
            "User skipped the question.",
            "No response from the user within 300 seconds.",
            "No answer provided",
            "User is away. Proceed with your best judgement.",
            "User is not available to respond and will not be reached.",
            "User dismissed the question",
            "Error: Cannot ask the user in non-interactive mode.",
            "Questions were skipped",
            "The dialog was dismissed.",
            "Timed out waiting for the user",
            "{\"answers\":{\"q1\":{\"answers\":[]}}}",
            "{\"answers\":{}}",
            "{\"answers\":{},\"message\":\"The user did not answer\"}",
            "<answer></answer>",
            "skipped",
            "The user wants to clarify these questions.\n\nQuestions asked:\n- \"Which?\"\n  (No answer provided)",
        ] {
            assert!(is_unanswered(text), "{text}");
            assert_eq!(answer_in(text), "", "{text}");
        }
    }

    #[test]
    fn what_the_user_says_is_an_answer() {
        for (text, expected) in [
            ("no", "no"),
            ("No input validation, please", "No input validation, please"),
            ("No response headers are needed", "No response headers are needed"),
            ("none, drop the feature", "none, drop the feature"),
            ("I cannot answer that, ask Bob", "I cannot answer that, ask Bob"),
            ("Users that are away get a mail", "Users that are away get a mail"),
            ("User has approved your plan.", "User has approved your plan."),
            ("User selected \"Skip login\"", "User selected \"Skip login\""),
            ("skip the login", "skip the login"),
            ("<answer>\nSQLite\n</answer>", "SQLite"),
            ("<b>a</b> or <b>b</b>", "<b>a</b> or <b>b</b>"),
            (
                "The user wants to clarify these questions.\n\nQuestions asked:\n- \"Wait?\"\n  Answer: Until Stop\n- \"Which?\"\n  (No answer provided)",
                "\"Wait?\"=\"Until Stop\", \"Which?\"=\"\"",
            ),
            ("{\"reply\":\"Once\"}", "Once"),
            ("{\"approved\":false}", "{\"approved\":false}"),
            (
                "{\"answers\":{\"q1\":{\"answers\":[\"None of the above\",\"use redis\"]}}}",
                "None of the above; use redis",
            ),
        ] {
            assert_eq!(answer_in(text), expected);
        }
    }

    proptest! {
        #[test]
        fn no_answer_is_too_odd(text in "(The |user |No |answer|did not |dismissed |[<>/{}\":é]|\\PC){0,12}") {
            if listed(&text).is_none() {
                prop_assert!(answer_in(&text).len() <= text.len());
            }
        }
    }
}
