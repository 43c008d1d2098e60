//! Removes redirections from a command line, as they may appear between any two words.
//!
//! Only for deny patterns, which are also compared with the original line: removing too much here permits nothing.

use std::iter::Peekable;
use std::str::Chars;

/// Returns the line with each redirection replaced by a blank: its number, operator and target.
pub(in crate::permission) fn without_redirections(line: &str) -> String {
    let mut out = String::new();
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\'' | '"' | '\\' => {
                out.push(c);
                quoted(c, &mut chars, &mut out);
            }
            // `<(` and `>(` stand for a file, and are a word.
            '<' | '>' if chars.peek() != Some(&'(') => {
                leave_out_number(&mut out);
                let mut operator = String::from(c);
                while let Some(c) = chars.next_if(|c| matches!(c, '<' | '>' | '&' | '|' | '-')) {
                    operator.push(c);
                }
                // `&-` closes a stream and has no target.
                let is_closed = operator.ends_with("&-");
                while chars.next_if(|c| !is_closed && matches!(c, ' ' | '\t')).is_some() {}
                skip_word(&mut chars);
                out.push(' ');
            }
            c => out.push(c),
        }
    }
    out
}

/// Removes a prefix that belongs to the operator: `2`, `{name}` or `&`.
fn leave_out_number(out: &mut String) {
    let begin = out.rfind(|c: char| c.is_whitespace() || matches!(c, ';' | '|' | '(' | ')'));
    let begin = begin.map_or(0, |at| at + out[at..].chars().next().map_or(1, char::len_utf8));
    let word = &out[begin..];
    if word.bytes().all(|byte| byte.is_ascii_digit()) || word.starts_with('{') && word.ends_with('}') {
        out.truncate(begin);
    } else if word.ends_with('&') {
        out.pop();
    }
}

/// Skips the target of a redirection: one word, including everything quoted or substituted in it.
fn skip_word(chars: &mut Peekable<Chars<'_>>) {
    let mut depth = 0usize;
    while let Some(c) =
        chars.next_if(|c| depth > 0 || !(c.is_whitespace() || matches!(c, ';' | '|' | '&' | '<' | '>' | ')')))
    {
        match c {
            '\'' | '"' | '\\' | '`' => quoted(c, chars, &mut String::new()),
            '(' | '{' => depth += 1,
            ')' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
}

/// Copies up to the end of what this quote character begins.
fn quoted(sign: char, chars: &mut Peekable<Chars<'_>>, out: &mut String) {
    if sign == '\\' {
        out.extend(chars.next());
        return;
    }
    while let Some(c) = chars.next() {
        out.push(c);
        match c {
            c if c == sign => return,
            '\\' if sign != '\'' => out.extend(chars.next()),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_of_a_line_are_its_words() {
        for (line, left) in [
            ("git >x push o", "git push o"),
            (">x git push", "git push"),
            ("git push>x", "git push"),
            ("git 2>/dev/null 10>> a.txt push", "git push"),
            ("git &>x push", "git push"),
            ("git {f}>x push", "git push"),
            ("git <<<x push", "git push"),
            ("git <<< 'a b'\"c d\" push", "git push"),
            ("git <<-'E' push\nE", "git push E"),
            ("git < $(echo a b) push", "git push"),
            ("git >\"$(echo 'a b')\" push", "git push"),
            ("git >`echo a b` push", "git push"),
            ("git >${x:-a b} push", "git push"),
            ("git >|x <>y >&2 2>&- push", "git push"),
            ("git >a\\ b push", "git push"),
            ("git >&-x push", "git push"),
            ("a;2>x git push", "a; git push"),
            ("a2>x push", "a2 push"),
            ("git '>x' \">y\" \\> push", "git '>x' \">y\" \\> push"),
            ("cat <(git push)", "cat <(git push)"),
            ("git >", "git"),
            ("\u{3000}2>x git", "\u{3000} git"),
        ] {
            let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
            assert_eq!(words(&without_redirections(line)), words(left), "{line}");
        }
    }
}
