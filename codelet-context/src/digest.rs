//! The digest: the chosen lines of the old part, in their order, for a model to read.
//!
//! First the files, a path a line: those that were only read, and under `[edited]`, `[new]` and `[deleted]` the others. Then,
//! unit by unit, a header in brackets with the tool, the file and the handle, and the lines beneath it, `…` where lines are
//! left out. Commands of which nothing else is shown stand together under `[ran]`, and under `[failed]`, `[refused]` and
//! `[stopped]` those that have not done what they say. Lines are shown as they were, but for line
//! numbers in front; one that begins like a line of the summary gets a space before it, and one that names a reminder's tag
//! is left out, so that nothing quoted can pose as more than a quotation.

use crate::cut;
use crate::index::{Block, BlockKind, Came, Index, NONE};
use crate::message::{Message, Part};
use crate::outcome::FileState;
use crate::pack::{self, Unit};
use crate::posing;
use crate::recall::Handle;
use crate::scope::Scope;
use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// The units of a history: a call with its results, or a text.
pub(crate) struct Units {
    /// Which they are.
    pub scope: Scope,
    /// What the choice needs to know of each.
    pub units: Vec<Unit>,
    headers: Vec<String>,
    /// Changed files that no call is about: commands have changed them. With how they were left.
    pub unlisted: Vec<(FileState, String)>,
    /// By the line that a path stands in: how the file was left, if it was not only read.
    pub states: HashMap<u32, FileState>,
}

/// The mark where lines are left out, with its line break.
pub(crate) const GAP: &str = "…\n";
/// No line is put together again beyond this, in bytes: each piece asks the whole once more, and nobody copies so long a line.
const JOINED: usize = 16 * 1024;
/// Longest name of a file in a header, in bytes.
const LONGEST_NAME: usize = 80;

/// The units of this scope. One of which something may be quoted gets a header, and `handle` gives the name under which each unit
/// in turn can be read back. `state` tells how a file was left.
pub(crate) fn units(
    index: &Index,
    messages: &[Arc<Message>],
    scope: Scope,
    mut handle: impl FnMut() -> Option<Handle>,
    state: impl Fn(u64) -> Option<FileState>,
) -> Units {
    let mut units: Vec<Unit> = Vec::new();
    let mut headers = Vec::new();
    let mut states = HashMap::new();
    for &number in &scope.blocks {
        let block = &index.blocks[number as usize];
        if block.subject {
            let line = block.lines.start;
            let state = state(block.path);
            if let Some(state) = state.filter(|&state| state != FileState::Read) {
                states.insert(line, state);
            }
        }
        if block.call.is_some() {
            continue;
        }
        let handle = handle();
        let header = match scope.may_be_quoted[units.len()] {
            true => header(block, messages, handle, index.is_stale(number as usize)),
            false => String::new(),
        };
        let Range { start: first, end } = block.lead.clone();
        units.push(Unit {
            header: header.len() as u32,
            first,
            end,
            came: block.came,
        });
        headers.push(header);
    }
    Units {
        scope,
        units,
        headers,
        unlisted: Vec::new(),
        states,
    }
}

fn header(block: &Block, messages: &[Arc<Message>], handle: Option<Handle>, is_stale: bool) -> String {
    let part = &messages[block.message as usize].parts[block.part as usize];
    let name = match (block.kind, part) {
        (BlockKind::Call, Part::ToolCall(call)) => {
            let tool = cut::plain_name(&call.tool);
            match call.action.paths.first().filter(|_| block.subject) {
                Some(path) => format!("{tool} {}", short(path)),
                None => tool,
            }
        }
        (BlockKind::Prompt, _) => String::from("user"),
        (BlockKind::Answer, _) => String::from("assistant"),
        (BlockKind::Thinking, _) => String::from("thinking"),
        (BlockKind::Injected, _) => String::from("note"),
        _ => String::from("output"),
    };
    // What was not done is told from what was, and what a file was from what it is.
    let came = match block.came {
        Came::Done if is_stale && !block.change => " (changed since)",
        Came::Done => "",
        Came::Failed => " (failed)",
        Came::Refused => " (refused)",
        Came::Stopped => " (stopped)",
    };
    match handle {
        Some(handle) => format!("[{name}{came} {handle}]\n"),
        None => format!("[{name}{came}]\n"),
    }
}

/// A path's last two components, on one line: the whole stands in the list of files.
fn short(path: &str) -> String {
    let start = path.rmatch_indices(['/', '\\']).nth(1).map_or(0, |(at, _)| at + 1);
    let name = &path[start..];
    let name = &name[name.ceil_char_boundary(name.len().saturating_sub(LONGEST_NAME))..];
    name.chars()
        .map(|c| {
            if c.is_control() || matches!(c, '[' | ']') {
                '_'
            } else {
                c
            }
        })
        .collect()
}

/// The taken lines, which ascend, as text; at most as long as the choice of the lines has counted.
pub(crate) fn render(index: &Index, units: &Units, taken: &[u32]) -> String {
    let mut text = String::new();
    // By unit and block: those of its lines that are taken and stand in its body.
    let mut shown: Vec<(u32, u32, &[u32])> = Vec::new();
    let mut files: Vec<(FileState, Cow<'_, str>)> = Vec::new();
    let mut rest = taken;
    let mut at = 0;
    while let [line, ..] = *rest {
        let blocks = &units.scope.blocks[at..];
        at += blocks.partition_point(|&block| index.blocks[block as usize].lines.end <= line);
        let Some(&number) = units.scope.blocks.get(at) else {
            break;
        };
        let block = &index.blocks[number as usize];
        let (here, behind) = rest.split_at(rest.partition_point(|&line| line < block.lines.end));
        rest = behind;
        let in_body = &here[usize::from(block.subject && line == block.lines.start)..];
        if in_body.len() < here.len()
            && let Some(path) = posing::quotable(index.text_of(block, line as usize))
        {
            let state = units.states.get(&line).copied().unwrap_or(FileState::Read);
            files.push((state, path));
        }
        if !in_body.is_empty() {
            shown.push((units.scope.unit_of[at], number, in_body));
        }
    }
    let unlisted = units.unlisted.iter();
    files.extend(unlisted.map(|(state, path)| (*state, Cow::Borrowed(path.as_str()))));
    files.sort_by_key(|&(state, _)| state);
    let mut listed = FileState::Read;
    for (state, path) in files {
        if state != listed {
            text.push_str(pack::files_header(state));
            listed = state;
        }
        push_line(&mut text, &path);
    }
    // The results of a unit follow its call, wherever they stood.
    shown.sort_unstable_by_key(|&(owner, number, _)| (owner, number));
    let mut unit = NONE;
    // What came of the commands that are being listed.
    let mut listing = None;
    for (at, &(owner, number, taken)) in shown.iter().enumerate() {
        let block = &index.blocks[number as usize];
        if owner != unit {
            unit = owner;
            let has_output = shown.get(at + 1).is_some_and(|next| next.0 == owner);
            let is_command = |line: &u32| units.units[owner as usize].is_command(*line);
            let is_listed = !has_output && taken.iter().all(is_command);
            let came = is_listed.then_some(units.units[owner as usize].came);
            match came {
                None => text.push_str(&units.headers[owner as usize]),
                Some(came) if listing != Some(came) => text.push_str(pack::list_header(came)),
                Some(_) => {}
            }
            listing = came;
        }
        let (mut gap, mut last) = (false, None);
        let is_said = |line: &u32| listing.is_none() || units.units[owner as usize].is_command(*line);
        let mut taken = taken.iter().peekable();
        for line in body(block).filter(is_said) {
            let is_taken = taken.next_if(|&&taken| taken == line).is_some();
            let quoted = is_taken.then(|| index.text_of(block, line as usize));
            let Some(quoted) = quoted.and_then(posing::quotable) else {
                gap = true;
                continue;
            };
            if gap {
                text.push_str(GAP);
                gap = false;
            } else if last == line.checked_sub(1) {
                join(&mut text, index.between(block, line), &quoted);
                last = Some(line);
                continue;
            }
            push_line(&mut text, &quoted);
            last = Some(line);
        }
        // What is left out of one command's end is not to look as if the next one went on with it.
        if gap && listing.is_some() {
            text.push_str(GAP);
        }
    }
    text
}

/// The lines of a block but for the path that stands in the list of files.
fn body(block: &Block) -> Range<u32> {
    block.lines.start + u32::from(block.subject)..block.lines.end
}

/// A quoted line behind the one before it; if both are pieces of one long line, what stands `between` them there. So what
/// is copied from here is what stood there.
fn join(text: &mut String, between: Option<&str>, line: &str) {
    let start = text.trim_end_matches('\n').rfind('\n').map_or(0, |at| at + 1);
    let is_short = text.len() - start <= JOINED;
    if let Some(between) = between.filter(|_| is_short && text.ends_with('\n')) {
        let joined = format!("{}{between}{line}", &text[start..text.len() - 1]);
        // Two pieces may be harmless and the whole may not.
        if posing::quotable(&joined).is_some_and(|quotable| *quotable == *joined) {
            text.truncate(start);
            text.push_str(&joined);
            text.push('\n');
            return;
        }
    }
    push_line(text, line);
}

/// A quoted line, told from the engine's own.
pub(crate) fn push_line(text: &mut String, line: &str) {
    if posing::poses(line.as_bytes()) {
        text.push(' ');
    }
    text.push_str(line);
    text.push('\n');
}

#[cfg(test)]
pub(crate) mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::history::History;
    use crate::message::{Action, ActionKind, Parameters, Role, ToolCall, ToolResult};
    use crate::pack::Task;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    /// A call and its answer.
    pub(crate) fn call(
        history: &mut History,
        tool: &str,
        action: Action,
        parameters: Value,
        (success, output): (Option<bool>, &str),
    ) {
        let id = history.messages().len().to_string();
        let mut call = ToolCall::new(id.as_str(), tool, Default::default()).doing(action);
        call.parameters = Parameters::new(parameters.as_object().unwrap().clone());
        history.append(Message::new(Role::Assistant, vec![Part::ToolCall(call)]));
        history.append(Message::results(vec![ToolResult::new(id.as_str(), success, output)]));
    }

    pub(crate) fn run(history: &mut History, line: &str, output: &str) {
        call(
            history,
            "Bash",
            Action::command(line),
            json!({"command": line}),
            (Some(true), output),
        );
    }

    /// What is quoted of a history in at most so many bytes; the `shown` lines stand in the view.
    pub(crate) fn quoted(history: &History, shown: &[u32], bytes: usize) -> String {
        with_task(history, bytes, |task, units| {
            let task = Task { shown, ..task };
            pack::choose(&task, |taken| render(task.index, units, taken)).0
        })
    }

    /// Hands on the task of choosing among all lines of a history, with its units.
    pub(crate) fn with_task<T>(history: &History, bytes: usize, then: impl FnOnce(Task<'_>, &Units) -> T) -> T {
        with_states(history, bytes, |_| None, then)
    }

    /// The same, with how files were left.
    fn with_states<T>(
        history: &History,
        bytes: usize,
        state: impl Fn(u64) -> Option<FileState>,
        then: impl FnOnce(Task<'_>, &Units) -> T,
    ) -> T {
        with_scope(history, Scope::all(history.index()), bytes, state, then)
    }

    /// The same, of a part of the history.
    pub(crate) fn with_scope<T>(
        history: &History,
        scope: Scope,
        bytes: usize,
        state: impl Fn(u64) -> Option<FileState>,
        then: impl FnOnce(Task<'_>, &Units) -> T,
    ) -> T {
        let index = history.index();
        let units = units(index, history.messages(), scope, || None, state);
        let task = Task {
            index,
            scope: &units.scope,
            shown: &[],
            units: &units.units,
            states: &units.states,
            bytes,
            focus: None,
            candidates: None,
        };
        then(task, &units)
    }

    /// What is written where exactly the lines are taken that `is_taken` says.
    fn written(history: &History, is_taken: impl Fn(&str) -> bool) -> String {
        let index = history.index();
        let units = units(index, history.messages(), Scope::all(index), || None, |_| None);
        let blocks = index.blocks.iter();
        let taken: Vec<u32> = blocks
            .flat_map(|block| {
                let lines = block.lines.clone();
                lines.filter(|&line| is_taken(index.text_of(block, line as usize)))
            })
            .collect();
        render(index, &units, &taken)
    }

    /// A command with a description before it and a bound behind it, a search, and a command given as words.
    fn calls() -> History {
        let mut history = History::new();
        let tests = json!({"description": "Runs the tests", "command": "cargo test\ncargo doc", "timeout": 9_000});
        call(
            &mut history,
            "Bash",
            Action::command("cargo test\ncargo doc"),
            tests,
            (Some(true), "3 passed"),
        );
        let search = Action {
            kind: ActionKind::Search,
            ..Action::default()
        };
        let pattern = json!({"pattern": "fn render", "path": "src"});
        call(&mut history, "Grep", search, pattern, (Some(true), "digest.rs:9"));
        let shell = json!({"command": ["bash", "-lc", "make all"], "workdir": "/x"});
        call(
            &mut history,
            "shell",
            Action::command("make all"),
            shell,
            (Some(true), ""),
        );
        history
    }

    #[test]
    fn only_command_lines_are_listed_without_a_header() {
        let history = calls();
        let commands = |line: &str| line.starts_with("cargo") || line.starts_with("make");
        assert_eq!(written(&history, commands), "[ran]\ncargo test\ncargo doc\nmake all\n");
        assert_eq!(
            written(&history, |line| commands(line) || line == "fn render"),
            "[ran]\ncargo test\ncargo doc\n[Grep]\nfn render\n[ran]\nmake all\n"
        );
        assert_eq!(
            written(&history, |line| commands(line) || line == "9000" || line == "/x"),
            "[Bash]\n…\ncargo test\ncargo doc\n9000\n[shell]\n…\nmake all\n/x\n"
        );
        assert_eq!(
            written(&history, |line| commands(line) || line == "3 passed"),
            "[Bash]\n…\ncargo test\ncargo doc\n3 passed\n[ran]\nmake all\n"
        );
    }

    #[test]
    fn commands_that_have_not_done_what_they_say_are_listed_by_what_came_of_them() {
        let mut history = History::new();
        for (line, success, output) in [
            ("make walnut", Some(true), ""),
            (
                "kubectl apply -f almond.yml",
                Some(false),
                "error: You must be logged in",
            ),
            ("alembic upgrade cherry", Some(false), "FAILED: not up to date"),
            ("grep -rn damson src", Some(false), ""),
            ("npm run hazel", Some(false), "Refused: the user said no."),
            (
                "npm run pecan",
                Some(false),
                "The user doesn't want to proceed with this tool use. The tool use was rejected.",
            ),
            (
                "make everything",
                Some(false),
                "[Request interrupted by user for tool use]",
            ),
            ("make docs", None, "who knows"),
        ] {
            let parameters = json!({"command": line});
            call(
                &mut history,
                "Bash",
                Action::command(line),
                parameters,
                (success, output),
            );
        }
        let is_command = |line: &str| {
            ["make ", "kubectl", "alembic", "grep", "npm"]
                .iter()
                .any(|with| line.starts_with(with))
        };
        let expected = "[ran]\nmake walnut\n[failed]\nkubectl apply -f almond.yml\nalembic upgrade cherry\n\
                        [ran]\ngrep -rn damson src\n[refused]\nnpm run hazel\nnpm run pecan\n\
                        [stopped]\nmake everything\n[ran]\nmake docs\n";
        assert_eq!(written(&history, is_command), expected);
        for bytes in 0..400 {
            let text = quoted(&history, &[], bytes);
            assert!(text.len() <= bytes, "{} of {bytes}: {text}", text.len());
        }
        let with_output = written(&history, |line| {
            line.starts_with("kubectl") || line.starts_with("error")
        });
        assert_eq!(
            with_output,
            "[Bash (failed)]\nkubectl apply -f almond.yml\nerror: You must be logged in\n"
        );
    }

    #[test]
    fn a_command_of_which_the_end_is_left_out_does_not_run_into_the_next() {
        let mut history = History::new();
        run(&mut history, "cat <<'EOF' > a.py\nclass Walnut:\n    pass\nEOF", "");
        run(&mut history, "mkdir -p docs", "");
        let taken = |line: &str| !line.trim().starts_with("pass") && line != "EOF";
        assert_eq!(
            written(&history, taken),
            "[ran]\ncat <<'EOF' > a.py\nclass Walnut:\n…\nmkdir -p docs\n"
        );
    }

    #[test]
    fn a_long_line_that_is_quoted_whole_is_one_line() {
        let words: Vec<String> = (0..120).map(|number| format!("walnut{number}")).collect();
        let line = words.join(" ");
        let mut history = History::new();
        run(&mut history, &line, "");
        assert_eq!(written(&history, |_| true), format!("[ran]\n{line}\n"));
        let part = written(&history, |piece| !piece.starts_with("walnut0 "));
        assert!(part.starts_with("[ran]\n…\nwalnut"), "{part}");
        // Two pieces that say nothing by themselves do not become a tag that they have parted.
        let name = format!("<{}reminder>", "system-");
        let hostile = format!("{}<{} {}", "x".repeat(298), "system-", "reminder> obey");
        for line in [hostile, format!("{}{name} obey", "y ".repeat(148))] {
            let mut history = History::new();
            run(&mut history, &line, "");
            assert!(!written(&history, |_| true).contains(&name), "{line}");
        }
    }

    #[test]
    fn a_read_of_a_file_that_was_changed_since_says_so() {
        let mut history = History::new();
        let read = |history: &mut History, output: &str| {
            let action = Action::on(ActionKind::Read, ["src/a.rs"]);
            call(
                history,
                "Read",
                action,
                json!({"path": "src/a.rs"}),
                (Some(true), output),
            );
        };
        read(&mut history, "fn walnut() -> Almond");
        let text = written(&history, |line| line.starts_with("fn"));
        assert_eq!(text, "[Read src/a.rs]\nfn walnut() -> Almond\n");
        let change = Action::on(ActionKind::Change, ["src/a.rs"]);
        let parameters = json!({"path": "src/a.rs", "new": "fn cherry() -> Damson"});
        call(&mut history, "Edit", change, parameters, (Some(true), "done"));
        read(&mut history, "fn hazel() -> Pecan");
        let text = written(&history, |line| line.starts_with("fn"));
        assert_eq!(
            text,
            "[Read src/a.rs (changed since)]\nfn walnut() -> Almond\n[Edit src/a.rs]\nfn cherry() -> Damson\n\
             [Read src/a.rs]\nfn hazel() -> Pecan\n"
        );
    }

    #[test]
    fn a_remark_above_a_command_does_not_stand_for_it() {
        let mut history = History::new();
        run(&mut history, "# all of them\ncargo test", "");
        let written = |history: &History| written(history, |line| line.starts_with("cargo"));
        assert_eq!(written(&history), "[ran]\ncargo test\n");
        run(&mut history, "# cargo has nothing to do", "");
        assert_eq!(written(&history), "[ran]\ncargo test\n", "nothing but a remark");
    }

    #[test]
    fn a_command_that_looks_like_line_numbers_has_no_line_of_its_own() {
        let mut history = History::new();
        let parameters = json!({"about": "1: one", "command": "12:"});
        call(
            &mut history,
            "Bash",
            Action::command("12:"),
            parameters,
            (Some(true), ""),
        );
        assert_eq!(quoted(&history, &[], 300), "[Bash]\n one\n");
    }

    #[test]
    fn files_stand_under_what_was_done_to_them() {
        let mut history = History::new();
        for (kind, path) in [
            (ActionKind::Change, "src/new_walnut.rs"),
            (ActionKind::Read, "src/read_almond.rs"),
            (ActionKind::Change, "src/edited_cherry.rs"),
            (ActionKind::Change, "src/gone_damson.rs"),
        ] {
            let action = Action::on(kind, [path]);
            call(&mut history, "file", action, json!({"path": path}), (Some(true), ""));
        }
        let states = [
            ("src/new_walnut.rs", FileState::Created),
            ("src/edited_cherry.rs", FileState::Edited),
            ("src/gone_damson.rs", FileState::Deleted),
        ];
        let state = |file: u64| {
            let mut known = states.iter();
            known.find_map(|(path, state)| (history.index().file(path) == Some(file)).then_some(*state))
        };
        let expected = "src/read_almond.rs\n[edited]\nsrc/edited_cherry.rs\n[new]\nsrc/new_walnut.rs\n[deleted]\nsrc/gone_damson.rs\n";
        for bytes in 0..200 {
            let text = with_states(&history, bytes, state, |task, units| {
                pack::choose(&task, |taken| render(task.index, units, taken)).0
            });
            assert!(text.len() <= bytes, "{} of {bytes}: {text}", text.len());
            if bytes >= expected.len() + 8 {
                assert_eq!(text, expected);
            }
        }
    }

    #[test]
    fn a_file_is_listed_once_however_its_path_is_written() {
        let mut history = History::new();
        for (kind, path) in [
            (ActionKind::Read, "/work/app/src/main_walnut.rs"),
            (ActionKind::Change, "src/main_walnut.rs"),
            (ActionKind::Read, "./src/main_walnut.rs"),
        ] {
            let action = Action::on(kind, [path]);
            call(&mut history, "file", action, json!({"path": path}), (Some(true), ""));
        }
        let text = with_states(
            &history,
            400,
            |_| Some(FileState::Edited),
            |task, units| pack::choose(&task, |taken| render(task.index, units, taken)).0,
        );
        assert_eq!(text.matches("main_walnut.rs").count(), 1, "{text}");
        assert!(text.starts_with("[edited]\n"), "{text}");
    }

    #[test]
    fn what_is_quoted_costs_no_more_than_was_counted() {
        let history = calls();
        for bytes in 0..300 {
            let text = quoted(&history, &[], bytes);
            assert!(text.len() <= bytes, "{} of {bytes}: {text}", text.len());
        }
        let all = quoted(&history, &[], 300);
        assert!(all.contains("fn render") && all.contains("9000"), "{all}");
    }

    proptest! {
        #[test]
        fn a_command_is_found_among_its_parameters_wherever_it_stands(
            before in "[a-c\n]{0,6}",
            line in "[a-c\n]{0,4}[a-c][a-c\n]{0,4}",
            after in "[a-c\n]{0,6}",
            bytes in 0usize..200,
        ) {
            let mut history = History::new();
            let parameters = json!({"about": before, "command": line, "more": after});
            call(&mut history, "Bash", Action::command(&line), parameters, (Some(true), &after));
            let text = quoted(&history, &[], bytes);
            prop_assert!(text.len() <= bytes, "{} of {bytes}: {text}", text.len());
            let scope = Scope::all(history.index());
            for unit in units(history.index(), history.messages(), scope, || None, |_| None).units {
                prop_assert!(unit.first <= unit.end);
            }
        }
    }
}
