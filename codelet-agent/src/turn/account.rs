//! Puts requests on the bill, and reports them to the witness.

use crate::model::{Billed, Reply};
use crate::session::Session;
use crate::tool::event::{Event, Listen};
use codelet_context::conversation::Report;
use codelet_context::price::Rates;
use codelet_context::tokens::{Tokens, estimate_message};
use codelet_context::usage::Usage;

/// Puts an answered request on the bill. If the provider did not count its prompt, the run's limits use `prompt`, its
/// estimate in tokens, and the user is told once.
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

/// Puts a request without a complete answer on the bill. Many providers report usage only at the end of an answer: in
/// that case, `came` and the prompt are estimated.
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

/// Puts a request on the bill whose prompt the provider read but did not count.
fn account_estimate(session: &mut Session, billed: &Billed, estimate: Usage, listener: &mut dyn Listen) {
    let price = session.parts.model.profile().price.as_ref();
    session.bill.add_estimate(billed, estimate, price);
    session.put_on_tab();
    if let Some(witness) = &mut session.witness {
        // It has no exact cost.
        witness.billed(billed, None);
    }
    if price.is_some() && !std::mem::replace(&mut session.has_told_of_estimate, true) {
        let told = match price.is_some_and(|card| card.rates == Rates::default()) {
            true => "the provider did not report token usage: it is estimated",
            false => {
                "the provider did not report token usage: the cost of this request is estimated and not in the total"
            }
        };
        listener.on(Event::Notice(told.to_owned()));
    }
    listener.on(Event::Billed {
        billed: *billed,
        cost: None,
    });
}

fn account(session: &mut Session, billed: &Billed, listener: &mut dyn Listen) {
    let price = session.parts.model.profile().price.as_ref();
    let cost = session.bill.add(billed, price);
    session.put_on_tab();
    if let Some(witness) = &mut session.witness {
        witness.billed(billed, price);
    }
    listener.on(Event::Billed { billed: *billed, cost });
}

/// Converts a request's usage for the conversation.
pub(crate) fn report(billed: &Billed, is_whole: bool) -> Report {
    Report {
        usage: billed.usage,
        reasoning: billed.reasoning,
        is_whole,
    }
}
