//! The form of a file shows in its structure.

use codelet_context::message::Message;
use codelet_transcript::{Format, detect};
use proptest::prelude::*;

fn check(text: &str, format: Option<Format>) {
    assert_eq!(detect(text.as_bytes()), format, "{text}");
    let with_mark = format!("\u{feff}\r\n{text}\r\n");
    assert_eq!(detect(with_mark.as_bytes()), format, "after a byte order mark: {text}");
}

/// Lines of `form text`; `⏎` is a line end.
fn all(table: &str) {
    for line in table.trim().lines() {
        let (form, text) = line.trim().split_once(' ').unwrap();
        let form = *Format::ALL.iter().find(|known| known.name() == form).unwrap();
        check(&text.replace(" ⏎ ", "\n"), Some(form));
    }
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
    all(r#"
        gemini {"contents":[{"parts":[{"text":"x"}]}]}
        responses {"model":"m","input":"hello"}
        responses {"model":"m","input":[{"role":"user","content":"x"}]}
        anthropic {"messages":[{"role":"user","content":"x"}],"system":"y"}
        anthropic {"messages":[{"role":"user","content":"x"}],"max_tokens":1}
        anthropic {"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"a"}]}]}
        openai {"messages":[{"role":"system","content":"x"},{"role":"user","content":"y"}]}
        openai {"messages":[{"role":"assistant","content":null,"tool_calls":[]}]}
        openai {"model":"gpt-4o","messages":[{"role":"user","content":"y"}],"max_tokens":1}
        openai {"messages":[{"role":"user","content":[{"type":"image_url"}]}]}
        openai {"tools":[{"type":"function","function":{}}],"messages":[{"role":"user","content":"y"}]}
        corpus {"messages":[{"role":"user","content":[{"type":"text","text":"x"}],"meta":{"synthetic":true}}]}
        corpus {"source":"s","agent":"a","messages":[{"role":"user","content":[]}]}
        "#);
}

#[test]
fn bare_lists_are_told_apart_by_their_items() {
    all(r#"
        anthropic [{"role":"user","content":"x"}]
        openai [{"role":"system","content":"x"}]
        gemini [{"role":"user","parts":[{"text":"x"}]}]
        responses [{"type":"message","role":"user","content":"x"}]
        responses [{"role":"user","content":"x"},{"type":"function_call","call_id":"a"}]
        "#);
}

#[test]
fn session_files_are_told_apart_by_their_entries() {
    all(r#"
        claude-code {"type":"summary","summary":"x","leafUuid":"u"} ⏎ {"type":"user","uuid":"u"}
        claude-code {"type":"user","parentUuid":null,"sessionId":"s","message":{"role":"user","content":"x"}}
        codex {"timestamp":"t","type":"session_meta","payload":{"id":"i"}}
        codex {"id":"i","timestamp":"t","instructions":null} ⏎ {"type":"message","role":"user","content":[]}
        copilot {"type":"session.start","data":{},"id":"i","timestamp":"t","parentId":null}
        pi {"type":"session","version":3,"id":"i","timestamp":"t","cwd":"/"}
        opencode { ⏎   "info": {"id": "s"}, ⏎   "messages": [{"info": {}, "parts": []}] ⏎ }
        mini-swe-agent {"info":{"mini_version":"1"},"messages":[{"role":"system","content":"x"}]}
        mini-swe-agent {"messages":[],"trajectory_format":"mini-swe-agent-1"}
        swe-agent {"environment":"e","trajectory":[],"history":[]}
        "#);
}

#[test]
fn a_file_that_breaks_off_is_still_known() {
    all(r#"
        gemini {"contents":[{"parts":[{"te
        anthropic {"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"a"},{"ty
        "#);
}

#[test]
fn a_key_with_broken_bytes_hides_nothing_behind_it() {
    let broken = b"{\"input\":\"x\",\"max_toke\xffns\":1,\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\"}]}]}";
    assert_eq!(detect(broken), Some(Format::Anthropic));
}

#[test]
fn what_is_no_conversation_is_not_guessed_at() {
    for text in [
        "", "   ", "hello", "42", "null", "{}", "[]", "[1,2]", "{\"a\":1}", "{\"messages\":3}", "{", "[{", "\"x",
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

/// What a sub-agent says in the sessions that hold such words.
const OF_SUB_AGENT: &str = "SUB-AGENT WORDS";

/// One small session of the same work in each form that is read.
pub(super) fn sessions() -> impl Iterator<Item = (Format, Vec<u8>)> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/forms");
    Format::ALL.iter().filter(|form| form.is_read()).map(move |form| {
        let file = |ending: &str| std::fs::read(folder.join(format!("{form}.{ending}")));
        let bytes = file("json").or_else(|_| file("jsonl")).or_else(|_| file("md"));
        (*form, bytes.unwrap_or_else(|error| panic!("{form}: {error}")))
    })
}

#[test]
fn the_same_work_is_read_from_every_form() {
    for (form, bytes) in sessions() {
        assert_eq!(detect(&bytes), Some(form));
        assert_eq!(
            codelet_transcript::conversations(&bytes),
            None,
            "{form} is one conversation"
        );
        let document = codelet_transcript::read(&bytes, None).unwrap_or_else(|error| panic!("{form}: {error}"));
        assert_eq!(document.warnings, [], "{form}");
        let texts = codelet_transcript::shape::write(&document.messages);
        // What this one prints begins behind the prompt.
        let is_asked = texts.contains("Build the tea shop and run its tests.") || form == Format::CodexExec;
        assert!(is_asked, "{form}: {texts}");
        assert!(
            texts.contains("make test") && texts.contains("Two fail."),
            "{form}: {texts}"
        );
        assert!(!texts.contains(OF_SUB_AGENT), "{form}: {texts}");
        // What is read, written and read again says the same.
        let written = codelet_transcript::write(&document, Format::Anthropic).unwrap();
        let again = codelet_transcript::read(written.as_bytes(), Some(Format::Anthropic)).unwrap();
        let calls = |messages: &[Message]| messages.iter().flat_map(Message::calls).count();
        assert_eq!(calls(&again.messages), calls(&document.messages), "{form}: {written}");
    }
}

#[test]
fn the_table_of_forms_says_what_is_read_of_each() {
    let mut table = String::from(
        "| form | what it is | read | written | detected | prompts | calls | results | errors | usage | times | sub-agents |\n\
         |---|---|---|---|---|---|---|---|---|---|---|---|\n",
    );
    for (form, bytes) in sessions() {
        let recording = codelet_transcript::record(&bytes, None).unwrap();
        let messages = &recording.document.messages;
        let results = || messages.iter().flat_map(Message::tool_results);
        let yes = |is_it: bool| if is_it { "yes" } else { "–" };
        let holds_others = String::from_utf8_lossy(&bytes).contains(OF_SUB_AGENT);
        let cells = [
            form.name().to_owned(),
            form.describe().to_owned(),
            "yes".to_owned(),
            yes(form.is_written()).to_owned(),
            yes(detect(&bytes) == Some(form)).to_owned(),
            yes(messages.iter().any(Message::is_prompt)).to_owned(),
            yes(messages.iter().flat_map(Message::calls).next().is_some()).to_owned(),
            yes(results().any(|result| !result.output.is_empty())).to_owned(),
            yes(results().any(|result| result.success == Some(false))).to_owned(),
            yes(recording.requests.iter().any(|request| request.billed.is_some())).to_owned(),
            yes(recording.requests.iter().any(|request| request.began.is_some())).to_owned(),
            if holds_others { "left out" } else { "–" }.to_owned(),
        ];
        table.push_str(&format!("| {} |\n", cells.join(" | ")));
    }
    let page = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/formats.md");
    let text = std::fs::read_to_string(&page).unwrap();
    let (before, rest) = text.split_once("<!-- forms -->\n").unwrap();
    let (shown, behind) = rest.split_once("<!-- end -->").unwrap();
    if std::env::var_os("CODELET_BLESS").is_some() {
        std::fs::write(&page, format!("{before}<!-- forms -->\n{table}<!-- end -->{behind}")).unwrap();
        return;
    }
    assert_eq!(shown, table, "CODELET_BLESS=1 writes it anew");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.max(300), failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn a_session_of_any_form_that_was_damaged_is_read_or_refused(
        pick in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0u8..4), 1..6),
    ) {
        let all: Vec<_> = sessions().collect();
        let (form, mut bytes) = pick.get(&all).clone();
        for (at, other, kind) in changes {
            let (at, other) = (at.index(bytes.len()), other.index(bytes.len()));
            let (from, to) = (at.min(other), at.max(other));
            match kind {
                0 => drop(bytes.drain(from..to.min(from + 40))),
                1 => bytes[at] = b"{}[]\":,0n\\\n"[other % 11],
                2 => bytes.truncate(at.max(1)),
                _ => {
                    let piece = bytes[from..to.min(from + 200)].to_vec();
                    drop(bytes.splice(at..at, piece));
                }
            }
            if bytes.is_empty() {
                break;
            }
        }
        for asked in [None, Some(form)] {
            if let Ok(document) = codelet_transcript::read(&bytes, asked) {
                for to in Format::ALL.iter().filter(|to| to.is_written()) {
                    codelet_transcript::write(&document, *to).unwrap();
                }
            }
        }
        if let Some(all) = codelet_transcript::conversations(&bytes) {
            prop_assert!(all.len() > 1);
        }
    }
}
