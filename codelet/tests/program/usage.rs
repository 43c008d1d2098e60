//! Bad usage and unreadable input: status 2, and words that say what was expected.

use crate::common::*;
use std::os::unix::fs::PermissionsExt;

#[test]
fn help_and_version_are_no_errors() {
    for args in [
        &["--help"][..],
        &["compact", "--help"],
        &["inspect", "-h"],
        &["restore", "-h"],
        &["formats", "-h"],
        &["help"],
        &["help", "compact"],
    ] {
        let output = run(args);
        ended(&output, 0);
        assert!(stdout(&output).contains("Usage:"), "{args:?}");
        assert_eq!(stderr(&output), "");
    }
    for args in [&["--version"], &["version"]] {
        let version = run(args);
        ended(&version, 0);
        assert_eq!(stdout(&version), format!("codelet {}\n", env!("CARGO_PKG_VERSION")));
    }
}

#[test]
fn every_manual_page_tells_the_version() {
    let version = format!("\"codelet {}\"", env!("CARGO_PKG_VERSION"));
    for args in [&["man"][..], &["man", "compact"], &["man", "replay"]] {
        let output = run(args);
        ended(&output, 0);
        let title = stdout(&output).lines().find(|line| line.starts_with(".TH")).unwrap();
        assert!(title.contains(&version), "{title}");
    }
}

#[test]
fn a_prompt_that_looks_like_an_option_is_refused_with_the_form_that_takes_it() {
    refused(&run(&["-p", "-1"]), &["unexpected argument '-1'", "codelet -p='-1'"]);
    refused(&run(&["-p", "- a\n- b"]), &["codelet -p='- a"]);
    refused(&run(&["-p", "--modle", "x"]), &["--model", "codelet -p='--modle'"]);
    refused(&run(&["- fix it"]), &["unexpected argument", "-- - "]);
}

#[test]
fn the_formats_are_listed() {
    let output = run(&["formats"]);
    ended(&output, 0);
    let names: Vec<_> = stdout(&output)
        .lines()
        .filter_map(|line| line.split(' ').next())
        .collect();
    for name in [
        "anthropic", "openai", "responses", "gemini", "claude-code", "codex", "opencode", "pi", "copilot",
    ] {
        assert!(names.contains(&name), "{name}");
    }
    for name in ["mini-swe-agent", "swe-agent", "corpus", "shape"] {
        assert!(names.contains(&name), "{name}");
    }
    assert!(stdout(&output).lines().all(|line| line.chars().count() <= 80));
}

#[test]
fn wrong_options_are_refused_with_what_was_expected() {
    refused(
        &run(&["compact", "a.json", "b.json"]),
        &["unexpected argument 'b.json'"],
    );
    refused(
        &run(&["compact", "--budget", "1k", "--window", "2k"]),
        &["--budget", "--window", "cannot be used with"],
    );
    refused(
        &run(&["-p", "hi", "--window", "1"]),
        &["--window", "at least 4000 tokens"],
    );
    refused(&run(&["compact", "--budget", "lots"]), &["expected a number of tokens"]);
    refused(&run(&["compact", "--budget", "0"]), &["expected more than 0 tokens"]);
    refused(&run(&["compact", "--budget", "-5"]), &["-5"]);
    refused(
        &run(&["compact", "--from", "claude"]),
        &["invalid value 'claude'", "claude-code"],
    );
    refused(&run(&["compact", "--from", "shape"]), &["invalid value 'shape'"]);
    refused(
        &run(&["compact", "--to", "codex"]),
        &["invalid value 'codex'", "openai"],
    );
    refused(&run(&["modles"]), &["unknown command `modles`"]);
    refused(&run(&["restore", "gone.jsonl"]), &["<HANDLE>"]);
}

#[test]
fn a_file_that_cannot_be_opened_is_named() {
    let folder = folder("cannot_be_opened");
    let missing = folder.join("missing.json").to_str().unwrap().to_owned();
    refused(&run(&["compact", &missing]), &[&missing, "no such file"]);
    let path = folder.to_str().unwrap();
    refused(&run(&["inspect", path]), &[path, "is a folder"]);
    refused(
        &run(&["compact", &format!("{missing}/deeper")]),
        &["missing.json/deeper"],
    );

    let closed = file(&folder, "closed.json", request_text(1));
    std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o000)).unwrap();
    // Root may read everything.
    if std::fs::read(&closed).is_err() {
        refused(&run(&["compact", &closed]), &[&closed, "permission denied"]);
    }
}

#[test]
fn what_is_no_conversation_is_refused_with_file_line_and_expectation() {
    let folder = folder("no_conversation");
    let cases: [(&str, &[u8], &[&str]); 12] = [
        ("empty.json", b"", &["line 1", "expected"]),
        ("blank.json", b" \n\n  \n", &["expected"]),
        ("prose.txt", b"Dear diary,\ntoday", &["line 1", "expected"]),
        ("number.json", b"42", &["expected"]),
        ("list.json", b"[1, 2, 3]", &["expected"]),
        ("zero.bin", b"{\"messages\":\n\0", &["line 2", "expected the rest"]),
        ("session.jsonl.gz", b"\x1f\x8b\x08\0rest", &["gzip", "gunzip"]),
        ("session.zst", b"\x28\xb5\x2f\xfdrest", &["zstd"]),
        ("utf16.json", b"\xff\xfe{\0}\0", &["UTF-16"]),
        ("sessions.db", b"SQLite format 3\0rest", &["SQLite"]),
        ("latin.bin", b"\x80\x81\x82\xff\xfe\xfd", &["expected"]),
        ("other.json", b"{\"hello\": {\"world\": []}}", &["expected"]),
    ];
    for (name, content, words) in cases {
        let path = file(&folder, name, content);
        for command in ["compact", "inspect"] {
            refused(&run(&[command, &path]), &[&[name], words].concat());
            refused(&run_with(&[command], content), &[&["standard input"], words].concat());
        }
    }
}

#[test]
fn json_that_breaks_off_is_read_as_far_as_it_goes_or_refused() {
    let folder = folder("breaks_off");
    let whole = serde_json::to_string_pretty(&request(30)).unwrap();
    let cut = |end: usize| file(&folder, &format!("cut-{end}.json"), &whole[..end]);
    // Little is lost, and a conversation is written that can be read.
    let nearly = cut(whole.len() - 500);
    let output = run(&["compact", "--from", "anthropic", &nearly]);
    ended(&output, 0);
    assert!(
        stderr(&output).contains("the file breaks off; its last "),
        "{}",
        stderr(&output)
    );
    let written: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(!written["messages"].as_array().unwrap().is_empty());
    // A word that is not finished, where there is no list yet.
    let start = cut(30);
    refused(&run(&["compact", "--from", "anthropic", &start]), &[&start, "line 3"]);
    // More than a tenth, in one message.
    let mut large = request(2);
    large["messages"][2]["content"] = "word ".repeat(5_000).into();
    let text = large.to_string();
    let most = file(&folder, "most.json", &text[..text.len() / 2]);
    refused(&run(&["compact", &most]), &[&most, "--force"]);
    ended(&run(&["compact", "--force", &most]), 0);
}

#[test]
fn deep_nesting_is_refused_and_does_no_harm() {
    let folder = folder("deep_nesting");
    let deep = format!("{}{}", "[".repeat(200_000), "]".repeat(200_000));
    let path = file(&folder, "deep.json", &deep);
    refused(&run(&["inspect", &path]), &["deep.json"]);
    let inside = format!(
        r#"{{"messages":[{{"role":"assistant","content":[{{"type":"tool_use","id":"a","name":"T","input":{{"x":{deep}}}}}]}}]}}"#
    );
    let path = file(&folder, "inside.json", inside);
    refused(&run(&["compact", "--from", "anthropic", &path]), &["inside.json"]);
}

#[test]
fn a_byte_order_mark_and_carriage_returns_do_no_harm() {
    let folder = folder("bom");
    let text = serde_json::to_string_pretty(&request(2)).unwrap().replace('\n', "\r\n");
    let plain = run_with(&["compact", "--to", "shape"], request_text(2).as_bytes());
    let path = file(&folder, "windows.json", format!("\u{feff}{text}"));
    let odd = run(&["compact", "--to", "shape", &path]);
    ended(&plain, 0);
    ended(&odd, 0);
    assert_eq!(stdout(&plain), stdout(&odd));
}

#[test]
fn invalid_utf8_in_a_text_is_replaced_with_a_warning() {
    let folder = folder("invalid_utf8");
    let mut text = request_text(1).into_bytes();
    let at = text.windows(6).position(|window| window == b"Please").unwrap();
    text[at] = 0xff;
    let path = file(&folder, "odd.json", &text);
    let output = run(&["compact", &path]);
    ended(&output, 0);
    assert!(stderr(&output).contains("warning: "), "{}", stderr(&output));
    assert!(stderr(&output).contains("UTF-8"), "{}", stderr(&output));
    assert!(stdout(&output).contains("\u{fffd}lease"));
}

#[test]
fn a_cut_last_line_of_a_session_file_is_a_warning() {
    let folder = folder("cut_last_line");
    let line = |number: usize, role: &str, content: &str| {
        let parent = number.checked_sub(1).map(|parent| format!("u{parent}"));
        let line = serde_json::json!({
            "type": role, "uuid": format!("u{number}"), "parentUuid": parent, "sessionId": "s", "isSidechain": false,
            "message": {"role": role, "content": content},
        });
        format!("{line}\n")
    };
    let whole = line(0, "user", "first") + &line(1, "assistant", "second") + &line(2, "user", "third");
    let path = file(&folder, "session.jsonl", format!("{whole}{{\"type\":\"assis"));
    let output = run(&["compact", "--from", "claude-code", "--to", "shape", &path]);
    ended(&output, 0);
    assert!(stderr(&output).contains("warning: "), "{}", stderr(&output));
    assert!(
        stderr(&output).contains("session.jsonl: line 4 is incomplete"),
        "{}",
        stderr(&output)
    );
    assert_eq!(stdout(&output), "user: first\nassistant: second\nuser: third\n");
}

#[test]
fn how_to_prompt_is_told_to_those_who_seem_to_prompt_and_to_nobody_else() {
    for (prompt, told) in [
        // Nobody is there to have a session with.
        (&["fix", "the", "tests"][..], "codelet -p 'fix the tests'"),
        (&["--plain", "compact"], "`compact` is a command"),
        (&["inspect", "the", "code"], "quote it: codelet 'inspect the code'"),
        (&["report", "the", "bug"], "quote it: codelet 'report the bug'"),
    ] {
        refused(&run(prompt), &[told]);
    }
    for slip in [
        &["replay", "x", "--json", "--csv"][..],
        &["compact", "--budget", "1", "--window", "2"],
        &["compact", "--nonsense"],
        &["report", "missing.jsonl", "other.jsonl"],
    ] {
        let output = run(slip);
        ended(&output, 2);
        assert!(
            !stderr(&output).to_lowercase().contains("prompt"),
            "{}",
            stderr(&output)
        );
    }
}

#[test]
fn a_slip_in_a_name_is_told_with_the_name_that_may_be_meant() {
    for (args, meant) in [
        (&["comapct", "x.json"][..], "did you mean `compact`?"),
        (&["mcp", "tset", "x"], "'test'"),
        (&["compact", "--explian"], "'--explain'"),
        (&["-p", "x", "--permission", "edti"], "'edit'"),
        (
            &["-p", "x", "--model", "anthropc/claude-x"],
            "did you mean anthropic/claude-x?",
        ),
        (
            &["-p", "x", "--model", "claude-sonet-5-5"],
            "did you mean anthropic/claude-sonnet-5-5?",
        ),
        (&["-p", "x", "--effort", "hgih"], "'high'"),
        (&["models", "--search", "sonet", "5.5"], "did you mean sonnet?"),
        (&["man", "comapct"], "did you mean compact?"),
        (
            &["models", "--search", "claude-sonet-5-5"],
            "did you mean claude-sonnet-5-5?",
        ),
    ] {
        refused(&run(args), &[meant]);
    }
}

#[test]
fn models_are_found_by_words_and_the_units_are_told_once() {
    let output = run(&["models", "--search", "sonnet", "5.5"]);
    ended(&output, 0);
    let text = stdout(&output);
    let names: Vec<&str> = text
        .lines()
        .skip(1)
        .map_while(|line| line.split("  ").next().filter(|it| !it.is_empty()))
        .collect();
    assert_eq!(
        names,
        ["anthropic/claude-sonnet-5-5", "openrouter/anthropic/claude-sonnet-5.5"]
    );
    assert_eq!(text.matches("US dollars per million tokens").count(), 1, "{text}");
    assert!(
        text.contains("ANTHROPIC_API_KEY") && !text.contains("GEMINI_API_KEY"),
        "{text}"
    );
    refused(
        &run(&["models", "--search", "nothing-of-the-kind"]),
        &["no listed model has \"nothing-of-the-kind\""],
    );
}

#[test]
fn a_number_that_cannot_be_is_told_in_words_that_fit_it() {
    refused(
        &run(&["compact", "--window", "0"]),
        &["--window", "expected more than 0 tokens"],
    );
    let window = run(&["compact", "--window", "0"]);
    assert!(!stderr(&window).contains("budget"), "{}", stderr(&window));
    refused(
        &run(&["compact", "--budget", "0"]),
        &["--budget", "the smallest possible one"],
    );
    let output = run_with(&["compact", "--budget", "1"], request_text(3).as_bytes());
    assert!(
        stderr(&output).contains("a budget of 1 cannot hold"),
        "{}",
        stderr(&output)
    );
}
