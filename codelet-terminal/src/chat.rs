//! The session as somebody lives in it: what they say is done, one thing after the other, while the front stays awake.

mod commands;
mod commit;
mod looking;
mod rewind;

use crate::answers;
use crate::beginning::at_once;
use crate::command::{self, Name, Said};
use crate::complete::{self, Arguments};
use crate::effort;
use crate::front::{Doing, Front, Standing, Wish};
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

/// Who leaves waits at most so long for what still runs.
const PARTING: Duration = Duration::from_millis(500);

/// Asks for the model of this name; what is waited for meanwhile goes to the other end.
pub type Connect = Box<dyn Fn(String, UnboundedSender<String>) -> LocalBoxFuture<'static, Result<Found, String>>>;

/// What was found under the name of a model.
pub enum Found {
    /// The model.
    Model {
        /// Who is asked.
        model: Box<dyn Model>,
        /// Where, without secrets.
        address: String,
    },
    /// Nothing is changed unless the same is asked for again: why.
    Held(String),
}
/// Writes a session to a file of this name; says what was written.
pub type Export = Arc<dyn Fn(&str, &Session) -> Result<String, String> + Send + Sync>;
/// Reads a file of the workspace, so many bytes at most.
pub type ReadFile = Box<dyn Fn(&str, usize) -> Result<String, String>>;
/// Makes a prompt of what somebody has said to this model, with the pictures that it mentions.
pub type Attach = Box<dyn Fn(String, &Profile) -> Attached>;

/// A prompt, and what is to be told of it before it is sent.
pub struct Attached {
    /// The prompt.
    pub prompt: Prompt,
    /// The pictures that go with it; none where there are none.
    pub told: Option<String>,
    /// What does not go with it, and why.
    pub warnings: Vec<String>,
}

/// What a session needs of the world and cannot reach itself.
pub struct Reach {
    /// Connects to another model.
    pub connect: Connect,
    /// Writes the conversation to a file.
    pub export: Export,
    /// Reads a file that is to be pinned.
    pub read_file: ReadFile,
    /// Makes a prompt with its pictures.
    pub attach: Attach,
    /// Runs the command lines that the user types.
    pub shell: Arc<dyn Tool>,
    /// Tells the tools how far they may go.
    pub permit: Box<dyn Fn(Permission)>,
    /// Who asks for permission.
    pub gate: Asking,
    /// Where the questions arrive.
    pub questions: UnboundedReceiver<Question>,
    /// Where the session works.
    pub world: Arc<dyn Surroundings>,
    /// Who offers prompts as commands.
    pub prompts: Arc<dyn PromptSource>,
    /// Models that are known by name.
    pub models: Vec<String>,
    /// The thinking effort that the user wants, of each model that takes it.
    pub effort: Option<Effort>,
    /// Who stands beside the user in commits, as `Name <address>`.
    pub co_author: Option<String>,
}

/// A session that is over.
pub struct Lived {
    /// How it was left.
    pub left: Left,
    /// How its last prompt ended; none if nothing was asked.
    pub ending: Option<Ending>,
    /// What became of the last command, if nothing but leaving was said behind it and it was not done.
    pub missed: Option<Missed>,
    /// The session.
    pub session: Session,
}

/// Why a command was not done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Missed {
    /// It could not be, as it was said.
    Refused,
    /// A command line of the user's ran, and failed.
    Failed,
}

/// How a session was left.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Left {
    /// Its user has left.
    Left,
    /// The terminal is gone or a signal came: the status to end with.
    Gone(u8),
    /// What is shown could not be written, and not because nobody reads it.
    Unwritable(std::io::ErrorKind),
}

/// A session with its front.
pub(crate) struct Chat<F> {
    pub session: Session,
    pub reach: Reach,
    pub front: F,
    left: Option<Left>,
    ending: Option<Ending>,
    missed: Option<Missed>,
    /// Idle requests since the last prompt; none once one has failed, so that no more are made.
    idle: Option<u32>,
    /// The commit that was shown and is neither made nor given up.
    proposed: Option<Proposed>,
}

/// What came of something that took its time.
struct Came<T> {
    /// Its end; none if somebody left and it did not end in time.
    done: Option<T>,
    was_interrupted: bool,
}

impl<F: Front> Chat<F> {
    /// A session that begins; one that was left before ends at once.
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

    /// Does what is said, this first, until somebody leaves.
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
                self.front.close();
                return Lived {
                    left,
                    ending: self.ending,
                    missed: self.missed,
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

    /// Waits for somebody to say something. If they take long, the provider's cache is kept alive, where they want that.
    async fn wait(&mut self) {
        let due = self.idle.and_then(|_| self.session.keep_alive_after());
        let wish = tokio::select! {
            biased;
            wish = self.front.next() => wish,
            () = sleep(due) => return self.keep_alive().await,
        };
        match wish {
            Wish::Say(said) => self.take(&said).await,
            // What was shown lags behind what has happened.
            Wish::Interrupt if matches!(self.ending, Some(Ending::Answered(_))) => {
                self.say(Role::Dim, "Nothing was interrupted: the answer was complete.");
            }
            Wish::Interrupt => {}
            Wish::Permit => next_permission(&self.reach, &mut self.front),
            Wish::Leave => self.left = Some(Left::Left),
            Wish::Gone(status) => self.left = Some(Left::Gone(status)),
            Wish::Unwritable(why) => self.left = Some(Left::Unwritable(why)),
        }
    }

    /// Does one thing that was said.
    async fn take(&mut self, said: &str) {
        let read = command::read(said);
        let shown = self.session.hidden(said);
        // Leaving does not make good what was said before it.
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
                let word: String = word.chars().take(40).collect();
                let meant = meant.map_or("/help lists them".to_owned(), |meant| format!("did you mean /{meant}?"));
                self.refuse(Role::Warning, &format!("Unknown command /{word}; {meant}"));
            }
        }
    }

    /// The command of a file of the user's that has taken the place of this one; none where this one is the answer to what it has shown.
    fn replacing(&self, name: Name) -> Option<&'static str> {
        let prompts = self.reach.prompts.prompts();
        let replaced = command::COMMANDS
            .iter()
            .find(|entry| entry.name == name && entry.is_replaced(&prompts));
        replaced.filter(|_| self.proposed.is_none()).map(|entry| entry.word)
    }

    /// Does something that takes its time, while the front stays awake: its keys are heard, its questions asked, what
    /// happens is shown.
    async fn run<T>(
        &mut self,
        doing: Doing,
        work: impl AsyncFnOnce(&mut Session, &Interrupt, &mut dyn Listen) -> T,
    ) -> Came<T> {
        let interrupt = Interrupt::new();
        let (events, happened) = mpsc::unbounded_channel();
        let mut listener = move |event: Event| {
            // Once nobody listens, there is nobody to tell.
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
        // Who asked for a look and was not let in has it now.
        glances.answer(&self.session);
        while let Ok(lines) = shown.try_recv() {
            self.front.print(lines);
        }
        self.front.doing(Doing::Nothing);
        Came {
            done,
            was_interrupted: interrupt.is_thrown(),
        }
    }

    /// Carries a prompt to its end, or the last one once more.
    async fn carry(&mut self, prompt: Option<Prompt>) {
        self.idle = Some(0);
        let carried = self.run(Doing::Run, async |session, interrupt, listener| match prompt {
            Some(prompt) => Some(session.prompt(prompt, interrupt, listener).await),
            None => session.retry(interrupt, listener).await,
        });
        let ending = carried.await.done.flatten();
        // How it ended was told by the last event. What was typed ahead was meant for an answer that did not come.
        if !matches!(ending, Some(Ending::Answered(_))) {
            self.front.give_back(&|said| self.session.hidden(said));
        }
        if matches!(ending, Some(Ending::Answered(_))) && self.reach.gate.permission() == Permission::Plan {
            self.say(Role::Dim, plan::ANSWERED);
        }
        self.ending = Some(ending.unwrap_or(Ending::Interrupted));
    }

    /// Sends a prompt of a file or a server, once it is shown. The pictures that are named behind the command go with it, and those
    /// that a file may name; what a server names is never read.
    async fn offered(&mut self, command: &str, words: &str, typed: &str) {
        let source = Arc::clone(&self.reach.prompts);
        let fetched = self.run(Doing::Prompt, async |_, interrupt, _| {
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

    /// Reads the prompts of servers again where they may have changed.
    async fn refresh_prompts(&mut self) {
        let source = Arc::clone(&self.reach.prompts);
        let before = source.prompts();
        let mut reading = source.refresh_prompts();
        let notices = match at_once(reading.as_mut()).await {
            Some(notices) => notices,
            None => {
                let read = self.run(Doing::Servers, async |_, interrupt, _| {
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

    /// The prompt with the pictures that it mentions, as they are now; says which ones go with it.
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

    /// Keeps the provider's cache from expiring, and says what that cost.
    async fn keep_alive(&mut self) {
        let before = *self.session.bill();
        let kept = self.run(Doing::KeepAlive, async |session, interrupt, listener| {
            session.keep_alive(interrupt, listener).await
        });
        let kept = kept.await;
        let bill = self.session.bill();
        let read = bill.usage.prompt() - before.usage.prompt();
        // What no provider has counted is no figure to name.
        let (sent, estimated) = (count(read, "token"), bill.estimated - before.estimated);
        let sent = if read == 0 { "the whole prompt" } else { &sent };
        let cost = match bill.requests > before.requests && bill.unpriced == before.unpriced {
            true => format!(" for {}", dollars(bill.dollars - before.dollars)),
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

    /// Runs a command line of the user's.
    async fn shell(&mut self, line: &str) {
        let tool = Arc::clone(&self.reach.shell);
        let ran = self.run(Doing::Shell, async |session, interrupt, listener| {
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

    /// Whoever interrupts something that is no run of the model stops what was said behind it too.
    fn interrupted(&mut self, was_interrupted: bool) {
        if was_interrupted {
            self.front.give_back(&|said| self.session.hidden(said));
            self.ending = Some(Ending::Interrupted);
        }
    }

    fn say(&mut self, role: Role, text: &str) {
        let look = self.front.look();
        self.front.print(answers::say(&look, role, text));
    }

    /// Says why a command cannot be done.
    fn refuse(&mut self, role: Role, why: &str) {
        self.missed = Some(Missed::Refused);
        self.say(role, why);
    }

    fn tell_standing(&mut self) {
        let conversation = self.session.conversation();
        let model = self.session.model().profile().name.clone();
        self.front.stands(Standing {
            tokens: conversation.state(&model, 0),
            is_estimate: conversation.tokens().is_estimate(),
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

/// What goes on beside something that takes its time.
struct Meanwhile<'a, F> {
    doing: Doing,
    happened: UnboundedReceiver<Event>,
    glances: Glances<Session>,
    /// Where those who were let in have their lines shown.
    show: UnboundedSender<Vec<Line<'static>>>,
    front: &'a mut F,
    reach: &'a mut Reach,
    left: &'a mut Option<Left>,
}

impl<F: Front> Meanwhile<'_, F> {
    /// Waits for the work. `None` if somebody left and it did not end in time.
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
                // What somebody wants goes ahead of whatever happens, however much that is.
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
            Wish::Leave => self.leave(Left::Left, interrupt),
            Wish::Gone(status) => self.leave(Left::Gone(status), interrupt),
            Wish::Unwritable(why) => self.leave(Left::Unwritable(why), interrupt),
            Wish::Say(said) if self.front.keeps_order() => self.queue(said, interrupt),
            Wish::Say(said) => match command::read(&said) {
                Said::Command(Name::Exit, _) => self.leave(Left::Left, interrupt),
                // All of it would tear what streams.
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
                // What a compaction would come to is not known while another one is under way.
                Said::Command(Name::Compact, _) if self.doing == Doing::Compaction => self.queue(said, interrupt),
                Said::Command(name, arguments) if only_looks(name, &arguments) => {
                    let looking = Looking::from(&self.front.look(), self.reach, self.doing);
                    let show = self.show.clone();
                    self.glances.ask(move |session| {
                        // Whoever has left meanwhile sees nothing.
                        let _ = show.send(either(looking.at(session, name, &arguments)));
                    });
                }
                _ => self.queue(said, interrupt),
            },
        }
    }

    fn queue(&mut self, said: String, interrupt: &Interrupt) {
        self.front.queue(said);
        // Nobody waits for the cache once there is something to be done.
        if self.doing == Doing::KeepAlive {
            interrupt.throw();
        }
    }

    fn leave(&mut self, left: Left, interrupt: &Interrupt) {
        *self.left = Some(left);
        self.front.leaving();
        interrupt.throw();
    }
}

/// So long from now; without end where nobody says how long.
async fn sleep(time: Option<Duration>) {
    match time {
        Some(time) => tokio::time::sleep(time).await,
        None => std::future::pending().await,
    }
}
