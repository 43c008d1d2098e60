//! An MCP server that requires a login, and its authorization server; both on loopback.

use super::{Answer, Http, Manner, Seen};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use percent_encoding::percent_decode_str;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A deviation of the login.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Oddity {
    /// None.
    #[default]
    None,
    /// The server declares its tokens to be for another resource.
    OtherResource,
    /// The authorization server declares another issuer.
    OtherIssuer,
    /// The token endpoint is on another host and unencrypted.
    OtherTokenEndpoint,
    /// Token requests are redirected to the MCP server.
    Redirects,
    /// Dynamic client registration is not supported.
    NoRegistration,
    /// Only an insecure PKCE method is supported.
    PlainProof,
    /// The user denies access.
    Refusal,
    /// Neither server publishes metadata for a login.
    Nothing,
}

#[derive(Default)]
struct State {
    /// Authorization codes with the PKCE challenge and resource that they were requested with.
    codes: BTreeMap<String, (String, String)>,
    /// Valid access tokens.
    valid: Vec<String>,
    /// The refresh token, valid once.
    renews: Option<String>,
    issued: usize,
    /// The declared lifetime of tokens, in seconds.
    lasts: u64,
    refuses_renewal: bool,
}

/// An MCP server that requires a login, with its authorization server.
pub struct Guarded {
    /// The MCP server.
    pub server: Http,
    /// The authorization server, on another port.
    pub authority: Http,
    state: Arc<Mutex<State>>,
}

impl Guarded {
    /// Starts both.
    pub fn start(manner: Manner, oddity: Oddity) -> Self {
        let state = Arc::new(Mutex::new(State {
            lasts: 3600,
            ..State::default()
        }));
        let gives = state.clone();
        let authority = Http::guarded(Manner::Good, false, move |seen| {
            Some(authority(seen, oddity, &mut lock(&gives)))
        });
        let issuer = authority.at("").trim_end_matches('/').to_owned();
        let (wants, issuer) = (state.clone(), Arc::new(issuer));
        let server = Http::guarded(manner, true, move |seen| resource(seen, oddity, &issuer, &lock(&wants)));
        Guarded {
            server,
            authority,
            state,
        }
    }

    /// Sets the declared lifetime of future tokens, in seconds.
    pub fn lasting(&self, seconds: u64) {
        lock(&self.state).lasts = seconds;
    }

    /// Revokes all access tokens issued so far.
    pub fn revoke(&self) {
        lock(&self.state).valid.clear();
    }

    /// Rejects refresh tokens from now on.
    pub fn refuse_renewal(&self) {
        lock(&self.state).refuses_renewal = true;
    }

    /// The number of issued tokens.
    pub fn issued(&self) -> usize {
        lock(&self.state).issued
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The prefix of all access tokens of a [`Guarded`].
pub const TOKEN: &str = "token-hush-0123456789-";

fn json_answer(status: &'static str, body: Value) -> Answer {
    Answer {
        status,
        header: String::new(),
        body,
    }
}

fn own(seen: &Seen) -> String {
    format!("http://{}", seen.header("host").unwrap_or_default())
}

/// The MCP server's side: its metadata, and a refusal of requests without a valid token.
fn resource(seen: &Seen, oddity: Oddity, issuer: &str, state: &State) -> Option<Answer> {
    let own = own(seen);
    if seen.path == "/.well-known/oauth-protected-resource/mcp" && oddity != Oddity::Nothing {
        let resource = match oddity {
            Oddity::OtherResource => "https://other.test/mcp".to_owned(),
            _ => format!("{own}/mcp"),
        };
        let metadata = json!({"resource": resource, "authorization_servers": [issuer], "scopes_supported": ["notes"]});
        return Some(json_answer("200 OK", metadata));
    }
    if seen.path.starts_with("/.well-known/") {
        return Some(json_answer("404 Not Found", Value::Null));
    }
    let given = seen
        .header("authorization")
        .and_then(|given| given.strip_prefix("Bearer "));
    if given.is_some_and(|given| state.valid.iter().any(|valid| valid == given)) {
        return None;
    }
    let header = match oddity {
        Oddity::Nothing => "www-authenticate: Bearer".to_owned(),
        _ => format!("www-authenticate: Bearer resource_metadata=\"{own}/.well-known/oauth-protected-resource/mcp\""),
    };
    Some(Answer {
        status: "401 Unauthorized",
        header,
        body: Value::Null,
    })
}

/// The authorization server's side.
fn authority(seen: &Seen, oddity: Oddity, state: &mut State) -> Answer {
    let own = own(seen);
    let (path, query) = seen.path.split_once('?').unwrap_or((&seen.path, ""));
    match path {
        "/.well-known/oauth-authorization-server" => json_answer("200 OK", metadata(&own, oddity)),
        "/register" if oddity != Oddity::NoRegistration => {
            let redirects = &seen.message["redirect_uris"];
            json_answer(
                "201 Created",
                json!({"client_id": "client-1", "redirect_uris": redirects}),
            )
        }
        "/authorize" => page(&own, &fields(query), oddity, state),
        "/token" if oddity == Oddity::Redirects => Answer {
            status: "307 Temporary Redirect",
            header: "location: http://localhost:1/mcp".to_owned(),
            body: Value::Null,
        },
        "/token" => match token(&fields(&seen.body), state) {
            Ok(given) => json_answer("200 OK", given),
            Err(error) => json_answer("400 Bad Request", json!({"error": error})),
        },
        _ => json_answer("404 Not Found", Value::Null),
    }
}

fn metadata(own: &str, oddity: Oddity) -> Value {
    let mut metadata = json!({
        "issuer": own, "authorization_endpoint": format!("{own}/authorize"), "token_endpoint": format!("{own}/token"),
        "response_types_supported": ["code"], "code_challenge_methods_supported": ["S256"],
        "authorization_response_iss_parameter_supported": true,
    });
    if oddity != Oddity::NoRegistration {
        metadata["registration_endpoint"] = json!(format!("{own}/register"));
    }
    match oddity {
        Oddity::OtherIssuer => metadata["issuer"] = json!("https://other.test"),
        Oddity::OtherTokenEndpoint => metadata["token_endpoint"] = json!("http://other.test/token"),
        Oddity::PlainProof => metadata["code_challenge_methods_supported"] = json!(["plain"]),
        _ => {}
    }
    metadata
}

/// The authorization page: a browser is redirected at once, without a login form.
fn page(own: &str, asked: &BTreeMap<String, String>, oddity: Oddity, state: &mut State) -> Answer {
    let one = |name: &str| asked.get(name).cloned().unwrap_or_default();
    let is_right =
        one("response_type") == "code" && one("code_challenge_method") == "S256" && !one("resource").is_empty();
    if !is_right {
        return json_answer("400 Bad Request", Value::Null);
    }
    let code = format!("code-hush-{}", state.codes.len());
    state
        .codes
        .insert(code.clone(), (one("code_challenge"), one("resource")));
    let brought = match oddity {
        Oddity::Refusal => "error=access_denied".to_owned(),
        _ => format!("code={code}"),
    };
    Answer {
        status: "302 Found",
        header: format!(
            "location: {}?{brought}&state={}&iss={own}",
            one("redirect_uri"),
            one("state")
        ),
        body: Value::Null,
    }
}

/// Issues tokens for a code and its verifier, or for a refresh token.
fn token(asked: &BTreeMap<String, String>, state: &mut State) -> Result<Value, &'static str> {
    let one = |name: &str| asked.get(name).map_or("", String::as_str);
    match one("grant_type") {
        "authorization_code" => {
            let (challenge, resource) = state.codes.remove(one("code")).ok_or("invalid_grant")?;
            let proof = URL_SAFE_NO_PAD.encode(Sha256::digest(one("code_verifier")));
            if proof != challenge || one("resource") != resource {
                return Err("invalid_grant");
            }
        }
        "refresh_token" => {
            let is_known = state.renews.as_deref() == Some(one("refresh_token"));
            if !is_known || state.refuses_renewal || one("resource").is_empty() {
                return Err("invalid_grant");
            }
        }
        _ => return Err("unsupported_grant_type"),
    }
    state.issued += 1;
    let (access, renews) = (
        format!("{TOKEN}{}", state.issued),
        format!("{TOKEN}renews-{}", state.issued),
    );
    state.valid = vec![access.clone()];
    state.renews = Some(renews.clone());
    Ok(json!({
        "access_token": access, "token_type": "Bearer", "expires_in": state.lasts, "refresh_token": renews, "scope": "notes",
    }))
}

/// The fields of a form-encoded text.
fn fields(form: &str) -> BTreeMap<String, String> {
    let decoded = |text: &str| {
        let text = text.replace('+', " ");
        percent_decode_str(&text).decode_utf8_lossy().into_owned()
    };
    let pairs = form.split('&').filter_map(|pair| pair.split_once('='));
    pairs.map(|(name, value)| (decoded(name), decoded(value))).collect()
}

/// Opens a loopback URL like a browser and follows redirects. Returns the final page.
pub fn browse(url: &str) -> String {
    let mut url = url.to_owned();
    loop {
        let (host, path) = url
            .strip_prefix("http://")
            .and_then(|rest| rest.split_once('/'))
            .expect("an address on loopback");
        let mut stream = TcpStream::connect(host).expect("somebody listens");
        write!(
            stream,
            "GET /{path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n"
        )
        .expect("it is heard");
        stream.shutdown(std::net::Shutdown::Write).expect("it is open");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it is answered");
        let location = answer.lines().find_map(|line| line.strip_prefix("location: "));
        match location {
            Some(location) => url = location.to_owned(),
            None => return answer,
        }
    }
}
