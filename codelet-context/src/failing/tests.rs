use super::*;
use crate::verdict::{CAUSES, CLOSINGS, ENDS, breaks_off, is_error};
use proptest::prelude::*;

fn lines(output: &str) -> Vec<String> {
    failing_lines(&ToolResult::new("1", Some(false), output))
}

#[test]
fn an_error_keeps_the_lines_that_failed_and_no_flood() {
    let output =
        "running 2 tests\ntest a ... ok\ntest b ... FAILED\n\nthread 'b' panicked at src/b.rs:3:\nleft: 1\nnoise\n";
    assert_eq!(
        lines(output),
        [
            "test b ... FAILED",
            "thread 'b' panicked at src/b.rs:3:",
            "left: 1",
            "noise"
        ]
    );
    assert_eq!(lines(&"error: x\n".repeat(100_000)), ["error: x"]);
    let many: String = (0..10_000).map(|number| format!("error: x{number}\n")).collect();
    let many = format!("{many}10000 tests, 9999 failed");
    let kept = lines(&many);
    assert_eq!(
        (kept.len(), &*kept[0], &*kept[LINES - 1]),
        (LINES, "error: x0", "10000 tests, 9999 failed")
    );
    assert_eq!(lines("one\ntwo"), ["one", "two"]);
}

#[test]
fn a_finding_is_told_with_the_file_that_it_stands_below() {
    let table: [(&str, &[&str]); 5] = [
        (
            "/r/web/cart.ts\n  7:5   warning  'q' is never used  no-unused\n  9:12  error    'Tax' is not defined  no-undef\n\n\
             /r/web/tax.ts\n  9:12  error    'Tax' is not defined  no-undef\n\n✖ 3 problems (2 errors, 1 warning)",
            &[
                "/r/web/cart.ts 9:12  error    'Tax' is not defined  no-undef",
                "/r/web/tax.ts 9:12  error    'Tax' is not defined  no-undef",
                "✖ 3 problems (2 errors, 1 warning)",
            ],
        ),
        (
            "ui/a.css\n  4:3  ✖  Unexpected unit  unit-no-unknown\n\nb.css\n  9:1  ✖  Unexpected empty block\n\n✖ 2 problems (2 errors, 0 warnings)",
            &[
                "ui/a.css 4:3  ✖  Unexpected unit  unit-no-unknown",
                "b.css 9:1  ✖  Unexpected empty block",
                "✖ 2 problems (2 errors, 0 warnings)",
            ],
        ),
        (
            "FILE: /r/src/Tax.php\n-----\nFOUND 1 ERROR AFFECTING 1 LINE\n-----\n 14 | ERROR | Opening brace on a new line\n-----",
            &[
                "FOUND 1 ERROR AFFECTING 1 LINE",
                "/r/src/Tax.php 14 | ERROR | Opening brace on a new line",
            ],
        ),
        (
            "src/a.ts:3:1 - error TS2304: Cannot find name 'b'.",
            &["src/a.ts:3:1 - error TS2304: Cannot find name 'b'."],
        ),
        // What stands in a file without a name is in none that was listed before.
        (
            "src/fmt.ts\n\n<text>\n  3:4  error  'bar' is not defined  no-undef\n\n✖ 1 problem (1 error, 0 warnings)",
            &[
                "  3:4  error  'bar' is not defined  no-undef",
                "✖ 1 problem (1 error, 0 warnings)",
            ],
        ),
    ];
    for (output, expected) in table {
        assert_eq!(lines(output), expected, "{output}");
    }
    let (_, named) = failing(&ToolResult::new("1", Some(false), table[0].0));
    assert_eq!(named.files, ["/r/web/cart.ts", "/r/web/tax.ts"]);
}

#[test]
fn the_frame_around_an_output_is_no_error() {
    let gemini = "Command: npm test\nDirectory: (root)\nStdout: 1 test\nTypeError: x is not a function\nat a.js:3\n\
                  Stderr: (empty)\nError: (none)\nExit Code: 1\nSignal: (none)\nBackground PIDs: (none)\n\
                  Process Group PGID: 48211";
    assert_eq!(lines(gemini), ["TypeError: x is not a function", "at a.js:3"]);
    let table: [(&str, &[&str]); 12] = [
        (
            "Exit code: 1\n\nCommand output:\n\n```\nE: Unable to locate package x\n```\n\nCommand completed in 1243 ms.",
            &["E: Unable to locate package x"],
        ),
        ("Command: ./x\nStdout: (empty)\nStderr: boom\nExit Code: 1", &["boom"]),
        ("Stderr: fatal: not a git repository", &["fatal: not a git repository"]),
        (
            "<returncode>1</returncode>\n<output>\n1 passed\nE   assert 1 == 2\n</output>",
            &["E   assert 1 == 2"],
        ),
        (
            "npm error code E403\n[The command completed with exit code 1.]\n[Current working directory: /w]",
            &["npm error code E403"],
        ),
        (
            "Command executed in terminal. Exit code: 1\nOutput:\nno rule",
            &["no rule"],
        ),
        (
            "npm ERR! code E403\nnpm ERR! 403",
            &["npm ERR! code E403", "npm ERR! 403"],
        ),
        (
            "{\"output\":\"ok 1\\nnot ok 2 - width\",\"exitCode\":1}",
            &["not ok 2 - width"],
        ),
        (
            "{\"returncode\": 1, \"stdout\": \"\", \"stderr\": \"sh: x: not found\"}",
            &["sh: x: not found"],
        ),
        ("boom\n{\"metadata\":{\"exit_code\":2}}", &["boom"]),
        ("Exit code 1", &["Exit code 1"]),
        ("outputs <b>Error: x</b>", &["outputs <b>Error: x</b>"]),
    ];
    for (output, expected) in table {
        assert_eq!(lines(output), expected, "{output}");
    }
}

/// The lines that are kept of what a tool prints, without their indentation.
fn check(output: &str, expected: &[&str]) {
    let lines = lines(output);
    let lines: Vec<&str> = lines.iter().map(|line| line.trim()).collect();
    assert_eq!(lines, expected, "{output}");
}

#[test]
fn a_failed_test_keeps_both_sides_and_its_place() {
    check(
        "FAIL src/a.test.ts\n  ● route › opens\n\n    expect(received).toBe(expected)\n\n    Expected: 12\n    Received: 13\n\n      \
         42 |   const h = route()\n    > 44 |   expect(h).toBe(12)\n         |             ^\n\n      at Object.<anonymous> (src/a.test.ts:44:6)\n      \
         at run (node_modules/jest-runner/build/run.js:2:1)\n\nTests:       1 failed, 57 passed, 58 total\nSnapshots:   0 total",
        &[
            "FAIL src/a.test.ts",
            "● route › opens",
            "expect(received).toBe(expected)",
            "Expected: 12",
            "Received: 13",
            "at Object.<anonymous> (src/a.test.ts:44:6)",
            "Tests:       1 failed, 57 passed, 58 total",
        ],
    );
    check(
        "  Failed Fracht.Tests.Rounds_Half_Up [23 ms]\n  Error Message:\n   Assert.Equal() Failure: Values differ\nExpected: 1285\nActual:   1284\n  \
         Stack Trace:\n     at Fracht.Tests.Rounds_Half_Up() in C:\\src\\TariffTests.cs:line 131\n     at System.Reflection.Invoke(Object o)\n\n\
         Failed!  - Failed:     1, Passed:   211, Total:   213",
        &[
            "Failed Fracht.Tests.Rounds_Half_Up [23 ms]",
            "Assert.Equal() Failure: Values differ",
            "Expected: 1285",
            "Actual:   1284",
            "at Fracht.Tests.Rounds_Half_Up() in C:\\src\\TariffTests.cs:line 131",
            "Failed!  - Failed:     1, Passed:   211, Total:   213",
        ],
    );
    check(
        "running 3 tests\ntest a::b ... FAILED\ntest a::c ... ok\n\nfailures:\n\n---- a::b stdout ----\nthread 'a::b' panicked at src/a.rs:12:5:\n\
         assertion `left == right` failed\n  left: 12\n right: 13\nstack backtrace:\n   0: rust_begin_unwind\n             at /rustc/1/library/std/src/panicking.rs:597:5\n\n\
         failures:\n    a::b\n\ntest result: FAILED. 2 passed; 1 failed; 0 ignored\n\nerror: test failed, to rerun pass `--lib`",
        &[
            "test a::b ... FAILED",
            "thread 'a::b' panicked at src/a.rs:12:5:",
            "assertion `left == right` failed",
            "left: 12",
            "right: 13",
            "0: rust_begin_unwind",
            "a::b",
            "test result: FAILED. 2 passed; 1 failed; 0 ignored",
            "error: test failed, to rerun pass `--lib`",
        ],
    );
    check(
        "Failures:\n\n  1) Cart adds up\n     Failure/Error: expect(cart.sum).to eq(1285)\n\n       expected: 1285\n            got: 1284\n\n       \
         (compared using ==)\n     # ./spec/cart_spec.rb:31:in `block'\n     # /usr/lib/gems/rspec.rb:3:in `run'\n\nFinished in 0.2 seconds\n10 examples, 1 failure\n\n\
         Failed examples:\n\nrspec ./spec/cart_spec.rb:29 # Cart adds up",
        &[
            "1) Cart adds up",
            "Failure/Error: expect(cart.sum).to eq(1285)",
            "expected: 1285",
            "got: 1284",
            "(compared using ==)",
            "# ./spec/cart_spec.rb:31:in `block'",
            "10 examples, 1 failure",
            "rspec ./spec/cart_spec.rb:29 # Cart adds up",
        ],
    );
    check(
        "There was 1 failure:\n\n1) CartTest::testSum\nFailed asserting that two strings are equal.\n--- Expected\n+++ Actual\n@@ @@\n-'a'\n+'b'\n\n\
         /app/tests/CartTest.php:31\n\nFAILURES!\nTests: 10, Assertions: 12, Failures: 1.",
        &[
            "1) CartTest::testSum",
            "Failed asserting that two strings are equal.",
            "--- Expected",
            "+++ Actual",
            "-'a'",
            "+'b'",
            "/app/tests/CartTest.php:31",
            "Tests: 10, Assertions: 12, Failures: 1.",
        ],
    );
    check(
        "======================================================================\nFAIL: test_x (tests.T)\n----------------------------------------------------------------------\n\
         Traceback (most recent call last):\n  File \"/usr/lib/python3.11/unittest/case.py\", line 57, in run\n    yield\n  File \"/w/tests.py\", line 3, in test_x\n    \
         self.assertEqual(1, 2)\nAssertionError: 1 != 2\n\n----------------------------------------------------------------------\nRan 5 tests in 0.01s\n\nFAILED (failures=1)",
        &[
            "FAIL: test_x (tests.T)",
            "File \"/w/tests.py\", line 3, in test_x",
            "AssertionError: 1 != 2",
            "FAILED (failures=1)",
        ],
    );
    check(
        "--- FAIL: TestSum (0.00s)\n    sum_test.go:12: \n        \tError Trace:\t/w/sum_test.go:12\n        \tError:      \tNot equal: \n        \t            \t\
         expected: 1\n        \t            \tactual  : 2\n        \tTest:       \tTestSum\nFAIL\nFAIL\texample.org/store\t0.311s\nFAIL",
        &[
            "--- FAIL: TestSum (0.00s)",
            "sum_test.go:12:",
            "Error Trace:\t/w/sum_test.go:12",
            "Error:      \tNot equal:",
            "expected: 1",
            "actual  : 2",
            "Test:       \tTestSum",
            "FAIL\texample.org/store\t0.311s",
        ],
    );
    check(
        "[ERROR] Tests run: 4, Failures: 1, Errors: 0 <<< FAILURE! - in org.x.CartTest\n[ERROR] org.x.CartTest.sum  <<< FAILURE!\n\
         org.opentest4j.AssertionFailedError: expected: <1285> but was: <1284>\n\tat org.junit.Assert.fail(Assert.java:3)\n\tat org.x.CartTest.sum(CartTest.java:31)\n\n\
         [INFO] BUILD FAILURE",
        &[
            "[ERROR] Tests run: 4, Failures: 1, Errors: 0 <<< FAILURE! - in org.x.CartTest",
            "[ERROR] org.x.CartTest.sum  <<< FAILURE!",
            "org.opentest4j.AssertionFailedError: expected: <1285> but was: <1284>",
            "at org.x.CartTest.sum(CartTest.java:31)",
            "[INFO] BUILD FAILURE",
        ],
    );
    check(
        "  1) test adds (CartTest)\n     test/cart_test.exs:12\n     Assertion with == failed\n     code:  assert sum() == 2\n     left:  1\n     right: 2\n     \
         stacktrace:\n       test/cart_test.exs:14: (test)\n\nFinished in 0.1 seconds\n5 tests, 1 failure",
        &[
            "1) test adds (CartTest)",
            "test/cart_test.exs:12",
            "Assertion with == failed",
            "code:  assert sum() == 2",
            "left:  1",
            "right: 2",
            "test/cart_test.exs:14: (test)",
            "5 tests, 1 failure",
        ],
    );
}

#[test]
fn what_a_compiler_or_a_linker_says_goes_with_what_make_says_of_it() {
    check(
        "gcc -c a.c -o a.o\ngcc -o w *.o -lm\n/usr/bin/ld: build/display.o: in function `draw':\ndisplay.c:(.text+0x1c4): undefined reference to `width'\n\
         collect2: error: ld returned 1 exit status\nmake: *** [Makefile:24: w] Error 1",
        &[
            "display.c:(.text+0x1c4): undefined reference to `width'",
            "collect2: error: ld returned 1 exit status",
            "make: *** [Makefile:24: w] Error 1",
        ],
    );
    check(
        "error[E0308]: mismatched types\n --> src/a.rs:3:18\n  |\n3 |     let x: u32 = \"a\";\n  |            ---   ^^^ expected `u32`, found `&str`\n\n\
         error: could not compile `a` (lib) due to 1 previous error",
        &[
            "error[E0308]: mismatched types",
            "--> src/a.rs:3:18",
            "error: could not compile `a` (lib) due to 1 previous error",
        ],
    );
    check(
        "gcc -c messung.c\nsrc/messung.c: In Funktion »lies«:\nsrc/messung.c:214:9: Fehler: implizite Deklaration\n  214 |     kalibriere(m);\n      |     ^~~~\n\
         make: *** [Makefile:18: messung.o] Fehler 1\nExit code 2",
        &[
            "src/messung.c:214:9: Fehler: implizite Deklaration",
            "make: *** [Makefile:18: messung.o] Fehler 1",
        ],
    );
}

#[test]
fn what_no_line_says_in_known_words_is_in_the_last_lines() {
    let log: String = (0..50).map(|number| format!("step {number}\n")).collect();
    check(
        &format!("{log}ls: Zugriff auf 'kopf' nicht möglich: Keine Berechtigung\nExit code 2\n\n<cwd>/w</cwd>"),
        &[
            "step 45",
            "step 46",
            "step 47",
            "step 48",
            "step 49",
            "ls: Zugriff auf 'kopf' nicht möglich: Keine Berechtigung",
        ],
    );
    check(
        "./bau/prüfung\n[ OK ] Nullpunkt\n[FEHLER] Toleranz: erwartet 0,35, erhalten 0,53 (src/messung.c:260)\n3 Prüfungen, 1 fehlgeschlagen\n\
         make: *** [Makefile:31: prüfen] Fehler 1",
        &[
            "./bau/prüfung",
            "[ OK ] Nullpunkt",
            "[FEHLER] Toleranz: erwartet 0,35, erhalten 0,53 (src/messung.c:260)",
            "3 Prüfungen, 1 fehlgeschlagen",
            "make: *** [Makefile:31: prüfen] Fehler 1",
        ],
    );
    check(
        "× pgbouncer.service - connection pooler\n   Active: failed (Result: exit-code) since Пн 2025-11-17 09:12:44 +05\n  \
         ноя 17 09:12:44 склад pgbouncer[771]: FATAL не могу открыть /etc/userlist.txt: Отказано в доступе",
        &[
            "× pgbouncer.service - connection pooler",
            "Active: failed (Result: exit-code) since Пн 2025-11-17 09:12:44 +05",
            "ноя 17 09:12:44 склад pgbouncer[771]: FATAL не могу открыть /etc/userlist.txt: Отказано в доступе",
        ],
    );
    let hosts: String = (1..30)
        .map(|host| format!("edge-{host:02} : ok=10 changed=4 unreachable=0 failed=0\n"))
        .collect();
    check(
        &format!(
            "fatal: [edge-31]: FAILED! => {{\"msg\": \"no key\"}}\n\nPLAY RECAP ****\n{hosts}edge-31 : ok=1 changed=0 unreachable=0 failed=1\n"
        ),
        &[
            "fatal: [edge-31]: FAILED! => {\"msg\": \"no key\"}",
            "edge-31 : ok=1 changed=0 unreachable=0 failed=1",
        ],
    );
}

#[test]
fn in_few_lines_the_most_telling_ones_are_chosen() {
    let output = "Failures:\n\n  1) Cart adds up\n     Failure/Error: expect(cart.sum).to eq(1285)\n\n       expected: 1285\n            got: 1284\n\n     \
                  # ./spec/cart_spec.rb:31:in `block'\n\n10 examples, 1 failure";
    let lines = lines(output);
    let chosen = |most| -> Vec<&str> {
        let chosen = most_telling(&lines, most).into_iter();
        chosen.map(|at| lines[at].trim()).collect()
    };
    assert_eq!(chosen(1), ["1) Cart adds up"]);
    assert_eq!(
        chosen(3),
        [
            "1) Cart adds up",
            "Failure/Error: expect(cart.sum).to eq(1285)",
            "# ./spec/cart_spec.rb:31:in `block'"
        ],
        "no half of a comparison"
    );
    assert_eq!(chosen(4)[2..], ["expected: 1285", "got: 1284"]);
    assert_eq!(chosen(6)[5], "10 examples, 1 failure");
}

proptest! {
    #[test]
    fn a_comparison_is_chosen_whole_or_not_at_all(
        pieces in proptest::collection::vec(r"(left: 1|right: 2|Expected: a|Received: b|-a|\+b|error: x|a\.c:3:1: é|noise|make: \*\*\* \[x\] Error 1|3 tests, 1 failed)", 0..30),
        most in 0usize..20,
    ) {
        let chosen = most_telling(&pieces, most);
        prop_assert!(chosen.len() <= most);
        let other = other_sides(&pieces);
        for &at in &chosen {
            prop_assert!(other[at].is_none_or(|other| chosen.contains(&other)));
        }
        let mut unique = chosen.clone();
        unique.sort_unstable();
        unique.dedup();
        prop_assert_eq!(unique.len(), chosen.len());
    }

    #[test]
    fn no_output_is_too_odd(pieces in proptest::collection::vec(r#"\PC|\n|Error: |Stdout: |Exit Code|\(none\)|</?output>|```|\{"output": ?"|"\}|é"#, 0..60)) {
        let output = pieces.concat();
        let lines = lines(&output);
        prop_assert!(lines.len() <= LINES);
        prop_assert!(lines.iter().all(|line| line.len() <= WIDTH + "…".len()));
        prop_assert_eq!(lines.is_empty(), output.trim().is_empty() || output.lines().all(|line| line.trim().is_empty()));
    }
}

#[test]
fn that_a_program_crashed_is_told_before_what_was_cleaned_up_behind_it() {
    let tail: String = (0..10).map(|number| format!("cleaning up worker {number}\n")).collect();
    for line in [
        "Segmentation fault (core dumped)",
        "Killed",
        "make: *** [Makefile:3: test] Killed",
        "run.sh: line 3: 4711 Bus error               ./suite",
        "zsh: command not found: pytest",
        "error: process didn't exit successfully: `a` (signal: 6, SIGABRT: process abort signal)",
    ] {
        let result = ToolResult::new(
            "1",
            Some(false),
            format!("gcc -o t t.c\nrunning suite a\n{line}\n{tail}").as_str(),
        );
        let lines = failing_lines(&result);
        let first = most_telling(&lines, 1);
        assert_eq!(lines.get(first[0]).map(String::as_str), Some(line), "{lines:?}");
    }
}

/// What ends a run for whoever judges it must be worth telling to whoever reads on.
#[test]
fn whatever_is_an_error_or_breaks_off_a_run_says_what_failed() {
    let signs = [&CAUSES, &CLOSINGS, &ENDS].into_iter().flat_map(|group| group.texts());
    let lines = signs.map(|sign| format!("a {sign} b")).chain(
        [
            "error: x",
            "Errors: some",
            "fatal bad object",
            "Failed: it",
            "Build failed!",
            "bash: x: not there",
            "sh: 1: x: no",
            "zsh: no matches found: a*",
            "Killed: 9",
            "Terminated (15)",
            "** error in a",
        ]
        .map(str::to_owned),
    );
    for line in lines.filter(|line| is_error(line) || breaks_off(line)) {
        assert!(
            !matches!(said(&line), Said::Nothing | Said::Place),
            "{line}: {:?}",
            said(&line)
        );
    }
}

#[test]
fn source_below_a_place_or_above_a_pointer_is_not_what_failed() {
    let unittest = "F\n======\nFAIL: test_large (t.T)\n------\nTraceback (most recent call last):\n  File \
                    \"/usr/lib/python3.6/unittest/case.py\", line 59, in testPartExecutor\n    yield\n  File \
                    \"/w/tests.py\", line 343, in test_large\n    self.assertNumQueries(queries, delete)\n  File \
                    \"/usr/lib/python3.6/unittest/case.py\", line 829, in assertEqual\n    assertion_func(first, second, \
                    msg=msg)\n    ^^^^^^^^^^^^^^\nAssertionError: 22 != 25 : 22 queries executed, 25 expected\n\n------\nRan 44 \
                    tests in 0.520s\n\nFAILED (failures=1)";
    let expected = [
        "FAIL: test_large (t.T)",
        "  File \"/w/tests.py\", line 343, in test_large",
        "AssertionError: 22 != 25 : 22 queries executed, 25 expected",
        "FAILED (failures=1)",
    ];
    let found = lines(unittest);
    assert_eq!(found, expected);
    let best: Vec<&str> = most_telling(&found, 2).into_iter().map(|at| &*found[at]).collect();
    assert_eq!(best, [expected[0], expected[2]]);
    let raised = "Traceback (most recent call last):\n  File \"a.py\", line 3, in <module>\n    raise ValueError(\n        \
                  \"Error: no\")\nValueError: Error: no";
    assert_eq!(
        lines(raised),
        ["  File \"a.py\", line 3, in <module>", "ValueError: Error: no"]
    );
    let node = "node:assert:124\n  throw new AssertionError(obj);\n  ^\n\nAssertionError [ERR_ASSERTION]: 1 == 2\n    at \
                Object.<anonymous> (/w/a.js:3:8)";
    assert_eq!(
        lines(node),
        [
            "AssertionError [ERR_ASSERTION]: 1 == 2",
            "    at Object.<anonymous> (/w/a.js:3:8)"
        ]
    );
    // What is headed as an error is one, even where something points at it.
    assert_eq!(lines("SyntaxError: no `)'\n  ^"), ["SyntaxError: no `)'"]);
}

#[test]
fn what_a_harness_left_out_and_its_tags_are_no_failing_lines() {
    let cut = "<output_head>\nFAIL: test_x (a.T)\nAssertionError: 1 != 2\n</output_head>\n<elided_chars>\n39449 characters \
               elided\n</elided_chars>\n<output_tail>\nsomething else\nFAILED (failures=2)\n</output_tail>";
    assert_eq!(
        lines(cut),
        ["FAIL: test_x (a.T)", "AssertionError: 1 != 2", "FAILED (failures=2)"]
    );
}

#[test]
fn what_a_test_logs_says_less_than_what_it_complains_of() {
    let output = "--- FAIL: TestResume (3.33s)\n    hooks.go:196: Hook start output: Captured state\n    hooks.go:196: Hook stop \
                  output: Copied transcript\n        Files modified during session (1):\n          - hello.rb\n        New \
                  files created (1):\n          + hello.rb\n        Updated session state\n    resume_test.go:463: output \
                  should contain 'Session:', got: Switched to branch\nFAIL";
    let found = lines(output);
    let best: Vec<&str> = most_telling(&found, 2).into_iter().map(|at| found[at].trim()).collect();
    assert_eq!(
        best,
        [
            "--- FAIL: TestResume (3.33s)",
            "resume_test.go:463: output should contain 'Session:', got: Switched to branch"
        ]
    );
}

#[test]
fn a_list_of_what_is_wrong_is_kept() {
    let output = "error: these files are not formatted:\n  - src/a.rs\n  - src/b.rs\n";
    assert_eq!(
        lines(output),
        ["error: these files are not formatted:", "  - src/a.rs", "  - src/b.rs"]
    );
}
