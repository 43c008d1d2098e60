//! Checks on final answers, if the user requires more than text.

use crate::interrupt::Interrupt;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::timeout;

/// The time limit for a check: some schemas would take years.
const PATIENCE: Duration = Duration::from_secs(5);
/// The stack size for a check, in bytes: a schema may recurse deeply.
const STACK: usize = 64 << 20;

/// Checks final answers. One that fails is no answer: the model is told why, and asked again.
pub trait AnswerCheck: Send + Sync {
    /// Returns the answer in the form to hand on.
    ///
    /// # Errors
    /// If it fails, with the reason for the model and the user.
    fn check(&self, answer: &str) -> Result<String, String>;
}

/// The outcome of a check.
#[derive(Debug)]
pub enum CheckedAnswer {
    /// It passes, and is handed on in this form.
    Fits(String),
    /// It fails, for this reason.
    Unfit(String),
    /// The check could not be completed, for this reason.
    Unknown(String),
}

/// Checks an answer within a time limit; `None` if interrupted. A running check cannot be stopped: after the limit it
/// continues in its own thread until the process ends.
pub(crate) async fn check(check: &Arc<dyn AnswerCheck>, answer: &str, interrupt: &Interrupt) -> Option<CheckedAnswer> {
    let (sender, verdict) = oneshot::channel();
    let (check, answer) = (check.clone(), answer.to_owned());
    let work = move || {
        // The receiver is gone if the check was abandoned.
        let _ = sender.send(check.check(&answer));
    };
    let thread = std::thread::Builder::new().stack_size(STACK).spawn(work);
    if let Err(error) = thread {
        return Some(CheckedAnswer::Unknown(format!("could not start a thread: {error}")));
    }
    tokio::select! {
        biased;
        () = interrupt.thrown() => None,
        checked = timeout(PATIENCE, verdict) => Some(match checked {
            Ok(Ok(Ok(answer))) => CheckedAnswer::Fits(answer),
            Ok(Ok(Err(why))) => CheckedAnswer::Unfit(why),
            Ok(Err(_)) => CheckedAnswer::Unknown("internal error in the check".to_owned()),
            Err(_) => CheckedAnswer::Unknown(format!("no verdict after {} s", PATIENCE.as_secs())),
        }),
    }
}
