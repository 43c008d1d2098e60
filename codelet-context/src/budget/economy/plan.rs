//! The decision when an edit pays, and where to cut.

use super::{Economy, TrimPlan, Way};
use crate::budget::economics;
use crate::message::tokens::Tokens;

/// The minimum distance between two price-driven edits: this many steps and this many tokens of conversation, or the
/// window divided by `APART_SHARE` if that is fewer tokens.
const STEPS_APART: u64 = 8;
const TOKENS_APART: Tokens = 20_000;
const APART_SHARE: Tokens = 10;
/// An edit is due when rent has reached this many times its cost. At the cost itself (1), a fifth more edits save no more
/// on recorded sessions, and more sessions end right after one.
const RENTS: f64 = 1.5;
/// The minimum number of removable tokens for which an expired cache is used; fewer are not worth the markers.
const LEAST_COLD: f64 = 1_000.0;
/// The maximum number of times a cache breakpoint is moved for a better cut once an edit is due; after that, the edit
/// is made at the breakpoint.
const MOST_MOVES: u32 = 2;
/// A cache breakpoint is good enough if it lengthens the tail by at most this share or this many tokens.
const NEAR_SHARE: f64 = 0.01;
const NEAR_TOKENS: f64 = 200.0;
/// Beyond a price tier, an edit must end below this share of it, so that the next one is many steps away.
const BELOW_TIER: f64 = 0.9;
/// The share of a price tier that a compaction below it aims at.
const TIER_AIM: f64 = 0.5;
/// The minimum share of a tier that must be left besides the untouchable part.
const TIER_ROOM: f64 = 0.1;
/// The share of the window that counts as full, since the reply needs room.
const FULL: f64 = 0.92;
/// An edit must pay for itself within this share of the steps until the window is full. The compaction that comes then
/// removes the same; an edit that barely pays postpones it, and the requests in between are long.
const PAID_IN: f64 = 0.5;
/// The share of the compaction trigger beyond which most conversations reach it: of the recorded ones that got this
/// far, 65 % did with a window of 200,000 tokens, and 89 % with one of 64,000.
const FILLS: f64 = 0.8;

impl Economy {
    /// Looks for a cut, unless none can pay yet.
    pub(super) fn look(&mut self, pinned: &[usize]) {
        self.plan = None;
        let is_free = self.read() <= 0.0;
        if is_free || self.economics.preset.left().is_none() || self.sent == 0 || self.bulk.removable == 0 {
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
        if ideal.excess < 0.0 || ideal.removed <= 0.0 || self.edited.is_some_and(|edit| !self.is_far_from(edit)) {
            return;
        }
        match self.readable_cut(ideal, pinned) {
            Some(cut) => self.plan = Some(cut).filter(|cut| self.is_worth(cut)),
            // The breakpoint moves to the best cut, and the edit follows with the next step.
            None => self.moves += 1,
        }
    }

    /// Returns whether a compaction from `before` to `after` tokens, all of which are written again, is worth it.
    /// Besides the conditions of any edit, it must pay for itself within as many steps as the session has made, since
    /// no more can be relied on. If reading is free, it never pays for itself; then the test is whether the window is
    /// likely to fill up anyway, which it does at `trigger`.
    pub fn pays(&self, before: Tokens, after: Tokens, trigger: Tokens) -> bool {
        let cut = TrimPlan::new(0, before.saturating_sub(after) as f64, after as f64, 0.0);
        match self.read() > 0.0 {
            true => {
                let steps = economics::break_even(self.read(), self.write(), cut.tail, cut.removed);
                steps <= self.bulk.steps as f64 && self.is_worth(&cut)
            }
            false => before as f64 >= trigger as f64 * FILLS,
        }
    }

    /// Returns whether the session can afford the cost of a cut and has room for enough steps to recover it.
    fn is_worth(&self, cut: &TrimPlan) -> bool {
        let (read, write) = (self.read(), self.write());
        let cost = economics::break_cost(read, write, cut.tail);
        let factor = self.economics.card.factor(self.prompt as Tokens);
        let steps = (self.window as f64 * FULL - self.prompt).max(0.0) / self.growth.max(1.0);
        cost <= read * cut.removed * steps * PAID_IN && self.account.bears(cost * factor / 1e6)
    }

    /// The cut that can be made now: the best one if everything before it can be read, or one that is nearly as good.
    fn readable_cut(&self, ideal: TrimPlan, pinned: &[usize]) -> Option<TrimPlan> {
        if self.economics.card.marks.is_none() || ideal.from >= self.sent {
            return Some(ideal);
        }
        let near = |cut: &TrimPlan| {
            cut.excess >= 0.0 && (cut.tail <= ideal.tail * (1.0 + NEAR_SHARE) + NEAR_TOKENS || self.moves >= MOST_MOVES)
        };
        let marked = self
            .mark_before(ideal.from)
            .and_then(|mark| self.best(Some(mark), pinned));
        marked.filter(near)
    }

    /// Returns whether the last edit is long ago; counts the beginning as one: a conversation that has just begun is not
    /// compacted on request.
    pub fn is_far_from_edit_and_beginning(&self) -> bool {
        self.is_far_from(self.edited.unwrap_or_default())
    }

    fn is_far_from(&self, (steps, position): (u64, Tokens)) -> bool {
        let apart = TOKENS_APART.min(self.window / APART_SHARE);
        self.bulk.steps >= steps + STEPS_APART && self.bulk.position >= position + apart
    }

    /// The rent per token written again at which an edit is due.
    pub(super) fn due_price(&self) -> f64 {
        (self.write() - self.read()).max(0.0) * RENTS
    }

    /// The cut with the largest excess of rent over its due: anywhere, or with the cache read exactly up to `readable`.
    fn best(&self, readable: Option<usize>, pinned: &[usize]) -> Option<TrimPlan> {
        let price = self.due_price();
        let mut best: Option<TrimPlan> = None;
        let (mut rent, mut removed) = (0.0, 0.0);
        // Sent tokens from message `from` on.
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
                    best = Some(TrimPlan::new(from, removed, tail, excess));
                }
            }
        }
        let Some(readable) = readable else { return best };
        (removed > 0.0).then(|| {
            let tail = (self.weights[readable.min(self.sent)..self.sent].iter().sum::<f64>() - removed).max(0.0);
            TrimPlan::new(readable, removed, tail, rent - price * tail)
        })
    }

    /// The price-driven edit to make before a request with this occupancy. `fixed` returns the part of it that no
    /// price-driven edit may touch.
    pub fn way(&self, occupancy: Tokens, pinned: &[usize], fixed: impl FnOnce() -> Tokens) -> Option<Way> {
        self.economics.preset.left()?;
        self.under_tier(occupancy, pinned, fixed).or(self.plan.map(Way::Trim))
    }

    /// The edit that avoids a price tier which the next request would exceed.
    fn under_tier(&self, occupancy: Tokens, pinned: &[usize], fixed: impl FnOnce() -> Tokens) -> Option<Way> {
        let card = &self.economics.card;
        let tier = card.tier(occupancy)?;
        let cheaper = card.tiers.iter().take_while(|it| it.above < tier.above).last();
        let times = tier.prompt / cheaper.map_or(1.0, |it| it.prompt) - 1.0;
        if times <= 0.0
            || self
                .edited
                .is_some_and(|(steps, _)| self.bulk.steps < steps + STEPS_APART)
        {
            return None;
        }
        // Each request above the tier costs this much more. The number of future requests is unknown; like the rent,
        // this assumes as many as there were.
        let dearer = times * self.read() * occupancy as f64;
        let pays = |cost: f64, after: f64| {
            let room = (tier.above as f64 - after).max(0.0);
            let steps = (room / self.growth.max(1.0)).min(self.bulk.steps.max(STEPS_APART) as f64);
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
        // Leaves room for the fixed part and for a summary that is still useful.
        let above = tier.above as f64;
        let target = (above * TIER_AIM).max(fixed() as f64 + above * TIER_ROOM);
        let is_below = target <= above * BELOW_TIER;
        (is_below && pays(self.write() * target, target)).then_some(Way::Below {
            target: target as Tokens,
            tier: tier.above,
        })
    }

    /// The cut with the shortest tail that gets clearly below a tier.
    fn lightest_below(&self, occupancy: Tokens, above: Tokens, pinned: &[usize]) -> Option<TrimPlan> {
        let wanted = occupancy as f64 - above as f64 * BELOW_TIER;
        let mut removed = 0.0;
        for candidate in self.bulk.candidates(pinned) {
            removed += self.in_tokens(&candidate);
            if removed >= wanted {
                let from = self.readable_before(candidate.at);
                let all: f64 = self.from(from, pinned).iter().map(|it| self.in_tokens(it)).sum();
                let sent = self.sent.max(from);
                let tail = (self.weights[from..sent].iter().sum::<f64>() - all).max(0.0);
                return Some(TrimPlan::new(from, all, tail, 0.0));
            }
        }
        None
    }

    /// A cut of everything removable, if that is enough to make use of an expired cache.
    pub fn cold_cut(&self, pinned: &[usize]) -> Option<TrimPlan> {
        self.economics.preset.left()?;
        let removed: f64 = self.bulk.candidates(pinned).map(|it| self.in_tokens(&it)).sum();
        let from = self.bulk.candidates(pinned).last()?.at;
        let tail: f64 = self.weights[..self.sent].iter().sum::<f64>() + self.overhead - removed;
        (removed >= LEAST_COLD).then(|| TrimPlan::new(from, removed, tail.max(0.0), 0.0))
    }
}
