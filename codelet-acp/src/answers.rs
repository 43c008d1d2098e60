//! Slash commands that make sense without a terminal, answered as messages in the conversation.

use crate::editor::{clean, fenced};
use crate::seat::Seat;
use crate::updates::todo;
use agent_client_protocol::v1::schema::{NoticeSeverity, StopReason};
use agent_client_protocol::{Error, RequestCancellation};
use codelet_agent::permission::{Gate as _, Permission};
use codelet_agent::plan::{self, Wanted};
use codelet_agent::prompts::{self, Fetched, fetch};
use codelet_agent::rewind::told::{RewindCommand, USAGE, fate, missing, wanted};
use codelet_agent::rewind::{Preview, Rewound};
use codelet_context::pin::Pin;
use std::sync::Arc;

impl Seat {
    /// Runs a command. Returns `None` for an unknown one, which is then treated as a prompt.
    pub async fn command(
        &mut self,
        word: &str,
        arguments: &str,
        cancelled: &RequestCancellation,
    ) -> Option<Result<StopReason, Error>> {
        if let Some((command, words)) = prompts::command(&format!("/{word} {arguments}"))
            && self.reach.prompts.prompts().iter().any(|spec| spec.command == command)
        {
            return Some(self.offered(command, words, cancelled).await);
        }
        if !self.reach.commands.iter().any(|command| command.word == word) {
            let typed = format!("/{word} {arguments}");
            if let Some((command, words)) = prompts::command_of_file(&typed, &self.reach.prompts.prompts()) {
                return Some(self.offered(command, words, cancelled).await);
            }
            if !self.reach.of_terminals.contains(&word) {
                return None;
            }
            self.editor.say(&format!(
                "`/{word}` works only in a terminal session (`codelet` without `acp`)."
            ));
            return Some(Ok(StopReason::EndTurn));
        }
        if let Some(shown) = (self.reach.look)(&self.session, word, arguments) {
            self.editor.say(&fenced(&clean(&shown), ""));
            return Some(Ok(StopReason::EndTurn));
        }
        match word {
            "compact" => return Some(self.compact(arguments, cancelled).await),
            "retry" => return Some(self.retry(cancelled).await),
            "plan" => return Some(self.plan(arguments, cancelled).await),
            "undo-compact" => self.undo_compact(),
            "rewind" => self.rewind(arguments).await,
            "undo" => self.undo().await,
            "clear" => self.clear(),
            "pin" => self.pin(arguments),
            "unpin" => self.unpin(arguments),
            _ => return None,
        }
        Some(Ok(StopReason::EndTurn))
    }

    /// Sends a prompt of a file or a server after showing it.
    async fn offered(
        &mut self,
        command: &str,
        words: &str,
        cancelled: &RequestCancellation,
    ) -> Result<StopReason, Error> {
        let source = Arc::clone(&self.reach.prompts);
        let fetched = self.run(cancelled, async |_, interrupt, _| {
            fetch(&*source, command, words, interrupt).await
        });
        match fetched.await {
            (_, true) => Ok(StopReason::Cancelled),
            (Err(why), _) => {
                self.editor.say(&clean(&why));
                Ok(StopReason::EndTurn)
            }
            (Ok(fetched), _) => {
                let shown = self.session.hidden(&fetched.shown());
                self.editor.say(&fenced(&clean(&shown), ""));
                self.editor.say("\n\n");
                let Fetched { prompt, notices, .. } = fetched;
                for notice in notices {
                    self.editor.notice(NoticeSeverity::Warning, &notice);
                }
                self.carry(Some(prompt), cancelled).await
            }
        }
    }

    async fn compact(&mut self, instructions: &str, cancelled: &RequestCancellation) -> Result<StopReason, Error> {
        let instructions = Some(instructions).filter(|words| !words.is_empty());
        let compacted = self.run(cancelled, async |session, interrupt, listener| {
            session.compact(instructions, interrupt, listener).await
        });
        let (done, was_interrupted) = compacted.await;
        self.tell_usage();
        if was_interrupted {
            return Ok(StopReason::Cancelled);
        }
        // A refusal was reported to the listener.
        if done.is_ok() {
            self.editor
                .say("The conversation was compacted; /undo-compact undoes it.");
        }
        Ok(StopReason::EndTurn)
    }

    /// Enters plan mode, or leaves it with or without carrying out the plan.
    async fn plan(&mut self, arguments: &str, cancelled: &RequestCancellation) -> Result<StopReason, Error> {
        let is_on = self.reach.gate.permission() == Permission::Plan;
        match plan::wanted(arguments) {
            Wanted::Enter => {
                self.go_as_far_as(Permission::Plan);
                self.editor
                    .say("Plan mode: the model only reads, and answers with a plan.");
            }
            Wanted::Unknown => self.editor.say(plan::USAGE),
            _ if !is_on => self.editor.say(plan::NOT_NOW),
            Wanted::Leave => self.leave_plan(),
            wanted @ (Wanted::Accept(_) | Wanted::Replace(_)) => {
                let Some((answer, _)) = plan::proposed(&self.session) else {
                    self.editor.say(plan::NONE_YET);
                    return Ok(StopReason::EndTurn);
                };
                let (pin, prompt) = plan::accepted(answer, wanted, |text| self.session.hidden(text));
                self.session.conversation_mut().pin(pin);
                self.leave_plan();
                self.editor.say("\n\n");
                return self.carry(Some(prompt.as_str().into()), cancelled).await;
            }
            Wanted::Edit => match plan::proposed(&self.session) {
                Some((_, proposed)) => {
                    // ACP cannot prefill the editor's input.
                    let text = fenced(&clean(&plan::to_be_changed(&proposed)), "");
                    self.editor
                        .say(&format!("Change this as you like, and send it:\n\n{text}"));
                }
                None => self.editor.say(plan::NONE_YET),
            },
        }
        Ok(StopReason::EndTurn)
    }

    /// Restores the permission from before plan mode.
    fn leave_plan(&mut self) {
        let permission = self.reach.gate.behind_plan();
        self.go_as_far_as(permission);
        self.editor.say(&format!("Permission {}.", permission.name()));
    }

    async fn retry(&mut self, cancelled: &RequestCancellation) -> Result<StopReason, Error> {
        if self.session.last_turn().is_none() {
            self.editor.say("No prompt to send again.");
            return Ok(StopReason::EndTurn);
        }
        self.editor
            .say(&format!(
                "The last prompt is sent again; everything after it is discarded (/undo restores it). Files stay as they are{}\n\n",
                self.session.how_to_restore(1).map_or_else(|| ".".to_owned(), |how| format!(": {how}"))
            ));
        self.carry(None, cancelled).await
    }

    fn undo_compact(&mut self) {
        match self.session.conversation_mut().undo_compact() {
            true => self.editor.say("Compaction undone; the model sees what it saw before."),
            false => self.editor.say("No compaction to undo."),
        }
        self.tell_usage();
    }

    async fn undo(&mut self) {
        match self.session.undo().await {
            Some(undone) => self.tell_rewound(&undone),
            None => self.editor.say(&self.session.nothing_to_undo()),
        }
    }

    /// Previews a rewind, or carries it out. The list is handled with the other commands that only look.
    async fn rewind(&mut self, arguments: &str) {
        match wanted(arguments) {
            RewindCommand::Preview(number) => match self.session.rewind_preview(number).await {
                Some(preview) => self.show_preview(number, &preview),
                None => self.editor.say(&missing(number)),
            },
            RewindCommand::Go {
                number,
                scope,
                overwrite,
            } => match self.session.rewind(number, scope, overwrite).await {
                Some(rewound) => self.tell_rewound(&rewound),
                None => self.editor.say(&missing(number)),
            },
            RewindCommand::List | RewindCommand::Unknown => self.editor.say(USAGE),
        }
    }

    fn show_preview(&mut self, number: usize, preview: &Preview) {
        self.editor.say(&format!("{}\n\n", preview.conversation()));
        for restore in &preview.restores {
            self.editor
                .say(&format!("{} {}\n\n", clean(&restore.name), clean(&fate(restore))));
            if !restore.diff.is_empty() {
                self.editor.say(&fenced(&clean(&restore.diff), "diff"));
                self.editor.say("\n\n");
            }
        }
        if let Some(told) = preview.uncovered() {
            self.editor.say(&format!("{}\n\n", clean(&told)));
        }
        self.editor.say(&preview.how(number));
    }

    fn tell_rewound(&mut self, rewound: &Rewound) {
        let (told, failed) = rewound.told();
        self.editor.say(&told);
        for why in failed {
            self.editor.say(&format!("\n\n{}", clean(&why)));
        }
        self.editor.update(todo(&self.session));
        self.tell_usage();
    }

    fn clear(&mut self) {
        self.session.clear();
        self.editor.update(todo(&self.session));
        self.tell_usage();
        self.editor
            .say("Conversation cleared; the model no longer sees anything above. /undo restores it.");
    }

    fn pin(&mut self, sentence: &str) {
        let text = self.session.hidden(sentence);
        if !self.session.conversation_mut().pin(Pin::Text(text.clone())) {
            return self.editor.say("Already pinned.");
        }
        self.session.tell_pinned(&text);
        self.editor
            .say("Pinned; sent with your next prompt and kept by every compaction.");
    }

    fn unpin(&mut self, which: &str) {
        let pins = self.session.conversation().pins().to_vec();
        let chosen: Vec<Pin> = match which.parse::<usize>() {
            _ if which == "all" => pins,
            Ok(number) => pins.into_iter().skip(number.wrapping_sub(1)).take(1).collect(),
            Err(_) => Vec::new(),
        };
        if chosen.is_empty() {
            return self
                .editor
                .say("Usage: /unpin NUMBER or /unpin all; /pin lists the pins.");
        }
        for pin in &chosen {
            self.session.conversation_mut().unpin(pin);
        }
        self.editor.say("Unpinned.");
    }
}
