//! Lines of an output that look as if they said what failed, and do not: source, lists, and what stands for something else.

use crate::said::place;

/// A note that something is left out is no longer than this, in bytes.
const NOTE: usize = 120;

/// Whether a line does nothing but point at something in the one above, which is source then.
pub(super) fn points(line: &str) -> bool {
    let line = line.trim();
    line.contains('^') && line.chars().all(|c| matches!(c, '^' | '~' | ' '))
}

/// Whether a line that another points at is source: it tells no place by itself, and is not headed as errors are.
pub(super) fn is_source(line: &str) -> bool {
    let head = line.trim().split_once(':').map_or("", |(head, _)| head);
    let is_headed = ["rror", "xception"].iter().any(|end| head.ends_with(end)) && !head.contains([' ', '(']);
    !is_headed && place(line).is_none()
}

/// Whether a line is nothing but a tag that something stands in: `<output_head>`, `</div>`.
pub(super) fn is_tag(line: &str) -> bool {
    let inner = line.trim().strip_prefix('<').and_then(|rest| rest.strip_suffix('>'));
    let name = inner.map(|inner| inner.trim_start_matches('/').trim_end_matches('/').trim_end());
    let is_name = |name: &str| {
        name.starts_with(|c: char| c.is_alphabetic() || c == '_')
            && name
                .chars()
                .all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | ':' | '.'))
    };
    name.is_some_and(is_name)
}

/// Whether a line only says how much is left out in its place.
pub(super) fn is_elision(line: &str) -> bool {
    const UNITS: &[&str] = &["line", "char", "byte", "token", "row", "word", "KB", "kB", "MB"];
    const LEFT_OUT: &[&str] = &[
        "elided",
        "omitted",
        "truncated",
        "hidden",
        "not shown",
        "left out",
        "cut",
        "clipped",
    ];
    let line = line.trim();
    let counted = || line.bytes().any(|byte| byte.is_ascii_digit()) && UNITS.iter().any(|unit| line.contains(unit));
    let is_drawn = || {
        ["...", "…", "[...", "[…", "(...", "<..."]
            .iter()
            .any(|dots| line.starts_with(dots))
    };
    line.len() <= NOTE && counted() && (is_drawn() || LEFT_OUT.iter().any(|word| line.contains(word)))
}

/// Whether a line that looks like the side of a comparison is one of a list, by the line before it and whether that is: a list
/// has a headline, unless that says what its signs stand for.
pub(super) fn is_listed((before, is_listed): (&str, bool), line: &str) -> bool {
    let sign = |line: &str| line.trim_start().chars().next().filter(|c| matches!(c, '-' | '+'));
    let Some(own) = sign(line).filter(|_| line.trim_start()[1..].starts_with(' ')) else {
        return false;
    };
    let before = before.trim_end();
    let explains = || before.contains(['-', '+']) || before.contains("iff");
    match sign(before) {
        Some(other) => is_listed && other == own,
        None => before.ends_with(':') && !explains(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_tag_alone_and_a_note_of_what_is_left_out_say_nothing() {
        for line in ["<output_head>", "</elided_chars>", "  <br />", "<a-b:c>", "</div>"] {
            assert!(is_tag(line), "{line}");
        }
        for line in [
            "<b>no</b>",
            "<>",
            "< 3 >",
            "<p class=\"x\">",
            "a <b>",
            "<stdin>:3: error",
            "<3>",
        ] {
            assert!(!is_tag(line), "{line}");
        }
        for line in [
            "39449 characters elided",
            "[... 120 lines omitted ...]",
            "… +34 lines (ctrl+o to expand)",
            "... (truncated, 3000 bytes in all)",
            "[output truncated: 40 KB of 312 KB]",
        ] {
            assert!(is_elision(line), "{line}");
        }
        for line in [
            "3 tests skipped",
            "a line was omitted",
            "expected 3 lines, got 4",
            "... and 3 more failures",
        ] {
            assert!(!is_elision(line), "{line}");
        }
    }

    #[test]
    fn what_is_listed_under_a_headline_is_no_side_of_a_comparison() {
        assert!(is_listed(("New files (1):", false), "  + a.rb"));
        assert!(is_listed(("  - a.rb", true), "  - b.rb"));
        assert!(!is_listed(("  - a.rb", true), "  + b.rb"));
        assert!(!is_listed(("- 1", false), "- 2"));
        assert!(!is_listed(("mismatch (-want +got):", false), "- 2"));
        assert!(!is_listed(("Diff:", false), "- 2"));
        assert!(!is_listed(("Files:", false), "-2"));
    }

    proptest! {
        #[test]
        fn no_line_is_too_odd(before in "\\PC{0,9}:?", line in r#"(\PC|<|>|/|\^|~|[-+] |…|[0-9]|line|omitted){0,20}"#) {
            let _ = (points(&line), is_source(&line), is_tag(&line), is_elision(&line));
            let _ = is_listed((&before, before.len() > 3), &line);
        }
    }
}
