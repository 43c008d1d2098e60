//! A running session: its page, its ledger and its bill agree.

use crate::common::*;
use codelet_context::conversation::{Conversation, Report as Counted};
use codelet_context::economics::{Economics, Preset};
use codelet_context::message::{Message, Part, Role, ToolCall, ToolResult};
use codelet_context::policy::{CompactionConfig, Reason};
use codelet_context::price;
use codelet_context::tokens::estimate_message;
use codelet_context::usage::Usage;
use codelet_replay::report::{Live, Report, page};
use std::sync::Arc;

/// A session as a program runs it: the page sees each request, and a provider with a cache bills it.
struct Watched {
    live: Live,
    conversation: Conversation,
    /// The last request, as the provider caches it.
    kept: Vec<Arc<Message>>,
    asked: u64,
    /// The session's bill: requests and dollars.
    bill: (u64, f64),
}

impl Watched {
    fn new() -> Self {
        let economics = Economics::new(price::usual()).preset(Preset::Off);
        let config = CompactionConfig::new(60_000).reserving(4_000);
        let mut conversation = Conversation::new(config, 500).under(economics);
        conversation.append(Message::system("You are terse."));
        conversation.append(Message::user("Read everything, please."));
        Watched {
            live: Live::new(500),
            conversation,
            kept: Vec::new(),
            asked: 0,
            bill: (0, 0.0),
        }
    }

    fn count(messages: &[Arc<Message>]) -> u64 {
        500 + messages.iter().map(|it| estimate_message(it)).sum::<u64>()
    }

    fn billed(&mut self, usage: Usage) {
        let card = price::usual();
        self.live.billed(usage, 0, Some(&card));
        self.bill = (self.bill.0 + 1, self.bill.1 + card.cost(usage, 0));
    }

    fn usage(&mut self) -> Usage {
        let view = self.conversation.view().messages.clone();
        let same = view.iter().zip(&self.kept).take_while(|(a, b)| a == b).count();
        let read = if same == 0 { 0 } else { Self::count(&view[..same]) };
        let whole = Self::count(&view);
        self.kept = view;
        Usage::from_exclusive(0, whole - read, read, 30)
    }

    fn ask(&mut self, is_cold: bool) {
        if is_cold {
            self.kept.clear();
        }
        self.conversation.sending(is_cold);
        self.live.sending(&self.conversation, None);
        let usage = self.usage();
        self.billed(usage);
        self.asked += 1;
        let id = format!("c{}", self.asked);
        let call = ToolCall::new(&*id, "Read", serde_json::Map::new());
        let report = Counted {
            usage,
            reasoning: 0,
            is_whole: true,
        };
        let reply = Message::new(Role::Assistant, vec![Part::ToolCall(call)]);
        self.conversation.replied(reply, report);
        let lines = (0..80).map(|line| format!("let value_{id}_{line} = {};\n", line * self.asked));
        let result = ToolResult::new(&*id, Some(true), lines.collect::<String>());
        self.conversation.append(Message::results(vec![result]));
    }

    /// Sends the last request again, so that the cache does not expire.
    fn idle(&mut self) {
        self.live.sending_beside(&self.conversation, None);
        let usage = Usage::from_exclusive(0, 0, Self::count(&self.kept), 1);
        self.billed(usage);
        self.conversation.kept_alive(usage);
    }

    fn report(&self) -> Report {
        live_report(&self.live, &self.conversation, &[])
    }
}

#[test]
fn the_page_of_a_session_its_ledger_and_its_bill_say_the_same() {
    let mut session = Watched::new();
    (0..12).for_each(|_| session.ask(false));
    session.idle();
    let compacted = session.conversation.compact_to(4_000, Reason::Asked).unwrap();
    session.ask(false);
    let shown = session.conversation.occupancy();
    assert!(session.conversation.undo_compact());
    let back = session.conversation.occupancy() - shown;
    session.ask(false);
    session.idle();
    session.conversation.compact_to(4_000, Reason::Full).unwrap();
    session.ask(true);
    session.conversation.goes_elsewhere();
    session.kept.clear();
    session.ask(false);
    // No longer sent.
    session.conversation.compact_to(2_000, Reason::Asked).unwrap();

    let report = session.report();
    let course = &report.courses[0];
    let sums = course.run.sums();
    assert_eq!(sums.steps, session.bill.0);
    assert!(
        (sums.dollars.total() - session.bill.1).abs() < 1e-9,
        "{sums:?} {:?}",
        session.bill
    );
    // Each precedes the request that the ledger names.
    let ledger = session.conversation.breaks();
    let sent = || ledger.iter().filter(|it| it.request <= session.bill.0);
    let edits: Vec<_> = sent().filter(|it| it.is_edit()).collect();
    assert_eq!(edits.len(), 3);
    assert_eq!(
        course.edits.iter().map(|edit| edit.step as u64 + 1).collect::<Vec<_>>(),
        edits.iter().map(|it| it.request).collect::<Vec<_>>()
    );
    assert_eq!(sums.edits, 3);
    assert_eq!((sums.planned, sums.cold, sums.unplanned), (2, 1, 1));
    assert_eq!(sent().filter(|it| it.rewritten > 0).count(), 4);
    // The effect of each is what the user was shown.
    let [asked, undone, cold] = &course.edits[..] else {
        panic!("{:?}", course.edits)
    };
    assert_eq!(asked.removed(), compacted.before - compacted.after);
    assert_eq!(
        (undone.reason, undone.removed(), undone.restored()),
        ("undone", 0, back)
    );
    assert!(undone.saved < 0.0 && asked.saved > 0.0);
    assert_eq!((cold.cost, cold.actual), (0.0, Some(0.0)), "the cache had expired");
    // No request cost less than what is attributed to it.
    for it in sent() {
        let step = &course.run.steps[it.request as usize - 1];
        assert!(it.actual.unwrap() <= step.dollars.prompt(), "{it:?}");
    }
    let (_, text) = read(&page(&report));
    assert!(
        text.contains(&format!("{} requests sent", session.bill.0)),
        "{text:.3000}"
    );
    assert!(text.contains("The context was edited 3 times."));
    assert!(text.contains("4 cache misses") && text.contains("1 for other reasons"));
    assert!(text.contains(&format!("−{}", grouped(back))), "{back}");
}

#[test]
fn what_was_billed_before_a_conversation_began_anew_is_not_shown() {
    let mut session = Watched::new();
    (0..6).for_each(|_| session.ask(false));
    session.conversation.compact_to(2_000, Reason::Asked).unwrap();
    session.ask(false);
    let mut next = Watched::new();
    next.conversation.begin_behind(&session.conversation);
    (0..9).for_each(|_| next.ask(false));
    let report = next.report();
    // The edit was before a request that is not shown.
    assert_eq!(report.courses[0].edits, []);
    assert_eq!(report.courses[0].run.sums().steps, next.bill.0);
}
