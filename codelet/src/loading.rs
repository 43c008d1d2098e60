//! Reports the wait for a server that is not ready yet, for example because it is still loading its model.

use crate::paint::{Ink, Look};
use crate::progress::Progress;
use codelet_agent::event::Event;
use codelet_providers::Loading;

/// Reports a wait on standard error: on a terminal as a transient line that counts seconds, in a log as one line.
#[derive(Default)]
pub struct Told {
    progress: Option<Progress>,
    is_told: bool,
}

impl Told {
    /// Reports that the server is being waited for.
    pub fn on(&mut self, loading: &Loading) {
        if std::mem::replace(&mut self.is_told, true) {
            return;
        }
        let look = Look::stderr();
        if look.terminal && !look.dumb {
            self.progress = Some(Progress::start(&words(loading)));
        } else {
            crate::tell("waiting", Ink::Yellow, &words(loading));
        }
    }
}

/// Describes the wait and its maximum length.
pub fn words(loading: &Loading) -> String {
    let seconds = loading.left.as_secs_f64().round() as u64;
    format!("{}; waiting up to {seconds} s", cause(loading))
}

/// Returns the wait as an event.
pub fn event(loading: Loading) -> Event {
    Event::Waiting {
        cause: cause(&loading),
        left: loading.left,
        next_try: Some(loading.asked + 1),
        first_token: None,
        paused: None,
    }
}

fn cause(loading: &Loading) -> String {
    let said = crate::paint::clean(&loading.said);
    format!("{} is not ready yet: {said}", loading.server)
}
