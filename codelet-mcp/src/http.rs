//! A remote server, reached by streamable HTTP.

use crate::address::{address, told, trusting};
use crate::login;
use crate::pipe::LONGEST;
use crate::redirect::{self, Following};
use crate::text::{Secrets, one_line};
use crate::{Options, Reach, Server, Trouble};
use codelet_network::Network;
use reqwest::header::{HeaderName, HeaderValue};
use reqwest::{Client, StatusCode, Url};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::auth::AuthClient;
use rmcp::transport::common::client_side_sse::FixedInterval;
use rmcp::transport::streamable_http_client::{StreamableHttpClientTransportConfig, StreamableHttpError};
use std::collections::HashMap;
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

/// Timeout for establishing a connection.
const CONNECT: Duration = Duration::from_secs(10);
/// Retries for a stream that breaks off, and the pause before each.
const AGAIN: usize = 3;
const PAUSE: Duration = Duration::from_millis(500);

/// The HTTP transport, with the token of a login if there is one.
pub(crate) type Http = StreamableHttpClientTransport<AuthClient<Following>>;

/// Prepares the transport to a server; nothing is sent yet.
pub(crate) async fn open(server: &Server, options: &Options, secrets: &Secrets) -> Result<Http, Trouble> {
    let Reach::Http {
        url,
        headers,
        authorities,
        ..
    } = &server.reach
    else {
        return Err(Trouble::Unreachable("it has no address".to_owned()));
    };
    let unusable = |what: String| Trouble::Unreachable(what);
    let address = address(url)?;
    let network = trusting(&options.network, authorities)?;
    let mut all = HashMap::new();
    for (name, value) in headers {
        // The value may be part of the name by mistake.
        let told = name.split([':', '=', ' ']).next().unwrap_or_default();
        let bad = || unusable(format!("the header {told} cannot be sent"));
        let key = HeaderName::from_bytes(name.as_bytes()).map_err(|_| bad())?;
        let mut value = HeaderValue::from_str(value).map_err(|_| bad())?;
        value.set_sensitive(true);
        all.insert(key, value);
    }
    let mut config = StreamableHttpClientTransportConfig::with_uri(url.as_str())
        .custom_headers(all)
        .max_sse_event_size(LONGEST);
    config.retry_config = Arc::new(retry());
    let following = Following(client(&network, &address)?);
    let manager = login::authorized(server, &address, network, options, secrets).await?;
    let client = AuthClient::new(following, manager);
    Ok(StreamableHttpClientTransport::with_client(client, config))
}

fn retry() -> FixedInterval {
    let mut retry = FixedInterval::default();
    retry.max_times = Some(AGAIN);
    retry.duration = PAUSE;
    retry
}

/// Creates the client for this server.
fn client(network: &Network, address: &Url) -> Result<Client, Trouble> {
    let (builder, _) = network.client(address).map_err(|error| told(&error))?;
    let built = builder
        .connect_timeout(CONNECT)
        .redirect(redirect::policy())
        // A connection whose last response was not read to its end stalls the next request.
        .pool_max_idle_per_host(0)
        .build();
    built.map_err(|error| Trouble::Unreachable(cause(&error)))
}

/// Describes a transport error and, if a login would help, what the user can do.
pub(crate) fn trouble_of(server: &Server, error: &(dyn Error + 'static)) -> String {
    let mut causes = std::iter::successors(Some(error), |&error| inner(error));
    let name = &server.name;
    match causes.find_map(refused) {
        Some(Refused::Status(status)) => login_words(server, status),
        Some(Refused::Renewal(why)) => {
            format!(
                "its login could not be renewed: {why}; if this continues, log in again with `codelet mcp login {name}`"
            )
        }
        None => cause(error),
    }
}

/// Describes the innermost cause of an error: the outer ones repeat the URL, which may contain a secret.
pub(crate) fn cause(error: &(dyn Error + 'static)) -> String {
    let causes = std::iter::successors(Some(error), |&error| inner(error));
    let innermost = causes.last().unwrap_or(error);
    if let Some(error) = innermost.downcast_ref::<reqwest::Error>() {
        return match error.status() {
            Some(status) => format!("it answers with the status {}", status.as_u16()),
            None if error.is_timeout() => "it took too long".to_owned(),
            None => "unknown reason".to_owned(),
        };
    }
    let said = innermost.to_string();
    let said = said.split(" (os error").next().unwrap_or(&said);
    one_line(said.split(" for url (").next().unwrap_or(said), 300)
}

/// The reason why a server refuses access.
enum Refused {
    /// The status of a response that requires another login.
    Status(StatusCode),
    /// There is a login, and its token could not be renewed.
    Renewal(String),
}

fn refused(error: &(dyn Error + 'static)) -> Option<Refused> {
    if let Some(StreamableHttpError::Auth(error)) = error.downcast_ref::<StreamableHttpError<reqwest::Error>>() {
        return Some(Refused::Renewal(login::told(error)));
    }
    wants_login(error).map(Refused::Status)
}

fn wants_login(error: &(dyn Error + 'static)) -> Option<StatusCode> {
    let status = match error.downcast_ref::<StreamableHttpError<reqwest::Error>>() {
        Some(StreamableHttpError::AuthRequired(_)) => Some(StatusCode::UNAUTHORIZED),
        Some(StreamableHttpError::InsufficientScope(_)) => Some(StatusCode::FORBIDDEN),
        // If the server does not say which login it requires, the library has only a message.
        Some(StreamableHttpError::UnexpectedServerResponse(said)) => said
            .strip_prefix("HTTP ")
            .and_then(|said| StatusCode::from_bytes(said.as_bytes().get(..3)?).ok()),
        _ => error.downcast_ref::<reqwest::Error>().and_then(reqwest::Error::status),
    };
    status.filter(|status| matches!(*status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN))
}

/// Describes what the user can do about it.
fn login_words(server: &Server, status: StatusCode) -> String {
    let what = match status {
        StatusCode::FORBIDDEN => "the token that was sent lacks permission",
        _ => "it requires a login, or rejects the one that was sent",
    };
    let status = status.as_u16();
    let name = &server.name;
    match login::is_given(&server.reach) {
        true => format!(
            "{what} (status {status}): check the Authorization in its `headers`, or take it out and run `codelet mcp login {name}`"
        ),
        false => format!("{what} (status {status}): run `codelet mcp login {name}`"),
    }
}

/// The cause of an error; the library does not expose all of them as its source.
fn inner<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a (dyn Error + 'static)> {
    if let Some(StreamableHttpError::Client(error)) = error.downcast_ref::<StreamableHttpError<reqwest::Error>>() {
        return Some(error);
    }
    error.source()
}
