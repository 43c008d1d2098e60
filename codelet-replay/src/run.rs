//! The outcome of replaying one session under one policy.

use crate::policy::Policy;
use crate::prompt::Occupancy;
use codelet_context::price::Cost;
use codelet_context::tokens::Tokens;
use codelet_context::usage::Usage;

/// The reason why less was read from the cache than the request before had left there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cause {
    /// The policy edited what had been sent.
    Planned,
    /// The entries had expired.
    Cold,
    /// Nothing was edited and nothing had expired.
    Unplanned,
}

impl Cause {
    /// The cause's name in reports.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Cause::Planned => "planned",
            Cause::Cold => "cold",
            Cause::Unplanned => "unplanned",
        }
    }
}

/// A request that could not read everything that the one before it had left in the cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Broken {
    /// The reason.
    pub cause: Cause,
    /// Tokens that the cache held and that were not read.
    pub lost: Tokens,
}

/// A change to what had been sent before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Edited {
    /// The reason: one of the engine's, or the policy's rule.
    pub(crate) reason: &'static str,
    /// Tokens of the request without the edit.
    pub before: Tokens,
    /// Tokens of it with the edit.
    pub after: Tokens,
}

/// A request of the run.
#[derive(Clone, PartialEq, Debug)]
pub struct Step {
    /// The index of the reply among the session's messages.
    pub(crate) reply: usize,
    /// The start of the request, in milliseconds since 1970-01-01 UTC, if recorded.
    pub(crate) began: Option<u64>,
    /// The content of the window, in tokens.
    pub occupancy: Occupancy,
    /// The usage of the request, in tokens.
    pub usage: Usage,
    /// Its cost.
    pub dollars: Cost,
    /// The cache break at this request, if the prefix was broken.
    pub broken: Option<Broken>,
    /// The edit before this request; the last one if there were several.
    pub edit: Option<Edited>,
    /// The cost of reading again what the reply refers to and the request did not show, in dollars, times its chance.
    pub refetch: f64,
    /// The weight of what the reply refers to.
    pub referred: u32,
    /// The weight of what the reply refers to and the request showed.
    pub shown: u32,
}

/// A request that does not fit into the window. A provider refuses it and bills nothing, and the run ends there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Refused {
    /// The index of the request, counted from 0.
    pub step: usize,
    /// Its size, in tokens.
    pub tokens: Tokens,
}

/// A session replayed under a policy.
#[derive(Clone, PartialEq, Debug)]
pub struct Run {
    pub(crate) policy: Policy,
    /// Its requests, in order.
    pub steps: Vec<Step>,
    /// The request that did not fit, after which there are no more.
    pub refused: Option<Refused>,
}

/// The sums of a run.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Sums {
    /// The number of requests.
    pub steps: u64,
    /// The usage of all requests.
    pub usage: Usage,
    /// Their cost.
    pub dollars: Cost,
    /// The cost of reading again, in dollars, times its probability.
    pub refetch: f64,
    /// Requests that broke the prefix because the policy had edited.
    pub planned: u64,
    /// Requests that broke it because the cache had expired.
    pub cold: u64,
    /// Requests that broke it for another reason, such as another model, or for none that is known.
    pub unplanned: u64,
    /// Edits.
    pub edits: u64,
    /// Runs that ended early, at a request that did not fit.
    pub overflows: u64,
    /// The size of the fullest request, in tokens.
    pub peak: Tokens,
    /// The weight of what replies refer to.
    pub(crate) referred: u64,
    /// The weight of what replies refer to and the requests showed.
    shown: u64,
}

impl Sums {
    /// The total cost, including that of reading again.
    pub fn cost(&self) -> f64 {
        self.dollars.total() + self.refetch
    }

    /// The share of the prompts that was read from the cache, 0 to 1; 0 if nothing was sent.
    pub fn hit_share(&self) -> f64 {
        share(self.usage.cache_read, self.usage.prompt())
    }

    /// The mean size of the requests, in tokens.
    pub(crate) fn mean(&self) -> f64 {
        self.usage.prompt() as f64 / self.steps.max(1) as f64
    }

    /// The share of the references that were shown, by weight, 0 to 1; 1 if there are none.
    pub fn recall(&self) -> f64 {
        match self.referred {
            0 => 1.0,
            _ => share(self.shown, self.referred),
        }
    }

    /// Returns the sum of both.
    pub(crate) fn plus(self, other: &Sums) -> Sums {
        Sums {
            steps: self.steps.saturating_add(other.steps),
            usage: self.usage.plus(other.usage),
            dollars: self.dollars + other.dollars,
            refetch: self.refetch + other.refetch,
            planned: self.planned + other.planned,
            cold: self.cold + other.cold,
            unplanned: self.unplanned + other.unplanned,
            edits: self.edits + other.edits,
            overflows: self.overflows + other.overflows,
            peak: self.peak.max(other.peak),
            referred: self.referred.saturating_add(other.referred),
            shown: self.shown.saturating_add(other.shown),
        }
    }
}

/// Returns the share of a whole; 0 if the whole is 0.
pub(crate) fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

impl Run {
    /// Returns the sums over all steps.
    pub fn sums(&self) -> Sums {
        let mut sums = Sums {
            overflows: u64::from(self.refused.is_some()),
            ..Sums::default()
        };
        for step in &self.steps {
            sums.steps += 1;
            sums.usage = sums.usage.plus(step.usage);
            sums.dollars = sums.dollars + step.dollars;
            sums.refetch += step.refetch;
            match step.broken.map(|broken| broken.cause) {
                Some(Cause::Planned) => sums.planned += 1,
                Some(Cause::Cold) => sums.cold += 1,
                Some(Cause::Unplanned) => sums.unplanned += 1,
                None => {}
            }
            sums.edits += u64::from(step.edit.is_some());
            sums.peak = sums.peak.max(step.usage.prompt());
            sums.referred += u64::from(step.referred);
            sums.shown += u64::from(step.shown);
        }
        sums
    }
}
