//! Restrictions on a project's settings file: it can only tighten the user's own settings.

use super::vendors::is_of_same_vendor;
use super::written::SettingsFile;
use super::{From, Settings};
use codelet_agent::permission::Permission;
use codelet_agent::session::SummaryBy;
use codelet_context::economics::Preset;
use std::path::Path;

/// The settings that a project may make at all.
const OF_PROJECTS: [&str; 13] = [
    "deny", "hooks", "keep_alive", "max_cost", "max_steps", "model", "network", "patience", "permission", "policy",
    "summary", "web", "window",
];

impl Settings {
    /// Applies a project's settings that are allowed: the file comes from the repository's author. It can make
    /// permissions and limits narrower; it cannot redirect or extend the use of the user's keys, text or money, or
    /// revoke the user's settings.
    pub(super) fn narrow(&mut self, mut written: SettingsFile, path: &Path) -> SettingsFile {
        let names = std::mem::take(&mut written.names);
        let mut refused: Vec<&str> = names.iter().map(String::as_str).collect();
        refused.retain(|name| !OF_PROJECTS.contains(name));
        let leaves = |model: &String| self.model.from != From::Default && !is_of_same_vendor(model, &self.model.value);
        refuse(&mut written.model, leaves, "model", &mut refused);
        let opens = |network: &bool| *network && !self.network.value;
        refuse(&mut written.network, opens, "network", &mut refused);
        refuse(&mut written.web, |web| *web && !self.web.value, "web", &mut refused);
        // A summary by the model costs an extra request each time.
        let asks_more = |by: &SummaryBy| (*by, self.summary.value) == (SummaryBy::Model, SummaryBy::Template);
        refuse(&mut written.summary, asks_more, "summary", &mut refused);
        let costs_more = |policy: &Preset| price(*policy) > price(self.policy.value);
        refuse(&mut written.policy, costs_more, "policy", &mut refused);
        let is_more = |most: &u32| *most > self.keep_alive.value;
        refuse(&mut written.keep_alive, is_more, "keep_alive", &mut refused);
        let is_longer = |seconds: &u64| *seconds > self.patience.value;
        refuse(&mut written.patience, is_longer, "patience", &mut refused);
        let is_wider = |wanted: &Permission| *wanted > self.permission.value;
        refuse(&mut written.permission, is_wider, "permission", &mut refused);
        // They run only with the user's consent.
        self.project_hooks = written.hooks;
        // The model's own window is not known yet.
        self.window_is_bound |= written.window.is_some() && self.window.value.is_none();
        if !refused.is_empty() {
            let (path, names) = (path.display(), refused.join(", "));
            self.notices.push(format!(
                "{path}: ignored {names}: a project cannot loosen your permissions; use your own settings file"
            ));
        }
        SettingsFile {
            model: written.model,
            network: written.network,
            web: written.web,
            summary: written.summary,
            keep_alive: written.keep_alive,
            patience: written.patience,
            permission: written.permission,
            deny: written.deny,
            policy: written.policy,
            // If the user's own limit is as narrow, it applies and is reported as the user's.
            max_steps: narrower(written.max_steps, self.max_steps.value),
            max_cost: narrower(written.max_cost, self.max_cost.value),
            window: narrower(written.window, self.window.value),
            ..SettingsFile::default()
        }
    }
}

/// Returns how policies compare in what their requests cost.
fn price(policy: Preset) -> u8 {
    match policy {
        Preset::Thrifty => 0,
        Preset::Balanced => 1,
        Preset::Faithful => 2,
        Preset::Off => 3,
    }
}

/// Returns the wanted limit if it is below the existing one.
fn narrower<T: PartialOrd>(wanted: Option<T>, own: Option<T>) -> Option<T> {
    wanted.filter(|wanted| own.is_none_or(|own| *wanted < own))
}

/// Drops a setting that a project may not make, and records its name.
fn refuse<'a, T>(written: &mut Option<T>, is_wider: impl Fn(&T) -> bool, name: &'a str, refused: &mut Vec<&'a str>) {
    if written.as_ref().is_some_and(is_wider) {
        *written = None;
        refused.push(name);
    }
}
