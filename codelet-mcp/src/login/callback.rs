//! Receives the result of a login on loopback: the browser is redirected here with a code.

use reqwest::Url;
use std::io;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

/// The path of the redirect URL.
const PATH: &str = "/callback";
/// Largest request, in bytes.
const LONGEST: usize = 16 * 1024;
/// Timeout for a request and its response.
const MOST: Duration = Duration::from_secs(10);

/// A listener on a random port.
pub(super) struct Callback {
    listener: TcpListener,
    port: u16,
}

/// The result that the browser delivers.
pub(super) struct CallbackResponse {
    /// The code to exchange for tokens, or the reason why there is none.
    pub code: Result<String, String>,
    /// The issuer of the response (RFC 9207).
    pub issuer: Option<String>,
}

impl Callback {
    pub(super) async fn listen() -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let port = listener.local_addr()?.port();
        Ok(Callback { listener, port })
    }

    /// The redirect URL.
    pub(super) fn url(&self) -> String {
        format!("http://127.0.0.1:{}{PATH}", self.port)
    }

    /// Waits for a request with this `state`. Requests with another one are rejected, and waiting continues: any page
    /// in a browser can send them.
    pub(super) async fn wait(&self, state: &str) -> io::Result<CallbackResponse> {
        let (tell, mut told) = mpsc::channel(1);
        loop {
            tokio::select! {
                brought = told.recv() => return brought.ok_or_else(|| io::Error::other("no login is expected")),
                stream = self.listener.accept() => {
                    let Ok((stream, _)) = stream else { continue };
                    let (state, tell) = (state.to_owned(), tell.clone());
                    // Browsers open connections without sending anything; these must not block the others.
                    tokio::spawn(async move {
                        if let Ok(Some(brought)) = tokio::time::timeout(MOST, hear(stream, &state)).await {
                            let _ = tell.send(brought).await;
                        }
                    });
                }
            }
        }
    }
}

/// Reads a request and answers it.
async fn hear(mut stream: TcpStream, state: &str) -> Option<CallbackResponse> {
    let mut head = Vec::new();
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        if head.len() > LONGEST || stream.read_buf(&mut head).await.ok()? == 0 {
            return None;
        }
    }
    let head = String::from_utf8_lossy(&head);
    let brought = target(&head).and_then(|target| read(target, state));
    let (status, words) = match &brought {
        Some(CallbackResponse { code: Ok(_), .. }) => ("200 OK", "Continue in the terminal. You can close this page."),
        Some(_) => ("200 OK", "The login was refused. You can close this page."),
        None => (
            "400 Bad Request",
            "This is not the login that Codelet is waiting for. Use the newest address that it printed.",
        ),
    };
    let length = words.len();
    let answer = format!(
        "HTTP/1.1 {status}\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: {length}\r\ncache-control: no-store\r\n\
         referrer-policy: no-referrer\r\nconnection: close\r\n\r\n{words}"
    );
    let _ = stream.write_all(answer.as_bytes()).await;
    let _ = stream.shutdown().await;
    brought
}

/// The request target of a browser's request.
fn target(head: &str) -> Option<&str> {
    let line = head.lines().next()?;
    line.strip_prefix("GET ")?.strip_suffix(" HTTP/1.1")
}

/// The result in a request target, if its path and state are right.
fn read(target: &str, state: &str) -> Option<CallbackResponse> {
    let url = Url::parse("http://127.0.0.1").ok()?.join(target).ok()?;
    let one = |name: &str| {
        let mut values = url.query_pairs().filter(|(key, _)| key == name);
        let first = values.next()?.1.into_owned();
        values.next().is_none().then_some(first)
    };
    if url.path() != PATH || one("state")? != state {
        return None;
    }
    let code = match (one("error"), one("code")) {
        (Some(error), _) => Err(match one("error_description") {
            Some(more) => format!("{error}: {more}"),
            None => error,
        }),
        (None, code) => Ok(code.filter(|code| !code.is_empty())?),
    };
    Some(CallbackResponse {
        code,
        issuer: one("iss"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(target: &str) -> Option<Result<String, String>> {
        read(target, "s1").map(|brought| brought.code)
    }

    #[test]
    fn a_code_is_taken_with_the_right_path_and_state_alone() {
        assert_eq!(code("/callback?code=c%2F1&state=s1"), Some(Ok("c/1".to_owned())));
        for other in [
            "/callback?code=c",
            "/callback?code=c&state=s2",
            "/callback?code=c&state=",
            "/callback?code=c&state=s1&state=s2",
            "/callback?state=s1",
            "/callback?code=&state=s1",
            "/other?code=c&state=s1",
            "http://elsewhere.test/x?code=c&state=s1",
        ] {
            assert_eq!(code(other), None, "{other}");
        }
    }

    #[test]
    fn a_refusal_is_believed_with_the_right_state_alone() {
        let refusal = "/callback?error=access_denied&error_description=not%20you&state=";
        assert_eq!(
            code(&format!("{refusal}s1")),
            Some(Err("access_denied: not you".to_owned()))
        );
        assert_eq!(code(&format!("{refusal}s2")), None);
    }
}
