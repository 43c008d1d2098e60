//! The name that somebody may have meant by one that does not exist.

/// Nothing that is longer is near to any name, in bytes; a word may be hostile and of any length.
const LONGEST: usize = 64;

/// How many letters are to be put in, left out, changed or swapped with their neighbour.
pub fn distance(typed: &str, name: &str) -> usize {
    strsim::osa_distance(&typed[..typed.ceil_char_boundary(LONGEST)], name)
}

/// The name that is nearest to a word, capitals aside, if any is near: one letter may be wrong, and one more for every four
/// that the name has. Of several the first.
pub fn nearest<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_lowercase();
    let near = names
        .into_iter()
        .map(|name| (distance(&word, &name.to_lowercase()), name));
    let (distance, name) = near.min_by_key(|(distance, _)| *distance)?;
    (distance <= 1 + name.len() / 4).then_some(name)
}

/// `; did you mean NAME?` where a name is near, else nothing.
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
