//! Restrictions on a project's settings file: it can only tighten the user's own settings.

use super::vendors::is_of_same_vendor;
use super::written::SettingsFile;
use super::{From, Settings};
use codelet_agent::permission::Permission;
use codelet_agent::session::SummaryBy;
use std::path::Path;

impl Settings {
    /// Applies a project's settings that are allowed: the file comes from the repository's author. It can make
    /// permissions and limits narrower; it cannot redirect or extend the use of the user's keys, text or money, or
    /// revoke the user's settings.
    pub(super) fn narrow(&mut self, mut written: SettingsFile, path: &Path) -> SettingsFile {
        let mut refused: Vec<&str> = Vec::new();
        let leaves = |model: &String| self.model.from != From::Default && !is_of_same_vendor(model, &self.model.value);
        refuse(&mut written.model, leaves, "model", &mut refused);
        // It would receive the whole conversation.
        refuse(&mut written.fallback, |_| true, "fallback", &mut refused);
        refuse(&mut written.base_url, |_| true, "base_url", &mut refused);
        refuse(&mut written.effort, |_| true, "effort", &mut refused);
        if !std::mem::take(&mut written.keys).is_empty() {
            refused.push("keys");
        }
        if !std::mem::take(&mut written.models).is_empty() {
            refused.push("models");
        }
        if !std::mem::take(&mut written.mcp).is_empty() {
            refused.push("mcp");
            written.nonsense = None;
        }
        refuse(&mut written.allow, |_| true, "allow", &mut refused);
        if !std::mem::take(&mut written.projects).is_empty() {
            refused.push("projects");
        }
        refuse(&mut written.add_dirs, |_| true, "add_dirs", &mut refused);
        refuse(&mut written.write, |_| true, "write", &mut refused);
        refuse(
            &mut written.network,
            |network| *network && !self.network.value,
            "network",
            &mut refused,
        );
        refuse(&mut written.web, |web| *web && !self.web.value, "web", &mut refused);
        refuse(&mut written.web_private, |_| true, "web_private", &mut refused);
        refuse(&mut written.compact_at, |_| true, "compact_at", &mut refused);
        // It decides where the user's text is stored.
        refuse(&mut written.transcripts, |_| true, "transcripts", &mut refused);
        refuse(&mut written.prices, |_| true, "prices", &mut refused);
        refuse(&mut written.append_system, |_| true, "append_system", &mut refused);
        refuse(&mut written.idle_timeout, |_| true, "idle_timeout", &mut refused);
        refuse(&mut written.background, |_| true, "background", &mut refused);
        refuse(&mut written.notify, |_| true, "notify", &mut refused);
        refuse(&mut written.co_author, |_| true, "co_author", &mut refused);
        refuse(&mut written.local_ports, |_| true, "local_ports", &mut refused);
        refuse(&mut written.hooks_from, |_| true, "hooks_from", &mut refused);
        // They run only with the user's consent.
        self.project_hooks = written.hooks.take();
        // A summary by the model costs an extra request each time.
        let asks_more = |by: &SummaryBy| (*by, self.summary.value) == (SummaryBy::Model, SummaryBy::Template);
        refuse(&mut written.summary, asks_more, "summary", &mut refused);
        let is_more = |most: &u32| *most > self.keep_alive.value;
        refuse(&mut written.keep_alive, is_more, "keep_alive", &mut refused);
        let is_longer = |seconds: &u64| *seconds > self.patience.value;
        refuse(&mut written.patience, is_longer, "patience", &mut refused);
        let is_wider = |wanted: &Permission| *wanted > self.permission.value;
        refuse(&mut written.permission, is_wider, "permission", &mut refused);
        // If the user's own limit is as narrow, it applies and is reported as the user's.
        written.max_steps = narrower(written.max_steps, self.max_steps.value);
        written.max_cost = narrower(written.max_cost, self.max_cost.value);
        // The model's own window is not known yet.
        self.window_is_bound |= written.window.is_some() && self.window.value.is_none();
        written.window = narrower(written.window, self.window.value);
        if !refused.is_empty() {
            let (path, names) = (path.display(), refused.join(", "));
            self.notices.push(format!(
                "{path}: ignored {names}: a project cannot loosen your permissions; use your own settings file"
            ));
        }
        written
    }
}

/// Returns the wanted limit if it is below the existing one.
fn narrower<T: PartialOrd>(wanted: Option<T>, own: Option<T>) -> Option<T> {
    wanted.filter(|wanted| own.is_none_or(|own| *wanted < own))
}

/// Drops a setting that a project may not make, and records its name.
fn refuse<T>(written: &mut Option<T>, is_wider: impl Fn(&T) -> bool, name: &'static str, refused: &mut Vec<&str>) {
    if written.as_ref().is_some_and(is_wider) {
        *written = None;
        refused.push(name);
    }
}
