//! The message that the model proposes for a commit by the user.
//!
//! Like a summary, it is requested outside the conversation: the request extends what the session has sent, so that it
//! is read from the provider's cache, and neither it nor its answer becomes part of the conversation. The next prompt
//! therefore extends the previous request.

use crate::environment::commit::{Committable, Made};
use crate::environment::spelling::first;
use crate::interrupt::Interrupt;
use crate::model::{Request, Stop, unfenced};
use crate::run::{Bearing, words};
use crate::session::Session;
use crate::session::prompt::Attachment;
use crate::tool::event::Listen;
use crate::turn::account::{account_answer, account_part, report};
use crate::turn::ask::{self, RequestOutcome};
use codelet_context::message::{Message, Part, Role};
use codelet_context::tokens::estimate_message;
use codelet_text::codes;
use codelet_text::short::{clip_bytes, on_one_line};
use codelet_text::unseen::hides;
use std::sync::Arc;
use tokio::time::Instant;

/// The longest proposed message, in bytes.
const LONGEST: usize = 8 * 1024;
/// The maximum length of the user's instructions, in bytes.
const WORDS: usize = 4 * 1024;
/// The output limit in tokens for a model that does not think.
const MOST_OUTPUT: u64 = 1_024;
/// The maximum number of files named in the request.
const NAMED: usize = 200;
/// The maximum number of files named after the commit.
const TOLD: usize = 20;

/// The system prompt of a request outside the conversation's context.
const SYSTEM: &str = "You write commit messages.";
const INSTRUCTION: &str = "[Beside the conversation: the user is about to commit the changes that are attached.] Write the message of \
that commit: a subject of at most 72 characters in the imperative; then, only if the change needs it, an empty line and a body, wrapped at \
72 characters, that says why. Follow the style of the last commits. Say nothing that the changes do not show or the user has not said. No \
trailers, no Markdown, no quotes around it. Answer with the message alone, and call no tool.";

impl Session {
    /// Asks the model for the message of this commit, with the user's optional instructions in `said`. It is billed,
    /// and leaves nothing in the conversation.
    ///
    /// # Errors
    /// Says in a fragment why there is none.
    pub async fn propose_message(
        &mut self,
        commit: &Committable,
        said: &str,
        interrupt: &Interrupt,
        listener: &mut dyn Listen,
    ) -> Result<String, String> {
        let asked = self.asked_of(commit, said);
        let weight = estimate_message(&asked);
        let window = self.conversation.config().window();
        let thinks = self.parts.model.thinks() || self.has_thought;
        let most_output = match thinks {
            true => self.most_output(),
            false => MOST_OUTPUT.min(self.most_output()),
        };
        let current = self.conversation.state("", 0).current;
        let has_room = current.saturating_add(weight).saturating_add(most_output) < window;
        // If the conversation is no longer in the provider's cache, or leaves no room, the changes are sent on their
        // own.
        let is_beside = self.sent.is_some() && !self.is_cold() && has_room;
        let (messages, tools, prompt) = match is_beside {
            true => {
                let mut messages = self.conversation.view().messages.clone();
                messages.push(Arc::new(asked));
                (messages, self.specs.clone(), current.saturating_add(weight))
            }
            false => (
                vec![Arc::new(Message::system(SYSTEM.to_owned())), Arc::new(asked)],
                Arc::from([]),
                weight,
            ),
        };
        let request = Request {
            edge: self.sent.filter(|_| is_beside),
            next_edit: None,
            messages,
            tools,
            max_output: Some(most_output),
            session: self.settings.id.as_str().into(),
        };
        if let Some(witness) = &mut self.witness {
            witness.sending_beside(&self.conversation);
        }
        let limits = self.parts.model.silence(prompt);
        let began = Instant::now();
        let bearing = Bearing {
            most: None,
            is_retry: false,
            first: limits.map(|limits| (limits.first, None)),
            between: limits.map(|limits| (limits.between, None)),
        };
        let (message, billed, came) = match ask::stream(self, request, bearing, interrupt, listener, false).await {
            RequestOutcome::Answered(reply) => {
                let message = match &reply.stop {
                    Stop::Finished if reply.message.calls().next().is_some() => {
                        Err("the model called a tool instead".to_owned())
                    }
                    Stop::Finished => message(&words(&reply.message)).ok_or("the model's answer was empty".to_owned()),
                    Stop::Declined(said) | Stop::BrokenOff(said) => Err(said.clone()),
                    _ => Err("the model's answer was cut".to_owned()),
                };
                account_answer(self, &reply, prompt, listener);
                if is_beside {
                    // The whole prompt was read.
                    self.asked = Some(began);
                    self.conversation.reported(report(&reply.billed, false));
                }
                return message.map(|message| self.hidden(&message));
            }
            RequestOutcome::Failed {
                error, billed, came, ..
            } => (error.to_string(), billed, came),
            RequestOutcome::Interrupted { billed, came, .. } => ("interrupted".to_owned(), billed, came),
        };
        account_part(self, billed, came, listener);
        Err(message)
    }

    /// Returns the request: the instruction, the user's text, and the changes as an attachment.
    fn asked_of(&self, commit: &Committable, said: &str) -> Message {
        let said = self.hidden(said);
        let mut parts = vec![Part::text(INSTRUCTION)];
        if !said.trim().is_empty() {
            let said = clip_bytes(said.trim(), WORDS);
            parts.push(Part::text(format!("The user says of this commit: {said}")));
        }
        let attached = Attachment {
            source: "what is to be committed".to_owned(),
            text: commit.told(),
        };
        parts.push(attached.part(&|text| self.hidden(text)));
        Message::new(Role::User, parts)
    }

    /// Tells the model, with the next request, of a commit that the user has made.
    pub fn tell_commit(&mut self, made: &Made) {
        let subject: String = on_one_line(&made.subject).collect();
        let files = first(&made.files, TOLD);
        let told = format!(
            "The user has committed {files} as {}: {subject}. It was not pushed.",
            made.id
        );
        self.tell(&told);
    }
}

impl Committable {
    /// Returns the description of the changes for the model.
    fn told(&self) -> String {
        let mut out = String::new();
        if !self.subjects.is_empty() {
            out.push_str("Subjects of the last commits:\n");
            self.subjects
                .iter()
                .for_each(|subject| out.push_str(&format!("  {subject}\n")));
        }
        out.push_str("Files:\n");
        for file in self.files.iter().take(NAMED) {
            let mode = file.mode.as_ref().map_or_else(String::new, |mode| format!(" ({mode})"));
            out.push_str(&format!("  {} {}{mode}\n", file.change.letter(), file.name));
        }
        if self.files.len() > NAMED || self.is_cut {
            out.push_str("  and more\n");
        }
        out.push('\n');
        out.push_str(&self.diff);
        out
    }
}

/// Returns the message in an answer, without a code fence; `None` if it is empty.
fn message(answer: &str) -> Option<String> {
    // Invisible characters in a message would go unnoticed.
    let inner = unfenced(answer).filter(|inner| !inner.contains("```"));
    let visible: String = codes::without(inner.unwrap_or(answer))
        .chars()
        .map(|c| if c == '\t' { ' ' } else { c })
        .filter(|&c| c == '\n' || !c.is_control() && !hides(c))
        .collect();
    let lines = visible.lines().map(str::trim_end).collect::<Vec<_>>().join("\n");
    let clipped = clip_bytes(lines.trim(), LONGEST).trim().to_owned();
    (!clipped.is_empty()).then_some(clipped)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_taken_out_of_whatever_stands_around_it() {
        for (answer, expected) in [
            ("Fix the parser", Some("Fix the parser")),
            (
                "\n```\nFix the parser\n\nIt looped.\n```\n",
                Some("Fix the parser\n\nIt looped."),
            ),
            ("```text\nFix\n```", Some("Fix")),
            ("Use ``` as fences  \nand so on", Some("Use ``` as fences\nand so on")),
            ("a\u{1b}[31m red\u{1b}[0m one", Some("a red one")),
            (" \n ", None),
            ("``````", Some("``````")),
        ] {
            assert_eq!(message(answer).as_deref(), expected, "{answer:?}");
        }
        assert!(message(&"x".repeat(100_000)).is_some_and(|message| message.len() <= LONGEST + 100));
    }
}
