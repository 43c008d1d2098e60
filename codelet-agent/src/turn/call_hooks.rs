//! Hooks around a call: before it, when the user is asked about it, and after it.

use crate::interrupt::Interrupt;
use crate::model::ToolSpec;
use crate::permission::need::Need;
use crate::permission::{Asked, Verdict};
use crate::session::Session;
use crate::tool::Output;
use crate::tool::hooks::{Objection, Occasion, Said};
use crate::turn::session_hooks;
use codelet_context::body::Body;
use codelet_context::message::{Parameters, ToolCall};
use codelet_context::refusal;
use futures_util::FutureExt as _;
use serde_json::Value;

/// Precedes an output that begins like our own answer to a denied call.
const PRINTED: &str = "The tool failed and printed:\n";
pub(crate) const PRE: &str = "PreToolUse";
const POST: &str = "PostToolUse";
/// The usual name of a tool's file parameter; `OTHER_FILE`: the name that some models use.
const FILE: &str = "file_path";
const OTHER_FILE: &str = "path";

/// Returns a call's parameters for hooks: the file has its full path, however the model wrote it, since hooks decide by
/// it.
pub(crate) fn as_taken(tool: &ToolSpec, call: &ToolCall, needs: &[Need]) -> Parameters {
    let path = needs.iter().find_map(|need| match need {
        Need::Change { path, .. } | Need::Read { path, .. } => Some(path),
        _ => None,
    });
    let properties = &tool.parameters["properties"];
    match path.filter(|_| !properties[FILE].is_null()) {
        None => call.parameters.clone(),
        Some(path) => {
            let mut map = call.parameters.as_map().clone();
            map.retain(|name, _| name != OTHER_FILE || !properties[OTHER_FILE].is_null());
            map.insert(FILE.to_owned(), Value::from(path.to_string_lossy()));
            Parameters::new(map)
        }
    }
}

/// Returns the answer of hooks to an event of a call; an empty one without hooks.
pub(crate) async fn told(session: &Session, occasion: Occasion<'_>, interrupt: &Interrupt) -> Said {
    match &session.hooks {
        Some(hooks) => hooks.tell(occasion, interrupt).await,
        None => Said::default(),
    }
}

pub(crate) fn before<'a>(call: &'a ToolCall, parameters: &'a Parameters) -> Occasion<'a> {
    Occasion::PreToolUse {
        tool: &call.tool,
        id: &call.id,
        parameters,
    }
}

/// Judges a call, notifying hooks when the user is asked.
pub(crate) async fn judged(session: &Session, asked: Asked<'_>) -> Verdict {
    let mut judged = session.parts.gate.judge(asked);
    // A gate that decides by rules is ready at once; otherwise it is asking the user.
    if let Some(verdict) = (&mut judged).now_or_never() {
        return verdict;
    }
    if let Some(hooks) = &session.hooks {
        let message = format!("Codelet asks: {} {}", asked.tool, asked.description);
        hooks.notify(Occasion::Notification { message: &message });
    }
    judged.await
}

/// Returns a call's output with the texts of hooks from before and after it.
pub(crate) async fn with_hooks(
    session: &Session,
    (call, taken): (&ToolCall, &Parameters),
    mut output: Output,
    before: Said,
    interrupt: &Interrupt,
) -> Output {
    // Tool output must not appear in a summary as the user's words.
    if !output.success && refusal::is_posed(output.text.as_str()) {
        output.text = Body::from(format!("{PRINTED}{}", output.text.as_str()));
    }
    let after = match output.success {
        true => told(session, after(call, taken, &output), interrupt).await,
        false => Said::default(),
    };
    output.hooks.extend(words(PRE, before.context, None));
    output.hooks.extend(words(POST, after.context, after.objection));
    output.notices.splice(0..0, before.notices);
    output.notices.extend(after.notices);
    output
}

fn after<'a>(call: &'a ToolCall, parameters: &'a Parameters, output: &'a Output) -> Occasion<'a> {
    Occasion::PostToolUse {
        tool: &call.tool,
        id: &call.id,
        parameters,
        output,
    }
}

/// Returns the texts of hooks for the model. After the call, an objection is just text.
fn words(name: &str, context: Vec<String>, objection: Option<Objection>) -> Vec<String> {
    let objection = objection.map(|objection| match objection {
        Objection::Deny(why) | Objection::Ask(why) => why,
    });
    let all = objection.into_iter().chain(context);
    all.map(|said| session_hooks::marked(name, &said)).collect()
}
