//! Session logs of Kimi's agent (`wire.jsonl`): the events that its user interface showed.

use crate::ReadError;
use crate::format::{Form, Format};
use crate::gather::{self, Gather};
use crate::lines::Lines;
use crate::recording::{Billed, Recording};
use crate::skim::Seen;
use crate::take::{self, Fields};
use codelet_context::message::{Origin, Part, Role};
use serde_json::Value;

pub(crate) const FORM: Form = Form {
    shows: Some(shows),
    is_lines: true,
    ..Form::new("kimi", "a session of Kimi's agent (wire.jsonl)", record)
};

fn shows(first: &Seen) -> bool {
    let message = first.get("message");
    let kind = message.and_then(|message| message.get_string("type"));
    kind == Some("TurnBegin") && message.is_some_and(|message| message.get("payload").is_some())
}

fn record(bytes: &[u8]) -> Result<Recording, ReadError> {
    let mut lines = Lines::new(bytes)?;
    let mut session = KimiSession::default();
    while let Some(mut entry) = lines.next()? {
        let time = entry.fields.get("timestamp").and_then(Value::as_f64);
        let Some(mut message) = take::object(&mut entry.fields, "message") else {
            // The header describes the file.
            continue;
        };
        let kind = take::string(&mut message, "type").unwrap_or_default();
        let payload = take::object(&mut message, "payload").unwrap_or_default();
        let time = time
            .filter(|seconds| (0.0..1e11).contains(seconds))
            .map(|seconds| (seconds * 1_000.0) as u64);
        if !session.event(&kind, payload, time) {
            lines.note_unknown(entry.line, &kind);
        }
    }
    session.gather.warnings = lines.into_warnings();
    Ok(session.gather.finish(Format::Kimi))
}

#[derive(Default)]
struct KimiSession {
    gather: Gather,
    /// The time at which the step began.
    step: Option<u64>,
    /// A call whose arguments are still arriving in fragments.
    open: Option<(String, String, String)>,
}

impl KimiSession {
    /// Adds an event; returns whether its kind is known.
    fn event(&mut self, kind: &str, mut payload: Fields, time: Option<u64>) -> bool {
        if kind == "ToolCallPart" {
            if let (Some((_, _, arguments)), Some(more)) =
                (&mut self.open, take::string(&mut payload, "arguments_part"))
            {
                arguments.push_str(&more);
            }
            return true;
        }
        self.call();
        match kind {
            "TurnBegin" | "SteerInput" => {
                let parts = gather::content(take::value(&mut payload, "user_input"), Origin::Own);
                self.gather.message(Role::User, parts);
            }
            "StepBegin" => {
                self.gather.close();
                self.step = time;
            }
            "ContentPart" => self.reply(gather::content(Value::Object(payload), Origin::Own), time),
            "ToolCall" => {
                let id = take::string(&mut payload, "id").unwrap_or_default();
                let mut function = take::object(&mut payload, "function").unwrap_or_default();
                let tool = take::string(&mut function, "name").unwrap_or_default();
                let arguments = take::string(&mut function, "arguments").unwrap_or_default();
                self.open = Some((id, tool, arguments));
            }
            "ToolResult" => {
                let id = take::string(&mut payload, "tool_call_id").unwrap_or_default();
                let mut value = take::object(&mut payload, "return_value").unwrap_or_default();
                let success = take::success(&value, "is_error");
                let mut output = gather::content(take::value(&mut value, "output"), Origin::Own);
                if output.is_empty() {
                    output.extend(gather::text_in(&mut value, "message", Origin::Own));
                }
                self.gather.result(gather::result(id, success, output));
            }
            "StatusUpdate" => {
                if let (Some(billed), Some(request)) = (billed(&payload), self.gather.requests.newest()) {
                    request.billed = Some(billed);
                }
            }
            "TurnEnd"
            | "StepInterrupted"
            | "CompactionBegin"
            | "CompactionEnd"
            | "HookTriggered"
            | "HookResolved"
            | "MCPLoadingBegin"
            | "MCPLoadingEnd"
            | "Notification"
            | "PlanDisplay"
            | "ApprovalRequest"
            | "ApprovalResponse"
            | "ApprovalRequestResolved"
            | "QuestionRequest"
            | "ToolCallRequest" => {}
            // A subagent's work is a conversation of its own.
            "SubagentEvent" => {}
            _ => return false,
        }
        true
    }

    fn call(&mut self) {
        if let Some((id, tool, arguments)) = self.open.take() {
            let parameters = take::parameters(Value::String(arguments));
            self.reply(vec![gather::call(id, tool, parameters)], None);
        }
    }

    fn reply(&mut self, parts: Vec<Part>, time: Option<u64>) {
        let before = self.gather.len();
        self.gather.reply(parts);
        if self.gather.len() > before {
            self.gather.requests.replied(before, self.step.or(time), None, None);
        }
    }
}

fn billed(payload: &Fields) -> Option<Billed> {
    let count = |name| take::number(payload, &["token_usage", name]).unwrap_or(0);
    Billed::exclusive(
        count("input_other"),
        count("input_cache_creation"),
        count("input_cache_read"),
        count("output"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sketch::sketch;

    #[test]
    fn events_are_messages_and_what_sub_agents_do_is_none_of_them() {
        let event = |kind: &str, payload: &str| {
            format!("{{\"timestamp\":1700000000.5,\"message\":{{\"type\":\"{kind}\",\"payload\":{payload}}}}}\n")
        };
        let file = [
            "{\"type\":\"metadata\",\"protocol_version\":\"1.2\"}\n".to_owned(),
            event("TurnBegin", r#"{"user_input":[{"type":"text","text":"Build it."}]}"#),
            event("StepBegin", r#"{"n":1}"#),
            event("ContentPart", r#"{"type":"think","think":"hm","encrypted":null}"#),
            event("ContentPart", r#"{"type":"text","text":"I try."}"#),
            event("ToolCall", r#"{"type":"function","id":"c1","function":{"name":"Shell","arguments":"{\"comm"}}"#),
            event("ToolCallPart", r#"{"arguments_part":"and\":\"make\"}"}"#),
            event("StatusUpdate", r#"{"token_usage":{"input_other":3,"output":5,"input_cache_read":40,"input_cache_creation":0}}"#),
            event("SubagentEvent", r#"{"parent_tool_call_id":"c1","event":{"type":"ContentPart","payload":{"type":"text","text":"x"}}}"#),
            event("ToolResult", r#"{"tool_call_id":"c1","return_value":{"is_error":true,"output":"no rule","message":"Failed with exit code: 2.","display":[]}}"#),
            event("StepBegin", r#"{"n":2}"#),
            event("ContentPart", r#"{"type":"text","text":"It fails."}"#),
            event("TurnEnd", "{}"),
        ]
        .concat();
        assert_eq!(crate::detect(file.as_bytes()), Some(Format::Kimi));
        let recording = record(file.as_bytes()).expect("it is one");
        assert_eq!(
            sketch(&recording.document),
            "user: Build it.\nthinking: hm\nassistant: I try.\ncall c1: Shell {\"command\":\"make\"}\n\
             result c1 failed: no rule\nassistant: It fails.\n"
        );
        assert_eq!(recording.requests.len(), 2);
        assert_eq!(recording.requests[0].began, Some(1_700_000_000_500));
        assert_eq!(
            recording.requests[0].billed.map(|billed| billed.usage.prompt()),
            Some(43)
        );
        assert_eq!(recording.document.warnings, []);
    }
}
