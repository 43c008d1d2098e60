//! A session's conversation: everything said, what would be sent of it, and when and how that becomes smaller.

mod asked;
mod bare;
mod due;
mod earlier;
mod edits;
mod fates;
mod light;
mod point;
mod undo;
mod warned;
mod wished;
mod withdraw;

use crate::budget::breaks::{Break, Cause};
use crate::budget::economics::{Economics, Edges};
use crate::budget::economy::Economy;
use crate::budget::least;
use crate::budget::occupancy::Occupancy;
use crate::budget::policy::{CompactionConfig, Guard, Stuck};
use crate::budget::tracker::{TokenState, TokenTracker};
use crate::budget::usage::Usage;
use crate::compact::{Archived, Cut, Size};
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

pub use due::{Due, EditKind};
pub use earlier::Earlier;
pub use edits::{DoesNotFit, Edit, Refusal};
pub use point::Point;
pub use wished::Declined;
pub use withdraw::{Place, Withdrawn};

/// What one reply was reported to cost.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Report {
    /// The four counts.
    pub usage: Usage,
    /// The share of the output that was thinking.
    pub reasoning: Tokens,
    /// The reply came to its end; an interrupted one was counted only in part.
    pub is_whole: bool,
}

/// What the session knows and the conversation cannot: the user's wish, and what the clock says.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Signals {
    /// The user asks for a compaction.
    pub is_asked: bool,
    /// The model does, and was [granted](Conversation::wished) it.
    pub is_wished: bool,
    /// The cache has expired.
    pub is_cold: bool,
}

/// When and why something was removed.
#[derive(Clone, PartialEq, Debug)]
pub struct Removal<'a> {
    /// What was removed, the tool that it came from, and what removed it.
    pub removed: &'a Removed,
    /// Which compaction removed it first, counted from one, and what that was; none for what was shortened before it
    /// was ever shown.
    pub edit: Option<(usize, &'a Edit)>,
}

/// A conversation with a model, in memory.
///
/// The history only grows. The view, which is what would be sent, grows at its end with it and changes otherwise only in
/// the calls that say so: [`compact`](Self::compact) and its like, [`undo_compact`](Self::undo_compact), and what is
/// [appended](Self::append) to a reply that the vendor has not finished.
#[derive(Clone, Debug)]
pub struct Conversation {
    history: History,
    view: View,
    shown: Size,
    config: CompactionConfig,
    /// Estimate of what each request holds beside the messages: the tool definitions, for example.
    overhead: Tokens,
    /// Estimates of what no compaction takes away: the system prompt, the first reminders, and the newest prompt.
    system: Tokens,
    reminders: Tokens,
    newest_prompt: Tokens,
    tracker: TokenTracker,
    occupancy: Occupancy,
    doubted: Option<(Tokens, Tokens)>,
    guard: Guard,
    stuck: Option<Stuck>,
    /// Refusals since the last reply.
    refusals: u32,
    is_refused: bool,
    /// What was refused would be refused again: a shorter answer beside it is not enough.
    must_shrink: bool,
    /// The user was told that the last compaction left little room.
    was_close: bool,
    /// How the last compaction has cut what stands, and the trigger that it met.
    cut: Option<(Tokens, Cut)>,
    pins: Pins,
    snapshots: Vec<undo::Snapshot>,
    edits: Vec<Edit>,
    /// Counts what has changed the view otherwise than at its end: two equal numbers are of views of which one begins the other.
    revision: u64,
    /// Which edit removed something: the first, or the first since it came back.
    removed_by: BTreeMap<Handle, usize>,
    economy: Economy,
    /// The answers that light edits left, by their call: they stay so in every later view.
    masks: HashMap<Arc<str>, ToolResult>,
    /// The messages that the view's archive keeps all of.
    archived: Archived,
    /// What became of the history when it was mended last, if it is not valid.
    valid: Option<History>,
    /// What the next compactions attend to.
    focus: Option<String>,
    /// Messages of the history that are told otherwise, by their number: without what a provider has refused.
    withdrawn: BTreeMap<usize, Arc<Message>>,
    /// The history as those tell it; none where nothing was refused.
    told: Option<Box<History>>,
    /// Pictures that were refused by the model that is asked now.
    refused: Vec<withdraw::Refused>,
    /// How the model reads back what is removed; none where it has the tool.
    reading_back: Option<&'static str>,
    /// Its texts were dropped, and of the history those before this message.
    is_bare: bool,
    bare_until: usize,
}

impl Conversation {
    /// Nothing said yet. `overhead` estimates what each request holds beside its messages, in tokens: tool definitions,
    /// and the system prompt where it is not a message.
    pub fn new(config: CompactionConfig, overhead: Tokens) -> Self {
        let mut occupancy = Occupancy::new();
        occupancy.appended(overhead);
        Conversation {
            history: History::new(),
            view: View::default(),
            shown: Size::default(),
            config,
            overhead,
            system: 0,
            reminders: 0,
            newest_prompt: 0,
            tracker: TokenTracker::new(),
            occupancy,
            doubted: None,
            guard: Guard::new(),
            stuck: None,
            refusals: 0,
            is_refused: false,
            must_shrink: false,
            was_close: false,
            cut: None,
            pins: Pins::default(),
            snapshots: Vec::new(),
            edits: Vec::new(),
            revision: 0,
            removed_by: BTreeMap::new(),
            economy: Economy::new(Economics::default(), config.window(), overhead),
            masks: HashMap::new(),
            archived: Archived::default(),
            valid: None,
            focus: None,
            withdrawn: BTreeMap::new(),
            told: None,
            refused: Vec::new(),
            reading_back: None,
            is_bare: false,
            bare_until: 0,
        }
    }

    /// The same for a model that has no tool `Recall`: a summary's notice says in these words how what is removed is read back, or nothing of
    /// that where they are empty. See [`Options::reading_back`](crate::compact::Options::reading_back).
    pub fn reading_back(mut self, words: &'static str) -> Self {
        self.reading_back = Some(words);
        self
    }

    /// The same under these prices and this preset.
    pub fn under(mut self, economics: Economics) -> Self {
        self.set_economics(economics);
        self
    }

    /// A conversation that was held elsewhere.
    pub fn of(messages: impl IntoIterator<Item = Message>, config: CompactionConfig, overhead: Tokens) -> Self {
        let mut conversation = Conversation::new(config, overhead);
        for message in messages {
            conversation.append(message);
        }
        conversation
    }

    /// Appends a message that no report comes with: a prompt, reminders, results, a reply of unknown cost. A conversation of
    /// whose requests nothing is [reported](Self::replied) is edited when the window is full and never for its price. Takes
    /// time in proportion to its bytes. Where the vendor has paused in the last reply and this is not its continuation, what was
    /// begun there is replaced by a marker: no vendor takes it back so.
    pub fn append(&mut self, message: impl Into<Arc<Message>>) {
        let estimate = self.grow(message.into());
        self.occupancy.appended(estimate);
    }

    /// Appends a reply with what it was reported to cost. The request held everything appended before; it is to be
    /// [announced](Self::sending) before it is made.
    pub fn replied(&mut self, reply: impl Into<Arc<Message>>, report: Report) {
        let held = self.view.messages.len();
        let estimate = self.grow(reply.into());
        self.take(report, estimate, held);
    }

    /// Takes note of what a request cost that left no message, because it was interrupted before its first word.
    pub fn reported(&mut self, report: Report) {
        self.take(report, 0, self.view.messages.len());
    }

    /// Takes note of what it cost to send the last request once more, so that the cache does not expire: it counts among the
    /// requests, and changes nothing.
    pub fn kept_alive(&mut self, usage: Usage) {
        self.economy.kept_alive(usage);
    }

    /// The provider refused the request as too long; the limit that it names replaces the configured one.
    pub fn refused(&mut self, named: Option<Tokens>) {
        self.refused_at(named, None);
    }

    /// The same, where it also says how many tokens the prompt has: that is as good as the report of an answer.
    pub fn refused_at(&mut self, named: Option<Tokens>, counted: Option<Tokens>) {
        let counted = counted.filter(|&prompt| prompt > 0 && !self.is_doubtful(prompt, self.view.messages.len(), 0));
        if let Some(prompt) = counted {
            self.occupancy.replied(Usage::from_exclusive(prompt, 0, 0, 0), 0, true);
        }
        let (tried, reserved) = (self.occupancy.next_request(), self.config.reserved());
        self.config.refused(named, tried);
        self.must_shrink = self.config.reserved() >= reserved || tried > self.config.limit();
        self.refusals = self.refusals.saturating_add(1);
        self.is_refused = true;
    }

    /// Whether the request with the first `held` messages, with `since` estimated tokens less than are shown now, cannot have
    /// been counted as this many tokens: fewer than its text can have, or many more.
    fn is_doubtful(&self, prompt: Tokens, held: usize, since: Tokens) -> bool {
        let sent = self.shown.tokens.saturating_sub(since);
        least::is_too_little(prompt, &self.view.messages[..held], sent)
            || least::is_too_much(prompt, sent.saturating_add(self.overhead))
    }

    /// Puts an end to the last reply where the vendor has not finished it and goes on no more.
    fn close_last_reply(&mut self) {
        // It may still be open only where nothing but answers to its calls stands behind it.
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
        self.history.append(message.clone());
        let number = self.history.messages().len() - 1;
        let message = self.without_refused(message, number);
        if let Some(told) = self.told.as_mut().filter(|told| told.messages().len() == number) {
            told.append(message.clone());
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
        self.economy
            .append(&message, number, self.history.ranking(), ratio, &pinned);
        self.view.messages.push(message);
        tokens
    }

    fn take(&mut self, report: Report, estimate: Tokens, held: usize) {
        self.economy.reported(report.usage, &self.view.messages[..held]);
        let prompt = report.usage.prompt();
        let sent = self.shown.tokens.saturating_sub(estimate);
        if prompt > 0 && self.is_doubtful(prompt, held, estimate) {
            // What nobody has counted is estimated, or the window would fill unseen.
            self.occupancy.rebuilt(self.shown.tokens.saturating_add(self.overhead));
            self.doubted = Some((prompt, sent.saturating_add(self.overhead)));
        } else {
            self.occupancy.replied(report.usage, estimate, report.is_whole);
        }
        if prompt > 0 {
            self.tracker.report(report.usage, report.reasoning);
            let occupancy = self.occupancy.next_request();
            if self.doubted.is_some_and(|(doubted, _)| doubted == prompt) && prompt > occupancy {
                // Nor is anything edited for what such a prompt would have cost.
                self.tracker.rebuilt(occupancy);
            }
            self.refusals = 0;
            self.is_refused = false;
        }
    }

    /// Everything that was ever said.
    pub fn history(&self) -> &History {
        &self.history
    }

    /// The last report that told of fewer or many more tokens than the prompt can have held, with the estimate of that prompt; such a report
    /// is not believed, and the estimate stands.
    pub fn doubted(&self) -> Option<(Tokens, Tokens)> {
        self.doubted
    }

    /// What would be sent, and everything that was ever removed from it.
    pub fn view(&self) -> &View {
        &self.view
    }

    /// How many tokens an estimated token of what was said lately has been worth.
    pub fn density(&self) -> f64 {
        self.occupancy.ratio()
    }

    /// How much is shown, as an estimate of the messages alone.
    pub fn shown(&self) -> Size {
        self.shown
    }

    /// The figures of the last request, and the bill.
    pub fn tokens(&self) -> &TokenTracker {
        &self.tracker
    }

    /// When the session compacts.
    pub fn config(&self) -> &CompactionConfig {
        &self.config
    }

    /// Another model, or other settings. Attempts to compact count from the beginning.
    pub fn configure(&mut self, config: CompactionConfig) {
        self.config = config;
        self.refused.clear();
        let economics = self.economy.economics().clone();
        self.economy.configure(economics, self.config.window());
        self.begin_attempts_anew();
    }

    /// Other prices, or another preset.
    pub fn set_economics(&mut self, economics: Economics) {
        self.economy.configure(economics, self.config.window());
    }

    /// Under which prices, and how readily, what was sent is edited.
    pub fn economics(&self) -> &Economics {
        self.economy.economics()
    }

    /// A request goes out with the view as it stands; `is_cold` says that the cache has expired since the last one. The
    /// answer says up to where the request is to be readable from the cache, for vendors that want marks: under a card that
    /// has [marks](crate::budget::price::PriceCard::marks), edits for their price count on finding a mark there.
    ///
    /// Of a request that is only reported, it is taken that it bears no such mark and that its cache was alive. Under a card
    /// with marks an edit then has to pay for writing everything again, so that there are few, and late ones.
    pub fn sending(&mut self, is_cold: bool) -> Edges {
        self.economy.sending(is_cold)
    }

    /// Up to where the last request was readable, and where the next edit is expected.
    pub fn readable_edges(&self) -> Edges {
        self.economy.edges()
    }

    /// This is the next conversation of a session: the breaks of the one before stay on record, which ends with one of its own.
    pub fn begin_behind(&mut self, earlier: &Conversation) {
        self.economy.begin_behind(&earlier.economy);
    }

    /// The next request goes to another model than the last one, which has nothing of it in its cache.
    pub fn goes_elsewhere(&mut self) {
        self.economy.goes_elsewhere(Cause::Model);
    }

    /// The definitions of the tools are others from here on. They stand before all messages, so nothing of the last request can
    /// be read from a cache. `overhead` estimates what each request holds beside its messages, in tokens.
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

    /// Every break of the prefix so far, oldest first: edits, other models, tools and conversations, expired caches, and those that
    /// nobody planned.
    pub fn breaks(&self) -> &[Break] {
        self.economy.breaks()
    }

    /// How many requests of the session were reported so far: the first break that is yet to come bears the next number.
    pub fn requests(&self) -> u64 {
        self.economy.requests()
    }

    /// How full the window will be at the next request. `updated` is now, in milliseconds since 1970-01-01 UTC.
    pub fn state(&self, model: &str, updated: u64) -> TokenState {
        self.state_with(0, model, updated)
    }

    /// The same once messages of this estimate are appended.
    pub fn state_with(&self, more: Tokens, model: &str, updated: u64) -> TokenState {
        let current = self.occupancy.next_request().saturating_add(self.occupancy.scale(more));
        TokenState::new(current, self.config.limit(), model, updated)
    }

    /// The model was found to give replies of at most so many tokens: no more of the window is kept free for them from here on.
    /// Says no where it was taken to be as few already.
    pub fn replies_have_at_most(&mut self, tokens: Tokens) -> bool {
        let is_less = tokens < self.config.reserved();
        if is_less {
            self.config.reserved_output = tokens;
        }
        is_less
    }

    /// Pins something, so that it survives every compaction. Says no to a message that is not there, a blank text, and
    /// what is pinned already.
    pub fn pin(&mut self, pin: Pin) -> bool {
        let is_there = match pin {
            Pin::Message(index) => index < self.history.messages().len(),
            Pin::Text(_) => true,
        };
        is_there && self.pins.add(pin)
    }

    /// What compactions attend to from now on: lines with these words, and what calls have printed of the files that they
    /// name, are quoted before others. `None`: what is likely to be needed, as usual.
    pub fn attend_to(&mut self, words: Option<&str>) {
        self.focus = words.map(str::to_owned);
    }

    /// Lets go of a pin; says no to what is not pinned.
    pub fn unpin(&mut self, pin: &Pin) -> bool {
        let was_there = self.pins.remove(pin);
        if was_there {
            self.begin_attempts_anew();
        }
        was_there
    }

    /// What is pinned, in the order in which it was.
    pub fn pins(&self) -> &[Pin] {
        self.pins.all()
    }

    /// Keeps a text that is shown only in part, so that the rest can be read back: a tool's output that was bounded
    /// before it was appended, for example.
    pub fn keep(&mut self, body: &Body, tool: &str, reason: &'static str) -> Handle {
        self.view.archive.keep(body, tool, reason)
    }

    /// Lets go of what is kept under a handle, for which there is no room any more: a word about that stands in its place.
    pub fn forget(&mut self, handle: &Handle, told: &str) {
        self.view.archive.forget(handle.as_str(), told);
    }

    /// A tool's output as it is to be appended: where it is longer, cut in the middle to at most `head` and `tail` bytes, with
    /// the whole kept under the handle that stands between them.
    pub fn bounded(&mut self, output: Body, (head, tail): (usize, usize), tool: &str) -> Text {
        let what = format!("{tool} output");
        match cut::in_the_middle(&output, (head, tail), &what, "bounded", &mut self.view.archive) {
            Some((body, handle)) => Text {
                cut: Some(handle),
                ..Text::new(body, Origin::Own)
            },
            None => Text::new(output, Origin::Own),
        }
    }

    /// The original bytes of something removed, or a range of them; see [`Archive::recall`]. Every handle that was ever
    /// shown is answered, also after an undo.
    pub fn recall(&self, handle: &str, range: Option<Range<usize>>) -> Option<&str> {
        self.view.archive.recall(handle, range)
    }

    /// When and why something was removed.
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

    /// What is known of files, checks, errors and decisions.
    pub fn facts(&self) -> &Facts {
        self.history.facts()
    }

    /// The notes that hold, oldest first, without those that the user dropped.
    pub fn notes(&self) -> Vec<&Note> {
        self.facts().notes.standing(&self.pins.1)
    }

    /// Drops a note: no compaction tells it from now on.
    pub fn drop_note(&mut self, note: Note) {
        self.pins.1.push(note);
    }

    /// What is to be done, as last noted.
    pub fn todo(&self) -> &TodoList {
        &self.history.facts().todo
    }
}
