//! What a session has cost.

use crate::model::Billed;
use codelet_context::price::PriceCard;
use codelet_context::tokens::Tokens;
use codelet_context::usage::Usage;

/// What a run has cost.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Spent {
    /// US dollars, estimates included.
    pub dollars: f64,
    /// Part of it is an estimate.
    pub is_estimated: bool,
}

/// What a session has cost so far. It only grows.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Bill {
    /// The four counts, all requests together.
    pub usage: Usage,
    /// The part of the cache writes that lives an hour.
    pub write_1h: Tokens,
    /// The part of the output that was thinking.
    pub reasoning: Tokens,
    /// Requests that were billed.
    pub requests: u64,
    /// US dollars, for the requests of models with a known price.
    pub dollars: f64,
    /// Requests that no dollars stand for: of models whose price nobody knows, or that no counts came of.
    pub unpriced: u64,
    /// What those without counts may have cost, in US dollars: an estimate, with nothing read from a cache.
    pub estimated: f64,
}

impl Bill {
    /// Adds a request; returns what it cost in dollars, where the price is known.
    pub fn add(&mut self, billed: &Billed, price: Option<&PriceCard>) -> Option<f64> {
        self.usage = self.usage.plus(billed.usage);
        self.write_1h = self.write_1h.saturating_add(billed.write_1h);
        self.reasoning = self.reasoning.saturating_add(billed.reasoning);
        self.requests += 1;
        let dollars = price.map(|price| price.cost(billed.usage, billed.write_1h));
        match dollars {
            Some(dollars) => self.dollars += dollars,
            None => self.unpriced += 1,
        }
        dollars
    }

    /// Adds an answered request of which the vendor has counted no prompt, and that is estimated at these counts.
    pub(crate) fn add_estimate(&mut self, billed: &Billed, estimate: Usage, price: Option<&PriceCard>) {
        self.add(billed, None);
        self.estimated += price.map_or(0.0, |price| price.cost(estimate, 0));
    }

    /// Both together.
    pub fn plus(&self, other: &Bill) -> Bill {
        Bill {
            usage: self.usage.plus(other.usage),
            write_1h: self.write_1h.saturating_add(other.write_1h),
            reasoning: self.reasoning.saturating_add(other.reasoning),
            requests: self.requests + other.requests,
            dollars: self.dollars + other.dollars,
            unpriced: self.unpriced + other.unpriced,
            estimated: self.estimated + other.estimated,
        }
    }

    /// What it comes to, estimates included, in US dollars.
    pub fn spent(&self) -> f64 {
        self.dollars + self.estimated
    }

    /// What was spent since the bill was this one.
    pub fn since(&self, before: &Bill) -> Spent {
        Spent {
            dollars: self.spent() - before.spent(),
            is_estimated: self.estimated > before.estimated,
        }
    }

    /// The share of all prompts that was read from the cache, 0 to 1.
    pub fn hit_share(&self) -> f64 {
        match self.usage.prompt() {
            0 => 0.0,
            prompt => self.usage.cache_read as f64 / prompt as f64,
        }
    }
}
