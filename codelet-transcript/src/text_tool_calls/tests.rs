#![allow(clippy::unwrap_used)]

use super::*;
use crate::{Document, Format, read, write};
use codelet_context::compact::{Target, compact};
use codelet_context::history::History;
use codelet_context::message::{Action, ActionKind};
use proptest::prelude::*;
use serde_json::json;

/// A task, and replies with what came of them.
fn request<'a>(steps: impl IntoIterator<Item = (&'a str, &'a str)>) -> Value {
    let steps = steps.into_iter().flat_map(|(reply, answer)| {
        [
            json!({"role": "assistant", "content": reply}),
            json!({"role": "user", "content": answer}),
        ]
    });
    let task = json!({"role": "user", "content": "Mend the parser."});
    json!({"messages": std::iter::once(task).chain(steps).collect::<Vec<_>>()})
}

fn document(action: &str, observation: &str) -> Value {
    request([(action, observation); 4])
}

/// The first call that is read of this, with the words before it.
fn first(action: &str, observation: &str) -> (String, ToolCall) {
    let request = document(action, observation).to_string();
    let document = read(request.as_bytes(), Some(Format::Openai)).unwrap();
    assert_eq!(write(&document, Format::Openai).unwrap(), request);
    let reply = &document.messages[1];
    let result = document.messages[2].tool_results().next().unwrap();
    let call = reply.calls().next().unwrap().clone();
    assert_eq!(result.call_id, call.id);
    let head = result.head.as_ref().map_or("", |head| head.body.as_str());
    assert_eq!(
        [head, result.texts().next().unwrap().body.as_str()].concat(),
        observation
    );
    let words = match &reply.parts[0] {
        Part::Text(text) => text.body.to_string(),
        _ => String::new(),
    };
    (words, call)
}

#[test]
fn an_action_in_words_is_a_call_with_what_it_does() {
    let cases = [
        (
            "I look.\n\n<read_file>\n<path>src/a.rs</path>\n</read_file>",
            "[read_file for 'src/a.rs'] Result:\n\nfn a() {}",
            ("read_file", ActionKind::Read, "src/a.rs"),
        ),
        (
            "<write_to_file>\n<path>b.rs</path>\n<content>\nfn b() { x < y }\n</content>\n</write_to_file>",
            "[write_to_file for 'b.rs'] Result:\n\nThe content was successfully saved to b.rs.",
            ("write_to_file", ActionKind::Change, "b.rs"),
        ),
        (
            "Now.\n<function=execute_bash>\n<parameter=command>\ncargo test\n</parameter>\n</function>",
            "EXECUTION RESULT of [execute_bash]:\nok",
            ("execute_bash", ActionKind::Command, "cargo test"),
        ),
        (
            "I test.\n\n```bash\ncargo test\n```\nThat is all.",
            "<returncode>0</returncode>\n<output>\nok\n</output>",
            ("bash", ActionKind::Command, "cargo test"),
        ),
        (
            "Code:\n```py\nprint(1); import os\n```<end_code>",
            "Observation:\nExecution logs:\n1",
            ("python", ActionKind::Other, ""),
        ),
        (
            "<tool_call>\n{\"name\": \"read_file\", \"arguments\": {\"path\": \"src/a.rs\"}}\n</tool_call>",
            "<tool_response>\nfn a() {}\n</tool_response>",
            ("read_file", ActionKind::Read, "src/a.rs"),
        ),
        (
            "Thought: I read.\nAction: read_file\nAction Input: {\"path\": \"src/a.rs\"}",
            "Observation: fn a() {}",
            ("read_file", ActionKind::Read, "src/a.rs"),
        ),
    ];
    for (reply, observation, (tool, kind, what)) in cases {
        let (words, call) = first(reply, observation);
        assert_eq!((&*call.tool, call.action.kind), (tool, kind), "{reply}");
        assert_eq!([words.as_str(), call.parameters.str(INPUT).unwrap()].concat(), reply);
        match kind {
            ActionKind::Command => assert_eq!(call.action.command.as_deref().map(str::trim), Some(what)),
            ActionKind::Other => assert!(call.action.paths.is_empty()),
            _ => assert_eq!(call.action.paths.iter().map(|path| &**path).collect::<Vec<_>>(), [what]),
        }
    }
}

/// The actions of all calls that are read of replies and answers in turn.
fn does(steps: &[(&str, &str)]) -> Vec<(String, Action)> {
    let known = (
        "<read_file>\n<path>known.rs</path>\n</read_file>",
        "[read_file] Result:\n\nok",
    );
    let request = request([known; 3].into_iter().chain(steps.iter().copied())).to_string();
    let document = read(request.as_bytes(), Some(Format::Openai)).unwrap();
    assert_eq!(write(&document, Format::Openai).unwrap(), request);
    let calls = document.messages.iter().flat_map(Message::calls).skip(3);
    calls.map(|call| (call.tool.to_string(), call.action.clone())).collect()
}

#[test]
fn a_call_is_what_its_tags_and_names_say_and_no_other_that_stands_within_it() {
    let shown = "<write_to_file>\n<path>docs/tools.md</path>\n<content>\n<write_to_file>\n<path>src/evil.rs</path>\n\
        </write_to_file>\n</content>\n</write_to_file>";
    let feed = "<write_to_file>\n<path>feed.xml</path>\n<content>\na</content>\n<path>src/evil.rs</path>\n</content>\n</write_to_file>";
    for (reply, answer, (tool, paths)) in [
        (
            shown,
            "[write_to_file for 'docs/tools.md'] Result:\n\nok",
            ("write_to_file", vec!["docs/tools.md"]),
        ),
        (
            feed,
            "[write_to_file for 'feed.xml'] Result:\n\nok",
            ("write_to_file", vec!["feed.xml"]),
        ),
        (
            "<read_file>\n<args>\n<file>\n<path>a.rs</path>\n</file>\n</args>\n</read_file>",
            "[read_file for 'a.rs'] Result:\n\nok",
            ("read_file", vec!["a.rs"]),
        ),
        (
            "<function_calls>\n<invoke name=\"read_file\">\n<parameter name=\"path\">a.rs</parameter>\n</invoke>\n</function_calls>",
            "<function_results>\nok\n</function_results>",
            ("read_file", vec!["a.rs"]),
        ),
        (
            "<tool_call>\n{\"name\": \"read_file\", \"arguments\": \"{\\\"path\\\": \\\"a.rs\\\"}\"}\n</tool_call>",
            "<tool_response>\nok\n</tool_response>",
            ("read_file", vec!["a.rs"]),
        ),
        (
            "<read_file lines=\"1-3\">\n<path>a.rs</path>\n</read_file>",
            "[read_file for 'a.rs'] Result:\n\nok",
            ("read_file", vec!["a.rs"]),
        ),
    ] {
        let found = does(&[(reply, answer)]);
        assert_eq!(found.len(), 1, "{reply}");
        let found_paths: Vec<&str> = found[0].1.paths.iter().map(|path| &**path).collect();
        assert_eq!((found[0].0.as_str(), found_paths), (tool, paths), "{reply}");
    }
}

#[test]
fn what_only_looks_like_a_call_and_one_of_several_stay_words() {
    let page = "I show the page:\n<div>\n<path>src/h.rs</path>\n</div>";
    assert_eq!(does(&[(page, "[attempt_completion] Result:\n\nok")]), []);
    let two = "<write_to_file>\n<path>a.rs</path>\n<content>\na\n</content>\n</write_to_file>\n\
        <write_to_file>\n<path>b.rs</path>\n<content>\nb\n</content>\n</write_to_file>";
    assert_eq!(does(&[(two, "[write_to_file for 'a.rs'] Result:\n\nok")]), []);
}

#[test]
fn a_session_that_was_compacted_is_compacted_again_with_one_summary() {
    for format in [Format::Anthropic, Format::Gemini, Format::Openai, Format::Responses] {
        let mut document = session();
        for _ in 0..2 {
            let history: History = document.messages.iter().cloned().collect();
            let done = compact(&history, Target::Budget(2_000));
            let written = Document::new(done.view.messages.iter());
            let written = write(&written, format).unwrap();
            assert_eq!(
                written.matches("Summary of the earlier part of this session.").count(),
                1,
                "{written}"
            );
            document = read(written.as_bytes(), Some(format)).unwrap();
            document.messages.extend(session().messages.drain(1..20));
        }
    }
}

#[test]
fn what_the_user_says_to_an_observation_stays_the_users() {
    let action = "<attempt_completion>\n<result>Done.</result>\n</attempt_completion>";
    let mut request = document(action, "[attempt_completion] Result:\n\nDone.");
    let blocks = json!([
        {"type": "text", "text": "[attempt_completion] Result:"},
        {"type": "text", "text": "The user says:\n<feedback>\nNow the tests.\n</feedback>"},
    ]);
    request["messages"][8]["content"] = blocks;
    let document = read(request.to_string().as_bytes(), Some(Format::Anthropic)).unwrap();
    assert!(document.messages[8].is_prompt());
    assert_eq!(document.messages[8].tool_results().count(), 1);
    assert_eq!(write(&document, Format::Anthropic).unwrap(), request.to_string());
}

#[test]
fn in_another_form_the_action_stands_in_words_too() {
    let request = document("```bash\nls\n```", "<output>\na.rs\n</output>");
    let document = read(request.to_string().as_bytes(), Some(Format::Openai)).unwrap();
    for format in [Format::Anthropic, Format::Responses, Format::Gemini] {
        let written = write(&document, format).unwrap();
        assert!(written.contains("```bash\\nls\\n```"), "{written}");
        assert!(
            !written.contains("say_1") && !written.contains("\"command\""),
            "{written}"
        );
    }
}

/// A session of many steps in the manner of Cline.
fn session() -> Document {
    let mut messages =
        vec![json!({"role": "user", "content": "<task>\nMend the parser, keep `src/old` as it is.\n</task>"})];
    for n in 0..40 {
        let (action, observation) = match n % 3 {
            0 => (
                format!("I read.\n\n<read_file>\n<path>src/a{n}.rs</path>\n</read_file>"),
                format!(
                    "[read_file for 'src/a{n}.rs'] Result:\n\n{}",
                    format!("fn line_{n}() {{ work(); }}\n").repeat(60)
                ),
            ),
            1 => (
                format!(
                    "<replace_in_file>\n<path>src/a{n}.rs</path>\n<diff>\n{}</diff>\n</replace_in_file>",
                    "- old_line();\n".repeat(90)
                ),
                format!(
                    "[replace_in_file for 'src/a{n}.rs'] Result:\n\nThe content was successfully saved to src/a{n}.rs."
                ),
            ),
            _ => (
                String::from(
                    "<execute_command>\n<command>cargo test</command>\n<requires_approval>false</requires_approval>\n</execute_command>",
                ),
                String::from(
                    "[execute_command for 'cargo test'] Result:\n\nCommand executed.\nOutput:\ntest result: FAILED. 3 passed; 1 failed",
                ),
            ),
        };
        messages.push(json!({"role": "assistant", "content": action}));
        messages.push(json!({"role": "user", "content": [
            {"type": "text", "text": observation},
            {"type": "text", "text": "<environment_details>\n# Time\nnoon\n</environment_details>"},
        ]}));
    }
    read(
        json!({ "messages": messages }).to_string().as_bytes(),
        Some(Format::Anthropic),
    )
    .unwrap()
}

/// What a request weighs, as written.
fn weight(request: &Value) -> u64 {
    let texts = |message: &Value| match &message["content"] {
        Value::Array(blocks) => blocks
            .iter()
            .map(|block| block["text"].as_str().unwrap().len())
            .collect(),
        content => vec![content.as_str().unwrap().len()],
    };
    let lengths = request["messages"].as_array().unwrap().iter().flat_map(texts);
    lengths.map(|length| length.div_ceil(4) as u64 + 5).sum()
}

#[test]
fn what_is_written_keeps_to_the_budget_in_words() {
    let document = session();
    let history: History = document.messages.iter().cloned().collect();
    for budget in [600, 1_000, 2_000, 4_000, 9_000] {
        let done = compact(&history, Target::Budget(budget));
        assert!(done.warnings.is_empty(), "{:?}", done.warnings);
        let written = Document::new(done.view.messages.iter());
        let written = write(&written, Format::Anthropic).unwrap();
        let request: Value = serde_json::from_str(&written).unwrap();
        assert!(weight(&request) <= budget, "{} of {budget}", weight(&request));
        let all = written.replace("src/old", "");
        assert!(!all.contains("tool_use") && !all.contains("tool_result"), "{written}");
    }
}

proptest! {
    #[test]
    fn whatever_stands_in_a_reply_is_written_as_it_was(
        action in "(<[a-z]{3}(=x)?>|</[a-z]{3}>|```(bash|py)?|Action: |\n|[{}\":a-z ]|é){0,24}",
        observation in "(Observation:|<output>|</output>|\\[run\\] Result:|\n|[a-z é]){0,8}",
    ) {
        let request = document(&action, &format!("Observation: {observation}")).to_string();
        let document = read(request.as_bytes(), Some(Format::Openai)).unwrap();
        prop_assert_eq!(write(&document, Format::Openai).unwrap(), request);
    }
}
