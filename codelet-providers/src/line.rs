//! Requests to one provider and the streams of its replies, with their size limits.

use crate::auth::Auth;
use crate::error_kind::{Refusal, classify};
use crate::host::events::EventFramer;
use crate::network::{Connection, LONGEST_REFUSAL, read, wants_login};
use crate::wait::Received;
use bytes::Bytes;
use codelet_agent::model::ModelError;
use codelet_context::tokens::Tokens;
use futures_util::stream;
use rig_core::http_client::framing::SseFramer;
use rig_reqwest::reqwest::{Body, Response, header};
use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::pin;
use std::time::{Duration, SystemTime};
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout, timeout_at};

/// The maximum size of a frame, in bytes: many times a whole file in a call's parameters.
const LONGEST_FRAME: usize = 8 << 20;
/// The maximum size of a reply, in bytes.
const LONGEST_REPLY: usize = 64 << 20;
/// The factor by which a server that sends only pings is waited for longer than a silent one: a model may think for
/// minutes, but not forever.
const PATIENCE_WITH_PINGS: u32 = 10;
/// The time that a local server may take per token of the prompt: models of 7 to 30 billion parameters read 30 to 100
/// tokens per second on a CPU, ten times as many on a GPU.
pub(crate) const READING: Duration = Duration::from_millis(33);
/// The maximum wait for the first byte, however long the prompt is.
const LONGEST_READING: Duration = Duration::from_secs(900);

/// A request template.
#[derive(Clone)]
pub(crate) struct Line {
    pub connection: Connection,
    /// Authentication added to each request when it is sent.
    pub auth: Auth,
    /// True if replies use AWS event framing.
    pub frames_events: bool,
    /// The source of the key or of a cloud's credentials.
    pub key_source: Option<String>,
    /// The listed model that the model's name is probably a misspelling of.
    pub meant: Option<String>,
    /// The increase of the first-byte timeout per token of the prompt.
    pub per_token: Duration,
}

impl Line {
    /// Returns the line with timeouts for a prompt of this length.
    pub(crate) fn reading(&self, prompt: Tokens) -> Line {
        let tokens = u32::try_from(prompt).unwrap_or(u32::MAX);
        let first_byte = self.connection.limits.first_byte;
        let longer = first_byte.saturating_add(self.per_token.saturating_mul(tokens));
        let mut line = self.clone();
        line.connection.limits.first_byte = longer.min(LONGEST_READING.max(first_byte));
        line
    }

    /// Returns the line with authentication for this request. The added credentials are redacted like a key.
    ///
    /// # Errors
    /// If the keys no longer exist, or the token server refuses.
    pub(crate) async fn authorized(&self, method: &str, body: &[Bytes]) -> Result<Line, ModelError> {
        let mut line = self.clone();
        self.auth.authorize(&mut line.connection, method, body).await?;
        Ok(line)
    }

    /// Posts a body in slices, and opens the stream of the response.
    pub(crate) async fn post(&self, body: Vec<Bytes>) -> Result<Stream, ModelError> {
        let connection = &self.connection;
        // The body is requested once the connection is established, which starts the first-byte timeout.
        let (tell, stands) = oneshot::channel();
        let mut tell = Some(tell);
        let length: usize = body.iter().map(Bytes::len).sum();
        let body = Body::wrap_stream(stream::iter(body.into_iter().map(move |slice| {
            // Fails if the receiver has given up.
            let _ = tell.take().map(|tell| tell.send(()));
            Ok::<_, Infallible>(slice)
        })));
        let request = connection
            .client
            .post(connection.url.clone())
            .headers(connection.headers.clone())
            .header(header::CONTENT_LENGTH, length)
            .body(body);
        let mut sending = pin!(request.send());
        let limit = connection.limits.first_byte;
        let mut deadline = Instant::now() + connection.limits.connect + limit;
        let sent = tokio::select! {
            biased;
            _ = stands => {
                deadline = Instant::now() + limit;
                timeout_at(deadline, sending).await
            }
            sent = timeout_at(deadline, &mut sending) => sent,
        };
        let response = match sent {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => return Err(connection.failed(&error, false)),
            Err(_) => return Err(connection.silent(limit, false)),
        };
        if !response.status().is_success() {
            return Err(self.refused(response).await);
        }
        let stream = Stream {
            connection: connection.clone(),
            response,
            framer: match self.frames_events {
                true => Framer::Aws(EventFramer::new()),
                false => Framer::Sse(SseFramer::new()),
            },
            frames: VecDeque::new(),
            taken: 0,
            deadline: Some(deadline),
            spoken: Instant::now(),
            is_over: false,
        };
        if let Some(error) = stream.foreign() {
            return Err(error);
        }
        if stream.is_json() {
            return Err(stream.whole().await);
        }
        Ok(stream)
    }

    /// Requests a small JSON document, from a server whose requests are not authorized one by one.
    pub(crate) async fn get(&self, limit: Duration) -> Result<serde_json::Value, ModelError> {
        let connection = &self.connection;
        let ask = async {
            let request = connection.client.get(connection.url.clone());
            let request = request.headers(connection.headers.clone());
            let response = request.send().await.map_err(|error| connection.failed(&error, false))?;
            if !response.status().is_success() {
                return Err(self.refused(response).await);
            }
            let (text, _) = read(response, LONGEST_REFUSAL * 16).await;
            serde_json::from_str(&text).map_err(|error| ModelError::Garbled {
                said: format!("{}: {error}", connection.place()),
            })
        };
        timeout(limit, ask)
            .await
            .unwrap_or_else(|_| Err(connection.silent(limit, false)))
    }

    /// Posts an empty object, which runs no model: a server that names the missing fields has accepted key and model.
    ///
    /// # Errors
    /// If the server responds otherwise, or not at all.
    pub(crate) async fn knock(&self) -> Result<(), ModelError> {
        let line = self.authorized("POST", &[Bytes::from_static(b"{}")]).await?;
        let connection = &line.connection;
        let answer = connection
            .client
            .post(connection.url.clone())
            .headers(connection.headers.clone())
            .body("{}")
            .send();
        let limit = connection.limits.connect + connection.limits.first_byte;
        match timeout(limit, answer).await {
            Err(_) => Err(connection.silent(limit, false)),
            Ok(Err(error)) => Err(connection.failed(&error, false)),
            Ok(Ok(response)) if matches!(response.status().as_u16(), 200 | 422) => Ok(()),
            Ok(Ok(response)) => {
                let is_read = response.status() == 400;
                match line.refused(response).await {
                    ModelError::Rejected { .. } | ModelError::Refused { .. } if is_read => Ok(()),
                    error => Err(error),
                }
            }
        }
    }

    async fn refused(&self, response: Response) -> ModelError {
        let connection = &self.connection;
        let status = response.status().as_u16();
        let received = Received {
            headers: response.headers().clone(),
            at: SystemTime::now(),
        };
        let reading = read(response, LONGEST_REFUSAL);
        let body = timeout(connection.limits.connect, reading)
            .await
            .map(|(body, _)| body)
            .unwrap_or_default();
        if let (407, Some(proxy)) = (status, &connection.proxy) {
            return ModelError::Refused {
                said: wants_login(proxy),
            };
        }
        if (300..400).contains(&status) {
            return ModelError::Refused {
                said: format!(
                    "{} answered with a redirect ({status}), which is not followed: check the API base URL",
                    connection.place()
                ),
            };
        }
        let refusal = Refusal {
            status: Some(status),
            headers: Some(&received),
            body: &body,
        };
        match (
            self.auth.explain(classify(&refusal, &connection.secrets), &received),
            &self.key_source,
        ) {
            (ModelError::Credentials { said }, Some(source)) => ModelError::Credentials {
                said: format!("{said}; check {source}"),
            },
            (ModelError::Refused { said }, _) if status == 404 => ModelError::Refused {
                said: match &self.meant {
                    Some(meant) => format!("{said}; did you mean {meant}?"),
                    None => said,
                },
            },
            (error, _) => error,
        }
    }
}

/// The next item of a reply.
pub(crate) enum StreamItem {
    /// The data of a frame.
    Frame(String),
    /// Bytes that are not a frame, or not yet.
    Life,
    /// The end of the stream, set by the server.
    End,
}

/// The framing of a stream.
enum Framer {
    Sse(SseFramer),
    Aws(EventFramer),
}

impl Framer {
    fn pending(&self) -> usize {
        match self {
            Framer::Sse(framer) => framer.pending(),
            Framer::Aws(framer) => framer.pending(),
        }
    }
}

/// The frames of one reply. Dropping it closes the connection.
pub(crate) struct Stream {
    connection: Connection,
    response: Response,
    framer: Framer,
    frames: VecDeque<String>,
    taken: usize,
    /// The deadline for the first byte; `None` once that has arrived.
    deadline: Option<Instant>,
    /// The time of the last frame other than a ping.
    spoken: Instant,
    is_over: bool,
}

impl Stream {
    /// Returns the next item. `had_begun` is recorded in errors. At `ends`, if given, the stream is treated as ended by
    /// the server.
    pub(crate) async fn next(&mut self, had_begun: bool, ends: Option<Instant>) -> Result<StreamItem, ModelError> {
        if self.frames.is_empty() && !self.is_over {
            match ends {
                None => self.read(had_begun).await?,
                Some(ends) => match timeout_at(ends, self.read(had_begun)).await {
                    // Bytes without a frame must not keep the stream open.
                    Ok(Ok(())) if !self.frames.is_empty() || Instant::now() < ends => {}
                    Ok(Err(error)) => return Err(error),
                    Ok(Ok(())) | Err(_) => self.is_over = true,
                },
            }
        }
        Ok(match self.frames.pop_front() {
            Some(frame) => StreamItem::Frame(frame),
            None if self.is_over => StreamItem::End,
            None => StreamItem::Life,
        })
    }

    async fn read(&mut self, had_begun: bool) -> Result<(), ModelError> {
        let limits = self.connection.limits;
        let bytes = match self.deadline {
            Some(deadline) => (deadline, limits.first_byte),
            None => (Instant::now() + limits.idle, limits.idle),
        };
        let patience = limits.idle.max(limits.first_byte) * PATIENCE_WITH_PINGS;
        let (deadline, limit) = bytes.min((self.spoken + patience, patience));
        let chunk = match timeout_at(deadline, self.response.chunk()).await {
            Err(_) => return Err(self.connection.silent(limit, had_begun)),
            Ok(Err(error)) => return Err(self.connection.failed(&error, had_begun)),
            Ok(Ok(chunk)) => chunk,
        };
        let Some(chunk) = chunk else {
            self.is_over = true;
            // Some servers omit the blank line after the last frame.
            if let Framer::Sse(framer) = &mut self.framer {
                self.frames.extend(frames(framer, b"\n\n"));
            }
            return Ok(());
        };
        self.deadline = None;
        self.taken += chunk.len();
        let came = match &mut self.framer {
            Framer::Sse(framer) => frames(framer, &chunk),
            Framer::Aws(framer) => framer.push(&chunk).map_err(|said| ModelError::Garbled { said })?,
        };
        if came.iter().any(|frame| !is_ping(frame)) {
            self.spoken = Instant::now();
        }
        self.frames.extend(came);
        if self.framer.pending() > LONGEST_FRAME || self.taken > LONGEST_REPLY {
            return Err(ModelError::Garbled {
                said: format!("the reply is too long: {} bytes came", self.taken),
            });
        }
        Ok(())
    }

    /// Returns whether the server has ended the stream: the rest may be an incomplete frame.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over
    }

    fn is_json(&self) -> bool {
        self.header("content-type").starts_with("application/json")
    }

    /// Detects a response that does not come from a model server, whatever its status.
    fn foreign(&self) -> Option<ModelError> {
        let place = self.connection.place();
        if self.header("content-type").starts_with("text/html") {
            return Some(ModelError::Refused {
                said: format!("{place} answered with a web page: check the API base URL"),
            });
        }
        let coding = self.header("content-encoding");
        (!coding.is_empty() && coding != "identity").then(|| ModelError::Garbled {
            said: format!("{place} sent a compressed answer, which was not requested"),
        })
    }

    /// Returns a header in lower case; empty if missing.
    fn header(&self, name: &str) -> String {
        let value = self.response.headers().get(name).and_then(|value| value.to_str().ok());
        value.unwrap_or_default().trim().to_ascii_lowercase()
    }

    /// Handles a document in place of a stream: some gateways send errors like this, with a success status.
    async fn whole(self) -> ModelError {
        let connection = self.connection;
        let limit = connection.limits.first_byte;
        match timeout(limit, read(self.response, LONGEST_REFUSAL)).await {
            Ok((body, _)) if body.contains("\"error\"") => {
                let refusal = Refusal {
                    status: Some(200),
                    headers: None,
                    body: &body,
                };
                classify(&refusal, &connection.secrets)
            }
            Ok(_) => ModelError::Garbled {
                said: format!("{} sent a single document instead of a stream", connection.place()),
            },
            Err(_) => connection.silent(limit, false),
        }
    }
}

/// Returns the data of the frames that a chunk completes, without blank ones.
fn frames(framer: &mut SseFramer, chunk: &[u8]) -> Vec<String> {
    framer
        .push(chunk)
        .map(|event| event.data)
        .filter(|data| !data.trim().is_empty())
        .collect()
}

/// Returns whether a frame only signals that the server is alive.
fn is_ping(frame: &str) -> bool {
    frame.len() < 64 && frame.contains("\"ping\"")
}
