//! Quantiles, and bootstrap intervals over sessions.

/// The number of resamples for an interval.
const DRAWS: usize = 1_000;
/// The seed: the same in every run, so that the same sessions give the same interval.
const SEED: u64 = 0x5eed_c0de_1e7a_11ed;

/// Returns the quantile at this share (0 to 1), by the nearest rank; `None` if there are no values.
pub(crate) fn quantile(values: &[f64], share: f64) -> Option<f64> {
    let mut sorted: Vec<f64> = values.iter().copied().filter(|value| !value.is_nan()).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    let rank = (share.clamp(0.0, 1.0) * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).copied()
}

/// Returns the 95 % interval of the ratio of two sums over sessions, by resampling with replacement; `None` if the
/// denominator is 0, or if there is only one session, whose resamples are all equal.
pub(crate) fn ratio_interval(pairs: &[(f64, f64)]) -> Option<(f64, f64)> {
    if pairs.len() < 2 {
        return None;
    }
    let mut random = fastrand::Rng::with_seed(SEED);
    let ratios: Vec<f64> = (0..DRAWS)
        .filter_map(|_| {
            let (mut above, mut below) = (0.0, 0.0);
            for _ in pairs {
                let (a, b) = pairs[random.usize(..pairs.len())];
                above += a;
                below += b;
            }
            (below > 0.0).then(|| above / below)
        })
        .collect();
    Some((quantile(&ratios, 0.025)?, quantile(&ratios, 0.975)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_values_that_occurred() {
        let values = [5.0, 1.0, 4.0, 2.0, 3.0];
        assert_eq!(quantile(&values, 0.5), Some(3.0));
        assert_eq!(quantile(&values, 0.9), Some(5.0));
        assert_eq!(quantile(&values, 0.0), Some(1.0));
        assert_eq!(quantile(&[], 0.5), None);
        assert_eq!(quantile(&[f64::NAN, 2.0], 1.0), Some(2.0));
    }

    #[test]
    fn an_interval_holds_the_ratio_and_is_the_same_every_time() {
        let pairs: Vec<(f64, f64)> = (0..60).map(|n| (f64::from(n % 7) + 1.0, 5.0)).collect();
        let ratio = pairs.iter().map(|pair| pair.0).sum::<f64>() / (5.0 * 60.0);
        let (low, high) = ratio_interval(&pairs).unwrap();
        assert!(low < ratio && ratio < high && high - low < 0.5, "{low} {ratio} {high}");
        assert_eq!(ratio_interval(&pairs), Some((low, high)));
        assert_eq!(ratio_interval(&[(2.0, 4.0)]), None);
        assert_eq!(ratio_interval(&[]), None);
        assert_eq!(ratio_interval(&[(1.0, 0.0), (2.0, 0.0)]), None);
    }
}
