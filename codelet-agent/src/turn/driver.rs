//! The driver: does what the run says comes next, waits for it, and reports the outcome to the run and the listener.

use crate::environment::instructions::Nearer;
use crate::interrupt::{self, Interrupt};
use crate::model::bill::Bill;
use crate::model::text_tool_calls;
use crate::model::{Billed, ModelError, Reply, Stop};
use crate::run::answer::{self, CheckedAnswer};
use crate::run::{Ending, Run, Step, Taken, words};
use crate::session::Session;
use crate::session::models;
use crate::tool::event::{Event, Listen};
use crate::turn::account::{account_answer, account_part, report};
use crate::turn::ask::{self, RequestOutcome};
use crate::turn::compaction;
use crate::turn::refused;
use crate::turn::session_hooks;
use crate::turn::step;
use codelet_context::conversation::{Earlier, Signals};
use codelet_context::message::{Message, Origin, Part, Role};
use codelet_context::policy::CompactAt;
use codelet_context::tokens::Tokens;
use codelet_text::short::grouped;
use std::borrow::Cow;
use std::time::Duration;

/// The notice from the user's side when the end of an answer is missing.
const GO_ON: &str = "The answer above was cut at the output limit. Go on exactly where it ends; repeat nothing.";
/// The same when the window was full: by then there is room, and a summary follows that answer.
const GO_ON_WITH_ROOM: &str = "Your last answer was cut because the context window was full; now there is room. Go on exactly where \
    that answer ends; repeat nothing.";

/// Carries an appended prompt to its end. `before` is the conversation before it, to return to if it is refused.
pub(crate) async fn drive(
    session: &mut Session,
    before: &Earlier,
    interrupt: &Interrupt,
    listener: &mut dyn Listen,
) -> Ending {
    session.bill_before = session.bill;
    session.wishes_compaction = false;
    let mut run = Run::new(session.settings.limits, session.bill.requests > 0);
    let mut owed: Option<Cow<'static, str>> = None;
    let mut held = 0;
    let ending = loop {
        session.keep(listener);
        if interrupt.is_thrown() {
            break Ending::Interrupted;
        }
        let spent = session.bill.since(&Bill::default());
        let signals = signals(session);
        match run.next(&session.conversation, signals, spent) {
            Step::Compact(due) => {
                let came = compaction::compact(session, due, interrupt, listener).await;
                run.on_compacted(due.reason(), came.as_ref().map(|_| ()));
                // The compaction may have removed the instructions of folders.
                session.nearer = Nearer::default();
            }
            Step::Wait { cause, wait, next_try } => {
                if !wait_for(session, &cause, wait, next_try, interrupt, listener).await {
                    break Ending::Interrupted;
                }
                run.on_waited();
            }
            Step::Ask => {
                // This follows whatever a compaction has left of the answer, or the model would not know that it was
                // cut. It is repeated if the request was refused and the compaction after that removed it.
                if let Some(words) = owed.as_deref().filter(|words| !is_told(session, words)) {
                    let words = Part::text_from(Origin::Notice, words);
                    session.conversation.append(Message::new(Role::User, vec![words]));
                }
                let config = session.conversation.config();
                listener.on(Event::Asking {
                    step: run.steps() + 1,
                    occupancy: session.conversation.state("", 0).current,
                    limit: config.limit(),
                });
                let prompt = session.conversation.state("", 0).current;
                let bearing = run.bearing(session.parts.model.silence(prompt));
                match ask::ask(session, bearing, interrupt, listener).await {
                    RequestOutcome::Answered(reply) => {
                        owed = take(session, &mut run, *reply, interrupt, listener).await
                    }
                    RequestOutcome::Failed {
                        error,
                        billed,
                        silence,
                        came,
                    } => {
                        fail(session, &mut run, (error, silence), (billed, came), listener);
                    }
                    RequestOutcome::Interrupted { text, billed, came } => {
                        keep_what_was_said(session, text, (billed, came), listener);
                        break Ending::Interrupted;
                    }
                }
            }
            Step::CallTools(calls) => {
                let is_whole = step::call_tools(session, &mut run, &calls, interrupt, listener).await;
                run.on_results();
                if !is_whole {
                    break Ending::Interrupted;
                }
            }
            Step::Finish(Ending::Answered(answer)) => {
                match session_hooks::on_stop(session, &answer, &mut held, interrupt, listener).await {
                    Some(words) => {
                        run.go_on();
                        owed = Some(Cow::Owned(words));
                    }
                    None => break Ending::Answered(answer),
                }
            }
            Step::Finish(ending) => break ending,
        }
    };
    session.returns_from_fallback();
    session.unfinished = match ending {
        // A user who interrupts does not want the partial answer.
        Ending::Answered(_) | Ending::Interrupted => String::new(),
        _ => run.begun().to_owned(),
    };
    if ending.is_refusal() {
        refused::take_turn_back(session, before, listener);
    }
    session.keep(listener);
    listener.on(Event::Over(ending.clone()));
    ending
}

/// Returns whether the cache has expired, and what the last step's calls have asked for.
fn signals(session: &mut Session) -> Signals {
    Signals {
        is_cold: session.is_cold(),
        is_wished: std::mem::take(&mut session.wishes_compaction),
        ..Signals::default()
    }
}

/// Returns the measure for a conversation that does not fit.
fn fit(session: &Session) -> &'static str {
    match session.settings.compact_at {
        CompactAt::Never => "it has to fit",
        CompactAt::Full | CompactAt::Share(_) => "compacting to fit",
    }
}

/// Returns whether this notice follows the model's last message.
fn is_told(session: &Session, words: &str) -> bool {
    let messages = session.conversation.view().messages.iter().rev();
    let mut behind = messages.take_while(|message| message.role != Role::Assistant);
    let says =
        |part: &Part| matches!(part, Part::Text(text) if text.origin == Origin::Notice && text.body.as_str() == words);
    behind.any(|message| message.parts.iter().any(says))
}

/// Appends an answer with its usage; returns the notice to send with the next request.
async fn take(
    session: &mut Session,
    run: &mut Run,
    mut reply: Reply,
    interrupt: &Interrupt,
    listener: &mut dyn Listen,
) -> Option<Cow<'static, str>> {
    let mut owed = None;
    let prompt = session.conversation.state("", 0).current;
    account_answer(session, &reply, prompt, listener);
    session.trusts_model();
    session.replies += 1;
    let is_thinking = |part: &Part| matches!(part, Part::Thinking(_));
    session.has_thought |= reply.billed.reasoning > 0 || reply.message.parts.iter().any(is_thinking);
    step::prepare_calls(session, &mut reply);
    let report = report(&reply.billed, true);
    let is_answer = reply.stop == Stop::Finished && reply.message.calls().next().is_none();
    let check = session.answer_check.clone();
    let said = words(&reply.message);
    let is_call = is_answer && text_tool_calls::is_call(&said, &session.specs);
    // Requested JSON may look like a call.
    let is_wanted = match &check {
        Some(check) if is_call => !matches!(
            answer::check(check, &said, interrupt).await,
            Some(CheckedAnswer::Unfit(_))
        ),
        _ => false,
    };
    if is_call && !is_wanted {
        reply.stop = Stop::WroteCall;
        let told = "the model wrote a tool call as text, which was not run: the server does not parse tool calls of this model";
        listener.on(Event::Notice(told.to_owned()));
    }
    let cut = cut_calls(session, &reply);
    if let Some(why) = &cut {
        let name = &session.parts.model.profile().name;
        listener.on(Event::Notice(format!(
            "{why}; max_output under [models.\"{name}\"] in the settings sets it"
        )));
    }
    let taken = run.on_reply(&reply, cut.as_deref());
    let verdict = match (&check, run.answer()) {
        (Some(check), Some(answer)) => answer::check(check, answer, interrupt).await,
        _ => None,
    };
    if let Some(why) = verdict.and_then(|verdict| run.on_checked(verdict)) {
        listener.on(Event::Notice(format!(
            "the answer does not fit the schema; asking again: {why}"
        )));
        owed = Some(Cow::Owned(format!(
            "Your last answer does not fit the JSON Schema: {why}. Answer again, with one JSON value that fits and nothing else."
        )));
    }
    match taken {
        Taken::Append => session.conversation.replied(reply.message, report),
        // Thinking and other fields of the message may be tied to its calls.
        Taken::AppendWords => {
            let said = Message::assistant(words(&reply.message));
            session.conversation.replied(said, report);
            reply.broken.clear();
        }
        Taken::AppendAndGoOn => {
            session.conversation.replied(reply.message, report);
            owed = Some(Cow::Borrowed(match reply.stop {
                Stop::WindowFull => GO_ON_WITH_ROOM,
                _ => GO_ON,
            }));
        }
        Taken::Drop => session.conversation.reported(report),
        Taken::AppendAndTell => {
            let said = words(&reply.message);
            if said.trim().is_empty() {
                session.conversation.reported(report);
            } else {
                session.conversation.replied(Message::assistant(said), report);
            }
            owed = Some(Cow::Owned(broken_off(&reply.stop)));
        }
    }
    if reply.stop == Stop::WindowFull && !run.is_over() {
        // The next request is longer than the one that was just too long; the window is its size.
        let window = session.conversation.config().window();
        let window = session.conversation.state("", 0).current.min(window);
        session.conversation.refused(Some(window), None);
        let fit = fit(session);
        listener.on(Event::Notice(format!(
            "the context window was full before the answer ended; {fit} below {window} tokens"
        )));
    }
    session.is_cut = reply.stop == Stop::OutputLimit;
    session.broken = reply.broken;
    tell_of_doubt(session, listener);
    owed
}

/// Returns what the output limit did to a reply that it left no whole call.
fn cut_calls(session: &Session, reply: &Reply) -> Option<String> {
    let mut calls = reply.message.calls();
    let last = reply
        .message
        .calls()
        .last()
        .filter(|_| reply.stop == Stop::OutputLimit)?;
    let limit = grouped(session.most_output());
    calls.all(|call| reply.broken.contains(&call.id)).then(|| {
        format!(
            "its call of {} was cut off at the output limit of {limit} tokens",
            last.tool
        )
    })
}

/// Returns the notice from the user's side about an answer that was broken off.
fn broken_off(stop: &Stop) -> String {
    let why = match stop {
        Stop::WroteCall => {
            return "Your last answer holds a tool call as text, and it was not made. Call tools through the interface that you were given for \
                    them; write no call into an answer."
                .to_owned();
        }
        Stop::BrokenOff(said) => said.as_str(),
        _ => "unknown reason",
    };
    format!(
        "Your last answer was broken off, and a tool call that it may have begun was not made: {why}. Go on from here. Call only \
         tools that you were given, each by its name and with parameters that are one JSON object."
    )
}

/// Tells the user, once, that the provider's counts are not trusted.
fn tell_of_doubt(session: &mut Session, listener: &mut dyn Listen) {
    if let Some((reported, estimate)) = session.conversation.doubted()
        && !std::mem::replace(&mut session.has_told_of_doubt, true)
    {
        listener.on(Event::Notice(format!(
            "the provider reports {reported} tokens for a prompt of about {estimate}: the context window use is estimated, the cost is \
             as reported"
        )));
    }
}

fn fail(
    session: &mut Session,
    run: &mut Run,
    (mut error, silence): (ModelError, Duration),
    (billed, came): (Option<Billed>, Option<Tokens>),
    listener: &mut dyn Listen,
) {
    account_part(session, billed, came, listener);
    if let Some(billed) = billed {
        session.conversation.reported(report(&billed, false));
    }
    if let ModelError::TooLong { limit, counted, .. } = &error {
        session.conversation.refused(*limit, *counted);
        let (window, fit) = (session.conversation.config().window(), fit(session));
        listener.on(Event::Notice(match (limit, counted) {
            (Some(_), Some(counted)) => {
                format!("the provider counts {counted} tokens, and its limit is {window}; {fit}")
            }
            (Some(_), None) => format!("the provider's limit is {window} tokens; {fit}"),
            (None, _) => {
                format!("the provider says that the request is too long; {fit} below {window} tokens")
            }
        }));
    }
    if let ModelError::OutputLimit { limit, said } = &mut error {
        // Later requests ask for no more than this.
        *limit = limit.filter(|&limit| session.conversation.replies_have_at_most(limit));
        if limit.is_none() {
            let name = &session.parts.model.profile().name;
            said.push_str(&format!("; set max_output under [models.\"{name}\"] in the settings"));
        }
    }
    if let ModelError::Rejected { suspects, said } = &error
        && refused::leave_out(session, run, (suspects, said), listener)
    {
        return;
    }
    if let ModelError::Rewritten { how, said } = &error {
        listener.on(Event::Notice(format!("{how}, as the provider requires: {said}")));
    }
    models::on_error(session, run, error, listener, |run, error| {
        run.on_error(error, silence, fastrand::f64());
    });
}

/// Keeps the text that the user saw; drops everything else that was begun.
fn keep_what_was_said(
    session: &mut Session,
    text: String,
    (billed, came): (Option<Billed>, Option<Tokens>),
    listener: &mut dyn Listen,
) {
    account_part(session, billed, came, listener);
    let report = report(&billed.unwrap_or_default(), false);
    if text.trim().is_empty() {
        session.conversation.reported(report);
    } else {
        let parts = vec![Part::text(text), Part::text_from(Origin::Notice, interrupt::MARK)];
        let said = Message::new(Role::Assistant, parts);
        session.conversation.replied(said, report);
    }
}

/// Waits, reporting the remaining time once a second; returns false when the user interrupts.
async fn wait_for(
    session: &Session,
    cause: &str,
    wait: Duration,
    next_try: u32,
    interrupt: &Interrupt,
    listener: &mut dyn Listen,
) -> bool {
    listener.on(Event::Void);
    let mut left = wait;
    loop {
        listener.on(Event::Waiting {
            cause: cause.to_owned(),
            left,
            next_try: Some(next_try),
            first_token: None,
            paused: None,
        });
        if left.is_zero() {
            return true;
        }
        let second = left.min(Duration::from_secs(1));
        tokio::select! {
            biased;
            () = interrupt.thrown() => return false,
            () = tokio::time::sleep(second) => left -= second,
            never = session.glances.given(session) => match never {},
        }
    }
}
