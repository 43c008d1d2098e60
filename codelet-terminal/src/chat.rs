//! The interactive session: handles one input after the other while the front end stays responsive.

mod commands;
mod commit;
mod looking;
mod rewind;

use crate::answers;
use crate::beginning::at_once;
use crate::command::{self, Name, Said};
use crate::complete::{self, Arguments};
use crate::effort;
use crate::front::{Activity, Front, Left, Standing, Wish};
use crate::render::figures::{count, dollars};
use crate::render::look::Role;
use crate::render::tool::OWN_ID;
use codelet_agent::asking::{Asking, Question};
use codelet_agent::effort::Effort;
use codelet_agent::environment::Surroundings;
use codelet_agent::event::{Event, Listen, Stopped};
use codelet_agent::interrupt::Interrupt;
use codelet_agent::model::{Model, Profile};
use codelet_agent::permission::{Gate as _, Permission};
use codelet_agent::plan::{self, Wanted};
use codelet_agent::prompts::{Fetched, PromptSource, command_of_file, fetch};
use codelet_agent::run::Ending;
use codelet_agent::session::{Prompt, Session};
use codelet_agent::snapshot::Glances;
use codelet_agent::tool::{Live, Tool};
use codelet_context::message::Action;
use codelet_text::near;
use commands::{go_as_far_as, next_permission, permission};
use commit::Proposed;
use futures_util::future::LocalBoxFuture;
pub(crate) use looking::only_looks;
pub use looking::shown;
use looking::{Looking, either};
use ratatui::text::Line;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};

/// Maximum time to wait for running work when the user leaves.
const PARTING: Duration = Duration::from_millis(500);

/// Connects to the model of this name; progress messages go to the sender.
pub type Connect = Box<dyn Fn(String, UnboundedSender<String>) -> LocalBoxFuture<'static, Result<ModelLookup, String>>>;

/// The result of looking up a model by name.
pub enum ModelLookup {
    /// The model.
    Model {
        /// The model to send requests to.
        model: Box<dyn Model>,
        /// The address, without secrets.
        address: String,
    },
    /// Nothing is changed until the same request is repeated: the reason.
    Held(String),
}
/// Writes a session to a file of this name; returns a message about what was written.
pub type Export = Arc<dyn Fn(&str, &Session) -> Result<String, String> + Send + Sync>;
/// Reads a file of the workspace, up to this many bytes.
pub type ReadFile = Box<dyn Fn(&str, usize) -> Result<String, String>>;
/// Makes a prompt for this model from the user's input, with the images that it mentions.
pub type Attach = Box<dyn Fn(String, &Profile) -> Attached>;

/// A prompt with its attachments, and the messages to show before it is sent.
pub struct Attached {
    /// The prompt.
    pub prompt: Prompt,
    /// A message about the attached images, if any.
    pub told: Option<String>,
    /// Attachments that were left out, with the reasons.
    pub warnings: Vec<String>,
}

/// The outside world as a session needs it.
pub struct Reach {
    /// Connects to another model.
    pub connect: Connect,
    /// Exports the conversation to a file.
    pub export: Export,
    /// Reads a file to be pinned.
    pub read_file: ReadFile,
    /// Makes a prompt with its images.
    pub attach: Attach,
    /// Runs the command lines that the user types.
    pub shell: Arc<dyn Tool>,
    /// Applies a permission to the tools.
    pub permit: Box<dyn Fn(Permission)>,
    /// The gate that asks for permission.
    pub gate: Asking,
    /// The gate's questions.
    pub questions: UnboundedReceiver<Question>,
    /// The files and git around the session.
    pub world: Arc<dyn Surroundings>,
    /// The source of prompts that can be used as commands.
    pub prompts: Arc<dyn PromptSource>,
    /// Known model names.
    pub models: Vec<String>,
    /// The thinking effort that the user wants of every model that supports one.
    pub effort: Option<Effort>,
    /// The co-author of commits, as `Name <address>`.
    pub co_author: Option<String>,
}

/// A finished session.
pub struct Lived {
    /// The way in which the user left it.
    pub left: Left,
    /// The end of its last prompt; none without a prompt.
    pub ending: Option<Ending>,
    /// The failure of the last command, if the user then did nothing but leave.
    pub missed: Option<Missed>,
    /// The queued input that was not handled, secrets hidden.
    pub unsent: Vec<String>,
    /// The session.
    pub session: Session,
}

/// The reason why a command was not done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Missed {
    /// The command was invalid or impossible.
    Refused,
    /// A shell command of the user failed.
    Failed,
}

/// A session with its front end.
pub(crate) struct Chat<F> {
    pub session: Session,
    pub reach: Reach,
    pub front: F,
    left: Option<Left>,
    ending: Option<Ending>,
    missed: Option<Missed>,
    /// Idle keep-alive requests since the last prompt; none after one has failed, so that no more are made.
    idle: Option<u32>,
    /// The commit that was shown and is neither made nor dropped.
    proposed: Option<Proposed>,
}

/// The outcome of a longer piece of work.
struct WorkOutcome<T> {
    /// Its result; none if the user left and it did not finish in time.
    done: Option<T>,
    was_interrupted: bool,
}

impl<F: Front> Chat<F> {
    /// A new session; with `left` set, it ends at once.
    pub fn new(session: Session, reach: Reach, front: F, left: Option<Left>) -> Self {
        Chat {
            session,
            reach,
            front,
            left,
            ending: None,
            missed: None,
            idle: Some(0),
            proposed: None,
        }
    }

    /// Handles input, starting with `opening`, until the user leaves.
    pub async fn live(mut self, opening: Option<String>) -> Lived {
        self.front.offer(self.reach.prompts.prompts());
        self.front.permits(self.reach.gate.permission());
        self.tell_standing();
        if let Some(said) = opening.filter(|_| self.left.is_none()) {
            self.take(&said).await;
            self.refresh_prompts().await;
            self.tell_standing();
        }
        loop {
            if let Some(left) = self.left {
                let unsent = self.list_unsent().await;
                self.front.close();
                return Lived {
                    left,
                    ending: self.ending,
                    missed: self.missed,
                    unsent,
                    session: self.session,
                };
            }
            match self.front.unqueue().await {
                Some(said) => self.take(&said).await,
                None => self.wait().await,
            }
            self.refresh_prompts().await;
            self.tell_standing();
        }
    }

    /// Lists and returns the queued input, secrets hidden. What was piped in behind an `exit` is none of it.
    async fn list_unsent(&mut self) -> Vec<String> {
        let mut unsent = Vec::new();
        while !self.front.keeps_order()
            && let Some(said) = self.front.unqueue().await
        {
            unsent.push(self.session.hidden(&said));
        }
        for said in &unsent {
            let (first, more) = match said.trim().split_once('\n') {
                Some((first, _)) => (first, self.front.look().pick(" …", " ...")),
                None => (said.trim(), ""),
            };
            self.say(Role::Warning, &format!("not sent: {first}{more}"));
        }
        unsent
    }

    /// Waits for the next wish. If none arrives in time, keeps the provider's cache alive, if the user wants that.
    async fn wait(&mut self) {
        let due = self.idle.and_then(|_| self.session.keep_alive_after());
        let wish = tokio::select! {
            biased;
            wish = self.front.next() => wish,
            () = sleep(due) => return self.keep_alive().await,
        };
        match wish {
            Wish::Say(said) => self.take(&said).await,
            // The display lags behind the events.
            Wish::Interrupt if matches!(self.ending, Some(Ending::Answered(_))) => {
                self.say(Role::Dim, "Nothing was interrupted: the answer was complete.");
            }
            Wish::Interrupt => {}
            Wish::Permit => next_permission(&self.reach, &mut self.front),
            Wish::Leave(how) => self.left = Some(how),
        }
    }

    /// Handles one input.
    async fn take(&mut self, said: &str) {
        let read = command::read(said);
        let shown = self.session.hidden(said);
        // Leaving does not clear the failure of the command before it.
        let is_leaving = matches!(read, Said::Nothing | Said::Command(Name::Exit, _));
        self.missed.take_if(|_| !is_leaving);
        match read {
            Said::Nothing => {}
            Said::Prompt(text) => {
                self.front.echo(&shown);
                let prompt = self.attach(text);
                self.carry(Some(prompt)).await;
            }
            Said::Offered(command, words) => {
                self.front.echo(&shown);
                self.offered(&command, &words, said).await;
            }
            Said::Shell(line) => {
                self.front.echo(&shown);
                self.shell(&line).await;
            }
            Said::Command(name, arguments) => {
                self.front.echo(&shown);
                match self.replacing(name) {
                    Some(word) => self.offered(word, &arguments, said).await,
                    None => self.command(name, &arguments).await,
                }
            }
            Said::Refused(why) => {
                self.front.echo(&shown);
                self.refuse(Role::Warning, &why);
            }
            Said::Unknown(word, words, _) if command_of_file(said, &self.reach.prompts.prompts()).is_some() => {
                self.front.echo(&shown);
                self.offered(&word, &words, said).await;
            }
            Said::Unknown(word, _, meant) => {
                self.front.echo(&shown);
                let prompts = self.reach.prompts.prompts();
                let meant = meant.or_else(|| near::nearest(&word, prompts.iter().map(|prompt| &*prompt.command)));
                let meant = match (command::of_others(&word), meant) {
                    (Some(here), _) => here.to_owned(),
                    (None, Some(meant)) => format!("did you mean /{meant}?"),
                    (None, None) => "/help lists the commands".to_owned(),
                };
                let word: String = word.chars().take(40).collect();
                self.refuse(Role::Warning, &format!("Unknown command /{word}; {meant}"));
            }
        }
    }

    /// Returns the user's own command that replaces this one; none while the input may answer the commit that this one
    /// has proposed.
    fn replacing(&self, name: Name) -> Option<&'static str> {
        let prompts = self.reach.prompts.prompts();
        let replaced = command::COMMANDS
            .iter()
            .find(|entry| entry.name == name && entry.is_replaced(&prompts));
        replaced.filter(|_| self.proposed.is_none()).map(|entry| entry.word)
    }

    /// Runs a longer piece of work while the front end stays responsive: handles keys, asks questions, and shows
    /// events.
    async fn run<T>(
        &mut self,
        doing: Activity,
        work: impl AsyncFnOnce(&mut Session, &Interrupt, &mut dyn Listen) -> T,
    ) -> WorkOutcome<T> {
        let interrupt = Interrupt::new();
        let (events, happened) = mpsc::unbounded_channel();
        let mut listener = move |event: Event| {
            // The receiver may be gone.
            let _ = events.send(event);
        };
        let glances = self.session.glances();
        let (show, mut shown) = mpsc::unbounded_channel();
        let mut meanwhile = Meanwhile {
            doing,
            happened,
            glances: glances.clone(),
            show,
            front: &mut self.front,
            reach: &mut self.reach,
            left: &mut self.left,
        };
        meanwhile.front.doing(doing);
        let working = work(&mut self.session, &interrupt, &mut listener);
        let done = meanwhile.attend(working, &mut shown, &interrupt).await;
        // Glances that were requested but not served during the run are answered now.
        glances.answer(&self.session);
        while let Ok(lines) = shown.try_recv() {
            self.front.print(lines);
        }
        self.front.doing(Activity::Nothing);
        WorkOutcome {
            done,
            was_interrupted: interrupt.is_thrown(),
        }
    }

    /// Runs a prompt to its end; without one, retries the last.
    async fn carry(&mut self, prompt: Option<Prompt>) {
        self.idle = Some(0);
        let carried = self.run(Activity::Run, async |session, interrupt, listener| match prompt {
            Some(prompt) => Some(session.prompt(prompt, interrupt, listener).await),
            None => session.retry(interrupt, listener).await,
        });
        let ending = carried.await.done.flatten();
        // The last event has reported how it ended. Input typed ahead was meant for an answer that did not come.
        if !matches!(ending, Some(Ending::Answered(_))) {
            self.give_back();
        }
        if matches!(ending, Some(Ending::Answered(_))) && self.reach.gate.permission() == Permission::Plan {
            self.say(Role::Dim, plan::ANSWERED);
        }
        self.ending = Some(ending.unwrap_or(Ending::Interrupted));
    }

    /// Sends a prompt of a file or a server after showing it. Attaches the images named in the arguments, and those
    /// that a file may name; files named by a server are never read.
    async fn offered(&mut self, command: &str, words: &str, typed: &str) {
        let source = Arc::clone(&self.reach.prompts);
        let fetched = self.run(Activity::Prompt, async |_, interrupt, _| {
            fetch(&*source, command, words, interrupt).await
        });
        let fetched = fetched.await;
        self.front.offer(self.reach.prompts.prompts());
        match fetched.done {
            Some(Ok(fetched)) => {
                let shown = self.session.hidden(&fetched.shown());
                let Fetched {
                    mut prompt,
                    mentions,
                    notices,
                } = fetched;
                self.tell_all(&notices);
                let named = self.attach(format!("{typed}\n{mentions}")).images;
                prompt.images.extend(named);
                self.front.quote(&shown);
                self.carry(Some(prompt)).await;
            }
            Some(Err(why)) => {
                self.refuse(Role::Warning, &why);
                self.interrupted(fetched.was_interrupted);
            }
            None => {}
        }
    }

    /// Refreshes the servers' prompts if they may have changed.
    async fn refresh_prompts(&mut self) {
        let source = Arc::clone(&self.reach.prompts);
        let before = source.prompts();
        let mut reading = source.refresh_prompts();
        let notices = match at_once(reading.as_mut()).await {
            Some(notices) => notices,
            None => {
                let read = self.run(Activity::Servers, async |_, interrupt, _| {
                    tokio::select! {
                        biased;
                        () = interrupt.thrown() => Vec::new(),
                        notices = reading => notices,
                    }
                });
                read.await.done.unwrap_or_default()
            }
        };
        self.tell_all(&notices);
        let prompts = source.prompts();
        if prompts != before {
            self.front.offer(prompts);
        }
    }

    fn tell_all(&mut self, notices: &[String]) {
        for notice in notices {
            self.say(Role::Warning, notice);
        }
    }

    /// Makes a prompt with the images that it mentions, as they are now; reports which ones are attached.
    fn attach(&mut self, text: String) -> Prompt {
        let attached = (self.reach.attach)(text, self.session.model().profile());
        if let Some(told) = attached.told {
            self.say(Role::Dim, &told);
        }
        for warning in attached.warnings {
            self.say(Role::Warning, &warning);
        }
        attached.prompt
    }

    /// Keeps the provider's cache from expiring, and reports the cost.
    async fn keep_alive(&mut self) {
        let before = *self.session.bill();
        let kept = self.run(Activity::KeepAlive, async |session, interrupt, listener| {
            session.keep_alive(interrupt, listener).await
        });
        let kept = kept.await;
        let bill = self.session.bill();
        let read = bill.usage.prompt() - before.usage.prompt();
        // Only tokens that a provider has counted are named.
        let (sent, estimated) = (count(read, "token"), bill.estimated - before.estimated);
        let sent = if read == 0 { "the whole prompt" } else { &sent };
        let cost = match bill.requests > before.requests && bill.unpriced == before.unpriced {
            true => format!(" for {}", dollars(bill.cost.total() - before.cost.total())),
            false if estimated > 0.0 => format!(" for about {}, estimated", dollars(estimated)),
            false => String::new(),
        };
        let (number, has_read) = (self.idle.unwrap_or(0) + 1, bill.requests > before.requests);
        if kept.done == Some(true) {
            self.idle = Some(number);
            let told = format!("Keep-alive request {number} for the cache: {sent} sent{cost}.");
            self.say(Role::Dim, &told);
        } else if !kept.was_interrupted {
            self.idle = None;
            let told = "A keep-alive request for the cache failed; no more are sent until your next prompt.";
            self.say(Role::Warning, told);
        } else if has_read {
            self.say(Role::Dim, &format!("A keep-alive request was cancelled{cost}."));
        }
    }

    /// Runs a shell command of the user.
    async fn shell(&mut self, line: &str) {
        let tool = Arc::clone(&self.reach.shell);
        let ran = self.run(Activity::Shell, async |session, interrupt, listener| {
            let (id, name): (Arc<str>, Arc<str>) = (OWN_ID.into(), "Bash".into());
            let (glimpses, mut shown) = mpsc::channel(64);
            let began = Instant::now();
            listener.on(Event::ToolStarted {
                id: id.clone(),
                tool: name.clone(),
                description: session.hidden(line),
                action: Action::command(line),
            });
            let live = Live::new(id.clone(), glimpses);
            let mut made = pin!(session.run_for_user(&*tool, line, live, interrupt));
            let output = loop {
                tokio::select! {
                    biased;
                    Some(event) = shown.recv() => listener.on(event),
                    output = &mut made => break output,
                }
            };
            listener.on(Event::ToolFinished {
                id,
                tool: name,
                success: output.success,
                failed_in_pipe: output.failed_in_pipe(&Action::command(line)),
                bytes: output.text.len() as u64 + output.lost,
                elapsed: began.elapsed(),
                printed: output.text,
                remarks: output.remarks,
                diff: "".into(),
                stopped: (!output.success && interrupt.is_thrown()).then_some(Stopped::Interrupted),
            });
            output.success
        });
        let ran = ran.await;
        if ran.done == Some(false) {
            self.missed = Some(Missed::Failed);
        }
        self.interrupted(ran.was_interrupted);
    }

    /// An interrupt of anything other than a model run also returns the queued input.
    fn interrupted(&mut self, was_interrupted: bool) {
        if was_interrupted {
            self.give_back();
            self.ending = Some(Ending::Interrupted);
        }
    }

    /// Returns the queued input to the user, or leaves it to be listed if the user leaves.
    fn give_back(&mut self) {
        if self.left.is_none() || self.front.keeps_order() {
            self.front.give_back(&|said| self.session.hidden(said));
        }
    }

    fn say(&mut self, role: Role, text: &str) {
        let look = self.front.look();
        self.front.print(answers::say(&look, role, text));
    }

    /// Reports why a command cannot be done.
    fn refuse(&mut self, role: Role, why: &str) {
        self.missed = Some(Missed::Refused);
        self.say(role, why);
    }

    fn tell_standing(&mut self) {
        let conversation = self.session.conversation();
        let model = self.session.model().profile().name.clone();
        self.front.stands(Standing {
            tokens: conversation.state(&model, 0),
            is_estimate: conversation.tokens().is_estimate,
            bill: *self.session.bill(),
            model,
        });
        let past = self.session.past_prompts(complete::SHOWN);
        let prompts = past.into_iter().rev().map(|prompt| (prompt.number, prompt.text));
        self.front.completes(Arguments {
            models: self.reach.models.clone(),
            efforts: effort::taken(&self.session),
            prompts: prompts
                .map(|(number, text)| (number, answers::shortened(&text)))
                .collect(),
        });
    }
}

/// Everything that is handled while longer work runs.
struct Meanwhile<'a, F> {
    doing: Activity,
    happened: UnboundedReceiver<Event>,
    glances: Glances<Session>,
    /// Receives the lines of commands that look at the session during a run.
    show: UnboundedSender<Vec<Line<'static>>>,
    front: &'a mut F,
    reach: &'a mut Reach,
    left: &'a mut Option<Left>,
}

impl<F: Front> Meanwhile<'_, F> {
    /// Waits for the work. Returns `None` if the user left and it did not finish in time.
    async fn attend<T>(
        &mut self,
        work: impl Future<Output = T>,
        shown: &mut UnboundedReceiver<Vec<Line<'static>>>,
        interrupt: &Interrupt,
    ) -> Option<T> {
        let mut work = pin!(work);
        let mut parting = pin!(async {
            interrupt.thrown().await;
            tokio::time::sleep(PARTING).await;
        });
        let backlog = self.front.backlog();
        let done = loop {
            let may_wait = self.left.is_none() && !interrupt.is_thrown();
            let working = async {
                if may_wait {
                    backlog.room().await;
                }
                work.as_mut().await
            };
            let wish = tokio::select! {
                biased;
                // The user's wishes come before events, however many there are.
                wish = self.front.next(), if self.left.is_none() => wish,
                Some(event) = self.happened.recv() => {
                    self.front.on(event);
                    continue;
                }
                Some(lines) = shown.recv() => {
                    self.front.print(lines);
                    continue;
                }
                Some(question) = self.reach.questions.recv() => {
                    self.front.ask(question, &self.reach.world.places().directory);
                    continue;
                }
                done = working => break Some(done),
                () = &mut parting, if self.left.is_some() => break None,
            };
            self.heed(wish, interrupt);
        };
        while let Ok(event) = self.happened.try_recv() {
            self.front.on(event);
        }
        done
    }

    fn heed(&mut self, wish: Wish, interrupt: &Interrupt) {
        match wish {
            Wish::Interrupt => interrupt.throw(),
            Wish::Permit => next_permission(self.reach, self.front),
            Wish::Leave(how) => self.leave(how, interrupt),
            Wish::Say(said) if self.front.keeps_order() => self.queue(said, interrupt),
            Wish::Say(said) => match command::read(&said) {
                Said::Command(Name::Exit, _) => self.leave(Left::Left, interrupt),
                // Unfolding everything would break up the streaming text.
                Said::Command(Name::More, arguments) if arguments.is_empty() => self.front.unfold(false),
                Said::Command(Name::Help, _) => {
                    let lines = answers::help(&self.front.look(), &self.reach.prompts.prompts());
                    self.front.print(lines);
                }
                Said::Refused(why) => {
                    let lines = answers::say(&self.front.look(), Role::Warning, &why);
                    self.front.print(lines);
                }
                Said::Command(Name::Permission, arguments) => permission(&arguments, self.reach, self.front),
                Said::Command(Name::Plan, arguments) if plan::wanted(&arguments) == Wanted::Enter => {
                    go_as_far_as(Permission::Plan, self.reach, self.front);
                }
                // A dry run has no meaningful result during a compaction.
                Said::Command(Name::Compact, _) if self.doing == Activity::Compaction => self.queue(said, interrupt),
                Said::Command(name, arguments) if only_looks(name, &arguments) => {
                    let looking = Looking::from(&self.front.look(), self.reach, self.doing);
                    let show = self.show.clone();
                    self.glances.ask(move |session| {
                        // The receiver is gone if the user has left.
                        let _ = show.send(either(looking.at(session, name, &arguments)));
                    });
                }
                _ => self.queue(said, interrupt),
            },
        }
    }

    fn queue(&mut self, said: String, interrupt: &Interrupt) {
        self.front.queue(said);
        // Keeping the cache alive is pointless once there is something to do.
        if self.doing == Activity::KeepAlive {
            interrupt.throw();
        }
    }

    fn leave(&mut self, left: Left, interrupt: &Interrupt) {
        *self.left = Some(left);
        self.front.leaving();
        interrupt.throw();
    }
}

/// Sleeps for this time; forever without one.
async fn sleep(time: Option<Duration>) {
    match time {
        Some(time) => tokio::time::sleep(time).await,
        None => std::future::pending().await,
    }
}
