//! A server that runs somewhere, spoken to by streamable HTTP.

use crate::Trouble;
use crate::pipe::LONGEST;
use crate::text::one_line;
use reqwest::Client;
use reqwest::header::{HeaderName, HeaderValue};
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
pub(crate) type Http = StreamableHttpClientTransport<Client>;

/// Gets ready to speak to a server; nothing is sent yet.
pub(crate) fn open(url: &str, headers: &[(String, String)]) -> Result<Http, Trouble> {
    let unusable = |what: String| Trouble::Unreachable(what);
    let address = reqwest::Url::parse(url).map_err(|error| unusable(format!("its address is no URL: {error}")))?;
    if !matches!(address.scheme(), "http" | "https") || !address.has_host() {
        return Err(unusable("its address has to begin with https:// or http://".to_owned()));
    }
    let mut all = HashMap::new();
    for (name, value) in headers {
        let bad = || unusable(format!("the header {name} cannot be sent"));
        let key = HeaderName::from_bytes(name.as_bytes()).map_err(|_| bad())?;
        let mut value = HeaderValue::from_str(value).map_err(|_| bad())?;
        value.set_sensitive(true);
        all.insert(key, value);
    }
    let mut config = StreamableHttpClientTransportConfig::with_uri(url)
        .custom_headers(all)
        .max_sse_event_size(LONGEST);
    config.retry_config = Arc::new(retry());
    Ok(StreamableHttpClientTransport::with_client(client()?, config))
}

fn retry() -> FixedInterval {
    let mut retry = FixedInterval::default();
    retry.max_times = Some(AGAIN);
    retry.duration = PAUSE;
    retry
}

/// A client that trusts the usual certificates, follows nobody elsewhere with the headers, and reads no environment.
fn client() -> Result<Client, Trouble> {
    let unusable = |error: &(dyn Error + 'static)| Trouble::Unreachable(cause(error));
    let roots = rustls::RootCertStore {
        roots: webpki_roots::TLS_SERVER_ROOTS.to_vec(),
    };
    let tls = rustls::ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| unusable(&error))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Client::builder()
        .tls_backend_preconfigured(tls)
        .no_proxy()
        .connect_timeout(CONNECT)
        .redirect(reqwest::redirect::Policy::none())
        // A connection whose last answer was not read to its end stalls the next request.
        .pool_max_idle_per_host(0)
        .user_agent(concat!("codelet/", env!("CARGO_PKG_VERSION")))
        .build()
        .map_err(|error| unusable(&error))
}

/// What went wrong: the innermost cause, as those around it repeat the address, which may hold a secret.
pub(crate) fn cause(error: &(dyn Error + 'static)) -> String {
    let causes = std::iter::successors(Some(error), |&error| inner(error));
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

/// The cause of an error; the library does not name all of them as such.
fn inner<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a (dyn Error + 'static)> {
    if let Some(StreamableHttpError::Client(error)) = error.downcast_ref::<StreamableHttpError<reqwest::Error>>() {
        return Some(error);
    }
    error.source()
}
