//! Caches the encoded texts of one request for the next: an agent resends its whole history at each step, and most of
//! it is unchanged.

use bytes::Bytes;
use codelet_context::body::Body;
use std::collections::HashMap;

/// Texts shorter than this, in bytes, are encoded each time: a separate slice would cost more.
pub(crate) const LEAST: usize = 1_024;
/// A text that is missing from this many consecutive requests is dropped: a request for a summary may come between two
/// requests of a session.
const REQUESTS: u64 = 2;

/// The long texts of the last requests, as JSON.
#[derive(Default)]
pub struct Encoded {
    /// By hash of the text.
    texts: HashMap<u64, EncodedText>,
    /// The number of the current request.
    request: u64,
}

struct EncodedText {
    text: Body,
    json: Bytes,
    /// The number of the last request that held it.
    held: u64,
}

impl Encoded {
    /// Starts a request: texts that the last ones did not hold are dropped.
    pub fn begin(&mut self) {
        let oldest = self.request.saturating_sub(REQUESTS - 1);
        self.texts.retain(|_, entry| entry.held >= oldest);
        self.request += 1;
    }

    /// Returns a text as JSON, from the cache or newly encoded.
    pub(crate) fn json(&mut self, text: &Body, encode: impl FnOnce(&str) -> Vec<u8>) -> Bytes {
        let held = self.request;
        if let Some(entry) = self.texts.get_mut(&text.hash())
            && entry.text == *text
        {
            entry.held = held;
            return entry.json.clone();
        }
        let json = Bytes::from(encode(text.as_str()));
        let entry = EncodedText {
            text: text.clone(),
            json: json.clone(),
            held,
        };
        self.texts.insert(text.hash(), entry);
        json
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(encoded: &mut Encoded, texts: &[&Body]) -> usize {
        let mut made = 0;
        encoded.begin();
        for text in texts {
            encoded.json(text, |text| {
                made += 1;
                text.into()
            });
        }
        made
    }

    #[test]
    fn a_text_is_encoded_once_and_forgotten_when_requests_go_on_without_it() {
        let mut encoded = Encoded::default();
        let (old, new) = (Body::from("old"), Body::from("new"));
        assert_eq!(ask(&mut encoded, &[&old]), 1);
        assert_eq!(ask(&mut encoded, &[&old, &new]), 1);
        assert_eq!(ask(&mut encoded, &[&new]), 0);
        assert_eq!(ask(&mut encoded, &[&old, &new]), 0, "one request without it");
        assert_eq!(ask(&mut encoded, &[&new]), 0);
        assert_eq!(ask(&mut encoded, &[&new]), 0);
        assert_eq!(ask(&mut encoded, &[&new]), 0);
        assert_eq!(encoded.texts.len(), 1);
        assert_eq!(ask(&mut encoded, &[&old]), 1);
    }
}
