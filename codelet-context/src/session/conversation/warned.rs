//! Warnings to the user about an edit that rebuilt the view.

use super::Conversation;
use crate::budget::policy::Progress;
use crate::compact::notice::Notice;
use crate::compact::{MODEST_SAVING, Warning, is_fold};
use crate::message::recall::Handle;
use crate::message::tokens::Tokens;
use crate::message::view::View;
use crate::message::{Message, Origin, Part, Role, Text};
use crate::summary::summary_request::Failure;
use std::collections::HashSet;
use std::sync::Arc;

impl Conversation {
    /// Adds the warnings about a new view, in tokens of the window.
    pub(super) fn warn(
        &mut self,
        notice: &mut Notice,
        unwritten: Option<Failure>,
        view: &View,
        is_refocused: bool,
        progress: Progress,
    ) {
        let Notice {
            before,
            after,
            changed,
            ref mut warnings,
            ..
        } = *notice;
        warnings.retain(|warning| !matches!(warning, Warning::SmallSaving { .. }));
        warnings.iter_mut().for_each(|warning| self.restate(warning));
        warnings.extend(unwritten.map(Warning::NotWritten));
        if changed {
            let prompts = newly_cut(&self.view.messages, &view.messages, is_own);
            warnings.extend((prompts > 0).then_some(Warning::PromptsCut { prompts }));
            let standing = newly_cut(&self.view.messages, &view.messages, is_standing);
            warnings.extend((standing > 0).then_some(Warning::InstructionsCut));
        }
        if changed && !is_refocused && ((before - after) as f64) < before as f64 * MODEST_SAVING {
            warnings.push(Warning::SmallSaving { before, after });
        }
        // Warn once, until a compaction has helped: otherwise each step would repeat it.
        let is_close = progress != Progress::Clear;
        if is_close && !std::mem::replace(&mut self.attempts.was_close, is_close) {
            let trigger = self.config.trigger();
            warnings.push(Warning::StillClose { after, trigger });
        }
        self.attempts.was_close = is_close;
    }

    /// Converts the estimates in a warning to tokens of the window.
    fn restate(&self, warning: &mut Warning) {
        if let Warning::OverBudget { budget, smallest } = warning {
            (*budget, *smallest) = (self.weigh(*budget), self.weigh(*smallest));
        }
    }
}

/// The notice for a view that was left unchanged.
pub(super) fn unchanged(mut notice: Notice, tokens: Tokens) -> Notice {
    (notice.before, notice.after, notice.changed) = (tokens, tokens, false);
    notice.warnings.clear();
    notice
}

/// The number of messages with new cuts in texts of this kind, compared to the old view.
fn newly_cut(old: &[Arc<Message>], new: &[Arc<Message>], is: fn(Role, &Text) -> bool) -> usize {
    let old: HashSet<&str> = old.iter().flat_map(|message| cuts(message, is)).collect();
    new.iter()
        .filter(|message| cuts(message, is).any(|cut| !old.contains(cut)))
        .count()
}

/// The handles of cuts in texts of this kind.
fn cuts(message: &Message, is: fn(Role, &Text) -> bool) -> impl Iterator<Item = &str> {
    let role = message.role;
    message.parts.iter().filter_map(move |part| match part {
        Part::Text(text) if is(role, text) => text.cut.as_ref().map(Handle::as_str),
        _ => None,
    })
}

/// Returns whether a text is the user's own and not a fold of prompts.
fn is_own(role: Role, text: &Text) -> bool {
    role == Role::User && text.origin == Origin::Own && !is_fold(text)
}

fn is_standing(_: Role, text: &Text) -> bool {
    matches!(text.origin, Origin::Reminder(_))
}
