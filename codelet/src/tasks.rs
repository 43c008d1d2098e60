//! The equipment of tasks: new instances of the session's tools, and the model that a definition names.

use crate::exit::Failure;
use crate::model;
use crate::settings::{From, Settings};
use codelet_agent::definitions::Author;
use codelet_agent::model::Model;
use codelet_agent::task::Outfitter;
use codelet_agent::tool::Tool;
use codelet_providers::{catalogue, vendor};
use codelet_tools::Reach;
use futures_util::future::BoxFuture;
use std::sync::Arc;

/// A factory of the equipment for a session's tasks.
pub struct Outfit {
    settings: Settings,
    reach: Reach,
    /// Tools without per-caller state.
    shared: Vec<Arc<dyn Tool>>,
}

impl Outfit {
    /// Creates the outfit for a session with these settings and tool permissions.
    pub fn new(settings: &Settings, reach: Reach, shared: Vec<Arc<dyn Tool>>) -> Self {
        Outfit {
            settings: settings.clone(),
            reach,
            shared,
        }
    }

    /// Returns the settings for a definition's model.
    ///
    /// # Errors
    /// Explains why that model is not used; nothing if it is one of another provider's families.
    fn settings_for(&self, name: &str, author: Author, current: &str) -> Result<Settings, Option<String>> {
        let known = |name: &str| {
            let is_listed = name
                .split_once('/')
                .is_some_and(|name| catalogue::listed().any(|listed| listed == name));
            is_listed || self.settings.models.contains_key(name)
        };
        let whole = match (name.contains('/'), current.split_once('/')) {
            (false, Some((vendor, _))) if FAMILIES.contains(&name) => {
                format!("{vendor}/{}", newest(vendor, name).ok_or(None)?)
            }
            (false, Some((vendor, _))) => format!("{vendor}/{name}"),
            _ => name.to_owned(),
        };
        let refused = |why: &str| {
            let shown: String = codelet_text::short::on_one_line(name).take(80).collect();
            Err(Some(format!(
                "the model {shown} of its definition {why}; it uses the session's model"
            )))
        };
        if !known(&whole) {
            return refused("is not known");
        }
        if author == Author::Project && vendor_of(&whole) != vendor_of(current) {
            return refused("is another provider's, which a project must not choose");
        }
        // A user who set a base URL may not want requests to go anywhere else.
        if self.settings.base_url.value.is_some() && vendor_of(&whole) != vendor_of(&self.settings.model.value) {
            return refused("is not available at your base_url");
        }
        let mut settings = self.settings.clone();
        settings.model.take(Some(whole), &From::CommandLine);
        Ok(settings)
    }
}

/// Names that definitions for Claude Code use for the newest model of a family.
const FAMILIES: [&str; 3] = ["haiku", "opus", "sonnet"];

/// Returns the newest model of a family that a vendor serves.
fn newest(vendor: &str, family: &str) -> Option<&'static str> {
    let version = |model: &'static str| -> Option<(Vec<u32>, &'static str)> {
        let numbers = model.strip_prefix("claude-")?.strip_prefix(family)?.split('-').skip(1);
        let numbers: Vec<u32> = numbers.map(|number| number.parse().ok()).collect::<Option<_>>()?;
        // Dated snapshots are the same models.
        numbers.iter().all(|number| *number < 1_000).then_some((numbers, model))
    };
    let models = catalogue::listed().filter(|(maker, _)| vendor == "anthropic" && *maker == vendor);
    let newest = models.filter_map(|(_, model)| version(model)).max();
    newest.map(|(_, model)| model)
}

fn vendor_of(name: &str) -> Option<&'static str> {
    vendor::find(name.split_once('/')?.0).map(|vendor| vendor.name)
}

impl Outfitter for Outfit {
    fn tools(&self, sees_images: bool) -> Vec<Arc<dyn Tool>> {
        let mut tools = self.reach.tools_anew(sees_images);
        tools.extend(self.shared.iter().cloned());
        tools
    }

    fn model<'a>(
        &'a self,
        name: &'a str,
        author: Author,
        current: &'a str,
    ) -> BoxFuture<'a, Result<Arc<dyn Model>, Option<String>>> {
        Box::pin(async move {
            let settings = self.settings_for(name, author, current)?;
            let asked = model::connect(&settings, &mut |_| {}).await;
            asked.map(Arc::from).map_err(|failure| {
                Some(match failure {
                    Failure::Told(why) => {
                        format!("the model of its definition cannot be used: {why}; it uses the session's model")
                    }
                    Failure::PipeClosed => {
                        "the model of its definition cannot be used; it uses the session's model".to_owned()
                    }
                })
            })
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use codelet_tools::{Options, all_with_reach};

    /// Returns whether no other model of the catalogue has this name with a later version.
    fn known_as_newest(model: &str) -> bool {
        let family = model.trim_end_matches(|c: char| c == '-' || c.is_ascii_digit());
        let others = catalogue::listed().map(|(vendor, model)| format!("{vendor}/{model}"));
        let mut others = others.filter(|other| other.len() <= model.len() && other.starts_with(family));
        others.all(|other| *other <= *model)
    }

    #[test]
    fn a_definition_names_a_known_model_and_a_project_only_one_of_the_same_vendor() {
        let mut settings = Settings::default();
        let reach = all_with_reach(&Options::new("/tmp")).1;
        let models: Vec<String> = catalogue::listed()
            .map(|(vendor, model)| format!("{vendor}/{model}"))
            .collect();
        let of = |vendor: &'static str| models.iter().filter(move |name| name.starts_with(vendor));
        let (Some(own), Some(sister), Some(foreign)) =
            (of("anthropic/").next(), of("anthropic/").nth(1), of("openai/").next())
        else {
            panic!("{models:?}");
        };
        let check = |settings: &Settings, name: &str, author, is_asked: bool| {
            let outfit = Outfit::new(settings, reach.clone(), Vec::new());
            let found = outfit.settings_for(name, author, own);
            assert_eq!(found.as_ref().is_ok_and(|_| true), is_asked, "{name} {:?}", found.err());
        };
        let bare = sister.trim_start_matches("anthropic/");
        for author in [Author::User, Author::Project] {
            check(&settings, sister, author, true);
            check(&settings, bare, author, true);
            check(&settings, "sonnet-of-nobody", author, false);
            check(&settings, "elsewhere/http://evil", author, false);
        }
        for family in FAMILIES {
            let found = Outfit::new(&settings, reach.clone(), Vec::new()).settings_for(family, Author::Project, own);
            let model = found.unwrap().model.value;
            assert!(model.contains(family) && known_as_newest(&model), "{model}");
            // Another provider has none: the session's model is used, and nothing needs to be said.
            let other = Outfit::new(&settings, reach.clone(), Vec::new()).settings_for(family, Author::User, foreign);
            assert_eq!(other.err(), Some(None));
        }
        check(&settings, foreign, Author::User, true);
        check(&settings, foreign, Author::Project, false);
        settings.base_url.value = Some("http://127.0.0.1:1".to_owned());
        check(&settings, foreign, Author::User, false);
        check(&settings, sister, Author::Project, true);
    }
}
