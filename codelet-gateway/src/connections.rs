//! Connections through which nothing goes: where there is no room for another one, the one that was longest idle is closed.

use crate::body::Answer;
use http_body_util::BodyExt;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// The connections that are idle, the one first that has been so for longest.
#[derive(Default)]
pub(crate) struct Idle {
    all: Mutex<Waiting>,
    more: Notify,
}

#[derive(Default)]
struct Waiting {
    /// By when they became idle.
    ends: BTreeMap<u64, Arc<Notify>>,
    clock: u64,
}

impl Idle {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Closes the connection that has been idle for longest. Says no where all are busy.
    pub fn close_oldest(&self) -> bool {
        let oldest = self.lock().ends.pop_first();
        oldest.inspect(|(_, end)| end.notify_one()).is_some()
    }

    /// Waits until a connection becomes idle.
    pub async fn more(&self) {
        self.more.notified().await;
    }

    fn join(&self, end: Arc<Notify>) -> u64 {
        let mut all = self.lock();
        all.clock += 1;
        let at = all.clock;
        all.ends.insert(at, end);
        self.more.notify_one();
        at
    }

    fn leave(&self, at: u64) {
        self.lock().ends.remove(&at);
    }
}

/// A connection: idle at first, and whenever all that was asked through it is answered.
pub(crate) struct Connection {
    idle: Arc<Idle>,
    end: Arc<Notify>,
    state: Mutex<State>,
}

struct State {
    /// Questions that are not answered yet.
    open: usize,
    was_asked: bool,
    idle_since: u64,
}

impl Connection {
    pub fn new(idle: &Arc<Idle>) -> Arc<Self> {
        let end = Arc::new(Notify::new());
        Arc::new(Connection {
            idle: idle.clone(),
            state: Mutex::new(State {
                open: 0,
                was_asked: false,
                idle_since: idle.join(end.clone()),
            }),
            end,
        })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Something is asked; it is answered when what this returns is gone.
    pub fn ask(self: &Arc<Self>) -> Question {
        let mut state = self.lock();
        if state.open == 0 {
            self.idle.leave(state.idle_since);
        }
        state.open += 1;
        state.was_asked = true;
        Question(self.clone())
    }

    /// Returns whether a request ever came through it.
    pub fn was_asked(&self) -> bool {
        self.lock().was_asked
    }

    /// Waits until it is to be closed to make room.
    pub async fn end(&self) {
        self.end.notified().await;
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        let since = self.lock().idle_since;
        self.idle.leave(since);
    }
}

/// Something that was asked.
pub(crate) struct Question(Arc<Connection>);

impl Question {
    /// The answer, which is one only when all of it has gone: until then, its body holds the question.
    pub fn answered_by(self, answer: Answer) -> Answer {
        answer.map(|body| {
            let held = move |fault| {
                let _question = &self;
                fault
            };
            body.map_err(held).boxed_unsync()
        })
    }
}

impl Drop for Question {
    fn drop(&mut self) {
        let connection = &self.0;
        let mut state = connection.lock();
        state.open -= 1;
        if state.open == 0 {
            state.idle_since = connection.idle.join(connection.end.clone());
        }
    }
}
