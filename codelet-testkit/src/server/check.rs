//! The vendors' rules for a request, in the vendors' words.

use super::request::Request;
use super::script::Reply;
use super::segment::Segment;
use super::wire::{Envelope, Wire};

/// What this server said before, as far as a client has to send it back unchanged.
#[derive(Clone, Debug, Default)]
pub(super) struct Sent {}

impl Sent {
    pub fn note(&mut self, _wire: Wire, _reply: &Reply, _envelope: &Envelope, _head: u64) {}
    pub fn add(&mut self, _other: &Sent) {}
}

pub(super) fn check(request: &Request, _segments: &[Segment], _sent: &Sent, _bound: Option<u64>) -> Vec<String> {
    match request.messages() {
        [] => vec!["the conversation is empty".to_owned()],
        _ => Vec::new(),
    }
}
