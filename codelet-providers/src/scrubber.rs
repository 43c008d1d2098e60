//! Redaction of the key in replies: in the displayed deltas, and in the complete reply that is stored, executed and
//! sent back.
//!
//! A server may echo the key, and a model may repeat one that it has seen. Texts and parameters are stored without it,
//! so each later request is the same. Thinking that the vendor verifies must be sent back unchanged: it is stored with
//! a mask, and the original is restored when a request is written.

use crate::frames::{Deltas, Whole};
use crate::secret::{MASK, Secret};
use codelet_agent::model::{Delta, Request, Stop};
use codelet_context::message::{Message, Part, Thinking};
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};

/// Redacts the key in one reply.
#[derive(Default)]
pub(crate) struct Scrubber {
    key: Option<Secret>,
    text: Pieces,
    thinking: Pieces,
}

impl Scrubber {
    pub(crate) fn new(key: Option<&Secret>) -> Self {
        Scrubber {
            key: key.filter(|key| key.is_hidden()).cloned(),
            ..Scrubber::default()
        }
    }

    /// Redacts the deltas. Only text that may be the beginning of the key is held back, and only until more of the same
    /// text arrives.
    pub(crate) fn take(&mut self, deltas: &mut Deltas) {
        let Some(key) = &self.key else { return };
        let mut out = Vec::with_capacity(deltas.len());
        for delta in deltas.drain(..) {
            match delta {
                Delta::Text(more) => {
                    out.extend(self.thinking.rest().map(Delta::Thinking));
                    out.extend(self.text.push(key, &more).map(Delta::Text));
                }
                Delta::Thinking(more) => {
                    out.extend(self.text.rest().map(Delta::Text));
                    out.extend(self.thinking.push(key, &more).map(Delta::Thinking));
                }
                Delta::Call { tool } => {
                    out.extend(self.thinking.rest().map(Delta::Thinking));
                    out.extend(self.text.rest().map(Delta::Text));
                    let tool = key.hide_in_name(&tool).into_owned();
                    out.push(Delta::Call { tool });
                }
                other => out.push(other),
            }
        }
        *deltas = out;
    }

    /// Returns the text still held back at the end.
    pub(crate) fn rest(&mut self) -> impl Iterator<Item = Delta> {
        let thinking = self.thinking.rest().map(Delta::Thinking);
        thinking.into_iter().chain(self.text.rest().map(Delta::Text))
    }

    /// Returns a complete reply without the key; `None` if it does not contain the key.
    pub(crate) fn whole(&self, whole: &Whole) -> Option<Whole> {
        let key = self.key.as_ref()?;
        let mut hidden = whole.clone();
        for value in &mut hidden.list {
            hide_in_reply(key, value);
        }
        if let Some(Stop::Declined(words) | Stop::BrokenOff(words)) = &mut hidden.stop {
            *words = key.scrub(words);
        }
        (hidden != *whole).then_some(hidden)
    }
}

/// A text that arrives in pieces.
#[derive(Default)]
struct Pieces {
    /// The end of the text so far, which may be the beginning of the key.
    held: String,
    /// Bytes of it that were shown nevertheless.
    shown: usize,
}

impl Pieces {
    /// Takes more text, and returns the part that is safe by now.
    fn push(&mut self, key: &Secret, more: &str) -> Option<String> {
        self.held.push_str(more);
        let mut out = String::new();
        let mut from = 0;
        while let Some(at) = self.held[from..].find(key.reveal()).map(|at| from + at) {
            out.push_str(self.held.get(self.shown..at).unwrap_or_default());
            out.push_str(MASK);
            from = at + key.reveal().len();
            self.shown = from;
        }
        let begins = self.held.len() - key.begun(&self.held[from..]);
        out.push_str(self.held.get(self.shown..begins).unwrap_or_default());
        self.shown = self.shown.max(begins) - begins;
        self.held.drain(..begins);
        Some(out).filter(|out| !out.is_empty())
    }

    /// Returns the text held back, because another delta follows. If the key is completed later, its end is masked.
    fn rest(&mut self) -> Option<String> {
        let rest = self.held[self.shown..].to_owned();
        self.shown = self.held.len();
        Some(rest).filter(|rest| !rest.is_empty())
    }
}

/// The fields that name calls, and those that contain their parameters.
const NAMES: [&str; 3] = ["name", "id", "call_id"];
const PARAMETERS: [&str; 3] = ["input", "args", "arguments"];

/// Hides the key in every text of a reply.
fn hide_in_reply(key: &Secret, value: &mut Value) {
    match value {
        Value::Array(values) => values.iter_mut().for_each(|value| hide_in_reply(key, value)),
        Value::Object(fields) if is_bound_detail(fields) => {}
        Value::Object(fields) => {
            for (name, value) in fields {
                match value {
                    Value::String(text) if NAMES.contains(&name.as_str()) => {
                        *text = key.hide_in_name(text).into_owned();
                    }
                    Value::String(text) if name == "arguments" => hide_in_json(key, text),
                    value if PARAMETERS.contains(&name.as_str()) => hide(key, value),
                    value => hide_in_reply(key, value),
                }
            }
        }
        value => hide(key, value),
    }
}

/// Hides the key in every text and in field names.
fn hide(key: &Secret, value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Cow::Owned(hidden) = key.hide(text) {
                *text = hidden;
            }
        }
        Value::Array(values) => values.iter_mut().for_each(|value| hide(key, value)),
        Value::Object(fields) => {
            if fields.keys().any(|name| matches!(key.hide(name), Cow::Owned(_))) {
                let named = std::mem::take(fields).into_iter();
                *fields = named
                    .map(|(name, value)| (key.hide(&name).into_owned(), value))
                    .collect();
            }
            fields.values_mut().for_each(|value| hide(key, value));
        }
        _ => {}
    }
}

/// Hides the key in parameters encoded as JSON text, which may contain it in escaped form.
fn hide_in_json(key: &Secret, text: &mut String) {
    let Ok(mut value) = serde_json::from_str::<Value>(text) else {
        *text = key.hide(text).into_owned();
        return;
    };
    let came = value.clone();
    hide(key, &mut value);
    if value != came {
        *text = value.to_string();
    }
}

/// Returns whether this is signed or encrypted thinking that gateways send next to the message: it is neither shown nor
/// sent to anyone but the vendor.
fn is_bound_detail(fields: &Map<String, Value>) -> bool {
    let text = |name: &str| fields.get(name).and_then(Value::as_str).unwrap_or_default();
    let kind = text("type");
    kind.starts_with("reasoning.") && (kind == "reasoning.encrypted" || !text("signature").is_empty())
}

/// Masked thinking that is sent back unmasked: pairs of the stored and the signed version.
#[derive(Default)]
pub(crate) struct Kept(Mutex<Vec<(Thinking, Thinking)>>);

impl Kept {
    /// Records the differences between a stored reply and the original.
    pub(crate) fn note(&self, kept: &Message, came: &Message) {
        let thinking = |message: &Message| -> Vec<Thinking> {
            let parts = message.parts.iter();
            parts
                .filter_map(|part| match part {
                    Part::Thinking(thinking) => Some(thinking.clone()),
                    _ => None,
                })
                .collect()
        };
        let pairs = thinking(kept).into_iter().zip(thinking(came));
        let bound = pairs.filter(|(kept, came)| came.is_bound() && kept != came);
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend(bound);
    }

    /// Returns the request with the originals restored.
    pub(crate) fn restored<'a>(&self, request: &'a Request) -> Cow<'a, Request> {
        let pairs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if pairs.is_empty() {
            return Cow::Borrowed(request);
        }
        let mut request = request.clone();
        for message in &mut request.messages {
            let is_masked = |part: &Part| matches!(part, Part::Thinking(thinking) if pairs.iter().any(|(kept, _)| kept == thinking));
            if !message.parts.iter().any(is_masked) {
                continue;
            }
            for part in &mut Arc::make_mut(message).parts {
                if let Part::Thinking(thinking) = part
                    && let Some((_, came)) = pairs.iter().find(|(kept, _)| kept == thinking)
                {
                    *thinking = came.clone();
                }
            }
        }
        Cow::Owned(request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    /// Returns the displayed text for these pieces.
    fn shown(key: &Secret, pieces: &[&str]) -> String {
        let mut scrubber = Scrubber::new(Some(key));
        let mut shown = String::new();
        let mut show = |delta| match delta {
            Delta::Text(text) => shown.push_str(&text),
            other => panic!("{other:?}"),
        };
        for piece in pieces {
            let mut deltas = vec![Delta::Text((*piece).to_owned())];
            scrubber.take(&mut deltas);
            deltas.into_iter().for_each(&mut show);
        }
        scrubber.rest().for_each(&mut show);
        shown
    }

    /// Splits the text at these positions.
    fn cut<'a>(text: &'a str, cuts: &[usize]) -> Vec<&'a str> {
        let mut cuts: Vec<usize> = cuts
            .iter()
            .map(|cut| text.floor_char_boundary(cut % (text.len() + 1)))
            .chain([0, text.len()])
            .collect();
        cuts.sort_unstable();
        cuts.windows(2).map(|cut| &text[cut[0]..cut[1]]).collect()
    }

    #[test]
    fn nothing_waits_but_what_may_be_the_beginning_of_the_key() {
        let mut scrubber = Scrubber::new(Some(&Secret::new("sk-key-0123456789")));
        let mut taken = |delta: Delta| {
            let mut deltas = vec![delta];
            scrubber.take(&mut deltas);
            deltas
        };
        let text = |text: &str| Delta::Text(text.to_owned());
        let call = || Delta::Call {
            tool: "Read".to_owned(),
        };
        assert_eq!(taken(text("Let us")), [text("Let u")]);
        assert_eq!(taken(text("e sk")), [text("se ")]);
        // Held text stays separate from the next delta.
        assert_eq!(taken(call()), [text("sk"), call()]);
        assert_eq!(taken(text("-key-0123")), []);
        assert_eq!(taken(text("456789 and")), [text("[key] and")]);
    }

    #[test]
    fn a_key_is_hidden_in_parameters_however_they_spell_it() {
        let key = Secret::new("sk-key-0123456789");
        let whole = |list: Value| Whole {
            list: vec![list],
            ..Whole::default()
        };
        let hidden = |list: Value| {
            Scrubber::new(Some(&key))
                .whole(&whole(list))
                .map(|whole| whole.list[0].clone())
        };
        assert_eq!(
            hidden(json!({"input": {"sk-key-0123456789": ["a sk-key-0123456789"], "n": 1}})),
            Some(json!({"input": {"[key]": ["a [key]"], "n": 1}}))
        );
        assert_eq!(
            hidden(json!({"arguments": "{ \"a\": \"\\u0073k-key-0123456789\" }"})),
            Some(json!({"arguments": "{\"a\":\"[key]\"}"}))
        );
        assert_eq!(hidden(json!({"arguments": "{ \"a\": 1.50 }"})), None);
        let signed =
            json!({"reasoning_details": [{"type": "reasoning.text", "text": "sk-key-0123456789", "signature": "s"}]});
        assert_eq!(hidden(signed), None);
    }

    proptest! {
        #[test]
        fn pieces_are_shown_as_the_whole_would_be(
            key in "[ab]{7}1|[a-z1]{6}a1|aé1a{6}",
            text in "[abé1\\[\\]]{0,20}",
            places in proptest::collection::vec(0..20usize, 0..3),
            cuts in proptest::collection::vec(any::<usize>(), 0..6),
        ) {
            let mut text = text;
            for place in places {
                text.insert_str(text.floor_char_boundary(place), &key);
            }
            let key = Secret::new(&key);
            prop_assert_eq!(shown(&key, &cut(&text, &cuts)), key.hide(&text));
        }
    }
}
