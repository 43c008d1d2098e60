//! Startup: the terminal is taken, keys are handled and input is queued before the session is ready.

use crate::answers;
use crate::command::{self, Name, Said};
use crate::front::{Activity, Front, Left, Wish};
use crate::render::look::Role;
use codelet_agent::interrupt::Interrupt;
use std::pin::Pin;

/// Returns the result if it is ready immediately, so that no activity needs to be shown.
pub(crate) async fn at_once<T>(work: Pin<&mut (impl Future<Output = T> + ?Sized)>) -> Option<T> {
    tokio::select! {
        biased;
        done = work => Some(done),
        () = std::future::ready(()) => None,
    }
}

/// Waits for `work`; an interrupt throws `skip`. Also returns how the user left, if they did.
pub(crate) async fn wait<T>(
    front: &mut impl Front,
    mut work: Pin<&mut impl Future<Output = T>>,
    skip: &Interrupt,
) -> (T, Option<Left>) {
    let mut left = None;
    front.doing(Activity::Servers);
    let done = loop {
        let wish = tokio::select! {
            biased;
            wish = front.next(), if left.is_none() => wish,
            done = &mut work => break done,
        };
        match wish {
            Wish::Interrupt => skip.throw(),
            // There is no session yet whose permission could change.
            Wish::Permit => {}
            Wish::Leave(how) => left = Some(how),
            Wish::Say(said) if front.keeps_order() => front.queue(said),
            Wish::Say(said) => match command::read(&said) {
                Said::Command(Name::Exit, _) => left = Some(Left::Left),
                Said::Command(Name::Help, _) => front.print(answers::help(&front.look(), &[])),
                Said::Refused(why) => front.print(answers::say(&front.look(), Role::Warning, &why)),
                _ => front.queue(said),
            },
        }
        if left.is_some() {
            front.leaving();
            skip.throw();
        }
    };
    front.doing(Activity::Nothing);
    (done, left)
}
