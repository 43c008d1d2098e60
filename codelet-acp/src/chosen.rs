//! What can be chosen in a session: how far the tools may go, the model, and how much it thinks.

use crate::host::Reach;
use agent_client_protocol::v1::schema::{
    SessionConfigOption, SessionConfigOptionCategory, SessionConfigSelectOption, SessionMode, SessionModeState,
};
use codelet_agent::effort::Effort;
use codelet_agent::permission::{Gate as _, Permission};
use codelet_agent::session::Session;

/// The options by which they are named.
pub(crate) const MODE: &str = "mode";
pub(crate) const MODEL: &str = "model";
pub(crate) const EFFORT: &str = "effort";
/// The effort that the provider takes by itself.
const DEFAULT: &str = "default";

/// What somebody reads of a permission.
fn words(permission: Permission) -> (&'static str, &'static str) {
    match permission {
        Permission::Plan => ("Plan", "Only looks, and answers with a plan"),
        Permission::Read => ("Read", "Reads the workspace; asks before anything else"),
        Permission::Edit => (
            "Edit",
            "Also changes files in the workspace and runs commands that the settings allow; asks before others",
        ),
        Permission::All => (
            "All",
            "Does anything without asking, and commands run without a sandbox",
        ),
    }
}

/// The modes, and the one that holds.
pub(crate) fn modes(reach: &Reach) -> SessionModeState {
    let modes = Permission::ALL.map(|permission| {
        let (name, description) = words(permission);
        SessionMode::new(permission.name(), name).description(description.to_owned())
    });
    SessionModeState::new(reach.gate.permission().name(), modes.to_vec())
}

/// Lets the tools go as far as a mode says; no if there is none of that name.
pub(crate) fn set_mode(reach: &Reach, name: &str) -> bool {
    let Some(permission) = Permission::from_name(name) else {
        return false;
    };
    permit(reach, permission);
    true
}

/// Lets the tools go as far as this.
pub(crate) fn permit(reach: &Reach, permission: Permission) {
    reach.gate.permit(permission);
    (reach.permit)(permission);
}

/// An effort by its name; none if there is no such one.
pub(crate) fn effort(name: &str) -> Option<Option<Effort>> {
    match name {
        DEFAULT => Some(None),
        name => Effort::from_name(name).map(Some),
    }
}

/// The modes as an option: editors that know options look at nothing else.
pub(crate) fn mode_option(reach: &Reach) -> SessionConfigOption {
    let modes = Permission::ALL.map(|permission| {
        let (name, description) = words(permission);
        SessionConfigSelectOption::new(permission.name(), name).description(description.to_owned())
    });
    SessionConfigOption::select(MODE, "Permission", reach.gate.permission().name(), modes.to_vec())
        .category(SessionConfigOptionCategory::Mode)
        .description("What the tools may do without asking".to_owned())
}

/// All options with what holds of each; the mode is the first.
pub(crate) fn options(reach: &Reach, session: &Session) -> Vec<SessionConfigOption> {
    let mut models = reach.models.clone();
    if !models.contains(&reach.model) {
        models.insert(0, reach.model.clone());
    }
    let models: Vec<SessionConfigSelectOption> = models
        .into_iter()
        .map(|name| SessionConfigSelectOption::new(name.clone(), name))
        .collect();
    let model = SessionConfigOption::select(MODEL, "Model", reach.model.clone(), models);
    let mut options = vec![mode_option(reach), model.category(SessionConfigOptionCategory::Model)];
    let efforts = session.model().efforts();
    if !efforts.is_empty() {
        let named = efforts
            .into_iter()
            .map(|effort| SessionConfigSelectOption::new(effort.name(), effort.name()));
        let default = SessionConfigSelectOption::new(DEFAULT, "the provider's default");
        let current = session.model().effort().map_or(DEFAULT, Effort::name);
        let efforts: Vec<SessionConfigSelectOption> = std::iter::once(default).chain(named).collect();
        let effort = SessionConfigOption::select(EFFORT, "Thinking effort", current, efforts);
        options.push(effort.category(SessionConfigOptionCategory::ThoughtLevel));
    }
    options
}
