//! The places in files that a line names.

/// A place in a file that a line names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Place {
    /// It stands first, and what is wrong there follows: `a.c:3:5: …`.
    pub says: bool,
}

/// The place that a line names, if it names one.
pub(crate) fn place(line: &str) -> Option<Place> {
    let bytes = line.as_bytes();
    for (at, &byte) in bytes.iter().enumerate() {
        if !matches!(byte, b':' | b'(') {
            continue;
        }
        let behind = &line[at + 1..];
        let digits = behind.len() - behind.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        // GNU ld names an address where it knows no line.
        let is_section = byte == b':' && behind.starts_with("(.");
        if digits == 0 && !is_section || !ends_with_file(&line[..at]) {
            continue;
        }
        let rest = &behind[digits..];
        let says = |rest: &str| {
            let rest = rest.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, ':' | ',' | '-'));
            rest.starts_with(' ') && !rest.trim().is_empty()
        };
        if is_section || byte == b':' {
            let says = is_section || rest.starts_with(":(.") || rest.starts_with(':') && says(rest);
            return Some(Place { says });
        }
        // `a.ts(3,1): error`, and no call such as `x.push(3)`.
        let rest = rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == ',');
        if let Some(rest) = rest.strip_prefix("):") {
            return Some(Place { says: says(rest) });
        }
    }
    // `File "a.py", line 3`, `in C:\a.cs:line 131`, `in /a.php on line 12`.
    let named = line.match_indices("line ").any(|(at, word)| {
        let before = line[..at]
            .trim_end_matches("on ")
            .trim_end_matches([' ', ',', '"', '\'', ':']);
        line[at + word.len()..].starts_with(|c: char| c.is_ascii_digit()) && ends_with_file(before)
    });
    named.then_some(Place { says: false })
}

/// Whether the last word of a text is the name of a file.
pub(crate) fn ends_with_file(text: &str) -> bool {
    const BARE: &[&str] = &[
        "Makefile",
        "Dockerfile",
        "Rakefile",
        "Jenkinsfile",
        "Justfile",
        "Gemfile",
    ];
    const LONGEST: usize = 6;
    // Names are shorter. A line may have a place for every other of its bytes, and each is looked at from here.
    const NAME_BYTES: usize = 256;
    let tail = |bytes: usize| &text[text.ceil_char_boundary(text.len().saturating_sub(bytes))..];
    if BARE.iter().any(|bare| text.ends_with(bare)) {
        return true;
    }
    let Some((_, ending)) = tail(LONGEST + 1).rsplit_once('.') else {
        return false;
    };
    let is_ending = ending.starts_with(|c: char| c.is_ascii_alphabetic())
        && ending.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if !is_ending {
        return false;
    }
    let is_end = |c: char| c.is_whitespace() || "()[]{}<>\"'`,;|=".contains(c);
    let name = tail(NAME_BYTES);
    let name = name.rsplit_once(is_end).map_or(name, |(_, name)| name);
    let stem = &name[..name.len() - ending.len() - 1];
    let is_address = name.contains("://") && !name.starts_with("file:");
    !is_address && stem.chars().any(char::is_alphabetic)
}

/// Whether a line is nothing but a file and a line in it: `Dockerfile:9`.
pub(crate) fn is_bare_place(line: &str) -> bool {
    let place = line.rsplit_once(':').filter(|(file, _)| ends_with_file(file));
    place.is_some_and(|(file, number)| {
        !file.contains(char::is_whitespace) && !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit())
    })
}

/// Whether a line begins with a path and a line in it, whatever follows: `a.py:1: unused-import`.
pub(crate) fn leads_with_place(line: &str) -> bool {
    let mut pieces = line.split(':');
    let name = pieces.next().unwrap_or_default();
    let number = pieces.next().unwrap_or_default();
    name.contains(['.', '/']) && !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit())
}

/// What stands behind `path:line:column:`, and the path. Kotlin has no colon behind the column.
pub(crate) fn column_place(line: &str) -> Option<(&str, &str)> {
    let number = |text: &str| {
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        (digits > 0 && digits < 8).then_some(digits)
    };
    line.match_indices(':').find_map(|(at, _)| {
        let behind = &line[at + 1..];
        let column = behind[number(behind)?..].strip_prefix(':')?;
        let message = &column[number(column)?..];
        let is_end = message.starts_with(": ") || message.starts_with(' ') && line.starts_with("file:");
        is_end.then(|| (message.strip_prefix(':').unwrap_or(message), &line[..at]))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_bare_place_is_a_file_and_a_number() {
        for line in ["Dockerfile:9", "src/a.rs:3", "a/b/Makefile:18"] {
            assert!(is_bare_place(line), "{line}");
        }
        for line in [
            "localhost:8080",
            "12:30",
            "see a.rs:3",
            "a.rs:",
            "a.rs:3:5",
            "http://a.example:80",
            "",
        ] {
            assert!(!is_bare_place(line), "{line}");
        }
    }

    proptest! {
        #[test]
        fn no_line_is_too_odd(line in r"(\PC|:|[0-9]|a\.go|line |file:| |\(){0,30}") {
            let _ = (place(&line), is_bare_place(&line), leads_with_place(&line), column_place(&line), ends_with_file(&line));
        }
    }
}
