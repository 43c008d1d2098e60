//! Lists of words in one text, with a blank between two of them.

/// Whether a word is one of a list.
pub fn is_in(word: &str, list: &str) -> bool {
    is_among(word, list, |a, b| a == b)
}

/// Whether a word is one of a list, in large or small letters.
pub(crate) fn is_in_any_case(word: &str, list: &str) -> bool {
    is_among(word, list, |a, b| a.eq_ignore_ascii_case(&b))
}

/// Asked so often that it reads byte by byte: the words are too short for a search that has to be set up.
#[inline]
fn is_among(word: &str, list: &str, are_same: impl Fn(u8, u8) -> bool) -> bool {
    let (word, mut rest) = (word.as_bytes(), list.as_bytes());
    loop {
        let pairs = word.iter().zip(rest);
        let alike = pairs.take_while(|&(&a, &b)| b != b' ' && are_same(a, b)).count();
        rest = &rest[alike..];
        if alike == word.len() && rest.first().is_none_or(|&byte| byte == b' ') {
            return true;
        }
        match rest.iter().position(|&byte| byte == b' ') {
            Some(blank) => rest = &rest[blank + 1..],
            None => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn only_a_whole_word_is_in_a_list() {
        let list = "test t check";
        for word in ["test", "t", "check"] {
            assert!(is_in(word, list), "{word}");
        }
        for word in ["", "te", "tests", "est", "t check", "Test", "checks"] {
            assert!(!is_in(word, list), "{word}");
        }
        assert!(is_in_any_case("Test", list) && !is_in_any_case("Tes", list));
    }

    proptest! {
        #[test]
        fn a_word_is_in_a_list_if_it_is_one_of_its_parts(word in "[abA é]{0,4}", list in "[abAé ]{0,16}") {
            prop_assert_eq!(is_in(&word, &list), list.split(' ').any(|part| part == word));
            let is_part = list.split(' ').any(|part| part.eq_ignore_ascii_case(&word));
            prop_assert_eq!(is_in_any_case(&word, &list), is_part);
        }
    }
}
