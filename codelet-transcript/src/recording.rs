//! What a recorder noted beside the conversation: when each request was made, with which model, and what it was billed.

use crate::Document;
use crate::take::{self, Fields};
use codelet_context::tokens::Tokens;
use codelet_context::usage::Usage;
use serde_json::Value;
use std::sync::Arc;

/// A conversation with what was recorded of its requests.
#[derive(Clone, Debug)]
pub struct Recording {
    /// The conversation.
    pub document: Document,
    /// The requests in the order of their replies; empty where the form records none.
    pub requests: Vec<Recorded>,
}

/// One request, as far as it was recorded.
#[derive(Clone, PartialEq, Debug)]
pub struct Recorded {
    /// The message that was the reply, in the document. The request held those before it.
    pub reply: usize,
    /// When the request was made, in milliseconds since 1970-01-01 UTC: the time of the newest entry before its reply.
    pub began: Option<u64>,
    /// The model, as the vendor names it.
    pub model: Option<Arc<str>>,
    /// What was billed.
    pub billed: Option<Billed>,
    /// The recording tells that the model was asked not to think.
    pub without_thinking: bool,
}

/// What one request was billed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Billed {
    /// The four counts. That of the output may be the first report of a stream, which is too small.
    pub usage: Usage,
    /// The part of `usage.cache_write` that was written to be kept for an hour.
    pub hour: Tokens,
}

impl Billed {
    /// From usage in Anthropic's words, which leaves the cached tokens out of `input_tokens`. `None` where the prompt
    /// is not counted.
    pub(crate) fn anthropic(usage: &Fields) -> Option<Self> {
        let count = |name: &str| usage.get(name).and_then(Value::as_u64);
        let uncached = count("input_tokens")?;
        let write = count("cache_creation_input_tokens").unwrap_or(0);
        let read = count("cache_read_input_tokens").unwrap_or(0);
        let hour = usage
            .get("cache_creation")
            .and_then(|creation| creation.get("ephemeral_1h_input_tokens"))
            .and_then(Value::as_u64);
        Some(Billed {
            usage: Usage::from_exclusive(uncached, write, read, count("output_tokens").unwrap_or(0)),
            hour: hour.unwrap_or(0).min(write),
        })
        .filter(|billed| billed.usage.prompt() > 0)
    }
}

/// The time of an entry, in milliseconds since 1970-01-01 UTC.
pub(crate) fn time(fields: &Fields) -> Option<u64> {
    instant(take::str(fields, "timestamp"))
}

/// Reads `2026-02-11T11:06:08.123Z` and the like with an offset (`+01:00`), as milliseconds since 1970-01-01 UTC.
/// Times before that, and what is no such time, are none.
pub(crate) fn instant(text: &str) -> Option<u64> {
    let digits = |range: std::ops::Range<usize>| -> Option<i64> {
        let part = text.get(range)?;
        part.bytes().all(|b| b.is_ascii_digit()).then(|| part.parse().ok())?
    };
    let separator = |at: usize, wanted: &[u8]| text.as_bytes().get(at).is_some_and(|b| wanted.contains(b));
    if !(separator(4, b"-") && separator(7, b"-") && separator(10, b"T ") && separator(13, b":") && separator(16, b":"))
    {
        return None;
    }
    let (year, month, day) = (digits(0..4)?, digits(5..7)?, digits(8..10)?);
    let (hour, minute, second) = (digits(11..13)?, digits(14..16)?, digits(17..19)?);
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) || hour > 24 || minute > 59 || second > 60 {
        return None;
    }
    let mut rest = text.get(19..)?;
    let mut millis = 0;
    if let Some(fraction) = rest.strip_prefix('.') {
        let length = fraction.bytes().take_while(u8::is_ascii_digit).count();
        let three: String = fraction[..length].chars().chain("000".chars()).take(3).collect();
        millis = three.parse().ok()?;
        rest = &fraction[length..];
    }
    let offset = match rest.as_bytes() {
        [] | [b'Z' | b'z'] => 0,
        [sign @ (b'+' | b'-'), h1, h2, b':', m1, m2] if [h1, h2, m1, m2].iter().all(|b| b.is_ascii_digit()) => {
            let value = |b: &u8| i64::from(b - b'0');
            let minutes = (value(h1) * 10 + value(h2)) * 60 + value(m1) * 10 + value(m2);
            if *sign == b'-' { -minutes } else { minutes }
        }
        _ => return None,
    };
    let seconds = ((days(year, month, day) * 24 + hour) * 60 + minute - offset) * 60 + second;
    u64::try_from(seconds * 1_000 + millis).ok()
}

/// Days from 1970-01-01 to a day of the Gregorian calendar, in which years begin in March, so that leap days come last.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn times_are_read_in_every_zone() {
        let table = [
            ("1970-01-01T00:00:00Z", Some(0)),
            ("2026-02-11T11:06:08.123Z", Some(1_770_807_968_123)),
            ("2026-02-11T12:06:08.123456+01:00", Some(1_770_807_968_123)),
            ("2026-02-11 05:36:08.1-05:30", Some(1_770_807_968_100)),
            ("2000-02-29T23:59:59", Some(951_868_799_000)),
            ("1969-12-31T23:59:59Z", None),
            ("2026-13-11T11:06:08Z", None),
            ("yesterday", None),
            ("", None),
        ];
        for (text, expected) in table {
            assert_eq!(instant(text), expected, "{text}");
        }
    }

    #[test]
    fn billed_counts_leave_nothing_out_and_count_nothing_twice() {
        let Value::Object(usage) = json!({
            "input_tokens": 3, "cache_creation_input_tokens": 500, "cache_read_input_tokens": 40_000, "output_tokens": 7,
            "cache_creation": {"ephemeral_5m_input_tokens": 100, "ephemeral_1h_input_tokens": 400}
        }) else {
            unreachable!()
        };
        let billed = Billed::anthropic(&usage).unwrap();
        assert_eq!(
            (billed.usage.prompt(), billed.usage.output, billed.hour),
            (40_503, 7, 400)
        );
        assert_eq!(Billed::anthropic(&Fields::new()), None);
    }

    proptest! {
        #[test]
        fn no_text_makes_the_clock_fall_over(text in "[0-9TZ:+. é-]{0,32}") {
            let _ = instant(&text);
        }

        #[test]
        fn later_days_have_later_times(day in 0_i64..40_000) {
            // From day to date by counting, as a check that is not the formula turned round.
            let (mut year, mut rest) = (1970, day);
            let leap = |year: i64| year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
            while rest >= 365 + i64::from(leap(year)) {
                rest -= 365 + i64::from(leap(year));
                year += 1;
            }
            let lengths = [31, 28 + i64::from(leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
            let mut month = 0;
            while rest >= lengths[month] {
                rest -= lengths[month];
                month += 1;
            }
            prop_assert_eq!(days(year, month as i64 + 1, rest + 1), day);
        }
    }
}
