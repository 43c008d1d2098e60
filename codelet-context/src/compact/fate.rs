//! The fate of each message, with the reason, for a person.

use super::{Fate, FateKind};
use crate::compact::draft::Draft;
use crate::history::History;
use crate::message::cut;
use crate::message::{Part, Role};
use std::borrow::Cow;

/// The fate of each message of a history when these drafts and quoted lines are shown; `offered` is the reply that the
/// newest prompt answers, and `folded` the prompts in the fold.
pub fn fates(history: &History, drafts: &[Draft], taken: &[u32], offered: &[usize], folded: &[usize]) -> Vec<Fate> {
    let index = history.ranking();
    let mut lines = vec![0_usize; history.messages().len()];
    for &segment in taken {
        lines[index.blocks[index.block_of(segment) as usize].message as usize] += 1;
    }
    let mut shown = drafts.iter().peekable();
    let messages = history.messages().iter().enumerate();
    messages
        .map(|(at, message)| {
            let quoted = (lines[at] > 0).then(|| cut::counted(lines[at], "line") + " quoted");
            match shown.next_if(|draft| draft.source == at) {
                Some(draft)
                    if draft.message.parts.len() == message.parts.len() && draft.message.parts.iter().all(is_whole) =>
                {
                    let why = match message.role {
                        Role::System => "system prompt",
                        Role::User if message.is_prompt() => "the user's words",
                        _ if offered.contains(&at) => "the newest prompt answers it",
                        _ => "recent",
                    };
                    Fate::new(FateKind::Kept, why)
                }
                Some(draft) => {
                    // Its start and end are shown, and lines of the cut part are quoted, so it is not gone.
                    let why = quoted.map_or(Cow::Borrowed("cut"), |lines| Cow::Owned(format!("cut, {lines}")));
                    // A cut part differs from the original, and a removed part is missing.
                    let stands = |part: &usize| draft.message.parts.contains(&message.parts[*part]);
                    Fate {
                        whole: (0..message.parts.len()).filter(stands).collect(),
                        ..Fate::new(FateKind::Shortened, why)
                    }
                }
                None if folded.binary_search(&at).is_ok() => {
                    Fate::new(FateKind::Excerpted, "folded with the oldest prompts")
                }
                None => match quoted {
                    Some(lines) => Fate::new(FateKind::Excerpted, lines),
                    None => Fate::new(FateKind::Summarised, "in the summary only"),
                },
            }
        })
        .collect()
}

/// Returns whether a part of the view has its full content from the history.
pub fn is_whole(part: &Part) -> bool {
    match part {
        Part::Text(text) => text.cut.is_none(),
        Part::ToolCall(call) => call.cut.is_none(),
        Part::ToolResult(result) => result.output.iter().all(is_whole),
        _ => true,
    }
}
