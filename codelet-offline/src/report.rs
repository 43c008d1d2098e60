//! Results as JSON for programs.

use codelet_context::compact::{Compaction, Size};
use codelet_context::inspect::{Inspection, Item, Kind, Share, Superseding};
use codelet_context::strategy::PIPELINE;
use codelet_transcript::Format;
use serde_json::{Map, Value, json};
use std::time::Duration;

/// Returns the report of a compaction. `ratio` is the share of the tokens that was saved.
pub(crate) fn compaction(format: Format, done: &Compaction, warnings: &[String], elapsed: Option<Duration>) -> Value {
    let pair = |of: fn(&Size) -> u64| json!({"before": of(&done.before), "after": of(&done.after)});
    let anchor = done.anchor.as_ref().map(|anchor| {
        json!({
            "kind": anchor.kind.name(),
            "turn": anchor.turn,
            "confidence": anchor.kind.confidence(),
            "description": anchor.description,
        })
    });
    // Each is listed, even if it found nothing.
    let strategies: Map<String, Value> = PIPELINE
        .iter()
        .map(|strategy| {
            let count = done.strategies.per_strategy.get(strategy.name).copied();
            let count = count.unwrap_or_default();
            (
                strategy.name.to_owned(),
                json!({"hits": count.hits, "bytes_saved": count.bytes_saved}),
            )
        })
        .collect();
    let removed = done.view.archive.iter().map(|(handle, removed)| {
        json!({"handle": handle.as_str(), "tool": removed.tool.as_ref(), "bytes": removed.body.len()})
    });
    json!({
        "format": format.name(),
        "messages": pair(|size| size.messages as u64),
        "tokens": pair(|size| size.tokens),
        "bytes": pair(|size| size.bytes),
        "ratio": rounded(saved(done), 4),
        "turns": {"total": done.turns.total, "kept": done.turns.kept, "summarised": done.turns.summarised},
        "anchor": anchor,
        "strategies": strategies,
        "removed": removed.collect::<Vec<_>>(),
        "warnings": warnings,
        "elapsed_ms": elapsed.map(|elapsed| rounded(elapsed.as_secs_f64() * 1000.0, 3)),
    })
}

/// Returns the share of the tokens that a compaction saved; negative if it made things worse.
fn saved(done: &Compaction) -> f64 {
    if done.before.tokens == 0 {
        return 0.0;
    }
    1.0 - done.after.tokens as f64 / done.before.tokens as f64
}

fn rounded(value: f64, digits: i32) -> f64 {
    let scale = 10f64.powi(digits);
    (value * scale).round() / scale
}

/// Returns the report of an inspection. `beside` is what the request holds besides its messages, in tokens.
pub(crate) fn inspection(format: Format, found: &Inspection, beside: u64, warnings: &[String]) -> Value {
    let kinds: Map<String, Value> = Kind::ALL
        .iter()
        .map(|kind| {
            (
                kind.name().to_owned(),
                share(found.kinds.get(kind).copied().unwrap_or_default()),
            )
        })
        .collect();
    let tools = found.tools.iter().map(|tool| {
        json!({
            "tool": tool.tool.as_ref(),
            "calls": tool.calls.parts,
            "results": tool.results.parts,
            "failed": tool.failed,
            "tokens": tool.tokens(),
            "call_tokens": tool.calls.tokens,
            "result_tokens": tool.results.tokens,
        })
    });
    let repeats = found.repeats.iter().map(|repeat| {
        let newest = item(&repeat.newest);
        json!({"copies": repeat.messages.len(), "messages": repeat.messages, "wasted": repeat.wasted, "newest": newest})
    });
    let superseded = found.superseded.iter().map(|read| {
        let how = match read.how {
            Superseding::ReadAgain => "read again",
            Superseding::Changed => "changed",
        };
        json!({"path": read.path.as_ref(), "how": how, "by": read.by, "read": item(&read.item)})
    });
    let turns = found.turns.iter().map(|turn| {
        let anchors = turn.anchors.iter().map(|anchor| {
            json!({
                "kind": anchor.kind.name(),
                "from": anchor.range.start,
                "to": anchor.range.end,
                "confidence": anchor.kind.confidence(),
                "weight": anchor.kind.weight(),
                "description": anchor.description,
            })
        });
        json!({
            "from": turn.range.start,
            "to": turn.range.end,
            "steps": turn.steps,
            "tokens": turn.tokens,
            "failed": turn.failed,
            "prompt": turn.prompt,
            "anchors": anchors.collect::<Vec<_>>(),
        })
    });
    json!({
        "format": format.name(),
        "messages": found.messages,
        "tokens": found.tokens,
        "tool_definitions": beside,
        "kinds": kinds,
        "tools": tools.collect::<Vec<_>>(),
        "largest": found.largest.iter().map(item).collect::<Vec<_>>(),
        "repeats": {"tokens": found.repeated(), "texts": repeats.collect::<Vec<_>>()},
        "superseded": {"tokens": found.out_of_date(), "reads": superseded.collect::<Vec<_>>()},
        "turns": turns.collect::<Vec<_>>(),
        "warnings": warnings,
    })
}

fn share(share: Share) -> Value {
    json!({"parts": share.parts, "tokens": share.tokens})
}

fn item(item: &Item) -> Value {
    json!({
        "message": item.message,
        "part": item.part,
        "kind": item.kind.name(),
        "tool": item.tool.as_deref(),
        "label": item.label,
        "tokens": item.tokens,
        "turn": item.place.map(|place| place.turn),
        "step": item.place.and_then(|place| place.step),
    })
}
