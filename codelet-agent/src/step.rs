//! The tools of one step: permitted, run, bounded and answered in the order of the calls.

use crate::again;
use crate::essence::essence;
use crate::event::{Event, Listen, Stopped};
use crate::hooks::{self, Objection, Occasion, Said};
use crate::interrupt::{self, Interrupt};
use crate::model::{Reply, ToolSpec};
use crate::nearer;
use crate::need::{Looking, Need};
use crate::permission::{Asked, Verdict};
use crate::picture;
use crate::run::Run;
use crate::session::{Parts, Session};
use crate::tally::{self, Went};
use crate::task::{self, Lent};
use crate::tool::{Call, Live, Output, Tool};
use codelet_context::body::Body;
use codelet_context::conversation::Conversation;
use codelet_context::message::{Message, Origin, Parameters, Part, Text, ToolCall, ToolResult};
use codelet_context::refusal;
use codelet_context::tokens::{self, Tokens};
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use futures_util::{FutureExt as _, future};
use serde_json::Value;
use std::any::Any;
use std::collections::HashSet;
use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::Instant;

/// The most of one output that the model is shown, in bytes; the whole is kept behind a handle.
pub const SHOWN: usize = 50 * 1024;
/// One output takes at most one part in so many of the window, and all of a step together one in [`STEP_SHARE`].
const OUTPUT_SHARE: usize = 8;
const STEP_SHARE: usize = 4;
/// No output is shown in less than this, in bytes.
const LEAST_SHOWN: usize = 1024;
/// How long tools may take to end what they started once the user has interrupted.
pub(crate) const GRACE: Duration = Duration::from_millis(80);
/// What stands before an output that begins as our own answer to a call that was not permitted.
const PRINTED: &str = "The tool failed and printed:\n";
/// Glimpses of running tools that wait to be shown.
const GLIMPSES: usize = 64;

/// Gives each call the engine's notion of what it does, and an id of its own where the provider reuses one.
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
        if let Some(tool) = find(&session.parts, &call.tool) {
            call.action = tool.action(&call.parameters);
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

fn find<'a>(parts: &'a Parts, name: &str) -> Option<&'a Arc<dyn Tool>> {
    parts.tools.iter().find(|tool| *tool.spec().name == *name)
}

/// Runs the tools and appends their answers. Says no if the user interrupted; every call has its answer all the same.
pub(crate) async fn call_tools(
    session: &mut Session,
    run: &mut Run,
    calls: &[ToolCall],
    interrupt: &Interrupt,
    listener: &mut dyn Listen,
) -> bool {
    let mut outputs: Vec<Option<Output>> = vec![None; calls.len()];
    let mut files = Vec::new();
    let mut unbegun = HashSet::new();
    let mut at = 0;
    while at < calls.len() && !interrupt.is_thrown() {
        let batch = batch(session, &calls[at..]);
        let batch = &calls[at..at + batch];
        unbegun.extend(run_batch(session, batch, (&mut outputs[at..], &mut files), interrupt, listener).await);
        at += batch.len();
        session.settle_tasks();
    }
    for call in &calls[at..] {
        listener.on(started(session, call));
        listener.on(not_run(call));
        unbegun.insert(call.id.clone());
    }
    let room = room(session.conversation.config().window(), session.conversation.density());
    let bound = bound(room, &outputs);
    let mut results = Vec::with_capacity(calls.len());
    let mut tried = HashSet::new();
    for (call, output) in calls.iter().zip(outputs) {
        let was_run = output.is_some();
        let mut output = output.unwrap_or_else(|| match unbegun.contains(&call.id) {
            true => Output::failure(refusal::NOT_RUN),
            false => Output::failure(interrupt::MARK),
        });
        // A later call of the same reply may have put what this one has printed where keys are taken from.
        let hidden = session.hidden(output.text.as_str());
        if hidden != output.text.as_str() {
            output.text = hidden.into();
        }
        let tool = find(&session.parts, &call.tool);
        let changes = !tool.is_some_and(|tool| tool.is_read_only());
        let essence = essence(call, tool.map(|tool| tool.spec()));
        if output.refusal == Some(refusal::Refusal::Rule) {
            session.is_held_up = true;
            listener.on(Event::Refused {
                tool: call.tool.clone(),
                description: tool.map_or_else(String::new, |tool| tool.describe(&call.parameters)),
                why: output.text.as_str().trim_start_matches(refusal::PREFACE).to_owned(),
            });
        } else if output.is_held_up {
            session.is_held_up = true;
        } else if session.is_held_up && output.success && changes && !only_looks(session, call) {
            session.is_held_up = false;
        }
        let went = match (output.success, output.lacked_time) {
            (true, _) => Went::Well,
            (false, true) => Went::OutOfTime,
            (false, false) => Went::Wrong,
        };
        // The same call twice in one reply is one try: the model has not seen yet how it goes.
        let is_first = tried.insert(tally::key(call, essence, went));
        let note = if was_run && (output.success || is_first) {
            let shown = is_first.then(|| output.text.hash());
            run.on_result(call, essence, went, changes, shown)
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
    nearer::tell(session, &files, listener);
    session.broken.clear();
    !interrupt.is_thrown()
}

/// How many calls run at once: those that only look, or that work apart, as far as the next one that does not.
fn batch(session: &Session, calls: &[ToolCall]) -> usize {
    let apart = calls.iter().take_while(|call| works_apart(session, call)).count();
    if apart > 0 {
        return apart.min(task::AT_ONCE);
    }
    let only_looks = |call: &ToolCall| find(&session.parts, &call.tool).is_none_or(|tool| tool.is_read_only());
    calls.iter().take_while(|call| only_looks(call)).count().max(1)
}

fn works_apart(session: &Session, call: &ToolCall) -> bool {
    find(&session.parts, &call.tool).is_some_and(|tool| tool.works_apart())
}

/// Whether a call needs nothing but to look, as some commands do.
fn only_looks(session: &Session, call: &ToolCall) -> bool {
    let needs = find(&session.parts, &call.tool).and_then(|tool| tool.needs(&call.parameters).ok());
    needs.is_some_and(|needs| needs.iter().all(Need::only_looks))
}

/// Tells that a call is taken up.
fn started(session: &Session, call: &ToolCall) -> Event {
    let tool = find(&session.parts, &call.tool);
    Event::ToolStarted {
        id: call.id.clone(),
        tool: call.tool.clone(),
        description: tool.map_or_else(String::new, |tool| tool.describe(&call.parameters)),
        action: call.action.clone(),
    }
}

/// Tells how a call ended after so long, with what it has printed and changed.
fn finished(call: &ToolCall, output: &Output, elapsed: Duration, diff: Arc<str>, stopped: Option<Stopped>) -> Event {
    Event::ToolFinished {
        id: call.id.clone(),
        tool: call.tool.clone(),
        success: output.success,
        bytes: output.text.len() as u64 + output.lost,
        elapsed,
        printed: output.text.clone(),
        remarks: output.remarks,
        diff,
        stopped,
    }
}

/// Tells that an interruption came before a call was begun.
fn not_run(call: &ToolCall) -> Event {
    let nothing = Output::failure("");
    finished(call, &nothing, Duration::ZERO, Arc::from(""), Some(Stopped::NotRun))
}

/// Runs calls at once, and puts each output in its place and the files that were read or changed behind the others. Says which of them an interruption has kept from being begun; any
/// other without an output was still under way.
async fn run_batch(
    session: &Session,
    calls: &[ToolCall],
    (outputs, files): (&mut [Option<Output>], &mut Vec<PathBuf>),
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
            listener.on(started(session, call));
            let live = Live::new(call.id.clone(), glimpses.clone());
            let is_broken = session.broken.contains(&call.id);
            let began = Instant::now();
            call_one(session, call, is_broken, share, live, interrupt.clone()).map(move |came| (at, began, came))
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
                // What was shown until then belongs before the answer.
                while let Ok(event) = shown.try_recv() {
                    show(event, calls, &mut printed, listener);
                }
                let Some((at, began, came)) = next else { return unbegun };
                // A call that was interrupted before it was permitted was not made.
                let Some(made) = came else {
                    listener.on(not_run(&calls[at]));
                    unbegun.push(calls[at].id.clone());
                    continue;
                };
                let elapsed = began.elapsed().saturating_sub(made.waited);
                let Made { mut output, diff, files: touched, was_made, .. } = made;
                files.extend(touched);
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

/// Shows what a running call has to show, and keeps what it has printed.
fn show(event: Event, calls: &[ToolCall], printed: &mut [(Instant, String)], listener: &mut dyn Listen) {
    if let Event::ToolPrinted { id, text } = &event
        && let Some(at) = calls.iter().position(|call| call.id == *id)
    {
        keep_end(&mut printed[at].1, text);
    }
    listener.on(event);
}

/// Answers calls that an interruption has ended with what they had printed until then.
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

/// Adds what a tool has printed just now to what is kept of it until its answer is there: the end, where it is long.
fn keep_end(kept: &mut String, text: &str) {
    kept.push_str(text);
    if kept.len() > 2 * SHOWN {
        kept.drain(..kept.ceil_char_boundary(kept.len() - SHOWN));
    }
}

/// A call that has its answer.
struct Made {
    output: Output,
    /// What it changed.
    diff: Arc<str>,
    /// Files in the workspace that it has read or changed.
    files: Vec<PathBuf>,
    /// How long it waited to be permitted: that is a person's time, not the tool's.
    waited: Duration,
    /// The tool itself has answered.
    was_made: bool,
}

impl Made {
    fn refused(why: String, waited: Duration) -> Self {
        Made {
            output: Output::failure(why),
            diff: Arc::from(""),
            files: Vec::new(),
            waited,
            was_made: false,
        }
    }
}

/// One call, from the question whether it may be made to its answer. None if the user interrupted before anybody had
/// permitted it.
async fn call_one(
    session: &Session,
    call: &ToolCall,
    is_broken: bool,
    share: Option<f64>,
    live: Live,
    interrupt: Interrupt,
) -> Option<Made> {
    let (parts, conversation) = (&session.parts, &session.conversation);
    let (tool, needs) = match understood(parts, call, is_broken) {
        Ok(understood) => understood,
        Err(why) => return Some(Made::refused(why, Duration::ZERO)),
    };
    let description = tool.describe(&call.parameters);
    let began = Instant::now();
    let taken = match session.hooks {
        Some(_) => as_taken(tool.spec(), call, &needs),
        None => call.parameters.clone(),
    };
    let mut said = told(session, before(call, &taken), &interrupt).await;
    if session.hooks.is_some() && interrupt.is_thrown() {
        // Whoever was interrupted may have had an objection.
        return None;
    }
    let wary = match said.objection.take() {
        Some(Objection::Deny(why)) => {
            let mut made = not_permitted(&hooks::refused(PRE, &why), began.elapsed());
            made.output.notices = said.notices;
            return Some(made);
        }
        Some(Objection::Ask(why)) => Some(format!("a {PRE} hook wants you to be asked: {}", why.trim())),
        // What the rules do not permit is asked about as ever.
        None => session.narrowed().find_map(|list| list.objection(&call.tool, &needs)),
    };
    let asked = Asked {
        call: &call.id,
        task: None,
        tool: &call.tool,
        description: &description,
        needs: &needs,
        wary: wary.as_deref(),
    };
    let verdict = tokio::select! {
        biased;
        verdict = judged(session, asked) => verdict,
        () = interrupt.thrown() => return None,
    };
    let mut waited = began.elapsed();
    if let Verdict::No(why) = verdict {
        let mut made = not_permitted(&why, waited);
        made.output.notices = said.notices;
        return Some(made);
    }
    if let Some(command) = changes_unseen(&needs, &call.tool, &description) {
        session.note_command(&command);
    }
    let make = |permitted: Vec<Need>| {
        let (live, interrupt) = (live.clone(), interrupt.clone());
        async move {
            let call = Call {
                parameters: &call.parameters,
                permitted: &permitted,
                conversation,
                live,
                interrupt,
                lent: Some(Lent::of(session, share)),
            };
            // A tool that panics must neither take the session with it nor leave its call open.
            let made = future::lazy(|_| tool.call(call)).then(|made| made);
            AssertUnwindSafe(made).catch_unwind().await
        }
    };
    let permitted = [needs.clone(), parts.gate.given(&needs)].concat();
    let mut made = make(permitted.clone()).await;
    if let Ok(output) = &mut made
        && let Some(need) = run_with(output, &needs)
    {
        let began = Instant::now();
        let verdict = again::asked(session, call, &description, &need, output, &interrupt).await;
        waited += began.elapsed();
        if verdict == Verdict::Yes {
            let told = again::repeated(&need);
            let mut notices = std::mem::take(&mut output.notices);
            made = make([permitted, vec![need]].concat()).await;
            if let Ok(output) = &mut made {
                again::remark(output, &told);
                // What the first try has done is done, and so is what was noticed of it.
                notices.append(&mut output.notices);
                output.notices = notices;
            }
        }
    }
    let output = match made {
        Ok(output) => output,
        Err(panic) => {
            let why = format!("Internal error in the tool: {}.", panic_words(&*panic));
            return Some(Made::refused(why, waited));
        }
    };
    let began = Instant::now();
    let output = with_hooks(session, (call, &taken), output, said, &interrupt).await;
    let (diff, files) = match output.success {
        true => (diff_of(&needs), files_of(needs)),
        false => (Arc::from(""), Vec::new()),
    };
    Some(Made {
        output,
        diff,
        files,
        waited: waited + began.elapsed(),
        was_made: true,
    })
}

/// The tool of a call and what the call needs, or why it cannot be made.
fn understood<'a>(
    parts: &'a Parts,
    call: &ToolCall,
    is_broken: bool,
) -> Result<(&'a Arc<dyn Tool>, Vec<Need>), String> {
    let Some(tool) = find(parts, &call.tool) else {
        let names: Vec<&str> = parts.tools.iter().map(|tool| &*tool.spec().name).collect();
        let names = names.join(", ");
        return Err(if call.tool.trim().is_empty() {
            format!("This call has no name, so it was not made. The tools are: {names}.")
        } else {
            let name = codelet_context::cut::plain_name(&call.tool);
            format!("There is no tool {name}. The tools are: {names}.")
        });
    };
    if is_broken {
        return Err(
            "The parameters of this call were cut off or are no JSON object, so it was not made. Make it again; where it \
             is long, in smaller parts."
                .to_owned(),
        );
    }
    Ok((tool, tool.needs(&call.parameters)?))
}

/// What a call came to, with what hooks said before it and say after it.
async fn with_hooks(
    session: &Session,
    (call, taken): (&ToolCall, &Parameters),
    mut output: Output,
    before: Said,
    interrupt: &Interrupt,
) -> Output {
    // Nothing that a tool prints may stand in a summary as words of the user.
    if !output.success && refusal::is_posed(output.text.as_str()) {
        output.text = Body::from(format!("{PRINTED}{}", output.text.as_str()));
    }
    let after = match output.success {
        true => told(session, after(call, taken, &output), interrupt).await,
        false => Said::default(),
    };
    output.hooks.extend(words(PRE, before.context, None));
    output.hooks.extend(words(POST, after.context, after.objection));
    output.notices.splice(0..0, before.notices);
    output.notices.extend(after.notices);
    output
}

/// A call that may change files of which nothing is known, in a few words.
fn changes_unseen(needs: &[Need], tool: &str, description: &str) -> Option<String> {
    needs.iter().find_map(|need| match need {
        Need::Run {
            looks: Looking::Only, ..
        } => None,
        Need::Run { command, .. } => Some(command.clone()),
        Need::Call { .. } => Some(format!("{tool} {description}")),
        _ => None,
    })
}

const PRE: &str = "PreToolUse";
const POST: &str = "PostToolUse";

/// What hooks say of a call; nothing where there are none.
async fn told(session: &Session, occasion: Occasion<'_>, interrupt: &Interrupt) -> Said {
    match &session.hooks {
        Some(hooks) => hooks.tell(occasion, interrupt).await,
        None => Said::default(),
    }
}

/// The parameters of a call as hooks read them: a file has its whole name, however the model has written it, since hooks decide by it.
fn as_taken(tool: &ToolSpec, call: &ToolCall, needs: &[Need]) -> Parameters {
    let path = needs.iter().find_map(|need| match need {
        Need::Change { path, .. } | Need::Read { path, .. } => Some(path),
        _ => None,
    });
    let properties = &tool.parameters["properties"];
    match path.filter(|_| !properties[FILE].is_null()) {
        None => call.parameters.clone(),
        Some(path) => {
            let mut map = call.parameters.as_map().clone();
            map.retain(|name, _| name != OTHER_FILE || !properties[OTHER_FILE].is_null());
            map.insert(FILE.to_owned(), Value::from(path.to_string_lossy()));
            Parameters::new(map)
        }
    }
}

/// What a file is called among the parameters of a tool, and what some models call it.
const FILE: &str = "file_path";
const OTHER_FILE: &str = "path";

fn before<'a>(call: &'a ToolCall, parameters: &'a Parameters) -> Occasion<'a> {
    Occasion::PreToolUse {
        tool: &call.tool,
        id: &call.id,
        parameters,
    }
}

fn after<'a>(call: &'a ToolCall, parameters: &'a Parameters, output: &'a Output) -> Occasion<'a> {
    Occasion::PostToolUse {
        tool: &call.tool,
        id: &call.id,
        parameters,
        output,
    }
}

/// What the model is told of what hooks have said. The call is made: an objection is no more than words then.
fn words(name: &str, context: Vec<String>, objection: Option<Objection>) -> Vec<String> {
    let objection = objection.map(|objection| match objection {
        Objection::Deny(why) | Objection::Ask(why) => why,
    });
    let all = objection.into_iter().chain(context);
    all.map(|said| hooks::marked(name, &said)).collect()
}

/// Whether a call may be made. Hooks are told where a person is asked.
pub(crate) async fn judged(session: &Session, asked: Asked<'_>) -> Verdict {
    let mut judged = session.parts.gate.judge(asked);
    // Who decides by rules does so at once; who does not is asking somebody.
    if let Some(verdict) = (&mut judged).now_or_never() {
        return verdict;
    }
    if let Some(hooks) = &session.hooks {
        let message = format!("Codelet asks: {} {}", asked.tool, asked.description);
        hooks.notify(Occasion::Notification { message: &message });
    }
    judged.await
}

fn not_permitted(why: &str, waited: Duration) -> Made {
    let answer = refusal::answer(why);
    let refusal = refusal::told_in(&answer);
    let mut made = Made::refused(answer, waited);
    made.output.refusal = Some(refusal);
    made
}

/// What it takes to make a call again that the sandbox has stopped; none where nothing speaks for that.
fn run_with(output: &mut Output, needs: &[Need]) -> Option<Need> {
    let lack = output.lack.take()?;
    let [Need::Run { command, folder, .. }] = needs else {
        return None;
    };
    Some(Need::RunWith {
        command: command.clone(),
        folder: folder.clone(),
        lack,
    })
}

/// What a call was permitted to change, and did.
fn diff_of(needs: &[Need]) -> Arc<str> {
    let diffs = needs.iter().filter_map(|need| match need {
        Need::Change { diff, .. } => Some(diff.as_str()),
        _ => None,
    });
    Arc::from(diffs.collect::<String>())
}

/// The files of the workspace that a call was permitted to read or change.
fn files_of(needs: Vec<Need>) -> Vec<PathBuf> {
    let files = needs.into_iter().filter_map(|need| match need {
        Need::Read {
            path,
            is_inside: true,
            is_file: true,
        }
        | Need::Change {
            path, is_inside: true, ..
        } => Some(path),
        _ => None,
    });
    files.collect()
}

fn panic_words(panic: &(dyn Any + Send)) -> &str {
    let words = panic.downcast_ref::<&str>().copied();
    words
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("it gave no reason")
}

/// The window that outputs are bounded by, in estimated tokens: a smaller one where the session's text was found to weigh more
/// than twice its estimate, as digits and some scripts do, or each step would fill the window by itself.
fn room(window: Tokens, density: f64) -> Tokens {
    (window as f64 / (density / 2.0).max(1.0)) as Tokens
}

/// The most bytes that one output of a step is shown in.
fn bound(window: Tokens, outputs: &[Option<Output>]) -> usize {
    let bytes = tokens::bytes_in(window);
    let one = SHOWN.min(bytes / OUTPUT_SHARE);
    // Many long outputs share what a step may take; short ones leave their part to the others.
    let mut sizes: Vec<usize> = outputs
        .iter()
        .flatten()
        .map(|output| output.text.len().min(one))
        .collect();
    sizes.sort_unstable();
    let mut left = bytes / STEP_SHARE;
    let mut bound = one;
    for (done, size) in sizes.iter().enumerate() {
        let share = left / (sizes.len() - done);
        if *size > share {
            bound = share;
            break;
        }
        left -= size;
    }
    bound.max(LEAST_SHOWN)
}

fn answer(
    conversation: &mut Conversation,
    call: &ToolCall,
    output: Output,
    bound: usize,
    notes: Vec<String>,
) -> ToolResult {
    let whole = if output.text.is_blank() && output.images.is_empty() {
        // Vendors refuse blank text, and a model reads silence as a fault.
        Body::new("(no output)")
    } else {
        output.text
    };
    let text = if whole.len() > bound {
        conversation.bounded(whole, (bound * 2 / 3, bound / 3), &call.tool)
    } else {
        Text::new(whole, Origin::Own)
    };
    let mut shown = Vec::new();
    if !text.body.is_blank() {
        shown.push(Part::Text(text));
    }
    for image in output.images {
        shown.push(match picture::trouble_of(&image) {
            None => Part::Image(image),
            Some(why) => Part::text_from(Origin::Notice, format!("[a picture was left out: {why}]")),
        });
    }
    shown.extend(notes.into_iter().map(|note| Part::text_from(Origin::Notice, note)));
    let mut result = ToolResult::new(call.id.clone(), Some(output.success), "");
    result.bare = matches!(shown.as_slice(), [Part::Text(_)]);
    result.output = shown;
    result.refusal = output.refusal;
    result.pipe = output.pipe;
    result
}
