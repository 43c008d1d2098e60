//! Says that a server is waited for which is not ready yet, as one that still loads its model.

use crate::paint::{Ink, Look};
use crate::progress::Progress;
use codelet_agent::event::Event;
use codelet_providers::Loading;

/// Tells whoever looks at standard error: on a terminal a line that counts the seconds and is gone afterwards, in a log
/// one line.
#[derive(Default)]
pub struct Told {
    progress: Option<Progress>,
    is_told: bool,
}

impl Told {
    /// The server is waited for.
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

/// What is waited for, and how long at most.
pub fn words(loading: &Loading) -> String {
    let seconds = loading.left.as_secs_f64().round() as u64;
    format!("{}; waiting up to {seconds} s", cause(loading))
}

/// The same for programs that follow what happens.
pub fn event(loading: Loading) -> Event {
    Event::Waiting {
        cause: cause(&loading),
        left: loading.left,
        next_try: Some(loading.asked + 1),
        first_token: None,
    }
}

fn cause(loading: &Loading) -> String {
    let said = crate::paint::clean(&loading.said);
    format!("{} is not ready yet: {said}", loading.server)
}
