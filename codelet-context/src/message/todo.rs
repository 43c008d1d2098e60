//! The to-do list, as its tool calls describe it.

use crate::message::Parameters;
use serde_json::{Map, Value};

/// The maximum items kept of a list; the newest call of a hostile transcript may have millions.
const MOST: usize = 200;
/// Names of the field for an item's text, the likeliest first.
const TEXTS: [&str; 7] = ["content", "step", "subject", "title", "text", "task", "description"];
/// Names of the fields for its state and for its done flag.
const STATES: [&str; 6] = ["status", "state", "phase", "stage", "column", "progress"];
const DONE: [&str; 5] = ["completed", "done", "checked", "finished", "complete"];
/// Names of the field for its id.
const IDS: [&str; 4] = ["taskId", "task_id", "todoId", "id"];

/// An item of the to-do list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TodoItem {
    /// The task.
    pub text: String,
    /// The progress.
    pub state: TodoState,
}

impl TodoItem {
    /// The item on a single line, as the list is printed.
    pub fn line(&self) -> String {
        format!("[{}] {}", self.state.sign(), self.text)
    }

    /// Parses an item from such a line.
    pub fn of_line(line: &str) -> Option<Self> {
        let (sign, text) = line.strip_prefix('[')?.split_once("] ")?;
        let is_signed = |state: &TodoState| sign.chars().eq([state.sign()]);
        let state = TodoState::ALL.into_iter().find(is_signed)?;
        let text = text.to_owned();
        Some(TodoItem { text, state })
    }
}

/// The progress of an item.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub enum TodoState {
    /// Not started.
    #[default]
    Open,
    /// In progress.
    Active,
    /// Completed.
    Done,
    /// Abandoned.
    Dropped,
}

impl TodoState {
    const ALL: [TodoState; 4] = [TodoState::Open, TodoState::Active, TodoState::Done, TodoState::Dropped];

    /// The character between brackets before an item.
    fn sign(self) -> char {
        match self {
            TodoState::Open => ' ',
            TodoState::Active => '>',
            TodoState::Done => 'x',
            TodoState::Dropped => '-',
        }
    }

    /// Returns whether something is left to do.
    pub fn is_open(self) -> bool {
        matches!(self, TodoState::Open | TodoState::Active)
    }
}

/// The current list. Some tools write the whole list at once, some one item at a time.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TodoList {
    /// The items, each with its id if that is known.
    items: Vec<(Option<String>, TodoItem)>,
}

impl TodoList {
    /// The items, in order.
    pub fn items(&self) -> impl Iterator<Item = &TodoItem> {
        self.items.iter().map(|(_, item)| item)
    }

    /// The open items.
    pub(crate) fn open(&self) -> impl Iterator<Item = &TodoItem> {
        self.items().filter(|item| item.state.is_open())
    }

    /// Applies a call of a to-do tool, by the shape of its parameters: a list under any name replaces all items; an id
    /// with a state changes one; a text without an id adds one, whose id is in the tool's answer. Other calls only read
    /// the list.
    pub fn take(&mut self, parameters: &Parameters, answer: &str) {
        let map = parameters.as_map();
        if let Some(items) = whole(parameters) {
            self.items = items;
        } else if let Some(id) = id(map) {
            self.alter(&id, map);
        } else if let Some(text) = text(map)
            && self.items.len() < MOST
        {
            let id = given(answer);
            self.items.retain(|(other, _)| id.is_none() || *other != id);
            let item = TodoItem {
                text,
                state: state(map).unwrap_or_default(),
            };
            self.items.push((id, item));
        }
    }

    fn alter(&mut self, id: &str, map: &Map<String, Value>) {
        let is_it = |(other, _): &(Option<String>, TodoItem)| other.as_deref() == Some(id);
        if !self.items.iter().any(is_it) {
            // It may be any of those without a known id, so nothing certain can be said of them any more.
            self.items.retain(|(other, _)| other.is_some());
            return;
        }
        if map.get("status").and_then(Value::as_str) == Some("deleted") {
            self.items.retain(|item| !is_it(item));
            return;
        }
        let Some((_, item)) = self.items.iter_mut().find(|item| is_it(item)) else {
            return;
        };
        if let Some(state) = state(map) {
            item.state = state;
        }
        if let Some(text) = text(map) {
            item.text = text;
        }
    }
}

/// Returns whether a call of a to-do tool contains the whole list in a readable form.
pub fn is_whole(parameters: &Parameters) -> bool {
    whole(parameters).is_some()
}

type Items = Vec<(Option<String>, TodoItem)>;

fn whole(parameters: &Parameters) -> Option<Items> {
    let values = || parameters.as_map().values();
    // Text next to an array may look like a list.
    let array = values().filter(|value| value.is_array()).find_map(list);
    array.or_else(|| values().find_map(list))
}

fn list(value: &Value) -> Option<Items> {
    let items: Items = match value {
        Value::Array(items) => items.iter().filter_map(item).take(MOST).collect(),
        Value::String(text) => match encoded(text) {
            Some(array @ Value::Array(_)) => return list(&array),
            Some(Value::Object(map)) => return map.values().filter(|value| value.is_array()).find_map(list),
            _ => text.lines().filter_map(checkbox).take(MOST).collect(),
        },
        _ => return None,
    };
    // An empty array is a list; an array of anything else is not.
    (!items.is_empty() || value.as_array().is_some_and(Vec::is_empty)).then_some(items)
}

/// The maximum bytes of a list encoded as text. Parsed, such a text may take a hundred times as much memory.
const LONGEST_ENCODED: usize = 256 << 10;

/// Parses JSON in a string: many models write an array or an object as a string.
fn encoded(text: &str) -> Option<Value> {
    let text = text.trim();
    let is_list = text.len() <= LONGEST_ENCODED && text.starts_with(['[', '{']);
    is_list.then(|| serde_json::from_str(text).ok())?
}

fn item(value: &Value) -> Option<(Option<String>, TodoItem)> {
    match value {
        Value::String(text) if let Some(object @ Value::Object(_)) = encoded(text) => item(&object),
        Value::String(text) if !text.trim().is_empty() => Some(checkbox(text).unwrap_or_else(|| {
            let state = TodoState::Open;
            let text = text.trim().to_owned();
            (None, TodoItem { text, state })
        })),
        Value::Object(map) => {
            let item = TodoItem {
                text: text(map)?,
                state: state(map).unwrap_or_default(),
            };
            Some((id(map), item))
        }
        _ => None,
    }
}

/// A line of a list: `- [x] text`, `2. [in_progress] text`.
fn checkbox(line: &str) -> Option<(Option<String>, TodoItem)> {
    let line = line.trim_start();
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let line = match line[digits..].strip_prefix(['.', ')']).filter(|_| digits > 0) {
        Some(numbered) => numbered,
        None => line.trim_start_matches(['-', '*', '+']),
    };
    let (mark, text) = line.trim_start().strip_prefix('[')?.split_once(']')?;
    let state = match mark.trim() {
        "" => TodoState::Open,
        "x" | "X" | "✓" => TodoState::Done,
        "~" | "/" | ">" | "-" => TodoState::Active,
        word => progress(word)?,
    };
    let text = text.trim().to_owned();
    (!text.is_empty()).then_some((None, TodoItem { text, state }))
}

/// The text of an item, under one of its usual names.
fn text(map: &Map<String, Value>) -> Option<String> {
    let text = TEXTS.iter().find_map(|name| map.get(*name)?.as_str())?.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// The id that a tool gave to a new item: in a field of a JSON answer, or as in `Task #10 created`.
fn given(answer: &str) -> Option<String> {
    if let Some(Value::Object(map)) = encoded(answer) {
        let inner = || map.values().filter_map(Value::as_object).find_map(id);
        return id(&map).or_else(inner);
    }
    let line = answer.lines().next().unwrap_or_default();
    let numbers = line.split('#').skip(1).map(|rest| {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        &rest[..digits]
    });
    numbers.into_iter().find(|number| !number.is_empty()).map(str::to_owned)
}

fn id(map: &Map<String, Value>) -> Option<String> {
    match IDS.iter().find_map(|name| map.get(*name))? {
        Value::String(id) => Some(id.clone()),
        Value::Number(id) => Some(id.to_string()),
        _ => None,
    }
}

/// The state of an item, from a word or a flag.
fn state(map: &Map<String, Value>) -> Option<TodoState> {
    let named = STATES.iter().find_map(|name| map.get(*name)?.as_str());
    let flag = || {
        let is_done = DONE.iter().find_map(|name| map.get(*name)?.as_bool())?;
        Some(if is_done { TodoState::Done } else { TodoState::Open })
    };
    named.and_then(progress).or_else(flag)
}

/// The state that a word denotes.
fn progress(word: &str) -> Option<TodoState> {
    const LONGEST: usize = 16;
    if word.len() > LONGEST {
        return None;
    }
    let word: String = word.trim().to_lowercase().replace(['-', '_', ' '], "");
    Some(match word.as_str() {
        "completed" | "complete" | "done" | "closed" | "finished" | "resolved" => TodoState::Done,
        "inprogress" | "active" | "doing" | "started" | "ongoing" | "wip" | "underway" | "working" => TodoState::Active,
        "cancelled" | "canceled" | "dropped" | "skipped" | "abandoned" => TodoState::Dropped,
        "todo" | "pending" | "open" | "later" | "planned" | "notstarted" | "new" | "backlog" | "waiting" | "queued" => {
            TodoState::Open
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn list_after(calls: &[&str]) -> String {
        list_answered(&calls.iter().map(|call| (*call, "")).collect::<Vec<_>>())
    }

    fn list_answered(calls: &[(&str, &str)]) -> String {
        let mut list = TodoList::default();
        for (call, answer) in calls {
            let value: Value = serde_json::from_str(call).unwrap();
            list.take(&Parameters::new(value.as_object().unwrap().clone()), answer);
        }
        let shown = list.items().map(|item| {
            assert_eq!(TodoItem::of_line(&item.line()).as_ref(), Some(item));
            format!("[{}]{}", item.state.sign(), item.text)
        });
        shown.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_list_is_read_in_every_shape_that_agents_give_it() {
        let table: &[(&[&str], &str)] = &[
            (
                &[
                    r#"{"todos":[{"content":"a","status":"completed","activeForm":"doing a"},{"content":"b","status":"in_progress"}]}"#,
                ],
                "[x]a [>]b",
            ),
            (
                &[
                    r#"{"explanation":"why","plan":[{"step":"a","status":"completed"},{"step":"b","status":"pending"}]}"#,
                ],
                "[x]a [ ]b",
            ),
            (&[r#"{"todos":"- [x] a\n- [ ] b\nwords"}"#], "[x]a [ ]b"),
            (&[r#"{"items":["a","[x] b"," "]}"#], "[ ]a [x]b"),
            (
                &[r#"{"todos":"1. [completed] a\n2. [in_progress] b [c]\n3) [pending] d\n- [cancelled] e\nwords"}"#],
                "[x]a [>]b [c] [ ]d [-]e",
            ),
            (&[r#"{"todos":"1. a\n2. [see] b\n3 [x] c"}"#], ""),
            // Encoded as a string.
            (
                &[r#"{"todos":"[{\"content\":\"a\",\"status\":\"completed\"},{\"content\":\"b\"}]"}"#],
                "[x]a [ ]b",
            ),
            (&[r#"{"todos":" [\n\"a\", \"[x] b\"]\n"}"#], "[ ]a [x]b"),
            (&[r#"{"plan":"{\"todos\":[{\"step\":\"a\"}]}"}"#], "[ ]a"),
            (&[r#"{"todos":["{\"content\":\"a\",\"status\":\"done\"}"]}"#], "[x]a"),
            (&[r#"{"todos":"[x] a\n[ ] b"}"#], "[x]a [ ]b"),
            (&[r#"{"explanation":"[\"no list\"]","plan":[{"step":"a"}]}"#], "[ ]a"),
            (&[r#"{"todos":[{"content":"a"}]}"#, r#"{"todos":"[]"}"#], ""),
            (&[r#"{"tasks":[{"title":"a","done":true},{"nothing":1}]}"#], "[x]a"),
            (&[r#"{"todos":[{"content":"a","status":"cancelled"}]}"#], "[-]a"),
            (
                &[r#"{"todos":[{"content":"a"}]}"#, r#"{"todos":[{"content":"b"}]}"#],
                "[ ]b",
            ),
            (&[r#"{"todos":[{"content":"a"}]}"#, r#"{"todos":[]}"#], ""),
            (&[r#"{"todos":[{"content":"a"}]}"#, "{}"], "[ ]a"),
            // Unreadable calls leave the list unchanged.
            (&[r#"{"todos":[{"content":"a"}]}"#, r#"{"todos":"x"}"#], "[ ]a"),
            (&[r#"{"todos":[{"content":"a"}]}"#, r#"{"todos":""}"#], "[ ]a"),
            (&[r#"{"todos":[{"content":"a"}]}"#, r#"{"todos":[1,2]}"#], "[ ]a"),
            (&[r#"{"todos":[{"content":"a"}]}"#, r#"{"todos":"[1,2]"}"#], "[ ]a"),
            (
                &[r#"{"todos":[{"content":"a"}]}"#, r#"{"todos":"[{\"content\":\"cut"}"#],
                "[ ]a",
            ),
            (
                &[r#"{"todos":[{"content":"a"}]}"#, r#"{"todos":[{"nothing":1}]}"#],
                "[ ]a",
            ),
            (&[r#"{"cards":[{"label":"a b","colour":"red"}]}"#], ""),
        ];
        for (calls, expected) in table {
            assert_eq!(list_after(calls), *expected);
        }
    }

    #[test]
    fn items_added_one_at_a_time_are_altered_by_the_ids_in_the_answers() {
        let calls = [
            (
                r#"{"subject":"a","description":"long"}"#,
                "Task #10 created successfully: a #3",
            ),
            (r#"{"subject":"b"}"#, "Task #11 created successfully: b"),
            (r#"{"subject":"c"}"#, r#"{"task":{"id":"12","subject":"c"}}"#),
            (r#"{"taskId":"10","status":"completed"}"#, "Updated task #10 status"),
            (r#"{"taskId":11,"status":"in_progress","subject":"bb"}"#, ""),
            (r#"{"taskId":"12","status":"deleted"}"#, ""),
            // Of a task that is not known.
            (r#"{"taskId":"1","status":"completed"}"#, ""),
            (r#"{"taskId":"3","status":"deleted"}"#, ""),
            (r#"{"taskId":"10"}"#, ""),
        ];
        assert_eq!(list_answered(&calls), "[x]a [>]bb");
        // Numbered anew.
        let again = [calls[0], calls[1], (r#"{"subject":"d"}"#, "Task #10 created")];
        assert_eq!(list_answered(&again), "[ ]b [ ]d");
    }

    #[test]
    fn an_item_whose_id_is_not_known_is_listed_until_one_of_those_is_altered() {
        let add = [
            (r#"{"subject":"a"}"#, "Added."),
            (r#"{"subject":"b"}"#, "Task #2 created"),
        ];
        assert_eq!(list_answered(&add), "[ ]a [ ]b");
        let mut altered = add.to_vec();
        altered.push((r#"{"taskId":"2","status":"completed"}"#, ""));
        assert_eq!(list_answered(&altered), "[ ]a [x]b");
        altered.push((r#"{"taskId":"1","status":"completed"}"#, ""));
        assert_eq!(list_answered(&altered), "[x]b");
    }

    #[test]
    fn a_hostile_list_is_cut() {
        let many = format!(r#"{{"todos":[{}]}}"#, vec![r#""a""#; 5_000].join(","));
        assert_eq!(list_after(&[&many]).matches('a').count(), MOST);
    }
}
