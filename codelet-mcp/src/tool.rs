//! A server's tool as the loop calls it.

use crate::answer;
use crate::connection::CallOutcome;
use crate::define::Defined;
use crate::remote::Remote;
use crate::text::one_line;
use codelet_agent::model::ToolSpec;
use codelet_agent::tool::{Call, Need, Output, Tool};
use codelet_context::message::Parameters;
use futures_util::future::BoxFuture;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use std::sync::Arc;

/// Longest description of a call, in characters.
const DESCRIPTION: usize = 200;

/// A tool of a server.
pub(crate) struct RemoteTool {
    defined: Defined,
    /// The beginning of the hash of the server's definition.
    definition: String,
    remote: Arc<Remote>,
}

impl RemoteTool {
    pub(crate) fn new(mut defined: Defined, remote: Arc<Remote>) -> Self {
        let hidden = remote.secrets.hide(defined.spec.description.to_string());
        defined.spec.description = Arc::from(hidden);
        hide_in(&mut defined.spec.parameters, &remote);
        RemoteTool {
            definition: definition(&defined),
            defined,
            remote,
        }
    }

    async fn answer(&self, call: Call<'_>) -> Output {
        let server = &self.remote.server.name;
        let parameters = self.defined.own_names(call.parameters.as_map());
        let came = self.remote.call(&self.defined, &parameters, &call.interrupt).await;
        match came {
            CallOutcome::Result(result) => answer::read(result, self.remote.options.sees_images),
            CallOutcome::Refused(why) => Output::failure(format!("The server {server} answers with an error: {why}")),
            CallOutcome::Slow => {
                let seconds = self.remote.server.timeout.as_secs_f32();
                Output::failure(format!(
                    "The server {server} did not answer within {seconds} s, and the call was cancelled. \
                     What the call did is not known."
                ))
            }
            CallOutcome::Interrupted => Output::failure("interrupted by the user"),
            CallOutcome::Lost(why) => {
                let then = if self.remote.server_is_program() && self.remote.may_return().await {
                    "The next call restarts it. This call may have had effects."
                } else {
                    "Do without its tools unless the next call shows that it is back."
                };
                Output::failure(format!("The server {server} gave no answer: {why}. {then}"))
            }
        }
    }
}

/// Identifies a tool's definition across sessions: 16 hex digits of the SHA-256 of everything that the model sees of
/// it.
fn definition(defined: &Defined) -> String {
    let spec = &defined.spec;
    let parts = [&*defined.tool, &*spec.description, &spec.parameters.to_string()];
    // Each part is preceded by its length, so that parts cannot run into one another.
    let hash = parts.iter().fold(Sha256::new(), |hash, part| {
        hash.chain_update(part.len().to_le_bytes()).chain_update(part)
    });
    hash.finalize()[..8].iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Removes secrets from every text of a schema, except the names of parameters, which calls need.
fn hide_in(schema: &mut Value, remote: &Remote) {
    match schema {
        Value::String(text) => *text = remote.secrets.hide(std::mem::take(text)),
        Value::Array(values) => values.iter_mut().for_each(|value| hide_in(value, remote)),
        Value::Object(fields) => fields.values_mut().for_each(|value| hide_in(value, remote)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

impl Tool for RemoteTool {
    fn spec(&self) -> &ToolSpec {
        &self.defined.spec
    }

    /// Never: a server's claim is no guarantee.
    fn needs(&self, parameters: &Parameters) -> Result<Vec<Need>, String> {
        Ok(vec![Need::Call {
            server: self.remote.server.name.clone(),
            tool: self.defined.spec.name.to_string(),
            definition: self.definition.clone(),
            is_changed: false,
            parameters: self.remote.secrets.hide(parameters.json().as_str().to_owned()),
        }])
    }

    fn describe(&self, parameters: &Parameters) -> String {
        let parameters = parameters.json();
        // Only the beginning of a long one is shown, so the rest is not copied.
        let head = &parameters.as_str()[..parameters.as_str().floor_char_boundary(DESCRIPTION * 16)];
        let shown = self.remote.secrets.hide(head.to_owned());
        let (server, tool) = (&self.remote.server.name, &self.defined.tool);
        // A name that was changed for the provider does not tell the server's own.
        match *self.defined.spec.name == format!("{server}__{tool}") {
            true => one_line(&shown, DESCRIPTION),
            false => one_line(&format!("{server}: {} {shown}", one_line(tool, 60)), DESCRIPTION),
        }
    }

    fn call<'a>(&'a self, call: Call<'a>) -> BoxFuture<'a, Output> {
        Box::pin(async move {
            let mut output = self.answer(call).await;
            let hidden = self.remote.secrets.hide(output.text.as_str().to_owned());
            if hidden != output.text.as_str() {
                output.text = hidden.into();
            }
            output
        })
    }
}
