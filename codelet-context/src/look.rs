//! Whether a command line only looks at files, as a tool that reads them would.

use crate::command::git::Git;
use crate::command::{Command, Script};
use crate::commits::is_hash;
use crate::effects::{awk_writes, sed_writes};
use crate::word_list::is_in;

/// What prints the lines of the files that it is given.
const READERS: &str = "cat nl head tail sed awk gawk bat batcat less more type get-content gc";
/// Of these, the first operand is a script and no file.
const SCRIPTED: &str = "sed awk gawk";
/// What may stand beside a reader: it prints little or nothing.
const BESIDE: &str = "echo printf true pwd ls wc test [ set export for done :";
/// What makes `git diff` and `git show` list files instead of lines.
const LISTS: &str = "--stat --shortstat --numstat --name-only --name-status --summary";

/// Letters of the shortest hash that Git prints by itself: fewer may be a branch's name.
const SHORT: usize = 7;

/// What prints a file from its first line to its last, whatever options it has.
const WHOLE: &str = "cat nl type";
/// … where it has none.
const WHOLE_WITHOUT_OPTIONS: &str = "bat batcat get-content gc";

/// A look at files.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Look {
    /// The first file that lines are printed of; empty if none is named (`git diff`).
    pub file: String,
    /// No other file is printed, and this one as it is.
    pub is_at_one: bool,
    /// All of it is.
    pub is_at_all: bool,
}

/// What a command line looks at, where printing lines of files is all it does.
pub(crate) fn look(script: &Script) -> Option<Look> {
    if let [only] = &script.commands[..]
        && let Some(script) = only.script.as_ref().filter(|_| !only.is_elsewhere)
    {
        return look(script);
    }
    let mut found: Option<Look> = None;
    let mut is_filtered = false;
    let mut see = |file: String, is_at_one: bool, is_at_all: bool| match &mut found {
        None => {
            found = Some(Look {
                file,
                is_at_one,
                is_at_all,
            });
        }
        // A second look may be at another part of the same.
        Some(look) => {
            look.is_at_one &= is_at_one && look.file == file;
            look.is_at_all = false;
        }
    };
    for command in &script.commands {
        let words = command.words();
        words.first()?;
        if command.is_elsewhere {
            return None;
        }
        let (program, is_piped) = (command.name(), command.is_piped);
        if is_in(&program, READERS) {
            if !is_piped {
                let files = operands(&program, &words[1..])?;
                let [first, rest @ ..] = &files[..] else {
                    return None;
                };
                let has_options = words.len() > 2;
                let is_all = is_in(&program, WHOLE) || is_in(&program, WHOLE_WITHOUT_OPTIONS) && !has_options;
                see(
                    command.folder.name(first).into_owned(),
                    rest.is_empty(),
                    rest.is_empty() && is_all,
                );
            } else if is_written(&program, &words[1..]) {
                return None;
            }
            is_filtered |= is_piped;
        } else if program == "git" && !is_piped {
            see(compared(command)?, false, false);
        } else if is_piped || !command.goes() && !is_in(&program, BESIDE) {
            return None;
        }
    }
    let mut look = found?;
    look.is_at_all &= !is_filtered;
    Some(look)
}

/// The files among a reader's arguments, if it prints them.
fn operands<'a>(program: &str, arguments: &'a [String]) -> Option<Vec<&'a str>> {
    if is_written(program, arguments) {
        return None;
    }
    let is_number = |word: &str| word.bytes().all(|b| b.is_ascii_digit());
    let mut operands = arguments
        .iter()
        .map(|word| &**word)
        .filter(|word| !word.starts_with('-') && !is_number(word));
    if is_in(program, SCRIPTED) {
        operands.next()?;
    }
    Some(operands.collect())
}

/// Whether it is told to change the file instead of printing it.
fn is_written(program: &str, arguments: &[String]) -> bool {
    match program {
        "sed" => sed_writes(arguments),
        "awk" | "gawk" => awk_writes(arguments),
        _ => false,
    }
}

/// The file of a `git diff` or `git show` that prints lines, or nothing if it names none.
fn compared(command: &Command) -> Option<String> {
    let git = Git::of(command)?;
    let is_patch = git.has("-p -u --patch");
    match git.verb {
        "diff" | "show" if is_patch || !git.has(LISTS) => {}
        "stash" if is_patch && git.rest.first().is_some_and(|word| word == "show") => {}
        _ => return None,
    }
    let (before, behind) = git.operands("");
    // What was told of commits stays so, whatever becomes of the files.
    if is_of_commits(git.verb, &before) {
        return Some(String::new());
    }
    let named = behind
        .iter()
        .flatten()
        .next()
        .map(|(path, _)| git.at.name(path).into_owned());
    // What a commit had is named as seen from the repository.
    let shown = || before.iter().find_map(|(word, _)| word.split_once(':'));
    Some(named.or_else(|| Some(shown()?.1.to_owned())).unwrap_or_default())
}

/// Whether what these words name to be shown or compared is nothing but commits by their hashes, or files of them: not the
/// files that there are, nor what a branch has by now.
fn is_of_commits(verb: &str, words: &[(&str, bool)]) -> bool {
    let mut ends = 0;
    for &(word, is_open) in words {
        let mut named = word.split("..").map(|end| end.trim_start_matches('.'));
        if is_open || !named.all(is_commit) {
            return false;
        }
        // `a..b` are two, and so is what a commit and those before it differ by.
        ends += 1 + usize::from(word.contains("..") || word.ends_with("^!"));
    }
    // One alone is compared with what there is.
    ends >= if verb == "diff" { 2 } else { 1 }
}

/// Whether this is a commit by its hash, as short as Git prints one, or one so many before it, or a file of one.
fn is_commit(revision: &str) -> bool {
    let name = revision.split(['~', '^', ':']).next().unwrap_or(revision);
    name.len() >= SHORT && is_hash(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn file(script: &Script) -> Option<String> {
        look(script).map(|look| look.file)
    }

    #[test]
    fn all_of_a_file_is_shown_by_what_prints_it_alone_and_from_end_to_end() {
        let how = |line: &str| look(&Script::read(line)).map(|look| (look.is_at_one, look.is_at_all));
        for line in [
            "cat a.rs",
            "cat -n ./a.rs 2>/dev/null",
            "cd /w && nl -ba a.rs",
            "echo '--- a.rs' && cat a.rs",
            "bash -lc 'cat a.rs'",
            "gc a.rs",
        ] {
            assert_eq!(how(line), Some((true, true)), "{line}");
        }
        for line in [
            "cat a.rs | head -30",
            "cat a.rs | tail",
            "cat a.rs | sed -n 1,30p",
            "cat a.rs | awk 'NR<30'",
            "cat a.rs | cut -c1-80 | head",
            "nl -ba a.rs | sed -n '10,20p'",
            "head -30 a.rs",
            "sed -n 1,9p a.rs; sed -n 20,30p a.rs",
            "bat -r 1:30 a.rs",
            "Get-Content a.rs -TotalCount 30",
        ] {
            assert!(how(line).is_none_or(|(_, is_all)| !is_all), "{line}");
        }
        for line in [
            "cat a.rs b.rs",
            "cat a.rs; cat b.rs",
            "git show HEAD:a.rs",
            "git diff a.rs",
        ] {
            assert_eq!(how(line), Some((false, false)), "{line}");
        }
    }

    #[test]
    fn a_line_that_prints_files_is_a_look_at_the_first() {
        for (line, file_of) in [
            ("cat src/a.rs", "src/a.rs"),
            ("cd /x && sed -n '1,200p' src/a.rs", "/x/src/a.rs"),
            ("cd x; cd y && cat a.rs /b.rs", "x/y/a.rs"),
            ("cd x && cat /a.rs", "/a.rs"),
            ("sed -n 1,5p a.rs && printf '\\n--\\n' && sed -n 1,5p b.rs", "a.rs"),
            ("nl -ba a.rs | sed -n '10,20p'", "a.rs"),
            ("head -n 40 a.rs 2>/dev/null", "a.rs"),
            ("bash -lc 'cat a.rs'", "a.rs"),
            ("sudo -u me cat a.rs", "a.rs"),
            ("Get-Content src\\a.rs", "src\\a.rs"),
            ("cmd /c type src\\a.rs", "src\\a.rs"),
            ("pwsh -NoProfile -Command \"Set-Location x; gc a.rs\"", "x/a.rs"),
            ("for f in a b; do cat \"$f\"; done", "$f"),
            ("git diff", ""),
            ("git diff HEAD~1 -- a.rs b.rs", "a.rs"),
            ("cd x && git diff --cached -- a.rs", "x/a.rs"),
            ("git --no-pager -c core.pager=cat diff -- a.rs", "a.rs"),
            ("git show main:src/a.rs | head -20", "src/a.rs"),
            ("git show HEAD -- src/a.rs", "src/a.rs"),
            ("git show -p -- src/a.rs", "src/a.rs"),
            ("git diff 1f00c2d -- a.rs", "a.rs"),
            ("git diff 1f00c2d..HEAD -- a.rs", "a.rs"),
            ("git diff 1f00c2d.. -- a.rs", "a.rs"),
            ("git show $rev -- a.rs", "a.rs"),
            ("git stash show -p", ""),
            ("git -C /x show --stat --patch 1f00", ""),
        ] {
            assert_eq!(file(&Script::read(line)).as_deref(), Some(file_of), "{line}");
        }
    }

    #[test]
    fn a_line_that_does_more_than_print_files_is_no_look() {
        for line in [
            "",
            "cargo test",
            "cat a.rs | grep x",
            "sed -i s/a/b/ a.rs",
            "sed -Ei s/a/b/ a.rs",
            "gawk -i inplace '{ print }' a.rs",
            "cat a.rs | sed -i s/a/b/ b.rs",
            "sed -n 1,5p a.rs && cargo test",
            "cat <<EOF\nx\nEOF",
            "ls src",
            "git diff --stat",
            "git log -p",
            "git add show",
            "git branch diff",
            "git stash show",
            "docker exec app cat a.rs",
            "docker exec app sh -c 'cat a.rs'",
            "podman run --rm x cat a.rs",
            "echo x | cat a.rs",
        ] {
            assert_eq!(file(&Script::read(line)), None, "{line}");
        }
    }

    #[test]
    fn what_is_told_of_commits_is_no_file_that_there_is() {
        for line in [
            "git show 1f00c2d -- src/a.rs",
            "git --no-pager show --stat --patch 1f00c2d4 -- a.rs b.rs",
            "git show 1f00c2d:src/a.rs | sed -n 1,80p",
            "cd x && git show 1f00c2dab44e~2:./a.rs",
            "git show 1f00c2d^ a9b8c7d6 -- a.rs",
            "git diff 1f00c2d a9b8c7d -- a.rs",
            "git diff 1f00c2d^..1f00c2d -- a.rs",
            "git diff 1f00c2d...a9b8c7d -- a.rs",
            "git diff 1f00c2d^! -- a.rs",
            "git diff 1f00c2d:a.rs a9b8c7d:a.rs",
            "git show DFBA5083F00D -- a.rs; git show a9b8c7d:b.rs",
        ] {
            assert_eq!(file(&Script::read(line)).as_deref(), Some(""), "{line}");
        }
    }

    proptest! {
        #[test]
        fn no_revision_is_too_odd(line in "git (show|diff)( -p)?( [0-9a-fé.~^:!$-]{0,12}){0,3}( -- [é.a]{0,3})?") {
            let _ = file(&Script::read(&line));
        }
    }
}
