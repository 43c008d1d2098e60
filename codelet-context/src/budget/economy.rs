//! The economics of one conversation: what each message weighs, what removable outputs have cost, where a cut would go.

mod plan;
mod record;
mod report;

use crate::budget::account::Account;
use crate::budget::breaks::{Break, Cause};
use crate::budget::bulk::{Bulk, Candidate, Shelter};
use crate::budget::economics::Economics;
use crate::budget::policy::Reason;
use crate::message::tokens::{self, Tokens};
use crate::message::{Message, Origin, Part, Role};
use crate::ranking::RankingIndex;
use crate::ranking::excerpt::{Excerpts, Place};
use std::sync::Arc;

/// An output is sheltered for so many tokens of conversation at least, or the given share of the window where that is less.
const SHELTER: Tokens = 4_000;
const SHELTER_SHARE: Tokens = 5;
/// An output is sheltered for so many steps at least, however long they were.
const SHELTER_STEPS: u64 = 2;
/// An estimate is a quarter of the bytes.
const BYTES: Tokens = 4;
/// What stands around an output on the wire and stays with its marker (ids, names of fields), as an estimate: that of the
/// text does not count it, and many markers in a tail add up. A session begins with it; reports after edits correct it.
const FRAME: f64 = 16.0;
/// Caches that need no marks are read in whole grains (OpenAI documents 128 tokens), so half of one is lost at a break.
const HALF_GRAIN: f64 = 64.0;
/// Growth per step that is assumed before any was seen, in tokens: the mean of recorded sessions.
const USUAL_GROWTH: f64 = 1_300.0;

/// Where a light edit begins, and what it comes to.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Cut {
    /// The first message of the view that changes at the earliest.
    pub from: usize,
    /// Tokens that go.
    pub removed: f64,
    /// Tokens that are written again: those behind the last place that can be read.
    pub tail: f64,
    /// The rent of what goes less the cost of the edit, in dollars per million tokens times tokens.
    pub excess: f64,
}

/// What is to be done at an edit point for its price.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Way {
    /// Put markers in place of what is removable from here on.
    Trim(Cut),
    /// Compact to so many tokens of the window: markers alone would not get below a price tier, which begins above the
    /// other number.
    Below { target: Tokens, tier: Tokens },
}

/// What edits have come to that no request has followed yet.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
struct Unsent {
    /// How many, less those that were taken back.
    edits: i64,
    /// Tokens that they took out of the view, less those that were put back, as the user was told.
    removed: i64,
    /// What the account was charged for: tokens and dollars.
    charged: (f64, f64),
    /// The view was rebuilt, so that what was not sent before is part of what that is predicted to cost.
    is_whole: bool,
}

/// The state; see the module.
#[derive(Clone, Debug)]
pub(crate) struct Economy {
    economics: Economics,
    window: Tokens,
    bulk: Bulk,
    /// For each message of the view: its tokens, as far as reports have shown them.
    weights: Vec<f64>,
    /// How many of the first of them are summed up already, and to what: a report asks for the sum of nearly all.
    summed: (usize, f64),
    estimates: Vec<Tokens>,
    /// Tokens of each request beside the messages.
    overhead: f64,
    /// How many messages of the view reports have weighed.
    weighed: usize,
    /// How many messages of the view the last request held as they are now, and its prompt.
    sent: usize,
    prompt: f64,
    /// What the last request held, as it was then: what is sent next is a break only where it does not begin so.
    seen: Vec<Arc<Message>>,
    /// What was changed since the last request, all of it together.
    unsent: Unsent,
    /// A request is under way, and whether it was sent cold.
    sending: Option<bool>,
    /// Where the last requests had their extra mark, newest last, and where the next one is to have it.
    marks: Vec<usize>,
    next: Option<usize>,
    moves: u32,
    /// What a token that stands in the prefix has cost so far, in dollars per million.
    clock: f64,
    /// Steps and tokens at the last edit.
    edited: Option<(u64, Tokens)>,
    growth: f64,
    requests: u64,
    has_read: bool,
    plan: Option<Cut>,
    /// No cut can have an excess above this before the next look.
    bound: f64,
    /// The break that what is written again before the next report is put down to: its place in the list.
    open: Option<usize>,
    frame: f64,
    /// The messages that were edited since the last report, each with how many outputs it has.
    trimmed: Vec<(usize, f64)>,
    breaks: Vec<Break>,
    account: Account,
    /// A tier that no compaction gets below.
    hopeless: Option<Tokens>,
}

impl Economy {
    pub fn new(economics: Economics, window: Tokens, overhead: Tokens) -> Self {
        Economy {
            economics,
            window,
            bulk: Bulk::default(),
            weights: Vec::new(),
            summed: (0, 0.0),
            estimates: Vec::new(),
            overhead: overhead as f64,
            weighed: 0,
            sent: 0,
            prompt: 0.0,
            seen: Vec::new(),
            unsent: Unsent::default(),
            sending: None,
            marks: Vec::new(),
            next: None,
            moves: 0,
            clock: 0.0,
            edited: None,
            growth: USUAL_GROWTH,
            requests: 0,
            has_read: false,
            plan: None,
            bound: 0.0,
            open: None,
            frame: FRAME,
            trimmed: Vec::new(),
            breaks: Vec::new(),
            account: Account::default(),
            hopeless: None,
        }
    }

    /// Lets go of what the last request said; of what it held, the count is left.
    pub fn drop_texts(&mut self) {
        self.seen.fill(Arc::new(Message::new(Role::User, Vec::new())));
    }

    pub fn economics(&self) -> &Economics {
        &self.economics
    }

    /// Other prices, another preset or another window. What rent was counted so far was at the old prices; it stands, so
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

    /// Whether it reckons with a window of this size.
    pub fn is_for(&self, window: Tokens) -> bool {
        self.window == window
    }

    pub fn breaks(&self) -> &[Break] {
        &self.breaks
    }

    pub fn requests(&self) -> u64 {
        self.requests
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
            steps: self.economics.preset.left().map_or(u64::MAX / 4, |_| SHELTER_STEPS),
        }
    }

    /// A message was appended to history and view.
    pub fn append(&mut self, message: &Message, number: usize, index: &RankingIndex, ratio: f64, pinned: &[usize]) {
        let estimate = tokens::estimate_message(message);
        let at = self.weights.len();
        self.weights.push(estimate as f64 * ratio);
        self.estimates.push(estimate);
        let place = (number as u32, at as u32);
        let gained = self.bulk.append(message, place, index, self.shelter(), self.clock);
        // What becomes removable need not be written again, so it makes each cut cheaper.
        self.bound += (self.write() - self.read()).max(0.0) * gained as f64 * ratio.max(1.0) * 2.0;
        if message.role == Role::User {
            self.look(pinned);
        }
    }

    /// What a candidate saves, in tokens of the window: its share of what its message weighs.
    fn in_tokens(&self, candidate: &Candidate) -> f64 {
        let estimate = self.estimates[candidate.at].max(1) as f64;
        candidate.saves as f64 * (1.0 - self.left()) * self.weights[candidate.at] / estimate
    }

    /// The share of what is set aside that stays.
    fn left(&self) -> f64 {
        self.economics.preset.left().unwrap_or(1.0)
    }

    /// What could be removed at once, in tokens of the window.
    pub fn removable(&self, ratio: f64) -> Tokens {
        match self.economics.preset.left() {
            Some(left) => (self.bulk.removable() as f64 * ratio * (1.0 - left)) as Tokens,
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

    /// The last place before a message that bore a mark lately.
    fn mark_before(&self, at: usize) -> Option<usize> {
        self.marks.iter().copied().filter(|&mark| mark <= at).max()
    }

    /// The candidates from a message on, newest first.
    pub fn from(&self, from: usize, pinned: &[usize]) -> Vec<Candidate> {
        let candidates = self.bulk.candidates(pinned);
        candidates.take_while(|candidate| candidate.at >= from).collect()
    }

    /// What is to be left of these.
    pub fn excerpts(&self, candidates: &[Candidate], index: &RankingIndex) -> Excerpts {
        let mut gone: Vec<Place> = candidates.iter().map(|it| self.bulk.place(it.item)).collect();
        gone.sort_unstable();
        let whole: Tokens = candidates.iter().map(|it| it.saves).sum();
        let bytes = (whole * BYTES) as f64 * self.left();
        let is_shown = |place| gone.binary_search(&place).is_err() && self.bulk.is_shown(place);
        Excerpts::choose(index, &gone, is_shown, bytes as usize)
    }

    /// A compaction came out at so many tokens: a tier that it was to get below and did not is not tried for again.
    pub fn compacted_to(&mut self, tokens: Tokens) {
        self.hopeless = self.economics.card.tier(tokens).map(|tier| tier.above);
    }

    /// The removal of what answers a call was taken back: it stays.
    pub fn exempt(&mut self, call: &str) {
        self.bulk.exempt(call);
    }

    pub fn bulk(&self) -> &Bulk {
        &self.bulk
    }

    /// No cut is planned any more.
    pub fn give_up_cut(&mut self) {
        (self.next, self.plan, self.moves) = (None, None, 0);
    }

    /// An output of the view was replaced by a marker.
    pub fn removed(&mut self, candidate: &Candidate) {
        self.bulk.remove(candidate.item);
    }

    /// Messages of the view from the cut on were edited; `messages` is the view now. Returns the tokens that went.
    pub fn trimmed(&mut self, reason: Reason, cut: &Cut, messages: &[Arc<Message>]) -> Tokens {
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
        self.summed = (0, 0.0);
        let removed = before - self.weights.iter().sum::<f64>();
        // What stands before the first change can be read, up to a mark.
        let from = first.map_or(cut.from, |first| self.readable_before(first).max(cut.from));
        let gone = removed.max(0.0) as Tokens;
        self.unsent.edits += 1;
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
        // What an expired cache costs is not the edit's.
        let cost = if is_cold { 0.0 } else { cost };
        self.account.edited(removed, cost);
        self.unsent.charged = (self.unsent.charged.0 + removed, self.unsent.charged.1 + cost);
        self.sent = self.sent.min(from);
        gone
    }

    /// The message at this place in the view is another one now, for no price: it could not have been sent again.
    pub fn changed(&mut self, at: usize, message: &Message) {
        let (old, estimate) = (self.estimates[at].max(1), tokens::estimate_message(message));
        self.weights[at] *= estimate as f64 / old as f64;
        self.summed = (0, 0.0);
        self.estimates[at] = estimate;
        self.sent = self.sent.min(at);
    }

    /// The sum of the first weights. What was summed up before is not summed up again.
    fn weight_of(&mut self, messages: usize) -> f64 {
        if messages < self.summed.0 {
            self.summed = (0, 0.0);
        }
        let (known, sum) = self.summed;
        let sum = self.weights[known..messages]
            .iter()
            .fold(sum, |sum, weight| sum + weight);
        self.summed = (messages, sum);
        sum
    }

    fn plan_anew(&mut self) {
        self.marks.clear();
        self.give_up_cut();
        self.bound = f64::INFINITY;
    }

    /// The view was rebuilt: by a compaction for this reason, or by taking one back. `removed` is what the user is told that
    /// this took out of the window, in tokens; below zero where it put some back.
    pub fn rebuilt(
        &mut self,
        reason: Option<Reason>,
        messages: &[Arc<Message>],
        (same, removed): (usize, i64),
        ratio: f64,
    ) {
        // What stands as it was keeps its weight.
        let same = same.min(self.weights.len()).min(messages.len());
        self.weights.truncate(same);
        self.summed = (0, 0.0);
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
        let head = head(messages).min(known);
        let readable = if head == 0 {
            0.0
        } else {
            self.overhead + self.weights[..head].iter().sum::<f64>()
        };
        let after: f64 = self.weights.iter().sum();
        let tail = after + self.overhead - readable;
        self.unsent.edits += if reason.is_some() { 1 } else { -1 };
        self.unsent.removed += removed;
        self.unsent.is_whole = true;
        let unsent = self.take_unsent();
        // Before the first request, nothing was sent that could be taken back.
        let is_as_sent = match self.seen.is_empty() {
            true => self.unsent.edits == 0,
            false => known == self.seen.len(),
        };
        if is_as_sent {
            // All that was sent is sent again, so nothing breaks, whatever was done and taken back since.
            self.stands_again(reason);
            return;
        }
        let cause = match (reason, unsent) {
            (Some(reason), _) => Cause::Edit(reason),
            // What was done before that one and not taken back.
            (None, Some(unsent)) => unsent.cause,
            (None, None) => Cause::Undone,
        };
        self.broken(cause, tail, false);
        self.account.compacted();
        self.sent = 0;
    }

    /// The view begins again as the last request was sent.
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

/// How many messages at the beginning say the same.
fn alike(old: &[Arc<Message>], new: &[Arc<Message>]) -> usize {
    let pairs = old.iter().zip(new);
    pairs
        .take_while(|(old, new)| Arc::ptr_eq(old, new) || old == new)
        .count()
}

/// How many messages at the head are the system prompt and standing reminders, which no edit changes.
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
