//! A model behind a provider: one request, one response stream, no retries.

use crate::answer;
use crate::error_kind::{Refusal, classify};
use crate::frames::{Frames, Trouble, Whole, anthropic, chat, gemini, responses};

use crate::line::{Line, Stream, StreamItem};
use crate::scrubber::{Kept, Scrubber};
use crate::sent_steps::SentSteps;
use crate::settings::Settings;
use crate::stream_end::StreamEnd;
use crate::suspects;
use crate::wire::Wire;
use bytes::Bytes;
use codelet_agent::effort::{CacheAfter, Effort};
use codelet_agent::model::{Delta, Model, ModelError, Profile, Reply, Request, Silence, Stop};
use codelet_context::tokens::{Tokens, estimate_bytes};
use futures_util::StreamExt;
use futures_util::stream::{BoxStream, unfold};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::time::Instant;

/// A model used over HTTP.
pub(crate) struct Provider {
    pub profile: Profile,
    pub settings: Arc<Settings>,
    pub line: Line,
    /// Content that is sent back differently from how it is stored.
    pub kept: Arc<Kept>,
    /// The steps of its last requests.
    pub sent: Arc<Mutex<SentSteps>>,
}

impl Model for Provider {
    fn profile(&self) -> &Profile {
        &self.profile
    }

    fn silence(&self, prompt: Tokens) -> Option<Silence> {
        let limits = self.line.reading(prompt).connection.limits;
        Some(Silence {
            first: limits.first_byte,
            between: limits.idle,
        })
    }

    fn idle_output(&self) -> Option<Tokens> {
        self.settings.idle_output()
    }

    fn thinks(&self) -> bool {
        self.settings.lets_think()
    }

    fn efforts(&self) -> Vec<Effort> {
        self.settings.efforts()
    }

    fn effort(&self) -> Option<Effort> {
        self.settings.effort()
    }

    fn with_effort(&self, effort: Option<Effort>) -> Option<Box<dyn Model>> {
        let is_taken = effort.is_none_or(|effort| self.settings.efforts().contains(&effort));
        is_taken.then(|| {
            Box::new(Provider {
                profile: self.profile.clone(),
                settings: Arc::new(self.settings.with_effort(effort)),
                line: self.line.clone(),
                kept: self.kept.clone(),
                sent: self.sent.clone(),
            }) as Box<dyn Model>
        })
    }

    fn cache_after(&self, effort: Option<Effort>) -> CacheAfter {
        self.settings.cache_after(effort)
    }

    fn stream(&self, request: Request) -> BoxStream<'static, Result<Delta, ModelError>> {
        let exchange = Exchange {
            settings: self.settings.clone(),
            line: self.line.clone(),
            request,
            stream: None,
            frames: new(self.settings.wire),
            ready: VecDeque::new(),
            scrubber: Scrubber::new(self.line.connection.key.as_ref()),
            kept: self.kept.clone(),
            sent: self.sent.clone(),
            stream_end: StreamEnd::default(),
            had_begun: false,
            is_over: false,
        };
        unfold(exchange, |mut exchange| async move {
            let next = exchange.next().await?;
            Some((next, exchange))
        })
        .boxed()
    }
}

pub(crate) fn new(wire: Wire) -> Box<dyn Frames> {
    match wire {
        Wire::Anthropic => Box::<anthropic::Anthropic>::default(),
        Wire::Chat => Box::<chat::Chat>::default(),
        Wire::Responses => Box::<responses::Responses>::default(),
        Wire::Gemini => Box::<gemini::Gemini>::default(),
    }
}

/// Returns whether the deltas add to an answer.
pub(crate) fn adds(deltas: &[Delta]) -> bool {
    deltas.iter().any(|delta| !matches!(delta, Delta::Billed(_)))
}

/// A request and its reply in progress.
struct Exchange {
    settings: Arc<Settings>,
    line: Line,
    request: Request,
    /// `None` until the first poll, before which nothing is sent, and again once everything is delivered.
    stream: Option<Stream>,
    frames: Box<dyn Frames>,
    ready: VecDeque<Result<Delta, ModelError>>,
    scrubber: Scrubber,
    kept: Arc<Kept>,
    sent: Arc<Mutex<SentSteps>>,
    /// The deadline for further frames.
    stream_end: StreamEnd,
    /// True once part of the answer has arrived.
    had_begun: bool,
    is_over: bool,
}

impl Exchange {
    async fn next(&mut self) -> Option<Result<Delta, ModelError>> {
        loop {
            if let Some(item) = self.ready.pop_front() {
                return Some(item);
            }
            if self.is_over {
                return None;
            }
            if let Err(error) = self.step().await {
                self.is_over = true;
                self.ready.push_back(Err(error));
            }
            if self.is_over {
                self.stream = None;
            }
        }
    }

    /// Sends the request, or takes one more frame of the reply.
    async fn step(&mut self) -> Result<(), ModelError> {
        let Some(stream) = &mut self.stream else {
            let body = self.slices();
            let bytes = body.iter().map(Bytes::len).sum();
            let line = self.line.reading(estimate_bytes(bytes));
            self.line = line.authorized("POST", &body).await?;
            self.scrubber = Scrubber::new(self.line.connection.key.as_ref());
            match self.line.post(body).await {
                Ok(stream) => self.stream = Some(stream),
                Err(error) => {
                    let key = self.line.connection.key.as_ref();
                    self.line.auth.heed(&error, key).await;
                    return Err(self.blame(error));
                }
            }
            return Ok(());
        };
        let frame = match stream.next(self.had_begun, self.stream_end.at).await {
            Ok(StreamItem::Frame(frame)) => frame,
            Ok(StreamItem::Life) => {
                self.ready.push_back(Ok(Delta::Alive));
                return Ok(());
            }
            Ok(StreamItem::End) => return self.end(None),
            Err(error) => return self.end(Some(error)),
        };
        let is_last = stream.is_over();
        let mut deltas = Vec::new();
        let taken = self.frames.take(&frame, &mut deltas);
        let is_more = adds(&deltas);
        self.had_begun |= is_more;
        self.stream_end
            .settle(self.had_begun, is_more, self.frames.stop(), Instant::now());
        self.scrubber.take(&mut deltas);
        if deltas.is_empty() {
            deltas.push(Delta::Alive);
        }
        self.ready.extend(deltas.into_iter().map(Ok));
        match taken {
            Ok(false) => Ok(()),
            Ok(true) => self.end(None),
            // An incomplete frame at the end of a stream that was cut off.
            Err(Trouble::Garbled(_)) if is_last => self.end(None),
            Err(Trouble::Garbled(said)) => Err(ModelError::Garbled {
                said: self.line.connection.scrub(&said),
            }),
            Err(Trouble::Failed(reason)) => Err(ModelError::Busy {
                retry_after: None,
                said: format!("its answer broke off ({})", self.line.connection.scrub(&reason)),
            }),
            Err(Trouble::Reported(body)) => {
                let refusal = Refusal {
                    status: None,
                    headers: None,
                    body: &body,
                };
                Err(self.blame(classify(&refusal, &self.line.connection.secrets)))
            }
        }
    }

    fn slices(&self) -> Vec<Bytes> {
        let mut sent = self.sent.lock().unwrap_or_else(PoisonError::into_inner);
        self.settings.slices(&self.kept.restored(&self.request), &mut sent)
    }

    /// Adds to an error the parts of the conversation that it refers to.
    fn blame(&self, error: ModelError) -> ModelError {
        let said = match &error {
            ModelError::Rejected { said, .. }
            | ModelError::Refused { said }
            | ModelError::OutputLimit { limit: None, said } => said.clone(),
            _ => return error,
        };
        let body = self.settings.body(&self.kept.restored(&self.request));
        if let Some(way) = self.settings.learn(&said, &body) {
            return ModelError::Rewritten { said, how: way.how() };
        }
        if !matches!(error, ModelError::Rejected { .. }) {
            return error;
        }
        let suspects = suspects::find(&said, &body, &self.request.messages);
        ModelError::Rejected { said, suspects }
    }

    /// Handles the end of the stream, by itself or by a failure. A reply that was complete by then is still returned.
    fn end(&mut self, failure: Option<ModelError>) -> Result<(), ModelError> {
        let Some(mut whole) = self.frames.finish() else {
            return Err(failure.unwrap_or(ModelError::Cut {
                said: "the stream ended before the answer did".to_owned(),
                had_begun: self.had_begun,
            }));
        };
        // Compatible servers may report an answer as complete although it reached its output limit.
        let most = self.request.max_output.unwrap_or(self.settings.max_output);
        let is_at_limit = self.frames.billed().usage.output >= most;
        if self.settings.wire == Wire::Responses && is_at_limit && whole.stop == Some(Stop::Finished) {
            whole.stop = Some(Stop::OutputLimit);
        }
        let reply = self.reply(whole)?;
        self.ready.extend(self.scrubber.rest().map(Ok));
        self.ready.push_back(Ok(Delta::Done(reply)));
        self.is_over = true;
        Ok(())
    }
    /// Returns the reply as it is stored: without the key.
    fn reply(&self, whole: Whole) -> Result<Reply, ModelError> {
        let read = |whole: Whole| {
            answer::reply(
                whole,
                &self.settings.maker(),
                &self.request.messages,
                self.frames.billed(),
            )
        };
        let Some(hidden) = self.scrubber.whole(&whole) else {
            return read(whole);
        };
        let reply = read(hidden)?;
        self.kept.note(&reply.message, &read(whole)?.message);
        Ok(reply)
    }
}
