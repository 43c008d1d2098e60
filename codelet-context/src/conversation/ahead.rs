//! What is done for the next compaction while there is time.

use super::Conversation;
use crate::compact;
use crate::tokens::Tokens;

/// Fewer estimated tokens of new lines than this are looked at in a millisecond or two.
const FEW: Tokens = 30_000;

impl Conversation {
    /// Looks at what was said since the last compaction, so that the next one is left with less to look at. The longest part of
    /// a compaction is to find the lines that are worth quoting, and it grows with what was said; here it is done bit by bit.
    ///
    /// It takes some milliseconds where much has been said since it was done last, and no time else. Call it before each
    /// reply, while it is waited for. Nothing is shown otherwise by it, and who never calls it has slower compactions.
    pub fn look_ahead(&mut self) {
        let index = self.standing().index();
        let budget = self.budget();
        // Where everything is looked at still, less than fills the room can not be passed over.
        let least = match self.candidates.is_all() {
            true => budget.saturating_mul(2),
            false => budget / 2,
        };
        let since = index.position.saturating_sub(self.looked_ahead);
        let new = self.candidates.new_tokens(index).min(since);
        if Tokens::from(new) < least.max(FEW) {
            return;
        }
        let room = self.candidates.room_ahead(budget.saturating_mul(4) as usize);
        self.looked_ahead = index.position;
        self.candidates = compact::look_ahead(self.standing(), room, &self.candidates);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conversation::{Due, EditKind, Signals};
    use crate::message::{Action, ActionKind, Message, Part, Role, ToolCall, ToolResult};
    use crate::policy::{CompactionConfig, Reason};
    use std::collections::HashSet;

    /// A session that reads one file after the other, of 20 KB each, and asks ahead or not.
    fn session(steps: usize, looks_ahead: bool) -> Conversation {
        let mut conversation = Conversation::new(CompactionConfig::new(200_000), 0);
        conversation.append(Message::user("What becomes of the walnut_press?"));
        for step in 0..steps {
            if let Some(due) = conversation
                .decide(Signals::default())
                .filter(|due| due.kind() != EditKind::Light)
            {
                conversation.compact(due).unwrap();
            }
            if looks_ahead {
                let view = conversation.view().messages.clone();
                conversation.look_ahead();
                assert_eq!(conversation.view().messages, view);
            }
            let (id, file) = (format!("toolu_{step}"), format!("src/part_{step}.rs"));
            let call = ToolCall::new(
                &*id,
                "Read",
                [("file_path".to_owned(), file.as_str().into())].into_iter().collect(),
            )
            .doing(Action::on(ActionKind::Read, [file.as_str()]));
            conversation.append(Message::new(Role::Assistant, vec![Part::ToolCall(call)]));
            let line = |line: usize| format!("let part_{step}_{line} = walnut_{}({});\n", line * step % 97, line * 7);
            let text: String = (0..500).map(line).collect();
            conversation.append(Message::results(vec![ToolResult::new(&*id, Some(true), text)]));
        }
        conversation
    }

    fn looked_at(conversation: &Conversation) -> usize {
        conversation
            .candidates
            .within(0..conversation.history.index().lines.len() as u32)
            .count()
    }

    fn quoted(conversation: &mut Conversation) -> HashSet<String> {
        conversation.compact(Due::whole(Reason::Asked)).unwrap();
        let parts = conversation.view().messages.iter().flat_map(|message| &message.parts);
        let texts = parts.filter_map(|part| match part {
            Part::Text(text) => compact::quoted_in(text.body.as_str()),
            _ => None,
        });
        texts.flat_map(str::lines).map(str::to_owned).collect()
    }

    #[test]
    fn who_looks_ahead_has_less_to_look_at_when_it_compacts_and_quotes_nearly_the_same() {
        let (mut with, mut without) = (session(90, true), session(90, false));
        assert!(!with.edits().is_empty());
        assert!(
            looked_at(&with) < looked_at(&without),
            "{} of {}",
            looked_at(&with),
            looked_at(&without)
        );
        let (some, all) = (quoted(&mut with), quoted(&mut without));
        let both = some.intersection(&all).count();
        assert!(
            all.len() > 2_000 && both * 10 > all.len() * 9,
            "{both} of {} and {}",
            all.len(),
            some.len()
        );
    }

    #[test]
    fn nothing_is_looked_at_before_much_was_said_and_nothing_twice() {
        let mut conversation = session(3, true);
        assert!(conversation.candidates.is_all());
        conversation = session(60, true);
        let (candidates, position) = (looked_at(&conversation), conversation.looked_ahead);
        conversation.look_ahead();
        assert_eq!(
            (looked_at(&conversation), conversation.looked_ahead),
            (candidates, position)
        );
    }
}
