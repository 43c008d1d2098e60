//! A command line as the commands that it runs: enough of a shell's grammar to see which program is run, and whose
//! status the line ends with.

use std::str::Chars;

/// How much of a line is looked at, in bytes; what follows is text that a command is fed with.
const LONGEST: usize = 64 * 1024;

/// One program with its arguments. Redirections, comments and the text of here-documents are left out.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Simple {
    /// The words, unquoted. What a `$(…)` stands for is unknown and stays as written.
    pub words: Vec<String>,
    /// What joins it to the next.
    pub then: Next,
}

/// What joins a command to the next one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Next {
    /// Nothing follows.
    #[default]
    End,
    /// `;` or a new line.
    Then,
    /// `&&`
    And,
    /// `||`
    Or,
    /// `|`
    Pipe,
    /// `&`
    Background,
}

/// The commands of a line, in the order in which they are written; groups in parentheses are opened.
pub(crate) fn commands(line: &str) -> Vec<Simple> {
    let mut reader = Reader {
        chars: Letters(line[..line.floor_char_boundary(LONGEST.min(line.len()))].chars()),
        commands: Vec::new(),
        words: Vec::new(),
        word: None,
        is_quoted: false,
        target: Target::None,
        here_documents: Vec::new(),
    };
    reader.read();
    reader.commands
}

/// What the next word is, where it is no argument.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Target {
    None,
    File,
    HereDocument,
}

/// The letters of a line, of which the next may be looked at.
struct Letters<'a>(Chars<'a>);

impl Letters<'_> {
    fn next(&mut self) -> Option<char> {
        self.0.next()
    }

    fn peek(&self) -> Option<char> {
        self.0.clone().next()
    }

    fn next_if(&mut self, is_wanted: impl FnOnce(char) -> bool) -> Option<char> {
        let c = self.peek().filter(|c| is_wanted(*c))?;
        self.0.next();
        Some(c)
    }

    fn next_if_eq(&mut self, wanted: char) -> Option<char> {
        self.next_if(|c| c == wanted)
    }
}

struct Reader<'a> {
    chars: Letters<'a>,
    commands: Vec<Simple>,
    words: Vec<String>,
    word: Option<String>,
    is_quoted: bool,
    target: Target,
    here_documents: Vec<String>,
}

impl Reader<'_> {
    fn read(&mut self) {
        while let Some(c) = self.chars.next() {
            match c {
                '\\' => match self.chars.next() {
                    Some('\n') | None => {}
                    Some(escaped) => self.push_quoted(escaped),
                },
                '\'' => self.single_quoted(),
                '"' => self.double_quoted(),
                '`' => self.until('`'),
                '$' => {
                    self.push('$');
                    if self.chars.next_if_eq('(').is_some() {
                        self.push('(');
                        self.parentheses();
                    }
                }
                '#' if self.word.is_none() => while self.chars.next_if(|c| c != '\n').is_some() {},
                '>' | '<' => self.redirection(c),
                '&' if self.chars.peek() == Some('>') => self.end_word(),
                '&' if self.chars.next_if_eq('&').is_some() => self.end_command(Next::And),
                '&' => self.end_command(Next::Background),
                '|' if self.chars.next_if_eq('|').is_some() => self.end_command(Next::Or),
                '|' => {
                    self.chars.next_if_eq('&');
                    self.end_command(Next::Pipe);
                }
                ';' => self.end_command(Next::Then),
                '\n' => {
                    self.end_command(Next::Then);
                    self.skip_here_documents();
                }
                '(' | ')' => self.end_word(),
                c if c.is_whitespace() => self.end_word(),
                c => self.push(c),
            }
        }
        self.end_command(Next::End);
        if let Some(last) = self.commands.last_mut() {
            // A closing `;` or new line joins nothing.
            if last.then == Next::Then {
                last.then = Next::End;
            }
        }
    }

    fn push(&mut self, c: char) {
        self.word.get_or_insert_default().push(c);
    }

    fn push_quoted(&mut self, c: char) {
        self.is_quoted = true;
        self.push(c);
    }

    fn single_quoted(&mut self) {
        self.is_quoted = true;
        self.word.get_or_insert_default();
        while let Some(c) = self.chars.next_if(|c| c != '\'') {
            self.push(c);
        }
        self.chars.next();
    }

    fn double_quoted(&mut self) {
        self.is_quoted = true;
        self.word.get_or_insert_default();
        while let Some(c) = self.chars.next() {
            match c {
                '"' => return,
                '\\' => {
                    if let Some(escaped) = self.chars.next() {
                        self.push(escaped);
                    }
                }
                '$' if self.chars.next_if_eq('(').is_some() => {
                    self.push('$');
                    self.push('(');
                    self.parentheses();
                }
                c => self.push(c),
            }
        }
    }

    fn until(&mut self, end: char) {
        self.push(end);
        while let Some(c) = self.chars.next_if(|c| c != end) {
            self.push(c);
        }
        self.chars.next();
        self.push(end);
    }

    /// The rest of a substitution, whose opening parenthesis is read. Counted, not nested, so depth costs nothing.
    fn parentheses(&mut self) {
        let mut depth = 1;
        while let Some(c) = self.chars.next() {
            self.push(c);
            match c {
                '(' => depth += 1,
                ')' => depth -= 1,
                '\\' => {
                    if let Some(escaped) = self.chars.next() {
                        self.push(escaped);
                    }
                }
                '\'' => {
                    while let Some(c) = self.chars.next_if(|c| c != '\'') {
                        self.push(c);
                    }
                    self.chars.next();
                }
                _ => {}
            }
            if depth == 0 {
                return;
            }
        }
    }

    fn redirection(&mut self, sign: char) {
        // `2>` names a descriptor, which is no argument.
        if !self.is_quoted
            && self
                .word
                .as_ref()
                .is_some_and(|word| word.bytes().all(|b| b.is_ascii_digit()))
        {
            self.word = None;
        }
        self.end_word();
        self.target = Target::File;
        if sign == '<' {
            if self.chars.next_if_eq('(').is_some() {
                self.push('(');
                self.parentheses();
                self.end_word();
                return;
            }
            if self.chars.next_if_eq('<').is_some() {
                if self.chars.next_if_eq('<').is_none() {
                    self.target = Target::HereDocument;
                    self.chars.next_if_eq('-');
                }
                return;
            }
        }
        self.chars.next_if(|c| matches!(c, '>' | '|' | '&'));
    }

    fn end_word(&mut self) {
        self.is_quoted = false;
        let Some(word) = self.word.take() else { return };
        match std::mem::replace(&mut self.target, Target::None) {
            Target::None => self.words.push(word),
            Target::File => {}
            Target::HereDocument => self.here_documents.push(word),
        }
    }

    fn end_command(&mut self, then: Next) {
        self.end_word();
        self.target = Target::None;
        let words = std::mem::take(&mut self.words);
        if !words.is_empty() {
            self.commands.push(Simple { words, then });
        } else if let (Some(last), true) = (self.commands.last_mut(), then != Next::End) {
            // `(a) | b`, or an empty line after `a &&`: the stronger sign joins.
            if last.then == Next::Then {
                last.then = then;
            }
        }
    }

    fn skip_here_documents(&mut self) {
        for delimiter in std::mem::take(&mut self.here_documents) {
            loop {
                let rest = self.chars.0.as_str();
                let (line, rest, is_last) = match rest.split_once('\n') {
                    Some((line, rest)) => (line, rest, false),
                    None => (rest, "", true),
                };
                self.chars = Letters(rest.chars());
                if is_last || line.trim() == delimiter {
                    break;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shown(line: &str) -> String {
        let sign = |next| match next {
            Next::End => "",
            Next::Then => " ; ",
            Next::And => " && ",
            Next::Or => " || ",
            Next::Pipe => " | ",
            Next::Background => " & ",
        };
        commands(line)
            .iter()
            .map(|command| command.words.join("·") + sign(command.then))
            .collect()
    }

    #[test]
    fn a_line_is_split_as_a_shell_would() {
        let table = [
            ("", ""),
            ("cargo test", "cargo·test"),
            ("cd a && cargo test 2>&1 | tail -5", "cd·a && cargo·test | tail·-5"),
            ("a; b\nc &", "a ; b ; c & "),
            ("a ||b", "a || b"),
            ("echo 'cargo test; b' \"x && y\" z\\ z", "echo·cargo test; b·x && y·z z"),
            ("(cd x; make) | tee log", "cd·x ; make | tee·log"),
            ("a > out.txt 2>/dev/null < in", "a"),
            ("a &> log", "a"),
            ("a 2>& 1", "a"),
            ("a <<< 'text' b", "a·b"),
            ("a # && b", "a"),
            ("a#b", "a#b"),
            (
                "echo \"$(cat a | b)\" $(c; d) `e; f`",
                "echo·$(cat a | b)·$(c; d)·`e; f`",
            ),
            ("cat > f <<'EOF'\ncargo test\nEOF\nmake", "cat ; make"),
            ("cat <<-A <<B\nx\n\tA\ny\nB\nz", "cat ; z"),
            ("cat <<EOF\nnever closed", "cat"),
            ("a \\\n b", "a·b"),
            ("'never closed", "never closed"),
            ("diff <(a | b) c", "diff·c"),
            (";;; && |", ""),
        ];
        for (line, expected) in table {
            assert_eq!(shown(line), expected, "{line}");
        }
    }

    proptest! {
        #[test]
        fn no_line_is_too_odd(line in r#"[a-c $()'"`\\<>|&;#\n0-9é-]{0,80}"#) {
            for command in commands(&line) {
                prop_assert!(!command.words.is_empty());
            }
        }
    }

    #[test]
    fn a_long_line_takes_linear_time() {
        for piece in ["$(", "(", "<<E\n", "'", "a;", "\\"] {
            commands(&piece.repeat(200_000));
        }
    }
}
