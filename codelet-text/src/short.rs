//! Short forms of numbers, names and lines.

use std::borrow::Cow;
use std::fmt::Display;

/// The maximum characters of [`plain_name`]; a name may be hostile and of any length.
pub const NAME: usize = 64;

/// A whole number with thousands separators: 12,345.
pub fn grouped(number: impl Display) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() * 4 / 3 + 1);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A number with its noun: `1 line`, `1,200 lines`.
pub fn counted(number: impl Display, noun: &str) -> String {
    let number = grouped(number);
    let plural = match (&*number, noun.ends_with(['s', 'x']) || noun.ends_with("ch")) {
        ("1", _) => "",
        (_, true) => "es",
        (_, false) => "s",
    };
    format!("{number} {noun}{plural}")
}

/// A name on one line, without brackets and of limited length, so that a marker in brackets stays well-formed. May be
/// empty.
pub fn plain_name(name: &str) -> String {
    let plain = |c: char| match c.is_control() || matches!(c, '[' | ']') {
        true => '_',
        false => c,
    };
    name.chars().take(NAME).map(plain).collect()
}

/// The characters of a text on one line: spaces replace control characters.
pub fn on_one_line(text: &str) -> impl Iterator<Item = char> {
    text.chars().map(|c| if c.is_control() { ' ' } else { c })
}

/// The words of a text, separated by single spaces.
pub fn words(text: &str) -> String {
    // A list of the words would take several times the memory of a long text.
    let mut line = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        line.push_str(if line.is_empty() { "" } else { " " });
        line.push_str(word);
    }
    line
}

/// The start of a text, at most `most` characters; the last one is `…` if some are missing.
pub fn clip(text: &str, most: usize) -> Cow<'_, str> {
    match text.char_indices().nth(most) {
        None => Cow::Borrowed(text),
        Some(_) => text.chars().take(most.saturating_sub(1)).chain(['…']).collect(),
    }
}

/// The start of a text, at most `most` bytes, followed by `…` if some are missing.
pub fn clip_bytes(text: &str, most: usize) -> Cow<'_, str> {
    match text.len() > most {
        true => Cow::Owned(format!("{}…", &text[..text.floor_char_boundary(most)])),
        false => Cow::Borrowed(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_by_three() {
        let shown = [0_u64, 12, 123, 1_234, 12_345, 1_234_567].map(grouped);
        assert_eq!(shown, ["0", "12", "123", "1,234", "12,345", "1,234,567"]);
    }

    #[test]
    fn a_noun_is_in_the_plural_where_it_has_to_be() {
        let shown = [(0, "turn"), (1, "match"), (1_200, "match"), (2, "box")];
        let shown = shown.map(|(number, noun)| counted(number, noun));
        assert_eq!(shown, ["0 turns", "1 match", "1,200 matches", "2 boxes"]);
    }

    #[test]
    fn what_is_cut_says_so_and_what_fits_stays() {
        assert_eq!(clip("größe", 5), "größe");
        assert_eq!(clip("größer", 5), "größ…");
        assert_eq!(clip_bytes("größe", 7), "größe");
        assert_eq!(clip_bytes("größe", 3), "gr…");
    }

    #[test]
    fn a_hostile_name_stays_on_one_short_line() {
        let shown = plain_name(&"x]\n".repeat(500));
        assert_eq!(shown, "x__".repeat(500)[..NAME]);
    }
}
