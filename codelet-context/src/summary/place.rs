//! The folder that is told beside a command, where it does not go without saying.

use super::quotation::{harmless, shown_command};
use crate::command::{self, parted};
use crate::outcome::{CheckFact, Facts};
use crate::path::is_absolute;

/// What stands between a command and its folder.
const IN: &str = " in ";
/// Bytes of a folder.
const FOLDER: usize = 60;
/// Of a folder that is named in full, so many names tell it from others.
const NAMES: usize = 2;

/// A command, with its folder where most commands run in another one, or where the same is told of another folder: packages of
/// one repository cannot be told apart otherwise.
pub(super) fn placed_command(facts: &Facts, command: &str, most: usize) -> String {
    if let Some((folder, words)) = command::beside(command) {
        return beside(shown_command(words, most), Some(short(folder, &[])));
    }
    let (folder, words) = parted(command);
    let is_usual = facts.folders.contains(&folder);
    let is_elsewhere = || {
        told(facts).any(|other| {
            let (other, said) = parted(other);
            !other.is_empty() && other != folder && said == words
        })
    };
    let is_told = !folder.is_empty() && (!is_usual || is_elsewhere());
    beside(
        shown_command(words, most),
        is_told.then(|| short(&folder, &facts.folders)),
    )
}

/// A command that was told before, with the folder that was told beside it.
pub(super) fn placed_again((words, folder): (&str, Option<&str>), most: usize) -> String {
    beside(shown_command(words, most), folder.map(str::to_owned))
}

/// A command as it was told, between backticks or cut, parted from the folder beside it.
pub(super) fn read(told: &str) -> (&str, Option<&str>) {
    let line = told.strip_prefix('`').unwrap_or(told);
    match (line.strip_suffix('`'), line.rsplit_once('`')) {
        (Some(words), _) => (words, None),
        (None, Some((words, rest))) if rest.starts_with(IN) => (words, Some(&rest[IN.len()..])),
        _ => (line, None),
    }
}

fn beside(command: String, folder: Option<String>) -> String {
    match folder {
        Some(folder) => format!("{command}{IN}{folder}"),
        None => command,
    }
}

/// The commands that are told of.
fn told(facts: &Facts) -> impl Iterator<Item = &str> {
    let checks = [&facts.tests, &facts.build, &facts.lint].into_iter().flatten();
    let checks = checks.map(|CheckFact { command, .. }| command.as_str());
    checks.chain(facts.errors.iter().map(|error| error.command.as_str()))
}

/// A folder as seen from a usual one, or else the end of its name.
fn short(folder: &str, usual: &[String]) -> String {
    let within = |usual: &String| folder.strip_prefix(usual.as_str())?.strip_prefix('/');
    let name = match usual.iter().find_map(within) {
        Some(inner) => inner,
        None if is_absolute(folder) => {
            let start = folder.rmatch_indices('/').nth(NAMES - 1).map_or(0, |(at, _)| at + 1);
            &folder[start..]
        }
        None => folder,
    };
    harmless(name, FOLDER).replace('`', "'")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::Verdict;

    fn placed(usual: &[&str], command: &str, other: &str) -> String {
        let facts = Facts {
            folders: usual.iter().map(|&folder| folder.to_owned()).collect(),
            tests: Some(CheckFact {
                command: other.to_owned(),
                verdict: Verdict::Failed,
                is_stale: false,
            }),
            ..Facts::default()
        };
        placed_command(&facts, command, 200)
    }

    #[test]
    fn a_folder_is_told_where_it_does_not_go_without_saying() {
        let api = "cd /w/packages/api && npm test";
        for (usual, command, other, expected) in [
            (&["/w/packages/api"][..], api, api, "`npm test`"),
            (
                &["/w/packages/api"],
                api,
                "cd /w && npm test",
                "`npm test` in packages/api",
            ),
            (&["/w/packages/api"], api, "npm test", "`npm test`"),
            (&["/w"], api, "cargo test", "`npm test` in packages/api"),
            (&[], api, "cargo test", "`npm test` in packages/api"),
            (
                &[],
                "cd web/app/ui && npm test",
                "cargo test",
                "`npm test` in web/app/ui",
            ),
            (&["/w"], "cd '/w/a b' && make", "make", "`make` in a b"),
            (&["/w"], "npm test", api, "`npm test`"),
            (&[], "cd ../lib && cargo test", "cargo test", "`cargo test` in ../lib"),
            (&[], "cd $DIR && npm test", api, "`npm test`"),
        ] {
            assert_eq!(placed(usual, command, other), expected, "{command} {other}");
        }
    }

    #[test]
    fn what_was_told_is_read_back() {
        for (told, expected) in [
            ("`npm test`", ("npm test", None)),
            ("`npm test` in packages/api", ("npm test", Some("packages/api"))),
            ("`echo `date` in a`", ("echo `date` in a", None)),
            ("`echo `date`; ls", ("echo `date`; ls", None)),
            ("npm test", ("npm test", None)),
        ] {
            assert_eq!(read(told), expected, "{told}");
            if told.ends_with(['`', 'i']) {
                assert_eq!(placed_again(read(told), 200), told);
            }
        }
    }
}
