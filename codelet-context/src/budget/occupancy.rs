//! The occupancy of the window at the next request: the last count plus an estimate of everything appended since.

use crate::budget::usage::Usage;
use crate::message::tokens::Tokens;
use std::ops::RangeInclusive;

/// The weight, in estimated tokens, of the prior that estimates are exact. It equals a few steps' growth: a session's
/// own reports soon outweigh it, and a single odd report does not.
const PRIOR: f64 = 2_000.0;
/// The half-life of reports, in estimated tokens, because the kind of work changes.
const HALF_LIFE: f64 = 60_000.0;
/// The maximum weight of a single report, in estimated tokens, so that one huge result does not outweigh all others.
const MOST: f64 = 8_000.0;
/// The plausible tokens per estimated token. No text has more tokens than bytes, and an estimated token is four bytes;
/// digits and hex come close to that, Korean and emoji to 3.5. The framing of messages makes up the rest.
pub(crate) const PLAUSIBLE: RangeInclusive<f64> = 0.4..=4.5;
/// A report that is off by this factor beyond the plausible range reflects something that was not appended here (a
/// hidden prompt of an agent, an edit by the vendor), not the tokenizer.
pub(crate) const FAR_OFF: f64 = 2.0;
/// The factor by which a first report may be off: it also counts the unseen content besides the messages.
pub(crate) const AT_FIRST: f64 = 3.0;

/// Estimates the occupancy of the next request. Each call takes constant time.
///
/// The calls follow the conversation: [`appended`](Self::appended) for the system prompt, the tool definitions and
/// every message that is not a reply, [`replied`](Self::replied) for each reply, [`rebuilt`](Self::rebuilt) after a
/// compaction.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Occupancy {
    /// The prompt tokens in the last report.
    counted: Tokens,
    /// The reported output tokens; `None` if the reply was cut off.
    output: Option<Tokens>,
    /// The minimum size of the reply and its estimate.
    reply: (Tokens, Tokens),
    /// The estimate of everything appended since.
    since: Tokens,
    /// The tokens in reports and their estimates; both decay at the same rate.
    shown: f64,
    estimated: f64,
    /// True if tokens were removed since the last report: their number is an estimate, so the next report reveals
    /// nothing about the rest.
    is_trimmed: bool,
    /// The estimate that `counted` was derived from, if the conversation was rebuilt and not reported since.
    rebuilt: Option<Tokens>,
    /// The estimate of everything in the next request.
    whole: Tokens,
    /// The smallest whole request that was reported.
    base: Option<SmallestRequest>,
}

/// A reported whole request: mostly the part common to all requests, whose token density differs from that of the work.
#[derive(Clone, Copy, PartialEq, Debug)]
struct SmallestRequest {
    counted: Tokens,
    estimate: Tokens,
}

impl Default for Occupancy {
    /// An empty window.
    fn default() -> Self {
        Occupancy {
            counted: 0,
            output: None,
            reply: (0, 0),
            since: 0,
            shown: PRIOR,
            estimated: PRIOR,
            is_trimmed: false,
            rebuilt: None,
            whole: 0,
            base: None,
        }
    }
}

impl Occupancy {
    /// Adds this estimate to the next request: the system prompt, the tool definitions, a prompt with its images, or
    /// results.
    pub(crate) fn appended(&mut self, estimate: Tokens) {
        self.since = self.since.saturating_add(estimate);
        self.whole = self.whole.saturating_add(estimate);
    }

    /// Records the reply to a request that held everything appended so far, with its reported usage. `estimate` is the
    /// estimate of the reply; it replaces the report for a cut-off reply (`is_whole` false), which is counted only in
    /// part. A usage without prompt tokens is no report and changes nothing else.
    pub(crate) fn replied(&mut self, usage: Usage, estimate: Tokens, is_whole: bool) {
        let prompt = usage.prompt();
        if prompt == 0 {
            self.appended(estimate);
            return;
        }
        let is_first = self.base.is_none();
        let (known, guessed) = match (self.rebuilt.take(), self.output) {
            (Some(estimate), _) => {
                let base = self.base.filter(|base| base.estimate < estimate);
                let (counted, beside) = base.map_or((0, 0), |base| (base.counted, base.estimate));
                (counted, (estimate - beside).saturating_add(self.since))
            }
            (None, Some(output)) => (self.counted.saturating_add(output), self.since),
            (None, None) => (self.counted, self.since.saturating_add(self.reply.1)),
        };
        if !std::mem::take(&mut self.is_trimmed) {
            self.learn(prompt as f64 - known as f64, guessed as f64, is_first);
            if self.whole > 0 && self.base.is_none_or(|base| self.whole < base.estimate) {
                self.base = Some(SmallestRequest {
                    counted: prompt,
                    estimate: self.whole,
                });
            }
        }
        self.counted = prompt;
        self.output = is_whole.then_some(usage.output);
        self.reply = (usage.output, estimate);
        self.since = 0;
        self.whole = self.whole.saturating_add(estimate);
    }

    /// Records a rebuilt conversation with this estimate, system prompt and tool definitions included. The calibration
    /// from earlier reports still applies.
    pub(crate) fn rebuilt(&mut self, estimate: Tokens) {
        self.rebuilt_as(estimate, self.weigh(estimate));
    }

    /// Like [`rebuilt`](Self::rebuilt), for a conversation assumed to occupy `tokens` of the window.
    pub(crate) fn rebuilt_as(&mut self, estimate: Tokens, tokens: Tokens) {
        self.counted = tokens;
        self.is_trimmed = false;
        self.output = Some(0);
        self.reply = (0, 0);
        self.since = 0;
        self.rebuilt = Some(estimate);
        self.whole = estimate;
    }

    /// Records that this many window tokens, by the caller's estimate, were removed from the counted part.
    pub(crate) fn removed(&mut self, tokens: Tokens) {
        self.whole = self.whole.saturating_sub((tokens as f64 / self.slope()) as Tokens);
        let rest = tokens.saturating_sub(self.counted);
        self.counted = self.counted.saturating_sub(tokens);
        // Tokens beyond the counted part were estimated.
        self.since = self.since.saturating_sub((rest as f64 / self.ratio()) as Tokens);
        self.is_trimmed = true;
    }

    /// The tokens that the next request will occupy.
    pub(crate) fn next_request(&self) -> Tokens {
        let reply = match self.output {
            Some(output) => output,
            None => self.scale(self.reply.1).max(self.reply.0),
        };
        self.counted
            .saturating_add(reply)
            .saturating_add(self.scale(self.since))
    }

    /// Returns whether a report has arrived since the last edit, if any.
    pub(crate) fn is_counted(&self) -> bool {
        self.rebuilt.is_none() && !self.is_trimmed
    }

    /// The tokens per estimated token in this session's reports.
    pub(crate) fn ratio(&self) -> f64 {
        self.shown / self.estimated
    }

    /// Scales an estimate by this session's ratio.
    pub(crate) fn scale(&self, estimate: Tokens) -> Tokens {
        (estimate as f64 * self.ratio()).ceil() as Tokens
    }

    /// The window tokens of a whole request with this estimate: the part common to this session's requests, plus the
    /// rest at the density of the last request.
    pub(crate) fn weigh(&self, estimate: Tokens) -> Tokens {
        let Some(base) = self.base else {
            return self.scale(estimate);
        };
        match estimate.checked_sub(base.estimate) {
            Some(more) => base
                .counted
                .saturating_add((more as f64 * self.slope()).ceil() as Tokens),
            None => (estimate as f64 * base.counted as f64 / base.estimate as f64).ceil() as Tokens,
        }
    }

    /// The estimate of a whole request that occupies this many tokens: the inverse of [`weigh`](Self::weigh).
    pub(crate) fn estimate_of(&self, tokens: Tokens) -> Tokens {
        let Some(base) = self.base else {
            return (tokens as f64 / self.ratio()) as Tokens;
        };
        match tokens.checked_sub(base.counted) {
            Some(more) => base.estimate.saturating_add((more as f64 / self.slope()) as Tokens),
            None => (tokens as f64 * base.estimate as f64 / base.counted as f64) as Tokens,
        }
    }

    /// The tokens per estimated token of the next request, beyond the part common to all requests.
    pub(crate) fn slope(&self) -> f64 {
        let (counted, estimate) = self.base.map_or((0, 0), |base| (base.counted, base.estimate));
        let tokens = self.next_request().saturating_sub(counted) as f64;
        let estimate = self.whole.saturating_sub(estimate) as f64;
        // For a small part, the count says less than the reports so far.
        let slope = (tokens + PRIOR * self.ratio()) / (estimate + PRIOR);
        slope.clamp(*PLAUSIBLE.start(), *PLAUSIBLE.end())
    }

    /// Learns from one report. A ratio slightly above the plausible range is clamped to it: ignoring the report would
    /// leave the session with a much worse estimate. One report weighs little, and later ones correct it.
    fn learn(&mut self, shown: f64, estimated: f64, is_first: bool) {
        let most = if is_first { AT_FIRST } else { PLAUSIBLE.end() * FAR_OFF };
        if estimated < 1.0 || !(*PLAUSIBLE.start()..=most).contains(&(shown / estimated)) {
            return;
        }
        let shown = shown.min(estimated * PLAUSIBLE.end());
        let weight = (MOST / estimated).min(1.0);
        let fade = libm::exp2(-(estimated * weight / HALF_LIFE));
        self.shown = self.shown * fade + shown * weight;
        self.estimated = self.estimated * fade + estimated * weight;
    }
}

#[cfg(test)]
mod tests {
    mod recordings;

    use super::*;
    use proptest::prelude::*;

    fn prompt(tokens: Tokens, output: Tokens) -> Usage {
        Usage {
            fresh: tokens,
            output,
            ..Usage::default()
        }
    }

    #[test]
    fn before_the_first_report_everything_appended_counts_as_estimated() {
        let mut occupancy = Occupancy::default();
        for part in [
            1_200, /* system */
            900,   /* tools */
            40,    /* prompt */
            1_600, /* picture */
        ] {
            occupancy.appended(part);
        }
        assert_eq!(occupancy.next_request(), 3_740);
    }

    #[test]
    fn the_next_request_is_the_last_one_its_reply_and_what_came_since() {
        let mut occupancy = Occupancy::default();
        occupancy.appended(1_000);
        occupancy.replied(prompt(1_000, 50), 70, true);
        assert_eq!(occupancy.next_request(), 1_050);
        occupancy.appended(200);
        assert_eq!(occupancy.next_request(), 1_250);
    }

    #[test]
    fn a_cached_prompt_fills_the_window_like_any_other() {
        let mut occupancy = Occupancy::default();
        let usage = Usage {
            fresh: 10_000,
            cache_read: 180_000,
            ..Usage::default()
        };
        occupancy.replied(usage, 0, true);
        assert_eq!(occupancy.next_request(), 190_000);
    }

    #[test]
    fn estimates_follow_what_the_reports_have_shown() {
        let occupancy = grown(1_000, 1.4);
        assert!((1.35..=1.4).contains(&occupancy.ratio()), "{}", occupancy.ratio());
    }

    /// A session that starts with `first` tokens, estimated exactly, and grows by text of `density` tokens per
    /// estimated token.
    fn grown(first: Tokens, density: f64) -> Occupancy {
        let mut occupancy = Occupancy::default();
        occupancy.appended(first);
        let mut real = first;
        occupancy.replied(prompt(real, 0), 0, true);
        for _ in 0..60 {
            occupancy.appended(1_000);
            real += (1_000.0 * density) as Tokens;
            occupancy.replied(prompt(real, 0), 0, true);
        }
        occupancy
    }

    #[test]
    fn a_token_a_byte_is_learned_like_any_density() {
        for density in [0.5, 1.0, 2.0, 3.1, 3.5, 3.8, 4.0, 4.2] {
            let ratio = grown(3_000, density).ratio();
            assert!((ratio / density - 1.0).abs() < 0.1, "{density}: {ratio}");
        }
    }

    #[test]
    fn what_stands_in_every_request_weighs_what_it_was_counted_as_however_dense_the_rest_is() {
        for density in [0.7, 1.0, 2.0, 4.0] {
            let mut occupancy = grown(3_000, density);
            occupancy.rebuilt(3_000 + 5_000);
            let expected = 3_000.0 + 5_000.0 * density;
            let weighed = occupancy.next_request() as f64;
            assert!(
                (weighed / expected - 1.0).abs() < 0.05,
                "{density}: {weighed} of {expected}"
            );
            // The next report matches, and the calibration stays.
            occupancy.replied(prompt(expected as Tokens, 0), 0, true);
            assert!(
                (occupancy.ratio() / density - 1.0).abs() < 0.1,
                "{density}: {}",
                occupancy.ratio()
            );
        }
    }

    #[test]
    fn a_report_that_is_too_dense_to_be_true_is_mended_by_those_that_follow() {
        let mut occupancy = grown(3_000, 1.2);
        let mut real = occupancy.next_request();
        for (jump, most) in [(8_000, 1.8), (100_000, 1.8), (1_200, 1.8)] {
            occupancy.appended(1_000);
            real += jump;
            occupancy.replied(prompt(real, 0), 0, true);
            assert!(occupancy.ratio() < most, "{jump}: {}", occupancy.ratio());
        }
        for _ in 0..40 {
            occupancy.appended(1_000);
            real += 1_200;
            occupancy.replied(prompt(real, 0), 0, true);
        }
        assert!((1.1..1.3).contains(&occupancy.ratio()), "{}", occupancy.ratio());
    }

    #[test]
    fn a_prompt_that_shrank_or_jumped_teaches_nothing() {
        let mut occupancy = Occupancy::default();
        occupancy.replied(prompt(50_000, 0), 0, true);
        for odd in [20_000, 90_000, 1] {
            occupancy.appended(500);
            occupancy.replied(prompt(odd, 0), 0, true);
            assert_eq!(occupancy.ratio(), 1.0);
            assert_eq!(occupancy.next_request(), odd);
        }
    }

    #[test]
    fn a_cut_reply_counts_as_what_it_is_estimated_at() {
        let mut occupancy = Occupancy::default();
        occupancy.replied(prompt(1_000, 3), 400, false);
        assert_eq!(occupancy.next_request(), 1_400);
        occupancy.replied(prompt(1_000, 900), 400, false);
        assert_eq!(
            occupancy.next_request(),
            1_900,
            "what was reported is the least that it is"
        );
    }

    #[test]
    fn a_reply_without_a_report_leaves_what_is_known() {
        let mut occupancy = Occupancy::default();
        occupancy.replied(prompt(1_000, 10), 10, true);
        occupancy.appended(100);
        occupancy.replied(Usage::default(), 40, false);
        assert_eq!(occupancy.next_request(), 1_150);
    }

    #[test]
    fn what_is_taken_away_before_any_report_was_estimated() {
        let mut occupancy = Occupancy::default();
        occupancy.appended(9_000);
        occupancy.removed(2_000);
        assert_eq!(occupancy.next_request(), 7_000);
    }

    proptest! {
        #[test]
        fn an_estimate_and_its_weight_belong_together(
            first in 100u64..50_000, density in 0.4..4.5f64, estimate in 0u64..2_000_000,
        ) {
            let occupancy = grown(first, density);
            let back = occupancy.estimate_of(occupancy.weigh(estimate));
            prop_assert!(back.abs_diff(estimate) <= 3, "{estimate}: {back}");
            prop_assert!(occupancy.weigh(estimate) <= occupancy.weigh(estimate + 1));
        }

        #[test]
        fn no_report_breaks_the_estimate(steps in proptest::collection::vec(
            (any::<u64>(), any::<u64>(), any::<u64>(), any::<bool>()), 0..40,
        )) {
            let mut occupancy = Occupancy::default();
            for (appended, tokens, output, is_whole) in steps {
                occupancy.appended(appended);
                occupancy.replied(prompt(tokens, output), appended, is_whole);
                prop_assert!(occupancy.ratio().is_finite());
                prop_assert!(occupancy.ratio() >= 0.4 - 1e-9 && occupancy.ratio() <= 4.5 + 1e-9);
                prop_assert!(tokens == 0 || occupancy.next_request() >= tokens);
            }
        }
    }
}
