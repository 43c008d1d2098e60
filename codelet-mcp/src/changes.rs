//! Whether a server has said that a list of its own has changed since it was read.

use std::sync::atomic::{AtomicUsize, Ordering};

/// What a server says of its lists.
#[derive(Default)]
pub(crate) struct Changes {
    /// Its tools.
    pub tools: Changed,
    /// Its prompts.
    pub prompts: Changed,
}

impl Changes {
    /// Takes note of a notification, by its method, if it is about a list.
    pub(crate) fn note(&self, method: &str) {
        match method {
            "notifications/tools/list_changed" => self.tools.hear(),
            "notifications/prompts/list_changed" => self.prompts.hear(),
            _ => {}
        }
    }
}

/// Counts what a server says of one list. However often it says so, the list is read once for that.
#[derive(Default)]
pub(crate) struct Changed {
    heard: AtomicUsize,
    read: AtomicUsize,
}

impl Changed {
    /// Takes note that the server says so.
    pub(crate) fn hear(&self) {
        self.heard.fetch_add(1, Ordering::Relaxed);
    }

    /// How often it has said so.
    pub(crate) fn heard(&self) -> usize {
        self.heard.load(Ordering::Relaxed)
    }

    /// Takes note that the list was read, as it was when so much had been heard.
    pub(crate) fn was_read(&self, heard: usize) {
        self.read.store(heard, Ordering::Relaxed);
    }

    /// Whether the list is to be read again.
    pub(crate) fn is_unread(&self) -> bool {
        self.heard() != self.read.load(Ordering::Relaxed)
    }
}
