//! `Note`: a permanent line. The conversation keeps it and repeats it at the head of every summary.

use crate::tool_context::spec;
use codelet_agent::model::ToolSpec;
use codelet_agent::tool::{Call, Need, Output, Tool};
use codelet_context::message::{Action, ActionKind, Parameters};
use codelet_context::note::{Note as Line, NoteKind};
use codelet_context::tokens::{Tokens, estimate_bytes};
use futures_util::future::{self, BoxFuture};
use serde_json::json;

/// Longest note, in estimated tokens.
const MOST: Tokens = 60;

/// The tool.
pub(crate) struct Note {
    spec: ToolSpec,
}

impl Note {
    pub(crate) fn new() -> Self {
        let parameters = json!({
            "type": "object",
            "properties": {
                "kind": {"type": "string", "enum": NoteKind::ALL.map(|(_, name)| name)},
                "text": {"type": "string"},
                "subject": {"type": "string"},
            },
            "required": ["kind", "text"],
        });
        Note {
            spec: spec("Note", include_str!("note.md"), parameters),
        }
    }
}

impl Tool for Note {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn action(&self, _: &Parameters) -> Action {
        Action::on(ActionKind::Note, [])
    }

    fn needs(&self, parameters: &Parameters) -> Result<Vec<Need>, String> {
        let text = parameters.as_map().get("text").and_then(|text| text.as_str());
        let weight = estimate_bytes(text.map_or(0, str::len));
        if weight > MOST {
            return Err(format!(
                "nothing was noted: the text has about {weight} tokens, and a note at most {MOST}; say it in one line, or in several notes"
            ));
        }
        if Line::of(parameters).is_none() {
            let kinds = NoteKind::ALL.map(|(_, name)| name).join(", ");
            return Err(format!(
                "nothing was noted: `kind` has to be one of {kinds}, and `text` a line"
            ));
        }
        Ok(Vec::new())
    }

    fn describe(&self, parameters: &Parameters) -> String {
        Line::of(parameters).map_or(String::new(), |note| note.line())
    }

    fn call<'a>(&'a self, call: Call<'a>) -> BoxFuture<'a, Output> {
        let output = match self.needs(call.parameters) {
            Ok(_) => Output::success("noted"),
            Err(error) => Output::failure(error),
        };
        Box::pin(future::ready(output))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_note_is_one_line_of_a_known_kind_and_bounded_weight() {
        let tool = Note::new();
        let needs = |call: serde_json::Value| {
            let parameters = Parameters::new(call.as_object().unwrap().clone());
            tool.needs(&parameters).map(|_| tool.describe(&parameters))
        };
        let noted = json!({"kind": "dead end", "subject": "speed", "text": "a cache: no faster\n"});
        assert_eq!(needs(noted), Ok("dead end (speed): a cache: no faster".to_owned()));
        for wrong in [
            json!({"kind": "thought", "text": "hm"}),
            json!({"kind": "finding", "text": " "}),
            json!({"kind": "finding", "text": 3}),
            json!({"text": "no kind"}),
        ] {
            assert!(needs(wrong).is_err_and(|why| why.contains("dead end, open end")));
        }
        let long = json!({"kind": "finding", "text": "word ".repeat(200)});
        assert!(needs(long).is_err_and(|why| why.contains("at most 60")));
    }
}
