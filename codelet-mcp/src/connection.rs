//! One connection to a server, from its first word to its last.

use crate::changes::{Changed, Changes};
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
use std::time::Duration;

/// Pages of a list; a server may say for ever that there is another.
const PAGES: usize = 200;
/// Entries that are looked at; of these, some are taken.
const LOOKED_AT: usize = 20_000;
/// The most bytes of a list of several pages.
const LISTED: usize = 32 * 1024 * 1024;
/// How long a server that has gone is asked why.
const LAST_WORDS: Duration = Duration::from_millis(200);
/// How long the word that a call is no longer waited for may take on its way.
const FAREWELL: Duration = Duration::from_millis(20);

/// A connection that stands. Dropping it ends the program behind it.
pub(crate) struct Connection {
    server: Server,
    client: RunningService<RoleClient, Ears>,
    program: Option<Program>,
    changes: Arc<Changes>,
    /// It may change its lists and says so only to who subscribes for that, so that it is asked each time.
    is_silent: bool,
    prompts_are_silent: bool,
    told: Tail,
}

/// What is heard of a server beside its answers. A program's notices are heard by its pipe already.
struct Ears {
    config: ClientConfig,
    changes: Arc<Changes>,
}

impl ClientHandler for Ears {
    fn get_info(&self) -> ClientConfig {
        self.config.clone()
    }

    fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) -> impl Future<Output = ()> + Send + '_ {
        self.changes.tools.hear();
        std::future::ready(())
    }

    fn on_prompt_list_changed(&self, _: NotificationContext<RoleClient>) -> impl Future<Output = ()> + Send + '_ {
        self.changes.prompts.hear();
        std::future::ready(())
    }
}

/// What a server says of itself.
pub(crate) struct About {
    /// Its name and version; empty where it gives none.
    pub name: String,
    /// The version of the protocol.
    pub protocol: String,
}

/// What a server lists.
pub(crate) struct List {
    /// The entries, as it writes them.
    pub entries: Vec<Value>,
    /// It says for ever that there is more.
    pub is_endless: bool,
    /// It has resources, too.
    has_resources: bool,
}

#[cfg(test)]
impl List {
    /// A whole list of these entries.
    pub(crate) fn of(entries: Vec<Value>) -> Self {
        List {
            entries,
            is_endless: false,
            has_resources: false,
        }
    }
}

/// A list that servers have.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Tools,
    Prompts,
}

impl Kind {
    /// What it is called, also by the protocol.
    fn name(self) -> &'static str {
        match self {
            Kind::Tools => "tools",
            Kind::Prompts => "prompts",
        }
    }

    /// Asks for a page of it.
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

/// What came of a call.
pub(crate) enum Came {
    /// The server's result.
    Result(Value),
    /// The server says that the call cannot be made.
    Refused(String),
    /// The connection is gone, and with it the answer.
    Lost(String),
    /// It took too long.
    Slow,
    /// The user interrupted.
    Interrupted,
}

impl Connection {
    /// Opens a connection and asks for the tools. What the server prints on standard error goes to `told`.
    pub(crate) async fn open(
        server: &Server,
        options: &Options,
        secrets: &Secrets,
        told: &Tail,
    ) -> Result<(Self, List), Trouble> {
        // The newest form of the protocol has no handshake; a server that knows only that one refuses it.
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
            // A server that has none need not know the question.
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
        let ears = Ears {
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
                    mark: options.mark.as_ref(),
                };
                let (program, ends) = Program::start(&start, told).map_err(|error| {
                    let why = match error.kind() {
                        std::io::ErrorKind::NotFound => "there is no such program".to_owned(),
                        _ => http::cause(&error),
                    };
                    // Arguments that were written behind it may hold a key.
                    let program = command.split(" -").next().unwrap_or_default();
                    Trouble::Unreachable(format!("{} could not be started: {why}", one_line(program, 100)))
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

    /// What the server says of itself.
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

    /// Whether the list of tools may be another than the one that was read last.
    pub(crate) fn may_have_changed(&self) -> bool {
        self.is_silent || self.changes.tools.is_unread()
    }

    /// Whether the list of prompts may be.
    pub(crate) fn prompts_may_have_changed(&self) -> bool {
        self.has_prompts() && (self.prompts_are_silent || self.changes.prompts.is_unread())
    }

    /// Has the lists read again with the next prompt.
    pub(crate) fn distrust_lists(&self) {
        self.changes.tools.hear();
        self.changes.prompts.hear();
    }

    /// Reads the list of tools again, within this time. What the server says of changes meanwhile is heeded later.
    pub(crate) async fn list_again(&self, most: Duration) -> Result<List, Trouble> {
        self.list_within(Kind::Tools, most).await
    }

    /// Reads the list of prompts, within this time; none where the server has none.
    pub(crate) async fn prompts(&self, most: Duration) -> Option<Result<List, Trouble>> {
        match self.has_prompts() {
            true => Some(self.list_within(Kind::Prompts, most).await),
            false => None,
        }
    }

    async fn list_within(&self, kind: Kind, most: Duration) -> Result<List, Trouble> {
        let heard = self.changed(kind).heard();
        let list = tokio::time::timeout(most, self.list(kind)).await;
        // A list that cannot be read is not asked for again until the server says anew that it has changed.
        self.changed(kind).was_read(heard);
        list.unwrap_or(Err(Trouble::Slow(most)))
    }

    fn changed(&self, kind: Kind) -> &Changed {
        match kind {
            Kind::Tools => &self.changes.tools,
            Kind::Prompts => &self.changes.prompts,
        }
    }

    fn version(&self) -> Option<ProtocolVersion> {
        Some(self.client.peer_info()?.protocol_version.clone())
    }

    /// A list of the server's.
    async fn list(&self, kind: Kind) -> Result<List, Trouble> {
        let heard = self.changed(kind).heard();
        let list = self.pages(kind).await;
        self.changed(kind).was_read(heard);
        list
    }

    async fn pages(&self, kind: Kind) -> Result<List, Trouble> {
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
            // Where one entry is no tool, the list as a whole is read as something unknown; the others are good.
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
                // A server that leads in a circle may have sent the same page twice, and that is told once.
                let known: HashSet<String> = all.iter().map(Value::to_string).collect();
                entries.retain(|entry| !known.contains(&entry.to_string()));
            }
            size += entries.iter().map(|entry| entry.to_string().len()).sum::<usize>();
            all.extend(entries);
            if is_known || all.len() >= LOOKED_AT || size > LISTED {
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
    ) -> Came {
        let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(parameters.clone());
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        self.ask(request, timeout, interrupt).await
    }

    /// Reads a resource, or lists the first page of them; what comes is put as the result of a tool would be.
    pub(crate) async fn read(&self, uri: Option<&str>, timeout: Duration, interrupt: &Interrupt) -> Came {
        let request = match uri {
            Some(uri) => {
                let params = ReadResourceRequestParams::new(uri.to_owned());
                ClientRequest::ReadResourceRequest(ReadResourceRequest::new(params))
            }
            None => ClientRequest::ListResourcesRequest(ListResourcesRequest::default()),
        };
        match self.ask(request, timeout, interrupt).await {
            Came::Result(result) => Came::Result(answer::of_resources(result)),
            came => came,
        }
    }

    /// Asks for a prompt by the server's own name for it.
    pub(crate) async fn prompt(
        &self,
        prompt: &str,
        arguments: Map<String, Value>,
        timeout: Duration,
        interrupt: &Interrupt,
    ) -> Came {
        let mut params = GetPromptRequestParams::new(prompt);
        params.arguments = (!arguments.is_empty()).then_some(arguments);
        let request = ClientRequest::GetPromptRequest(GetPromptRequest::new(params));
        self.ask(request, timeout, interrupt).await
    }

    async fn ask(&self, request: ClientRequest, timeout: Duration, interrupt: &Interrupt) -> Came {
        let options = PeerRequestOptions::default();
        let mut asked = match self.client.send_request_with_option(request, options).await {
            Ok(asked) => asked,
            Err(error) => return Came::Lost(self.why_lost(&error)),
        };
        let (came, why) = tokio::select! {
            biased;
            answered = &mut asked.rx => return match answered {
                Ok(Ok(result)) => Came::Result(as_value(result)),
                Ok(Err(ServiceError::McpError(error))) => {
                    Came::Refused(format!("{} ({})", one_line(&error.message, 2000), error.code.0))
                }
                Ok(Err(error)) => self.lost(&error).await,
                Err(_) => self.lost(&ServiceError::TransportClosed).await,
            },
            () = interrupt.thrown() => (Came::Interrupted, "interrupted by the user"),
            () = tokio::time::sleep(timeout) => (Came::Slow, "it took too long"),
        };
        // The server should know that nobody waits, but nobody waits for it to know.
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

    /// It says that it offers something, and that tools are nothing of that.
    fn has_no_tools(&self) -> bool {
        let info = self.client.peer_info();
        info.is_some_and(|info| info.capabilities.tools.is_none()) && (self.has_prompts() || self.has_resources())
    }

    /// Whether nothing more will come.
    pub(crate) fn is_closed(&self) -> bool {
        self.client.is_transport_closed()
    }

    async fn lost(&self, error: &ServiceError) -> Came {
        if let Some(program) = &self.program {
            program.last_words(LAST_WORDS).await;
        }
        Came::Lost(self.why_lost(error))
    }

    /// Why there is no answer, as far as that is known.
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

    /// Ends it in order: the server hears that nothing more will come, and has a moment to go by itself.
    pub(crate) async fn end(&mut self, patience: Duration) {
        let _ = self.client.close_with_timeout(patience).await;
        if let Some(program) = &self.program {
            program.wait(patience).await;
        }
    }
}

/// The definitions in a list. What a tool and its parameters are called goes with every request as it is, so that a tool with a
/// secret in those names is left out.
pub(crate) fn defined(server: &Server, list: List, secrets: &Secrets) -> (Vec<Defined>, Vec<String>) {
    let (telling, entries): (Vec<Value>, Vec<Value>) =
        list.entries.into_iter().partition(|entry| names_tell(entry, secrets));
    let wanted = server.tools.as_deref();
    let (mut defined, mut notices) = define::all(&server.name, entries, wanted);
    if list.has_resources
        && let Some(reader) = define::reader(&server.name, &defined, wanted)
    {
        let at = defined.partition_point(|tool| tool.tool < reader.tool);
        defined.insert(at, reader);
    }
    if !telling.is_empty() {
        notices.push(format!(
            "{} of its tools left out: their names, or those of parameters, hold a key",
            telling.len()
        ));
    }
    if list.is_endless {
        notices.push("its list of tools never ends; the first part of it is used".to_owned());
    }
    (defined, notices)
}

/// Whether the name of a tool, or of anything within its definition, holds a secret.
fn names_tell(entry: &Value, secrets: &Secrets) -> bool {
    fn within(value: &Value, secrets: &Secrets) -> bool {
        match value {
            Value::Object(fields) => fields
                .iter()
                .any(|(name, value)| secrets.are_in(name) || within(value, secrets)),
            Value::Array(values) => values.iter().any(|value| within(value, secrets)),
            _ => false,
        }
    }
    entry
        .get("name")
        .and_then(Value::as_str)
        .is_some_and(|name| secrets.are_in(name))
        || within(entry, secrets)
}

/// A result as the server wrote it, near enough: what the library knows of it is written as it was read.
fn as_value(result: ServerResult) -> Value {
    match result {
        ServerResult::CustomResult(result) => result.0,
        result => serde_json::to_value(result).unwrap_or(Value::Null),
    }
}

/// Why a server could not be greeted.
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_tool_that_tells_a_key_by_a_name_is_one_that_is_left_out() {
        let secrets = Secrets::new(["key-123456789"]);
        for (entry, tells) in [
            (json!({"name": "key-123456789"}), true),
            (
                json!({"name": "a", "inputSchema": {"properties": {"p_key-123456789": {"type": "string"}}}}),
                true,
            ),
            (json!({"name": "a", "description": "key-123456789"}), false),
        ] {
            assert_eq!(names_tell(&entry, &secrets), tells, "{entry}");
        }
    }
}
