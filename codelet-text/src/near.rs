//! Suggestions for misspelled names.

/// The maximum bytes of a word that are compared; a word may be hostile and of any length.
const LONGEST: usize = 64;

/// The edit distance: insertions, deletions, substitutions and swaps of neighbouring letters.
pub fn distance(typed: &str, name: &str) -> usize {
    strsim::osa_distance(&typed[..typed.ceil_char_boundary(LONGEST)], name)
}

/// The name nearest to a word, ignoring case, if any is near: one letter may differ, and one more for every four
/// letters of the name. Of equally near names, the first.
pub fn nearest<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_lowercase();
    let near = names
        .into_iter()
        .map(|name| (distance(&word, &name.to_lowercase()), name));
    let (distance, name) = near.min_by_key(|(distance, _)| *distance)?;
    (distance <= 1 + name.len() / 4).then_some(name)
}

/// `; did you mean NAME?` if a name is near, otherwise empty.
pub fn hint<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    nearest(word, names).map_or(String::new(), |name| format!("; did you mean {name}?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_near_and_another_word_is_not() {
        let names = ["compact", "report", "man"];
        for (word, meant) in [
            ("comapct", Some("compact")),
            ("Reprot", Some("report")),
            ("mna", Some("man")),
            ("explode", None),
            ("", None),
        ] {
            assert_eq!(nearest(word, names), meant, "{word}");
        }
        assert_eq!(nearest("x", []), None);
        assert_eq!(nearest(&"é".repeat(1_000), names), None);
        assert_eq!(hint("comapct", names), "; did you mean compact?");
        assert_eq!(hint("explode", names), "");
    }
}
