//! Sessions that are saved by themselves, in the folder that the user's settings name: what their files are called and say of
//! themselves, and which is the newest of a project.
//!
//! Whatever else lies in that folder is read as any recorded conversation is, if the user names it. Only regular files of the
//! user's own are looked at; links are passed over.

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

/// The agent whose sessions these are, in lists.
pub const AGENT: &str = "codelet";
/// How the name of such a file ends.
const END: &str = ".json";
/// Characters of a project's name in that of a file.
const PROJECT: usize = 40;
/// What a file says of its session stands in so many bytes at its end.
const NOTE: u64 = 64 * 1024;
/// So many of the newest files are looked at for those of a project.
const LOOKED_AT: usize = 2_000;

/// What the file of a session says of it beside the conversation.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Note {
    /// The version of this program.
    pub version: String,
    /// The folder that the session works in.
    pub cwd: PathBuf,
    /// The project around that: the workspace.
    pub project: PathBuf,
    /// What fills the context window.
    pub tokens: Option<Tokens>,
    /// What it has cost, in US dollars, as far as that is known.
    pub cost_usd: Option<f64>,
}

impl Note {
    /// Of a session that works at this place, and has cost so much before.
    pub fn of(session: &Session, place: &Place, before: Option<f64>) -> Self {
        let bill = session.bill();
        let spent = (bill.requests > bill.unpriced).then_some(bill.dollars);
        Note {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            cwd: place.directory.clone(),
            project: place.root.clone(),
            tokens: Some(session.conversation().occupancy()),
            cost_usd: match (before, spent) {
                (None, None) => None,
                (before, spent) => Some(before.unwrap_or_default() + spent.unwrap_or_default()),
            },
        }
    }

    /// The note at the end of a file, all of which or the end of which this is. In a text its quotes would be escaped, so nothing that
    /// was said can stand for it.
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

    /// The note of an open file.
    pub fn in_file(file: &mut File) -> Option<Self> {
        let length = file.metadata().ok()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(NOTE))).ok()?;
        let mut end = Vec::new();
        file.by_ref().take(NOTE).read_to_end(&mut end).ok()?;
        Note::in_bytes(&end)
    }
}

/// The name of a new file: when the session began, the project, and something that no other session has.
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

/// Makes the folder ready to take sessions: it is made if it is not there, for its owner alone.
///
/// # Errors
/// When nothing can be kept in it, or somebody else could change what is.
pub fn prepare(folder: &Path) -> Result<(), String> {
    if check(folder)? {
        return Ok(());
    }
    let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.map_err(|error| told(folder, &error))?;
    check(folder).map(|_| ())
}

/// Whether the folder is there.
///
/// # Errors
/// When it is, and nothing can be kept in it, or somebody else could change what is.
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

/// The files in the folder that may be sessions.
pub fn files(folder: &Path) -> Vec<(PathBuf, Metadata)> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let files = entries.filter_map(|entry| {
        let name = entry.file_name();
        let fits = name.to_str().is_some_and(is_name);
        // Of the entry itself: no link is followed.
        let found = fits.then(|| entry.metadata().ok()).flatten()?;
        (found.is_file() && is_own(&found)).then(|| (entry.path(), found))
    });
    files.collect()
}

/// Whether a file is one of those in the folder.
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

/// The sessions of this place's project, the one that was written to last first. Each is looked at when it is asked for.
fn of_project(folder: &Path, place: &Place) -> impl Iterator<Item = (PathBuf, File)> {
    let mut files = files(folder);
    let written = |found: &Metadata| found.modified().unwrap_or(SystemTime::UNIX_EPOCH);
    files.sort_by(|(path, one), (other_path, other)| {
        let newest = written(other).cmp(&written(one));
        newest.then_with(|| other_path.cmp(path))
    });
    files.into_iter().take(LOOKED_AT).filter_map(|(path, _)| {
        let (mut file, _) = input::opened(&path, OFlags::NOFOLLOW).ok()?;
        let note = Note::in_file(&mut file)?;
        (note.project == place.root).then_some((path, file))
    })
}

/// The session of this place's project that was written to last.
pub fn newest(folder: &Path, place: &Place) -> Option<PathBuf> {
    of_project(folder, place).map(|(path, _)| path).next()
}

/// So many of a project's newest sessions are read for what was said in them, and so many bytes of all of them.
const READ: usize = 8;
const READ_BYTES: u64 = 8 * 1024 * 1024;
/// A prompt that is longer, in bytes, was hardly typed.
const TYPED: usize = 4_000;

/// What the user has said in the newest sessions of this place's project, oldest first.
pub fn prompts(folder: &Path, place: &Place) -> Vec<String> {
    let mut left = READ_BYTES;
    let newest = of_project(folder, place).take(READ);
    let mut sessions: Vec<Vec<String>> = newest
        .map(|(_, mut file)| prompts_in(&mut file, &mut left).unwrap_or_default())
        .collect();
    sessions.reverse();
    sessions.concat()
}

fn prompts_in(file: &mut File, left: &mut u64) -> Option<Vec<String>> {
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
    let prompts = document.messages.iter().filter(|message| message.is_prompt());
    Some(prompts.filter_map(said).collect())
}

/// Holds the file of a session, so that nobody else goes on in it; none where a session that still runs is written to it.
pub fn hold(path: &Path) -> Option<File> {
    let (file, _) = input::opened(path, OFlags::NOFOLLOW).ok()?;
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => None,
        // Where a file system knows no locks, nobody waits for any.
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
}
