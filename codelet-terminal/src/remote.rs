//! A front end on its own thread: keys and frames are handled there while the session is busy.

use crate::backlog::Backlog;
use crate::complete::Arguments;
use crate::decision::Decision;
use crate::front::{Activity, Front, Standing, Wish};
use crate::live::{Live, Outfit};
use crate::render::look::Look;
use codelet_agent::asking::Question;
use codelet_agent::event::Event;
use codelet_agent::permission::Permission;
use codelet_agent::prompts::PromptSpec;
use ratatui::text::Line;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;

/// A message to the front end.
pub(crate) enum Told {
    /// The servers' prompts that can be used as commands.
    Prompts(Vec<PromptSpec>),
    /// The arguments of commands for completion.
    Arguments(Arguments),
    /// An event of a run.
    Event(Event),
    /// A request for permission; commands run in this directory.
    Question(Question, PathBuf),
    /// Finished lines.
    Lines(Vec<Line<'static>>),
    /// The user's input.
    Said(String),
    /// A text that somebody else wrote.
    Quoted(String),
    /// The current activity.
    Activity(Activity),
    /// The current activity is the last one of the session.
    Leaving,
    /// The state of the session.
    Standing(Standing),
    /// Queues this input.
    Queued(String),
    /// Requests the first queued input.
    Wanted(oneshot::Sender<Option<String>>),
    /// Moves queued input back into the editor.
    GivenBack,
    /// The current permission.
    Permission(Permission),
    /// A decision for the user.
    Decision(Decision),
    /// Prefills the input.
    Filled(String),
    /// Shows the last folded text, shortened or in full.
    Unfold(bool),
    /// Copies this text to the clipboard.
    Copied(String),
    /// The last message.
    Over,
}

/// The front end's look, for layout on the session's thread.
#[derive(Clone)]
pub(crate) struct Shared(Arc<Mutex<Look>>);

impl Shared {
    pub(crate) fn new(look: Look) -> Self {
        Shared(Arc::new(Mutex::new(look)))
    }

    pub(crate) fn get(&self) -> Look {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn set(&self, look: Look) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = look;
    }
}

/// The session's side of such a front end.
pub(crate) struct Remote {
    to: Option<UnboundedSender<Told>>,
    wishes: UnboundedReceiver<Wish>,
    look: Shared,
    backlog: Backlog,
    thread: Option<JoinHandle<()>>,
}

impl Remote {
    /// Takes over the terminal.
    pub(crate) fn open(outfit: Outfit) -> io::Result<Self> {
        let (to, told) = unbounded_channel();
        let (wish, wishes) = unbounded_channel();
        let (opened, begun) = std::sync::mpsc::channel();
        let look = Shared::new(outfit.look);
        let backlog = Backlog::default();
        let (shared, waiting) = (look.clone(), backlog.clone());
        let run = move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let runtime = match runtime {
                Ok(runtime) => runtime,
                Err(error) => return drop(opened.send(Err(error))),
            };
            runtime.block_on(async {
                match Live::open(outfit, shared, waiting) {
                    Ok(live) => {
                        let _ = opened.send(Ok(()));
                        live.serve(told, wish).await;
                    }
                    Err(error) => drop(opened.send(Err(error))),
                }
            });
        };
        let thread = std::thread::Builder::new().name("terminal".to_owned()).spawn(run)?;
        let gone = || io::Error::other("its thread has ended");
        begun.recv().map_err(|_| gone())??;
        Ok(Remote {
            to: Some(to),
            wishes,
            look,
            backlog,
            thread: Some(thread),
        })
    }

    fn tell(&self, told: Told) {
        if let Some(to) = &self.to {
            // A front end that is gone is noticed where its wishes are awaited.
            let _ = to.send(told);
        }
    }

    /// Waits until the terminal is restored; propagates a panic of the front end.
    fn join(&mut self) {
        self.to = None;
        if let Some(thread) = self.thread.take()
            && let Err(broken) = thread.join()
            && !std::thread::panicking()
        {
            std::panic::resume_unwind(broken);
        }
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        self.join();
    }
}

impl Front for Remote {
    async fn next(&mut self) -> Wish {
        match self.wishes.recv().await {
            Some(wish) => wish,
            None => {
                self.join();
                Wish::Gone(crate::live::HUNG_UP)
            }
        }
    }

    fn on(&mut self, event: Event) {
        self.backlog.tell(&event);
        self.tell(Told::Event(event));
    }

    fn backlog(&self) -> Backlog {
        self.backlog.clone()
    }

    fn ask(&mut self, question: Question, directory: &Path) {
        self.tell(Told::Question(question, directory.to_owned()));
    }

    fn print(&mut self, lines: Vec<Line<'static>>) {
        self.tell(Told::Lines(lines));
    }

    fn echo(&mut self, said: &str) {
        self.tell(Told::Said(said.to_owned()));
    }

    fn quote(&mut self, said: &str) {
        self.tell(Told::Quoted(said.to_owned()));
    }

    fn offer(&mut self, prompts: Vec<PromptSpec>) {
        self.tell(Told::Prompts(prompts));
    }

    fn completes(&mut self, arguments: Arguments) {
        self.tell(Told::Arguments(arguments));
    }

    fn doing(&mut self, doing: Activity) {
        self.tell(Told::Activity(doing));
    }

    fn leaving(&mut self) {
        self.tell(Told::Leaving);
    }

    fn stands(&mut self, standing: Standing) {
        self.tell(Told::Standing(standing));
    }

    fn permits(&mut self, permission: Permission) {
        self.tell(Told::Permission(permission));
    }

    fn look(&self) -> Look {
        self.look.get()
    }

    fn keeps_order(&self) -> bool {
        false
    }

    fn queue(&mut self, said: String) {
        self.tell(Told::Queued(said));
    }

    async fn unqueue(&mut self) -> Option<String> {
        let (answer, first) = oneshot::channel();
        self.tell(Told::Wanted(answer));
        first.await.ok().flatten()
    }

    fn give_back(&mut self, _: &dyn Fn(&str) -> String) {
        self.tell(Told::GivenBack);
    }

    fn fill(&mut self, text: &str) -> bool {
        self.tell(Told::Filled(text.to_owned()));
        true
    }

    fn decide(&mut self, decision: Decision) -> bool {
        self.tell(Told::Decision(decision));
        true
    }

    fn unfold(&mut self, is_all: bool) {
        self.tell(Told::Unfold(is_all));
    }

    fn copy(&mut self, text: &str) -> bool {
        self.tell(Told::Copied(text.to_owned()));
        true
    }

    fn close(&mut self) {
        self.tell(Told::Over);
        self.join();
    }
}
