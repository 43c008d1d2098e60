//! Results as JSON.

use crate::run::Sums;
use crate::totals::{Checked, Played, Total};
use serde_json::{Map, Value, json};

fn sums(sums: &Sums) -> Value {
    let dollars = sums.dollars;
    json!({
        "requests": sums.steps,
        "dollars": {
            "fresh": dollars.fresh, "read": dollars.cache_read, "write": dollars.write(), "output": dollars.output,
            "refetch": sums.refetch, "total": sums.cost(),
        },
        "tokens": {
            "fresh": sums.usage.fresh, "read": sums.usage.cache_read, "write": sums.usage.cache_write,
            "output": sums.usage.output,
        },
        "hit_share": sums.hit_share(),
        "breaks": { "planned": sums.planned, "cold": sums.cold, "unplanned": sums.unplanned },
        "edits": sums.edits,
        "overflows": sums.overflows,
        "peak": sums.peak,
        "mean": sums.mean(),
        "recall": sums.recall(),
        "referred": sums.referred,
    })
}

/// Returns the totals of a policy.
pub fn total(total: &Total) -> Value {
    let mut value = sums(&total.sums);
    value["sessions"] = total.sessions.into();
    value["refused"] = total.refused.into();
    value["compared"] = total.compared.into();
    value["policy"] = total.policy.name().into();
    value["ratio"] = json!(total.ratio);
    value["interval"] = json!(total.interval.map(|(low, high)| [low, high]));
    value["p95"] = json!(total.worst);
    value
}

/// Returns the request at which a run ended early, counted from 1.
fn refused_at(sums: &Sums) -> Option<u64> {
    (sums.overflows > 0).then_some(sums.steps + 1)
}

/// Returns a session under all policies.
pub fn played(session: &Played) -> Value {
    let policies: Map<String, Value> = session
        .sums
        .iter()
        .map(|(policy, of)| {
            let mut value = sums(of);
            value["ratio"] = json!(session.ratio(*policy));
            value["refused_at"] = json!(refused_at(of));
            (policy.name().to_owned(), value)
        })
        .collect();
    let check = session.check.map(|check| {
        json!({
            "requests": check.requests, "unpriced": check.unpriced, "billed": check.billed, "blind": check.blind, "told": check.told,
            "warm_heads": check.warm_heads, "lost": check.lost,
        })
    });
    json!({
        "name": session.name,
        "file": session.file,
        "source": session.source,
        "requests": session.requests,
        "timed": session.is_timed,
        "untimed": session.untimed,
        "calibrated": session.is_calibrated,
        "unknown_models": session.unknown,
        "policies": policies,
        "check": check,
    })
}

/// Returns the check of the cache model.
pub fn checked(checked: &Checked) -> Value {
    let errors = |(median, p90): (f64, f64)| json!({ "median": median, "p90": p90 });
    json!({
        "sessions": checked.sessions,
        "without": checked.without,
        "requests": checked.requests,
        "unpriced": checked.unpriced,
        "blind": errors(checked.blind),
        "told": errors(checked.told),
        "warm_heads": checked.warm_heads,
        "lost": checked.lost,
    })
}
