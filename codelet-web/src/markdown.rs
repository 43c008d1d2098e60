//! Converts a page to Markdown, in bounded time and depth whatever its shape.
//!
//! A page is parsed by the rules of browsers, which take quadratic time for some pages, and the conversion walks the
//! tree recursively. So it is parsed in pieces and for no more than a few seconds, and elements that are too deep, or
//! beyond a number of nodes, are removed from the tree before it is walked. Elements that are invisible to a reader are
//! removed as well.

use htmd::HtmlToMarkdown;
use htmd::options::{BulletListMarker, Options};
use html5ever::tendril::{StrTendril, TendrilSink};
use html5ever::{Attribute, parse_document};
use markup5ever_rcdom::{Handle, Node, NodeData, RcDom};
use reqwest::Url;
use std::cell::RefCell;
use std::time::{Duration, Instant};

/// Time limit for parsing.
const TIME: Duration = Duration::from_secs(2);
/// Bytes that are parsed at once.
const PIECE: usize = 8 * 1024;
/// Deepest nesting of elements; deeper ones are reduced to their text.
const DEPTH: usize = 100;
/// Nodes at most.
const NODES: usize = 60_000;
/// Bytes of a link's URL that are kept.
const LINK: usize = 500;
/// Elements without readable text.
const SKIPPED: [&str; 16] = [
    "script", "style", "template", "noscript", "svg", "math", "iframe", "object", "embed", "canvas", "audio", "video",
    "select", "input", "button", "head",
];

/// A page.
#[derive(Debug)]
pub(crate) struct Markdown {
    /// Its title; may be empty.
    pub(crate) title: String,
    /// Its text.
    pub(crate) text: String,
    /// The reason why the rest is missing.
    pub(crate) cut: Option<&'static str>,
}

/// Converts a page. Its URLs are relative to `base`.
pub(crate) fn of(html: &str, base: &Url) -> Markdown {
    let (dom, is_late) = parse(html, Instant::now() + TIME);
    let mut trim = Trim {
        base,
        nodes: 0,
        title: String::new(),
    };
    trim.tree(&dom.document);
    let options = Options {
        bullet_list_marker: BulletListMarker::Dash,
        ul_bullet_spacing: 1,
        ol_number_spacing: 1,
        ..Options::default()
    };
    let converter = HtmlToMarkdown::builder().options(options).build();
    Markdown {
        text: converter.tree_to_markdown(&dom.document),
        title: trim.title,
        cut: match (is_late, trim.nodes > NODES) {
            (true, _) => Some("the rest was not read: this page takes too long to parse"),
            (false, true) => Some("the rest was not read: this page has too many elements"),
            (false, false) => None,
        },
    }
}

/// Parses a page until the deadline; also returns whether the deadline passed.
fn parse(html: &str, late: Instant) -> (RcDom, bool) {
    let mut parser = parse_document(RcDom::default(), html5ever::ParseOpts::default());
    let mut rest = html;
    while !rest.is_empty() {
        if Instant::now() >= late {
            return (parser.finish(), true);
        }
        let (piece, behind) = rest.split_at(rest.ceil_char_boundary(PIECE));
        parser.process(StrTendril::from_slice(piece));
        rest = behind;
    }
    (parser.finish(), false)
}

/// Prunes a tree for conversion.
struct Trim<'a> {
    base: &'a Url,
    nodes: usize,
    title: String,
}

impl Trim<'_> {
    fn tree(&mut self, root: &Handle) {
        let mut open = vec![(root.clone(), 0)];
        while let Some((node, depth)) = open.pop() {
            if depth >= DEPTH {
                let text = text_of(&node);
                let text = Node::new(NodeData::Text {
                    contents: RefCell::new(text.into()),
                });
                node.children.replace(vec![text]);
                continue;
            }
            let kept: Vec<Handle> = node
                .children
                .take()
                .into_iter()
                .filter(|child| self.keeps(child))
                .collect();
            // The first one is visited first, so that the nodes left out are the last ones.
            open.extend(kept.iter().rev().map(|child| (child.clone(), depth + 1)));
            node.children.replace(kept);
        }
    }

    /// Returns whether a node stays; makes its URLs absolute.
    fn keeps(&mut self, node: &Handle) -> bool {
        self.nodes += 1;
        match &node.data {
            _ if self.nodes > NODES => false,
            NodeData::Text { .. } | NodeData::Document => true,
            NodeData::Element { name, attrs, .. } => {
                let tag = &*name.local;
                if tag == "head" {
                    self.title = title(node);
                }
                let mut attrs = attrs.borrow_mut();
                let is_shown = !SKIPPED.contains(&tag) && !attrs.iter().any(hides);
                attrs.retain_mut(|attribute| self.resolves(attribute));
                is_shown
            }
            _ => false,
        }
    }

    /// Makes a URL absolute; returns whether the attribute stays. Links within the page lead nowhere in a text, and
    /// titles mostly repeat a link's text.
    fn resolves(&self, attribute: &mut Attribute) -> bool {
        match &*attribute.name.local {
            "title" => return false,
            "href" | "src" if attribute.value.starts_with('#') => return false,
            "href" | "src" => {}
            _ => return true,
        }
        let resolved = self.base.join(&attribute.value).ok();
        match resolved.filter(|url| matches!(url.scheme(), "http" | "https" | "mailto") && url.as_str().len() <= LINK) {
            Some(url) => {
                attribute.value = url.as_str().into();
                true
            }
            None => false,
        }
    }
}

/// Returns whether an attribute makes its element invisible.
fn hides(attribute: &Attribute) -> bool {
    match &*attribute.name.local {
        "hidden" => true,
        "style" => {
            let style: String = attribute
                .value
                .chars()
                .filter(|c| !c.is_whitespace())
                .take(2_000)
                .collect();
            let style = style.to_ascii_lowercase();
            style.contains("display:none") || style.contains("visibility:hidden")
        }
        _ => false,
    }
}

/// The title in a head.
fn title(head: &Handle) -> String {
    let children = head.children.borrow();
    let is_title = |node: &&Handle| matches!(&node.data, NodeData::Element { name, .. } if &*name.local == "title");
    children.iter().find(is_title).map(text_of).unwrap_or_default()
}

/// All visible text in a node, without recursion.
fn text_of(node: &Handle) -> String {
    let mut text = String::new();
    let mut open = vec![node.clone()];
    while let Some(node) = open.pop() {
        match &node.data {
            NodeData::Text { contents } => text.push_str(&contents.borrow()),
            NodeData::Element { name, attrs, .. }
                if SKIPPED.contains(&&*name.local) || attrs.borrow().iter().any(hides) => {}
            _ => open.extend(node.children.borrow().iter().rev().cloned()),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use proptest::prelude::*;

    fn read(html: &str) -> Markdown {
        of(html, &Url::parse("https://docs.example/a/b").unwrap())
    }

    #[test]
    fn a_page_becomes_markdown_with_its_links_code_lists_and_tables() {
        let page = "<!doctype html><head><title>T</title><style>x{}</style></head><body><h2>Use</h2><p>Some <b>bold</b> \
             <code>code</code>, <a href=c>rel</a>, <a href='//x.example/y'>abs</a>, <a href='javascript:x()'>js</a>, <a href='#x' title=T>place</a>.</p>\
             <ul><li>one<li>two<ul><li>in</ul></ul><pre><code class=language-rust>fn main() {}\n</code></pre>\
             <table><tr><th>A<th>B<tr><td>1<td>2</table><img src='data:image/png;base64,AAAA' alt=dot>\
             <script>evil()</script><!-- note --><p hidden>unseen</p><p style='display : none'>unseen</p>";
        let Markdown { title, text, cut } = read(page);
        assert_eq!((title.as_str(), cut), ("T", None));
        for wanted in [
            "## Use\n",
            "Some **bold** `code`, [rel](https://docs.example/a/c), [abs](https://x.example/y), js, place.",
            "- one\n- two\n",
            "```rust\nfn main() {}\n```",
            "| A | B |",
            "| 1 | 2 |",
        ] {
            assert!(text.contains(wanted), "{wanted}:\n{text}");
        }
        for unwanted in ["evil", "note", "unseen", "x{}", "base64"] {
            assert!(!text.contains(unwanted), "{unwanted}:\n{text}");
        }
    }

    /// Converts a page within the time limit, on a thread with half the usual stack.
    fn is_read(what: &str, html: String) -> Markdown {
        // A machine that is busy with something else just then is asked again.
        for _ in 0..3 {
            let (began, html) = (Instant::now(), html.clone());
            let thread = std::thread::Builder::new().stack_size(1 << 20);
            let text = thread.spawn(move || read(&html)).unwrap().join().unwrap();
            // The limit for parsing, and as much again for what follows.
            if began.elapsed() < TIME * 3 {
                return text;
            }
        }
        panic!("{what} takes too long");
    }

    #[test]
    fn no_nesting_takes_long_or_breaks_the_stack() {
        let most = crate::fetch::MOST;
        for tag in [
            "div", "b", "ul><li", "table><tr><th", "blockquote", "pre", "a href=x", "svg",
        ] {
            let open = format!("<{tag}>");
            let text = is_read(tag, format!("{}deep", open.repeat(most / open.len())));
            assert!(text.cut.is_some() || !text.text.is_empty() || tag == "svg", "{tag}");
        }
    }

    #[test]
    fn no_breadth_takes_long() {
        let most = crate::fetch::MOST;
        for piece in [
            "<b>x</b>", "<b><p>", "<li>x", "<h1>x</h1>", "<", "<a b=c d=e f=g>", "`", "[",
        ] {
            is_read(piece, piece.repeat(most / piece.len()));
        }
        let attributes: String = (0..most / 10).map(|at| format!(" a{at}=b")).collect();
        is_read("attributes", format!("<p{}>x", &attributes[..most / 8]));
    }

    proptest! {
        #[test]
        fn nothing_panics(html in r#"(</?(a|b|p|ul|ol|li|table|thead|tr|td|th|pre|code|h1|img|br|svg|select|template|span|blockquote)( (href|src|class|style|start)="?[a-z:/#\[\]()` ]{0,6}"?)?>|[a-z&;<`*|\[\]\n é]{0,5}){0,40}"#) {
            read(&html);
        }
    }
}
