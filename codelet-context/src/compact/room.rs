//! Fits the kept messages into their part of the budget.

use crate::compact::draft::{self, Draft, PartClass};
use crate::message::recall::Archive;
use crate::message::tokens::{self, PART_TOKENS, Tokens};
use crate::message::{Message, Part, Role};
use crate::ranking::earlier;
use crate::ranking::labels;
use crate::strategy::pairing;

/// The share of a budget for the kept steps: minimum, maximum, and growth with the ratio of the budget to the whole
/// conversation. A small budget conveys most in a record; in a larger one the record needs less (`docs/measurements.md`
/// has the figures).
const LEAST_KEPT: f64 = 0.1;
const MOST_KEPT: f64 = 0.65;
const KEPT_GROWTH: f64 = 2.5;
/// The share of a budget that one output among the kept steps may take before it is shortened: minimum, maximum, and
/// growth as above.
const LEAST_OUTPUT: f64 = 0.01;
const MOST_OUTPUT: f64 = 0.03;
const OUTPUT_GROWTH: f64 = 0.3;
/// The tokens that such an output may take in any case, up to a share of a small budget, which is the ratio times
/// `SHORT_SHARE`: the ends of less are scraps.
const SHORT_OUTPUT: Tokens = 100;
const SHORT_SHARE: f64 = 0.5;
/// The share of a budget up to which the outputs of the last complete step stay whole together: little of longer ones
/// is needed, and their lines compete with all others. If no reply follows them, the first ones stay whole up to it.
pub const LAST_SHARE: f64 = 0.3;
/// The share for outputs that the model has not seen yet: it has just requested them, and a fragment is not an answer.
/// Longer ones are shortened to this share.
pub const UNSEEN_SHARE: f64 = 0.7;
/// The share for the assistant's text: this much of a long answer stays, besides everything before it.
const ANSWERS_SHARE: f64 = 0.3;
/// The share for reminders and harness text at the head: no summary replaces them, so they are cut to it only if they
/// do not fit next to other required content.
pub const STANDING_SHARE: f64 = 0.5;
/// The share of a budget that the user's images and files may take before markers replace the oldest.
const FILES_SHARE: f64 = 0.5;
/// The share of a budget that prompts, except the one being answered, may take before the huge ones are shortened.
pub const PROMPTS_SHARE: f64 = 0.17;
/// The minimum share of a budget for the summary, before kept content gives way.
pub const SUMMARY_SHARE: f64 = 0.05;
/// A prompt with fewer tokens, or less than the budget divided by `HUGE_PART`, is not huge: it is folded if not even
/// prompts fit.
const HUGE_PROMPT: Tokens = 500;
const HUGE_PART: Tokens = 20;
/// A prompt cut down to fewer tokens than this is hardly more than its marker.
const LEAST_PROMPT: Tokens = 60;
/// The number of steps to which caps of standing texts are rounded in a session; otherwise the places of cuts would
/// move with every small change elsewhere.
pub const CUTS: Tokens = 16;

/// The messages that may be shortened.
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

    fn shorten(self, drafts: &mut [Draft], class: PartClass, cap: Tokens, archive: &mut Archive) {
        let within = drafts.iter_mut().filter(|draft| self.holds(draft));
        draft::shorten(within, class, (cap, cap, 0), archive);
    }

    /// Shortens outputs, and those of reads to their markers: the two ends of a file say little, and one call brings it
    /// back.
    fn shorten_outputs(self, drafts: &mut [Draft], cap: Tokens, whole: Tokens, archive: &mut Archive) {
        let within = drafts.iter_mut().filter(|draft| self.holds(draft));
        draft::shorten(within, PartClass::Results, (cap, 0, whole), archive);
    }
}

/// The share of this budget for the kept steps of a conversation of `whole` tokens.
pub fn kept_share(budget: Tokens, whole: Tokens) -> f64 {
    let part = budget as f64 / whole.max(1) as f64;
    (KEPT_GROWTH * part).clamp(LEAST_KEPT, MOST_KEPT)
}

/// The maximum weight of one output among the kept steps of a conversation of `whole` tokens.
pub fn output_cap(budget: Tokens, whole: Tokens) -> Tokens {
    let part = budget as f64 / whole.max(1) as f64;
    let least = SHORT_OUTPUT.min(share(budget, SHORT_SHARE * part));
    share(budget, (OUTPUT_GROWTH * part).clamp(LEAST_OUTPUT, MOST_OUTPUT)).max(least)
}

/// The part of a budget left by the prompts and the standing texts, each limited to its share.
pub fn left(drafts: &[Draft], budget: Tokens) -> Tokens {
    let weigh = |draft: &Draft| weight_of([draft], PartClass::Prompts);
    let answered: Tokens = drafts.iter().filter(|draft| draft.is_answered).map(weigh).sum();
    let others = draft::weights(drafts.iter().filter(|draft| !draft.is_answered), PartClass::Prompts);
    let cap = prompt_cap(others.clone(), budget);
    let others: Tokens = others.into_iter().map(|weight| weight.min(cap)).sum();
    let standing = weight_of(drafts, PartClass::Standing).min(share(budget, STANDING_SHARE));
    budget.saturating_sub(answered + others + standing)
}

/// The maximum weight of one output of the last complete step, given the weights of its outputs, the usual cap and
/// whether the model has seen them.
pub fn last_cap(weights: Vec<Tokens>, budget: Tokens, one: Tokens, is_seen: bool) -> Tokens {
    let all = weights.iter().sum::<Tokens>();
    if all <= share(budget, LAST_SHARE) {
        Tokens::MAX
    } else if is_seen {
        one
    } else {
        draft::fair_cap(weights, share(budget, UNSEEN_SHARE)).max(one)
    }
}

/// The maximum weight of each of the prompts with these weights.
pub fn prompt_cap(weights: Vec<Tokens>, budget: Tokens) -> Tokens {
    let least = HUGE_PROMPT.min(budget / HUGE_PART).max(LEAST_PROMPT);
    draft::fair_cap(weights, share(budget, PROMPTS_SHARE)).max(least)
}

/// Rounds a cap of standing texts in a session down to a step; the heaviest text weighs `heaviest`.
pub fn steady(cap: Tokens, heaviest: Tokens) -> Tokens {
    match heaviest.saturating_mul(cap.saturating_mul(CUTS) / heaviest.max(1)) / CUTS {
        0 => cap,
        _ if cap >= heaviest => cap,
        lower => lower,
    }
}

/// The limits of the kept steps.
#[derive(Clone, Copy)]
pub struct Limits {
    /// The maximum weight of one output.
    pub output: Tokens,
    /// The maximum weight of one output of the last complete step.
    pub last: Tokens,
    /// True if the model has seen the outputs of the last complete step.
    pub is_seen: bool,
    /// The tokens of the first outputs that stay whole because no reply follows them, if not all of them do.
    pub unread: Tokens,
    /// The share of the budget for the parameters of all calls.
    pub calls: f64,
    /// The maximum weight of each standing text, if not its share.
    pub standing: Option<Tokens>,
    /// The room for all images and files of the user.
    pub files: Tokens,
}

/// Shortens parts that exceed their share of the budget.
pub fn shorten(drafts: &mut [Draft], budget: Tokens, limits: Limits, archive: &mut Archive) {
    Reach::Earlier.shorten_outputs(drafts, limits.output, 0, archive);
    match limits.is_seen {
        true => Reach::Free.shorten_outputs(drafts, limits.last, limits.unread, archive),
        false => Reach::Free.shorten(drafts, PartClass::Results, limits.last, archive),
    }
    // Pinned messages are shortened only as a last resort.
    let fairly = |drafts: &mut [Draft], class, part, archive: &mut Archive| {
        let cap = draft::fair_cap(draft::weights(drafts.iter(), class), share(budget, part));
        Reach::Free.shorten(drafts, class, cap, archive);
    };
    fairly(drafts, PartClass::Calls, limits.calls, archive);
    fairly(drafts, PartClass::Answers, ANSWERS_SHARE, archive);
    match limits.standing {
        Some(cap) => Reach::Free.shorten(drafts, PartClass::Standing, cap, archive),
        None => fairly(drafts, PartClass::Standing, STANDING_SHARE, archive),
    }
    files_give_way(drafts, limits.files, archive);
    let others = drafts.iter().filter(|draft| !draft.is_answered);
    let cap = prompt_cap(draft::weights(others, PartClass::Prompts), budget);
    Reach::Free.shorten(drafts, PartClass::Prompts, cap, archive);
}

/// Shortens tool and assistant content until everything takes at most this room, as far as possible: the last complete
/// step only after everything before it is as short as possible, and no pinned message. Returns whether it fits.
pub fn make_room(drafts: &mut [Draft], room: Tokens, archive: &mut Archive) -> bool {
    let earlier = PartClass::BULK.map(|class| (Reach::Earlier, class));
    let free = PartClass::BULK.map(|class| (Reach::Free, class));
    shorten_in_turn(drafts, earlier.into_iter().chain(free), room, false, archive)
}

/// Also shortens pinned messages, and replaces images and files of the user that do not fit with markers. Returns
/// whether everything fits.
pub fn squeeze(drafts: &mut [Draft], room: Tokens, archive: &mut Archive) -> bool {
    let pinned = PartClass::BULK.map(|class| (Reach::All, class));
    if make_room(drafts, room, archive) || shorten_in_turn(drafts, pinned.into_iter(), room, false, archive) {
        return true;
    }
    let files = weight_of(drafts.iter(), PartClass::Files);
    let room_for_files = files.saturating_sub(whole(drafts).saturating_sub(room));
    files_give_way(drafts, room_for_files, archive);
    whole(drafts) <= room
}

/// Shortens reminders and harness text until everything fits, if possible. With `is_steady`, later compactions are to
/// repeat the cut.
pub fn squeeze_standing(drafts: &mut [Draft], room: Tokens, is_steady: bool, archive: &mut Archive) {
    let standing = std::iter::once((Reach::All, PartClass::Standing));
    shorten_in_turn(drafts, standing, room, is_steady, archive);
}

/// Shortens everything except the user's own words to the minimum.
pub fn shorten_to_the_end<'a>(drafts: impl Iterator<Item = &'a mut Draft>, archive: &mut Archive) {
    let mut drafts: Vec<&mut Draft> = drafts.collect();
    for class in PartClass::BULK
        .into_iter()
        .chain([PartClass::Standing, PartClass::Files])
    {
        draft::shorten(drafts.iter_mut().map(|draft| &mut **draft), class, (0, 0, 0), archive);
    }
}

/// Shortens one class after the other until everything takes at most this room. Returns whether it fits.
fn shorten_in_turn(
    drafts: &mut [Draft],
    classes: impl Iterator<Item = (Reach, PartClass)>,
    room: Tokens,
    is_steady: bool,
    archive: &mut Archive,
) -> bool {
    for (reach, class) in classes {
        // Markers take room too, so the first cap may not suffice.
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
                cap if is_steady && class == PartClass::Standing => steady(cap, heaviest),
                cap => cap,
            };
            reach.shorten(drafts, class, cap, archive);
        }
        reach.shorten(drafts, class, 0, archive);
    }
    whole(drafts) <= room
}

fn weight_of<'a>(drafts: impl IntoIterator<Item = &'a Draft>, class: PartClass) -> Tokens {
    draft::weights(drafts, class).into_iter().sum()
}

/// The room in a budget for images and files of the user that weigh `files`, in a conversation of `whole` tokens: their
/// share, or everything that is left beside the rest of the conversation.
pub fn files_room(files: Tokens, whole: Tokens, budget: Tokens) -> Tokens {
    let left = budget.saturating_sub(whole.saturating_sub(files));
    files.min(share(budget, FILES_SHARE).max(left))
}

/// Replaces images and files of the user with markers, one by one and oldest first, until the rest weighs at most this
/// much: they cannot be cut, and the newest are the most relevant. Pinned ones come last.
fn files_give_way(drafts: &mut [Draft], room: Tokens, archive: &mut Archive) {
    let mut order: Vec<usize> = (0..drafts.len()).filter(|&at| !drafts[at].spared).collect();
    order.sort_by_key(|&at| drafts[at].pinned);
    let mut all = weight_of(drafts.iter(), PartClass::Files);
    for at in order {
        all = draft::remove_files(&mut drafts[at], all, room, archive);
    }
}

/// The total weight of the drafts.
pub fn whole(drafts: &[Draft]) -> Tokens {
    drafts.iter().map(Draft::estimate).sum()
}

/// The tokens of the summary's frame and of notices, including the ending after the summary.
pub fn overhead(drafts: &[Draft], ending: &str) -> Tokens {
    let first = drafts.iter().find(|draft| draft.message.role != Role::System);
    // If a view begins with a reply, `pairing` adds an opening.
    let opening = if first.is_none_or(|draft| draft.message.role == Role::User) {
        ""
    } else {
        pairing::OPENING
    };
    let warnings = drafts.iter().flat_map(|draft| {
        let parts = draft.message.parts.iter();
        parts.filter_map(|part| earlier::warning(draft.message.role, part))
    });
    let texts = [labels::SUMMARY, labels::STANDS, ending, opening];
    let told = texts.iter().filter(|text| !text.is_empty());
    let told = told.map(|text| tokens::estimate_bytes(text.len()) + PART_TOKENS);
    told.chain(warnings.map(|part| tokens::estimate_part(&part))).sum()
}

/// The tokens that `pairing` adds around a view without a summary.
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

/// The tokens that keeping a message takes once its outputs are shortened. Prompts stay in any case.
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
