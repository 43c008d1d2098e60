//! Markdown block structure, parsed line by line.

use super::super::clean::clean;
use super::super::look::{Look, Role};
use super::super::wrap::{Breaking, Wrap, columns, spaces};
use super::code::CodeBlock;
use super::container::{self, Beginnings, Container, DEPTH, indent, is_rule, untabbed};
use super::reference::{self, Definition, References};
use super::table::{self, Table};
use super::words::{Verbatim, Words};
use pulldown_cmark::Alignment;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use std::borrow::Cow;

/// The open blocks, from the outermost container to the leaf.
#[derive(Clone, Debug)]
pub(super) struct Blocks {
    pub(super) look: Look,
    containers: Vec<Container>,
    leaf: Leaf,
    /// There was a blank line since the last block.
    is_blank: bool,
    /// Something was shown, so the next block is separated by a blank line.
    has_shown: bool,
    /// The last block was a heading, and its content has not arrived.
    is_headed: bool,
    references: References,
}

/// The block that takes the next line.
#[derive(Clone, Debug)]
enum Leaf {
    None,
    Words(Words),
    Code(Box<CodeBlock>),
    Html(Verbatim),
    Table(Box<Table>),
}

impl Blocks {
    pub(super) fn new(look: Look) -> Self {
        Blocks {
            look,
            containers: Vec::new(),
            leaf: Leaf::None,
            is_blank: false,
            has_shown: false,
            is_headed: false,
            references: References::default(),
        }
    }

    /// Sets the look, also for open blocks.
    pub(super) fn set_look(&mut self, look: Look, out: &mut Vec<Line<'static>>) {
        self.look = look;
        match &mut self.leaf {
            Leaf::None => {}
            Leaf::Words(words) => words.wrap.set_width(look.prose(), out),
            Leaf::Code(code) => code.set_look(look, out),
            Leaf::Html(html) => html.set_look(&look, out),
            Leaf::Table(table) => table.set_look(&look),
        }
    }

    pub(super) fn is_between(&self) -> bool {
        matches!(self.leaf, Leaf::None) && !self.is_headed
    }

    /// Returns whether a line with this beginning may be processed in pieces, that is, whether its kind does not depend
    /// on its end.
    pub(super) fn may_split(&self, line: &str) -> bool {
        match self.leaf {
            Leaf::Table(_) | Leaf::Code(_) => false,
            // A thematic break or a reference definition is known only at its end.
            _ => {
                let is_ruled = |byte| matches!(byte, b'-' | b'=' | b'*' | b'_' | b' ' | b'>');
                !line.contains('|') && !line.contains("]:") && !line.bytes().all(is_ruled)
            }
        }
    }

    /// Takes a line or a piece of one; `is_start` and `is_end` say whether it contains the line's beginning and end.
    pub(super) fn take(&mut self, line: &str, is_start: bool, is_end: bool, out: &mut Vec<Line<'static>>) {
        let line = if is_end {
            line.strip_suffix('\r').unwrap_or(line)
        } else {
            line
        };
        if is_start {
            self.start(line, is_end, out);
        } else {
            self.go_on(line, is_end, out);
        }
    }

    /// Takes more of a line whose beginning was taken.
    fn go_on(&mut self, piece: &str, is_end: bool, out: &mut Vec<Line<'static>>) {
        match &mut self.leaf {
            Leaf::Words(words) => {
                words.add(piece, is_end, &self.look, out);
                if is_end && words.is_heading {
                    self.end_leaf(out);
                }
            }
            Leaf::Code(code) => code.take(piece, is_end, out),
            Leaf::Html(html) => html.take(piece, is_end, &self.look, out),
            Leaf::Table(table) => table.row(piece, &self.look, out),
            Leaf::None => self.open_words(piece, is_end, out),
        }
    }

    fn start(&mut self, line: &str, is_end: bool, out: &mut Vec<Line<'static>>) {
        let (matched, rest) = self.matching(untabbed(line));
        let all = matched == self.containers.len();
        if all && let Leaf::Code(code) = &mut self.leaf {
            if code.closes(&rest) && is_end {
                self.end_leaf(out);
            } else if !code.is_indented() || indent(&rest) >= 4 || rest.trim().is_empty() {
                code.take(&rest, is_end, out);
            } else {
                self.end_leaf(out);
                self.open(matched, &rest, is_end, out);
            }
            return;
        }
        if rest.trim().is_empty() {
            // A quote ends at a line without its mark; a list item continues.
            if !all {
                self.close_to(matched, out);
            }
            self.end_leaf(out);
            self.is_blank = self.has_shown;
            return;
        }
        self.open(matched, &rest, is_end, out);
    }

    /// The number of open containers that the line continues, and the rest of the line.
    fn matching<'a>(&self, line: Cow<'a, str>) -> (usize, Cow<'a, str>) {
        let mut rest = line;
        for (at, container) in self.containers.iter().enumerate() {
            let lead = indent(&rest);
            match container {
                Container::Quote if lead <= 3 && rest[lead..].starts_with('>') => rest = quoted(behind(rest, lead)),
                Container::Item { .. } if rest.trim().is_empty() => {}
                Container::Item { offset, .. } if lead >= *offset => rest = behind(rest, *offset),
                _ => return (at, rest),
            }
        }
        (self.containers.len(), rest)
    }

    /// Takes a line that is not blank and continues the first `matched` containers.
    fn open(&mut self, matched: usize, line: &str, is_end: bool, out: &mut Vec<Line<'static>>) {
        let mut rest = Cow::Borrowed(line);
        let mut has_opened = false;
        // Some markers cannot interrupt a paragraph.
        let mut in_words = matches!(&self.leaf, Leaf::Words(words) if !words.is_heading);
        let all = matched == self.containers.len();
        loop {
            let lead = indent(&rest);
            let text = &rest[lead..];
            if lead >= 4 {
                if in_words {
                    break;
                }
                self.part(matched, has_opened, out);
                self.open_code(None, &rest, is_end, out);
                return;
            }
            if text.starts_with('>') && self.containers.len() < DEPTH {
                let inner = quoted(behind(rest, lead));
                self.part(matched, has_opened, out);
                self.containers.push(Container::Quote);
                (has_opened, in_words, rest) = (true, false, inner);
                if rest.trim().is_empty() {
                    return;
                }
                continue;
            }
            if all && !has_opened && in_words && self.take_as_underline(text, is_end, out) {
                return;
            }
            if let Some(fence) = CodeBlock::fence(text) {
                self.part(matched, has_opened, out);
                self.open_code(Some((fence, lead)), text, is_end, out);
                return;
            }
            if let Some(level) = heading(text) {
                self.part(matched, has_opened, out);
                self.open_heading(level, text, is_end, out);
                return;
            }
            if is_end && is_rule(text) {
                self.part(matched, has_opened, out);
                self.rule(out);
                return;
            }
            if let Some((length, number)) = container::marker(text)
                && self.containers.len() < DEPTH
                && !(in_words
                    && !has_opened
                    && all
                    && (text[length..].trim().is_empty() || number.is_some_and(|n| n != 1)))
            {
                let marker = self.marker(&text[..length], number);
                let after = untabbed(&text[length..]);
                self.part(matched, has_opened, out);
                let inner = self.open_item(marker, lead + length, after);
                (has_opened, in_words, rest) = (true, false, Cow::Owned(inner));
                if rest.trim().is_empty() {
                    return;
                }
                continue;
            }
            break;
        }
        self.take_words(matched, has_opened, &rest, is_end, out);
    }

    /// Opens a list item whose marker ends in this column; returns its content.
    fn open_item(&mut self, marker: String, end: usize, after: Cow<'_, str>) -> String {
        let spaces = indent(&after);
        let gap = if after.trim().is_empty() || spaces > 4 {
            1
        } else {
            spaces
        };
        let gap_here = gap.min(after.len());
        let mut inner = behind(after, gap_here).into_owned();
        let marker = task(&mut inner, marker, &self.look);
        self.containers.push(Container::Item {
            offset: end + gap,
            marker,
            is_shown: false,
        });
        inner
    }

    /// Takes a line, or its content in newly opened containers, that starts no other block: it continues the open block
    /// or starts a paragraph.
    fn take_words(&mut self, matched: usize, has_opened: bool, rest: &str, is_end: bool, out: &mut Vec<Line<'static>>) {
        let all = matched == self.containers.len();
        let text = rest.trim_start();
        if is_end && let Some(found) = reference::definition(text) {
            self.part(matched, has_opened, out);
            self.define(found, text, out);
            return;
        }
        match &mut self.leaf {
            // A paragraph continues even without the markers of its containers.
            Leaf::Words(words) if !has_opened && !words.is_heading => {
                words.next_line(is_definition(text));
                words.add(text, is_end, &self.look, out);
                return;
            }
            Leaf::Table(table) if !has_opened && all && text.contains('|') => {
                table.row(text, &self.look, out);
                return;
            }
            Leaf::Html(html) if !has_opened && all => {
                html.take(rest, is_end, &self.look, out);
                return;
            }
            _ => {}
        }
        self.part(matched, has_opened, out);
        if is_html(text) {
            let mut html = Verbatim {
                style: self.look.style(Role::Dim),
                begin: self.begin(out),
                wrap: None,
            };
            html.take(text, is_end, &self.look, out);
            self.leaf = Leaf::Html(html);
        } else {
            self.open_words(text, is_end, out);
        }
    }

    /// Closes the blocks that the line does not continue, and separates the next one.
    fn part(&mut self, matched: usize, has_opened: bool, out: &mut Vec<Line<'static>>) {
        if has_opened {
            return;
        }
        self.end_leaf(out);
        self.close_to(matched, out);
        if std::mem::take(&mut self.is_blank) {
            let quotes = self
                .containers
                .iter()
                .filter(|container| **container == Container::Quote)
                .count();
            let bars = self.look.pick("│ ", "> ").repeat(quotes.min(self.look.width / 4));
            let bars = bars.trim_end().to_owned();
            out.push(match bars.is_empty() {
                true => Line::default(),
                false => Line::from(Span::styled(bars, self.look.style(Role::Dim))),
            });
        }
        self.has_shown = true;
    }

    /// The beginnings of the next block's rows.
    fn begin(&mut self, out: &mut Vec<Line<'static>>) -> Beginnings {
        let mut begin = container::beginnings(&mut self.containers, &self.look);
        if !begin.alone.is_empty() {
            Wrap::new(self.look.width, Breaking::Prose, Vec::new(), Vec::new()).all(
                self.look.style(Role::Accent),
                &std::mem::take(&mut begin.alone),
                out,
            );
        }
        begin
    }

    fn open_words(&mut self, text: &str, is_end: bool, out: &mut Vec<Line<'static>>) {
        let begin = self.begin(out);
        let mut words = Words::new(&self.look, begin, Style::new(), false, &self.references);
        words.add(text, is_end, &self.look, out);
        self.leaf = Leaf::Words(words);
    }

    /// A definition always has its own rows, since references to it may have been shown long ago.
    fn define(&mut self, found: Definition<'_>, line: &str, out: &mut Vec<Line<'static>>) {
        let mut begin = self.begin(out);
        match found {
            Definition::Link(label, target) => {
                self.references.define(label, target);
                begin.rest.push(Span::raw("  "));
                Wrap::new(self.look.prose(), Breaking::Prose, begin.first, begin.rest)
                    .unbroken()
                    .all(self.look.style(Role::Dim), &clean(line, 4), out);
            }
            Definition::Footnote(label, text) => {
                let mark = format!("[{}]", clean(label, 1));
                // A label that would leave no room is put among the words.
                let indent = columns(&mark) + 1;
                let is_wide = indent > self.look.width / 4;
                if !is_wide {
                    begin
                        .first
                        .push(Span::styled(mark.clone(), self.look.style(Role::Link)));
                    begin.first.push(Span::raw(" "));
                    begin.rest.push(spaces(indent));
                }
                let mut words = Words::new(&self.look, begin, Style::new(), false, &self.references);
                if is_wide {
                    words.add(&format!("{mark} "), false, &self.look, out);
                }
                words.add(text, true, &self.look, out);
                self.leaf = Leaf::Words(words);
            }
        }
    }

    fn open_heading(&mut self, level: usize, text: &str, is_end: bool, out: &mut Vec<Line<'static>>) {
        let begin = self.begin(out);
        let style = heading_style(&self.look, level);
        let mut words = Words::new(&self.look, begin, style, true, &self.references);
        let title = if is_end { without_closing_marks(text) } else { text };
        let title = match self.look.is_plain() {
            true => title,
            false => title[level..].trim_start(),
        };
        words.add(title, is_end, &self.look, out);
        self.leaf = Leaf::Words(words);
        if is_end {
            self.end_leaf(out);
        }
    }

    fn open_code(
        &mut self,
        fence: Option<(super::code::Fence, usize)>,
        text: &str,
        is_end: bool,
        out: &mut Vec<Line<'static>>,
    ) {
        let begin = self.begin(out);
        let mut code = CodeBlock::new(fence, begin, self.look);
        match fence {
            Some(_) => code.label(text, is_end, out),
            None => code.take(text, is_end, out),
        }
        self.leaf = Leaf::Code(Box::new(code));
    }

    fn rule(&mut self, out: &mut Vec<Line<'static>>) {
        let begin = self.begin(out);
        let taken: usize = begin
            .first
            .iter()
            .map(|span| super::super::wrap::columns(&span.content))
            .sum();
        let wide = self.look.prose().min(72).saturating_sub(taken).max(3);
        let mut spans = begin.first;
        spans.push(Span::styled(
            self.look.pick("─", "-").repeat(wide),
            self.look.style(Role::Dim),
        ));
        out.push(Line::from(spans));
    }

    /// Takes a line under a paragraph that turns it into a heading or a table. Only text that was not shown yet can be
    /// turned.
    fn take_as_underline(&mut self, text: &str, is_end: bool, out: &mut Vec<Line<'static>>) -> bool {
        let Leaf::Words(words) = &mut self.leaf else {
            return false;
        };
        if words.is_begun || !is_end {
            return false;
        }
        let line = text.trim_end();
        if !line.is_empty() && (line.bytes().all(|byte| byte == b'=') || line.bytes().all(|byte| byte == b'-')) {
            let level = if line.starts_with('=') { 1 } else { 2 };
            words.style = heading_style(&self.look, level);
            words.is_heading = true;
            if self.look.is_plain() {
                words.text.insert_str(0, if level == 1 { "# " } else { "## " });
            }
            self.end_leaf(out);
            return true;
        }
        if words.lines == 1
            && let Some(aligns) = table::delimiter(&words.text, line)
        {
            let table = Table::new(&words.text, aligns, words.wrap.clone(), &self.references, &self.look);
            self.leaf = Leaf::Table(Box::new(table));
            return true;
        }
        false
    }

    /// Treats words as a table header if they begin like one and `line`, the next line so far, may become its
    /// delimiter. Returns whether it did.
    pub(super) fn guess_table(&mut self, line: &str) -> bool {
        let Leaf::Words(words) = &self.leaf else {
            return false;
        };
        // The markers of the line's containers precede it.
        let line = line.trim_start_matches([' ', '>']);
        let is_dashed = line.starts_with('-') || line.starts_with(':');
        let may_be_header = words.text.starts_with('|') || (is_dashed && words.text.contains('|'));
        let is_first = words.lines == 1 && !words.is_begun && !words.is_heading;
        if !(is_first && may_be_header && table::may_become_delimiter(line)) {
            return false;
        }
        let cells = table::cells(&words.text);
        self.leaf = match cells.iter().all(|cell| cell.is_empty()) {
            true => Leaf::None,
            false => {
                let sides = vec![Alignment::None; cells.len()];
                let begin = words.wrap.clone();
                Leaf::Table(Box::new(Table::new(
                    &words.text, sides, begin, &self.references, &self.look,
                )))
            }
        };
        true
    }

    fn marker(&self, source: &str, number: Option<u64>) -> String {
        match number {
            Some(_) => source.to_owned(),
            None => self.look.pick("•", "-").to_owned(),
        }
    }

    fn end_leaf(&mut self, out: &mut Vec<Line<'static>>) {
        let leaf = std::mem::replace(&mut self.leaf, Leaf::None);
        if !matches!(leaf, Leaf::None) {
            self.is_headed = matches!(&leaf, Leaf::Words(words) if words.is_heading);
        }
        match leaf {
            Leaf::None => {}
            Leaf::Words(words) => words.finish(&self.look, out),
            Leaf::Code(code) => {
                if code.finish(out) {
                    self.is_blank = true;
                }
            }
            Leaf::Html(html) => html.finish(out),
            Leaf::Table(table) => table.finish(&self.look, out),
        }
    }

    /// Closes all containers except the first `kept`. An empty item still shows its marker.
    fn close_to(&mut self, kept: usize, out: &mut Vec<Line<'static>>) {
        if self.containers.len() <= kept {
            return;
        }
        self.end_leaf(out);
        let is_bare = |container: &Container| matches!(container, Container::Item { is_shown: false, .. });
        if self.containers.iter().any(is_bare) {
            let begin = self.begin(out);
            if !begin.first.is_empty() {
                out.push(Line::from(begin.first));
            }
        }
        self.containers.truncate(kept);
    }

    pub(super) fn finish(&mut self, out: &mut Vec<Line<'static>>) {
        self.end_leaf(out);
        self.close_to(0, out);
        *self = Blocks::new(self.look);
    }
}

/// The content after a quote's mark, which is the first character.
fn quoted(text: Cow<'_, str>) -> Cow<'_, str> {
    let inner = match behind(text, 1) {
        Cow::Borrowed(inner) => untabbed(inner),
        Cow::Owned(inner) => Cow::Owned(untabbed(&inner).into_owned()),
    };
    let space = usize::from(inner.starts_with(' '));
    behind(inner, space)
}

/// The text without its first bytes, which are ASCII.
fn behind(text: Cow<'_, str>, bytes: usize) -> Cow<'_, str> {
    match text {
        Cow::Borrowed(text) => Cow::Borrowed(&text[bytes..]),
        Cow::Owned(mut text) => {
            text.drain(..bytes);
            Cow::Owned(text)
        }
    }
}

/// Returns whether a line defines a reference or a footnote.
fn is_definition(text: &str) -> bool {
    text.starts_with('[') && text.find("]:").is_some_and(|end| !text[..end].contains(' '))
}

/// The level of a heading, 1 to 6.
fn heading(text: &str) -> Option<usize> {
    let level = text.bytes().take_while(|&byte| byte == b'#').count();
    let is_one = (1..=6).contains(&level) && matches!(text.as_bytes().get(level), None | Some(b' ' | b'\t'));
    is_one.then_some(level)
}

/// The style of a heading; in plain output its marks show it instead.
fn heading_style(look: &Look, level: usize) -> Style {
    match level {
        1 if !look.is_plain() => look.style(Role::Accent).underlined(),
        1 | 2 => look.style(Role::Accent),
        _ => look.style(Role::Strong),
    }
}

fn without_closing_marks(text: &str) -> &str {
    let trimmed = text.trim_end();
    let bare = trimmed.trim_end_matches('#');
    match bare.ends_with(' ') && !bare.trim().is_empty() && !bare.trim_end().trim_end_matches('#').is_empty() {
        true => bare.trim_end(),
        false => trimmed,
    }
}

/// Returns whether a line begins an HTML block, which is shown verbatim.
fn is_html(text: &str) -> bool {
    let Some(rest) = text.strip_prefix('<') else {
        return false;
    };
    let rest = rest.strip_prefix('/').unwrap_or(rest);
    if rest.starts_with("!--") || rest.starts_with('?') || rest.starts_with("![CDATA[") {
        return true;
    }
    let name = rest
        .bytes()
        .take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'-')
        .count();
    let is_end = matches!(rest.as_bytes().get(name), None | Some(b' ' | b'\t' | b'>' | b'/'));
    name > 0 && rest.as_bytes()[0].is_ascii_alphabetic() && is_end
}

/// Moves a task's checkbox from the beginning of an item's content to its marker.
fn task(inner: &mut String, marker: String, look: &Look) -> String {
    let (length, mark) = match inner.get(..4) {
        Some("[ ] ") => (4, look.pick("☐", "[ ]")),
        Some("[x] " | "[X] ") => (4, look.pick("☑", "[x]")),
        _ => return marker,
    };
    inner.drain(..length);
    match marker.as_str() {
        "•" | "-" => mark.to_owned(),
        _ => format!("{marker} {mark}"),
    }
}
