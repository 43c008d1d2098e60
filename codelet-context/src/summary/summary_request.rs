//! The request for a summary written by a model, and the validation of its answer. Nothing here calls a model.

use crate::message::tokens::Tokens;
use crate::message::view::View;
use crate::message::{Message, Origin, Part, Role};
use std::sync::Arc;
use thiserror::Error;

/// The maximum tokens of the answer's text.
const MAX_OUTPUT: Tokens = 1_024;
/// The maximum bytes of an answer: [`MAX_OUTPUT`] tokens of 8 bytes, which few words of any script exceed. Longer
/// answers come from a provider that ignores the limit, or from a model whose limit had to be larger for its thinking,
/// and would fill the window that they were meant to free.
const MAX_BYTES: usize = MAX_OUTPUT as usize * 8;

/// The instruction to the model.
const INSTRUCTION: &str =
    "The conversation above is about to be shortened. Write a summary from which you can go on with \
the work when the older part is gone. Use fewer than 400 words, and these headings:

1. Main goal: what the user wants, in the user's own terms.
2. Decisions: what was decided, with the reason where it matters.
3. Files changed: each path, and what was done there.
4. Context needed: names, commands, constraints and facts that the next steps rely on, exactly as they were given.
5. Current state: what works, what was checked and how, what was being done last.
6. Blockers: open errors with their text, open questions.

Write only what the conversation says. Answer with the text alone, and call no tool.";

/// A request for the caller to send.
#[derive(Clone, PartialEq, Debug)]
pub struct SummaryRequest {
    /// The messages to send. They extend those of the session's last request, so that they are read from the cache; the
    /// caller must send the same tools and settings as for every other request, too.
    pub messages: Vec<Arc<Message>>,
    /// The maximum tokens of the answer's text. If thinking counts towards the provider's limit, the caller must raise
    /// it: only the text is checked here.
    pub max_output: Tokens,
}

impl SummaryRequest {
    /// The request for a summary of this view: the view unchanged, followed by the instruction.
    pub(crate) fn new(view: &View) -> Self {
        let mut messages = view.messages.clone();
        messages.push(Arc::new(Message::new(
            Role::User,
            vec![Part::text_from(Origin::Notice, INSTRUCTION)],
        )));
        SummaryRequest {
            messages,
            max_output: MAX_OUTPUT,
        }
    }
}

/// The reason why an answer is not a summary.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum Failure {
    /// An empty answer.
    #[error("the model's summary was empty")]
    Empty,
    /// A tool call: any text beside it describes that call.
    #[error("the model called a tool in place of a summary")]
    Called,
    /// A cut answer: its end, which describes the current state, is missing.
    #[error("the model's summary was cut at the output limit")]
    Cut,
    /// An answer beyond the maximum length.
    #[error("the model's summary was too long: {bytes} bytes")]
    Overlong {
        /// Its length.
        bytes: usize,
    },
    /// The request did not fit into the window.
    #[error("the request for a summary did not fit into the window")]
    TooLong,
    /// The provider failed, with its error message.
    #[error("the provider gave no summary: {0}")]
    Failed(String),
    /// The user interrupted.
    #[error("the summary was interrupted")]
    Interrupted,
}

impl Failure {
    /// Returns whether another attempt may succeed. The same request would be too long again, and an interrupting user
    /// wants none.
    pub fn is_worth_another_try(&self) -> bool {
        !matches!(self, Failure::TooLong | Failure::Interrupted)
    }
}

/// The summary in a finished answer without calls. Otherwise the template summary is used, and the user is told the
/// reason.
///
/// # Errors
/// If the answer is empty or longer than any summary.
pub fn accept(answer: &str) -> Result<String, Failure> {
    match answer.trim() {
        "" => Err(Failure::Empty),
        summary if summary.len() > MAX_BYTES => Err(Failure::Overlong { bytes: summary.len() }),
        summary => Ok(summary.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_request_extends_what_the_session_has_sent() {
        let view = View::new([Message::system("s"), Message::user("go"), Message::assistant("ok")]);
        let request = SummaryRequest::new(&view);
        let (last, prefix) = request.messages.split_last().expect("the instruction stands there");
        assert!(prefix.iter().zip(&view.messages).all(|(a, b)| Arc::ptr_eq(a, b)));
        assert_eq!(prefix.len(), view.messages.len());
        assert_eq!(last.role, Role::User);
        assert!(!last.is_prompt(), "the user has not asked for it");
        assert_eq!(request.max_output, 1_024);
    }

    #[test]
    fn the_instruction_asks_for_everything_that_a_summary_holds() {
        for wanted in [
            "goal", "Decisions", "Files changed", "Context needed", "Current state", "Blockers", "400 words",
        ] {
            assert!(INSTRUCTION.contains(wanted), "{wanted}");
        }
    }

    #[test]
    fn an_answer_with_words_and_not_too_many_is_a_summary() {
        assert_eq!(accept(" 1. Main goal: x\n"), Ok("1. Main goal: x".into()));
        assert_eq!(accept(" \n\t"), Err(Failure::Empty));
        let bytes = MAX_BYTES + 1;
        assert_eq!(accept(&"x".repeat(bytes)), Err(Failure::Overlong { bytes }));
    }
}
