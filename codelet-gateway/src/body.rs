//! Bodies on their way: how much of one is read, and how what was read goes on with its rest.

use crate::headers;
use bytes::{Bytes, BytesMut};
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Frame, Incoming};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::{Instant, timeout, timeout_at};

/// A longer body is passed on unread, in bytes.
const MOST_READ: usize = 64 << 20;
/// A body takes its room in steps of so many bytes.
pub(crate) const ROOM_STEP: usize = 64 << 10;
/// Reasons why a body is not read.
const TOO_LONG: &str = "the request is longer than 64 MB";
const NO_ROOM: &str = "too many requests were open at once";
/// The maximum pause of a client within a body, and the maximum time for the whole body.
const PAUSE: Duration = Duration::from_secs(30);
const LONGEST: Duration = Duration::from_secs(300);
/// A refusal is read up to so many bytes, and for so long.
const MOST_REFUSAL: usize = 1 << 20;
const REFUSAL: Duration = Duration::from_secs(2);
/// The head of an answer waits for the first bytes of its body for so long.
const BEGINNING: Duration = Duration::from_millis(100);

/// An error within a body.
pub(crate) type Broken = Box<dyn std::error::Error + Send + Sync>;
/// A body of an answer.
pub(crate) type Answer = Response<UnsyncBoxBody<Bytes, Broken>>;

/// The status and message of a request that is answered here.
pub(crate) type Refused = (StatusCode, &'static str);

/// The body of a request.
pub(crate) enum Read<'a> {
    /// With the room that it takes, which is to be held as long as the body is.
    Whole(Bytes, Option<SemaphorePermit<'a>>),
    /// One that is not read to its end, and why.
    Not(Begun<Incoming>, &'static str),
}

/// Reads a body. It takes room for what has come of it, not for what is announced: nobody waits for a client that is slow. Where there is no room
/// left, the rest is not read here.
///
/// # Errors
/// When the body breaks off, or its client pauses for too long.
pub(crate) async fn read(room: &Semaphore, announced: Option<usize>, mut body: Incoming) -> Result<Read<'_>, Refused> {
    if announced.is_some_and(|bytes| bytes > MOST_READ) {
        return Ok(Read::Not(Begun::new(Bytes::new(), body), TOO_LONG));
    }
    let late = (
        StatusCode::REQUEST_TIMEOUT,
        "the request body did not arrive completely in time",
    );
    let end = Instant::now() + LONGEST;
    let mut whole = BytesMut::new();
    let mut taken: Option<SemaphorePermit<'_>> = None;
    loop {
        let frame = timeout_at(end.min(Instant::now() + PAUSE), body.frame()).await;
        match frame.map_err(|_| late)? {
            None => return Ok(Read::Whole(whole.freeze(), taken)),
            Some(Err(_)) => return Err((StatusCode::BAD_REQUEST, "the request body is invalid")),
            Some(Ok(frame)) => {
                if let Some(data) = frame.data_ref() {
                    whole.extend_from_slice(data);
                }
            }
        }
        while taken.as_ref().map_or(0, SemaphorePermit::num_permits) * ROOM_STEP < whole.len() {
            let why = match room.try_acquire() {
                Ok(more) if whole.len() <= MOST_READ => {
                    match &mut taken {
                        Some(taken) => taken.merge(more),
                        None => taken = Some(more),
                    }
                    continue;
                }
                Ok(_) => TOO_LONG,
                Err(_) => NO_ROOM,
            };
            return Ok(Read::Not(Begun::new(whole.freeze(), body), why));
        }
    }
}

/// Reads a body of which nothing is wanted, for as long as a client may pause: whoever is still sending when the connection ends does not read the
/// answer.
pub(crate) async fn skip<B: Body + Unpin>(mut body: B) {
    let sent = async { while let Some(Ok(_)) = body.frame().await {} };
    let _ = timeout(PAUSE, sent).await;
}

/// A body on its way to a provider. Where that wants no more of it, since it has answered before the end or cannot be reached, the rest is skipped.
pub(crate) struct Onward(Option<Begun<Incoming>>);

impl Onward {
    pub fn new(body: Begun<Incoming>) -> Self {
        Onward(Some(body))
    }
}

impl Body for Onward {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        match &mut self.0 {
            Some(body) => Pin::new(body).poll_frame(context),
            None => Poll::Ready(None),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.0.as_ref().is_none_or(Body::is_end_stream)
    }
}

impl Drop for Onward {
    fn drop(&mut self) {
        if let Some(body) = self.0.take().filter(|body| !body.is_end_stream())
            && let Ok(runtime) = Handle::try_current()
        {
            runtime.spawn(skip(body));
        }
    }
}

/// A body of which a part was read: that part, what went wrong then, and the rest as it comes, trailers included.
pub(crate) struct Begun<B> {
    begun: Option<Frame<Bytes>>,
    fault: Option<Broken>,
    /// The fault has waited: what was read is on its way.
    has_waited: bool,
    rest: B,
}

impl<B> Begun<B> {
    /// Creates a body from the bytes that were read, if any, and the rest.
    pub fn new(begun: Bytes, rest: B) -> Self {
        Begun {
            begun: Some(begun).filter(|begun| !begun.is_empty()).map(Frame::data),
            fault: None,
            has_waited: false,
            rest,
        }
    }
}

impl<B: Body<Data = Bytes> + Unpin> Begun<B> {
    /// Waits for the beginning of a body, where it is not late: whoever is told of an answer whose body is broken from there on gets nothing
    /// of it at all.
    ///
    /// # Errors
    /// When it begins with a fault.
    pub async fn of(mut rest: B) -> Result<Self, B::Error> {
        let begun = match rest.is_end_stream() {
            true => None,
            false => timeout(BEGINNING, rest.frame()).await.unwrap_or_default().transpose()?,
        };
        Ok(Begun {
            begun,
            ..Begun::new(Bytes::new(), rest)
        })
    }
}

impl<B: Body<Data = Bytes, Error: Into<Broken>> + Unpin> Body for Begun<B> {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        if let Some(begun) = self.begun.take() {
            return Poll::Ready(Some(Ok(begun)));
        }
        // With a fault the connection ends, and what is not yet sent is lost.
        if self.fault.is_some() && !std::mem::replace(&mut self.has_waited, true) {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        if let Some(fault) = self.fault.take() {
            return Poll::Ready(Some(Err(fault)));
        }
        let frame = Pin::new(&mut self.rest).poll_frame(context);
        frame.map(|frame| frame.map(|frame| frame.map_err(Into::into)))
    }

    fn is_end_stream(&self) -> bool {
        self.begun.is_none() && self.fault.is_none() && self.rest.is_end_stream()
    }
}

/// An answer, or a refusal of which so much was read.
pub(crate) enum Passed {
    Answer(reqwest::Response),
    Refused(Refusal),
}

pub(crate) struct Refusal {
    pub answer: reqwest::Response,
    /// The bytes read so far.
    pub begun: Bytes,
    fault: Option<reqwest::Error>,
}

impl Refusal {
    /// The refusal as it comes, at the length that it has, and broken off where it breaks off.
    pub fn back(self) -> Answer {
        let (head, rest) = Response::<reqwest::Body>::from(self.answer).into_parts();
        let body = Begun {
            fault: self.fault.map(Broken::from),
            ..Begun::new(self.begun, rest)
        };
        let mut answer = Response::new(body.boxed_unsync());
        *answer.status_mut() = head.status;
        *answer.headers_mut() = headers::back(&head.headers);
        answer
    }
}

/// Reads what may refuse a request as too long; everything else goes back as it comes.
pub(crate) async fn refused(mut answer: reqwest::Response) -> Passed {
    let is_short = answer
        .content_length()
        .is_none_or(|length| length <= MOST_REFUSAL as u64);
    let may_be = matches!(answer.status().as_u16(), 400 | 413 | 422);
    if !may_be || !is_short || answer.headers().contains_key(http::header::CONTENT_ENCODING) {
        return Passed::Answer(answer);
    }
    let mut begun = BytesMut::new();
    let mut fault = None;
    let read = async {
        while begun.len() <= MOST_REFUSAL {
            match answer.chunk().await {
                Ok(Some(bytes)) => begun.extend_from_slice(&bytes),
                Ok(None) => break,
                Err(failure) => {
                    fault = Some(failure.without_url());
                    break;
                }
            }
        }
    };
    // What comes slowly, or is long, tells by its beginning what it is.
    let _ = timeout(REFUSAL, read).await;
    let begun = begun.freeze();
    Passed::Refused(Refusal { answer, begun, fault })
}

/// A body that is this text.
pub(crate) fn full(text: impl Into<Bytes>) -> UnsyncBoxBody<Bytes, Broken> {
    Full::new(text.into()).map_err(|never| match never {}).boxed_unsync()
}

/// An error of the gateway's own, in a form that clients of all interfaces read.
pub(crate) fn error(status: StatusCode, words: &str) -> Answer {
    let body = serde_json::json!({"type": "error", "error": {"type": "codelet_gateway", "code": status.as_u16(), "message": words}});
    let mut answer = Response::new(full(body.to_string()));
    *answer.status_mut() = status;
    answer
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    answer
}
