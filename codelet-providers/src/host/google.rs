//! Google's Application Default Credentials: the file of a service account's key or a user's login, and the access
//! tokens obtained with it.
//!
//! Formats of the files and of the exchange: google.aip.dev/auth/4110 to 4113, and
//! developers.google.com/identity/protocols/oauth2/service-account (November 2026).

use crate::network::{Answer, Connection};
use crate::secret::Secret;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use codelet_agent::model::ModelError;
use codelet_network::is_own_machine;
use rig_reqwest::reqwest::Url;
use ring::rand::SystemRandom;
use ring::signature::{RSA_PKCS1_SHA256, RsaKeyPair};
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject as _;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio::sync::Mutex;
use tokio::time::Instant;

/// The token server, unless the file names another one.
const TOKEN_SERVER: &str = "https://oauth2.googleapis.com/token";
/// The OAuth scope of a token.
const PURPOSE: &str = "https://www.googleapis.com/auth/cloud-platform";
/// The grant type for a service account's signed assertion.
const BY_SIGNATURE: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";
/// The lifetime of a signed assertion, the maximum that Google accepts.
const HOLDS: Duration = Duration::from_secs(3_600);
/// The remaining lifetime at which a token is renewed, so that it cannot expire before the answer to a request begins.
const RENEWED_BEFORE: Duration = Duration::from_secs(300);
/// The advice for an unusable file.
const OTHERWISE: &str =
    "set $CLOUDSDK_AUTH_ACCESS_TOKEN to what `gcloud auth application-default print-access-token` prints";

/// Credentials for obtaining tokens: a service account's key, or a user's login.
#[derive(Clone)]
pub struct GoogleCredentials {
    kind: Kind,
    server: Url,
    /// The project that the file names.
    project: Option<String>,
    /// The project billed for a user's requests.
    quota_project: Option<String>,
    /// Called with each token obtained.
    told: Option<Arc<Tell>>,
}

type Tell = dyn Fn(&Secret) + Send + Sync;

#[derive(Clone)]
enum Kind {
    Account {
        email: String,
        key_id: Option<String>,
        key: Arc<RsaKeyPair>,
        /// The key's lines as in the file, for redaction.
        lines: Vec<String>,
    },
    User {
        client: String,
        client_secret: Secret,
        refresh: Secret,
    },
}

impl GoogleCredentials {
    /// Parses the text of a credentials file.
    ///
    /// # Errors
    /// If it is invalid, or of an unsupported type; the sentence quotes only the type.
    pub fn read(text: &str) -> Result<Self, String> {
        let file: Value = serde_json::from_str(text).map_err(|_| "it is not valid JSON".to_owned())?;
        let field = |name: &str| {
            file.get(name)
                .and_then(Value::as_str)
                .filter(|text| !text.trim().is_empty())
        };
        let needed = |name: &str| field(name).ok_or_else(|| format!("it has no {name}"));
        let kind = match needed("type")? {
            "service_account" => Kind::Account {
                email: needed("client_email")?.to_owned(),
                key_id: field("private_key_id").map(str::to_owned),
                key: Arc::new(private_key(needed("private_key")?)?),
                lines: needed("private_key")?
                    .lines()
                    .map(str::to_owned)
                    .filter(|line| line.len() > 16 && !line.contains('-'))
                    .collect(),
            },
            "authorized_user" => Kind::User {
                client: needed("client_id")?.to_owned(),
                client_secret: Secret::new(needed("client_secret")?),
                refresh: Secret::new(needed("refresh_token")?),
            },
            other => {
                let other: String = other
                    .chars()
                    .filter(|c| c.is_ascii_alphanumeric() || *c == '_')
                    .take(40)
                    .collect();
                return Err(format!(
                    "it is of the type {other}, which is not supported: {OTHERWISE}"
                ));
            }
        };
        let server = Url::parse(field("token_uri").unwrap_or(TOKEN_SERVER)).ok();
        let server = server.filter(|url| url.scheme() == "https" || url.scheme() == "http" && is_own_machine(url));
        Ok(GoogleCredentials {
            kind,
            server: server.ok_or("its token_uri must start with https://")?,
            project: field("project_id").or(field("quota_project_id")).map(str::to_owned),
            quota_project: field("quota_project_id").map(str::to_owned),
            told: None,
        })
    }

    /// Returns the credentials with a function that is called with each token before its first use, for redaction.
    pub fn telling(self, told: impl Fn(&Secret) + Send + Sync + 'static) -> Self {
        GoogleCredentials {
            told: Some(Arc::new(told)),
            ..self
        }
    }

    /// Returns the project that the file names, if any.
    pub fn project(&self) -> Option<&str> {
        self.project.as_deref()
    }

    /// Returns the secrets in the credentials.
    pub fn secrets(&self) -> Vec<String> {
        match &self.kind {
            Kind::Account { lines, .. } => lines.clone(),
            Kind::User {
                client_secret, refresh, ..
            } => {
                vec![client_secret.reveal().to_owned(), refresh.reveal().to_owned()]
            }
        }
    }

    /// Returns the token server.
    pub(crate) fn server(&self) -> &Url {
        &self.server
    }

    /// Returns the project for the billing header, which only user logins need.
    pub(crate) fn billed(&self) -> Option<&str> {
        matches!(self.kind, Kind::User { .. })
            .then_some(self.quota_project.as_deref())
            .flatten()
    }

    /// Returns the form that requests a token.
    fn form(&self, now: SystemTime) -> Result<String, String> {
        let mut form = Url::parse("http://form/").map_err(|error| error.to_string())?;
        match &self.kind {
            Kind::Account { email, key_id, key, .. } => {
                let word = signed(key, key_id.as_deref(), email, &self.server, now)?;
                let mut pairs = form.query_pairs_mut();
                pairs
                    .append_pair("grant_type", BY_SIGNATURE)
                    .append_pair("assertion", &word);
            }
            Kind::User {
                client,
                client_secret,
                refresh,
            } => {
                let mut pairs = form.query_pairs_mut();
                pairs
                    .append_pair("grant_type", "refresh_token")
                    .append_pair("client_id", client);
                pairs
                    .append_pair("client_secret", client_secret.reveal())
                    .append_pair("refresh_token", refresh.reveal());
            }
        }
        Ok(form.query().unwrap_or_default().to_owned())
    }

    /// Returns advice for a rejection by the server.
    fn advice(&self, said: &str) -> &'static str {
        match &self.kind {
            Kind::User { .. } => "run `gcloud auth application-default login`",
            Kind::Account { .. } if said.contains("iat") || said.contains("timeframe") => {
                "this computer's clock is wrong: set it"
            }
            Kind::Account { .. } => "check the service account's key file, or make a new key",
        }
    }
}

impl std::fmt::Debug for GoogleCredentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("[credentials]")
    }
}

fn private_key(pem: &str) -> Result<RsaKeyPair, String> {
    let unusable = || "its private_key is not a valid RSA key".to_owned();
    match PrivateKeyDer::from_pem_slice(pem.as_bytes()).map_err(|_| unusable())? {
        PrivateKeyDer::Pkcs8(der) => RsaKeyPair::from_pkcs8(der.secret_pkcs8_der()).map_err(|_| unusable()),
        PrivateKeyDer::Pkcs1(der) => RsaKeyPair::from_der(der.secret_pkcs1_der()).map_err(|_| unusable()),
        _ => Err(unusable()),
    }
}

/// Returns a service account's signed assertion (a JSON Web Token, RS256).
fn signed(
    key: &RsaKeyPair,
    key_id: Option<&str>,
    email: &str,
    server: &Url,
    now: SystemTime,
) -> Result<String, String> {
    let since = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
    let mut head = json!({"alg": "RS256", "typ": "JWT"});
    if let Some(key_id) = key_id {
        head["kid"] = json!(key_id);
    }
    let claims =
        json!({"iss": email, "scope": PURPOSE, "aud": server.as_str(), "iat": since, "exp": since + HOLDS.as_secs()});
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let text = format!("{}.{}", part(&head), part(&claims));
    let mut signature = vec![0; key.public().modulus_len()];
    key.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), text.as_bytes(), &mut signature)
        .map_err(|_| "its private_key cannot sign".to_owned())?;
    Ok(format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature)))
}

/// A cache for the access token, shared by all requests and renewed before it expires.
pub(crate) struct AccessTokens {
    credentials: GoogleCredentials,
    connection: Connection,
    kept: Mutex<Option<(Secret, Instant)>>,
}

impl AccessTokens {
    /// Creates the cache; the first token is requested on demand. `connection` leads to the credentials' token server.
    pub(crate) fn new(credentials: GoogleCredentials, connection: Connection) -> Self {
        AccessTokens {
            credentials,
            connection,
            kept: Mutex::default(),
        }
    }

    /// Returns the project for the billing header.
    pub(crate) fn billed(&self) -> Option<&str> {
        self.credentials.billed()
    }

    /// Returns a token that is valid for a while; concurrent requests wait for the same one.
    ///
    /// # Errors
    /// If the server refuses, is unreachable, or sends an invalid response.
    pub(crate) async fn token(&self) -> Result<Secret, ModelError> {
        let mut kept = self.kept.lock().await;
        if let Some((token, until)) = &*kept
            && Instant::now() < *until
        {
            return Ok(token.clone());
        }
        let form = self.credentials.form(SystemTime::now());
        let form = form.map_err(|said| ModelError::Credentials { said })?;
        let (token, lasts) = self.read(self.connection.form(form).await?)?;
        if let Some(told) = &self.credentials.told {
            told(&token);
        }
        *kept = Some((token.clone(), Instant::now() + lasts.saturating_sub(RENEWED_BEFORE)));
        Ok(token)
    }

    /// Forgets a rejected token, so that the next request obtains a new one.
    pub(crate) async fn forget(&self, token: &Secret) {
        let mut kept = self.kept.lock().await;
        if kept.as_ref().is_some_and(|(own, _)| own == token) {
            *kept = None;
        }
    }

    fn read(&self, answer: Answer) -> Result<(Secret, Duration), ModelError> {
        let place = self.credentials.server.host_str().unwrap_or("?");
        let body: Value = serde_json::from_str(&answer.body).unwrap_or_default();
        let text = |name: &str| body.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
        if answer.status == 200 {
            let token = text("access_token").map(Secret::new);
            let lasts = body.get("expires_in").and_then(Value::as_u64).map(Duration::from_secs);
            return token
                .map(|token| (token, lasts.unwrap_or_default()))
                .ok_or(ModelError::Garbled {
                    said: format!("{place} gave no token"),
                });
        }
        let said = text("error_description")
            .or(text("error"))
            .unwrap_or("no reason was given");
        let mut said = self.connection.scrub(said);
        said = codelet_text::short::clip(&said, 300).into_owned();
        let status = answer.status;
        Err(match status {
            400..=403 => ModelError::Credentials {
                said: format!(
                    "{place} gave no token: {said} ({status}); {}",
                    self.credentials.advice(&said)
                ),
            },
            408 | 429 | 500..=599 => ModelError::Busy {
                retry_after: None,
                said: format!("{place} gave no token: {said} ({status})"),
            },
            _ => ModelError::Refused {
                said: format!("{place} gave no token: {said} ({status})"),
            },
        })
    }
}

#[cfg(test)]
mod tests;
