//! A point in a reply where the server waits until the test lets it continue: ordering without sleeps.

use std::sync::Arc;
use tokio::sync::watch;

/// Holds a reply at one point. Clones are the same gate.
///
/// A reply that reaches it waits until [`Gate::open`] is called; a gate opened before does not block. An open gate
/// stays open.
#[derive(Clone, Debug)]
pub struct Gate {
    place: Place,
    state: Arc<watch::Sender<State>>,
}

/// The position of a gate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Place {
    /// After the request is read, before the response.
    BeforeHead,
    /// After this many frames.
    After(usize),
}

#[derive(Clone, Copy, Default, Debug)]
struct State {
    reached: bool,
    open: bool,
}

impl Gate {
    /// A gate before the response head.
    pub fn before_head() -> Self {
        Gate::at(Place::BeforeHead)
    }

    /// A gate after this many frames; 0 is between the head and the first frame.
    pub fn after(frames: usize) -> Self {
        Gate::at(Place::After(frames))
    }

    fn at(place: Place) -> Self {
        Gate {
            place,
            state: Arc::new(watch::Sender::new(State::default())),
        }
    }

    /// Lets the reply continue.
    pub fn open(&self) {
        self.state.send_modify(|state| state.open = true);
    }

    /// Returns whether a reply has reached the gate.
    pub fn is_reached(&self) -> bool {
        self.state.borrow().reached
    }

    /// Waits until a reply has reached the gate; by then everything before it is sent. For blocking tests, see
    /// [`block_on`](super::block_on).
    pub async fn reached(&self) {
        // The sender lives in `self`, so the channel cannot close.
        let _ = self.state.subscribe().wait_for(|state| state.reached).await;
    }

    /// The server's side: reports that the reply is here, and waits.
    pub(super) async fn pass(&self, place: Place) {
        if self.place == place {
            self.state.send_modify(|state| state.reached = true);
            let _ = self.state.subscribe().wait_for(|state| state.open).await;
        }
    }
}
