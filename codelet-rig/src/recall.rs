//! The tool that reads back what was removed from a conversation.

use codelet_context::recall::{Archive, Removed};
use rig_core::tool::PortableTool;
use serde_json::{Value, json};
use std::sync::Arc;

/// The bytes of a long text that one call returns, and the size up to which a text is returned whole.
const USUAL: usize = 20_000;
const MOST: usize = 48 << 10;
/// The most texts that a search lists, and the most bytes of a line that it shows.
const NAMED: usize = 20;
const SHOWN: usize = 200;

/// Returns the archives to search; the number is that of the run, where there are several.
type Source = Arc<dyn Fn(Option<u64>) -> Vec<Archive> + Send + Sync>;

/// The tool `Recall`: returns what was removed from a conversation, byte for byte, by the handle in the marker
/// `[… recall HANDLE]` that stands in its place.
#[derive(Clone)]
pub struct Recall(Source);

/// The arguments of [`Recall`].
#[derive(Clone, PartialEq, Eq, Debug, Default, serde::Deserialize)]
pub struct Recalled {
    /// The handle in a marker.
    #[serde(default)]
    pub handle: String,
    /// The first byte to return, 0 by default.
    #[serde(default)]
    pub from: usize,
    /// Words to search for in all removed texts, ignoring case; used if there is no handle.
    #[serde(default)]
    pub search: String,
    /// The run that calls. Overwrites what a model may write here.
    #[serde(default)]
    pub(crate) run: Option<u64>,
}

/// The reason why a call of [`Recall`] returns nothing.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RecallError {
    /// No text has this handle.
    #[error("no text was removed under the handle {0:?}; search for words of it with `search`")]
    Unknown(String),
    /// No removed text has these words.
    #[error("nothing that was removed has {0:?} in it")]
    NotFound(String),
    /// Neither a handle nor words were given.
    #[error("`handle` or `search` is needed")]
    Nothing,
}

impl Recalled {
    /// Arguments that ask for the text of a handle.
    pub fn handle(handle: impl Into<String>) -> Self {
        Recalled {
            handle: handle.into(),
            ..Recalled::default()
        }
    }

    /// Arguments that search for these words.
    pub fn search(words: impl Into<String>) -> Self {
        Recalled {
            search: words.into(),
            ..Recalled::default()
        }
    }
}

impl Recall {
    /// A tool that looks in the archives that this returns.
    pub(crate) fn new(source: impl Fn(Option<u64>) -> Vec<Archive> + Send + Sync + 'static) -> Self {
        Recall(Arc::new(source))
    }

    /// Returns the text of the handle, or a list of the texts with the words.
    ///
    /// # Errors
    /// If no text has the handle or the words.
    pub fn read(&self, asked: &Recalled) -> Result<String, RecallError> {
        let archives = (self.0)(asked.run);
        let handle = asked
            .handle
            .trim()
            .rsplit(char::is_whitespace)
            .next()
            .unwrap_or_default();
        let handle = handle.trim_matches(['[', ']', '`', '"', '\'']);
        let sought = asked.search.trim();
        if handle.is_empty() {
            return if sought.is_empty() {
                Err(RecallError::Nothing)
            } else {
                search(&archives, sought)
            };
        }
        let text = archives.iter().find_map(|archive| archive.recall(handle, None));
        let text = text.ok_or_else(|| RecallError::Unknown(handle.to_owned()))?;
        Ok(excerpt(text, asked.from))
    }
}

fn excerpt(text: &str, from: usize) -> String {
    let from = text.floor_char_boundary(from.min(text.len()));
    // A text that is hardly longer than one part is returned whole.
    let end = if text.len() - from <= MOST {
        text.len()
    } else {
        text.floor_char_boundary(from + USUAL)
    };
    let shown = &text[from..end];
    if end == text.len() {
        return shown.to_owned();
    }
    format!(
        "{shown}\n[bytes {from} to {end} of {}; go on with `from`: {end}]",
        text.len()
    )
}

fn search(archives: &[Archive], sought: &str) -> Result<String, RecallError> {
    let lower = sought.to_lowercase();
    let line = |removed: &Removed| {
        let text = removed.body.as_str();
        let found = text.lines().find(|line| line.to_lowercase().contains(&lower))?;
        Some(found[..found.floor_char_boundary(SHOWN.min(found.len()))].to_owned())
    };
    let kept = archives.iter().flat_map(Archive::newest);
    let found = kept.filter_map(|(handle, removed)| Some(format!("{handle} ({}): {}", removed.tool, line(removed)?)));
    let found: Vec<String> = found.take(NAMED).collect();
    match found.is_empty() {
        true => Err(RecallError::NotFound(sought.to_owned())),
        false => Ok(found.join("\n")),
    }
}

impl PortableTool for Recall {
    const NAME: &'static str = "Recall";
    type Args = Recalled;
    type Output = String;
    type Error = RecallError;

    fn description(&self) -> String {
        "Gives back what was removed from this conversation, by the handle in the [… recall HANDLE] that stands in its place. \
         With `search` instead, names what was removed and has these words."
            .to_owned()
    }

    fn parameters(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "handle": {"type": "string"},
                "from": {"type": "integer", "description": "first byte of a long text, 0 unless given"},
                "search": {"type": "string", "description": "words to look for, in any case"},
            },
        })
    }

    fn map_error(&self, error: RecallError) -> rig_core::tool::ToolExecutionError {
        rig_core::tool::ToolExecutionError::invalid_args(error.to_string())
    }

    async fn call(&self, asked: Recalled) -> Result<String, RecallError> {
        self.read(&asked)
    }
}
