//! Glances at a session while it works: callers queue them, and they run as soon as the session waits for something.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::Notify;

/// The function to run on a glance.
type Glance<T> = Box<dyn FnOnce(&T) + Send>;

/// A queue of glances at a session, or at anything else that one task holds while others want to look at it. Clones
/// share the same queue. A working session nearly always waits, for its model, its tools or the clock, and can be
/// looked at then.
pub struct Glances<T>(Arc<Waiting<T>>);

struct Waiting<T> {
    asked: Mutex<VecDeque<Glance<T>>>,
    bell: Notify,
}

impl<T> Clone for Glances<T> {
    fn clone(&self) -> Self {
        Glances(Arc::clone(&self.0))
    }
}

impl<T> Default for Glances<T> {
    fn default() -> Self {
        Glances(Arc::new(Waiting {
            asked: Mutex::default(),
            bell: Notify::new(),
        }))
    }
}

impl<T> Glances<T> {
    /// Queues a function to be called once with the held value, in order. It delays the holder for as long as it runs.
    pub fn ask(&self, glance: impl FnOnce(&T) + Send + 'static) {
        self.queue().push_back(Box::new(glance));
        self.0.bell.notify_one();
    }

    /// Runs all queued glances. For the holder of an idle session.
    pub fn answer(&self, held: &T) {
        while let Some(glance) = self.next() {
            glance(held);
        }
    }

    /// Runs glances as they arrive, for as long as this is polled. Cancelling it loses nothing.
    pub(crate) async fn given(&self, held: &T) -> Infallible {
        loop {
            self.answer(held);
            self.0.bell.notified().await;
        }
    }

    // A glance may queue another one, so the lock is not held while one runs.
    fn next(&self) -> Option<Glance<T>> {
        self.queue().pop_front()
    }

    fn queue(&self) -> std::sync::MutexGuard<'_, VecDeque<Glance<T>>> {
        self.0.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> fmt::Debug for Glances<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Glances").field(&self.queue().len()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn whoever_asks_is_let_in_once_and_in_order() {
        let held = 7;
        let glances = Glances::default();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let ask = |number: usize| {
            let seen = seen.clone();
            glances.ask(move |held: &i32| {
                seen.lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .push((number, *held));
            });
        };
        ask(1);
        ask(2);
        let asking = async {
            tokio::task::yield_now().await;
            // Two arrive while it waits; one wake-up covers both.
            ask(3);
            ask(4);
            for _ in 0..3 {
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            biased;
            never = glances.given(&held) => match never {},
            () = asking => {}
        }
        // Cancelled with one pending: the holder runs it.
        ask(5);
        glances.answer(&held);
        let seen = seen.lock().unwrap_or_else(PoisonError::into_inner).clone();
        assert_eq!(seen, [(1, 7), (2, 7), (3, 7), (4, 7), (5, 7)]);
    }
}
