#![allow(clippy::unwrap_used)]
use super::*;

/// Lines of passing tests, as Rust's runner prints them.
fn passing(count: usize) -> String {
    (0..count)
        .map(|i| format!("test parser::tests::case_{i} ... ok\n"))
        .collect()
}

fn comes_through(text: &str) {
    assert!(text.len() > 2 * LEAST_SAVING, "too short to show anything: {text}");
    assert_eq!(squeeze(text).as_deref(), None);
}

#[test]
fn passing_tests_become_one_counted_line() {
    let text = format!("running 312 tests\n{}\ntest result: ok. 312 passed\n", passing(312));
    assert_eq!(
        squeeze(&text).unwrap(),
        "running 312 tests\ntest … ok (× 312 alike lines)\n\ntest result: ok. 312 passed\n"
    );
}

#[test]
fn a_failure_among_successes_stands() {
    let text = [passing(20), "test parser::tests::bad ... FAILED\n".into(), passing(30)].concat();
    assert_eq!(
        squeeze(&text).unwrap(),
        "test … ok (× 20 alike lines)\ntest parser::tests::bad ... FAILED\ntest … ok (× 30 alike lines)\n"
    );
}

#[test]
fn failures_are_never_counted() {
    comes_through(
        &(0..50)
            .map(|i| format!("test case_{i} ... FAILED\n"))
            .collect::<String>(),
    );
    comes_through(
        &(0..50)
            .map(|i| format!("tests/test_a.py::test_{i} FAILED [ {i}%]\n"))
            .collect::<String>(),
    );
    comes_through(
        &(0..50)
            .map(|i| format!("--- FAIL: Test{i} (0.00s)\n"))
            .collect::<String>(),
    );
    comes_through(
        &(0..50)
            .map(|i| format!("Processing item {i}: error: no such file\n"))
            .collect::<String>(),
    );
}

#[test]
fn runners_of_many_kinds_are_known() {
    let lines: &[&dyn Fn(usize) -> String] = &[
        &|i| format!("tests/test_a.py::TestB::test_{i} PASSED      [ {i}%]"),
        &|i| format!("test_case_{i} (suite.module.Case) ... ok"),
        &|i| format!("--- PASS: Test{i} (0.00s)"),
        &|i| format!("Fetching {i}% {} {i}/90", "█".repeat(i / 10)),
    ];
    for line in lines {
        let text: String = (10..60).map(|i| line(i) + "\n").collect();
        let squeezed = squeeze(&text).unwrap_or_else(|| panic!("not known: {}", line(1)));
        assert!(
            squeezed.ends_with(" (× 50 alike lines)\n") && squeezed.lines().count() == 1,
            "{squeezed}"
        );
    }
}

#[test]
fn terminal_codes_go_and_words_stay() {
    let text: String = (0..40)
        .map(|i| format!("\x1b[1m\x1b[38;5;{i}mname{i}\x1b[0m \x1b]8;;file:///a/{i}\x1b\\link\x1b]8;;\x07 ä\x1b(B→\n"))
        .collect();
    let plain: String = (0..40).map(|i| format!("name{i} link ä→\n")).collect();
    assert_eq!(squeeze(&text).unwrap(), plain);
}

#[test]
fn a_broken_terminal_code_stays() {
    for broken in [
        "\x1b", "\x1b[", "\x1b[12;", "\x1b]0;title without end\n", "\x1b[31\nm", "\x1bä", "\x1b]\x1b[0",
    ] {
        assert_eq!(codes::without(broken), broken);
    }
}

#[test]
fn a_progress_bar_shows_its_last_state() {
    let bar: String = (0..=100)
        .map(|i| {
            format!(
                "\rDownloading model: {i}%|{}| {i}/100 [00:0{}<00:01]",
                "█".repeat(i / 10),
                i % 10
            )
        })
        .collect();
    let text = format!("start\n{bar}\ndone\n");
    assert_eq!(
        squeeze(&text).unwrap(),
        format!(
            "start\nDownloading model: 100%|{}| 100/100 [00:00<00:01]\ndone\n",
            "█".repeat(10)
        )
    );
}

#[test]
fn a_failed_state_of_a_progress_stays() {
    let text: String = (0..50)
        .map(|i| format!("Fetching {i}% failed, trying again\r"))
        .collect();
    comes_through(&text);
}

#[test]
fn files_with_carriage_returns_keep_them() {
    comes_through(&"a line of an old text file\r".repeat(40));
    comes_through(
        &(0..60)
            .map(|i| format!("{i},2024/01/{:02},7\r", i % 28 + 1))
            .collect::<String>(),
    );
    comes_through(&(0..60).map(|i| format!("let value_{i} = {i};\r\n")).collect::<String>());
}

#[test]
fn a_line_said_again_and_again_is_counted() {
    let text = format!("start\n{}ready\n", "waiting for the database to come up\n".repeat(90));
    assert_eq!(
        squeeze(&text).unwrap(),
        "start\nwaiting for the database to come up (× 90 identical lines)\nready\n"
    );
}

#[test]
fn code_and_data_come_through() {
    let repeated = [
        "        }\n",
        "    0, 0, 0, 0,\n",
        "0,0,0\n",
        "| --- | --- | --- |\n",
        "  - name: worker\n",
        "        assert_eq!(a, b);\n",
        "    <td class=\"x\">0</td>\n",
        "+        return None\n",
        "    at Object.call (native)\n",
        "{\"ok\": true, \"n\": 12}\n",
        "INSERT INTO t VALUES (1, 'two words here');\n",
        "import some thing;\n",
        "                pass\n",
        "alpha\tbeta\tgamma\n",
        "------------------------------\n",
        "\n",
        "1.25 1.25 1.25 1.25\n",
        "# ok 1 - something that passed\n",
        "// test a::b ... ok\n",
    ];
    for line in repeated {
        comes_through(&line.repeat(300));
    }
    let numbered: &[&dyn Fn(usize) -> String] = &[
        &|i| format!("{i:>6}\ttest case_{i} ... ok"),
        &|i| format!("{i:>6}→   Compiling crate{i} v1.0.{i}"),
        &|i| format!("{i}: let x{i} = {i};"),
        &|i| format!("epoch {i} loss 0.{i} accuracy 0.{i}"),
        &|i| format!("{i},{},{}", i * 2, i * 3),
        &|i| format!("2024-01-{:02} 12:00:{i} INFO request {i} served", i % 28 + 1),
        &|i| format!("  File \"/a/b{i}.py\", line {i}, in call_{i}"),
        &|i| format!("src/module{i}.rs   {i}   {}   9{}%", i * 3, i % 10),
        &|i| format!("- ✓ feature number {i} is supported"),
        &|i| format!("✓ Feature {i} works as it should"),
        &|i| format!("Chapter {i}. Collecting the pieces of part {i}."),
        &|i| format!("drwxr-xr-x 2 user user 4096 Jan {i} 10:00 dir{i}"),
        &|i| format!("println!(\"test {{}} ... ok\", {i});"),
        &|i| format!("    \"Processing {i}\","),
    ];
    for line in numbered {
        comes_through(&(1..200).map(|i| line(i) + "\n").collect::<String>());
    }
}

#[test]
fn a_diff_of_a_log_comes_through() {
    let text = format!("diff --git a/log b/log\n@@ -1,40 +1,40 @@\n{}", passing(40));
    comes_through(&text);
}

#[test]
fn hostile_text_takes_linear_time() {
    for piece in [
        "\x1b]", "\x1b[", "\x1b[0;", "\r", "1%\r", "%\r\n", "test  ... ok ... ok\n", "[1/", "=== RUN x\n", "…",
        "\x1bP1\x1b",
    ] {
        let text = piece.repeat(1_000_000 / piece.len());
        let watch = codelet_testkit::Stopwatch::begin();
        let _ = squeeze(&text);
        let took = watch.elapsed();
        assert!(took.as_secs() < 2, "{piece:?} takes {took:?}");
    }
}

mod properties {
    use super::*;
    use proptest::prelude::*;

    fn lines() -> impl Strategy<Value = String> {
        let line = prop_oneof![
            "[ -~]{0,30}",
            "\\PC{0,12}",
            (0..20u8).prop_map(|i| format!("test case_{i} ... ok")),
            (0..20u8).prop_map(|i| format!("test case_{i} ... FAILED")),
            (0..20u8).prop_map(|i| format!("Downloading {i}%\rDownloading {i}9%")),
            (0..20u8).prop_map(|i| format!("\x1b[{i}mred\x1b[0m")),
            Just("waiting for it to come up".to_owned()),
        ];
        proptest::collection::vec((line, 1..12usize), 0..20).prop_map(|lines| {
            lines
                .into_iter()
                .map(|(line, times)| (line + "\n").repeat(times))
                .collect()
        })
    }

    proptest! {
        #[test]
        fn squeezing_saves_keeps_failures_and_is_deterministic(text in lines()) {
            let squeezed = squeeze(&text);
            prop_assert_eq!(&squeezed, &squeeze(&text));
            if let Some(squeezed) = squeezed {
                prop_assert!(squeezed.len() < text.len());
                for failure in text.lines().filter(|line| line.ends_with("FAILED")) {
                    prop_assert!(squeezed.contains(failure));
                }
            }
        }

        #[test]
        fn any_text_can_be_squeezed(text in any::<String>()) {
            let _ = squeeze(&text);
        }
    }
}
