//! Instructions of folders below the working directory, sent when the model first works there.

use crate::environment::instructions;
use crate::session::Session;
use crate::tool::event::Listen;
use codelet_context::body::Body;
use codelet_context::message::{Message, Origin, Part, Role, Text};
use codelet_context::reminder;
use std::path::PathBuf;
use std::sync::Arc;

/// Sends the instructions of these folders and of those that contain these files and folders, after the results of the
/// calls that touched them. Instructions still in the context are not repeated.
pub(crate) fn tell(session: &mut Session, touched: &[PathBuf], listener: &mut dyn Listen) {
    if touched.is_empty() {
        return;
    }
    let world = Arc::clone(&session.parts.world);
    let places = world.places();
    let mut folders: Vec<PathBuf> = touched
        .iter()
        .flat_map(|path| instructions::folders_below(&places, path, world.is_folder(path)))
        .filter(|folder| session.nearer.folders.insert(folder.clone()))
        .collect();
    // Parallel calls end in any order.
    folders.sort();
    let mut parts = Vec::new();
    for found in instructions::gather_below(&*world, &folders, session.nearer.taken) {
        for notice in found.notices {
            session.notice(notice, listener);
        }
        // Reminders appear in the same position, and this must not look like one.
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
