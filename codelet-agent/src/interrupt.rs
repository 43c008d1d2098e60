//! Interruption: one switch that everything that waits looks at.

use std::sync::Arc;
use tokio::sync::watch;

/// What stands in the conversation where the user interrupted.
pub(crate) const MARK: &str = "[interrupted by the user]";

/// A switch that is thrown once. Clones are the same switch.
#[derive(Clone, Debug)]
pub struct Interrupt(Arc<watch::Sender<bool>>);

impl Interrupt {
    /// Not thrown.
    pub fn new() -> Self {
        Interrupt(Arc::new(watch::Sender::new(false)))
    }

    /// Throws it.
    pub fn throw(&self) {
        self.0.send_replace(true);
    }

    /// Whether it was thrown.
    pub fn is_thrown(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits until it is thrown.
    pub async fn thrown(&self) {
        // The sender lives in this very value, so the channel cannot close.
        let _ = self.0.subscribe().wait_for(|thrown| *thrown).await;
    }
}

impl Default for Interrupt {
    fn default() -> Self {
        Interrupt::new()
    }
}
