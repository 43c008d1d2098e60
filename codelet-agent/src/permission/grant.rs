//! Grants for the rest of a session.

use crate::permission::need::{Lack, Need};
use crate::permission::orders;
use crate::permission::{self, allows, pattern_for};
use std::path::{Path, PathBuf};

/// A grant for the rest of a session.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Grant {
    /// Command lines that match this pattern, as for [`allows`], or tools of servers.
    Commands(String),
    /// This exact command line.
    Line(String),
    /// Reading this path and, if it is a folder, everything in it.
    Look(PathBuf),
    /// Changing files in this folder.
    Change(PathBuf),
    /// Calling this tool of a server, with any parameters, as long as it has this definition.
    Tool(String, String),
    /// Fetching short URLs from this host.
    Host(String),
    /// Running command lines that these patterns together allow, with this exemption from the sandbox.
    With(Vec<String>, Lack),
    /// The same for this exact command line.
    LineWith(String, Lack),
}

impl Grant {
    /// Returns the subject of the grant, and what may be done with it.
    pub fn named(&self) -> (String, &'static str) {
        match self {
            Grant::Commands(pattern) if permission::is_of_hosts(pattern) => (pattern.clone(), "may be fetched from"),
            Grant::Commands(pattern) if permission::is_of_calls(pattern) => {
                (permission::without_definition(pattern).to_owned(), "may be called")
            }
            Grant::Commands(pattern) => (pattern.clone(), "may be run"),
            Grant::Line(line) => (line.clone(), "may be run, exactly as written"),
            Grant::Look(folder) => (folder.display().to_string(), "may be read"),
            Grant::Change(folder) => (folder.display().to_string(), "may be changed"),
            Grant::Tool(tool, _) => (tool.clone(), "may be called"),
            Grant::Host(host) => (host.clone(), "may be fetched from (short URLs)"),
            Grant::With(patterns, lack) => (format!("{} with {}", patterns.join(" && "), lack.named()), "may be run"),
            Grant::LineWith(line, lack) => (
                format!("{line} with {}", lack.named()),
                "may be run, exactly as written",
            ),
        }
    }

    pub(crate) fn covers(&self, need: &Need) -> bool {
        match (self, need) {
            (Grant::Line(line), Need::Run { command, .. }) => line == command,
            (Grant::Look(folder) | Grant::Change(folder), Need::Read { path, .. }) => path.starts_with(folder),
            // Permission for a folder's files does not extend to files that git, or a shell, obeys there.
            (Grant::Change(folder), Need::Change { path, owner, .. }) => path.starts_with(folder) && owner.is_none(),
            (Grant::Tool(granted, known), Need::Call { tool, definition, .. }) => {
                granted == tool && known == definition
            }
            (Grant::Host(granted), Need::Fetch { host, is_long, .. }) => granted == host && !is_long,
            (Grant::With(patterns, given), Need::RunWith { command, folder, lack }) => {
                given == lack
                    && allows(patterns, command, !folder.is_empty(), true)
                    && orders::changed_by(command, folder).is_none()
            }
            (Grant::LineWith(line, given), Need::RunWith { command, lack, .. }) => given == lack && line == command,
            _ => false,
        }
    }
}

/// Returns the grants that "always" gives for these needs.
pub(crate) fn grants(needs: &[Need]) -> Vec<Grant> {
    let mut grants: Vec<Grant> = Vec::new();
    for need in needs {
        let more = match need {
            Need::Run { command, folder, .. } if orders::changed_by(command, folder).is_some() => Vec::new(),
            Need::Run { command, .. } => match pattern_for(command) {
                Some(patterns) => patterns.into_iter().map(Grant::Commands).collect(),
                None => vec![Grant::Line(command.clone())],
            },
            // Outside the sandbox, only the exact line that the user read is permitted.
            Need::RunWith {
                command,
                lack: lack @ Lack::Freedom,
                ..
            } => vec![Grant::LineWith(command.clone(), lack.clone())],
            Need::RunWith { command, folder, .. } if orders::changed_by(command, folder).is_some() => Vec::new(),
            Need::RunWith { command, lack, .. } => match pattern_for(command) {
                Some(patterns) => vec![Grant::With(patterns, lack.clone())],
                None => vec![Grant::LineWith(command.clone(), lack.clone())],
            },
            Need::Read { path, is_file, .. } => match path.parent() {
                Some(_) if *is_file => vec![Grant::Look(folder(path))],
                Some(_) => vec![Grant::Look(path.clone())],
                // It would be a grant for every file of the machine.
                None => Vec::new(),
            },
            Need::Change { owner: Some(_), .. } => Vec::new(),
            Need::Change { path, .. } => vec![Grant::Change(folder(path))],
            Need::Call { tool, definition, .. } => vec![Grant::Tool(tool.clone(), definition.clone())],
            Need::Fetch { is_long: true, .. } => Vec::new(),
            Need::Fetch { host, .. } => vec![Grant::Host(host.clone())],
        };
        for grant in more {
            if !grants.contains(&grant) {
                grants.push(grant);
            }
        }
    }
    grants
}

/// Returns the folder of a file, but never the root of the file system.
fn folder(path: &Path) -> PathBuf {
    match path.parent() {
        Some(folder) if folder.parent().is_some() => folder.to_owned(),
        _ => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::permission::need::Owner;

    #[test]
    fn a_folder_is_granted_and_nothing_beside_it() {
        let grant = Grant::Change(PathBuf::from("/work/notes"));
        let change = |path: &str, owner| Need::Change {
            path: PathBuf::from(path),
            is_inside: false,
            owner,
            diff: String::new(),
        };
        assert!(grant.covers(&change("/work/notes/a.md", None)));
        assert!(!grant.covers(&change("/work/notes2/a.md", None)));
        for owner in [Owner::Git, Owner::Codelet, Owner::Home, Owner::Obeyed("runs in CI")] {
            let need = change("/work/notes/.git/config", Some(owner));
            assert!(!grant.covers(&need));
            assert_eq!(grants(&[need]), []);
        }
        assert_eq!(folder(Path::new("/passwd")), Path::new("/passwd"));
    }
}
