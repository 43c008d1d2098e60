//! A compaction between two requests, with the engine's summary or the model's.

use crate::interrupt::Interrupt;
use crate::model::{ModelError, Request, Stop};
use crate::run::settings::SummaryBy;
use crate::run::{Bearing, words};
use crate::session::Session;
use crate::tool::event::{Event, Listen};
use crate::turn::account::{account_answer, account_part, report};
use crate::turn::ask::{self, RequestOutcome};
use crate::turn::session_hooks;
use codelet_context::conversation::{Conversation, Due, Refusal};
use codelet_context::notice::Notice;
use codelet_context::pin::Pin;
use codelet_context::policy::Reason;
use codelet_context::summary_request::{Failure, SummaryRequest, accept};
use codelet_context::tokens::{Tokens, estimate_bytes};
use std::time::Duration;
use tokio::time::Instant;

/// The number of consecutive compactions without a summary by the model, after which it is no longer asked for one:
/// each try sends the whole prompt and is billed.
const GIVEN_UP: u32 = 2;
/// The delay before each attempt to get a summary, in seconds.
const DELAYS: [u64; 3] = [0, 1, 2];

/// Makes the edit that is due, unless a hook objects, and reports the outcome to the listener and the hooks.
pub(crate) async fn compact(
    session: &mut Session,
    due: Due,
    interrupt: &Interrupt,
    listener: &mut dyn Listen,
) -> Result<(), Refusal> {
    told(session, due, None, interrupt, listener).await
}

/// Does the same, with the user's optional instructions for the summary.
async fn told(
    session: &mut Session,
    due: Due,
    instructions: Option<&str>,
    interrupt: &Interrupt,
    listener: &mut dyn Listen,
) -> Result<(), Refusal> {
    let reason = due.reason();
    // A light edit changes no text of the user or the model, so hooks are not told of it.
    if due.is_light() {
        return edit(session, due, interrupt, listener).await.map(|_| ());
    }
    if let Some(why) = session_hooks::on_compacting(session, reason, instructions, interrupt, listener).await {
        let told = format!("a PreCompact hook blocked the compaction; the conversation is unchanged: {why}");
        listener.on(Event::Notice(told));
        return Ok(());
    }
    let notice = edit(session, due, interrupt, listener).await?;
    if let Some(notice) = notice {
        session_hooks::on_compacted(session, reason, &notice, interrupt, listener).await;
    }
    Ok(())
}

/// Makes the edit that is due, and reports the outcome to the listener; returns the figures if it was made. If it
/// fails, the conversation is unchanged; the caller reports failures that end the run.
async fn edit(
    session: &mut Session,
    due: Due,
    interrupt: &Interrupt,
    listener: &mut dyn Listen,
) -> Result<Option<Notice>, Refusal> {
    let before = session.unwritten;
    let answer = match session.settings.summary {
        SummaryBy::Template => None,
        // A light edit leaves nothing to summarise.
        SummaryBy::Model if due.is_light() => None,
        // A user who asks for a compaction waits for it, and may know that the model has recovered.
        SummaryBy::Model if session.unwritten >= GIVEN_UP && due.reason() != Reason::Asked => None,
        // The request would be refused like the last one.
        SummaryBy::Model if due.reason() == Reason::Refused => Some(Err(Failure::TooLong)),
        SummaryBy::Model => Some(written(session, due.reason(), interrupt, listener).await),
    };
    if answer == Some(Err(Failure::Interrupted)) {
        let told = "compaction interrupted; the conversation is unchanged";
        listener.on(Event::Notice(told.to_owned()));
        return Ok(None);
    }
    let gives_up = session.unwritten == GIVEN_UP && session.unwritten > before;
    let began = Instant::now();
    let came = match answer {
        None => session.conversation.compact(due),
        Some(answer) => session.conversation.compact_with_answer(due, answer),
    };
    let came = match came {
        Ok(notice) => {
            let notice = notice.took(began.elapsed());
            let reason = due.reason();
            listener.on(Event::Compacted {
                reason,
                notice: notice.clone(),
            });
            if let Some(skills) = &session.skills {
                skills.tell_again(&mut session.conversation);
            }
            Ok(Some(notice))
        }
        Err(refusal) => {
            // If the run cannot continue, its ending says the same.
            if !due.reason().is_forced() {
                listener.on(Event::Notice(refusal.to_string()));
            }
            Err(refusal)
        }
    };
    if gives_up {
        listener.on(Event::Notice(format!(
            "the model failed to write a summary {GIVEN_UP} times in a row; from now on a template is used"
        )));
    }
    came
}

/// Compacts at the user's request, with instructions for the summary.
pub(crate) async fn compact_as_asked(
    session: &mut Session,
    instructions: Option<&str>,
    interrupt: &Interrupt,
    listener: &mut dyn Listen,
) -> Result<(), Refusal> {
    let pinned = instruct(&mut session.conversation, instructions);
    let came = told(session, Due::whole(Reason::Asked), instructions, interrupt, listener).await;
    // The instructions apply to this summary only.
    session.conversation.attend_to(None);
    if let Some(pin) = pinned {
        session.conversation.unpin(&pin);
    }
    came
}

/// Puts the instructions at the start of the next summary, and prefers quotes of what they name. Returns the pin made
/// for that.
pub(crate) fn instruct(conversation: &mut Conversation, instructions: Option<&str>) -> Option<Pin> {
    let instructions = instructions.map(str::trim).filter(|words| !words.is_empty())?;
    conversation.attend_to(Some(instructions));
    let pin = Pin::Text(instructions.to_owned());
    conversation.pin(pin.clone()).then_some(pin)
}

/// Asks the model for a summary, three times at most. The request extends what the session has sent, so that it is read
/// from the cache.
async fn written(
    session: &mut Session,
    reason: Reason,
    interrupt: &Interrupt,
    listener: &mut dyn Listen,
) -> Result<String, Failure> {
    let mut last = Failure::Interrupted;
    // The wait for a silent provider is limited as for an answer; the engine's own summary is the fallback.
    let patience = session.settings.limits.patience;
    let mut left = patience.total;
    let prompt = session.conversation.state("", 0).current;
    let limits = session.parts.model.silence(prompt);
    for (made, delay) in (1..).zip(DELAYS) {
        tokio::select! {
            biased;
            () = interrupt.thrown() => return Err(Failure::Interrupted),
            () = tokio::time::sleep(Duration::from_secs(delay)) => {}
        }
        let another = (made < DELAYS.len() as u32).then_some(made + 1);
        let most = (made > 1 || patience.is_named).then_some(left);
        let told = |limit: Duration| (limit, another.filter(|_| limit < left));
        let bearing = Bearing {
            most,
            is_retry: made > 1,
            first: limits.map(|limits| told(limits.first.min(most.unwrap_or(limits.first)))),
            between: limits.map(|limits| told(limits.between)),
        };
        let (answer, silence) = once(session, bearing, interrupt, listener).await;
        match answer.and_then(|text| accept(&text)) {
            Ok(summary) => {
                session.unwritten = 0;
                return Ok(summary);
            }
            Err(failure) => last = failure,
        }
        left = left.saturating_sub(silence);
        // A compaction by the user is not part of a run, so the run's cost limit does not apply.
        let is_spent = session.is_spent() && reason != Reason::Asked;
        if left.is_zero() || is_spent || !last.is_worth_another_try() {
            break;
        }
    }
    if last != Failure::Interrupted {
        session.unwritten += 1;
    }
    Err(last)
}

/// Returns the output limit of a summary. If thinking shares it with the text, it is that of any other answer, as far
/// as there is room in the context window; only half of that room is used, since the latest messages are estimated.
fn most_output(session: &Session, summary: &SummaryRequest) -> Tokens {
    // No more than the model supports, if known.
    let most = session.conversation.config().reserved_output.max(1);
    let wanted = summary.max_output.min(most);
    if !session.parts.model.thinks() && !session.has_thought {
        return wanted;
    }
    let prompt = session.conversation.state("", 0).current;
    let left = session.conversation.config().window().saturating_sub(prompt);
    session.most_output().min(left / 2).max(wanted)
}

/// Returns the outcome of one try, and how long nothing had arrived when it failed.
async fn once(
    session: &mut Session,
    bearing: Bearing,
    interrupt: &Interrupt,
    listener: &mut dyn Listen,
) -> (Result<String, Failure>, Duration) {
    let summary = session.conversation.summary_request();
    let most_output = most_output(session, &summary);
    let request = Request {
        edge: session.sent,
        next_edit: None,
        messages: summary.messages,
        tools: session.specs.clone(),
        max_output: Some(most_output),
        session: session.settings.id.as_str().into(),
    };
    if let Some(witness) = &mut session.witness {
        witness.sending_beside(&session.conversation);
    }
    let mut silent = Duration::ZERO;
    let (answer, billed, came) = match ask::stream(session, request, bearing, interrupt, listener, false).await {
        RequestOutcome::Answered(reply) => {
            let text = words(&reply.message);
            let answer = match &reply.stop {
                Stop::Finished if reply.message.calls().next().is_some() => Err(Failure::Called),
                Stop::Finished => Ok(text),
                Stop::OutputLimit | Stop::Paused | Stop::WroteCall => {
                    session.has_thought |= estimate_bytes(text.len()) < summary.max_output / 2;
                    Err(Failure::Cut)
                }
                Stop::WindowFull => Err(Failure::TooLong),
                Stop::Declined(said) | Stop::BrokenOff(said) => Err(Failure::Failed(said.clone())),
            };
            let prompt = session.conversation.state("", 0).current;
            account_answer(session, &reply, prompt, listener);
            session.conversation.reported(report(&reply.billed, false));
            (answer, None, None)
        }
        RequestOutcome::Failed {
            error: ModelError::TooLong { .. },
            billed,
            came,
            ..
        } => (Err(Failure::TooLong), billed, came),
        RequestOutcome::Failed {
            error,
            billed,
            silence,
            came,
        } => {
            silent = silence;
            (Err(Failure::Failed(error.to_string())), billed, came)
        }
        RequestOutcome::Interrupted { billed, came, .. } => (Err(Failure::Interrupted), billed, came),
    };
    account_part(session, billed, came, listener);
    if let Some(billed) = billed {
        session.conversation.reported(report(&billed, false));
    }
    (answer, silent)
}
