//! Cleans program output to its final appearance: no colours, no cursor movements, no overwritten lines.

/// The maximum bytes of a line on which overwriting is tracked; longer lines are emitted in pieces.
const LINE: usize = 64 * 1024;
/// The maximum bytes of an escape sequence; an unterminated one is text.
const SEQUENCE: usize = 4096;

/// Takes bytes as they stream in and returns clean text. It holds back at most one line, since a carriage return may
/// change it.
#[derive(Default)]
pub struct Cleaner {
    /// Bytes at the end of the last input that may begin a character.
    partial: Vec<u8>,
    line: String,
    /// The byte index of the next character; the end of `line` unless the cursor was moved.
    cursor: usize,
    state: State,
    /// The bytes of the sequence so far, and its withheld content: parameters, or the content of a string.
    length: usize,
    held: String,
    /// True while withheld content turns out to be text: no string that begins in it has an end.
    is_giving_back: bool,
    out: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
enum State {
    #[default]
    Text,
    /// After ESC.
    Escape,
    /// After ESC and a character that takes one more.
    Designation,
    /// In `ESC [ …`.
    Control,
    /// In a string that BEL or `ESC \` ends on the same line.
    Hidden,
    /// After ESC in such a string.
    HiddenEscape,
}

impl Cleaner {
    /// Processes more bytes, and returns the finished lines.
    pub fn push(&mut self, bytes: &[u8]) -> String {
        let mut joined = std::mem::take(&mut self.partial);
        let bytes = if joined.is_empty() {
            bytes
        } else {
            joined.extend_from_slice(bytes);
            &joined
        };
        let mut rest = bytes;
        while !rest.is_empty() {
            match std::str::from_utf8(rest) {
                Ok(text) => {
                    self.text(text);
                    break;
                }
                Err(error) => {
                    let (valid, after) = rest.split_at(error.valid_up_to());
                    // This prefix is known to be valid.
                    self.text(std::str::from_utf8(valid).unwrap_or_default());
                    let Some(length) = error.error_len() else {
                        self.partial = after.to_vec();
                        break;
                    };
                    self.text("\u{fffd}");
                    rest = &after[length..];
                }
            }
        }
        std::mem::take(&mut self.out)
    }

    /// Ends the input and returns the last line.
    pub fn finish(&mut self) -> String {
        if !std::mem::take(&mut self.partial).is_empty() {
            self.text("\u{fffd}");
        }
        if self.is_hiding() {
            self.give_back();
        }
        self.end_line();
        self.state = State::Text;
        std::mem::take(&mut self.out)
    }

    fn text(&mut self, text: &str) {
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            if self.state == State::Text {
                let plain = rest.find(is_special).unwrap_or(rest.len());
                self.print(&rest[..plain]);
                rest = &rest[plain..];
                let Some(special) = rest.chars().next() else { break };
                self.special(special);
                rest = &rest[special.len_utf8()..];
            } else {
                self.sequence(first);
                rest = &rest[first.len_utf8()..];
            }
        }
    }

    fn print(&mut self, text: &str) {
        if self.cursor == self.line.len() {
            self.line.push_str(text);
            self.cursor = self.line.len();
        } else {
            self.print_over(text);
        }
        if self.line.len() > LINE {
            self.out.push_str(&self.line);
            self.line.clear();
            self.cursor = 0;
        }
    }

    /// Overwrites existing characters one by one.
    fn print_over(&mut self, text: &str) {
        let covered: usize = self.line[self.cursor..]
            .chars()
            .zip(text.chars())
            .map(|(old, _)| old.len_utf8())
            .sum();
        self.line.replace_range(self.cursor..self.cursor + covered, text);
        self.cursor += text.len();
    }

    fn special(&mut self, special: char) {
        match special {
            '\n' => {
                self.end_line();
                self.out.push('\n');
            }
            '\r' => self.cursor = 0,
            '\u{8}' => self.cursor = self.line.floor_char_boundary(self.cursor.saturating_sub(1)),
            '\u{1b}' => self.enter(State::Escape),
            // Bells and the like have no visible effect. Neither have those above U+007F, which once began sequences
            // too: mostly they are remains of a letter that was encoded twice (`ß` becomes `Ã` and U+009F).
            _ => {}
        }
    }

    fn enter(&mut self, state: State) {
        self.state = state;
        self.length = 0;
        self.held.clear();
    }

    fn end_line(&mut self) {
        self.out.push_str(&self.line);
        self.line.clear();
        self.cursor = 0;
    }

    fn is_hiding(&self) -> bool {
        matches!(self.state, State::Hidden | State::HiddenEscape)
    }

    /// Treats the withheld content of an unterminated sequence as text, which may contain sequences of its own.
    fn give_back(&mut self) {
        let held = std::mem::take(&mut self.held);
        self.state = State::Text;
        self.is_giving_back = true;
        self.text(&held);
        self.is_giving_back = false;
    }

    /// Processes a character that is not part of the sequence.
    fn behind(&mut self, c: char) {
        self.text(c.encode_utf8(&mut [0; 4]));
    }

    fn sequence(&mut self, c: char) {
        self.length += c.len_utf8();
        if self.length > SEQUENCE {
            self.give_back();
            return self.behind(c);
        }
        match self.state {
            State::Hidden | State::HiddenEscape => self.hidden(c),
            State::Text | State::Escape | State::Designation | State::Control => self.shown(c),
        }
    }

    fn hidden(&mut self, c: char) {
        match (self.state, c) {
            (_, '\u{7}' | '\u{9c}') | (State::HiddenEscape, '\\') => self.state = State::Text,
            // An unterminated string and whatever follows it are output.
            (_, '\n' | '\r') => {
                self.give_back();
                self.behind(c);
            }
            _ => {
                self.held.push(c);
                self.state = if c == '\u{1b}' {
                    State::HiddenEscape
                } else {
                    State::Hidden
                };
            }
        }
    }

    fn shown(&mut self, c: char) {
        match (self.state, c) {
            (State::Escape, '[') => self.state = State::Control,
            (State::Escape, ']' | 'P' | 'X' | '^' | '_') if self.is_giving_back => self.state = State::Text,
            (State::Escape, ']' | 'P' | 'X' | '^' | '_') => self.state = State::Hidden,
            (State::Escape | State::Designation, ' '..='/') => self.state = State::Designation,
            (State::Escape | State::Designation, '0'..='~') => self.state = State::Text,
            (State::Control, ' '..='?') => self.held.push(c),
            (State::Control, '@'..='~') => {
                self.control(c);
                self.state = State::Text;
            }
            (_, '\u{1b}') => self.enter(State::Escape),
            (_, c) if is_special(c) && !matches!(c, '\n' | '\r') => {}
            // An aborted sequence swallows neither the next line nor a character that no sequence contains.
            _ => {
                self.state = State::Text;
                self.behind(c);
            }
        }
    }

    /// Handles the sequences that progress bars use within their line.
    fn control(&mut self, last: char) {
        match (last, self.held.as_str()) {
            ('K', "" | "0") => self.line.truncate(self.cursor),
            ('K', "2") => {
                self.line.clear();
                self.cursor = 0;
            }
            ('G', "" | "1") => self.cursor = 0,
            _ => {}
        }
    }
}

fn is_special(c: char) -> bool {
    c.is_control() && c != '\t'
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use proptest::prelude::*;

    fn clean(bytes: &[u8]) -> String {
        let mut cleaner = Cleaner::default();
        let mut text = cleaner.push(bytes);
        text.push_str(&cleaner.finish());
        text
    }

    #[test]
    fn what_is_left_is_what_would_stand_on_paper() {
        for (bytes, expected) in [
            (&b"\x1b[1;32mok\x1b[0m done\n"[..], "ok done\n"),
            (b" 10%\r 50%\r100%\n", "100%\n"),
            (b"abcdef\rXY\n", "XYcdef\n"),
            (b"long progress\r\x1b[Kdone\n", "done\n"),
            (b"long progress\x1b[2K\rdone\n", "done\n"),
            (b"a\r\nb\r\n", "a\nb\n"),
            (b"N\x08NA\x08AM\x08ME\x08E\n", "NAME\n"),
            (
                b"\x1b]0;title\x07text \x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\\n",
                "text link\n",
            ),
            (b"\x1bPq#0;2\x1b\\after\n", "after\n"),
            (b"\x1b(B\x1b)0\x1b7\x1b8x\x07\x00\x7f\n", "x\n"),
            (b"broken \x1b[31\nnext\n", "broken \nnext\n"),
            ("ä\u{9b}31mö\n".as_bytes(), "ä31mö\n"),
            (b"\x1b]0;title cut\nnext\n", "0;title cut\nnext\n"),
            (b"\x1b]0;title cut\r\nnext\n", "0;title cut\nnext\n"),
            (b"\x1b]0;title \x1b[31mcut\x1b[0m", "0;title cut"),
            (b"\x1bPone \x1b]two \x1b[\nnext\n", "one two \nnext\n"),
            // A terminal multiplexer passes codes on to the outer terminal like this.
            (b"\x1bPtmux;\x1b\x1b]0;title\x07\x1b\\text\n", "text\n"),
            (b"\x1bPtmux;\x1b\x1b]0;title\x1b\x1b\\\x1b\\text\n", "text\n"),
            (b"\x1b]0;title\x1b\x07text\n", "text\n"),
            ("\x1b]0;title\u{9c}text\n".as_bytes(), "text\n"),
            ("\x1b[31привет \x1bмир\n".as_bytes(), "привет мир\n"),
            (b"\x1b[3\x001mred\x1b$(Bx\n", "redx\n"),
            (b"a\xff\xfeb", "a\u{fffd}\u{fffd}b"),
            (b"half \xc3", "half \u{fffd}"),
            (b"\tkept\t\n", "\tkept\t\n"),
            ("äöü\rx\n".as_bytes(), "xöü\n"),
            (b"", ""),
        ] {
            assert_eq!(clean(bytes), expected, "{:?}", String::from_utf8_lossy(bytes));
        }
    }

    #[test]
    fn a_sequence_without_an_end_swallows_nothing() {
        for begin in ["\x1b]", "\x1bP", "\x1bX", "\x1b^", "\x1b_"] {
            for length in [1, SEQUENCE - 3, SEQUENCE, 3 * SEQUENCE] {
                let text = "x".repeat(length);
                assert_eq!(clean(format!("{begin}{text}").as_bytes()), text, "{begin:?} {length}");
            }
        }
        let numbers = "1;".repeat(SEQUENCE);
        assert_eq!(clean(format!("\x1b[{numbers}").as_bytes()), numbers);
    }

    #[test]
    fn what_was_encoded_twice_keeps_all_behind_it() {
        for text in ["Straße 5", "Привет", "Übergröße", "naïve œuvre – “quoted”"] {
            let twice: String = text.bytes().map(char::from).collect();
            let printed = format!("{twice}\nerror: E1\n");
            let expected: String = printed.chars().filter(|&c| c == '\n' || !c.is_control()).collect();
            assert_eq!(clean(printed.as_bytes()), expected);
        }
    }

    #[test]
    fn a_flood_of_beginnings_takes_time_in_proportion() {
        let began = std::time::Instant::now();
        assert_eq!(clean("\x1b]".repeat(2_000_000).as_bytes()), "");
        assert!(began.elapsed().as_secs() < 20, "{:?}", began.elapsed());
    }

    #[test]
    fn a_line_without_an_end_is_let_go_in_pieces() {
        let mut cleaner = Cleaner::default();
        let mut total = 0;
        for _ in 0..100 {
            total += cleaner.push(&[b'x'; 10_000]).len();
            assert!(cleaner.line.len() <= LINE);
        }
        total += cleaner.finish().len();
        assert_eq!(total, 1_000_000);
    }

    proptest! {
        #[test]
        fn nothing_of_a_terminal_is_left(bytes in prop::collection::vec(prop_oneof![any::<u8>(), prop::sample::select(b"\x1b[]0;m\r\n\x08KaGP\\\x07".to_vec())], 0..200)) {
            let text = clean(&bytes);
            prop_assert!(!text.chars().any(is_special_left), "{text:?}");
            // Cleaning is idempotent.
            prop_assert_eq!(clean(text.as_bytes()), text);
        }

        #[test]
        fn pieces_give_the_same_text_as_the_whole(bytes in prop::collection::vec(prop_oneof![any::<u8>(), prop::sample::select(b"\x1b[]0;m\r\n\x08KaGP\\\x07".to_vec())], 0..200), cuts in prop::collection::vec(0usize..200, 0..5)) {
            let mut cleaner = Cleaner::default();
            let mut text = String::new();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
            cuts.sort();
            let mut from = 0;
            for cut in cuts {
                text.push_str(&cleaner.push(&bytes[from..cut]));
                from = cut;
            }
            text.push_str(&cleaner.push(&bytes[from..]));
            text.push_str(&cleaner.finish());
            prop_assert_eq!(text, clean(&bytes));
        }

        #[test]
        fn without_an_escape_only_control_characters_are_lost(text in "[a-zßяU\u{7}\u{80}-\u{a0}\t\n]{0,300}") {
            let kept: String = text.chars().filter(|c| !is_special_left(*c)).collect();
            prop_assert_eq!(clean(text.as_bytes()), kept);
        }

        #[test]
        fn a_string_without_an_end_gives_back_all_of_it(begin in "\u{1b}[]PX^_]", text in "[a-z;ß ]{0,60}", next in "[a-z]{1,9}") {
            let printed = format!("{begin}{text}\n{next}\n");
            prop_assert_eq!(clean(printed.as_bytes()), format!("{text}\n{next}\n"));
        }

        #[test]
        fn a_plain_text_stays_as_it_is(text in "[a-zäö 0-9\t\n]{0,300}") {
            prop_assert_eq!(clean(text.as_bytes()), text);
        }
    }

    fn is_special_left(c: char) -> bool {
        is_special(c) && c != '\n'
    }
}
