//! One request: sends it, passes on what comes, and notices when the user interrupts.

use crate::driver::messages;
use crate::event::{Event, Listen};
use crate::interrupt::Interrupt;
use crate::model::{Billed, Delta, ModelError, Reply, Request};
use crate::session::Session;
use futures_util::StreamExt as _;
use tokio::time::Instant;

/// What came of a request.
pub(crate) enum Asked {
    /// The whole answer.
    Answered(Box<Reply>),
    /// No answer, and what was billed for it.
    Failed(ModelError, Option<Billed>),
    /// The user interrupted; the words until then, and what was reported.
    Interrupted { text: String, billed: Option<Billed> },
}

/// Asks the model for the next step.
pub(crate) async fn ask(session: &mut Session, interrupt: &Interrupt, listener: &mut dyn Listen) -> Asked {
    let messages = messages(session);
    let edges = session.conversation.sending(session.is_cold());
    session.sent = Some(messages.len());
    session.asked = Some(Instant::now());
    session.kept_alive = 0;
    if let Some(witness) = &mut session.witness {
        witness.sending(&session.conversation);
    }
    let request = Request {
        messages,
        tools: session.specs.clone(),
        max_output: Some(session.most_output()),
        edge: edges.last,
        next_edit: edges.next,
        session: session.settings.id.as_str().into(),
    };
    stream(session, request, interrupt, listener, true).await
}

/// Sends a request and reads its stream to the end. With `is_shown`, the listener sees the words.
pub(crate) async fn stream(
    session: &Session,
    request: Request,
    interrupt: &Interrupt,
    listener: &mut dyn Listen,
    is_shown: bool,
) -> Asked {
    let mut stream = session.parts.model.stream(request);
    let mut text = String::new();
    let mut billed = None;
    let mut has_begun = false;
    loop {
        let next = tokio::select! {
            biased;
            () = interrupt.thrown() => return Asked::Interrupted { text, billed },
            next = stream.next() => next,
            never = session.glances.given(session) => match never {},
        };
        let delta = match next {
            Some(Ok(delta)) => delta,
            Some(Err(error)) => return Asked::Failed(error, billed),
            None => {
                let said = "the stream ended before the answer did".to_owned();
                let had_begun = has_begun;
                return Asked::Failed(ModelError::Cut { said, had_begun }, billed);
            }
        };
        has_begun = true;
        let event = match delta {
            Delta::Text(more) => {
                text.push_str(&more);
                Event::Text(more)
            }
            Delta::Thinking(more) => Event::Thinking(more),
            Delta::Call { tool } => Event::Calling { tool },
            Delta::Billed(counts) => {
                billed = Some(counts);
                continue;
            }
            Delta::Done(reply) => return Asked::Answered(Box::new(reply)),
        };
        if is_shown {
            listener.on(event);
        }
    }
}
