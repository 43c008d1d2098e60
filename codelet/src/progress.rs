//! A line on standard error that says what is going on, if that takes longer than half a second.

use crate::paint::Look;
use std::io::Write;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Nobody wants to read about what is over before they look.
const PATIENCE: Duration = Duration::from_millis(500);
/// How often the line is drawn again.
const TICK: Duration = Duration::from_millis(100);

/// Shows what is going on until it is dropped, and then erases what it showed. Does nothing where nobody looks.
pub struct Progress(Option<(Sender<String>, JoinHandle<()>)>);

impl Progress {
    /// Starts to wait.
    pub fn start(doing: &str) -> Self {
        let look = Look::stderr();
        if !look.terminal || look.dumb {
            return Progress(None);
        }
        let (tell, told) = mpsc::channel();
        let mut doing = doing.to_owned();
        let began = Instant::now();
        let wait = move || {
            let mut shown = false;
            loop {
                let patience = if shown {
                    TICK
                } else {
                    PATIENCE.saturating_sub(began.elapsed())
                };
                match told.recv_timeout(patience) {
                    Ok(next) => doing = next,
                    Err(RecvTimeoutError::Timeout) => {
                        shown = true;
                        // Where there is little room, the time is what changes.
                        let time = format!(" … {:.1} s", began.elapsed().as_secs_f64());
                        let room = look.width.saturating_sub(time.chars().count() + 1);
                        let line = format!("{}{time}", crate::paint::clip(&doing, room));
                        // Nothing can be done about a terminal that takes no more.
                        let _ = write!(std::io::stderr(), "\r\x1b[2K{line}");
                    }
                    Err(RecvTimeoutError::Disconnected) => break,
                }
            }
            if shown {
                let _ = write!(std::io::stderr(), "\r\x1b[2K");
            }
        };
        // Without a thread to spare, there is no line.
        Progress(
            std::thread::Builder::new()
                .spawn(wait)
                .ok()
                .map(|thread| (tell, thread)),
        )
    }

    /// Says what is going on now.
    pub fn tell(&self, doing: &str) {
        if let Some((tell, _)) = &self.0 {
            let _ = tell.send(doing.to_owned());
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some((tell, thread)) = self.0.take() {
            drop(tell);
            let _ = thread.join();
        }
    }
}
