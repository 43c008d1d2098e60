//! The arguments of `/rewind`, and the sentences about it for the user: the same in every front end.

use super::{PastPrompt, Preview, Rewound, Scope};
use crate::environment::journal::{Change, Restore, Restored, Standing, changed_files};
use crate::environment::spelling::first;
use crate::session::Session;
use codelet_text::short::{clip, counted, words};

/// The usage of the command.
pub const USAGE: &str =
    "Usage: /rewind, /rewind NUMBER, or /rewind NUMBER both, conversation or files. Nothing was done.";
/// The reply if there is nothing to go back to.
pub const NO_PROMPTS: &str = "There is no prompt to go back to.";
/// Overwrites files changed by anything else.
const FORCE: &str = "--force";
/// The maximum number of commands listed; `COMMAND`: the maximum length of each, in characters.
const COMMANDS: usize = 5;
const COMMAND: usize = 60;

/// The actions of the command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RewindCommand {
    /// List the prompts.
    List,
    /// Show the effect of going back to this prompt.
    Preview(usize),
    /// Go back to this prompt.
    Go {
        /// Its number.
        number: usize,
        /// The parts that go back.
        scope: Scope,
        /// True to overwrite files changed by anything else.
        overwrite: bool,
    },
    /// Anything else.
    Unknown,
}

/// Parses the arguments of the command.
pub fn wanted(arguments: &str) -> RewindCommand {
    let arguments = arguments.to_lowercase();
    let mut words: Vec<&str> = arguments.split_whitespace().collect();
    let overwrite = words.contains(&FORCE);
    words.retain(|word| *word != FORCE);
    let number = |word: &str| word.trim_start_matches('#').parse().ok();
    match words[..] {
        [] if !overwrite => RewindCommand::List,
        [word] if !overwrite => number(word).map_or(RewindCommand::Unknown, RewindCommand::Preview),
        [word, name] => {
            let scope = Scope::ALL.into_iter().find(|scope| scope.name() == name);
            match (number(word), scope) {
                (Some(number), Some(scope)) => RewindCommand::Go {
                    number,
                    scope,
                    overwrite,
                },
                _ => RewindCommand::Unknown,
            }
        }
        _ => RewindCommand::Unknown,
    }
}

/// Returns the reply to an unknown number.
pub fn missing(number: usize) -> String {
    format!("There is no prompt {number} to go back to; /rewind lists them.")
}

impl PastPrompt {
    /// Returns the prompt's age, and what was changed for it: `3 min ago · src/a.rs +3 −1, b.txt (new) +10 −0`.
    pub fn about(&self) -> String {
        let Some(ago) = self.ago else {
            return "before this session".to_owned();
        };
        let seconds = ago.as_secs();
        let ago = match seconds {
            0..60 => "just now".to_owned(),
            60..3_600 => format!("{} min ago", seconds / 60),
            _ => format!("{} h {} min ago", seconds / 3_600, seconds / 60 % 60),
        };
        // The changes of commands are unknown.
        let ran = match self.commands {
            0 if self.files.is_empty() => return format!("{ago} · no file changed"),
            0 => String::new(),
            1 => " · 1 command or MCP call".to_owned(),
            some => format!(" · {some} commands or MCP calls"),
        };
        if self.files.is_empty() {
            return format!("{ago}{ran} · no file changed by Edit or Write");
        }
        format!("{ago} · {}{ran}", changed_files(&self.files))
    }
}

impl Session {
    /// Returns how to take back the files changed for the newest of the last `most` prompts that changed any; `None` if
    /// none did.
    pub fn how_to_restore(&self, most: usize) -> Option<String> {
        let prompts = self.past_prompts(most);
        let prompt = prompts.iter().rfind(|prompt| !prompt.files.is_empty())?;
        let (number, files) = (prompt.number, changed_files(&prompt.files));
        Some(format!("/rewind {number} files takes back {files}."))
    }

    /// Returns the reply to `/undo` if there is nothing that it undoes.
    pub fn nothing_to_undo(&self) -> String {
        let how = self.how_to_restore(usize::MAX);
        let how = how.map_or_else(String::new, |how| format!("\n{how}"));
        format!("Nothing to undo: no /clear, /retry or /rewind (/undo-compact undoes a compaction).{how}")
    }
}

impl Preview {
    /// Returns what would be removed from the conversation.
    pub fn conversation(&self) -> String {
        format!(
            "Removed from the conversation: {}, {} and {}.",
            counted(self.prompts, "prompt"),
            counted(self.steps, "answer"),
            counted(self.calls, "tool call")
        )
    }

    /// Returns a warning that changes from before this session are unknown; `None` if the prompt is from this session.
    pub fn before_the_session(&self) -> Option<&'static str> {
        self.is_recorded
            .then_some("Changes made to files before this session stay: only this session's changes are recorded.")
    }

    /// Returns a warning that commands are not covered, with the commands that ran; `None` if none did.
    pub fn uncovered(&self) -> Option<String> {
        let newest = self.commands.iter().rev();
        let commands: Vec<String> = newest
            .map(|command| format!("`{}`", clip(&words(command), COMMAND)))
            .collect();
        let commands = (!commands.is_empty()).then(|| first(&commands, COMMANDS))?;
        Some(format!(
            "Not covered: changes by commands and MCP calls. Since then: {commands}."
        ))
    }

    /// Returns the number of files that would be restored without overwriting anyone's changes.
    pub fn covered(&self) -> usize {
        self.count(|standing| *standing == Standing::AsLeft)
    }

    /// Returns the number of files changed since by something else.
    pub fn changed_since(&self) -> usize {
        self.count(|standing| *standing == Standing::ChangedSince)
    }

    fn count(&self, is: impl Fn(&Standing) -> bool) -> usize {
        self.restores.iter().filter(|restore| is(&restore.standing)).count()
    }

    /// Returns the commands for going back, for front ends without key bindings.
    pub fn how(&self, number: usize) -> String {
        let mut how = match self.covered() + self.changed_since() {
            0 => format!("To go back, write /rewind {number} conversation. There are no files to restore."),
            _ => format!(
                "To go back, write /rewind {number} both, /rewind {number} conversation or /rewind {number} files."
            ),
        };
        if self.changed_since() > 0 {
            how.push_str(&format!(
                " Add {FORCE} to overwrite files that were changed since, too."
            ));
        }
        how
    }
}

/// Returns what would become of a file, in a sentence; empty if its diff shows it.
pub fn fate(restore: &Restore) -> String {
    match (&restore.standing, restore.change) {
        (Standing::Lost(why), _) => format!("It cannot be restored: {why}."),
        (Standing::ChangedSince, Change::Created) => {
            "It was deleted since, by a command or by someone else; it is restored only if you confirm.".to_owned()
        }
        (Standing::ChangedSince, _) => {
            "It was changed since, by a command or by someone else; it is overwritten only if you confirm.".to_owned()
        }
        (Standing::AsLeft, Change::Created) => "It comes back.".to_owned(),
        (Standing::AsLeft, Change::Deleted) => "It will be deleted: it did not exist then.".to_owned(),
        (Standing::AsLeft, Change::Altered) => String::new(),
    }
}

impl Rewound {
    /// Returns a sentence about what went back, and a sentence for each file that did not.
    pub fn told(&self) -> (String, Vec<String>) {
        let all = self.files.iter().flatten();
        let done = all.clone().filter(|file| file.done.is_ok()).count();
        let files = counted(done, "file");
        let what = match (self.conversation, &self.files, done) {
            (true, None, _) => "the conversation; files are not changed".to_owned(),
            (true, Some(_), 0) => "the conversation; no file was changed".to_owned(),
            (true, Some(_), _) => format!("the conversation and {files}"),
            (false, _, 0) => "nothing; no file was changed".to_owned(),
            (false, _, _) => format!("{files}; the conversation stays, and the model is told"),
        };
        let told = match (&self.prompt, done, self.conversation) {
            (Some(_), 0, false) => "No files were changed.".to_owned(),
            (Some(_), ..) => format!("Taken back: {what}. /undo undoes it."),
            (None, ..) => format!("Undone: restored {what}. /undo again redoes it."),
        };
        let failed = all.filter_map(|file| {
            let Restored { name, done, .. } = file;
            let why = done.as_ref().err()?;
            Some(format!("Not restored: {name} ({why})."))
        });
        (told, failed.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wanted_is_read_from_the_words_behind_the_command() {
        let go = |number, scope, overwrite| RewindCommand::Go {
            number,
            scope,
            overwrite,
        };
        for (arguments, expected) in [
            ("", RewindCommand::List),
            ("2", RewindCommand::Preview(2)),
            ("#2", RewindCommand::Preview(2)),
            ("2 both", go(2, Scope::Both, false)),
            ("2 Files --force", go(2, Scope::Files, true)),
            ("2 --force conversation", go(2, Scope::Conversation, true)),
            ("2 --force", RewindCommand::Unknown),
            ("--force", RewindCommand::Unknown),
            ("both", RewindCommand::Unknown),
            ("both 2", RewindCommand::Unknown),
            ("-1", RewindCommand::Unknown),
            ("2 both files", RewindCommand::Unknown),
            ("99999999999999999999999", RewindCommand::Unknown),
        ] {
            assert_eq!(wanted(arguments), expected, "{arguments}");
        }
    }
}
