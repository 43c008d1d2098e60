//! Files that are no conversations, or broken ones, get an error that says where, and nothing worse.

use codelet_transcript::{Format, ReadError, Warning, read, write};
use proptest::prelude::*;

const REQUESTS: [Format; 5] = [
    Format::Anthropic,
    Format::Openai,
    Format::Responses,
    Format::Gemini,
    Format::Corpus,
];

fn complaint(format: Format, bytes: &[u8]) -> String {
    read(bytes, Some(format)).unwrap_err().to_string()
}

#[test]
fn nothing_and_blanks_are_called_empty() {
    for format in REQUESTS {
        for bytes in [&b""[..], b" \r\n\t", b"\xef\xbb\xbf"] {
            assert!(
                matches!(read(bytes, Some(format)), Err(ReadError::Empty { .. })),
                "{format}"
            );
        }
    }
    assert!(matches!(read(b" ", None), Err(ReadError::Empty { .. })));
}

#[test]
fn a_binary_file_is_called_one() {
    for format in REQUESTS {
        assert_eq!(
            complaint(format, b"\x7fELF\n\x02\0\x01"),
            "line 2: byte 6 is not text, expected JSON"
        );
    }
}

#[test]
fn a_cut_document_says_where_it_breaks_off() {
    let said = complaint(Format::Anthropic, b"{\"messages\": [\n  {\"role\": \"us");
    assert_eq!(
        said,
        "line 2, column 14: unexpected end of file in a string, expected the rest of the document"
    );
}

#[test]
fn a_file_of_no_known_form_says_what_is_wrong_with_it() {
    let said = |bytes: &[u8]| read(bytes, None).unwrap_err().to_string();
    assert!(said(b"hello\nworld").starts_with("line 1, column 1: not JSON, expected a JSON object or a list"));
    assert!(
        said(b"{\n\"a\": [1,").starts_with("line 2, column 8: unexpected end of file in a value"),
        "{}",
        said(b"{\n\"a\": [1,")
    );
    assert!(said(b"\0\0").starts_with("line 1: byte 0"));
    for unknown in [&b"{\"a\":1}"[..], b"{\"a\":1}\n{\"a\":2}\n", b"[1,2]"] {
        assert_eq!(read(unknown, None).unwrap_err(), ReadError::UnknownFormat);
    }
}

#[test]
fn a_misplaced_value_is_named_with_its_line() {
    let text = b"{\"a\": [{}, \"]\\\"\"],\n \"messages\": [\n  {\"role\": \"user\", \"content\": \"x\"},\n  {\"role\": \"user\",\n   \"content\": 5}]}";
    let expected = "line 5: messages[1].content is a number, expected a string or a list of blocks";
    assert_eq!(complaint(Format::Anthropic, text), expected);
    let text = b"[{\"role\": \"user\", \"content\": \"x\"},\n{\"role\": \"robot\", \"content\": \"x\"}]";
    assert_eq!(
        complaint(Format::Anthropic, text),
        "line 2: [1].role is \"robot\", expected user or assistant"
    );
    let said = complaint(Format::Gemini, b"\n{\"contents\": [3]}");
    assert_eq!(
        said,
        "line 2: contents[0] is a number, expected an object with role and parts"
    );
    assert_eq!(
        complaint(Format::Responses, b"{}"),
        "line 1: input is missing, expected a string or a list of items"
    );
    assert_eq!(
        complaint(Format::Openai, b"7"),
        "line 1: the document is a number, expected a JSON object or a list of messages"
    );
}

#[test]
fn deep_nesting_is_refused_without_harm() {
    for format in REQUESTS {
        let mut deep = vec![b'['; 100_000];
        let said = complaint(format, &deep);
        assert!(said.contains("recursion limit"), "{said}");
        assert!(read(&deep, None).is_err());
        deep.splice(0..0, b"{\"messages\":".iter().copied());
        assert!(read(&deep, None).is_err());
    }
}

/// Six megabytes that would take a gigabyte once they are built.
#[test]
fn a_document_of_too_many_values_is_refused_before_it_is_built() {
    let values = vec!["{}"; 2_000_001].join(",");
    let content = format!(r#"{{"messages":[{{"role":"user","content":[{values}]}}]}}"#);
    let said = complaint(Format::Anthropic, content.as_bytes());
    assert_eq!(said, "line 1, column 1: too many values, expected at most 2,000,000");
    let line = format!("{{\"type\":\"user\",\"uuid\":\"u\",\"sessionId\":\"s\",\"message\":[{values}]}}\n");
    let said = read(line.as_bytes(), Some(Format::ClaudeCode)).unwrap_err().to_string();
    assert!(said.contains("too many values"), "{said}");
}

/// JSON within a string, as programs print it, is not built either; it stays the text that it is.
#[test]
fn an_output_of_too_many_values_stays_a_text() {
    let output = format!("{{\"a\":[{}]}}", vec!["[]"; 200_001].join(","));
    let quoted = serde_json::to_string(&output).unwrap();
    let call = r#"{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"bash","arguments":"{}"}}]}"#;
    let text = format!(
        r#"{{"messages":[{{"role":"user","content":"x"}},{call},{{"role":"tool","tool_call_id":"c","content":{quoted}}}]}}"#
    );
    let document = read(text.as_bytes(), Some(Format::Openai)).unwrap();
    assert!(write(&document, Format::Openai).unwrap().contains(&quoted));
}

#[test]
fn bytes_that_are_no_text_are_replaced_with_a_warning() {
    let document = read(
        b"{\"messages\":[{\"role\":\"user\",\"content\":\"a\xffb\"}]}",
        Some(Format::Anthropic),
    )
    .unwrap();
    assert_eq!(document.warnings, [Warning::InvalidUtf8 { offset: 40 }]);
    assert!(write(&document, Format::Anthropic).unwrap().contains("a\u{fffd}b"));
}

#[test]
fn carriage_returns_and_a_byte_order_mark_do_no_harm() {
    let text = b"\xef\xbb\xbf{\r\n\"messages\":\r\n[{\"role\":\"user\",\"content\":\"x\"}]}\r\n";
    for format in [Format::Anthropic, Format::Openai, Format::Corpus] {
        assert_eq!(read(text, Some(format)).unwrap().messages.len(), 1);
    }
}

#[test]
fn shape_is_not_read_and_sessions_are_not_written() {
    assert_eq!(
        read(b"{}", Some(Format::Shape)).unwrap_err(),
        ReadError::NotReadable(Format::Shape)
    );
    let document = read(br#"{"messages":[]}"#, Some(Format::Anthropic)).unwrap();
    for format in Format::ALL.iter().filter(|format| !format.is_written()) {
        assert!(
            write(&document, *format)
                .unwrap_err()
                .to_string()
                .contains("not written")
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.max(2_000), failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn cutting_a_request_anywhere_is_an_error_or_a_document(cut in 0usize..700, format in prop::sample::select(REQUESTS.to_vec())) {
        let text = br#"{"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"Bash","input":{"command":"echo \u00e9 > f"}}],"tool_calls":[{"id":"b","type":"function","function":{"name":"f","arguments":"{\"a\":"}}]}],"contents":[{"role":"model","parts":[{"functionCall":{"name":"f"}}]}],"input":[{"type":"reasoning"}]}"#;
        let cut = cut.min(text.len());
        for bytes in [&text[..cut], &text[cut..]] {
            if let Ok(document) = read(bytes, Some(format)) {
                for to in [Format::Anthropic, Format::Openai, Format::Responses, Format::Gemini] {
                    write(&document, to).unwrap();
                }
            }
            let _ = read(bytes, None);
        }
    }
}
