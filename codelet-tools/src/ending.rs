//! Notes for the model on how a command ended.

use crate::cwd::Stands;
use crate::process::{End, FinishedProcess};
use crate::run_blocking::INTERRUPTED;
use crate::sandbox::{Sandbox, Sandboxing};
use crate::tool_context::ToolContext;
use codelet_context::message::BROKEN_PIPE;
use codelet_process::Member;
use codelet_text::short::counted;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Jobs that are listed by name.
const NAMED: usize = 5;

/// Returns the notes to append to this output of a command that ran in this sandbox: one line each, in brackets;
/// nothing after a quick success with output. `earlier` are jobs of other commands.
pub(crate) fn notes(
    context: &ToolContext,
    ended: &FinishedProcess,
    timeout: Duration,
    (text, sandbox): (&str, Option<&Sandbox>),
    moved: Option<String>,
    pipe: &[u8],
    earlier: &[Member],
) -> String {
    let mut notes: Vec<String> = end(ended, timeout, text).into_iter().collect();
    notes.extend(hidden(pipe));
    notes.extend(moved);
    notes.extend(left(ended));
    notes.extend(out_of_reach(ended, text, earlier));
    let has_failed = matches!(ended.end, End::Exited(status) if status != 0);
    if let Some(sandbox) = sandbox.filter(|_| has_failed && may_be_sandbox(text)) {
        notes.push(limits(context, sandbox));
    }
    notes.into_iter().map(|note| format!("[{note}]\n")).collect()
}

/// Says where the next command starts, if that differs from where this one started, or if it is not certain where this
/// one ended.
pub(crate) fn moved(context: &ToolContext, stands: &Stands, was: &Path) -> Option<String> {
    let directory = context.paths.show(&stands.directory);
    if !stands.is_known {
        return Some(format!(
            "where it ended is not known; the next command begins in {directory}"
        ));
    }
    (stands.directory != was).then(|| match directory.as_str() {
        "." => "now in .".to_owned(),
        _ => format!(
            "now in {directory}; paths of the other tools still begin at {}",
            context.paths.directory().display()
        ),
    })
}

fn end(ended: &FinishedProcess, timeout: Duration, text: &str) -> Option<String> {
    let seconds = ended.elapsed.as_secs();
    let took = if seconds > 0 {
        format!(", {seconds} s")
    } else {
        String::new()
    };
    Some(match ended.end {
        End::Exited(0) if text.is_empty() => format!("exit 0{took}, no output"),
        End::Exited(0) if seconds == 0 => return None,
        End::Exited(status) => format!("exit {status}{took}"),
        End::Unknown => {
            format!("ended{took}; exit status unknown, since this process was started with SIGCHLD ignored")
        }
        End::Killed(signal) => format!("ended by signal {signal}{took}"),
        End::TimedOut => format!(
            "timed out after {:.1} s and was killed; pass a longer timeout, or run it in the background",
            timeout.as_secs_f64()
        ),
        End::Interrupted => format!("{INTERRUPTED}{took}"),
    })
}

/// The exit statuses of a pipeline if a command other than the last one failed.
fn hidden(pipe: &[u8]) -> Option<String> {
    let (_, before) = pipe.split_last()?;
    let has_failed = before.iter().any(|status| *status != 0 && *status != BROKEN_PIPE);
    let told: Vec<String> = pipe.iter().map(u8::to_string).collect();
    has_failed.then(|| format!("exit statuses in the pipe: {}", told.join(", ")))
}

/// The jobs that are still running, and what to do about them.
fn left(ended: &FinishedProcess) -> Option<String> {
    let left = &ended.left;
    let what = counted(left.len(), "job");
    let told = format!("{what} still running in the background: {}", named(left));
    let lost = match ended.open {
        Some(_) => "; further output is lost: redirect it to a file to see it",
        None => "",
    };
    let apart = match holds_signals(ended) {
        true => "; a later command cannot signal it from its own sandbox, but ends it with the argument `stop`",
        false => "",
    };
    (!left.is_empty()).then_some(told + lost + apart)
}

/// Says that a command cannot end jobs of earlier commands, if it may have tried.
fn out_of_reach(ended: &FinishedProcess, text: &str, earlier: &[Member]) -> Option<String> {
    let has_tried = !earlier.is_empty() && holds_signals(ended) && tail(text).contains("not permitted");
    has_tried.then(|| {
        let runs = if earlier.len() == 1 { "runs" } else { "run" };
        format!(
            "{} of earlier commands still {runs}: {}; each command has its own sandbox and cannot signal another one's jobs: \
             end one by giving its number as the argument `stop` of a command",
            counted(earlier.len(), "job"),
            named(earlier)
        )
    })
}

/// Returns whether the sandbox certainly blocks signals to processes outside it.
fn holds_signals(ended: &FinishedProcess) -> bool {
    ended.sandboxing == Some(Sandboxing::Full)
}

/// Says what was ended before this command, at the request to stop this process.
pub(crate) fn stopped(pid: u64, ended: &[Member]) -> String {
    match ended {
        [] => format!("[{pid} is not a running job of an earlier command; nothing was ended]\n"),
        ended => format!("[ended before this command: {}]\n", named(ended)),
    }
}

fn named(members: &[Member]) -> String {
    let names = members.iter().take(NAMED);
    let names: Vec<String> = names.map(|member| format!("{} {}", member.pid, member.name)).collect();
    let more = if members.len() > NAMED { ", …" } else { "" };
    names.join(", ") + more
}

/// What a command can do in this sandbox.
fn limits(context: &ToolContext, sandbox: &Sandbox) -> String {
    let network = if sandbox.has_network() { "" } else { "no network and " };
    let is_home = |folder: &Path| context.owned.holds_home() && folder == context.paths.root();
    let written = |folder: &PathBuf| match sandbox.writes(folder) {
        true => Some(folder.display().to_string()),
        false if !sandbox.writes_below(folder) => None,
        false if is_home(folder) => Some(format!(
            "existing files in {} that are neither dot files nor settings",
            folder.display()
        )),
        false => Some(format!("existing files in {} that are not protected", folder.display())),
    };
    let temporary = context.temporary(sandbox);
    let folders = context.paths.roots().chain([&temporary]);
    let mut folders: Vec<String> = folders.filter_map(written).collect();
    let last = folders.pop();
    let written = match (last, folders.as_slice()) {
        (None, _) => "nothing".to_owned(),
        (Some(last), []) => format!("only in {last}"),
        (Some(last), others) => format!("only in {} and {last}", others.join(", ")),
    };
    format!(
        "commands run in a sandbox: they write {written}, use no terminal, and reach {network}no other program's socket (Docker, D-Bus, agents for keys)"
    )
}

/// Returns whether a failure reads as if the sandbox caused it. It only decides whether a hint is added.
fn may_be_sandbox(text: &str) -> bool {
    const SIGNS: [&str; 7] = [
        "ermission denied", "EACCES", "not permitted", "resolve host", "name resolution", "Name or service not known",
        "os error 13",
    ];
    SIGNS.iter().any(|sign| tail(text).contains(sign))
}

/// The last 4096 bytes of the output.
pub(crate) fn tail(text: &str) -> &str {
    &text[text.ceil_char_boundary(text.len().saturating_sub(4096))..]
}
