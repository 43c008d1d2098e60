//! An exam with its conversation: training data, and a benchmark for compactions.

use super::conversation::{self, Conversation};
use super::engine::{self, Sample};
use super::exam::Exam;
use super::lesson::{Lesson, Teacher};
use super::rarity::Rarity;
use super::summary;

/// An exam, its conversation, and the lesson from both.
pub struct Trial {
    /// Its index.
    pub number: usize,
    /// The questions.
    pub exam: Exam,
    /// The conversation to be compacted.
    pub conversation: Conversation,
    /// Marks of the exam and of a careful summary.
    pub lesson: Lesson,
    /// A careful summary of it, if there is one.
    pub careful: Option<String>,
    /// The number of questions whose answer occurs in one part of the conversation.
    pub found: usize,
}

impl Trial {
    /// An exam with its conversation, and a careful summary of it if there is one.
    pub fn new(number: usize, exam: Exam, conversation: Conversation, careful: Option<String>) -> Self {
        let samples = engine::samples(&conversation.history);
        let (answers, found) = answers(&exam, &samples);
        let mut marks = vec![(Teacher::Exam, answers)];
        if let Some(careful) = &careful {
            let rarity = Rarity::of(samples.iter().map(|sample| (sample.block, sample.text.as_str())));
            marks.push((Teacher::Summary, summary::retold(careful, &rarity)));
        }
        let lesson = Lesson {
            name: conversation::name(&exam.file).to_owned(),
            family: conversation::family(&exam.file).to_owned(),
            rows: samples.iter().map(|sample| sample.features.as_slice()).collect(),
            counts: vec![1.0; samples.len()],
            marks,
        };
        Trial {
            number,
            exam,
            conversation,
            lesson,
            careful,
            found,
        }
    }
}

/// The share of the answers in each segment, and the number of answers that occur in one part of the conversation. An
/// answer is worth one, divided among its groups.
fn answers(exam: &Exam, samples: &[Sample]) -> (Vec<f64>, usize) {
    let mut marks = vec![0.0; samples.len()];
    let mut found = vec![false; exam.questions.len()];
    let mut first = 0;
    for part in samples.chunk_by(|one, other| one.block == other.block) {
        let mut text = String::new();
        let (mut ends, mut length) = (Vec::new(), 0);
        for sample in part {
            let plain = plain(&sample.text);
            length += plain.chars().count() + 1;
            ends.push(length);
            text.push_str(&plain);
            text.push('\n');
        }
        for (question, found) in exam.questions.iter().zip(&mut found) {
            let Some(spans) = question.evidence.spans(&text) else {
                continue;
            };
            *found = true;
            let share = 1.0 / spans.len() as f64;
            let mut held = vec![0.0; part.len()];
            for span in spans {
                let from = ends.partition_point(|end| *end <= span.start);
                let to = ends.partition_point(|end| *end < span.end);
                let within = held.iter_mut().take(to + 1).skip(from);
                within.for_each(|held| *held += share);
            }
            for (at, held) in held.into_iter().enumerate() {
                marks[first + at] += f64::min(1.0, held);
            }
        }
        first += part.len();
    }
    let marks = marks.into_iter().map(|mark| f64::min(1.0, mark)).collect();
    (marks, found.iter().filter(|found| **found).count())
}

/// A segment as quoted in a summary: on one line, without asterisks.
fn plain(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace("**", "")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(block: usize, text: &str) -> Sample {
        Sample {
            block,
            text: text.to_owned(),
            features: Vec::new(),
        }
    }

    #[test]
    fn an_answer_marks_the_segments_of_one_part_that_hold_it() {
        let exam = r#"{"name": "a", "conversation": "some/a.json", "cut": 9, "questions": [
            {"kind": "reference", "evidence": [["port"], ["9090"]]},
            {"kind": "wish", "evidence": ["never push"]},
            {"kind": "finding", "evidence": [["port"], ["lexer"]]}]}"#;
        let samples = [
            sample(0, "**Never   push** to main."),
            sample(2, "The server has another port."),
            sample(2, "All is well."),
            sample(2, "It is 9090."),
            sample(5, "The lexer is slow."),
        ];
        let (marks, found) = answers(&Exam::read(exam).unwrap(), &samples);
        assert_eq!(marks, [1.0, 0.5, 0.0, 0.5, 0.0]);
        assert_eq!(found, 2);
    }
}
