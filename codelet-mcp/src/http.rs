//! A server that runs somewhere, spoken to by streamable HTTP.

use crate::Trouble;
use crate::pipe::LONGEST;
use crate::redirect::{self, Following};
use crate::text::one_line;
use codelet_network::{Network, NetworkError};
use reqwest::header::{HeaderName, HeaderValue};
use reqwest::{Client, StatusCode, Url};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::common::client_side_sse::FixedInterval;
use rmcp::transport::streamable_http_client::{StreamableHttpClientTransportConfig, StreamableHttpError};
use std::collections::HashMap;
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

/// How long a connection may take to stand.
const CONNECT: Duration = Duration::from_secs(10);
/// A stream that breaks off is opened again so often, after so long.
const AGAIN: usize = 3;
const PAUSE: Duration = Duration::from_millis(500);

/// Messages over HTTP.
pub(crate) type Http = StreamableHttpClientTransport<Following>;

/// Gets ready to speak to a server; nothing is sent yet.
pub(crate) fn open(
    url: &str,
    headers: &[(String, String)],
    authorities: &str,
    network: &Network,
) -> Result<Http, Trouble> {
    let unusable = |what: String| Trouble::Unreachable(what);
    let address = Url::parse(url).map_err(|error| unusable(format!("its address is no URL: {error}")))?;
    if !matches!(address.scheme(), "http" | "https") || !address.has_host() {
        return Err(unusable("its address has to begin with https:// or http://".to_owned()));
    }
    let mut all = HashMap::new();
    for (name, value) in headers {
        // A value may have been written into the name.
        let told = name.split([':', '=', ' ']).next().unwrap_or_default();
        let bad = || unusable(format!("the header {told} cannot be sent"));
        let key = HeaderName::from_bytes(name.as_bytes()).map_err(|_| bad())?;
        let mut value = HeaderValue::from_str(value).map_err(|_| bad())?;
        value.set_sensitive(true);
        all.insert(key, value);
    }
    let mut config = StreamableHttpClientTransportConfig::with_uri(url)
        .custom_headers(all)
        .max_sse_event_size(LONGEST);
    config.retry_config = Arc::new(retry());
    Ok(StreamableHttpClientTransport::with_client(
        Following(client(network, &address, authorities)?),
        config,
    ))
}

fn retry() -> FixedInterval {
    let mut retry = FixedInterval::default();
    retry.max_times = Some(AGAIN);
    retry.duration = PAUSE;
    retry
}

/// A client for this server that trusts these certificates besides the usual ones.
fn client(network: &Network, address: &Url, authorities: &str) -> Result<Client, Trouble> {
    let told = |error: NetworkError| Trouble::Unreachable(one_line(&error.to_string(), 300));
    let mut network = network.clone();
    if !authorities.is_empty() {
        network.trust = network
            .trust
            .and("its `ca` cannot be used", authorities)
            .map_err(told)?;
    }
    let (builder, _) = network.client(address).map_err(told)?;
    let built = builder
        .connect_timeout(CONNECT)
        .redirect(redirect::policy())
        // A connection whose last answer was not read to its end stalls the next request.
        .pool_max_idle_per_host(0)
        .build();
    built.map_err(|error| Trouble::Unreachable(cause(&error)))
}

/// What went wrong: the innermost cause, as those around it repeat the address, which may hold a secret.
pub(crate) fn cause(error: &(dyn Error + 'static)) -> String {
    let causes = std::iter::successors(Some(error), |&error| inner(error));
    if let Some(status) = causes.clone().find_map(wants_login) {
        return login(status);
    }
    let innermost = causes.last().unwrap_or(error);
    if let Some(error) = innermost.downcast_ref::<reqwest::Error>() {
        return match error.status() {
            Some(status) => format!("it answers with the status {}", status.as_u16()),
            None if error.is_timeout() => "it took too long".to_owned(),
            None => "no reason is known".to_owned(),
        };
    }
    let said = innermost.to_string();
    let said = said.split(" (os error").next().unwrap_or(&said);
    one_line(said.split(" for url (").next().unwrap_or(said), 300)
}

/// The status of an answer that wants another login than it was sent.
fn wants_login(error: &(dyn Error + 'static)) -> Option<StatusCode> {
    let status = match error.downcast_ref::<StreamableHttpError<reqwest::Error>>() {
        Some(StreamableHttpError::AuthRequired(_)) => Some(StatusCode::UNAUTHORIZED),
        Some(StreamableHttpError::InsufficientScope(_)) => Some(StatusCode::FORBIDDEN),
        // Where the server does not say which login it wants, the library has only words.
        Some(StreamableHttpError::UnexpectedServerResponse(said)) => said
            .strip_prefix("HTTP ")
            .and_then(|said| StatusCode::from_bytes(said.as_bytes().get(..3)?).ok()),
        _ => error.downcast_ref::<reqwest::Error>().and_then(reqwest::Error::status),
    };
    status.filter(|status| matches!(*status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN))
}

/// What its user can do about that.
fn login(status: StatusCode) -> String {
    let what = match status {
        StatusCode::FORBIDDEN => "the token that it is sent permits too little",
        _ => "it wants a login, or another one than it is sent",
    };
    format!(
        "{what} (status {}); a login in a browser is not supported: get a token from it and name it in its settings, \
         headers = {{ Authorization = \"Bearer ${{NAME_OF_A_VARIABLE}}\" }}",
        status.as_u16()
    )
}

/// The cause of an error; the library does not name all of them as such.
fn inner<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a (dyn Error + 'static)> {
    if let Some(StreamableHttpError::Client(error)) = error.downcast_ref::<StreamableHttpError<reqwest::Error>>() {
        return Some(error);
    }
    error.source()
}
