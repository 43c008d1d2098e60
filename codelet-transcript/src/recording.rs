//! Information about each request recorded with the conversation: its time, model and usage.

use crate::Document;
use crate::take::{self, Fields};
use codelet_context::tokens::Tokens;
use codelet_context::usage::Usage;
use serde_json::Value;
use std::sync::Arc;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// A conversation with the recorded information about its requests.
#[derive(Clone, Debug)]
pub struct Recording {
    /// The conversation.
    pub document: Document,
    /// The requests in the order of their replies; empty if the format records none.
    pub requests: Vec<Recorded>,
}

/// The recorded information about one request.
#[derive(Clone, PartialEq, Debug)]
pub struct Recorded {
    /// The index of the reply in the document. The request held the messages before it.
    pub reply: usize,
    /// The time of the request, in milliseconds since 1970-01-01 UTC: the time of the newest entry before its reply.
    pub began: Option<u64>,
    /// The model, as the provider names it.
    pub model: Option<Arc<str>>,
    /// The billed usage.
    pub billed: Option<Billed>,
}

/// Collects the requests of a recording, entry by entry; a request's time is that of the entry before its reply.
#[derive(Default)]
pub(crate) struct Requests {
    list: Vec<Recorded>,
    latest: Option<u64>,
}

impl Requests {
    /// Records a reply, by its index in the conversation and its time.
    pub(crate) fn replied(&mut self, reply: usize, time: Option<u64>, model: Option<Arc<str>>, billed: Option<Billed>) {
        self.list.push(Recorded {
            reply,
            began: self.latest.or(time),
            model,
            billed,
        });
    }

    /// Records the time of an entry, if it has one.
    pub(crate) fn passed(&mut self, time: Option<u64>) {
        self.latest = time.or(self.latest);
    }

    pub(crate) fn newest(&mut self) -> Option<&mut Recorded> {
        self.list.last_mut()
    }

    pub(crate) fn into_list(self) -> Vec<Recorded> {
        self.list
    }
}

impl From<Vec<Recorded>> for Requests {
    fn from(list: Vec<Recorded>) -> Self {
        Requests { list, latest: None }
    }
}

/// The billed usage of one request.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Billed {
    /// The four counts. The output count may be from the start of a stream, which is too small.
    pub usage: Usage,
    /// The part of `usage.cache_write` that was cached for an hour.
    pub hour: Tokens,
}

impl Billed {
    /// Returns usage whose prompt count excludes cached tokens; `None` without a prompt.
    pub(crate) fn exclusive(fresh: u64, write: u64, read: u64, output: u64) -> Option<Self> {
        let usage = Usage::from_exclusive(fresh, write, read, output);
        (usage.prompt() > 0).then_some(Billed { usage, hour: 0 })
    }

    /// Returns usage whose prompt count includes the tokens read from a cache; `None` without a prompt.
    pub(crate) fn inclusive(prompt: u64, read: u64, output: u64) -> Option<Self> {
        Billed::exclusive(prompt - read.min(prompt), 0, read.min(prompt), output)
    }

    /// Reads usage in Anthropic's format, in which `input_tokens` excludes cached tokens. `None` without a prompt
    /// count.
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

/// Returns the time of an entry, in milliseconds since 1970-01-01 UTC.
pub(crate) fn time(fields: &Fields) -> Option<u64> {
    instant(take::str(fields, "timestamp"))
}

/// Parses `2026-02-11T11:06:08.123Z`, also with an offset (`+01:00`), to milliseconds since 1970-01-01 UTC. `None` for
/// earlier times and other texts.
pub(crate) fn instant(text: &str) -> Option<u64> {
    let parse = |text: &str| OffsetDateTime::parse(text, &Rfc3339).ok();
    // Some recorders omit the offset.
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
