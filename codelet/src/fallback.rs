//! The fallback: which model is asked where the provider stays overloaded, and where that is.

use crate::exit::Failure;
use crate::place::variable;
use crate::settings::{From, Settings};
use crate::world;
use codelet_agent::fallback::Fallback;
use codelet_agent::model::Model;
use codelet_agent::session::Session;
use codelet_providers::{Loading, vendor};
use codelet_text::short::grouped;
use codelet_tools::Reach;

/// The model that waits for its turn, if one does.
#[derive(Default)]
pub struct Standby {
    model: Option<(Box<dyn Model>, String)>,
    notice: Option<String>,
}

impl Standby {
    /// Connects to the fallback that the settings name. One of a settings file that cannot be asked here is left out, with a notice: the
    /// file is for every machine.
    ///
    /// # Errors
    /// When the command line names one that cannot be asked.
    pub async fn connect(settings: &Settings, told: &mut (dyn FnMut(Loading) + Send)) -> Result<Self, Failure> {
        let Some(name) = &settings.fallback.value else {
            return Ok(Standby::default());
        };
        let there = settings_for(settings, name);
        let connected = match *name == settings.model.value {
            true => Err(Failure::Told(format!("{name} is the model itself"))),
            false => world::model(&there, told).await,
        };
        match connected {
            Ok(model) => Ok(Standby {
                notice: assumed(&*model),
                model: Some((model, format!("{name} at {}", world::asked_at(&there)))),
            }),
            Err(Failure::Told(why)) if settings.fallback.from == From::CommandLine => {
                Err(Failure::Told(format!("--fallback: {why}")))
            }
            Err(Failure::Told(why)) => Ok(Standby {
                model: None,
                notice: Some(format!(
                    "there is no fallback (fallback, {}): {why}",
                    settings.fallback.from
                )),
            }),
            Err(other) => Err(other),
        }
    }

    /// Has the session fall back to it; the tools work for whichever model is asked. Returns what the user should know.
    pub fn serve(self, session: &mut Session, tools: Reach) -> Option<String> {
        if let Some((model, shown)) = self.model {
            let changed = move |model: &dyn Model| tools.show_images(model.profile().sees_images);
            session.falls_back_to(Fallback::new(model, shown, Box::new(changed)));
        }
        self.notice
    }
}

/// What is taken for granted of a model that no catalogue knows.
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

/// The settings under which a model of this name is asked beside the one of the settings. An address is for the vendor that it was given
/// for, and an effort that was asked of the first is one that the other takes or not.
fn settings_for(settings: &Settings, name: &str) -> Settings {
    let mut there = settings.clone();
    if is_elsewhere(&settings.model.value, name) {
        there.base_url = Settings::default().base_url;
    }
    there.model.take(Some(name.to_owned()), &From::CommandLine);
    there.effort.from = From::Default;
    there.heed(&variable);
    there
}

/// Whether this model is not asked at the address that was given for the first one. Names without a known vendor are the
/// server's own.
pub fn is_elsewhere(first: &str, name: &str) -> bool {
    let vendor = |name: &str| vendor::find(name.split_once('/')?.0).map(|vendor| vendor.name);
    vendor(first) != vendor(name)
}
