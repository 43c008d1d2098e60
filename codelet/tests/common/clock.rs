//! Interruptions, with a clock: within a tenth of a second, whatever runs.

use super::pty::{Kind, Session};
use codelet_testkit::MachineClock;
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// What an interruption may take, from the key to the words that tell of it, where the machine has time for it.
const SOON: Duration = Duration::from_millis(100);
/// What it takes on a machine that has no time for it just now.
pub const EVER: Duration = Duration::from_secs(5);
/// Each phase is interrupted so often, and the one in the middle of those is judged: other work on the machine delays
/// some, not half of them.
const TIMES: usize = 7;
/// A machine that was busy with something else may be asked again.
const SERIES: usize = 3;
/// The machine's own slowness counts so often: an interruption waits for several processes.
const PROCESSES: u32 = 4;
/// So many rounds there may be.
pub const ROUNDS: usize = TIMES * SERIES;

/// Nothing else is measured, nor run by the same tests, while this is held.
pub fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Interrupts what `begun` has begun, in each round, and judges how long it takes until the session says so in the words
/// `told`. Leaves the session.
pub fn interrupt(what: &str, told: &str, session: &mut dyn Session, mut begun: impl FnMut(&mut dyn Session, usize)) {
    let mut seen = Vec::new();
    for series in 0..SERIES {
        let (mut took, mut slow) = (Vec::new(), Vec::new());
        for round in series * TIMES..(series + 1) * TIMES {
            begun(session, round);
            let clock = MachineClock::start();
            session.interrupt();
            session.wait_for(told, round + 1);
            took.push(clock.elapsed());
            drop(clock);
            session.rest();
            // Words that one interruption tells twice would end the next one's wait before it has begun.
            let told_so_far = session.text().matches(told).count();
            assert_eq!(told_so_far, round + 1, "{told:?} is not told once each time");
            slow.push(idle(session, round));
        }
        took.sort_unstable();
        slow.sort_unstable();
        let (took_longest, took, slow) = (took[TIMES - 1], took[TIMES / 2], slow[TIMES / 2]);
        eprintln!(
            "interrupted {what} ({:?}): {took:?}, at worst {took_longest:?}; idle: {slow:?}",
            session.kind()
        );
        assert!(took_longest < EVER, "{what}: {took_longest:?}");
        seen.push((took, slow));
        if took <= SOON + PROCESSES * slow {
            session.say("exit");
            // A pipe tells how its last turn ended.
            let expected = if session.kind() == Kind::Piped { 130 } else { 0 };
            let status = session.end();
            assert!(status == 0 || status == expected, "{what}: {status}");
            return;
        }
    }
    panic!("{what}: {seen:?}");
}

/// How long the simplest of all answers and the shortest of all processes take just now, while nothing runs.
fn idle(session: &mut dyn Session, round: usize) -> Duration {
    let name = format!("idle{round}");
    let clock = MachineClock::start();
    session.say(&format!("/why {name}"));
    session.wait(&format!("No removed text has the handle {name}"));
    let status = Command::new("true").status().unwrap();
    let took = clock.elapsed();
    drop(clock);
    assert!(status.success());
    session.rest();
    took
}
