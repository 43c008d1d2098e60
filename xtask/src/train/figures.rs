//! The share of answers that survive at each budget.

use super::engine::Weights;
use super::share;
use super::texts;
use super::trial::Trial;
use std::fmt::Write as _;

/// Budgets, in percent of the conversation.
const BUDGETS: [usize; 5] = [3, 5, 10, 25, 40];
/// Kinds of knowledge.
const KINDS: [&str; 7] = ["wish", "decision", "finding", "failure", "state", "next", "reference"];
/// Tokens by which a result may exceed its budget.
const SLACK: usize = 8;

/// The answers that survive compaction, at all budgets.
pub struct Figures(Vec<Answers>);

/// The answers that survive one compaction.
struct Answers {
    budget: usize,
    /// For each question: its kind, whether it is far, and whether its answer survived.
    told: Vec<(String, bool, bool)>,
    traps: usize,
    /// Its size as a share of the conversation's.
    size: f64,
    is_over: bool,
}

/// Compacts each conversation to each budget, with weights that may depend on the trial, and checks the answers.
pub fn of<'a>(trials: &[Trial], weights: &(dyn Fn(&Trial) -> Option<&'a Weights> + Sync)) -> Figures {
    asked(trials, weights, |_| None)
}

/// The same, where each compaction contains the careful summary of its conversation.
pub fn beside_summary<'a>(trials: &[Trial], weights: &(dyn Fn(&Trial) -> Option<&'a Weights> + Sync)) -> Figures {
    asked(trials, weights, |trial| trial.careful.as_deref())
}

fn asked<'a>(
    trials: &[Trial],
    weights: &(dyn Fn(&Trial) -> Option<&'a Weights> + Sync),
    written: impl Fn(&Trial) -> Option<&str> + Sync,
) -> Figures {
    let runs: Vec<(&Trial, usize)> = trials
        .iter()
        .flat_map(|trial| BUDGETS.map(|budget| (trial, budget)))
        .collect();
    Figures(share::map(&runs, |(trial, budget)| {
        Answers::of(trial, *budget, weights(trial), written(trial))
    }))
}

impl Answers {
    fn of(trial: &Trial, budget: usize, weights: Option<&Weights>, written: Option<&str>) -> Self {
        let whole = texts::tokens(&trial.conversation.texts);
        let most = whole * budget / 100;
        let kept = trial.conversation.compacted(most, weights, written);
        let used = texts::tokens(&kept);
        let questions = trial.exam.questions.iter();
        Answers {
            budget,
            told: questions
                .map(|question| (question.kind.clone(), question.is_far, question.evidence.is_told(&kept)))
                .collect(),
            traps: trial.exam.trapped(&kept),
            size: used as f64 / whole as f64,
            is_over: used > most + SLACK,
        }
    }

    fn told(&self) -> f64 {
        share(self.told.iter().map(|(.., is_told)| *is_told)).unwrap_or(0.0)
    }
}

impl Figures {
    /// The mean share of answers over budgets and conversations, in percent.
    pub fn mean(&self) -> f64 {
        100.0 * mean(self.0.iter().map(Answers::told)).unwrap_or(0.0)
    }

    /// A table with a line for each budget, in percent.
    pub fn table(&self, title: &str) -> String {
        let mut table = format!(
            "{title} (mean {:.1})\n{:>6}{:>6}{:>6}{:>6}{:>6}{:>6}",
            self.mean(),
            "",
            "told",
            "far",
            "traps",
            "size",
            "over"
        );
        for kind in KINDS {
            let _ = write!(table, "{kind:>10}");
        }
        for budget in BUDGETS {
            let answers: Vec<&Answers> = self.0.iter().filter(|answers| answers.budget == budget).collect();
            let all = || answers.iter().flat_map(|answers| &answers.told);
            let _ = write!(
                table,
                "\n{:>6}{:>6}{:>6}{:>6}{:>6}{:>6}",
                format!("{budget} %"),
                percent(mean(answers.iter().map(|answers| answers.told()))),
                percent(share(
                    all().filter(|(_, is_far, _)| *is_far).map(|(.., is_told)| *is_told)
                )),
                answers.iter().map(|answers| answers.traps).sum::<usize>(),
                percent(mean(answers.iter().map(|answers| answers.size))),
                answers.iter().filter(|answers| answers.is_over).count(),
            );
            for kind in KINDS {
                let of_kind = all().filter(|(other, ..)| other == kind);
                let _ = write!(table, "{:>10}", percent(share(of_kind.map(|(.., is_told)| *is_told))));
            }
        }
        table
    }
}

fn percent(share: Option<f64>) -> String {
    share.map_or("–".to_owned(), |share| format!("{:.1}", 100.0 * share))
}

fn share(all: impl IntoIterator<Item = bool>) -> Option<f64> {
    mean(all.into_iter().map(|holds| f64::from(u8::from(holds))))
}

fn mean(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let (mut sum, mut count) = (0.0, 0);
    for value in values {
        sum += value;
        count += 1;
    }
    (count > 0).then(|| sum / f64::from(count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_means_over_conversations_and_over_questions_of_a_kind() {
        let answers = |told: &[(&str, bool, bool)], size: f64| Answers {
            budget: 10,
            told: told
                .iter()
                .map(|(kind, is_far, is_told)| ((*kind).to_owned(), *is_far, *is_told))
                .collect(),
            traps: 1,
            size,
            is_over: size > 0.1,
        };
        let figures = Figures(vec![
            answers(&[("wish", true, true)], 0.1),
            answers(
                &[
                    ("wish", false, false),
                    ("next", true, true),
                    ("wish", false, false),
                    ("wish", true, false),
                ],
                0.12,
            ),
        ]);
        assert_eq!(figures.mean(), 62.5);
        let table = figures.table("some");
        let line = table
            .lines()
            .find(|line| line.trim_start().starts_with("10 %"))
            .unwrap();
        let cells: Vec<&str> = line.split_whitespace().skip(2).collect();
        assert_eq!(
            cells,
            [
                "62.5", "66.7", "2", "11.0", "1", "25.0", "–", "–", "–", "–", "100.0", "–"
            ]
        );
    }
}
