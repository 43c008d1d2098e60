//! `Todo`: the to-do list. The conversation keeps it; the output shows how it was parsed.

use crate::tool_context::spec;
use codelet_agent::model::ToolSpec;
use codelet_agent::tool::{Call, Need, Output, Tool};
use codelet_context::message::{Action, ActionKind, Parameters};
use codelet_context::todo::{self, TodoList, TodoState};
use futures_util::future::{self, BoxFuture};
use serde_json::{Value, json};

/// The error for a list that could not be parsed.
const UNREAD: &str = "nothing in `todos` could be read, and the list stays as it was: give an array of objects like \
    {\"content\": \"write the test\", \"status\": \"pending\"}, or [] to empty it";

/// The tool.
pub(crate) struct Todo {
    spec: ToolSpec,
}

impl Todo {
    pub(crate) fn new() -> Self {
        let parameters = json!({
            "type": "object",
            "properties": {"todos": {"type": "array", "items": {
                "type": "object",
                "properties": {
                    "content": {"type": "string"},
                    "status": {"type": "string", "enum": ["pending", "in_progress", "completed"]},
                },
                "required": ["content", "status"],
            }}},
            "required": ["todos"],
        });
        Todo {
            spec: spec("Todo", include_str!("todo.md"), parameters),
        }
    }
}

impl Tool for Todo {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn action(&self, _: &Parameters) -> Action {
        Action::on(ActionKind::Todo, [])
    }

    fn needs(&self, parameters: &Parameters) -> Result<Vec<Need>, String> {
        match parameters.as_map().get("todos") {
            Some(Value::Array(_) | Value::String(_)) if todo::is_whole(parameters) => Ok(Vec::new()),
            // The conversation keeps the old list, so the output must not say that it is empty.
            Some(Value::Array(_) | Value::String(_)) => Err(UNREAD.to_owned()),
            Some(_) => Err("`todos` has to be a list".to_owned()),
            None => Err("`todos` is missing".to_owned()),
        }
    }

    fn describe(&self, parameters: &Parameters) -> String {
        let list = list(parameters);
        let open = list.items().filter(|item| item.state.is_open()).count();
        match list.items().find(|item| item.state == TodoState::Active) {
            Some(item) => format!("{open} open, now: {}", item.text),
            None => format!("{open} open"),
        }
    }

    fn call<'a>(&'a self, call: Call<'a>) -> BoxFuture<'a, Output> {
        if let Err(error) = self.needs(call.parameters) {
            return Box::pin(future::ready(Output::failure(error)));
        }
        let list = list(call.parameters);
        let mut text: String = list.items().map(|item| item.line() + "\n").collect();
        if text.is_empty() {
            text.push_str("[the list is empty]\n");
        }
        Box::pin(future::ready(Output::success(text)))
    }
}

fn list(parameters: &Parameters) -> TodoList {
    let mut list = TodoList::default();
    list.take(parameters, "");
    list
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_list_that_cannot_be_read_is_refused_and_a_list_as_a_string_is_read() {
        let tool = Todo::new();
        let needs = |todos: Value| {
            let parameters = Parameters::new(json!({"todos": todos}).as_object().unwrap().clone());
            tool.needs(&parameters).map(|_| tool.describe(&parameters))
        };
        for read in [
            json!([{"content": "a", "status": "pending"}]),
            json!("[{\"content\": \"a\", \"status\": \"pending\"}]"),
            json!("- [ ] a"),
        ] {
            assert_eq!(needs(read), Ok("1 open".to_owned()));
        }
        assert_eq!(needs(json!([])), Ok("0 open".to_owned()));
        assert_eq!(needs(json!("[]")), Ok("0 open".to_owned()));
        for unread in [
            json!("x"),
            json!(""),
            json!([1, 2]),
            json!([{"x": "y"}]),
            json!("[{\"content\": \"a"),
        ] {
            assert_eq!(needs(unread), Err(UNREAD.to_owned()));
        }
        assert!(needs(json!(3)).is_err());
    }
}
