//! What a final answer has to be, where the user wants more of it than words.

use crate::interrupt::Interrupt;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::timeout;

/// How long an answer is checked: a schema may make that take years.
const PATIENCE: Duration = Duration::from_secs(5);
/// Reserved for a check, in bytes: a schema may refer to itself deeply.
const STACK: usize = 64 << 20;

/// Checks final answers. One that does not pass is no answer: the model is told why, and asked again.
pub trait AnswerCheck: Send + Sync {
    /// The answer as it is handed on.
    ///
    /// # Errors
    /// When it does not pass: why, for the model and the user.
    fn check(&self, answer: &str) -> Result<String, String>;
}

/// What came of a check.
#[derive(Debug)]
pub enum Verdict {
    /// It passes, and is handed on in this form.
    Fits(String),
    /// It does not, for this reason.
    Unfit(String),
    /// Nobody knows, for this reason.
    Unknown(String),
}

/// Checks an answer, for so long and not beyond an interruption, which is `None`. A check cannot be ended: one that is given up goes on in a
/// thread of its own until the process ends.
pub(crate) async fn check(check: &Arc<dyn AnswerCheck>, answer: &str, interrupt: &Interrupt) -> Option<Verdict> {
    let (sender, verdict) = oneshot::channel();
    let (check, answer) = (check.clone(), answer.to_owned());
    let work = move || {
        // Nobody waits for it any more where it was given up.
        let _ = sender.send(check.check(&answer));
    };
    let thread = std::thread::Builder::new().stack_size(STACK).spawn(work);
    if let Err(error) = thread {
        return Some(Verdict::Unknown(format!("could not start a thread: {error}")));
    }
    tokio::select! {
        biased;
        () = interrupt.thrown() => None,
        checked = timeout(PATIENCE, verdict) => Some(match checked {
            Ok(Ok(Ok(answer))) => Verdict::Fits(answer),
            Ok(Ok(Err(why))) => Verdict::Unfit(why),
            Ok(Err(_)) => Verdict::Unknown("internal error in the check".to_owned()),
            Err(_) => Verdict::Unknown(format!("no verdict after {} s", PATIENCE.as_secs())),
        }),
    }
}
