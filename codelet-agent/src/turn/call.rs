//! One call, from the permission check to its output.

use crate::environment::Surroundings;
use crate::interrupt::Interrupt;
use crate::permission::need::{Looking, Need};
use crate::permission::{Asked, Verdict, looks};
use crate::session::Session;
use crate::tool::hooks::Objection;
use crate::tool::{Aim, Call, Live, Output, Tool};
use crate::turn::again;
use crate::turn::call_hooks::{PRE, as_taken, before, judged, told, with_hooks};
use crate::turn::session_hooks;
use codelet_context::message::{ActionKind, ToolCall};
use codelet_context::refusal;
use codelet_text::short::grouped;
use futures_util::{FutureExt as _, future};
use std::any::Any;
use std::panic::{self, AssertUnwindSafe};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::time::Instant;

/// A finished call.
pub(crate) struct CallOutcome {
    pub(crate) output: Output,
    /// The diff of its changes.
    pub(crate) diff: Arc<str>,
    /// Files and folders in the workspace that it read or changed.
    pub(crate) touched: Vec<PathBuf>,
    /// The time it waited for permission: that is the user's, not the tool's.
    pub(crate) waited: Duration,
    /// True if the tool itself answered.
    pub(crate) was_made: bool,
    /// What it was about; `None` if it needs no permission.
    pub(crate) aim: Option<Aim>,
}

impl CallOutcome {
    fn refused(why: String, waited: Duration) -> Self {
        CallOutcome {
            output: Output::failure(why),
            diff: Arc::from(""),
            touched: Vec::new(),
            waited,
            was_made: false,
            aim: None,
        }
    }
}

/// Makes one call, from the permission check to its output. The user is asked about it by its description. `None` if the user interrupted before it was permitted.
pub(crate) async fn call_one(
    session: &Session,
    (call, description): (&ToolCall, String),
    is_broken: bool,
    share: Option<f64>,
    live: Live,
    interrupt: Interrupt,
) -> Option<CallOutcome> {
    let (parts, conversation) = (&session.parts, &session.conversation);
    let (tool, needs) = match understood(session, call, is_broken) {
        Ok(understood) => understood,
        Err(why) => return Some(CallOutcome::refused(why, Duration::ZERO)),
    };
    let aim = needs.iter().map(Need::aim).max();
    let aim = aim.map(|aim| if tool.is_read_only() { Aim::Look } else { aim });
    let began = Instant::now();
    let taken = match session.hooks {
        Some(_) => as_taken(tool.spec(), call, &needs),
        None => call.parameters.clone(),
    };
    let mut said = told(session, before(call, &taken), &interrupt).await;
    if session.hooks.is_some() && interrupt.is_thrown() {
        // The interrupted hooks might have objected.
        return None;
    }
    let wary = match said.objection.take() {
        Some(Objection::Deny(why)) => {
            let mut made = not_permitted(&session_hooks::refused(PRE, &why), began.elapsed(), aim);
            made.output.notices = said.notices;
            return Some(made);
        }
        Some(Objection::Ask(why)) => Some(format!("a {PRE} hook wants you to be asked: {}", why.trim())),
        // Calls that the rules do not permit are asked about as usual.
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
        let mut made = not_permitted(&why, waited, aim);
        made.output.notices = said.notices;
        return Some(made);
    }
    live.permitted();
    if call.action.kind == ActionKind::Command {
        session.commands.fetch_add(1, Ordering::Relaxed);
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
                lent: Some(session.lend(share)),
            };
            // A panic in a tool must neither end the session nor leave the call without a result.
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
                // The effects of the first try remain, and so do its notices.
                notices.append(&mut output.notices);
                output.notices = notices;
            }
        }
    }
    let output = match made {
        Ok(output) => output,
        Err(panic) => return Some(CallOutcome::refused(internal_error(&*panic), waited)),
    };
    let began = Instant::now();
    let output = with_hooks(session, (call, &taken), output, said, &interrupt).await;
    let (diff, touched) = match output.success {
        true => (diff_of(&needs), touched(needs, &*parts.world)),
        false => {
            // Failing tests have run in their folder.
            let run = needs.into_iter().filter(|need| matches!(need, Need::Run { .. }));
            (Arc::from(""), touched(run, &*parts.world))
        }
    };
    Some(CallOutcome {
        output,
        diff,
        touched,
        waited: waited + began.elapsed(),
        was_made: true,
        aim,
    })
}

/// Returns the tool and the needs of a call, or why it cannot be made.
fn understood<'a>(
    session: &'a Session,
    call: &ToolCall,
    is_broken: bool,
) -> Result<(&'a Arc<dyn Tool>, Vec<Need>), String> {
    let parts = &session.parts;
    let Some(tool) = parts.tool(&call.tool) else {
        let names: Vec<&str> = parts.tools.iter().map(|tool| &*tool.spec().name).collect();
        let names = names.join(", ");
        return Err(if call.tool.trim().is_empty() {
            format!("This call has no name, so it was not made. The tools are: {names}.")
        } else {
            let name = codelet_context::cut::plain_name(&call.tool);
            format!("There is no tool {name}. The tools are: {names}.")
        });
    };
    if is_broken && session.is_cut {
        return Err(format!(
            "Your reply reached the output limit of {} tokens within this call, so it was not made. Make it again in parts well below \
             that: for a long file, write its beginning and add the rest with later calls.",
            grouped(session.most_output())
        ));
    }
    if is_broken {
        return Err(
            "The parameters of this call were cut off or are no JSON object, so it was not made. Make it again; where it \
             is long, in smaller parts."
                .to_owned(),
        );
    }
    Ok((tool, unharmed(|| tool.needs(&call.parameters)).flatten()?))
}

/// Returns a short description of a call that may change files in unknown ways.
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

fn not_permitted(why: &str, waited: Duration, aim: Option<Aim>) -> CallOutcome {
    let answer = refusal::answer(why);
    let refusal = refusal::told_in(&answer);
    let mut made = CallOutcome::refused(answer, waited);
    made.output.refusal = Some(refusal);
    made.aim = aim;
    made
}

/// Returns the need for repeating a call that the sandbox stopped; `None` if nothing suggests that it did.
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

/// Returns the changes that a call was permitted to make.
fn diff_of(needs: &[Need]) -> Arc<str> {
    let diffs = needs.iter().filter_map(|need| match need {
        Need::Change { diff, .. } => Some(diff.as_str()),
        _ => None,
    });
    Arc::from(diffs.collect::<String>())
}

/// Returns the files and folders of the workspace that a call touched: those it was permitted to read or change, and
/// for a command the folder in which it began and what its line [looks at](looks).
fn touched(needs: impl IntoIterator<Item = Need>, world: &dyn Surroundings) -> Vec<PathBuf> {
    let mut touched = Vec::new();
    for need in needs {
        match need {
            Need::Read {
                path, is_inside: true, ..
            }
            | Need::Change {
                path, is_inside: true, ..
            } => touched.push(path),
            Need::Run { command, folder, .. } => {
                let within = world.places().directory;
                let at = within.join(folder);
                let operands = looks(&command).unwrap_or_default().operands;
                let named = operands.iter().map(|operand| at.join(operand)).chain([at.clone()]);
                let real = named.filter_map(|path| world.resolve(&path));
                touched.extend(real.filter(|path| path.starts_with(&within)));
            }
            _ => {}
        }
    }
    touched
}

/// Asks a tool something about a call. A panic in it is an error like any other, and ends no session.
pub(crate) fn unharmed<T>(ask: impl FnOnce() -> T) -> Result<T, String> {
    panic::catch_unwind(AssertUnwindSafe(ask)).map_err(|panic| internal_error(&*panic))
}

fn internal_error(panic: &(dyn Any + Send)) -> String {
    let words = panic.downcast_ref::<&str>().copied();
    let words = words.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    format!("Internal error in the tool: {}.", words.unwrap_or("it gave no reason"))
}
