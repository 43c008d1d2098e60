//! The edits of a conversation: what changes the view other than at its end, and how that is taken back.

use super::due::Aim;
use super::{Conversation, Due};
use crate::body::Body;
use crate::candidates::Candidates;
use crate::compact::{self, Compaction, Known, MODEST_SAVING, Options, Size, Target, Warning};
use crate::draft;
use crate::economy::{Cut, Way};
use crate::message::{Message, Origin, Part, Role, Text};
use crate::notice::Notice;
use crate::pending;
use crate::policy::{Progress, Reason, Stuck};
use crate::recall::{Archive, Handle};
use crate::reminder;
use crate::strategy::{self, Limits, thinking_prune};
use crate::summary_request::{self, Answer, Failure, SummaryRequest};
use crate::tokens::{self, Tokens};
use crate::trim;
use crate::validate::{Vendor, Violation, validate};
use crate::view::View;
use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

/// After this many refusals in a row, each followed by a compaction, another one would be a loop.
const REFUSALS: u32 = 3;

/// So often is half as much aimed at, where a refused request did not become smaller.
const HALVINGS: u32 = 6;

/// From so many estimated tokens of new lines on, a light edit looks at them.
const LOOK_AHEAD: Tokens = 100_000;

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
    /// What was built breaks a rule of a vendor. Nothing known leads here; the check stands guard.
    Invalid(Vendor, Violation),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Stuck(stuck) => stuck.fmt(f),
            Refusal::OpenCalls(1) => f.write_str("not compacted: a tool call still waits for its answer"),
            Refusal::OpenCalls(count) => write!(f, "not compacted: {count} tool calls still wait for their answers"),
            Refusal::Invalid(vendor, violation) => {
                write!(f, "not compacted: {vendor} would refuse what was built: {violation}")
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

/// What was shown before a compaction.
#[derive(Clone, Debug)]
pub(super) struct Snapshot {
    before: Before,
    /// Which edit it was.
    edit: usize,
}

#[derive(Clone, Debug)]
enum Before {
    /// The whole view, and the length of the one that took its place: what stands behind that was appended since.
    Whole { messages: Vec<Arc<Message>>, end: usize },
    /// The messages that a light edit changed, where they stand.
    Messages(Vec<(usize, Arc<Message>)>),
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

    /// The tokens of the window after the last edit that built the whole view, if it was not taken back.
    pub(super) fn last_built(&self) -> Option<Tokens> {
        let mut whole = self.snapshots.iter().rev();
        let whole = whole.find(|snapshot| matches!(snapshot.before, Before::Whole { .. }))?;
        Some(self.edits[whole.edit].after)
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
            &self.history,
            &Options {
                target: aim.target,
                pins: &self.pins.messages(),
                notes: &self.pins.texts(),
                written,
                shown: Some(self.shown),
                archive: Some(&self.view.archive),
                focus: self.focus.as_deref(),
                overhead: self.overhead,
                goes_on: true,
            },
            Known {
                // What was passed over may be just what is asked for.
                candidates: self.focus.is_none().then_some(&self.candidates),
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
            self.candidates = done.candidates.unwrap_or_default();
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
    fn build_for(&self, reason: Reason, aim: Aim, written: Option<&str>) -> Built {
        if reason == Reason::Asked && aim.target == Target::Select {
            return self.build_below_aim(written, true);
        }
        // No price is worth what the model has not read yet, nor what the user has said.
        let spared = match reason {
            Reason::Price | Reason::Cold => self.untouchable(),
            Reason::Full | Reason::Asked | Reason::Refused => Vec::new(),
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

    /// Adds what the user is to know of a new view, in tokens of the window.
    fn warn(
        &mut self,
        notice: &mut Notice,
        unwritten: Option<Failure>,
        view: &View,
        is_refocused: bool,
        progress: Progress,
    ) {
        let Notice {
            before,
            after,
            changed,
            ref mut warnings,
            ..
        } = *notice;
        warnings.retain(|warning| !matches!(warning, Warning::SmallSaving { .. }));
        warnings.iter_mut().for_each(|warning| self.restate(warning));
        warnings.extend(unwritten.map(Warning::NotWritten));
        if changed {
            let prompts = newly_cut(&self.view.messages, &view.messages, is_own);
            warnings.extend((prompts > 0).then_some(Warning::PromptsCut { prompts }));
            let standing = newly_cut(&self.view.messages, &view.messages, is_standing);
            warnings.extend((standing > 0).then_some(Warning::InstructionsCut));
        }
        if changed && !is_refocused && ((before - after) as f64) < before as f64 * MODEST_SAVING {
            warnings.push(Warning::SmallSaving { before, after });
        }
        // Said once, until one has helped: each step would bring it again.
        let is_close = progress != Progress::Clear;
        if is_close && !std::mem::replace(&mut self.was_close, is_close) {
            let trigger = self.config.trigger();
            warnings.push(Warning::StillClose { after, trigger });
        }
        self.was_close = is_close;
    }

    fn swap(&mut self, view: View, size: Size, edit: Edit) {
        let edit_number = self.edits.len();
        let messages = std::mem::take(&mut self.view.messages);
        let same = common(&messages, &view.messages);
        let (reason, after) = (edit.reason, edit.after);
        let removed = edit.before as i64 - after as i64;
        self.snapshots.push(Snapshot {
            before: Before::Whole {
                messages,
                end: view.messages.len(),
            },
            edit: edit_number,
        });
        let kept = self.view.archive.len();
        self.edits.push(edit);
        self.view = view;
        self.note_removed(edit_number, kept);
        self.resize(size, after);
        self.economy.rebuilt(
            Some(reason),
            &self.view.messages,
            (same, removed),
            self.occupancy.slope(),
        );
    }

    /// Notes what this edit has removed: what was not kept before it, of which there were `kept` things, and what came back
    /// when another edit was taken back and is gone again.
    fn note_removed(&mut self, edit: usize, kept: usize) {
        for handle in self.view.archive.since(kept) {
            self.removed_by.insert(handle.clone(), edit);
        }
        let is_undone = |edit: usize| self.edits.get(edit).is_some_and(|edit| edit.is_undone);
        // Hardly ever is anything taken back.
        if !self.edits.iter().any(|edit| edit.is_undone) || !self.removed_by.values().any(|&by| is_undone(by)) {
            return;
        }
        let mut shown = Archive::default();
        for part in self.view.messages.iter().flat_map(|message| &message.parts) {
            draft::archive_part(part, "", &mut shown);
        }
        for (handle, by) in &mut self.removed_by {
            let is_shown = shown.get(handle.as_str()).map(|shown| &shown.body)
                == self.view.archive.get(handle.as_str()).map(|removed| &removed.body);
            if self.edits.get(*by).is_some_and(|by| by.is_undone) && !is_shown {
                *by = edit;
            }
        }
    }

    /// The light edit: markers in place of what is removable from the cut on, with the lines that are most likely to be named
    /// again, and the thinking of finished turns dropped.
    /// Calls, prompts and words stay, and so does everything before the cut.
    fn trim(&mut self, reason: Reason, mut cut: Cut) -> Result<Notice, Refusal> {
        // A view that has become shorter since that was decided has nothing there.
        cut.from = cut.from.min(self.view.messages.len());
        let open = self.open_calls();
        if open > 0 {
            return Err(Refusal::OpenCalls(open));
        }
        let candidates = self.economy.from(cut.from, &self.pins.messages());
        let excerpts = self.economy.excerpts(&candidates, self.history.index());
        let old: Vec<Arc<Message>> = self.view.messages[cut.from..].to_vec();
        let number = self.edits.len();
        let kept = self.view.archive.len();
        let mut masked = 0;
        for candidate in &candidates {
            let bulk = self.economy.bulk();
            let (part, tool) = (bulk.part(candidate.item), bulk.tool(candidate.item));
            let Some(Part::ToolResult(result)) = self.view.messages[candidate.at].parts.get(part) else {
                continue;
            };
            if bulk.call(candidate.item) != Some(&result.call_id) {
                continue;
            }
            let why = if candidate.is_superseded {
                trim::SUPERSEDED
            } else {
                trim::UNUSED
            };
            let place = bulk.place(candidate.item);
            let left = |body: &Body| excerpts.of(place, body);
            let mask = trim::masked(result, tool, why, left, &mut self.view.archive);
            let call = result.call_id.clone();
            self.economy.removed(candidate);
            if let Some(mask) = mask {
                self.masks.insert(call, mask.clone());
                self.view.messages[candidate.at] = trim::replaced(&self.view.messages[candidate.at], part, mask);
                masked += 1;
            }
        }
        let under_way = self.view.messages.iter().rposition(|message| message.is_prompt());
        let finished = cut.from..under_way.unwrap_or(0).max(cut.from);
        thinking_prune::drop_thinking(&mut self.view, finished, &Limits::default(), &mut Default::default());
        self.note_removed(number, kept);
        let before = self.occupancy.next_request();
        let changed: Vec<(usize, Arc<Message>)> = (cut.from..)
            .zip(old)
            .filter(|(at, old)| !Arc::ptr_eq(&self.view.messages[*at], old))
            .collect();
        if changed.is_empty() {
            // Nothing could be put aside after all: the prefix stands, and the cut is not tried again.
            self.economy.give_up_cut();
            return Ok(Notice::trimmed(0, before, before, false));
        }
        for (at, old) in &changed {
            let new = &self.view.messages[*at];
            self.shown.tokens =
                (self.shown.tokens + tokens::estimate_message(new)).saturating_sub(tokens::estimate_message(old));
            self.shown.bytes =
                (self.shown.bytes + strategy::bytes(new) as u64).saturating_sub(strategy::bytes(old) as u64);
        }
        let removed = self.economy.trimmed(reason, &cut, &self.view.messages);
        self.occupancy.removed(removed);
        let after = self.occupancy.next_request();
        self.tracker.rebuilt(after);
        self.snapshots.push(Snapshot {
            before: Before::Messages(changed),
            edit: number,
        });
        self.edits.push(Edit {
            reason,
            at: self.history.messages().len(),
            before,
            after,
            is_undone: false,
        });
        self.look_ahead();
        Ok(Notice::trimmed(masked, before, after, true))
    }

    /// While light edits keep the window from filling, the conversation grows to many times its size, and the compaction that
    /// comes at last would look at all of it. So what is new is looked at once in a while.
    fn look_ahead(&mut self) {
        let budget = self.budget();
        // Less than the room holds is all looked at, time and again.
        let least = LOOK_AHEAD.max(budget.saturating_mul(2));
        if Tokens::from(self.candidates.new_tokens(self.history.index())) >= least {
            let room = budget.saturating_mul(4) as usize;
            self.candidates = compact::look_ahead(&self.history, room, &self.candidates);
        }
    }

    /// What was removed once stays removed in a view that was built anew.
    fn mask_again(&self, view: &mut View) {
        if self.masks.is_empty() {
            return;
        }
        for at in 0..view.messages.len() {
            for part in 0..view.messages[at].parts.len() {
                let Part::ToolResult(result) = &view.messages[at].parts[part] else {
                    continue;
                };
                let Some(mask) = self.masks.get(&result.call_id) else {
                    continue;
                };
                // Some agents use an id again.
                if !trim::is_mask_of(mask, result, &view.archive) {
                    continue;
                }
                if tokens::estimate_result(mask) < tokens::estimate_result(result) {
                    view.messages[at] = trim::replaced(&view.messages[at], part, mask.clone());
                }
            }
        }
    }

    /// The figures of a view that was rebuilt.
    fn resize(&mut self, size: Size, tokens: Tokens) {
        self.shown = size;
        self.occupancy
            .rebuilt_as(size.tokens.saturating_add(self.overhead), tokens);
        self.tracker.rebuilt(self.occupancy.next_request());
    }

    /// Takes the last compaction back: what was shown before it is shown again, and what was appended since behind it.
    /// Everything that was removed can still be read back. Says no if there is none to take back.
    pub fn undo_compact(&mut self) -> bool {
        let Some(snapshot) = self.snapshots.pop() else {
            return false;
        };
        let old = self.view.messages.clone();
        match snapshot.before {
            Before::Whole { messages, end } => {
                let since = self.view.messages.split_off(end);
                self.view.messages = messages;
                self.view.messages.extend(since);
            }
            Before::Messages(messages) => {
                for (at, message) in messages {
                    for result in message.tool_results() {
                        // What the user wants back is not taken away again.
                        if self.masks.remove(&result.call_id).is_some() {
                            self.economy.exempt(&result.call_id);
                        }
                    }
                    self.view.messages[at] = message;
                }
            }
        }
        // A reply that the vendor could still go on with then has something behind it now.
        pending::close_all(&mut self.view.messages, &mut self.view.archive);
        self.edits[snapshot.edit].is_undone = true;
        self.candidates = Candidates::default();
        self.cut = None;
        let size = Size::of(&self.view.messages);
        let (now, undone) = (self.occupancy.next_request(), &self.edits[snapshot.edit]);
        let tokens = if self.occupancy.is_counted() {
            // More is shown, whatever the scale says.
            let least = now.saturating_add(Tokens::from(size.tokens > self.shown.tokens));
            self.weigh(size.tokens).max(least)
        } else {
            // Nobody has counted what was left: what was taken away is put back.
            now.saturating_add(undone.before.saturating_sub(undone.after))
        };
        self.resize(size, tokens);
        let same = common(&old, &self.view.messages);
        let removed = now as i64 - self.occupancy.next_request() as i64;
        self.economy
            .rebuilt(None, &self.view.messages, (same, removed), self.occupancy.slope());
        self.begin_attempts_anew();
        true
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

    /// A warning in tokens of the window.
    fn restate(&self, warning: &mut Warning) {
        if let Warning::OverBudget { budget, smallest } = warning {
            (*budget, *smallest) = (self.weigh(*budget), self.weigh(*smallest));
        }
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
    fn open_calls(&self) -> usize {
        let mut answered: HashSet<&str> = HashSet::new();
        let mut open = 0;
        let mut in_reply = false;
        for message in self.history.messages().iter().rev() {
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

/// What is told where the old view stands.
fn unchanged(mut notice: Notice, tokens: Tokens) -> Notice {
    (notice.before, notice.after, notice.changed) = (tokens, tokens, false);
    notice.warnings.clear();
    notice
}

/// How many messages have a cut in the new view, in a text of this kind, that they had not in the old one.
fn newly_cut(old: &[Arc<Message>], new: &[Arc<Message>], is: fn(Role, &Text) -> bool) -> usize {
    let old: HashSet<&str> = old.iter().flat_map(|message| cuts(message, is)).collect();
    new.iter()
        .filter(|message| cuts(message, is).any(|cut| !old.contains(cut)))
        .count()
}

/// The handles of what was cut out of the texts of this kind.
fn cuts(message: &Message, is: fn(Role, &Text) -> bool) -> impl Iterator<Item = &str> {
    let role = message.role;
    message.parts.iter().filter_map(move |part| match part {
        Part::Text(text) if is(role, text) => text.cut.as_ref().map(Handle::as_str),
        _ => None,
    })
}

/// The user's own words.
fn is_own(role: Role, text: &Text) -> bool {
    role == Role::User && text.origin == Origin::Own
}

/// The system prompt, and reminders.
fn is_standing(role: Role, text: &Text) -> bool {
    role == Role::System || matches!(text.origin, Origin::Reminder(_))
}

/// How many messages at the beginning are the same.
fn common(old: &[Arc<Message>], new: &[Arc<Message>]) -> usize {
    old.iter()
        .zip(new)
        .take_while(|(old, new)| Arc::ptr_eq(old, new))
        .count()
}
