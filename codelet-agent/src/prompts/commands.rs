//! Commands from files: `/name`, for a prompt in `commands/name.md`, and for each skill. The text after the command
//! replaces `$ARGUMENTS`, `$1` to `$9` in the file.
//!
//! A file starts nothing: its `` !`command` `` lines are not run, and it grants no permission. If a project's authors
//! wrote it, the prompt says so.

use crate::environment::Surroundings;
use crate::environment::definitions::{self, Author, Definition, Kind};
use crate::environment::file_reference;
use crate::environment::spelling::spell;
use crate::interrupt::Interrupt;
use crate::prompts::{PromptSource, PromptSpec, PromptText, Values, WORDS, split};
use crate::tool::skills;
use codelet_context::reminder;
use codelet_text::short::{clip, words};
use futures_util::future::BoxFuture;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

#[cfg(test)]
mod tests;

/// The layout of commands in their folder.
const KIND: Kind = Kind {
    folder: "commands",
    file: None,
    required: &[],
};
/// The longest description, in characters.
const DESCRIPTION: usize = 200;

/// The commands from the files of a project and its user.
pub struct Commands {
    world: Arc<dyn Surroundings>,
    /// Names unavailable to files, each with whether the user's own files may use it all the same.
    reserved: Vec<(&'static str, bool)>,
    read: Mutex<Read>,
}

/// The result of the last read.
#[derive(Default)]
struct Read {
    files: Vec<File>,
    /// The notices shown to the user.
    notices: Vec<String>,
}

#[derive(Clone)]
struct File {
    definition: Definition,
    is_skill: bool,
    spec: PromptSpec,
}

impl Commands {
    /// Creates a source of the commands found in this world, except those with the names of built-in commands;
    /// `reserved` says for each name whether one of the user's own files may replace it. [`refresh`](Self::refresh)
    /// reads the files.
    pub fn new(world: Arc<dyn Surroundings>, reserved: impl IntoIterator<Item = (&'static str, bool)>) -> Self {
        Commands {
            world,
            reserved: reserved.into_iter().collect(),
            read: Mutex::default(),
        }
    }

    /// Reads the files again. Returns the notices for the user that are new since the last time.
    pub fn refresh(&self) -> Vec<String> {
        let found = definitions::find(&*self.world, &KIND);
        let mut notices = found.notices;
        // The session itself reports problems with skills.
        let skills = definitions::find(&*self.world, &skills::KIND).definitions;
        let skills = skills
            .into_iter()
            .filter(|skill| !skill.front.is_unset("user-invocable"));
        let all = skills.map(|skill| (skill, true));
        let mut all: Vec<(Definition, bool)> = all
            .chain(found.definitions.into_iter().map(|file| (file, false)))
            .collect();
        all.sort_by_key(|(file, _)| file.author);
        let mut files: Vec<File> = Vec::new();
        for (definition, is_skill) in all {
            let same = |other: &str| other.eq_ignore_ascii_case(&definition.name);
            let path = || spell(definition.path.as_os_str());
            let may_replace = |yields: bool| yields && definition.author == Author::User;
            if self
                .reserved
                .iter()
                .any(|&(name, yields)| same(name) && !may_replace(yields))
            {
                if !is_skill {
                    let name = &definition.name;
                    notices.push(format!("commands: skipped {}: /{name} is a built-in command", path()));
                }
            } else if let Some(other) = files.iter().find(|file| same(&file.definition.name)) {
                let used = spell(other.definition.path.as_os_str());
                notices.push(format!(
                    "commands: skipped {}: {used} has the same name and is used",
                    path()
                ));
            } else {
                let spec = spec(&definition, is_skill, &*self.world);
                files.push(File {
                    definition,
                    is_skill,
                    spec,
                });
            }
        }
        let mut read = self.lock();
        let new = notices.iter().filter(|notice| !read.notices.contains(notice));
        let new = new.cloned().collect();
        *read = Read { files, notices };
        new
    }

    fn lock(&self) -> MutexGuard<'_, Read> {
        self.read.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn text(&self, command: &str, words: &str) -> Result<PromptText, String> {
        let file = self
            .lock()
            .files
            .iter()
            .find(|file| file.spec.command == command)
            .cloned();
        let Some(File {
            definition, is_skill, ..
        }) = file
        else {
            return Err(format!("There is no command /{command} any more. Nothing was sent."));
        };
        let world = &*self.world;
        let shown = spell(definition.path.as_os_str());
        let body = definition.body(world);
        let body = body.map_err(|why| format!("{shown} {why}. Nothing was sent."))?;
        let mut notices = Vec::new();
        if body.hidden > 0 {
            notices.push(format!(
                "removed {} invisible characters from {shown}; they can hide instructions",
                body.hidden
            ));
        }
        if body.text.contains("!`") {
            notices.push(format!(
                "/{command}: command lines in its file (!`…`) are not run; the model reads them as text"
            ));
        }
        if body.front.text("model").is_some_and(|model| model != "inherit") {
            notices.push(format!(
                "/{command}: the model that its file names is not used; /model switches to another"
            ));
        }
        let mentions = self.mentions(&body.text, definition.author);
        let text = match is_skill {
            true => skills::text_of(&definition, world).map_err(|why| format!("{why} Nothing was sent."))?,
            false if body.text.is_empty() => return Ok(PromptText::default()),
            // It must not look like a reminder.
            false => reminder::escape(&body.text),
        };
        Ok(PromptText {
            text: filled(&text, words).ok_or_else(|| {
                format!("/{command} with these words is longer than {FILLED} bytes. Nothing was sent.")
            })?,
            mentions,
            narrowed: body.front.narrowed(format!("/{command}")),
            notices,
            ..PromptText::default()
        })
    }

    /// Returns the files that a text mentions. A project's text can only mention files inside the project: images
    /// elsewhere are the user's.
    fn mentions(&self, text: &str, author: Author) -> String {
        let places = self.world.places();
        let mentioned = file_reference::read(text).into_iter().filter_map(|mention| {
            let file = mention.paths().find_map(|path| {
                let path = self.world.resolve(&places.directory.join(path))?;
                (author == Author::User || path.starts_with(&places.root) && !self.world.is_gits(&path)).then_some(path)
            })?;
            Some(file_reference::write(&spell(file.as_os_str())))
        });
        mentioned.collect::<Vec<_>>().join(" ")
    }
}

/// Returns the entry of a file in the list of commands.
fn spec(file: &Definition, is_skill: bool, world: &dyn Surroundings) -> PromptSpec {
    let described = file.front.text("description");
    let described = described.or_else(|| {
        let body = file.body(world).ok()?;
        Some(
            body.text
                .lines()
                .next()
                .unwrap_or_default()
                .trim_start_matches('#')
                .to_owned(),
        )
    });
    let described = words(&described.unwrap_or_default());
    let from = match file.author {
        Author::User => "user",
        Author::Project => "project",
    };
    let group = file.group.replace('/', ":");
    let from = match (is_skill, group.as_str()) {
        (true, _) => format!("({from} skill)"),
        (false, "") => format!("({from})"),
        (false, group) => format!("({from}:{group})"),
    };
    PromptSpec {
        command: file.name.clone(),
        description: format!("{} {from}", clip(&described, DESCRIPTION))
            .trim_start()
            .to_owned(),
        arguments: Vec::new(),
        author: Some(file.author),
        hint: words(&clip(
            &file.front.text("argument-hint").unwrap_or_default(),
            DESCRIPTION,
        )),
    }
}

/// The maximum size of a text with all placeholders replaced, in bytes on top of the words themselves. A file could
/// contain thousands of placeholders.
const FILLED: usize = 100_000;

/// Replaces the placeholders in a text with these words, or appends them if it has none. The words are not expanded
/// again. `None` if the result is too long.
fn filled(text: &str, words: &str) -> Option<String> {
    let most = FILLED + words.len();
    let each = split(words);
    let mut out = String::with_capacity(text.len() + words.len());
    let mut has_place = false;
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        if out.len() > most {
            return None;
        }
        out.push_str(&rest[..at]);
        let behind = &rest[at + 1..];
        let digits = behind.len() - behind.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let number = behind[..digits]
            .parse::<usize>()
            .ok()
            .filter(|number| (1..=9).contains(number));
        rest = match (behind.strip_prefix(WORDS), number) {
            (Some(behind), _) => {
                out.push_str(words);
                has_place = true;
                behind
            }
            (None, Some(number)) => {
                out.push_str(each.get(number - 1).map_or("", String::as_str));
                has_place = true;
                &behind[digits..]
            }
            // A price, or a shell variable.
            (None, None) => {
                out.push('$');
                behind
            }
        };
    }
    out.push_str(rest);
    if !has_place && !words.is_empty() {
        out.push_str(&format!("\n\n{WORDS}: {words}"));
    }
    Some(out)
}

impl PromptSource for Commands {
    fn prompts(&self) -> Vec<PromptSpec> {
        self.lock().files.iter().map(|file| file.spec.clone()).collect()
    }

    fn refresh_prompts(&self) -> BoxFuture<'_, Vec<String>> {
        Box::pin(std::future::ready(self.refresh()))
    }

    fn prompt<'a>(
        &'a self,
        command: &'a str,
        values: &'a Values,
        _: &'a Interrupt,
    ) -> BoxFuture<'a, Result<PromptText, String>> {
        let words = values.get(WORDS).map_or("", String::as_str);
        Box::pin(std::future::ready(self.text(command, words)))
    }
}
