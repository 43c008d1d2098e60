//! Excerpts of removed outputs: the lines with the most value for continuing.

use crate::ranking::{RankingIndex, Speaker, Weights, choose};
use std::collections::HashMap;

/// An excerpt has at most one part in this many of the text: otherwise removing the output would hardly save anything.
const MOST: usize = 2;
/// The marker for omitted lines.
const GAP: &str = "…\n";

/// An index into the history: message and part.
pub(crate) type PartIndex = (u32, u32);

/// The selected lines of each output, each with a line break.
pub(crate) type Excerpts = HashMap<PartIndex, String>;

/// Selects lines of at most this many bytes in total from the outputs at these places, which ascend. `is_shown`
/// returns whether the view still shows another output in full.
pub(crate) fn excerpts(
    index: &RankingIndex,
    gone: &[PartIndex],
    is_shown: impl Fn(PartIndex) -> bool,
    bytes: usize,
) -> Excerpts {
    let mut excerpts = Excerpts::default();
    if gone.is_empty() || bytes == 0 {
        return excerpts;
    }
    let mut open = vec![false; index.blocks.len()];
    let mut shown = Vec::new();
    for (number, block) in index.blocks.iter().enumerate() {
        let place = (block.message, block.part);
        match block.speaker {
            Speaker::Tool if gone.binary_search(&place).is_ok() => open[number] = true,
            // The same edit removes thinking of finished turns.
            Speaker::Thinking => {}
            Speaker::Tool if !is_shown(place) => {}
            _ => shown.extend(block.segments.clone()),
        }
    }
    let taken = choose(index, Weights::built_in(), &open, &shown, bytes);
    for (number, segments) in index.by_block(&taken) {
        let block = &index.blocks[number as usize];
        let lines = quoted(index, number, segments, block.text.len() / MOST);
        excerpts.insert((block.message, block.part), lines);
    }
    excerpts
}

/// The selected segments of a cut block, one per line, with a marker for omitted ones between them, and before them
/// unless the one before the first is shown.
pub(crate) fn lines(index: &RankingIndex, number: u32, segments: &[u32], is_shown: impl Fn(u32) -> bool) -> String {
    let first = segments.first().copied().unwrap_or(0);
    let follows = first == index.blocks[number as usize].segments.start || is_shown(first - 1);
    [
        if follows { "" } else { GAP },
        &quoted(index, number, segments, usize::MAX),
    ]
    .concat()
}

/// The selected segments of a block, one per line, with a marker for omitted ones between them; at most `most` bytes.
fn quoted(index: &RankingIndex, number: u32, segments: &[u32], most: usize) -> String {
    let mut text = String::new();
    let mut expected = None;
    for &segment in segments {
        let line = index.quoted(number, segment);
        if line.len() + GAP.len() + 1 > most.saturating_sub(text.len()) {
            break;
        }
        if expected.is_some_and(|expected| expected != segment) {
            text.push_str(GAP);
        }
        text.push_str(&line);
        text.push('\n');
        expected = Some(segment + 1);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::History;
    use crate::message::{Action, Message, Part, Role, ToolCall, ToolResult};

    fn history() -> History {
        let mut history = History::new();
        history.append(Message::user("Why is the walnut_press slow?"));
        for number in 0..3 {
            let call =
                ToolCall::new(format!("c{number}"), "Bash", Default::default()).doing(Action::command("./profile"));
            history.append(Message::new(Role::Assistant, vec![Part::ToolCall(call)]));
            let line = |line: u8| {
                let name = [b'a' + line / 8, b'a' + line % 8].map(char::from);
                format!("sample {number} of frame_{}{}\n", name[0], name[1])
            };
            let lines: String = (0..40).map(line).collect();
            let output = format!("{lines}error: walnut_press waits for the lock of press_{number}\n{lines}");
            history.append(Message::results(vec![ToolResult::new(
                format!("c{number}"),
                Some(true),
                output,
            )]));
        }
        history
    }

    #[test]
    fn what_the_user_asks_about_is_left_and_no_more_than_there_is_room_for() {
        let history = history();
        let index = history.ranking();
        let gone = [(2, 0), (4, 0)];
        let excerpts = excerpts(index, &gone, |_| true, 400);
        let texts: Vec<&str> = gone.iter().map(|place| &*excerpts[place]).collect();
        assert!(texts.iter().map(|text| text.len()).sum::<usize>() <= 400);
        for (number, text) in texts.iter().enumerate() {
            assert!(text.contains(&format!("the lock of press_{number}")), "{text}");
        }
        assert!(!excerpts.contains_key(&(6, 0)));
    }

    #[test]
    fn no_more_than_half_of_a_text_is_left() {
        let history = history();
        let excerpts = excerpts(history.ranking(), &[(2, 0)], |_| true, 1_000_000);
        let lines = excerpts[&(2, 0)].len();
        let whole = history.ranking().blocks[2].text.len();
        assert!(lines <= whole / 2 && lines > whole / 3, "{lines} of {whole}");
    }
}
