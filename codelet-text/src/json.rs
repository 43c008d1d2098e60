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
