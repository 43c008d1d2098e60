//! The candidates for removal from the context: the largest items with their age and last use, and what a compaction
//! would remove.

use super::answers::heading;
use super::clean::clean;
use super::figures::{count, number, short};
use super::look::{Look, Role};
use super::wrap::{clip, columns};
use codelet_context::compact::{Fate, FateKind};
use codelet_context::conversation::{Conversation, Due};
use codelet_context::inspect::{Inspection, Item};
use codelet_context::message::{Message, Part, Role as Speaker};
use codelet_context::policy::Reason;
use codelet_context::tokens::{Tokens, estimate_message, estimate_part};
use ratatui::text::{Line, Span};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Maximum number of messages that are searched for the model's use of an item.
const LOOKED_AT: usize = 2_000;
/// A shorter name would match everywhere.
const NAME: usize = 4;

/// Scales estimates to the token counts reported in this session.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scale {
    estimate: Tokens,
    real: Tokens,
}

impl Scale {
    pub(super) fn new(estimate: Tokens, real: Tokens) -> Self {
        Scale { estimate, real }
    }

    pub(super) fn of(self, tokens: Tokens) -> Tokens {
        match (self.estimate, self.real) {
            (0, _) | (_, 0) => tokens,
            (estimate, real) => {
                let scaled = u128::from(tokens) * u128::from(real) / u128::from(estimate);
                u64::try_from(scaled).unwrap_or(u64::MAX)
            }
        }
    }
}

/// What a compaction now would do to each message of a view.
pub(super) struct Outlook {
    fates: Vec<Fate>,
    /// The index in the history of each message of the view that is unchanged, or of whose calls or results parts were
    /// removed.
    places: HashMap<*const Message, usize>,
    /// The messages that would stay as they are.
    staying: HashSet<*const Message>,
    /// The tokens before and after, as a dry run says them; `None` if it would do nothing.
    result: Option<(Tokens, Tokens)>,
}

impl Outlook {
    pub(super) fn of(conversation: &Conversation) -> Self {
        let view = &conversation.view().messages;
        let said_by_call = by_call(conversation.history().messages());
        let said = conversation.history().messages().iter().enumerate();
        let mut places: HashMap<_, _> = said.map(|(at, message)| (Arc::as_ptr(message), at)).collect();
        for message in view {
            if let Some(&at) = of_call(message).and_then(|call| said_by_call.get(&call)) {
                places.entry(Arc::as_ptr(message)).or_insert(at);
            }
        }
        let mut tried = conversation.clone();
        let notice = tried.compact(Due::whole(Reason::Asked)).ok();
        let after = &tried.view().messages;
        let same: HashSet<_> = after.iter().map(Arc::as_ptr).collect();
        let after_by_call = by_call(after);
        let stays = |message: &&Arc<Message>| {
            let now = || after_by_call.get(&of_call(message)?).map(|&at| &after[at]);
            same.contains(&Arc::as_ptr(message)) || now().is_some_and(|now| now == *message)
        };
        Outlook {
            fates: conversation.fates(),
            staying: view.iter().filter(stays).map(Arc::as_ptr).collect(),
            places,
            result: notice.filter(|notice| notice.changed).map(|it| (it.before, it.after)),
        }
    }

    fn place(&self, message: &Arc<Message>) -> Option<usize> {
        self.places.get(&Arc::as_ptr(message)).copied()
    }

    /// The message's index in the history, and its fate; `None` if it stays or is not of the history.
    fn fate(&self, message: &Arc<Message>) -> Option<(usize, &Fate)> {
        let at = self.place(message)?;
        let fate = self.fates.get(at)?;
        (!self.staying.contains(&Arc::as_ptr(message))).then_some((at, fate))
    }
}

/// The index of each message with calls or results.
fn by_call(messages: &[Arc<Message>]) -> HashMap<(Speaker, &str), usize> {
    let messages = messages.iter().enumerate();
    messages
        .filter_map(|(at, message)| Some((of_call(message)?, at)))
        .collect()
}

/// The id of a message's first call or result, which no removal changes.
fn of_call(message: &Message) -> Option<(Speaker, &str)> {
    let mut ids = message.parts.iter().filter_map(|part| match part {
        Part::ToolCall(call) => Some(&*call.id),
        Part::ToolResult(result) => Some(&*result.call_id),
        _ => None,
    });
    Some((message.role, ids.next()?))
}

pub(super) fn largest(
    found: &Inspection,
    view: &[Arc<Message>],
    outlook: &Outlook,
    scale: Scale,
    look: &Look,
    out: &mut Vec<Line<'static>>,
) {
    if found.largest.is_empty() {
        return;
    }
    heading("Largest", "age and last use in steps", look, out);
    let steps = Steps::of(view);
    let figures = found
        .largest
        .iter()
        .map(|item| number(scale.of(item.tokens)).len())
        .max()
        .unwrap_or(0)
        .max("tokens".len());
    let place_of = |item: &Item| outlook.place(view.get(item.message)?);
    let fate_of = |item: &Item| {
        let fate = view.get(item.message).and_then(|message| outlook.fate(message));
        fate.map_or("stays", |(_, fate)| word(fate.of_part(item.part)))
    };
    let words = found.largest.iter().map(|item| fate_of(item).len());
    let words = words.max().unwrap_or(0).max("compaction".len());
    let row = |cells: [&str; 5]| {
        let [tokens, age, used, message, fate] = cells;
        format!("  {tokens:>figures$}  {age:>4} {used:>4}  {message:<7} {fate:<words$} ")
    };
    let titles = row(["tokens", "age", "used", "message", "compaction"]);
    let titles = clip(titles.trim_end(), look.width);
    out.push(Line::from(Span::styled(titles, look.style(Role::Dim))));
    for item in &found.largest {
        let place = place_of(item);
        let handle = match (handle_of(view, item), place) {
            (Some(handle), _) => handle,
            (None, Some(at)) => format!("#{at}"),
            (None, None) => look.pick("–", "-").to_owned(),
        };
        let fate = fate_of(item);
        let used = match steps.used(view, item) {
            Some(used) => used.to_string(),
            None => look.pick("–", "-").to_owned(),
        };
        let tokens = number(scale.of(item.tokens));
        let facts = row([&tokens, &steps.age(item.message).to_string(), &used, &handle, fate]);
        let name = match &item.tool {
            Some(tool) => format!("{} {tool} {}", item.kind.name(), item.label),
            None => format!("{} {}", item.kind.name(), told_apart(&item.label)),
        };
        let name = clean(&name, 1).into_owned();
        // On a narrow terminal the name has its own row.
        let room = look.width.saturating_sub(columns(&facts));
        let facts = Span::styled(clip(facts.trim_end(), look.width), look.style(Role::Dim));
        if room >= 16 {
            let facts = Span::styled(
                format!("{} ", super::wrap::fit(&facts.content, look.width - room - 1)),
                facts.style,
            );
            out.push(Line::from(vec![facts, Span::raw(clip(&name, room))]));
        } else {
            out.push(Line::from(facts));
            out.push(Line::from(format!("    {}", clip(&name, look.width.saturating_sub(4)))));
        }
    }
}

/// The type of a reminder if its first line states it: the rest is the same for all of them.
fn told_apart(label: &str) -> &str {
    let of_type = label.trim_start_matches('<').strip_prefix("system-reminder type=\"");
    of_type.and_then(|rest| rest.split('"').next()).unwrap_or(label)
}

/// The effect of a compaction, in a word.
fn word(fate: FateKind) -> &'static str {
    match fate {
        FateKind::Kept => "stays",
        FateKind::Shortened => "is cut",
        FateKind::Excerpted => "is quoted",
        FateKind::Summarised => "goes",
    }
}

/// The handle of the full text of an item that was shortened.
fn handle_of(view: &[Arc<Message>], item: &Item) -> Option<String> {
    let part = view.get(item.message)?.parts.get(item.part)?;
    let handle = match part {
        Part::Text(text) => text.cut.as_ref(),
        Part::ToolCall(call) => call.cut.as_ref(),
        Part::ToolResult(result) => result.texts().find_map(|text| text.cut.as_ref()),
        _ => None,
    };
    handle.map(|handle| handle.as_str().to_owned())
}

/// The number of the model's replies before each message.
struct Steps {
    before: Vec<usize>,
    all: usize,
}

impl Steps {
    fn of(view: &[Arc<Message>]) -> Self {
        let mut all = 0;
        let before = view.iter().map(|message| {
            let before = all;
            all += usize::from(message.role == Speaker::Assistant);
            before
        });
        Steps {
            before: before.collect(),
            all,
        }
    }

    /// The number of replies since the message.
    fn age(&self, message: usize) -> usize {
        self.all - self.before.get(message).copied().unwrap_or(self.all)
    }

    /// The number of replies since the model last named the item, for example its file.
    fn used(&self, view: &[Arc<Message>], item: &Item) -> Option<usize> {
        // A file is named in many ways that share an ending; a command is compared as a whole.
        let is_path = !item.label.contains(' ') && item.label.contains(['/', '.']);
        let name = if is_path {
            item.label.rsplit('/').next()?
        } else {
            &item.label
        };
        if name.len() < NAME {
            return None;
        }
        item.tool.as_ref()?;
        let newest = view.len().saturating_sub(LOOKED_AT).max(item.message + 1);
        let at = (newest..view.len()).rev().find(|&at| names(&view[at], name))?;
        Some(self.age(at))
    }
}

/// Returns whether the model uses this name in a message, in text or in a call.
fn names(message: &Message, name: &str) -> bool {
    message.role == Speaker::Assistant
        && message.parts.iter().any(|part| match part {
            Part::Text(text) => text.body.as_str().contains(name),
            Part::ToolCall(call) => {
                call.action.paths.iter().any(|path| path.ends_with(name))
                    || call.parameters.json().as_str().contains(name)
            }
            _ => false,
        })
}

/// What a compaction would do to the view, which has the weight `tools` beside it in each request.
pub(super) fn first_to_go(
    (found, tools): (&Inspection, Tokens),
    view: &[Arc<Message>],
    outlook: &Outlook,
    scale: Scale,
    look: &Look,
    out: &mut Vec<Line<'static>>,
) {
    let mut sums = [tools, 0, 0, 0];
    let mut going: Vec<(usize, Tokens, &Fate)> = Vec::new();
    for message in view {
        let tokens = estimate_message(message);
        let Some((at, fate)) = outlook.fate(message) else {
            sums[0] += tokens;
            continue;
        };
        let stays: Tokens = fate
            .whole
            .iter()
            .filter_map(|&part| message.parts.get(part))
            .map(estimate_part)
            .sum();
        let goes = tokens.saturating_sub(stays);
        sums[0] += tokens - goes;
        sums[fate.kind as usize] += goes;
        if fate.kind != FateKind::Kept {
            going.push((at, goes, fate));
        }
    }
    if going.is_empty() {
        return;
    }
    let told = [(1, "cut"), (2, "quoted in part"), (3, "summarised")];
    let told = told.map(|(kind, word)| (sums[kind], word));
    let told: Vec<String> = told
        .iter()
        .filter(|(tokens, _)| *tokens > 0)
        .map(|(tokens, word)| format!("{} {word}", short(scale.of(*tokens))))
        .collect();
    let result = outlook.result.map_or_else(String::new, |(before, after)| {
        let arrow = look.pick("→", "->");
        format!("{} {arrow} {} tokens: ", number(before), number(after))
    });
    heading(
        "A compaction now",
        &format!("{result}{} stay, {}", short(scale.of(sums[0])), told.join(", ")),
        look,
        out,
    );
    for (tokens, words) in [
        (
            found.out_of_date(),
            "in outdated reads: the file was read again or changed",
        ),
        (found.repeated(), "in repeated texts"),
    ] {
        if tokens > 0 {
            let line = format!("  {:>6}  {words}", short(scale.of(tokens)));
            out.push(Line::from(clip(&line, look.width)));
        }
    }
    // The largest items explain most of what would be missing.
    let all = going.len();
    going.sort_by_key(|&(at, tokens, _)| (std::cmp::Reverse(tokens), at));
    going.truncate(5);
    for (at, tokens, fate) in going {
        let line = format!("  {:>6}  #{at} {}", short(scale.of(tokens)), clean(&fate.why, 1));
        out.push(Line::from(clip(&line, look.width)));
    }
    if all > 5 {
        let line = format!("          and {}", count(all as u64 - 5, "more message"));
        out.push(Line::from(Span::styled(clip(&line, look.width), look.style(Role::Dim))));
    }
}
