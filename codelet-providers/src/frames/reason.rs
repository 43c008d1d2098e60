//! Stop reasons of vendors and gateways.

use super::Trouble;
use codelet_agent::model::Stop;

/// Stop reasons of complete answers.
const FINISHED: &[&str] = &[
    "stop", "stop_sequence", "end_turn", "end", "eos", "eos_token", "eot", "complete", "completed", "done", "finish",
    "finished", "tool_calls", "tool_call", "tool_use", "function_call",
];
/// Substrings of stop reasons for an answer that the vendor could not parse.
const MALFORMED: &[&str] = &["malformed", "unexpected_tool_call", "too_many_tool_calls"];
/// … for a full context window.
const WINDOW: &[&str] = &["context"];
/// … for a refused answer.
const DECLINED: &[&str] = &[
    "filter", "refus", "safety", "sensitive", "blocklist", "blocked", "prohibited", "recitation", "spii", "moderation",
    "guardrail", "policy",
];
/// … for an answer that reached its output limit.
const LIMIT: &[&str] = &["length", "max_tokens", "max_output", "max_completion", "token_limit"];
/// … for a failure of the vendor.
const FAILED: &[&str] = &[
    "error", "abort", "fail", "timeout", "timed_out", "time_limit", "cancel", "insufficient", "interrupt", "overload",
    "unavailable", "disconnect", "preempt", "throttl", "expired", "busy", "terminated", "exception", "network",
];

/// Converts a stop reason. `words` is the vendor's explanation.
///
/// An unknown reason is not treated as an end: the answer may have been aborted, and an exit status of 0 would call it
/// complete. The content is kept, the model is asked to continue, and if its answers always end like this, the run
/// fails with the reason in its error. A missing reason for complete answers causes that error, and a row above fixes
/// it.
///
/// # Errors
/// If the vendor failed: the request is then retried.
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
            "network_error", "abort", "insufficient_system_resource", "error", "server_overloaded",
        ] {
            assert_eq!(stop(reason, None), Err(Trouble::Failed(reason.to_owned())), "{reason}");
        }
        assert!(matches!(stop("something_new", None), Ok(Stop::BrokenOff(said)) if said.contains("something_new")));
    }
}
