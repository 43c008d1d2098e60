//! A request on its way to its provider: edited where it is a conversation, and in any case sent.

use crate::answer::{Heard, Listener};
use crate::body::{self, Answer, Begun, Passed, Read, error};
use crate::edit::{Asked, Edited, Facts};
use crate::ledger::Row;
use crate::provider::Provider;
use crate::shared::Shared;
use crate::upstream::Upstream;
use crate::{Api, headers};
use bytes::Bytes;
use codelet_providers::overheard::{self, Billed, TooLong};
use codelet_text::json::has_more_values;
use codelet_transcript::Listed;
use http::header::{ACCEPT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE};
use http::uri::PathAndQuery;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};
use tokio::sync::oneshot::error::RecvError;
use tokio::time::error::Elapsed;
use tokio::time::timeout_at;

/// The time limit of an edit, and its extension for each megabyte. An edit takes some 5 ms, and 60 for each megabyte that nobody remembers; many
/// times that where a machine is busy. To give up a conversation that was edited before costs far more than the wait: nothing of it is in
/// the provider's cache as it came, and it may not fit any more. So this is for an editor that hangs.
const PATIENCE: Duration = Duration::from_secs(5);
const PATIENCE_PER_MB: Duration = Duration::from_secs(5);
/// Of more values than this no tree is built: ten times what is in the longest recorded conversations. Each may take 460 bytes.
const MOST_VALUES: usize = 500_000;
/// The reason why such a request goes on as it came.
const TOO_MANY_VALUES: &str = "the request has more than 500,000 JSON values";
/// Passes a request on, and its answer back.
pub(crate) async fn on(shared: Arc<Shared>, path: PathAndQuery, request: Request<Incoming>) -> Answer {
    match provider(&shared, &path, request.headers()) {
        Ok(provider) => to(provider, shared, path, request).await,
        Err((status, words)) => {
            body::skip(request.into_body()).await;
            error(status, &words)
        }
    }
}

/// The provider that a request is for; otherwise why it goes to none.
fn provider(shared: &Shared, path: &PathAndQuery, headers: &HeaderMap) -> Result<Provider, (StatusCode, String)> {
    if Upstream::leads_upwards(path.path()) {
        let words = "the request path contains `..` or is percent-encoded too often; the Codelet gateway forwards only paths below the provider's address";
        return Err((StatusCode::BAD_REQUEST, words.to_owned()));
    }
    let provider = match Provider::of(path, headers) {
        Ok(provider) => provider,
        // Whoever has named an address knows what keys are taken there.
        Err(contradiction) if !shared.upstream(contradiction.meant).is_usual(contradiction.meant) => {
            contradiction.meant
        }
        Err(contradiction) => return Err((StatusCode::BAD_REQUEST, contradiction.to_string())),
    };
    if headers::came_through(headers).contains(&&*shared.number) {
        let (address, name) = (shared.address, provider.name());
        let words = format!(
            "the request came back to the Codelet gateway at {address}, because the address of {name} leads here. Start the gateway with the provider's own address: --upstream {name}=ADDRESS"
        );
        return Err((StatusCode::LOOP_DETECTED, words));
    }
    Ok(provider)
}

async fn to(provider: Provider, shared: Arc<Shared>, path: PathAndQuery, request: Request<Incoming>) -> Answer {
    let arrived = SystemTime::now();
    let (head, body) = request.into_parts();
    let upstream = shared.upstream(provider).clone();
    let mut headers = headers::onward(&head.headers);
    // The address that the user has named may be that of another gateway; the vendor's own is not.
    if !upstream.is_usual(provider) {
        headers::come_through(&mut headers, &headers::came_through(&head.headers), &shared.number);
    }
    let onward = Onward {
        upstream,
        method: head.method,
        path,
        headers,
    };
    let api =
        Api::of(onward.path.path()).filter(|_| onward.method == Method::POST && headers::is_plain_json(&head.headers));
    let length = head.headers.get(CONTENT_LENGTH).cloned();
    let Some(api) = api else {
        shared.options.ledger.passed_other();
        return match onward
            .pass(onward.headers.clone(), length, Begun::new(Bytes::new(), body))
            .await
        {
            Ok(answer) => match onward.begun(answer).await {
                Ok(answer) => back(answer, None, |_| {}),
                Err(failure) => failure,
            },
            Err(failure) => failure,
        };
    };
    let asked = Arc::new(Asked {
        api,
        model: model_in(onward.path.path()),
        window: headers::window(&onward.headers),
    });
    let announced: Option<usize> = length.as_ref().and_then(|length| length.to_str().ok()?.parse().ok());
    match body::read(&shared.room, announced, body).await {
        // It is kept until it is answered, since it may be sent again.
        Ok(Read::Whole(body, _room)) => converse(shared.clone(), asked, onward, body, arrived).await,
        Ok(Read::Not(begun, why)) => {
            let mut entry = Entry::new(&shared, arrived, api, Facts::default(), Duration::ZERO);
            entry.note(|row| row.fail_open = Some(why.to_owned()));
            match onward.pass(onward.readable(), length, begun).await {
                Ok(answer) => heard(api, &onward, answer, entry).await,
                Err(failure) => failure,
            }
        }
        Err((status, words)) => error(status, words),
    }
}

/// The parts of a request that stay the same each time that it is sent.
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
        sent.map_err(|failure| match failure.is_connect() {
            true => self.failed("cannot reach", failure),
            false => self.failed("got no answer from", failure),
        })
    }

    /// An answer of which the first bytes have come, if they are no fault.
    async fn begun(&self, answer: reqwest::Response) -> Result<Response<Begun<reqwest::Body>>, Answer> {
        let (head, body) = Response::<reqwest::Body>::from(answer).into_parts();
        match Begun::of(body).await {
            Ok(body) => Ok(Response::from_parts(head, body)),
            Err(failure) => Err(self.failed("got a broken answer from", failure)),
        }
    }

    fn failed(&self, what: &str, failure: reqwest::Error) -> Answer {
        // The address may hold a key.
        let cause = cause(&failure.without_url());
        let words = format!("the Codelet gateway {what} {}: {cause}", self.upstream.place());
        error(StatusCode::BAD_GATEWAY, &words)
    }

    /// Passes on what is not read here.
    async fn pass(
        &self,
        mut headers: HeaderMap,
        length: Option<HeaderValue>,
        body: Begun<Incoming>,
    ) -> Result<reqwest::Response, Answer> {
        if let Some(length) = length {
            headers.insert(CONTENT_LENGTH, length);
        }
        let body = match body.is_end_stream() {
            true => reqwest::Body::default(),
            false => reqwest::Body::wrap(body::Onward::new(body)),
        };
        self.send(headers, body).await
    }

    /// Sends a conversation.
    async fn ask(&self, body: Bytes) -> Result<reqwest::Response, Answer> {
        self.send(self.readable(), body.into()).await
    }

    /// The headers of a request whose answer is to be read on the way, so that none that is compressed is asked for.
    fn readable(&self) -> HeaderMap {
        let mut headers = self.headers.clone();
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        headers
    }
}

/// The innermost error's message.
fn cause(failure: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = failure;
    while let Some(lower) = cause.source() {
        cause = lower;
    }
    cause.to_string()
}

/// A request in the books: entered once, whatever becomes of it, also when the client leaves before there is an answer.
struct Entry {
    shared: Arc<Shared>,
    row: Option<Row>,
}

impl Entry {
    /// A request of which nothing is known yet but what went on.
    fn new(shared: &Arc<Shared>, at: SystemTime, api: Api, facts: Facts, added: Duration) -> Self {
        Entry {
            shared: shared.clone(),
            row: Some(Row {
                at,
                api,
                conversation: None,
                facts,
                status: None,
                usage: None,
                dollars: None,
                passing: None,
                edited: None,
                edit_dollars: None,
                added,
                is_edited: false,
                is_dry_run: shared.options.is_dry_run,
                fail_open: None,
                is_sent_again: false,
            }),
        }
    }

    fn note(&mut self, change: impl FnOnce(&mut Row)) {
        if let Some(row) = &mut self.row {
            change(row);
        }
    }

    fn close(mut self, billed: Option<Billed>) {
        if let Some(row) = self.row.take() {
            self.shared.options.ledger.add(row, billed);
        }
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        if let Some(row) = self.row.take() {
            self.shared.options.ledger.add(row, None);
        }
    }
}

/// A request of a conversation.
async fn converse(shared: Arc<Shared>, asked: Arc<Asked>, onward: Onward, body: Bytes, arrived: SystemTime) -> Answer {
    let began = Instant::now();
    let api = asked.api;
    let (edited, facts, fail_open) = edit(&shared, asked.clone(), &body).await;
    let edited = edited.filter(|_| !shared.options.is_dry_run);
    let is_edited = edited.is_some();
    let conversation = facts.conversation.map(|identity| identity.first_reply);
    let mut entry = Entry::new(&shared, arrived, api, facts, began.elapsed());
    entry.note(|row| {
        row.is_edited = is_edited;
        row.fail_open = fail_open;
    });
    let answer = match onward.ask(edited.unwrap_or_else(|| body.clone())).await {
        Ok(answer) => answer,
        Err(failure) => return failure,
    };
    let refusal = match body::refused(answer).await {
        Passed::Answer(answer) => {
            if is_edited && answer.status().is_success() {
                shared.tried.remove(conversation);
            }
            return heard(api, &onward, answer, entry).await;
        }
        Passed::Refused(refusal) => refusal,
    };
    let status = refusal.answer.status().as_u16();
    if let Some(why) = overheard::too_long(status, &String::from_utf8_lossy(&refusal.begun)) {
        if let Some((facts, answer)) = ask_again(&shared, asked, &onward, &body, why).await {
            entry.note(|row| {
                row.facts = facts;
                row.is_edited = true;
                row.is_sent_again = true;
            });
            return heard(api, &onward, answer, entry).await;
        }
    } else if is_edited && !shared.tried.has(conversation) {
        // It may be the edit that the provider does not take. Where it does not take the original either, it was something else: a
        // wrong field, an empty account.
        entry.note(|row| row.is_sent_again = true);
        if let Ok(answer) = onward.ask(body.clone()).await {
            match body::refused(answer).await {
                Passed::Answer(answer) => {
                    let refused_edit = answer.status().is_success();
                    if refused_edit {
                        leave(&shared, asked, body).await;
                    }
                    entry.note(|row| {
                        row.is_edited = false;
                        row.fail_open = refused_edit.then(|| "the provider refused the edited request".to_owned());
                    });
                    return heard(api, &onward, answer, entry).await;
                }
                Passed::Refused(_) => shared.tried.add(conversation),
            }
        }
    }
    entry.note(|row| row.status = Some(status));
    refusal.back()
}

/// The answer to a conversation on its way back, by what passes of which its entry is closed.
async fn heard(api: Api, onward: &Onward, answer: reqwest::Response, mut entry: Entry) -> Answer {
    let answer = match onward.begun(answer).await {
        Ok(answer) => answer,
        Err(failure) => return failure,
    };
    entry.note(|row| row.status = Some(answer.status().as_u16()));
    let is_stream = |kind: &HeaderValue| kind.to_str().is_ok_and(|kind| kind.contains("event-stream"));
    let is_stream = answer.headers().get(CONTENT_TYPE).is_some_and(is_stream);
    let listener = Listener::new(api, is_stream);
    back(answer, Some(listener), move |billed| entry.close(billed))
}

/// The body of an edited request, where it is edited and still a request of that interface.
fn written(edited: &mut Edited, asked: &Asked) -> Result<Option<Bytes>, &'static str> {
    let Some(slices) = edited.body.take() else {
        return Ok(None);
    };
    let body = Bytes::from(slices.concat());
    match Listed::of(&body, asked.api.format()).is_some_and(|listed| !listed.items.is_empty()) {
        true => Ok(Some(body)),
        false => Err("the edit did not give a valid request"),
    }
}

/// Edits a request, and fails open: whatever goes wrong, it goes on as it came, and why is told.
async fn edit(shared: &Arc<Shared>, asked: Arc<Asked>, body: &Bytes) -> (Option<Bytes>, Facts, Option<String>) {
    let editor = shared.options.editor.clone();
    let original = body.clone();
    let question = asked.clone();
    let work = in_turn(shared, body, move || {
        if has_more_values(&original, MOST_VALUES) {
            return (Err(TOO_MANY_VALUES), Facts::default());
        }
        let mut edited = editor.edit(&question, &original);
        (written(&mut edited, &question), edited.facts)
    });
    let why = match work.await {
        Ok(Ok((Ok(body), facts))) => return (body, facts, None),
        Ok(Ok((Err(why), facts))) => return (None, facts, Some(why.to_owned())),
        Ok(Err(_)) => "internal error in the edit".to_owned(),
        Err(_) => format!("the edit took longer than {} ms", patience(body).as_millis()),
    };
    // What it costs is told also where the edit does not come to its end.
    let original = body.clone();
    let model = tokio::task::spawn_blocking(move || asked.model_of(&original)).await;
    let facts = Facts {
        model: model.unwrap_or_default(),
        ..Facts::default()
    };
    (None, facts, Some(why))
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
    let work = move || {
        if has_more_values(&original, MOST_VALUES) {
            return None;
        }
        let mut edited = editor.edit_refused(&asked, &original, why.limit, why.counted)?;
        let body = written(&mut edited, &asked).ok()??;
        Some((edited.facts, body))
    };
    let (facts, body) = in_turn(shared, body, work).await.ok()?.ok()??;
    let answer = onward.ask(body).await.ok()?;
    Some((facts, answer))
}

/// Has a conversation be left as it is, of which the provider has refused an edit.
async fn leave(shared: &Arc<Shared>, asked: Arc<Asked>, body: Bytes) {
    let editor = shared.options.editor.clone();
    let original = body.clone();
    // Where that fails, the next edit is refused, too.
    let _ = in_turn(shared, &body, move || editor.leave(&asked, &original)).await;
}

/// Edits when it is the request's turn, which it keeps until the work ends, even where nobody waits for that any more.
///
/// # Errors
/// When the wait for the turn and the work together take too long; within that, when the work panics.
async fn in_turn<T: Send + 'static>(
    shared: &Shared,
    body: &Bytes,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<Result<T, RecvError>, Elapsed> {
    let end = tokio::time::Instant::now() + patience(body);
    let turn = timeout_at(end, shared.turns.clone().acquire_owned()).await?;
    // The turn comes back with the result, and so after the thread is free for the next one.
    let done = timeout_at(end, shared.threads.run(move || (work(), turn))).await?;
    Ok(done.map(|(done, _)| done))
}

fn patience(body: &Bytes) -> Duration {
    PATIENCE + PATIENCE_PER_MB.mul_f64(body.len() as f64 / 1e6)
}

/// An answer on its way back, frame by frame as it comes.
fn back(
    answer: Response<Begun<reqwest::Body>>,
    listener: Option<Listener>,
    tell: impl FnOnce(Option<Billed>) + Send + 'static,
) -> Answer {
    let (head, body) = answer.into_parts();
    let mut answer = Response::new(Heard::new(body, listener, tell).boxed_unsync());
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
