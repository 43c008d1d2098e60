//! The words of a history, numbered, with the word lists that contain them.

use super::look::Signs;
use crate::text::hash::{self, ByHash};
use hashbrown::hash_table::{Entry, HashTable};
use std::sync::LazyLock;

/// A set of word lists, as bits.
pub(crate) type Lists = u8;

/// The lists in `words.txt`, in the order of their bits.
pub(crate) const LISTS: [&str; 7] = ["common", "decide", "find", "fail", "wish", "done", "hedge"];
/// The bit of the list of function words.
pub(crate) const COMMON: Lists = 1;

/// The listed words: whole words by their hash, and prefixes, which end with `*` in the file.
struct Listed {
    whole: ByHash<Lists>,
    beginnings: Vec<(&'static str, Lists)>,
}

static LISTED: LazyLock<Listed> = LazyLock::new(|| {
    let mut listed = Listed {
        whole: ByHash::default(),
        beginnings: Vec::new(),
    };
    for line in include_str!("words.txt").lines() {
        let Some((list, words)) = line.split_once(':').filter(|_| !line.starts_with('#')) else {
            continue;
        };
        let bit = LISTS.iter().position(|name| *name == list).map_or(0, |at| 1 << at);
        for word in words.split_whitespace() {
            match word.strip_suffix('*') {
                Some(beginning) => listed.beginnings.push((beginning, bit)),
                None => *listed.whole.entry(hash::bytes(word.as_bytes())).or_default() |= bit,
            }
        }
    }
    listed
});

/// Returns whether a word, in lower case, is a function word.
pub(crate) fn is_common(word: &str) -> bool {
    LISTED
        .whole
        .get(&hash::bytes(word.as_bytes()))
        .is_some_and(|lists| lists & COMMON != 0)
}

/// The words of a history.
#[derive(Clone, Default)]
pub(crate) struct Words {
    numbers: Numbers,
    /// The lists, by word number.
    lists: Vec<Lists>,
    buffer: Vec<u8>,
}

/// Hashes, numbered in the order of their first occurrence: half the memory of a map from hashes to numbers.
#[derive(Clone, Default)]
struct Numbers {
    hashes: Vec<u64>,
    /// The numbers, by the hash of each.
    table: HashTable<u32>,
}

impl Numbers {
    fn get(&self, hash: u64) -> Option<u32> {
        let number = self.table.find(hash, |&number| self.hashes[number as usize] == hash);
        number.copied()
    }

    fn number(&mut self, hash: u64) -> u32 {
        let hashes = &self.hashes;
        let hash_of = |number: &u32| hashes[*number as usize];
        match self.table.entry(hash, |number| hash_of(number) == hash, hash_of) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(free) => {
                let number = hashes.len() as u32;
                free.insert(number);
                make_room(&mut self.hashes, 1);
                self.hashes.push(hash);
                number
            }
        }
    }
}

impl Words {
    /// The lists that contain a word.
    pub fn lists(&self, word: u32) -> Lists {
        self.lists[word as usize]
    }

    /// The words of a text that are already known.
    pub fn known_in(&self, text: &str) -> Vec<u32> {
        let mut found = Vec::new();
        visit(text, |word, _| {
            found.extend(self.numbers.get(hash::bytes(word.to_lowercase().as_bytes())))
        });
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Adds the words of a text to `found`, without duplicates, in the order of first occurrence.
    pub fn scan(&mut self, text: &str, found: &mut Vec<u32>) {
        let first = found.len();
        visit(text, |word, is_lower| {
            let number = match is_lower {
                true => self.number(word.as_bytes()),
                false => self.number_of_other(word),
            };
            if !found[first..].contains(&number) {
                found.push(number);
            }
        });
    }

    /// The number of a word with letters that are not in lower case or not ASCII.
    fn number_of_other(&mut self, word: &str) -> u32 {
        let mut lower = std::mem::take(&mut self.buffer);
        lower.clear();
        match word.is_ascii() {
            true => lower.extend(word.bytes().map(|byte| byte.to_ascii_lowercase())),
            false => lower.extend_from_slice(word.to_lowercase().as_bytes()),
        }
        let number = self.number(&lower);
        self.buffer = lower;
        number
    }

    /// The number of a word in lower case.
    fn number(&mut self, word: &[u8]) -> u32 {
        let hash = hash::bytes(word);
        let next = self.lists.len() as u32;
        let number = self.numbers.number(hash);
        if number == next {
            let mut lists = LISTED.whole.get(&hash).copied().unwrap_or_default();
            for (beginning, bit) in &LISTED.beginnings {
                if word.starts_with(beginning.as_bytes()) {
                    lists |= bit;
                }
            }
            make_room(&mut self.lists, 1);
            self.lists.push(lists);
        }
        number
    }
}

/// Calls `each` for every word of a text, with whether it is surely in lower case and ASCII: names of two letters or more, and numbers including decimal points. In
/// scripts without spaces, each character is a word.
fn visit(text: &str, mut each: impl FnMut(&str, bool)) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let first = bytes[at];
        if first.is_ascii() && !Signs::is_of_word(first) {
            at += 1;
        } else if first.is_ascii_digit() {
            let start = at;
            while at < bytes.len()
                && (bytes[at].is_ascii_digit()
                    || bytes[at] == b'.' && bytes.get(at + 1).is_some_and(u8::is_ascii_digit))
            {
                at += 1;
            }
            each(&text[start..at], true);
        } else if first.is_ascii() {
            let start = at;
            let (end, kinds) = Signs::run(bytes, start);
            // A non-ASCII word may begin with ASCII letters.
            let is_ascii = bytes.get(end).is_none_or(u8::is_ascii);
            at = if is_ascii { end } else { alphabetic_end(text, end) };
            if at - start > 1 {
                each(&text[start..at], is_ascii && Signs::is_small(kinds));
            }
        } else {
            let Some(c) = text[at..].chars().next() else { break };
            let end = at + c.len_utf8();
            if is_unspaced(c) {
                each(&text[at..end], false);
                at = end;
            } else if c.is_alphabetic() {
                let start = at;
                at = alphabetic_end(text, end);
                each(&text[start..at], false);
            } else {
                at = end;
            }
        }
    }
}

/// The end of the run of letters and digits at `from`.
fn alphabetic_end(text: &str, from: usize) -> usize {
    let rest = &text[from..];
    let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_' || is_unspaced(c));
    from + end.unwrap_or(rest.len())
}

/// Returns whether a character belongs to a script without spaces between words.
fn is_unspaced(c: char) -> bool {
    matches!(c, '\u{0e00}'..='\u{0eff}' | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{20000}'..='\u{3ffff}')
}

/// Reserves space for this many more elements, and at least an eighth of the current length. The default growth doubles
/// a full list, and the lists of a history make up most of the memory kept for a conversation.
pub(super) fn make_room<T>(list: &mut Vec<T>, more: usize) {
    if list.capacity() - list.len() < more {
        list.reserve_exact(more.max(list.len() / 8));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        let mut found = Vec::new();
        visit(text, |word, _| found.push(word.to_owned()));
        found
    }

    #[test]
    fn words_are_names_numbers_and_characters_of_scripts_without_blanks() {
        assert_eq!(words("let a_b = 1.25; x (ok)"), ["let", "a_b", "1.25", "ok"]);
        assert_eq!(words("Größe für naïve Тест"), ["Größe", "für", "naïve", "Тест"]);
        assert_eq!(words("解析 v2."), ["解", "析", "v2"]);
    }

    #[test]
    fn a_word_has_one_number_whatever_the_case_of_its_letters() {
        let mut words = Words::default();
        let mut found = Vec::new();
        words.scan("Parser parser PARSER other Größe GRÖSSE größe", &mut found);
        assert_eq!(found, [0, 1, 2, 3]);
    }

    #[test]
    fn hashes_are_numbered_in_the_order_of_their_first_occurrence() {
        let mut numbers = Numbers::default();
        assert_eq!(numbers.get(7), None);
        let hash = |number: u64| hash::bytes(&number.to_le_bytes());
        for number in 1..2_000 {
            assert_eq!(numbers.number(hash(number)), number as u32 - 1);
        }
        for number in 1..2_000 {
            assert_eq!(numbers.number(hash(number)), number as u32 - 1);
            assert_eq!(numbers.get(hash(number)), Some(number as u32 - 1));
        }
        assert_eq!(numbers.get(hash(2_000)), None);
        assert!(numbers.table.allocation_size() + numbers.hashes.capacity() * 8 < 2_000 * 20);
    }

    #[test]
    fn every_list_has_words() {
        for (at, name) in LISTS.iter().enumerate() {
            let is_on = |lists: &Lists| lists & (1 << at) != 0;
            let has = LISTED.whole.values().any(is_on) || LISTED.beginnings.iter().any(|(_, lists)| is_on(lists));
            assert!(has, "{name}");
        }
    }
}
