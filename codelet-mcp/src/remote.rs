//! A server during a session: the connection that stands, and the one time that it is opened again.

use crate::connection::{Came, Connection, List};
use crate::define::Defined;
use crate::text::{Secrets, Tail};
use crate::{Options, Reach, Server, Trouble};
use codelet_agent::interrupt::Interrupt;
use serde_json::{Map, Value};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Mutex;

/// A server that was there when the session began.
pub(crate) struct Remote {
    pub server: Server,
    pub options: Arc<Options>,
    pub secrets: Secrets,
    state: Mutex<State>,
}

struct State {
    connection: Option<Arc<Connection>>,
    /// Why it is gone for good; empty while it may be started again.
    gone: Option<String>,
    was_restarted: bool,
}

impl Remote {
    pub(crate) fn new(server: Server, options: Arc<Options>, secrets: Secrets, connection: Connection) -> Self {
        Remote {
            server,
            options,
            secrets,
            state: Mutex::new(State {
                connection: Some(Arc::new(connection)),
                gone: None,
                was_restarted: false,
            }),
        }
    }

    /// Calls a tool by the server's own name for it, or reads its resources; the server is started again for that, once.
    pub(crate) async fn call(&self, tool: &Defined, parameters: &Map<String, Value>, interrupt: &Interrupt) -> Came {
        let connection = tokio::select! {
            biased;
            () = interrupt.thrown() => return Came::Interrupted,
            connection = self.connection() => connection,
        };
        match connection {
            Ok(connection) if tool.is_reader => {
                let uri = parameters.get("uri").and_then(Value::as_str);
                connection.read(uri, self.server.timeout, interrupt).await
            }
            Ok(connection) => {
                connection
                    .call(&tool.tool, parameters, self.server.timeout, interrupt)
                    .await
            }
            Err(why) => Came::Lost(why),
        }
    }

    /// Asks for a prompt by the server's own name for it; the server is started again for that, once.
    pub(crate) async fn prompt(&self, prompt: &str, arguments: Map<String, Value>, interrupt: &Interrupt) -> Came {
        let connection = tokio::select! {
            biased;
            () = interrupt.thrown() => return Came::Interrupted,
            connection = self.connection() => connection,
        };
        match connection {
            Ok(connection) => {
                connection
                    .prompt(prompt, arguments, self.server.timeout, interrupt)
                    .await
            }
            Err(why) => Came::Lost(why),
        }
    }

    /// A notice for the user, without secrets.
    pub(crate) fn tell(&self, what: &str) -> String {
        self.secrets.hide(format!("MCP server {}: {what}", self.server.name))
    }

    /// Reads the list of tools again if it may have changed, within the time that the server has to be ready. One that is
    /// gone is not started for that.
    pub(crate) async fn list_again(&self) -> Option<Result<List, String>> {
        let connection = self.standing().await?;
        let connection = Some(connection).filter(|connection| connection.may_have_changed())?;
        let list = connection.list_again(self.server.start).await;
        Some(list.map_err(|trouble| trouble.to_string()))
    }

    /// Reads the list of prompts again, as that of the tools.
    pub(crate) async fn prompts_again(&self) -> Option<Result<List, String>> {
        let connection = self.standing().await?;
        let connection = Some(connection).filter(|connection| connection.prompts_may_have_changed())?;
        let list = connection.prompts(self.server.start).await?;
        Some(list.map_err(|trouble| trouble.to_string()))
    }

    async fn standing(&self) -> Option<Arc<Connection>> {
        let connection = self.state.lock().await.connection.clone();
        connection.filter(|connection| !connection.is_closed())
    }

    /// Whether the server is a program, which this process starts.
    pub(crate) fn server_is_program(&self) -> bool {
        matches!(self.server.reach, Reach::Program { .. })
    }

    /// Whether the next call starts the server again.
    pub(crate) async fn may_return(&self) -> bool {
        let state = self.state.lock().await;
        state.gone.is_none() && !state.was_restarted
    }

    /// The connection that stands, or a new one in place of the first that is gone.
    async fn connection(&self) -> Result<Arc<Connection>, String> {
        let mut state = self.state.lock().await;
        if let Some(why) = &state.gone {
            return Err(why.clone());
        }
        if let Some(connection) = state.connection.as_ref().filter(|connection| !connection.is_closed()) {
            return Ok(connection.clone());
        }
        if state.was_restarted {
            let why = "it was already restarted once".to_owned();
            state.gone = Some(why.clone());
            state.connection = None;
            return Err(why);
        }
        // What is left of the old one goes first: it may hold what the new one needs.
        state.connection = None;
        let told = Tail::default();
        let opened = open(&self.server, &self.options, &self.secrets, &told).await;
        state.was_restarted = true;
        match opened {
            Ok((connection, _)) => {
                // It may offer others than the one before it.
                connection.distrust_lists();
                let connection = Arc::new(connection);
                state.connection = Some(connection.clone());
                Ok(connection)
            }
            Err(error) => {
                let why = format!("restarting it failed: {}", in_words(&error, &told));
                state.gone = Some(why.clone());
                Err(why)
            }
        }
    }

    /// Ends it in order, within so long.
    pub(crate) async fn end(&self, patience: Duration) {
        let mut state = self.state.lock().await;
        state.gone = Some("the session is over".to_owned());
        if let Some(mut connection) = state.connection.take().and_then(Arc::into_inner) {
            connection.end(patience).await;
        }
    }
}

/// Opens a connection within the time that the server has for it.
pub(crate) async fn open(
    server: &Server,
    options: &Options,
    secrets: &Secrets,
    told: &Tail,
) -> Result<(Connection, List), Trouble> {
    tokio::time::timeout(server.start, Connection::open(server, options, secrets, told))
        .await
        .unwrap_or(Err(Trouble::Slow(server.start)))
}

/// What went wrong, with the last words of the server.
pub(crate) fn in_words(trouble: &Trouble, told: &Tail) -> String {
    match told.words() {
        words if words.is_empty() => trouble.to_string(),
        words => format!("{trouble} ({words})"),
    }
}
