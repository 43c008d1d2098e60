//! File names in text: on one line each, whatever bytes they contain, and parseable.

use codelet_text::unseen::hides;
use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;

/// Returns a name as a model reads and writes it: verbatim, or, if it contains anything that would break a line or
/// deceive a reader, in quotes with escapes (`"caf\xe9.txt"`, `"two\nlines"`).
pub fn spell(name: &OsStr) -> String {
    let bytes = name.as_encoded_bytes();
    if let Ok(text) = std::str::from_utf8(bytes)
        && !text.starts_with('"')
        && !text.chars().any(is_deceptive)
    {
        return text.to_owned();
    }
    let mut spelled = String::from("\"");
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            match character {
                '\n' => spelled.push_str("\\n"),
                '\r' => spelled.push_str("\\r"),
                '\t' => spelled.push_str("\\t"),
                '"' | '\\' => spelled.extend(['\\', character]),
                _ if is_deceptive(character) => {
                    let _ = write!(spelled, "\\u{{{:x}}}", u32::from(character));
                }
                _ => spelled.push(character),
            }
        }
        for byte in chunk.invalid() {
            let _ = write!(spelled, "\\x{byte:02x}");
        }
    }
    spelled.push('"');
    spelled
}

/// Returns the first `most` names of a list, and the number of the others.
pub(crate) fn first(names: &[impl AsRef<str>], most: usize) -> String {
    let named: Vec<&str> = names.iter().take(most).map(AsRef::as_ref).collect();
    match names.len().saturating_sub(most) {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}

/// Parses a name spelled in quotes; `None` if `spelled` is not in that form, and so is the name itself.
pub fn read(spelled: &str) -> Option<OsString> {
    let inner = spelled.strip_prefix('"')?.strip_suffix('"')?;
    let mut bytes = Vec::with_capacity(inner.len());
    let mut rest = inner;
    while let Some(character) = rest.chars().next() {
        rest = &rest[character.len_utf8()..];
        match character {
            '"' => return None,
            '\\' => rest = escaped(rest, &mut bytes)?,
            _ => bytes.extend(character.encode_utf8(&mut [0; 4]).bytes()),
        }
    }
    name(bytes)
}

/// Decodes the escape after a backslash, and returns the rest.
fn escaped<'a>(rest: &'a str, bytes: &mut Vec<u8>) -> Option<&'a str> {
    let kind = rest.chars().next()?;
    let rest = &rest[kind.len_utf8()..];
    match kind {
        'n' => bytes.push(b'\n'),
        'r' => bytes.push(b'\r'),
        't' => bytes.push(b'\t'),
        '"' | '\\' => bytes.push(kind as u8),
        'x' => {
            bytes.push(u8::from_str_radix(rest.get(..2)?, 16).ok()?);
            return rest.get(2..);
        }
        'u' => {
            let (digits, after) = rest.strip_prefix('{')?.split_once('}')?;
            let character = char::from_u32(u32::from_str_radix(digits, 16).ok()?)?;
            bytes.extend(character.encode_utf8(&mut [0; 4]).bytes());
            return Some(after);
        }
        _ => return None,
    }
    Some(rest)
}

#[cfg(unix)]
fn name(bytes: Vec<u8>) -> Option<OsString> {
    Some(std::os::unix::ffi::OsStringExt::from_vec(bytes))
}

#[cfg(not(unix))]
fn name(bytes: Vec<u8>) -> Option<OsString> {
    String::from_utf8(bytes).ok().map(OsString::from)
}

/// Returns whether a character breaks a line, controls a terminal, reverses the direction of the following text, or is
/// invisible.
fn is_deceptive(character: char) -> bool {
    character.is_control() || hides(character)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn plain_names_stand_as_they_are_and_others_in_quotes() {
        for (name, spelled) in [
            ("src/main.rs", "src/main.rs"),
            ("with space, ünïcode and 'quotes'", "with space, ünïcode and 'quotes'"),
            ("two\nlines", "\"two\\nlines\""),
            ("esc\u{1b}[31m", "\"esc\\u{1b}[31m\""),
            ("\"said\"", "\"\\\"said\\\"\""),
            ("txt.\u{202e}exe", "\"txt.\\u{202e}exe\""),
            ("main\u{200b}.rs", "\"main\\u{200b}.rs\""),
            ("\u{61c}a", "\"\\u{61c}a\""),
            ("❤\u{fe0f} می\u{200c}خواهم", "❤\u{fe0f} می\u{200c}خواهم"),
        ] {
            assert_eq!(spell(OsStr::new(name)), spelled);
        }
    }

    #[test]
    fn needless_quotes_are_taken_off_and_half_of_them_belong_to_the_name() {
        assert_eq!(read("\"src/main.rs\""), Some(OsString::from("src/main.rs")));
        for name in [
            "src/main.rs", "\"open", "\"a\"b\"", "\"bad \\q\"", "\"\\x9\"", "\"\\u{110000}\"", "\"",
        ] {
            assert_eq!(read(name), None, "{name}");
        }
    }

    #[cfg(unix)]
    proptest! {
        #[test]
        fn any_name_is_one_line_and_is_read_back(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
            let name: OsString = std::os::unix::ffi::OsStringExt::from_vec(bytes);
            let spelled = spell(&name);
            prop_assert!(!spelled.chars().any(is_deceptive));
            let back = read(&spelled).unwrap_or_else(|| OsString::from(&spelled));
            prop_assert_eq!(back, name);
        }

        #[test]
        fn whatever_is_said_is_read_without_a_panic(text in "\"?[\\\\\"xu{}a-f0-9é]{0,20}\"?") {
            let _ = read(&text);
        }
    }
}
