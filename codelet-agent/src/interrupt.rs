//! Interruption: one switch that everything that waits also watches.

use std::sync::Arc;
use tokio::sync::watch;

/// Marks in the conversation where the user interrupted.
pub(crate) const MARK: &str = "[interrupted by the user]";

/// A switch that is thrown once. Clones share the same switch.
#[derive(Clone, Debug)]
pub struct Interrupt(Arc<watch::Sender<bool>>);

impl Interrupt {
    /// Creates a switch that is not thrown.
    pub fn new() -> Self {
        Interrupt(Arc::new(watch::Sender::new(false)))
    }

    /// Throws the switch.
    pub fn throw(&self) {
        self.0.send_replace(true);
    }

    /// Returns whether the switch was thrown.
    pub fn is_thrown(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits until the switch is thrown.
    pub async fn thrown(&self) {
        // `self` owns the sender, so the channel cannot close.
        let _ = self.0.subscribe().wait_for(|thrown| *thrown).await;
    }
}

impl Default for Interrupt {
    fn default() -> Self {
        Interrupt::new()
    }
}
