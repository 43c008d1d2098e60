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
        let (mut denied, mut silent) = (0, 0);
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
                    let is_denied = result.success != Some(false)
                        && super::stated(result, called).is_none()
                        && called.command.as_ref().is_some_and(|line| denies(line, result));
                    match result.success {
                        Some(_) => denied += usize::from(is_denied),
                        None => silent += usize::from(is_denied),
                    }
                }
                _ => {}
            }
        }
        Flags {
            are_statuses: denied <= failed,
            are_left_out: flagged && denied <= failed && (silent == 0 || silent < failed),
        }
    }
}

/// Whether the answer to a command shows that it failed, whatever its flag says.
fn denies(line: &CommandLine, result: &ToolResult) -> bool {
    let printed = || result.texts().next().map_or("", |text| text.body.as_str());
    outcome::denies_success(line, result) || unstated::denies_success(line, printed())
}
