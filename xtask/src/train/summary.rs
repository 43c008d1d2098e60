//! Finds the segments of a conversation that a summary restates.

use super::engine;
use super::rarity::{Rarity, is_common, words};
use codelet_context::history::History;
use codelet_context::message::{Message, Part, Role};

/// The marks that a summary sentence gives to the most similar segments, in descending order of similarity.
const SHARES: [f64; 3] = [1.0, 0.7, 0.5];
/// The similarity up to which no mark is given, and the one from which the full mark is given.
const LIKENESS: [f64; 2] = [0.25, 0.65];
/// A word in more segments than this does not distinguish them.
const EVERYWHERE: usize = 3000;
/// A word less rare than this does not make two sentences similar.
const RARE: f64 = 0.7;

/// The degree to which the summary restates each segment, from 0 to 1.
pub fn retold(summary: &str, rarity: &Rarity) -> Vec<f64> {
    let weigh = |words: &[usize]| words.iter().map(|&word| rarity.rarity(word)).sum::<f64>();
    let weights: Vec<f64> = rarity.segments().iter().map(|words| weigh(words)).collect();
    let mut places = vec![Vec::new(); rarity.count()];
    for (segment, words) in rarity.segments().iter().enumerate() {
        for &word in words.iter().filter(|&&word| rarity.rarity(word) > RARE) {
            places[word].push(segment);
        }
    }
    let most = rarity.most();
    let mut marks = vec![0.0; weights.len()];
    let mut common = vec![0.0; weights.len()];
    for sentence in sentences(summary) {
        let words: Vec<String> = words(&sentence).into_iter().filter(|word| !is_common(word)).collect();
        if words.len() < 3 {
            continue;
        }
        let words: Vec<Option<usize>> = words.iter().map(|word| rarity.word(word)).collect();
        let whole: f64 = words
            .iter()
            .map(|word| word.map_or(most, |word| rarity.rarity(word)))
            .sum();
        let mut touched = Vec::new();
        for word in words
            .into_iter()
            .flatten()
            .filter(|&word| places[word].len() < EVERYWHERE)
        {
            for &segment in &places[word] {
                if common[segment] == 0.0 {
                    touched.push(segment);
                }
                common[segment] += rarity.rarity(word);
            }
        }
        let mut alike: Vec<(f64, usize)> = touched
            .into_iter()
            .map(|segment| {
                let shared = std::mem::take(&mut common[segment]);
                (2.0 * shared / (whole + weights[segment].max(whole * 0.35)), segment)
            })
            .collect();
        alike.sort_by(|one, other| other.0.total_cmp(&one.0).then(other.1.cmp(&one.1)));
        let [least, full] = LIKENESS;
        for (share, (likeness, segment)) in SHARES.iter().zip(alike) {
            marks[segment] += share * ((likeness - least) / (full - least)).clamp(0.0, 1.0);
        }
    }
    marks.iter().map(|mark: &f64| mark.min(1.0)).collect()
}

/// The sentences of a summary, split like in the engine; code is left out.
fn sentences(summary: &str) -> impl Iterator<Item = String> + use<> {
    let mut is_code = false;
    let words: Vec<&str> = summary
        .lines()
        .filter(|line| {
            let is_fence = line.trim_start().starts_with("```");
            is_code ^= is_fence;
            !is_code && !is_fence
        })
        .collect();
    let said = Message::new(Role::Assistant, vec![Part::text(words.join("\n"))]);
    let samples = engine::samples(&History::from_iter([Message::user("Summarise."), said]));
    samples.into_iter().map(|sample| sample.text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_is_marked_that_a_sentence_of_the_summary_retells() {
        let told = [
            "Port 8080 was taken, so the server moved to 9090.",
            "Let me look at the code of the parser.",
            "The lexer drops trailing commas in lists.",
        ];
        let rarity = Rarity::of(told.into_iter().enumerate());
        let marks = retold(
            "Server moved to port 9090 since 8080 was taken.\n```\nlexer drops trailing commas\n```",
            &rarity,
        );
        assert!(marks[0] > 0.9, "{marks:?}");
        assert_eq!(marks[1..], [0.0, 0.0]);
    }
}
