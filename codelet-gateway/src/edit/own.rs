//! Requests by which an agent compacts a conversation itself.

/// Sentences that only such a request ends with.
///
/// In this order: Claude Code, Codex (`codex-rs/core/templates/compact/prompt.md`), OpenCode and what was made from it (two), Gemini CLI and what was
/// made from it, Cline. As public repositories quote them, in November 2026; not as the newest versions were seen to send them.
const REQUESTS: &[&str] = &[
    "Your task is to create a detailed summary of",
    "You are performing a CONTEXT CHECKPOINT COMPACTION",
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
