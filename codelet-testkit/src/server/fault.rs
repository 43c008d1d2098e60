//! Faults of a reply: refusals, silence, cuts at a chosen byte, errors inside the stream.

use std::time::SystemTime;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc2822;

/// A fault. Frames are counted from the first of the stream: `Cut(3)` sends three.
#[derive(Clone, PartialEq, Debug)]
pub enum Fault {
    /// An HTTP status instead of a stream.
    Refuse(Refusal),
    /// The request is read and never answered.
    Silence,
    /// The connection is closed before the response head.
    HangUp,
    /// The connection is closed after this many frames, with an unfinished body.
    Cut(usize),
    /// The connection is closed after this many frames and half of the next.
    CutInside(usize),
    /// The body ends properly after this many frames, without the remaining events.
    End(usize),
    /// Nothing follows after this many frames, and the connection stays open.
    Stall(usize),
    /// After this many frames an error event, and the end. On Responses it is a `response.failed` event.
    Error(usize, Trouble),
    /// The same as an `error` event, the other form on Responses. Like [`Fault::Error`] on the other wires.
    BareError(usize, Trouble),
    /// The frame after this many contains truncated JSON. The stream continues after it.
    Malformed(usize),
}

/// The cause reported by an error event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Trouble {
    /// The server is overloaded; a retry may succeed.
    Overloaded,
    /// An internal error of the server.
    Internal,
    /// This client exceeds its rate limit.
    RateLimited,
    /// The prompt is too long.
    TooLong,
}

/// An HTTP status, with the vendor's body for it unless another is set.
#[derive(Clone, PartialEq, Debug)]
pub struct Refusal {
    /// The status.
    pub status: u16,
    /// The time to retry.
    pub retry: Option<RetryAfter>,
    /// A body to send instead of the vendor's.
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

    /// Too many requests, with a time to retry.
    pub fn rate_limited(retry: RetryAfter) -> Self {
        Refusal {
            retry: Some(retry),
            ..Refusal::status(429)
        }
    }

    /// Sets another body, such as a proxy's page.
    pub fn body(mut self, body: impl Into<String>) -> Self {
        self.body = Some(body.into());
        self
    }
}

/// The forms in which servers say when to retry.
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

/// A time in HTTP format (RFC 9110, 5.6.7): `Sun, 06 Nov 1994 08:49:37 GMT`.
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
