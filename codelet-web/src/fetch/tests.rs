#![allow(clippy::unwrap_used)]

use super::*;
use crate::tool::WebFetch;
use codelet_agent::interrupt::Interrupt;
use codelet_agent::tool::{Call, Live, Need, Output, Tool};
use codelet_context::conversation::Conversation;
use codelet_context::message::Parameters;
use codelet_context::policy::CompactionConfig;
use codelet_network::Network;
use serde_json::json;
use std::sync::Mutex;
use std::time::Instant;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// A server on loopback that answers each path in its own way, with the requests that it received.
struct Hostile {
    port: u16,
    heard: Arc<Mutex<Vec<String>>>,
}

impl Hostile {
    async fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let heard: Arc<Mutex<Vec<String>>> = Arc::default();
        let hears = Arc::clone(&heard);
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let hears = Arc::clone(&hears);
                tokio::spawn(async move {
                    let mut head = Vec::new();
                    while !head.ends_with(b"\r\n\r\n") {
                        let Ok(byte) = stream.read_u8().await else { return };
                        head.push(byte);
                    }
                    let head = String::from_utf8(head).unwrap();
                    let path = head.split(' ').nth(1).unwrap().to_owned();
                    hears.lock().unwrap().push(head);
                    // The client closes the connection once it has enough.
                    let _ = answer(&mut stream, &path).await;
                });
            }
        });
        Hostile { port, heard }
    }

    fn heard(&self) -> Vec<String> {
        self.heard.lock().unwrap().clone()
    }

    fn at(&self, host: &str, path: &str) -> String {
        format!("http://{host}:{}{path}", self.port)
    }
}

async fn answer(stream: &mut TcpStream, path: &str) -> io::Result<()> {
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let whole = |headers: &str, body: &[u8]| {
        let head = format!("HTTP/1.1 200 OK\r\n{headers}Content-Length: {}\r\n\r\n", body.len());
        [head.as_bytes(), body].concat()
    };
    match path {
        "/to" => {
            let head = format!("HTTP/1.1 302 Found\r\nLocation: {query}\r\nContent-Length: 0\r\n\r\n");
            stream.write_all(head.as_bytes()).await
        }
        "/loop" => {
            let head = "HTTP/1.1 307 Again\r\nLocation: /loop\r\nContent-Length: 0\r\n\r\n";
            stream.write_all(head.as_bytes()).await
        }
        "/endless" => {
            stream
                .write_all(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n")
                .await?;
            loop {
                stream.write_all(&[b'a'; 4096]).await?;
            }
        }
        "/slow" => {
            stream
                .write_all(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n")
                .await?;
            loop {
                stream.write_all(b"a").await?;
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
        "/flood" => {
            stream.write_all(b"HTTP/1.1 200 OK\r\n").await?;
            loop {
                stream.write_all(b"X-More: and more of it\r\n").await?;
            }
        }
        "/full" => {
            let body = vec![b'a'; MOST];
            stream
                .write_all(&whole(
                    "Content-Type: text/plain\r\nContent-Encoding: identity\r\n",
                    &body,
                ))
                .await
        }
        "/packed" => stream.write_all(&whole("Content-Encoding: gzip\r\n", b"abc")).await,
        "/cut" => {
            stream
                .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort")
                .await
        }
        "/nonsense" => stream.write_all(b"\0\x01\x02 hello\r\n\r\n").await,
        "/cookie" => {
            stream
                .write_all(&whole("Set-Cookie: a=b\r\nContent-Type: text/plain\r\n", b"a cookie"))
                .await
        }
        _ => {
            stream
                .write_all(&whole("Content-Type: text/html\r\n", b"<h1>Here</h1><p>it is."))
                .await
        }
    }
}

/// Resolves every name to these addresses, at the server's port, and counts the lookups.
fn lookup(found: &'static [&'static str], count: &Arc<Mutex<usize>>) -> Lookup {
    let count = Arc::clone(count);
    Arc::new(move |_, port| {
        let mut count = count.lock().unwrap();
        // A second lookup returns another address.
        let found: &[&str] = if *count == 0 { found } else { &["169.254.169.254"] };
        *count += 1;
        let addresses = found
            .iter()
            .map(|address| SocketAddr::new(address.parse().unwrap(), port));
        let addresses: Vec<SocketAddr> = addresses.collect();
        Box::pin(async move { Ok(addresses) })
    })
}

/// Longer than any fetch takes, however busy the machine is.
const LONG: Duration = Duration::from_secs(60);

struct Fetching {
    time: Duration,
    private: &'static [&'static str],
    found: &'static [&'static str],
    asked: Arc<Mutex<usize>>,
}

impl Fetching {
    /// Permits this server by its address and by one name.
    fn permitted() -> Self {
        Fetching {
            time: LONG,
            private: &["127.0.0.1", "docs.test"],
            found: &["127.0.0.1"],
            asked: Arc::default(),
        }
    }

    fn tool(&self) -> WebFetch {
        let mut options = Options::new(Network::default());
        options.private = self.private.iter().map(|&host| host.to_owned()).collect();
        options.time = self.time;
        options.holds_secret = Arc::new(|text| text.contains("sk-secret"));
        WebFetch::new(options, lookup(self.found, &self.asked))
    }

    async fn fetch(&self, url: &str) -> Output {
        self.until(url, Interrupt::new()).await
    }

    async fn until(&self, url: &str, interrupt: Interrupt) -> Output {
        let parameters = Parameters::new(json!({"url": url}).as_object().unwrap().clone());
        let call = Call {
            lent: None,
            parameters: &parameters,
            permitted: &[],
            conversation: &Conversation::new(CompactionConfig::new(100_000), 0),
            live: Live::none(),
            interrupt,
        };
        self.tool().call(call).await
    }

    /// The output of a fetch that fails.
    async fn refused(&self, url: &str) -> String {
        let output = self.fetch(url).await;
        assert!(!output.success, "{url}: {}", output.text.as_str());
        output.text.as_str().to_owned()
    }
}

#[tokio::test]
async fn a_page_is_asked_for_once_without_cookies_or_where_it_was_found() {
    let server = Hostile::new().await;
    let fetching = Fetching::permitted();
    fetching.fetch(&server.at("127.0.0.1", "/cookie")).await;
    let output = fetching.fetch(&server.at("127.0.0.1", "/to?/page#x")).await;
    assert!(output.success);
    assert!(output.text.as_str().contains("[redirected from http://127.0.0.1:"));
    assert!(
        output.text.as_str().ends_with("\n\n# Here\n\nit is.\n"),
        "{}",
        output.text.as_str()
    );
    let heard = server.heard();
    assert_eq!(heard.len(), 3);
    for head in heard {
        let head = head.to_ascii_lowercase();
        assert!(
            head.starts_with("get /") && head.contains("user-agent: codelet/"),
            "{head}"
        );
        for no in ["cookie:", "referer:", "authorization:", "#x"] {
            assert!(!head.contains(no), "{head}");
        }
    }
}

#[tokio::test]
async fn a_name_is_looked_up_once_and_connected_to_where_it_was_judged() {
    let server = Hostile::new().await;
    let fetching = Fetching::permitted();
    let output = fetching.fetch(&server.at("docs.test", "/page")).await;
    assert!(output.success, "{}", output.text.as_str());
    assert_eq!(*fetching.asked.lock().unwrap(), 1);
    assert!(
        server.heard()[0]
            .to_ascii_lowercase()
            .contains(&format!("host: docs.test:{}", server.port))
    );
}

#[tokio::test]
async fn no_name_and_no_spelling_leads_to_an_address_that_is_closed() {
    let server = Hostile::new().await;
    for (private, found, host) in [
        (&[][..], &["127.0.0.1"][..], "evil.test"),
        (&[], &["::ffff:127.0.0.1"], "evil.test"),
        (&[], &["93.184.215.14", "127.0.0.1"], "evil.test"),
        (&["docs.test"], &["127.0.0.1"], "evil.test"),
        (&["docs.test:1"], &["127.0.0.1"], "docs.test"),
        (&["docs.test"], &["169.254.169.254"], "docs.test"),
        (&["*"], &["127.0.0.1", "fe80::1"], "docs.test"),
        (&["*"], &["::ffff:169.254.169.254"], "docs.test"),
        (&["*"], &["fd00:ec2::254"], "docs.test"),
        (&["*"], &[], "0.0.0.0"),
        (&["*"], &[], "2852039166"),
        (&[], &[], "127.0.0.1"),
        (&[], &[], "0x7f000001"),
        (&[], &[], "127.1"),
        (&[], &[], "[::ffff:7f00:1]"),
        (&[], &[], "[::1]"),
    ] {
        let fetching = Fetching {
            time: LONG,
            private,
            found,
            asked: Arc::default(),
        };
        let why = fetching.refused(&server.at(host, "/page")).await;
        assert!(
            why.contains("is not fetched unless") || why.contains("is never fetched"),
            "{host}: {why}"
        );
    }
    assert_eq!(server.heard(), Vec::<String>::new());
}

#[tokio::test]
async fn a_redirect_is_followed_on_its_host_and_told_elsewhere() {
    let server = Hostile::new().await;
    let fetching = Fetching::permitted();
    for to in [
        "http://docs.test/page",
        "//other.test/page",
        "http://127.0.0.1:1/page",
        "http://169.254.169.254/latest/meta-data/",
        "http://localhost/",
    ] {
        let why = fetching.refused(&server.at("127.0.0.1", &format!("/to?{to}"))).await;
        assert!(
            why.contains("redirects (302 Found) to another host, which was sent nothing"),
            "{why}"
        );
    }
    for to in [
        "file:///etc/passwd", "http://ada:secret@127.0.0.1/", "gopher://127.0.0.1/", "http://",
    ] {
        let why = fetching.refused(&server.at("127.0.0.1", &format!("/to?{to}"))).await;
        assert!(
            why.contains("redirects to an address that is not fetched"),
            "{to}: {why}"
        );
    }
    let before = server.heard().len();
    let why = fetching.refused(&server.at("127.0.0.1", "/loop")).await;
    assert!(why.contains("redirects more than 5 times"), "{why}");
    assert_eq!(server.heard().len() - before, 6);
}

#[tokio::test]
async fn a_redirect_on_a_host_whose_name_has_moved_meanwhile_is_judged_anew() {
    let server = Hostile::new().await;
    let fetching = Fetching::permitted();
    let why = fetching.refused(&server.at("docs.test", "/to?/page")).await;
    assert!(why.contains("169.254.169.254") && why.contains("never"), "{why}");
    assert_eq!((server.heard().len(), *fetching.asked.lock().unwrap()), (1, 2));
}

#[tokio::test]
async fn what_never_ends_is_cut_by_bytes_or_by_time() {
    let server = Hostile::new().await;
    let fetching = Fetching::permitted();
    let output = fetching.fetch(&server.at("127.0.0.1", "/endless")).await;
    let text = output.text.as_str();
    assert!(output.success && text.ends_with("[the rest was not read: the limit is 5 MB]\n"));
    assert!(text.len() < MOST + 1000);
    let remarks = &text[text.len() - output.remarks..];
    assert_eq!(remarks, "[the rest was not read: the limit is 5 MB]\n");
    let output = fetching.fetch(&server.at("127.0.0.1", "/full")).await;
    assert!(output.success && output.text.len() >= MOST && output.remarks == 0);
    let began = Instant::now();
    let hasty = Fetching {
        time: Duration::from_secs(2),
        ..Fetching::permitted()
    };
    let why = hasty.refused(&server.at("127.0.0.1", "/slow")).await;
    assert!(why.contains("did not answer in whole within 2 s"), "{why}");
    assert!(began.elapsed() < Duration::from_secs(20));
    fetching.refused(&server.at("127.0.0.1", "/flood")).await;
    fetching.refused(&server.at("127.0.0.1", "/nonsense")).await;
    let why = fetching.refused(&server.at("127.0.0.1", "/packed")).await;
    assert!(why.contains("Content-Encoding"), "{why}");
    let cut = fetching.fetch(&server.at("127.0.0.1", "/cut")).await;
    assert!(
        cut.text
            .as_str()
            .ends_with("short\n[the rest did not come: the connection broke off]\n")
    );
}

#[tokio::test]
async fn an_interruption_ends_it_at_once() {
    let server = Hostile::new().await;
    let fetching = Fetching::permitted();
    let interrupt = Interrupt::new();
    let url = server.at("127.0.0.1", "/slow");
    let fetched = fetching.until(&url, interrupt.clone());
    let throw = async {
        while server.heard().is_empty() {
            tokio::task::yield_now().await;
        }
        interrupt.throw();
    };
    let (output, ()) = futures_util::future::join(fetched, throw).await;
    assert_eq!(
        (output.success, output.text.as_str()),
        (false, "interrupted by the user")
    );
}

#[tokio::test]
async fn an_address_with_a_secret_is_refused_before_anybody_is_asked_about_it() {
    let tool = Fetching::permitted().tool();
    let needs = |url: &str| tool.needs(&Parameters::new(json!({"url": url}).as_object().unwrap().clone()));
    for url in [
        "https://docs.rs/?q=sk-secret-1",
        "https://docs.rs/sk%2Dsecret-1",
        "https://sk-secret-1.evil.example/",
    ] {
        assert!(needs(url).unwrap_err().contains("contains one of the user"), "{url}");
    }
    assert!(needs("http://10.0.0.1/").unwrap_err().contains("web_private"));
    let long = format!("https://docs.rs/?q={}", "a".repeat(300));
    let [
        Need::Fetch {
            host,
            url,
            is_long,
            remarks,
        },
    ] = &needs(&long).unwrap()[..]
    else {
        panic!("one need");
    };
    assert_eq!(
        (host.as_str(), url.as_str(), *is_long, remarks.len()),
        ("docs.rs", long.as_str(), true, 1)
    );
}

#[tokio::test]
async fn through_a_proxy_names_are_the_proxys_and_private_ones_stay_closed() {
    let server = Hostile::new().await;
    let mut network = Network::default();
    network.proxies.http = Some(codelet_network::Named {
        value: format!("http://127.0.0.1:{}", server.port),
        name: "http_proxy".to_owned(),
    });
    let asked = Arc::default();
    let tool = WebFetch::new(Options::new(network), lookup(&["93.184.215.14"], &asked));
    let parameters = |url: &str| Parameters::new(json!({"url": url}).as_object().unwrap().clone());
    let call = async |url: &str| {
        let call = Call {
            lent: None,
            parameters: &parameters(url),
            permitted: &[],
            conversation: &Conversation::new(CompactionConfig::new(100_000), 0),
            live: Live::none(),
            interrupt: Interrupt::new(),
        };
        tool.call(call).await
    };
    let output = call("http://docs.test/page").await;
    assert!(output.success, "{}", output.text.as_str());
    assert!(
        server.heard()[0].starts_with("GET http://docs.test/page "),
        "{:?}",
        server.heard()
    );
    assert_eq!(*asked.lock().unwrap(), 0);
    let needs = tool.needs(&parameters("http://docs.test/page")).unwrap();
    let [Need::Fetch { remarks, .. }] = &needs[..] else {
        panic!("one need")
    };
    assert!(
        remarks
            .iter()
            .any(|remark| remark.starts_with("The proxy http://127.0.0.1:")),
        "{remarks:?}"
    );
    for url in [
        "http://metadata.google.internal/",
        "http://router/",
        "http://169.254.169.254/",
        "http://10.0.0.1/",
        "http://localhost/",
    ] {
        assert!(!call(url).await.success, "{url}");
    }
    assert_eq!(server.heard().len(), 1);
}
