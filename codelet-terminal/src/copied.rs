//! The text that `/copy` puts on the clipboard.

use crate::render::figures::count;
use codelet_agent::session::Session;
use codelet_context::message::{Message, Part, Role};
use codelet_text::unseen;
use pulldown_cmark::{Event, Parser, Tag, TagEnd};

/// Maximum bytes copied: xterm accepts 100,000 bytes of base64, others more.
pub(crate) const MOST: usize = 74_000;

/// Returns the last answer as the model wrote it, or its code block with this number, counted from 1, with a
/// description.
///
/// # Errors
/// If there is none; the message is for the user.
pub(crate) fn of(session: &Session, number: &str) -> Result<(String, String), String> {
    let messages = session.conversation().history().messages();
    let mut answers = messages.iter().rev().map(|message| words(message));
    let answer = answers.find(|words| !words.trim().is_empty());
    // Hidden characters are removed: the shell it is pasted into would act on what the screen only spells out.
    let answer = plain(&answer.ok_or("There is no answer to copy.")?);
    if number.is_empty() {
        return Ok((answer, "the answer".to_owned()));
    }
    let blocks = code_blocks(&answer);
    let at = number.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
    match at.and_then(|at| blocks.get(at)) {
        Some(block) => Ok((block.clone(), format!("code block {number}"))),
        None => Err(format!(
            "The last answer has {}; /copy NUMBER copies one, /copy the whole answer.",
            count(blocks.len() as u64, "code block")
        )),
    }
}

/// Removes invisible characters except spaces, tabs and line ends.
fn plain(text: &str) -> String {
    let is_seen = |c: &char| matches!(c, '\n' | '\t') || !c.is_control() && !unseen::hides(*c);
    text.chars().filter(is_seen).collect()
}

/// The text of an answer; empty for any other message.
fn words(message: &Message) -> String {
    let texts = message.parts.iter().filter_map(|part| match part {
        Part::Text(text) if message.role == Role::Assistant => Some(text.body.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n\n")
}

/// The code blocks of a Markdown text, without their fences.
fn code_blocks(text: &str) -> Vec<String> {
    let mut blocks = Vec::new();
    let mut block: Option<String> = None;
    for event in Parser::new(text) {
        match (event, &mut block) {
            (Event::Start(Tag::CodeBlock(_)), _) => block = Some(String::new()),
            (Event::Text(text), Some(block)) => block.push_str(&text),
            (Event::End(TagEnd::CodeBlock), _) => blocks.extend(block.take()),
            _ => {}
        }
    }
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_of_code_is_copied_without_its_fence() {
        let text = "Run:\n\n```sh\ncargo test\n```\n\n- then\n\n  ~~~\n  a\n    b\n  ~~~\n\nand `this` is none.";
        assert_eq!(code_blocks(text), ["cargo test\n", "a\n  b\n"]);
    }

    #[test]
    fn what_is_copied_holds_nothing_that_a_terminal_obeys() {
        assert_eq!(plain("a\u{1b}[201~rm\r\n\tb\u{202e}c é 中"), "a[201~rm\n\tbc é 中");
    }
}
