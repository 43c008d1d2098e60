//! The engine's invariants on generated conversations: 1,500 per test run, or `CODELET_CASES`.
#![allow(clippy::unwrap_used)]

use codelet_context::compact::Target;
use codelet_testkit::{Kept, conversation, invariants, shape, target};
use proptest::prelude::*;

fn config() -> ProptestConfig {
    let cases = std::env::var("CODELET_CASES").ok().and_then(|cases| cases.parse().ok());
    ProptestConfig {
        cases: cases.unwrap_or(1_500),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

fn kept(promise: Kept) -> Result<(), TestCaseError> {
    promise.map_err(TestCaseError::fail)
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_compaction_is_valid_small_repeatable_and_loses_nothing_for_good(messages in conversation(), target in target()) {
        kept(invariants::keeps_its_promises(&messages, target))?;
    }

    #[test]
    fn a_compacted_conversation_can_be_compacted_again(messages in conversation(), target in target()) {
        kept(invariants::can_be_compacted_again(&messages, target))?;
    }

    #[test]
    fn strategies_are_valid_repeatable_never_larger_and_done_after_one_run(messages in conversation()) {
        kept(invariants::strategies_keep_their_promises(&messages))?;
    }
}

/// Found and shrunk by one of these tests: the reported minimum budget fitted a shorter form of the conversation than
/// the one that the compaction then produced.
const BARE: &str = r"call call_0: Read src/lib.rs
user: Please check the cursor before we render it.\s
+ result call_0: Please check the cursor before we render it.\s
result call_0 more: And then some.
call toolu_010000000000000000000001: Read src/lib.rs
user: Please apply the cursor before we trim it. Please order the digest before we split it.\s
assistant: Waiting.
result toolu_010000000000000000000001: Please apply the cursor before we trim it. Please order the digest before we split it.\s
result toolu_010000000000000000000001 more: And then some.
summary: test tariff::counts_582 ... FAILED\nassertion `left == right` failed\n  left: 582\n right: 1\ntest shelf::merges_866 ... FAILED\nassertion `left == right` failed\n  left: 866\n right: 2\ntest worker::merges_225 ... FAILED\nassertion `left == right` failed\n  left: 225\n right: 3\ntest ticket::counts_705 ... FAILED\nassertion `left == right` failed\n  left: 705\n right: 4\n
";

#[test]
fn the_smallest_budget_that_is_named_can_be_had() {
    let messages = shape::parse(BARE).unwrap();
    invariants::keeps_its_promises(&messages, Target::Budget(0)).unwrap();
}
