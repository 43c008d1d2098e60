//! Formats figures for people.

pub(crate) use crate::run::share;
use codelet_context::tokens::Tokens;
pub use codelet_text::short::grouped as number;

/// Formats a count: `1 edit`, `1,200 edits`.
pub fn count(value: u64, one: &str, many: &str) -> String {
    format!("{} {}", number(value), if value == 1 { one } else { many })
}

/// Formats the effect of an edit: `41,900 tokens removed`, or `41,900 tokens put back`.
pub fn changed(before: Tokens, after: Tokens) -> String {
    match after.checked_sub(before).filter(|&more| more > 0) {
        Some(more) => format!("{} tokens put back", number(more)),
        None => format!("{} tokens removed", number(before.saturating_sub(after))),
    }
}

/// Formats `182300` as `182k`, for charts.
pub fn short(tokens: Tokens) -> String {
    match tokens {
        0..1_000 => tokens.to_string(),
        1_000..1_000_000 if tokens.is_multiple_of(1_000) || tokens >= 10_000 => format!("{:.0}k", tokens as f64 / 1e3),
        1_000..1_000_000 => format!("{:.1}k", tokens as f64 / 1e3),
        _ if tokens.is_multiple_of(1_000_000) || tokens >= 100_000_000 => format!("{:.0}M", tokens as f64 / 1e6),
        _ => format!("{:.1}M", tokens as f64 / 1e6),
    }
}

/// Formats dollars with as many digits as are meaningful: `$1,234`, `$12.34`, `$0.123`, `$0.0012`.
pub fn dollars(value: f64) -> String {
    let sign = if value < 0.0 { "−" } else { "" };
    let size = value.abs();
    let figure = match size {
        _ if !size.is_finite() => return "–".to_owned(),
        0.0 => "0".to_owned(),
        _ if size >= 1_000.0 => number(size.round() as u64),
        _ if size >= 0.9995 => format!("{size:.2}"),
        _ if size >= 0.01 => format!("{size:.3}"),
        _ if size >= 0.000_05 => format!("{size:.4}"),
        _ => return format!("{sign}<$0.0001"),
    };
    format!("{sign}${figure}")
}

/// Formats `0.1234` as `12.3 %`; a nonzero share is never shown as zero, nor a share below 100 % as 100 %.
pub fn percent(share: f64) -> String {
    let exact = share * 100.0;
    match exact {
        _ if !exact.is_finite() => "–".to_owned(),
        _ if exact > 0.0 && exact < 0.05 => "<0.1 %".to_owned(),
        _ if (99.95..100.0).contains(&exact) => ">99.9 %".to_owned(),
        _ => format!("{exact:.1} %").replace('-', "−"),
    }
}

/// Formats milliseconds as `3 h 12 min`.
pub fn span(milliseconds: u64) -> String {
    let seconds = milliseconds / 1_000;
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3_600 % 24, seconds / 60 % 60);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, _) => format!("{minutes} min"),
        (0, _, _) => format!("{hours} h {minutes} min"),
        (_, _, _) => format!("{} {hours} h", count(days, "day", "days")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_the_digits_that_say_something() {
        let told = [
            1_234.5,
            12.345,
            0.12345,
            0.001_234,
            0.000_001,
            0.0,
            -2.5,
            f64::NAN,
            0.9999,
        ]
        .map(dollars);
        assert_eq!(
            told,
            [
                "$1,235", "$12.35", "$0.123", "$0.0012", "<$0.0001", "$0", "−$2.50", "–", "$1.00"
            ]
        );
        let told = [0, 999, 1_000, 1_500, 182_300, 1_000_000, 1_250_000].map(short);
        assert_eq!(told, ["0", "999", "1k", "1.5k", "182k", "1M", "1.2M"]);
        let told = [0.0, 0.0001, 0.1234, 0.999_99, 1.0, -0.05].map(percent);
        assert_eq!(told, ["0.0 %", "<0.1 %", "12.3 %", ">99.9 %", "100.0 %", "−5.0 %"]);
        let told = [5_000, 65_000, 3_700_000, 90_000_000].map(span);
        assert_eq!(told, ["5 s", "1 min", "1 h 1 min", "1 day 1 h"]);
    }
}
