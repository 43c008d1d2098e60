//! How servers are reached over HTTP: through which proxy, and whose certificates are trusted.
//!
//! Providers and servers of tools are reached by the same rules, which are curl's. Which variable or setting says what is
//! decided elsewhere: what holds comes in as a [`Network`], and no variable is read here.
//!
//! Start with [`Network::client`]; `proxy` says which server is reached through which proxy, `trust` reads certificates.

mod proxy;
mod trust;

pub use proxy::{Named, Proxies, Proxy, is_own_machine};
pub use trust::{Trust, TrustedBy};

use reqwest::redirect::Policy;
use reqwest::{Client, ClientBuilder, Url};
use std::sync::Arc;

/// How servers are reached, beside their addresses.
#[derive(Clone, Debug, Default)]
pub struct Network {
    /// The proxies to go through.
    pub proxies: Proxies,
    /// The certificates that are trusted.
    pub trust: Trust,
}

/// Why no server can be reached like this.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NetworkError {
    /// What names a proxy names none. It may hold a password, so it is not repeated.
    #[error("{name} is not a usable proxy: {why}")]
    Proxy {
        /// The variable.
        name: String,
        /// What is wrong with it.
        why: String,
    },
    /// Certificates that are to be trusted cannot be.
    #[error("{name}: {why}")]
    Certificates {
        /// The variable or setting that names them.
        name: String,
        /// What is wrong with them.
        why: String,
    },
    /// The client cannot be set up.
    #[error("{why}")]
    Client {
        /// The library's words.
        why: String,
    },
}

impl Network {
    /// A client for the server at this address, which follows no redirection and reads no environment, and the proxy
    /// through which it goes. Certificates that the user names are read before this returns; those of the system are read
    /// in the background, and waited for when a server shows its own.
    ///
    /// # Errors
    /// When the proxy cannot be used, or certificates that the user names cannot be.
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
            // Checks as the library's own does, with roots that are there when they are needed.
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
