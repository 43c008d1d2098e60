//! The pictures that a prompt mentions: which of them go with it, and what is said of that.

use crate::paint;
use crate::place::Place;
use codelet_agent::model::Profile;
use codelet_agent::session::Prompt;
use codelet_tools::pictures::{self, Picture};

/// The pictures of a prompt.
pub struct Pictures {
    found: Vec<Picture>,
    /// Why others cannot be sent, each beginning with the file.
    pub troubles: Vec<String>,
}

/// The pictures that a prompt mentions, as they are now.
pub fn of(prompt: &str, place: &Place) -> Pictures {
    let mentioned = pictures::mentioned(prompt, &place.directory, place.home.as_deref());
    Pictures {
        found: mentioned.pictures,
        troubles: mentioned.troubles,
    }
}

/// What is said where a model does not take these pictures.
pub fn unseen(model: &Profile, pictures: &str) -> String {
    let name = &model.name;
    format!(
        "{name} is not known to accept images, so the prompt is sent without {pictures}. If it accepts them, set `sees_images = true` under [models.\"{name}\"] in your settings."
    )
}

impl Pictures {
    /// Leaves them all out if the model does not take any, and says so.
    pub fn unseen_by(&mut self, model: &Profile) -> Option<String> {
        if model.sees_images || self.found.is_empty() {
            return None;
        }
        let names = self.names();
        self.found.clear();
        Some(unseen(model, &names))
    }

    /// Which ones go with the prompt; `None` where there are none.
    pub fn told(&self) -> Option<String> {
        let shown = |picture: &Picture| format!("{} ({})", picture.name, paint::bytes(picture.bytes));
        let shown: Vec<String> = self.found.iter().map(shown).collect();
        (!shown.is_empty()).then(|| format!("Attached {}.", shown.join(", ")))
    }

    /// The prompt with them.
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
