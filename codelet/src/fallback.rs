//! The fallback model: which one takes over while the provider stays overloaded, and how it is connected.

use crate::exit::Failure;
use crate::model;
use crate::place::variable;
use crate::settings::{From, Settings};
use codelet_agent::fallback::Fallback;
use codelet_agent::model::Model;
use codelet_agent::session::Session;
use codelet_providers::{Loading, vendor};
use codelet_text::short::grouped;
use codelet_tools::Reach;

/// The fallback model, if there is one.
#[derive(Default)]
pub struct Standby {
    model: Option<(Box<dyn Model>, String)>,
    notice: Option<String>,
}

impl Standby {
    /// Connects to the fallback that the settings name. One from a settings file that cannot be used here is skipped
    /// with a notice, since the file applies to every machine.
    ///
    /// # Errors
    /// If the command line names one that cannot be used.
    pub async fn connect(settings: &Settings, told: &mut (dyn FnMut(Loading) + Send)) -> Result<Self, Failure> {
        let Some(name) = &settings.fallback.value else {
            return Ok(Standby::default());
        };
        let there = settings_for(settings, name);
        let connected = match *name == settings.model.value {
            true => Err(Failure::Told(format!("{name} is also the model"))),
            false => model::connect(&there, told).await,
        };
        match connected {
            Ok(model) => Ok(Standby {
                notice: assumed(&*model),
                model: Some((model, format!("{name} at {}", model::asked_at(&there)))),
            }),
            Err(Failure::Told(why)) if settings.fallback.from == From::CommandLine => {
                Err(Failure::Told(format!("--fallback: {why}")))
            }
            Err(Failure::Told(why)) => Ok(Standby {
                model: None,
                notice: Some(format!(
                    "the fallback cannot be used: {why} (fallback, {})",
                    settings.fallback.from
                )),
            }),
            Err(other) => Err(other),
        }
    }

    /// Registers the fallback with the session and keeps the tools in line with the active model. Returns a notice for
    /// the user.
    pub fn serve(self, session: &mut Session, tools: Reach) -> Option<String> {
        if let Some((model, shown)) = self.model {
            let changed = move |model: &dyn Model| tools.show_images(model.profile().sees_images);
            session.falls_back_to(Fallback::new(model, shown, Box::new(changed)));
        }
        self.notice
    }
}

/// Returns the notice of the assumptions for a fallback that is not in the catalogue.
fn assumed(model: &dyn Model) -> Option<String> {
    let profile = model.profile();
    profile.is_unknown.then(|| {
        format!(
            "unknown fallback {}: assuming a context window of {} tokens (set it under [models.\"{}\"] in the settings)",
            profile.name,
            grouped(profile.window),
            profile.name
        )
    })
}

/// Returns the settings for this fallback model. The base URL is dropped if it belongs to another vendor; a requested
/// effort applies only if the fallback supports it.
fn settings_for(settings: &Settings, name: &str) -> Settings {
    let mut there = settings.clone();
    if is_elsewhere(&settings.model.value, name) {
        there.base_url = Settings::default().base_url;
    }
    there.model.take(Some(name.to_owned()), &settings.fallback.from);
    there.effort.from = From::Default;
    there.heed(&variable);
    there
}

/// Returns whether this model is not served from the base URL of the first one. Names without a known vendor belong to
/// the same server.
pub fn is_elsewhere(first: &str, name: &str) -> bool {
    let vendor = |name: &str| vendor::find(name.split_once('/')?.0).map(|vendor| vendor.name);
    vendor(first) != vendor(name)
}
