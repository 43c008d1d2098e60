//! The conversation as a file, where the user asks for it: everything that was said, as a request that `codelet compact` reads.
//!
//! The form is Anthropic's, whoever was asked: it has a place for whether a tool worked. Thinking and fields that only another
//! vendor could check are left out, and a text that is not the speaker's own says what it is.

use crate::exit::{Failure, words};
use crate::output::{Access, Output, Pinned, is_same_file};
use crate::place::Place;
use crate::world;
use codelet_agent::session::{Keep, Session};
use codelet_agent::spelling::spell;
use codelet_transcript::{Document, Format, Maker, Retelling, origin};
use serde_json::{Map, Value, json};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Finds the file before a run that may take hours, and before any command runs that could put something else in its
/// place.
///
/// # Errors
/// When its folder is missing or takes no file, it is no file, or a link leads there from where commands may write.
pub fn pin(path: &Path, place: &Place) -> Result<Pinned, Failure> {
    let pinned = Output::named(path).pin(Access::OwnerOnly, &world::written_by_commands(place))?;
    pinned.check()?;
    Ok(pinned)
}

/// Writes the whole history, fit to be sent: a call whose tool still runs is answered with a word about that.
///
/// # Errors
/// When the file cannot be written; nothing is left half-written then.
pub fn write(pinned: &Pinned, session: &Session) -> Result<(), Failure> {
    let text = text(session)?;
    pinned.write(|out| out.write_all(text.as_bytes()))
}

fn text(session: &Session) -> Result<String, Failure> {
    let mut envelope = Map::new();
    envelope.insert("model".to_owned(), json!(session.model().profile().name));
    envelope.insert("max_tokens".to_owned(), json!(session.most_output()));
    envelope.insert("system".to_owned(), Value::Null);
    envelope.insert("messages".to_owned(), Value::Null);
    let mut retelling = Retelling::new(|maker: &Maker| maker.form == Format::Anthropic);
    let said = session.said();
    let messages = said.iter().filter_map(|message| retelling.message((**message).clone()));
    let document = Document {
        format: Format::Anthropic,
        messages: messages.map(origin::noted).collect(),
        envelope,
        warnings: Vec::new(),
    };
    codelet_transcript::write(&document, Format::Anthropic).map_err(|error| Failure::Told(error.to_string()))
}

/// The file that a user names for a whole session.
pub struct Transcript {
    pinned: Arc<Pinned>,
    home: Option<PathBuf>,
    /// Where commands may write.
    fenced: Vec<PathBuf>,
}

impl Transcript {
    /// Finds the file before the session begins, as [`pin`] does. Only the session that goes on from a transcript may take its place, since
    /// all that stands there is in it.
    ///
    /// # Errors
    /// As there, and when the file holds something else.
    pub fn find(path: &Path, from: Option<(&Path, Format)>, place: &Place) -> Result<Self, Failure> {
        let pinned = pin(path, place)?;
        let goes_on = from.is_some_and(|(from, form)| form == Format::Anthropic && is_same_file(from, path));
        if pinned.has_content() && !goes_on {
            let file = spell(path.as_os_str());
            return Err(Failure::Told(format!(
                "{file} already exists, and --transcript writes a new file; to continue a session that it holds, add --from {file}"
            )));
        }
        Ok(Transcript {
            pinned: Arc::new(pinned),
            home: place.home.clone(),
            fenced: world::written_by_commands(place),
        })
    }

    /// Keeps it as the session goes on.
    pub fn kept(&self) -> Box<Kept> {
        Box::new(Kept::new(Arc::clone(&self.pinned)))
    }

    /// Whether it is a pipe, of which nobody can go on later.
    pub fn is_stream(&self) -> bool {
        self.pinned.is_stream()
    }

    /// Writes the whole history at the end of the session. A command may have moved or removed the folder by then, and nobody can be
    /// asked for another one: a new file in the user's home takes it, and the error names that.
    ///
    /// # Errors
    /// When it is not written where the user wanted it.
    pub fn end(&self, session: &Session) -> Result<(), Failure> {
        let done = write(&self.pinned, session).and_then(|()| match self.pinned.is_in_place() {
            true => Ok(()),
            false => Err(self.pinned.failed("its folder was moved")),
        });
        let (Err(Failure::Told(why)), true, Some(home)) = (&done, self.pinned.is_replaced(), &self.home) else {
            return done;
        };
        let spare = home.join(format!("codelet-transcript-{:016x}.json", fastrand::u64(..)));
        let spared = Output::named(&spare)
            .pin(Access::OwnerOnly, &self.fenced)
            .and_then(|spare| write(&spare, session));
        Err(Failure::Told(match spared {
            Ok(()) => format!("{why}; the conversation was saved as {} instead", spare.display()),
            Err(Failure::Told(also)) => format!("{why}; the conversation was not saved in your home either: {also}"),
            Err(Failure::PipeClosed) => why.clone(),
        }))
    }
}

/// Keeps the file as the session goes on, so that whatever ends the process, what was said until then is in it. Each time the end of the
/// file is written anew from where it differs, in one go, so that it is a whole request all the time.
pub struct Kept {
    pinned: Arc<Pinned>,
    /// Nothing before something is said.
    file: Option<File>,
    /// What it holds.
    text: String,
    /// How many messages that is, and where the last of them lies in memory.
    held: (usize, usize),
    /// It cannot be written, and that was told.
    is_given_up: bool,
}

impl Kept {
    fn new(pinned: Arc<Pinned>) -> Self {
        Kept {
            pinned,
            file: None,
            text: String::new(),
            held: (0, 0),
            is_given_up: false,
        }
    }

    fn update(&mut self, text: String) -> io::Result<()> {
        if self.file.is_none() {
            self.file = self.pinned.begin()?;
        }
        // A pipe or a device has the whole at the end.
        let Some(file) = &self.file else { return Ok(()) };
        let (same, end) = changed(&self.text, &text);
        let written = file.write_all_at(&end, same as u64);
        if let Err(error) = written {
            // It ends as it did.
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
}

/// From where a text differs from the one before it, and what takes the place of that: at its end blanks for what was longer, which is cut
/// off later, since a process can end between any two calls.
fn changed(old: &str, new: &str) -> (usize, Vec<u8>) {
    let pairs = old.bytes().zip(new.bytes());
    let same = pairs.take_while(|(old, new)| old == new).count();
    let mut end = new.as_bytes()[same..].to_vec();
    end.resize(end.len().max(old.len() - same), b' ');
    (same, end)
}

impl Keep for Kept {
    fn keep(&mut self, session: &Session) -> Option<String> {
        let messages = session.conversation().history().messages();
        let last = messages.last().map_or(0, |last| Arc::as_ptr(last) as usize);
        let held = std::mem::replace(&mut self.held, (messages.len(), last));
        if self.is_given_up || held == self.held {
            return None;
        }
        let done = text(session).map(|text| self.update(text).map_err(|error| words(&error)));
        let why = match done {
            Ok(Ok(())) => return None,
            Ok(Err(why)) | Err(Failure::Told(why)) => why,
            Err(Failure::PipeClosed) => return None,
        };
        self.is_given_up = true;
        Some(format!(
            "cannot write the transcript: {why}; it is tried once more at the end"
        ))
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
