//! The gist of what somebody said: its first words that mean something.

use super::PROMPT;
use crate::message::{Message, Origin, Part, Role};
use std::ops::Range;
use std::sync::Arc;

/// Lines of a text that are looked at for one that means something.
const LINES: usize = 100;
/// Blocks in tags before a prompt that are passed over.
const BLOCKS: usize = 8;

/// What the prompts of a turn say first.
pub(super) fn prompt(messages: &[Arc<Message>], range: Range<usize>) -> Option<String> {
    let range = range.start.min(messages.len())..range.end.min(messages.len());
    let prompts = messages[range.clone()]
        .iter()
        .take_while(|message| message.role != Role::Assistant);
    let texts: Vec<&str> = prompts
        .filter(|message| message.is_prompt())
        .flat_map(|message| own_texts(message))
        .collect();
    let besides = texts.iter().find_map(|text| gist(behind_blocks(text)));
    let said = besides.or_else(|| texts.iter().find_map(|text| gist(text)));
    said.or_else(|| file(&messages[range.start..]))
}

/// The file that a prompt without words consists of.
fn file(messages: &[Arc<Message>]) -> Option<String> {
    let first = messages.first().filter(|message| message.is_prompt())?;
    first.parts.iter().find_map(|part| match part {
        Part::Opaque(opaque) if opaque.is_file() => Some(opaque.label()),
        _ => None,
    })
}

/// What a text says behind the blocks in tags that some recorders put before the user's words.
fn behind_blocks(text: &str) -> &str {
    let mut rest = text.trim_start();
    for _ in 0..BLOCKS {
        let name = rest
            .strip_prefix('<')
            .and_then(|rest| rest.get(..rest.find(['>', '\n'])?));
        let is_name = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'-' | b'_');
        let Some(name) = name.filter(|name| !name.is_empty() && name.bytes().all(is_name)) else {
            break;
        };
        let Some((_, behind)) = rest.split_once(&format!("</{name}>")) else {
            break;
        };
        rest = behind.trim_start();
    }
    rest
}

/// What the model says first.
pub(super) fn said(message: &Message) -> Option<String> {
    own_texts(message).filter_map(gist).next()
}

fn own_texts(message: &Message) -> impl Iterator<Item = &str> {
    message.parts.iter().filter_map(|part| match part {
        Part::Text(text) if text.origin == Origin::Own => Some(text.body.as_str()),
        _ => None,
    })
}

/// The first words of a text that mean something: its first line besides tags and signs, and the next ones if that only
/// leads up to them (`Implement this plan:`) or is a word like `Done!`.
fn gist(text: &str) -> Option<String> {
    let mut gist = String::new();
    for line in text.lines().take(LINES).filter_map(meaning) {
        if !gist.is_empty() {
            gist.push(' ');
        }
        // Quoted on one line, and bounded there; this bounds the work.
        gist.push_str(&line[..line.floor_char_boundary(4 * PROMPT)]);
        if gist.len() >= 16 && !gist.ends_with(':') || gist.len() > 2 * PROMPT {
            break;
        }
    }
    (!gist.is_empty()).then_some(gist)
}

/// A line without the signs before it, if it has words besides them. A line that begins with a tag, or stands in
/// brackets, is a harness's.
fn meaning(line: &str) -> Option<&str> {
    let mut line = line.trim().trim_start_matches(['#', '>', '-', '*', '=', ' ']);
    // A quotation that ends stays whole.
    while let Some(rest) = line.strip_prefix(['`', '"']).filter(|rest| !rest.contains(&line[..1])) {
        line = rest;
    }
    line = line.trim_start_matches("```").trim_start();
    let is_tag = line.starts_with('<') || line.starts_with('[') && line.ends_with(']');
    (!is_tag && line.chars().filter(|c| c.is_alphanumeric()).take(2).count() == 2).then_some(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quotation_that_ends_stays_whole() {
        assert_eq!(meaning("`main` is protected"), Some("`main` is protected"));
        assert_eq!(meaning("\"left open"), Some("left open"));
        assert_eq!(meaning("- ```rust"), Some("rust"));
    }

    #[test]
    fn the_gist_of_a_text_is_its_first_line_with_words() {
        let table = [
            ("\n# Fix the lost comments\nmore", Some("Fix the lost comments")),
            (
                "Implement the following plan:\n\n# Faster start\nx",
                Some("Implement the following plan: Faster start"),
            ),
            (
                "<command-name>/clear</command-name>\nreal words here",
                Some("real words here"),
            ),
            ("[Request interrupted by user]", None),
            ("Done!\nThe flag is documented.", Some("Done! The flag is documented.")),
            ("---\n```\n", None),
            ("yes", Some("yes")),
        ];
        for (text, expected) in table {
            assert_eq!(gist(text).as_deref(), expected, "{text}");
        }
    }
}
