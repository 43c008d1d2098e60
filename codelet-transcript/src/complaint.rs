//! What harnesses say, in the user's role, to a reply that they could read no action from. Their words are always the same,
//! and directly behind a reply without calls; whoever types does not begin so.

use codelet_context::harness::complains;
use codelet_context::message::{Message, Part, Role};

/// Whether the text of a message is such a complaint, by what stands before it.
pub(crate) fn is_complaint(before: Option<&Message>, text: &str) -> bool {
    let is_unread = before.is_some_and(|before| {
        let says = |part: &Part| matches!(part, Part::Text(text) if !text.body.as_str().trim().is_empty());
        before.role == Role::Assistant && before.calls().next().is_none() && before.parts.iter().any(says)
    });
    is_unread && complains(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ASKED: &str = "Please always provide EXACTLY ONE action in triple backticks, found 2 actions.\n\nPlease format your \
                         action in triple backticks as shown in <response_example>.";

    #[test]
    fn a_complaint_stands_behind_a_reply_that_called_nothing() {
        let reply = Message::assistant("THOUGHT: this, or that\n```bash\nls\n```\n```bash\nmake\n```");
        for text in [
            ASKED,
            "[ERROR] You did not use a tool in your previous response! Please retry with a tool use.\n\n# Reminder",
            "Your output was not formatted correctly. You must always include one discussion and one command as part of your \
             response.",
        ] {
            assert!(is_complaint(Some(&reply), text), "{text}");
            assert!(!is_complaint(None, text), "{text}");
            assert!(!is_complaint(Some(&Message::user("go")), text), "{text}");
        }
        for text in [
            "Please always provide EXACTLY ONE action in your answers.",
            "Please always provide exactly one action.",
            "why does it say: [ERROR] You did not use a tool in your previous response! Please retry with a tool use.",
            "Please continue working on the task on whatever approach you think is suitable.",
            "continue",
            "",
        ] {
            assert!(!is_complaint(Some(&reply), text), "{text}");
        }
    }
}
