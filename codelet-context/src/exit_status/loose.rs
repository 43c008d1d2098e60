//! Statuses in words and signs that no harness is known for: `--- process ended with status 0 after 0.41s ---`,
//! `[FAILED exit=1]`.
//!
//! Any program may print such a line, so one counts only where nearly all answers of the tool have one: what
//! stands in all of them no program has printed.

/// Longer lines, and those of more words, state nothing.
const LONGEST_LINE: usize = 160;
const MOST_WORDS: usize = 14;
/// What says alone that an exit status follows; joined by `_`, whatever joins them in the line.
const NAMES: [&str; 9] = [
    "exit",
    "exited",
    "exitcode",
    "exit_code",
    "exitstatus",
    "exit_status",
    "returncode",
    "return_code",
    "rc",
];
/// What says so behind `with`: `ended with status 1`.
const BARE: [&str; 2] = ["code", "status"];
/// What may stand between the name and the number.
const BETWEEN: [&str; 8] = ["code", "status", "value", "with", "was", "is", "nonzero", "non_zero"];

/// The status that a line states once, whatever else it says and however it is decorated.
pub(super) fn status(line: &str) -> Option<i64> {
    if line.len() > LONGEST_LINE || !line.bytes().any(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let words: Vec<String> = words(line).take(MOST_WORDS + 1).collect();
    if words.len() > MOST_WORDS {
        return None;
    }
    let mut found = None;
    let mut at = 0;
    while at < words.len() {
        if is_name(&words, at) {
            let between = |word: &&String| BETWEEN.contains(&word.as_str());
            let behind = at + 1 + words[at + 1..].iter().take_while(between).count();
            let status: i64 = words.get(behind)?.parse().ok()?;
            if found.replace(status).is_some() {
                return None;
            }
            at = behind;
        }
        at += 1;
    }
    found.filter(|status| i32::try_from(*status).is_ok() || u32::try_from(*status).is_ok())
}

fn is_name(words: &[String], at: usize) -> bool {
    let (word, before) = (&*words[at], at.checked_sub(1).map(|before| &*words[before]));
    let is_pair = || {
        word == "return"
            && words
                .get(at + 1)
                .is_some_and(|next| matches!(&**next, "code" | "value"))
    };
    NAMES.contains(&word) || before == Some("with") && BARE.contains(&word) || is_pair()
}

/// The words and numbers of a line, without what decorates them.
fn words(line: &str) -> impl Iterator<Item = String> {
    let is_joint = |c: char| c.is_whitespace() || "=:()[]{}<>|,;*#~`'\"".contains(c);
    line.split(is_joint).filter_map(|word| {
        let is_negative = word.starts_with('-') && word[1..].parse::<u32>().is_ok();
        let word = match is_negative {
            true => word,
            false => word.trim_matches(|c: char| !c.is_alphanumeric()),
        };
        (!word.is_empty()).then(|| {
            let joined = if is_negative {
                word.to_owned()
            } else {
                word.replace('-', "_")
            };
            joined.to_lowercase()
        })
    })
}
