//! Requests by which an agent compacts a conversation itself.

/// What only such a request ends with.
///
/// Sources: Claude Code 2.1 (what it sends for `/compact`), Codex 0.16 (`prompts/templates/compact/prompt.md`), OpenCode 1.18
/// (`session/prompt/summarize.txt`, `compaction.ts`), Gemini CLI and Qwen Code (`getCompressionPrompt`), Cline (`condense`), Goose
/// (`summarize_oneshot.md`), read in November 2026.
const REQUESTS: &[&str] = &[
    "Your task is to create a detailed summary of the conversation so far",
    "You are performing a CONTEXT CHECKPOINT COMPACTION",
    "Provide a detailed prompt for continuing our conversation above",
    "Provide a detailed summary for continuing our conversation above",
    "generate the <state_snapshot>",
    "The current conversation is rapidly running out of context",
];

/// Whether the last item of a request asks for a summary of everything before it.
pub(super) fn asks_for_summary(last: &[u8]) -> bool {
    REQUESTS
        .iter()
        .any(|words| memchr::memmem::find(last, words.as_bytes()).is_some())
}
