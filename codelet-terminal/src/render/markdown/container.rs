//! Container blocks: quotes and list items, their markers in the source and on screen.

use super::super::look::{Look, Role};
use ratatui::text::Span;
use std::borrow::Cow;

/// Maximum nesting; anything deeper is not parsed as a container.
pub(super) const DEPTH: usize = 24;

/// A container block.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Container {
    /// A quote.
    Quote,
    /// A list item.
    Item {
        /// Indentation of its content in the source, in columns.
        offset: usize,
        /// The marker shown before its content.
        marker: String,
        /// True once the marker was shown already.
        is_shown: bool,
    },
}

/// The number of leading spaces, in columns and bytes.
pub(super) fn indent(text: &str) -> usize {
    text.len() - text.trim_start_matches(' ').len()
}

/// The text with leading tabs expanded to multiples of four columns.
pub(super) fn untabbed(text: &str) -> Cow<'_, str> {
    let lead = text.len() - text.trim_start_matches([' ', '\t']).len();
    if !text[..lead].contains('\t') {
        return Cow::Borrowed(text);
    }
    let columns = text[..lead].bytes().fold(0, |column, byte| match byte {
        b'\t' => column + 4 - column % 4,
        _ => column + 1,
    });
    Cow::Owned(" ".repeat(columns) + &text[lead..])
}

/// Parses a list marker at the beginning of `text`: its length in bytes, and the number of an ordered one.
pub(super) fn marker(text: &str) -> Option<(usize, Option<u64>)> {
    let bytes = text.as_bytes();
    let (length, number) = match bytes.first()? {
        b'-' | b'+' | b'*' => (1, None),
        b'0'..=b'9' => {
            let digits = bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
            if digits > 9 || !matches!(bytes.get(digits), Some(b'.' | b')')) {
                return None;
            }
            (digits + 1, Some(text[..digits].parse().unwrap_or(0)))
        }
        _ => return None,
    };
    matches!(bytes.get(length), None | Some(b' ' | b'\t')).then_some((length, number))
}

/// Returns whether a line is a thematic break: three or more of one of these marks and nothing else.
pub(super) fn is_rule(text: &str) -> bool {
    let mut marks = text.bytes().filter(|byte| !matches!(byte, b' ' | b'\t'));
    let Some(first @ (b'-' | b'_' | b'*')) = marks.next() else {
        return false;
    };
    let mut count = 1;
    marks.all(|mark| {
        count += 1;
        mark == first
    }) && count >= 3
}

/// The beginnings of a block's rows.
#[derive(Clone, Debug, Default)]
pub(super) struct Beginnings {
    /// Markers that do not fit; they get a row of their own.
    pub(super) alone: String,
    /// Of the first row.
    pub(super) first: Vec<Span<'static>>,
    /// Of the others.
    pub(super) rest: Vec<Span<'static>>,
}

/// The beginnings of a block's rows in these containers. Markers are shown once. Where too little room would remain for
/// words, outer containers are left out.
pub(super) fn beginnings(containers: &mut [Container], look: &Look) -> Beginnings {
    let mut room = look.width / 2;
    let mut has_room = true;
    let (mut first, mut rest, mut alone) = (Vec::new(), Vec::new(), Vec::new());
    for container in containers.iter_mut().rev() {
        let (begin, go_on, marker) = piece(container, look);
        let wide = super::super::wrap::columns(&go_on.content);
        has_room &= wide <= room;
        if has_room {
            room -= wide;
            first.push(begin);
            rest.push(go_on);
        } else {
            alone.extend(marker);
        }
    }
    first.reverse();
    rest.reverse();
    alone.reverse();
    Beginnings {
        alone: alone.join(" "),
        first,
        rest,
    }
}

/// The first row's beginning in a container, that of the others, and the marker if it is new.
fn piece(container: &mut Container, look: &Look) -> (Span<'static>, Span<'static>, Option<String>) {
    match container {
        Container::Quote => {
            let bar = Span::styled(look.pick("│ ", "> "), look.style(Role::Dim));
            (bar.clone(), bar, None)
        }
        Container::Item { marker, is_shown, .. } => {
            let spaces = super::super::wrap::spaces(super::super::wrap::columns(marker) + 1);
            if std::mem::replace(is_shown, true) {
                return (spaces.clone(), spaces, None);
            }
            let first = Span::styled(format!("{marker} "), look.style(Role::Accent));
            (first, spaces, Some(marker.clone()))
        }
    }
}
