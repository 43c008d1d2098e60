//! Lines of a log that say that something went wrong, where few of its lines do.
//!
//! A command that only shows what others have said ends well whatever that is, so no status tells of it. In an output where
//! most lines are quiet, the few that are not are what it was looked at for.

use crate::codes;
use std::ops::Range;

/// In an output of fewer lines than this everything is near to everything.
const SHORT: usize = 16;
/// So many lines of an output are few, or one in so many.
const FEW: usize = 4;
const ONE_IN: usize = 100;

/// A time has so many digits, and stands within so many bytes of the beginning of a line of a log.
const TIME_DIGITS: usize = 4;
const TIME_WITHIN: usize = 24;

// None of these tables is that of the signs of `verdict`: there whoever looks knows that something has failed, and any hint
// is welcome. Here nobody knows it, most of what is printed is about other things, and only whole words tell.

/// Words that programs write in capitals where a line says that something went wrong, as a level or by themselves.
const LEVELS: &[&str] = &[
    "ALERT",
    "CRIT",
    "CRITICAL",
    "EMERG",
    "ERR",
    "ERROR",
    "EXCEPTION",
    "FAILURE",
    "FATAL",
    "FTL",
    "PANIC",
    "SEVERE",
];
/// The same in small letters, with what stands right behind them.
const SAID: &[&str] = &["critical:", "error:", "fatal:", "panic:"];
/// How the names of exceptions end, behind at least so many letters.
const NAMES: &[&str] = &["Error", "Exception", "Panic"];
const NAMED: usize = 3;

/// The lines among these that say so, if they are few; a line by its place in the text.
pub(crate) fn few(text: &str, lines: impl ExactSizeIterator<Item = Range<usize>>) -> Vec<usize> {
    let count = lines.len();
    if count < SHORT || !has_any(text) {
        return Vec::new();
    }
    let most = FEW.max(count / ONE_IN);
    let said = lines
        .enumerate()
        .filter(|(_, line)| is_severe(&codes::shown(&text[line.clone()])));
    let found: Vec<usize> = said.map(|(number, _)| number).take(most + 1).collect();
    if found.len() > most { Vec::new() } else { found }
}

/// Whether most of these lines begin with a time.
pub(crate) fn is_log(text: &str, lines: impl ExactSizeIterator<Item = Range<usize>>) -> bool {
    let count = lines.len();
    let has_time = |line: &Range<usize>| {
        let start = &text.as_bytes()[line.start..line.end.min(line.start + TIME_WITHIN)];
        start.iter().filter(|byte| byte.is_ascii_digit()).count() >= TIME_DIGITS
    };
    lines.filter(has_time).count() * 2 > count
}

/// Whether any line can be one: most outputs have none of the words, and are read through once for each.
fn has_any(text: &str) -> bool {
    LEVELS.iter().chain(SAID).chain(NAMES).any(|word| text.contains(word))
}

/// Whether a line says that something went wrong.
fn is_severe(line: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let bytes = line.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        if !is_word(bytes[at]) {
            at += 1;
            continue;
        }
        let end = bytes[at..]
            .iter()
            .position(|&byte| !is_word(byte))
            .map_or(bytes.len(), |length| at + length);
        let word = &bytes[at..end];
        let behind = bytes.get(end) == Some(&b':');
        let is_name = |name: &str| word.len() >= name.len() + NAMED && word.ends_with(name.as_bytes());
        let is_said = |said: &str| said.strip_suffix(':').is_some_and(|said| word == said.as_bytes());
        if LEVELS.iter().any(|level| word == level.as_bytes())
            || behind && SAID.iter().any(|said| is_said(said))
            || word[0].is_ascii_uppercase() && NAMES.iter().any(|name| is_name(name))
        {
            return true;
        }
        at = end;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<Range<usize>> {
        let start = |line: &str| line.as_ptr() as usize - text.as_ptr() as usize;
        text.lines().map(|line| start(line)..start(line) + line.len()).collect()
    }

    fn among(line: &str, times: usize, count: usize) -> Vec<usize> {
        let mut text = "[10:00:01 INF] jar walnut is stored in row oak\n".repeat(count);
        for _ in 0..times {
            text.push_str(line);
            text.push('\n');
        }
        few(&text, lines(&text).into_iter())
    }

    #[test]
    fn the_one_line_that_says_so_is_found_whatever_program_wrote_it() {
        for line in [
            "[10:00:09 FTL] Host terminated unexpectedly",
            "[10:00:09 ERR] the shelf is gone",
            "2026-01-01 ERROR larder.store - no such jar",
            "Unhandled exception. System.Security.Cryptography.CryptographicException: bad key",
            "Uncaught TypeError: grossCents is undefined",
            "panic: runtime error: index out of range [3] with length 3",
            "thread 'main' fatal: no room",
            "E1121 CRITICAL disk",
            "\u{1b}[31mERROR\u{1b}[0m no such jar",
            "level=error: gone",
        ] {
            assert_eq!(among(line, 1, 900), [900], "{line}");
        }
    }

    #[test]
    fn a_log_is_known_by_its_times() {
        for (line, expected) in [
            ("2025-11-22 00:15:00 [INF] jar 3 is stored", true),
            ("[10:00:01 INF] jar is stored", true),
            ("Nov 22 00:15:00 larder systemd[1]: started", true),
            ("I1122 00:15:00.1 main.go:3] stored", true),
            ("    12\tfn store(jar: &Jar) -> Result<(), Error> {", false),
            ("    return Err(StoreError::Full);", false),
        ] {
            let text = format!("{line}\n").repeat(20);
            assert_eq!(is_log(&text, lines(&text).into_iter()), expected, "{line}");
        }
    }

    #[test]
    fn words_about_errors_are_none_and_where_many_lines_say_so_none_stands_out() {
        for line in [
            "0 errors, 3 warnings",
            "error handling is in src/error.rs",
            "fn on_error(&self) -> Result<(), Error>",
            "no panic here",
            "ERROR_CODE=3",
            "stderr: quiet",
        ] {
            assert_eq!(among(line, 1, 900), [0; 0], "{line}");
        }
        assert_eq!(among("ERROR no such jar", 5, 90), [0; 0]);
        assert_eq!(
            among("ERROR no such jar", 1, 10),
            [0; 0],
            "short outputs are seen at a glance"
        );
    }
}
