//! Whether an answer says that the user, or somebody in the user's name, has not let the call run to its end.

use super::table::{BEFORE_NOUN, CALLER, DECIDING, NOUN, OF_TOOLS, PASSIVE, PERSON, REFUSED, WANTED};
use super::words::{Word, word};

/// Whether the words of a line say so; `is_all` where they are all of the answer.
pub(super) fn words_refuse(words: &[Word], is_all: bool) -> bool {
    let is_short = word(words, 0).is(REFUSED) && is_by_user(&words[1..]);
    is_short || user_refuses(words) || is_refused(words, is_all)
}

/// `The user has declined`, `User rejected`, `Error: the user did not allow`.
fn user_refuses(words: &[Word]) -> bool {
    let lead = words.iter().take_while(|word| word.is(CALLER)).count();
    if !word(words, lead).says("user") || lead > 3 {
        return false;
    }
    let rest = &words[lead + 1..];
    let between = rest.iter().take_while(|word| word.is(DECIDING)).count();
    let (verb, object) = (word(rest, between), word(rest, between + 1));
    verb.is(REFUSED) || verb.says("not") && object.is(WANTED)
}

/// `Tool execution cancelled by user`, `[Operation Cancelled]`, `This tool call was rejected`. Programs deny and abort things
/// themselves, so it counts if it names the user, or is all of the answer and speaks of tools.
fn is_refused(words: &[Word], is_all: bool) -> bool {
    let mut at = words.iter().take_while(|word| word.is(BEFORE_NOUN)).count();
    if at > 0 && !word(words, at).is(NOUN) {
        at -= 1;
    }
    let noun = word(words, at);
    let between = words.iter().skip(at + 1).take_while(|word| word.is(PASSIVE));
    let verb = at + 1 + between.count();
    let is_not = word(words, verb).says("not")
        && ["accepted", "approved"]
            .iter()
            .any(|yes| word(words, verb + 1).says(yes));
    if !noun.is(NOUN) || !is_not && !word(words, verb).is(REFUSED) {
        return false;
    }
    is_by_user(&words[verb + 1 + usize::from(is_not)..]) || is_all && noun.is(OF_TOOLS)
}

fn is_by_user(words: &[Word]) -> bool {
    let person = if word(words, 1).says("the") { 2 } else { 1 };
    word(words, 0).says("by") && word(words, person).is(PERSON)
}
