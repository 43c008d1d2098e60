//! Values that nobody is to see, taken out of whatever is shown.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};

/// Shorter values are not looked for: they would turn up in every text.
const SHORTEST: usize = 8;
/// What stands in place of a secret.
const MASK: &str = "[secret]";
/// Ends of the names of variables that hold secrets.
const ENDS: [&str; 5] = ["API_KEY", "_TOKEN", "_SECRET", "_PASSWORD", "SECRET_ACCESS_KEY"];

/// The values.
#[derive(Clone, Default)]
pub(crate) struct Secrets(Vec<String>);

impl Secrets {
    pub(crate) fn new(values: &[String]) -> Self {
        let mut values: Vec<String> = values.iter().filter(|value| value.len() >= SHORTEST).cloned().collect();
        // A secret that contains another goes as a whole.
        values.sort_by_key(|value| std::cmp::Reverse(value.len()));
        Secrets(values)
    }

    /// A text without them.
    pub(crate) fn hide<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut text = Cow::Borrowed(text);
        for value in &self.0 {
            if text.contains(value.as_str()) {
                text = Cow::Owned(text.replace(value.as_str(), MASK));
            }
        }
        text
    }

    fn longest(&self) -> usize {
        self.0.first().map_or(0, String::len)
    }

    /// The variables that a child process may have: none with a secret, by its name or by its value.
    pub(crate) fn environment<'a>(
        &'a self,
        env: &'a [(OsString, OsString)],
        allowed: &'a [String],
    ) -> impl Iterator<Item = (&'a OsStr, &'a OsStr)> {
        env.iter()
            .filter(move |(name, value)| {
                let (name, value) = (name.to_string_lossy(), value.to_string_lossy());
                let upper = name.to_ascii_uppercase();
                let is_allowed = allowed.iter().any(|allowed| *allowed == *name);
                let holds_one = self.0.iter().any(|secret| value.contains(secret.as_str()));
                !holds_one && (is_allowed || !ENDS.iter().any(|end| upper.ends_with(end)))
            })
            .map(|(name, value)| (name.as_os_str(), value.as_os_str()))
    }
}

/// Takes secrets out of a text that comes in pieces, also where they are cut in two.
pub(crate) struct Hiding {
    secrets: Secrets,
    held: String,
}

impl Hiding {
    pub(crate) fn new(secrets: Secrets) -> Self {
        let held = String::new();
        Hiding { secrets, held }
    }

    /// Takes more text, and returns what is certain.
    pub(crate) fn push(&mut self, text: String) -> String {
        let longest = self.secrets.longest();
        if longest == 0 {
            return text;
        }
        self.held.push_str(&text);
        let mut text = self.secrets.hide(&self.held).into_owned();
        // Behind this, a secret may have begun that is not finished.
        let certain = text.floor_char_boundary(text.len().saturating_sub(longest - 1));
        self.held = text.split_off(certain);
        text
    }

    /// The rest.
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
        assert_eq!(names(&[]), ["PATH", "TOKENS"]);
        // Allowing a name does not allow the value of a key.
        assert_eq!(names(&["NPM_TOKEN", "INNOCENT"]), ["PATH", "NPM_TOKEN", "TOKENS"]);
    }

    proptest! {
        #[test]
        fn a_secret_in_pieces_is_hidden(pieces in prop::collection::vec(prop::sample::select(vec!["abcdefgh", "abcd", "efgh", "ab", "x", "ä", "abcdefghij", "ij"]), 0..12)) {
            let secrets = Secrets::new(&["abcdefgh".to_owned(), "abcdefghij".to_owned()]);
            let mut hiding = Hiding::new(secrets.clone());
            let mut shown = String::new();
            for piece in &pieces {
                shown.push_str(&hiding.push((*piece).to_owned()));
            }
            shown.push_str(&hiding.finish());
            prop_assert!(!shown.contains("abcdefgh"), "{shown}");
        }
    }
}
