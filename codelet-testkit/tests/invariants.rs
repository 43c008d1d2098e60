//! The promises of the engine on made-up conversations: 5,000 of them in a test run, `CODELET_CASES` on demand.

use codelet_testkit::{Kept, conversation, invariants, target};
use proptest::prelude::*;

fn config() -> ProptestConfig {
    let cases = std::env::var("CODELET_CASES").ok().and_then(|cases| cases.parse().ok());
    ProptestConfig {
        cases: cases.unwrap_or(5_000),
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
