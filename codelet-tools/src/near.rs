//! Explains why a text was not found in a file: the nearest place, and the difference.

use crate::text::shorten;
use codelet_text::short::counted;
use codelet_text::unseen::Unseen;
use std::collections::HashSet;

/// Lines of the file, and of the text, that are examined.
const FILE_LINES: usize = 200_000;
const TEXT_LINES: usize = 400;
/// Limits for one search on line comparisons, and on the bytes compared letter by letter.
const COMPARISONS: usize = 2_000_000;
const COMPARED_BYTES: usize = 2_000_000;
/// Bytes of a line that are compared letter by letter.
const LETTERS: usize = 200;
/// Bytes of a line, and lines, that are shown.
const LINE: usize = 200;
const LINES: usize = 12;
/// Minimum similarity of lines that count as near.
const ALIKE: f64 = 0.5;

/// A normalisation under which lines may match although they differ.
type Key = fn(&str) -> String;

/// The explanation for a text that was not found. Takes linear time in the size of the file, whatever it contains.
pub(crate) fn explain(text: &str, old: &str) -> String {
    const NOT_FOUND: &str = "old_string was not found";
    let is_there = |wanted: &str| !wanted.trim().is_empty() && text.contains(wanted);
    if text.is_empty() {
        return format!("{NOT_FOUND}: the file is empty");
    }
    if old.trim().is_empty() {
        return format!("{NOT_FOUND}: it is only white space, and the file has none like it");
    }
    if without_numbers(old).is_some_and(|bare| is_there(&bare)) {
        return format!("{NOT_FOUND}: it holds the line numbers that Read shows; leave them and the tab out");
    }
    if unescaped(old).is_some_and(|plain| is_there(&plain)) {
        return format!(
            "{NOT_FOUND}: it is escaped once too often (the file has the text with real line ends and quotes)"
        );
    }
    if let Some(why) = within(text, old) {
        return format!("{NOT_FOUND}: {why}");
    }
    let file: Vec<&str> = text.lines().take(FILE_LINES).collect();
    let wanted: Vec<&str> = old.trim_matches(['\n', '\r']).lines().take(TEXT_LINES).collect();
    const KEYS: [(Key, &str); 3] = [
        (squashed, "white space"),
        (plain, "quotes, dashes or special spaces"),
        (folded, "upper and lower case"),
    ];
    for (key, what) in KEYS {
        if let Some(at) = same_but(&file, &wanted, key) {
            let difference = first_difference(&file[at..], &wanted, at);
            return format!(
                "{NOT_FOUND}; {} {} only in {what}. {difference}",
                span(at, wanted.len()),
                if wanted.len() == 1 { "differs" } else { "differ" }
            );
        }
    }
    match nearest(&file, &wanted) {
        Some((at, alike)) => {
            let found = &file[at..(at + wanted.len()).min(file.len())];
            let mut out = format!("{NOT_FOUND}. The nearest text is in {}", span(at, found.len()));
            if wanted.len() > 1 {
                out.push_str(&format!(" ({alike} of {} lines are alike)", wanted.len()));
            }
            out.push_str(&format!(". {}", first_difference(&file[at..], &wanted, at)));
            out.push_str("\nThe file has:\n");
            for (index, line) in found.iter().take(LINES).enumerate() {
                out.push_str(&format!("{}\t{}\n", at + index + 1, shorten(line, LINE)));
            }
            out
        }
        None => format!("{NOT_FOUND}, and nothing like it is in the file: Read it again"),
    }
}

/// Explains why a text is not found although it seems visible: it contains characters that are shown but not in the
/// file, or its end is missing.
fn within(text: &str, old: &str) -> Option<String> {
    let text = text.replace("\r\n", "\n");
    let old = old.replace("\r\n", "\n");
    if let Some(at) = text.find(&old).filter(|_| old.contains(char::REPLACEMENT_CHARACTER)) {
        let before = old.split(char::REPLACEMENT_CHARACTER).next().unwrap_or_default();
        let line = text[..at].matches('\n').count() + before.matches('\n').count() + 1;
        return Some(format!(
            "line {line} has bytes that are not UTF-8, which Read shows as �; leave them out of old_string"
        ));
    }
    let bare = old.trim_end_matches('\n');
    let is_at_end = bare.len() < old.len() && !bare.trim().is_empty() && text.ends_with(bare);
    is_at_end.then(|| "the file has no line end after its last line; leave it out of old_string".to_owned())
}

fn span(at: usize, count: usize) -> String {
    match count {
        0 | 1 => format!("line {}", at + 1),
        _ => format!("lines {}-{}", at + 1, at + count),
    }
}

fn without_numbers(old: &str) -> Option<String> {
    let bare: Option<Vec<&str>> = old
        .split('\n')
        .map(|line| {
            let behind = line.trim_start().trim_start_matches(|c: char| c.is_ascii_digit());
            match behind.strip_prefix(['\t', '→']) {
                Some(rest) if behind.len() < line.trim_start().len() => Some(rest),
                _ => line.trim().is_empty().then_some(line),
            }
        })
        .collect();
    bare.map(|lines| lines.join("\n"))
}

fn unescaped(old: &str) -> Option<String> {
    let plain = old
        .replace("\\r\\n", "\n")
        .replace("\\n", "\n")
        .replace("\\t", "\t")
        .replace("\\\"", "\"")
        .replace("\\'", "'")
        .replace("\\\\", "\\");
    (plain != old).then_some(plain)
}

/// Removes whitespace.
fn squashed(line: &str) -> String {
    line.chars().filter(|c| !c.is_whitespace()).collect()
}

/// Removes whitespace and invisible characters, and replaces typographic characters by ASCII ones.
fn plain(line: &str) -> String {
    line.chars()
        .filter(|c| !c.is_whitespace() && Unseen::of(*c).is_none())
        .map(|c| match c {
            '\u{2018}'..='\u{201b}' | '`' | '´' | '"' | '\u{201c}'..='\u{201f}' | '«' | '»' => '\'',
            '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
            '…' => '.',
            c => c,
        })
        .collect()
}

fn folded(line: &str) -> String {
    plain(line).to_lowercase()
}

/// The first line at which all wanted lines match under the key. The first wanted line may match the end, and the last
/// the beginning, of a line of the file.
fn same_but(file: &[&str], wanted: &[&str], key: Key) -> Option<usize> {
    let wanted: Vec<String> = wanted.iter().map(|line| key(line)).collect();
    let file: Vec<String> = file.iter().map(|line| key(line)).collect();
    let (first, rest) = wanted.split_first()?;
    let Some((last, inner)) = rest.split_last() else {
        return file
            .iter()
            .position(|line| !first.is_empty() && line.contains(first.as_str()));
    };
    let mut left = COMPARISONS;
    (0..file.len().saturating_sub(wanted.len() - 1)).find(|&at| {
        let mut same = |is_same: bool| {
            left = left.saturating_sub(1);
            is_same && left > 0
        };
        same(file[at].ends_with(first.as_str()))
            && inner.iter().zip(&file[at + 1..]).all(|(a, b)| same(a == b))
            && same(file[at + wanted.len() - 1].starts_with(last.as_str()))
    })
}

/// The place with the most wanted lines, in any order, or the line most similar to the longest one; with the number of
/// equal lines there.
fn nearest(file: &[&str], wanted: &[&str]) -> Option<(usize, usize)> {
    let keys: Vec<String> = wanted.iter().map(|line| squashed(line)).collect();
    // A brace on its own line does not identify a place.
    let telling: HashSet<&str> = keys.iter().map(String::as_str).filter(|key| key.len() > 2).collect();
    let hits: Vec<usize> = file
        .iter()
        .enumerate()
        .filter(|(_, line)| telling.contains(squashed(line).as_str()))
        .map(|(at, _)| at)
        .collect();
    let mut best: Option<(usize, usize)> = None;
    let mut end = 0;
    for (index, &at) in hits.iter().enumerate() {
        while end < hits.len() && hits[end] < at + wanted.len() {
            end += 1;
        }
        let count = end - index;
        if best.is_none_or(|(_, most)| count > most) {
            best = Some((at, count));
        }
    }
    if let Some((hit, count)) = best {
        // The window may start before the first equal line.
        let key = squashed(file[hit]);
        let offset = keys.iter().position(|other| *other == key).unwrap_or_default();
        return Some((hit.saturating_sub(offset), count));
    }
    let (offset, longest) = keys.iter().enumerate().max_by_key(|(_, key)| key.len())?;
    let at = most_alike(file, longest)?;
    Some((at.saturating_sub(offset), 0))
}

/// The line most similar to the wanted one, by the pairs of letters that both have.
fn most_alike(file: &[&str], wanted: &str) -> Option<usize> {
    let beginning = |line: &str| line.chars().take(LETTERS).collect::<String>();
    let wanted = beginning(wanted);
    let (mut left, mut best) = (COMPARED_BYTES, (0.0, None));
    for (at, line) in file.iter().enumerate() {
        let line = beginning(&squashed(&line[..line.floor_char_boundary(LETTERS * 2)]));
        left = left.saturating_sub(line.len() + 1);
        if left == 0 {
            break;
        }
        let alike = strsim::sorensen_dice(&line, &wanted);
        if alike > best.0 {
            best = (alike, Some(at));
        }
    }
    best.1.filter(|_| best.0 >= ALIKE)
}

/// The first line that differs, as in the file and as wanted.
fn first_difference(file: &[&str], wanted: &[&str], at: usize) -> String {
    let found = wanted.iter().enumerate().find_map(|(index, yours)| {
        let line = file.get(index).copied();
        let is_same = line.is_some_and(|line| match index {
            // The text may start or end inside a line.
            0 if wanted.len() == 1 => line.contains(yours),
            0 => line.ends_with(yours),
            _ if index + 1 == wanted.len() => line.starts_with(yours),
            _ => line == *yours,
        });
        (!is_same).then_some((index, line, *yours))
    });
    let Some((index, line, yours)) = found else {
        return "The lines are the same, but not what stands between them".to_owned();
    };
    let number = at + index + 1;
    let Some(line) = line else {
        return format!(
            "The file ends before line {number}; old_string has {:?} there",
            shorten(yours, LINE)
        );
    };
    let (here, there) = (indentation(line), indentation(yours));
    if here != there && line.trim() == yours.trim() {
        let (here, there) = (spelled(here), spelled(there));
        return format!(
            "Line {number} is indented by {here}, in old_string by {there}: {:?}",
            shorten(line, LINE)
        );
    }
    format!(
        "Line {number} is {:?}, in old_string {:?}",
        shorten(line, LINE),
        shorten(yours, LINE)
    )
}

fn indentation(line: &str) -> &str {
    &line[..line.len() - line.trim_start().len()]
}

fn spelled(space: &str) -> String {
    let tabs = space.matches('\t').count();
    let spaces = space.matches(' ').count();
    match (tabs, spaces) {
        (0, 0) => "nothing".to_owned(),
        (0, spaces) => counted(spaces, "space"),
        (tabs, 0) => counted(tabs, "tab"),
        (tabs, spaces) => format!("{} and {}", counted(tabs, "tab"), counted(spaces, "space")),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use proptest::prelude::*;

    const FILE: &str = "fn main() {\n\tlet a = 1;\n\tprintln!(\"it’s {a}\");\n}\n\nfn other() {\n    if true {\n        call(1, 2);\n    }\n}\n";

    #[test]
    fn a_near_miss_says_where_and_how_it_differs() {
        for (old, parts) in [
            ("    let a = 1;", &["line 2", "white space", "1 tab", "4 spaces"][..]),
            (
                "if true {\n    call(1, 2);\n}",
                &["lines 7-9", "white space", "line 8", "8 spaces", "4 spaces"],
            ),
            ("call(1,2);", &["line 8", "white space"]),
            ("println!(\"it's {a}\");", &["line 3", "quotes"]),
            ("fn\u{2060} other\u{61c}() {", &["line 6", "quotes"]),
            ("FN MAIN()", &["line 1", "upper and lower case"]),
            ("7\t    if true {\n8\t        call(1, 2);", &["line numbers"]),
            ("call(1, 2);\\n    }", &["escaped"]),
            (
                "    if true {\n        call(1, 3);\n    }\n}",
                &["lines 7-10", "line 8", "call(1, 3)", "8\t        call(1, 2);"],
            ),
            ("fn othr() {", &["line 6", "fn other() {"]),
            ("nothing of this kind", &["nothing like it"]),
            ("\n\n\n", &["only white space"]),
        ] {
            let told = explain(FILE, old).to_lowercase();
            for part in parts {
                assert!(
                    told.contains(&part.to_lowercase()),
                    "{old:?}: {part:?} is not in {told}"
                );
            }
        }
        assert!(explain("", "a").contains("empty"));
    }

    #[test]
    fn what_is_missing_at_the_end_of_a_file_and_what_is_only_shown_have_reasons_of_their_own() {
        for (file, old, part) in [
            ("a\nend", "a\nend\n", Some("no line end after its last line")),
            ("a\r\nend", "a\nend\n", Some("no line end after its last line")),
            ("end\nmore", "more\n\n", Some("no line end after its last line")),
            ("a\nend\n", "a\nend\nmore\n", None),
            ("a\nend", "\n\n", None),
            (
                "x\n# caf\u{fffd}\ndef\n",
                "# caf\u{fffd}\ndef",
                Some("line 2 has bytes that are not UTF-8"),
            ),
            (
                "x\n# caf\u{fffd}\r\ndef\r\n",
                "x\n# caf\u{fffd}\ndef",
                Some("line 2 has bytes that are not UTF-8"),
            ),
            ("caf\u{fffd} x\n", "cafe x", None),
        ] {
            let told = explain(file, old);
            let is_told = part.is_some_and(|part| told.contains(part));
            assert_eq!(is_told, part.is_some(), "{old:?}: {told}");
            let is_other = told.contains("no line end") || told.contains("not UTF-8");
            assert_eq!(is_other, part.is_some(), "{old:?}: {told}");
        }
    }

    #[test]
    fn a_hostile_file_is_searched_in_bounded_time() {
        let watch = codelet_testkit::Stopwatch::begin();
        let file = "a b\n".repeat(2_000_000) + &"x".repeat(2_000_000);
        explain(&file, &("ab\n".repeat(100_000) + "c"));
        explain(&file, &"y".repeat(3_000_000));
        explain(&"ab".repeat(4_000_000), "abc");
        let took = watch.elapsed();
        assert!(took.as_secs() < 20, "{took:?}");
    }

    proptest! {
        #[test]
        fn any_miss_is_explained(text in "(?s).{0,80}", old in "(?s).{1,40}") {
            let told = explain(&text, &old);
            prop_assert!(told.starts_with("old_string was not found"));
            prop_assert!(told.len() < 8_000);
        }

        #[test]
        fn indentation_is_found_in_any_file(before in "([a-z ]{0,9}\n){0,5}", depth in 1usize..9) {
            let file = format!("{before}{}wanted(line);\nbehind\n", " ".repeat(depth));
            let told = explain(&file, &format!("{}wanted(line);\nbehind", "\t".repeat(depth)));
            let number = before.lines().count() + 1;
            prop_assert!(told.contains(&format!("lines {number}-{}", number + 1)), "{told}");
            prop_assert!(told.contains("white space"), "{told}");
        }
    }
}
