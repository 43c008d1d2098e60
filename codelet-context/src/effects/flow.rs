//! Where the commands of a line run, and whether they run for sure if the line succeeds.

use super::{Given, placed};
use crate::shell::{self, Next, Simple};
use crate::wrapped::is_in;

/// Parentheses that are looked at, and the longest line in which they are.
const MOST_SIGNS: usize = 64;
const LONGEST: usize = 64 * 1024;

/// The longest folder that is followed, and how many folders to go back to.
const LONGEST_FOLDER: usize = 4096;
const MOST_PUSHED: usize = 64;

/// What a line is run in.
pub(super) struct Outer {
    /// The folder, where it is known.
    pub at: Option<String>,
    /// The line is run.
    pub is_sure: bool,
    /// Its status is the one that is known.
    pub is_last: bool,
}

/// A parenthesis around commands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Sign {
    Opens,
    Closes,
}

/// How a line goes through its commands.
pub(super) struct Flow<'a> {
    commands: &'a [Simple<'a>],
    outer: Outer,
    at: Option<String>,
    /// Folders to go back to.
    pushed: Vec<Option<String>>,
    /// Where the list of commands began that `&` would send to the background.
    list_at: Option<String>,
    /// The parentheses, each with the command that it stands before; nothing if they cannot be told.
    signs: Option<Vec<(usize, Sign)>>,
    /// How many of them are behind.
    passed: usize,
    groups: Vec<(Option<String>, Vec<Option<String>>)>,
    /// Braces are the bodies of functions.
    has_functions: bool,
    /// Conditions, loops and bodies around the command.
    blocks: usize,
    /// Behind `&&` in its list, or behind `||`.
    is_behind_and: bool,
    is_behind_or: bool,
    is_over: bool,
    /// From this command on, a line that succeeds says that all were run.
    told_from: usize,
    /// The same where a command's own status is asked for, which no pipe hides.
    given_from: usize,
}

impl<'a> Flow<'a> {
    pub(super) fn new(line: &str, commands: &'a [Simple<'a>], outer: Outer) -> Self {
        let changes_folder = commands
            .iter()
            .any(|command| command.words.iter().any(|word| is_folder_change(word)));
        let signs = if changes_folder { signs(line) } else { Some(Vec::new()) };
        let is_grouped = line.contains(['(', '{']);
        let from = |keeps: &dyn Fn(Next) -> bool| {
            let last = commands.iter().rposition(|command| !keeps(command.then));
            last.map_or(0, |last| last + 1)
        };
        let is_given = |next| matches!(next, Next::And | Next::End);
        Flow {
            // `(a && b) | c` ends with the status of c.
            told_from: from(&|next| is_given(next) || next == Next::Pipe && !is_grouped),
            given_from: from(&is_given),
            commands,
            at: outer.at.clone(),
            list_at: outer.at.clone(),
            outer,
            pushed: Vec::new(),
            signs,
            passed: 0,
            groups: Vec::new(),
            has_functions: line.contains("()"),
            blocks: 0,
            is_behind_and: false,
            is_behind_or: false,
            is_over: false,
        }
    }

    /// The folder, where it is known.
    pub(super) fn at(&self) -> Option<String> {
        self.at.clone()
    }

    /// What a script runs in that this command is given.
    pub(super) fn outer(&self, index: usize, is_sure: bool) -> Outer {
        Outer {
            at: self.at(),
            is_sure,
            is_last: self.outer.is_last && index >= self.given_from,
        }
    }

    /// Goes to a command, and says whether it is run for sure if the line succeeds.
    pub(super) fn enter(&mut self, index: usize, is_inverted: bool) -> bool {
        while let Some(&(before, sign)) = self.signs.as_ref().and_then(|signs| signs.get(self.passed))
            && before <= index
        {
            self.passed += 1;
            match sign {
                Sign::Opens => self.groups.push((self.at.clone(), self.pushed.clone())),
                Sign::Closes => {
                    if let Some(saved) = self.groups.pop() {
                        (self.at, self.pushed) = saved;
                    }
                }
            }
        }
        self.open_blocks(&self.commands[index].words);
        let is_told = self.outer.is_last && index >= self.told_from;
        self.outer.is_sure
            && self.blocks == 0
            && !self.is_over
            && !is_inverted
            && !self.is_behind_or
            && (is_told || !self.is_behind_and)
    }

    fn open_blocks(&mut self, words: &[String]) {
        let mut is_first = true;
        for word in words {
            match &**word {
                "if" | "while" | "until" | "for" | "case" | "select" | "foreach" | "begin" if is_first => {
                    self.blocks += 1;
                }
                "fi" | "done" | "esac" | "end" if is_first => self.blocks = self.blocks.saturating_sub(1),
                "then" | "elif" | "else" | "do" | "!" | "time" if is_first => {}
                "{" if is_first && !self.has_functions && self.blocks == 0 => {}
                _ => {
                    let is_brace = word.starts_with(['{', '}']) || word.ends_with('{');
                    if is_brace && !word.contains([' ', '\n']) {
                        let count = |sign| word.bytes().filter(|b| *b == sign).count();
                        self.blocks = (self.blocks + count(b'{')).saturating_sub(count(b'}'));
                    }
                    is_first = false;
                }
            }
        }
    }

    /// Changes the folder as the command does.
    pub(super) fn go(&mut self, given: &Given, name: &str, is_sure: bool) {
        if name == "popd" || name == "pop-location" {
            self.at = self.pushed.pop().flatten().filter(|_| is_sure);
            return;
        }
        if !is_folder_change(name) {
            // What is evaluated may go anywhere.
            if given.command.words.iter().any(|word| word == "eval") {
                self.at = None;
            }
            return;
        }
        let is_option = |word: &str| word.len() > 1 && word.starts_with('-') || word.eq_ignore_ascii_case("/d");
        let words = given.arguments(1);
        let operands: Vec<(&str, bool)> = words.filter(|(word, _)| !is_option(word)).collect();
        let folder = match operands[..] {
            [(folder, false)] if is_sure && folder != "-" && !folder.contains(['%', '$']) => {
                placed(self.at.as_deref(), folder)
            }
            _ => None,
        };
        if name == "pushd" || name == "push-location" {
            if self.pushed.len() == MOST_PUSHED {
                self.pushed.clear();
            }
            self.pushed.push(self.at.clone());
        }
        let is_followed = |folder: &String| !folder.starts_with('~') && folder.len() <= LONGEST_FOLDER;
        self.at = folder.filter(|folder| is_followed(folder) && self.signs.is_some());
    }

    /// Goes on behind a command.
    pub(super) fn leave(&mut self, index: usize, name: &str, words: &[String], is_sure: bool) {
        let then = self.commands[index].then;
        let before = index.checked_sub(1).map(|index| self.commands[index].then);
        // In a pipeline nobody but PowerShell goes anywhere.
        if is_folder_change(name) && (then == Next::Pipe || before == Some(Next::Pipe)) {
            self.at = None;
        }
        if is_in(name, "exit return") {
            // A line that succeeds has not come to an exit that says otherwise.
            let says_failure = match words.get(1) {
                Some(status) => status != "0" && status.bytes().all(|b| b.is_ascii_digit()),
                None => self.is_behind_or,
            };
            self.is_over |= is_sure || !says_failure;
        }
        match then {
            Next::And => (self.is_behind_and, self.is_behind_or) = (true, false),
            Next::Or => self.is_behind_or = true,
            Next::Pipe => {}
            Next::Then | Next::Background | Next::End => {
                (self.is_behind_and, self.is_behind_or) = (false, false);
                if then == Next::Background {
                    self.at = self.list_at.clone();
                }
                self.list_at = self.at.clone();
            }
        }
    }
}

fn is_folder_change(name: &str) -> bool {
    is_in(
        &name.to_ascii_lowercase(),
        "cd chdir pushd popd set-location sl push-location pop-location",
    )
}

/// The parentheses around commands, in their order. What a sign means is asked of the shell's own grammar: a word put in
/// its place comes out whole only where it would be read as a sign.
fn signs(line: &str) -> Option<Vec<(usize, Sign)>> {
    const MARK: &str = " \u{1}";
    let mut places = line.match_indices(['(', ')']);
    // Most lines have none.
    if !line.contains('(') {
        return Some(Vec::new());
    }
    if line.len() > LONGEST || places.clone().nth(MOST_SIGNS).is_some() {
        return None;
    }
    let (mut found, mut open) = (Vec::new(), Vec::new());
    places.try_for_each(|(at, sign)| {
        if line[..at].ends_with('$') {
            return Some(());
        }
        let front = format!("{}{MARK}", &line[..at]);
        let before = shell::commands(&front);
        let Some((last, words)) = before
            .last()
            .and_then(|last| Some((before.len() - 1, last.words.split_last()?)))
        else {
            return Some(());
        };
        if words.0 != MARK.trim_start() {
            return Some(());
        }
        let is_first = words
            .1
            .iter()
            .all(|word| is_in(word, "if then elif else do while until { ! time"));
        if sign == "(" {
            open.push(is_first);
            if is_first {
                found.push((last, Sign::Opens));
            }
        } else if open.pop()? {
            let behind = if words.1.is_empty() { last } else { last + 1 };
            found.push((behind, Sign::Closes));
        }
        Some(())
    })?;
    open.is_empty().then_some(found)
}
