//! The implementation of the session's commands.

use super::looking::{Looking, either, only_looks};
use super::{Chat, Missed, ModelLookup, Reach};
use crate::command::Name;
use crate::front::{Activity, Front, Left};
use crate::render::figures::{self, count, number};
use crate::render::look::Role;
use crate::{answers, changes, copied, effort, notes, pins};
use codelet_agent::event::Event;
use codelet_agent::file_reference;
use codelet_agent::permission::{Gate as _, Permission};
use codelet_agent::plan::{self, Wanted};
use codelet_context::conversation::{Due, Refusal, Signals};
use codelet_context::pin::Pin;
use codelet_context::policy::Reason;
use codelet_text::near;
use ratatui::text::Line;
use std::sync::Arc;
use tokio::sync::mpsc;

/// Maximum size of a file that is pinned as text, in bytes.
const PINNED_FILE: usize = 32 * 1024;

impl<F: Front> Chat<F> {
    /// Runs a command of the session.
    pub(super) async fn command(&mut self, name: Name, arguments: &str) {
        let look = self.front.look();
        match name {
            Name::Exit => self.left = Some(Left::Left),
            Name::More => match arguments {
                "" => self.front.unfold(false),
                "all" => self.front.unfold(true),
                _ => self.refuse(Role::Warning, "Usage: /more, or /more all."),
            },
            Name::Help => self.front.print(answers::help(&look, &self.reach.prompts.prompts())),
            name if only_looks(name, arguments) => {
                let shown = Looking::from(&look, &self.reach, Activity::Nothing).at(&self.session, name, arguments);
                self.missed = shown.is_err().then_some(Missed::Refused);
                self.front.print(either(shown));
            }
            Name::Compact => self.compact(arguments).await,
            Name::UndoCompact => self.undo_compact(),
            Name::Pin => self.pin(arguments),
            Name::Unpin => self.unpin(arguments),
            Name::Notes => match notes::change(&mut self.session, arguments) {
                Ok(told) => self.say(Role::Good, &told),
                Err(why) => self.refuse(Role::Warning, &why),
            },
            Name::Model => self.model(arguments).await,
            Name::Effort => self.effort(arguments),
            Name::Plan => self.plan(arguments).await,
            Name::Diff => self.diff(arguments).await,
            Name::Commit => self.commit(arguments).await,
            Name::Permission => permission(arguments, &self.reach, &mut self.front),
            Name::Copy => self.copy(arguments),
            Name::Retry => self.retry().await,
            Name::Rewind => self.rewind(arguments).await,
            Name::Undo => self.undo().await,
            Name::Clear => {
                let pins = self.session.conversation().pins().len();
                self.session.clear();
                let pins = match pins {
                    0 => String::new(),
                    some => format!(" {} removed.", count(some as u64, "pin")),
                };
                let told =
                    format!("Conversation cleared; /cost still includes what was spent.{pins} /undo restores it.");
                self.say(Role::Text, &told);
            }
            // Handled by the `only_looks` arm above, whatever their arguments.
            Name::Context | Name::Summary | Name::Cost | Name::Todo | Name::Recall | Name::Why | Name::Export => {}
        }
    }

    /// Shows the uncommitted changes. The model is not informed.
    async fn diff(&mut self, file: &str) {
        let world = Arc::clone(&self.reach.world);
        let file =
            file_reference::only(file).map_or_else(|| file.to_owned(), |file| file.to_string_lossy().into_owned());
        let file = Some(file).filter(|file| !file.is_empty());
        let asked = self.run(Activity::Git, async |_, interrupt, _| {
            world.git_diff(file.as_deref(), interrupt.clone()).await
        });
        let asked = asked.await;
        match asked.done {
            Some(Ok(told)) => {
                let look = self.front.look();
                self.front.print(changes::lines(&look, &told, file.as_deref()));
            }
            Some(Err(why)) if !asked.was_interrupted => self.refuse(Role::Warning, &why),
            _ => {}
        }
        self.interrupted(asked.was_interrupted);
    }

    /// Enters plan mode, or leaves it with or without carrying out the plan.
    async fn plan(&mut self, arguments: &str) {
        let wanted = plan::wanted(arguments);
        if wanted == Wanted::Enter {
            return go_as_far_as(Permission::Plan, &self.reach, &mut self.front);
        }
        if wanted == Wanted::Unknown {
            return self.refuse(Role::Warning, plan::USAGE);
        }
        if self.reach.gate.permission() != Permission::Plan {
            return self.refuse(Role::Warning, plan::NOT_NOW);
        }
        let behind = self.reach.gate.behind_plan();
        if wanted == Wanted::Leave {
            return go_as_far_as(behind, &self.reach, &mut self.front);
        }
        let Some((answer, proposed)) = plan::proposed(&self.session) else {
            return self.refuse(Role::Warning, plan::NONE_YET);
        };
        if wanted == Wanted::Edit {
            if !self.front.fill(&plan::to_be_changed(&proposed)) {
                self.refuse(Role::Warning, "Write the changed plan on the lines after /plan accept.");
            }
            return;
        }
        let (pin, prompt) = plan::accepted(answer, wanted, |text| self.session.hidden(text));
        self.session.conversation_mut().pin(pin);
        go_as_far_as(behind, &self.reach, &mut self.front);
        let prompt = self.attach(prompt);
        self.carry(Some(prompt)).await;
    }

    async fn compact(&mut self, arguments: &str) {
        let instructions = Some(arguments).filter(|words| !words.is_empty());
        let compacted = self.run(Activity::Compaction, async |session, interrupt, listener| {
            // The listener receives the refusal.
            session.compact(instructions, interrupt, listener).await
        });
        let compacted = compacted.await;
        // Too little new content is no failure.
        if let Some(Err(Refusal::OpenCalls(_) | Refusal::Invalid(..))) = compacted.done {
            self.missed = Some(Missed::Refused);
        }
        self.interrupted(compacted.was_interrupted);
    }

    /// Copies the last answer, or a code block of it, to the clipboard.
    fn copy(&mut self, number: &str) {
        let (text, what) = match copied::of(&self.session, number) {
            Ok(found) => found,
            Err(why) => return self.refuse(Role::Warning, &why),
        };
        let text = text.trim_end();
        if text.len() > copied::MOST {
            let most = figures::number(copied::MOST as u64);
            return self.refuse(Role::Warning, &format!("Too long for the terminal's clipboard (at most {most} bytes); /export writes the conversation to a file."));
        }
        match self.front.copy(text) {
            true => self.say(
                Role::Good,
                &format!(
                    "Copied {what}, {}. (If the clipboard is empty, your terminal does not let programs write to it.)",
                    count(text.lines().count() as u64, "line")
                ),
            ),
            false => self.refuse(Role::Warning, "Cannot copy: there is no terminal here."),
        }
    }

    /// Sends the last prompt again, after reporting what that discards.
    async fn retry(&mut self) {
        let Some(turn) = self.session.last_turn() else {
            return self.refuse(Role::Warning, "No prompt to send again.");
        };
        let prompt = answers::shortened(&turn.prompt);
        let discarded = match (turn.steps, turn.calls) {
            (0, _) => "Nothing is discarded.".to_owned(),
            (steps, 0) => format!("Discarded: {} (/undo restores it).", count(steps as u64, "answer")),
            (steps, calls) => format!(
                "Discarded: {} with {} (/undo restores them); {}",
                count(steps as u64, "answer"),
                count(calls as u64, "tool call"),
                match self.session.how_to_restore(1) {
                    Some(how) => format!("files stay as they are: {how}"),
                    None => "files stay as they are.".to_owned(),
                }
            ),
        };
        self.say(Role::Text, &format!("Sending again: {prompt}\n{discarded}"));
        self.carry(None).await;
    }

    fn undo_compact(&mut self) {
        let before = self.session.conversation().occupancy();
        if self.session.conversation_mut().undo_compact() {
            let after = self.session.conversation().occupancy();
            let (before, after) = (number(before), number(after));
            self.say(
                Role::Good,
                &format!("Compaction undone: {before} → {after} tokens; the model sees what it saw before"),
            );
            let due = self.session.conversation().decide(Signals::default());
            let again = match due.map(Due::reason) {
                Some(Reason::Full | Reason::Refused) => {
                    "The context window is full: the next step compacts again, unless you switch to a model with a larger one (/model)."
                }
                Some(Reason::Price) => "Keeping it costs more than compacting: the next step compacts again.",
                _ => return,
            };
            self.say(Role::Warning, again);
        } else {
            self.say(Role::Warning, "No compaction to undo.");
        }
    }

    fn pin(&mut self, what: &str) {
        let what = &*self.session.hidden(what);
        let mut older = Vec::new();
        let (pin, told) = if let Some(number) = what.strip_prefix('#') {
            let messages = self.session.conversation().history().messages();
            let index = number.parse::<usize>().ok();
            match index.and_then(|index| Some((index, messages.get(index)?))) {
                Some((index, message))
                    if message.is_prompt()
                        || message.role == codelet_context::message::Role::Assistant
                        || message.tool_results().next().is_some() =>
                {
                    (Pin::Message(index), format!("Pinned: message #{index}"))
                }
                _ => {
                    let why = format!("#{number} is not a prompt, an answer or an output; /pin lists the prompts.");
                    return self.refuse(Role::Warning, &why);
                }
            }
        } else if let Some(file) = file_reference::only(what) {
            let file = &*file.to_string_lossy();
            older = pins::of_file(&self.session, file);
            match pins::newest_look_at(&self.session, file) {
                Some(number) => (
                    Pin::Message(number),
                    format!("Pinned: {file}, as it was read in message #{number}"),
                ),
                None => match (self.reach.read_file)(file, PINNED_FILE) {
                    Ok(text) => (
                        Pin::Text(pins::text_of(file, &text)),
                        format!("Pinned: {file}, as it is now; sent with your next prompt"),
                    ),
                    Err(why) => return self.refuse(Role::Error, &why),
                },
            }
        } else {
            (
                Pin::Text(what.to_owned()),
                "Pinned; sent with your next prompt and kept by every compaction".to_owned(),
            )
        };
        let text = match &pin {
            Pin::Text(text) => Some(text.clone()),
            Pin::Message(_) => None,
        };
        if self.session.conversation_mut().pin(pin) {
            if let Some(text) = text {
                self.session.tell_pinned(&text);
            }
            older.iter().for_each(|pin| {
                self.session.conversation_mut().unpin(pin);
            });
            let instead = if older.is_empty() {
                ""
            } else {
                ", replacing the earlier pin"
            };
            self.say(Role::Good, &format!("{told}{instead}"));
        } else {
            self.say(Role::Warning, "Already pinned.");
        }
    }

    fn unpin(&mut self, what: &str) {
        let pins = self.session.conversation().pins().to_vec();
        if pins.is_empty() {
            return self.say(Role::Warning, "Nothing is pinned.");
        }
        let chosen: Vec<Pin> = match what.trim_start_matches('#').parse::<usize>() {
            _ if what == "all" => pins,
            _ if let Some(file) = file_reference::only(what) => pins::of_file(&self.session, &file.to_string_lossy()),
            Ok(number) => pins.into_iter().skip(number.wrapping_sub(1)).take(1).collect(),
            // With several matches, the intended one is unknown.
            Err(_) => {
                let says = |pin: &&Pin| matches!(pin, Pin::Text(text) if !what.is_empty() && text.contains(what));
                let found: Vec<Pin> = pins.iter().filter(says).cloned().collect();
                Some(found).filter(|found| found.len() == 1).unwrap_or_default()
            }
        };
        if chosen.is_empty() {
            let look = self.front.look();
            self.say(Role::Warning, "Usage: /unpin NUMBER, /unpin @FILE or /unpin all.");
            return self.front.print(answers::pins(&look, &self.session));
        }
        let told = match chosen.as_slice() {
            [pin] => answers::pin_name(&self.session, pin),
            several => count(several.len() as u64, "pin"),
        };
        for pin in &chosen {
            self.session.conversation_mut().unpin(pin);
        }
        self.say(Role::Good, &format!("Unpinned {told}."));
    }

    async fn model(&mut self, name: &str) {
        let (tell, mut told) = mpsc::unbounded_channel();
        let mut connecting = (self.reach.connect)(name.to_owned(), tell);
        let found = self.run(Activity::Connection, async |_, interrupt, listener| {
            loop {
                tokio::select! {
                    biased;
                    () = interrupt.thrown() => break Err("interrupted; the model is unchanged".to_owned()),
                    Some(text) = told.recv() => listener.on(Event::Notice(text)),
                    model = &mut connecting => break model,
                }
            }
        });
        let found = found.await;
        match found.done {
            Some(Ok(ModelLookup::Held(why))) => self.refuse(Role::Warning, &why),
            Some(Ok(ModelLookup::Model { model, address })) => {
                self.session.change_model(model);
                let without_effort = effort::carried_over(&mut self.session, self.reach.effort);
                let profile = self.session.model().profile();
                let (name, window) = (profile.name.clone(), number(profile.window));
                // The user's price cards may cover a model that is in no catalogue.
                let price = if profile.price.is_none() {
                    "; its price is unknown"
                } else {
                    ""
                };
                if profile.is_unknown {
                    let meant = near::nearest(&name, self.reach.models.iter().map(String::as_str));
                    let meant = meant.map_or("/model lists known models".to_owned(), |meant| {
                        format!("did you mean {meant}?")
                    });
                    self.say(Role::Good, &format!("Switched to {name} at {address}."));
                    let told = format!(
                        "unknown model {name}: assuming a context window of {window} tokens (set `window` in the settings to change it){price}; {meant}"
                    );
                    self.say(Role::Warning, &told);
                } else {
                    let told = format!("Switched to {name} at {address}; context window {window} tokens.");
                    self.say(Role::Good, &told);
                }
                if self.session.steps() > 0 {
                    let told = effort::cache_lost(&self.session);
                    self.say(Role::Text, &told);
                }
                if let Some(told) = without_effort {
                    self.say(Role::Warning, &told);
                }
            }
            Some(Err(why)) => self.refuse(Role::Error, &why),
            None => {}
        }
        self.interrupted(found.was_interrupted);
    }

    fn effort(&mut self, wanted: &str) {
        match effort::change(&mut self.session, wanted) {
            Ok((told, effort)) => {
                self.reach.effort = effort;
                self.say(Role::Good, &told);
            }
            Err(why) => self.refuse(Role::Warning, &why),
        }
    }
}

/// Switches to the next permission of those that can be cycled through.
pub(super) fn next_permission<F: Front>(reach: &Reach, front: &mut F) {
    let next = match reach.gate.permission() {
        Permission::Plan => Permission::Read,
        Permission::Read => Permission::Edit,
        Permission::Edit | Permission::All => Permission::Plan,
    };
    go_as_far_as(next, reach, front);
}

/// Switches to a permission and reports it in a line.
pub(super) fn go_as_far_as<F: Front>(permission: Permission, reach: &Reach, front: &mut F) {
    permit(permission, reach, front);
    let told = answers::permits(permission);
    front.print(answers::say(&front.look(), Role::Text, told));
}

fn permit<F: Front>(permission: Permission, reach: &Reach, front: &mut F) {
    reach.gate.permit(permission);
    (reach.permit)(permission);
    front.permits(permission);
}

/// Shows the permission, or changes it.
pub(super) fn permission<F: Front>(wanted: &str, reach: &Reach, front: &mut F) {
    let look = front.look();
    let lines: Vec<Line<'static>> = match (wanted, Permission::from_name(wanted)) {
        ("", _) => answers::permission(&look, &reach.gate),
        (_, Some(permission)) => {
            permit(permission, reach, front);
            answers::permission(&look, &reach.gate)
        }
        (other, None) => answers::say(
            &look,
            Role::Warning,
            &format!("Unknown permission {other}; use plan, read, edit or all."),
        ),
    };
    front.print(lines);
}
