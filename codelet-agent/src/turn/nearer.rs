//! Instructions of folders below the working directory, which the model is told when it first reads or changes a file there.

use crate::environment::instructions;
use crate::session::Session;
use crate::tool::event::Listen;
use codelet_context::body::Body;
use codelet_context::message::{Message, Origin, Part, Role, Text};
use codelet_context::reminder;
use std::path::PathBuf;
use std::sync::Arc;

/// Tells the instructions of the folders that these files lie in, behind the results of the calls that have read or changed them. What
/// the model has in sight is not told again.
pub(crate) fn tell(session: &mut Session, files: &[PathBuf], listener: &mut dyn Listen) {
    if files.is_empty() {
        return;
    }
    let world = Arc::clone(&session.parts.world);
    let places = world.places();
    let mut folders: Vec<PathBuf> = files
        .iter()
        .flat_map(|file| instructions::folders_below(&places, file))
        .filter(|folder| session.nearer.folders.insert(folder.clone()))
        .collect();
    // Calls that only look end in any order.
    folders.sort();
    let mut parts = Vec::new();
    for found in instructions::gather_below(&*world, &folders, session.nearer.taken) {
        for notice in found.notices {
            session.notice(notice, listener);
        }
        // It stands where reminders do, and must not look like one.
        let body = Body::from(reminder::escape(&found.text));
        if !body.is_blank() && !is_in_sight(session, &body) {
            session.nearer.taken += body.len();
            parts.push(Part::Text(Text::new(body, Origin::Injected)));
        }
    }
    if !parts.is_empty() {
        session.conversation.append(Message::new(Role::User, parts));
    }
}

fn is_in_sight(session: &Session, body: &Body) -> bool {
    let mut parts = session
        .conversation
        .view()
        .messages
        .iter()
        .filter(|message| message.role == Role::User)
        .flat_map(|message| &message.parts);
    parts.any(|part| matches!(part, Part::Text(text) if text.origin == Origin::Injected && text.body == *body))
}
