//! What one line of an output says of a failure: by the words that programs use, and by forms that no language changes.

use super::headed::{as_printed, is_marked};
use crate::said::{FAILED_IN, names_failed, place};
use crate::verdict::{CAUSES, CLOSINGS, ENDS, counts_failures, is_error};
use std::borrow::Cow;

/// What a line says of a failure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Said {
    /// Nothing that is known.
    Nothing,
    /// That something follows, which says it: `Error Message:`.
    Label,
    /// That a tool gives up, for what it has said before: `make: *** [all] Error 2`.
    Closing,
    /// How many have failed.
    Count,
    /// Where it was.
    Place,
    /// Which test it was.
    Name,
    /// What was expected, or what was found.
    Side,
    /// That a program was ended, or crashed.
    End,
    /// What is wrong.
    Cause,
}

/// The signs that a text has at all: most have few, and each line is asked only for those.
pub(super) struct Signs {
    causes: Cow<'static, [&'static str]>,
    closings: Cow<'static, [&'static str]>,
    ends: Cow<'static, [&'static str]>,
    names: Cow<'static, [&'static str]>,
}

impl Signs {
    pub(super) fn of(texts: [&str; 2]) -> Signs {
        let is_there = |sign: &&str| texts.iter().any(|text| text.contains(sign));
        let those = |signs: &[&'static str]| signs.iter().copied().filter(is_there).collect();
        Signs {
            causes: those(CAUSES.texts()),
            closings: those(CLOSINGS.texts()),
            ends: those(ENDS.texts()),
            names: those(FAILED_IN),
        }
    }

    /// Those that there are: a single line is asked for each of them once.
    fn all() -> Signs {
        Signs {
            causes: CAUSES.texts().into(),
            closings: CLOSINGS.texts().into(),
            ends: ENDS.texts().into(),
            names: FAILED_IN.into(),
        }
    }

    /// What a line says, blanks around it and the file that was put before it aside.
    pub(super) fn said(&self, line: &str) -> Said {
        let line = as_printed(line);
        if is_label(line) {
            Said::Label
        } else if self.ends.iter().any(|sign| line.contains(sign)) {
            Said::End
        } else if is_closing(line, &self.closings) {
            Said::Closing
        } else if names_failed(line, &self.names) {
            Said::Name
        } else if is_count(line) {
            Said::Count
        } else if side(line).is_some() {
            Said::Side
        } else if is_cause(line, &self.causes) || is_error(line) || is_marked(line) {
            Said::Cause
        } else if place(line).is_some() {
            Said::Place
        } else {
            Said::Nothing
        }
    }
}

/// What a line by itself says, see [`Signs::said`].
pub(super) fn said(line: &str) -> Said {
    Signs::all().said(line)
}

/// What is drawn to part or to point, with or without words in it.
const DRAWN: &[char] = &['=', '-', '_', '*', '─', '━', '⎯', '═', '~', '#'];

fn is_label(line: &str) -> bool {
    const LABELS: &[&str] = &[
        "error message",
        "stack trace",
        "stacktrace",
        "failures",
        "errors",
        "error",
        "failure",
        "fail",
        "failed",
        "fatal",
        "failed tests",
        "failing tests",
        "failed examples",
        "stack backtrace",
        "backtrace",
        "traceback",
        "traceback (most recent call last)",
        "standard output messages",
        "message",
        "details",
        "diff",
        "difference",
        "with expansion",
        "due to a fatal error condition",
        "caused by",
    ];
    let is_drawn = |side: &str| side.chars().take(3).filter(|c| DRAWN.contains(c)).count() == 3;
    let inner = line.trim_matches(|c: char| DRAWN.contains(&c) || c.is_whitespace());
    let inner = inner.trim_start_matches(|c: char| matches!(c, '●' | '✗' | '✖' | '×') || c.is_whitespace());
    let ends: String = line.chars().rev().take(3).collect();
    if is_drawn(line) && is_drawn(&ends) && !inner.is_empty() {
        return !is_count(inner);
    }
    let bare = inner.trim_end_matches([':', '!']);
    bare.len() < 40 && LABELS.iter().any(|label| bare.eq_ignore_ascii_case(label))
}

fn is_closing(line: &str, anywhere: &[&str]) -> bool {
    // `collect2: Fehler: ld gab 1 als Ende-Status zurück`.
    line.starts_with("collect2: ") || anywhere.iter().any(|sign| line.contains(sign))
}

fn is_count(line: &str) -> bool {
    const OF: &[&str] = &[
        "pass",
        "Pass",
        "test",
        "Test",
        "total",
        "Total",
        "ailures",
        "rrors",
        "run",
        "examples",
        "specs",
        "assertions",
        "scenarios",
        "problems",
        "ok=",
        "changed=",
    ];
    if !line.bytes().any(|byte| byte.is_ascii_digit()) {
        return false;
    }
    let counts = counts_some(line, "unreachable=") || counts_failures(line) && place(line).is_none();
    counts && OF.iter().any(|word| line.contains(word))
}

/// Whether a counter is there and not at zero.
fn counts_some(line: &str, counter: &str) -> bool {
    let value = line.split_once(counter).map_or("", |(_, value)| value);
    value.trim_start_matches('0').starts_with(|c: char| c.is_ascii_digit())
}

fn is_cause(line: &str, anywhere: &[&str]) -> bool {
    const FIRST: &[&str] = &[
        "E  ",
        "E: ",
        "E ",
        "ERR_",
        "error",
        "failed",
        "Failed",
        "npm error",
        "** (",
    ];
    const NONE: &[&str] = &[
        "0 error",
        "no error",
        "errors: 0",
        "Errors: 0",
        "failed=0",
        "0 failures",
    ];
    let is_place = place(line).is_some_and(|place| place.says && !is_remark(line));
    if is_place || FIRST.iter().any(|sign| line.starts_with(sign)) {
        return true;
    }
    let is_none = || NONE.iter().any(|none| line.contains(none));
    anywhere.iter().any(|sign| line.contains(sign)) && !is_none()
}

/// Whether nothing but the place that it begins with makes a line one that says what is wrong: programs log so, too.
pub(super) fn is_only_placed(line: &str) -> bool {
    let line = line.trim();
    let is_told = || CAUSES.texts().iter().any(|sign| line.contains(sign)) || is_error(line);
    place(line).is_some_and(|place| place.says) && !is_told()
}

/// Whether the file that a line begins with is one of tests, by its name.
pub(super) fn is_in_tests(line: &str) -> bool {
    let file = line.trim().split([':', '(', ' ']).next().unwrap_or_default();
    let file = file.to_ascii_lowercase();
    ["test", "spec"].iter().any(|word| file.contains(word))
}

/// Whether a line with a place tells of less than a failure.
fn is_remark(line: &str) -> bool {
    const REMARKS: &[&str] = &[
        ": warning",
        ": note",
        ": info",
        ": hint",
        ": remark",
        " warn ",
        "Warning:",
    ];
    REMARKS.iter().any(|word| line.contains(word))
}

/// Which side of a comparison a line tells: what was expected, or what was found.
pub(super) fn side(line: &str) -> Option<bool> {
    const EXPECTED: &[&str] = &["expected", "left", "want", "wanted", "expect"];
    const FOUND: &[&str] = &[
        "received", "actual", "right", "got", "but was", "but got", "found", "have",
    ];
    let line = line.trim();
    let line = line.strip_prefix("E ").map_or(line, str::trim_start);
    if let Some(rest) = line.strip_prefix(['-', '+']) {
        // What a diff takes away and brings in; `-----` parts, and `--- FAIL` is a headline.
        let is_diff = !rest.is_empty() && !rest.starts_with(['-', '+', '>']);
        return is_diff.then(|| line.starts_with('+'));
    }
    let (name, value) = line.split_once([':', '='])?;
    let name = name.trim_end();
    let is_one = |names: &[&str]| names.iter().any(|other| name.eq_ignore_ascii_case(other));
    if value.trim().is_empty() || name.len() > 12 {
        None
    } else if is_one(EXPECTED) {
        Some(false)
    } else {
        is_one(FOUND).then_some(true)
    }
}

/// Whether a place is outside of the project: in a library, or in the runner of the tests.
pub(super) fn is_foreign(line: &str) -> bool {
    const OUTSIDE: &[&str] = &[
        "node_modules",
        "node:",
        "(internal/",
        "site-packages",
        "dist-packages",
        "/usr/lib/",
        "/usr/local/lib/",
        "/usr/local/go/",
        "/lib/python",
        "\\Lib\\",
        "/pkg/mod/",
        "/rustc/",
        "/rustlib/",
        ".cargo/registry",
        "/gems/",
        "/lib/ruby/",
        "vendor/",
        "(deps/",
        "lib/ex_unit",
        "at java.",
        "at jdk.",
        "at sun.",
        "at org.junit",
        "at org.gradle",
        "at org.apache.maven",
        "at System.",
        "at Microsoft.",
        "at Xunit.",
        "at NUnit.",
        "<frozen ",
    ];
    OUTSIDE.iter().any(|sign| line.contains(sign))
}

/// Whether a line only parts others, or repeats source to point at it, without a word on what is there.
pub(super) fn is_drawn(line: &str) -> bool {
    let line = line.trim();
    if !line.chars().any(char::is_alphanumeric) {
        return true;
    }
    let behind = line.trim_start_matches('>').trim_start();
    let behind = behind.trim_start_matches(|c: char| c.is_ascii_digit()).trim_start();
    let pointed = line.rsplit_once('^').map_or("", |(_, said)| said);
    behind.starts_with(['|', '│']) && !pointed.chars().any(char::is_alphabetic)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_line_is_known_by_its_form_in_any_language() {
        use Said::*;
        let table = [
            ("src/messung.c:214:9: Fehler: implizite Deklaration", Cause),
            ("    склад_test.go:88: ожидалось 120, получено 118", Cause),
            ("  ноя 17 09:12:44 склад pgbouncer[771]: FATAL не могу открыть", Cause),
            ("display.c:(.text+0x1c4): undefined reference to `x'", Cause),
            ("src/anzeige.c:77:(.text+0x1c4): Warnung: undefinierter Verweis", Cause),
            ("a.ts(3,1): error TS2304: Cannot find name 'b'.", Cause),
            ("fatal: impossible d'ouvrir le dépôt", Cause),
            ("E: パッケージ x が見つかりません", Cause),
            ("E   assert 1 == 2", Cause),
            ("2025-11-22 00:15:00 [FTL] Unbehandelte Ausnahme", Cause),
            ("make: *** No rule to make target 'a'.  Stop.", Cause),
            ("make: *** [Makefile:18: a.o] Fehler 1", Closing),
            ("collect2: Fehler: ld gab 1 als Ende-Status zurück", Closing),
            ("edge-31 : ok=1 changed=0 unreachable=1 failed=0", Count),
            ("edge-30 : ok=1 changed=0 unreachable=0 failed=2", Count),
            ("edge-07 : ok=10 changed=4 unreachable=0 failed=0", Nothing),
            ("Tests:       1 failed, 57 passed, 58 total", Count),
            ("test result: FAILED. 2 passed; 1 failed; 0 ignored", Count),
            ("  ● route › opens", Name),
            ("--- FAIL: TestX (0.02s)", Name),
            ("CartTest > sum() FAILED", Name),
            ("  1) Cart adds up", Name),
            ("  Expected: 12", Side),
            ("            got: 1284", Side),
            (" right: 13", Side),
            ("actual  : 2", Side),
            ("  Error Message:", Label),
            ("=================== FAILURES ===================", Label),
            ("---- a::b stdout ----", Label),
            ("     # ./spec/cart_spec.rb:31:in `block'", Place),
            ("/app/tests/CartTest.php:31", Place),
            ("\tat org.x.CartTest.sum(CartTest.java:31)", Place),
            ("  File \"/w/a.py\", line 3, in f", Place),
            ("   at T.X() in C:\\src\\T.cs:line 131", Place),
            (" --> src/a.rs:3:5", Place),
            ("x.c:4:1: warning: unused variable 'a'", Place),
            ("listening on http://a.example.com:8080: ready", Nothing),
            ("12:30:44: started", Nothing),
            ("calls items.push(3)", Nothing),
            ("0 errors, 2 warnings", Nothing),
            ("Makefile:18: *** missing separator", Cause),
            ("x=src/a.rs:3:5: kaputt", Cause),
            ("v1.2:3 of 4", Nothing),
            ("версия.txt:3: плохо", Cause),
            ("expected nothing of the kind", Nothing),
        ];
        for (line, expected) in table {
            assert_eq!(said(line), expected, "{line}");
        }
    }

    proptest! {
        #[test]
        fn no_line_is_too_odd(line in r#"(\PC|:|\(|\.[a-z]{1,3}|[0-9]|line |E |\||\^|=|-){0,40}"#) {
            let _ = (said(&line), place(&line), is_drawn(&line), is_foreign(&line));
        }
    }
}
