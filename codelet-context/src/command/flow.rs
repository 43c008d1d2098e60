//! Where the commands of a line run, and whether they run for sure if the line succeeds.

use super::Command;
use super::moves::Move;
use crate::path::Folder;
use crate::shell::{Commands, Next, Sign};
use crate::word_list::is_in;

/// How many folders there are to go back to.
const MOST_PUSHED: usize = 64;

/// What a line is run in.
pub(super) struct Outer {
    /// The folder.
    pub at: Folder,
    /// The line is run.
    pub is_sure: bool,
    /// Its status is the one that is known.
    pub is_last: bool,
    /// It is run where the files are not those of here.
    pub is_elsewhere: bool,
}

impl Outer {
    /// What a line runs in that nothing stands around.
    pub(super) fn nothing() -> Self {
        Outer {
            at: Folder::default(),
            is_sure: true,
            is_last: true,
            is_elsewhere: false,
        }
    }
}

/// How a line goes through its commands.
pub(super) struct Flow {
    /// What joins each command to the next.
    joins: Vec<Next>,
    outer: Outer,
    at: Folder,
    /// The one before it.
    before: Option<Folder>,
    /// Folders to go back to.
    pushed: Vec<Folder>,
    /// What it has done so far to the folder of the shell that the line is typed into.
    moves: Vec<Move>,
    /// Where the list of commands began that `&` would send to the background.
    list_at: Folder,
    list_moves: usize,
    /// The parentheses, each with the command that it stands before; nothing if they cannot be told.
    signs: Option<Vec<(usize, Sign)>>,
    /// How many of them are behind.
    passed: usize,
    groups: Vec<(Folder, Option<Folder>, Vec<Folder>, usize)>,
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

impl Flow {
    /// Before the first of the commands of a line.
    pub(super) fn new(line: &str, commands: &Commands, outer: Outer) -> Self {
        let joins: Vec<Next> = commands.list.iter().map(|command| command.then).collect();
        let is_grouped = line.contains(['(', '{']);
        let from = |keeps: &dyn Fn(Next) -> bool| {
            let last = joins.iter().rposition(|&then| !keeps(then));
            last.map_or(0, |last| last + 1)
        };
        let is_given = |next| matches!(next, Next::And | Next::End);
        Flow {
            // `(a && b) | c` ends with the status of c.
            told_from: from(&|next| is_given(next) || next == Next::Pipe && !is_grouped),
            given_from: from(&is_given),
            joins,
            at: outer.at.clone(),
            before: None,
            list_at: outer.at.clone(),
            list_moves: 0,
            outer,
            pushed: Vec::new(),
            moves: Vec::new(),
            signs: commands.signs.clone(),
            passed: 0,
            groups: Vec::new(),
            has_functions: line.contains("()"),
            blocks: 0,
            is_behind_and: false,
            is_behind_or: false,
            is_over: false,
        }
    }

    /// Whether the files are not those of here.
    pub(super) fn is_elsewhere(&self) -> bool {
        self.outer.is_elsewhere
    }

    /// The folder.
    pub(super) fn at(&self) -> &Folder {
        &self.at
    }

    /// What a script runs in that this command is given, which runs in this folder.
    pub(super) fn outer(&self, index: usize, at: &Folder, is_sure: bool) -> Outer {
        Outer {
            at: at.clone(),
            is_sure,
            is_last: self.outer.is_last && index >= self.given_from,
            is_elsewhere: self.outer.is_elsewhere,
        }
    }

    /// Goes to a command, and says whether it is run for sure if the line succeeds.
    pub(super) fn enter(&mut self, index: usize, words: &[String], is_inverted: bool) -> bool {
        self.pass_signs(index);
        self.open_blocks(words);
        let is_told = self.outer.is_last && index >= self.told_from;
        self.outer.is_sure
            && self.blocks == 0
            && !self.is_over
            && !is_inverted
            && !self.is_behind_or
            && (is_told || !self.is_behind_and)
    }

    /// Goes through the parentheses before a command.
    fn pass_signs(&mut self, index: usize) {
        while let Some(&(before, sign)) = self.signs.as_ref().and_then(|signs| signs.get(self.passed))
            && before <= index
        {
            self.passed += 1;
            match sign {
                Sign::Opens => {
                    let before = self.before.clone();
                    let saved = (self.at.clone(), before, self.pushed.clone(), self.moves.len());
                    self.groups.push(saved);
                }
                Sign::Closes => {
                    if let Some((at, before, pushed, moves)) = self.groups.pop() {
                        (self.at, self.before, self.pushed) = (at, before, pushed);
                        self.moves.truncate(moves);
                    }
                }
            }
        }
    }

    /// Whether a command that is run for sure if the line succeeds has succeeded then.
    pub(super) fn proves(&self, index: usize, is_sure: bool) -> bool {
        is_sure && self.outer.is_last && index >= self.given_from
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

    /// Changes the folder as the command of this number does.
    pub(super) fn go(&mut self, index: usize, command: &Command, name: &str) {
        if !is_folder_change(name) {
            // What is evaluated may go anywhere.
            if command.simple.words.iter().any(|word| word == "eval") {
                self.at = self.at.unknown();
            }
            return;
        }
        // In a pipeline nobody but PowerShell goes anywhere.
        if command.is_piped || self.joins[index] == Next::Pipe {
            self.at = self.at.unknown();
            return;
        }
        let is_told = command.is_sure && self.signs.is_some();
        self.moves.push(Move::of(command, name, is_told));
        let (here, is_sure) = (self.at.clone(), command.is_sure);
        if is_in(name, "popd pop-location") {
            self.at = match self.pushed.pop() {
                Some(folder) if is_sure => folder,
                Some(folder) => folder.unknown(),
                None => here.unknown(),
            };
        } else {
            self.at = match operands(command)[..] {
                [("-", _)] => match &self.before {
                    Some(before) if is_sure && self.signs.is_some() => before.clone(),
                    Some(before) => before.unknown(),
                    None => here.enter("-", false),
                },
                [(folder, is_open)] => {
                    let is_plain = !is_open && !folder.contains(['%', '$']);
                    here.enter(folder, is_plain && is_sure && self.signs.is_some())
                }
                [] => here.enter("~", false),
                _ => here.unknown(),
            };
            if is_in(name, "pushd push-location") {
                if self.pushed.len() == MOST_PUSHED {
                    self.pushed.clear();
                }
                self.pushed.push(here.clone());
            }
        }
        self.before = Some(here);
    }

    /// What the line has done to the folder of the shell that it is typed into.
    pub(super) fn moves(mut self) -> Vec<Move> {
        self.pass_signs(self.joins.len());
        self.moves
    }

    /// Goes on behind a command.
    pub(super) fn leave(&mut self, index: usize, name: &str, words: &[String], is_sure: bool) {
        let then = self.joins[index];
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
                    (self.at, self.before) = (self.list_at.clone(), None);
                    self.moves.truncate(self.list_moves);
                }
                self.list_at = self.at.clone();
                self.list_moves = self.moves.len();
            }
        }
    }
}

/// The words that say where a command goes that goes to another folder, with whether the shell has to work them out; of more than
/// two the first two.
pub(super) fn operands(command: &Command) -> Vec<(&str, bool)> {
    let is_option = |word: &str| word.len() > 1 && word.starts_with('-') || word.eq_ignore_ascii_case("/d");
    let words = command.arguments(1);
    words.filter(|(word, _)| !is_option(word)).take(2).collect()
}

/// Whether a program of this name, in small letters, goes to another folder.
pub(super) fn is_folder_change(name: &str) -> bool {
    is_in(name, "cd chdir pushd popd set-location sl push-location pop-location")
}
