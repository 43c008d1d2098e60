//! A request on its way to its provider: edited where it is a conversation, and in any case sent.

use crate::answer::{Heard, Listener};
use crate::edit::{Asked, Edited, Facts};
use crate::ledger::Row;
use crate::server::{Answer, Broken, Shared, error, full};
use crate::upstream::{Provider, Upstream};
use crate::{Api, headers};
use bytes::{Bytes, BytesMut};
use codelet_providers::overheard::{self, Billed, TooLong};
use futures_util::StreamExt;
use http::header::{ACCEPT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE};
use http::uri::PathAndQuery;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, BodyStream};
use hyper::body::Incoming;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

/// A longer body is passed on unread, in bytes.
const MOST_READ: usize = 64 << 20;
/// What a body whose length is not told may take until more is seen of it, in bytes.
const MOST_UNTOLD: usize = 4 << 20;
/// How long a request may be held up, and how much longer for each megabyte of it: a conversation that nobody remembers is read from its
/// beginning.
const PATIENCE: Duration = Duration::from_millis(50);
const PATIENCE_PER_MB: Duration = Duration::from_millis(100);
/// How long a client may pause within a body, and how long all of it may take.
const PAUSE: Duration = Duration::from_secs(30);
const LONGEST: Duration = Duration::from_secs(300);
/// A refusal is read up to so many bytes.
const MOST_REFUSAL: usize = 1 << 20;

/// Passes a request on, and its answer back.
pub(crate) async fn on(shared: Arc<Shared>, path: PathAndQuery, request: Request<Incoming>) -> Answer {
    let provider = Provider::of(&path, request.headers());
    let (head, body) = request.into_parts();
    let onward = Onward {
        upstream: shared.upstream(provider).clone(),
        method: head.method,
        path,
        headers: headers::onward(&head.headers),
    };
    let api =
        Api::of(onward.path.path()).filter(|_| onward.method == Method::POST && headers::is_plain_json(&head.headers));
    let Some(api) = api else {
        shared.options.ledger.passed_other();
        return onward.pass(head.headers.get(CONTENT_LENGTH).cloned(), None, body).await;
    };
    let asked = Arc::new(Asked {
        api,
        model: model_in(onward.path.path()),
        window: headers::window(&onward.headers),
    });
    let length = head.headers.get(CONTENT_LENGTH).cloned();
    let bytes = length
        .as_ref()
        .and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
    if bytes.is_some_and(|bytes| bytes > MOST_READ) {
        shared.options.ledger.passed_other();
        return onward.pass(length, None, body).await;
    }
    let megabytes = 1 + bytes.unwrap_or(MOST_UNTOLD) / (1 << 20);
    let room = shared
        .room
        .acquire_many(u32::try_from(megabytes).unwrap_or(u32::MAX))
        .await;
    let read = tokio::time::timeout(LONGEST, read(body)).await;
    drop(room);
    match read {
        Ok(Ok(Read::Whole(body))) => converse(shared, asked, onward, body).await,
        Ok(Ok(Read::TooLong(begun, rest))) => {
            shared.options.ledger.passed_other();
            onward.pass(length, Some(begun), rest).await
        }
        Ok(Err(words)) => error(StatusCode::BAD_REQUEST, words),
        Err(_) => error(
            StatusCode::REQUEST_TIMEOUT,
            "the request's body did not come to its end in time",
        ),
    }
}

/// A body that was read.
enum Read {
    Whole(Bytes),
    /// What came of it, and the rest.
    TooLong(Bytes, Incoming),
}

async fn read(mut body: Incoming) -> Result<Read, &'static str> {
    let mut whole = BytesMut::new();
    loop {
        let frame = tokio::time::timeout(PAUSE, body.frame()).await;
        let frame = frame.map_err(|_| "the request's body did not come to its end in time")?;
        match frame {
            None => return Ok(Read::Whole(whole.freeze())),
            Some(Err(_)) => return Err("the request's body is broken"),
            Some(Ok(frame)) => {
                if let Some(data) = frame.data_ref() {
                    whole.extend_from_slice(data);
                }
            }
        }
        if whole.len() > MOST_READ {
            return Ok(Read::TooLong(whole.freeze(), body));
        }
    }
}

/// What is the same of a request however often it is sent.
struct Onward {
    upstream: Upstream,
    method: Method,
    path: PathAndQuery,
    headers: HeaderMap,
}

impl Onward {
    async fn send(&self, headers: HeaderMap, body: reqwest::Body) -> Result<reqwest::Response, Answer> {
        let request = self
            .upstream
            .client()
            .request(self.method.clone(), self.upstream.url(&self.path));
        let sent = request.headers(headers).body(body).send().await;
        sent.map_err(|failure| {
            // The address may hold a key.
            let failure = failure.without_url();
            let causes = std::iter::successors(std::error::Error::source(&failure), |cause| cause.source());
            let causes: String = causes.map(|cause| format!(": {cause}")).collect();
            let words = format!("the Codelet gateway cannot reach {}{causes}", self.upstream.host());
            error(StatusCode::BAD_GATEWAY, &words)
        })
    }

    /// Passes on what is not read here.
    async fn pass(&self, length: Option<HeaderValue>, begun: Option<Bytes>, body: Incoming) -> Answer {
        let mut headers = self.headers.clone();
        if let Some(length) = length {
            headers.insert(CONTENT_LENGTH, length);
        }
        let is_empty = begun.is_none() && http_body::Body::is_end_stream(&body);
        let rest = BodyStream::new(body).filter_map(|frame| async {
            match frame {
                Ok(frame) => frame.into_data().ok().map(Ok),
                Err(failure) => Some(Err(failure)),
            }
        });
        let begun = futures_util::stream::iter(begun.map(Ok::<Bytes, hyper::Error>));
        let body = match is_empty {
            true => reqwest::Body::default(),
            false => reqwest::Body::wrap_stream(begun.chain(rest)),
        };
        match self.send(headers, body).await {
            Ok(answer) => back(answer, None, |_| {}),
            Err(failure) => failure,
        }
    }

    /// Sends a conversation. Its answer is to be read on the way, so none that is compressed is asked for.
    async fn ask(&self, body: Bytes) -> Result<reqwest::Response, Answer> {
        let mut headers = self.headers.clone();
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        self.send(headers, body.into()).await
    }
}

/// A request of a conversation.
async fn converse(shared: Arc<Shared>, asked: Arc<Asked>, onward: Onward, body: Bytes) -> Answer {
    let began = Instant::now();
    let api = asked.api;
    let (edited, fail_open) = edit(&shared, asked.clone(), &body).await;
    let mut row = Row {
        at: SystemTime::now(),
        api,
        facts: edited.facts,
        status: None,
        usage: None,
        dollars: None,
        passing: None,
        added: began.elapsed(),
        fail_open,
        is_sent_again: false,
    };
    let slices = edited.body.filter(|_| !shared.options.is_dry_run);
    let sent = slices.map_or_else(|| body.clone(), |slices| slices.concat().into());
    let answer = match onward.ask(sent).await {
        Ok(answer) => answer,
        Err(failure) => {
            shared.options.ledger.add(row, None);
            return failure;
        }
    };
    let answer = match refused(answer).await {
        Passed::Answer(answer) => answer,
        Passed::Refused(status, headers, text) => {
            let again = match overheard::too_long(status.as_u16(), &String::from_utf8_lossy(&text)) {
                Some(why) => ask_again(&shared, asked, &onward, &body, why).await,
                None => None,
            };
            match again {
                Some((facts, answer)) => {
                    row.facts = facts;
                    row.is_sent_again = true;
                    answer
                }
                None => {
                    row.status = Some(status.as_u16());
                    shared.options.ledger.add(row, None);
                    let mut answer = Response::new(full(text));
                    *answer.status_mut() = status;
                    *answer.headers_mut() = headers;
                    return answer;
                }
            }
        }
    };
    row.status = Some(answer.status().as_u16());
    let is_stream = |kind: &HeaderValue| kind.to_str().is_ok_and(|kind| kind.contains("event-stream"));
    let is_stream = answer.headers().get(CONTENT_TYPE).is_some_and(is_stream);
    let listener = Listener::new(api, is_stream);
    back(answer, Some(listener), move |billed| {
        shared.options.ledger.add(row, billed)
    })
}

/// Edits a request, and fails open: whatever goes wrong, it goes on as it came, and why is told.
async fn edit(shared: &Arc<Shared>, asked: Arc<Asked>, body: &Bytes) -> (Edited, Option<String>) {
    let editor = shared.options.editor.clone();
    let original = body.clone();
    let work = tokio::task::spawn_blocking(move || editor.edit(&asked, &original));
    let patience = patience(body);
    let passed = || Edited {
        body: None,
        facts: Facts::default(),
    };
    match tokio::time::timeout(patience, work).await {
        Ok(Ok(edited)) => (edited, None),
        Ok(Err(_)) => (passed(), Some("the editor failed".to_owned())),
        Err(_) => (
            passed(),
            Some(format!("the edit took longer than {} ms", patience.as_millis())),
        ),
    }
}

/// Sends a request that was refused as too long once more, made smaller; none where it cannot be, or fails.
async fn ask_again(
    shared: &Arc<Shared>,
    asked: Arc<Asked>,
    onward: &Onward,
    body: &Bytes,
    why: TooLong,
) -> Option<(Facts, reqwest::Response)> {
    if shared.options.is_dry_run {
        return None;
    }
    let editor = shared.options.editor.clone();
    let original = body.clone();
    let work = move || editor.edit_refused(&asked, &original, why.limit, why.counted);
    let work = tokio::task::spawn_blocking(work);
    // The provider has refused it already, so that a little more time is well spent.
    let edited = tokio::time::timeout(patience(body) * 4, work).await.ok()?.ok()??;
    let answer = onward.ask(edited.body?.concat().into()).await.ok()?;
    Some((edited.facts, answer))
}

fn patience(body: &Bytes) -> Duration {
    PATIENCE + PATIENCE_PER_MB.mul_f64(body.len() as f64 / 1e6)
}

/// An answer, or a refusal that was read.
enum Passed {
    Answer(reqwest::Response),
    Refused(StatusCode, HeaderMap, Bytes),
}

/// Reads what may refuse a request as too long; everything else goes back as it comes.
async fn refused(mut answer: reqwest::Response) -> Passed {
    let is_short = answer
        .content_length()
        .is_none_or(|length| length <= MOST_REFUSAL as u64);
    let may_be = matches!(answer.status().as_u16(), 400 | 413 | 422);
    if !may_be || !is_short || answer.headers().contains_key(http::header::CONTENT_ENCODING) {
        return Passed::Answer(answer);
    }
    let (status, mut headers) = (answer.status(), headers::back(answer.headers()));
    headers.remove(CONTENT_LENGTH);
    let mut text = BytesMut::new();
    // One that breaks off, or does not end, is a refusal all the same.
    while text.len() <= MOST_REFUSAL
        && let Ok(Ok(Some(bytes))) = tokio::time::timeout(PAUSE, answer.chunk()).await
    {
        text.extend_from_slice(&bytes);
    }
    Passed::Refused(status, headers, text.freeze())
}

/// An answer on its way back, frame by frame as it comes.
fn back(
    answer: reqwest::Response,
    listener: Option<Listener>,
    tell: impl FnOnce(Option<Billed>) + Send + 'static,
) -> Answer {
    let (head, body) = Response::<reqwest::Body>::from(answer).into_parts();
    let heard = Heard::new(body, listener, tell);
    let mut answer = Response::new(heard.map_err(Broken::from).boxed_unsync());
    *answer.status_mut() = head.status;
    *answer.headers_mut() = headers::back(&head.headers);
    answer
}

/// The model that stands in the path, as Gemini has it.
fn model_in(path: &str) -> Option<String> {
    let (_, rest) = path.rsplit_once("/models/")?;
    let (model, _) = rest.rsplit_once(':')?;
    Some(model.to_owned())
}
