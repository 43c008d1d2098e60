//! The conversation as the last requests held it, in steps: an agent resends its whole history each time, and a step that
//! has not changed is neither converted nor encoded again.

use bytes::Bytes;
use codelet_context::message::{Message, Role};
use codelet_transcript::{Document, Encoded, WriteError, write_more, write_slices};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// A step that is missing from this many consecutive requests is dropped: a request for a summary may come between two
/// requests of a session.
const REQUESTS: u64 = 2;

/// The steps of the last requests.
#[derive(Default)]
pub(crate) struct SentSteps {
    /// By the address of the first message, which the step keeps alive.
    steps: HashMap<usize, SentStep>,
    /// The long texts of what was encoded last: cache marks make the newest steps change once more.
    texts: Encoded,
    /// The number of the current request.
    request: u64,
    /// The conversion that they are of.
    conversion: Conversion,
}

/// What the conversion of messages depends on that may change between the requests of one session.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Conversion {
    /// True if replies with calls must include the thinking field.
    pub wants_reasoning: bool,
    /// True if parts are to carry cache marks.
    pub carries_marks: bool,
}

/// Some messages of a conversation, and their form on the wire.
#[derive(Default)]
pub(crate) struct SentStep {
    stored: Vec<Arc<Message>>,
    /// The messages as they are written, without cache marks.
    pub written: Vec<Message>,
    /// For each stored message, the number of written ones before it.
    places: Vec<usize>,
    /// Their items in the request's list, without cache marks.
    json: Option<Bytes>,
    /// The number of the last request that held it.
    held: u64,
}

impl SentStep {
    pub(crate) fn new(stored: &[Arc<Message>], written: Vec<Message>, places: Vec<usize>) -> Self {
        SentStep {
            stored: stored.to_vec(),
            written,
            places,
            ..SentStep::default()
        }
    }

    fn is_of(&self, messages: &[Arc<Message>]) -> bool {
        self.stored.len() == messages.len() && self.stored.iter().zip(messages).all(|(a, b)| Arc::ptr_eq(a, b))
    }

    /// Returns whether its results are those of its own calls, so that it is written the same whatever surrounds it.
    fn answers_itself(&self) -> bool {
        let calls = self.stored.iter().flat_map(|message| message.calls());
        let calls: HashSet<&str> = calls.map(|call| &*call.id).collect();
        let mut results = self.stored.iter().flat_map(|message| message.tool_results());
        results.all(|result| calls.contains(&*result.call_id))
    }

    /// Returns whether nothing of it is joined with what precedes it.
    fn begins_with_reply(&self) -> bool {
        self.written.first().is_some_and(|first| first.role == Role::Assistant)
    }
}

/// Returns the index among all written messages that belongs to this one among all stored, or to their end.
pub(crate) fn place_of(steps: &[SentStep], stored: usize) -> Option<usize> {
    let (mut left, mut before) = (stored, 0);
    for step in steps {
        if let Some(place) = step.places.get(left) {
            return Some(before + place);
        }
        left -= step.stored.len();
        before += step.written.len();
    }
    (left == 0).then_some(before)
}

impl SentSteps {
    /// Starts a request. Returns its steps, the first of them with whatever precedes the first reply, to be
    /// [written](Self::write). All is one step if it cannot be taken apart.
    pub(crate) fn begin(
        &mut self,
        messages: &[Arc<Message>],
        conversion: Conversion,
        convert: impl Fn(&[Arc<Message>]) -> SentStep,
    ) -> Vec<SentStep> {
        if self.conversion != conversion {
            self.steps.clear();
            self.conversion = conversion;
        }
        self.request += 1;
        self.texts.begin();
        let mut steps = Vec::new();
        let begins = |before: &Arc<Message>, message: &Arc<Message>| {
            !(before.role != Role::Assistant && message.role == Role::Assistant)
        };
        for messages in messages.chunk_by(begins) {
            let known = self
                .steps
                .remove(&address(messages))
                .filter(|step| step.is_of(messages));
            steps.push(known.unwrap_or_else(|| convert(messages)));
        }
        let is_apart = |(at, step): (usize, &SentStep)| {
            step.json.is_some() || step.answers_itself() && (at == 0 || step.begins_with_reply())
        };
        match !steps.is_empty() && steps.iter().enumerate().all(is_apart) {
            true => steps,
            false => vec![convert(messages)],
        }
    }

    /// Writes the request with the document of its first step and these further ones, and keeps all for the next request.
    /// `marked` are the messages of a step in place of those without cache marks.
    pub(crate) fn write(
        &mut self,
        head: &Document,
        mut steps: Vec<SentStep>,
        marked: Vec<Option<Vec<Message>>>,
    ) -> Result<Vec<Bytes>, WriteError> {
        let mut more = Vec::with_capacity(steps.len());
        for (step, marked) in steps.iter_mut().zip(marked).skip(1) {
            if let Some(marked) = marked {
                more.extend(write_more(marked, head.format, &mut self.texts)?);
                continue;
            }
            if step.json.is_none() {
                let items = write_more(step.written.clone(), head.format, &mut self.texts)?;
                step.json = Some(items.concat().into());
            }
            more.extend(step.json.clone().filter(|items| !items.is_empty()));
        }
        let slices = write_slices(head, &more, &mut self.texts);
        self.keep(steps);
        slices
    }

    fn keep(&mut self, steps: Vec<SentStep>) {
        let request = self.request;
        self.steps.retain(|_, step| step.held + REQUESTS > request);
        self.steps.extend(steps.into_iter().map(|step| {
            let step = SentStep { held: request, ..step };
            (address(&step.stored), step)
        }));
    }
}

fn address(messages: &[Arc<Message>]) -> usize {
    messages.first().map_or(0, |first| Arc::as_ptr(first) as usize)
}
