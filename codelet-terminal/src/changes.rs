//! Uncommitted changes as lines, in the same layout as all other changes to files.

use crate::answers::say;
use crate::render::clean::clean;
use crate::render::diff::Diff;
use crate::render::figures::count;
use crate::render::look::{Look, Role};
use crate::render::wrap::clip_line;
use codelet_agent::environment::Uncommitted;
use codelet_text::unified;
use ratatui::text::{Line, Span};

/// Maximum lines shown for one file, and for all.
const OF_A_FILE: usize = 200;
const OF_ALL: usize = 600;
/// New file names that are listed.
const NAMED: usize = 50;
/// The beginning of each file's part of the diff.
const BEGINS: &str = "diff --git ";

/// The changes to all files or to the requested one, followed by untracked files.
pub(crate) fn lines(look: &Look, told: &Uncommitted, asked: Option<&str>) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    let mut left = OF_ALL;
    let files = unified::files(&told.diff);
    for (at, file) in files.iter().enumerate() {
        if left == 0 {
            let more = count((files.len() - at) as u64, "more changed file");
            lines.extend(say(look, Role::Dim, &format!("{more}; /diff FILE shows one")));
            break;
        }
        let diff = Diff::parse(file);
        let mut head = vec![Span::styled(
            format!("{} ", clean(&name(file), 1)),
            look.style(Role::Strong),
        )];
        match diff.is_empty() {
            true => head.push(Span::styled(what(file), look.style(Role::Dim))),
            false => head.extend(diff.summary(look)),
        }
        if let Some(mode) = mode(file) {
            head.push(Span::styled(format!(" ({mode})"), look.style(Role::Warning)));
        }
        lines.push(clip_line(Line::from(head), look.width));
        let shown = left.min(OF_A_FILE);
        lines.extend(diff.lines(look, shown));
        left -= diff.rows().min(shown);
    }
    if !told.untracked.is_empty() {
        lines.extend(say(look, Role::Strong, "Untracked files:"));
        let names = told.untracked.iter().take(NAMED);
        lines.extend(names.flat_map(|name| say(look, Role::Text, &format!("  {}", clean(name, 1)))));
        let more = told.untracked.len().saturating_sub(NAMED);
        if more > 0 {
            lines.extend(say(
                look,
                Role::Dim,
                &format!("  and {}", count(more as u64, "more file")),
            ));
        }
    }
    if told.is_cut {
        lines.extend(say(
            look,
            Role::Warning,
            "Not everything is shown; /diff FILE shows one file.",
        ));
    }
    if lines.is_empty() {
        let words = match asked {
            Some(file) => format!("{} has no changes since the last commit.", clean(file, 1)),
            None => "Nothing has changed since the last commit.".to_owned(),
        };
        lines = say(look, Role::Text, &words);
    }
    lines
}

/// The lines of a part before its first hunk.
fn head(file: &str) -> impl Iterator<Item = &str> {
    file.lines().take_while(|line| !line.starts_with("@@ "))
}

/// The file's current name, or its last one.
fn name(file: &str) -> String {
    let of = |begins: &str| head(file).find_map(|line| line.strip_prefix(begins));
    let name = of("+++ b/").or(of("--- a/")).or(of("rename to "));
    let name = name.or_else(|| {
        // This line contains the same name twice.
        let both = head(file).next()?.strip_prefix(BEGINS)?;
        both.get(2..both.len() / 2)
    });
    // Git appends a tab to a name that contains a space.
    name.unwrap_or_default().trim_end_matches('\t').to_owned()
}

/// Git's description of a mode that changes, or that is not a regular file's.
fn mode(file: &str) -> Option<String> {
    let is_told = |line: &&str| {
        line.starts_with("old mode ")
            || line.starts_with("new mode ")
            || line.starts_with("new file mode ") && !line.ends_with(" 100644")
            || line.starts_with("deleted file mode ") && line.ends_with(" 120000")
    };
    let told: Vec<String> = head(file)
        .filter(is_told)
        .map(|line| clean(line, 1).into_owned())
        .collect();
    (!told.is_empty()).then(|| told.join(", "))
}

/// Describes a change without visible lines.
fn what(file: &str) -> &'static str {
    let has = |begins: &str| head(file).any(|line| line.starts_with(begins));
    if has("Binary files ") {
        "is not text"
    } else if has("rename ") {
        "was renamed"
    } else if has("new file ") {
        "is new and empty"
    } else if has("deleted ") {
        "was deleted"
    } else {
        "has another mode"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::look::Styles;

    fn shown(told: &Uncommitted) -> String {
        let look = Look::new(60, Styles::Monochrome, crate::render::look::Background::Dark);
        let lines = lines(&look, told, None).into_iter().map(|line| line.to_string());
        lines.collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn each_file_is_named_with_what_became_of_it() {
        let diff = "diff --git a/a b.rs b/a b.rs\nindex 1..2 100644\n--- a/a b.rs\t\n+++ b/a b.rs\t\n@@ -1 +1,2 @@\n one\n+diff --git a/x b/x\n\
            diff --git a/gone b/gone\ndeleted file mode 100644\n--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-two\n\
            diff --git a/run.sh b/run.sh\nold mode 100644\nnew mode 100755\n\
            diff --git a/to b/to\nnew file mode 120000\n--- /dev/null\n+++ b/to\n@@ -0,0 +1 @@\n+/etc/passwd\n\
            diff --git a/pic.png b/pic.png\nBinary files a/pic.png and b/pic.png differ\n";
        let told = Uncommitted {
            diff: diff.to_owned(),
            untracked: vec!["new\u{1b}[31m".to_owned()],
            is_cut: false,
        };
        let shown = shown(&told);
        for words in [
            "a b.rs +1 −0",
            "+ diff --git a/x b/x",
            "gone +0 −1",
            "run.sh has another mode (old mode 100644, new mode 100755)",
            "gone +0 −1\n",
            "to +1 −0 (new file mode 120000)",
            "pic.png is not text",
            "Untracked files:",
        ] {
            assert!(shown.contains(words), "{words}: {shown}");
        }
        assert!(!shown.contains('\u{1b}'));
    }

    #[test]
    fn many_changes_are_counted() {
        let hunk = format!("@@ -0,0 +1,500 @@\n{}", "+line\n".repeat(500));
        let file = |name: usize| format!("diff --git a/{name} b/{name}\n--- a/{name}\n+++ b/{name}\n{hunk}");
        let told = Uncommitted {
            diff: (0..9).map(file).collect(),
            ..Uncommitted::default()
        };
        let shown = shown(&told);
        assert!(
            shown.contains("300 more lines") && shown.ends_with("6 more changed files; /diff FILE shows one"),
            "{shown}"
        );
    }
}
