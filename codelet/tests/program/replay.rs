//! `codelet replay` from the outside: what is played, what is skipped, and what is printed.

use crate::common::*;
use serde_json::Value;
use std::path::Path;

/// A session file of Claude Code with bills: a prompt, reads of files, and an answer.
fn session(reads: usize) -> String {
    let mut lines = vec![entry(
        0,
        None,
        "user",
        r#""role":"user","content":"Mend the parser in src/parse_line.rs.""#,
    )];
    let mut size = 21_000;
    let mut held = 0;
    for number in 0..reads {
        let usage = format!(
            r#""usage":{{"input_tokens":3,"cache_read_input_tokens":{held},"cache_creation_input_tokens":{},"output_tokens":40}}"#,
            size - held
        );
        let call = format!(
            r#"{{"type":"tool_use","id":"c{number}","name":"Read","input":{{"file_path":"src/part_{number}.rs"}}}}"#
        );
        let reply =
            format!(r#""id":"m{number}","model":"claude-opus-4-6","role":"assistant","content":[{call}],{usage}"#);
        let text = format!("fn part_{number}_of_many() {{}} // and more\\n").repeat(60);
        let result = format!(
            r#""role":"user","content":[{{"type":"tool_result","tool_use_id":"c{number}","content":"{text}"}}]"#
        );
        lines.push(entry(2 * number + 1, Some(2 * number), "assistant", &reply));
        lines.push(entry(2 * number + 2, Some(2 * number + 1), "user", &result));
        held = size;
        size += 900;
    }
    lines.concat()
}

fn entry(number: usize, parent: Option<usize>, kind: &str, message: &str) -> String {
    let parent = parent.map_or("null".to_owned(), |parent| format!("\"u{parent}\""));
    let (minute, second) = (number / 60, number % 60);
    format!(
        "{{\"uuid\":\"u{number}\",\"parentUuid\":{parent},\"type\":\"{kind}\",\"timestamp\":\"2026-01-01T10:{minute:02}:{second:02}Z\",\"message\":{{{message}}}}}\n"
    )
}

fn sessions(test: &str) -> std::path::PathBuf {
    let folder = folder(test);
    file(&folder, "long.jsonl", session(40));
    file(&folder, "short.jsonl", session(5));
    file(&folder, "notes.txt", "no conversation, and not looked at");
    let deeper = folder.join("deeper");
    std::fs::create_dir_all(&deeper).unwrap();
    file(&deeper, "middle.jsonl", session(20));
    folder
}

fn replayed(args: &[&str], folder: &Path) -> Value {
    let mut all = vec!["replay", "--json"];
    all.extend(args);
    all.push(folder.to_str().unwrap());
    let output = run(&all);
    ended(&output, 0);
    serde_json::from_str(stdout(&output)).unwrap()
}

#[test]
fn a_folder_is_played_and_the_totals_are_the_sums_of_its_sessions() {
    let folder = sessions("replay_folder");
    let found = replayed(&[], &folder);
    let sessions = found["sessions"].as_array().unwrap();
    let names: Vec<_> = sessions
        .iter()
        .map(|session| session["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["middle", "long", "short"]);
    let totals = found["totals"].as_array().unwrap();
    let policies: Vec<_> = totals.iter().map(|total| total["policy"].as_str().unwrap()).collect();
    assert_eq!(policies[0], "never");
    assert!(policies.len() >= 6 && policies.contains(&"faithful") && policies.contains(&"mask-10"));
    for total in totals {
        let policy = total["policy"].as_str().unwrap();
        let sum: f64 = sessions
            .iter()
            .map(|session| session["policies"][policy]["dollars"]["total"].as_f64().unwrap())
            .sum();
        assert!(
            (total["dollars"]["total"].as_f64().unwrap() - sum).abs() < 1e-9,
            "{policy}"
        );
        assert_eq!(total["requests"], 65);
    }
    assert_eq!(totals[0]["ratio"], 1.0);
    assert_eq!(found["sources"]["claude-code"]["sessions"], 3);
    assert_eq!(found["settings"]["window"], 200_000);
}

#[test]
fn bills_are_compared_with_what_the_model_of_the_cache_says() {
    let folder = sessions("replay_check");
    let found = replayed(&["--policy", "never"], &folder);
    let check = &found["check"];
    assert_eq!((&check["sessions"], &check["requests"]), (&3.into(), &65.into()));
    for kind in ["blind", "told"] {
        assert!(check[kind]["p90"].as_f64().unwrap() < 0.01, "{check}");
    }
    assert_eq!((&check["lost"], &check["warm_heads"]), (&0.into(), &0.into()));
}

#[test]
fn a_bad_file_is_told_of_skipped_and_counted() {
    let folder = sessions("replay_bad");
    file(&folder, "broken.jsonl", "{\"type\":\"user\"\n{");
    file(&folder, "empty.json", "{\"messages\":[]}");
    let output = run(&["replay", "--policy", "never", folder.to_str().unwrap()]);
    ended(&output, 0);
    assert!(stdout(&output).contains("3 conversations") && stdout(&output).contains("2 files skipped"));
    for name in ["broken.jsonl", "empty.json"] {
        assert!(stderr(&output).contains(name), "{}", stderr(&output));
    }
    let found = replayed(&["--policy", "never"], &folder);
    assert_eq!(found["skipped"].as_array().unwrap().len(), 2);
}

#[test]
fn nothing_to_play_is_a_mistake_of_the_user() {
    let folder = folder("replay_nothing");
    let path = file(&folder, "broken.json", "{");
    refused(
        &run(&["replay", &path]),
        &["broken.json", "the file could not be replayed"],
    );
    let missing = folder.join("missing.json");
    refused(&run(&["replay", missing.to_str().unwrap()]), &["no such file"]);
    let empty = folder.join("empty");
    std::fs::create_dir_all(&empty).unwrap();
    refused(&run(&["replay", empty.to_str().unwrap()]), &["no files to replay"]);
}

#[test]
fn the_output_does_not_depend_on_how_many_are_played_at_once() {
    let folder = sessions("replay_jobs");
    let outputs: Vec<_> = ["1", "2", "7"]
        .iter()
        .map(|jobs| run(&["replay", "--csv", "--jobs", jobs, folder.to_str().unwrap()]).stdout)
        .collect();
    assert_eq!(outputs[0], outputs[1]);
    assert_eq!(outputs[0], outputs[2]);
    let text = String::from_utf8(outputs[0].clone()).unwrap();
    let columns = text.lines().next().unwrap().split(',').count();
    assert!(text.lines().all(|line| line.split(',').count() == columns));
    assert_eq!(text.lines().count(), 1 + 3 * 6);
}

#[test]
fn the_halves_have_no_session_in_common_and_make_up_the_whole() {
    let folder = folder("replay_halves");
    for number in 0..12 {
        file(&folder, &format!("session-{number}.jsonl"), session(1));
    }
    let names = |half: &str| -> Vec<String> {
        let found = replayed(&["--policy", "never", "--half", half], &folder);
        let sessions = found["sessions"].as_array().unwrap().iter();
        sessions
            .map(|session| session["name"].as_str().unwrap().to_owned())
            .collect()
    };
    let (a, b, all) = (names("a"), names("b"), names("all"));
    assert!(a.iter().all(|name| !b.contains(name)));
    let mut both = [a, b].concat();
    both.sort();
    let mut all = all;
    all.sort();
    assert_eq!(both, all);
}

#[test]
fn prices_come_from_a_card_or_from_a_file() {
    let folder = sessions("replay_prices");
    let cards = file(
        &folder,
        "my.prices",
        "cheap input=1 output=1 read=0.1\ndear input=10 output=10 read=1\n",
    );
    let total = |prices: &str| {
        let found = replayed(&["--policy", "never", "--prices", prices], &folder);
        found["totals"][0]["dollars"]["total"].as_f64().unwrap()
    };
    let (cheap, dear) = (total(&format!("{cards}#cheap")), total(&format!("{cards}#dear")));
    assert!((dear / cheap - 10.0).abs() < 1e-9);
    assert!(total("1h") > total("5m"));
    let path = folder.to_str().unwrap();
    refused(
        &run(&["replay", "--prices", &cards, path]),
        &["contains 2 cards", "#NAME"],
    );
    refused(
        &run(&["replay", "--prices", "gold", path]),
        &["gold", "neither a price card"],
    );
}

#[test]
fn the_tables_fit_the_columns_that_there_are() {
    let folder = sessions("replay_columns");
    for columns in [40, 80, 120] {
        let mut command = codelet(&["replay", folder.to_str().unwrap()]);
        let output = command.env("COLUMNS", columns.to_string()).output().unwrap();
        ended(&output, 0);
        for line in stdout(&output).lines() {
            assert!(line.chars().count() <= columns, "{columns}: {line}");
        }
        assert!(!stdout(&output).contains('\u{1b}'));
    }
}

#[test]
fn a_lifetime_that_the_vendor_does_not_sell_is_refused_and_one_that_it_has_anyway_is_taken() {
    let folder = sessions("replay_ttl");
    let path = folder.to_str().unwrap();
    for (card, ttl, lives) in [
        ("openai/gpt-5.5", "1h", "5 min"),
        ("gemini/gemini-3.5-flash", "1h", "5 min"),
        ("deepseek/deepseek-flash", "5m", "2 h"),
        ("no-write-fee", "1h", "5 min"),
    ] {
        let output = run(&["replay", path, "--prices", card, "--ttl", ttl]);
        refused(&output, &[card, "has no cache with that lifetime", lives, "Omit --ttl"]);
    }
    let lives = |card: &str, ttl: &str| {
        let found = replayed(&["--policy", "never", "--prices", card, "--ttl", ttl], &folder);
        found["settings"]["card"]["lives_seconds"].as_u64().unwrap()
    };
    assert_eq!(lives("openai/gpt-5.5", "5m"), 300);
    assert_eq!(lives("anthropic/claude-opus-5", "5m"), 300);
    assert_eq!(lives("anthropic/claude-opus-5", "1h"), 3_600);
    assert_eq!(lives("1h", "5m"), 300);
}

#[test]
fn each_source_has_an_interval_and_a_single_session_has_none() {
    let folder = sessions("replay_intervals");
    file(&folder, "chat.json", request_text(12));
    let args = ["--policy", "mask-10"];
    let found = replayed(&args, &folder);
    let interval = |source: &str| found["sources"][source]["totals"][1]["interval"].clone();
    let (low, high) = (
        interval("claude-code")[0].as_f64().unwrap(),
        interval("claude-code")[1].as_f64().unwrap(),
    );
    assert!(low < high);
    assert_eq!(interval("anthropic"), Value::Null);
    let output = run(&[&["replay", folder.to_str().unwrap()][..], &args].concat());
    let told = stdout(&output);
    let ratio = found["sources"]["claude-code"]["totals"][1]["ratio"].as_f64().unwrap();
    let line = format!("mask-10 {ratio:.2} ({low:.2}–{high:.2})");
    assert_eq!(told.matches(&line).count(), 1, "{told}");
    let (_, files) = told.split_once("By file").unwrap();
    let (files, _) = files.split_once("Compared").unwrap();
    assert!(files.contains("mask-10") && !files.contains('('), "{told}");
}

#[test]
fn what_is_typed_wrong_is_refused_with_what_was_expected() {
    for (args, words) in [
        (["--policy", "always"], "never"),
        (["--refetch", "1.5"], "from 0 to 1"),
        (["--window", "500"], "4000"),
        (["--ttl", "2h"], "1h"),
    ] {
        let mut all = vec!["replay", "x.json"];
        all.extend(args);
        refused(&run(&all), &[words]);
    }
}

#[test]
fn files_of_the_same_name_are_told_apart() {
    let folder = folder("replay_same_name");
    for (name, reads) in [("a", 4), ("b", 9)] {
        std::fs::create_dir_all(folder.join(name)).unwrap();
        file(&folder.join(name), "session.jsonl", session(reads));
    }
    let path = folder.to_str().unwrap();
    let output = run(&["replay", path, "--policy", "mask-10"]);
    let told = stdout(&output);
    assert!(
        told.contains("a/session.jsonl") && told.contains("b/session.jsonl"),
        "{told}"
    );
    let output = run(&["replay", path, "--policy", "never", "--csv"]);
    let files: Vec<&str> = stdout(&output)
        .lines()
        .skip(1)
        .map(|line| line.split(',').next().unwrap())
        .collect();
    let of = |name: &str| folder.join(name).join("session.jsonl").display().to_string();
    assert_eq!(files, [of("a"), of("b")]);
    let found = replayed(&["--policy", "never"], &folder);
    assert_eq!(
        (&found["sessions"][1]["file"], &found["sessions"][1]["name"]),
        (&of("b").into(), &"session".into())
    );
    let (a, b) = (of("a"), of("b"));
    let output = run(&["report", &b, &a, "--policy", "never"]);
    assert!(stdout(&output).contains("<h1><bdi>b/session.jsonl</bdi></h1>"));
}

#[cfg(unix)]
#[test]
fn what_a_folder_holds_is_played_skipped_with_its_own_name_or_counted() {
    use std::os::unix::fs::symlink;
    let folder = folder("replay_folders");
    file(&folder, "a.JSON", request_text(3));
    file(&folder, "b.ndjson", session(3));
    file(&folder, "notes.txt", "not looked at");
    let elsewhere = crate::common::folder("replay_folders_elsewhere");
    let outside = file(&elsewhere, "outside.jsonl", session(2));
    symlink(&outside, folder.join("link.jsonl")).unwrap();
    symlink(folder.join("b.ndjson"), folder.join("same.jsonl")).unwrap();
    symlink("nowhere.json", folder.join("gone.json")).unwrap();
    symlink(&folder, folder.join("circle")).unwrap();
    let deep = (0..18).fold(folder.clone(), |path, _| path.join("x"));
    std::fs::create_dir_all(&deep).unwrap();
    file(&deep, "deep.json", request_text(2));

    let found = replayed(&["--policy", "never"], &folder);
    let names: Vec<&str> = found["sessions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["a", "b", "link"]);
    let passed = &found["passed_over"];
    for (what, number) in [
        ("other_files", 1),
        ("links_to_folders", 1),
        ("links_to_played_files", 1),
        ("too_deep", 1),
    ] {
        assert_eq!(passed[what], number, "{passed}");
    }
    let skipped = found["skipped"].as_array().unwrap();
    assert!(
        skipped.len() == 1 && skipped[0].as_str().unwrap().contains("gone.json"),
        "{skipped:?}"
    );
    let output = run(&["replay", "--policy", "never", folder.to_str().unwrap()]);
    assert!(stdout(&output).contains("skipped in directories: 1 file of other kinds · 1 link to a folder"));

    // A folder that cannot be read is skipped by its own name; whoever may read everything has none.
    let shut = folder.join("shut");
    std::fs::create_dir_all(&shut).unwrap();
    let allow = |mode| std::fs::set_permissions(&shut, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
    allow(0o000);
    let is_shut = std::fs::read_dir(&shut).is_err();
    let found = replayed(&["--policy", "never"], &folder);
    allow(0o755);
    let told = found["skipped"].to_string();
    assert!(!is_shut || told.contains("shut"), "{told}");
    assert_eq!(found["sessions"].as_array().unwrap().len(), 3);
}

#[test]
fn a_lifetime_that_a_card_of_ones_own_does_not_sell_is_refused_with_words_that_help() {
    let folder = sessions("replay_own_ttl");
    let path = folder.to_str().unwrap();
    let card = |name: &str, text: &str| file(&folder, name, text);
    let five = card("five.prices", "m input=3 output=15 read=0.3 write=3.75 marks=4\n");
    refused(
        &run(&["replay", path, "--prices", &five, "--ttl", "1h"]),
        &["has no cache with that lifetime", "5 min", "write-1h="],
    );
    let half = card(
        "half.prices",
        "m input=3 output=15 write=4 write-1h=6 lives=30m marks=4\n",
    );
    refused(
        &run(&["replay", path, "--prices", &half, "--ttl", "5m"]),
        &["30 min", "lives=5m"],
    );
    let found = replayed(&["--policy", "never", "--prices", &half, "--ttl", "1h"], &folder);
    assert_eq!(found["settings"]["card"]["lives_seconds"], 3_600);
    let found = replayed(&["--policy", "never", "--prices", &five, "--ttl", "5m"], &folder);
    assert_eq!(found["settings"]["card"]["lives_seconds"], 300);
}

#[test]
fn what_is_wrong_with_a_file_of_prices_is_a_sentence() {
    let folder = folder("replay_price_files");
    let recorded = file(&folder, "a.json", request_text(3));
    let prices = |name: &str, text: &str| file(&folder, name, text);
    let said = |card: &str, words: &[&str]| refused(&run(&["replay", &recorded, "--prices", card]), words);
    said(
        folder.to_str().unwrap(),
        &["is a folder, expected a file of price cards"],
    );
    said(
        &prices("empty.prices", "# nothing\n"),
        &["empty.prices", "contains no price card, expected a line such as"],
    );
    said(
        &prices("bad.prices", "m input=3 output=x\n"),
        &["bad.prices, line 1, column 18", "US dollars"],
    );
    let marked = prices("bom.prices", "\u{feff}mine input=3 output=15\n");
    said(&format!("{marked}#other"), &["has no card named other"]);
    ended(
        &run(&[
            "replay",
            &recorded,
            "--policy",
            "never",
            "--prices",
            &format!("{marked}#mine"),
        ]),
        0,
    );
}

#[test]
fn a_request_that_does_not_fit_ends_the_run_and_leaves_no_share() {
    let folder = folder("replay_refused");
    file(&folder, "a.json", request_text(3));
    file(&folder, "b.jsonl", session(8));
    // The bills of the second say that its head alone is larger than the window.
    let found = replayed(&["--policy", "mask-10", "--window", "16k"], &folder);
    let total = &found["totals"][1];
    assert_eq!(
        (&total["sessions"], &total["refused"]),
        (&1.into(), &1.into()),
        "{total}"
    );
    let policy = &found["sessions"][1]["policies"]["mask-10"];
    assert_eq!((&policy["refused_at"], &policy["ratio"]), (&1.into(), &Value::Null));
    assert_eq!(policy["dollars"]["total"], 0.0);
    let output = run(&[
        "replay",
        "--policy",
        "mask-10",
        "--window",
        "16k",
        folder.to_str().unwrap(),
    ]);
    let told = stdout(&output);
    assert!(
        told.contains("left out, because a request did not fit") && told.contains("mask-10 1 of 2 sessions"),
        "{told}"
    );
}

#[test]
fn a_model_that_nobody_knows_is_told_of_and_bills_that_cannot_be_true_do_not_count() {
    let folder = folder("replay_doubts");
    file(
        &folder,
        "acme.jsonl",
        session(6).replace("claude-opus-4-6", "acme-large-9"),
    );
    let lie = session(6).replacen(
        "\"cache_creation_input_tokens\":900",
        "\"cache_creation_input_tokens\":9000000000",
        1,
    );
    file(&folder, "lie.jsonl", lie);
    let output = run(&["replay", "--policy", "never", folder.to_str().unwrap()]);
    ended(&output, 0);
    let told = stderr(&output);
    assert!(told.contains("the price of acme-large-9 is unknown"), "{told}");
    assert!(
        stdout(&output).contains("1 without billed usage, times or a known model"),
        "{}",
        stdout(&output)
    );
}
