//! JSON, looked over without building it.

/// Whether a text of JSON holds more than so many values, nested ones and the keys of objects among them. What it takes to build them all
/// is told by their number and not by the bytes: `[]` is two bytes, and forty times as many once it is built.
pub fn has_more_values(json: &[u8], most: usize) -> bool {
    let (mut at, mut values) = (0, 1);
    while let Some(byte) = json.get(at) {
        at += 1;
        match byte {
            // What is not closed is one value to the end.
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

/// Where a text ends that begins there, behind its quote.
fn string_end(json: &[u8], begin: usize) -> Option<usize> {
    let mut at = begin;
    loop {
        // Texts are most of what is large.
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
