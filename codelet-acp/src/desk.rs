//! The connection: dispatches the editor's requests to their sessions.

use crate::editor::{Editor, EditorCapabilities, clean, clean_line};
use crate::host::{Host, Listed, Server, ServerReach, Unopened, Wanted};
use crate::lines::{incoming, outgoing};
use crate::prompt::invalid;
use crate::seat::{Announce, Order, Seat};
use agent_client_protocol::schema::ProtocolVersion;
use agent_client_protocol::v1::schema::{
    AgentCapabilities, CancelNotification, CloseSessionRequest, CloseSessionResponse, ContentBlock, Implementation,
    InitializeRequest, InitializeResponse, ListSessionsRequest, ListSessionsResponse, LoadSessionRequest,
    LoadSessionResponse, McpCapabilities, McpServer, NewSessionRequest, NewSessionResponse, PromptCapabilities,
    PromptRequest, PromptResponse, SessionAdditionalDirectoriesCapabilities, SessionCapabilities,
    SessionCloseCapabilities, SessionId, SessionInfo, SessionListCapabilities, SessionSystemPromptCapabilities,
    SetSessionConfigOptionRequest, SetSessionConfigOptionResponse, SetSessionModeRequest, SetSessionModeResponse,
    SystemPrompt, SystemPromptMode,
};
use agent_client_protocol::v1::{ConnectionTo, Responder, schema};
use agent_client_protocol::{Agent, Client, Error, ErrorCode, Lines, on_receive_notification, on_receive_request};
use codelet_agent::interrupt::Interrupt;
use futures_util::future;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::{Duration, SystemTime};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::{JoinSet, LocalSet};

/// Maximum time for sessions to end after the editor is gone.
const PARTING: Duration = Duration::from_secs(1);
/// Characters of a session's title.
const TITLE: usize = 120;

/// A request of the editor.
enum EditorRequest {
    Initialize(EditorCapabilities, Responder<InitializeResponse>),
    New(NewSessionRequest, Responder<NewSessionResponse>),
    Load(LoadSessionRequest, Responder<LoadSessionResponse>),
    List(ListSessionsRequest, Responder<ListSessionsResponse>),
    Close(CloseSessionRequest, Responder<CloseSessionResponse>),
    Prompt(PromptRequest, Responder<PromptResponse>),
    Cancel(CancelNotification),
    Mode(SetSessionModeRequest, Responder<SetSessionModeResponse>),
    Choose(SetSessionConfigOptionRequest, Responder<SetSessionConfigOptionResponse>),
}

/// Serves an editor until it closes `input`, or `stop` is thrown. Processes started for its sessions are ended before
/// this returns, waiting at most a second.
///
/// # Errors
/// If the pipes fail, in a sentence.
pub async fn serve(
    host: impl Host + 'static,
    input: impl AsyncRead + Send + Unpin + 'static,
    output: impl AsyncWrite + Send + Unpin + 'static,
    stop: &Interrupt,
) -> Result<(), String> {
    let lines = Lines::new(outgoing(output), incoming(input));
    let (ask, asked) = unbounded_channel();
    let desk = Rc::new(Desk {
        host,
        shows: Cell::default(),
        sessions: RefCell::default(),
        skip: Interrupt::new(),
        begun: SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .map_or(0, |since| since.as_nanos()),
        number: Cell::new(0),
    });
    let local = LocalSet::new();
    let served = local.run_until(async {
        let mut seats = JoinSet::new();
        let served = connected(lines, ask, async |connection: ConnectionTo<Client>| {
            let work = desk.work(asked, &connection, &mut seats);
            tokio::select! {
                biased;
                () = stop.thrown() => {}
                () = connection.incoming_closed() => {}
                () = work => {}
            }
            Ok(())
        });
        let served = served.await;
        // Sessions end when their senders are dropped.
        desk.skip.throw();
        desk.sessions.borrow_mut().clear();
        let _ = tokio::time::timeout(PARTING, async { while seats.join_next().await.is_some() {} }).await;
        served
    });
    served.await.map_err(|error| error.message)
}

/// Speaks the protocol and forwards each message to `ask`.
async fn connected(
    lines: impl agent_client_protocol::ConnectTo<Agent> + 'static,
    ask: UnboundedSender<EditorRequest>,
    work: impl AsyncFnOnce(ConnectionTo<Client>) -> Result<(), Error>,
) -> Result<(), Error> {
    // The protocol crate answers a request whose responder is dropped.
    macro_rules! hand_on {
        ($asked:ident) => {{
            let ask = ask.clone();
            async move |request, responder, _: ConnectionTo<Client>| {
                let _ = ask.send(EditorRequest::$asked(request, responder));
                Ok(())
            }
        }};
    }
    let (introduce, cancel) = (ask.clone(), ask.clone());
    Agent
        .v1()
        .name("codelet")
        .on_receive_request(
            async move |request: InitializeRequest, responder, _: ConnectionTo<Client>| {
                let _ = introduce.send(EditorRequest::Initialize(
                    EditorCapabilities::of(&request.client_capabilities),
                    responder,
                ));
                Ok(())
            },
            on_receive_request!(),
        )
        .on_receive_request(hand_on!(New), on_receive_request!())
        .on_receive_request(hand_on!(Load), on_receive_request!())
        .on_receive_request(hand_on!(List), on_receive_request!())
        .on_receive_request(hand_on!(Close), on_receive_request!())
        .on_receive_request(hand_on!(Prompt), on_receive_request!())
        .on_receive_request(hand_on!(Mode), on_receive_request!())
        .on_receive_request(hand_on!(Choose), on_receive_request!())
        .on_receive_notification(
            async move |notification, _: ConnectionTo<Client>| {
                let _ = cancel.send(EditorRequest::Cancel(notification));
                Ok(())
            },
            on_receive_notification!(),
        )
        .connect_with(lines, work)
        .await
}

struct Desk<H> {
    host: H,
    shows: Cell<EditorCapabilities>,
    sessions: RefCell<HashMap<SessionId, UnboundedSender<Order>>>,
    /// Thrown when sessions that are still starting are no longer needed.
    skip: Interrupt,
    /// The time at which the connection began; keeps session ids distinct from those of other processes.
    begun: u128,
    number: Cell<u64>,
}

impl<H: Host + 'static> Desk<H> {
    async fn work(
        self: &Rc<Self>,
        mut asked: UnboundedReceiver<EditorRequest>,
        connection: &ConnectionTo<Client>,
        seats: &mut JoinSet<()>,
    ) {
        while let Some(asked) = asked.recv().await {
            while seats.try_join_next().is_some() {}
            self.take(asked, connection, seats);
        }
        future::pending().await
    }

    fn take(self: &Rc<Self>, asked: EditorRequest, connection: &ConnectionTo<Client>, seats: &mut JoinSet<()>) {
        match asked {
            EditorRequest::Initialize(shows, responder) => {
                self.shows.set(shows);
                let _ = responder.respond(self.initialized());
            }
            EditorRequest::New(request, responder) => match wanted_of_new(request) {
                Ok(wanted) => {
                    self.number.set(self.number.get() + 1);
                    let id = SessionId::new(format!("codelet-{:x}-{}", self.begun, self.number.get()));
                    self.open(id, wanted, Announce::New(responder), connection, seats);
                }
                Err(error) => drop(responder.respond_with_error(error)),
            },
            EditorRequest::Load(request, responder) => self.load(request, responder, connection, seats),
            EditorRequest::List(request, responder) => {
                let recorded = self.host.recorded(request.cwd.clone());
                seats.spawn_local(async move {
                    let _ = responder.respond(list(&recorded.await));
                });
            }
            EditorRequest::Close(request, responder) => {
                let sender = self.sessions.borrow_mut().remove(&request.session_id);
                hand_on(sender.as_ref(), &request.session_id, responder, Order::Close);
            }
            EditorRequest::Prompt(request, responder) => {
                let id = request.session_id.clone();
                self.hand_on(&id, responder, |responder| Order::Prompt(request, responder));
            }
            EditorRequest::Cancel(notification) => {
                if let Some(sender) = self.sessions.borrow().get(&notification.session_id) {
                    let _ = sender.send(Order::Cancel);
                }
            }
            EditorRequest::Mode(request, responder) => {
                let id = request.session_id.clone();
                self.hand_on(&id, responder, |responder| Order::Mode(request, responder));
            }
            EditorRequest::Choose(request, responder) => {
                let id = request.session_id.clone();
                self.hand_on(&id, responder, |responder| Order::Choose(request, responder));
            }
        }
    }

    /// Describes the agent's capabilities; everything declared here is implemented.
    fn initialized(&self) -> InitializeResponse {
        let sessions = SessionCapabilities::new()
            .list(SessionListCapabilities::new())
            .close(SessionCloseCapabilities::new())
            .additional_directories(SessionAdditionalDirectoriesCapabilities::new())
            .system_prompt(SessionSystemPromptCapabilities::new());
        let capabilities = AgentCapabilities::new()
            .load_session(true)
            .prompt_capabilities(PromptCapabilities::new().image(true).embedded_context(true))
            .mcp_capabilities(McpCapabilities::new().http(true))
            .session_capabilities(sessions);
        InitializeResponse::new(ProtocolVersion::V1)
            .agent_capabilities(capabilities)
            .agent_info(Implementation::new("codelet", self.host.version()).title("Codelet".to_owned()))
    }

    fn hand_on<T: agent_client_protocol::JsonRpcResponse>(
        &self,
        id: &SessionId,
        responder: Responder<T>,
        order: impl FnOnce(Responder<T>) -> Order,
    ) {
        hand_on(self.sessions.borrow().get(id), id, responder, order);
    }

    /// Starts a session concurrently with the others. Its messages are queued until it is ready.
    fn open(
        self: &Rc<Self>,
        id: SessionId,
        wanted: Wanted,
        announce: Announce,
        connection: &ConnectionTo<Client>,
        seats: &mut JoinSet<()>,
    ) {
        let (orders, received) = unbounded_channel();
        self.sessions.borrow_mut().insert(id.clone(), orders);
        let editor = Editor {
            connection: connection.clone(),
            id: id.clone(),
            shows: self.shows.get(),
        };
        let desk = Rc::clone(self);
        seats.spawn_local(async move {
            match desk.begun(wanted, &announce).await {
                Ok(begun) => Seat::live(begun, received, editor, announce).await,
                Err(error) => {
                    desk.sessions.borrow_mut().remove(&id);
                    let _ = match announce {
                        Announce::New(responder) => responder.respond_with_error(error),
                        Announce::Load(responder) => responder.respond_with_error(error),
                    };
                }
            }
        });
    }

    async fn begun(&self, wanted: Wanted, announce: &Announce) -> Result<crate::host::Begun, Error> {
        let cancelled = match announce {
            Announce::New(responder) => responder.cancellation(),
            Announce::Load(responder) => responder.cancellation(),
        };
        let named = wanted.recorded.clone();
        let opened = tokio::select! {
            biased;
            () = cancelled.cancelled() => return Err(Error::request_cancelled()),
            opened = self.host.open(wanted, self.skip.clone()) => opened,
        };
        opened.map_err(|unopened| match unopened {
            Unopened::Unknown(why) => {
                let mut error: Error = schema::Error::resource_not_found(named).into();
                error.message = clean(&why);
                error
            }
            Unopened::Unfit(why) => invalid(clean(&why)),
            Unopened::NoKey(why) => Error::new(ErrorCode::AUTH_REQUIRED, clean(&why)),
            Unopened::Failed(why) => Error::new(ErrorCode::INTERNAL_ERROR, clean(&why)),
        })
    }

    fn load(
        self: &Rc<Self>,
        request: LoadSessionRequest,
        responder: Responder<LoadSessionResponse>,
        connection: &ConnectionTo<Client>,
        seats: &mut JoinSet<()>,
    ) {
        let id = request.session_id.clone();
        let live = self.sessions.borrow().get(&id).cloned();
        // A session that is already open is replayed as it is.
        if live.as_ref().is_some_and(|live| !live.is_closed()) {
            return hand_on(live.as_ref(), &id, responder, Order::Replay);
        }
        let wanted = wanted(
            request.cwd, request.additional_directories, request.mcp_servers, request.system_prompt,
        );
        match wanted {
            Ok(wanted) => {
                let wanted = Wanted {
                    recorded: Some(id.0.to_string()),
                    ..wanted
                };
                self.open(id, wanted, Announce::Load(responder), connection, seats);
            }
            Err(error) => drop(responder.respond_with_error(error)),
        }
    }
}

/// The recorded sessions.
fn list(all: &[Listed]) -> ListSessionsResponse {
    let listed = all.iter().map(|listed| {
        let info = SessionInfo::new(SessionId::new(listed.id.as_str()), listed.directory.clone());
        let title = listed.title.as_deref().map(|title| clean_line(title, TITLE));
        info.title(title).updated_at(listed.updated.clone())
    });
    ListSessionsResponse::new(listed.collect())
}

/// Sends an order to a session; reports an error to the editor if there is none.
fn hand_on<T: agent_client_protocol::JsonRpcResponse>(
    sender: Option<&UnboundedSender<Order>>,
    id: &SessionId,
    responder: Responder<T>,
    order: impl FnOnce(Responder<T>) -> Order,
) {
    match sender.filter(|sender| !sender.is_closed()) {
        Some(sender) => drop(sender.send(order(responder))),
        None => drop(responder.respond_with_error(schema::Error::session_not_found(id.clone()).into())),
    }
}

fn wanted_of_new(request: NewSessionRequest) -> Result<Wanted, Error> {
    wanted(
        request.cwd, request.additional_directories, request.mcp_servers, request.system_prompt,
    )
}

fn wanted(
    directory: PathBuf,
    added: Vec<PathBuf>,
    servers: Vec<McpServer>,
    system: Option<SystemPrompt>,
) -> Result<Wanted, Error> {
    if let Some(relative) = std::iter::once(&directory)
        .chain(&added)
        .find(|folder| !folder.is_absolute())
    {
        return Err(invalid(format!(
            "{}: expected an absolute path",
            clean(&relative.display().to_string())
        )));
    }
    Ok(Wanted {
        directory,
        added,
        servers: servers.into_iter().map(server).collect::<Result<_, _>>()?,
        append_system: system.map(system_text).transpose()?,
        recorded: None,
    })
}

fn server(server: McpServer) -> Result<Server, Error> {
    Ok(match server {
        McpServer::Stdio(program) => Server {
            name: program.name,
            reach: ServerReach::Program {
                command: program.command,
                arguments: program.args,
                environment: program
                    .env
                    .into_iter()
                    .map(|variable| (variable.name, variable.value))
                    .collect(),
            },
        },
        McpServer::Http(http) => Server {
            name: http.name,
            reach: ServerReach::Http {
                url: http.url,
                headers: http
                    .headers
                    .into_iter()
                    .map(|header| (header.name, header.value))
                    .collect(),
            },
        },
        _ => return Err(invalid("MCP servers are reached as programs or over HTTP only")),
    })
}

fn system_text(system: SystemPrompt) -> Result<String, Error> {
    if system.mode != SystemPromptMode::Append {
        return Err(invalid("a system prompt can be appended to, not replaced"));
    }
    let texts = system.content.into_iter().map(|block| match block {
        ContentBlock::Text(text) => Ok(text.text),
        _ => Err(invalid("a system prompt is made of texts")),
    });
    Ok(texts.collect::<Result<Vec<_>, _>>()?.join("\n\n"))
}
