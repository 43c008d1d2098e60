//! Signal handling that respects signals ignored by the parent process.

use std::future;
use std::io;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// The signals that ask a process to end.
pub struct EndSignals([(SignalKind, Heeded); 4]);

impl EndSignals {
    /// Starts to listen, within an async runtime.
    ///
    /// # Errors
    /// If no handler can be installed.
    pub fn listen() -> io::Result<Self> {
        let one = |kind| Heeded::of(kind).map(|heeded| (kind, heeded));
        Ok(EndSignals([
            one(SignalKind::hangup())?,
            one(SignalKind::terminate())?,
            one(SignalKind::quit())?,
            one(SignalKind::interrupt())?,
        ]))
    }

    /// Waits for the next one. Cancellation safe.
    pub async fn next(&mut self) -> SignalKind {
        let [hang_up, terminate, quit, interrupt] = &mut self.0;
        tokio::select! {
            biased;
            () = hang_up.1.recv() => hang_up.0,
            () = terminate.1.recv() => terminate.0,
            () = quit.1.recv() => quit.0,
            () = interrupt.1.recv() => interrupt.0,
        }
    }
}

/// Returns the exit status that a shell reports for a process ended by this signal.
pub fn status(kind: SignalKind) -> u8 {
    u8::try_from(128 + kind.as_raw_value()).unwrap_or(u8::MAX)
}

/// A signal handler, unless the signal was ignored when the process started: that is how `nohup` and background jobs of
/// scripts shield a program, and a handler would undo it.
struct Heeded(Option<Signal>);

impl Heeded {
    fn of(kind: SignalKind) -> io::Result<Self> {
        if is_ignored(kind) {
            return Ok(Heeded(None));
        }
        signal(kind).map(|signal| Heeded(Some(signal)))
    }

    /// Waits for the next signal; forever if it is ignored.
    async fn recv(&mut self) {
        let next = match &mut self.0 {
            Some(signal) => signal.recv().await,
            None => None,
        };
        if next.is_none() {
            future::pending::<()>().await;
        }
    }
}

/// Returns whether this process ignores a signal. On systems without `/proc/self/status` it counts as not ignored.
pub fn is_ignored(kind: SignalKind) -> bool {
    let status = std::fs::read_to_string("/proc/self/status");
    status.is_ok_and(|status| is_among_ignored(&status, kind.as_raw_value()))
}

fn is_among_ignored(status: &str, signal: i32) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    // Bit 0 is signal 1.
    mask.is_some_and(|mask| (1..=64).contains(&signal) && (mask >> (signal - 1)) & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_says_what_is_ignored() {
        let status = "Name:\tx\nSigBlk:\tffffffffffffffff\nSigIgn:\t0000000000001001\nSigCgt:\tffffffffffffffff\n";
        for (signal, expected) in [(1, true), (2, false), (13, true), (64, false), (0, false), (65, false)] {
            assert_eq!(is_among_ignored(status, signal), expected, "{signal}");
        }
        assert!(!is_among_ignored("SigIgn:\tnone\n", 1) && !is_among_ignored("", 1));
        assert!(!is_ignored(SignalKind::user_defined1()));
    }
}
