//! A command line, read once: its commands with the folder that each runs in, and what follows from them.

use crate::attempt::Attempt;
use crate::authored::{self, Scripted};
use crate::commits::{self, Step};
use crate::effects::{self, Effect};
use crate::look::{self, Look};
use crate::path::Folder;
use crate::shell::{self, Next, Simple};
use crate::testrun::{self, Line};
use crate::word_list::is_in;
use crate::wrapped::{DEEPEST, Unwrapped, base, inner_script, unwrap};
use crate::wrappers::CALLERS;
use flow::{Flow, Outer};
use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;
use told::Told;

pub(crate) use folder::{Folders, beside, entered, parted};
pub(crate) use moves::{Move, Moves};

mod flow;
mod folder;
pub(crate) mod git;
mod moves;
mod told;

/// A command line. Clones share what was read in it.
#[derive(Clone)]
pub struct CommandLine(Arc<Read>);

struct Read {
    text: Box<str>,
    said: Arc<Line>,
    effects: Vec<Effect>,
    look: Option<Look>,
    commits: Vec<Step>,
    /// Where it is not the whole line.
    told: Option<Box<str>>,
    attempt: Attempt,
    moves: Moves,
    scripts: Vec<(String, bool)>,
    scripted: Option<Box<Scripted>>,
}

impl CommandLine {
    /// Reads a line, in time proportional to its length.
    pub fn new(line: &str) -> Self {
        let script = Script::read(line);
        let Told { text: told, first } = Told::of(line, &script);
        CommandLine(Arc::new(Read {
            text: line.into(),
            said: Arc::new(Line::of(&script.commands)),
            effects: effects::effects(&script),
            look: look::look(&script),
            commits: commits::steps(&script),
            told,
            attempt: Attempt::of(&script.commands[first..]),
            scripts: testrun::scripts(&script),
            scripted: authored::read(&script),
            moves: Moves::of(script),
        }))
    }

    /// The line as it was given.
    pub fn as_str(&self) -> &str {
        &self.0.text
    }

    /// Whether it runs tests, a build, a lint or a formatter.
    pub fn runs_checks(&self) -> bool {
        !self.0.said.checks.is_empty() || self.0.said.formats
    }

    /// The checks in it, and what its end says.
    pub(crate) fn said(&self) -> &Arc<Line> {
        &self.0.said
    }

    /// What it does to files, in its order.
    pub(crate) fn effects(&self) -> &[Effect] {
        &self.0.effects
    }

    /// The first file that it prints lines of, where printing lines of files is all it does; empty if it names none.
    pub(crate) fn look(&self) -> Option<&str> {
        self.0.look.as_ref().map(|look| &*look.file)
    }

    /// Whether that is all that it prints: lines of one file, as it is.
    pub(crate) fn looks_at_one(&self) -> bool {
        self.0.look.as_ref().is_some_and(|look| look.is_at_one)
    }

    /// Whether it prints one file from its first line to its last.
    pub(crate) fn looks_at_all(&self) -> bool {
        self.0.look.as_ref().is_some_and(|look| look.is_at_all)
    }

    /// What it does to the newest commits, in its order.
    pub(crate) fn commits(&self) -> &[Step] {
        &self.0.commits
    }

    /// The line without the files that it writes before it runs something.
    pub(crate) fn told(&self) -> &str {
        self.0.told.as_ref().unwrap_or(&self.0.text)
    }

    /// What [that](Self::told) was an attempt at.
    pub(crate) fn attempt(&self) -> &Attempt {
        &self.0.attempt
    }

    /// How it moves the shell that it is typed into.
    pub(crate) fn moves(&self) -> &Moves {
        &self.0.moves
    }

    /// The scripts that it writes whose names say that they run tests, with whether they test anything.
    pub(crate) fn scripts(&self) -> &[(String, bool)] {
        &self.0.scripts
    }

    /// What it says of scripts that it writes or runs, if anything.
    pub(crate) fn scripted(&self) -> Option<&Scripted> {
        self.0.scripted.as_deref()
    }
}

/// Whether a text is a key, as harnesses write those that they send to what runs, and not the name of a program.
pub fn is_key(text: &str) -> bool {
    const KEYS: [&str; 10] = [
        "C-c", "C-d", "C-z", "C-\\", "^C", "^D", "^Z", "\u{3}", "\u{4}", "\u{1a}",
    ];
    KEYS.contains(&text.trim_matches([' ', '\n']))
}

impl Deref for CommandLine {
    type Target = str;

    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl PartialEq for CommandLine {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.as_str() == other.as_str()
    }
}

impl Eq for CommandLine {}

impl fmt::Debug for CommandLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_str().fmt(f)
    }
}

impl fmt::Display for CommandLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self)
    }
}

/// The commands of a line, or of one that a shell in it is given.
#[derive(Clone, Debug, Default)]
pub(crate) struct Script {
    /// In the order in which they are written.
    pub commands: Vec<Command>,
    /// What it does to the folder of the shell that it is typed into.
    pub moves: Vec<Move>,
}

/// A command in its place.
#[derive(Clone, Debug)]
pub(crate) struct Command {
    /// As it is written.
    pub simple: Simple,
    /// So many words are what it is wrapped in.
    front: usize,
    /// So many of these stand before the innermost wrapper; all of its words if it is wrapped in nothing.
    before_wrapper: usize,
    /// Its status is turned round.
    pub is_inverted: bool,
    /// The folder that it runs in.
    pub folder: Folder,
    /// It is run if the line succeeds.
    pub is_sure: bool,
    /// It has succeeded if the line succeeds: nothing behind it hides how it ended.
    pub is_proven: bool,
    /// It runs where the files are not those of here.
    pub is_elsewhere: bool,
    /// What it is wrapped in starts it and does not wait for it.
    pub is_left: bool,
    /// Its input is another command's output.
    pub is_piped: bool,
    /// The script that it is, where it is a shell that is given one.
    pub script: Option<Script>,
}

impl Script {
    /// The commands of a line, and of the scripts in it, down to some depth.
    pub fn read(line: &str) -> Script {
        Script::read_in(line, Outer::nothing(), 0)
    }

    fn read_in(line: &str, outer: Outer, depth: usize) -> Script {
        let parsed = shell::commands(line);
        let mut flow = Flow::new(line, &parsed, outer);
        let mut commands: Vec<Command> = Vec::with_capacity(parsed.list.len());
        let mut before = Next::Then;
        for (index, simple) in parsed.list.into_iter().enumerate() {
            let Unwrapped {
                words,
                outer,
                is_inverted,
                is_elsewhere,
                is_left,
                folders,
            } = unwrap(&simple.words);
            // Where all is elsewhere, folders are gone to there.
            let leaves = is_elsewhere;
            let is_elsewhere = is_elsewhere || flow.is_elsewhere();
            let front = simple.words.len() - words.len();
            let is_sure = flow.enter(index, &simple.words, is_inverted);
            let inner = inner_script(words).filter(|_| depth < DEEPEST);
            // What is done in a folder that a wrapper goes to is known by the name of it only.
            let folder = folders
                .iter()
                .fold(flow.at().clone(), |at, folder| at.enter(folder, false));
            let within = Outer {
                is_elsewhere,
                ..flow.outer(index, &folder, is_sure)
            };
            let script = inner.map(|inner| Script::read_in(&inner, within, depth + 1));
            let command = Command {
                front,
                before_wrapper: simple.words.len() - outer.len(),
                is_inverted,
                folder,
                is_sure,
                is_proven: flow.proves(index, is_sure),
                is_elsewhere,
                is_left,
                is_piped: before == Next::Pipe,
                script,
                simple,
            };
            before = command.simple.then;
            let name = command.name();
            if !leaves && !command.is_script() {
                flow.go(index, &command, &name);
            }
            flow.leave(index, &name, command.words(), is_sure);
            drop(name);
            commands.push(command);
        }
        Script {
            commands,
            moves: flow.moves(),
        }
    }
}

impl Command {
    /// Its words without what it is wrapped in.
    pub fn words(&self) -> &[String] {
        &self.simple.words[self.front..]
    }

    /// The same with the innermost of what it is wrapped in; nothing if it is wrapped in nothing.
    pub(crate) fn words_with_wrapper(&self) -> &[String] {
        &self.simple.words[self.before_wrapper..]
    }

    /// For each of these words, whether the shell has to work it out.
    pub fn open(&self) -> &[bool] {
        self.simple.open.get(self.front..).unwrap_or_default()
    }

    /// The number of words that it is wrapped in.
    pub fn front(&self) -> usize {
        self.front
    }

    /// Whether it is called in the way of a script of the project: `hatch run test`.
    pub fn is_called(&self) -> bool {
        let outer = self.words_with_wrapper();
        outer.first().is_some_and(|program| is_in(&base(program), CALLERS))
    }

    /// What it is wrapped in.
    pub(crate) fn wrapping(&self) -> &[String] {
        &self.simple.words[..self.front]
    }

    /// The name of its program, or nothing.
    pub fn name(&self) -> Cow<'_, str> {
        self.words().first().map_or("".into(), |program| base(program))
    }

    /// Whether it is a shell that is given a script as a word. What is evaluated is none: the folder outside of it changes
    /// with the one inside.
    pub(crate) fn is_script(&self) -> bool {
        self.script.is_some() && !self.is_piped && self.words().len() > 1
    }

    /// Whether it goes to another folder.
    pub(crate) fn goes(&self) -> bool {
        flow::is_folder_change(&self.name())
    }

    /// The words behind the first so many, with whether the shell has to work them out.
    pub fn arguments(&self, skipped: usize) -> impl Iterator<Item = (&str, bool)> {
        let open = self.simple.open.get(self.front + skipped..).unwrap_or_default();
        let words = self.words().get(skipped..).unwrap_or_default();
        words.iter().map(String::as_str).zip(open.iter().copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Action;
    use proptest::prelude::*;

    #[test]
    fn a_line_tells_all_that_is_asked_of_it_from_one_reading() {
        let line = CommandLine::new("cd app && cargo test --lib | tail -5; echo a > b.rs; git commit -m 'one'");
        assert_eq!(line.said().checks[0].scope.place.as_deref(), Some("app"));
        assert_eq!(effects::written(line.effects()), ["app/b.rs"]);
        assert_eq!((line.look(), line.commits().len()), (None, 1));
        assert_eq!(CommandLine::new("(cd app; cat a.rs)").look(), Some("app/a.rs"));
        let place = |line: &str| CommandLine::new(line).said().checks[0].scope.place.clone();
        assert_eq!(place("(cd a && make) > log; cd b && pytest").as_deref(), Some("a"));
        assert_eq!(place("(cd a && ls); pytest"), None);
        assert_eq!(
            place("pushd a; ls; popd; bash -c 'cd ./b/ && pytest'").as_deref(),
            Some("b")
        );
    }

    #[test]
    fn a_long_line_is_read_in_linear_time() {
        for piece in [
            "cd a;",
            "(cd a;",
            "make -C a; ",
            "cd a && echo b > c && ",
            "if (",
            "bash -c 'cd a' && ",
        ] {
            Action::command(&piece.repeat(200_000));
        }
        Action::command(&format!("make {}", "-C a ".repeat(200_000)));
        let (names, text) = ("test_a.py ".repeat(50_000), "x = 1\n".repeat(80_000));
        Action::command(&format!("tee {names} <<E\n{text}E\npython test_a.py"));
        let paths: String = (0..199).map(|number| format!("echo a > {number}.txt && ")).collect();
        Action::command(&format!("cd d && {paths} echo {}", "x".repeat(1_000_000)));
    }

    proptest! {
        #[test]
        fn no_line_is_too_odd(line in r#"(cd|pushd|popd|cd -|bash -c|if|fi|make -C|cat|a/b|\.\.|~|\$x|[(){}]|[ ;|&'"<>\n\\-]){0,30}"#) {
            let read = CommandLine::new(&line);
            prop_assert_eq!(&*read, line.as_str());
            for path in effects::written(read.effects()) {
                prop_assert!(!path.is_empty());
            }
        }
    }
}
