//! The ledger: figures of each request, and never a word of one.

use crate::Api;
use crate::edit::{Facts, Identity};
use crate::lines::Lines;
use crate::totals::Totals;
use codelet_context::price::{self, PriceCard};
use codelet_context::tokens::Tokens;
use codelet_context::usage::Usage;
use codelet_providers::overheard::Billed;
use serde_json::{Value, json};
use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

/// The number of newest requests that are kept; of those before them, only the sums.
const MOST_ROWS: usize = 10_000;
/// The longer of the two times that a vendor keeps a prompt.
const HOUR: Duration = Duration::from_secs(3_600);
/// The number of conversations that are kept; those that were silent for longest leave first.
const MOST_CONVERSATIONS: usize = 500;

/// The number of models that are kept of a conversation.
const MOST_MODELS: usize = 16;

/// One request.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Row {
    /// The time of arrival.
    pub at: SystemTime,
    /// The interface.
    pub api: Api,
    /// The number of its conversation, once it is in the books.
    pub conversation: Option<u64>,
    /// Facts about it.
    pub facts: Facts,
    /// The status of the answer; none where there was none.
    pub status: Option<u16>,
    /// The billed usage, if the answer reports it.
    pub usage: Option<Usage>,
    /// Its cost in US dollars, if the model's prices are known.
    pub dollars: Option<f64>,
    /// An estimate of the cost of the same request as the agent sent it.
    pub passing: Option<f64>,
    /// On a dry run, an estimate of the cost with the edits, in US dollars.
    pub edited: Option<f64>,
    /// The billed cost of the edit in US dollars: of writing to the cache again what would have been read without it.
    pub edit_dollars: Option<f64>,
    /// The latency added here.
    pub added: Duration,
    /// The edited request is the one that was answered.
    pub is_edited: bool,
    /// No edit is sent.
    pub is_dry_run: bool,
    /// The failure because of which it went on unedited, if there was one.
    pub fail_open: Option<String>,
    /// It was refused and sent once more: made smaller where it was too long, otherwise as it came.
    pub is_sent_again: bool,
}

/// The sums of a conversation.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Conversation {
    /// The model that was asked last.
    pub model: String,
    /// Requests of it.
    pub requests: usize,
    /// Edits so far, also those that another gateway has made of it.
    pub edits: usize,
    /// The last request, in estimated tokens: as the agent had sent it, and as it went on.
    pub window: (Tokens, Tokens),
    /// The billed usage.
    pub usage: Usage,
    /// Its cost in US dollars.
    pub dollars: f64,
    /// The estimated cost without the gateway, in US dollars.
    pub passing: f64,
    /// The time of the last request.
    pub last: Option<SystemTime>,
    /// By the model, since each has a cache and a tokenizer of its own.
    models: HashMap<String, Known>,
}

/// What the bills of a conversation with one model tell of its next request.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
struct Known {
    /// The last request that was billed, if it had been passed through and had found room: in the provider's tokens, and by estimate.
    passed: (Tokens, Tokens),
    /// The time of the last request that was billed.
    last: Option<SystemTime>,
    /// Something was read from the cache.
    has_read: bool,
}

/// The books.
pub struct Ledger {
    books: Mutex<Books>,
    file: Option<Lines>,
}

#[derive(Default)]
struct Books {
    rows: VecDeque<Row>,
    /// By their numbers.
    conversations: HashMap<u64, Conversation>,
    /// The numbers of conversations by the hash of everything up to the first reply, and, of those that have none yet, by that of their opening.
    numbers: HashMap<u64, u64>,
    /// How many there were.
    count: u64,
    /// By the same hashes: the edits of conversations that left, which are in the totals.
    counted: HashMap<u64, usize>,
    totals: Totals,
}

/// The part of the ledger that is shown.
pub(crate) struct Shown {
    /// All of it.
    pub totals: Totals,
    /// Conversations, that of the newest request first.
    pub conversations: Vec<(u64, Conversation)>,
    /// The newest requests, in order.
    pub rows: Vec<Row>,
}

impl Ledger {
    /// Empty books. Each request is also a line of JSON in `file`, where there is one; nobody waits for that, and what cannot be written is
    /// [counted](Totals::unwritten).
    pub fn new(file: Option<std::fs::File>) -> Self {
        Ledger {
            books: Mutex::default(),
            file: file.map(Lines::new),
        }
    }

    fn books(&self) -> MutexGuard<'_, Books> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A request passed through that is of no conversation.
    pub(crate) fn passed_other(&self) {
        self.books().totals.others += 1;
    }

    /// Adds a request whose answer was billed at this, where it tells.
    ///
    /// What it would have cost passed through: the prompt of the request before, and what came since; of it, the former read from the
    /// cache, if that request is not longer ago than the cache lives, and the rest written; the same answer. Never
    /// more than the window holds: an agent whose window is full compacts by itself.
    pub(crate) fn add(&self, mut row: Row, billed: Option<Billed>) {
        let card = price::find(&row.facts.model);
        row.usage = billed.map(|billed| billed.usage);
        row.dollars = card
            .zip(billed)
            .map(|(card, billed)| card.cost(billed.usage, billed.write_1h));
        let mut books = self.books();
        match row.facts.conversation {
            Some(identity) => {
                let number = books.number(identity);
                row.conversation = Some(number);
                let counted = books.counted.remove(&identity.first_reply).unwrap_or(0);
                let conversation = books.conversations.entry(number).or_default();
                conversation.edits = conversation.edits.max(counted);
                let edits = conversation.edits;
                conversation.add(&mut row, billed, card);
                books.totals.edits += (books.conversations[&number].edits - edits) as u64;
            }
            // What has failed is told, although nobody knows of which conversation it is.
            None if row.fail_open.is_none() => {
                books.totals.others += 1;
                return;
            }
            None => {}
        }
        books.close(&row);
        drop(books);
        if let Some(file) = &self.file {
            file.add(format!("{}\n", line(&row)));
        }
    }

    /// Waits until what was added is in the file, but not for long.
    pub(crate) fn flush(&self) {
        if let Some(file) = &self.file {
            file.flush();
        }
    }

    /// Returns the part that is shown.
    pub(crate) fn shown(&self, rows: usize) -> Shown {
        let books = self.books();
        let mut conversations: Vec<_> = books.conversations.iter().map(|(id, it)| (*id, it.clone())).collect();
        conversations.sort_by_key(|(id, it)| (std::cmp::Reverse(it.last), *id));
        let left = books.rows.len().saturating_sub(rows);
        Shown {
            totals: self.with_unwritten(&books.totals),
            conversations,
            rows: books.rows.iter().skip(left).cloned().collect(),
        }
    }

    /// Returns the sums of everything.
    pub fn totals(&self) -> Totals {
        self.with_unwritten(&self.books().totals)
    }

    fn with_unwritten(&self, totals: &Totals) -> Totals {
        Totals {
            unwritten: self.file.as_ref().map_or(0, Lines::lost),
            ..totals.clone()
        }
    }
}

impl Conversation {
    fn add(&mut self, row: &mut Row, billed: Option<Billed>, card: Option<&PriceCard>) {
        self.model.clone_from(&row.facts.model);
        self.requests += 1;
        self.edits = self.edits.max(row.facts.edits);
        if let (true, Some(billed), Some(card)) = (row.is_dry_run, billed, card) {
            row.edited = Some(with_edits(&row.facts, billed, card));
        }
        if !row.is_edited {
            row.facts.after = row.facts.before;
        }
        self.window = (row.facts.before, row.facts.after);
        if let Some(billed) = billed {
            self.usage = self.usage.plus(billed.usage);
            if let Some(card) = card {
                if self.models.len() >= MOST_MODELS {
                    self.models.clear();
                }
                let known = self.models.entry(row.facts.model.clone()).or_default();
                known.weigh_against_passing_through(row, billed, card);
            }
        }
        self.dollars += row.dollars.unwrap_or_default();
        self.passing += row.passing.or(row.dollars).unwrap_or_default();
        self.last = self.last.max(Some(row.at));
    }
}

impl Known {
    /// Estimates what the request would have cost if it had been passed through, and what its edit has cost.
    fn weigh_against_passing_through(&mut self, row: &mut Row, billed: Billed, card: &PriceCard) {
        let usage = billed.usage;
        let (before, after) = (row.facts.before.max(1), row.facts.after.max(1));
        let counted = |estimate: Tokens| (estimate as f64 * usage.prompt() as f64 / after as f64) as Tokens;
        let (held, told) = self.passed;
        // Answers may come in another order than their requests.
        let silence = self.last.map(|last| row.at.duration_since(last).unwrap_or_default());
        self.last = self.last.max(Some(row.at));
        self.has_read |= usage.cache_read > 0;
        // What came since the last request is new to the cache in any case. Where nothing is known of that, or the agent has taken something back,
        // there is only the proportion.
        let new = before.checked_sub(told).filter(|_| held > 0).map(counted);
        // A request that only got a mark for the cache lacks nothing.
        let whole = match (row.is_edited && before > after, new) {
            (false, _) => usage.prompt(),
            (true, Some(new)) => held.saturating_add(new).max(usage.prompt()),
            (true, None) => counted(before).max(usage.prompt()),
        };
        self.passed = (whole, before);
        let prompt = whole.min(row.facts.window.max(usage.prompt()));
        if prompt == usage.prompt() {
            row.passing = row.dollars;
            return;
        }
        let lives = match billed.write_1h {
            0 => card.expires_after(),
            _ => card.expires_after().max(HOUR),
        };
        let read = match (silence, new) {
            (Some(silence), _) if silence >= lives => 0,
            (Some(_), Some(new)) => prompt.saturating_sub(new),
            // It went through another gateway before, or this one before its start, or the agent has changed what it had sent: as much was in the
            // cache as of what was sent.
            _ => (prompt as f64 * usage.cache_read as f64 / usage.prompt().max(1) as f64) as Tokens,
        };
        // A provider that keeps nothing of what was sent would have kept nothing of more.
        if usage.cache_read == 0 && usage.cache_write == 0 && !self.has_read {
            row.passing = Some(card.cost(Usage::from_exclusive(prompt, 0, 0, usage.output), 0));
            return;
        }
        // What is written is to live as long as what was.
        let cost = |written: Tokens, read: Tokens| {
            let usage = Usage::from_exclusive(0, written, read, usage.output);
            card.cost(usage, if billed.write_1h > 0 { written } else { 0 })
        };
        row.passing = Some(cost(prompt - read, read));
        let written = usage.prompt() - usage.cache_read;
        let new = written.min(prompt - read);
        let of_edit = || cost(written, usage.cache_read) - cost(new, usage.prompt() - new);
        row.edit_dollars = row.facts.edit.filter(|_| row.is_edited).map(|_| of_edit());
    }
}

/// Estimates what a request would have cost with its edits. What they remove is old: it was read from the cache, as far as anything was.
fn with_edits(facts: &Facts, billed: Billed, card: &PriceCard) -> f64 {
    let usage = billed.usage;
    let share = facts.before.saturating_sub(facts.after) as f64 / facts.before.max(1) as f64;
    let mut removed = (usage.prompt() as f64 * share) as Tokens;
    let mut left = |tokens: Tokens| {
        let less = removed.min(tokens);
        removed -= less;
        tokens - less
    };
    let cache_read = left(usage.cache_read);
    let cache_write = left(usage.cache_write);
    let usage = Usage {
        fresh: left(usage.fresh),
        cache_read,
        cache_write,
        ..usage
    };
    let of_edit = facts.edit.and(facts.edit_dollars).unwrap_or_default();
    card.cost(usage, billed.write_1h.min(cache_write)) + of_edit
}

impl Books {
    /// The number of a conversation. Of several that were opened alike, each gets its own with its first reply, and the first of them the one that the
    /// opening had.
    fn number(&mut self, identity: Identity) -> u64 {
        if let Some(number) = self.numbers.get(&identity.first_reply) {
            return *number;
        }
        let number = self.numbers.remove(&identity.opening).unwrap_or_else(|| {
            self.count += 1;
            self.count
        });
        self.numbers.insert(identity.first_reply, number);
        number
    }

    fn close(&mut self, row: &Row) {
        let totals = &mut self.totals;
        totals.requests += 1;
        totals.fail_opens += u64::from(row.fail_open.is_some());
        totals.sent_again += u64::from(row.is_sent_again);
        totals.unpriced += u64::from(row.usage.is_some() && row.dollars.is_none());
        totals.usage = totals.usage.plus(row.usage.unwrap_or_default());
        totals.dollars += row.dollars.unwrap_or_default();
        totals.passing += row.passing.or(row.dollars).unwrap_or_default();
        if row.is_dry_run {
            *totals.edited.get_or_insert_default() += row.edited.or(row.dollars).unwrap_or_default();
        }
        self.rows.push_back(row.clone());
        if self.rows.len() > MOST_ROWS {
            self.rows.pop_front();
        }
        if self.conversations.len() > MOST_CONVERSATIONS {
            let oldest = self.conversations.iter().min_by_key(|(id, it)| (it.last, **id));
            if let Some(oldest) = oldest.map(|(id, _)| *id) {
                let edits = self.conversations.remove(&oldest).map_or(0, |left| left.edits);
                if self.counted.len() >= MOST_ROWS {
                    self.counted.clear();
                }
                self.numbers.retain(|hash, number| {
                    if *number == oldest && edits > 0 {
                        self.counted.insert(*hash, edits);
                    }
                    *number != oldest
                });
            }
        }
    }
}

/// A request as a line of the ledger's file, and of the figures.
pub(crate) fn line(row: &Row) -> Value {
    let since = row.at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let facts = &row.facts;
    json!({
        "time_ms": u64::try_from(since.as_millis()).unwrap_or(u64::MAX),
        "api": row.api.format().name(),
        "model": facts.model,
        "conversation": row.conversation,
        "step": facts.step,
        "tokens_before": facts.before,
        "tokens_after": facts.after,
        "edits": facts.edits,
        "edit": facts.edit,
        "edit_usd": facts.edit_dollars.filter(|_| price::find(&facts.model).is_some()),
        "edit_billed_usd": row.edit_dollars,
        "passed": facts.passed,
        "status": row.status,
        "usage": row.usage.map(usage),
        "cost_usd": row.dollars,
        "passing_through_usd": row.passing,
        "added_ms": row.added.as_secs_f64() * 1e3,
        "fail_open": row.fail_open,
        "sent_again": row.is_sent_again,
    })
}

/// The four counts.
pub(crate) fn usage(usage: Usage) -> Value {
    json!({"fresh": usage.fresh, "cache_read": usage.cache_read, "cache_write": usage.cache_write, "output": usage.output})
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use std::collections::HashSet;

    fn identity(opening: u64, first_reply: u64) -> Identity {
        Identity { opening, first_reply }
    }

    fn row(before: Tokens, after: Tokens) -> Row {
        Row {
            at: SystemTime::now(),
            api: Api::Anthropic,
            conversation: None,
            facts: Facts {
                conversation: Some(identity(7, 7)),
                model: "claude-opus-4-5".to_owned(),
                window: 200_000,
                before,
                after,
                ..Facts::default()
            },
            status: Some(200),
            usage: None,
            dollars: None,
            passing: None,
            edited: None,
            edit_dollars: None,
            added: Duration::ZERO,
            is_edited: before > after,
            is_dry_run: false,
            fail_open: None,
            is_sent_again: false,
        }
    }

    fn billed(read: Tokens, write: Tokens) -> Option<Billed> {
        Some(Billed {
            usage: Usage::from_exclusive(0, write, read, 100),
            ..Billed::default()
        })
    }

    #[test]
    fn what_was_not_edited_costs_the_same_and_an_edit_is_weighed_against_what_it_removed() {
        let ledger = Ledger::new(None);
        ledger.add(row(100_000, 100_000), billed(0, 100_000));
        let first = ledger.totals();
        assert!(first.dollars > 0.0 && (first.dollars - first.passing).abs() < 1e-9);
        // The edit breaks the cache: this one request is dearer than it would have been.
        ledger.add(row(101_000, 40_000), billed(10_000, 30_000));
        let second = ledger.totals();
        assert!(second.dollars > second.passing, "{second:?}");
        for _ in 0..20 {
            ledger.add(row(101_000, 40_000), billed(40_000, 0));
        }
        let last = ledger.totals();
        assert!(
            last.dollars < last.passing && last.sentence().starts_with("saved about $"),
            "{last:?}"
        );
        assert!(second.sentence().starts_with("cost about $"), "{}", second.sentence());
    }

    #[test]
    fn what_is_new_in_a_request_would_have_been_written_also_where_the_window_was_full() {
        let ledger = Ledger::new(None);
        ledger.add(row(199_000, 199_000), billed(0, 199_000));
        ledger.add(row(202_000, 40_000), billed(10_000, 30_000));
        let card = price::find("claude-opus-4-5").unwrap();
        for step in 1..4 {
            ledger.add(row(202_000 + step * 3_000, 43_000), billed(40_000, 3_000));
            let row = ledger.shown(1).rows.pop().unwrap();
            let passed = card.cost(Usage::from_exclusive(0, 3_000, 197_000, 100), 0);
            assert!((row.passing.unwrap() - passed).abs() < 1e-9, "{row:?}");
        }
    }

    #[test]
    fn an_edit_is_billed_what_is_written_again_and_would_have_been_read() {
        let card = price::find("claude-opus-4-5").unwrap();
        // Where an edit was sent, where the original was after all, and where an hour has passed and all would have been written in any case.
        for (is_edited, age, again) in [(true, 0, Some(27_000)), (false, 0, None), (true, 3_601, Some(0))] {
            let ledger = Ledger::new(None);
            let mut first = row(100_000, 100_000);
            first.at -= Duration::from_secs(age);
            ledger.add(first, billed(0, 100_000));
            let mut edited = row(103_000, 40_000);
            (edited.facts.edit, edited.is_edited) = (Some("price"), is_edited);
            ledger.add(edited, billed(10_000, 30_000));
            let row = ledger.shown(1).rows.pop().unwrap();
            let cost = |written| card.cost(Usage::from_exclusive(0, written, 40_000 - written, 0), 0);
            let told = again.map(|again| cost(30_000) - cost(30_000 - again));
            assert_eq!(row.edit_dollars.is_some(), told.is_some());
            let apart = row.edit_dollars.unwrap_or_default() - told.unwrap_or_default();
            assert!(apart.abs() < 1e-9, "{told:?}: {row:?}");
        }
    }

    #[test]
    fn a_model_that_takes_over_is_weighed_by_its_own_bills() {
        let ledger = Ledger::new(None);
        let ask = |model: &str, before, after, bill| {
            let mut row = row(before, after);
            row.facts.model = model.to_owned();
            ledger.add(row, bill);
            ledger.shown(1).rows.pop().unwrap()
        };
        ask("claude-opus-4-5", 100_000, 100_000, billed(0, 100_000));
        // The other model's cache is empty: all that was removed would have been written, too, and no more than the proportion is known.
        let first = ask("claude-haiku-4-5", 103_000, 41_200, billed(0, 20_600));
        let card = price::find("claude-haiku-4-5").unwrap();
        let passed = card.cost(Usage::from_exclusive(0, 51_500, 0, 100), 0);
        assert!((first.passing.unwrap() - passed).abs() < 1e-9, "{first:?}");
        // And the first one goes on from its own last request.
        let back = ask("claude-opus-4-5", 106_000, 43_000, billed(40_000, 3_000));
        let card = price::find("claude-opus-4-5").unwrap();
        let passed = card.cost(Usage::from_exclusive(0, 6_000, 100_000, 100), 0);
        assert!((back.passing.unwrap() - passed).abs() < 1e-9, "{back:?}");
    }

    #[test]
    fn an_original_that_was_sent_is_shown_at_its_own_length() {
        let ledger = Ledger::new(None);
        let mut unsent = row(150_000, 40_000);
        unsent.is_edited = false;
        ledger.add(unsent, billed(0, 150_000));
        let shown = ledger.shown(1);
        assert_eq!(line(&shown.rows[0])["tokens_after"], 150_000);
        assert_eq!(shown.conversations[0].1.window, (150_000, 150_000));
    }

    #[test]
    fn edits_of_a_conversation_that_left_the_books_are_not_counted_again() {
        let ledger = Ledger::new(None);
        let ask = |id, edits, edit| {
            let mut row = row(10_000, 10_000);
            row.facts.conversation = Some(identity(id, id));
            (row.facts.edits, row.facts.edit) = (edits, edit);
            ledger.add(row, billed(1, 1));
        };
        ask(0, 0, None);
        ask(0, 1, Some("price"));
        for id in 1..=MOST_CONVERSATIONS as u64 {
            ask(id, 0, None);
        }
        ask(0, 1, None);
        assert_eq!(ledger.totals().edits, 1);
        ask(0, 2, Some("price"));
        assert_eq!(ledger.totals().edits, 2);
    }

    #[test]
    fn of_a_conversation_that_was_begun_elsewhere_the_cache_is_taken_to_hold_as_much_as_of_what_was_sent() {
        let ledger = Ledger::new(None);
        ledger.add(row(100_000, 40_000), billed(38_000, 2_000));
        let card = price::find("claude-opus-4-5").unwrap();
        let passed = card.cost(Usage::from_exclusive(0, 5_000, 95_000, 100), 0);
        assert!((ledger.totals().passing - passed).abs() < 1e-9, "{:?}", ledger.totals());
    }

    #[test]
    fn nothing_is_saved_by_an_edit_that_was_not_sent() {
        let ledger = Ledger::new(None);
        let mut unsent = row(150_000, 40_000);
        unsent.is_edited = false;
        ledger.add(unsent, billed(0, 150_000));
        let totals = ledger.totals();
        assert!(
            totals.dollars > 0.0 && (totals.dollars - totals.passing).abs() < 1e-9,
            "{totals:?}"
        );
    }

    #[test]
    fn a_request_that_only_got_a_mark_costs_the_same_in_both() {
        let ledger = Ledger::new(None);
        ledger.add(row(100_000, 100_000), billed(0, 100_000));
        // The agent shortens its history by itself, and the estimate is less than what the provider counts.
        for (tokens, read, write) in [
            (103_000, 100_000, 5_000),
            (60_000, 2_000, 60_000),
            (63_000, 62_000, 5_000),
        ] {
            let mut marked = row(tokens, tokens);
            marked.is_edited = true;
            ledger.add(marked, billed(read, write));
        }
        let totals = ledger.totals();
        assert!((totals.dollars - totals.passing).abs() < 1e-9, "{totals:?}");
    }

    #[test]
    fn what_the_agent_changes_by_itself_is_written_again_also_without_the_gateway() {
        let ledger = Ledger::new(None);
        ledger.add(row(100_000, 100_000), billed(0, 100_000));
        ledger.add(row(103_000, 40_000), billed(10_000, 30_000));
        ledger.add(row(60_000, 30_000), billed(5_000, 25_000));
        let card = price::find("claude-opus-4-5").unwrap();
        let row = ledger.shown(1).rows.pop().unwrap();
        let passed = card.cost(Usage::from_exclusive(0, 50_000, 10_000, 100), 0);
        assert!((row.passing.unwrap() - passed).abs() < 1e-9, "{row:?}");
    }

    #[test]
    fn a_dry_run_says_what_its_edits_would_have_saved() {
        let ledger = Ledger::new(None);
        let unsent = |before, after, edit: Option<f64>, bill| {
            let mut row = row(before, after);
            (row.is_edited, row.is_dry_run) = (false, true);
            (row.facts.edit, row.facts.edit_dollars) = (edit.map(|_| "price"), edit);
            row.facts.edits = usize::from(before > after);
            ledger.add(row, bill);
            ledger.shown(1).rows.pop().unwrap()
        };
        let card = price::find("claude-opus-4-5").unwrap();
        let cost = |written, read| card.cost(Usage::from_exclusive(0, written, read, 100), 0);
        for (before, after, edit, bill, expected) in [
            (100_000, 100_000, None, billed(0, 100_000), cost(100_000, 0)),
            (
                100_000,
                40_000,
                Some(0.2),
                billed(97_000, 3_000),
                cost(3_000, 37_000) + 0.2,
            ),
            (100_000, 40_000, None, billed(97_000, 3_000), cost(3_000, 37_000)),
            // The cache had expired.
            (100_000, 40_000, None, billed(0, 100_000), cost(40_000, 0)),
        ] {
            let row = unsent(before, after, edit, bill);
            assert!((row.edited.unwrap() - expected).abs() < 1e-9, "{row:?}");
            assert_eq!(row.passing, row.dollars);
        }
        let totals = ledger.totals();
        let saved = totals.dollars - totals.edited.unwrap();
        let words = format!("(dry run: no edit was sent; they would have saved about ${saved:.2})");
        assert!(totals.sentence().ends_with(&words), "{}", totals.sentence());
    }

    #[test]
    fn edits_that_were_made_before_and_requests_without_a_price_are_counted() {
        let ledger = Ledger::new(None);
        for (edits, model) in [
            (3, "claude-opus-4-5"),
            (3, "claude-opus-4-5"),
            (4, "acme-1"),
            (0, "acme-1"),
        ] {
            let mut row = row(10_000, 10_000);
            (row.facts.edits, row.facts.model) = (edits, model.to_owned());
            ledger.add(row, billed(0, 10_000));
        }
        let totals = ledger.totals();
        assert_eq!((totals.edits, totals.unpriced, totals.requests), (4, 2, 4));
    }

    #[test]
    fn conversations_that_begin_alike_are_told_apart_by_their_first_replies() {
        let ledger = Ledger::new(None);
        let ask = |opening, first_reply, tokens: Tokens, edits| {
            let mut row = row(tokens, tokens / (edits as Tokens + 1));
            (row.facts.conversation, row.facts.edits) = (Some(identity(opening, first_reply)), edits);
            ledger.add(row, billed(tokens / 2, tokens / 2));
        };
        // Two of the same prompt at once, and a third one later.
        ask(1, 1, 10_000, 0);
        ask(1, 1, 10_000, 0);
        for (first_reply, tokens) in [(11, 90_000), (12, 20_000), (11, 95_000), (12, 21_000)] {
            ask(1, first_reply, tokens, usize::from(tokens > 90_000));
        }
        ask(1, 1, 10_000, 0);
        ask(1, 13, 20_000, 0);
        let mut shown = ledger.shown(usize::MAX);
        shown.conversations.sort_by_key(|(number, _)| *number);
        let requests: Vec<_> = shown.conversations.iter().map(|(_, it)| it.requests).collect();
        assert_eq!(requests, [4, 2, 2]);
        let numbers: Vec<_> = shown.rows.iter().map(|row| row.conversation.unwrap()).collect();
        assert_eq!(numbers, [1, 1, 1, 2, 1, 2, 3, 3]);
        // Of the long one, what it had before would have been read, although a short one came in between. What is new counts twice its estimate.
        let long = &shown.rows[4];
        let card = price::find(&long.facts.model).unwrap();
        let passed = card.cost(Usage::from_exclusive(0, 10_000, 90_000, 100), 0);
        assert!((long.passing.unwrap() - passed).abs() < 1e-9, "{long:?}");
    }

    #[test]
    fn however_conversations_that_begin_alike_come_each_has_its_number_and_nothing_is_lost() {
        for seed in 0..200 {
            let mut random = fastrand::Rng::with_seed(seed);
            let ledger = Ledger::new(None);
            // Of each: how many requests it has left, and how many were made.
            let mut open: Vec<(u64, u64)> = (0..random.u64(2..6)).map(|_| (random.u64(1..8), 0)).collect();
            let mut rows = Vec::new();
            while open.iter().any(|(left, _)| *left > 0) {
                let one = random.usize(..open.len());
                let (left, made) = &mut open[one];
                if *left == 0 {
                    continue;
                }
                // A request without an answer, or with an error, is made again.
                let is_answered = random.u8(..4) > 0;
                let first_reply = if *made == 0 { 7 } else { 100 + one as u64 };
                let mut row = row(10_000 + 1_000 * *made, 10_000);
                row.facts.conversation = Some(identity(7, first_reply));
                ledger.add(row, billed(random.u64(..9_000), 1_000).filter(|_| is_answered));
                rows.push((one, *made > 0));
                if is_answered {
                    (*left, *made) = (*left - 1, *made + 1);
                }
            }
            let shown = ledger.shown(usize::MAX);
            let mut owners = HashMap::new();
            for ((one, _), row) in rows.iter().zip(&shown.rows).filter(|((_, is_known), _)| *is_known) {
                let number = row.conversation.unwrap();
                assert_eq!(owners.entry(number).or_insert(*one), one, "{seed}: {number}");
            }
            let of_one: HashSet<usize> = owners.values().copied().collect();
            assert_eq!(
                of_one.len(),
                owners.len(),
                "seed {seed}: a conversation has two numbers"
            );
            let (mut requests, mut dollars, mut passing) = (0, 0.0, 0.0);
            for (_, it) in &shown.conversations {
                requests += it.requests;
                dollars += it.dollars;
                passing += it.passing;
            }
            assert_eq!(requests, rows.len(), "seed {seed}");
            let totals = shown.totals;
            assert!(
                (totals.dollars - dollars).abs() + (totals.passing - passing).abs() < 1e-9,
                "seed {seed}"
            );
        }
    }

    #[test]
    fn the_books_are_bounded() {
        let ledger = Ledger::new(None);
        for id in 0..(MOST_ROWS as u64 + 50) {
            let mut row = row(10, 10);
            row.facts.conversation = Some(identity(id, id));
            ledger.add(row, billed(1, 1));
        }
        let shown = ledger.shown(usize::MAX);
        assert_eq!(shown.rows.len(), MOST_ROWS);
        assert!(shown.conversations.len() <= MOST_CONVERSATIONS);
        assert!(ledger.books().numbers.len() <= MOST_CONVERSATIONS);
        assert_eq!(shown.totals.requests, MOST_ROWS as u64 + 50);
    }
}
