//! The user's requests to a session: a prompt, a retry, a compaction, a command of their own.

use crate::environment::journal::Mark;
use crate::interrupt::Interrupt;
use crate::run::Ending;
use crate::session::prompt::Prompt;
use crate::session::{Session, injected};
use crate::tool::event::{Event, Listen};
use crate::tool::hooks::{Objection, Occasion};
use crate::tool::{Call, Live, Output, Tool};
use crate::turn::compaction;
use crate::turn::driver;
use crate::turn::session_hooks;
use crate::turn::step::description;
use crate::turn::truncation::SHOWN;
use codelet_context::conversation::{Due, Refusal};
use codelet_context::message::{Message, Origin, Parameters, Part, Role, Text};
use codelet_context::notice::Notice;
use codelet_context::policy::Reason;
use codelet_context::refusal;
use codelet_context::reminder;
use codelet_context::tokens::estimate_message;

const SUBMIT: &str = "UserPromptSubmit";

impl Session {
    /// Takes a prompt and carries it to its end, or until `interrupt` is thrown. API keys in it are sent to nobody.
    pub async fn prompt(&mut self, prompt: Prompt, interrupt: &Interrupt, listener: &mut dyn Listen) -> Ending {
        self.carry(prompt, None, interrupt, listener).await
    }

    /// Does the same. A rewind to this prompt restores files to `mark`, or to their current contents if it is `None`.
    async fn carry(
        &mut self,
        mut prompt: Prompt,
        mark: Option<Mark>,
        interrupt: &Interrupt,
        listener: &mut dyn Listen,
    ) -> Ending {
        self.beside.clear();
        self.held_up = None;
        self.narrowed = prompt.narrowed.iter().cloned().collect();
        *self.asked_again.get_mut() = 0;
        let skills = self.find_skills(listener);
        self.refresh_tools(interrupt, listener).await;
        if let Some(source) = self.begins.take() {
            session_hooks::on_start(self, source, interrupt, listener).await;
        }
        let (before, messages) = (
            self.conversation.earlier(),
            self.conversation.history().messages().len(),
        );
        let prompted = self.prompted(mark);
        let hidden = self.hidden(&prompt.text);
        if hidden != prompt.text {
            let told = "the prompt contains an API key or another secret; it is hidden from the model and not saved";
            listener.on(Event::Notice(told.to_owned()));
            prompt.text = hidden;
        }
        let context = match self.submit(&prompt.text, interrupt, listener).await {
            Ok(context) => context,
            Err(ending) => {
                // It had no effect, and the previous prompt is no longer the one to retry.
                self.last = None;
                self.unfinished.clear();
                return ending;
            }
        };
        let mut parts = vec![Part::text(prompt.text.as_str())];
        parts.extend(prompt.images.iter().cloned().map(Part::Image));
        let attached = prompt.attached.iter();
        parts.extend(attached.map(|attachment| attachment.part(&|text| self.hidden(text))));
        let said = Message::new(Role::User, parts);
        self.remind(estimate_message(&said), &skills, interrupt, listener).await;
        session_hooks::append(self, SUBMIT, context);
        self.conversation.append(said);
        self.prompts.push(prompted);
        let ending = driver::drive(self, &before, interrupt, listener).await;
        self.last = Some((prompt, before, messages));
        ending
    }

    /// Calls hooks for a prompt, and returns their text for the model.
    ///
    /// # Errors
    /// If one of them denied it, or the user interrupted.
    async fn submit(
        &mut self,
        prompt: &str,
        interrupt: &Interrupt,
        listener: &mut dyn Listen,
    ) -> Result<Vec<String>, Ending> {
        let occasion = Occasion::UserPromptSubmit { prompt };
        let Some(said) = session_hooks::tell(self, occasion, interrupt, listener).await else {
            return Ok(Vec::new());
        };
        let ending = match said.objection {
            // The user still has the prompt; a model that never saw it needs no mention of it.
            Some(Objection::Deny(why)) => Ending::Blocked(why),
            _ if interrupt.is_thrown() => Ending::Interrupted,
            _ => return Ok(said.context),
        };
        listener.on(Event::Over(ending.clone()));
        Err(ending)
    }

    /// Discards the effects of the last prompt on the conversation and sends it again, after what the user has added
    /// since; `None` if there was none. Changes by tools remain, and so do the user's refusals: the model is told of
    /// them. [`undo`](Self::undo) reverts this.
    pub async fn retry(&mut self, interrupt: &Interrupt, listener: &mut dyn Listen) -> Option<Ending> {
        let (prompt, before, messages) = self.last.take()?;
        let refused = self.refused_since(messages);
        self.discard();
        self.conversation.restore(before);
        // The changes of its first try belong to it.
        let mark = self.prompts.pop().map(|prompted| prompted.mark);
        let beside = std::mem::take(&mut self.beside);
        for message in beside.into_iter().chain(refused) {
            self.conversation.append(message);
        }
        self.begin_anew();
        Some(self.carry(prompt, mark, interrupt, listener).await)
    }

    /// Returns the calls that the user has refused from this message on, described for a model that no longer sees
    /// them.
    fn refused_since(&self, first: usize) -> Option<Message> {
        let since = self.conversation.history().messages().get(first..)?;
        let call = |id: &str| {
            since
                .iter()
                .flat_map(|message| message.calls())
                .find(|call| &*call.id == id)
        };
        let refused = since
            .iter()
            .flat_map(|message| message.tool_results())
            .filter_map(|result| {
                let Some(refusal::RefusedBy::User(said)) = &result.refusal else {
                    return None;
                };
                let call = call(&result.call_id)?;
                let about = description(self, call);
                let said = if said.is_empty() {
                    ""
                } else {
                    &format!(", and said: {said}")
                };
                Some(format!("- {} {about}: the user said no{said}", call.tool))
            });
        let refused: Vec<String> = refused.collect();
        let text = format!(
            "The user has refused these calls before; that holds:\n{}",
            refused.join("\n")
        );
        (!refused.is_empty()).then(|| injected(&text))
    }

    /// Compacts at the user's request. The instructions become part of the summary as the user's own words, what they
    /// name is quoted in it first, and a model that writes the summary receives them. If this fails or is interrupted,
    /// the listener is told, and the conversation is unchanged.
    ///
    /// # Errors
    /// As for [`Conversation::compact`](codelet_context::conversation::Conversation::compact).
    pub async fn compact(
        &mut self,
        instructions: Option<&str>,
        interrupt: &Interrupt,
        listener: &mut dyn Listen,
    ) -> Result<(), Refusal> {
        let instructions = instructions.map(|words| self.hidden(words));
        compaction::compact_as_asked(self, instructions.as_deref(), interrupt, listener).await
    }

    /// Returns the effect of [`compact`](Self::compact) with the template's summary, without changing anything.
    ///
    /// # Errors
    /// As for [`Conversation::compact`](codelet_context::conversation::Conversation::compact).
    pub fn compact_dry(&self, instructions: Option<&str>) -> Result<Notice, Refusal> {
        let mut tried = self.conversation.clone();
        if let Some(answers) = self.answers_in_place() {
            tried.append(answers);
        }
        compaction::instruct(&mut tried, instructions);
        tried.compact(Due::whole(Reason::Asked))
    }

    /// Runs a command line that the user has typed, with a tool that takes it as `command`, and puts the output into
    /// the conversation, truncated. No permission is needed: the user wants it.
    pub async fn run_for_user(&mut self, tool: &dyn Tool, line: &str, live: Live, interrupt: &Interrupt) -> Output {
        let parameters = Parameters::new([("command".to_owned(), line.into())].into_iter().collect());
        let permitted = tool.needs(&parameters).unwrap_or_default();
        self.note_command(line);
        let output = {
            let call = tool.call(Call {
                parameters: &parameters,
                permitted: &permitted,
                conversation: &self.conversation,
                live,
                interrupt: interrupt.clone(),
                lent: None,
            });
            tokio::select! {
                biased;
                output = call => output,
                never = self.glances.given(self) => match never {},
            }
        };
        let most = SHOWN.min(self.conversation.config().window() as usize / 2);
        let shown = self
            .conversation
            .bounded(output.text.clone(), (most * 2 / 3, most / 3), "Bash");
        let status = if output.success { "it succeeded" } else { "it failed" };
        let head =
            format!("The user ran a command in the shell; {status}. This is what it printed, not what the user says:");
        let line = self.hidden(line);
        let text = Text {
            // Reminders appear in the same position, and this must not look like one.
            body: reminder::escape(&format!("{head}\n$ {line}\n{}", shown.body.as_str().trim_end())).into(),
            origin: Origin::Injected,
            ..shown
        };
        self.add_beside(Message::new(Role::User, vec![Part::Text(text)]));
        output
    }
}
