//! Analyses the content of a conversation: by kind, by tool, the largest items, repeats, superseded reads, and the
//! turns.

use crate::evidence::anchor::Anchor;
use crate::message::tokens::{self, Tokens};
use crate::message::turn;
use crate::message::{ActionKind, Message, Origin, Part, Role, ToolCall, files};
use crate::strategy::asked_again::{self, NewerAnswers};
use crate::strategy::{answers, dedup};
use crate::text::body::Body;
use crate::text::hash::{ByHash, QuickSet};
use crate::text::lines::lines_of;
use codelet_text::short::on_one_line;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::Arc;

/// The maximum characters of a label; no screen shows more.
const LABEL_CHARS: usize = 200;
/// The share of a read's lines that later reads show if it is of no use any more.
const SHOWN: f64 = 0.8;

/// The kinds of content that fill a window.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub enum Kind {
    /// The system prompt.
    System,
    /// Reminders: standing instructions, environment, state.
    Reminders,
    /// Text and files of the user.
    Prompts,
    /// Text injected by a harness, and notices of the engine.
    Injected,
    /// Summaries of earlier parts.
    Summaries,
    /// Text of the model.
    Answers,
    /// Thinking of the model.
    Thinking,
    /// Tool calls, with their parameters.
    Calls,
    /// Tool results, without pictures.
    Results,
    /// Pictures, anywhere.
    Images,
    /// Blocks that the engine does not know.
    Other,
}

codelet_text::named! {
    Kind {
        System = "system",
        Reminders = "reminders",
        Prompts = "prompts",
        Injected = "injected",
        Summaries = "summaries",
        Answers = "answers",
        Thinking = "thinking",
        Calls = "calls",
        Results = "results",
        Images = "images",
        Other = "other",
    }
}

impl Kind {
    /// The kind of a part of a message with this role. A tool result is one part, including its pictures.
    pub fn of(role: Role, part: &Part) -> Kind {
        match part {
            Part::Text(text) => match (text.origin, role) {
                (Origin::Reminder(_), _) => Kind::Reminders,
                (Origin::Injected | Origin::Notice, _) => Kind::Injected,
                (Origin::Summary, _) => Kind::Summaries,
                (Origin::Own, Role::System) => Kind::System,
                (Origin::Own, Role::User) => Kind::Prompts,
                (Origin::Own, Role::Assistant) => Kind::Answers,
            },
            Part::Thinking(_) => Kind::Thinking,
            Part::Image(_) => Kind::Images,
            Part::ToolCall(_) => Kind::Calls,
            Part::ToolResult(_) => Kind::Results,
            Part::Opaque(_) => Kind::Other,
        }
    }
}

/// A share of the window.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Share {
    /// The number of parts.
    pub parts: usize,
    /// The estimated tokens.
    pub tokens: Tokens,
}

impl Share {
    fn add(&mut self, parts: usize, tokens: Tokens) {
        self.parts += parts;
        self.tokens += tokens;
    }
}

/// The share of one tool's calls and results.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ToolShare {
    /// The name of the tool; empty for results of unknown calls.
    pub tool: Arc<str>,
    /// Its calls.
    pub calls: Share,
    /// Its results, including pictures.
    pub results: Share,
    /// The number of results that report failure.
    pub failed: usize,
}

impl ToolShare {
    /// The tokens of calls and results together.
    pub fn tokens(&self) -> Tokens {
        self.calls.tokens + self.results.tokens
    }
}

/// One part of one message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Item {
    /// The index of the message.
    pub message: usize,
    /// The index of the part in it.
    pub part: usize,
    /// The kind of content.
    pub kind: Kind,
    /// The tool, for calls and results.
    pub tool: Option<Arc<str>>,
    /// A line that identifies it: the command, the path, the first words.
    pub label: String,
    /// The estimated tokens.
    pub tokens: Tokens,
    /// Its position; `None` before the first prompt.
    pub place: Option<TurnPosition>,
}

/// A position in the conversation in terms of turns and steps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TurnPosition {
    /// The turn, counted from 0.
    pub turn: usize,
    /// The step of the turn, counted from 0; `None` for the prompt itself.
    pub step: Option<usize>,
}

/// A text that occurs more than once.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Repeat {
    /// The newest copy.
    pub newest: Item,
    /// The messages of all copies, oldest first.
    pub messages: Vec<usize>,
    /// The tokens of all copies but one.
    pub wasted: Tokens,
}

/// A file read that was followed by another read or a change of the file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Superseded {
    /// The result of the older read.
    pub item: Item,
    /// The file.
    pub path: Arc<str>,
    /// The message that supersedes it.
    pub by: usize,
    /// The kind of supersession.
    pub how: Superseding,
}

/// The kinds of supersession.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Superseding {
    /// The file was read again: the older copy is useless.
    ReadAgain,
    /// The file was changed: the older copy is wrong.
    Changed,
}

/// A turn and its size.
#[derive(Clone, PartialEq, Debug)]
pub struct TurnShare {
    /// Its range of messages.
    pub range: Range<usize>,
    /// The number of replies.
    pub steps: usize,
    /// The estimated tokens.
    pub tokens: Tokens,
    /// The number of results that report failure.
    pub failed: usize,
    /// The first line of the prompt.
    pub prompt: String,
    /// The anchors in it, oldest first.
    pub anchors: Vec<Anchor>,
}

/// The content of a conversation.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Inspection {
    /// The number of messages.
    pub messages: usize,
    /// The estimated tokens; the sum of [`Inspection::kinds`].
    pub tokens: Tokens,
    /// By kind; kinds that do not occur are absent.
    pub kinds: BTreeMap<Kind, Share>,
    /// By tool, largest first.
    pub tools: Vec<ToolShare>,
    /// The largest parts, largest first.
    pub largest: Vec<Item>,
    /// Texts that occur more than once, most wasteful first.
    pub repeats: Vec<Repeat>,
    /// Outdated reads, largest first.
    pub superseded: Vec<Superseded>,
    /// The turns, oldest first.
    pub turns: Vec<TurnShare>,
}

impl Inspection {
    /// The tokens of repeats beyond their newest copies.
    pub fn repeated(&self) -> Tokens {
        self.repeats.iter().map(|repeat| repeat.wasted).sum()
    }

    /// The tokens of superseded reads.
    pub fn out_of_date(&self) -> Tokens {
        self.superseded.iter().map(|read| read.item.tokens).sum()
    }
}

/// Inspects a conversation; lists at most `largest` of its largest parts. The caller supplies the anchors. Takes time
/// linear in the size of the conversation, apart from sorting.
pub fn inspect(messages: &[Arc<Message>], anchors: &[Anchor], largest: usize) -> Inspection {
    let ground = Ground::survey(messages);
    let kinds = by_kind(messages);
    let mut found = Inspection {
        messages: messages.len(),
        tokens: kinds.values().map(|share| share.tokens).sum(),
        kinds,
        turns: turn_shares(messages, anchors, &ground),
        ..Inspection::default()
    };
    let mut tools: HashMap<Arc<str>, ToolShare> = HashMap::new();
    let mut weights = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        for (number, part) in message.parts.iter().enumerate() {
            let tokens = tokens::estimate_part(part);
            weights.push((tokens, index, number));
            count_tools(&mut tools, part, tokens, ground.tool_at(index, number));
        }
    }
    weights.sort_unstable_by_key(|&(tokens, index, number)| (std::cmp::Reverse(tokens), index, number));
    found.largest = weights
        .iter()
        .take(largest)
        .map(|&(_, index, number)| ground.item(messages, index, number))
        .collect();
    found.tools = tools.into_values().collect();
    found
        .tools
        .sort_unstable_by(|a, b| b.tokens().cmp(&a.tokens()).then_with(|| a.tool.cmp(&b.tool)));
    found.repeats = repeats(messages, &ground);
    found.superseded = superseded(messages, &ground);
    found
}

/// The share of each kind of content; kinds that do not occur are absent.
pub fn by_kind(messages: &[Arc<Message>]) -> BTreeMap<Kind, Share> {
    let mut kinds: BTreeMap<Kind, Share> = BTreeMap::new();
    for message in messages {
        let unread = tokens::unread(&message.extra);
        if unread > 0 {
            kinds.entry(Kind::Other).or_default().add(1, unread);
        }
        for part in &message.parts {
            let mut rest = tokens::estimate_part(part);
            if let Part::ToolResult(result) = part {
                let pictures = result.output.iter().filter(|part| matches!(part, Part::Image(_)));
                for picture in pictures {
                    let weight = tokens::estimate_part(picture);
                    kinds.entry(Kind::Images).or_default().add(1, weight);
                    rest = rest.saturating_sub(weight);
                }
            }
            kinds.entry(Kind::of(message.role, part)).or_default().add(1, rest);
        }
    }
    kinds
}

fn count_tools(tools: &mut HashMap<Arc<str>, ToolShare>, part: &Part, tokens: Tokens, tool: Option<&Arc<str>>) {
    let name = match part {
        Part::ToolCall(_) | Part::ToolResult(_) => tool.cloned().unwrap_or_else(|| Arc::from("")),
        _ => return,
    };
    let share = tools.entry(name.clone()).or_insert_with(|| ToolShare {
        tool: name,
        calls: Share::default(),
        results: Share::default(),
        failed: 0,
    });
    match part {
        Part::ToolResult(result) => {
            share.results.add(1, tokens);
            share.failed += usize::from(result.success == Some(false));
        }
        _ => share.calls.add(1, tokens),
    }
}

/// The structure of a conversation: the call of each result, and the turn and step of each message.
struct Ground<'a> {
    /// By message and part: the call, and for a result the call that it answers.
    calls: HashMap<(usize, usize), &'a ToolCall>,
    places: Vec<Option<TurnPosition>>,
    turns: Vec<(Range<usize>, usize)>,
}

impl<'a> Ground<'a> {
    fn survey(messages: &'a [Arc<Message>]) -> Self {
        let mut places = vec![None; messages.len()];
        let mut turns = Vec::new();
        for (turn, range) in turn::turns(messages).into_iter().map(|turn| turn.0).enumerate() {
            let steps = turn::steps(messages, range.clone());
            for index in range.clone() {
                places[index] = Some(TurnPosition { turn, step: None });
            }
            for (step, steps) in steps.iter().enumerate() {
                for index in steps.0.clone() {
                    places[index] = Some(TurnPosition { turn, step: Some(step) });
                }
            }
            turns.push((range, steps.len()));
        }
        let mut ground = Ground {
            calls: HashMap::new(),
            places,
            turns,
        };
        ground.match_results(messages);
        ground
    }

    /// Assigns each result to the newest call before it with the same id, or else to the first one after it.
    fn match_results(&mut self, messages: &'a [Arc<Message>]) {
        let mut first: HashMap<&str, &ToolCall> = HashMap::new();
        for (index, message) in messages.iter().enumerate() {
            for (number, part) in message.parts.iter().enumerate() {
                if let Part::ToolCall(call) = part {
                    first.entry(&call.id).or_insert(call);
                    self.calls.insert((index, number), call);
                }
            }
        }
        for answer in answers(messages) {
            let later = || first.get(&*answer.result.call_id).copied();
            if let Some(call) = answer.call.or_else(later) {
                self.calls.insert((answer.message, answer.part), call);
            }
        }
    }

    fn tool_at(&self, message: usize, part: usize) -> Option<&Arc<str>> {
        self.calls.get(&(message, part)).map(|call| &call.tool)
    }

    fn item(&self, messages: &[Arc<Message>], message: usize, part: usize) -> Item {
        let role = messages[message].role;
        let it = &messages[message].parts[part];
        let label = self.calls.get(&(message, part)).map(|call| call_label(call));
        Item {
            message,
            part,
            kind: Kind::of(role, it),
            tool: self.tool_at(message, part).cloned(),
            label: label.unwrap_or_else(|| part_label(it)),
            tokens: tokens::estimate_part(it),
            place: self.places[message],
        }
    }
}

/// A line that identifies a call: its command, its files, or its parameters.
pub(crate) fn call_label(call: &ToolCall) -> String {
    if let Some(command) = &call.action.command {
        return one_line(command);
    }
    if !call.action.paths.is_empty() {
        return one_line(&call.action.paths.join(", "));
    }
    // A search is labelled by its pattern; any other call by its first non-blank string, or all parameters if there is
    // none.
    let mut strings = call.parameters.as_map().values().filter_map(|value| value.as_str());
    match strings.find(|text| !text.trim().is_empty()) {
        Some(text) => one_line(text),
        None => one_line(call.parameters.json().as_str()),
    }
}

fn part_label(part: &Part) -> String {
    match part {
        Part::Text(text) => one_line(text.body.as_str()),
        Part::Thinking(thinking) if thinking.redacted.is_some() => "(redacted)".to_owned(),
        Part::Thinking(thinking) => one_line(thinking.body.as_str()),
        Part::Image(image) if image.is_url => one_line(image.data.as_str()),
        Part::Image(image) => image.media_type.to_string(),
        Part::ToolCall(call) => call_label(call),
        Part::ToolResult(result) => result
            .texts()
            .map(|text| one_line(text.body.as_str()))
            .find(|line| !line.is_empty())
            .unwrap_or_default(),
        Part::Opaque(opaque) => one_line(&opaque.label()),
    }
}

/// The first non-blank line, without control characters, cut to the maximum length.
fn one_line(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("");
    on_one_line(line).take(LABEL_CHARS).collect()
}

fn turn_shares(messages: &[Arc<Message>], anchors: &[Anchor], ground: &Ground<'_>) -> Vec<TurnShare> {
    let mut by_turn: HashMap<usize, Vec<Anchor>> = HashMap::new();
    for anchor in anchors {
        by_turn.entry(anchor.turn).or_default().push(anchor.clone());
    }
    let share = |(turn, (range, steps)): (usize, &(Range<usize>, usize))| {
        let inside = &messages[range.clone()];
        TurnShare {
            range: range.clone(),
            steps: *steps,
            tokens: inside.iter().map(|message| tokens::estimate_message(message)).sum(),
            failed: inside
                .iter()
                .flat_map(|message| message.tool_results())
                .filter(|result| result.success == Some(false))
                .count(),
            prompt: inside
                .iter()
                .find_map(|message| prompt_line(message))
                .unwrap_or_default(),
            anchors: by_turn.remove(&turn).unwrap_or_default(),
        }
    };
    ground.turns.iter().enumerate().map(share).collect()
}

fn prompt_line(message: &Message) -> Option<String> {
    let mut own = message
        .parts
        .iter()
        .filter(|part| Kind::of(message.role, part) == Kind::Prompts);
    own.find_map(|part| Some(part_label(part)).filter(|line| !line.is_empty()))
}

/// The texts of a part that could be duplicates: its own, or those of a tool result.
fn bodies(part: &Part) -> impl Iterator<Item = &Body> {
    let (parts, is_result) = match part {
        Part::ToolResult(result) => (result.output.as_slice(), true),
        part => (std::slice::from_ref(part), false),
    };
    parts.iter().filter_map(move |part| match part {
        Part::Text(text) => Some(&text.body),
        Part::Image(image) if is_result => Some(&image.data),
        _ => None,
    })
}

fn repeats(messages: &[Arc<Message>], ground: &Ground<'_>) -> Vec<Repeat> {
    type Copies<'a> = (&'a Body, Vec<(usize, usize)>);
    let mut groups: Vec<Copies<'_>> = Vec::new();
    // Different texts may share a hash, so a hash maps to all its groups.
    let mut by_hash: HashMap<u64, Vec<usize>> = HashMap::new();
    for (index, message) in messages.iter().enumerate() {
        for (number, part) in message.parts.iter().enumerate() {
            for body in bodies(part).filter(|body| body.len() >= dedup::SMALLEST) {
                let alike = by_hash.entry(body.hash()).or_default();
                match alike.iter().find(|&&group| groups[group].0 == body) {
                    Some(&group) => groups[group].1.push((index, number)),
                    None => {
                        alike.push(groups.len());
                        groups.push((body, vec![(index, number)]));
                    }
                }
            }
        }
    }
    let repeat = |(body, copies): Copies<'_>| {
        let &(message, part) = copies.last().filter(|_| copies.len() > 1)?;
        let each = tokens::estimate_bytes(body.len()) + tokens::PART_TOKENS;
        Some(Repeat {
            newest: ground.item(messages, message, part),
            wasted: each * (copies.len() as Tokens - 1),
            messages: copies.into_iter().map(|(message, _)| message).collect(),
        })
    };
    let mut repeats: Vec<_> = groups.into_iter().filter_map(repeat).collect();
    // The sort is stable, and the groups are in the order of their first copies.
    repeats.sort_by_key(|repeat| std::cmp::Reverse(repeat.wasted));
    repeats
}

/// The file reads that a later read or change supersedes; a change takes precedence.
fn superseded(messages: &[Arc<Message>], ground: &Ground<'_>) -> Vec<Superseded> {
    let mut newer = NewerAnswers::default();
    // By file, from the newest message to the oldest: the next change, and the next read with all lines of later ones.
    let mut changed: ByHash<usize> = ByHash::default();
    let mut shown: ByHash<(Option<usize>, QuickSet<u64>)> = ByHash::default();
    let mut found = Vec::new();
    for (index, message) in messages.iter().enumerate().rev() {
        for (number, part) in message.parts.iter().enumerate().rev() {
            let (Part::ToolResult(result), Some(&call)) = (part, ground.calls.get(&(index, number))) else {
                continue;
            };
            if result.success == Some(false) {
                continue;
            }
            for path in call.action.changed() {
                changed.insert(files::file(path), index);
            }
            // A result for several files cannot be divided between them.
            let (ActionKind::Read, [path]) = (call.action.kind, call.action.paths.as_slice()) else {
                continue;
            };
            let file = files::file(path);
            let old = if let Some(&by) = changed.get(&file) {
                Some((by, Superseding::Changed))
            } else {
                let lines: QuickSet<u64> = bodies(part).flat_map(|body| lines_of(body.as_str())).collect();
                let size = asked_again::size(result, |text| &text.body);
                let is_answered = newer.take(call, size);
                let (next, seen) = shown.entry(file).or_default();
                let again = lines.intersection(seen).count();
                let is_shown = again > 0 && again as f64 >= SHOWN * lines.len() as f64;
                seen.extend(lines);
                let by = next.filter(|_| is_answered || is_shown);
                // A note on an earlier answer shows nothing again.
                if size.is_some() || next.is_none() {
                    *next = Some(index);
                }
                by.map(|by| (by, Superseding::ReadAgain))
            };
            found.extend(old.map(|(by, how)| Superseded {
                item: ground.item(messages, index, number),
                path: path.clone(),
                by,
                how,
            }));
        }
    }
    found.reverse();
    found.sort_by_key(|read| std::cmp::Reverse(read.item.tokens));
    found
}

#[cfg(test)]
mod tests;
