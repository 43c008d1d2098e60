//! Ranks pieces of the user's words if not all of them can be shown: binding and correcting ones first, and among each
//! group the short and specific ones, with names, numbers and paths.

use crate::ranking;

/// A text of more bytes is split into sentences and lines.
const PIECE: usize = 300;
/// The minimum length, in bytes, used in the ranking: `go on` does not come first because it is short.
const SHORT: usize = 40;

/// Words that bind the reader or correct an earlier statement.
const BINDING: &str = "actually allow allowed always approval approve approved avoid before cannot constraint constraints \
    correction deadline decide decided decision disallow dont don't ensure except exactly exceed forbid forbidden forget \
    important instead keep mandatory must mustn't never no not permission policy prefer preference preferred prefers prohibited \
    rather refuse remember require required requirement requires revert rule rules shall should shouldn't undo unless \
    until wants without won't wrong";
/// A label marks text that people want to be found: a few words and a colon within this many bytes.
const LABEL: usize = 24;

/// The pieces of a text that may be quoted separately: the whole of a short one.
pub(crate) fn pieces(text: &str) -> Vec<&str> {
    let text = text.trim();
    match text.len() {
        0 => Vec::new(),
        1..=PIECE => vec![text],
        _ => ranking::pieces(text).map(|range| &text[range]).collect(),
    }
}

/// The rank of a piece of a prompt, larger is more telling: whether it binds, and its value per byte.
pub(crate) fn rank(piece: &str) -> (bool, usize) {
    let (mut binding, mut specific, mut loud) = (0, 0, 0);
    for (at, word) in words(piece).enumerate() {
        binding += usize::from(BINDING.split(' ').any(|binding| binding.eq_ignore_ascii_case(word)));
        loud += usize::from(is_loud(word));
        specific += usize::from(is_specific(word));
        // For an endless text, the beginning suffices.
        if at == usize::from(u8::MAX) {
            break;
        }
    }
    let signs = binding.min(2) + loud.min(1) + usize::from(has_label(piece)) + specific.min(2);
    let binds = binding + loud > 0;
    // Rules are about equally valuable: more of them are quoted if the short ones come first.
    let worth = if binds { 16 } else { 1 } + 2 * signs;
    (binds, (worth << 16) / piece.len().max(SHORT))
}

/// A piece with its values masked. If two pieces differ only in a number, the later one holds.
pub(crate) fn frame(piece: &str) -> String {
    let mut frame = String::with_capacity(piece.len());
    for word in piece.split_whitespace() {
        let has_value = word.contains(|c: char| c.is_numeric());
        frame.push_str(if has_value { "#" } else { word });
        frame.push(' ');
    }
    frame.make_ascii_lowercase();
    frame
}

fn words(piece: &str) -> impl Iterator<Item = &str> {
    let is_between = |c: char| c.is_whitespace() || matches!(c, ',' | ';' | '(' | ')' | '"');
    let is_around = |c: char| matches!(c, '.' | ':' | '!' | '?' | '*' | '_');
    let words = piece.split(is_between).map(move |word| word.trim_matches(is_around));
    words.filter(|word| !word.is_empty())
}

fn has_label(piece: &str) -> bool {
    let head = &piece[..piece.floor_char_boundary(LABEL)];
    let label = head
        .split_once(": ")
        .map(|(label, _)| label.trim_start_matches(['*', '#', '-', ' ']));
    label.is_some_and(|label| label.starts_with(char::is_uppercase) && label.split(' ').count() <= 3)
}

/// Returns whether a word is emphasized: in capitals, and longer than most abbreviations.
fn is_loud(word: &str) -> bool {
    let mut letters = 0;
    let all = word.chars().all(|c| {
        letters += usize::from(c.is_uppercase());
        c.is_uppercase()
    });
    all && letters >= 4
}

/// Returns whether a word is specific: it has a digit, or the structure of a path, an address or an identifier.
fn is_specific(word: &str) -> bool {
    let has_digit = word.contains(|c: char| c.is_numeric());
    let inside = word.trim_matches(|c: char| !c.is_alphanumeric());
    let is_joined = inside.contains(['/', '_', '\\', '@', '=']) || inside.contains("::") || inside.contains('.');
    let mut chars = inside.chars();
    let has_hump = chars.next().is_some_and(char::is_lowercase) && chars.any(char::is_uppercase);
    has_digit || is_joined || has_hump || word.starts_with('`')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_binds_or_corrects_comes_before_the_rest() {
        let table = [
            "Never touch the public interface.",
            "no, the other one: use the pool of the reader",
            "IMPORTANT: the tests run on Windows as well",
        ];
        let rest = [
            "go on",
            "Now have a look at src/date.rs, line 40.",
            "What does the cache do?",
            "thanks",
        ];
        for binding in table {
            for other in rest {
                assert!(rank(binding) > rank(other), "{binding} and {other}");
            }
        }
    }

    #[test]
    fn of_the_rest_names_and_numbers_come_before_words_that_say_little() {
        assert!(rank("it is in src/date.rs") > rank("it is in the file"));
        assert!(rank("port 8080 answers") > rank("the port answers"));
    }

    #[test]
    fn a_long_text_is_taken_apart_at_lines_and_sentences() {
        assert_eq!(pieces(" one. two \n"), ["one. two"]);
        assert_eq!(pieces("\n"), [""; 0]);
        let line = "Mind the names of the files. ".repeat(20);
        let text = format!("Mend it.\n\n{line}\n{}", "x".repeat(700));
        let found = pieces(&text);
        assert_eq!(found[0], "Mend it.");
        let squeezed: String = found.concat().split_whitespace().collect();
        assert_eq!(squeezed, text.split_whitespace().collect::<String>());
    }
}
