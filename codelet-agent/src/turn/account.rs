//! Puts requests on the bill, and tells whoever keeps figures of them.

use crate::model::{Billed, Reply};
use crate::session::Session;
use crate::tool::event::{Event, Listen};
use codelet_context::conversation::Report;
use codelet_context::tokens::{Tokens, estimate_message};
use codelet_context::usage::Usage;

/// Puts an answered request on the bill. Where the provider has not counted its prompt, which is estimated at so many tokens,
/// the limits of the run hold by that estimate, and the user is told once.
pub(crate) fn account_answer(session: &mut Session, reply: &Reply, prompt: Tokens, listener: &mut dyn Listen) {
    if reply.billed.usage.prompt() > 0 {
        return account(session, &reply.billed, listener);
    }
    let output = match reply.billed.usage.output {
        0 => estimate_message(&reply.message),
        output => output,
    };
    let estimate = Usage::from_exclusive(prompt, 0, 0, output);
    account_estimate(session, &reply.billed, estimate, listener);
}

/// Puts a request on the bill that has no whole answer. Many providers count with the end of an answer only: of what `came`,
/// and of the prompt that was read for it, there is an estimate then.
pub(crate) fn account_part(
    session: &mut Session,
    billed: Option<Billed>,
    came: Option<Tokens>,
    listener: &mut dyn Listen,
) {
    match (billed, came) {
        (billed, Some(output)) if billed.is_none_or(|billed| billed.usage.prompt() == 0) => {
            let prompt = session.conversation.state("", 0).current;
            let estimate = Usage::from_exclusive(prompt, 0, 0, output);
            account_estimate(session, &billed.unwrap_or_default(), estimate, listener);
        }
        (Some(billed), _) => account(session, &billed, listener),
        (None, _) => {}
    }
}

/// Puts a request on the bill whose prompt the provider has read and not counted.
fn account_estimate(session: &mut Session, billed: &Billed, estimate: Usage, listener: &mut dyn Listen) {
    let price = session.parts.model.profile().price.as_ref();
    session.bill.add_estimate(billed, estimate, price);
    session.put_on_tab();
    if let Some(witness) = &mut session.witness {
        // No sum is given for it.
        witness.billed(billed, None);
    }
    if price.is_some() && !std::mem::replace(&mut session.has_told_of_estimate, true) {
        let told =
            "the provider did not report token usage: the cost of this request is estimated and not in the total";
        listener.on(Event::Notice(told.to_owned()));
    }
    listener.on(Event::Billed {
        billed: *billed,
        cost: None,
    });
}

/// Puts a request on the bill.
fn account(session: &mut Session, billed: &Billed, listener: &mut dyn Listen) {
    let price = session.parts.model.profile().price.as_ref();
    let cost = session.bill.add(billed, price);
    session.put_on_tab();
    if let Some(witness) = &mut session.witness {
        witness.billed(billed, price);
    }
    listener.on(Event::Billed { billed: *billed, cost });
}

/// A request's counts, as the conversation takes them.
pub(crate) fn report(billed: &Billed, is_whole: bool) -> Report {
    Report {
        usage: billed.usage,
        reasoning: billed.reasoning,
        is_whole,
    }
}
