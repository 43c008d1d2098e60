//! Pins: content that every compaction keeps; and the notes that the user has dropped.

use super::note::Note;

/// A pin.
#[derive(Clone, PartialEq, Eq, Debug, Hash)]
pub enum Pin {
    /// A message of the history, by index. It stays with the rest of its step, since a call and its results are one
    /// unit.
    Message(usize),
    /// A text, placed at the start of every summary from the next compaction on.
    Text(String),
}

/// The pins, in the order in which they were added, and the dropped notes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Pins(Vec<Pin>, pub(crate) Vec<Note>);

impl Pins {
    /// Adds a pin. Returns false for a duplicate and for a blank text.
    pub fn add(&mut self, pin: Pin) -> bool {
        let is_blank = matches!(&pin, Pin::Text(text) if text.trim().is_empty());
        if is_blank || self.0.contains(&pin) {
            return false;
        }
        self.0.push(pin);
        true
    }

    /// Removes a pin; returns false if there is none.
    pub fn remove(&mut self, pin: &Pin) -> bool {
        let before = self.0.len();
        self.0.retain(|other| other != pin);
        self.0.len() < before
    }

    /// Returns the pins without those that match.
    pub(crate) fn but_for(mut self, goes: impl Fn(&Pin) -> bool) -> Self {
        self.0.retain(|pin| !goes(pin));
        self
    }

    /// All pins.
    pub fn all(&self) -> &[Pin] {
        &self.0
    }

    /// The pinned messages.
    pub fn messages(&self) -> Vec<usize> {
        let messages = self.0.iter().filter_map(|pin| match pin {
            Pin::Message(index) => Some(*index),
            Pin::Text(_) => None,
        });
        messages.collect()
    }

    /// The pinned texts.
    pub fn texts(&self) -> Vec<&str> {
        let texts = self.0.iter().filter_map(|pin| match pin {
            Pin::Text(text) => Some(text.as_str()),
            Pin::Message(_) => None,
        });
        texts.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pin_is_there_once_and_goes_once() {
        let mut pins = Pins::default();
        assert!(pins.add(Pin::Message(3)) && pins.add(Pin::Text("tabs".into())));
        assert!(!pins.add(Pin::Message(3)) && !pins.add(Pin::Text(" \n".into())));
        assert_eq!((pins.messages(), pins.texts()), (vec![3], vec!["tabs"]));
        assert!(pins.remove(&Pin::Message(3)) && !pins.remove(&Pin::Message(3)));
        assert_eq!(pins.all(), [Pin::Text("tabs".into())]);
    }
}
