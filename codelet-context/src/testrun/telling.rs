//! Options that change what is told, or when a run ends, and not what is found.

use crate::programs::Program;
use crate::word_list::is_in;

/// Pieces of the names of options that change what is told, or when a run ends, and not what is found. Without `-` and `_`.
const TELLING: &[&str] = &[
    "verbos",
    "quiet",
    "silent",
    "color",
    "colour",
    "report",
    "log",
    "output",
    "coverage",
    "nocov",
    "cache",
    "timeout",
    "retr",
    "parallel",
    "job",
    "worker",
    "thread",
    "fork",
    "watch",
    "bail",
    "failfast",
    "exitfirst",
    "maxfail",
    "capture",
    "trace",
    "summary",
    "duration",
    "header",
    "progress",
    "pretty",
    "format",
    "info",
    "daemon",
    "offline",
    "frozen",
    "locked",
    "interactive",
    "yes",
    "runinband",
    "forceexit",
    "openhandle",
    "snapshot",
    "incremental",
    "noemit",
    "nocapture",
    "keepgoing",
    "passwithno",
    "show",
    "statist",
    "exitcode",
    "console",
    "batch",
    "install",
    "fixtures",
    "randomly",
    "timing",
    "profiledur",
    "maxmodule",
    "difference",
    "listdiff",
    "nowarn",
    "disablewarn",
    "transfer",
    "continue",
    "rerun",
    "blame",
    "printdirectory",
    "heading",
    "testthreads",
];
/// The same as whole names.
const TOLD: &[&str] = &[
    "ci",
    "fix",
    "fixdryrun",
    "write",
    "check",
    "diff",
    "cov",
    "json",
    "tb",
    "run",
    "once",
    "rm",
    "tty",
    "ui",
    "headed",
    "headless",
    "debug",
    "nofail",
    "detectopenhandles",
    "xml",
    "junit",
    "junitxml",
    "html",
    "exposegc",
    "cover",
    "coverprofile",
    "coverpkg",
    "covermode",
    "benchmem",
    "strictports",
    "nologo",
    "norestore",
    "nobuild",
    "scan",
    "lf",
    "ff",
    "nf",
    "sw",
    "no",
    "exit",
    "bun",
    "outputsync",
    "diffonly",
    "ext",
    "host",
    "port",
    "help",
    "trimpath",
    "seed",
    "order",
    "orderby",
    "testdox",
    "testdoxsummary",
    "targetdir",
    "basetemp",
    "diagnostics",
    "extendeddiagnostics",
];
/// Short options of that kind, which may stand in one word: `-xvs`, `-j8`.
const LETTERS: &str = "vqsxlihtdykneobpVBUTrRjz0123456789";

/// Whether an option changes only what is told.
pub(super) fn is_telling(key: &str, value: &str, row: &Program) -> bool {
    let name: String = key.chars().filter(|c| !matches!(c, '-' | '_')).collect();
    if name.is_empty() {
        return true;
    }
    let is_short = !key.starts_with("--");
    if is_short && name == "count" {
        return value == "1";
    }
    let is_go = row.names.starts_with("go");
    let is_cluster = is_short
        && (name.len() == 1 || !is_go)
        && name
            .chars()
            .all(|c| LETTERS.contains(c) || own_letters(row).contains(c));
    // `-j$(nproc)`, `-j4`
    let is_number = |rest: &str| rest.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '$' | '`' | '%'));
    let is_cluster = is_cluster || is_short && name.strip_prefix(['j', 'l']).is_some_and(is_number);
    // `-rA` of pytest.
    let is_cluster =
        is_cluster || is_short && name.starts_with('r') && name.len() <= 4 && row.names.starts_with("pytest");
    let name = name.to_ascii_lowercase();
    // Who lets all pass, or looks at nothing, finds less.
    if name.contains("exitzero") || name == "issuesexitcode" || name == "nocheck" {
        return false;
    }
    let bare = name.strip_prefix("no").filter(|bare| !bare.is_empty()).unwrap_or(&name);
    is_cluster
        || TOLD.iter().any(|told| *told == name || *told == bare)
        || TELLING.iter().any(|piece| name.contains(piece))
}

/// Whether a lint that is run with an option as well finds no less than it does without.
pub(super) fn finds_no_less(key: &str, value: &str) -> bool {
    const MORE: &str = "-D -W -F -Wall -Wextra -Werror -r --release --deny --forbid --enable --enable-all --build --force --preview \
                        --count --unsafe-fixes --check-untyped-defs --pedantic --werror --locked";
    const BEGINS: &[&str] = &["--warn-", "--disallow-", "--error-on", "--fail-on", "--fatal", "--all"];
    let is_off = is_in(value, "false off no never");
    if key == "--max-warnings" {
        return value == "0";
    }
    let is_more = is_in(key, MORE) || BEGINS.iter().any(|begin| key.starts_with(begin));
    let is_strict = key.contains("strict") && !key.contains("no-") && !key.contains("non");
    !key.starts_with('-') || !is_off && (is_more || is_strict)
}

/// Short options that change only what is told, of this program and not of others.
fn own_letters(row: &Program) -> &'static str {
    const LETTERS: &[(&str, &str)] = &[("make", "O"), ("mvn", "X"), ("gradle", "S"), ("rspec", "f")];
    let row = LETTERS.iter().find(|(name, _)| is_in(name, row.names));
    row.map_or("", |(_, letters)| letters)
}
