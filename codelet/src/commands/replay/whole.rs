//! The JSON output of a replay, serialized incrementally.

use super::ReplayResult;
use codelet_replay::json;
use codelet_replay::policy::Settings;
use codelet_replay::totals::{Played, by_source, checked, totals};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};
use std::io::{self, Write};

/// Everything, in output order.
#[derive(Serialize)]
struct Whole<'a> {
    settings: Value,
    sessions: PlayedSessions<'a>,
    totals: Value,
    sources: Value,
    check: Option<Value>,
    skipped: &'a [String],
    passed_over: Value,
    repeated: Value,
}

/// Serialized one at a time: as JSON values, the figures of thousands of sessions take more memory than everything
/// else.
struct PlayedSessions<'a>(&'a [Played]);

impl Serialize for PlayedSessions<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(self.0.iter().map(json::played))
    }
}

/// Writes the JSON and a newline.
pub(super) fn write(out: &mut dyn Write, outcome: &ReplayResult) -> io::Result<()> {
    let list = |all: &[codelet_replay::totals::Total]| all.iter().map(json::total).collect::<Vec<_>>();
    let sources: Map<String, Value> = by_source(&outcome.played)
        .into_iter()
        .map(|(name, (sessions, totals))| {
            (
                name.to_owned(),
                json!({ "sessions": sessions, "totals": list(&totals) }),
            )
        })
        .collect();
    let repeated = outcome.repeated.iter();
    let repeated: Vec<Value> = repeated
        .map(|[file, kept]| json!({ "file": file, "of": kept }))
        .collect();
    let whole = Whole {
        settings: settings(&outcome.settings),
        sessions: PlayedSessions(&outcome.played),
        totals: list(&totals(&outcome.played)).into(),
        sources: sources.into(),
        check: checked(&outcome.played).as_ref().map(json::checked),
        skipped: &outcome.skipped,
        passed_over: json!({
            "other_files": outcome.passed.others, "links_to_folders": outcome.passed.links,
            "links_to_played_files": outcome.passed.again, "too_deep": outcome.passed.deep,
        }),
        repeated: repeated.into(),
    };
    serde_json::to_writer_pretty(&mut *out, &whole)?;
    out.write_all(b"\n")
}

fn settings(settings: &Settings) -> Value {
    let Settings {
        window,
        reserved,
        card,
        refetch,
        own: _,
    } = settings;
    let rates = card.rates;
    json!({
        "window": window,
        "reserved": reserved,
        "refetch": refetch,
        "card": {
            "name": &*card.name,
            "input": rates.input, "output": rates.output, "cache_read": rates.cache_read,
            "cache_write": card.write(), "lives_seconds": card.expires_after().as_secs(), "marks": card.marks,
            "minimum": card.minimum, "as_of": &*card.as_of, "source": &*card.source,
        },
    })
}
