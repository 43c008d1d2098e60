//! How telling words of the user are, where not all of them can be shown: what binds and what corrects comes before the
//! rest, and of either what is said in few words, with names, numbers and places.

/// A longer text is taken apart into its lines, and a longer line into its sentences, in bytes.
const PIECE: usize = 300;
/// A shorter piece says no more a byte: `go on` does not come first because it is short.
const SHORT: usize = 40;

/// Words that bind whoever reads them, or correct what was said before.
#[rustfmt::skip]
const BINDING: &str = "actually allow allowed always approval approve approved avoid before cannot constraint constraints \
    correction deadline decide decided decision disallow dont don't ensure except exactly exceed forbid forbidden forget \
    important instead mandatory must mustn't never not permission policy prefer preference preferred prefers prohibited \
    rather refuse remember require required requirement requires revert rule rules shall should shouldn't undo unless \
    until wants without won't wrong \
    immer darf kein keine keinen müssen muss nicht nie niemals nur ohne sondern statt vergiss falsch \
    jamais pas seulement toujours sans doit nunca siempre sin debe debes não sempre somente sem deve \
    mai senza nooit altijd niet zonder alleen";
/// … where a text begins with them, or with several: elsewhere they say little.
const WEAK: &str = "no nobody none nothing only keep leave limit mind need needs stay stop update want nein lass";
/// The same in scripts that part no words.
#[rustfmt::skip]
const BINDING_SIGNS: [&str; 16] = [
    "不要", "必须", "必須", "禁止", "不能", "不可", "只能", "总是", "從不", "从不", "ないで", "必ず", "だけ", "하지 마", "반드시", "항상",
];
/// What people label, they want to be found: a few words and a colon before it, in bytes.
const LABEL: usize = 24;

/// How telling a piece is: the larger, the more.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Rank {
    binds: bool,
    density: f32,
}

impl Rank {
    pub fn total_cmp(&self, other: &Rank) -> std::cmp::Ordering {
        let tier = self.binds.cmp(&other.binds);
        tier.then(self.density.total_cmp(&other.density))
    }
}

/// The pieces of a text that may be quoted by themselves: the whole of a short one.
pub(crate) fn pieces(text: &str) -> Vec<&str> {
    let text = text.trim();
    if text.len() <= PIECE {
        return if text.is_empty() { Vec::new() } else { vec![text] };
    }
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.flat_map(sentences).collect()
}

fn sentences(line: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = line;
    while rest.len() > PIECE {
        let within = &rest[..rest.floor_char_boundary(PIECE)];
        let is_end = |(at, c): &(usize, char)| {
            matches!(c, '。' | '！' | '？')
                || matches!(c, '.' | '!' | '?' | ';') && rest[at + c.len_utf8()..].starts_with(' ')
        };
        let end = within.char_indices().find(is_end).map(|(at, c)| at + c.len_utf8());
        // One that has no end is quoted up to a blank.
        let end = end.or_else(|| within.rfind(' ')).filter(|&end| end > 0);
        let (sentence, behind) = rest.split_at(end.unwrap_or(within.len()));
        found.push(sentence.trim());
        rest = behind.trim_start();
    }
    if !rest.is_empty() {
        found.push(rest);
    }
    found
}

/// How telling a piece of a prompt is. `is_first`: it is of what the session began with.
pub(crate) fn rank(piece: &str, is_first: bool) -> Rank {
    let (mut binding, mut weak, mut specific, mut loud) = (0, 0, 0, 0);
    for (at, word) in words(piece).enumerate() {
        binding += u8::from(is_in(word, BINDING));
        let is_weak = is_in(word, WEAK);
        weak += if is_weak && at == 0 { 2 } else { u8::from(is_weak) };
        loud += u8::from(is_loud(word));
        specific += u8::from(is_specific(word));
        // Of a text without an end, its beginning says what it is.
        if at == usize::from(u8::MAX) {
            break;
        }
    }
    binding = binding
        .saturating_add(weak / 2)
        .saturating_add(u8::from(BINDING_SIGNS.iter().any(|sign| piece.contains(sign))));
    let signs = binding.min(2) + loud.min(1) + u8::from(has_label(piece)) + specific.min(2) + u8::from(is_first);
    let binds = binding + loud > 0;
    // One rule is worth about as much as another: more of them are quoted if the short ones come first.
    let worth = if binds { 16 } else { 1 } + 2 * signs;
    Rank {
        binds,
        density: f32::from(worth) / piece.len().max(SHORT) as f32,
    }
}

/// What a piece says beside its values. Of two that are the same but for a number, the later one holds.
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

/// Whether a word is written to be seen: in capitals, and longer than most abbreviations.
fn is_loud(word: &str) -> bool {
    let mut letters = 0;
    let all = word.chars().all(|c| {
        letters += usize::from(c.is_uppercase());
        c.is_uppercase()
    });
    all && letters >= 4
}

/// Whether a word names one thing: it has a number, or parts as paths, addresses and names in code have.
fn is_specific(word: &str) -> bool {
    let has_digit = word.contains(|c: char| c.is_numeric());
    let inside = word.trim_matches(|c: char| !c.is_alphanumeric());
    let is_joined = inside.contains(['/', '_', '\\', '@', '=']) || inside.contains("::") || inside.contains('.');
    let mut chars = inside.chars();
    let has_hump = chars.next().is_some_and(char::is_lowercase) && chars.any(char::is_uppercase);
    has_digit || is_joined || has_hump || word.starts_with('`')
}

/// Whether a word is one of a list, in large or small letters.
fn is_in(word: &str, list: &str) -> bool {
    list.split(' ').any(|listed| listed.eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_binds_or_corrects_comes_before_the_rest() {
        let table = [
            "Never touch the public interface.",
            "no, the other one: use the pool of the reader",
            "Bitte niemals die Tabelle löschen, die gehört der Buchhaltung.",
            "IMPORTANT: the tests run on Windows as well",
            "不要修改这个文件",
        ];
        let rest = [
            "go on",
            "Now have a look at src/date.rs, line 40.",
            "What does the cache do?",
            "thanks",
        ];
        for binding in table {
            for other in rest {
                let order = rank(binding, false).total_cmp(&rank(other, false));
                assert!(order.is_gt(), "{binding} and {other}");
            }
        }
    }

    #[test]
    fn of_the_rest_names_and_numbers_come_before_words_that_say_little() {
        let of = |piece| rank(piece, false);
        assert!(of("it is in src/date.rs").total_cmp(&of("it is in the file")).is_gt());
        assert!(of("port 8080 answers").total_cmp(&of("the port answers")).is_gt());
    }

    #[test]
    fn a_long_text_is_taken_apart_at_lines_and_sentences() {
        assert_eq!(pieces(" one. two \n"), ["one. two"]);
        assert_eq!(pieces("\n"), [""; 0]);
        let line = "Mind the names of the files. ".repeat(20);
        let text = format!("Mend it.\n\n{line}\n{}", "x".repeat(700));
        let found = pieces(&text);
        assert_eq!(found[0], "Mend it.");
        assert_eq!(found[1], "Mind the names of the files.");
        assert!(found.iter().all(|piece| (1..=PIECE).contains(&piece.len())));
        let squeezed: String = found.concat().split_whitespace().collect();
        assert_eq!(squeezed, text.split_whitespace().collect::<String>());
    }
}
