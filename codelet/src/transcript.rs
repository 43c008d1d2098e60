//! The transcript: the whole conversation in a file, as a request that `codelet compact` can read.
//!
//! The format is Anthropic's for every provider, since it records whether a tool succeeded. Thinking and fields that
//! only another vendor could verify are omitted, and text that is not the speaker's own is labelled with its origin.

use crate::exit::{Failure, words};
use crate::output::{Access, Claim, Output, Pinned, is_same_file};
use crate::paint::Ink;
use crate::place::Place;
use crate::saved::{self, Note};
use crate::world;
use codelet_agent::session::{Keep, Session};
use codelet_agent::spelling::spell;
use codelet_context::message::Message;
use codelet_transcript::{Document, Format, Maker, Retelling, origin};
use serde_json::{Map, Value, json};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Resolves the file before a run that may take hours, and before any command runs that could replace it.
///
/// # Errors
/// If its folder is missing or accepts no file, if it is not a file, or if a link leads there from a folder that
/// commands can write to.
pub fn pin(path: &Path, place: &Place) -> Result<Pinned, Failure> {
    let pinned = Output::named(path).pin(Access::OwnerOnly, &world::written_by_commands(place))?;
    pinned.check()?;
    Ok(pinned)
}

/// Writes the whole history of a session at this place as a valid request: a call whose tool is still running gets a
/// placeholder result.
///
/// # Errors
/// If the file cannot be written; no half-written file remains.
pub fn write(pinned: &Pinned, session: &Session, place: &Place) -> Result<(), Failure> {
    let text = text(session, &session.said(), &Note::of(session, place, None))?;
    pinned.write(|out| out.write_all(text.as_bytes()))
}

fn text(session: &Session, said: &[Arc<Message>], note: &Note) -> Result<String, Failure> {
    let mut envelope = Map::new();
    envelope.insert("model".to_owned(), json!(session.model().profile().name));
    envelope.insert("max_tokens".to_owned(), json!(session.most_output()));
    envelope.insert("system".to_owned(), Value::Null);
    envelope.insert("messages".to_owned(), Value::Null);
    // The note is omitted if its folder is not valid UTF-8.
    envelope.extend(
        serde_json::to_value(note)
            .ok()
            .map(|note| (origin::SESSION.to_owned(), note)),
    );
    let mut retelling = Retelling::new(|maker: &Maker| maker.form == Format::Anthropic);
    let messages = said.iter().filter_map(|message| retelling.message((**message).clone()));
    let document = Document {
        format: Format::Anthropic,
        messages: messages.map(origin::noted).collect(),
        envelope,
        warnings: Vec::new(),
    };
    codelet_transcript::write(&document, Format::Anthropic).map_err(|error| Failure::Told(error.to_string()))
}

/// Returns whether there is something to save: an answer, or a prompt that no provider has rejected.
fn is_begun(session: &Session) -> bool {
    session.has_answer()
        || session
            .conversation()
            .view()
            .messages
            .iter()
            .any(|message| message.is_prompt())
}

/// The file of a whole session: one that the user names, or an automatically saved one.
pub struct Transcript {
    to: Arc<Destination>,
    /// The folders that commands can write to.
    fenced: Vec<PathBuf>,
}

/// The destination of a session's transcript.
struct Destination {
    /// The locked file of a continued saved session: while it is open, no other session continues it.
    _held: Option<File>,
    /// The claim to a file that the user named.
    _claim: Option<Claim>,
    place: Place,
    /// The folder of saved sessions, if the file is one of them.
    folder: Option<PathBuf>,
    current: Mutex<Current>,
}

/// The conversation being written.
struct Current {
    file: NamedFile,
    /// The other conversations of a saved session. Each has its own file: clearing a conversation must not empty its
    /// file.
    others: Vec<NamedFile>,
    /// True if there was something to write.
    is_wanted: bool,
    /// Prompts that were queued when the user left, oldest first.
    unsent: Vec<String>,
    /// It is a single run with `-p`.
    is_run: bool,
}

/// The file of a conversation.
struct NamedFile {
    conversation: u64,
    path: PathBuf,
    pinned: Arc<Pinned>,
    /// The difference in US dollars between the conversation's cost and the session's bill: earlier cost of the
    /// conversation, minus cost of other conversations.
    before: Option<f64>,
}

impl Destination {
    fn current(&self) -> MutexGuard<'_, Current> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the session as it can be continued: a turn that the provider refused would be refused again.
    fn text(&self, session: &Session) -> Result<String, Failure> {
        let note = {
            let current = self.current();
            let mut note = Note::of(session, &self.place, current.file.before);
            note.keep_unsent(&current.unsent);
            note.is_run = current.is_run;
            note
        };
        text(session, &session.said_without_refused(), &note)
    }

    /// Switches to the file of the current conversation; returns whether it has changed.
    fn turn_to(&self, session: &Session) -> Result<bool, Failure> {
        let Some(folder) = &self.folder else { return Ok(false) };
        let (mut current, conversation) = (self.current(), session.number());
        if current.file.conversation == conversation {
            return Ok(false);
        }
        let known = current
            .others
            .iter()
            .position(|other| other.conversation == conversation);
        let file = match known {
            Some(at) => current.others.swap_remove(at),
            None => {
                let path = folder.join(saved::new_name(&self.place));
                let pinned = saved_at(&path, &world::written_by_commands(&self.place))?;
                NamedFile {
                    conversation,
                    path,
                    pinned: Arc::new(pinned),
                    before: Some(-session.bill_before().cost.total()),
                }
            }
        };
        let left = std::mem::replace(&mut current.file, file);
        current.others.push(left);
        Ok(true)
    }
}

/// Resolves the file of a saved session, with access for its owner only.
fn saved_at(path: &Path, fenced: &[PathBuf]) -> Result<Pinned, Failure> {
    let pinned = Output::File(path.to_owned()).pin(Access::OwnerOnly, fenced)?;
    Ok(pinned.for_owner_only())
}

impl Transcript {
    /// Resolves the file before the session begins, as [`pin`] does. An existing transcript can only be overwritten by
    /// the session that continues it, since that contains everything in it.
    ///
    /// # Errors
    /// As for [`pin`], if the file has other content, and if another session is writing it.
    pub fn find(path: &Path, from: Option<(&Path, Format)>, place: &Place) -> Result<Self, Failure> {
        let pinned = pin(path, place)?;
        let claim = pinned.claim();
        if claim.is_none() {
            let file = spell(path.as_os_str());
            return Err(Failure::Told(format!(
                "another session is writing {file}; choose another file for --transcript"
            )));
        }
        let goes_on = from.is_some_and(|(from, form)| form == Format::Anthropic && is_same_file(from, path));
        if pinned.has_content() && !goes_on {
            let file = spell(path.as_os_str());
            return Err(Failure::Told(format!(
                "{file} already exists, and --transcript writes a new file; to continue the session in it, add --from {file}"
            )));
        }
        let mut transcript = Transcript::of(path.to_owned(), pinned, None, place);
        if let Some(to) = Arc::get_mut(&mut transcript.to) {
            to._claim = claim;
        }
        Ok(transcript)
    }

    /// Creates a transcript in the folder of saved sessions; the file appears with the first content.
    ///
    /// # Errors
    /// Explains why nothing can be saved there.
    pub fn save_in(folder: &Path, place: &Place) -> Result<Self, String> {
        saved::prepare(folder)?;
        let path = folder.join(saved::new_name(place));
        let pinned = saved_at(&path, &world::written_by_commands(place)).map_err(Failure::words)?;
        Ok(Transcript::of(path, pinned, Some(folder), place))
    }

    /// Opens the file of a saved session to continue it; `None` if another session is using it.
    ///
    /// # Errors
    /// Explains why nothing can be saved there.
    pub fn save_on(path: &Path, folder: &Path, place: &Place) -> Result<Option<Self>, String> {
        saved::prepare(folder)?;
        let Some(held) = saved::hold(path) else { return Ok(None) };
        let pinned = saved_at(path, &world::written_by_commands(place)).map_err(Failure::words)?;
        let mut transcript = Transcript::of(path.to_owned(), pinned, Some(folder), place);
        if let Some(to) = Arc::get_mut(&mut transcript.to) {
            to._held = Some(held);
        }
        Ok(Some(transcript))
    }

    fn of(path: PathBuf, pinned: Pinned, folder: Option<&Path>, place: &Place) -> Self {
        let current = Current {
            file: NamedFile {
                conversation: 0,
                path,
                pinned: Arc::new(pinned),
                before: None,
            },
            others: Vec::new(),
            is_wanted: false,
            unsent: Vec::new(),
            is_run: false,
        };
        Transcript {
            to: Arc::new(Destination {
                _held: None,
                _claim: None,
                place: place.clone(),
                folder: folder.map(Path::to_owned),
                current: Mutex::new(current),
            }),
            fenced: world::written_by_commands(place),
        }
    }

    /// Sets the cost of the session before it was continued, in US dollars, and the prompts that it did not send.
    pub fn after(self, before: Option<f64>, unsent: Vec<String>) -> Self {
        let mut current = self.to.current();
        current.file.before = before;
        current.unsent = unsent;
        drop(current);
        self
    }

    /// Marks it as a single run with `-p`.
    pub fn of_run(self) -> Self {
        self.to.current().is_run = true;
        self
    }

    /// Adds prompts that were queued when the user left.
    pub fn add_unsent(&self, unsent: Vec<String>) {
        self.to.current().unsent.extend(unsent);
    }

    /// Returns a writer that updates the file during the session.
    pub fn kept(&self) -> Box<TranscriptFile> {
        Box::new(TranscriptFile::new(Arc::clone(&self.to)))
    }

    /// Returns whether it is a pipe, from which no session can be continued.
    pub fn is_stream(&self) -> bool {
        self.to.current().file.pinned.is_stream()
    }

    /// Returns whether the session is saved automatically and there was something to save.
    pub fn is_saved(&self) -> bool {
        self.to.folder.is_some() && self.to.current().is_wanted
    }

    /// Returns a function for the absolute path of the transcript; `None` if it is printed.
    pub fn named(&self) -> impl Fn() -> Option<PathBuf> + Send + Sync + 'static {
        let to = Arc::clone(&self.to);
        move || {
            let path = to.current().file.path.clone();
            let begin = || std::env::current_dir().unwrap_or_else(|_| to.place.directory.clone());
            (path.as_os_str() != "-").then(|| begin().join(path))
        }
    }

    /// Writes the whole history at the end of the session. If a command has moved or removed the folder, a new file in
    /// the user's home folder is written instead, and the error names it. For a saved session only the error is
    /// reported, since the user did not ask for its file by name.
    ///
    /// # Errors
    /// If it cannot be written at the requested place.
    pub fn end(&self, session: &Session) -> Result<(), Failure> {
        let (pinned, path, conversation, is_wanted) = {
            let current = self.to.current();
            let file = &current.file;
            let pinned = Arc::clone(&file.pinned);
            (pinned, file.path.clone(), file.conversation, current.is_wanted)
        };
        if self.to.folder.is_some() && !(is_wanted && conversation == session.number() && is_begun(session)) {
            return Ok(());
        }
        let written = self.to.text(session);
        // The time of a saved file is that of its last turn: it decides which session is continued.
        let is_there = |text: &String| std::fs::read(&path).is_ok_and(|now| now == text.as_bytes());
        if self.to.folder.is_some() && written.as_ref().is_ok_and(is_there) {
            return Ok(());
        }
        let done = written.and_then(|text| pinned.write(|out| out.write_all(text.as_bytes())));
        let done = done.and_then(|()| match pinned.is_in_place() {
            true => Ok(()),
            false => Err(pinned.failed("its folder was moved")),
        });
        if self.to.folder.is_some() {
            if let Err(Failure::Told(why)) = done {
                crate::tell("warning", Ink::Yellow, &format!("the session was not saved: {why}"));
            }
            return Ok(());
        }
        let (Err(Failure::Told(why)), true, Some(home)) = (&done, pinned.is_replaced(), &self.to.place.home) else {
            return done;
        };
        let spare = home.join(format!("codelet-transcript-{:016x}.json", fastrand::u64(..)));
        let spared = Output::named(&spare)
            .pin(Access::OwnerOnly, &self.fenced)
            .and_then(|spare| write(&spare, session, &self.to.place));
        Err(Failure::Told(match spared {
            Ok(()) => format!("{why}; the conversation was saved as {} instead", spare.display()),
            Err(Failure::Told(also)) => format!("{why}; the conversation was not saved in your home either: {also}"),
            Err(Failure::PipeClosed) => why.clone(),
        }))
    }
}

/// Updates the file during the session, so that it contains everything so far however the process ends. Each update
/// rewrites the file from the first difference on, in a single write, so that it is a complete request at any time.
pub struct TranscriptFile {
    to: Arc<Destination>,
    /// `None` until there is content.
    file: Option<File>,
    /// The content of the file.
    text: String,
    /// The number of messages, the address of the last one, whether that was withdrawn, and whether there is something
    /// to save.
    held: (usize, usize, bool, bool),
    /// True if writing failed and that was reported.
    is_given_up: bool,
}

impl TranscriptFile {
    fn new(to: Arc<Destination>) -> Self {
        TranscriptFile {
            to,
            file: None,
            text: String::new(),
            held: (0, 0, false, false),
            is_given_up: false,
        }
    }

    fn update(&mut self, text: String) -> io::Result<()> {
        if self.file.is_none() {
            let pinned = Arc::clone(&self.to.current().file.pinned);
            self.file = pinned.begin()?;
        }
        // A pipe or a device receives everything at the end.
        let Some(file) = &self.file else { return Ok(()) };
        let (same, end) = changed(&self.text, &text);
        let written = file.write_all_at(&end, same as u64);
        if let Err(error) = written {
            // Restore the previous end of the file.
            let _ = file.write_all_at(&self.text.as_bytes()[same..], same as u64);
            let _ = file.set_len(self.text.len() as u64);
            return Err(error);
        }
        if text.len() < self.text.len() {
            file.set_len(text.len() as u64)?;
        }
        self.text = text;
        Ok(())
    }

    /// Switches to the file of the current conversation; returns whether there is something to write.
    fn turn(&mut self, session: &Session) -> Result<bool, Failure> {
        if self.to.turn_to(session)? {
            (self.file, self.is_given_up) = (None, false);
            self.text.clear();
        }
        if self.to.folder.is_none() {
            return Ok(true);
        }
        let (.., is_begun) = self.held;
        let mut current = self.to.current();
        current.is_wanted = is_begun;
        if !is_begun && let Some(file) = self.file.take() {
            // The only prompt was rejected.
            current.file.pinned.remove(&file);
            self.text.clear();
        }
        Ok(is_begun)
    }
}

/// Returns the offset of the first difference between two texts, and the new bytes from there on, padded with spaces to
/// the old length. The padding is truncated later, since the process can end between the two calls.
fn changed(old: &str, new: &str) -> (usize, Vec<u8>) {
    let pairs = old.bytes().zip(new.bytes());
    let same = pairs.take_while(|(old, new)| old == new).count();
    let mut end = new.as_bytes()[same..].to_vec();
    end.resize(end.len().max(old.len() - same), b' ');
    (same, end)
}

impl Keep for TranscriptFile {
    fn keep(&mut self, session: &Session) -> Option<String> {
        let messages = session.conversation().history().messages();
        let last = messages.last().map_or(0, |last| Arc::as_ptr(last) as usize);
        let is_withdrawn = session.conversation().is_withdrawn(messages.len().saturating_sub(1));
        let now = (messages.len(), last, is_withdrawn, is_begun(session));
        let held = std::mem::replace(&mut self.held, now);
        if held == self.held {
            return None;
        }
        let done = match self.turn(session) {
            Ok(false) => return None,
            Ok(true) if self.is_given_up => return None,
            Ok(true) => self.to.text(session),
            Err(failure) => Err(failure),
        };
        let done = done.map(|text| self.update(text).map_err(|error| words(&error)));
        let why = match done {
            Ok(Ok(())) => return None,
            Ok(Err(why)) | Err(Failure::Told(why)) => why,
            Err(Failure::PipeClosed) => return None,
        };
        if std::mem::replace(&mut self.is_given_up, true) {
            return None;
        }
        Some(match &self.to.folder {
            Some(folder) => format!(
                "this session is not saved in {}: {why}; Codelet tries again at the end",
                folder.display()
            ),
            None => format!("cannot write the transcript: {why}; Codelet tries again at the end"),
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_file_is_a_whole_request_before_it_is_cut_to_its_length() {
        let texts = [
            "{\"a\": [\"under way\"]}\n",
            "{\"a\": [\"one\"]}\n",
            "{\"a\": [\"one\", \"two and three\"]}\n",
        ];
        let mut file = Vec::new();
        for pair in [
            ["", texts[0]],
            [texts[0], texts[1]],
            [texts[1], texts[2]],
            [texts[2], texts[1]],
        ] {
            let (same, end) = changed(pair[0], pair[1]);
            file.truncate(pair[0].len());
            file.truncate(same);
            file.extend(end);
            assert!(file.len() >= pair[0].len());
            let read: Value = serde_json::from_slice(&file).unwrap();
            assert_eq!(read, serde_json::from_str::<Value>(pair[1]).unwrap());
        }
    }
}
