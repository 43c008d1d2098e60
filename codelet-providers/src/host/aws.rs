//! AWS: account keys, the files that contain them, and request signatures.

use crate::secret::Secret;
use aws_credential_types::Credentials;
use aws_sigv4::http_request::{SignableBody, SignableRequest, SigningSettings, sign};
use aws_sigv4::sign::v4::SigningParams;
use bytes::Bytes;
use rig_core::http_client::{HeaderMap, HeaderValue};
use rig_reqwest::reqwest::Url;
use sha2::{Digest as _, Sha256};
use std::sync::Arc;
use std::time::SystemTime;

/// The keys of an account, possibly temporary.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AwsKeys {
    /// The key id, which is not secret.
    pub id: String,
    /// The signing key.
    pub secret: Secret,
    /// The session token of temporary keys.
    pub session: Option<Secret>,
}

/// A source of keys, queried for each request: a program of the user's may renew them in their file.
#[derive(Clone)]
pub struct AwsSource(Arc<Find>);

type Find = dyn Fn() -> Result<AwsKeys, String> + Send + Sync;

impl AwsSource {
    /// Creates a source from a function that returns the keys, or explains in a sentence why there are none.
    pub fn new(find: impl Fn() -> Result<AwsKeys, String> + Send + Sync + 'static) -> Self {
        AwsSource(Arc::new(find))
    }

    /// Returns the current keys.
    ///
    /// # Errors
    /// Explains in a sentence why there are none any more.
    pub fn keys(&self) -> Result<AwsKeys, String> {
        (self.0)()
    }
}

impl std::fmt::Debug for AwsSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("[keys]")
    }
}

/// A profile of `~/.aws/config` and `~/.aws/credentials`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Profile {
    /// The keys, if the profile contains them.
    pub keys: Option<AwsKeys>,
    /// The region.
    pub region: Option<String>,
    /// Another source of the keys, which is not supported here.
    pub elsewhere: Option<&'static str>,
    /// True if either file has a profile with this name.
    pub is_there: bool,
}

/// Settings that indicate another source of keys, with its description.
const ELSEWHERE: &[(&str, &str)] = &[
    ("sso_session", "single sign-on"),
    ("sso_start_url", "single sign-on"),
    ("login_session", "`aws login`"),
    ("credential_process", "a program (credential_process)"),
    ("role_arn", "another role (role_arn)"),
    ("web_identity_token_file", "a web identity"),
];

/// Parses a profile from the texts of the two files; the credentials file takes precedence. Of repeated entries, the
/// first one there counts (docs.aws.amazon.com/sdkref/latest/guide/file-format.html, November 2026).
pub fn profile(credentials: &str, config: &str, name: &str) -> Profile {
    let in_config = match name {
        "default" => vec!["default".to_owned(), "profile default".to_owned()],
        name => vec![format!("profile {name}")],
    };
    let own = [name.to_owned()];
    let sections = [section(credentials, &own), section(config, &in_config)];
    let find = |key: &str| {
        let mut fields = sections.iter().flatten().flatten();
        fields.find(|(own, _)| own == key).map(|(_, value)| value.as_str())
    };
    let keys = find("aws_access_key_id").zip(find("aws_secret_access_key"));
    Profile {
        // Keys next to a role are for assuming it, and are not the role's own.
        keys: keys.filter(|_| find("role_arn").is_none()).map(|(id, secret)| AwsKeys {
            id: id.to_owned(),
            secret: Secret::new(secret),
            session: find("aws_session_token").map(Secret::new),
        }),
        region: find("region").map(str::to_owned),
        elsewhere: ELSEWHERE
            .iter()
            .find(|(key, _)| find(key).is_some())
            .map(|(_, from)| *from),
        is_there: sections.iter().any(Option::is_some),
    }
}

/// Returns every secret in the text of such a file, of all profiles, including commented-out ones.
pub fn secrets(text: &str) -> Vec<String> {
    let fields = text.lines().filter_map(|line| line.split_once('='));
    let is_secret = |name: &str| {
        let name = name.to_ascii_lowercase();
        name.contains("secret") || name.contains("password") || name.trim_end().ends_with("_token")
    };
    fields
        .filter(|(name, _)| is_secret(name))
        .map(|(_, value)| value.split_whitespace().next().unwrap_or_default().to_owned())
        .filter(|value| !value.is_empty())
        .collect()
}

/// Returns the fields of a section, by any of its names; `None` if there is no such section. Indented lines belong to
/// the field above them and are skipped.
fn section(text: &str, names: &[String]) -> Option<Vec<(String, String)>> {
    let mut found: Option<Vec<(String, String)>> = None;
    let mut is_inside = false;
    for line in text.trim_start_matches('\u{feff}').lines() {
        if let Some(head) = line.trim().strip_prefix('[') {
            let head = head.split(']').next().unwrap_or_default();
            let head: Vec<&str> = head.split_whitespace().collect();
            is_inside = names.contains(&head.join(" "));
            if is_inside {
                found.get_or_insert_default();
            }
            continue;
        }
        let is_field = is_inside && !line.starts_with([' ', '\t', '#', ';']);
        if let (true, Some(fields), Some((key, value))) = (is_field, &mut found, line.split_once('=')) {
            // A comment follows white space.
            let value = [" #", " ;", "\t#", "\t;"]
                .iter()
                .fold(value, |value, mark| value.split(mark).next().unwrap_or(value));
            let (key, value) = (key.trim().to_ascii_lowercase(), value.trim());
            if !value.is_empty() {
                fields.push((key, value.to_owned()));
            }
        }
    }
    found
}

/// A request to be signed.
pub(crate) struct Signed<'a> {
    pub method: &'a str,
    pub url: &'a Url,
    /// The headers that the signature covers, in addition to the host and those that signing adds.
    pub headers: &'a [(&'a str, &'a str)],
    pub body: &'a [Bytes],
}

/// The scope of a signature: region, service and time.
pub(crate) struct Scope<'a> {
    pub region: &'a str,
    pub service: &'a str,
    pub at: SystemTime,
}

impl Signed<'_> {
    /// Returns the headers with the signature (AWS Signature Version 4).
    ///
    /// # Errors
    /// If URL or keys contain characters that cannot be signed; a fragment that contains neither.
    pub(crate) fn headers(&self, keys: &AwsKeys, scope: &Scope<'_>) -> Result<HeaderMap, String> {
        let unsigned = || "the keys or the address hold characters that cannot be signed".to_owned();
        let session = keys.session.as_ref().map(|token| token.reveal().to_owned());
        let credentials = Credentials::new(&*keys.id, keys.secret.reveal(), session, None, "codelet");
        let identity = credentials.into();
        let params = SigningParams::builder()
            .identity(&identity)
            .region(scope.region)
            .name(scope.service)
            .time(scope.at)
            .settings(SigningSettings::default())
            .build()
            .map_err(|_| "a part of the signature is missing".to_owned())?
            .into();
        let hash = self
            .body
            .iter()
            .fold(Sha256::new(), |hash, slice| hash.chain_update(slice));
        let hash = hash
            .finalize()
            .iter()
            .fold(String::new(), |text, byte| text + &format!("{byte:02x}"));
        let request = SignableRequest::new(
            self.method,
            self.url.as_str(),
            self.headers.iter().copied(),
            SignableBody::Precomputed(hash),
        );
        let (instructions, _) = request
            .and_then(|request| sign(request, &params))
            .map_err(|_| unsigned())?
            .into_parts();
        let mut headers = HeaderMap::new();
        for header in instructions.into_parts().0 {
            let mut value = HeaderValue::from_str(header.value()).map_err(|_| unsigned())?;
            value.set_sensitive(true);
            headers.insert(header.name(), value);
        }
        Ok(headers)
    }
}

#[cfg(test)]
mod tests;
