//! Makes the requests of a login: encrypted, through the user's proxy, with the certificates that the user trusts, and
//! without following redirects, since a request may contain a code or a token.

use codelet_network::{Network, is_own_machine};
use http::Response;
use reqwest::Url;
use rmcp::transport::auth::{OAuthHttpClient, OAuthHttpClientError, OAuthHttpClientFuture, OAuthHttpRequest};
use std::time::Duration;

/// Timeout of a request.
const MOST: Duration = Duration::from_secs(20);
/// Largest response, in bytes.
const LONGEST: usize = 1024 * 1024;

/// The HTTP client of a login at one server.
pub(crate) struct LoginClient {
    network: Network,
    /// True if the server is on this machine, where encryption is not required.
    is_own: bool,
}

impl LoginClient {
    /// Creates the client for a server at this URL.
    pub(crate) fn new(network: Network, server: &Url) -> Self {
        LoginClient {
            network,
            is_own: is_own_machine(server),
        }
    }

    /// The reason why nothing may be sent to this URL; `None` if it may be used.
    pub(crate) fn refusal(&self, url: &Url) -> Option<String> {
        let origin = || url.origin().ascii_serialization();
        if !url.username().is_empty() || url.password().is_some() {
            return Some(format!(
                "the address that it names at {} contains a user name",
                origin()
            ));
        }
        let is_safe = match url.scheme() {
            "https" => url.has_host(),
            "http" => self.is_own && is_own_machine(url),
            _ => false,
        };
        (!is_safe).then(|| match url.has_host() {
            true => format!("{} is not encrypted", origin()),
            false => format!(
                "an address that starts with {}: cannot be used for a login",
                url.scheme()
            ),
        })
    }
}

impl OAuthHttpClient for LoginClient {
    fn execute(&self, asked: OAuthHttpRequest) -> OAuthHttpClientFuture<'_> {
        Box::pin(async move {
            let request = reqwest::Request::try_from(asked.request)?;
            if let Some(why) = self.refusal(request.url()) {
                return Err(OAuthHttpClientError::from(why));
            }
            let (builder, _) = self.network.client(request.url())?;
            let client = builder.connect_timeout(MOST).timeout(MOST).build()?;
            let mut came = client.execute(request).await.map_err(reqwest::Error::without_url)?;
            let mut answer = Response::builder().status(came.status());
            for (name, value) in came.headers() {
                answer = answer.header(name, value);
            }
            let mut body = Vec::new();
            while let Some(chunk) = came.chunk().await.map_err(reqwest::Error::without_url)? {
                if body.len() + chunk.len() > LONGEST {
                    return Err(OAuthHttpClientError::from("the answer is too long"));
                }
                body.extend_from_slice(&chunk);
            }
            Ok(answer.body(body)?)
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn only_what_is_encrypted_or_stays_on_this_machine_is_asked() {
        for (server, url, may) in [
            ("https://mcp.test/a", "https://auth.test/token", true),
            ("https://mcp.test/a", "http://auth.test/token", false),
            ("https://mcp.test/a", "http://127.0.0.1:1/token", false),
            ("http://127.0.0.1:9/a", "http://127.0.0.1:1/token", true),
            ("http://127.0.0.1:9/a", "http://10.0.0.1/token", false),
            ("https://mcp.test/a", "https://me:key@auth.test/token", false),
            ("https://mcp.test/a", "file:///etc/passwd", false),
            ("https://mcp.test/a", "javascript:alert(1)", false),
        ] {
            let courier = LoginClient::new(Network::default(), &server.parse().unwrap());
            let refusal = courier.refusal(&url.parse().unwrap());
            assert_eq!(refusal.is_none(), may, "{url}: {refusal:?}");
        }
    }
}
