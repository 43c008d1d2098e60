//! Syntax highlighting, line by line: keywords, strings, numbers and comments.
//!
//! There is no grammar and no lookback, so every line takes the same short time. Anything ambiguous is left plain.

use super::language::{Kind, Language, Quote, Vocabulary, language, words};
use super::look::Role;
use std::sync::LazyLock;

/// Highlights the lines of a code block, in order.
#[derive(Clone, Copy, Debug)]
pub(super) struct Highlight {
    language: &'static Language,
    /// A bit mask of the ASCII characters that may begin a comment, a string or a name; most others mean nothing.
    marks: u128,
    within: Within,
    /// The last word introduces a name, such as `fn`.
    names_next: bool,
}

/// The construct that the last line ended in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Within {
    Code,
    Comment,
    Quotes(Quote),
    /// A tag of markup.
    Tag,
}

/// Words that are followed by a name.
static NAMING: LazyLock<Vocabulary> = LazyLock::new(|| {
    words(
        "class concept contract def defmodule defn defp defun enum fn fun func function interface macro message mod \
         module namespace object protocol service struct trait type union",
    )
});

impl Highlight {
    /// A highlighter for the tag of a code block or a file extension; `None` for an unknown language.
    pub(super) fn of(name: &str) -> Option<Self> {
        let language = language(name)?;
        Some(Highlight {
            language,
            marks: marks(language),
            within: Within::Code,
            names_next: false,
        })
    }

    /// Splits the next line, given without its line end, into pieces with their roles. Joined, they are the line.
    pub(super) fn line<'a>(&mut self, line: &'a str, mut to: impl FnMut(Role, &'a str)) {
        if self.language.kind == Kind::Diff {
            return to(diff_role(line), line);
        }
        let mut pieces = Pieces {
            line,
            plain: 0,
            at: 0,
            to: &mut to,
        };
        while pieces.at < line.len() {
            self.step(&mut pieces);
        }
        pieces.take(Role::Text, line.len(), line.len());
        match self.within {
            Within::Quotes(quote) if !quote.is_long => self.within = Within::Code,
            _ => {}
        }
        self.names_next = false;
    }

    fn step<'a, F: FnMut(Role, &'a str)>(&mut self, pieces: &mut Pieces<'a, '_, F>) {
        let rest = pieces.rest();
        match self.within {
            Within::Comment => {
                let end = self.language.block_comment.map_or("", |(_, end)| end);
                let length = match rest.find(end) {
                    Some(at) => {
                        self.within = Within::Code;
                        at + end.len()
                    }
                    None => rest.len(),
                };
                pieces.take_next(Role::Comment, length);
            }
            Within::Quotes(quote) => {
                let (length, is_closed) = string_end(rest, quote);
                if is_closed {
                    self.within = match self.language.kind {
                        Kind::Markup => Within::Tag,
                        _ => Within::Code,
                    };
                }
                pieces.take_next(Role::Quoted, length);
            }
            Within::Code if self.language.kind == Kind::Markup => self.text_between_tags(pieces),
            Within::Code | Within::Tag => self.code(pieces),
        }
    }

    fn text_between_tags<'a, F: FnMut(Role, &'a str)>(&mut self, pieces: &mut Pieces<'a, '_, F>) {
        let rest = pieces.rest();
        let Some(at) = rest.find('<') else {
            return pieces.skip(rest.len());
        };
        pieces.skip(at);
        let rest = pieces.rest();
        if rest.starts_with("<!--") {
            self.within = Within::Comment;
            return;
        }
        let lead = rest.len() - rest[1..].trim_start_matches(['/', '!', '?']).len();
        let name = rest[lead..].find(|c: char| !(c.is_alphanumeric() || matches!(c, '-' | ':' | '_' | '.')));
        let name = name.unwrap_or(rest.len() - lead);
        if name == 0 {
            return pieces.skip(1);
        }
        pieces.skip(lead);
        pieces.take_next(Role::Keyword, name);
        self.within = Within::Tag;
    }

    fn code<'a, F: FnMut(Role, &'a str)>(&mut self, pieces: &mut Pieces<'a, '_, F>) {
        let rest = pieces.rest();
        match rest.as_bytes() {
            [] => return,
            [b' ', more @ ..] => return pieces.skip(1 + length_of(more, |byte| byte == b' ')),
            [b'>', ..] if self.within == Within::Tag => {
                self.within = Within::Code;
                return pieces.skip(1);
            }
            [b'a'..=b'z' | b'A'..=b'Z' | b'_', ..] => return self.word(pieces),
            [b'0'..=b'9', more @ ..] => {
                let length = 1 + length_of(more, |byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_'));
                return pieces.take_next(Role::Number, length);
            }
            [first, ..] if first.is_ascii() => {
                if self.marks & (1 << first) == 0 {
                    return pieces.skip(1);
                }
            }
            _ => match rest.chars().next() {
                Some(first) if first.is_alphabetic() => return self.word(pieces),
                first => return pieces.skip(first.map_or(0, char::len_utf8)),
            },
        }
        if self.begins_comment(rest, pieces) {
            return pieces.take_next(Role::Comment, rest.len());
        }
        if let Some((begin, _)) = self.language.block_comment
            && rest.starts_with(begin)
        {
            self.within = Within::Comment;
            return pieces.take_next(Role::Comment, begin.len());
        }
        if let Some(quote) = self.language.quotes.iter().find(|quote| rest.starts_with(quote.mark)) {
            return self.string(*quote, pieces);
        }
        match (self.language.kind, rest.as_bytes()[0]) {
            (Kind::Rust, b'\'') => {
                let mut inner = rest[1..].chars();
                let length = match (inner.next(), inner.next()) {
                    (Some('\\'), _) => {
                        string_end(
                            &rest[1..],
                            Quote {
                                mark: "'",
                                escapes: true,
                                is_long: false,
                            },
                        )
                        .0 + 1
                    }
                    (Some(c), Some('\'')) => 2 + c.len_utf8(),
                    _ => return pieces.skip(1),
                };
                pieces.take_next(Role::Quoted, length);
            }
            (Kind::Shell, b'$') => {
                let name = rest[1..].find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '{' | '}')));
                pieces.take_next(Role::Name, name.map_or(rest.len(), |length| length + 1));
            }
            (_, b'@') => {
                let name = rest[1..].find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '.' | '-')));
                pieces.take_next(Role::Name, name.map_or(rest.len(), |length| length + 1));
            }
            _ => pieces.skip(1),
        }
    }

    /// Returns whether the rest of the line is a comment. A mark inside a word, as in `$#` or `http://`, does not begin
    /// one.
    fn begins_comment<'a, F: FnMut(Role, &'a str)>(&self, rest: &str, pieces: &Pieces<'a, '_, F>) -> bool {
        let before = pieces.line[..pieces.at].chars().next_back();
        let is_apart = before.is_none_or(|c| c.is_whitespace() || matches!(c, '(' | '{' | ';' | ',' | ')' | '}'));
        self.language.line_comments.iter().any(|mark| {
            let needs_room = matches!(*mark, "#" | ";") || (*mark == "//" && before == Some(':'));
            rest.starts_with(mark) && (is_apart || !needs_room)
        })
    }

    fn string<'a, F: FnMut(Role, &'a str)>(&mut self, quote: Quote, pieces: &mut Pieces<'a, '_, F>) {
        let rest = pieces.rest();
        let (length, is_closed) = string_end(&rest[quote.mark.len()..], quote);
        let length = quote.mark.len() + length;
        if !is_closed {
            self.within = Within::Quotes(quote);
        }
        let is_key = matches!(self.language.kind, Kind::Keys(mark) if is_closed && rest[length..].trim_start().starts_with(mark));
        pieces.take_next(if is_key { Role::Name } else { Role::Quoted }, length);
    }

    fn word<'a, F: FnMut(Role, &'a str)>(&mut self, pieces: &mut Pieces<'a, '_, F>) {
        let rest = pieces.rest();
        let joins = matches!(self.language.kind, Kind::Keys(_) | Kind::Markup);
        let is_of_word = |c: char| c.is_alphanumeric() || c == '_' || (joins && matches!(c, '-' | '.'));
        let mut end = length_of(rest.as_bytes(), |byte| byte.is_ascii() && is_of_word(char::from(byte)));
        if rest.as_bytes().get(end).is_some_and(|byte| !byte.is_ascii()) {
            end = rest.find(|c: char| !is_of_word(c)).unwrap_or(rest.len());
        }
        let word = &rest[..end];
        let role = self.role_of(word, &rest[word.len()..]);
        self.names_next = role == Role::Keyword && NAMING.has(word);
        match role {
            Role::Text => pieces.skip(word.len()),
            role => pieces.take_next(role, word.len()),
        }
    }

    fn role_of(&self, word: &str, after: &str) -> Role {
        let language = self.language;
        if language.kind == Kind::AnyCase {
            let small = if word.len() <= 16 {
                word.to_ascii_lowercase()
            } else {
                String::new()
            };
            return match language.keywords.has(&small) {
                true => Role::Keyword,
                false if language.constants.has(&small) => Role::Number,
                false => Role::Text,
            };
        }
        if language.keywords.has(word) {
            return Role::Keyword;
        }
        if language.constants.has(word) {
            return Role::Number;
        }
        let is_name = match language.kind {
            Kind::Keys('=') => after.trim_start().starts_with('='),
            // `http:` in `http://` is no key.
            Kind::Keys(mark) => after
                .strip_prefix(mark)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(' ')),
            Kind::Markup => true,
            Kind::Shell => false,
            _ => self.names_next || is_type(word),
        };
        if is_name { Role::Name } else { Role::Text }
    }
}

/// Most languages write types in mixed case with an initial capital.
fn is_type(word: &str) -> bool {
    word.starts_with(char::is_uppercase) && word.chars().any(char::is_lowercase)
}

/// The length of the rest of a string including its closing quote, and whether it ends here.
fn string_end(text: &str, quote: Quote) -> (usize, bool) {
    let bytes = text.as_bytes();
    // In some languages the closing quote of a raw string is the mirrored opening one.
    let mark = quote.mark.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        if quote.escapes && bytes[at] == b'\\' {
            at += 1 + text[at + 1..].chars().next().map_or(0, char::len_utf8);
        } else if bytes[at] == mark[0] && bytes[at..].starts_with(mark) {
            return (at + mark.len(), true);
        } else {
            at += 1;
        }
    }
    (bytes.len(), false)
}

/// The number of bytes at the beginning that satisfy the predicate.
fn length_of(bytes: &[u8], is_one: impl Fn(u8) -> bool) -> usize {
    bytes.iter().position(|&byte| !is_one(byte)).unwrap_or(bytes.len())
}

/// The ASCII characters that may begin something in this language, other than words and numbers.
fn marks(language: &Language) -> u128 {
    let comments = language.line_comments.iter().copied();
    let blocks = language.block_comment.iter().map(|(begin, _)| *begin);
    let quotes = language.quotes.iter().map(|quote| quote.mark);
    let of_kind = match language.kind {
        Kind::Rust => "'",
        Kind::Shell => "$",
        _ => "",
    };
    let all = comments.chain(blocks).chain(quotes).chain([of_kind, "@"]);
    all.filter_map(|mark| mark.bytes().next())
        .fold(0, |marks, first| marks | 1 << first)
}

fn diff_role(line: &str) -> Role {
    match line.as_bytes().first() {
        Some(b'+') => Role::Added,
        Some(b'-') => Role::Removed,
        Some(b'@') => Role::Accent,
        Some(b' ') | None => Role::Text,
        _ => Role::Dim,
    }
}

/// Splits a line into pieces; adjacent plain ones are merged.
struct Pieces<'a, 'f, F> {
    line: &'a str,
    /// The start of the plain text before `at`.
    plain: usize,
    at: usize,
    to: &'f mut F,
}

impl<'a, F: FnMut(Role, &'a str)> Pieces<'a, '_, F> {
    fn rest(&self) -> &'a str {
        &self.line[self.at..]
    }

    fn skip(&mut self, length: usize) {
        self.at += length;
    }

    fn take_next(&mut self, role: Role, length: usize) {
        self.take(role, self.at, self.at + length);
    }

    fn take(&mut self, role: Role, from: usize, to: usize) {
        if from > self.plain {
            (self.to)(Role::Text, &self.line[self.plain..from]);
        }
        if to > from {
            (self.to)(role, &self.line[from..to]);
        }
        (self.plain, self.at) = (to, to);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use proptest::prelude::*;

    /// Each piece that is not plain, with the initial of its role.
    fn told(name: &str, code: &str) -> String {
        let mut highlight = Highlight::of(name).unwrap();
        let mut out = Vec::new();
        for line in code.lines() {
            highlight.line(line, |role, text| {
                if role != Role::Text {
                    out.push(format!("{}:{}", &format!("{role:?}")[..1], text.trim()));
                }
            });
        }
        out.join(" ")
    }

    #[test]
    fn words_strings_numbers_and_comments_are_told_apart() {
        for (name, code, expected) in [
            (
                "rust",
                "pub fn f<'a>(x: &'a str) -> Some<u8> { 'x' + \"a\\\"b\" + 1_000 } // why",
                "K:pub K:fn N:f N:Some Q:'x' Q:\"a\\\"b\" N:1_000 C:// why",
            ),
            (
                "rust",
                "let s = \"two\nlines\"; /* and\nmore */ x",
                "K:let Q:\"two Q:lines\" C:/* C:and C:more */",
            ),
            (
                "python",
                "def f(): # c\n    \"\"\"doc\n    it's\"\"\"\n    return None",
                "K:def N:f C:# c Q:\"\"\"doc Q:it's\"\"\" K:return N:None",
            ),
            (
                "js",
                "const x = `a\n${b}` + 'c' // d",
                "K:const Q:`a Q:${b}` Q:'c' C:// d",
            ),
            (
                "sh",
                "for f in \"$@\"; do echo ${f#x} $HOME; done # x",
                "K:for K:in Q:\"$@\" K:do K:echo N:${f N:$HOME K:done C:# x",
            ),
            ("json", "{\"a\": [1, true, \"b\"]}", "N:\"a\" N:1 N:true Q:\"b\""),
            ("yaml", "a-b: yes # c\nurl: http://x#y", "N:a-b N:yes C:# c N:url"),
            ("toml", "[a]\nb = 'c'", "N:b Q:'c'"),
            (
                "sql",
                "SELECT a FROM b WHERE c = 'd' -- e",
                "K:SELECT K:FROM K:WHERE Q:'d' C:-- e",
            ),
            (
                "html",
                "<a href=\"b\">it's</a> <!-- c\nd --> e",
                "K:a N:href Q:\"b\" K:a C:<!-- c C:d -->",
            ),
            ("diff", "@@ -1 +1 @@\n-a\n+b\n c", "A:@@ -1 +1 @@ R:-a A:+b"),
        ] {
            assert_eq!(told(name, code), expected, "{name}: {code}");
        }
        assert!(Highlight::of("nobody-knows").is_none());
    }

    proptest! {
        #[test]
        fn the_pieces_of_a_line_are_the_line(
            name in prop::sample::select(vec!["rust", "python", "js", "sh", "json", "yaml", "toml", "sql", "html", "css", "diff", "go", "lua", "haskell", "php"]),
            lines in prop::collection::vec("[a-zé日_ 0-9\"'`#/*<>!$@{}\\\\:=-]{0,40}", 0..6),
        ) {
            let mut highlight = Highlight::of(name).unwrap();
            for line in &lines {
                let mut joined = String::new();
                highlight.line(line, |_, text| joined.push_str(text));
                prop_assert_eq!(&joined, line);
            }
        }
    }
}
