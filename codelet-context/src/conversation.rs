//! A session's conversation: everything said, what would be sent of it, and when and how that becomes smaller.

use crate::body::Body;
use crate::breaks::Break;
use crate::compact::{self, Options, Size, Target, Warning};
use crate::cut;
use crate::economics::{Economics, Edges};
use crate::economy::{Cut, Economy, Way};
use crate::history::History;
use crate::message::{Message, Part, Role, ToolResult};
use crate::notice::Notice;
use crate::occupancy::Occupancy;
use crate::outcome::Facts;
use crate::pin::{Pin, Pins};
use crate::policy::{AIM, CompactionConfig, Guard, Pressure, Progress, Reason, Stuck};
use crate::recall::{Archive, Handle, Removed};
use crate::reminder;
use crate::strategy::{self, Limits, thinking_prune};
use crate::summary_request::{self, Answer, Failure, SummaryRequest};
use crate::todo::TodoList;
use crate::tokens::{self, Tokens};
use crate::tracker::{TokenState, TokenTracker};
use crate::trim;
use crate::usage::Usage;
use crate::validate::{Vendor, Violation, validate};
use crate::view::View;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// A saving below this share is worth a warning.
const MODEST_SAVING: f64 = 0.6;
/// After this many refusals in a row, each followed by a compaction, another one would be a loop.
const REFUSALS: u32 = 3;

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
    /// The cache has expired.
    pub is_cold: bool,
}

/// An edit point: a moment at which what had already been sent was changed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Edit {
    /// Why.
    pub reason: Reason,
    /// How many messages the history held then.
    pub at: usize,
    /// Tokens before.
    pub before: Tokens,
    /// Tokens after, on the same basis.
    pub after: Tokens,
    /// The user has taken it back.
    pub is_undone: bool,
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

/// Why a conversation was not compacted. It stands as it was.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// Compacting again would be a loop.
    Stuck(Stuck),
    /// Calls of the last step have no answer yet: a compaction belongs between two requests.
    OpenCalls(usize),
    /// What was built breaks a rule of a vendor. Nothing known leads here; the check stands guard.
    Invalid(Vendor, Violation),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Stuck(stuck) => stuck.fmt(f),
            Refusal::OpenCalls(1) => f.write_str("not compacted: a tool call still waits for its answer"),
            Refusal::OpenCalls(count) => write!(f, "not compacted: {count} tool calls still wait for their answers"),
            Refusal::Invalid(vendor, violation) => {
                write!(f, "not compacted: {vendor:?} would refuse what was built: {violation}")
            }
        }
    }
}

impl std::error::Error for Refusal {}

/// What was shown before a compaction.
#[derive(Clone, Debug)]
struct Snapshot {
    before: Before,
    /// Which edit it was.
    edit: usize,
}

#[derive(Clone, Debug)]
enum Before {
    /// The whole view, and the length of the one that took its place: what stands behind that was appended since.
    Whole { messages: Vec<Arc<Message>>, end: usize },
    /// The messages that a light edit changed, where they stand.
    Messages(Vec<(usize, Arc<Message>)>),
}

/// A conversation with a model, in memory.
///
/// The history only grows. The view, which is what would be sent, grows at its end with it and changes otherwise only in
/// the calls that say so: [`compact`](Self::compact) and its like, and [`undo_compact`](Self::undo_compact).
#[derive(Clone, Debug)]
pub struct Conversation {
    history: History,
    view: View,
    shown: Size,
    config: CompactionConfig,
    /// Estimate of what each request holds beside the messages: the tool definitions, for example.
    overhead: Tokens,
    /// Estimates of what no compaction takes away: the system prompt with the first reminders, and the newest prompt.
    head: Tokens,
    newest_prompt: Tokens,
    tracker: TokenTracker,
    occupancy: Occupancy,
    guard: Guard,
    stuck: Option<Stuck>,
    /// Refusals since the last reply.
    refusals: u32,
    is_refused: bool,
    pins: Pins,
    snapshots: Vec<Snapshot>,
    edits: Vec<Edit>,
    /// Which edit removed something first.
    removed_by: BTreeMap<Handle, usize>,
    economy: Economy,
    /// The answers that light edits left, by their call: they stay so in every later view.
    masks: HashMap<Arc<str>, ToolResult>,
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
            head: 0,
            newest_prompt: 0,
            tracker: TokenTracker::new(),
            occupancy,
            guard: Guard::new(),
            stuck: None,
            refusals: 0,
            is_refused: false,
            pins: Pins::default(),
            snapshots: Vec::new(),
            edits: Vec::new(),
            removed_by: BTreeMap::new(),
            economy: Economy::new(Economics::default(), config.window(), overhead),
            masks: HashMap::new(),
        }
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

    /// Appends a message that no report comes with: a prompt, reminders, results, a reply of unknown cost. Takes time in
    /// proportion to its bytes.
    pub fn append(&mut self, message: impl Into<Arc<Message>>) {
        let estimate = self.grow(message.into());
        self.occupancy.appended(estimate);
    }

    /// Appends a reply with what it was reported to cost. The request held everything appended before.
    pub fn replied(&mut self, reply: impl Into<Arc<Message>>, report: Report) {
        let held = self.view.messages.len();
        let estimate = self.grow(reply.into());
        self.take(report, estimate, held);
    }

    /// Takes note of what a request cost that left no message, because it was interrupted before its first word.
    pub fn reported(&mut self, report: Report) {
        self.take(report, 0, self.view.messages.len());
    }

    /// The provider refused the request as too long; the limit that it names replaces the configured one.
    pub fn refused(&mut self, named: Option<Tokens>) {
        self.config.refused(named, self.occupancy.next_request());
        self.refusals = self.refusals.saturating_add(1);
        self.is_refused = true;
    }

    fn grow(&mut self, message: Arc<Message>) -> Tokens {
        self.history.append(message.clone());
        let tokens = self.history.estimates().last().copied().unwrap_or(0);
        if message.is_prompt() {
            self.newest_prompt = tokens;
        } else if message.role == Role::System || (message.role == Role::User && self.newest_prompt == 0) {
            self.head += tokens;
        }
        self.shown.messages += 1;
        self.shown.tokens += tokens;
        self.shown.bytes += strategy::bytes(&message) as u64;
        let (number, ratio) = (self.history.messages().len() - 1, self.occupancy.ratio());
        let pinned = self.pins.messages();
        self.economy
            .append(&message, number, self.history.index(), ratio, &pinned);
        self.view.messages.push(message);
        tokens
    }

    fn take(&mut self, report: Report, estimate: Tokens, held: usize) {
        self.economy.reported(report.usage, held);
        self.occupancy.replied(report.usage, estimate, report.is_whole);
        if report.usage.prompt() > 0 {
            self.tracker.report(report.usage, report.reasoning);
            self.refusals = 0;
            self.is_refused = false;
        }
    }

    /// Everything that was ever said.
    pub fn history(&self) -> &History {
        &self.history
    }

    /// What would be sent, and everything that was ever removed from it.
    pub fn view(&self) -> &View {
        &self.view
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
    /// answer says up to where the request is to be readable from the cache, for vendors that want marks.
    pub fn sending(&mut self, is_cold: bool) -> Edges {
        self.economy.sending(is_cold)
    }

    /// Up to where the last request was readable, and where the next edit is expected.
    pub fn readable_edges(&self) -> Edges {
        self.economy.edges()
    }

    /// Every break of the prefix so far, oldest first: edits, expired caches, and those that nobody planned.
    pub fn breaks(&self) -> &[Break] {
        self.economy.breaks()
    }

    /// How full the window will be at the next request. `updated` is now, in milliseconds since 1970-01-01 UTC.
    pub fn state(&self, model: &str, updated: u64) -> TokenState {
        TokenState::new(self.occupancy.next_request(), self.config.limit(), model, updated)
    }

    /// What presses on the session before the next request.
    pub fn pressure(&self, signals: Signals) -> Pressure {
        let occupancy = self.occupancy.next_request();
        let removable = self.economy.removable(self.occupancy.ratio());
        // An expired cache has no prefix whose rent could fall due.
        let way = if signals.is_cold { None } else { self.way(occupancy) };
        let cold = signals
            .is_cold
            .then(|| self.economy.cold_cut(&self.pins.messages()))
            .flatten();
        Pressure {
            occupancy,
            effective: self.tracker.effective_tokens(self.config.discount),
            removable: match (way, cold) {
                (Some(Way::Trim(cut)), _) | (None, Some(cut)) => cut.removed as Tokens,
                (Some(Way::Below(target)), _) => occupancy.saturating_sub(target),
                (None, None) if signals.is_cold => 0,
                (None, None) => removable,
            },
            is_rent_due: way.is_some(),
            is_cold: signals.is_cold,
            is_asked: signals.is_asked,
            is_refused: self.is_refused,
        }
    }

    fn way(&self, occupancy: Tokens) -> Option<Way> {
        self.economy.way(occupancy, &self.pins.messages())
    }

    /// Whether to compact before the next request, and why. A session that is stuck is told so only where it cannot go
    /// on, or where the user asks.
    pub fn decide(&self, signals: Signals) -> Option<Reason> {
        let reason = self.config.decide(&self.pressure(signals))?;
        let may = self.stuck.is_none() || reason.is_forced() || reason == Reason::Asked;
        may.then_some(reason)
    }

    /// Whether an edit for this reason only puts markers in place of outputs, so that there is nothing to summarise.
    pub fn is_light(&self, reason: Reason) -> bool {
        matches!(self.lighter(reason), Some(Way::Trim(_)))
    }

    fn lighter(&self, reason: Reason) -> Option<Way> {
        let effective = self.tracker.effective_tokens(self.config.discount);
        match reason {
            Reason::Price if !self.config.should_compact(effective) => self.way(self.occupancy.next_request()),
            Reason::Cold => self.economy.cold_cut(&self.pins.messages()).map(Way::Trim),
            _ => None,
        }
    }

    /// Compacts to the size that the settings aim at, with the template's summary. Where the user asks and the
    /// conversation is smaller than that already, what is older than the newest anchor is summarised. An edit for its
    /// price, or of an expired cache, puts markers in place of outputs that nothing refers to any more, and changes
    /// nothing else.
    ///
    /// # Errors
    /// When it would be a loop, or at a wrong moment; the conversation is then as it was. A reason that does not
    /// [force](Reason::is_forced) a compaction need not stop the session.
    pub fn compact(&mut self, reason: Reason) -> Result<Notice, Refusal> {
        match self.lighter(reason) {
            Some(Way::Trim(cut)) => self.trim(reason, cut),
            Some(Way::Below(tokens)) => {
                let done = self.compact_to(tokens, reason);
                self.economy.compacted_to(self.occupancy.next_request());
                done
            }
            None => self.rebuild(reason, self.target(reason), None),
        }
    }

    /// Compacts to at most so many tokens of the window, tool definitions included.
    ///
    /// # Errors
    /// As for [`compact`](Self::compact).
    pub fn compact_to(&mut self, tokens: Tokens, reason: Reason) -> Result<Notice, Refusal> {
        self.rebuild(reason, Target::Budget(self.in_estimate(tokens)), None)
    }

    /// The request for a summary that a model writes. The caller makes it and gives the answer to
    /// [`compact_with_answer`](Self::compact_with_answer).
    pub fn summary_request(&self) -> SummaryRequest {
        SummaryRequest::new(&self.view)
    }

    /// Compacts with the summary that a model has written. If the answer is no summary, the template's is used, and the
    /// notice says so.
    ///
    /// # Errors
    /// As for [`compact`](Self::compact).
    pub fn compact_with_answer(&mut self, reason: Reason, answer: Answer) -> Result<Notice, Refusal> {
        let written = summary_request::accept(answer);
        self.rebuild(reason, self.target(reason), Some(written))
    }

    /// Builds, checks, and swaps; whatever fails, the old view stands.
    fn rebuild(
        &mut self,
        reason: Reason,
        target: Target,
        written: Option<Result<String, Failure>>,
    ) -> Result<Notice, Refusal> {
        if let Some(stuck) = self.stuck {
            return Err(Refusal::Stuck(stuck));
        }
        let open = self.open_calls();
        if open > 0 {
            return Err(Refusal::OpenCalls(open));
        }
        let before = self.weigh(self.shown.tokens);
        if self.is_refused && self.refusals > REFUSALS {
            return Err(self.give_up(before, before));
        }
        let done = compact::compact_with(
            &self.history,
            &Options {
                target,
                pins: &self.pins.messages(),
                notes: &self.pins.texts(),
                written: written.as_ref().and_then(|written| written.as_deref().ok()),
                shown: Some(self.shown),
                archive: Some(&self.view.archive),
            },
        );
        let mut notice = Notice::of(&done);
        let mut view = done.view;
        self.mask_again(&mut view);
        reminder::settle(&mut view);
        // A reminder may have been put between a call and its answer.
        strategy::pair(&mut view);
        for vendor in Vendor::ALL {
            if let Some(violation) = validate(&view, vendor).into_iter().next() {
                return Err(Refusal::Invalid(vendor, violation));
            }
        }
        let size = Size::of(&view.messages);
        notice.changed = size.tokens < self.shown.tokens;
        let after = if notice.changed {
            self.weigh(size.tokens)
        } else {
            before
        };
        let progress = self.guard.after_compaction(before, after, self.config.trigger());
        if let Progress::Stop(_) = progress {
            return Err(self.give_up(before, after));
        }
        (notice.before, notice.after, notice.can_undo) = (before, after, notice.changed);
        notice
            .warnings
            .retain(|warning| !matches!(warning, Warning::SmallSaving { .. }));
        notice.warnings.iter_mut().for_each(|warning| self.restate(warning));
        notice
            .warnings
            .extend(written.and_then(Result::err).map(Warning::NotWritten));
        if notice.changed && ((before - after) as f64) < before as f64 * MODEST_SAVING {
            notice.warnings.push(Warning::SmallSaving { before, after });
        }
        if progress != Progress::Clear {
            let trigger = self.config.trigger();
            notice.warnings.push(Warning::StillClose { after, trigger });
        }
        self.is_refused = false;
        if notice.changed {
            self.swap(
                view,
                size,
                Edit {
                    reason,
                    at: self.history.messages().len(),
                    before,
                    after,
                    is_undone: false,
                },
            );
        }
        Ok(notice)
    }

    fn swap(&mut self, view: View, size: Size, edit: Edit) {
        let edit_number = self.edits.len();
        let messages = std::mem::take(&mut self.view.messages);
        let same = common(&messages, &view.messages);
        let reason = edit.reason;
        self.snapshots.push(Snapshot {
            before: Before::Whole {
                messages,
                end: view.messages.len(),
            },
            edit: edit_number,
        });
        for (handle, _) in view.archive.iter() {
            if self.view.archive.get(handle.as_str()).is_none() {
                self.removed_by.insert(handle.clone(), edit_number);
            }
        }
        self.edits.push(edit);
        self.view = view;
        self.resize(size);
        self.economy
            .rebuilt(Some(reason), &self.view.messages, same, self.occupancy.ratio());
    }

    /// The light edit: markers in place of what is removable from the cut on, with the lines that are most likely to be named
    /// again, and the thinking of finished turns dropped.
    /// Calls, prompts and words stay, and so does everything before the cut.
    fn trim(&mut self, reason: Reason, cut: Cut) -> Result<Notice, Refusal> {
        let open = self.open_calls();
        if open > 0 {
            return Err(Refusal::OpenCalls(open));
        }
        let candidates = self.economy.from(cut.from, &self.pins.messages());
        let excerpts = self.economy.excerpts(&candidates, self.history.index());
        let old: Vec<Arc<Message>> = self.view.messages[cut.from..].to_vec();
        let number = self.edits.len();
        let kept = self.view.archive.len();
        let mut masked = 0;
        for candidate in &candidates {
            let bulk = self.economy.bulk();
            let (part, tool) = (bulk.part(candidate.item), bulk.tool(candidate.item));
            let Some(Part::ToolResult(result)) = self.view.messages[candidate.at].parts.get(part) else {
                continue;
            };
            if bulk.call(candidate.item) != Some(&result.call_id) {
                continue;
            }
            let why = if candidate.is_superseded {
                trim::SUPERSEDED
            } else {
                trim::UNUSED
            };
            let place = bulk.place(candidate.item);
            let left = |body: &Body| excerpts.of(place, body);
            let mask = trim::masked(result, tool, why, left, &mut self.view.archive);
            let call = result.call_id.clone();
            self.economy.removed(candidate);
            if let Some(mask) = mask {
                self.masks.insert(call, mask.clone());
                self.view.messages[candidate.at] = trim::replaced(&self.view.messages[candidate.at], part, mask);
                masked += 1;
            }
        }
        let under_way = self.view.messages.iter().rposition(|message| message.is_prompt());
        let finished = cut.from..under_way.unwrap_or(0).max(cut.from);
        thinking_prune::drop_thinking(&mut self.view, finished, &Limits::default(), &mut Default::default());
        for handle in self.view.archive.since(kept) {
            self.removed_by.insert(handle.clone(), number);
        }
        let before = self.weigh(self.shown.tokens);
        let changed: Vec<(usize, Arc<Message>)> = (cut.from..)
            .zip(old)
            .filter(|(at, old)| !Arc::ptr_eq(&self.view.messages[*at], old))
            .collect();
        for (at, old) in &changed {
            let new = &self.view.messages[*at];
            self.shown.tokens =
                (self.shown.tokens + tokens::estimate_message(new)).saturating_sub(tokens::estimate_message(old));
            self.shown.bytes =
                (self.shown.bytes + strategy::bytes(new) as u64).saturating_sub(strategy::bytes(old) as u64);
        }
        let after = self.weigh(self.shown.tokens);
        let removed = self.economy.trimmed(reason, &cut, &self.view.messages);
        self.occupancy.removed(removed);
        self.tracker.rebuilt(self.occupancy.next_request());
        let is_changed = !changed.is_empty();
        if is_changed {
            self.snapshots.push(Snapshot {
                before: Before::Messages(changed),
                edit: number,
            });
            self.edits.push(Edit {
                reason,
                at: self.history.messages().len(),
                before,
                after,
                is_undone: false,
            });
        }
        Ok(Notice::trimmed(masked, before, after, is_changed))
    }

    /// What was removed once stays removed in a view that was built anew.
    fn mask_again(&self, view: &mut View) {
        if self.masks.is_empty() {
            return;
        }
        for at in 0..view.messages.len() {
            for part in 0..view.messages[at].parts.len() {
                let Part::ToolResult(result) = &view.messages[at].parts[part] else {
                    continue;
                };
                let Some(mask) = self.masks.get(&result.call_id) else {
                    continue;
                };
                if tokens::estimate_result(mask) < tokens::estimate_result(result) {
                    view.messages[at] = trim::replaced(&view.messages[at], part, mask.clone());
                }
            }
        }
    }

    /// The figures of a view that was rebuilt.
    fn resize(&mut self, size: Size) {
        self.shown = size;
        self.occupancy.rebuilt(size.tokens.saturating_add(self.overhead));
        self.tracker.rebuilt(self.occupancy.next_request());
    }

    /// Takes the last compaction back: what was shown before it is shown again, and what was appended since behind it.
    /// Everything that was removed can still be read back. Says no if there is none to take back.
    pub fn undo_compact(&mut self) -> bool {
        let Some(snapshot) = self.snapshots.pop() else {
            return false;
        };
        let old = self.view.messages.clone();
        match snapshot.before {
            Before::Whole { messages, end } => {
                let since = self.view.messages.split_off(end);
                self.view.messages = messages;
                self.view.messages.extend(since);
            }
            Before::Messages(messages) => {
                for (at, message) in messages {
                    for result in message.tool_results() {
                        // What the user wants back is not taken away again.
                        if self.masks.remove(&result.call_id).is_some() {
                            self.economy.exempt(&result.call_id);
                        }
                    }
                    self.view.messages[at] = message;
                }
            }
        }
        self.edits[snapshot.edit].is_undone = true;
        self.resize(Size::of(&self.view.messages));
        let same = common(&old, &self.view.messages);
        self.economy
            .rebuilt(None, &self.view.messages, same, self.occupancy.ratio());
        self.begin_attempts_anew();
        true
    }

    /// Goes back to how this conversation was when `earlier` was cloned from it. What was billed since stays billed, what
    /// a provider has taught of its limit stays learned, and everything that was ever removed can still be read back.
    pub fn restore(&mut self, earlier: Conversation) {
        let later = std::mem::replace(self, earlier);
        self.tracker.keep_bill(&later.tracker);
        self.economy.keep_breaks(&later.economy);
        self.config = later.config;
        self.view.archive.merge(&later.view.archive);
    }

    /// Every edit point so far, oldest first.
    pub fn edits(&self) -> &[Edit] {
        &self.edits
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

    /// A tool's output as it is to be appended: cut in the middle to at most `head` and `tail` bytes, with the whole kept
    /// under the handle that stands between them. `None` where it is short enough.
    pub fn bounded(&mut self, output: &Body, (head, tail): (usize, usize), tool: &str) -> Option<(Body, Handle)> {
        let what = format!("{tool} output");
        cut::in_the_middle(output, (head, tail), &what, "bounded", &mut self.view.archive)
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
    pub fn facts(&self) -> Facts {
        self.history.facts()
    }

    /// What is to be done, as last noted.
    pub fn todo(&self) -> TodoList {
        self.history.facts().todo
    }

    fn target(&self, reason: Reason) -> Target {
        let budget = self.budget();
        if reason == Reason::Asked && self.shown.tokens <= budget {
            Target::Select
        } else {
            Target::Budget(budget)
        }
    }

    /// What the messages may weigh after a compaction, as an estimate. Each refusal after the first halves it: what was
    /// believed to fit did not.
    ///
    /// In a window so small that what always stays takes most of the aim, the aim is a share of the room that is left
    /// beside it: a system prompt that is cut to a marker leaves no agent.
    fn budget(&self) -> Tokens {
        let halvings = self.refusals.saturating_sub(1).min(63);
        let aim = self.in_estimate(self.config.target() >> halvings);
        let room = self.in_estimate(self.config.trigger());
        let stays = self.head + self.newest_prompt.min(room / 4);
        if stays <= aim / 2 {
            return aim;
        }
        let left = room.saturating_sub(stays);
        aim.max(stays + ((left as f64 * AIM) as Tokens >> halvings)).min(room)
    }

    /// Tokens of the window as an estimate of messages.
    fn in_estimate(&self, tokens: Tokens) -> Tokens {
        ((tokens as f64 / self.occupancy.ratio()) as Tokens).saturating_sub(self.overhead)
    }

    /// An estimate of messages as tokens of the window.
    fn weigh(&self, estimate: Tokens) -> Tokens {
        self.occupancy.scale(estimate.saturating_add(self.overhead))
    }

    /// A warning in tokens of the window.
    fn restate(&self, warning: &mut Warning) {
        if let Warning::OverBudget { budget, smallest } = warning {
            (*budget, *smallest) = (self.weigh(*budget), self.weigh(*smallest));
        }
    }

    fn give_up(&mut self, before: Tokens, after: Tokens) -> Refusal {
        let stuck = Stuck {
            before,
            after,
            trigger: self.config.trigger(),
        };
        self.stuck = Some(stuck);
        Refusal::Stuck(stuck)
    }

    fn begin_attempts_anew(&mut self) {
        self.guard.reset();
        self.stuck = None;
    }

    /// The calls of the last step that may still be answered. Once the user has said something, they cannot.
    fn open_calls(&self) -> usize {
        let mut answered: HashSet<&str> = HashSet::new();
        let mut open = 0;
        let mut in_reply = false;
        for message in self.history.messages().iter().rev() {
            match message.role {
                Role::Assistant => {
                    in_reply = true;
                    open += message.calls().filter(|call| !answered.contains(&*call.id)).count();
                }
                _ if in_reply || message.is_prompt() => break,
                _ => answered.extend(message.tool_results().map(|result| &*result.call_id)),
            }
        }
        open
    }
}

/// How many messages at the beginning are the same.
fn common(old: &[Arc<Message>], new: &[Arc<Message>]) -> usize {
    old.iter()
        .zip(new)
        .take_while(|(old, new)| Arc::ptr_eq(old, new))
        .count()
}
