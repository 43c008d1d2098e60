//! Files that a command changes without naming each: by a pattern, in a folder, or as another command lists them.

use super::has_flag;
use super::in_place::InPlace;
use crate::command::{Command, Script};
use crate::outcome::FileState;
use crate::path::{Folder, below_temporary};
use crate::pattern::{alternatives, braces, is_pattern};
use crate::word_list::is_in;
use crate::wrapped::{DEEPEST, base, inner_script, is_assignment, unwrap};

mod listed;

/// Patterns that are taken from one command.
const MOST: usize = 32;
/// So many commands before one are looked through for what its words stand for.
const NEAR: usize = 64;
/// Folders in which programs put what they make, and which nobody works in.
const MADE: &str = "target dist build out node_modules .venv venv __pycache__ .pytest_cache .mypy_cache .ruff_cache .tox .cache .next .nuxt \
                    .turbo .parcel-cache .gradle .eggs coverage .nyc_output htmlcov tmp .tmp temp .git logs";
/// How files end that programs write and nobody works on.
const LEFT: [&str; 12] = [
    ".log", ".pyc", ".o", ".tmp", ".bak", ".orig", ".rej", ".swp", ".out", ".pid", ".class", "~",
];

/// Files that a command changes without naming each.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Sweep {
    /// Patterns of the files that they are among, as seen from where the line began; nothing where nobody can know.
    pub among: Vec<String>,
    /// All that are known of these are told as changed, and not only doubted.
    pub is_told: bool,
    /// How they are left.
    pub state: FileState,
    /// Something is changed of which the project is made, whatever is known of it.
    pub is_sure: bool,
}

impl Sweep {
    /// What the command of this number does among those of its script, if it is one that does.
    pub fn of(commands: &[Command], index: usize) -> Option<Sweep> {
        let command = &commands[index];
        if command.is_elsewhere || command.script.is_some() || command.words().is_empty() {
            return None;
        }
        let here = Here {
            commands,
            index,
            depth: 0,
        };
        let (chosen, state) = match &*command.name() {
            "xargs" | "parallel" => {
                let state = handed(behind_options(command.words(), XARGS), 0)?;
                (here.piped(), state)
            }
            "find" => here.found()?,
            "fd" | "fdfind" => {
                let at = command
                    .words()
                    .iter()
                    .position(|word| is_in(word, "-x -X --exec --exec-batch"))?;
                (here.listed(command), handed(&command.words()[at + 1..], 0)?)
            }
            "rm" if !has_flag(&command.words()[1..], "iI", "--interactive") => {
                (here.open_operands()?, FileState::Deleted)
            }
            "cp" | "mv" | "rsync" => (here.copied()?, FileState::Edited),
            _ => (here.in_place()?, FileState::Edited),
        };
        let is_change = state == FileState::Edited && !is_in(&command.name(), "cp mv rsync");
        // What is taken away may as well be what a program has made.
        (is_change || command.is_sure || here.is_in_loop())
            .then(|| chosen.into_sweep(&command.folder, state, is_change))
    }
}

const XARGS: &str = "-I -n -P -L -d -s -E -a -J -R --max-args --max-procs --max-lines --replace --delimiter --arg-file --max-chars -j --jobs";

/// Files as a command or a shell chooses them, as seen from the folder of the command.
#[derive(Default)]
struct Chosen {
    among: Vec<String>,
    /// They are chosen by more than their names.
    is_part: bool,
    /// Others may be among them of which nobody knows anything.
    is_open: bool,
}

impl Chosen {
    fn unknown() -> Self {
        Chosen {
            is_open: true,
            ..Chosen::default()
        }
    }

    fn add(&mut self, pattern: impl Into<String>) {
        if self.among.len() < MOST {
            self.among.push(pattern.into());
        }
    }

    /// A file or folder of this name, with all that is in it.
    fn add_folder(&mut self, folder: &str) {
        let folder = folder.trim_end_matches('/');
        match folder {
            "" | "." => self.add("**"),
            folder => {
                self.add(folder);
                self.add(format!("{folder}/**"));
            }
        }
    }

    fn join(&mut self, other: Chosen) {
        other.among.into_iter().for_each(|pattern| self.add(pattern));
        self.is_part |= other.is_part;
        self.is_open |= other.is_open;
    }

    fn into_sweep(self, at: &Folder, state: FileState, is_change: bool) -> Sweep {
        let is_narrow = self.among.iter().all(|pattern| !pattern.starts_with("**"));
        let among: Vec<String> = self.among.iter().map(|pattern| at.name(pattern).into_owned()).collect();
        let is_here = || !is_scratch(&at.name("x"));
        let is_work = among.iter().any(|pattern| !is_scratch(pattern)) || self.is_open && is_here();
        Sweep {
            is_told: is_narrow || !self.is_part,
            is_sure: is_change && is_work,
            among,
            state,
        }
    }
}

/// Whether a path is that of something which programs leave behind, and of nothing that a project is made of.
pub(crate) fn is_scratch(path: &str) -> bool {
    below_temporary(path).is_some()
        || LEFT.iter().any(|end| path.ends_with(end))
        || path
            .split(['/', '\\'])
            .any(|name| is_in(name, MADE) || name.ends_with(".egg-info") || name.starts_with("_build"))
}

/// Whether a shell writes out alternatives in a word, or may do so.
pub(super) fn has_choice(word: &str) -> bool {
    braces(word).is_some()
}

/// The words of a command that stand behind its options.
fn behind_options<'a>(words: &'a [String], valued: &str) -> &'a [String] {
    let mut rest = words.get(1..).unwrap_or_default();
    while let Some(option) = rest.first().filter(|word| word.starts_with('-')) {
        let taken = if is_in(option, valued) { 2 } else { 1 };
        rest = &rest[taken.min(rest.len())..];
    }
    rest
}

/// What becomes of files that a program is handed behind its words.
fn handed(words: &[String], depth: usize) -> Option<FileState> {
    if depth >= DEEPEST {
        return None;
    }
    let words = unwrap(words).words;
    if let Some(script) = inner_script(words) {
        let script = Script::read(&script);
        return script
            .commands
            .iter()
            .find_map(|command| handed(command.words(), depth + 1));
    }
    let program = words.first()?;
    match &*base(program) {
        "rm" | "unlink" | "trash" => Some(FileState::Deleted),
        _ => InPlace::of(words, &[]).map(|_| FileState::Edited),
    }
}

/// A command in its place.
#[derive(Clone, Copy)]
struct Here<'a> {
    commands: &'a [Command],
    index: usize,
    /// Substitutions, and names that stand for others, around it.
    depth: usize,
}

impl<'a> Here<'a> {
    fn command(&self) -> &'a Command {
        &self.commands[self.index]
    }

    /// The commands before it that are looked through.
    fn near(&self) -> &'a [Command] {
        &self.commands[self.index.saturating_sub(NEAR)..self.index]
    }

    /// Whether it is in the body of a loop over files, which is run for each.
    fn is_in_loop(&self) -> bool {
        let before = self.near();
        let begins = before.iter().rposition(|command| is_in(first(command), "for while"));
        begins.is_some_and(|at| {
            !before[at..]
                .iter()
                .any(|command| is_in(first(command), "done if [ [[ test"))
        })
    }

    /// The files of a program that changes them in place, but for those that it names.
    fn in_place(&self) -> Option<Chosen> {
        let command = self.command();
        let given = InPlace::of(command.words(), command.open())?;
        let mut chosen = Chosen {
            is_part: given.chooses,
            ..Chosen::default()
        };
        for (word, is_open) in &given.files {
            match is_open {
                true => chosen.join(self.worked_out(word)),
                false if given.takes_folders => chosen.add_folder(word),
                false if has_choice(word) => alternatives(word).into_iter().for_each(|word| chosen.add(word)),
                false => {}
            }
        }
        if given.chooses && given.files.is_empty() {
            chosen.add("**");
        }
        (chosen.is_open || !chosen.among.is_empty()).then_some(chosen)
    }

    /// The operands that a shell has to work out, with what is in them.
    fn open_operands(&self) -> Option<Chosen> {
        let mut chosen = Chosen::default();
        for (word, is_open) in self.command().arguments(1).filter(|(word, _)| !word.starts_with('-')) {
            if is_open && is_pattern(word) && !word.contains(['$', '`']) {
                chosen.add(word);
                chosen.add(format!("{word}/**"));
            }
        }
        (!chosen.among.is_empty()).then_some(chosen)
    }

    /// Where `find` is told to do something with what it finds.
    fn found(&self) -> Option<(Chosen, FileState)> {
        let words = self.command().words();
        let is_run = |word: &String| is_in(word, "-exec -execdir -ok -okdir");
        let state = match words.iter().position(is_run) {
            Some(at) => handed(&words[at + 1..], 0)?,
            None => words
                .iter()
                .any(|word| word == "-delete")
                .then_some(FileState::Deleted)?,
        };
        Some((self.listed(self.command()), state))
    }

    /// The files that files are copied to, where they may be there.
    fn copied(&self) -> Option<Chosen> {
        const VALUED: &str = "-e --rsh --exclude --include --exclude-from --include-from --files-from -f --filter --bwlimit --chmod \
                              --rsync-path --log-file --port --timeout --backup-dir --suffix --compare-dest --copy-dest --link-dest -T \
                              --temp-dir -S";
        let (command, name) = (self.command(), self.command().name());
        let is_rsync = name == "rsync";
        let options = &command.words()[1..];
        let has_long = |list: &str| {
            options
                .iter()
                .any(|word| is_in(word.split('=').next().unwrap_or(word), list))
        };
        let keeps = match is_rsync {
            true => has_flag(options, "n", "--dry-run") || has_long("--list-only"),
            false => has_flag(options, "inu", "--interactive") || has_long("--no-clobber --update --parents"),
        };
        if keeps || !is_rsync && has_flag(options, "t", "--target-directory") {
            return None;
        }
        let mut operands = Vec::new();
        let mut words = command.arguments(1);
        while let Some((word, is_open)) = words.next() {
            if is_rsync && is_in(word, VALUED) {
                words.next();
            } else if !word.starts_with('-') {
                operands.push((word, is_open));
            }
        }
        let ((to, is_open), from) = operands.split_last()?;
        // Another machine, or a folder that nobody knows.
        if *is_open || is_rsync && to.contains(':') || from.is_empty() {
            return None;
        }
        let to = to.trim_end_matches('/');
        let within = |name: &str| match to {
            "" | "." => name.to_owned(),
            to => format!("{to}/{name}"),
        };
        let mut chosen = Chosen::default();
        for (word, is_open) in from.iter().filter(|(word, _)| !word.contains(['$', '`'])) {
            let last = word.trim_end_matches('/').rsplit(['/', ':']).next().unwrap_or_default();
            let is_inner = is_rsync && word.ends_with('/') || matches!(last, "." | "");
            if is_inner || last == ".." {
                chosen.add(within("**"));
            } else {
                chosen.add(within(last));
                chosen.add(within(&format!("{last}/**")));
                if !is_rsync && from.len() == 1 && !is_open {
                    chosen.add(to);
                }
            }
        }
        (!chosen.among.is_empty()).then_some(chosen)
    }

    /// The files that a word stands for which a shell has to work out.
    fn worked_out(&self, word: &str) -> Chosen {
        let mut chosen = Chosen::default();
        if let Some(inner) = substituted(word) {
            if self.depth >= DEEPEST {
                return Chosen::unknown();
            }
            let script = Script::read(inner);
            let Some(index) = script.commands.len().checked_sub(1) else {
                return Chosen::unknown();
            };
            let inner = Here {
                commands: &script.commands,
                index,
                depth: self.depth + 1,
            };
            return inner.output();
        }
        match word.strip_prefix('$') {
            Some(name) => return self.bound(name.trim_start_matches('{').trim_end_matches('}')),
            None if word.contains(['$', '`']) => return Chosen::unknown(),
            None => alternatives(word).into_iter().for_each(|word| chosen.add(word)),
        }
        chosen
    }

    /// The files that a name of the shell stands for.
    fn bound(&self, name: &str) -> Chosen {
        if self.depth >= DEEPEST {
            return Chosen::unknown();
        }
        let start = self.index - self.near().len();
        for (index, command) in (start..self.index).zip(self.near()).rev() {
            let here = Here {
                index,
                depth: self.depth + 1,
                ..*self
            };
            let words = &command.simple.words;
            let value = |word: &String| {
                let (own, value) = word.split_once('=').filter(|_| is_assignment(word))?;
                (own == name).then(|| value.to_owned())
            };
            if first(command) == "for" && words.get(1).is_some_and(|own| own == name) {
                return here.words(command.arguments(3));
            } else if command.name() == "read" && command.words().iter().any(|own| own == name) {
                return here.piped();
            } else if let Some(value) = words.iter().find_map(value) {
                return here.words([(&*value, true)].into_iter());
            }
        }
        Chosen::unknown()
    }

    fn words<'b>(&self, words: impl Iterator<Item = (&'b str, bool)>) -> Chosen {
        let mut chosen = Chosen::default();
        for (word, is_open) in words {
            match is_open || has_choice(word) {
                true => chosen.join(self.worked_out(word)),
                false => chosen.add(word),
            }
        }
        chosen
    }

    /// The files that another command lists which is piped into this one.
    fn piped(&self) -> Chosen {
        match self.command().is_piped && self.index > 0 {
            true => Here {
                index: self.index - 1,
                ..*self
            }
            .output(),
            false => Chosen::unknown(),
        }
    }

    /// The files that this command lists, or leaves of those that another one lists.
    fn output(&self) -> Chosen {
        let mut at = self.index;
        while at > 0 && self.commands[at].is_piped {
            at -= 1;
        }
        let mut chosen = Here { index: at, ..*self }.listed(&self.commands[at]);
        chosen.is_part |= at < self.index;
        chosen
    }
}

/// The first word of a command as it is written.
fn first(command: &Command) -> &str {
    command.simple.words.first().map_or("", String::as_str)
}

/// The line in a substitution that is all of a word.
fn substituted(word: &str) -> Option<&str> {
    let inner = word.strip_prefix("$(").and_then(|word| word.strip_suffix(')'));
    inner.or_else(|| word.strip_prefix('`')?.strip_suffix('`'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The sweeps of a line: what they are among, with a `?` if that is only doubted and a `!` if the work is other for sure.
    fn swept(line: &str) -> String {
        let script = Script::read(line);
        let sweeps = (0..script.commands.len()).filter_map(|index| Sweep::of(&script.commands, index));
        let shown = sweeps.map(|sweep| {
            let removed = if sweep.state == FileState::Deleted { "-" } else { "" };
            let told = if sweep.is_told { "" } else { "?" };
            let sure = if sweep.is_sure { "!" } else { "" };
            format!("{removed}{}{told}{sure}", sweep.among.join(" "))
        });
        shown.collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn files_are_found_as_the_shell_or_another_command_finds_them() {
        for (line, expected) in [
            ("sed -i s/a/b/ src/*.py lib/{x,y}.py", "src/*.py lib/x.py lib/y.py!"),
            ("cd app && sed -i s/a/b/ *.py", "app/*.py!"),
            ("sed -i s/a/b/ src/a.py", ""),
            ("sed -n 1p src/*.py", ""),
            ("sed -i s/a/b/ $X", "!"),
            (
                "for f in a.py $(git ls-files '*.py'); do sed -i s/a/b/ $f; done",
                "a.py **/*.py!",
            ),
            ("find . -type f -name '*.py' | xargs sed -i s/a/b/", "**/*.py!"),
            ("find a b -not -name x -exec perl -pi -e s/a/b/ {} +", "a a/** b b/**!"),
            (
                "rg -l -g '*.{ts,tsx}' a src | xargs sd a b",
                "src/**/*.ts src/**/*.tsx!",
            ),
            ("git grep -l a -- src | xargs -n1 sed -i s/a/b/", "src src/**!"),
            ("grep -rl a . | xargs sed -i s/a/b/", "**?!"),
            ("ls src/*.py | while read f; do sed -i s/a/b/ $f; done", "src/*.py!"),
            ("sed -i s/a/b/ /tmp/x/*.py dist/*.js", "/tmp/x/*.py dist/*.js"),
            ("rm -rf src/*.orig", "-src/*.orig src/*.orig/**"),
            ("test -d src && rm -rf src/*; ls", ""),
            ("find src -name x -delete", "-src/**/x"),
            ("cp -r a/. src", "src/**"),
            ("cp -r a src", "src/a src/a/** src"),
            ("cp x.py ../y.py src/", "src/x.py src/x.py/** src/y.py src/y.py/**"),
            ("rsync -a --exclude x a/ b c", "c/** c/b c/b/**"),
            ("rsync -a a host:b; rsync -an a b; cp -n a b; cp a $b", ""),
            ("npx jscodeshift -t x.js src lib", "src src/** lib lib/**!"),
            ("ast-grep -p a -r b --update-all", "**?!"),
            ("docker exec app sed -i s/a/b/ *.py", ""),
        ] {
            assert_eq!(swept(line), expected, "{line}");
        }
    }

    #[test]
    fn a_long_line_is_read_in_linear_time() {
        for piece in [
            "sed -i s/a/b/ $x; ",
            "false && cp a b; ",
            "x=$(sed -i s/a/b/ $(ls *.py)); ",
            "for f in *; do rm $f/*; ",
            "ls | ",
            "sed -i s/a/b/ {a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}; ",
        ] {
            crate::command::CommandLine::new(&piece.repeat(20_000));
        }
    }

    proptest! {
        #[test]
        fn no_line_is_too_odd(line in r#"(sed -i s/a/b/|xargs|find|-exec|-name|grep -l|git ls-files|for f in|do|done|cp|rsync|rm|\$\(|\)|\$f|\*|\{a,b\}|a/b|\.| |;|\||&&|é){0,20}"#) {
            swept(&line);
        }
    }
}
