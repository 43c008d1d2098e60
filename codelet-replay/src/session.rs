//! A recorded conversation as a series of requests, with the size of each message.

use crate::reference::References;
use codelet_context::message::{Message, Origin, Part, Role};
use codelet_context::tokens::{self, Tokens};
use codelet_transcript::{Billed, Recorded, Recording, Warning};
use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::sync::Arc;

/// The factor for byte estimates without usage to calibrate them. Of 25 recorded sessions with usage, the median of the
/// 19 of Claude Code is 1.45 (half of them 1.40 to 1.50), that of the six of Codex and pi 1.31 (1.02 to 1.52); this is
/// in between. It affects all policies of a session alike.
const USUAL_RATIO: f64 = 1.35;
/// The size of each request outside the recorded messages if usage does not tell, in tokens: system prompt and tools of
/// common agents take 900 to 28,900.
const USUAL_FIXED: Tokens = 12_000;
/// A ratio outside this range comes from content that was sent and not recorded, not from how text is counted.
const PLAUSIBLE: (f64, f64) = (0.6, 2.5);
/// The maximum unrecorded content of a request, in tokens. Usage above this plus a token for each recorded byte is a
/// false report: no text has more tokens than bytes, and no agent's tools and system prompt fill a whole window.
const MOST_UNRECORDED: Tokens = 1_000_000;

/// The maximum number of requests of a recording that are replayed. The engine compacts from the whole history, so the
/// cost of compactions grows with their number times the session's length; no real user's session comes close to this.
pub const MOST_REQUESTS: usize = 20_000;

/// A request of a recording.
#[derive(Clone, PartialEq, Debug)]
pub struct Request {
    /// The messages of its reply. The request held the messages before it.
    pub reply: Range<usize>,
    /// The time of the request, in milliseconds since 1970-01-01 UTC.
    pub began: Option<u64>,
    /// The billed usage.
    pub billed: Option<Billed>,
    /// The size of the reply, if known rather than estimated, in tokens.
    pub(crate) reply_tokens: Option<Tokens>,
    /// The model, if recorded.
    pub(crate) model: Option<Arc<str>>,
    /// True if the recording agent compacted the conversation before this request.
    pub after_compaction: bool,
}

/// A recorded conversation, ready to be replayed.
#[derive(Clone, Debug)]
pub struct Session {
    /// Its name, for reports.
    pub name: String,
    /// All messages, without the summaries that the recording agent made.
    pub messages: Vec<Arc<Message>>,
    /// The requests, in order.
    pub requests: Vec<Request>,
    /// Tokens of each request outside the messages: tools, and a system prompt that was not recorded.
    pub fixed: Tokens,
    /// Tokens per estimated token.
    pub ratio: f64,
    /// True if `fixed` and `ratio` come from this session's usage.
    pub is_calibrated: bool,
    /// True if a part of the recording could not be read: it breaks off, or its lines are damaged.
    pub is_partly_read: bool,
    /// Requests beyond the [maximum](MOST_REQUESTS), left out of the replay with all messages from there on.
    pub unplayed: usize,
    pub(crate) references: References,
}

impl Session {
    /// Builds a session from a recording. A summary that the recording agent made of its own conversation is left out,
    /// since the compared policies make their own; the messages that it summarized stay whole.
    pub fn new(name: impl Into<String>, recording: Recording) -> Self {
        let is_partly_read = recording.document.warnings.iter().any(Warning::is_partly_read);
        let said = recording.document.messages.into_iter().map(Arc::new);
        let session = Session::gathered(name.into(), said, recording.requests).ready();
        Session {
            is_partly_read,
            ..session
        }
    }

    /// Builds a session from a running conversation, with records of its requests in the order of their replies, whose
    /// usage is complete. At the requests in `edited`, given by the indices of their replies, what is sent had been
    /// made smaller, so their usage does not reflect the whole conversation.
    pub(crate) fn under_way(
        name: impl Into<String>,
        said: &[Arc<Message>],
        notes: Vec<Recorded>,
        edited: &[usize],
    ) -> Self {
        let mut session = Session::gathered(name.into(), said.iter().cloned(), notes);
        let edited: BTreeSet<usize> = edited.iter().copied().collect();
        for request in &mut session.requests {
            request.after_compaction |= edited.range(request.reply.clone()).next().is_some();
            request.reply_tokens = request.billed.map(|billed| billed.usage.output);
        }
        session.ready()
    }

    fn gathered(name: String, said: impl Iterator<Item = Arc<Message>>, notes: Vec<Recorded>) -> Self {
        let mut messages: Vec<Arc<Message>> = Vec::new();
        let mut requests: Vec<Request> = Vec::new();
        let mut notes = notes.into_iter().peekable();
        let mut after_compaction = false;
        for (index, message) in said.enumerate() {
            if is_summary(&message) {
                after_compaction = true;
                continue;
            }
            let place = messages.len();
            let is_reply = message.role == Role::Assistant && !is_injected(&message);
            let mut note = None;
            while let Some(found) = notes.next_if(|note| note.reply <= index) {
                note = Some(found).filter(|found| found.reply == index);
            }
            messages.push(message);
            if !is_reply {
                continue;
            }
            // Consecutive replies are one: no message came in between that the model could have replied to.
            match requests.last_mut().filter(|last| last.reply.end == place) {
                Some(last) => {
                    last.reply.end = place + 1;
                    if let Some(note) = note {
                        // The usage determines the model: another one may have started the reply.
                        if note.billed.is_some() || last.model.is_none() {
                            last.model = note.model.or(last.model.take());
                        }
                        // Usage after a compaction is that of a compacted prompt.
                        last.after_compaction |= note.billed.is_some() && std::mem::take(&mut after_compaction);
                        last.billed = note.billed.or(last.billed);
                    }
                }
                None => {
                    requests.push(Request {
                        reply: place..place + 1,
                        began: note.as_ref().and_then(|note| note.began),
                        billed: note.as_ref().and_then(|note| note.billed),
                        reply_tokens: None,
                        model: note.and_then(|note| note.model),
                        after_compaction: std::mem::take(&mut after_compaction),
                    });
                }
            }
        }
        Session {
            name,
            messages,
            requests,
            fixed: USUAL_FIXED,
            ratio: USUAL_RATIO,
            is_calibrated: false,
            is_partly_read: false,
            unplayed: 0,
            references: References::default(),
        }
    }

    /// Calibrates the session from its usage, and finds what its replies refer to.
    fn ready(mut self) -> Self {
        self.unplayed = self.requests.len().saturating_sub(MOST_REQUESTS);
        self.requests.truncate(MOST_REQUESTS);
        if let Some(last) = self.requests.last().filter(|_| self.unplayed > 0) {
            self.messages.truncate(last.reply.end);
        }
        self.ignore_false_bills();
        self.calibrate();
        let replies = self.requests.iter().map(|request| request.reply.clone());
        self.references = References::of(&self.messages, replies);
        self
    }

    /// Returns the size of a part, in tokens of the window.
    pub fn weigh(&self, part: &Part) -> Tokens {
        self.scale(tokens::estimate_part(part))
    }

    /// Converts an estimate to tokens of the window.
    pub fn scale(&self, estimate: Tokens) -> Tokens {
        (estimate as f64 * self.ratio).round() as Tokens
    }

    /// Converts tokens of the window to an estimate.
    pub fn estimate(&self, tokens: Tokens) -> Tokens {
        (tokens as f64 / self.ratio).round() as Tokens
    }

    /// Returns whether enough requests have times for the cache model; see [`Session::times`].
    pub fn is_timed(&self) -> bool {
        let timed = self.requests.len() - self.untimed();
        timed * 2 > self.requests.len()
    }

    /// The number of requests without a time.
    pub fn untimed(&self) -> usize {
        self.requests.iter().filter(|request| request.began.is_none()).count()
    }

    /// Returns the time of each request, in milliseconds since 1970-01-01 UTC, if most of them have one. A request
    /// without a time is taken to follow the one before it at once, so that a pause keeps its length; at the beginning,
    /// it gets the first known time.
    pub fn times(&self) -> Option<Vec<u64>> {
        if !self.is_timed() {
            return None;
        }
        let mut now = self.requests.iter().find_map(|request| request.began)?;
        let times = self.requests.iter().map(|request| {
            now = request.began.unwrap_or(now);
            now
        });
        Some(times.collect())
    }

    /// Returns the models by their names in the recording, with the number of requests of each; the one with the most
    /// first, and of equals the earlier. A name in brackets (`<synthetic>`) is not a model.
    pub fn models(&self) -> Vec<(&str, usize)> {
        let mut models: Vec<(&str, usize)> = Vec::new();
        let mut places: HashMap<&str, usize> = HashMap::new();
        let named = self.requests.iter().filter_map(|request| request.model.as_deref());
        for name in named.filter(|name| !name.is_empty() && !name.starts_with('<')) {
            let place = *places.entry(name).or_insert_with(|| {
                models.push((name, 0));
                models.len() - 1
            });
            models[place].1 += 1;
        }
        models.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        models
    }

    /// Drops usage that cannot be true, so that a single one does not make all sizes and sums useless.
    fn ignore_false_bills(&mut self) {
        let (mut known, mut estimate): (usize, Tokens) = (0, 0);
        for request in &mut self.requests {
            estimate = estimate.saturating_add(estimates(&self.messages[known..request.reply.start]));
            known = request.reply.start;
            let most = (tokens::bytes_in(estimate) as Tokens).saturating_add(MOST_UNRECORDED);
            let reply = estimates(&self.messages[request.reply.clone()]);
            let longest = (tokens::bytes_in(reply) as Tokens).saturating_add(MOST_UNRECORDED);
            let is_false = |billed: &Billed| billed.usage.prompt() > most || billed.usage.output > longest;
            if request.billed.as_ref().is_some_and(is_false) {
                request.billed = None;
                request.reply_tokens = None;
            }
        }
    }

    /// Calibrates estimates from usage, and determines the size of each request outside the messages.
    fn calibrate(&mut self) {
        let mut known = 0;
        let mut estimate = 0;
        let mut last: Option<(Tokens, Tokens)> = None;
        let mut first: Option<(Tokens, Tokens)> = None;
        let (mut shown, mut estimated) = (0, 0);
        for request in &self.requests {
            estimate += estimates(&self.messages[known..request.reply.start]);
            known = request.reply.start;
            if request.after_compaction {
                last = None;
            }
            let Some(prompt) = request.billed.map(|billed| billed.usage.prompt()) else {
                continue;
            };
            first = first.or(Some((prompt, estimate)));
            if let Some((before, at)) = last
                && prompt > before
            {
                shown += prompt - before;
                estimated += estimate - at;
            }
            last = Some((prompt, estimate));
        }
        let Some((prompt, estimate)) = first else { return };
        self.is_calibrated = true;
        if estimated > 0 {
            self.ratio = (shown as f64 / estimated as f64).clamp(PLAUSIBLE.0, PLAUSIBLE.1);
        }
        self.fixed = prompt.saturating_sub(self.scale(estimate));
    }
}

fn estimates(messages: &[Arc<Message>]) -> Tokens {
    messages.iter().map(|message| tokens::estimate_message(message)).sum()
}

fn is_summary(message: &Message) -> bool {
    let is_summary = |part: &Part| matches!(part, Part::Text(text) if matches!(text.origin, Origin::Summary));
    !message.parts.is_empty() && message.parts.iter().all(is_summary)
}

fn is_injected(message: &Message) -> bool {
    let injected = |part: &Part| matches!(part, Part::Text(text) if text.origin == Origin::Injected);
    message.parts.iter().all(injected)
}
