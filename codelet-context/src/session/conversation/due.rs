//! Decides which edit is due, and the target size.

use super::{Conversation, Signals};
use crate::budget::economy::Way;
use crate::budget::policy::{AIM, CLEARLY_BELOW, CompactAt, Fixed, Pressure, Reason, UNSEEN_PROMPT};
use crate::compact::{Rise, Target, UNSEEN_SHARE};
use crate::message::tokens::{self, Tokens};
use crate::message::turn;
use crate::message::{Message, Origin, Part, Role};
use crate::text::body::Body;
use crate::text::hash::ByHash;

/// An edit that is due: its reason and its kind.
///
/// [`decide`](Conversation::decide) returns one, and [`compact`](Conversation::compact) carries it out. It is plain
/// data without borrows, so a caller may show it, wait, or have a model write a summary in between. It applies to the
/// state of the conversation that it was decided for: after an append, a light edit still starts at the same message,
/// but it is better to decide again.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Due {
    reason: Reason,
    /// The edit that the economics suggest; `None` for a compaction of the whole view.
    way: Option<Way>,
}

impl Due {
    /// A compaction of the whole view for this reason, regardless of pressure: at the user's request, or after a
    /// provider's refusal.
    pub fn whole(reason: Reason) -> Self {
        Due { reason, way: None }
    }

    /// The reason.
    pub fn reason(self) -> Reason {
        self.reason
    }

    /// Returns whether the edit is light: from some message on, markers replace outputs that nothing refers to any more;
    /// calls, prompts and text stay. Any other rebuilds the view from the history at the target size, with a summary of
    /// what is left out.
    pub fn is_light(self) -> bool {
        matches!(self.way, Some(Way::Trim(_)))
    }

    pub(super) fn way(self) -> Option<Way> {
        self.way
    }
}

/// The target size of a compaction, and the rise allowed for content that cannot be summarised.
#[derive(Clone, Copy, Debug)]
pub(super) struct Aim {
    pub target: Target,
    pub rise: Option<Rise>,
}

impl From<Target> for Aim {
    /// A requested size, which does not rise.
    fn from(target: Target) -> Self {
        Aim { target, rise: None }
    }
}

/// The content that identifies a text, a picture or a file of the user.
fn words(part: &Part) -> Option<&Body> {
    match part {
        Part::Text(text) if !text.body.is_blank() => Some(&text.body),
        Part::Image(image) => Some(&image.data),
        Part::Opaque(opaque) => Some(opaque.json()),
        _ => None,
    }
}

impl Conversation {
    /// The pressure on the session before the next request, and the edit that the economics suggest short of a full
    /// compaction.
    pub(super) fn pressing(&self, signals: Signals) -> (Pressure, Option<Way>) {
        let occupancy = self.occupancy.next_request();
        let removable = self.economy.removable(self.occupancy.ratio());
        // After the cache has expired, there is no prefix whose rent could fall due.
        let way = if signals.is_cold { None } else { self.way(occupancy) };
        let cold = signals
            .is_cold
            .then(|| self.economy.cold_cut(&self.pins.messages()))
            .flatten();
        let pressure = Pressure {
            occupancy,
            effective: self.effective(),
            removable: match (way, cold) {
                (Some(Way::Trim(cut)), _) | (None, Some(cut)) => cut.removed as Tokens,
                (Some(Way::Below { target, .. }), _) => occupancy.saturating_sub(target),
                (None, None) if signals.is_cold => 0,
                (None, None) => removable,
            },
            is_rent_due: way.is_some(),
            is_cold: signals.is_cold,
            is_asked: signals.is_asked,
            is_wished: signals.is_wished,
            is_refused: self.attempts.is_refused,
        };
        (pressure, way.or(cold.map(Way::Trim)))
    }

    fn way(&self, occupancy: Tokens) -> Option<Way> {
        let way = self.economy.way(occupancy, &self.pins.messages(), || self.fixed())?;
        let is_whole = matches!(way, Way::Below { .. });
        (!is_whole || self.config.compact_at != CompactAt::Never).then_some(way)
    }

    /// The effective tokens of the last prompt; 0 if what price edits must not touch is nearly as large by itself,
    /// since no compaction would help then.
    fn effective(&self) -> Tokens {
        let effective = self.tracker.effective_tokens(self.config.discount);
        let is_in_vain = || self.fixed() as f64 > self.config.trigger() as f64 * CLEARLY_BELOW;
        match self.config.should_compact(effective) && is_in_vain() {
            true => 0,
            false => effective,
        }
    }

    /// The messages that a compaction for its price never shortens, ascending: the last reply and everything after it,
    /// which no model has read yet, and the prompts that are shown in full.
    pub(super) fn untouchable(&self) -> Vec<usize> {
        let messages = self.standing().messages();
        let unsent = turn::unsent_from(messages);
        let shown = self.view.messages.iter().filter(|message| message.role == Role::User);
        let mut known: ByHash<Vec<&Body>> = ByHash::default();
        for words in shown.flat_map(|message| &message.parts).filter_map(words) {
            known.entry(words.hash()).or_default().push(words);
        }
        let is_shown = |words: &Body| known.get(&words.hash()).is_some_and(|alike| alike.contains(&words));
        let is_whole = |message: &Message| {
            let own = message.parts.iter().filter(|part| part.is_own_words());
            message.is_prompt() && own.filter_map(words).all(is_shown)
        };
        (0..messages.len())
            .filter(|&at| at >= unsent || is_whole(&messages[at]))
            .collect()
    }

    /// The tokens of these messages in the window, with the system prompt and the tool definitions.
    fn fixed(&self) -> Tokens {
        let estimates = self.standing().estimates();
        let messages = self.standing().messages().iter();
        let system = messages.zip(estimates).filter(|(it, _)| it.role == Role::System);
        let system: Tokens = system.map(|(_, estimate)| estimate).sum();
        let untouchable: Tokens = self.untouchable().into_iter().map(|at| estimates[at]).sum();
        self.weigh(system.saturating_add(untouchable))
    }

    /// The edit that is due before the next request, if any, to be made by [`compact`](Self::compact) and its variants.
    /// A stuck session returns an edit only if it cannot go on without one or if the user asks; one with nothing more
    /// to gain is not edited for its price.
    #[must_use = "nothing is edited before what is due is given to `compact`"]
    pub fn decide(&self, signals: Signals) -> Option<Due> {
        let (pressure, way) = self.pressing(signals);
        let reason = self.config.decide(&pressure)?;
        let is_of_use = self.attempts.stuck.is_none() && !self.attempts.guard.is_in_vain();
        let may = is_of_use || reason.is_forced() || reason == Reason::Asked;
        let way = match reason {
            // Above the threshold, no lighter edit is enough.
            Reason::Price if self.config.should_compact(pressure.effective) => None,
            Reason::Price | Reason::Cold => way,
            Reason::Full | Reason::Asked | Reason::Wished | Reason::Refused | Reason::Rejected => None,
        };
        may.then_some(Due { reason, way })
    }

    /// The target of a compaction for this reason.
    pub(super) fn aim(&self, reason: Reason) -> Aim {
        Aim {
            target: self.target(reason),
            rise: self.rise(),
        }
    }

    fn target(&self, reason: Reason) -> Target {
        let mut budget = self.budget();
        if reason == Reason::Price {
            let room = self.in_estimate(self.config.trigger());
            budget = budget.max(self.in_estimate(self.fixed()) + room / 10).min(room);
        }
        if matches!(reason, Reason::Asked | Reason::Wished) && self.shown.tokens <= budget {
            Target::Select
        } else {
            Target::Budget(budget)
        }
    }

    /// The maximum rise of the [`budget`](Self::budget): for the system prompt and the reminders, while it stays
    /// clearly below the trigger, and for a prompt that no model has seen, while some steps of work still fit. None
    /// after a second refusal.
    pub(super) fn rise(&self) -> Option<Rise> {
        let trigger = self.config.trigger();
        let up_to = |part: f64| self.in_estimate((trigger as f64 * part) as Tokens);
        let cut = self.cut.filter(|(limit, _)| *limit == trigger);
        (self.attempts.refusals <= 1).then(|| Rise {
            standing: up_to(CLEARLY_BELOW),
            fresh: up_to(UNSEEN_PROMPT),
            cut: cut.map(|(_, cut)| cut),
        })
    }

    /// The maximum size of the messages after a compaction, as an estimate. Each refusal after the first halves it,
    /// since the previous size turned out not to fit.
    ///
    /// In a window so small that the content that always stays takes most of the target, the target is a share of the
    /// remaining room: a system prompt that is cut to a marker leaves no usable agent. It is large enough for outputs
    /// that the model has requested and not seen yet, which would otherwise be requested again. Reminders raise it only
    /// while it stays clearly below the trigger: rules that leave no room to work are cut, with a handle, rather than
    /// cause a compaction at every step.
    pub(super) fn budget(&self) -> Tokens {
        let room = self.in_estimate(self.config.trigger());
        let stays = self.system + self.newest_prompt.min(room / 4).max(self.answered());
        let whole = self.budget_beside(stays + self.reminders, room);
        let clearly = self.in_estimate((self.config.trigger() as f64 * CLEARLY_BELOW) as Tokens);
        if whole <= clearly {
            return whole;
        }
        whole.min(self.budget_beside(stays, room).max(clearly))
    }

    /// The same, for this much fixed content in a room of this size.
    fn budget_beside(&self, stays: Tokens, room: Tokens) -> Tokens {
        let halvings = self.attempts.refusals.saturating_sub(1).min(63);
        let aim = self.in_estimate(self.config.target() >> halvings);
        let least = match halvings {
            0 => stays + (self.unseen() as f64 / UNSEEN_SHARE) as Tokens,
            _ => 0,
        };
        let aim = aim.max(least.min(room / 4 * 3));
        if stays <= aim / 2 {
            return aim;
        }
        let left = room.saturating_sub(stays);
        aim.max(stays + ((left as f64 * AIM) as Tokens >> halvings)).min(room)
    }

    /// The estimated tokens of the text of the prompt in progress.
    pub(super) fn answered(&self) -> Tokens {
        let prompt = self.history.messages().iter().rfind(|message| message.is_prompt());
        let parts = prompt.into_iter().flat_map(|message| &message.parts);
        let words = parts.filter(|part| matches!(part, Part::Text(text) if text.origin == Origin::Own));
        words.map(tokens::estimate_part).sum()
    }

    /// The estimated tokens of the last reply and everything after it, if the reply has calls.
    pub(super) fn unseen(&self) -> Tokens {
        let messages = self.standing().messages();
        let Some(reply) = messages.iter().rposition(|message| message.role == Role::Assistant) else {
            return 0;
        };
        match messages[reply].calls().next() {
            Some(_) => self.standing().estimates()[reply..].iter().sum(),
            None => 0,
        }
    }

    /// The largest part of the content that always stays, with its tokens.
    pub(super) fn heaviest(&self) -> (Fixed, Tokens) {
        let shown = self.view.messages.iter();
        let parts = shown.flat_map(|message| message.parts.iter().map(move |part| (message.role, part)));
        let (mut system, mut reminders, mut prompts) = (0, 0, 0);
        for (role, part) in parts {
            let weight = match (role, part) {
                (Role::System, _) => &mut system,
                (Role::User, Part::Text(text)) if text.origin == Origin::Own => &mut prompts,
                (Role::User, Part::Text(text)) if matches!(text.origin, Origin::Reminder(_)) => &mut reminders,
                (Role::User, Part::Image(_) | Part::Opaque(_)) => &mut prompts,
                _ => continue,
            };
            *weight += tokens::estimate_part(part);
        }
        let estimates = self.standing().estimates();
        let pinned: Tokens = self.pins.messages().into_iter().map(|at| estimates[at]).sum();
        let notes: usize = self.pins.texts().into_iter().map(str::len).sum();
        let parts = [
            (Fixed::LastStep, self.unseen()),
            (Fixed::Prompts, prompts),
            (Fixed::Pins, pinned + tokens::estimate_bytes(notes)),
            (Fixed::Reminders, reminders),
            (Fixed::System, system),
            (Fixed::Tools, self.overhead),
        ];
        let (part, estimate) = parts
            .into_iter()
            .max_by_key(|&(_, estimate)| estimate)
            .unwrap_or((Fixed::Tools, self.overhead));
        let tokens = match part {
            // Content of every request was counted with the first one.
            Fixed::Tools | Fixed::System | Fixed::Reminders => self.occupancy.weigh(estimate),
            Fixed::LastStep | Fixed::Prompts | Fixed::Pins => (estimate as f64 * self.occupancy.slope()) as Tokens,
        };
        (part, tokens)
    }

    /// Converts tokens of the window to an estimate of messages.
    pub(super) fn in_estimate(&self, tokens: Tokens) -> Tokens {
        self.occupancy.estimate_of(tokens).saturating_sub(self.overhead)
    }

    /// Converts an estimate of messages to tokens of the window.
    pub(super) fn weigh(&self, estimate: Tokens) -> Tokens {
        self.occupancy.weigh(estimate.saturating_add(self.overhead))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::economics::Economics;
    use crate::budget::policy::CompactionConfig;
    use crate::budget::price;
    use crate::budget::usage::Usage;
    use crate::compact::Warning;
    use crate::message::{ToolCall, ToolResult};
    use crate::session::conversation::Report;
    use serde_json::Map;

    /// Lines that are all different.
    fn lines(seed: usize, bytes: usize) -> String {
        let mut text = String::new();
        while text.len() < bytes {
            let number = (seed + text.len()).wrapping_mul(0x9E37_79B9);
            text.push_str(&format!("let name_{number:x} = other_{:x};\n", number.rotate_left(13)));
        }
        text.truncate(bytes);
        text
    }

    /// A session with this window and a price tier above a hundred thousand tokens.
    fn session(window: Tokens) -> Conversation {
        let card = price::find("tier-5x").cloned().unwrap();
        let mut conversation = Conversation::new(CompactionConfig::new(window), 1_000).under(Economics::new(card));
        conversation.append(Message::system("You are careful."));
        conversation
    }

    /// Steps with much text of the model, so that markers in place of outputs gain little.
    fn talk(conversation: &mut Conversation, steps: usize) {
        for number in 0..steps {
            let call = ToolCall::new(format!("call_{number}"), "Look", Map::new());
            let words = Part::text(lines(number * 77_777, 8_000));
            let reply = Message::new(Role::Assistant, vec![words, Part::ToolCall(call)]);
            let prompt = conversation.occupancy();
            let report = Report {
                usage: Usage::from_exclusive(prompt, 0, 0, 2_010),
                reasoning: 0,
                is_whole: true,
            };
            conversation.replied(reply, report);
            let result = ToolResult::new(format!("call_{number}"), Some(true), lines(number, 400));
            conversation.append(Message::results(vec![result]));
        }
    }

    fn holds(conversation: &Conversation, text: &str) -> bool {
        let parts = conversation.view().messages.iter().flat_map(|message| &message.parts);
        parts
            .into_iter()
            .any(|part| matches!(part, Part::Text(it) if it.body.as_str() == text))
    }

    #[test]
    fn a_fresh_prompt_is_not_cut_for_its_price() {
        let mut conversation = session(1_000_000);
        let prompt = lines(5, 600_000);
        conversation.append(Message::user(prompt.as_str()));
        assert_eq!(conversation.decide(Signals::default()), None);
        // Nor after it was read, as it is most of the content.
        talk(&mut conversation, 20);
        assert_eq!(conversation.decide(Signals::default()), None);
        assert!(holds(&conversation, &prompt));
    }

    #[test]
    fn what_is_said_around_a_long_prompt_goes_for_its_price_and_the_prompt_stays() {
        let mut conversation = session(1_000_000);
        let prompts = [lines(5, 120_000), lines(900, 60_000)];
        conversation.append(Message::user(prompts[0].as_str()));
        talk(&mut conversation, 28);
        conversation.append(Message::assistant("Done."));
        conversation.append(Message::user(prompts[1].as_str()));
        let due = conversation.decide(Signals::default()).unwrap();
        assert_eq!((due.reason(), due.is_light()), (Reason::Price, false));
        let notice = conversation.compact(due).unwrap();
        assert!(notice.changed && notice.after < 100_000, "{notice:?}");
        assert!(prompts.iter().all(|prompt| holds(&conversation, prompt)));
    }

    #[test]
    fn outputs_that_no_model_has_read_stay_whole_for_any_price() {
        let mut conversation = session(1_000_000);
        conversation.append(Message::user("Look."));
        talk(&mut conversation, 20);
        let outputs: Vec<String> = (0..3).map(|number| lines(number * 999_999, 100_000)).collect();
        let calls = (0..3).map(|number| Part::ToolCall(ToolCall::new(format!("big_{number}"), "Look", Map::new())));
        conversation.append(Message::new(Role::Assistant, calls.collect()));
        let results = outputs.iter().enumerate();
        let results = results.map(|(number, text)| ToolResult::new(format!("big_{number}"), Some(true), text.as_str()));
        conversation.append(Message::results(results.collect()));
        if let Some(due) = conversation.decide(Signals::default()) {
            assert_eq!(due.reason(), Reason::Price);
            conversation.compact(due).unwrap();
        }
        let results = conversation
            .view()
            .messages
            .iter()
            .flat_map(|message| message.tool_results());
        let whole = results
            .flat_map(|result| result.texts())
            .filter(|text| outputs.iter().any(|it| it == text.body.as_str()));
        assert_eq!(whole.count(), 3);
    }

    #[test]
    fn a_prompt_that_does_not_fit_is_not_sent_and_cut_once_another_is_answered() {
        let mut conversation = session(20_000);
        conversation.append(Message::user(lines(5, 200_000)));
        let due = conversation.decide(Signals::default()).unwrap();
        assert_eq!(due.reason(), Reason::Full);
        let refusal = conversation.compact(due).unwrap_err().to_string();
        assert!(refusal.starts_with("not sent: the prompt has about 50,0"), "{refusal}");
        conversation.append(Message::user("Only the first page, please."));
        let notice = conversation.compact(Due::whole(Reason::Full)).unwrap();
        assert!(
            notice.warnings.contains(&Warning::PromptsCut { prompts: 1 }),
            "{notice}"
        );
        talk(&mut conversation, 8);
        let notice = conversation.compact(Due::whole(Reason::Full)).unwrap();
        let tells = |warning: &Warning| matches!(warning, Warning::PromptsCut { .. });
        assert!(!notice.warnings.iter().any(tells), "{notice}");
    }

    #[test]
    fn a_report_of_too_few_tokens_leaves_the_estimate() {
        let mut conversation = session(1_000_000);
        conversation.append(Message::user(lines(5, 80_000)));
        let expected = conversation.occupancy();
        for prompt in [12, 900, 7_000] {
            let report = Report {
                usage: Usage::from_exclusive(prompt, 0, 0, 3),
                reasoning: 0,
                is_whole: true,
            };
            conversation.replied(Message::assistant("Hm."), report);
            let occupancy = conversation.occupancy();
            assert!(occupancy >= expected, "{prompt}: {occupancy} of {expected}");
            assert_eq!(conversation.doubted().map(|(reported, _)| reported), Some(prompt));
        }
        let honest = Report {
            usage: Usage::from_exclusive(17_000, 0, 0, 3),
            reasoning: 0,
            is_whole: true,
        };
        conversation.replied(Message::assistant("Hm."), honest);
        assert_eq!(conversation.occupancy(), 17_003);
    }
}
