//! A session in memory: one conversation, the model that is asked, the tools that it may use, and the bill.

use crate::answer::AnswerCheck;
use crate::bill::Bill;
use crate::compaction;
use crate::driver;
use crate::effort::{CacheAfter, Effort};
use crate::event::{Event, Keep, Listen, Witness};
use crate::glance::Glances;
use crate::instructions;
use crate::interrupt::Interrupt;
use crate::model::{Model, Profile, ToolSpec};
use crate::nearer::Nearer;
use crate::permission::Gate;
use crate::run::{Ending, Limits};
use crate::step;
use crate::surroundings::Surroundings;
use crate::tool::{Call, Live, Output, Tool, ToolSource};
use codelet_context::conversation::{Conversation, Due, Earlier, Refusal};
use codelet_context::economics::{Economics, Preset};
use codelet_context::message::{
    Image, Message, Origin, Parameters, Part, ReminderKind, Role, Text, ToolResult, refusal,
};
use codelet_context::notice::Notice;
use codelet_context::pin::Pin;
use codelet_context::policy::{CompactionConfig, Reason};
use codelet_context::price;
use codelet_context::reminder;
use codelet_context::strategy;
use codelet_context::tokens::{Tokens, estimate_bytes, estimate_message};
use codelet_context::tracker::TokenState;
use codelet_context::view::View;
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use tokio::time::Instant;

/// The system prompt of every session.
pub const SYSTEM_PROMPT: &str = include_str!("system_prompt.md");
/// The most that an answer is asked to be, in tokens: room for a large file, and far below any window.
const MOST_OUTPUT: Tokens = 32_000;

/// Stands in the place of a result while its tool runs, for whoever looks at the conversation then.
const NO_RESULT_YET: &str = "[no result yet: this step was still under way]";
/// What the model is told where there was something of a kind and is nothing any more: silence would leave the last word in
/// force.
const NO_INSTRUCTIONS: &str =
    "There are no such instructions any more. What an earlier reminder of this type says is void.";
const NO_REPOSITORY: &str = "There is no repository here any more, or nothing can be told of it.";

/// How a session works.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Settings {
    /// What bounds each run.
    pub limits: Limits,
    /// Who writes the summary at a compaction.
    pub summary: SummaryBy,
    /// How readily history that was sent is edited to save money.
    pub economics: Preset,
    /// The most keep-alive requests in a row that keep the cache from expiring; none are made unless the user wants them.
    pub keep_alive: u32,
    /// Text appended to the system prompt.
    pub append_system: Option<String>,
    /// The session's name towards a provider: requests of one session go to one cache.
    pub id: String,
}

/// Who writes the summary at a compaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SummaryBy {
    /// The engine, from the facts: at once, and it cannot fail.
    #[default]
    Template,
    /// The model; where it fails, the engine.
    Model,
}

/// What the user says.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Prompt {
    /// The words.
    pub text: String,
    /// Pictures beside them.
    pub images: Vec<Image>,
}

impl From<&str> for Prompt {
    fn from(text: &str) -> Self {
        Prompt {
            text: text.to_owned(),
            images: Vec::new(),
        }
    }
}

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
    pub model: Box<dyn Model>,
    /// What it may use.
    pub tools: Vec<Arc<dyn Tool>>,
    /// Who permits.
    pub gate: Arc<dyn Gate>,
    /// The world around.
    pub world: Arc<dyn Surroundings>,
}

/// A session in memory, for the life of the process.
pub struct Session {
    pub(crate) conversation: Conversation,
    pub(crate) parts: Parts,
    pub(crate) specs: Arc<[ToolSpec]>,
    /// How many of the tools are the session's own; those of the source stand behind them.
    own_tools: usize,
    source: Option<Arc<dyn ToolSource>>,
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
    last: Option<(Prompt, Earlier, usize)>,
    /// What the user's side has said since.
    beside: Vec<Message>,
    /// How things stood before the last [`retry`](Self::retry) or [`clear`](Self::clear), and what was pinned.
    discarded: Option<(Earlier, Vec<Pin>)>,
    /// A call was not permitted since the last prompt, and nothing that does more than look has succeeded since.
    pub(crate) is_held_up: bool,
    /// Questions since the last prompt whether a command is run again with what the sandbox has not given it.
    pub(crate) asked_again: AtomicUsize,
    /// What the user was told of the instructions at the last prompt, and since.
    notices: Vec<String>,
    /// Folders whose own instructions were told since.
    pub(crate) nearer: Nearer,
    /// The user knows that counts are not believed, and that costs are estimated.
    pub(crate) has_told_of_doubt: bool,
    pub(crate) has_told_of_estimate: bool,
    /// What final answers have to pass.
    pub(crate) answer_check: Option<Arc<dyn AnswerCheck>>,
    /// Who keeps figures of the requests.
    pub(crate) witness: Option<Box<dyn Witness>>,
    /// Who keeps what is said.
    keeper: Option<Box<dyn Keep>>,
    /// Who wants to look while it works.
    pub(crate) glances: Glances,
}

impl Session {
    /// A session in which nothing was said.
    pub fn new(parts: Parts, settings: Settings) -> Self {
        let specs: Arc<[ToolSpec]> = parts.tools.iter().map(|tool| tool.spec().clone()).collect();
        let profile = parts.model.profile();
        let config = config(profile);
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
            is_held_up: false,
            asked_again: AtomicUsize::new(0),
            notices: Vec::new(),
            nearer: Nearer::default(),
            has_told_of_doubt: false,
            has_told_of_estimate: false,
            answer_check: None,
            witness: None,
            keeper: None,
            glances: Glances::default(),
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

    /// The most that one answer is asked to be, in tokens.
    pub fn most_output(&self) -> Tokens {
        self.conversation.config().reserved().max(1)
    }

    /// Another model from here on. What the earlier one has said and done goes with it, and nothing that it thought or signed.
    pub fn change_model(&mut self, model: Box<dyn Model>) {
        let profile = model.profile();
        self.conversation.configure(config(profile));
        self.conversation
            .set_economics(economics(&*model, self.settings.economics));
        self.parts.model = model;
        // Another model has a cache of its own.
        (self.sent, self.asked) = (None, None);
        (self.unwritten, self.has_thought) = (0, false);
    }

    /// Asks the model for another thinking effort, or for its provider's default, from the next request on. Says what that
    /// does to the prompt cache; where the model does not take the effort, nothing is changed.
    pub fn change_effort(&mut self, effort: Option<Effort>) -> Option<CacheAfter> {
        let model = self.parts.model.with_effort(effort)?;
        let after = self.parts.model.cache_after(effort);
        self.parts.model = model;
        if after == CacheAfter::Lost {
            (self.sent, self.asked) = (None, None);
        }
        Some(after)
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

    /// Puts these tools in the place of the source's. Says whether the model is told anything else than before.
    fn take_tools(&mut self, tools: Vec<Arc<dyn Tool>>) -> bool {
        self.parts.tools.truncate(self.own_tools);
        self.parts.tools.extend(tools);
        let specs: Arc<[ToolSpec]> = self.parts.tools.iter().map(|tool| tool.spec().clone()).collect();
        if specs == self.specs {
            return false;
        }
        self.specs = specs;
        self.conversation.has_other_tools(weight(&self.specs));
        true
    }

    /// Asks the source for its tools before a prompt, and never within one: a request in the middle of a run extends the one
    /// before it, which the provider has in its cache.
    async fn refresh_tools(&mut self, interrupt: &Interrupt, listener: &mut dyn Listen) {
        let Some(source) = self.source.clone() else { return };
        let refreshed = tokio::select! {
            biased;
            () = interrupt.thrown() => return,
            refreshed = source.refresh() => refreshed,
            never = self.glances.given(self) => match never {},
        };
        for notice in refreshed.notices {
            listener.on(Event::Notice(notice));
        }
        let is_changed = refreshed.tools.is_some_and(|tools| self.take_tools(tools));
        if is_changed && self.sent.is_some() {
            // What is sent next begins otherwise than what was sent. What that costs is told with the other costs.
            (self.sent, self.asked) = (None, None);
        }
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

    /// Takes a prompt and carries it to its end, or until `interrupt` is thrown. A key in it goes to nobody.
    pub async fn prompt(&mut self, mut prompt: Prompt, interrupt: &Interrupt, listener: &mut dyn Listen) -> Ending {
        self.beside.clear();
        self.is_held_up = false;
        *self.asked_again.get_mut() = 0;
        self.refresh_tools(interrupt, listener).await;
        let (before, messages) = (
            self.conversation.earlier(),
            self.conversation.history().messages().len(),
        );
        let hidden = self.hidden(&prompt.text);
        if hidden != prompt.text {
            let told = "the prompt contains an API key or another secret; it is hidden from the model and not saved";
            listener.on(Event::Notice(told.to_owned()));
            prompt.text = hidden;
        }
        let mut parts = vec![Part::text(prompt.text.as_str())];
        parts.extend(prompt.images.iter().cloned().map(Part::Image));
        let said = Message::new(Role::User, parts);
        self.remind(estimate_message(&said), interrupt, listener).await;
        self.conversation.append(said);
        let ending = driver::drive(self, &before, interrupt, listener).await;
        self.last = Some((prompt, before, messages));
        ending
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

    /// Discards what the last prompt has led to and sends that prompt again, behind what the user has added since; `None` where
    /// nothing was said. What tools have changed stays as it is, and so does what the user has refused: the model is told of it.
    /// [`undo`](Self::undo) takes it back.
    pub async fn retry(&mut self, interrupt: &Interrupt, listener: &mut dyn Listen) -> Option<Ending> {
        let (prompt, before, messages) = self.last.take()?;
        let refused = self.refused_since(messages);
        self.discard();
        self.conversation.restore(before);
        let beside = std::mem::take(&mut self.beside);
        for message in beside.into_iter().chain(refused) {
            self.conversation.append(message);
        }
        self.begin_anew();
        Some(self.prompt(prompt, interrupt, listener).await)
    }

    fn discard(&mut self) {
        self.discarded = Some((self.conversation.earlier(), self.conversation.pins().to_vec()));
    }

    /// What the user has refused from this message on, as the model is told of it where the calls are gone.
    fn refused_since(&self, first: usize) -> Option<Message> {
        let since = self.conversation.history().messages().get(first..)?;
        let call = |id: &str| {
            since
                .iter()
                .flat_map(|message| message.calls())
                .find(|call| &*call.id == id)
        };
        let refused = since
            .iter()
            .flat_map(|message| message.tool_results())
            .filter_map(|result| {
                let Some(refusal::Refusal::User(said)) = &result.refusal else {
                    return None;
                };
                let call = call(&result.call_id)?;
                let tool = self.parts.tools.iter().find(|tool| tool.spec().name == call.tool);
                let about = tool.map(|tool| tool.describe(&call.parameters)).unwrap_or_default();
                let said = if said.is_empty() {
                    ""
                } else {
                    &format!(", and said: {said}")
                };
                Some(format!("- {} {about}: the user said no{said}", call.tool))
            });
        let refused: Vec<String> = refused.collect();
        let text = format!(
            "The user has refused these calls before; that holds:\n{}",
            refused.join("\n")
        );
        (!refused.is_empty()).then(|| injected(&text))
    }

    /// Takes the last [`retry`](Self::retry) or [`clear`](Self::clear) back, with all that was said since; says no where there is
    /// none. Once more, and that is back.
    pub fn undo(&mut self) -> bool {
        let Some((earlier, pins)) = self.discarded.take() else {
            return false;
        };
        self.discard();
        self.conversation.restore(earlier);
        for pin in pins {
            self.conversation.pin(pin);
        }
        (self.last, self.asked) = (None, None);
        self.beside.clear();
        self.begin_anew();
        true
    }

    /// Another conversation than the one that was sent is the next to be sent.
    fn begin_anew(&mut self) {
        self.sent = None;
        self.broken.clear();
        let calls = self
            .conversation
            .history()
            .messages()
            .iter()
            .flat_map(|message| message.calls());
        self.call_ids = calls.map(|call| call.id.clone()).collect();
    }

    /// Compacts because the user asks. The instructions stand in the summary as the user's own words, what they
    /// name is quoted in it before other things, and a model that writes one is told them. Where that fails or is interrupted, the listener is told, and the conversation stands as
    /// it was.
    ///
    /// # Errors
    /// As for [`Conversation::compact`].
    pub async fn compact(
        &mut self,
        instructions: Option<&str>,
        interrupt: &Interrupt,
        listener: &mut dyn Listen,
    ) -> Result<(), Refusal> {
        let instructions = instructions.map(|words| self.hidden(words));
        compaction::compact_as_asked(self, instructions.as_deref(), interrupt, listener).await
    }

    /// Everything that was said, fit to be sent to a model: calls whose tools run at this moment are answered with a word
    /// about that.
    pub fn said(&self) -> Vec<Arc<Message>> {
        let mut said = self.conversation.history().messages().to_vec();
        said.extend(self.answers_in_place().map(Arc::new));
        said
    }

    /// Answers in the place of those that the last step's calls will have; none if they have them.
    fn answers_in_place(&self) -> Option<Message> {
        let last = self.conversation.history().messages().last()?;
        let open = last.parts.iter().filter_map(|part| match part {
            Part::ToolCall(call) => Some(ToolResult::new(call.id.clone(), None, NO_RESULT_YET)),
            _ => None,
        });
        let open: Vec<ToolResult> = open.collect();
        (!open.is_empty()).then(|| Message::results(open))
    }

    /// What [`compact`](Self::compact) with the template's summary would come to as things stand; nothing is changed.
    ///
    /// # Errors
    /// As for [`Conversation::compact`].
    pub fn compact_dry(&self, instructions: Option<&str>) -> Result<Notice, Refusal> {
        let mut tried = self.conversation.clone();
        if let Some(answers) = self.answers_in_place() {
            tried.append(answers);
        }
        compaction::instruct(&mut tried, instructions);
        tried.compact(Due::whole(Reason::Asked))
    }

    /// Goes on from what was said elsewhere, as if it had been said here. Calls without an answer get one. `told` is what the model is to
    /// know of that beside it.
    pub fn take_over(&mut self, messages: Vec<Message>, told: &str) {
        let mut view = View::new(messages);
        strategy::pair(&mut view);
        for message in view.messages {
            self.conversation.append(message);
        }
        self.begin_anew();
        self.tell(told);
    }

    /// Begins anew: nothing was said. [`undo`](Self::undo) takes that back. What was billed stays billed, the breaks of the cache stay on record beside it, and what
    /// a provider has taught of its limit stays learned.
    pub fn clear(&mut self) {
        let economics = self.conversation.economics().clone();
        let mut conversation = Conversation::new(*self.conversation.config(), weight(&self.specs)).under(economics);
        if let Some(system) = self.conversation.history().messages().first() {
            conversation.append(system.clone());
        }
        conversation.begin_behind(&self.conversation);
        self.discard();
        self.conversation = conversation;
        self.asked = None;
        self.kept_alive = 0;
        self.last = None;
        self.beside.clear();
        self.begin_anew();
        if let Some(witness) = &mut self.witness {
            witness.cleared();
        }
    }

    /// Has each request told to somebody who keeps figures of them.
    pub fn watched_by(&mut self, witness: Box<dyn Witness>) {
        self.witness = Some(witness);
    }

    /// Has all that is said told to somebody who keeps it: each prompt, answer and output once it is there.
    pub fn kept_by(&mut self, keeper: Box<dyn Keep>) {
        self.keeper = Some(keeper);
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
    pub fn glances(&self) -> Glances {
        self.glances.clone()
    }

    /// What the tools' definitions weigh in each request, in estimated tokens.
    pub fn overhead(&self) -> Tokens {
        weight(&self.specs)
    }

    /// Runs a command line that the user has typed, with a tool that takes one as `command`, and puts what came of it
    /// into the conversation, bounded. Nobody is asked: the user wants it.
    pub async fn run_for_user(&mut self, tool: &dyn Tool, line: &str, live: Live, interrupt: &Interrupt) -> Output {
        let parameters = Parameters::new([("command".to_owned(), line.into())].into_iter().collect());
        let permitted = tool.needs(&parameters).unwrap_or_default();
        let output = {
            let call = tool.call(Call {
                parameters: &parameters,
                permitted: &permitted,
                conversation: &self.conversation,
                live,
                interrupt: interrupt.clone(),
            });
            tokio::select! {
                biased;
                output = call => output,
                never = self.glances.given(self) => match never {},
            }
        };
        let most = step::SHOWN.min(self.conversation.config().window() as usize / 2);
        let shown = self
            .conversation
            .bounded(output.text.clone(), (most * 2 / 3, most / 3), "Bash");
        let status = if output.success { "it succeeded" } else { "it failed" };
        let head =
            format!("The user ran a command in the shell; {status}. This is what it printed, not what the user says:");
        let line = self.hidden(line);
        let text = Text {
            // It stands where reminders do, and must not look like one.
            body: reminder::escape(&format!("{head}\n$ {line}\n{}", shown.body.as_str().trim_end())).into(),
            origin: Origin::Injected,
            ..shown
        };
        self.add_beside(Message::new(Role::User, vec![Part::Text(text)]));
        output
    }

    /// Appends what the user's side says beside a prompt. It stays where the prompt before it is sent again.
    fn add_beside(&mut self, message: Message) {
        self.beside.push(message.clone());
        self.conversation.append(message);
    }

    /// Tells the model what the user has pinned, with the next request: a summary tells it only from the next compaction on.
    pub fn tell_pinned(&mut self, pinned: &str) {
        self.tell(&format!("The user has pinned this; it is to stay in sight:\n{pinned}"));
    }

    /// Tells the model something beside what the user says, with the next request.
    fn tell(&mut self, text: &str) {
        self.add_beside(injected(text));
    }

    /// Tells the user something of the instructions, once for each prompt.
    pub(crate) fn notice(&mut self, notice: String, listener: &mut dyn Listen) {
        if !self.notices.contains(&notice) {
            listener.on(Event::Notice(notice.clone()));
            self.notices.push(notice);
        }
    }

    /// Gathers what the model is to know beside the conversation, before a prompt of this estimate. What is as it was changes
    /// no byte, and an interruption leaves all of it as it was.
    async fn remind(&mut self, prompt: Tokens, interrupt: &Interrupt, listener: &mut dyn Listen) {
        let world = Arc::clone(&self.parts.world);
        let instructions = instructions::gather(&*world);
        for notice in &instructions.notices {
            if !self.notices.contains(notice) {
                listener.on(Event::Notice(notice.clone()));
            }
        }
        self.notices = instructions.notices;
        self.nearer = Nearer::default();
        let environment = world.environment();
        let git_status = tokio::select! {
            biased;
            status = world.git_status(interrupt.clone()) => status,
            never = self.glances.given(self) => match never {},
        };
        if interrupt.is_thrown() {
            return;
        }
        let messages = &self.conversation.view().messages;
        let instructions = Some(&*instructions.text).filter(|text| !text.is_empty());
        let gone = |kind, told| reminder::current(messages, kind).map(|_| told);
        let instructions = instructions.or_else(|| gone(ReminderKind::Instructions, NO_INSTRUCTIONS));
        let git_status = git_status.as_deref();
        let git_status = git_status.or_else(|| gone(ReminderKind::GitStatus, NO_REPOSITORY));
        let contents = [
            (ReminderKind::Instructions, instructions),
            (ReminderKind::Environment, Some(&*environment)),
            (ReminderKind::GitStatus, git_status),
        ];
        let mut contents: Vec<_> = contents
            .into_iter()
            .filter_map(|(kind, content)| Some((kind, content?)))
            .collect();
        // The model reads the figures in a request that holds the prompt and these reminders as well.
        let others = reminder::update(messages, &contents);
        let more = prompt.saturating_add(others.as_ref().map_or(0, estimate_message));
        let token_status = token_status(&self.conversation.state_with(more, "", 0));
        contents.push((ReminderKind::TokenStatus, &*token_status));
        if let Some(message) = reminder::update(messages, &contents) {
            self.conversation.append(message);
        }
    }
}

/// What the model is told beside what the user says.
fn injected(text: &str) -> Message {
    // It stands where reminders do, and must not look like one.
    let part = Part::Text(Text::new(reminder::escape(text), Origin::Injected));
    Message::new(Role::User, vec![part])
}

/// What the model is told of how full the window is. What does not fit is compacted before it is sent.
fn token_status(state: &TokenState) -> String {
    format!(
        "{} of {} tokens of the window are in use ({:.0} %).",
        state.current.min(state.capacity),
        state.capacity,
        state.percent_used.min(100.0)
    )
}

/// The economics under which a model is asked. Where nobody knows its price, the usual rules hold.
fn economics(model: &dyn Model, preset: Preset) -> Economics {
    let card = model.profile().price.clone().unwrap_or_else(price::usual);
    Economics::new(card).preset(preset)
}

/// When a session with this model compacts. As much of the window is kept free as an answer is asked to be.
fn config(profile: &Profile) -> CompactionConfig {
    CompactionConfig::new(profile.window).reserving(profile.max_output.min(MOST_OUTPUT))
}

/// What the tools' definitions weigh in each request, in estimated tokens.
fn weight(specs: &[ToolSpec]) -> Tokens {
    let bytes = specs
        .iter()
        .map(|spec| spec.name.len() + spec.description.len() + spec.parameters.to_string().len());
    estimate_bytes(bytes.sum())
}
