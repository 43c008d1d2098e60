//! Front matter: the part between two lines `---` at the start of a Markdown file, as far as definitions need it.
//!
//! It is read as a stream of YAML parser events, so that an alias is seen as an alias and never expanded: a file with
//! an alias is rejected.

use crate::environment::instructions::seen;
use crate::permission::narrowed::Narrowed;
use saphyr_parser::{Event, Parser};
use std::collections::BTreeMap;

/// The longest front matter that is read, in bytes.
pub const LONGEST: usize = 16 * 1024;
/// The maximum nesting of its values; `MOST_EVENTS`: the maximum number of parser events.
const DEEPEST: usize = 8;
const MOST_EVENTS: usize = 2_000;

/// The top-level values of a front matter, by lowercase name. Nested values are dropped.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Front(BTreeMap<String, Value>);

#[derive(Clone, PartialEq, Eq, Debug)]
enum Value {
    Text(String),
    List(Vec<String>),
}

/// A file, split.
#[derive(PartialEq, Eq, Debug)]
pub(crate) struct Parted<'a> {
    /// Its front matter; empty if it has none.
    pub(crate) front: Front,
    /// The text after it.
    pub(crate) body: &'a str,
    /// The number of invisible characters removed from the values.
    pub(crate) hidden: usize,
}

impl Front {
    /// Returns a value as text; a list as written on one line. `None` if it is absent or empty.
    pub fn text(&self, name: &str) -> Option<String> {
        let text = match self.0.get(name)? {
            Value::Text(text) => text.trim().to_owned(),
            Value::List(items) => format!("[{}]", items.join(", ")),
        };
        (!text.is_empty()).then_some(text)
    }

    /// Returns a value as a list: its items, or a text split at commas or whitespace outside parentheses (`Read,
    /// Bash(git log *)`). `None` if it is absent; an empty list counts as present.
    pub fn list(&self, name: &str) -> Option<Vec<String>> {
        match self.0.get(name)? {
            Value::List(items) => Some(items.iter().flat_map(|item| split(item)).collect()),
            Value::Text(text) => {
                let text = text.trim();
                let within = text.strip_prefix('[').and_then(|text| text.strip_suffix(']'));
                let unquoted = |word: String| word.trim_matches(['"', '\'']).to_owned();
                Some(split(within.unwrap_or(text)).into_iter().map(unquoted).collect())
            }
        }
    }

    /// Returns the tools that it lists, attributed to `by`; `None` if it does not mention tools. An empty list means
    /// that none is needed.
    pub(crate) fn narrowed(&self, by: String) -> Option<Narrowed> {
        self.text(TOOLS)?;
        let tools = self.list(TOOLS)?;
        Some(Narrowed { by, tools })
    }

    /// Returns whether a value is true, in any of YAML's spellings.
    pub fn is_set(&self, name: &str) -> bool {
        let is_yes = |text: String| matches!(text.to_ascii_lowercase().as_str(), "true" | "yes" | "on");
        self.text(name).is_some_and(is_yes)
    }

    /// Returns whether a value is false.
    pub(crate) fn is_unset(&self, name: &str) -> bool {
        let is_no = |text: String| matches!(text.to_ascii_lowercase().as_str(), "false" | "no" | "off");
        self.text(name).is_some_and(is_no)
    }
}

/// Splits a text at commas and whitespace outside parentheses.
fn split(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut depth = 0_usize;
    for c in text.chars() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        match words.last_mut() {
            Some(word) if depth > 0 || !(c == ',' || c.is_whitespace()) => word.push(c),
            _ => words.push(String::new()),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// The field that lists tools.
const TOOLS: &str = "allowed-tools";

/// Splits a file. One that does not begin with a line `---` has no front matter.
///
/// # Errors
/// Says in a fragment why its front matter cannot be read.
pub(crate) fn part(text: &str) -> Result<Parted<'_>, String> {
    let none = Parted {
        front: Front::default(),
        body: text,
        hidden: 0,
    };
    let Some((first, rest)) = text.split_once('\n') else {
        return Ok(none);
    };
    if first.trim_end() != "---" {
        return Ok(none);
    }
    let Some((yaml, body)) = closed(rest) else {
        return Err(format!("its front matter has no end within {LONGEST} bytes"));
    };
    let read = read(yaml).or_else(|why| match why {
        Unread::Refused(why) => Err(why.to_owned()),
        // Many files are written for lenient readers that take the rest of a line as the value.
        Unread::Malformed(why) => read(&quoted(yaml)).map_err(|_| format!("its front matter is not valid YAML: {why}")),
    });
    let (front, hidden) = read?;
    Ok(Parted { front, body, hidden })
}

/// Returns the texts before and after the line that closes a front matter.
fn closed(text: &str) -> Option<(&str, &str)> {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if line.trim_end() == "---" {
            return Some((&text[..at], &text[at + line.len()..]));
        }
        at += line.len();
        if at > LONGEST {
            return None;
        }
    }
    None
}

/// The reason why front matter was not read.
enum Unread {
    /// It has a form that is not accepted.
    Refused(&'static str),
    /// It is not YAML.
    Malformed(String),
}

/// Reads a mapping, and counts the invisible characters removed from its values.
fn read(yaml: &str) -> Result<(Front, usize), Unread> {
    let mut front = Front::default();
    let mut hidden = 0;
    let mut clean = |text: &str| {
        let (text, count) = seen(text);
        hidden += count;
        text.into_owned()
    };
    // The number of open collections, and the name whose value is being read.
    let mut depth = 0_usize;
    let mut name: Option<String> = None;
    let mut items: Option<Vec<String>> = None;
    for (count, event) in Parser::new_from_str(yaml).enumerate() {
        if count > MOST_EVENTS {
            return Err(Unread::Refused("its front matter has too many values"));
        }
        let (event, _) = event.map_err(|error| Unread::Malformed(seen(&error.to_string()).0.into_owned()))?;
        match event {
            Event::Alias(_) => {
                return Err(Unread::Refused(
                    "its front matter has an alias (`*name`), which is not supported",
                ));
            }
            Event::MappingStart(..) | Event::SequenceStart(..) => {
                if depth == 0 && matches!(event, Event::SequenceStart(..)) {
                    return Err(Unread::Malformed("expected names and values".to_owned()));
                }
                depth += 1;
                if depth > DEEPEST {
                    return Err(Unread::Refused("its front matter is nested too deep"));
                }
                if depth == 2 {
                    items = matches!(event, Event::SequenceStart(..)).then(Vec::new);
                }
            }
            Event::MappingEnd | Event::SequenceEnd => {
                depth = depth.saturating_sub(1);
                if depth == 1 {
                    // A mapping is also a value of a name, but is dropped.
                    let name = name
                        .take()
                        .ok_or(Unread::Refused("a name in its front matter is not text"))?;
                    if let Some(items) = items.take() {
                        front.0.entry(name).or_insert(Value::List(items));
                    }
                }
            }
            Event::Scalar(text, ..) => match (depth, &mut items) {
                (0, _) if text.is_empty() => {}
                (0, _) => return Err(Unread::Malformed("expected names and values".to_owned())),
                (1, _) => match name.take() {
                    None => name = Some(clean(&text).to_ascii_lowercase()),
                    Some(name) => {
                        front.0.entry(name).or_insert(Value::Text(clean(&text)));
                    }
                },
                (2, Some(items)) => items.push(clean(&text)),
                _ => {}
            },
            // Anything after the first document belongs to another.
            Event::DocumentEnd => break,
            _ => {}
        }
    }
    Ok((front, hidden))
}

/// Returns the same text with each plain value on a line quoted: `description: Use it when: always`.
fn quoted(yaml: &str) -> String {
    let mut out = String::new();
    for line in yaml.lines() {
        let is_name = |name: &str| {
            !name.is_empty()
                && name
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
        };
        let value = line.split_once(':').filter(|(name, _)| is_name(name));
        let plain = value.filter(|(_, value)| {
            !value.trim().is_empty() && !value.trim().starts_with(['"', '\'', '|', '>', '*', '&'])
        });
        match plain {
            Some((name, value)) => out.push_str(&format!("{name}: '{}'\n", value.trim().replace('\'', "''"))),
            None => {
                out.push_str(line);
                out.push('\n');
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::permission::need::Need;
    use proptest::prelude::*;

    fn front(yaml: &str) -> Result<Front, String> {
        part(&format!("---\n{yaml}\n---\nBody.\n")).map(|parted| parted.front)
    }

    #[test]
    fn values_are_read_as_they_are_written_in_files() {
        let read = front(
            "name: pdf\n\
             description: >-\n  Fills forms\n  and merges files.\n\
             quoted: \"a: b \\\"c\\\"\"\n\
             allowed-tools: Read, Bash(git log:*) Grep\n\
             tools:\n  - Read\n  - \"Bash(a, b)\"\n\
             flow: [Read, Grep]\n\
             metadata:\n  author: x\n  name: evil\n\
             Disable-Model-Invocation: true\n\
             user-invocable: no\n\
             empty:\n",
        )
        .unwrap();
        assert_eq!(read.text("name").as_deref(), Some("pdf"));
        assert_eq!(
            read.text("description").as_deref(),
            Some("Fills forms and merges files.")
        );
        assert_eq!(read.text("quoted").as_deref(), Some("a: b \"c\""));
        assert_eq!(read.list("allowed-tools").unwrap(), ["Read", "Bash(git log:*)", "Grep"]);
        assert_eq!(read.list("tools").unwrap(), ["Read", "Bash(a, b)"]);
        assert_eq!(read.list("flow").unwrap(), ["Read", "Grep"]);
        assert_eq!(read.text("flow").as_deref(), Some("[Read, Grep]"));
        assert_eq!(read.text("metadata"), None);
        assert!(read.is_set("disable-model-invocation") && read.is_unset("user-invocable"));
        assert_eq!((read.text("empty"), read.list("missing")), (None, None));
    }

    #[test]
    fn what_is_no_yaml_and_plain_to_see_is_read_all_the_same() {
        let read =
            front("description: Use this when: asked\nargument-hint: [file] [style]\ntools: [Read, Grep]").unwrap();
        assert_eq!(read.text("description").as_deref(), Some("Use this when: asked"));
        assert_eq!(read.text("argument-hint").as_deref(), Some("[file] [style]"));
        assert_eq!(read.list("tools").unwrap(), ["Read", "Grep"]);
    }

    #[test]
    fn an_empty_list_lists_nothing_and_a_field_without_a_value_is_no_list() {
        for (field, is_list) in [
            ("allowed-tools: []", true),
            ("allowed-tools:", false),
            ("other: x", false),
        ] {
            let narrowed = front(field).unwrap().narrowed("/x".to_owned());
            assert_eq!(narrowed.is_some(), is_list, "{field}");
            let needs = [Need::Change {
                path: "/repo/a".into(),
                is_inside: true,
                owner: None,
                diff: String::new(),
            }];
            let objects = |list: Narrowed| list.objection("Edit", &needs).is_some();
            assert!(narrowed.is_none_or(objects), "{field}");
        }
    }

    #[test]
    fn a_file_without_front_matter_is_all_body() {
        for text in ["# Title\n---\nname: x\n---\n", "", "---", " ---\nname: x\n---\n"] {
            let parted = part(text).unwrap();
            assert_eq!((parted.body, parted.front), (text, Front::default()));
        }
        let parted = part("---\r\nname: x\r\n---\r\nBody.\n---\nMore.\n").unwrap();
        assert_eq!(parted.front.text("name").as_deref(), Some("x"));
        assert_eq!(parted.body, "Body.\n---\nMore.\n");
    }

    #[test]
    fn bombs_are_refused_before_they_grow() {
        let mut laughs = "a: &a [x, x]\n".to_owned();
        for (of, name) in "abcdefgh".chars().zip("bcdefghi".chars()) {
            laughs.push_str(&format!("{name}: &{name} [*{of}, *{of}, *{of}, *{of}]\n"));
        }
        for (yaml, why) in [
            (laughs, "alias"),
            ("a: &a {b: *a}".to_owned(), "alias"),
            (format!("a: {}{}", "[".repeat(20), "]".repeat(20)), "too deep"),
            (
                format!(
                    "a:\n{}",
                    (1..20)
                        .map(|level| format!("{}a:\n", " ".repeat(level)))
                        .collect::<String>()
                ),
                "too deep",
            ),
            (format!("a: [{}]", "x,".repeat(7_000)), "too many"),
            (format!("a: {}", "x".repeat(LONGEST)), "no end"),
            ("- a\n- b".to_owned(), "not valid YAML"),
            ("just words".to_owned(), "not valid YAML"),
            ("? [a]\n: b".to_owned(), "not text"),
        ] {
            let refused = front(&yaml).unwrap_err();
            assert!(refused.contains(why), "{refused}");
        }
        assert!(part("---\nname: x\nno end").is_err());
        // Unclosed collections are not YAML, or at most a text.
        for open in ["[", "{a: ", "- ", "? "] {
            let _ = front(&format!("a: {}", open.repeat(3_000)));
            let _ = front(&open.repeat(3_000));
        }
    }

    #[test]
    fn what_an_escape_hides_is_taken_out() {
        let parted = part("---\ndescription: \"a\\u202eb\\u200bc\\ed\"\n---\n").unwrap();
        assert_eq!(parted.front.text("description").as_deref(), Some("abcd"));
        assert_eq!(parted.hidden, 3);
    }

    proptest! {
        #[test]
        fn any_text_can_be_read(text in r#"(---\n|[a-c]: |[\[\]{}&*!|>%@`"'#?,:-]|[a-c\n ]|\t|é|\\u202e){0,60}"#) {
            let text = format!("---\n{text}\n---\nbody");
            if let Ok(parted) = part(&text) {
                prop_assert!(text.ends_with(parted.body));
                for name in parted.front.0.keys() {
                    let _ = (parted.front.text(name), parted.front.list(name));
                }
            }
        }
    }
}
