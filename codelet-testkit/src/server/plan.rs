//! A response as it is sent: its bytes, its end, and the gates on the way.

use super::fault::{Fault, Refusal, Trouble};
use super::http;
use super::script::Reply;
use super::wire::{Envelope, Frame, Wire};

/// The bytes to write to the connection.
#[derive(Debug)]
pub(super) struct Plan {
    pub status: Option<u16>,
    /// Status line and headers; the complete response if it is no stream. Empty for silence.
    pub head: Vec<u8>,
    /// True if a chunked body follows the head.
    pub streams: bool,
    /// The bytes of each frame.
    pub frames: Vec<Vec<u8>>,
    /// A part of one more frame.
    pub half: Vec<u8>,
    pub last: Last,
}

/// The end of a response.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Last {
    /// Complete; the connection is reused.
    Complete,
    /// The connection is closed.
    Close,
    /// Nothing more is sent until the client disconnects.
    Wait,
}

impl Plan {
    /// A response that is no stream.
    pub fn whole(status: u16, headers: &[(&str, String)], body: &str) -> Self {
        Plan {
            status: Some(status),
            head: http::whole(status, headers, body),
            streams: false,
            frames: Vec::new(),
            half: Vec::new(),
            last: Last::Complete,
        }
    }

    /// A refusal in the vendor's form.
    pub fn refusal(wire: Wire, envelope: &Envelope, refusal: &Refusal, says: Option<&str>) -> Self {
        let mut headers = standing(wire, envelope);
        headers.extend(refusal.retry.map(|retry| retry.header()));
        let body = wire.refusal(envelope.dialect, refusal, envelope.model, says);
        Plan::whole(refusal.status, &headers, &body)
    }

    /// The response for a reply.
    pub fn reply(wire: Wire, envelope: &Envelope, reply: &Reply, streams: bool) -> Self {
        match &reply.fault {
            Some(Fault::Refuse(refusal)) => Plan::refusal(wire, envelope, refusal, None),
            Some(Fault::Silence) => Plan::nothing(Last::Wait),
            Some(Fault::HangUp) => Plan::nothing(Last::Close),
            fault if streams => Plan::stream(wire, envelope, wire.render(reply, envelope), fault.as_ref()),
            fault => Plan::unstreamed(wire, envelope, reply, fault.as_ref()),
        }
    }

    fn nothing(last: Last) -> Self {
        Plan {
            status: None,
            head: Vec::new(),
            streams: false,
            frames: Vec::new(),
            half: Vec::new(),
            last,
        }
    }

    fn stream(wire: Wire, envelope: &Envelope, mut frames: Vec<Frame>, fault: Option<&Fault>) -> Self {
        let mut half = Vec::new();
        let mut last = Last::Complete;
        match fault {
            None | Some(Fault::Refuse(_) | Fault::Silence | Fault::HangUp) => {}
            Some(Fault::Cut(after)) => {
                frames.truncate(*after);
                last = Last::Close;
            }
            Some(Fault::CutInside(after)) => {
                half = frames.get(*after).map(|frame| frame.bytes(wire)).unwrap_or_default();
                half.truncate(half.len() / 2);
                frames.truncate(*after);
                last = Last::Close;
            }
            Some(Fault::End(after)) => frames.truncate(*after),
            Some(Fault::Stall(after)) => {
                frames.truncate(*after);
                last = Last::Wait;
            }
            Some(Fault::Error(after, trouble)) => frames = broken(wire, envelope, frames, *after, *trouble, false),
            Some(Fault::BareError(after, trouble)) => frames = broken(wire, envelope, frames, *after, *trouble, true),
            Some(Fault::Malformed(at)) => {
                if let Some(frame) = frames.get_mut(*at) {
                    *frame = frame.malformed();
                }
            }
        }
        Plan {
            status: Some(200),
            head: http::stream_head(&standing(wire, envelope)),
            streams: true,
            frames: frames.iter().map(|frame| frame.bytes(wire)).collect(),
            half,
            last,
        }
    }

    /// The same faults without a stream: one that would break a stream breaks the body in the middle.
    fn unstreamed(wire: Wire, envelope: &Envelope, reply: &Reply, fault: Option<&Fault>) -> Self {
        let body = wire.whole(reply, envelope).to_string();
        let mut plan = Plan::whole(200, &standing(wire, envelope), &body);
        let half = plan.head.len() - body.len() / 2;
        match fault {
            Some(Fault::Error(..) | Fault::BareError(..)) => {
                return Plan::refusal(wire, envelope, &Refusal::status(500), None);
            }
            Some(Fault::Cut(_) | Fault::CutInside(_)) => {
                plan.head.truncate(half);
                plan.last = Last::Close;
            }
            Some(Fault::Stall(_)) => {
                plan.head.truncate(half);
                plan.last = Last::Wait;
            }
            Some(Fault::Malformed(_)) => {
                let broken: String = body.chars().take(body.chars().count() / 2).collect();
                return Plan::whole(200, &standing(wire, envelope), &broken);
            }
            Some(Fault::End(_)) => return Plan::whole(200, &standing(wire, envelope), ""),
            None | Some(Fault::Refuse(_) | Fault::Silence | Fault::HangUp) => {}
        }
        plan
    }
}

fn broken(
    wire: Wire,
    envelope: &Envelope,
    mut frames: Vec<Frame>,
    after: usize,
    trouble: Trouble,
    bare: bool,
) -> Vec<Frame> {
    frames.truncate(after);
    frames.push(wire.trouble(trouble, bare, envelope, frames.len()));
    frames
}

/// The headers of every response of a vendor.
fn standing(wire: Wire, envelope: &Envelope) -> Vec<(&'static str, String)> {
    match wire {
        Wire::Anthropic => vec![("request-id", envelope.id("req_01", 0))],
        Wire::Chat | Wire::Responses => vec![("x-request-id", envelope.id("req_", 0))],
        Wire::Gemini => Vec::new(),
    }
}
