//! What a line that failed has done to files all the same: what stands before the command that has failed.
//!
//! Which command that is nobody records, so it is told from the answer: a check shows that it ran, and those that change files
//! fail with no other word than a line that begins with their name. Where neither says anything, nothing is known to be done.

use super::{Effect, effects};
use crate::answer::was_refused;
use crate::command::git::Git;
use crate::command::{Command, CommandLine, Script};
use crate::failing::{printed, within_frame};
use crate::message::ToolResult;
use crate::shell::Next;
use crate::testrun::Line;
use crate::verdict::{self, Verdict};
use crate::word_list::is_in;
use crate::wrapped::base;
use std::borrow::Cow;
use std::ops::Range;

/// Programs that say under their name why they have failed.
const COMPLAINING: &str = "mv cp rm mkdir rmdir touch ln chmod cat echo printf tee sed awk gawk sort uniq tr cut head tail wc ls \
                           : true cd pushd popd export unset sleep pwd";
/// The same of what Git is asked to do, which says it under a word of its own.
const OF_GIT: &str = "add mv rm restore";
/// What begins commands that may not be run, or more than once.
const BLOCKS: &str =
    "if then elif else fi while until for do done case esac select foreach begin end function { } exec eval";
/// What ends a line before its end.
const ENDING: &str = "exit return set trap kill";

/// Of longer lines, in commands, nothing is known: for each of them the whole answer is looked through.
const MOST: usize = 50;

/// What a line that failed has done to files for sure, in its order. Of commits, and of what is put aside, others tell.
pub(crate) fn done(line: &CommandLine, result: &ToolResult) -> Vec<Effect> {
    let is_told = |effect: &Effect| !matches!(effect, Effect::Commit(_) | Effect::Stash { .. } | Effect::Unstash);
    if result.success != Some(false) || was_refused(result) || !line.effects().iter().any(is_told) {
        return Vec::new();
    }
    let mut script = Script::read(line.as_str());
    while let [only] = &mut script.commands[..]
        && let Some(inner) = only.script.take()
    {
        script = inner;
    }
    let answer = Answer::of(result, line.as_str());
    let commands = before_failure(line, &script.commands, &answer, result);
    let mut found = effects(&Script {
        commands,
        ..Script::default()
    });
    found.retain(is_told);
    found
}

/// The commands that are known to have been done.
fn before_failure(line: &CommandLine, commands: &[Command], answer: &Answer<'_>, result: &ToolResult) -> Vec<Command> {
    let units = pipelines(commands);
    let mut done: Vec<Command> = Vec::new();
    if !(2..=MOST).contains(&units.len()) || !answer.tells {
        return done;
    }
    let reached = reached(line, commands, &units, result);
    let mut runs = true;
    // Something has failed, so the last one is known for nothing.
    for (unit, reached) in units[..units.len() - 1].iter().zip(&reached) {
        let commands = &commands[unit.clone()];
        let Some(last) = commands.last() else { break };
        if commands.iter().any(begins_block) {
            break;
        }
        runs |= reached.is_run;
        let is_done = runs && (reached.is_well || answer.shows_well(commands)) && last.simple.then != Next::Background;
        if is_done {
            // They were run, whatever the end of the line says of them.
            done.extend(commands.iter().cloned().map(|mut command| {
                command.is_sure = true;
                command
            }));
        }
        runs = match last.simple.then {
            Next::And => is_done,
            Next::Or => false,
            _ => is_done || !answer.may_end_early,
        };
    }
    done
}

/// What checks show of a pipeline.
#[derive(Clone, Copy, Default)]
struct Reached {
    is_run: bool,
    is_well: bool,
}

/// What the checks of a line show: those that have passed, and those before any that has begun, as far as `&&` joins them.
fn reached(line: &CommandLine, commands: &[Command], units: &[Range<usize>], result: &ToolResult) -> Vec<Reached> {
    let mut found = vec![Reached::default(); units.len()];
    let said = line.said();
    let counts = units.iter().map(|unit| Line::of_part(&commands[unit.clone()]));
    let counts: Vec<usize> = counts.collect();
    // Where a check was read of more than one command, nobody knows whose it is.
    if said.checks.is_empty() || counts.iter().sum::<usize>() != said.checks.len() {
        return found;
    }
    let mut verdicts: Vec<Verdict> = said.checks.iter().map(|check| verdict::of(check, result)).collect();
    let unbegun = verdict::settle(said, &mut verdicts, result);
    let mut first = 0;
    for (reached, count) in found.iter_mut().zip(counts) {
        let own = first..first + count;
        first += count;
        let has_passed = |at: usize| verdicts[at] == Verdict::Passed;
        let has_begun = |at: usize| !unbegun.contains(&at) && verdict::has_begun(said, at, result);
        reached.is_well = count == 1 && has_passed(own.start);
        reached.is_run = own.into_iter().any(|at| has_passed(at) || has_begun(at));
    }
    let then = |unit: &Range<usize>| commands[unit.clone()].last().map_or(Next::End, |last| last.simple.then);
    for at in (1..units.len()).rev() {
        let mut before = units[..at].iter().rev().map(then);
        let is_gate = found[at].is_run && then(&units[at - 1]) == Next::And;
        let mut list = before.by_ref().take_while(|then| matches!(then, Next::And | Next::Or));
        if is_gate && !list.any(|then| then == Next::Or) {
            found[at - 1] = Reached {
                is_run: true,
                is_well: true,
            };
        }
    }
    found
}

/// The commands, by those that `|` joins.
fn pipelines(commands: &[Command]) -> Vec<Range<usize>> {
    let mut start = 0;
    let ends = (0..commands.len()).filter(|at| commands[*at].simple.then != Next::Pipe);
    ends.map(|at| std::mem::replace(&mut start, at + 1)..at + 1).collect()
}

fn begins_block(command: &Command) -> bool {
    let first = command.simple.words.first();
    first.is_some_and(|word| is_in(word, BLOCKS)) || command.is_inverted
}

/// What the answer to a line that failed says of its commands.
struct Answer<'a> {
    texts: Vec<Cow<'a, str>>,
    /// It shows what was printed, and that the line was run.
    tells: bool,
    /// What complains may do so where nobody sees it.
    hides: bool,
    /// The line may have ended before its end.
    may_end_early: bool,
    /// The status of a pipeline may be that of any of its commands.
    is_any: bool,
}

impl<'a> Answer<'a> {
    fn of(result: &'a ToolResult, line: &str) -> Self {
        const UNREAD: &[&str] = &[
            "syntax error",
            "parse error",
            "unexpected EOF",
            "unexpected token",
            "nmatched",
            "no matches found",
            "event not found",
            "unbound variable",
            "ENOENT",
            "spawn ",
            "sandbox",
        ];
        const STOPPED: &[&str] = &[
            "timed out",
            "timeout",
            "killed",
            "interrupt",
            "abort",
            "terminated",
            "signal",
        ];
        let texts = result.texts().map(|text| &text.body).chain(&result.error);
        let texts: Vec<Cow<'_, str>> = texts.map(|text| printed(text.as_str())).collect();
        let has = |signs: &[&str]| texts.iter().any(|text| signs.iter().any(|sign| text.contains(sign)));
        let is_stopped = || {
            let mut texts = texts.iter().map(|text| text.to_ascii_lowercase());
            texts.any(|text| STOPPED.iter().any(|sign| text.contains(sign)))
        };
        let shows = texts
            .iter()
            .flat_map(|text| text.lines())
            .any(|line| within_frame(line).is_some());
        let may_end_early = line.contains(['(', '{'])
            || line
                .split(|c: char| !c.is_alphanumeric())
                .any(|word| is_in(word, ENDING))
            || is_stopped();
        let is_hidden = |behind: &str| !behind.starts_with("&1");
        Answer {
            tells: shows && !has(UNREAD),
            hides: line.contains("&>") || line.split("2>").skip(1).any(is_hidden),
            may_end_early,
            is_any: line.contains("pipefail"),
            texts,
        }
    }

    /// Whether commands that `|` joins, which were run, would have said so if they had failed.
    fn shows_well(&self, commands: &[Command]) -> bool {
        let Some(last) = commands.last().filter(|_| !self.hides) else {
            return false;
        };
        let would_say = |command: &Command| match Git::of(command) {
            Some(git) => is_in(git.verb, OF_GIT),
            None => !command.is_elsewhere && command.script.is_none() && is_in(&command.name(), COMPLAINING),
        };
        let is_known = match self.is_any {
            true => commands.iter().all(would_say),
            false => would_say(last),
        };
        is_known && !commands.iter().any(|command| self.complains(command))
    }

    fn complains(&self, command: &Command) -> bool {
        const SHELLS: &str = "bash -bash sh zsh dash ksh fish (eval)";
        let name = command.name();
        let wrapping = command.wrapping().iter().map(|word| base(word));
        let names: Vec<Cow<'_, str>> = wrapping.chain([name]).filter(|name| !name.is_empty()).collect();
        let says = |line: &str| {
            let line = line.trim_start();
            let Some((who, what)) = line.split_once(':') else {
                return false;
            };
            let who = base(who.trim_end());
            if who.eq_ignore_ascii_case("usage") || is_in(&who, SHELLS) {
                let mut words = what.split([' ', ':', ',', '\'', '"', '`']);
                let is_target = |word: &str| command.simple.outputs.iter().any(|output| output == word);
                return words.any(|word| names.iter().any(|name| name == word) || is_target(word));
            }
            // Git says it under words of its own.
            let is_of_git = || command.name() == "git" && is_in(&who, "fatal error");
            names.contains(&who) || is_of_git()
        };
        !names.is_empty()
            && self
                .texts
                .iter()
                .flat_map(|text| text.lines())
                .filter_map(within_frame)
                .any(says)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What a line that failed is known to have done: `+` a file that is written, `-` one that is taken away, `>` a new name.
    fn done_by(line: &str, says: &str) -> String {
        let done = done(&CommandLine::new(line), &ToolResult::new("1", Some(false), says));
        let told = done.into_iter().map(|effect| match effect {
            Effect::Write(path, _) => format!("+{path}"),
            Effect::Remove(path) => format!("-{path}"),
            Effect::Move { from, to, .. } => format!("{from}>{to}"),
            other => format!("{other:?}"),
        });
        told.collect::<Vec<_>>().join(" ")
    }

    const RED: &str = "Exit code 1\nFAIL ui/b.spec.tsx\nTests: 1 failed, 3 passed, 4 total";

    #[test]
    fn what_stands_before_a_command_that_failed_is_done() {
        let table = [
            ("mv a b && npm test", RED, "a>b"),
            ("mv a b\nnpm test", RED, "a>b"),
            ("cd ui && git mv a b && npm test", RED, "ui/a>ui/b"),
            ("rm ui/a.ts; npm test", RED, "-ui/a.ts"),
            ("sed -i s/a/b/ x.py && pytest", "1 failed, 3 passed", "+x.py"),
            (
                "cat > run.py <<'E'\nprint(1/0)\nE\npython run.py",
                "ZeroDivisionError: division by zero",
                "+run.py",
            ),
            ("mv a b && ./x", "boom", "a>b"),
            ("mv a b && rm c && ./x && rm d", "boom", "a>b -c"),
            ("bash -lc 'mv a b && npm test'", RED, "a>b"),
            // What is run whatever came of the one before it.
            ("./x; rm a; npm test", RED, "-a"),
            // A check that has passed lets others follow, and one that has begun says that others have succeeded.
            (
                "npm test && rm a && git push",
                "Tests: 4 passed, 4 total\nerror: failed to push some refs",
                "-a",
            ),
            ("npm ci && rm a && npm test", RED, "-a"),
            (
                "grep -q x y && git checkout -- a.py && npm test",
                RED,
                "PutBack(Path(\"a.py\"))",
            ),
        ];
        for (line, says, expected) in table {
            assert_eq!(done_by(line, says), expected, "{line}: {says}");
        }
    }

    #[test]
    fn where_nobody_knows_what_has_failed_nothing_is_done() {
        let table = [
            ("mv a b && npm test", "mv: cannot stat 'a': No such file or directory"),
            (
                "mv a b && npm test",
                "/bin/mv: cannot stat 'a': No such file or directory",
            ),
            (
                "cd ui && mv a b && npm test",
                "bash: line 1: cd: ui: No such file or directory",
            ),
            ("echo x > d/a && npm test", "bash: d/a: No such file or directory"),
            ("sudo rm a && npm test", "sudo: a password is required"),
            ("git mv a b && npm test", "fatal: bad source, source=a, destination=b"),
            ("mv a b && npm test", ""),
            ("mv a b; npm test", "Exit code 1"),
            ("mv a b; npm test", "bash: syntax error near unexpected token `;'"),
            ("mv a b 2>/dev/null && npm test", "boom"),
            ("./x && rm a && ./y", "boom"),
            ("./x || rm a; npm test", RED),
            ("rm b || rm a; npm test", "rm: b: No such file or directory"),
            ("set -e; ./x; rm a; ./y", "boom"),
            ("./x || exit 1; rm a; ./y", "boom"),
            ("./x && (./y; rm a); ./z", "boom"),
            ("./x; rm a; ./y", "Command timed out after 120 s"),
            ("if ./x; then rm a; fi; npm test", RED),
            ("for f in a; do rm b; done; npm test", RED),
            ("rm a", "Killed"),
            ("npm test; rm a", RED),
            ("ssh h rm a; npm test", RED),
        ];
        for (line, says) in table {
            assert_eq!(done_by(line, says), "", "{line}: {says}");
        }
    }

    proptest! {
        #[test]
        fn no_line_is_too_odd(
            line in r#"(mv a b|rm c|sed -i s/a/b/ d|npm test|cat > e <<E|\nE\n|[(){}!]|if|fi|bash -c '|'| && | \|\| |;|\||&|2>|é){0,20}"#,
            says in "(mv: |bash: |1 failed|boom|\n|:|é){0,8}",
        ) {
            let all = effects(&Script::read(&line));
            let done = done(&CommandLine::new(&line), &ToolResult::new("1", Some(false), says.as_str()));
            prop_assert!(done.len() <= all.len() || !says.is_empty());
        }
    }
}
