//! `/notes`: adds or drops a note of the user. Such a note is a pinned sentence.

use crate::pins;
use codelet_agent::session::Session;
use codelet_context::pin::Pin;

/// The sentences that the user pinned.
pub fn added(session: &Session) -> Vec<Pin> {
    let pins = session.conversation().pins().iter();
    let sentences = pins.filter(|pin| matches!(pin, Pin::Text(_)) && pins::file_of(session, pin).is_none());
    sentences.cloned().collect()
}

/// Carries out `add SENTENCE` or `drop NUMBER`; returns a sentence that reports it.
///
/// # Errors
/// Returns why nothing was done, in a sentence.
pub fn change(session: &mut Session, words: &str) -> Result<String, String> {
    let (verb, rest) = words.split_once(char::is_whitespace).unwrap_or((words, ""));
    match (verb, rest.trim()) {
        ("add", sentence) if !sentence.is_empty() => add(session, sentence),
        ("drop", number) => drop_note(session, number),
        _ => Err("Usage: /notes, /notes add SENTENCE or /notes drop NUMBER.".to_owned()),
    }
}

fn add(session: &mut Session, sentence: &str) -> Result<String, String> {
    let sentence = session.hidden(sentence);
    if !session.conversation_mut().pin(Pin::Text(sentence.clone())) {
        return Err("This note exists already.".to_owned());
    }
    session.tell_pinned(&sentence);
    Ok("Noted; sent with your next prompt and kept by every compaction.".to_owned())
}

fn drop_note(session: &mut Session, number: &str) -> Result<String, String> {
    let at = number.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
    let written = session.conversation().notes();
    let missing = || format!("No note {number}; /notes lists them.");
    let at = at.ok_or_else(missing)?;
    let (note, written) = (written.get(at).map(|note| (*note).clone()), written.len());
    if let Some(note) = note {
        let told = format!("Dropped: {}. The model learns it with your next prompt.", note.line());
        session.drop_note(note);
        return Ok(told);
    }
    let pin = added(session).into_iter().nth(at - written).ok_or_else(missing)?;
    session.conversation_mut().unpin(&pin);
    Ok(format!("Dropped your note {number}."))
}
