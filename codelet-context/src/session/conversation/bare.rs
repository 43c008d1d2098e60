//! A conversation without some of its texts: what is left decides when an edit is due, and may be enough for a light one.

use super::undo::Snapshot;
use super::{Conversation, Due};
use crate::compact::trim;
use crate::message::{Extra, Message, Opaque, Parameters, Part, Role, Text, Thinking, ToolCall, ToolResult};
use crate::text::body::Body;
use serde_json::{Map, Value};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// The texts that a conversation still has, fewest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Texts {
    /// Those from the last reply on.
    Newest,
    /// Those that the view shows.
    Shown,
    /// All.
    All,
}

/// What stands in place of all that is alike, once.
struct Nothing {
    text: Body,
    parameters: Parameters,
}

impl Default for Nothing {
    fn default() -> Self {
        Nothing {
            text: Body::new(""),
            parameters: Parameters::new(Map::new()),
        }
    }
}

impl Conversation {
    /// Drops texts, with what is known of their lines, so that these are left. That is most of what a conversation takes. It
    /// can go on: what is appended from here on is weighed as before, and it is [decided](Self::decide) as before whether an
    /// edit is due. If that edit [cannot be made](Self::can_make) any more, or to go back, or to read back something that was
    /// dropped, it has to be told again from its beginning. `Texts::Shown` has no effect if it was ever edited other than
    /// lightly.
    pub fn drop_texts(&mut self, left: Texts) {
        // What a provider has refused is compared with what is said.
        if self.told.is_some() {
            return;
        }
        match left {
            Texts::All => {}
            Texts::Shown => self.drop_removed(),
            Texts::Newest => self.drop_most(),
        }
    }

    /// Returns whether an edit can be made with the texts that are left. If not, the conversation must not be compacted.
    pub fn can_make(&self, due: Due) -> bool {
        match self.texts {
            Texts::All => true,
            Texts::Shown => due.is_light(),
            Texts::Newest => false,
        }
    }

    /// Drops the outputs that light edits removed.
    fn drop_removed(&mut self) {
        let is_light = |snapshot: &Snapshot| snapshot.is_light;
        let is_new = |snapshot: &Snapshot| !snapshot.messages.is_empty();
        if self.texts < Texts::Shown || !self.snapshots.iter().all(is_light) || !self.snapshots.iter().any(is_new) {
            return;
        }
        let shown: HashSet<*const Message> = self.view.messages.iter().map(Arc::as_ptr).collect();
        let nothing = Nothing::default();
        let bare = |message: &Arc<Message>| {
            let has_output = message.tool_results().any(|result| !result.output.is_empty());
            let is_gone = has_output && !shown.contains(&Arc::as_ptr(message));
            is_gone.then(|| Arc::new(nothing.instead_of_outputs(message)))
        };
        let bulk = &self.economy.bulk;
        Arc::make_mut(&mut self.history).drop_outputs(bare, |place| bulk.is_shown(place));
        self.economy.drop_texts();
        self.view.archive.drop_texts(|removed| removed.reason == trim::REASON);
        self.forget_views();
        self.texts = Texts::Shown;
    }

    /// Drops what only undoing an edit and rebuilding the view ask for.
    fn forget_views(&mut self) {
        for snapshot in &mut self.snapshots {
            snapshot.messages = Arc::default();
        }
        (self.masks, self.removed_by) = Default::default();
    }

    /// Drops what was said before the last reply, and what was removed.
    fn drop_most(&mut self) {
        let last = |messages: &[Arc<Message>]| messages.iter().rposition(|message| message.role == Role::Assistant);
        let (said, shown) = (self.history.messages(), &mut self.view.messages);
        // What was appended since texts were dropped last stands at the end of both.
        let since = said.len() - self.bare_until;
        let until = last(said).unwrap_or(0).max(self.bare_until);
        // A message that both lists hold stays one.
        let mut known: HashMap<*const Message, Arc<Message>> = HashMap::new();
        let nothing = Nothing::default();
        let mut bare = |messages: &[Arc<Message>]| -> Vec<Arc<Message>> {
            let bare = |message: &Arc<Message>| {
                let bare = known.entry(Arc::as_ptr(message));
                bare.or_insert_with(|| Arc::new(nothing.but_for(message))).clone()
            };
            messages.iter().map(bare).collect()
        };
        let said = bare(&said[self.bare_until..until]);
        let first = match self.texts {
            Texts::Newest => shown.len().saturating_sub(since),
            Texts::Shown | Texts::All => 0,
        };
        let places = first..last(shown).unwrap_or(0).max(first);
        let fresh = bare(&shown[places.clone()]);
        shown.splice(places, fresh);
        Arc::make_mut(&mut self.history).drop_texts(self.bare_until, said);
        self.economy.drop_texts();
        self.view.archive.drop_texts(|_| true);
        self.forget_views();
        (self.texts, self.bare_until) = (Texts::Newest, until);
    }

    /// The texts that are left.
    pub fn texts(&self) -> Texts {
        self.texts
    }
}

impl Nothing {
    /// A message that plays the same part in every decision. Of the user's own words it is asked whether the same are shown somewhere.
    fn but_for(&self, message: &Message) -> Message {
        let is_said = message.role == Role::User;
        let same = |body: &Body| match is_said && !body.is_blank() {
            true => Body::new(format!("{:016x}", body.hash())),
            false => self.text.clone(),
        };
        let mut bare = message.clone();
        bare.extra = Extra::default();
        for part in &mut bare.parts {
            let is_own = part.is_own_words();
            match part {
                Part::Text(text) => {
                    let body = if is_own { same(&text.body) } else { self.text.clone() };
                    *text = Text::new(body, text.origin);
                }
                Part::Thinking(thinking) => {
                    *thinking = Thinking {
                        body: self.text.clone(),
                        signature: None,
                        redacted: None,
                        is_wanted_back: thinking.is_wanted_back,
                        extra: Extra::default(),
                    };
                }
                Part::Image(image) => (image.data, image.extra) = (same(&image.data), Extra::default()),
                Part::ToolCall(call) => {
                    *call = ToolCall {
                        parameters: self.parameters.clone(),
                        ..ToolCall::new(call.id.clone(), call.tool.clone(), Map::new())
                    };
                }
                Part::ToolResult(result) => *result = self.instead_of(result),
                Part::Opaque(opaque) => {
                    let json = Value::from(same(opaque.json()).as_str());
                    *opaque = Opaque::new(opaque.kind.clone(), json).that_is(opaque.nature.clone());
                }
            }
        }
        bare
    }

    /// The same message without its outputs.
    fn instead_of_outputs(&self, message: &Message) -> Message {
        let mut bare = message.clone();
        for part in &mut bare.parts {
            if let Part::ToolResult(result) = part {
                *result = self.instead_of(result);
            }
        }
        bare
    }

    fn instead_of(&self, result: &ToolResult) -> ToolResult {
        ToolResult {
            output: Vec::new(),
            is_apart: result.is_apart,
            ..ToolResult::new(result.call_id.clone(), result.success, "")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::economics::Economics;
    use crate::budget::policy::CompactionConfig;
    use crate::budget::price;
    use crate::budget::usage::Usage;
    use crate::message::Action;
    use crate::message::{ActionKind, Image, Nature, Origin, ReminderKind, ToolResult};
    use crate::session::conversation::{Report, Signals};
    use proptest::prelude::*;

    fn lines(seed: usize, bytes: usize) -> String {
        let mut text = String::new();
        while text.len() < bytes {
            let number = (seed + text.len()).wrapping_mul(0x9E37_79B9) % 1_000_000;
            text.push_str(&format!("let name_{number} = other_{};\n", number * 7 % 1_000_000));
        }
        text
    }

    /// The messages of a step: a reply that reads one of some files, with words of an earlier output now and then, and what it gives; or
    /// what the user or a harness says.
    fn step((kind, which, bytes): (u8, u8, u16), number: usize) -> Vec<Message> {
        let user = |part| vec![Message::new(Role::User, vec![part])];
        let image = Image {
            media_type: "image/png".into(),
            data: format!("data{}", which % 2).into(),
            is_url: false,
            extra: Extra::default(),
        };
        match kind % 24 {
            0 | 1 => user(Part::text(format!("Do the {}. part of it.", which % 3))),
            2 => user(Part::Image(image)),
            3 => user(Part::text_from(
                Origin::Reminder(ReminderKind::GitStatus),
                lines(number, 200),
            )),
            4 => user(Part::Opaque(Opaque::new(
                "document",
                Value::from(lines(usize::from(which % 2), 300)),
            ))),
            5 => vec![Message::assistant("Done.")],
            6 => {
                let begun = Opaque::new("server_tool_use", Value::from(number)).that_is(Nature::Pending);
                vec![Message::new(
                    Role::Assistant,
                    vec![Part::text("I look."), Part::Opaque(begun)],
                )]
            }
            7 => user(Part::text(" ")),
            _ => {
                let action = Action {
                    kind: [ActionKind::Read, ActionKind::Change, ActionKind::Other][usize::from(which % 3)],
                    paths: vec![format!("src/{}.rs", which % 8).into()],
                    ..Action::default()
                };
                let call = ToolCall::new(format!("call_{number}"), "Look", Map::new()).doing(action);
                let words = match which % 5 {
                    0 => lines(number.saturating_sub(usize::from(which)) * 10_000, 400),
                    _ => format!("I look at part {which}."),
                };
                let result = ToolResult::new(
                    format!("call_{number}"),
                    Some(which % 11 != 0),
                    lines(number * 10_000, usize::from(bytes % 6_000)),
                );
                vec![
                    Message::new(Role::Assistant, vec![Part::text(words), Part::ToolCall(call)]),
                    Message::results(vec![result]),
                ]
            }
        }
    }

    fn tell(conversation: &mut Conversation, message: &Message) {
        if message.role == Role::Assistant {
            let prompt = conversation.occupancy();
            let usage = Usage::from_exclusive(prompt / 10, prompt - prompt / 10, 0, 50);
            let report = Report {
                usage,
                reasoning: 0,
                is_whole: true,
            };
            conversation.replied(message.clone(), report);
        } else {
            conversation.append(message.clone());
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn without_texts_it_is_decided_alike(steps in prop::collection::vec((any::<u8>(), any::<u8>(), any::<u16>()), 20..90)) {
            let card = price::find("claude-opus-4-5").cloned().unwrap_or_else(price::usual);
            let config = CompactionConfig::new(40_000).reserving(2_000);
            let mut whole = Conversation::new(config, 500).under(Economics::new(card));
            whole.append(Message::system("You are careful."));
            let (mut bare, mut shown) = (whole.clone(), whole.clone());
            for (number, step) in steps.into_iter().enumerate() {
                for message in self::step(step, number) {
                    tell(&mut whole, &message);
                    tell(&mut bare, &message);
                    tell(&mut shown, &message);
                }
                if step.1 % 3 > 0 {
                    bare.drop_texts(Texts::Newest);
                    shown.drop_texts(Texts::Shown);
                }
                prop_assert_eq!(bare.pressing(Signals::default()), whole.pressing(Signals::default()));
                prop_assert_eq!(bare.shown(), whole.shown());
                let due = whole.decide(Signals::default());
                prop_assert_eq!(bare.decide(Signals::default()), due);
                prop_assert_eq!(shown.decide(Signals::default()), due);
                if let Some(due) = due {
                    let notice = whole.compact(due);
                    bare = whole.clone();
                    if shown.can_make(due) {
                        prop_assert_eq!(shown.compact(due), notice);
                    } else {
                        shown = whole.clone();
                    }
                }
                prop_assert_eq!(&shown.view().messages, &whole.view().messages);
                prop_assert!(shown.archive().newest().map(|it| it.0).eq(whole.archive().newest().map(|it| it.0)));
                let edges = whole.sending(false);
                prop_assert_eq!(bare.sending(false), edges);
                prop_assert_eq!(shown.sending(false), edges);
            }
        }
    }

    #[test]
    fn light_edits_are_made_with_what_is_shown_and_what_they_removed_is_gone() {
        let card = price::find("claude-opus-4-5").cloned().unwrap_or_else(price::usual);
        let mut whole = Conversation::new(CompactionConfig::new(200_000), 0).under(Economics::new(card));
        whole.append(Message::user("Look at all parts."));
        let mut shown = whole.clone();
        let mut made = 0;
        for number in 0..150 {
            // The same file is read again now and then.
            let kind = if number % 9 == 8 { number - 5 } else { number };
            let mut messages = step((8, 0, 3_000), kind);
            for part in messages.iter_mut().flat_map(|message| &mut message.parts) {
                match part {
                    Part::ToolCall(call) => call.id = format!("id_{number}").into(),
                    Part::ToolResult(result) => result.call_id = format!("id_{number}").into(),
                    _ => {}
                }
            }
            for message in messages {
                tell(&mut whole, &message);
                tell(&mut shown, &message);
            }
            let due = whole.decide(Signals::default());
            assert_eq!(shown.decide(Signals::default()), due);
            if let Some(due) = due {
                assert!(due.is_light());
                made += usize::from(shown.texts() == Texts::Shown);
                whole.compact(due).unwrap();
                shown.compact(due).unwrap();
                shown.drop_texts(Texts::Shown);
            }
            assert_eq!(shown.view().messages, whole.view().messages);
            assert_eq!(shown.sending(false), whole.sending(false));
        }
        assert!(made > 2, "{made} edits");
        let handle = whole.archive().newest().last().unwrap().0.as_str();
        assert!(whole.recall(handle, None).is_some_and(|text| text.len() > 1_000));
        assert_eq!(shown.recall(handle, None), Some(""));
    }

    #[test]
    fn nothing_that_was_said_before_the_last_reply_is_left() {
        let mut conversation = Conversation::new(CompactionConfig::new(20_000), 0);
        for number in 0..40 {
            for message in step((8, number as u8, 3_000), number) {
                tell(&mut conversation, &message);
            }
            if let Some(due) = conversation.decide(Signals::default()) {
                conversation.compact(due).unwrap();
            }
        }
        let handle = conversation.archive().newest().next().unwrap().0.clone();
        assert_ne!(conversation.recall(handle.as_str(), None), Some(""));
        conversation.drop_texts(Texts::Newest);
        assert_eq!(conversation.recall(handle.as_str(), None), Some(""));
        let said = format!("{conversation:?}");
        assert!(said.contains(&lines(390_000, 30)[..25]), "the last step is there");
        let lost = (0..39).filter(|number| said.contains(&lines(number * 10_000, 30)[..25]));
        assert_eq!(lost.count(), 0, "{said}");
    }
}
