//! Invariants of every reader, every compaction and every run of the strategies, whatever the input. Property tests and
//! fuzzers check the same ones; a violation is reported as a sentence.

use codelet_context::compact::{Compaction, Frame, Target, Warning, compact, frame};
use codelet_context::history::History;
use codelet_context::message::{Message, Origin, Part, Role};
use codelet_context::recall::Handle;
use codelet_context::strategy::{self, apply_all};
use codelet_context::tokens::{Tokens, estimate_message};
use codelet_context::validate::validate;
use codelet_context::view::View;
use codelet_transcript::{Format, read, shape, write};
use std::collections::{HashMap, HashSet};

/// The result of a check; the error describes the violation.
pub type Kept = Result<(), String>;

/// Maximum cost of repairing one place of a broken conversation: a result for a call, or a word for a blank text.
const MENDING_TOKENS: Tokens = 64;

/// The formats that can be written as well as read.
const WRITTEN: [Format; 4] = [Format::Anthropic, Format::Openai, Format::Responses, Format::Gemini];

/// Reads bytes in a format, or in the detected one. They must be rejected, or yield a conversation that can be
/// summarised in one line per message and that survives a round trip through every writable format.
///
/// # Errors
/// The first violation.
pub fn is_read_or_refused(bytes: &[u8], format: Option<Format>) -> Kept {
    let Ok(document) = read(bytes, format) else {
        return Ok(());
    };
    for message in &document.messages {
        let line = shape::line(message, 80);
        ensure(!line.contains('\n'), || {
            format!("a message takes several lines: {line}")
        })?;
    }
    for format in WRITTEN {
        let written = write(&document, format).map_err(|error| error.to_string())?;
        let again = read(written.as_bytes(), Some(format))
            .map_err(|error| format!("{format} does not read what it wrote: {error}\n{written}"))?;
        let twice = write(&again, format).map_err(|error| error.to_string())?;
        ensure(written == twice, || {
            format!("{format} was written as\n{written}\nand then as\n{twice}")
        })?;
    }
    Ok(())
}

/// Runs a conversation through the whole engine: compactions from gentle to impossible, and the strategies.
///
/// # Errors
/// The first violation.
pub fn goes_through_everything(messages: &[Message]) -> Kept {
    let tokens: Tokens = messages.iter().map(estimate_message).sum();
    let targets = [
        Target::Select,
        Target::Window(tokens),
        Target::Budget(tokens / 3),
        Target::Budget(tokens / 20),
        Target::Budget(0),
    ];
    for target in targets {
        let told = |sentence| format!("{target:?}: {sentence}");
        keeps_its_promises_twice(messages, target).map_err(told)?;
    }
    strategies_keep_their_promises(messages)
}

/// Compacts once and checks every invariant of a compaction.
///
/// # Errors
/// The first violation.
pub fn keeps_its_promises(messages: &[Message], target: Target) -> Kept {
    compacted(messages, target).map(drop)
}

/// Compacts, checks every invariant, and does the same with the result; takes half the work of two separate checks.
///
/// # Errors
/// The first violation.
pub fn keeps_its_promises_twice(messages: &[Message], target: Target) -> Kept {
    compacted_again(&compacted(messages, target)?, target)
}

fn compacted(messages: &[Message], target: Target) -> Result<Compaction, String> {
    let history = history(messages);
    let done = compact(&history, target);
    is_valid(&with_last_word(&done, messages), "the result")?;
    figures_are_of_the_result(messages, &done)?;
    is_never_larger(&done)?;
    budget_is_kept_or_the_warning_is_true(&history, target, &done)?;
    what_is_answered_stays_whole(messages, &done.view)?;
    prompts_survive(messages, &done.view)?;
    handles_restore(messages, &done.view)?;
    nothing_is_lost(messages, &done.view)?;
    let again = compact(&self::history(messages), target);
    ensure(again.view == done.view, || {
        "the same input gave another result".to_owned()
    })?;
    Ok(done)
}

/// Compacts the result of a compaction, as a session does.
///
/// # Errors
/// The first violation.
pub fn can_be_compacted_again(messages: &[Message], target: Target) -> Kept {
    compacted_again(&compact(&history(messages), target), target)
}

fn compacted_again(once: &Compaction, target: Target) -> Kept {
    let first: Vec<Message> = once.view.messages.iter().map(|message| (**message).clone()).collect();
    let history = history(&first);
    let twice = compact(&history, target);
    is_valid(&with_last_word(&twice, &first), "the second result")?;
    what_is_answered_stays_whole(&first, &twice.view)?;
    ensure(twice.after.tokens <= once.after.tokens, || {
        format!(
            "the second compaction grew from {} to {} tokens",
            once.after.tokens, twice.after.tokens
        )
    })?;
    budget_is_kept_or_the_warning_is_true(&history, target, &twice)
}

/// Runs the strategies and checks every invariant of them.
///
/// # Errors
/// The first violation.
pub fn strategies_keep_their_promises(messages: &[Message]) -> Kept {
    let before = View::new(messages.to_vec());
    let mut once = before.clone();
    let stats = apply_all(&mut once);
    is_valid(&once, "the view after all strategies")?;
    let total = |view: &View| {
        view.messages
            .iter()
            .map(|message| strategy::bytes(message) as i64)
            .sum::<i64>()
    };
    let saved = total(&before) - total(&once);
    ensure(saved == stats.total_bytes_saved, || {
        format!("{saved} bytes were saved, {} are reported", stats.total_bytes_saved)
    })?;
    let summed: i64 = stats.per_strategy.values().map(|count| count.bytes_saved).sum();
    ensure(summed == saved, || {
        format!("the strategies report {summed} bytes together, {saved} were saved")
    })?;
    // Only pairing may add: a result for a call without one.
    for (name, count) in stats.per_strategy.iter().filter(|(name, _)| **name != "pairing") {
        ensure(count.bytes_saved >= 0, || {
            format!("{name} made the view larger by {}", -count.bytes_saved)
        })?;
    }
    prompts_survive(messages, &once)?;
    handles_restore(messages, &once)?;
    let mut twice = once.clone();
    let second = apply_all(&mut twice);
    ensure(twice == once, || {
        format!("a second run changed the view: {:?}", second.per_strategy)
    })?;
    let mut other = View::new(messages.to_vec());
    apply_all(&mut other);
    ensure(other == once, || "the same input gave another result".to_owned())
}

/// Checks that every vendor accepts the view; that of an empty conversation is empty.
///
/// # Errors
/// The first violation, with the conversation.
pub fn is_valid(view: &View, what: &str) -> Kept {
    match validate(view).first() {
        Some(violation) if !view.messages.is_empty() => {
            let shape = shape::write(view.messages.iter().map(|message| &**message));
            Err(format!("{what} is not valid for every vendor: {violation}\n{shape}"))
        }
        _ => Ok(()),
    }
}

/// The result as it would be sent. An unchanged conversation may end with an answer, as it did before; then the next
/// prompt is added.
fn with_last_word(done: &Compaction, messages: &[Message]) -> View {
    let mut view = done.view.clone();
    let answered = messages.last().is_some_and(|message| message.role != Role::User);
    if !done.changed && answered {
        view.messages.push(std::sync::Arc::new(Message::user("go on")));
    }
    view
}

fn figures_are_of_the_result(messages: &[Message], done: &Compaction) -> Kept {
    let tokens = |messages: &mut dyn Iterator<Item = &Message>| messages.map(estimate_message).sum::<Tokens>();
    let before = tokens(&mut messages.iter());
    let after = tokens(&mut done.view.messages.iter().map(|message| &**message));
    ensure(done.before.tokens == before, || {
        format!(
            "the conversation weighs {before} tokens, {} are reported before",
            done.before.tokens
        )
    })?;
    ensure(done.after.tokens == after, || {
        format!(
            "the result weighs {after} tokens, {} are reported after",
            done.after.tokens
        )
    })?;
    ensure(done.fates.len() == messages.len(), || {
        format!("{} messages have {} fates", messages.len(), done.fates.len())
    })
}

fn is_never_larger(done: &Compaction) -> Kept {
    let mended: Tokens = done
        .warnings
        .iter()
        .map(|warning| match warning {
            Warning::Mended { places } => *places,
            _ => 0,
        })
        .sum();
    ensure(
        done.after.tokens <= done.before.tokens + mended * MENDING_TOKENS,
        || {
            format!(
                "grew from {} to {} tokens, with {mended} places mended",
                done.before.tokens, done.after.tokens
            )
        },
    )
}

fn budget_is_kept_or_the_warning_is_true(history: &History, target: Target, done: &Compaction) -> Kept {
    let Target::Budget(asked) = target else { return Ok(()) };
    if done.after.tokens <= asked {
        return Ok(());
    }
    let smallest = done.warnings.iter().find_map(|warning| match warning {
        Warning::OverBudget { budget, smallest } if *budget == asked => Some(*smallest),
        _ => None,
    });
    let Some(smallest) = smallest else {
        return Err(format!(
            "{} tokens for a budget of {asked}, without a warning",
            done.after.tokens
        ));
    };
    ensure(smallest > asked, || {
        format!("{smallest} is named the smallest budget, {asked} was asked for")
    })?;
    let reached = compact(history, Target::Budget(smallest)).after.tokens;
    ensure(reached <= smallest, || {
        format!("{smallest} tokens are named the smallest budget, but it gives {reached}")
    })
}

/// The system prompt and the text of the current prompt are in the view byte for byte.
fn what_is_answered_stays_whole(messages: &[Message], view: &View) -> Kept {
    let system = messages.iter().filter(|message| message.role == Role::System);
    let answered = messages.iter().rfind(|message| message.is_prompt());
    for message in system.chain(answered) {
        for text in own_texts(message).filter(|text| !text.body.is_blank()) {
            let of_same_role = view.messages.iter().filter(|shown| shown.role == message.role);
            let stands = of_same_role
                .flat_map(|shown| own_texts(shown))
                .any(|shown| shown.body == text.body);
            ensure(stands, || format!("not whole: {}", shape::line(message, 200)))?;
        }
    }
    Ok(())
}

/// Each text of the user is in the view: verbatim, or cut or folded with a handle to the full text.
fn prompts_survive(messages: &[Message], view: &View) -> Kept {
    let shown: Vec<&codelet_context::message::Text> = view
        .messages
        .iter()
        .filter(|m| m.role == Role::User)
        .flat_map(|m| own_texts(m))
        .collect();
    let whole: HashSet<&str> = shown.iter().map(|text| text.body.as_str()).collect();
    let cut: HashSet<&str> = shown
        .iter()
        .filter_map(|text| view.archive.recall(text.cut.as_ref()?.as_str(), None))
        .collect();
    for message in messages.iter().filter(|message| message.role == Role::User) {
        for text in own_texts(message).filter(|text| !text.body.is_blank()) {
            let words = text.body.as_str();
            let survives = whole.contains(words)
                || cut.iter().any(|whole| whole.contains(words))
                || shown.iter().any(|shown| shown.body.as_str().contains(words));
            ensure(survives, || format!("a prompt is gone: {}", shape::line(message, 200)))?;
        }
        for part in &message.parts {
            let file = match part {
                Part::Opaque(file) => file.json(),
                Part::Image(image) => &image.data,
                _ => continue,
            };
            let stands = view.messages.iter().any(|shown| shown.parts.contains(part));
            // Its replacement may have been folded together with the prompt.
            let is_named = |handle: &Handle| cut.iter().any(|whole| whole.contains(handle.as_str()));
            let is_folded = || {
                let mut kept = view.archive.iter();
                kept.any(|(handle, removed)| removed.body == *file && is_named(handle))
            };
            let survives = stands || cut.contains(file.as_str()) || is_folded();
            ensure(survives, || format!("a file is gone: {}", shape::line(message, 200)))?;
        }
    }
    Ok(())
}

fn own_texts(message: &Message) -> impl Iterator<Item = &codelet_context::message::Text> {
    message.parts.iter().filter_map(|part| match part {
        Part::Text(text) if text.origin == Origin::Own => Some(text),
        _ => None,
    })
}

/// Every text, call, image, thinking block and file is unchanged in the view, or can be recalled.
fn nothing_is_lost(messages: &[Message], view: &View) -> Kept {
    let mut there = HashSet::new();
    for part in view.messages.iter().flat_map(|message| &message.parts) {
        bodies(part, &mut there);
    }
    there.extend(view.archive.iter().map(|(_, removed)| removed.body.as_str()));
    for message in messages {
        let mut said = HashSet::new();
        message.parts.iter().for_each(|part| bodies(part, &mut said));
        // Blank texts carry no content, and no vendor accepts them.
        let lost = said
            .into_iter()
            .find(|text| !text.trim().is_empty() && !there.contains(text));
        if let Some(lost) = lost {
            let start: String = lost.chars().take(200).collect();
            return Err(format!(
                "neither shown nor kept: {start:?} of {}",
                shape::line(message, 200)
            ));
        }
    }
    Ok(())
}

/// Each handle next to a shortened part restores the original, and each in a heading of the summary restores something
/// that was removed.
fn handles_restore(messages: &[Message], view: &View) -> Kept {
    let mut original = HashSet::new();
    // The texts of each call and its result, if ids are unambiguous.
    let mut of_call: HashMap<&str, HashSet<&str>> = HashMap::new();
    let mut calls: HashMap<&str, usize> = HashMap::new();
    let mut is_clear = true;
    for part in messages.iter().flat_map(|message| &message.parts) {
        bodies(part, &mut original);
        if let Some(id) = call_id(part) {
            bodies(part, of_call.entry(id).or_default());
            let count = calls.entry(id).or_default();
            *count += usize::from(matches!(part, Part::ToolCall(_)));
            is_clear &= *count == 1 && !id.trim().is_empty();
        }
    }
    let kept = |handle: &str| {
        let text = view.archive.recall(handle, None);
        text.ok_or_else(|| format!("handle {handle} restores nothing"))
    };
    for part in view.messages.iter().flat_map(|message| &message.parts) {
        for handle in handles(part) {
            let text = kept(handle.as_str())?;
            // A fold restores all the prompts that it replaces.
            let is_fold = view
                .archive
                .get(handle.as_str())
                .is_some_and(|removed| &*removed.tool == "prompts");
            if is_fold {
                continue;
            }
            ensure(original.contains(text), || {
                let start: String = text.chars().take(200).collect();
                format!("handle {handle} restores what was never there: {start}")
            })?;
            let own = call_id(part).filter(|_| is_clear).and_then(|id| of_call.get(id));
            ensure(own.is_none_or(|own| own.contains(text)), || {
                format!("handle {handle} restores what another call said")
            })?;
        }
    }
    // The summary of the last compaction, which is the last one, with its passages; one in the input may contain any
    // handle.
    let summaries = view
        .messages
        .iter()
        .flat_map(|message| &message.parts)
        .filter_map(|part| match part {
            Part::Text(text) if text.origin == Origin::Summary => Some(text.body.as_str()),
            _ => None,
        });
    let summaries: Vec<&str> = summaries.collect();
    let last = summaries.iter().rposition(|text| frame(text) == Some(Frame::Summary));
    let summary = last.map_or(String::new(), |last| summaries[last..].join("\n"));
    let is_quoted = |bracketed: &str| original.iter().any(|text| text.contains(bracketed));
    for handle in summary.lines().filter_map(heading) {
        if !is_quoted(&format!("[{handle}]")) {
            kept(handle)?;
        }
    }
    Ok(())
}

/// The handle after a call in a record, such as `> Read src/date.rs [8ag4y7]`.
fn heading(line: &str) -> Option<&str> {
    let inner = line.strip_prefix("> ")?.strip_suffix(']')?;
    inner.rsplit_once(" [").map(|(_, handle)| handle)
}

fn call_id(part: &Part) -> Option<&str> {
    match part {
        Part::ToolCall(call) => Some(&call.id),
        Part::ToolResult(result) => Some(&result.call_id),
        _ => None,
    }
}

fn bodies<'a>(part: &'a Part, into: &mut HashSet<&'a str>) {
    match part {
        Part::Text(text) => {
            into.insert(text.body.as_str());
        }
        Part::Thinking(thinking) => {
            into.insert(thinking.body.as_str());
            into.extend(thinking.redacted.as_deref());
        }
        Part::Image(image) => {
            into.insert(image.data.as_str());
        }
        Part::ToolCall(call) => {
            into.insert(call.parameters.json().as_str());
        }
        Part::ToolResult(result) => {
            result.output.iter().for_each(|block| bodies(block, into));
            into.extend(result.error.as_ref().map(|error| error.as_str()));
        }
        Part::Opaque(opaque) => {
            into.insert(opaque.json().as_str());
        }
    }
}

fn handles(part: &Part) -> Vec<&Handle> {
    match part {
        Part::Text(text) => text.cut.iter().collect(),
        Part::ToolCall(call) => call.cut.iter().collect(),
        Part::ToolResult(result) => result.output.iter().flat_map(handles).collect(),
        Part::Thinking(_) | Part::Image(_) | Part::Opaque(_) => Vec::new(),
    }
}

fn history(messages: &[Message]) -> History {
    messages.iter().cloned().collect()
}

fn ensure(kept: bool, sentence: impl FnOnce() -> String) -> Kept {
    if kept { Ok(()) } else { Err(sentence()) }
}
