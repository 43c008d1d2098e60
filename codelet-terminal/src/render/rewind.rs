//! The prompts that can be gone back to, and the preview of going back to one, as lines.

use super::answers::paragraph;
use super::clean::clean;
use super::diff::Diff;
use super::figures::count;
use super::look::{Look, Role};
use super::wrap::{clip, clip_line};
use codelet_agent::journal::Restore;
use codelet_agent::rewind::told::{NO_PROMPTS, fate};
use codelet_agent::rewind::{PastPrompt, Preview};
use codelet_text::short::{self, words};
use ratatui::text::{Line, Span};

/// Newest prompts that are listed.
pub const LISTED: usize = 20;
/// Maximum lines of changes shown for one file, and for all.
const OF_A_FILE: usize = 60;
const OF_ALL: usize = 300;
/// Maximum files shown by name.
const FILES: usize = 50;
/// Columns of a prompt in a sentence, and characters of one that are read.
const QUOTED: usize = 60;
const LOOKED_AT: usize = 400;

/// The beginning of a prompt, on one line.
fn beginning(text: &str) -> String {
    clean(&words(&short::clip(text, LOOKED_AT)), 1).into_owned()
}

/// The session's last prompts, newest first.
pub fn list(prompts: &[PastPrompt], look: &Look) -> Vec<Line<'static>> {
    if prompts.is_empty() {
        return paragraph(NO_PROMPTS, Role::Text, look);
    }
    let digits = prompts.last().map_or(0, |newest| newest.number.to_string().len());
    let mut lines = Vec::new();
    for prompt in prompts.iter().rev() {
        let number = Span::styled(format!("{:>digits$}  ", prompt.number), look.style(Role::Accent));
        let text = Span::styled(beginning(&prompt.text), look.style(Role::Text));
        lines.push(clip_line(Line::from(vec![number, text]), look.width));
        let about = format!("{}  {}", " ".repeat(digits), clean(&about(prompt, look), 1));
        lines.push(clip_line(Line::styled(about, look.style(Role::Dim)), look.width));
    }
    let older = prompts.first().map_or(0, |oldest| oldest.number - 1);
    if older > 0 {
        let older = format!("{}: 1 to {older}", count(older as u64, "older prompt"));
        lines.extend(paragraph(&older, Role::Dim, look));
    }
    let how = "/rewind NUMBER shows what would change, and asks before it goes back.";
    lines.extend(paragraph(how, Role::Dim, look));
    lines
}

fn about(prompt: &PastPrompt, look: &Look) -> String {
    let about = prompt.about();
    match look.is_plain() {
        true => about.replace(" · ", " | ").replace('−', "-"),
        false => about,
    }
}

/// The preview of going back to this prompt.
pub fn preview(number: usize, preview: &Preview, look: &Look) -> Vec<Line<'static>> {
    let quoted = clip(&beginning(&preview.text), QUOTED);
    let title = format!("Going back to before prompt {number}: {quoted}");
    let mut lines = paragraph(&title, Role::Strong, look);
    lines.extend(paragraph(&preview.conversation(), Role::Text, look));
    let mut left = OF_ALL;
    for restore in preview.restores.iter().take(FILES) {
        lines.push(Line::default());
        lines.extend(file(restore, look, &mut left));
    }
    let more = preview.restores.len().saturating_sub(FILES);
    if more > 0 {
        let more = format!("and {}", count(more as u64, "more file"));
        lines.extend(paragraph(&more, Role::Dim, look));
    }
    if preview.restores.is_empty() {
        lines.extend(paragraph(
            "Edit and Write have not changed any file since.",
            Role::Text,
            look,
        ));
    }
    if let Some(told) = preview.before_the_session() {
        lines.push(Line::default());
        lines.extend(paragraph(told, Role::Warning, look));
    }
    if let Some(told) = preview.uncovered() {
        lines.push(Line::default());
        lines.extend(paragraph(&told, Role::Warning, look));
    }
    lines
}

/// The effect on a file.
fn file(restore: &Restore, look: &Look, left: &mut usize) -> Vec<Line<'static>> {
    let diff = Diff::parse(&restore.diff);
    let mut head = vec![Span::styled(
        format!("{} ", clean(&restore.name, 1)),
        look.style(Role::Strong),
    )];
    if !diff.is_empty() {
        head.extend(diff.summary(look));
    }
    let mut lines = vec![clip_line(Line::from(head), look.width)];
    lines.extend(paragraph(&fate(restore), Role::Warning, look));
    for remark in &diff.remarks {
        lines.extend(paragraph(remark, Role::Dim, look));
    }
    let shown = OF_A_FILE.min(*left);
    if shown > 0 {
        lines.extend(diff.lines(look, shown));
        *left -= diff.rows().min(shown);
    }
    lines
}
