//! The server itself: a thread, a loopback port, and one task per connection.

use super::behaviour::{Behaviour, Rules, Script};
use super::cache::{Asked as Wanted, Cache};
use super::check::{Sent, check};
use super::fault::{Fault, Refusal};
use super::gate::Place as Stand;
use super::http;
use super::plan::{Last, Plan};
use super::record::{End, Exchange, Record};
use super::request::Request;
use super::script::{Billed, Reply, Said};
use super::segment::{Place, chain, segments};
use super::window::tokens;
use super::wire::{Envelope, Wire, hash};
use serde_json::{Value, json};
use std::future::Future;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{oneshot, watch};

/// Timeout of [`Server::until`], so that a hanging test reports where.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// A provider on loopback. It runs on its own thread, so both blocking and asynchronous tests may use it, and stops
/// when it is dropped.
pub struct Server {
    address: SocketAddr,
    state: Arc<State>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Starts a server on a free loopback port. It accepts connections when this returns.
    pub fn start(wire: Wire, behaviour: Behaviour) -> Server {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.expect("a test may have a runtime");
        let listener = runtime.block_on(TcpListener::bind((Ipv4Addr::LOCALHOST, 0)));
        let listener = listener.expect("loopback has a free port");
        let address = listener.local_addr().expect("a bound socket has an address");
        let state = Arc::new(State::new(wire, behaviour));
        let (stop, stopped) = oneshot::channel();
        let own = state.clone();
        let thread = std::thread::spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    () = accept(listener, own) => {}
                    _ = stopped => {}
                }
            });
        });
        Server {
            address,
            state,
            stop: Some(stop),
            thread: Some(thread),
        }
    }

    /// `http://127.0.0.1:PORT`, without a path.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The base URL as the vendor defines it: with `/v1` for OpenAI's wires, the bare address for the others.
    pub fn base(&self) -> String {
        match self.state.wire {
            Wire::Chat | Wire::Responses => format!("{}/v1", self.url()),
            Wire::Anthropic | Wire::Gemini => self.url(),
        }
    }

    /// A copy of the record.
    pub fn record(&self) -> Record {
        self.state.record().clone()
    }

    /// Waits until the record satisfies a condition: a request has arrived, a frame was sent, a client has left.
    ///
    /// # Panics
    /// After [`PATIENCE`], with the record's exchanges. Needs a runtime with time; blocking tests use
    /// [`Server::wait_until`].
    pub async fn until(&self, holds: impl Fn(&Record) -> bool) {
        let mut changed = self.state.changed.subscribe();
        let wait = async {
            while !holds(&self.state.record()) {
                // The sender lives in the state, so the channel cannot close.
                let _ = changed.changed().await;
            }
        };
        if tokio::time::timeout(PATIENCE, wait).await.is_err() {
            let record = self.state.record();
            let ends: Vec<_> = record
                .exchanges
                .iter()
                .map(|exchange| (exchange.frames, exchange.end))
                .collect();
            panic!(
                "after {PATIENCE:?} the record is not as asked; frames and ends: {ends:?}\n{}",
                record.faults()
            );
        }
    }

    /// [`Server::until`] for blocking tests.
    pub fn wait_until(&self, holds: impl Fn(&Record) -> bool) {
        block_on(self.until(holds));
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic there was reported by the panic hook.
            let _ = thread.join();
        }
    }
}

/// Waits for a future on this thread, for blocking tests.
pub fn block_on<F: Future>(future: F) -> F::Output {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    runtime.expect("a test may have a runtime").block_on(future)
}

struct State {
    wire: Wire,
    rules: Rules,
    inner: Mutex<Inner>,
    record: Mutex<Record>,
    changed: watch::Sender<()>,
}

struct Inner {
    script: Script,
    cache: Cache,
    sent: Sent,
    answered: usize,
}

/// A response to be sent, and what to record once it is.
struct Answer {
    number: usize,
    plan: Plan,
    reply: Reply,
    sent: Sent,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn accept(listener: TcpListener, state: Arc<State>) {
    while let Ok((stream, _)) = listener.accept().await {
        // Each frame is a packet of its own.
        let _ = stream.set_nodelay(true);
        tokio::spawn(serve(stream, state.clone()));
    }
}

async fn serve(mut stream: TcpStream, state: Arc<State>) {
    let mut ahead = Vec::new();
    while let Ok(Some(mut asked)) = http::read(&mut stream, &mut ahead).await {
        if let Some(cloud) = &state.rules.cloud {
            let (method, path) = (asked.method.clone(), asked.path.clone());
            match cloud.admit(state.wire, asked) {
                Ok(admitted) => asked = admitted,
                Err(plan) => {
                    lock(&state.record)
                        .others
                        .push((method, path, plan.status.unwrap_or(0)));
                    state.changed.send_replace(());
                    if stream.write_all(&plan.head).await.is_err() {
                        break;
                    }
                    continue;
                }
            }
        }
        if asked.method == "POST" && state.wire.takes(&asked.path) {
            let answer = state.answer(asked);
            if !deliver(&mut stream, &mut ahead, &state, answer).await {
                break;
            }
        } else {
            let (status, body) = state.other(&asked);
            lock(&state.record).others.push((asked.method, asked.path, status));
            state.changed.send_replace(());
            if stream.write_all(&http::whole(status, &[], &body)).await.is_err() {
                break;
            }
        }
    }
}

/// Sends a response; returns whether the connection takes another request.
async fn deliver(stream: &mut TcpStream, ahead: &mut Vec<u8>, state: &State, answer: Answer) -> bool {
    let number = answer.number;
    let (mut reader, mut writer) = stream.split();
    let last = tokio::select! {
        biased;
        last = write(&mut writer, state, answer) => last.ok(),
        () = http::gone(&mut reader, ahead) => None,
    };
    let now = Instant::now();
    match last {
        None => state.note(number, |exchange| exchange.end = End::ClientLeft(now)),
        Some(Last::Close | Last::Wait) => state.note(number, |exchange| exchange.end = End::Cut(now)),
        // Recorded before the last bytes were sent.
        Some(Last::Complete) => {}
    }
    if last == Some(Last::Close) {
        let _ = stream.shutdown().await;
    }
    last == Some(Last::Complete)
}

async fn write<W>(writer: &mut W, state: &State, answer: Answer) -> std::io::Result<Last>
where
    W: AsyncWriteExt + Unpin,
{
    let Answer {
        number,
        plan,
        reply,
        sent,
    } = answer;
    pass(&reply, Stand::BeforeHead).await;
    if plan.head.is_empty() && plan.last == Last::Wait {
        return std::future::pending().await;
    }
    // A client may react to the last bytes before this task continues, so everything it may need is recorded first.
    let tell = |state: &State| lock(&state.inner).sent.add(sent.clone());
    let end = |state: &State| {
        state.note(number, |exchange| {
            exchange.end = match plan.status {
                Some(200) => End::Finished(Instant::now()),
                _ => End::Refused(Instant::now()),
            };
        });
    };
    if plan.frames.is_empty() {
        tell(state);
    }
    state.note(number, |exchange| exchange.status = plan.status);
    if plan.last == Last::Complete && !plan.streams {
        end(state);
    }
    writer.write_all(&plan.head).await?;
    pass(&reply, Stand::After(0)).await;
    for (index, frame) in plan.frames.iter().enumerate() {
        if index + 1 == plan.frames.len() {
            tell(state);
        }
        write_paced(writer, frame, &reply).await?;
        state.note(number, |exchange| exchange.frames = index + 1);
        pass(&reply, Stand::After(index + 1)).await;
    }
    if !plan.half.is_empty() {
        writer.write_all(&http::chunk(&plan.half)).await?;
    }
    match plan.last {
        Last::Complete if plan.streams => {
            end(state);
            writer.write_all(http::LAST_CHUNK).await?;
        }
        Last::Complete | Last::Close => {}
        Last::Wait => std::future::pending().await,
    }
    Ok(plan.last)
}

async fn write_paced<W>(writer: &mut W, frame: &[u8], reply: &Reply) -> std::io::Result<()>
where
    W: AsyncWriteExt + Unpin,
{
    let piece = if reply.drip == 0 { frame.len() } else { reply.drip };
    for bytes in frame.chunks(piece.max(1)) {
        if !reply.pace.is_zero() {
            tokio::time::sleep(reply.pace).await;
        }
        writer.write_all(&http::chunk(bytes)).await?;
        // A disconnected client is noticed between two frames, even in a stream that never waits.
        tokio::task::yield_now().await;
    }
    Ok(())
}

async fn pass(reply: &Reply, place: Stand) {
    for gate in &reply.gates {
        gate.pass(place).await;
    }
}

impl State {
    fn new(wire: Wire, behaviour: Behaviour) -> Self {
        let Behaviour { script, rules } = behaviour;
        State {
            wire,
            rules,
            inner: Mutex::new(Inner {
                script,
                cache: Cache::default(),
                sent: Sent::default(),
                answered: 0,
            }),
            record: Mutex::new(Record::default()),
            changed: watch::Sender::new(()),
        }
    }

    fn record(&self) -> MutexGuard<'_, Record> {
        lock(&self.record)
    }

    fn note(&self, number: usize, change: impl FnOnce(&mut Exchange)) {
        if let Some(exchange) = self.record().exchanges.get_mut(number) {
            change(exchange);
        }
        self.changed.send_replace(());
    }

    /// Handles all requests not for the model: the list of models, and other protocols.
    fn other(&self, asked: &http::Asked) -> (u16, String) {
        let path = asked.path.split('?').next().unwrap_or_default();
        if asked.method != "GET" || path != "/v1/models" {
            let envelope = self.envelope(0, "", Billed::default());
            // Only HTTP is supported: a client that requests an upgrade must fall back to it.
            let is_upgrade = asked.headers.iter().any(|(name, _)| name == "upgrade");
            let status = if is_upgrade { 426 } else { 404 };
            let refusal = Refusal::status(status);
            return (status, self.wire.refusal(envelope.dialect, &refusal, path, None));
        }
        if self.record().others.len() < self.rules.loading {
            let error = json!({ "code": 503, "message": "Loading model", "type": "unavailable_error" });
            return (503, json!({ "error": error }).to_string());
        }
        let models = self.rules.models.iter().map(|name| {
            let mut model = match self.wire {
                Wire::Anthropic => {
                    json!({ "type": "model", "id": name, "display_name": name, "created_at": "2025-09-29T00:00:00Z" })
                }
                _ => json!({ "id": name, "object": "model", "created": 1_763_769_600, "owned_by": "system" }),
            };
            if let Some(window) = self.rules.listed_window {
                model["meta"] =
                    json!({ "n_ctx": window, "n_ctx_train": window, "n_embd": 576, "n_params": 134_515_008 });
            }
            model
        });
        let list = json!({ "object": "list", "data": models.collect::<Vec<_>>(), "has_more": false });
        (200, list.to_string())
    }

    fn envelope<'a>(&self, number: usize, model: &'a str, usage: Billed) -> Envelope<'a> {
        Envelope {
            dialect: self.rules.dialect,
            number,
            model,
            usage,
            wants_usage: false,
            wants_sealed: false,
        }
    }

    /// Parses a request, checks it, gets a reply from the script, and records both.
    fn answer(&self, asked: http::Asked) -> Answer {
        // The server's processing time must not count as the client's.
        let arrived = Instant::now();
        // Requests are processed one after the other on this thread. The record stays unlocked for the test.
        let mut inner = lock(&self.inner);
        let request = Request {
            wire: self.wire,
            number: self.record().exchanges.len(),
            answered: inner.answered,
            path: asked.path,
            headers: asked.headers,
            body: asked.body.into(),
            parsed: OnceLock::new(),
        };
        let segments = segments(self.wire, &request.body);
        let chain = chain(&segments);
        let places: Vec<Place> = segments.iter().map(|segment| segment.place).collect();
        let (growth, extends) = self.record().compare(&chain, &places);
        let weight = segments.iter().map(|segment| segment.weight).sum();
        let prompt = tokens(weight, self.rules.factor);
        let head = hash(&chain[..places.iter().take_while(|place| **place <= Place::System).count()]);

        let view = request.view();
        let mut envelope = self.envelope(request.number, &view.model, Billed::default());
        envelope.wants_usage = request.json()["stream_options"]["include_usage"] == true;
        envelope.wants_sealed = request.json()["include"]
            .as_array()
            .is_some_and(|include| include.iter().any(|entry| entry == "reasoning.encrypted_content"));
        let bound = self.rules.binds_thinking.then_some(head);
        let broken = check(&request, &segments, &inner.sent, bound);

        let output = view.max_output.unwrap_or(0);
        let window = self.rules.window;
        let too_long = window.and_then(|window| window.refusal(self.wire, self.rules.dialect, prompt, output));
        let wanted = Wanted {
            wire: self.wire,
            model: &view.model,
            settings: settings(&request),
            segments: &segments,
            chain: &chain,
            factor: self.rules.factor,
        };
        let mut usage = Billed::default();
        let mut sent = Sent::default();
        let mut reply = Reply::new();
        let plan = if let (true, Some(rule)) = (self.rules.checks, broken.first()) {
            Plan::refusal(self.wire, &envelope, &Refusal::status(400), Some(rule))
        } else if let Some(body) = too_long {
            Plan::refusal(self.wire, &envelope, &Refusal::status(400).body(body), None)
        } else {
            match inner.script.next(&request) {
                Err(trouble) => {
                    self.record().troubles.push(trouble.clone());
                    Plan::refusal(self.wire, &envelope, &Refusal::status(400), Some(&trouble))
                }
                Ok(said) => {
                    reply = said;
                    inner.answered += 1;
                    let now = self.rules.clock.now();
                    let look = inner.cache.look(&self.rules.cache, &wanted, now);
                    if !matches!(reply.fault, Some(Fault::Refuse(_) | Fault::Silence | Fault::HangUp)) {
                        inner.cache.keep(&look, now);
                        usage = reply
                            .usage
                            .unwrap_or_else(|| spoken(look.usage, &reply, self.rules.factor));
                    }
                    envelope.usage = usage;
                    if reply.fault.is_none() {
                        sent.note(self.wire, &reply, &envelope, head);
                    }
                    Plan::reply(self.wire, &envelope, &reply, view.streams)
                }
            }
        };
        let plan = match &self.rules.cloud {
            Some(cloud) => cloud.dress(self.wire, plan),
            None => plan,
        };
        let number = request.number;
        self.record().add(Exchange {
            request: request.light(),
            arrived,
            growth,
            extends,
            tokens: prompt,
            usage,
            broken,
            status: None,
            frames: 0,
            end: End::Open,
            chain: chain.into(),
        });
        self.changed.send_replace(());
        Answer {
            number,
            plan,
            reply,
            sent,
        }
    }
}

/// The settings that invalidate cached messages: tool choice, thinking, and whether there are images.
fn settings(request: &Request) -> u64 {
    let json = request.json();
    let mut messages = json["messages"].as_array().into_iter().flatten();
    let pictures = messages.any(|message| holds_picture(&message["content"]));
    hash(&(json["tool_choice"].to_string(), json["thinking"].to_string(), pictures))
}

/// Returns whether a content has an image among its blocks, or in a tool result.
fn holds_picture(content: &Value) -> bool {
    let mut blocks = content.as_array().into_iter().flatten();
    blocks.any(|block| block["type"] == "image" || holds_picture(&block["content"]))
}

/// The bill including the reply's tokens.
fn spoken(prompt: Billed, reply: &Reply, factor: f64) -> Billed {
    let (mut said, mut thought) = (0, 0);
    for part in &reply.parts {
        match part {
            Said::Text(text) => said += text.len(),
            Said::Thinking(text) => thought += text.len(),
            Said::Redacted => thought += super::wire::UNSEEN.len(),
            Said::Own(block) => said += block.to_string().len(),
            Said::Call { tool, arguments, .. } => said += tool.len() + arguments.len(),
        }
    }
    let reasoning = tokens(thought as u64, factor);
    Billed {
        output: tokens(said as u64, factor) + reasoning,
        reasoning,
        ..prompt
    }
}
