//! Quotations on one line, which can be taken for nothing else.

use crate::codes;
use crate::command::parted;
use crate::harness;
use crate::unseen::Unseen;
use std::borrow::Cow;

/// A command between backticks, without the folder that it is run in; a long one without its middle.
pub(super) fn shown_command(command: &str, most: usize) -> String {
    let (_, line) = parted(command);
    let line = in_one_line(line);
    let whole = harmless(&line, line.len());
    if whole.len() <= most {
        return format!("`{whole}`");
    }
    let head = &whole[..whole.floor_char_boundary(most * 2 / 3)];
    let tail = &whole[whole.ceil_char_boundary(whole.len() - most / 3)..];
    format!("`{head}…{tail}`")
}

/// The commands of several lines as they would be written in one, without notes. With a blank between them they would be one
/// command, which nobody has run. What stands in quotes, and behind the first `<<`, stays as it is.
fn in_one_line(command: &str) -> Cow<'_, str> {
    let command = command.trim();
    if !command.contains('\n') {
        return Cow::Borrowed(command);
    }
    let mut out = String::with_capacity(command.len());
    let mut quote = None;
    let mut chars = command.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        match (quote, c) {
            (Some(open), _) => {
                quote = quote.filter(|_| c != open);
                out.push(c);
                if c == '\\' && open == '"' {
                    out.extend(chars.next().map(|(_, c)| c));
                }
            }
            (None, '\\') => match chars.next() {
                Some((_, '\n')) => out.push(' '),
                next => {
                    out.push(c);
                    out.extend(next.map(|(_, c)| c));
                }
            },
            (None, '\'' | '"') => {
                quote = Some(c);
                out.push(c);
            }
            (None, '<') if command[at..].starts_with("<<") => {
                out.push_str(&command[at..]);
                break;
            }
            (None, '#') if out.is_empty() || out.ends_with(char::is_whitespace) => {
                while chars.next_if(|(_, c)| *c != '\n').is_some() {}
            }
            (None, '\n') => {
                out.truncate(out.trim_end().len());
                out.push_str(if goes_on(&out) { " " } else { "; " });
            }
            (None, c) if c.is_whitespace() && (out.is_empty() || out.ends_with(' ')) => {}
            (None, c) => out.push(c),
        }
    }
    out.truncate(out.trim_end_matches([' ', ';']).len());
    Cow::Owned(out)
}

/// Whether what stands behind a line belongs to its command.
fn goes_on(line: &str) -> bool {
    let words = ["do", "then", "else"];
    let last = line.rsplit(char::is_whitespace).next().unwrap_or_default();
    line.is_empty() || line.ends_with(['|', '&', ';', '{', '(']) || words.contains(&last)
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

    #[test]
    fn commands_of_several_lines_stay_apart_in_one() {
        for (command, shown) in [
            ("mv a b\nnpm test", "`mv a b; npm test`"),
            (
                "# run the tests\nexport CI=1\n\n  npm test  # all\n",
                "`export CI=1; npm test`",
            ),
            ("cargo test \\\n  --lib", "`cargo test --lib`"),
            ("make &&\n  make test |\n  tail", "`make && make test | tail`"),
            ("for a in b; do\n  ls $a\ndone", "`for a in b; do ls $a; done`"),
            ("echo 'a\n# b'\nls", "`echo 'a # b'; ls`"),
            ("echo \"a\\\"\n\" ; ls\n", "`echo \"a\\\" \" ; ls`"),
            ("python - <<E\nprint(1)\nE", "`python - <<E print(1) E`"),
            ("cd /r && ls\npwd", "`ls; pwd`"),
            ("ls a#b", "`ls a#b`"),
            ("ls\n#\n", "`ls`"),
        ] {
            assert_eq!(shown_command(command, 200), shown, "{command:?}");
        }
    }

    proptest! {
        #[test]
        fn no_command_is_too_odd_to_be_shown(command in r##"(\PC|[\n\\'"#<;|& ]){0,40}"##, most in 0usize..80) {
            let shown = shown_command(&command, most);
            prop_assert!(!shown.contains('\n') && shown.len() <= most + "``…".len());
        }

        #[test]
        fn what_is_made_harmless_stays_so(text in r"(\PC|[\n\x1b<]|</?system-reminder>|· recall x){0,30}", most in 0usize..80) {
            let once = harmless(&text, most);
            prop_assert!(once.len() <= most + "…".len());
            prop_assert_eq!(harmless(&once, usize::MAX), once);
        }
    }
}
