//! Interruptions, with a clock: within a tenth of a second, whatever runs.

use super::pty::{Kind, Session};
use rustix::time::{ClockId, clock_gettime};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

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

/// How long the machine is watched to see whether it has time.
const WATCHED: Duration = Duration::from_millis(20);
/// No less of the machine is taken for ours, however busy it is.
const LEAST_SHARE: f64 = 0.05;

/// The share of a processor's time that whoever wants all of it gets just now: 1 on a machine that does nothing else.
pub fn share() -> f64 {
    let worked = || {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap())
    };
    let (began, before) = (Instant::now(), worked());
    while began.elapsed() < WATCHED {
        std::hint::spin_loop();
    }
    let share = (worked() - before).as_secs_f64() / began.elapsed().as_secs_f64();
    share.clamp(LEAST_SHARE, 1.0)
}

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
        let (mut took, mut slow, mut shares) = (Vec::new(), Vec::new(), Vec::new());
        for round in series * TIMES..(series + 1) * TIMES {
            begun(session, round);
            let began = Instant::now();
            session.interrupt();
            session.wait_for(told, round + 1);
            took.push(began.elapsed());
            session.rest();
            // Words that one interruption tells twice would end the next one's wait before it has begun.
            let told_so_far = session.text().matches(told).count();
            assert_eq!(told_so_far, round + 1, "{told:?} is not told once each time");
            slow.push(idle(session, round));
            shares.push(share());
        }
        took.sort_unstable();
        slow.sort_unstable();
        shares.sort_unstable_by(f64::total_cmp);
        let share = shares[TIMES / 2];
        let (took_longest, took, slow) = (took[TIMES - 1], took[TIMES / 2], slow[TIMES / 2]);
        eprintln!(
            "interrupted {what} ({:?}): {took:?}, at worst {took_longest:?}; idle: {slow:?}, {share:.2} of a processor",
            session.kind()
        );
        assert!(took_longest < EVER, "{what}: {took_longest:?}");
        seen.push((took, slow, share));
        if took <= SOON.div_f64(share) + PROCESSES * slow {
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
    let began = Instant::now();
    session.say(&format!("/why {name}"));
    session.wait(&format!("No removed text has the handle {name}"));
    let status = Command::new("true").status().unwrap();
    let took = began.elapsed();
    assert!(status.success());
    session.rest();
    took
}
