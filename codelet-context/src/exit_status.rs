//! The exit status that a harness states in the text of a command's result.
//!
//! Requests have no field for it, so agents write it before or behind what the command printed, each in its own words. A
//! program prints what it likes, too. So only what stands around the output can count, in the first or last lines; a line
//! that stands for itself (`Exit code 1`) only as the very first or last one. Which of these the harness writes, the other
//! results of the file show.

mod loose;

use serde_json::{Map, Value};

/// Lines that are looked at from each end at most, blank ones not counted.
const MOST_LINES: usize = 8;
/// Longer lines state nothing.
const LONGEST_LINE: usize = 400;

/// Names of fields and tags that hold an exit status.
const NAMES: [&str; 8] = [
    "exitCode",
    "exit_code",
    "exitcode",
    "returncode",
    "return_code",
    "returnCode",
    "exit_status",
    "exitStatus",
];
/// Other names of it that are clear beside what a program has printed, and that are so beside its two streams.
const BESIDE: [&str; 3] = ["exit", "rc", "retcode"];
const BESIDE_STREAMS: [&str; 5] = ["status", "code", "return", "ret", "returned"];
/// Names of fields that hold what a program has printed.
const PRINTED: [&str; 7] = ["output", "stdout", "stderr", "result", "content", "text", "error"];
/// How other lines begin that harnesses put above an output, beside those of [`RUN`], and that may have a status among them.
const ABOVE: [&str; 4] = ["Command:", "Directory:", "Working directory:", "Cwd:"];
/// How the fields begin of a result that is a block of fields, one a line.
const BLOCK: [&str; 5] = ["Command:", "Directory:", "Output:", "Stdout:", "Stderr:"];
/// How its fields begin that stand behind the status.
const BELOW: [&str; 8] = [
    "Signal:",
    "Error:",
    "Background PIDs:",
    "Process Group PGID:",
    "Duration:",
    "Wall time:",
    "Directory:",
    "Working directory:",
];
/// How a line begins behind which an output follows.
const OUTPUT: [&str; 4] = ["Output:", "Command output:", "Stdout:", "Wall time:"];

/// How lines begin, above an output, that tell how the run went. A harness that writes them and knows the status says it
/// there.
const RUN: [&str; 7] = [
    "Chunk ID:",
    "Wall time:",
    "Duration:",
    "Process running ",
    "Original token count:",
    "Command executed",
    "Command execution",
];

/// Where and in which shape a status is stated. A harness states every one in the same, whatever words it has for a
/// failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    /// `<exit_code>1</exit_code>`
    TagAbove,
    /// The same below the output.
    TagBelow,
    /// `Exit code: 1`
    LineAbove,
    /// The same below the output.
    LineBelow,
    /// `[Command finished with exit code 1]`
    SquareBelow,
    /// `<command with shellId: 4 completed with exit code 1>`
    AngleBelow,
    /// `Exit Code: 1` at the end of a block of fields, one a line.
    Field,
    /// `[FAILED exit=1]`, or anything else of one line that says so.
    LooseAbove,
    /// The same below the output.
    LooseBelow,
}

impl Form {
    /// Whether any program may print it, so that it counts only where all answers have it.
    pub fn is_loose(self) -> bool {
        matches!(self, Form::LooseAbove | Form::LooseBelow)
    }
}

/// A status that was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stated {
    /// The status.
    pub status: i64,
    /// How it is stated.
    pub form: Form,
    /// Other words stand around it that hardly any program prints.
    is_framed: bool,
}

/// What may be the exit status that the harness states in the result of a command, above the output and below it. A
/// command that prints a status itself (`; echo "exit code: $?"`) leaves nothing to a line that stands for itself.
pub fn stated(text: &str, command: &str) -> Vec<Stated> {
    let text = text.trim();
    let first: Vec<&str> = ends(text.split('\n'));
    let last: Vec<&str> = ends(text.rsplit('\n'));
    let Some(top) = first.first() else { return Vec::new() };
    let above = above(&first);
    let is_open = above.is_none() && tells_of_the_run(&first);
    let below = below(&last, top).filter(|below| !(is_open && below.form == Form::LineBelow));
    let loose = |known: Option<Stated>, line: Option<&&str>, form| {
        let status = line.filter(|_| known.is_none()).and_then(|line| loose::status(line))?;
        Some(Stated {
            status,
            form,
            is_framed: false,
        })
    };
    let loosely_above = loose(above, first.first(), Form::LooseAbove);
    // A single line would be both.
    let bottom = last.first().filter(|line| loosely_above.is_none() || *line != top);
    let loosely_below = loose(below, bottom, Form::LooseBelow);
    let found = [above, below, loosely_above, loosely_below].into_iter().flatten();
    found
        .filter(|stated| stated.is_framed || !prints_one(command))
        .collect()
}

/// The first lines from one end that say anything.
fn ends<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let lines = lines.map(str::trim).filter(|line| !line.is_empty());
    lines.take(MOST_LINES).collect()
}

/// Whether the first lines are a harness's that say how the run went, up to the output or to a program that runs on.
fn tells_of_the_run(lines: &[&str]) -> bool {
    let frame = lines.iter().take_while(|line| is_above(line)).count();
    let (frame, rest) = lines.split_at(frame);
    let ends = rest.first().is_some_and(|line| begins(line, &OUTPUT));
    frame.iter().any(|line| line.starts_with("Process running ")) || ends && frame.iter().any(|line| begins(line, &RUN))
}

/// The exit status beside what was printed, in an object that is a whole result, or in the one object within it.
pub fn of_object(object: &Map<String, Value>) -> Option<i64> {
    beside_printed(object).or_else(|| {
        let mut inner = object.values().filter_map(Value::as_object);
        let only = inner.next().filter(|_| inner.next().is_none())?;
        beside_printed(only)
    })
}

fn beside_printed(object: &Map<String, Value>) -> Option<i64> {
    let has = |names: &[&str]| {
        names
            .iter()
            .any(|name| object.get(*name).is_some_and(|value| value.is_string()))
    };
    if !has(&PRINTED) {
        return None;
    }
    let field = |name: &&str| object.get(*name)?.as_i64();
    // What an interface of the web calls so is no exit status.
    let beside_streams = || {
        let has_streams = has(&["stdout", "stderr"]);
        BESIDE_STREAMS.iter().filter(|_| has_streams).find_map(field)
    };
    of_fields(object)
        .or_else(|| of_fields(object.get("metadata")?.as_object()?))
        .or_else(|| BESIDE.iter().find_map(field))
        .or_else(beside_streams)
}

/// The exit status among the fields of an object.
pub(crate) fn of_fields(object: &Map<String, Value>) -> Option<i64> {
    NAMES.iter().find_map(|name| object.get(*name)?.as_i64())
}

/// Whether a command line asks for the status of what it runs, to print it.
fn prints_one(command: &str) -> bool {
    let command = command.to_ascii_lowercase();
    [
        "$?",
        "$lastexitcode",
        "%errorlevel%",
        "pipestatus",
        "exit code",
        "exit status",
    ]
    .iter()
    .any(|word| command.contains(word))
}

fn above(lines: &[&str]) -> Option<Stated> {
    let found = |form, status, is_framed| {
        Some(Stated {
            status,
            form,
            is_framed,
        })
    };
    let after_tags = lines.iter().find(|line| !is_opening(line));
    if let Some(status) = after_tags.and_then(|line| tagged(line)) {
        return found(Form::TagAbove, status, true);
    }
    for (index, line) in lines.iter().enumerate() {
        if let Some(status) = statement(line) {
            let is_followed = lines.get(index + 1).is_some_and(|next| begins(next, &OUTPUT));
            return found(Form::LineAbove, status, index > 0 || is_followed);
        }
        if !is_above(line) {
            break;
        }
        let sentence = line.rsplit_once(". ").and_then(|(_, sentence)| statement(sentence));
        if let Some(status) = sentence {
            return found(Form::LineAbove, status, true);
        }
    }
    None
}

/// Looks from the last line upwards.
fn below(lines: &[&str], first: &str) -> Option<Stated> {
    let found = |form, is_framed, status| Stated {
        status,
        form,
        is_framed,
    };
    let is_block = begins(first, &BLOCK);
    let mut is_framed = false;
    let mut is_inside = false;
    for line in lines {
        if let Some(status) = tagged(line) {
            return Some(found(Form::TagBelow, true, status));
        }
        let inner = [('[', ']', Form::SquareBelow), ('<', '>', Form::AngleBelow)]
            .into_iter()
            .find_map(|(open, close, form)| Some((line.strip_prefix(open)?.strip_suffix(close)?, form)));
        if let Some((status, form)) = inner.and_then(|(inner, form)| Some((statement(inner)?, form))) {
            return Some(found(form, true, status));
        }
        match inner {
            // `[Current working directory: /work]`, `<cwd>/work</cwd>`
            Some((inner, Form::SquareBelow)) if inner.contains(": ") => {}
            Some(_) if is_element(line) => {}
            Some(_) if line.starts_with("</") => is_inside = true,
            None if is_block && begins(line, &BELOW) => is_framed = true,
            None if !is_inside => {
                let form = if is_block { Form::Field } else { Form::LineBelow };
                return statement(line).map(|status| found(form, is_framed, status));
            }
            _ => return None,
        }
    }
    None
}

fn begins(line: &str, names: &[&str]) -> bool {
    names.iter().any(|name| line.starts_with(name))
}

/// Whether a line may stand above an output.
fn is_above(line: &str) -> bool {
    begins(line, &RUN) || begins(line, &ABOVE)
}

/// Whether a line is nothing but a tag that opens.
fn is_opening(line: &str) -> bool {
    let name = line.strip_prefix('<').and_then(|line| line.strip_suffix('>'));
    name.is_some_and(is_name)
}

/// Whether a line is one whole element.
fn is_element(line: &str) -> bool {
    let name = line.strip_prefix('<').and_then(|line| line.split_once('>'));
    name.is_some_and(|(name, rest)| {
        let close = rest.rsplit_once("</").and_then(|(_, close)| close.strip_suffix('>'));
        is_name(name) && close == Some(name)
    })
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b))
}

/// `<returncode>1</returncode>`, closed or not.
fn tagged(line: &str) -> Option<i64> {
    let (name, rest) = line.strip_prefix('<')?.split_once('>')?;
    let known = |name: &str| {
        NAMES
            .iter()
            .any(|known| known.eq_ignore_ascii_case(&name.replace('-', "_")))
    };
    let status = match rest.split_once('<') {
        Some((status, close)) => {
            Some(status).filter(|_| close.strip_prefix('/').and_then(|c| c.strip_suffix('>')) == Some(name))
        }
        None => Some(rest),
    };
    status.filter(|_| known(name))?.trim().parse().ok()
}

/// A line that is nothing but the statement: `Exit code: 1`, `The command completed with exit code 1.`,
/// `Command "make" failed with exit code 2`.
fn statement(line: &str) -> Option<i64> {
    if line.len() > LONGEST_LINE {
        return None;
    }
    let line = match line.strip_prefix('(') {
        Some(inner) => inner.strip_suffix(')')?,
        None => line,
    };
    let line = line.trim_end_matches(['.', ':', ',', ';']);
    let (words, status) = line.rsplit_once([' ', ':', '='])?;
    let status = status.parse().ok()?;
    let words = words.trim_end_matches([' ', ':', '=']).to_ascii_lowercase();
    let named = [
        "exit code",
        "exit status",
        "exit_code",
        "exitcode",
        "return code",
        "returncode",
    ];
    let (words, is_named) = match named.iter().find_map(|name| words.strip_suffix(name)) {
        Some(words) => (words, true),
        None => (
            words.strip_suffix("code").or_else(|| words.strip_suffix("status"))?,
            false,
        ),
    };
    if words.is_empty() {
        return is_named.then_some(status);
    }
    let words = words.strip_suffix(' ')?.strip_suffix("with")?.strip_suffix(' ')?;
    let verbs = ["exited", "completed", "finished", "failed", "terminated", "ended"];
    let who = verbs.iter().find_map(|verb| words.strip_suffix(verb))?;
    let who = who.strip_prefix("the ").unwrap_or(who);
    let is_command = ["command", "process", "shell"]
        .iter()
        .any(|name| who.strip_prefix(name).is_some_and(|rest| rest.starts_with(' ')));
    (who.is_empty() || is_command).then_some(status)
}

#[cfg(test)]
mod tests;
