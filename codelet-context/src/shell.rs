//! A command line as the commands that it runs: enough of a shell's grammar to see which program is run, whose status the
//! line ends with, and where its output goes. What a line of PowerShell or of `cmd` says is understood, too, as far as its
//! words can be told from those of a shell.

use crate::word_list::is_in;
use crate::wrapped::is_windows_path;
use std::str::Chars;

/// How much of a line is looked at, in bytes; what follows is text that a command is fed with.
const LONGEST: usize = 1024 * 1024;
/// Parentheses in parentheses that are followed.
const DEEPEST: usize = 64;

/// One program with its arguments.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Simple {
    /// The words, unquoted. What a `$(…)` stands for is unknown and stays as written. A line that only opens a file runs
    /// `:`, which does nothing.
    pub words: Vec<String>,
    /// For each word: the shell has to work out what it says.
    pub open: Vec<bool>,
    /// The files that its output is written to, where the shell has nothing to work out.
    pub outputs: Vec<String>,
    /// The file that it is fed with, where the shell has nothing to work out.
    pub input: Option<String>,
    /// The texts that it is fed with.
    pub documents: Vec<Document>,
    /// What joins it to the next.
    pub then: Next,
}

/// A text in the lines below a command, which is fed with it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Document {
    /// What it says.
    pub text: String,
    /// Where it begins in the line, in bytes.
    pub start: usize,
    /// Where the line goes on, behind what ends the text.
    pub end: usize,
    /// The number of the first command there.
    pub next: usize,
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

/// A parenthesis around commands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Sign {
    Opens,
    Closes,
}

/// A line as its commands.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Commands {
    /// In the order in which they are written; groups in parentheses are opened.
    pub list: Vec<Simple>,
    /// The parentheses around them, each with the number of the command that it stands before; nothing if they cannot be
    /// told.
    pub signs: Option<Vec<(usize, Sign)>>,
}

/// The commands of a line.
pub(crate) fn commands(line: &str) -> Commands {
    let line = &line[..line.floor_char_boundary(LONGEST.min(line.len()))];
    let mut reader = Reader {
        chars: Letters(line.chars()),
        length: line.len(),
        commands: Vec::new(),
        command: Simple::default(),
        word: None,
        is_quoted: false,
        is_open: false,
        may_be_path: true,
        target: Target::None,
        here_documents: Vec::new(),
        signs: Some(Vec::new()),
        open: Vec::new(),
    };
    reader.read();
    Commands {
        list: reader.commands,
        signs: reader.signs.filter(|_| reader.open.is_empty()),
    }
}

/// What the next word is, where it is no argument.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Target {
    None,
    /// A file that is read, or that says nothing of what was printed.
    File,
    /// A file that the output is written to.
    Output,
    /// A file that standard input is read from.
    Input,
    /// The end of a text that stands in the lines below, and whether it may stand behind tabs.
    HereDocument(bool),
}

/// The letters of a line, of which the next may be looked at.
struct Letters<'a>(Chars<'a>);

impl Letters<'_> {
    fn next(&mut self) -> Option<char> {
        self.0.next()
    }

    fn rest(&self) -> &str {
        self.0.as_str()
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
    /// Bytes of the whole line.
    length: usize,
    commands: Vec<Simple>,
    /// The one that is read.
    command: Simple,
    word: Option<String>,
    is_quoted: bool,
    is_open: bool,
    /// All of the word so far may stand in a path.
    may_be_path: bool,
    target: Target,
    /// Here-documents that begin on the next line: their end, whether it may stand behind tabs, and their command.
    here_documents: Vec<(String, bool, usize)>,
    /// The parentheses so far, if they can be told.
    signs: Option<Vec<(usize, Sign)>>,
    /// For each parenthesis that is not closed yet: commands stand in it, and not the names of a list or nothing.
    open: Vec<bool>,
}

impl<'a> Reader<'a> {
    fn read(&mut self) {
        while let Some(c) = self.chars.next() {
            match c {
                '\\' if self.is_separator() => self.push('\\'),
                '\\' => match self.chars.next() {
                    Some('\n') | None => {}
                    Some(escaped) => self.push_quoted(escaped),
                },
                '\'' | '"' if self.begins_here_string() => self.here_string(c),
                '\'' => self.single_quoted(),
                '"' => self.double_quoted(),
                // PowerShell goes on below.
                '`' if self.chars.next_if_eq('\n').is_some() => self.end_word(),
                '`' => {
                    self.is_open = true;
                    self.until('`');
                }
                '$' => {
                    self.is_open = true;
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
                // PowerShell runs what follows.
                '&' if self.command.words.is_empty() && self.word.is_none() => {}
                '&' => self.end_command(Next::Background),
                '|' if self.chars.next_if_eq('|').is_some() => self.end_command(Next::Or),
                '|' => {
                    self.chars.next_if_eq('&');
                    self.end_command(Next::Pipe);
                }
                ';' => self.end_command(Next::Then),
                '\n' => {
                    self.end_command(Next::Then);
                    self.here_documents();
                }
                '(' | ')' => {
                    self.end_word();
                    self.sign(c);
                }
                c if c.is_whitespace() => self.end_word(),
                c => {
                    self.is_open |= matches!(c, '*' | '?') || c == '~' && self.word.is_none();
                    self.push(c);
                }
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

    /// Notes a parenthesis. A `)` without a `(` is that of a `case`, or of a grammar that is not a shell's.
    fn sign(&mut self, c: char) {
        const BEFORE_COMMANDS: &str = "if then elif else do while until { ! time";
        let Some(signs) = self.signs.as_mut().filter(|_| self.target == Target::None) else {
            return;
        };
        let words = &self.command.words;
        if c == '(' {
            let is_first = words.len() <= DEEPEST && words.iter().all(|word| is_in(word, BEFORE_COMMANDS));
            self.open.push(is_first);
            if is_first {
                signs.push((self.commands.len(), Sign::Opens));
            }
        } else {
            match self.open.pop() {
                Some(true) => {
                    let is_behind = !words.is_empty() || !self.command.outputs.is_empty();
                    signs.push((self.commands.len() + usize::from(is_behind), Sign::Closes));
                }
                Some(false) => {}
                None => self.signs = None,
            }
        }
        if self.open.len() > DEEPEST {
            self.signs = None;
        }
    }

    fn push(&mut self, c: char) {
        let may_be_in_path =
            c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | ':' | '\\' | '/' | '~' | '%' | '$' | '@');
        self.may_be_path &= may_be_in_path;
        self.word.get_or_insert_default().push(c);
    }

    fn push_quoted(&mut self, c: char) {
        self.is_quoted = true;
        self.push(c);
    }

    /// Whether a `\` stands between the folders of a path of Windows, as before a letter in a word that may be a path;
    /// elsewhere it takes the meaning from what follows.
    fn is_separator(&self) -> bool {
        let (Some(word), Some(next)) = (&self.word, self.chars.peek()) else {
            return false;
        };
        let is_drive =
            |word: &str| word.len() >= 2 && word.as_bytes()[0].is_ascii_alphabetic() && word[1..].starts_with(':');
        let is_sure = || is_drive(word) || matches!(word.as_str(), "." | "..") || is_windows_path(word);
        match next {
            '\n' => false,
            c if c.is_alphanumeric() || c == '_' => self.may_be_path,
            '.' | ' ' | '"' | '\'' | '*' | '$' | '%' => is_sure(),
            _ => false,
        }
    }

    /// Whether the quotation mark that was read begins a text of PowerShell that ends at the start of a line.
    fn begins_here_string(&self) -> bool {
        self.word.as_deref() == Some("@") && self.chars.rest().trim_start_matches('\r').starts_with('\n')
    }

    fn here_string(&mut self, mark: char) {
        let rest = self.chars.0.as_str();
        let end = rest.find(&format!("\n{mark}@"));
        let (text, rest) = match end {
            Some(at) => (&rest[..at], &rest[at + 3..]),
            None => (rest, ""),
        };
        self.is_quoted = true;
        self.word = Some(text.to_owned());
        self.chars = Letters(rest.chars());
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
                // `"C:\dir\"`: as nothing else is quoted, the quotation ends here.
                '\\' if self.chars.peek() == Some('"') && self.word.as_deref().is_some_and(is_windows_path) => {
                    self.push('\\');
                }
                '\\' => match self.chars.next_if(|c| matches!(c, '"' | '\\' | '$' | '`' | '\n')) {
                    Some('\n') => {}
                    Some(escaped) => self.push(escaped),
                    None => self.push('\\'),
                },
                '$' if self.chars.next_if_eq('(').is_some() => {
                    self.is_open = true;
                    self.push('$');
                    self.push('(');
                    self.parentheses();
                }
                c => {
                    self.is_open |= matches!(c, '$' | '`');
                    self.push(c);
                }
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
        let is_descriptor = !self.is_quoted
            && self
                .word
                .as_ref()
                .is_some_and(|word| word.bytes().all(|b| b.is_ascii_digit()));
        let descriptor = if is_descriptor { self.word.take() } else { None };
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
                    self.target = Target::HereDocument(self.chars.next_if_eq('-').is_some());
                }
                return;
            }
        }
        let joined = self.chars.next_if(|c| matches!(c, '>' | '|' | '&'));
        if sign == '>' && joined != Some('&') && descriptor.as_ref().is_none_or(|number| number == "1") {
            self.target = Target::Output;
        } else if sign == '<' && joined.is_none() && descriptor.is_none_or(|number| number == "0") {
            self.target = Target::Input;
        }
    }

    fn end_word(&mut self) {
        self.is_quoted = false;
        self.may_be_path = true;
        let is_open = std::mem::take(&mut self.is_open);
        let Some(word) = self.word.take() else { return };
        match std::mem::replace(&mut self.target, Target::None) {
            Target::None => {
                self.command.words.push(word);
                self.command.open.push(is_open);
            }
            Target::Output if !is_open => self.command.outputs.push(word),
            Target::Input if !is_open => self.command.input = Some(word),
            Target::Output | Target::Input | Target::File => {}
            Target::HereDocument(strips) => self.here_documents.push((word, strips, self.commands.len())),
        }
    }

    fn end_command(&mut self, then: Next) {
        self.end_word();
        self.target = Target::None;
        let mut command = std::mem::take(&mut self.command);
        if command.words.is_empty() && !command.outputs.is_empty() {
            command.words.push(":".to_owned());
            command.open.push(false);
        }
        if !command.words.is_empty() {
            self.commands.push(Simple { then, ..command });
        } else if let (Some(last), true) = (self.commands.last_mut(), then != Next::End) {
            // `(a) | b`, or an empty line after `a &&`: the stronger sign joins.
            if last.then == Next::Then {
                last.then = then;
            }
        }
    }

    fn here_documents(&mut self) {
        for (end, strips, command) in std::mem::take(&mut self.here_documents) {
            let text = self.chars.0.as_str();
            let start = self.length - text.len();
            let (mut at, mut body) = (0, text.len());
            while at < text.len() {
                let line = text[at..].split('\n').next().unwrap_or_default();
                let before = at;
                at = (at + line.len() + 1).min(text.len());
                let line = if strips { line.trim_start_matches('\t') } else { line };
                if line.trim_end() == end {
                    body = before;
                    break;
                }
            }
            let next = self.commands.len();
            if let Some(command) = self.commands.get_mut(command) {
                command.documents.push(Document {
                    text: text[..body].to_owned(),
                    start,
                    end: start + at,
                    next,
                });
            }
            self.chars = Letters(text[at..].chars());
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
        let commands = commands(line).list.into_iter();
        commands
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
            ("> a", ":"),
            // In a word that may be a path, `\` stands between folders; elsewhere it quotes.
            (".\\gradlew.bat test", ".\\gradlew.bat·test"),
            ("venv\\Scripts\\python.exe -m a", "venv\\Scripts\\python.exe·-m·a"),
            ("cd C:\\my\\ && dir ..\\.x", "cd·C:\\my\\ && dir·..\\.x"),
            ("& \"C:\\Program Files\\x.exe\" test", "C:\\Program Files\\x.exe·test"),
            ("cd \"C:\\a b\\\" ; & x", "cd·C:\\a b\\ ; x"),
            ("rm my\\ file \\*.rs a\\(1\\)", "rm·my file·*.rs·a(1)"),
            ("\\rm x; echo \"a\\nb \\\" c\"", "rm·x ; echo·a\\nb \" c"),
            ("npm test `\n -- x", "npm·test·--·x"),
            ("@'\nit's; x\n'@ | Set-Content a", "\nit's; x | Set-Content·a"),
            (";;; && |", ""),
        ];
        for (line, expected) in table {
            assert_eq!(shown(line), expected, "{line}");
        }
    }

    proptest! {
        #[test]
        fn no_line_is_too_odd(line in r#"[a-cC: $()'"`\\<>|&;#\n0-9é@-]{0,80}"#) {
            let commands = commands(&line);
            let signs = commands.signs.unwrap_or_default();
            prop_assert!(signs.is_sorted_by_key(|(before, _)| *before));
            prop_assert!(signs.iter().all(|(before, _)| *before <= commands.list.len()));
            for command in commands.list {
                prop_assert!(!command.words.is_empty());
                prop_assert_eq!(command.words.len(), command.open.len());
            }
        }
    }

    #[test]
    fn a_long_line_takes_linear_time() {
        for piece in ["$(", "(", "<<E\n", "'", "a;", "\\", "@'\n", "a\\b", "> a"] {
            commands(&piece.repeat(200_000));
        }
    }
}
