//! The strategies: small rewrites of a view, run at edit points only.

use std::collections::BTreeMap;

pub mod lingua;

/// What the strategies did to a view.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct StrategyStats {
    /// Results that became pointers to a newer copy (`tool_call_dedup` and `dedup`).
    pub dedup_hits: u64,
    /// Outputs cut to head and tail.
    pub snippet_hits: u64,
    /// Bytes saved by all, signed: a strategy that made something larger would show.
    pub total_bytes_saved: i64,
    /// By strategy, under its name.
    pub per_strategy: BTreeMap<&'static str, StrategyCount>,
}

/// What one strategy did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct StrategyCount {
    /// Places changed.
    pub hits: u64,
    /// Bytes saved, signed.
    pub bytes_saved: i64,
}
