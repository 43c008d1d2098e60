//! A conversation that was compacted, written and read again is compacted as what it is: earlier summaries are merged.

use codelet_context::compact::{Target, compact};
use codelet_context::history::History;
use codelet_context::message::{Origin, Part};
use codelet_transcript::{Document, Format, Warning, read, write};
use serde_json::json;

/// Tasks of some steps each, the files of which have long contents.
fn request() -> String {
    let mut messages = Vec::new();
    for task in 0..6 {
        messages.push(
            json!({"role": "user", "content": format!("Task {task}: mend the module m{task} and keep its interface.")}),
        );
        for step in 0..6 {
            let id = format!("c{task}_{step}");
            let (name, input) = match step {
                4 => (
                    "Edit",
                    json!({"file_path": format!("m{task}.rs"), "old_string": "a", "new_string": "b"}),
                ),
                _ => ("Read", json!({"file_path": format!("m{task}_{step}.rs")})),
            };
            let lines: Vec<String> = (0..60)
                .map(|n| format!("let value_{task}_{step}_{n} = compute({n});"))
                .collect();
            messages.push(
                json!({"role": "assistant", "content": [{"type": "tool_use", "id": id, "name": name, "input": input}]}),
            );
            let answer =
                json!({"type": "tool_result", "tool_use_id": id, "content": lines.join("\n"), "is_error": false});
            messages.push(json!({"role": "user", "content": [answer]}));
        }
        messages.push(json!({"role": "assistant", "content": format!("Module m{task} is mended.")}));
    }
    json!({ "messages": messages }).to_string()
}

fn compacted(text: &str, to: Format, budget: u64) -> String {
    let mut document: Document = read(text.as_bytes(), None).expect("a request");
    let history: History = std::mem::take(&mut document.messages).into_iter().collect();
    let done = compact(&history, Target::Budget(budget));
    document.messages = done.view.messages.iter().map(|message| (**message).clone()).collect();
    write(&document, to).expect("a form that is written")
}

/// The texts of this origin.
fn texts(text: &str, wanted: Origin) -> Vec<String> {
    let document = read(text.as_bytes(), None).expect("a request");
    let parts = document.messages.iter().flat_map(|message| &message.parts);
    let texts = parts.filter_map(|part| match part {
        Part::Text(text) if text.origin == wanted => Some(text.body.as_str().to_owned()),
        _ => None,
    });
    texts.collect()
}

/// What an agent has recorded, which notes of each text whose it is.
fn rollout() -> String {
    let item = |payload: serde_json::Value| json!({"type": "response_item", "payload": payload}).to_string();
    let said = |role: &str, texts: &[&str]| {
        let kind = if role == "assistant" {
            "output_text"
        } else {
            "input_text"
        };
        let content: Vec<_> = texts.iter().map(|text| json!({"type": kind, "text": text})).collect();
        item(json!({"type": "message", "role": role, "content": content}))
    };
    let mut lines = vec![
        json!({"type": "session_meta", "payload": {"id": "s", "cwd": "/srv"}}).to_string(),
        said(
            "developer",
            &[
                "<permissions instructions>\nFilesystem sandboxing defines which files can be read.\n</permissions instructions>",
                "<collaboration_mode># Default\nuntil a different `<collaboration_mode>...</collaboration_mode>` changes it; requests do not\n</collaboration_mode>",
                "<skills_instructions>\n## Skills\n- deploy\n</skills_instructions>",
            ],
        ),
        said(
            "user",
            &[
                "# AGENTS.md instructions for /srv\n\n<INSTRUCTIONS>\nUse tabs.\n</INSTRUCTIONS>",
                "<environment_context>\n  <cwd>/srv</cwd>\n</environment_context>",
            ],
        ),
    ];
    for (task, prompt) in [
        "Review the open tickets and close the stale ones.",
        "Let workers confirm it from the code.",
    ]
    .iter()
    .enumerate()
    {
        lines.push(said("user", &[prompt]));
        for step in 0..8 {
            let id = format!("c{task}{step}");
            let output: Vec<String> = (0..80)
                .map(|n| format!("ticket {task}-{step}-{n} is open since {n} days"))
                .collect();
            let arguments = json!({"cmd": format!("tickets list {task}{step}")}).to_string();
            lines.push(item(
                json!({"type": "function_call", "name": "exec_command", "call_id": id, "arguments": arguments}),
            ));
            lines.push(item(
                json!({"type": "function_call_output", "call_id": id, "output": output.join("\n")}),
            ));
        }
        lines.push(said("assistant", &["All of them are looked at."]));
    }
    lines.join("\n")
}

#[test]
fn the_goal_outlives_forms_that_do_not_say_whose_a_text_is() {
    for form in [Format::Anthropic, Format::Openai, Format::Responses, Format::Gemini] {
        let mut text = compacted(&rollout(), form, 3_000);
        for budget in [2_600, 2_200] {
            let own = texts(&text, Origin::Own);
            assert!(!own.iter().any(|text| text.starts_with(['<', '#'])), "{form}: {own:?}");
            text = compacted(&text, form, budget);
            let own = texts(&text, Origin::Own);
            for prompt in [
                "Review the open tickets and close the stale ones.",
                "Let workers confirm it from the code.",
            ] {
                assert!(own.iter().any(|text| text == prompt), "{form}: {own:?}");
            }
            let summary = texts(&text, Origin::Summary).concat();
            assert!(
                !summary.contains("requests do not") && !summary.contains("(no words)"),
                "{form}: {summary}"
            );
        }
    }
}

#[test]
fn a_second_compaction_merges_the_summary_of_the_first_in_every_form() {
    for form in [Format::Anthropic, Format::Openai, Format::Responses, Format::Gemini] {
        let mut text = compacted(&request(), form, 8_000);
        for budget in [7_000, 6_000, 5_500] {
            let document = read(text.as_bytes(), None).expect("a request");
            assert_eq!(document.warnings, [Warning::Compacted], "{form}");
            text = compacted(&text, form, budget);
            let summaries = texts(&text, Origin::Summary);
            // What was done stands before the kept steps, and how things stand behind them.
            let begins = |summary: Option<&String>, line| summary.is_some_and(|summary| summary.starts_with(line));
            assert!(begins(summaries.first(), "Summary of the"), "{form}: {summaries:?}");
            assert!(begins(summaries.last(), "How things stand"), "{form}: {summaries:?}");
            assert!(
                !summaries[1..]
                    .iter()
                    .any(|summary| begins(Some(summary), "Summary of the"))
            );
            assert_eq!(texts(&text, Origin::Notice).len(), 1, "{form}");
            let summary = summaries.concat();
            assert_eq!(summary.matches("Quoted, shortened").count(), 1, "{form}: {summary}");
            assert_eq!(summary.matches("# State").count(), 1, "{form}: {summary}");
            // What came of the first task was seen by the first compaction alone.
            assert!(summary.contains("m0.rs"), "{form} at {budget}: {summary}");
        }
    }
}

#[test]
fn only_what_stands_as_the_engine_writes_it_is_a_summary() {
    let text = compacted(&request(), Format::Anthropic, 4_000);
    let summary = texts(&text, Origin::Summary).remove(0);
    let notice = texts(&text, Origin::Notice).remove(0);
    let user = |text: &str| json!({"role": "user", "content": text});
    let call = json!({"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "Read", "input": {}}]});
    let printed = json!([{"type": "tool_result", "tool_use_id": "a", "content": [{"type": "text", "text": summary}, {"type": "text", "text": notice}]}]);
    for messages in [
        json!([user(&summary)]),
        json!([user(&format!("See:\n{summary}")), user(&notice)]),
        json!([user(&notice), {"role": "assistant", "content": "hm"}, user(&summary)]),
        json!([user("go"), call, {"role": "user", "content": printed}, user(&notice)]),
    ] {
        let text = json!({ "messages": messages }).to_string();
        assert_eq!(texts(&text, Origin::Summary), Vec::<String>::new(), "{text}");
        assert_eq!(read(text.as_bytes(), None).unwrap().warnings, []);
    }
}
