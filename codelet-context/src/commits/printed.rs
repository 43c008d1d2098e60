//! What Git prints of the commits that it makes, or that it could not make.

use super::{Made, is_hash};
use crate::message::ToolResult;

/// What was printed by a line that makes commits.
pub(super) struct Printed<'a> {
    lines: Vec<&'a str>,
    /// The commits that it names and that were not taken yet, in their order.
    named: Vec<Named<'a>>,
    pub is_empty: bool,
    /// Git says that it could not, or had nothing to do, and not only behind the commits.
    pub complains: bool,
    /// It, or a hook, says that nothing was committed.
    pub refuses: bool,
    /// The files that a commit changes are counted.
    pub counts: bool,
}

/// `[main 1a2b3c4] Mend the parser`
struct Named<'a> {
    branch: &'a str,
    hash: &'a str,
    words: &'a str,
    /// The line has nothing before it.
    is_whole: bool,
}

impl<'a> Printed<'a> {
    pub(super) fn by(result: &'a ToolResult) -> Printed<'a> {
        let lines: Vec<&str> = result.texts().flat_map(|text| text.body.as_str().lines()).collect();
        let last = lines.iter().rposition(|line| Named::of(line).is_some());
        let before = &lines[..last.unwrap_or(lines.len())];
        let has = |is_it: fn(&str) -> bool| lines.iter().any(|line| is_it(line));
        Printed {
            named: lines.iter().filter_map(|line| Named::of(line)).collect(),
            is_empty: !has(|line| !line.trim().is_empty()),
            complains: before.iter().any(|line| complains(line)),
            refuses: has(refuses),
            counts: has(counts),
            lines,
        }
    }

    /// The commit with this message.
    pub(super) fn named(&mut self, words: &str) -> Option<Made> {
        let position = |is_it: &dyn Fn(&str) -> bool| self.named.iter().position(|named| is_it(named.words));
        // The lines of a first paragraph are one line for Git.
        let at = position(&|other| other == words).or_else(|| position(&|other| other.starts_with(words)))?;
        Some(Made {
            words: Some(words.to_owned()),
            ..self.named.remove(at).made()
        })
    }

    /// The next one, whose message is the one that is printed.
    pub(super) fn next(&mut self) -> Option<Made> {
        let is_other = |named: &Named| named.is_whole && !named.is_revert();
        let at = self.named.iter().position(is_other)?;
        Some(self.named.remove(at).made())
    }

    /// Those that take others back.
    pub(super) fn reverts(&mut self) -> Vec<Made> {
        let is_it = |named: &mut Named| named.is_whole && named.is_revert();
        self.named.extract_if(.., is_it).map(|named| named.made()).collect()
    }

    /// The branches that were deleted, each with its newest commit.
    pub(super) fn deleted(&self) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.lines.iter().filter_map(|line| {
            let (branch, rest) = line.trim().strip_prefix("Deleted branch ")?.split_once(" (was ")?;
            let hash = rest.split(')').next().filter(|hash| is_hash(hash))?;
            Some((branch, hash))
        })
    }

    /// Whether a commit with this message is listed: `1a2b3c4 (HEAD -> main) Mend the parser`.
    pub(super) fn lists(&self, words: Option<&str>) -> bool {
        let Some(words) = words.filter(|words| !words.is_empty()) else {
            return false;
        };
        self.lines.iter().any(|line| {
            let hash = line.trim_start().split(' ').next();
            line.ends_with(words) && hash.is_some_and(is_hash)
        })
    }
}

impl<'a> Named<'a> {
    fn of(line: &'a str) -> Option<Named<'a>> {
        let (before, rest) = line.split_once('[')?;
        let (inside, words) = rest.split_once("] ")?;
        let (branch, hash) = inside.rsplit_once(' ')?;
        // `main (root-commit)`
        let branch = branch.split(" (").next().unwrap_or(branch);
        is_hash(hash).then_some(Named {
            branch,
            hash,
            words: words.trim(),
            is_whole: before.trim().is_empty(),
        })
    }

    fn is_revert(&self) -> bool {
        self.words.starts_with("Revert \"") || self.words.starts_with("Reapply \"")
    }

    fn made(self) -> Made {
        Made {
            words: Some(self.words.to_owned()).filter(|words| !words.is_empty()),
            hash: Some(self.hash.to_owned()),
            branch: Some(self.branch.to_owned()),
        }
    }
}

/// Whether Git says that it could not, or had nothing to do.
fn complains(line: &str) -> bool {
    const COMPLAINTS: [&str; 5] = [
        "fatal: ",
        "error: ",
        "nothing to commit",
        "nothing added to commit",
        "no changes added to commit",
    ];
    COMPLAINTS.iter().any(|complaint| line.starts_with(complaint))
}

/// Whether a line says that nothing was committed, and could not be of another command than `git commit`.
fn refuses(line: &str) -> bool {
    const BEGINNINGS: [&str; 9] = [
        "nothing added to commit",
        "no changes added to commit",
        "error: gpg failed to sign the data",
        "fatal: failed to write commit object",
        "Author identity unknown",
        "*** Please tell me who you are",
        "Aborting commit",
        "error: Committing is not possible",
        "- hook id: ",
    ];
    let is_of_hook = line.starts_with("husky - ") && (line.contains(" failed") || line.contains(" exited with code "));
    is_of_hook || BEGINNINGS.iter().any(|beginning| line.starts_with(beginning))
}

/// ` 1 file changed, 2 insertions(+)`, ` create mode 100644 a.rs`
fn counts(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().take(3).collect();
    match words[..] {
        [number, "file" | "files", word] => {
            word.trim_end_matches(',') == "changed" && number.bytes().all(|b| b.is_ascii_digit())
        }
        ["create" | "delete", "mode", mode] => mode.len() == 6 && mode.bytes().all(|b| b.is_ascii_digit()),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_commit_is_named_with_its_branch_and_its_message() {
        let named = |line| Named::of(line).map(|named| (named.branch, named.hash, named.words, named.is_whole));
        for (line, expected) in [
            (
                "[main 1a2b3c4] Mend [the] parser",
                ("main", "1a2b3c4", "Mend [the] parser", true),
            ),
            ("[main (root-commit) 1a2b3c4] one", ("main", "1a2b3c4", "one", true)),
            ("[detached HEAD 1a2b3c4] one", ("detached HEAD", "1a2b3c4", "one", true)),
            ("Output: [fix/a 1a2b3c4] one", ("fix/a", "1a2b3c4", "one", false)),
        ] {
            assert_eq!(named(line), Some(expected), "{line}");
        }
        for line in [
            "[main] one",
            "[1a2b3c4] one",
            "[INFO 12:30] one",
            "main 1a2b3c4 one",
            "] [a 1a2b",
        ] {
            assert_eq!(named(line), None, "{line}");
        }
    }

    #[test]
    fn what_a_commit_changes_is_counted() {
        for line in [
            " 1 file changed, 1 insertion(+)",
            " 12 files changed",
            " create mode 100644 a b.rs",
            " delete mode 120000 x",
        ] {
            assert!(counts(line), "{line}");
        }
        for line in ["", "1 file", "no files changed", "2 files checked", "create mode x"] {
            assert!(!counts(line), "{line}");
        }
    }

    proptest! {
        #[test]
        fn no_output_is_too_odd(output in r"(\[|\]| |main|1a2b3c4|Deleted branch | \(was |\)|é|\n|[0-9]){0,30}", words in r"(\PC| ){0,4}") {
            let result = ToolResult::new("1", None, output);
            let mut printed = Printed::by(&result);
            prop_assert!(printed.deleted().all(|(_, hash)| is_hash(hash)));
            printed.lists(Some(&words));
            printed.named(&words);
            printed.reverts();
            while printed.next().is_some() {}
            prop_assert!(printed.named.iter().all(|named| !named.is_whole));
        }
    }
}
