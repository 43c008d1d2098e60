//! The economics of one conversation: message weights, the rent of removable outputs, and the best place for a cut.

mod plan;
mod record;
mod report;

use crate::budget::account::Account;
use crate::budget::breaks::{Break, Cause};
use crate::budget::economics::Economics;
use crate::budget::policy::Reason;
use crate::budget::removable_outputs::{Candidate, RemovableOutputs, Shelter};
use crate::message::tokens::{self, Tokens};
use crate::message::view::alike;
use crate::message::{Message, Origin, Part, Role};
use crate::ranking::RankingIndex;
use crate::ranking::excerpt::{self, Excerpts, PartIndex};
use std::sync::Arc;

/// An output is sheltered for at least this many tokens of conversation, or for the window divided by `SHELTER_SHARE`
/// if that is less.
const SHELTER: Tokens = 4_000;
const SHELTER_SHARE: Tokens = 5;
/// An output is sheltered for at least this many steps, however long they were.
const SHELTER_STEPS: u64 = 2;
/// The bytes per token in estimates.
const BYTES: Tokens = 4;
/// The estimated tokens around an output on the wire that stay with its marker (ids, field names): the text estimate
/// does not count them, and many markers in a tail add up. This is the initial value, as Anthropic's interface has it
/// (OpenAI's has 33); reports after edits correct it.
const FRAME: f64 = 24.0;
/// Caches without breakpoints are read in whole blocks (OpenAI documents 128 tokens), so a break loses half a block on
/// average.
const HALF_GRAIN: f64 = 64.0;
/// The growth per step, in tokens, that is assumed before any has been measured: the mean of recorded sessions.
const USUAL_GROWTH: f64 = 1_300.0;

/// The start of a light edit and its effect.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct TrimPlan {
    /// The first message of the view that may change.
    pub from: usize,
    /// Tokens removed.
    pub removed: f64,
    /// Tokens written again: those after the last readable place.
    pub tail: f64,
    /// The rent of the removed tokens minus that at which the edit is due, in tokens times dollars per million tokens.
    pub excess: f64,
}

impl TrimPlan {
    fn new(from: usize, removed: f64, tail: f64, excess: f64) -> Self {
        TrimPlan {
            from,
            removed,
            tail,
            excess,
        }
    }
}

/// The kind of edit to make at a price-driven edit point.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Way {
    /// Replace the removable outputs from this cut on with markers.
    Trim(TrimPlan),
    /// Compact to `target` tokens of the window, because markers alone would not get below the price tier that begins
    /// above `tier` tokens.
    Below { target: Tokens, tier: Tokens },
}

/// The combined effect of edits since the last request.
#[derive(Clone, PartialEq, Debug, Default)]
struct Unsent {
    /// The number of edits minus those undone.
    edits: i64,
    /// The reasons of the edits that were not undone, oldest first.
    reasons: Vec<Reason>,
    /// Tokens removed from the view minus those restored, as reported to the user.
    removed: i64,
    /// The tokens and dollars charged to the account.
    charged: (f64, f64),
    /// True if the view was rebuilt, so that messages not sent before count towards the predicted cost.
    is_whole: bool,
}

/// The state; see the module documentation.
#[derive(Clone, Debug, Default)]
pub(crate) struct Economy {
    economics: Economics,
    window: Tokens,
    /// The outputs that an edit may replace with markers.
    pub bulk: RemovableOutputs,
    /// The tokens of each message in the view, corrected by usage reports.
    weights: Vec<f64>,
    estimates: Vec<Tokens>,
    /// Tokens of each request besides the messages.
    overhead: f64,
    /// The number of view messages weighed by reports.
    weighed: usize,
    /// The number of view messages that the last request held in their present form; `prompt` is that request's prompt.
    sent: usize,
    prompt: f64,
    /// The messages of the last request as sent: the next request is a break only if it does not start with them.
    seen: Vec<Arc<Message>>,
    /// All changes since the last request.
    unsent: Unsent,
    /// Set while a request is in flight: whether it was sent with an expired cache.
    sending: Option<bool>,
    /// The positions of the extra cache breakpoint in recent requests, newest last; `next` is the position planned for
    /// the next one.
    marks: Vec<usize>,
    next: Option<usize>,
    moves: u32,
    /// The rent of a token in the prefix so far, in dollars per million.
    clock: f64,
    /// Steps and tokens at the last edit.
    edited: Option<(u64, Tokens)>,
    growth: f64,
    /// The number of reported requests.
    pub requests: u64,
    has_read: bool,
    /// True once a report counted tokens read from the cache or written to it.
    has_cache: bool,
    plan: Option<TrimPlan>,
    /// An upper bound of any cut's excess until the next look.
    bound: f64,
    /// The index in `breaks` of the break that tokens rewritten before the next report are attributed to.
    open: Option<usize>,
    frame: f64,
    /// The messages edited since the last report, each with its number of outputs.
    trimmed: Vec<(usize, f64)>,
    /// The breaks of the prefix, oldest first.
    pub breaks: Vec<Break>,
    account: Account,
    /// A tier that no compaction can get below.
    hopeless: Option<Tokens>,
}

impl Economy {
    pub fn new(economics: Economics, window: Tokens, overhead: Tokens) -> Self {
        Economy {
            economics,
            window,
            overhead: overhead as f64,
            growth: USUAL_GROWTH,
            frame: FRAME,
            ..Economy::default()
        }
    }

    /// Drops what the last request said; of what it held, the count is left.
    pub fn drop_texts(&mut self) {
        self.seen.fill(Arc::new(Message::new(Role::User, Vec::new())));
    }

    pub fn economics(&self) -> &Economics {
        &self.economics
    }

    /// Switches to other prices, another preset or another window. Rent accumulated at the old prices is converted, so
    /// that a change of model is no reason to edit.
    pub fn configure(&mut self, economics: Economics, window: Tokens) {
        let factor = self.economics.card.rates.cache_read;
        if factor > 0.0 {
            self.clock *= economics.card.rates.cache_read / factor;
        }
        self.economics = economics;
        self.window = window;
        self.bound = f64::INFINITY;
        self.marks.clear();
        (self.next, self.plan) = (None, None);
    }

    /// Returns whether this is configured for a window of this size.
    pub fn is_for(&self, window: Tokens) -> bool {
        self.window == window
    }

    fn read(&self) -> f64 {
        self.economics.card.rates.cache_read
    }

    fn write(&self) -> f64 {
        self.economics.card.write()
    }

    fn shelter(&self) -> Shelter {
        Shelter {
            tokens: SHELTER.min(self.window / SHELTER_SHARE),
            steps: self.edits().then_some(SHELTER_STEPS),
        }
    }

    /// Returns whether anything is edited for its price.
    pub fn edits(&self) -> bool {
        self.economics.preset.left().is_some()
    }

    /// Records a message appended to history and view.
    pub fn append(&mut self, message: &Message, number: usize, ratio: f64, pinned: &[usize]) {
        let estimate = tokens::estimate_message(message);
        let at = self.weights.len();
        self.weights.push(estimate as f64 * ratio);
        self.estimates.push(estimate);
        let place = (number as u32, at as u32);
        let gained = self.bulk.append(message, place, self.shelter(), self.clock);
        // Tokens that become removable need not be written again, which makes every cut cheaper.
        self.bound += self.due_price() * gained as f64 * ratio.max(1.0) * 2.0;
        if message.role == Role::User {
            self.look(pinned);
        }
    }

    /// The window tokens saved by a candidate: its share of its message's weight.
    fn in_tokens(&self, candidate: &Candidate) -> f64 {
        let estimate = self.estimates[candidate.at].max(1) as f64;
        candidate.saves as f64 * (1.0 - self.left()) * self.weights[candidate.at] / estimate
    }

    /// The share of removed output that is kept.
    fn left(&self) -> f64 {
        self.economics.preset.left().unwrap_or(1.0)
    }

    /// The window tokens that could be removed at once.
    pub fn removable(&self, ratio: f64) -> Tokens {
        match self.economics.preset.left() {
            Some(left) => (self.bulk.removable as f64 * ratio * (1.0 - left)) as Tokens,
            None => 0,
        }
    }

    /// The last place at or before a message up to which the cache can be read.
    fn readable_before(&self, at: usize) -> usize {
        if self.economics.card.marks.is_none() || at >= self.sent {
            return at;
        }
        self.mark_before(at).unwrap_or(0)
    }

    /// The last recent cache breakpoint at or before a message.
    fn mark_before(&self, at: usize) -> Option<usize> {
        self.marks.iter().copied().filter(|&mark| mark <= at).max()
    }

    /// The candidates in the messages from `from` on, newest first.
    pub fn from(&self, from: usize, pinned: &[usize]) -> Vec<Candidate> {
        let candidates = self.bulk.candidates(pinned);
        candidates.take_while(|candidate| candidate.at >= from).collect()
    }

    /// Chooses the excerpts to keep of these candidates.
    pub fn excerpts(&self, candidates: &[Candidate], index: &RankingIndex) -> Excerpts {
        let mut gone: Vec<PartIndex> = candidates.iter().map(|it| self.bulk.item(it).place).collect();
        gone.sort_unstable();
        let whole: Tokens = candidates.iter().map(|it| it.saves).sum();
        let bytes = (whole * BYTES) as f64 * self.left();
        let is_shown = |place| gone.binary_search(&place).is_err() && self.bulk.is_shown(place);
        excerpt::excerpts(index, &gone, is_shown, bytes as usize)
    }

    /// Records the size after a compaction, so that a tier that it failed to get below is not tried for again.
    pub fn compacted_to(&mut self, tokens: Tokens) {
        self.hopeless = self.economics.card.tier(tokens).map(|tier| tier.above);
    }

    /// Drops the planned cut.
    pub fn give_up_cut(&mut self) {
        (self.next, self.plan, self.moves) = (None, None, 0);
    }

    /// Records that messages of the view from the cut on were edited; `messages` is the view now. Returns the tokens
    /// removed.
    pub fn trimmed(&mut self, reason: Reason, cut: &TrimPlan, messages: &[Arc<Message>]) -> Tokens {
        let before: f64 = self.weights.iter().sum();
        let mut first = None;
        for (at, message) in messages.iter().enumerate().skip(cut.from) {
            let estimate = tokens::estimate_message(message);
            let old = self.estimates[at].max(1);
            if estimate != self.estimates[at] {
                first.get_or_insert(at);
                let results = message.tool_results().count() as f64;
                let ratio = self.weights[at] / old as f64;
                let frame = (self.frame * ratio * results).min(self.weights[at]);
                self.trimmed.push((at, results));
                self.weights[at] = frame + (self.weights[at] - frame) * estimate as f64 / old as f64;
                self.estimates[at] = estimate;
            }
        }
        let removed = before - self.weights.iter().sum::<f64>();
        // The messages before the first change can be read, up to a cache breakpoint.
        let from = first.map_or(cut.from, |first| self.readable_before(first).max(cut.from));
        let gone = removed.max(0.0) as Tokens;
        self.unsent.edits += 1;
        self.unsent.reasons.push(reason);
        self.unsent.removed += gone as i64;
        self.take_unsent();
        let is_cold = reason == Reason::Cold;
        let tail = if is_cold {
            self.sent_again()
        } else {
            let readable = self.overhead + self.weights[..from].iter().sum::<f64>();
            let lost = match self.economics.card.marks {
                Some(_) => 0.0,
                None => HALF_GRAIN.min(readable),
            };
            self.weights[from.min(self.sent)..self.sent].iter().sum::<f64>() + lost
        };
        let cost = self.broken(Cause::Edit(reason), tail, is_cold);
        // The cost of an expired cache is not charged to the edit.
        let cost = if is_cold { 0.0 } else { cost };
        self.account.edited(removed, cost);
        self.unsent.charged = (self.unsent.charged.0 + removed, self.unsent.charged.1 + cost);
        self.sent = self.sent.min(from);
        gone
    }

    /// Records a changed message at this place in the view. No cost is charged: its old form could not have been sent
    /// again.
    pub fn changed(&mut self, at: usize, message: &Message) {
        let (old, estimate) = (self.estimates[at].max(1), tokens::estimate_message(message));
        self.weights[at] *= estimate as f64 / old as f64;
        self.estimates[at] = estimate;
        self.sent = self.sent.min(at);
    }

    fn plan_anew(&mut self) {
        self.marks.clear();
        self.give_up_cut();
        self.bound = f64::INFINITY;
    }

    /// Records a rebuilt view, after a compaction for `reason` or after undoing one (`None`). `removed` is the number
    /// of window tokens removed, as reported to the user; negative if some were restored.
    pub fn rebuilt(
        &mut self,
        reason: Option<Reason>,
        messages: &[Arc<Message>],
        (same, removed): (usize, i64),
        ratio: f64,
    ) {
        // Unchanged messages keep their weights.
        let same = same.min(self.weights.len()).min(messages.len());
        self.weights.truncate(same);
        self.estimates.truncate(same);
        for message in &messages[same..] {
            let estimate = tokens::estimate_message(message);
            self.estimates.push(estimate);
            self.weights.push(estimate as f64 * ratio);
        }
        self.weighed = same.min(self.weighed);
        self.trimmed.clear();
        self.bulk.rebuilt(messages, self.shelter());
        let known = alike(&self.seen, messages);
        let head = head(messages);
        // Without a system prompt among the messages, it is part of what stands beside them.
        let readable = if head > 0 && known == 0 {
            0.0
        } else {
            self.overhead + self.weights[..head.min(known)].iter().sum::<f64>()
        };
        let after: f64 = self.weights.iter().sum();
        let tail = after + self.overhead - readable;
        match reason {
            Some(reason) => self.unsent.reasons.push(reason),
            None => drop(self.unsent.reasons.pop()),
        }
        self.unsent.edits += if reason.is_some() { 1 } else { -1 };
        self.unsent.removed += removed;
        self.unsent.is_whole = true;
        self.take_unsent();
        // Before the first request, nothing that was sent can have been undone.
        let is_as_sent = match self.seen.is_empty() {
            true => self.unsent.edits == 0,
            false => known == self.seen.len(),
        };
        if is_as_sent {
            // Everything that was sent is sent again, so nothing breaks, whatever was done and undone since.
            self.stands_again(reason);
            return;
        }
        let cause = self
            .unsent
            .reasons
            .last()
            .map_or(Cause::Undone, |&reason| Cause::Edit(reason));
        self.broken(cause, tail, false);
        self.account.compacted();
        self.sent = 0;
    }

    /// Resets to the state in which the view starts with the messages of the last request.
    fn stands_again(&mut self, reason: Option<Reason>) {
        let (removed, cost) = std::mem::take(&mut self.unsent).charged;
        self.account.taken_back(removed, cost);
        if reason.is_some() {
            self.account.compacted();
        }
        self.sent = self.seen.len();
        self.plan_anew();
    }
}

/// The number of messages at the start that are the system prompt or standing reminders, which no edit changes.
fn head(messages: &[Arc<Message>]) -> usize {
    let stands = |message: &Arc<Message>| {
        message.role == Role::System
            || message.role == Role::User
                && message
                    .parts
                    .iter()
                    .all(|part| matches!(part, Part::Text(text) if matches!(text.origin, Origin::Reminder(_))))
    };
    messages.iter().take_while(|message| stands(message)).count()
}
