//! A front end on its own thread: keys and frames are handled there while the session is busy.

use super::{Live, Outfit};
use crate::backlog::Backlog;
use crate::complete::Arguments;
use crate::decision::Decision;
use crate::front::{Activity, Front, Left, Standing, Wish};
use crate::render::look::Look;
use crate::signals::status;
use codelet_agent::asking::Question;
use codelet_agent::event::Event;
use codelet_agent::permission::Permission;
use codelet_agent::prompts::PromptSpec;
use ratatui::text::Line;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Instant;
use tokio::signal::unix::SignalKind;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;

/// Work for the front end, done on its thread.
type Work = Box<dyn FnOnce(&mut Live) + Send>;

/// A message to the front end.
pub(crate) enum Told {
    /// Do this, unless the terminal is gone.
    Do(Work),
    /// Do this in any case: the session waits for it, or it is printed so that it is not lost.
    Always(Work),
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

    fn send(&self, told: Told) {
        if let Some(to) = &self.to {
            // A front end that is gone is noticed where its wishes are awaited.
            let _ = to.send(told);
        }
    }

    fn tell(&self, work: impl FnOnce(&mut Live) + Send + 'static) {
        self.send(Told::Do(Box::new(work)));
    }

    fn tell_always(&self, work: impl FnOnce(&mut Live) + Send + 'static) {
        self.send(Told::Always(Box::new(work)));
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
                Wish::Leave(Left::Gone(status(SignalKind::hangup())))
            }
        }
    }

    fn on(&mut self, event: Event) {
        self.backlog.tell(&event);
        self.tell_always(|live| live.on(event));
    }

    fn backlog(&self) -> Backlog {
        self.backlog.clone()
    }

    fn ask(&mut self, question: Question, directory: &Path) {
        let directory = directory.to_owned();
        self.tell(move |live| live.ask(question, &directory));
    }

    fn print(&mut self, lines: Vec<Line<'static>>) {
        self.tell_always(|live| live.print(lines));
    }

    fn echo(&mut self, said: &str) {
        let said = said.to_owned();
        self.tell(move |live| live.echo(&said));
    }

    fn quote(&mut self, said: &str) {
        let said = said.to_owned();
        self.tell(move |live| live.quote(&said));
    }

    fn offer(&mut self, prompts: Vec<PromptSpec>) {
        self.tell(|live| {
            live.repl.take_prompts(prompts);
            live.change(true);
        });
    }

    fn completes(&mut self, arguments: Arguments) {
        self.tell(|live| live.repl.arguments = arguments);
    }

    fn doing(&mut self, doing: Activity) {
        self.tell(move |live| live.doing(doing));
    }

    fn leaving(&mut self) {
        self.tell_always(|live| live.renderer.leave());
    }

    fn stands(&mut self, standing: Standing) {
        self.tell(move |live| live.stands(&standing));
    }

    fn permits(&mut self, permission: Permission) {
        self.tell(move |live| {
            live.renderer.set_permission(permission);
            live.change(true);
        });
    }

    fn look(&self) -> Look {
        self.look.get()
    }

    fn keeps_order(&self) -> bool {
        false
    }

    fn queue(&mut self, said: String) {
        self.tell(|live| {
            live.repl.queue(said);
            live.change(true);
        });
    }

    async fn unqueue(&mut self) -> Option<String> {
        let (answer, first) = oneshot::channel();
        // If the receiver is gone, nothing is sent.
        self.tell_always(|live| drop(answer.send(live.repl.unqueue())));
        first.await.ok().flatten()
    }

    fn give_back(&mut self, _: &dyn Fn(&str) -> String) {
        self.tell(Live::give_back);
    }

    fn fill(&mut self, text: &str) -> bool {
        let text = text.to_owned();
        self.tell(move |live| {
            live.repl.fill(&text, Instant::now());
            live.change(true);
        });
        true
    }

    fn decide(&mut self, decision: Decision) -> bool {
        self.tell(|live| {
            live.repl.decide(decision, Instant::now());
            live.change(true);
        });
        true
    }

    fn unfold(&mut self, is_all: bool) {
        self.tell(move |live| {
            live.unfold(is_all);
            live.change(true);
        });
    }

    fn copy(&mut self, text: &str) -> bool {
        let text = text.to_owned();
        // A failing terminal is noticed at the next frame.
        self.tell(move |live| drop(live.screen.copy(&text)));
        true
    }

    fn close(&mut self) {
        self.send(Told::Over);
        self.join();
    }
}
