//! Uses a login in a session: its token is sent with each request and renewed before it expires.

use super::courier::LoginClient;
use super::{Login, Logins, is_given, tokens};
use crate::text::{Secrets, one_line};
use crate::{Options, Server, Trouble};
use async_trait::async_trait;
use codelet_network::Network;
use reqwest::Url;
use rmcp::transport::auth::{
    AuthError, AuthorizationManager, CredentialRefreshGuard, CredentialStore, StoredCredentials,
};
use std::sync::Arc;

/// The authorization for a server: the stored login for this very URL, or none.
pub(crate) async fn authorized(
    server: &Server,
    url: &Url,
    network: Network,
    options: &Options,
    secrets: &Secrets,
) -> Result<AuthorizationManager, Trouble> {
    let login = match &options.logins {
        Some(logins) if !is_given(&server.reach) => found(server, url, logins)?,
        _ => None,
    };
    let courier = Arc::new(LoginClient::new(network, url));
    let resource = login.as_ref().map_or(url.as_str(), |(_, login)| &login.resource);
    let made = AuthorizationManager::new_with_oauth_http_client(resource, courier).await;
    let mut manager = made.map_err(|error| unusable(&server.name, error))?;
    if let Some((logins, login)) = login {
        secrets.learn(login.secrets());
        manager.set_metadata(login.metadata.clone());
        let configured = manager.configure_client(login.client());
        configured.map_err(|error| unusable(&server.name, error))?;
        manager.set_credential_store(Store {
            logins,
            name: server.name.clone(),
            server: login.server,
            secrets: secrets.clone(),
        });
    }
    Ok(manager)
}

/// The login for this server; `None` if there is none for its URL.
fn found(server: &Server, url: &Url, logins: &Logins) -> Result<Option<(Logins, Login)>, Trouble> {
    let login = logins
        .read(&server.name)
        .map_err(|error| unusable(&server.name, error))?;
    // Another URL under the same name gets nothing.
    let login = login.filter(|login| login.server == url.as_str());
    Ok(login.map(|login| (logins.clone(), login)))
}

fn unusable(name: &str, error: impl std::fmt::Display) -> Trouble {
    Trouble::Unreachable(format!(
        "its login cannot be used: {}; log in again with `codelet mcp login {name}`",
        one_line(&error.to_string(), 200)
    ))
}

/// The stored login in the form that the library needs.
struct Store {
    logins: Logins,
    name: String,
    /// The URL for which the login was created.
    server: String,
    secrets: Secrets,
}

impl Store {
    fn login(&self) -> Result<Option<Login>, AuthError> {
        let login = self.logins.read(&self.name).map_err(|error| failed(&error))?;
        Ok(login.filter(|login| login.server == self.server))
    }
}

fn failed(error: &std::io::Error) -> AuthError {
    AuthError::CredentialStoreError(error.to_string())
}

#[async_trait]
impl CredentialStore for Store {
    async fn load(&self) -> Result<Option<StoredCredentials>, AuthError> {
        let credentials = self.login()?.map(|login| login.credentials);
        // The user may have logged in again in another process.
        self.secrets.learn(credentials.iter().flat_map(tokens).collect());
        Ok(credentials)
    }

    async fn save(&self, credentials: StoredCredentials) -> Result<(), AuthError> {
        self.secrets.learn(tokens(&credentials));
        // A renewal must not undo a logout.
        let Some(login) = self.login()? else {
            return Ok(());
        };
        let login = Login { credentials, ..login };
        self.logins.write(&self.name, &login).map_err(|error| failed(&error))
    }

    async fn clear(&self) -> Result<(), AuthError> {
        self.logins.remove(&self.name).map_err(|error| failed(&error)).map(drop)
    }

    /// Concurrent sessions renew one after another, since a refresh token may be valid only once.
    async fn acquire_refresh_guard(&self) -> Result<Option<CredentialRefreshGuard>, AuthError> {
        let logins = self.logins.clone();
        let locked = tokio::task::spawn_blocking(move || logins.lock()).await;
        let locked = locked.unwrap_or_else(|error| Err(std::io::Error::other(error)));
        let guard = locked.map_err(|error| failed(&error))?;
        Ok(Some(CredentialRefreshGuard::new(guard)))
    }
}
