//! Blocking work on other threads; the loop goes on as soon as the user interrupts.

use codelet_agent::interrupt::Interrupt;
use codelet_agent::tool::Output;
use futures_util::future::BoxFuture;
use std::io::{self, PipeReader, Read};
use std::time::Duration;
use tokio::sync::oneshot;

/// Time for interrupted work to notice. Together with the loop's own work, this stays under a tenth of a second.
const NOTICE: Duration = Duration::from_millis(50);
/// The output of an interrupted call.
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
    // The loop answers panics, as for any tool.
    done.unwrap_or_else(|error| match error.try_into_panic() {
        Ok(panic) => std::panic::resume_unwind(panic),
        Err(_) => Output::failure(INTERRUPTED),
    })
}

/// Begins work on a thread of its own; the future returns its result, and nothing if it panics. The other end of its pipe
/// is closed when the user interrupts, and when the future is dropped, so that no program keeps running unwatched.
///
/// # Errors
/// If there can be no pipe or no thread.
pub(crate) fn watched<T: Send + 'static>(
    name: &str,
    interrupt: &Interrupt,
    work: impl FnOnce(PipeReader) -> T + Send + 'static,
) -> io::Result<BoxFuture<'static, Option<T>>> {
    let (stopped, stop) = io::pipe()?;
    let (answer, mut answered) = oneshot::channel();
    let thread = std::thread::Builder::new().name(name.to_owned());
    thread.spawn(move || {
        // What the work holds of the session, it has given up by then. The receiver may be gone.
        let done = work(stopped);
        let _ = answer.send(done);
    })?;
    let interrupt = interrupt.clone();
    Ok(Box::pin(async move {
        let answer = tokio::select! {
            biased;
            answer = &mut answered => answer,
            () = interrupt.thrown() => {
                drop(stop);
                answered.await
            }
        };
        answer.ok()
    }))
}

/// Runs blocking work to its end on a thread.
pub(crate) async fn blocking<T: Send + Default + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // The runtime is shutting down.
            Err(_) => T::default(),
        },
    }
}

/// A reader that fails once the user interrupts, and ends after a number of bytes.
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
