//! How what is kept as messages is made to fit its part of the budget.

use super::division::Division;
use crate::compact::draft::{self, Class, Draft};
use crate::message::recall::Archive;
use crate::message::tokens::{self, PART_TOKENS, Tokens};
use crate::message::{Message, Part, Role};
use crate::ranking::labels;
use crate::strategy::pairing;

/// The share of a budget that the kept steps may take: the least and the most of it, and what it grows by with the part that the
/// budget is of the whole conversation. A small budget tells most by a record; of a larger one the record needs less
/// (`docs/measurements.md` has the figures).
const LEAST_KEPT: f64 = 0.1;
const MOST_KEPT: f64 = 0.65;
const KEPT_GROWTH: f64 = 2.5;
/// The share of a budget that one output among the kept steps may take before it is shortened.
pub const OUTPUT_SHARE: f64 = 0.02;
/// The outputs of the last complete step stay whole where they take at most this share of a budget together: of longer ones
/// little is needed, and their lines compete with all others.
const LAST_SHARE: f64 = 0.3;
/// The same where the model has not seen them yet: it has just asked for them, and a piece of them is no answer. Of longer ones
/// that much stays.
pub const UNSEEN_SHARE: f64 = 0.7;
/// The same for the assistant's words: of a long answer that much stays, beside what stands before it.
const ANSWERS_SHARE: f64 = 0.3;
/// The same for reminders and what a harness put at the head: nothing stands for them in a summary, so they are cut to it
/// only where they do not fit beside what else has to stay.
pub const STANDING_SHARE: f64 = 0.5;
/// The share of a budget that the user's pictures and files may take before the oldest of them give way to markers.
pub const FILES_SHARE: f64 = 0.3;
/// The share of a budget that prompts may take before the huge ones among them are shortened, other than the one that is
/// being answered.
pub const PROMPTS_SHARE: f64 = 0.17;
/// A prompt of fewer tokens, or of a smaller part of the budget, is not huge: it is folded where not even prompts fit.
const HUGE_PROMPT: Tokens = 500;
const HUGE_PART: Tokens = 20;
/// Cut down to fewer tokens than this, a prompt is hardly more than its marker.
const LEAST_PROMPT: Tokens = 60;
/// In a session, what stands is cut in so many steps: the places of cuts would else move with every small change beside it.
pub const CUTS: Tokens = 16;

/// Which messages may be shortened.
#[derive(Clone, Copy)]
enum Reach {
    /// Those before the last complete step that are not pinned.
    Earlier,
    /// All that are not pinned.
    Free,
    All,
}

impl Reach {
    fn holds(self, draft: &Draft) -> bool {
        let reaches = match self {
            Reach::Earlier => !draft.pinned && !draft.is_last,
            Reach::Free => !draft.pinned,
            Reach::All => true,
        };
        reaches && !draft.spared
    }

    fn shorten(self, drafts: &mut [Draft], class: Class, cap: Tokens, archive: &mut Archive) {
        let within = drafts.iter_mut().filter(|draft| self.holds(draft));
        draft::shorten(within, class, cap, archive);
    }
}

/// The share of this budget that the kept steps of a conversation may take which weighs so much as a whole.
pub fn kept_share(budget: Tokens, whole: Tokens) -> f64 {
    let part = budget as f64 / whole.max(1) as f64;
    (KEPT_GROWTH * part).clamp(LEAST_KEPT, MOST_KEPT)
}

/// What is left of a budget beside the prompts and what stands, each as far as it has a share of its own.
pub fn left(drafts: &[Draft], budget: Tokens) -> Tokens {
    let weigh = |draft: &Draft| weight_of([draft], Class::Prompts);
    let answered: Tokens = drafts.iter().filter(|draft| draft.is_answered).map(weigh).sum();
    let others = draft::weights(drafts.iter().filter(|draft| !draft.is_answered), Class::Prompts);
    let cap = prompt_cap(others.clone(), budget);
    let others: Tokens = others.into_iter().map(|weight| weight.min(cap)).sum();
    let standing = weight_of(drafts, Class::Standing).min(share(budget, STANDING_SHARE));
    budget.saturating_sub(answered + others + standing)
}

/// What one output of the last complete step may weigh: of outputs with these weights, seen by the model or not.
pub fn last_cap(weights: Vec<Tokens>, budget: Tokens, is_seen: bool) -> Tokens {
    let (all, one) = (weights.iter().sum::<Tokens>(), share(budget, OUTPUT_SHARE));
    if all <= share(budget, LAST_SHARE) {
        Tokens::MAX
    } else if is_seen {
        one
    } else {
        draft::fair_cap(weights, share(budget, UNSEEN_SHARE)).max(one)
    }
}

/// What each of the prompts with these weights may weigh.
pub fn prompt_cap(weights: Vec<Tokens>, budget: Tokens) -> Tokens {
    let least = HUGE_PROMPT.min(budget / HUGE_PART).max(LEAST_PROMPT);
    draft::fair_cap(weights, share(budget, PROMPTS_SHARE)).max(least)
}

/// The next smaller of the caps at which texts that stand are cut in a session, the heaviest of which weighs this much.
pub fn steady(cap: Tokens, heaviest: Tokens) -> Tokens {
    match heaviest.saturating_mul(cap.saturating_mul(CUTS) / heaviest.max(1)) / CUTS {
        0 => cap,
        _ if cap >= heaviest => cap,
        lower => lower,
    }
}

/// Shortens what is too long for its share of the budget; outputs of the last complete step, to at most `last_cap` each, and the
/// parameters of the kept calls to their share `calls` of it.
/// Where the budget is not divided as usual, `division` says how.
pub fn shorten(
    drafts: &mut [Draft],
    budget: Tokens,
    (last_cap, calls): (Tokens, f64),
    division: Option<Division>,
    archive: &mut Archive,
) {
    Reach::Earlier.shorten(drafts, Class::Results, share(budget, OUTPUT_SHARE), archive);
    Reach::Free.shorten(drafts, Class::Results, last_cap, archive);
    // What is pinned is shortened only where nothing else helps.
    let fairly = |drafts: &mut [Draft], class, part, archive: &mut Archive| {
        let cap = draft::fair_cap(draft::weights(drafts.iter(), class), share(budget, part));
        Reach::Free.shorten(drafts, class, cap, archive);
    };
    fairly(drafts, Class::Calls, calls, archive);
    fairly(drafts, Class::Answers, ANSWERS_SHARE, archive);
    match division {
        Some(division) => Reach::Free.shorten(drafts, Class::Standing, division.standing, archive),
        None => fairly(drafts, Class::Standing, STANDING_SHARE, archive),
    }
    let files = division.and_then(|division| division.files);
    files_give_way(drafts, files.unwrap_or(share(budget, FILES_SHARE)), archive);
    let others = drafts.iter().filter(|draft| !draft.is_answered);
    let cap = prompt_cap(draft::weights(others, Class::Prompts), budget);
    Reach::Free.shorten(drafts, Class::Prompts, cap, archive);
}

/// Shortens what tools and the assistant said until everything takes at most this room, as far as that goes: the last
/// complete step when what stands before it is as short as it can be, and nothing that is pinned. Whether it does.
pub fn make_room(drafts: &mut [Draft], room: Tokens, archive: &mut Archive) -> bool {
    let earlier = Class::BULK.map(|class| (Reach::Earlier, class));
    let free = Class::BULK.map(|class| (Reach::Free, class));
    shorten_in_turn(drafts, earlier.into_iter().chain(free), room, false, archive)
}

/// Shortens what is pinned too, and puts markers in place of the pictures and files of the user that do not fit.
pub fn squeeze(drafts: &mut [Draft], room: Tokens, archive: &mut Archive) -> bool {
    let pinned = Class::BULK.map(|class| (Reach::All, class));
    if make_room(drafts, room, archive) || shorten_in_turn(drafts, pinned.into_iter(), room, false, archive) {
        return true;
    }
    let files = weight_of(drafts.iter(), Class::Files);
    let room_for_files = files.saturating_sub(whole(drafts).saturating_sub(room));
    files_give_way(drafts, room_for_files, archive);
    whole(drafts) <= room
}

/// Shortens reminders and what a harness put in until everything fits, if that can be. `is_steady`: later compactions are to
/// cut them alike.
pub fn squeeze_standing(drafts: &mut [Draft], room: Tokens, is_steady: bool, archive: &mut Archive) {
    let standing = std::iter::once((Reach::All, Class::Standing));
    shorten_in_turn(drafts, standing, room, is_steady, archive);
}

/// Shortens everything but words of the user's own as far as it can be.
pub fn shorten_to_the_end<'a>(drafts: impl Iterator<Item = &'a mut Draft>, archive: &mut Archive) {
    let mut drafts: Vec<&mut Draft> = drafts.collect();
    for class in Class::BULK.into_iter().chain([Class::Standing, Class::Files]) {
        draft::shorten(drafts.iter_mut().map(|draft| &mut **draft), class, 0, archive);
    }
}

/// Shortens one class after the other until everything takes at most this room. Whether it does.
fn shorten_in_turn(
    drafts: &mut [Draft],
    classes: impl Iterator<Item = (Reach, Class)>,
    room: Tokens,
    is_steady: bool,
    archive: &mut Archive,
) -> bool {
    for (reach, class) in classes {
        // Markers have a size of their own, so the first cap may not suffice.
        for tighter in 0..4 {
            let all = whole(drafts);
            if all <= room {
                return true;
            }
            let weights = draft::weights(drafts.iter().filter(|draft| reach.holds(draft)), class);
            let excess = (all - room) << tighter;
            let left = weights.iter().sum::<Tokens>().saturating_sub(excess);
            let heaviest = weights.iter().copied().max().unwrap_or(0);
            let cap = match draft::fair_cap(weights, left) {
                cap if is_steady && class == Class::Standing => steady(cap, heaviest),
                cap => cap,
            };
            reach.shorten(drafts, class, cap, archive);
        }
        reach.shorten(drafts, class, 0, archive);
    }
    whole(drafts) <= room
}

fn weight_of<'a>(drafts: impl IntoIterator<Item = &'a Draft>, class: Class) -> Tokens {
    draft::weights(drafts, class).into_iter().sum()
}

/// Puts markers in place of pictures and files of the user, the oldest first, until those that are left weigh at most this
/// much: they cannot be cut, and what was sent last is what is being looked at. Pinned ones go last.
fn files_give_way(drafts: &mut [Draft], room: Tokens, archive: &mut Archive) {
    let mut order: Vec<usize> = (0..drafts.len()).filter(|&at| !drafts[at].spared).collect();
    order.sort_by_key(|&at| drafts[at].pinned);
    let mut all = weight_of(drafts.iter(), Class::Files);
    for at in order {
        if all <= room {
            break;
        }
        all -= weight_of([&drafts[at]], Class::Files);
        draft::shorten([&mut drafts[at]], Class::Files, 0, archive);
        all += weight_of([&drafts[at]], Class::Files);
    }
}

/// What all of them weigh.
pub fn whole(drafts: &[Draft]) -> Tokens {
    drafts.iter().map(Draft::estimate).sum()
}

/// Tokens of the summary's frame and of the notices, with what stands behind the summary.
pub fn overhead(drafts: &[Draft], ending: &str) -> Tokens {
    let first = drafts.iter().find(|draft| draft.message.role != Role::System);
    // A view that begins with an answer is given an opening by `pairing`.
    let opening = if first.is_none_or(|draft| draft.message.role == Role::User) {
        ""
    } else {
        pairing::OPENING
    };
    let texts = [labels::SUMMARY, labels::STANDS, ending, opening];
    texts
        .iter()
        .filter(|text| !text.is_empty())
        .map(|text| tokens::estimate_bytes(text.len()) + PART_TOKENS)
        .sum()
}

/// Tokens of what `pairing` says around a view that has no summary.
pub fn ending(drafts: &[Draft]) -> Tokens {
    let mut talk = drafts.iter().filter(|draft| draft.message.role != Role::System);
    let is_said = |draft: &&Draft| draft.message.role == Role::Assistant;
    let first = talk.next();
    let last = talk.next_back().or(first);
    let opening = first.filter(is_said).map(|_| pairing::OPENING);
    let closing = last.is_none_or(|draft| is_said(&draft)).then_some(pairing::CLOSING);
    let texts = opening.into_iter().chain(closing);
    texts.map(|text| tokens::estimate_bytes(text.len()) + PART_TOKENS).sum()
}

/// What keeping a message takes once its outputs are shortened. Prompts stand anyway.
pub fn weigh(message: &Message, output_cap: Tokens) -> Tokens {
    let parts = message.parts.iter().map(|part| match part {
        Part::ToolResult(_) => tokens::estimate_part(part).min(output_cap.max(PART_TOKENS)),
        Part::Thinking(thinking) if !thinking.is_needed_in(message) => 0,
        Part::Text(_) | Part::Image(_) | Part::Opaque(_) if message.role != Role::Assistant => 0,
        _ => tokens::estimate_part(part),
    });
    parts.sum()
}

/// A share of a budget, rounded down.
pub fn share(budget: Tokens, part: f64) -> Tokens {
    (budget as f64 * part) as Tokens
}
