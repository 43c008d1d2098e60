//! The division of a budget if the usual shares do not work: if standing texts exceed their share, or if no model has
//! seen the newest prompt yet.

use super::Work;
use super::room::{self, share};
use crate::compact::draft::{self, Draft, PartClass};
use crate::message::Role;
use crate::message::tokens::Tokens;

/// The maximum share of a budget reserved for the summary besides standing texts.
const MOST_TOLD: f64 = 0.25;

/// The amount by which a session's view may exceed its usual size for content that a summary cannot convey, in
/// estimated tokens.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rise {
    /// The maximum size before the system prompt and reminders are cut.
    pub standing: Tokens,
    /// The maximum size before a prompt that no model has seen is cut.
    pub fresh: Tokens,
    /// The cut of standing texts in the last compaction with the same limit.
    pub cut: Option<StandingCut>,
}

/// A cut of standing texts. It is repeated as long as they are the same, so that the head of a session stays as it was
/// sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct StandingCut {
    /// The weight of the heaviest text, which identifies the set.
    heaviest: Tokens,
    /// The maximum weight of each text.
    cap: Tokens,
}

/// The parts of a budget.
#[derive(Clone, Copy, Debug)]
pub(super) struct Division {
    /// The sum of all parts.
    pub budget: Tokens,
    /// The maximum for the kept steps.
    pub steps: Tokens,
    /// The minimum for the summary.
    pub summary: Tokens,
    /// The maximum weight of each standing text.
    pub standing: Tokens,
    /// Their cut, if a later compaction should repeat it.
    pub cut: Option<StandingCut>,
    /// The room for all images and files of the user.
    pub files: Tokens,
}

/// The content that a budget is divided for.
#[derive(Clone, Copy)]
pub(super) struct Demand<'a> {
    pub work: &'a Work<'a>,
    pub drafts: &'a [Draft],
    /// The weights of the outputs of the last complete step, and whether the model has seen them.
    pub outputs: &'a [Tokens],
    pub is_seen: bool,
}

/// The content that must stay besides standing texts and older steps: the system prompt and the prompt being answered
/// whole, everything else within its share.
struct Rest {
    system: Tokens,
    answered: Tokens,
    last: Tokens,
    prompts: Tokens,
    files: Tokens,
    summary: Tokens,
    frame: Tokens,
}

impl Rest {
    fn all(&self) -> Tokens {
        self.system + self.answered + self.last + self.prompts + self.files + self.summary + self.frame
    }
}

impl Demand<'_> {
    /// Divides this budget if the usual shares do not work. Without a rise the budget is fixed, and only content that
    /// fits whole gets more than its share.
    pub fn divide(&self, budget: Tokens) -> Option<Division> {
        let rise = self.work.rise;
        let weights = self.standing();
        let heaviest = weights.iter().copied().max().unwrap_or(0);
        let earlier = rise.and_then(|rise| rise.cut).filter(|cut| cut.heaviest == heaviest);
        let head = self.system() + weights.iter().sum::<Tokens>();
        let is_heavy = head > share(budget, room::STANDING_SHARE) || earlier.is_some();
        let prompts_share = share(budget, room::PROMPTS_SHARE);
        let answered = self.answered();
        // The excess over their shares of the text of the prompt being answered, and of its files.
        let more_words = rise.map_or(0, |_| answered.saturating_sub(prompts_share));
        let more_files = self.asked_files().saturating_sub(self.files(budget));
        if !is_heavy && more_words + more_files == 0 {
            return None;
        }
        let most = rise.map_or(budget, |rise| rise.standing.max(budget));
        let rest = self.rest(if is_heavy { most } else { budget });
        let fits = weights.iter().sum::<Tokens>() + rest.all() <= most;
        if rise.is_none() && !fits {
            return None;
        }
        let (standing, cut) = match !is_heavy || (fits && earlier.is_none()) {
            true => (Tokens::MAX, None),
            false => steady_cap(&weights, most.saturating_sub(rest.system + more_words), earlier),
        };
        let stands = weights.iter().map(|weight| standing.min(*weight)).sum::<Tokens>() + rest.all();
        let usual = stands - more_words;
        let up_to = rise
            .filter(|_| more_words + more_files > 0)
            .map_or(0, |rise| rise.fresh);
        let budget = budget.max(usual.min(most)).max((stands + more_files).min(up_to));
        let left = budget.saturating_sub(stands);
        Some(Division {
            budget,
            steps: share(budget, room::kept_share(budget, self.work.history.course().size.tokens))
                .min(left.saturating_sub(more_files) + rest.last),
            summary: rest.summary,
            standing,
            cut,
            files: rest.files + more_files.min(left),
        })
    }

    /// The weight of each standing text.
    fn standing(&self) -> Vec<Tokens> {
        let free = self.drafts.iter().filter(|draft| !draft.pinned && !draft.spared);
        draft::weights(free, PartClass::Standing)
    }

    fn system(&self) -> Tokens {
        let system = self.drafts.iter().filter(|draft| draft.message.role == Role::System);
        system.map(Draft::estimate).sum()
    }

    /// The weight of the text of the prompt being answered.
    fn answered(&self) -> Tokens {
        let answered = self.drafts.iter().filter(|draft| draft.is_answered);
        draft::weights(answered, PartClass::Prompts).into_iter().sum()
    }

    /// The weight of its images and files. A session, which goes on growing, keeps them beyond their share until a model
    /// has seen them.
    fn asked_files(&self) -> Tokens {
        let Some(draft) = self.drafts.iter().find(|draft| draft.is_answered) else {
            return 0;
        };
        let mut behind = self.work.history.messages()[draft.source..].iter();
        match self.work.rise.is_some() && behind.any(|message| message.role == Role::Assistant) {
            true => 0,
            false => draft::weights([draft], PartClass::Files).into_iter().sum(),
        }
    }

    /// Computes the [`Rest`] for a budget of this size.
    fn rest(&self, budget: Tokens) -> Rest {
        let others = self.drafts.iter().filter(|draft| !draft.is_answered);
        let prompts = draft::weights(others, PartClass::Prompts);
        let prompt_cap = room::prompt_cap(prompts.clone(), budget);
        let told = share(budget, room::SUMMARY_SHARE).max(self.work.listed());
        Rest {
            system: self.system(),
            answered: self.answered(),
            last: self.last(budget),
            prompts: prompts.into_iter().map(|weight| weight.min(prompt_cap)).sum(),
            files: self.files(budget),
            summary: told.min(share(budget, MOST_TOLD)),
            frame: room::overhead(self.drafts, &self.work.ending),
        }
    }

    /// The room for all images and files of the user, without what is reserved for those of the prompt being answered.
    pub fn files(&self, budget: Tokens) -> Tokens {
        let files = draft::weights(self.drafts.iter(), PartClass::Files).into_iter().sum();
        room::files_room(files, self.work.history.course().size.tokens, budget)
    }

    /// The tokens of the last complete step and of pinned messages.
    fn last(&self, budget: Tokens) -> Tokens {
        let one = room::output_cap(budget, self.work.history.course().size.tokens);
        let cap = room::last_cap(self.outputs.to_vec(), budget, one, self.is_seen);
        let stay = self.drafts.iter().filter(|draft| draft.is_last || draft.pinned);
        let weigh = |draft: &Draft| {
            let of = |class| draft::weights([draft], class);
            let elsewhere = [PartClass::Standing, PartClass::Files, PartClass::Prompts]
                .into_iter()
                .flat_map(of);
            let is_free = !draft.pinned && !draft.spared;
            let over = |weight: Tokens| if is_free { weight.saturating_sub(cap) } else { 0 };
            let cut = of(PartClass::Results).into_iter().map(over);
            draft.estimate().saturating_sub(elsewhere.chain(cut).sum())
        };
        stay.map(weigh).sum()
    }
}

/// The maximum weight of each standing text in a session whose view may have `most` tokens, if not all of them fit, and
/// the cut: a share that does not depend on other content, and the same as before.
fn steady_cap(weights: &[Tokens], most: Tokens, earlier: Option<StandingCut>) -> (Tokens, Option<StandingCut>) {
    let heaviest = weights.iter().copied().max().unwrap_or(0);
    let fair = draft::fair_cap(weights.to_vec(), share(most, room::STANDING_SHARE));
    // A fair share changes with every prompt, as small texts change; so an earlier cut is kept as long as it is about
    // right.
    let is_about_right = |earlier: &StandingCut| earlier.cap <= fair.saturating_add(heaviest / room::CUTS);
    let steady = room::steady(fair, heaviest);
    let cap = earlier.filter(is_about_right).map_or(steady, |earlier| earlier.cap);
    (cap, Some(StandingCut { heaviest, cap }))
}
