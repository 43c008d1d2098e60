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

    /// Returns the thinking, or as an error the text, if the answer is whole and its tag is not closed: then it only
    /// begins with such a word.
    pub(super) fn end(self, is_whole: bool) -> Result<String, String> {
        let thinking = match self.phase {
            Phase::Thinking => self.thinking + &self.held,
            _ => self.thinking,
        };
        match self.phase == Phase::Thinking && is_whole {
            true => Err(format!("{OPEN}{thinking}")),
            false => Ok(thinking),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns what is shown as thinking and as text, and the thinking in the end, of an answer in pieces of this many
    /// characters.
    fn taken(answer: &str, size: usize) -> (String, String, Result<String, String>) {
        let mut tagged = Tagged::default();
        let (mut thinking, mut text) = (String::new(), String::new());
        let chars: Vec<char> = answer.chars().collect();
        for piece in chars.chunks(size) {
            let more = tagged.take(&piece.iter().collect::<String>());
            thinking.push_str(&more.0);
            text.push_str(&more.1);
        }
        text.push_str(&tagged.rest());
        (thinking, text, tagged.end(true))
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
                let expected = (thinking.to_owned(), text.to_owned(), Ok(thinking.to_owned()));
                assert_eq!(taken(answer, size), expected, "{answer:?} in {size}");
            }
        }
    }

    #[test]
    fn a_tag_that_is_never_closed_is_text_unless_the_answer_was_cut() {
        let answer = "<think> is a tag </";
        assert_eq!(taken(answer, 4).2, Err(answer.to_owned()));
        let mut tagged = Tagged::default();
        tagged.take("<think>so </t");
        assert_eq!(tagged.end(false), Ok("so </t".to_owned()));
    }
}
