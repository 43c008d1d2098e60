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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Profile;
    use crate::permission::Rules;
    use crate::scripted::Scripted;
    use crate::session::{Parts, Settings};
    use crate::surroundings::Nowhere;

    #[tokio::test]
    async fn whoever_asks_is_let_in_once_and_in_order() {
        let parts = Parts {
            model: Box::new(Scripted::new(Profile::unknown("test/model"), [])),
            tools: Vec::new(),
            gate: Arc::new(Rules::default()),
            world: Arc::new(Nowhere),
        };
        let session = Session::new(parts, Settings::default());
        let glances = session.glances();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let ask = |number: usize| {
            let seen = seen.clone();
            glances.ask(move |session| {
                let messages = session.conversation().history().messages().len();
                seen.lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .push((number, messages));
            });
        };
        ask(1);
        ask(2);
        let asking = async {
            tokio::task::yield_now().await;
            // Two come while it waits; the bell rings once for both.
            ask(3);
            ask(4);
            for _ in 0..3 {
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            biased;
            never = glances.given(&session) => match never {},
            () = asking => {}
        }
        // Given up with one unanswered: whoever holds the session lets it in.
        ask(5);
        glances.answer(&session);
        let seen = seen.lock().unwrap_or_else(PoisonError::into_inner).clone();
        assert_eq!(seen, [(1, 1), (2, 1), (3, 1), (4, 1), (5, 1)]);
    }
}
