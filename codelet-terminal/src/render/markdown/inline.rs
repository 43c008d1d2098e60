//! Inline Markdown: emphasis, code, links; everything else verbatim.

use super::super::clean::clean;
use super::super::look::{Look, Role};
use super::reference::References;
use pulldown_cmark::{BrokenLink, CowStr, Event, LinkType, Options, Parser, Tag, TagEnd};
use ratatui::style::{Modifier, Style};

/// Marks a hard line break in a block's text, between two spaces. It is a Unicode noncharacter.
pub(super) const ROW_END: char = '\u{fdd0}';

/// A piece of a block's inline content.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Shown<'a> {
    /// Text in a style.
    Text(Style, &'a str),
    /// The row ends here.
    RowEnd,
}

/// A link or an image whose text is being shown.
enum OpenLink {
    /// Its address, if it is to be shown, and its text so far.
    Link(String, String),
    /// A reference with this label that was not defined yet.
    Later(String),
    /// A footnote, whose mark precedes its label.
    Footnote,
}

impl OpenLink {
    /// Shows what precedes its text, in the surrounding style.
    fn begin(&self, style: Style, look: &Look, to: &mut impl FnMut(Shown<'_>)) {
        match self {
            OpenLink::Footnote => put("[", style.patch(look.style(Role::Link)), to),
            OpenLink::Later(_) => put("[", style.patch(look.style(Role::Dim)), to),
            OpenLink::Link(..) => {}
        }
    }

    /// Shows what follows its text. An enclosing link records the text too.
    fn end(self, outer: Option<&mut OpenLink>, style: Style, look: &Look, to: &mut impl FnMut(Shown<'_>)) {
        let dim = style.patch(look.style(Role::Dim));
        match self {
            OpenLink::Link(address, said) => {
                if let Some(OpenLink::Link(_, outer)) = outer {
                    outer.push_str(&said);
                }
                if !address.is_empty() && address != said {
                    put(&format!(" ({address})"), dim, to);
                }
            }
            OpenLink::Later(label) => put(&format!("][{label}]"), dim, to),
            OpenLink::Footnote => put("]", style.patch(look.style(Role::Link)), to),
        }
    }
}

/// Shows a block's inline content, given on one line. A defined reference shows its address; an undefined one is shown
/// in full. Returns whether every mark was closed: if not, following text may change the styles.
pub(super) fn show(
    text: &str,
    references: &References,
    look: &Look,
    base: Style,
    mut to: impl FnMut(Shown<'_>),
) -> bool {
    if !has_marks(text) {
        put(text, base, &mut to);
        return true;
    }
    // After a comma nothing at the beginning is parsed as a block, and every mark keeps its meaning.
    let text = format!(",{text}");
    let mut styles = vec![base];
    let mut links: Vec<OpenLink> = Vec::new();
    let dim = look.style(Role::Dim);
    let mut is_settled = true;
    let mut is_first = true;
    let mut resolve = |broken: BrokenLink<'_>| lead(&text, references, &broken);
    let parser = Parser::new_with_broken_link_callback(&text, Options::ENABLE_STRIKETHROUGH, Some(&mut resolve));
    for event in parser {
        let style = styles.last().copied().unwrap_or(base);
        let mut say = |style: Style, words: &str| {
            let words = match links.last_mut() {
                Some(OpenLink::Link(_, said)) => {
                    said.push_str(words);
                    words
                }
                Some(OpenLink::Footnote) => words.trim_start_matches('^'),
                _ => words,
            };
            put(words, style, &mut to);
        };
        let is_image = matches!(event, Event::Start(Tag::Image { .. }));
        match event {
            Event::Text(words) => {
                let words = match std::mem::take(&mut is_first) {
                    true => words.strip_prefix(',').unwrap_or(&words),
                    false => &words,
                };
                is_settled &= !has_marks(words);
                say(style, words);
            }
            Event::Code(code) => {
                is_first = false;
                let tick = look.pick("", "`");
                let inked = style.patch(look.style(Role::Code));
                say(inked, &format!("{tick}{code}{tick}"));
            }
            Event::InlineHtml(html) | Event::Html(html) => say(style.patch(look.style(Role::Dim)), &html),
            Event::SoftBreak | Event::HardBreak => to(Shown::RowEnd),
            Event::Start(tag) => match tag {
                Tag::Emphasis => styles.push(mark(look, style, Modifier::ITALIC)),
                Tag::Strong => styles.push(mark(look, style, Modifier::BOLD)),
                Tag::Strikethrough => styles.push(mark(look, style, Modifier::CROSSED_OUT)),
                Tag::Link {
                    dest_url,
                    title,
                    link_type,
                    id,
                }
                | Tag::Image {
                    dest_url,
                    title,
                    link_type,
                    id,
                } => {
                    if is_image {
                        put("image: ", style.patch(dim), &mut to);
                    }
                    let link = match link_type {
                        LinkType::ShortcutUnknown if dest_url.is_empty() => OpenLink::Footnote,
                        LinkType::ReferenceUnknown if dest_url.is_empty() => OpenLink::Later(id.to_string()),
                        _ => OpenLink::Link(address(&dest_url, &title, link_type), String::new()),
                    };
                    link.begin(style, look, &mut to);
                    links.push(link);
                    is_first = false;
                    styles.push(style.patch(look.style(Role::Link)));
                }
                _ => {}
            },
            Event::End(end) => match end {
                TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => {
                    styles.pop();
                }
                TagEnd::Link | TagEnd::Image => {
                    styles.pop();
                    let style = styles.last().copied().unwrap_or(base);
                    if let Some(link) = links.pop() {
                        link.end(links.last_mut(), style, look, &mut to);
                    }
                }
                _ => {}
            },
            _ => {}
        }
    }
    is_settled
}

/// Resolves a reference that the block itself does not define; the address is empty for a footnote and for one that may
/// be defined later. `None` for plain brackets.
fn lead<'a>(text: &str, references: &References, broken: &BrokenLink<'_>) -> Option<(CowStr<'a>, CowStr<'a>)> {
    if let Some(target) = references.find(&broken.reference) {
        return Some((target.address.clone().into(), target.title.clone().into()));
    }
    let before = text[..broken.span.start].chars().next_back();
    // After a name or another bracket it is an index: `table[row][column]`.
    let is_index = before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | ']' | ')'));
    let is_one = match broken.link_type {
        LinkType::Shortcut | LinkType::ShortcutUnknown => {
            let label = broken.reference.strip_prefix('^');
            label.is_some_and(|label| !label.is_empty() && !label.contains(char::is_whitespace))
        }
        LinkType::Reference | LinkType::ReferenceUnknown => !is_index && !broken.reference.is_empty(),
        _ => false,
    };
    is_one.then(|| ("".into(), "".into()))
}

/// The address of a link; the caller omits it if the link's text shows it already.
fn address(url: &str, title: &str, kind: LinkType) -> String {
    match (kind, title) {
        (LinkType::Email, _) => String::new(),
        (_, "") => url.to_owned(),
        _ => format!("{url} \"{title}\""),
    }
}

fn mark(look: &Look, style: Style, modifier: Modifier) -> Style {
    if look.is_plain() {
        style
    } else {
        style.add_modifier(modifier)
    }
}

fn put(text: &str, style: Style, to: &mut impl FnMut(Shown<'_>)) {
    let mut pieces = text.split(ROW_END);
    if let Some(first) = pieces.next() {
        to(Shown::Text(style, &clean(first, 4)));
    }
    for piece in pieces {
        to(Shown::RowEnd);
        to(Shown::Text(style, &clean(piece, 4)));
    }
}

/// Returns whether a text contains a character that may be a mark.
fn has_marks(text: &str) -> bool {
    let bytes = text.as_bytes();
    let is_word = |at: Option<usize>| at.and_then(|at| bytes.get(at)).is_some_and(u8::is_ascii_alphanumeric);
    bytes.iter().enumerate().any(|(at, byte)| match byte {
        // Within a word it is part of a name.
        b'_' => !(is_word(at.checked_sub(1)) && is_word(Some(at + 1))),
        _ => matches!(byte, b'`' | b'*' | b'[' | b'<' | b'~' | b'\\' | b'&'),
    })
}

#[cfg(test)]
mod tests {
    use super::super::reference::Target;
    use super::*;

    fn shown(text: &str) -> (Vec<(Style, String)>, bool) {
        let mut runs: Vec<(Style, String)> = Vec::new();
        let look = Look::new(80, super::super::super::look::Styles::Monochrome, Default::default());
        let mut references = References::default();
        let target = Target {
            address: "https://k.l".to_owned(),
            title: String::new(),
        };
        references.define("known", target);
        let is_settled = show(text, &references, &look, Style::new(), |shown| match shown {
            Shown::Text(_, "") => {}
            Shown::Text(style, text) => match runs.last_mut() {
                Some((last, words)) if *last == style => words.push_str(text),
                _ => runs.push((style, text.to_owned())),
            },
            Shown::RowEnd => runs.push((Style::new(), "⏎".to_owned())),
        });
        (runs, is_settled)
    }

    fn words(text: &str) -> String {
        shown(text).0.into_iter().map(|(_, words)| words).collect()
    }

    #[test]
    fn marks_become_styles() {
        let plain = Style::new();
        assert_eq!(
            shown("a **b *c*** _d_ ~~e~~ `f*`").0,
            [
                (plain, "a ".to_owned()),
                (plain.bold(), "b ".to_owned()),
                (plain.bold().italic(), "c".to_owned()),
                (plain, " ".to_owned()),
                (plain.italic(), "d".to_owned()),
                (plain, " ".to_owned()),
                (plain.crossed_out(), "e".to_owned()),
                (plain, " f*".to_owned()),
            ]
        );
    }

    #[test]
    fn nothing_at_the_beginning_is_taken_for_a_block() {
        for text in [
            "# no heading *x*", "- no list *x*", "> no quote *x*", "    no code *x*", "1. no list *x*", "<div> *x*",
            "``` *x*", "[a]: b *x*", "| a | *x*", ", comma *x*",
        ] {
            assert_eq!(words(text).trim(), text.trim().replace('*', ""), "{text}");
        }
        assert_eq!(words("_x_ and __y__"), "x and y");
    }

    #[test]
    fn links_show_where_they_lead_once() {
        assert_eq!(
            words("[a](https://b.c) <https://d.e> [https://f.g](https://f.g)"),
            "a (https://b.c) https://d.e https://f.g"
        );
        assert_eq!(
            words("![p](q.png \"r\") [![i](j)](k)"),
            "image: p (q.png \"r\") image: i (j) (k)"
        );
    }

    #[test]
    fn references_show_where_they_lead_and_lose_nothing_where_that_is_not_known() {
        for (text, shown) in [
            (
                "[a][known], [Known][] and [known]",
                "a (https://k.l), Known (https://k.l) and known (https://k.l)",
            ),
            ("![p][known]", "image: p (https://k.l)"),
            ("[a][b] and [c]", "[a][b] and [c]"),
            ("![a][b]", "image: [a][b]"),
            ("so it is[^1] said.[^long-name]", "so it is[1] said.[long-name]"),
            ("row[i][j] and f(x)[0][1]", "row[i][j] and f(x)[0][1]"),
        ] {
            assert_eq!(words(text), shown);
        }
        let link = Look::new(80, super::super::super::look::Styles::Monochrome, Default::default()).style(Role::Link);
        assert!(shown("see [a][b]").0.contains(&(link, "a".to_owned())));
    }

    #[test]
    fn an_entity_cannot_smuggle_what_a_terminal_obeys() {
        assert_eq!(words("a&#x202e;b&#27;[2J&amp;"), "a‹U+202E›b␛[2J&");
    }

    #[test]
    fn marks_without_an_end_are_noticed() {
        for (text, is_settled) in [
            ("a *b* c", true),
            ("a *b", false),
            ("a `b", false),
            ("a [b", false),
            ("a <b", false),
            ("a", true),
        ] {
            assert_eq!(shown(text).1, is_settled, "{text}");
        }
    }
}
