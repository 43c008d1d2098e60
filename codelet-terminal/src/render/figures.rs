//! Human-readable numbers: tokens, bytes, money, time and shares.

pub use codelet_text::short::{counted as count, grouped as number};
use std::time::Duration;

/// A short form for narrow places: `950`, `41.9k`, `182k`, `1.2M`.
pub fn short(value: u64) -> String {
    let scaled = |unit: f64, name: &str| {
        let value = value as f64 / unit;
        // 99.95 would be shown as 100.0.
        if value < 99.95 {
            format!("{value:.1}{name}")
        } else {
            format!("{value:.0}{name}")
        }
    };
    match value {
        0..1_000 => value.to_string(),
        1_000..999_500 => scaled(1e3, "k"),
        999_500..999_500_000 => scaled(1e6, "M"),
        _ => scaled(1e9, "G"),
    }
}

/// Formats `4615810` as `4.6 MB`.
pub fn bytes(value: u64) -> String {
    const UNITS: [&str; 5] = ["kB", "MB", "GB", "TB", "PB"];
    if value < 1000 {
        return format!("{value} B");
    }
    let mut scaled = value as f64 / 1000.0;
    let mut unit = 0;
    // 999.95 would be shown as 1000.0.
    while scaled >= 999.95 && unit + 1 < UNITS.len() {
        scaled /= 1000.0;
        unit += 1;
    }
    format!("{scaled:.1} {}", UNITS[unit])
}

/// A duration: `4 ms`, `1.2 s`, `3 min 20 s`, `2 h 5 min`.
pub fn took(elapsed: Duration) -> String {
    let millis = elapsed.as_millis();
    match millis {
        0 => "<1 ms".to_owned(),
        1..1_000 => format!("{millis} ms"),
        1_000..9_950 => format!("{:.1} s", elapsed.as_secs_f64()),
        _ => clock(elapsed),
    }
}

/// A running time, to the second: `0 s`, `59 s`, `3 min 20 s`, `2 h 5 min`.
pub fn clock(elapsed: Duration) -> String {
    let seconds = elapsed.as_secs();
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", number(seconds / 3_600), seconds % 3_600 / 60),
    }
}

/// Dollars, to the cent, and finer for small amounts: `$12.30`, `$0.042`, `<$0.001`.
pub fn dollars(value: f64) -> String {
    match value {
        v if !v.is_finite() || v < 0.0 => "$?".to_owned(),
        0.0 => "$0".to_owned(),
        v if v < 0.000_5 => "<$0.001".to_owned(),
        v if v < 0.1 => format!("${v:.3}"),
        v => format!("${v:.2}"),
    }
}

/// `part` of `whole` in per cent, rounded; a nonzero part is never shown as nothing, nor an incomplete one as all.
pub fn percent(part: u64, whole: u64) -> String {
    if whole == 0 {
        return "0 %".to_owned();
    }
    let exact = part as f64 * 100.0 / whole as f64;
    if part > 0 && exact < 0.5 {
        "<1 %".to_owned()
    } else if part < whole && exact >= 99.5 {
        "99 %".to_owned()
    } else {
        format!("{exact:.0} %")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_short_and_never_lie_by_rounding() {
        assert_eq!(count(1, "line"), "1 line");
        assert_eq!(count(2_000, "match"), "2,000 matches");
        assert_eq!(
            [
                950, 1_000, 41_900, 99_949, 99_950, 182_300, 999_499, 999_500, 1_000_000_000
            ]
            .map(short),
            ["950", "1.0k", "41.9k", "99.9k", "100k", "182k", "999k", "1.0M", "1.0G"]
        );
        assert_eq!([999, 4_615_810, 999_999].map(bytes), ["999 B", "4.6 MB", "1.0 MB"]);
        assert_eq!(
            [0, 4, 999, 1_234, 9_949, 59_999, 200_000, 7_500_000].map(|ms| took(Duration::from_millis(ms))),
            [
                "<1 ms", "4 ms", "999 ms", "1.2 s", "9.9 s", "59 s", "3 min 20 s", "2 h 5 min"
            ]
        );
        assert_eq!(
            [0.0, 0.000_1, 0.042, 0.1, 12.3, f64::NAN].map(dollars),
            ["$0", "<$0.001", "$0.042", "$0.10", "$12.30", "$?"]
        );
        assert_eq!(
            [(1, 1_000), (2, 3), (999, 1_000), (1, 0)].map(|(a, b)| percent(a, b)),
            ["<1 %", "67 %", "99 %", "0 %"]
        );
    }
}
