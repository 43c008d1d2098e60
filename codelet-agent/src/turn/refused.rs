//! Removes what a provider rejects from the conversation, so that the next request is answered.

use crate::environment::spelling::first;
use crate::model::Suspects;
use crate::model::picture;
use crate::run::Run;
use crate::session::Session;
use crate::tool::event::{Event, Listen};
use codelet_context::conversation::{Earlier, PartPosition, Withdrawn};
use codelet_context::message::{Image, Part, Role};

/// Removes what the provider has rejected from the conversation, and tells the user. Returns false if nothing is left
/// to try; then the request is not repeated.
pub(crate) fn leave_out(
    session: &mut Session,
    run: &mut Run,
    (suspects, said): (&Suspects, &str),
    listener: &mut dyn Listen,
) -> bool {
    let may = run.may_leave_out();
    if may == 0 {
        return false;
    }
    let is_last = may == 1;
    let places = match suspects {
        Suspects::Unknown => Vec::new(),
        Suspects::Parts(places) => places.clone(),
        // The rejected part is unknown, and an earlier guess was wrong.
        _ if is_last => pictures(session, |_, _| true),
        Suspects::AllPictures => pictures(session, |_, _| true),
        Suspects::PicturesAbove(most) => {
            let is_above = |image: &Image| picture::longer_side(image).is_none_or(|side| side > *most);
            let above = pictures(session, |_, image| is_above(image));
            if above.is_empty() { newest(session) } else { above }
        }
        Suspects::NewestPictures => newest(session),
    };
    let left = session.conversation.withdraw(&places);
    if left.is_empty() {
        return false;
    }
    listener.on(Event::Notice(format!(
        "the provider rejected part of the conversation: {said}; {} {} removed (kept as {}), and the request is sent again",
        count(&left),
        if left.len() == 1 { "was" } else { "were" },
        handles(&left)
    )));
    run.on_left_out();
    true
}

/// Removes the turn that a provider has refused from the conversation, and tells the user: every later request with it
/// would be refused.
pub(crate) fn take_turn_back(session: &mut Session, before: &Earlier, listener: &mut dyn Listen) {
    if let Some(turn) = session.conversation.withdraw_since(before) {
        listener.on(Event::TakenBack(turn));
    }
}

/// Returns the images after the last answer, which are in no answered request; all images if there are none.
fn newest(session: &Session) -> Vec<PartPosition> {
    let messages = &session.conversation.view().messages;
    let answered = messages.iter().rposition(|message| message.role == Role::Assistant);
    let since = answered.map_or(0, |answered| answered + 1);
    let newest = pictures(session, |at, _| at >= since);
    match newest.is_empty() {
        true => pictures(session, |_, _| true),
        false => newest,
    }
}

/// Returns the images of the view that satisfy the predicate.
fn pictures(session: &Session, is_meant: impl Fn(usize, &Image) -> bool) -> Vec<PartPosition> {
    let mut places = Vec::new();
    for (message, said) in session.conversation.view().messages.iter().enumerate() {
        for (part, it) in said.parts.iter().enumerate() {
            let mut note = |block: &Part, within| {
                if let Part::Image(image) = block
                    && is_meant(message, image)
                {
                    places.push(PartPosition { message, part, within });
                }
            };
            match it {
                Part::ToolResult(result) => {
                    for (within, block) in result.output.iter().enumerate() {
                        note(block, Some(within));
                    }
                }
                it => note(it, None),
            }
        }
    }
    places
}

/// Describes what was removed.
fn count(left: &[Withdrawn]) -> String {
    match left {
        [one] => format!("the {}", one.label),
        many if many.iter().all(|it| it.label.ends_with("image")) => format!("{} pictures", many.len()),
        many => format!("{} parts", many.len()),
    }
}

/// The maximum number of handles listed.
const NAMED: usize = 3;

fn handles(left: &[Withdrawn]) -> String {
    let handles: Vec<String> = left.iter().map(|it| it.handle.to_string()).collect();
    first(&handles, NAMED)
}
