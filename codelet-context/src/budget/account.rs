//! The running cost and savings of price-driven edits, compared with the same session without them.

use crate::budget::price::PriceCard;
use crate::budget::usage::Usage;
use crate::message::tokens::Tokens;

/// The most that edits may cost beyond their savings, as a share of the session's cost without them. Rent bounds the
/// loss in the long run; this bounds it for a session that ends right after an edit. On one half of the recorded
/// sessions, 0.075 keeps the dearest twentieth of them below 1.02 on every card; on the other half, 0.06 does.
const AT_RISK: f64 = 0.06;

/// The account, in US dollars.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(crate) struct Account {
    /// The cost of all requests, from their usage reports.
    spent: f64,
    /// The cost of edits minus their savings.
    lost: f64,
    /// Tokens that light edits have removed from each request since the last compaction.
    gone: f64,
}

impl Account {
    /// Records the usage report of a request.
    pub fn reported(&mut self, card: &PriceCard, usage: Usage) {
        self.spent += card.cost(usage, card.write_1h(usage));
        // Without the edits, the removed tokens would have been read with the rest and might have pushed the prompt
        // above a price tier.
        let prompt = usage.prompt() as f64;
        let whole = prompt + self.gone;
        let dearer = whole * card.factor(whole as Tokens) - prompt * card.factor(usage.prompt());
        self.lost -= dearer * card.rates.cache_read / 1e6;
    }

    /// Records a light edit that removed `removed` tokens at a cost of `cost` dollars.
    pub fn edited(&mut self, removed: f64, cost: f64) {
        self.gone += removed.max(0.0);
        self.lost += cost;
    }

    /// Reverts light edits that were undone before anything was sent: `removed` tokens and `cost` dollars.
    pub fn taken_back(&mut self, removed: f64, cost: f64) {
        self.gone = (self.gone - removed).max(0.0);
        self.lost -= cost;
    }

    /// Resets the removed tokens after a compaction: without the edits it would have come sooner and removed the same.
    pub fn compacted(&mut self) {
        self.gone = 0.0;
    }

    /// Carries over what was paid in a later state of the same session, minus `unsent` dollars for edits that were
    /// never sent.
    pub fn keep(&mut self, later: &Account, unsent: f64) {
        (self.spent, self.lost) = (later.spent, later.lost - unsent);
    }

    /// Returns whether an edit may cost `cost` dollars.
    pub fn bears(&self, cost: f64) -> bool {
        self.lost + cost <= AT_RISK * (self.spent - self.lost)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::budget::price;

    fn read(tokens: Tokens) -> Usage {
        Usage::from_inclusive(tokens, tokens, 0)
    }

    #[test]
    fn what_a_session_has_cost_bounds_what_an_edit_may() {
        let card = price::find("no-write-fee").unwrap();
        let mut account = Account::default();
        assert!(!account.bears(0.01), "nothing was spent yet");
        for _ in 0..10 {
            account.reported(card, read(100_000));
        }
        // Ten times 100,000 tokens at $0.30 per million.
        assert!(account.bears(0.3 * AT_RISK * 0.99) && !account.bears(0.3 * AT_RISK * 1.01));
        account.edited(50_000.0, 0.01);
        assert!(!account.bears(0.3 * AT_RISK * 0.99));
        // An edit's savings make room for the next edit.
        account.reported(card, read(50_000));
        assert!((account.lost - (0.01 - 0.015)).abs() < 1e-9, "{account:?}");
        assert!(account.bears(0.3 * AT_RISK));
        account.compacted();
        let before = account.lost;
        account.reported(card, read(50_000));
        assert_eq!(account.lost, before, "a compaction would have removed it too");
    }

    #[test]
    fn staying_below_a_tier_is_counted_as_saved() {
        let card = price::find("tier-5x").unwrap();
        let mut account = Account::default();
        account.edited(20_000.0, 0.0);
        account.reported(card, read(90_000));
        // 110,000 tokens at five times $0.30 per million, minus 90,000 at the base price.
        assert!((account.lost + (0.165 - 0.027)).abs() < 1e-9, "{account:?}");
    }
}
