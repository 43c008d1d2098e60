//! The appearance of a segment: features of its characters, independent of its subject.

use memchr::memmem::Finder;
use std::borrow::Cow;
use std::sync::LazyLock;

/// The looks of a segment, as bits.
pub(crate) type Looks = u32;

/// The looks, in the order of their bits.
#[rustfmt::skip]
pub(crate) const LOOKS: [&str; 20] = [
    "after_head", "id", "num", "long_num", "caps", "paren", "tick", "heading", "bullet", "bold", "colon", "quest", "codekw", "fence",
    "tiny", "seg1", "fill", "dup", "flag1", "commit",
];

/// The bit of a look.
pub(crate) const fn bit(name: &str) -> Looks {
    1 << place(&LOOKS, name)
}

/// The index of a name in a list, which must contain it.
pub(crate) const fn place(names: &[&str], name: &str) -> usize {
    let mut at = 0;
    while at < names.len() {
        if is_same(names[at].as_bytes(), name.as_bytes()) {
            return at;
        }
        at += 1;
    }
    panic!("no such name")
}

const fn is_same(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    let mut at = 0;
    while at < a.len() {
        if a[at] != b[at] {
            return false;
        }
        at += 1;
    }
    true
}

/// Starts of lines that report failure, ignoring case.
#[rustfmt::skip]
const FLAGS: [&str; 10] = [
    "error", "fatal", "warning", "fail", "panic", "npm err", "--- fail", "traceback", "exception", "(fail)",
];
/// An error behind its place, as in `src/a.ts(16,58): error TS2305: …`.
static ERROR_BEHIND: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(": error"));
/// The starts of lines by which test runners name a failed test, and the end of such a line.
const FAILURES: [&str; 7] = ["--- FAIL", "(fail)", "FAILED ", "FAIL ", "not ok ", "✗ ", "× "];
const FAILURE_BEHIND: &str = " ... FAILED";
/// Starts of lines of code.
#[rustfmt::skip]
const CODE: [&str; 29] = [
    "import ", "from ", "export ", "const ", "let ", "var ", "func ", "def ", "class ", "return ", "if (", "if ", "for ", "type ",
    "interface ", "struct ", "package ", "use ", "pub ", "fn ", "async ", "await ", "@", "//", "/*", "*/", "</", "assert", "expect(",
];
/// Starts of sentences that only announce the next call; and of those that may tell a decision, too.
#[rustfmt::skip]
const FILLERS: [&str; 23] = [
    "let me", "let's check", "let's look", "let's see", "let's start", "let's run", "let's verify", "now let", "checking", "reading",
    "looking", "running", "first, let", "first let", "next, ", "time to", "the user ",
    "i'm going to", "i need to", "i should", "i'm currently", "i'm now ", "i'm focus",
];
const INTENTS: [&str; 2] = ["i'll ", "ill "];
/// The minimum digits of a long number, and letters of a word in capitals.
const LONG_NUMBER: usize = 3;
const CAPITALS: usize = 3;
/// A sentence with more bytes than this may announce a call, but says more than that.
const ANNOUNCED: usize = 80;
/// The typographic apostrophe.
const APOSTROPHE: char = '’';
/// Interjections before such a start.
const BEFORE_FILLERS: [&str; 6] = ["now", "good", "great", "perfect", "okay", "ok"];

/// The kinds of characters that a text contains. One pass over its bytes saves most texts all searches for them.
#[derive(Clone, Copy)]
pub(crate) struct Signs {
    kinds: u16,
    /// The number of code characters.
    code: u32,
}

impl Signs {
    const PAREN: u16 = 1;
    const QUOTE: u16 = 1 << 1;
    const STAR: u16 = 1 << 2;
    /// A question mark, or the first byte of the wide one.
    const QUESTION: u16 = 1 << 3;
    const EQUALS: u16 = 1 << 4;
    const DIGIT: u16 = 1 << 5;
    const CAPITAL: u16 = 1 << 6;
    /// Other ASCII characters of words.
    const SMALL: u16 = 1 << 7;
    /// What a tag needs, and what is not printable ASCII.
    const ODD: u16 = 1 << 8;
    const CODE: u16 = 1 << 9;
    const WORD: u16 = Signs::DIGIT | Signs::CAPITAL | Signs::SMALL;

    /// By byte.
    const KINDS: [u16; 256] = {
        let mut kinds = [0; 256];
        let mut byte = 0;
        while byte < 256 {
            kinds[byte] = match byte as u8 {
                b'(' => Signs::PAREN | Signs::CODE,
                b'=' => Signs::EQUALS | Signs::CODE,
                b'<' => Signs::CODE | Signs::ODD,
                b'{' | b'}' | b';' | b'>' | b')' | b'[' | b']' => Signs::CODE,
                b'`' | b'"' => Signs::QUOTE,
                b'*' => Signs::STAR,
                b'?' => Signs::QUESTION,
                0xef => Signs::QUESTION | Signs::ODD,
                b'0'..=b'9' => Signs::DIGIT,
                b'A'..=b'Z' => Signs::CAPITAL,
                b'a'..=b'z' | b'_' => Signs::SMALL,
                b'-' | ..b' ' | 0x7f.. => Signs::ODD,
                _ => 0,
            };
            byte += 1;
        }
        kinds
    };

    /// Returns the signs of a text.
    pub fn of(text: &str) -> Signs {
        let (mut kinds, mut code) = (0, 0);
        for &byte in text.as_bytes() {
            let kind = Signs::KINDS[usize::from(byte)];
            kinds |= kind;
            code += u32::from(kind / Signs::CODE);
        }
        Signs { kinds, code }
    }

    /// Returns whether the text may have more to be left out of a quotation than blanks.
    pub fn may_be_mended(self) -> bool {
        self.has(Signs::STAR | Signs::ODD)
    }

    /// Returns whether a byte is an ASCII letter, a digit or an underscore.
    pub fn is_of_word(byte: u8) -> bool {
        Signs::KINDS[usize::from(byte)] & Signs::WORD != 0
    }

    /// Returns whether a run has no capital letters.
    pub fn is_small(kinds: u16) -> bool {
        kinds & Signs::CAPITAL == 0
    }

    /// The end of the run of ASCII letters, digits and underscores at a place in a text, and the kinds of its characters.
    pub fn run(bytes: &[u8], from: usize) -> (usize, u16) {
        let (mut at, mut kinds) = (from, 0);
        while let Some(&byte) = bytes.get(at)
            && Signs::is_of_word(byte)
        {
            kinds |= Signs::KINDS[usize::from(byte)];
            at += 1;
        }
        (at, kinds)
    }

    fn has(self, kinds: u16) -> bool {
        self.kinds & kinds != 0
    }

    /// The density of code characters in the text: their number per ten bytes, at most 2.
    pub fn codeness(self, text: &str) -> f32 {
        (self.code as f32 / (text.len() + 1) as f32 * 10.0).min(2.0)
    }
}

/// The looks that a segment's text determines; `is_said` for speech.
pub(crate) fn looks(text: &str, signs: Signs, is_said: bool) -> Looks {
    let mut looks = 0;
    let mut set = |name: Looks, holds: bool| {
        if holds {
            looks |= name;
        }
    };
    let heading = is_heading(text);
    set(const { bit("paren") }, signs.has(Signs::PAREN));
    set(
        const { bit("tick") },
        signs.has(Signs::QUOTE) && quotes(text.as_bytes()),
    );
    set(const { bit("heading") }, heading);
    set(const { bit("bullet") }, is_bullet(text));
    set(
        const { bit("bold") },
        !heading && signs.has(Signs::STAR) && text.contains("**"),
    );
    set(const { bit("colon") }, text.ends_with(':'));
    set(
        const { bit("quest") },
        signs.has(Signs::QUESTION) && text.contains(['?', '？']),
    );
    set(const { bit("codekw") }, is_code(text, signs));
    set(const { bit("fill") }, is_said && is_filler(text));
    match signs.has(Signs::DIGIT | Signs::CAPITAL) {
        true => looks | names_and_numbers(text.as_bytes()),
        false => looks,
    }
}

/// The lines of an output that best show its outcome, in order: the first that names what failed, or else the first that
/// reports failure; and of a check that `counts` the last one with a count of what failed or passed, or else, as of any
/// command, the last that reports failure. The last line of all stands for those that are not there, and says what became
/// of a command that counts nothing.
pub(crate) fn evident_lines(output: &[String], counts: bool) -> Vec<&str> {
    let flagged: Vec<usize> = (0..output.len()).filter(|&at| is_flag(&output[at])).collect();
    let last = flagged.last().copied();
    let first = decisive(flagged, |at| &output[at]).first().copied();
    let count = (0..output.len()).rfind(|&at| counts && is_count(&output[at]));
    let mut found: Vec<usize> = first.into_iter().chain(count.or(last)).collect();
    if !counts || found.is_empty() {
        found.extend(output.len().checked_sub(1));
    }
    found.sort_unstable();
    found.dedup();
    found.into_iter().map(|at| output[at].as_str()).collect()
}

/// Returns whether a line counts what failed or passed: a number before one of these words.
pub(crate) fn is_count(line: &str) -> bool {
    const COUNTED: [&str; 10] = [
        "pass", "passed", "passing", "fail", "failed", "failing", "failure", "failures", "error", "errors",
    ];
    let words = line
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty());
    let pairs = words.clone().zip(words.skip(1));
    let is_number = |word: &str| word.bytes().all(|byte| byte.is_ascii_digit());
    pairs
        .into_iter()
        .any(|(number, word)| is_number(number) && COUNTED.contains(&word))
}

/// Of the lines that report failure, those by which test runners name what failed, or else all: a test that passes may
/// print errors, too.
pub(crate) fn decisive<'a, T: Copy>(flagged: Vec<T>, text: impl Fn(T) -> &'a str) -> Vec<T> {
    let named = flagged.iter().copied().filter(|&line| names_failure(text(line)));
    let named: Vec<T> = named.collect();
    if named.is_empty() { flagged } else { named }
}

/// Returns whether a line is one by which a test runner or linter names what failed: those of go, bun, pytest, jest,
/// TAP, vitest and cargo.
fn names_failure(line: &str) -> bool {
    FAILURES.iter().any(|start| line.starts_with(start)) || line.ends_with(FAILURE_BEHIND)
}

/// At most `most` of these: the first ones and the last.
pub(crate) fn first_and_last<T>(mut all: Vec<T>, most: usize) -> Vec<T> {
    if all.len() > most {
        all.drain(most.saturating_sub(1)..all.len() - most.min(1));
    }
    all
}

fn starts_with_case(text: &str, word: &str) -> bool {
    let start = text.as_bytes().get(..word.len());
    start.is_some_and(|start| {
        start[0].eq_ignore_ascii_case(&word.as_bytes()[0]) && start.eq_ignore_ascii_case(word.as_bytes())
    })
}

/// Returns whether a line of output reports failure.
pub(crate) fn is_flag(text: &str) -> bool {
    text.starts_with("E  ")
        || text.starts_with(['✗', '×'])
        || names_failure(text)
        || FLAGS.iter().any(|word| starts_with_case(text, word))
        || ERROR_BEHIND.find(text.as_bytes()).is_some()
        || {
            let name = text.split([':', ' ']).next().unwrap_or("");
            name.ends_with("Error") || name.ends_with("Exception")
        }
}

/// Returns whether a text names a line of a file: a file name with its ending, a colon or a bracket, and a number.
pub(crate) fn names_place(text: &str) -> bool {
    let digit = |rest: &str| rest.starts_with(|c: char| c.is_ascii_digit());
    let places = text
        .match_indices([':', '('])
        .map(|(at, _)| (&text[..at], &text[at + 1..]));
    places.into_iter().any(|(before, behind)| {
        let name = before.rsplit([' ', '/', '\\']).next().unwrap_or("");
        let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
        digit(behind) && ending.starts_with(|c: char| c.is_ascii_alphabetic())
    })
}

fn is_heading(text: &str) -> bool {
    let marks = text.bytes().take_while(|&b| b == b'#').count();
    (1..=5).contains(&marks) && text[marks..].starts_with(' ')
        || text.len() > 4 && text.starts_with("**") && text.trim_end_matches(':').ends_with("**")
}

fn is_bullet(text: &str) -> bool {
    let mut chars = text.chars();
    match chars.next() {
        Some('-' | '*' | '•' | '✓' | '✗' | '✅' | '❌' | '⚠') => {
            chars.next().is_some_and(char::is_whitespace)
        }
        Some('[') => {
            matches!(text.as_bytes().get(1..4), Some(b" ] " | b"x] "))
                || text.starts_with("[ ]")
                || text.starts_with("[x]")
        }
        Some(c) if c.is_ascii_digit() => {
            let rest = text.trim_start_matches(|c: char| c.is_ascii_digit());
            matches!(rest.as_bytes(), [b'.' | b')', b' ', ..])
        }
        _ => false,
    }
}

fn is_code(text: &str, signs: Signs) -> bool {
    CODE.iter().any(|word| text.starts_with(word))
        || text.starts_with('<') && text[1..].starts_with(|c: char| c.is_ascii_alphanumeric())
        || text.ends_with(['{', '}', ';', ')'])
        || signs.has(Signs::EQUALS) && (text.contains(":=") || text.contains("=>"))
}

/// Returns whether a sentence before a call only announces it.
pub(crate) fn announces(sentence: &str) -> bool {
    let intents: &[&str] = if sentence.len() <= ANNOUNCED { &INTENTS } else { &[] };
    sentence.ends_with([':', '：']) || begins_any(sentence, [&FILLERS, intents])
}

fn is_filler(text: &str) -> bool {
    begins_any(text, [&FILLERS, &INTENTS])
}

/// Returns whether a sentence begins with words of one of the lists, apart from interjections.
fn begins_any(text: &str, lists: [&[&str]; 2]) -> bool {
    let text = match text.contains(APOSTROPHE) {
        true => Cow::Owned(text.replace(APOSTROPHE, "'")),
        false => Cow::Borrowed(text),
    };
    let mut rest = text.trim_start_matches(|c: char| !c.is_alphanumeric());
    for word in BEFORE_FILLERS {
        if starts_with_case(rest, word) {
            let behind = rest[word.len()..].trim_start_matches(['.', ',', '!']);
            if behind.starts_with(' ') {
                rest = behind.trim_start();
                break;
            }
            if behind.is_empty() {
                return true;
            }
        }
    }
    let mut words = lists.into_iter().flatten();
    words.any(|words| starts_with_case(rest, words))
}

/// Returns whether the text has quotation marks or backticks around something.
fn quotes(bytes: &[u8]) -> bool {
    let twice = |mark: u8| {
        memchr::memchr(mark, bytes).is_some_and(|at| memchr::memchr(mark, &bytes[at + 1..]).is_some_and(|n| n > 0))
    };
    twice(b'`') || twice(b'"')
}

/// The looks of numbers and names in a text: a number, a number of three or more digits, an identifier (five or more
/// digits, a number after `#`, or a hash), and a word of three or more capital letters.
fn names_and_numbers(bytes: &[u8]) -> Looks {
    let (mut looks, mut at) = (0, 0);
    while at < bytes.len() {
        let start = at;
        let (end, kinds) = Signs::run(bytes, start);
        let run = &bytes[start..end];
        if kinds & Signs::DIGIT != 0 {
            let digits = run.iter().filter(|b| b.is_ascii_digit()).count();
            looks |= const { bit("num") };
            let is_long = |digits: &[u8]| digits.iter().all(u8::is_ascii_digit);
            if digits >= LONG_NUMBER && run.windows(LONG_NUMBER).any(is_long) {
                looks |= const { bit("long_num") };
            }
            let is_hex = run.iter().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
            let is_numbered = digits >= 2 && start.checked_sub(1).is_some_and(|at| bytes[at] == b'#');
            let is_id = match digits == run.len() {
                true => digits >= 5 || is_numbered,
                false => is_hex && (7..=40).contains(&run.len()),
            };
            looks |= if is_id { const { bit("id") } } else { 0 };
        } else if kinds == Signs::CAPITAL && run.len() >= CAPITALS {
            looks |= const { bit("caps") };
        }
        at = end + 1;
    }
    looks
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares the names of a text's looks, in order.
    fn check(text: &str, is_said: bool, expected: &[&str]) {
        let found = looks(text, Signs::of(text), is_said);
        let names: Vec<&str> = LOOKS.iter().copied().filter(|name| found & bit(name) != 0).collect();
        assert_eq!(names, expected, "{text}");
    }

    #[test]
    fn looks_are_told_by_characters_alone() {
        check("error: cannot find `a`", false, &["tick"]);
        check("error[E0425]: `a` and `b`", false, &["num", "long_num", "tick"]);
        check("**Decision:** use `sha2` 0.10.8", true, &["num", "tick", "bold"]);
        check("## Findings", true, &["heading"]);
        check("- 12 tests passed in 3.5 s", true, &["num", "bullet"]);
        check("Shall I go on?", true, &["quest"]);
        check("let a = f(b);", false, &["paren", "codekw"]);
        check("Now let me look at it:", true, &["colon", "fill"]);
        check("Good. I'll run the tests", true, &["fill"]);
        check("I’m currently looking at the walnut press.", true, &["fill"]);
        check("commit 3f2a9c1 is in #45", true, &["id", "num"]);
        check("HTTP_X (WARN) at x120", false, &["num", "long_num", "caps", "paren"]);
    }

    #[test]
    fn the_first_failure_and_the_count_or_the_last_failure_show_an_outcome() {
        let check_as = |counts: bool, output: &str, expected: &[&str]| {
            let lines: Vec<String> = output.lines().map(str::to_owned).collect();
            assert_eq!(evident_lines(&lines, counts), expected, "{output}");
        };
        let check = |output: &str, expected: &[&str]| check_as(true, output, expected);
        check("a\nb", &["b"]);
        check("error: a\nb", &["error: a"]);
        check("error: a\nb\nerror: c\nerror: d\ne", &["error: a", "error: d"]);
        check(
            "(fail) the pool is full\n 12 pass\n 1 fail\nRan 13 tests",
            &["(fail) the pool is full", " 1 fail"],
        );
        check("== 3 passed in 0.1 s ==\nreport written", &["== 3 passed in 0.1 s =="]);
        // A test that passes may print an error, and a commit fails since a test of its hook does.
        let hook = "error: printed by a test that passes\n(fail) the pool is full\n 1 fail\nerror: \"test\" exited with 1\n\
                    hook: pre-commit ended with status 1";
        check(hook, &["(fail) the pool is full", " 1 fail"]);
        let outcome = [
            "(fail) the pool is full",
            "error: \"test\" exited with 1",
            "hook: pre-commit ended with status 1",
        ];
        check_as(false, hook, &outcome);
        check_as(
            false,
            "nothing to commit, working tree clean",
            &["nothing to commit, working tree clean"],
        );
        check("test pool::full ... FAILED\nb", &["test pool::full ... FAILED"]);
        check("", &[]);
    }

    #[test]
    fn a_sentence_announces_the_next_call_if_it_says_nothing_else() {
        for sentence in [
            "Let me look at the pool, which is the largest file of them all, and at everything that asks it for a client:",
            "Now I’ll run the tests.",
            "Checking the rest",
            "These are the rest:",
        ] {
            assert!(announces(sentence), "{sentence}");
        }
        for sentence in [
            "The tests pass.",
            "I'll keep the old name as an alias for one release, since the scripts of two customers call it by that name.",
        ] {
            assert!(!announces(sentence), "{sentence}");
        }
    }

    #[test]
    fn a_place_is_a_line_of_a_file() {
        for text in [
            "--> src/a.rs:12:5",
            "apps/b.test.ts:7:3 lint/style ━━━",
            "a.ts(16,58): error TS2305",
            "w.py:3: in f",
        ] {
            assert!(names_place(text), "{text}");
        }
        for text in [
            "12:05:33 done", "version 1.2:3", "see a.rs: it fails", "3 of 4 (75 %)", "",
        ] {
            assert!(!names_place(text), "{text}");
        }
    }

    #[test]
    fn signs_of_code_are_counted() {
        let codeness = |text| Signs::of(text).codeness(text);
        assert_eq!(codeness("plain words"), 0.0);
        assert_eq!(codeness("{}{}{}{};"), 2.0);
    }
}
