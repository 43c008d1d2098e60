//! What the calls of a dialect do that nobody here has seen: learned from all calls of a file and their answers.
//!
//! The table of `actions` knows the tools of known agents, and parameters that most agents name alike. What it does not know
//! is judged here by what it holds: a text that is a command line in most calls of a tool is its command; of two texts
//! beside the path of a file, versions of one another, the first is replaced; a long text beside a path is written; a path
//! alone whose answers are lines is read. Parameters are freed of the object that wraps them, and a tool that is told by a
//! word what to do is as many tools as there are such words.
//!
//! What is wrongly taken for a change or a check is told as a fact, and what is missed is still there as lines. So in doubt
//! a call stays what it was: one that nothing is known of.

mod fields;
mod line;
mod roles;
mod values;

use crate::actions;
use codelet_context::message::{Action, ActionKind, Message, Part, ToolResult};
use codelet_context::todo;
use fields::Call;
use roles::Roles;
use std::collections::{BTreeMap, HashMap, HashSet};

/// Completes the actions of a whole conversation.
pub(crate) fn learn(messages: &mut [Message]) {
    for ((message, part), action) in learned(messages) {
        if let Part::ToolCall(call) = &mut messages[message].parts[part] {
            call.action = action;
        }
    }
}

/// What was learned, and of which calls.
fn learned(messages: &[Message]) -> Vec<((usize, usize), Action)> {
    let mut tools = unread(messages);
    if tools.is_empty() {
        return Vec::new();
    }
    let mut learned = Vec::new();
    let mut looks = roles::MOST_LOOKS;
    for (tool, calls) in &mut tools {
        let verb = fields::verb(calls);
        let mut groups: BTreeMap<Option<&str>, Vec<Call>> = BTreeMap::new();
        for mut call in std::mem::take(calls) {
            let word = verb.as_deref().and_then(|verb| fields::word(&call, verb));
            call.unwrap(verb.as_deref().filter(|_| word.is_some()));
            groups.entry(word).or_default().push(call);
        }
        let has_work = groups.values().flatten().any(|call| {
            let name = verb.as_deref().and_then(|verb| fields::word(call, verb));
            name.is_some_and(|name| does(name, call).is_some_and(|action| is_work(&action)))
        });
        for (word, calls) in groups {
            let name = word.unwrap_or(tool);
            let group = Group {
                tool,
                name,
                is_verb: word.is_some(),
                is_among_work: has_work,
                calls: &calls,
            };
            learned.extend(group.actions(messages, &mut looks));
        }
    }
    learned
}

/// Whether a call does what agents do that work on files.
fn is_work(action: &Action) -> bool {
    action.command.is_some() || !action.changed().is_empty()
}

/// The calls of which nothing is known, by tool.
fn unread(messages: &[Message]) -> BTreeMap<&str, Vec<Call<'_>>> {
    let mut tools: BTreeMap<&str, Vec<Call>> = BTreeMap::new();
    let mut known: HashMap<&str, bool> = HashMap::new();
    for (index, message) in messages.iter().enumerate() {
        for (place, part) in message.parts.iter().enumerate() {
            let Part::ToolCall(call) = part else { continue };
            let says_nothing = match call.action.kind {
                ActionKind::Other => !*known.entry(&call.tool).or_insert_with(|| actions::is_known(&call.tool)),
                ActionKind::Command => call.action.command.is_none() && call.action.paths.is_empty(),
                ActionKind::Read | ActionKind::Change => call.action.paths.is_empty(),
                _ => false,
            };
            if says_nothing && !call.parameters.as_map().is_empty() {
                let call = Call {
                    at: (index, place),
                    call,
                    answer: None,
                    fields: Vec::new(),
                    is_inner: false,
                };
                tools.entry(&call.call.tool).or_default().push(call);
            }
        }
    }
    if tools.is_empty() {
        return tools;
    }
    let results = messages.iter().flat_map(Message::tool_results);
    let answers: HashMap<&str, &ToolResult> = results.map(|result| (&*result.call_id, result)).collect();
    for call in tools.values_mut().flatten() {
        call.answer = answers.get(&*call.call.id).copied();
    }
    tools
}

/// What a call does under this name, as far as names tell.
fn does(name: &str, call: &Call) -> Option<Action> {
    call.is_inner.then(|| actions::named(name, &call.map()))?
}

/// The calls of one tool, or of one verb of a tool.
struct Group<'g, 'a> {
    tool: &'g str,
    name: &'g str,
    is_verb: bool,
    /// Other verbs of the tool run commands or change files.
    is_among_work: bool,
    calls: &'g [Call<'a>],
}

impl Group<'_, '_> {
    fn actions(&self, messages: &[Message], looks: &mut usize) -> Vec<((usize, usize), Action)> {
        let mut found = Vec::new();
        let mut rest: Vec<&Call> = Vec::new();
        let is_list = self.keeps_list();
        for call in self.calls {
            let of_kind = |kind| Action {
                kind,
                ..Action::default()
            };
            match does(self.name, call) {
                Some(action) if is_said(&action) => found.push((call.at, action)),
                _ if is_list && todo::stated(call.call.parameters.as_map()).is_some() => {
                    found.push((call.at, of_kind(ActionKind::Todo)));
                }
                _ if self.asks(call) => found.push((call.at, of_kind(ActionKind::Ask))),
                _ => rest.push(call),
            }
        }
        if !rest.is_empty() {
            let name = if self.is_verb {
                format!("{}_file", self.name)
            } else {
                self.name.to_owned()
            };
            let roles = Roles::of(self.tool, &name, &rest, messages, looks);
            found.extend(rest.iter().filter_map(|call| Some((call.at, roles.action(call)?))));
        }
        found
    }

    /// Whether the calls keep a list of what is to be done: one that comes again with other states, or that a name says
    /// to be one.
    fn keeps_list(&self) -> bool {
        let lists: Vec<_> = self
            .calls
            .iter()
            .filter_map(|call| todo::stated(call.call.parameters.as_map()))
            .collect();
        let names = self
            .calls
            .first()
            .into_iter()
            .flat_map(|call| call.fields.iter().map(|(name, _)| name.as_str()));
        let says_so = || names.chain([self.name]).any(actions::names_a_plan);
        let comes_again = || {
            lists.windows(2).any(|pair| {
                let before: HashSet<&str> = pair[0].iter().map(|item| item.text.as_str()).collect();
                let again = pair[1]
                    .iter()
                    .filter(|item| before.contains(item.text.as_str()))
                    .count();
                again * 2 >= pair[1].len() && pair[0] != pair[1]
            })
        };
        !lists.is_empty() && (says_so() || comes_again())
    }

    /// Whether a call asks the user. A tool server's tool of such a name asks somebody else.
    fn asks(&self, call: &Call) -> bool {
        let has_text = call.texts().any(|(_, text)| !text.trim().is_empty());
        let is_own = self.is_verb && self.is_among_work && matches!(self.name, "ask" | "question" | "clarify");
        has_text && !actions::is_of_server(self.tool) && (is_own || actions::asks_a_user(self.name))
    }
}

/// Whether an action says more than what kind it is of.
fn is_said(action: &Action) -> bool {
    match action.kind {
        ActionKind::Other => false,
        ActionKind::Read | ActionKind::Change => !action.paths.is_empty(),
        ActionKind::Command => action.command.is_some(),
        _ => true,
    }
}
