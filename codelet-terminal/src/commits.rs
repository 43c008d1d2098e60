//! A commit before and after it is made, as lines.

use crate::answers::say;
use crate::render::clean::clean;
use crate::render::figures::{count, number};
use crate::render::look::{Look, Role};
use crate::render::wrap::clip_line;
use codelet_agent::commit::{Change, Changed, Committable, Made};
use ratatui::text::{Line, Span};
use std::collections::BTreeSet;

/// Files that are listed, and files left out that are listed.
const LISTED_FILES: usize = 40;
const LEFT_OUT: usize = 8;
/// Lines of hook output that are shown.
const PRINTED: usize = 20;

/// The instructions when the message is prefilled in the input, and when it is not.
pub(crate) const FILLED: &str = "Edit the message; Enter commits, Esc cancels. Nothing is pushed.";
pub(crate) const LISTED: &str = "/commit accept commits with this message; /commit accept MESSAGE with yours; anything else cancels. Nothing is pushed.";

/// The heading for files that no tool of the session has written.
const OTHERS: &str =
    "Changed by you or by a command, not by Edit or Write (to leave these out, `! git add` the others):";

/// The action of `/commit`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Wanted<'a> {
    /// Propose a message; these words are instructions for it.
    Propose(&'a str),
    /// Commit, with this message unless it is empty.
    Accept(&'a str),
}

/// Parses the arguments of `/commit`.
pub(crate) fn wanted(arguments: &str) -> Wanted<'_> {
    let (word, rest) = arguments.split_once(char::is_whitespace).unwrap_or((arguments, ""));
    match word.eq_ignore_ascii_case("accept") {
        true => Wanted::Accept(rest.trim()),
        false => Wanted::Propose(arguments.trim()),
    }
}

/// The message with a co-author line.
pub(crate) fn with_co_author(message: &str, co_author: Option<&str>) -> String {
    match co_author {
        Some(author) => format!("{}\n\nCo-authored-by: {author}", message.trim_end()),
        None => message.to_owned(),
    }
}

/// The files that would be committed, those left out, and the hooks and programs that git would run.
pub(crate) fn lines(look: &Look, commit: &Committable, is_shut_in: bool) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    let place = match (&commit.branch, &commit.head) {
        (Some(branch), Some(_)) => format!("on {}", clean(branch, 1)),
        (Some(branch), None) => format!("as the first commit on {}", clean(branch, 1)),
        (None, _) => "on no branch (HEAD is detached)".to_owned(),
    };
    let more = if commit.is_cut { " and more" } else { "" };
    let files = count(commit.files.len() as u64, "file");
    let head = format!("Commit {place}, by {}: {files}{more}", clean(&commit.author, 1));
    lines.extend(say(look, Role::Strong, &head));
    // Staged files were chosen by the user.
    let is_chosen = |file: &Changed| commit.is_staged || file.is_written_here;
    let (chosen, others): (Vec<_>, Vec<_>) = commit.files.iter().partition(|file| is_chosen(file));
    for (at, files) in [chosen, others].into_iter().enumerate() {
        if at == 1 && !files.is_empty() {
            lines.extend(say(look, Role::Warning, OTHERS));
        }
        lines.extend(files.iter().take(LISTED_FILES).map(|file| changed(look, file)));
        let more = files.len().saturating_sub(LISTED_FILES);
        if more > 0 {
            let more = count(more as u64, "more file");
            lines.extend(say(look, Role::Warning, &format!("and {more}; /diff shows them")));
        }
    }
    if commit.is_cut {
        let told = "and more files than can be listed; /diff shows them";
        lines.extend(say(look, Role::Warning, told));
    }
    let without = |what: &str, names: &[String], advice: &str| {
        let listed: Vec<_> = names.iter().take(LEFT_OUT).map(|name| clean(name, 1)).collect();
        let more = match names.len().saturating_sub(LEFT_OUT) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        (!names.is_empty()).then(|| format!("{what}: {}{more}{advice}", listed.join(", ")))
    };
    let left_out = [
        without("Left out, not staged", &commit.left_out, ""),
        without("Left out, untracked", &commit.untracked, " (`! git add` adds them)"),
    ];
    for told in left_out.into_iter().flatten() {
        lines.extend(say(look, Role::Dim, &told));
    }
    let place = match is_shut_in {
        true => "in the commands' sandbox",
        false => "without a sandbox",
    };
    let started = [
        without("Git runs these hooks", &commit.hooks, &format!(", {place}")),
        without(
            "This repository's settings name programs that git may run",
            &commit.programs,
            &format!(", {place}"),
        ),
    ];
    for told in started.into_iter().flatten() {
        lines.extend(say(look, Role::Warning, &told));
    }
    if commit.is_signed {
        lines.extend(say(look, Role::Dim, "Git's settings ask for a signed commit."));
    }
    lines
}

/// A file with its change.
fn changed(look: &Look, file: &Changed) -> Line<'static> {
    let role = match file.change {
        Change::Added => Role::Added,
        Change::Deleted => Role::Removed,
        Change::Modified => Role::Text,
        Change::Retyped => Role::Warning,
    };
    let mut spans = vec![
        Span::styled(format!("  {} ", file.change.letter()), look.style(role)),
        Span::styled(clean(&file.name, 1).into_owned(), look.style(Role::Text)),
    ];
    if let Some((added, removed)) = file.lines {
        spans.push(Span::styled(format!(" +{}", number(added)), look.style(Role::Added)));
        let minus = look.pick("−", "-");
        spans.push(Span::styled(
            format!(" {minus}{}", number(removed)),
            look.style(Role::Removed),
        ));
    }
    if let Some(mode) = &file.mode {
        spans.push(Span::styled(
            format!(" ({})", clean(mode, 1)),
            look.style(Role::Warning),
        ));
    }
    clip_line(Line::from(spans), look.width)
}

/// The message, for when it is not in the input.
pub(crate) fn message(look: &Look, message: &str) -> Vec<Line<'static>> {
    let lines = message.lines().flat_map(|line| match line {
        "" => vec![Line::default()],
        line => say(look, Role::Text, &format!("  {}", clean(line, 4))),
    });
    std::iter::once(Line::default())
        .chain(lines)
        .chain([Line::default()])
        .collect()
}

/// The report of a commit that was made.
pub(crate) fn committed(look: &Look, commit: &Committable, made: &Made, message: &str) -> Vec<Line<'static>> {
    let shown_before: BTreeSet<&str> = commit.files.iter().map(|file| file.name.as_str()).collect();
    let made_of: BTreeSet<&str> = made.files.iter().map(String::as_str).collect();
    let printed: Vec<&str> = made.output.lines().collect();
    let shown = printed.iter().skip(printed.len().saturating_sub(PRINTED));
    let mut lines: Vec<Line<'static>> = shown.flat_map(|line| say(look, Role::Dim, &clean(line, 8))).collect();
    let branch = commit.branch.as_deref().unwrap_or("no branch");
    let files = count(made.files.len() as u64, "file");
    let told = format!(
        "Committed {} on {}: {} ({files}). Nothing was pushed.",
        clean(&made.id, 1),
        clean(branch, 1),
        clean(&made.subject, 1)
    );
    lines.extend(say(look, Role::Good, &told));
    // Git's subject: the first paragraph on one line.
    let paragraph = message.trim().lines().take_while(|line| !line.trim().is_empty());
    let subject = paragraph.map(str::trim).collect::<Vec<_>>().join(" ");
    let is_other = made.subject != subject;
    if is_other || !commit.is_cut && made_of != shown_before {
        let names: Vec<_> = made
            .files
            .iter()
            .take(LISTED_FILES)
            .map(|name| clean(name, 1))
            .collect();
        let told = format!(
            "Hooks changed the commit. It contains: {}{}",
            names.join(", "),
            if made.files.len() > LISTED_FILES { ", …" } else { "" }
        );
        lines.extend(say(look, Role::Warning, &told));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_word_accept_commits() {
        for (arguments, expected) in [
            ("", Wanted::Propose("")),
            ("mention issue 12", Wanted::Propose("mention issue 12")),
            ("accepted by QA", Wanted::Propose("accepted by QA")),
            ("accept", Wanted::Accept("")),
            ("accept\nFix it\n\nBecause.", Wanted::Accept("Fix it\n\nBecause.")),
        ] {
            assert_eq!(wanted(arguments), expected, "{arguments}");
        }
    }

    #[test]
    fn a_co_author_stands_in_a_paragraph_of_its_own() {
        assert_eq!(with_co_author("Fix\n", None), "Fix\n");
        assert_eq!(
            with_co_author("Fix\n\nWhy.\n", Some("Codelet <a@b>")),
            "Fix\n\nWhy.\n\nCo-authored-by: Codelet <a@b>"
        );
    }

    #[test]
    fn files_that_only_others_have_changed_are_listed_under_their_heading_however_many_there_are() {
        let files = (0..45).map(|number| Changed {
            change: Change::Modified,
            name: format!("{number}.txt"),
            path: "".into(),
            lines: None,
            mode: None,
            is_written_here: number < 42,
        });
        let commit = Committable {
            files: files.collect(),
            ..Committable::default()
        };
        let told: Vec<String> = lines(&Look::plain(200), &commit, true)
            .iter()
            .map(ToString::to_string)
            .collect();
        assert!(told[0].ends_with(": 45 files"), "{}", told[0]);
        assert_eq!(told[1..=40].iter().filter(|line| line.ends_with(".txt")).count(), 40);
        assert_eq!(told[41], "and 2 more files; /diff shows them");
        assert_eq!(told[42], OTHERS);
        assert_eq!(told[43..], ["  M 42.txt", "  M 43.txt", "  M 44.txt"]);
    }

    #[test]
    fn what_hooks_have_made_of_a_commit_is_said() {
        let file = |name: &str| Changed {
            change: Change::Modified,
            name: name.to_owned(),
            path: name.into(),
            lines: None,
            mode: None,
            is_written_here: true,
        };
        let commit = Committable {
            files: vec![file("a.txt")],
            ..Committable::default()
        };
        let told = |subject: &str, files: &[&str]| {
            let made = Made {
                subject: subject.to_owned(),
                files: files.iter().map(|&name| name.to_owned()).collect(),
                ..Made::default()
            };
            let lines = committed(&Look::plain(200), &commit, &made, "Mend\nit\n\nBecause.");
            lines.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
        };
        assert!(!told("Mend it", &["a.txt"]).contains("Hooks"));
        for (subject, files) in [("Mend it", &["a.txt", "b.txt"][..]), ("Other", &["a.txt"])] {
            let told = told(subject, files);
            assert!(told.contains("Hooks changed the commit. It contains: a.txt"), "{told}");
        }
    }
}
