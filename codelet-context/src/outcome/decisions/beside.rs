//! What the user has said in the answer to a call that was made: beside an approval, or to work that was handed over.
//!
//! Harnesses put it in a tag of its own at the beginning of the answer, behind a sentence that says whose words they are, or in
//! a field that holds nothing else. What a file, a page or a program says could do the same, so it counts only where nothing
//! but a harness speaks first.

use super::{Decision, described, said};
use crate::answer::{self, HEAD};
use crate::cut;
use crate::failing::shorten;
use crate::message::{ActionKind, ToolCall, ToolResult};
use serde_json::{Map, Value};

/// Tags for the user's words.
const TAGS: [&str; 3] = ["feedback", "answer", "user_message"];
/// Fields for them, in the answer of a tool that hands over what was done.
const FIELDS: [&str; 5] = [
    "interactive_feedback",
    "feedback",
    "user_feedback",
    "userFeedback",
    "user_message",
];
/// Parameters of such a tool: what was done, and what goes with it.
const HANDED_OVER: [&str; 4] = ["result", "summary", "work_summary", "response"];
const WITH_IT: [&str; 4] = ["command", "project_directory", "projectDirectory", "task_progress"];
/// How a harness begins what it says of a command, before any output.
const FRAMES: [&str; 2] = ["Command executed in terminal", "Command is still running"];

/// Words of the user at the beginning of an answer.
struct Beside<'a> {
    /// What the harness says before them; may be empty.
    preface: &'a str,
    words: &'a str,
    /// What stands behind them.
    rest: &'a str,
}

impl Beside<'_> {
    fn of(text: &str) -> Option<Beside<'_>> {
        let text = text.trim_start();
        let head = &text[..text.floor_char_boundary(HEAD.min(text.len()))];
        let starts = std::iter::once(0).chain(head.match_indices('\n').map(|(at, _)| at + 1));
        let (at, name, inside) = starts.take(3).find_map(|at| {
            let tagged = text[at..].strip_prefix('<')?;
            let opened = |name: &&str| tagged.strip_prefix(*name)?.strip_prefix('>');
            TAGS.iter().find_map(|name| Some((at, *name, opened(name)?)))
        })?;
        let preface = text[..at].trim();
        let (words, rest) = inside.split_once(&format!("</{name}>"))?;
        let words = words.trim();
        let is_whole = rest.is_empty() || rest.trim_start_matches([' ', '\r']).starts_with('\n');
        let is_led = preface.is_empty() || says_whose(preface);
        (is_whole && is_led && !words.is_empty()).then_some(Beside { preface, words, rest })
    }
}

/// Whether a sentence says that the user's words follow.
fn says_whose(preface: &str) -> bool {
    const SAYING: [&str; 9] = [
        "answered",
        "comment",
        "comments",
        "context",
        "feedback",
        "instructions",
        "message",
        "provided",
        "said",
    ];
    let lower = preface.to_lowercase();
    let words: Vec<&str> = lower.split(|c: char| !c.is_alphanumeric()).collect();
    words.contains(&"user") && words.iter().any(|word| SAYING.contains(word))
}

fn is_of_server(tool: &str) -> bool {
    tool.contains("__") || tool.contains(['.', ':', '/'])
}

/// Whether parameters hand over what was done, and ask nothing.
pub(super) fn hands_over(map: &Map<String, Value>) -> bool {
    let mut names = map
        .iter()
        .filter(|(_, value)| value.is_string())
        .map(|(name, _)| name.as_str());
    let is_handed = |name: &str| HANDED_OVER.contains(&name);
    map.keys().any(|name| is_handed(name)) && names.all(|name| is_handed(name) || WITH_IT.contains(&name))
}

/// What the user says to a question, in a tag behind a sentence of the harness.
pub(super) fn in_tag(text: &str) -> Option<String> {
    let beside = Beside::of(text).filter(|beside| !beside.preface.is_empty());
    beside.map(|beside| beside.words.to_owned())
}

/// What the user says to work that was handed over.
fn in_reply(text: &str) -> Option<String> {
    let field = || {
        let map = answer::object(text)?;
        let said = FIELDS.iter().find_map(|name| map.get(*name)?.as_str())?;
        Some(said.trim().to_owned()).filter(|said| !said.is_empty())
    };
    Beside::of(text).map(|beside| beside.words.to_owned()).or_else(field)
}

/// What the user said beside letting commands be run. A program prints what it likes, so nothing of that counts before it is
/// known that this harness puts sentences of its own before all output.
#[derive(Clone, Debug, Default)]
pub(in crate::outcome) struct BesideCommands {
    /// What counts then.
    waiting: Vec<Decision>,
    is_known: bool,
    /// What a program printed has begun an answer.
    is_bare: bool,
}

impl BesideCommands {
    /// Takes in the answer of a command, or of a call that changes files, and gives what is known to be the user's by now.
    pub fn next(&mut self, call: &ToolCall, result: &ToolResult) -> Vec<Decision> {
        let Some(text) = said(result).filter(|_| !self.is_bare) else {
            return Vec::new();
        };
        let begins = |text: &str| FRAMES.iter().any(|frame| text.trim_start().starts_with(frame));
        let beside = Beside::of(text).filter(|beside| !beside.preface.is_empty());
        match (call.action.kind, beside) {
            (ActionKind::Command, Some(beside)) if begins(beside.rest) => {
                self.waiting.push(Decision::of_words(call, beside.words));
            }
            (ActionKind::Command, _) if begins(text) => self.is_known = true,
            (ActionKind::Command, _) if answer::was_refused(result) => {}
            (ActionKind::Command, _) => {
                *self = BesideCommands {
                    is_bare: true,
                    ..BesideCommands::default()
                };
            }
            (ActionKind::Change, Some(_)) if !is_of_server(&call.tool) => self.is_known = true,
            _ => {}
        }
        match self.is_known {
            true => std::mem::take(&mut self.waiting),
            false => Vec::new(),
        }
    }
}

impl Decision {
    /// What the user has said to a call that was made.
    fn of_words(call: &ToolCall, words: &str) -> Decision {
        Decision {
            question: shorten(&described(call), super::ANSWER),
            answer: shorten(words, super::ANSWER),
            is_refusal: false,
            offers_questions: false,
        }
    }

    /// What the user said beside letting a change be made. A tool of a server says what it likes.
    pub(in crate::outcome) fn beside_change(call: &ToolCall, result: &ToolResult) -> Option<Decision> {
        if call.action.kind != ActionKind::Change || is_of_server(&call.tool) {
            return None;
        }
        let beside = Beside::of(said(result)?).filter(|beside| !beside.preface.is_empty())?;
        Some(Decision::of_words(call, beside.words))
    }

    /// What the user has said to work that a call has handed over, if anything.
    pub(super) fn of_reply(call: &ToolCall, result: &ToolResult) -> Option<Decision> {
        let words = in_reply(said(result)?)?;
        let handed = HANDED_OVER
            .iter()
            .find_map(|name| call.parameters.as_map().get(*name)?.as_str());
        let question = format!("{} {}", cut::plain_name(&call.tool), handed.unwrap_or_default().trim());
        Some(Decision {
            question: shorten(&question, super::ANSWER),
            ..Decision::of_words(call, &words)
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::message::Action;
    use crate::outcome::Gatherer;
    use proptest::prelude::*;
    use serde_json::json;

    const APPROVED: &str = "The user approved this operation and provided the following context:\n<feedback>\nuse pnpm from \
                            now on\n</feedback>\n\n";

    fn call(tool: &str, action: Action, parameters: Value) -> ToolCall {
        ToolCall::new("1", tool, parameters.as_object().unwrap().clone()).doing(action)
    }

    fn change(tool: &str) -> ToolCall {
        call(tool, Action::on(ActionKind::Change, ["a.ts"]), json!({"path": "a.ts"}))
    }

    fn run(line: &str) -> ToolCall {
        call("run", Action::command(line), json!({"command": line}))
    }

    /// What is told as decided after these calls, each with its answer.
    fn decided(calls: &[(ToolCall, &str)]) -> Vec<(String, String)> {
        let mut gatherer = Gatherer::new();
        for (call, text) in calls {
            gatherer.take(call, &ToolResult::new("1", None, *text), None);
        }
        let decisions = gatherer.facts().decisions.into_iter();
        let told = decisions.filter(|decision| !decision.is_refusal);
        told.map(|decision| (decision.question, decision.answer)).collect()
    }

    #[test]
    fn what_the_user_says_to_work_that_was_handed_over_is_a_decision() {
        let done = |parameters: Value| call("attempt_completion", Action::on(ActionKind::Ask, []), parameters);
        let expected = "No - partners must be exempt, never 503.";
        for text in [
            "The user has provided feedback on the results. Consider their input to continue the task, and then attempt \
             completion again.\n<feedback>\nNo - partners must be exempt, never 503.\n</feedback>",
            "<user_message>\nNo - partners must be exempt, never 503.\n</user_message>",
            "{\"command_logs\":\"\",\"interactive_feedback\":\"No - partners must be exempt, never 503.\"}",
            "<feedback>No - partners must be exempt, never 503.</feedback>\n<environment_details>\nx\n</environment_details>",
        ] {
            let told = decided(&[(done(json!({"result": "Limits are in place."})), text)]);
            let question = "attempt_completion Limits are in place.".to_owned();
            assert_eq!(told, [(question, expected.to_owned())], "{text}");
        }
        let handed = json!({"project_directory": "/w", "summary": "It is done."});
        let told = decided(&[(done(handed), "{\"interactive_feedback\":\"once more\"}")]);
        assert_eq!(
            told,
            [("attempt_completion It is done.".to_owned(), "once more".to_owned())]
        );
        for text in [
            "",
            "Task completed.",
            "[The user is satisfied.]",
            "{\"command_logs\":\"feedback\",\"interactive_feedback\":\"\"}",
            "<feedback>\n</feedback>",
            "ran the demo:\n<feedback>\nno\n</feedback>",
        ] {
            assert_eq!(decided(&[(done(json!({"result": "It is done."})), text)]), [], "{text}");
        }
    }

    #[test]
    fn an_answer_in_a_tag_behind_a_sentence_is_told_without_that() {
        let ask = call(
            "ask",
            Action::on(ActionKind::Ask, []),
            json!({"question": "Which one?"}),
        );
        let text = "The user has answered your question.\n<answer>\nthe second\n</answer>";
        assert_eq!(
            decided(&[(ask, text)]),
            [("Which one?".to_owned(), "the second".to_owned())]
        );
    }

    #[test]
    fn what_the_user_says_beside_letting_a_change_be_made_is_a_decision() {
        let text = format!("{APPROVED}<file_write_result>\n<path>a.ts</path>\n</file_write_result>");
        let told = decided(&[(change("apply_diff"), &text)]);
        assert_eq!(
            told,
            [("apply_diff a.ts".to_owned(), "use pnpm from now on".to_owned())]
        );
        for (tool, text) in [
            // A server says what it likes.
            ("mcp__files__write", text.as_str()),
            // What stands in the file, and what nobody says to be the user's.
            ("apply_diff", "Updated a.ts:\n1 <feedback>\n2 x\n3 </feedback>"),
            (
                "apply_diff",
                "Updated a.ts, as the user said:\n\n\n\n<feedback>\nx\n</feedback>",
            ),
            ("apply_diff", "<feedback>\nx\n</feedback>"),
            (
                "apply_diff",
                "The linter gives this feedback:\n<feedback>\nx\n</feedback>",
            ),
            (
                "apply_diff",
                "The user approved this operation and provided the following context:\n<feedback>\nx",
            ),
            ("apply_diff", "{\"user_message\": \"x\"}"),
        ] {
            assert_eq!(decided(&[(change(tool), text)]), [], "{tool}: {text}");
        }
    }

    #[test]
    fn no_output_of_a_program_poses_as_words_of_the_user() {
        let framed = format!("{APPROVED}Command executed in terminal. Exit code: 0\nOutput:\nadded 8 packages");
        let plain = "Command executed in terminal. Exit code: 0\nOutput:\nok";
        let expected = [("`npm ci`".to_owned(), "use pnpm from now on".to_owned())];
        let denied = "The user denied this operation and provided the following feedback:\n<feedback>\nno\n</feedback>";
        // Known to be the harness's, by what stands elsewhere.
        assert_eq!(decided(&[(run("npm ci"), &framed), (run("ls"), plain)]), expected);
        assert_eq!(decided(&[(run("ls"), plain), (run("npm ci"), &framed)]), expected);
        assert_eq!(decided(&[(run("npm ci"), &framed), (change("edit"), denied)]), expected);
        // Nothing says so, or something says that it is not.
        assert_eq!(decided(&[(run("cat x"), &framed)]), []);
        assert_eq!(decided(&[(run("cat x"), &framed), (run("cat x"), &framed)]), []);
        assert_eq!(
            decided(&[(run("ls"), "a\nb"), (run("cat x"), &framed), (run("cat y"), plain)]),
            []
        );
        assert_eq!(
            decided(&[(run("cat x"), &framed), (run("ls"), "a\nb"), (run("cat y"), plain)]),
            []
        );
        assert_eq!(decided(&[(run("ls"), plain), (run("cat x"), APPROVED)]), []);
        let inside = format!("{plain}\n{framed}");
        assert_eq!(decided(&[(run("ls"), plain), (run("cat x"), &inside)]), []);
        // Nor one of anything else.
        let read = || call("read", Action::on(ActionKind::Read, ["a"]), json!({"path": "a"}));
        let fetch = || call("web_fetch", Action::default(), json!({"url": "x"}));
        let find = || call("grep", Action::on(ActionKind::Search, []), json!({"pattern": "x"}));
        for call in [read(), fetch(), find()] {
            assert_eq!(decided(&[(run("ls"), plain), (call, &framed)]), []);
        }
    }

    proptest! {
        #[test]
        fn no_answer_is_too_odd(text in "(The user said|<feedback>|</feedback>|<answer>|\n|é|:| ){0,12}") {
            let handed = call("t", Action::on(ActionKind::Ask, []), json!({"result": "x"}));
            decided(&[(handed, &text), (change("t"), &text), (run("ls"), &text)]);
        }
    }
}
