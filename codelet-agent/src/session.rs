//! A session in memory: one conversation, the model that is asked, the tools that it may use, and the bill.

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
use crate::tool::{Tool, ToolSource};
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
/// The most that an answer is asked to be, in tokens: room for a large file, and far below any window.
const MOST_OUTPUT: Tokens = 32_000;

/// How long tools may take to end what they started once the user has interrupted.
pub(crate) const GRACE: Duration = Duration::from_millis(80);
/// Stands in the place of a result while its tool runs, for whoever looks at the conversation then.
const NO_RESULT_YET: &str = "[no result yet: this step was still under way]";

/// What a prompt has led to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LastTurn {
    /// The prompt.
    pub prompt: String,
    /// Answers of the model.
    pub steps: usize,
    /// Tool calls in them.
    pub calls: usize,
}

/// Everything that a session is made of.
pub struct Parts {
    /// Who is asked.
    pub model: Arc<dyn Model>,
    /// What it may use.
    pub tools: Vec<Arc<dyn Tool>>,
    /// Who permits.
    pub gate: Arc<dyn Gate>,
    /// The world around.
    pub world: Arc<dyn Surroundings>,
}

impl Parts {
    /// The tool of this name.
    pub(crate) fn tool(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.tools.iter().find(|tool| *tool.spec().name == *name)
    }
}

/// Whoever keeps what is said in a session, as it is said.
pub trait Keep: Send + Sync {
    /// More was said, or something was taken back. Returns what the user should know, such as that it cannot be kept.
    fn keep(&mut self, session: &Session) -> Option<String>;
}

/// A session in memory, for the life of the process.
pub struct Session {
    pub(crate) conversation: Conversation,
    pub(crate) parts: Parts,
    pub(crate) specs: Arc<[ToolSpec]>,
    /// How many of the tools are the session's own; those of the source stand behind them.
    pub(crate) own_tools: usize,
    pub(crate) source: Option<Arc<dyn ToolSource>>,
    /// The tool that reads skills; none where there are none.
    pub(crate) skills: Option<Arc<Skill>>,
    /// What the command and the skills of this turn list as their tools.
    pub(crate) narrowed: Vec<Narrowed>,
    /// The same of the session that has handed this one its work: it holds in all of it.
    pub(crate) inherited: Vec<Narrowed>,
    pub(crate) settings: Settings,
    pub(crate) bill: Bill,
    /// The bill as the last run began.
    pub(crate) bill_before: Bill,
    /// How many answers the model has given.
    pub(crate) replies: u32,
    /// How many messages the last request held.
    pub(crate) sent: Option<usize>,
    /// When it began.
    pub(crate) asked: Option<Instant>,
    /// The model that it went to.
    pub(crate) answerer: Option<String>,
    /// Idle requests since the last one that was asked for an answer.
    pub(crate) kept_alive: u32,
    /// Compactions in a row for which the model was asked for a summary and gave none.
    pub(crate) unwritten: u32,
    /// An answer of the model has shown that it thinks, or that something else than words takes room in its answers.
    pub(crate) has_thought: bool,
    /// What the last run leaves of an answer that never ended.
    pub(crate) unfinished: String,
    /// Ids of all calls so far: some providers number the calls of each reply from the beginning.
    pub(crate) call_ids: HashSet<Arc<str>>,
    /// Calls of the last reply whose parameters were cut.
    pub(crate) broken: Vec<Arc<str>>,
    /// The last prompt, how things stood before it, and how many messages there were.
    pub(crate) last: Option<(Prompt, Earlier, usize)>,
    /// What the user's side has said since.
    pub(crate) beside: Vec<Message>,
    /// How things stood before the last [`retry`](Self::retry), [`clear`](Self::clear) or [`rewind`](Self::rewind).
    pub(crate) discarded: Option<Discarded>,
    /// The prompts that can be gone back to, oldest first.
    pub(crate) prompts: Vec<Prompted>,
    /// What the model is told of the conversation that this one goes on from.
    pub(crate) taken_over: Option<String>,
    /// What its tools have changed in files.
    pub(crate) journal: Option<Arc<dyn Journal>>,
    /// A call was not permitted since the last prompt, and nothing that does more than look has succeeded since.
    pub(crate) is_held_up: bool,
    /// A call of the last step has asked for a compaction, and was granted it.
    pub(crate) wishes_compaction: bool,
    /// Questions since the last prompt whether a command is run again with what the sandbox has not given it.
    pub(crate) asked_again: AtomicUsize,
    /// What the user was told of the instructions at the last prompt, and since.
    pub(crate) notices: Vec<String>,
    /// The same of skills, at the last prompt.
    pub(crate) notices_of_skills: Vec<String>,
    /// Folders whose own instructions were told since.
    pub(crate) nearer: Nearer,
    /// The user knows that counts are not believed, and that costs are estimated.
    pub(crate) has_told_of_doubt: bool,
    pub(crate) has_told_of_estimate: bool,
    /// What final answers have to pass.
    pub(crate) answer_check: Option<Arc<dyn AnswerCheck>>,
    /// Who keeps figures of the requests.
    pub(crate) witness: Option<Box<dyn Witness>>,
    /// Who is asked where the provider stays overloaded.
    pub(crate) fallback: Option<Fallback>,
    /// Which of its conversations goes on, and how many there were before: each [`clear`](Self::clear) begins another one.
    pub(crate) number: u64,
    pub(crate) numbers: u64,
    /// Who keeps what is said.
    keeper: Option<Box<dyn Keep>>,
    /// Who is told what happens, and may object.
    pub(crate) hooks: Option<Arc<dyn Hooks>>,
    /// How the conversation came about, until hooks are told of its first prompt.
    pub(crate) begins: Option<&'static str>,
    /// Who wants to look while it works.
    pub(crate) glances: Glances<Session>,
    /// What was handed on to sessions of their own.
    pub(crate) tasks: Tasks,
    /// Where this one's bill is read while it works, if it was handed its work by another.
    pub(crate) seat: Option<Seat>,
    /// How long tools may take to end what they started once the user has interrupted.
    pub(crate) grace: Duration,
}

impl Session {
    /// A session in which nothing was said.
    pub fn new(parts: Parts, settings: Settings) -> Self {
        let specs: Arc<[ToolSpec]> = parts.tools.iter().map(|tool| tool.spec().clone()).collect();
        let profile = parts.model.profile();
        let config = config(profile, settings.compact_at);
        let economics = economics(&*parts.model, settings.economics);
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
            last: None,
            beside: Vec::new(),
            discarded: None,
            prompts: Vec::new(),
            taken_over: None,
            journal: None,
            is_held_up: false,
            wishes_compaction: false,
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

    /// The conversation.
    pub fn conversation(&self) -> &Conversation {
        &self.conversation
    }

    /// The conversation, to pin, undo or compact between two runs.
    pub fn conversation_mut(&mut self) -> &mut Conversation {
        &mut self.conversation
    }

    /// What the session has cost.
    pub fn bill(&self) -> &Bill {
        &self.bill
    }

    /// The same as the last run began.
    pub fn bill_before(&self) -> &Bill {
        &self.bill_before
    }

    /// The tasks that it has handed on, and the part of the bill that is theirs.
    pub fn tasks(&self) -> &Tasks {
        &self.tasks
    }

    /// How many steps were made: answers that the model has given. A request that was refused or interrupted is none.
    pub fn steps(&self) -> u32 {
        self.replies
    }

    /// The words of an answer that the last prompt was given and whose end never came; empty where there are none.
    pub fn unfinished(&self) -> &str {
        &self.unfinished
    }

    /// Whether the last thing that the last prompt's run wanted to do, beyond looking, was not permitted.
    pub fn is_held_up(&self) -> bool {
        self.is_held_up
    }

    /// The model that is asked.
    pub fn model(&self) -> &dyn Model {
        &*self.parts.model
    }

    /// The tools, as the model is told of them.
    pub fn tools(&self) -> &[ToolSpec] {
        &self.specs
    }

    /// The session's name towards a provider.
    pub fn id(&self) -> &str {
        &self.settings.id
    }

    /// The number of the conversation that goes on: another one once it was [cleared](Self::clear), and the same as before once that was
    /// taken back.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The most that one answer is asked to be, in tokens.
    pub fn most_output(&self) -> Tokens {
        self.conversation.config().reserved().max(1)
    }

    /// Takes only final answers that pass, from here on.
    pub fn check_answers(&mut self, check: Arc<dyn AnswerCheck>) {
        self.answer_check = Some(check);
    }

    /// Whether final answers have to pass a check.
    pub fn checks_answers(&self) -> bool {
        self.answer_check.is_some()
    }

    /// Takes further tools from here. They may become others between two prompts.
    pub fn served_by(&mut self, source: Arc<dyn ToolSource>) {
        self.take_tools(source.tools());
        self.source = Some(source);
    }

    /// Puts these tools in the place of the source's, with the one that reads skills behind them. Says whether the model is told anything else than before.
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

    /// Whether the provider's cache has expired since the last request began, by the lifetime on the model's price card.
    pub fn is_cold(&self) -> bool {
        let lives = self.conversation.economics().card.expires_after();
        self.asked.is_some_and(|asked| asked.elapsed() > lives)
    }

    /// Whether the last run, or the one under way, has cost as much as it may.
    pub(crate) fn is_spent(&self) -> bool {
        let spent = self.bill.since(&self.bill_before).dollars;
        self.settings.limits.max_cost.is_some_and(|most| spent >= most)
    }

    /// What the user has said, as it may be shown and kept: without keys and other secrets that are known here.
    pub fn hidden(&self, said: &str) -> String {
        self.parts.world.hide(said)
    }

    /// What the last prompt has led to, which [`retry`](Self::retry) would discard; none where nothing was said.
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

    /// The lists of tools that calls are held to now.
    pub(crate) fn narrowed(&self) -> impl Iterator<Item = &Narrowed> {
        self.inherited.iter().chain(&self.narrowed)
    }

    /// Everything that was said, fit to be sent to a model: calls whose tools run at this moment are answered with a word
    /// about that.
    pub fn said(&self) -> Vec<Arc<Message>> {
        let mut said = self.conversation.history().messages().to_vec();
        said.extend(self.answers_in_place().map(Arc::new));
        said
    }

    /// Answers in the place of those that the last step's calls will have; none if they have them.
    pub(crate) fn answers_in_place(&self) -> Option<Message> {
        let last = self.conversation.history().messages().last()?;
        let open = last.parts.iter().filter_map(|part| match part {
            Part::ToolCall(call) => Some(ToolResult::new(call.id.clone(), None, NO_RESULT_YET)),
            _ => None,
        });
        let open: Vec<ToolResult> = open.collect();
        (!open.is_empty()).then(|| Message::results(open))
    }

    /// Has each request told to somebody who keeps figures of them.
    pub fn watched_by(&mut self, witness: Box<dyn Witness>) {
        self.witness = Some(witness);
    }

    /// Has all that is said told to somebody who keeps it: each prompt, answer and output once it is there.
    pub fn kept_by(&mut self, keeper: Box<dyn Keep>) {
        self.keeper = Some(keeper);
    }

    /// Has hooks told of what happens, from here on.
    pub fn hooked_by(&mut self, hooks: Arc<dyn Hooks>) {
        self.hooks = Some(hooks);
    }

    /// Has what was said until now kept.
    pub(crate) fn keep(&mut self, listener: &mut dyn Listen) {
        if let Some(mut keeper) = self.keeper.take() {
            if let Some(told) = keeper.keep(self) {
                listener.on(Event::Notice(told));
            }
            self.keeper = Some(keeper);
        }
    }

    /// Where looks at the session are asked for while it works.
    pub fn glances(&self) -> Glances<Session> {
        self.glances.clone()
    }

    /// What the tools' definitions weigh in each request, in estimated tokens.
    pub fn overhead(&self) -> Tokens {
        weight(&self.specs)
    }

    /// Appends what the user's side says beside a prompt. It stays where the prompt before it is sent again.
    pub(crate) fn add_beside(&mut self, message: Message) {
        self.beside.push(message.clone());
        self.conversation.append(message);
    }

    /// Tells the model what the user has pinned, with the next request: a summary tells it only from the next compaction on.
    pub fn tell_pinned(&mut self, pinned: &str) {
        self.tell(&format!("The user has pinned this; it is to stay in sight:\n{pinned}"));
    }

    /// Drops the model's note: it is told in no summary any more, and the model is told so with the next request.
    pub fn drop_note(&mut self, note: Note) {
        let told = format!(
            "The user has dropped this note of yours; do not go by it:\n{}",
            note.line()
        );
        self.conversation.drop_note(note);
        self.tell(&told);
    }

    /// Tells the model something beside what the user says, with the next request.
    pub(crate) fn tell(&mut self, text: &str) {
        self.add_beside(injected(text));
    }

    /// Tells the user something of the instructions, once for each prompt.
    pub(crate) fn notice(&mut self, notice: String, listener: &mut dyn Listen) {
        if !self.notices.contains(&notice) {
            listener.on(Event::Notice(notice.clone()));
            self.notices.push(notice);
        }
    }
}

/// What the model is told beside what the user says.
pub(crate) fn injected(text: &str) -> Message {
    // It stands where reminders do, and must not look like one.
    let part = Part::Text(Text::new(reminder::escape(text), Origin::Injected));
    Message::new(Role::User, vec![part])
}

/// What the tools' definitions weigh in each request, in estimated tokens.
pub(crate) fn weight(specs: &[ToolSpec]) -> Tokens {
    let bytes = specs
        .iter()
        .map(|spec| spec.name.len() + spec.description.len() + spec.parameters.to_string().len());
    estimate_bytes(bytes.sum())
}

/// The economics under which a model is asked. Where nobody knows its price, the usual rules hold.
pub(crate) fn economics(model: &dyn Model, preset: Preset) -> Economics {
    let card = model.profile().price.clone().unwrap_or_else(price::usual);
    Economics::new(card).preset(preset)
}

/// When a session with this model compacts. As much of the window is kept free as an answer is asked to be.
pub(crate) fn config(profile: &Profile, compact_at: CompactAt) -> CompactionConfig {
    let mut config = CompactionConfig::new(profile.window).reserving(profile.max_output.min(MOST_OUTPUT));
    config.compact_at = compact_at;
    config
}
