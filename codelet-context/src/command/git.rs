//! Git's command lines: what Git is asked to do, with which words, and in which folder.

use super::Command;
use crate::path::Folder;
use crate::word_list::is_in;

/// The options of Git's own that are followed by a value.
const VALUED: &str = "-C -c --git-dir --work-tree --namespace --config-env --attr-source";
/// Where Git is told of another repository than that of the folder it runs in.
const NAMING: &[&str] = &["GIT_DIR=", "GIT_WORK_TREE=", "GIT_COMMON_DIR="];

/// Words, each with whether the shell has to work it out.
type Words<'a> = Vec<(&'a str, bool)>;

/// A command that runs Git.
pub(crate) struct Git<'a> {
    /// What Git is asked to do: `commit`.
    pub verb: &'a str,
    /// The words behind it.
    pub rest: &'a [String],
    /// The folder that it is done in.
    pub at: Folder,
    pub command: &'a Command,
    /// So many words stand before the rest.
    skipped: usize,
}

impl<'a> Git<'a> {
    /// Reads a command, unless it runs another program or asks Git for nothing.
    pub fn of(command: &'a Command) -> Option<Git<'a>> {
        if command.name() != "git" {
            return None;
        }
        let words = command.words();
        let is_named = |word: &String| NAMING.iter().any(|name| word.starts_with(name));
        let (mut at, mut skipped) = (command.folder.clone(), 1);
        let mut is_elsewhere = command.wrapping().iter().any(is_named);
        while let Some(option) = words.get(skipped).filter(|word| word.starts_with('-')) {
            if option == "-C" {
                at = match command.arguments(skipped + 1).next() {
                    Some((folder, false)) => at.enter(folder, true),
                    _ => at.unknown(),
                };
            }
            is_elsewhere |= option.starts_with("--git-dir") || option.starts_with("--work-tree");
            skipped += 1 + usize::from(is_in(option, VALUED));
        }
        if is_elsewhere {
            at = at.unknown();
        }
        Some(Git {
            verb: words.get(skipped)?,
            rest: &words[skipped + 1..],
            at,
            command,
            skipped: skipped + 1,
        })
    }

    /// Whether one of its options is in this list, with a value behind `=` or without.
    pub fn has(&self, list: &str) -> bool {
        let mut names = self.options().map(|word| word.split('=').next().unwrap_or(word));
        names.any(|name| is_in(name, list))
    }

    /// Whether one of its options is this long one, or a cluster of letters with one of these.
    pub fn has_flag(&self, letters: &str, long: &str) -> bool {
        self.options().any(|word| match word.strip_prefix('-') {
            Some(rest) if rest.starts_with('-') => word.split('=').next() == Some(long),
            // What is longer is a letter with its value.
            Some(rest) => rest.len() <= 5 && rest.contains(|c| letters.contains(c)),
            None => false,
        })
    }

    /// The words before `--`, which ends the options.
    fn options(&self) -> impl Iterator<Item = &'a str> {
        let words = self.rest.iter().map(String::as_str);
        words.take_while(|word| *word != "--")
    }

    /// The words behind the verb, with whether the shell has to work them out.
    pub fn arguments(&self) -> impl Iterator<Item = (&'a str, bool)> + use<'a> {
        self.command.arguments(self.skipped)
    }

    /// What is no option and no value of one of these, with the same, and what stands behind `--`.
    pub fn operands(&self, valued: &str) -> (Words<'a>, Option<Words<'a>>) {
        let mut words = self.arguments();
        let mut found = Vec::new();
        while let Some((word, is_open)) = words.next() {
            if word == "--" {
                return (found, Some(words.collect()));
            } else if is_in(word, valued) {
                words.next();
            } else if word == "-" || !word.starts_with('-') {
                found.push((word, is_open));
            }
        }
        (found, None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::Script;
    use proptest::prelude::*;

    fn read(line: &str) -> Option<(String, String, Option<String>)> {
        let script = Script::read(line);
        let git = Git::of(script.commands.last()?)?;
        Some((
            git.verb.to_owned(),
            git.rest.join(" "),
            git.at.known().map(str::to_owned),
        ))
    }

    #[test]
    fn a_line_is_read_behind_the_options_of_git_itself() {
        for (line, verb, rest, at) in [
            ("git status", "status", "", Some("")),
            ("git -C a -c user.name=x commit -m y", "commit", "-m y", Some("a")),
            ("cd a && git -C b --no-pager log", "log", "", Some("a/b")),
            ("git --namespace x rm a.rs", "rm", "a.rs", Some("")),
            ("git --config-env user.name=ME commit", "commit", "", Some("")),
            ("sudo -u me git.exe -P diff -- a", "diff", "-- a", Some("")),
            ("git --git-dir /x/.git commit", "commit", "", None),
            ("git --git-dir=/x/.git --work-tree=/x add .", "add", ".", None),
            ("GIT_DIR=/x/.git git commit -am x", "commit", "-am x", None),
            ("env GIT_WORK_TREE=/x git checkout .", "checkout", ".", None),
            ("git -C \"$X\" stash", "stash", "", None),
            // What a message says is no folder.
            ("git commit -m GIT_DIR=x", "commit", "-m GIT_DIR=x", Some("")),
        ] {
            let expected = (verb.to_owned(), rest.to_owned(), at.map(str::to_owned));
            assert_eq!(read(line), Some(expected), "{line}");
        }
        for line in ["git", "git --version", "git -C", "gitk log", "echo git log", ""] {
            assert_eq!(read(line), None, "{line}");
        }
    }

    #[test]
    fn behind_two_dashes_nothing_is_an_option() {
        let script = Script::read("git x --force=1 -am y a -- --soft b");
        let git = Git::of(&script.commands[0]).expect("it is Git");
        assert!(git.has("--force") && git.has("-am") && !git.has("--soft"));
        assert!(git.has_flag("m", "--message") && !git.has_flag("s", "--soft"));
        let (before, behind) = git.operands("-am");
        assert_eq!(
            (before, behind),
            (vec![("a", false)], Some(vec![("--soft", false), ("b", false)]))
        );
    }

    proptest! {
        #[test]
        fn no_line_is_too_odd(line in r"(git|-C|-c|--git-dir|--|-|commit|GIT_DIR=|a/b|é|\$x|'|;| ){0,20}") {
            for command in &Script::read(&line).commands {
                if let Some(git) = Git::of(command) {
                    let (before, behind) = git.operands("-m");
                    let count = before.len() + behind.map_or(0, |behind| behind.len());
                    prop_assert!(count <= git.rest.len() && !git.verb.starts_with('-'));
                }
            }
        }
    }
}
