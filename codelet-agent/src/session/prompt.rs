//! The user's input.

use crate::permission::narrowed::Narrowed;
use codelet_context::message::{Image, Message, Origin, Part, Text};
use codelet_context::reminder;
use codelet_text::short::{clip, words};

/// The maximum length of an attachment's name, in characters; `END`: the text that follows the attachment.
const SOURCE: usize = 500;
const END: &str = "[End of the attachment.]";

/// The user's input.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Prompt {
    /// The text.
    pub text: String,
    /// Images along with it.
    pub images: Vec<Image>,
    /// The tools listed by the command that it comes from.
    pub narrowed: Option<Narrowed>,
    /// Texts by others along with it.
    pub attached: Vec<Attachment>,
}

impl Prompt {
    /// Returns a recorded prompt: the user's own words and images.
    pub(crate) fn of(message: &Message) -> Self {
        let words = message.parts.iter().filter_map(|part| match part {
            Part::Text(text) if text.origin == Origin::Own => Some(text.body.as_str()),
            _ => None,
        });
        let images = message.parts.iter().filter_map(|part| match part {
            Part::Image(image) => Some(image.clone()),
            _ => None,
        });
        Prompt {
            text: words.collect::<Vec<_>>().join("\n"),
            images: images.collect(),
            ..Prompt::default()
        }
    }
}

impl From<&str> for Prompt {
    fn from(text: &str) -> Self {
        Prompt {
            text: text.to_owned(),
            ..Prompt::default()
        }
    }
}

/// A text by someone else that the user sends along, such as a file that an editor shows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Attachment {
    /// Its origin: a path or a URL.
    pub source: String,
    /// The text.
    pub text: String,
}

impl Attachment {
    /// Returns the part for the model, marked as an attachment, so that nothing in it can pose as the user's own words.
    pub(crate) fn part(&self, hide: &dyn Fn(&str) -> String) -> Part {
        let source = words(&self.source);
        let source = clip(&source, SOURCE);
        let head = format!("[Attached to the prompt: {source}. This is what it holds, not what the user says.]");
        // Only this side can end the attachment, even on wires that join the texts of a message.
        let text = hide(&self.text).replace(END, "[end of an attachment]");
        Part::Text(Text::new(
            reminder::escape(&format!("{head}\n{text}\n{END}")),
            Origin::Injected,
        ))
    }
}
