//! What a program that looks for lines in an output lets pass of it.

use crate::word_list::is_in;

/// Words by which nearly every program begins or ends a line that tells of a failure, or a count of them.
const FAILURES: &str =
    "error errors err! fail fails failed failing failure failures ✗ ✖ × notok problem problems errorts errore";
/// Words of lines that tell of none, in small letters.
const NOISE: &str = "warn warning warnings node_modules notice info debug trace note compiling compiled checking finished running \
                     download downloading downloaded installing resolved fetching pass passed ✓ ✔ entering leaving browserslist \
                     baseline fund ok done skip skipped make";
/// How such words begin or end.
const NOISE_BEGINS: &[&str] = &["deprecat", "experimental"];
const NOISE_ENDS: &[&str] = &["warning", "warnings"];
/// Options with a value of the programs that look for lines.
const VALUED: &str = "--after-context --before-context --context --max-count --color --colour --glob --type --type-not --file --max-depth";
const VALUED_LETTERS: &str = "A B C m g t T d D";

/// What `grep` and those like it are asked for.
#[derive(Default)]
pub(super) struct Asked<'a> {
    pub patterns: Vec<&'a str>,
    pub leaves_out: bool,
    /// It shows no line, only whole ones, or what it looks for stands elsewhere.
    pub is_other: bool,
}

/// Whether a command that looks for lines lets those pass that tell of failures: they are what it looks for, or it leaves out
/// others that tell of none.
pub(super) fn keeps_failures(words: &[String]) -> bool {
    let asked = Asked::of(words.get(1..).unwrap_or_default());
    if asked.is_other || asked.patterns.is_empty() {
        return false;
    }
    let mut alternatives = asked.patterns.iter().flat_map(|pattern| alternatives(pattern));
    if asked.leaves_out {
        alternatives.all(|one| is_noise(&one))
    } else {
        // Whatever else it looks for, too, hides nothing.
        alternatives.any(|one| is_in(&plain(&one), FAILURES))
    }
}

/// Whether a command that looks for lines lets those pass that name tests that failed, as runners of tests print them.
pub(super) fn keeps_names(words: &[String]) -> bool {
    const NAMING: &str = "fail failed notok ✗ ✖ ×";
    let asked = Asked::of(words.get(1..).unwrap_or_default());
    let mut alternatives = asked.patterns.iter().flat_map(|pattern| alternatives(pattern));
    !asked.is_other && !asked.leaves_out && alternatives.any(|one| is_in(&plain(&one), NAMING))
}

impl<'a> Asked<'a> {
    /// What the words behind the name of such a program ask for.
    pub fn of(words: &'a [String]) -> Asked<'a> {
        let mut asked = Asked::default();
        let mut first = None;
        let mut words = words.iter().map(String::as_str);
        while let Some(word) = words.next() {
            if word == "--" {
                first = first.or_else(|| words.next());
                break;
            }
            if let Some(long) = word.strip_prefix("--") {
                let (name, value) = long
                    .split_once('=')
                    .map_or((long, None), |(name, value)| (name, Some(value)));
                match name {
                    "regexp" => asked.patterns.extend(value.or_else(|| words.next())),
                    "invert-match" => asked.leaves_out = true,
                    "file" | "quiet" | "silent" | "line-regexp" | "files-with-matches" | "files-without-match" => {
                        asked.is_other = true;
                    }
                    _ if value.is_none() && is_in(&word[..2 + name.len()], VALUED) => {
                        words.next();
                    }
                    _ => {}
                }
            } else if word.len() > 1 && word.starts_with('-') {
                asked.letters(&word[1..], &mut words);
            } else if first.is_none() {
                first = Some(word);
            }
        }
        if asked.patterns.is_empty() {
            asked.patterns.extend(first);
        }
        asked
    }

    /// Takes short options that stand in one word: `-iE`, `-A5`, `-vefoo`.
    fn letters(&mut self, letters: &'a str, words: &mut impl Iterator<Item = &'a str>) {
        for (at, letter) in letters.char_indices() {
            let behind = &letters[at + letter.len_utf8()..];
            match letter {
                'v' => self.leaves_out = true,
                'f' | 'q' | 'x' | 'l' | 'L' => self.is_other = true,
                'e' => {
                    let value = if behind.is_empty() { words.next() } else { Some(behind) };
                    self.patterns.extend(value);
                    return;
                }
                _ if VALUED_LETTERS.contains(letter) => {
                    if behind.is_empty() {
                        words.next();
                    }
                    return;
                }
                _ => {}
            }
        }
    }
}

/// What a pattern looks for: each piece between its bars.
pub(super) fn alternatives(pattern: &str) -> impl Iterator<Item = String> {
    let pattern = pattern.replace("\\|", "|").replace('\n', "|");
    let all: Vec<String> = pattern.split('|').map(str::to_owned).collect();
    all.into_iter()
}

/// A piece of a pattern without what has no letters: where in a line it stands, and what stands around it.
pub(super) fn plain(piece: &str) -> String {
    let mut piece = piece.to_lowercase();
    for sign in [
        "\\b",
        "\\s",
        "\\d",
        "[0-9]",
        "[[:digit:]]",
        "[[:space:]]",
        "\\<",
        "\\>",
        "\\w",
    ] {
        piece = piece.replace(sign, "");
    }
    piece.retain(|c| c.is_alphanumeric() || matches!(c, '✗' | '✖' | '×' | '!' | '/' | '_' | '-'));
    piece.trim_matches('-').to_owned()
}

/// Whether lines that have this in them tell of no failure. A path or a rule is none of that, whatever its name.
pub(super) fn is_noise(piece: &str) -> bool {
    let lower = piece.to_lowercase();
    let bare = plain(piece);
    if bare.is_empty() {
        // `^$`, `^#`, `^\s*$`, and not `.` or nothing.
        return lower.contains(['^', '$', '#', '>']) && !lower.contains(['[', '.']);
    }
    let mut words = lower.split(|c: char| !(c.is_alphanumeric() || "-_/✓✔".contains(c)));
    let is_word = |word: &str| {
        is_in(word.trim_matches('/'), NOISE)
            || NOISE_BEGINS
                .iter()
                .any(|begin| word.starts_with(begin) && !word.contains(['-', '/']))
            || NOISE_ENDS
                .iter()
                .any(|end| word.ends_with(end) && !word.contains(['-', '/']))
    };
    !bare.contains("error") && !bare.contains("fail") && words.any(|word| !word.is_empty() && is_word(word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn keeps(line: &str) -> bool {
        let line = crate::command::Script::read(&format!("a | {line}"));
        keeps_failures(line.commands[1].words())
    }

    #[test]
    fn only_who_looks_for_any_failure_lets_all_of_them_pass() {
        for line in [
            "grep error",
            "grep -i error",
            "grep -iE 'error|warning'",
            "grep -E '^(error|warning)'",
            "grep 'error TS'",
            "grep -E 'error TS[0-9]+'",
            "grep '^error\\[E'",
            "grep -n 'error:'",
            "grep -A5 FAIL",
            "grep -A 5 -E 'FAIL|PASS|ok'",
            "grep -e '--- FAIL' -e panic",
            "grep -E -- '--- FAIL|panic'",
            "grep 'error\\|warning'",
            "egrep -i 'failed|src/a.ts'",
            "rg -g '*.ts' error",
            "grep --color=never -c 'Failed'",
            "grep -v node_modules",
            "grep -v '^$'",
            "grep -vE 'warning|^\\s*$'",
            "grep -v -i deprecated",
            "grep -v ExperimentalWarning",
        ] {
            assert!(keeps(line), "{line}");
        }
    }

    #[test]
    fn who_looks_for_one_failure_or_leaves_one_out_hides_others() {
        for line in [
            "grep ErrorBoundary",
            "grep overrides",
            "grep 'error TS2322'",
            "grep -E 'TS2322|TS2345'",
            "grep -v src/a.ts",
            "grep -v error",
            "grep -v src/debug.ts",
            "grep -v no-warning-comments",
            "grep -v password",
            "grep -v ''",
            "grep -v .",
            "grep -vE 'node_modules|src/a.ts'",
            "grep -v 'no-unused-vars'",
            "grep default",
            "grep 'failed to fetch'",
            "grep issueTracker",
            "grep warningBanner",
            "grep -E 'error.*src/a.ts'",
            "grep -q error",
            "grep -f known.txt",
            "grep -x error",
            "grep \"$pattern\"",
            "grep -A5 -B 2 terror",
            "rg src/error.ts",
            "grep",
        ] {
            assert!(!keeps(line), "{line}");
        }
    }

    proptest! {
        #[test]
        fn no_pattern_is_too_odd(words in prop::collection::vec("(-|--|e|v|A|f|=|regexp|file|error|é|[|]|[(]|\\\\|\\^){0,5}", 0..6)) {
            keeps_failures(&words);
        }
    }
}
