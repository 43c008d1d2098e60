//! A recorded conversation, cut as in an exam, as a request and as the engine's history.

use super::engine::{self, Weights};
use super::texts;
use codelet_context::history::History;
use codelet_context::message::Message;
use codelet_context::tokens::Tokens;
use codelet_transcript::{Document, Format};
use serde_json::{Value, json};

/// The part of a recorded conversation that is compacted.
pub struct Conversation {
    /// The engine's history.
    pub history: History,
    /// The request, without its messages.
    document: Document,
    /// Its texts.
    pub texts: Vec<String>,
}

impl Conversation {
    /// Converts recorded messages. Anything absent from requests is dropped: the system prompt, and summaries of the
    /// agent's own compactions.
    ///
    /// # Errors
    /// If the request cannot be parsed.
    pub fn of(messages: &[Value]) -> Result<Self, String> {
        let spoken = messages
            .iter()
            .filter(|message| message["role"] != "system" && !is_summary(message));
        let spoken: Vec<Value> = spoken.map(asked).collect();
        let texts = texts::texts(&spoken);
        let request = json!({"model": "unknown", "max_tokens": 1024, "messages": spoken}).to_string();
        let read = codelet_transcript::read(request.as_bytes(), Some(Format::Anthropic));
        let mut document = read.map_err(|error| error.to_string())?;
        let history: History = std::mem::take(&mut document.messages).into_iter().collect();
        Ok(Conversation {
            history,
            document,
            texts,
        })
    }

    /// The texts of the request after compaction to a budget.
    pub fn compacted(&self, budget: usize, weights: Option<&Weights>, written: Option<&str>) -> Vec<String> {
        let done = engine::compact(&self.history, budget as Tokens, weights, written);
        let shown = done.view.messages.iter().map(|message| {
            let mut message = Message::clone(message);
            codelet_transcript::ids::spell(&mut message, Format::Anthropic);
            message
        });
        let document = Document {
            messages: shown.collect(),
            ..self.document.clone()
        };
        let written =
            codelet_transcript::write(&document, Format::Anthropic).expect("requests are written in this form");
        let request: Value = serde_json::from_str(&written).expect("what is written is JSON");
        texts::texts(request["messages"].as_array().map_or(&[], Vec::as_slice))
    }
}

/// The messages of a file.
pub fn messages(text: &str) -> Result<Vec<Value>, String> {
    let mut file: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    match file["messages"].take() {
        Value::Array(messages) => Ok(messages),
        _ => Err("no messages".to_owned()),
    }
}

/// Returns whether a message is the summary of the agent's own compaction.
pub fn is_summary(message: &Value) -> bool {
    message["meta"]["compact_summary"] == Value::Bool(true)
}

/// The name of a conversation, without its directory.
pub fn name(file: &str) -> &str {
    file.rsplit('/').next().unwrap_or(file)
}

/// The family of a conversation, by where it was recorded: the first component of its path.
pub fn family(file: &str) -> &str {
    file.split('/').next().unwrap_or(file)
}

/// A recorded message as in a request.
fn asked(message: &Value) -> Value {
    let own = [json!({"type": "text", "text": message["content"]})];
    let blocks = message["content"].as_array().map_or(own.as_slice(), Vec::as_slice);
    let kept: Vec<Value> = blocks.iter().filter_map(block).collect();
    json!({"role": message["role"], "content": kept})
}

/// A block with the fields that a vendor accepts.
fn block(block: &Value) -> Option<Value> {
    Some(match block["type"].as_str()? {
        "text" => json!({"type": "text", "text": block["text"]}),
        "thinking" => {
            let signature = block["signature"].as_str().unwrap_or_default();
            json!({"type": "thinking", "thinking": block["thinking"], "signature": signature})
        }
        "tool_use" => json!({"type": "tool_use", "id": block["id"], "name": block["name"], "input": block["input"]}),
        "tool_result" => {
            let mut result =
                json!({"type": "tool_result", "tool_use_id": block["tool_use_id"], "content": block["content"]});
            if block["is_error"] == Value::Bool(true) {
                result["is_error"] = Value::Bool(true);
            }
            result
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_has_no_system_prompt_and_no_summary_of_the_agent() {
        let messages = [
            json!({"role": "system", "content": "rules"}),
            json!({"role": "user", "content": "fix the parser"}),
            json!({"role": "user", "content": "so far", "meta": {"compact_summary": true}}),
            json!({"role": "assistant", "content": [{"type": "text", "text": "done", "cache_control": {"type": "ephemeral"}}]}),
        ];
        let conversation = Conversation::of(&messages).unwrap();
        assert_eq!(conversation.history.messages().len(), 2);
        assert_eq!(conversation.compacted(1000, None, None), ["fix the parser", "done"]);
        assert_eq!(conversation.texts, ["fix the parser", "done"]);
    }
}
