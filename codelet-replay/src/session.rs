//! A recorded conversation as a series of requests, with what each message weighs.

use crate::reference::References;
use codelet_context::message::{Message, Origin, Part, Role};
use codelet_context::tokens::{self, Tokens};
use codelet_transcript::{Billed, Recorded, Recording};
use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::sync::Arc;

/// What a byte estimate is multiplied with where no bill says better. Of 25 recorded sessions with bills, the 19 of Claude
/// Code show 1.45 in the median (half of them 1.40 to 1.50), the six of Codex and pi 1.31 (1.02 to 1.52); this lies between.
/// It moves all policies of a session alike.
const USUAL_RATIO: f64 = 1.35;
/// What stands in every request beside the recorded messages where no bill tells, in tokens: system prompt and tools
/// of common agents weigh 900 to 28,900.
const USUAL_FIXED: Tokens = 12_000;
/// A ratio outside of this tells of something that was sent and not recorded, and not of how text is counted.
const PLAUSIBLE: (f64, f64) = (0.6, 2.5);
/// So many tokens may stand in a request beside what was recorded. A bill of more than this and a token for each recorded
/// byte is a false report: no text has more tokens than bytes, and no agent's tools and head weigh as much as a window.
const MOST_UNRECORDED: Tokens = 1_000_000;

/// So many requests of a recording are played. The engine compacts from all that was said, so that what a session's compactions
/// cost grows with their number times its length; no person's session comes near to this.
pub const MOST_REQUESTS: usize = 20_000;

/// One request of a recording.
#[derive(Clone, PartialEq, Debug)]
pub struct Request {
    /// The messages of its reply. The request held what stands before them.
    pub reply: Range<usize>,
    /// When it was made, in milliseconds since 1970-01-01 UTC.
    pub began: Option<u64>,
    /// What was billed.
    pub billed: Option<Billed>,
    /// What the reply weighs, where that is known and need not be estimated, in tokens.
    pub(crate) reply_tokens: Option<Tokens>,
    /// The model, where it was recorded.
    pub(crate) model: Option<Arc<str>>,
    /// The recording agent compacted the conversation before this request.
    pub after_compaction: bool,
    /// The recording tells that the model was asked not to think.
    pub(crate) without_thinking: bool,
}

/// A recorded conversation, ready to be played.
#[derive(Clone, Debug)]
pub struct Session {
    /// What it is called, for reports.
    pub name: String,
    /// Everything that was said, without the summaries that the recording agent made of it.
    pub messages: Vec<Arc<Message>>,
    /// The requests, in order.
    pub requests: Vec<Request>,
    /// Tokens of each request beside the messages: tools, and a system prompt that was not recorded.
    pub fixed: Tokens,
    /// Tokens for each estimated token.
    pub ratio: f64,
    /// Whether `fixed` and `ratio` come from bills of this session.
    pub is_calibrated: bool,
    /// Bills that were ignored, since more tokens were billed than there can have been.
    pub false_bills: usize,
    /// Requests behind the [most](MOST_REQUESTS) that are played; they are left out with all that was said from there on.
    pub unplayed: usize,
    pub(crate) references: References,
}

impl Session {
    /// From a recording. A summary that the recording agent made of its own conversation is left out, since the policies
    /// that are compared make their own; what it had summarised stands there whole.
    pub fn new(name: impl Into<String>, recording: Recording) -> Self {
        let said = recording.document.messages.into_iter().map(Arc::new);
        Session::gathered(name.into(), said, recording.requests).ready()
    }

    /// From what is still being said, with notes of its requests in the order of their replies, whose bills are whole. Before the
    /// requests at `edited`, by the places of their replies, what is sent was made smaller, so their bills do not tell what was
    /// said.
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
            // Replies in a row are one: nothing was said in between that the model could have replied to.
            match requests.last_mut().filter(|last| last.reply.end == place) {
                Some(last) => {
                    last.reply.end = place + 1;
                    if let Some(note) = note {
                        // The bill's model goes with it: another one may have begun the reply.
                        if note.billed.is_some() || last.model.is_none() {
                            last.model = note.model.or(last.model.take());
                        }
                        // A bill from behind a compaction is of a prompt that was compacted.
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
                        without_thinking: note.as_ref().is_some_and(|note| note.without_thinking),
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
            false_bills: 0,
            unplayed: 0,
            references: References::default(),
        }
    }

    /// What the bills tell of it, and what its replies refer to.
    fn ready(mut self) -> Self {
        self.unplayed = self.requests.len().saturating_sub(MOST_REQUESTS);
        self.requests.truncate(MOST_REQUESTS);
        if let Some(last) = self.requests.last().filter(|_| self.unplayed > 0) {
            self.messages.truncate(last.reply.end);
        }
        self.ignore_false_bills();
        self.calibrate();
        self.references = References::of(&self);
        self
    }

    /// What a part weighs, in tokens of the window.
    pub fn weigh(&self, part: &Part) -> Tokens {
        self.scale(tokens::estimate_part(part))
    }

    /// An estimate in tokens of the window.
    pub fn scale(&self, estimate: Tokens) -> Tokens {
        (estimate as f64 * self.ratio).round() as Tokens
    }

    /// Tokens of the window as an estimate.
    pub fn estimate(&self, tokens: Tokens) -> Tokens {
        (tokens as f64 / self.ratio).round() as Tokens
    }

    /// Whether the requests have times to play the cache by; see [`Session::times`].
    pub fn is_timed(&self) -> bool {
        let timed = self.requests.len() - self.untimed();
        timed * 2 > self.requests.len()
    }

    /// How many requests have no time.
    pub fn untimed(&self) -> usize {
        self.requests.iter().filter(|request| request.began.is_none()).count()
    }

    /// When each request was made, in milliseconds since 1970-01-01 UTC, where most of them say so. One that does not is
    /// taken to have followed the one before it at once, so that a pause stays as long as it was; at the beginning, to
    /// have been made with the first that says so.
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

    /// The models that were asked, by their names in the recording, with how many requests each had; the one that had
    /// most first, and of equals the earlier. What stands in brackets (`<synthetic>`) is no model.
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

    /// Forgets bills that cannot be true, so that one of them does not make all sizes and sums worthless.
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
                self.false_bills += 1;
            }
        }
    }

    /// Learns from the bills what an estimate is worth, and what stands in each request beside the messages.
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
