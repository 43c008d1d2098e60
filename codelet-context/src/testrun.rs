//! Which commands run tests, builds or lints, seen through the wrappers that they are run in.

use crate::command::git::Git;
use crate::command::{Command, Script};
use crate::shell::Next;
use crate::word_list::is_in;
use crate::wrapped::base;
use aside::beside;
pub(crate) use aside::{Aside, Stash};
pub use behind::Behind;
pub(crate) use echo::{echoed, shows_begin, stands_for};
use formats::{lists, writes};
use picked::is_picked;
use recognise::recognise;
pub(crate) use rewrites::{Rewrite, Rewritten};
pub use scope::Scope;
pub(crate) use scope::place_covers;
pub use settings::Settings;
use sifted::keeps_failures;
pub use status::Printed;
pub(crate) use written::{Scripts, WHOLE, scripts};

mod aside;
mod asking;
mod behind;
mod echo;
mod formats;
mod picked;
mod recognise;
mod rewrites;
mod scope;
mod selects;
mod settings;
mod sifted;
mod spelled;
mod status;
mod telling;
mod variables;
mod written;

/// What a command checks.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub enum CheckKind {
    /// It runs tests.
    Test,
    /// It compiles or packs.
    Build,
    /// It looks for faults without running anything: lints, types, formats.
    Lint,
}

/// A check that a command line runs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Check {
    /// What is checked.
    pub kind: CheckKind,
    /// The program and what it is told to do, such as `cargo test` or `pytest`.
    pub name: String,
    /// What the check is narrowed to.
    pub scope: Scope,
    /// Status 0 of the whole line means that this check succeeded. Behind a pipe or a `;` it means nothing.
    pub decides: bool,
    /// It is left to run in the background, and nobody in the line waits for it.
    pub is_left: bool,
    /// Its end is in the answer, though not its status: what stands behind the pipe shows it whole or from the end.
    pub is_seen: bool,
    /// It is run only if the project has such a script.
    pub is_optional: bool,
    /// The status of the line is that of what was asked of its output behind a pipe, such as `grep`.
    pub is_asked: bool,
    /// Of its output only lines are shown that have something other in them than failures: that there are none says nothing.
    pub is_sifted: bool,
    /// Of its output lines are picked that tell of success, and of failures perhaps none.
    pub is_picked: bool,
    /// What runs behind it, whose status that of a line that failed may be.
    pub behind: Behind,
    /// It is told to end with the first failure.
    pub stops: bool,
    /// How its status is printed.
    pub printed: Option<Printed>,
    /// What it prints is what it finds fault with, and its status is 0 whatever that is.
    pub lists: Lists,
    /// It ends the line, and what stands behind the pipe shows so many lines at most of those that name what failed.
    pub shows: Option<usize>,
}

/// Whether a check that always succeeds lists what it finds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lists {
    /// It tells by its status.
    No,
    /// It lists, and so may other commands of the line.
    Among,
    /// It lists, and nothing else in its line prints anything.
    Alone,
}

impl Check {
    /// Whether the success of this check shows that what the other one has found is over: it is the same check, narrowed to
    /// nothing, or to no less than the other. In doubt it is not.
    pub fn covers(&self, failed: &Check) -> bool {
        let is_flat = self.is_flat();
        // To build the tests is not to run them.
        let is_kind = self.kind == failed.kind || self.kind == CheckKind::Test;
        let is_name = self.is_named_as(failed) || self.is_whole_of(failed);
        is_kind && is_name && self.finds_no_less_than(failed) && self.scope.covers(&failed.scope, is_flat)
    }

    /// Whether no option by which it is run as well makes a lint, or a check of types, find less. Tests find more or the same.
    pub(crate) fn finds_no_less_than(&self, failed: &Check) -> bool {
        let finds_by_rules = self.kind == CheckKind::Lint || is_in(self.program(), "tsc vue-tsc");
        !finds_by_rules || self.scope.settings.finds_no_less_than(&failed.scope.settings)
    }

    /// Whether both tell the same program to do the same, however it is called: `mvn test`, `./mvnw test`.
    fn is_named_as(&self, other: &Check) -> bool {
        spelled::name(&self.name) == spelled::name(&other.name)
    }

    /// Whether this one does in every part of a project what the other does in one: `gradle test`, `gradle :web:test`.
    fn is_whole_of(&self, other: &Check) -> bool {
        let ((program, verb), (other, part)) = (spelled::name(&self.name), spelled::name(&other.name));
        program == "gradle" && program == other && part.starts_with(':') && part.rsplit(':').next() == Some(verb)
    }

    /// The part of the project that what it is told to do begins with: `:web` of `gradle :web:test`.
    pub(crate) fn part(&self) -> Option<&str> {
        let (_, verb) = self.name.split_once(' ')?;
        verb.rfind([':', '/']).map(|at| &verb[..at])
    }

    /// The program of this check, without what it is told to do.
    pub(crate) fn program(&self) -> &str {
        self.name.split(' ').next().unwrap_or_default()
    }

    /// Of Go, a folder is one package, without those in it.
    fn is_flat(&self) -> bool {
        self.name.starts_with("go") && !is_in(self.program(), "gofmt golangci-lint")
    }

    /// Whether both are the same check of the same things.
    pub fn is_same(&self, other: &Check) -> bool {
        self.covers(other) && other.covers(self)
    }
}

/// Programs that look for lines.
const SEARCHES: &str = "grep egrep fgrep rg ag ack";
/// Checks of one line that are looked for.
const MOST: usize = 32;

/// The checks that a command line runs, in the order in which it runs them.
pub fn checks(line: &str) -> Vec<Check> {
    Line::read(line).checks
}

/// What a command line says of itself, from reading it once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Line {
    /// See [`checks`].
    pub checks: Vec<Check>,
    /// The program that the line ends with, by its name and what it is asked to do.
    pub program: Option<String>,
    /// A status other than 0 is an answer of it and not a failure: `grep` has found nothing, `diff` has found a difference.
    pub is_question: bool,
    /// It puts files in order.
    pub formats: bool,
    /// Where the work is put aside and fetched again, each with the number of checks before it.
    pub stashes: Vec<(usize, Stash)>,
    /// What changes files that it does not name, each with the number of checks before it.
    pub rewrites: Vec<(usize, Rewrite)>,
    /// Folders in which it puts another state of the project beside the work.
    pub beside: Vec<String>,
    /// For each check its place among those that `&&` joins.
    links: Vec<Link>,
}

/// Where a check stands in a line.
#[derive(Clone, Copy, Debug)]
struct Link {
    /// The number of the list of commands that it is in.
    list: usize,
    /// What follows in the list runs only if this one has succeeded.
    is_gate: bool,
}

impl Line {
    /// Reads a line that is no call's own, such as one that a summary quotes.
    pub fn read(line: &str) -> Line {
        Line::of(&Script::read(line).commands)
    }

    /// The same of a line whose commands are known.
    pub fn of(commands: &[Command]) -> Line {
        let mut line = Line {
            program: program_name(commands),
            is_question: ends_with_question(commands),
            ..Line::default()
        };
        collect(commands, &Around::default(), &mut 0, &mut line);
        aside::moved(commands, &mut line.stashes);
        let asks = |command: &Command| is_in(&command.name(), SEARCHES);
        let mut piped = commands.iter().filter(|command| command.is_piped && asks(command));
        let is_sifted = piped.any(|command| !keeps_failures(command.words()));
        let is_asked = commands.last().is_some_and(|last| last.is_piped && asks(last));
        for check in line.checks.iter_mut().filter(|check| !check.decides) {
            (check.is_asked, check.is_sifted) = (is_asked, is_sifted);
        }
        line
    }

    /// The number of checks in some of the commands of a line.
    pub(crate) fn of_part(commands: &[Command]) -> usize {
        let mut line = Line::default();
        collect(commands, &Around::default(), &mut 0, &mut line);
        line.checks.len()
    }

    /// The same without some of its checks, by their number.
    pub fn without(&self, dropped: impl Fn(usize) -> bool) -> Line {
        let left: Vec<usize> = (0..self.checks.len()).filter(|at| !dropped(*at)).collect();
        Line {
            checks: left.iter().map(|at| self.checks[*at].clone()).collect(),
            links: left.iter().map(|at| self.links[*at]).collect(),
            ..self.clone()
        }
    }

    /// Whether that a check has begun says that another one before it has succeeded.
    pub fn leads_to(&self, before: usize, check: usize) -> bool {
        let (before, check) = (self.links[before], self.links[check]);
        before.is_gate && before.list == check.list
    }

    /// The number of the check that tells what came of the whole line: the last test run, or else the last check.
    pub fn last_check(&self) -> Option<usize> {
        let tests = self.checks.iter().rposition(|check| check.kind == CheckKind::Test);
        tests.or(self.checks.len().checked_sub(1))
    }
}

fn ends_with_question(commands: &[Command]) -> bool {
    const QUESTIONS: &str = "grep egrep fgrep rg ag ack diff cmp test [ [[ which type command hash whereis ls find fd pgrep lsof false cat head tail journalctl";
    const GIT_QUESTIONS: &str = "diff grep check-ignore rev-parse show-ref merge-base";
    // What they print was said by others, and how that went says nothing of them.
    const LOOKS: &str = "logs log describe view inspect ps";
    const LOOKED_WITH: &str = "docker podman kubectl oc gh glab";
    let last = commands.iter().rfind(|command| command.simple.words[0] != "exit");
    last.is_some_and(|command| match command.words() {
        [git, ..] if base(git) == "git" => Git::of(command).is_some_and(|git| is_in(git.verb, GIT_QUESTIONS)),
        [program, rest @ ..] if is_in(&base(program), LOOKED_WITH) => rest
            .iter()
            .filter(|word| is_verb(word))
            .take(2)
            .any(|word| is_in(word, LOOKS)),
        // `hatch run test` asks nothing.
        [program, ..] => is_in(&base(program), QUESTIONS) && !command.is_called(),
        [] => false,
    })
}

/// The program of the last command, with what it is asked to do: `npm install`, `docker push`, `npm run publish`. That
/// another of them succeeds mends nothing.
fn program_name(commands: &[Command]) -> Option<String> {
    let last = commands.last()?;
    let (program, rest) = last.words().split_first()?;
    let mut name = base(program).into_owned();
    if program.starts_with('.') {
        // A script of the project's own does one thing.
        return Some(name);
    }
    let mut verbs = rest.iter().map(String::as_str).filter(|word| !word.starts_with('-'));
    while let Some(verb) = verbs.next().filter(|word| is_verb(word)) {
        name.push(' ');
        name.push_str(verb);
        if verb != "run" {
            break;
        }
    }
    Some(name)
}

/// Whether a word may say what to do, and is no number, path, address or text.
fn is_verb(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_lowercase())
        && word
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | ':'))
}

/// What a script is run in.
struct Around {
    /// Its status is not that of the line.
    hides: bool,
    /// It is left in the background.
    is_left: bool,
    /// The line ends with it.
    ends: bool,
    /// Nothing else in the line prints.
    is_alone: bool,
    /// Lines are picked of what it prints.
    is_picked: bool,
    /// How it is run.
    settings: Settings,
}

impl Default for Around {
    fn default() -> Self {
        Around {
            hides: false,
            is_left: false,
            ends: true,
            is_alone: true,
            is_picked: false,
            settings: Settings::default(),
        }
    }
}

/// Finds the checks of a script, which decides what its line comes to or does not, and what else is asked of its commands.
fn collect(commands: &[Command], outer: &Around, list: &mut usize, line: &mut Line) {
    let (mut before, mut is_behind_or) = (Next::Then, false);
    let mut around = outer.settings.clone();
    let (deciding, left, seen) = (deciding(commands), left(commands), seen(commands));
    let mut found_in = Vec::new();
    for (index, command) in commands.iter().enumerate() {
        let then = command.simple.then;
        if matches!(before, Next::Then | Next::Background | Next::End | Next::Or) {
            *list += 1;
        }
        is_behind_or = before == Next::Or || is_behind_or && matches!(before, Next::And | Next::Pipe);
        if line.checks.len() >= MOST {
            break;
        }
        before = then;
        if command.goes() {
            continue;
        }
        // Whether the work was put aside behind `||`, nobody knows.
        if let Some(stash) = Stash::of(command).filter(|_| !command.is_elsewhere)
            && line.stashes.len() < MOST
            && (!matches!(stash, Stash::Away(_)) || !is_behind_or)
        {
            line.stashes.push((line.checks.len(), stash));
        }
        if let Some(folder) = beside(command).filter(|_| !command.is_elsewhere && line.beside.len() < MOST) {
            line.beside.push(command.folder.name(folder).into_owned());
        }
        if !command.is_elsewhere
            && command.script.is_none()
            && line.rewrites.len() < MOST
            && let Some(rewrite) = Rewrite::of(commands, index)
        {
            line.rewrites.push((line.checks.len(), rewrite));
        }
        let link = Link {
            list: *list,
            is_gate: then == Next::And && !is_behind_or,
        };
        let decides = !outer.hides && deciding[index] && !command.is_inverted;
        let (is_left, is_seen) = (outer.is_left || left[index], seen[index]);
        if let Some(script) = &command.script {
            let mut settings = Settings::default();
            settings.wrapping(&command.simple.words, command.front());
            settings.within(&around);
            let inner = Around {
                hides: !decides,
                is_left,
                ends: outer.ends && index + 1 == commands.len(),
                is_alone: outer.is_alone && is_alone(commands, index),
                is_picked: outer.is_picked || is_picked(commands, index),
                settings,
            };
            let first = line.checks.len();
            collect(&script.commands, &inner, list, line);
            found_in.push((index, first..line.checks.len()));
            *list += 1;
            continue;
        }
        // `hatch run test` runs a script of that name where `hatch run pytest` runs a program.
        let mut tried = [command.words(), command.words_with_wrapper()];
        if command.is_called() {
            tried.reverse();
        }
        let found = tried.into_iter().find_map(|words| Some((words, recognise(words, 0)?)));
        if let Some((words, (kind, name, mut scope))) = found {
            if kind == CheckKind::Lint && writes(&name, words) {
                line.formats = true;
                continue;
            }
            let folder = scope.place.take();
            scope.place = command.folder.told().map(str::to_owned);
            if let Some(folder) = folder {
                scope.go_to(&folder);
            }
            scope.settings.program(&command.simple.words, command.front());
            scope.settings.within(&around);
            // `PYTEST_ADDOPTS='-k smoke' pytest` is narrowed as `pytest -k smoke` is.
            for (name, value) in scope.settings.take_chosen() {
                if !scope.filters.iter().any(|(known, _)| *known == name) {
                    scope.filters.push((name, value));
                }
            }
            if kind == CheckKind::Test {
                scope.settings.of_tests();
            }
            let lists = match kind == CheckKind::Lint && lists(&name, words) {
                true if outer.is_alone && is_alone(commands, index) => Lists::Alone,
                true => Lists::Among,
                false => Lists::No,
            };
            found_in.push((index, line.checks.len()..line.checks.len() + 1));
            line.links.push(link);
            line.checks.push(Check {
                is_picked: outer.is_picked || is_picked(commands, index),
                behind: Behind::Nothing,
                stops: words.iter().any(|word| is_stop(word)),
                shows: shown_behind(commands, index),
                kind,
                name,
                scope,
                decides,
                is_left,
                is_seen,
                is_optional: words.iter().any(|word| word == "--if-present"),
                is_asked: false,
                is_sifted: false,
                printed: Printed::of(commands, index, outer.ends),
                lists,
            });
        } else {
            around.tell_shell(command.words());
        }
    }
    behind::tell(commands, &found_in, &mut line.checks);
}

/// Whether what a line prints is what this one of its commands prints, or as much of it as shows that it prints anything.
fn is_alone(commands: &[Command], index: usize) -> bool {
    const SILENT: &str = "set export source . shopt trap true :";
    const PASSING: &str = "head tail sort cat tee uniq";
    let others = commands.iter().enumerate().filter(|(at, _)| *at != index);
    commands[index].simple.outputs.is_empty()
        && others.into_iter().all(|(at, other)| {
            other.goes()
                || is_in(&other.name(), SILENT)
                || at > index && commands[at - 1].simple.then == Next::Pipe && is_in(&other.name(), PASSING)
        })
}

/// Whether an option tells a check to end with the first failure.
fn is_stop(word: &str) -> bool {
    const STOPS: &str = "-x --exitfirst --maxfail --bail -b -failfast --failfast --fail-fast --ff";
    is_in(word.split('=').next().unwrap_or(word), STOPS)
}

/// How many lines are shown at most of those that name what failed, where pipes end the line and hide no other of them.
fn shown_behind(commands: &[Command], index: usize) -> Option<usize> {
    let behind = &commands[index + 1..];
    let is_piped = |command: &Command| command.simple.then == Next::Pipe;
    let (_, before_last) = commands[index..].split_last()?;
    if behind.is_empty() || !before_last.iter().all(is_piped) {
        return None;
    }
    let mut most = usize::MAX;
    for command in behind {
        if is_in(&command.name(), "cat tee") {
            continue;
        }
        match most_shown(command.words()) {
            Some(shown) => most = most.min(shown),
            // What is left of a few lines may be fewer than there were.
            None if most == usize::MAX && keeps_names(command) => {}
            None => return None,
        }
    }
    Some(most)
}

/// Whether a command looks for lines, and lets those pass that name tests that failed.
fn keeps_names(command: &Command) -> bool {
    is_in(&command.name(), SEARCHES) && sifted::keeps_names(command.words())
}

/// How many lines `head` or `tail` shows at most: `tail -5`, `head -n 20`, and ten where it is not told.
fn most_shown(words: &[String]) -> Option<usize> {
    const UNTOLD: usize = 10;
    let (program, rest) = words.split_first()?;
    if !is_in(&base(program), "head tail") {
        return None;
    }
    let most: String = rest.iter().map(String::as_str).collect();
    match most.trim_start_matches("-n").trim_start_matches('-') {
        "" if rest.is_empty() => Some(UNTOLD),
        most => most.parse().ok(),
    }
}

/// For each command, whether status 0 of the whole line means status 0 of it: it surely ran, and nothing after it hides its
/// status.
fn deciding(commands: &[Command]) -> Vec<bool> {
    // What `set` has switched on before each command, and whether an `||` may have passed it over.
    let (mut stops, mut pipes_fail, mut is_optional) = (false, false, false);
    let before: Vec<_> = commands
        .iter()
        .map(|command| {
            let now = (stops, pipes_fail, is_optional);
            if command.simple.words[0] == "set" {
                let flags = &command.simple.words[1..];
                stops |= flags
                    .iter()
                    .any(|f| f == "errexit" || (f.starts_with('-') && f.contains('e')));
                pipes_fail |= flags.iter().any(|f| f == "pipefail");
            }
            is_optional |= command.simple.then == Next::Or;
            now
        })
        .collect();
    let mut decides = vec![false; commands.len()];
    // Whether the next command decides, and whether all from the next on runs only if this one has succeeded and decides.
    let (mut next, mut rest) = (true, true);
    for (index, command) in commands.iter().enumerate().rev() {
        let (stops, pipes_fail, is_optional) = before[index];
        let (this, behind) = match command.simple.then {
            Next::End => (true, true),
            Next::And => (rest, rest),
            Next::Then => (stops && rest, stops && rest),
            Next::Pipe => (pipes_fail && next, rest),
            Next::Or | Next::Background => (false, false),
        };
        (next, rest) = (this, behind);
        decides[index] = this && !is_optional;
    }
    decides
}

/// For each command, whether it is left to run in the background, alone or in a row of several.
fn left(commands: &[Command]) -> Vec<bool> {
    let mut left = vec![false; commands.len()];
    let (mut is_waited_for, mut behind) = (false, false);
    for (index, command) in commands.iter().enumerate().rev() {
        behind = match command.simple.then {
            Next::Background => !is_waited_for,
            Next::And | Next::Or | Next::Pipe => behind,
            Next::End | Next::Then => false,
        };
        left[index] = behind || command.is_left || is_detached(command.wrapping());
        is_waited_for |= matches!(&*command.name(), "wait" | "fg");
    }
    left
}

/// Whether what a command is wrapped in starts it and does not wait for it: `docker run -d`, `systemd-run`.
fn is_detached(wrapper: &[String]) -> bool {
    const CONTAINERS: &str = "docker docker-compose podman podman-compose nerdctl";
    let mut at = wrapper.iter().enumerate();
    at.any(|(at, program)| {
        let mut options = wrapper[at + 1..]
            .iter()
            .take_while(|word| !is_in(&base(word), CONTAINERS));
        match &*base(program) {
            "systemd-run" => !options.any(|option| is_in(option, "--scope --wait --pty --pipe -t -P")),
            name if is_in(name, CONTAINERS) => options.any(|option| {
                // `-itd`
                let letters = option.strip_prefix('-').unwrap_or_default();
                is_in(option, "--detach --detach=true")
                    || letters.contains('d') && letters.bytes().all(|letter| b"ditT".contains(&letter))
            }),
            _ => false,
        }
    })
}

/// For each command, whether a pipe behind it shows the end of what it prints.
fn seen(commands: &[Command]) -> Vec<bool> {
    let mut seen = vec![false; commands.len()];
    for (index, pair) in commands.windows(2).enumerate().rev() {
        let goes_on = pair[1].simple.then != Next::Pipe || seen[index + 1];
        seen[index] = pair[0].simple.then == Next::Pipe && is_in(&pair[1].name(), "tail tee cat") && goes_on;
    }
    seen
}

#[cfg(test)]
mod tests;
