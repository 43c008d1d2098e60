//! Questions for permission, as the editor is asked them.

use crate::diff;
use crate::editor::{Editor, clean, clean_line, fenced, text_block};
use crate::updates::title;
use agent_client_protocol::v1::schema::{
    PermissionOption, PermissionOptionKind, RequestPermissionOutcome, RequestPermissionRequest, SessionUpdate,
    ToolCallContent, ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields, ToolKind,
};
use codelet_agent::asking::{Question, Word};
use codelet_agent::tool::Need;
use futures_util::future::{AbortHandle, LocalBoxFuture, abortable};
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use std::collections::BTreeMap;
use std::path::Path;

const ONCE: &str = "allow_once";
const ALWAYS: &str = "allow_always";
const PROJECT: &str = "allow_in_project";
const REJECT: &str = "reject";
/// Characters of what always would permit.
const PATTERN: usize = 200;
/// The most of a command or of parameters that is shown, in bytes; a question says what it leaves out.
const SHOWN: usize = 64 * 1024;

/// What somebody has answered.
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

    /// Waits until a question has its answer; returns what is to be told of it. Without end where none is asked.
    pub async fn answered(&mut self, editor: &Editor) -> Option<String> {
        let Some((number, answer)) = self.answers.next().await else {
            return std::future::pending().await;
        };
        let (question, _) = self.waiting.remove(&number)?;
        if matches!(answer, Some(Answer::Word(Word::Once | Word::Always) | Answer::Keep)) {
            let fields = ToolCallUpdateFields::new().status(ToolCallStatus::InProgress);
            let begun = ToolCallUpdate::new(question.call.clone(), fields);
            editor.update(SessionUpdate::ToolCallUpdate(begun));
        }
        let told = match answer {
            Some(Answer::Word(word)) => {
                question.answer(word);
                None
            }
            Some(Answer::Keep) => keep(question),
            // It was given up: nobody needs the answer.
            None => None,
        };
        self.settle();
        told
    }

    /// Takes back what need not be asked any more: another answer has permitted it, or its call was interrupted.
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
    /// What was not answered is a no.
    fn drop(&mut self) {
        for (question, abort) in std::mem::take(&mut self.waiting).into_values() {
            abort.abort();
            question.answer(Word::Unasked("nobody answered".to_owned()));
        }
    }
}

/// Permits it in this project from now on, as the proposal says.
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

/// What an answer means. What is none of ours permits nothing.
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
            question
                .needs
                .iter()
                .flat_map(|need| shown(need, base))
                .collect::<Vec<_>>(),
        );
    let call = ToolCallUpdate::new(question.call.clone(), fields);
    RequestPermissionRequest::new(editor.id.clone(), call, options(question))
}

/// What may be answered: the same that a terminal offers.
fn options(question: &Question) -> Vec<PermissionOption> {
    let mut options = vec![PermissionOption::new(
        ONCE,
        "Allow once",
        PermissionOptionKind::AllowOnce,
    )];
    if !question.grants.is_empty() {
        let grants: Vec<String> = question.grants.iter().map(|grant| grant.named().0).collect();
        let name = format!(
            "Always allow in this session: {}",
            clean_line(&grants.join(", "), PATTERN)
        );
        options.push(PermissionOption::new(ALWAYS, name, PermissionOptionKind::AllowAlways));
    }
    // What does not fit on the button is not agreed to for good.
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

/// What is not permitted yet, for a person to judge.
fn shown(need: &Need, base: &Path) -> Vec<ToolCallContent> {
    let text = |text: String| ToolCallContent::from(text_block(text));
    let code = |code: &str, language: &str| {
        let cut = code.floor_char_boundary(SHOWN);
        let left = match code.len() - cut {
            0 => String::new(),
            left => format!("\n[{left} more bytes are not shown]"),
        };
        fenced(&clean(&format!("{}{left}", &code[..cut])), language)
    };
    let place = |folder: &str| match folder {
        "" => String::new(),
        folder => format!("\nin {}", clean_line(folder, PATTERN)),
    };
    match need {
        Need::Read { path, is_inside, .. } => {
            let outside = if *is_inside { "" } else { ", outside the workspace" };
            vec![text(format!(
                "Read {}{outside}",
                clean_line(&path.display().to_string(), 500)
            ))]
        }
        Need::Change {
            path,
            is_inside,
            owner,
            diff,
        } => {
            let mut why = format!("Change {}", clean_line(&path.display().to_string(), 500));
            if !is_inside {
                why.push_str(", outside the workspace");
            }
            if let Some(owner) = owner {
                why.push_str(&format!(": it {}", owner.reason()));
            }
            let diff = diff::shown(diff, base);
            let remarks = diff.remarks.iter().map(|remark| text(clean(remark)));
            std::iter::once(text(why)).chain(remarks).chain(diff.content).collect()
        }
        Need::Run { command, folder, .. } => vec![text(format!("{}{}", code(command, "sh"), place(folder)))],
        Need::RunWith { command, folder, lack } => {
            let with = format!("Run again with {}:", lack.named());
            vec![text(format!("{with}\n{}{}", code(command, "sh"), place(folder)))]
        }
        Need::Call {
            server,
            tool,
            parameters,
            is_changed,
            ..
        } => {
            let call = format!(
                "Call {} of the server {} with\n{}",
                clean_line(tool, PATTERN),
                clean_line(server, PATTERN),
                code(parameters, "json")
            );
            let changed = "The server describes this tool otherwise than when you permitted it.";
            let changed = is_changed.then(|| text(changed.to_owned()));
            [text(call)].into_iter().chain(changed).collect()
        }
        Need::Fetch { url, remarks, .. } => {
            let remarks = remarks.iter().map(|remark| text(clean(remark)));
            [text(code(url, ""))].into_iter().chain(remarks).collect()
        }
    }
}
