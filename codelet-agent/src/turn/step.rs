//! The tool calls of one step: permitted, run, truncated and answered in order.

use crate::interrupt::{self, Interrupt};
use crate::model::Reply;
use crate::run::Run;
use crate::run::call_key::call_key;
use crate::session::Session;
use crate::tool::event::{Event, Listen, Stopped};
use crate::tool::{AT_ONCE, Aim, Live, Output};
use crate::turn::call::{CallOutcome, call_one, unharmed};
use crate::turn::nearer;
use crate::turn::truncation::{SHOWN, answer, bound, room};
use codelet_context::message::{Message, Origin, Part, ToolCall};
use codelet_context::refusal;
use futures_util::FutureExt as _;
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::Instant;

/// The number of glimpses of running tools that may wait to be shown.
const GLIMPSES: usize = 64;

/// Classifies each call in the engine's terms, and replaces ids that the provider reuses.
pub(crate) fn prepare_calls(session: &mut Session, reply: &mut Reply) {
    for part in &mut reply.message.parts {
        let Part::ToolCall(call) = part else { continue };
        if call.id.is_empty() || session.call_ids.contains(&call.id) {
            let id = fresh_id(session.call_ids.len(), |id| session.call_ids.contains(id));
            for broken in reply.broken.iter_mut().filter(|broken| **broken == call.id) {
                *broken = id.clone();
            }
            call.id = id;
        }
        session.call_ids.insert(call.id.clone());
        if let Some(tool) = session.parts.tool(&call.tool) {
            call.action = unharmed(|| tool.action(&call.parameters)).unwrap_or_default();
        }
    }
}

fn fresh_id(from: usize, is_taken: impl Fn(&str) -> bool) -> Arc<str> {
    let mut number = from;
    loop {
        let id = format!("call_{number}");
        if !is_taken(&id) {
            return id.into();
        }
        number += 1;
    }
}

/// Runs the calls and appends their results. Returns false if the user interrupted; even then, every call has a result.
pub(crate) async fn call_tools(
    session: &mut Session,
    run: &mut Run,
    calls: &[ToolCall],
    interrupt: &Interrupt,
    listener: &mut dyn Listen,
) -> bool {
    let mut outputs: Vec<Option<Output>> = vec![None; calls.len()];
    let mut aims = vec![None; calls.len()];
    let mut touched = Vec::new();
    let mut unbegun = HashSet::new();
    let mut at = 0;
    while at < calls.len() && !interrupt.is_thrown() {
        let batch = batch(session, &calls[at..]);
        let batch = &calls[at..at + batch];
        unbegun.extend(
            run_batch(
                session,
                batch,
                (&mut outputs[at..], &mut aims[at..], &mut touched),
                interrupt,
                listener,
            )
            .await,
        );
        at += batch.len();
        session.settle_tasks();
    }
    for call in &calls[at..] {
        listener.on(started(call, description(session, call)));
        listener.on(not_run(call));
        unbegun.insert(call.id.clone());
    }
    let room = room(session.conversation.config().window(), session.conversation.density());
    let bound = bound(room, &outputs);
    let mut results = Vec::with_capacity(calls.len());
    let mut tried = HashSet::new();
    for ((call, output), aim) in calls.iter().zip(outputs).zip(aims) {
        let was_run = output.is_some();
        let mut output = output.unwrap_or_else(|| match unbegun.contains(&call.id) {
            true => Output::failure(refusal::NOT_RUN),
            false => Output::failure(interrupt::MARK),
        });
        // A later call of the same reply may have stored what this one printed where secrets are collected from.
        let hidden = session.hidden(output.text.as_str());
        if hidden != output.text.as_str() {
            output.text = hidden.into();
        }
        let tool = session.parts.tool(&call.tool);
        let changes = !tool.is_some_and(|tool| tool.is_read_only());
        let call_key = call_key(call, tool.map(|tool| tool.spec()));
        if output.refusal == Some(refusal::RefusedBy::Rule) {
            session.held_up = session.held_up.max(aim.or(Some(Aim::Deed)));
            listener.on(Event::Refused {
                tool: call.tool.clone(),
                description: description(session, call),
                why: output.text.as_str().trim_start_matches(refusal::PREFACE).to_owned(),
            });
        } else if output.held_up.is_some() {
            session.held_up = session.held_up.max(output.held_up);
        } else if output.success && aim >= session.held_up {
            session.held_up = None;
        }
        // Equal calls in one reply count as one try: the model has not yet seen the outcome.
        let is_first = tried.insert(call_key.clone());
        let note = if was_run && (output.success || is_first) {
            let shown = is_first.then(|| output.text.hash());
            run.on_result(call, call_key, output.success, changes, shown)
        } else {
            None
        };
        session.narrowed.extend(output.narrowed.take());
        session.wishes_compaction |= output.wishes_compaction;
        let transcript = output.transcript.as_ref();
        let kept = transcript.and_then(|transcript| session.keep_transcript(transcript, output.text.as_str()));
        let notes = note.into_iter().chain(std::mem::take(&mut output.hooks)).collect();
        let mut result = answer(&mut session.conversation, call, output, bound, notes);
        result
            .output
            .extend(kept.map(|kept| Part::text_from(Origin::Notice, kept)));
        results.push(result);
    }
    session.conversation.append(Message::results(results));
    nearer::tell(session, &touched, listener);
    session.broken.clear();
    !interrupt.is_thrown()
}

/// Returns the number of leading calls to run at once: those that only read, or those in sessions of their own.
fn batch(session: &Session, calls: &[ToolCall]) -> usize {
    let apart = calls.iter().take_while(|call| works_apart(session, call)).count();
    if apart > 0 {
        return apart.min(AT_ONCE);
    }
    let only_looks = |call: &ToolCall| session.parts.tool(&call.tool).is_none_or(|tool| tool.is_read_only());
    calls.iter().take_while(|call| only_looks(call)).count().max(1)
}

fn works_apart(session: &Session, call: &ToolCall) -> bool {
    session.parts.tool(&call.tool).is_some_and(|tool| tool.works_apart())
}

/// Returns a line about a call for the user; empty for an unknown tool.
pub(crate) fn description(session: &Session, call: &ToolCall) -> String {
    let tool = session.parts.tool(&call.tool);
    let described = tool.and_then(|tool| unharmed(|| tool.describe(&call.parameters)).ok());
    described.unwrap_or_default()
}

fn started(call: &ToolCall, description: String) -> Event {
    Event::ToolStarted {
        id: call.id.clone(),
        tool: call.tool.clone(),
        description,
        action: call.action.clone(),
    }
}

/// Returns the event for a call that ended after this time, with its output and changes.
fn finished(call: &ToolCall, output: &Output, elapsed: Duration, diff: Arc<str>, stopped: Option<Stopped>) -> Event {
    Event::ToolFinished {
        id: call.id.clone(),
        tool: call.tool.clone(),
        success: output.success,
        failed_in_pipe: output.failed_in_pipe(&call.action),
        bytes: output.text.len() as u64 + output.lost,
        elapsed,
        printed: output.text.clone(),
        remarks: output.remarks,
        diff,
        stopped,
    }
}

/// Returns the event for a call that was interrupted before it began.
fn not_run(call: &ToolCall) -> Event {
    let nothing = Output::failure("");
    finished(call, &nothing, Duration::ZERO, Arc::from(""), Some(Stopped::NotRun))
}

/// Runs calls at once, storing each output by position and appending the files and folders that were touched. Returns the
/// ids of those that an interruption kept from starting; any other without an output was still running.
async fn run_batch(
    session: &Session,
    calls: &[ToolCall],
    (outputs, aims, touched): (&mut [Option<Output>], &mut [Option<Aim>], &mut Vec<PathBuf>),
    interrupt: &Interrupt,
    listener: &mut dyn Listen,
) -> Vec<Arc<str>> {
    let mut unbegun = Vec::new();
    let mut printed: Vec<(Instant, String)> = vec![(Instant::now(), String::new()); calls.len()];
    let (glimpses, mut shown) = mpsc::channel(GLIMPSES);
    let apart = calls.iter().filter(|call| works_apart(session, call)).count();
    let share = session.share(apart);
    let mut running: FuturesUnordered<_> = calls
        .iter()
        .enumerate()
        .map(|(at, call)| {
            let description = description(session, call);
            listener.on(started(call, description.clone()));
            let live = Live::new(call.id.clone(), glimpses.clone());
            let is_broken = session.broken.contains(&call.id);
            let began = Instant::now();
            call_one(session, (call, description), is_broken, share, live, interrupt.clone())
                .map(move |came| (at, began, came))
        })
        .collect();
    let grace = async {
        interrupt.thrown().await;
        tokio::time::sleep(session.grace).await;
    };
    tokio::pin!(grace);
    loop {
        tokio::select! {
            biased;
            Some(event) = shown.recv() => show(event, calls, &mut printed, listener),
            next = running.next() => {
                // Everything shown before the output belongs in front of it.
                while let Ok(event) = shown.try_recv() {
                    show(event, calls, &mut printed, listener);
                }
                let Some((at, began, came)) = next else { return unbegun };
                // A call interrupted before it was permitted was not made.
                let Some(made) = came else {
                    listener.on(not_run(&calls[at]));
                    unbegun.push(calls[at].id.clone());
                    continue;
                };
                let elapsed = began.elapsed().saturating_sub(made.waited);
                let CallOutcome { mut output, diff, touched: by_call, was_made, aim, .. } = made;
                aims[at] = aim;
                touched.extend(by_call);
                for notice in output.notices.drain(..) {
                    listener.on(Event::Notice(notice));
                }
                let is_cut_off = !output.success && was_made && interrupt.is_thrown();
                let stopped = is_cut_off.then_some(Stopped::Interrupted);
                listener.on(finished(&calls[at], &output, elapsed, diff, stopped));
                outputs[at] = Some(output);
            }
            () = &mut grace => {
                keep_what_was_printed(calls, outputs, printed, listener);
                return unbegun;
            }
            never = session.glances.given(session) => match never {},
        }
    }
}

/// Shows an event of a running call, and keeps what it printed.
fn show(event: Event, calls: &[ToolCall], printed: &mut [(Instant, String)], listener: &mut dyn Listen) {
    if let Event::ToolPrinted { id, text } = &event
        && let Some(at) = calls.iter().position(|call| call.id == *id)
    {
        keep_end(&mut printed[at].1, text);
    }
    listener.on(event);
}

/// Answers interrupted calls with what they had printed until then.
fn keep_what_was_printed(
    calls: &[ToolCall],
    outputs: &mut [Option<Output>],
    printed: Vec<(Instant, String)>,
    listener: &mut dyn Listen,
) {
    for (call, (output, (began, printed))) in calls.iter().zip(outputs.iter_mut().zip(printed)) {
        if output.is_none() && !printed.is_empty() {
            let made = Output::failure(format!("{}\n{}", printed.trim_end(), interrupt::MARK));
            let stopped = Some(Stopped::Interrupted);
            listener.on(finished(call, &made, began.elapsed(), Arc::from(""), stopped));
            *output = Some(made);
        }
    }
}

/// Appends what a tool just printed to the text kept until its output arrives: only the end, if it is long.
fn keep_end(kept: &mut String, text: &str) {
    kept.push_str(text);
    if kept.len() > 2 * SHOWN {
        kept.drain(..kept.ceil_char_boundary(kept.len() - SHOWN));
    }
}
