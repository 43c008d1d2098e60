//! The current secrets, which are redacted everywhere: keys from settings and environment, and the contents of
//! credential files. Programs, other sessions and the user may renew those files during a session.

use crate::place::{Place, variable};
use crate::settings::{self, Settings};
use crate::{clouds, input, network, world};
use codelet_mcp::Logins;
use codelet_providers::host::aws;
use codelet_providers::{address, vendor};
use codelet_tools::secrets::{SecretSource, Secrets, of_json_file};
use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

/// The maximum number of bytes read from a file.
const MOST: u64 = 1 << 20;
/// A file modified less than this before it was read is read again next time: file system clocks are coarse, and two
/// changes may have the same timestamp.
const SETTLES: Duration = Duration::from_secs(2);
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

/// Tokens that a cloud has issued to this program.
static TOKENS: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Makes all sources redact a token that was issued.
pub fn learn(token: &str) {
    TOKENS
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .push(token.to_owned());
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
    let logins = world::logins(place).map(|logins| (logins.folder().to_owned(), Kind::Logins(logins)));
    let all = aws.chain(google).chain(own).chain(logins);
    all.map(|(path, kind)| SecretFile { path, kind, seen: None }).collect()
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

/// A fingerprint for detecting changes to a file: device, inode, size, modification time and change time.
#[derive(PartialEq, Eq)]
struct Stamp([i128; 5]);

impl Stamp {
    /// Returns the fingerprint of an existing file, and the time of its last change.
    fn at(path: &Path) -> Option<(Self, SystemTime)> {
        let found = path.metadata().ok()?;
        let nanoseconds = |seconds: i64, rest: i64| i128::from(seconds) * 1_000_000_000 + i128::from(rest);
        let changed = SystemTime::UNIX_EPOCH
            + Duration::new(
                found.ctime().try_into().unwrap_or(0),
                found.ctime_nsec().try_into().unwrap_or(0),
            );
        let stamp = Stamp([
            found.dev().into(),
            found.ino().into(),
            found.len().into(),
            nanoseconds(found.mtime(), found.mtime_nsec()),
            nanoseconds(found.ctime(), found.ctime_nsec()),
        ]);
        Some((stamp, changed))
    }
}

/// A file with secrets, which may be missing.
struct SecretFile {
    path: PathBuf,
    kind: Kind,
    /// The fingerprint at the last read; `None` if a later change may have left it the same.
    seen: Option<Option<Stamp>>,
}

impl SecretFile {
    /// Returns the secrets if the file has changed since it was last read.
    fn changed(&mut self) -> Option<Vec<String>> {
        let now = SystemTime::now();
        let (stamp, changed) = Stamp::at(&self.path).unzip();
        if self.seen.as_ref() == Some(&stamp) {
            return None;
        }
        let is_settled = changed.is_none_or(|at| now.duration_since(at).is_ok_and(|since| since > SETTLES));
        self.seen = is_settled.then_some(stamp);
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
        let tokens = TOKENS.lock().unwrap_or_else(PoisonError::into_inner);
        self.values.extend(tokens.iter().cloned());
        drop(tokens);
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
    fn a_file_that_changes_twice_within_a_moment_is_read_each_time_and_what_it_held_stays_hidden() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("credentials");
        let mut known = Known {
            values: BTreeSet::new(),
            files: vec![SecretFile {
                path: path.clone(),
                kind: Kind::Aws,
                seen: None,
            }],
            all: Secrets::default(),
        };
        assert_eq!(known.now().hide("a-key-of-number-1"), "a-key-of-number-1");
        for number in 1..=3 {
            std::fs::write(
                &path,
                format!("[a]\naws_secret_access_key = a-key-of-number-{number}\nregion = minioadmin\n"),
            )
            .unwrap();
            for earlier in 1..=number {
                assert_eq!(known.now().hide(&format!("a-key-of-number-{earlier}")), "[secret]");
            }
        }
        std::fs::remove_file(&path).unwrap();
        assert_eq!(
            known.now().hide("a-key-of-number-1, minioadmin"),
            "[secret], minioadmin"
        );
    }
}
