//! Redirects of a remote server: followed within its origin, with the same request, and nowhere else, since another
//! server must get neither the headers nor the body.

use crate::pipe::{LONGEST, UNREADABLE, is_too_much, unanswered};
use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;
use reqwest::header::{HeaderName, HeaderValue};
use reqwest::redirect::Policy;
use reqwest::{Client, StatusCode, Url};
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_client::{
    SseError, StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
};
use sse_stream::Sse;
use std::collections::HashMap;
use std::error::Error;
use std::sync::Arc;

/// Redirects of one request at most.
const MOST: usize = 5;
/// The events of one answer at most, in bytes: the longest message, and as much of notifications before it.
const ANSWER: usize = 2 * LONGEST;

type Headers = HashMap<HeaderName, HeaderValue>;
type HttpResult<T> = Result<T, StreamableHttpError<reqwest::Error>>;
type Events = BoxStream<'static, Result<Sse, SseError>>;

/// Reasons why a request was not answered at its URL.
#[derive(Debug, thiserror::Error)]
enum Redirected {
    #[error("it redirects requests to another of its own addresses, which redirects again")]
    Here(Url),
    #[error(
        "it redirects to another server, {0}, which gets no requests; if that is the right one, set its address as `url`"
    )]
    Elsewhere(String),
}

/// A redirect policy for the client within [`Following`]: it follows nothing itself, since the client would turn a POST
/// into a GET after some statuses.
pub(crate) fn policy() -> Policy {
    Policy::custom(|attempt| {
        let (from, to) = (attempt.previous().last().map(Url::origin), attempt.url().clone());
        match from {
            // The response is elsewhere, and the request must not be repeated there.
            _ if attempt.status() == StatusCode::SEE_OTHER => attempt.stop(),
            Some(from) if from == to.origin() => attempt.error(Redirected::Here(to)),
            _ => attempt.error(Redirected::Elsewhere(to.origin().ascii_serialization())),
        }
    })
}

/// A client that repeats a request at the URL to which its server redirects it.
#[derive(Clone)]
pub(crate) struct Following(pub Client);

/// Sends a request, and follows redirects within the origin.
async fn follow<T, F: Future<Output = HttpResult<T>>>(uri: Arc<str>, ask: impl Fn(Arc<str>) -> F) -> HttpResult<T> {
    let mut uri = uri;
    for _ in 0..MOST {
        let asked = ask(uri).await;
        match asked.as_ref().err().and_then(moved) {
            Some(to) => uri = to.as_str().into(),
            None => return asked,
        }
    }
    ask(uri).await
}

/// The events of an answer, up to [`ANSWER`] bytes: a server may send notifications without end.
fn bounded(events: Events) -> Events {
    let mut read = 0;
    let is_within = move |event: &Result<Sse, SseError>| {
        read += event
            .as_ref()
            .map_or(0, |event| event.data.as_ref().map_or(0, String::len));
        std::future::ready(read <= ANSWER)
    };
    readable(events).take_while(is_within).boxed()
}

/// The events, with an error in place of each message that has too many values.
fn readable(events: Events) -> Events {
    let checked = |event: Sse| {
        let data = event.data.and_then(|data| match is_too_much(data.as_bytes()) {
            true => serde_json::to_string(&ServerJsonRpcMessage::Error(unanswered(data.as_bytes(), UNREADABLE)?)).ok(),
            false => Some(data),
        });
        Sse { data, ..event }
    };
    events.map(move |event| event.map(checked)).boxed()
}

/// The URL at which to repeat a request, if it failed because of a redirect.
fn moved(error: &StreamableHttpError<reqwest::Error>) -> Option<&Url> {
    let StreamableHttpError::Client(error) = error else {
        return None;
    };
    let mut causes = std::iter::successors(error.source(), |&cause| cause.source());
    match causes.find_map(|cause| cause.downcast_ref())? {
        Redirected::Here(to) => Some(to),
        Redirected::Elsewhere(_) => None,
    }
}

impl StreamableHttpClient for Following {
    type Error = reqwest::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        token: Option<String>,
        headers: Headers,
    ) -> HttpResult<StreamableHttpPostResponse> {
        self.post_message_with_max_sse_event_size(uri, message, session, token, headers, LONGEST)
            .await
    }

    async fn post_message_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        token: Option<String>,
        headers: Headers,
        most: usize,
    ) -> HttpResult<StreamableHttpPostResponse> {
        let ask = |uri| {
            let (message, session, token) = (message.clone(), session.clone(), token.clone());
            self.0
                .post_message_with_max_sse_event_size(uri, message, session, token, headers.clone(), most)
        };
        Ok(match follow(uri, ask).await? {
            StreamableHttpPostResponse::Sse(events, session) => {
                StreamableHttpPostResponse::Sse(bounded(events), session)
            }
            answer => answer,
        })
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        token: Option<String>,
        headers: Headers,
    ) -> HttpResult<()> {
        let ask = |uri| {
            self.0
                .delete_session(uri, session.clone(), token.clone(), headers.clone())
        };
        follow(uri, ask).await
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last: Option<String>,
        token: Option<String>,
        headers: Headers,
    ) -> HttpResult<Events> {
        self.get_stream_with_max_sse_event_size(uri, session, last, token, headers, LONGEST)
            .await
    }

    async fn get_stream_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last: Option<String>,
        token: Option<String>,
        headers: Headers,
        most: usize,
    ) -> HttpResult<Events> {
        let ask = |uri| {
            let (session, last, token) = (session.clone(), last.clone(), token.clone());
            self.0
                .get_stream_with_max_sse_event_size(uri, session, last, token, headers.clone(), most)
        };
        follow(uri, ask).await.map(readable)
    }
}
