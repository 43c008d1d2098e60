//! Session files of Copilot CLI: a list of events.

use crate::attachment;
use crate::gather::{self, Gather};
use crate::lines::Lines;
use crate::take::{self, Fields};
use crate::{Format, ReadError, Recording};
use codelet_context::message::{Origin, Part, Role, ToolResult};
use codelet_context::refusal::RefusedBy;
use serde_json::{Value, json};
use std::collections::HashMap;

pub(crate) fn read(bytes: &[u8]) -> Result<Recording, ReadError> {
    let mut lines = Lines::new(bytes)?;
    let mut session = CopilotSession::default();
    while let Some(mut entry) = lines.next()? {
        let kind = take::string(&mut entry.fields, "type").unwrap_or_default();
        let id = take::string(&mut entry.fields, "id").unwrap_or_default();
        let by_agent = entry.fields.get("agentId").is_some_and(Value::is_string);
        let data = take::object(&mut entry.fields, "data").unwrap_or_default();
        // A subagent's work is a conversation of its own.
        if by_agent || data.get("parentToolCallId").is_some_and(Value::is_string) {
            continue;
        }
        if !session.event(&kind, id, data) {
            lines.note_unknown(entry.line, &kind);
        }
    }
    session.gather.warnings = lines.into_warnings();
    Ok(session.gather.finish(Format::Copilot))
}

#[derive(Default)]
struct CopilotSession {
    gather: Gather,
    /// The tools of the calls, by call id: the end of an output depends on the tool.
    tools: HashMap<String, String>,
    /// The length of the conversation before each user message, by event id.
    prompts: HashMap<String, usize>,
}

impl CopilotSession {
    /// Adds an event; returns whether its kind is known.
    fn event(&mut self, kind: &str, id: String, mut data: Fields) -> bool {
        match kind {
            "system.message" => self
                .gather
                .system(take::string(&mut data, "content").unwrap_or_default()),
            "user.message" => {
                self.prompts.insert(id, self.gather.len());
                self.gather.message(Role::User, prompt(&mut data));
            }
            "assistant.message" => {
                let parts = self.reply(&mut data);
                self.gather.message(Role::Assistant, parts);
            }
            "tool.execution_complete" => {
                let result = self.result(&mut data);
                self.gather.result(result);
            }
            "system.notification" => {
                let told = gather::text_in(&mut data, "content", Origin::Injected);
                self.gather.prompt(told.into_iter().collect());
            }
            "session.compaction_complete" => {
                let summary = gather::text_in(&mut data, "summaryContent", Origin::Summary);
                self.gather.prompt(summary.into_iter().collect());
            }
            "session.snapshot_rewind" => {
                if let Some(length) = self.prompts.get(take::str(&data, "upToEventId")) {
                    self.gather.truncate(*length);
                }
            }
            _ => return is_known(kind),
        }
        true
    }

    fn reply(&mut self, data: &mut Fields) -> Vec<Part> {
        let mut parts = Vec::new();
        // The signature next to it is encrypted for the service in between, so no provider could verify it.
        parts.extend(gather::unsigned_thinking(data, "reasoningText"));
        parts.extend(gather::text_in(data, "content", Origin::Own));
        for mut request in take::objects(data, "toolRequests") {
            let [id, tool] = ["toolCallId", "name"].map(|name| take::str(&request, name).to_owned());
            self.tools.insert(id, tool);
            parts.push(gather::call_in(&mut request, ["toolCallId", "name", "arguments"]));
        }
        parts
    }

    fn result(&mut self, data: &mut Fields) -> ToolResult {
        let id = take::string(data, "toolCallId").unwrap_or_default();
        let mut success = data.get("success").and_then(Value::as_bool);
        let mut result = take::object(data, "result").unwrap_or_default();
        let mut error = take::object(data, "error").unwrap_or_default();
        let text = take::string(&mut result, "content").or_else(|| take::string(&mut error, "message"));
        let text = text.unwrap_or_default();
        // The flag says that the tool worked; a shell tool writes the program's exit status in the last line.
        let tool = self.tools.get(&id).map_or("", String::as_str);
        if success == Some(true)
            && SHELLS.contains(&tool)
            && let Some(status) = exit_status(&text)
        {
            success = Some(status == 0);
        }
        let files = take::objects(&mut result, "binaryResultsForLlm").filter_map(file);
        let output = gather::text(Origin::Own, text).into_iter().chain(files);
        let mut result = gather::result(id, success, output);
        result.refusal = match take::str(&error, "code") {
            "rejected" => Some(RefusedBy::User("".into())),
            "denied" => Some(RefusedBy::Rule),
            _ => None,
        };
        result
    }
}

const SHELLS: &[&str] = &[
    "bash", "read_bash", "write_bash", "powershell", "read_powershell", "write_powershell", "local_shell", "shell",
];

/// Returns the exit status in the line that a shell tool appends to the output of a finished program.
fn exit_status(output: &str) -> Option<i64> {
    let last = output.trim_end().rsplit('\n').next()?;
    let (head, status) = last.strip_prefix('<')?.strip_suffix('>')?.rsplit_once(" exit code ")?;
    let known = head == "exited with" || (head.contains("shellId: ") && head.ends_with(" completed with"));
    status.parse().ok().filter(|_| known)
}

/// Reads the user's prompt, and the text that the harness puts around it for the model.
fn prompt(data: &mut Fields) -> Vec<Part> {
    let by_user = match take::str(data, "source") {
        "" | "user" | "jsonrpc" | "immediate-prompt" => true,
        source => source.starts_with("command"),
    } && !take::flag(data, "isAutopilotContinuation");
    let origin = if by_user { Origin::Own } else { Origin::Injected };
    let own = take::string(data, "content").unwrap_or_default();
    let sent = take::string(data, "transformedContent").filter(|sent| !sent.is_empty());
    let mut parts = Vec::new();
    match sent.as_deref().and_then(|sent| sent.split_once(own.as_str())) {
        Some((before, after)) if !own.is_empty() => {
            parts.extend(gather::text(Origin::Injected, String::from(before)));
            parts.push(Part::text_from(origin, own));
            parts.extend(gather::text(Origin::Injected, String::from(after)));
        }
        _ => parts.extend(gather::text(origin, sent.unwrap_or(own))),
    }
    parts.extend(take::objects(data, "attachments").filter_map(file));
    parts
}

/// Reads an image, or another file whose bytes were attached.
fn file(mut fields: Fields) -> Option<Part> {
    let media = take::str(&fields, "mimeType").to_owned();
    let data = take::string(&mut fields, "data").filter(|data| !media.is_empty() && !data.is_empty())?;
    if media.starts_with("image/") {
        return Some(gather::image(&media, data));
    }
    let name = take::value(&mut fields, "displayName");
    attachment::file(
        "file",
        json!({"inlineData": {"mimeType": media, "data": data, "displayName": name}}),
    )
}

/// Returns whether an event belongs to a family that only repeats what is read from other events.
pub(crate) fn is_known(kind: &str) -> bool {
    const FAMILIES: &[&str] = &[
        "abort", "assistant", "auto_mode_switch", "command", "commands", "elicitation", "exit_plan_mode",
        "external_tool", "hook", "mcp", "model", "pending_messages", "permission", "sampling", "session", "skill",
        "subagent", "system", "tool", "user", "user_input",
    ];
    FAMILIES.contains(&kind.split('.').next().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sketch::check;

    fn event(kind: &str, data: &str) -> String {
        format!(
            "{{\"type\":\"{kind}\",\"data\":{{{data}}},\"id\":\"e-{}\",\"parentId\":null}}\n",
            data.len()
        )
    }

    fn reply(id: &str, tool: &str) -> String {
        let request =
            format!(r#"{{"toolCallId":"{id}","name":"{tool}","arguments":{{"command":"ls"}},"type":"function"}}"#);
        event(
            "assistant.message",
            &format!(r#""content":"","toolRequests":[{request}]"#),
        )
    }

    fn done(id: &str, success: bool, rest: &str) -> String {
        event(
            "tool.execution_complete",
            &format!(r#""toolCallId":"{id}","success":{success},{rest}"#),
        )
    }

    #[test]
    fn the_users_words_stand_apart_from_what_is_put_around_them() {
        let file = [
            event("session.start", r#""version":1"#),
            event("system.message", r#""role":"system","content":"Be brief.""#),
            event(
                "user.message",
                r#""content":"go","transformedContent":"<now>5</now>\n\ngo\n\n<system_reminder>x</system_reminder>""#,
            ),
            event("system.message", r#""role":"system","content":"Be very brief.""#),
            event(
                "assistant.message",
                r#""content":"gone","reasoningText":"hm","reasoningOpaque":"xyz","toolRequests":[]"#,
            ),
            event("user.message", r#""content":"a skill","source":"skill-pdf""#),
            event(
                "system.notification",
                r#""content":"a shell ended","kind":{"type":"shell_completed"}"#,
            ),
        ];
        check(
            read,
            &file.concat(),
            "system: Be very brief.
            user (injected): <now>5</now>||
            user: go
            user (injected): ||<system_reminder>x</system_reminder>
            thinking: hm
            assistant: gone
            user (injected): a skill
            -
            user (injected): a shell ended",
        );
    }

    #[test]
    fn a_result_fails_by_its_flag_or_by_the_exit_status_of_its_shell() {
        let file = [
            reply("c1", "bash"),
            done(
                "c1",
                true,
                r#""result":{"content":"x\n<shellId: 3 completed with exit code 1>","detailedContent":"x"}"#,
            ),
            reply("c2", "view"),
            done("c2", true, r#""result":{"content":"x\n<exited with exit code 1>"}"#),
            reply("c3", "edit"),
            done("c3", false, r#""error":{"message":"no such file","code":"failure"}"#),
            reply("c4", "bash"),
        ];
        check(
            read,
            &file.concat(),
            r#"call c1: bash {"command":"ls"}
            result c1 failed: x|<shellId: 3 completed with exit code 1>
            call c2: view {"command":"ls"}
            result c2 ok: x|<exited with exit code 1>
            call c3: edit {"command":"ls"}
            result c3 failed: no such file
            call c4: bash {"command":"ls"}"#,
        );
    }

    #[test]
    fn what_autopilot_says_to_go_on_is_no_prompt() {
        let file = [
            event("user.message", r#""content":"Explain it.""#),
            event(
                "user.message",
                r#""content":"You have not finished.","isAutopilotContinuation":true"#,
            ),
        ];
        let expected = "user: Explain it.\n-\nuser (injected): You have not finished.";
        check(read, &file.concat(), expected);
    }

    #[test]
    fn an_exit_status_is_the_last_line_alone() {
        assert_eq!(exit_status("x\n<exited with exit code 0>\n"), Some(0));
        assert_eq!(
            exit_status("<command with shellId: 4 completed with exit code -1>"),
            Some(-1)
        );
        assert_eq!(exit_status("<exited with exit code 0>\nx"), None);
        assert_eq!(exit_status("<he exited with exit code 0>"), None);
        assert_eq!(exit_status("<exited with exit code many>"), None);
    }

    #[test]
    fn a_summary_is_kept_after_what_it_sums_up_and_other_agents_are_left_out() {
        let file = [
            event("user.message", r#""content":"go""#),
            event("assistant.message", r#""content":"aside","parentToolCallId":"c1""#),
            event(
                "session.compaction_complete",
                r#""success":true,"summaryContent":"so far""#,
            ),
            event("assistant.message", r#""content":"gone""#),
        ];
        check(
            read,
            &file.concat(),
            "user: go\n-\nuser (summary): so far\nassistant: gone",
        );
    }

    #[test]
    fn a_rewind_forgets_what_came_after() {
        let prompt = event("user.message", r#""content":"left""#);
        let id = r#""content":"left""#.len();
        let file = [
            event("user.message", r#""content":"go on""#),
            prompt,
            event("assistant.message", r#""content":"went left""#),
            event("session.snapshot_rewind", &format!(r#""upToEventId":"e-{id}""#)),
            event("user.message", r#""content":"go right""#),
        ];
        check(read, &file.concat(), "user: go on\n-\nuser: go right");
    }
}
