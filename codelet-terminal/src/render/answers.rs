//! Short answers to commands: why something was removed, the to-do list.

use super::clean::clean;
use super::figures::{bytes, number, short};
use super::look::{Look, Role};
use super::wrap::{Breaking, Wrap, clip, columns};
use codelet_context::conversation::Removal;
use codelet_context::todo::{TodoItem, TodoList, TodoState};
use ratatui::text::{Line, Span};

/// Lines of a removed text that are shown.
const LINES: usize = 3;

/// The time and reason of a removal; `None` for an unknown handle.
pub fn why(handle: &str, removal: Option<&Removal<'_>>, look: &Look) -> Vec<Line<'static>> {
    let name = clean(handle, 1).into_owned();
    let Some(removal) = removal else {
        let words = format!(
            "No removed text has the handle {}.",
            if name.is_empty() { "no name" } else { &name }
        );
        return paragraph(&words, Role::Text, look);
    };
    let removed = removal.removed;
    let mut out = vec![Line::from(vec![
        Span::styled(format!("{name}  "), look.style(Role::Accent)),
        Span::raw(clip(
            &format!("{} of {}", bytes(removed.body.len() as u64), clean(&removed.tool, 1)),
            look.width.saturating_sub(name.len() + 2),
        )),
    ])];
    let when = match removal.edit {
        Some((number, edit)) => format!(
            "removed by compaction {number} ({}: {} {} {} tokens) at message {}{}",
            edit.reason.name(),
            short(edit.before),
            look.pick("→", "->"),
            short(edit.after),
            edit.at,
            if edit.is_undone { ", since undone" } else { "" }
        ),
        None => "shortened before it was shown to the model".to_owned(),
    };
    out.extend(paragraph(&format!("{when}; how: {}", removed.reason), Role::Text, look));
    out.extend(paragraph(&format!("/recall {name} shows all of it"), Role::Dim, look));
    let text = removed.body.as_str();
    for line in text[..text.floor_char_boundary(4_096)]
        .lines()
        .filter(|line| !line.trim().is_empty())
        .take(LINES)
    {
        out.push(Line::from(Span::styled(
            format!("  {}", clip(&clean(line, 8), look.width.saturating_sub(2))),
            look.style(Role::Dim),
        )));
    }
    out
}

/// The to-do list.
pub fn todo(list: &TodoList, look: &Look) -> Vec<Line<'static>> {
    let mut out = Vec::new();
    let open = list.items().filter(|item| item.state.is_open()).count();
    let all = list.items().count();
    if all == 0 {
        return paragraph("The to-do list is empty.", Role::Dim, look);
    }
    out.push(Line::from(vec![
        Span::styled("Todo  ", look.style(Role::Accent)),
        Span::styled(
            format!("{} open of {}", number(open as u64), number(all as u64)),
            look.style(Role::Dim),
        ),
    ]));
    list.items().for_each(|item| todo_item(item, look, &mut out));
    out
}

/// An item of the to-do list, with a mark for its state.
pub(super) fn todo_item(item: &TodoItem, look: &Look, out: &mut Vec<Line<'static>>) {
    let (mark, role) = match item.state {
        TodoState::Open => (look.pick("☐ ", "[ ] "), Role::Text),
        TodoState::Active => (look.pick("▶ ", "[>] "), Role::Strong),
        TodoState::Done => (look.pick("☑ ", "[x] "), Role::Dim),
        TodoState::Dropped => (look.pick("☒ ", "[-] "), Role::Dim),
    };
    let margin = super::wrap::columns(mark) + 2;
    let first = vec![Span::styled(format!("  {mark}"), look.style(role))];
    let rest = vec![Span::raw(" ".repeat(margin))];
    Wrap::new(look.prose(), Breaking::Prose, first, rest).all(look.style(role), &clean(&item.text, 4), out);
}

/// A text in a role, wrapped.
pub fn paragraph(text: &str, role: Role, look: &Look) -> Vec<Line<'static>> {
    let mut out = Vec::new();
    for line in text.lines() {
        Wrap::new(look.prose(), Breaking::Prose, Vec::new(), Vec::new()).all(
            look.style(role),
            &clean(line, 4),
            &mut out,
        );
    }
    out
}

/// Adds a title after a blank line, with a note beside it or below.
pub(super) fn heading(title: &str, note: &str, look: &Look, out: &mut Vec<Line<'static>>) {
    out.push(Line::default());
    let title = Span::styled(clip(title, look.width), look.style(Role::Accent));
    if columns(&title.content) + 2 + columns(note) <= look.width {
        let note = Span::styled(format!("  {note}"), look.style(Role::Dim));
        out.push(Line::from(vec![title, note]));
    } else {
        out.push(Line::from(title));
        out.extend(paragraph(note, Role::Dim, look));
    }
}
