//! Files as text: encodings and detection of binary files.

use codelet_agent::picture;
use std::borrow::Cow;

/// Bytes at the beginning of a file in which a NUL marks it as binary (as in ripgrep and git).
const LOOKED_AT: usize = 8192;

/// The encoding of a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Encoding {
    #[default]
    Utf8,
    /// With a byte-order mark.
    Utf8Marked,
    Utf16Little,
    Utf16Big,
}

const MARK: &[u8] = b"\xef\xbb\xbf";

impl Encoding {
    /// Detects the encoding by its byte-order mark.
    pub(crate) fn of(bytes: &[u8]) -> Encoding {
        match bytes {
            [0xef, 0xbb, 0xbf, ..] => Encoding::Utf8Marked,
            [0xff, 0xfe, ..] => Encoding::Utf16Little,
            [0xfe, 0xff, ..] => Encoding::Utf16Big,
            _ => Encoding::Utf8,
        }
    }

    /// The encoding's name, if it is worth mentioning.
    pub(crate) fn name(self) -> Option<&'static str> {
        match self {
            Encoding::Utf8 => None,
            Encoding::Utf8Marked => Some("UTF-8 with a byte-order mark"),
            Encoding::Utf16Little | Encoding::Utf16Big => Some("UTF-16"),
        }
    }

    pub(crate) fn is_utf16(self) -> bool {
        matches!(self, Encoding::Utf16Little | Encoding::Utf16Big)
    }
}

/// A file's text without the byte-order mark; invalid sequences become `�`.
pub(crate) struct Decoded<'a> {
    pub text: Cow<'a, str>,
    pub encoding: Encoding,
    /// True if something was invalid.
    pub is_lossy: bool,
}

/// Decodes by the byte-order mark, or as UTF-8.
pub(crate) fn decode(bytes: &[u8]) -> Decoded<'_> {
    let encoding = Encoding::of(bytes);
    let (text, is_lossy) = match encoding {
        Encoding::Utf16Little | Encoding::Utf16Big => {
            let (text, is_lossy) = decode_utf16(bytes, encoding);
            (Cow::Owned(text), is_lossy)
        }
        _ => {
            let text = String::from_utf8_lossy(unmarked(bytes));
            let is_lossy = matches!(text, Cow::Owned(_));
            (text, is_lossy)
        }
    };
    Decoded {
        text,
        encoding,
        is_lossy,
    }
}

/// Strips the UTF-8 byte-order mark, if there is one.
pub(crate) fn unmarked(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(MARK).unwrap_or(bytes)
}

fn decode_utf16(bytes: &[u8], encoding: Encoding) -> (String, bool) {
    let pairs = bytes[2..].chunks_exact(2);
    let mut is_lossy = !pairs.remainder().is_empty();
    let units = pairs.map(|pair| match encoding {
        Encoding::Utf16Big => u16::from_be_bytes([pair[0], pair[1]]),
        _ => u16::from_le_bytes([pair[0], pair[1]]),
    });
    let text = char::decode_utf16(units)
        .map(|unit| {
            unit.unwrap_or_else(|_| {
                is_lossy = true;
                char::REPLACEMENT_CHARACTER
            })
        })
        .collect();
    (text, is_lossy)
}

/// Encodes a text as UTF-16 with a byte-order mark.
pub(crate) fn encode_utf16(text: &str, encoding: Encoding) -> Vec<u8> {
    std::iter::once(0xfeff)
        .chain(text.encode_utf16())
        .flat_map(|unit| match encoding {
            Encoding::Utf16Big => unit.to_be_bytes(),
            _ => unit.to_le_bytes(),
        })
        .collect()
}

/// The line, from 1, that contains the first `�`.
pub(crate) fn first_replacement(text: &str) -> usize {
    let before = text.split(char::REPLACEMENT_CHARACTER).next().unwrap_or_default();
    1 + before.matches('\n').count()
}

/// Counts the `�` that a file really contains, not those that replace invalid sequences.
pub(crate) fn replacements(bytes: &[u8]) -> usize {
    match Encoding::of(bytes) {
        Encoding::Utf16Little => bytes[2..].chunks_exact(2).filter(|pair| *pair == [0xfd, 0xff]).count(),
        Encoding::Utf16Big => bytes[2..].chunks_exact(2).filter(|pair| *pair == [0xff, 0xfd]).count(),
        _ => bytes.windows(3).filter(|three| *three == [0xef, 0xbf, 0xbd]).count(),
    }
}

/// Names the kind of a binary file; `None` for text.
pub(crate) fn binary_kind(bytes: &[u8]) -> Option<&'static str> {
    const KINDS: &[(&[u8], &str)] = &[
        (b"%PDF-", "a PDF"),
        (b"\x7fELF", "a program (ELF)"),
        (
            b"PK\x03\x04",
            "a ZIP archive (or a document or package that is one inside)",
        ),
        (b"\x1f\x8b", "compressed with gzip"),
        (b"\xfd7zXZ\0", "compressed with xz"),
        (b"\x28\xb5\x2f\xfd", "compressed with zstd"),
        (b"SQLite format 3\0", "an SQLite database"),
    ];
    let known = KINDS.iter().find(|(magic, _)| bytes.starts_with(magic));
    if let Some((_, kind)) = known {
        return Some(kind);
    }
    let is_text = Encoding::of(bytes).is_utf16() || !bytes[..bytes.len().min(LOOKED_AT)].contains(&0);
    (!is_text).then_some("a binary file")
}

/// Returns whether a file is a picture or another binary file.
pub(crate) fn is_binary(bytes: &[u8]) -> bool {
    picture::media_type(bytes).is_some() || binary_kind(bytes).is_some()
}

/// Counts lines; an unterminated last line counts.
pub(crate) fn count_lines(bytes: &[u8]) -> usize {
    let ends = bytes.iter().filter(|&&byte| byte == b'\n').count();
    ends + usize::from(bytes.last().is_some_and(|&last| last != b'\n'))
}

/// Returns whether a text has line endings and all are `\r\n`.
pub(crate) fn ends_in_crlf(text: &str) -> bool {
    let mut ends = memchr::memchr_iter(b'\n', text.as_bytes()).peekable();
    ends.peek().is_some() && ends.all(|at| text[..at].ends_with('\r'))
}

/// The mark for an omission inside a line, and the beginning of the note after a line that is cut.
pub(crate) const GAP: &str = "…";
pub(crate) const CUT: &str = "… [cut: this line has ";

/// Cuts a line to at most `most` bytes and adds its size.
pub(crate) fn shorten(line: &str, most: usize) -> Cow<'_, str> {
    if line.len() <= most {
        return Cow::Borrowed(line);
    }
    let head = &line[..line.floor_char_boundary(most)];
    let size = codelet_text::short::grouped(line.len());
    Cow::Owned(format!("{head}{CUT}{size} bytes]"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use proptest::prelude::*;

    #[test]
    fn encodings_are_told_by_their_mark() {
        let decoded = decode(b"\xef\xbb\xbfabc");
        assert_eq!((&*decoded.text, decoded.encoding), ("abc", Encoding::Utf8Marked));
        let decoded = decode(b"\xff\xfea\0\xe4\0");
        assert_eq!((&*decoded.text, decoded.encoding), ("aä", Encoding::Utf16Little));
        assert!(decode(b"\xff\xfea\0x").is_lossy);
        assert!(decode(b"\xfe\xff\xd8\0").is_lossy);
        assert!(decode(b"a\xffb").is_lossy);
    }

    #[test]
    fn what_is_no_text_has_a_name() {
        assert_eq!(binary_kind(b"%PDF-1.7 words"), Some("a PDF"));
        assert_eq!(binary_kind(b"a\0b"), Some("a binary file"));
        assert_eq!(binary_kind(b"\xff\xfea\0"), None);
        assert_eq!(binary_kind(b""), None);
    }

    proptest! {
        #[test]
        fn utf16_goes_there_and_back(text: String, is_big: bool) {
            let encoding = if is_big { Encoding::Utf16Big } else { Encoding::Utf16Little };
            let bytes = encode_utf16(&text, encoding);
            let decoded = decode(&bytes);
            prop_assert_eq!(&*decoded.text, &text);
            prop_assert_eq!(decoded.encoding, encoding);
            prop_assert!(!decoded.is_lossy);
        }

        #[test]
        fn any_bytes_are_decoded(bytes: Vec<u8>) {
            let _ = decode(&bytes);
            let _ = binary_kind(&bytes);
        }
    }
}
