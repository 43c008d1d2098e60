//! The words of a line of an answer, and what the first of them says that tells how it went.

use super::table::{self, *};

/// A word of a line. Names of files and of values, and whatever is quoted, are none that means anything.
#[derive(Clone, Copy)]
pub(super) struct Word {
    entry: &'static Entry,
    /// A colon stands behind it.
    is_label: bool,
    /// A sentence ends behind it.
    ends: bool,
}

impl Word {
    fn text(self) -> &'static str {
        self.entry.0
    }

    /// Whether it may mean one of these.
    pub(super) fn is(self, meanings: u32) -> bool {
        self.entry.1 & meanings != 0
    }

    /// Whether it is this one.
    pub(super) fn says(self, word: &str) -> bool {
        self.text() == word
    }
}

/// The word at a place, or one that means nothing.
pub(super) fn word(words: &[Word], at: usize) -> Word {
    words.get(at).copied().unwrap_or(Word {
        entry: OTHER,
        is_label: false,
        ends: false,
    })
}

/// Puts the words of a line in place of those that were there; `didn't` is two.
pub(super) fn split(line: &str, words: &mut Vec<Word>) {
    words.clear();
    let mut rest = line;
    while let Some((token, quoted, behind)) = next_token(rest) {
        rest = behind;
        let is_sign = |c: char| !c.is_alphanumeric();
        let is_label = token.ends_with(':');
        let ends = token.ends_with(['.', '!', ';']);
        let mut push = |entry| words.push(Word { entry, is_label, ends });
        // A call such as `apply("x")` is named before its parenthesis, and a quotation has no name.
        let named = &token[..quoted.unwrap_or(token.len())];
        let named = named.trim_start_matches(is_sign);
        let (bare, is_call) = match named.split_once('(') {
            Some((bare, _)) => (bare, true),
            None => (named, false),
        };
        if quoted.is_some() && !is_call {
            push(OTHER);
            continue;
        }
        let bare = bare.trim_end_matches(is_sign);
        let entry = table::find(bare);
        if entry != OTHER {
            push(entry);
        } else if is_label && is_fault(bare) {
            push(table::find("error"));
        } else if bare.contains(['/', '\\', '_', '.', '=', '<', '>']) {
            push(OTHER);
        } else if let Some(verb) = denied(bare) {
            push(table::find(verb));
            push(table::find("not"));
        } else if !bare.is_empty() {
            push(OTHER);
        }
    }
}

/// The next piece of a line between blanks, where the first quotation in it begins, and what stands behind it.
fn next_token(line: &str) -> Option<(&str, Option<usize>, &str)> {
    let line = line.trim_start();
    let mut quoted = None;
    let mut before = ' ';
    let mut at = 0;
    while let Some(c) = line[at..].chars().next() {
        if c.is_whitespace() {
            break;
        }
        let end = at + c.len_utf8();
        // The apostrophe of `doesn't` opens nothing.
        if matches!(c, '`' | '"') || c == '\'' && !before.is_alphanumeric() {
            let Some(close) = line[end..].find(c) else {
                // What is opened and never closed parts words as a blank does.
                if at == 0 {
                    return next_token(&line[end..]);
                }
                return Some((&line[..at], quoted, &line[end..]));
            };
            quoted = quoted.or(Some(at));
            at = end + close + c.len_utf8();
        } else {
            at = end;
        }
        before = c;
    }
    (at > 0).then(|| (&line[..at], quoted, &line[at..]))
}

/// `TypeError`, `IOException`, `ENOENT`.
fn is_fault(name: &str) -> bool {
    let is_code = name.starts_with('E') && !name.ends_with("ED") && name.bytes().all(|b| b.is_ascii_uppercase());
    name.len() > 5 && (is_code || name.ends_with("Error") || name.ends_with("Exception"))
}

/// What a word denies: `does` in `doesn't`, `can` in `cannot`.
fn denied(word: &str) -> Option<&str> {
    const ENDS: [&str; 3] = ["n't", "n’t", "not"];
    let verb = ENDS.iter().find_map(|end| {
        let (verb, behind) = word.split_at_checked(word.len().checked_sub(end.len())?)?;
        behind.eq_ignore_ascii_case(end).then_some(verb)
    });
    verb.filter(|verb| !verb.is_empty())
}

/// What words tell of a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Telling {
    /// How it went.
    Of(bool),
    /// That it failed, unless something behind them says otherwise.
    Doubt,
    Nothing,
}

/// What the first of these words says that tells how it went.
pub(super) fn words_tell(words: &[Word]) -> Telling {
    let (mut is_doubtful, mut is_duty) = (false, false);
    for (at, word) in words.iter().enumerate() {
        if is_failure(words, at) {
            return Telling::Of(false);
        }
        if word.is(DOUBT | DUTY) {
            is_doubtful = true;
            is_duty |= word.is(DUTY);
        } else if !is_duty && is_success(words, at) {
            return Telling::Of(true);
        }
        is_duty &= !word.ends;
    }
    if is_doubtful { Telling::Doubt } else { Telling::Nothing }
}

fn is_failure(words: &[Word], at: usize) -> bool {
    let before = before(words, at);
    let (this, next, behind) = (word(words, at), word(words, at + 1), word(words, at + 2));
    let is_other = |word: Word| word.is(OTHERS);
    // `Updated 0 files`, `success: false`.
    let is_none = next.is(ZERO) && behind.is(MADE) && is_success(words, at);
    is_none
        || match this.text() {
            "error" | "errors" => {
                !before.is(NONE)
                    && !two_before(words, at).is(NONE)
                    && !next.is(OF_ERRORS)
                    && (this.is_label || !is_mended(words, at))
            }
            "not" => before.is(AUX) && !before.is(STATE) || next.is(DENIED) || next.says("been") && behind.is(DENIED),
            "no" => next.is(UNFOUND),
            "nothing" => next.is(AUX | SUCCESS) || next.says("to"),
            "0" | "zero" => next.is(FEW),
            "multiple" | "several" => next.is(MANY) && !is_made_behind(words, at),
            "already" => (next.says("exists") || next.says("exist")) && !is_made_behind(words, at),
            "too" => next.is(MUCH) && !is_made_behind(words, at),
            "timeout" => words.len() == 1,
            "unchanged" => words.len() <= FEW_WORDS,
            "timed" => next.says("out"),
            "modified" | "changed" => {
                let is_by_another = is_other(behind) || behind.is(ARTICLE) && is_other(word(words, at + 3));
                next.says("since") || next.says("externally") || next.says("by") && is_by_another
            }
            "before" => next.is(WRITING),
            "outside" => words[at + 1..].iter().take(NEAR).any(|word| word.is(PLACE)),
            "read-only" | "readonly" => before.is(STATE) && !is_made_behind(words, at),
            "skipped" => at == 0 && this.is_label && !is_made_behind(words, at),
            "discarded" => before.is(PASSIVE | NOUN | MADE) && !two_before(words, at).is(NONE),
            "waiting" => next.says("for") && words[at + 2..].iter().take(NEAR).any(|word| word.is(APPROVAL)),
            "awaiting" | "pending" => words[at + 1..].iter().take(2).any(|word| word.is(APPROVAL)),
            "ok" | "success" => next.says("false"),
            _ if this.is(DOUBT) => at == 0 && this.is_label,
            _ => this.is(FAILURE) && !before.is(NONE),
        }
}

/// Words within which a place or a permission is named.
const NEAR: usize = 4;

/// A line of so few words is about the call and nothing else.
const FEW_WORDS: usize = 4;

/// Whether something is said to be done behind this word all the same: `already exists; overwrote it`.
fn is_made_behind(words: &[Word], at: usize) -> bool {
    (at + 1..words.len()).any(|behind| is_success(words, behind))
}

/// `1 error fixed`, `The errors in a.rs have been resolved`.
fn is_mended(words: &[Word], at: usize) -> bool {
    const BETWEEN: usize = 4;
    let behind = words[at + 1..].iter().take(BETWEEN);
    let mut behind = behind.skip_while(|word| word.is(PASSIVE) || word.entry == OTHER && !word.is_label);
    behind.next().is_some_and(|word| word.is(MENDED))
}

fn is_success(words: &[Word], at: usize) -> bool {
    let this = word(words, at);
    if this.says("has") || this.says("have") {
        let behind = word(words, at + 2);
        return word(words, at + 1).says("been") && behind.is(SUCCESS) && !is_failure(words, at + 2);
    }
    this.is(SUCCESS) && !before(words, at).is(ARTICLE)
}

fn before(words: &[Word], at: usize) -> Word {
    word(words, at.checked_sub(1).unwrap_or(usize::MAX))
}

fn two_before(words: &[Word], at: usize) -> Word {
    word(words, at.checked_sub(2).unwrap_or(usize::MAX))
}
