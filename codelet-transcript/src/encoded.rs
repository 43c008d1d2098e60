//! Texts of a conversation that were encoded for one request, kept for the next: an agent sends its whole history again at
//! each step, and most of it is as it was.

use bytes::Bytes;
use codelet_context::body::Body;
use std::collections::HashMap;

/// Shorter texts, in bytes, are encoded each time: a slice of its own would cost more.
pub(crate) const LEAST: usize = 1_024;
/// A text that so many requests in a row do not hold is forgotten: between two of a session, one may ask for a summary.
const REQUESTS: u64 = 2;

/// The long texts of the last requests, as JSON.
#[derive(Default)]
pub struct Encoded {
    /// By the hash of the text.
    texts: HashMap<u64, Entry>,
    /// Counts the requests.
    request: u64,
}

struct Entry {
    text: Body,
    json: Bytes,
    /// The request that held it last.
    held: u64,
}

impl Encoded {
    /// Begins a request.
    pub(crate) fn begin(&mut self) {
        let oldest = self.request.saturating_sub(REQUESTS - 1);
        self.texts.retain(|_, entry| entry.held >= oldest);
        self.request += 1;
    }

    /// A text as JSON, as it was made before or is made now.
    pub(crate) fn json(&mut self, text: &Body, encode: impl FnOnce(&str) -> Vec<u8>) -> Bytes {
        let held = self.request;
        if let Some(entry) = self.texts.get_mut(&text.hash())
            && entry.text == *text
        {
            entry.held = held;
            return entry.json.clone();
        }
        let json = Bytes::from(encode(text.as_str()));
        let entry = Entry {
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
