//! The report of a session that is under way: what was sent and billed, request by request, with the engine's own ledger.

use super::played::{LARGEST, LARGEST_FILED, ages, course};
use super::{Course, Edit, Report};
use crate::policy::{Policy, Settings};
use crate::prompt::Prompt;
use crate::run::{Broken, Cause, Dollars, Edited, Run, Step};
use crate::session::Session;
use codelet_context::breaks;
use codelet_context::conversation::Conversation;
use codelet_context::inspect::{self, Inspection};
use codelet_context::message::{Message, Part};
use codelet_context::price::{Lifetime, PriceCard};
use codelet_context::tokens::{self, Tokens};
use codelet_context::usage::Usage;
use codelet_transcript::{Billed, Recorded};
use std::collections::HashMap;
use std::sync::Arc;

/// What a session has sent so far. It is told of each request and of each bill, and keeps a few numbers of each.
#[derive(Clone, Debug)]
pub struct Live {
    prompt: Prompt,
    steps: Vec<Step>,
    /// The request under way: its reply's place in the history, and when it began.
    open: Option<(usize, Option<u64>)>,
}

/// What a live session is called and costs.
#[derive(Clone, Debug)]
pub struct Told<'a> {
    /// What it is called.
    pub title: &'a str,
    /// The model that is asked.
    pub model: &'a str,
    /// What its tokens cost, where that is known.
    pub card: Option<&'a PriceCard>,
}

impl Live {
    /// Nothing sent. `fixed` is what stands in every request beside the messages, in tokens.
    pub fn new(fixed: Tokens) -> Self {
        Live {
            prompt: Prompt::new(fixed),
            steps: Vec::new(),
            open: None,
        }
    }

    /// A request goes out with this view. `began` is the time in milliseconds since 1970-01-01 UTC. A request that was
    /// never billed is forgotten when the next goes out.
    pub fn sending(&mut self, conversation: &Conversation, began: Option<u64>) {
        let weigh = |part: &Part| tokens::estimate_part(part);
        self.prompt.update(&conversation.view().messages, 0, weigh);
        self.open = Some((conversation.history().messages().len(), began));
    }

    /// That request was billed.
    pub fn billed(&mut self, usage: Usage) {
        let Some((reply, began)) = self.open.take() else { return };
        let occupancy = self.prompt.occupancy();
        self.steps.push(Step {
            reply,
            began,
            occupancy: occupancy.scaled_to(usage.prompt()),
            usage,
            dollars: Dollars::default(),
            broken: None,
            edit: None,
            refetch: 0.0,
            referred: 0,
            shown: 0,
        });
    }

    /// What was said so far, to be played under policies as a recording of it would be. Nothing where no request was
    /// answered yet, or where the price of the model is not known: there would be no dollars to compare.
    pub fn session(&self, conversation: &Conversation, told: &Told<'_>) -> Option<(Session, Settings)> {
        let card = told.card?;
        let notes = self.steps.iter().map(|step| Recorded {
            reply: step.reply,
            began: step.began,
            model: None,
            billed: Some(Billed {
                usage: step.usage,
                hour: match card.lifetime {
                    Lifetime::Hour => step.usage.cache_write,
                    Lifetime::FiveMinutes => 0,
                },
            }),
        });
        let edited = conversation
            .breaks()
            .iter()
            .filter(|it| matches!(it.cause, breaks::Cause::Edit(_) | breaks::Cause::Undone));
        let edited = edited.filter_map(|it| Some(self.steps.get(place(it)?)?.reply));
        let edited: Vec<usize> = edited.collect();
        let said = conversation.history().messages();
        let session = Session::under_way(told.title, said, notes.collect(), &edited);
        (!session.requests.is_empty()).then(|| (session, settings(conversation, card)))
    }

    /// The report as things stand. `runs` are those of [`Live::session`] under policies that it is compared with.
    pub fn report(&self, conversation: &Conversation, told: &Told<'_>, runs: Vec<Run>) -> Report {
        let economics = conversation.economics();
        let card = told.card.unwrap_or(&economics.card);
        let settings = settings(conversation, card);
        let mut run = Run {
            policy: Policy::Preset(economics.preset),
            steps: self.steps.clone(),
            refused: None,
        };
        if told.card.is_some() {
            for step in &mut run.steps {
                step.dollars = Dollars::of(card, step.usage);
            }
        }
        let edits = edits(&mut run, conversation.breaks());
        let history = conversation.history().messages();
        let contents = inspect::inspect(history, &[], LARGEST_FILED);
        let began = || self.steps.iter().filter_map(|step| step.began);
        Report {
            title: told.title.to_owned(),
            agent: "codelet".to_owned(),
            model: Some(told.model.to_owned()),
            is_live: true,
            is_priced: told.card.is_some(),
            lasted: began().max().zip(began().min()).map(|(last, first)| last - first),
            courses: std::iter::once(Course {
                name: "as billed".to_owned(),
                about: format!("{}, {}", economics.preset.name(), economics.preset.explained()),
                is_billed: true,
                run,
                edits,
            })
            .chain(runs.into_iter().map(|run| course(run, &settings)))
            .collect(),
            settings,
            first: 0,
            handles: handles(conversation, history, &contents),
            ratio: ratio(&self.steps, &self.prompt),
            ages: ages(history.len(), &self.steps.iter().map(|step| step.reply).collect::<Vec<_>>()),
            contents,
            check: None,
            unknown: Vec::new(),
            has_bills: false,
            together: None,
            notes: vec![
                "Requests are as the provider billed them; the kinds within each are estimated from bytes and scaled to \
                 the bill."
                    .to_owned(),
            ],
        }
    }
}

/// The conditions of the session.
fn settings(conversation: &Conversation, card: &PriceCard) -> Settings {
    let config = conversation.config();
    Settings {
        reserved: config.reserved(),
        ..Settings::new(config.window(), card.clone())
    }
}

/// Before which request a break was, counted from 0.
fn place(it: &breaks::Break) -> Option<usize> {
    usize::try_from(it.request).ok()?.checked_sub(1)
}

/// Tokens for each estimated token, by the last request.
fn ratio(steps: &[Step], prompt: &Prompt) -> f64 {
    match (steps.last(), prompt.tokens()) {
        (Some(last), estimate) if estimate > 0 => last.usage.prompt() as f64 / estimate as f64,
        _ => 1.0,
    }
}

/// Puts the breaks of the ledger where they belong, and returns the edits among them.
fn edits(run: &mut Run, ledger: &[breaks::Break]) -> Vec<Edit> {
    let mut edits = Vec::new();
    let requests = run.steps.len();
    for it in ledger {
        let Some((at, step)) = place(it).and_then(|at| Some((at, run.steps.get_mut(at)?))) else {
            continue;
        };
        let (cause, reason) = match it.cause {
            breaks::Cause::Edit(reason) => (Cause::Planned, Some(reason.name())),
            breaks::Cause::Undone | breaks::Cause::Cleared | breaks::Cause::Model => {
                (Cause::Planned, Some(it.cause.name()))
            }
            breaks::Cause::Expired => (Cause::Cold, None),
            breaks::Cause::Unplanned => (Cause::Unplanned, None),
        };
        if it.rewritten > 0 {
            step.broken = Some(Broken {
                cause,
                lost: it.rewritten,
            });
        }
        let Some(reason) = reason else { continue };
        let after = step.usage.prompt();
        let before = after + it.removed;
        step.edit = Some(Edited { reason, before, after });
        edits.push(Edit {
            step: at,
            reason,
            before,
            after,
            cost: it.predicted,
            actual: it.actual,
            saved: it.saving * (requests - at) as f64,
        });
    }
    edits
}

/// Under which handles the largest items can be read back: of those that were removed from what is sent.
fn handles(
    conversation: &Conversation,
    history: &[Arc<Message>],
    contents: &Inspection,
) -> HashMap<(usize, usize), String> {
    let mut kept: HashMap<u64, Vec<(&str, &str)>> = HashMap::new();
    for (handle, removed) in conversation.archive().iter() {
        let named = (handle.as_str(), removed.body.as_str());
        kept.entry(removed.body.hash()).or_default().push(named);
    }
    let find = |part: &Part| {
        let texts: Vec<_> = match part {
            Part::Text(text) => vec![&text.body],
            Part::Thinking(thinking) => vec![&thinking.body],
            Part::ToolResult(result) => result.texts().map(|text| &text.body).collect(),
            _ => Vec::new(),
        };
        texts.into_iter().find_map(|body| {
            let alike = kept.get(&body.hash())?;
            let (handle, _) = alike.iter().find(|(_, text)| *text == body.as_str())?;
            Some((*handle).to_owned())
        })
    };
    let places = contents
        .largest
        .iter()
        .take(LARGEST)
        .map(|item| (item.message, item.part));
    places
        .filter_map(|(message, part)| {
            let handle = find(history.get(message)?.parts.get(part)?)?;
            Some(((message, part), handle))
        })
        .collect()
}
