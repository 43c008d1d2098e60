//! The form of a file shows in its structure.

use codelet_transcript::{Format, detect};
use proptest::prelude::*;

fn check(text: &str, format: Option<Format>) {
    assert_eq!(detect(text.as_bytes()), format, "{text}");
    let with_mark = format!("\u{feff}\r\n{text}\r\n");
    assert_eq!(detect(with_mark.as_bytes()), format, "after a byte order mark: {text}");
}

#[test]
fn a_session_whose_first_lines_are_broken_shows_in_the_others() {
    let entry = r#"{"type":"user","uuid":"1","parentUuid":null,"message":{"role":"user","content":"go"}}"#;
    for broken in [r#"{"type":"user","uuid":"0","mess"#, r#"ge":"cut"}"#, "\0\0\0", "[]"] {
        let file = format!("{broken}\n{entry}\n");
        assert_eq!(detect(file.as_bytes()), Some(Format::ClaudeCode), "{file}");
    }
    assert_eq!(detect(b"words\nand more words\n"), None);
}

#[test]
fn requests_are_told_apart_by_their_fields_and_blocks() {
    check(r#"{"contents":[{"parts":[{"text":"x"}]}]}"#, Some(Format::Gemini));
    check(r#"{"model":"m","input":"hello"}"#, Some(Format::Responses));
    check(
        r#"{"model":"m","input":[{"role":"user","content":"x"}]}"#,
        Some(Format::Responses),
    );
    check(
        r#"{"messages":[{"role":"user","content":"x"}],"system":"y"}"#,
        Some(Format::Anthropic),
    );
    check(
        r#"{"messages":[{"role":"user","content":"x"}],"max_tokens":1}"#,
        Some(Format::Anthropic),
    );
    check(
        r#"{"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"a"}]}]}"#,
        Some(Format::Anthropic),
    );
    check(
        r#"{"messages":[{"role":"system","content":"x"},{"role":"user","content":"y"}]}"#,
        Some(Format::Openai),
    );
    check(
        r#"{"messages":[{"role":"assistant","content":null,"tool_calls":[]}]}"#,
        Some(Format::Openai),
    );
    check(
        r#"{"model":"gpt-4o","messages":[{"role":"user","content":"y"}],"max_tokens":1}"#,
        Some(Format::Openai),
    );
    check(
        r#"{"messages":[{"role":"user","content":[{"type":"image_url"}]}]}"#,
        Some(Format::Openai),
    );
    check(
        r#"{"tools":[{"type":"function","function":{}}],"messages":[{"role":"user","content":"y"}]}"#,
        Some(Format::Openai),
    );
    check(
        r#"{"messages":[{"role":"user","content":[{"type":"text","text":"x"}],"meta":{"synthetic":true}}]}"#,
        Some(Format::Corpus),
    );
    check(
        r#"{"source":"s","agent":"a","messages":[{"role":"user","content":[]}]}"#,
        Some(Format::Corpus),
    );
}

#[test]
fn bare_lists_are_told_apart_by_their_items() {
    check(r#"[{"role":"user","content":"x"}]"#, Some(Format::Anthropic));
    check(r#"[{"role":"system","content":"x"}]"#, Some(Format::Openai));
    check(r#"[{"role":"user","parts":[{"text":"x"}]}]"#, Some(Format::Gemini));
    check(
        r#"[{"type":"message","role":"user","content":"x"}]"#,
        Some(Format::Responses),
    );
    check(
        r#"[{"role":"user","content":"x"},{"type":"function_call","call_id":"a"}]"#,
        Some(Format::Responses),
    );
}

#[test]
fn session_files_are_told_apart_by_their_entries() {
    check(
        "{\"type\":\"summary\",\"summary\":\"x\",\"leafUuid\":\"u\"}\n{\"type\":\"user\",\"uuid\":\"u\"}",
        Some(Format::ClaudeCode),
    );
    check(
        r#"{"type":"user","parentUuid":null,"sessionId":"s","message":{"role":"user","content":"x"}}"#,
        Some(Format::ClaudeCode),
    );
    check(
        r#"{"timestamp":"t","type":"session_meta","payload":{"id":"i"}}"#,
        Some(Format::Codex),
    );
    check(
        "{\"id\":\"i\",\"timestamp\":\"t\",\"instructions\":null}\n{\"type\":\"message\",\"role\":\"user\",\"content\":[]}",
        Some(Format::Codex),
    );
    check(
        r#"{"type":"session.start","data":{},"id":"i","timestamp":"t","parentId":null}"#,
        Some(Format::Copilot),
    );
    check(
        r#"{"type":"session","version":3,"id":"i","timestamp":"t","cwd":"/"}"#,
        Some(Format::Pi),
    );
    check(
        "{\n  \"info\": {\"id\": \"s\"},\n  \"messages\": [{\"info\": {}, \"parts\": []}]\n}",
        Some(Format::Opencode),
    );
    check(
        r#"{"info":{"mini_version":"1"},"messages":[{"role":"system","content":"x"}]}"#,
        Some(Format::MiniSweAgent),
    );
    check(
        r#"{"messages":[],"trajectory_format":"mini-swe-agent-1"}"#,
        Some(Format::MiniSweAgent),
    );
    check(
        r#"{"environment":"e","trajectory":[],"history":[]}"#,
        Some(Format::SweAgent),
    );
}

#[test]
fn a_file_that_breaks_off_is_still_known() {
    check(r#"{"contents":[{"parts":[{"te"#, Some(Format::Gemini));
    check(
        r#"{"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"a"},{"ty"#,
        Some(Format::Anthropic),
    );
}

#[test]
fn a_key_with_broken_bytes_hides_nothing_behind_it() {
    let broken = b"{\"input\":\"x\",\"max_toke\xffns\":1,\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\"}]}]}";
    assert_eq!(detect(broken), Some(Format::Anthropic));
}

#[test]
fn what_is_no_conversation_is_not_guessed_at() {
    for text in [
        "",
        "   ",
        "hello",
        "42",
        "null",
        "{}",
        "[]",
        "[1,2]",
        "{\"a\":1}",
        "{\"messages\":3}",
        "{",
        "[{",
        "\"x",
        "{\"a\\",
    ] {
        check(text, None);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.max(2_000), failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn no_bytes_are_too_odd(bytes in prop::collection::vec(prop::sample::select(b"{}[]\",:\\ \nabmessagestypecontents\xff\0".to_vec()), 0..200)) {
        let _ = detect(&bytes);
    }
}
