//! `Compact`: the model asks for a compaction, which is granted if it pays.

use crate::model::ToolSpec;
use crate::permission::need::Need;
use crate::tool::{Call, Output, Tool};
use codelet_context::message::Parameters;
use codelet_text::short::{clip, words};
use futures_util::future::{self, BoxFuture};
use serde_json::json;

/// The tool's name.
pub const NAME: &str = "Compact";
/// The number of characters of a reason shown to the user.
const SHOWN: usize = 100;

/// The `Compact` tool. It changes nothing itself: the session compacts once all calls of the step have results.
pub struct Compact {
    spec: ToolSpec,
}

impl Compact {
    /// Creates the tool.
    pub fn new() -> Self {
        Compact {
            spec: ToolSpec {
                name: NAME.into(),
                description: include_str!("wish.md").trim_end().into(),
                parameters: json!({
                    "type": "object",
                    "properties": {"reason": {"type": "string"}},
                    "required": ["reason"],
                }),
            },
        }
    }
}

impl Default for Compact {
    fn default() -> Self {
        Compact::new()
    }
}

impl Tool for Compact {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn is_read_only(&self) -> bool {
        true
    }

    fn needs(&self, _: &Parameters) -> Result<Vec<Need>, String> {
        Ok(Vec::new())
    }

    fn describe(&self, parameters: &Parameters) -> String {
        clip(&words(parameters.str("reason").unwrap_or_default()), SHOWN).into_owned()
    }

    fn call<'a>(&'a self, call: Call<'a>) -> BoxFuture<'a, Output> {
        let output = match call.conversation.wished() {
            Ok(()) => Output {
                wishes_compaction: true,
                ..Output::success(
                    "The earlier part of the conversation is replaced by a summary before your next step.",
                )
            },
            Err(declined) => Output::success(format!("Not compacted, as {declined}. Go on.")),
        };
        Box::pin(future::ready(output))
    }
}
