//! Link references and footnotes: their definitions, and the targets defined so far.

use pulldown_cmark::Parser;
use std::collections::HashMap;
use std::sync::Arc;

/// Maximum definitions remembered per text.
const MOST: usize = 500;
/// Maximum bytes of a label and of an address; longer ones are not parsed.
const LABEL: usize = 100;
const ADDRESS: usize = 2_000;

/// The targets of a text's references, as defined so far. Later definitions change nothing that was shown.
#[derive(Clone, Debug, Default)]
pub(super) struct References(Arc<HashMap<String, Target>>);

/// The target of a reference.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Target {
    pub(super) address: String,
    pub(super) title: String,
}

/// A definition.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Definition<'a> {
    /// The target of references with this label.
    Link(&'a str, Target),
    /// The text of the footnote with this label.
    Footnote(&'a str, &'a str),
}

impl References {
    /// Looks up a label. Case and the number of spaces do not matter.
    pub(super) fn find(&self, label: &str) -> Option<&Target> {
        // Most texts define nothing.
        match self.0.is_empty() {
            true => None,
            false => self.0.get(&key(label)),
        }
    }

    /// Adds a definition; the first one of a label counts.
    pub(super) fn define(&mut self, label: &str, target: Target) {
        if self.0.len() < MOST {
            Arc::make_mut(&mut self.0).entry(key(label)).or_insert(target);
        }
    }
}

fn key(label: &str) -> String {
    let words: Vec<&str> = label.split_whitespace().collect();
    words.join(" ").to_lowercase()
}

/// Parses a definition: `[label]: address "title"` or `[^label]: words`.
pub(super) fn definition(line: &str) -> Option<Definition<'_>> {
    let (label, rest) = line.strip_prefix('[')?.split_once("]:")?;
    if label.trim().is_empty() || label.len() > LABEL || label.contains(['[', ']', '\\']) {
        return None;
    }
    let rest = rest.trim();
    if let Some(label) = label.strip_prefix('^') {
        let is_one = !label.is_empty() && !label.contains(char::is_whitespace);
        return is_one.then_some(Definition::Footnote(label, rest));
    }
    let parser = Parser::new(line);
    let (_, found) = parser.reference_definitions().iter().next()?;
    let (address, title) = (&found.dest, found.title.as_deref().unwrap_or_default());
    let is_one = !address.is_empty() && address.len() <= ADDRESS && title.len() <= ADDRESS;
    is_one.then(|| {
        let target = Target {
            address: address.to_string(),
            title: title.to_owned(),
        };
        Definition::Link(label, target)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_defines_something_is_told_from_one_that_does_not() {
        let link = |label, address: &str, title: &str| {
            let (address, title) = (address.to_owned(), title.to_owned());
            Some(Definition::Link(label, Target { address, title }))
        };
        for (line, expected) in [
            ("[a]: https://b.c", link("a", "https://b.c", "")),
            ("[a b]: <x y> 'z'", link("a b", "x y", "z")),
            (r#"[1]: x "a \"quoted\" title""#, link("1", "x", "a \"quoted\" title")),
            ("[1]: x \"a \"quoted\" title\"", None),
            ("[a]: x y", None),
            (
                "[^n]: words and more",
                Some(Definition::Footnote("n", "words and more")),
            ),
            ("[note]: this is a sentence", None),
            ("[a]:", None),
            ("[]: x", None),
            ("[a][b]: x", None),
            ("[^a b]: x", None),
            ("a [b]: c", None),
        ] {
            assert_eq!(definition(line), expected, "{line}");
        }
    }

    #[test]
    fn labels_are_found_however_they_are_written() {
        let mut references = References::default();
        let target = |address: &str| Target {
            address: address.to_owned(),
            title: String::new(),
        };
        references.define("A  b", target("x"));
        references.define("a b", target("y"));
        assert_eq!(references.find(" a B").map(|found| found.address.as_str()), Some("x"));
        assert_eq!(references.find("c"), None);
    }
}
