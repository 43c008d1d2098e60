//! Parses strings, numbers, lists and objects in JavaScript programs.

use serde_json::{Map, Number, Value};
use std::collections::HashMap;

const DEEPEST: usize = 32;

/// The constants of a program whose values can be read.
#[derive(Default)]
pub(super) struct Scope(HashMap<String, Value>);

impl Scope {
    /// Reads `name = value` after the keyword of a declaration.
    pub(super) fn bind(&mut self, cursor: &mut Cursor<'_>) {
        let Some(name) = cursor.name().map(str::to_owned) else {
            return;
        };
        let before = cursor.at;
        let value = if cursor.eats("=") { cursor.value(self) } else { None };
        match value {
            Some(value) => drop(self.0.insert(name, value)),
            // Its value may contain calls.
            None => {
                self.0.remove(&name);
                cursor.at = before;
            }
        }
    }
}

pub(super) struct Cursor<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Cursor { text, at: 0 }
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// Returns the next word of code, skipping strings and comments.
    pub(super) fn word(&mut self) -> Option<&'a str> {
        loop {
            self.space();
            match self.peek()? {
                '"' | '\'' | '`' => {
                    // A template may contain calls, which are evaluated.
                    let (before, quote) = (self.at, self.peek()?);
                    if self.text(quote).is_none() {
                        self.at = before + 1;
                    }
                }
                c if is_name(c) => return self.name(),
                c => self.at += c.len_utf8(),
            }
        }
    }

    /// Returns the name at this position, if any.
    pub(super) fn name(&mut self) -> Option<&'a str> {
        self.space();
        let rest = self.rest();
        let end = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
        self.at += end;
        (end > 0).then(|| &rest[..end])
    }

    /// Returns the name of the tool called here, up to the parenthesis: `.exec_command(`, `["exec_command"](`.
    pub(super) fn called(&mut self) -> Option<String> {
        let name = match self.eats(".") {
            true => self.name()?.to_owned(),
            false => {
                self.eats("[").then_some(())?;
                let quote = self.peek().filter(|c| matches!(c, '"' | '\''))?;
                let name = self.text(quote)?;
                self.eats("]").then_some(name)?
            }
        };
        self.eats("(").then_some(name)
    }

    /// Returns the value at this position, if all of it is literal.
    pub(super) fn value(&mut self, scope: &Scope) -> Option<Value> {
        let value = self.sum(scope, 0)?;
        self.space();
        // If the expression goes on, its value is computed.
        matches!(self.peek(), None | Some(',' | ')' | ']' | '}' | ';'))
            .then_some(())
            .or_else(|| self.is_at_line_start().then_some(()))?;
        Some(value)
    }

    /// Returns whether there is only white space between the last line break and this position.
    fn is_at_line_start(&self) -> bool {
        let before = self.text[..self.at].trim_end_matches([' ', '\t', '\r']);
        before.ends_with('\n') && !matches!(self.peek(), Some('.' | '?' | '+' | '-' | '*' | '[' | '(' | '`'))
    }

    fn sum(&mut self, scope: &Scope, depth: usize) -> Option<Value> {
        let mut value = self.one(scope, depth)?;
        while self.eats("+") {
            let (Value::String(mut text), Value::String(more)) = (value, self.one(scope, depth)?) else {
                return None;
            };
            text.push_str(&more);
            value = Value::String(text);
        }
        Some(value)
    }

    fn one(&mut self, scope: &Scope, depth: usize) -> Option<Value> {
        self.space();
        let depth = depth + 1;
        if depth > DEEPEST {
            return None;
        }
        match self.peek()? {
            quote @ ('"' | '\'' | '`') => self.text(quote).map(Value::String),
            '{' => self.object(scope, depth).map(Value::Object),
            '[' => self.list(scope, depth),
            '(' => {
                self.at += 1;
                let value = self.sum(scope, depth)?;
                self.eats(")").then_some(value)
            }
            c if c.is_ascii_digit() => {
                let digits: String = self.name()?.chars().filter(|c| *c != '_').collect();
                digits
                    .parse::<u64>()
                    .ok()
                    .map(|number| Value::Number(Number::from(number)))
            }
            c if is_name(c) => match self.name()? {
                "true" => Some(Value::Bool(true)),
                "false" => Some(Value::Bool(false)),
                "null" | "undefined" => Some(Value::Null),
                "String" if self.eats(".raw`") => self.raw().map(Value::String),
                name => scope.0.get(name).cloned(),
            },
            _ => None,
        }
    }

    /// Reads a list, or a joined list of texts.
    fn list(&mut self, scope: &Scope, depth: usize) -> Option<Value> {
        self.at += 1;
        let mut items = Vec::new();
        while !self.eats("]") {
            items.push(self.sum(scope, depth)?);
            if !self.eats(",") {
                self.eats("]").then_some(())?;
                break;
            }
        }
        if !self.eats(".join(") {
            return Some(Value::Array(items));
        }
        let Value::String(between) = self.sum(scope, depth)? else {
            return None;
        };
        self.eats(")").then_some(())?;
        let texts: Vec<&str> = items.iter().map(Value::as_str).collect::<Option<_>>()?;
        Some(Value::String(texts.join(&between)))
    }

    fn object(&mut self, scope: &Scope, depth: usize) -> Option<Map<String, Value>> {
        self.at += 1;
        let mut fields = Map::new();
        while !self.eats("}") {
            self.space();
            let name = match self.peek()? {
                quote @ ('"' | '\'') => self.text(quote)?,
                _ => self.name()?.to_owned(),
            };
            let value = match self.eats(":") {
                true => self.sum(scope, depth)?,
                false => scope.0.get(&name)?.clone(),
            };
            fields.insert(name, value);
            if !self.eats(",") {
                self.eats("}").then_some(())?;
                break;
            }
        }
        Some(fields)
    }

    /// Reads a string up to its closing quote; `None` if it contains an interpolation.
    fn text(&mut self, quote: char) -> Option<String> {
        let mut text = String::new();
        let mut chars = self.rest().char_indices().skip(1);
        while let Some((at, c)) = chars.next() {
            match c {
                _ if c == quote => {
                    self.at += at + c.len_utf8();
                    return Some(text);
                }
                '\n' if quote != '`' => return None,
                '$' if quote == '`' && self.rest()[at..].starts_with("${") => return None,
                '\\' => match chars.next()?.1 {
                    'n' => text.push('\n'),
                    't' => text.push('\t'),
                    'r' => text.push('\r'),
                    '\n' => {}
                    escape @ ('u' | 'x') => {
                        let length = if escape == 'u' { 4 } else { 2 };
                        let digits: String = chars.by_ref().take(length).map(|(_, c)| c).collect();
                        // A surrogate or another escape is not worth a table.
                        text.push(char::from_u32(u32::from_str_radix(&digits, 16).ok()?)?);
                    }
                    other => text.push(other),
                },
                c => text.push(c),
            }
        }
        None
    }

    /// Reads a raw template, in which backslashes are literal.
    fn raw(&mut self) -> Option<String> {
        let rest = self.rest();
        let end = rest.find('`')?;
        self.at += end + 1;
        let text = &rest[..end];
        (!text.contains("${") && !text.ends_with('\\')).then(|| text.to_owned())
    }

    fn eats(&mut self, what: &str) -> bool {
        self.space();
        let found = self.rest().starts_with(what);
        if found {
            self.at += what.len();
        }
        found
    }

    /// Skips white space and comments.
    fn space(&mut self) {
        loop {
            let rest = self.rest();
            let trimmed = rest.trim_start();
            self.at += rest.len() - trimmed.len();
            let end = match () {
                () if trimmed.starts_with("//") => trimmed.find('\n'),
                () if trimmed.starts_with("/*") => trimmed.find("*/").map(|end| end + 2),
                () => return,
            };
            self.at += end.unwrap_or(trimmed.len());
        }
    }
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '$')
}
