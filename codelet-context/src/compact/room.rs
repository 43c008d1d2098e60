//! How what is kept as messages is made to fit its part of the budget.

use super::division::{Division, Fresh};
use crate::draft::{self, Class, Draft};
use crate::labels;
use crate::message::{Message, Part, Role};
use crate::recall::Archive;
use crate::strategy::pairing;
use crate::tokens::{self, PART_TOKENS, Tokens};

/// The share of a budget that the kept steps may take; the rest is for prompts and the summary, where a token says more.
pub const KEPT_SHARE: f64 = 0.15;
/// The share of a budget that one output among the kept steps may take before it is shortened.
pub const OUTPUT_SHARE: f64 = 0.05;
/// The outputs of the last complete step stay whole where they take at most this share of a budget together: of longer ones
/// little is needed, and their lines compete with all others.
const LAST_SHARE: f64 = 0.2;
/// The same where the model has not seen them yet: it has just asked for them, and a piece of them is no answer. Of longer ones
/// that much stays.
pub const UNSEEN_SHARE: f64 = 0.7;
/// The share of a budget that the parameters of the kept calls may take before they are shortened.
const CALLS_SHARE: f64 = 0.2;
/// The same for the assistant's words: of a long answer that much stays, beside what stands before it.
const ANSWERS_SHARE: f64 = 0.3;
/// The same for the system prompt, reminders and what a harness put at the head: nothing stands for them in a summary, so
/// they are cut to it only where they do not fit beside what else has to stay.
pub const STANDING_SHARE: f64 = 0.5;
/// The share of a budget that the user's pictures and files may take before the oldest of them give way to markers.
pub const FILES_SHARE: f64 = 0.3;
/// The share of a budget that prompts may take before the huge ones among them are shortened.
const PROMPTS_SHARE: f64 = 0.17;
/// A prompt of fewer tokens, or of a smaller part of the budget, is not huge: it is shortened only where not even prompts
/// would fit otherwise.
const HUGE_PROMPT: Tokens = 500;
const HUGE_PART: Tokens = 20;
/// Cut down to fewer tokens than this, a prompt is hardly more than its marker: then the oldest ones give way to theirs.
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

/// Shortens what is too long for its share of the budget; outputs of the last complete step, to at most `last_cap` each.
/// Where the budget is not divided as usual, `division` says how.
pub fn shorten(
    drafts: &mut [Draft],
    budget: Tokens,
    last_cap: Tokens,
    division: Option<Division>,
    archive: &mut Archive,
) {
    if whole(drafts).saturating_add(overhead(drafts)) <= share(budget, KEPT_SHARE + PROMPTS_SHARE) {
        return;
    }
    Reach::Earlier.shorten(drafts, Class::Results, share(budget, OUTPUT_SHARE), archive);
    Reach::Free.shorten(drafts, Class::Results, last_cap, archive);
    // What is pinned is shortened only where nothing else helps.
    let fairly = |drafts: &mut [Draft], class, part, archive: &mut Archive| {
        let cap = draft::fair_cap(draft::weights(drafts.iter(), class), share(budget, part));
        Reach::Free.shorten(drafts, class, cap, archive);
    };
    fairly(drafts, Class::Calls, CALLS_SHARE, archive);
    fairly(drafts, Class::Answers, ANSWERS_SHARE, archive);
    match division {
        Some(division) => Reach::Free.shorten(drafts, Class::Standing, division.standing, archive),
        None => fairly(drafts, Class::Standing, STANDING_SHARE, archive),
    }
    let fresh = division.and_then(|division| division.fresh);
    files_give_way(
        drafts,
        fresh.map_or(share(budget, FILES_SHARE), |fresh| fresh.files),
        archive,
    );
    shorten_prompts(drafts, budget, fresh, archive);
}

/// Shortens prompts to their share; the one that no model has seen, to its room.
fn shorten_prompts(drafts: &mut [Draft], budget: Tokens, fresh: Option<Fresh>, archive: &mut Archive) {
    let usual = || prompt_cap(draft::weights(drafts.iter(), Class::Prompts), budget);
    let others = fresh.map_or_else(usual, |fresh| fresh.others);
    for draft in drafts.iter_mut().filter(|draft| Reach::Free.holds(draft)) {
        let cap = match fresh.filter(|fresh| fresh.source == draft.source) {
            Some(fresh) => draft::fair_cap(draft::weights([&*draft], Class::Prompts), fresh.words),
            None => others,
        };
        draft::shorten([draft], Class::Prompts, cap, archive);
    }
}

/// Shortens what tools and the assistant said until everything takes at most this room, as far as that goes: the last
/// complete step when what stands before it is as short as it can be, and nothing that is pinned.
pub fn make_room(drafts: &mut [Draft], room: Tokens, archive: &mut Archive) -> bool {
    let earlier = Class::ALL[..3].iter().map(|&class| (Reach::Earlier, class));
    let free = Class::ALL[..3].iter().map(|&class| (Reach::Free, class));
    shorten_in_turn(drafts, earlier.chain(free), room, false, archive)
}

/// Shortens further until everything fits: outputs first, what stands always late, prompts last; the last complete step when
/// what stands before it is as short as it can be, and what is pinned after that. Whether it does. `is_steady`: later
/// compactions are to cut what stands alike.
pub fn squeeze(drafts: &mut [Draft], room: Tokens, is_steady: bool, archive: &mut Archive) -> bool {
    let all = Class::ALL[..4].iter().map(|&class| (Reach::All, class));
    if make_room(drafts, room, archive) || shorten_in_turn(drafts, all, room, is_steady, archive) {
        return true;
    }
    let files = weight_of(drafts.iter(), Class::Files);
    files_give_way(
        drafts,
        files.saturating_sub(whole(drafts).saturating_sub(room)),
        archive,
    );
    squeeze_prompts(drafts, room, archive)
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
    let weight = |draft: &Draft| weight_of([draft], Class::Files);
    give_way(drafts, Class::Files, &order, weight, room, archive);
}

/// Puts markers in place of what is of a class, one draft after the other in this order, until all drafts weigh at most
/// this much. Whether they do.
fn give_way(
    drafts: &mut [Draft],
    class: Class,
    order: &[usize],
    weigh: impl Fn(&Draft) -> Tokens,
    room: Tokens,
    archive: &mut Archive,
) -> bool {
    let mut all: Tokens = drafts.iter().map(&weigh).sum();
    for &at in order {
        if all <= room {
            break;
        }
        all -= weigh(&drafts[at]);
        draft::shorten([&mut drafts[at]], class, 0, archive);
        all += weigh(&drafts[at]);
    }
    all <= room
}

/// Shortens prompts until everything fits: the long ones as far as something of them is left, then the oldest give way to
/// markers, then the one that the session began with, and last the newest, which is what is being worked on. Whether it fits.
fn squeeze_prompts(drafts: &mut [Draft], room: Tokens, archive: &mut Archive) -> bool {
    let all = whole(drafts);
    if all <= room {
        return true;
    }
    let weight = |draft: &Draft| weight_of([draft], Class::Prompts);
    let may_go = |at: &usize| weight(&drafts[*at]) > 0 && !drafts[*at].spared;
    let mut order: Vec<usize> = (0..drafts.len()).filter(may_go).collect();
    let newest = order.pop();
    if !order.is_empty() {
        order.rotate_left(1);
    }
    order.extend(newest);
    order.sort_by_key(|&at| drafts[at].pinned);
    let spared = newest
        .filter(|&at| weight(&drafts[at]) <= HUGE_PROMPT)
        .map(|at| drafts[at].source);
    let may = |draft: &Draft| Some(draft.source) != spared && !draft.spared;
    let weights = draft::weights(drafts.iter().filter(|draft| may(draft)), Class::Prompts);
    let left = weights.iter().sum::<Tokens>().saturating_sub(all - room);
    let cap = draft::fair_cap(weights, left).max(LEAST_PROMPT);
    let others = drafts.iter_mut().filter(|draft| may(draft));
    draft::shorten(others, Class::Prompts, cap, archive);
    give_way(drafts, Class::Prompts, &order, Draft::estimate, room, archive)
}

/// What all of them weigh.
pub fn whole(drafts: &[Draft]) -> Tokens {
    drafts.iter().map(Draft::estimate).sum()
}

/// Tokens of the summary's frame and of the notices.
pub fn overhead(drafts: &[Draft]) -> Tokens {
    let first = drafts.iter().find(|draft| draft.message.role != Role::System);
    // A view that begins with an answer is given an opening by `pairing`.
    let opening = if first.is_none_or(|draft| draft.message.role == Role::User) {
        ""
    } else {
        pairing::OPENING
    };
    let texts = [labels::SUMMARY, labels::NOTICE, opening];
    texts
        .iter()
        .filter(|text| !text.is_empty())
        .map(|text| tokens::estimate_bytes(text.len()) + PART_TOKENS)
        .sum()
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
