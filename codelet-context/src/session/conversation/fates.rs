//! A preview of what a compaction would do to each message.

use super::Conversation;
use crate::budget::policy::Reason;
use crate::compact::reminder;
use crate::compact::{Fate, FateKind, Target};
use std::collections::BTreeMap;

impl Conversation {
    /// The fate of each message of the history if the user requested a compaction now.
    pub fn fates(&self) -> Vec<Fate> {
        let aim = self.aim(Reason::Asked);
        let mut fates = match aim.target {
            Target::Select => self.build_below_aim(None).0.fates,
            _ => self.build_with(aim, None, &[]).fates,
        };
        self.settle(&mut fates);
        fates
    }

    /// Accounts for superseded reminders, which every edit point removes, even if nothing else has to go.
    fn settle(&self, fates: &mut [Fate]) {
        let messages = self.standing().messages();
        let mut gone: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (message, part) in reminder::settlement(messages, &self.standing().course().reminding).gone {
            gone.entry(message).or_default().push(part);
        }
        for (at, gone) in gone {
            let Some(fate) = fates.get_mut(at) else { continue };
            let stands = |part: &usize| !gone.contains(part) && fate.of_part(*part) == FateKind::Kept;
            let whole: Vec<usize> = (0..messages[at].parts.len()).filter(stands).collect();
            // The fate of the other parts is that of the message.
            if whole.len() + gone.len() == messages[at].parts.len() {
                *fate = Fate {
                    kind: FateKind::Superseded,
                    why: "superseded".into(),
                    whole,
                };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::policy::CompactionConfig;
    use crate::message::{Message, Part, ReminderKind, Role};

    fn told(status: &str, prompt: &str) -> [Message; 2] {
        let reminder = reminder::render(ReminderKind::GitStatus, status);
        [Message::new(Role::User, vec![reminder]), Message::user(prompt)]
    }

    fn kinds(conversation: &Conversation) -> Vec<FateKind> {
        conversation.fates().iter().map(|fate| fate.kind).collect()
    }

    #[test]
    fn superseded_reminders_go_also_where_nothing_else_does() {
        let mut conversation = Conversation::new(CompactionConfig::new(200_000), 0);
        conversation.append(Message::system("s"));
        for (status, prompt) in [
            ("clean", "one"),
            ("1 file changed", "two"),
            ("2 files changed", "three"),
        ] {
            told(status, prompt)
                .into_iter()
                .for_each(|message| conversation.append(message));
            conversation.append(Message::assistant("done"));
        }
        use FateKind::{Kept, Superseded};
        let expected = [Kept, Superseded, Kept, Kept, Superseded, Kept, Kept, Kept, Kept, Kept];
        assert_eq!(kinds(&conversation), expected);
    }

    #[test]
    fn what_stands_beside_a_superseded_reminder_stays() {
        let mut conversation = Conversation::new(CompactionConfig::new(200_000), 0);
        let kinds = [ReminderKind::Environment, ReminderKind::GitStatus];
        let parts = kinds.map(|kind| reminder::render(kind, "as it was"));
        conversation.append(Message::new(Role::User, [&parts[..], &[Part::text("one")]].concat()));
        conversation.append(Message::assistant("done"));
        told("1 file changed", "two")
            .into_iter()
            .for_each(|message| conversation.append(message));
        let fate = &conversation.fates()[0];
        assert_eq!(fate.kind, FateKind::Superseded);
        let parts = [0, 1, 2].map(|part| fate.of_part(part));
        assert_eq!(parts, [FateKind::Kept, FateKind::Superseded, FateKind::Kept]);
    }
}
