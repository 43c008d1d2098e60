//! Looks at a session while it works: whoever wants one asks, and is let in as soon as the session waits for something.

use crate::session::Session;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::Notify;

/// What is done with a look at the session.
type Glance = Box<dyn FnOnce(&Session) + Send>;

/// Where looks at a session are asked for. Clones are of the same session. A session that works waits nearly all the
/// time, for its model, its tools or the clock, and shows itself then as it stands.
#[derive(Clone, Default)]
pub struct Glances(Arc<Waiting>);

#[derive(Default)]
struct Waiting {
    asked: Mutex<VecDeque<Glance>>,
    bell: Notify,
}

impl Glances {
    /// Has this called with the session once, in the order of asking. It delays the session for as long as it takes.
    pub fn ask(&self, glance: impl FnOnce(&Session) + Send + 'static) {
        self.queue().push_back(Box::new(glance));
        self.0.bell.notify_one();
    }

    /// Lets those look who have asked. For whoever holds the session while nothing runs.
    pub fn answer(&self, session: &Session) {
        while let Some(glance) = self.next() {
            glance(session);
        }
    }

    /// Lets all look who ask, for as long as this is polled. Giving it up loses nothing.
    pub(crate) async fn given(&self, session: &Session) -> Infallible {
        loop {
            self.answer(session);
            self.0.bell.notified().await;
        }
    }

    // A glance may ask for another one, so the queue is not held while one looks.
    fn next(&self) -> Option<Glance> {
        self.queue().pop_front()
    }

    fn queue(&self) -> std::sync::MutexGuard<'_, VecDeque<Glance>> {
        self.0.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Glances {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Glances").field(&self.queue().len()).finish()
    }
}
