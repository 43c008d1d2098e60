//! Assembles a compacted view.

use super::draft::Draft;
use super::fold::Fold;
use super::told::Summary;
use crate::message::pending;
use crate::message::recall::Archive;
use crate::message::view::View;
use crate::message::{Message, Origin, Part, Role};
use crate::ranking::earlier;
use crate::strategy;
use std::sync::Arc;

/// Assembles the kept messages, shared with the history if unchanged, with the fold in place of its first prompt and
/// the summary between them, so that everything is in order of time. The current state and the ending follow.
pub(super) fn of(
    history: &[Arc<Message>],
    mut drafts: Vec<Draft>,
    fold: Option<Fold>,
    (summary, ending): (Summary, String),
    archive: Archive,
) -> View {
    let mut view = View {
        messages: Vec::with_capacity(drafts.len() + 4),
        archive,
    };
    let say = |origin, text: String| Arc::new(Message::new(Role::User, vec![Part::text_from(origin, text)]));
    let has_summary = !(summary.head.is_empty() && summary.behind.is_empty());
    if has_summary {
        drafts.iter_mut().for_each(|draft| warn(&mut draft.message));
    }
    let mut head = summary.head.into_iter().peekable();
    let mut fold = fold.map(|fold| (fold.sources.first().copied(), Arc::new(fold.message)));
    for draft in drafts {
        if let Some((_, message)) = fold.take_if(|(first, _)| first.is_none_or(|first| draft.source >= first)) {
            view.messages.push(message);
        }
        // No text stands between a call and its results.
        let is_answer = draft.message.tool_results().next().is_some();
        while let Some((_, text)) = head.next_if(|(at, _)| !is_answer && draft.source >= *at) {
            view.messages.push(say(Origin::Summary, text));
        }
        let source = &history[draft.source];
        view.messages.push(match **source == draft.message {
            true => source.clone(),
            false => Arc::new(draft.message),
        });
    }
    view.messages.extend(fold.map(|(_, message)| message));
    // A reply that the vendor will continue stays last, with the results that it waits for.
    let waiting = pending::waiting(&view.messages);
    let paused = view.messages.split_off(waiting);
    view.messages.extend(head.map(|(_, text)| say(Origin::Summary, text)));
    if !summary.behind.is_empty() {
        view.messages.push(say(Origin::Summary, summary.behind));
    }
    if has_summary {
        view.messages.push(say(Origin::Notice, ending));
    }
    view.messages.extend(paused);
    strategy::pair(&mut view);
    view
}

/// Puts a warning before each text that begins like one of the engine's.
fn warn(message: &mut Message) {
    let (role, parts) = (message.role, std::mem::take(&mut message.parts));
    let count = parts.len();
    let warned = |part: Part| earlier::warning(role, &part).into_iter().chain([part]);
    message.parts = parts.into_iter().flat_map(warned).collect();
    message.bare &= message.parts.len() == count;
}
