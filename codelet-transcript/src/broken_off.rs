//! Repairs a truncated JSON value, as left by a program that was killed while writing, or by a closed pipe.

use serde::de::IgnoredAny;

/// Returns the value up to the last complete element of its outermost list, or up to that list if the list itself is
/// complete, with all brackets closed, and the number of bytes lost; `None` if it is not truncated or has no complete
/// element.
pub(crate) fn closed(bytes: &[u8]) -> Option<(Vec<u8>, usize)> {
    let mut values = serde_json::Deserializer::from_slice(bytes).into_iter::<IgnoredAny>();
    // JSON Lines begin with a complete value.
    values.next()?.err().filter(serde_json::Error::is_eof)?;
    let open = open(bytes);
    let list = open
        .iter()
        .position(|open| open.bracket == b'[' && open.whole.is_some());
    let (list, end) = match list {
        Some(list) => (list, open[list].whole?),
        None => (0, open.first()?.list?),
    };
    let mut mended = bytes[..end].to_vec();
    let brackets = open[..=list].iter().rev();
    mended.extend(brackets.map(|open| if open.bracket == b'[' { b']' } else { b'}' }));
    Some((mended, bytes.len() - end))
}

/// A bracket that is not closed.
struct OpenBracket {
    bracket: u8,
    /// The end of the last complete value in it.
    whole: Option<usize>,
    /// The end of the last complete list in it.
    list: Option<usize>,
}

/// Returns the brackets that are open at the end of a valid JSON prefix, outermost first.
fn open(bytes: &[u8]) -> Vec<OpenBracket> {
    let mut open: Vec<OpenBracket> = Vec::new();
    let (mut is_text, mut is_escaped) = (false, false);
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_text => is_escaped = true,
            b'"' => is_text = !is_text,
            _ if is_text => {}
            b'{' | b'[' => open.push(OpenBracket {
                bracket: *byte,
                whole: None,
                list: None,
            }),
            b'}' | b']' => {
                open.pop();
                if let Some(around) = open.last_mut() {
                    around.whole = Some(at + 1);
                    if *byte == b']' {
                        around.list = around.whole;
                    }
                }
            }
            b',' => {
                if let Some(around) = open.last_mut() {
                    around.whole = Some(at);
                }
            }
            _ => {}
        }
    }
    open
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::{Format, ReadError, Warning, read};
    use proptest::prelude::*;
    use serde_json::{Value, json};

    #[test]
    fn what_is_whole_of_the_outermost_list_stays() {
        let closed = |text: &str| {
            let (mended, lost) = closed(text.as_bytes())?;
            Some((String::from_utf8(mended).unwrap(), lost))
        };
        assert_eq!(
            closed(r#"{"a":"]","m":[{"t":["x"]},{"t":["y","#),
            Some((r#"{"a":"]","m":[{"t":["x"]}]}"#.to_owned(), 11))
        );
        assert_eq!(closed(r#"[1,2"#), Some(("[1]".to_owned(), 2)));
        assert_eq!(
            closed(r#"{"m":[{"t":1},{}],"model":"x"#),
            Some((r#"{"m":[{"t":1},{}]}"#.to_owned(), 11))
        );
        assert_eq!(
            closed("{\"m\":[\"a\\\",\",\"b"),
            Some((r#"{"m":["a\","]}"#.to_owned(), 3))
        );
        for whole in [
            "", "{}", "[1]\n[2", "{\"a\":1}\n{\"b\"", "{\"a\":\"b", "[", "[{\"a\":", "x", "{]",
        ] {
            assert_eq!(closed(whole), None, "{whole}");
        }
    }

    #[test]
    fn a_request_that_breaks_off_is_read_as_far_as_it_goes_and_told() {
        let said = |number: usize| {
            let role = ["user", "assistant"][number % 2];
            json!({"role": role, "content": format!("{number} {}", "word ".repeat(20))})
        };
        let whole = json!({"model": "m", "messages": (0..40).map(said).collect::<Vec<_>>()}).to_string();
        let cut = &whole.as_bytes()[..whole.len() - 60];
        for format in [None, Some(Format::Anthropic)] {
            let document = read(cut, format).unwrap();
            assert_eq!(document.messages.len(), 39);
            assert!(
                document
                    .warnings
                    .iter()
                    .any(|warning| matches!(warning, Warning::BrokenOff { .. }))
            );
        }
        // If the only message is truncated, a tenth or more is lost.
        let large = json!({"messages": [said(0), said(1), {"role": "user", "content": "x".repeat(9000)}]}).to_string();
        let error = read(&large.as_bytes()[..5000], Some(Format::Anthropic)).unwrap_err();
        assert!(matches!(error, ReadError::TooLittle { .. }), "{error}");
        let forced = crate::record_anyway(&large.as_bytes()[..5000], None).unwrap();
        assert_eq!(forced.document.messages.len(), 2);
    }

    proptest! {
        #[test]
        fn what_is_mended_is_json_and_begins_as_it_did(text in r#"[\[\]{}",:\\a1 ]{0,40}"#, at in 0_usize..200) {
            let value = json!({"a": text, "m": [{"t": [text, {"u": text}]}, [text], text]}).to_string();
            let cut = &value.as_bytes()[..at.min(value.len())];
            for bytes in [text.as_bytes(), cut] {
                if let Some((mended, lost)) = closed(bytes) {
                    prop_assert!(serde_json::from_slice::<Value>(&mended).is_ok());
                    prop_assert!(mended.starts_with(&bytes[..bytes.len() - lost]));
                }
            }
        }
    }
}
