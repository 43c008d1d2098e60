//! Events of OpenHands: in a list, or one per line. Events of its SDK have a `kind`; older ones are an `action` or an
//! `observation` that names the action that caused it.

use crate::events;
use crate::format::{Form, Format};
use crate::gather::{self, Gather};
use crate::skim::Seen;
use crate::take::{self, Fields};
use crate::trajectory::thoughts;
use crate::{ReadError, Recording};
use codelet_context::message::{Origin, Part, Role};
use codelet_context::refusal::RefusedBy;
use serde_json::Value;
use std::collections::HashMap;

pub(crate) const FORM: Form = Form {
    shows: Some(shows),
    is_lines: true,
    is_items: true,
    ..Form::new("openhands", "events of OpenHands (a JSON list, or JSON lines)", read)
};

fn shows(first: &Seen) -> bool {
    let is_kind = |kind: &str| kind.ends_with("Event") || kind == "Condensation";
    let is_old = first.has("action") && first.has("args") || first.has("observation") && first.has("extras");
    first.has("source") && first.has("timestamp") && (first.string("kind").is_some_and(is_kind) || is_old)
}

fn read(bytes: &[u8]) -> Result<Recording, ReadError> {
    let mut story = Events::default();
    story.gather.warnings = events::each(bytes, |entry, notes| {
        let known = match entry.fields.contains_key("kind") {
            true => story.event(entry.fields),
            false => story.old(entry.fields),
        };
        if let Err(kind) = known {
            notes.unknown(entry.line, &kind);
        }
    })?;
    Ok(story.gather.finish(Format::Openhands))
}

#[derive(Default)]
struct Events {
    gather: Gather,
    /// The id of the current reply: each of its calls is a separate event.
    response: Option<String>,
    /// The calls of old events, by event number.
    calls: HashMap<u64, String>,
}

impl Events {
    /// Adds an event of the SDK.
    fn event(&mut self, mut event: Fields) -> Result<(), String> {
        let kind = take::string(&mut event, "kind").unwrap_or_default();
        let id = take::string(&mut event, "tool_call_id").unwrap_or_default();
        match kind.as_str() {
            "SystemPromptEvent" => {
                let mut prompt = take::object(&mut event, "system_prompt").unwrap_or_default();
                self.gather
                    .system(take::string(&mut prompt, "text").unwrap_or_default());
            }
            "MessageEvent" => {
                let is_agents = take::str(&event, "source") == "agent";
                let mut message = take::object(&mut event, "llm_message").unwrap_or_default();
                let mut parts: Vec<Part> = thoughts(&mut message);
                let origin = match take::str(&event, "source") {
                    "environment" | "hook" => Origin::Injected,
                    _ => Origin::Own,
                };
                parts.extend(gather::content(take::value(&mut message, "content"), origin));
                // Text that a skill adds to the user's.
                parts.extend(gather::content(
                    take::value(&mut event, "extended_content"),
                    Origin::Injected,
                ));
                let role = if is_agents { Role::Assistant } else { Role::User };
                self.gather.message(role, parts);
            }
            "ActionEvent" => {
                let response = take::string(&mut event, "llm_response_id");
                if response != self.response {
                    self.gather.close();
                    self.response = response;
                }
                let mut parts = thoughts(&mut event);
                parts.extend(gather::content(take::value(&mut event, "thought"), Origin::Own));
                let tool = take::string(&mut event, "tool_name").unwrap_or_default();
                let mut call = take::object(&mut event, "tool_call").unwrap_or_default();
                let mut function = take::object(&mut call, "function").unwrap_or(call);
                let parameters = match take::value(&mut function, "arguments") {
                    Value::Null => {
                        let mut action = take::object(&mut event, "action").unwrap_or_default();
                        action.remove("kind");
                        action
                    }
                    arguments => take::parameters(arguments),
                };
                parts.push(gather::call(id, tool, parameters));
                self.gather.reply(parts);
            }
            "ObservationEvent" => {
                let mut seen = take::object(&mut event, "observation").unwrap_or_default();
                let success = match exit_code(&seen) {
                    Some(code) => Some(code == 0),
                    None => take::success(&seen, "is_error"),
                };
                let given = ["content", "output"].into_iter().find(|name| seen.contains_key(*name));
                let output = given
                    .map(|name| gather::content(take::value(&mut seen, name), Origin::Own))
                    .unwrap_or_default();
                self.gather.result(gather::result(id, success, output));
            }
            "UserRejectObservation" => {
                let why = take::string(&mut event, "rejection_reason").unwrap_or_default();
                let mut result = gather::result(id, Some(false), vec![Part::text(format!("Action rejected: {why}"))]);
                result.refusal = Some(RefusedBy::User(why.into()));
                self.gather.result(result);
            }
            "AgentErrorEvent" => {
                let error = gather::text_in(&mut event, "error", Origin::Own);
                self.gather.result(gather::result(id, Some(false), error));
            }
            "Condensation" | "CondensationSummaryEvent" => {
                let summary = gather::text_in(&mut event, "summary", Origin::Summary);
                self.gather.prompt(summary.into_iter().collect());
            }
            "CondensationRequest"
            | "ConversationStateUpdateEvent"
            | "PauseEvent"
            | "ConversationErrorEvent"
            | "TokenEvent"
            | "LLMCompletionLogEvent"
            | "StreamingDeltaEvent" => {}
            _ => return Err(kind),
        }
        Ok(())
    }

    /// Adds an action or an observation of the older format.
    fn old(&mut self, mut event: Fields) -> Result<(), String> {
        if let Some(action) = take::string(&mut event, "action") {
            return self.action(&action, event);
        }
        let Some(kind) = take::string(&mut event, "observation") else {
            return Err(String::new());
        };
        let cause = event.get("cause").and_then(Value::as_u64);
        let text = take::string(&mut event, "content").unwrap_or_default();
        let extras = take::object(&mut event, "extras").unwrap_or_default();
        let Some(id) = cause.and_then(|cause| self.calls.remove(&cause)) else {
            return Ok(());
        };
        let success = match exit_code(&extras) {
            Some(code) => Some(code == 0),
            None if matches!(kind.as_str(), "error" | "user_rejected") => Some(false),
            None => None,
        };
        let mut result = gather::result(id, success, gather::text(Origin::Own, text));
        if kind == "user_rejected" {
            result.refusal = Some(RefusedBy::User("".into()));
        }
        self.gather.result(result);
        Ok(())
    }

    fn action(&mut self, action: &str, mut event: Fields) -> Result<(), String> {
        let number = event.get("id").and_then(Value::as_u64).unwrap_or_default();
        let is_agents = take::str(&event, "source") == "agent";
        let mut args = take::object(&mut event, "args").unwrap_or_default();
        let thought = gather::text_in(&mut args, "thought", Origin::Own);
        match action {
            "system" => self
                .gather
                .system(take::string(&mut args, "content").unwrap_or_default()),
            "message" | "finish" => {
                let name = if action == "finish" { "final_thought" } else { "content" };
                let said = gather::text_in(&mut args, name, Origin::Own);
                let role = if is_agents { Role::Assistant } else { Role::User };
                self.gather.message(role, thought.into_iter().chain(said));
            }
            // Internal actions of the program.
            "recall"
            | "change_agent_state"
            | "condensation"
            | "condensation_request"
            | "null"
            | "start"
            | "pause"
            | "resume"
            | "stop" => {}
            _ if !is_agents => {}
            _ => {
                let mut noted = take::object(&mut event, "tool_call_metadata").unwrap_or_default();
                let id = take::string(&mut noted, "tool_call_id").unwrap_or_else(|| format!("event_{number}"));
                let tool = take::string(&mut noted, "function_name").unwrap_or_else(|| action.to_owned());
                const OF_PROGRAM: [&str; 6] = [
                    "confirmation_state", "security_risk", "hidden", "is_static", "blocking", "is_input",
                ];
                args.remove("thought");
                args.retain(|name, value| !OF_PROGRAM.contains(&name.as_str()) && !value.is_null());
                self.calls.insert(number, id.clone());
                self.gather
                    .reply(thought.into_iter().chain([gather::call(id, tool, args)]));
            }
        }
        Ok(())
    }
}

/// Returns the exit status of a command, from its observation or the metadata of that; a negative one means none.
fn exit_code(observation: &Fields) -> Option<i64> {
    let code = |fields: &Fields| {
        let code = fields.get("exit_code").and_then(Value::as_i64);
        code.filter(|code| *code >= 0)
    };
    let metadata = observation.get("metadata").and_then(Value::as_object);
    code(observation).or_else(|| code(metadata?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sketch::sketch;
    use serde_json::json;

    fn said(file: &str) -> String {
        assert_eq!(crate::detect(file.as_bytes()), Some(Format::Openhands), "{file}");
        let document = crate::read(file.as_bytes(), None).expect("it is one");
        assert_eq!(document.warnings, []);
        sketch(&document)
    }

    #[test]
    fn events_of_the_sdk_are_read_as_a_list_and_as_lines() {
        let event = |kind: &str, source: &str, rest: Value| {
            let mut event =
                json!({"id": "e", "timestamp": "2026-09-01T10:00:00.000000", "source": source, "kind": kind});
            event.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
            event
        };
        let text = |text: &str| json!([{"type": "text", "text": text}]);
        let call = |id: &str, command: &str| {
            json!({"tool_name": "terminal", "tool_call_id": id, "llm_response_id": "r1", "thought": [],
                   "tool_call": {"id": id, "name": "terminal", "arguments": json!({"command": command}).to_string()}})
        };
        let events = [
            event(
                "SystemPromptEvent",
                "agent",
                json!({"system_prompt": {"type": "text", "text": "Be brief."}, "tools": []}),
            ),
            event(
                "MessageEvent",
                "user",
                json!({"llm_message": {"role": "user", "content": text("Build it.")}}),
            ),
            event("ActionEvent", "agent", call("c1", "make")),
            event("ActionEvent", "agent", call("c2", "ls")),
            event(
                "ObservationEvent",
                "environment",
                json!({"tool_call_id": "c1", "observation": {"content": text("no rule"), "is_error": false, "metadata": {"exit_code": 2}}}),
            ),
            event(
                "UserRejectObservation",
                "environment",
                json!({"tool_call_id": "c2", "rejection_reason": "no"}),
            ),
            event(
                "Condensation",
                "environment",
                json!({"forgotten_event_ids": ["e"], "summary": "so far"}),
            ),
            event(
                "MessageEvent",
                "agent",
                json!({"llm_message": {"role": "assistant", "content": text("It fails.")}}),
            ),
        ];
        let expected = "system: Be brief.\nuser: Build it.\n\
            call c1: terminal {\"command\":\"make\"}\ncall c2: terminal {\"command\":\"ls\"}\n\
            result c1 failed: no rule\nresult c2 failed: Action rejected: no\n-\n\
            user (summary): so far\nassistant: It fails.\n";
        assert_eq!(said(&json!(events).to_string()), expected);
        let lines: String = events.iter().map(|event| format!("{event}\n")).collect();
        assert_eq!(said(&lines), expected);
    }

    #[test]
    fn an_old_observation_answers_the_action_that_caused_it() {
        let time = "2025-09-01T10:00:00";
        let events = json!([
            {"id": 0, "timestamp": time, "source": "agent", "action": "system", "args": {"content": "Be brief."}},
            {"id": 1, "timestamp": time, "source": "user", "action": "message", "args": {"content": "Build it."}},
            {"id": 2, "timestamp": time, "source": "user", "action": "recall", "args": {"query": "Build it."}},
            {"id": 3, "timestamp": time, "source": "agent", "observation": "recall", "content": "x", "extras": {}, "cause": 2},
            {"id": 4, "timestamp": time, "source": "agent", "action": "run", "args": {"command": "make", "thought": "I try.", "hidden": false},
             "tool_call_metadata": {"function_name": "execute_bash", "tool_call_id": "t4"}},
            {"id": 5, "timestamp": time, "source": "agent", "observation": "run", "content": "no rule", "extras": {"metadata": {"exit_code": 2}}, "cause": 4},
            {"id": 6, "timestamp": time, "source": "environment", "observation": "agent_state_changed", "content": "", "extras": {}},
            {"id": 7, "timestamp": time, "source": "agent", "action": "finish", "args": {"final_thought": "It fails."}},
        ]);
        assert_eq!(
            said(&events.to_string()),
            "system: Be brief.\nuser: Build it.\nassistant: I try.\ncall t4: execute_bash {\"command\":\"make\"}\n\
             result t4 failed: no rule\nassistant: It fails.\n"
        );
    }
}
