//! Determines what a sandboxed command lacked, as far as this is possible from outside.
//!
//! The kernel does not report what it refuses, and a command prints what it likes. So its output only says where to
//! look; that the sandbox forbids an access and that the user could make it are facts that are checked here. This
//! widens nothing: the user is asked.

use crate::TEMPORARY;
use crate::ending::tail;
use crate::sandbox::Sandbox;
use crate::tool_context::ToolContext;
use codelet_agent::tool::Lack;
use rustix::fs::{Access, FileType, access};
use std::path::{Path, PathBuf};

/// The longest path that is checked, in bytes, and the number of paths checked in a text.
const LONGEST: usize = 1024;
const MOST: usize = 20;
/// Parts of a line that indicate a refusal; paths count only on such a line.
const REFUSED: [&str; 4] = ["ermission denied", "EACCES", "os error 13", "not permitted"];
/// Parts of a text that indicate that there is no network, or that listening is not allowed.
const UNREACHED: [&str; 18] = [
    "resolve host",
    "name resolution",
    // glibc and Python, such as pip.
    "Name or service not known",
    "EAI_AGAIN",
    "ENOTFOUND",
    "etwork is unreachable",
    "/dev/tcp/",
    "/dev/udp/",
    "ocket: operation not permitted",
    "ocket: permission denied",
    "ocket: Permission denied",
    "Couldn't connect to server",
    // Also for loopback only: Node, Go and C, Java, Python.
    "listen EACCES",
    "connect EACCES",
    "ind: permission denied",
    "ind: Permission denied",
    "Permission denied (Bind failed)",
    "urlopen error [Errno 13]",
];
/// Parts of a stack trace that indicate the same where an access was refused.
const LISTENS: [&str; 2] = [".bind(", ".connect("];

/// Returns what a failed command that began in this folder lacked in its sandbox; `None` if there is no evidence.
pub(crate) fn of(context: &ToolContext, sandbox: &Sandbox, from: &Path, printed: &str) -> Option<Lack> {
    if sandbox.only_looks() {
        return None;
    }
    let printed = tail(printed);
    let has = |text: &str, signs: &[&str]| signs.iter().any(|sign| text.contains(sign));
    let mut refused = printed.lines().filter(|line| has(line, &REFUSED)).peekable();
    let is_refused = refused.peek().is_some();
    if refused
        .flat_map(places)
        .take(MOST)
        .map(|place| from.join(place))
        .any(|place| is_socket(context, &place) || is_kept(sandbox, &place))
    {
        return Some(Lack::Freedom);
    }
    // Last, since only the words of the output are evidence.
    let is_offered = !sandbox.has_network() && context.options.offers_network;
    let is_unreached = || has(printed, &UNREACHED) || is_refused && has(printed, &LISTENS);
    (is_offered && is_unreached()).then_some(Lack::Network)
}

/// The paths on a line that are absolute or begin with `..`: quoted, or up to whitespace or punctuation.
fn places(line: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut before = ' ';
    let mut rest = line;
    while let Some(at) = rest.find('/') {
        let start = if rest[..at].ends_with("..") { at - 2 } else { at };
        before = rest[..start].chars().next_back().unwrap_or(before);
        let text = &rest[start..];
        let quote = match before {
            '\'' | '"' | '`' => Some(before),
            '‘' => Some('’'),
            '“' => Some('”'),
            _ => None,
        };
        let begins = quote.is_some() || before.is_whitespace() || matches!(before, '(' | '[' | '=' | ':');
        let end = match quote {
            Some(quote) => text.find(quote),
            None => text.find(|c: char| c.is_whitespace() || matches!(c, ':' | ',' | ';' | ')' | ']' | '\'' | '"')),
        };
        let end = end.unwrap_or(text.len());
        // URLs have two slashes.
        if begins && end <= LONGEST && !text.starts_with("//") {
            found.push(PathBuf::from(&text[..end]));
        }
        before = '/';
        rest = &text[if begins { end.max(1) } else { 1 }..];
    }
    found
}

/// Returns whether the user may write to this file or folder, or create it, and the sandbox does not let commands.
fn is_kept(sandbox: &Sandbox, place: &Path) -> bool {
    // The kernel's own are no files of the user: a shell names its descriptors, and hosts (`/dev/tcp/…`), as such.
    if place.starts_with("/proc") || place.starts_with("/dev") {
        return false;
    }
    let folder = || place.parent()?.canonicalize().ok();
    let real = place.canonicalize().ok().or_else(folder);
    real.is_some_and(|real| !sandbox.writes(&real) && access(&real, Access::WRITE_OK).is_ok())
}

/// Returns whether another program of this machine listens on this socket and the user may connect to it, which the
/// sandbox always forbids. A socket that commands may have created, in this session or an earlier one, does not count.
fn is_socket(context: &ToolContext, place: &Path) -> bool {
    let Ok(real) = place.canonicalize() else { return false };
    let is_one = rustix::fs::stat(&real).is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Socket);
    let is_commands = context.widest().writes(&real) || TEMPORARY.iter().any(|folder| real.starts_with(folder));
    is_one && !is_commands && access(&real, Access::WRITE_OK).is_ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use proptest::prelude::*;

    #[test]
    fn places_are_read_as_programs_write_them() {
        for (line, expected) in [
            (
                "mkdir: cannot create directory ‘/srv/my data/x’: Permission denied",
                &["/srv/my data/x"][..],
            ),
            ("bash: line 1: /srv/a: Permission denied", &["/srv/a"]),
            (
                "PermissionError: [Errno 13] Permission denied: '/srv/a b.txt'",
                &["/srv/a b.txt"],
            ),
            ("open(/srv/a) = -1 EACCES, path=/srv/b", &["/srv/a", "/srv/b"]),
            ("touch: cannot touch 'a/b': Permission denied", &[]),
            ("touch: cannot touch '../a/../b c': Permission denied", &["../a/../b c"]),
            ("bash: line 1: ../a: Permission denied", &["../a"]),
            ("x../a ...: Permission denied", &[]),
            ("https://example.com/x: Permission denied", &[]),
            ("unix:///run/x.sock: permission denied", &[]),
        ] {
            let found: Vec<String> = places(line).iter().map(|place| place.display().to_string()).collect();
            assert_eq!(found, expected, "{line}");
        }
    }

    proptest! {
        #[test]
        fn any_line_is_read_to_its_end(line in "[ /'\"‘’:(ab\u{1b}]{0,60}") {
            for place in places(&line) {
                prop_assert!(place.is_absolute() || place.starts_with(".."));
            }
        }
    }
}
