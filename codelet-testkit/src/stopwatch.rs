//! The time that a test takes, without what else the machine does.

use std::time::{Duration, Instant};

/// Measures the time that this thread works, where the system tells, so that a busy machine fails no test; else the time that passes.
pub struct Stopwatch {
    began: Instant,
    worked: Option<Duration>,
}

impl Stopwatch {
    /// Begins now.
    pub fn begin() -> Self {
        Stopwatch {
            began: Instant::now(),
            worked: worked(),
        }
    }

    /// How long it was since then. To be asked by the thread that has begun it.
    pub fn elapsed(&self) -> Duration {
        match self.worked.zip(worked()) {
            Some((then, now)) => now.saturating_sub(then),
            None => self.began.elapsed(),
        }
    }
}

/// The processor time of this thread since it began.
fn worked() -> Option<Duration> {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let nanoseconds = told.split_whitespace().next()?.parse().ok()?;
    Some(Duration::from_nanos(nanoseconds))
}
