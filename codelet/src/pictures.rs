//! Images mentioned in a prompt: selects those to attach, and words the messages about them.

use crate::paint;
use crate::place::Place;
use codelet_agent::model::Profile;
use codelet_agent::session::Prompt;
use codelet_tools::pictures::{self, Picture};

/// The images of a prompt.
pub struct Pictures {
    found: Vec<Picture>,
    /// The reasons why others cannot be attached, each beginning with the file.
    pub troubles: Vec<String>,
}

/// Loads the images that a prompt mentions.
pub fn of(prompt: &str, place: &Place) -> Pictures {
    let mentioned = pictures::mentioned(prompt, &place.directory, place.home.as_deref());
    Pictures {
        found: mentioned.pictures,
        troubles: mentioned.troubles,
    }
}

/// Returns the message for a model that does not accept images.
pub fn unseen(model: &Profile, pictures: &str) -> String {
    let name = &model.name;
    format!(
        "{name} is not known to accept images, so the prompt is sent without {pictures}. If it accepts them, set `sees_images = true` under [models.\"{name}\"] in your settings."
    )
}

impl Pictures {
    /// Drops all images if the model accepts none, and returns a message about it.
    pub fn unseen_by(&mut self, model: &Profile) -> Option<String> {
        if model.sees_images || self.found.is_empty() {
            return None;
        }
        let names = self.names();
        self.found.clear();
        Some(unseen(model, &names))
    }

    /// Lists the attached images; `None` without any.
    pub fn told(&self) -> Option<String> {
        let shown = |picture: &Picture| format!("{} ({})", picture.name, paint::bytes(picture.bytes));
        let shown: Vec<String> = self.found.iter().map(shown).collect();
        (!shown.is_empty()).then(|| format!("Attached {}.", shown.join(", ")))
    }

    /// Returns the prompt with the images.
    pub fn with(self, text: String) -> Prompt {
        Prompt {
            text,
            images: self.found.into_iter().map(|picture| picture.image).collect(),
            ..Prompt::default()
        }
    }

    fn names(&self) -> String {
        let names: Vec<&str> = self.found.iter().map(|picture| picture.name.as_str()).collect();
        names.join(", ")
    }
}
