//! The session as somebody lives in it: what they say is done, one thing after the other, while the front stays awake.

use crate::answers;
use crate::command::{self, Name, Said};
use crate::front::{Doing, Front, Standing, Wish};
use crate::render::look::Role;
use codelet_agent::asking::{Asking, Question};
use codelet_agent::event::Event;
use codelet_agent::interrupt::Interrupt;
use codelet_agent::model::Model;
use codelet_agent::permission::Permission;
use codelet_agent::run::Ending;
use codelet_agent::session::{Prompt, Session};
use codelet_agent::tool::{Live, Tool};
use codelet_context::conversation::Refusal;
use codelet_context::pin::Pin;
use futures_util::future::LocalBoxFuture;
use ratatui::text::Line;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::mpsc::{self, UnboundedReceiver};

/// Who leaves waits at most so long for what still runs.
const PARTING: Duration = Duration::from_millis(500);
/// The most of a file that is pinned as a text, in bytes.
const PINNED_FILE: usize = 32 * 1024;

/// Asks for the model of this name.
pub type Connect = Box<dyn Fn(String) -> LocalBoxFuture<'static, Result<Box<dyn Model>, String>>>;
/// Writes a session to a file of this name; says what was written.
pub type Export = Box<dyn Fn(&str, &Session) -> Result<String, String>>;
/// Reads a file of the workspace, so many bytes at most.
pub type ReadFile = Box<dyn Fn(&str, usize) -> Result<String, String>>;

/// What a session needs of the world and cannot reach itself.
pub struct Reach {
    /// Connects to another model.
    pub connect: Connect,
    /// Writes the conversation to a file.
    pub export: Export,
    /// Reads a file that is to be pinned.
    pub read_file: ReadFile,
    /// Runs the command lines that the user types.
    pub shell: Arc<dyn Tool>,
    /// Tells the tools how far they may go.
    pub permit: Box<dyn Fn(Permission)>,
    /// Where commands of the model's run.
    pub directory: Box<dyn Fn() -> PathBuf>,
    /// Who asks for permission.
    pub gate: Asking,
    /// Where the questions arrive.
    pub questions: UnboundedReceiver<Question>,
    /// Models that are known by name.
    pub models: Vec<String>,
}

/// How a session was left.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Left {
    /// Its user has left.
    Left,
    /// The terminal is gone or a signal came: the status to end with.
    Gone(u8),
}

/// A session with its front.
pub(crate) struct Chat<F> {
    pub session: Session,
    pub reach: Reach,
    pub front: F,
    pub left: Option<Left>,
}

impl<F: Front> Chat<F> {
    /// Does what is said, until somebody leaves.
    pub async fn live(&mut self) -> Left {
        self.tell_standing();
        loop {
            if let Some(left) = self.left {
                self.front.close();
                return left;
            }
            let said = match self.front.unqueue() {
                Some(said) => said,
                None => match self.front.next().await {
                    Wish::Say(said) => said,
                    Wish::Interrupt => continue,
                    Wish::Leave => {
                        self.left = Some(Left::Left);
                        continue;
                    }
                    Wish::Gone(status) => {
                        self.left = Some(Left::Gone(status));
                        continue;
                    }
                },
            };
            self.take(&said).await;
            self.tell_standing();
        }
    }

    /// Does one thing that was said.
    async fn take(&mut self, said: &str) {
        match command::read(said) {
            Said::Nothing => {}
            Said::Prompt(text) => {
                self.front.echo(said);
                self.carry(Some(text)).await;
            }
            Said::Continue if self.session.is_paused() => {
                self.front.echo(said);
                self.carry(None).await;
            }
            // Nothing was interrupted, so it is a word like any other.
            Said::Continue => {
                self.front.echo(said);
                self.carry(Some(said.trim().to_owned())).await;
            }
            Said::Shell(line) => {
                self.front.echo(said);
                self.shell(&line).await;
            }
            Said::Command(name, arguments) => {
                self.front.echo(said);
                self.command(name, &arguments).await;
            }
            Said::Unknown(word, meant) => {
                self.front.echo(said);
                let meant = meant.map_or("/help lists them".to_owned(), |meant| format!("did you mean /{meant}?"));
                self.say(Role::Warning, &format!("There is no command /{word}; {meant}"));
            }
        }
    }

    /// Carries a prompt to its end, or the one that was interrupted.
    async fn carry(&mut self, prompt: Option<String>) {
        let interrupt = Interrupt::new();
        let (events, happened) = mpsc::unbounded_channel();
        let mut listener = move |event: Event| {
            // Once nobody listens, there is nobody to tell.
            let _ = events.send(event);
        };
        let Chat {
            session,
            reach,
            front,
            left,
        } = self;
        front.doing(Doing::Run);
        let run = async {
            match prompt {
                Some(text) => {
                    let images = Vec::new();
                    Some(session.prompt(Prompt { text, images }, &interrupt, &mut listener).await)
                }
                None => session.resume(&interrupt, &mut listener).await,
            }
        };
        let ending = attend(run, front, reach, left, happened, &interrupt).await;
        front.doing(Doing::Nothing);
        // How it ended was told by the last event. What was typed ahead was meant for an answer that did not come.
        if !matches!(ending, Some(Some(Ending::Answered(_)))) {
            front.give_back();
        }
    }

    /// Runs a command line of the user's.
    async fn shell(&mut self, line: &str) {
        let interrupt = Interrupt::new();
        let (events, happened) = mpsc::unbounded_channel();
        let id: Arc<str> = "!".into();
        let (glimpses, mut shown) = mpsc::channel(64);
        let Chat {
            session,
            reach,
            front,
            left,
        } = self;
        front.doing(Doing::Shell);
        let tool = Arc::clone(&reach.shell);
        let began = Instant::now();
        let run = async {
            let name: Arc<str> = "Bash".into();
            let _ = events.send(Event::ToolStarted {
                id: id.clone(),
                tool: name.clone(),
                description: line.to_owned(),
            });
            let live = Live::new(id.clone(), glimpses);
            let mut made = pin!(session.run_for_user(&*tool, line, live, &interrupt));
            let output = loop {
                tokio::select! {
                    biased;
                    Some((id, text)) = shown.recv() => {
                        let _ = events.send(Event::ToolPrinted { id, text });
                    }
                    output = &mut made => break output,
                }
            };
            let _ = events.send(Event::ToolFinished {
                id: id.clone(),
                tool: name,
                success: output.success,
                bytes: output.text.len() as u64 + output.lost,
                elapsed: began.elapsed(),
                printed: output.text,
                diff: "".into(),
            });
        };
        attend(run, front, reach, left, happened, &interrupt).await;
        front.doing(Doing::Nothing);
    }

    async fn command(&mut self, name: Name, arguments: &str) {
        let look = self.front.look();
        match name {
            Name::Exit => self.left = Some(Left::Left),
            Name::Help => self.front.print(answers::help(&look)),
            Name::Context => self.front.print(answers::context(&look, &self.session)),
            Name::Cost => self.front.print(answers::cost(&look, &self.session)),
            Name::Todo => self.front.print(answers::todo(&look, &self.session)),
            Name::Recall => self.front.print(answers::recall(&look, &self.session, arguments)),
            Name::Why => self.front.print(answers::why(&look, &self.session, arguments)),
            Name::Compact => self.compact(arguments).await,
            Name::UndoCompact => self.undo(),
            Name::Pin => self.pin(arguments),
            Name::Unpin => self.unpin(arguments),
            Name::Model => self.model(arguments).await,
            Name::Permission => permission(arguments, &self.reach, &mut self.front),
            Name::Clear => {
                self.session.clear();
                self.say(
                    Role::Text,
                    "The conversation is empty again; what was spent stays on the bill.",
                );
            }
            Name::Export if arguments.is_empty() => self.say(Role::Warning, "Where to? /export FILE"),
            Name::Export => match (self.reach.export)(arguments, &self.session) {
                Ok(told) => self.say(Role::Text, &told),
                Err(why) => self.say(Role::Error, &why),
            },
        }
    }

    async fn compact(&mut self, arguments: &str) {
        let (is_dry, instructions) = match arguments.strip_prefix("--dry-run") {
            Some(rest) if rest.is_empty() || rest.starts_with(char::is_whitespace) => (true, rest.trim()),
            _ => match arguments.strip_suffix("--dry-run") {
                Some(rest) if rest.is_empty() || rest.ends_with(char::is_whitespace) => (true, rest.trim()),
                _ => (false, arguments),
            },
        };
        let instructions = Some(instructions).filter(|words| !words.is_empty());
        if is_dry {
            let began = Instant::now();
            match self.session.compact_dry(instructions) {
                Ok(notice) => {
                    let look = self.front.look();
                    let lines = answers::dry_run(&look, &notice.took(began.elapsed()));
                    self.front.print(lines);
                }
                Err(refusal) => self.say(Role::Error, &refusal.to_string()),
            }
            return;
        }
        let interrupt = Interrupt::new();
        let (events, happened) = mpsc::unbounded_channel();
        let mut listener = move |event: Event| {
            let _ = events.send(event);
        };
        let Chat {
            session,
            reach,
            front,
            left,
        } = self;
        front.doing(Doing::Compaction);
        let run = session.compact(instructions, &interrupt, &mut listener);
        // A refusal is told to the listener.
        let done: Option<Result<(), Refusal>> = attend(run, front, reach, left, happened, &interrupt).await;
        front.doing(Doing::Nothing);
        if interrupt.is_thrown() && done.is_some() {
            front.give_back();
        }
    }

    fn undo(&mut self) {
        let before = self.session.conversation().state("", 0).current;
        if self.session.conversation_mut().undo_compact() {
            let after = self.session.conversation().state("", 0).current;
            let (before, after) = (answers::number(before), answers::number(after));
            self.say(
                Role::Good,
                &format!(
                    "Compaction taken back: {before} → {after} tokens; everything is shown to the model as before it"
                ),
            );
        } else {
            self.say(Role::Warning, "There is no compaction to take back.");
        }
    }

    fn pin(&mut self, what: &str) {
        let look = self.front.look();
        if what.is_empty() {
            return self.front.print(answers::pins(&look, &self.session));
        }
        let history = self.session.conversation().history().messages().len();
        let (pin, told) = if let Some(number) = what.strip_prefix('#') {
            match number.parse::<usize>() {
                Ok(number) if number < history => (Pin::Message(number), format!("Pinned: message #{number}")),
                _ => {
                    return self.say(
                        Role::Warning,
                        &format!("There is no message #{number}; /pin lists them."),
                    );
                }
            }
        } else if let Some(file) = what
            .strip_prefix('@')
            .filter(|file| !file.contains(char::is_whitespace))
        {
            match answers::newest_look_at(&self.session, file) {
                Some(number) => (
                    Pin::Message(number),
                    format!("Pinned: {file}, as it was read in message #{number}"),
                ),
                None => match (self.reach.read_file)(file, PINNED_FILE) {
                    Ok(text) => (
                        Pin::Text(format!("The file {file} at the time of pinning:\n{text}")),
                        format!("Pinned: {file}, as it is now; it stands in every summary"),
                    ),
                    Err(why) => return self.say(Role::Error, &why),
                },
            }
        } else {
            (
                Pin::Text(what.to_owned()),
                "Pinned: the sentence stands at the head of every summary".to_owned(),
            )
        };
        if self.session.conversation_mut().pin(pin) {
            self.say(Role::Good, &told);
        } else {
            self.say(Role::Warning, "That is pinned already.");
        }
    }

    fn unpin(&mut self, what: &str) {
        let pins = self.session.conversation().pins().to_vec();
        if pins.is_empty() {
            return self.say(Role::Warning, "Nothing is pinned.");
        }
        let chosen: Vec<Pin> = match what.trim_start_matches('#').parse::<usize>() {
            _ if what == "all" => pins,
            Ok(number) => pins.into_iter().skip(number.wrapping_sub(1)).take(1).collect(),
            Err(_) => pins
                .into_iter()
                .filter(|pin| matches!(pin, Pin::Text(text) if !what.is_empty() && text.contains(what)))
                .take(1)
                .collect(),
        };
        if chosen.is_empty() {
            let look = self.front.look();
            self.say(Role::Warning, "Which one? /unpin NUMBER, or all:");
            return self.front.print(answers::pins(&look, &self.session));
        }
        for pin in &chosen {
            self.session.conversation_mut().unpin(pin);
        }
        self.say(
            Role::Good,
            &format!("Let go of {}.", answers::count(chosen.len(), "pin")),
        );
    }

    async fn model(&mut self, name: &str) {
        if name.is_empty() {
            let look = self.front.look();
            let lines = answers::models(&look, &self.session, &self.reach.models);
            return self.front.print(lines);
        }
        let interrupt = Interrupt::new();
        let (_, happened) = mpsc::unbounded_channel();
        let connecting = (self.reach.connect)(name.to_owned());
        self.front.doing(Doing::Connection);
        let run = async {
            tokio::select! {
                biased;
                () = interrupt.thrown() => Err("interrupted; the model stays".to_owned()),
                model = connecting => model,
            }
        };
        let found = attend(
            run,
            &mut self.front,
            &mut self.reach,
            &mut self.left,
            happened,
            &interrupt,
        )
        .await;
        self.front.doing(Doing::Nothing);
        match found {
            Some(Ok(model)) => {
                self.session.change_model(model);
                let profile = self.session.model().profile();
                let (name, window) = (profile.name.clone(), answers::number(profile.window));
                self.say(
                    Role::Good,
                    &format!("From here on {name} is asked; its window holds {window} tokens."),
                );
            }
            Some(Err(why)) => self.say(Role::Error, &why),
            None => {}
        }
    }

    fn say(&mut self, role: Role, text: &str) {
        let look = self.front.look();
        self.front.print(answers::say(&look, role, text));
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
    }
}

/// Waits for something that runs, while the front stays awake: its keys are heard, its questions asked, what happens is
/// shown. `None` if somebody left and it did not end in time.
async fn attend<F: Front, T>(
    run: impl Future<Output = T>,
    front: &mut F,
    reach: &mut Reach,
    left: &mut Option<Left>,
    mut happened: UnboundedReceiver<Event>,
    interrupt: &Interrupt,
) -> Option<T> {
    let mut run = pin!(run);
    let mut parting = pin!(async {
        interrupt.thrown().await;
        tokio::time::sleep(PARTING).await;
    });
    let done = loop {
        let wish = tokio::select! {
            biased;
            Some(event) = happened.recv() => {
                front.on(event);
                continue;
            }
            wish = front.next(), if left.is_none() => wish,
            Some(question) = reach.questions.recv() => {
                front.ask(question, &(reach.directory)());
                continue;
            }
            done = &mut run => break Some(done),
            () = &mut parting, if left.is_some() => break None,
        };
        match wish {
            Wish::Interrupt => interrupt.throw(),
            Wish::Leave => {
                *left = Some(Left::Left);
                interrupt.throw();
            }
            Wish::Gone(status) => {
                *left = Some(Left::Gone(status));
                interrupt.throw();
            }
            Wish::Say(said) => match command::read(&said) {
                Said::Command(Name::Exit, _) => {
                    *left = Some(Left::Left);
                    interrupt.throw();
                }
                Said::Command(Name::Help, _) => {
                    let lines = answers::help(&front.look());
                    front.print(lines);
                }
                Said::Command(Name::Permission, arguments) => permission(&arguments, reach, front),
                _ => front.queue(said),
            },
        }
    };
    while let Ok(event) = happened.try_recv() {
        front.on(event);
    }
    done
}

/// Shows what may be done without asking, or changes it.
fn permission<F: Front>(wanted: &str, reach: &Reach, front: &mut F) {
    let look = front.look();
    let lines: Vec<Line<'static>> = match (wanted, Permission::from_name(wanted)) {
        ("", _) => answers::permission(&look, &reach.gate),
        (_, Some(permission)) => {
            reach.gate.permit(permission);
            (reach.permit)(permission);
            answers::permission(&look, &reach.gate)
        }
        (other, None) => answers::say(
            &look,
            Role::Warning,
            &format!("There is no permission {other}; there are read, edit and all."),
        ),
    };
    front.print(lines);
}
