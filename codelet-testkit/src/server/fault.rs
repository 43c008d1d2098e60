//! What goes wrong with a reply: refusals, silence, cuts at a chosen byte, errors inside the stream.

use std::time::SystemTime;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc2822;

/// One thing that goes wrong. Frames are counted from the first one of the stream: `Cut(3)` sends three.
#[derive(Clone, PartialEq, Debug)]
pub enum Fault {
    /// An HTTP status instead of a stream.
    Refuse(Refusal),
    /// The request is read and nothing is ever answered.
    Silence,
    /// The connection is closed before the head of the answer.
    HangUp,
    /// The connection is closed after so many frames, with the body unfinished.
    Cut(usize),
    /// The connection is closed after so many frames and one half of the next.
    CutInside(usize),
    /// The body ends in good order after so many frames, without the events that should follow.
    End(usize),
    /// After so many frames nothing comes, and the connection stays open.
    Stall(usize),
    /// After so many frames an error event, and the end. Responses says it as `response.failed`.
    Error(usize, Trouble),
    /// The same in the second form that Responses has, an `error` event. As [`Fault::Error`] on the other wires.
    BareError(usize, Trouble),
    /// The frame after so many others holds JSON that breaks off. The stream goes on behind it.
    Malformed(usize),
}

/// What an error event tells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Trouble {
    /// Too many ask at once; later it may work.
    Overloaded,
    /// The server's own fault.
    Internal,
    /// This client asks too often.
    RateLimited,
    /// The prompt does not fit.
    TooLong,
}

/// An HTTP status, with the vendor's body for it unless another is given.
#[derive(Clone, PartialEq, Debug)]
pub struct Refusal {
    /// The status.
    pub status: u16,
    /// When to come back.
    pub retry: Option<RetryAfter>,
    /// The body instead of the vendor's.
    pub body: Option<String>,
}

impl Refusal {
    /// A status with the vendor's body.
    pub fn status(status: u16) -> Self {
        Refusal {
            status,
            retry: None,
            body: None,
        }
    }

    /// Too many requests, with a time to come back.
    pub fn rate_limited(retry: RetryAfter) -> Self {
        Refusal {
            retry: Some(retry),
            ..Refusal::status(429)
        }
    }

    /// Another body, such as a proxy's page.
    pub fn body(mut self, body: impl Into<String>) -> Self {
        self.body = Some(body.into());
        self
    }
}

/// The forms in which servers say when to come back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RetryAfter {
    /// `retry-after`, whole seconds.
    Seconds(u64),
    /// `retry-after-ms`, milliseconds.
    Millis(u64),
    /// `retry-after`, an HTTP date.
    Date(SystemTime),
}

impl RetryAfter {
    /// The header's name and value.
    pub(super) fn header(self) -> (&'static str, String) {
        match self {
            RetryAfter::Seconds(seconds) => ("retry-after", seconds.to_string()),
            RetryAfter::Millis(millis) => ("retry-after-ms", millis.to_string()),
            RetryAfter::Date(at) => ("retry-after", http_date(at)),
        }
    }
}

/// A time as HTTP writes it (RFC 9110, 5.6.7): `Sun, 06 Nov 1994 08:49:37 GMT`.
fn http_date(at: SystemTime) -> String {
    let written = OffsetDateTime::from(at).format(&Rfc2822);
    written.expect("a year of four digits").replace("+0000", "GMT")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn dates_are_written_as_http_does() {
        let at = |seconds| http_date(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds));
        assert_eq!(at(0), "Thu, 01 Jan 1970 00:00:00 GMT");
        assert_eq!(at(784_111_777), "Sun, 06 Nov 1994 08:49:37 GMT");
        assert_eq!(at(1_709_251_199), "Thu, 29 Feb 2024 23:59:59 GMT");
        assert_eq!(at(1_767_225_600), "Thu, 01 Jan 2026 00:00:00 GMT");
    }
}
