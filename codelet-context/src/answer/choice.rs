//! What the user has chosen when a harness offered a choice: `User chose: discard`, `User selected "No, …"`, `The user wants
//! you to stop here.` What the choices were called no list knows, so the words count that stand first in them.

use super::HEAD;

/// What comes between the user and what the user did.
const ADVERBS: [&str; 8] = ["has", "had", "have", "just", "then", "explicitly", "manually", "now"];
/// What somebody does who is offered a choice.
const CHOSE: [&str; 9] = [
    "chose", "chooses", "chosen", "clicked", "decided", "opted", "picked", "pressed", "selected",
];
/// What somebody does who speaks to the agent.
const TOLD: [&str; 5] = ["asked", "instructed", "told", "wanted", "wants"];
/// What may stand before the choice.
const BEFORE: [&str; 10] = [
    "agent",
    "assistant",
    "button",
    "for",
    "model",
    "on",
    "option",
    "the",
    "to",
    "you",
];
const AGENT: [&str; 4] = ["agent", "assistant", "model", "you"];
/// Choices that let nothing happen.
const NOES: [&str; 10] = [
    "abort", "cancel", "decline", "deny", "discard", "dismiss", "quit", "reject", "skip", "stop",
];

/// Whether the first line of a text says that the user chose that nothing should happen.
pub(super) fn is_no(text: &str) -> bool {
    let head = &text[..text.floor_char_boundary(HEAD.min(text.len()))];
    let line = head.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    // Most lines name nobody.
    let names_user = line
        .as_bytes()
        .windows(4)
        .any(|name| name.eq_ignore_ascii_case(b"user"));
    names_user && {
        let lower = line.to_lowercase();
        lower.split_inclusive(['.', '!', ';']).any(sentence_says_no)
    }
}

fn sentence_says_no(sentence: &str) -> bool {
    let mut rest = sentence.trim_start_matches(|c: char| !c.is_alphanumeric());
    for lead in ["error: ", "the "] {
        rest = rest.strip_prefix(lead).unwrap_or(rest);
    }
    let (who, mut rest) = next_word(rest);
    if who != "user" {
        return false;
    }
    let verb = loop {
        let (word, behind) = next_word(rest);
        rest = behind;
        if !ADVERBS.contains(&word) {
            break word;
        }
    };
    let is_told = TOLD.contains(&verb);
    if !is_told && !CHOSE.contains(&verb) {
        return false;
    }
    let mut is_to_agent = false;
    let (choice, behind) = loop {
        let (word, behind) = next_word(rest);
        if !BEFORE.contains(&word) {
            break (word, behind);
        }
        is_to_agent |= AGENT.contains(&word);
        rest = behind;
    };
    let ends = !behind.starts_with(|c: char| c.is_alphanumeric() || c.is_whitespace());
    match choice {
        "no" => ends,
        "stay" | "remain" => behind.trim_start().starts_with("in plan"),
        // What the user wants stopped need not be the agent.
        _ if is_told => NOES.contains(&choice) && (is_to_agent || behind.trim_matches(['.', '!', ';']).is_empty()),
        _ => NOES.contains(&choice),
    }
}

/// The next word of a sentence, and what stands behind it.
fn next_word(text: &str) -> (&str, &str) {
    let text = text.trim_start_matches(|c: char| !c.is_alphanumeric());
    text.split_at(text.find(|c: char| !c.is_alphanumeric()).unwrap_or(text.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_choice_that_lets_nothing_happen_is_known_by_its_first_word() {
        for text in [
            "User chose: discard",
            "Diff shown to user. User chose: discard",
            "User selected \"No, and tell the agent what to do differently\": use b.go",
            "The user selected 'No'.",
            "User has chosen to cancel.",
            "Plan execution was not approved. User chose to cancel.",
            "User chose to stay in plan mode and continue planning",
            "The user wants you to stop here.",
            "The user asked the agent to stop.",
            "The user asked to stop.",
            "Error: User clicked Reject",
            "User picked option: Skip this edit",
        ] {
            assert!(is_no(text), "{text}");
        }
        for text in [
            "User chose: apply",
            "User selected \"Yes, and do not ask again\"",
            "User chose no formatting; the file was updated.",
            "The user wants to cancel a subscription",
            "The user asked to stop the server at night",
            "The user wants you to continue.",
            "users chose: discard",
            "src/user.rs: chose stop",
            "User",
            "",
        ] {
            assert!(!is_no(text), "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_line_is_too_odd(text in "(The |User |chose|: |no|stop|you |to |[\"'.é\n]|\\PC){0,12}") {
            is_no(&text);
        }
    }
}
