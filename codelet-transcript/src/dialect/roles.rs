//! Which parameter of a tool plays which part, as the values in most of its calls show.

use super::fields::Call;
use super::line::{self, Likeness, likeness};
use super::values::{Shown, are_versions, holds, holds_prose, is_path, is_prose, longest_line, shown};
use crate::actions;
use codelet_context::message::{Action, ActionKind, ChangeKind, Message, values_within};
use serde_json::Value;
use std::collections::HashMap;

/// Calls of a tool that are looked at.
const LOOKED_AT: usize = 64;
/// Parameters that are looked at, and those among them that may be the two texts of an edit.
const MOST_NAMES: usize = 24;
const MOST_TEXTS: usize = 4;
/// Tools of a file for which is looked what was shown of the files that they change.
pub(super) const MOST_LOOKS: usize = 40;
/// Bytes of an earlier text that are searched.
const SEARCHED: usize = 64 * 1024;
/// Earlier texts about a file that what an edit takes away is looked for in.
const EARLIER: usize = 8;
/// Bytes of an answer that only confirms.
const CONFIRMATION: usize = 600;

/// Which parameters play a part.
#[derive(Default)]
pub(super) struct Roles {
    command: Option<String>,
    /// The arguments of the program that `command` names alone, as a list.
    arguments: Option<String>,
    path: Option<String>,
    /// What is replaced, and by what.
    pair: Option<(String, String)>,
    text: Option<String>,
    may_change: bool,
    reads: bool,
    removes: bool,
    /// What it removes are files that are here.
    is_here: bool,
    /// What the tool is called, or the word that tells it what to do.
    name: String,
    searches: bool,
}

impl Roles {
    /// What the values in calls of one tool show. `looks` is how often it may still be looked what was shown before.
    pub(super) fn of(tool: &str, name: &str, calls: &[&Call], messages: &[Message], looks: &mut usize) -> Self {
        let calls = &calls[..calls.len().min(LOOKED_AT)];
        let mut roles = Roles {
            name: name.to_owned(),
            ..Roles::default()
        };
        let speaks = actions::speaks(tool) || actions::speaks(name);
        if !speaks {
            let is_named = [tool, name].into_iter().any(actions::is_about_programs);
            (roles.command, roles.arguments) = command(calls, is_named);
        }
        if roles.command.is_some() {
            return roles;
        }
        roles.searches = most(calls, |call| {
            let answer = call.answered().map(shown);
            matches!(answer, Some(Shown::Places | Shown::Files))
        });
        roles.path = path(calls).filter(|_| {
            calls
                .iter()
                .all(|call| actions::is_here(call.fields.iter().map(|(name, _)| name.as_str())))
        });
        let Some(path) = roles.path.as_deref() else {
            return roles;
        };
        let words = actions::file_words(name);
        roles.may_change = !speaks && actions::may_change(name);
        if roles.may_change {
            roles.pair = pair(path, calls, messages, looks);
            roles.text = text(path, calls, words == Some(ActionKind::Change)).filter(|_| roles.pair.is_none());
            roles.removes = actions::removes(name);
            roles.is_here = actions::takes_from_here(tool, name);
        }
        let alone: Vec<&Call> = calls.iter().copied().filter(|call| is_alone(call, path)).collect();
        let lines = |call: &&Call| call.answered().is_some_and(|answer| shown(answer) == Shown::Lines);
        roles.reads = words == Some(ActionKind::Read)
            || !alone.is_empty() && !roles.removes && !speaks && actions::may_read(name) && {
                alone.iter().filter(|call| lines(call)).count() * 5 >= alone.len() * 3
            };
        roles
    }

    /// What a call does.
    pub(super) fn action(&self, call: &Call) -> Option<Action> {
        if let Some(patch) = call.texts().map(|(_, text)| text).find(|text| actions::is_patch(text)) {
            return Some(Action::patch(patch));
        }
        if let Some(name) = &self.command {
            let line = line_of(
                call.field(name)?,
                self.arguments.as_deref().and_then(|name| call.field(name)),
            )?;
            if actions::is_input(&line, |name| call.field(name)) {
                return Some(actions::input());
            }
            let line = actions::in_its_folder(line, |name| call.text(name));
            return Some(Action::command(&line));
        }
        let path = self
            .path
            .as_deref()
            .and_then(|name| call.text(name))
            .filter(|path| !path.trim().is_empty());
        let Some(path) = path else {
            return self.searches.then(|| Action {
                kind: ActionKind::Search,
                ..Action::default()
            });
        };
        if let Some((old, new)) = &self.pair
            && call.text(old).is_some()
            && call.text(new).is_some()
        {
            return Some(Action::on(ActionKind::Change, [path]).replacing([old.as_str()]));
        }
        // Several at once, in a list.
        let is_list = |(_, value): &(String, std::borrow::Cow<Value>)| value.is_array();
        if self.may_change && call.fields.iter().any(is_list) {
            let replaced = actions::replaced(call.call.parameters.as_map());
            if !replaced.is_empty() {
                return Some(Action::on(ActionKind::Change, [path]).replacing(replaced));
            }
        }
        let writes = self.text.as_ref().is_some_and(|name| call.text(name).is_some());
        if writes || self.removes {
            let action = Action::on(ActionKind::Change, [path]);
            return match !writes && actions::removes_wholes(&self.name, &call.map()) {
                true => self.is_here.then(|| action.changing(ChangeKind::Removes)),
                false => Some(action),
            };
        }
        let is_read = self.reads && self.path.as_deref().is_some_and(|name| is_alone(call, name));
        is_read.then(|| Action::on(ActionKind::Read, [path]))
    }
}

fn most(calls: &[&Call], is: impl Fn(&Call) -> bool) -> bool {
    !calls.is_empty() && calls.iter().filter(|call| is(call)).count() * 10 >= calls.len() * 7
}

/// Names of the parameters in any of the calls, in their order.
fn names<'a>(calls: &[&'a Call]) -> Vec<&'a str> {
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in calls.iter().flat_map(|call| call.fields.iter().take(MOST_NAMES)) {
        if names.len() < MOST_NAMES && !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    names
}

/// The parameter that is a command line in most calls, and the list of arguments beside it where it is only a program.
///
/// One call alone may have anything in its text, so that a name has to say that it is about programs.
fn command(calls: &[&Call], is_named: bool) -> (Option<String>, Option<String>) {
    let mut names = names(calls);
    names.retain(|name| !actions::speaks(name) && (calls.len() > 1 || is_named || actions::is_about_programs(name)));
    for name in names {
        let lines = || calls.iter().filter_map(|call| call.field(name));
        let arguments = || {
            let is_program = |value: &Value| value.as_str().is_some_and(line::is_program);
            let words = |call: &&Call| {
                call.fields
                    .iter()
                    .find(|(_, value)| is_words(value))
                    .map(|(name, _)| name.clone())
            };
            lines().all(is_program).then(|| calls.iter().find_map(words)).flatten()
        };
        let all = lines().count();
        if all == 0 || all * 10 < calls.len() * 7 {
            continue;
        }
        if let Some(arguments) = arguments() {
            return (Some(name.to_owned()), Some(arguments));
        }
        let found: Vec<Likeness> = lines()
            .filter_map(|value| line_of(value, None))
            .map(|line| likeness(&line))
            .collect();
        let some = found.iter().filter(|found| **found > Likeness::None).count();
        let clear = found.iter().filter(|found| **found == Likeness::Clear).count();
        if some * 10 >= all * 7 && clear * 10 >= all * 4 && clear > 0 {
            return (Some(name.to_owned()), None);
        }
    }
    (None, None)
}

fn is_words(value: &Value) -> bool {
    value
        .as_array()
        .is_some_and(|items| !items.is_empty() && items.iter().all(Value::is_string))
}

/// A command line, or the words of one.
fn line_of(value: &Value, arguments: Option<&Value>) -> Option<String> {
    match (value, arguments.and_then(Value::as_array)) {
        (Value::String(program), Some(arguments)) => {
            let words: Vec<Value> = std::iter::once(value).chain(arguments).cloned().collect();
            actions::line_of(&words).or_else(|| Some(program.clone()))
        }
        (Value::String(line), None) => Some(line.clone()).filter(|line| !line.trim().is_empty()),
        (Value::Array(words), _) if is_words(value) => actions::line_of(words),
        _ => None,
    }
}

/// The parameter that is the path of a file in most calls. Of two, neither is the file that something is done to.
fn path(calls: &[&Call]) -> Option<String> {
    let is_one = |name: &&str| {
        let texts: Vec<&str> = calls.iter().filter_map(|call| call.text(name)).collect();
        let paths = texts.iter().filter(|text| is_path(text)).count();
        let is_line = |text: &&str| !text.is_empty() && !text.contains(['\n', ' ']);
        let known = actions::is_path_name(name) && texts.iter().all(is_line);
        texts.len() * 10 >= calls.len() * 7 && !texts.is_empty() && (known || paths * 10 >= texts.len() * 8)
    };
    let found: Vec<&str> = names(calls).into_iter().filter(is_one).collect();
    match found.as_slice() {
        [one] => Some((*one).to_owned()),
        _ => None,
    }
}

/// Whether a call says nothing beside the path but which piece of the file is wanted.
fn is_alone(call: &Call, path: &str) -> bool {
    let is_small = |value: &Value| match value {
        Value::String(text) => text.len() <= 12 && !text.contains(char::is_whitespace) && !is_path(text),
        Value::Array(items) => items.iter().all(Value::is_number),
        Value::Object(_) => false,
        _ => true,
    };
    call.field(path).is_some() && call.fields.iter().all(|(name, value)| name == path || is_small(value))
}

/// Two texts of which, in most calls that have both, the first stands in the file and the second does not, or that are
/// versions of one text.
fn pair(path: &str, calls: &[&Call], messages: &[Message], looks: &mut usize) -> Option<(String, String)> {
    let is_text = |name: &&str| *name != path && calls.iter().any(|call| call.text(name).is_some());
    let texts: Vec<&str> = names(calls).into_iter().filter(is_text).collect();
    if texts.len() < 2 || texts.len() > MOST_TEXTS {
        return None;
    }
    let earlier = match *looks {
        0 => Earlier(HashMap::new()),
        _ => Earlier::of(path, calls, messages),
    };
    *looks = looks.saturating_sub(1);
    let mut best: Option<(usize, (&str, &str))> = None;
    for (index, one) in texts.iter().enumerate() {
        for other in &texts[index + 1..] {
            let both = || {
                calls
                    .iter()
                    .filter_map(|call| Some((call, call.text(one)?, call.text(other)?)))
            };
            let all = both().count();
            let is_value =
                |text: &str| text.len() < 3 || is_path(text) || text.bytes().all(|b| b.is_ascii_digit() || b == b'-');
            let stands = |call: &Call, text: &str| !is_value(text) && earlier.stands(call, path, text);
            let versions = both().filter(|(_, a, b)| are_versions(a, b)).count();
            let first = both()
                .filter(|(call, a, b)| stands(call, a) && !stands(call, b))
                .count();
            let second = both()
                .filter(|(call, a, b)| stands(call, b) && !stands(call, a))
                .count();
            let named = both().filter(|(_, a, b)| !is_value(a) && !is_value(b)).count() == all
                && actions::is_replaced_by(one, other);
            let shown = if named { all } else { versions.max(first).max(second) };
            let in_order = !(second > first || first == second && actions::is_replaced_by(other, one));
            if all > 0 && shown * 5 >= all * 3 && best.as_ref().is_none_or(|(most, _)| shown > *most) {
                best = Some((shown, if in_order { (one, other) } else { (other, one) }));
            }
        }
    }
    best.map(|(_, (old, new))| (old.to_owned(), new.to_owned()))
}

/// What was shown or written of the files that calls name, before them.
struct Earlier<'a>(HashMap<&'a str, Vec<(usize, &'a str)>>);

impl<'a> Earlier<'a> {
    fn of(path: &str, calls: &[&'a Call], messages: &'a [Message]) -> Self {
        let mut texts: HashMap<&str, Vec<(usize, &str)>> = HashMap::new();
        texts.extend(calls.iter().filter_map(|call| Some((call.text(path)?, Vec::new()))));
        let mut asked: HashMap<&str, &str> = HashMap::new();
        for (index, message) in messages.iter().enumerate() {
            for call in message.calls() {
                let values = values_within(call.parameters.as_map());
                let strings: Vec<&str> = values.filter_map(Value::as_str).collect();
                let named = strings
                    .iter()
                    .copied()
                    .chain(call.action.paths.iter().map(|path| &**path));
                let words = call.action.command.as_deref().unwrap_or_default().split_whitespace();
                let Some(file) = named.chain(words).find(|word| texts.contains_key(word)) else {
                    continue;
                };
                asked.insert(&call.id, file);
                if let Some(texts) = texts.get_mut(file) {
                    texts.extend(
                        strings
                            .into_iter()
                            .filter(|text| text.len() > 20)
                            .map(|text| (index, text)),
                    );
                }
            }
            for result in message.tool_results() {
                if let Some(texts) = asked.get(&*result.call_id).and_then(|file| texts.get_mut(file)) {
                    texts.extend(result.texts().map(|text| (index, text.body.as_str())));
                }
            }
        }
        Earlier(texts)
    }

    /// Whether a text stood in the file that a call names, as far as it was seen before.
    fn stands(&self, call: &Call, path: &str, text: &str) -> bool {
        let line = longest_line(text);
        let Some(texts) = call.text(path).and_then(|path| self.0.get(path)) else {
            return false;
        };
        let before = texts.iter().rev().filter(|(at, _)| *at < call.at.0);
        before
            .take(EARLIER)
            .any(|(_, earlier)| holds(&earlier[..earlier.floor_char_boundary(SEARCHED)], line))
    }
}

/// The parameter that holds what is written: texts of several lines that are no sentences about the file, and of which the
/// answers only say that it was done.
fn text(path: &str, calls: &[&Call], says_so: bool) -> Option<String> {
    let confirms = |call: &Call, text: &str| {
        let Some(answer) = call.answered() else { return true };
        answer.len() <= CONFIRMATION || holds(answer, longest_line(text))
    };
    let is_written = |name: &&str| {
        let with: Vec<(&Call, &str)> = calls
            .iter()
            .filter_map(|call| Some((*call, call.text(name)?)))
            .collect();
        let long = with
            .iter()
            .filter(|(_, text)| text.trim_end_matches(' ').contains('\n'))
            .count();
        let fits = |(call, text): &&(&Call, &str)| {
            let file = call.text(path).unwrap_or_default();
            confirms(call, text) && (holds_prose(file) || !is_prose(text))
        };
        let fitting = with.iter().filter(fits).count();
        let is_long = long * 2 >= with.len() || says_so && actions::is_content_name(name);
        !with.is_empty() && is_long && fitting * 10 >= with.len() * 7
    };
    let texts = names(calls)
        .into_iter()
        .filter(|name| *name != path && !actions::speaks(name));
    let found: Vec<&str> = texts.filter(is_written).collect();
    match found.as_slice() {
        [one] => Some((*one).to_owned()),
        _ => None,
    }
}
