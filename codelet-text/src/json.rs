//! JSON, looked over without building it.

/// Whether a text of JSON holds more than so many values, nested ones and the keys of objects among them. What it takes to build them all
/// is told by their number and not by the bytes: `[]` is two bytes, and forty times as many once it is built.
pub fn has_more_values(json: &[u8], most: usize) -> bool {
    let (mut values, mut is_text, mut is_escaped) = (1, false, false);
    for byte in json {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = is_text,
            b'"' => is_text = !is_text,
            b'[' | b'{' | b',' | b':' if !is_text => {
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
