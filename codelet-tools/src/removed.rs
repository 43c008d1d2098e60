//! Search in the text that was removed from the conversation. A summary names the handles of the texts that it quotes;
//! other removed texts have a handle too, and a search finds them by their words.

use crate::grep::excerpt;
use crate::text::count_lines;
use codelet_agent::tool::Output;
use codelet_context::recall::{Archive, Removed};
use codelet_text::short::{counted, grouped};
use grep_matcher::Matcher;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};

/// Lines that are shown of one text, and in all.
const LINES_OF_ONE: usize = 5;
const LINES: usize = 60;
/// Texts that are listed.
const TEXTS: usize = 30;

/// Builds a case-insensitive matcher: a regular expression or the literal words. `error[E0308]` is valid as both, and
/// the words are meant.
pub(crate) fn matcher(pattern: &str) -> Result<RegexMatcher, String> {
    if pattern.trim().is_empty() {
        return Err("`search` is empty".to_owned());
    }
    let mut builder = RegexMatcherBuilder::new();
    builder.case_insensitive(true).line_terminator(Some(b'\n'));
    let words: String = pattern
        .chars()
        .flat_map(|c| c.is_ascii_punctuation().then_some('\\').into_iter().chain([c]))
        .collect();
    builder
        .build(&format!("(?:{pattern})|{words}"))
        .or_else(|_| builder.build(&words))
        .map_err(|error| format!("`search` cannot be looked for: {error}"))
}

/// Searches all removed texts, newest first, and lists each match with its handle and first matching lines; or searches
/// one text and shows more of its lines.
pub(crate) fn search(archive: &Archive, matcher: &RegexMatcher, within: Option<(&str, &Removed)>) -> Output {
    let all: Vec<(&str, &Removed)> = match within {
        Some(one) => vec![one],
        None => archive
            .newest()
            .map(|(handle, removed)| (handle.as_str(), removed))
            .collect(),
    };
    let most = if within.is_some() { LINES } else { LINES_OF_ONE };
    let mut out = String::new();
    let (mut texts, mut lines) = (0, 0);
    for (handle, removed) in &all {
        let text = removed.body.as_str();
        // The whole text first, before searching it line by line.
        if !matches!(matcher.is_match(text.as_bytes()), Ok(true)) {
            continue;
        }
        texts += 1;
        if texts > TEXTS || lines >= LINES {
            continue;
        }
        let size = grouped(text.len());
        let total = counted(count_lines(text.as_bytes()), "line");
        out.push_str(&format!("{handle} · {}, {size} bytes, {total}\n", removed.tool));
        let numbered = text.split('\n').enumerate();
        let mut hits = numbered.filter(|(_, line)| matches!(matcher.is_match(line.as_bytes()), Ok(true)));
        for (at, line) in hits.by_ref().take(most.min(LINES - lines)) {
            out.push_str(&format!(
                "  {}: {}\n",
                at + 1,
                excerpt(matcher, line.trim_end_matches('\r').as_bytes())
            ));
            lines += 1;
        }
        let more = hits.count();
        if more > 0 {
            out.push_str(&format!("  [{} more]\n", counted(more, "line")));
        }
    }
    match (texts, within) {
        (0, None) => Output::failure(format!(
            "none of the {} removed from this conversation has that; other words may",
            counted(all.len(), "text")
        )),
        (0, Some((handle, _))) => Output::failure(format!("{handle} has no such line")),
        (_, None) => {
            let hidden = texts - out.lines().filter(|line| !line.starts_with("  ")).count();
            if hidden > 0 {
                out.push_str(&format!(
                    "[{} more; narrower words show them]\n",
                    counted(hidden, "text")
                ));
            }
            Output::success(out)
        }
        (_, Some(_)) => Output::success(out),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use codelet_context::body::Body;

    fn archive() -> Archive {
        let mut archive = Archive::default();
        archive.keep(&Body::new("fn parse()\nfn write()\n"), "Read", "test");
        let log: String = (1..=200).map(|n| format!("warning: item {n} is unused\n")).collect();
        archive.keep(&Body::new(log), "Bash", "test");
        archive.keep(&Body::new("error[E0308]: mismatched types in parse()"), "Bash", "test");
        archive
    }

    fn found(pattern: &str) -> String {
        search(&archive(), &matcher(pattern).unwrap(), None)
            .text
            .as_str()
            .to_owned()
    }

    #[test]
    fn what_was_removed_is_found_by_its_words_the_newest_first_and_read_by_its_handle() {
        let told = found("PARSE");
        let handles: Vec<&str> = told
            .lines()
            .filter(|line| !line.starts_with("  "))
            .map(|line| line.split(' ').next().unwrap())
            .collect();
        let archive = archive();
        let texts: Vec<&str> = handles
            .iter()
            .map(|handle| archive.get(handle).unwrap().body.as_str())
            .collect();
        assert_eq!(
            texts,
            ["error[E0308]: mismatched types in parse()", "fn parse()\nfn write()\n"]
        );
        assert!(told.contains("\n  1: fn parse()\n"), "{told}");
    }

    #[test]
    fn words_that_are_no_expression_are_looked_for_as_they_stand() {
        assert!(found("error[E0308]: mismatched").contains("1: error[E0308]"));
        assert!(found("parse(").contains("fn parse()"));
    }

    #[test]
    fn many_lines_are_counted_and_shown_one_text_at_a_time() {
        let told = found("warning");
        assert!(
            told.contains("5: warning: item 5 ") && !told.contains("6: warning"),
            "{told}"
        );
        assert!(told.contains("[195 lines more]"), "{told}");
        let archive = archive();
        let (handle, removed) = archive.newest().nth(1).unwrap();
        let within = Some((handle.as_str(), removed));
        let told = search(&archive, &matcher("warning").unwrap(), within);
        assert!(told.text.as_str().contains("60: warning: item 60 "));
        assert!(told.text.as_str().contains("[140 lines more]"));
        assert!(!search(&archive, &matcher("nothing like it").unwrap(), within).success);
    }

    #[test]
    fn a_search_is_bounded_however_much_was_removed() {
        let mut archive = Archive::default();
        for number in 0..5_000 {
            let text = format!("needle {number} {}", "x".repeat(5_000));
            archive.keep(&Body::new(text), "Bash", "test");
        }
        let told = search(&archive, &matcher("needle").unwrap(), None);
        assert!(told.text.len() < 40_000, "{}", told.text.len());
        assert!(
            told.text
                .as_str()
                .ends_with("[4,970 texts more; narrower words show them]\n"),
            "{}",
            told.text
        );
        assert!(!search(&archive, &matcher("absent").unwrap(), None).success);
    }
}
