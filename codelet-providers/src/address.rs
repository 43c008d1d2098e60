//! Addresses of servers: their parts, and what of them is safe to show.

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use codelet_network::is_own_machine;
use codelet_text::secret::is_secret_in_query;
use percent_encoding::percent_decode_str;
use rig_reqwest::reqwest::Url;

/// The hint for an address without a protocol.
const SCHEME: &str = "expected http://HOST or https://HOST";

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
///
/// # Errors
/// If it is invalid; the sentence does not repeat it.
pub(crate) fn given(text: &str) -> Result<(Url, Vec<String>), String> {
    let mut url = Url::parse(text.trim()).map_err(|error| match text.contains("://") {
        true => error.to_string(),
        false => SCHEME.to_owned(),
    })?;
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Err(SCHEME.to_owned());
    }
    url.set_fragment(None);
    let segments = url.path_segments().into_iter().flatten();
    let path = segments.filter(|segment| !segment.is_empty()).map(str::to_owned);
    let path = path.collect();
    Ok((url, path))
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
