//! A hook's answer, read from its exit status and from JSON on its standard output.

use crate::paint::{clean, clip};
use codelet_agent::hooks::Objection;
use codelet_text::printed::Cleaner;
use codelet_tools::hook::{Ended, Status};
use serde_json::Value;

/// The maximum text passed to the model, in characters: as context and as a reason.
const CONTEXT: usize = 10_000;
const REASON: usize = 4_000;
/// The maximum text shown to a person, in columns.
const SHOWN: usize = 300;
/// The exit status that means an objection.
const BLOCKS: i32 = 2;

/// One hook's answer.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Answer {
    /// A notice that the hook changed files that programs act on, as a fragment after its name.
    pub changed: Option<String>,
    /// The objection, if any.
    pub objection: Option<Objection>,
    /// True if the turn is to end here. As in Claude Code this takes precedence over an objection of any hook to its
    /// end.
    pub ends: bool,
    /// Context for the model.
    pub context: Option<String>,
    /// A message for the user, shown every time.
    pub message: Option<String>,
    /// A problem reported to the user once: a fragment after the hook's name.
    pub trouble: Option<String>,
}

/// Parses a hook's answer to this event.
pub fn read(event: &str, ended: &Ended) -> Answer {
    match ended.status {
        Status::Exited(0) if !ended.is_whole => {
            trouble("printed more than 256 KiB, so its answer is ignored".to_owned())
        }
        Status::Exited(0) => of_output(event, ended.output.trim()),
        Status::Exited(BLOCKS) => {
            let said = [&ended.errors, &ended.output].into_iter().map(|text| text.trim());
            let why = said
                .into_iter()
                .find(|text| !text.is_empty())
                .unwrap_or("it gave no reason");
            denied(event, why)
        }
        Status::Exited(status) => trouble(format!("failed with status {status}{}", behind(&ended.errors))),
        Status::Killed(signal) => trouble(format!("was ended by signal {signal}{}", behind(&ended.errors))),
        Status::TimedOut => trouble("took too long and was stopped".to_owned()),
        Status::Unknown => trouble("ended with an unknown status".to_owned()),
        Status::Interrupted => Answer::default(),
    }
}

fn trouble(what: String) -> Answer {
    Answer {
        trouble: Some(what),
        ..Answer::default()
    }
}

/// Returns the objection, or a notice to the user if the event leaves nothing to object to.
fn denied(event: &str, why: &str) -> Answer {
    match event {
        "SessionStart" | "PostCompact" | "Notification" => trouble(format!(
            "asked to block, which has no effect at this event: {}",
            shown(why)
        )),
        _ => Answer {
            objection: Some(Objection::Deny(words(why, REASON))),
            ..Answer::default()
        },
    }
}

fn of_output(event: &str, output: &str) -> Answer {
    let is_context = matches!(event, "UserPromptSubmit" | "SessionStart");
    if output.starts_with('{') {
        match serde_json::from_str::<Value>(output) {
            Ok(said) => return of_json(event, &said),
            Err(_) if is_context => {}
            Err(error) => {
                return trouble(format!(
                    "printed JSON that cannot be read, so its answer is ignored: {error}"
                ));
            }
        }
    }
    Answer {
        context: (is_context && !output.is_empty()).then(|| words(output, CONTEXT)),
        ..Answer::default()
    }
}

fn of_json(event: &str, said: &Value) -> Answer {
    let text = |value: &Value, name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
    let specific = said.get("hookSpecificOutput").unwrap_or(&Value::Null);
    let reason = text(specific, "permissionDecisionReason").or_else(|| text(said, "reason"));
    let reason = reason.unwrap_or_else(|| "it gave no reason".to_owned());
    let decision = text(specific, "permissionDecision").or_else(|| text(said, "decision"));
    let stops = said.get("continue") == Some(&Value::Bool(false));
    let mut answer = match decision.as_deref() {
        Some("deny" | "block") => denied(event, &reason),
        Some("ask") if event == "PreToolUse" => Answer {
            objection: Some(Objection::Ask(words(&reason, REASON))),
            ..Answer::default()
        },
        Some("allow" | "approve") if event == "PreToolUse" => {
            trouble("permits a call, which has no effect: only you and your settings permit calls".to_owned())
        }
        Some("approve" | "allow") | None => Answer::default(),
        Some(other) => trouble(format!("answered `{}`, which has no effect here", shown(other))),
    };
    match event {
        "UserPromptSubmit" | "PreToolUse" if stops => {
            let why = text(said, "stopReason").unwrap_or(reason);
            answer.objection = Some(Objection::Deny(words(&why, REASON)));
        }
        "Stop" if stops => answer.ends = true,
        _ if stops => answer.trouble = Some("asked to stop the session, which has no effect at this event".to_owned()),
        _ => {}
    }
    if let Some(other) = specific
        .get("updatedInput")
        .filter(|_| !matches!(answer.objection, Some(Objection::Deny(_))))
    {
        // Only the call that was permitted may run, so the model has to make the changed call itself.
        let why = format!("the call is wanted with these parameters instead, so make that one: {other}");
        answer.objection = Some(Objection::Deny(words(&why, REASON)));
    }
    let context = text(specific, "additionalContext").or_else(|| text(said, "additionalContext"));
    answer.context = context
        .filter(|words| !words.trim().is_empty())
        .map(|said| words(&said, CONTEXT));
    let why = text(said, "stopReason").filter(|_| answer.ends);
    let messages = [text(said, "systemMessage"), why];
    let messages: Vec<String> = messages.into_iter().flatten().map(|said| shown(&said)).collect();
    answer.message = (!messages.is_empty()).then(|| messages.join("; "));
    answer
}

/// Prepares text for the model: without terminal control sequences, at most `most` characters.
fn words(said: &str, most: usize) -> String {
    let mut cleaner = Cleaner::default();
    let text = cleaner.push(said.as_bytes()) + &cleaner.finish();
    match text.char_indices().nth(most) {
        None => text,
        Some((at, _)) => format!("{}\n[{} more bytes were left out]", &text[..at], text.len() - at),
    }
}

/// Prepares text for a person, on one line.
fn shown(said: &str) -> String {
    clip(&clean(said.trim()), SHOWN)
}

fn behind(errors: &str) -> String {
    match errors.trim().lines().next_back() {
        Some(line) => format!(": {}", shown(line)),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use proptest::prelude::*;

    fn ended(status: Status, output: &str, errors: &str) -> Ended {
        Ended {
            changed: None,
            status,
            output: output.to_owned(),
            errors: errors.to_owned(),
            is_whole: true,
        }
    }

    fn of(event: &str, output: &str) -> Answer {
        read(event, &ended(Status::Exited(0), output, ""))
    }

    fn deny(why: &str) -> Option<Objection> {
        Some(Objection::Deny(why.to_owned()))
    }

    #[test]
    fn status_2_objects_and_another_one_does_not() {
        let blocked = read("PreToolUse", &ended(Status::Exited(2), "out", "no rm\n"));
        assert_eq!(blocked.objection, deny("no rm"));
        let failed = read("PreToolUse", &ended(Status::Exited(1), "", "one\ntwo\n"));
        assert_eq!(
            (failed.objection, failed.trouble.unwrap()),
            (None, "failed with status 1: two".to_owned())
        );
        assert!(
            read("SessionStart", &ended(Status::Exited(2), "", "x"))
                .objection
                .is_none()
        );
    }

    #[test]
    fn json_decides_in_both_of_its_forms() {
        let new = |decision: &str| {
            let said = format!(
                r#"{{"hookSpecificOutput": {{"permissionDecision": "{decision}", "permissionDecisionReason": "why"}}}}"#
            );
            of("PreToolUse", &said)
        };
        assert_eq!(new("deny").objection, deny("why"));
        assert_eq!(new("ask").objection, Some(Objection::Ask("why".to_owned())));
        assert!(new("allow").objection.is_none() && new("allow").trouble.is_some());
        assert_eq!(
            of("Stop", r#"{"decision": "block", "reason": "tests"}"#).objection,
            deny("tests")
        );
        assert_eq!(of("PreToolUse", r#"{"decision": "approve"}"#).objection, None);
        assert_eq!(
            of("UserPromptSubmit", r#"{"continue": false, "stopReason": "late"}"#).objection,
            deny("late")
        );
        let other = of(
            "PreToolUse",
            r#"{"hookSpecificOutput": {"permissionDecision": "allow", "updatedInput": {"command": "ls"}}}"#,
        );
        assert!(matches!(other.objection, Some(Objection::Deny(why)) if why.contains(r#"{"command":"ls"}"#)));
    }

    #[test]
    fn a_stop_ends_the_turn_and_its_reason_is_for_the_user() {
        let both = of(
            "Stop",
            r#"{"decision": "block", "reason": "tests", "continue": false, "stopReason": "out of budget"}"#,
        );
        assert!(both.ends);
        assert_eq!(both.message.as_deref(), Some("out of budget"));
        let prompt = of("UserPromptSubmit", r#"{"continue": false, "stopReason": "late"}"#);
        assert_eq!((prompt.ends, prompt.message), (false, None));
    }

    #[test]
    fn plain_output_is_context_where_others_take_it_so_and_bounded() {
        assert_eq!(of("UserPromptSubmit", "on call: Ada").context.unwrap(), "on call: Ada");
        assert_eq!(of("SessionStart", "{ not json").context.unwrap(), "{ not json");
        assert_eq!(of("PostToolUse", "fine"), Answer::default());
        assert!(of("PostToolUse", "{ not json").trouble.is_some());
        let long = of("SessionStart", &"é".repeat(20_000)).context.unwrap();
        assert!(long.chars().count() < 10_050 && long.contains("left out"));
        assert_eq!(of("SessionStart", "a\u{1b}[31mb").context.unwrap(), "ab");
    }

    proptest! {
        #[test]
        fn no_output_is_too_odd(output in "(\\{|\\}|\"[a-zA-Z]{0,20}\"|:|,|true|null|\\PC|\n){0,30}") {
            for event in super::super::written::EVENTS {
                of(event, &output);
            }
        }
    }
}
