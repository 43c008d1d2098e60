//! Skills: instructions for certain tasks, each in its own folder, in the format of <https://agentskills.io>. The model
//! is told their names and purposes, reads one with the tool `Skill` when a task fits it, and receives it again when a
//! compaction has removed it.

use crate::environment::Surroundings;
use crate::environment::definitions::{Author, Definition, Kind};
use crate::environment::spelling::{first, spell};
use crate::model::ToolSpec;
use crate::permission::narrowed::Narrowed;
use crate::permission::need::Need;
use crate::tool::{Call, Output, Tool};
use codelet_context::body::Body;
use codelet_context::conversation::Conversation;
use codelet_context::message::{Message, Origin, Parameters, Part, Role, Text};
use codelet_context::reminder;
use codelet_context::tokens::{Tokens, bytes_in};
use codelet_text::near;
use codelet_text::short::{clip, words};
use futures_util::future::{self, BoxFuture};
use serde_json::json;
use std::path::Path;
use std::sync::Arc;

#[cfg(test)]
mod tests;

/// The layout of skills in their folder.
pub const KIND: Kind = Kind {
    folder: "skills",
    file: Some("SKILL.md"),
    required: &["description"],
};
/// The name of the tool that reads a skill.
pub const TOOL: &str = "Skill";

/// The share of the context window for the list, as a divisor; `RETOLD_SHARE`: for skills repeated after a compaction.
const LIST_SHARE: Tokens = 50;
const RETOLD_SHARE: Tokens = 20;
/// The lengths of descriptions, in characters: the first one at which all fit is used.
const LENGTHS: [usize; 3] = [1_024, 250, 80];
/// The output for a skill that is already in the context.
const STANDS: &str = "This skill stands above and has not changed.";
/// The maximum number of files listed with a skill.
const FILES: usize = 40;
/// The maximum number of names in one notice to the user.
const NAMED: usize = 5;

/// The description of the available skills for the model.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct List {
    /// The text; empty if there are none.
    pub(crate) text: String,
    /// A notice for the user about skills that were left out.
    pub(crate) notice: Option<String>,
}

/// Returns the skills that the model may read on its own initiative.
pub(crate) fn for_the_model(skills: Vec<Definition>) -> Vec<Definition> {
    let is_hidden = |skill: &Definition| skill.front.is_set("disable-model-invocation");
    skills.into_iter().filter(|skill| !is_hidden(skill)).collect()
}

/// Returns the list of skills for a context window of this size.
pub(crate) fn list(skills: &[Definition], window: Tokens) -> List {
    let most = bytes_in(window / LIST_SHARE);
    let tried = LENGTHS.map(|length| listed(skills, length, most));
    let whole = tried.iter().find(|(_, left_out)| left_out.is_empty());
    let Some((text, left_out)) = whole.or(tried.last()) else {
        return List::default();
    };
    let notice = (!left_out.is_empty()).then(|| {
        format!(
            "skills: the model is not told of {} of {}, as all would take more than {} % of its window: {}",
            left_out.len(),
            skills.len(),
            100 / LIST_SHARE,
            first(left_out, NAMED)
        )
    });
    List {
        text: text.clone(),
        notice,
    }
}

/// Returns the list with descriptions of this length, in at most this many bytes, and the names that did not fit.
fn listed(skills: &[Definition], length: usize, most: usize) -> (String, Vec<&str>) {
    if skills.is_empty() {
        return (String::new(), Vec::new());
    }
    let mut text = format!(
        "Skills are instructions for certain tasks. Where one fits a task, call {TOOL} with its name before you begin.\n"
    );
    let mut left_out = Vec::new();
    for (author, heading) in [
        (Author::User, "The user's own:"),
        (
            Author::Project,
            "The project's; its authors have written them, not the user:",
        ),
    ] {
        let mut is_headed = false;
        for skill in skills.iter().filter(|skill| skill.author == author) {
            let description = words(&skill.front.text("description").unwrap_or_default());
            let mut entry = format!("- {}: {}\n", skill.name, clip(&description, length));
            if !is_headed {
                entry.insert_str(0, &format!("{heading}\n"));
            }
            // Room for a line at the end that counts the names left out.
            if text.len() + entry.len() + 80 > most {
                left_out.push(&*skill.name);
                continue;
            }
            is_headed = true;
            text.push_str(&entry);
        }
    }
    if !left_out.is_empty() {
        text.push_str(&format!("{} more skills have no room in this list.\n", left_out.len()));
    }
    text.truncate(text.trim_end().len());
    (text, left_out)
}

pub(crate) struct Skill {
    spec: ToolSpec,
    world: Arc<dyn Surroundings>,
    skills: Vec<Definition>,
}

impl Skill {
    /// Creates a tool that reads these skills.
    pub(crate) fn new(world: Arc<dyn Surroundings>, skills: Vec<Definition>) -> Self {
        let parameters = json!({
            "type": "object",
            "properties": {"name": {"type": "string"}},
            "required": ["name"],
        });
        Skill {
            spec: ToolSpec {
                name: TOOL.into(),
                description: "Reads the instructions of a skill, by a name of the list of skills.".into(),
                parameters,
            },
            world,
            skills,
        }
    }

    fn narrowed(&self, name: &str) -> Option<Narrowed> {
        let skill = self.named(name)?;
        skill.front.narrowed(format!("the skill {}", skill.name))
    }

    fn named(&self, name: &str) -> Option<&Definition> {
        self.skills.iter().find(|skill| skill.name.eq_ignore_ascii_case(name))
    }

    /// Returns a skill as shown to the model: its author, the location of its files, and its text.
    fn told(&self, name: &str) -> Result<String, String> {
        let Some(skill) = self.named(name) else {
            let names = || self.skills.iter().map(|skill| &*skill.name);
            let meant = near::nearest(name, names()).map_or_else(
                || names().take(FILES).collect::<Vec<_>>().join(", "),
                |meant| format!("did you mean {meant}?"),
            );
            return Err(format!("There is no skill of this name; {meant}"));
        };
        text_of(skill, &*self.world)
    }

    /// Repeats the skills read before that a compaction has removed, from their files as they are now.
    pub(crate) fn tell_again(&self, conversation: &mut Conversation) {
        let messages = conversation.history().messages();
        let view = &conversation.view().messages;
        let mut left = bytes_in(conversation.config().window() / RETOLD_SHARE);
        let mut again = Vec::new();
        for (name, told) in used(messages) {
            let whole = told
                .cut
                .as_ref()
                .and_then(|handle| conversation.recall(handle.as_str(), None));
            let told = whole.unwrap_or(told.body.as_str());
            let now = self.told(name);
            let text = match &now {
                Ok(now) if is_in_sight(view, now) => continue,
                Ok(now) if now.len() > left => {
                    let name = spell(name.as_ref());
                    format!("The skill {name} has no room here; call {TOOL} again if you need it.")
                }
                Ok(now) if now != told => format!("Changed since you called {TOOL}.\n{now}"),
                Ok(now) => now.clone(),
                Err(_) => {
                    let name = spell(name.as_ref());
                    reminder::escape(&format!("The skill {name} is gone, or cannot be read any more."))
                }
            };
            left = left.saturating_sub(text.len());
            if !is_in_sight(view, &text) {
                again.push(Part::text_from(Origin::Injected, text));
            }
        }
        if !again.is_empty() {
            let head = "Skills that you have read before, from their files as they are now:";
            again.insert(0, Part::text_from(Origin::Injected, head));
            conversation.append(Message::new(Role::User, again));
        }
    }
}

/// Returns a skill as shown to the model: its author, the location of its files, and its text as it is now.
///
/// # Errors
/// Says in a sentence why it cannot be read.
pub(crate) fn text_of(skill: &Definition, world: &dyn Surroundings) -> Result<String, String> {
    let path = spell(skill.path.as_os_str());
    let body = skill.body(world).map_err(|why| format!("{path} {why}."))?;
    let whose = match skill.author {
        Author::User => "The user's own skill",
        Author::Project => "A skill of the project's, written by its authors and not by the user",
    };
    let folder = skill.path.parent().unwrap_or(&skill.path);
    let files = files(world, folder);
    let files = match files.as_slice() {
        [] => String::new(),
        files => format!(" Files there: {}.", files.join(", ")),
    };
    let folder = spell(folder.as_os_str());
    // After a compaction it appears in the position of reminders, and must not look like one.
    Ok(reminder::escape(&format!(
        "{whose}: {}. Its paths begin in {folder}.{files}\n\n{}",
        skill.name, body.text
    )))
}

/// Returns the files next to a skill, in its folder and directly below.
fn files(world: &dyn Surroundings, folder: &Path) -> Vec<String> {
    let Some(listing) = world.list(folder, FILES) else {
        return Vec::new();
    };
    let mut files = Vec::new();
    let is_shown = |name: &&String| !name.starts_with('.');
    for name in listing.names.iter().filter(is_shown) {
        let path = folder.join(name);
        match world.list(&path, FILES) {
            Some(below) => {
                let below = below
                    .names
                    .iter()
                    .filter(is_shown)
                    .map(|file| Path::new(name).join(file));
                files.extend(below.map(|file| spell(file.as_os_str())));
            }
            None if KIND.file == Some(name) => {}
            None => files.push(spell(name.as_ref())),
        }
    }
    if files.len() > FILES || !listing.is_whole {
        files.truncate(FILES);
        files.push("and others".to_owned());
    }
    files
}

impl Tool for Skill {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn is_read_only(&self) -> bool {
        true
    }

    fn needs(&self, parameters: &Parameters) -> Result<Vec<Need>, String> {
        parameters.str("name").ok_or("`name` is missing")?;
        Ok(Vec::new())
    }

    fn describe(&self, parameters: &Parameters) -> String {
        parameters.str("name").unwrap_or_default().to_owned()
    }

    fn call<'a>(&'a self, call: Call<'a>) -> BoxFuture<'a, Output> {
        let name = call.parameters.str("name").unwrap_or_default();
        let read = |text: Body| Output {
            narrowed: self.narrowed(name),
            ..Output::success(text)
        };
        let output = match self.told(name) {
            Ok(text) if is_in_sight(&call.conversation.view().messages, &text) => read(STANDS.into()),
            Ok(text) => read(text.into()),
            Err(why) => Output::failure(why),
        };
        Box::pin(future::ready(output))
    }
}

/// Returns whether a text appears in these messages, on the user's side.
fn is_in_sight(messages: &[Arc<Message>], told: &str) -> bool {
    let texts = |part: &Part| match part {
        Part::Text(text) => text.body.as_str().contains(told),
        Part::ToolResult(result) => result.texts().any(|text| text.body.as_str().contains(told)),
        _ => false,
    };
    let from_user = messages.iter().filter(|message| message.role != Role::Assistant);
    from_user.flat_map(|message| &message.parts).any(texts)
}

/// Returns the skills read in a conversation, newest first, each with the text the model received then.
fn used(messages: &[Arc<Message>]) -> Vec<(&str, &Text)> {
    let mut used: Vec<(&str, &Text)> = Vec::new();
    let calls = messages.iter().rev().flat_map(|message| message.calls());
    for call in calls.filter(|call| &*call.tool == TOOL) {
        let Some(name) = call.parameters.str("name") else {
            continue;
        };
        let results = || messages.iter().flat_map(|message| message.tool_results());
        let answer = results().find(|result| result.call_id == call.id && result.success == Some(true));
        let told = answer.and_then(|answer| answer.texts().next());
        let told = told.filter(|told| told.body.as_str() != STANDS);
        if let Some(told) = told
            && !used.iter().any(|(other, _)| other.eq_ignore_ascii_case(name))
        {
            used.push((name, told));
        }
    }
    used
}
