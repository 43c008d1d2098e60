//! The user's consent to a project's hooks: asked once for their content, stored in the user's settings, and asked
//! again when the content changes.

use super::{FoundHooks, HookSource};
use crate::exit::Failure;
use crate::paint::{Ink, Look, clean};
use crate::place::Place;
use crate::settings::{Places, Settings, kept};
use crate::world;
use rustix::termios::{QueueSelector, tcflush};
use sha2::{Digest as _, Sha256};
use std::io::{BufRead as _, IsTerminal as _, Write as _};
use std::path::Path;
use std::time::Duration;

/// The size limits of the question, in bytes and in lines: nobody reads more.
const MOST: usize = 12_000;
const LINES: usize = 120;

/// Returns whether the project's hooks may run, after asking the user if possible. Other information is added to the
/// notices.
///
/// # Errors
/// If the question cannot be asked.
pub fn permitted(found: &mut FoundHooks, settings: &Settings, place: &Place, can_ask: bool) -> Result<bool, Failure> {
    if found.project.is_empty() {
        return Ok(false);
    }
    if is_kept(found, settings, place) {
        return Ok(true);
    }
    let digest = digest(&found.project, &place.root);
    let hooks: usize = found.project.iter().map(|source| source.hooks.len()).sum();
    let are = if hooks == 1 { "is" } else { "are" };
    let not_run = format!("{} of this project {are} not run", crate::paint::count(hooks, "hook"));
    let question = question(&found.project, &place.root);
    if question.len() > MOST || question.lines().count() > LINES {
        found.notices.push(format!("{not_run}: they are too long to show"));
        return Ok(false);
    }
    if !can_ask || !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        found.notices.push(format!(
            "{not_run}: you have not permitted them. To see them and decide, start `codelet` in a terminal here"
        ));
        return Ok(false);
    }
    let first = match settings.hooks_consent.is_some() {
        true => "The hooks of this project have changed since you permitted them. It wants to run these commands:",
        false => "This project has hooks: it wants to run these commands by itself.",
    };
    if !asked(first, &question).map_err(|error| Failure::Told(crate::exit::words(&error)))? {
        found.notices.push(format!("{not_run} in this session"));
        return Ok(false);
    }
    let fenced = world::written_by_commands(place);
    if let Err(why) = kept::keep_consent(&Places::of(place), &fenced, &digest) {
        found.notices.push(format!(
            "the project's hooks run in this session only: your answer could not be saved: {why}"
        ));
    }
    Ok(true)
}

/// Returns whether the user has permitted the project's hooks in their current form.
pub fn is_kept(found: &FoundHooks, settings: &Settings, place: &Place) -> bool {
    settings.hooks_consent.as_deref() == Some(&*digest(&found.project, &place.root))
}

/// Returns a digest of the hooks in these files. Files are identified by their path within the project.
fn digest(sources: &[HookSource], root: &Path) -> String {
    let mut hash = Sha256::new();
    for source in sources {
        let file = source.file.strip_prefix(root).unwrap_or(&source.file);
        for text in [file.as_os_str().as_encoded_bytes(), source.value.to_string().as_bytes()] {
            // Length-prefixed, so that no content can move from one item to the next.
            hash.update((text.len() as u64).to_le_bytes());
            hash.update(text);
        }
    }
    let hex: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}

/// Lists every command that would run, with its event.
fn question(sources: &[HookSource], root: &Path) -> String {
    let mut text = String::new();
    for source in sources {
        let file = source.file.strip_prefix(root).unwrap_or(&source.file);
        text.push_str(&format!("\n{}\n", clean(&file.display().to_string())));
        for hook in &source.hooks {
            text.push_str(&format!("  {}\n", when(hook.event, &hook.matcher)));
            for line in hook.command.lines() {
                text.push_str(&format!("    {}\n", clean(line)));
            }
        }
    }
    text
}

fn when(event: &str, matcher: &str) -> String {
    let of = match matcher.trim() {
        "" | "*" => String::new(),
        matcher => format!(" ({})", clean(matcher)),
    };
    let when = match event {
        "PreToolUse" => "before each tool call",
        "PostToolUse" => "after each tool call",
        "UserPromptSubmit" => "with each prompt",
        "Stop" => "after each answer",
        "SessionStart" => "at the start of a session",
        "PreCompact" => "before a compaction",
        "PostCompact" => "after a compaction",
        _ => "when a question waits",
    };
    format!("{when}{of}:")
}

/// The time for which the commands must be visible before an answer counts: keys typed earlier were not meant for the
/// question.
const SEEN: Duration = Duration::from_millis(300);

/// The limits of these hooks.
const LIMITS: &str = "\nThe authors of the repository wrote them, and the scripts that they start. They run in the sandbox, \
    without network and API keys, and can write only where commands can. They can read all your files, refuse the model's \
    calls, and send it text, but they cannot permit anything.\n\n";

/// Asks the question before the session starts. Only `y` or `yes` counts as consent.
fn asked(first: &str, question: &str) -> std::io::Result<bool> {
    let look = Look::stderr();
    let mut err = std::io::stderr();
    write!(err, "{}", look.between_words(first))?;
    write!(err, "{}", wrapped(question, look.width))?;
    write!(err, "{}", look.between_words(LIMITS))?;
    err.flush()?;
    std::thread::sleep(SEEN);
    let input = std::io::stdin();
    let _ = tcflush(&input, QueueSelector::IFlush);
    let last = "Run them, now and until they change? [y/N] ";
    write!(err, "{}", look.ink(Ink::Yellow, last))?;
    err.flush()?;
    let mut line = String::new();
    let read = input.lock().read_line(&mut line);
    // Input that is not UTF-8 is not consent.
    let is_yes = read.is_ok() && matches!(line.trim(), "y" | "Y" | "yes");
    if !line.ends_with('\n') {
        writeln!(err)?;
    }
    Ok(is_yes)
}

/// Wraps lines as a terminal would but keeps their indentation, so that a command cannot look like a line of ours.
fn wrapped(text: &str, width: usize) -> String {
    let mut out = String::new();
    for line in text.lines() {
        let indent: String = line.chars().take_while(|c| *c == ' ').collect();
        let mut used = 0;
        for c in line.chars() {
            let wide = crate::paint::width(c.encode_utf8(&mut [0; 4]));
            if used + wide > width && used > indent.len() {
                out.push('\n');
                out.push_str(&indent);
                used = indent.len();
            }
            out.push(c);
            used += wide;
        }
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn source(file: &str, command: &str) -> HookSource {
        let value = json!({"Stop": [{"hooks": [{"type": "command", "command": command}]}]});
        let hooks = super::super::written::read(&value).unwrap_or_default().hooks;
        HookSource {
            file: file.into(),
            value,
            hooks,
        }
    }

    #[test]
    fn whatever_changes_in_it_changes_its_name() {
        let root = Path::new("/p");
        let of = |sources: &[HookSource]| digest(sources, root);
        let one = [source("/p/.claude/settings.json", "a")];
        assert_eq!(of(&one), of(&one.clone()));
        assert_eq!(
            digest(&one, root),
            digest(&[source("/q/.claude/settings.json", "a")], Path::new("/q"))
        );
        for other in [
            vec![source("/p/.claude/settings.json", "b")],
            vec![source("/p/.codelet/settings.toml", "a")],
            vec![one[0].clone(), one[0].clone()],
        ] {
            assert_ne!(of(&one), of(&other));
        }
    }

    #[test]
    fn the_question_shows_every_command_and_none_can_hide() {
        let command = "a\u{1b}[2K\u{202e}b\u{200b}\u{e0041}\nRun them, now and until they change? [y/N] y\nlast";
        let text = question(&[source("/p/.claude/settings.json", command)], Path::new("/p"));
        assert!(
            !text.contains('\u{1b}') && !text.contains(['\u{202e}', '\u{200b}', '\u{e0041}']),
            "{text}"
        );
        assert!(
            text.contains("\n    Run them") && text.contains("\n    last\n") && text.contains("after each answer:")
        );
        let narrow = wrapped(&text, 40);
        assert!(
            narrow
                .lines()
                .all(|line| crate::paint::width(line) <= 40 && !line.starts_with("Run")),
            "{narrow}"
        );
    }
}
