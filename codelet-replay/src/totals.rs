//! Many sessions combined: sums, ratios to never editing, and the error of the cache model against recorded usage.

use crate::check::Check;
use crate::play::play_all;
use crate::policy::Policy;
use crate::run::Sums;
use crate::session::Session;
use crate::settings::Settings;
use crate::sketch::{self, Sketch};
use crate::stats::{quantile, ratio_interval};
use std::collections::{BTreeMap, HashMap};

/// The results of a replayed session.
#[derive(Clone, PartialEq, Debug)]
pub struct Played {
    pub(crate) name: String,
    /// The file that it was read from, as given; empty if there is none.
    pub file: String,
    /// The agent or the collection that it comes from.
    pub source: String,
    /// The number of requests.
    pub requests: usize,
    /// True if most requests have a time. If not, the cache was assumed to stay warm.
    pub is_timed: bool,
    /// Requests without a time.
    pub untimed: usize,
    /// True if text sizes were calibrated from its usage.
    pub is_calibrated: bool,
    /// True if a part of the recording could not be read.
    pub is_partly_read: bool,
    /// Requests beyond the maximum replayed of a session.
    pub unplayed: usize,
    /// Models in it without a known price.
    pub unknown: Vec<String>,
    /// The sums under each policy, in the given order.
    pub sums: Vec<(Policy, Sums)>,
    /// The comparison of the cache model with recorded usage, if there is any.
    pub check: Option<Check>,
    /// Identifies it if another file holds it too.
    sketch: Sketch,
}

impl Played {
    /// Replays a session under these policies.
    pub fn new(session: &Session, source: String, policies: &[Policy], settings: &Settings) -> Self {
        let runs = play_all(session, policies.iter().copied(), settings);
        let sums = runs.map(|run| (run.policy, run.sums()));
        Played {
            name: session.name.clone(),
            file: String::new(),
            source,
            requests: session.requests.len(),
            is_timed: session.is_timed(),
            untimed: session.untimed(),
            is_calibrated: session.is_calibrated,
            is_partly_read: session.is_partly_read,
            unplayed: session.unplayed,
            unknown: unknown(session, settings),
            sums: sums.collect(),
            check: crate::check::check(session, settings),
            sketch: Sketch::of(session),
        }
    }

    /// Returns the sums under a policy, unless the session ended early under it.
    pub(crate) fn whole(&self, policy: Policy) -> Option<&Sums> {
        let mut all = self.sums.iter().filter(|(_, sums)| sums.overflows == 0);
        all.find(|(of, _)| *of == policy).map(|(_, sums)| sums)
    }

    /// Returns the cost under a policy, including that of reading again, in dollars; `None` if the session ended early.
    pub fn cost(&self, policy: Policy) -> Option<f64> {
        self.whole(policy).map(Sums::cost)
    }

    /// Returns the cost under a policy as a share of that under [`Policy::Never`]; `None` if that was 0.
    pub fn ratio(&self, policy: Policy) -> Option<f64> {
        let never = self.cost(Policy::Never).filter(|&never| never > 0.0)?;
        Some(self.cost(policy)? / never).filter(|ratio| ratio.is_finite())
    }
}

/// Returns the models of a session without a known price.
pub(crate) fn unknown(session: &Session, settings: &Settings) -> Vec<String> {
    let models = session.models().into_iter().map(|(name, _)| name);
    let unknown = models.filter(|name| settings.price_of(Some(name)).is_none());
    unknown.map(str::to_owned).collect()
}

/// All sessions under one policy. A session that ended early, at a request that did not fit, is in none of the figures.
#[derive(Clone, PartialEq, Debug)]
pub struct Total {
    /// The policy.
    pub policy: Policy,
    /// The sums.
    pub sums: Sums,
    /// The sessions that were replayed to their end.
    pub sessions: usize,
    /// The sessions that ended early.
    pub refused: usize,
    /// The sessions that were replayed to their end under [`Policy::Never`] as well, from which the ratio is computed.
    pub compared: usize,
    /// The total cost as a share of that under [`Policy::Never`]; `None` if that was 0.
    pub ratio: Option<f64>,
    /// Its 95 % interval, by resampling sessions.
    pub interval: Option<(f64, f64)>,
    /// The 95th percentile of the ratios of single sessions.
    pub worst: Option<f64>,
}

/// Returns the totals under each policy that was replayed, in order.
pub fn totals<'a>(played: impl IntoIterator<Item = &'a Played> + Clone) -> Vec<Total> {
    let policies: Vec<Policy> = match played.clone().into_iter().next() {
        Some(first) => first.sums.iter().map(|(policy, _)| *policy).collect(),
        None => Vec::new(),
    };
    let total = |policy: Policy| {
        let mut sums = Sums::default();
        let (mut sessions, mut refused) = (0, 0);
        let mut pairs = Vec::new();
        let mut ratios = Vec::new();
        for session in played.clone() {
            match session.whole(policy) {
                Some(of) => {
                    sums = sums.plus(of);
                    sessions += 1;
                }
                None => refused += usize::from(session.sums.iter().any(|(of, _)| *of == policy)),
            }
            pairs.extend(session.cost(policy).zip(session.cost(Policy::Never)));
            ratios.extend(session.ratio(policy));
        }
        let (cost, never) = pairs.iter().fold((0.0, 0.0), |(a, b), pair| (a + pair.0, b + pair.1));
        Total {
            policy,
            sums,
            sessions,
            refused,
            compared: pairs.len(),
            ratio: Some(cost / never).filter(|ratio| never > 0.0 && ratio.is_finite()),
            interval: ratio_interval(&pairs),
            worst: quantile(&ratios, 0.95),
        }
    };
    policies.into_iter().map(total).collect()
}

/// Returns the totals of each source, ordered by name, with its number of sessions.
pub fn by_source(played: &[Played]) -> BTreeMap<&str, (usize, Vec<Total>)> {
    let mut sources: BTreeMap<&str, Vec<&Played>> = BTreeMap::new();
    for session in played {
        sources.entry(&session.source).or_default().push(session);
    }
    let of = |sessions: Vec<&Played>| (sessions.len(), totals(sessions.iter().copied()));
    sources
        .into_iter()
        .map(|(name, sessions)| (name, of(sessions)))
        .collect()
}

/// The errors of the predictions, over the sessions with usage. Errors are shares of the bill, without signs.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Checked {
    /// Sessions with usage and times.
    pub sessions: usize,
    /// Sessions without.
    pub without: usize,
    /// Billed requests with a known price.
    pub requests: usize,
    /// Billed requests without a known price.
    pub unpriced: usize,
    /// Median and 90th percentile of the sessions' errors, without the unrecorded events.
    pub blind: (f64, f64),
    /// The same, given when these events happened.
    pub told: (f64, f64),
    /// The number of times that a head was found warm.
    pub warm_heads: usize,
    /// The number of times that an unexpired prefix was lost.
    pub lost: usize,
}

/// Sums up the checks; `None` if there are none.
pub fn checked(played: &[Played]) -> Option<Checked> {
    let checks: Vec<&Check> = played.iter().filter_map(|session| session.check.as_ref()).collect();
    let both = |error: fn(&Check) -> f64| {
        let errors: Vec<f64> = checks.iter().map(|check| error(check).abs()).collect();
        Some((quantile(&errors, 0.5)?, quantile(&errors, 0.9)?))
    };
    Some(Checked {
        sessions: checks.len(),
        without: played.len() - checks.len(),
        requests: checks.iter().map(|check| check.requests).sum(),
        blind: both(Check::blind_error)?,
        told: both(Check::told_error)?,
        unpriced: checks.iter().map(|check| check.unpriced).sum(),
        warm_heads: checks.iter().map(|check| check.warm_heads).sum(),
        lost: checks.iter().map(|check| check.lost).sum(),
    })
}

/// A half of the sessions, by their names, so that constants are fitted on one and evaluated on the other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Half {
    /// One half.
    A,
    /// The other half.
    B,
}

impl Half {
    /// Returns the half that a session of this name is in (FNV-1a of its letters and digits, in lowercase), whatever is
    /// between them: programs that record a session join the parts of its name differently.
    pub fn of(name: &str) -> Half {
        // The low bits of this hash depend on few bits of the name; the high ones on all.
        if (sketch::hash(name) >> 32).count_ones().is_multiple_of(2) {
            Half::A
        } else {
            Half::B
        }
    }
}

/// Finds the sessions that are in the list twice, under names that differ only in punctuation and with mostly the same
/// text: returns for each the index of the one to drop and that of the one to keep, which is the one with more recorded
/// information, or the first. Ascending by the former.
pub fn repeated(played: &[Played]) -> Vec<(usize, usize)> {
    let mut named: HashMap<u64, Vec<usize>> = HashMap::new();
    let mut kept_by: BTreeMap<usize, usize> = BTreeMap::new();
    let recorded = |at: usize| {
        let session: &Played = &played[at];
        (session.check.is_some(), session.is_calibrated, session.is_timed)
    };
    for (at, session) in played.iter().enumerate() {
        let alike = named.entry(sketch::hash(&session.name)).or_default();
        let same = alike
            .iter_mut()
            .find(|other| played[**other].sketch.is_same(&session.sketch));
        match same {
            None => alike.push(at),
            Some(kept) if recorded(at) > recorded(*kept) => {
                kept_by.values_mut().filter(|by| **by == *kept).for_each(|by| *by = at);
                kept_by.insert(*kept, at);
                *kept = at;
            }
            Some(kept) => {
                kept_by.insert(at, *kept);
            }
        }
    }
    kept_by.into_iter().collect()
}
