//! The prompts that can be gone back to, and what going back to one comes to, as lines.

use crate::answers::say;
use crate::render::clean::clean;
use crate::render::diff::Diff;
use crate::render::figures::count;
use crate::render::look::{Look, Role};
use crate::render::wrap::{clip, clip_line};
use codelet_agent::journal::Restore;
use codelet_agent::rewind::told::{NO_PROMPTS, fate};
use codelet_agent::rewind::{PastPrompt, Preview};
use codelet_text::short::words;
use ratatui::text::{Line, Span};

/// Prompts that are listed, the newest.
const LISTED: usize = 20;
/// Lines of the changes of one file, and of all, that are shown.
const OF_A_FILE: usize = 60;
const OF_ALL: usize = 300;
/// Columns of a prompt in a sentence.
const QUOTED: usize = 60;

/// A prompt in a few words.
pub(crate) fn quoted(text: &str) -> String {
    clip(&clean(&words(text), 1), QUOTED)
}

/// The prompts, newest first.
pub(crate) fn list(look: &Look, prompts: &[PastPrompt]) -> Vec<Line<'static>> {
    if prompts.is_empty() {
        return say(look, Role::Text, NO_PROMPTS);
    }
    let digits = prompts.len().to_string().len();
    let mut lines = Vec::new();
    for prompt in prompts.iter().rev().take(LISTED) {
        let number = Span::styled(format!("{:>digits$}  ", prompt.number), look.style(Role::Accent));
        let text = Span::styled(clean(&words(&prompt.text), 1).into_owned(), look.style(Role::Text));
        lines.push(clip_line(Line::from(vec![number, text]), look.width));
        let about = format!("{}  {}", " ".repeat(digits), clean(&about(look, prompt), 1));
        lines.push(clip_line(Line::styled(about, look.style(Role::Dim)), look.width));
    }
    let older = prompts.len().saturating_sub(LISTED);
    if older > 0 {
        let older = format!("{}: 1 to {older}", count(older as u64, "older prompt"));
        lines.extend(say(look, Role::Dim, &older));
    }
    let how = "/rewind NUMBER shows what going back to before that prompt changes, and asks.";
    lines.extend(say(look, Role::Dim, how));
    lines
}

fn about(look: &Look, prompt: &PastPrompt) -> String {
    let about = prompt.about();
    match look.is_plain() {
        true => about.replace(" · ", " | ").replace('−', "-"),
        false => about,
    }
}

/// What going back to this prompt comes to.
pub(crate) fn preview(look: &Look, number: usize, preview: &Preview) -> Vec<Line<'static>> {
    let title = format!("Going back to before prompt {number}: {}", quoted(&preview.text));
    let mut lines = say(look, Role::Strong, &title);
    lines.extend(say(look, Role::Text, &preview.conversation()));
    let mut left = OF_ALL;
    for restore in &preview.restores {
        lines.extend(file(look, restore, &mut left));
    }
    if preview.restores.is_empty() {
        lines.extend(say(
            look,
            Role::Text,
            "No file that the tools have changed is to be put back.",
        ));
    }
    if let Some(told) = preview.uncovered() {
        lines.extend(say(look, Role::Warning, &told));
    }
    lines
}

/// What would become of a file.
fn file(look: &Look, restore: &Restore, left: &mut usize) -> Vec<Line<'static>> {
    let diff = Diff::parse(&restore.diff);
    let mut head = vec![Span::styled(
        format!("{} ", clean(&restore.name, 1)),
        look.style(Role::Strong),
    )];
    if !diff.is_empty() {
        head.extend(diff.summary(look));
    }
    let mut lines = vec![clip_line(Line::from(head), look.width)];
    let fate = fate(restore);
    if !fate.is_empty() {
        lines.extend(say(look, Role::Warning, &format!("  {fate}")));
    }
    for remark in &diff.remarks {
        lines.extend(say(look, Role::Dim, &format!("  {remark}")));
    }
    let shown = OF_A_FILE.min(*left);
    if shown > 0 {
        lines.extend(diff.lines(look, shown));
        *left -= diff.rows().min(shown);
    }
    lines
}
