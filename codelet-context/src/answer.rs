//! What the answer to a call says of it: whether it was carried out, where no status is recorded, and whether the user
//! refused it.
//!
//! Agents word this as they like, so it is not known by their sentences but by what their sentences are made of: the first
//! word that tells how it went decides. Words in quotation marks, names of files, and whatever is printed behind (a diff,
//! the lines of a file) are not the tool's own, and tell nothing.

use crate::message::{ActionKind, ToolResult};
use serde_json::{Map, Value};

/// Bytes and lines from the beginning of an answer in which it says how it went.
const HEAD: usize = 240;
const LINES: usize = 6;
/// Bytes of an answer that holds nothing but such words.
const SHORT: usize = 300;
/// Bytes of an object that is read: a larger one holds what was asked for.
const OBJECT: usize = 16 * 1024;
/// Objects within objects that are looked into.
const DEEPEST: usize = 2;

/// Whether a call was carried out: by the tool's own word, or else unless its answer says that it was not.
///
/// What a command prints is for [`crate::verdict`] to judge; of the text of a file only the very beginning can be the tool's.
pub(crate) fn is_done(kind: ActionKind, result: &ToolResult) -> bool {
    result.success.unwrap_or_else(|| {
        if result.error.is_some() || was_refused(result) {
            return false;
        }
        let text = first_text(result);
        match kind {
            ActionKind::Command => true,
            ActionKind::Change | ActionKind::Todo | ActionKind::Ask => tells(text, 0) != Some(false),
            _ if text.trim().len() <= SHORT && is_one_line_or_object(text) => tells(text, 0) != Some(false),
            _ => !begins_with_complaint(text),
        }
    })
}

/// Whether a call that did not succeed was not carried out to its end: the user refused or interrupted it, or its answer is
/// lost.
/// Harnesses report that as an error of the tool, in words of their own, which stand at the beginning.
pub(crate) fn was_refused(result: &ToolResult) -> bool {
    const REFUSALS: &[&str] = &[
        "[request interrupted",
        "[interrupted",
        "[no result",
        "[tool call interrupted",
        "refused: ",
        "command was cancelled",
    ];
    // What had begun is told so of behind what it had printed.
    const STOPPED: &[&str] = &["command aborted", "command cancelled", "operation aborted"];
    if result.success == Some(true) {
        return false;
    }
    let text = first_text(result).trim();
    let last = text.rsplit('\n').next().unwrap_or_default();
    let ends = |with: &&str| last.trim_end_matches('.').eq_ignore_ascii_case(with);
    REFUSALS.iter().any(|with| begins(text, with)) || STOPPED.iter().any(ends) || tells_refusal(text, 0)
}

fn first_text(result: &ToolResult) -> &str {
    result.texts().next().map_or("", |text| text.body.as_str())
}

fn begins(text: &str, with: &str) -> bool {
    text.get(..with.len())
        .is_some_and(|head| head.eq_ignore_ascii_case(with))
}

fn is_one_line_or_object(text: &str) -> bool {
    let text = text.trim();
    !text.contains('\n') || text.starts_with('{')
}

/// Whether the text of a file is no such text.
fn begins_with_complaint(text: &str) -> bool {
    const COMPLAINTS: &[&str] = &[
        "error",
        "<tool_use_error",
        "<error",
        "failed",
        "failure",
        "invalid",
        "cannot",
        "could not",
        "no such",
    ];
    let text = text.trim_start();
    COMPLAINTS.iter().any(|with| {
        let behind = text.get(with.len()..).unwrap_or_default();
        begins(text, with) && behind.starts_with([' ', ':', '>', '\n'])
    })
}

/// The object that an answer consists of or begins with.
pub(crate) fn object(text: &str) -> Option<Map<String, Value>> {
    let text = text.trim_start();
    if !text.starts_with('{') || text.len() > OBJECT {
        return None;
    }
    let first = serde_json::Deserializer::from_str(text).into_iter::<Value>().next();
    match first {
        Some(Ok(Value::Object(map))) => Some(map),
        _ => None,
    }
}

const REFUSED: &str =
    "denied rejected declined cancelled canceled refused aborted interrupted stopped dismissed skipped";

/// Whether an answer says how it went, and how.
fn tells(text: &str, depth: usize) -> Option<bool> {
    if let Some(map) = object(text) {
        return object_tells(&map, depth);
    }
    let mut end = text.len() - text.trim_start().len() + HEAD;
    end = text.floor_char_boundary(end.min(text.len()));
    let lines = text[..end].lines().filter(|line| !line.trim().is_empty());
    for line in lines.take(LINES) {
        if is_printed(line) {
            return None;
        }
        let line = line.trim();
        if line.starts_with(['❌', '✗', '✘', '✖', '⛔', '🚫']) || is_error_tag(line) {
            return Some(false);
        }
        if line.starts_with(['✅', '✓', '✔']) {
            return Some(true);
        }
        if let Some(told) = words_tell(&words(line)) {
            return Some(told);
        }
    }
    None
}

fn object_tells(map: &Map<String, Value>, depth: usize) -> Option<bool> {
    const GOOD: &[&str] = &["ok", "success", "succeeded", "successful"];
    const BAD: &[&str] = &["error", "errors", "err", "isError", "is_error", "failed"];
    const BAD_STATUS: &str = "error failed failure fail invalid forbidden timeout timed_out";
    if let Some(good) = GOOD.iter().find_map(|name| map.get(*name)?.as_bool()) {
        return Some(good);
    }
    if BAD.iter().filter_map(|name| map.get(*name)).any(says_something) {
        return Some(false);
    }
    if let Some(status) = map.get("status").and_then(Value::as_str) {
        let status = status.to_lowercase();
        if is_in(&status, BAD_STATUS) || is_in(&status, REFUSED) {
            return Some(false);
        }
    }
    // What is said of a failure, or in what the answer is wrapped.
    inner(map, depth, tells, object_tells)
}

/// What the first of the values says in which answers are wrapped.
fn inner(
    map: &Map<String, Value>,
    depth: usize,
    text: impl Fn(&str, usize) -> Option<bool>,
    object: impl Fn(&Map<String, Value>, usize) -> Option<bool>,
) -> Option<bool> {
    const WRAPPED: &[&str] = &["message", "result", "output", "response", "content", "text"];
    if depth >= DEEPEST {
        return None;
    }
    let mut values = WRAPPED.iter().filter_map(|name| map.get(*name));
    values.find_map(|value| match value {
        Value::String(value) => text(value, depth + 1),
        Value::Object(map) => object(map, depth + 1),
        _ => None,
    })
}

/// Whether a field that tells of errors tells of one.
fn says_something(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(is) => *is,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.trim().is_empty() && text != "none",
        Value::Array(all) => !all.is_empty(),
        Value::Object(map) => !map.is_empty(),
    }
}

/// Whether a line is no word of the tool: a diff, a fence, or a line of a file, with its number or indented.
fn is_printed(line: &str) -> bool {
    const HEADS: &[&str] = &[
        "```", "~~~", "@@", "diff ", "--- ", "+++ ", "Index: ", "*** ", "+", "|", "  ", "\t", "//", "/*", "#!", "<?",
        "<!",
    ];
    let trimmed = line.trim_end();
    let behind_number = trimmed.trim_start_matches(|c: char| c.is_ascii_digit());
    HEADS.iter().any(|head| line.starts_with(head))
        || trimmed.ends_with(['{', '}', ';', ','])
        || behind_number.len() < trimmed.len() && behind_number.starts_with(['\t', '|', '→', ':'])
        || trimmed
            .strip_prefix('-')
            .is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_digit() || c == ' '))
}

/// `<error>`, `<error_details>`, `<tool_use_error>` and the like.
fn is_error_tag(line: &str) -> bool {
    let name = line.strip_prefix('<').map(|rest| {
        let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '-'));
        rest[..end.unwrap_or(rest.len())].to_lowercase()
    });
    name.is_some_and(|name| {
        name == "error" || name.starts_with("error_") || name.ends_with("_error") || name.ends_with("-error")
    })
}

/// What stands for a name or a quotation among the words.
const NAME: &str = "·";

/// The words of a line in lower case. Names of files and of values and whatever is quoted are no words; `didn't` is two.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    for token in without_quotations(line).split_whitespace() {
        let is_sign = |c: char| !c.is_alphanumeric() && c != '·';
        let is_label = token.ends_with(':');
        let token = token.trim_matches(is_sign);
        let token = token.split('(').next().unwrap_or_default();
        let lower = token.to_lowercase().replace('’', "'");
        if token.is_empty() {
            continue;
        }
        let is_fault = |name: &str| {
            let is_code = name.len() > 4 && name.starts_with('E') && name.bytes().all(|b| b.is_ascii_uppercase());
            is_code || name.ends_with("Error") || name.ends_with("Exception")
        };
        if is_label && token.len() > 5 && is_fault(token) {
            words.push("error".to_owned());
        } else if token.contains(['/', '\\', '_', '.', '=', '<', '>']) {
            words.push(NAME.to_owned());
        } else if let Some(verb) = lower.strip_suffix("n't").or_else(|| lower.strip_suffix("not"))
            && !verb.is_empty()
        {
            words.extend([verb.to_owned(), "not".to_owned()]);
        } else {
            words.push(lower);
        }
    }
    words
}

/// A line with a sign in place of each quotation.
fn without_quotations(line: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some(at) = rest.find(['`', '"', '\'']) {
        let (before, quoted) = rest.split_at(at);
        let sign = &quoted[..1];
        // The apostrophe of `doesn't` opens nothing.
        let opens = sign != "'" || !before.ends_with(char::is_alphanumeric);
        let close = quoted[1..].find(sign).filter(|_| opens);
        out.push_str(before);
        match close {
            Some(close) => {
                out.push_str(NAME);
                rest = &quoted[close + 2..];
            }
            None => {
                out.push_str(if opens { " " } else { sign });
                rest = &quoted[1..];
            }
        }
    }
    out.push_str(rest);
    out
}

fn is_in(word: &str, list: &str) -> bool {
    list.split(' ').any(|other| other == word)
}

/// What the first of these words says that tells how it went.
fn words_tell(words: &[String]) -> Option<bool> {
    (0..words.len()).find_map(|at| {
        if is_failure(words, at) {
            Some(false)
        } else {
            is_success(words, at).then_some(true)
        }
    })
}

/// The word at a place, or an empty one.
fn word(words: &[String], at: usize) -> &str {
    words.get(at).map_or("", String::as_str)
}

fn is_failure(words: &[String], at: usize) -> bool {
    const FAILURES: &str = "failed failure fails unable invalid denied rejected declined refused cancelled canceled \
                            aborted interrupted traceback exception forbidden ambiguous unsupported unexpected unexpectedly \
                            unauthorized timeout missing blocked unchanged mismatch must required requires but";
    const NOT_BEHIND: &str = "was were is are be been has have had could ca can did do does would wo will should must";
    const NOT_BEFORE: &str = "found applied allowed permitted matched match exist unique modified changed updated written \
                              saved edited replaced valid supported available read authorized enough appear";
    const NO: &str = "match matches matching replacement replacements change changes such occurrence occurrences edit edits \
                      similar sufficiently exact file permission access";
    const FEW: &str = "occurrence occurrences match matches replacement replacements times";
    const MANY: &str = "match matches matching occurrence occurrences times instances";
    const MADE: &str = "occurrences matches replacements edits changes files lines hunks blocks of";
    // `Error handling was added` tells of no error.
    const OF_ERRORS: &str =
        "handling handler handlers message messages type types code codes path paths case cases class";
    let before = at.checked_sub(1).map_or("", |at| word(words, at));
    let (this, next, behind) = (word(words, at), word(words, at + 1), word(words, at + 2));
    match this {
        "error" | "errors" => !is_in(before, "no 0 without any zero") && !is_in(next, OF_ERRORS),
        "not" => is_in(before, NOT_BEHIND) || is_in(next, NOT_BEFORE),
        "no" => is_in(next, NO),
        "0" | "zero" => is_in(next, FEW),
        "multiple" | "several" => is_in(next, MANY),
        "already" => next == "exists" || next == "exist",
        "too" => is_in(next, "large long big many"),
        "timed" => next == "out",
        "modified" | "changed" => is_in(next, "since externally"),
        "before" => is_in(next, "editing writing overwriting modifying making"),
        // `Updated 0 files`, `success: false`.
        _ if is_success(words, at) && is_in(next, "0 no zero none") => is_in(behind, MADE),
        "ok" | "success" => next == "false",
        _ => is_in(this, FAILURES),
    }
}

fn is_success(words: &[String], at: usize) -> bool {
    const SUCCESSES: &str = "successfully success successful succeeded done ok okay updated edited written wrote created saved \
                             applied replaced inserted deleted removed moved renamed added patched formatted overwritten \
                             overwrote appended undone reverted completed fixed changed modified accepted approved \
                             rewritten rewrote";
    let before = at.checked_sub(1).map_or("", |at| word(words, at));
    let this = word(words, at);
    if is_in(this, "has have") {
        let is_passive = word(words, at + 1) == "been";
        let behind = word(words, at + 2);
        return is_passive && behind != "not" && is_in(behind, SUCCESSES) && !is_failure(words, at + 2);
    }
    // `The updated text …` does not say that anything was.
    is_in(this, SUCCESSES) && !is_in(before, "the your a an this that be")
}

/// Whether an answer says that the user, or somebody in the user's name, has not let the call run to its end.
fn tells_refusal(text: &str, depth: usize) -> bool {
    if let Some(map) = object(text) {
        return object_refuses(&map, depth) == Some(true);
    }
    let head = &text[..text.floor_char_boundary(HEAD.min(text.len()))];
    let line = head.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let words = words(line);
    let is_short = is_in(word(&words, 0), REFUSED) && is_by_user(&words[1..]);
    is_short || user_refuses(&words) || is_refused(&words, text.len() <= HEAD)
}

fn object_refuses(map: &Map<String, Value>, depth: usize) -> Option<bool> {
    let status = map.get("status").and_then(Value::as_str);
    if status.is_some_and(|status| is_in(&status.to_lowercase(), REFUSED)) {
        return Some(true);
    }
    let error = map.get("error").and_then(Value::as_str);
    if error.is_some_and(|error| tells_refusal(error, depth + 1)) {
        return Some(true);
    }
    let refuses = |text: &str, depth| tells_refusal(text, depth).then_some(true);
    inner(map, depth, refuses, object_refuses)
}

/// `The user has declined`, `User rejected`, `Error: the user did not allow`.
fn user_refuses(words: &[String]) -> bool {
    const LEADS: &str = "error tool the a";
    const BETWEEN: &str = "has have had did does do chose decided explicitly just manually";
    const WANTED: &str =
        "allow allowed want wish approve approved permit accept accepted confirm grant granted consent to";
    let lead = words.iter().take_while(|word| is_in(word, LEADS)).count();
    if word(words, lead) != "user" || lead > 3 {
        return false;
    }
    let rest = &words[lead + 1..];
    let between = rest.iter().take_while(|word| is_in(word, BETWEEN)).count();
    let (verb, object) = (word(rest, between), word(rest, between + 1));
    is_in(verb, REFUSED) || verb == "not" && is_in(object, WANTED)
}

/// `Tool execution cancelled by user`, `[Operation Cancelled]`, `This tool call was rejected`. Programs deny and abort things
/// themselves, so it counts if it names the user, or is all of the answer and speaks of tools.
fn is_refused(words: &[String], is_all: bool) -> bool {
    const LEADS: &str = "error the this your a tool function file command edit";
    const NOUNS: &str = "operation tool call use execution command action request edit change permission invocation";
    const OF_TOOLS: &str = "operation tool call use execution invocation";
    const BETWEEN: &str = "was were has been is";
    let mut at = words.iter().take_while(|word| is_in(word, LEADS)).count();
    if at > 0 && !is_in(word(words, at), NOUNS) {
        at -= 1;
    }
    let noun = word(words, at);
    let between = words.iter().skip(at + 1).take_while(|word| is_in(word, BETWEEN));
    let verb = at + 1 + between.count();
    if !is_in(noun, NOUNS) || !is_in(word(words, verb), REFUSED) {
        return false;
    }
    is_by_user(&words[verb + 1..]) || is_all && is_in(noun, OF_TOOLS)
}

fn is_by_user(words: &[String]) -> bool {
    let person = if word(words, 1) == "the" { 2 } else { 1 };
    word(words, 0) == "by" && is_in(word(words, person), "user human operator")
}

#[cfg(test)]
mod tests;
