//! What a change takes away from its files, within the text of its parameters.

use std::ops::Range;

/// The parts of a parameter's text that the change takes away, in their order, where it is made of blocks that say what to
/// search for and what to put there:
///
/// ```text
/// <<<<<<< SEARCH          ------- SEARCH
/// old lines               old lines
/// =======                 =======
/// new lines               new lines
/// >>>>>>> REPLACE         +++++++ REPLACE
/// ```
pub(crate) fn searched(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    if !text.contains("SEARCH") && !text.contains("ORIGINAL") {
        return found;
    }
    let mut begun = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        let line = line.trim();
        if is_head(line) {
            begun = Some(at);
        } else if is_rule(line, '=')
            && let Some(from) = begun.take()
            && from < start
        {
            found.push(from..start);
        }
    }
    found
}

/// Whether a change says line by line what goes and what comes, in the form that begins so.
pub(crate) fn is_patch(text: &str) -> bool {
    text.contains("*** Begin Patch")
}

/// The line that a block begins with.
fn is_head(line: &str) -> bool {
    let sign = line
        .split_once(' ')
        .filter(|(_, word)| matches!(word.trim(), "SEARCH" | "ORIGINAL"));
    sign.is_some_and(|(sign, _)| is_rule(sign, '<') || is_rule(sign, '-'))
}

fn is_rule(line: &str, sign: char) -> bool {
    line.len() >= 5 && line.chars().all(|c| c == sign)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_searched_for_is_what_goes() {
        let of = |text: &str| -> Vec<String> {
            let parts = searched(text).into_iter();
            parts.map(|part| text[part].to_owned()).collect()
        };
        let two = "<<<<<<< SEARCH\na\nb\n=======\nc\n>>>>>>> REPLACE\n\n<<<<<<< SEARCH\nd\n=======\n>>>>>>> REPLACE";
        assert_eq!(of(two), ["a\nb\n", "d\n"]);
        assert_eq!(
            of("------- SEARCH\r\na\r\n=======\r\nb\r\n+++++++ REPLACE\r\n"),
            ["a\r\n"]
        );
        let none: [&str; 0] = [];
        assert_eq!(of("<<<<<<< SEARCH\n=======\nnew\n>>>>>>> REPLACE"), none);
        // A conflict that somebody has to resolve, a heading, and a block that was cut off.
        for text in [
            "<<<<<<< HEAD\na\n=======\nb\n>>>>>>> theirs",
            "SEARCH\n=====\ntext",
            "<<<<<<< SEARCH\na\nb",
        ] {
            assert_eq!(of(text), none, "{text}");
        }
    }

    proptest! {
        #[test]
        fn the_parts_are_in_order_and_apart(lines in proptest::collection::vec("<<<<<<< SEARCH|=======|é|", 0..20)) {
            let text = lines.join("\n");
            let mut end = 0;
            for range in searched(&text) {
                prop_assert!(end <= range.start && range.start < range.end && text.get(range.clone()).is_some());
                end = range.end;
            }
        }
    }
}
