//! What the user asks a compaction to attend to: lines with these words, lines beside them, and files named by them.

use crate::exact;
use crate::index::Index;
use crate::scope::Lines;
use std::collections::HashSet;

/// A line with one of the words; with several, their sum …
const SAID: f32 = 8.0;
/// … lines at most so far away from it …
const REACH: usize = 2;
const BESIDE: f32 = 3.0;
/// … and what is read from a file, or written to it, whose path has one of the words.
const FILE: f32 = 3.0;
/// A word counts in full up to one of so many lines, less above that, and nothing where every line has it …
const RARE: f32 = 20.0;
/// … unless it stands in no more than so many.
const FEW: usize = 20;
/// Words that name nothing, as they are looked for.
const EMPTY: [&str; 38] = [
    "about",
    "all",
    "and",
    "any",
    "are",
    "attend",
    "but",
    "can",
    "concentrate",
    "detail",
    "everything",
    "focu",
    "for",
    "from",
    "how",
    "into",
    "its",
    "keep",
    "not",
    "only",
    "our",
    "please",
    "preserve",
    "remember",
    "summarise",
    "summarize",
    "summary",
    "that",
    "the",
    "this",
    "was",
    "what",
    "when",
    "which",
    "why",
    "with",
    "word",
    "you",
];
/// The shortest word, in bytes, and the most that are looked for.
const SHORTEST: usize = 3;
const MOST: usize = 32;
/// A word of this many bytes is taken without the `s` that it ends with.
const PLURAL: usize = 5;

/// Multiplies the factors of the lines that these words ask for. Takes time in proportion to the bytes of the history and
/// to the number of words.
pub(crate) fn weigh(index: &Index, words: &str, of: &Lines, factors: &mut [f32]) {
    let words = wanted(words);
    if words.is_empty() {
        return;
    }
    let mut lines: Vec<Vec<u32>> = vec![Vec::new(); words.len()];
    let mut files: Vec<HashSet<u64>> = vec![HashSet::new(); words.len()];
    for block in &index.blocks {
        let text = block.text.as_str();
        let lower = text.to_ascii_lowercase();
        let first_end = match block.lines.clone().nth(1) {
            Some(second) => index.lines[second as usize].start as usize,
            None => text.len(),
        };
        let at = &index.lines[block.lines.start as usize..block.lines.end as usize];
        for (number, word) in words.iter().enumerate() {
            let found = &mut lines[number];
            for (place, _) in lower
                .match_indices(word.as_str())
                .filter(|(place, _)| begins(text, *place))
            {
                let before = at.partition_point(|line| line.start as usize <= place);
                let Some(line) = before.checked_sub(1).map(|line| block.lines.start + line as u32) else {
                    continue;
                };
                if found.last() != Some(&line) {
                    found.push(line);
                }
                if block.subject && place < first_end {
                    files[number].insert(block.path);
                }
            }
        }
    }
    let mut gains = vec![1.0_f32; index.lines.len()];
    let mut said = vec![0.0_f32; index.lines.len()];
    for (lines, files) in lines.iter().zip(&files) {
        let part = rarity(lines.len(), index.lines.len());
        let (around, file) = (1.0 + (BESIDE - 1.0) * part, 1.0 + (FILE - 1.0) * part);
        for &line in lines {
            let near = (line as usize).saturating_sub(REACH)..(line as usize + REACH + 1).min(gains.len());
            gains[near].iter_mut().for_each(|gain| *gain = gain.max(around));
        }
        for block in index.blocks.iter().filter(|block| files.contains(&block.path)) {
            let lines = &mut gains[block.lines.start as usize..block.lines.end as usize];
            lines.iter_mut().for_each(|gain| *gain = gain.max(file));
        }
        lines.iter().for_each(|&line| said[line as usize] += SAID * part);
    }
    for (factor, line) in factors.iter_mut().zip(of.iter()) {
        *factor *= gains[line as usize].max(said[line as usize]);
    }
}

/// From 1 for a word in few lines down to 0 for a word in all of them.
fn rarity(lines: usize, of: usize) -> f32 {
    if lines <= FEW {
        return 1.0;
    }
    (exact::log2(of as f32 / lines as f32) / exact::log2(RARE)).clamp(0.0, 1.0)
}

/// The words to look for, in lower case, each once.
fn wanted(words: &str) -> Vec<String> {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '-' | '/');
    let mut seen = HashSet::new();
    words
        .split(|c| !is_part(c))
        .map(|word| word.trim_matches(['.', '-', '/']).to_ascii_lowercase())
        .map(|mut word| {
            if word.len() >= PLURAL && word.ends_with('s') {
                word.pop();
            }
            word
        })
        .filter(|word| word.len() >= SHORTEST && !EMPTY.contains(&word.as_str()) && seen.insert(word.clone()))
        .take(MOST)
        .collect()
}

/// Whether a word begins here, or a part of a name such as `parse_line` or `parseLine`.
fn begins(text: &str, at: usize) -> bool {
    let here = text[at..].chars().next();
    let before = text[..at].chars().next_back();
    before
        .is_none_or(|before| !before.is_alphanumeric() || before.is_lowercase() && here.is_some_and(char::is_uppercase))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::{
        self,
        tests::{call, run, with_task},
    };
    use crate::history::History;
    use crate::message::{Action, ActionKind};
    use crate::pack::{self, Task};
    use proptest::prelude::*;
    use serde_json::json;

    /// What is quoted in room for about one of the outputs.
    fn quoted(history: &History, focus: Option<&str>) -> String {
        with_task(history, 210, |task, units| {
            let task = Task { focus, ..task };
            pack::choose(&task, |taken| digest::render(task.index, units, taken)).0
        })
    }

    /// The oldest of many outputs is about walnuts.
    fn outputs() -> History {
        let mut history = History::new();
        for (number, word) in ["walnut", "cherry", "damson", "medlar", "quince", "almond"]
            .iter()
            .enumerate()
        {
            let output = format!("{word}Width = {number}; part_of = try_{number}_of(12) else 0");
            run(&mut history, &format!("./look {number}"), &output);
        }
        history
    }

    #[test]
    fn what_the_user_asks_for_is_quoted_first() {
        let history = outputs();
        let without = quoted(&history, None);
        assert!(
            without.contains("almondWidth") && !without.contains("walnut"),
            "{without}"
        );
        for focus in [
            "keep the walnuts",
            "Walnut!",
            "WIDTH of the walnutWidth",
            "the walnut, please",
        ] {
            let with = quoted(&history, Some(focus));
            assert!(with.contains("walnutWidth"), "{focus}: {with}");
        }
        for focus in ["alnut", "", "of", "plum"] {
            assert_eq!(quoted(&history, Some(focus)), without, "{focus}");
        }
    }

    #[test]
    fn a_word_that_is_everywhere_steers_nothing() {
        let mut history = outputs();
        for number in 0..40 {
            run(
                &mut history,
                "walnut",
                &format!("walnut {number} is counted here once more"),
            );
        }
        let lines = Lines::new((0..history.index().lines.len() as u32).collect());
        let mut factors = vec![1.0; history.index().lines.len()];
        weigh(history.index(), "walnut", &lines, &mut factors);
        assert!(factors.iter().all(|factor| *factor < 1.5), "{factors:?}");
        assert_eq!((rarity(20, 40), rarity(40, 40), rarity(50, 1_000)), (1.0, 0.0, 1.0));
    }

    #[test]
    fn a_file_is_meant_by_its_name() {
        let mut history = History::new();
        let mut read = |path: &str, text: &str| {
            let action = Action::on(ActionKind::Read, [path]);
            call(
                &mut history,
                "Read",
                action,
                json!({"file_path": path}),
                (Some(true), text),
            );
        };
        for word in ["walnut", "cherry", "damson", "medlar", "quince", "almond"] {
            read(
                &format!("src/{word}.rs"),
                &format!("let the_{}_count = 7 + nothing_at_all(3);", word.len()).replace("the", &word[1..4]),
            );
        }
        let without = quoted(&history, None);
        assert!(!without.contains("aln_6_count"), "{without}");
        let with = quoted(&history, Some("everything about the walnut"));
        assert!(with.contains("aln_6_count"), "{with}");
    }

    proptest! {
        #[test]
        fn any_words_and_any_text_are_taken(
            outputs in proptest::collection::vec("([a-cA-C_ÄßİK ]{0,9}\n?){0,6}", 0..6),
            words in "[a-cA-C_ÄßİK ./-]{0,30}",
        ) {
            let mut history = History::new();
            for output in &outputs {
                run(&mut history, "./look", output);
            }
            let lines = Lines::new((0..history.index().lines.len() as u32).collect());
            let mut factors = vec![1.0; lines.len()];
            weigh(history.index(), &words, &lines, &mut factors);
            prop_assert!(factors.iter().all(|factor| (1.0..=SAID * MOST as f32 + 1.0).contains(factor)));
        }
    }
}
