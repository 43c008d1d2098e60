//! Turns and steps: ranges of the history, never copies of it.

use crate::message::{Message, Role};
use std::ops::Range;
use std::sync::Arc;

/// A user's own prompt and everything up to the next one, as a range of messages.
#[derive(Clone, PartialEq, Eq, Debug, Hash)]
pub struct Turn(pub Range<usize>);

/// One reply of the model and the results of the tools that it called, as a range of messages.
#[derive(Clone, PartialEq, Eq, Debug, Hash)]
pub struct Step(pub Range<usize>);

/// The turns of a conversation. What stands before the first prompt (the system prompt, reminders) belongs to none;
/// prompts that follow each other without a reply between them are one turn.
pub fn turns(messages: &[Arc<Message>]) -> Vec<Turn> {
    let mut turns: Vec<Turn> = Vec::new();
    let mut replied = true;
    for (index, message) in messages.iter().enumerate() {
        match message.role {
            Role::Assistant => replied = true,
            Role::User if message.is_prompt() && replied => {
                if let Some(last) = turns.last_mut() {
                    last.0.end = index;
                }
                turns.push(Turn(index..messages.len()));
                replied = false;
            }
            _ => {}
        }
    }
    turns
}

/// The steps within a range of messages: each begins at an assistant's message that follows anything else.
pub fn steps(messages: &[Arc<Message>], range: Range<usize>) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut after_assistant = false;
    for index in range.clone() {
        let is_assistant = messages[index].role == Role::Assistant;
        if is_assistant && !after_assistant {
            if let Some(last) = steps.last_mut() {
                last.0.end = index;
            }
            steps.push(Step(index..range.end));
        }
        after_assistant = is_assistant;
    }
    steps
}
