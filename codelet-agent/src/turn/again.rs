//! Reruns a command that the sandbox stopped with what it lacked, if the user agrees.

use crate::interrupt::Interrupt;
use crate::permission::need::{Lack, Need};
use crate::permission::{Asked, Verdict};
use crate::session::Session;
use crate::tool::Output;
use crate::turn::call_hooks::judged;
use codelet_context::body::Body;
use codelet_context::message::ToolCall;
use codelet_text::short::clip;
use std::sync::atomic::Ordering;

/// The maximum number of such questions or notices between two prompts: a command controls its output, and can fake a
/// sandbox failure.
const MOST: usize = 3;
/// The maximum length of a command in a notice, in characters.
const SHOWN: usize = 80;

/// Asks whether to make a call again with this need. If nobody can be asked, the user is told; if the answer is no, the
/// model is.
pub(crate) async fn asked(
    session: &Session,
    call: &ToolCall,
    description: &str,
    need: &Need,
    output: &mut Output,
    interrupt: &Interrupt,
) -> Verdict {
    let is_over = session.asked_again.fetch_add(1, Ordering::Relaxed) >= MOST;
    let Need::RunWith { lack, .. } = need else {
        return Verdict::No(String::new());
    };
    let gate = &session.parts.gate;
    if !is_over && !gate.can_ask() {
        output.notices.push(unasked(description, lack));
    }
    if is_over || !gate.can_ask() {
        return Verdict::No(String::new());
    }
    let description = format!("with {}: {description}", lack.named());
    let asked = Asked {
        call: &call.id,
        task: None,
        tool: &call.tool,
        description: &description,
        needs: std::slice::from_ref(need),
        wary: None,
    };
    let verdict = tokio::select! {
        biased;
        verdict = judged(session, asked) => verdict,
        () = interrupt.thrown() => return Verdict::No(String::new()),
    };
    if let Verdict::No(why) = &verdict {
        remark(output, &format!("not run again with {}: {why}", lack.named()));
    }
    verdict
}

/// Returns the notice to the user if nobody can be asked.
fn unasked(command: &str, lack: &Lack) -> String {
    let command = command.split_whitespace().collect::<Vec<_>>().join(" ");
    let command = clip(&command, SHOWN);
    let what = match lack {
        Lack::Network => "commands have no network; `network = \"on\"` in your settings gives it to them".to_owned(),
        Lack::Freedom => {
            "commands write only in the workspace and use no other program's socket; `--permission all` runs them without a sandbox"
                .to_owned()
        }
    };
    format!("the sandbox may have stopped `{command}`: {what}")
}

/// Returns the remark on both tries that follows the output of the second.
pub(crate) fn repeated(need: &Need) -> String {
    let how = match need {
        Need::RunWith { lack, .. } => lack.named(),
        _ => "",
    };
    format!("the first try failed in the sandbox; the user permitted this second one, with {how}")
}

/// Appends a remark to an output, in brackets on its own line.
pub(crate) fn remark(output: &mut Output, what: &str) {
    let text = output.text.as_str();
    let line = if text.is_empty() || text.ends_with('\n') {
        ""
    } else {
        "\n"
    };
    let added = format!("{line}[{what}]\n");
    output.remarks += added.len();
    output.text = Body::from(format!("{text}{added}"));
}
