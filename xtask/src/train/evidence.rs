//! Evidence that a text contains an answer: patterns that must match near one another.

use fancy_regex::{Regex, RegexBuilder};
use std::ops::Range;

/// The patterns of an answer: each group must match, near the others.
pub struct Evidence {
    groups: Vec<Regex>,
    near: usize,
}

impl Evidence {
    /// Evidence from groups of alternatives that match within `near` characters of the first.
    ///
    /// # Errors
    /// If a pattern is invalid.
    pub fn new(groups: &[Vec<String>], near: usize) -> Result<Self, String> {
        let groups = groups.iter().map(|alternatives| match alternatives.as_slice() {
            [only] => pattern(only),
            several => pattern(
                &several
                    .iter()
                    .map(|one| format!("(?:{one})"))
                    .collect::<Vec<_>>()
                    .join("|"),
            ),
        });
        let groups = groups.collect::<Result<_, _>>()?;
        Ok(Evidence { groups, near })
    }

    /// Returns whether one of the texts contains it, or all of them joined.
    pub fn is_told(&self, kept: &[String]) -> bool {
        // Usually the joined text has it, so one search suffices.
        self.is_in(&kept.join("\n")) || kept.iter().any(|text| self.is_in(text))
    }

    fn is_in(&self, text: &str) -> bool {
        let Some(places) = self.places(text) else { return false };
        let Some((first, rest)) = places.split_first() else {
            return false;
        };
        let is_near = |at: &Range<usize>, places: &[Range<usize>]| {
            places.iter().any(|place| at.start.abs_diff(place.start) <= self.near)
        };
        first.iter().any(|at| rest.iter().all(|places| is_near(at, places)))
    }

    /// The ranges of the closest matches: one for each group, near the first.
    pub fn spans(&self, text: &str) -> Option<Vec<Range<usize>>> {
        let places = self.places(text)?;
        let (first, rest) = places.split_first()?;
        let found = first.iter().filter_map(|at| {
            let mut spans = vec![at.clone()];
            let mut widest = 0;
            for places in rest {
                let place = places.iter().min_by_key(|place| at.start.abs_diff(place.start))?;
                widest = widest.max(at.start.abs_diff(place.start));
                spans.push(place.clone());
            }
            (widest <= self.near).then_some((widest, spans))
        });
        found.min_by_key(|(widest, _)| *widest).map(|(_, spans)| spans)
    }

    /// Matches of each group, in characters; `None` if one has no match.
    fn places(&self, text: &str) -> Option<Vec<Vec<Range<usize>>>> {
        let found = self.groups.iter().map(|group| {
            let mut counted = (0, 0);
            let mut at = |byte: usize| {
                counted = (byte, counted.1 + text[counted.0..byte].chars().count());
                counted.1
            };
            let matches = group.find_iter(text).filter_map(Result::ok);
            let places: Vec<Range<usize>> = matches.map(|found| at(found.start())..at(found.end())).collect();
            (!places.is_empty()).then_some(places)
        });
        found.collect()
    }
}

/// A case-insensitive pattern in which `.*` crosses line ends, but only 200 characters.
///
/// # Errors
/// If the pattern is invalid.
pub fn pattern(written: &str) -> Result<Regex, String> {
    let widened = format!("(?i){}", written.replace(".*", r"[\s\S]{0,200}?"));
    let built = RegexBuilder::new(&widened).backtrack_limit(100_000_000).build();
    built.map_err(|error| format!("{written}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn evidence(groups: &[&[&str]], near: usize) -> Evidence {
        let owned = |group: &&[&str]| group.iter().map(|one| (*one).to_owned()).collect();
        Evidence::new(&groups.iter().map(owned).collect::<Vec<_>>(), near).unwrap()
    }

    #[test]
    fn groups_have_to_match_near_one_another() {
        let lock = evidence(&[&["lock"], &["stale", "left over"]], 30);
        let told = |texts: &[&str]| lock.is_told(&texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>());
        assert!(told(&["The LOCK was Stale"]));
        assert!(told(&["The lock", "was left over"]), "parts stand in a row");
        assert!(!told(&["the lock was held"]));
        assert!(!told(&[&format!("the lock {} stale", "ö".repeat(40))]));
        assert!(
            told(&[&format!("the lock {} stale", "ö".repeat(20))]),
            "near counts characters"
        );
    }

    #[test]
    fn what_is_between_may_be_on_another_line_but_not_far_away() {
        let order = evidence(&[&["first.*then"]], 700);
        assert!(order.is_told(&["First this,\nthen that".to_owned()]));
        assert!(!order.is_told(&[format!("first {} then", "x".repeat(300))]));
        assert!(pattern("(unclosed").is_err());
    }

    #[test]
    fn spans_are_those_that_stand_closest() {
        let pair = evidence(&[&["port"], &[r"\d{4}"]], 100);
        let text = "1111 the port was said; the port 8080";
        assert_eq!(pair.spans(text), Some(vec![28..32, 33..37]));
        assert_eq!(pair.spans("the port"), None);
    }
}
