//! The compaction pipeline: selects the messages to keep, summarises the rest, and builds the new view.
//!
//! 1. An invalid history is repaired (`pairing`).
//! 2. The messages to keep are selected: the system prompt, reminders and every prompt, and everything from some point
//!    on.
//! 3. The strategies run over the kept messages, and parts that are too long for the budget are shortened.
//! 4. The rest goes into a summary: the most valuable lines, as many as fit, each below the prompt that they belong to,
//!    then the current state and the next steps.
//! 5. The view is assembled, paired once more, and measured on the same basis as before.
//!
//! The pipeline reads the history and never its own output, so the second compaction of a session is as good as the
//! first.

mod archived;
mod division;
pub(crate) mod draft;
mod fate;
mod fold;
mod mended;
pub mod notice;
mod offered;
pub mod reminder;
mod result;
mod room;
pub(crate) mod select;
pub(crate) mod telling;
mod told;
pub(crate) mod trim;
mod view;

pub(crate) use division::{Rise, StandingCut};
pub(crate) use fold::is_fold;
pub(crate) use room::{PROMPTS_SHARE, UNSEEN_SHARE};

pub use crate::history::turn_index::Size;
pub use crate::ranking::earlier::{Frame, find as find_summary, frame};
pub use result::{Compaction, Fate, FateKind, TurnCount, Warning};

use crate::budget::policy::{CLEARLY_BELOW, CompactionConfig, UNSEEN_PROMPT};
use crate::evidence::anchor::Anchor;
use crate::history::{History, stands};
use crate::message::note::Note;
use crate::message::recall::Archive;
use crate::message::tokens::{self, Tokens};
use crate::message::turn::Turn;
use crate::message::view::View;
use crate::message::{Message, Origin, Part, Role};
use crate::ranking::{Weights, earlier, labels};
use crate::strategy::{self, StrategyCount, StrategyStats, pairing, thinking_prune};
use division::Demand;
use draft::Draft;
use fold::Fold;
use mended::Mended;
use select::Kept;
use std::ops::Range;
use std::sync::Arc;

/// The target size of a compaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Target {
    /// Keep everything from the newest anchor on and summarise the rest, whatever the size.
    #[default]
    Select,
    /// At most this many tokens.
    Budget(Tokens),
    /// Behave like a session with a window of this size: do nothing before the trigger, then go well below it.
    Window(Tokens),
}

/// The target of a compaction, and what the session knows beyond the history.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options<'a> {
    /// The target size.
    pub target: Target,
    /// Messages that the user pinned.
    pub pins: &'a [usize],
    /// Texts that the user pinned.
    pub texts: &'a [&'a str],
    /// Notes that the user dropped.
    pub dropped: &'a [Note],
    /// A summary written by a model: it precedes the record, which does not repeat it.
    pub written: Option<&'a str>,
    /// The size of the current view, if that is not the whole history; the saving is measured against it.
    pub shown: Option<Size>,
    /// The archive of earlier compactions: its entries keep their handles, and the view's archive includes them.
    pub archive: Option<&'a Archive>,
    /// The user's focus for the summary: lines with these words are quoted before others.
    pub focus: Option<&'a str>,
    /// The estimated tokens of each request besides its messages: the tool definitions take up part of the window.
    pub overhead: Tokens,
    /// The weights of sentences and lines; `None` for the built-in weights.
    pub weights: Option<&'a Weights>,
    /// A sentence that says how to read back what is removed, empty if that is not possible; `None` if the model has
    /// the tool `Recall`.
    pub reading_back: Option<&'a str>,
}

impl Options<'_> {
    /// Creates options with nothing but a target.
    pub fn new(target: Target) -> Self {
        Options {
            target,
            ..Options::default()
        }
    }

    /// The closing notice after the summary.
    fn ending(&self) -> String {
        let words = self.reading_back.unwrap_or(labels::BY_TOOL);
        let blank = if words.is_empty() { "" } else { " " };
        format!("{}{blank}{words}", labels::NOTICE)
    }
}

/// A smaller saving than this share causes a warning.
pub(crate) const MODEST_SAVING: f64 = 0.6;

/// Compacts a conversation. Deterministic and without a model; it cannot fail, and the warnings list what was not
/// achieved.
pub fn compact(history: &History, target: Target) -> Compaction {
    compact_with(history, &Options::new(target))
}

/// Compacts a conversation with options; see [`compact`].
pub fn compact_with(history: &History, options: &Options<'_>) -> Compaction {
    compact_session(history, options, SessionOptions::default())
}

/// What a session asks for beyond the options.
#[derive(Clone, Copy, Default)]
pub(crate) struct SessionOptions<'a> {
    /// Messages that are never shortened, even if that exceeds the budget; ascending.
    pub spared: &'a [usize],
    /// The amount by which the view may exceed the target for standing texts and for a prompt that no model has seen.
    pub rise: Option<Rise>,
    /// True if the next request is about to be sent: outputs after the last reply stay whole if possible.
    pub goes_on: bool,
}

/// Compacts the history of a session; see [`compact`].
pub(crate) fn compact_session(history: &History, options: &Options<'_>, known: SessionOptions<'_>) -> Compaction {
    let before = options.shown.unwrap_or_else(|| history.course().size);
    let mended = Mended::of(history, options.archive);
    let pins = mended.places(options.pins);
    let options = &Options {
        pins: &pins,
        ..*options
    };
    let begun = || Work::new(&mended, options, known);
    let work = begun();
    let whole = mended.history.course().size;
    let (budget, fits) = match options.target {
        Target::Select => (None, select::by_anchor(work.turns, &work.anchors).start == 0),
        Target::Budget(budget) => (Some(budget), whole.tokens <= budget),
        Target::Window(window) => (
            Some(room_in(window, options.overhead)),
            before.tokens.saturating_add(options.overhead) <= CompactionConfig::new(window).trigger(),
        ),
    };
    let turns = work.turns.len();
    let (mut compacted, limit) = match fits {
        true => (None, None),
        false => {
            let (compaction, limit) = work.run(budget);
            (Some(compaction), limit)
        }
    };
    if let (Target::Budget(_), Some(over)) = (options.target, &mut compacted)
        && limit.is_some_and(|limit| over.after.tokens > limit)
    {
        // If the budget cannot be met, get as close as possible, so that the smallest size reported is achievable.
        let (nearest, _) = begun().run(Some(0));
        if nearest.after.tokens < over.after.tokens {
            *over = nearest;
        }
    }
    let mut compaction = match compacted {
        Some(smaller) if smaller.after.tokens < whole.tokens => smaller,
        // A conversation that is already small is left unchanged.
        _ => Compaction {
            before: whole,
            after: whole,
            turns: TurnCount {
                total: turns,
                kept: turns,
                summarised: 0,
            },
            fates: vec![Fate::new(FateKind::Kept, "as it was"); mended.history.messages().len()],
            view: View {
                messages: mended.history.messages().to_vec(),
                archive: mended.archive.clone(),
            },
            ..Compaction::default()
        },
    };
    let smallest = compaction.after.tokens;
    // A caller that requested a size gets a warning about that size, however it was divided.
    let limit = match options.target {
        Target::Budget(asked) => limit.map(|_| asked),
        _ => limit,
    };
    if let Some(budget) = limit.filter(|&limit| smallest > limit) {
        compaction.warnings.push(Warning::OverBudget { budget, smallest });
    }
    compaction.before = before;
    compaction.fates = mended.fates(history, compaction.fates);
    let saved = 1.0 - compaction.after.tokens as f64 / before.tokens.max(1) as f64;
    // A caller that requested a size gets that size, whatever it saves.
    let is_asked_for = matches!(options.target, Target::Budget(_));
    if !is_asked_for && compaction.changed && saved < MODEST_SAVING {
        compaction.warnings.push(Warning::SmallSaving {
            before: before.tokens,
            after: compaction.after.tokens,
        });
    }
    compaction.strategies.add(pairing::NAME, mended.count);
    if mended.count.hits > 0 {
        compaction.warnings.push(Warning::Mended {
            places: mended.count.hits,
        });
        compaction.changed = true;
    }
    compaction
}

/// The maximum tokens of messages after a compaction for this window and overhead: at least a twentieth of the window,
/// since tool definitions that fill the window would leave no achievable budget.
fn room_in(window: Tokens, overhead: Tokens) -> Tokens {
    let target = CompactionConfig::new(window).target();
    target.saturating_sub(overhead).max(window / 20)
}

/// The maximum size to which the target of a window may rise, beyond the tool definitions.
fn rise_in(options: &Options<'_>) -> Option<Rise> {
    let Target::Window(window) = options.target else {
        return None;
    };
    let trigger = CompactionConfig::new(window).trigger() as f64;
    let up_to = |part: f64| ((trigger * part) as Tokens).saturating_sub(options.overhead);
    Some(Rise {
        standing: up_to(CLEARLY_BELOW),
        fresh: up_to(UNSEEN_PROMPT),
        cut: None,
    })
}

/// A compaction in progress.
struct Work<'a> {
    history: &'a History,
    options: &'a Options<'a>,
    /// The closing notice.
    ending: String,
    turns: &'a [Turn],
    anchors: Vec<Anchor>,
    /// The messages of the reply that the newest prompt answers, ascending.
    offered: Vec<usize>,
    /// Pinned messages, with the calls or results that belong to them.
    pinned: Vec<Range<usize>>,
    archive: Archive,
    /// The maximum rise of the budget.
    rise: Option<Rise>,
    /// True if the next request is about to be sent.
    goes_on: bool,
    /// The cut of standing texts, if later compactions should repeat it.
    cut: Option<StandingCut>,
    strategies: StrategyStats,
    /// Messages that are never shortened, ascending.
    spared: Vec<usize>,
}

impl<'a> Work<'a> {
    fn new(mended: &'a Mended<'_>, options: &'a Options<'a>, known: SessionOptions<'_>) -> Self {
        let history = &*mended.history;
        let turns = history.course().turns();
        let anchors = history.anchors(turns, options.pins);
        let offered = offered::offered(history.messages(), turns);
        Work {
            history,
            options,
            ending: options.ending(),
            turns,
            anchors,
            offered,
            pinned: pinned(history.messages(), options.pins),
            archive: mended.archive.clone(),
            rise: known.rise.or_else(|| rise_in(options)),
            goes_on: known.goes_on || matches!(options.target, Target::Window(_)),
            cut: None,
            strategies: StrategyStats::default(),
            spared: mended.places(known.spared),
        }
    }

    /// Runs the compaction; returns it with its budget, including any rise of the target.
    fn run(mut self, budget: Option<Tokens>) -> (Compaction, Option<Tokens>) {
        let Some(budget) = budget else {
            let kept = select::by_anchor(self.turns, &self.anchors);
            let mut drafts = self.select(kept.start, kept.start);
            self.apply_strategies(&mut drafts, kept.start);
            return self.finish(kept, drafts, None, None);
        };
        let messages = self.history.messages();
        let last = select::last_complete(messages, self.history.course().steps());
        let outputs = messages[last..].iter().flat_map(|message| &message.parts);
        let outputs = outputs.filter(|part| matches!(part, Part::ToolResult(_)));
        let outputs: Vec<Tokens> = outputs.map(tokens::estimate_part).collect();
        let steps = self.steps_share(budget, last);
        let (mut kept, mut drafts) = self.keep(budget, room::share(budget, steps), last);
        let unread = match self.is_read(last) {
            true => 0,
            false => room::share(budget, room::kept_share(budget, self.history.course().size.tokens)),
        };
        let is_seen = unread == 0 || !self.goes_on && outputs.iter().sum::<Tokens>() > unread;
        let demand = Demand {
            work: &self,
            drafts: &drafts,
            outputs: &outputs,
            is_seen,
        };
        let division = demand.divide(budget);
        let files = division.map_or(demand.files(budget), |division| division.files);
        if let Some(division) = division {
            (kept, drafts) = self.keep(division.budget, division.steps, last);
        }
        let budget = division.map_or(budget, |division| division.budget);
        let output = room::output_cap(budget, self.history.course().size.tokens);
        let limits = room::Limits {
            output,
            last: room::last_cap(outputs, budget, output, is_seen),
            is_seen,
            unread: unread.min(room::share(budget, room::LAST_SHARE)),
            calls: steps,
            standing: division.map(|division| division.standing),
            files,
        };
        self.apply_strategies(&mut drafts, kept.start);
        let (hits, bytes) = draft::drop_free_thinking(&mut drafts, &mut self.archive);
        self.strategies.add(
            thinking_prune::NAME,
            StrategyCount {
                hits,
                bytes_saved: bytes as i64,
            },
        );
        room::shorten(&mut drafts, budget, limits, &mut self.archive);
        self.cut = division.and_then(|division| division.cut);
        let floor = budget.saturating_sub(room::overhead(&drafts, &self.ending));
        let summary = division.map_or(self.least_summary(budget), |division| division.summary);
        room::make_room(&mut drafts, floor.saturating_sub(summary), &mut self.archive);
        if room::squeeze(&mut drafts, floor, &mut self.archive) {
            return self.finish(kept, drafts, None, Some(budget));
        }
        // Still too large: keep only the last step, and fold the oldest prompts.
        let mut drafts = self.last_step(last, budget);
        room::shorten(&mut drafts, budget, limits, &mut self.archive);
        let floor = budget.saturating_sub(self.told_beside_prompts(&drafts, budget));
        let mut fold = match room::squeeze(&mut drafts, floor, &mut self.archive) {
            true => None,
            false => self.fold(&mut drafts, floor),
        };
        let folded = fold.as_ref().map_or(0, Fold::estimate);
        if room::whole(&drafts) + folded > floor {
            // Shorten everything to the minimum at once: a gently cut part cannot always be cut further, and this is
            // the smallest possible result.
            drafts = self.last_step(last, budget);
            let free = drafts.iter_mut().filter(|draft| !draft.spared);
            room::shorten_to_the_end(free, &mut self.archive);
            fold = fold::fold(self.history.messages(), &mut drafts, 0, &mut self.archive);
        }
        let kept = Kept {
            start: last,
            anchor: None,
        };
        self.finish(kept, drafts, fold, Some(budget))
    }

    /// Folds the oldest prompts so that everything takes at most this room; reminders are cut only if nothing is left
    /// to fold.
    fn fold(&mut self, drafts: &mut Vec<Draft>, room: Tokens) -> Option<Fold> {
        let messages = self.history.messages();
        let mut folded = drafts.clone();
        let fold = fold::fold(messages, &mut folded, room, &mut self.archive);
        let weighs = |fold: &Option<Fold>| fold.as_ref().map_or(0, Fold::estimate);
        let over = (room::whole(&folded) + weighs(&fold)).saturating_sub(room);
        if over == 0 {
            *drafts = folded;
            return fold;
        }
        let all = room::whole(drafts);
        room::squeeze_standing(drafts, all.saturating_sub(over), self.rise.is_some(), &mut self.archive);
        fold::fold(messages, drafts, room, &mut self.archive)
    }

    /// The share of a budget for the kept steps: of the room left by prompts and standing texts. The last complete step
    /// begins at `last`.
    fn steps_share(&mut self, budget: Tokens, last: usize) -> f64 {
        let standing = self.select(self.history.messages().len(), last);
        let left = room::left(&standing, budget) as f64 / budget.max(1) as f64;
        left * room::kept_share(budget, self.history.course().size.tokens)
    }

    /// Selects the kept part for a limit of `limit` tokens; returns it with all drafts that stay.
    fn keep(&mut self, budget: Tokens, limit: Tokens, last: usize) -> (Kept, Vec<Draft>) {
        let messages = self.history.messages();
        let output_cap = room::output_cap(budget, self.history.course().size.tokens);
        let weight = |message: usize| room::weigh(&messages[message], output_cap);
        let steps = self.history.course().steps();
        let within = |limit| select::within(limit, messages, self.turns, steps, &self.anchors, weight);
        let mut kept = within(limit.saturating_sub(self.offered_tokens(budget)));
        if self.offered.first().is_some_and(|&offered| offered >= kept.start) {
            // The reply that the newest prompt answers is in the kept part and weighed with it.
            kept = within(limit);
        }
        let mut drafts = self.select(kept.start, last);
        self.shorten_offers(&mut drafts, kept.start, budget);
        (kept, drafts)
    }

    /// The standing messages and the last complete step, which begins at `last`, without thinking that no vendor
    /// requires.
    fn last_step(&mut self, last: usize, budget: Tokens) -> Vec<Draft> {
        let mut drafts = self.select(last, last);
        self.shorten_offers(&mut drafts, last, budget);
        draft::drop_free_thinking(&mut drafts, &mut self.archive);
        drafts
    }

    /// Returns whether a reply follows the outputs of the last complete step, which begins at `last`.
    fn is_read(&self, last: usize) -> bool {
        let mut after = self.history.messages()[last..].iter();
        let reply = after.rfind(|message| message.role == Role::Assistant);
        reply.is_none_or(|reply| reply.calls().next().is_none())
    }

    /// Selects the kept messages: the standing ones before `start`, and everything from there on. The last complete
    /// step begins at `last`.
    fn select(&mut self, start: usize, last: usize) -> Vec<Draft> {
        let messages = self.history.messages();
        let first_prompt = self.turns.first().map_or(0, |turn| turn.0.start);
        let answered = messages.iter().rposition(|message| message.is_prompt());
        let mut drafts = Vec::new();
        let standing = &self.history.course().standing;
        let standing = &standing[..standing.partition_point(|&index| index < start)];
        let pinned = self.pinned.iter().cloned().flatten().filter(|&index| index < start);
        let offered = self.offered.iter().copied().filter(|&index| index < start);
        let mut staying: Vec<usize> = pinned.chain(standing.iter().copied()).chain(offered).collect();
        staying.sort_unstable();
        staying.dedup();
        for index in staying.into_iter().chain(start..messages.len()) {
            let message = &messages[index];
            let head = index <= first_prompt;
            let pinned = self.pinned.iter().any(|range| range.contains(&index));
            let draft = Draft::of(index, message, |part| {
                // A notice that `pairing` added to repair the end is added again if needed.
                let notice = matches!(part, Part::Text(text) if text.origin == Origin::Notice);
                // The summary of an earlier compaction is merged into the new one.
                let stays =
                    index >= start || pinned || stands(message.role, part, head) || self.is_offered(index, part);
                !notice && earlier::summary(part).is_none() && stays
            });
            let is_last = index >= last;
            drafts.extend(draft.map(|draft| Draft {
                pinned,
                is_last,
                is_answered: Some(index) == answered,
                spared: self.spared.binary_search(&index).is_ok(),
                ..draft
            }));
        }
        draft::drop_foreign_results(&mut drafts);
        self.settle_reminders(&mut drafts);
        draft::point_repeats(&mut drafts, &mut self.archive);
        drafts
    }

    /// Keeps one reminder of each kind, so that superseded ones take no room.
    fn settle_reminders(&mut self, drafts: &mut Vec<Draft>) {
        let messages = self.history.messages();
        let mut settlement = reminder::settlement(messages, &self.history.course().reminding);
        if settlement.gone.is_empty() && settlement.replaced.is_empty() {
            return;
        }
        for draft in drafts.iter_mut() {
            let source = draft.source;
            draft.retain(|part, _| !settlement.gone.contains(&(source, part as usize)));
            for (&place, part) in draft.parts.iter().zip(&mut draft.message.parts) {
                if let Some(text) = settlement.replaced.remove(&(source, place as usize)) {
                    draft::archive_part(part, "reminder", &mut self.archive);
                    *part = Part::Text(text);
                }
            }
        }
        drafts.retain(|draft| !draft.parts.is_empty());
    }

    /// Runs the strategies that do not change the set of messages.
    fn apply_strategies(&mut self, drafts: &mut [Draft], start: usize) {
        let mut view = View {
            messages: Vec::new(),
            archive: std::mem::take(&mut self.archive),
        };
        let kept = drafts.iter_mut().filter(|draft| draft.source >= start && !draft.pinned);
        view.messages = kept.map(|draft| Arc::new(draft.message.clone())).collect();
        let limits = strategy::StrategyLimits::default();
        for strategy in strategy::PIPELINE.iter().filter(|strategy| strategy.within_messages) {
            let count = (strategy.apply)(&mut view, &limits);
            self.strategies.add(strategy.name, count);
        }
        for (draft, new) in drafts
            .iter_mut()
            .filter(|draft| draft.source >= start && !draft.pinned)
            .zip(view.messages)
        {
            // A spared message stays unchanged: others may point to it.
            if draft.spared {
                continue;
            }
            let new = Arc::unwrap_or_clone(new);
            if new.parts.len() < draft.parts.len() {
                // Only thinking is removed, all of a message.
                let mut old = draft.message.parts.iter();
                let mut is_left = || !matches!(old.next(), Some(Part::Thinking(_)));
                draft.parts.retain(|_| is_left());
            }
            draft.message = new;
        }
        self.archive = view.archive;
    }

    /// Summarises the rest and assembles the view.
    fn finish(
        mut self,
        kept: Kept,
        mut drafts: Vec<Draft>,
        fold: Option<Fold>,
        budget: Option<Tokens>,
    ) -> (Compaction, Option<Tokens>) {
        let folded = fold.as_ref().map_or(0, Fold::estimate);
        let bytes = self.summary_bytes(kept.start, &drafts, budget.map(|budget| budget.saturating_sub(folded)));
        self.archive_rest(&drafts);
        let mut summary = self.summarise(kept.start, &drafts, bytes);
        for (number, lines) in &summary.excerpts {
            let block = &self.history.ranking().blocks[*number as usize];
            let draft = drafts.iter_mut().find(|draft| draft.source == block.message as usize);
            if let Some(draft) = draft
                && let Ok(at) = draft.parts.binary_search(&block.part)
            {
                let source = &self.history.messages()[draft.source].parts[block.part as usize];
                draft::show_lines(&mut draft.message.parts[at], source, lines);
            }
        }
        let folded = fold.as_ref().map_or(&[][..], |fold| &fold.sources);
        let fates = fate::fates(self.history, &drafts, &summary.taken, &self.offered, folded);
        // A state is read back only behind the first line of a summary. An empty one, whose notice says how to read back what
        // the handles stand for, is left out next to a fold, whose first line suffices, or if it does not fit.
        let ending = self.ending;
        let has_room = |budget| room::whole(&drafts) + room::overhead(&drafts, &ending) <= budget;
        let reads_back = ending != labels::NOTICE;
        let is_needed = || !summary.behind.is_empty() || reads_back && fold.is_none() && budget.is_none_or(has_room);
        if summary.head.is_empty() && is_needed() {
            let before = kept.start.min(told::first_reply(&drafts));
            summary.head.push((before, labels::SUMMARY.trim_end().into()));
        }
        let view = view::of(self.history.messages(), drafts, fold, (summary, ending), self.archive);
        let size = Size::of(&view.messages);
        let summarised = self.turns.iter().filter(|turn| turn.0.end <= kept.start).count();
        let compaction = Compaction {
            view,
            changed: true,
            compacted: true,
            after: size,
            turns: TurnCount {
                total: self.turns.len(),
                kept: self.turns.len() - summarised,
                summarised,
            },
            anchor: kept.anchor,
            strategies: self.strategies,
            fates,
            cut: self.cut,
            ..Compaction::default()
        };
        (compaction, budget)
    }
}

/// The pinned messages as ordered ranges, each with all calls and results of its step, which form a unit.
fn pinned(messages: &[Arc<Message>], pins: &[usize]) -> Vec<Range<usize>> {
    let is_results = |at: usize| {
        messages
            .get(at)
            .is_some_and(|message| message.tool_results().next().is_some())
    };
    let mut pins: Vec<usize> = pins.iter().copied().filter(|&pin| pin < messages.len()).collect();
    pins.sort_unstable();
    let mut ranges: Vec<Range<usize>> = Vec::new();
    for pin in pins {
        if ranges.last().is_some_and(|range| range.contains(&pin)) {
            continue;
        }
        let mut start = pin;
        while start > 0 && is_results(start) {
            start -= 1;
        }
        let mut end = pin + 1;
        if messages[start].calls().next().is_some() {
            while is_results(end) {
                end += 1;
            }
        } else {
            start = pin;
        }
        ranges.push(start..end);
    }
    ranges
}
