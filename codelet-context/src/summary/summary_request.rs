//! The summary that a model writes: the request for it, and the answer that is accepted. Nobody calls a model here.

use crate::message::tokens::Tokens;
use crate::message::view::View;
use crate::message::{Message, Origin, Part, Role};
use std::sync::Arc;
use std::time::Duration;

/// The most that the words of the answer may be, in tokens.
const MAX_OUTPUT: Tokens = 1_024;
/// How long to wait before each try.
const DELAYS: [Duration; 3] = [
    Duration::ZERO,
    Duration::from_millis(1_000),
    Duration::from_millis(2_000),
];
/// The most that an answer is taken for, in bytes: [`MAX_OUTPUT`] tokens of 8 bytes, which few words of any script have. What
/// is longer comes from a provider that ignores the limit, or from a model whose limit had to be larger for its thinking, and
/// would fill the window that it was to empty.
const MAX_BYTES: usize = MAX_OUTPUT as usize * 8;

/// What the model is asked for.
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

/// A request that the engine asks its caller to make.
#[derive(Clone, PartialEq, Debug)]
pub struct SummaryRequest {
    /// What to send. It extends what the session has sent, message by message, so that it is read from the cache: the
    /// caller sends the same tools and settings as for every other request, too.
    pub messages: Vec<Arc<Message>>,
    /// The most that the words of the answer may be. Where thinking shares its limit, the caller gives room for that besides:
    /// the words are judged by themselves.
    pub max_output: Tokens,
}

impl SummaryRequest {
    /// The request for a summary of this view: the view as it stands, and the instruction behind it.
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

/// What came of the request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer {
    /// The model has answered and come to an end.
    Complete(String),
    /// The model has called tools: what it said beside that tells of the calls, and sums nothing up.
    Called,
    /// The answer ran into the limit.
    Cut(String),
    /// The provider refused the request as too long.
    TooLong,
    /// The provider failed, in its words.
    Failed(String),
    /// The user interrupted.
    Interrupted,
}

/// Why an answer is no summary.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Failure {
    /// It holds no words.
    Empty,
    /// It is a call of a tool.
    Called,
    /// It was cut, so its end is missing, which tells of the current state.
    Cut,
    /// It is longer than a summary may be.
    Overlong {
        /// How long it is.
        bytes: usize,
    },
    /// The request did not fit into the window.
    TooLong,
    /// The provider failed, in its words.
    Failed(String),
    /// The user interrupted.
    Interrupted,
}

impl Failure {
    /// Whether another try may come to something. The same request is as long as before, and who interrupts wants no more.
    pub(crate) fn is_worth_another_try(&self) -> bool {
        !matches!(self, Failure::TooLong | Failure::Interrupted)
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Failure::Empty => f.write_str("the model's summary was empty"),
            Failure::Called => f.write_str("the model called a tool in place of a summary"),
            Failure::Cut => f.write_str("the model's summary was cut at the output limit"),
            Failure::Overlong { bytes } => write!(f, "the model's summary was too long: {bytes} bytes"),
            Failure::TooLong => f.write_str("the request for a summary did not fit into the window"),
            Failure::Failed(cause) => write!(f, "the provider gave no summary: {cause}"),
            Failure::Interrupted => f.write_str("the summary was interrupted"),
        }
    }
}

impl std::error::Error for Failure {}

/// The text of a summary, if the answer is one. Without one, the template summary is used and the user is told why.
pub fn accept(answer: Answer) -> Result<String, Failure> {
    match answer {
        Answer::Complete(text) => match text.trim() {
            "" => Err(Failure::Empty),
            summary if summary.len() > MAX_BYTES => Err(Failure::Overlong { bytes: summary.len() }),
            summary => Ok(summary.to_owned()),
        },
        Answer::Called => Err(Failure::Called),
        Answer::Cut(_) => Err(Failure::Cut),
        Answer::TooLong => Err(Failure::TooLong),
        Answer::Failed(cause) => Err(Failure::Failed(cause)),
        Answer::Interrupted => Err(Failure::Interrupted),
    }
}

/// The tries of one summary.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Tries {
    made: usize,
    is_over: bool,
}

impl Tries {
    /// None made yet.
    pub fn new() -> Self {
        Tries::default()
    }

    /// How long to wait before the next try; none is left after the third, or after a failure that another try cannot mend.
    pub fn next_delay(&mut self) -> Option<Duration> {
        let delay = DELAYS.get(self.made).filter(|_| !self.is_over)?;
        self.made += 1;
        Some(*delay)
    }

    /// The try came to this failure.
    pub fn failed(&mut self, failure: &Failure) {
        self.is_over |= !failure.is_worth_another_try();
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
            "goal",
            "Decisions",
            "Files changed",
            "Context needed",
            "Current state",
            "Blockers",
            "400 words",
        ] {
            assert!(INSTRUCTION.contains(wanted), "{wanted}");
        }
    }

    #[test]
    fn only_a_whole_answer_with_words_is_a_summary() {
        assert_eq!(
            accept(Answer::Complete(" 1. Main goal: x\n".into())),
            Ok("1. Main goal: x".into())
        );
        let table = [
            (Answer::Complete(" \n\t".into()), Failure::Empty),
            (Answer::Called, Failure::Called),
            (Answer::Cut("1. Main goal: x".into()), Failure::Cut),
            (
                Answer::Complete("x".repeat(MAX_BYTES + 1)),
                Failure::Overlong { bytes: MAX_BYTES + 1 },
            ),
            (Answer::TooLong, Failure::TooLong),
            (Answer::Failed("500".into()), Failure::Failed("500".into())),
            (Answer::Interrupted, Failure::Interrupted),
        ];
        for (answer, failure) in table {
            assert_eq!(accept(answer), Err(failure));
        }
    }

    #[test]
    fn three_tries_are_made_and_then_no_more() {
        let mut tries = Tries::new();
        for delay in [0, 1_000, 2_000] {
            assert_eq!(tries.next_delay(), Some(Duration::from_millis(delay)));
            tries.failed(&Failure::Empty);
        }
        assert_eq!(tries.next_delay(), None);
    }

    #[test]
    fn a_request_that_is_too_long_or_interrupted_is_not_made_again() {
        for failure in [Failure::TooLong, Failure::Interrupted] {
            let mut tries = Tries::new();
            assert!(tries.next_delay().is_some());
            tries.failed(&failure);
            assert_eq!(tries.next_delay(), None);
        }
    }
}
