//! What a tool answers.

use crate::permission::narrowed::Narrowed;
use crate::permission::need::Lack;
use codelet_context::body::Body;
use codelet_context::message::Image;
use codelet_context::refusal::Refusal;

/// The most of one output that is kept in memory, in bytes.
pub const MOST: usize = 10 * 1024 * 1024;
/// The largest picture that is sent, in bytes of its base64: what Anthropic takes, and less than the others do.
pub const PICTURE: usize = 5 * 1024 * 1024;

/// What a tool answers.
#[derive(Clone, PartialEq, Debug)]
pub struct Output {
    /// Whether it did what it was asked to.
    pub success: bool,
    /// Exit statuses of the commands of the last pipeline, in their order, where a shell told them; else empty.
    pub pipe: Box<[u8]>,
    /// It may have failed for want of time: the same call with a longer one may do better.
    pub lacked_time: bool,
    /// Who has not let the call be made. The loop sets it; what a tool prints never counts as that.
    pub refusal: Option<Refusal>,
    /// What it printed or found: as much as is worth keeping (at most [`MOST`] bytes). The loop shows the model a bounded
    /// part of it and keeps the whole behind a handle.
    pub text: Body,
    /// Bytes at the end of `text` that nothing has printed: what the tool itself says of it, such as a status.
    pub remarks: usize,
    /// Bytes that were printed between the head and the tail of `text` and are lost.
    pub lost: u64,
    /// Pictures.
    pub images: Vec<Image>,
    /// It was a command that failed, or a part of its last pipe did, and as far as the tool knows, because the sandbox does not give it
    /// this.
    pub lack: Option<Lack>,
    /// What the user should know, whatever the model makes of it.
    pub notices: Vec<String>,
    /// Of a call that has worked in a session of its own: what was said there, as text. The loop keeps it behind a handle.
    pub transcript: Option<Body>,
    /// The last thing that it wanted to do there, beyond looking, was not permitted.
    pub is_held_up: bool,
    /// What it holds later calls of the turn to, such as the tools that a skill lists.
    pub narrowed: Option<Narrowed>,
    /// It asks for a compaction before the next request, as the conversation has [granted](codelet_context::conversation::Conversation::wished).
    pub wishes_compaction: bool,
    /// What hooks say of it, for the model, marked as theirs. The loop sets it.
    pub hooks: Vec<String>,
}

impl Output {
    /// It worked.
    pub fn success(text: impl Into<Body>) -> Self {
        Output {
            success: true,
            pipe: Box::default(),
            lacked_time: false,
            refusal: None,
            text: text.into(),
            remarks: 0,
            lost: 0,
            images: Vec::new(),
            lack: None,
            notices: Vec::new(),
            transcript: None,
            is_held_up: false,
            narrowed: None,
            wishes_compaction: false,
            hooks: Vec::new(),
        }
    }

    /// It did not, for this reason.
    pub fn failure(text: impl Into<Body>) -> Self {
        Output {
            success: false,
            ..Output::success(text)
        }
    }
}
