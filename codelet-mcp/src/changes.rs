//! Tracks whether a server has announced changes to its lists since they were read.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Change notifications of a server.
#[derive(Default)]
pub(crate) struct Changes {
    /// Those for its tools.
    pub tools: Changed,
    /// Those for its prompts.
    pub prompts: Changed,
}

impl Changes {
    /// Records a notification, given by its method, if it is about a list.
    pub(crate) fn note(&self, method: &str) {
        match method {
            "notifications/tools/list_changed" => self.tools.hear(),
            "notifications/prompts/list_changed" => self.prompts.hear(),
            _ => {}
        }
    }
}

/// Counts the change notifications for a list. However many there are, the list is read again once.
#[derive(Default)]
pub(crate) struct Changed {
    heard: AtomicUsize,
    read: AtomicUsize,
}

impl Changed {
    /// Records a notification.
    pub(crate) fn hear(&self) {
        self.heard.fetch_add(1, Ordering::Relaxed);
    }

    /// The number of notifications so far.
    pub(crate) fn heard(&self) -> usize {
        self.heard.load(Ordering::Relaxed)
    }

    /// Records that the list was read when `heard` notifications had arrived.
    pub(crate) fn was_read(&self, heard: usize) {
        self.read.store(heard, Ordering::Relaxed);
    }

    /// Returns whether the list has to be read again.
    pub(crate) fn is_unread(&self) -> bool {
        self.heard() != self.read.load(Ordering::Relaxed)
    }
}
