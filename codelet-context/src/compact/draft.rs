//! Drafts: the messages that a compaction keeps, shortened if necessary and never lost.

use crate::message::cut;
use crate::message::recall::Archive;
use crate::message::tokens::{self, PART_TOKENS, Tokens};
use crate::message::{Message, Nature, Opaque, Origin, Parameters, Part, Role, Text, ToolCall, ToolResult};
use crate::ranking::{CallKind, block};
use crate::strategy;
use crate::text::body::Body;
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// The reason under which a compaction archives what it removes.
pub(crate) const REASON: &str = "compaction";
/// Parameter strings shorter than this, in bytes, are not cut: they identify what the call is about.
const SHORT_STRING: usize = 160;

/// A text that is longer than its room by at most one part in this many is not cut.
const HARDLY: usize = 4;

/// The name for text of the user, the system or the assistant in a marker.
const WORDS: &str = "text";

/// The minimum length, in bytes, of parameters that a marker alone may replace.
const FEWEST_BYTES: usize = 640;

/// A message of the new view in preparation.
#[derive(Clone, Debug)]
pub(crate) struct Draft {
    /// The index of its source message in the history.
    pub source: usize,
    /// For each part, the index of its source part, ascending.
    pub parts: Vec<u32>,
    pub message: Message,
    /// True if the user pinned it.
    pub pinned: bool,
    /// True if it belongs to the last complete step or follows it: the model may not have seen it yet.
    pub is_last: bool,
    /// True if it must not be shortened, whatever the budget.
    pub spared: bool,
    /// True if it is the prompt being answered: its text stays whole, whatever the budget.
    pub is_answered: bool,
}

impl Draft {
    /// Creates a draft from the parts of a message for which `keep` holds; `None` if there are none.
    pub fn of(source: usize, message: &Arc<Message>, mut keep: impl FnMut(&Part) -> bool) -> Option<Self> {
        let parts: Vec<u32> = (0..message.parts.len() as u32)
            .filter(|&part| keep(&message.parts[part as usize]))
            .collect();
        if parts.is_empty() {
            return None;
        }
        let mut kept = (**message).clone();
        if parts.len() < kept.parts.len() {
            kept.parts = parts.iter().map(|&part| message.parts[part as usize].clone()).collect();
            kept.bare = false;
        }
        Some(Draft {
            source,
            parts,
            message: kept,
            pinned: false,
            is_last: false,
            spared: false,
            is_answered: false,
        })
    }

    pub fn estimate(&self) -> Tokens {
        tokens::estimate_message(&self.message)
    }

    /// Removes the parts for which `stays` is false; it is called with the index of each source part.
    pub fn retain(&mut self, mut stays: impl FnMut(u32, &Part) -> bool) {
        let before = self.parts.len();
        let mut left = Vec::with_capacity(before);
        let mut sources = self.parts.iter();
        self.message.parts.retain(|part| {
            let source = sources.next();
            let stays = source.is_none_or(|&source| stays(source, part));
            left.extend(source.filter(|_| stays));
            stays
        });
        self.message.bare &= left.len() == before;
        self.parts = left;
    }
}

/// The classes of content that may be shortened, in the order of shortening.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PartClass {
    /// Tool outputs.
    Results,
    /// Parameters of calls.
    Calls,
    /// The assistant's text and images.
    Answers,
    /// Reminders and harness text next to the user's words.
    Standing,
    /// Images and files of the user.
    Files,
    /// The user's words.
    Prompts,
}

impl PartClass {
    /// The classes of tool and assistant content.
    pub const BULK: [PartClass; 3] = [PartClass::Results, PartClass::Calls, PartClass::Answers];

    /// The class of a part; `None` if it is never shortened: the system prompt, and parts that a vendor requires
    /// unchanged.
    pub fn of(role: Role, part: &Part) -> Option<PartClass> {
        if role == Role::System {
            return None;
        }
        match part {
            Part::ToolResult(_) => Some(PartClass::Results),
            Part::ToolCall(_) => Some(PartClass::Calls),
            Part::Text(text) => Some(match (role, text.origin) {
                (Role::Assistant, _) => PartClass::Answers,
                (Role::User, Origin::Own | Origin::Summary | Origin::Notice) => PartClass::Prompts,
                _ => PartClass::Standing,
            }),
            Part::Image(_) if role == Role::Assistant => Some(PartClass::Answers),
            Part::Image(_) => Some(PartClass::Files),
            // The parts of a vendor's own tools in a reply belong together, and references must be sent back.
            Part::Opaque(opaque) => match (role, &opaque.nature) {
                (Role::Assistant, _) | (_, Nature::Reference | Nature::Pending) => None,
                (Role::User | Role::System, _) => Some(PartClass::Files),
            },
            // A vendor refuses altered thinking.
            Part::Thinking(_) => None,
        }
    }
}

/// Shortens the parts of a class with more than `cap` tokens to these, as far as markers allow, and outputs of reads to
/// `reads`; the first that weigh at most `whole` together stay whole. The whole of each goes into the archive.
pub(crate) fn shorten<'a>(
    drafts: impl IntoIterator<Item = &'a mut Draft>,
    class: PartClass,
    (cap, reads, mut whole): (Tokens, Tokens, Tokens),
    archive: &mut Archive,
) {
    // By call id.
    let mut tools: HashMap<Arc<str>, (Arc<str>, CallKind)> = HashMap::new();
    for draft in drafts
        .into_iter()
        .filter(|draft| class != PartClass::Prompts || !draft.is_answered)
    {
        let role = draft.message.role;
        if class == PartClass::Results {
            let called = |call: &ToolCall| (call.id.clone(), (call.tool.clone(), CallKind::of(call)));
            tools.extend(draft.message.calls().map(called));
        }
        for part in &mut draft.message.parts {
            let weight = tokens::estimate_part(part);
            if PartClass::of(role, part) == Some(class) && weight > cap {
                if weight <= whole {
                    whole -= weight;
                    continue;
                }
                let tool = match part {
                    Part::ToolResult(result) => tools.get(&result.call_id),
                    _ => None,
                };
                let is_read = tool.is_some_and(|(_, kind)| *kind == CallKind::Read);
                let room = if is_read { reads } else { cap };
                shorten_part(part, room, tool.map(|(tool, _)| &**tool), archive);
            }
        }
    }
}

/// The whole text to be cut: from the archive if it was cut before, so that nothing is cut twice.
fn whole_of(text: &Text, archive: &Archive) -> Option<Body> {
    match &text.cut {
        None => Some(text.body.clone()),
        Some(handle) => archive.get(handle.as_str()).map(|removed| removed.body.clone()),
    }
}

/// Replaces images and files of the user in a draft with markers, in order, while all of them weigh more than `room`.
/// Returns what all of them, which weigh `all` before, weigh then.
pub(crate) fn remove_files(draft: &mut Draft, mut all: Tokens, room: Tokens, archive: &mut Archive) -> Tokens {
    let role = draft.message.role;
    let files = draft.message.parts.iter_mut();
    for part in files.filter(|part| PartClass::of(role, part) == Some(PartClass::Files)) {
        if all <= room {
            break;
        }
        let weight = tokens::estimate_part(part);
        shorten_part(part, 0, None, archive);
        // One that no marker is lighter than stays.
        if PartClass::of(role, part) != Some(PartClass::Files) {
            all = all.saturating_sub(weight);
        }
    }
    all
}

/// The weight of each part of a class.
pub(crate) fn weights<'a>(drafts: impl IntoIterator<Item = &'a Draft>, class: PartClass) -> Vec<Tokens> {
    let parts = drafts
        .into_iter()
        .flat_map(|draft| draft.message.parts.iter().map(|part| (draft.message.role, part)));
    parts
        .filter(|(role, part)| PartClass::of(*role, part) == Some(class))
        .map(|(_, part)| tokens::estimate_part(part))
        .collect()
}

/// The largest cap under which the weights sum up to at most `room`: small ones stay whole, large ones share the rest.
pub(crate) fn fair_cap(mut weights: Vec<Tokens>, room: Tokens) -> Tokens {
    weights.sort_unstable();
    let mut left = room;
    let mut count = weights.len() as Tokens;
    for weight in weights {
        let fair = left / count;
        if weight > fair {
            return fair;
        }
        left -= weight;
        count -= 1;
    }
    Tokens::MAX
}

/// Shortens a part; `tool` is the source of an output.
fn shorten_part(part: &mut Part, cap: Tokens, tool: Option<&str>, archive: &mut Archive) {
    let bytes = tokens::bytes_in(cap.saturating_sub(PART_TOKENS));
    match part {
        Part::Text(text) => {
            // A marker in place of an image or a file cannot be shorter.
            let is_words = |handle: &crate::message::recall::Handle| {
                let kept = archive.get(handle.as_str());
                kept.is_some_and(|removed| &*removed.tool == WORDS)
            };
            if text.cut.as_ref().is_none_or(is_words)
                && let Some(whole) = whole_of(text, archive)
                && let Some((body, handle)) = cut_text(&whole, bytes, WORDS, archive)
                && body.len() < text.body.len()
            {
                *text = text.cut_to((body, handle));
            }
        }
        Part::ToolResult(result) => {
            let tool = tool.map(cut::plain_name);
            let what = tool
                .as_ref()
                .map_or_else(|| "output".to_owned(), |tool| format!("{tool} output"));
            let blocks = result.output.len().max(1);
            let bytes = bytes.saturating_sub((blocks - 1) * tokens::bytes_in(PART_TOKENS)) / blocks;
            for block in &mut result.output {
                match block {
                    Part::Text(text) if text.body.len() > bytes => {
                        let whole = whole_of(text, archive);
                        if let (Some(whole), Some(tool)) = (&whole, &tool) {
                            archive.keep(whole, tool, REASON);
                        }
                        if let Some(whole) = whole
                            && let Some((body, handle)) = cut_text(&whole, bytes, &what, archive)
                            && body.len() < text.body.len()
                        {
                            *text = text.cut_to((body, handle));
                        }
                    }
                    Part::Image(_) => shorten_image(block, cap, archive),
                    // Other blocks are part of the output's own format, which a text among them would break.
                    Part::Opaque(opaque) if opaque.is_file() => shorten_opaque(block, cap, archive),
                    _ => {}
                }
            }
        }
        Part::ToolCall(call) => shorten_call(call, bytes, archive),
        Part::Image(_) => shorten_image(part, cap, archive),
        Part::Opaque(_) => shorten_opaque(part, cap, archive),
        Part::Thinking(_) => {}
    }
}

/// The index of the text of an output that was cut, if there is one: of several, the one of which most is left out. A
/// marker in place of an image holds no lines.
fn cut_text_of(result: &ToolResult, source: &ToolResult) -> Option<usize> {
    let left_out = |at: &usize| match (&result.output[*at], source.output.get(*at)) {
        (Part::Text(text), Some(Part::Text(whole))) if text.cut.is_some() => {
            Some(whole.body.len().saturating_sub(text.body.len()))
        }
        _ => None,
    };
    let cut = (0..result.output.len()).filter(|at| left_out(at).is_some());
    cut.max_by_key(left_out)
}

/// The text that is left of a part of this source, if it was cut and lines of what was left out
/// [can be shown](show_lines) in it.
pub(crate) fn cut_body(part: &Part, source: &Part) -> Option<Body> {
    match (part, source) {
        // Instructions at the head have to be the same after each compaction, for the prompt cache; and a marker alone may
        // point to the same text elsewhere.
        (Part::Text(text), _) if text.cut.is_some() && text.origin == Origin::Own => {
            Some(text.body.clone()).filter(|body| body.as_str().contains('\n'))
        }
        (Part::ToolResult(result), Part::ToolResult(source)) => {
            let at = cut_text_of(result, source)?;
            let mut left = source.clone();
            left.output[at].clone_from(&result.output[at]);
            block::output(&left)
        }
        _ => None,
    }
}

/// Inserts lines of what was left out of a part of this source before its marker.
pub(crate) fn show_lines(part: &mut Part, source: &Part, lines: &str) {
    let text = match (part, source) {
        (Part::ToolResult(result), Part::ToolResult(source)) => {
            cut_text_of(result, source).map(|at| &mut result.output[at])
        }
        (part, _) => Some(part),
    };
    if let Some(Part::Text(text)) = text
        && let Some(handle) = &text.cut
    {
        let body = text.body.as_str();
        // A text cannot hold its own hash, so the marker is the only such line.
        let marker = body.rfind(handle.as_str()).unwrap_or(0);
        let at = body[..marker].rfind('\n').map_or(0, |at| at + 1);
        text.body = Body::from([&body[..at], lines, &body[at..]].concat());
    }
}

/// Cuts a text to about `bytes`: in the middle, or down to a marker if there is no room for more. A text that is hardly
/// longer stays whole, since a marker says less than what it would save.
fn cut_text(
    body: &Body,
    bytes: usize,
    what: &str,
    archive: &mut Archive,
) -> Option<(Body, crate::message::recall::Handle)> {
    if body.len() <= bytes + bytes / HARDLY {
        return None;
    }
    let room = bytes.saturating_sub(cut::marker_bound(what, body.len(), cut::CUT) + 16);
    if room >= 64 {
        cut::in_the_middle(body, (room / 2, room / 2), what, REASON, archive)
    } else {
        cut::pointer(body, body.len(), what, "removed", REASON, archive)
    }
}

fn shorten_image(part: &mut Part, cap: Tokens, archive: &mut Archive) {
    let Part::Image(image) = part else { return };
    if crate::message::IMAGE_TOKENS + PART_TOKENS <= cap {
        return;
    }
    let handle = archive.keep(&image.data, "image", REASON);
    let marker = Text::marker(Origin::Own, "image", image.data.len(), "removed", handle);
    *part = Part::Text(marker);
}

/// Replaces a block that cannot be cut with its marker, unless that is no shorter.
fn shorten_opaque(part: &mut Part, cap: Tokens, archive: &mut Archive) {
    let weight = tokens::estimate_part(part);
    if let Part::Opaque(opaque) = part
        && weight > cap
        && let Some(text) = opaque_marker(opaque, "removed", REASON, archive)
    {
        *part = Part::Text(text);
    }
}

/// The marker for a block, with the handle that returns its JSON. `None` if it would not be lighter than the block.
pub(crate) fn opaque_marker(opaque: &Opaque, why: &str, reason: &'static str, archive: &mut Archive) -> Option<Text> {
    let (what, bytes) = (opaque.label(), opaque.json().len());
    let marker = tokens::estimate_bytes(cut::marker_bound(&what, bytes, why));
    if marker >= tokens::estimate_opaque(opaque) {
        return None;
    }
    let handle = archive.keep(opaque.json(), &opaque.kind, reason);
    Some(Text::marker(Origin::Own, &what, bytes, why, handle))
}

/// Shortens the long strings of a call's parameters in the middle; they stay an object of the same shape. Of a change, the
/// text that was replaced is shortened most, and what the new text shares with it is left out first.
fn shorten_call(call: &mut ToolCall, bytes: usize, archive: &mut Archive) {
    // So few have no string that could be cut, and are not replaced by a marker.
    if call.parameters.json().len() <= bytes.max(SHORT_STRING.min(FEWEST_BYTES)) {
        return;
    }
    // Parameters that were cut before are cut again from the whole.
    let (whole, mut map) = match &call.cut {
        None => (call.parameters.json().clone(), call.parameters.as_map().clone()),
        Some(handle) => {
            let kept = archive.get(handle.as_str()).map(|removed| removed.body.clone());
            let Some(whole) = kept else { return };
            match serde_json::from_str(whole.as_str()) {
                Ok(Value::Object(map)) => (whole, map),
                _ => return,
            }
        }
    };
    let replaced = block::replaced(call.action.kind, &map);
    let is_replaced = |name: &str| !replaced.is_empty() && name.starts_with(block::REPLACED);
    // Of the strings to be cut, and the bytes of everything else.
    let (mut lengths, mut short) = (Vec::new(), whole.len());
    for (name, value) in &mut map {
        visit(name, value, 0, &mut |name, string| {
            if is_replaced(name) {
                short = short.saturating_sub(string.len().saturating_sub(SHORT_STRING));
            } else if string.len() > SHORT_STRING {
                short = short.saturating_sub(string.len());
                lengths.push(string.len() as Tokens);
            }
        });
    }
    let cap = fair_cap(lengths, bytes.saturating_sub(short) as Tokens);
    let cap = (cap as usize).max(SHORT_STRING);
    let handle = archive.keep(&whole, &call.tool, REASON);
    let mut first = true;
    for (name, value) in &mut map {
        visit(name, value, 0, &mut |name, string| {
            let cap = if is_replaced(name) { SHORT_STRING } else { cap };
            if string.len() <= cap {
                return;
            }
            // Only the first string that is cut has the handle.
            let marker = match std::mem::take(&mut first) {
                true => cut::marker("parameters", whole.len(), cut::CUT, &handle),
                false => String::from("[…]"),
            };
            let news = (!replaced.is_empty() && !is_replaced(name)).then(|| block::news(string, &replaced));
            let half = cap.saturating_sub(marker.len() + 2) / 2;
            let shown = match (&news, cut::ends(news.as_deref().unwrap_or(string), half, half)) {
                (Some(news), None) => format!("{marker}\n{news}"),
                (_, Some((head, tail))) => format!("{head}\n{marker}\n{tail}"),
                (None, None) => return,
            };
            if shown.len() < string.len() {
                *string = shown;
            }
        });
    }
    let mut parameters = Parameters::new(map);
    if parameters.json().len() > bytes.max(FEWEST_BYTES) {
        // A great number of short strings, numbers or field names: only the marker is left.
        let marker = cut::marker("parameters", whole.len(), "removed", &handle);
        parameters = Parameters::new([(String::from("cut"), Value::String(marker))].into_iter().collect());
    }
    if parameters.json().len() < call.parameters.json().len() {
        call.parameters = parameters;
        call.cut = Some(handle);
    }
}

/// Passes each string within a value to `act`, with the name of the field that it stands in.
fn visit(name: &str, value: &mut Value, depth: usize, act: &mut impl FnMut(&str, &mut String)) {
    match value {
        Value::String(string) => act(name, string),
        Value::Array(items) if depth < 64 => {
            items.iter_mut().for_each(|item| visit(name, item, depth + 1, act));
        }
        Value::Object(map) if depth < 64 => {
            map.iter_mut()
                .for_each(|(name, item)| visit(name, item, depth + 1, act));
        }
        _ => {}
    }
}

/// Removes thinking that no vendor requires; returns the number of parts and bytes.
pub(crate) fn drop_free_thinking(drafts: &mut Vec<Draft>, archive: &mut Archive) -> (u64, u64) {
    let (mut hits, mut bytes) = (0, 0);
    for draft in drafts.iter_mut() {
        let goes = |part: &Part| matches!(part, Part::Thinking(thinking) if !thinking.is_needed_in(&draft.message));
        let needed: Vec<bool> = draft.message.parts.iter().map(|part| !goes(part)).collect();
        let mut needed = needed.into_iter();
        draft.retain(|_, part| {
            let stays = needed.next() != Some(false);
            if let (false, Part::Thinking(thinking)) = (stays, part) {
                archive.keep(&thinking.body, "thinking", REASON);
                hits += 1;
                bytes += thinking.body.len() as u64;
            }
            stays
        });
    }
    drafts.retain(|draft| !draft.message.parts.is_empty());
    (hits, bytes)
}

/// Replaces older copies of byte-identical prompts with pointers to the newest.
pub(crate) fn point_repeats(drafts: &mut [Draft], archive: &mut Archive) {
    let mut newer: HashMap<u64, Body> = HashMap::new();
    for draft in drafts.iter_mut().rev().filter(|draft| draft.message.role == Role::User) {
        for part in draft.message.parts.iter_mut().rev() {
            let Part::Text(text) = part else { continue };
            if text.origin != Origin::Own || text.cut.is_some() {
                continue;
            }
            let is_again = newer.get(&text.body.hash()).is_some_and(|newer| *newer == text.body);
            if !is_again {
                newer.insert(text.body.hash(), text.body.clone());
            }
            if !is_again || draft.pinned || draft.spared {
                continue;
            }
            let length = text.body.len();
            if let Some(pointer) = cut::pointer(&text.body, length, "prompt", "said again below", REASON, archive) {
                *text = text.cut_to(pointer);
            }
        }
    }
}

/// Removes results whose call is not among the drafts.
pub(crate) fn drop_foreign_results(drafts: &mut Vec<Draft>) {
    let calls: HashSet<Arc<str>> = drafts
        .iter()
        .flat_map(|draft| draft.message.calls())
        .map(|call| call.id.clone())
        .collect();
    let is_own =
        |part: &Part| !matches!(part, Part::ToolResult(result) if !result.is_apart && !calls.contains(&result.call_id));
    for draft in drafts.iter_mut() {
        draft.retain(|_, part| is_own(part));
    }
    drafts.retain(|draft| !draft.message.parts.is_empty());
}

/// Archives all content of a part that the view does not show; `tool` is the source of a result, or empty.
pub(crate) fn archive_part(part: &Part, tool: &str, archive: &mut Archive) {
    strategy::contents(
        part,
        Some(tool).filter(|tool| !tool.is_empty()),
        &mut |what, body, _| {
            archive.keep(body, what, REASON);
        },
    );
}
