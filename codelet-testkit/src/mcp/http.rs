//! The MCP server over streamable HTTP, on loopback.

use super::{Manner, answer, notices};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// A received request.
#[derive(Clone, Debug)]
pub struct Seen {
    /// `POST`, `GET` or `DELETE`.
    pub verb: String,
    /// The request target.
    pub path: String,
    /// The headers, with lower-case names.
    pub headers: Vec<(String, String)>,
    /// The message; null if there is none.
    pub message: Value,
    /// The body as text.
    pub body: String,
}

impl Seen {
    /// Returns a header by its lower-case name.
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(other, _)| other == name);
        found.map(|(_, value)| value.as_str())
    }
}

/// An HTTP response outside the protocol.
pub struct Answer {
    /// The status line's code and reason.
    pub status: &'static str,
    /// One more header line; may be empty.
    pub header: String,
    /// The body.
    pub body: Value,
}

/// Responds to a request before the server sees it, or lets it through.
type Guard = dyn Fn(&Seen) -> Option<Answer> + Send + Sync;

/// A running server, which ends with the test process. Requests to `/redirect/STATUS/WHERE` are redirected.
pub struct Http {
    port: u16,
    seen: Arc<(Mutex<Vec<Seen>>, Condvar)>,
}

impl Http {
    /// Starts a server. Responds with event streams if `streams`, otherwise with plain JSON.
    pub fn start(manner: Manner, streams: bool) -> Http {
        Http::guarded(manner, streams, |_| None)
    }

    /// Starts a server behind a guard.
    pub fn guarded(
        manner: Manner,
        streams: bool,
        guard: impl Fn(&Seen) -> Option<Answer> + Send + Sync + 'static,
    ) -> Http {
        let guard: Arc<Guard> = Arc::new(guard);
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
        let port = listener.local_addr().expect("it is bound").port();
        let seen = Arc::new((Mutex::new(Vec::new()), Condvar::new()));
        let record = seen.clone();
        let changes = Arc::new(AtomicUsize::new(0));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (record, changes, guard) = (record.clone(), changes.clone(), guard.clone());
                std::thread::spawn(move || {
                    // A client that disconnects ends only its own connection.
                    let _ = serve(stream, (manner, &changes), streams, &record, &*guard);
                });
            }
        });
        Http { port, seen }
    }

    /// The server's URL.
    pub fn url(&self) -> String {
        self.at("mcp")
    }

    /// The URL of a path.
    pub fn at(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}/{path}", self.port)
    }

    /// All requests so far.
    pub fn seen(&self) -> Vec<Seen> {
        let (seen, _) = &*self.seen;
        seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits until a matching request arrives, and returns it.
    pub fn wait_for(&self, wanted: impl Fn(&Seen) -> bool) -> Seen {
        let (seen, came) = &*self.seen;
        let mut all = seen.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(found) = all.iter().find(|seen| wanted(seen)) {
                return found.clone();
            }
            all = came.wait(all).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

fn serve(
    stream: TcpStream,
    (manner, changes): (Manner, &AtomicUsize),
    streams: bool,
    record: &(Mutex<Vec<Seen>>, Condvar),
    guard: &Guard,
) -> std::io::Result<()> {
    let mut out = stream.try_clone()?;
    let mut from = BufReader::new(stream);
    loop {
        let mut line = String::new();
        if from.read_line(&mut line)? == 0 {
            return Ok(());
        }
        let mut words = line.split(' ').map(str::to_owned);
        let (verb, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let mut headers = Vec::new();
        loop {
            let mut line = String::new();
            from.read_line(&mut line)?;
            let Some((name, value)) = line.trim_end().split_once(':') else {
                break;
            };
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        let length = headers.iter().find(|(name, _)| name == "content-length");
        let length = length.and_then(|(_, value)| value.parse().ok()).unwrap_or(0);
        let mut body = vec![0; length];
        from.read_exact(&mut body)?;
        let message: Value = serde_json::from_slice(&body).unwrap_or(Value::Null);
        let (seen, came) = record;
        let asked = Seen {
            verb: verb.clone(),
            path: path.clone(),
            headers,
            message: message.clone(),
            body: String::from_utf8_lossy(&body).into_owned(),
        };
        let guarded = guard(&asked);
        seen.lock().unwrap_or_else(PoisonError::into_inner).push(asked);
        came.notify_all();
        if let Some(Answer { status, header, body }) = guarded {
            let (body, line) = (body.to_string(), if header.is_empty() { "" } else { "\r\n" });
            let length = body.len();
            write!(
                out,
                "HTTP/1.1 {status}\r\n{header}{line}content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
            )?;
            out.flush()?;
            continue;
        }
        if let Some((status, to)) = path.strip_prefix("/redirect/").and_then(|rest| rest.split_once('/')) {
            let to = if to.contains("://") {
                to.to_owned()
            } else {
                format!("/{to}")
            };
            let length = "content-length: 0";
            write!(
                out,
                "HTTP/1.1 {status} Redirected\r\nlocation: {to}\r\n{length}\r\n\r\n"
            )?;
            out.flush()?;
            continue;
        }
        if verb != "POST" {
            respond(&mut out, "405 Method Not Allowed", "text/plain", "")?;
            continue;
        }
        if message["params"]["name"] == "die" {
            // Simulates a crash: the connection closes without a response.
            return Ok(());
        }
        match answer(manner, changes, &message) {
            Some(answer) if streams => {
                let mut events = ": hello\n\n".to_owned();
                for said in notices(manner, &message).iter().chain([&answer]) {
                    events.push_str(&format!("event: message\ndata: {said}\n\n"));
                }
                respond(&mut out, "200 OK", "text/event-stream", &events)?;
            }
            Some(answer) => respond(&mut out, "200 OK", "application/json", &answer.to_string())?,
            None if message.get("id").is_some() => {
                // Never responds; the connection stays open until the client disconnects.
                let _ = from.read(&mut [0])?;
                return Ok(());
            }
            None => respond(&mut out, "202 Accepted", "text/plain", "")?,
        }
    }
}

fn respond(out: &mut impl Write, status: &str, kind: &str, body: &str) -> std::io::Result<()> {
    let length = body.len();
    write!(
        out,
        "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\nmcp-session-id: s-1\r\n\r\n{body}"
    )?;
    out.flush()
}
