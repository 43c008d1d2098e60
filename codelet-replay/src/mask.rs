//! Policies that rewrite what was sent by a simple rule: most replace old results with a marker.

use crate::editor::{Editor, Full, Moment, Unedited};
use codelet_context::conversation::Report;
use codelet_context::message::{Message, Part, ToolResult};
use codelet_context::strategy;
use codelet_context::tokens::{Tokens, estimate_part};
use codelet_context::view::View;
use std::collections::VecDeque;
use std::sync::Arc;

const MARKER: &str = "[Old tool result content cleared]";

/// The strategies examine every message, so running them before every request takes quadratic time. On more messages
/// than this, which a window of a million tokens holds, they run only when what is sent has grown by one in [`GROWTH`].
const MANY: usize = 2_500;
const GROWTH: usize = 50;

/// The results that are masked, and when.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rule {
    /// No results, ever.
    Nothing,
    /// All but this number of the newest, at every request.
    Last(usize),
    /// All but `keep` when the request has more than `trigger` tokens.
    Beyond { trigger: Tokens, keep: usize },
    /// No results; all strategies run before every request, over the rest of the last one and everything since.
    Strategies,
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
    /// The number of messages after the strategies ran the last time.
    last: usize,
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
            last: 0,
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
        !matches!(self.rule, Rule::Nothing | Rule::Strategies)
    }

    /// Runs all strategies, unless that would take too long.
    fn run_strategies(&mut self) -> Option<&'static str> {
        let messages = self.view.messages.len();
        if messages > MANY && messages.saturating_sub(self.last) < messages / GROWTH {
            return None;
        }
        self.same = 0;
        strategy::apply_all(&mut self.view);
        self.last = self.view.messages.len();
        Some("strategies")
    }

    /// Returns the number of the oldest results that the rule would mask now.
    fn due(&self, moment: &Moment) -> usize {
        match self.rule {
            Rule::Nothing | Rule::Strategies => 0,
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
        if self.rule == Rule::Strategies {
            return self.run_strategies();
        }
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
        (self.last, self.same) = (0, 0);
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
