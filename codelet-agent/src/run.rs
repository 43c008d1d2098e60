//! A run, from a prompt to its end, as a state machine without side effects. It says what comes next; the driver does
//! it and reports the outcome.

pub mod answer;
pub(crate) mod call_key;
mod ending;
pub(crate) mod loop_guard;
pub mod retry;
pub(crate) mod settings;

use crate::model::bill::Spent;
use crate::model::{ModelError, Reply, Silence, Stop};
use crate::run::answer::CheckedAnswer;
use crate::run::call_key::CallKey;
pub use crate::run::ending::Ending;
use crate::run::loop_guard::{LoopAction, LoopGuard};
use crate::run::retry::Retries;
pub use crate::run::settings::Limits;
use codelet_context::conversation::{Conversation, Due, Refusal, Signals};
use codelet_context::message::{Message, Part, ToolCall};
use codelet_context::policy::{CompactAt, Reason};
use codelet_text::short::grouped;
use std::time::Duration;

/// The next thing to do.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Step {
    /// Make the edit that is due.
    Compact(Due),
    /// Wait, then ask again.
    Wait {
        /// The error that occurred.
        cause: String,
        /// The duration.
        wait: Duration,
        /// The number of the next try, counted from 2.
        next_try: u32,
    },
    /// Ask the model.
    Ask,
    /// Run these tool calls and append their results.
    CallTools(Vec<ToolCall>),
    /// End the run.
    Finish(Ending),
}

/// The time limits for a silent provider in one request.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(crate) struct Bearing {
    /// The silence limit before the first sign of life, if shorter than the request's own time limit.
    pub(crate) most: Option<Duration>,
    /// True if an earlier try of the same request failed.
    pub(crate) is_retry: bool,
    /// The effective limit before the first sign of life, and the number of the try that follows, if any.
    pub(crate) first: Option<(Duration, Option<u32>)>,
    /// The same between two signs of life.
    pub(crate) between: Option<(Duration, Option<u32>)>,
}

/// The effect of a reply on the conversation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Taken {
    /// The reply is appended.
    Append,
    /// Only its text is appended: it contains calls that will never have results.
    AppendWords,
    /// It is appended, followed by a notice from the user's side that its end is missing.
    AppendAndGoOn,
    /// It is empty, so nothing is appended.
    Drop,
    /// Its text is appended, followed by a notice from the user's side that it was broken off.
    AppendAndTell,
}

/// The number of times an answer that hit the output limit is continued.
const CONTINUATIONS: u32 = 3;
/// The number of consecutive pauses after which the provider is asked to go on; each pause is billed.
const PAUSES: u32 = 10;
/// The number of consecutive refusals as too long, each leading to a smaller request, after which no smaller one is
/// tried. If the provider names no limit, a million tokens shrink to the smallest window in fewer tries.
const TOO_LONG: u32 = 60;
/// The number of consecutive refusals of the output limit, each leading to a lower one, after which none is tried.
const OUTPUT_LIMITS: u32 = 2;
/// The number of consecutive answers of which nothing but a cut call is left, after which the run ends.
const CUT_CALLS: u32 = 2;
/// The number of retries after an empty answer.
const EMPTY_TRIES: u32 = 2;
/// The number of final answers that may fail the check in one run, after which it ends without one.
const UNFIT_TRIES: u32 = 3;
/// The number of times in a row that rejected parts are removed from the conversation and the request is repeated: once
/// for what the provider names, and once for whatever else it may have meant.
const LEFT_OUT: u32 = 2;
/// The number of times in a row that a request is rewritten as the provider requires.
const REWRITTEN: u32 = 4;

/// The reason why an answer that is a tool call as text is no answer.
const WROTE_CALL: &str = "it wrote a tool call as text, which is not run: the server does not parse tool calls of this \
    model (llama.cpp needs --jinja, vLLM needs --enable-auto-tool-choice and --tool-call-parser)";

#[derive(Clone, PartialEq, Debug)]
enum Phase {
    Ask,
    Wait(String, Duration),
    Tools(Vec<ToolCall>),
    Over(Ending),
}

/// A run, from its prompt to its end.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    limits: Limits,
    phase: Phase,
    steps: u32,
    retries: Retries,
    loop_guard: LoopGuard,
    empties: u32,
    continuations: u32,
    /// The number of consecutive answers whose calls were all cut at the output limit.
    cut_calls: u32,
    pauses: u32,
    /// The number of final answers that failed the check.
    unfit: u32,
    /// The number of refusals as too long since the last answer.
    refusals: u32,
    /// The provider's message with the last of them.
    refused: String,
    /// The number of refusals of the output limit since the last answer.
    output_limits: u32,
    /// The number of times rejected parts were removed from the conversation since the last answer.
    left_out: u32,
    /// The number of times the request was rewritten since the last answer.
    rewritten: u32,
    /// The text so far of an answer whose end is missing.
    begun: String,
    /// True if the last text preceded a call that was broken off, so it is no answer.
    is_broken_off: bool,
    /// True if a compaction was tried and nothing was appended since: the same reason would lead to the same result.
    acted: bool,
    is_known: bool,
}

impl Run {
    /// Starts a run. `is_known` says that the provider has answered before in this session.
    pub(crate) fn new(limits: Limits, is_known: bool) -> Self {
        Run {
            limits,
            phase: Phase::Ask,
            steps: 0,
            retries: Retries::default(),
            loop_guard: LoopGuard::default(),
            empties: 0,
            continuations: 0,
            cut_calls: 0,
            pauses: 0,
            unfit: 0,
            refusals: 0,
            refused: String::new(),
            output_limits: 0,
            left_out: 0,
            rewritten: 0,
            begun: String::new(),
            is_broken_off: false,
            acted: false,
            is_known,
        }
    }

    /// Returns the number of answered requests.
    pub(crate) fn steps(&self) -> u32 {
        self.steps
    }

    /// Returns the text so far of an answer whose end is missing.
    pub(crate) fn begun(&self) -> &str {
        &self.begun
    }

    pub(crate) fn is_over(&self) -> bool {
        matches!(self.phase, Phase::Over(_))
    }

    /// Returns what comes next. `spent` is the session's cost so far.
    pub(crate) fn next(&self, conversation: &Conversation, signals: Signals, spent: Spent) -> Step {
        match &self.phase {
            Phase::Over(ending) => Step::Finish(ending.clone()),
            Phase::Tools(calls) => Step::CallTools(calls.clone()),
            Phase::Wait(cause, wait) => Step::Wait {
                cause: cause.clone(),
                wait: *wait,
                next_try: self.retries.made() + 1,
            },
            Phase::Ask => self.before_asking(conversation, signals, spent),
        }
    }

    /// Decides whether to compact, the only place that does: before every request, even in the middle of a turn.
    fn before_asking(&self, conversation: &Conversation, signals: Signals, spent: Spent) -> Step {
        if let Some(most) = self.limits.max_steps.filter(|&most| self.steps >= most) {
            return Step::Finish(Ending::StepLimit(most));
        }
        if self.limits.max_cost.is_some_and(|most| spent.dollars >= most) {
            return Step::Finish(Ending::CostLimit(spent));
        }
        match conversation.decide(signals) {
            Some(due) if due.reason().is_forced() && conversation.config().compact_at == CompactAt::Never => {
                Step::Finish(self.too_long(full(conversation)))
            }
            Some(due) if !self.acted || due.reason() == Reason::Refused => Step::Compact(due),
            _ => Step::Ask,
        }
    }

    /// Records the outcome of a compaction.
    pub(crate) fn on_compacted(&mut self, reason: Reason, came: Result<(), &Refusal>) {
        self.acted = true;
        self.loop_guard.forget_seen();
        if let Err(refusal) = came
            && reason.is_forced()
        {
            self.phase = Phase::Over(self.too_long(refusal.to_string()));
        }
    }

    /// Returns an ending that includes the provider's own message: its limit may be something other than the window.
    fn too_long(&self, why: String) -> Ending {
        let said = self.refused.trim();
        Ending::TooLong(match self.refusals {
            0 => why,
            _ if said.is_empty() => why,
            _ => format!("{why}; the provider said: {said}"),
        })
    }

    pub(crate) fn on_waited(&mut self) {
        self.phase = Phase::Ask;
    }

    /// Takes the model's reply. `cut` says that all its calls were cut off, and by what.
    pub(crate) fn on_reply(&mut self, reply: &Reply, cut: Option<&str>) -> Taken {
        self.is_known = true;
        self.retries = Retries::default();
        (self.refusals, self.output_limits) = (0, 0);
        (self.left_out, self.rewritten) = (0, 0);
        self.steps += 1;
        let calls: Vec<ToolCall> = reply.message.calls().cloned().collect();
        let words = words(&reply.message);
        self.is_broken_off &= calls.is_empty() && words.trim().is_empty();
        if let Stop::Declined(said) = &reply.stop {
            let said = if said.trim().is_empty() {
                words.clone()
            } else {
                said.clone()
            };
            self.phase = Phase::Over(Ending::Declined(said));
            return match self.appended(!words.trim().is_empty()) {
                Taken::Append if !calls.is_empty() => Taken::AppendWords,
                taken => taken,
            };
        }
        self.cut_calls = if cut.is_some() { self.cut_calls + 1 } else { 0 };
        if let Some(why) = cut.filter(|_| self.cut_calls >= CUT_CALLS) {
            self.phase = Phase::Over(Ending::NoAnswer(format!("{why}, {} times in a row", self.cut_calls)));
            return match self.appended(!words.trim().is_empty()) {
                Taken::Append => Taken::AppendWords,
                taken => taken,
            };
        }
        if !calls.is_empty() {
            (self.empties, self.continuations, self.pauses) = (0, 0, 0);
            self.begun.clear();
            self.phase = Phase::Tools(calls);
            return self.appended(true);
        }
        match reply.stop {
            Stop::OutputLimit => self.cut_short(&words, "output limit"),
            Stop::WindowFull => self.cut_short(&words, "window"),
            Stop::BrokenOff(ref said) => self.broken_off(said, &words),
            Stop::WroteCall => match self.empty(WROTE_CALL) {
                taken if matches!(self.phase, Phase::Over(_)) => taken,
                _ => {
                    self.acted = false;
                    Taken::AppendAndTell
                }
            },
            Stop::Paused if !reply.message.parts.is_empty() => {
                self.begun.push_str(&words);
                self.pauses += 1;
                self.phase = if self.pauses > PAUSES {
                    let why = format!("it paused {} times in a row", self.pauses);
                    Phase::Over(Ending::NoAnswer(why))
                } else {
                    Phase::Ask
                };
                self.appended(true)
            }
            _ if words.trim().is_empty() && (self.begun.trim().is_empty() || self.is_broken_off) => {
                self.empty("its answer was empty")
            }
            _ => {
                self.begun.push_str(&words);
                self.phase = Phase::Over(Ending::Answered(std::mem::take(&mut self.begun)));
                self.appended(!words.trim().is_empty())
            }
        }
    }

    /// Returns the final answer, if one was just taken.
    pub(crate) fn answer(&self) -> Option<&str> {
        match &self.phase {
            Phase::Over(Ending::Answered(answer)) => Some(answer),
            _ => None,
        }
    }

    /// Continues the run although its final answer was taken.
    pub(crate) fn go_on(&mut self) {
        if self.answer().is_some() {
            self.phase = Phase::Ask;
        }
    }

    /// Takes the verdict on the final answer. If it fails and the model is to be asked again, returns the reason.
    pub(crate) fn on_checked(&mut self, verdict: CheckedAnswer) -> Option<String> {
        let Phase::Over(Ending::Answered(answer)) = &mut self.phase else {
            return None;
        };
        let ending = match verdict {
            CheckedAnswer::Fits(checked) => Ending::Answered(checked),
            CheckedAnswer::Unknown(why) => {
                self.begun = std::mem::take(answer);
                Ending::Unchecked(why)
            }
            CheckedAnswer::Unfit(why) => {
                self.unfit += 1;
                if self.unfit < UNFIT_TRIES {
                    self.phase = Phase::Ask;
                    return Some(why);
                }
                self.begun = std::mem::take(answer);
                let count = self.unfit;
                Ending::Unfit { why, count }
            }
        };
        self.phase = Phase::Over(ending);
        None
    }

    fn appended(&mut self, is_appended: bool) -> Taken {
        self.acted &= !is_appended;
        if is_appended { Taken::Append } else { Taken::Drop }
    }

    fn cut_short(&mut self, words: &str, limit: &str) -> Taken {
        if words.trim().is_empty() {
            return self.empty(&format!("the answer hit the {limit} before its first word"));
        }
        self.begun.push_str(words);
        self.acted = false;
        if self.continuations >= CONTINUATIONS {
            let why = format!(
                "it did not end within the {limit}, {} requests in a row",
                CONTINUATIONS + 1
            );
            self.phase = Phase::Over(Ending::NoAnswer(why));
            return Taken::Append;
        }
        self.continuations += 1;
        self.phase = Phase::Ask;
        Taken::AppendAndGoOn
    }

    fn broken_off(&mut self, said: &str, words: &str) -> Taken {
        let taken = self.empty(&format!("its answer was broken off: {said}"));
        if matches!(self.phase, Phase::Over(_)) {
            return taken;
        }
        self.begun.push_str(words);
        self.is_broken_off = true;
        self.acted = false;
        Taken::AppendAndTell
    }

    fn empty(&mut self, why: &str) -> Taken {
        self.empties += 1;
        self.phase = if self.empties > EMPTY_TRIES {
            Phase::Over(Ending::NoAnswer(format!("{why}, {} times in a row", self.empties)))
        } else {
            Phase::Ask
        };
        Taken::Drop
    }

    /// Returns the time limits for a silent provider in the next request. `limits` are the model's own.
    pub(crate) fn bearing(&self, limits: Option<Silence>) -> Bearing {
        let patience = &self.limits.patience;
        let most = self.retries.most_silence(patience);
        let next_try = |silence: Duration, had_begun| {
            let goes_on = self
                .retries
                .goes_on_after(silence, had_begun, patience, self.is_known || had_begun);
            goes_on.then(|| self.retries.made() + 2)
        };
        let first = limits
            .map(|limits| limits.first.min(most.unwrap_or(Duration::MAX)))
            .or(most);
        let between = limits.map(|limits| limits.between);
        Bearing {
            most,
            is_retry: self.retries.made() > 0,
            first: first.map(|limit| (limit, next_try(limit, false))),
            between: between.map(|limit| (limit, next_try(limit, true))),
        }
    }

    /// Returns how many more times rejected parts may be removed and the request repeated.
    pub(crate) fn may_leave_out(&self) -> u32 {
        LEFT_OUT - self.left_out
    }

    /// Records that rejected parts were removed from the conversation: the request is repeated.
    pub(crate) fn on_left_out(&mut self) {
        self.left_out += 1;
        self.phase = Phase::Ask;
        self.acted = false;
    }

    /// Takes an error. Nothing had arrived for `silence` when it occurred.
    pub(crate) fn on_error(&mut self, error: ModelError, silence: Duration, jitter: f64) {
        if let ModelError::TooLong { said, .. } = error {
            self.refusals += 1;
            self.refused = said;
            if self.refusals > TOO_LONG {
                let why = format!(
                    "the provider refused {} requests in a row as too long, each smaller than the last",
                    self.refusals
                );
                self.phase = Phase::Over(self.too_long(why));
                return;
            }
            // The conversation knows of the refusal and decides whether it can compact.
            self.phase = Phase::Ask;
            self.acted = false;
            return;
        }
        if let ModelError::OutputLimit { limit: Some(_), .. } = error
            && self.output_limits < OUTPUT_LIMITS
        {
            // The output limit is lower now.
            self.output_limits += 1;
            self.phase = Phase::Ask;
            return;
        }
        if let ModelError::Rewritten { .. } = error
            && self.rewritten < REWRITTEN
        {
            self.rewritten += 1;
            self.phase = Phase::Ask;
            return;
        }
        let patience = &self.limits.patience;
        self.phase = match self.retries.after(&error, silence, patience, self.is_known, jitter) {
            Some(wait) => Phase::Wait(error.to_string(), wait),
            None => Phase::Over(Ending::Provider(patience.given_up(error, &self.retries))),
        };
    }

    /// Returns the message of an overloaded provider, if the run ends because of it.
    pub(crate) fn given_up_busy(&self) -> Option<&str> {
        match &self.phase {
            Phase::Over(Ending::Provider(ModelError::Busy { said, .. })) => Some(said),
            _ => None,
        }
    }

    /// Switches to another model, to which earlier failures do not apply and whose window may be smaller.
    pub(crate) fn on_other_model(&mut self) {
        self.phase = Phase::Ask;
        self.retries = Retries::default();
        (self.is_known, self.acted) = (false, false);
        (self.refusals, self.output_limits, self.left_out, self.rewritten) = (0, 0, 0, 0);
    }

    /// Takes the result of a call. Returns a note to append to the result for the model.
    pub(crate) fn on_result(
        &mut self,
        call: &ToolCall,
        call_key: CallKey,
        success: bool,
        changes: bool,
        shown: Option<u64>,
    ) -> Option<String> {
        match self
            .loop_guard
            .take(call.action.kind, call_key, success, changes, shown)
        {
            LoopAction::Fine => None,
            LoopAction::Tell(count) => Some(format!(
                "This very call has now failed {count} times. Do something else: look at what it needs, or say what is in the way."
            )),
            LoopAction::Stop(count) => {
                let tool = call.tool.clone();
                self.phase = Phase::Over(Ending::Loop { tool, count });
                None
            }
            LoopAction::TellStale(count) => Some(format!(
                "The last {count} calls were all made before, with the same result: nothing has changed by them. Go on with the next thing, or \
                 give your answer."
            )),
            LoopAction::StopStale(count) => {
                let tool = call.tool.clone();
                self.phase = Phase::Over(Ending::Stale { tool, count });
                None
            }
        }
    }

    /// Records that the results of all calls of the step are appended.
    pub(crate) fn on_results(&mut self) {
        self.acted = false;
        if !matches!(self.phase, Phase::Over(_)) {
            self.phase = Phase::Ask;
        }
    }
}

/// Returns why a run ends if only the user compacts its session.
fn full(conversation: &Conversation) -> String {
    format!(
        "the context window is full ({} of {} tokens), and automatic compaction is off (compact_at): run /compact and continue, or set \
         compact_at",
        grouped(conversation.occupancy()),
        grouped(conversation.config().limit())
    )
}

/// Returns the text of an answer.
pub(crate) fn words(message: &Message) -> String {
    let texts = message.parts.iter().filter_map(|part| match part {
        Part::Text(text) => Some(text.body.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n\n")
}
