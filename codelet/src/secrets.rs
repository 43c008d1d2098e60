//! The current secrets, which are redacted everywhere: keys from settings and environment, and the contents of
//! credential files. Programs, other sessions and the user may renew those files during a session.

use crate::place::{Place, variable};
use crate::settings::{self, Settings};
use crate::{clouds, input, network};
use codelet_mcp::Logins;
use codelet_providers::host::aws;
use codelet_providers::{address, vendor};
use codelet_tools::secrets::{SecretSource, Secrets, of_json_file};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

/// The maximum number of bytes read from a file.
const MOST: u64 = 1 << 20;
/// A value without digits, from a file, counts as a secret from this length on, in bytes; shorter ones may be ordinary
/// words (although `minioadmin` is a key, too).
const LONG: usize = 16;

/// Returns a source of all secrets to redact: the keys of the settings and in the provider's URL, keys and other
/// secrets of the environment, login tokens for MCP servers, and cloud credential files. Values once read from a file
/// stay redacted.
pub fn source(settings: &Settings, place: &Place) -> SecretSource {
    let values = fixed(settings);
    let known = Mutex::new(Known {
        all: Secrets::new(&values),
        values: values.into_iter().collect(),
        files: files(settings, place),
    });
    SecretSource::new(move || known.lock().unwrap_or_else(PoisonError::into_inner).now())
}

/// Returns the secrets that do not change while the program runs.
fn fixed(settings: &Settings) -> Vec<String> {
    let mut secrets: Vec<String> = settings.keys.values().map(|key| key.reveal().to_owned()).collect();
    secrets.extend(
        vendor::vendors()
            .flat_map(|vendor| vendor.keys.iter().chain(vendor.tokens))
            .filter_map(|name| variable(name)),
    );
    let proxies = network::proxies(&variable);
    let proxies = [proxies.http, proxies.https].into_iter().flatten();
    secrets.extend(proxies.flat_map(|proxy| address::secrets_of_proxy(&proxy.value)));
    secrets.extend(settings.mcp.values().flat_map(|server| server.secrets(&variable)));
    secrets.extend(settings.base_url.value.iter().flat_map(|url| address::secrets(url)));
    let environment: Vec<_> = std::env::vars_os().collect();
    secrets.extend(codelet_tools::secrets::values(&environment, &[]));
    secrets
}

fn files(settings: &Settings, place: &Place) -> Vec<SecretFile> {
    let aws = clouds::aws_files(&variable).map(|path| (path, Kind::Aws));
    let google = clouds::google_file(&variable).map(|path| (path, Kind::Google));
    let own = settings.user_file.clone().map(|path| (path, Kind::Settings));
    let logins = place
        .logins()
        .map(|logins| (logins.folder().to_owned(), Kind::Logins(logins)));
    let all = aws.chain(google).chain(own).chain(logins);
    all.map(|(path, kind)| SecretFile { path, kind, read: None }).collect()
}

/// The format of a file.
enum Kind {
    /// AWS profiles.
    Aws,
    /// Google credentials as JSON.
    Google,
    /// The user's settings.
    Settings,
    /// The folder of MCP logins, whose timestamp changes with each login.
    Logins(Logins),
}

impl Kind {
    /// Returns every secret in the file, for any vendor.
    fn secrets(&self, path: &Path) -> Vec<String> {
        let text = || String::from_utf8_lossy(&input::regular(path, MOST).unwrap_or_default()).into_owned();
        let mut found = match self {
            Kind::Aws => aws::secrets(&text()),
            Kind::Google => of_json_file(&text()),
            Kind::Settings => return settings::secrets_in(path, &variable),
            Kind::Logins(logins) => return logins.secrets(),
        };
        found.retain(|value| value.len() >= LONG || value.contains(|c: char| c.is_ascii_digit()));
        found
    }
}

/// A file with secrets, which may be missing.
struct SecretFile {
    path: PathBuf,
    kind: Kind,
    /// Its modification time and length at the last read.
    read: Option<(SystemTime, u64)>,
}

impl SecretFile {
    /// Returns the secrets if the file has changed since it was last read.
    fn changed(&mut self) -> Option<Vec<String>> {
        let found = self.path.metadata().ok();
        let now = found.and_then(|found| Some((found.modified().ok()?, found.len())));
        if self.read == now {
            return None;
        }
        self.read = now;
        Some(self.kind.secrets(&self.path))
    }
}

/// The known secrets.
struct Known {
    values: BTreeSet<String>,
    files: Vec<SecretFile>,
    all: Secrets,
}

impl Known {
    fn now(&mut self) -> Secrets {
        let before = self.values.len();
        self.values.extend(clouds::tokens());
        self.values
            .extend(self.files.iter_mut().filter_map(SecretFile::changed).flatten());
        if self.values.len() > before {
            let values: Vec<String> = self.values.iter().cloned().collect();
            self.all = Secrets::new(&values);
        }
        self.all.clone()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_file_is_read_again_when_it_has_changed_and_what_it_held_stays_hidden() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("credentials");
        let mut known = Known {
            values: BTreeSet::new(),
            files: vec![SecretFile {
                path: path.clone(),
                kind: Kind::Aws,
                read: None,
            }],
            all: Secrets::default(),
        };
        let keys = [
            "a-key-of-number-1", "a-longer-key-of-number-2", "the-longest-key-of-number-3",
        ];
        assert_eq!(known.now().hide(keys[0]), keys[0]);
        for (at, key) in keys.iter().enumerate() {
            std::fs::write(
                &path,
                format!("[a]\naws_secret_access_key = {key}\nregion = minioadmin\n"),
            )
            .unwrap();
            for earlier in &keys[..=at] {
                assert_eq!(known.now().hide(earlier), "[secret]");
            }
        }
        std::fs::remove_file(&path).unwrap();
        assert_eq!(
            known.now().hide("a-key-of-number-1, minioadmin"),
            "[secret], minioadmin"
        );
    }
}
