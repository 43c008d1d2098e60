//! A session in memory: one conversation, the model, the tools, and the bill.

pub(crate) mod checkpoint;
pub(crate) mod lending;
pub(crate) mod models;
pub mod plan;
pub(crate) mod prompt;
pub mod rewind;
pub mod snapshot;
pub(crate) mod start;

use crate::environment::Surroundings;
use crate::environment::instructions::Nearer;
use crate::environment::journal::Journal;
use crate::model::bill::Bill;
use crate::model::fallback::Fallback;
use crate::model::{Model, Profile, ToolSpec};
use crate::permission::Gate;
use crate::permission::narrowed::Narrowed;
use crate::run::answer::AnswerCheck;
pub use crate::run::settings::{Settings, SummaryBy};
use crate::session::checkpoint::{Discarded, Prompted};
pub use crate::session::prompt::{Attachment, Prompt};
use crate::session::snapshot::Glances;
use crate::tool::event::{Event, Listen, Witness};
use crate::tool::hooks::Hooks;
use crate::tool::skills::Skill;
use crate::tool::tasks::Seat;
pub use crate::tool::tasks::Tasks;
use crate::tool::{Aim, Tool, ToolSource};
use codelet_context::conversation::{Conversation, Earlier};
use codelet_context::economics::{Economics, Preset};
use codelet_context::message::{Message, Origin, Part, Role, Text, ToolResult};
use codelet_context::note::Note;
use codelet_context::policy::{CompactAt, CompactionConfig};
use codelet_context::price;
use codelet_context::reminder;
use codelet_context::tokens::{Tokens, estimate_bytes};
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;
use tokio::time::Instant;

/// The system prompt of every session.
pub const SYSTEM_PROMPT: &str = include_str!("session/system_prompt.md");
/// The output limit of requests, in tokens: room for a large file, and far below any context window.
const MOST_OUTPUT: Tokens = 32_000;

/// The time that tools may take, after the user interrupts, to end what they started.
pub(crate) const GRACE: Duration = Duration::from_millis(80);
/// Stands in for a tool result while the tool runs, for anyone who looks at the conversation then.
const NO_RESULT_YET: &str = "[no result yet: this step was still under way]";

/// The outcome of the last prompt.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LastTurn {
    /// The prompt.
    pub prompt: String,
    /// The number of replies of the model.
    pub steps: usize,
    /// The number of tool calls in them.
    pub calls: usize,
}

/// The dependencies of a session.
pub struct Parts {
    /// The model to ask.
    pub model: Arc<dyn Model>,
    /// The tools that it may use.
    pub tools: Vec<Arc<dyn Tool>>,
    /// Decides on permissions.
    pub gate: Arc<dyn Gate>,
    /// Access to the world outside.
    pub world: Arc<dyn Surroundings>,
}

impl Parts {
    pub(crate) fn tool(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.tools.iter().find(|tool| *tool.spec().name == *name)
    }
}

/// Saves a session as it goes on.
pub trait Keep: Send + Sync {
    /// Called after something was appended or taken back. Returns a notice for the user, such as that it could not be
    /// saved.
    fn keep(&mut self, session: &Session) -> Option<String>;
}

/// A session in memory, for the life of the process.
pub struct Session {
    pub(crate) conversation: Conversation,
    pub(crate) parts: Parts,
    pub(crate) specs: Arc<[ToolSpec]>,
    /// The number of tools that belong to the session itself; those of the source follow them.
    pub(crate) own_tools: usize,
    pub(crate) source: Option<Arc<dyn ToolSource>>,
    /// The tool that reads skills; `None` if there are no skills.
    pub(crate) skills: Option<Arc<Skill>>,
    /// The tool lists of this turn's command and skills.
    pub(crate) narrowed: Vec<Narrowed>,
    /// The tool lists of the session that delegated its work to this one: they hold throughout.
    pub(crate) inherited: Vec<Narrowed>,
    pub(crate) settings: Settings,
    pub(crate) bill: Bill,
    /// The bill at the start of the last run.
    pub(crate) bill_before: Bill,
    /// The number of replies the model has given.
    pub(crate) replies: u32,
    /// The number of messages in the last request.
    pub(crate) sent: Option<usize>,
    /// The start of the last request.
    pub(crate) asked: Option<Instant>,
    /// The model that the last request went to.
    pub(crate) answerer: Option<String>,
    /// The number of idle requests since the last real one.
    pub(crate) kept_alive: u32,
    /// The number of consecutive compactions for which the model was asked for a summary and gave none.
    pub(crate) unwritten: u32,
    /// True once an answer has shown that the model thinks, or that something other than text takes up room in its
    /// answers.
    pub(crate) has_thought: bool,
    /// The text of an answer that the last run did not finish.
    pub(crate) unfinished: String,
    /// The ids of all calls so far: some providers number the calls of each reply from the start.
    pub(crate) call_ids: HashSet<Arc<str>>,
    /// The calls of the last reply whose parameters were truncated.
    pub(crate) broken: Vec<Arc<str>>,
    /// True if the output limit did that.
    pub(crate) is_cut: bool,
    /// The last prompt, the state before it, and the number of messages then.
    pub(crate) last: Option<(Prompt, Earlier, usize)>,
    /// Messages added on the user's side since.
    pub(crate) beside: Vec<Message>,
    /// The state before the last [`retry`](Self::retry), [`clear`](Self::clear) or [`rewind`](Self::rewind).
    pub(crate) discarded: Option<Discarded>,
    /// The prompts that can be rewound to, oldest first.
    pub(crate) prompts: Vec<Prompted>,
    /// The note to the model about the conversation that this one continues.
    pub(crate) taken_over: Option<String>,
    /// Records the file changes made by tools.
    pub(crate) journal: Option<Arc<dyn Journal>>,
    /// What was denied since the last prompt, if nothing has made up for it.
    pub(crate) held_up: Option<Aim>,
    /// True if a call of the last step asked for a compaction and it was granted.
    pub(crate) wishes_compaction: bool,
    /// The number of commands that were permitted and started.
    pub(crate) commands: AtomicUsize,
    /// The number of questions since the last prompt about rerunning a command with what the sandbox withheld.
    pub(crate) asked_again: AtomicUsize,
    /// Notices about instructions shown to the user since the last prompt, inclusive.
    pub(crate) notices: Vec<String>,
    /// Notices about skills shown at the last prompt.
    pub(crate) notices_of_skills: Vec<String>,
    /// The folders whose own instructions were sent since.
    pub(crate) nearer: Nearer,
    /// True once the user knows that token counts are not trusted; `has_told_of_estimate`: that costs are estimated.
    pub(crate) has_told_of_doubt: bool,
    pub(crate) has_told_of_estimate: bool,
    /// The check that final answers have to pass.
    pub(crate) answer_check: Option<Arc<dyn AnswerCheck>>,
    /// Records figures of the requests.
    pub(crate) witness: Option<Box<dyn Witness>>,
    /// The model to use while the provider stays overloaded.
    pub(crate) fallback: Option<Fallback>,
    /// The number of the current conversation, and how many came before it: each [`clear`](Self::clear) starts another
    /// one.
    pub(crate) number: u64,
    pub(crate) numbers: u64,
    /// Saves the session.
    keeper: Option<Box<dyn Keep>>,
    /// The hooks that receive events and may object.
    pub(crate) hooks: Option<Arc<dyn Hooks>>,
    /// The way the conversation started, until hooks have received its first prompt.
    pub(crate) begins: Option<&'static str>,
    /// Pending requests to look at the session while it works.
    pub(crate) glances: Glances<Session>,
    /// The tasks delegated to other sessions.
    pub(crate) tasks: Tasks,
    /// This session's bill as its parent reads it meanwhile, if this session was delegated.
    pub(crate) seat: Option<Seat>,
    /// The time that tools may take, after the user interrupts, to end what they started.
    pub(crate) grace: Duration,
}

impl Session {
    /// Creates a session with an empty conversation.
    pub fn new(parts: Parts, settings: Settings) -> Self {
        let specs: Arc<[ToolSpec]> = parts.tools.iter().map(|tool| tool.spec().clone()).collect();
        let profile = parts.model.profile();
        let config = config(profile, settings.compact_at);
        let economics = economics(&*parts.model, settings.policy);
        let mut conversation = Conversation::new(config, weight(&specs)).under(economics);
        let own_tools = parts.tools.len();
        let system = match &settings.append_system {
            Some(more) => format!("{SYSTEM_PROMPT}\n{more}"),
            None => SYSTEM_PROMPT.to_owned(),
        };
        conversation.append(Message::system(system));
        Session {
            conversation,
            parts,
            specs,
            own_tools,
            source: None,
            skills: None,
            narrowed: Vec::new(),
            inherited: Vec::new(),
            settings,
            bill: Bill::default(),
            bill_before: Bill::default(),
            replies: 0,
            sent: None,
            asked: None,
            answerer: None,
            kept_alive: 0,
            unwritten: 0,
            has_thought: false,
            unfinished: String::new(),
            call_ids: HashSet::new(),
            broken: Vec::new(),
            is_cut: false,
            last: None,
            beside: Vec::new(),
            discarded: None,
            prompts: Vec::new(),
            taken_over: None,
            journal: None,
            held_up: None,
            wishes_compaction: false,
            commands: AtomicUsize::new(0),
            asked_again: AtomicUsize::new(0),
            notices: Vec::new(),
            notices_of_skills: Vec::new(),
            nearer: Nearer::default(),
            has_told_of_doubt: false,
            has_told_of_estimate: false,
            answer_check: None,
            witness: None,
            fallback: None,
            number: 0,
            numbers: 0,
            keeper: None,
            hooks: None,
            begins: Some("startup"),
            glances: Glances::default(),
            tasks: Tasks::default(),
            seat: None,
            grace: GRACE,
        }
    }

    /// Returns the conversation.
    pub fn conversation(&self) -> &Conversation {
        &self.conversation
    }

    /// Returns the conversation, to pin, undo or compact between two runs.
    pub fn conversation_mut(&mut self) -> &mut Conversation {
        &mut self.conversation
    }

    /// Returns the cost of the session so far.
    pub fn bill(&self) -> &Bill {
        &self.bill
    }

    /// Returns the bill at the start of the last run.
    pub fn bill_before(&self) -> &Bill {
        &self.bill_before
    }

    /// Returns the delegated tasks, and their part of the bill.
    pub fn tasks(&self) -> &Tasks {
        &self.tasks
    }

    /// Returns the number of steps: replies of the model, not counting refused or interrupted requests.
    pub fn steps(&self) -> u32 {
        self.replies
    }

    /// Returns the text of the last prompt's answer if it never finished; otherwise an empty text.
    pub fn unfinished(&self) -> &str {
        &self.unfinished
    }

    /// Returns whether something was denied to the last prompt's run, and nothing of its kind was done later: a look is
    /// made up for by anything else, a command or change only by another one.
    pub fn is_held_up(&self) -> bool {
        self.held_up.is_some()
    }

    /// Returns the model.
    pub fn model(&self) -> &dyn Model {
        &*self.parts.model
    }

    /// Returns the tool definitions, as sent to the model.
    pub fn tools(&self) -> &[ToolSpec] {
        &self.specs
    }

    /// Returns the session's id, as sent to a provider.
    pub fn id(&self) -> &str {
        &self.settings.id
    }

    /// Returns the number of the current conversation: it changes when the conversation is [cleared](Self::clear), and
    /// changes back when that is undone.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Returns the output limit of requests, in tokens.
    pub fn most_output(&self) -> Tokens {
        self.conversation.config().reserved().max(1)
    }

    /// Sets the check that final answers have to pass from now on.
    pub fn check_answers(&mut self, check: Arc<dyn AnswerCheck>) {
        self.answer_check = Some(check);
    }

    /// Returns whether final answers have to pass a check.
    pub fn checks_answers(&self) -> bool {
        self.answer_check.is_some()
    }

    /// Adds the tools of this source. They may change between two prompts.
    pub fn served_by(&mut self, source: Arc<dyn ToolSource>) {
        self.take_tools(source.tools());
        self.source = Some(source);
    }

    /// Replaces the source's tools with these, followed by the one that reads skills. Returns whether the definitions
    /// sent to the model change.
    pub(crate) fn take_tools(&mut self, tools: Vec<Arc<dyn Tool>>) -> bool {
        self.parts.tools.truncate(self.own_tools);
        self.parts.tools.extend(tools);
        self.parts
            .tools
            .extend(self.skills.clone().map(|skill| skill as Arc<dyn Tool>));
        let specs: Arc<[ToolSpec]> = self.parts.tools.iter().map(|tool| tool.spec().clone()).collect();
        if specs == self.specs {
            return false;
        }
        self.specs = specs;
        self.conversation.has_other_tools(weight(&self.specs));
        true
    }

    /// Returns whether the provider's cache has expired since the last request began, by the lifetime on the model's
    /// price card.
    pub fn is_cold(&self) -> bool {
        let lives = self.conversation.economics().card.expires_after();
        self.asked.is_some_and(|asked| asked.elapsed() > lives)
    }

    /// Returns whether the session has reached its cost limit.
    pub(crate) fn is_spent(&self) -> bool {
        self.settings
            .limits
            .max_cost
            .is_some_and(|most| self.bill.spent() >= most)
    }

    /// Returns the user's text as it may be shown and saved: without API keys and other known secrets.
    pub fn hidden(&self, said: &str) -> String {
        self.parts.world.hide(said)
    }

    /// Returns the outcome of the last prompt, which [`retry`](Self::retry) would discard; `None` if there was none.
    pub fn last_turn(&self) -> Option<LastTurn> {
        let (prompt, _, messages) = self.last.as_ref()?;
        let since = self.conversation.history().messages().get(*messages..)?;
        let calls = since.iter().flat_map(|message| message.calls());
        Some(LastTurn {
            prompt: prompt.text.clone(),
            steps: since.iter().filter(|message| message.role == Role::Assistant).count(),
            calls: calls.count(),
        })
    }

    /// Returns the tool lists that calls are currently held to.
    pub(crate) fn narrowed(&self) -> impl Iterator<Item = &Narrowed> {
        self.inherited.iter().chain(&self.narrowed)
    }

    /// Returns whether a model has answered in this conversation.
    pub fn has_answer(&self) -> bool {
        let said = self.conversation.history().messages();
        said.iter().any(|message| message.role == Role::Assistant)
    }

    /// Returns the whole history, fit to be sent to a model: calls whose tools are still running get a placeholder
    /// result.
    pub fn said(&self) -> Vec<Arc<Message>> {
        let mut said = self.conversation.history().messages().to_vec();
        said.extend(self.answers_in_place().map(Arc::new));
        said
    }

    /// Returns the same without the turns and images that a provider has refused: it would refuse them again.
    pub fn said_without_refused(&self) -> Vec<Arc<Message>> {
        let accepted = self.conversation.accepted().cloned();
        accepted.chain(self.answers_in_place().map(Arc::new)).collect()
    }

    /// Returns placeholder results for the last step's calls; `None` if they have results.
    pub(crate) fn answers_in_place(&self) -> Option<Message> {
        let last = self.conversation.history().messages().last()?;
        let open = last.parts.iter().filter_map(|part| match part {
            Part::ToolCall(call) => Some(ToolResult::new(call.id.clone(), None, NO_RESULT_YET)),
            _ => None,
        });
        let open: Vec<ToolResult> = open.collect();
        (!open.is_empty()).then(|| Message::results(open))
    }

    /// Reports each request to a witness that records figures.
    pub fn watched_by(&mut self, witness: Box<dyn Witness>) {
        self.witness = Some(witness);
    }

    /// Saves the conversation through this keeper: each prompt, reply and output as soon as it exists.
    pub fn kept_by(&mut self, keeper: Box<dyn Keep>) {
        self.keeper = Some(keeper);
    }

    /// Sends events to these hooks from now on.
    pub fn hooked_by(&mut self, hooks: Arc<dyn Hooks>) {
        self.hooks = Some(hooks);
    }

    /// Saves the conversation up to now.
    pub(crate) fn keep(&mut self, listener: &mut dyn Listen) {
        if let Some(mut keeper) = self.keeper.take() {
            if let Some(told) = keeper.keep(self) {
                listener.on(Event::Notice(told));
            }
            self.keeper = Some(keeper);
        }
    }

    /// Returns a handle for looking at the session while it works.
    pub fn glances(&self) -> Glances<Session> {
        self.glances.clone()
    }

    /// Returns the size of the tool definitions in each request, in estimated tokens.
    pub fn overhead(&self) -> Tokens {
        weight(&self.specs)
    }

    /// Appends a message of the user's side besides the prompt. It stays when the prompt in front of it is sent again.
    pub(crate) fn add_beside(&mut self, message: Message) {
        self.beside.push(message.clone());
        self.conversation.append(message);
    }

    /// Tells the model, with the next request, what the user has pinned: a summary mentions it only from the next
    /// compaction on.
    pub fn tell_pinned(&mut self, pinned: &str) {
        self.tell(&format!("The user has pinned this; it is to stay in sight:\n{pinned}"));
    }

    /// Drops the model's note: summaries no longer contain it, and the next request tells the model.
    pub fn drop_note(&mut self, note: Note) {
        let told = format!(
            "The user has dropped this note of yours; do not go by it:\n{}",
            note.line()
        );
        self.conversation.drop_note(note);
        self.tell(&told);
    }

    /// Sends the model a text besides the user's own words, with the next request.
    pub(crate) fn tell(&mut self, text: &str) {
        self.add_beside(injected(text));
    }

    /// Shows the user a notice about instructions, once for each prompt.
    pub(crate) fn notice(&mut self, notice: String, listener: &mut dyn Listen) {
        if !self.notices.contains(&notice) {
            listener.on(Event::Notice(notice.clone()));
            self.notices.push(notice);
        }
    }
}

/// Returns a message to the model besides the user's own words.
pub(crate) fn injected(text: &str) -> Message {
    // Reminders appear in the same position, and this must not look like one.
    let part = Part::Text(Text::new(reminder::escape(text), Origin::Injected));
    Message::new(Role::User, vec![part])
}

/// Returns the size of the tool definitions in each request, in estimated tokens.
pub(crate) fn weight(specs: &[ToolSpec]) -> Tokens {
    let bytes = specs
        .iter()
        .map(|spec| spec.name.len() + spec.description.len() + spec.parameters.to_string().len());
    estimate_bytes(bytes.sum())
}

/// Returns the economics for a model. If its price is unknown, the usual rules apply.
pub(crate) fn economics(model: &dyn Model, preset: Preset) -> Economics {
    let card = model.profile().price.clone().unwrap_or_else(price::usual);
    Economics::new(card).preset(preset)
}

/// Returns when a session with this model compacts. It reserves as much of the context window as the output limit.
pub(crate) fn config(profile: &Profile, compact_at: CompactAt) -> CompactionConfig {
    let mut config = CompactionConfig::new(profile.window).reserving(profile.max_output.min(MOST_OUTPUT));
    config.compact_at = compact_at;
    config
}
