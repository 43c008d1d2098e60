//! The providers' addresses.

use crate::provider::Provider;
use codelet_network::{Network, NetworkError};
use http::uri::PathAndQuery;
use reqwest::{Client, Url};
use std::net::SocketAddr;
use std::time::Duration;

/// The time limit for a connection.
const CONNECT: Duration = Duration::from_secs(30);

/// A provider's address, and the client that reaches it.
#[derive(Clone, Debug)]
pub struct Upstream {
    client: Client,
    address: Url,
    replaces_version: bool,
}

/// The reason why an address cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum UpstreamError {
    /// It is none.
    #[error("{0:?} is not an address such as https://api.example.com")]
    Address(String),
    /// It cannot be reached so.
    #[error(transparent)]
    Network(#[from] NetworkError),
    /// It has something that the addresses of requests cannot begin with.
    #[error(
        "the address must not contain {0:?}, since the request's path is appended to it; put that part into the agent's base URL"
    )]
    Behind(char),
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
        if let Some(behind) = url.query().map(|_| '?').or(url.fragment().map(|_| '#')) {
            return Err(UpstreamError::Behind(behind));
        }
        let (builder, _) = network.client(&url)?;
        let client = builder.connect_timeout(CONNECT).build();
        Ok(Upstream {
            client: client.map_err(|error| UpstreamError::Client(error.without_url().to_string()))?,
            address: url,
            replaces_version: false,
        })
    }

    /// Sets the path of the address in place of the `/v1` of requests, as clients of OpenAI read their base URL: `https://api.example/v4` has
    /// `/v4/chat/completions`.
    pub fn replacing_version(self) -> Self {
        Upstream {
            replaces_version: true,
            ..self
        }
    }

    /// The client.
    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    /// The URL for a request to this path. The version of an interface stands there once, whether the address brings it or the request: vendors
    /// tell their base URLs with it.
    pub(crate) fn url(&self, path: &PathAndQuery) -> Url {
        let mut url = self.address.clone();
        let before = url.path().trim_end_matches('/').to_owned();
        let version = match self.replaces_version {
            true => Some("/v1"),
            false => ["/v1beta", "/v1"].into_iter().find(|version| before.ends_with(version)),
        };
        let rest = version.and_then(|version| path.path().strip_prefix(version));
        let rest = rest.filter(|rest| rest.is_empty() || rest.starts_with('/'));
        url.set_path(&format!("{before}{}", rest.unwrap_or(path.path())));
        url.set_query(path.query());
        url
    }

    /// Returns whether a server may read this path as one that leads upwards, and out of the address's own. Blanks and signs may be written by their
    /// numbers, a backslash stand for a slash, and something behind a semicolon: who reads it last decides. A path that is encoded more than three
    /// times is not read to its end.
    pub(crate) fn leads_upwards(path: &str) -> bool {
        // A number may be that of the sign that begins one.
        let path = path.to_ascii_lowercase().replace("%25", "%").replace("%25", "%");
        if path.contains("%25") {
            return true;
        }
        let path = path
            .replace("%2e", ".")
            .replace("%2f", "/")
            .replace("%5c", "/")
            .replace("%3b", ";");
        let mut names = path.split(['/', '\\']);
        names.any(|name| name.split(';').next() == Some(".."))
    }

    /// Returns whether it is the vendor's own, and not one that the user has named.
    pub(crate) fn is_usual(&self, provider: Provider) -> bool {
        let usual = Url::parse(provider.usual_address()).ok();
        usual.is_some_and(|usual| usual.host_str() == self.address.host_str())
    }

    /// The host, and the port if it is not the usual one, for words.
    pub(crate) fn place(&self) -> String {
        let host = self.address.host_str().unwrap_or_default();
        let port = self.address.port().map_or_else(String::new, |port| format!(":{port}"));
        format!("{host}{port}")
    }

    /// Returns whether this is the gateway that listens here, which would ask itself for ever.
    pub fn is_at(&self, listens: SocketAddr) -> bool {
        let is_port = self.address.port_or_known_default() == Some(listens.port());
        listens.port() != 0 && is_port && codelet_network::is_own_machine(&self.address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_leads_upwards_is_known_however_it_is_written() {
        for path in [
            "/..",
            "/v1/../../admin",
            "/v1/%2e%2E/admin",
            "/v1/.%2e/admin",
            "/v1/..\\admin",
            "/v1/..%5cadmin",
            "/v1/x%2f..%2Fadmin",
            "/v1/%252e%252e/admin",
            "/v1/%25252e./admin",
            "/v1/..;x/admin",
            // Encoded more often than is decoded here.
            &format!("/v1/%{}41", "25".repeat(30_000)),
        ] {
            assert!(Upstream::leads_upwards(path), "{path}");
        }
        for path in [
            "/v1/models/..a",
            "/v1/a..b/...",
            "/v1/./models",
            "/v1beta/models/g-2.5:generateContent",
            "/v1/files/a%2Fb%25",
        ] {
            assert!(!Upstream::leads_upwards(path), "{path}");
        }
    }

    #[test]
    fn the_path_of_an_address_stands_before_those_of_requests_and_a_password_is_not_repeated() {
        let upstream = Upstream::new("http://127.0.0.1:9/api/", &Network::default()).expect("it is an address");
        let url = upstream.url(&PathAndQuery::from_static("/v1/messages?beta=true"));
        assert_eq!(url.as_str(), "http://127.0.0.1:9/api/v1/messages?beta=true");
        for (address, path, url) in [
            (
                "https://a.example/api/v1",
                "/v1/chat/completions",
                "https://a.example/api/v1/chat/completions",
            ),
            ("https://a.example/v1/", "/v1", "https://a.example/v1"),
            (
                "https://a.example/v1beta",
                "/v1beta/models",
                "https://a.example/v1beta/models",
            ),
            (
                "https://a.example/v1",
                "/v1beta/models",
                "https://a.example/v1/v1beta/models",
            ),
            (
                "https://a.example/v1beta",
                "/v1/models",
                "https://a.example/v1beta/v1/models",
            ),
        ] {
            let upstream = Upstream::new(address, &Network::default()).expect("it is an address");
            assert_eq!(upstream.url(&PathAndQuery::from_static(path)).as_str(), url);
        }
        let upstream = Upstream::new("https://a.example/api/v4", &Network::default()).expect("it is an address");
        let upstream = upstream.replacing_version();
        for (path, url) in [
            ("/v1/chat/completions", "https://a.example/api/v4/chat/completions"),
            ("/chat/completions", "https://a.example/api/v4/chat/completions"),
            ("/v1beta/models", "https://a.example/api/v4/v1beta/models"),
        ] {
            assert_eq!(upstream.url(&PathAndQuery::from_static(path)).as_str(), url);
        }
        for address in ["https://a.example/?key=hidden", "https://a.example/#hidden"] {
            let said = Upstream::new(address, &Network::default()).unwrap_err().to_string();
            assert!(said.contains("is appended to it") && !said.contains("hidden"), "{said}");
        }
        let said = Upstream::new("ftp://user:hidden@example.com", &Network::default())
            .unwrap_err()
            .to_string();
        assert!(said.contains("ftp://") && !said.contains("hidden"), "{said}");
    }
}
