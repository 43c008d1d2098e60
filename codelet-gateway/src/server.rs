//! The server: who may ask, what is answered here, and what goes on.

use crate::body::{Answer, ROOM_STEP, Refused, error, full};
use crate::headers::TOKEN;
use crate::page;
use crate::pass;
use crate::shared::{Options, Shared, Tried};
use crate::threads::Threads;
use crate::totals::Totals;
use bytes::Bytes;
use http::header::{
    CACHE_CONTROL, CONTENT_LENGTH, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HOST, ORIGIN, REFERRER_POLICY, UPGRADE,
};
use http::uri::PathAndQuery;
use http::{Method, Request, Response, StatusCode};
use hyper::body::{Body, Incoming};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use std::collections::hash_map::RandomState;
use std::convert::Infallible;
use std::future::Future;
use std::hash::BuildHasher;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};

/// Connections at once; another one waits until one has ended.
const MOST_CONNECTIONS: usize = 1_024;
/// Bodies that were read and are not answered take at most so many bytes together; what comes beyond goes on unread.
const MOST_OPEN: usize = 1 << 30;
/// The maximum buffer of a connection, in bytes: a head has to fit.
const MOST_BUFFERED: usize = 16 << 10;
/// The time limit for the head of a request; a connection without one for so long is closed.
const HEAD: Duration = Duration::from_secs(30);
/// The pause after a connection could not be accepted.
const PAUSE: Duration = Duration::from_millis(50);

/// A server that listens.
pub struct Gateway {
    listener: TcpListener,
    shared: Arc<Shared>,
    most_connections: usize,
}

impl Gateway {
    /// Listens at this address; port 0 is any free one.
    ///
    /// # Errors
    /// When the address is taken or is none of this machine's, or others than this machine could connect without a token.
    pub async fn bind(address: SocketAddr, options: Options) -> std::io::Result<Self> {
        if !address.ip().is_loopback() && options.token.is_none() {
            let words = "an address that other machines can connect to needs a token";
            return Err(std::io::Error::new(std::io::ErrorKind::PermissionDenied, words));
        }
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        Ok(Gateway {
            listener,
            most_connections: MOST_CONNECTIONS,
            shared: Arc::new(Shared {
                options,
                address,
                number: format!("{:016x}", RandomState::new().hash_one(1)),
                secret: secret(),
                room: Semaphore::new(MOST_OPEN / ROOM_STEP),
                turns: Arc::new(Semaphore::new(
                    std::thread::available_parallelism().map_or(2, std::num::NonZero::get),
                )),
                threads: Threads::default(),
                tried: Tried::default(),
            }),
        })
    }

    /// Sets the maximum number of connections, in place of 1,024.
    pub fn holding(mut self, connections: usize) -> Self {
        self.most_connections = connections;
        self
    }

    /// Sets the memory for requests that are not answered yet, in bytes, to less than the usual 1 GB.
    pub fn with_room(self, bytes: usize) -> Self {
        let less = MOST_OPEN.saturating_sub(bytes) / ROOM_STEP;
        self.shared.room.forget_permits(less);
        self
    }

    /// The address on which it listens.
    pub fn address(&self) -> SocketAddr {
        self.shared.address
    }

    /// The address at which removed text is read back, for the environment of agents.
    pub fn recalls_at(&self) -> String {
        format!("http://{}/codelet/recall/{}", self.shared.address, self.shared.secret)
    }

    /// Tells what went through so far, also while it serves, once the ledger's file has it.
    pub fn totals(&self) -> impl Fn() -> Totals + Send + Sync + 'static {
        let shared = self.shared.clone();
        move || {
            shared.options.ledger.flush();
            shared.options.ledger.totals()
        }
    }

    /// Serves until `end` comes, and then answers what was asked until then: a stream that breaks off is paid for twice. When this is dropped, all ends.
    pub async fn serve(self, end: impl Future<Output = ()>) {
        let room = Arc::new(Semaphore::new(self.most_connections));
        let mut connections = tokio::task::JoinSet::new();
        let (ended, is_ended) = watch::channel(());
        let mut end = std::pin::pin!(end);
        loop {
            // What has ended makes room.
            while connections.try_join_next().is_some() {}
            let accepted = async {
                let permit = room.clone().acquire_owned().await;
                (self.listener.accept().await, permit)
            };
            let (accepted, permit) = tokio::select! {
                () = &mut end => break,
                accepted = accepted => accepted,
            };
            let Ok((stream, _)) = accepted else {
                // Too many files are open, for example: others end first.
                tokio::time::sleep(PAUSE).await;
                continue;
            };
            let _ = stream.set_nodelay(true);
            let shared = self.shared.clone();
            let service = hyper::service::service_fn(move |request| {
                let shared = shared.clone();
                async move { Ok::<_, Infallible>(answer(shared, request).await) }
            });
            let mut is_ended = is_ended.clone();
            connections.spawn(async move {
                let _permit = permit;
                // The server below waits for the first byte however long it takes.
                tokio::select! {
                    asked = tokio::time::timeout(HEAD, stream.readable()) => if !matches!(asked, Ok(Ok(()))) { return },
                    _ = is_ended.changed() => return,
                }
                let mut builder = Builder::new(TokioExecutor::new());
                builder
                    .http1()
                    .timer(TokioTimer::new())
                    .header_read_timeout(HEAD)
                    .max_buf_size(MOST_BUFFERED);
                builder.http2().timer(TokioTimer::new());
                let mut served = std::pin::pin!(builder.serve_connection(TokioIo::new(stream), service));
                tokio::select! {
                    // A client that goes away ends its connection, and with that what it asked for.
                    _ = served.as_mut() => return,
                    _ = is_ended.changed() => {}
                }
                served.as_mut().graceful_shutdown();
                let _ = served.await;
            });
        }
        // Nobody new is let in.
        drop((self.listener, ended));
        while connections.join_next().await.is_some() {}
    }
}

/// Answers a request. What HEAD does not ask for is left out here, since over HTTP/2 nobody else does it.
async fn answer(shared: Arc<Shared>, request: Request<Incoming>) -> Answer {
    let is_head = request.method() == Method::HEAD;
    let mut answer = whole_answer(shared, request).await;
    if is_head {
        let body = std::mem::replace(answer.body_mut(), full(Bytes::new()));
        if let Some(length) = body.size_hint().exact().filter(|length| *length > 0) {
            answer.headers_mut().insert(CONTENT_LENGTH, length.into());
        }
    }
    answer
}

async fn whole_answer(shared: Arc<Shared>, mut request: Request<Incoming>) -> Answer {
    let path = match shared.admit(&mut request) {
        Ok(path) => path,
        Err((status, words)) => return error(status, words),
    };
    if request.method() == Method::CONNECT {
        let words = "the Codelet gateway is not a proxy; set it as the agent's base URL";
        return error(StatusCode::METHOD_NOT_ALLOWED, words);
    }
    if matches!(*request.method(), Method::GET | Method::HEAD)
        && let Some(page) = shared.own(path.path())
    {
        return page;
    }
    // The secret is nobody's to see, in whatever way the path leads back here.
    let (own, secret) = (path.path(), &*shared.secret);
    if own == "/codelet" || own.starts_with("/codelet/") || path.as_str().contains(secret) {
        return error(StatusCode::NOT_FOUND, "the Codelet gateway has no such page");
    }
    if request.headers().contains_key(UPGRADE) && !request.headers().contains_key("http2-settings") {
        return error(
            StatusCode::UPGRADE_REQUIRED,
            "the Codelet gateway does not support WebSockets; use the provider's HTTP interface",
        );
    }
    pass::on(shared, path, request).await
}

impl Shared {
    /// The path of a request that may be made, without the token that it may begin with.
    fn admit(&self, request: &mut Request<Incoming>) -> Result<PathAndQuery, Refused> {
        let uri = request.uri();
        let path = uri
            .path_and_query()
            .cloned()
            .unwrap_or_else(|| PathAndQuery::from_static("/"));
        let origin = request
            .headers()
            .get(ORIGIN)
            .map(|origin| origin.to_str().unwrap_or("null"));
        let is_page = |origin: &str| origin == "null" || origin.starts_with("http") && !is_this_machine(origin);
        if origin.is_some_and(is_page) {
            return Err((StatusCode::FORBIDDEN, "other websites may not use the Codelet gateway"));
        }
        let Some(token) = &self.options.token else {
            let host = request.headers().get(HOST).and_then(|host| host.to_str().ok());
            let host = host.or_else(|| uri.authority().map(http::uri::Authority::as_str));
            // A name that somebody else made to point here would let their page ask.
            return match host.is_some_and(is_this_machine) {
                true => Ok(path),
                false => Err((
                    StatusCode::FORBIDDEN,
                    "the Codelet gateway can be reached only by names of this machine, such as 127.0.0.1 and localhost",
                )),
            };
        };
        let is_token = |shown: &[u8]| is_same(shown, token.as_bytes());
        let rest = path.as_str().strip_prefix("/t/").and_then(|rest| {
            let end = rest.find(['/', '?']).unwrap_or(rest.len());
            is_token(&rest.as_bytes()[..end]).then(|| &rest[end..])
        });
        // Never on to the provider.
        let path = match rest {
            Some(rest) if rest.starts_with('/') => rest.parse().ok(),
            Some(rest) => format!("/{rest}").parse().ok(),
            None => request
                .headers()
                .get(TOKEN)
                .is_some_and(|shown| is_token(shown.as_bytes()))
                .then_some(path),
        };
        path.ok_or((
            StatusCode::UNAUTHORIZED,
            "this Codelet gateway requires its token, in the header x-codelet-token or as /t/TOKEN before the path",
        ))
    }

    /// Answers requests for the gateway's own pages.
    fn own(&self, path: &str) -> Option<Answer> {
        let ledger = &self.options.ledger;
        let (kind, text) = match path {
            "/codelet" | "/codelet/" => ("text/html; charset=utf-8", page::html(ledger)),
            "/codelet/figures" => ("application/json", page::json(ledger)),
            "/metrics" => ("text/plain; version=0.0.4", page::metrics(ledger)),
            _ => {
                let (secret, handle) = path.strip_prefix("/codelet/recall/")?.split_once('/')?;
                if !is_same(secret.as_bytes(), self.secret.as_bytes()) {
                    return Some(error(
                        StatusCode::NOT_FOUND,
                        "this is not the gateway's address for removed texts",
                    ));
                }
                let mut texts = self.options.editor.recall(handle);
                match (texts.pop(), texts.is_empty()) {
                    (Some(text), true) => ("text/plain; charset=utf-8", text),
                    (Some(_), false) => {
                        let words = "two conversations have different texts under this handle, and the gateway does not know which is meant";
                        return Some(error(StatusCode::CONFLICT, words));
                    }
                    (None, _) => {
                        let words = "the gateway has no text under this handle now; try again after the conversation's next request";
                        return Some(error(StatusCode::NOT_FOUND, words));
                    }
                }
            }
        };
        let answer = Response::builder()
            .header(CONTENT_TYPE, kind)
            .header(CACHE_CONTROL, "no-store")
            .header(REFERRER_POLICY, "no-referrer")
            .header("x-content-type-options", "nosniff")
            .header(CONTENT_SECURITY_POLICY, page::POLICY)
            .body(full(text));
        answer.ok()
    }
}

/// Returns whether an address, as a header has it, is one of this machine's own. Fewer than `codelet_network::is_own_machine` takes for one: that is told by
/// the user, and this by anybody's page, which may name `0.0.0.0`.
fn is_this_machine(address: &str) -> bool {
    let address = address.split_once("://").map_or(address, |(_, rest)| rest);
    let host = match address.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => address.split(':').next().unwrap_or_default(),
    };
    let is_loopback = host.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback());
    is_loopback || host.eq_ignore_ascii_case("localhost")
}

/// A text that nobody guesses: the system's randomness, as the hasher of a map takes it.
fn secret() -> String {
    let random = || RandomState::new().hash_one(0);
    format!("{:016x}{:016x}", random(), random())
}

/// Compares without telling by the time where the two differ.
fn is_same(one: &[u8], other: &[u8]) -> bool {
    one.len() == other.len() && one.iter().zip(other).fold(0, |all, (a, b)| all | (a ^ b)) == 0
}
