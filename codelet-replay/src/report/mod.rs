//! A session as one page: what filled its context window, what was edited, what the cache did, and what it cost.
//!
//! The page is a single HTML file that makes no requests. All figures are drawings and tables made here; its script
//! only adds convenience. Content of a recording is inserted as text, in bounded amounts.

mod bars;
mod bucket;
mod chart;
mod contents;
mod course;
mod csv;
pub(crate) mod html;
mod live;
mod page;
mod played;
mod policies;
mod summary;
mod table;
mod words;

pub use live::{Live, Told};
pub use page::page;
pub use played::played;

use crate::check::Check;
use crate::policy::Policy;
use crate::run::Run;
use crate::settings::Settings;
use crate::totals::Total;
use codelet_context::inspect::Inspection;
use codelet_context::tokens::Tokens;
use std::collections::HashMap;

/// The contents of a page.
#[derive(Clone, Debug)]
pub struct Report {
    /// The title of the session.
    pub title: String,
    /// The agent that recorded it.
    pub agent: String,
    /// The model, if known.
    pub model: Option<String>,
    /// True if the session is running: the first run is what happened, the others are simulated.
    is_live: bool,
    /// Window, prices, and the probability of reading again.
    pub settings: Settings,
    /// True if the price of the model is known; if not, the text has no amounts in dollars.
    is_priced: bool,
    /// The time from the first request to the last, in milliseconds.
    lasted: Option<u64>,
    /// The actual run of the session, and the simulated run under each policy.
    pub courses: Vec<Course>,
    /// The run that is shown first.
    pub first: usize,
    /// The contents of the whole conversation.
    contents: Inspection,
    /// The factor that converts an estimate of `contents` to tokens of the window.
    ratio: f64,
    /// The number of requests after each message of `contents`.
    ages: Vec<u64>,
    /// The handles under which parts can be read back, by message and part.
    pub handles: HashMap<(usize, usize), String>,
    /// The comparison of the cache model with recorded usage.
    check: Option<Check>,
    /// Models in the recording without a known price.
    unknown: Vec<String>,
    /// True if the recording holds the usage of requests.
    has_bills: bool,
    /// The totals of several sessions, with their number.
    pub together: Option<(usize, Vec<Total>)>,
    /// Notes on the source of the figures.
    pub notes: Vec<String>,
}

/// A session under one policy.
#[derive(Clone, PartialEq, Debug)]
pub struct Course {
    /// Its name.
    pub name: String,
    /// A short description of it.
    about: String,
    /// True if it is what a provider billed, not simulated.
    is_billed: bool,
    /// The requests.
    pub run: Run,
    /// Its edits.
    pub edits: Vec<Edit>,
}

impl Course {
    /// Returns whether it is the baseline of the comparison.
    fn is_never(&self) -> bool {
        !self.is_billed && self.run.policy == Policy::Never
    }
}

/// An edit and its value.
#[derive(Clone, PartialEq, Debug)]
pub struct Edit {
    /// The request before which it was made, counted from 0.
    pub step: usize,
    /// The reason.
    pub reason: &'static str,
    /// Tokens of the request without it.
    before: Tokens,
    /// Tokens with it.
    after: Tokens,
    /// The cost of rewriting everything after the edit to the cache, in dollars; for a live session, as predicted.
    pub cost: f64,
    /// The actual cost by the provider's report, if there is one, in dollars.
    pub actual: Option<f64>,
    /// The cost that the removed tokens would have caused in the requests since, in dollars.
    pub saved: f64,
}

impl Edit {
    /// The number of tokens removed.
    pub fn removed(&self) -> Tokens {
        self.before.saturating_sub(self.after)
    }

    /// The number of tokens put back.
    pub fn restored(&self) -> Tokens {
        self.after.saturating_sub(self.before)
    }
}
