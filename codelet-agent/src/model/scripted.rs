//! A model that answers from a script, for demonstrations and tests: the real loop, without network.

use crate::model::{Delta, Model, ModelError, Profile, Reply, Request, Stop};
use codelet_context::message::{Message, Part};
use futures_util::stream::{self, BoxStream, StreamExt as _};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

/// Answers a request.
pub type Answer = Box<dyn FnMut(&Request) -> Result<Reply, ModelError> + Send>;

/// A model that answers from a script.
pub struct Scripted {
    profile: Profile,
    answer: Mutex<Answer>,
    requests: Arc<Mutex<Vec<Request>>>,
}

impl Scripted {
    /// Creates a model that gives these answers in order, and an error after that.
    pub fn new(profile: Profile, answers: impl IntoIterator<Item = Result<Reply, ModelError>>) -> Self {
        let mut answers: VecDeque<_> = answers.into_iter().collect();
        Scripted::by(profile, move |_| {
            answers.pop_front().unwrap_or_else(|| {
                Err(ModelError::Refused {
                    said: "the script is at its end".to_owned(),
                })
            })
        })
    }

    /// Creates a model whose answers depend on the request.
    pub fn by(profile: Profile, answer: impl FnMut(&Request) -> Result<Reply, ModelError> + Send + 'static) -> Self {
        Scripted {
            profile,
            answer: Mutex::new(Box::new(answer)),
            requests: Arc::default(),
        }
    }

    /// Returns all requests so far; still updated after the model is moved into a session.
    pub fn requests(&self) -> Arc<Mutex<Vec<Request>>> {
        self.requests.clone()
    }
}

impl Model for Scripted {
    fn profile(&self) -> &Profile {
        &self.profile
    }

    fn stream(&self, request: Request) -> BoxStream<'static, Result<Delta, ModelError>> {
        // A panic in a script leaves nothing half done, so poisoning does not matter.
        let answer = (self.answer.lock().unwrap_or_else(PoisonError::into_inner))(&request);
        self.requests
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(request);
        let deltas = match answer {
            Ok(reply) => deltas(reply),
            Err(error) => vec![Err(error)],
        };
        stream::iter(deltas).boxed()
    }
}

/// Returns the deltas of a reply.
fn deltas(reply: Reply) -> Vec<Result<Delta, ModelError>> {
    let parts = reply.message.parts.iter().filter_map(|part| match part {
        Part::Text(text) => Some(Delta::Text(text.body.as_str().to_owned())),
        Part::Thinking(thinking) => Some(Delta::Thinking(thinking.body.as_str().to_owned())),
        Part::ToolCall(call) => Some(Delta::Call {
            tool: call.tool.to_string(),
        }),
        _ => None,
    });
    let mut deltas: Vec<_> = parts.map(Ok).collect();
    deltas.push(Ok(Delta::Billed(reply.billed)));
    deltas.push(Ok(Delta::Done(reply)));
    deltas
}

impl Reply {
    /// Returns a finished answer with this message and no reported usage.
    pub fn of(message: Message) -> Self {
        Reply {
            message,
            stop: Stop::Finished,
            broken: Vec::new(),
            billed: Default::default(),
        }
    }
}
