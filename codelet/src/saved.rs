//! Automatically saved sessions in the folder that the user's settings name: file names, metadata, and the newest
//! session of a project.
//!
//! Other files in that folder are read like any recorded conversation if the user names them. Only regular files owned
//! by the user are considered; links are skipped.

use crate::input;
use crate::place::Place;
use codelet_agent::session::Session;
use codelet_context::message::{Message, Origin, Part};
use codelet_context::tokens::Tokens;
use codelet_transcript::Format;
use codelet_transcript::origin::SESSION;
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};
use std::ffi::OsStr;
use std::fs::{DirBuilder, File, Metadata, TryLockError};
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use time::OffsetDateTime;

/// The agent name of these sessions in lists.
pub const AGENT: &str = "codelet";
/// The suffix of the file names.
const END: &str = ".json";
/// The maximum characters of the project's name in a file name.
const PROJECT: usize = 40;
/// Bytes at the end of a file that contain the session's metadata.
const NOTE: u64 = 64 * 1024;
/// The number of newest files searched for sessions of a project.
const LOOKED_AT: usize = 2_000;

/// The metadata of a session, stored in its file after the conversation.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Note {
    /// The version of Codelet.
    pub version: String,
    /// The session's working directory.
    pub cwd: PathBuf,
    /// The workspace.
    pub project: PathBuf,
    /// The tokens in the context window.
    pub tokens: Option<Tokens>,
    /// The cost in US dollars, as far as it is known.
    pub cost_usd: Option<f64>,
    /// The prompts that were queued when the user left, oldest first: the input's history has them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unsent: Vec<String>,
    /// It is a single run with `-p`, whose prompt may be a script's.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_run: bool,
}

/// The maximum length of the prompts in [`Note::unsent`], in bytes.
const UNSENT: usize = 16 * 1024;

impl Note {
    /// Returns the metadata of a session at this place that had cost `before` dollars earlier.
    pub fn of(session: &Session, place: &Place, before: Option<f64>) -> Self {
        let bill = session.bill();
        let spent = (bill.requests > bill.unpriced).then_some(bill.cost.total());
        Note {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            cwd: place.directory.clone(),
            project: place.root.clone(),
            tokens: Some(session.conversation().occupancy()),
            cost_usd: match (before, spent) {
                (None, None) => None,
                (before, spent) => Some(before.unwrap_or_default() + spent.unwrap_or_default()),
            },
            unsent: Vec::new(),
            is_run: false,
        }
    }

    /// Adds prompts that were not sent; the newest ones, as far as there is room.
    pub fn keep_unsent(&mut self, unsent: &[String]) {
        let mut room = UNSENT;
        let fits = |text: &&String| {
            let is_fit = text.len() <= room;
            room -= if is_fit { text.len() } else { room };
            is_fit
        };
        self.unsent = unsent.iter().rev().take_while(fits).cloned().collect();
        self.unsent.reverse();
    }

    /// Returns the metadata at the end of a file, given the whole file or its end. Quotes inside a text would be
    /// escaped, so no text of the conversation can pose as metadata.
    pub fn in_bytes(bytes: &[u8]) -> Option<Self> {
        let end = &bytes[bytes.len().saturating_sub(NOTE as usize)..];
        let name = format!("\"{SESSION}\":");
        let at = end.windows(name.len()).rposition(|window| window == name.as_bytes())?;
        let rest = &end[at + name.len()..];
        let mut values = serde_json::Deserializer::from_slice(rest).into_iter::<Note>();
        let note = values.next()?.ok()?;
        // It is the last field of the outermost object.
        (rest[values.byte_offset()..].trim_ascii() == b"}").then_some(note)
    }

    /// Reads the metadata of an open file.
    pub fn in_file(file: &mut File) -> Option<Self> {
        let length = file.metadata().ok()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(NOTE))).ok()?;
        let mut end = Vec::new();
        file.by_ref().take(NOTE).read_to_end(&mut end).ok()?;
        Note::in_bytes(&end)
    }
}

/// Returns the name for a new file: the start time, the project, and a unique suffix.
pub fn new_name(place: &Place) -> String {
    let project = place
        .root
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    named(&project, OffsetDateTime::now_utc(), fastrand::u32(..))
}

fn named(project: &str, began: OffsetDateTime, unique: u32) -> String {
    let plain = |c: char| match c {
        c if c.is_alphanumeric() || matches!(c, '.' | '_') => c,
        _ => '-',
    };
    let project: String = project.chars().map(plain).take(PROJECT).collect();
    let project = project.trim_matches(['-', '.']);
    let project = if project.is_empty() { "root" } else { project };
    let (date, time) = (began.date(), began.time());
    let (hour, minute, second) = (time.hour(), time.minute(), time.second());
    format!("{date}T{hour:02}-{minute:02}-{second:02}Z-{project}-{unique:08x}{END}")
}

/// Prepares the folder for sessions: creates it if missing, with access for its owner only.
///
/// # Errors
/// If nothing can be saved in it, or other users could change its files.
pub fn prepare(folder: &Path) -> Result<(), String> {
    if check(folder)? {
        return Ok(());
    }
    let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.map_err(|error| told(folder, &error))?;
    check(folder).map(|_| ())
}

/// Returns whether the folder exists.
///
/// # Errors
/// If it exists but nothing can be saved in it, or other users could change its files.
pub fn check(folder: &Path) -> Result<bool, String> {
    let found = match folder.metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        found => found.map_err(|error| told(folder, &error))?,
    };
    let shown = folder.display();
    if !found.is_dir() {
        return Err(format!("{shown} is not a directory"));
    }
    if !is_own(&found) {
        return Err(format!("{shown} belongs to another user"));
    }
    if found.mode() & 0o022 != 0 {
        return Err(format!("other users can write to {shown}; run `chmod go-w {shown}`"));
    }
    let writable = rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK;
    rustix::fs::access(folder, writable).map_err(|error| told(folder, &error.into()))?;
    Ok(true)
}

fn told(folder: &Path, error: &io::Error) -> String {
    format!("{}: {}", folder.display(), crate::exit::words(error))
}

fn is_name(name: &str) -> bool {
    name.ends_with(END) && !name.starts_with('.')
}

fn is_own(found: &Metadata) -> bool {
    found.uid() == rustix::process::geteuid().as_raw()
}

/// Lists the files in the folder that may be sessions.
pub fn files(folder: &Path) -> Vec<(PathBuf, Metadata)> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let files = entries.filter_map(|entry| {
        let name = entry.file_name();
        let fits = name.to_str().is_some_and(is_name);
        // Metadata of the entry itself: links are not followed.
        let found = fits.then(|| entry.metadata().ok()).flatten()?;
        (found.is_file() && is_own(&found)).then(|| (entry.path(), found))
    });
    files.collect()
}

/// Returns whether a file is one of the sessions in the folder.
pub fn holds(folder: &Path, file: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().ok();
    let is_file = file
        .symlink_metadata()
        .is_ok_and(|found| found.is_file() && is_own(&found));
    let is_named = file.file_name().and_then(OsStr::to_str).is_some_and(is_name);
    let lies_in = file
        .parent()
        .and_then(real)
        .is_some_and(|parent| real(folder) == Some(parent));
    is_file && is_named && lies_in
}

/// Returns the sessions of this place's project, most recently written first. Files are opened lazily.
fn of_project(folder: &Path, place: &Place) -> impl Iterator<Item = (PathBuf, File, Note)> {
    let mut files = files(folder);
    let written = |found: &Metadata| found.modified().unwrap_or(SystemTime::UNIX_EPOCH);
    files.sort_by(|(path, one), (other_path, other)| {
        let newest = written(other).cmp(&written(one));
        newest.then_with(|| other_path.cmp(path))
    });
    files.into_iter().take(LOOKED_AT).filter_map(|(path, _)| {
        let (mut file, _) = input::opened(&path, OFlags::NOFOLLOW).ok()?;
        let note = Note::in_file(&mut file)?;
        (note.project == place.root).then_some((path, file, note))
    })
}

/// Returns the most recently written session of this place's project.
pub fn newest(folder: &Path, place: &Place) -> Option<PathBuf> {
    of_project(folder, place).map(|(path, ..)| path).next()
}

/// The number of prompts after which no further session is read, and the bytes read from all of them.
const PROMPTS: usize = 500;
const READ_BYTES: u64 = 32 * 1024 * 1024;
/// The maximum length of a prompt that was probably typed, in bytes.
const TYPED: usize = 4_000;

/// Returns the user's prompts from the newest sessions of this place's project, oldest first. Those of `-p` runs, which
/// may be a script's, come before all others, as far as there is room.
pub fn prompts(folder: &Path, place: &Place) -> Vec<String> {
    let (mut left, mut number) = (READ_BYTES, 0);
    // A run's file is opened again when it is its turn: there may be thousands.
    let mut runs: Vec<PathBuf> = Vec::new();
    let mut sessions: Vec<Vec<String>> = Vec::new();
    let mut read = |mut file: File, note: &Note| {
        let prompts = prompts_in(&mut file, note, &mut left).unwrap_or_default();
        number += prompts.len();
        sessions.push(prompts);
        left > 0 && number < PROMPTS
    };
    let mut goes_on = true;
    for (path, file, note) in of_project(folder, place) {
        match note.is_run {
            true => runs.push(path),
            false => goes_on = read(file, &note),
        }
        if !goes_on {
            break;
        }
    }
    for path in runs {
        let Ok((file, _)) = input::opened(&path, OFlags::NOFOLLOW) else {
            continue;
        };
        if !goes_on {
            break;
        }
        goes_on = read(file, &Note::default());
    }
    sessions.reverse();
    sessions.concat()
}

fn prompts_in(file: &mut File, note: &Note, left: &mut u64) -> Option<Vec<String>> {
    file.rewind().ok()?;
    let mut head = Vec::new();
    *left -= file.take(*left).read_to_end(&mut head).ok()? as u64;
    let document = codelet_transcript::read(&head, Some(Format::Anthropic)).ok()?;
    let said = |message: &Message| {
        let own = message.parts.iter().find_map(|part| match part {
            Part::Text(text) if text.origin == Origin::Own => Some(text.body.as_str().trim()),
            _ => None,
        });
        own.filter(|text| !text.is_empty() && text.len() <= TYPED)
            .map(str::to_owned)
    };
    let sent = document.messages.iter().filter(|message| message.is_prompt());
    let mut prompts: Vec<String> = sent.filter_map(said).collect();
    // A prompt that was not sent at first may have been sent later.
    let unsent = note.unsent.iter().filter(|text| !prompts.contains(text));
    let unsent: Vec<String> = unsent.cloned().collect();
    prompts.extend(unsent);
    Some(prompts)
}

/// Locks a session file, so that no other session continues it; `None` if a running session is writing to it.
pub fn hold(path: &Path) -> Option<File> {
    let (file, _) = input::opened(path, OFlags::NOFOLLOW).ok()?;
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => None,
        // If the file system does not support locks, the file is used without one.
        Ok(()) | Err(TryLockError::Error(_)) => Some(file),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn names_sort_by_time_say_the_project_and_are_plain() {
        let began = OffsetDateTime::from_unix_timestamp(1_795_867_504).unwrap();
        for (project, name) in [
            ("shop", "2026-11-28T12-05-04Z-shop-0000002a.json"),
            ("my shop/..", "2026-11-28T12-05-04Z-my-shop-0000002a.json"),
            ("..", "2026-11-28T12-05-04Z-root-0000002a.json"),
            ("店", "2026-11-28T12-05-04Z-店-0000002a.json"),
        ] {
            assert_eq!(named(project, began, 42), name);
        }
        let later = OffsetDateTime::from_unix_timestamp(1_795_999_999).unwrap();
        assert!(named("a", later, 0) > named("z", began, 9));
        assert!(named(&"x".repeat(900), began, 0).len() < 100);
    }

    #[test]
    fn a_note_is_the_last_field_and_nothing_that_was_said_stands_for_it() {
        let note = Note {
            cwd: "/w/ä \"b\"".into(),
            tokens: Some(7),
            ..Note::default()
        };
        let field = format!("\"{SESSION}\":{}", serde_json::to_string(&note).unwrap());
        let said = serde_json::to_string(&field).unwrap();
        let file = |messages: &str, end: &str| format!("{{\"messages\":[{messages}]{end}}}\n").into_bytes();
        assert_eq!(Note::in_bytes(&file(&said, &format!(",{field}"))), Some(note));
        for other in [
            file(&said, ""),
            file(&format!("{{{field}}}"), ""),
            file("", &format!(",{field},\"model\":\"m\"")),
            field.clone().into_bytes(),
            b"{}".to_vec(),
            Vec::new(),
        ] {
            assert_eq!(Note::in_bytes(&other), None, "{}", String::from_utf8_lossy(&other));
        }
    }

    #[test]
    fn the_prompts_of_many_sessions_are_there_and_those_of_runs_are_the_oldest() {
        let folder = tempfile::tempdir().unwrap();
        let place = Place {
            directory: "/w".into(),
            root: "/w".into(),
            home: None,
            config: None,
            added: Vec::new(),
            write: Vec::new(),
        };
        let save = |at: u64, is_run: bool, unsent: &[String]| {
            let mut note = Note {
                project: "/w".into(),
                is_run,
                ..Note::default()
            };
            note.keep_unsent(unsent);
            let note = serde_json::to_string(&note).unwrap();
            let message =
                |text: &str| format!("{{\"role\":\"user\",\"content\":[{{\"type\":\"text\",\"text\":\"{text}\"}}]}}");
            let messages = [message(&format!("prompt {at}")), message("again")]
                .join(",{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"Yes.\"}]},");
            let text = format!("{{\"model\":\"m\",\"messages\":[{messages}],\"{SESSION}\":{note}}}\n");
            let path = folder.path().join(format!("{at:04}.json"));
            std::fs::write(&path, text).unwrap();
            let file = File::options().write(true).open(&path).unwrap();
            file.set_modified(SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(at))
                .unwrap();
        };
        let unsent = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        for at in 0..100 {
            save(at, at % 2 == 1, &[]);
        }
        save(100, false, &unsent(&["again", "not sent"]));
        let prompts = prompts(folder.path(), &place);
        assert_eq!(prompts.len(), 203);
        let own: Vec<&String> = prompts.iter().filter(|text| text.starts_with("prompt")).collect();
        // Oldest first: those of runs, then the others.
        assert_eq!((own[0].as_str(), own[49].as_str()), ("prompt 1", "prompt 99"));
        assert_eq!((own[50].as_str(), own[100].as_str()), ("prompt 0", "prompt 100"));
        assert_eq!(prompts[201..], ["again", "not sent"]);
        let long = unsent(&["a", &"b".repeat(UNSENT), "c"]);
        let mut note = Note::default();
        note.keep_unsent(&long);
        assert_eq!(note.unsent, ["c"]);
    }
}
