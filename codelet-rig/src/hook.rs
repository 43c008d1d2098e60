//! A hook that keeps each request of a run within the window.

use crate::fold::{EditPoints, Fold};
use crate::folds::Folds;
use crate::recall::Recall;
use crate::settings::Settings;
use codelet_context::tokens::{Tokens, estimate_bytes};
use codelet_context::usage::Usage;
use rig_agent::agent::{
    AgentHook, DispatchAction, DispatchEvent, HookContext, ModelTurnAction, ModelTurnFinished, StepEventKind,
};
use rig_core::completion::CompletionRequest;
use rig_core::effect::EffectKind;
use rig_core::message::Message;
use rig_core::tool::PortableTool;
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Keeps each request of an agent's run within the window, however many steps the run has.
///
/// It edits only the requests: the run keeps its messages, and so does its memory. Between two edits each request extends the one
/// before it, so that the provider's prompt cache holds. It learns from the reported usage how many tokens the model counts. Give
/// the agent the tool [`recall`](Self::recall) too, so that the model can read back what was removed.
///
/// One hook serves any number of runs at the same time; a run reads back only what was removed from its own conversation.
#[derive(Clone)]
pub struct CompactionHook {
    settings: Settings,
    folds: Folds<u64>,
    runs: Arc<AtomicU64>,
}

/// The number under which a run's conversation is remembered.
#[derive(Clone, Copy)]
struct Run(u64);

/// The reported usage of the last reply of a run.
#[derive(Clone, Copy)]
struct Billed(Usage);

impl CompactionHook {
    /// A hook with these settings.
    pub fn new(settings: Settings) -> Self {
        CompactionHook {
            settings,
            folds: Folds::default(),
            runs: Arc::default(),
        }
    }

    /// The tool that reads back what was removed, for agents with this hook.
    pub fn recall(&self) -> Recall {
        let folds = self.folds.clone();
        Recall::new(move |run| run.and_then(|run| folds.archive(&run)).into_iter().collect())
    }

    /// The messages of a request within the window, or none if they need no change.
    fn compacted(&self, run: u64, request: &CompletionRequest, usage: Option<Usage>) -> Option<Vec<Message>> {
        let leading = request
            .chat_history
            .iter()
            .take_while(|message| matches!(message, Message::System { .. }));
        let (head, messages) = request.chat_history.split_at(leading.count());
        let overhead = self.settings.overhead + beside(head, request);
        let known = self.folds.of(&run, messages);
        let usage = usage.filter(|_| known.is_some());
        let mut fold = known
            .or_else(|| self.folds.longest(messages))
            .unwrap_or_else(|| Fold::new(&self.settings, EditPoints::Requests, overhead, request.max_tokens));
        fold.weighs_beside(overhead);
        fold.asks_to_drop(asks_to_drop(request));
        fold.advance(messages, usage);
        let shown = (!fold.is_as_told()).then(|| [head, &fold.shown()].concat());
        let archive = fold.archive().clone();
        self.folds.put(run, fold, archive);
        shown
    }
}

/// An estimate in tokens of the system prompt, documents and tool definitions of a request.
fn beside(head: &[Message], request: &CompletionRequest) -> Tokens {
    let system = head.iter().map(|message| match message {
        Message::System { content } => content.len(),
        _ => 0,
    });
    let documents = request.documents.iter().map(|document| document.text.len());
    let tools = request.tools.iter();
    let tools = tools.map(|tool| tool.name.len() + tool.description.len() + tool.parameters.to_string().len());
    estimate_bytes(system.chain(documents).chain(tools).sum())
}

/// Returns true if rig asks Anthropic to drop reasoning that a changed message makes invalid: always, unless the request sets another
/// thinking mode than the adaptive one.
fn asks_to_drop(request: &CompletionRequest) -> bool {
    let options = serde_json::to_value(&request.provider_options).unwrap_or_default();
    let options = options.as_object().into_iter().flat_map(|options| options.values());
    let mut thinking = request
        .additional_params
        .iter()
        .chain(options)
        .filter_map(|fields| fields.get("thinking"));
    thinking.all(|thinking| thinking.get("type").is_none_or(|kind| kind == "adaptive"))
}

/// The usage of a reply as rig reports it; none if the provider has not reported the length of the prompt.
fn usage(usage: rig_core::completion::Usage) -> Option<Usage> {
    let read = usage.cached_input_tokens.unwrap_or(0);
    let written = usage.cache_creation_input_tokens.unwrap_or(0);
    let fresh = usage.input_tokens?.saturating_sub(read).saturating_sub(written);
    Some(Usage::from_exclusive(
        fresh,
        read,
        written,
        usage.output_tokens.unwrap_or(0),
    ))
}

impl AgentHook for CompactionHook {
    async fn on_dispatch(&self, ctx: &HookContext, event: DispatchEvent<'_>) -> DispatchAction {
        let pad = ctx.scratchpad();
        match event.kind {
            EffectKind::Completion { request, stream } => {
                let Run(run) = pad.get::<Run>().unwrap_or_else(|| {
                    let run = Run(self.runs.fetch_add(1, Ordering::Relaxed));
                    pad.insert(run);
                    run
                });
                let usage = pad.remove::<Billed>().map(|Billed(usage)| usage);
                match self.compacted(run, request, usage) {
                    None => DispatchAction::Proceed,
                    Some(messages) => {
                        let mut request = request.clone();
                        request.chat_history = messages;
                        DispatchAction::Patch(EffectKind::Completion {
                            request,
                            stream: *stream,
                        })
                    }
                }
            }
            EffectKind::ToolCall { name, args } if name == <Recall as PortableTool>::NAME => {
                let Ok(Value::Object(mut args)) = serde_json::from_str::<Value>(args) else {
                    return DispatchAction::Proceed;
                };
                let run = pad.get::<Run>().map(|Run(run)| run);
                args.insert("run".to_owned(), run.map_or(Value::Null, Value::from));
                DispatchAction::rewrite_tool_args(event.kind, args)
            }
            _ => DispatchAction::Proceed,
        }
    }

    async fn on_model_turn_finished(&self, ctx: &HookContext, event: ModelTurnFinished<'_>) -> ModelTurnAction {
        if let Some(usage) = usage(event.usage) {
            ctx.scratchpad().insert(Billed(usage));
        }
        ModelTurnAction::Continue
    }

    fn observes(&self, kind: StepEventKind) -> bool {
        matches!(
            kind,
            StepEventKind::CompletionDispatch | StepEventKind::ToolDispatch | StepEventKind::ModelTurnFinished
        )
    }
}
