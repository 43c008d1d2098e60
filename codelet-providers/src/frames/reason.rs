//! Why an answer ended, in the words of vendors and gateways.

use super::Trouble;
use codelet_agent::model::Stop;

/// Words that an answer which is whole ends with.
const FINISHED: &[&str] = &[
    "stop",
    "stop_sequence",
    "end_turn",
    "end",
    "eos",
    "eos_token",
    "eot",
    "complete",
    "completed",
    "done",
    "finish",
    "finished",
    "tool_calls",
    "tool_call",
    "tool_use",
    "function_call",
];
/// Parts of words for an answer that the model has made so that the vendor could not read it.
const MALFORMED: &[&str] = &["malformed", "unexpected_tool_call", "too_many_tool_calls"];
/// … for a window that was full.
const WINDOW: &[&str] = &["context"];
/// … for an answer that is not given.
const DECLINED: &[&str] = &[
    "filter",
    "refus",
    "safety",
    "sensitive",
    "blocklist",
    "blocked",
    "prohibited",
    "recitation",
    "spii",
    "moderation",
    "guardrail",
    "policy",
];
/// … for an answer that ran into its limit.
const LIMIT: &[&str] = &["length", "max_tokens", "max_output", "max_completion", "token_limit"];
/// … for a vendor that failed.
const FAILED: &[&str] = &[
    "error",
    "abort",
    "fail",
    "timeout",
    "timed_out",
    "time_limit",
    "cancel",
    "insufficient",
    "interrupt",
    "overload",
    "unavailable",
    "disconnect",
    "preempt",
    "throttl",
    "expired",
    "busy",
    "terminated",
    "exception",
    "network",
];

/// What a reason means. `words` are the vendor's own beside it.
///
/// A reason that nobody here knows is no end: it would be taken for one although the answer broke off, and a status of 0 would
/// say that it is whole. What came is kept, the model is asked to go on, and if its answers always end so, the run ends with
/// the reason in its error. A word for a whole answer that is missing here costs that error, and a row above mends it.
///
/// # Errors
/// Where the vendor failed: the request is made again.
pub(super) fn stop(reason: &str, words: Option<&str>) -> Result<Stop, Trouble> {
    let lower = reason.to_ascii_lowercase();
    let has = |parts: &[&str]| parts.iter().any(|part| lower.contains(part));
    Ok(match () {
        () if FINISHED.contains(&&*lower) => Stop::Finished,
        () if has(MALFORMED) => super::broken_off(reason, words),
        () if has(WINDOW) => Stop::WindowFull,
        () if has(DECLINED) => super::declined(reason, words),
        () if has(LIMIT) => Stop::OutputLimit,
        () if has(FAILED) => return Err(Trouble::Failed(super::reasoned(reason, words))),
        () => super::broken_off(&format!("it ended for an unknown reason: {reason}"), words),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_told_apart_in_the_words_of_vendors_and_gateways() {
        for reason in ["stop", "STOP", "tool_calls", "end_turn", "eos", "COMPLETE"] {
            assert_eq!(stop(reason, None), Ok(Stop::Finished), "{reason}");
        }
        for reason in ["length", "model_length", "MAX_TOKENS", "max_output_tokens"] {
            assert_eq!(stop(reason, None), Ok(Stop::OutputLimit), "{reason}");
        }
        for reason in ["model_context_window_exceeded", "context_length_exceeded"] {
            assert_eq!(stop(reason, None), Ok(Stop::WindowFull), "{reason}");
        }
        for reason in ["content_filter", "refusal", "sensitive", "guardrail_intervened"] {
            assert_eq!(stop(reason, None), Ok(Stop::Declined(reason.to_owned())), "{reason}");
        }
        for reason in [
            "network_error",
            "abort",
            "insufficient_system_resource",
            "error",
            "server_overloaded",
        ] {
            assert_eq!(stop(reason, None), Err(Trouble::Failed(reason.to_owned())), "{reason}");
        }
        assert!(matches!(stop("something_new", None), Ok(Stop::BrokenOff(said)) if said.contains("something_new")));
    }
}
