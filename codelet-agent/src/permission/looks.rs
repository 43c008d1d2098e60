//! Read-only commands. A line of only these runs without asking, in a sandbox that writes nothing, reads only the
//! workspace and starts only the system's programs; so this list decides what is asked about, and the sandbox what can
//! happen. Next to other commands there is no such sandbox: there only those of [`BESIDE`] need no pattern, and not
//! with every option.

use super::line::split;
use super::word::{ShellWord, is_among};

/// Programs that only read, even in a line with other commands.
const BESIDE: &str = "ls pwd cat test [ head tail wc nl tac rev cut tr fold column comm cmp grep egrep fgrep rg sort uniq du df stat \
    realpath readlink basename dirname od which date whoami uname";
/// The same, for programs whose arguments never name files: what they say, or how long they wait.
const SAYERS: &str = "echo printf true false : sleep";
/// Programs that only read, but whose reads only the sandbox confines: they follow links, lists of names and scripts of
/// their own.
const ALONE: &str = "diff find sed awk jq tree file strings xxd hexdump md5sum sha1sum sha256sum";
/// Read-only git subcommands; only if alone in a line, as the repository's settings name programs.
const GIT: &str = "status diff log show rev-parse ls-files ls-tree cat-file describe blame shortlog rev-list merge-base for-each-ref \
    show-ref diff-tree name-rev";
/// The git subcommands that only read with this as their first argument.
const READING: &[(&str, &str)] = &[
    ("stash", "list show"),
    ("reflog", "show"),
    ("remote", "get-url"),
    ("config", "get list --get --get-all --get-regexp --list -l"),
];
/// Options of `git config` that may follow that: they say where it reads, and how it shows what it finds.
const SHOWING: &str = "--all --global --local --name-only --null --show-origin --show-scope --system --worktree -z";
/// Options that make these programs change something, so that the user is asked first rather than the sandbox refusing
/// it: long ones, which may be abbreviated, and letters, which may be combined with others.
const CHANGING: &[(&str, &[&str], &str)] = &[
    ("git", &["--output"], ""),
    ("sort", &["--output"], "o"),
    ("date", &["--set"], "s"),
    ("sed", &["--in-place"], "i"),
    ("tree", &["--output"], "o"),
];
/// Options that make these programs start one that the line or the repository's settings name; the sandbox would
/// confine it, but nobody would have been asked. For letters, see [`opens_a_pager`].
const STARTING: &[(&str, &[&str], &str)] = &[
    (
        "git",
        &[
            "--open-files-in-pager", "--ext-diff", "--textconv", "--filters", "--show-signature",
        ],
        "",
    ),
    ("rg", &["--pre", "--hostname-bin"], ""),
    ("sort", &["--compress-program"], ""),
];
/// Letters of `git grep` that take a value.
const TAKING: &[char] = &['e', 'f', 'm', 'A', 'B', 'C'];
/// The same for `date`: what is behind such a letter is no option.
const VALUED: &[char] = &['d', 'f', 'I', 'r'];
/// Arguments of `find` that do more than read; `LISTING`: the only options allowed for `git branch`, `remote` and
/// `tag`. Only with [`ASKING`] are their other arguments patterns, and not the names of what they create.
const DOING: &str = "-delete -exec -execdir -ok -okdir -fprint -fprint0 -fprintf -fls";
const LISTING: &str = "-v -vv -a -r -l --list --all --remotes --verbose --show-current --sort --format";
const ASKING: &str = "--list --contains --no-contains --merged --no-merged --points-at";
/// Options of [`BESIDE`] programs that follow unchecked links, or read file names from a file.
const DENIED: &[(&str, &[&str], &str)] = &[
    ("rg", &["--follow"], "L"),
    ("grep", &["--dereference-recursive"], "R"),
    ("egrep", &["--dereference-recursive"], "R"),
    ("fgrep", &["--dereference-recursive"], "R"),
    ("ls", &["--dereference", "--dereference-command-line"], "LH"),
    ("du", &["--dereference", "--dereference-args", "--files0-from"], "LDH"),
    ("wc", &["--files0-from"], ""),
    ("tail", &["--follow", "--retry"], "fF"),
    ("sort", &["--temporary-directory", "--files0-from"], "T"),
];
/// The maximum number of `cd` commands in one line whose outcomes are tracked: each may have succeeded or not.
const MOVES: usize = 3;

/// The files that the read-only commands of a line read.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Looks {
    /// True if the line contains no other commands.
    pub is_all: bool,
    /// The programs of the read-only commands, as named in the line.
    pub programs: Vec<String>,
    /// The arguments that may name files, relative to the shell's directory.
    pub operands: Vec<String>,
}

/// Returns what the read-only commands of a line read; `None` if that is unknown: the line cannot be judged, or it
/// changes the directory in ways that are not tracked.
pub fn looks(line: &str) -> Option<Looks> {
    let commands = split(line)?;
    let is_look = |words: &Vec<ShellWord>| below(words).is_some() || only_looks(words, true);
    let mut looks = Looks {
        is_all: !commands.is_empty() && commands.iter().all(is_look),
        ..Looks::default()
    };
    let mut folders = vec![String::new()];
    for words in &commands {
        let operands = match below(words) {
            Some(folder) => vec![folder.to_owned()],
            None if only_looks(words, looks.is_all) => {
                looks.programs.extend(words.first().map(|program| program.text.clone()));
                operands(words)
            }
            None if moves(words) => return None,
            None => continue,
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

/// Returns the folder of a `cd` that only goes down, by a literal relative path.
pub(super) fn below(words: &[ShellWord]) -> Option<&str> {
    let [cd, folder] = words else { return None };
    let is_plain =
        !folder.is_wild && !folder.is_home && !folder.text.starts_with(['/', '-']) && !folder.text.is_empty();
    let is_down = folder.text.split('/').all(|name| name != "..");
    (cd.text == "cd" && is_plain && is_down).then_some(folder.text.as_str())
}

/// Returns whether a command may change the shell's directory.
pub(super) fn moves(words: &[ShellWord]) -> bool {
    words.iter().any(|word| is_among("cd pushd popd", &word.text))
}

/// Returns whether a command only reads; `is_alone` says that all other commands in its line do, too.
pub(super) fn only_looks(words: &[ShellWord], is_alone: bool) -> bool {
    let [program, arguments @ ..] = words else { return false };
    let name = program.text.as_str();
    let is_home = arguments.iter().any(|word| word.is_home);
    if is_home
        || [CHANGING, STARTING]
            .iter()
            .any(|table| has_option(table, name, arguments))
    {
        return false;
    }
    if is_alone {
        if let [option] = arguments
            && is_among("--version -V", &option.text)
            && !name.contains('/')
        {
            return true;
        }
        return match name {
            "git" => git_only_looks(arguments),
            "find" => !arguments.iter().any(|word| is_among(DOING, &word.text)),
            _ => only_names(words) || is_beside(name, arguments) || is_among(ALONE, name),
        };
    }
    // The files that a wildcard matches are unknown until it runs; listing names within the current folder is harmless.
    let is_open =
        |word: &ShellWord| word.is_wild && (word.text.contains('/') || !matches!(name, "ls" | "echo" | "printf"));
    let is_known = only_names(words) || is_beside(name, arguments);
    is_known && !arguments.iter().any(is_open) && !has_option(DENIED, name, arguments)
}

/// Returns whether a program only reads, even in a line with other commands. The second file of `uniq` is its output.
fn is_beside(name: &str, arguments: &[ShellWord]) -> bool {
    match name {
        "uniq" => operands_of(arguments) < 2,
        _ => is_among(SAYERS, name) || is_among(BESIDE, name),
    }
}

/// Returns whether a command is `command -v`, which only says what a name means.
fn only_names(words: &[ShellWord]) -> bool {
    matches!(words, [program, option, ..] if program.text == "command" && is_among("-v -V", &option.text))
}

/// Returns whether a command shows or searches text and starts nothing, whatever its arguments say.
pub(super) fn only_shows(words: &[ShellWord]) -> bool {
    let [program, arguments @ ..] = words else { return false };
    let name = program.text.as_str();
    (is_among(SAYERS, name) || is_among(BESIDE, name)) && !has_option(STARTING, name, arguments)
}

fn operands_of(arguments: &[ShellWord]) -> usize {
    arguments.iter().filter(|word| !word.text.starts_with('-')).count()
}

/// Returns whether a git subcommand only reads. Some list without an argument, and change what an argument names.
fn git_only_looks(arguments: &[ShellWord]) -> bool {
    let [subcommand, rest @ ..] = arguments else {
        return false;
    };
    let name = subcommand.text.as_str();
    let mut words = rest.iter().map(|word| word.text.as_str());
    let first = words.find(|text| name != "config" || !is_among(SHOWING, text));
    if let Some((_, reading)) = READING.iter().find(|(other, _)| *other == name)
        && let Some(first) = first.filter(|first| is_among(reading, first))
    {
        let mut options = rest.iter().filter(|word| word.text.starts_with('-'));
        return name != "config" || options.all(|word| word.text == first || is_among(SHOWING, &word.text));
    }
    let says = |listed: &str| rest.iter().any(|word| is_among(listed, option(&word.text)));
    let is_asked = match name {
        "branch" => says(ASKING),
        "tag" => says(ASKING) || says("-l"),
        _ => false,
    };
    match name {
        "grep" => !rest.iter().any(opens_a_pager),
        "reflog" => rest.iter().all(|word| word.text.starts_with('-')),
        "branch" | "remote" | "tag" => rest.iter().all(|word| {
            let option = option(&word.text);
            is_among(LISTING, option) || is_asked && (is_among(ASKING, option) || !word.text.starts_with('-'))
        }),
        name => is_among(GIT, name),
    }
}

/// Returns a long option without its value.
fn option(text: &str) -> &str {
    text.split('=').next().unwrap_or_default()
}

/// Returns whether a word is `git grep`'s `-O`: alone, among other letters, or followed by its program.
fn opens_a_pager(word: &ShellWord) -> bool {
    let letters = word.text.strip_prefix('-').filter(|letters| !letters.starts_with('-'));
    letters.is_some_and(|letters| letters.split(TAKING).next().is_some_and(|flags| flags.contains('O')))
}

/// Returns whether a program's arguments include an option of this table.
fn has_option(table: &[(&str, &[&str], &str)], program: &str, arguments: &[ShellWord]) -> bool {
    let Some((_, long, letters)) = table.iter().find(|(name, ..)| *name == program) else {
        return false;
    };
    arguments.iter().any(|word| {
        let text = word.text.as_str();
        match text.strip_prefix("--") {
            Some("") => false,
            Some(_) => long.iter().any(|listed| listed.starts_with(option(text))),
            None => {
                let valued = if program == "date" { VALUED } else { &[] };
                let flags = text.split(valued).next().unwrap_or_default();
                text.starts_with('-') && flags.contains(|letter| letters.contains(letter))
            }
        }
    })
}

/// Returns the arguments of a read-only command that may name files: each argument, and the values attached to options.
fn operands(words: &[ShellWord]) -> Vec<String> {
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
            ("git stash list", &["list"]),
            ("python3 --version && cc -V 2>&1 | head -1", &["-1"]),
            ("cat *.md | sed -n 1,9p", &["*.md", "1,9p"]),
            ("git log -3 | head -n 5", &["log", "-3", "-n", "5"]),
            ("cd sub && cat a", &["sub", "a", "sub/a"]),
            ("cd a; cd b; cat c", &["a", "b", "a/b", "c", "a/c", "b/c", "a/b/c"]),
            (
                "grep -f/etc/x y",
                &["-f/etc/x", "/etc/x", "etc/x", "tc/x", "c/x", "/x", "x", "y"],
            ),
            ("rg --file=a b", &["--file=a", "a", "b"]),
            ("echo /etc/passwd | wc -l", &["-l"]),
            ("git grep -ine TODO", &["TODO"]),
            ("git grep -eTODO --or -e FOO", &["FOO"]),
            ("git log --oneline --no-ext-diff --no-textconv -O order", &["order"]),
            ("git rev-list --count HEAD", &["HEAD"]),
            ("git merge-base HEAD main && git reflog", &["main"]),
            ("git reflog show -3 HEAD@{0}; git reflog --all", &["HEAD@{0}"]),
            ("git show stash@{1}:src/a.rs", &["stash@{1}:src/a.rs"]),
            (
                "git config --get user.name; git config --list --show-origin",
                &["user.name"],
            ),
            ("git config --global --get user.name", &["user.name"]),
            ("git config get --all remote.origin.url", &["remote.origin.url"]),
            ("git remote get-url origin", &["origin"]),
            ("git tag -l 'v*' --sort=-creatordate", &["v*"]),
            ("git branch --list main -v; git branch -a --merged", &["main"]),
            ("git branch --contains abc", &["abc"]),
            ("command -v x; echo hi!", &[]),
            (
                "date -Iseconds && date -Is && date -u -Ins && date -d 'last sunday'",
                &[],
            ),
            ("find . ! -name x.rs", &["x.rs"]),
            ("[ ! -e x ] || echo {}", &["x"]),
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
    fn what_changes_something_or_may_do_anything_is_asked_about() {
        for line in [
            "ls; rm a",
            "git push",
            "git branch new",
            "git stash",
            "git stash pop",
            "git stash list --output=x",
            "python3 --version x.py",
            "python3 -V x.py",
            "./x --version",
            "git tag -d v1",
            "git remote add x y",
            "git remote get-url --push x -- --output=y",
            "git tag v1",
            "git tag --sort=x v1",
            "git tag -l v1 -d v2",
            "git branch -l new",
            "git branch --list x -m y z",
            "git branch --merged -D x",
            "git reflog expire --all",
            "git reflog HEAD",
            "git reflog --all delete x",
            "git config user.name x",
            "git config --get x --edit",
            "git config --global --edit",
            "git config --get x -f y",
            "git config set x y",
            "command -p cat a",
            "command ./x",
            "date -us now",
            "echo {a,b}",
            "echo {1..3}",
            "echo a{b{c,d}}",
            "echo x {PATH}>/dev/null; ls",
            "echo x{a b}",
            "!ls",
            "git -C /x status",
            "git -c core.fsmonitor=./x status",
            "git diff --output=x",
            "git diff --out x",
            "git grep -O x",
            "git grep -Oless x",
            "git grep -nO./x x",
            "git grep -lhO x -- a",
            "git grep --open-files-in-pager=./x x",
            "git grep --op x",
            "git log -p --ext-diff",
            "git show --ext HEAD",
            "git diff --textconv",
            "git blame --textconv a",
            "git cat-file --filters HEAD:a",
            "git cat-file --textconv HEAD:a",
            "git log --show-signature",
            "git -p log",
            "git --exec-path=. log",
            "git branch --edit-description",
            "git archive -o a HEAD",
            "git ls-remote --upload-pack=./x .",
            "rg --pre ./x y",
            "rg --hostname-bin=./x y",
            "sort --compress-program=./x a",
            "sort -o a b",
            "sort -ro a b",
            "sort --outp=a b",
            "sed -i s/a/b/ x",
            "sed -ni s/a/b/ x",
            "find . -delete",
            "find . -exec rm {} +",
            "uniq a b",
            "date -s now",
            "cat ~/x",
            "ls ~",
            "cd a; cd b; cd c; cd d; cat e",
            "cd / && cat etc/x",
            "pushd / && cat etc/x",
            "cd ..; cat a",
            "cd /; cat a",
            "cd -; cat a",
            "cd; cat a",
            "./ls",
            "/bin/cat a",
            "python3 x.py",
            "printf -v a b",
            "cat $(x)",
            "cat a > b",
            "X=1 cat a",
            "command cat a",
        ] {
            assert!(!looks(line).is_some_and(|looks| looks.is_all), "{line}");
        }
    }

    #[test]
    fn beside_another_command_only_what_reads_what_it_names_needs_no_pattern() {
        let beside = |line: &str| split(line).unwrap().iter().all(|words| only_looks(words, false));
        for line in [
            "tail -20", "grep -n x | wc -l", "ls -la; ls *", "echo done", "cat a/b", "command -v x",
        ] {
            assert!(beside(line), "{line}");
        }
        for line in [
            "git status", "diff a b", "find .", "sha256sum -c a", "rg --pre ./x y", "rg -L x", "rg --follow x",
            "grep -R x .", "grep -nR x .", "ls -LR", "ls a/*", "cat *", "echo a/*", "echo ~", "tail -F a",
            "sort --files0-from=a", "sort -o a b",
        ] {
            assert!(!beside(line), "{line}");
        }
    }
}
