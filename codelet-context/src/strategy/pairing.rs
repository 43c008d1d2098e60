//! Strategy `pairing`: makes the conversation valid for every provider.
//!
//! Each call is answered once, directly after it: the results come first in the next user message, in the order of the
//! calls. The details that providers leave open:
//! - A result answers the nearest open call before it with its id; one that precedes its call goes to the first call
//!   after it that is still open. Of several answers, the first with content counts.
//! - A call without an answer gets `[interrupted]`, as a failure. Results without a call go into the archive.
//! - An id that is a duplicate, blank or longer than any provider allows is replaced by one derived from it; so is a
//!   tool name that some provider refuses. The spelling of ids for a provider is left to the writer of its requests.
//! - Assistant messages that follow a call before its answer are parts of one reply that was recorded in pieces. They
//!   are merged, since an answer between them would separate calls from their thinking.
//! - An answer whose call the provider keeps stays in its place.
//! - An operation that the provider has started in a reply and can no longer finish, since something else follows,
//!   becomes a marker.
//! - If the assistant speaks first or last, a short user notice is added there, except after a reply that the provider
//!   paused and will continue.
//!
//! Linear in the number of parts. A conversation that is in order is not copied.

use super::{StrategyCount, StrategyLimits, bytes, contents};
use crate::message::pending;
use crate::message::recall::Archive;
use crate::message::validate::{
    LONGEST_TOOL, Order, is_id, is_tool, may_be_output, may_be_said, says_something, speaks,
};
use crate::message::view::View;
use crate::message::{Extra, Message, Origin, Part, Role, ToolCall, ToolResult};
use crate::text::hash::{QuickMap, QuickSet};
use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::Arc;

/// The name in reports.
pub const NAME: &str = "pairing";

/// The characters of an id that are kept in a derived one, so that with any number appended it is valid for every
/// provider.
const STEM: usize = 20;

/// The output of a failed result that had none.
const SILENT: &str = "[no output]";
/// The user notice before an assistant who speaks first.
pub(crate) const OPENING: &str = "[The conversation begins here.]";
/// The user notice after an assistant who speaks last.
pub(crate) const CLOSING: &str = "[No prompt.]";

/// Repairs whatever a provider would refuse.
pub(crate) fn answer_every_call(view: &mut View, _: &StrategyLimits) -> StrategyCount {
    mend(view).0
}

/// The same; also returns the new index of each message, if it still exists, or `None` if nothing changed.
pub(crate) fn mend(view: &mut View) -> (StrategyCount, Option<Vec<Option<usize>>>) {
    let mut order = Order::default();
    view.messages.iter().for_each(|message| order.append(message));
    if order.is_kept() {
        return (StrategyCount::default(), None);
    }
    let mut old = std::mem::take(&mut view.messages);
    let before: usize = old.iter().map(|message| bytes(message)).sum();
    let closed = pending::close_all(&mut old, &mut view.archive);
    let calls = PairedCalls::of(&old);
    let mut mend = Mend {
        calls,
        old: &old,
        out: Vec::with_capacity(old.len()),
        went: vec![None; old.len()],
        archive: &mut view.archive,
        stay: QuickSet::default(),
        hits: closed,
    };
    mend.messages();
    mend.open_and_close();
    let (out, went, hits) = (mend.out, mend.went, mend.hits);
    let after: usize = out.iter().map(|message| bytes(message)).sum();
    view.messages = out;
    let count = StrategyCount {
        hits,
        bytes_saved: before as i64 - after as i64,
    };
    (count, Some(went))
}

/// The indexes of a message and of a part in it.
type Position = (usize, usize);

struct Call {
    place: Position,
    answer: Option<Position>,
    id: Arc<str>,
}

/// All calls, in order, with their answers.
struct PairedCalls {
    calls: Vec<Call>,
    /// The first call of each message.
    first: Vec<usize>,
    /// The call that each result answers.
    answered_by: QuickMap<Position, usize>,
}

/// The calls and results that share an id.
#[derive(Default)]
struct SameId {
    /// Unanswered calls so far, by message.
    open: Vec<(usize, VecDeque<usize>)>,
    /// The call answered last.
    answered: Option<usize>,
    /// Results that had no open call before them.
    early: Vec<Position>,
}

impl PairedCalls {
    fn of(messages: &[Arc<Message>]) -> PairedCalls {
        let mut calls: Vec<Call> = Vec::new();
        let mut first = Vec::with_capacity(messages.len() + 1);
        let mut ids: QuickMap<&str, SameId> = QuickMap::default();
        for (index, message) in messages.iter().enumerate() {
            first.push(calls.len());
            for (part, piece) in message.parts.iter().enumerate() {
                match piece {
                    Part::ToolCall(call) if message.role == Role::Assistant => {
                        let same = ids.entry(&call.id).or_default();
                        match same.open.last_mut() {
                            Some((at, group)) if *at == index => group.push_back(calls.len()),
                            _ => same.open.push((index, VecDeque::from([calls.len()]))),
                        }
                        calls.push(Call {
                            place: (index, part),
                            answer: None,
                            id: call.id.clone(),
                        });
                    }
                    Part::ToolResult(result) if !result.is_apart => {
                        let same = ids.entry(&result.call_id).or_default();
                        same.answer(messages, &mut calls, (index, part), result);
                    }
                    _ => {}
                }
            }
        }
        first.push(calls.len());
        for same in ids.values_mut() {
            same.answer_later_calls(&mut calls);
        }
        let answered_by = calls
            .iter()
            .enumerate()
            .filter_map(|(index, call)| Some((call.answer?, index)))
            .collect();
        let mut calls = PairedCalls {
            calls,
            first,
            answered_by,
        };
        calls.name(messages);
        calls
    }

    /// The calls of a message.
    fn in_message(&self, message: usize) -> std::ops::Range<usize> {
        self.first[message]..self.first[message + 1]
    }

    /// Assigns a unique id to each call whose id is taken or invalid.
    fn name(&mut self, messages: &[Arc<Message>]) {
        let mut original: QuickSet<Arc<str>> = self.calls.iter().map(|call| call.id.clone()).collect();
        // A result whose call the provider keeps must not be mistaken for that of a call here.
        let results = messages.iter().flat_map(|message| message.tool_results());
        let apart = results.filter(|result| result.is_apart);
        let mut used: QuickSet<Arc<str>> = apart.map(|result| result.call_id.clone()).collect();
        original.extend(used.iter().cloned());
        let mut numbers: QuickMap<String, usize> = QuickMap::default();
        for call in &mut self.calls {
            if is_id(&call.id) && used.insert(call.id.clone()) {
                continue;
            }
            let stem = plain(&call.id, STEM, "call");
            let number = numbers.entry(stem.clone()).or_insert(1);
            call.id = loop {
                *number += 1;
                let name: Arc<str> = format!("{stem}_{number}").into();
                if !original.contains(&name) && used.insert(name.clone()) {
                    break name;
                }
            };
        }
    }
}

impl SameId {
    /// Assigns a result to the newest message with an open call, in the order of its calls.
    fn answer(&mut self, messages: &[Arc<Message>], calls: &mut [Call], place: Position, result: &ToolResult) {
        if let Some((_, group)) = self.open.last_mut()
            && let Some(call) = group.pop_front()
        {
            if group.is_empty() {
                self.open.pop();
            }
            calls[call].answer = Some(place);
            self.answered = Some(call);
            return;
        }
        if let Some(call) = self.answered
            && let Some((message, part)) = calls[call].answer
            && let Some(Part::ToolResult(first)) = messages[message].parts.get(part)
            && !says_something(first)
            && says_something(result)
        {
            calls[call].answer = Some(place);
            return;
        }
        self.early.push(place);
    }

    /// Assigns early results to the open calls after them.
    fn answer_later_calls(&mut self, calls: &mut [Call]) {
        let mut open = self.open.iter().flat_map(|(_, group)| group.iter().copied()).peekable();
        for &place in &self.early {
            while open.next_if(|&call| calls[call].place < place).is_some() {}
            let Some(call) = open.next() else { return };
            calls[call].answer = Some(place);
        }
    }
}

/// The name with refused characters replaced, and of limited length.
fn plain(name: &str, longest: usize, otherwise: &str) -> String {
    let accepted = |c: char| match c {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '_' | '-' => c,
        _ => '_',
    };
    let plain: String = name.chars().take(longest).map(accepted).collect();
    if plain.is_empty() { otherwise.to_owned() } else { plain }
}

struct Mend<'a> {
    calls: PairedCalls,
    old: &'a [Arc<Message>],
    out: Vec<Arc<Message>>,
    /// For each old message, the new one with its content, or else the first one with its results.
    went: Vec<Option<usize>>,
    archive: &'a mut Archive,
    /// Results that are in the right place.
    stay: QuickSet<Position>,
    hits: u64,
}

impl Mend<'_> {
    fn messages(&mut self) {
        // Results to put in front of the next message.
        let mut front: Vec<Part> = Vec::new();
        let mut index = 0;
        while index < self.old.len() {
            let end = self.reply_end(index);
            let merged = self.speech(index..end, std::mem::take(&mut front));
            let calls = self.calls.first[index]..self.calls.first[end];
            self.push(index, end, merged);
            if !calls.is_empty() {
                front = self.answers(calls, end);
            }
            index = end;
        }
        if !front.is_empty() {
            self.out.push(Arc::new(Message::new(Role::User, front)));
        }
    }

    /// The end of the reply that begins here: it includes later assistant messages if a call precedes them.
    fn reply_end(&self, start: usize) -> usize {
        let mut end = start + 1;
        if self.old[start].role == Role::Assistant && !self.calls.in_message(start).is_empty() {
            while self.old.get(end).is_some_and(|message| message.role == Role::Assistant) {
                end += 1;
            }
        }
        end
    }

    /// The parts of messages that become one, after the results in `front`; `None` if nothing changes.
    fn speech(&mut self, range: std::ops::Range<usize>, front: Vec<Part>) -> Option<Vec<Part>> {
        let mut changed = !front.is_empty() || range.len() > 1;
        if range.len() > 1 {
            self.hits += 1;
        }
        let mut parts = front;
        for index in range {
            let old = Arc::clone(&self.old[index]);
            for (part, piece) in old.parts.iter().enumerate() {
                let treated = self.piece(old.role, (index, part), piece);
                changed |= !matches!(treated, Some(Cow::Borrowed(_)));
                parts.extend(treated.map(Cow::into_owned));
            }
            changed |= old.parts.is_empty();
        }
        changed.then_some(parts)
    }

    /// The part in a form that can be sent here; `None` if it does not stay here.
    fn piece<'p>(&mut self, role: Role, place: Position, part: &'p Part) -> Option<Cow<'p, Part>> {
        let changed = match part {
            Part::ToolCall(call) if role == Role::Assistant => self.call(place, call).map(Part::ToolCall),
            Part::ToolResult(result) if result.is_apart && role == Role::User => {
                self.spoken(result).map(Part::ToolResult)
            }
            Part::ToolResult(result) => match self.calls.answered_by.get(&place) {
                Some(&call) if self.stay.contains(&place) => self.result(call, result).map(Part::ToolResult),
                // It is moved to its call.
                Some(_) => return None,
                None => return self.remove(part),
            },
            Part::ToolCall(_) => return self.remove(part),
            other if may_be_said(role, other) => None,
            other => return self.remove(other),
        };
        Some(changed.map_or(Cow::Borrowed(part), Cow::Owned))
    }

    fn remove<'p>(&mut self, part: &Part) -> Option<Cow<'p, Part>> {
        self.hits += 1;
        keep(self.archive, part);
        None
    }

    /// The call under its id, with a tool name that can be sent; `None` if no change is needed.
    fn call(&mut self, (message, part): Position, call: &ToolCall) -> Option<ToolCall> {
        let calls = self.calls.in_message(message);
        let at = calls.start + self.calls.calls[calls].partition_point(|call| call.place.1 < part);
        let id = self.calls.calls[at].id.clone();
        if *id == *call.id && is_tool(&call.tool) {
            return None;
        }
        self.hits += 1;
        let tool = if is_tool(&call.tool) {
            call.tool.clone()
        } else {
            plain(&call.tool, LONGEST_TOOL, "tool").into()
        };
        Some(ToolCall {
            id,
            tool,
            ..call.clone()
        })
    }

    /// The result in a form that can be sent; `None` if no change is needed.
    fn result(&mut self, call: usize, result: &ToolResult) -> Option<ToolResult> {
        let id = self.calls.calls[call].id.clone();
        let spoken = self.spoken(result);
        if *id == *result.call_id {
            return spoken;
        }
        let mut sent = spoken.unwrap_or_else(|| result.clone());
        sent.call_id = id;
        Some(sent)
    }

    /// The result with an output that can be sent; `None` if it already has one.
    fn spoken(&mut self, result: &ToolResult) -> Option<ToolResult> {
        if speaks(result) {
            return None;
        }
        self.hits += 1;
        let mut sent = result.clone();
        let (output, blank) = sent.output.into_iter().partition(|part| may_be_output(result, part));
        sent.output = output;
        for part in &blank {
            keep(self.archive, part);
        }
        if !speaks(&sent) {
            sent.output = vec![Part::text_from(Origin::Notice, SILENT)];
        }
        Some(sent)
    }

    /// Places the answers to the calls of the reply that ends here. Returns those to put in front of the next message.
    fn answers(&mut self, calls: std::ops::Range<usize>, next: usize) -> Vec<Part> {
        let wanted: Vec<Option<Position>> = self.calls.calls[calls.clone()].iter().map(|call| call.answer).collect();
        if self.stand_next(&wanted, next) {
            self.stay.extend(wanted.into_iter().flatten());
            return Vec::new();
        }
        let mut mended = 0;
        let mut parts = Vec::with_capacity(wanted.len());
        for (call, place) in calls.zip(&wanted) {
            let old = place.and_then(|(message, part)| self.old[message].parts.get(part));
            parts.push(Part::ToolResult(match old {
                Some(Part::ToolResult(result)) => {
                    mended += u64::from(place.is_some_and(|(message, _)| message != next));
                    self.result(call, result).unwrap_or_else(|| result.clone())
                }
                _ => {
                    mended += 1;
                    ToolResult::unanswered(self.calls.calls[call].id.clone())
                }
            }));
        }
        for &(message, _) in wanted.iter().flatten() {
            self.went[message].get_or_insert(self.out.len());
        }
        // If none is missing or moved, they were out of order or followed something else.
        self.hits += mended.max(1);
        let at_home = wanted.iter().flatten().any(|(message, _)| *message == next);
        if at_home && self.old[next].role == Role::User {
            return parts;
        }
        self.out.push(Arc::new(Message::new(Role::User, parts)));
        Vec::new()
    }

    /// Returns whether the answers come first in what the user says next, in order; they may be spread over several
    /// messages.
    fn stand_next(&self, wanted: &[Option<Position>], next: usize) -> bool {
        let mut wanted = wanted.iter();
        let mut expected = wanted.next();
        for (index, message) in self.old.iter().enumerate().skip(next) {
            if message.role != Role::User {
                break;
            }
            for (part, piece) in message.parts.iter().enumerate() {
                if matches!(piece, Part::ToolResult(result) if result.is_apart) {
                    continue;
                }
                match expected {
                    Some(place) if *place == Some((index, part)) => expected = wanted.next(),
                    Some(_) => return false,
                    None => return true,
                }
            }
        }
        expected.is_none()
    }

    fn push(&mut self, start: usize, end: usize, parts: Option<Vec<Part>>) {
        let is_gone = parts.as_ref().is_some_and(Vec::is_empty);
        if !is_gone {
            self.went[start..end].fill(Some(self.out.len()));
        }
        let Some(parts) = parts else {
            self.out.push(Arc::clone(&self.old[start]));
            return;
        };
        if is_gone {
            self.hits += 1;
            return;
        }
        let first = &self.old[start];
        let parts_len = parts.len();
        let extra = match &self.old[start + 1..end] {
            [] => first.extra.clone(),
            more => all_fields(&first.extra, more),
        };
        self.out.push(Arc::new(Message {
            role: first.role,
            parts,
            bare: first.bare && parts_len == 1,
            extra,
        }));
    }

    fn open_and_close(&mut self) {
        let talk = |message: &Arc<Message>| message.role != Role::System;
        if let Some(first) = self.out.iter().position(talk)
            && self.out[first].role == Role::Assistant
        {
            self.hits += 1;
            self.out.insert(first, Arc::new(notice(OPENING)));
            let behind = self.went.iter_mut().flatten().filter(|at| **at >= first);
            behind.for_each(|at| *at += 1);
        }
        if self
            .out
            .iter()
            .rfind(|message| talk(message))
            .is_none_or(|last| last.role == Role::Assistant && !last.is_paused())
        {
            self.hits += 1;
            self.out.push(Arc::new(notice(CLOSING)));
        }
    }
}

/// Returns whether a message is the notice after an assistant who speaks last.
pub(crate) fn is_closing(message: &Message) -> bool {
    matches!(&message.parts[..], [Part::Text(text)] if text.origin == Origin::Notice && text.body.as_str() == CLOSING)
}

fn notice(text: &str) -> Message {
    Message::new(Role::User, vec![Part::text_from(Origin::Notice, text)])
}

/// The unread fields of merged messages; of fields with the same name, the first stays.
fn all_fields(first: &Extra, more: &[Arc<Message>]) -> Extra {
    let mut fields: serde_json::Map<_, _> = first
        .iter()
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    for (name, value) in more.iter().flat_map(|message| message.extra.iter()) {
        fields.entry(name.clone()).or_insert_with(|| value.clone());
    }
    Extra::new(fields)
}

/// Archives the content of a removed part. A marker or an excerpt is already archived, and blank text has no content.
fn keep(archive: &mut Archive, part: &Part) {
    contents(part, None, &mut |what, body, cut| {
        if cut.is_none() && !body.is_blank() {
            archive.keep(body, what, NAME);
        }
    });
}
