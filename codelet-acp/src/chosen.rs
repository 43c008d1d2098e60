//! The options of a session: permission, model and thinking effort.

use crate::host::Reach;
use agent_client_protocol::v1::schema::{
    SessionConfigOption, SessionConfigOptionCategory, SessionConfigSelectOption, SessionMode, SessionModeState,
};
use codelet_agent::effort::Effort;
use codelet_agent::permission::{Gate as _, Permission};
use codelet_agent::session::Session;

/// The ids of the options.
pub(crate) const MODE: &str = "mode";
pub(crate) const MODEL: &str = "model";
pub(crate) const EFFORT: &str = "effort";
/// The value for the provider's default effort.
const DEFAULT: &str = "default";

/// The name and description of a permission.
fn words(permission: Permission) -> (&'static str, &'static str) {
    match permission {
        Permission::Plan => ("Plan", "Only reads, and answers with a plan"),
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

/// The modes, and the current one.
pub(crate) fn modes(reach: &Reach) -> SessionModeState {
    let modes = Permission::ALL.map(|permission| {
        let (name, description) = words(permission);
        SessionMode::new(permission.name(), name).description(description.to_owned())
    });
    SessionModeState::new(reach.gate.permission().name(), modes.to_vec())
}

/// Switches to the permission of this mode; returns false if there is none of that name.
pub(crate) fn set_mode(reach: &Reach, name: &str) -> bool {
    let Some(permission) = Permission::from_name(name) else {
        return false;
    };
    permit(reach, permission);
    true
}

/// Sets the permission of the gate and the tools.
pub(crate) fn permit(reach: &Reach, permission: Permission) {
    reach.gate.permit(permission);
    (reach.permit)(permission);
}

/// Parses an effort; `None` if it is unknown.
pub(crate) fn effort(name: &str) -> Option<Option<Effort>> {
    match name {
        DEFAULT => Some(None),
        name => Effort::from_name(name).map(Some),
    }
}

/// The modes as an option: editors that support options ignore modes.
pub(crate) fn mode_option(reach: &Reach) -> SessionConfigOption {
    let modes = Permission::ALL.map(|permission| {
        let (name, description) = words(permission);
        SessionConfigSelectOption::new(permission.name(), name).description(description.to_owned())
    });
    SessionConfigOption::select(MODE, "Permission", reach.gate.permission().name(), modes.to_vec())
        .category(SessionConfigOptionCategory::Mode)
        .description("What the tools may do without asking".to_owned())
}

/// All options with their current values; the mode comes first.
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
