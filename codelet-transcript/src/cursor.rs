//! Transcripts of Cursor's agent (`agent-transcripts/….jsonl`): text and calls. They do not hold results.

use crate::blocks;
use crate::format::{Form, Format};
use crate::gather::{self, Gather};
use crate::lines::Lines;
use crate::skim::Seen;
use crate::take::{self, Fields};
use crate::{ReadError, Recording};
use codelet_context::message::{Origin, Part, Role};

pub(crate) const FORM: Form = Form {
    shows: Some(shows),
    is_lines: true,
    ..Form::new("cursor", "a transcript of Cursor's agent (JSON lines)", read)
};

fn shows(first: &Seen) -> bool {
    let message = first.get("message");
    first.has("role") && !first.has("type") && message.is_some_and(|message| message.get("content").is_some())
}

fn read(bytes: &[u8]) -> Result<Recording, ReadError> {
    let mut lines = Lines::new(bytes)?;
    let mut gather = Gather::default();
    let mut made = 0;
    while let Some(mut entry) = lines.next()? {
        let message = take::object(&mut entry.fields, "message").unwrap_or_default();
        let role = take::string(&mut entry.fields, "role").unwrap_or_default();
        match role.as_str() {
            "user" => {
                gather.message(Role::User, content(message).into_iter().flat_map(asked));
            }
            "assistant" => {
                let mut parts = content(message);
                let mut ids = Vec::new();
                for part in &mut parts {
                    if let Part::ToolCall(call) = part {
                        made += 1;
                        if call.id.is_empty() {
                            call.id = format!("call_{made}").into();
                        }
                        ids.push(call.id.clone());
                    }
                }
                gather.message(Role::Assistant, parts);
                // The results are unknown, but the calls were not left unanswered.
                for id in ids {
                    gather.result(gather::result(id, None, None));
                }
            }
            // The end of a turn and similar entries.
            _ if entry.fields.contains_key("type") => {}
            _ => lines.note_unread(entry.line, &role),
        }
    }
    gather.warnings = lines.into_warnings();
    Ok(gather.finish(Format::Cursor))
}

fn content(mut message: Fields) -> Vec<Part> {
    let mut parts = blocks::content(take::value(&mut message, "content"), Origin::Own);
    parts.retain(|part| !matches!(part, Part::ToolResult(_)));
    parts
}

/// Separates the user's prompt, which is in a tag, from the text that the editor adds.
fn asked(part: Part) -> Vec<Part> {
    let Part::Text(text) = &part else { return vec![part] };
    let text = text.body.as_str();
    let Some((before, rest)) = text.split_once("<user_query>") else {
        return vec![part];
    };
    let Some((asked, behind)) = rest.rsplit_once("</user_query>") else {
        return vec![part];
    };
    let around = |words: &str| gather::text(Origin::Injected, words.trim().to_owned());
    let asked = gather::text(Origin::Own, asked.trim().to_owned());
    [around(before), asked, around(behind)].into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sketch::check;

    #[test]
    fn the_query_is_the_prompt_and_nothing_is_made_up_about_results() {
        let lines = [
            r#"{"role":"user","message":{"content":[{"type":"text","text":"<open_files>\na.rs\n</open_files>\n<user_query>\nMend it.\n</user_query>"}]}}"#,
            r#"{"role":"assistant","message":{"content":[{"type":"text","text":"I look."},{"type":"tool_use","name":"Read","input":{"path":"a.rs"}}]}}"#,
            r#"{"role":"assistant","message":{"content":[{"type":"text","text":"Done."}]}}"#,
            r#"{"type":"turn_ended","status":"success"}"#,
        ]
        .join("\n");
        assert_eq!(crate::detect(lines.as_bytes()), Some(Format::Cursor));
        check(
            read,
            &lines,
            r#"user (injected): <open_files>|a.rs|</open_files>
            user: Mend it.
            assistant: I look.
            call call_1: Read {"path":"a.rs"}
            result call_1 unknown:
            assistant: Done."#,
        );
    }
}
