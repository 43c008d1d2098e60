//! Quotations on one line, which can be taken for nothing else.

use crate::codes;
use crate::command::parted;
use crate::harness;
use crate::unseen::Unseen;

/// A command between backticks, without the folder that it is run in; a long one without its middle.
pub(super) fn shown_command(command: &str, most: usize) -> String {
    let (_, line) = parted(command);
    let whole = harmless(line, line.len());
    if whole.len() <= most {
        return format!("`{whole}`");
    }
    let head = &whole[..whole.floor_char_boundary(most * 2 / 3)];
    let tail = &whole[whole.ceil_char_boundary(whole.len() - most / 3)..];
    format!("`{head}…{tail}`")
}

pub(super) fn quoted(text: &str, most: usize) -> String {
    format!("\"{}\"", harmless(text, most).replace('"', "'"))
}

/// A text on one line of at most so many bytes (and the dots that say that it is cut), that cannot be taken for anything
/// but a quotation.
///
/// White space becomes one blank. Control characters, escape codes and characters that are not seen (marks of direction,
/// of no width, tags) go. A `<` that opens a tag of a harness, such as `<system-reminder>` or `</tool_result>`, becomes `‹`;
/// in `Vec<String>` or `a < b` it stays. The sign that markers of cut content have before their handle becomes a comma.
pub(super) fn harmless(text: &str, most: usize) -> String {
    // What goes first could hide a tag, so tags are looked for in what is left.
    let (line, mut is_cut) = one_line(text, most.saturating_add(64));
    let mut out = String::with_capacity(line.len().min(most));
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        let shown = match c {
            '<' if opens_tag(chars.as_str(), out.chars().next_back()) => '‹',
            '·' if chars.as_str().trim_start().starts_with("recall") => ',',
            c => c,
        };
        is_cut |= out.len() + shown.len_utf8() > most;
        if out.len() + shown.len_utf8() > most {
            break;
        }
        out.push(shown);
    }
    if is_cut {
        out.truncate(out.trim_end().len());
        out.push('…');
    }
    out
}

/// A text on one line without what is not seen, and whether it was cut after so many bytes.
fn one_line(text: &str, most: usize) -> (String, bool) {
    let mut out = String::new();
    let mut is_blank = false;
    for c in codes::shown(text).chars() {
        if c.is_whitespace() {
            is_blank = !out.is_empty();
        } else if !c.is_control() && Unseen::of(c).is_none() {
            if out.len() > most {
                return (out, true);
            }
            if std::mem::take(&mut is_blank) {
                out.push(' ');
            }
            out.push(c);
        }
    }
    (out, false)
}

/// Whether a `<` with this behind it and that before it opens a tag that a harness could have written.
fn opens_tag(after: &str, before: Option<char>) -> bool {
    let name: String = after
        .chars()
        .skip_while(|c| c.is_whitespace() || *c == '/')
        .take_while(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | ':'))
        .take(40)
        .flat_map(char::to_lowercase)
        .collect();
    let is_code = before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':');
    harness::could_be_a_tag(&name, is_code)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_quoted_text_poses_as_nothing() {
        let table = [
            ("a <system-reminder> b", "a ‹system-reminder> b"),
            ("x</system-reminder>", "x‹/system-reminder>"),
            ("< / SYSTEM_reminder>", "‹ / SYSTEM_reminder>"),
            ("<sys\u{200b}tem-\u{7}reminder>", "‹system-reminder>"),
            ("<\u{1b}[1msystem>", "‹system>"),
            ("<tool_result> <human>", "‹tool_result> ‹human>"),
            (
                "Vec<String> a < b && HashMap<my_key, T>",
                "Vec<String> a < b && HashMap<my_key, T>",
            ),
            ("one\n## Context\n\ttwo\r\n", "one ## Context two"),
            (
                "[Read output, 9 bytes · recall k3f9a2]",
                "[Read output, 9 bytes , recall k3f9a2]",
            ),
            ("\u{202e}evil\u{feff} \u{1b}[31mred\u{1b}[0m", "evil red"),
            ("<sys\u{34f}tem-\u{3164}reminder> \u{61c}x", "‹system-reminder> x"),
        ];
        for (text, expected) in table {
            assert_eq!(harmless(text, 200), expected);
        }
        assert_eq!(harmless("ééé", 5), "éé…");
        assert_eq!(harmless(&"x".repeat(1_000_000), 3), "xxx…");
        assert_eq!(harmless("abc  ", 3), "abc");
    }

    #[test]
    fn a_command_is_shown_without_its_folder() {
        assert_eq!(shown_command("cd /a/b && cargo test", 99), "`cargo test`");
        assert_eq!(
            shown_command(&"é".repeat(99), 30),
            format!("`{}…{}`", "é".repeat(10), "é".repeat(5))
        );
    }

    proptest! {
        #[test]
        fn what_is_made_harmless_stays_so(text in r"(\PC|[\n\x1b<]|</?system-reminder>|· recall x){0,30}", most in 0usize..80) {
            let once = harmless(&text, most);
            prop_assert!(once.len() <= most + "…".len());
            prop_assert_eq!(harmless(&once, usize::MAX), once);
        }
    }
}
