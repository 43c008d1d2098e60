//! Rewinding to one of the session's prompts: the conversation, the files that its tools have changed, or both.
//!
//! Each prompt leaves a [point](codelet_context::conversation::Point) of the conversation and a
//! [mark](crate::environment::journal::Mark) of the journal. Whenever the model's knowledge of files no longer matches
//! their state, it is told.

pub mod told;

use crate::environment::journal::{Change, ChangedFile, Journal, Mark, Restore, Restored};
use crate::session::Session;
use crate::session::checkpoint::{Discarded, Known, Prompted};
use codelet_context::message::{Message, Origin, Part, Role};
use codelet_text::short::{clip, words};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// The maximum number of files named to the model.
const NAMED: usize = 40;
/// The maximum length of a quoted prompt, in characters.
const QUOTED: usize = 80;

/// The parts that go back to a prompt.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scope {
    /// The conversation and the files.
    Both,
    /// The conversation; files stay as they are.
    Conversation,
    /// The files; the conversation continues, and the model is told.
    Files,
}

impl Scope {
    /// All scopes.
    pub const ALL: [Scope; 3] = [Scope::Both, Scope::Conversation, Scope::Files];

    /// Returns the name in commands.
    pub fn name(self) -> &'static str {
        match self {
            Scope::Both => "both",
            Scope::Conversation => "conversation",
            Scope::Files => "files",
        }
    }
}

/// A prompt of the session, and its effects.
#[derive(Clone, PartialEq, Debug)]
pub struct PastPrompt {
    /// Its number in the session, from 1.
    pub number: usize,
    /// The text.
    pub text: String,
    /// Its age; `None` if it predates this session, in the conversation that it continues.
    pub ago: Option<Duration>,
    /// The files that the tools changed for it.
    pub files: Vec<ChangedFile>,
    /// The number of commands run and MCP calls made for it that may have changed files.
    pub commands: usize,
}

/// The effect of going back to a prompt.
#[derive(Clone, PartialEq, Debug)]
pub struct Preview {
    /// The prompt.
    pub text: String,
    /// The number of prompts that would be removed from the conversation, including this one.
    pub prompts: usize,
    /// The number of replies that would be removed.
    pub steps: usize,
    /// The number of tool calls in them.
    pub calls: usize,
    /// The files that would be restored.
    pub restores: Vec<Restore>,
    /// The commands run and MCP calls made since. Their changes are not reverted.
    pub commands: Vec<String>,
    /// True if it predates this session, so that only later file changes are known.
    pub is_recorded: bool,
}

/// The result of a rewind.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Rewound {
    /// The prompt that was rewound to; `None` if a rewind was undone.
    pub prompt: Option<String>,
    /// True if the conversation went back.
    pub conversation: bool,
    /// The result for each file, if files were to go back.
    pub files: Option<Vec<Restored>>,
}

impl Session {
    /// Records the file changes of tools in this journal, so that they can be reverted.
    pub fn journalled_by(&mut self, journal: Arc<dyn Journal>) {
        self.journal = Some(journal);
    }

    /// Records that a command runs, whose changes are unknown.
    pub(crate) fn note_command(&self, command: &str) {
        if let Some(journal) = &self.journal {
            journal.note_command(command);
        }
    }

    fn mark(&self) -> Mark {
        self.journal.as_ref().map_or(Mark::default(), |journal| journal.mark())
    }

    /// Returns the checkpoint before a prompt. Its files are those at `mark`, if given, and otherwise the current ones.
    pub(crate) fn prompted(&self, mark: Option<Mark>) -> Prompted {
        let before = self.prompts.last().map(|prompted| &prompted.point);
        Prompted {
            point: self.conversation.point(before),
            mark: mark.unwrap_or_else(|| self.mark()),
            asked: Instant::now(),
            is_recorded: false,
        }
    }

    /// Returns the same before a prompt of the conversation that this session continues.
    pub(crate) fn prompted_before(&self) -> Prompted {
        Prompted {
            is_recorded: true,
            ..self.prompted(None)
        }
    }

    /// Returns the text of a prompt.
    fn text_of(&self, prompted: &Prompted) -> String {
        let since = self.conversation.history().messages().get(prompted.point.said()..);
        let said = since.unwrap_or_default().iter().find(|message| message.is_prompt());
        said.map_or_else(String::new, |message| own_words(message))
    }

    /// Returns the prompts that can be rewound to, at most this many of the newest, oldest first: those of this session
    /// that are still in its conversation, and those of the conversation that it continues.
    pub fn past_prompts(&self, most: usize) -> Vec<PastPrompt> {
        let ends = self.prompts.iter().skip(1).map(|next| next.mark).chain([self.mark()]);
        let prompts = self.prompts.iter().zip(ends).enumerate();
        let prompts = prompts.skip(self.prompts.len().saturating_sub(most));
        prompts
            .map(|(at, (prompted, end))| PastPrompt {
                number: at + 1,
                text: self.text_of(prompted),
                ago: (!prompted.is_recorded).then(|| prompted.asked.elapsed()),
                files: self
                    .journal
                    .as_ref()
                    .map_or_else(Vec::new, |journal| journal.changed(prompted.mark, end)),
                commands: self
                    .journal
                    .as_ref()
                    .map_or(0, |journal| journal.commands(prompted.mark, end).len()),
            })
            .collect()
    }

    fn prompt_of_number(&self, number: usize) -> Option<&Prompted> {
        self.prompts.get(number.checked_sub(1)?)
    }

    /// Returns the effect of going back to before the prompt of this number, without changing anything; `None` if there
    /// is no such prompt.
    pub async fn rewind_preview(&self, number: usize) -> Option<Preview> {
        let prompted = self.prompt_of_number(number)?;
        let since = self.conversation.history().messages().get(prompted.point.said()..)?;
        let (restores, commands) = match &self.journal {
            Some(journal) => (
                journal.restores(prompted.mark).await,
                journal.commands(prompted.mark, journal.mark()),
            ),
            None => (Vec::new(), Vec::new()),
        };
        Some(Preview {
            text: self.text_of(prompted),
            prompts: self.prompts.len() + 1 - number,
            steps: since.iter().filter(|message| message.role == Role::Assistant).count(),
            calls: since.iter().flat_map(|message| message.calls()).count(),
            restores,
            commands,
            is_recorded: prompted.is_recorded,
        })
    }

    /// Goes back to before the prompt of this number; `None` if there is no such prompt. Files changed since by
    /// anything other than the tools are restored only if `overwrite` is set. The model is told what it no longer knows
    /// about files. [`undo`](Self::undo) reverts the rewind.
    pub async fn rewind(&mut self, number: usize, scope: Scope, overwrite: bool) -> Option<Rewound> {
        let prompted = self.prompt_of_number(number)?.clone();
        let text = self.text_of(&prompted);
        let before = self.mark();
        let files = match &self.journal {
            Some(journal) if scope != Scope::Conversation => Some(journal.restore(prompted.mark, overwrite).await),
            _ => None,
        };
        let is_restored = files.iter().flatten().any(|file| file.done.is_ok());
        let conversation = scope != Scope::Files;
        if conversation || is_restored {
            self.discarded = Some(Discarded {
                conversation: conversation.then(|| self.known(before)),
                files: files.is_some().then_some(before),
            });
        }
        if conversation {
            self.conversation.go_back(&prompted.point);
            self.prompts.truncate(number - 1);
            self.goes_on_from(prompted.mark);
        } else if is_restored {
            let quoted = words(&text);
            let when = format!("before the prompt \"{}\"", clip(&quoted, QUOTED));
            self.tell_restored(files.as_deref().unwrap_or_default(), &when);
        }
        Some(Rewound {
            prompt: Some(text),
            conversation,
            files,
        })
    }

    fn known(&self, mark: Mark) -> Known {
        Known {
            number: self.number,
            earlier: self.conversation.earlier(),
            pins: self.conversation.pins().to_vec(),
            prompts: self.prompts.clone(),
            mark,
        }
    }

    /// Keeps the conversation as it is, for [`undo`](Self::undo).
    pub(crate) fn discard(&mut self) {
        self.discarded = Some(Discarded {
            conversation: Some(self.known(self.mark())),
            files: None,
        });
    }

    /// Reverts the last [`retry`](Self::retry), [`clear`](Self::clear) or [`rewind`](Self::rewind), with everything
    /// said and changed since; `None` if there is none. A second call redoes it.
    pub async fn undo(&mut self) -> Option<Rewound> {
        let Discarded { conversation, files } = self.discarded.take()?;
        let before = self.mark();
        let restored = match (&self.journal, files) {
            (Some(journal), Some(mark)) => Some(journal.restore(mark, false).await),
            _ => None,
        };
        self.discarded = Some(Discarded {
            conversation: conversation.is_some().then(|| self.known(before)),
            files: files.map(|_| before),
        });
        let has_conversation = conversation.is_some();
        if let Some(known) = conversation {
            self.conversation.restore(known.earlier);
            self.number = known.number;
            for pin in known.pins {
                self.conversation.pin(pin);
            }
            self.prompts = known.prompts;
            self.goes_on_from(known.mark);
        } else {
            self.tell_restored(restored.as_deref().unwrap_or_default(), "before the user's last rewind");
        }
        Some(Rewound {
            prompt: None,
            conversation: has_conversation,
            files: restored,
        })
    }

    /// Continues with another conversation, which knows files as they were at this moment.
    fn goes_on_from(&mut self, mark: Mark) {
        (self.last, self.asked) = (None, None);
        self.beside.clear();
        self.unfinished.clear();
        self.begin_anew();
        if let Some(told) = self.taken_over.clone()
            && self.prompts.iter().all(|prompted| prompted.is_recorded)
        {
            // It followed what was taken over.
            self.tell(&told);
        }
        let Some(journal) = self.journal.clone() else { return };
        journal.forget_looks();
        let now = journal.mark();
        let (changed, commands) = (journal.changed(mark, now), journal.commands(mark, now));
        if changed.is_empty() && commands.is_empty() {
            return;
        }
        let mut told =
            "The user has taken the conversation back to here, and some files are not as it knows them.".to_owned();
        if !changed.is_empty() {
            told.push_str(" Changed in work that is not part of this conversation any more:");
            told.push_str(&list(changed.iter().map(|file| match file.change {
                Change::Created => format!("{} (new)", file.name),
                Change::Altered => file.name.clone(),
                Change::Deleted => format!("{} (deleted)", file.name),
            })));
        }
        if !commands.is_empty() {
            told.push_str("\nThat work included commands or MCP calls, and what they changed was not taken back.");
        }
        told.push_str("\nRead a file again before you rely on what was said of it.");
        self.tell(&told);
    }

    /// Tells the model which files were restored.
    fn tell_restored(&mut self, files: &[Restored], when: &str) {
        let restored: Vec<&Restored> = files.iter().filter(|file| file.done.is_ok()).collect();
        if restored.is_empty() {
            return;
        }
        let mut told = format!("The user has put files back to how they were {when}:");
        told.push_str(&list(restored.iter().map(|file| match file.change {
            Change::Deleted => format!("{} (deleted: there was none)", file.name),
            Change::Created | Change::Altered => file.name.clone(),
        })));
        told.push_str(
            "\nWhat was read and said of them since then does not hold. Read them again before you rely on it.",
        );
        self.tell(&told);
    }
}

/// Returns the names, one per line, up to the maximum.
fn list(names: impl ExactSizeIterator<Item = String>) -> String {
    let more = names.len().saturating_sub(NAMED);
    let mut list: String = names.take(NAMED).map(|name| format!("\n- {name}")).collect();
    if more > 0 {
        list.push_str(&format!("\n- and {more} more"));
    }
    list
}

/// Returns the text of a prompt that the user typed.
fn own_words(message: &Message) -> String {
    let texts = message.parts.iter().filter_map(|part| match part {
        Part::Text(text) if text.origin == Origin::Own => Some(text.body.as_str()),
        _ => None,
    });
    texts.take(1).collect()
}
