//! The retry delay of a busy vendor, in all the ways in which vendors report it.
//!
//! Nothing here reads a clock: a point in time is converted into a delay with the `date` of the same reply, or its time
//! of arrival.

use serde_json::Value;
use std::time::{Duration, SystemTime};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc2822;

/// The maximum delay (136 years); longer ones are reduced to it.
const LONGEST: Duration = Duration::from_secs(u32::MAX as u64);

/// The headers of a reply, with its time of arrival.
pub(crate) struct Received {
    /// The headers, unchanged.
    pub headers: rig_core::http_client::HeaderMap,
    /// The time by this machine's clock.
    pub at: SystemTime,
}

impl Received {
    /// Returns the value of a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    fn arrived(&self) -> Option<i64> {
        let since = self.at.duration_since(SystemTime::UNIX_EPOCH).ok()?;
        i64::try_from(since.as_secs()).ok()
    }
}

/// Returns the delay that a reply requests: from its headers first, then its body, then its message. An error within a
/// stream has no headers.
pub(crate) fn asked(headers: Option<&Received>, body: &Value, said: &str) -> Option<Duration> {
    let wait = headers
        .and_then(after)
        .or_else(|| retry_info(body))
        .or_else(|| in_words(said))?;
    Some(wait.min(LONGEST))
}

/// Returns the seconds by which this machine's clock is ahead of the vendor's; `None` if the vendor sends no date.
pub(crate) fn skew(headers: &Received) -> Option<i64> {
    let told = http_date(headers.header("date")?.trim())?;
    Some(headers.arrived()? - told)
}

fn seconds(number: f64) -> Option<Duration> {
    (number.is_finite() && number >= 0.0).then(|| Duration::from_secs_f64(number.min(LONGEST.as_secs_f64())))
}

fn after(headers: &Received) -> Option<Duration> {
    let milliseconds = || headers.header("retry-after-ms")?.trim().parse::<f64>().ok();
    if let Some(wait) = milliseconds().and_then(|ms| seconds(ms / 1_000.0)) {
        return Some(wait);
    }
    let text = headers.header("retry-after")?.trim();
    match text.parse::<f64>() {
        Ok(number) => seconds(number),
        Err(_) => until(http_date(text)?, headers),
    }
}

/// Returns the delay until a point in time in seconds since 1970, starting at the reply's own `date`, or else its time
/// of arrival. The vendor's clock takes precedence, since it determined that point.
fn until(moment: i64, headers: &Received) -> Option<Duration> {
    let told = headers.header("date").and_then(|text| http_date(text.trim()));
    let now = told.or_else(|| headers.arrived())?;
    seconds((moment - now).max(0) as f64)
}

/// Parses `google.rpc.RetryInfo` in an error's details: `"retryDelay": "17s"`.
fn retry_info(body: &Value) -> Option<Duration> {
    let details = body.get("details")?.as_array()?;
    details
        .iter()
        .find_map(|detail| go_duration(detail.get("retryDelay")?.as_str()?))
}

/// Parses `Please try again in 1.5s`, `retry in 26.2s`, `try again in 6m0s`.
fn in_words(said: &str) -> Option<Duration> {
    let said = said.to_ascii_lowercase();
    let at = ["try again in ", "retry in ", "retry after "]
        .iter()
        .find_map(|words| said.find(words).map(|at| at + words.len()))?;
    let rest = &said[at..];
    let word = rest.split([' ', ',']).next()?;
    if let Some(wait) = go_duration(word.trim_end_matches('.')) {
        return Some(wait);
    }
    let number: f64 = word.parse().ok()?;
    let unit = rest[word.len()..].trim_start();
    match unit {
        unit if unit.starts_with("ms") || unit.starts_with("milli") => seconds(number / 1_000.0),
        unit if unit.starts_with("min") => seconds(number * 60.0),
        unit if unit.starts_with("sec") => seconds(number),
        _ => None,
    }
}

/// Parses `1h2m3.5s`, `120ms`.
fn go_duration(text: &str) -> Option<Duration> {
    let mut total = 0.0;
    let mut rest = text.trim();
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let number: f64 = rest[..digits].parse().ok()?;
        let unit_end = rest[digits..]
            .find(|c: char| c.is_ascii_digit())
            .map_or(rest.len(), |end| digits + end);
        let factor = match &rest[digits..unit_end] {
            "h" => 3_600.0,
            "m" => 60.0,
            "s" => 1.0,
            "ms" => 1e-3,
            "us" | "µs" => 1e-6,
            "ns" => 1e-9,
            _ => return None,
        };
        total += number * factor;
        rest = &rest[unit_end..];
    }
    seconds(total)
}

/// Parses `Sun, 06 Nov 1994 08:49:37 GMT` into seconds since 1970.
fn http_date(text: &str) -> Option<i64> {
    Some(OffsetDateTime::parse(text, &Rfc2822).ok()?.unix_timestamp())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rig_reqwest::reqwest::header::{HeaderName, HeaderValue};
    use serde_json::json;

    const DATE: (&str, &str) = ("date", "Sun, 22 Nov 2026 02:32:42 GMT");

    fn received(headers: &[(&'static str, &str)]) -> Received {
        let headers = headers.iter().filter_map(|(name, value)| {
            let value = HeaderValue::from_str(value).ok()?;
            Some((HeaderName::from_static(name), value))
        });
        Received {
            headers: headers.collect(),
            at: SystemTime::UNIX_EPOCH + Duration::from_secs(1_795_314_762),
        }
    }

    fn wait(headers: &[(&'static str, &str)], body: Value, said: &str) -> Option<f64> {
        asked(Some(&received(headers)), &body, said).map(|wait| wait.as_secs_f64())
    }

    #[test]
    fn every_way_of_saying_when_is_understood() {
        let none = || json!({});
        for (headers, expected) in [
            (vec![("retry-after", "20")], 20.0),
            (vec![("retry-after", "0.5")], 0.5),
            (vec![("retry-after-ms", "1500"), ("retry-after", "9")], 1.5),
            (vec![("retry-after", "Sun, 22 Nov 2026 02:33:12 GMT"), DATE], 30.0),
            (vec![("retry-after", "Sun, 22 Nov 2026 02:30:00 GMT"), DATE], 0.0),
        ] {
            assert_eq!(wait(&headers, none(), ""), Some(expected), "{headers:?}");
        }
        let body = json!({"details": [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "17s"}]});
        assert_eq!(wait(&[], body, ""), Some(17.0));
        for (said, expected) in [
            ("Please try again in 1.5s. Visit", Some(1.5)),
            ("Please retry in 26.25s.", Some(26.25)),
            ("Try again in 2 minutes", Some(120.0)),
            ("try again in 20 ms", Some(0.02)),
            ("try again later", None),
        ] {
            assert_eq!(wait(&[], none(), said), expected, "{said}");
        }
    }

    #[test]
    fn a_moment_without_the_replys_own_date_is_counted_from_its_arrival() {
        let until = "Sun, 22 Nov 2026 02:33:12 GMT";
        let after = ("retry-after", until);
        let wait = |headers: &[(&'static str, &str)]| wait(headers, json!({}), "");
        assert_eq!(wait(&[after]), Some(30.0));
        assert_eq!(wait(&[after, ("date", "yesterday")]), Some(30.0));
        assert_eq!(wait(&[after, ("date", "Sun, 22 Nov 2026 02:33:02 GMT")]), Some(10.0));
    }

    #[test]
    fn an_endless_wait_is_cut() {
        assert_eq!(wait(&[("retry-after", "1e300")], json!({}), ""), Some(4_294_967_295.0));
        assert_eq!(wait(&[("retry-after", "99999")], json!({}), ""), Some(99_999.0));
        assert_eq!(wait(&[("retry-after", "NaN")], json!({}), ""), None);
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "\\PC{0,40}", words in "(try again in |retry in )?[0-9.hms, µé]{0,12}") {
            for name in ["retry-after", "retry-after-ms"] {
                let _ = wait(&[(name, &*text), DATE], json!({"details": [{"retryDelay": text.clone()}]}), &words);
            }
        }
    }
}
