//! Options as callers in other languages pass them: formats by name, sizes as numbers. Errors are sentences for the
//! caller, and spell options as that language does.

use crate::check;
use crate::compact::{self, Compact, Compacted, Written};
use crate::inspect::{self, Inspected};
use codelet_context::compact::Target;
use codelet_context::tokens::Tokens;
use codelet_transcript::vendor::Fault;
use codelet_transcript::{Document, Format, ReadError, Recording, WriteError};
use thiserror::Error;

/// The reason why a call failed.
#[derive(Debug, Error)]
pub enum OptionsError {
    /// An option names something unknown, or two options exclude each other.
    #[error("{0}")]
    Argument(String),
    /// The input cannot be read.
    #[error("{0}")]
    Unreadable(String),
    /// The input holds this many conversations, and one is expected.
    #[error("contains {0} conversations, expected one; conversations() splits it")]
    Several(usize),
    /// The output format cannot represent it, or is read-only.
    #[error(transparent)]
    Unwritable(#[from] WriteError),
}

impl From<OptionsError> for String {
    fn from(error: OptionsError) -> Self {
        error.to_string()
    }
}

/// Returns the format of that name.
///
/// # Errors
/// If there is none.
pub fn form(name: &str) -> Result<Format, OptionsError> {
    Format::from_name(name)
        .ok_or_else(|| OptionsError::Argument(format!("unknown format {name:?}; formats() lists them")))
}

/// Returns the format of that name; `None` for `auto`.
///
/// # Errors
/// If there is none.
pub fn form_or_auto(name: &str) -> Result<Option<Format>, OptionsError> {
    match name {
        "auto" => Ok(None),
        name => form(name).map(Some),
    }
}

/// Returns the conversations of a file that holds several; the file itself if it holds one.
pub fn conversations(input: &[u8]) -> Vec<&[u8]> {
    codelet_transcript::conversations(input).unwrap_or_else(|| vec![input])
}

/// Returns the places at which a request breaks a rule of the provider of that name; with `auto`, of the detected
/// provider.
///
/// # Errors
/// If there is no such provider, or it is not a request to that provider.
pub fn check(request: &[u8], vendor: &str) -> Result<Vec<Fault>, OptionsError> {
    check_as(request, vendor_or_auto(vendor)?)
}

/// The same for a vendor's form, or the one that the request shows.
///
/// # Errors
/// When it is no request of a vendor.
pub fn check_as(request: &[u8], vendor: Option<Format>) -> Result<Vec<Fault>, OptionsError> {
    check::check(request, vendor).map_err(|why| OptionsError::Unreadable(format!("the input {why}")))
}

/// The form of the vendor of that name; none for `auto`.
///
/// # Errors
/// When there is none.
pub fn vendor_or_auto(name: &str) -> Result<Option<Format>, OptionsError> {
    let known = check::VENDORS;
    form_or_auto(name).map_err(|_| OptionsError::Argument(format!("unknown vendor {name:?}; expected auto, {known}")))
}

/// The options for reading a conversation.
#[derive(Clone, Copy, Debug)]
pub struct Reading {
    form: Option<Format>,
    force: bool,
    force_spelled: &'static str,
}

impl Reading {
    /// Reads the format of that name, or `auto`; with `force`, however little of it is understood. `force_spelled` is
    /// how the caller's language sets that option, for the sentence that recommends it.
    ///
    /// # Errors
    /// If there is no such format.
    pub fn new(form: &str, force: bool, force_spelled: &'static str) -> Result<Self, OptionsError> {
        Ok(Reading {
            form: form_or_auto(form)?,
            force,
            force_spelled,
        })
    }

    /// Reads a conversation.
    ///
    /// # Errors
    /// If it does not have this format, less than nine tenths of it is understood without `force`, or there are
    /// several.
    pub fn read(self, input: &[u8]) -> Result<Recording, OptionsError> {
        let read = match self.force {
            true => codelet_transcript::record_anyway(input, self.form),
            false => codelet_transcript::record(input, self.form),
        };
        read.map_err(|error| match (codelet_transcript::conversations(input), error) {
            (Some(all), _) => OptionsError::Several(all.len()),
            (None, error @ ReadError::TooLittle { .. }) => {
                OptionsError::Unreadable(format!("{error}; {} continues with the rest", self.force_spelled))
            }
            (None, error) => OptionsError::Unreadable(error.to_string()),
        })
    }

    /// Inspects a conversation, naming its `largest` largest items. The second value is the report, as JSON.
    ///
    /// # Errors
    /// Those of [`Reading::read`].
    pub fn inspect(self, input: &[u8], largest: usize) -> Result<(Inspected, String), OptionsError> {
        let document = self.read(input)?.document;
        let warnings = warnings(&document);
        let found = inspect::inspect(document, largest);
        let report = found.report(&warnings).to_string();
        Ok((found, report))
    }
}

/// The options for compacting conversations.
#[derive(Clone, Copy, Debug)]
pub struct Compactor<'a> {
    reading: Reading,
    how: Compact<'a>,
}

/// A compacted conversation.
#[derive(Debug)]
pub struct Smaller {
    /// The compaction.
    pub compacted: Compacted,
    /// The output, as JSON.
    pub text: String,
    warnings: Vec<String>,
}

impl<'a> Compactor<'a> {
    /// Compacts to a budget in tokens, or as in a session with a context window of this many tokens; with neither, as
    /// far as the older part can be summarized. `to` names the output format, and `reading_back` is a sentence for the
    /// summary, as in [`Compact`].
    ///
    /// # Errors
    /// If both sizes are given, or there is no such format.
    pub fn new(
        reading: Reading,
        budget: Option<Tokens>,
        window: Option<Tokens>,
        to: Option<&str>,
        reading_back: &'a str,
    ) -> Result<Self, OptionsError> {
        let target = match (budget, window) {
            (Some(_), Some(_)) => {
                return Err(OptionsError::Argument(
                    "budget and window cannot be used together".to_owned(),
                ));
            }
            (Some(tokens), None) => Target::Budget(tokens),
            (None, Some(tokens)) => Target::Window(tokens),
            (None, None) => Target::Select,
        };
        let how = Compact {
            target,
            to: to.map(form).transpose()?,
            reading_back,
            earlier: None,
        };
        Ok(Compactor { reading, how })
    }

    /// Compacts a conversation.
    ///
    /// # Errors
    /// Those of [`Reading::read`]; if the output format cannot represent it.
    pub fn compact(&self, input: Vec<u8>) -> Result<Smaller, OptionsError> {
        let document = self.reading.read(&input)?.document;
        let mut warnings = warnings(&document);
        let mut compacted = compact::compact(input, document, &self.how);
        let written = compacted.write()?;
        warnings.extend(compacted.warnings(&written));
        Ok(Smaller {
            compacted,
            text: text(written),
            warnings,
        })
    }
}

impl Smaller {
    /// Returns the report, as JSON.
    pub fn report(&self) -> String {
        self.compacted.report(&self.warnings, None).to_string()
    }
}

fn warnings(document: &Document) -> Vec<String> {
    document.warnings.iter().map(ToString::to_string).collect()
}

fn text(written: Written) -> String {
    match written {
        Written::New(written) => written.text,
        Written::Original(bytes) => {
            String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn refused<T>(done: Result<T, OptionsError>) -> String {
        done.err().unwrap().to_string()
    }

    #[test]
    fn what_continues_is_recommended_as_the_caller_writes_it() {
        let said = r#"{"type":"user","uuid":"1","message":{"role":"user","content":"go"}}"#;
        let unread = r#"{"type":"assistant","uuid":"2","message":{"parts":[]}}"#;
        let half = format!("{said}\n{unread}\n");
        for spelled in ["force=True", "force: true"] {
            let reading = Reading::new("auto", false, spelled).unwrap();
            let said = refused(reading.read(half.as_bytes()));
            assert!(
                said.ends_with(&format!("; {spelled} continues with the rest")),
                "{said}"
            );
            let forced = Reading::new("auto", true, spelled).unwrap();
            assert_eq!(forced.read(half.as_bytes()).unwrap().document.messages.len(), 1);
        }
    }

    #[test]
    fn two_sizes_and_forms_that_do_not_exist_are_arguments() {
        let reading = Reading::new("auto", false, "force").unwrap();
        let both = Compactor::new(reading, Some(1), Some(1), None, "");
        assert!(matches!(both, Err(OptionsError::Argument(_))));
        let unknown = Compactor::new(reading, None, None, Some("klingon"), "");
        assert_eq!(refused(unknown), "unknown format \"klingon\"; formats() lists them");
        assert_eq!(
            refused(check(b"{}", "klingon")),
            "unknown vendor \"klingon\"; expected auto, anthropic, openai, responses or gemini"
        );
        assert_eq!(
            refused(check(b"[]", "auto")),
            "the input is not recognized as a request; if it is one, name its vendor: anthropic, openai, responses or gemini"
        );
    }

    #[test]
    fn several_conversations_are_counted_and_split() {
        let one = r#"{"messages":[{"role":"user","content":"hello"},{"role":"assistant","content":"good day"}]}"#;
        let lines = format!("{one}\n{one}\n");
        let reading = Reading::new("auto", false, "force").unwrap();
        assert!(matches!(reading.read(lines.as_bytes()), Err(OptionsError::Several(2))));
        assert_eq!(conversations(lines.as_bytes()), [one.as_bytes(); 2]);
        assert_eq!(conversations(one.as_bytes()), [one.as_bytes()]);
    }
}
