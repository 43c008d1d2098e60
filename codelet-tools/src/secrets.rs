//! Removes secret values from everything that is shown, and recognises them by variable name and in URLs.

use crate::text::{CUT, GAP};
use codelet_text::secret::{GIT_KEY, is_about, is_made_by_machine, is_secret_name, is_secret_parameter, words};
use memchr::memmem;
use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// Shorter values are not searched for: they would occur in every text.
const SHORTEST: usize = 8;
/// The replacement for a secret.
pub(crate) const MASK: &str = "[secret]";
/// Authentication schemes that precede credentials in a header.
const SCHEMES: &[&str] = &["bearer", "basic", "token"];
/// Parts of webhook URLs, where knowing the URL is enough to send.
const WEBHOOKS: &[&str] = &["://hooks.", "/webhook", ".webhook."];
/// Vendors' token prefixes, made so that leaked tokens can be found.
const MARKED: &[&str] = &[
    "sk-", "sk_live_", "rk_live_", "ghp_", "gho_", "ghu_", "ghs_", "github_pat_", "glpat-", "xoxb-", "xoxp-", "xapp-",
    "hf_", "npm_", "pypi-", "dop_v1_", "ya29.", // A JSON Web Token, in base64.
    "eyJ",
];
/// The header of a private key in a file (RFC 7468), for any kind of key.
const PRIVATE_KEY: &str = "PRIVATE KEY-----";
/// A user name in a URL that is this long is a key, not a name.
const LONG_NAME: usize = 20;
/// Git settings in the environment: their number, and the name and value of each.
const GIT_COUNT: &str = "GIT_CONFIG_COUNT";
const GIT_VALUE: &str = "GIT_CONFIG_VALUE_";

/// Returns whether a variable is a secret: by its name, unless the value is only a path to one, or by a credential in
/// the value.
pub fn is_secret(name: &str, value: &str) -> bool {
    let is_place = value.starts_with(['/', '~', '.']) && joined(name).contains("CREDENTIAL");
    (is_secret_name(name) && !is_place)
        || is_several(name, value)
        || is_session(name, value)
        || !credentials(value).is_empty()
}

/// Returns whether it is a login session (`BW_SESSION`), and not a desktop's name or an address.
fn is_session(name: &str, value: &str) -> bool {
    let is_named = !is_about(name) && words(name).iter().any(|word| word == "SESSION");
    is_named && is_made_by_machine(value) && !value.contains(['/', ':', ' '])
}

/// Returns whether these are credentials, and not a number of language-model tokens.
fn is_several(name: &str, value: &str) -> bool {
    let is_number = value
        .chars()
        .all(|c| c.is_ascii_digit() || matches!(c, '_' | '.' | ','));
    words(name).last().is_some_and(|last| last == "TOKENS") && !is_number
}

/// The parts of a variable's value that must not be shown: its credentials, or all of it if its name or nothing shorter
/// makes it a secret; empty if it is none.
pub fn secret_parts<'a>(name: &str, value: &'a str) -> Vec<&'a str> {
    if !is_secret(name, value) {
        return Vec::new();
    }
    let found = credentials(value);
    match is_secret_name(name) || found.is_empty() {
        true => vec![value],
        false => found,
    }
}

/// Finds the credentials in a longer value: the passwords in URLs; without any, a parameter of a URL or list (`host=db
/// password=…`), a header with a key, the URL of a webhook.
fn credentials(value: &str) -> Vec<&str> {
    let found = passwords(value);
    if !found.is_empty() {
        return found;
    }
    let found = parameter(value)
        .or_else(|| value.split(['\n', '"', '\'', '=', ',']).find_map(sent))
        .or_else(|| of_json(value))
        .or_else(|| value.contains(PRIVATE_KEY).then_some(value))
        .or_else(|| value.split(apart).find(|word| is_marked(word)))
        .or_else(|| {
            WEBHOOKS
                .iter()
                .any(|part| value.contains(part) && value.contains("://"))
                .then_some(value)
        });
    found.into_iter().filter(|found| !found.is_empty()).collect()
}

/// Characters that separate a token from its surroundings.
fn apart(c: char) -> bool {
    c.is_whitespace() || matches!(c, '"' | '\'' | '=' | ',' | ';' | ':' | '/' | '@' | '?' | '&')
}

/// Returns whether this is a token with a known prefix.
fn is_marked(word: &str) -> bool {
    is_made_by_machine(word) && MARKED.iter().any(|mark| word.starts_with(mark))
}

/// The first string in a JSON object whose key names a secret.
fn of_json(text: &str) -> Option<&str> {
    let pieces: Vec<&str> = text.split('"').collect();
    let string = |pieces: &[&'_ str]| pieces[1].trim() == ":" && is_secret_name(pieces[0]) && !pieces[2].is_empty();
    pieces.windows(3).find(|pieces| string(pieces)).map(|pieces| pieces[2])
}

/// The value of a parameter whose name is a secret's, unless the list refers to this machine.
fn parameter(text: &str) -> Option<&str> {
    let pieces = text.split(|c: char| c.is_whitespace() || matches!(c, '?' | '&' | ';' | ',' | '"' | '\''));
    let (mut found, mut before) = (None, "");
    for piece in pieces {
        // `--token X` is equivalent to `--token=X`.
        let option = std::mem::replace(&mut before, piece);
        if found.is_none()
            && option.starts_with("--")
            && is_secret_name(option)
            && !piece.is_empty()
            && !piece.starts_with(['-', '$'])
        {
            found = Some(piece);
        }
        let host = piece
            .split_once("://")
            .map(|(_, behind)| behind.split('/').next().unwrap_or(behind));
        let Some((name, value)) = piece.split_once('=').filter(|_| host.is_none()) else {
            if host.is_some_and(is_here) {
                return None;
            }
            continue;
        };
        if is_here(value) {
            return None;
        }
        let name = name.trim_start_matches(['-', '#']);
        // `*.key=01;32` is a colour for file names (`LS_COLORS`).
        let is_name = name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'));
        // `make` coordinates parallel jobs with `jobserver-auth`.
        let is_secret = is_secret_parameter(name) && name != "jobserver-auth";
        // A variable that a shell expands later is not a secret yet.
        if found.is_none() && is_name && is_secret && !value.is_empty() && !value.starts_with('$') {
            found = Some(value);
        }
    }
    found
}

/// The credentials in a header (`x-api-key: …`) or in a header's value (`Bearer …`).
fn sent(text: &str) -> Option<&str> {
    let text = text.trim();
    let (name, value) = text.split_once(':').unwrap_or_default();
    let is_header = !name.contains(char::is_whitespace) && is_secret_name(name) && !value.trim().is_empty();
    let rest = if is_header { value.trim() } else { text };
    match rest.split_once(' ') {
        Some((scheme, credentials)) if SCHEMES.iter().any(|known| scheme.eq_ignore_ascii_case(known)) => {
            let credentials = credentials.trim();
            (is_header || credentials.len() >= SHORTEST && !credentials.contains(' ')).then_some(credentials)
        }
        _ => is_header.then_some(rest),
    }
}

/// The passwords in URLs such as `postgres://ada:lovelace@host/app`, and keys in place of user names. One for this
/// machine (`postgres://postgres:postgres@localhost/test`) protects nothing, and tests need it.
fn passwords(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some((_, behind)) = rest.split_once("://") {
        let end = behind.find(|c: char| c.is_whitespace() || matches!(c, '/' | '?' | '#' | '"' | '\''));
        let authority = &behind[..end.unwrap_or(behind.len())];
        if let Some((user, _)) = authority.rsplit_once('@').filter(|(_, host)| !is_here(host)) {
            match user.split_once(':') {
                Some((_, password)) if !password.is_empty() => found.push(password),
                None if user.len() >= LONG_NAME => found.push(user),
                _ => {}
            }
        }
        rest = behind;
    }
    found
}

fn is_here(host: &str) -> bool {
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
    matches!(name, "localhost" | "127.0.0.1" | "[::1]") || host == "[::1]"
}

/// The values of an environment that must never be shown, except those that commands may have.
pub fn values(env: &[(OsString, OsString)], allowed: &[String]) -> Vec<String> {
    let is_allowed = |name: &str| allowed.iter().any(|allowed| allowed == name);
    let of_text = env
        .iter()
        .filter_map(|(name, value)| Some((name.to_str()?, value.to_str()?)));
    of_text
        .filter(|(name, _)| !is_allowed(name))
        .flat_map(|(name, value)| secret_parts(name, value))
        .filter(|value| is_made_by_machine(value))
        .map(str::to_owned)
        .collect()
}

fn joined(name: &str) -> String {
    words(name).concat()
}

/// The forms in which a value may occur: without quotes and scheme, its lines, and its strings with escapes decoded.
fn forms(value: &str) -> Vec<String> {
    let bare = bare(value);
    let mut forms = vec![bare.to_owned()];
    // A part must look like a secret by itself.
    let mut add = |found: &str| {
        if found.len() < bare.len() && is_made_by_machine(found) {
            forms.push(found.to_owned());
        }
    };
    let mut texts = vec![bare.to_owned()];
    if let Ok(value) = serde_json::from_str(bare) {
        strings(&value, NESTED, &mut texts);
    }
    for text in &texts {
        // A multi-line key is shown with line numbers, or in part; in a variable, its line ends are often escaped.
        let lines = text.split('\n').flat_map(|line| line.split("\\n"));
        lines.for_each(|line| add(line.trim()));
        add(&percent_encoding::percent_decode_str(text).decode_utf8_lossy());
    }
    forms
}

/// Depth to which a JSON value is searched.
const NESTED: usize = 8;

/// Collects the strings in a value.
fn strings(value: &serde_json::Value, depth: usize, found: &mut Vec<String>) {
    use serde_json::Value;
    match value {
        Value::String(text) => found.push(text.clone()),
        Value::Array(values) if depth > 0 => values.iter().for_each(|value| strings(value, depth - 1, found)),
        Value::Object(fields) if depth > 0 => fields.values().for_each(|value| strings(value, depth - 1, found)),
        _ => {}
    }
}

/// Strips whitespace, quotes and the scheme (`Bearer …`) from a value.
fn bare(value: &str) -> &str {
    let value = value.trim_matches(|c: char| c.is_whitespace() || matches!(c, '"' | '\''));
    match value.split_once(' ') {
        Some((scheme, rest)) if SCHEMES.iter().any(|known| scheme.eq_ignore_ascii_case(known)) => rest.trim(),
        _ => value,
    }
}

/// The strings in a JSON text whose keys name secrets, and all strings below such a key, down to eight levels; empty if
/// the text is not JSON.
pub fn of_json_file(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    if let Ok(value) = serde_json::from_str(text) {
        named_strings(&value, NESTED, &mut found);
    }
    found
}

fn named_strings(value: &serde_json::Value, depth: usize, found: &mut Vec<String>) {
    use serde_json::Value;
    match value {
        Value::Array(values) if depth > 0 => values.iter().for_each(|value| named_strings(value, depth - 1, found)),
        Value::Object(fields) if depth > 0 => fields.iter().for_each(|(name, value)| match value {
            Value::String(text) if is_secret_name(name) => found.push(text.clone()),
            value => named_strings(value, depth - 1, found),
        }),
        _ => {}
    }
}

/// Provides the current secrets: the files that keys come from may have changed. Clones share the source.
#[derive(Clone)]
pub struct SecretSource(Arc<dyn Fn() -> Secrets + Send + Sync>);

impl SecretSource {
    /// Takes a function that finds them. It is called before anything is shown, so it should read files only if they
    /// have changed.
    pub fn new(find: impl Fn() -> Secrets + Send + Sync + 'static) -> Self {
        SecretSource(Arc::new(find))
    }

    /// The current secrets.
    pub fn now(&self) -> Secrets {
        (self.0)()
    }
}

impl From<Secrets> for SecretSource {
    /// A source whose secrets never change.
    fn from(secrets: Secrets) -> Self {
        SecretSource::new(move || secrets.clone())
    }
}

impl Default for SecretSource {
    fn default() -> Self {
        Secrets::default().into()
    }
}

impl fmt::Debug for SecretSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}

/// Secret values. The type does not implement `Debug`, so they are not printed by accident.
#[derive(Clone, Default)]
pub struct Secrets(Arc<[String]>);

impl Secrets {
    /// Keeps the values that are long enough to be searched for, in each form in which they may be shown.
    pub fn new(values: &[String]) -> Self {
        let all = values.iter().flat_map(|value| forms(value));
        let mut values: Vec<String> = all.filter(|value| value.len() >= SHORTEST).collect();
        // Longest first, so that a secret that contains another is replaced as a whole.
        values.sort_by(|one, other| other.len().cmp(&one.len()).then_with(|| one.cmp(other)));
        values.dedup();
        Secrets(values.into())
    }

    /// The values, longest first, for code that hides them elsewhere.
    pub fn reveal(&self) -> Arc<[String]> {
        Arc::clone(&self.0)
    }

    /// Finds the secrets in a text: their places in order, without overlap.
    pub(crate) fn places(&self, bytes: &[u8]) -> Vec<Range<usize>> {
        let mut places: Vec<Range<usize>> = Vec::new();
        for value in self.0.iter() {
            let found = memmem::find_iter(bytes, value).map(|at| at..at + value.len());
            let is_free = |range: &Range<usize>| {
                let next = places.partition_point(|other| other.end <= range.start);
                places.get(next).is_none_or(|other| range.end <= other.start)
            };
            let found: Vec<_> = found.filter(is_free).collect();
            places.extend(found);
            places.sort_by_key(|range| range.start);
        }
        places
    }

    /// Replaces the secrets in a text.
    pub fn hide<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut text = Cow::Borrowed(text);
        for value in self.0.iter() {
            if text.contains(value.as_str()) {
                text = Cow::Owned(text.replace(value.as_str(), MASK));
            }
        }
        text
    }

    /// Replaces the secrets in the beginning of a longer text, and removes a secret's first part at its end.
    pub(crate) fn hide_in_beginning(&self, text: &str) -> String {
        let mut text = self.hide(text).into_owned();
        text.truncate(text.len() - self.begun(&text));
        text
    }

    /// Counts the bytes at the end of a text that may be the beginning of an unfinished secret.
    pub(crate) fn begun(&self, text: &str) -> usize {
        let of = |secret: &String| {
            let begins = secret.char_indices().map(|(at, _)| at).rev();
            begins
                .take_while(|at| *at > 0)
                .find(|at| text.ends_with(&secret[..*at]))
        };
        self.0.iter().filter_map(of).max().unwrap_or(0)
    }

    /// Counts the bytes at the beginning of a text that may be the end of a secret.
    fn ended(&self, text: &str) -> usize {
        let of = |secret: &String| {
            let mut ends = secret.char_indices().map(|(at, _)| at).filter(|at| *at > 0);
            ends.find(|at| text.starts_with(&secret[*at..]))
                .map(|at| secret.len() - at)
        };
        self.0.iter().filter_map(of).max().unwrap_or(0)
    }

    /// Replaces the secrets in a text, and removes parts of them where a line [is cut](CUT).
    pub(crate) fn hide_with_parts<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let text = self.hide(text);
        if self.0.is_empty() || !text.contains(CUT) {
            return text;
        }
        let mut out = String::with_capacity(text.len());
        for line in text.split_inclusive('\n') {
            let Some(at) = line.rfind(CUT) else {
                out.push_str(line);
                continue;
            };
            let (shown, behind) = line.split_at(at);
            let (before, shown) = match shown.split_once(GAP) {
                Some((before, shown)) => (&line[..before.len() + GAP.len()], &shown[self.ended(shown)..]),
                None => ("", shown),
            };
            out.push_str(before);
            out.push_str(&shown[..shown.len() - self.begun(shown)]);
            out.push_str(behind);
        }
        Cow::Owned(out)
    }

    /// The variables that a child process may have: none that hold a secret by name or value.
    pub(crate) fn environment<'a>(
        &'a self,
        env: &'a [(OsString, OsString)],
        allowed: &'a [String],
    ) -> impl Iterator<Item = (&'a OsStr, &'a OsStr)> {
        let is_withheld = move |name: &str, value: &str| {
            let is_allowed = allowed.iter().any(|allowed| *allowed == *name);
            let holds_one = self.0.iter().any(|secret| value.contains(secret.as_str()));
            holds_one || !is_allowed && (is_secret(name, value) || name.starts_with(GIT_KEY) && is_secret_name(value))
        };
        let is_of_git = |name: &str| {
            [GIT_COUNT, GIT_KEY, GIT_VALUE]
                .iter()
                .any(|begin| name.starts_with(begin))
        };
        let texts = |(name, value): &'a (OsString, OsString)| (name.to_string_lossy(), value.to_string_lossy());
        // If one of them is missing, every git command fails.
        let withholds_gits = env
            .iter()
            .map(texts)
            .any(|(name, value)| is_of_git(&name) && is_withheld(&name, &value));
        env.iter()
            .filter(move |variable| {
                let (name, value) = texts(variable);
                !(is_withheld(&name, &value) || withholds_gits && is_of_git(&name))
            })
            .map(|(name, value)| (name.as_os_str(), value.as_os_str()))
    }
}

/// Removes secrets from a text that arrives in pieces, even if a secret is split.
pub(crate) struct Hiding {
    source: SecretSource,
    held: String,
}

impl Hiding {
    pub(crate) fn new(source: SecretSource) -> Self {
        let held = String::new();
        Hiding { source, held }
    }

    /// Takes more text and returns what can be shown.
    pub(crate) fn push(&mut self, text: String) -> String {
        let secrets = self.source.now();
        self.held.push_str(&text);
        let mut text = secrets.hide(&self.held).into_owned();
        // Nothing else is held back: a person may wait for a single line.
        self.held = text.split_off(text.len() - secrets.begun(&text));
        text
    }

    /// Returns the rest.
    pub(crate) fn finish(&mut self) -> String {
        std::mem::take(&mut self.held)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_key_of_several_lines_is_hidden_line_by_line_too() {
        let key = "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0B\nAQEFAASCBKcwggSjAgEAAoI8\n-----END KEY-----\n";
        let secrets = Secrets::new(&[key.to_owned()]);
        let numbered = "1\tMIIEvQIBADANBgkqhkiG9w0B\n2\tAQEFAASCBKcwggSjAgEAAoI8\n";
        assert_eq!(secrets.hide(numbered), format!("1\t{MASK}\n2\t{MASK}\n"));
        assert_eq!(secrets.hide(key), format!("{MASK}\n"));
    }

    #[test]
    fn a_value_is_hidden_in_each_form_in_which_it_may_be_shown() {
        const KEY: &str = "hunterZq9Xw81vvKt03";
        const LINE: &str = "MIIEvQIBADANBgkqhkiG9w0B";
        let pem = format!("-----BEGIN KEY-----\n{LINE}\n-----END KEY-----\n");
        for (value, shown) in [
            (format!("{KEY}\r\n"), KEY),
            (format!(" '{KEY}' "), KEY),
            (format!("Bearer {KEY}"), KEY),
            (pem.replace('\n', "\\n"), LINE),
            (serde_json::json!({"client_secret": KEY}).to_string(), KEY),
            (serde_json::json!([{"private_key": pem}]).to_string(), LINE),
            ("p%40ssW0rd9Zq81vvKt".to_owned(), "p@ssW0rd9Zq81vvKt"),
        ] {
            let secrets = Secrets::new(std::slice::from_ref(&value));
            assert_eq!(secrets.hide(&format!("a {shown} b")), format!("a {MASK} b"), "{value}");
        }
        // A part that is not a secret by itself may be any word.
        let value = serde_json::json!({"type": "service_account", "client_secret": KEY}).to_string();
        assert_eq!(Secrets::new(&[value]).hide("a service_account"), "a service_account");
    }

    #[test]
    fn where_a_line_is_cut_no_part_of_a_secret_is_left() {
        let secrets = Secrets::new(&["hunterZq9Xw81vvKt03".to_owned()]);
        for (text, shown) in [
            (
                "f:1:a hunterZq9Xw… [cut: this line has 600 bytes]\n",
                "f:1:a … [cut: this line has 600 bytes]\n",
            ),
            (
                "f:1:…1vvKt03 b… [cut: this line has 600 bytes]",
                "f:1:… b… [cut: this line has 600 bytes]",
            ),
            (
                "f:1:… b… [cut: this line has 600 bytes]\nhunt",
                "f:1:… b… [cut: this line has 600 bytes]\nhunt",
            ),
        ] {
            assert_eq!(secrets.hide_with_parts(text), shown);
        }
    }

    #[test]
    fn a_text_that_ends_within_a_secret_shows_no_part_of_it() {
        let secrets = Secrets::new(&["sk-123456789".to_owned()]);
        assert_eq!(secrets.hide_in_beginning("a sk-123456789 b sk-1234"), "a [secret] b ");
        assert_eq!(secrets.hide_in_beginning("a sk-123456789"), "a [secret]");
    }

    #[test]
    fn a_child_gets_no_secret_by_name_or_by_value() {
        let secrets = Secrets::new(&["sk-123456789".to_owned()]);
        let env: Vec<(OsString, OsString)> = [
            ("PATH", "/bin"),
            ("OPENAI_API_KEY", "other-key"),
            ("GITHUB_TOKEN", "t"),
            ("npm_config_token", "t"),
            ("NPM_TOKEN", "t"),
            ("INNOCENT", "key=sk-123456789"),
            ("AWS_SECRET_ACCESS_KEY", "x"),
            ("TOKENS", "4"),
            ("GOOGLE_APPLICATION_CREDENTIALS", "/home/ada/account.json"),
            ("DATABASE_URL", "postgres://ada:lovelace@db/app"),
        ]
        .map(|(name, value)| (name.into(), value.into()))
        .to_vec();
        let names = |allowed: &[&str]| -> Vec<String> {
            let allowed: Vec<String> = allowed.iter().map(|&name| name.to_owned()).collect();
            secrets
                .environment(&env, &allowed)
                .map(|(name, _)| name.to_string_lossy().into_owned())
                .collect()
        };
        let harmless = ["PATH", "TOKENS", "GOOGLE_APPLICATION_CREDENTIALS"];
        assert_eq!(names(&[]), harmless);
        // Allowing a name does not allow the value of a key.
        let [path, others @ ..] = harmless;
        let expected = [&[path, "NPM_TOKEN"][..], &others].concat();
        assert_eq!(names(&["NPM_TOKEN", "INNOCENT"]), expected);
    }

    #[test]
    fn gits_settings_in_the_environment_are_given_all_or_none() {
        let given = |key: &str, value: &str| {
            let pairs = [
                ("GIT_CONFIG_COUNT", "1"),
                ("GIT_CONFIG_KEY_0", key),
                ("GIT_CONFIG_VALUE_0", value),
            ];
            let env = pairs.map(|(name, value)| (name.into(), value.into()));
            Secrets::new(&[]).environment(&env, &[]).count()
        };
        assert_eq!(given("user.name", "Ada"), 3);
        for (key, value) in [
            ("http.extraHeader", "Authorization: Bearer a1b2c3d4e5"),
            ("github.token", "a1b2c3d4e5"),
            (
                "url.https://ada:lovelace@example.org/.insteadOf",
                "https://example.org/",
            ),
        ] {
            assert_eq!(given(key, value), 0, "{key}");
        }
    }

    #[test]
    fn a_password_is_found_in_an_address() {
        for (text, found) in [
            ("postgres://ada:lovelace@db/app", Some("lovelace")),
            ("see redis://:p@ss@host:6379/0", Some("p@ss")),
            (
                "https://ghp_0123456789abcdefghij@github.com/a/b",
                Some("ghp_0123456789abcdefghij"),
            ),
            ("http://a/ and amqp://u:p@h", Some("p")),
            ("postgres://postgres:postgres@localhost/test", None),
            ("redis://:p@127.0.0.1:6379", None),
            ("amqp://u:p@[::1]", None),
            ("amqp://u:p@[::1]:5672/", None),
            ("amqp://u:p@localhost.example", Some("p")),
            ("https://git@github.com/a/b", None),
            ("https://ada:@host", None),
            ("https://host:8080/a?b=c:d@e", None),
            ("file:///home/a:b@c", None),
            ("ada:lovelace@db", None),
            ("://", None),
        ] {
            assert_eq!(passwords(text), Vec::from_iter(found), "{text}");
        }
    }

    #[test]
    fn a_credential_is_found_in_lists_headers_and_addresses() {
        for (text, found) in [
            (r#"{"user": "u", "password": "h2a3f9c1d7"}"#, Some("h2a3f9c1d7")),
            (r#"{"auths":{"reg.example":{"auth":"aGVsbG8="}}}"#, Some("aGVsbG8=")),
            (r#"{"name": "password", "value": ""}"#, None),
            ("--user u --token h3a3f9c1d7", Some("h3a3f9c1d7")),
            ("--token --verbose", None),
            ("postgresql://db.example/x?user=a&password=lovelace", Some("lovelace")),
            (
                "jdbc:mysql://db.example/x?user=a&password=lovelace&b=c",
                Some("lovelace"),
            ),
            ("https://h.example/?api_key=lovelace", Some("lovelace")),
            ("https://h.example/a?sig=lovelace#b", Some("lovelace#b")),
            ("host=db user=ada password=lovelace", Some("lovelace")),
            ("Server=db;Uid=ada;Pwd=lovelace;", Some("lovelace")),
            ("AccountName=ada;AccountKey=love==;EndpointSuffix=x", Some("love==")),
            ("-Xmx1g -Dstore.password=lovelace", Some("lovelace")),
            ("Authorization: Bearer lovelace", Some("lovelace")),
            ("x-api-key: lovelace", Some("lovelace")),
            ("accept: a\nPrivate-Token:lovelace", Some("lovelace")),
            ("'http.extraheader=AUTHORIZATION: basic lovelace'", Some("lovelace")),
            ("curl -H \"Authorization: Bearer lovelace\"", Some("lovelace")),
            ("Bearer lovelace", Some("lovelace")),
            (
                "https://hooks.chat.example/services/T0",
                Some("https://hooks.chat.example/services/T0"),
            ),
            (
                "https://chat.example/api/webhooks/1/a",
                Some("https://chat.example/api/webhooks/1/a"),
            ),
            ("postgresql://localhost/test?password=postgres", None),
            ("host=localhost user=ada password=lovelace", None),
            ("password=$DB_PASSWORD", None),
            ("password=", None),
            ("Basic usage", None),
            ("Bearer of good news", None),
        ] {
            assert_eq!(credentials(text), Vec::from_iter(found), "{text}");
        }
    }

    #[test]
    fn what_a_usual_environment_holds_is_no_secret() {
        for (name, value) in [
            ("PATH", "/usr/local/sbin:/usr/local/bin:/home/ada/.cargo/bin"),
            (
                "LS_COLORS",
                "rs=0:di=01;34:ln=01;36:*.key=01;31:*.pem=00;32:ex=01;32:*.tar=01;31:",
            ),
            ("LESS", "-R -F -X --prompt=%f"),
            ("LESSOPEN", "| /usr/bin/lesspipe %s"),
            ("GOFLAGS", "-mod=mod -ldflags=-X=main.version=1.2"),
            (
                "RUSTFLAGS",
                "-C target-cpu=native -C link-arg=-fuse-ld=lld --cfg tokio_unstable",
            ),
            ("NODE_OPTIONS", "--max-old-space-size=4096 --require ./a.js"),
            (
                "JAVA_TOOL_OPTIONS",
                "-Xmx2g -Dfile.encoding=UTF-8 -Dhttp.keepAlive=true",
            ),
            ("MAKEFLAGS", " -j8 --jobserver-auth=fifo:/tmp/GMfifo1234"),
            ("CFLAGS", "-O2 -DKEY_SIZE=4"),
            ("PS1", "\\[\\e[01;32m\\]\\u@\\h:\\w\\$ "),
            ("DBUS_SESSION_BUS_ADDRESS", "unix:path=/run/user/1000/bus"),
            ("GCC_COLORS", "error=01;31:warning=01;35:note=01;36"),
            ("XDG_DATA_DIRS", "/usr/share:/usr/local/share"),
            ("SSH_CONNECTION", "10.0.0.1 5000 10.0.0.2 22"),
            ("LANG", "de_DE.UTF-8"),
            ("DISPLAY", ":0"),
            ("http_proxy", "http://proxy.example:3128"),
            ("no_proxy", "localhost,127.0.0.1"),
            ("PIP_INDEX_URL", "https://pypi.example/simple"),
            (
                "FZF_DEFAULT_OPTS",
                "--height=40% --bind=ctrl-k:kill-line --color=fg:#fff,bg:#000",
            ),
            (
                "BASH_FUNC_which%%",
                "() {  ( alias; eval ${which_declare} ) | /usr/bin/which --tty-only $@\n}",
            ),
            ("TERM_PROGRAM_VERSION", "1.2"),
            ("MAX_TOKENS", "4096"),
            ("TOKENS", "4"),
            ("XCURSOR_SIZE", "24"),
            ("DATABASE", "app"),
            ("DESKTOP_SESSION", "plasma"),
            (
                "SESSION_MANAGER",
                "local/host:@/tmp/.ICE-unix/1234,unix/host:/tmp/.ICE-unix/1234",
            ),
            ("TERM_SESSION_ID", "0B0E2B7F-4A3D-4C35-9B61-1A2B3C4D5E6F"),
            ("npm_config_user_agent", "npm/11.19.1 node/v20.20.2 linux x64"),
            ("REQUIREMENTS", "sk-learn"),
        ] {
            assert!(!is_secret(name, value), "{name}");
        }
        for (name, value) in [
            ("TOKENS", "a1b2,c3d4"),
            ("BEARER", "x"),
            ("SIGNING_KEY_BASE64", "x"),
            ("JWT_PEM", "x"),
            ("BW_SESSION", "Zm9vYmFyMDEyMzQ1Njc4OWFiY2RlZg0123=="),
            ("OP_SESSION_my", "opsession0123456789abcXYZ"),
            ("STRIPE", "sk_live_0123456789abcdefghij"),
            (
                "DEPLOY",
                "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNz\n-----END OPENSSH PRIVATE KEY-----",
            ),
            ("NPMRC", "//registry.example/:_auth=npm_0123456789abcdefghij"),
            ("ROLE", "eyJhbGciOiJIUzI1NiJ9.eyJyb2xlIjoiYSJ9.abcdef0123456789"),
        ] {
            assert!(is_secret(name, value), "{name}");
        }
    }

    #[test]
    fn values_that_are_nobodys_words_are_looked_for() {
        let env: Vec<(OsString, OsString)> = [
            ("STRIPE_KEY", "sk_live_0123456789"),
            ("DB_PASSWORD", "postgres"),
            ("DATABASE_URL", "postgres://ada:c0ffee0123456789@db/app"),
            ("SHELL_LIKE", "a0123456789abcdefghij"),
            ("GOOGLE_APPLICATION_CREDENTIALS", "/home/ada/project-1/account.json"),
            ("PASSED_TOKEN", "t_0123456789abcdefghij"),
            (
                "GOPROXY",
                "https://ada:gate0123456789ab@a.example,https://ada:gate9876543210cd@b.example",
            ),
        ]
        .map(|(name, value)| (name.into(), value.into()))
        .to_vec();
        let found = values(&env, &["PASSED_TOKEN".to_owned()]);
        assert_eq!(
            found,
            [
                "sk_live_0123456789", "c0ffee0123456789", "gate0123456789ab", "gate9876543210cd"
            ]
        );
    }

    #[test]
    fn only_what_may_begin_a_secret_is_held_back() {
        let secrets = Secrets::new(&["sk-0123456789".to_owned(), "ölig-0123456".to_owned()]);
        let mut hiding = Hiding::new(secrets.into());
        assert_eq!(hiding.push("one line\n".to_owned()), "one line\n");
        assert_eq!(hiding.push("it is s".to_owned()), "it is ");
        assert_eq!(hiding.push("k-".to_owned()), "");
        assert_eq!(hiding.push("9, or ö".to_owned()), "sk-9, or ");
        assert_eq!(hiding.push("l and sk-01".to_owned()), "öl and ");
        assert_eq!(hiding.push("23456789!".to_owned()), format!("{MASK}!"));
        assert_eq!(hiding.push("sk-".to_owned()), "");
        assert_eq!(hiding.finish(), "sk-");
    }

    proptest! {
        #[test]
        fn any_name_and_value_is_judged_without_a_panic(name in ".{0,30}", value in "([a:/@ä?#. =&;\\n]|key=|Bearer |token:){0,30}") {
            let _ = is_secret(&name, &value);
        }

        #[test]
        fn a_secret_in_pieces_is_hidden(pieces in prop::collection::vec(prop::sample::select(vec!["abcdefgh", "abcd", "efgh", "ab", "x", "ä", "abcdefghij", "ij"]), 0..12)) {
            let secrets = Secrets::new(&["abcdefgh".to_owned(), "abcdefghij".to_owned()]);
            let mut hiding = Hiding::new(secrets.clone().into());
            let mut shown = String::new();
            for piece in &pieces {
                shown.push_str(&hiding.push((*piece).to_owned()));
            }
            shown.push_str(&hiding.finish());
            prop_assert!(!shown.contains("abcdefgh"), "{shown}");
        }
    }
}
