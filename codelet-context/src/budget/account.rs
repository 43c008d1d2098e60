//! What edits for their price have cost and saved so far, against what the session would have cost without them.

use crate::budget::price::{Lifetime, PriceCard};
use crate::budget::usage::Usage;
use crate::message::tokens::Tokens;

/// What edits may have cost more than they saved, as a share of what the session would have cost without them. Rent bounds
/// what is lost in the long run; this bounds it for a session that ends right after an edit. On half of the
/// recorded sessions 0.075 keeps the dearest twentieth of them below 1.02 on every card, on the other half this does.
const AT_RISK: f64 = 0.06;

/// The account, in US dollars.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(crate) struct Account {
    /// What the requests cost by their reports.
    spent: f64,
    /// What edits have cost, less what they have saved.
    lost: f64,
    /// Tokens that light edits have taken out of each request since the last compaction.
    gone: f64,
}

impl Account {
    /// A request was reported.
    pub fn reported(&mut self, card: &PriceCard, usage: Usage) {
        let hour = match card.lifetime {
            Lifetime::FiveMinutes => 0,
            Lifetime::Hour => usage.cache_write,
        };
        self.spent += card.cost(usage, hour);
        // Without the edits what is gone would have been read with the rest, and may have lifted it above a price tier.
        let prompt = usage.prompt() as f64;
        let whole = prompt + self.gone;
        let dearer = whole * card.factor(whole as Tokens) - prompt * card.factor(usage.prompt());
        self.lost -= dearer * card.rates.cache_read / 1e6;
    }

    /// A light edit removed so many tokens, for this many dollars.
    pub fn edited(&mut self, removed: f64, cost: f64) {
        self.gone += removed.max(0.0);
        self.lost += cost;
    }

    /// Light edits that were to remove so many tokens for this many dollars were taken back before anything was sent.
    pub fn taken_back(&mut self, removed: f64, cost: f64) {
        self.gone = (self.gone - removed).max(0.0);
        self.lost -= cost;
    }

    /// A compaction began anew: without the edits it would have come sooner, and have removed the same.
    pub fn compacted(&mut self) {
        self.gone = 0.0;
    }

    /// What was paid in a later state of the same session stays paid, but for so many dollars of edits that were never sent.
    pub fn keep(&mut self, later: &Account, unsent: f64) {
        (self.spent, self.lost) = (later.spent, later.lost - unsent);
    }

    /// Whether an edit may cost so many dollars.
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
        // Ten times 100,000 tokens at $0.30 a million.
        assert!(account.bears(0.3 * AT_RISK * 0.99) && !account.bears(0.3 * AT_RISK * 1.01));
        account.edited(50_000.0, 0.01);
        assert!(!account.bears(0.3 * AT_RISK * 0.99));
        // What an edit saves gives room for the next.
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
        // 110,000 tokens at five times $0.30 a million, less 90,000 at one time.
        assert!((account.lost + (0.165 - 0.027)).abs() < 1e-9, "{account:?}");
    }
}
