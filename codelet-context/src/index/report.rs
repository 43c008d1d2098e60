//! Whether an answer is what somebody has found out: another agent that was given a task, a model that has read a page.

use crate::message::ToolResult;

/// A line of prose has so many words, or so many bytes that are not ASCII: not all scripts part their words.
const WORDS: usize = 6;
const BYTES: usize = 24;
/// In it so many tenths are letters and what parts them.
const LETTER_TENTHS: usize = 9;
/// So many bytes of prose are a task, and so many an answer to one.
const TASK: usize = 40;
const REPORT: usize = 80;

/// Whether what was asked for is prose, and most of the answer too. What tools print of files, commands or tables is none.
pub(super) fn is_report(asked: &str, answer: &ToolResult) -> bool {
    let texts = || answer.texts().map(|text| text.body.as_str());
    let all: usize = texts().flat_map(str::lines).map(|line| line.trim().len()).sum();
    let said: usize = texts().map(prose).sum();
    said >= REPORT && said * 2 >= all && prose(asked) >= TASK
}

/// The bytes of the lines that are prose.
fn prose(text: &str) -> usize {
    let lines = text.lines().map(str::trim).filter(|line| is_prose(line));
    lines.map(str::len).sum()
}

fn is_prose(line: &str) -> bool {
    let is_part = |byte: &u8| byte.is_ascii_alphabetic() || *byte >= 0x80 || matches!(byte, b' ' | b',' | b'.' | b'\'');
    let letters = line.bytes().filter(is_part).count();
    let others = line.bytes().filter(|byte| !byte.is_ascii()).count();
    let is_long = others >= BYTES || line.split_ascii_whitespace().take(WORDS).count() == WORDS;
    is_long && letters * 10 >= line.len() * LETTER_TENTHS
}

#[cfg(test)]
mod tests {
    use super::*;

    const TASK: &str = "Find out which of the two writers keeps the file open after a flush.";

    fn is_told(asked: &str, answer: &str) -> bool {
        is_report(asked, &ToolResult::new("a", Some(true), answer))
    }

    #[test]
    fn what_another_agent_has_found_out_is_a_report_and_what_a_tool_prints_is_none() {
        let found = "The second writer does: it keeps a handle of its own, since the first one was \
                     closed too early.\n\n- writer.go:53 opens it\n";
        assert!(is_told(TASK, found));
        assert!(is_told(
            "请找出两个写入器中哪一个在刷新后保持文件打开",
            &"第二个写入器保持文件打开".repeat(3)
        ));
        for (asked, answer) in [
            ("4127", found),
            (TASK, "ok, noted"),
            (
                TASK,
                &"let a = open(path)?; if a.is_open() { return Err(b); }\n".repeat(9),
            ),
            (TASK, &"{\"id\": 7, \"name\": \"a\"}\n".repeat(9)),
            (
                TASK,
                &"2026-01-01 12:00:01 INFO worker 7 has taken job 18 from queue 3\n".repeat(9),
            ),
        ] {
            assert!(!is_told(asked, answer), "{asked}: {answer}");
        }
    }
}
