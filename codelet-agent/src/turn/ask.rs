//! One request: sends it, forwards the deltas, shows the seconds of silence, and reacts when the user interrupts.

use crate::interrupt::Interrupt;
use crate::model::{Billed, Delta, ModelError, Reply, Request};
use crate::run::Bearing;
use crate::session::Session;
use crate::tool::event::{Event, Listen};
use codelet_context::tokens::{Tokens, estimate_bytes};
use futures_util::StreamExt as _;
use std::time::Duration;
use tokio::time::Instant;

/// A silent provider's wait is shown after this fraction of its time limit, as a divisor; before that, it may be
/// thinking.
const SHOWN_FROM: u32 = 6;
/// The silence after which the wait is shown, however long the limit is.
const SHOWN_AT_LAST: Duration = Duration::from_secs(10);
const SECOND: Duration = Duration::from_secs(1);
/// The wait for an answer after which the next edit is prepared: by then, the request is on its way.
const ON_ITS_WAY: Duration = Duration::from_millis(5);
/// Longer than any wait (136 years).
const FOR_EVER: Duration = Duration::from_secs(u32::MAX as u64);

/// The outcome of a request.
pub(crate) enum RequestOutcome {
    /// The complete answer.
    Answered(Box<Reply>),
    /// No answer.
    Failed {
        /// The error.
        error: ModelError,
        /// Its usage, if reported.
        billed: Option<Billed>,
        /// The silence before the error.
        silence: Duration,
        /// The estimated size of the partial answer.
        came: Option<Tokens>,
    },
    /// The user interrupted.
    Interrupted {
        /// The text so far.
        text: String,
        /// Its usage, if reported.
        billed: Option<Billed>,
        /// The estimated size of the partial answer.
        came: Option<Tokens>,
    },
}

/// The size of an answer so far, as an estimate: many providers report usage only at its end.
#[derive(Default)]
struct Come {
    has_begun: bool,
    bytes: usize,
}

impl Come {
    fn take(&mut self, bytes: usize) {
        self.has_begun = true;
        self.bytes += bytes;
    }

    /// Returns the estimate; `None` if nothing has arrived.
    fn tokens(&self) -> Option<Tokens> {
        self.has_begun.then(|| estimate_bytes(self.bytes))
    }
}

/// Asks the model for the next step.
pub(crate) async fn ask(
    session: &mut Session,
    bearing: Bearing,
    interrupt: &Interrupt,
    listener: &mut dyn Listen,
) -> RequestOutcome {
    let messages = session.conversation.view().messages.clone();
    let name = &session.parts.model.profile().name;
    if session.answerer.as_ref().is_some_and(|last| last != name) {
        session.conversation.goes_elsewhere();
    }
    session.answerer = Some(name.clone());
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
    stream(session, request, bearing, interrupt, listener, true).await
}

/// Sends a request and reads its stream to the end. With `is_shown`, the listener receives the deltas. Glances at the
/// session run meanwhile.
pub(crate) async fn stream(
    session: &mut Session,
    request: Request,
    bearing: Bearing,
    interrupt: &Interrupt,
    listener: &mut dyn Listen,
    is_shown: bool,
) -> RequestOutcome {
    let mut quiet = Quiet::new(bearing);
    let mut stream = session.parts.model.stream(request);
    let mut text = String::new();
    let mut billed = None;
    let mut has_begun = false;
    let mut come = Come::default();
    let on_its_way = tokio::time::sleep(ON_ITS_WAY);
    tokio::pin!(on_its_way);
    loop {
        let next = tokio::select! {
            biased;
            () = interrupt.thrown() => {
                let came = come.tokens();
                return RequestOutcome::Interrupted { text, billed, came };
            }
            next = stream.next() => next,
            () = tokio::time::sleep_until(quiet.looks) => match quiet.look() {
                None => continue,
                Some(Noticed::Waiting(waiting)) => {
                    listener.on(waiting);
                    continue;
                }
                Some(Noticed::Enough(error)) => Some(Err(error)),
            },
            () = &mut on_its_way, if !on_its_way.is_elapsed() => {
                session.conversation.prepare_edit();
                continue;
            }
            never = session.glances.given(session) => match never {},
        };
        let delta = match next {
            Some(Ok(delta)) => delta,
            Some(Err(error)) => return quiet.failed(error, billed, come.tokens()),
            None => {
                let said = "the stream ended before the answer did".to_owned();
                let had_begun = has_begun;
                return quiet.failed(ModelError::Cut { said, had_begun }, billed, come.tokens());
            }
        };
        quiet.heard();
        has_begun |= delta != Delta::Alive;
        let event = match delta {
            Delta::Text(more) => {
                text.push_str(&more);
                come.take(more.len());
                Event::Text(more)
            }
            Delta::Thinking(more) => {
                come.take(more.len());
                Event::Thinking(more)
            }
            Delta::Call { tool } => {
                come.take(tool.len());
                Event::Calling { tool }
            }
            Delta::Billed(counts) => {
                billed = Some(counts);
                continue;
            }
            Delta::Done(reply) => return RequestOutcome::Answered(Box::new(reply)),
            Delta::Alive => continue,
        };
        if is_shown {
            quiet.is_shown = false;
            listener.on(event);
        }
    }
}

/// Tracks a provider's silence, and decides what to do about it.
struct Quiet {
    bearing: Bearing,
    /// The last sign of life, or the time of the request before the first one.
    since: Instant,
    has_begun: bool,
    /// True if the seconds are being shown, and nothing else was since.
    is_shown: bool,
    /// The time of the next check.
    looks: Instant,
}

enum Noticed {
    /// Another second has passed.
    Waiting(Event),
    /// The limit is reached.
    Enough(ModelError),
}

impl Quiet {
    fn new(bearing: Bearing) -> Self {
        let now = Instant::now();
        let mut quiet = Quiet {
            bearing,
            since: now,
            has_begun: false,
            is_shown: false,
            looks: now,
        };
        quiet.looks = now + quiet.shown_from().min(bearing.most.unwrap_or(FOR_EVER));
        quiet
    }

    /// Returns the current time limit, and the number of the try that follows it.
    fn limit(&self) -> Option<(Duration, Option<u32>)> {
        if self.has_begun {
            self.bearing.between
        } else {
            self.bearing.first
        }
    }

    /// Returns when to start showing the seconds: at once if the user is already waiting.
    fn shown_from(&self) -> Duration {
        match self.limit() {
            _ if self.bearing.is_retry && !self.has_begun => SECOND,
            Some((limit, _)) => (limit / SHOWN_FROM).clamp(SECOND, SHOWN_AT_LAST),
            None => FOR_EVER,
        }
    }

    fn heard(&mut self) {
        self.has_begun = true;
        self.since = Instant::now();
        let shown_from = if self.is_shown { SECOND } else { self.shown_from() };
        self.looks = self.since + shown_from;
    }

    fn look(&mut self) -> Option<Noticed> {
        let silence = self.since.elapsed();
        let most = self.bearing.most.filter(|_| !self.has_begun);
        if most.is_some_and(|most| silence >= most) {
            return Some(Noticed::Enough(ModelError::Cut {
                said: "no response".to_owned(),
                had_begun: false,
            }));
        }
        let left = most.map_or(FOR_EVER, |most| most - silence);
        self.looks = Instant::now() + SECOND.min(left);
        let (limit, next_try) = self.limit()?;
        self.is_shown = true;
        let cause = if self.has_begun {
            "no data from the provider"
        } else {
            "the provider has not answered yet"
        };
        Some(Noticed::Waiting(Event::Waiting {
            cause: cause.to_owned(),
            left: limit.saturating_sub(silence),
            next_try,
            first_token: (!self.has_begun).then_some(silence),
            paused: self.has_begun.then_some(silence),
        }))
    }

    fn failed(&self, error: ModelError, billed: Option<Billed>, came: Option<Tokens>) -> RequestOutcome {
        RequestOutcome::Failed {
            error,
            billed,
            silence: self.since.elapsed(),
            came,
        }
    }
}
