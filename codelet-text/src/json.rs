//! Scans JSON without parsing it.

/// Returns whether a JSON text has more than `most` values, including nested ones and object keys. The memory for
/// parsing depends on their number, not on the bytes: `[]` is two bytes, and forty times as many once parsed.
pub fn has_more_values(json: &[u8], most: usize) -> bool {
    let (mut at, mut values) = (0, 1);
    while let Some(byte) = json.get(at) {
        at += 1;
        match byte {
            // An unterminated string is one value up to the end.
            b'"' => match string_end(json, at) {
                Some(end) => at = end,
                None => break,
            },
            b'[' | b'{' | b',' | b':' => {
                values += 1;
                if values > most {
                    return true;
                }
            }
            _ => {}
        }
    }
    values > most
}

/// The end of a string, given the index after its opening quote.
fn string_end(json: &[u8], begin: usize) -> Option<usize> {
    let mut at = begin;
    loop {
        // Large JSON consists mostly of strings.
        at += memchr::memchr2(b'"', b'\\', json.get(at..)?)?;
        if json[at] == b'"' {
            return Some(at + 1);
        }
        at += 2;
    }
}

/// Replaces each escape of an unpaired surrogate (`\ud83d`) in a JSON text by what `write` appends for it; returns the
/// text and the offset of the first, or `None` if there are none.
pub fn replace_halves(json: &str, write: impl Fn(u16, &mut String)) -> Option<(String, usize)> {
    let bytes = json.as_bytes();
    let unit = |at: usize| {
        let digits = bytes.get(at..at + 6)?.strip_prefix(b"\\u")?;
        let is_hex = digits.iter().all(u8::is_ascii_hexdigit);
        is_hex.then(|| u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok())?
    };
    let mut mended = String::new();
    let (mut first, mut from, mut at) = (None, 0, 0);
    while let Some(next) = bytes.get(at..).and_then(|rest| memchr::memchr(b'\\', rest)) {
        at += next;
        at += match (unit(at), unit(at + 6)) {
            (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => 12,
            (Some(half @ 0xD800..=0xDFFF), _) => {
                first.get_or_insert(at);
                mended.push_str(&json[from..at]);
                write(half, &mut mended);
                from = at + 6;
                6
            }
            // An escaped character is skipped: if it is a backslash, it begins no escape.
            _ => 2,
        };
    }
    let first = first?;
    Some((mended + &json[from..], first))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_counted_and_texts_are_not_looked_into() {
        for (json, values) in [
            ("1", 1),
            ("[]", 2),
            (r#"{"a": [1, 2]}"#, 5),
            (r#"["[,:{", "\"[,\\", 1]"#, 4),
            (r#"["not closed [,,,"#, 2),
        ] {
            assert!(!has_more_values(json.as_bytes(), values), "{json}");
            assert!(has_more_values(json.as_bytes(), values - 1), "{json}");
        }
    }
}
