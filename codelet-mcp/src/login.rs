//! Logins at servers by OAuth 2.1: an authorization code with PKCE, asked for in the user's browser.
//!
//! A login begins only with [`log_in`], which the user calls by name; no session and no project begins one. What comes of it
//! is a file of [`Logins`], and a session that finds one sends its token to the very address that it was made for, and renews
//! it at the token endpoint that was found when the user logged in, never at one that a server names later.
//!
//! `courier` makes each request, `flow` is the login, `callback` hears of its end, `file` keeps it, `session` uses it.

mod callback;
mod courier;
mod file;
mod flow;
mod session;

pub use file::Logins;
pub(crate) use flow::told;
pub use flow::{Invitation, log_in};
pub(crate) use session::authorized;

use crate::Reach;
use rmcp::transport::auth::{AuthorizationMetadata, OAuthClientConfig, StoredCredentials};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A login, as it is kept.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Login {
    /// The address of the server, as in the settings; the token is sent there and nowhere else.
    server: String,
    /// What the token is for, in the server's own words (RFC 8707).
    resource: String,
    /// Where the token is renewed, and how.
    metadata: AuthorizationMetadata,
    /// A secret of this client, if registering it gave one.
    client_secret: Option<String>,
    /// The tokens, when they came, and whose they are.
    credentials: StoredCredentials,
}

impl Login {
    /// What nobody is to see.
    fn secrets(&self) -> Vec<String> {
        tokens(&self.credentials)
            .into_iter()
            .chain(self.client_secret.clone())
            .collect()
    }

    /// The client that logged in.
    fn client(&self) -> OAuthClientConfig {
        let config = OAuthClientConfig::new(&self.credentials.client_id, &self.resource);
        match &self.client_secret {
            Some(secret) => config.with_client_secret(secret),
            None => config,
        }
    }
}

/// The tokens in an answer of an authorization server: `access_token`, `refresh_token`, and whatever else goes by such a name.
fn tokens(credentials: &StoredCredentials) -> Vec<String> {
    let answer = serde_json::to_value(&credentials.token_response).unwrap_or_default();
    let fields = answer.as_object().into_iter().flatten();
    let tokens = fields.filter(|(name, _)| name.ends_with("_token"));
    let tokens = tokens.filter_map(|(_, value)| value.as_str());
    tokens.map(str::to_owned).collect()
}

/// The parts of what an authorization server says of itself that a renewal needs.
fn needed(metadata: &AuthorizationMetadata) -> AuthorizationMetadata {
    const METHODS: &str = "token_endpoint_auth_methods_supported";
    let mut needed = AuthorizationMetadata::default();
    needed
        .authorization_endpoint
        .clone_from(&metadata.authorization_endpoint);
    needed.token_endpoint.clone_from(&metadata.token_endpoint);
    needed.issuer.clone_from(&metadata.issuer);
    let methods: Option<&Value> = metadata.additional_fields.get(METHODS);
    let methods = methods.map(|methods| (METHODS.to_owned(), methods.clone()));
    needed.additional_fields.extend(methods);
    needed
}

/// Whether the settings of a server name what it is to let the user in by, so that no login is used.
pub(crate) fn is_given(reach: &Reach) -> bool {
    let Reach::Http { headers, .. } = reach else {
        return false;
    };
    headers
        .iter()
        .any(|(name, _)| name.eq_ignore_ascii_case("authorization"))
}
