//! Aider's chat history (`.aider.chat.history.md`): user input begins with `####`, Aider's own output with `>`, and the
//! rest is the model's.

use crate::format::{Form, Format};
use crate::gather::{self, Gather};
use crate::source::Source;
use crate::{ReadError, Recording};
use codelet_context::message::{Origin, Role};

pub(crate) const FORM: Form = Form::new("aider", "a chat history of Aider (Markdown)", read);

/// The beginning of every history.
pub(crate) const START: &str = "# aider chat started at ";

#[derive(Clone, Copy, PartialEq)]
enum Speaker {
    User,
    Aider,
    Model,
}

fn read(bytes: &[u8]) -> Result<Recording, ReadError> {
    let mut source = Source::new(bytes, "a chat history, which begins with a heading")?;
    let mut text = source.text().to_owned();
    if !text.contains('\n') {
        // Line ends of old Macs. Elsewhere a carriage return is a program's progress, within a line.
        text = text.replace('\r', "\n");
    }
    let mut gather = Gather::of(std::mem::take(&mut source.warnings));
    let mut block: (Speaker, Vec<&str>) = (Speaker::Model, Vec::new());
    let mut in_fence = false;
    for line in text.lines() {
        in_fence ^= line.starts_with("```");
        let (by, words) = match line {
            _ if in_fence => (Speaker::Model, line),
            line if line.starts_with(START) => (Speaker::Aider, ""),
            line if line.starts_with("####") => (Speaker::User, line.trim_start_matches('#').trim_start_matches(' ')),
            line if line == ">" || line.starts_with("> ") => (Speaker::Aider, line[1..].trim_start_matches(' ')),
            // An empty line between two lines of the same speaker does not end the block.
            "" => (block.0, ""),
            line => (Speaker::Model, line),
        };
        if by != block.0 {
            said(&mut gather, block.0, &block.1);
            block = (by, Vec::new());
        }
        block.1.push(words.trim_end());
    }
    said(&mut gather, block.0, &block.1);
    Ok(gather.finish(Format::Aider))
}

fn said(gather: &mut Gather, by: Speaker, lines: &[&str]) {
    let text = lines.join("\n").trim_matches('\n').to_owned();
    let (role, origin) = match by {
        Speaker::User => (Role::User, Origin::Own),
        Speaker::Aider => (Role::User, Origin::Injected),
        Speaker::Model => (Role::Assistant, Origin::Own),
    };
    gather.message(role, gather::text(origin, text));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sketch::check;

    #[test]
    fn each_line_says_whose_it_is() {
        let file = "\n# aider chat started at 2026-11-20 10:00:00\n\n> Aider v0.90\n> Added a.py to the chat.\n\n\
            #### mend it  \n#### and test it\n\nHere is the change:\n\n```\n#### no prompt\n> no word of Aider\n```\n\n> Applied edit to a.py\n";
        assert_eq!(crate::detect(file.as_bytes()), Some(Format::Aider));
        for end in ["\n", "\r\n", "\r"] {
            check(
                read,
                &file.replace('\n', end),
                "user (injected): Aider v0.90|Added a.py to the chat.\n-\nuser: mend it|and test it\n\
             assistant: Here is the change:||```|#### no prompt|> no word of Aider|```\n\
             user (injected): Applied edit to a.py",
            );
        }
    }
}
