//! A place in a reply where the server waits until the test lets it go on: order without sleeping.

use std::sync::Arc;
use tokio::sync::watch;

/// Holds a reply at one place. A clone is the same gate.
///
/// A reply that arrives waits until [`Gate::open`] is called; a gate that is opened before is no obstacle. Once open it
/// stays open.
#[derive(Clone, Debug)]
pub struct Gate {
    place: Place,
    state: Arc<watch::Sender<State>>,
}

/// Where a gate stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Place {
    /// The request is read; nothing is answered yet.
    BeforeHead,
    /// So many frames are sent.
    After(usize),
}

#[derive(Clone, Copy, Default, Debug)]
struct State {
    reached: bool,
    open: bool,
}

impl Gate {
    /// A gate before the head of the answer.
    pub fn before_head() -> Self {
        Gate::at(Place::BeforeHead)
    }

    /// A gate behind so many frames; 0 is between the head and the first frame.
    pub fn after(frames: usize) -> Self {
        Gate::at(Place::After(frames))
    }

    fn at(place: Place) -> Self {
        Gate {
            place,
            state: Arc::new(watch::Sender::new(State::default())),
        }
    }

    /// Lets the reply go on.
    pub fn open(&self) {
        self.state.send_modify(|state| state.open = true);
    }

    /// Whether a reply stands or stood here.
    pub fn is_reached(&self) -> bool {
        self.state.borrow().reached
    }

    /// Waits until a reply stands here: everything before the gate is sent then. For tests that block, see
    /// [`block_on`](super::block_on).
    pub async fn reached(&self) {
        // The sender lives in `self`, so the channel cannot close.
        let _ = self.state.subscribe().wait_for(|state| state.reached).await;
    }

    /// The server's side: tells that the reply is here, and waits.
    pub(super) async fn pass(&self, place: Place) {
        if self.place == place {
            self.state.send_modify(|state| state.reached = true);
            let _ = self.state.subscribe().wait_for(|state| state.open).await;
        }
    }
}
