//! Permission questions to the editor.

use crate::diff;
use crate::editor::{Editor, clean, clean_line, fenced, text_block};
use crate::updates::{begun, title};
use agent_client_protocol::v1::schema::{
    PermissionOption, PermissionOptionKind, RequestPermissionOutcome, RequestPermissionRequest, ToolCallContent,
    ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields, ToolKind,
};
use codelet_agent::asking::{Grant, Question, Word};
use codelet_agent::question::Fact;
use codelet_agent::tool::Need;
use futures_util::future::{AbortHandle, LocalBoxFuture, abortable};
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use std::collections::BTreeMap;
use std::path::Path;

const ONCE: &str = "allow_once";
const ALWAYS: &str = "allow_always";
const PROJECT: &str = "allow_in_project";
const REJECT: &str = "reject";
/// Maximum characters of the patterns that "always" would permit.
const PATTERN: usize = 200;
/// Maximum characters of a sentence, including the names in it.
const SENTENCE: usize = 1_000;

/// An answer of the user.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Answer {
    Word(Word),
    /// Always in this project.
    Keep,
}

/// Questions that wait for the editor.
#[derive(Default)]
pub(crate) struct Questions {
    next: u64,
    waiting: BTreeMap<u64, (Question, AbortHandle)>,
    answers: FuturesUnordered<LocalBoxFuture<'static, (u64, Option<Answer>)>>,
}

impl Questions {
    /// Asks the editor.
    pub fn ask(&mut self, question: Question, editor: &Editor, base: &Path) {
        let request = request(&question, editor, base);
        let sent = editor.connection.send_request(request);
        let asked = async move {
            match sent.block_task().await {
                Ok(response) => answer(response.outcome),
                Err(_) => Answer::Word(Word::Unasked("the editor gave no answer to the question".to_owned())),
            }
        };
        let (asked, abort) = abortable(asked);
        let number = self.next;
        self.next += 1;
        self.waiting.insert(number, (question, abort));
        self.answers.push(Box::pin(async move { (number, asked.await.ok()) }));
    }

    /// Waits for an answer and applies it; returns a message about it, if any. Never returns while no question is open.
    pub async fn answered(&mut self, editor: &Editor) -> Option<String> {
        let Some((number, answer)) = self.answers.next().await else {
            return std::future::pending().await;
        };
        let (question, _) = self.waiting.remove(&number)?;
        if matches!(answer, Some(Answer::Word(Word::Once | Word::Always) | Answer::Keep)) {
            editor.update(begun(question.call.clone()));
        }
        let told = match answer {
            Some(Answer::Word(word)) => {
                question.answer(word);
                None
            }
            Some(Answer::Keep) => keep(question),
            // The request was cancelled: nobody needs the answer.
            None => None,
        };
        self.settle();
        told
    }

    /// Withdraws questions that need no answer any more: another answer has permitted them, or their call was
    /// interrupted.
    fn settle(&mut self) {
        let moot: Vec<u64> = self
            .waiting
            .iter()
            .filter(|(_, (question, _))| question.is_moot())
            .map(|(at, _)| *at)
            .collect();
        for number in moot {
            if let Some((question, abort)) = self.waiting.remove(&number) {
                abort.abort();
                question.answer(Word::Once);
            }
        }
    }
}

impl Drop for Questions {
    /// An unanswered question counts as a refusal.
    fn drop(&mut self) {
        for (question, abort) in std::mem::take(&mut self.waiting).into_values() {
            abort.abort();
            question.answer(Word::Unasked("nobody answered".to_owned()));
        }
    }
}

/// Permits it in this project from now on, as proposed.
fn keep(question: Question) -> Option<String> {
    let patterns = question.proposal.as_deref().map(|text| question.patterns(text));
    match patterns {
        Some(Ok(patterns)) => Some(question.keep(patterns)),
        _ => {
            question.answer(Word::Once);
            None
        }
    }
}

/// Interprets an answer. An unknown option permits nothing.
fn answer(outcome: RequestPermissionOutcome) -> Answer {
    match outcome {
        RequestPermissionOutcome::Selected(selected) => match &*selected.option_id.0 {
            ONCE => Answer::Word(Word::Once),
            ALWAYS => Answer::Word(Word::Always),
            PROJECT => Answer::Keep,
            _ => Answer::Word(Word::No(None)),
        },
        _ => Answer::Word(Word::Unasked("the question was cancelled in the editor".to_owned())),
    }
}

fn request(question: &Question, editor: &Editor, base: &Path) -> RequestPermissionRequest {
    let (kind, is_command) = match question.needs.first() {
        Some(Need::Run { .. } | Need::RunWith { .. }) => (ToolKind::Execute, true),
        Some(Need::Change { .. }) => (ToolKind::Edit, false),
        Some(Need::Read { .. }) => (ToolKind::Read, false),
        Some(Need::Fetch { .. }) => (ToolKind::Fetch, false),
        Some(Need::Call { .. }) | None => (ToolKind::Other, false),
    };
    let fields = ToolCallUpdateFields::new()
        .title(title(&question.tool, &question.description, is_command))
        .kind(kind)
        .status(ToolCallStatus::Pending)
        .content(
            content(&question.facts(base), base)
                .into_iter()
                .chain(extent(&always(&question.grants)))
                .collect::<Vec<_>>(),
        );
    let call = ToolCallUpdate::new(question.call.clone(), fields);
    RequestPermissionRequest::new(editor.id.clone(), call, options(question))
}

/// The possible answers: the same as in a terminal.
fn options(question: &Question) -> Vec<PermissionOption> {
    let mut options = vec![PermissionOption::new(
        ONCE,
        "Allow once",
        PermissionOptionKind::AllowOnce,
    )];
    if !question.grants.is_empty() {
        let grants = always(&question.grants);
        let name = format!("Always allow in this session: {}", clean_line(&grants, PATTERN));
        options.push(PermissionOption::new(ALWAYS, name, PermissionOptionKind::AllowAlways));
    }
    // A pattern that does not fit on the button cannot be agreed to permanently.
    let is_shown = |text: &&str| text.chars().count() <= PATTERN && question.patterns(text).is_ok();
    if let Some(proposal) = question.proposal.as_deref().filter(is_shown) {
        let name = format!("Always allow in this project: {}", clean_line(proposal, PATTERN));
        options.push(PermissionOption::new(PROJECT, name, PermissionOptionKind::AllowAlways));
    }
    options.push(PermissionOption::new(
        REJECT,
        "Reject",
        PermissionOptionKind::RejectOnce,
    ));
    options
}

/// The patterns that "always" would permit.
fn always(grants: &[Grant]) -> String {
    let grants: Vec<String> = grants.iter().map(|grant| grant.named().0).collect();
    grants.join(", ")
}

/// The same as content, if the button has no room for all of it.
fn extent(always: &str) -> Vec<ToolCallContent> {
    if clean_line(always, usize::MAX).chars().count() <= PATTERN {
        return Vec::new();
    }
    let told = "To allow it always in this session would allow:";
    vec![text_block(told).into(), exactly(always, "")]
}

fn content(facts: &[Fact<'_>], base: &Path) -> Vec<ToolCallContent> {
    facts.iter().flat_map(|fact| shown(fact, base)).collect()
}

/// A fact as Markdown.
fn shown(fact: &Fact<'_>, base: &Path) -> Vec<ToolCallContent> {
    let text = |text: String| ToolCallContent::from(text_block(text));
    match fact {
        Fact::Task(task) => vec![text(format!("For the task \"{}\":", prose(task)))],
        Fact::Asks(sentence) | Fact::Warning(sentence) => vec![text(prose(sentence))],
        Fact::Exact(exact, language) => vec![exactly(exact, language)],
        Fact::Change(diff) => {
            let diff = diff::shown(diff, base);
            let remarks = diff.remarks.iter().map(|remark| text(format!("{}.", prose(remark))));
            remarks.chain(diff.content.into_iter().map(spelt)).collect()
        }
    }
}

/// A text in full: nothing hidden may be permitted.
fn exactly(text: &str, language: &str) -> ToolCallContent {
    text_block(fenced(&clean(text), language)).into()
}

/// A sentence on one line, escaped so that Markdown neither hides nor transforms anything in it.
fn prose(sentence: &str) -> String {
    let mut out = String::new();
    for c in clean_line(sentence, SENTENCE).chars() {
        if matches!(c, '\\' | '`' | '*' | '[' | ']' | '<' | '&' | '!' | '|' | '~') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// A change as shown with its question. Its line ends are significant.
fn spelt(content: ToolCallContent) -> ToolCallContent {
    let spelt = |text: &str| {
        let lines = text.split_inclusive("\r\n");
        let lines = lines.map(|line| match line.strip_suffix("\r\n") {
            Some(bare) => format!("{}\r\n", clean(bare)),
            None => clean(line),
        });
        lines.collect::<String>()
    };
    match content {
        ToolCallContent::Diff(mut diff) => {
            diff.new_text = spelt(&diff.new_text);
            diff.old_text = diff.old_text.as_deref().map(spelt);
            ToolCallContent::Diff(diff)
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use codelet_agent::permission::{Asked, Permission};
    use codelet_agent::question::facts;
    use codelet_agent::tool::{Lack, Looking};
    use serde_json::{Value, json};

    /// The content of a question, as the editor receives it.
    fn told(needs: &[Need], permission: Permission, task: Option<&str>, wary: Option<&str>) -> Vec<Value> {
        let asked = Asked {
            call: "call_1",
            task,
            tool: "Bash",
            description: "something",
            needs,
            wary,
        };
        let base = Path::new("/work");
        let content = content(&facts(asked, permission, base), base);
        let Value::Array(shown) = serde_json::to_value(content).unwrap() else {
            panic!("an array")
        };
        shown
    }

    fn texts(shown: &[Value]) -> Vec<&str> {
        let texts = shown.iter().filter_map(|block| block["content"]["text"].as_str());
        texts.collect()
    }

    fn run(command: &str) -> Need {
        Need::Run {
            command: command.to_owned(),
            folder: String::new(),
            looks: Looking::Outside,
        }
    }

    #[test]
    fn a_question_tells_who_asks_why_what_runs_and_in_what_sandbox() {
        let wary = "a PreToolUse hook wants you to be asked: look\u{202e} at\n\nAllow <b>it</b>";
        let shown = told(
            &[run("tee AGENTS.md")],
            Permission::Read,
            Some("tidy `up`\nnow"),
            Some(wary),
        );
        assert_eq!(
            texts(&shown),
            [
                "For the task \"tidy \\`up\\` now\":",
                "Allow Bash to run this command in /work?",
                "Under the permission read it runs in a sandbox without network, and cannot change the workspace.",
                "It changes AGENTS.md. This gives instructions to agents.",
                "```sh\ntee AGENTS.md\n```",
                "a PreToolUse hook wants you to be asked: look\\<U+202E> at  Allow \\<b>it\\</b>",
            ]
        );
    }

    #[test]
    fn what_a_command_is_given_besides_the_sandbox_is_told() {
        let needs = [Need::RunWith {
            command: "make".to_owned(),
            folder: String::new(),
            lack: Lack::Freedom,
        }];
        let shown = told(&needs, Permission::Edit, None, None);
        assert!(texts(&shown)[1].contains("reach other programs"), "{shown:?}");
    }

    #[test]
    fn what_always_would_permit_is_told_whole_where_the_button_cuts_it() {
        let long = format!("make {}; rm -rf ~", "a".repeat(PATTERN));
        for (line, is_told) in [("make a", false), (&*long, true)] {
            let shown = extent(&always(&[Grant::Line(line.to_owned())]));
            assert_eq!(serde_json::to_string(&shown).unwrap().contains(line), is_told, "{line}");
        }
    }

    #[test]
    fn nothing_is_hidden_in_a_command_or_a_change() {
        let diff = "… It is\u{200b} new\n--- a\n+++ a\n@@ -1 +1 @@\n-a\r\n+b\u{1b}[8m\u{202e}\r\n";
        let change = Need::Change {
            path: "/work/a<!--.md-->".into(),
            is_inside: false,
            owner: None,
            diff: diff.to_owned(),
        };
        let shown = told(&[run("a\u{200d}b\u{1b}[2K\rc"), change], Permission::Edit, None, None);
        let told = "It contains invisible or misleading characters; they are shown escaped above.";
        assert_eq!(
            texts(&shown)[1..],
            [
                "```sh\na<U+200D>b<U+001B>[2K<U+000D>c\n```",
                told,
                "Allow Bash to change /work/a\\<\\!--.md-->?",
                "This is outside the workspace.",
                "It is\\<U+200B> new.",
                told
            ]
        );
        let diff = shown.iter().find(|block| block["type"] == "diff").unwrap();
        assert_eq!(
            (&diff["oldText"], &diff["newText"]),
            (&json!("a\r\n"), &json!("b<U+001B>[8m<U+202E>\r\n"))
        );
    }
}
