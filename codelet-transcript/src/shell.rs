//! What a shell command line visibly writes. Understands as much of the shell as that takes, and when in doubt says
//! nothing: a program's captured output is no change to a file, and a name that the shell has to work out is none yet.

use std::borrow::Cow;
use std::collections::HashSet;

/// The files that a command line writes, as it names them.
pub(crate) fn written(line: &str) -> Vec<String> {
    let mut paths = Vec::new();
    for pipeline in parse(line) {
        let makes_text = pipeline
            .commands
            .first()
            .is_none_or(|first| first.words.is_empty() || is_text_tool(first.name()));
        for command in &pipeline.commands {
            if makes_text {
                paths.extend(command.outputs.iter().cloned());
            }
            match command.name() {
                "tee" if makes_text => paths.extend(operands(&command.words[1..]).map(|word| word.text.clone())),
                "sed" => paths.extend(edited_by_sed(&command.words[1..])),
                "perl" => paths.extend(edited_by_perl(&command.words[1..])),
                "apply_patch" | "applypatch" | "patch" => paths.extend(command.patched()),
                "git" if command.words.get(1).is_some_and(|word| word.text == "apply") => {
                    paths.extend(command.patched())
                }
                _ => {}
            }
        }
    }
    paths.retain(|path| is_file(path));
    let mut seen = HashSet::new();
    paths.retain(|path| seen.insert(path.clone()));
    paths.truncate(MOST_PATHS);
    paths
}

/// The files that a patch changes: in the form that `apply_patch` takes, or as a unified diff.
pub(crate) fn patched(patch: &str) -> Vec<String> {
    const HEADS: [&str; 4] = [
        "*** Add File: ",
        "*** Update File: ",
        "*** Delete File: ",
        "*** Move to: ",
    ];
    let mut paths: Vec<String> = Vec::new();
    for line in patch.lines() {
        let named = HEADS.iter().find_map(|head| line.strip_prefix(head));
        let diffed = || {
            let path = line.strip_prefix("+++ ")?.split('\t').next()?;
            Some(path.strip_prefix("b/").unwrap_or(path))
        };
        if let Some(path) = named.or_else(diffed).map(str::trim)
            && is_file(path)
            && paths.len() < MOST_PATHS
            && !paths.iter().any(|other| other == path)
        {
            paths.push(path.to_owned());
        }
    }
    paths
}

/// Files taken from one call at most.
const MOST_PATHS: usize = 200;

fn is_file(path: &str) -> bool {
    !path.is_empty() && path != "-" && !path.starts_with("/dev/") && !path.contains('\n')
}

/// Programs whose output is text that somebody composed, so that sending it to a file is writing that file. Sending
/// another program's output to a file only captures what it said.
fn is_text_tool(name: &str) -> bool {
    const TOOLS: [&str; 22] = [
        "cat", "echo", "printf", "sed", "awk", "gawk", "perl", "tr", "sort", "uniq", "jq", "yq", "base64", "cut",
        "head", "tail", "grep", "envsubst", "paste", "tee", "xxd", "git",
    ];
    TOOLS.contains(&name)
}

/// A word of a command line; `open` when the shell has to work out what it says.
#[derive(Clone, Debug, Default)]
struct Word {
    text: String,
    open: bool,
}

#[derive(Debug, Default)]
struct Command<'a> {
    words: Vec<Word>,
    outputs: Vec<String>,
    documents: Vec<&'a str>,
}

impl Command<'_> {
    fn name(&self) -> &str {
        self.words
            .first()
            .map_or("", |word| word.text.rsplit('/').next().unwrap_or_default())
    }

    fn patched(&self) -> Vec<String> {
        let given = self.documents.iter().map(|text| Cow::Borrowed(*text));
        let words = self
            .words
            .iter()
            .filter(|word| word.text.contains('\n'))
            .map(|word| Cow::Borrowed(word.text.as_str()));
        given.chain(words).flat_map(|text| patched(&text)).collect()
    }
}

#[derive(Debug, Default)]
struct Pipeline<'a> {
    commands: Vec<Command<'a>>,
}

/// Words that are no options.
fn operands(words: &[Word]) -> impl Iterator<Item = &Word> {
    words.iter().filter(|word| !word.open && !word.text.starts_with('-'))
}

fn edited_by_sed(words: &[Word]) -> Vec<String> {
    let is_flag = |word: &Word, flag: char| {
        word.text.starts_with('-')
            && !word.text.starts_with("--")
            && word.text[1..]
                .split('.')
                .next()
                .is_some_and(|flags| flags.contains(flag))
    };
    if !words
        .iter()
        .any(|word| is_flag(word, 'i') || word.text.starts_with("--in-place"))
    {
        return Vec::new();
    }
    edited(words, |word| {
        matches!(word.text.as_str(), "-e" | "-f" | "--expression" | "--file")
    })
}

fn edited_by_perl(words: &[Word]) -> Vec<String> {
    let in_place = words
        .iter()
        .any(|word| word.text.starts_with("-") && !word.text.starts_with("--") && word.text.contains('i'));
    let has_script = |word: &Word| word.text.starts_with('-') && word.text.ends_with('e');
    if !in_place || !words.iter().any(has_script) {
        return Vec::new();
    }
    edited(words, has_script)
}

/// The operands that are files: all after the script, which is the first operand unless an option brought it.
fn edited(words: &[Word], takes_script: impl Fn(&Word) -> bool) -> Vec<String> {
    let mut files = Vec::new();
    let mut has_script = false;
    let mut words = words.iter().peekable();
    while let Some(word) = words.next() {
        if takes_script(word) {
            words.next();
            has_script = true;
        } else if word.text.starts_with('-') {
            // BSD's sed takes an empty suffix as a word of its own.
            words.next_if(|next| next.text.is_empty());
        } else if !has_script {
            has_script = true;
        } else if !word.open {
            files.push(word.text.clone());
        }
    }
    files
}

/// Takes a command line apart. Quotes, here-documents and redirections are understood; substitutions are not.
fn parse(line: &str) -> Vec<Pipeline<'_>> {
    let mut parser = Parser {
        line,
        at: 0,
        pipelines: vec![Pipeline::default()],
        awaited: Vec::new(),
    };
    parser.run();
    parser.pipelines
}

struct Parser<'a> {
    line: &'a str,
    at: usize,
    pipelines: Vec<Pipeline<'a>>,
    /// Here-documents that begin on the next line: their end, whether tabs before it count for nothing, their command.
    awaited: Vec<(String, bool, (usize, usize))>,
}

impl<'a> Parser<'a> {
    fn byte(&self) -> Option<u8> {
        self.line.as_bytes().get(self.at).copied()
    }

    fn starts(&self, text: &str) -> bool {
        self.line.as_bytes()[self.at..].starts_with(text.as_bytes())
    }

    fn command(&mut self) -> &mut Command<'a> {
        let pipeline = self.pipelines.last_mut().expect("there is one from the start");
        if pipeline.commands.is_empty() {
            pipeline.commands.push(Command::default());
        }
        pipeline.commands.last_mut().expect("one was just pushed")
    }

    fn end_pipeline(&mut self) {
        if self
            .pipelines
            .last()
            .is_some_and(|pipeline| !pipeline.commands.is_empty())
        {
            self.pipelines.push(Pipeline::default());
        }
    }

    fn run(&mut self) {
        while let Some(byte) = self.byte() {
            match byte {
                b'\n' => {
                    self.at += 1;
                    self.documents();
                    self.end_pipeline();
                }
                b' ' | b'\t' | b'\r' => self.at += 1,
                b'\\' if self.starts("\\\n") => self.at += 2,
                b'#' => self.at += self.line[self.at..].find('\n').unwrap_or(self.line.len() - self.at),
                b'|' if !self.starts("||") => {
                    self.at += if self.starts("|&") { 2 } else { 1 };
                    self.command();
                    let pipeline = self.pipelines.last_mut().expect("there is one from the start");
                    pipeline.commands.push(Command::default());
                }
                b'&' if self.starts("&>") => {
                    self.at += if self.starts("&>>") { 3 } else { 2 };
                    self.word();
                }
                b'|' | b'&' | b';' | b'(' | b')' => {
                    self.at += 1;
                    self.end_pipeline();
                }
                b'<' => self.input(),
                b'>' => self.output(true),
                _ => self.plain(),
            }
        }
    }

    fn plain(&mut self) {
        // A number directly before a redirection says which stream: only what is printed counts.
        let digits = self.line.as_bytes()[self.at..]
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        if digits > 0 && matches!(self.line.as_bytes().get(self.at + digits), Some(b'>' | b'<')) {
            let is_output = &self.line[self.at..self.at + digits] == "1";
            self.at += digits;
            if self.byte() == Some(b'>') {
                return self.output(is_output);
            }
            return self.input();
        }
        let Some(word) = self.word() else {
            // Nothing that begins a word: step over the whole character.
            self.at += self.line[self.at..].chars().next().map_or(1, char::len_utf8);
            return;
        };
        let command = self.command();
        let is_prefix = command.words.is_empty()
            && (matches!(
                word.text.as_str(),
                "sudo" | "time" | "env" | "then" | "do" | "else" | "!" | "{" | "command"
            ) || word.text.split_once('=').is_some_and(|(name, _)| {
                !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
            }));
        if !is_prefix {
            command.words.push(word);
        }
    }

    fn output(&mut self, counts: bool) {
        self.at += 1;
        if matches!(self.byte(), Some(b'>' | b'|')) {
            self.at += 1;
        }
        if self.byte() == Some(b'&') {
            self.at += 1;
            self.word();
            return;
        }
        if let Some(word) = self.word()
            && counts
            && !word.open
        {
            self.command().outputs.push(word.text);
        }
    }

    fn input(&mut self) {
        if self.starts("<<<") {
            self.at += 3;
            self.word();
        } else if self.starts("<<") {
            self.at += 2;
            let strips = self.byte() == Some(b'-');
            self.at += usize::from(strips);
            if let Some(word) = self.word() {
                self.command();
                let pipeline = self.pipelines.len() - 1;
                let place = (pipeline, self.pipelines[pipeline].commands.len() - 1);
                self.awaited.push((word.text, strips, place));
            }
        } else {
            self.at += 1;
            if self.byte() == Some(b'&') {
                self.at += 1;
            }
            if self.byte() != Some(b'(') {
                self.word();
            }
        }
    }

    /// The here-documents that begin here.
    fn documents(&mut self) {
        for (end, strips, (pipeline, command)) in std::mem::take(&mut self.awaited) {
            let start = self.at;
            let mut body_end = self.line.len();
            while self.at < self.line.len() {
                let rest = &self.line[self.at..];
                let length = rest.find('\n').unwrap_or(rest.len());
                let line = rest[..length].trim_end_matches('\r');
                let line = if strips { line.trim_start_matches('\t') } else { line };
                let line_start = self.at;
                self.at = (self.at + length + 1).min(self.line.len());
                if line == end {
                    body_end = line_start;
                    break;
                }
            }
            let body = &self.line[start..body_end];
            self.pipelines[pipeline].commands[command].documents.push(body);
        }
    }

    /// The word that begins here, after blanks on the same line.
    fn word(&mut self) -> Option<Word> {
        while matches!(self.byte(), Some(b' ' | b'\t')) {
            self.at += 1;
        }
        let mut text: Vec<u8> = Vec::new();
        let mut open = false;
        let start = self.at;
        let bytes = self.line.as_bytes();
        while let Some(byte) = self.byte() {
            match byte {
                b' ' | b'\t' | b'\n' | b'\r' | b';' | b'|' | b'&' | b'<' | b'>' | b'(' | b')' => break,
                b'\'' => {
                    let body = &bytes[self.at + 1..];
                    let length = body.iter().position(|byte| *byte == b'\'').unwrap_or(body.len());
                    text.extend_from_slice(&body[..length]);
                    self.at = (self.at + length + 2).min(bytes.len());
                }
                b'"' => {
                    self.at += 1;
                    while let Some(byte) = self.byte() {
                        self.at += 1;
                        match byte {
                            b'"' => break,
                            b'\\' if matches!(self.byte(), Some(b'"' | b'\\' | b'$' | b'`')) => {
                                text.extend(self.byte());
                                self.at += 1;
                            }
                            _ => {
                                open |= matches!(byte, b'$' | b'`');
                                text.push(byte);
                            }
                        }
                    }
                }
                b'\\' => {
                    text.extend(bytes.get(self.at + 1));
                    self.at = (self.at + 2).min(bytes.len());
                }
                _ => {
                    open |= matches!(byte, b'$' | b'`' | b'*' | b'?' | b'~');
                    text.push(byte);
                    self.at += 1;
                }
            }
        }
        (self.at > start).then(|| Word {
            text: String::from_utf8_lossy(&text).into_owned(),
            open,
        })
    }
}
