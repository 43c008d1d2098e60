//! Scripts that were written in the conversation and are named as if they ran tests: whether they test anything.
//!
//! Of a script of the project nothing but its name is known, and the name is believed. Of one that was written here the text
//! is known, and decides: what only prints has tested nothing, whatever it is called.

use super::recognise::{is_named_for_tests, stem};
use super::{Check, CheckKind, checks};
use crate::command::Script;
use crate::effects::patched_by;
use crate::message::{ActionKind, Parameters, ToolCall};
use crate::outcome::FileState;
use crate::shell::Simple;
use crate::wrapped::base;
use serde_json::Value;
use std::cell::LazyCell;
use std::collections::HashMap;

/// The scripts that were written so far, by the name of their file: whether they test anything.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scripts(HashMap<String, bool>);

/// What the parameters are called that hold the whole of a file.
pub(crate) const WHOLE: [&str; 4] = ["content", "contents", "file_text", "file_content"];

impl Scripts {
    /// Takes what a call writes.
    pub fn note(&mut self, call: &ToolCall) {
        match (call.action.kind, &call.action.command) {
            (ActionKind::Command, Some(line)) => self.0.extend(line.scripts().iter().cloned()),
            (ActionKind::Change, _) => self.note_change(call),
            _ => {}
        }
    }

    fn note_change(&mut self, call: &ToolCall) {
        let paths = call.action.changed();
        if !paths.iter().any(|path| name(path).is_some()) {
            return;
        }
        let map = call.parameters.as_map();
        let whole = WHOLE.iter().find_map(|name| map.get(*name)?.as_str());
        let made = made(&call.parameters);
        let is_test = LazyCell::new(|| match whole {
            Some(text) => tests(text),
            None => {
                let texts: Vec<&str> = map.values().filter_map(Value::as_str).collect();
                tests(&texts.join("\n"))
            }
        });
        let brings_tests = LazyCell::new(|| map.values().any(any_tests));
        for path in paths {
            let Some(name) = name(path) else { continue };
            if whole.is_some() || made.contains(&&**path) {
                self.0.insert(name, *is_test);
            } else if let Some(is_test) = self.0.get_mut(&name) {
                // What was written here may be made a test later.
                *is_test |= *brings_tests;
            }
        }
    }

    /// Whether a check is nothing but a script that was written here and tests nothing.
    pub fn is_idle(&self, check: &Check) -> bool {
        check.kind == CheckKind::Test && self.0.get(&check.name) == Some(&false)
    }
}

/// The scripts that a line writes and that would be taken for ones that run tests, with whether they test anything; the
/// newest of a name last.
pub(crate) fn scripts(script: &Script) -> Vec<(String, bool)> {
    let mut scripts = Vec::new();
    for command in &script.commands {
        let Simple {
            words,
            outputs,
            documents,
            ..
        } = &command.simple;
        let Some(document) = documents.last() else { continue };
        let is_tee = words.first().is_some_and(|word| base(word) == "tee");
        let to = words.iter().skip(1).filter(|_| is_tee);
        let is_test = LazyCell::new(|| tests(&document.text));
        let names = outputs.iter().chain(to).filter_map(|path| name(path));
        scripts.extend(names.map(|name| (name, *is_test)));
    }
    scripts
}

/// The name of a script that would be taken for one that runs tests.
fn name(path: &str) -> Option<String> {
    let name = base(path);
    is_named_for_tests(stem(&name)).then(|| name.into_owned())
}

/// The files that a patch among the parameters makes.
fn made(parameters: &Parameters) -> Vec<&str> {
    patched_by(parameters)
        .filter(|(_, state)| *state == FileState::Created)
        .map(|(path, _)| path)
        .collect()
}

fn any_tests(value: &Value) -> bool {
    match value {
        Value::String(text) => tests(text),
        Value::Array(values) => values.iter().any(any_tests),
        Value::Object(map) => map.values().any(any_tests),
        _ => false,
    }
}

/// Whether a text defines tests, asserts something, says with its own status how it went, or runs what does.
fn tests(text: &str) -> bool {
    const SIGNS: &[&str] = &[
        "assert",
        "Assert",
        "ASSERT",
        "def test",
        "TestCase",
        "unittest.main",
        "pytest",
        "doctest.testmod",
        "expect(",
        "describe(",
        "\nit(",
        " it(",
        "it '",
        "it \"",
        "\ntest(",
        " test(",
        "#[test]",
        "@test",
        "@Test",
        "test_that",
        "Test::More",
        "exit(",
        "exit 1",
        "raise ",
        "throw ",
        "panic!",
        "set -e",
        "die ",
        "die(",
        "t.Fatal",
        "t.Error",
    ];
    SIGNS.iter().any(|sign| text.contains(sign)) || !checks(text).is_empty()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::message::Action;
    use proptest::prelude::*;
    use serde_json::json;

    fn idle(calls: &[ToolCall], line: &str) -> bool {
        let mut scripts = Scripts::default();
        for call in calls {
            scripts.note(call);
        }
        scripts.is_idle(&checks(line).pop().unwrap())
    }

    fn run(line: &str) -> ToolCall {
        ToolCall::new("1", "t", Default::default()).doing(Action::command(line))
    }

    fn write(path: &str, parameters: Value) -> ToolCall {
        let parameters = parameters.as_object().unwrap().clone();
        ToolCall::new("1", "t", parameters).doing(Action::on(ActionKind::Change, [path]))
    }

    #[test]
    fn a_script_that_was_written_here_is_a_test_if_it_tests_something() {
        let printed = "cat <<'EOF' > test_invalid.py\nimport re\nprint(re.match('a','b'))\nEOF\npython test_invalid.py";
        assert!(idle(&[run(printed)], printed));
        assert!(!idle(&[], "python test_invalid.py"), "the project's own is believed");
        for text in [
            "import re\nassert re.match('a', 'b')",
            "import unittest\nclass A(unittest.TestCase): pass",
            "def test_a(): pass",
            "import sys\nsys.exit(1 if bad else 0)",
        ] {
            let line = format!("cat > test_x.py <<EOF\n{text}\nEOF\npython3 test_x.py");
            assert!(!idle(&[run(&line)], "python3 test_x.py"), "{text}");
        }
        assert!(!idle(
            &[run("cat > run_tests.sh <<EOF\ncd x\ncargo test\nEOF")],
            "bash run_tests.sh"
        ));
        assert!(idle(
            &[run("cat > run_tests.sh <<EOF\necho hello\nEOF")],
            "bash run_tests.sh"
        ));
        assert!(idle(
            &[run("tee a/test_y.js <<EOF\nconsole.log(1)\nEOF")],
            "node a/test_y.js"
        ));
    }

    #[test]
    fn it_does_not_matter_with_what_it_was_written() {
        let line = "python /w/test_a.py";
        for key in WHOLE {
            assert!(idle(
                &[write("/w/test_a.py", json!({"path": "/w/test_a.py", key: "print(1)"}))],
                line
            ));
            assert!(!idle(&[write("/w/test_a.py", json!({key: "assert 1"}))], line));
        }
        let patch =
            |body: &str| json!({"input": format!("*** Begin Patch\n*** Add File: test_a.py\n+{body}\n*** End Patch")});
        assert!(idle(&[write("test_a.py", patch("print(1)"))], line));
        assert!(!idle(&[write("test_a.py", patch("assert 1"))], line));
        // An edit of what nobody wrote here says nothing, and one that brings in a test makes one.
        let edit = |text: &str| write("/w/test_a.py", json!({"old": "a", "edits": [{"new": text}]}));
        assert!(!idle(&[edit("print(1)")], line));
        let made = || write("/w/test_a.py", json!({"content": "print(1)"}));
        assert!(idle(&[made(), edit("print(2)")], line));
        assert!(!idle(&[made(), edit("assert x")], line));
    }

    proptest! {
        #[test]
        fn no_line_is_too_odd(line in r#"(cat |tee |test_a\.py|<<E|\nE\n|> |print|\PC){0,12}"#) {
            Scripts::default().note(&run(&line));
        }
    }
}
