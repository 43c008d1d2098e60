//! A permission question: exactly what would run or change, and the answers. None of them is a default.

use super::clean::clean;
use super::diff::Diff;
use super::figures::count;
use super::look::{Look, Role};
use super::wrap::{Breaking, Wrap, clip, columns};
use codelet_agent::question::Fact;
use codelet_agent::tool::Need;
use ratatui::text::{Line, Span};
use std::path::Path;

/// Changed lines shown at once where the rest can be unfolded, as the question explains.
const CHANGED: usize = 400;
/// Rows of a command or a pattern shown at once where the rest can be unfolded; for longer ones, the first and the last
/// rows. With the answers they fit a small screen, so that nothing pushes what matters out of sight.
const ROWS: usize = 12;
const FIRST: usize = 6;
const LAST: usize = 5;
/// The hint on how to see the rest.
const UNFOLD: &str = "Press Ctrl-O to see all of it before you answer.";

/// An answer that the user may give.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Choice {
    /// Allow this call.
    Once,
    /// Allow in this session whatever matches the pattern.
    Always,
    /// Allow in this project whatever matches a pattern that can be edited first.
    Project,
    /// Refuse.
    No,
    /// Refuse, with a reason for the model.
    NoBecause,
}

impl Choice {
    /// All answers, in display order.
    pub const ALL: [Choice; 5] = [
        Choice::Once,
        Choice::Always,
        Choice::Project,
        Choice::No,
        Choice::NoBecause,
    ];

    /// The key of the answer.
    pub fn key(self) -> char {
        match self {
            Choice::Once => 'y',
            Choice::Always => 'a',
            Choice::Project => 'p',
            Choice::No => 'n',
            Choice::NoBecause => 'r',
        }
    }

    /// The answer of a key, ignoring case; `None` for any other key.
    pub fn of_key(key: char) -> Option<Choice> {
        Choice::ALL
            .into_iter()
            .find(|choice| choice.key() == key.to_ascii_lowercase())
    }
}

/// The text that a person reads before answering. Where [`rest`] can be unfolded, a long change shows its beginning,
/// and a long command both ends; otherwise everything is shown.
pub fn question(facts: &[Fact<'_>], look: &Look) -> Vec<Line<'static>> {
    let mut out = Vec::new();
    for fact in facts {
        match fact {
            Fact::Task(task) => {
                let told = format!("For the task \"{}\":", clean(task, 1));
                out.push(Line::styled(clip(&told, look.width), look.style(Role::Accent)));
            }
            Fact::Asks(title) => titled(title, look, &mut out),
            Fact::Warning(text) => warning(&clean(text, 1), look, &mut out),
            Fact::Exact(text, _) => exactly(text, look, &mut out),
            Fact::Change(diff) => change(diff, look, &mut out),
        }
    }
    out
}

/// The changes that the question shows in full.
pub(crate) fn shown_whole(needs: &[Need], look: &Look) -> Vec<Diff> {
    let changes = needs.iter().filter_map(|need| match need {
        Need::Change { diff, .. } => Some(Diff::parse(diff)),
        _ => None,
    });
    changes
        .filter(|diff| look.is_plain() || diff.rows() <= CHANGED)
        .collect()
}

/// The full text of whatever the question showed in part; `None` if it showed everything.
pub fn rest(needs: &[Need], look: &Look) -> Option<String> {
    if look.is_plain() {
        return None;
    }
    let whole = needs.iter().filter_map(|need| {
        let (path, diff) = match need {
            Need::Change { path, diff, .. } => (path, diff),
            Need::Run { command: text, .. }
            | Need::RunWith { command: text, .. }
            | Need::Fetch { url: text, .. }
            | Need::Call { parameters: text, .. } => return (written(text, look).len() > ROWS).then(|| text.clone()),
            Need::Read { .. } => return None,
        };
        let read = Diff::parse(diff);
        let end = match read.left_out() {
            Some(told) => format!("\n{} {told}", look.pick("…", "...")),
            None => String::new(),
        };
        (read.rows() > CHANGED).then(|| format!("{}\n{}{end}", shown(path), diff.trim_end_matches('\n')))
    });
    let whole: Vec<String> = whole.collect();
    (!whole.is_empty()).then(|| whole.join("\n"))
}

/// Both ends of rows that are too many to be shown at once, with the number of rows between them; all of them where
/// nothing can be unfolded.
pub fn ends(mut rows: Vec<Line<'static>>, look: &Look) -> Vec<Line<'static>> {
    if look.is_plain() || rows.len() <= ROWS {
        return rows;
    }
    let between = FIRST..rows.len() - LAST;
    let told = format!("{} {}", look.pick("…", "..."), count(between.len() as u64, "more row"));
    rows.splice(between, [Line::styled(told, look.style(Role::Warning))]);
    rows
}

/// Returns whether [`ends`] leaves out some of these rows.
pub fn has_between(rows: &[Line<'_>], look: &Look) -> bool {
    !look.is_plain() && rows.len() > ROWS
}

/// The answers, on as many rows as they need. `pattern` is what an answer for the session would allow; without one it
/// is not offered, and neither is an answer for the project unless `may_be_kept`.
pub fn choices(pattern: Option<&str>, may_be_kept: bool, look: &Look) -> Vec<Line<'static>> {
    let offered = Choice::ALL.into_iter().filter_map(|choice| {
        let words = match (choice, pattern) {
            (Choice::Once, _) => "yes, once".to_owned(),
            (Choice::Always, Some(pattern)) => format!("yes, always in this session for {}", clean(pattern, 1)),
            (Choice::Project, _) if may_be_kept => "always in this project …".to_owned(),
            (Choice::Always, None) | (Choice::Project, _) => return None,
            (Choice::No, _) => "no".to_owned(),
            (Choice::NoBecause, _) => "no, because …".to_owned(),
        };
        Some((choice.key(), words))
    });
    keyed(offered, look)
}

/// Answers with their keys, on as many rows as they need.
pub(crate) fn keyed(answers: impl Iterator<Item = (char, String)>, look: &Look) -> Vec<Line<'static>> {
    let mut wrap = Wrap::new(look.width, Breaking::Prose, Vec::new(), vec![Span::raw("  ")]);
    let mut out = Vec::new();
    for (at, (key, words)) in answers.enumerate() {
        if at > 0 {
            wrap.push(look.style(Role::Dim), look.pick(" · ", " | "), &mut out);
        }
        // Keeps a key with its label.
        wrap.push(look.style(Role::Strong), &format!("[{key}]"), &mut out);
        wrap.push(look.style(Role::Text), &format!("\u{a0}{words}"), &mut out);
    }
    wrap.finish(&mut out);
    out
}

/// The answers on one row, with labels if there is room, otherwise only the keys.
pub fn short_choices(may_always: bool, may_be_kept: bool, look: &Look) -> Line<'static> {
    let offered = || {
        Choice::ALL.into_iter().filter(|choice| match choice {
            Choice::Always => may_always,
            Choice::Project => may_be_kept,
            _ => true,
        })
    };
    let word = |choice| match choice {
        Choice::Once => "yes",
        Choice::Always => "always",
        Choice::Project => "project",
        Choice::No => "no",
        Choice::NoBecause => "no, why",
    };
    let worded: Vec<String> = offered()
        .map(|choice| format!("[{}] {}", choice.key(), word(choice)))
        .collect();
    let keys: Vec<String> = offered().map(|choice| format!("[{}]", choice.key())).collect();
    let fitting = [worded.join(" "), keys.join(" ")]
        .into_iter()
        .find(|row| columns(row) <= look.width);
    Line::styled(fitting.unwrap_or_else(|| keys.concat()), look.style(Role::Strong))
}

fn titled(title: &str, look: &Look, out: &mut Vec<Line<'static>>) {
    let mark = Span::styled("? ", look.style(Role::Warning));
    Wrap::new(look.width, Breaking::Exact, vec![mark], vec![Span::raw("  ")]).all(
        look.style(Role::Strong),
        &clean(title, 1),
        out,
    );
}

/// A command exactly as it would run, with invisible characters made visible; a long one shows both ends and a hint on
/// how to see the rest.
fn exactly(command: &str, look: &Look, out: &mut Vec<Line<'static>>) {
    let rows = written(command, look);
    let is_folded = has_between(&rows, look);
    out.extend(ends(rows, look));
    if is_folded {
        warning(UNFOLD, look, out);
    }
}

/// All rows of a command.
fn written(command: &str, look: &Look) -> Vec<Line<'static>> {
    let mut out = Vec::new();
    for line in command.split('\n') {
        let bar = Span::styled(look.pick("│ ", "| "), look.style(Role::Warning));
        Wrap::new(look.width, Breaking::Exact, vec![bar.clone()], vec![bar]).all(
            look.style(Role::Code),
            &clean(line, 8),
            &mut out,
        );
    }
    out
}

fn change(diff: &str, look: &Look, out: &mut Vec<Line<'static>>) {
    let read = Diff::parse(diff);
    for remark in &read.remarks {
        warning(&format!("{}.", clean(remark, 1)), look, out);
    }
    if read.is_empty() {
        return;
    }
    let mut summary = vec![Span::raw("  ")];
    summary.extend(read.summary(look));
    out.push(Line::from(summary));
    if look.is_plain() {
        return out.extend(read.lines(look, usize::MAX));
    }
    out.extend(read.lines(look, CHANGED));
    if read.rows() > CHANGED {
        let told = match read.left_out() {
            None => UNFOLD,
            Some(_) => "Press Ctrl-O to see more of it before you answer.",
        };
        warning(told, look, out);
    }
}

fn warning(text: &str, look: &Look, out: &mut Vec<Line<'static>>) {
    Wrap::indented(look.width, Breaking::Prose).all(look.style(Role::Warning), text, out);
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::look::{Background, Styles};
    use crate::render::wrap::line_text;
    use codelet_agent::permission::{Asked, Permission};
    use codelet_agent::question::facts;
    use codelet_agent::tool::Looking;

    fn asked(tool: &str, needs: &[Need], look: &Look) -> Vec<Line<'static>> {
        let asked = Asked {
            call: "call_1",
            task: None,
            tool,
            description: "a",
            needs,
            wary: None,
        };
        question(&facts(asked, Permission::Edit, Path::new("/work")), look)
    }

    /// The part of a change shown with its question, and the part that is unfolded.
    fn shown_of(diff: String) -> (String, Option<String>) {
        let look = Look::new(80, Styles::Colour, Background::Dark);
        let needs = [Need::Change {
            path: "/work/a".into(),
            is_inside: true,
            owner: None,
            diff,
        }];
        let lines: Vec<String> = asked("Edit", &needs, &look).iter().map(line_text).collect();
        (lines.join("\n"), rest(&needs, &look))
    }

    /// A diff that shows `lines` added lines, of `all`.
    fn added(lines: usize, all: usize) -> String {
        let stat = match all > lines {
            true => format!("1 file changed, {all} insertions(+), 0 deletions(-)\n"),
            false => String::new(),
        };
        let rows: String = (1..=lines).map(|n| format!("+row {n}\n")).collect();
        format!("{stat}--- a\n+++ a\n@@ -0,0 +1,{lines} @@\n{rows}")
    }

    #[test]
    fn a_tool_that_is_described_otherwise_than_the_permitted_one_is_told() {
        let look = Look::new(80, Styles::Colour, Background::Dark);
        let shown = |is_changed: bool| {
            let needs = [Need::Call {
                server: "files".to_owned(),
                tool: "files__stat".to_owned(),
                definition: "d".to_owned(),
                is_changed,
                parameters: "{}".to_owned(),
            }];
            let lines = asked("files__stat", &needs, &look);
            lines.iter().map(line_text).collect::<Vec<_>>().join("\n")
        };
        assert!(
            shown(true).contains("changed its description of this tool since you allowed it"),
            "{}",
            shown(true)
        );
        assert!(!shown(false).contains("permitted"), "{}", shown(false));
    }

    #[test]
    fn what_no_key_unfolds_is_told_with_the_question_and_where_the_unfolded_ends() {
        let (question, rest) = shown_of(added(2_000, 90_000));
        assert!(question.contains("… 1,600 more lines; 88,000 more changed lines are not shown"));
        assert!(
            question.ends_with("Press Ctrl-O to see more of it before you answer."),
            "{question}"
        );
        let rest = rest.unwrap_or_default();
        assert!(
            rest.ends_with("+row 2000\n… 88,000 more changed lines are not shown"),
            "{rest}"
        );

        let (question, rest) = shown_of(added(401, 401));
        assert!(
            question.ends_with("Press Ctrl-O to see all of it before you answer."),
            "{question}"
        );
        assert!(rest.is_some_and(|rest| rest.ends_with("+row 401")));

        // The few long lines that fit are all shown, and no key shows more.
        let (question, rest) = shown_of(added(30, 31));
        assert!(question.ends_with("… 1 more changed line is not shown"), "{question}");
        assert_eq!(rest, None);
    }

    /// The rows of a question about a command, and the text that is unfolded.
    fn asked_to_run(command: &str, look: &Look) -> (Vec<String>, Option<String>) {
        let needs = [Need::Run {
            command: command.to_owned(),
            folder: String::new(),
            looks: Looking::Outside,
        }];
        let rows = asked("Bash", &needs, look);
        (rows.iter().map(line_text).collect(), rest(&needs, look))
    }

    #[test]
    fn of_a_long_command_both_ends_are_shown_with_how_to_see_all_of_it() {
        let look = Look::new(80, Styles::Colour, Background::Dark);
        let comments = "# nothing\n".repeat(1_500);
        let many_lines = format!("echo begin\n{comments}rm -rf ~\n{comments}echo end");
        let many_columns = format!("echo begin {} echo end", "x ".repeat(100_000));
        for command in [many_lines, many_columns] {
            let (rows, whole) = asked_to_run(&command, &look);
            assert!(rows.len() <= 14, "{}", rows.len());
            let told = rows.join("\n");
            assert!(told.contains("echo begin") && told.contains("echo end"), "{told}");
            assert!(told.contains(" more rows") && told.ends_with(UNFOLD), "{told}");
            assert_eq!(whole.as_ref(), Some(&command));
            // Where no key can unfold it, everything is shown.
            let (rows, whole) = asked_to_run(&command, &Look::plain(80));
            let letters = |text: &str| text.chars().filter(|c| c.is_alphanumeric()).count();
            assert_eq!(letters(&rows[1..].concat()), letters(&command));
            assert_eq!(whole, None);
        }
        let (rows, whole) = asked_to_run(&["true"; ROWS].join("\n"), &look);
        assert_eq!((rows.len(), whole), (ROWS + 1, None));
    }

    #[test]
    fn a_question_says_who_asks_why_and_that_under_read_a_command_changes_nothing() {
        let look = Look::new(100, Styles::Colour, Background::Dark);
        let needs = [Need::Run {
            command: "make".to_owned(),
            folder: "sub".to_owned(),
            looks: Looking::Outside,
        }];
        let asked = Asked {
            call: "call_1",
            task: Some("tidy\u{202e} up"),
            tool: "Bash",
            description: "a",
            needs: &needs,
            wary: Some("a hook\u{1b}[2J says so"),
        };
        let rows = question(&facts(asked, Permission::Read, Path::new("/work")), &look);
        let rows: Vec<String> = rows.iter().map(line_text).collect();
        assert_eq!(
            rows.join("\n").replace("\n  cannot", " cannot"),
            "For the task \"tidy‹U+202E› up\":\n? Allow Bash to run this command in /work/sub?\n  Under the permission read it runs in a \
             sandbox without network, and cannot change the workspace.\n│ make\n  a hook␛[2J says so"
        );
    }

    #[test]
    fn a_change_without_lines_is_what_its_remark_says() {
        let (question, _) = shown_of("… A new, empty file\n".to_owned());
        assert!(question.ends_with("A new, empty file."), "{question}");
        assert!(!question.contains("No change:"), "{question}");
        let (question, _) = shown_of(String::new());
        assert!(question.contains("No change:"), "{question}");
    }
}
