//! Cleans a server's texts: no control characters, no secrets, and a limited length.

use crate::SessionSecrets;
use codelet_agent::tool::MOST;
use codelet_text::short::{self, clip};
pub(crate) use codelet_text::unseen::plain;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard};

/// Shorter values are not searched for: they would occur in every text.
const SHORTEST: usize = 8;
/// The replacement for a secret.
const MASK: &str = "[secret]";

/// Values that must not be shown. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct Secrets {
    known: Arc<RwLock<Vec<String>>>,
    session: Option<SessionSecrets>,
    /// The session's secrets that have already been added.
    taken: Arc<Mutex<Arc<[String]>>>,
}

impl Secrets {
    pub(crate) fn new<'a>(values: impl IntoIterator<Item = &'a str>) -> Self {
        let secrets = Secrets::default();
        secrets.learn(values.into_iter().map(str::to_owned).collect());
        secrets
    }

    /// Adds the session's secrets, which are looked up on each use.
    pub(crate) fn with(mut self, session: Option<&SessionSecrets>) -> Self {
        self.session = session.cloned();
        self
    }

    /// Adds values.
    pub(crate) fn learn(&self, values: Vec<String>) {
        let mut all = self.known.write().unwrap_or_else(PoisonError::into_inner);
        all.extend(values.into_iter().filter(|value| value.len() >= SHORTEST));
        // Longest first, so that a secret that contains another is replaced as a whole.
        all.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        all.dedup();
    }

    fn values(&self) -> RwLockReadGuard<'_, Vec<String>> {
        if let Some(session) = &self.session {
            let now = session();
            let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
            if !Arc::ptr_eq(&taken, &now) {
                self.learn(now.to_vec());
                *taken = now;
            }
        }
        self.known.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Replaces them in a text.
    pub(crate) fn hide(&self, text: String) -> String {
        let mut text = text;
        for value in self.values().iter() {
            if text.contains(value.as_str()) {
                text = text.replace(value.as_str(), MASK);
            }
        }
        text
    }
}

/// The beginning of a text, on one line and for a person, at most `most` characters.
pub(crate) fn one_line(text: &str, most: usize) -> String {
    let words = plain(text);
    // The rest of a long text is not needed.
    let head = &words[..words.floor_char_boundary(most * 8)];
    let mut line = short::words(head);
    if head.len() < words.len() {
        line.push('…');
    }
    clip(&line, most + 1).into_owned()
}

/// The two ends of a text that is too long, and the number of bytes lost between them.
pub(crate) fn bounded(text: String) -> (String, u64) {
    // Leaves room for the line that reports the loss.
    let most = MOST - 4096;
    if text.len() <= most {
        return (text, 0);
    }
    let head = text.floor_char_boundary(most / 2);
    let tail = text.ceil_char_boundary(text.len() - most / 2);
    let lost = tail - head;
    let size = codelet_text::short::grouped(lost);
    let kept = format!("{}\n[{size} bytes were not kept]\n{}", &text[..head], &text[tail..]);
    (kept, lost as u64)
}

/// The last bytes of a program's output, to explain why it failed. Clones share the text.
#[derive(Clone, Default)]
pub(crate) struct Tail(Arc<Mutex<VecDeque<u8>>>);

/// Bytes that are kept.
const TAIL: usize = 4096;

impl Tail {
    pub(crate) fn push(&self, bytes: &[u8]) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes = &bytes[bytes.len().saturating_sub(TAIL)..];
        let over = (kept.len() + bytes.len()).saturating_sub(TAIL);
        kept.drain(..over);
        kept.extend(bytes);
    }

    /// The last lines as one line for a person; empty if nothing was printed.
    pub(crate) fn words(&self) -> String {
        let kept: Vec<u8> = self
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .iter()
            .copied()
            .collect();
        let text = String::from_utf8_lossy(&kept);
        let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        let last = lines[lines.len().saturating_sub(3)..].join(" / ");
        one_line(&last, 300)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_nobody_sees_is_taken_out() {
        let hidden: String = "ignore"
            .chars()
            .map(|c| char::from_u32(0xe0000 + c as u32).unwrap())
            .collect();
        assert_eq!(
            plain(&format!("a\u{1b}[31m b{hidden}\u{202e}\r\nc\td")),
            "a[31m b\nc\td"
        );
        assert_eq!(
            plain("\u{61c}soft\u{ad}\u{3164}ware\u{2028}❤\u{fe0f}"),
            "software\u{2028}❤\u{fe0f}"
        );
    }

    #[test]
    fn of_a_flood_the_end_is_kept() {
        let tail = Tail::default();
        for _ in 0..10_000 {
            tail.push(b"noise noise noise noise\n");
        }
        tail.push(b"panic: no such file\n");
        assert!(tail.words().ends_with("panic: no such file"));
        assert!(tail.0.lock().unwrap().len() <= TAIL);
    }

    #[test]
    fn a_text_that_is_too_long_keeps_both_ends() {
        let (text, lost) = bounded(format!("begin{}end", "ä".repeat(MOST)));
        assert!(text.starts_with("begin") && text.ends_with("end") && text.len() <= MOST);
        assert!(lost as usize >= MOST);
    }

    proptest! {
        #[test]
        fn one_line_is_one_line_and_short(text in ".{0,400}", most in 1usize..50) {
            let line = one_line(&text, most);
            prop_assert!(line.chars().count() <= most + 1);
            prop_assert!(!line.contains('\n'));
        }

        #[test]
        fn no_secret_is_left(before in "[a-z]{0,9}", after in "[a-z]{0,9}") {
            let secrets = Secrets::new(["SECRET-1234", "SECRET-1234567"]);
            let shown = secrets.hide(format!("{before}SECRET-1234567{after}SECRET-1234"));
            prop_assert_eq!(shown, format!("{before}[secret]{after}[secret]"));
        }
    }
}
