//! Commands that only look at a session and can therefore run at any time.

use super::{Export, Reach};
use crate::command::{self, Name, dry_run};
use crate::front::Activity;
use crate::render::look::{Background, Look, Role, Styles};
use crate::render::rewind;
use crate::render::wrap::line_text;
use crate::{answers, effort};
use codelet_agent::session::Session;
use ratatui::text::Line;
use std::sync::Arc;
use std::time::Instant;

/// Returns whether a command only looks at the session, so that it can be done while something runs.
pub(crate) fn only_looks(name: Name, arguments: &str) -> bool {
    match name {
        Name::Context | Name::Summary | Name::Cost | Name::Todo | Name::Recall | Name::Why | Name::Export => true,
        Name::Model | Name::Effort | Name::Pin | Name::Notes | Name::Rewind => arguments.is_empty(),
        Name::Compact => dry_run(arguments).is_some(),
        _ => false,
    }
}

/// Returns the output of a command that only looks at a session, given its word and arguments, in lines of at most
/// `width` columns; `None` for any other command.
pub fn shown(session: &Session, word: &str, arguments: &str, width: usize) -> Option<String> {
    let entry = command::COMMANDS.iter().find(|entry| entry.word == word)?;
    if entry.name == Name::Export || !only_looks(entry.name, arguments) {
        return None;
    }
    let looking = Looking {
        look: Look::new(width, Styles::Monochrome, Background::Dark),
        models: Vec::new(),
        export: Arc::new(|_, _| Err(String::new())),
        is_under_way: false,
    };
    let lines = either(looking.at(session, entry.name, arguments));
    let lines: Vec<String> = lines.iter().map(line_text).collect();
    Some(lines.join("\n"))
}

/// The context that such commands need beside the session.
pub(super) struct Looking {
    look: Look,
    models: Vec<String>,
    export: Export,
    /// An activity that will add to the conversation is running.
    is_under_way: bool,
}

impl Looking {
    pub(super) fn from(look: &Look, reach: &Reach, doing: Activity) -> Self {
        Looking {
            look: *look,
            models: reach.models.clone(),
            export: Arc::clone(&reach.export),
            is_under_way: matches!(doing, Activity::Run | Activity::Shell),
        }
    }

    /// Returns the output of such a command; as an error if it could not be done.
    pub(super) fn at(
        &self,
        session: &Session,
        name: Name,
        arguments: &str,
    ) -> Result<Vec<Line<'static>>, Vec<Line<'static>>> {
        let look = &self.look;
        Ok(match name {
            Name::Context => answers::context(look, session),
            Name::Summary => return answers::summary(look, session, arguments),
            Name::Cost => answers::cost(look, session),
            Name::Todo => answers::todo(look, session),
            Name::Notes => answers::notes(look, session),
            Name::Recall => answers::recall(look, session, arguments),
            Name::Why => answers::why(look, session, arguments),
            Name::Model => answers::models(look, session, &self.models),
            Name::Effort => answers::say(look, Role::Text, &effort::shown(session)),
            Name::Pin => answers::pins(look, session),
            Name::Rewind => rewind::list(&session.past_prompts(rewind::LISTED), look),
            Name::Export => return self.exported(session, arguments),
            Name::Compact => self.tried(session, dry_run(arguments).unwrap_or_default()),
            _ => Vec::new(),
        })
    }

    fn exported(&self, session: &Session, file: &str) -> Result<Vec<Line<'static>>, Vec<Line<'static>>> {
        if file.is_empty() {
            return Err(answers::say(&self.look, Role::Warning, "Usage: /export FILE"));
        }
        let mut lines = match (self.export)(file, session) {
            Ok(told) => answers::say(&self.look, Role::Text, &told),
            Err(why) => return Err(answers::say(&self.look, Role::Error, &why)),
        };
        if self.is_under_way {
            let told = "It covers everything up to now, without the step in progress.";
            lines.extend(answers::say(&self.look, Role::Text, told));
        }
        Ok(lines)
    }

    fn tried(&self, session: &Session, instructions: &str) -> Vec<Line<'static>> {
        let began = Instant::now();
        let instructions = Some(instructions).filter(|words| !words.is_empty());
        match session.compact_dry(instructions) {
            Ok(notice) => answers::dry_run(&self.look, &notice.took(began.elapsed())),
            Err(refusal) => answers::say(&self.look, Role::Error, &refusal.to_string()),
        }
    }
}

/// Returns the lines of either case.
pub(super) fn either<T>(shown: Result<T, T>) -> T {
    shown.unwrap_or_else(|refused| refused)
}
