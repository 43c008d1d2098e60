//! A connection to one server: its timeouts, its failures and what they say. It does not read the environment.

use crate::secret::{Secret, Secrets};
use codelet_agent::model::ModelError;
use codelet_network::{Network, Proxy};
use rig_core::http_client::HeaderMap;
use rig_reqwest::reqwest::{self, Client, Response, Url};
use rustls::CertificateError;
use std::time::Duration;
use tokio::time::timeout;

/// The maximum number of bytes read from an error response.
pub(crate) const LONGEST_REFUSAL: usize = 256 << 10;

/// Timeouts for a silent provider.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TimeLimits {
    /// Until the connection is established.
    pub connect: Duration,
    /// From then until the first byte of the reply.
    pub first_byte: Duration,
    /// Between two bytes of the reply.
    pub idle: Duration,
}

impl TimeLimits {
    /// For a vendor's cloud: 10 seconds, a minute, a minute.
    pub const CLOUD: TimeLimits = TimeLimits {
        connect: Duration::from_secs(10),
        first_byte: Duration::from_secs(60),
        idle: Duration::from_secs(60),
    };

    /// For a server on the user's own machine: 10 seconds, 2 minutes in addition to the time for reading the prompt, 5
    /// minutes.
    pub const LOCAL: TimeLimits = TimeLimits {
        connect: Duration::from_secs(10),
        first_byte: Duration::from_secs(120),
        idle: Duration::from_secs(300),
    };
}

/// Creates the client that all requests to one provider share, and returns it with its proxy.
pub(crate) fn client(network: &Network, base: &Url, limits: TimeLimits) -> Result<(Client, Option<Proxy>), String> {
    let (builder, proxy) = network.client(base).map_err(|error| error.to_string())?;
    let client = builder.connect_timeout(limits.connect).build();
    Ok((client.map_err(|error| cause(&error))?, proxy))
}

/// A connection to one server, with what is sent there each time.
#[derive(Clone)]
pub(crate) struct Connection {
    pub client: Client,
    pub url: Url,
    /// The proxy, if any.
    pub proxy: Option<Proxy>,
    pub headers: HeaderMap,
    /// The key or token among the headers.
    pub key: Option<Secret>,
    /// Secrets that errors must not contain: the key, and the credentials in the URL.
    pub secrets: Secrets,
    pub limits: TimeLimits,
}

impl Connection {
    /// Posts a form, and returns the response, whatever its status.
    pub(crate) async fn form(&self, form: String) -> Result<Answer, ModelError> {
        let request = self.client.post(self.url.clone());
        let request = request.header("content-type", "application/x-www-form-urlencoded");
        let request = request.header("accept", "application/json");
        let ask = async {
            let response = request.body(form).send().await;
            let response = response.map_err(|error| self.failed(&error, false))?;
            Ok(Answer {
                status: response.status().as_u16(),
                body: read(response, LONGEST_REFUSAL).await.0,
            })
        };
        let limit = self.limits.connect + self.limits.first_byte;
        timeout(limit, ask)
            .await
            .unwrap_or_else(|_| Err(self.silent(limit, false)))
    }

    /// Returns host and port, the only parts of the URL that are ever shown.
    pub(crate) fn place(&self) -> String {
        let host = self.url.host_str().unwrap_or("?");
        match self.url.port_or_known_default() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        }
    }

    pub(crate) fn failed(&self, error: &reqwest::Error, had_begun: bool) -> ModelError {
        let why = self.scrub(&cause(error));
        let place = self.place();
        let said = match error {
            error if error.is_connect() && certificate(error).is_some_and(is_of_a_stranger) => format!(
                "the certificate of {place} is not trusted ({why}): if your company has its own authority, put its certificate \
                 file (PEM) into SSL_CERT_FILE"
            ),
            error if let (true, Some(proxy)) = (error.is_connect(), &self.proxy) => match is_login(error) {
                true => wants_login(proxy),
                false => format!("could not connect to {place} through the proxy {proxy} ({why})"),
            },
            error if error.is_connect() => format!(
                "could not connect to {place} ({why}): check host and port, the network, and that the server is running"
            ),
            _ if had_begun => format!("the connection to {place} was lost before the answer ended ({why})"),
            _ => format!("the request to {place} failed ({why})"),
        };
        ModelError::Cut { said, had_begun }
    }

    pub(crate) fn silent(&self, limit: Duration, had_begun: bool) -> ModelError {
        ModelError::Cut {
            said: format!("no data from {} for {} s", self.place(), limit.as_secs_f32()),
            had_begun,
        }
    }

    /// Redacts the key and other credentials in a text.
    pub(crate) fn scrub(&self, text: &str) -> String {
        self.secrets.scrub(text)
    }
}

/// The response to a small request.
pub(crate) struct Answer {
    pub status: u16,
    /// The body, up to the size limit.
    pub body: String,
}

/// Reads a body up to a length; returns the part before a failure, and whether it is complete.
pub(crate) async fn read(mut response: Response, longest: usize) -> (String, bool) {
    let mut body = Vec::new();
    let is_whole = loop {
        match response.chunk().await {
            Ok(Some(chunk)) => body.extend_from_slice(&chunk[..chunk.len().min(longest - body.len())]),
            Ok(None) => break true,
            Err(_) => break false,
        }
        if body.len() >= longest {
            break false;
        }
    };
    (String::from_utf8_lossy(&body).into_owned(), is_whole)
}

/// Describes a failure by its innermost cause, since the outer layers name parts of the program. Contains no URL.
fn cause(error: &reqwest::Error) -> String {
    let Some(cause) = causes(error).last() else {
        let why = if error.is_timeout() {
            "it took too long"
        } else {
            "unknown reason"
        };
        return why.to_owned();
    };
    let said = cause.to_string();
    let bare = said.split(" (os error").next().unwrap_or(&said);
    let mut chars = bare.chars();
    let first = chars.next().into_iter().flat_map(char::to_lowercase);
    first.chain(chars).collect()
}

/// Returns the causes of an error, from the outermost to the innermost.
fn causes(error: &reqwest::Error) -> impl Iterator<Item = &(dyn std::error::Error + 'static)> {
    std::iter::successors(std::error::Error::source(error), |cause| cause.source())
}

/// Returns the advice for a proxy that requires a login.
pub(crate) fn wants_login(proxy: &Proxy) -> String {
    format!(
        "the proxy {proxy} requires a valid user name and password: set them in the proxy variable, as http://NAME:PASSWORD@HOST:PORT"
    )
}

/// Returns whether a proxy requires a login.
fn is_login(error: &reqwest::Error) -> bool {
    causes(error).any(|cause| cause.to_string().contains("proxy authorization required"))
}

/// Returns the reason why a server's certificate was rejected.
fn certificate(error: &reqwest::Error) -> Option<&CertificateError> {
    let held = causes(error).filter_map(|cause| cause.downcast_ref::<std::io::Error>());
    // The error inside an I/O error is not one of its causes, only that error's causes are; and I/O errors can be
    // nested.
    let mut held = held.flat_map(|error| {
        std::iter::successors(error.get_ref(), |held| held.downcast_ref::<std::io::Error>()?.get_ref())
    });
    held.find_map(|held| match held.downcast_ref::<rustls::Error>()? {
        rustls::Error::InvalidCertificate(why) => Some(why),
        _ => None,
    })
}

/// Returns whether no trusted authority signed the certificate: an unknown one, or another one with the same name, such
/// as a recreated authority.
fn is_of_a_stranger(why: &CertificateError) -> bool {
    matches!(why, CertificateError::UnknownIssuer | CertificateError::BadSignature)
}
