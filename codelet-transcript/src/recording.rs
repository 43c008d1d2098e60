//! What a recorder noted beside the conversation: when each request was made, with which model, and what it was billed.

use crate::Document;
use crate::take::{self, Fields};
use codelet_context::tokens::Tokens;
use codelet_context::usage::Usage;
use serde_json::Value;
use std::sync::Arc;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

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

/// The requests of a recording as its entries come, each of them made when the entry before its reply was written.
#[derive(Default)]
pub(crate) struct Requests {
    list: Vec<Recorded>,
    latest: Option<u64>,
}

impl Requests {
    /// Notes a reply, by its place in the conversation and when it was written.
    pub(crate) fn replied(&mut self, reply: usize, time: Option<u64>, model: Option<Arc<str>>, billed: Option<Billed>) {
        self.list.push(Recorded {
            reply,
            began: self.latest.or(time),
            model,
            billed,
            without_thinking: false,
        });
    }

    /// Notes when an entry was written, as far as it says so.
    pub(crate) fn passed(&mut self, time: Option<u64>) {
        self.latest = time.or(self.latest);
    }

    /// All of them.
    pub(crate) fn into_list(self) -> Vec<Recorded> {
        self.list
    }
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
    let parse = |text: &str| OffsetDateTime::parse(text, &Rfc3339).ok();
    // Some recorders leave the offset out.
    let moment = parse(text).or_else(|| parse(&format!("{text}Z")))?;
    u64::try_from(moment.unix_timestamp_nanos() / 1_000_000).ok()
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
            ("1969-12-31T23:59:59.999Z", None),
            ("2026-02-30T11:06:08Z", None),
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
    }
}
