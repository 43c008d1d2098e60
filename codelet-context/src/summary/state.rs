//! The text around a record: pinned content before it, the current state and the next steps after it. Everything is
//! quoted or recorded; nothing is inferred.

use crate::evidence::check::{self, CheckKind};
use crate::evidence::facts::{CheckRun, Facts};
use crate::message::cut::counted;
use crate::message::files;
use crate::message::harness;
use crate::message::todo::TodoState;
use crate::message::{Message, Part, Role};
use crate::ranking::labels;
use crate::ranking::quoting;
use crate::ranking::{RankingIndex, evident_lines, plain_command};
use codelet_text::short;
use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt::Write;
use std::sync::Arc;

/// The maximum bytes of a command, of an output line, and of a to-do item.
const COMMAND: usize = 160;
const LINE: usize = 200;
const ITEM: usize = 200;
/// The maximum bytes of a command for a pull request: most of it is the text of the request.
const REQUEST: usize = 80;
/// The maximum and minimum bytes of a line under `Next`, and those of its end and its omission marker.
const WORDS: usize = 300;
const FEWEST: usize = 50;
/// The maximum bytes of the line with the prompt before the newest.
const BEGINNING: usize = 120;
/// Of a prompt that is longer than `WORDS`, one part in this many is shown, or its first `LONG_PROMPT` bytes: it stands
/// whole above.
const LONG: usize = 3;
const LONG_PROMPT: usize = 90;
/// The minimum bytes of the beginning of the newest prompt: less says nothing.
const LEAST_PROMPT: usize = 40;
const AROUND: usize = 4;
/// The maximum output lines under a check.
const LINES: usize = 2;
/// The maximum lines of *git status*: each names a file.
const STATUS: usize = 12;
/// The maximum number of refusals listed, newest first.
const REFUSALS: usize = 3;
/// The bytes of the line that counts the omitted to-do items; and the share of the room reserved for other content.
const UNLISTED: usize = 48;
const OTHERS: usize = 8;
/// The bytes that the open to-do items take in a summary.
pub(crate) fn list_bytes(facts: &Facts) -> usize {
    let item = |text: &str| labels::UNDER_WAY.len() + text.len().min(ITEM) + 1;
    facts.todo.open().map(|open| item(&open.text)).sum()
}

/// The sentences that the user pinned, one per line, as far as they fit.
pub(crate) fn pinned(notes: &[&str], bytes: usize) -> String {
    let mut page = Page::of(bytes);
    for note in notes {
        page.line(labels::PINNED, note, usize::MAX);
    }
    page.text
}

/// The lines of *State* for a conversation, in at most this many bytes. The most important come first, so that the
/// least important are left out.
pub(crate) fn tell(index: &RankingIndex, facts: &Facts, bytes: usize) -> String {
    // Which files have changed is told in no other place: of what the list leaves, its room is kept for it.
    let mut files = Page::of(bytes.saturating_sub(list_bytes(facts)) / 2);
    let most = files.room / 2;
    tell_files(&mut files, facts, most, index.earlier.message.is_some());
    let bytes = bytes - files.text.len();
    let mut page = Page::of(bytes);
    let open = facts.todo.open().count();
    page.room -= UNLISTED.min(page.room);
    let list = bytes.saturating_sub(bytes / OTHERS);
    let mut listed = 0;
    for item in facts.todo.open() {
        if page.text.len() + item.text.len().min(ITEM) > list {
            break;
        }
        let label = match item.state {
            TodoState::Active => labels::UNDER_WAY,
            _ => labels::TO_DO,
        };
        listed += usize::from(page.line(label, &item.text, ITEM));
    }
    page.room += UNLISTED.min(bytes);
    if listed < open {
        page.line(labels::UNLISTED, &format!("{} more", open - listed), usize::MAX);
    }
    // Where not all fit, the newest do.
    let (mut runs, mut room) = (Vec::new(), page.room - page.text.len());
    for (number, check) in facts.checks.iter().enumerate().rev() {
        // Output shared by several checks of one command line is shown once, apart from git's.
        let is_told = check.kind.judges() && facts.checks[..number].iter().any(|other| other.place == check.place);
        let mut run = Page::of(room);
        tell_check(&mut run, index, check, if is_told { 0 } else { LINES });
        room -= run.text.len();
        runs.push(run.text);
    }
    runs.iter().rev().for_each(|run| page.text.push_str(run));
    for refusal in facts.refusals.iter().rev().take(REFUSALS) {
        let words = match refusal.words.is_empty() {
            true => refusal.call.clone(),
            false => format!("{} — {}", short::clip_bytes(&refusal.call, COMMAND), refusal.words),
        };
        page.line(labels::REFUSED, &words, COMMAND + LINE);
    }
    page.text + &files.text
}

/// What earlier compactions told of the state, newest first, without what the present state or a newer one tells anew.
pub(crate) fn earlier(index: &RankingIndex, facts: &Facts, state: &str, bytes: usize) -> String {
    let earlier = &index.earlier;
    let since = earlier.message.map_or(0, |message| index.steps_since(message));
    let mut told: HashSet<&str> = state.lines().map(topic).collect();
    if facts.todo.items().next().is_some() {
        told.insert(topic(labels::TO_DO));
    }
    let mut text = String::new();
    for (steps, lines) in &earlier.states {
        let since = counted(since + *steps as usize, "step");
        let mut section = format!("{}{since} ago:\n", labels::AT_COMPACTION);
        let (heading, mut stays) = (section.len(), false);
        for line in lines.lines() {
            let is_quotable = quoting::quotable(line).is_some_and(|quoted| quoted == line);
            let fits = text.len() + section.len() + labels::UNDER.len() + line.len() < bytes;
            // What stands under a line goes with it.
            let goes_on = line.starts_with(labels::UNDER);
            let is_new = goes_on && stays || !goes_on && !told.contains(topic(line));
            stays = is_quotable && fits && is_new;
            if stays {
                section.extend([labels::UNDER, line, "\n"]);
            }
        }
        told.extend(lines.lines().map(topic));
        if section.len() > heading {
            text.push_str(&section);
        }
    }
    text
}

/// The topic of a line of a state, of which the newest line holds: the to-do list, or a check. Any other line holds on.
fn topic(line: &str) -> &str {
    match line.split_once(':') {
        _ if line.starts_with("To do") => "To do",
        Some((label, _)) if label.starts_with(labels::LAST) => label,
        _ => line,
    }
}

/// The next steps, in at most this many bytes: the newest prompt and the last text of the model since, which have the same
/// room; and before them the prompt before, which the newest may only have interrupted. Empty if there is too little room.
pub(crate) fn next(messages: &[Arc<Message>], bytes: usize) -> String {
    let Some(asked) = messages.iter().rposition(|message| message.is_prompt()) else {
        return String::new();
    };
    let prompt = said(&messages[asked], Part::is_own_words);
    let since = steps(&messages[asked..]);
    let is_open = messages
        .last()
        .is_none_or(|last| last.role != Role::Assistant || last.calls().next().is_some());
    let replies = messages.iter().enumerate().skip(asked + 1).rev();
    let mut replies = replies.filter(|(_, message)| message.role == Role::Assistant);
    let last = replies.find_map(|(at, reply)| Some((at, said(reply, |_| true))).filter(|(_, words)| !words.is_empty()));
    let lines = 1 + usize::from(last.is_some());
    let before = messages[..asked].iter().rposition(|message| message.is_prompt());
    let before = before.filter(|_| is_open && bytes >= 4 * BEGINNING);
    let rest = bytes - before.map_or(0, |_| BEGINNING);
    let most = WORDS.min(rest / lines).saturating_sub(AROUND);
    // With so little room, the prompt itself is near.
    if most < FEWEST {
        return String::new();
    }
    let mut page = Page::of(bytes);
    // "Asked last" reads as an order to begin, "in progress" is false for a remark that is settled.
    let aged = |label: &str, since: usize| {
        let ago = told_since(since, "step", "ago")
            .filter(|_| is_open)
            .map(|ago| format!(", {ago}"));
        format!("{label}{}: ", ago.unwrap_or_default())
    };
    if let Some(before) = before {
        let label = aged(labels::ASKED_EARLIER, steps(&messages[before..]));
        let prompt = said(&messages[before], Part::is_own_words);
        page.line(&label, &start_of(&prompt, BEGINNING - label.len() - 1), usize::MAX);
    }
    let label = aged(labels::ASKED, since);
    let most_of_prompt = match prompt.len() > WORDS {
        true => (most / LONG).max(LONG_PROMPT).min(most),
        false => most,
    };
    let most_of_prompt = most_of_prompt.saturating_sub(label.len());
    match prompt.is_empty() || prompt.len() > most_of_prompt && most_of_prompt < LEAST_PROMPT {
        true => page.line(label.trim_end_matches(": "), labels::STANDS_ABOVE, usize::MAX),
        false => page.line(&label, &start_of(&prompt, most_of_prompt), usize::MAX),
    };
    if let Some((at, words)) = last {
        // Further steps may have done by now what was said before them.
        let label = match (is_open, steps(&messages[at + 1..])) {
            (true, 0) => labels::SAID_WITH_CALLS.to_owned(),
            (true, since) => aged(labels::SAID, since),
            (false, _) => labels::ANSWERED.to_owned(),
        };
        page.line(&label, &end_of(&words, most - label.len()), usize::MAX);
    }
    page.text
}

/// The number of replies among these messages.
fn steps(messages: &[Arc<Message>]) -> usize {
    messages
        .iter()
        .filter(|message| message.role == Role::Assistant)
        .count()
}

/// The text of the accepted parts of a message on one line, without lines that begin with a tag, as a harness puts them
/// there, unless all do.
fn said(message: &Message, counts: impl Fn(&Part) -> bool) -> String {
    let mut lines = Vec::new();
    for part in message.parts.iter().filter(|part| counts(part)) {
        let Part::Text(text) = part else { continue };
        let plain = harness::without_reminders(text.body.as_str());
        lines.extend(plain.lines().map(short::words).filter(|line| !line.is_empty()));
    }
    let is_tagged = |line: &String| line.starts_with('<');
    if !lines.iter().all(is_tagged) {
        lines.retain(|line| !is_tagged(line));
    }
    lines.join(" ")
}

/// The mark for omitted words.
const GAP: &str = "…";

/// The first sentences of a line, in at most this many bytes; its first words, if those are shorter than half of that.
fn start_of(words: &str, most: usize) -> Cow<'_, str> {
    if words.len() <= most {
        return words.into();
    }
    let start = &words[..words.floor_char_boundary(most.saturating_sub(GAP.len() + 1))];
    let sentence = [". ", "? ", "! ", ": "].iter().filter_map(|end| start.rfind(end)).max();
    let sentence = sentence.filter(|end| 2 * end >= start.len());
    match sentence {
        Some(end) => format!("{} {GAP}", &start[..=end]).into(),
        None => format!("{}{GAP}", &start[..start.rfind(' ').unwrap_or(start.len())]).into(),
    }
}

/// The last words of a line, in at most this many bytes.
fn end_of(words: &str, most: usize) -> String {
    if words.len() <= most {
        return words.to_owned();
    }
    let start = words.ceil_char_boundary(words.len() - most.saturating_sub(GAP.len()).min(words.len()));
    let start = words[start..].find(' ').map_or(start, |blank| start + blank + 1);
    format!("{GAP}{}", &words[start..])
}

/// Writes a check: its command, its recorded status, changes since, and at most `lines` of its decisive lines.
fn tell_check(page: &mut Page, index: &RankingIndex, check: &CheckRun, lines: usize) {
    // The state of the repository is shown by git's output instead.
    let most = match check.kind {
        CheckKind::PullRequest => Some(REQUEST),
        kind => kind.judges().then_some(COMMAND),
    };
    let line = short::words(&plain_command(&check.command));
    let command = most.map(|most| format!("`{}`", short::clip_bytes(&line, most)));
    let status = match (check.success, check.is_own) {
        _ if !check.is_recorded => "no result recorded, may have run",
        (Some(true), true) => "exit status 0",
        (Some(false), true) => "failed",
        (Some(true), false) => "exit status 0 of the whole command line",
        (Some(false), false) => "the whole command line failed",
        (None, _) => "",
    };
    let since = told_since(check.changes_since, "edit", "since");
    let is_status = check.kind == CheckKind::Status;
    let ago = told_since(index.steps_since(check.place.0 as u32), "step", "ago");
    let run = match command {
        Some(command) if status.is_empty() => command,
        Some(command) => format!("{command} → {status}"),
        None => status.to_owned(),
    };
    // Of git, its own lines tell.
    let is_doubtful = check.may_not_have_run && check.kind.judges() && check.is_recorded;
    let doubt = is_doubtful.then(|| "may not have run".to_owned());
    let told = [Some(run), doubt, since, ago].into_iter().flatten();
    let line = told.filter(|told| !told.is_empty()).collect::<Vec<_>>().join(", ");
    if !page.line(&format!("{}{}: ", labels::LAST, check.kind.name()), &line, usize::MAX) {
        return;
    }
    let lines = if is_status && lines > 0 { STATUS } else { lines };
    let printed = index.lines_of(check.place.0 as u32, check.place.1 as u32);
    let begins = |word: &str| printed.iter().position(|line| line.starts_with(word));
    // Git's own lines for a commit, `[main 3f2a9c1] …`, and for a branch; hooks and other commands print before them.
    let first = match check.kind {
        CheckKind::Commit => printed.iter().position(|line| check::is_commit(line)),
        CheckKind::Push => begins("To ").or_else(|| printed.iter().position(|line| line.contains(" -> "))),
        CheckKind::Status => begins("On branch ").or((!printed.is_empty()).then_some(0)),
        _ => None,
    };
    let told: Vec<&str> = match first {
        Some(first) => {
            // The count of one line takes as much room as the line.
            let lines = lines + usize::from(printed.len() - first == lines + 1);
            printed[first..].iter().take(lines).map(String::as_str).collect()
        }
        None if lines == 0 => Vec::new(),
        // A run that succeeded may print errors. Its end is where programs count.
        None if check.is_own && check.success == Some(true) => {
            let end = &printed[printed.len().saturating_sub(lines)..];
            end.iter().map(String::as_str).collect()
        }
        None => evident_lines(&printed, check.kind.judges()),
    };
    // A shorter line behind one that does not fit would read as the next one.
    let fits = told
        .iter()
        .take_while(|line| page.line(labels::UNDER, line, LINE))
        .count();
    let more = printed.len() - first.unwrap_or(0) - fits;
    if is_status && more > 0 {
        page.line(labels::UNDER, &format!("… {more} more lines"), LINE);
    }
}

/// The number of edits or steps since something, in words; `None` if there was none.
fn told_since(count: usize, noun: &str, end: &str) -> Option<String> {
    (count > 0).then(|| format!("{} {end}", counted(count, noun)))
}

/// Lists the files changed by tools, newest first: those since the last commit, then the others; and those of the last
/// change if it failed. If the conversation `is_compacted`, there may be others.
fn tell_files(page: &mut Page, facts: &Facts, most: usize, is_compacted: bool) {
    let label = match (facts.has_commit, is_compacted) {
        (true, _) => labels::UNCOMMITTED,
        (false, true) => labels::CHANGED_LATELY,
        (false, false) => labels::CHANGED,
    };
    let changed = || facts.files.iter().rev().filter(|file| file.is_changed);
    let files = |is_committed: bool| {
        let files = changed().filter(move |file| is_committed == (file.edits == 0));
        files.map(|file| (&*file.path, file.edits))
    };
    list(page, label, files(false), most);
    let label = match files(false).next() {
        Some(_) => labels::COMMITTED,
        None => labels::ALL_COMMITTED,
    };
    list(page, label, files(true), most / 2);
    let label = match is_compacted || changed().next().is_some() {
        true => labels::FAILED_CHANGE,
        false => labels::NO_CHANGE,
    };
    list(page, label, facts.unchanged.iter().map(|path| (&**path, 0)), most);
}

/// Writes a line of files, as many as fit, with the number of edits of those with several: the folder of most of them once,
/// if there are several, and the number of omitted ones.
fn list<'a>(page: &mut Page, label: &str, files: impl Iterator<Item = (&'a str, usize)>, most: usize) {
    let paths = files.filter_map(|(path, edits)| Some((quoting::quotable(path)?, edits)));
    let paths: Vec<_> = paths.filter(|(path, _)| !path.contains('\n')).collect();
    let folder = match &paths[..] {
        [_] => "",
        paths => files::common_folder(paths.iter().map(|(path, _)| &**path)),
    };
    let mut list = match folder {
        "" => String::new(),
        folder => format!("in {folder} "),
    };
    // Those in the folder first, and then the others, whole.
    let (within, others): (Vec<_>, Vec<_>) = paths.iter().partition(|(path, _)| path.starts_with(folder));
    let within = within.into_iter().map(|(path, edits)| (&path[folder.len()..], edits));
    let others = others.into_iter().map(|(path, edits)| (&**path, edits));
    let mut listed = 0;
    for (path, edits) in within.chain(others) {
        let name = match edits {
            0 | 1 => path.to_owned(),
            edits => format!("{path} ({edits} edits)"),
        };
        if listed > 0 && list.len() + name.len() + 2 > most {
            break;
        }
        if listed > 0 {
            list.push_str(", ");
        }
        list.push_str(&name);
        listed += 1;
    }
    if listed > 0 {
        let more = paths.len() - listed;
        if more > 0 {
            let _ = write!(list, ", and {more} more");
        }
        page.line(label, &list, usize::MAX);
    }
}

/// Lines of limited total length.
#[derive(Default)]
struct Page {
    text: String,
    room: usize,
}

impl Page {
    fn of(room: usize) -> Self {
        Page {
            room,
            ..Page::default()
        }
    }

    /// Adds a line with at most `most` bytes of these words; returns false if there is no room.
    fn line(&mut self, label: &str, words: &str, most: usize) -> bool {
        let words = short::words(words);
        let Some(words) = quoting::quotable(&words) else {
            return false;
        };
        let line = format!("{label}{}\n", short::clip_bytes(&words, most));
        if self.text.len() + line.len() > self.room {
            return false;
        }
        self.text.push_str(&line);
        true
    }
}
