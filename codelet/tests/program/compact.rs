//! `codelet compact`: what goes where.

use crate::common::agent::Bench;
use crate::common::pty::{Session as _, Terminal};
use crate::common::*;
use codelet_testkit::workspace;
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn standard_output_holds_the_result_and_standard_error_one_notice() {
    let output = run_with(&["compact", "--budget", "1M"], request_text(3).as_bytes());
    ended(&output, 0);
    let result = json(stdout(&output));
    assert_eq!(result["model"], "some-model");
    assert_eq!(result["tools"][0]["name"], "Read");
    assert_eq!(
        result["messages"].as_array().unwrap().len(),
        request(3)["messages"].as_array().unwrap().len()
    );
    assert_eq!(stderr(&output).lines().count(), 1, "{}", stderr(&output));
    assert!(stderr(&output).contains("tokens"));
    assert!(!stderr(&output).contains('\x1b'));
}

#[test]
fn a_file_and_standard_input_give_the_same_bytes() {
    let folder = folder("same_bytes");
    let path = file(&folder, "request.json", request_text(12));
    let args = ["compact", "--budget", "2k"];
    let from_file = run(&[&args[..], &[&path]].concat());
    let from_stdin = run_with(&args, request_text(12).as_bytes());
    let from_dash = run_with(&[&args[..], &["-"]].concat(), request_text(12).as_bytes());
    ended(&from_file, 0);
    assert_eq!(stdout(&from_file), stdout(&from_stdin));
    assert_eq!(stdout(&from_file), stdout(&from_dash));
}

#[test]
fn the_result_has_the_form_that_is_asked_for_or_the_input_s_own() {
    let text = request_text(2);
    let own = run_with(&["compact"], text.as_bytes());
    assert!(json(stdout(&own))["system"].is_string());
    let openai = run_with(&["compact", "--to", "openai"], text.as_bytes());
    assert_eq!(json(stdout(&openai))["messages"][0]["role"], "system");
    for (second, first) in [("openai-chat", "openai"), ("openai-responses", "responses")] {
        let [second, first] = [second, first].map(|form| run_with(&["compact", "--to", form], text.as_bytes()));
        ended(&second, 0);
        assert_eq!(stdout(&second), stdout(&first));
        let again = run_with(&["compact", "--from", "openai-chat"], stdout(&openai).as_bytes());
        assert_eq!(stdout(&again), stdout(&openai));
    }
    let back = run_with(&["compact"], stdout(&openai).as_bytes());
    assert_eq!(json(stdout(&back))["messages"][0]["role"], "system");
    let gemini = run_with(&["compact", "--to", "gemini"], text.as_bytes());
    assert!(json(stdout(&gemini))["contents"].is_array());
    let shape = run_with(&["compact", "--to", "shape"], text.as_bytes());
    ended(&shape, 0);
    assert!(
        stdout(&shape).contains("user: Please mend part 0."),
        "{}",
        stdout(&shape)
    );
}

#[test]
fn the_report_has_every_key() {
    let folder = folder("report");
    let input = file(&folder, "request.json", request_text(20));
    let path = folder.join("report.json").to_str().unwrap().to_owned();
    let output = run(&[
        "compact", &input, "--budget", "2000", "--report", &path, "-o", "/dev/null",
    ]);
    ended(&output, 0);
    let report = json(&fs::read_to_string(&path).unwrap());
    let keys: Vec<_> = report.as_object().unwrap().keys().map(String::as_str).collect();
    let expected = [
        "format", "messages", "tokens", "bytes", "ratio", "turns", "anchor", "strategies", "removed", "warnings",
        "elapsed_ms",
    ];
    assert_eq!(keys, expected);
    assert_eq!(report["format"], "anthropic");
    for figure in ["messages", "tokens", "bytes"] {
        assert!(
            report[figure]["before"].is_u64() && report[figure]["after"].is_u64(),
            "{figure}"
        );
    }
    assert_eq!(report["messages"]["before"], 162);
    let strategies: Vec<_> = report["strategies"]
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    assert_eq!(
        strategies,
        [
            "thinking_prune", "tool_call_dedup", "dedup", "snippet", "lingua", "streaming_llm", "pairing"
        ]
    );
    for (name, count) in report["strategies"].as_object().unwrap() {
        assert!(count["hits"].is_u64() && count["bytes_saved"].is_i64(), "{name}");
    }
    let tokens = |which: &str| report["tokens"][which].as_f64().unwrap();
    assert!((report["ratio"].as_f64().unwrap() - (1.0 - tokens("after") / tokens("before"))).abs() < 0.0001);
    assert!(report["elapsed_ms"].as_f64().unwrap() >= 0.0);
    assert!(report["warnings"].is_array());
    assert!(report["anchor"].is_null() || report["anchor"]["description"].is_string());
    for key in ["total", "kept", "summarised"] {
        assert!(report["turns"][key].is_u64(), "{key}");
    }
}

#[test]
fn the_input_may_be_replaced_by_the_result() {
    let folder = folder("in_place");
    let input = file(
        &folder,
        "request.json",
        serde_json::to_string_pretty(&request(4)).unwrap(),
    );
    fs::set_permissions(&input, fs::Permissions::from_mode(0o640)).unwrap();
    let expected = run(&["compact", &input]);
    let output = run(&["compact", &input, "-o", &input]);
    ended(&output, 0);
    assert_eq!(stdout(&output), "");
    assert_eq!(fs::read_to_string(&input).unwrap(), stdout(&expected));
    assert_eq!(fs::metadata(&input).unwrap().permissions().mode() & 0o777, 0o640);
    assert_eq!(names(&folder), ["request.json"]);
}

#[test]
fn a_link_stays_a_link() {
    let folder = folder("link");
    let input = file(&folder, "request.json", request_text(2));
    let target = file(&folder, "target.json", "old");
    let link = folder.join("link.json").to_str().unwrap().to_owned();
    std::os::unix::fs::symlink("target.json", &link).unwrap();
    ended(&run(&["compact", &input, "-o", &link]), 0);
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert!(json(&fs::read_to_string(&target).unwrap())["messages"].is_array());

    let dangling = folder.join("dangling.json").to_str().unwrap().to_owned();
    std::os::unix::fs::symlink("new.json", &dangling).unwrap();
    ended(&run(&["compact", &input, "-o", &dangling]), 0);
    assert!(json(&fs::read_to_string(folder.join("new.json")).unwrap())["messages"].is_array());
}

#[test]
fn an_output_that_cannot_be_written_changes_nothing() {
    let folder = folder("cannot_write");
    let input = file(&folder, "request.json", request_text(2));
    let nowhere = folder.join("no/such/out.json").to_str().unwrap().to_owned();
    refused(
        &run(&["compact", &input, "-o", &nowhere]),
        &[&nowhere, "no such folder"],
    );
    refused(
        &run(&["compact", &input, "-o", folder.to_str().unwrap()]),
        &["is a folder"],
    );
    // If what is removed cannot be kept, the input must not be replaced.
    refused(
        &run(&["compact", &input, "-o", &input, "--removed", &nowhere]),
        &[&nowhere],
    );
    assert_eq!(fs::read_to_string(&input).unwrap(), request_text(2));
    assert_eq!(names(&folder), ["request.json"]);
}

#[test]
fn outputs_do_not_get_in_each_other_s_way() {
    let folder = folder("same_place");
    let input = file(&folder, "request.json", request_text(2));
    let out = folder.join("out.json").to_str().unwrap().to_owned();
    refused(
        &run(&["compact", &input, "--report", "-"]),
        &["the result and --report", "same file"],
    );
    refused(
        &run(&["compact", &input, "--removed", "/dev/stdout"]),
        &["the result and --removed", "same file"],
    );
    refused(&run(&["compact", &input, "-o", &out, "--report", &out]), &["same file"]);
    refused(
        &run(&["compact", &input, "--report", &input]),
        &["would overwrite the input"],
    );
    ended(
        &run(&[
            "compact", &input, "-o", "/dev/null", "--report", "/dev/null", "--removed", "/dev/null",
        ]),
        0,
    );
    let report = run(&["compact", &input, "-o", &out, "--report", "-", "--explain"]);
    ended(&report, 0);
    assert_eq!(json(stdout(&report))["format"], "anthropic");
    assert!(stderr(&report).contains("Before"));
    assert_eq!(names(&folder), ["out.json", "request.json"]);
}

#[test]
fn the_picture_has_a_line_for_each_message_and_leaves_standard_output_to_the_result() {
    let text = request_text(20);
    let beside = run_with(&["compact", "--explain"], text.as_bytes());
    ended(&beside, 0);
    assert!(json(stdout(&beside))["messages"].is_array());
    let picture = stderr(&beside);
    let before = picture
        .split_once("Before 162 messages")
        .unwrap()
        .1
        .split_once("After")
        .unwrap()
        .0;
    let lines = before
        .lines()
        .filter(|line| line.starts_with(['●', '◐', '◌', '○']))
        .skip(1);
    assert_eq!(lines.count(), 162, "{picture}");
    assert!(
        before.contains("call call_0_0: Read src/part_0.rs") || before.contains("Read src/part_0.rs"),
        "{before}"
    );
    assert!(picture.contains("\nAfter "), "{picture}");
    assert!(!picture.contains('\x1b'));

    let alone = run_with(&["compact", "--explain", "-o", "/dev/null"], text.as_bytes());
    assert!(stdout(&alone).contains("Before 162 messages"));
    assert_eq!(
        stderr(&alone).lines().next().map(|line| line.contains("tokens")),
        Some(true)
    );
}

#[test]
fn escape_codes_in_a_conversation_do_not_reach_the_terminal() {
    let text = r#"{"messages":[{"role":"user","content":"\u001b]0;title\u0007 \u001b[2J gone"}]}"#;
    let folder = folder("escape_codes");
    let path = file(&folder, "a\x1b[2Jb.json", text);
    for args in [
        &["compact", "--explain", "-o", "/dev/null", &path][..],
        &["inspect", &path],
    ] {
        let output = run(args);
        ended(&output, 0);
        assert!(!stdout(&output).contains('\x1b'), "{}", stdout(&output));
        assert!(!stderr(&output).contains('\x1b'), "{}", stderr(&output));
    }
    let missing = run(&["inspect", "\x1b[2J.json"]);
    refused(&missing, &["no such file"]);
    assert!(!stderr(&missing).contains('\x1b'));
}

#[test]
fn a_small_budget_is_kept_or_the_smallest_possible_one_is_told() {
    let folder = folder("small_budget");
    let input = file(&folder, "request.json", request_text(30));
    let path = folder.join("report.json").to_str().unwrap().to_owned();
    for budget in [5_000, 1_000, 1] {
        let output = run(&["compact", &input, "--budget", &budget.to_string(), "--report", &path]);
        ended(&output, 0);
        let report = json(&fs::read_to_string(&path).unwrap());
        let kept = report["tokens"]["after"].as_u64().unwrap() <= budget;
        let told = report["warnings"]
            .as_array()
            .unwrap()
            .iter()
            .any(|w| w.as_str().unwrap().contains("smallest"));
        assert!(kept || told, "{budget}: {report}");
        assert_eq!(told, stderr(&output).contains("smallest"));
    }
}

#[test]
fn what_needs_no_compaction_is_given_back_byte_for_byte() {
    let text = serde_json::to_string_pretty(&request(2)).unwrap();
    for input in [text.clone(), text.replace('\n', "\r\n") + "\n\n"] {
        let output = run_with(&["compact", "--budget", "1M"], input.as_bytes());
        ended(&output, 0);
        assert!(stderr(&output).starts_with("Nothing to compact"), "{}", stderr(&output));
        assert_eq!(stdout(&output), input);
    }
    // Asked for another form, or read with a mark that no JSON has, it is written anew.
    let other = run_with(&["compact", "--budget", "1M", "--to", "openai"], text.as_bytes());
    assert_eq!(json(stdout(&other))["messages"][0]["role"], "system");
    let marked = run_with(&["compact", "--budget", "1M"], format!("\u{feff}{text}").as_bytes());
    assert_eq!(json(stdout(&marked)), request(2));
}

#[test]
fn what_was_wrong_with_a_conversation_is_told() {
    let text = r#"{"messages":[{"role":"user","content":"go"},
        {"role":"assistant","content":[{"type":"tool_use","id":"a","name":"Read","input":{}}]},
        {"role":"user","content":"and?"},
        {"role":"assistant","content":[{"type":"tool_use","id":"a","name":"Read","input":{}}]},
        {"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"text"}]}]}"#;
    let output = run_with(&["compact", "--budget", "1M"], text.as_bytes());
    ended(&output, 0);
    for words in [
        "repaired 2 invalid places",
        "message 2: Call \"a\" is not answered directly before this",
        "message 3: The id \"a\" was used before",
    ] {
        assert!(stderr(&output).contains(words), "{words}: {}", stderr(&output));
    }
    assert_eq!(stderr(&output).lines().count(), 2, "{}", stderr(&output));
}

#[test]
fn what_an_agent_recorded_is_not_called_invalid() {
    let entry = |id: u32, parent: Value, role: &str, content: Value| {
        let message = serde_json::json!({"role": role, "content": content});
        let entry = serde_json::json!({"type": role, "uuid": id.to_string(), "parentUuid": parent, "message": message});
        format!("{entry}\n")
    };
    let call = serde_json::json!([{"type": "text", "text": "\n"}, {"type": "tool_use", "id": "a", "name": "Read", "input": {}}]);
    let result = serde_json::json!([{"type": "tool_result", "tool_use_id": "a", "content": "text"}]);
    let session = [
        entry(1, Value::Null, "user", "go".into()),
        entry(2, "1".into(), "assistant", call),
        entry(3, "2".into(), "user", "and be quick".into()),
        entry(4, "3".into(), "user", result),
    ];
    let output = run_with(&["compact", "--budget", "1M"], session.concat().as_bytes());
    ended(&output, 0);
    let told = stderr(&output);
    assert!(
        told.starts_with("Nothing to compact") && !told.to_lowercase().contains("mended"),
        "{told}"
    );
    assert_eq!(told.lines().count(), 1, "{told}");
    ended(&run_with(&["check"], stdout(&output).as_bytes()), 0);
}

#[test]
fn a_file_of_which_too_little_is_understood_is_refused_unless_it_is_forced() {
    let prompt = r#"{"type":"user","uuid":"1","parentUuid":null,"message":{"role":"user","content":"go"}}"#;
    let session = format!(
        "{prompt}\n{}\n{}\n",
        &prompt[..70],
        prompt.replace("\"user\",\"uuid\"", "\"novelty\",\"uuid\"")
    );
    let refused = run_with(&["compact", "--budget", "1M"], session.as_bytes());
    ended(&refused, 2);
    assert!(
        stderr(&refused).contains("could not be read") && stderr(&refused).contains("--force"),
        "{}",
        stderr(&refused)
    );
    let forced = run_with(&["compact", "--budget", "1M", "--force"], session.as_bytes());
    ended(&forced, 0);
    assert!(
        stdout(&forced).contains("go") && stderr(&forced).contains("could not be read"),
        "{}",
        stderr(&forced)
    );
}

#[test]
fn where_it_was_only_mended_a_summary_from_before_is_not_told_as_a_new_one() {
    let text = r#"{"messages":[{"role":"user","content":"go"},
        {"role":"user","content":[
            {"type":"text","text":"Summary of the earlier part of this session.\n## Context\nGoal: \"go\""},
            {"type":"text","text":"The session goes on from an earlier part; its summary is above. Carry on with the task, do not stop to ask."}]},
        {"role":"assistant","content":[{"type":"tool_use","id":"a","name":"Read","input":{}}]},
        {"role":"user","content":"and?"},
        {"role":"assistant","content":"It is done."}]}"#;
    let output = run_with(&["compact", "--window", "200k"], text.as_bytes());
    ended(&output, 0);
    let told = stderr(&output);
    assert!(
        told.starts_with("Nothing to compact") || told.starts_with("Repaired"),
        "{told}"
    );
    assert!(told.contains("repaired") && !told.contains("compacted:"), "{told}");
}

#[test]
fn the_numbers_of_blank_lines_are_not_quoted() {
    let mut request = request(1);
    let listing: String = (1..400)
        .map(|line| match line % 2 {
            0 => format!("{line:>6}\t\n"),
            _ => format!("{line:>6}\tpub fn part_{line}() -> u32 {{ {} }}\n", line * 7),
        })
        .collect();
    request["messages"][2]["content"][0]["content"] = Value::from(listing);
    let json_output = run_with(&["compact", "--budget", "1500"], request.to_string().as_bytes());
    let result = json(stdout(&json_output));
    let summary = result["messages"].as_array().unwrap().iter().rev();
    let texts = summary.flat_map(|message| message["content"].as_array().cloned().unwrap_or_default());
    let texts: Vec<String> = texts
        .filter_map(|block| block["text"].as_str().or(block["content"].as_str()).map(str::to_owned))
        .collect();
    let quoted = texts.iter().find(|text| text.contains("pub fn part_")).unwrap();
    assert!(
        !quoted.lines().any(|line| line.trim().parse::<u32>().is_ok()),
        "{quoted}"
    );
}

/// A long session whose first prompt is this block alone.
fn session_about(block: Value) -> Value {
    let mut request = request(40);
    request["messages"][0]["content"] = Value::from(vec![block]);
    request
}

#[test]
fn a_document_is_kept_or_restored_and_never_lost() {
    let folder = folder("document");
    let pdf = |bytes: usize| {
        let source =
            serde_json::json!({"type": "base64", "media_type": "application/pdf", "data": "JVBE".repeat(bytes / 4)});
        serde_json::json!({"type": "document", "source": source, "title": "contract.pdf"})
    };
    // 3,000 tokens, and not a quarter of its bytes.
    let small = session_about(pdf(40_000));
    let output = run_with(&["compact", "--window", "200k"], small.to_string().as_bytes());
    ended(&output, 0);
    assert_eq!(stdout(&output), small.to_string(), "it has room");
    let removed = folder.join("gone.jsonl");
    let args = ["compact", "--budget", "2k", "--removed", removed.to_str().unwrap()];
    let output = run_with(&args, small.to_string().as_bytes());
    ended(&output, 0);
    let result = json(stdout(&output));
    let marker = result["messages"][0]["content"][0]["text"].as_str().unwrap().to_owned();
    assert!(marker.starts_with("[document contract.pdf, 40,"), "{marker}");
    let restored = run(&["restore", removed.to_str().unwrap(), &marker]);
    ended(&restored, 0);
    assert_eq!(json(stdout(&restored)), pdf(40_000));
}

/// The handles in the markers of a result.
fn handles(result: &str) -> Vec<String> {
    let after = result.split(" · recall ").skip(1);
    after
        .map(|rest| rest.chars().take_while(char::is_ascii_alphanumeric).collect())
        .collect()
}

#[test]
fn a_conversation_that_is_compacted_in_place_again_and_again_loses_nothing() {
    let folder = folder("in_place");
    let path = file(&folder, "session.json", request_text(30));
    let gone = folder.join("session.gone").to_str().unwrap().to_owned();
    let mut kept = Vec::new();
    for budget in ["9k", "6k", "4k", "1M"] {
        ended(
            &run(&["compact", &path, "--budget", budget, "-o", &path, "--removed", &gone]),
            0,
        );
        let lines = fs::read_to_string(&gone).unwrap();
        let lines: Vec<String> = lines.lines().map(str::to_owned).collect();
        assert!(lines.starts_with(&kept), "the earlier lines stay as they are");
        kept = lines;
        let result = fs::read_to_string(&path).unwrap();
        let found = handles(&result);
        assert!(!found.is_empty());
        for handle in found {
            ended(&run(&["restore", &gone, &handle]), 0);
        }
        assert_eq!(result.matches("prints what it leaves out").count(), 1, "{result}");
    }
    // A file of another kind stays as it is.
    let notes = file(&folder, "notes.txt", "Buy leaves.\n");
    let output = run(&["compact", &path, "--budget", "2k", "-o", &path, "--removed", &notes]);
    refused(
        &output,
        &["notes.txt: line 1", "only to a file that `codelet compact` wrote"],
    );
    assert_eq!(fs::read_to_string(&notes).unwrap(), "Buy leaves.\n");
}

#[test]
fn the_result_that_a_request_waits_for_stays_whole_under_a_budget_that_holds_it() {
    let mut request = request(30);
    let messages = request["messages"].as_array_mut().unwrap();
    let output: String = (0..300).map(|row| format!("row {row} holds {}\n", row * 31)).collect();
    messages.push(serde_json::json!({"role": "user", "content": "What do the rows hold?"}));
    messages.push(serde_json::json!({"role": "assistant", "content": [
        {"type": "tool_use", "id": "last", "name": "Read", "input": {"file_path": "rows.txt"}}]}));
    messages.push(serde_json::json!({"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "last", "content": output}]}));
    let sent = run_with(&["compact", "--budget", "4k"], request.to_string().as_bytes());
    ended(&sent, 0);
    let result = json(stdout(&sent));
    let last = result["messages"].as_array().unwrap().iter().rev();
    let mut contents = last.filter_map(|message| message["content"].as_array()).flatten();
    let answer = contents.find(|block| block["type"] == "tool_result").unwrap();
    assert_eq!(answer["content"], output.as_str());
}

#[test]
fn a_long_result_that_a_request_waits_for_takes_nothing_from_the_record() {
    let mut request = request(30);
    let messages = request["messages"].as_array_mut().unwrap();
    messages.push(serde_json::json!({"role": "user", "content": "What do the rows hold?"}));
    for (id, row) in [("one", "row"), ("two", "line"), ("three", "entry")] {
        let output: String = (0..400).map(|at| format!("{row} {at} holds {}\n", at * 31)).collect();
        messages.push(serde_json::json!({"role": "assistant", "content": [
            {"type": "tool_use", "id": id, "name": "Read", "input": {"file_path": "rows.txt"}}]}));
        messages.push(serde_json::json!({"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": id, "content": output}]}));
    }
    let record = |request: &serde_json::Value| {
        let sent = run_with(&["compact", "--budget", "3k"], request.to_string().as_bytes());
        ended(&sent, 0);
        let result = json(stdout(&sent));
        let contents = result["messages"]
            .as_array()
            .unwrap()
            .iter()
            .map(|message| message["content"].to_string());
        contents
            .filter(|text| text.contains("Summary"))
            .map(|text| text.len())
            .sum::<usize>()
    };
    let waiting = record(&request);
    let messages = request["messages"].as_array_mut().unwrap();
    messages.push(serde_json::json!({"role": "assistant", "content": "They hold multiples."}));
    let seen = record(&request);
    assert!(waiting * 10 >= seen * 9, "{waiting} bytes of {seen}");
}

#[test]
fn a_reply_that_the_model_is_to_continue_stays_last() {
    let mut request = request(30);
    let messages = request["messages"].as_array_mut().unwrap();
    messages.push(serde_json::json!({"role": "user", "content": "Which part is the largest?"}));
    messages.push(serde_json::json!({"role": "assistant", "content": "The largest part is"}));
    for budget in ["4k", "400"] {
        let sent = run_with(&["compact", "--budget", budget], request.to_string().as_bytes());
        ended(&sent, 0);
        let result = json(stdout(&sent));
        let messages = result["messages"].as_array().unwrap();
        assert_eq!(messages.last().unwrap()["content"], "The largest part is");
        assert_eq!(messages[messages.len() - 2]["role"], "user");
        assert!(!stderr(&sent).contains("placeholder prompt"), "{}", stderr(&sent));
        ended(&run_with(&["check", "-"], stdout(&sent).as_bytes()), 0);
    }
}

#[test]
fn a_picture_that_was_removed_from_a_prompt_is_told() {
    let image =
        serde_json::json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBO"}});
    let request = session_about(image).to_string();
    let sent = run_with(&["compact", "--budget", "1500"], request.as_bytes());
    ended(&sent, 0);
    assert!(
        stdout(&sent).contains("[image, 4 bytes, removed · recall "),
        "{}",
        stdout(&sent)
    );
    assert!(
        stderr(&sent).contains("removed 1 image or file of a prompt"),
        "{}",
        stderr(&sent)
    );
}

#[test]
fn a_result_says_how_what_was_removed_is_read_back_if_it_was_kept_and_names_no_tool_of_codelets() {
    let folder = folder("reading back");
    let removed = folder.join("what's gone.jsonl");
    let text = request_text(20);
    let with = ["compact", "--budget", "4000", "--removed", removed.to_str().unwrap()];
    for (args, is_kept) in [(&with[..], true), (&with[..3], false)] {
        let output = run_with(args, text.as_bytes());
        ended(&output, 0);
        let result = stdout(&output);
        assert!(!result.contains("Recall("), "{result}");
        let (_, notice) = result
            .split_once("The session goes on from an earlier part; its summary is above.")
            .unwrap();
        let notice: Value = json(&format!("\"{}\"", notice.split_once('"').unwrap().0));
        let (before, after) = (" In a shell, `", "` prints what it leaves out.");
        let command = notice
            .as_str()
            .and_then(|notice| notice.strip_prefix(before)?.strip_suffix(after));
        assert_eq!(command.is_some(), is_kept, "{notice}");
        // It is known for what it is when it is compacted once more.
        let again = run_with(
            &["compact", "--budget", "3000", "--from", "anthropic"],
            result.as_bytes(),
        );
        ended(&again, 0);
        assert_eq!(
            stdout(&again).matches("The session goes on from").count(),
            1,
            "{}",
            stdout(&again)
        );
        if let Some(command) = command {
            let (_, handle) = result.split_once(" · recall ").unwrap();
            let handle: String = handle.chars().take_while(char::is_ascii_alphanumeric).collect();
            let command = command
                .replace("codelet", env!("CARGO_BIN_EXE_codelet"))
                .replace("HANDLE", &handle);
            let shell = std::process::Command::new("sh")
                .args(["-c", &command])
                .output()
                .unwrap();
            ended(&shell, 0);
            assert!(!shell.stdout.is_empty());
        }
    }
}

#[test]
fn what_another_form_has_no_place_for_is_told() {
    let sound = serde_json::json!({"contents": [{"role": "user", "parts": [
        {"text": "listen"}, {"inlineData": {"mimeType": "audio/wav", "data": "AAAA"}}]}]});
    let output = run_with(&["compact", "--to", "anthropic"], sound.to_string().as_bytes());
    ended(&output, 0);
    assert!(
        stdout(&output).contains("[inlineData, 3 bytes, left out"),
        "{}",
        stdout(&output)
    );
    let told = "left out, not supported by anthropic: 1 × inlineData";
    assert!(stderr(&output).contains(told), "{}", stderr(&output));
    let same = run_with(&["compact"], sound.to_string().as_bytes());
    assert_eq!(stdout(&same), sound.to_string());
}

#[test]
fn a_wrong_form_is_an_error_and_overwrites_nothing() {
    let folder = folder("wrong_form");
    let path = file(&folder, "request.json", request_text(12));
    for form in ["opencode", "codex", "pi", "copilot", "mini-swe-agent"] {
        let output = run(&["compact", &path, "--from", form, "-o", &path]);
        ended(&output, 2);
        assert!(stderr(&output).contains("request.json"), "{}", stderr(&output));
        assert_eq!(fs::read_to_string(&path).unwrap(), request_text(12), "{form}");
    }
    let output = run(&["compact", &path, "--from", "opencode"]);
    let told = "it looks like anthropic; use --from anthropic";
    assert!(stderr(&output).contains(told), "{}", stderr(&output));
    let empty = run_with(&["compact", "--from", "openai"], br#"{"messages":[]}"#);
    ended(&empty, 0);
}

#[test]
fn what_goes_on_elsewhere_is_left_as_it_is_and_told() {
    let request =
        r#"{"previous_response_id":"r","input":[{"type":"function_call_output","call_id":"a","output":"done"}]}"#;
    let output = run_with(&["compact"], request.as_bytes());
    ended(&output, 0);
    assert_eq!(stdout(&output), request);
    assert!(
        stderr(&output).contains("the provider stores an earlier part"),
        "{}",
        stderr(&output)
    );
    assert!(!stderr(&output).contains("repaired"), "{}", stderr(&output));
}

#[test]
fn a_text_cut_inside_a_character_is_read() {
    let request = r#"{"max_tokens":1,"messages":[{"role":"user","content":"cut \ud83d"}]}"#;
    let output = run_with(&["compact"], request.as_bytes());
    ended(&output, 0);
    assert_eq!(json(stdout(&output))["messages"][0]["content"], "cut \u{fffd}");
    assert!(stderr(&output).contains("half a character"), "{}", stderr(&output));
}

#[test]
fn a_window_holds_the_definitions_of_tools_too() {
    let mut with_tools = request(40);
    let heavy: Vec<Value> = (0..60)
        .map(|tool| {
            json(&format!(
                r#"{{"name": "tool_{tool}", "description": "{}", "input_schema": {{"type": "object"}}}}"#,
                "explains itself at length. ".repeat(60)
            ))
        })
        .collect();
    with_tools["tools"] = Value::Array(heavy);
    let weight = |args: &[&str]| {
        let output = run_with(
            &[&["inspect", "--json"], args].concat(),
            with_tools.to_string().as_bytes(),
        );
        json(stdout(&output))["tokens"].as_u64().unwrap()
    };
    let window = format!("{}", weight(&[]) * 2);
    let plain = run_with(&["compact", "--window", &window], request_text(40).as_bytes());
    assert!(stderr(&plain).contains("Nothing to compact"), "{}", stderr(&plain));
    let full = run_with(&["compact", "--window", &window], with_tools.to_string().as_bytes());
    ended(&full, 0);
    assert!(stderr(&full).contains("Context compacted"), "{}", stderr(&full));
    let crowded = run_with(&["compact", "--window", "10k"], with_tools.to_string().as_bytes());
    assert!(
        stderr(&crowded).contains("tool definitions alone take"),
        "{}",
        stderr(&crowded)
    );
}

#[test]
fn fields_that_nobody_reads_weigh_what_they_take() {
    let details = "thinking in a form of its own. ".repeat(2_000);
    let message = |role: &str, words: &str| serde_json::json!({"role": role, "content": words});
    let mut reply = message("assistant", "Done.");
    reply["reasoning_details"] = serde_json::json!([{"type": "reasoning.text", "text": details}]);
    let request =
        serde_json::json!({"model": "m", "messages": [message("user", "Begin."), reply, message("user", "Go on.")]});
    let output = run_with(
        &["inspect", "--from", "openai", "--json"],
        request.to_string().as_bytes(),
    );
    ended(&output, 0);
    let tokens = json(stdout(&output))["tokens"].as_u64().unwrap();
    assert!(tokens > details.len() as u64 / 4, "{tokens}");
}

/// A reason that is cut says nothing; what is quoted of a message may be cut.
#[test]
fn on_eighty_columns_each_message_has_a_line_with_its_whole_reason() {
    let args = "compact fixtures/long-session.json --budget 8000 --explain -o /dev/null";
    for columns in [66, 80] {
        let mut command = codelet(&args.split(' ').collect::<Vec<_>>());
        command.current_dir(workspace());
        let mut terminal = Terminal::run(&Bench::new(), command, (columns, 50));
        terminal.ends_in(" ms\r\n");
        assert_eq!(terminal.end(), 0);
        let text = terminal.text();
        let rows = text.lines().filter(|line| line.starts_with(['●', '◐', '◌', '○', '+']));
        let rows: Vec<&str> = rows.map(str::trim_end).collect();
        assert!(rows.len() > 190, "{text}");
        for row in &rows {
            assert!(!row.ends_with('…') && row.chars().count() <= columns.into(), "{row}");
        }
    }
}

#[test]
fn a_request_is_checked_by_its_vendor_s_rules_and_the_status_says_whether_it_keeps_them() {
    let valid = run_with(&["check"], request_text(3).as_bytes());
    ended(&valid, 0);
    assert_eq!(stdout(&valid), "");
    let broken = r#"{"messages":[{"role":"user","content":"look"},{"role":"assistant","content":"Yes."},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"x"}]}]}"#;
    let found = run_with(&["check", "--vendor", "anthropic"], broken.as_bytes());
    ended(&found, 1);
    let line = "messages.2.content.0: The result answers no call directly before it: \"t\".\n";
    assert_eq!(stdout(&found), line);
    let listed = run_with(&["check", "--vendor", "anthropic", "--json", "-"], broken.as_bytes());
    ended(&listed, 1);
    assert_eq!(json(stdout(&listed))[0]["place"], "messages.2.content.0");
    let other = run_with(&["check", "--vendor", "gemini"], broken.as_bytes());
    ended(&other, 2);
    assert!(stderr(&other).contains("`contents`"), "{}", stderr(&other));
}

#[test]
fn zeros_behind_the_last_line_are_passed_over() {
    let text = [request_text(2).as_bytes(), &[0; 20]].concat();
    let output = run_with(&["inspect", "--json"], &text);
    ended(&output, 0);
    let within = [&text[..40], &[0; 4], &text[40..]].concat();
    ended(&run_with(&["inspect", "--json"], &within), 2);
}
