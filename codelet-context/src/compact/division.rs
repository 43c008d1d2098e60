//! How a budget is divided where the usual shares do not do: where what stands takes more than its share of it, and where no
//! model has seen the newest prompt yet.

use super::room::{self, share};
use super::told;
use crate::compact::draft::{self, Class, Draft};
use crate::history::History;
use crate::message::Role;
use crate::message::tokens::Tokens;

/// The most of a budget that is held for the summary beside what stands.
const MOST_TOLD: f64 = 0.25;

/// How much larger than usual a session's view may become for what cannot be told in a summary, in estimated tokens.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rise {
    /// At most this, before the system prompt and reminders are cut.
    pub standing: Tokens,
    /// At most this, before a prompt is cut that no model has seen.
    pub fresh: Tokens,
    /// How the last compaction that met the same limit has cut what stands.
    pub cut: Option<Cut>,
}

/// How texts that stand were cut. They are cut alike as long as they are the same, so that the head of a session stays as it
/// was sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Cut {
    /// The weight of the heaviest of them, which tells whether they are the same.
    heaviest: Tokens,
    /// What each may weigh.
    cap: Tokens,
}

/// The parts of a budget.
#[derive(Clone, Copy, Debug)]
pub(super) struct Division {
    /// All of them.
    pub budget: Tokens,
    /// The most for the kept steps.
    pub steps: Tokens,
    /// The least for the summary.
    pub summary: Tokens,
    /// What each text that stands may weigh.
    pub standing: Tokens,
    /// How they are cut, if a later compaction is to cut them alike.
    pub cut: Option<Cut>,
    /// The room for all pictures and files of the user, where it is more than their share.
    pub files: Option<Tokens>,
}

/// What a division is made for.
#[derive(Clone, Copy)]
pub(super) struct Demand<'a> {
    pub drafts: &'a [Draft],
    pub history: &'a History,
    /// Weights of the outputs of the last complete step, and whether the model has seen them.
    pub outputs: &'a [Tokens],
    pub is_seen: bool,
    /// What lists and pins take in the summary.
    pub listed: &'a dyn Fn() -> Tokens,
    /// What stands behind the summary.
    pub ending: &'a str,
}

/// What has to stay beside the texts that stand and the older steps: the system prompt and the prompt that is being answered
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
    /// How this budget is divided, if not as usual. Without `rise` it is kept as it is, and only what fits into it whole is
    /// given more than its share.
    pub fn divide(&self, budget: Tokens, rise: Option<Rise>) -> Option<Division> {
        let weights = self.standing();
        let heaviest = weights.iter().copied().max().unwrap_or(0);
        let earlier = rise.and_then(|rise| rise.cut).filter(|cut| cut.heaviest == heaviest);
        let head = self.system() + weights.iter().sum::<Tokens>();
        let is_heavy = head > share(budget, room::STANDING_SHARE) || earlier.is_some();
        let prompts_share = share(budget, room::PROMPTS_SHARE);
        let answered = self.answered();
        // What the words of the prompt that is being answered, and files that no model has seen, take beyond their share.
        let more_words = rise.map_or(0, |_| answered.saturating_sub(prompts_share));
        let more_files = rise.map_or(0, |_| self.unseen_files().saturating_sub(self.files(budget)));
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
            steps: share(budget, room::kept_share(budget, self.history.course().size().tokens))
                .min(left.saturating_sub(more_files) + rest.last),
            summary: rest.summary,
            standing,
            cut,
            files: (more_files > 0).then(|| rest.files + more_files.min(left)),
        })
    }

    /// What the texts that stand weigh, each of them.
    fn standing(&self) -> Vec<Tokens> {
        let free = self.drafts.iter().filter(|draft| !draft.pinned && !draft.spared);
        draft::weights(free, Class::Standing)
    }

    fn system(&self) -> Tokens {
        let system = self.drafts.iter().filter(|draft| draft.message.role == Role::System);
        system.map(Draft::estimate).sum()
    }

    /// What the words of the prompt weigh that is being answered.
    fn answered(&self) -> Tokens {
        let answered = self.drafts.iter().filter(|draft| draft.is_answered);
        draft::weights(answered, Class::Prompts).into_iter().sum()
    }

    /// What its pictures and files weigh, if no model has seen them yet.
    fn unseen_files(&self) -> Tokens {
        let Some(draft) = self.drafts.iter().find(|draft| draft.is_answered) else {
            return 0;
        };
        let mut behind = self.history.messages()[draft.source..].iter();
        match behind.any(|message| message.role == Role::Assistant) {
            true => 0,
            false => draft::weights([draft], Class::Files).into_iter().sum(),
        }
    }

    /// See [`Rest`], of a budget of this size.
    fn rest(&self, budget: Tokens) -> Rest {
        let others = self.drafts.iter().filter(|draft| !draft.is_answered);
        let prompts = draft::weights(others, Class::Prompts);
        let prompt_cap = room::prompt_cap(prompts.clone(), budget);
        let told = share(budget, told::SUMMARY_SHARE).max((self.listed)());
        Rest {
            system: self.system(),
            answered: self.answered(),
            last: self.last(budget),
            prompts: prompts.into_iter().map(|weight| weight.min(prompt_cap)).sum(),
            files: self.files(budget),
            summary: told.min(share(budget, MOST_TOLD)),
            frame: room::overhead(self.drafts, self.ending),
        }
    }

    fn files(&self, budget: Tokens) -> Tokens {
        let files: Tokens = draft::weights(self.drafts.iter(), Class::Files).into_iter().sum();
        files.min(share(budget, room::FILES_SHARE))
    }

    /// What the last complete step and what is pinned take.
    fn last(&self, budget: Tokens) -> Tokens {
        let cap = room::last_cap(self.outputs.to_vec(), budget, self.is_seen);
        let stay = self.drafts.iter().filter(|draft| draft.is_last || draft.pinned);
        let weigh = |draft: &Draft| {
            let of = |class| draft::weights([draft], class);
            let elsewhere = [Class::Standing, Class::Files, Class::Prompts].into_iter().flat_map(of);
            let is_free = !draft.pinned && !draft.spared;
            let over = |weight: Tokens| if is_free { weight.saturating_sub(cap) } else { 0 };
            let cut = of(Class::Results).into_iter().map(over);
            draft.estimate().saturating_sub(elsewhere.chain(cut).sum())
        };
        stay.map(weigh).sum()
    }
}

/// What each text of these weights that stand may weigh in a session whose view may weigh `most`, where not all of them fit,
/// and how they are cut: to a share that does not depend on what stands beside them, and as they were cut before.
fn steady_cap(weights: &[Tokens], most: Tokens, earlier: Option<Cut>) -> (Tokens, Option<Cut>) {
    let heaviest = weights.iter().copied().max().unwrap_or(0);
    let fair = draft::fair_cap(weights.to_vec(), share(most, room::STANDING_SHARE));
    // That share is fair among texts of which small ones change with every prompt: as long as the earlier cut is about
    // right, it stays.
    let is_about_right = |earlier: &Cut| earlier.cap <= fair.saturating_add(heaviest / room::CUTS);
    let steady = room::steady(fair, heaviest);
    let cap = earlier.filter(is_about_right).map_or(steady, |earlier| earlier.cap);
    (cap, Some(Cut { heaviest, cap }))
}
