//! Thinking that a server leaves in the text of an answer, at its very beginning and in tags: `<think>…</think>`. Servers
//! do so if they do not know the model's format.

const OPEN: &str = "<think>";
const CLOSE: &str = "</think>";

/// Separates such thinking from the text, as it arrives.
#[derive(Default)]
pub(super) struct Tagged {
    phase: Phase,
    /// What cannot be assigned yet.
    held: String,
    thinking: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum Phase {
    /// The answer may begin with the tag.
    #[default]
    Begin,
    Thinking,
    /// The text follows, after blanks.
    Behind,
    Text,
}

impl Tagged {
    /// Takes more of the content; returns the thinking and the text in it, as far as they are known to be such.
    pub(super) fn take(&mut self, more: &str) -> (String, String) {
        self.held.push_str(more);
        if self.phase == Phase::Begin {
            let begun = self.held.trim_start();
            if let Some(thinking) = begun.strip_prefix(OPEN) {
                self.held = thinking.to_owned();
                self.phase = Phase::Thinking;
            } else if OPEN.starts_with(begun) {
                return <_>::default();
            } else {
                self.phase = Phase::Text;
            }
        }
        let mut thinking = String::new();
        if self.phase == Phase::Thinking {
            let end = self.held.find(CLOSE);
            // The tag may arrive in pieces.
            let begun = || {
                (1..CLOSE.len())
                    .rev()
                    .find(|&length| self.held.ends_with(&CLOSE[..length]))
            };
            let until = end.unwrap_or_else(|| self.held.len() - begun().unwrap_or(0));
            thinking = self.held.drain(..until).collect();
            self.thinking.push_str(&thinking);
            if end.is_none() {
                return (thinking, String::new());
            }
            self.held.drain(..CLOSE.len());
            self.phase = Phase::Behind;
        }
        if self.phase == Phase::Behind {
            self.held.drain(..self.held.len() - self.held.trim_start().len());
            if self.held.is_empty() {
                return (thinking, String::new());
            }
            self.phase = Phase::Text;
        }
        (thinking, std::mem::take(&mut self.held))
    }

    /// Returns the text that was held back, once no more will come.
    pub(super) fn rest(&mut self) -> String {
        match self.phase {
            Phase::Begin => std::mem::take(&mut self.held),
            _ => String::new(),
        }
    }

    /// Returns the thinking. A tag that is never closed makes all that follows it thinking: the answer never came.
    pub(super) fn end(self) -> String {
        match self.phase {
            Phase::Thinking => self.thinking + &self.held,
            _ => self.thinking,
        }
    }
}

/// Splits a text in which only the closing tag stands, because a template puts the opening one into the prompt, into
/// the thinking and the answer. An answer follows on a line of its own, unlike a tag that a sentence mentions; calls may
/// stand in for it.
pub(super) fn split_closed(text: &str, has_calls: bool) -> Option<(&str, &str)> {
    let (thinking, answer) = text.split_once(CLOSE)?;
    let is_end = answer.starts_with(['\n', '\r']) || (has_calls && answer.is_empty());
    (is_end && !thinking.contains(OPEN)).then(|| (thinking, answer.trim_start()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns what is shown as thinking and as text, and the thinking in the end, of an answer in pieces of this many
    /// characters.
    fn taken(answer: &str, size: usize) -> (String, String, String) {
        let mut tagged = Tagged::default();
        let (mut thinking, mut text) = (String::new(), String::new());
        let chars: Vec<char> = answer.chars().collect();
        for piece in chars.chunks(size) {
            let more = tagged.take(&piece.iter().collect::<String>());
            thinking.push_str(&more.0);
            text.push_str(&more.1);
        }
        text.push_str(&tagged.rest());
        (thinking, text, tagged.end())
    }

    #[test]
    fn thinking_in_tags_at_the_beginning_is_none_of_the_text_however_it_arrives() {
        for (answer, thinking, text) in [
            ("<think>hm</think>Yes.", "hm", "Yes."),
            (
                "\n<think>\nhm </thin </think>\n\n {\"a\": 1}\n",
                "\nhm </thin ",
                "{\"a\": 1}\n",
            ),
            ("<think>ü</think>", "ü", ""),
            ("No <think>hm</think>.", "", "No <think>hm</think>."),
            ("<thinking>", "", "<thinking>"),
            ("  <th", "", "  <th"),
            ("\n a", "", "\n a"),
            ("<think>a</think>b<think>c</think>", "a", "b<think>c</think>"),
            ("", "", ""),
        ] {
            for size in [1, 2, 3, 7, 100] {
                let expected = (thinking.to_owned(), text.to_owned(), thinking.to_owned());
                assert_eq!(taken(answer, size), expected, "{answer:?} in {size}");
            }
        }
    }

    #[test]
    fn what_follows_a_tag_that_is_never_closed_is_thinking() {
        let answer = "<think>so I am done </";
        let (_, text, thinking) = taken(answer, 4);
        assert_eq!((text.as_str(), thinking.as_str()), ("", "so I am done </"));
    }

    #[test]
    fn a_closing_tag_alone_ends_the_thinking_unless_it_is_only_mentioned() {
        for (text, has_calls, expected) in [
            ("I greet.</think>\n\nHello", false, Some(("I greet.", "Hello"))),
            ("I read.</think>", true, Some(("I read.", ""))),
            ("The tag is </think>", false, None),
            ("Write `</think>` at the end.", true, None),
            ("Like this:\n<think>\nhm\n</think>\nDone.", false, None),
            ("Hello", true, None),
        ] {
            assert_eq!(split_closed(text, has_calls), expected, "{text:?}");
        }
    }
}
