//! Syntax tables: the words, comments and quotes of common languages, read from `languages.txt`.

use std::sync::LazyLock;

/// The lexical properties of a language.
#[derive(Debug, Default)]
pub(super) struct Language {
    /// Tags of code blocks, and file extensions.
    names: Vec<&'static str>,
    /// Marks of line comments.
    pub(super) line_comments: Vec<&'static str>,
    /// The start and end of a block comment.
    pub(super) block_comment: Option<(&'static str, &'static str)>,
    /// Quotes of strings; a longer quote precedes the shorter one that it begins with.
    pub(super) quotes: Vec<Quote>,
    /// The keywords.
    pub(super) keywords: Vocabulary,
    /// Words for values, such as `true`.
    pub(super) constants: Vocabulary,
    /// Special rules.
    pub(super) kind: Kind,
}

/// A word list. The first letter and the length rule out most words without a search.
#[derive(Debug, Default)]
pub(super) struct Vocabulary {
    /// In byte order.
    all: Vec<&'static str>,
    /// For each initial letter, a bit mask of the lengths of its words.
    lengths: [u32; 32],
}

impl Vocabulary {
    /// Adds words shorter than 32 bytes.
    fn add(&mut self, words: impl Iterator<Item = &'static str>) {
        for word in words {
            self.lengths[usize::from(word.as_bytes()[0] % 32)] |= 1 << word.len();
            self.all.push(word);
        }
        self.all.sort_unstable();
    }

    /// Returns whether this word is in the list.
    pub(super) fn has(&self, word: &str) -> bool {
        let Some(first) = word.bytes().next() else { return false };
        word.len() < 32
            && self.lengths[usize::from(first % 32)] & (1 << word.len()) != 0
            && self.all.binary_search(&word).is_ok()
    }
}

/// A vocabulary of the words in this text.
pub(super) fn words(text: &'static str) -> Vocabulary {
    let mut vocabulary = Vocabulary::default();
    vocabulary.add(text.split_whitespace());
    vocabulary
}

/// A quote around strings.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Quote {
    pub(super) mark: &'static str,
    /// A backslash escapes the next character.
    pub(super) escapes: bool,
    /// The string may span lines.
    pub(super) is_long: bool,
}

/// Special rules of a language.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Kind {
    #[default]
    Usual,
    /// `'a` is a lifetime unless it is a character literal.
    Rust,
    /// `$name` is a variable, and `#` begins a comment only where a word could.
    Shell,
    /// Words before this character are keys.
    Keys(char),
    /// Keywords are case-insensitive.
    AnyCase,
    /// Tags with attributes in plain text.
    Markup,
    /// Added and removed lines, and headers.
    Diff,
}

static LANGUAGES: LazyLock<Vec<Language>> = LazyLock::new(|| parse(include_str!("languages.txt")));

/// Looks up the language for a code block's tag or a file extension.
pub(super) fn language(name: &str) -> Option<&'static Language> {
    // No tag is longer; the limit bounds the work for hostile input.
    if name.is_empty() || name.len() > 20 {
        return None;
    }
    let name = name.to_ascii_lowercase();
    LANGUAGES.iter().find(|language| language.names.contains(&&*name))
}

/// Columns of the label of a property; a line without a label continues the one before.
const LABEL: usize = 12;

fn parse(text: &'static str) -> Vec<Language> {
    let mut languages: Vec<Language> = Vec::new();
    let mut last = "";
    for line in text.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
        if !line.starts_with(' ') {
            languages.push(Language {
                names: line.split(' ').collect(),
                ..Language::default()
            });
            continue;
        }
        let (label, words) = line.split_at(LABEL.min(line.len()));
        if !label.trim().is_empty() {
            last = label.trim();
        }
        if let Some(language) = languages.last_mut() {
            language.set(last, words.split(' '));
        }
    }
    languages
}

impl Language {
    fn set(&mut self, label: &str, mut words: std::str::Split<'static, char>) {
        let quote = |escapes, is_long| move |mark| Quote { mark, escapes, is_long };
        match label {
            "comment" => self.line_comments.extend(words),
            "block" => self.block_comment = words.next().zip(words.next()),
            "quote" => self.quotes.extend(words.map(quote(true, false))),
            "long" => self.quotes.extend(words.map(quote(true, true))),
            "raw" => self.quotes.extend(words.map(quote(false, true))),
            "keyword" => self.keywords.add(words),
            "constant" => self.constants.add(words),
            _ => {
                self.kind = match (words.next(), words.next()) {
                    (Some("rust"), _) => Kind::Rust,
                    (Some("shell"), _) => Kind::Shell,
                    (Some("keys"), Some(mark)) => Kind::Keys(mark.chars().next().unwrap_or(':')),
                    (Some("any-case"), _) => Kind::AnyCase,
                    (Some("markup"), _) => Kind::Markup,
                    (Some("diff"), _) => Kind::Diff,
                    _ => Kind::Usual,
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_means_one_language_and_each_property_is_known() {
        let mut names = std::collections::HashSet::new();
        for language in &*LANGUAGES {
            for name in &language.names {
                assert!(names.insert(name), "{name}");
                assert_eq!(name.to_ascii_lowercase(), *name);
            }
        }
        let labels = include_str!("languages.txt")
            .lines()
            .filter_map(|line| line.strip_prefix("  "));
        for line in labels.filter(|line| !line.starts_with(' ')) {
            let label = line.split(' ').next().unwrap_or_default();
            let known = [
                "comment", "block", "quote", "long", "raw", "keyword", "constant", "kind",
            ];
            assert!(known.contains(&label), "{line}");
        }
        assert!(LANGUAGES.iter().filter(|language| language.kind != Kind::Usual).count() >= 10);
    }
}
