//! The gateway between clients and a provider on loopback that does what each test says.

use crate::{client, figures, options, start};
use bytes::Bytes;
use codelet_context::economics::Preset;
use codelet_context::tokens::Tokens;
use codelet_gateway::edit::{Asked, Edit, Edited, Editor, Facts, Settings};
use codelet_gateway::{Gateway, Options, Upstream};
use codelet_network::Network;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

type Body = http_body_util::combinators::UnsyncBoxBody<Bytes, Infallible>;

/// What a provider was asked.
#[derive(Clone, Debug)]
struct Seen {
    path: String,
    headers: http::HeaderMap,
    body: Bytes,
}

/// A provider, and what it was asked so far.
struct Provider {
    address: SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Provider {
    async fn answering(answer: impl Fn(&Seen) -> Response<Body> + Send + Sync + 'static) -> Provider {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let provider = Provider {
            address: listener.local_addr().unwrap(),
            seen: Arc::default(),
        };
        let (seen, answer) = (provider.seen.clone(), Arc::new(answer));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (seen, answer) = (seen.clone(), answer.clone());
                tokio::spawn(async move {
                    let service = hyper::service::service_fn(move |request: Request<Incoming>| {
                        let (seen, answer) = (seen.clone(), answer.clone());
                        async move {
                            let (head, body) = request.into_parts();
                            let asked = Seen {
                                path: head.uri.to_string(),
                                headers: head.headers,
                                body: body.collect().await.unwrap().to_bytes(),
                            };
                            seen.lock().unwrap().push(asked.clone());
                            Ok::<_, Infallible>(answer(&asked))
                        }
                    });
                    let builder = hyper_util::server::conn::auto::Builder::new(TokioExecutor::new());
                    let _ = builder.serve_connection(TokioIo::new(stream), service).await;
                });
            }
        });
        provider
    }

    fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }
}

fn pieces(pieces: Vec<&'static [u8]>) -> Body {
    let frames = pieces
        .into_iter()
        .map(|piece| Ok(Frame::data(Bytes::from_static(piece))));
    StreamBody::new(futures_util::stream::iter(frames)).boxed_unsync()
}

fn editor(window: Tokens) -> Arc<dyn Edit> {
    Arc::new(Editor::new(Settings {
        preset: Preset::Off,
        window: Some(window),
        windows: |_| None,
        offers_recall: true,
    }))
}

async fn gateway(provider: &Provider, editor: Arc<dyn Edit>, token: Option<&str>) -> (String, String) {
    let options = Options {
        token: token.map(str::to_owned),
        ..options(provider.address, editor)
    };
    let (address, recalls) = start(options).await;
    (format!("http://{address}"), recalls)
}

/// A conversation of so many steps of 4 KB.
fn conversation(steps: usize) -> String {
    let mut messages = vec![serde_json::json!({"role": "user", "content": "Find the line that is lost."})];
    for step in 0..steps {
        let id = format!("call_{step}");
        messages.push(serde_json::json!({"role": "assistant", "content": [
            {"type": "tool_use", "id": id, "name": "Read", "input": {"file_path": format!("src/{step}.rs")}}]}));
        let output = format!("let line_{step} = parser.line({step});\n").repeat(100);
        messages.push(serde_json::json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": output}]}));
    }
    serde_json::json!({"model": "claude-opus-4-5", "max_tokens": 1000, "stream": true, "messages": messages})
        .to_string()
}

const EVENTS: [&[u8]; 3] = [
    b"event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":10,\"cache_read_input_tokens\":900,",
    b"\"cache_creation_input_tokens\":90,\"output_tokens\":1}}}\n\n",
    b"event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
];

fn streamed(_: &Seen) -> Response<Body> {
    let answer = Response::builder()
        .header("content-type", "text/event-stream")
        .header("request-id", "req_1");
    answer.body(pieces(EVENTS.to_vec())).unwrap()
}

#[tokio::test]
async fn what_is_no_conversation_passes_byte_for_byte() {
    let provider = Provider::answering(|asked| {
        let answer = Response::builder()
            .status(299)
            .header("content-encoding", "gzip")
            .header("x-odd", "a");
        assert_eq!(asked.path, "/v1/files/f_1/content?after=%2F&x=1");
        answer
            .body(pieces(vec![b"\x1f\x8b\x00\xff", b"", b"\x00tail"]))
            .unwrap()
    })
    .await;
    let (address, _) = gateway(&provider, editor(32_000), None).await;
    let sent = client()
        .put(format!("{address}/v1/files/f_1/content?after=%2F&x=1"))
        .header("x-api-key", "key-of-the-user")
        .header("x-unknown", "kept")
        .body(vec![0_u8, 255, 10, 13])
        .send();
    let answer = sent.await.unwrap();
    assert_eq!(
        (
            answer.status().as_u16(),
            answer.headers()["content-encoding"].as_bytes()
        ),
        (299, &b"gzip"[..])
    );
    assert_eq!(answer.bytes().await.unwrap(), &b"\x1f\x8b\x00\xff\x00tail"[..]);
    let seen = provider.seen();
    assert_eq!(
        (seen[0].body.as_ref(), seen[0].headers["x-unknown"].to_str().unwrap()),
        (&[0_u8, 255, 10, 13][..], "kept")
    );
    assert_eq!(seen[0].headers["x-api-key"], "key-of-the-user");
    assert_eq!(seen[0].headers["host"], provider.address.to_string());
}

#[tokio::test]
async fn a_conversation_that_fits_goes_on_as_it_came_and_its_answer_as_it_comes() {
    let provider = Provider::answering(streamed).await;
    let (address, _) = gateway(&provider, editor(200_000), None).await;
    let body = conversation(3).replace("\"model\"", " \"model\"");
    let url = format!("{address}/v1/messages?beta=true");
    let answer = client()
        .post(url)
        .header("x-api-key", "key-of-the-user")
        .body(body.clone())
        .send();
    let answer = answer.await.unwrap();
    assert_eq!(answer.headers()["request-id"], "req_1");
    assert_eq!(answer.bytes().await.unwrap(), EVENTS.concat());
    assert_eq!(
        (provider.seen()[0].path.as_str(), provider.seen()[0].body.as_ref()),
        ("/v1/messages?beta=true", body.as_bytes())
    );
    let figures = figures(&address, 1).await;
    assert_eq!(
        (&figures["requests"], &figures["usage"]["cache_read"]),
        (&1.into(), &900.into())
    );
    assert!(figures["cost_usd"].as_f64().unwrap() > 0.0);
}

#[tokio::test]
async fn neither_keys_nor_words_are_shown() {
    let provider = Provider::answering(streamed).await;
    let (address, _) = gateway(&provider, editor(200_000), None).await;
    let sent = client()
        .post(format!("{address}/v1/messages"))
        .header("x-api-key", "key-of-the-user");
    sent.body(conversation(3)).send().await.unwrap().bytes().await.unwrap();
    for page in ["/codelet", "/codelet/figures", "/metrics"] {
        let shown = client()
            .get(format!("{address}{page}"))
            .send()
            .await
            .unwrap()
            .text()
            .await
            .unwrap();
        assert!(shown.contains("claude-opus-4-5") || page == "/metrics", "{shown}");
        assert!(
            !shown.contains("key-of-the-user") && !shown.contains("line that is lost"),
            "{shown}"
        );
    }
}

/// An editor that fails in this way, whatever it is asked.
struct Failing<F>(F);

impl<F: Fn() -> Edited + Send + Sync + 'static> Edit for Failing<F> {
    fn edit(&self, _: &Asked, _: &Bytes) -> Edited {
        (self.0)()
    }

    fn edit_refused(&self, _: &Asked, _: &Bytes, _: Option<Tokens>, _: Option<Tokens>) -> Option<Edited> {
        Some((self.0)())
    }

    fn recall(&self, _: &str) -> Vec<String> {
        Vec::new()
    }
}

/// What an editor gives that is none.
fn rubbish(bytes: &'static str) -> Edited {
    Edited {
        body: Some(vec![Bytes::from_static(bytes.as_bytes())]),
        facts: Facts::default(),
    }
}

fn panics() -> Edited {
    panic!("a fault of the editor")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_goes_wrong_in_the_editor_the_original_goes_on() {
    let (over, waits) = std::sync::mpsc::channel::<()>();
    let waits = Mutex::new(waits);
    let hangs = move || {
        // Until the test is over.
        let _ = waits.lock().unwrap().recv();
        rubbish("too late")
    };
    let mut editors: Vec<(&str, Arc<dyn Edit>)> = vec![
        ("internal error in the edit", Arc::new(Failing(panics))),
        ("the edit took longer than ", Arc::new(Failing(hangs))),
    ];
    for bytes in ["", "{}", "{\"messages\":[]}", "{\"messages\":[{\"role\"", "\u{0}\u{1}"] {
        editors.push((
            "the edit did not give a valid request",
            Arc::new(Failing(move || rubbish(bytes))),
        ));
    }
    for (why, editor) in editors {
        let provider = Provider::answering(streamed).await;
        let (address, _) = gateway(&provider, editor, None).await;
        let answer = client()
            .post(format!("{address}/v1/messages"))
            .body(conversation(2))
            .send()
            .await
            .unwrap();
        assert_eq!(answer.bytes().await.unwrap(), EVENTS.concat());
        let seen: Vec<Bytes> = provider.seen().into_iter().map(|seen| seen.body).collect();
        assert_eq!(seen, [conversation(2).as_bytes()], "{why}");
        let told = figures(&address, 1).await;
        let row = &told["last_requests"][0];
        assert!(row["fail_open"].as_str().unwrap().starts_with(why), "{why}: {row}");
        assert_eq!(told["fail_opens"], 1);
        // An editor that came to no end does not keep it out of the bill.
        assert!(
            why.ends_with("valid request") || told["cost_usd"].as_f64() > Some(0.0),
            "{told}"
        );
    }
    drop(over);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_edit_that_nobody_waits_for_any_more_keeps_its_turn() {
    const EDITED: &str = r#"{"messages":[{"role":"user","content":"edited"}]}"#;
    let (over, waits) = std::sync::mpsc::channel::<()>();
    let (waits, begun) = (Mutex::new(waits), Arc::new(AtomicUsize::new(0)));
    let counted = begun.clone();
    let hangs = move || {
        counted.fetch_add(1, Ordering::SeqCst);
        let _ = waits.lock().unwrap().recv();
        rubbish(EDITED)
    };
    let provider = Provider::answering(streamed).await;
    let (address, _) = gateway(&provider, Arc::new(Failing(hangs)), None).await;
    let url = format!("{address}/v1/messages");
    let ask = || client().post(&url).body(conversation(2)).send();
    let turns = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
    for answer in futures_util::future::join_all((0..=turns).map(|_| ask())).await {
        assert_eq!(answer.unwrap().bytes().await.unwrap(), EVENTS.concat());
    }
    assert!(provider.seen().iter().all(|seen| seen.body == conversation(2)));
    assert_eq!(begun.load(Ordering::SeqCst), turns);
    drop(over);
    ask().await.unwrap();
    assert_eq!(provider.seen().last().unwrap().body, EDITED);
}

#[tokio::test]
async fn a_refusal_is_the_answer_where_the_editor_fails_at_making_the_request_smaller() {
    let refusal = "{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"prompt is too long: 50000 tokens > 10000 maximum\"}}";
    for editor in [panics, || rubbish("{}")] {
        let provider = Provider::answering(move |_| {
            let answer = Response::builder().status(400);
            answer.body(pieces(vec![refusal.as_bytes()])).unwrap()
        })
        .await;
        let (address, _) = gateway(&provider, Arc::new(Failing(editor)), None).await;
        let url = format!("{address}/v1/messages");
        let answer = client().post(url).body(conversation(2)).send().await.unwrap();
        assert_eq!(
            (answer.status().as_u16(), answer.text().await.unwrap().as_str()),
            (400, refusal)
        );
        let seen: Vec<Bytes> = provider.seen().into_iter().map(|seen| seen.body).collect();
        assert_eq!(seen, [conversation(2).as_bytes()]);
    }
}

/// Its length is told before, or seen as it comes.
#[tokio::test]
async fn a_request_of_more_than_64_megabytes_goes_on_unread_and_is_told() {
    let provider = Provider::answering(streamed).await;
    let (address, _) = gateway(&provider, editor(32_000), None).await;
    let words = "Find the line that is lost. ".repeat(2_500_000);
    let body = Bytes::from(conversation(2).replace("Find the line that is lost.", &words));
    let parts = [body.slice(..70_000), body.slice(70_000..)].map(Ok::<_, Infallible>);
    let pieces = reqwest::Body::wrap(StreamBody::new(futures_util::stream::iter(
        parts.map(|part| part.map(Frame::data)),
    )));
    for sent in [reqwest::Body::from(body.clone()), pieces] {
        let answer = client().post(format!("{address}/v1/messages")).body(sent).send();
        assert_eq!(answer.await.unwrap().bytes().await.unwrap(), EVENTS.concat());
    }
    let seen = provider.seen();
    assert!(seen.iter().all(|seen| seen.body == body));
    assert_eq!(
        seen.iter()
            .map(|seen| seen.headers.contains_key("content-length"))
            .collect::<Vec<_>>(),
        [true, false]
    );
    let told = figures(&address, 2).await;
    let row = &told["last_requests"][0];
    assert_eq!(
        (&told["fail_opens"], &row["fail_open"], &row["usage"]["cache_read"]),
        (&2.into(), &"the request is longer than 64 MB".into(), &900.into())
    );
}

#[tokio::test]
async fn a_dry_run_tells_of_edits_and_sends_what_came() {
    let provider = Provider::answering(streamed).await;
    let options = Options {
        is_dry_run: true,
        ..options(provider.address, editor(12_000))
    };
    let address = format!("http://{}", start(options).await.0);
    let url = format!("{address}/v1/messages");
    let answer = client().post(url).body(conversation(40)).send().await.unwrap();
    assert_eq!(answer.bytes().await.unwrap(), EVENTS.concat());
    assert_eq!(provider.seen()[0].body, conversation(40).as_bytes());
    let told = figures(&address, 1).await;
    assert!(told["edits"].as_u64() > Some(0), "{told}");
    let row = &told["last_requests"][0];
    assert_eq!(row["tokens_after"], row["tokens_before"], "{row}");
    assert_eq!(told["cost_usd"], told["passing_through_usd"], "{told}");
    let page = client().get(format!("{address}/codelet")).send().await.unwrap();
    assert!(
        page.text()
            .await
            .unwrap()
            .contains("(dry run: no edit was sent; they would have ")
    );
}

#[tokio::test]
async fn the_pages_have_a_head_and_a_proxy_is_not_among_them() {
    let provider = Provider::answering(streamed).await;
    let (address, _) = gateway(&provider, editor(32_000), None).await;
    let host = address.trim_start_matches("http://");
    let stream = TcpStream::connect(host).await.unwrap();
    // A client of HTTP/2 refuses an answer to HEAD that has a body.
    let (mut sender, connection) = hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream))
        .await
        .unwrap();
    tokio::spawn(connection);
    for (page, status) in [
        ("/codelet", 200),
        ("/codelet/figures", 200),
        ("/metrics", 200),
        ("/codelet/x", 404),
    ] {
        let head = client().head(format!("{address}{page}")).send().await.unwrap();
        assert_eq!(head.status(), status, "{page}");
        assert!(head.headers()["content-length"] != "0", "{page}");
        assert_eq!(head.bytes().await.unwrap().len(), 0);
        let request = Request::head(format!("{address}{page}"));
        let answer = sender
            .send_request(request.body(http_body_util::Empty::<Bytes>::new()).unwrap())
            .await
            .unwrap();
        assert_eq!(answer.status(), status, "{page}");
        assert_eq!(
            answer.into_body().collect().await.unwrap().to_bytes().len(),
            0,
            "{page}"
        );
    }
    let mut stream = TcpStream::connect(host).await.unwrap();
    let connect = "CONNECT localhost:80 HTTP/1.1\r\nHost: localhost:80\r\nConnection: close\r\n\r\n";
    stream.write_all(connect.as_bytes()).await.unwrap();
    let mut said = String::new();
    stream.read_to_string(&mut said).await.unwrap();
    assert!(said.starts_with("HTTP/1.1 405") && said.contains("base URL"), "{said}");
    assert_eq!(provider.seen().len(), 0);
}

/// Three megabytes that would take a hundred and more once they are built.
#[tokio::test]
async fn a_request_of_too_many_values_goes_on_unread_and_is_told() {
    let provider = Provider::answering(streamed).await;
    let (address, _) = gateway(&provider, editor(32_000), None).await;
    let blocks = |open: &str| vec![open; 1_000_000].join(",");
    for body in [
        format!(r#"{{"messages":[{}]}}"#, blocks("[]")),
        format!(r#"{{"messages":[{{"role":"user","content":[{}]}}]}}"#, blocks("{}")),
    ] {
        let sent = client().post(format!("{address}/v1/messages")).body(body.clone());
        assert_eq!(sent.send().await.unwrap().bytes().await.unwrap(), EVENTS.concat());
        assert!(provider.seen().last().unwrap().body == body);
    }
    let told = figures(&address, 2).await;
    let why = "the request has more than 500,000 JSON values";
    assert_eq!(
        (&told["fail_opens"], &told["last_requests"][0]["fail_open"]),
        (&2.into(), &why.into())
    );
}

#[tokio::test]
async fn a_request_that_the_provider_finds_too_long_is_made_smaller_and_sent_again_once() {
    let provider = Provider::answering(|asked| {
        if asked.body.len() > 40_000 {
            let words = "{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"prompt is too long: 50000 tokens > 10000 maximum\"}}";
            return Response::builder().status(400).body(http_body_util::Full::from(words).boxed_unsync()).unwrap();
        }
        streamed(asked)
    })
    .await;
    let (address, _) = gateway(&provider, editor(200_000), None).await;
    let url = format!("{address}/v1/messages");
    let answer = client().post(&url).body(conversation(40)).send().await.unwrap();
    assert_eq!(answer.status(), 200);
    let seen = provider.seen();
    assert!(seen.len() == 2 && seen[1].body.len() < 40_000, "{}", seen.len());
    assert!(String::from_utf8_lossy(&seen[1].body).contains("Find the line that is lost."));
    // One that cannot be made smaller comes back as the provider has said it.
    let long = conversation(0).replace("Find the line", &"Find the line ".repeat(5_000));
    let refused = client().post(&url).body(long).send().await.unwrap();
    assert_eq!(refused.status(), 400);
    assert!(refused.text().await.unwrap().contains("50000 tokens > 10000 maximum"));
}

#[tokio::test]
async fn only_this_machine_s_names_and_no_other_site_s_pages_are_answered() {
    let provider = Provider::answering(streamed).await;
    let (address, _) = gateway(&provider, editor(200_000), None).await;
    let host = address.trim_start_matches("http://");
    for (head, status) in [
        (format!("Host: {host}"), 200),
        ("Host: localhost".to_owned(), 200),
        ("Host: evil.example".to_owned(), 403),
        ("Host: 127.0.0.1.evil.example".to_owned(), 403),
        (format!("Host: {host}\r\nOrigin: https://evil.example"), 403),
        (format!("Host: {host}\r\nOrigin: null"), 403),
        (format!("Host: {host}\r\nOrigin: http://localhost:3000"), 200),
        (
            format!("Host: {host}\r\nUpgrade: websocket\r\nConnection: upgrade"),
            426,
        ),
    ] {
        let mut stream = TcpStream::connect(host).await.unwrap();
        let request = format!("GET /v1/models HTTP/1.1\r\n{head}\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut said = String::new();
        stream.read_to_string(&mut said).await.unwrap();
        assert!(said.starts_with(&format!("HTTP/1.1 {status}")), "{head}: {said}");
    }
}

#[tokio::test]
async fn a_token_is_asked_for_and_never_passed_on() {
    let provider = Provider::answering(streamed).await;
    let (address, _) = gateway(&provider, editor(200_000), Some("open-sesame")).await;
    let ask = |path: &str, token: Option<&str>| {
        let request = client().post(format!("{address}{path}")).body(conversation(1));
        let request = token
            .into_iter()
            .fold(request, |request, token| request.header("x-codelet-token", token));
        async { request.send().await.unwrap().status().as_u16() }
    };
    assert_eq!(ask("/v1/messages", None).await, 401);
    assert_eq!(ask("/v1/messages", Some("open-sesam")).await, 401);
    assert_eq!(ask("/t/wrong/v1/messages", None).await, 401);
    assert_eq!(ask("/t/open-sesame/v1/messages", None).await, 200);
    assert_eq!(ask("/t/open-sesame/v1/messages", Some("open-sesame")).await, 200);
    assert_eq!(ask("/v1/messages", Some("open-sesame")).await, 200);
    for seen in provider.seen() {
        assert_eq!(seen.path, "/v1/messages");
        assert!(!format!("{seen:?}").contains("open-sesame"));
    }
    let everywhere = options(provider.address, editor(1_000));
    let bound = Gateway::bind("0.0.0.0:0".parse().unwrap(), everywhere).await;
    assert_eq!(bound.err().unwrap().kind(), std::io::ErrorKind::PermissionDenied);
}

#[tokio::test]
async fn what_was_removed_is_read_back_only_by_who_knows_where() {
    let provider = Provider::answering(streamed).await;
    let (address, recalls) = gateway(&provider, editor(12_000), None).await;
    let answer = client()
        .post(format!("{address}/v1/messages"))
        .body(conversation(40))
        .send()
        .await
        .unwrap();
    assert_eq!(answer.status(), 200);
    let sent = String::from_utf8_lossy(&provider.seen()[0].body).into_owned();
    assert!(sent.len() < conversation(40).len() / 2);
    let (_, rest) = sent.split_once("`codelet recall ").unwrap();
    let handle: String = rest.chars().take_while(char::is_ascii_alphanumeric).collect();
    if handle != "HANDLE" {
        let text = codelet_gateway::recall(&recalls, &handle, None).await.unwrap();
        assert!(text.contains("parser.line("), "{text}");
    }
    assert!(
        codelet_gateway::recall(&recalls, "nothing", None)
            .await
            .unwrap_err()
            .contains("the gateway has no text")
    );
    let elsewhere = format!("{address}/codelet/recall/guess");
    assert!(codelet_gateway::recall(&elsewhere, &handle, None).await.is_err());
}

/// An editor whose conversations have different texts under every handle.
struct TwoTexts;

impl Edit for TwoTexts {
    fn edit(&self, _: &Asked, _: &Bytes) -> Edited {
        rubbish("{}")
    }

    fn edit_refused(&self, _: &Asked, _: &Bytes, _: Option<Tokens>, _: Option<Tokens>) -> Option<Edited> {
        None
    }

    fn recall(&self, _: &str) -> Vec<String> {
        vec!["of one".to_owned(), "of the other".to_owned()]
    }
}

#[tokio::test]
async fn a_handle_with_two_texts_reads_back_neither() {
    let provider = Provider::answering(streamed).await;
    let (_, recalls) = gateway(&provider, Arc::new(TwoTexts), None).await;
    let answer = client().get(format!("{recalls}/k3f9a2")).send().await.unwrap();
    assert_eq!(answer.status(), 409);
    let refused = codelet_gateway::recall(&recalls, "k3f9a2", None).await.unwrap_err();
    assert!(refused.contains("different texts"), "{refused}");
}

#[tokio::test]
async fn what_is_the_gateways_own_never_goes_on_with_its_secret() {
    let provider = Provider::answering(streamed).await;
    let (address, recalls) = gateway(&provider, editor(12_000), None).await;
    let secret = recalls.rsplit('/').next().unwrap();
    let client = client();
    for url in [
        recalls.clone(),
        format!("{recalls}/"),
        format!("{recalls}?x"),
        format!("{recalls}/a/b"),
        format!("{address}/codelet/recall"),
        format!("{address}/codelet/nothing"),
        format!("{address}/v1/codelet/recall/{secret}/k1"),
        format!("{address}/v1/models?from={secret}"),
    ] {
        for method in [reqwest::Method::GET, reqwest::Method::POST, reqwest::Method::HEAD] {
            let answer = client.request(method, &url).send().await.unwrap();
            assert_eq!(answer.status(), 404, "{url}");
        }
    }
    assert_eq!(provider.seen().len(), 0);
}

#[tokio::test]
async fn a_provider_that_cannot_be_reached_is_told_in_words() {
    let provider = Provider::answering(streamed).await;
    let gone = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let nobody = Provider {
        address: gone,
        ..provider
    };
    let (address, _) = gateway(&nobody, editor(200_000), None).await;
    let answer = client()
        .post(format!("{address}/v1/messages"))
        .body(conversation(1))
        .send()
        .await
        .unwrap();
    assert_eq!(answer.status(), 502);
    let said: serde_json::Value = serde_json::from_str(&answer.text().await.unwrap()).unwrap();
    assert!(
        said["error"]["message"]
            .as_str()
            .unwrap()
            .starts_with("the Codelet gateway cannot reach 127.0.0.1"),
        "{said}"
    );
}

#[tokio::test]
async fn nothing_is_asked_outside_of_the_address_of_the_provider() {
    let provider = Provider::answering(streamed).await;
    let named = format!("http://{}/tenant/a", provider.address);
    let named = || Upstream::new(&named, &Network::default()).unwrap();
    let (address, _) = start(Options {
        anthropic: named(),
        openai: named(),
        ..options(provider.address, editor(32_000))
    })
    .await;
    for path in [
        "/v1/../../b/keys", "/%2e%2E/b/keys", "/..%2fb/keys", "/v1/messages/..\\..\\..\\b", "/v1/%252e%252e/keys",
    ] {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut said = String::new();
        stream.read_to_string(&mut said).await.unwrap();
        assert!(said.starts_with("HTTP/1.1 400"), "{path}: {said}");
    }
    assert_eq!(provider.seen().len(), 0);
    let answer = client()
        .get(format!("http://{address}/v1/models/m..2"))
        .send()
        .await
        .unwrap();
    assert_eq!(
        (answer.status().as_u16(), &*provider.seen()[0].path),
        (200, "/tenant/a/v1/models/m..2")
    );
}

/// Without an end to it, a request would go round until no connection is left.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_ring_of_gateways_is_told_to_whoever_asks() {
    let free = || async { TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap() };
    let (first, second) = (free().await, free().await);
    for (here, there) in [(first, second), (second, first)] {
        let gateway = Gateway::bind(here, options(there, editor(32_000))).await.unwrap();
        tokio::spawn(gateway.serve(std::future::pending()));
    }
    for path in ["/v1/messages", "/v1/models"] {
        let request = client().post(format!("http://{first}{path}")).body(conversation(40));
        let answer = tokio::time::timeout(crate::PATIENCE, request.send())
            .await
            .unwrap()
            .unwrap();
        let (status, said) = (answer.status().as_u16(), answer.text().await.unwrap());
        assert!(
            status == 508 && said.contains(&format!("came back to the Codelet gateway at {first}")),
            "{said}"
        );
    }
    assert_eq!(figures(&format!("http://{first}"), 1).await["requests"], 1);
    assert_eq!(figures(&format!("http://{second}"), 1).await["requests"], 1);
}

/// A provider that answers one request, with the frames that it is sent until the sender is dropped.
async fn answering_frame_by_frame() -> (tokio::sync::mpsc::Sender<Result<Frame<Bytes>, Infallible>>, Provider) {
    let (rest, frames) = tokio::sync::mpsc::channel::<Result<Frame<Bytes>, Infallible>>(1);
    let frames = Mutex::new(Some(frames));
    let provider = Provider::answering(move |_| {
        let mut frames = frames.lock().unwrap().take().unwrap();
        let stream = futures_util::stream::poll_fn(move |context| frames.poll_recv(context));
        Response::new(StreamBody::new(stream).boxed_unsync())
    })
    .await;
    (rest, provider)
}

#[tokio::test]
async fn what_was_asked_before_the_end_is_answered_and_nothing_after_it() {
    let (rest, provider) = answering_frame_by_frame().await;
    let options = options(provider.address, editor(32_000));
    let gateway = Gateway::bind("127.0.0.1:0".parse().unwrap(), options).await.unwrap();
    let address = gateway.address();
    let (end, ended) = tokio::sync::oneshot::channel::<()>();
    let serving = tokio::spawn(gateway.serve(async {
        let _ = ended.await;
    }));
    let url = format!("http://{address}/v1/messages");
    let asked = client().post(&url).body(conversation(1)).send();
    let (answer, _) = tokio::join!(asked, rest.send(Ok(Frame::data(Bytes::from_static(b"one ")))));
    let mut answer = answer.unwrap();
    assert_eq!(answer.chunk().await.unwrap().unwrap(), "one ");
    end.send(()).unwrap();
    let refused = async { while TcpStream::connect(address).await.is_ok() {} };
    tokio::time::timeout(crate::PATIENCE, refused).await.unwrap();
    rest.send(Ok(Frame::data(Bytes::from_static(b"two")))).await.unwrap();
    drop(rest);
    assert_eq!(answer.chunk().await.unwrap().unwrap(), "two");
    assert_eq!(answer.chunk().await.unwrap(), None);
    tokio::time::timeout(crate::PATIENCE, serving).await.unwrap().unwrap();
}

#[tokio::test]
async fn gateways_in_a_row_pass_a_request_on() {
    let provider = Provider::answering(streamed).await;
    let (last, _) = start(options(provider.address, editor(32_000))).await;
    let (first, _) = start(options(last, editor(32_000))).await;
    let answer = client()
        .post(format!("http://{first}/v1/messages"))
        .body(conversation(1))
        .send()
        .await
        .unwrap();
    assert_eq!(answer.bytes().await.unwrap(), EVENTS.concat());
}

/// Of three requests there is room for two: the third goes on unread, and one after the answers is read again.
#[tokio::test]
async fn a_request_takes_its_room_until_it_is_answered() {
    let held = Arc::new(tokio::sync::Semaphore::new(0));
    let provider = Provider::answering({
        let held = held.clone();
        move |_| {
            let held = held.clone();
            let frame = async move {
                held.acquire().await.unwrap().forget();
                Ok(Frame::data(Bytes::from_static(b"{}")))
            };
            Response::builder()
                .status(400)
                .body(StreamBody::new(futures_util::stream::once(frame)).boxed_unsync())
                .unwrap()
        }
    })
    .await;
    let options = options(provider.address, editor(200_000));
    let gateway = Gateway::bind("127.0.0.1:0".parse().unwrap(), options).await.unwrap();
    let address = format!("http://{}", gateway.address());
    tokio::spawn(gateway.with_room(1 << 20).serve(std::future::pending()));
    let ask = || {
        let asked = client().post(format!("{address}/v1/messages")).body(conversation(100));
        tokio::spawn(async move { asked.send().await.unwrap().bytes().await.unwrap() })
    };
    let come = |count: usize| {
        let seen = provider.seen.clone();
        let come = async move {
            while seen.lock().unwrap().len() < count {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(crate::PATIENCE, come)
    };
    let mut asked = Vec::new();
    for count in 1..=3 {
        asked.push(ask());
        come(count).await.unwrap();
    }
    held.add_permits(3);
    for answer in asked {
        assert_eq!(answer.await.unwrap(), "{}");
    }
    let told = figures(&address, 3).await;
    assert_eq!(told["fail_opens"], 1, "{told}");
    held.add_permits(1);
    ask().await.unwrap();
    assert_eq!(figures(&address, 4).await["fail_opens"], 1);
}

/// Asks for a page's head through a connection; whether it was answered.
async fn is_answered(connection: &mut TcpStream) -> bool {
    let page = "HEAD /codelet/figures HTTP/1.1\r\nhost: localhost\r\n\r\n";
    let asked = async {
        connection.write_all(page.as_bytes()).await.ok()?;
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(connection.read_u8().await.ok()?);
        }
        Some(head.starts_with(b"HTTP/1.1 200"))
    };
    tokio::time::timeout(crate::PATIENCE, asked).await.unwrap() == Some(true)
}

#[tokio::test]
async fn a_client_for_whom_there_is_no_room_waits_until_a_connection_ends() {
    let (rest, provider) = answering_frame_by_frame().await;
    let options = options(provider.address, editor(32_000));
    let gateway = Gateway::bind("127.0.0.1:0".parse().unwrap(), options).await.unwrap();
    let address = gateway.address();
    tokio::spawn(gateway.holding(2).serve(std::future::pending()));
    let url = format!("http://{address}/v1/messages");
    let asked = client().post(&url).body(conversation(1)).send();
    let (answer, _) = tokio::join!(asked, rest.send(Ok(Frame::data(Bytes::from_static(b"one ")))));
    let mut answer = answer.unwrap();
    assert_eq!(answer.chunk().await.unwrap().unwrap(), "one ");
    let mut second = TcpStream::connect(address).await.unwrap();
    assert!(is_answered(&mut second).await);
    let mut third = TcpStream::connect(address).await.unwrap();
    let mut asked = std::pin::pin!(is_answered(&mut third));
    assert!(futures_util::poll!(asked.as_mut()).is_pending());
    assert!(is_answered(&mut second).await);
    assert!(futures_util::poll!(asked.as_mut()).is_pending());
    drop(second);
    assert!(asked.await);
    rest.send(Ok(Frame::data(Bytes::from_static(b"two")))).await.unwrap();
    drop(rest);
    assert_eq!(answer.chunk().await.unwrap().unwrap(), "two");
    assert_eq!(answer.chunk().await.unwrap(), None);
}
