//! Computes what is sent of a conversation that is passed in full before each request: a pure function of it.
//!
//! Earlier edits are not stored but repeated: the conversation is passed to the engine reply by reply, and before each
//! the engine decides as it would have then, based on the conversation's size. So between two edits each result extends
//! the one before it, whoever calls, and a host only has to know its own messages.

use crate::fold::{self, Fold};
use codelet_context::conversation::{Conversation, Signals};
use codelet_context::policy::CompactionConfig;
use codelet_context::recall::Archive;
use codelet_context::tokens::Tokens;
use codelet_transcript::{Format, ReadError, read_items, vendor, write_items};
use serde_json::Map;
use std::ops::Range;

/// The notice of a summary names the tool with which the host returns removed content.
const BY_TOOL: &str = "The tool `recall` returns what it leaves out, by its handle.";

/// The options of fitting, besides the conversation.
#[derive(Clone, Copy, Debug)]
pub struct Fit {
    /// The format of its items: that of a provider's request.
    pub form: Format,
    /// The model's context window in tokens, minus the maximum output.
    pub window: Tokens,
    /// An estimate, in tokens, of the rest of a request: tool definitions, and instructions.
    pub overhead: Tokens,
    /// True if the model has a tool `recall`.
    pub offers_recall: bool,
    /// True if the host requests an edit now, however full the window is.
    pub is_due: bool,
}

/// A part of what is sent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Shown {
    /// Unchanged items, by their indices.
    AsSaid(Range<usize>),
    /// A new item, as JSON.
    Made(String),
}

/// A fitted conversation.
#[derive(Debug)]
pub struct Fitted {
    /// The parts, in order.
    pub shown: Vec<Shown>,
    /// The removed content, by the handles in its place.
    pub archive: Archive,
    /// The number of edits so far.
    pub edits: usize,
}

/// Fits a conversation, given as the items of its provider's list, into a window. Content that cannot be made smaller
/// stays.
///
/// # Errors
/// If an item does not fit the format, or the format is not a request format.
pub fn fit(items: &[&[u8]], how: &Fit) -> Result<Fitted, ReadError> {
    let window = (how.window as f64 / vendor::usual_density(how.form)) as Tokens;
    let conversation = Conversation::new(CompactionConfig::new(window), how.overhead);
    let conversation = conversation.reading_back(if how.offers_recall { BY_TOOL } else { "" });
    let mut fold: Fold<Vec<String>> = Fold::new(conversation);
    let mut spans: Vec<Range<usize>> = Vec::new();
    let mut told = 0;
    while told < items.len() {
        let rest = &items[told..];
        let (replied, all) = fold::step(rest, how.form);
        for (message, count) in read_items(&rest[..all], told, how.form)? {
            fold.tell(spans.len(), message, None);
            spans.push(told..told + count);
            told += count;
        }
        // Nothing is edited after a reply at the end of the conversation: the provider continues it.
        if all > replied {
            fold.edit(Signals {
                is_asked: how.is_due && told == items.len(),
                ..Signals::default()
            });
        }
    }
    let written = |messages: &[_]| write_items(messages, how.form);
    let archive = fold.write(how.form, &Map::new(), written, |items, _| Some(items));
    let mut shown = Vec::new();
    for message in fold.shown() {
        match (message, shown.last_mut()) {
            (fold::Shown::AsSaid(at), Some(Shown::AsSaid(last))) if last.end == spans[*at].start => {
                last.end = spans[*at].end
            }
            (fold::Shown::AsSaid(at), _) => shown.push(Shown::AsSaid(spans[*at].clone())),
            (fold::Shown::Made(items), _) => shown.extend(items.iter().cloned().map(Shown::Made)),
        }
    }
    Ok(Fitted {
        shown,
        archive,
        edits: fold.conversation().edits().len(),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use serde_json::json;

    fn session(steps: usize) -> Vec<Vec<u8>> {
        let mut items = vec![
            json!({"role": "system", "content": "Be brief."}),
            json!({"role": "user", "content": "Find out why the parser is slow."}),
        ];
        for step in 0..steps {
            let id = format!("call_{step}");
            let call = json!({"id": id, "type": "function", "function": {"name": "run", "arguments": "{\"command\":\"perf\"}"}});
            items.push(json!({"role": "assistant", "content": null, "tool_calls": [call]}));
            let output = format!("run {step}: most time is spent in skip_blank()\n").repeat(30);
            items.push(json!({"role": "tool", "tool_call_id": id, "content": output}));
        }
        items.iter().map(|item| item.to_string().into_bytes()).collect()
    }

    fn sent(items: &[Vec<u8>]) -> (Vec<String>, usize) {
        let how = Fit {
            form: Format::Openai,
            window: 8_000,
            overhead: 0,
            offers_recall: true,
            is_due: false,
        };
        let slices: Vec<&[u8]> = items.iter().map(Vec::as_slice).collect();
        let fitted = fit(&slices, &how).unwrap();
        let mut sent = Vec::new();
        for shown in fitted.shown {
            match shown {
                Shown::AsSaid(span) => {
                    sent.extend(items[span].iter().map(|item| String::from_utf8(item.clone()).unwrap()))
                }
                Shown::Made(json) => sent.push(json),
            }
        }
        (sent, fitted.edits)
    }

    #[test]
    fn each_request_extends_the_one_before_it_but_at_edits() {
        let whole = session(60);
        let (mut before, mut edits) = sent(&whole[..2]);
        assert_eq!((before.len(), edits), (2, 0));
        for steps in 1..=60 {
            let (now, edited) = sent(&whole[..2 + 2 * steps]);
            assert!(edited - edits <= 1, "at step {steps}");
            if edited == edits {
                assert_eq!(now[..before.len()], before, "at step {steps}");
            }
            assert!(
                now[0].contains("Be brief.") && now.iter().any(|item| item.contains("parser is slow")),
                "{now:#?}"
            );
            assert!(now.iter().map(String::len).sum::<usize>() < 8_000 * 4);
            (before, edits) = (now, edited);
        }
        assert!(edits >= 3, "{edits}");
    }

    #[test]
    fn what_is_no_item_is_told() {
        let how = Fit {
            form: Format::Openai,
            window: 8_000,
            overhead: 0,
            offers_recall: false,
            is_due: false,
        };
        assert!(fit(&[b"[1"], &how).is_err());
        assert_eq!(fit(&[], &how).unwrap().shown, []);
    }
}
