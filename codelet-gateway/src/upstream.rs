//! Where requests go on to: the providers' addresses, and which of them a request is for.

use crate::Api;
use codelet_network::{Network, NetworkError};
use http::HeaderMap;
use http::uri::PathAndQuery;
use reqwest::{Client, Url};
use std::net::SocketAddr;
use std::time::Duration;

/// How long a connection may take.
const CONNECT: Duration = Duration::from_secs(30);

/// A provider, by the interface that it is asked through.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Provider {
    /// Anthropic's interface.
    Anthropic,
    /// OpenAI's two interfaces, and whatever nothing else tells apart.
    Openai,
    /// Gemini's interface.
    Gemini,
}

impl Provider {
    /// All of them.
    pub const ALL: [Provider; 3] = [Provider::Anthropic, Provider::Openai, Provider::Gemini];

    /// The name in settings and on the page.
    pub fn name(self) -> &'static str {
        match self {
            Provider::Anthropic => "anthropic",
            Provider::Openai => "openai",
            Provider::Gemini => "gemini",
        }
    }

    /// The provider of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Provider::ALL.into_iter().find(|provider| provider.name() == name)
    }

    /// The vendor's own address. Requests bring the whole path.
    pub fn usual_address(self) -> &'static str {
        match self {
            Provider::Anthropic => "https://api.anthropic.com",
            Provider::Openai => "https://api.openai.com",
            Provider::Gemini => "https://generativelanguage.googleapis.com",
        }
    }

    /// Which one a request is for: its path tells, or the header that bears the key.
    pub fn of(path: &PathAndQuery, headers: &HeaderMap) -> Provider {
        let is_query_key = || {
            let query = path.query().unwrap_or_default();
            query.split('&').any(|pair| pair.starts_with("key="))
        };
        let has = |name: &str| headers.contains_key(name);
        // OpenAI's threads have messages, too, and its key must not go to Anthropic.
        if path.path().contains("/threads/") && !has("anthropic-version") {
            return Provider::Openai;
        }
        match Api::of(path.path()) {
            Some(Api::Anthropic) => Provider::Anthropic,
            Some(Api::Openai | Api::Responses) => Provider::Openai,
            Some(Api::Gemini) => Provider::Gemini,
            None if path.path().contains("/messages/") || has("anthropic-version") => Provider::Anthropic,
            None if path.path().starts_with("/v1beta") || has("x-goog-api-key") || is_query_key() => Provider::Gemini,
            None => Provider::Openai,
        }
    }
}

/// A provider's address, and the client that reaches it.
#[derive(Clone, Debug)]
pub struct Upstream {
    client: Client,
    address: Url,
}

/// Why an address cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum UpstreamError {
    /// It is none.
    #[error("{0:?} is not an address such as https://api.example.com")]
    Address(String),
    /// It cannot be reached so.
    #[error(transparent)]
    Network(#[from] NetworkError),
    /// The client cannot be set up.
    #[error("{0}")]
    Client(String),
}

impl Upstream {
    /// A provider at this address, whose path, if it has one, stands before those of the requests.
    ///
    /// # Errors
    /// When the address is none, or no server can be reached by what `network` says.
    pub fn new(address: &str, network: &Network) -> Result<Self, UpstreamError> {
        let url = Url::parse(address).ok();
        let is_http = |url: &Url| matches!(url.scheme(), "http" | "https") && url.has_host();
        // A password stands before its @, and a key behind the question mark: of such an address only the scheme is repeated.
        let shown = || match (address.contains(['@', '?']), address.split_once("://")) {
            (false, _) => address.to_owned(),
            (true, Some((scheme, _))) => format!("{scheme}://…"),
            (true, None) => "…".to_owned(),
        };
        let url = url.filter(is_http).ok_or_else(|| UpstreamError::Address(shown()))?;
        let (builder, _) = network.client(&url)?;
        let client = builder.connect_timeout(CONNECT).build();
        Ok(Upstream {
            client: client.map_err(|error| UpstreamError::Client(error.without_url().to_string()))?,
            address: url,
        })
    }

    /// The client.
    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    /// Where a request to this path goes.
    pub(crate) fn url(&self, path: &PathAndQuery) -> Url {
        let mut url = self.address.clone();
        let before = url.path().trim_end_matches('/').to_owned();
        url.set_path(&format!("{before}{}", path.path()));
        url.set_query(path.query());
        url
    }

    /// The host, for words.
    pub(crate) fn host(&self) -> &str {
        self.address.host_str().unwrap_or_default()
    }

    /// Whether this is the gateway that listens here, which would ask itself for ever.
    pub fn is_at(&self, listens: SocketAddr) -> bool {
        let is_port = self.address.port_or_known_default() == Some(listens.port());
        listens.port() != 0 && is_port && codelet_network::is_own_machine(&self.address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_for_the_provider_that_its_path_or_else_its_key_tells() {
        let of = |path: &'static str, header: Option<&'static str>| {
            let mut headers = HeaderMap::new();
            if let Some(header) = header {
                headers.insert(header, http::HeaderValue::from_static("x"));
            }
            Provider::of(&PathAndQuery::from_static(path), &headers)
        };
        assert_eq!(of("/v1/messages?beta=true", None), Provider::Anthropic);
        assert_eq!(of("/v1/messages/count_tokens", None), Provider::Anthropic);
        assert_eq!(of("/v1/responses", Some("anthropic-version")), Provider::Openai);
        assert_eq!(of("/openai/v1/chat/completions", None), Provider::Openai);
        assert_eq!(of("/v1/models", None), Provider::Openai);
        assert_eq!(of("/v1/models", Some("anthropic-version")), Provider::Anthropic);
        assert_eq!(
            of("/v1beta/models/g:streamGenerateContent?alt=sse", None),
            Provider::Gemini
        );
        assert_eq!(of("/v1/models?key=secret", None), Provider::Gemini);
        assert_eq!(of("/v1/threads/thread_1/messages", None), Provider::Openai);
        assert_eq!(of("/v1/threads/thread_1/messages/msg_1", None), Provider::Openai);
    }

    #[test]
    fn the_path_of_an_address_stands_before_those_of_requests_and_a_password_is_not_repeated() {
        let upstream = Upstream::new("http://127.0.0.1:9/api/", &Network::default()).expect("it is an address");
        let url = upstream.url(&PathAndQuery::from_static("/v1/messages?beta=true"));
        assert_eq!(url.as_str(), "http://127.0.0.1:9/api/v1/messages?beta=true");
        let said = Upstream::new("ftp://user:hidden@example.com", &Network::default())
            .unwrap_err()
            .to_string();
        assert!(said.contains("ftp://") && !said.contains("hidden"), "{said}");
    }
}
