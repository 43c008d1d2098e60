//! A question for permission, as lines: what exactly would be done, and what may be answered.

use crate::answers::{self, grant, say};
use crate::render::clean::clean;
use crate::render::look::{Look, Role};
use crate::render::wrap::{Breaking, Wrap};
use codelet_agent::asking::Question;
use codelet_agent::tool::Need;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

/// Lines of a diff or a command that are shown with a question.
const ASKED: usize = 200;

/// What exactly would be done: printed once, so that it can be scrolled back to.
pub(crate) fn body(look: &Look, question: &Question) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    for need in &question.needs {
        let tool = clean(&question.tool, 1);
        match need {
            Need::Read { path, .. } => {
                let head = format!("{tool} wants to look at {}", path.display());
                lines.extend(say(look, Role::Warning, &head));
            }
            Need::Change { path, diff, .. } => {
                let head = format!("{tool} wants to change {}", path.display());
                lines.extend(say(look, Role::Warning, &head));
                let role = |line: &str| match line.as_bytes().first() {
                    Some(b'+') => Role::Added,
                    Some(b'-') => Role::Removed,
                    _ => Role::Text,
                };
                exactly(look, diff, role, &mut lines);
            }
            Need::Call { server, parameters, .. } => {
                let head = format!("{tool} of the server {} is to be called with", clean(server, 1));
                lines.extend(say(look, Role::Warning, &head));
                exactly(look, parameters, |_| Role::Text, &mut lines);
            }
            Need::Run { command } => {
                lines.extend(say(look, Role::Warning, &format!("{tool} wants to run")));
                exactly(look, command, |_| Role::Text, &mut lines);
            }
        }
    }
    lines
}

fn exactly(look: &Look, text: &str, role: impl Fn(&str) -> Role, lines: &mut Vec<Line<'static>>) {
    let total = text.lines().count();
    for line in text.lines().take(ASKED) {
        let indent = || vec![Span::raw("  ")];
        let mut wrap = Wrap::new(look.width, Breaking::Exact, indent(), indent());
        let style: Style = look.style(role(line));
        wrap.push(style, &clean(line, 4), lines);
        wrap.finish(lines);
    }
    if total > ASKED {
        let more = answers::count(total - ASKED, "more line");
        lines.extend(say(look, Role::Warning, &format!("  and {more} that are not shown")));
    }
}

/// What always would permit.
pub(crate) fn always(question: &Question) -> String {
    let grants: Vec<String> = question
        .grants
        .iter()
        .map(|granted| {
            let (what, means) = grant(granted);
            format!("{} {means}", clean(&what, 1))
        })
        .collect();
    grants.join(", ")
}

/// How a question stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Stand<'a> {
    /// Keys answer it now.
    pub is_answerable: bool,
    /// Something is written, to which keys belong.
    pub is_writing: bool,
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
        lines.extend(say(look, Role::Text, &format!("  No, because: {reason}▏")));
        lines.extend(say(look, Role::Dim, "  Enter tells the model; Esc goes back"));
        return lines;
    }
    if stand.is_writing {
        lines.extend(say(
            look,
            Role::Dim,
            "  Send or clear what you are writing, then answer.",
        ));
        return lines;
    }
    if !stand.is_answerable {
        lines.push(Line::default());
        return lines;
    }
    let mut option = |key: &str, text: &str| {
        let first = vec![Span::styled(format!("  {key}  "), look.style(Role::Accent))];
        let mut wrap = Wrap::new(look.width, Breaking::Prose, first, vec![Span::raw("     ")]);
        wrap.push(look.style(Role::Text), text, &mut lines);
        wrap.finish(&mut lines);
    };
    option("y", "yes, this once");
    option("a", &format!("always in this session: {}", always(question)));
    option("n", "no");
    option("r", "no, with a reason for the model");
    if stand.waiting > 0 {
        let more = answers::count(stand.waiting, "more question");
        lines.extend(say(look, Role::Dim, &format!("  {more} after this one")));
    }
    lines
}
