//! Which lines of an output report success or progress, and may be counted instead of shown.
//!
//! A line is recognised by what stands at its beginning *and* what follows, after the tools that print such lines; a word
//! alone is not enough, since prose and code have words too. What tells of a failure is never recognised.

/// What a line of status is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Class {
    /// Lines of one family are alike and form a run together.
    pub family: u8,
    /// What a run is called.
    pub label: &'static str,
    /// Something has begun and may yet fail, so this line does not end a run.
    pub begun: bool,
    /// Lines of the run differ by numbers only.
    pub by_number: bool,
}

/// No line of status is longer, in bytes.
const LONGEST: usize = 400;

/// How a line of status is told from others, given without the blanks around it, and how many of these stood before it.
type Test = fn(&str, usize) -> bool;

struct Kind {
    first: &'static str,
    test: Test,
    family: u8,
    label: &'static str,
    begun: bool,
}

const fn done(first: &'static str, family: u8, label: &'static str, test: Test) -> Kind {
    Kind {
        first,
        test,
        family,
        label,
        begun: false,
    }
}

const fn begun(first: &'static str, family: u8, test: Test) -> Kind {
    Kind {
        first,
        test,
        family,
        label: "",
        begun: true,
    }
}

/// `first` is what the line begins with after its indentation; `test` looks at the rest of it.
const KINDS: &[Kind] = &[
    // Rust and Python's unittest.
    done("test", 1, "test … ok", |rest, indent| {
        indent == 0 && is_test_line(rest, "ok")
    }),
    done("test", 2, "test … ignored", |rest, indent| {
        indent == 0 && is_test_line(rest, "ignored")
    }),
    // Go.
    done("--- PASS: ", 3, "--- PASS: …", |rest, _| {
        rest.ends_with("s)") && one_word_then(rest, "(")
    }),
    begun("=== RUN ", 3, |rest, indent| indent == 0 && is_one_word(rest)),
    begun("=== PAUSE ", 3, |rest, indent| indent == 0 && is_one_word(rest)),
    begun("=== CONT ", 3, |rest, indent| indent == 0 && is_one_word(rest)),
    done("ok  \t", 4, "ok …", |rest, indent| indent == 0 && rest.contains('\t')),
    // GoogleTest.
    begun("[ RUN      ] ", 5, |rest, indent| indent == 0 && is_one_word(rest)),
    done("[       OK ] ", 5, "[ OK ] …", |rest, indent| {
        indent == 0 && rest.ends_with(" ms)")
    }),
    // CTest.
    begun("Start ", 6, |rest, indent| {
        indent > 0 && starts_with_number(rest.trim_start(), ":")
    }),
    // JavaScript's runners: a tick and a duration.
    done("✓ ", 7, "✓ …", |rest, _| ends_in_duration(rest)),
    done("✔ ", 7, "✔ …", |rest, _| ends_in_duration(rest)),
    done("√ ", 7, "√ …", |rest, _| ends_in_duration(rest)),
    done("PASS ", 8, "PASS …", |rest, indent| {
        indent <= 1 && rest.contains(".") && rest.contains('/') && is_one_word_or_timed(rest)
    }),
    // TAP.
    done("ok ", 9, "ok …", |rest, _| {
        starts_with_number(rest, " - ") && !rest.contains('#')
    }),
    // Cargo: verbs are set flush right in twelve columns.
    done("Compiling ", 10, "Compiling …", |rest, indent| {
        indent == 3 && is_crate(rest)
    }),
    done("Checking ", 10, "Checking …", |rest, indent| {
        indent == 4 && is_crate(rest)
    }),
    done("Fresh ", 10, "Fresh …", |rest, indent| indent == 7 && is_crate(rest)),
    done("Documenting ", 10, "Documenting …", |rest, indent| {
        indent == 1 && is_crate(rest)
    }),
    done("Downloaded ", 11, "Downloaded …", |rest, indent| {
        indent == 2 && is_crate(rest)
    }),
    done("Downloading ", 11, "Downloading …", |rest, indent| {
        indent == 1 && is_crate(rest)
    }),
    done("Adding ", 12, "Adding …", |rest, indent| {
        indent == 6 && is_crate(rest)
    }),
    done("Locking ", 12, "Locking …", |rest, indent| {
        indent == 5 && is_crate(rest)
    }),
    done("Updating ", 12, "Updating …", |rest, indent| {
        indent == 4 && is_crate(rest)
    }),
    // pip.
    done(
        "Requirement already satisfied: ",
        13,
        "Requirement already satisfied: …",
        |rest, _| !rest.ends_with('.'),
    ),
    done("Collecting ", 14, "Collecting …", |rest, indent| {
        indent == 0 && one_word_then(rest, "(from ")
    }),
    done("Downloading ", 14, "Downloading …", |rest, indent| {
        indent == 2 && rest.ends_with("B)") && one_word_then(rest, "(")
    }),
    done("Using cached ", 14, "Using cached …", |rest, indent| {
        indent == 2 && one_word_then(rest, "(")
    }),
    // apt and dpkg.
    done("Get:", 15, "Get: …", |rest, indent| {
        indent == 0 && starts_with_number(rest, " http")
    }),
    done(
        "Selecting previously unselected package ",
        16,
        "Unpacking …",
        |rest, _| rest.ends_with('.'),
    ),
    done("Preparing to unpack ", 16, "Unpacking …", |rest, _| {
        rest.ends_with(" ...")
    }),
    done("Unpacking ", 16, "Unpacking …", |rest, indent| {
        indent == 0 && rest.ends_with(") ...")
    }),
    done("Setting up ", 17, "Setting up …", |rest, indent| {
        indent == 0 && rest.ends_with(") ...")
    }),
    // Maven and Gradle.
    done(
        "[INFO] Downloading from ",
        18,
        "[INFO] Downloading from …",
        |rest, _| rest.contains("://"),
    ),
    done(
        "[INFO] Downloaded from ",
        18,
        "[INFO] Downloaded from …",
        |rest, _| rest.contains("://"),
    ),
    done("Downloading from ", 18, "Downloading from …", |rest, _| {
        rest.contains(": http")
    }),
    done("Downloaded from ", 18, "Downloaded from …", |rest, _| {
        rest.contains(": http")
    }),
    done("Download http", 19, "Download http…", |rest, indent| {
        indent == 0 && is_one_word(rest)
    }),
    // npm.
    done(
        "npm http fetch GET 200 ",
        20,
        "npm http fetch GET 200 …",
        |_, indent| indent == 0,
    ),
    // A build's steps: "[12/345] Building …", "[ 12%] Building …".
    done("[", 21, "[…] Building …", |rest, indent| {
        indent == 0 && is_build_step(rest)
    }),
];

/// What runs of passed tests are called whose lines do not begin alike.
const PYTEST_PASSED: &str = "… PASSED";
const CTEST_PASSED: &str = "Test … Passed";

/// First words of lines that count something up.
const COUNTING: &[&str] = &[
    "Processing",
    "Processed",
    "Downloading",
    "Downloaded",
    "Uploading",
    "Uploaded",
    "Extracting",
    "Installing",
    "Fetching",
    "Fetched",
    "Converting",
    "Importing",
    "Imported",
    "Indexing",
    "Indexed",
    "Verifying",
    "Compiling",
    "Building",
    "Copying",
    "Copied",
    "Unpacking",
    "Waiting",
    "Progress:",
    "Receiving",
    "Resolving",
    "Compressing",
    "Counting",
    "Enumerating",
    "remote:",
    "Updating",
    "Rendering",
    "Loading",
];

/// Words of a failure; a line that has one is never folded by likeness. More of them than the signs of `verdict`, and in any
/// letters: whoever finds one too many only shows a line more.
const FAILURES: &[&str] = &[
    "fail",
    "error",
    "panic",
    "warn",
    "abort",
    "fatal",
    "exception",
    "denied",
    "refused",
    "timed out",
    "timeout",
    "✗",
    "✘",
    "✖",
];

/// The kind of status that a line (without its line end) reports.
pub(super) fn class(line: &str) -> Option<Class> {
    if line.len() < 4 || line.len() > LONGEST {
        return None;
    }
    let text = line.trim_start_matches([' ', '\t']);
    let indent = line.len() - text.len();
    let text = text.trim_end();
    let kind = KINDS
        .iter()
        .filter(|kind| kind.first.as_bytes().first() == text.as_bytes().first())
        .find(|kind| {
            text.strip_prefix(kind.first)
                .is_some_and(|rest| (kind.test)(rest, indent))
        });
    if let Some(kind) = kind {
        return Some(Class {
            family: kind.family,
            label: kind.label,
            begun: kind.begun,
            by_number: false,
        });
    }
    let (family, label) = match () {
        () if is_pytest_pass(text) => (PYTEST, PYTEST_PASSED),
        () if is_ctest_pass(text) => (6, CTEST_PASSED),
        () if is_docker_layer(text) => (31, "layer: …"),
        () if is_wget_dots(text) => (32, "…K .......... …"),
        () if is_counting(text) => {
            return Some(Class {
                family: 33,
                label: "",
                begun: false,
                by_number: true,
            });
        }
        () => return None,
    };
    Some(Class {
        family,
        label,
        begun: false,
        by_number: false,
    })
}

/// What stands behind the label of lines that are counted instead of shown, around their number.
pub(super) const COUNTED: [&str; 2] = [" (× ", " alike lines)"];

const PYTEST: u8 = 30;

/// Rust: ` a::b ... ok`; unittest: `_x (mod.Class) ... ok`. The name is all that may vary.
fn is_test_line(rest: &str, outcome: &str) -> bool {
    rest.strip_suffix(outcome)
        .and_then(|rest| rest.strip_suffix(" ... "))
        .is_some_and(|name| name.starts_with([' ', '_']) && name.len() > 1 && !name.contains(" ... "))
}

fn is_one_word(rest: &str) -> bool {
    let rest = rest.trim();
    !rest.is_empty() && !rest.contains(char::is_whitespace)
}

/// One word, and whatever follows it begins like this.
fn one_word_then(rest: &str, then: &str) -> bool {
    match rest.trim().split_once(' ') {
        Some((_, after)) => after.starts_with(then),
        None => !rest.trim().is_empty() && !rest.ends_with('.'),
    }
}

fn is_one_word_or_timed(rest: &str) -> bool {
    is_one_word(rest) || (one_word_then(rest, "(") && ends_in_duration(rest))
}

/// `(3 ms)`, `12ms`, `(0.4 s)`, `1.2s`.
fn ends_in_duration(rest: &str) -> bool {
    let rest = rest.trim_end().trim_end_matches(')');
    let number = rest.strip_suffix("ms").or_else(|| rest.strip_suffix('s'));
    number.is_some_and(|number| number.trim_end().ends_with(|c: char| c.is_ascii_digit()))
}

fn starts_with_number(rest: &str, then: &str) -> bool {
    let after = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    after.len() < rest.len() && after.starts_with(then)
}

/// `serde v1.0.2`, perhaps with a path or a note in brackets after it.
fn is_crate(rest: &str) -> bool {
    let mut words = rest.split(' ');
    words.next().is_some_and(|name| !name.is_empty())
        && words.next().is_some_and(|version| {
            version
                .strip_prefix('v')
                .is_some_and(|v| v.starts_with(|c: char| c.is_ascii_digit()))
        })
        && words.next().is_none_or(|note| note.starts_with('('))
}

/// What follows the `[` of a build's step.
fn is_build_step(rest: &str) -> bool {
    let Some((count, verb)) = rest.split_once("] ") else {
        return false;
    };
    let count = count.trim();
    let counted = count.strip_suffix('%').is_some_and(is_number)
        || count.split_once('/').is_some_and(|(a, b)| is_number(a) && is_number(b));
    counted
        && ["Building ", "Linking ", "Compiling ", "Generating ", "Copying "]
            .iter()
            .any(|v| verb.starts_with(v))
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

/// `tests/test_a.py::test_b PASSED   [ 12%]`.
fn is_pytest_pass(text: &str) -> bool {
    let before = match text.strip_suffix("%]") {
        Some(rest) => rest
            .trim_end_matches(|c: char| c.is_ascii_digit())
            .trim_end()
            .trim_end_matches('[')
            .trim_end(),
        None => text,
    };
    before
        .strip_suffix(" PASSED")
        .is_some_and(|name| name.contains(".py::") && !name.starts_with(char::is_whitespace))
}

/// `12/40 Test #12: name .......   Passed    0.01 sec`.
fn is_ctest_pass(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit())
        && text.ends_with(" sec")
        && text.split_once(" Test ").is_some_and(|(count, rest)| {
            count.split_once('/').is_some_and(|(a, b)| is_number(a) && is_number(b))
                && rest.trim_start().starts_with('#')
                && rest.contains(" Passed ")
        })
}

/// `0123456789ab: Pull complete`.
fn is_docker_layer(text: &str) -> bool {
    const LAYER: usize = 12;
    let Some((layer, state)) = text.split_at_checked(LAYER) else {
        return false;
    };
    let Some(state) = state.strip_prefix(": ") else {
        return false;
    };
    layer.bytes().all(|b| b.is_ascii_hexdigit())
        && [
            "Pulling fs layer",
            "Waiting",
            "Verifying Checksum",
            "Download complete",
            "Pull complete",
            "Already exists",
            "Downloading",
            "Extracting",
        ]
        .iter()
        .any(|known| state.starts_with(known))
}

/// ` 50K .......... .......... 12% 1.2M 3s`.
fn is_wget_dots(text: &str) -> bool {
    starts_with_number(text, "K ..........") && text.contains('%')
}

/// A line that counts something up: a verb of progress and a number, or a bar.
fn is_counting(text: &str) -> bool {
    let Some(first) = text.split(' ').next() else {
        return false;
    };
    let counts = COUNTING.contains(&first) && text.bytes().any(|b| b.is_ascii_digit());
    (counts || (text.contains('%') && text.chars().any(is_bar))) && !tells_of_failure(text)
}

fn is_bar(c: char) -> bool {
    matches!(
        c,
        '█' | '▉' | '▊' | '▋' | '▌' | '▍' | '▎' | '▏' | '░' | '▒' | '▓' | '━' | '╸' | '╺' | '\u{2800}'..='\u{28ff}'
    )
}

fn tells_of_failure(text: &str) -> bool {
    let lower = text.to_lowercase();
    FAILURES.iter().any(|word| lower.contains(word))
}

/// Whether two lines say the same but for numbers and the bars that picture them.
pub(super) fn differ_by_numbers(a: &str, b: &str) -> bool {
    let plain = |c: &char| {
        !(c.is_ascii_digit() || is_bar(*c) || c.is_whitespace() || matches!(c, '.' | ',' | '#' | '=' | '>' | '-'))
    };
    a.chars().filter(plain).eq(b.chars().filter(plain))
}

/// Whether a terminal line was first in one state of a progress and then in a later one. Words must be the same but for
/// units after a number, and something must show that it is progress: a share, a bar, "3 of 7", or dots that wait.
pub(super) fn is_later_state(a: &str, b: &str) -> bool {
    let said = words(a);
    let shows = |s: &str| {
        s.contains('%')
            || s.chars().any(is_bar)
            || s.contains("##")
            || s.trim_end().ends_with("...")
            || (has_fraction(s) && !said.is_empty())
    };
    shows(a) && shows(b) && said == words(b) && !tells_of_failure(a)
}

/// `3/7`.
fn has_fraction(text: &str) -> bool {
    text.as_bytes()
        .windows(3)
        .any(|w| w[1] == b'/' && w[0].is_ascii_digit() && w[2].is_ascii_digit())
}

/// The words of a state without units: a short word after a number, such as `MB/s`, may change with it.
fn words(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut start = None;
    let mut after_number = false;
    for (index, c) in text.char_indices().chain([(text.len(), ' ')]) {
        if c.is_alphabetic() || c == '_' {
            start.get_or_insert(index);
            continue;
        }
        if let Some(start) = start.take() {
            let word = &text[start..index];
            if !(after_number && word.len() <= 3) {
                words.push(word);
                after_number = false;
            }
        }
        after_number |= c.is_ascii_digit();
    }
    words
}

/// Whether lines like this, repeated to the byte, are the output of something that repeats itself, and not code, data or a
/// drawing: words at the margin, and no sign that those use.
pub(super) fn may_repeat(line: &str) -> bool {
    !line.starts_with(char::is_whitespace)
        && line.len() <= LONGEST
        && !line.contains(|c: char| "{}()[];=<>|,\"'`\t\\#*@&$+".contains(c))
        && line
            .split_whitespace()
            .filter(|word| word.chars().filter(|c| c.is_alphabetic()).count() >= 3)
            .count()
            >= 2
}
