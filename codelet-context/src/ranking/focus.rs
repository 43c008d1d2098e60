//! The user's focus for a summary: words in lines, and files named by calls.

use super::index::RankingIndex;
use super::word::is_common;

/// The factor on a segment's value for each focus word or file that it mentions.
const FACTOR: f32 = 8.0;
/// The minimum letters of a word that also matches inside other words; a shorter one, such as `api`, must stand alone.
const WITHIN: usize = 4;
/// Words that phrase a request and are not its subject.
#[rustfmt::skip]
const ASKING: &[&str] = &[
    "attend", "concentrate", "context", "detail", "details", "especially", "everything", "focus", "focused", "include", "keep", "mention",
    "please", "preserve", "remember", "retain", "summarise", "summarize", "summary", "everyone", "anything", "mainly",
];

/// Words and files, in lower case.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Focus {
    words: Vec<String>,
    files: Vec<String>,
}

impl Focus {
    /// Parses an instruction; `None` if none of its words is significant.
    pub fn of(instruction: &str) -> Option<Self> {
        let (mut words, mut files) = (Vec::new(), Vec::new());
        for said in instruction.split_whitespace() {
            match named_file(said) {
                Some(file) => {
                    // Lines that mention the file may leave out its folders.
                    words.extend(file.rsplit('/').next().map(str::to_owned));
                    files.push(file);
                }
                None => words.extend(said.split(|c: char| !c.is_alphanumeric() && c != '_').filter_map(word)),
            }
        }
        words.sort_unstable();
        words.dedup();
        words.retain(|word| !word.is_empty());
        (!words.is_empty() || !files.is_empty()).then_some(Focus { words, files })
    }

    /// The factor for the value of a text.
    pub fn factor(&self, text: &str, is_of_named_file: bool) -> f32 {
        let text = text.to_lowercase();
        let held = self.words.iter().filter(|word| holds(&text, word)).count() + usize::from(is_of_named_file);
        if held == 0 { 1.0 } else { FACTOR * held as f32 }
    }

    /// Returns whether a block is the output of a call that names one of the files.
    pub fn names_file_of(&self, index: &RankingIndex, block: u32) -> bool {
        let Some(call) = index.blocks[block as usize].call.filter(|_| !self.files.is_empty()) else {
            return false;
        };
        let called = index.blocks[call as usize].text.as_str().to_lowercase();
        self.files.iter().any(|file| holds(&called, file))
    }
}

/// The file that a word names: it has a folder or an extension.
pub(crate) fn named_file(said: &str) -> Option<String> {
    let name = said.trim_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '.' | '/' | '_' | '-'));
    let name = name.trim_end_matches(['.', '/']).trim_start_matches("./");
    let is_ending = |ending: &str| (1..=5).contains(&ending.len()) && ending.bytes().all(|b| b.is_ascii_alphanumeric());
    let has_ending = name
        .rsplit_once('.')
        .is_some_and(|(stem, ending)| !stem.is_empty() && is_ending(ending));
    let is_number = name.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    (!is_number && (has_ending || name.contains('/'))).then(|| name.to_lowercase())
}

/// The lower-case form of a significant word, without a plural ending.
fn word(said: &str) -> Option<String> {
    let word = said.to_lowercase();
    let letters = word.chars().count();
    let is_name = said.chars().all(|c| c.is_uppercase() || c.is_numeric()) || !said.is_ascii();
    let tells = letters >= 3 || (letters == 2 && is_name);
    if !tells || is_common(&word) || ASKING.contains(&word.as_str()) {
        return None;
    }
    let one = word.strip_suffix('s').filter(|one| one.chars().count() >= WITHIN);
    Some(one.map_or(word.clone(), str::to_owned))
}

/// Returns whether a text contains a word, both in lower case. Short ASCII words occur within many others, so they must
/// stand alone; scripts without spaces never separate words.
fn holds(text: &str, word: &str) -> bool {
    if word.chars().count() >= WITHIN || !word.is_ascii() {
        return text.contains(word);
    }
    text.match_indices(word).any(|(at, _)| {
        let parts = |c: Option<char>| c.is_none_or(|c| !c.is_ascii_alphanumeric());
        parts(text[..at].chars().next_back()) && parts(text[at + word.len()..].chars().next())
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn an_instruction_is_about_its_telling_words_and_its_files() {
        for (instruction, words, files) in [
            ("focus on the retry logic", &["logic", "retry"][..], &[][..]),
            ("keep what the walnuts are", &["walnut"], &[]),
            ("Keep the API errors.", &["api", "error"], &[]),
            ("the CI, please", &["ci"], &[]),
            (
                "@src/Retry.rs and ./Makefile.am!",
                &["makefile.am", "retry.rs"],
                &["src/retry.rs", "makefile.am"],
            ),
            ("über 登录", &["über", "登录"], &[]),
            ("version 1.2 of it", &["version"], &[]),
        ] {
            let focus = Focus::of(instruction).unwrap();
            assert_eq!(focus.words, words, "{instruction}");
            assert_eq!(focus.files, files, "{instruction}");
        }
        assert_eq!(Focus::of("please keep it to the"), None);
    }

    #[test]
    fn a_short_word_stands_alone_and_a_long_one_within_names() {
        let factor = |instruction: &str, text: &str| Focus::of(instruction).unwrap().factor(text, false);
        assert_eq!(factor("api", "the rapid fix"), 1.0);
        assert_eq!(factor("api", "GET /api/v1"), FACTOR);
        assert_eq!(factor("retries", "fn RetriesLeft()"), FACTOR);
        assert_eq!(factor("retry logic", "the logic of a retry"), 2.0 * FACTOR);
        assert_eq!(factor("登录", "修复登录问题"), FACTOR);
    }
}
