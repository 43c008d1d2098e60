//! A key that nobody sees: not in logs, not in errors, not in what a vendor says about it.

use std::sync::Arc;

/// A key. It has no way to be shown; it only goes into the header of a request.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Arc<str>);

/// Shorter keys are not searched for: `x`, as users of a local server give, is in every text.
const SHORTEST: usize = 5;

/// So much of a long key's beginning is enough to recognise it, as vendors quote it back with stars in the middle.
const BEGINNING: usize = 12;

impl Secret {
    /// Takes a key; white space around it is dropped, since it comes with the line of a file.
    pub fn new(key: &str) -> Self {
        Secret(Arc::from(key.trim()))
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn expose(&self) -> &str {
        &self.0
    }

    /// The text without the key, whole or quoted in part.
    pub(crate) fn scrub(&self, text: &str) -> String {
        let key = self.expose();
        if key.len() < SHORTEST {
            return text.to_owned();
        }
        let text = text.replace(key, "[key]");
        let Some(beginning) = key.get(..BEGINNING).filter(|_| key.len() >= 2 * BEGINNING) else {
            return text;
        };
        let mut out = String::with_capacity(text.len());
        let mut rest = text.as_str();
        while let Some(at) = rest.find(beginning) {
            out.push_str(&rest[..at]);
            out.push_str("[key]");
            let quoted = &rest[at..];
            let ends = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | ',' | ')' | '<' | '\\');
            rest = &quoted[quoted.find(ends).unwrap_or(quoted.len())..];
        }
        out.push_str(rest);
        out
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
        assert_eq!(format!("{key:?}"), "[key]");
        assert_eq!(Secret::new("x").scrub("an exact text"), "an exact text");
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
