//! A connection to a server, from start to end.

use crate::changes::Changes;
use crate::define::{self, Defined};
use crate::pipe::Pipe;
use crate::program::{Program, Start};
use crate::text::{Secrets, Tail, one_line};
use crate::{Options, Reach, Server, Trouble, answer, http};
use codelet_agent::interrupt::Interrupt;
use rmcp::ClientHandler;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientCapabilities, ClientConfig, ClientRequest, GetPromptRequest,
    GetPromptRequestParams, Implementation, ListPromptsRequest, ListResourcesRequest, ListToolsRequest,
    PaginatedRequestParams, ProtocolVersion, ReadResourceRequest, ReadResourceRequestParams, ServerResult,
};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, NotificationContext, PeerRequestOptions, RoleClient, RunningService,
    ServiceError, serve_client_with_lifecycle,
};
use serde_json::{Map, Value};
use std::collections::HashSet;
use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Pages of a list at most; a server may announce further pages forever.
const PAGES: usize = 200;
/// Total size of a list's pages, in bytes.
const LISTED: usize = 32 * 1024 * 1024;
/// Time to wait for the error output of a server that has exited.
const LAST_WORDS: Duration = Duration::from_millis(200);
/// Time to send the notification that a call is cancelled.
const FAREWELL: Duration = Duration::from_millis(20);

/// An open connection. Dropping it ends the server's program.
pub(crate) struct Connection {
    server: Server,
    client: RunningService<RoleClient, NotificationHandler>,
    program: Option<Program>,
    changes: Arc<Changes>,
    /// True if the server may change its lists but notifies only subscribers, so that the list is read again each time.
    is_silent: bool,
    prompts_are_silent: bool,
    told: Tail,
}

/// Handles a server's notifications. Those of a program are already handled by its pipe.
struct NotificationHandler {
    config: ClientConfig,
    changes: Arc<Changes>,
}

impl ClientHandler for NotificationHandler {
    fn get_info(&self) -> ClientConfig {
        self.config.clone()
    }

    fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) -> impl Future<Output = ()> + Send + '_ {
        self.changes.tools.store(true, Ordering::Relaxed);
        std::future::ready(())
    }

    fn on_prompt_list_changed(&self, _: NotificationContext<RoleClient>) -> impl Future<Output = ()> + Send + '_ {
        self.changes.prompts.store(true, Ordering::Relaxed);
        std::future::ready(())
    }
}

/// The server's description of itself.
pub(crate) struct About {
    /// Its name and version; empty if it gives none.
    pub name: String,
    /// The version of the protocol.
    pub protocol: String,
}

/// A list of a server.
pub(crate) struct List {
    /// The entries as the server writes them.
    pub entries: Vec<Value>,
    /// True if it announces further pages without end.
    pub is_endless: bool,
    /// True if the server has resources, too.
    has_resources: bool,
}

#[cfg(test)]
impl List {
    /// A complete list of these entries.
    pub(crate) fn of(entries: Vec<Value>) -> Self {
        List {
            entries,
            is_endless: false,
            has_resources: false,
        }
    }
}

/// A kind of list.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Tools, for the model.
    Tools,
    /// Prompts, for the user.
    Prompts,
}

impl Kind {
    /// Its name, also in the protocol.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::Tools => "tools",
            Kind::Prompts => "prompts",
        }
    }

    /// A request for a page of it.
    fn request(self, cursor: Option<String>) -> ClientRequest {
        let mut page = PaginatedRequestParams::default();
        page.cursor = cursor;
        let params = Some(page);
        match self {
            Kind::Tools => ClientRequest::ListToolsRequest(ListToolsRequest {
                params,
                ..ListToolsRequest::default()
            }),
            Kind::Prompts => ClientRequest::ListPromptsRequest(ListPromptsRequest {
                params,
                ..ListPromptsRequest::default()
            }),
        }
    }
}

/// The outcome of a call.
pub(crate) enum CallOutcome {
    /// The server's result.
    Result(Value),
    /// The server refuses the call.
    Refused(String),
    /// The connection is lost, and with it the result.
    Lost(String),
    /// The call timed out.
    Slow,
    /// The user interrupted.
    Interrupted,
}

impl Connection {
    /// Opens a connection and lists the tools. The server's stderr goes to `told`.
    pub(crate) async fn open(
        server: &Server,
        options: &Options,
        secrets: &Secrets,
        told: &Tail,
    ) -> Result<(Self, List), Trouble> {
        // The newest version of the protocol has no handshake; a server that supports only that version refuses it.
        let newest = ClientLifecycleMode::Discover {
            preferred_versions: vec![ProtocolVersion::LATEST],
        };
        let (connection, first) =
            match Self::greet(server, options, secrets, told, ClientLifecycleMode::Initialize).await {
                Err(Trouble::Refused(why)) => match Self::greet(server, options, secrets, told, newest).await {
                    Ok(mut connection) => {
                        let own = connection.client.peer_info().map(|info| info.capabilities.clone());
                        let own = own.unwrap_or_default();
                        connection.is_silent = own.tools.is_some_and(|tools| tools.list_changed == Some(true));
                        connection.prompts_are_silent =
                            own.prompts.is_some_and(|prompts| prompts.list_changed == Some(true));
                        (connection, None)
                    }
                    Err(_) => return Err(Trouble::Refused(why)),
                },
                greeted => {
                    let connection = greeted?;
                    let version = connection.version();
                    (connection, version)
                }
            };
        if let Some(version) = first.filter(|version| !ProtocolVersion::KNOWN_VERSIONS.contains(version)) {
            let version = one_line(version.as_str(), 40);
            return Err(Trouble::Foreign(format!(
                "it speaks the version {version} of the protocol"
            )));
        }
        let tools = match connection.list(Kind::Tools).await {
            // A server without tools need not support the request.
            Err(Trouble::Refused(_)) if connection.has_no_tools() => connection.as_list(Vec::new(), false),
            listed => listed?,
        };
        Ok((connection, tools))
    }

    async fn greet(
        server: &Server,
        options: &Options,
        secrets: &Secrets,
        told: &Tail,
        mode: ClientLifecycleMode,
    ) -> Result<Self, Trouble> {
        let own = Implementation::new("codelet", env!("CARGO_PKG_VERSION"));
        let changes = Arc::new(Changes::default());
        let ears = NotificationHandler {
            config: ClientConfig::new(ClientCapabilities::default(), own),
            changes: changes.clone(),
        };
        let (client, program) = match &server.reach {
            Reach::Program {
                command,
                arguments,
                environment,
                directory,
            } => {
                let start = Start {
                    command,
                    arguments,
                    environment,
                    directory,
                };
                let (program, ends) = Program::start(&start, told).map_err(|error| {
                    let why = match error.kind() {
                        std::io::ErrorKind::NotFound => "no such program".to_owned(),
                        _ => http::cause(&error),
                    };
                    // Arguments in the command may contain a key.
                    let program = command.split(" -").next().unwrap_or_default();
                    Trouble::Unreachable(format!("could not start {}: {why}", one_line(program, 100)))
                })?;
                let pipe = Pipe::new(ends, changes.clone(), told.clone());
                match serve_client_with_lifecycle(ears, pipe, mode).await {
                    Ok(client) => (client, Some(program)),
                    Err(error) => {
                        program.last_words(LAST_WORDS).await;
                        return Err(trouble(server, &error, program.ended()));
                    }
                }
            }
            Reach::Http { .. } => {
                let http = http::open(server, options, secrets).await?;
                let client = serve_client_with_lifecycle(ears, http, mode).await;
                (client.map_err(|error| trouble(server, &error, None))?, None)
            }
        };
        let told = told.clone();
        Ok(Connection {
            server: server.clone(),
            client,
            program,
            changes,
            is_silent: false,
            prompts_are_silent: false,
            told,
        })
    }

    /// The server's description of itself.
    pub(crate) fn about(&self) -> About {
        let Some(info) = self.client.peer_info() else {
            return About {
                name: String::new(),
                protocol: String::new(),
            };
        };
        let name = info
            .server_info
            .as_ref()
            .map(|own| format!("{} {}", own.name, own.version));
        About {
            name: one_line(&name.unwrap_or_default(), 80),
            protocol: one_line(info.protocol_version.as_str(), 40),
        }
    }

    /// Returns whether a list may differ from the one last read.
    pub(crate) fn may_have_changed(&self, kind: Kind) -> bool {
        let is_changed = self.changed(kind).load(Ordering::Relaxed);
        match kind {
            Kind::Tools => self.is_silent || is_changed,
            Kind::Prompts => self.has_prompts() && (self.prompts_are_silent || is_changed),
        }
    }

    /// Makes the next prompt read the lists again.
    pub(crate) fn distrust_lists(&self) {
        self.changes.tools.store(true, Ordering::Relaxed);
        self.changes.prompts.store(true, Ordering::Relaxed);
    }

    /// Reads the list of prompts, within this time; `None` if the server has none.
    pub(crate) async fn prompts(&self, most: Duration) -> Option<Result<List, Trouble>> {
        match self.has_prompts() {
            true => Some(self.list_within(Kind::Prompts, most).await),
            false => None,
        }
    }

    /// Reads a list within this time.
    pub(crate) async fn list_within(&self, kind: Kind, most: Duration) -> Result<List, Trouble> {
        let list = tokio::time::timeout(most, self.list(kind)).await;
        list.unwrap_or(Err(Trouble::Slow(most)))
    }

    fn changed(&self, kind: Kind) -> &AtomicBool {
        match kind {
            Kind::Tools => &self.changes.tools,
            Kind::Prompts => &self.changes.prompts,
        }
    }

    fn version(&self) -> Option<ProtocolVersion> {
        Some(self.client.peer_info()?.protocol_version.clone())
    }

    /// Reads a list of the server.
    async fn list(&self, kind: Kind) -> Result<List, Trouble> {
        // A change that is announced meanwhile leads to another read later. A list that cannot be read is not requested
        // again until the server announces another change.
        self.changed(kind).store(false, Ordering::Relaxed);
        let invalid = || Trouble::Foreign(format!("its list of {} is invalid", kind.name()));
        let mut all = Vec::new();
        let mut cursor: Option<String> = None;
        let mut asked_for = HashSet::new();
        let mut size = 0;
        for _ in 0..PAGES {
            let asked = self.client.send_request(kind.request(cursor.take())).await;
            let answered = asked.map_err(|error| match error {
                ServiceError::McpError(error) => Trouble::Refused(one_line(&error.message, 200)),
                error => Trouble::Unreachable(self.why_lost(&error)),
            })?;
            // A single invalid entry makes the library return the whole list as an unknown result; the other entries
            // are good.
            let Value::Object(mut answered) = as_value(answered) else {
                return Err(invalid());
            };
            let Some(Value::Array(mut entries)) = answered.remove(kind.name()) else {
                return Err(invalid());
            };
            let next = match answered.remove("nextCursor") {
                Some(Value::String(next)) if !next.is_empty() => next,
                _ => {
                    all.extend(entries);
                    return Ok(self.as_list(all, false));
                }
            };
            let is_known = !asked_for.insert(next.clone());
            if is_known {
                // A server whose pages form a loop may have sent a page twice; it is counted once.
                let known: HashSet<String> = all.iter().map(Value::to_string).collect();
                entries.retain(|entry| !known.contains(&entry.to_string()));
            }
            size += entries.iter().map(|entry| entry.to_string().len()).sum::<usize>();
            all.extend(entries);
            if is_known || size > LISTED {
                break;
            }
            cursor = Some(next);
        }
        Ok(self.as_list(all, true))
    }

    fn as_list(&self, entries: Vec<Value>, is_endless: bool) -> List {
        List {
            entries,
            is_endless,
            has_resources: self.has_resources(),
        }
    }

    /// Calls a tool by the server's own name for it.
    pub(crate) async fn call(
        &self,
        tool: &str,
        parameters: &Map<String, Value>,
        timeout: Duration,
        interrupt: &Interrupt,
    ) -> CallOutcome {
        let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(parameters.clone());
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        self.ask(request, timeout, interrupt).await
    }

    /// Reads a resource, or lists the first page of them; the result has the form of a tool's result.
    pub(crate) async fn read(&self, uri: Option<&str>, timeout: Duration, interrupt: &Interrupt) -> CallOutcome {
        let request = match uri {
            Some(uri) => {
                let params = ReadResourceRequestParams::new(uri.to_owned());
                ClientRequest::ReadResourceRequest(ReadResourceRequest::new(params))
            }
            None => ClientRequest::ListResourcesRequest(ListResourcesRequest::default()),
        };
        match self.ask(request, timeout, interrupt).await {
            CallOutcome::Result(result) => CallOutcome::Result(answer::of_resources(result)),
            came => came,
        }
    }

    /// Requests a prompt by the server's own name for it.
    pub(crate) async fn prompt(
        &self,
        prompt: &str,
        arguments: Map<String, Value>,
        timeout: Duration,
        interrupt: &Interrupt,
    ) -> CallOutcome {
        let mut params = GetPromptRequestParams::new(prompt);
        params.arguments = (!arguments.is_empty()).then_some(arguments);
        let request = ClientRequest::GetPromptRequest(GetPromptRequest::new(params));
        self.ask(request, timeout, interrupt).await
    }

    async fn ask(&self, request: ClientRequest, timeout: Duration, interrupt: &Interrupt) -> CallOutcome {
        let options = PeerRequestOptions::default();
        let mut asked = match self.client.send_request_with_option(request, options).await {
            Ok(asked) => asked,
            Err(error) => return CallOutcome::Lost(self.why_lost(&error)),
        };
        let (came, why) = tokio::select! {
            biased;
            answered = &mut asked.rx => return match answered {
                Ok(Ok(result)) => CallOutcome::Result(as_value(result)),
                Ok(Err(ServiceError::McpError(error))) => {
                    CallOutcome::Refused(format!("{} ({})", one_line(&error.message, 2000), error.code.0))
                }
                Ok(Err(error)) => self.lost(&error).await,
                Err(_) => self.lost(&ServiceError::TransportClosed).await,
            },
            () = interrupt.thrown() => (CallOutcome::Interrupted, "interrupted by the user"),
            () = tokio::time::sleep(timeout) => (CallOutcome::Slow, "it took too long"),
        };
        // Tells the server that the call is cancelled, without waiting long for it.
        let _ = tokio::time::timeout(FAREWELL, asked.cancel(Some(why.to_owned()))).await;
        came
    }

    fn has_resources(&self) -> bool {
        let info = self.client.peer_info();
        info.is_some_and(|info| info.capabilities.resources.is_some())
    }

    fn has_prompts(&self) -> bool {
        let info = self.client.peer_info();
        info.is_some_and(|info| info.capabilities.prompts.is_some())
    }

    /// Returns whether the server announces capabilities, but no tools.
    fn has_no_tools(&self) -> bool {
        let info = self.client.peer_info();
        info.is_some_and(|info| info.capabilities.tools.is_none()) && (self.has_prompts() || self.has_resources())
    }

    /// Returns whether the connection is closed.
    pub(crate) fn is_closed(&self) -> bool {
        self.client.is_transport_closed()
    }

    async fn lost(&self, error: &ServiceError) -> CallOutcome {
        if let Some(program) = &self.program {
            program.last_words(LAST_WORDS).await;
        }
        CallOutcome::Lost(self.why_lost(error))
    }

    /// The reason why there is no result, as far as it is known.
    pub(crate) fn why_lost(&self, error: &ServiceError) -> String {
        let ended = self.program.as_ref().map(Program::ended);
        let mut why = match (ended, error) {
            (Some(Some(ended)), _) => ended,
            (Some(None), _) => "it has closed the connection".to_owned(),
            (None, ServiceError::TransportSend(error)) => http::trouble_of(&self.server, &*error.error),
            (None, _) => "the connection was closed".to_owned(),
        };
        let told = self.told.words();
        if !told.is_empty() {
            why.push_str(&format!(" ({told})"));
        }
        why
    }

    /// Shuts the connection down: closes the server's input and gives it a moment to exit.
    pub(crate) async fn end(&mut self, patience: Duration) {
        let _ = self.client.close_with_timeout(patience).await;
        if let Some(program) = &self.program {
            program.wait(patience).await;
        }
    }
}

/// The definitions in a list, with notices for the user.
pub(crate) fn defined(server: &Server, list: List) -> (Vec<Defined>, Vec<String>) {
    let wanted = server.tools.as_deref();
    let (mut defined, mut notices) = define::all(&server.name, list.entries, wanted);
    if list.has_resources
        && let Some(reader) = define::reader(&server.name, &defined, wanted)
    {
        let at = defined.partition_point(|tool| tool.tool < reader.tool);
        defined.insert(at, reader);
    }
    if list.is_endless {
        notices.push("its list of tools does not end; only the first part is used".to_owned());
    }
    (defined, notices)
}

/// A result almost as the server wrote it: parts that the library parses are serialised again.
fn as_value(result: ServerResult) -> Value {
    match result {
        ServerResult::CustomResult(result) => result.0,
        result => serde_json::to_value(result).unwrap_or(Value::Null),
    }
}

/// The reason why the handshake with a server failed.
fn trouble(server: &Server, error: &ClientInitializeError, ended: Option<String>) -> Trouble {
    match (error, ended) {
        (ClientInitializeError::JsonRpcError(error), _) => Trouble::Refused(one_line(&error.message, 200)),
        (ClientInitializeError::TransportError { .. } | ClientInitializeError::ConnectionClosed(_), Some(ended)) => {
            Trouble::Unreachable(ended)
        }
        (ClientInitializeError::TransportError { error, .. }, None) => {
            let error: &(dyn Error + 'static) = &*error.error;
            Trouble::Unreachable(http::trouble_of(server, error))
        }
        (ClientInitializeError::ConnectionClosed(_), None) => {
            Trouble::Unreachable("it has closed the connection".to_owned())
        }
        (ClientInitializeError::NoCompatibleProtocolVersion { server_supported, .. }, _) => {
            let versions: Vec<&str> = server_supported.iter().map(ProtocolVersion::as_str).take(5).collect();
            Trouble::Foreign(format!(
                "it speaks the versions {} of the protocol",
                one_line(&versions.join(", "), 200)
            ))
        }
        _ => Trouble::Foreign("its first answer is invalid".to_owned()),
    }
}
