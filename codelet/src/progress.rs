//! A status line on standard error for work that takes longer than half a second.

use crate::paint::Look;
use std::io::Write;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The delay before the line appears, so that short work shows none.
const PATIENCE: Duration = Duration::from_millis(500);
/// The interval between updates.
const TICK: Duration = Duration::from_millis(100);

/// Shows a status line until dropped, then erases it. Does nothing without a terminal.
pub struct Progress(Option<(Sender<String>, JoinHandle<()>)>);

impl Progress {
    /// Starts the timer.
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
                        // The elapsed time stays visible in a narrow terminal.
                        let time = format!(" … {:.1} s", began.elapsed().as_secs_f64());
                        let room = look.width.saturating_sub(time.chars().count() + 1);
                        let line = format!("{}{time}", crate::paint::clip(&doing, room));
                        // Errors are ignored: nothing can be done about a terminal that accepts no output.
                        let _ = write!(std::io::stderr(), "\r\x1b[2K{line}");
                    }
                    Err(RecvTimeoutError::Disconnected) => break,
                }
            }
            if shown {
                let _ = write!(std::io::stderr(), "\r\x1b[2K");
            }
        };
        // If no thread can be started, no line is shown.
        Progress(
            std::thread::Builder::new()
                .spawn(wait)
                .ok()
                .map(|thread| (tell, thread)),
        )
    }

    /// Changes the description of the work.
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
