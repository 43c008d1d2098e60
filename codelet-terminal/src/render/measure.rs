//! Measures the columns of text on a terminal, and cuts or pads texts and lines to them.

use ratatui::text::{Line, Span};
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// The number of columns of a text.
pub fn columns(text: &str) -> usize {
    if text.is_ascii() {
        return text.len();
    }
    if let Some(columns) = text.chars().map(simple).sum() {
        return columns;
    }
    text.graphemes(true).map(UnicodeWidthStr::width).sum()
}

/// The number of columns of a character that never joins the previous one, for the most frequent characters; `None` for
/// any other. Avoids most lookups in the Unicode tables.
pub(crate) fn simple(c: char) -> Option<usize> {
    match c {
        ' '..='~'
        | '\u{a1}'..='\u{ac}'
        | '\u{ae}'..='\u{2ff}'
        | '\u{391}'..='\u{3a1}'
        | '\u{3b1}'..='\u{3c9}'
        | '\u{410}'..='\u{44f}'
        | '\u{5d0}'..='\u{5ea}'
        | '\u{2013}'
        | '\u{2014}'
        | '\u{2018}'..='\u{201e}'
        | '\u{2022}'
        | '\u{2026}'
        | '\u{2500}'..='\u{257f}' => Some(1),
        '\u{3001}' | '\u{3002}' | '\u{3041}'..='\u{3096}' | '\u{30a1}'..='\u{30fa}' | '\u{4e00}'..='\u{9fff}' => {
            Some(2)
        }
        _ => None,
    }
}

/// The text cut to this many columns, with `…` at the end if something is missing.
pub fn clip(text: &str, width: usize) -> String {
    let kept = prefix(text, width);
    if kept == text.len() {
        return text.to_owned();
    }
    match width {
        0 => String::new(),
        _ => format!("{}…", text[..prefix(text, width - 1)].trim_end()),
    }
}

/// The text cut on the left to this many columns, for texts whose end matters most, such as paths.
pub fn clip_left(text: &str, width: usize) -> String {
    if prefix(text, width) == text.len() {
        return text.to_owned();
    }
    let mut room = width.saturating_sub(1);
    let mut start = text.len();
    for (at, grapheme) in text.grapheme_indices(true).rev() {
        let wide = grapheme.width();
        if wide > room {
            break;
        }
        room -= wide;
        start = at;
    }
    match width {
        0 => String::new(),
        _ => format!("…{}", text[start..].trim_start()),
    }
}

/// The text cut or padded to exactly this many columns.
pub fn fit(text: &str, width: usize) -> String {
    let mut text = clip(text, width);
    let missing = width.saturating_sub(columns(&text));
    text.extend(std::iter::repeat_n(' ', missing));
    text
}

/// The number of bytes of the text that fit into this many columns. Reads no further than that.
pub fn prefix(text: &str, width: usize) -> usize {
    let bytes = text.as_bytes();
    let plain = bytes.iter().take(width + 1).take_while(|byte| byte.is_ascii()).count();
    if plain == bytes.len() && plain <= width {
        return plain;
    }
    let (mut room, mut end) = (width, 0);
    for grapheme in text.graphemes(true) {
        let wide = grapheme.width();
        if wide > room {
            break;
        }
        room -= wide;
        end += grapheme.len();
    }
    end
}

/// A span of spaces, without an allocation for small counts.
pub(super) fn spaces(count: usize) -> Span<'static> {
    const FEW: &str =
        "                                                                                                    ";
    match FEW.get(..count) {
        Some(few) => Span::raw(few),
        None => Span::raw(" ".repeat(count)),
    }
}

/// The number of columns of a line.
pub fn line_columns(line: &Line<'_>) -> usize {
    line.spans.iter().map(|span| columns(&span.content)).sum()
}

/// The text of a line, without its styles.
pub fn line_text(line: &Line<'_>) -> String {
    line.spans.iter().map(|span| &*span.content).collect()
}

/// A line cut to this many columns, with `…` at the end if something is missing.
pub fn clip_line(line: Line<'static>, width: usize) -> Line<'static> {
    if line_columns(&line) <= width {
        return line;
    }
    let mut room = width.saturating_sub(1);
    let mut spans = Vec::new();
    for span in line.spans {
        let wide = columns(&span.content);
        if wide < room {
            room -= wide;
            spans.push(span);
            continue;
        }
        let kept = &span.content[..prefix(&span.content, room)];
        if width > 0 {
            spans.push(Span::styled(format!("{kept}…"), span.style));
        }
        break;
    }
    Line::from(spans)
}

/// The terminal rows of a line that may be wider than the terminal.
pub fn rows(line: Line<'static>, width: usize) -> Vec<Line<'static>> {
    if line_columns(&line) <= width {
        return vec![line];
    }
    let (style, mut out, mut row, mut room) = (line.style, Vec::new(), Vec::new(), width.max(2));
    for span in line.spans {
        let mut rest = &*span.content;
        while !rest.is_empty() {
            let fitting = prefix(rest, room);
            if fitting > 0 {
                let piece = rest[..fitting].to_owned();
                room -= columns(&piece).min(room);
                row.push(Span::styled(piece, span.style));
            } else if row.is_empty() {
                // Only a character of unknown width can be wider than a whole row.
                break;
            }
            rest = &rest[fitting..];
            if !rest.is_empty() {
                out.push(Line::from(std::mem::take(&mut row)).style(style));
                room = width.max(2);
            }
        }
    }
    out.push(Line::from(row).style(style));
    out
}

/// The total number of columns of these spans.
pub(super) fn wide(spans: &[Span<'_>]) -> usize {
    spans.iter().map(|span| columns(&span.content)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_too_wide_takes_the_rows_that_a_terminal_breaks_it_into() {
        let line = Line::from(vec![Span::raw("  abc"), Span::raw("日本defg")]);
        let shown: Vec<String> = rows(line, 6).iter().map(line_text).collect();
        assert_eq!(shown, ["  abc", "日本de", "fg"]);
        assert_eq!(rows(Line::from("abc"), 3).len(), 1);
        assert_eq!(rows(Line::from("abcdef"), 3).len(), 2);
    }

    #[test]
    fn the_simple_characters_are_as_wide_as_the_tables_say_and_join_with_nothing() {
        for c in ('\u{20}'..='\u{ffff}').filter(|&c| simple(c).is_some()) {
            assert_eq!(simple(c), Some(c.to_string().width()), "{c:?}");
            assert_eq!(format!("a{c}日{c}").graphemes(true).count(), 4, "{c:?}");
        }
    }

    #[test]
    fn cutting_respects_wide_characters() {
        assert_eq!(
            [clip("hello", 5), clip("hello!", 5), clip("日本語", 4), clip("ab", 0)],
            ["hello", "hell…", "日…", ""]
        );
        assert_eq!(fit("日本語", 4), "日… ");
        assert_eq!(clip_left("src/deep/日本.rs", 7), "…本.rs");
    }
}
