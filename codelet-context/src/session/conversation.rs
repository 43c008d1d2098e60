//! The conversation of a session: its history, the view that would be sent, and the edits that shrink the view.

mod asked;
mod bare;
mod due;
mod earlier;
mod edits;
mod light;
mod point;
mod undo;
mod warned;
mod wished;
mod withdraw;

use crate::budget::breaks::{Break, Cause};
use crate::budget::economics::{Economics, Edges};
use crate::budget::economy::Economy;
use crate::budget::occupancy::Occupancy;
use crate::budget::policy::{CompactionConfig, Guard, Stuck};
use crate::budget::token_floor;
use crate::budget::tracker::{TokenState, TokenTracker};
use crate::budget::usage::Usage;
use crate::compact::{Size, StandingCut};
use crate::evidence::facts::Facts;
use crate::history::History;
use crate::message::cut;
use crate::message::note::Note;
use crate::message::pending;
use crate::message::pin::{Pin, Pins};
use crate::message::recall::{Archive, Handle, Removed};
use crate::message::todo::TodoList;
use crate::message::tokens::Tokens;
use crate::message::view::View;
use crate::message::{Message, Origin, Role, Text, ToolResult};
use crate::strategy;
use crate::text::body::Body;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::Arc;

pub use bare::Texts;
pub use due::Due;
pub use earlier::Earlier;
pub use edits::{DoesNotFit, Edit, Refusal};
pub use point::Point;
pub use wished::Declined;
pub use withdraw::{PartPosition, Withdrawn};

/// The reported cost of one reply.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Report {
    /// The four counts.
    pub usage: Usage,
    /// The part of the output that was thinking.
    pub reasoning: Tokens,
    /// True if the reply is complete; an interrupted one was counted only in part.
    pub is_whole: bool,
}

/// Conditions that the session knows and the conversation does not: the user's request, and the cache's age.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Signals {
    /// True if the user requests a compaction.
    pub is_asked: bool,
    /// True if the model requests one and was [granted](Conversation::wished) it.
    pub is_wished: bool,
    /// True if the cache has expired.
    pub is_cold: bool,
}

/// The origin of removed content.
#[derive(Clone, PartialEq, Debug)]
pub struct Removal<'a> {
    /// The content, the tool that produced it, and the reason for its removal.
    pub removed: &'a Removed,
    /// The compaction that first removed it, numbered from one; `None` for content that was shortened before it was
    /// ever shown.
    pub edit: Option<(usize, &'a Edit)>,
}

/// A conversation with a model, in memory.
///
/// The history only grows. The view, which is what would be sent, is extended together with it. Other changes to the
/// view are made only by methods documented to do so: [`compact`](Self::compact) and its variants,
/// [`undo_compact`](Self::undo_compact), and [`append`](Self::append) after a reply that the provider has not finished.
#[derive(Clone, Debug)]
pub struct Conversation {
    /// Shared, so that an earlier state is cheap to keep; see [`Earlier`].
    history: Arc<History>,
    view: View,
    shown: Size,
    config: CompactionConfig,
    /// The estimated tokens of each request besides its messages, for example the tool definitions.
    overhead: Tokens,
    /// Estimates of the content that no compaction removes: the system prompt, the first reminders, and the newest
    /// prompt.
    system: Tokens,
    reminders: Tokens,
    newest_prompt: Tokens,
    tracker: TokenTracker,
    occupancy: Occupancy,
    doubted: Option<(Tokens, Tokens)>,
    attempts: Attempts,
    /// The cut of standing texts in the last compaction, and its trigger.
    cut: Option<(Tokens, StandingCut)>,
    pins: Pins,
    snapshots: Vec<undo::Snapshot>,
    edits: Vec<Edit>,
    /// Counts changes to the view other than appends: of two views with the same revision, one is a prefix of the
    /// other.
    revision: u64,
    /// The edit that removed an entry: the first one, or the first since the entry came back.
    removed_by: BTreeMap<Handle, usize>,
    economy: Economy,
    /// The results that light edits left, by call id: they stay that way in every later view.
    masks: HashMap<Arc<str>, ToolResult>,
    /// The focus of the next compactions.
    focus: Option<String>,
    /// Replacements for messages of the history, by index: without the parts that a provider refused.
    withdrawn: BTreeMap<usize, Arc<Message>>,
    /// The history with these replacements; `None` if nothing was refused.
    told: Option<Arc<History>>,
    /// Pictures that the current model refused.
    refused: Vec<withdraw::Refused>,
    /// The instruction for reading back removed content; `None` if the model has the tool for it.
    reading_back: Option<&'static str>,
    /// The texts that it still has, and the message of the history before which others were dropped.
    texts: Texts,
    bare_until: usize,
}

/// The attempts to make the conversation fit, which begin anew once the user changes something or a part is withdrawn.
#[derive(Clone, Copy, Debug, Default)]
struct Attempts {
    guard: Guard,
    stuck: Option<Stuck>,
    /// The number of refusals since the last reply.
    refusals: u32,
    is_refused: bool,
    /// True if the refused request would be refused again: reserving less output is not enough.
    must_shrink: bool,
    /// True if the user was warned that the last compaction left little room.
    was_close: bool,
}

impl Conversation {
    /// Creates an empty conversation. `overhead` estimates the tokens of each request besides its messages: tool
    /// definitions, and the system prompt if it is not a message.
    pub fn new(config: CompactionConfig, overhead: Tokens) -> Self {
        let mut occupancy = Occupancy::default();
        occupancy.appended(overhead);
        Conversation {
            history: Arc::default(),
            view: View::default(),
            shown: Size::default(),
            config,
            overhead,
            system: 0,
            reminders: 0,
            newest_prompt: 0,
            tracker: TokenTracker::default(),
            occupancy,
            doubted: None,
            attempts: Attempts::default(),
            cut: None,
            pins: Pins::default(),
            snapshots: Vec::new(),
            edits: Vec::new(),
            revision: 0,
            removed_by: BTreeMap::new(),
            economy: Economy::new(Economics::default(), config.window(), overhead),
            masks: HashMap::new(),
            focus: None,
            withdrawn: BTreeMap::new(),
            told: None,
            refused: Vec::new(),
            reading_back: None,
            texts: Texts::All,
            bare_until: 0,
        }
    }

    /// Adapts the conversation to a model without the tool `Recall`: the notice of a summary explains with this text
    /// how to read back removed content, or not at all if the text is empty. See
    /// [`Options::reading_back`](crate::compact::Options::reading_back).
    pub fn reading_back(mut self, words: &'static str) -> Self {
        self.reading_back = Some(words);
        self
    }

    /// Returns the conversation with these prices and this preset.
    pub fn under(mut self, economics: Economics) -> Self {
        self.set_economics(economics);
        self
    }

    /// Appends a message without a report: a prompt, reminders, results, or a reply of unknown cost. A conversation
    /// without any [reported](Self::replied) request is edited at a full window and never for its price. Takes time
    /// linear in the size of the message. If the provider paused in the last reply and this message does not continue
    /// it, a marker replaces the unfinished operation, since no provider accepts it back.
    pub fn append(&mut self, message: impl Into<Arc<Message>>) {
        let estimate = self.grow(message.into());
        self.occupancy.appended(estimate);
    }

    /// Appends a reply with its reported cost. The request contained everything appended before, and must be
    /// [announced](Self::sending) before it is made.
    pub fn replied(&mut self, reply: impl Into<Arc<Message>>, report: Report) {
        let held = self.view.messages.len();
        let estimate = self.grow(reply.into());
        self.take(report, estimate, held);
    }

    /// Records the cost of a request that was interrupted before its first output and so left no message.
    pub fn reported(&mut self, report: Report) {
        self.take(report, 0, self.view.messages.len());
    }

    /// Records the cost of resending the last request to keep the cache alive: it counts as a request and changes
    /// nothing else.
    pub fn kept_alive(&mut self, usage: Usage) {
        self.economy.kept_alive(usage);
    }

    /// Records that the provider refused the request as too long; the limit that it reports replaces the configured
    /// one. If it also counts the prompt's tokens, that count is as good as one in a reply's usage.
    pub fn refused(&mut self, named: Option<Tokens>, counted: Option<Tokens>) {
        let counted = counted.filter(|&prompt| prompt > 0 && !self.is_doubtful(prompt, self.view.messages.len(), 0));
        if let Some(prompt) = counted {
            self.occupancy.replied(Usage::from_exclusive(prompt, 0, 0, 0), 0, true);
        }
        let (tried, reserved) = (self.occupancy.next_request(), self.config.reserved());
        self.config.refused(named, tried);
        self.attempts.must_shrink = self.config.reserved() >= reserved || tried > self.config.limit();
        self.attempts.refusals = self.attempts.refusals.saturating_add(1);
        self.attempts.is_refused = true;
    }

    /// Returns whether this token count is implausible for the request with the first `held` messages, whose estimate
    /// is `since` less than that of the current view: fewer tokens than its text can have, or far too many.
    fn is_doubtful(&self, prompt: Tokens, held: usize, since: Tokens) -> bool {
        let sent = self.shown.tokens.saturating_sub(since);
        token_floor::is_too_little(prompt, &self.view.messages[..held], sent)
            || token_floor::is_too_much(prompt, sent.saturating_add(self.overhead))
    }

    /// Closes the last reply if it has an unfinished operation that the provider will not continue.
    fn close_last_reply(&mut self) {
        // It can only be open if nothing but answers to its calls follows it.
        let is_answers = |message: &&Arc<Message>| message.role == Role::User && pending::goes_on(message);
        let behind = self.view.messages.iter().rev().take_while(is_answers).count();
        let Some(at) = self.view.messages.len().checked_sub(behind + 1) else {
            return;
        };
        if !pending::is_open(&self.view.messages[at]) {
            return;
        }
        let closed = Arc::new(pending::close(&self.view.messages[at], &mut self.view.archive));
        self.economy.changed(at, &closed);
        let old = std::mem::replace(&mut self.view.messages[at], closed);
        self.shown = self.shown.with(&old, &self.view.messages[at]);
    }

    fn grow(&mut self, message: Arc<Message>) -> Tokens {
        if !pending::goes_on(&message) {
            self.close_last_reply();
        }
        Arc::make_mut(&mut self.history).append(message.clone());
        let number = self.history.messages().len() - 1;
        let message = self.without_refused(message, number);
        if let Some(told) = self.told.as_mut().filter(|told| told.messages().len() == number) {
            Arc::make_mut(told).append(message.clone());
        }
        let tokens = self.standing().estimates().last().copied().unwrap_or(0);
        if message.is_prompt() {
            self.newest_prompt = tokens;
        } else if message.role == Role::System {
            self.system += tokens;
        } else if message.role == Role::User && self.newest_prompt == 0 {
            self.reminders += tokens;
        }
        self.shown.messages += 1;
        self.shown.tokens += tokens;
        self.shown.bytes += strategy::bytes(&message) as u64;
        let ratio = self.occupancy.ratio();
        let pinned = self.pins.messages();
        self.economy.append(&message, number, ratio, &pinned);
        self.view.messages.push(message);
        tokens
    }

    /// Computes now what the next edit will ask for, if one may be near: for its price, or because the window is half
    /// full. Never needed: it saves the edit the time when it is called while nothing else is to be done, as while a
    /// provider answers.
    pub fn prepare_edit(&self) {
        let may_be_edited_soon = self.economy.edits() || self.occupancy.next_request() >= self.config.trigger() / 2;
        if may_be_edited_soon && self.texts > Texts::Newest {
            self.history.ranking();
        }
    }

    fn take(&mut self, report: Report, estimate: Tokens, held: usize) {
        self.economy.reported(report.usage, &self.view.messages[..held]);
        let prompt = report.usage.prompt();
        let sent = self.shown.tokens.saturating_sub(estimate);
        if prompt > 0 && self.is_doubtful(prompt, held, estimate) {
            // An uncounted prompt is estimated, or the window would fill unnoticed.
            self.occupancy.rebuilt(self.shown.tokens.saturating_add(self.overhead));
            self.doubted = Some((prompt, sent.saturating_add(self.overhead)));
        } else {
            self.occupancy.replied(report.usage, estimate, report.is_whole);
        }
        if prompt > 0 {
            self.tracker.report(report.usage, report.reasoning);
            let occupancy = self.occupancy.next_request();
            if self.doubted.is_some_and(|(doubted, _)| doubted == prompt) && prompt > occupancy {
                // The implausible count must not cause an edit for its price, either.
                self.tracker.rebuilt(occupancy);
            }
            self.attempts.refusals = 0;
            self.attempts.is_refused = false;
        }
    }

    /// The full history.
    pub fn history(&self) -> &History {
        &self.history
    }

    /// The last report of implausibly few or many tokens for a prompt, with the estimate of that prompt; such a report
    /// is ignored in favour of the estimate.
    pub fn doubted(&self) -> Option<(Tokens, Tokens)> {
        self.doubted
    }

    /// The messages that would be sent, and everything that was ever removed from them.
    pub fn view(&self) -> &View {
        &self.view
    }

    /// The recent ratio of counted to estimated tokens.
    pub fn density(&self) -> f64 {
        self.occupancy.ratio()
    }

    /// The size of the view, as an estimate of its messages alone.
    pub fn shown(&self) -> Size {
        self.shown
    }

    /// The usage of the last request, and the total.
    pub fn tokens(&self) -> &TokenTracker {
        &self.tracker
    }

    /// The settings for compaction.
    pub fn config(&self) -> &CompactionConfig {
        &self.config
    }

    /// Changes the model or the settings. Failed attempts to compact are forgotten.
    pub fn configure(&mut self, config: CompactionConfig) {
        self.config = config;
        self.refused.clear();
        let economics = self.economy.economics().clone();
        self.economy.configure(economics, self.config.window());
        self.attempts = Attempts::default();
    }

    /// Changes the prices or the preset.
    pub fn set_economics(&mut self, economics: Economics) {
        self.economy.configure(economics, self.config.window());
    }

    /// The prices, and the preset for edits of sent history.
    pub fn economics(&self) -> &Economics {
        self.economy.economics()
    }

    /// Announces a request with the current view; `is_cold` means that the cache has expired since the last one.
    /// Returns the positions up to which the request should be readable from the cache, for providers that need cache
    /// markers: under a card with [marks](crate::budget::price::PriceCard::marks), edits for their price rely on a
    /// marker there.
    ///
    /// A request that is only reported is assumed to have no such marker and a live cache. Under a card with marks, an
    /// edit must then pay for rewriting the whole prefix, so edits are few and late.
    pub fn sending(&mut self, is_cold: bool) -> Edges {
        self.economy.sending(is_cold)
    }

    /// The positions up to which the last request was readable, and the expected position of the next edit.
    pub fn readable_edges(&self) -> Edges {
        self.economy.edges()
    }

    /// Continues the session of an earlier conversation: its breaks stay on record, followed by one for this change.
    pub fn begin_behind(&mut self, earlier: &Conversation) {
        self.economy.begin_behind(&earlier.economy);
    }

    /// Announces that the next request goes to another model, whose cache holds none of the conversation.
    pub fn goes_elsewhere(&mut self) {
        self.economy.goes_elsewhere(Cause::Model);
    }

    /// Announces changed tool definitions. They precede all messages, so nothing of the last request can be read from a
    /// cache. `overhead` estimates the tokens of each request besides its messages.
    pub fn has_other_tools(&mut self, overhead: Tokens) {
        self.weighs_beside(overhead);
        self.economy.goes_elsewhere(Cause::Tools);
    }

    fn weighs_beside(&mut self, overhead: Tokens) {
        match overhead.checked_sub(self.overhead) {
            Some(more) => self.occupancy.appended(more),
            None => self.occupancy.removed(self.occupancy.scale(self.overhead - overhead)),
        }
        self.overhead = overhead;
        self.economy.weighs_beside(overhead);
    }

    /// Every break of the prefix so far, oldest first: edits, changes of models, tools and conversations, expired
    /// caches, and unexplained ones.
    pub fn breaks(&self) -> &[Break] {
        &self.economy.breaks
    }

    /// The number of reported requests of the session; the next break will have the number after it.
    pub fn requests(&self) -> u64 {
        self.economy.requests
    }

    /// The occupancy of the window at the next request. `updated` is the current time in milliseconds since 1970-01-01
    /// UTC.
    pub fn state(&self, model: &str, updated: u64) -> TokenState {
        TokenState::new(self.occupancy.next_request(), self.config.limit(), model, updated)
    }

    /// Lowers the output tokens reserved in the window to the maximum that the model turned out to support. Returns
    /// false if no more was reserved anyway.
    pub fn replies_have_at_most(&mut self, tokens: Tokens) -> bool {
        let is_less = tokens < self.config.reserved();
        if is_less {
            self.config.reserved_output = tokens;
        }
        is_less
    }

    /// Pins content, so that it survives every compaction. Returns false for a message that does not exist, a blank
    /// text, and a duplicate.
    pub fn pin(&mut self, pin: Pin) -> bool {
        let is_there = match pin {
            Pin::Message(index) => index < self.history.messages().len(),
            Pin::Text(_) => true,
        };
        is_there && self.pins.add(pin)
    }

    /// Sets the focus of further compactions: lines with these words, and outputs of calls on the files that they name,
    /// are quoted before others. `None` selects by general importance.
    pub fn attend_to(&mut self, words: Option<&str>) {
        self.focus = words.map(str::to_owned);
    }

    /// Removes a pin; returns false if there is none.
    pub fn unpin(&mut self, pin: &Pin) -> bool {
        let was_there = self.pins.remove(pin);
        if was_there {
            self.attempts = Attempts::default();
        }
        was_there
    }

    /// The pins, in the order in which they were added.
    pub fn pins(&self) -> &[Pin] {
        self.pins.all()
    }

    /// Archives a text that is shown only in part, so that the rest can be read back; for example, a tool output that
    /// was shortened before it was appended.
    pub fn keep(&mut self, body: &Body, tool: &str, reason: &'static str) -> Handle {
        self.view.archive.keep(body, tool, reason)
    }

    /// Prepares a tool output for appending: a longer one is cut in the middle to at most `head` and `tail` bytes, with
    /// a marker between them whose handle restores the whole.
    pub fn bounded(&mut self, output: Body, (head, tail): (usize, usize), tool: &str) -> Text {
        let what = format!("{tool} output");
        let cut = cut::in_the_middle(&output, (head, tail), &what, "bounded", &mut self.view.archive);
        let text = Text::new(output, Origin::Own);
        cut.map_or(text.clone(), |cut| text.cut_to(cut))
    }

    /// The original bytes of removed content, or a range of them; see [`Archive::recall`]. Every handle that was ever
    /// shown works, also after an undo.
    pub fn recall(&self, handle: &str, range: Option<Range<usize>>) -> Option<&str> {
        self.view.archive.recall(handle, range)
    }

    /// The origin of removed content.
    pub fn why(&self, handle: &str) -> Option<Removal<'_>> {
        let removed = self.view.archive.get(handle)?;
        let edit = self.removed_by.get(handle);
        Some(Removal {
            removed,
            edit: edit.and_then(|&number| Some((number + 1, self.edits.get(number)?))),
        })
    }

    /// Everything that was ever removed.
    pub fn archive(&self) -> &Archive {
        &self.view.archive
    }

    /// Facts on files, checks, errors and decisions.
    pub fn facts(&self) -> &Facts {
        self.history.facts()
    }

    /// The valid notes, oldest first, without those that the user dropped.
    pub fn notes(&self) -> Vec<&Note> {
        self.facts().notes.standing(&self.pins.1)
    }

    /// Drops a note, so that no further compaction includes it.
    pub fn drop_note(&mut self, note: Note) {
        self.pins.1.push(note);
    }

    /// The current to-do list.
    pub fn todo(&self) -> &TodoList {
        &self.history.facts().todo
    }
}
