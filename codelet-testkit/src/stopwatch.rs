//! Measures a test's time, excluding other load on the machine.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
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

/// Waits a moment before something is looked at again. Who looks at it all the time takes a processor from what it waits for.
pub fn wait_a_moment() {
    std::thread::sleep(Duration::from_millis(1));
}

/// A clock for waits for other threads and processes: time passes on it only while a thread that always wants to run does
/// run. It stands still when the machine does, and is slow by as much as other work delays everybody.
pub struct MachineClock {
    /// In nanoseconds.
    ran: Arc<AtomicU64>,
}

/// Two looks of the clock's thread at the time are closer together, unless it did not run in between.
const GAP: Duration = Duration::from_micros(100);

impl MachineClock {
    /// Starts measuring once the clock's thread runs, which takes a processor until the clock is dropped.
    pub fn start() -> Self {
        let clock = MachineClock { ran: Arc::default() };
        let ran = Arc::clone(&clock.ran);
        std::thread::spawn(move || {
            let mut last = Instant::now();
            // The other one is the clock's.
            while Arc::strong_count(&ran) > 1 {
                let now = Instant::now();
                let nanoseconds = (now - last).min(GAP).as_nanos();
                ran.fetch_add(u64::try_from(nanoseconds).unwrap_or(0), Ordering::Relaxed);
                last = now;
            }
        });
        while clock.elapsed().is_zero() {
            std::thread::yield_now();
        }
        clock
    }

    /// The time that has passed on this clock.
    pub fn elapsed(&self) -> Duration {
        Duration::from_nanos(self.ran.load(Ordering::Relaxed))
    }
}
