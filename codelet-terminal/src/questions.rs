//! A question for permission as it stands above the input: what is asked in a line, and what may be answered.

use crate::answers::{grant, say};
use crate::render::clean::clean;
use crate::render::figures::count;
use crate::render::look::{Look, Role};
use crate::render::permission::{Choice, choices, question};
use crate::render::wrap::clip;
use codelet_agent::asking::Question;
use codelet_agent::permission::Asked;
use ratatui::text::Line;
use std::path::Path;

/// Columns of what always would permit.
const PATTERN: usize = 60;

/// What exactly would be done: printed once, so that it can be scrolled back to. Commands run in this directory.
pub(crate) fn body(look: &Look, asked: &Question, directory: &Path) -> Vec<Line<'static>> {
    let asked = Asked {
        tool: &asked.tool,
        description: &asked.description,
        needs: &asked.needs,
    };
    question(asked, directory, look)
}

/// What always would permit.
pub(crate) fn always(question: &Question) -> String {
    let grants: Vec<String> = question.grants.iter().map(|granted| grant(granted).0).collect();
    grants.join(", ")
}

/// On one line: the whole stands above, where it was asked.
fn shortened(pattern: &str) -> String {
    clip(&clean(pattern, 1).replace('\n', " "), PATTERN)
}

/// How a question stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Stand<'a> {
    /// Keys answer it now.
    pub is_answerable: bool,
    /// Something is written, to which keys belong.
    pub is_writing: bool,
    /// What Enter would answer now.
    pub picked: Option<Choice>,
    /// The reason for a no that is being written.
    pub refusing: Option<&'a str>,
    /// Questions after this one.
    pub waiting: usize,
}

/// What is asked and what may be answered, to stand above the input.
pub(crate) fn options(look: &Look, question: &Question, stand: Stand<'_>) -> Vec<Line<'static>> {
    let what = format!(
        "Permit {} {}?",
        clean(&question.tool, 1),
        clean(&question.description, 1)
    );
    let mut lines = say(look, Role::Warning, &what);
    if let Some(reason) = stand.refusing {
        lines.extend(say(look, Role::Text, &format!("No, because: {reason}▏")));
        lines.extend(say(look, Role::Dim, "Enter tells the model; Esc goes back"));
        return lines;
    }
    if stand.is_writing {
        lines.extend(say(look, Role::Dim, "Send or clear what you are writing, then answer."));
        return lines;
    }
    // Until keys answer, none is shown: they belong to whatever somebody was writing when the question came.
    if !stand.is_answerable {
        lines.push(Line::default());
        return lines;
    }
    if stand.picked == Some(Choice::Always) {
        let pattern = shortened(&always(question));
        lines.extend(say(
            look,
            Role::Text,
            &format!("Always in this session for `{pattern}`?"),
        ));
        lines.extend(say(look, Role::Dim, "Enter says yes; Esc goes back"));
        return lines;
    }
    let pattern = (!question.grants.is_empty()).then(|| shortened(&always(question)));
    lines.extend(choices(pattern.as_deref(), look));
    if stand.waiting > 0 {
        let more = count(stand.waiting as u64, "more question");
        lines.extend(say(look, Role::Dim, &format!("{more} after this one")));
    }
    lines
}
