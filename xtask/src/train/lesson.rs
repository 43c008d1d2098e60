//! Training data: segments of a conversation, each with marks from sources that show what mattered.

use super::engine::FEATURES;
use super::rows::Rows;
use std::collections::BTreeSet;

/// The source of a mark.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Teacher {
    /// The segment contains the answer to an exam's question.
    Exam,
    /// A careful summary restates it.
    Summary,
    /// The recorded agent restated it when it compacted the conversation.
    Compaction,
}

/// The weight of each source, independent of the number of its marks.
const TEACHERS: [(Teacher, f64); 3] = [
    (Teacher::Exam, 1.0),
    (Teacher::Summary, 0.5),
    (Teacher::Compaction, 0.5),
];
/// The total weight of marks, so that a ridge means the same regardless of their number.
const MARKS: f64 = 1000.0;

/// Segments of a conversation, with their marks.
pub struct Lesson {
    /// The name of the conversation.
    pub name: String,
    /// The family of the conversation, by where it was recorded.
    pub family: String,
    /// The features of each segment.
    pub rows: Rows,
    /// The number of segments that each row represents.
    pub counts: Vec<f64>,
    /// The mark of each row, from 0 to 1, by source.
    pub marks: Vec<(Teacher, Vec<f64>)>,
}

/// Rows to be fitted.
pub struct Part<'a> {
    /// The features.
    pub rows: &'a Rows,
    /// The weight of each row.
    pub weights: Vec<f64>,
    /// The marked part of that weight.
    pub marks: Vec<f64>,
}

impl Lesson {
    /// The sum of a source's marks.
    fn sum(&self, teacher: Teacher) -> f64 {
        self.of(teacher).flatten().sum()
    }

    fn of(&self, teacher: Teacher) -> impl Iterator<Item = &[f64]> {
        self.marks
            .iter()
            .filter(move |(by, _)| *by == teacher)
            .map(|(_, marks)| marks.as_slice())
    }
}

/// All training data.
pub struct Lessons<'a>(Vec<&'a Lesson>);

impl<'a> Lessons<'a> {
    /// Lessons of exams and of compactions.
    pub fn of(lessons: impl IntoIterator<Item = &'a Lesson>) -> Self {
        Lessons(lessons.into_iter().collect())
    }

    /// The families of the exams' conversations.
    pub fn families(&self) -> Vec<&'a str> {
        let examined = self.0.iter().filter(|lesson| lesson.of(Teacher::Exam).next().is_some());
        let families: BTreeSet<&str> = examined.map(|lesson| lesson.family.as_str()).collect();
        families.into_iter().collect()
    }

    /// The standard deviation of each feature over the segments of the exams.
    pub fn spread(&self) -> [f64; FEATURES.len()] {
        let (mut count, mut sums, mut squares) = (0.0, [0.0; FEATURES.len()], [0.0; FEATURES.len()]);
        for lesson in self.0.iter().filter(|lesson| lesson.of(Teacher::Exam).next().is_some()) {
            count += lesson.rows.len() as f64;
            for &(feature, value) in lesson.rows.iter().flatten() {
                sums[usize::from(feature)] += f64::from(value);
                squares[usize::from(feature)] += f64::from(value) * f64::from(value);
            }
        }
        std::array::from_fn(|feature| {
            let mean: f64 = sums[feature] / f64::max(count, 1.0);
            (squares[feature] / f64::max(count, 1.0) - mean * mean).max(0.0).sqrt()
        })
    }

    /// The data to be fitted, with balanced sources, without some of the lessons.
    pub fn parts(&self, is_left_out: &dyn Fn(&Lesson) -> bool) -> Vec<Part<'a>> {
        let kept: Vec<&Lesson> = self.0.iter().copied().filter(|lesson| !is_left_out(lesson)).collect();
        let shares = TEACHERS.map(|(teacher, share)| {
            let sum: f64 = kept.iter().map(|lesson| lesson.sum(teacher)).sum();
            (teacher, if sum > 0.0 { share * MARKS / sum } else { 0.0 })
        });
        let part = |lesson: &&'a Lesson| {
            let mut part = Part {
                rows: &lesson.rows,
                weights: vec![0.0; lesson.rows.len()],
                marks: vec![0.0; lesson.rows.len()],
            };
            for (teacher, share) in shares {
                // A source without any marks has not judged the conversation.
                for marks in lesson.of(teacher).filter(|marks| marks.iter().any(|mark| *mark > 0.0)) {
                    for (at, mark) in marks.iter().enumerate() {
                        part.weights[at] += share * lesson.counts[at];
                        part.marks[at] += share * lesson.counts[at] * mark;
                    }
                }
            }
            part
        };
        kept.iter().map(part).collect()
    }

    /// The amount of data of each source.
    pub fn told(&self) -> String {
        let told = TEACHERS.map(|(teacher, _)| {
            let count = self.0.iter().filter(|lesson| lesson.sum(teacher) > 0.0).count();
            let sum: f64 = self.0.iter().map(|lesson| lesson.sum(teacher)).sum();
            format!("{count} by {teacher:?} ({sum:.0} marks)")
        });
        let rows: usize = self.0.iter().map(|lesson| lesson.rows.len()).sum();
        format!("lessons: {}; {rows} segments", told.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lesson(name: &str, teacher: Teacher, marks: &[f64]) -> Lesson {
        Lesson {
            name: name.to_owned(),
            family: name.to_owned(),
            rows: marks.iter().map(|_| [1.0].as_slice()).collect(),
            counts: vec![1.0; marks.len()],
            marks: vec![(teacher, marks.to_vec())],
        }
    }

    #[test]
    fn each_teacher_counts_as_much_as_it_is_to() {
        let made = [
            lesson("a", Teacher::Exam, &[1.0, 0.0]),
            lesson("b", Teacher::Exam, &[1.0, 1.0]),
            lesson("c", Teacher::Compaction, &[0.5]),
        ];
        let lessons = Lessons::of(&made);
        let marked = |parts: &[Part]| parts.iter().map(|part| part.marks.iter().sum()).collect::<Vec<f64>>();
        let all: Vec<f64> = marked(&lessons.parts(&|_| false));
        assert!(
            (all[0] - MARKS / 3.0).abs() < 1e-9 && (all[2] - MARKS / 2.0).abs() < 1e-9,
            "{all:?}"
        );
        assert_eq!(
            marked(&lessons.parts(&|lesson| lesson.name == "b")),
            [MARKS, MARKS / 2.0]
        );
        assert_eq!(lessons.families(), ["a", "b"]);
    }
}
