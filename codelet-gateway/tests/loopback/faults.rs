//! What goes wrong between a client and its provider, one thing after the other: in the edit, upstream, at the client, on the disk.

use crate::{PATIENCE, client, options, start};
use bytes::Bytes;
use codelet_context::tokens::Tokens;
use codelet_gateway::edit::{Asked, Edit, Edited, Facts, Identity};
use codelet_gateway::{Ledger, Options};
use serde_json::Value;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

const REQUEST: &str =
    r#"{"model":"claude-opus-4-5","max_tokens":100,"messages":[{"role":"user","content":"Find the line."}]}"#;
const BILL: &str = "data: {\"type\":\"message_delta\",\"usage\":{\"input_tokens\":90000,\"output_tokens\":5}}\n\n";
const EVENT: &str = "data: {\"type\":\"message_delta\",\"usage\":{\"output_tokens\":5}}\n\n";

/// A provider that answers each request with the same bytes, and what becomes of the connections to it.
struct Raw {
    address: SocketAddr,
    open: Arc<AtomicUsize>,
    asked: Arc<AtomicUsize>,
}

impl Raw {
    /// Closes each connection behind the bytes, or leaves it open.
    async fn start(answer: impl Into<Vec<u8>>, closes: bool) -> Raw {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let raw = Raw {
            address: listener.local_addr().unwrap(),
            open: Arc::default(),
            asked: Arc::default(),
        };
        let (open, asked, answer) = (raw.open.clone(), raw.asked.clone(), answer.into());
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                open.fetch_add(1, Ordering::SeqCst);
                let (open, asked, answer) = (open.clone(), asked.clone(), answer.clone());
                tokio::spawn(async move {
                    let _ = serve(stream, &asked, &answer, closes).await;
                    open.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        raw
    }

    /// Waits until nobody is connected.
    async fn is_left(&self) {
        let left = async {
            while self.open.load(Ordering::SeqCst) > 0 {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(PATIENCE, left).await.unwrap();
    }
}

async fn serve(mut stream: TcpStream, asked: &AtomicUsize, answer: &[u8], closes: bool) -> std::io::Result<()> {
    loop {
        read_request(&mut stream).await?;
        asked.fetch_add(1, Ordering::SeqCst);
        stream.write_all(answer).await?;
        if closes {
            return stream.shutdown().await;
        }
        if !answer.ends_with(b"\r\n0\r\n\r\n") {
            // The stream goes on for ever: until the other side has enough.
            stream.read_u8().await?;
        }
    }
}

/// Reads a request with a length to its end.
async fn read_request(stream: &mut TcpStream) -> std::io::Result<()> {
    let mut bytes = Vec::new();
    loop {
        if stream.read_buf(&mut bytes).await? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        let text = String::from_utf8_lossy(&bytes).to_lowercase();
        let Some((head, _)) = text.split_once("\r\n\r\n") else {
            continue;
        };
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        if bytes.len() >= head.len() + 4 + length.map_or(0, |length| length.parse().unwrap()) {
            return Ok(());
        }
    }
}

/// An answer in chunks, each of them whole.
fn chunked(chunks: &[&str], is_ended: bool) -> String {
    let mut answer =
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n".to_owned();
    for chunk in chunks {
        answer.push_str(&format!("{:x}\r\n{chunk}\r\n", chunk.len()));
    }
    if is_ended {
        answer.push_str("0\r\n\r\n");
    }
    answer
}

/// An editor whose work is a function.
struct By<F>(F);

/// An editor whose edits are the same until it is told to leave a conversation as it is.
#[derive(Default)]
struct Leaves {
    is_left: AtomicBool,
}

impl Edit for Leaves {
    fn edit(&self, _: &Asked, _: &Bytes) -> Edited {
        let edited = Bytes::from_static(br#"{"messages":[{"role":"user","content":"edited"}]}"#);
        let is_left = self.is_left.load(Ordering::SeqCst);
        Edited {
            body: (!is_left).then(|| vec![edited]),
            facts: Facts::default(),
        }
    }

    fn edit_refused(&self, _: &Asked, _: &Bytes, _: Option<Tokens>, _: Option<Tokens>) -> Option<Edited> {
        None
    }

    fn leave(&self, _: &Asked, _: &Bytes) {
        self.is_left.store(true, Ordering::SeqCst);
    }

    fn recall(&self, _: &str) -> Vec<String> {
        Vec::new()
    }
}

impl<F: Fn() -> Option<Vec<Bytes>> + Send + Sync + 'static> Edit for By<F> {
    fn edit(&self, _: &Asked, _: &Bytes) -> Edited {
        Edited {
            body: (self.0)(),
            facts: Facts {
                conversation: Some(Identity {
                    opening: 1,
                    first_reply: 1,
                }),
                model: "claude-opus-4-5".to_owned(),
                window: 200_000,
                before: 100_000,
                after: 10_000,
                ..Facts::default()
            },
        }
    }

    fn edit_refused(&self, _: &Asked, _: &Bytes, _: Option<Tokens>, _: Option<Tokens>) -> Option<Edited> {
        None
    }

    fn recall(&self, _: &str) -> Vec<String> {
        Vec::new()
    }
}

fn nothing() -> Arc<dyn Edit> {
    Arc::new(By(|| None))
}

async fn gateway(upstream: SocketAddr, editor: Arc<dyn Edit>, ledger: Option<std::fs::File>) -> SocketAddr {
    let options = Options {
        ledger: Ledger::new(ledger),
        ..options(upstream, editor)
    };
    start(options).await.0
}

fn ask(client: &reqwest::Client, gateway: SocketAddr) -> reqwest::RequestBuilder {
    client.post(format!("http://{gateway}/v1/messages")).body(REQUEST)
}

async fn figures(gateway: SocketAddr, requests: u64) -> Value {
    crate::figures(&format!("http://{gateway}"), requests).await
}

#[tokio::test]
async fn an_upstream_that_breaks_is_an_answer_that_breaks_and_a_row_in_the_books() {
    let lying = format!("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 5000\r\n\r\n{EVENT}");
    let bad_chunk = chunked(&[EVENT], false) + "zz\r\nrubbish\r\n";
    for (name, answer) in [
        ("a stream that breaks off", chunked(&[EVENT], false)),
        ("a chunk that is none", bad_chunk),
        ("a length that is not kept", lying),
    ] {
        let raw = Raw::start(answer, true).await;
        let gateway = gateway(raw.address, nothing(), None).await;
        let mut answer = ask(&client(), gateway).send().await.unwrap();
        assert_eq!(answer.chunk().await.unwrap().unwrap(), EVENT, "{name}");
        assert!(answer.chunk().await.is_err(), "{name} looked like an end");
        let told = figures(gateway, 1).await;
        assert_eq!(
            (
                &told["last_requests"][0]["status"],
                &told["last_requests"][0]["usage"]["output"]
            ),
            (&200.into(), &5.into()),
            "{name}: {told}"
        );
        raw.is_left().await;
    }
}

#[tokio::test]
async fn an_upstream_without_a_head_is_told_in_words() {
    for answer in ["", "HTTP/1.1 200 OK\r\ncontent-ty", "This is no HTTP.\r\n\r\n"] {
        let raw = Raw::start(answer, true).await;
        let gateway = gateway(raw.address, nothing(), None).await;
        let answer = ask(&client(), gateway).send().await.unwrap();
        assert_eq!(answer.status(), 502);
        assert!(
            answer
                .text()
                .await
                .unwrap()
                .contains(&format!("the Codelet gateway got no answer from {}: ", raw.address))
        );
        assert_eq!(figures(gateway, 1).await["last_requests"][0]["status"], Value::Null);
    }
}

#[tokio::test]
async fn an_answer_that_is_broken_from_its_first_byte_on_is_told_in_words() {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n";
    for rest in [
        "transfer-encoding: chunked\r\n\r\nzz\r\nrubbish\r\n",
        "transfer-encoding: chunked\r\n\r\n",
        "content-length: 5000\r\n\r\n",
    ] {
        let raw = Raw::start(format!("{head}{rest}"), true).await;
        let gateway = gateway(raw.address, nothing(), None).await;
        for path in ["messages", "files"] {
            let asked = client().post(format!("http://{gateway}/v1/{path}")).body(REQUEST);
            let answer = asked.send().await.unwrap();
            assert_eq!(answer.status(), 502, "{rest}");
            let told: Value = serde_json::from_str(&answer.text().await.unwrap()).unwrap();
            let words = format!("the Codelet gateway got a broken answer from {}: ", raw.address);
            // Anthropic's libraries read the outer type, all read the message.
            assert_eq!(told["type"], "error");
            assert!(told["error"]["message"].as_str().unwrap().starts_with(&words), "{told}");
        }
        assert_eq!(figures(gateway, 1).await["last_requests"][0]["status"], Value::Null);
    }
}

#[tokio::test]
async fn a_head_whose_body_is_late_comes_before_it() {
    let raw = Raw::start(chunked(&[], false), false).await;
    let gateway = gateway(raw.address, nothing(), None).await;
    let asked = ask(&client(), gateway).send();
    let answer = tokio::time::timeout(PATIENCE, asked).await.unwrap().unwrap();
    assert_eq!(answer.status(), 200);
}

#[tokio::test]
async fn a_refusal_comes_back_as_the_provider_has_said_it() {
    let body = r#"{"type":"error","error":{"type":"rate_limit_error","message":"later"}}"#;
    for (status, header) in [
        ("429 Too Many Requests", "retry-after: 7"),
        ("529 Overloaded", "x-should-retry: true"),
    ] {
        let answer = format!(
            "HTTP/1.1 {status}\r\n{header}\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        let raw = Raw::start(answer, true).await;
        let gateway = gateway(raw.address, nothing(), None).await;
        let answer = ask(&client(), gateway).send().await.unwrap();
        assert!(status.starts_with(answer.status().as_str()));
        let (name, value) = header.split_once(": ").unwrap();
        assert_eq!(answer.headers()[name], value);
        assert_eq!(answer.text().await.unwrap(), body);
        assert_eq!(raw.asked.load(Ordering::SeqCst), 1);
    }
}

/// A provider that takes the request as it came, and refuses any other. Returns its address, and how often it was asked and
/// has refused.
async fn refuses_edits() -> (SocketAddr, Arc<[AtomicUsize; 2]>) {
    let counts: Arc<[AtomicUsize; 2]> = Arc::default();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let upstream = listener.local_addr().unwrap();
    let counted = counts.clone();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let counts = counted.clone();
            tokio::spawn(async move {
                let [asked, refused] = &*counts;
                let mut bytes = vec![0; 4_096];
                loop {
                    let count = stream.read(&mut bytes).await.unwrap_or(0);
                    if count == 0 {
                        return;
                    }
                    asked.fetch_add(1, Ordering::SeqCst);
                    let answer = match String::from_utf8_lossy(&bytes[..count]).contains("Find the line.") {
                        true => chunked(&[BILL], true),
                        false => {
                            refused.fetch_add(1, Ordering::SeqCst);
                            "HTTP/1.1 400 Bad Request\r\ncontent-length: 9\r\n\r\nnot valid".to_owned()
                        }
                    };
                    let _ = stream.write_all(answer.as_bytes()).await;
                }
            });
        }
    });
    (upstream, counts)
}

#[tokio::test]
async fn an_edit_that_the_provider_refuses_is_taken_back() {
    let (upstream, _) = refuses_edits().await;
    let edited = r#"{"messages":[{"role":"user","content":"edited"}]}"#;
    let editor = By(move || Some(vec![Bytes::from_static(edited.as_bytes())]));
    let gateway = gateway(upstream, Arc::new(editor), None).await;
    let answer = ask(&client(), gateway).send().await.unwrap();
    assert_eq!(answer.text().await.unwrap(), BILL);
    let told = figures(gateway, 1).await;
    assert_eq!(
        told["last_requests"][0]["fail_open"],
        "the provider refused the edited request"
    );
    // What was not sent has saved nothing.
    assert!(told["cost_usd"].as_f64() > Some(0.0), "{told}");
    assert_eq!(told["cost_usd"], told["passing_through_usd"], "{told}");
}

#[tokio::test]
async fn what_the_provider_takes_neither_edited_nor_as_it_came_is_refused_in_its_first_words_and_tried_once() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let upstream = listener.local_addr().unwrap();
    let asked = Arc::new(AtomicUsize::new(0));
    let count = asked.clone();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let count = count.clone();
            tokio::spawn(async move {
                let mut bytes = vec![0; 4_096];
                loop {
                    let read = stream.read(&mut bytes).await.unwrap_or(0);
                    if read == 0 {
                        return;
                    }
                    count.fetch_add(1, Ordering::SeqCst);
                    let words = match String::from_utf8_lossy(&bytes[..read]).contains("Find the line.") {
                        true => "prompt is too long: 260000 tokens > 200000 maximum",
                        false => "temperature: range: 0..1",
                    };
                    let answer = format!(
                        "HTTP/1.1 400 Bad Request\r\ncontent-length: {}\r\n\r\n{words}",
                        words.len()
                    );
                    let _ = stream.write_all(answer.as_bytes()).await;
                }
            });
        }
    });
    let edited = r#"{"messages":[{"role":"user","content":"edited"}]}"#;
    let editor = By(move || Some(vec![Bytes::from_static(edited.as_bytes())]));
    let gateway = gateway(upstream, Arc::new(editor), None).await;
    for (request, in_all) in [(1, 2), (2, 3), (3, 4)] {
        let answer = ask(&client(), gateway).send().await.unwrap();
        assert_eq!(answer.status(), 400);
        assert_eq!(answer.text().await.unwrap(), "temperature: range: 0..1");
        assert_eq!(asked.load(Ordering::SeqCst), in_all);
        let told = figures(gateway, request).await;
        assert_eq!(
            (&told["sent_again"], &told["fail_opens"]),
            (&1.into(), &0.into()),
            "{told}"
        );
    }
}

#[tokio::test]
async fn after_an_edit_that_only_was_refused_the_conversation_is_asked_once() {
    let (upstream, counts) = refuses_edits().await;
    let gateway = gateway(upstream, Arc::new(Leaves::default()), None).await;
    for _ in 0..3 {
        let answer = ask(&client(), gateway).send().await.unwrap();
        assert_eq!(answer.text().await.unwrap(), BILL);
    }
    let counts = counts.each_ref().map(|count| count.load(Ordering::SeqCst));
    assert_eq!(counts, [4, 1]);
}

#[tokio::test]
async fn a_request_that_the_provider_refuses_edited_or_not_is_no_fault_of_the_edit() {
    let refusal = "HTTP/1.1 400 Bad Request\r\ncontent-length: 13\r\n\r\nno such model";
    let raw = Raw::start(refusal, false).await;
    let editor = By(|| Some(vec![Bytes::from_static(REQUEST.as_bytes())]));
    let gateway = gateway(raw.address, Arc::new(editor), None).await;
    let answer = ask(&client(), gateway).send().await.unwrap();
    assert_eq!(answer.text().await.unwrap(), "no such model");
    let told = figures(gateway, 1).await;
    assert_eq!(raw.asked.load(Ordering::SeqCst), 2);
    assert_eq!(told["last_requests"][0]["fail_open"], Value::Null, "{told}");
    assert_eq!(
        (&told["last_requests"][0]["status"], &told["fail_opens"]),
        (&400.into(), &0.into()),
        "{told}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_leaves_before_the_head_ends_the_request_and_is_in_the_books() {
    let raw = Raw::start("", false).await;
    let gateway = gateway(raw.address, nothing(), None).await;
    let mut stream = TcpStream::connect(gateway).await.unwrap();
    let head = format!(
        "POST /v1/messages HTTP/1.1\r\nhost: {gateway}\r\ncontent-length: {}\r\n\r\n{REQUEST}",
        REQUEST.len()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let asked = async {
        while raw.asked.load(Ordering::SeqCst) == 0 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, asked).await.unwrap();
    drop(stream);
    let told = figures(gateway, 1).await;
    assert_eq!(told["last_requests"][0]["status"], Value::Null);
    raw.is_left().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_cancelled_streams_leave_no_connection() {
    let raw = Raw::start(chunked(&[EVENT], false), false).await;
    let gateway = gateway(raw.address, nothing(), None).await;
    let client = client();
    for _ in 0..1_000 {
        let mut answer = ask(&client, gateway).send().await.unwrap();
        assert_eq!(answer.chunk().await.unwrap().unwrap(), EVENT);
    }
    drop(client);
    raw.is_left().await;
    assert_eq!(figures(gateway, 1_000).await["requests"], 1_000);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slow_clients_do_not_hold_others() {
    let raw = Raw::start(chunked(&[EVENT], true), false).await;
    let gateway = gateway(raw.address, nothing(), None).await;
    // Each announces a long body and sends a few bytes of it: together more than is ever read at once, and one a megabyte of that.
    let mut slow = Vec::new();
    for _ in 0..300 {
        let mut stream = TcpStream::connect(gateway).await.unwrap();
        let head = format!("POST /v1/messages HTTP/1.1\r\nhost: {gateway}\r\ncontent-length: 60000000\r\n\r\n{{");
        stream.write_all(head.as_bytes()).await.unwrap();
        slow.push(stream);
    }
    // And one asks again and again, and reads no answer.
    let mut deaf = TcpStream::connect(gateway).await.unwrap();
    let head = format!("GET /codelet HTTP/1.1\r\nhost: {gateway}\r\n\r\n").repeat(100);
    let _ = tokio::time::timeout(Duration::from_millis(200), deaf.write_all(head.as_bytes())).await;
    let began = Instant::now();
    let client = client();
    for _ in 0..50 {
        let answer = ask(&client, gateway).send().await.unwrap();
        assert_eq!(answer.text().await.unwrap(), EVENT);
    }
    assert!(began.elapsed() < PATIENCE / 3, "{:?}", began.elapsed());
    assert_eq!(figures(gateway, 50).await["fail_opens"], 0);
    drop((slow, deaf));
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_full_disk_costs_lines_of_the_ledger_and_no_request() {
    let raw = Raw::start(chunked(&[EVENT], true), false).await;
    let full = std::fs::OpenOptions::new().append(true).open("/dev/full").unwrap();
    let gateway = gateway(raw.address, nothing(), Some(full)).await;
    let client = client();
    for _ in 0..3 {
        let answer = ask(&client, gateway).send().await.unwrap();
        assert_eq!(answer.text().await.unwrap(), EVENT);
    }
    // They are counted once the disk has refused them.
    let counted = async { while figures(gateway, 3).await["unwritten"] != 3 {} };
    tokio::time::timeout(PATIENCE, counted).await.unwrap();
}

/// An answer of the gateway to a conversation, to its end or as far as it comes in this time.
async fn raw_answer(gateway: SocketAddr, patience: Duration) -> String {
    let mut stream = TcpStream::connect(gateway).await.unwrap();
    let request = format!(
        "POST /v1/messages HTTP/1.1\r\nhost: {gateway}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{REQUEST}",
        REQUEST.len()
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    let _ = tokio::time::timeout(patience, stream.read_to_end(&mut answer)).await;
    String::from_utf8_lossy(&answer).into_owned()
}

#[tokio::test]
async fn a_refusal_comes_in_time_whole_and_broken_off_where_it_breaks_off() {
    let refusal = |chunks: &[&str], is_ended| chunked(chunks, is_ended).replace("200 OK", "400 Bad Request");
    // Its length is not told, so what is missing can be seen by the end that does not come.
    let broken = Raw::start(refusal(&["hello"], false), true).await;
    let answer = raw_answer(gateway(broken.address, nothing(), None).await, PATIENCE).await;
    assert!(
        answer.starts_with("HTTP/1.1 400") && answer.contains("hello"),
        "{answer}"
    );
    assert!(
        !answer.contains("content-length") && !answer.ends_with("0\r\n\r\n"),
        "{answer}"
    );
    let long = "a".repeat(1_000_000);
    let whole = Raw::start(refusal(&[long.as_str(); 3], true), false).await;
    let answer = raw_answer(gateway(whole.address, nothing(), None).await, PATIENCE).await;
    assert_eq!(answer.bytes().filter(|byte| *byte == b'a').count() / 1_000_000, 3);
    assert!(answer.ends_with("0\r\n\r\n"));
    // One that does not end is there as far as it has come.
    let endless = Raw::start(refusal(&["hello"], false), false).await;
    let gateway = gateway(endless.address, nothing(), None).await;
    let mut answer = String::new();
    let came = async {
        while !answer.contains("hello") {
            answer = raw_answer(gateway, Duration::from_secs(3)).await;
        }
    };
    tokio::time::timeout(PATIENCE, came).await.unwrap();
}

#[tokio::test]
async fn trailers_go_on_with_what_passes_through() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let upstream = listener.local_addr().unwrap();
    let seen = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut bytes = Vec::new();
        while !bytes.windows(5).any(|five| five == b"\r\n0\r\n") || !bytes.ends_with(b"\r\n\r\n") {
            assert!(stream.read_buf(&mut bytes).await.unwrap() > 0);
        }
        let answer = "HTTP/1.1 200 OK\r\ntrailer: x-end\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nx-end: there\r\n\r\n";
        stream.write_all(answer.as_bytes()).await.unwrap();
        String::from_utf8_lossy(&bytes).into_owned()
    });
    let gateway = gateway(upstream, nothing(), None).await;
    let mut stream = TcpStream::connect(gateway).await.unwrap();
    let request = format!(
        "PUT /v1/files HTTP/1.1\r\nhost: {gateway}\r\nte: trailers\r\ntrailer: x-sum\r\ntransfer-encoding: chunked\r\n\r\n\
         3\r\nabc\r\n0\r\nx-sum: 42\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\n") || !answer.windows(3).any(|three| three == b"\n0\r") {
        assert!(stream.read_buf(&mut answer).await.unwrap() > 0);
    }
    let (seen, answer) = (seen.await.unwrap(), String::from_utf8_lossy(&answer).into_owned());
    assert!(seen.ends_with("0\r\nx-sum: 42\r\n\r\n"), "{seen}");
    assert!(answer.ends_with("0\r\nx-end: there\r\n\r\n"), "{answer}");
}

#[tokio::test]
async fn an_answer_in_pieces_comes_whole_whatever_length_it_claims() {
    let answer =
        "HTTP/1.1 200 OK\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\n9\r\nthe whole\r\n0\r\n\r\n";
    let provider = Raw::start(answer, false).await;
    let gateway = gateway(provider.address, nothing(), None).await;
    for path in ["messages", "files"] {
        let asked = client().post(format!("http://{gateway}/v1/{path}")).body(REQUEST);
        let answer = tokio::time::timeout(PATIENCE, asked.send()).await.unwrap().unwrap();
        assert_eq!(answer.text().await.unwrap(), "the whole", "{path}");
    }
}

#[tokio::test]
async fn who_is_still_sending_reads_the_answer_that_came_before_the_end() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let hasty = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut head = Vec::new();
            while !head.windows(4).any(|four| four == b"\r\n\r\n") {
                stream.read_buf(&mut head).await.unwrap();
            }
            let answer = "HTTP/1.1 401 Unauthorized\r\nconnection: close\r\ncontent-length: 6\r\n\r\nno key";
            stream.write_all(answer.as_bytes()).await.unwrap();
            // Who closed with something unread would take its answer back.
            let _ = tokio::io::copy(&mut stream, &mut tokio::io::sink()).await;
        }
    });
    let nobody = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    // A file, a conversation, and one that is too long to be read.
    let conversation = |bytes| REQUEST.replace("Find", &"a".repeat(bytes));
    for (path, body) in [
        ("files", "a".repeat(16 << 20)),
        ("messages", conversation(16 << 20)),
        ("messages", conversation(65 << 20)),
    ] {
        for (upstream, words) in [(hasty, "no key"), (nobody, "cannot reach")] {
            let gateway = gateway(upstream, nothing(), None).await;
            let mut stream = TcpStream::connect(gateway).await.unwrap();
            let head = format!(
                "POST /v1/{path} HTTP/1.1\r\nhost: {gateway}\r\nconnection: close\r\ncontent-type: application/json\r\n\
                 content-length: {}\r\n\r\n",
                body.len()
            );
            stream.write_all(head.as_bytes()).await.unwrap();
            // It looks at the answer only when it has sent everything.
            stream.write_all(body.as_bytes()).await.unwrap();
            let mut answer = String::new();
            let read = stream.read_to_string(&mut answer);
            tokio::time::timeout(PATIENCE, read).await.unwrap().unwrap();
            assert!(answer.contains(words), "{path}, {} bytes: {answer}", body.len());
        }
    }
}
