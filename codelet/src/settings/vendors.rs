//! Vendor settings from the environment, used where no file and no option sets them: the vendor, its URL, and its key.

use super::{From, Key, Set, Settings};
use codelet_providers::vendor::{self, Vendor};

impl Settings {
    /// Sets the model of the first vendor that can be used, and the base URL of the model's vendor, unless they are
    /// set. Files and the command line take precedence; a project's model applies only if it belongs to that vendor, or
    /// if the user has no key for any.
    pub fn heed(&mut self, variable: &LookUp<'_>) {
        if self.model.from == From::Default {
            let asked = || vendor::vendors().filter(|vendor| !vendor.usual_model.is_empty());
            let with_key = asked().find_map(|vendor| Some((vendor, self.key(vendor, variable)?.from)));
            let found = with_key.or_else(|| asked().find_map(|vendor| Some((vendor, address(vendor, variable)?.from))));
            if let Some((vendor, from)) = found {
                self.model.take(Some(usual_model(vendor)), &from);
            }
        }
        // The command line takes precedence.
        let offered = self.project_model.take();
        if let Some(offered) = offered.filter(|_| self.model.from != From::CommandLine) {
            if self.model.from == From::Default || is_of_same_vendor(&offered.value, &self.model.value) {
                self.model = offered;
            } else {
                let (usual, name) = (&self.model.value, &offered.value);
                self.notices.push(format!(
                    "{}: ignored model: a project cannot choose another provider than the one that you would use without it ({usual}); for \
                     {name:?} use --model or your own settings file",
                    offered.from
                ));
            }
        }
        if self.base_url.value.is_none()
            && let Some(vendor) = self.vendor()
            && let Some(found) = address(vendor, variable)
        {
            self.base_url = found;
        }
    }

    /// Returns the vendor of the model; `None` if its name contains none.
    pub fn vendor(&self) -> Option<&'static Vendor> {
        self.model
            .value
            .split_once('/')
            .and_then(|(vendor, _)| vendor::find(vendor))
    }

    /// Returns the credential for a vendor: the environment takes precedence over the settings, and a token over a key,
    /// since a user with both has the token from a gateway that accepts nothing else.
    pub fn key(&self, vendor: &Vendor, variable: &LookUp<'_>) -> Option<Login> {
        let from_environment = vendor.tokens.iter().chain(vendor.keys).find_map(|name| {
            Some(Login {
                key: Key::new(variable(name)?),
                is_token: vendor.tokens.contains(name),
                from: From::Environment((*name).to_owned()),
            })
        });
        from_environment.or_else(|| {
            Some(Login {
                key: self.keys.get(vendor.name)?.clone(),
                is_token: false,
                from: From::File(self.user_file.clone()?),
            })
        })
    }
}

/// A lookup of variables by name.
pub type LookUp<'a> = dyn Fn(&str) -> Option<String> + 'a;

/// A credential for a vendor.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Login {
    /// The key or token.
    pub key: Key,
    /// True if it is a token.
    pub is_token: bool,
    /// The source.
    pub from: From,
}

/// Returns the base URL that a variable sets for a vendor's models.
fn address(vendor: &Vendor, variable: &LookUp<'_>) -> Option<Set<Option<String>>> {
    let name = vendor.base_url_variable?;
    Some(Set {
        value: Some(variable(name)?),
        from: From::Environment(name.to_owned()),
    })
}

/// Returns whether two models, written with their vendors, belong to the same vendor under any of its names.
pub(super) fn is_of_same_vendor(one: &str, other: &str) -> bool {
    let vendor = |model: &str| {
        let (vendor, _) = model.split_once('/')?;
        Some(vendor::find(vendor).map_or_else(|| vendor.to_owned(), |vendor| vendor.name.to_owned()))
    };
    vendor(one) == vendor(other)
}

pub(super) fn usual_model(vendor: &Vendor) -> String {
    format!("{}/{}", vendor.name, vendor.usual_model)
}
