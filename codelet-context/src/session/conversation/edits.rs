//! The edits of a conversation: changes to the view other than appends.

use super::due::Aim;
use super::warned::unchanged;
use super::{Conversation, Due};
use crate::budget::economy::Way;
use crate::budget::policy::{Progress, Reason, Stuck};
use crate::compact::notice::Notice;
use crate::compact::reminder;
use crate::compact::{self, Compaction, Fate, Options, SessionOptions, Size, Target};
use crate::message::Role;
use crate::message::cut;
use crate::message::tokens::Tokens;
use crate::message::validate::{Violation, validate};
use crate::message::view::View;
use crate::strategy;
use crate::summary::summary_request::{self, Failure, SummaryRequest};
use std::collections::HashSet;
use std::fmt;
use thiserror::Error;

/// The number of consecutive refusals, each followed by a compaction, after which another compaction would be a loop.
const REFUSALS: u32 = 3;

/// The maximum halvings of the target if a refused request did not get smaller.
const HALVINGS: u32 = 6;

/// An edit point: a change to content that had already been sent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Edit {
    /// The reason.
    pub reason: Reason,
    /// The number of messages in the history at that time.
    pub at: usize,
    /// The tokens before the edit.
    pub before: Tokens,
    /// The tokens after the edit, on the same basis.
    pub after: Tokens,
    /// True if the user has undone it.
    pub is_undone: bool,
}

/// The reason why a conversation was not compacted. The conversation is unchanged.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum Refusal {
    /// Compacting again would be a loop.
    #[error(transparent)]
    Stuck(Stuck),
    /// Calls of the last step have no answer yet: compaction is possible only between two requests.
    #[error("not compacted: {}", match .0 {
        1 => "a tool call still waits for its answer".to_owned(),
        count => format!("{count} tool calls still wait for their answers"),
    })]
    OpenCalls(usize),
    /// The system prompt and the prompt in progress, neither of which is ever cut, exceed the window.
    #[error("{0}")]
    DoesNotFit(DoesNotFit),
    /// The result breaks a rule of a provider. No known case leads here; the check is a safeguard.
    #[error("not compacted: a provider would reject the result: {0}")]
    Invalid(Violation),
}

/// The sizes of the parts that exceed the window, in tokens.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DoesNotFit {
    /// The text of the prompt in progress.
    prompt: Tokens,
    /// The system prompt.
    system: Tokens,
    /// The tool definitions.
    tools: Tokens,
    /// The limit of a request.
    limit: Tokens,
}

impl fmt::Display for DoesNotFit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |tokens: Tokens| cut::grouped(tokens);
        let advice = if self.prompt >= self.system.max(self.tools) {
            "put long text into a file, so that it can be read in parts"
        } else if self.tools >= self.system {
            "use fewer MCP servers"
        } else {
            "shorten the system prompt"
        };
        write!(
            f,
            "not sent: the prompt has about {} tokens, the system prompt {} and the tool definitions {}, and the limit for a request \
             is {}; {advice}, or use a model with a larger context window",
            shown(self.prompt),
            shown(self.system),
            shown(self.tools),
            shown(self.limit)
        )
    }
}

/// The benefit of a compaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Gain {
    /// A smaller view, if possible.
    Room,
    /// Other quoted lines in the same space.
    Focus,
    /// Too little for the cost of an edit.
    None,
}

impl Conversation {
    /// Makes the edit that is due; [light](Due::is_light) or of the whole view. The summary is the template's. If
    /// the user requests a compaction below the target size, everything before the newest anchor is summarised; if that
    /// is hardly anything, the conversation itself is reduced clearly; if that is not possible either, or was just
    /// done, it is left unchanged, and the notice says so. An edit that was decided for another conversation, or before
    /// more messages were appended, is applied to the current state as far as possible.
    ///
    /// # Errors
    /// If compacting would be a loop, or if calls are open; the conversation is then unchanged. A reason that does not
    /// [force](Reason::is_forced) a compaction need not stop the session.
    pub fn compact(&mut self, due: Due) -> Result<Notice, Refusal> {
        self.edit(due, None)
    }

    fn edit(&mut self, due: Due, written: Option<Result<String, Failure>>) -> Result<Notice, Refusal> {
        let reason = due.reason();
        match due.way() {
            Some(Way::Trim(cut)) => self.trim(reason, cut),
            Some(Way::Below { target, tier }) => self.rebuild_below(reason, (target, tier), written),
            None => self.rebuild(reason, self.aim(reason), written, None),
        }
    }

    /// Compacts to at most this many tokens of the window, including tool definitions.
    ///
    /// # Errors
    /// As for [`compact`](Self::compact).
    pub fn compact_to(&mut self, tokens: Tokens, reason: Reason) -> Result<Notice, Refusal> {
        self.rebuild(reason, Target::Budget(self.in_estimate(tokens)).into(), None, None)
    }

    /// A preview: the fate of each message of the history if the user requested a compaction now.
    pub fn fates(&self) -> Vec<Fate> {
        let aim = self.aim(Reason::Asked);
        match aim.target {
            Target::Select => self.build_below_aim(None).0.fates,
            _ => self.build_with(aim, None, &[]).fates,
        }
    }

    /// The request for a summary written by a model. The caller sends it and passes the answer to
    /// [`compact_with_answer`](Self::compact_with_answer).
    pub fn summary_request(&self) -> SummaryRequest {
        SummaryRequest::new(&self.view)
    }

    /// Compacts with a summary written by a model: the text of its answer, or the reason why there is none. If it is not a
    /// summary, the template's is used, and the notice says so. A light edit needs no summary and ignores it.
    ///
    /// # Errors
    /// As for [`compact`](Self::compact).
    pub fn compact_with_answer(&mut self, due: Due, answer: Result<String, Failure>) -> Result<Notice, Refusal> {
        self.edit(due, Some(answer.and_then(|text| summary_request::accept(&text))))
    }

    /// Compacts to get below a price tier. If that is not possible, the view is unchanged, since the edit would save
    /// nothing.
    fn rebuild_below(
        &mut self,
        reason: Reason,
        (target, tier): (Tokens, Tokens),
        written: Option<Result<String, Failure>>,
    ) -> Result<Notice, Refusal> {
        let target = Target::Budget(self.in_estimate(target));
        let done = self.rebuild(reason, target.into(), written, Some(tier));
        self.economy.compacted_to(self.occupancy.next_request());
        done
    }

    pub(super) fn build_with(&self, aim: Aim, written: Option<&str>, spared: &[usize]) -> Compaction {
        compact::compact_session(
            self.standing(),
            &Options {
                target: aim.target,
                pins: &self.pins.messages(),
                texts: &self.pins.texts(),
                dropped: &self.pins.1,
                written,
                shown: Some(self.shown),
                archive: Some(&self.view.archive),
                focus: self.focus.as_deref(),
                overhead: self.overhead,
                weights: None,
                reading_back: self.reading_back,
            },
            SessionOptions {
                spared,
                rise: aim.rise,
                goes_on: true,
            },
        )
    }

    /// Builds, checks and swaps the view; on any failure, the old view stays, and also if the new one exceeds `most`
    /// tokens of the window.
    fn rebuild(
        &mut self,
        reason: Reason,
        aim: Aim,
        written: Option<Result<String, Failure>>,
        most: Option<Tokens>,
    ) -> Result<Notice, Refusal> {
        if let Some(stuck) = self.attempts.stuck {
            return Err(Refusal::Stuck(stuck));
        }
        let open = self.open_calls();
        if open > 0 {
            return Err(Refusal::OpenCalls(open));
        }
        if reason.is_forced()
            && let Some(told) = self.does_not_fit()
        {
            return Err(Refusal::DoesNotFit(told));
        }
        // The figure that caused the edit: a provider's count, if there is one.
        let before = self.occupancy.next_request();
        if self.attempts.is_refused && self.attempts.refusals > REFUSALS {
            return Err(self.give_up(before, before));
        }
        let text = written.as_ref().and_then(|written| written.as_deref().ok());
        let (mut done, gain) = self.build_for(reason, aim, text);
        if self.attempts.is_refused && self.attempts.must_shrink {
            // Sending the refused request again would be useless.
            let mut budget = self.shown.tokens;
            for _ in 0..HALVINGS {
                if done.after.tokens < self.shown.tokens {
                    break;
                }
                budget /= 2;
                done = self.build_with(Target::Budget(budget).into(), text, &[]);
            }
            if done.after.tokens >= self.shown.tokens {
                return Err(self.give_up(before, before));
            }
        }
        let mut notice = Notice::of(&done);
        // In an empty conversation, nothing can be removed, and nothing could be sent.
        let is_empty = self.view.messages.iter().all(|message| message.role == Role::System);
        if is_empty || gain == Gain::None {
            return Ok(unchanged(notice, before));
        }
        let view = self.fit_to_send(done.view)?;
        let size = Size::of(&view.messages);
        let is_refocused =
            gain == Gain::Focus && size.tokens <= self.shown.tokens && view.messages != self.view.messages;
        notice.changed = size.tokens < self.shown.tokens || is_refocused;
        let after = if notice.changed {
            // A count below the estimate must not make a smaller view look larger.
            let least_gain = Tokens::from(size.tokens < self.shown.tokens);
            self.weigh(size.tokens).min(before.saturating_sub(least_gain))
        } else {
            before
        };
        if most.is_some_and(|most| after > most) {
            return Ok(unchanged(notice, before));
        }
        let progress = self.attempts.guard.after_compaction(before, after, &self.config);
        if progress == Progress::Stop {
            return Err(self.give_up(before, after));
        }
        (notice.before, notice.after, notice.can_undo) = (before, after, notice.changed);
        self.warn(
            &mut notice,
            written.and_then(Result::err),
            &view,
            is_refocused,
            progress,
        );
        self.attempts.is_refused = false;
        if notice.changed {
            if aim.rise.is_some() {
                self.cut = done.cut.map(|cut| (self.config.trigger(), cut));
            }
            self.swap(view, size, self.edit_now(reason, before, after));
        }
        Ok(notice)
    }

    /// Builds the view for `reason`; also returns the benefit.
    pub(super) fn build_for(&self, reason: Reason, aim: Aim, written: Option<&str>) -> (Compaction, Gain) {
        if aim.target == Target::Select {
            return self.build_below_aim(written);
        }
        // For price reasons alone, unread content and the user's prompts are never cut.
        let spared = match reason {
            Reason::Price | Reason::Cold | Reason::Wished => self.untouchable(),
            Reason::Full | Reason::Asked | Reason::Refused | Reason::Rejected => Vec::new(),
        };
        let done = self.build_with(aim, written, &spared);
        if reason == Reason::Asked && self.focus.is_some() && done.after.tokens >= self.shown.tokens {
            return self.build_in_same_room(written);
        }
        (done, Gain::Room)
    }

    /// Completes a built view with the parts that all views of this conversation have; fails if a provider would refuse
    /// it.
    fn fit_to_send(&self, mut view: View) -> Result<View, Refusal> {
        self.mask_again(&mut view);
        reminder::settle(&mut view);
        // A reminder may have been placed between a call and its answer.
        strategy::pair(&mut view);
        match validate(&view).into_iter().next() {
            Some(violation) => Err(Refusal::Invalid(violation)),
            None => Ok(view),
        }
    }

    /// The sizes of the parts that always stay in a request, if they alone exceed it.
    fn does_not_fit(&self) -> Option<DoesNotFit> {
        let (prompt, limit) = (self.answered(), self.config.limit());
        let tokens = |estimate: Tokens| (estimate as f64 * self.occupancy.slope()) as Tokens;
        (self.weigh(self.system + prompt) > limit).then(|| DoesNotFit {
            prompt: tokens(prompt),
            system: tokens(self.system),
            tools: self.overhead,
            limit,
        })
    }

    /// The tokens of the next request, as reported in the notices of edits: a provider's count, plus an estimate of
    /// what was appended since.
    pub fn occupancy(&self) -> Tokens {
        self.occupancy.next_request()
    }

    /// All edit points so far, oldest first.
    pub fn edits(&self) -> &[Edit] {
        &self.edits
    }

    /// The record of an edit at this point of the history.
    pub(super) fn edit_now(&self, reason: Reason, before: Tokens, after: Tokens) -> Edit {
        Edit {
            reason,
            at: self.history.messages().len(),
            before,
            after,
            is_undone: false,
        }
    }

    fn give_up(&mut self, before: Tokens, after: Tokens) -> Refusal {
        let stuck = Stuck {
            before,
            after,
            trigger: self.config.trigger(),
            heaviest: self.heaviest(),
        };
        self.attempts.stuck = Some(stuck);
        Refusal::Stuck(stuck)
    }

    /// The number of unanswered calls in the last step. After a new prompt, they can no longer be answered.
    pub(super) fn open_calls(&self) -> usize {
        let mut answered: HashSet<&str> = HashSet::new();
        let mut open = 0;
        let mut in_reply = false;
        for message in self.standing().messages().iter().rev() {
            match message.role {
                Role::Assistant => {
                    in_reply = true;
                    open += message.calls().filter(|call| !answered.contains(&*call.id)).count();
                }
                _ if in_reply || message.is_prompt() => break,
                _ => answered.extend(message.tool_results().map(|result| &*result.call_id)),
            }
        }
        open
    }
}
