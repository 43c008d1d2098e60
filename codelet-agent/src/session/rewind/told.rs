//! What a person says behind `/rewind`, and what they are told of it: the same sentences in every front.

use super::{PastPrompt, Preview, Rewound, Scope};
use crate::environment::journal::{Change, ChangedFile, Restore, Restored, Standing};
use codelet_text::short::{clip, words};

/// How the command is used.
pub const USAGE: &str =
    "Usage: /rewind, /rewind NUMBER, or /rewind NUMBER both, conversation or files. Nothing was done.";
/// What is said where there is nothing to go back to.
pub const NO_PROMPTS: &str = "There is no prompt to go back to.";
/// Has files overwritten that somebody else has changed.
const FORCE: &str = "--force";
/// Commands that are named, and characters of each.
const COMMANDS: usize = 5;
const COMMAND: usize = 60;
/// Files that are named in a list.
const FILES: usize = 4;

/// What is wanted behind the command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RewindCommand {
    /// The list of the prompts.
    List,
    /// What going back to this prompt comes to.
    Preview(usize),
    /// To go back to this prompt.
    Go {
        /// Its number.
        number: usize,
        /// With what.
        scope: Scope,
        /// Also over what somebody else has changed.
        overwrite: bool,
    },
    /// Nothing that is known.
    Unknown,
}

/// Reads what stands behind the command.
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

/// Says that there is no prompt of this number.
pub fn missing(number: usize) -> String {
    format!("There is no prompt {number} to go back to; /rewind lists them.")
}

fn counted(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

impl PastPrompt {
    /// How long ago, and what was changed for it: `3 min ago · src/a.rs +3 −1, b.txt (new) +10 −0`.
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
        // What a command changes, nobody knows.
        let ran = match self.commands {
            0 => String::new(),
            some => format!(" · {} ran", counted(some, "command")),
        };
        if self.files.is_empty() {
            return format!("{ago}{ran} · no file changed by Edit or Write");
        }
        let named = self.files.iter().take(FILES).map(changed_file).collect::<Vec<_>>();
        let more = self.files.len().saturating_sub(FILES);
        let more = if more > 0 {
            format!(" and {more} more")
        } else {
            String::new()
        };
        format!("{ago} · {}{more}{ran}", named.join(", "))
    }
}

fn changed_file(file: &ChangedFile) -> String {
    let what = match file.change {
        Change::Created => " (new)",
        Change::Altered => "",
        Change::Deleted => " (deleted)",
    };
    let lines = file
        .lines
        .map_or_else(String::new, |(added, removed)| format!(" +{added} −{removed}"));
    format!("{}{what}{lines}", file.name)
}

impl Preview {
    /// What of the conversation goes.
    pub fn conversation(&self) -> String {
        format!(
            "From the conversation: {}, {} and {} go.",
            counted(self.prompts, "prompt"),
            counted(self.steps, "answer"),
            counted(self.calls, "tool call")
        )
    }

    /// That nothing is known of what was done before this session; none where it began behind the session's beginning.
    pub fn before_the_session(&self) -> Option<&'static str> {
        self.is_recorded.then_some(
            "What was changed in files before this session began stays: only this session's changes are known.",
        )
    }

    /// That commands are not covered, and which ran; none if none did.
    pub fn uncovered(&self) -> Option<String> {
        let named: Vec<String> = self
            .commands
            .iter()
            .rev()
            .take(COMMANDS)
            .map(|command| format!("`{}`", clip(&words(command), COMMAND)))
            .collect();
        let more = self.commands.len().saturating_sub(COMMANDS);
        let more = if more > 0 {
            format!(" and {more} more")
        } else {
            String::new()
        };
        let told = || {
            format!(
                "Not covered: what commands changed. Since then ran {}{more}.",
                named.join(", ")
            )
        };
        (!named.is_empty()).then(told)
    }

    /// How many files would be put back without overwriting anybody's changes.
    pub fn covered(&self) -> usize {
        self.count(|standing| *standing == Standing::AsLeft)
    }

    /// How many files somebody else has changed since.
    pub fn changed_since(&self) -> usize {
        self.count(|standing| *standing == Standing::ChangedSince)
    }

    fn count(&self, is: impl Fn(&Standing) -> bool) -> usize {
        self.restores.iter().filter(|restore| is(&restore.standing)).count()
    }

    /// What to write to go back, where no keys answer.
    pub fn how(&self, number: usize) -> String {
        let mut how = match self.covered() + self.changed_since() {
            0 => format!("To go back, write /rewind {number} conversation. There is no file to put back."),
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

/// What would become of a file, in a sentence; empty where its diff says it.
pub fn fate(restore: &Restore) -> String {
    match (&restore.standing, restore.change) {
        (Standing::Lost(why), _) => format!("It cannot be put back: {why}."),
        (Standing::ChangedSince, Change::Created) => {
            "It was deleted since, by a command or somebody else: it comes back only if you say so.".to_owned()
        }
        (Standing::ChangedSince, _) => {
            "It was changed since, by a command or somebody else: it is overwritten only if you say so.".to_owned()
        }
        (Standing::AsLeft, Change::Created) => "It comes back.".to_owned(),
        (Standing::AsLeft, Change::Deleted) => "It is deleted: there was none then.".to_owned(),
        (Standing::AsLeft, Change::Altered) => String::new(),
    }
}

impl Rewound {
    /// What has gone back, in a sentence, and what has not, a sentence each.
    pub fn told(&self) -> (String, Vec<String>) {
        let all = self.files.iter().flatten();
        let done = all.clone().filter(|file| file.done.is_ok()).count();
        let files = counted(done, "file");
        let what = match (self.conversation, &self.files, done) {
            (true, None, _) => "the conversation; files are not changed".to_owned(),
            (true, Some(_), 0) => "the conversation; no file was changed".to_owned(),
            (true, Some(_), _) => format!("the conversation and {files}"),
            (false, _, 0) => "nothing; no file was changed".to_owned(),
            (false, _, _) => format!("{files}; the conversation goes on, and the model is told"),
        };
        let told = match (&self.prompt, done, self.conversation) {
            (Some(_), 0, false) => "No file was changed.".to_owned(),
            (Some(_), ..) => format!("Taken back: {what}. /undo undoes it."),
            (None, ..) => format!("Undone: restored {what}. /undo again redoes it."),
        };
        let failed = all.filter_map(|file| {
            let Restored { name, done, .. } = file;
            let why = done.as_ref().err()?;
            Some(format!("Not put back: {name} ({why})."))
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
