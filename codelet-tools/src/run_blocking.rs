//! Work that may block, done apart from the loop, which goes on as soon as the user interrupts.

use codelet_agent::interrupt::Interrupt;
use codelet_agent::tool::Output;
use std::io::{self, Read};
use std::time::Duration;

/// How long interrupted work may take to notice. With what the loop itself needs it stays under a tenth of a second.
const NOTICE: Duration = Duration::from_millis(50);
/// The answer to a call that was interrupted.
pub(crate) const INTERRUPTED: &str = "interrupted by the user";

/// Does the work on a thread where it may block. Work that does not notice the interrupt in time is left to itself.
pub(crate) async fn run_blocking(
    interrupt: Interrupt,
    work: impl FnOnce(&Interrupt) -> Output + Send + 'static,
) -> Output {
    if interrupt.is_thrown() {
        return Output::failure(INTERRUPTED);
    }
    let inner = interrupt.clone();
    let mut task = tokio::task::spawn_blocking(move || work(&inner));
    let done = tokio::select! {
        done = &mut task => done,
        () = interrupt.thrown() => match tokio::time::timeout(NOTICE, &mut task).await {
            Ok(done) => done,
            Err(_) => return Output::failure(INTERRUPTED),
        },
    };
    // A panic is the loop's to answer, as that of any tool.
    done.unwrap_or_else(|error| match error.try_into_panic() {
        Ok(panic) => std::panic::resume_unwind(panic),
        Err(_) => Output::failure(INTERRUPTED),
    })
}

/// Does work to its end on a thread where it may block.
pub(crate) async fn blocking<T: Send + Default + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // The process ends.
            Err(_) => T::default(),
        },
    }
}

/// A source that ends with an error once the user interrupts, or after so many bytes.
pub(crate) struct Watched<R> {
    source: R,
    interrupt: Interrupt,
    left: u64,
}

impl<R> Watched<R> {
    pub(crate) fn new(source: R, interrupt: &Interrupt, most: u64) -> Self {
        Watched {
            source,
            interrupt: interrupt.clone(),
            left: most,
        }
    }
}

impl<R: Read> Read for Watched<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.interrupt.is_thrown() {
            return Err(io::Error::other(INTERRUPTED));
        }
        if self.left == 0 {
            return Err(io::Error::other("the rest of the file was not looked at"));
        }
        let most = usize::try_from(self.left).map_or(buffer.len(), |left| left.min(buffer.len()));
        let read = self.source.read(&mut buffer[..most])?;
        self.left -= read as u64;
        Ok(read)
    }
}
