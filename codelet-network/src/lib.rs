//! Proxies and trusted certificates for HTTP connections to servers.
//!
//! Providers and MCP servers are reached by the same rules, which are curl's. The variables and settings are read
//! elsewhere and come in as a [`Network`]; no variable is read here.
//!
//! Start with [`Network::client`]; `proxy` chooses the proxy for a server, `trust` reads certificates.

mod proxy;
mod trust;

pub use proxy::{Named, Proxies, Proxy, is_own_machine};
pub use trust::{Trust, TrustedBy};

use reqwest::redirect::Policy;
use reqwest::{Client, ClientBuilder, Url};
use std::sync::Arc;

/// The proxies and certificates for reaching servers.
#[derive(Clone, Debug, Default)]
pub struct Network {
    /// The proxies.
    pub proxies: Proxies,
    /// The trusted certificates.
    pub trust: Trust,
}

/// Reasons why no server can be reached with these settings.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NetworkError {
    /// The value of a proxy variable is not usable. It may contain a password, so it is not repeated.
    #[error("{name} is not a usable proxy: {why}")]
    Proxy {
        /// The variable.
        name: String,
        /// The problem with it.
        why: String,
    },
    /// Certificates that should be trusted cannot be.
    #[error("{name}: {why}")]
    Certificates {
        /// The variable or setting that names them.
        name: String,
        /// The problem with them.
        why: String,
    },
    /// The client cannot be set up.
    #[error("{why}")]
    Client {
        /// The library's message.
        why: String,
    },
}

impl Network {
    /// Creates a client for the server at this URL, which follows no redirects and reads no environment variables; also
    /// returns its proxy. Certificates that the user names are read before this returns; those of the system are read
    /// in the background, and awaited when a server presents its certificate.
    ///
    /// # Errors
    /// If the proxy, or certificates that the user names, cannot be used.
    pub fn client(&self, server: &Url) -> Result<(ClientBuilder, Option<Proxy>), NetworkError> {
        let unusable = |error: &dyn std::error::Error| NetworkError::Client { why: error.to_string() };
        let proxy = self.proxies.of(server)?;
        let is_encrypted = |url: &Url| url.scheme() == "https";
        if is_encrypted(server) || proxy.as_ref().is_some_and(|proxy| is_encrypted(proxy.url())) {
            self.trust.prepare()?;
        }
        let tls = rustls::ClientConfig::builder_with_provider(trust::provider())
            .with_safe_default_protocol_versions()
            .map_err(|error| unusable(&error))?
            .dangerous()
            // Verifies like the library's default, with roots that are loaded on demand.
            .with_custom_certificate_verifier(Arc::new(self.trust.clone()))
            .with_no_client_auth();
        let mut builder = Client::builder()
            .tls_backend_preconfigured(tls)
            .no_proxy()
            .redirect(Policy::none())
            .user_agent(concat!("codelet/", env!("CARGO_PKG_VERSION")));
        if let Some(proxy) = &proxy {
            let through = reqwest::Proxy::all(proxy.url().clone()).map_err(|error| unusable(&error.without_url()))?;
            builder = builder.proxy(through);
        }
        Ok((builder, proxy))
    }
}
