//! A permission question above the input: the question in one line, and its possible answers.

use crate::answers::say;
use crate::decision::Decision;
use crate::field::{Content, FieldView};
use crate::render::clean::clean;
use crate::render::figures::count;
use crate::render::look::{Look, Role};
use crate::render::permission::{Choice, choices, ends, has_between, keyed, question, rest as rest_of, short_choices};
use crate::render::tool::Unfolding;
use crate::render::wrap::{clip, clip_line};
use codelet_agent::asking::{Grant, Question};
use codelet_context::body::Body;
use ratatui::text::{Line, Span};
use std::path::Path;

/// The hint while there is unsent text.
const WRITING: &str = "Send (Enter) or delete (Ctrl-U) your text first, then answer.";
/// Columns for the pattern that "always" would permit.
const PATTERN: usize = 60;

/// The requested action: printed once, so that it can be scrolled back to. Commands run in `directory`.
pub(crate) fn body(look: &Look, asked: &Question, directory: &Path) -> Vec<Line<'static>> {
    question(&asked.facts(directory), look)
}

/// The full text of everything shown in part: changes, commands, and what "always" would permit.
pub(crate) fn rest(look: &Look, asked: &Question) -> Option<Unfolding> {
    let is_folded = is_shortened(asked) && has_between(&extent_rows(look, asked), look);
    let extent = is_folded.then(|| format!("[a] would always allow in this session:\n{}", always(asked)));
    let texts: Vec<String> = rest_of(&asked.needs, look).into_iter().chain(extent).collect();
    let text = (!texts.is_empty()).then(|| texts.join("\n"))?;
    let head = format!("{} {}", asked.tool, asked.description);
    Some(Unfolding::new(&head, Body::new(text), Role::Text))
}

/// The patterns that "always" would permit, on one line: on several, they could imitate another question.
fn always(question: &Question) -> String {
    let grants: Vec<String> = question.grants.iter().map(|granted| granted.named().0).collect();
    clean(&grants.join(", "), 1).replace('\n', "␊")
}

/// The same in words, with patterns formatted by `shown`. The command is shown above and not repeated if only it would
/// be permitted.
pub(crate) fn permitted(question: &Question, shown: impl Fn(&str) -> String) -> String {
    match question.grants.as_slice() {
        [Grant::Line(_)] => "this exact command".to_owned(),
        [Grant::LineWith(_, lack)] => format!("this exact command with {}", lack.named()),
        _ => shown(&always(question)),
    }
}

fn permitted_in_full(question: &Question) -> String {
    permitted(question, |patterns| format!("`{patterns}`"))
}

fn permitted_in_short(question: &Question) -> String {
    permitted(question, |patterns| format!("`{}`", clip(patterns, PATTERN)))
}

/// Returns whether a pattern is longer than the line that offers it can show.
pub(crate) fn is_long(pattern: &str) -> bool {
    clip(pattern, PATTERN) != pattern
}

/// Returns whether what "always" would permit is longer than the line that offers it can show.
pub(crate) fn is_shortened(question: &Question) -> bool {
    permitted_in_short(question) != permitted_in_full(question)
}

/// The state of a question.
pub(crate) struct Stand {
    /// The question itself is printed directly above.
    pub is_above: bool,
    /// Keys answer it now.
    pub is_answerable: bool,
    /// There is unsent text, which keys go to.
    pub is_writing: bool,
    /// The answer that Enter would give now.
    pub picked: Option<Choice>,
    /// The text of an answer that is being typed.
    pub field: Option<FieldView>,
    /// The number of further questions.
    pub waiting: usize,
}

/// The patterns that "always" would permit, to be printed if there may be no room below.
pub(crate) fn extent(look: &Look, question: &Question) -> Vec<Line<'static>> {
    if question.grants.is_empty() {
        return Vec::new();
    }
    let mut told = say(look, Role::Dim, "[a] would always allow in this session:");
    told.extend(ends(extent_rows(look, question), look));
    told
}

fn extent_rows(look: &Look, question: &Question) -> Vec<Line<'static>> {
    framed(look, Role::Dim, &format!("`{}`", always(question)))
}

/// A text of unknown origin, framed since it may fill rows: otherwise its author could choose where a row begins.
pub(crate) fn framed(look: &Look, role: Role, text: &str) -> Vec<Line<'static>> {
    let bar = look.pick("│ ", "| ");
    let narrower = Look {
        width: look.width.saturating_sub(2).max(1),
        ..*look
    };
    let rows = say(&narrower, role, text).into_iter();
    rows.map(|mut row| {
        row.spans.insert(0, Span::styled(bar, look.style(Role::Dim)));
        row
    })
    .collect()
}

/// The question and its answers, in at most `room` rows above the input. The answers have precedence over the question.
pub(crate) fn options(look: &Look, question: &Question, stand: Stand, room: usize) -> Vec<Line<'static>> {
    // Where other lines stand between, a short form says what was asked.
    let called = format!("Allow {} {}", clean(&question.tool, 1), clean(&question.description, 1));
    let what = format!("{}?", clip(&called.replace('\n', " "), look.width.saturating_sub(1)));
    let what = match stand.is_above {
        true => Vec::new(),
        false => say(look, Role::Warning, &what),
    };
    if let Some(field) = stand.field {
        let typed = format!("{}▏{}", field.parts.0, field.parts.1);
        if field.content == Content::Reason {
            let reason = in_sight(room, say(look, Role::Text, &format!("No, because: {typed}")));
            let hint = say(look, Role::Dim, "Enter: send to the model; Esc: back");
            return fitting(look, room, what, reason, hint);
        }
        let pattern = in_sight(room.saturating_sub(1), framed(look, Role::Text, &typed));
        let pattern = [say(look, Role::Text, "Always in this project:"), pattern].concat();
        let hint = match &field.objection {
            None if !field.is_takeable => say(look, Role::Dim, "Esc: back"),
            Some(why) => say(look, Role::Warning, &format!("Not saved: {why}. Edit it; Esc: back")),
            None => say(
                look,
                Role::Dim,
                "* in a word: any text; * at the end: any further words. Enter: save; Esc: back",
            ),
        };
        return fitting(look, room, what, pattern, hint);
    }
    if stand.is_writing {
        let told = say(look, Role::Dim, WRITING);
        return match told.len() < room {
            true => fitting(look, room, what, told, Vec::new()),
            false => fitting(look, room, what, say(look, Role::Dim, "Answer later"), Vec::new()),
        };
    }
    // No answers are shown until keys answer: until then keys belong to the text being typed.
    if !stand.is_answerable {
        return fitting(look, room, what, vec![Line::default()], Vec::new());
    }
    let pattern = (!question.grants.is_empty()).then(|| permitted_in_short(question));
    if let (Some(Choice::Always), Some(pattern)) = (stand.picked, &pattern) {
        let ask = |pattern: &str| say(look, Role::Text, &format!("Always allow {pattern} in this session?"));
        let hint = say(look, Role::Dim, "Enter: yes; Esc: back");
        // In full if there is room, since this is what the user agrees to.
        let whole = ask(&permitted_in_full(question));
        let asked = match whole.len() + hint.len() <= room {
            true => whole,
            false => ask(pattern),
        };
        if what.len() + asked.len() + hint.len() <= room {
            return [what, asked, hint].concat();
        }
        let hint = vec![clip_line(Line::styled("Enter: yes", look.style(Role::Dim)), look.width)];
        return fitting(look, room, asked, hint, Vec::new());
    }
    let mut waiting = Vec::new();
    if stand.waiting > 0 {
        let more = count(stand.waiting as u64, "more question");
        waiting = say(look, Role::Dim, &format!("{more} after this one"));
    }
    let may_be_kept = question.proposal.is_some();
    let full = choices(pattern.as_deref(), may_be_kept, look);
    let answers = match full.len() < room {
        true => full,
        false => vec![short_choices(pattern.is_some(), may_be_kept, look)],
    };
    fitting(look, room, what, answers, waiting)
}

/// The session's own question and its answers, in at most `room` rows.
pub(crate) fn decision(
    look: &Look,
    decision: &Decision,
    (is_answerable, is_writing): (bool, bool),
    room: usize,
) -> Vec<Line<'static>> {
    let what = say(look, Role::Warning, &decision.question);
    if is_writing {
        let told = say(look, Role::Dim, WRITING);
        return fitting(look, room, what, told, Vec::new());
    }
    if !is_answerable {
        return fitting(look, room, what, vec![Line::default()], Vec::new());
    }
    let offered = decision.alternatives.iter();
    let mut answers = keyed(offered.map(|it| (it.letter, it.words.clone())), look);
    if answers.len() >= room {
        let keys: String = decision
            .alternatives
            .iter()
            .map(|it| format!("[{}]", it.letter))
            .collect();
        answers = vec![Line::styled(keys, look.style(Role::Strong))];
    }
    fitting(look, room, what, answers, Vec::new())
}

/// The text being typed, with the cursor kept visible.
fn in_sight(room: usize, mut rows: Vec<Line<'static>>) -> Vec<Line<'static>> {
    let is_cursor = |row: &Line<'_>| row.spans.iter().any(|span| span.content.contains('▏'));
    let cursor = rows.iter().position(is_cursor).unwrap_or_default();
    rows.truncate(room.max(cursor + 1));
    rows
}

/// Fits the rows into `room`: all of `first`, or its end; then the beginning of `what` above it; then `last` below it
/// if all of it fits.
fn fitting(
    look: &Look,
    room: usize,
    mut what: Vec<Line<'static>>,
    mut first: Vec<Line<'static>>,
    last: Vec<Line<'static>>,
) -> Vec<Line<'static>> {
    first.drain(..first.len().saturating_sub(room));
    let left = room - first.len();
    if what.len() > left {
        what.truncate(left);
        if let Some(end) = what.pop() {
            // An ellipsis marks what was cut.
            let mut end = end;
            end.push_span(Span::raw(look.pick(" …", " ...")));
            what.push(clip_line(end, look.width));
        }
    }
    let left = left - what.len();
    let last = if last.len() <= left { last } else { Vec::new() };
    [what, first, last].concat()
}
