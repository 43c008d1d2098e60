//! Logins at servers by OAuth 2.1: the authorization code flow with PKCE, in the user's browser.
//!
//! A login starts only with [`log_in`], which the user calls explicitly; no session and no project can start one. The
//! result is a file of [`Logins`]. A session that finds it sends the token only to the URL for which it was created,
//! and renews it at the token endpoint found during the login, never at one that a server names later.
//!
//! `courier` makes the requests, `flow` runs the login, `callback` receives its result, `file` stores it, `session`
//! uses it.

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

/// A login as it is stored.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Login {
    /// The URL of the server, as in the settings; the token is sent only there.
    server: String,
    /// The resource that the token is for, in the server's own words (RFC 8707).
    resource: String,
    /// The endpoint where the token is renewed, with its metadata.
    metadata: AuthorizationMetadata,
    /// The client's secret, if registration returned one.
    client_secret: Option<String>,
    /// The tokens, the time they were received, and the client ID.
    credentials: StoredCredentials,
}

impl Login {
    /// Values that must not be shown.
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

/// The tokens in a response of an authorization server: `access_token`, `refresh_token`, and every other field with
/// such a name.
fn tokens(credentials: &StoredCredentials) -> Vec<String> {
    let answer = serde_json::to_value(&credentials.token_response).unwrap_or_default();
    let fields = answer.as_object().into_iter().flatten();
    let tokens = fields.filter(|(name, _)| name.ends_with("_token"));
    let tokens = tokens.filter_map(|(_, value)| value.as_str());
    tokens.map(str::to_owned).collect()
}

/// The parts of an authorization server's metadata that a renewal needs.
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

/// Returns whether a server's settings contain credentials, so that no login is used.
pub(crate) fn is_given(reach: &Reach) -> bool {
    let Reach::Http { headers, .. } = reach else {
        return false;
    };
    headers
        .iter()
        .any(|(name, _)| name.eq_ignore_ascii_case("authorization"))
}
