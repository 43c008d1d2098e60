//! The front end on a terminal: finished lines go to the scrollback, a few rows at the bottom are redrawn.

pub(crate) mod remote;

use crate::answers;
use crate::backlog::Backlog;
use crate::editor::Past;
use crate::finished::Finished;
use crate::front::{Activity, Left, Standing, Wish};
use crate::keys::{self, Key, Keys, PendingKey, Typed};
use crate::layout;
use crate::notify::{Attention, Notify};
use crate::questions;
use crate::render::Renderer;
use crate::render::look::{Look, Role};
use crate::render::tool::Unfolding;
use crate::repl::{Act, Files, Repl};
use crate::screen::{Frame, Screen};
use crate::signals::{EndSignals, status};
use crate::tty::{Input, Tty};
use codelet_agent::asking::Question;
use codelet_agent::event::Event;
use ratatui::text::Line;
use remote::{Shared, Told};
use std::collections::VecDeque;
use std::io::{self, Stdout};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio::sync::oneshot;
use tokio::time::sleep_until;

/// Minimum time between two frames while something streams.
const FRAME: Duration = Duration::from_millis(33);
/// Time between two positions of the spinner.
const TICK: Duration = Duration::from_millis(100);
/// Time between two frames while only a clock runs.
const SECOND: Duration = Duration::from_secs(1);
/// An Esc that nothing follows within this time is the key: the user is waiting for its effect.
const ESCAPE: Duration = Duration::from_millis(25);
/// The same while something runs that Esc would interrupt: a slow connection may separate an arrow key from its Esc.
const STOP: Duration = Duration::from_millis(60);
/// Time during which the rest of a sequence may arrive over a slow connection, even after its Esc was taken for the
/// key.
const SLOW: Duration = Duration::from_secs(1);
/// Maximum time between two chunks of an unbracketed paste.
const PIECES: Duration = Duration::from_millis(40);
/// Time between two parts of a long unfolded text, so that other events are shown too.
const PART: Duration = Duration::from_millis(4);
/// Maximum time spent on events before keys are checked again.
const TURN: Duration = Duration::from_millis(2);
/// Maximum text finished in one frame, in bytes: a terminal processes it before it shows a key. Over a connection of
/// one megabyte per second it takes a sixtieth of a second.
const MOST: usize = 16 * 1024;
/// A process that has not stopped this long after SIGTSTP cannot be stopped.
const STOPPING: Duration = Duration::from_millis(500);
/// Time after which a window of constant size is no longer being dragged. Frames drawn during a drag stay in the
/// scrollback of terminals that push wrapped rows out of the window.
const RESTED: Duration = Duration::from_millis(120);
/// Columns and rows below which not all of a question can stay visible.
const ROOMY: (u16, u16) = (60, 12);
/// Rows below a question: its answers, the input and the status.
const ANSWERS: usize = 8;

/// Opens a text in the user's editor and returns the edited text.
pub type Edit = Arc<dyn Fn(&str) -> Result<String, String> + Send + Sync>;

/// Returns the hook that the session has been waiting for, in words, and for how long; none if that is not worth a word.
pub type SlowHook = Arc<dyn Fn() -> Option<(String, Duration)> + Send + Sync>;

/// The configuration of a terminal session.
pub struct Outfit {
    /// The look; its width is detected.
    pub look: Look,
    /// The terminal's name in `TERM`.
    pub terminal: String,
    /// Lists the file names.
    pub files: Files,
    /// Inputs of earlier sessions, if they are kept.
    pub past: Option<Past>,
    /// The user's editor.
    pub edit: Edit,
    /// The notification method for when a question waits or a turn is over.
    pub notify: Notify,
    /// Returns the hook that has been running for long, in words, and for how long.
    pub slow_hook: SlowHook,
}

/// A session on a terminal.
pub(crate) struct Live {
    tty: Tty,
    keys: Keys,
    repl: Repl,
    screen: Screen<Stdout>,
    renderer: Renderer,
    began: Instant,
    outfit: Outfit,
    /// A folded text that is being shown, one part per frame.
    unfolding: Option<Unfolding>,
    finished: Finished,
    /// The number of finished lines up to the end of the last question, if it was the only one, and its own.
    asked_at: Option<(u64, usize)>,
    /// The time of the next frame; none while nothing has changed.
    due: Option<Instant>,
    drawn: Instant,
    /// No frame is drawn before this time, as the window was just resized.
    rests: Option<Instant>,
    escape: Option<Instant>,
    /// The time at which pending input that might have continued was interpreted as it was.
    settled: Option<Instant>,
    /// Keys of an unbracketed paste, and when it ends if nothing follows.
    burst: Vec<Typed>,
    over: Option<Instant>,
    signals: Signals,
    files: Option<oneshot::Receiver<Vec<String>>>,
    edited: Option<oneshot::Receiver<Result<String, String>>>,
    wishes: VecDeque<Wish>,
    is_gone: bool,
    /// Ctrl-Z was pressed: the terminal is taken back on SIGCONT, or at this time if the process was never stopped.
    suspended: Option<Instant>,
    /// The time at which that timeout was reached.
    awake: Option<Instant>,
    attention: Attention,
    /// The look, shared with the session's side, which lays out lines too.
    shared: Shared,
    /// The amount of undrawn output, to slow the session down.
    backlog: Backlog,
}

struct Signals {
    size: Signal,
    go_on: Signal,
    end: EndSignals,
}

impl Live {
    /// Takes over the terminal.
    pub(crate) fn open(outfit: Outfit, shared: Shared, backlog: Backlog) -> io::Result<Self> {
        let signals = Signals {
            size: signal(SignalKind::window_change())?,
            go_on: signal(SignalKind::from_raw(rustix::process::Signal::CONT.as_raw()))?,
            end: EndSignals::listen()?,
        };
        let tty = Tty::open(&outfit.terminal, outfit.notify != Notify::Off)?;
        let size = Tty::size();
        let look = look_at(outfit.look, size);
        shared.set(look);
        let mut repl = Repl::new();
        if let Some(past) = &outfit.past {
            repl.editor.follow(past.clone());
        }
        Ok(Live {
            tty,
            keys: Keys::default(),
            repl,
            screen: Screen::new(io::stdout(), size),
            renderer: Renderer::new(look),
            attention: Attention::new(outfit.notify, Instant::now()),
            began: Instant::now(),
            outfit: Outfit { look, ..outfit },
            unfolding: None,
            finished: Finished::default(),
            asked_at: None,
            due: None,
            drawn: Instant::now(),
            rests: None,
            escape: None,
            settled: None,
            burst: Vec::new(),
            over: None,
            signals,
            files: None,
            edited: None,
            wishes: VecDeque::new(),
            is_gone: false,
            suspended: None,
            awake: None,
            shared,
            backlog,
        })
    }

    /// Requests a frame: at once, or at the next frame time.
    fn change(&mut self, at_once: bool) {
        let at = if at_once { Instant::now() } else { self.drawn + FRAME };
        self.due = Some(self.due.map_or(at, |due| due.min(at)));
    }

    fn draw(&mut self, now: Instant) {
        self.due = None;
        if self.edited.is_some() || self.suspended.is_some() {
            return;
        }
        // SIGWINCH may still be under way.
        self.resized();
        self.due = self.rests.filter(|rests| *rests > now);
        if self.due.is_some() {
            return;
        }
        self.drawn = now;
        let is_asked = self.repl.question(now).is_some() || self.repl.deciding().is_some();
        if !is_asked {
            self.attention.answered();
        }
        let call = self.attention.call(now);
        self.call(call);
        self.renderer.set_asked(is_asked, self.since(now));
        self.renderer.set_queued(self.repl.queued().count());
        self.renderer.set_hook((self.outfit.slow_hook)());
        if self.finished.is_empty()
            && let Some(mut unfolding) = self.unfolding.take()
            && let Some(lines) = unfolding.next_lines(&self.outfit.look)
        {
            self.finished.extend(lines);
            self.unfolding = Some(unfolding);
        }
        let (look, size, since) = (self.outfit.look, self.screen.size(), self.since(now));
        self.repl.is_asked_above = self
            .asked_at
            .is_some_and(|(at, rows)| at == self.finished.lines() && rows + ANSWERS <= usize::from(size.1));
        let frame = layout::frame(&mut self.repl, &self.renderer, &look, size, now, since);
        if self.screen.draw(&self.finished.next(MOST), frame).is_err() {
            self.is_gone = true;
        }
        let next = if !self.finished.is_empty() {
            Some(now)
        } else if self.unfolding.is_some() {
            Some(now + PART)
        } else {
            match self.is_moving() {
                true => Some(now + TICK),
                // Only the clock changes while a question is shown.
                false => (self.repl.doing != Activity::Nothing).then_some(now + SECOND),
            }
        };
        let armed = self.repl.answerable_from().filter(|from| *from > now);
        let armed = armed
            .into_iter()
            .chain(self.repl.decided_from().filter(|from| *from > now));
        let called = self.attention.due(now).filter(|_| is_asked);
        let others = armed.chain(called).chain(self.repl.settles_at(now));
        self.due = next.into_iter().chain(others).min();
    }

    fn since(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.began)
    }

    /// Returns whether work is in progress, so that the clock runs.
    fn is_moving(&self) -> bool {
        !matches!(self.repl.doing, Activity::Nothing | Activity::Deciding) && self.repl.waiting() == 0
    }

    fn take(&mut self, bytes: &[u8], now: Instant) {
        if self.settled.take().is_none_or(|settled| now > settled + SLOW) {
            self.keys.close();
        }
        let mut typed = self.keys.take(bytes);
        self.escape = self.keys.open().map(|open| match open {
            PendingKey::Key if self.repl.doing != Activity::Nothing => now + STOP,
            PendingKey::Key => now + ESCAPE,
            PendingKey::Sequence => now + SLOW,
        });
        if self.over.is_some() || keys::is_burst(&typed) {
            self.burst.append(&mut typed);
            self.over = Some(now + PIECES);
            return;
        }
        typed.drain(..).for_each(|typed| self.typed(typed, now));
        self.change(true);
    }

    fn pasted(&mut self, now: Instant) {
        self.over = None;
        for typed in keys::with_pastes(std::mem::take(&mut self.burst)) {
            self.typed(typed, now);
        }
        self.change(true);
    }

    fn typed(&mut self, typed: Typed, now: Instant) {
        if let Typed::Focus(has_focus) = typed {
            return self.attention.focus(has_focus);
        }
        self.attention.key(now);
        let acts = self.repl.typed(typed, now);
        self.act(acts);
    }

    fn act(&mut self, acts: Vec<Act>) {
        for act in acts {
            match act {
                Act::Send(text) => self.wishes.push_back(Wish::Say(text)),
                Act::Permit => self.wishes.push_back(Wish::Permit),
                Act::Interrupt => self.wishes.push_back(Wish::Interrupt),
                Act::Leave => self.wishes.push_back(Wish::Leave(Left::Left)),
                Act::Quit => self.gone(SignalKind::quit()),
                Act::Suspend => self.suspend(),
                Act::Edit => self.edit(),
                Act::WantFiles => self.want_files(),
                Act::Unfold => self.unfold(false),
                Act::Redraw => {
                    self.screen.forget();
                    self.finished.put_first(&Line::default());
                }
                Act::Answered(told) => {
                    let lines = answers::say(&self.outfit.look, Role::Dim, &told);
                    self.finished.extend(lines);
                }
            }
        }
    }

    /// Shows the newest folded text; each further call shows the one before. With `is_all`, shows the one shown last in
    /// full.
    fn unfold(&mut self, is_all: bool) {
        // A pending question has precedence.
        if !self.repl.is_unfolded
            && let Some(question) = self.repl.question(Instant::now())
            && let Some(rest) = questions::rest(&self.outfit.look, question)
        {
            self.repl.is_unfolded = true;
            self.unfolding = Some(rest);
            let lines = self.renderer.aside(Vec::new());
            self.finished.extend(lines);
            return;
        }
        if is_all {
            let lines = self.renderer.say(Vec::new());
            self.finished.extend(lines);
            self.unfolding = self.renderer.unfold();
        } else if let Some(lines) = self.renderer.expand() {
            return self.print(lines);
        }
        if self.unfolding.is_none() {
            self.repl.hint = Some("nothing more to expand");
        }
    }

    fn suspend(&mut self) {
        if self.edited.is_some() || self.suspended.is_some() {
            return;
        }
        let _ = self.screen.wipe();
        self.suspended = Some(Instant::now() + STOPPING);
        self.tty.stop();
    }

    /// Takes the terminal back when the process continues, or was never stopped.
    fn resume(&mut self) {
        self.suspended = None;
        self.is_gone |= self.tty.take_back().is_err();
        self.attention.forget();
        self.screen.forget();
        self.resized();
        self.change(true);
    }

    fn edit(&mut self) {
        if self.edited.is_some() {
            return;
        }
        let _ = self.screen.wipe();
        self.tty.lend();
        let text = self.repl.editor.unfolded(&self.repl.editor.text());
        let (done, edited) = oneshot::channel();
        let edit = Arc::clone(&self.outfit.edit);
        let run = move || {
            // The receiver is gone if the user has left.
            let _ = done.send(edit(&text));
        };
        if std::thread::Builder::new().name("editor".to_owned()).spawn(run).is_ok() {
            self.edited = Some(edited);
        } else {
            self.edited(Err("could not start the editor".to_owned()));
        }
    }

    fn edited(&mut self, text: Result<String, String>) {
        self.edited = None;
        self.attention.forget();
        if self.tty.take_back().is_err() {
            self.is_gone = true;
        }
        self.resized();
        self.screen.forget();
        match text {
            Ok(text) => self.repl.editor.set_unfolded(&text),
            Err(why) => self.print(answers::say(&self.outfit.look, Role::Error, &why)),
        }
        self.change(true);
    }

    fn want_files(&mut self) {
        if self.files.is_some() {
            return;
        }
        let (send, files) = oneshot::channel();
        let list = Arc::clone(&self.outfit.files);
        let run = move || {
            let _ = send.send(list());
        };
        // Without a spare thread there are no names.
        if std::thread::Builder::new().name("files".to_owned()).spawn(run).is_ok() {
            self.files = Some(files);
        }
    }

    fn resized(&mut self) {
        let size = Tty::size();
        if size != self.screen.size() {
            self.rests = Some(Instant::now() + RESTED);
            self.screen.resize(size);
            self.outfit.look = look_at(self.outfit.look, size);
            self.shared.set(self.outfit.look);
            self.finished.extend(self.renderer.set_look(self.outfit.look));
            self.change(true);
        }
    }

    /// Handles input and shows output until the session's side is gone.
    pub(crate) async fn serve(mut self, mut told: UnboundedReceiver<Told>, wishes: UnboundedSender<Wish>) {
        let mut is_gone = false;
        loop {
            self.tell_backlog(is_gone);
            while let Some(wish) = self.wishes.pop_front() {
                is_gone |= matches!(wish, Wish::Leave(Left::Gone(_)));
                // The session ends this loop with a message once it needs no more wishes.
                let _ = wishes.send(wish);
            }
            if is_gone {
                match told.recv().await {
                    None => return,
                    Some(Told::Over) => return self.close(),
                    Some(Told::Always(work)) => work(&mut self),
                    Some(Told::Do(_)) => {}
                }
                continue;
            }
            match self.next(&mut told).await {
                LiveEvent::Told(None) => return,
                LiveEvent::Told(Some(first)) => {
                    // Several events are handled per wait: setting up a wait costs more than most events.
                    let end = Instant::now() + TURN;
                    let mut next = Some(first);
                    while let Some(one) = next {
                        match one {
                            Told::Over => return self.close(),
                            Told::Do(work) | Told::Always(work) => work(&mut self),
                        }
                        next = (Instant::now() < end).then(|| told.try_recv().ok()).flatten();
                    }
                }
                came => self.came(came),
            }
            if self.is_gone {
                self.gone(SignalKind::hangup());
            }
        }
    }

    /// Leaves as if this signal had arrived.
    fn gone(&mut self, kind: SignalKind) {
        self.wishes.push_back(Wish::Leave(Left::Gone(status(kind))));
    }

    /// Reports the amount of undrawn lines. While the terminal is lent out or gone, it must not slow the session down.
    fn tell_backlog(&self, is_gone: bool) {
        let is_drawn = !is_gone && self.edited.is_none() && self.suspended.is_none();
        self.backlog
            .set_finished(if is_drawn { self.finished.bytes() } else { 0 });
    }

    /// Returns the next input or event: keys first, and a due frame before the events of the next one.
    async fn next(&mut self, told: &mut UnboundedReceiver<Told>) -> LiveEvent {
        tokio::select! {
            biased;
            input = self.tty.input() => LiveEvent::Input(input),
            kind = self.signals.end.next() => LiveEvent::End(kind),
            _ = self.signals.size.recv() => LiveEvent::Size,
            _ = self.signals.go_on.recv() => LiveEvent::GoOn,
            files = answer(&mut self.files) => LiveEvent::Files(files),
            text = answer(&mut self.edited) => LiveEvent::Edited(text.unwrap_or_else(|| Err("the editor ended in an unknown way".to_owned()))),
            () = until(self.escape) => LiveEvent::Escape,
            () = until(self.over) => LiveEvent::Pasted,
            () = until(self.suspended) => LiveEvent::Awake,
            () = until(self.due) => LiveEvent::Frame,
            told = told.recv() => LiveEvent::Told(told),
        }
    }

    fn came(&mut self, came: LiveEvent) {
        let now = Instant::now();
        match came {
            LiveEvent::Input(Input::Bytes(bytes)) => self.take(&bytes, now),
            LiveEvent::Input(Input::HungUp) => self.gone(SignalKind::hangup()),
            // While an editor has the terminal, its keys are not ours.
            LiveEvent::End(kind) if self.edited.is_some() && is_of_key(kind) => {}
            LiveEvent::End(kind) if kind == SignalKind::interrupt() => {
                self.typed(Typed::Key(Key::ctrl('c')), now);
                self.change(true);
            }
            LiveEvent::End(kind) => self.gone(kind),
            LiveEvent::Size => self.resized(),
            // While an editor has the terminal, it keeps it.
            LiveEvent::GoOn if self.edited.is_some() => {}
            LiveEvent::GoOn if self.suspended.is_some() => self.resume(),
            // The timeout was reached on resuming, and SIGCONT arrives after it.
            LiveEvent::GoOn if self.awake.take().is_some_and(|awake| now < awake + SLOW) => {}
            LiveEvent::Awake => {
                self.awake = Some(now);
                self.resume();
            }
            LiveEvent::GoOn => {
                // Stopped from outside: another program has used the terminal since.
                self.tty.lend();
                self.resume();
            }
            LiveEvent::Files(files) => {
                self.files = None;
                self.repl.take_files(files.unwrap_or_default());
                self.change(true);
            }
            LiveEvent::Edited(text) => self.edited(text),
            LiveEvent::Pasted => self.pasted(now),
            LiveEvent::Escape => {
                self.escape = None;
                self.settled = Some(now);
                for typed in self.keys.settle() {
                    self.typed(typed, now);
                }
                self.change(true);
            }
            LiveEvent::Frame => {
                let acts = self.repl.settle(now);
                self.act(acts);
                self.draw(now);
            }
            // Handled where they are received.
            LiveEvent::Told(_) => {}
        }
    }
}

/// Returns whether terminals send this signal for a key.
fn is_of_key(kind: SignalKind) -> bool {
    kind == SignalKind::interrupt() || kind == SignalKind::quit()
}

/// Leaves the last column free: a terminal that becomes narrower wraps rows that reach it.
fn look_at(look: Look, (columns, _): (u16, u16)) -> Look {
    look.at_width(usize::from(columns.saturating_sub(1)))
}

/// An input or event.
enum LiveEvent {
    Input(Input),
    Files(Option<Vec<String>>),
    Edited(Result<String, String>),
    Size,
    GoOn,
    Awake,
    End(SignalKind),
    Escape,
    Pasted,
    Frame,
    Told(Option<Told>),
}

async fn until(at: Option<Instant>) {
    match at {
        Some(at) if at <= Instant::now() => {}
        Some(at) => sleep_until(at.into()).await,
        None => std::future::pending().await,
    }
}

async fn answer<T>(waiting: &mut Option<oneshot::Receiver<T>>) -> Option<T> {
    match waiting {
        Some(receiver) => receiver.await.ok(),
        None => std::future::pending().await,
    }
}

impl Live {
    fn on(&mut self, event: Event) {
        self.backlog.hear(&event);
        if let Event::Over(ending) = &event
            // No queued input would be handled now.
            && self.repl.queued().next().is_none()
        {
            let call = self.attention.over(ending, Instant::now());
            self.call(call);
        }
        let now = self.since(Instant::now());
        let finished = self.renderer.on(&event, now);
        self.finished.extend(finished);
        self.change(false);
    }

    fn ask(&mut self, question: Question, directory: &Path) {
        // The question's body is printed once; its answers stay below.
        let mut lines = questions::body(&self.outfit.look, &question, directory);
        let (width, height) = self.screen.size();
        if width < ROOMY.0 || height < ROOMY.1 || questions::is_shortened(&question) {
            lines.extend(questions::extent(&self.outfit.look, &question));
        }
        let rows = lines.len();
        let lines = self.renderer.say(lines);
        self.finished.extend(lines);
        self.renderer.asked_for(&question.call, &question.needs);
        self.change(true);
        self.asked_at = None;
        if self.repl.waiting() == 0 {
            self.asked_at = Some((self.finished.lines(), rows));
            self.attention
                .ask(format!("Codelet asks: {} {}", question.tool, question.description));
        }
        self.repl.ask(question);
    }

    /// Sends a notification to the user. A failing terminal is noticed at the next frame.
    fn call(&mut self, bytes: Option<String>) {
        if let Some(bytes) = bytes.filter(|_| self.edited.is_none() && self.suspended.is_none()) {
            let _ = self.screen.call(&bytes);
        }
    }

    fn print(&mut self, lines: Vec<Line<'static>>) {
        let lines = match self.repl.doing {
            Activity::Nothing => self.renderer.say(lines),
            _ => self.renderer.aside(lines),
        };
        self.finished.extend(lines);
        self.change(true);
    }

    fn echo(&mut self, said: &str) {
        let now = self.since(Instant::now());
        let lines = self.renderer.prompt(said, now);
        self.finished.extend(lines);
        self.change(true);
    }

    fn quote(&mut self, said: &str) {
        let now = self.since(Instant::now());
        let lines = self.renderer.quote(said, now);
        self.finished.extend(lines);
        self.change(true);
    }

    fn doing(&mut self, doing: Activity) {
        let now = self.since(Instant::now());
        match doing {
            Activity::Nothing => self.renderer.set_busy(None, now),
            Activity::Compaction => self.renderer.set_busy(Some("compacting"), now),
            Activity::Connection => self.renderer.set_busy(Some("looking for the model"), now),
            Activity::Git => self.renderer.set_busy(Some("asking git (Esc cancels)"), now),
            Activity::Commit => self.renderer.set_busy(Some("preparing the commit (Esc cancels)"), now),
            Activity::Prompt => self.renderer.set_busy(Some("fetching the prompt (Esc cancels)"), now),
            Activity::KeepAlive => self.renderer.set_busy(Some("keeping the cache alive"), now),
            Activity::Servers => self
                .renderer
                .set_busy(Some("connecting to MCP servers (Esc skips)"), now),
            Activity::Restoring => self.renderer.set_busy(Some("putting files back"), now),
            Activity::Run => self.renderer.set_busy(Some("waiting for the model"), now),
            Activity::Shell | Activity::Deciding => {}
        }
        self.repl.doing = doing;
        self.change(true);
    }

    fn stands(&mut self, standing: &Standing) {
        self.renderer.set_model(&standing.model);
        self.renderer.set_tokens(&standing.tokens, standing.is_estimate);
        self.renderer.set_bill(&standing.bill);
        self.renderer.set_busy(None, self.since(Instant::now()));
        self.change(true);
    }

    fn give_back(&mut self) {
        for said in self.repl.give_back() {
            let said = said.lines().next().unwrap_or_default().to_owned();
            let lines = answers::say(&self.outfit.look, Role::Warning, &format!("not done: {said}"));
            self.finished.extend(lines);
        }
        self.change(true);
    }

    fn close(mut self) {
        self.resized();
        let now = self.since(Instant::now());
        while let Some(lines) = self
            .unfolding
            .as_mut()
            .and_then(|unfolding| unfolding.next_lines(&self.outfit.look))
        {
            self.finished.extend(lines);
        }
        self.finished.extend(self.renderer.close(now));
        // Errors are ignored, since the terminal may be gone.
        let _ = self.screen.draw(&self.finished.next(usize::MAX), Frame::default());
        let _ = self.screen.wipe();
    }
}
