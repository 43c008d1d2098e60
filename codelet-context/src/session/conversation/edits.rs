//! The edits of a conversation: what changes the view other than at its end.

use super::due::Aim;
use super::warned::unchanged;
use super::{Conversation, Due};
use crate::budget::economy::Way;
use crate::budget::policy::{Progress, Reason, Stuck};
use crate::compact::notice::Notice;
use crate::compact::reminder;
use crate::compact::{self, Compaction, Known, Options, Size, Target};
use crate::message::Role;
use crate::message::cut;
use crate::message::tokens::Tokens;
use crate::message::validate::{Vendor, Violation, validate};
use crate::message::view::View;
use crate::strategy;
use crate::summary::summary_request::{self, Answer, Failure, SummaryRequest};
use std::collections::HashSet;
use std::fmt;

/// After this many refusals in a row, each followed by a compaction, another one would be a loop.
const REFUSALS: u32 = 3;

/// So often is half as much aimed at, where a refused request did not become smaller.
const HALVINGS: u32 = 6;

/// An edit point: a moment at which what had already been sent was changed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Edit {
    /// Why.
    pub reason: Reason,
    /// How many messages the history held then.
    pub at: usize,
    /// Tokens before.
    pub before: Tokens,
    /// Tokens after, on the same basis.
    pub after: Tokens,
    /// The user has taken it back.
    pub is_undone: bool,
}

/// Why a conversation was not compacted. It stands as it was.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// Compacting again would be a loop.
    Stuck(Stuck),
    /// Calls of the last step have no answer yet: a compaction belongs between two requests.
    OpenCalls(usize),
    /// The system prompt and the prompt that is being answered, neither of which is ever cut, do not fit into the window.
    DoesNotFit(DoesNotFit),
    /// What was built breaks a rule of a vendor. Nothing known leads here; the check stands guard.
    Invalid(Vendor, Violation),
}

/// What takes more of the window than it has, in tokens.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DoesNotFit {
    /// The words of the prompt that is being answered.
    prompt: Tokens,
    /// The system prompt.
    system: Tokens,
    /// The definitions of tools.
    tools: Tokens,
    /// What a request may have.
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

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Stuck(stuck) => stuck.fmt(f),
            Refusal::DoesNotFit(told) => told.fmt(f),
            Refusal::OpenCalls(1) => f.write_str("not compacted: a tool call still waits for its answer"),
            Refusal::OpenCalls(count) => write!(f, "not compacted: {count} tool calls still wait for their answers"),
            Refusal::Invalid(vendor, violation) => {
                write!(f, "not compacted: {vendor} would reject the result: {violation}")
            }
        }
    }
}

impl std::error::Error for Refusal {}

/// What was built, and what the conversation gains by it.
pub(super) struct Built {
    pub(super) done: Compaction,
    pub(super) gain: Gain,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Gain {
    /// It becomes smaller, if it can.
    Room,
    /// Other lines are quoted in the same room.
    Focus,
    /// Too little for what an edit costs.
    None,
}

impl Gain {
    pub(super) fn with(self, done: Compaction) -> Built {
        Built { done, gain: self }
    }
}

impl Conversation {
    /// Makes the edit that is due; [`EditKind`](super::EditKind) says what each kind does. What it tells is the template's
    /// summary. Where the user asks and the conversation is smaller already than the settings aim at, what is older than
    /// the newest anchor is summarised; where that is hardly anything, the conversation itself is made clearly smaller, and
    /// where that cannot be either, or was done just before, it stands, and the notice says so. What was due in another conversation, or before more was said, is done as far as it
    /// applies to this one as it stands.
    ///
    /// # Errors
    /// When it would be a loop, or at a wrong moment; the conversation is then as it was. A reason that does not
    /// [force](Reason::is_forced) a compaction need not stop the session.
    pub fn compact(&mut self, due: Due) -> Result<Notice, Refusal> {
        self.edit(due, None)
    }

    fn edit(&mut self, due: Due, written: Option<Result<String, Failure>>) -> Result<Notice, Refusal> {
        let reason = due.reason();
        match due.way() {
            Some(Way::Trim(cut)) => self.trim(reason, cut),
            Some(Way::Below { target, tier }) => self.rebuild_below(reason, (target, tier), written),
            None => self.rebuild(reason, self.aim(reason), written),
        }
    }

    /// Compacts to at most so many tokens of the window, tool definitions included.
    ///
    /// # Errors
    /// As for [`compact`](Self::compact).
    pub fn compact_to(&mut self, tokens: Tokens, reason: Reason) -> Result<Notice, Refusal> {
        self.rebuild(reason, Target::Budget(self.in_estimate(tokens)).into(), None)
    }

    /// The request for a summary that a model writes. The caller makes it and gives the answer to
    /// [`compact_with_answer`](Self::compact_with_answer).
    pub fn summary_request(&self) -> SummaryRequest {
        SummaryRequest::new(&self.view)
    }

    /// Compacts with the summary that a model has written. If the answer is no summary, the template's is used, and the
    /// notice says so. A light edit leaves nothing to summarise, so none need be asked for, and none is used.
    ///
    /// # Errors
    /// As for [`compact`](Self::compact).
    pub fn compact_with_answer(&mut self, due: Due, answer: Answer) -> Result<Notice, Refusal> {
        self.edit(due, Some(summary_request::accept(answer)))
    }

    /// Compacts to get below a price tier. Where that cannot be, the view stands: a cut that saves nothing is none.
    fn rebuild_below(
        &mut self,
        reason: Reason,
        (target, tier): (Tokens, Tokens),
        written: Option<Result<String, Failure>>,
    ) -> Result<Notice, Refusal> {
        let target = Target::Budget(self.in_estimate(target));
        let done = self.rebuild_at_most(reason, target.into(), written, Some(tier));
        self.economy.compacted_to(self.occupancy.next_request());
        done
    }

    fn build(&self, aim: Aim, written: Option<&str>, spared: &[usize]) -> Compaction {
        self.build_with(aim, written, spared, true)
    }

    pub(super) fn build_with(
        &self,
        aim: Aim,
        written: Option<&str>,
        spared: &[usize],
        without_fates: bool,
    ) -> Compaction {
        compact::compact_among(
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
                goes_on: true,
                weights: None,
                reading_back: self.reading_back,
            },
            Known {
                archived: Some(&self.archived),
                valid: self.valid.as_ref(),
                spared,
                rise: aim.rise,
                without_fates,
            },
        )
    }

    /// Builds, checks, and swaps; whatever fails, the old view stands.
    fn rebuild(
        &mut self,
        reason: Reason,
        aim: Aim,
        written: Option<Result<String, Failure>>,
    ) -> Result<Notice, Refusal> {
        self.rebuild_at_most(reason, aim, written, None)
    }

    /// The same; the old view stands too where the new one fills the window with more than `most`.
    fn rebuild_at_most(
        &mut self,
        reason: Reason,
        aim: Aim,
        written: Option<Result<String, Failure>>,
        most: Option<Tokens>,
    ) -> Result<Notice, Refusal> {
        if let Some(stuck) = self.stuck {
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
        // The figure that has decided, which is counted where a provider has counted.
        let before = self.occupancy.next_request();
        if self.is_refused && self.refusals > REFUSALS {
            return Err(self.give_up(before, before));
        }
        let text = written.as_ref().and_then(|written| written.as_deref().ok());
        let Built { mut done, gain } = self.build_for(reason, aim, text);
        if self.is_refused && self.must_shrink {
            // To send again what was refused is of no use.
            let mut budget = self.shown.tokens;
            for _ in 0..HALVINGS {
                if done.after.tokens < self.shown.tokens {
                    break;
                }
                budget /= 2;
                done = self.build(Target::Budget(budget).into(), text, &[]);
            }
            if done.after.tokens >= self.shown.tokens {
                return Err(self.give_up(before, before));
            }
        }
        self.valid = done.valid.take();
        let mut notice = Notice::of(&done);
        // Where nothing was said yet, nothing can go, and nothing could be sent.
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
            // A count of less than the estimate says is no reason to tell of growth.
            let least_gain = Tokens::from(size.tokens < self.shown.tokens);
            self.weigh(size.tokens).min(before.saturating_sub(least_gain))
        } else {
            before
        };
        if most.is_some_and(|most| after > most) {
            return Ok(unchanged(notice, before));
        }
        let progress = self.guard.after_compaction(before, after, &self.config);
        if let Progress::Stop(_) = progress {
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
        self.is_refused = false;
        if notice.changed {
            self.archived = done.archived.unwrap_or_default();
            if aim.rise.is_some() {
                self.cut = done.cut.map(|cut| (self.config.trigger(), cut));
            }
            self.swap(
                view,
                size,
                Edit {
                    reason,
                    at: self.history.messages().len(),
                    before,
                    after,
                    is_undone: false,
                },
            );
        }
        Ok(notice)
    }

    /// Builds what `reason` asks for.
    pub(super) fn build_for(&self, reason: Reason, aim: Aim, written: Option<&str>) -> Built {
        if aim.target == Target::Select {
            return self.build_below_aim(written, true);
        }
        // No price is worth what the model has not read yet, nor what the user has said.
        let spared = match reason {
            Reason::Price | Reason::Cold | Reason::Wished => self.untouchable(),
            Reason::Full | Reason::Asked | Reason::Refused | Reason::Rejected => Vec::new(),
        };
        let done = self.build(aim, written, &spared);
        if reason == Reason::Asked && self.focus.is_some() && done.after.tokens >= self.shown.tokens {
            return self.build_in_same_room(written, true);
        }
        Gain::Room.with(done)
    }

    /// A view that was built, with what every view of this conversation has; refused where a vendor would not take it.
    fn fit_to_send(&self, mut view: View) -> Result<View, Refusal> {
        self.mask_again(&mut view);
        reminder::settle(&mut view);
        // A reminder may have been put between a call and its answer.
        strategy::pair(&mut view);
        for vendor in Vendor::ALL {
            if let Some(violation) = validate(&view, vendor).into_iter().next() {
                return Err(Refusal::Invalid(vendor, violation));
            }
        }
        Ok(view)
    }

    /// What never leaves a request, where it alone is too large for one.
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

    /// The tokens that the next request will fill the window with, as notices of edits tell them: what a provider has counted,
    /// with an estimate of what came since.
    pub fn occupancy(&self) -> Tokens {
        self.occupancy.next_request()
    }

    /// Every edit point so far, oldest first.
    pub fn edits(&self) -> &[Edit] {
        &self.edits
    }

    fn give_up(&mut self, before: Tokens, after: Tokens) -> Refusal {
        let stuck = Stuck {
            before,
            after,
            trigger: self.config.trigger(),
            heaviest: Some(self.heaviest()),
        };
        self.stuck = Some(stuck);
        Refusal::Stuck(stuck)
    }

    pub(super) fn begin_attempts_anew(&mut self) {
        self.guard.reset();
        self.stuck = None;
        self.refusals = 0;
        self.is_refused = false;
        self.was_close = false;
    }

    /// The calls of the last step that may still be answered. Once the user has said something, they cannot.
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
