//! What a change takes away from its files, within the text of its parameters.

use crate::message::ToolCall;
use crate::testrun::WHOLE;
use serde_json::Value;
use std::ops::Range;

/// Parts of what a call is named or told that say that it puts something beside what is there.
const BESIDE: [&str; 3] = ["append", "insert", "prepend"];
/// … that it changes a part of it, unless it is told to do one of the following.
const PART: [&str; 5] = ["edit", "replace", "patch", "modify", "update"];
const ALL: [&str; 4] = ["create", "write", "overwrite", "rewrite"];
/// Words that stand for the rest of a file.
const REST: [&str; 2] = ["existing code", "rest of the"];

/// Whether a change writes all of its file, so that nothing stands there any more that it does not say. Only where nothing
/// else can be meant: whoever takes an addition for the whole forgets the rest.
pub(crate) fn is_whole(call: &ToolCall) -> bool {
    let [path] = &call.action.paths[..] else {
        return false;
    };
    let map = call.parameters.as_map();
    let mut whole = WHOLE.iter().filter_map(|name| map.get(*name));
    let (Some(Value::String(text)), None) = (whole.next(), whole.next()) else {
        return false;
    };
    let lines = || text.lines().count() as u64;
    let others = || map.iter().filter(|(name, _)| !WHOLE.contains(&name.as_str()));
    let is_harmless = |value: &Value| match value {
        Value::String(said) => !said.contains('\n'),
        // The number of its lines some are told too.
        Value::Number(number) => number.as_u64().is_some_and(|number| number.abs_diff(lines()) <= 1),
        Value::Array(_) | Value::Object(_) => false,
        Value::Bool(_) | Value::Null => true,
    };
    let told = || {
        let strings = others().filter_map(|(_, value)| value.as_str());
        strings.filter(|said| *said != &**path && said.split_whitespace().count() == 1)
    };
    let tool = call.tool.to_ascii_lowercase();
    let is_told = |words: &[&str]| told().any(|said| words.iter().any(|word| said.eq_ignore_ascii_case(word)));
    let has_flag = |words: &[&str]| {
        others().any(|(name, value)| *value == Value::Bool(true) && words.iter().any(|word| name.contains(word)))
    };
    call.cut.is_none()
        && call.action.replaced.is_empty()
        && !is_patch(text)
        && searched(text).is_empty()
        && others().all(|(_, value)| is_harmless(value))
        && !BESIDE.iter().any(|word| tool.contains(word))
        && !is_told(&BESIDE)
        && !has_flag(&BESIDE)
        && (!PART.iter().any(|word| tool.contains(word)) || is_told(&ALL))
        && !REST
            .iter()
            .any(|words| text.contains(words) && text.lines().any(|line| line.contains(words) && is_left_out(line)))
}

/// Whether a line has a sign for what is left out.
fn is_left_out(line: &str) -> bool {
    line.contains("...") || line.contains('…')
}

/// Whether a change takes away what it takes away wherever that stands in its file.
pub(crate) fn is_everywhere(call: &ToolCall) -> bool {
    let map = call.parameters.as_map();
    let says_so = |name: &str| {
        ["all", "every", "multiple", "global"]
            .iter()
            .any(|word| name.contains(word))
    };
    map.iter().any(|(name, value)| match value {
        Value::Bool(true) => says_so(&name.to_ascii_lowercase()),
        _ => false,
    })
}

/// The parts of a parameter's text that the change takes away, in their order, where it is made of blocks that say what to
/// search for and what to put there:
///
/// ```text
/// <<<<<<< SEARCH          ------- SEARCH
/// old lines               old lines
/// =======                 =======
/// new lines               new lines
/// >>>>>>> REPLACE         +++++++ REPLACE
/// ```
pub(crate) fn searched(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    if !text.contains("SEARCH") && !text.contains("ORIGINAL") {
        return found;
    }
    let mut begun = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        let line = line.trim();
        if is_head(line) {
            begun = Some(at);
        } else if is_rule(line, '=')
            && let Some(from) = begun.take()
            && from < start
        {
            found.push(from..start);
        }
    }
    found
}

/// Where the lines begin that name the files of a change, in the form of a patch or of a unified diff, if it is of more than
/// one: what stands beneath such a line is of that file, up to the next one.
pub(crate) fn sections(text: &str) -> Vec<usize> {
    const HEADS: [&str; 3] = ["*** Add File: ", "*** Update File: ", "*** Delete File: "];
    let mut found = Vec::new();
    let (mut at, mut is_named) = (0, false);
    for line in text.split_inclusive('\n') {
        // A line that is added may begin with two signs of its own.
        let is_diffed = is_named && line.starts_with("+++ ");
        if is_diffed || HEADS.iter().any(|head| line.starts_with(head)) {
            found.push(at);
        }
        is_named = line.starts_with("--- ");
        at += line.len();
    }
    if found.len() < 2 {
        found.clear();
    }
    found
}

/// Whether a change says line by line what goes and what comes, in the form that begins so.
pub(crate) fn is_patch(text: &str) -> bool {
    text.contains("*** Begin Patch")
}

/// The line that a block begins with.
fn is_head(line: &str) -> bool {
    let sign = line
        .split_once(' ')
        .filter(|(_, word)| matches!(word.trim(), "SEARCH" | "ORIGINAL"));
    sign.is_some_and(|(sign, _)| is_rule(sign, '<') || is_rule(sign, '-'))
}

fn is_rule(line: &str, sign: char) -> bool {
    line.len() >= 5 && line.chars().all(|c| c == sign)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_searched_for_is_what_goes() {
        let of = |text: &str| -> Vec<String> {
            let parts = searched(text).into_iter();
            parts.map(|part| text[part].to_owned()).collect()
        };
        let two = "<<<<<<< SEARCH\na\nb\n=======\nc\n>>>>>>> REPLACE\n\n<<<<<<< SEARCH\nd\n=======\n>>>>>>> REPLACE";
        assert_eq!(of(two), ["a\nb\n", "d\n"]);
        assert_eq!(
            of("------- SEARCH\r\na\r\n=======\r\nb\r\n+++++++ REPLACE\r\n"),
            ["a\r\n"]
        );
        let none: [&str; 0] = [];
        assert_eq!(of("<<<<<<< SEARCH\n=======\nnew\n>>>>>>> REPLACE"), none);
        // A conflict that somebody has to resolve, a heading, and a block that was cut off.
        for text in [
            "<<<<<<< HEAD\na\n=======\nb\n>>>>>>> theirs",
            "SEARCH\n=====\ntext",
            "<<<<<<< SEARCH\na\nb",
        ] {
            assert_eq!(of(text), none, "{text}");
        }
    }

    #[test]
    fn each_file_of_a_change_has_a_line_that_names_it() {
        let of = |text: &str| -> Vec<String> {
            let heads = sections(text).into_iter();
            heads
                .map(|at| text[at..].lines().next().unwrap_or_default().to_owned())
                .collect()
        };
        let patch = "*** Begin Patch\n*** Delete File: a\n*** Update File: b\r\n@@\n-x\n+++ y\n*** Add File: c\n+z\n*** End Patch";
        assert_eq!(
            of(patch),
            ["*** Delete File: a", "*** Update File: b", "*** Add File: c"]
        );
        let diff = "diff --git a/é b/é\n--- a/é\n+++ b/é\n@@ -1 +1 @@\n--- x\n+y\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+++ z";
        assert_eq!(of(diff), ["+++ b/é", "+++ b/n"]);
        let none: [&str; 0] = [];
        for text in [
            "",
            "*** Update File: a\n@@\n-x\n+y",
            "--- a/x\n+++ b/x\n@@\n++++ z",
            "+++ a\n+++ b",
        ] {
            assert_eq!(of(text), none, "{text}");
        }
    }

    proptest! {
        #[test]
        fn the_parts_are_in_order_and_apart(lines in proptest::collection::vec("<<<<<<< SEARCH|=======|é|", 0..20)) {
            let text = lines.join("\n");
            let mut end = 0;
            for range in searched(&text) {
                prop_assert!(end <= range.start && range.start < range.end && text.get(range.clone()).is_some());
                end = range.end;
            }
        }
    }
}
