//! Compactions that agents made during recorded sessions, with their input.

use super::conversation::{self, Conversation};
use super::engine;
use super::lesson::{Lesson, Teacher};
use super::rarity::Rarity;
use super::rows::Rows;
use super::summary;
use super::texts;
use serde_json::Value;
use std::ops::RangeInclusive;

/// Characters of a summary that a conversation continued from. A shorter one says too little.
const LENGTH: RangeInclusive<usize> = 2_000..=30_000;
/// Minimum number of messages.
const MESSAGES: usize = 20;
/// Number of segments; the maximum keeps one conversation from outweighing the others.
const SEGMENTS: RangeInclusive<usize> = 300..=15_000;
/// One in this many unmarked segments is kept, with their total weight.
const THINNED: usize = 4;

/// The lessons of a recorded conversation. `number` varies the selection of unmarked segments.
///
/// # Errors
/// If it is no recorded conversation.
pub fn lessons(file: &str, text: &str, number: usize) -> Result<Vec<Lesson>, String> {
    if !text.contains("\"compact_summary\"") {
        return Ok(Vec::new());
    }
    let messages = conversation::messages(text)?;
    let (mut lessons, mut start) = (Vec::new(), 0);
    for (at, message) in messages.iter().enumerate() {
        if conversation::is_summary(message) {
            let before = &messages[start..at];
            lessons.extend(lesson(file, before, message, number + lessons.len())?);
            start = at + 1;
        }
    }
    Ok(lessons)
}

fn lesson(file: &str, before: &[Value], summary: &Value, number: usize) -> Result<Option<Lesson>, String> {
    let is_unreadable = summary["meta"]["encrypted"].as_bool().unwrap_or(false);
    let text = texts::flat(&summary["content"]);
    let spoken = before.iter().filter(|message| message["role"] != "system").count();
    if is_unreadable || !LENGTH.contains(&text.chars().count()) || spoken < MESSAGES {
        return Ok(None);
    }
    let samples = engine::samples(&Conversation::of(before)?.history);
    if !SEGMENTS.contains(&samples.len()) {
        return Ok(None);
    }
    let rarity = Rarity::of(samples.iter().map(|sample| (sample.block, sample.text.as_str())));
    let (mut rows, mut counts, mut marks) = (Rows::default(), Vec::new(), Vec::new());
    for (at, mark) in summary::retold(&text, &rarity).into_iter().enumerate() {
        if mark > 0.0 || at % THINNED == number % THINNED {
            rows.push(&samples[at].features);
            counts.push(if mark > 0.0 { 1.0 } else { THINNED as f64 });
            marks.push(mark);
        }
    }
    Ok(Some(Lesson {
        name: conversation::name(file).to_owned(),
        family: conversation::family(file).to_owned(),
        rows,
        counts,
        marks: vec![(Teacher::Compaction, marks)],
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_compaction_teaches_which_lines_before_it_were_retold() {
        let line = |message: usize, at: usize| format!("step {at} of {message} went {}on", "on and ".repeat(30));
        let said = |message: usize| {
            let lines: Vec<String> = (0..20).map(|at| line(message, at)).collect();
            let role = if message.is_multiple_of(2) { "user" } else { "assistant" };
            json!({"role": role, "content": lines.join("\n")})
        };
        let mut messages: Vec<Value> = (0..20).map(said).collect();
        messages.push(json!({"role": "assistant", "content": "The parser overflowed at depth4096 in nested lists."}));
        let summary = format!(
            "The parser overflowed at depth4096 with nested lists.\n{}",
            "- \n".repeat(800)
        );
        messages.push(json!({"role": "user", "content": summary, "meta": {"compact_summary": true}}));
        let file = json!({"messages": messages}).to_string();
        let found = lessons("some/a.json", &file, 0).unwrap();
        let [lesson] = found.as_slice() else {
            panic!("{}", found.len())
        };
        assert_eq!((lesson.name.as_str(), lesson.family.as_str()), ("a.json", "some"));
        let marked = lesson.marks[0].1.iter().filter(|mark| **mark > 0.0).count();
        assert_eq!(marked, 1);
        let stood_for: f64 = lesson.counts.iter().sum();
        assert!(
            stood_for >= 390.0 && lesson.rows.len() as f64 <= stood_for / 3.0,
            "{stood_for}"
        );
        assert!(lessons("some/b.json", "{}", 0).unwrap().is_empty());
    }
}
