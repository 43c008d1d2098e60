//! Archiving of removed parts, and the record of messages that are completely in the archive.

use super::Work;
use crate::compact::draft::{self, Draft};
use crate::message::{Message, Part, Role};
use std::sync::Arc;

/// The messages of a history that are completely in an archive, so that later compactions need not process them again.
///
/// Valid for the archive of the compaction that produced it and for every archive that has grown from that one: archive
/// entries are never removed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Archived {
    /// The messages before `until` that may not be completely archived because they were shown, ascending.
    left: Vec<u32>,
    until: u32,
}

impl Archived {
    /// The messages among the first `messages` that may not be completely archived, ascending.
    fn missing(&self, messages: usize) -> impl Iterator<Item = usize> + '_ {
        let left = self.left.iter().map(|&at| at as usize);
        left.chain(self.until as usize..messages)
    }
}

impl Work<'_> {
    /// Archives everything that no draft shows. Returns the messages that are then completely archived.
    pub(super) fn archive_rest(&mut self, drafts: &[Draft]) -> Archived {
        let messages = self.history.messages();
        let mut shown = drafts.iter().peekable();
        let mut left = Vec::new();
        for index in self.archived.missing(messages.len()) {
            while shown.next_if(|draft| draft.source < index).is_some() {}
            let draft = shown.next_if(|draft| draft.source == index);
            left.extend(draft.map(|_| index as u32));
            for (number, part) in messages[index].parts.iter().enumerate() {
                if draft.is_none_or(|draft| draft.parts.binary_search(&(number as u32)).is_err()) {
                    draft::archive_part(part, tool_of(messages, index, part), &mut self.archive);
                }
            }
        }
        Archived {
            left,
            until: messages.len() as u32,
        }
    }
}

/// The tool that produced a result in the message at `index`. In a valid history, its call is in the last reply.
fn tool_of<'a>(messages: &'a [Arc<Message>], index: usize, part: &Part) -> &'a str {
    let Part::ToolResult(result) = part else { return "" };
    let reply = messages[..index]
        .iter()
        .rfind(|message| message.role == Role::Assistant);
    let mut calls = reply.into_iter().flat_map(|reply| reply.calls());
    let call = calls.find(|call| call.id == result.call_id);
    call.map_or("tool", |call| &call.tool)
}

#[cfg(test)]
mod tests {
    use crate::compact::{CompactionCache, Options, Target, compact_among};
    use crate::history::History;
    use crate::message::Message;
    use crate::message::recall::Archive;
    use crate::message::{Action, Part, Role, ToolCall, ToolResult};

    fn run(history: &mut History, line: &str, output: &str) {
        let call = ToolCall::new(line, "Bash", Default::default()).doing(Action::command(line));
        history.append(Message::new(Role::Assistant, vec![Part::ToolCall(call)]));
        history.append(Message::results(vec![ToolResult::new(line, Some(true), output)]));
    }

    #[test]
    fn what_is_kept_is_looked_at_once_and_nothing_is_missing() {
        let mut history = History::new();
        let mut archive = Archive::default();
        let mut archived = super::Archived::default();
        let mut counts = Vec::new();
        for round in 0..10 {
            history.append(Message::user(format!("Part {round}, please.")));
            for number in 0..30 {
                let output: String = (0..20)
                    .map(|line| format!("let part_{round}_{number}_{line} = {};\n", line * 7))
                    .collect();
                run(&mut history, &format!("./look {round} {number}"), &output);
            }
            counts.push(archived.missing(history.messages().len()).count());
            let options = Options {
                archive: Some(&archive),
                ..Options::new(Target::Budget(3_000))
            };
            let known = CompactionCache {
                archived: Some(&archived),
                ..CompactionCache::default()
            };
            let done = compact_among(&history, &options, known);
            let anew = compact_among(&history, &options, CompactionCache::default());
            assert_eq!(done.view, anew.view, "what is known changes nothing");
            archive = done.view.archive;
            archived = done.archived.unwrap_or_default();
        }
        let new = counts[0];
        assert!(counts.iter().all(|&count| count < new * 2), "{counts:?}");
    }
}
