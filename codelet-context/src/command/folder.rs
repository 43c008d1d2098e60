//! The folder that a command line goes to before it runs anything, and in which folders lines are run as a rule.

use crate::path::{Folder, is_absolute};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// What the shell has to work out, or knows from an earlier line.
const OPEN: [char; 4] = ['$', '`', '*', '-'];

/// The folder that a line goes to first, as it is written, and all that comes behind it.
pub(crate) fn entered(line: &str) -> Option<(&str, &str)> {
    line.strip_prefix("cd ")?.split_once(" && ")
}

/// The folder that a line goes to first, as seen from where it begins, and the rest of the line. No name where it goes to none,
/// or nobody knows to which.
pub(crate) fn parted(line: &str) -> (String, &str) {
    let mut line = line.trim();
    let mut folder = Folder::default();
    let mut is_known = true;
    while let Some((name, rest)) = entered(line)
        && !name.contains(['\n', ';', '|'])
    {
        let name = name.trim().trim_matches(['"', '\'']);
        is_known &= !name.starts_with("..") && !name.starts_with(OPEN) && !name.contains(&OPEN[..3]);
        folder = folder.enter(name, true);
        line = rest.trim_start();
    }
    let name = folder.told().filter(|_| is_known).unwrap_or_default();
    (name.to_owned(), line)
}

/// A folder beside the one where a line begins, and the rest of the line: which of several that is, is not known where the shell
/// may have been anywhere, and its name is told as it was given.
pub(crate) fn beside(line: &str) -> Option<(&str, &str)> {
    let (name, rest) = entered(line.trim())?;
    let name = name.trim().trim_matches(['"', '\'']).trim_end_matches('/');
    let within = name.trim_start_matches("../");
    let is_told = within.len() < name.len() && !within.is_empty() && !within.split('/').any(|part| part == "..");
    let is_plain = !name.contains(&OPEN[..3]) && !name.contains(['\n', ';', '|']);
    (is_told && is_plain && !rest.trim_start().starts_with("cd ")).then_some((name, rest.trim_start()))
}

/// How many lines were run in which folder.
#[derive(Clone, Debug, Default)]
pub(crate) struct Folders(BTreeMap<String, u32>);

impl Folders {
    /// Takes the next line.
    pub fn note(&mut self, line: &str) {
        *self.0.entry(parted(line).0).or_default() += 1;
    }

    /// Those that go without saying: the one of most lines, and the one that most lines name in full, as it is where others
    /// begin, as a rule.
    pub fn usual(&self) -> Vec<String> {
        let most = |is_it: fn(&str) -> bool| {
            let named = self.0.iter().filter(|(name, _)| is_it(name));
            named.max_by_key(|(name, count)| (**count, Reverse(*name)))
        };
        let usual = [most(|_| true), most(is_absolute)].into_iter().flatten();
        let mut usual: Vec<String> = usual.map(|(name, _)| name.clone()).collect();
        usual.dedup();
        usual.retain(|name| !name.is_empty());
        usual
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_parted_from_the_folder_that_it_goes_to() {
        for (line, folder, rest) in [
            ("npm test", "", "npm test"),
            ("cd /w/packages/api && npm test", "/w/packages/api", "npm test"),
            (
                "cd /w && cd 'packages/api/' && npm test && ls",
                "/w/packages/api",
                "npm test && ls",
            ),
            ("cd ./a b && make", "a b", "make"),
            ("cd . && make", "", "make"),
            ("cd $(git rev-parse --show-toplevel) && make", "", "make"),
            ("cd .. && make", "", "make"),
            ("cd - && make", "", "make"),
            ("cd a; make && ls", "", "cd a; make && ls"),
        ] {
            assert_eq!(parted(line), (folder.to_owned(), rest), "{line}");
        }
    }

    #[test]
    fn a_folder_beside_is_told_as_it_was_given() {
        for (line, told) in [
            ("cd ../lib && cargo test", Some(("../lib", "cargo test"))),
            ("cd '../a b/' && make && ls", Some(("../a b", "make && ls"))),
            ("cd .. && make", None),
            ("cd ../.. && make", None),
            ("cd ../$X && make", None),
            ("cd ../a/../b && make", None),
            ("cd lib && make", None),
            ("cd ../a; make && ls", None),
        ] {
            assert_eq!(beside(line), told, "{line}");
        }
    }

    #[test]
    fn usual_is_the_folder_of_most_lines_and_the_one_that_most_name_in_full() {
        let usual = |lines: &[&str]| {
            let mut folders = Folders::default();
            lines.iter().for_each(|line| folders.note(line));
            folders.usual()
        };
        assert_eq!(usual(&[]), [""; 0]);
        assert_eq!(usual(&["ls", "cd a && make"]), [""; 0]);
        assert_eq!(usual(&["cd a && make", "cd a && ls", "ls"]), ["a"]);
        assert_eq!(
            usual(&["ls", "ls", "cd /w && ls", "cd /w && make", "cd /w/a && make"]),
            ["/w"]
        );
        assert_eq!(usual(&["cd a && ls", "cd a && ls", "cd /w && ls"]), ["a", "/w"]);
    }
}
