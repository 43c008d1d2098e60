//! The economics of one conversation: what each message weighs, what removable outputs have cost, where a cut would go.

use crate::account::Account;
use crate::breaks::{Break, Cause};
use crate::bulk::{Bulk, Candidate, Shelter};
use crate::economics::{self, Economics, Edges};
use crate::excerpt::{Excerpts, Place};
use crate::index::Index;
use crate::message::{Message, Origin, Part, Role};
use crate::policy::Reason;
use crate::tokens::{self, Tokens};
use crate::usage::Usage;
use std::ops::RangeInclusive;
use std::sync::Arc;

/// Two edits for their price are at least so many steps apart, and so many tokens of conversation, or the given share of
/// the window where that is less.
const STEPS_APART: u64 = 8;
const TOKENS_APART: Tokens = 20_000;
const APART_SHARE: Tokens = 10;
/// An output is sheltered for so many tokens of conversation at least, or the given share of the window where that is less.
const SHELTER: Tokens = 4_000;
const SHELTER_SHARE: Tokens = 5;
/// An output is sheltered for so many steps at least, however long they were.
const SHELTER_STEPS: u64 = 2;
/// An estimate is a quarter of the bytes.
const BYTES: Tokens = 4;
/// An expired cache is made use of from so many removable tokens on: less is not worth a marker.
const LEAST_COLD: f64 = 1_000.0;
/// A mark is moved so often for a better cut once an edit is due; then the edit is made where the mark is.
const MOST_MOVES: u32 = 2;
/// The marks of so many requests are taken to be readable still.
const MARKS: usize = 3;
/// A mark stands well enough where the tail is longer by at most this share, or by so many tokens.
const NEAR_SHARE: f64 = 0.01;
const NEAR_TOKENS: f64 = 200.0;
/// Beyond a price tier, an edit must come out this far below it, as a share, so that the next one is many steps away.
const BELOW_TIER: f64 = 0.9;
/// A compaction below a price tier aims at this share of it.
const TIER_AIM: f64 = 0.5;
/// A report further off than this, either way, does not tell what the messages since the last one weigh.
const PLAUSIBLE: RangeInclusive<f64> = 0.4..=3.0;
/// A vendor that reads this much less than it could, in tokens, has lost the prefix; less is the grain of its cache.
const SLACK: f64 = 2_048.0;
const SLACK_SHARE: f64 = 0.1;
/// What stands around an output on the wire and stays with its marker (ids, names of fields), as an estimate: that of the
/// text does not count it, and many markers in a tail add up. Where a session begins; reports after edits correct it, …
const FRAME: f64 = 16.0;
/// … by so many tokens at most at a time: what is further off has another reason.
const FRAME_STEP: f64 = 24.0;
/// Caches that need no marks are read in whole grains (OpenAI documents 128 tokens), so half of one is lost at a break.
const HALF_GRAIN: f64 = 64.0;
/// Growth per step that is assumed before any was seen, in tokens: the mean of recorded sessions.
const USUAL_GROWTH: f64 = 1_300.0;
/// The share of the window that is taken to be full, since the reply needs room.
const FULL: f64 = 0.92;
/// An edit must have paid for itself in this share of the steps until the window is full. The compaction that comes then
/// removes the same; an edit that only just pays puts it off, and the requests in between are long ones.
const PAID_IN: f64 = 0.5;
/// How fast the growth per step that was seen fades, as the share of the newest one.
const GROWTH_SHARE: f64 = 0.1;

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
    /// Compact to so many tokens of the window: markers alone would not get below a price tier.
    Below(Tokens),
}

/// An edit that no report has confirmed yet.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Open {
    /// Its place in the list of breaks.
    number: usize,
    /// Tokens that can be read although it was made.
    readable: f64,
}

/// The state; see the module.
#[derive(Clone, Debug)]
pub(crate) struct Economy {
    economics: Economics,
    window: Tokens,
    bulk: Bulk,
    /// For each message of the view: its tokens, as far as reports have shown them.
    weights: Vec<f64>,
    estimates: Vec<Tokens>,
    /// Tokens of each request beside the messages.
    overhead: f64,
    /// How many messages of the view reports have weighed.
    weighed: usize,
    /// How many messages of the view the last request held as they are now, and its prompt.
    sent: usize,
    prompt: f64,
    /// The last request held what it held as this many messages, whose end can be read, and whether it was sent cold.
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
    open: Option<Open>,
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
            estimates: Vec::new(),
            overhead: overhead as f64,
            weighed: 0,
            sent: 0,
            prompt: 0.0,
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

    pub fn breaks(&self) -> &[Break] {
        &self.breaks
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
    pub fn append(&mut self, message: &Message, number: usize, index: &Index, ratio: f64, pinned: &[usize]) {
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

    /// Looks for a cut, unless it is known that none can pay yet.
    fn look(&mut self, pinned: &[usize]) {
        self.plan = None;
        let is_free = self.read() <= 0.0;
        if is_free || self.economics.preset.left().is_none() || self.sent == 0 || self.bulk.removable() == 0 {
            return;
        }
        if self.bound < 0.0 && self.next.is_some() {
            return;
        }
        let Some(ideal) = self.best(None, pinned) else {
            return;
        };
        self.bound = ideal.excess;
        self.next = Some(ideal.from);
        if ideal.excess < 0.0 || ideal.removed <= 0.0 || !self.is_far_from_last_edit() {
            return;
        }
        match self.readable_cut(ideal, pinned) {
            Some(cut) => self.plan = Some(cut).filter(|cut| self.is_worth(cut)),
            // The mark moves to where the cut is best, and the edit follows with the next step.
            None => self.moves += 1,
        }
    }

    /// Whether the session can bear what an edit costs, and has room for enough steps to get it back.
    fn is_worth(&self, cut: &Cut) -> bool {
        let (read, write) = (self.read(), self.write());
        let cost = economics::break_cost(read, write, cut.tail);
        let factor = self.economics.card.factor(self.prompt as Tokens);
        let steps = (self.window as f64 * FULL - self.prompt).max(0.0) / self.growth.max(1.0);
        cost <= read * cut.removed * steps * PAID_IN && self.account.bears(cost * factor / 1e6)
    }

    /// The cut that can be made now: the best one, if what stands before it can be read, or one that is nearly as good.
    fn readable_cut(&self, ideal: Cut, pinned: &[usize]) -> Option<Cut> {
        if self.economics.card.marks.is_none() || ideal.from >= self.sent {
            return Some(ideal);
        }
        let near = |cut: &Cut| {
            cut.excess >= 0.0 && (cut.tail <= ideal.tail * (1.0 + NEAR_SHARE) + NEAR_TOKENS || self.moves >= MOST_MOVES)
        };
        let marked = self
            .mark_before(ideal.from)
            .and_then(|mark| self.best(Some(mark), pinned));
        marked.filter(near)
    }

    fn is_far_from_last_edit(&self) -> bool {
        self.edited.is_none_or(|(steps, position)| {
            let apart = TOKENS_APART.min(self.window / APART_SHARE);
            self.bulk.steps() >= steps + STEPS_APART && self.bulk.position() >= position + apart
        })
    }

    /// The cut with the largest excess of rent over cost: anywhere, or reading up to a given message and no further.
    fn best(&self, readable: Option<usize>, pinned: &[usize]) -> Option<Cut> {
        let price = (self.write() - self.read()).max(0.0);
        let mut best: Option<Cut> = None;
        let (mut rent, mut removed) = (0.0, 0.0);
        // Tokens that were sent, from message `from` on.
        let mut from = self.sent;
        let mut behind = 0.0;
        let least = readable.unwrap_or(0);
        let mut candidates = self
            .bulk
            .candidates(pinned)
            .filter(|candidate| candidate.at < self.sent)
            .peekable();
        while let Some(candidate) = candidates.next() {
            if candidate.at < least {
                break;
            }
            let saves = self.in_tokens(&candidate);
            rent += saves * (self.clock - candidate.since).max(0.0);
            removed += saves;
            if candidates.peek().is_some_and(|next| next.at == candidate.at) {
                continue;
            }
            while from > candidate.at {
                from -= 1;
                behind += self.weights[from];
            }
            if readable.is_none() {
                let tail = (behind - removed).max(0.0);
                let excess = rent - price * tail;
                if best.is_none_or(|best| excess > best.excess) {
                    best = Some(Cut {
                        from,
                        removed,
                        tail,
                        excess,
                    });
                }
            }
        }
        let Some(readable) = readable else { return best };
        (removed > 0.0).then(|| {
            let tail = (self.weights[readable.min(self.sent)..self.sent].iter().sum::<f64>() - removed).max(0.0);
            Cut {
                from: readable,
                removed,
                tail,
                excess: rent - price * tail,
            }
        })
    }

    /// What a candidate saves, in tokens of the window: its share of what its message weighs.
    fn in_tokens(&self, candidate: &Candidate) -> f64 {
        let estimate = self.estimates[candidate.at].max(1) as f64;
        let goes = if candidate.is_superseded {
            1.0
        } else {
            1.0 - self.left()
        };
        candidate.saves as f64 * goes * self.weights[candidate.at] / estimate
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

    /// What is to be done for its price before a request that will occupy this much.
    pub fn way(&self, occupancy: Tokens, pinned: &[usize]) -> Option<Way> {
        self.economics.preset.left()?;
        self.under_tier(occupancy, pinned).or(self.plan.map(Way::Trim))
    }

    /// What to do about a price tier that the next request would pass.
    fn under_tier(&self, occupancy: Tokens, pinned: &[usize]) -> Option<Way> {
        let card = &self.economics.card;
        let tier = card.tier(occupancy)?;
        let cheaper = card.tiers.iter().take_while(|it| it.above < tier.above).last();
        let times = tier.prompt / cheaper.map_or(1.0, |it| it.prompt) - 1.0;
        if times <= 0.0
            || self
                .edited
                .is_some_and(|(steps, _)| self.bulk.steps() < steps + STEPS_APART)
        {
            return None;
        }
        // Each request above the tier pays so much more; nobody knows how many there will be, but as many as there were
        // is what the rent counts on too.
        let dearer = times * self.read() * occupancy as f64;
        let pays = |cost: f64, after: f64| {
            let room = (tier.above as f64 - after).max(0.0);
            let steps = (room / self.growth.max(1.0)).min(self.bulk.steps().max(STEPS_APART) as f64);
            steps * dearer >= cost
        };
        let price = (self.write() - self.read()).max(0.0);
        let light = self.lightest_below(occupancy, tier.above, pinned);
        if let Some(cut) = light
            && pays(price * cut.tail, occupancy as f64 - cut.removed)
        {
            return Some(Way::Trim(cut));
        }
        if self.hopeless == Some(tier.above) {
            return None;
        }
        let target = tier.above as f64 * TIER_AIM;
        (pays(self.write() * target, target)).then_some(Way::Below(target as Tokens))
    }

    /// The cut with the shortest tail that gets clearly below a tier.
    fn lightest_below(&self, occupancy: Tokens, above: Tokens, pinned: &[usize]) -> Option<Cut> {
        let wanted = occupancy as f64 - above as f64 * BELOW_TIER;
        let mut removed = 0.0;
        for candidate in self.bulk.candidates(pinned) {
            removed += self.in_tokens(&candidate);
            if removed >= wanted {
                let from = self.readable_before(candidate.at);
                let all: f64 = self.from(from, pinned).iter().map(|it| self.in_tokens(it)).sum();
                let sent = self.sent.max(from);
                let tail = (self.weights[from..sent].iter().sum::<f64>() - all).max(0.0);
                return Some(Cut {
                    from,
                    removed: all,
                    tail,
                    excess: 0.0,
                });
            }
        }
        None
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
    pub fn excerpts(&self, candidates: &[Candidate], index: &Index) -> Excerpts {
        let places = |of: fn(&Candidate) -> bool| {
            let places = candidates.iter().filter(|it| of(it)).map(|it| self.bulk.place(it.item));
            let mut places: Vec<Place> = places.collect();
            places.sort_unstable();
            places
        };
        let (all, quoted) = (places(|_| true), places(|it| !it.is_superseded));
        let whole: Tokens = candidates
            .iter()
            .filter(|it| !it.is_superseded)
            .map(|it| it.saves)
            .sum();
        let bytes = (whole * BYTES) as f64 * self.left();
        let is_shown = |place| all.binary_search(&place).is_err() && self.bulk.is_shown(place);
        Excerpts::choose(index, &quoted, is_shown, bytes as usize)
    }

    /// Everything that is removable, if it is enough to make use of an expired cache.
    pub fn cold_cut(&self, pinned: &[usize]) -> Option<Cut> {
        self.economics.preset.left()?;
        let removed: f64 = self.bulk.candidates(pinned).map(|it| self.in_tokens(&it)).sum();
        let from = self.bulk.candidates(pinned).last()?.at;
        let tail: f64 = self.weights[..self.sent].iter().sum::<f64>() + self.overhead - removed;
        (removed >= LEAST_COLD).then_some(Cut {
            from,
            removed,
            tail: tail.max(0.0),
            excess: 0.0,
        })
    }

    /// A compaction came out at so many tokens: a tier that it was to get below and did not is not tried for again.
    pub fn compacted_to(&mut self, tokens: Tokens) {
        self.hopeless = self.economics.card.tier(tokens).map(|tier| tier.above);
    }

    /// What was recorded of a later state of the same session stays on record.
    pub fn keep_breaks(&mut self, later: &Economy) {
        self.breaks.clone_from(&later.breaks);
        self.account.keep(&later.account);
        self.requests = later.requests;
        self.has_read |= later.has_read;
        self.open = None;
    }

    /// The removal of what answers a call was taken back: it stays.
    pub fn exempt(&mut self, call: &str) {
        self.bulk.exempt(call);
    }

    pub fn bulk(&self) -> &Bulk {
        &self.bulk
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
        let removed = before - self.weights.iter().sum::<f64>();
        // What stands before the first change can be read, up to a mark.
        let from = first.map_or(cut.from, |first| self.readable_before(first).max(cut.from));
        let (readable, tail) = if reason == Reason::Cold {
            (0.0, self.prefix())
        } else {
            let readable = self.overhead + self.weights[..from].iter().sum::<f64>();
            let lost = match self.economics.card.marks {
                Some(_) => 0.0,
                None => HALF_GRAIN.min(readable),
            };
            let tail = self.weights[from.min(self.sent)..self.sent].iter().sum::<f64>();
            (readable, tail + lost)
        };
        let cost = self.broken(reason, removed, tail, readable);
        // What an expired cache costs is not the edit's.
        self.account
            .edited(removed, if reason == Reason::Cold { 0.0 } else { cost });
        self.sent = self.sent.min(from);
        removed.max(0.0) as Tokens
    }

    /// The message at this place in the view is another one now, for no price: it could not have been sent again.
    pub fn changed(&mut self, at: usize, message: &Message) {
        let (old, estimate) = (self.estimates[at].max(1), tokens::estimate_message(message));
        self.weights[at] *= estimate as f64 / old as f64;
        self.estimates[at] = estimate;
        self.sent = self.sent.min(at);
    }

    /// What was sent of the view, with what stands beside it, in tokens.
    fn prefix(&self) -> f64 {
        self.overhead + self.weights[..self.sent].iter().sum::<f64>()
    }

    /// Puts a break on record; what it is expected to cost, in dollars.
    fn broken(&mut self, reason: Reason, removed: f64, tail: f64, readable: f64) -> f64 {
        let factor = self.economics.card.factor(self.prompt as Tokens);
        let (read, write) = (self.read() * factor, self.write() * factor);
        let cost = economics::break_cost(read, write, tail) / 1e6;
        self.open = Some(Open {
            number: self.breaks.len(),
            readable,
        });
        self.breaks.push(Break {
            request: self.requests + 1,
            cause: Cause::Edit(reason),
            removed: removed.max(0.0) as Tokens,
            rewritten: tail as Tokens,
            predicted: cost,
            saving: read * removed.max(0.0) / 1e6,
            actual: None,
        });
        self.edited = Some((self.bulk.steps(), self.bulk.position()));
        self.marks.clear();
        (self.next, self.plan, self.moves) = (None, None, 0);
        self.bound = f64::INFINITY;
        cost
    }

    /// The view was rebuilt: by a compaction for this reason, or by taking one back.
    pub fn rebuilt(&mut self, reason: Option<Reason>, messages: &[Arc<Message>], same: usize, ratio: f64) {
        let before: f64 = self.weights.iter().sum();
        // What stands as it was keeps its weight.
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
        let head = head(messages).min(same).min(self.sent);
        let readable = if head == 0 {
            0.0
        } else {
            self.overhead + self.weights[..head].iter().sum::<f64>()
        };
        let after: f64 = self.weights.iter().sum();
        let tail = after + self.overhead - readable;
        self.broken(reason.unwrap_or(Reason::Asked), before - after, tail, readable);
        self.account.compacted();
        self.sent = 0;
    }

    /// A request goes out with the view as it stands. Says up to where it is to be readable from the cache.
    pub fn sending(&mut self, is_cold: bool) -> Edges {
        let edges = self.edges();
        self.sending = Some(is_cold);
        if is_cold {
            self.marks.clear();
        }
        if self.marks.len() >= MARKS {
            self.marks.remove(0);
        }
        self.marks.extend(edges.next);
        edges
    }

    /// What the last request held and still stands, and where the next edit is expected.
    pub fn edges(&self) -> Edges {
        Edges {
            last: (self.sent > 0).then_some(self.sent),
            next: self.next.filter(|&next| next > 0 && next < self.weights.len()),
        }
    }

    /// A request that held so many messages was reported to have cost this much.
    pub fn reported(&mut self, usage: Usage, held: usize) {
        let prompt = usage.prompt() as f64;
        if prompt <= 0.0 {
            return;
        }
        let is_cold = self.sending.take().unwrap_or(false) || self.requests == 0;
        self.requests += 1;
        self.account.reported(&self.economics.card, usage);
        let held = held.min(self.weights.len());
        let old = self.weighed.min(held);
        let fresh = self.weights[old..held].iter().sum::<f64>();
        let known = self.weigh_trimmed(prompt - fresh, old);
        let new: f64 = if self.open.is_some() && self.sent == 0 {
            0.0
        } else {
            self.weights[self.weighed.max(self.sent).min(held)..held].iter().sum()
        };
        let read = usage.cache_read as f64;
        self.has_read |= read > 0.0;
        self.settle(prompt, read, new, is_cold);
        // What the messages since the last report weigh is now known.
        if fresh > 0.0 && PLAUSIBLE.contains(&((prompt - known) / fresh)) {
            let factor = (prompt - known) / fresh;
            self.weights[old..held].iter_mut().for_each(|weight| *weight *= factor);
            if self.weighed > 0 {
                self.growth += GROWTH_SHARE * ((prompt - self.prompt).max(0.0) - self.growth);
            }
        }
        let factor = self.economics.card.factor(usage.prompt());
        let paid = if read >= prompt / 2.0 || !self.has_read {
            self.read()
        } else {
            self.write()
        };
        self.clock += paid * factor;
        self.bound += paid * factor * self.bulk.removable() as f64 * 3.0;
        self.weighed = held;
        self.sent = held;
        self.prompt = prompt;
    }

    /// What the first messages of the view weigh with what stands beside them. Where some of them were edited since the last
    /// report, a report of `expected` tokens tells what stands around their markers.
    fn weigh_trimmed(&mut self, expected: f64, messages: usize) -> f64 {
        let known = self.overhead + self.weights[..messages].iter().sum::<f64>();
        let trimmed = std::mem::take(&mut self.trimmed);
        let outputs: f64 = trimmed.iter().map(|(_, outputs)| outputs).sum();
        let off = (expected - known) / outputs.max(1.0);
        if outputs < 1.0 || off.abs() > FRAME_STEP {
            return known;
        }
        for (at, outputs) in trimmed {
            if let Some(weight) = self.weights.get_mut(at) {
                *weight = (*weight + off * outputs).max(0.0);
            }
        }
        self.frame = (self.frame + off).max(0.0);
        self.overhead + self.weights[..messages].iter().sum::<f64>()
    }

    /// Compares what was read from the cache with what could have been.
    fn settle(&mut self, prompt: f64, read: f64, new: f64, is_cold: bool) {
        let factor = self.economics.card.factor(prompt as Tokens);
        let price = (self.write() - self.read()).max(0.0) * factor / 1e6;
        let rewritten = (prompt - read - new).max(0.0);
        if let Some(open) = self.open.take() {
            if let Some(entry) = self.breaks.get_mut(open.number) {
                entry.actual = Some(price * rewritten);
            }
            return;
        }
        if self.sent == 0 || !self.has_read {
            return;
        }
        let expected = self.prompt.min(prompt);
        let lost = expected - read;
        if expected < self.economics.card.minimum as f64 || lost <= SLACK + expected * SLACK_SHARE {
            return;
        }
        self.breaks.push(Break {
            request: self.requests,
            cause: if is_cold { Cause::Expired } else { Cause::Unplanned },
            removed: 0,
            rewritten: lost as Tokens,
            predicted: if is_cold { price * expected } else { 0.0 },
            saving: 0.0,
            actual: Some(price * rewritten),
        });
    }
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
