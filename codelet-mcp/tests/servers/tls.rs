//! Servers behind TLS, with certificates of an unknown authority, and servers that require a login.

use crate::kit::{call, connected, names, options, run, web};
use codelet_agent::interrupt::Interrupt;
use codelet_mcp::{Connected, Options, Reach, Server, connect};
use codelet_network::{Named, Network, Proxies, Trust};
use codelet_testkit::mcp::{Http, Manner};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use std::io::{self, BufRead as _, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

/// Created for these tests only, valid for a hundred years: the authority's certificate, and a server's with its key.
const AUTHORITY: &str = include_str!("tls/ca.pem");
const CERTIFICATE: &[u8] = include_bytes!("tls/server.pem");
const KEY: &[u8] = include_bytes!("tls/server.key.pem");

/// Listens with TLS in front of a server without it; returns the port.
fn behind_tls(plain: &Http) -> u16 {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let certificates: Vec<_> = CertificateDer::pem_slice_iter(CERTIFICATE)
        .collect::<Result<_, _>>()
        .unwrap();
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(certificates, PrivateKeyDer::from_pem_slice(KEY).unwrap())
        .unwrap();
    let (config, address) = (Arc::new(config), plain.url());
    let address = address
        .trim_start_matches("http://")
        .trim_end_matches("/mcp")
        .to_owned();
    listen(move |stream| {
        let connection = ServerConnection::new(config.clone()).map_err(io::Error::other)?;
        let mut client = BufReader::new(StreamOwned::new(connection, stream));
        let mut server = BufReader::new(TcpStream::connect(&address)?);
        while let Some(request) = message(&mut client)? {
            server.get_mut().write_all(&request)?;
            let Some(answer) = message(&mut server)? else { break };
            client.get_mut().write_all(&answer)?;
            client.get_mut().flush()?;
        }
        Ok(())
    })
}

/// Serves each connection on its own thread; returns the port.
fn listen(serve: impl Fn(TcpStream) -> io::Result<()> + Send + Sync + 'static) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let serve = Arc::new(serve);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let serve = serve.clone();
            std::thread::spawn(move || {
                // A client that does not trust us closes the connection.
                let _ = serve(stream);
            });
        }
    });
    port
}

/// The head and body of an HTTP message; `None` if the connection ends before one.
fn message<R: Read>(from: &mut BufReader<R>) -> io::Result<Option<Vec<u8>>> {
    let (mut bytes, mut length) = (Vec::new(), 0);
    loop {
        let mut line = Vec::new();
        if from.read_until(b'\n', &mut line)? == 0 {
            return Ok(None);
        }
        bytes.extend_from_slice(&line);
        let line = String::from_utf8_lossy(&line).to_ascii_lowercase();
        if let Some(number) = line.strip_prefix("content-length:") {
            length = number.trim().parse().unwrap();
        }
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    from.read_exact(&mut body)?;
    bytes.extend(body);
    Ok(Some(bytes))
}

/// The server at this URL, with authorities in addition to the usual ones.
fn at(name: &str, address: String, more: &str) -> Server {
    let mut server = web(name, &Http::start(Manner::Good, false));
    if let Reach::Http { url, authorities, .. } = &mut server.reach {
        *url = address;
        more.clone_into(authorities);
    }
    server
}

fn told<'a>(connected: &'a Connected, name: &str) -> &'a str {
    let begin = format!("MCP server {name}: ");
    let found = connected.notices.iter().find_map(|notice| notice.strip_prefix(&begin));
    found.unwrap_or_else(|| panic!("{name}: {:?}", connected.notices))
}

#[test]
fn a_server_behind_tls_is_used_if_its_certificate_is_trusted() {
    run(async {
        for streams in [false, true] {
            let http = Http::start(Manner::Good, streams);
            let url = format!("https://localhost:{}/mcp", behind_tls(&http));
            let connected = connected(vec![at("s", url, AUTHORITY)]).await;
            assert_eq!(connected.notices, [""; 0]);
            assert_eq!(
                call(&connected, "s__echo", "behind tls").await.text.as_str(),
                "behind tls"
            );
            let seen = http.wait_for(|seen| seen.message["method"] == "tools/call");
            assert!(
                seen.headers
                    .contains(&("authorization".to_owned(), "Bearer hush-123456".to_owned()))
            );
        }
    });
}

#[test]
fn a_server_elsewhere_is_reached_through_the_users_proxy_and_trusts_whom_the_user_trusts() {
    run(async {
        let http = Http::start(Manner::Good, false);
        let behind = behind_tls(&http);
        let (tell, heard) = std::sync::mpsc::channel();
        // The proxy connects every host to the server behind TLS.
        let proxy = listen(move |stream| {
            let mut client = BufReader::new(stream);
            let Some(asked) = message(&mut client)? else {
                return Ok(());
            };
            tell.send(String::from_utf8_lossy(&asked).into_owned())
                .map_err(io::Error::other)?;
            client.get_mut().write_all(b"HTTP/1.1 200 OK\r\n\r\n")?;
            let server = TcpStream::connect(("127.0.0.1", behind))?;
            let (mut there, mut back) = (server.try_clone()?, server);
            let (mut from, mut to) = (client.get_ref().try_clone()?, client.into_inner());
            std::thread::spawn(move || io::copy(&mut from, &mut there));
            io::copy(&mut back, &mut to).map(drop)
        });
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("ca.pem");
        std::fs::write(&file, AUTHORITY).unwrap();
        let proxies = Proxies {
            https: Some(Named {
                value: format!("http://127.0.0.1:{proxy}"),
                name: "https_proxy".to_owned(),
            }),
            ..Proxies::default()
        };
        let options = Options {
            network: Network {
                proxies,
                trust: Trust::named(Some(("SSL_CERT_FILE".to_owned(), file)), None),
            },
            ..options()
        };
        // The test's certificate is only for this name, and servers on this machine are reached without a proxy.
        let tools = at("tools", "https://tools.test/mcp".to_owned(), "");
        let here = at("here", format!("https://localhost:{behind}/mcp"), "");
        let connected = connect(vec![tools, here], options, &Interrupt::new()).await;
        assert!(
            told(&connected, "tools").contains("not valid for name"),
            "{:?}",
            connected.notices
        );
        assert_eq!(call(&connected, "here__echo", "direct").await.text.as_str(), "direct");
        let asked: Vec<String> = heard.try_iter().collect();
        assert!(!asked.is_empty());
        assert!(
            asked.iter().all(|asked| asked.starts_with("CONNECT tools.test:443 ")),
            "{asked:?}"
        );
    });
}

#[test]
fn a_certificate_that_nobody_vouches_for_is_refused_and_nothing_is_sent() {
    run(async {
        let http = Http::start(Manner::Good, false);
        let port = behind_tls(&http);
        let unknown = at("unknown", format!("https://localhost:{port}/mcp"), "");
        // The certificate is for a name, not for this address.
        let elsewhere = at("elsewhere", format!("https://127.0.0.1:{port}/mcp"), AUTHORITY);
        let garbage = at("garbage", format!("https://localhost:{port}/mcp"), "no certificate");
        let connected = connected(vec![unknown, elsewhere, garbage]).await;
        assert_eq!(names(&connected), [""; 0]);
        assert!(
            told(&connected, "unknown").contains("UnknownIssuer"),
            "{:?}",
            connected.notices
        );
        assert!(
            told(&connected, "elsewhere").contains("not valid for name"),
            "{:?}",
            connected.notices
        );
        assert_eq!(
            told(&connected, "garbage"),
            "its `ca` cannot be used: it contains no certificate"
        );
    });
}

#[test]
fn a_server_that_wants_a_login_says_what_to_do() {
    run(async {
        for (status, headers, expected) in [
            (
                "401 Unauthorized",
                "",
                "it requires a login, or rejects the one that was sent (status 401)",
            ),
            (
                "401 Unauthorized",
                "www-authenticate: Bearer resource_metadata=\"https://x/y\"\r\n",
                "it requires a login, or rejects the one that was sent (status 401)",
            ),
            (
                "403 Forbidden",
                "www-authenticate: Bearer error=\"insufficient_scope\"\r\n",
                "the token that was sent lacks permission (status 403)",
            ),
        ] {
            let port = listen(move |stream| {
                let mut from = BufReader::new(stream);
                while message(&mut from)?.is_some() {
                    let answer = format!("HTTP/1.1 {status}\r\n{headers}content-length: 0\r\n\r\n");
                    from.get_mut().write_all(answer.as_bytes())?;
                }
                Ok(())
            });
            let connected = connected(vec![at("s", format!("http://127.0.0.1:{port}/mcp"), "")]).await;
            let told = told(&connected, "s");
            assert!(told.starts_with(expected), "{told}");
            let advice = "check the Authorization in its `headers`, or take it out and run `codelet mcp login s`";
            assert!(told.ends_with(advice), "{told}");
            assert!(!told.contains("hush"), "{told}");
        }
    });
}
