//! The login itself, from the user's command to the stored file.

use super::callback::Callback;
use super::courier::LoginClient;
use super::{Login, is_given, needed};
use crate::address::{address, trusting};
use crate::text::{Secrets, one_line};
use crate::{Options, Reach, Server};
use codelet_agent::interrupt::Interrupt;
use reqwest::Url;
use rmcp::transport::auth::{
    AuthError, AuthorizationManager, CredentialStore as _, InMemoryCredentialStore, OAuthClientConfig,
};
use std::sync::Arc;
use std::time::Duration;

/// Time limit for the user in the browser.
const PATIENCE: Duration = Duration::from_secs(600);
/// Timeout of each other step, above all discovery with its many requests.
const MOST: Duration = Duration::from_secs(60);

/// Instructions for the user.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Invitation {
    /// The authorization server that asks for the login, as scheme, host and port.
    pub authority: String,
    /// The URL to open in a browser. It contains no secret.
    pub url: String,
}

/// Logs the user in at a server: `invite` shows the URL to open, and the result is stored in the logins of the options.
/// All texts are for a person and contain no secrets.
///
/// # Errors
/// If the server offers no login, its authorization server is unreachable or misconfigured, the user refuses or
/// interrupts, or the login cannot be stored.
pub async fn log_in(
    server: &Server,
    options: &Options,
    invite: &mut dyn FnMut(&Invitation),
    interrupt: &Interrupt,
) -> Result<(), String> {
    let Reach::Http {
        url,
        authorities,
        client_id,
        ..
    } = &server.reach
    else {
        return Err("it is a program, and logins are for servers with a `url`".to_owned());
    };
    if is_given(&server.reach) {
        return Err(
            "its `headers` set Authorization, which is used instead of a login; remove it to log in".to_owned(),
        );
    }
    let logins = options
        .logins
        .as_ref()
        .ok_or("there is no folder to save the login in")?;
    let address = address(url).map_err(|trouble| trouble.to_string())?;
    let network = trusting(&options.network, authorities).map_err(|trouble| trouble.to_string())?;
    let courier = LoginClient::new(network, &address);
    if let Some(why) = courier.refusal(&address) {
        return Err(format!("{why}: a token would be sent unencrypted"));
    }
    let secrets = Secrets::new(options.secrets.iter().map(String::as_str)).with(options.session_secrets.as_ref());
    let login = tokio::select! {
        biased;
        () = interrupt.thrown() => Err("interrupted".to_owned()),
        login = obtained(&address, courier, client_id.as_deref(), invite, &secrets) => login,
    };
    let login = login.map_err(|why| secrets.hide(why))?;
    let kept = logins.write(&server.name, &login);
    kept.map_err(|error| {
        let path = logins.path(&server.name);
        format!("{}: {error}", one_line(&path.display().to_string(), 300))
    })
}

async fn obtained(
    address: &Url,
    courier: LoginClient,
    client_id: Option<&str>,
    invite: &mut dyn FnMut(&Invitation),
    secrets: &Secrets,
) -> Result<Login, String> {
    let callback = Callback::listen().await.map_err(|error| words(&error))?;
    let courier = Arc::new(courier);
    let made = AuthorizationManager::new_with_oauth_http_client(address.clone(), courier.clone()).await;
    let mut manager = made.map_err(|error| told(&error))?;
    let store = InMemoryCredentialStore::new();
    manager.set_credential_store(store.clone());
    let found = in_time(manager.resolve_metadata()).await?;
    if !found.source.is_discovered() {
        return Err("it names no authorization server, so you cannot log in".to_owned());
    }
    let metadata = found.metadata;
    let token = checked(&metadata.token_endpoint, &courier)?;
    let page = checked(&metadata.authorization_endpoint, &courier)?;
    manager.set_metadata(metadata.clone());
    let scopes = manager.select_initial_scopes(&[]).await;
    let scopes: Vec<&str> = scopes.iter().map(String::as_str).collect();
    let client = match client_id {
        Some(id) => {
            let client = OAuthClientConfig::new(id, callback.url());
            manager.configure_client(client.clone()).map_err(|error| told(&error))?;
            client
        }
        None if metadata.registration_endpoint.is_none() => {
            return Err(format!(
                "{} does not register clients automatically: register Codelet there, with http://127.0.0.1/callback on any port as its redirect address, and set the `client_id` that you get in the settings of the server",
                token.origin().ascii_serialization()
            ));
        }
        None => {
            let redirect = callback.url();
            in_time(manager.register_client("Codelet", &redirect, &scopes)).await?
        }
    };
    secrets.learn(client.client_secret.iter().cloned().collect());
    let url = manager.get_authorization_url(&scopes).await;
    let url = checked(&url.map_err(|error| told(&error))?, &courier)?;
    let one = |name: &str| {
        let found = url.query_pairs().find(|(key, _)| key == name);
        found.map_or_else(String::new, |(_, value)| value.into_owned())
    };
    let (state, resource) = (one("state"), one("resource"));
    invite(&Invitation {
        authority: page.origin().ascii_serialization(),
        url: url.to_string(),
    });
    let brought = tokio::time::timeout(PATIENCE, callback.wait(&state)).await;
    let brought = brought.map_err(|_| "nobody logged in within ten minutes".to_owned())?;
    let brought = brought.map_err(|error| words(&error))?;
    let code = brought
        .code
        .map_err(|why| format!("the login was refused ({})", one_line(&why, 200)))?;
    secrets.learn(vec![code.clone()]);
    in_time(manager.exchange_code_for_token_with_issuer(&code, &state, brought.issuer.as_deref())).await?;
    let credentials = store.load().await.map_err(|error| told(&error))?;
    Ok(Login {
        server: address.to_string(),
        resource,
        metadata: needed(&metadata),
        client_secret: client.client_secret,
        credentials: credentials.ok_or("the authorization server gave no token")?,
    })
}

/// Parses a URL that a server names, if requests may be sent there.
fn checked(named: &str, courier: &LoginClient) -> Result<Url, String> {
    let url = Url::parse(named).map_err(|_| "its authorization server names an invalid address".to_owned())?;
    match courier.refusal(&url) {
        None => Ok(url),
        Some(why) => Err(format!("its authorization server cannot be used: {why}")),
    }
}

async fn in_time<T>(asked: impl Future<Output = Result<T, AuthError>>) -> Result<T, String> {
    let answered = tokio::time::timeout(MOST, asked).await;
    let answered = answered.map_err(|_| format!("no answer within {} s", MOST.as_secs()))?;
    answered.map_err(|error| told(&error))
}

/// Describes an error by the library's message and its innermost cause, if there is one.
pub(crate) fn told(error: &AuthError) -> String {
    let said = one_line(&error.to_string(), 400);
    let cause = std::error::Error::source(error).map(|error| {
        let causes = std::iter::successors(Some(error), |error| error.source());
        let cause = causes.last().unwrap_or(error).to_string();
        one_line(cause.split(" (os error").next().unwrap_or(&cause), 200)
    });
    match cause {
        Some(cause) if !said.contains(&cause) => format!("{said}: {cause}"),
        _ => said,
    }
}

fn words(error: &std::io::Error) -> String {
    one_line(&error.to_string(), 200)
}
