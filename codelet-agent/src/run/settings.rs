//! The settings of a session.

use crate::run::retry::Patience;
use codelet_context::economics::Preset;
use codelet_context::policy::CompactAt;

/// The settings of a session.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Settings {
    /// The limits of the session and of each run.
    pub limits: Limits,
    /// The author of the summary in a compaction.
    pub summary: SummaryBy,
    /// The readiness to edit history that was already sent, to save money.
    pub policy: Preset,
    /// The threshold for automatic compaction.
    pub compact_at: CompactAt,
    /// The maximum number of consecutive keep-alive requests that keep the cache from expiring; zero disables them.
    pub keep_alive: u32,
    /// Text appended to the system prompt.
    pub append_system: Option<String>,
    /// True if the model is told about skills and can read them.
    pub skills: bool,
    /// The session's id, as sent to a provider: requests of one session go to one cache.
    pub id: String,
}

/// The author of the summary in a compaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SummaryBy {
    /// The engine, from the facts: immediate, and it cannot fail.
    #[default]
    Template,
    /// The model, with the engine as fallback.
    Model,
}

/// The limits of a session and its runs.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Limits {
    /// The maximum number of steps of a run.
    pub max_steps: Option<u32>,
    /// The maximum cost of the session, in US dollars. The run whose request reaches it ends, and later ones make none.
    pub max_cost: Option<f64>,
    /// The limits on waiting for a provider.
    pub patience: Patience,
}
