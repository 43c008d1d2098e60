//! The headers that go on, and those that belong to one connection.

use codelet_context::tokens::Tokens;
use http::header::{
    CONNECTION, CONTENT_LENGTH, EXPECT, HOST, HeaderName, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, TE,
    TRANSFER_ENCODING, UPGRADE,
};
use http::{HeaderMap, HeaderValue};

/// What belongs to one connection (RFC 9110, section 7.6.1). `trailer` is none of it: it names what comes behind the body.
const HOP: [HeaderName; 7] = [
    CONNECTION,
    PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION,
    TE,
    TRANSFER_ENCODING,
    UPGRADE,
    HeaderName::from_static("keep-alive"),
];

/// The header by which a client shows that it may use a gateway that others reach, too.
pub(crate) const TOKEN: HeaderName = HeaderName::from_static("x-codelet-token");

/// The header by which gateways tell one another through which of them a request has come: their numbers, with commas between them. No
/// vendor gets it.
const CAME: HeaderName = HeaderName::from_static("x-codelet-came-through");

/// Through which gateways a request has come.
pub(crate) fn came_through(headers: &HeaderMap) -> Vec<&str> {
    let values = headers.get_all(CAME).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).map(str::trim).collect()
}

/// Adds a gateway to those that a request has come through, as the one behind it is to read.
pub(crate) fn come_through(onward: &mut HeaderMap, before: &[&str], gateway: &str) {
    let all: Vec<&str> = before.iter().copied().chain([gateway]).collect();
    if let Ok(value) = HeaderValue::try_from(all.join(",")) {
        onward.insert(CAME, value);
    }
}

/// The headers of a request, as they go on.
pub(crate) fn onward(headers: &HeaderMap) -> HeaderMap {
    let mut onward = without_hop(headers);
    for name in [HOST, CONTENT_LENGTH, EXPECT, TOKEN, CAME] {
        onward.remove(name);
    }
    onward
}

/// The headers of an answer, as they come back.
pub(crate) fn back(headers: &HeaderMap) -> HeaderMap {
    without_hop(headers)
}

fn without_hop(headers: &HeaderMap) -> HeaderMap {
    let listed = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok());
    let listed: Vec<HeaderName> = listed
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    // A body in pieces is as long as they are (RFC 9112, section 6.3): whoever believed the length would read another end.
    let is_in_pieces = headers.contains_key(TRANSFER_ENCODING);
    let is_wrong = |name: &HeaderName| is_in_pieces && name == CONTENT_LENGTH;
    let mut kept = HeaderMap::with_capacity(headers.len());
    for (name, value) in headers {
        if !HOP.contains(name) && !listed.contains(name) && !is_wrong(name) {
            kept.append(name.clone(), value.clone());
        }
    }
    kept
}

/// Returns whether a body is JSON that can be read as it is.
pub(crate) fn is_plain_json(headers: &HeaderMap) -> bool {
    let is_json = |value: &HeaderValue| value.to_str().is_ok_and(|kind| kind.contains("json"));
    let is_coded = |value: &HeaderValue| value != "identity";
    headers.get(http::header::CONTENT_TYPE).is_none_or(is_json)
        && !headers.get(http::header::CONTENT_ENCODING).is_some_and(is_coded)
}

/// The window that a client asks for by a header, in tokens: Anthropic's longer one, a beta.
pub(crate) fn window(headers: &HeaderMap) -> Option<Tokens> {
    let betas = headers.get_all("anthropic-beta").iter();
    let mut betas = betas.filter_map(|value| value.to_str().ok());
    betas.any(|value| value.contains("context-1m")).then_some(1_000_000)
}
