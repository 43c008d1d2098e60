//! API keys, redacted in logs, errors, vendors' messages and the model's answers.

use crate::address;
use rig_reqwest::reqwest::Url;
use std::borrow::Cow;
use std::sync::Arc;

/// A key. It cannot be displayed; it is only used in request headers.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Arc<str>);

/// The minimum length of a key that is searched for: `x`, as users of a local server set, occurs in every text.
const SHORTEST: usize = 5;

/// The prefix length that identifies a long key, since vendors quote keys with asterisks in the middle.
const BEGINNING: usize = 12;

/// The replacement for a key.
pub(crate) const MASK: &str = "[key]";

/// The replacement in names, where vendors accept only letters, digits and a few symbols.
const MASK_IN_NAMES: &str = "key";

/// The minimum length of a key that is searched for in answers; it must also contain letters and digits. Placeholder
/// keys for local servers (`ollama`, `lm-studio`) are ordinary words and would disappear from the model's text.
const SHORTEST_IN_ANSWERS: usize = 8;

impl Secret {
    /// Creates a key without surrounding white space and quotes, which may come from a line of a file and are never
    /// part of a key.
    pub fn new(key: &str) -> Self {
        Secret(Arc::from(
            key.trim_matches(|c: char| c.is_whitespace() || matches!(c, '"' | '\'')),
        ))
    }

    /// Returns whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the key itself.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Redacts the key in a text, whole or partly quoted.
    pub(crate) fn scrub(&self, text: &str) -> String {
        let key = self.reveal();
        if key.len() < SHORTEST {
            return text.to_owned();
        }
        let text = text.replace(key, MASK);
        let Some(beginning) = key.get(..BEGINNING).filter(|_| key.len() >= 2 * BEGINNING) else {
            return text;
        };
        let mut out = String::with_capacity(text.len());
        let mut rest = text.as_str();
        while let Some(at) = rest.find(beginning) {
            out.push_str(&rest[..at]);
            out.push_str(MASK);
            let quoted = &rest[at + beginning.len()..];
            let ends = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | ',' | ')' | '<' | '\\');
            rest = &quoted[quoted.find(ends).unwrap_or(quoted.len())..];
        }
        out.push_str(rest);
        out
    }
}

/// Redaction in answers, of whole keys only: a vendor's keys share a prefix, which an answer may legitimately mention.
impl Secret {
    /// Returns whether it is searched for in answers at all.
    pub(crate) fn is_hidden(&self) -> bool {
        let key = self.reveal();
        let has = |of: fn(&char) -> bool| key.chars().any(|c| of(&c));
        key.len() >= SHORTEST_IN_ANSWERS && has(char::is_ascii_digit) && has(char::is_ascii_alphabetic)
    }

    /// Returns a text without the key.
    pub(crate) fn hide<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.hide_behind(MASK, text)
    }

    /// Returns the name of a tool or a call without the key.
    pub(crate) fn hide_in_name<'a>(&self, name: &'a str) -> Cow<'a, str> {
        self.hide_behind(MASK_IN_NAMES, name)
    }

    fn hide_behind<'a>(&self, mask: &str, text: &'a str) -> Cow<'a, str> {
        if self.is_hidden() && text.contains(self.reveal()) {
            return Cow::Owned(text.replace(self.reveal(), mask));
        }
        Cow::Borrowed(text)
    }

    /// Returns the number of bytes at the end of a text that may be the beginning of the key.
    pub(crate) fn begun(&self, text: &str) -> usize {
        let key = self.reveal();
        let mut begins = key.char_indices().map(|(at, _)| at).rev();
        begins.find(|at| text.ends_with(&key[..*at])).unwrap_or(0)
    }
}

/// The secrets that errors must not contain: the key, and the credentials in URLs (user, password, parameters).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Secrets(Vec<Secret>);

impl Secrets {
    /// Collects the secrets of a request with this key to these URLs, the server's and a proxy's, each in every form in
    /// which it is transmitted.
    pub(crate) fn of<'a>(key: Option<&Secret>, urls: impl IntoIterator<Item = &'a Url>) -> Secrets {
        let key = key.map(|key| key.reveal().to_owned());
        let held = urls.into_iter().flat_map(|url| address::secrets(url.as_str()));
        let found: Vec<String> = key.into_iter().chain(held).collect();
        let mut secrets: Vec<Secret> = Vec::new();
        for secret in found.iter().map(|text| Secret::new(text)) {
            if !secret.is_empty() && !secrets.contains(&secret) {
                secrets.push(secret);
            }
        }
        Secrets(secrets)
    }

    /// Returns these secrets with more added.
    pub(crate) fn with<'a>(&self, more: impl IntoIterator<Item = Option<&'a Secret>>) -> Secrets {
        let more = more.into_iter().flatten().filter(|secret| !secret.is_empty()).cloned();
        Secrets(self.0.iter().cloned().chain(more).collect())
    }

    /// Redacts all of them in a text.
    pub(crate) fn scrub(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, secret| secret.scrub(&text))
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("[key]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_comes_with_the_line_of_a_file_is_no_part_of_a_key() {
        for written in [
            "sk-123456789", " sk-123456789\r\n", "'sk-123456789'", "\"sk-123456789\"\n",
        ] {
            assert_eq!(Secret::new(written).reveal(), "sk-123456789", "{written:?}");
        }
    }

    #[test]
    fn a_key_quoted_in_part_is_not_shown_either() {
        let key = Secret::new("sk-proj-0123456789abcdefghijklmnop\n");
        assert_eq!(
            key.scrub("bad key sk-proj-0123456789abcdefghijklmnop."),
            "bad key [key]."
        );
        assert_eq!(
            key.scrub("bad key: sk-proj-0123****mnop, sorry"),
            "bad key: [key], sorry"
        );
        // What ends a quote elsewhere may be the beginning of a key.
        assert_eq!(
            Secret::new(",)<\\-proj-0123456789abcdef").scrub("bad ,)<\\-proj-012, sorry"),
            "bad [key], sorry"
        );
        assert_eq!(format!("{key:?}"), "[key]");
        assert_eq!(Secret::new("x").scrub("an exact text"), "an exact text");
    }

    #[test]
    fn what_an_address_holds_besides_the_way_is_in_no_error() {
        let key = Secret::new("sk-proj-0123456789");
        let url = Url::parse("https://ada:pass%20word%21@gate.example/v1?api_key=query%2Bsecret&alt=1").unwrap();
        let secrets = Secrets::of(Some(&key), [&url]);
        let basic = "YWRhOnBhc3Mgd29yZCE=";
        for secret in [
            "pass%20word%21",
            "pass word!",
            "query%2Bsecret",
            "query+secret",
            basic,
            key.reveal(),
        ] {
            assert_eq!(
                secrets.scrub(&format!("bad {secret}, sorry")),
                "bad [key], sorry",
                "{secret}"
            );
        }
        assert_eq!(
            secrets.scrub("ada at gate.example/v1, alt=1"),
            "ada at gate.example/v1, alt=1"
        );
        let version = Url::parse("https://h/v1?api-version=2024-10-01-preview&mode=preview").unwrap();
        let told = "unknown version 2024-10-01-preview in preview";
        assert_eq!(Secrets::of(None, [&version]).scrub(told), told);
        let token = Url::parse("https://token-0123@gate.example").unwrap();
        assert_eq!(Secrets::of(None, [&token]).scrub("bad token-0123"), "bad [key]");
    }

    #[test]
    fn answers_are_searched_for_keys_and_not_for_words() {
        for word in ["ollama", "lm-studio", "sk-no-key-required", "k3y", "0123456789", ""] {
            let text = format!("It is {word}.");
            assert_eq!(Secret::new(word).hide(&text), text);
        }
        let key = Secret::new("sk-proj-0123456789abcdefghijklmnop");
        assert_eq!(key.hide("sk-proj-0123456789abcdefghijklmnop."), "[key].");
        assert_eq!(key.hide("they begin with sk-proj-0123"), "they begin with sk-proj-0123");
    }

    proptest! {
        #[test]
        fn no_text_holds_the_key_after_scrubbing(before in ".{0,20}", key in "[a-zA-Z0-9_-]{8,60}", after in ".{0,20}") {
            let secret = Secret::new(&key);
            let scrubbed = secret.scrub(&format!("{before}{key}{after}{key}"));
            prop_assert!(!scrubbed.contains(&key) || "[key]".contains(&key));
        }
    }
}
