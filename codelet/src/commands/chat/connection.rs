//! `/model`: a change of model during a session, and the endpoint for it.

use crate::exit::Failure;
use crate::fallback::is_elsewhere;
use crate::loading;
use crate::model::{self, asked_at};
use crate::place::variable;
use crate::settings::{From, Set, Settings};
use codelet_providers::{Loading, address};
use codelet_terminal::{Connect, ModelLookup};
use std::cell::RefCell;
use std::rc::Rc;

/// State of the confirmation for leaving a configured base URL.
#[derive(Default)]
struct Away {
    /// The model requested last, whose endpoint is elsewhere.
    wanted: Option<String>,
    has_left: bool,
}

/// Returns the function that connects to a model by name and points the tools to it. Another vendor's model is not
/// reached at the configured base URL: the user may not want the conversation to go anywhere else, so the same request
/// must be repeated as confirmation.
pub(in crate::commands) fn connect(settings: Settings, tools: codelet_tools::Reach) -> Connect {
    let away = Rc::new(RefCell::new(Away::default()));
    Box::new(move |name, tell| {
        let mut settings = settings.clone();
        let (tools, away) = (tools.clone(), Rc::clone(&away));
        let is_elsewhere = is_elsewhere(&settings.model.value, &name);
        let wanted = away.borrow_mut().wanted.take();
        settings.model.take(Some(name), &From::CommandLine);
        // The session sets the current effort itself.
        settings.effort = Settings::default().effort;
        if is_elsewhere {
            let left = std::mem::replace(&mut settings.base_url, Settings::default().base_url);
            settings.heed(&variable);
            let name = &settings.model.value;
            let is_new = !away.borrow().has_left && wanted.as_ref() != Some(name);
            if is_new && let Some(told) = held(&settings, &left) {
                away.borrow_mut().wanted = Some(name.clone());
                return Box::pin(async { Ok(ModelLookup::Held(told)) });
            }
        }
        Box::pin(async move {
            let mut is_told = false;
            let mut waits = |loading: Loading| {
                if !std::mem::replace(&mut is_told, true) {
                    // Sending fails if the user has cancelled.
                    let _ = tell.send(format!("{} (Esc cancels)", loading::words(&loading)));
                }
            };
            match model::connect(&settings, &mut waits).await {
                Ok(model) => {
                    tools.show_images(model.profile().sees_images);
                    away.borrow_mut().has_left = is_elsewhere;
                    let address = asked_at(&settings);
                    Ok(ModelLookup::Model { model, address })
                }
                Err(Failure::Told(why)) => Err(why),
                Err(Failure::PipeClosed) => Err("the connection was closed".to_owned()),
            }
        })
    })
}

/// Returns the warning before a configured base URL is left for the model of these settings; `None` if none was set, or
/// the other endpoint cannot be used.
fn held(settings: &Settings, left: &Set<Option<String>>) -> Option<String> {
    let vendor = settings.vendor()?;
    let given = address::shown(left.value.as_deref()?);
    if !vendor.keys.is_empty() && model::let_in(settings, vendor).is_none() {
        return None;
    }
    let from = match &left.from {
        From::CommandLine => "--base-url".to_owned(),
        From::Environment(name) => format!("${name}"),
        from => format!("base_url, {from}"),
    };
    let (name, there) = (&settings.model.value, asked_at(settings));
    Some(format!(
        "Not switched yet: {name} is served at {there}, not at {given} ({from}). The whole conversation would be sent there. \
         Repeat the command to confirm."
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_for_the_vendor_that_it_was_given_for() {
        for (first, name, is) in [
            ("anthropic/one", "anthropic/two", false),
            ("anthropic/one", "openai/two", true),
            ("a-model", "another-model", false),
            ("qwen-of-ours/one", "llama-of-ours/two", false),
            ("a-model", "openai/two", true),
            ("openai/one", "a-model", true),
        ] {
            assert_eq!(is_elsewhere(first, name), is, "{first} {name}");
        }
    }
}
