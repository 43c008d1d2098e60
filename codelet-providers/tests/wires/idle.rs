//! Idle requests on every wire: billed whenever the counts come, and no longer than they have to be.

use crate::kit::{block_on, model};
use codelet_agent::environment::Nowhere;
use codelet_agent::interrupt::Interrupt;
use codelet_agent::permission::Rules;
use codelet_agent::session::{Parts, Session, Settings};
use codelet_testkit::server::{Behaviour, Billed, Reply, Server, Wire};
use std::sync::Arc;

#[test]
fn an_idle_request_is_on_the_bill_of_every_wire() {
    for wire in Wire::ALL {
        let counts = Billed {
            fresh: 4_000,
            cache_read: 16_000,
            output: 40,
            ..Billed::default()
        };
        let reply = || Reply::text("All is well here.").in_fragments_of(4).billed(counts);
        let server = Server::start(wire, Behaviour::replies([reply(), reply()]));
        let (bill, has_kept) = block_on(async {
            let parts = Parts {
                model: model(&server, wire).await.into(),
                tools: Vec::new(),
                gate: Arc::new(Rules::default()),
                world: Arc::new(Nowhere),
            };
            let settings = Settings {
                keep_alive: 1,
                ..Settings::default()
            };
            let mut session = Session::new(parts, settings);
            session.prompt("Hello.".into(), &Interrupt::new(), &mut |_| {}).await;
            let has_kept = session.keep_alive(&Interrupt::new(), &mut |_| {}).await;
            (*session.bill(), has_kept)
        });
        assert!(has_kept, "{wire:?}");
        assert_eq!((bill.requests, bill.unpriced), (2, 0), "{wire:?}: {bill:?}");
        assert_eq!(bill.usage.prompt(), 40_000, "{wire:?}: {bill:?}");
        let record = server.record();
        assert_eq!(record.faults(), "");
        let limit = |at: usize| {
            let body = record.exchanges[at].request.json().clone();
            let limits = ["max_tokens", "max_completion_tokens", "max_output_tokens"];
            let own = limits.iter().find_map(|name| body[*name].as_u64());
            own.or_else(|| body["generationConfig"]["maxOutputTokens"].as_u64())
                .unwrap()
        };
        let is_short = matches!(wire, Wire::Chat | Wire::Responses);
        assert_eq!(limit(1) == 16, is_short, "{wire:?}");
        assert!(limit(0) > 1_000, "{wire:?}");
    }
}
