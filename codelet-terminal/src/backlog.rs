//! Events that are not on the terminal yet. A terminal takes less than a fast model produces; without this limit, an
//! interrupt would arrive only after everything was generated and paid for, long before it is visible.

use codelet_agent::event::Event;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;
use tokio::sync::Notify;

/// Maximum number of waiting bytes.
const MOST: usize = 128 * 1024;
/// A terminal that shows nothing for this long was stopped, and the session goes on without it.
const PATIENCE: Duration = Duration::from_secs(2);

/// Shared by both ends, the session and the terminal.
#[derive(Clone, Debug, Default)]
pub(crate) struct Backlog(Arc<BacklogCounts>);

#[derive(Debug, Default)]
struct BacklogCounts {
    /// Bytes sent and not received.
    told: AtomicUsize,
    /// Bytes of lines that are finished and not drawn.
    finished: AtomicUsize,
    is_stopped: AtomicBool,
    room: Notify,
}

impl Backlog {
    /// Counts an event sent to the terminal.
    pub(crate) fn tell(&self, event: &Event) {
        self.0.told.fetch_add(weight(event), Ordering::Relaxed);
    }

    /// Counts an event received by the terminal.
    pub(crate) fn hear(&self, event: &Event) {
        self.0.told.fetch_sub(weight(event), Ordering::Relaxed);
    }

    /// Sets the number of bytes of finished lines that wait to be drawn.
    pub(crate) fn set_finished(&self, bytes: usize) {
        self.0.finished.store(bytes, Ordering::Relaxed);
        if self.has_room() {
            self.0.is_stopped.store(false, Ordering::Relaxed);
            self.0.room.notify_one();
        }
    }

    fn has_room(&self) -> bool {
        let waiting = &self.0;
        waiting.told.load(Ordering::Relaxed) + waiting.finished.load(Ordering::Relaxed) <= MOST
    }

    /// Waits until there is room for more, or the terminal has stopped showing anything.
    pub(crate) async fn room(&self) {
        let room = async {
            while !self.has_room() && !self.0.is_stopped.load(Ordering::Relaxed) {
                self.0.room.notified().await;
            }
        };
        if tokio::time::timeout(PATIENCE, room).await.is_err() {
            self.0.is_stopped.store(true, Ordering::Relaxed);
        }
    }
}

/// The approximate size of an event's visible text, in bytes.
fn weight(event: &Event) -> usize {
    match event {
        Event::Text(text) | Event::Thinking(text) | Event::ToolPrinted { text, .. } => text.len(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::poll_fn;
    use std::pin::pin;
    use std::task::Poll;

    fn run<T>(test: impl Future<Output = T>) -> T {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime").block_on(test)
    }

    async fn is_ready(room: &mut (impl Future<Output = ()> + Unpin)) -> bool {
        poll_fn(|context| Poll::Ready(std::pin::Pin::new(&mut *room).poll(context).is_ready())).await
    }

    #[test]
    fn more_is_told_only_while_there_is_room() {
        run(async {
            let backlog = Backlog::default();
            backlog.room().await;
            let events: Vec<Event> = (0..3).map(|_| Event::Text("x".repeat(MOST / 2))).collect();
            events.iter().for_each(|event| backlog.tell(event));
            let mut room = pin!(backlog.room());
            assert!(!is_ready(&mut room).await);
            // Received events wait to be drawn.
            events.iter().for_each(|event| backlog.hear(event));
            backlog.set_finished(MOST + 1);
            assert!(!is_ready(&mut room).await);
            backlog.set_finished(MOST / 2);
            assert!(is_ready(&mut room).await);
        });
    }

    #[test]
    fn a_terminal_that_was_stopped_holds_nothing_up_until_it_goes_on() {
        run(async {
            let backlog = Backlog::default();
            backlog.set_finished(MOST + 1);
            // This takes `PATIENCE`.
            backlog.room().await;
            assert!(is_ready(&mut pin!(backlog.room())).await);
            backlog.set_finished(0);
            backlog.set_finished(MOST + 1);
            assert!(!is_ready(&mut pin!(backlog.room())).await);
        });
    }
}
