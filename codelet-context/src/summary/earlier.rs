//! What the summaries of earlier compactions have told, in a conversation that was compacted before: its outcomes and
//! decisions stand nowhere else any more.
//!
//! The lines are taken over as lines, each in its place. Nothing is told of a summary itself.

use super::page::{Page, Topic};
use crate::message::{Message, Origin, Part};
use std::sync::Arc;

/// A line of a summary and those that belong under it.
type Lines<'a> = Vec<&'a str>;

#[derive(Default)]
pub(super) struct Earlier<'a> {
    context: Vec<(Topic, Lines<'a>)>,
    outcomes: Vec<Lines<'a>>,
}

impl<'a> Earlier<'a> {
    /// Of all summaries in these messages, oldest first.
    pub(super) fn of(messages: &'a [Arc<Message>]) -> Self {
        let mut earlier = Earlier::default();
        let parts = messages.iter().flat_map(|message| &message.parts);
        for part in parts {
            match part {
                Part::Text(text) if text.origin == Origin::Summary => earlier.read(text.body.as_str()),
                _ => {}
            }
        }
        earlier
    }

    fn read(&mut self, summary: &'a str) {
        let mut in_outcomes = false;
        for line in summary.lines() {
            match line {
                "## Key outcomes" => in_outcomes = true,
                _ if line.starts_with("Quoted below: ") || line.starts_with('[') => return,
                _ if line.starts_with("  ") => {
                    let last = match in_outcomes {
                        true => self.outcomes.last_mut(),
                        false => self.context.last_mut().map(|(_, lines)| lines),
                    };
                    if let Some(lines) = last {
                        lines.push(line);
                    }
                }
                _ if in_outcomes && line.starts_with("- ") => self.outcomes.push(vec![line]),
                _ => self.context.extend(topic(line).map(|topic| (topic, vec![line]))),
            }
        }
    }

    /// The lines on the newest turn that begins with one of these quotations. Each is given once, as prompts may be alike.
    pub(super) fn take(&mut self, abouts: &[String]) -> Option<Lines<'a>> {
        let is_about = |lines: &Lines| {
            let said = lines[0].strip_prefix("- ").unwrap_or_default();
            let rest = abouts.iter().find_map(|about| said.strip_prefix(about.as_str()));
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([':', ' ']))
        };
        let at = self.outcomes.iter().rposition(is_about)?;
        Some(self.outcomes.remove(at))
    }

    /// What stood in the context and nothing newer has been said of.
    pub(super) fn add_context(&self, page: &mut Page) {
        let told: Vec<Topic> = page.lines.keys().map(|(topic, ..)| *topic).collect();
        let has = |wanted: &[Topic]| told.iter().any(|topic| wanted.contains(topic));
        for (number, (topic, lines)) in self.context.iter().enumerate().rev() {
            let is_old = match topic {
                Topic::Status | Topic::Error => has(&[Topic::Status, Topic::Error]),
                Topic::Todo => has(&[Topic::Todo]),
                _ => false,
            };
            let is_told = || page.lines.values().any(|line| line == lines[0]);
            if is_old || is_told() {
                continue;
            }
            for (at, line) in lines.iter().enumerate() {
                if !page.add((*topic, usize::MAX / 2 + number, at), (*line).to_owned()) {
                    return;
                }
            }
        }
    }
}

fn topic(line: &str) -> Option<Topic> {
    const TOPICS: [(&str, Topic); 7] = [
        ("Tests: ", Topic::Status),
        ("Build: ", Topic::Status),
        ("Failing: ", Topic::Error),
        ("Failed command: ", Topic::Error),
        ("Decided: ", Topic::Decision),
        ("To do", Topic::Todo),
        ("Pinned: ", Topic::Pin),
    ];
    TOPICS
        .iter()
        .find(|(head, _)| line.starts_with(head))
        .map(|(_, topic)| *topic)
}
