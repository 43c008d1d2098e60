//! A server during a session: its current connection, and its single restart.

use crate::connection::{CallOutcome, Connection, Kind, List};
use crate::define::Defined;
use crate::text::{Secrets, Tail};
use crate::{Options, Reach, Server, Trouble};
use codelet_agent::interrupt::Interrupt;
use serde_json::{Map, Value};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Mutex;

/// A server that was connected when the session started.
pub(crate) struct Remote {
    pub server: Server,
    pub options: Arc<Options>,
    pub secrets: Secrets,
    state: Mutex<State>,
}

struct State {
    connection: Option<Arc<Connection>>,
    /// The reason why it is gone for good; `None` while it may be restarted.
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

    /// Calls a tool by the server's own name for it, or reads its resources; restarts the server if needed, once.
    pub(crate) async fn call(
        &self,
        tool: &Defined,
        parameters: &Map<String, Value>,
        interrupt: &Interrupt,
    ) -> CallOutcome {
        let connection = match self.reached(interrupt).await {
            Ok(connection) => connection,
            Err(came) => return came,
        };
        let timeout = self.server.timeout;
        if tool.is_reader {
            let uri = parameters.get("uri").and_then(Value::as_str);
            return connection.read(uri, timeout, interrupt).await;
        }
        connection.call(&tool.tool, parameters, timeout, interrupt).await
    }

    /// Requests a prompt by the server's own name for it; restarts the server if needed, once.
    pub(crate) async fn prompt(
        &self,
        prompt: &str,
        arguments: Map<String, Value>,
        interrupt: &Interrupt,
    ) -> CallOutcome {
        match self.reached(interrupt).await {
            Ok(connection) => {
                connection
                    .prompt(prompt, arguments, self.server.timeout, interrupt)
                    .await
            }
            Err(came) => came,
        }
    }

    /// The current connection, or a new one, unless the user interrupts.
    async fn reached(&self, interrupt: &Interrupt) -> Result<Arc<Connection>, CallOutcome> {
        tokio::select! {
            biased;
            () = interrupt.thrown() => Err(CallOutcome::Interrupted),
            connection = self.connection() => connection.map_err(CallOutcome::Lost),
        }
    }

    /// A notice for the user, without secrets.
    pub(crate) fn tell(&self, what: &str) -> String {
        self.secrets.hide(format!("MCP server {}: {what}", self.server.name))
    }

    /// Reads a list again if it may have changed, within the server's start timeout. Does not restart a server that is
    /// gone.
    pub(crate) async fn list_again(&self, kind: Kind) -> Option<Result<List, String>> {
        let connection = self.state.lock().await.connection.clone()?;
        if connection.is_closed() || !connection.may_have_changed(kind) {
            return None;
        }
        let list = connection.list_within(kind, self.server.start).await;
        Some(list.map_err(|trouble| trouble.to_string()))
    }

    /// Returns whether the server is a program that this process starts.
    pub(crate) fn server_is_program(&self) -> bool {
        matches!(self.server.reach, Reach::Program { .. })
    }

    /// Returns whether the next call would restart the server.
    pub(crate) async fn may_return(&self) -> bool {
        let state = self.state.lock().await;
        state.gone.is_none() && !state.was_restarted
    }

    /// The current connection, or a new one if the first is closed.
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
        // The old one is dropped first: it may hold resources that the new one needs.
        state.connection = None;
        let told = Tail::default();
        let opened = open(&self.server, &self.options, &self.secrets, &told).await;
        state.was_restarted = true;
        match opened {
            Ok((connection, _)) => {
                // Its lists may differ from those of the old one.
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

    /// Shuts the server down within this time.
    pub(crate) async fn end(&self, patience: Duration) {
        let mut state = self.state.lock().await;
        state.gone = Some("the session is over".to_owned());
        if let Some(mut connection) = state.connection.take().and_then(Arc::into_inner) {
            connection.end(patience).await;
        }
    }
}

/// Opens a connection within the server's start timeout.
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

/// Describes an error, with the server's last output.
pub(crate) fn in_words(trouble: &Trouble, told: &Tail) -> String {
    match told.words() {
        words if words.is_empty() => trouble.to_string(),
        words => format!("{trouble} ({words})"),
    }
}
