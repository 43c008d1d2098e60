//! A command line, taken apart as a shell would: what this reads differently from the shell would be judged by one name
//! and run by another, so that whatever is not certain is not read at all.

use super::builtin;
use std::iter::Peekable;
use std::str::Chars;

/// A word without its quotes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Word {
    /// What it says.
    pub text: String,
    /// It begins with a `~` that the shell replaces.
    pub is_home: bool,
    /// Some of it was quoted, so that it is no number of an output.
    is_quoted: bool,
    /// The shell replaces it by the names of files.
    pub is_wild: bool,
}

impl Word {
    fn quoted(&mut self) -> &mut String {
        self.is_quoted = true;
        // Quotes before the first slash keep the shell from replacing it.
        self.is_home &= self.text.contains('/');
        &mut self.text
    }

    fn push(&mut self, c: char) {
        self.is_home |= c == '~' && self.text.is_empty() && !self.is_quoted;
        self.is_wild |= matches!(c, '*' | '?' | '[');
        self.text.push(c);
    }

    fn is_number(&self) -> bool {
        !self.is_quoted && !self.text.is_empty() && self.text.bytes().all(|byte| byte.is_ascii_digit())
    }
}

/// What separates words: in a shell, no other blank does.
pub(super) fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t')
}

/// The commands of a line; `None` where a part of it cannot be judged. A command without words is one that no pattern may
/// match.
pub(super) fn split(line: &str) -> Option<Vec<Vec<Word>>> {
    // Some shells use them to mark what they have quoted, and nobody sees them.
    if line.chars().any(|c| c.is_control() && !matches!(c, '\t' | '\n')) {
        return None;
    }
    let mut commands = Vec::new();
    let mut words: Vec<Word> = Vec::new();
    let mut word: Option<Word> = None;
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\'' => {
                let text = word.get_or_insert_default().quoted();
                loop {
                    match chars.next()? {
                        '\'' => break,
                        inner => text.push(inner),
                    }
                }
            }
            '"' => {
                let text = word.get_or_insert_default().quoted();
                loop {
                    match chars.next()? {
                        '"' => break,
                        '$' | '`' => return None,
                        // Before other characters it stands for itself.
                        '\\' => match chars.next()? {
                            '\n' => {}
                            escaped @ ('$' | '`' | '"' | '\\') => text.push(escaped),
                            other => text.extend(['\\', other]),
                        },
                        inner => text.push(inner),
                    }
                }
            }
            '\\' => match chars.next()? {
                '\n' => {}
                next => word.get_or_insert_default().quoted().push(next),
            },
            '$' | '`' | '(' | ')' | '{' | '}' | '<' | '!' => return None,
            '#' if word.is_none() => return None,
            '>' => {
                let number = word.take_if(|word| word.is_number());
                if number.is_some_and(|number| !matches!(number.text.as_str(), "1" | "2")) {
                    return None;
                }
                // Only `2>&1` and `>/dev/null` say nothing new.
                if !matches!(redirection(&mut chars)?.as_str(), "&1" | "&2" | "/dev/null") {
                    return None;
                }
            }
            '&' => {
                if chars.next() != Some('&') {
                    return None;
                }
                end(&mut commands, &mut words, &mut word)?;
            }
            '|' => {
                let _ = chars.next_if_eq(&'|');
                end(&mut commands, &mut words, &mut word)?;
            }
            ';' | '\n' => {
                if end(&mut commands, &mut words, &mut word).is_none() && c == ';' {
                    return None;
                }
            }
            c if is_blank(c) => words.extend(word.take()),
            // It looks as if it separated words, and does not.
            c if c.is_whitespace() => return None,
            c => word.get_or_insert_default().push(c),
        }
    }
    // A line may end in `;` or a line end, so nothing need stand there.
    let _ = end(&mut commands, &mut words, &mut word);
    Some(commands)
}

fn redirection(chars: &mut Peekable<Chars<'_>>) -> Option<String> {
    while chars.next_if_eq(&' ').is_some() {}
    let mut target = String::new();
    while let Some(c) = chars.next_if(|c| c.is_alphanumeric() || matches!(c, '&' | '/' | '.' | '-' | '_')) {
        target.push(c);
    }
    match chars.peek() {
        None => Some(target),
        Some(&c) if is_blank(c) || matches!(c, '\n' | ';' | '|') => Some(target),
        Some(_) => None,
    }
}

/// A command ends here; `None` if there is none.
fn end(commands: &mut Vec<Vec<Word>>, words: &mut Vec<Word>, word: &mut Option<Word>) -> Option<()> {
    words.extend(word.take());
    let command = std::mem::take(words);
    command.first()?;
    // Nothing runs by it, so there is nothing that a pattern could speak of.
    if builtin::only_says_how(&command) {
        return Some(());
    }
    let run = builtin::behind_keywords(&command);
    // An assignment may set what the command means by other words, and a wildcard is whichever file there is.
    let is_open = run
        .first()
        .is_some_and(|first| first.text.contains('=') || (first.is_wild && first.text != "["))
        || builtin::is_unbounded(run);
    commands.push(if is_open { Vec::new() } else { command });
    Some(())
}

#[cfg(test)]
mod tests {
    use crate::permission::allows;

    fn may(patterns: &[&str], line: &str) -> bool {
        allows(&patterns.iter().map(|&p| p.to_owned()).collect::<Vec<_>>(), line)
    }

    #[test]
    fn no_blank_but_space_and_tab_separates_words() {
        let others = "\u{a0}\u{85}\u{1680}\u{2000}\u{2003}\u{2009}\u{200a}\u{2028}\u{2029}\u{202f}\u{205f}\u{3000}\u{b}\u{c}\r\u{1}\u{7f}\u{1b}";
        for other in others.chars() {
            for line in [
                format!("./ok.sh{other}evil"),
                format!("./ok.sh{other}"),
                format!("{other}./ok.sh"),
                format!("./ok.sh a && ./ok.sh{other}evil"),
                format!("./ok.sh >/dev/null{other}evil"),
                format!("./ok.sh 2>&1{other}evil"),
                format!("'./ok.sh{other}evil'"),
                format!("\"./ok.sh{other}evil\""),
                format!("./ok.sh\\{other}evil"),
            ] {
                assert!(!may(&["./ok.sh *"], &line), "{line:?}");
                assert!(!may(&["./ok.sh"], &line), "{line:?}");
            }
        }
        for line in [
            "./ok.sh\tevil",
            "./ok.sh  evil",
            "\t./ok.sh",
            "./ok.sh 'a\u{a0}b'",
            "./ok.sh \u{200b}",
        ] {
            assert!(may(&["./ok.sh *"], line), "{line:?}");
        }
        // A pattern's words are those of a shell, too.
        assert!(!may(&["./ok.sh\u{a0}evil *"], "./ok.sh evil"));
        assert!(!may(&["./ok.sh\u{2003}*"], "./ok.sh evil"));
        assert!(may(&[" ./ok.sh\t* \r\n"], "./ok.sh evil"));
    }

    #[test]
    fn a_program_is_known_by_what_the_shell_makes_of_its_name() {
        for line in [
            // In double quotes, these backslashes stay.
            r#""./ok\.sh""#,
            r#""./o\k.sh""#,
            r#"./ok"\.sh""#,
            r#"./ok.sh "" && "./ok\.sh""#,
            "$'./ok.sh'",
            "$\"./ok.sh\"",
            "\"./ok\"$'.sh'",
            "./ok{.sh,x}",
            "./ok.{sh,x}",
            "./ok.s?",
            "./ok*",
            "./[o]k.sh",
            "<(./ok.sh)",
            "./ok.sh <(evil)",
            "./ok.sh >(evil)",
            "./ok.sh <evil",
            "./ok.sh <<<evil",
            "./ok.sh <<E\nE",
            "!!",
            "./ok.sh !$",
            "alias x=./ok.sh; x",
            "./ok.sh; alias ./ok.sh=evil",
            "./ok.sh() { evil; }",
            "function ./ok.sh { evil; }",
            "./ok.sh \\",
            "./ok.sh &",
            "./ok.sh |& evil",
            "./ok.sh 3>/dev/null",
            "./ok.sh >|/dev/null",
            "./ok.sh >>/dev/null",
            "./ok.sh &>/dev/null",
            "./ok.sh >/dev/null/../../evil",
            "./ok.sh 2>&1x",
            "if ./ok.sh; then evil; fi",
            "time ./ok.sh",
            "exec ./ok.sh",
            "coproc ./ok.sh",
            "x+=1 ./ok.sh",
            "x[0]=1 ./ok.sh",
            "./ok.sh=1 evil",
            "~/ok.sh",
            "./ok.sh\\ evil",
            "./ok.sh' 'evil",
            "./ok.sh\"\nevil\"",
            "./OK.sh",
            "././ok.sh",
            "'' ./ok.sh",
        ] {
            assert!(!may(&["./ok.sh *"], line), "{line}");
        }
        for line in [
            r#""./ok.sh" "\d+" "a\\b""#,
            r"./o\k.sh a\ b",
            "./o\\\nk.sh",
            "\"./o\\\nk.sh\"",
            "./ok.sh *.rs src/[ab]?",
            "./ok.sh ~/x a=b",
            "./ok.sh 2>/dev/null | ./ok.sh 1>&2",
            "./ok.sh 'x' '!' '$(x)'",
        ] {
            assert!(may(&["./ok.sh *"], line), "{line}");
        }
    }

    #[test]
    fn quotes_say_what_is_no_number_no_wildcard_and_no_home() {
        // A number in quotes is an argument.
        assert!(may(&["x"], "x 2>/dev/null"));
        assert!(!may(&["x"], "x '2'>/dev/null"));
        assert!(!may(&["x"], "x \\2>/dev/null"));
        assert!(may(&["~/bin/x *"], "~/bin/x y"));
        assert!(may(&["~/bin/x *"], "~/'bin'/x y"));
        for line in [
            "'~/bin/x'",
            "\\~/bin/x",
            "\"~\"/bin/x",
            "''~/bin/x",
            "~\"/bin/x\"",
            "~''/bin/x",
            "~\\/bin/x",
        ] {
            assert!(!may(&["~/bin/x *"], line), "{line}");
        }
        assert!(may(&["[ *"], "[ -e x ]"));
        assert!(!may(&["./bin/*"], "./bin/*"));
        assert!(may(&["./bin/*"], "./bin/'*'"));
    }
}
