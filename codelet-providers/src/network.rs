//! A connection to one provider: sending, timeouts and size limits. It does not read the environment.

use crate::auth::Auth;
use crate::error_kind::{Refusal, classify};
use crate::host::events::EventFramer;
use crate::secret::{Secret, Secrets};
use crate::wait::Received;
use bytes::Bytes;
use codelet_agent::model::ModelError;
use codelet_context::tokens::Tokens;
use codelet_network::{Network, Proxy};
use futures_util::stream;
use rig_core::http_client::HeaderMap;
use rig_core::http_client::framing::SseFramer;
use rig_reqwest::reqwest::{self, Body, Client, Response, Url, header};
use rustls::CertificateError;
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
/// The maximum number of bytes read from an error response.
const LONGEST_REFUSAL: usize = 256 << 10;

/// Timeouts for a silent provider.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TimeLimits {
    /// Until the connection is established.
    pub connect: Duration,
    /// From then until the first byte of the reply.
    pub first_byte: Duration,
    /// Between two bytes of the reply.
    pub idle: Duration,
}

impl TimeLimits {
    /// For a vendor's cloud: 10 seconds, a minute, a minute.
    pub const CLOUD: TimeLimits = TimeLimits {
        connect: Duration::from_secs(10),
        first_byte: Duration::from_secs(60),
        idle: Duration::from_secs(60),
    };

    /// For a server on the user's own machine: 10 seconds, 2 minutes in addition to the time for reading the prompt, 5
    /// minutes.
    pub const LOCAL: TimeLimits = TimeLimits {
        connect: Duration::from_secs(10),
        first_byte: Duration::from_secs(120),
        idle: Duration::from_secs(300),
    };
}

/// The time that a local server may take per token of the prompt: models of 7 to 30 billion parameters read 30 to 100
/// tokens per second on a CPU, ten times as many on a GPU.
pub(crate) const READING: Duration = Duration::from_millis(33);
/// The maximum wait for the first byte, however long the prompt is.
const LONGEST_READING: Duration = Duration::from_secs(900);

/// Creates the client that all requests to one provider share, and returns it with its proxy.
pub(crate) fn client(network: &Network, base: &Url, limits: TimeLimits) -> Result<(Client, Option<Proxy>), String> {
    let (builder, proxy) = network.client(base).map_err(|error| error.to_string())?;
    let client = builder.connect_timeout(limits.connect).build();
    Ok((client.map_err(|error| cause(&error))?, proxy))
}

/// A request template.
#[derive(Clone)]
pub(crate) struct Line {
    pub client: Client,
    pub url: Url,
    /// The proxy, if any.
    pub proxy: Option<Proxy>,
    pub headers: HeaderMap,
    /// Authentication added to each request when it is sent.
    pub auth: Auth,
    /// True if replies use AWS event framing.
    pub frames_events: bool,
    pub key: Option<Secret>,
    /// The source of the key or of a cloud's credentials.
    pub key_source: Option<String>,
    /// Secrets that errors must not contain: the key, and the credentials in the URL.
    pub secrets: Secrets,
    pub limits: TimeLimits,
    /// The increase of the first-byte timeout per token of the prompt.
    pub per_token: Duration,
}

impl Line {
    /// Returns the line with timeouts for a prompt of this length.
    pub(crate) fn reading(&self, prompt: Tokens) -> Line {
        let tokens = u32::try_from(prompt).unwrap_or(u32::MAX);
        let first_byte = self.limits.first_byte;
        let longer = first_byte.saturating_add(self.per_token.saturating_mul(tokens));
        Line {
            limits: TimeLimits {
                first_byte: longer.min(LONGEST_READING.max(first_byte)),
                ..self.limits
            },
            ..self.clone()
        }
    }

    /// Posts a body in slices, and opens the stream of the response.
    pub(crate) async fn post(&self, body: Vec<Bytes>) -> Result<Stream, ModelError> {
        // The body is requested once the connection is established, which starts the first-byte timeout.
        let (tell, stands) = oneshot::channel();
        let mut tell = Some(tell);
        let length: usize = body.iter().map(Bytes::len).sum();
        let body = Body::wrap_stream(stream::iter(body.into_iter().map(move |slice| {
            // Fails if the receiver has given up.
            let _ = tell.take().map(|tell| tell.send(()));
            Ok::<_, Infallible>(slice)
        })));
        let request = self
            .client
            .post(self.url.clone())
            .headers(self.headers.clone())
            .header(header::CONTENT_LENGTH, length)
            .body(body);
        let mut sending = pin!(request.send());
        let limit = self.limits.first_byte;
        let mut deadline = Instant::now() + self.limits.connect + limit;
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
            Ok(Err(error)) => return Err(self.failed(&error, false)),
            Err(_) => return Err(self.silent(limit, false)),
        };
        if !response.status().is_success() {
            return Err(self.refused(response).await);
        }
        let stream = Stream {
            line: self.clone(),
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

    /// Requests a small JSON document.
    pub(crate) async fn get(&self, limit: Duration) -> Result<serde_json::Value, ModelError> {
        let ask = async {
            let line = self.authorized("GET", &[]).await?;
            let request = self.client.get(self.url.clone()).headers(line.headers);
            let response = request.send().await.map_err(|error| self.failed(&error, false))?;
            if !response.status().is_success() {
                return Err(self.refused(response).await);
            }
            let (text, _) = read(response, LONGEST_REFUSAL * 16).await;
            serde_json::from_str(&text).map_err(|error| ModelError::Garbled {
                said: format!("{}: {error}", self.place()),
            })
        };
        timeout(limit, ask)
            .await
            .unwrap_or_else(|_| Err(self.silent(limit, false)))
    }

    /// Posts a form, and returns the response, whatever its status.
    pub(crate) async fn form(&self, form: String) -> Result<Answer, ModelError> {
        let request = self.client.post(self.url.clone()).headers(self.headers.clone());
        let ask = async {
            let response = request.body(form).send().await;
            let response = response.map_err(|error| self.failed(&error, false))?;
            Ok(Answer {
                status: response.status().as_u16(),
                body: read(response, LONGEST_REFUSAL).await.0,
            })
        };
        let limit = self.limits.connect + self.limits.first_byte;
        timeout(limit, ask)
            .await
            .unwrap_or_else(|_| Err(self.silent(limit, false)))
    }

    /// Posts an empty object, which runs no model: a server that names the missing fields has accepted key and model.
    ///
    /// # Errors
    /// If the server responds otherwise, or not at all.
    pub(crate) async fn knock(&self) -> Result<(), ModelError> {
        let line = self.authorized("POST", &[Bytes::from_static(b"{}")]).await?;
        let answer = line
            .client
            .post(line.url.clone())
            .headers(line.headers.clone())
            .body("{}")
            .send();
        let limit = line.limits.connect + line.limits.first_byte;
        match timeout(limit, answer).await {
            Err(_) => Err(line.silent(limit, false)),
            Ok(Err(error)) => Err(line.failed(&error, false)),
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
        let status = response.status().as_u16();
        let received = Received {
            headers: response.headers().clone(),
            at: SystemTime::now(),
        };
        let reading = read(response, LONGEST_REFUSAL);
        let body = timeout(self.limits.connect, reading)
            .await
            .map(|(body, _)| body)
            .unwrap_or_default();
        if let (407, Some(proxy)) = (status, &self.proxy) {
            return ModelError::Refused {
                said: wants_login(proxy),
            };
        }
        if (300..400).contains(&status) {
            return ModelError::Refused {
                said: format!(
                    "{} answered with a redirect ({status}), which is not followed: check the API base URL",
                    self.place()
                ),
            };
        }
        let refusal = Refusal {
            status: Some(status),
            headers: &received,
            body: &body,
        };
        match (
            self.auth.explain(classify(&refusal, &self.secrets), &received),
            &self.key_source,
        ) {
            (ModelError::Credentials { said }, Some(source)) => ModelError::Credentials {
                said: format!("{said}; check {source}"),
            },
            (error, _) => error,
        }
    }

    /// Returns host and port, the only parts of the URL that are ever shown.
    fn place(&self) -> String {
        let host = self.url.host_str().unwrap_or("?");
        match self.url.port_or_known_default() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        }
    }

    fn failed(&self, error: &reqwest::Error, had_begun: bool) -> ModelError {
        let why = self.scrub(&cause(error));
        let place = self.place();
        let said = match error {
            error if error.is_connect() && certificate(error).is_some_and(is_of_a_stranger) => format!(
                "the certificate of {place} is not trusted ({why}): if your company has its own authority, put its certificate \
                 file (PEM) into SSL_CERT_FILE"
            ),
            error if let (true, Some(proxy)) = (error.is_connect(), &self.proxy) => match is_login(error) {
                true => wants_login(proxy),
                false => format!("could not connect to {place} through the proxy {proxy} ({why})"),
            },
            error if error.is_connect() && is_unresolved(error) => {
                let host = self.url.host_str().unwrap_or("?");
                format!("could not resolve host {host}: check its name and the network")
            }
            error if error.is_connect() && error.is_timeout() => {
                format!(
                    "connecting to {place} timed out after {} s: check host, port and proxy",
                    self.limits.connect.as_secs()
                )
            }
            error if error.is_connect() && is_unheard(error) => {
                format!("connection refused by {place}: check host and port, and that the server is running")
            }
            error if error.is_connect() => {
                format!("could not connect to {place} ({why}): check host and port, and that the server is running")
            }
            _ if had_begun => format!("the connection to {place} was lost ({why})"),
            _ => format!("the request to {place} failed ({why})"),
        };
        ModelError::Cut { said, had_begun }
    }

    fn silent(&self, limit: Duration, had_begun: bool) -> ModelError {
        ModelError::Cut {
            said: format!("no data from {} for {} s", self.place(), limit.as_secs_f32()),
            had_begun,
        }
    }

    /// Redacts the key and other credentials in a text.
    pub(crate) fn scrub(&self, text: &str) -> String {
        self.secrets.scrub(text)
    }
}

/// The response to a small request.
pub(crate) struct Answer {
    pub status: u16,
    /// The body, up to the size limit.
    pub body: String,
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
    line: Line,
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
        let limits = self.line.limits;
        let bytes = match self.deadline {
            Some(deadline) => (deadline, limits.first_byte),
            None => (Instant::now() + limits.idle, limits.idle),
        };
        let patience = limits.idle.max(limits.first_byte) * PATIENCE_WITH_PINGS;
        let (deadline, limit) = bytes.min((self.spoken + patience, patience));
        let chunk = match timeout_at(deadline, self.response.chunk()).await {
            Err(_) => return Err(self.line.silent(limit, had_begun)),
            Ok(Err(error)) => return Err(self.line.failed(&error, had_begun)),
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
        let place = self.line.place();
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
        let line = self.line;
        let limit = line.limits.first_byte;
        match timeout(limit, read(self.response, LONGEST_REFUSAL)).await {
            Ok((body, _)) if body.contains("\"error\"") => {
                let refusal = Refusal {
                    status: None,
                    headers: &crate::error_kind::NoHeaders,
                    body: &body,
                };
                classify(&refusal, &line.secrets)
            }
            Ok(_) => ModelError::Garbled {
                said: format!("{} sent a single document instead of a stream", line.place()),
            },
            Err(_) => line.silent(limit, false),
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

/// Reads a body up to a length; returns the part before a failure, and whether it is complete.
async fn read(mut response: Response, longest: usize) -> (String, bool) {
    let mut body = Vec::new();
    let is_whole = loop {
        match response.chunk().await {
            Ok(Some(chunk)) => body.extend_from_slice(&chunk[..chunk.len().min(longest - body.len())]),
            Ok(None) => break true,
            Err(_) => break false,
        }
        if body.len() >= longest {
            break false;
        }
    };
    (String::from_utf8_lossy(&body).into_owned(), is_whole)
}

/// Describes a failure by its innermost cause, since the outer layers name parts of the program. Contains no URL.
fn cause(error: &reqwest::Error) -> String {
    let Some(cause) = causes(error).last() else {
        let why = if error.is_timeout() {
            "it took too long"
        } else {
            "unknown reason"
        };
        return why.to_owned();
    };
    let said = cause.to_string();
    let bare = said.split(" (os error").next().unwrap_or(&said);
    let mut chars = bare.chars();
    let first = chars.next().into_iter().flat_map(char::to_lowercase);
    first.chain(chars).collect()
}

/// Returns the causes of an error, from the outermost to the innermost.
fn causes(error: &reqwest::Error) -> impl Iterator<Item = &(dyn std::error::Error + 'static)> {
    std::iter::successors(std::error::Error::source(error), |cause| cause.source())
}

/// Returns the advice for a proxy that requires a login.
fn wants_login(proxy: &Proxy) -> String {
    format!(
        "the proxy {proxy} requires a valid user name and password: set them in the proxy variable, as http://NAME:PASSWORD@HOST:PORT"
    )
}

/// Returns whether a proxy requires a login.
fn is_login(error: &reqwest::Error) -> bool {
    causes(error).any(|cause| cause.to_string().contains("proxy authorization required"))
}

/// Returns the reason why a server's certificate was rejected.
fn certificate(error: &reqwest::Error) -> Option<&CertificateError> {
    let held = causes(error).filter_map(|cause| cause.downcast_ref::<std::io::Error>());
    // The error inside an I/O error is not one of its causes, only that error's causes are; and I/O errors can be
    // nested.
    let mut held = held.flat_map(|error| {
        std::iter::successors(error.get_ref(), |held| held.downcast_ref::<std::io::Error>()?.get_ref())
    });
    held.find_map(|held| match held.downcast_ref::<rustls::Error>()? {
        rustls::Error::InvalidCertificate(why) => Some(why),
        _ => None,
    })
}

/// Returns whether no trusted authority signed the certificate: an unknown one, or another one with the same name, such
/// as a recreated authority.
fn is_of_a_stranger(why: &CertificateError) -> bool {
    matches!(why, CertificateError::UnknownIssuer | CertificateError::BadSignature)
}

fn is_unresolved(error: &reqwest::Error) -> bool {
    causes(error).any(|cause| cause.to_string().starts_with("dns error"))
}

fn is_unheard(error: &reqwest::Error) -> bool {
    causes(error)
        .filter_map(|cause| cause.downcast_ref::<std::io::Error>())
        .any(|cause| cause.kind() == std::io::ErrorKind::ConnectionRefused)
}
