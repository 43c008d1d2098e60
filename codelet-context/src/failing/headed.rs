//! Findings that stand below the name of their file and do not repeat it: `/w/a.ts`, and below it `  12:5  error  …`.

use crate::said::ends_with_file;
use std::borrow::Cow;

/// So many lines may stand between the name of a file and what was found in it.
const BETWEEN: usize = 4;
/// The longest name of a file, in bytes.
const LONGEST: usize = 256;
/// What findings are marked with that are no remarks.
const MARKS: [char; 5] = ['✖', '✘', '✗', '×', '⨯'];

/// The file that the next findings may be about.
#[derive(Default)]
pub(super) struct Heading<'a> {
    file: Option<&'a str>,
    kind: Kind,
    /// How deep it stands.
    indent: usize,
    /// Lines since it.
    lines: usize,
    /// Something was found in it.
    has_findings: bool,
    /// Something was found below it, or below one before.
    has_heads: bool,
}

/// How sure it is that a line is a heading.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum Kind {
    /// It says so: other lines may follow before what was found.
    Told,
    /// It is the name of a file.
    #[default]
    Named,
    /// It may be a path: only what was found right below it says so.
    Odd,
}

impl<'a> Heading<'a> {
    /// Takes the next line, and gives it with the file that it is about, if it does not name that itself.
    pub fn take(&mut self, line: &'a str, is_behind_blank: bool) -> Cow<'a, str> {
        let is_finding = is_bare(line.trim());
        if let Some((file, kind)) = self.begins(line, is_finding) {
            *self = Heading {
                file: Some(file),
                kind,
                indent: indent(line),
                has_heads: self.has_heads,
                ..Heading::default()
            };
            return Cow::Borrowed(line);
        }
        self.lines += 1;
        if self.is_over(line, is_finding, is_behind_blank) {
            self.end();
        }
        match self.file {
            Some(file) if is_finding => {
                (self.has_findings, self.has_heads) = (true, true);
                Cow::Owned(format!("{file} {}", line.trim()))
            }
            _ => Cow::Borrowed(line),
        }
    }

    /// What comes next belongs to nothing that is known.
    pub fn end(&mut self) {
        self.file = None;
    }

    /// The file that a line is a heading for.
    fn begins(&self, line: &'a str, is_finding: bool) -> Option<(&'a str, Kind)> {
        if let Some(file) = told(line.trim()) {
            return Some((file, Kind::Told));
        }
        if let Some(file) = named(line.trim()) {
            return Some((file, Kind::Named));
        }
        let is_odd = !is_finding && indent(line) <= self.indent && may_be_path(line.trim(), self.has_heads);
        is_odd.then(|| (line.trim(), Kind::Odd))
    }

    /// Whether the findings of the file have ended before this line.
    fn is_over(&self, line: &str, is_finding: bool, is_behind_blank: bool) -> bool {
        if self.kind != Kind::Told && !is_finding && indent(line) <= self.indent {
            return true;
        }
        match (self.has_findings, self.kind) {
            (true, _) => is_behind_blank,
            (false, Kind::Odd) => is_behind_blank || self.lines > 1,
            (false, _) => self.lines > BETWEEN,
        }
    }
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// A finding as it was printed, without the file that was put before it.
pub(crate) fn as_printed(line: &str) -> &str {
    let line = line.trim();
    let spaces = line.match_indices(' ').take_while(|(at, _)| *at <= LONGEST);
    let mut pieces = spaces.map(|(at, _)| (&line[..at], &line[at + 1..]));
    let is_headed = |(file, rest): &(&str, &str)| file.contains(['/', '\\', '.']) && is_bare(rest);
    pieces.find(is_headed).map_or(line, |(_, rest)| rest)
}

/// Whether a line is a finding that is marked as one, in a place that it begins with: `4:3 ✖ …`.
pub(super) fn is_marked(line: &str) -> bool {
    let behind = place(line).map(str::trim_start);
    behind.is_some_and(|said| said.starts_with(MARKS) && said.contains(char::is_alphabetic))
}

/// The file, or the module, that a line says it is a heading for.
fn told(line: &str) -> Option<&str> {
    let file = line.strip_prefix("FILE: ").map(str::trim);
    let file = file.filter(|file| file.len() <= LONGEST);
    file.or_else(|| line.strip_prefix("************* Module "))
}

/// The file that a line names and says nothing else.
fn named(file: &str) -> Option<&str> {
    let is_one = !file.contains(char::is_whitespace) || file.starts_with(['/', '.']);
    let is_path = ends_with_file(file) && !file.contains([':', '(', '"', '\'']);
    (is_one && is_path && file.len() <= LONGEST).then_some(file)
}

/// Whether a line may be a path, whatever its names are made of: `/w/bin/cli`, `./app/(auth)/page.tsx`. Where others stand above
/// their findings, less is asked of it.
fn may_be_path(line: &str, has_heads: bool) -> bool {
    let rest = match line.as_bytes() {
        [letter, b':', b'\\' | b'/', ..] if letter.is_ascii_alphabetic() => &line[2..],
        _ => line,
    };
    let is_word = !line.contains(char::is_whitespace);
    let begins = rest.starts_with(['/', '\\']) || line.starts_with("./") || line.starts_with("../");
    let is_path = begins && (is_word || has_heads) || is_word && has_heads && rest.contains(['/', '\\']);
    is_path && !rest.contains(':') && line.len() <= LONGEST
}

/// Whether a line begins with a place in a file and does not name the file.
fn is_bare(line: &str) -> bool {
    place(line).is_some()
}

/// What stands behind the place that a line begins with: `12:5  error`, `12 | ERROR`, `E: 12, 0: …`.
fn place(line: &str) -> Option<&str> {
    let number = |text: &'_ str| {
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        (1..8).contains(&digits).then_some(digits)
    };
    let kind = line.strip_prefix(['C', 'R', 'W', 'E', 'F']);
    if let Some(rest) = kind.and_then(|rest| rest.strip_prefix(':')) {
        let rest = rest.trim_start();
        let rest = rest[number(rest)?..].strip_prefix(',')?.trim_start();
        return rest[number(rest)?..].strip_prefix(": ");
    }
    let rest = &line[number(line)?..];
    if let Some(said) = rest.trim_start().strip_prefix("| ") {
        let (kind, _) = said.split_once(" |")?;
        return (!kind.is_empty() && kind.bytes().all(|b| b.is_ascii_uppercase())).then_some(said);
    }
    let rest = rest.strip_prefix(':')?;
    let said = &rest[number(rest)?..];
    said.starts_with(char::is_whitespace).then_some(said)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn headed(text: &str) -> Vec<String> {
        let mut heading = Heading::default();
        let mut is_behind_blank = false;
        let mut lines = Vec::new();
        for line in text.lines() {
            if !line.trim().is_empty() {
                lines.push(heading.take(line, is_behind_blank).into_owned());
            }
            is_behind_blank = line.trim().is_empty();
        }
        lines
    }

    #[test]
    fn a_finding_takes_the_file_that_it_stands_below() {
        for (text, last) in [
            ("/w/b.ts\n  4:1  error  x\n  8:9  error  y", "/w/b.ts 8:9  error  y"),
            ("src/a.css\n  4:3  ✖  x", "src/a.css 4:3  ✖  x"),
            ("./a.yml\n  3:1  error  x", "./a.yml 3:1  error  x"),
            (
                "FILE: /w/my app/a.php\n---\nFOUND 1 ERROR\n---\n 14 | ERROR | x",
                "/w/my app/a.php 14 | ERROR | x",
            ),
            ("************* Module pay.a\nE: 12, 0: x", "pay.a E: 12, 0: x"),
            ("a.ts\n 1:1 error x\n\nb.ts\n 2:2 error y", "b.ts 2:2 error y"),
            // What comes later belongs to nothing that is known.
            ("a.ts\n 1:1 error x\n\n 2:2 error y", " 2:2 error y"),
            ("a.ts\n1\n2\n3\n4\n 2:2 error y", " 2:2 error y"),
            ("it is in a.ts\n 2:2 error y", " 2:2 error y"),
            ("a.ts:\n12:30:44: error y", "12:30:44: error y"),
            ("a.ts\nb.ts:2:2 error y", "b.ts:2:2 error y"),
            ("a.ts\n  12 | const a = 1", "  12 | const a = 1"),
            // What stands between belongs to it only where it is no other heading.
            ("a.ts\n  1:1 error x\n<text>\n  2:2 error y", "  2:2 error y"),
            ("src/a.ts\n\nstdin\n  2:2 error y", "  2:2 error y"),
            (" a.md\n 1:1 error x\n   more\n 2:2 error y", "a.md 2:2 error y"),
            ("a.ts\n  1:1 error x\n    more\n  2:2 error y", "a.ts 2:2 error y"),
            // Files are called in many ways.
            (
                "./a.tsx\n./app/(auth)/a.tsx\n40:1  Error: x",
                "./app/(auth)/a.tsx 40:1  Error: x",
            ),
            ("/w/a.ts\n\n/w/bin/cli\n  3:4  error  y", "/w/bin/cli 3:4  error  y"),
            (
                "/w/a.ts\n  1:2  error  x\n/w/bin/cli\n  3:4  error  y",
                "/w/bin/cli 3:4  error  y",
            ),
            (
                "w/a.ts\n  1:2  error  x\n\nbin/cli\n  3:4  error  y",
                "bin/cli 3:4  error  y",
            ),
            (
                "/w/a.ts\n  1:2  error  x\n\n/w/it's (b)\n  3:4  error  y",
                "/w/it's (b) 3:4  error  y",
            ),
            ("bin/cli\n  3:4  error  y", "  3:4  error  y"),
            ("/w/bin/cli\n\n  3:4  error  y", "  3:4  error  y"),
            ("/w/bin/cli\n  more\n  3:4  error  y", "  3:4  error  y"),
            ("/w/a.ts\n/w/b:9 is odd\n  3:4  error  y", "  3:4  error  y"),
        ] {
            assert_eq!(headed(text).last().map(String::as_str), Some(last), "{text}");
        }
    }

    #[test]
    fn a_finding_with_its_file_is_read_as_it_was_printed() {
        for (line, printed) in [
            ("/w/b.ts 8:9  error  y", "8:9  error  y"),
            ("/w/my app/a.php 14 | ERROR | x", "14 | ERROR | x"),
            ("pay.a E: 12, 0: x", "E: 12, 0: x"),
            ("at 12:30 error x", "at 12:30 error x"),
            ("b.ts:8:9 error y", "b.ts:8:9 error y"),
        ] {
            assert_eq!(as_printed(line), printed, "{line}");
        }
        assert!(is_marked("4:3  ✖  Unexpected block"));
        assert!(!is_marked("4:3  warning  x") && !is_marked("✖ 2 problems") && !is_marked("4:3 ✖"));
    }

    proptest! {
        #[test]
        fn no_line_is_too_odd(text in r"(\PC|[0-9]|:|\| |FILE: |a\.ts|E: |, |\n| |✖){0,40}") {
            let _ = headed(&text);
            let _ = (as_printed(&text), is_marked(&text));
        }
    }
}
