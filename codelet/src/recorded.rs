//! Sessions recorded by the agents on this machine: finds them, and resolves a number or an id to a file.
//!
//! Finding them uses only file names and times, and the session lists of databases. Details of a session come from a
//! bounded number of bytes at the beginning and end of its file; links and special files are skipped.

mod peek;
mod places;

pub use peek::{Peek, folder_in, peek};
pub use places::AGENTS;

use crate::paint::count;
use crate::{saved, settings, stores};
use codelet_agent::permission::fits;
use places::{Base, Storage};
use std::ffi::OsString;
use std::fs::{DirEntry, FileType};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// A recorded session.
#[derive(Clone, PartialEq, Debug)]
pub struct Recorded {
    /// The agent that recorded it.
    pub agent: &'static str,
    /// The file, followed by `#` and the session's id if the file is a database.
    pub file: PathBuf,
    /// The identifier: the session's id, or the name of its file or folder.
    pub id: String,
    /// The time of the last write.
    pub modified: SystemTime,
    /// The size of the file, if it contains nothing else.
    pub bytes: Option<u64>,
    /// The agent's own metadata about the session.
    noted: Option<Peek>,
}

/// The sessions found.
#[derive(Default)]
pub struct RecordedSessions {
    /// All recorded sessions, newest first. Their numbers are their positions in this list, counted from 1.
    pub sessions: Vec<Recorded>,
    /// Places that could not be read, one sentence each.
    pub notes: Vec<String>,
}

/// Returns all recorded sessions.
pub fn all() -> RecordedSessions {
    found(&variable)
}

/// Returns the path that an environment variable names.
fn variable(name: &str) -> Option<PathBuf> {
    let named = std::env::var_os(name).filter(|value| !value.is_empty());
    named.map(PathBuf::from)
}

fn found(variable: &impl Fn(&str) -> Option<PathBuf>) -> RecordedSessions {
    let mut found = RecordedSessions::default();
    for agent in AGENTS {
        for place in agent.places {
            let Some(base) = base(&place.base, variable) else {
                continue;
            };
            let steps: Vec<&str> = place.pattern.split('/').collect();
            walk(&base, &steps, &mut |file, entry| match agent.kept {
                Storage::Files => found.sessions.extend(of_file(agent.name, file, entry)),
                Storage::Store => found.add_store(&file),
                Storage::Unread(why) => found.notes.push(format!("{} is not read: {why}", file.display())),
            });
        }
    }
    for file in places::of_projects(variable) {
        found.add_store(&file);
    }
    found.add_saved(variable);
    let sessions = &mut found.sessions;
    // Sessions written at the same time are ordered by file name, so the order is stable.
    sessions.sort_by(|one, other| {
        let newest = other.modified.cmp(&one.modified);
        newest.then_with(|| one.file.cmp(&other.file))
    });
    sessions.dedup_by(|one, other| one.file == other.file);
    found
}

fn of_file(agent: &'static str, file: PathBuf, entry: &DirEntry) -> Option<Recorded> {
    let data = entry.metadata().ok()?;
    Some(Recorded {
        agent,
        id: id(&file),
        file,
        modified: data.modified().unwrap_or(SystemTime::UNIX_EPOCH),
        bytes: Some(data.len()),
        noted: None,
    })
}

impl RecordedSessions {
    /// Adds the sessions saved under the user's settings.
    fn add_saved(&mut self, variable: &impl Fn(&str) -> Option<PathBuf>) {
        let file = settings::user_file(variable);
        let folder = match file.as_deref().map(settings::transcripts_in) {
            Some(Ok(Some(folder))) => folder,
            Some(Ok(None)) | None => return,
            // A session reports the error; listing the others continues.
            Some(Err(failure)) => return self.notes.push(failure.words()),
        };
        for (file, data) in saved::files(&folder) {
            self.sessions.push(Recorded {
                agent: saved::AGENT,
                id: id(&file),
                file,
                modified: data.modified().unwrap_or(SystemTime::UNIX_EPOCH),
                bytes: Some(data.len()),
                noted: None,
            });
        }
    }

    /// Adds the sessions of a database.
    fn add_store(&mut self, file: &Path) {
        let listed = stores::open(file).and_then(|store| Ok((store.agent(), store.sessions()?)));
        match listed {
            Ok((agent, sessions)) => self
                .sessions
                .extend(sessions.into_iter().map(|session| of_store(agent, file, session))),
            Err(error) => self
                .notes
                .push(format!("{}: {}", file.display(), stores::words(&error))),
        }
    }
}

/// Returns the project for a database that an agent keeps inside a project.
fn project_of(store: &Path) -> Option<String> {
    let folder = store.parent().filter(|folder| folder.ends_with(".crush"))?;
    Some(folder.parent()?.to_string_lossy().into_owned())
}

fn of_store(agent: &'static str, file: &Path, session: stores::Session) -> Recorded {
    let mut named = OsString::from(file);
    named.push("#");
    named.push(&session.id);
    let written = session.modified.map(Duration::from_millis);
    let modified = written.and_then(|since| SystemTime::UNIX_EPOCH.checked_add(since));
    Recorded {
        agent,
        file: PathBuf::from(named),
        id: session.id,
        modified: modified.unwrap_or(SystemTime::UNIX_EPOCH),
        bytes: None,
        noted: Some(Peek {
            title: session.title,
            project: session.project.or_else(|| project_of(file)),
            tokens: session.tokens,
            cost: session.cost,
        }),
    }
}

/// Returns an agent's base folder, from its environment variable or its usual location.
fn base(base: &Base, variable: &impl Fn(&str) -> Option<PathBuf>) -> Option<PathBuf> {
    let absolute = |path: PathBuf| path.is_absolute().then_some(path);
    match base.variable.and_then(variable).and_then(absolute) {
        Some(named) => Some(named.join(base.within)),
        None => Some(variable("HOME").and_then(absolute)?.join(base.usual)),
    }
}

/// Finds the files below a folder that match a pattern of path components, in which `*` stands for any part of a name.
/// Links are not followed.
fn walk(folder: &Path, way: &[&str], found: &mut impl FnMut(PathBuf, &DirEntry)) {
    let [step, rest @ ..] = way else { return };
    let is_wanted = |kind: FileType| if rest.is_empty() { kind.is_file() } else { kind.is_dir() };
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        // Sub-agent conversations are separate.
        let is_other = |name: &str| rest.is_empty() && name.starts_with("agent-");
        let fits = name.to_str().is_some_and(|name| fits(step, name) && !is_other(name));
        if !fits || !entry.file_type().is_ok_and(is_wanted) {
            continue;
        }
        match rest {
            [] => found(entry.path(), &entry),
            rest => walk(&entry.path(), rest, found),
        }
    }
}

/// Returns a session's identifier: the name of its file unless that is common to all sessions, else the name of its
/// folder.
fn id(file: &Path) -> String {
    const COMMON: [&str; 4] = ["events", "wire", "api_conversation_history", "ui_messages"];
    let stem = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let folder = || Some(file.parent()?.file_name()?.to_string_lossy().into_owned());
    match COMMON.contains(&stem.as_str()) {
        true => folder().unwrap_or(stem),
        false => stem,
    }
}

/// Resolves a file argument: `@3` or `@id` is a recorded session, unless a file has that name.
///
/// # Errors
/// If there is no such session, or several ids begin like this.
pub fn named(path: PathBuf) -> Result<PathBuf, String> {
    let Some(name) = path.to_str().and_then(|name| name.strip_prefix('@')) else {
        return Ok(path);
    };
    if name.is_empty() || path.symlink_metadata().is_ok() {
        return Ok(path);
    }
    pick(all().sessions, name)
}

/// The minimum number of characters of an id that identify a session.
const SHORTEST: usize = 4;

fn pick(all: Vec<Recorded>, name: &str) -> Result<PathBuf, String> {
    let hint = "`codelet sessions` lists them";
    if let Ok(number) = name.parse::<usize>() {
        let listed = number.checked_sub(1).and_then(|place| all.get(place));
        let there_are = || match all.len() {
            0 => format!("there is no session @{number}: no recorded sessions were found on this machine"),
            some => format!("there is no session @{number}, only {}; {hint}", count(some, "session")),
        };
        // More digits may be part of an id.
        match listed {
            Some(found) => return Ok(found.file.clone()),
            None if name.len() < SHORTEST => return Err(there_are()),
            None => {}
        }
    }
    let is_named = |found: &&Recorded| found.id == name || name.len() >= SHORTEST && found.id.contains(name);
    let mut named: Vec<&Recorded> = all.iter().filter(is_named).collect();
    if let Some(exact) = named.iter().position(|found| found.id == name) {
        named = vec![named[exact]];
    }
    match named[..] {
        [one] => Ok(one.file.clone()),
        [] => Err(format!("no recorded session has the id {name:?}; {hint}")),
        _ => Err(format!(
            "{} have {name:?} in their ids; {hint}",
            count(named.len(), "session")
        )),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use std::fs;
    use std::time::Duration;

    fn write(home: &Path, file: &str, age: u64) -> PathBuf {
        let path = home.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "{}\n").unwrap();
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000 - age);
        fs::File::options()
            .write(true)
            .open(&path)
            .unwrap()
            .set_modified(time)
            .unwrap();
        path
    }

    #[test]
    fn sessions_are_found_where_agents_keep_them_newest_first_and_no_link_is_followed() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path();
        let claude = write(home, "elsewhere/projects/-w/1111aaaa.jsonl", 30);
        let codex = write(home, ".codex/sessions/2026/11/28/rollout-2026-11-28-2222bbbb.jsonl", 10);
        let copilot = write(home, ".copilot/session-state/3333cccc/events.jsonl", 20);
        // Left in the default location although the variable names another; sub-agents; links.
        write(home, ".claude/projects/-w/4444dddd.jsonl", 1);
        write(home, "elsewhere/projects/-w/agent-5555.jsonl", 1);
        std::os::unix::fs::symlink(&codex, home.join("elsewhere/projects/-w/6666.jsonl")).unwrap();
        std::os::unix::fs::symlink(home, home.join("elsewhere/projects/loop")).unwrap();
        let variable = |name: &str| match name {
            "HOME" => Some(home.to_owned()),
            "CLAUDE_CONFIG_DIR" => Some(home.join("elsewhere")),
            _ => None,
        };
        let all = found(&variable).sessions;
        let told: Vec<_> = all
            .iter()
            .map(|found| (found.agent, found.file.clone(), &*found.id))
            .collect();
        assert_eq!(
            told,
            [
                ("codex", codex.clone(), "rollout-2026-11-28-2222bbbb"),
                ("copilot", copilot.clone(), "3333cccc"),
                ("claude-code", claude.clone(), "1111aaaa"),
            ]
        );
        let named = |name: &str| pick(all.clone(), name);
        assert_eq!(named("1"), Ok(codex.clone()));
        assert_eq!(named("3"), Ok(claude));
        assert_eq!(named("2222bbbb"), Ok(codex));
        assert_eq!(named("3333"), Ok(copilot));
        assert!(
            named("4")
                .unwrap_err()
                .starts_with("there is no session @4, only 3 sessions;")
        );
        assert!(named("0").is_err() && named("zzzz").is_err());
    }

    #[test]
    fn a_number_of_the_list_is_a_number_and_other_digits_are_part_of_an_id() {
        let named = |id: &str| Recorded {
            agent: "codex",
            file: PathBuf::from(id),
            id: id.to_owned(),
            modified: SystemTime::UNIX_EPOCH,
            bytes: None,
            noted: None,
        };
        let all: Vec<Recorded> = (1..=1_300)
            .map(|number| named(&format!("session-{}", number + 7_000)))
            .collect();
        let pick = |name: &str| pick(all.clone(), name).map(|file| file.display().to_string());
        assert_eq!(pick("1234"), Ok("session-8234".to_owned()));
        assert_eq!(pick("7077"), Ok("session-7077".to_owned()));
        let all: Vec<Recorded> = (0..1_000).map(|_| named("other")).chain([named("a-1000-b")]).collect();
        assert_eq!(super::pick(all, "1000"), Ok(PathBuf::from("other")));
    }

    #[test]
    fn every_agent_is_called_as_the_form_that_its_sessions_have() {
        for agent in AGENTS {
            assert!(
                codelet_transcript::Format::from_name(agent.name).is_some(),
                "{}",
                agent.name
            );
        }
    }
}
