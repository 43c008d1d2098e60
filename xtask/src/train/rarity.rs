//! The words of a conversation, and their rarity in it.

use std::collections::{BTreeSet, HashMap};

/// Stop words.
const COMMON: &str = "the a an is are was were be been to of in on at for and or not no it this that with as by from i you we they he \
                      she its if then so but can will would should could has have had do does did there here when which what how all \
                      any more also just only into out up about than";

/// The rarity of a conversation's words, and the words of each of its segments.
pub struct Rarity {
    numbers: HashMap<String, usize>,
    rarity: Vec<f64>,
    segments: Vec<Vec<usize>>,
}

impl Rarity {
    /// Computes the rarity from segments, each with the number of its part of the conversation. A word is rare if few
    /// parts contain it.
    pub fn of<'a>(texts: impl IntoIterator<Item = (usize, &'a str)>) -> Self {
        let mut numbers = HashMap::new();
        let (mut parts, mut last, mut count) = (Vec::<usize>::new(), Vec::<usize>::new(), 0_usize);
        let mut now = None;
        let segments = texts.into_iter().map(|(part, text)| {
            if now.replace(part) != Some(part) {
                count += 1;
            }
            let numbered = words(text).into_iter().map(|word| {
                let next = numbers.len();
                let number = *numbers.entry(word).or_insert(next);
                if number == parts.len() {
                    parts.push(0);
                    last.push(0);
                }
                if last[number] != count {
                    last[number] = count;
                    parts[number] += 1;
                }
                number
            });
            numbered.collect()
        });
        let segments = segments.collect();
        let all = count.max(1) as f64;
        let mut rarity: Vec<f64> = parts.iter().map(|&parts| (1.0 + all / parts as f64).ln()).collect();
        for (word, &number) in &numbers {
            if is_common(word) {
                rarity[number] = 0.0;
            }
        }
        Rarity {
            numbers,
            rarity,
            segments,
        }
    }

    /// The words of each segment.
    pub fn segments(&self) -> &[Vec<usize>] {
        &self.segments
    }

    /// The number of different words.
    pub fn count(&self) -> usize {
        self.rarity.len()
    }

    /// The rarity of a word.
    pub fn rarity(&self, word: usize) -> f64 {
        self.rarity[word]
    }

    /// The index of a word, if the conversation contains it.
    pub fn word(&self, word: &str) -> Option<usize> {
        self.numbers.get(word).copied()
    }

    /// The rarity of the rarest word.
    pub fn most(&self) -> f64 {
        self.rarity.iter().copied().fold(0.0, f64::max)
    }
}

/// Returns whether this is a stop word.
pub fn is_common(word: &str) -> bool {
    COMMON.split_whitespace().any(|common| common == word)
}

/// The distinct words of a text in lower case: names of at least two letters, and numbers with their points.
pub fn words(text: &str) -> BTreeSet<String> {
    let bytes = text.as_bytes();
    let (mut found, mut at) = (BTreeSet::new(), 0);
    let is_digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let is_name = |at: usize| {
        bytes
            .get(at)
            .is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
    };
    while at < bytes.len() {
        let began = at;
        if is_digit(at) {
            while is_digit(at) || bytes[at..].starts_with(b".") && is_digit(at + 1) {
                at += 1;
            }
            found.insert(text[began..at].to_owned());
        } else if is_name(at) {
            while is_name(at) {
                at += 1;
            }
            if at > began + 1 {
                found.insert(text[began..at].to_ascii_lowercase());
            }
        } else {
            at += 1;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_names_and_numbers() {
        let found: Vec<String> = words("Port 8080, v1.2.3: Parse_URL a (x) 2nd.").into_iter().collect();
        assert_eq!(
            found,
            ["2", "2.3", "8080", "nd", "parse_url", "port", "v1"].map(str::to_owned)[..].to_vec()
        );
    }

    #[test]
    fn a_word_is_rare_that_few_parts_have() {
        let rarity = Rarity::of([(0, "the parser"), (0, "parser again"), (3, "lexer again"), (7, "again")]);
        let of = |word: &str| rarity.word(word).map(|word| rarity.rarity(word));
        assert_eq!(of("the"), Some(0.0));
        assert_eq!(of("parser"), Some(4_f64.ln()));
        assert!(of("again") < of("lexer") && of("lexer") == Some(rarity.most()));
        assert_eq!((of("tokens"), rarity.segments().len(), rarity.count()), (None, 4, 4));
    }
}
