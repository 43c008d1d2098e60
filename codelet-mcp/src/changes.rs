//! Tracks whether a server has announced changes to its lists since they were read.

use std::sync::atomic::{AtomicBool, Ordering};

/// Lists that a server has announced to be changed; a list is cleared before it is read. However many announcements there
/// are, the list is read again once.
#[derive(Default)]
pub(crate) struct Changes {
    /// That of its tools.
    pub tools: AtomicBool,
    /// That of its prompts.
    pub prompts: AtomicBool,
}

impl Changes {
    /// Records a notification, given by its method, if it is about a list.
    pub(crate) fn note(&self, method: &str) {
        match method {
            "notifications/tools/list_changed" => self.tools.store(true, Ordering::Relaxed),
            "notifications/prompts/list_changed" => self.prompts.store(true, Ordering::Relaxed),
            _ => {}
        }
    }
}
