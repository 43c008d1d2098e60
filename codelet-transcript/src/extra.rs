//! Marks that readers leave for writers among the unread fields of a message or part. They are never written out.

/// Who made the thinking or signature of a part, where the format alone does not tell: `anthropic`, `openai`, `gemini`.
/// Writers give a signature only to the vendor that made it, and drop one of unknown make.
pub(crate) const VENDOR: &str = "codelet.vendor";
