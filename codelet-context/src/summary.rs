//! The template summary: what a model needs to know to go on with a conversation whose older part is no longer shown.
//!
//! It is told from facts, never from an earlier summary, so it says the same however often a conversation is compacted.
//! What does not fit is left out by need: what the user pinned, what is left to do and what is broken come first, what was
//! achieved long ago comes last.
//!
//! Words of the conversation are quoted on one line each and made harmless, see `harmless`: every line of the summary
//! begins with words of its own, so no quoted text can pose as a heading, and no quoted text holds a tag of a harness, a
//! marker of something cut, or a character that is not seen.

use crate::anchor::{self, Anchor};
use crate::exchange::{Exchanges, is_done};
use crate::ledger::Ran;
use crate::message::{ActionKind, Message, Origin, Part, Role};
use crate::outcome::{CheckFact, Facts, OpenError};
use crate::shell;
use crate::testrun::CheckKind;
use crate::todo::TodoState;
use crate::turn::Turn;
use crate::verdict::Verdict;
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

/// Bytes of a prompt that are quoted; prompts stand in the view themselves.
const PROMPT: usize = 100;
/// Bytes of a command, of an item of the list, of what was said at the end of a turn.
const COMMAND: usize = 160;
const ITEM: usize = 200;
const SAID: usize = 160;
/// Lines of a text that are looked at for one that means something.
const LINES: usize = 100;
/// Blocks in tags before a prompt that are passed over.
const BLOCKS: usize = 8;
/// What stands for the outcomes that have no room.
const NOT_TOLD: &str = "earlier turns not told of: ";
/// Files of one turn that are counted.
const FILES: usize = 200;
/// Commits, and test runs with what was changed for them, of one turn that are told of: the newest.
const COMMITS: usize = 20;
const CHECKED: usize = 60;
/// A turn of more messages than this is told of by its steps, too.
const LONG: usize = 40;

/// What the summary tells of.
pub struct Story<'a> {
    /// The conversation.
    pub messages: &'a [Arc<Message>],
    /// Its turns.
    pub turns: &'a [Turn],
    /// Messages before this one are no longer shown as they were (their prompts are).
    pub until: usize,
    /// What has come of the conversation.
    pub facts: &'a Facts,
    /// What was finished in it.
    pub anchors: &'a [Anchor],
    /// Texts that the user pinned.
    pub pins: &'a [&'a str],
}

/// The sections *Context* and *Key outcomes*, at most `bytes` bytes long, without a line break at the end; less is fine,
/// and empty where there is nothing to tell. The same story and bound give the same text.
pub fn tell(story: &Story<'_>, bytes: usize) -> String {
    let mut page = Page::new(bytes);
    let width = |most: usize| most.min(bytes / 5).max(40);
    add_pins(&mut page, story.pins, bytes);
    add_todo(&mut page, story.facts, 0..3, width(ITEM));
    add_errors(&mut page, story.facts, true, 1, 2, width(COMMAND));
    add_status(&mut page, story.facts, width(COMMAND));
    add_decisions(&mut page, story.facts, 2, width(ITEM));
    add_goal(&mut page, story, width(PROMPT));
    add_todo(&mut page, story.facts, 3..12, width(ITEM));
    let lines = (bytes / 400).clamp(2, 6);
    add_errors(&mut page, story.facts, true, 3, lines, width(COMMAND));
    add_errors(&mut page, story.facts, false, 1, 1, width(COMMAND));
    add_decisions(&mut page, story.facts, 6, width(ITEM));
    // Of long lists only the beginning goes before the outcomes; the rest still goes before their longer form.
    let longer = add_outcomes(&mut page, story);
    add_decisions(&mut page, story.facts, usize::MAX, width(2 * ITEM));
    add_errors(&mut page, story.facts, true, usize::MAX, usize::MAX, width(COMMAND));
    add_errors(&mut page, story.facts, false, 3, 2, width(COMMAND));
    add_todo(&mut page, story.facts, 12..usize::MAX, width(ITEM));
    lengthen_outcomes(&mut page, longer);
    lengthen_pins(&mut page, story.pins);
    page.write()
}

/// What the user pinned, and nothing else, in at most `bytes` bytes.
pub(crate) fn tell_pins(pins: &[&str], bytes: usize) -> String {
    let mut page = Page::new(bytes);
    add_pins(&mut page, pins, bytes);
    lengthen_pins(&mut page, pins);
    page.write()
}

/// What a line is about, in the order in which they stand.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Topic {
    Goal,
    Pin,
    Status,
    Error,
    Decision,
    Todo,
    Outcome,
}

/// Where a line stands: its topic, what it tells of, and which line of that it is.
type Place = (Topic, usize, usize);

/// The lines so far, and the room that is left.
struct Page {
    lines: BTreeMap<Place, String>,
    room: usize,
}

impl Page {
    fn new(bytes: usize) -> Self {
        // The last line has no break.
        let room = bytes.saturating_add(1);
        Page {
            lines: BTreeMap::new(),
            room,
        }
    }

    /// Puts a line where there is none, if there is room for it.
    fn add(&mut self, place: Place, line: String) -> bool {
        if self.lines.contains_key(&place) {
            return true;
        }
        let mut cost = line.len() + 1;
        let section = heading(place.0);
        let ends = [self.lines.first_key_value(), self.lines.last_key_value()];
        if !ends.into_iter().flatten().any(|(other, _)| heading(other.0) == section) {
            cost += section.len() + 1;
        }
        let fits = cost <= self.room;
        if fits {
            self.room -= cost;
            self.lines.insert(place, line);
        }
        fits
    }

    /// Puts a longer line where a shorter one stands, if there is room for it.
    fn replace(&mut self, place: Place, line: String) {
        if let Some(before) = self.lines.get_mut(&place)
            && let Some(more) = line.len().checked_sub(before.len())
            && more <= self.room
        {
            self.room -= more;
            *before = line;
        }
    }

    fn write(self) -> String {
        let mut out = String::new();
        let mut section = "";
        for ((topic, ..), line) in &self.lines {
            for line in [heading(*topic), line.as_str()] {
                if line != section {
                    if !out.is_empty() {
                        out.push('\n');
                    }
                    out.push_str(line);
                }
            }
            section = heading(*topic);
        }
        out
    }
}

fn heading(topic: Topic) -> &'static str {
    match topic {
        Topic::Outcome => "## Key outcomes",
        _ => "## Context",
    }
}

/// Pins take half of the room, shared equally; a pin that needs less leaves its rest to the next.
fn add_pins(page: &mut Page, pins: &[&str], bytes: usize) {
    let mut room = bytes / 2;
    for (number, pin) in pins.iter().enumerate() {
        let share = room / (pins.len() - number);
        let prefix = "Pinned: ".len() + 1;
        let line = pin_line(pin, share.saturating_sub(prefix).max(24));
        let taken = line.len() + 1;
        if page.add((Topic::Pin, number, 0), line) {
            room = room.saturating_sub(taken);
        }
    }
}

fn lengthen_pins(page: &mut Page, pins: &[&str]) {
    for (number, pin) in pins.iter().enumerate() {
        let place = (Topic::Pin, number, 0);
        let is_cut = |line: &&String| line.ends_with('…') && **line != pin_line(pin, pin.len());
        let now = page.lines.get(&place).filter(is_cut).map_or(0, String::len);
        if now > 0 {
            let most = (now + page.room).saturating_sub("Pinned: …".len());
            page.replace(place, pin_line(pin, most));
        }
    }
}

fn pin_line(pin: &str, most: usize) -> String {
    format!("Pinned: {}", harmless(pin, most))
}

fn add_todo(page: &mut Page, facts: &Facts, which: Range<usize>, width: usize) {
    let open = facts.todo.items().filter(|item| item.state.is_open());
    // What is under way goes first; a stable sort keeps the list's own order.
    let mut open: Vec<_> = open.enumerate().collect();
    open.sort_by_key(|(_, item)| item.state != TodoState::Active);
    let is_first = which.start == 0;
    for (number, item) in open.iter().skip(which.start).take(which.len()) {
        let mark = if item.state == TodoState::Active {
            "To do, under way: "
        } else {
            "To do: "
        };
        page.add(
            (Topic::Todo, *number, 0),
            format!("{mark}{}", harmless(&item.text, width)),
        );
    }
    let all = facts.todo.items().count();
    if all > 0 && !is_first {
        let done = facts.todo.items().filter(|item| item.state == TodoState::Done).count();
        page.add(
            (Topic::Todo, usize::MAX, 0),
            format!("Done of the to-do list: {done} of {all}"),
        );
    }
}

/// The newest errors, at most so many, with at most so many of the lines that say why: checks that are broken, or else
/// other commands, which were often given up.
fn add_errors(page: &mut Page, facts: &Facts, checks: bool, most: usize, lines: usize, width: usize) {
    let errors = facts.errors.iter().enumerate().rev();
    let wanted = errors.filter(|(_, error): &(usize, &OpenError)| error.is_check() == checks);
    for (number, error) in wanted.take(most) {
        // Broken checks stand before the rest, the newest first.
        let number = usize::from(!checks) * facts.errors.len() + facts.errors.len() - number;
        let name = if checks { "Failing" } else { "Failed command" };
        let command = shown_command(&error.command, width);
        if !page.add((Topic::Error, number, 0), format!("{name}: {command}")) {
            continue;
        }
        for (at, line) in error.lines.iter().take(lines).enumerate() {
            if !page.add((Topic::Error, number, at + 1), format!("  | {}", harmless(line, width))) {
                break;
            }
        }
    }
}

/// The last test run, build and lint; one line for those that one command did.
fn add_status(page: &mut Page, facts: &Facts, width: usize) {
    let checks = [("Tests", &facts.tests), ("Build", &facts.build), ("Lint", &facts.lint)];
    let mut told: Vec<(String, &CheckFact)> = Vec::new();
    for (name, check) in checks {
        let Some(check) = check else { continue };
        match told.iter_mut().find(|(_, other)| *other == check) {
            Some((names, _)) => {
                names.push_str(", ");
                names.push_str(&name.to_lowercase());
            }
            None => told.push((name.to_owned(), check)),
        }
    }
    for (number, (names, check)) in told.into_iter().enumerate() {
        let verdict = match check.verdict {
            Verdict::Passed => "passed",
            Verdict::Failed => "FAILED",
            Verdict::Unknown => "ran, result unclear",
        };
        let stale = if check.is_stale { ", files changed since" } else { "" };
        let is_shown = facts.errors.iter().any(|error| error.command == check.command);
        let command = if is_shown {
            String::new()
        } else {
            format!(" ({})", shown_command(&check.command, width))
        };
        page.add(
            (Topic::Status, number, 0),
            format!("{names}: {verdict}{stale}{command}"),
        );
    }
}

/// The newest decisions of the user, at most so many.
fn add_decisions(page: &mut Page, facts: &Facts, most: usize, width: usize) {
    for (number, decision) in facts.decisions.iter().enumerate().rev().take(most) {
        let each = answers(&decision.question, &decision.answer);
        let pairs = each.iter().map(|(question, answer)| {
            let width = width / each.len();
            format!("{} → {}", harmless(question, width), harmless(answer, width))
        });
        let line = format!("Decided: {}", pairs.collect::<Vec<_>>().join(" | "));
        page.add((Topic::Decision, number, 0), line);
    }
}

/// Each question with what was answered to it. Some tools repeat every question in the answer, as `"question"="answer"`;
/// where one does not, all of the questions have all of the answer.
fn answers<'a>(questions: &'a str, answer: &'a str) -> Vec<(&'a str, &'a str)> {
    let mut found = Vec::new();
    let mut rest = answer;
    for question in questions.split(" / ").map(str::trim) {
        let value = rest
            .split_once(question)
            .and_then(|(_, behind)| behind.strip_prefix("\"=\""));
        let Some(value) = value else {
            return vec![(questions, answer)];
        };
        let end = ["\",", "\".", "\" "].iter().filter_map(|sign| value.find(sign)).min();
        let end = end.or_else(|| value.rfind('"')).unwrap_or(value.len());
        found.push((question, &value[..end]));
        rest = &value[end..];
    }
    found
}

fn add_goal(page: &mut Page, story: &Story<'_>, width: usize) {
    let words = |turn: &Turn| prompt(story.messages, turn.0.clone());
    // A command such as `/model` sets no goal, if anything else was said.
    let is_goal = |words: &String| !words.starts_with('/') || words.contains(' ');
    let first = story
        .turns
        .iter()
        .position(|turn| words(turn).as_ref().is_some_and(is_goal))
        .or_else(|| story.turns.iter().position(|turn| words(turn).is_some()));
    let last = story.turns.iter().rposition(|turn| words(turn).is_some());
    for (at, (name, turn)) in [("Goal", first), ("Latest prompt", last.filter(|_| last != first))]
        .into_iter()
        .enumerate()
    {
        if let Some(words) = turn.and_then(|turn| words(&story.turns[turn])) {
            page.add((Topic::Goal, at, 0), format!("{name}: {}", quoted(&words, width)));
        }
    }
}

/// The long form of a line that stands in its short one.
struct Longer {
    place: Place,
    line: String,
}

/// The outcomes of the summarised turns in their short form, newest first as long as there is room.
fn add_outcomes(page: &mut Page, story: &Story<'_>) -> Vec<Longer> {
    let mut longer = Vec::new();
    let summarised = story.turns.partition_point(|turn| turn.0.start < story.until);
    // Room to say that older turns are missing is kept until the oldest one is reached.
    let mut reserve = if summarised > 1 {
        page.room.min(NOT_TOLD.len() + 12)
    } else {
        0
    };
    page.room -= reserve;
    let mut missing = summarised;
    for number in (0..summarised).rev() {
        if number == 0 {
            page.room += std::mem::take(&mut reserve);
        }
        let turn = &story.turns[number].0;
        let range = turn.start.min(story.messages.len())..turn.end.min(story.until).min(story.messages.len());
        let deeds = Deeds::of(&story.messages[range.clone()]);
        let place = (Topic::Outcome, number, 0);
        if !page.add(place, outcome_line(story, number, &range, &deeds, 48, None)) {
            break;
        }
        missing = number;
        if let Some(said) = &deeds.said {
            let line = outcome_line(story, number, &range, &deeds, PROMPT * 2 / 3, Some(said));
            longer.push(Longer { place, line });
        }
        add_steps(page, story, number, range, &deeds);
    }
    page.room += reserve;
    if missing > 0 && missing < summarised {
        page.add((Topic::Outcome, 0, usize::MAX), format!("- ({NOT_TOLD}{missing})"));
    }
    longer
}

/// A turn's prompt, what was done, what was said at the end if it is to be told, and what it finished.
fn outcome_line(
    story: &Story<'_>,
    number: usize,
    range: &Range<usize>,
    deeds: &Deeds,
    width: usize,
    said: Option<&str>,
) -> String {
    let turn = &story.turns[number].0;
    let about = match prompt(story.messages, range.clone()) {
        Some(words) => quoted(&words, width),
        None => "(no words)".to_owned(),
    };
    let what = Some(deeds.what(range.end < turn.end)).filter(|what| !what.is_empty());
    let said = said.map(|said| format!("said {}", quoted(said, SAID)));
    let told: Vec<String> = what.into_iter().chain(said).collect();
    let colon = if told.is_empty() { "" } else { ": " };
    let is_finished = |anchor: &&Anchor| anchor.turn == number && anchor.range == *turn && turn.end <= story.until;
    let marks = story.anchors.iter().filter(is_finished);
    let marks: String = marks.map(|anchor| format!(" [{}]", anchor.kind.name())).collect();
    format!("- {about}{colon}{}{marks}", told.join("; "))
}

/// What the steps of a long turn have come to, newest first.
fn add_steps(page: &mut Page, story: &Story<'_>, number: usize, range: Range<usize>, deeds: &Deeds) {
    let turn = &story.turns[number].0;
    let is_step = |anchor: &&Anchor| anchor.turn == number && anchor.range != *turn && anchor.range.start < range.end;
    let mut anchors: Vec<&Anchor> = story.anchors.iter().filter(is_step).collect();
    let mut lines: Vec<(usize, String)> = Vec::new();
    // A single test run stands in the line of the turn.
    let is_long = range.end < turn.end || range.len() > LONG;
    let is_long = !anchors.is_empty() || is_long && deeds.checked.len() > 1;
    for (at, what) in deeds.checked.iter().filter(|_| is_long) {
        let at = range.start + at;
        let mut line = format!("  - {what}");
        anchors.retain(|anchor| {
            let is_it = anchor.range.contains(&at);
            if is_it {
                line.push_str(&format!(" [{}]", anchor.kind.name()));
            }
            !is_it
        });
        lines.push((at, line));
    }
    lines.extend(anchors.into_iter().map(|anchor| {
        let words = harmless(&anchor.description, SAID);
        (anchor.range.start, format!("  - {words} [{}]", anchor.kind.name()))
    }));
    lines.extend(
        deeds
            .commits
            .iter()
            .map(|(at, words)| (range.start + at, format!("  - committed {}", quoted(words, PROMPT)))),
    );
    lines.sort_by_key(|(at, _)| *at);
    for (at, (_, line)) in lines.into_iter().enumerate().rev() {
        if !page.add((Topic::Outcome, number, at + 1), line) {
            break;
        }
    }
}

fn lengthen_outcomes(page: &mut Page, longer: Vec<Longer>) {
    for Longer { place, line } in longer {
        page.replace(place, line);
    }
}

/// What was done in a turn.
#[derive(Default)]
struct Deeds {
    changed: Vec<Arc<str>>,
    read: Vec<Arc<str>>,
    commands: usize,
    tests: Option<Verdict>,
    build: Option<Verdict>,
    /// With the message, counted from the first.
    commits: VecDeque<(usize, String)>,
    /// Test runs after changes, and those that came out otherwise than the one before, with their message as above.
    checked: VecDeque<(usize, String)>,
    /// A line of what the model said at the end.
    said: Option<String>,
}

impl Deeds {
    fn of(messages: &[Arc<Message>]) -> Deeds {
        let mut deeds = Deeds::default();
        let mut exchanges = Exchanges::default();
        let mut untested: Vec<Arc<str>> = Vec::new();
        for (at, message) in messages.iter().enumerate() {
            exchanges.next(message, |call, result| {
                let action = &call.action;
                if action.kind == ActionKind::Read && is_done(result) {
                    note(&mut deeds.read, &action.paths);
                }
                if !action.changed().is_empty() && is_done(result) {
                    note(&mut deeds.changed, action.changed());
                    note(&mut untested, action.changed());
                }
                let Some(ran) = Ran::of(call, result) else { return };
                deeds.commands += 1;
                match ran.last_check() {
                    Some((check, verdict)) if check.kind == CheckKind::Test => {
                        if let Some(outcome) = outcome(verdict)
                            && (!untested.is_empty() || deeds.tests != Some(verdict))
                        {
                            let edited = edited(&std::mem::take(&mut untested));
                            let glue = if edited.is_empty() { "" } else { "; " };
                            keep_newest(
                                &mut deeds.checked,
                                (at, format!("{edited}{glue}tests {outcome}")),
                                CHECKED,
                            );
                        }
                        deeds.tests = Some(verdict);
                    }
                    Some((_, verdict)) => deeds.build = Some(verdict),
                    None => {}
                }
                if result.success != Some(false)
                    && let Some(words) = action.command.as_deref().and_then(commit)
                {
                    keep_newest(&mut deeds.commits, (at, words), COMMITS);
                }
            });
        }
        // Only the last words: earlier ones announce what is told of as done.
        let last = messages
            .last()
            .filter(|message| message.role == Role::Assistant && message.calls().next().is_none());
        deeds.said = last.and_then(|message| said(message));
        deeds
    }

    fn what(&self, goes_on: bool) -> String {
        let mut what = Vec::new();
        if !self.changed.is_empty() {
            what.push(edited(&self.changed));
        } else if !self.read.is_empty() {
            what.push(format!("read {}", harmless(&anchor::names(&self.read), ITEM)));
        } else if self.commands > 0 && self.tests.or(self.build).is_none() {
            let s = if self.commands == 1 { "" } else { "s" };
            what.push(format!("ran {} command{s}", self.commands));
        }
        // Tests that ran say more than a build that went before them.
        let checks = [
            ("tests", self.tests),
            ("build", self.build.filter(|_| self.tests.is_none())),
        ];
        for (name, verdict) in checks {
            if let Some(outcome) = verdict.and_then(outcome) {
                what.push(format!("{name} {outcome}"));
            }
        }
        if goes_on {
            what.push("goes on below".to_owned());
        }
        what.join("; ")
    }
}

fn outcome(verdict: Verdict) -> Option<&'static str> {
    match verdict {
        Verdict::Passed => Some("passed"),
        Verdict::Failed => Some("failed"),
        Verdict::Unknown => None,
    }
}

fn edited(files: &[Arc<str>]) -> String {
    if files.is_empty() {
        return String::new();
    }
    format!("edited {}", harmless(&anchor::names(files), ITEM))
}

fn note(files: &mut Vec<Arc<str>>, more: &[Arc<str>]) {
    for path in more {
        if !files.contains(path) && files.len() < FILES {
            files.push(path.clone());
        }
    }
}

fn keep_newest<T>(kept: &mut VecDeque<T>, new: T, most: usize) {
    if kept.len() == most {
        kept.pop_front();
    }
    kept.push_back(new);
}

/// The first line of the message that a command commits with.
fn commit(line: &str) -> Option<String> {
    if !line.contains("commit") {
        return None;
    }
    let commands = shell::commands(line);
    commands.iter().find_map(|command| {
        let words = &command.words;
        let is_commit = words.first().is_some_and(|first| first == "git") && words.iter().any(|word| word == "commit");
        let at = words
            .iter()
            .position(|word| matches!(word.as_str(), "-m" | "-am" | "--message"))?;
        let message = words.get(at + 1).filter(|_| is_commit)?;
        let mut lines = message.lines();
        // `-m "$(cat <<'EOF' …)"`: the message stands in the lines behind.
        let first = lines.find(|line| !line.trim().is_empty() && !line.trim_start().starts_with("$("))?;
        Some(first.trim().to_owned())
    })
}

/// What the prompts of a turn say first.
fn prompt(messages: &[Arc<Message>], range: Range<usize>) -> Option<String> {
    let range = range.start.min(messages.len())..range.end.min(messages.len());
    let prompts = messages[range]
        .iter()
        .take_while(|message| message.role != Role::Assistant);
    let texts: Vec<&str> = prompts
        .filter(|message| message.is_prompt())
        .flat_map(|message| own_texts(message))
        .collect();
    let besides = texts.iter().find_map(|text| gist(behind_blocks(text)));
    besides.or_else(|| texts.iter().find_map(|text| gist(text)))
}

/// What a text says behind the blocks in tags that some recorders put before the user's words.
fn behind_blocks(text: &str) -> &str {
    let mut rest = text.trim_start();
    for _ in 0..BLOCKS {
        let name = rest
            .strip_prefix('<')
            .and_then(|rest| rest.get(..rest.find(['>', '\n'])?));
        let is_name = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'-' | b'_');
        let Some(name) = name.filter(|name| !name.is_empty() && name.bytes().all(is_name)) else {
            break;
        };
        let Some((_, behind)) = rest.split_once(&format!("</{name}>")) else {
            break;
        };
        rest = behind.trim_start();
    }
    rest
}

/// What the model says first.
fn said(message: &Message) -> Option<String> {
    own_texts(message).filter_map(gist).next()
}

fn own_texts(message: &Message) -> impl Iterator<Item = &str> {
    message.parts.iter().filter_map(|part| match part {
        Part::Text(text) if text.origin == Origin::Own => Some(text.body.as_str()),
        _ => None,
    })
}

/// The first words of a text that mean something: its first line besides tags and signs, and the next ones if that only
/// leads up to them (`Implement this plan:`) or is a word like `Done!`.
fn gist(text: &str) -> Option<String> {
    let mut gist = String::new();
    for line in text.lines().take(LINES).filter_map(meaning) {
        if !gist.is_empty() {
            gist.push(' ');
        }
        // Quoted on one line, and bounded there; this bounds the work.
        gist.push_str(&line[..line.floor_char_boundary(4 * PROMPT)]);
        if gist.len() >= 16 && !gist.ends_with(':') || gist.len() > 2 * PROMPT {
            break;
        }
    }
    (!gist.is_empty()).then_some(gist)
}

/// A line without the signs before it, if it has words besides them. A line that begins with a tag, or stands in
/// brackets, is a harness's.
fn meaning(line: &str) -> Option<&str> {
    let mut line = line.trim().trim_start_matches(['#', '>', '-', '*', '=', ' ']);
    // A quotation that ends stays whole.
    while let Some(rest) = line.strip_prefix(['`', '"']).filter(|rest| !rest.contains(&line[..1])) {
        line = rest;
    }
    line = line.trim_start_matches("```").trim_start();
    let is_tag = line.starts_with('<') || line.starts_with('[') && line.ends_with(']');
    (!is_tag && line.chars().filter(|c| c.is_alphanumeric()).take(2).count() == 2).then_some(line)
}

/// A command between backticks, without the folder that it is run in; a long one without its middle.
fn shown_command(command: &str, most: usize) -> String {
    let mut line = command.trim();
    while let Some((folder, rest)) = line.strip_prefix("cd ").and_then(|rest| rest.split_once(" && "))
        && !folder.contains(['\n', ';', '|'])
    {
        line = rest.trim_start();
    }
    let whole = harmless(line, line.len());
    if whole.len() <= most {
        return format!("`{whole}`");
    }
    let head = &whole[..whole.floor_char_boundary(most * 2 / 3)];
    let tail = &whole[whole.ceil_char_boundary(whole.len() - most / 3)..];
    format!("`{head}…{tail}`")
}

fn quoted(text: &str, most: usize) -> String {
    format!("\"{}\"", harmless(text, most).replace('"', "'"))
}

/// A text on one line of at most so many bytes (and the dots that say that it is cut), that cannot be taken for anything
/// but a quotation.
///
/// White space becomes one blank. Control characters, escape codes and characters that are not seen (marks of direction,
/// of no width, tags) go. A `<` that opens a tag of a harness, such as `<system-reminder>` or `</tool_result>`, becomes `‹`;
/// in `Vec<String>` or `a < b` it stays. The sign that markers of cut content have before their handle becomes a comma.
fn harmless(text: &str, most: usize) -> String {
    // What goes first could hide a tag, so tags are looked for in what is left.
    let (line, mut is_cut) = one_line(text, most.saturating_add(64));
    let mut out = String::with_capacity(line.len().min(most));
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        let shown = match c {
            '<' if opens_tag(chars.as_str(), out.chars().next_back()) => '‹',
            '·' if chars.as_str().trim_start().starts_with("recall") => ',',
            c => c,
        };
        is_cut |= out.len() + shown.len_utf8() > most;
        if out.len() + shown.len_utf8() > most {
            break;
        }
        out.push(shown);
    }
    if is_cut {
        out.truncate(out.trim_end().len());
        out.push('…');
    }
    out
}

/// A text on one line without what is not seen, and whether it was cut after so many bytes.
fn one_line(text: &str, most: usize) -> (String, bool) {
    let mut out = String::new();
    let mut chars = text.chars();
    let mut is_blank = false;
    while let Some(c) = chars.next() {
        if c == '\u{1b}' {
            if let Some(code) = chars.as_str().strip_prefix('[') {
                let end = code.find(|c: char| ('@'..='~').contains(&c) || c.is_control());
                chars = code[end.map_or(code.len(), |at| at + 1)..].chars();
            }
        } else if c.is_whitespace() {
            is_blank = !out.is_empty();
        } else if !c.is_control() && !is_unseen(c) {
            if out.len() > most {
                return (out, true);
            }
            if std::mem::take(&mut is_blank) {
                out.push(' ');
            }
            out.push(c);
        }
    }
    (out, false)
}

fn is_unseen(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

/// Whether a `<` with this behind it and that before it opens a tag that a harness could have written.
fn opens_tag(after: &str, before: Option<char>) -> bool {
    const NAMES: &[&str] = &[
        "user",
        "assistant",
        "human",
        "tool",
        "summary",
        "context",
        "thinking",
        "function",
        "invoke",
        "environment",
    ];
    let name: String = after
        .chars()
        .skip_while(|c| c.is_whitespace() || *c == '/')
        .take_while(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | ':'))
        .take(40)
        .flat_map(char::to_lowercase)
        .collect();
    // What follows a name in code is the parameter of a type, unless it says plainly what it poses as.
    let is_code = before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':');
    name.contains("system")
        || name.contains("reminder")
        || !is_code && (name.contains(['-', '_', ':']) || NAMES.contains(&name.as_str()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::anchor;
    use crate::message::{Action, Parameters, ToolCall, ToolResult};
    use crate::turn::turns;
    use proptest::prelude::*;
    use serde_json::json;

    /// One line a message: `user: words` · `edit FILE…` · `run COMMAND => STATUS OUTPUT`, where STATUS is `ok` or `bad` ·
    /// `todo a|>b|xc` · `ask QUESTION => ANSWER` · anything else the model says. `⏎` is a line break.
    fn conversation(lines: &str) -> Vec<Arc<Message>> {
        let mut messages = Vec::new();
        for (number, line) in lines.lines().map(str::trim).enumerate() {
            let id = format!("c{number}");
            let line = line.replace('⏎', "\n");
            let mut parameters = json!({});
            let (action, success, output) = if let Some(words) = line.strip_prefix("user: ") {
                messages.push(Arc::new(Message::user(words)));
                continue;
            } else if let Some(files) = line.strip_prefix("edit ") {
                (Action::on(ActionKind::Change, files.split(' ')), true, "done")
            } else if let Some((command, answer)) = line.strip_prefix("run ").and_then(|rest| rest.split_once(" => ")) {
                let (status, output) = answer.split_once(' ').unwrap_or((answer, ""));
                (Action::command(command), status == "ok", output)
            } else if let Some(items) = line.strip_prefix("todo ") {
                let items = items
                    .split('|')
                    .map(|item| match (item.strip_prefix('>'), item.strip_prefix('x')) {
                        (Some(item), _) => json!({"content": item, "status": "in_progress"}),
                        (_, Some(item)) => json!({"content": item, "status": "completed"}),
                        _ => json!({"content": item}),
                    });
                parameters = json!({"todos": items.collect::<Vec<_>>()});
                (Action::on(ActionKind::Todo, []), true, "ok")
            } else if let Some((question, answer)) = line.strip_prefix("ask ").and_then(|rest| rest.split_once(" => "))
            {
                parameters = json!({"question": question});
                (Action::default(), true, answer)
            } else {
                messages.push(Arc::new(Message::assistant(line)));
                continue;
            };
            let mut call = ToolCall::new(id.as_str(), "tool", Default::default()).doing(action);
            call.parameters = Parameters::new(parameters.as_object().unwrap().clone());
            messages.push(Arc::new(Message::new(Role::Assistant, vec![Part::ToolCall(call)])));
            messages.push(Arc::new(Message::results(vec![ToolResult::new(
                id.as_str(),
                Some(success),
                output,
            )])));
        }
        messages
    }

    fn told(lines: &str, until: usize, pins: &[&str], long: u64, bytes: usize) -> String {
        let messages = conversation(lines);
        let turns = turns(&messages);
        let story = Story {
            messages: &messages,
            turns: &turns,
            until: until.min(messages.len()),
            facts: &Facts::gather(&messages),
            anchors: &anchor::find(&messages, &turns, &[], long),
            pins,
        };
        tell(&story, bytes)
    }

    fn check(lines: &str, expected: &str) {
        let expected: Vec<&str> = expected
            .lines()
            .map(|line| line.strip_prefix("            ").unwrap_or(line))
            .collect();
        assert_eq!(
            told(lines, usize::MAX, &[], anchor::LONG_TURN, 10_000),
            expected.join("\n"),
            "{lines}"
        );
    }

    const WORK: &str = "user: Fix this:⏎the parser loses comments
        run cargo test => bad test a ... FAILED
        edit src/parser.rs src/lexer.rs
        run cargo test => ok
        run git commit -am 'Comments survive' => ok
        The parser keeps comments now, and all tests pass.
        user: now the printer
        ask Which width? => 80
        todo xwrite it|>test it|document it
        edit src/printer.rs
        run cargo test -p printer => bad test wide ... FAILED⏎left: 1
        run ./deploy.sh => bad no such host";

    #[test]
    fn the_whole_story_is_told_where_there_is_room() {
        check(
            WORK,
            "## Context
            Goal: \"Fix this: the parser loses comments\"
            Latest prompt: \"now the printer\"
            Tests: FAILED
            Failing: `cargo test -p printer`
              | test wide ... FAILED
              | left: 1
            Failed command: `./deploy.sh`
              | no such host
            Decided: Which width? → 80
            To do, under way: test it
            To do: document it
            Done of the to-do list: 1 of 3
            ## Key outcomes
            - \"Fix this: the parser loses comments\": edited parser.rs, lexer.rs; tests passed; said \"The parser keeps comments now, and all tests pass.\" [error resolution]
              - committed \"Comments survive\"
            - \"now the printer\": edited printer.rs; tests failed",
        );
    }

    #[test]
    fn the_goal_is_what_the_user_said_and_not_what_a_harness_put_before_it() {
        let goal = |prompt: &str| {
            let told = told(&format!("user: {prompt}"), usize::MAX, &[], anchor::LONG_TURN, 10_000);
            told.lines().nth(1).map(str::to_owned)
        };
        let expected = Some(String::from("Goal: \"mend the parser\""));
        assert_eq!(
            goal("<system-reminder>⏎# Be brief⏎</system-reminder>⏎mend the parser"),
            expected
        );
        assert_eq!(goal("<note>a</note><date>b</date>mend the parser"), expected);
        assert_eq!(goal("<task>⏎mend the parser⏎</task>"), expected);
        assert_eq!(goal("<task>⏎mend the parser"), expected);
        assert_eq!(
            goal("/model\n        The model is set.\n        user: mend the parser"),
            expected
        );
        assert_eq!(goal("/model"), Some(String::from("Goal: \"/model\"")));
    }

    #[test]
    fn a_quotation_that_ends_stays_whole() {
        assert_eq!(meaning("`main` is protected"), Some("`main` is protected"));
        assert_eq!(meaning("\"left open"), Some("left open"));
        assert_eq!(meaning("- ```rust"), Some("rust"));
    }

    #[test]
    fn in_little_room_what_is_needed_most_is_told() {
        let text = told(
            WORK,
            usize::MAX,
            &["never touch the API", "tabs"],
            anchor::LONG_TURN,
            300,
        );
        assert!(text.len() <= 300);
        for line in [
            "Pinned: never touch the API",
            "Pinned: tabs",
            "To do, under way: test it",
            "Failing: `cargo test -p printer`",
            "Tests: FAILED",
        ] {
            assert!(text.lines().any(|other| other == line), "{line} in\n{text}");
        }
        assert!(!text.contains("## Key outcomes"), "{text}");
        assert_eq!(told(WORK, usize::MAX, &[], 0, 20), "");
    }

    #[test]
    fn every_bound_is_kept() {
        let turns: Vec<String> = (0..12)
            .map(|n| format!("user: do thing number {n}\nedit f{n}.rs\nIt is done, and nothing else was touched."))
            .collect();
        for lines in [WORK, &turns.join("\n")] {
            for bytes in 0..1_600 {
                let text = told(
                    lines,
                    usize::MAX,
                    &["tabs, and never a blank"],
                    anchor::LONG_TURN,
                    bytes,
                );
                assert!(text.len() <= bytes, "{} of {bytes}:\n{text}", text.len());
            }
        }
    }

    #[test]
    fn only_summarised_turns_have_an_outcome_and_the_newest_go_first() {
        let turns: Vec<String> = (0..50)
            .map(|n| format!("user: do thing number {n}\nedit f{n}.rs"))
            .collect();
        let text = told(&turns.join("\n"), 40 * 3, &[], anchor::LONG_TURN, 600);
        assert!(
            text.contains("- \"do thing number 39\": edited f39.rs") && !text.contains("number 40"),
            "{text}"
        );
        let outcomes: Vec<&str> = text.lines().filter(|line| line.starts_with("- \"")).collect();
        assert!(
            text.contains(&format!("- (earlier turns not told of: {})", 40 - outcomes.len())),
            "{text}"
        );
        assert!(outcomes.is_sorted());
        assert!(text.contains("Latest prompt: \"do thing number 49\""));
    }

    #[test]
    fn a_long_turn_is_told_by_its_steps() {
        let lines = "user: build it\nedit a.rs\nrun cargo test => ok\nedit b.rs\nrun cargo test => bad 1 failed\nedit c.rs\nrun cargo test => ok\nedit d.rs";
        let text = told(lines, 14, &[], 0, 2_000);
        let outcomes: Vec<&str> = text
            .lines()
            .skip_while(|line| *line != "## Key outcomes")
            .skip(1)
            .collect();
        assert_eq!(
            outcomes,
            [
                "- \"build it\": edited a.rs, b.rs, c.rs; tests passed; goes on below",
                "  - edited a.rs; tests passed [task completion]",
                "  - edited b.rs; tests failed",
                "  - edited c.rs; tests passed [error resolution]",
            ]
        );
    }

    #[test]
    fn a_quoted_text_poses_as_nothing() {
        let table = [
            ("a <system-reminder> b", "a ‹system-reminder> b"),
            ("x</system-reminder>", "x‹/system-reminder>"),
            ("< / SYSTEM_reminder>", "‹ / SYSTEM_reminder>"),
            ("<sys\u{200b}tem-\u{7}reminder>", "‹system-reminder>"),
            ("<\u{1b}[1msystem>", "‹system>"),
            ("<tool_result> <human>", "‹tool_result> ‹human>"),
            (
                "Vec<String> a < b && HashMap<my_key, T>",
                "Vec<String> a < b && HashMap<my_key, T>",
            ),
            ("one\n## Context\n\ttwo\r\n", "one ## Context two"),
            (
                "[Read output, 9 bytes · recall k3f9a2]",
                "[Read output, 9 bytes , recall k3f9a2]",
            ),
            ("\u{202e}evil\u{feff} \u{1b}[31mred\u{1b}[0m", "evil red"),
        ];
        for (text, expected) in table {
            assert_eq!(harmless(text, 200), expected);
        }
        assert_eq!(harmless("ééé", 5), "éé…");
        assert_eq!(harmless(&"x".repeat(1_000_000), 3), "xxx…");
        assert_eq!(harmless("abc  ", 3), "abc");
    }

    #[test]
    fn the_gist_of_a_text_is_its_first_line_with_words() {
        let table = [
            ("\n# Fix the lost comments\nmore", Some("Fix the lost comments")),
            (
                "Implement the following plan:\n\n# Faster start\nx",
                Some("Implement the following plan: Faster start"),
            ),
            (
                "<command-name>/clear</command-name>\nreal words here",
                Some("real words here"),
            ),
            ("[Request interrupted by user]", None),
            ("Done!\nThe flag is documented.", Some("Done! The flag is documented.")),
            ("---\n```\n", None),
            ("yes", Some("yes")),
        ];
        for (text, expected) in table {
            assert_eq!(gist(text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn each_question_has_its_own_answer() {
        let said = "User has answered: \"Which base?\"=\"sqlite\", \"Port?\"=\"80\". Go on.";
        assert_eq!(
            answers("Which base? / Port?", said),
            [("Which base?", "sqlite"), ("Port?", "80")]
        );
        assert_eq!(answers("Which base?", "sqlite"), [("Which base?", "sqlite")]);
        assert_eq!(answers("a / b", "a"), [("a / b", "a")]);
    }

    #[test]
    fn a_command_is_shown_without_its_folder_and_a_commit_by_its_message() {
        assert_eq!(shown_command("cd /a/b && cargo test", 99), "`cargo test`");
        assert_eq!(
            shown_command(&"é".repeat(99), 30),
            format!("`{}…{}`", "é".repeat(10), "é".repeat(5))
        );
        let table = [
            ("git commit -m 'one\ntwo'", Some("one")),
            ("git add -A && git -C x commit -am one", Some("one")),
            ("git commit -m \"$(cat <<'EOF'\none\n\ntwo\nEOF\n)\"", Some("one")),
            ("echo git commit -m one", None),
            ("git log", None),
        ];
        for (line, expected) in table {
            assert_eq!(commit(line).as_deref(), expected, "{line}");
        }
    }

    proptest! {
        #[test]
        fn no_story_is_longer_than_it_may_be(
            lines in proptest::collection::vec((0usize..9, "[a-c<>/·é\u{1b}⏎# -]{0,30}(</?system-reminder>)?"), 0..40),
            pins in proptest::collection::vec("[a-zé⏎ ]{0,80}", 0..4),
            until in 0usize..90,
            long in 0u64..60,
            bytes in 0usize..1_500,
        ) {
            let text: Vec<String> = lines.iter().map(|(kind, words)| match kind {
                0 => format!("user: {words}"),
                1 => format!("edit {words}"),
                2 => format!("run cargo test {words} => ok"),
                3 => format!("run cargo test => bad FAILED {words}"),
                4 => format!("todo {words}|>b"),
                5 => format!("ask {words} => {words}"),
                6 => format!("run ./x => bad {words}"),
                7 => format!("run git commit -m '{words}' => ok"),
                _ => words.clone(),
            }).collect();
            let pins: Vec<&str> = pins.iter().map(String::as_str).collect();
            let told_once = told(&text.join("\n"), until, &pins, long, bytes);
            prop_assert!(told_once.len() <= bytes, "{} of {bytes}: {told_once}", told_once.len());
            prop_assert_eq!(&told(&text.join("\n"), until, &pins, long, bytes), &told_once);
            prop_assert!(!told_once.contains("<system") && !told_once.contains("</system") && !told_once.contains("· recall"));
            prop_assert!(told_once.chars().all(|c| c == '\n' || !c.is_control()));
            let headings: Vec<&str> = told_once.lines().filter(|line| line.starts_with('#')).collect();
            let all = ["## Context", "## Key outcomes"];
            prop_assert!(headings == all || headings == all[..1] || headings == all[1..] || headings.is_empty(), "{told_once}");
        }

        #[test]
        fn what_is_made_harmless_stays_so(text in r"(\PC|[\n\x1b<]|</?system-reminder>|· recall x){0,30}", most in 0usize..80) {
            let once = harmless(&text, most);
            prop_assert!(once.len() <= most + "…".len());
            prop_assert_eq!(harmless(&once, usize::MAX), once);
        }
    }
}
