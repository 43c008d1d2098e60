//! Policies that replace old results with a marker, by a simple rule.

use crate::editor::{Editor, Full, Moment, Unedited};
use codelet_context::conversation::Report;
use codelet_context::message::{Message, Part, ToolResult};
use codelet_context::tokens::{Tokens, estimate_part};
use codelet_context::view::View;
use std::collections::VecDeque;
use std::sync::Arc;

const MARKER: &str = "[Old tool result content cleared]";

/// The results that are masked, and when.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rule {
    /// No results, ever.
    Nothing,
    /// All but this number of the newest, at every request.
    Last(usize),
    /// All but `keep` when the request has more than `trigger` tokens.
    Beyond { trigger: Tokens, keep: usize },
}

/// A result that is still shown.
struct Whole {
    message: usize,
    part: usize,
}

/// Edits by a rule, and compacts when full.
pub struct Mask<'a> {
    full: Full<'a>,
    rule: Rule,
    view: View,
    /// The results that are shown whole and larger than a marker, oldest first.
    whole: VecDeque<Whole>,
    /// The number of messages in the last request, as long as no edit followed it.
    same: usize,
}

impl<'a> Mask<'a> {
    pub fn new(unedited: &'a Unedited<'a>, rule: Rule) -> Self {
        Mask {
            full: Full::new(unedited),
            rule,
            view: View::default(),
            whole: VecDeque::new(),
            same: 0,
        }
    }

    fn show(&mut self, message: &Arc<Message>) {
        let at = self.view.messages.len();
        if self.masks() {
            for (part, of) in message.parts.iter().enumerate() {
                let Part::ToolResult(result) = of else { continue };
                if estimate_part(of) > estimate_part(&Part::ToolResult(masked(result))) {
                    self.whole.push_back(Whole { message: at, part });
                }
            }
        }
        self.view.messages.push(message.clone());
    }

    fn masks(&self) -> bool {
        self.rule != Rule::Nothing
    }

    /// Returns the number of the oldest results that the rule would mask now.
    fn due(&self, moment: &Moment) -> usize {
        match self.rule {
            Rule::Nothing => 0,
            Rule::Beyond { trigger, .. } if moment.tokens <= trigger => 0,
            Rule::Last(keep) | Rule::Beyond { keep, .. } => self.whole.len().saturating_sub(keep),
        }
    }
}

fn masked(result: &ToolResult) -> ToolResult {
    ToolResult {
        output: vec![Part::text(MARKER)],
        bare: true,
        error: None,
        ..result.clone()
    }
}

impl Editor for Mask<'_> {
    fn append(&mut self, message: &Arc<Message>) {
        self.full.append();
        self.show(message);
    }

    fn replied(&mut self, reply: &[Arc<Message>], _: Report) {
        self.same = self.view.messages.len();
        reply.iter().for_each(|message| self.append(message));
    }

    fn edit(&mut self, moment: &Moment) -> Option<&'static str> {
        let due = self.due(moment);
        for result in self.whole.drain(..due) {
            self.same = self.same.min(result.message);
            let message = self.view.edit(result.message);
            if let Some(Part::ToolResult(of)) = message.parts.get_mut(result.part) {
                *of = masked(of);
            }
        }
        (due > 0).then_some("rule")
    }

    fn compact(&mut self, _: &Moment) -> bool {
        let Some(view) = self.full.compact() else {
            return false;
        };
        let view = view.to_vec();
        self.view.messages.clear();
        self.whole.clear();
        self.same = 0;
        view.iter().for_each(|message| self.show(message));
        true
    }

    fn shown(&self) -> &[Arc<Message>] {
        &self.view.messages
    }

    fn same(&self) -> usize {
        self.same
    }

    fn edge(&self) -> Option<usize> {
        let oldest = self.whole.front();
        self.masks()
            .then(|| oldest.map_or(self.view.messages.len(), |result| result.message))
    }
}
