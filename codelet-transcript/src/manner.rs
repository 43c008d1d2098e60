//! How the tools of a file answer, learned from all of their answers: in objects or not, and where they state an exit
//! status.
//!
//! One answer does not tell what the harness has written and what the program printed. A harness writes the same around
//! every output, and no program prints the same in all of them.

use codelet_context::exchange::Calls;
use codelet_context::exit_status::{self, Form, Stated, of_object};
use codelet_context::message::{ActionKind, Message, Part, ToolCall, ToolResult};
use std::collections::HashMap;
use std::sync::Arc;

/// The share of the answers that a harness's form is found in.
const NEARLY_ALL: f64 = 0.8;
/// Answers before it is known that nearly all of them state a status.
const MANY: usize = 3;

/// How one tool answers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Manner {
    /// Mostly in objects, so they are the harness's and not what it was asked for.
    pub(crate) in_objects: bool,
    /// The forms that nearly all answers have which state a status in any.
    forms: Vec<Form>,
    /// Nearly all answers to commands state one.
    is_constant: bool,
}

impl Manner {
    /// The exit status that the harness states in the answer to a command. Where the forms of the file do not show which
    /// of them the harness's is, only a failure counts, as it does of two that disagree: nobody looks again at what is
    /// told to have worked.
    pub(crate) fn status(&self, result: &ToolResult, command: &str) -> Option<i64> {
        if let Some(object) = object(result) {
            return serde_json::from_str(object)
                .ok()
                .as_ref()
                .and_then(of_object)
                .filter(|_| self.in_objects);
        }
        let stated = stated(result, command);
        let mut known = stated.iter().filter(|stated| self.forms.contains(&stated.form));
        let mut failed = stated
            .iter()
            .filter(|stated| stated.status != 0 && !stated.form.is_loose());
        let one = match self.forms.is_empty() {
            true => failed.next(),
            false => known.clone().find(|stated| stated.status != 0).or_else(|| known.next()),
        };
        one.map(|stated| stated.status)
    }

    /// Whether the status is stated with every answer, so that no single output can pose as it.
    pub(crate) fn states_always(&self) -> bool {
        self.in_objects || self.is_constant
    }
}

/// The manner of each tool of a file, by its name.
pub(crate) fn manners(messages: &[Message]) -> HashMap<Arc<str>, Manner> {
    let mut calls: Calls<&str, &ToolCall> = Calls::default();
    let mut counts: HashMap<Arc<str>, Count> = HashMap::new();
    for part in messages.iter().flat_map(|message| &message.parts) {
        match part {
            Part::ToolCall(call) => calls.called(&call.id, call),
            Part::ToolResult(result) => {
                if let Some(call) = calls.of(result) {
                    counts.entry(call.tool.clone()).or_default().add(result, call);
                }
            }
            _ => {}
        }
    }
    let manners = counts.into_iter().map(|(tool, count)| (tool, count.manner()));
    manners.collect()
}

/// What the answers of one tool are counted by.
#[derive(Default)]
struct Count {
    all: usize,
    commands: usize,
    objects: usize,
    /// Answers that state a status in any form that hardly any program prints, and in each form.
    stating: usize,
    forms: HashMap<Form, usize>,
}

impl Count {
    fn add(&mut self, result: &ToolResult, call: &ToolCall) {
        self.all += 1;
        self.commands += usize::from(call.action.kind == ActionKind::Command);
        if object(result).is_some() {
            self.objects += 1;
        } else if call.action.kind == ActionKind::Command {
            let stated = stated(result, call.action.command.as_deref().unwrap_or_default());
            self.stating += usize::from(stated.iter().any(|stated| !stated.form.is_loose()));
            for stated in stated {
                *self.forms.entry(stated.form).or_default() += 1;
            }
        }
    }

    fn manner(self) -> Manner {
        let nearly = |count: usize, all: usize| count as f64 >= NEARLY_ALL * all as f64;
        let in_all = |count: usize| self.commands >= MANY && nearly(count, self.commands);
        let forms = || {
            let forms = self.forms.iter();
            forms.filter(|(form, count)| match form.is_loose() {
                true => in_all(**count),
                false => nearly(**count, self.stating),
            })
        };
        Manner {
            in_objects: self.objects * 2 > self.all,
            forms: forms().map(|(form, _)| *form).collect(),
            is_constant: forms().any(|(_, count)| in_all(*count)),
        }
    }
}

/// The text of an answer that is one object.
fn object(result: &ToolResult) -> Option<&str> {
    let text = result.texts().next()?.body.as_str().trim();
    (text.starts_with('{') && text.ends_with('}')).then_some(text)
}

/// What an answer may state, in its first text or else in its last.
fn stated(result: &ToolResult, command: &str) -> Vec<Stated> {
    let mut texts = result.texts().map(|text| text.body.as_str());
    let stated = texts.next().map(|text| exit_status::stated(text, command));
    match stated.filter(|stated| !stated.is_empty()) {
        Some(stated) => stated,
        None => texts
            .last()
            .map_or_else(Vec::new, |text| exit_status::stated(text, command)),
    }
}
