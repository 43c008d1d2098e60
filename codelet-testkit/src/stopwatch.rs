//! Measures a test's time, excluding other load on the machine.

use std::time::{Duration, Instant};

/// Measures this thread's CPU time if the system reports it, so that a busy machine fails no test; otherwise wall-clock
/// time.
pub struct Stopwatch {
    began: Instant,
    worked: Option<Duration>,
}

impl Stopwatch {
    /// Starts measuring.
    pub fn begin() -> Self {
        Stopwatch {
            began: Instant::now(),
            worked: worked(),
        }
    }

    /// The elapsed time. Must be called on the thread that started the stopwatch.
    pub fn elapsed(&self) -> Duration {
        match self.worked.zip(worked()) {
            Some((then, now)) => now.saturating_sub(then),
            None => self.began.elapsed(),
        }
    }
}

/// The CPU time of this thread since it started.
fn worked() -> Option<Duration> {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let nanoseconds = told.split_whitespace().next()?.parse().ok()?;
    Some(Duration::from_nanos(nanoseconds))
}
