//! One session: handles its editor's requests one after the other, and stays responsive meanwhile.

use crate::chosen::{EFFORT, MODE, MODEL, effort, mode_option, modes, options, permit, set_mode};
use crate::editor::{Editor, clean};
use crate::history;
use crate::host::{Begun, Reach};
use crate::permission::Questions;
use crate::prompt::{self, ParsedPrompt, invalid};
use crate::updates::{LookedUp, Teller, look_up, summary, todo, usage};
use agent_client_protocol::v1::Responder;
use agent_client_protocol::v1::schema::{
    AvailableCommand, AvailableCommandInput, AvailableCommandsUpdate, CloseSessionResponse, ConfigOptionUpdate,
    CurrentModeUpdate, LoadSessionResponse, NewSessionResponse, NoticeSeverity, PromptRequest, PromptResponse,
    SessionConfigOption, SessionConfigOptionValue, SessionUpdate, SetSessionConfigOptionRequest,
    SetSessionConfigOptionResponse, SetSessionModeRequest, SetSessionModeResponse, StopReason,
    UnstructuredCommandInput,
};
use agent_client_protocol::{Error, ErrorCode, RequestCancellation};
use codelet_agent::event::{Event, Listen};
use codelet_agent::interrupt::Interrupt;
use codelet_agent::model::ModelError;
use codelet_agent::permission::{Gate as _, Permission};
use codelet_agent::plan;
use codelet_agent::prompts;
use codelet_agent::run::Ending;
use codelet_agent::session::{Prompt, Session};
use codelet_text::short::words;
use std::collections::VecDeque;
use std::pin::pin;
use std::time::Instant;
use tokio::sync::mpsc::{self, UnboundedReceiver};

/// A request of the editor to a session.
pub(crate) enum Order {
    Prompt(PromptRequest, Responder<PromptResponse>),
    Cancel,
    Mode(SetSessionModeRequest, Responder<SetSessionModeResponse>),
    Choose(SetSessionConfigOptionRequest, Responder<SetSessionConfigOptionResponse>),
    Replay(Responder<LoadSessionResponse>),
    Close(Responder<CloseSessionResponse>),
}

/// The request that opened the session, to be answered.
pub(crate) enum Announce {
    New(Responder<NewSessionResponse>),
    Load(Responder<LoadSessionResponse>),
}

/// A session with its editor.
pub(crate) struct Seat {
    pub session: Session,
    pub reach: Reach,
    pub editor: Editor,
    pub teller: Teller,
    orders: UnboundedReceiver<Order>,
    /// Requests that wait until a turn is over.
    waiting: VecDeque<Order>,
    /// The editor is gone, or has closed the session.
    is_over: bool,
}

impl Seat {
    /// Announces the session, handles its requests, and ends the processes started for it.
    pub async fn live(begun: Begun, orders: UnboundedReceiver<Order>, editor: Editor, announce: Announce) {
        let Begun {
            session,
            reach,
            notices,
            compacted,
        } = begun;
        let mut seat = Seat {
            teller: Teller::new(reach.directory.clone()),
            session,
            reach,
            editor,
            orders,
            waiting: VecDeque::new(),
            is_over: false,
        };
        match announce {
            Announce::New(responder) => {
                let there = NewSessionResponse::new(seat.editor.id.clone()).modes(modes(&seat.reach));
                let _ = responder.respond(there.config_options(seat.options()));
            }
            Announce::Load(responder) => seat.replay(responder),
        }
        seat.offer();
        for notice in &notices {
            seat.editor.notice(NoticeSeverity::Warning, notice);
        }
        if let Some((_, notice)) = compacted {
            seat.teller.compacted(&notice, &summary(&seat.session), &seat.editor);
        }
        seat.serve().await;
        let Seat { reach, .. } = seat;
        (reach.end)().await;
    }

    async fn serve(&mut self) {
        while !self.is_over {
            let order = match self.waiting.pop_front() {
                Some(order) => order,
                None => match self.orders.recv().await {
                    Some(order) => order,
                    None => return,
                },
            };
            self.take(order).await;
        }
    }

    async fn take(&mut self, order: Order) {
        match order {
            Order::Prompt(request, responder) => self.prompt(request, responder).await,
            Order::Cancel => {}
            Order::Mode(request, responder) => mode(&self.reach, &self.editor, &request, responder, &self.options()),
            Order::Choose(request, responder) => {
                let chosen = self.choose(&request).await;
                let _ =
                    responder.respond_with_result(chosen.map(|()| SetSessionConfigOptionResponse::new(self.options())));
            }
            Order::Replay(responder) => {
                self.replay(responder);
                self.offer();
            }
            Order::Close(responder) => {
                self.is_over = true;
                let _ = responder.respond(CloseSessionResponse::new());
            }
        }
    }

    pub fn options(&self) -> Vec<SessionConfigOption> {
        options(&self.reach, &self.session)
    }

    /// Reports the occupancy of the context window and the cost, if they have changed.
    pub fn tell_usage(&mut self) {
        self.teller.usage(usage(&self.session), &self.editor);
    }

    /// Switches to a permission and updates every display of it.
    pub fn go_as_far_as(&self, permission: Permission) {
        permit(&self.reach, permission);
        let mode = CurrentModeUpdate::new(permission.name());
        self.editor.update(SessionUpdate::CurrentModeUpdate(mode));
        let options = ConfigOptionUpdate::new(self.options());
        self.editor.update(SessionUpdate::ConfigOptionUpdate(options));
    }

    /// Replays the conversation, then answers the request.
    fn replay(&mut self, responder: Responder<LoadSessionResponse>) {
        history::replay(&self.session, &self.editor, &self.reach.directory);
        if self.session.conversation().todo().items().next().is_some() {
            self.editor.update(todo(&self.session));
        }
        self.editor.update(SessionUpdate::UsageUpdate(usage(&self.session)));
        let there = LoadSessionResponse::new().modes(modes(&self.reach));
        let _ = responder.respond(there.config_options(self.options()));
    }

    /// Sends the available commands.
    pub fn offer(&self) {
        let own = self.reach.commands.iter().map(|command| {
            let offered = AvailableCommand::new(command.word.clone(), command.help.clone());
            match command.arguments.is_empty() {
                true => offered,
                false => offered.input(hint(&command.arguments)),
            }
        });
        let prompts = self.reach.prompts.prompts();
        let of_servers = prompts.iter().map(|spec| {
            let offered = AvailableCommand::new(spec.command.clone(), clean(&words(&spec.description)));
            let usage = prompts::usage(spec);
            match usage.split_once(' ') {
                Some((_, arguments)) => offered.input(hint(arguments)),
                None => offered,
            }
        });
        let all = own.chain(of_servers).collect();
        self.editor
            .update(SessionUpdate::AvailableCommandsUpdate(AvailableCommandsUpdate::new(
                all,
            )));
    }

    /// Handles a prompt and answers the request.
    async fn prompt(&mut self, request: PromptRequest, responder: Responder<PromptResponse>) {
        let cancelled = responder.cancellation();
        let done = match prompt::read(request.prompt) {
            Ok(said) => self.said(said, cancelled).await,
            Err(error) => Err(error),
        };
        let _ = responder.respond_with_result(done.map(PromptResponse::new));
    }

    async fn said(&mut self, mut said: ParsedPrompt, cancelled: RequestCancellation) -> Result<StopReason, Error> {
        for warning in std::mem::take(&mut said.warnings) {
            self.editor.notice(NoticeSeverity::Warning, &warning);
        }
        if let Some((word, arguments)) = prompt::command(&said.text) {
            let (word, arguments) = (word.to_owned(), arguments.to_owned());
            if let Some(done) = self.command(&word, &arguments, &cancelled).await {
                return done;
            }
        }
        let made = (self.reach.pictures)(&said.images, self.session.model().profile());
        let (images, unseen) = made.map_err(invalid)?;
        if let Some(unseen) = unseen {
            self.editor.notice(NoticeSeverity::Warning, &unseen);
        }
        let prompt = Prompt {
            text: said.text,
            images,
            attached: said.attached,
            ..Prompt::default()
        };
        self.carry(Some(prompt), &cancelled).await
    }

    /// Runs a prompt to its end; without one, retries the last.
    pub async fn carry(
        &mut self,
        prompt: Option<Prompt>,
        cancelled: &RequestCancellation,
    ) -> Result<StopReason, Error> {
        let carried = self.run(cancelled, async |session, interrupt, listener| match prompt {
            Some(prompt) => Some(session.prompt(prompt, interrupt, listener).await),
            None => session.retry(interrupt, listener).await,
        });
        let (ending, was_interrupted) = carried.await;
        self.tell_usage();
        if matches!(ending, Some(Ending::Answered(_))) && self.reach.gate.permission() == Permission::Plan {
            self.editor.notice(NoticeSeverity::Info, plan::ANSWERED);
        }
        match ending {
            // A cancelled request must be answered as cancelled, even if the model's answer was faster.
            _ if was_interrupted => Ok(StopReason::Cancelled),
            None => Ok(StopReason::EndTurn),
            Some(ending) => self.ended(&ending),
        }
    }

    /// The end of a turn in the protocol's terms. What these cannot express is reported in the conversation.
    fn ended(&self, ending: &Ending) -> Result<StopReason, Error> {
        let reason = match ending {
            Ending::Answered(_) => return Ok(StopReason::EndTurn),
            Ending::Interrupted => return Ok(StopReason::Cancelled),
            Ending::Declined(_) => StopReason::Refusal,
            Ending::StepLimit(_) | Ending::CostLimit(_) => StopReason::MaxTurnRequests,
            Ending::TooLong(_) => StopReason::MaxTokens,
            Ending::NoAnswer(_) if !self.session.unfinished().trim().is_empty() => StopReason::MaxTokens,
            Ending::Provider(ModelError::Credentials { .. }) => {
                return Err(Error::new(ErrorCode::AUTH_REQUIRED, clean(&ending.to_string())));
            }
            Ending::Provider(_) | Ending::NoAnswer(_) => {
                return Err(Error::new(ErrorCode::INTERNAL_ERROR, clean(&ending.to_string())));
            }
            _ => StopReason::EndTurn,
        };
        self.editor.notice(NoticeSeverity::Error, &ending.to_string());
        Ok(reason)
    }

    /// Does a longer piece of work. Returns its result, and whether it was interrupted.
    pub async fn run<T>(
        &mut self,
        cancelled: &RequestCancellation,
        work: impl AsyncFnOnce(&mut Session, &Interrupt, &mut dyn Listen) -> T,
    ) -> (T, bool) {
        let interrupt = Interrupt::new();
        let (events, mut happened) = mpsc::unbounded_channel();
        let mut listener = move |event: Event| {
            // The receiver may be gone.
            let _ = events.send(event);
        };
        let glances = self.session.glances();
        let (show, mut found) = mpsc::unbounded_channel::<LookedUp>();
        let Seat {
            session,
            reach,
            editor,
            teller,
            orders,
            waiting,
            is_over,
        } = self;
        let all = options(reach, session);
        let tell = |event: Event, teller: &mut Teller| {
            if let Some(lookup) = teller.on(event, editor) {
                let show = show.clone();
                glances.ask(move |session: &Session| {
                    let _ = show.send(look_up(lookup, session));
                });
            }
        };
        let mut questions = Questions::default();
        let done = {
            let mut work = pin!(work(session, &interrupt, &mut listener));
            loop {
                let may_wait = !interrupt.is_thrown();
                let due = teller.due();
                tokio::select! {
                    biased;
                    order = orders.recv(), if !*is_over => match order {
                        Some(order) => heed(order, reach, editor, &all, waiting, &interrupt),
                        None => {
                            *is_over = true;
                            interrupt.throw();
                        }
                    },
                    () = cancelled.cancelled(), if may_wait => interrupt.throw(),
                    Some(event) = happened.recv() => tell(event, teller),
                    Some(found) = found.recv() => teller.found(found, editor),
                    Some(question) = reach.questions.recv(), if may_wait => questions.ask(question, editor, &reach.directory),
                    told = questions.answered(editor), if may_wait => {
                        if let Some(told) = told {
                            editor.notice(NoticeSeverity::Info, &told);
                        }
                    }
                    () = sleep_until(due) => teller.catch_up(editor),
                    done = work.as_mut() => break done,
                }
            }
        };
        drop(questions);
        while let Ok(event) = happened.try_recv() {
            tell(event, teller);
        }
        // Glances that were requested but not served during the run are answered now.
        glances.answer(session);
        while let Ok(found) = found.try_recv() {
            teller.found(found, editor);
        }
        (done, interrupt.is_thrown())
    }

    /// Changes an option.
    async fn choose(&mut self, request: &SetSessionConfigOptionRequest) -> Result<(), Error> {
        let value = value(request)?;
        match &*request.config_id.0 {
            MODE => choose_mode(&self.reach, &self.editor, request),
            MODEL => self.change_model(value).await,
            EFFORT => {
                let wanted = effort(value).ok_or_else(|| invalid(format!("there is no effort {value}")))?;
                let refused = || invalid(format!("{} does not take the effort {value}", self.reach.model));
                self.session.change_effort(wanted).map(|_| ()).ok_or_else(refused)
            }
            other => Err(invalid(format!("there is no option {other}"))),
        }
    }

    async fn change_model(&mut self, name: &str) -> Result<(), Error> {
        if name == self.reach.model {
            return Ok(());
        }
        let effort = self.session.model().effort();
        let model = (self.reach.connect)(name.to_owned()).await;
        let model = model.map_err(|why| Error::new(ErrorCode::INTERNAL_ERROR, clean(&why)))?;
        self.session.change_model(model);
        self.reach.model = name.to_owned();
        if effort.is_some() && self.session.change_effort(effort).is_none() {
            let told =
                format!("{name} does not take the thinking effort that was chosen; its provider's default is used.");
            self.editor.notice(NoticeSeverity::Warning, &told);
        }
        self.tell_usage();
        Ok(())
    }
}

/// Sleeps until this time; forever without one.
async fn sleep_until(due: Option<Instant>) {
    match due {
        Some(due) => tokio::time::sleep_until(due.into()).await,
        None => std::future::pending().await,
    }
}

fn hint(arguments: &str) -> AvailableCommandInput {
    AvailableCommandInput::Unstructured(UnstructuredCommandInput::new(arguments))
}

/// Changes the mode and updates every display of it.
fn mode(
    reach: &Reach,
    editor: &Editor,
    request: &SetSessionModeRequest,
    responder: Responder<SetSessionModeResponse>,
    all: &[SessionConfigOption],
) {
    if !set_mode(reach, &request.mode_id.0) {
        let _ = responder.respond_with_error(invalid(format!("there is no mode {}", request.mode_id.0)));
        return;
    }
    let _ = responder.respond(SetSessionModeResponse::new());
    let update = ConfigOptionUpdate::new(with_mode(all, reach));
    editor.update(SessionUpdate::ConfigOptionUpdate(update));
}

/// Changes the option `mode` and updates every other display of it.
fn choose_mode(reach: &Reach, editor: &Editor, request: &SetSessionConfigOptionRequest) -> Result<(), Error> {
    let name = value(request)?;
    if !set_mode(reach, name) {
        return Err(invalid(format!("there is no mode {name}")));
    }
    let update = CurrentModeUpdate::new(reach.gate.permission().name());
    editor.update(SessionUpdate::CurrentModeUpdate(update));
    Ok(())
}

/// Returns the value that an option is to have.
fn value(request: &SetSessionConfigOptionRequest) -> Result<&str, Error> {
    match &request.value {
        SessionConfigOptionValue::ValueId { value } => Ok(&value.0),
        _ => Err(invalid("this option takes the id of a value")),
    }
}

/// These options with the current mode, which comes first.
fn with_mode(all: &[SessionConfigOption], reach: &Reach) -> Vec<SessionConfigOption> {
    let others = all.iter().skip(1).cloned();
    std::iter::once(mode_option(reach)).chain(others).collect()
}

/// Handles a request that is possible while something runs; queues any other.
fn heed(
    order: Order,
    reach: &Reach,
    editor: &Editor,
    all: &[SessionConfigOption],
    waiting: &mut VecDeque<Order>,
    interrupt: &Interrupt,
) {
    match order {
        Order::Cancel => {
            interrupt.throw();
            // Queued prompts are cancelled too.
            for order in std::mem::take(waiting) {
                match order {
                    Order::Prompt(_, responder) => {
                        let _ = responder.respond(PromptResponse::new(StopReason::Cancelled));
                    }
                    order => waiting.push_back(order),
                }
            }
        }
        Order::Mode(request, responder) => mode(reach, editor, &request, responder, all),
        Order::Choose(request, responder) if &*request.config_id.0 == MODE => {
            let chosen = choose_mode(reach, editor, &request);
            let options = |()| SetSessionConfigOptionResponse::new(with_mode(all, reach));
            let _ = responder.respond_with_result(chosen.map(options));
        }
        // After an interrupt the next prompt is accepted at once.
        Order::Prompt(_, responder) if !interrupt.is_thrown() => {
            let busy = Error::new(
                ErrorCode::INVALID_REQUEST,
                "a prompt of this session is being answered; cancel it first",
            );
            let _ = responder.respond_with_error(busy);
        }
        Order::Close(responder) => {
            interrupt.throw();
            waiting.push_front(Order::Close(responder));
        }
        order => waiting.push_back(order),
    }
}
