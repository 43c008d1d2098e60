//! Finds the part of a command line that no pattern allows, for the refusal.

use super::denied::without_redirections;
use super::line::split;
use super::looks;
use super::pattern::{allows, covers};
use codelet_text::short::clip;

/// The maximum length of a command in a refusal, in characters.
const SHOWN: usize = 80;

/// Returns what keeps [`allows`] from allowing a line: its redirection, or the first of its commands that no pattern
/// covers. `None` if it is a single command, or if the part is not known.
pub(super) fn uncovered(patterns: &[String], line: &str, is_elsewhere: bool, may_look: bool) -> Option<String> {
    let Some(commands) = split(line) else {
        let rest = without_redirections(line);
        let is_redirected = rest.trim() != line.trim() && allows(patterns, &rest, is_elsewhere, may_look);
        return is_redirected.then(|| "the redirection".to_owned());
    };
    if commands.len() < 2 {
        return None;
    }
    let mut is_elsewhere = is_elsewhere;
    let words = commands.iter().find(|words| {
        let may = may_look && looks::only_looks(words, false) || covers(patterns, words, is_elsewhere);
        is_elsewhere |= looks::moves(words);
        !may
    })?;
    let words: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
    Some(format!("`{}`", clip(&words.join(" "), SHOWN)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_part_that_no_pattern_covers_is_named() {
        let patterns = ["cargo *".to_owned(), "./check.sh".to_owned()];
        for (line, part) in [
            ("cargo test --lib > out.txt", Some("the redirection")),
            ("cargo test 2>> log && cargo fmt", Some("the redirection")),
            ("cargo test && rm -rf x", Some("`rm -rf x`")),
            ("cd a; ./check.sh", Some("`./check.sh`")),
            ("cargo test | tail -5; make", Some("`make`")),
            ("rm -rf x", None),
            ("rm x > out.txt", None),
            ("cargo test $(rm x)", None),
        ] {
            assert_eq!(uncovered(&patterns, line, false, true).as_deref(), part, "{line}");
        }
    }
}
