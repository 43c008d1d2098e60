//! Wires: the formats of requests and replies, and their URLs.

use crate::address::{below, given, is_version};
use rig_reqwest::reqwest::Url;

/// URL endings that users may have copied from a page of documentation.
const ENDINGS: &[&[&str]] = &[
    &["chat", "completions"],
    &["responses"],
    &["messages"],
    &["models"],
    &["completions"],
];

/// The format of requests and replies.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Wire {
    /// Anthropic's Messages.
    Anthropic,
    /// OpenAI's Responses.
    Responses,
    /// OpenAI's Chat Completions, which most others speak too.
    Chat,
    /// Gemini's `streamGenerateContent`.
    Gemini,
}

impl Wire {
    /// Returns the base URL of a server: as configured, without an ending for a specific resource, and with the version
    /// with which the wire's paths begin.
    ///
    /// # Errors
    /// If the text is no address; the sentence does not repeat it.
    pub(crate) fn base(self, text: &str) -> Result<Url, String> {
        let (mut url, mut path) = given(text)?;
        if let Some(ending) = ENDINGS.iter().find(|ending| {
            path.iter()
                .rev()
                .zip(ending.iter().rev())
                .filter(|(a, b)| a == *b)
                .count()
                == ending.len()
        }) {
            path.truncate(path.len() - ending.len());
        }
        let is_versioned = path.last().is_some_and(|last| is_version(last));
        match self {
            Wire::Anthropic if !is_versioned => path.push("v1".to_owned()),
            Wire::Responses | Wire::Chat if path.is_empty() => path.push("v1".to_owned()),
            Wire::Gemini if !is_versioned => path.push("v1beta".to_owned()),
            _ => {}
        }
        url.set_path(&path.join("/"));
        Ok(url)
    }

    /// Returns the URL of the streaming endpoint.
    pub(crate) fn endpoint(self, base: &Url, model: &str) -> Url {
        match self {
            Wire::Anthropic => below(base, &["messages"]),
            Wire::Responses => below(base, &["responses"]),
            Wire::Chat => below(base, &["chat", "completions"]),
            Wire::Gemini => {
                let model = model.strip_prefix("models/").unwrap_or(model);
                let mut url = below(base, &["models", &format!("{model}:streamGenerateContent")]);
                url.query_pairs_mut().append_pair("alt", "sse");
                url
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use codelet_network::is_own_machine;
    use proptest::prelude::*;

    fn at(given: &str, wire: Wire) -> String {
        wire.endpoint(&wire.base(given).unwrap(), "m").to_string()
    }

    #[test]
    fn an_address_leads_to_the_same_place_however_it_is_written() {
        for (wire, given, expected) in [
            (Wire::Anthropic, "https://h", "https://h/v1/messages"),
            (Wire::Anthropic, "https://h/", "https://h/v1/messages"),
            (Wire::Anthropic, "https://h/v1/", "https://h/v1/messages"),
            (Wire::Anthropic, "https://h/v1/messages", "https://h/v1/messages"),
            (
                Wire::Anthropic,
                "https://h/anthropic",
                "https://h/anthropic/v1/messages",
            ),
            (
                Wire::Chat,
                "http://127.0.0.1:8080",
                "http://127.0.0.1:8080/v1/chat/completions",
            ),
            (
                Wire::Chat,
                "http://127.0.0.1:8080/v1//",
                "http://127.0.0.1:8080/v1/chat/completions",
            ),
            (
                Wire::Chat,
                "https://h/v1/chat/completions/",
                "https://h/v1/chat/completions",
            ),
            (
                Wire::Chat,
                "https://h/api/coding/paas/v4",
                "https://h/api/coding/paas/v4/chat/completions",
            ),
            (
                Wire::Chat,
                "https://h/openai?api-version=9",
                "https://h/openai/chat/completions?api-version=9",
            ),
            (Wire::Responses, "https://h/v1", "https://h/v1/responses"),
            (
                Wire::Gemini,
                "https://h",
                "https://h/v1beta/models/m:streamGenerateContent?alt=sse",
            ),
            (
                Wire::Gemini,
                "https://h/v1beta/",
                "https://h/v1beta/models/m:streamGenerateContent?alt=sse",
            ),
        ] {
            assert_eq!(at(given, wire), expected, "{given}");
        }
    }

    proptest! {
        #[test]
        fn no_address_makes_it_panic(given in "(https?://)?[a-z0-9.:/@?#%é\\[\\]-]{0,40}") {
            for wire in [Wire::Anthropic, Wire::Responses, Wire::Chat, Wire::Gemini] {
                if let Ok(base) = wire.base(&given) {
                    let _ = wire.endpoint(&base, &given);
                    let _ = is_own_machine(&base);
                }
            }
        }
    }
}
