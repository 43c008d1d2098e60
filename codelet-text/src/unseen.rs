//! Characters that are invisible to people, but not to terminals, browsers and models.
//!
//! A text can use them to hide words, to resemble another text, or to reverse what follows. Their danger depends on the
//! context, so each caller chooses the kinds that it accepts; only this module defines the characters. Control
//! characters are not included: use [`char::is_control`].

use std::borrow::Cow;

/// The purpose of an invisible character.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unseen {
    /// Ends a line or a paragraph without a `\n`.
    Break,
    /// Changes the writing direction: the controls of Unicode's bidirectional algorithm (UAX #9).
    Turn,
    /// Joins or separates the characters around it; used in emoji and several scripts.
    Joiner,
    /// Selects the appearance of the character before it, as many emoji need.
    Variant,
    /// A letter of an invisible alphabet. It can encode whole texts; its only open use is in flags of subdivisions of
    /// countries.
    Letter,
    /// Is empty or takes no space, and means little: soft hyphens, fillers, byte order marks.
    Blank,
}

impl Unseen {
    /// The kind of a character; `None` for visible characters, white space and control characters.
    ///
    /// The invisible characters are those with Unicode's property `Default_Ignorable_Code_Point`, as of version 16 (UAX
    /// #44), the two separators of lines and paragraphs, and the marks around annotations.
    pub fn of(c: char) -> Option<Unseen> {
        Some(match c {
            ..='\u{ac}' => return None,
            '\u{2028}' | '\u{2029}' => Unseen::Break,
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => Unseen::Turn,
            '\u{200c}' | '\u{200d}' => Unseen::Joiner,
            '\u{fe00}'..='\u{fe0f}' => Unseen::Variant,
            '\u{e0000}'..='\u{e0fff}' => Unseen::Letter,
            '\u{ad}' | '\u{34f}' | '\u{200b}' | '\u{2060}'..='\u{2065}' | '\u{206a}'..='\u{206f}' | '\u{feff}' => {
                Unseen::Blank
            }
            // Korean fillers, unwritten Khmer vowels, Mongolian shaping characters.
            '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}' => {
                Unseen::Blank
            }
            // Annotations, with the reserved characters before them; shorthand and musical signs.
            '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' => Unseen::Blank,
            _ => return None,
        })
    }
}

/// Returns whether a character is invisible and unusual in most writing, so that a text with it may look like another.
/// Joiners and variation selectors are part of emoji and of some scripts, and do not count.
pub fn hides(c: char) -> bool {
    !matches!(Unseen::of(c), None | Some(Unseen::Joiner | Unseen::Variant))
}

/// Spells the flags of subdivisions of countries, after a black flag.
pub const FLAG: std::ops::RangeInclusive<char> = '\u{e0020}'..='\u{e007f}';

/// Returns whether a character may act or hide something between these two: a terminal obeys it, or it is invisible
/// there. Includes line ends and tabs.
pub fn is_harmful(before: Option<char>, c: char, after: Option<char>) -> bool {
    match c {
        ' '..='~' => false,
        '\u{0}'..='\u{1f}' | '\u{7f}'..='\u{9f}' => true,
        // Joiners are part of emoji and of some scripts; between other letters they only hide.
        '\u{200c}' | '\u{200d}' => {
            let is_foreign =
                |c: Option<char>| c.is_some_and(|c| !c.is_ascii() && c > '\u{2ff}' && (!hides(c) || FLAG.contains(&c)));
            !(is_foreign(before) && is_foreign(after))
        }
        _ if FLAG.contains(&c) => !matches!(before, Some('\u{1f3f4}' | '\u{e0020}'..='\u{e007e}')),
        _ => hides(c),
    }
}

/// Returns whether anything in a text but its line ends and tabs [is harmful](is_harmful).
pub fn misleads(text: &str) -> bool {
    let mut before = None;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if !matches!(c, '\n' | '\t') && is_harmful(before, c, chars.peek().copied()) {
            return true;
        }
        before = Some(c);
    }
    false
}

/// A foreign text without characters that a terminal obeys or that are invisible; line ends and tabs stay.
pub fn plain(text: &str) -> Cow<'_, str> {
    if text.chars().all(is_plain) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().filter(|&c| is_plain(c)).collect())
}

fn is_plain(c: char) -> bool {
    match c {
        '\n' | '\t' => true,
        c if Unseen::of(c) == Some(Unseen::Break) => true,
        c => !c.is_control() && !hides(c),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_turns_hides_or_breaks_has_one_kind() {
        for (c, kind) in [
            ('\u{ad}', Some(Unseen::Blank)),
            ('\u{61c}', Some(Unseen::Turn)),
            ('\u{180e}', Some(Unseen::Blank)),
            ('\u{200b}', Some(Unseen::Blank)),
            ('\u{200d}', Some(Unseen::Joiner)),
            ('\u{2029}', Some(Unseen::Break)),
            ('\u{202e}', Some(Unseen::Turn)),
            ('\u{2069}', Some(Unseen::Turn)),
            ('\u{3164}', Some(Unseen::Blank)),
            ('\u{fe0f}', Some(Unseen::Variant)),
            ('\u{feff}', Some(Unseen::Blank)),
            ('\u{e0041}', Some(Unseen::Letter)),
            ('\u{e01ef}', Some(Unseen::Letter)),
        ] {
            assert_eq!(Unseen::of(c), kind, "{c:?}");
        }
    }

    #[test]
    fn what_is_seen_white_space_and_controls_are_not_among_them() {
        for c in "aZ~ \t\n\r\u{1b}\u{85}\u{a0}é\u{301}日👩א\u{3000}\u{fffd}".chars() {
            assert_eq!(Unseen::of(c), None, "{c:?}");
        }
    }

    #[test]
    fn emoji_and_scripts_that_join_their_letters_hide_nothing() {
        assert!(!"می\u{200c}خواهم 👩\u{200d}💻 ❤\u{fe0f}".chars().any(hides));
        assert!("\u{61c}\u{200b}\u{2028}\u{202e}\u{feff}\u{e0041}".chars().all(hides));
    }

    #[test]
    fn what_a_terminal_obeys_and_what_hides_between_letters_misleads() {
        for text in [
            "a\u{1b}[2J", "a\rb", "a\u{200d}b", "a\u{202e}b", "a\u{e0041}", "a\u{9b}b",
        ] {
            assert!(misleads(text), "{text:?}");
        }
        for text in [
            "a\n\tb",
            "می\u{200c}خواهم 👩\u{200d}💻 ❤\u{fe0f}",
            "🏴\u{e0067}\u{e0062}\u{e007f}",
            "",
        ] {
            assert!(!misleads(text), "{text:?}");
        }
    }
}
