//! Trains the weights by which a summary selects its quotes: learned from recorded conversations, and evaluated on
//! held-out ones.

mod compactions;
mod conversation;
mod data;
mod engine;
mod evidence;
mod exam;
mod figures;
mod fit;
mod lesson;
mod rarity;
mod rows;
mod share;
mod summary;
mod texts;
mod trial;
mod weights;

use data::Data;
use figures::Figures;
use lesson::Lessons;
use std::path::Path;
use std::time::Instant;
use trial::Trial;

/// The path of the weights, relative to the workspace root.
const WEIGHTS: &str = "codelet-context/src/ranking/weights.txt";

/// Evaluates the built-in weights.
///
/// # Errors
/// If there are no exams, or one of them cannot be read.
pub fn check(root: &Path) -> Result<String, Vec<String>> {
    let data = Data::find(root)?;
    let trials = data.trials()?;
    let figures = figures::of(&trials, &|_| None);
    Ok(figures.table("the weights that are built in"))
}

/// Trains the weights, writes them, and evaluates weights trained without the conversation, and without its whole
/// family. With `more`, also trains on the compactions in that directory's conversations.
///
/// # Errors
/// If there are no exams or recorded conversations, one of them cannot be read, or the weights cannot be written.
pub fn run(root: &Path, more: Option<&Path>) -> Result<String, Vec<String>> {
    let began = Instant::now();
    let data = Data::find(root)?;
    let trials = data.trials()?;
    crate::say(&heard(&trials));
    let compactions = data.compactions(more)?;
    let lessons = Lessons::of(trials.iter().map(|trial| &trial.lesson).chain(&compactions));
    crate::say(&lessons.told());
    crate::say(&format!("read in {} s", began.elapsed().as_secs()));

    let (learned, by_conversation) = best(&trials, &lessons);
    crate::say(&format!("ridge {}", learned.ridge));
    let text = weights::text(&learned.values);
    weights::write(&root.join(WEIGHTS), &text)?;
    crate::say(&by_conversation.table("held out: the conversation"));

    let without_own = |trial: &Trial| learned.without(&lessons, &|lesson| lesson.name == trial.lesson.name);
    let kept_out = share::map(&trials, without_own);
    let beside = figures::beside_summary(&trials, &|trial| Some(&kept_out[trial.number]));
    crate::say(&beside.table("held out: the conversation, beside its careful summary"));

    let families = lessons.families();
    let kept_out = share::map(&families, |family| {
        learned.without(&lessons, &|lesson| lesson.family == *family)
    });
    let of_family = |trial: &Trial| families.iter().position(|family| *family == trial.lesson.family);
    let by_family = figures::of(&trials, &|trial| of_family(trial).map(|at| &kept_out[at]));
    crate::say(&by_family.table(&format!("held out: the family ({})", families.join(", "))));

    let own = weights::of(&learned.values);
    let in_sample = figures::of(&trials, &|_| Some(&own));
    crate::say(&in_sample.table("not held out"));
    Ok(format!("{WEIGHTS} is written, in {} s", began.elapsed().as_secs()))
}

/// The share of answers that occur in one part of a conversation, so that a segment can be marked.
fn heard(trials: &[Trial]) -> String {
    let asked: usize = trials.iter().map(|trial| trial.exam.questions.len()).sum();
    let found: usize = trials.iter().map(|trial| trial.found).sum();
    format!(
        "{} exams: {found} of {asked} answers stand in one part of their conversation",
        trials.len()
    )
}

/// The weights trained with the ridge that performs best on held-out conversations.
fn best(trials: &[Trial], lessons: &Lessons<'_>) -> (fit::Learned, Figures) {
    let tried = fit::RIDGES.map(|ridge| {
        let learned = fit::Learned::of(lessons, ridge);
        let kept_out = share::map(trials, |trial| {
            learned.without(lessons, &|lesson| lesson.name == trial.lesson.name)
        });
        let figures = figures::of(trials, &|trial| Some(&kept_out[trial.number]));
        (learned, figures)
    });
    let [first, second] = tried;
    match second.1.mean() > first.1.mean() {
        true => second,
        false => first,
    }
}
