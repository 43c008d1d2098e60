//! Requests by which an agent compacts a conversation itself.

use serde_json::Value;

/// The first bytes of a text in which the sentence is looked for: what stands further down may be quoted.
const START: usize = 1_000;

/// Sentences that stand at the start of the user's last message only in such a request.
///
/// In this order: Claude Code, which 2.1.332 was seen to send (with two more that begin so, for a part of the conversation), Codex, whose 0.171.0 has
/// it, OpenCode and what was made from it (two), Gemini CLI and what was made from it, Cline: the last
/// four as public repositories quote them, in November 2026.
const REQUESTS: &[&str] = &[
    "Your task is to create a detailed summary of",
    "You are performing a CONTEXT CHECKPOINT COMPACTION",
    "Provide a detailed prompt for continuing our conversation above",
    "Provide a detailed summary for continuing our conversation above",
    "generate the <state_snapshot>",
    "The current conversation is rapidly running out of context",
];

/// The type of Codex's item that has the provider compact.
const TRIGGER: &str = "compaction_trigger";

/// Returns whether the last item of a request asks for a summary of everything before it: by its type, or in the user's own words, and
/// never in what a tool has printed.
pub(super) fn asks_for_summary(last: &[u8]) -> bool {
    let has = |words: &&str| memchr::memmem::find(last, words.as_bytes()).is_some();
    if !REQUESTS.iter().chain([&TRIGGER]).any(has) {
        return false;
    }
    let Ok(item) = serde_json::from_slice::<Value>(last) else {
        return false;
    };
    if item["type"] == TRIGGER {
        return true;
    }
    let blocks = item["content"].as_array().or_else(|| item["parts"].as_array());
    let blocks = blocks.into_iter().flatten();
    let texts = blocks.filter_map(|block| block["text"].as_str());
    let asks = |text: &str| {
        let start = &text.as_bytes()[..text.len().min(START)];
        let begins = |words: &&str| memchr::memmem::find(start, words.as_bytes()).is_some();
        REQUESTS.iter().any(begins)
    };
    item["role"] == "user" && texts.chain(item["content"].as_str()).any(asks)
}
