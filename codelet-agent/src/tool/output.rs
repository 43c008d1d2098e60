//! The output of a tool.

use crate::permission::narrowed::Narrowed;
use crate::permission::need::{Aim, Lack};
use codelet_context::body::Body;
use codelet_context::message::{Action, Image};
use codelet_context::pipe::{self, FailedInPipe};
use codelet_context::refusal::RefusedBy;

/// The maximum of one output kept in memory, in bytes.
pub const MOST: usize = 10 * 1024 * 1024;
/// The largest image that is sent, in bytes of its base64: Anthropic's limit, which is lower than other providers'.
pub const PICTURE: usize = 5 * 1024 * 1024;

/// The output of a tool.
#[derive(Clone, PartialEq, Debug)]
pub struct Output {
    /// True if the call succeeded.
    pub success: bool,
    /// The exit statuses of the last pipeline's commands, in order, if the shell reported them; otherwise empty.
    pub pipe: Box<[u8]>,
    /// The denial, if the call was denied. Set by the loop; nothing a tool prints counts as one.
    pub refusal: Option<RefusedBy>,
    /// The text that the tool printed or found, as far as worth keeping (at most [`MOST`] bytes). The loop shows the
    /// model a bounded part of it and keeps the whole under a handle.
    pub text: Body,
    /// The number of bytes at the end of `text` that were not printed but added by the tool, such as an exit status.
    pub remarks: usize,
    /// The number of printed bytes lost between the head and the tail of `text`.
    pub lost: u64,
    /// Images.
    pub images: Vec<Image>,
    /// Set if a command failed, or a part of its last pipeline did, presumably because the sandbox withholds this.
    pub lack: Option<Lack>,
    /// Notices for the user, whatever the model makes of the output.
    pub notices: Vec<String>,
    /// The transcript, as text, of a call that worked in a session of its own. The loop keeps it under a handle.
    pub transcript: Option<Body>,
    /// What was denied to that session, if nothing made up for it there.
    pub held_up: Option<Aim>,
    /// Restrictions on later calls of the turn, such as the tools that a skill lists.
    pub narrowed: Option<Narrowed>,
    /// True if it asks for a compaction before the next request, which the conversation has
    /// [granted](codelet_context::conversation::Conversation::wished).
    pub wishes_compaction: bool,
    /// Text from hooks for the model, marked as theirs. Set by the loop.
    pub hooks: Vec<String>,
}

impl Output {
    /// Returns the commands that failed in the last pipeline of this call before its last one.
    pub fn failed_in_pipe(&self, action: &Action) -> Vec<FailedInPipe> {
        let line = action.command.as_deref().unwrap_or_default();
        pipe::failed(line, &self.pipe)
    }

    /// Returns a successful output.
    pub fn success(text: impl Into<Body>) -> Self {
        Output {
            success: true,
            pipe: Box::default(),
            refusal: None,
            text: text.into(),
            remarks: 0,
            lost: 0,
            images: Vec::new(),
            lack: None,
            notices: Vec::new(),
            transcript: None,
            held_up: None,
            narrowed: None,
            wishes_compaction: false,
            hooks: Vec::new(),
        }
    }

    /// Returns a failed output with this reason.
    pub fn failure(text: impl Into<Body>) -> Self {
        Output {
            success: false,
            ..Output::success(text)
        }
    }
}
