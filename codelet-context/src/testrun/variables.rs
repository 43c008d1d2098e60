//! What the variables that a check is run with may change of it.

use super::telling::is_telling;
use crate::programs::Program;
use crate::word_list::is_in;
use crate::wrapped::is_assignment;

/// What a variable may change of a check.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Role {
    /// How much is told, or where things lie.
    Tells,
    /// Which part is checked of what else would be.
    Chooses,
    /// Anything else: how it is checked.
    Alters,
}

/// Pieces of names that say where things lie or how much is told.
const TELLING: &str = "LOG LOGS LOGLEVEL LOGGING DEBUG COLOR COLORS COLOUR NOCOLOR CLICOLOR COLORTERM COLUMNS TRACE BACKTRACE STACKTRACE \
                       VERBOSE VERBOSITY QUIET SILENT CACHE GOCACHE TERM PATH PYTHONPATH GOPATH CLASSPATH THREADS JOBS WORKERS TIMEOUT TMP \
                       TEMP TMPDIR GOTMPDIR HOME TOKEN SECRET PASSWORD PASSWD KEY UPDATE PAGER EDITOR UNBUFFERED PYTHONUNBUFFERED \
                       PYTHONDONTWRITEBYTECODE ENCODING PYTHONIOENCODING LANG LANGUAGE FRONTEND TELEMETRY OPTOUT HUSKY MAXPROCS GOMAXPROCS \
                       DAEMON NOLOGO";
/// The same as whole names.
const TELLING_NAMES: &str = "V Q CI LC_ALL USER INCREMENTAL CARGO_INCREMENTAL FORCE DO_NOT_TRACK NODE_NO_WARNINGS NODE_OPTIONS DISPLAY \
                             MPLBACKEND QT_QPA_PLATFORM SHELL RUSTC_WRAPPER CARGO_TARGET_DIR TARGET_DIR NPM_CONFIG_YES \
                             NPM_CONFIG_PROGRESS NPM_CONFIG_FUND NPM_CONFIG_AUDIT NPM_CONFIG_OFFLINE";
/// Pieces that tell, whatever else is in the name: `LOG_FILTER`, `PKG_CONFIG_PATH`.
const TELLING_FIRST: &str = "LOG LOGS LOGGING DEBUG TRACE CACHE";
/// Pieces of names that choose a part.
const CHOOSING: &str = "SKIP ONLY FILTER FILTERS MATCH PATTERN PATTERNS GREP KEYWORD KEYWORDS SPEC SPECS SUITE SUITES CASE CASES PKG PKGS \
                        PACKAGE PACKAGES GROUP GROUPS SHARD EXCLUDE FOCUS MARKERS TAGS";
/// With one of these, what is left out is no part of what is checked: `PUPPETEER_SKIP_DOWNLOAD`.
const BESIDE: &str =
    "INSTALL POSTINSTALL DOWNLOAD DOWNLOADS ENV VALIDATION PREFLIGHT COREPACK HOOK HOOKS WASM SETUP RESHIM";
/// What is named behind `TEST` by a variable that says which tests are run.
const NAMING: &str =
    "NAME NAMES FILE FILES PATH PATHS TARGET TARGETS CLASS METHOD MODULE MODULES SUBSET EXPR REGEX RUN";

/// The variable that a word sets, with what it may change.
pub(super) fn variable(word: &str) -> Option<(Role, (String, String))> {
    let (name, value) = word.split_once('=').filter(|_| is_assignment(word))?;
    Some((role(name, value), (name.to_owned(), value.to_owned())))
}

fn role(name: &str, value: &str) -> Role {
    let upper = name.to_ascii_uppercase();
    let is_mild = match &*upper {
        // Who makes errors of warnings finds more.
        "PYTHONWARNINGS" => !value.contains("error"),
        "MAKEFLAGS" => !value.contains('='),
        "BROWSER" => is_in(value, "none false"),
        _ => is_in(&upper, TELLING_NAMES) || upper.starts_with("PKG_CONFIG"),
    };
    let pieces = pieces(name);
    let has = |list: &str| pieces.iter().any(|piece| is_in(piece, list));
    if is_mild || has(TELLING_FIRST) {
        return Role::Tells;
    }
    match chosen(&pieces, value) {
        Some(true) => Role::Chooses,
        Some(false) => Role::Tells,
        None if has(TELLING) => Role::Tells,
        None => Role::Alters,
    }
}

/// Whether a variable that may choose does so with this value, if it is one.
fn chosen(pieces: &[String], value: &str) -> Option<bool> {
    let has = |list: &str| pieces.iter().any(|piece| is_in(piece, list));
    let is_off = || is_in(value, "0 false no off none");
    let is_test = |piece: &String| is_in(piece, "TEST TESTS");
    let takes_options = |piece: &String| {
        let is_flags = piece == "FLAGS" && pieces.iter().any(is_test);
        is_flags || piece == "TESTFLAGS" || piece.ends_with("ARGS") || piece.ends_with("OPTS")
    };
    if pieces.iter().any(takes_options) {
        return Some(!value.split_whitespace().all(is_mild_option));
    }
    if has("SKIP") && has(BESIDE) {
        return Some(false);
    }
    if has(CHOOSING) {
        return Some(!value.is_empty() && (!has("SKIP ONLY") || !is_off()));
    }
    // `INTEGRATION_TESTS=1` and `TEST_DB=x` choose nothing.
    let names_tests = match pieces {
        [one] => is_test(one),
        [.., before, last] => is_test(before) && is_in(last, NAMING),
        [] => false,
    };
    (names_tests && !value.is_empty() && !is_off() && !is_in(value, "1 true yes on")).then_some(true)
}

/// Whether a word of the options that a variable holds changes only what is told.
fn is_mild_option(word: &str) -> bool {
    const PARTS: &[&str] = &["test", "skip", "only", "group", "include", "exclude", "run", "short"];
    let Some(option) = word.strip_prefix('-') else {
        // How many, how long, and of a plugin that there is none: `-n auto`, `-timeout 60s`, `-p no:cacheprovider`.
        return word == "auto" || word.starts_with("no:") || word.starts_with(|c: char| c.is_ascii_digit());
    };
    let name = option.trim_start_matches('-');
    let key = name.split('=').next().unwrap_or_default();
    // The value of `-D` is a name by itself.
    let lower = if option.starts_with('D') { name } else { key }.to_ascii_lowercase();
    let chooses = PARTS.iter().any(|part| lower.contains(part));
    let is_of_machine = ["Xm", "Xs", "XX:", "D"].iter().any(|begin| option.starts_with(begin));
    let is_cluster = |letters: &str| {
        let letters = letters.trim_end_matches(|c: char| c.is_ascii_digit());
        letters.bytes().all(|letter| b"vqsxrAapnj".contains(&letter))
    };
    is_cluster(option) && option.len() <= 4
        || !chooses
            && (is_of_machine
                || is_in(name, "race count=1")
                || (option != name || key.len() > 2) && is_telling(&format!("--{key}"), "", &Program::OWN))
}

/// The pieces of a name in capitals: `npm_config_testPathPattern` has five.
fn pieces(name: &str) -> Vec<String> {
    let mut pieces = vec![String::new()];
    let mut was_small = false;
    for letter in name.chars() {
        let ends = letter == '_' || was_small && letter.is_ascii_uppercase();
        if ends && pieces.last().is_some_and(|piece| !piece.is_empty()) {
            pieces.push(String::new());
        }
        was_small = letter.is_ascii_lowercase();
        if let Some(piece) = pieces.last_mut().filter(|_| letter != '_') {
            piece.push(letter.to_ascii_uppercase());
        }
    }
    pieces.retain(|piece| !piece.is_empty());
    pieces
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::testrun::tests::covers;
    use proptest::prelude::*;

    #[test]
    fn a_variable_that_chooses_narrows_a_run_as_an_option_does() {
        for (passed, failed) in [
            ("PYTEST_ADDOPTS='-k smoke' pytest", "pytest"),
            ("export PYTEST_ADDOPTS='-k smoke'; pytest", "pytest"),
            ("export PYTEST_ADDOPTS='-k smoke' && python -m pytest -q", "pytest"),
            ("env PYTEST_ADDOPTS=\"--deselect tests/a.py\" pytest", "pytest"),
            ("SKIP=eslint pre-commit run --all-files", "pre-commit run --all-files"),
            ("SKIP_E2E=1 npm test", "npm test"),
            ("SKIP_TYPE_CHECK=true npm run build", "npm run build"),
            ("ARGS='-k smoke' make test", "make test"),
            ("make test ARGS='-k smoke'", "make test"),
            ("TESTARGS='-run TestA' make test", "make test"),
            ("TEST_FLAGS=-run=TestA make test", "make test"),
            ("TEST_KEYWORD=smoke npm test", "npm test"),
            ("npm_config_testPathPattern=a npm test", "npm test"),
            ("TEST=tests/a.py make test", "make test"),
            ("TEST_FILES='a b' bash -c 'make test'", "make test"),
            ("docker run -e SKIP=slow img pytest", "docker run img pytest"),
            ("TEST_SUITE=unit npm test", "TEST_SUITE=e2e npm test"),
        ] {
            assert!(!covers(passed, failed), "{passed}: {failed}");
            assert!(covers(failed, passed) || failed.contains('='), "{failed}: {passed}");
            assert!(covers(passed, passed), "{passed}");
        }
    }

    #[test]
    fn a_variable_that_tells_or_alters_narrows_nothing() {
        for passed in [
            "PYTEST_ADDOPTS='-q --tb=short -p no:cacheprovider' pytest",
            "PYTEST_ADDOPTS='-n auto --color=no' pytest",
            "SKIP_ENV_VALIDATION=1 PUPPETEER_SKIP_DOWNLOAD=true pytest",
            "SKIP= SKIP_E2E=0 pytest",
            "TEST_DATABASE_URL=sqlite:// pytest",
            "RUN_INTEGRATION_TESTS=1 pytest",
            "LOG_FILTER=debug RUST_LOG=info RUST_BACKTRACE=1 pytest",
            "MAVEN_OPTS='-Xmx2g -Dmaven.repo.local=/r' pytest",
            "PKG_CONFIG_PATH=/opt/lib/pkgconfig pytest",
            "PYTHONPATH=. PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 pytest",
            "export CARGO_TARGET_DIR=/t JAVA_HOME=/j API_KEY=x; pytest",
        ] {
            assert!(covers(passed, "pytest"), "{passed}");
        }
        // By chance a name has the letters of what tells.
        for alters in ["HOMEPAGE=x", "MONKEY_MODE=x", "CATALOG=b"] {
            assert_eq!(variable(alters).unwrap().0, Role::Alters, "{alters}");
        }
        assert!(covers("make test TESTARGS=-v VERBOSE=1", "make test"));
    }

    proptest! {
        #[test]
        fn no_variable_is_too_odd(name in "[A-Za-z_é]{0,12}", value in "([-=kv ]|é|run|-D|[0-9]){0,8}") {
            if let Some((_, (told, _))) = variable(&format!("{name}={value}")) {
                prop_assert_eq!(told, name.clone());
            }
            prop_assert!(pieces(&name).iter().all(|piece| !piece.is_empty() && !piece.contains('_')));
        }
    }
}
