//! Commands that only look: they change nothing, send nothing and start nothing, so that nobody is asked about them but for what they
//! look at.

use super::is_among;
use super::line::{Word, split};

/// Programs that only look, whatever their words are, but for [`DENIED`].
const PROGRAMS: &str = "ls pwd cat head tail wc nl tac rev cut tr fold column comm cmp diff grep egrep fgrep rg sort uniq du df stat \
    realpath readlink basename dirname md5sum sha1sum sha256sum od which date whoami uname";
/// The same, and no word of theirs names a file.
const SAYERS: &str = "echo printf true false :";
/// What git only looks with.
const GIT: &str = "status diff log show rev-parse ls-files describe blame shortlog";
/// Options, by program, that write, start something, follow links that nobody has looked at, or name files in a file: long ones, which may be shortened, and letters, which may stand among others.
const DENIED: &[(&str, &[&str], &str)] = &[
    (
        "git",
        &[
            "--output",
            "--ext-diff",
            "--textconv",
            "--no-index",
            "--open-files-in-pager",
        ],
        "O",
    ),
    ("rg", &["--pre", "--hostname-bin", "--follow"], "L"),
    ("grep", &["--dereference-recursive"], "R"),
    ("egrep", &["--dereference-recursive"], "R"),
    ("fgrep", &["--dereference-recursive"], "R"),
    ("diff", &["--recursive"], "r"),
    ("ls", &["--dereference", "--dereference-command-line"], "LH"),
    ("du", &["--dereference", "--dereference-args", "--files0-from"], "LDH"),
    ("wc", &["--files0-from"], ""),
    (
        "sort",
        &[
            "--output",
            "--compress-program",
            "--temporary-directory",
            "--files0-from",
        ],
        "oT",
    ),
    ("date", &["--set"], "s"),
];
/// Changes of folder in one line whose ways are followed: each may have been made or not.
const MOVES: usize = 3;

/// What a command line looks at, as far as it only looks.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Looks {
    /// No other command stands in the line.
    pub is_all: bool,
    /// Words that may name what is looked at, from where the shell stands.
    pub operands: Vec<String>,
}

/// What the commands of a line look at that only look; `None` where that is not known: the line cannot be judged, or it moves the shell in
/// ways that are not followed.
pub fn looks(line: &str) -> Option<Looks> {
    let commands = split(line)?;
    let mut looks = Looks {
        is_all: !commands.is_empty(),
        ..Looks::default()
    };
    let mut folders = vec![String::new()];
    for words in &commands {
        let operands = match below(words) {
            Some(folder) => vec![folder.to_owned()],
            None if only_looks(words) => operands(words),
            None if moves(words) => return None,
            None => {
                looks.is_all = false;
                continue;
            }
        };
        for folder in &folders {
            looks
                .operands
                .extend(operands.iter().map(|operand| format!("{folder}{operand}")));
        }
        if let Some(name) = below(words) {
            if folders.len() >= 1 << MOVES {
                return None;
            }
            let farther: Vec<String> = folders.iter().map(|folder| format!("{folder}{name}/")).collect();
            folders.extend(farther);
        }
    }
    Some(looks)
}

/// The folder that a `cd` goes down to, of whose way nothing but its name has to be known.
pub(super) fn below(words: &[Word]) -> Option<&str> {
    let [cd, folder] = words else { return None };
    let is_plain =
        !folder.is_wild && !folder.is_home && !folder.text.starts_with(['/', '-']) && !folder.text.is_empty();
    let is_down = folder.text.split('/').all(|name| name != "..");
    (cd.text == "cd" && is_plain && is_down).then_some(folder.text.as_str())
}

/// Whether a command may have the shell stand elsewhere.
pub(super) fn moves(words: &[Word]) -> bool {
    words.iter().any(|word| is_among("cd pushd popd", &word.text))
}

/// Whether a command only looks.
pub(super) fn only_looks(words: &[Word]) -> bool {
    let [program, arguments @ ..] = words else { return false };
    let name = program.text.as_str();
    // Which files a wildcard is, is not known before it runs.
    let is_certain = || arguments.iter().all(|word| !word.is_wild && !word.is_home);
    let is_denied = || {
        let (_, long, letters) = DENIED
            .iter()
            .find(|(denied, ..)| *denied == name)
            .unwrap_or(&("", &[], ""));
        arguments.iter().any(|word| {
            let text = word.text.as_str();
            let option = text.split('=').next().unwrap_or_default();
            match text.strip_prefix("--") {
                Some("") => false,
                Some(_) => long.iter().any(|denied| denied.starts_with(option)),
                None => text.starts_with('-') && text.contains(|letter| letters.contains(letter)),
            }
        })
    };
    match name {
        "git" => {
            let [subcommand, ..] = arguments else { return false };
            is_among(GIT, &subcommand.text) && arguments.iter().all(|word| !word.is_home) && !is_denied()
        }
        // Behind the first file stands the one that is written.
        "uniq" => is_certain() && arguments.iter().filter(|word| !word.text.starts_with('-')).count() < 2,
        "ls" => {
            let is_outside = |word: &Word| word.is_home || word.is_wild && word.text.contains('/');
            !arguments.iter().any(is_outside) && !is_denied()
        }
        name => is_among(SAYERS, name) || is_among(PROGRAMS, name) && is_certain() && !is_denied(),
    }
}

/// The words of a command that only looks which may name something: each word, and what stands behind the name of an option.
fn operands(words: &[Word]) -> Vec<String> {
    let [program, arguments @ ..] = words else {
        return Vec::new();
    };
    if is_among(SAYERS, &program.text) {
        return Vec::new();
    }
    let mut operands = Vec::new();
    for text in arguments.iter().map(|word| word.text.as_str()) {
        operands.push(text.to_owned());
        operands.extend(text.split_once('=').map(|(_, value)| value.to_owned()));
        if text.starts_with('-') {
            operands.extend(text.char_indices().skip(2).map(|(at, _)| text[at..].to_owned()));
        }
    }
    operands
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn what_only_looks_is_known_with_what_it_looks_at() {
        for (line, operands) in [
            ("pwd", &[][..]),
            ("git status", &["status"]),
            ("git log -3 | head -n 5", &["log", "-3", "-n", "5"]),
            ("cd sub && cat a", &["sub", "a", "sub/a"]),
            ("cd a; cd b; cat c", &["a", "b", "a/b", "c", "a/c", "b/c", "a/b/c"]),
            (
                "grep -f/etc/x y",
                &["-f/etc/x", "/etc/x", "etc/x", "tc/x", "c/x", "/x", "x", "y"],
            ),
            ("rg --file=a b", &["--file=a", "a", "b"]),
            ("echo /etc/passwd | wc -l", &["-l"]),
        ] {
            let found = looks(line).unwrap();
            assert!(found.is_all, "{line}");
            for operand in operands {
                assert!(
                    found.operands.iter().any(|found| found == operand),
                    "{line}: {operand} {found:?}"
                );
            }
        }
    }

    #[test]
    fn what_may_do_more_than_look_is_asked_about() {
        for line in [
            "ls; rm a",
            "git push",
            "git -C /x status",
            "git -c core.fsmonitor=./x status",
            "git diff --output=x",
            "git diff --out x",
            "git log --ext-diff",
            "git diff --no-index /etc/passwd a",
            "git grep -Oless x",
            "rg --pre ./x y",
            "sort -o a b",
            "sort -ro a b",
            "sort --outp=a b",
            "uniq a b",
            "date -s now",
            "cat *",
            "cat ~/x",
            "rg -L x",
            "rg --follow x",
            "grep -R x .",
            "grep -nR x .",
            "diff -r a b",
            "ls -LR",
            "sort --files0-from=a",
            "jq -n x",
            "cd a; cd b; cd c; cd d; cat e",
            "cd / && cat etc/x",
            "pushd / && cat etc/x",
            "ls ~",
            "ls a/*",
            "cd ..; cat a",
            "cd /; cat a",
            "cd -; cat a",
            "cd; cat a",
            "./ls",
            "/bin/cat a",
            "find . -delete",
            "sed -n p a",
            "printf -v a b",
            "cat $(x)",
            "cat a > b",
            "X=1 cat a",
            "command cat a",
        ] {
            assert!(!looks(line).is_some_and(|looks| looks.is_all), "{line}");
        }
    }
}
