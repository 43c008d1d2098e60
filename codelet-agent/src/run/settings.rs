//! How a session works.

use crate::run::retry::Patience;
use codelet_context::economics::Preset;
use codelet_context::policy::CompactAt;

/// How a session works.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Settings {
    /// What bounds each run.
    pub limits: Limits,
    /// Who writes the summary at a compaction.
    pub summary: SummaryBy,
    /// How readily history that was sent is edited to save money.
    pub economics: Preset,
    /// When the session compacts by itself.
    pub compact_at: CompactAt,
    /// The most keep-alive requests in a row that keep the cache from expiring; none are made unless the user wants them.
    pub keep_alive: u32,
    /// Text appended to the system prompt.
    pub append_system: Option<String>,
    /// Whether the model is told of skills and can read them.
    pub skills: bool,
    /// The session's name towards a provider: requests of one session go to one cache.
    pub id: String,
}

/// Who writes the summary at a compaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SummaryBy {
    /// The engine, from the facts: at once, and it cannot fail.
    #[default]
    Template,
    /// The model; where it fails, the engine.
    Model,
}

/// What bounds a run.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Limits {
    /// The most steps.
    pub max_steps: Option<u32>,
    /// The most that it may cost, in US dollars. It ends with the first request that passes this.
    pub max_cost: Option<f64>,
    /// How long to wait for a provider.
    pub patience: Patience,
}
