//! The report of a recording that was replayed under policies.

use super::words::{count, number};
use super::{Course, Edit, Report};
use crate::check::check;
use crate::policy::Policy;
use crate::run::Run;
use crate::session::Session;
use crate::settings::Settings;
use crate::totals::unknown;
use codelet_context::economics::Preset;
use codelet_context::inspect;
use std::collections::HashMap;

/// The number of the largest items listed in a page.
pub(super) const LARGEST: usize = 30;

/// Returns a report of these runs of a session. The first run of a preset of the engine is shown first, or else the
/// first run. `agent` names the recorder of the session.
pub fn played(session: &Session, agent: &str, runs: Vec<Run>, settings: &Settings) -> Report {
    let first = runs
        .iter()
        .position(|run| matches!(run.policy, Policy::Preset(preset) if preset != Preset::Off));
    let began = session.requests.iter().filter_map(|request| request.began);
    let lasted = began.clone().max().zip(began.min()).map(|(last, first)| last - first);
    let replies: Vec<usize> = session.requests.iter().map(|request| request.reply.start).collect();
    Report {
        title: session.name.clone(),
        agent: agent.to_owned(),
        model: models(session),
        is_live: false,
        settings: settings.clone(),
        is_priced: true,
        lasted,
        courses: runs.into_iter().map(|run| course(run, settings)).collect(),
        first: first.unwrap_or(0),
        contents: inspect::inspect(&session.messages, &[], LARGEST),
        ratio: session.ratio,
        ages: ages(session.messages.len(), &replies),
        handles: HashMap::new(),
        check: check(session, settings),
        unknown: unknown(session, settings),
        has_bills: session.requests.iter().any(|request| request.billed.is_some()),
        together: None,
        notes: notes(session, settings),
    }
}

/// Returns the models of a session: the one with the most requests, followed by the others.
fn models(session: &Session) -> Option<String> {
    let models = session.models();
    let (most, others) = models.split_first()?;
    let mut words = most.0.to_owned();
    for (name, _) in others.iter().take(2) {
        words += &format!(", {name}");
    }
    if others.len() > 2 {
        words += &format!(" and {} more", others.len() - 2);
    }
    Some(words)
}

fn notes(session: &Session, settings: &Settings) -> Vec<String> {
    let mut notes = Vec::new();
    let (untimed, all) = (session.untimed() as u64, session.requests.len() as u64);
    if !session.is_timed() {
        notes.push(
            match untimed == all {
                true => "The recording has no request times, so the cache is assumed to stay warm.",
                false => "The recording has no time for most requests, so the cache is assumed to stay warm.",
            }
            .to_owned(),
        );
    } else if untimed > 0 {
        notes.push(format!(
            "{} of {} no time; each is assumed to follow the previous one at once.",
            number(untimed),
            count(all, "request has", "requests have"),
        ));
    }
    if session.unplayed > 0 {
        notes.push(format!(
            "Only the first {} are simulated and shown here; {} left out.",
            count(all, "request", "requests"),
            count(session.unplayed as u64, "more is", "more are"),
        ));
    }
    if session.models().len() > 1 {
        notes.push(format!(
            "The recording names several models. Bills use the price of the model of each request; all policies \
             use the price card {}.",
            settings.card.name
        ));
    }
    notes.push(if session.is_calibrated {
        "Sizes are estimated from bytes and scaled to this session's billed usage.".to_owned()
    } else {
        "The recording has no usage data, so sizes are estimated from bytes, and a size is assumed for system prompt and tools."
            .to_owned()
    });
    if session.requests.iter().any(|request| request.after_compaction) {
        notes.push(
            "The agent compacted this conversation itself. Its summaries are left out here, and the original messages are \
             used instead."
                .to_owned(),
        );
    }
    notes
}

/// Returns the number of requests made after each message; the indices of the replies are ascending.
pub(super) fn ages(messages: usize, replies: &[usize]) -> Vec<u64> {
    let since = |message: usize| replies.len() - replies.partition_point(|&reply| reply <= message);
    (0..messages).map(|message| since(message) as u64).collect()
}

pub(super) fn course(run: Run, settings: &Settings) -> Course {
    Course {
        name: run.policy.name().to_owned(),
        about: run.policy.describe().to_owned(),
        is_billed: false,
        edits: edits(&run, settings),
        run,
    }
}

/// Returns the cost and the saving of each edit. The cost is that of the tokens that were in the cache and had to be
/// rewritten. The saving is what the removed tokens would have cost from then on, had they stayed to the end: at the
/// price of reading, or of writing wherever the cache had expired.
fn edits(run: &Run, settings: &Settings) -> Vec<Edit> {
    let card = &settings.card;
    let million = |price: f64| price / 1_000_000.0;
    let (read, write) = (
        million(card.rates.cache_read),
        million(card.write().max(card.rates.input)),
    );
    // From the end: the cost of one token that is in all requests from here on.
    let mut rents = vec![0.0; run.steps.len() + 1];
    for (at, step) in run.steps.iter().enumerate().rev() {
        let is_cold = matches!(step.broken, Some(broken) if broken.cause == crate::run::Cause::Cold);
        let price = if is_cold { write } else { read };
        rents[at] = rents[at + 1] + price * card.factor(step.usage.prompt());
    }
    let steps = run.steps.iter().enumerate();
    let edit = |(at, step): (usize, &crate::run::Step)| {
        let edited = step.edit?;
        let lost = match step.broken {
            Some(broken) if broken.cause == crate::run::Cause::Planned => broken.lost,
            _ => 0,
        };
        // Removed content need not be rewritten; everything else that the cache held must be.
        let removed = edited.before.saturating_sub(edited.after);
        let rewritten = lost.saturating_sub(removed);
        Some(Edit {
            step: at,
            reason: edited.reason,
            before: edited.before,
            after: edited.after,
            cost: rewritten as f64 * (write - read) * card.factor(step.usage.prompt()),
            actual: None,
            saved: removed as f64 * rents[at],
        })
    };
    steps.filter_map(edit).collect()
}
