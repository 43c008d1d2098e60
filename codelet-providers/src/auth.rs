//! Authentication without a fixed key: a signature, or a token obtained first. Both are created when the request is
//! sent.

use crate::host::aws::{AwsSource, Scope, Signed};
use crate::host::google::AccessTokens;
use crate::network::Connection;
use crate::secret::Secret;
use crate::wait::{self, Received};
use bytes::Bytes;
use codelet_agent::model::ModelError;
use rig_core::http_client::HeaderValue;
use std::sync::Arc;
use std::time::SystemTime;

/// The service name in Bedrock's signatures.
const SERVICE: &str = "bedrock";
/// The clock difference, in seconds, below which it is not reported; AWS accepts five minutes.
const SKEW: u64 = 120;

/// The authentication added to a request when it is sent.
#[derive(Clone)]
pub(crate) enum Auth {
    /// None: the headers already contain it.
    Headers,
    /// A signature.
    Aws { source: AwsSource, region: String },
    /// A token.
    Google(Arc<AccessTokens>),
}

/// Words in AWS errors, and the advice for them.
const ADVICE: &[(&str, &str)] = &[
    (
        "expiredtoken",
        "the keys have expired: get new ones, such as by `aws configure export-credentials --format env`",
    ),
    (
        "on-demand throughput",
        "name an inference profile: `global.` or an area such as `us.` before the model",
    ),
];

impl Auth {
    /// Adds authentication for one request to its connection. The added credentials are redacted like a key.
    ///
    /// # Errors
    /// If the keys no longer exist, or the token server refuses.
    pub(crate) async fn authorize(
        &self,
        connection: &mut Connection,
        method: &str,
        body: &[Bytes],
    ) -> Result<(), ModelError> {
        match self {
            Auth::Headers => {}
            Auth::Aws { source, region } => {
                let refused = |said| ModelError::Credentials { said };
                let keys = source.keys().map_err(refused)?;
                let request = Signed {
                    method,
                    url: &connection.url,
                    headers: &[("content-type", "application/json")],
                    body,
                };
                let scope = Scope {
                    region,
                    service: SERVICE,
                    at: SystemTime::now(),
                };
                connection
                    .headers
                    .extend(request.headers(&keys, &scope).map_err(refused)?);
                connection.secrets = connection.secrets.with([Some(&keys.secret), keys.session.as_ref()]);
                // The secret key itself is never sent, so no reply can repeat it.
                connection.key = keys.session;
            }
            Auth::Google(tokens) => {
                let token = tokens.token().await?;
                let value = bearer(&token).ok_or_else(|| ModelError::Garbled {
                    said: "the token contains characters that no header can carry".to_owned(),
                })?;
                connection.headers.insert("authorization", value);
                if let Some(Ok(project)) = tokens.billed().map(HeaderValue::from_str) {
                    connection.headers.insert("x-goog-user-project", project);
                }
                connection.secrets = connection.secrets.with([Some(&token)]);
                connection.key = Some(token);
            }
        }
        Ok(())
    }

    /// Handles an error: a rejected token is not used again.
    pub(crate) async fn heed(&self, error: &ModelError, key: Option<&Secret>) {
        if let (Auth::Google(tokens), ModelError::Credentials { .. }, Some(token)) = (self, error, key) {
            tokens.forget(token).await;
        }
    }

    /// Adds advice to an error if the vendor's message contains none.
    pub(crate) fn explain(&self, error: ModelError, received: &Received) -> ModelError {
        let Auth::Aws { .. } = self else {
            return error;
        };
        match error {
            ModelError::Credentials { said } => ModelError::Credentials {
                said: advised(said, wait::skew(received)),
            },
            ModelError::Refused { said } => ModelError::Refused {
                said: advised(said, None),
            },
            ModelError::Rejected { said, .. } if said.contains("on-demand throughput") => ModelError::Refused {
                said: advised(said, None),
            },
            other => other,
        }
    }
}

/// Appends advice to the vendor's message. `skew` is the number of seconds by which this machine's clock is ahead of
/// the vendor's.
fn advised(said: String, skew: Option<i64>) -> String {
    let lower = said.to_ascii_lowercase();
    let is_signature = lower.contains("signature") && (lower.contains("expired") || lower.contains("not yet current"));
    if is_signature || lower.contains("requesttimetooskewed") {
        let off = skew.filter(|skew| skew.unsigned_abs() >= SKEW).map(|skew| {
            let way = if skew > 0 { "fast" } else { "slow" };
            format!(" ({} minutes {way})", skew.unsigned_abs().div_ceil(60))
        });
        return format!(
            "this computer's clock is wrong{}: set it, then try again: {said}",
            off.unwrap_or_default()
        );
    }
    let advice = ADVICE.iter().find(|(words, _)| lower.contains(words));
    advice.map_or(said.clone(), |(_, advice)| format!("{said}; {advice}"))
}

/// Returns the header value for a token; `None` if it contains characters that a header cannot carry.
fn bearer(key: &Secret) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(&format!("Bearer {}", key.reveal())).ok()?;
    value.set_sensitive(true);
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_clock_is_told_in_a_plain_sentence() {
        let said =
            "Signature expired: 20261128T120000Z is now earlier than 20261128T121500Z (403, InvalidSignatureException)";
        let told = advised(said.to_owned(), Some(-1_200));
        assert!(
            told.starts_with("this computer's clock is wrong (20 minutes slow): set it"),
            "{told}"
        );
        let told = advised("Signature not yet current: … (403)".to_owned(), Some(660));
        assert!(
            told.starts_with("this computer's clock is wrong (11 minutes fast): set it"),
            "{told}"
        );
        let other = "The request signature we calculated does not match the signature you provided. (403)";
        assert_eq!(advised(other.to_owned(), Some(-1_200)), other);
    }
}
