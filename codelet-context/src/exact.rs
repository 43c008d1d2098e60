//! Powers and logarithms made of multiplications and square roots alone.
//!
//! IEEE 754 defines those to the last bit. What a platform's library gives for a general power may differ in the last
//! place from machine to machine, and a last place is enough to choose another line.

/// How fine an exponent of [`power`] is.
pub(crate) const PARTS: u32 = 64;

/// `base` to the power of so many 64ths, for a base that is not negative.
pub(crate) fn power(base: f32, sixty_fourths: u32) -> f32 {
    let mut result = 1.0;
    for _ in 0..sixty_fourths / PARTS {
        result *= base;
    }
    let mut root = base;
    let mut bit = PARTS / 2;
    while bit > 0 {
        root = root.sqrt();
        if sixty_fourths & bit != 0 {
            result *= root;
        }
        bit /= 2;
    }
    result
}

/// The logarithm to base two of a number from one on, to about one part in 65,536. Zero for what is less.
pub(crate) fn log2(number: f32) -> f32 {
    let mut rest = number;
    let mut result = 0.0;
    while rest >= 2.0 && rest.is_finite() {
        rest /= 2.0;
        result += 1.0;
    }
    let mut bit = 0.5;
    for _ in 0..16 {
        rest *= rest;
        if rest >= 2.0 {
            rest /= 2.0;
            result += bit;
        }
        bit /= 2.0;
    }
    result
}

/// One half to the power of a number that is not negative, to about one part in 2³⁰.
pub(crate) fn halved(times: f64) -> f64 {
    let mut result = 1.0;
    let mut rest = times.min(2_000.0);
    while rest >= 1.0 {
        result /= 2.0;
        rest -= 1.0;
    }
    let mut root = 0.5_f64;
    for _ in 0..30 {
        root = root.sqrt();
        rest *= 2.0;
        if rest >= 1.0 {
            result *= root;
            rest -= 1.0;
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn they_are_what_the_platform_says_but_for_the_last_places(base in 1.0..1e6_f32, parts in 0..200_u32, times in 0.0..60.0_f64) {
            let near = |one: f64, other: f64, most: f64| (one - other).abs() <= most * other.abs().max(1e-9);
            let exponent = parts as f32 / PARTS as f32;
            prop_assert!(near(power(base, parts).into(), base.powf(exponent).into(), 1e-4));
            prop_assert!((log2(base) - base.log2()).abs() < 1e-4);
            prop_assert!(near(halved(times), 0.5_f64.powf(times), 1e-8));
        }
    }

    #[test]
    fn what_is_even_is_even() {
        assert_eq!(power(81.0, PARTS / 4), 3.0);
        assert_eq!(power(7.0, 0), 1.0);
        assert_eq!(power(3.0, 2 * PARTS), 9.0);
        assert_eq!((log2(8.0), log2(0.5), log2(1.0)), (3.0, 0.0, 0.0));
        assert_eq!((halved(0.0), halved(3.0)), (1.0, 0.125));
    }
}
