//! Whether a server has said that its list of tools has changed since it was read.

use std::sync::atomic::{AtomicUsize, Ordering};

/// The method of the notification.
pub(crate) const LIST_CHANGED: &str = "notifications/tools/list_changed";

/// Counts what a server says of its list. However often it says so, the list is read once for that.
#[derive(Default)]
pub(crate) struct Changes {
    heard: AtomicUsize,
    read: AtomicUsize,
}

impl Changes {
    /// Takes note that the server says so.
    pub(crate) fn hear(&self) {
        self.heard.fetch_add(1, Ordering::Relaxed);
    }

    /// How often it has said so.
    pub(crate) fn heard(&self) -> usize {
        self.heard.load(Ordering::Relaxed)
    }

    /// Takes note that the list was read, as it was when so much had been heard.
    pub(crate) fn were_read(&self, heard: usize) {
        self.read.store(heard, Ordering::Relaxed);
    }

    /// Whether the list is to be read again.
    pub(crate) fn are_unread(&self) -> bool {
        self.heard() != self.read.load(Ordering::Relaxed)
    }
}
