//! The cost of a session.

use crate::model::Billed;
use codelet_context::price::{Cost, PriceCard};
use codelet_context::tokens::Tokens;
use codelet_context::usage::Usage;

/// The cost of a run.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Spent {
    /// US dollars, estimates included.
    pub dollars: f64,
    /// True if part of it is an estimate.
    pub is_estimated: bool,
}

/// The cost of a session so far. It only grows.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Bill {
    /// The four counts, summed over all requests.
    pub usage: Usage,
    /// The part of the cache writes with a lifetime of one hour.
    pub write_1h: Tokens,
    /// The part of the output spent on thinking.
    pub reasoning: Tokens,
    /// The number of billed requests.
    pub requests: u64,
    /// The cost of requests to models with a known price, each at the prices of its own model.
    pub cost: Cost,
    /// The number of requests not in `cost`: to models with an unknown price, or without reported usage.
    pub unpriced: u64,
    /// The estimated cost in US dollars of requests without reported usage, assuming no cache reads.
    pub estimated: f64,
}

impl Bill {
    /// Adds a request; returns its cost in dollars, if the price is known.
    pub fn add(&mut self, billed: &Billed, price: Option<&PriceCard>) -> Option<f64> {
        self.usage = self.usage.plus(billed.usage);
        self.write_1h = self.write_1h.saturating_add(billed.write_1h);
        self.reasoning = self.reasoning.saturating_add(billed.reasoning);
        self.requests += 1;
        let Some(price) = price else {
            self.unpriced += 1;
            return None;
        };
        let cost = price.cost_by_kind(billed.usage, billed.write_1h);
        self.cost = self.cost + cost;
        Some(cost.total())
    }

    /// Adds an answered request whose prompt the provider did not count, with its estimated usage.
    pub(crate) fn add_estimate(&mut self, billed: &Billed, estimate: Usage, price: Option<&PriceCard>) {
        self.add(billed, None);
        self.estimated += price.map_or(0.0, |price| price.cost(estimate, 0));
    }

    /// Returns the sum of both bills.
    pub fn plus(&self, other: &Bill) -> Bill {
        Bill {
            usage: self.usage.plus(other.usage),
            write_1h: self.write_1h.saturating_add(other.write_1h),
            reasoning: self.reasoning.saturating_add(other.reasoning),
            requests: self.requests + other.requests,
            cost: self.cost + other.cost,
            unpriced: self.unpriced + other.unpriced,
            estimated: self.estimated + other.estimated,
        }
    }

    /// Returns the total in US dollars, estimates included.
    pub fn spent(&self) -> f64 {
        self.cost.total() + self.estimated
    }

    /// Returns the cost since the bill was `before`.
    pub fn since(&self, before: &Bill) -> Spent {
        Spent {
            dollars: self.spent() - before.spent(),
            is_estimated: self.estimated > before.estimated,
        }
    }

    /// Returns the share of all prompt tokens that was read from the cache, 0 to 1.
    pub fn hit_share(&self) -> f64 {
        match self.usage.prompt() {
            0 => 0.0,
            prompt => self.usage.cache_read as f64 / prompt as f64,
        }
    }
}
