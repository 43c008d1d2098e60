//! Trajectories of SWE-agent: a history of thoughts, actions and observations, with tool calls or without.

use crate::gather::{self, Gather};
use crate::lines;
use crate::take::{self, Fields};
use crate::trajectory;
use crate::{Format, ReadError, Recording};
use codelet_context::message::{Action, Origin, Part, Role};
use serde_json::Value;
use std::collections::VecDeque;

pub(crate) fn read(bytes: &[u8]) -> Result<Recording, ReadError> {
    let (mut file, warnings) = lines::whole(bytes, "a trajectory: an object with history")?;
    let mut story = Trajectory {
        gather: Gather::of(warnings),
        ..Trajectory::default()
    };
    if !file.contains_key("history") && file.contains_key("trajectory") {
        // Some published trajectories hold only the steps.
        for (index, step) in trajectory::messages(&mut file, "trajectory")?.enumerate() {
            story.step(index, step);
        }
    } else {
        for (index, message) in trajectory::messages(&mut file, "history")?.enumerate() {
            story.message(index, message);
        }
    }
    Ok(story.gather.finish(Format::SweAgent))
}

#[derive(Default)]
struct Trajectory {
    gather: Gather,
    /// The calls of the last reply, and the number of them without a result.
    calls: VecDeque<String>,
    open: usize,
    /// The last reply had no action that could be run.
    no_action: bool,
}

impl Trajectory {
    fn message(&mut self, index: usize, mut message: Fields) {
        let demonstration = take::flag(&message, "is_demo") || take::str(&message, "message_type") == "demonstration";
        let origin = if demonstration { Origin::Injected } else { Origin::Own };
        match take::str(&message, "role") {
            "system" if self.gather.len() == 0 => {
                self.gather
                    .system(trajectory::plain(take::value(&mut message, "content")));
            }
            "system" => {
                let parts = gather::content(take::value(&mut message, "content"), Origin::Injected);
                self.gather.message(Role::User, parts);
            }
            "assistant" => self.reply(index, message, origin),
            "tool" => self.answer(message),
            _ if self.open > 0 => self.answer(message),
            _ => {
                // After a reply without an action, the harness explains what it expects.
                let origin = if std::mem::take(&mut self.no_action) {
                    Origin::Injected
                } else {
                    origin
                };
                let parts = gather::content(take::value(&mut message, "content"), origin);
                self.gather.message(Role::User, parts);
            }
        }
    }

    fn reply(&mut self, index: usize, mut message: Fields, origin: Origin) {
        let mut parts = trajectory::thoughts(&mut message);
        let calls = trajectory::calls(&mut message);
        let action = take::string(&mut message, "action").filter(|action| !action.trim().is_empty());
        let is_shown = origin == Origin::Injected;
        self.calls.clear();
        self.no_action = false;
        match action {
            _ if !calls.is_empty() => {
                parts.extend(gather::content(take::value(&mut message, "content"), origin));
                self.calls.extend(calls.iter().filter_map(|part| match part {
                    Part::ToolCall(call) => Some(call.id.to_string()),
                    _ => None,
                }));
                parts.extend(calls.into_iter().map(|part| if is_shown { undone(part) } else { part }));
            }
            Some(action) => {
                // The content is the thought, and the action in a fence; the action becomes the call.
                let thought = match take::string(&mut message, "thought") {
                    Some(thought) => thought,
                    None => trajectory::plain(take::value(&mut message, "content")),
                };
                parts.extend(gather::text(origin, String::from(thought.trim_end())));
                let id = format!("step_{index}");
                let parameters = Fields::from_iter([(String::from("command"), Value::from(action.trim_end()))]);
                let call = gather::call(id.as_str(), "bash", parameters);
                parts.push(if is_shown { undone(call) } else { call });
                self.calls.push_back(id);
            }
            None => {
                parts.extend(gather::content(take::value(&mut message, "content"), origin));
                self.no_action = true;
            }
        }
        self.open = self.calls.len();
        self.gather.message(Role::Assistant, parts);
    }

    /// Adds an observation; whether the action succeeded is not recorded.
    fn answer(&mut self, mut message: Fields) {
        let named = take::list(&mut message, "tool_call_ids")
            .into_iter()
            .find_map(|id| match id {
                Value::String(id) => Some(id),
                _ => None,
            });
        let named = named.or_else(|| take::string(&mut message, "tool_call_id"));
        let next = self.calls.pop_front();
        self.open = self.open.saturating_sub(1);
        let id = named.or(next).unwrap_or_default();
        let output = gather::content(take::value(&mut message, "content"), Origin::Own);
        self.gather.result(gather::result(id, None, output));
    }

    fn step(&mut self, index: usize, mut step: Fields) {
        if index == 0 {
            for message in take::objects(&mut step, "query") {
                self.message(0, message);
            }
        }
        let observation = take::value(&mut step, "observation");
        if !step.contains_key("content") {
            let response = take::value(&mut step, "response");
            step.insert(String::from("content"), response);
        }
        self.reply(index, step, Origin::Own);
        if self.open > 0 {
            self.answer(Fields::from_iter([(String::from("content"), observation)]));
        }
    }
}

/// Removes the action from a call of a demonstration, which had no effect here.
fn undone(part: Part) -> Part {
    match part {
        Part::ToolCall(call) => Part::ToolCall(call.doing(Action::default())),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sketch::check;
    use serde_json::json;

    fn history(messages: Value) -> String {
        json!({"environment": "e", "trajectory": [], "history": messages, "info": {}}).to_string()
    }

    #[test]
    fn tool_calls_and_their_observations() {
        let call =
            json!({"id": "c1", "type": "function", "function": {"name": "open", "arguments": "{\"path\":\"a.py\"}"}});
        let file = history(json!([
            {"role": "system", "content": "Use tools.", "message_type": "system_prompt"},
            {"role": "user", "content": [{"type": "text", "text": "Fix it."}], "message_type": "observation"},
            {"role": "assistant", "content": "Open it.", "thought": "Open it.", "action": "open a.py", "tool_calls": [call]},
            {"role": "tool", "content": "x = 1", "tool_call_ids": ["c1"]},
        ]));
        check(
            read,
            &file,
            r#"system: Use tools.
            user: Fix it.
            assistant: Open it.
            call c1: open {"path":"a.py"}
            result c1 unknown: x = 1"#,
        );
    }

    #[test]
    fn an_action_in_text_is_a_call_and_the_next_message_its_observation() {
        let file = history(json!([
            {"role": "user", "content": "A worked example.", "is_demo": true},
            {"role": "user", "content": "Fix it."},
            {"role": "assistant", "content": "Look.\n```\nls\n```", "thought": "Look.\n", "action": "ls\n"},
            {"role": "user", "content": "a.py"},
            {"role": "assistant", "content": "Hm.", "thought": "Hm.", "action": ""},
            {"role": "user", "content": "Your output was not formatted correctly."},
        ]));
        check(
            read,
            &file,
            r#"user (injected): A worked example.
            -
            user: Fix it.
            assistant: Look.
            call step_2: bash {"command":"ls"}
            result step_2 unknown: a.py
            assistant: Hm.
            user (injected): Your output was not formatted correctly."#,
        );
    }

    #[test]
    fn a_file_of_steps_alone_is_read_from_them() {
        let query = json!([{"role": "system", "content": "S"}, {"role": "user", "content": "Fix it."}]);
        let file = json!({"trajectory": [
            {"query": query, "thought": "Look.", "action": "ls", "response": "Look. ls", "observation": "a.py"},
            {"thought": "Done.", "action": "submit", "response": "", "observation": ""},
        ]});
        check(
            read,
            &file.to_string(),
            r#"system: S
            user: Fix it.
            assistant: Look.
            call step_0: bash {"command":"ls"}
            result step_0 unknown: a.py
            assistant: Done.
            call step_1: bash {"command":"submit"}
            result step_1 unknown:"#,
        );
    }
}
