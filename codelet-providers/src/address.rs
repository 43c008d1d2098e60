//! Request URLs and authentication headers.

use crate::choice::ConnectError;
use crate::host::Host;
use crate::secret::Secret;
use crate::vendor::Wire;
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use codelet_network::is_own_machine;
use codelet_text::secret::is_secret_in_query;
use percent_encoding::percent_decode_str;
use rig_core::http_client::{HeaderMap, HeaderValue};
use rig_reqwest::reqwest::Url;

/// URL endings that users may have copied from a page of documentation.
const ENDINGS: &[&[&str]] = &[
    &["chat", "completions"],
    &["responses"],
    &["messages"],
    &["models"],
    &["completions"],
];

/// The hint for an address without a protocol.
const SCHEME: &str = "expected http://HOST or https://HOST";

/// The version of the Messages API in use.
const ANTHROPIC_VERSION: &str = "2023-06-01";

/// Returns an address that is safe to show: without user and password, and without the query and fragment, which may
/// contain a key.
pub fn shown(address: &str) -> String {
    fn path(address: &str) -> &str {
        address.split(['?', '#']).next().unwrap_or_default()
    }
    let address = address.trim();
    match Url::parse(address).ok().filter(Url::has_host) {
        Some(url) if url.username().is_empty() && url.password().is_none() => path(address).to_owned(),
        Some(mut url) => {
            // A URL with a host accepts both.
            let _ = (url.set_username(""), url.set_password(None));
            path(url.as_str()).to_owned()
        }
        // Even if it is not a URL, a password ends before the last `@`.
        None => match (address.rsplit_once('@'), address.split_once("://")) {
            (Some((_, host)), Some((scheme, _))) => format!("{scheme}://{}", path(host)),
            (Some((_, host)), None) => path(host).to_owned(),
            (None, _) => path(address).to_owned(),
        },
    }
}

/// Returns the credentials in an address, in every form in which they are transmitted: user and password, or a user
/// alone, which is then a token, and secrets among the parameters of the query.
pub fn secrets(address: &str) -> Vec<String> {
    let Ok(url) = Url::parse(address.trim()) else {
        return Vec::new();
    };
    let decoded = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
    let (user, password) = (url.username(), url.password().unwrap_or_default());
    let alone = if password.is_empty() { user } else { password };
    let mut found = Vec::new();
    if !alone.is_empty() {
        found.push(BASE64.encode(format!("{}:{}", decoded(user), decoded(password))));
        found.extend([alone.to_owned(), decoded(alone)]);
    }
    for pair in url.query().into_iter().flat_map(|query| query.split('&')) {
        let (name, value) = pair.split_once('=').unwrap_or(("", pair));
        if is_secret_in_query(&decoded(name), value) {
            found.extend([value.to_owned(), decoded(value)]);
        }
    }
    found
}

/// Returns the credentials in a proxy's address, which may lack `http://`.
pub fn secrets_of_proxy(address: &str) -> Vec<String> {
    match address.contains("://") {
        true => secrets(address),
        false => secrets(&format!("http://{}", address.trim())),
    }
}

/// Returns whether requests to an address are unencrypted: it begins with `http://` and leads to another machine.
pub fn is_in_the_clear(address: &str) -> bool {
    Url::parse(address.trim()).is_ok_and(|url| url.scheme() == "http" && !is_own_machine(&url))
}

/// Parses a configured address into the URL and its path segments.
pub(crate) fn given(text: &str) -> Result<(Url, Vec<String>), ConnectError> {
    let mut url = Url::parse(text.trim()).map_err(|error| match text.contains("://") {
        true => wrong(text, &error.to_string()),
        false => wrong(text, SCHEME),
    })?;
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Err(wrong(text, SCHEME));
    }
    url.set_fragment(None);
    let segments = url.path_segments().into_iter().flatten();
    let path = segments.filter(|segment| !segment.is_empty()).map(str::to_owned);
    let path = path.collect();
    Ok((url, path))
}

/// Creates the error for an invalid address.
pub(crate) fn wrong(text: &str, why: &str) -> ConnectError {
    // What is no address may be a key in the wrong place.
    let url = match text.contains("://") {
        true => format!(" {}", shown(text)),
        false => String::new(),
    };
    ConnectError::BaseUrl {
        url,
        why: why.to_owned(),
    }
}

/// Returns the base URL of a server: as configured, without an ending for a specific resource, and with the version
/// with which the wire's paths begin.
pub(crate) fn base(text: &str, wire: Wire) -> Result<Url, ConnectError> {
    let (mut url, mut path) = given(text)?;
    if let Some(ending) = ENDINGS.iter().find(|ending| {
        path.iter()
            .rev()
            .zip(ending.iter().rev())
            .filter(|(a, b)| a == *b)
            .count()
            == ending.len()
    }) {
        path.truncate(path.len() - ending.len());
    }
    let is_versioned = path.last().is_some_and(|last| is_version(last));
    match wire {
        Wire::Anthropic if !is_versioned => path.push("v1".to_owned()),
        Wire::Responses | Wire::Chat if path.is_empty() => path.push("v1".to_owned()),
        Wire::Gemini if !is_versioned => path.push("v1beta".to_owned()),
        _ => {}
    }
    url.set_path(&path.join("/"));
    Ok(url)
}

/// Returns whether a path segment is a version: `v1`, `v1beta`, `v4`.
pub(crate) fn is_version(segment: &str) -> bool {
    segment
        .strip_prefix('v')
        .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

/// Returns the URL of a path below the base.
pub(crate) fn below(base: &Url, path: &[&str]) -> Url {
    let mut url = base.clone();
    if let Ok(mut segments) = url.path_segments_mut() {
        segments.pop_if_empty().extend(path);
    }
    url
}

/// Returns the URL of the streaming endpoint.
pub(crate) fn endpoint(base: &Url, wire: Wire, model: &str) -> Url {
    match wire {
        Wire::Anthropic => below(base, &["messages"]),
        Wire::Responses => below(base, &["responses"]),
        Wire::Chat => below(base, &["chat", "completions"]),
        Wire::Gemini => {
            let model = model.strip_prefix("models/").unwrap_or(model);
            let mut url = below(base, &["models", &format!("{model}:streamGenerateContent")]);
            url.query_pairs_mut().append_pair("alt", "sse");
            url
        }
    }
}

/// The beta header that makes Anthropic accept a setting for thinking blocks whose prefix has changed ("Fix a thinking
/// block bound to a different conversation", platform.claude.com, November 2026: also on Amazon Bedrock and Google
/// Cloud).
pub(crate) const DROPS_THINKING: &str = "thinking-binding-controls-2026-08-01";

/// Returns the headers of every request; `None` if the key contains characters that a header cannot carry. A token is
/// sent as `Bearer` on every wire.
pub(crate) fn headers(
    host: Option<Host>,
    wire: Wire,
    key: Option<&Secret>,
    is_token: bool,
    drops_thinking: bool,
) -> Option<HeaderMap> {
    let mut headers = HeaderMap::new();
    headers.insert("content-type", HeaderValue::from_static("application/json"));
    let accepted = match host.is_some_and(|host| host.frames_events(wire)) {
        true => "application/vnd.amazon.eventstream",
        false => "text/event-stream",
    };
    headers.insert("accept", HeaderValue::from_static(accepted));
    if wire == Wire::Anthropic && host.is_none() {
        headers.insert("anthropic-version", HeaderValue::from_static(ANTHROPIC_VERSION));
    }
    // Bedrock expects it in the body instead.
    if drops_thinking && host != Some(Host::Bedrock) {
        headers.insert("anthropic-beta", HeaderValue::from_static(DROPS_THINKING));
    }
    if let Some(key) = key {
        let (name, value) = match wire {
            _ if host == Some(Host::Azure) && !is_token => ("api-key", key.expose().to_owned()),
            _ if host.is_some() => ("authorization", format!("Bearer {}", key.expose())),
            Wire::Anthropic if !is_token => ("x-api-key", key.expose().to_owned()),
            Wire::Gemini if !is_token => ("x-goog-api-key", key.expose().to_owned()),
            _ => ("authorization", format!("Bearer {}", key.expose())),
        };
        let mut value = HeaderValue::from_str(&value).ok()?;
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    Some(headers)
}

/// Returns the headers of a form.
pub(crate) fn form_headers() -> HeaderMap {
    let mut headers = HeaderMap::new();
    let form = HeaderValue::from_static("application/x-www-form-urlencoded");
    headers.insert("content-type", form);
    headers.insert("accept", HeaderValue::from_static("application/json"));
    headers
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(given: &str, wire: Wire) -> String {
        endpoint(&base(given, wire).unwrap(), wire, "m").to_string()
    }

    #[test]
    fn an_address_is_shown_without_what_lets_somebody_in() {
        for (given, expected) in [
            ("http://127.0.0.1:7911", "http://127.0.0.1:7911"),
            (
                "https://me:secret@gate.example/v1?key=secret",
                "https://gate.example/v1",
            ),
            ("https://me:sec@ret@gate.example/a@b#x", "https://gate.example/a@b"),
            ("gate.example", "gate.example"),
            ("http:/me:secret@gate.example/v1", "http://gate.example/v1"),
            ("http://me:s/ecret@127.0.0.1:9", "http://127.0.0.1:9"),
            ("http://me:s?ecret@127.0.0.1:9/v1?key=x", "http://127.0.0.1:9/v1"),
            ("//me:secret@127.0.0.1:9", "127.0.0.1:9"),
        ] {
            assert_eq!(shown(given), expected);
        }
    }

    #[test]
    fn only_plain_http_to_another_machine_is_in_the_clear() {
        for (address, is) in [
            ("http://gate.example/v1", true),
            ("HTTP://192.0.2.7:8000", true),
            ("https://gate.example", false),
            ("http://127.0.0.1:11434", false),
            ("http://[::1]:8080/v1", false),
            ("http://localhost:1234", false),
            ("gate.example", false),
        ] {
            assert_eq!(is_in_the_clear(address), is, "{address}");
        }
    }

    #[test]
    fn an_address_leads_to_the_same_place_however_it_is_written() {
        for (wire, given, expected) in [
            (Wire::Anthropic, "https://h", "https://h/v1/messages"),
            (Wire::Anthropic, "https://h/", "https://h/v1/messages"),
            (Wire::Anthropic, "https://h/v1/", "https://h/v1/messages"),
            (Wire::Anthropic, "https://h/v1/messages", "https://h/v1/messages"),
            (
                Wire::Anthropic,
                "https://h/anthropic",
                "https://h/anthropic/v1/messages",
            ),
            (
                Wire::Chat,
                "http://127.0.0.1:8080",
                "http://127.0.0.1:8080/v1/chat/completions",
            ),
            (
                Wire::Chat,
                "http://127.0.0.1:8080/v1//",
                "http://127.0.0.1:8080/v1/chat/completions",
            ),
            (
                Wire::Chat,
                "https://h/v1/chat/completions/",
                "https://h/v1/chat/completions",
            ),
            (
                Wire::Chat,
                "https://h/api/coding/paas/v4",
                "https://h/api/coding/paas/v4/chat/completions",
            ),
            (
                Wire::Chat,
                "https://h/openai?api-version=9",
                "https://h/openai/chat/completions?api-version=9",
            ),
            (Wire::Responses, "https://h/v1", "https://h/v1/responses"),
            (
                Wire::Gemini,
                "https://h",
                "https://h/v1beta/models/m:streamGenerateContent?alt=sse",
            ),
            (
                Wire::Gemini,
                "https://h/v1beta/",
                "https://h/v1beta/models/m:streamGenerateContent?alt=sse",
            ),
        ] {
            assert_eq!(at(given, wire), expected, "{given}");
        }
    }

    #[test]
    fn what_is_no_address_is_told_without_its_password() {
        for given in ["h:8080", "ftp://h", "http://", "", "/v1", "user:secret@h"] {
            let error = base(given, Wire::Chat).unwrap_err().to_string();
            assert!(!error.contains("secret"), "{error}");
        }
    }

    proptest! {
        #[test]
        fn no_address_makes_it_panic(given in "(https?://)?[a-z0-9.:/@?#%é\\[\\]-]{0,40}") {
            for wire in [Wire::Anthropic, Wire::Responses, Wire::Chat, Wire::Gemini] {
                if let Ok(base) = base(&given, wire) {
                    let _ = endpoint(&base, wire, &given);
                    let _ = is_own_machine(&base);
                }
            }
        }
    }
}
