//! The reminders in front of a prompt: tools, skills, instructions, the machine, the repository.

use crate::environment::definitions;
use crate::environment::instructions::{self, Nearer};
use crate::interrupt::Interrupt;
use crate::session::Session;
use crate::tool::Refreshed;
use crate::tool::event::{Event, Listen};
use crate::tool::skills::{self, Skill};
use codelet_context::message::ReminderKind;
use codelet_context::reminder;
use codelet_context::tokens::{Tokens, estimate_message};
use codelet_context::tracker::TokenState;
use futures_util::future::join;
use std::sync::Arc;

/// Texts for content of a kind that is gone: without them, the last reminder would remain in force.
const NO_INSTRUCTIONS: &str =
    "There are no such instructions any more. What an earlier reminder of this type says is void.";
const NO_SKILLS: &str = "There are no skills any more.";
const NO_REPOSITORY: &str = "There is no repository here any more, or nothing can be told of it.";

impl Session {
    /// Refreshes the source's tools before a prompt, and never within one: a request in the middle of a run extends the
    /// previous one, which is in the provider's cache.
    pub(crate) async fn refresh_tools(&mut self, interrupt: &Interrupt, listener: &mut dyn Listen) {
        let refreshed = match self.source.clone() {
            None => Refreshed::default(),
            Some(source) => tokio::select! {
                biased;
                // The skills are new all the same.
                () = interrupt.thrown() => Refreshed::default(),
                refreshed = source.refresh() => refreshed,
                never = self.glances.given(self) => match never {},
            },
        };
        for notice in refreshed.notices {
            listener.on(Event::Notice(notice));
        }
        let served = || {
            let served = self.parts.tools.iter().skip(self.own_tools);
            served
                .filter(|tool| &*tool.spec().name != skills::TOOL)
                .cloned()
                .collect()
        };
        let tools = refreshed.tools.unwrap_or_else(served);
        let is_changed = self.take_tools(tools);
        if is_changed && self.sent.is_some() {
            // The next request shares no prefix with the last. That cost is reported along with the others.
            (self.sent, self.asked) = (None, None);
        }
    }

    /// Finds the skills as they are before a prompt. Returns their list for the model.
    pub(crate) fn find_skills(&mut self, listener: &mut dyn Listen) -> String {
        if !self.settings.skills {
            return String::new();
        }
        let world = Arc::clone(&self.parts.world);
        let mut found = definitions::find(&*world, &skills::KIND);
        let skills = skills::for_the_model(found.definitions);
        let list = skills::list(&skills, self.conversation.config().window());
        found.notices.extend(list.notice);
        tell_new(&found.notices, &mut self.notices_of_skills, listener);
        self.skills = (!skills.is_empty()).then(|| Arc::new(Skill::new(world, skills)));
        list.text
    }

    /// Appends the reminders in front of a prompt of this estimated size. Unchanged content changes no byte, and an
    /// interruption leaves everything unchanged.
    pub(crate) async fn remind(
        &mut self,
        prompt: Tokens,
        skills: &str,
        interrupt: &Interrupt,
        listener: &mut dyn Listen,
    ) {
        let world = Arc::clone(&self.parts.world);
        // Git works while the rest is gathered.
        let git_status = async {
            tokio::select! {
                biased;
                status = world.git_status(interrupt.clone()) => status,
                never = self.glances.given(self) => match never {},
            }
        };
        let gathered = async { (instructions::gather(&*world), world.environment()) };
        let (git_status, (instructions, mut environment)) = join(git_status, gathered).await;
        tell_new(&instructions.notices, &mut self.notices, listener);
        self.nearer = Nearer::default();
        if let Some(told) = self.parts.gate.permission().told() {
            environment = format!("{}\n{told}", environment.trim_end());
        }
        if interrupt.is_thrown() {
            return;
        }
        let messages = &self.conversation.view().messages;
        let instructions = Some(&*instructions.text).filter(|text| !text.is_empty());
        let gone = |kind, told| reminder::current(messages, kind).map(|_| told);
        let instructions = instructions.or_else(|| gone(ReminderKind::Instructions, NO_INSTRUCTIONS));
        let skills = Some(skills).filter(|text| !text.is_empty());
        let skills = skills.or_else(|| gone(ReminderKind::Skills, NO_SKILLS));
        let git_status = git_status.as_deref();
        let git_status = git_status.or_else(|| gone(ReminderKind::GitStatus, NO_REPOSITORY));
        let contents = [
            (ReminderKind::Instructions, instructions),
            (ReminderKind::Environment, Some(&*environment)),
            (ReminderKind::Skills, skills),
            (ReminderKind::GitStatus, git_status),
        ];
        let mut contents: Vec<_> = contents
            .into_iter()
            .filter_map(|(kind, content)| Some((kind, content?)))
            .collect();
        // The model reads the figures in a request that includes the prompt and these reminders.
        let others = reminder::update(messages, &contents);
        let more = prompt.saturating_add(others.as_ref().map_or(0, estimate_message));
        let now = self.conversation.state("", 0);
        let more = (more as f64 * self.conversation.density()).ceil() as Tokens;
        let then = TokenState::new(now.current.saturating_add(more), now.capacity, "", 0);
        let token_status = token_status(&then);
        contents.push((ReminderKind::TokenStatus, &*token_status));
        if let Some(message) = reminder::update(messages, &contents) {
            self.conversation.append(message);
        }
    }
}

/// Shows the notices that are new since the last time, and keeps the current ones.
fn tell_new(notices: &[String], before: &mut Vec<String>, listener: &mut dyn Listen) {
    for notice in notices.iter().filter(|notice| !before.contains(notice)) {
        listener.on(Event::Notice(notice.clone()));
    }
    *before = notices.to_vec();
}

/// Returns the reminder of how full the context window is. Anything that does not fit is compacted before it is sent.
fn token_status(state: &TokenState) -> String {
    format!(
        "{} of {} tokens of the window are in use ({:.0} %).",
        state.current.min(state.capacity),
        state.capacity,
        state.percent_used.min(100.0)
    )
}
