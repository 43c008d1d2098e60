//! Whether the flags of a file say how its commands went.
//!
//! Many harnesses send the same flag with every result: that the tool worked, or was refused. Whose flags say of commands that they
//! succeeded whose outputs show that they failed, and of hardly any that it failed, are no statuses, and neither is a flag that
//! they leave out.

use super::Called;
use codelet_context::command::CommandLine;
use codelet_context::exchange::Calls;
use codelet_context::message::{ActionKind, Message, Part, ToolCall, ToolResult};
use codelet_context::{outcome, unstated};
use std::sync::Arc;

/// What the flags of a file are worth, for commands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Flags {
    /// One that says "no error" is status 0.
    pub are_statuses: bool,
    /// One that is left out says so, too.
    pub are_left_out: bool,
}

impl Flags {
    /// Judges the flags as they came. `called` gives what is known of a call.
    pub fn of(messages: &[Message], called: impl Fn(&ToolCall) -> Called) -> Flags {
        let mut calls: Calls<Arc<str>, Called> = Calls::default();
        let (mut flagged, mut failed) = (false, 0);
        // Commands that show that they failed, where the flag says otherwise, and where there is none.
        let (mut denied, mut silent) = (Denials::default(), 0);
        for part in messages.iter().flat_map(|message| &message.parts) {
            match part {
                Part::ToolCall(call) => calls.called(call.id.clone(), called(call)),
                Part::ToolResult(result) => {
                    let Some(called) = calls.of(result).filter(|called| called.kind == ActionKind::Command) else {
                        continue;
                    };
                    if outcome::was_refused(result) {
                        continue;
                    }
                    flagged |= result.success.is_some();
                    failed += usize::from(result.success == Some(false));
                    let is_open = result.success != Some(false) && super::stated(result, called).is_none();
                    let line = called.command.as_ref().filter(|_| is_open);
                    let denies = line.map_or_else(Denials::default, |line| Denials::by(line, result));
                    match result.success {
                        Some(_) => denied.add(denies),
                        None => silent += denies.shown + denies.said,
                    }
                }
                _ => {}
            }
        }
        Flags {
            are_statuses: denied.count() <= failed,
            are_left_out: flagged && denied.count() <= failed && (silent == 0 || silent < failed),
        }
    }
}

/// How many answers to commands show that these failed, whatever their flags say.
#[derive(Clone, Copy, Default)]
struct Denials {
    /// By what a check has counted, or by its end.
    shown: usize,
    /// By what a program says of itself: one that says so might go on all the same.
    said: usize,
}

impl Denials {
    /// What the answer to this command shows.
    fn by(line: &CommandLine, result: &ToolResult) -> Self {
        let printed = || result.texts().next().map_or("", |text| text.body.as_str());
        let is_shown = outcome::denies_success(line, result);
        Denials {
            shown: usize::from(is_shown),
            said: usize::from(!is_shown && unstated::denies_success(line, printed())),
        }
    }

    fn add(&mut self, more: Denials) {
        self.shown += more.shown;
        self.said += more.said;
    }

    /// Of those that only say so, one alone is none.
    fn count(self) -> usize {
        self.shown + if self.said > 1 { self.said } else { 0 }
    }
}
