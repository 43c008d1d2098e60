//! Before a session can begin: the terminal is there, keys are heard, and what is said waits.

use crate::answers;
use crate::chat::Left;
use crate::command::{self, Name, Said};
use crate::front::{Doing, Front, Wish};
use crate::render::look::Role;
use codelet_agent::interrupt::Interrupt;
use std::pin::Pin;

/// What is there at once, so that nothing needs to be said of it.
pub(crate) async fn at_once<T>(work: Pin<&mut (impl Future<Output = T> + ?Sized)>) -> Option<T> {
    tokio::select! {
        biased;
        done = work => Some(done),
        () = std::future::ready(()) => None,
    }
}

/// Waits for what comes first, which is skipped when somebody interrupts it. Says how the session was left if it was.
pub(crate) async fn wait<T>(
    front: &mut impl Front,
    mut work: Pin<&mut impl Future<Output = T>>,
    skip: &Interrupt,
) -> (T, Option<Left>) {
    let mut left = None;
    front.doing(Doing::Servers);
    let done = loop {
        let wish = tokio::select! {
            biased;
            wish = front.next(), if left.is_none() => wish,
            done = &mut work => break done,
        };
        match wish {
            Wish::Interrupt => skip.throw(),
            // There is no session yet of which it could be changed.
            Wish::Permit => {}
            Wish::Leave => left = Some(Left::Left),
            Wish::Gone(status) => left = Some(Left::Gone(status)),
            Wish::Unwritable(why) => left = Some(Left::Unwritable(why)),
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
    front.doing(Doing::Nothing);
    (done, left)
}
