//! `/effort`: the model's thinking effort, its possible values, and the effect of a change on the prompt cache.

use crate::render::figures::count;
use codelet_agent::effort::{CacheAfter, Effort, names};
use codelet_agent::session::Session;
use codelet_text::near;

/// The word for the provider's own default.
const DEFAULT: &str = "default";

/// Describes the current effort and the available ones.
pub fn shown(session: &Session) -> String {
    let model = session.model();
    let (name, efforts) = (&model.profile().name, model.efforts());
    if efforts.is_empty() {
        return format!("{name} does not support a thinking effort.");
    }
    let current = match model.effort() {
        Some(effort) => effort.name(),
        None => "the provider's default",
    };
    format!(
        "Thinking effort: {current}. {name} takes {}, or {DEFAULT}.",
        names(&efforts)
    )
}

/// The values that can be requested.
pub fn taken(session: &Session) -> Vec<String> {
    let efforts = session.model().efforts();
    let default = (!efforts.is_empty()).then_some(DEFAULT);
    efforts
        .iter()
        .map(|effort| effort.name())
        .chain(default)
        .map(str::to_owned)
        .collect()
}

/// Changes the effort to the one of this name. Returns a message and the effort.
///
/// # Errors
/// If there is no such effort or the model does not support it; nothing is changed then.
pub fn change(session: &mut Session, wanted: &str) -> Result<(String, Option<Effort>), String> {
    let effort = match wanted.to_ascii_lowercase().as_str() {
        DEFAULT => None,
        name => Some(Effort::from_name(name).ok_or_else(|| {
            let all = Effort::ALL.map(Effort::name);
            match &*near::hint(name, all.into_iter().chain([DEFAULT])) {
                "" => refused(session, wanted),
                meant => format!("Unknown thinking effort {wanted}{meant}"),
            }
        })?),
    };
    let before = session.model().effort();
    let Some(after) = session.change_effort(effort) else {
        return Err(refused(session, wanted));
    };
    let to = effort.map_or("the provider's default", Effort::name);
    if before == effort {
        return Ok((format!("Thinking effort is {to} already."), effort));
    }
    let cache = match after {
        _ if session.steps() == 0 => String::new(),
        CacheAfter::Kept => " The prompt cache stays valid.".to_owned(),
        CacheAfter::Lost => format!(" {}", cache_lost(session)),
        CacheAfter::Unknown => " This provider does not say whether its prompt cache stays valid.".to_owned(),
    };
    Ok((
        format!("Thinking effort: {to} from the next request on.{cache}"),
        effort,
    ))
}

/// Says what the loss of the prompt cache means.
pub fn cache_lost(session: &Session) -> String {
    let tokens = session.conversation().state("", 0).current;
    let again = count(tokens, "token");
    format!("The prompt cache is lost: the next request pays for the whole conversation again ({again}).")
}

/// Applies the user's effort to a new model. Returns a message if the model does not support it.
pub fn carried_over(session: &mut Session, wanted: Option<Effort>) -> Option<String> {
    let effort = wanted?;
    match session.change_effort(Some(effort)) {
        Some(_) => None,
        None => Some(format!(
            "{} Its provider's default is used.",
            refused(session, effort.name())
        )),
    }
}

fn refused(session: &Session, wanted: &str) -> String {
    let (name, efforts) = (&session.model().profile().name, session.model().efforts());
    match efforts.is_empty() {
        true => format!("{name} does not support a thinking effort."),
        false => format!(
            "{name} does not take the thinking effort {wanted}; it takes {}, or {DEFAULT}.",
            names(&efforts)
        ),
    }
}
