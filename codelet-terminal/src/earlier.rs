//! The end of the conversation that a session continues, as it was displayed then.

use crate::render::Renderer;
use crate::render::look::{Look, Role};
use crate::render::markdown::Markdown;
use ratatui::text::{Line, Span};
use std::time::Duration;

/// Lines of the prompt that are shown, from its beginning.
const PROMPT: usize = 3;
/// Lines of the answer that are shown, from its end.
const ANSWER: usize = 8;
/// Bytes at the end of an answer that are laid out.
const LAID_OUT: usize = 16 * 1024;

/// A conversation that a session continues.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Earlier {
    /// The last prompt; empty if there is none.
    pub prompt: String,
    /// The model's last answer; empty if there is none.
    pub answer: String,
    /// Notices about the parts that were taken over.
    pub told: Vec<String>,
    /// Warnings to be read before going on.
    pub warnings: Vec<String>,
}

/// The end of a conversation in lines: the first of the prompt and the last of the answer.
pub(crate) fn end(look: &Look, earlier: &Earlier) -> Vec<Line<'static>> {
    let mark = |out: &mut Vec<Line<'static>>| {
        let style = look.style(Role::Dim);
        out.push(Line::from(Span::styled(look.pick("  …", "  ..."), style)));
    };
    let mut out = Vec::new();
    let prompt = earlier.prompt.trim();
    if !prompt.is_empty() {
        let shown = Renderer::new(*look).prompt(prompt, Duration::ZERO);
        let mut shown: Vec<Line<'static>> = shown.into_iter().skip_while(|line| line.width() == 0).collect();
        let is_cut = shown.len() > PROMPT;
        shown.truncate(PROMPT);
        out.extend(shown);
        if is_cut {
            mark(&mut out);
        }
    }
    let answer = earlier.answer.trim();
    if !answer.is_empty() {
        out.push(Line::default());
        let from = answer.ceil_char_boundary(answer.len().saturating_sub(LAID_OUT));
        let mut markdown = Markdown::new(*look);
        let mut shown = markdown.push(&answer[from..]);
        shown.extend(markdown.finish());
        let cut = shown.len().saturating_sub(ANSWER);
        if cut > 0 || from > 0 {
            mark(&mut out);
        }
        out.extend(shown.drain(cut..).skip_while(|line| cut > 0 && line.width() == 0));
    }
    if !out.is_empty() {
        out.push(Line::default());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::look::{Background, Styles};

    fn shown(prompt: &str, answer: &str) -> Vec<String> {
        let earlier = Earlier {
            prompt: prompt.to_owned(),
            answer: answer.to_owned(),
            ..Earlier::default()
        };
        let lines = end(&Look::new(40, Styles::Monochrome, Background::Dark), &earlier);
        lines
            .iter()
            .map(|line| line.to_string().trim_end().to_owned())
            .collect()
    }

    #[test]
    fn the_first_lines_of_the_prompt_and_the_last_of_the_answer_are_shown() {
        assert_eq!(shown("Hello.", "Hi **you**."), ["› Hello.", "", "Hi you.", ""]);
        assert_eq!(shown("Hello.", " "), ["› Hello.", ""]);
        assert!(shown("", "").is_empty());
        let numbered = |many: usize| (1..=many).map(|n| format!("- line {n}\n")).collect::<String>();
        let lines = shown(&numbered(20), &numbered(20));
        assert_eq!(lines[..4], ["› - line 1", "  - line 2", "  - line 3", "  …"]);
        assert_eq!(lines[5], "  …");
        assert!(
            lines[6].ends_with("line 13") && lines[13].ends_with("line 20"),
            "{lines:?}"
        );
        assert_eq!(lines.len(), 15);
        // A blank line is pointless next to an omission.
        let lines = shown("Hello.", &"word\n\n".repeat(20));
        assert_eq!(lines[2..5], ["  …", "word", ""]);
        // Only the end of a very long answer is laid out, and no terminal code of it gets through.
        let lines = shown("a\u{1b}[31mb", &format!("{}\u{1b}[2J the end", "word ".repeat(100_000)));
        assert!(lines.iter().all(|line| !line.contains('\u{1b}')), "{lines:?}");
        assert!(lines[lines.len() - 2].ends_with("the end"), "{lines:?}");
    }
}
