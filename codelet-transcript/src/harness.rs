//! Recognizes text that harnesses write in the user's name: their tags and phrases, in any file format.
//!
//! Text of a harness is not a prompt; text that a user types always is. So a tag counts only if nothing else is next to
//! it, and a phrase only if it begins a message in a way that hardly anyone would type.

/// Tags of the blocks that harnesses put next to the user's text.
#[rustfmt::skip]
const BLOCKS: [&str; 16] = [
    "system-reminder", "system_reminder", "environment_details", "environment_context", "environment_info", "workspace_info",
    "session_context", "user_info", "user_instructions", "project_layout", "git_status", "reminderInstructions",
    "editorContext", "open_and_recently_viewed_files", "skills_instructions", "apps_instructions",
];
/// Messages that Codex adds in the user role: their beginnings and ends. Codex itself recognizes them by these.
const FRAGMENTS: [(&str, &str); 13] = [
    ("# AGENTS.md instructions", "</INSTRUCTIONS>"),
    ("<environment_context>", "</environment_context>"),
    ("<user_instructions>", "</user_instructions>"),
    ("<skill>", "</skill>"),
    ("<user_shell_command>", "</user_shell_command>"),
    ("<turn_aborted>", "</turn_aborted>"),
    ("<subagent_notification>", "</subagent_notification>"),
    ("<permissions instructions>", "</permissions instructions>"),
    ("<collaboration_mode>", "</collaboration_mode>"),
    ("<hook_prompt", "</hook_prompt>"),
    // Tags around a pasted image.
    ("<image name=", ">"),
    ("<image>", "<image>"),
    ("</image>", "</image>"),
];
/// The fragments that nobody types: they report events.
const EVENTS: [&str; 4] = [
    "<skill>", "<user_shell_command>", "<turn_aborted>", "<subagent_notification>",
];
/// Tags of Claude Code's notes, each around a whole text.
#[rustfmt::skip]
const NOTES: [&str; 10] = [
    "bash-input", "bash-stderr", "bash-stdout", "ide_diagnostics", "ide_opened_file", "ide_selection", "local-command-caveat",
    "local-command-stderr", "local-command-stdout", "task-notification",
];
/// Texts that Claude Code writes in the user role when the user interrupts it. They match only a whole text, exactly.
const INTERRUPTIONS: [&str; 2] = [
    "[Request interrupted by user]",
    "[Request interrupted by user for tool use]",
];
/// Replies of harnesses to a reply without a parsable action: the beginning, and another phrase in it.
const COMPLAINTS: [(&str, &str); 7] = [
    // mini-swe-agent.
    (
        "Please always provide EXACTLY ONE action in triple backticks, found ",
        " actions.",
    ),
    ("Tool call error:\n\n<error>", "Every response needs to use the"),
    // SWE-agent.
    (
        "Your output was not formatted correctly.",
        "one discussion and one command",
    ),
    // Cline, Roo Code and their forks.
    (
        "[ERROR] You did not use a tool in your previous response!",
        "Please retry with a tool use.",
    ),
    // OpenHands.
    (
        "Please continue working on the task on whatever approach you think is suitable.",
        "If you think you have solved the task",
    ),
    // Aider.
    (
        "# 1 SEARCH/REPLACE block failed to match!",
        "The SEARCH section must exactly match",
    ),
    // Open Interpreter.
    (
        "Proceed. You CAN run code on my machine.",
        "say exactly 'The task is done.'",
    ),
];
/// The maximum nesting of elements of one name.
const DEEPEST: usize = 32;
/// The beginnings of messages about the project that some harnesses send before the first prompt.
const OPENINGS: [&str; 5] = [
    // Aider.
    "I have *added these files to the chat*",
    "I have added these files to the chat",
    "Here are summaries of some files present in my git repo",
    "Here are some READ ONLY files, provided for your reference",
    "Here are some files that I have added to the chat",
];

/// Returns whether a text consists only of blocks that harnesses put next to the user's text.
pub(crate) fn is_block(text: &str) -> bool {
    is_all(text, |name| BLOCKS.contains(&name))
}

fn is_all(text: &str, is_it: impl Fn(&str) -> bool) -> bool {
    let mut rest = text.trim();
    let mut is_any = false;
    while let Some((name, _, behind)) = block(rest) {
        if !is_it(name) {
            return false;
        }
        is_any = true;
        rest = behind;
    }
    is_any && rest.is_empty()
}

/// Splits off the tagged block that a text begins with: its name, its content, and the text after it.
fn block(text: &str) -> Option<(&str, &str, &str)> {
    let inside = text.strip_prefix('<')?;
    let end = inside.find(|c: char| !(c.is_ascii_alphanumeric() || c == '-' || c == '_'))?;
    let (name, inside) = inside.split_at(end);
    let (attributes, inside) = inside.split_once('>')?;
    if name.is_empty() || !attributes.is_empty() && (!attributes.starts_with(' ') || attributes.contains(['<', '\n'])) {
        return None;
    }
    let (inside, behind) = element(inside, name)?;
    Some((name, inside, behind.trim_start()))
}

/// Returns the content of an element after its opening tag, and the text after its end. Elements of the same name may
/// be nested up to [`DEEPEST`] levels; if they cannot be matched, the first closing tag ends the element.
fn element<'a>(behind: &'a str, name: &str) -> Option<(&'a str, &'a str)> {
    let (open, close) = (format!("<{name}"), format!("</{name}>"));
    let first = behind.find(&close)?;
    let mut depth = 1_usize;
    let mut at = 0;
    let mut end = first;
    while let Some(tag) = behind[at..].find('<') {
        let rest = &behind[at + tag..];
        if rest
            .strip_prefix(&open)
            .is_some_and(|rest| rest.starts_with(['>', ' ']))
        {
            depth += 1;
            // Without this limit, a text that opens more tags than it closes would be scanned to its end for each
            // element.
            if depth > DEEPEST {
                break;
            }
        } else if rest.starts_with(&close) {
            depth -= 1;
            if depth == 0 {
                end = at + tag;
                break;
            }
        }
        at += tag + 1;
    }
    Some((&behind[..end], &behind[end + close.len()..]))
}

/// Returns whether a message in the user role is context that Codex adds, by its beginning and end.
pub(crate) fn is_fragment(text: &str) -> bool {
    let text = text.trim();
    // An image tag is a single tag.
    let is_tag = || text.matches('<').count() == 1;
    FRAGMENTS
        .iter()
        .any(|(head, tail)| text.starts_with(head) && text.ends_with(tail) && (!head.contains("image") || is_tag()))
}

/// Returns whether it reports an event in a tag that nobody types.
pub(crate) fn is_event(text: &str) -> bool {
    is_fragment(text) && EVENTS.iter().any(|event| text.trim_start().starts_with(event))
}

/// Returns whether a text is only Claude Code's note: of a command of its own that the user gave without further words,
/// of what such a command or one of the shell printed, of what is open in the editor, or of a task.
pub(crate) fn is_note(text: &str) -> bool {
    let text = text.trim();
    let argued = || text.split_once("<command-args>").map(|(_, rest)| rest.trim_start());
    let is_bare = || argued().is_none_or(|rest| rest.starts_with("</command-args>"));
    is_command(text) && text.ends_with('>') && is_bare() || is_all(text, |name| NOTES.contains(&name))
}

/// Returns whether a text begins as Claude Code's note of a command, which may hold the user's words as its arguments.
pub(crate) fn is_command(text: &str) -> bool {
    text.starts_with("<command-name>") || text.starts_with("<command-message>")
}

/// Returns whether a text is only a harness's note that the user interrupted it.
pub(crate) fn is_interruption(text: &str) -> bool {
    INTERRUPTIONS.contains(&text.trim())
}

/// Returns whether a text is only a harness's note that the user stopped a call.
pub(crate) fn stops_a_call(text: &str) -> bool {
    text.trim() == INTERRUPTIONS[1]
}

/// Returns whether a text begins with the fixed phrase of a harness. People may begin this way too, so the text that
/// follows has to show that it was not a request.
pub(crate) fn is_opening(text: &str) -> bool {
    // Some put all of it into a tag.
    let text = match text.split_once('\n') {
        Some((tag, inside)) if tag.starts_with('<') && is_block(text) => inside,
        _ => text,
    };
    let line = text.trim_start().lines().next().unwrap_or_default();
    // Gemini CLI and its forks.
    line.starts_with("This is the ") && line.contains(". We are setting up the context for our chat")
        || OPENINGS.iter().any(|opening| line.starts_with(opening))
}

/// Returns whether a text has the phrases with which harnesses ask again for an action. Directly after a reply without
/// an action, nobody else begins this way.
pub(crate) fn complains(text: &str) -> bool {
    let text = text.trim();
    COMPLAINTS
        .iter()
        .any(|(begins, holds)| text.strip_prefix(begins).is_some_and(|rest| rest.contains(holds)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A scan of the rest of the text for each tag would take minutes here.
    #[test]
    fn a_text_of_nothing_but_tags_is_read_in_time_in_proportion_to_its_bytes() {
        for tags in [
            "<t>", "</t>", "<t ", "<t>x</t>", "<t><t></t>", "<t><t><c></t></c>", "<t></t><t><t></t>", "<t c=\"<\">",
            "<<<<<<<<",
        ] {
            let tags = tags.replace('t', "git_status");
            // The end is no block.
            let text = format!("{} x", tags.repeat(1_000_000 / tags.len()));
            assert!(!is_block(&text) && !is_fragment(&text), "{tags}");
        }
    }

    #[test]
    fn an_element_ends_where_it_is_closed_whatever_stands_in_it() {
        let of = |text: &'static str| block(text);
        assert_eq!(of("<a-b c=\"d\">x</a-b> y"), Some(("a-b", "x", "y")));
        assert_eq!(of("<a>1<a>2</a>3</a>4"), Some(("a", "1<a>2</a>3", "4")));
        assert_eq!(of("<a>1<a>2</a>3"), Some(("a", "1<a>2", "3")));
        assert_eq!(of("<a>1"), None);
        assert_eq!(of("<a\nb>1</a>"), None);
    }

    proptest! {
        #[test]
        fn no_text_is_too_odd(text in "(</?[a-z_]{1,4}( a=b)?>|[<>/é\n]|Your |last |\\PC){0,20}") {
            is_block(&text);
            is_fragment(&text);
        }

    }
}
