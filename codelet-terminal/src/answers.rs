//! The output of commands as lines: pure functions of the session.

use crate::command::{self, COMMANDS, Said};
use crate::front::Activity;
use crate::notes;
use crate::pins;
use crate::render::clean::clean;
use crate::render::cost;
use crate::render::figures::{count, number};
use crate::render::look::{Look, Role};
use crate::render::wrap::{Breaking, Wrap, columns, fit, line_columns};
use crate::render::{answers as told, context};
use codelet_agent::asking::{Asking, Grant, Question, Word};
use codelet_agent::permission::{Gate as _, Permission, without_definition};
use codelet_agent::prompts::{PromptSpec, usage};
use codelet_agent::session::Session;
use codelet_context::message::{Message, Origin, Part};
use codelet_context::notice::Notice;
use codelet_context::pin::Pin;
use codelet_context::tokens::estimate_bytes;
use codelet_text::short::{clip, words};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use std::fmt::Write as _;

/// Lines of a recalled text that are shown; the full text can be exported or read by the model.
const RECALLED: usize = 40;
/// Columns of a message in a list.
const QUOTE: usize = 60;
/// Columns of a call in the line that remains of an answered question.
const ANSWERED: usize = 40;
/// Prompts listed as candidates for pinning.
const LISTED: usize = 8;

/// The keys and their meanings.
const KEYS: [(&str, &str); 15] = [
    ("Enter", "send; while the model works: queue"),
    ("Alt-Enter, Shift-Enter, \\ Enter", "a new line"),
    ("Esc, Ctrl-C", "interrupt; when idle: clear the input (Up restores it)"),
    ("Ctrl-C twice on an empty line, Ctrl-D, exit", "quit"),
    ("Up, Down", "previous inputs; queued ones first"),
    ("Ctrl-R", "search previous inputs"),
    ("Tab", "complete a /command, its argument, or an @file"),
    ("Shift-Tab", "switch between the permissions plan, read and edit"),
    ("!command", "run a shell command; the model sees its output"),
    ("@file", "mention a file; pictures are attached"),
    ("Ctrl-_", "undo the last edit"),
    ("Ctrl-U", "delete to the start of the line, also while the model works"),
    ("Ctrl-G", "edit the prompt in $EDITOR"),
    (
        "Ctrl-O",
        "expand the last collapsed output; again: the one before it (/more all: in full)",
    ),
    ("Ctrl-Z", "suspend; fg resumes"),
];

/// The inputs of a line-based session and their meanings.
const LINES: [(&str, &str); 6] = [
    ("a line", "is sent; while the model works: queued"),
    ("a line that ends in \\", "continues on the next line"),
    ("Ctrl-C", "interrupt; twice when idle: quit"),
    ("exit, Ctrl-D", "quit"),
    ("!command", "run a shell command; the model sees its output"),
    ("@file", "mention a file; pictures are attached"),
];

/// Sentences wrapped to the width. Line ends in the text are kept.
pub fn say(look: &Look, role: Role, text: &str) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    for paragraph in text.trim_end().split('\n') {
        wrapped(look, role, "", paragraph, &mut lines);
    }
    lines
}

/// A text after a label, with a hanging indent.
fn wrapped(look: &Look, role: Role, label: &str, text: &str, lines: &mut Vec<Line<'static>>) {
    let indent = columns(label);
    let first = vec![Span::styled(label.to_owned(), look.style(Role::Accent))];
    let rest = vec![Span::raw(" ".repeat(indent))];
    Wrap::new(look.width, Breaking::Prose, first, rest).all(look.style(role), &clean(text, 4), lines);
}

/// Two columns: a word and its description. In a narrow terminal, one below the other.
fn table(look: &Look, rows: &[(String, String)], lines: &mut Vec<Line<'static>>) {
    // A long word gets its own line, or it would push all others to the right.
    let room = look.width / 3;
    let widths = rows
        .iter()
        .map(|(word, _)| columns(word))
        .filter(|width| *width <= room);
    let widest = widths.max().unwrap_or(0);
    for (word, text) in rows {
        if columns(word) <= widest {
            let label = format!("  {}  ", fit(&clean(word, 4), widest));
            wrapped(look, Role::Text, &label, text, lines);
        } else {
            Wrap::indented(look.width, Breaking::Prose).all(look.style(Role::Accent), &clean(word, 4), lines);
            wrapped(look, Role::Text, "      ", text, lines);
        }
    }
}

/// Lines laid out in columns; those too wide for a narrow window are wrapped.
fn fitting(look: &Look, lines: Vec<Line<'static>>) -> Vec<Line<'static>> {
    let mut out = Vec::with_capacity(lines.len());
    for line in lines {
        if line_columns(&line) <= look.width {
            out.push(line);
            continue;
        }
        let mut wrap = Wrap::new(look.width, Breaking::Exact, Vec::new(), vec![Span::raw("  ")]);
        for span in &line.spans {
            wrap.push(line.style.patch(span.style), &span.content, &mut out);
        }
        wrap.finish(&mut out);
    }
    out
}

fn heading(look: &Look, text: &str) -> Line<'static> {
    Line::from(Span::styled(text.to_owned(), look.style(Role::Strong)))
}

/// A suffix for queued input that is no prompt, saying when it runs.
pub fn queued(said: &str, doing: Activity) -> &'static str {
    match (command::read(said), doing) {
        (Said::Command(..) | Said::Shell(_), Activity::Servers) => " (runs when the session has started)",
        (Said::Command(..) | Said::Shell(_), _) => " (runs after this turn)",
        _ => "",
    }
}

/// The commands, those of files and servers' prompts, and the keys.
pub fn help(look: &Look, prompts: &[PromptSpec]) -> Vec<Line<'static>> {
    let mut lines = vec![heading(look, "Commands")];
    let commands: Vec<(String, String)> = COMMANDS
        .iter()
        .map(|entry| {
            if entry.is_replaced(prompts) {
                let told = "replaced by your own command of this name, below";
                return (format!("/{}", entry.word), told.to_owned());
            }
            let word = format!("/{} {}", entry.word, entry.arguments);
            (word.trim_end().to_owned(), entry.help.to_owned())
        })
        .collect();
    table(look, &commands, &mut lines);
    lines.push(Line::default());
    let (files, served): (Vec<&PromptSpec>, Vec<_>) = prompts.iter().partition(|prompt| prompt.author.is_some());
    for (title, offered) in [("Commands of files", files), ("Prompts of MCP servers", served)] {
        if !offered.is_empty() {
            lines.push(heading(look, title));
            let offered = offered.iter().map(|prompt| (usage(prompt), prompt.description.clone()));
            table(look, &offered.collect::<Vec<_>>(), &mut lines);
            lines.push(Line::default());
        }
    }
    let (title, keys): (&str, &[(&str, &str)]) = match look.is_plain() {
        true => ("Lines", &LINES),
        false => ("Keys", &KEYS),
    };
    lines.push(heading(look, title));
    let keys: Vec<(String, String)> = keys
        .iter()
        .map(|(key, does)| ((*key).to_owned(), (*does).to_owned()))
        .collect();
    table(look, &keys, &mut lines);
    lines
}

/// The cost of the session, and the cache breaks.
pub fn cost(look: &Look, session: &Session) -> Vec<Line<'static>> {
    let lines = cost::cost(
        (session.bill(), session.tasks()),
        session.model().profile().price.is_some(),
        session.conversation().breaks(),
        look,
    );
    fitting(look, lines)
}

/// The to-do list.
pub fn todo(look: &Look, session: &Session) -> Vec<Line<'static>> {
    fitting(look, told::todo(session.conversation().todo(), look))
}

/// The model's notes, then the user's, numbered.
pub fn notes(look: &Look, session: &Session) -> Vec<Line<'static>> {
    let (written, added) = (session.conversation().notes(), notes::added(session));
    if written.is_empty() && added.is_empty() {
        return say(
            look,
            Role::Dim,
            "No notes yet. The model writes them; /notes add SENTENCE adds one of yours.",
        );
    }
    let added = added.iter().map(|pin| format!("yours: {}", pin_name(session, pin)));
    let lines = written.iter().map(|note| note.line()).chain(added);
    let rows: Vec<(String, String)> = lines.zip(1..).map(|(line, at)| (at.to_string(), line)).collect();
    let mut lines = vec![heading(look, "Notes (kept by every compaction)")];
    table(look, &rows, &mut lines);
    fitting(look, lines)
}

/// Finds a handle in text that the user may have copied: bare, or with the rest of its marker.
fn handle(session: &Session, words: &str) -> Option<String> {
    let archive = session.conversation().archive();
    words
        .split(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '_')
        .find(|word| !word.is_empty() && archive.get(word).is_some())
        .map(str::to_owned)
}

fn unknown_handle(look: &Look, words: &str, command: &str) -> Vec<Line<'static>> {
    if words.is_empty() {
        return say(
            look,
            Role::Warning,
            &format!("Usage: /{command} HANDLE; /context lists the largest items."),
        );
    }
    say(look, Role::Warning, &format!("No removed text has the handle {words}."))
}

/// The text removed from the context under a handle.
pub fn recall(look: &Look, session: &Session, words: &str) -> Vec<Line<'static>> {
    let Some(handle) = handle(session, words) else {
        return unknown_handle(look, words, "recall");
    };
    let text = session.conversation().recall(&handle, None).unwrap_or_default();
    let total = text.lines().count();
    let mut lines = Vec::new();
    let tool = session
        .conversation()
        .archive()
        .get(&handle)
        .map(|removed| removed.tool.clone());
    let dot = look.pick(" · ", " - ");
    let head = format!(
        "{}{dot}{handle}{dot}{} in {}",
        tool.as_deref().unwrap_or("?"),
        count(text.len() as u64, "byte"),
        count(total as u64, "line")
    );
    lines.extend(say(look, Role::Accent, &head));
    let show = |text: &str, lines: &mut Vec<Line<'static>>| {
        // A single endless line must not fill the screen.
        let shown: String = text.chars().take(look.width * 4).collect();
        Wrap::indented(look.width, Breaking::Exact).all(Style::new(), &clean(&shown, 4), lines);
    };
    if total <= RECALLED {
        text.lines().for_each(|line| show(line, &mut lines));
    } else {
        text.lines()
            .take(RECALLED * 2 / 3)
            .for_each(|line| show(line, &mut lines));
        let (left_out, dots) = (total - RECALLED, look.pick("…", "..."));
        lines.extend(say(
            look,
            Role::Dim,
            &format!("  {dots} {} between {dots}", count(left_out as u64, "line")),
        ));
        let tail: Vec<&str> = text.lines().rev().take(RECALLED - RECALLED * 2 / 3).collect();
        tail.into_iter().rev().for_each(|line| show(line, &mut lines));
    }
    lines
}

/// The summary that replaced older messages, or its end, where the current state stands; an error for any other argument.
pub fn summary(look: &Look, session: &Session, words: &str) -> Result<Vec<Line<'static>>, Vec<Line<'static>>> {
    let is_all = match words {
        "" => false,
        "all" => true,
        _ => return Err(say(look, Role::Warning, "/summary or /summary all")),
    };
    let messages = &session.conversation().view().messages;
    let texts = messages.iter().flat_map(|message| &message.parts);
    let summaries: Vec<&str> = texts
        .filter_map(|part| match part {
            Part::Text(text) if text.origin == Origin::Summary => Some(text.body.as_str()),
            _ => None,
        })
        .collect();
    if summaries.is_empty() {
        let said = session.conversation().history().messages();
        let is_whole =
            messages.len() == said.len() && messages.iter().zip(said).all(|(shown, said)| shown.parts == said.parts);
        let told = match is_whole {
            true => "There is no summary: nothing was compacted, and the model sees the whole conversation.",
            false => "There is no summary: only old outputs were trimmed or removed. /context shows which.",
        };
        return Ok(say(look, Role::Text, told));
    }
    let text = summaries.join("\n");
    let total = text.lines().count();
    let dot = look.pick(" · ", " - ");
    let head = format!(
        "Summary{dot}about {}{dot}{}{dot}in place of older messages",
        count(estimate_bytes(text.len()), "token"),
        count(total as u64, "line"),
    );
    let mut lines = say(look, Role::Accent, &head);
    let shown = if is_all { total } else { total.min(RECALLED) };
    if shown < total {
        let (earlier, dots) = (count((total - shown) as u64, "earlier line"), look.pick("…", "..."));
        lines.extend(say(
            look,
            Role::Dim,
            &format!("  {dots} {earlier}; /summary all shows them"),
        ));
    }
    for line in text.lines().skip(total - shown) {
        let role = match line.as_bytes() {
            [b'#', b' ', ..] => Role::Strong,
            [b'=', b' ', ..] => Role::Dim,
            _ => Role::Text,
        };
        Wrap::indented(look.prose(), Breaking::Prose).all(look.style(role), &clean(line, 4), &mut lines);
    }
    Ok(lines)
}

/// The step and reason of a removal from the context.
pub fn why(look: &Look, session: &Session, words: &str) -> Vec<Line<'static>> {
    if words.is_empty() {
        return unknown_handle(look, words, "why");
    }
    let lines = match handle(session, words) {
        Some(handle) => told::why(&handle, session.conversation().why(&handle).as_ref(), look),
        None => told::why(words, None, look),
    };
    fitting(look, lines)
}

/// The pins, and what can be pinned.
pub fn pins(look: &Look, session: &Session) -> Vec<Line<'static>> {
    let conversation = session.conversation();
    let mut lines = Vec::new();
    if conversation.pins().is_empty() {
        lines.extend(say(look, Role::Dim, "Nothing is pinned."));
    } else {
        lines.push(heading(look, "Pinned"));
        let rows: Vec<(String, String)> = conversation
            .pins()
            .iter()
            .enumerate()
            .map(|(at, pin)| ((at + 1).to_string(), pin_name(session, pin)))
            .collect();
        table(look, &rows, &mut lines);
    }
    let prompts: Vec<(String, String)> = conversation
        .history()
        .messages()
        .iter()
        .enumerate()
        .filter(|(_, message)| message.is_prompt())
        .map(|(at, message)| (format!("#{at}"), quote(message)))
        .collect();
    if !prompts.is_empty() {
        lines.push(heading(look, "Prompts you can pin (/pin #NUMBER)"));
        let from = prompts.len().saturating_sub(LISTED);
        table(look, &prompts[from..], &mut lines);
    }
    fitting(look, lines)
}

fn quote(message: &Message) -> String {
    let mut text = String::new();
    for part in &message.parts {
        match part {
            Part::Text(words) => text.push_str(words.body.as_str()),
            Part::ToolCall(call) => {
                let _ = write!(text, "{} ", call.tool);
            }
            Part::ToolResult(result) => result.texts().for_each(|words| text.push_str(words.body.as_str())),
            _ => {}
        }
        if text.len() > QUOTE * 4 {
            break;
        }
    }
    shortened(&text)
}

pub(crate) fn shortened(text: &str) -> String {
    let head: String = text.chars().take(QUOTE * 2).collect();
    clip(&words(&head), QUOTE).into_owned()
}

/// The current model, and the other known ones.
pub fn models(look: &Look, session: &Session, known: &[String]) -> Vec<Line<'static>> {
    let profile = session.model().profile();
    let mut lines = say(
        look,
        Role::Text,
        &format!(
            "{}: context window {} tokens, maximum output {} tokens.",
            profile.name,
            number(profile.window),
            number(profile.max_output)
        ),
    );
    if !known.is_empty() {
        lines.extend(say(
            look,
            Role::Dim,
            &format!("Switch with /model PROVIDER/NAME. Known: {}", known.join(", ")),
        ));
    }
    lines
}

/// The meaning of a new permission, in a line.
pub fn permits(permission: Permission) -> &'static str {
    match permission {
        Permission::Plan => "Plan mode: the model only reads, and answers with a plan.",
        Permission::Read => "Permission read: everything but reading the workspace asks first.",
        Permission::Edit => "Permission edit: everything but reading and changing files in the workspace asks first.",
        Permission::All => "Permission all: everything runs without asking.",
    }
}

/// The current permission and its meaning.
pub fn permission(look: &Look, gate: &Asking) -> Vec<Line<'static>> {
    let permission = gate.permission();
    let means = match permission {
        Permission::Plan => {
            "the model only reads, and answers with a plan; /plan accept carries it out, /plan off leaves plan mode"
        }
        Permission::Read => "reading the workspace is allowed; everything else asks first",
        Permission::Edit => {
            "reading and changing files in the workspace is allowed; other commands and everything outside ask first. \
             Commands run in a sandbox: they can write only to the workspace and the directories of the `write` setting, and cannot use other programs' \
             sockets, or the network unless the `network` setting is on. Commands that only read the workspace run without asking"
        }
        Permission::All => "everything runs without asking, and commands run without a sandbox",
    };
    let mut lines = say(look, Role::Text, &format!("{permission}: {means}."));
    let (allowed, granted) = gate.granted();
    let mut rows: Vec<(String, String)> = allowed
        .into_iter()
        .map(|pattern| {
            (
                without_definition(&pattern).to_owned(),
                "allowed by the settings".to_owned(),
            )
        })
        .collect();
    rows.extend(granted.iter().map(|granted| {
        let (what, means) = granted.named();
        (what, format!("{means}, for this session"))
    }));
    table(look, &rows, &mut lines);
    lines
}

/// The line that remains of an answered question; none if the line of its call says the same.
pub fn answered(question: &Question, word: &Word) -> Option<String> {
    let what = clip(&words(&format!("{} {}", question.tool, question.description)), ANSWERED).into_owned();
    // The calls of a task have no line.
    let of_task = |told: String| question.task.as_ref().map(|_| told);
    match word {
        Word::Once => of_task(format!("allowed once: {what}")),
        Word::Always => {
            let grants = question.grants.iter().map(|granted| match granted {
                Grant::Line(_) | Grant::LineWith(..) => format!("exactly {what}"),
                granted => match granted.named() {
                    (pattern, "may be run") => pattern,
                    (what, means) => format!("{what} {means}"),
                },
            });
            Some(format!(
                "allowed in this session: {}",
                grants.collect::<Vec<_>>().join("; ")
            ))
        }
        Word::No(None) => of_task(format!("refused: {what}")),
        Word::No(Some(reason)) | Word::Unasked(reason) => {
            of_task(format!("refused: {what} · {}", clip(&words(reason), QUOTE)))
        }
    }
}

/// A description of what a pin keeps.
pub fn pin_name(session: &Session, pin: &Pin) -> String {
    let messages = session.conversation().history().messages();
    match pin {
        Pin::Message(index) if let Some(file) = pins::file_of(session, pin) => {
            format!("{file}, as it was read in message #{index}")
        }
        Pin::Text(_) if let Some(file) = pins::file_of(session, pin) => {
            format!("{file}, as it was when it was pinned")
        }
        Pin::Message(index) => format!(
            "message #{index}: {}",
            messages.get(*index).map_or(String::new(), |message| quote(message))
        ),
        Pin::Text(text) => shortened(text),
    }
}

/// The contents of the context window.
pub fn context(look: &Look, session: &Session) -> Vec<Line<'static>> {
    let tools = context::weight(session.tools());
    let lines = context::context(session.conversation(), &session.model().profile().name, tools, look);
    fitting(look, lines)
}

/// The result of a dry-run compaction.
pub fn dry_run(look: &Look, notice: &Notice) -> Vec<Line<'static>> {
    let mut notice = notice.clone();
    // A dry run cannot be undone.
    notice.can_undo = false;
    notice.warnings.retain(|warning| !warning.repeats_the_notice());
    let told = notice.to_string();
    let told = told.strip_prefix("Context compacted: ").unwrap_or(&told);
    let mut lines = say(look, Role::Accent, &format!("Dry run, nothing was changed: {told}"));
    if notice.changed {
        lines.extend(say(look, Role::Dim, "/compact does it; /context shows what goes."));
    }
    lines
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::render::look::{Background, Styles};
    use crate::render::wrap::line_text;
    use codelet_agent::environment::Nowhere;
    use codelet_agent::model::Profile;
    use codelet_agent::permission::Rules;
    use codelet_agent::scripted::Scripted;
    use codelet_agent::session::{Parts, Settings};
    use codelet_context::conversation::Due;
    use codelet_context::message::{Role as Speaker, ToolCall, ToolResult};
    use codelet_context::policy::Reason;
    use std::sync::Arc;

    /// A compacted session in which files with long names were read.
    fn session() -> Session {
        let parts = Parts {
            model: Arc::new(Scripted::new(Profile::unknown("a-vendor/a-model-with-a-long-name"), [])),
            tools: Vec::new(),
            gate: Arc::new(Rules::default()),
            world: Arc::new(Nowhere),
        };
        let mut session = Session::new(parts, Settings::default());
        let conversation = session.conversation_mut();
        for turn in 0..6 {
            conversation.append(Message::new(
                Speaker::User,
                vec![Part::text(format!(
                    "Please read the {turn}th file, 日本語 and all, which has a long name."
                ))],
            ));
            let call = ToolCall::new(format!("call_{turn}"), "Read", serde_json::Map::new());
            conversation.append(Message::new(Speaker::Assistant, vec![Part::ToolCall(call)]));
            let text = format!("src/a_folder/of_files/file_{turn}.rs: a line of words\n").repeat(400);
            let result = ToolResult::new(format!("call_{turn}"), Some(true), text.as_str());
            conversation.append(Message::results(vec![result]));
        }
        conversation.pin(Pin::Text(
            "never use tabs in the comments of a Makefile, whatever it says".to_owned(),
        ));
        for rule in 0..30 {
            conversation.pin(Pin::Text(format!("rule {rule} of this house")));
        }
        conversation.compact(Due::whole(Reason::Asked)).unwrap();
        session
    }

    #[test]
    fn the_summary_is_shown_to_a_bound_or_to_its_end() {
        let look = Look::new(80, Styles::Monochrome, Background::Dark);
        let mut session = session();
        let text = |lines: Vec<Line<'_>>| lines.iter().map(|line| line_text(line) + "\n").collect::<String>();
        let (short, all) = (
            text(summary(&look, &session, "").unwrap()),
            text(summary(&look, &session, "all").unwrap()),
        );
        assert!(
            short.starts_with("Summary · about ")
                && short
                    .lines()
                    .nth(1)
                    .unwrap()
                    .ends_with(" earlier lines; /summary all shows them"),
            "{short}"
        );
        let end = short.lines().rev().take(RECALLED);
        assert!(end.eq(all.lines().rev().take(RECALLED)));
        assert!(
            all.lines().count() > short.lines().count() && all.contains("never use tabs"),
            "{all}"
        );
        assert!(summary(&look, &session, "everything").is_err());
        assert!(session.conversation_mut().undo_compact());
        assert!(text(summary(&look, &session, "").unwrap()).starts_with("There is no summary"));
    }

    #[test]
    fn what_commands_answer_is_never_wider_than_the_window() {
        let session = session();
        let handle = session
            .conversation()
            .archive()
            .iter()
            .next()
            .unwrap()
            .0
            .as_str()
            .to_owned();
        let (gate, _questions) = Asking::new(Rules::default());
        let known: Vec<String> = vec!["anthropic/a-model-with-a-very-long-name-indeed-2026".to_owned()];
        for width in 16..100 {
            let look = Look::new(width, Styles::Colour, Background::Dark);
            let answers = [
                help(&look, &[]),
                cost(&look, &session),
                summary(&look, &session, "all").unwrap(),
                todo(&look, &session),
                context(&look, &session),
                recall(&look, &session, &handle),
                why(&look, &session, &handle),
                pins(&look, &session),
                models(&look, &session, &known),
                permission(&look, &gate),
                dry_run(&look, &session.compact_dry(None).unwrap()),
            ];
            for line in answers.iter().flatten() {
                assert!(line_columns(line) <= width, "{width}: {:?}", line_text(line));
            }
        }
    }
}
