//! Requests by which an agent compacts a conversation itself.

/// Sentences and items that only such a request ends with. Quotes within a text would be escaped.
///
/// In this order: Claude Code, which 2.1.332 was seen to send (with two more that begin so, for a part of the conversation), Codex, whose 0.171.0 has
/// it, and its item that has the provider compact, OpenCode and what was made from it (two), Gemini CLI and what was made from it, Cline: the last
/// four as public repositories quote them, in November 2026.
const REQUESTS: &[&str] = &[
    "Your task is to create a detailed summary of",
    "You are performing a CONTEXT CHECKPOINT COMPACTION",
    "\"compaction_trigger\"",
    "Provide a detailed prompt for continuing our conversation above",
    "Provide a detailed summary for continuing our conversation above",
    "generate the <state_snapshot>",
    "The current conversation is rapidly running out of context",
];

/// Returns whether the last item of a request asks for a summary of everything before it.
pub(super) fn asks_for_summary(last: &[u8]) -> bool {
    REQUESTS
        .iter()
        .any(|words| memchr::memmem::find(last, words.as_bytes()).is_some())
}
